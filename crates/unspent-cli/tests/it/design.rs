//! `unspent design`: from needs to an allocation.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{
    EXAMPLE, Place, RHODE_ISLAND, expect, parse_json, read, repository, stderr, stdout, succeeds,
};

fn example(name: &str) -> String {
    repository("examples").join(name).display().to_string()
}

/// A cause that begins like this, and a hint.
#[track_caller]
fn refused(output: &Output, cause: &str) {
    let said = stderr(output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.starts_with(&format!("error: {cause}")) && said.contains("\nhint: "), "{said}");
}

fn upper(report: &Value) -> f64 {
    report["epsilon"]["upper"].as_str().unwrap().parse().unwrap()
}

#[test]
fn the_health_release_is_designed_written_and_certified() {
    let place = Place::new("design-health");
    let text = succeeds(&place.run(&["design", &example("health.toml"), "--out", "a.toml"]));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expect("expected/design.txt", &text);
    let report = parse_json(&succeeds(&place.run(&["design", &example("health.toml"), "--json"])));
    let measured = report["tables"].as_array().unwrap().iter().filter(|table| !table["rho"].is_null());
    assert_eq!((report["tables"].as_array().unwrap().len(), measured.count()), (12, 5));
    // What was written keeps what was printed.
    let certificate = parse_json(&succeeds(&place.say("certificate a.toml --check --json")));
    assert_eq!(certificate["promises"][0]["kept"], true);
    assert_eq!(certificate["lines"][0]["tight"], report["epsilon"]);
    assert_eq!(place.read("a.toml"), report["file"].as_str().unwrap());
    // It is there already, and may be replaced.
    let again = ["design", &example("health.toml"), "--out", "a.toml"];
    refused(&place.run(&again), "--out: `a.toml` exists already\nhint: add --force");
    succeeds(&place.run(&[&again[..], &["--force", "--no-prices"]].concat()));
    // It meets its own needs.
    let checked = succeeds(&place.run(&["design", &example("health.toml"), "--check", "a.toml"]));
    assert!(checked.contains("\nAll 6 needs are met.\n"), "{checked}");
}

#[test]
fn an_allocation_that_misses_a_need_ends_with_three() {
    let place = Place::new("design-check");
    let output = place.run(&["design", &example("needs.toml"), "--check", EXAMPLE]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("\n2 of 3 needs are NOT MET.\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains(" needs are NOT MET.\nhint: `unspent design "), "{}", stderr(&output));
    let output = place.run(&["design", &example("needs.toml"), "--check", EXAMPLE, "--csv"]);
    let mut rows = csv::Reader::from_reader(stdout(&output).as_bytes());
    let met: Vec<String> = rows.records().map(|row| row.unwrap()[9].to_string()).collect();
    assert_eq!(met, ["false", "true", "false"]);
    let output = place.run(&["design", &example("needs.toml"), "--check", EXAMPLE, "--json"]);
    assert_eq!(parse_json(stdout(&output))["met"], false);
}

#[test]
fn blocks_that_lie_together_take_less() {
    let place = Place::new("design-packed");
    let text = read(Path::new(&example("needs.toml")));
    place.write("blocks.toml", read(Path::new(EXAMPLE)));
    place.write("packed.toml", text.replace("\"scattered\"", "\"packed\""));
    let solve = |file: &str| parse_json(&succeeds(&place.run(&["design", file, "--json", "--no-prices"])));
    let (scattered, packed) = (solve(&example("needs.toml")), solve("packed.toml"));
    assert!((15.37..15.40).contains(&upper(&scattered)), "{}", upper(&scattered));
    assert!((6.60..6.63).contains(&upper(&packed)), "{}", upper(&packed));
    let markdown = succeeds(&place.run(&["design", "packed.toml", "--markdown"]));
    assert!(markdown.contains("| county totals | ±5 |"), "{markdown}");
    let csv = succeeds(&place.run(&["design", "packed.toml", "--csv"]));
    assert!(csv.starts_with("name,level,quantity,asked,") && csv.lines().count() == 4, "{csv}");
}

/// Only codes are read: a list with words where counts would be gives the same design.
#[test]
fn units_may_come_from_a_list_of_codes() {
    let place = Place::new("design-units");
    place.write("blocks.toml", read(Path::new(EXAMPLE)));
    let text = read(Path::new(RHODE_ISLAND));
    let codes = text.lines().skip(1).map(|line| format!("{},nobody\n", line.split(',').next().unwrap()));
    place.write("codes.csv", format!("geoid,pop_white\n{}", codes.collect::<String>()));
    place.write(
        "needs.toml",
        "allocation = 'blocks.toml'\nunits = { list = 'codes.csv' }\ngoal = 'least-epsilon'\n\
         rest = { drop = true }\n[[needs]]\nlevel = 'Tract'\nmargin = 20\n",
    );
    let report = parse_json(&succeeds(&place.say("design needs.toml --json")));
    assert_eq!(report["units"]["tree"], "listed");
    assert_eq!(report["units"]["per_level"], serde_json::json!([1, 5, 244, 815, 25181]));
    assert_eq!(report["needs"][0]["met"], true);
    place.write("codes.csv", "geoid\n440010301001000\nx\n");
    refused(&place.say("design needs.toml"), "needs.toml:2:18: codes.csv: ");
}

#[test]
fn allocations_are_explained() {
    let place = Place::new("design-explain");
    let text = succeeds(&place.run(&["design", "--explain", EXAMPLE, "--per-level", "1,5,250,792,25181"]));
    assert!(text.contains("\n  Block: voting age * race "), "{text}");
    let of_needs = place.run(&["design", &example("needs.toml"), "--explain", EXAMPLE]);
    assert_eq!(succeeds(&of_needs), text, "the same units");
    let csv = succeeds(&place.run(&["design", &example("needs.toml"), "--explain", EXAMPLE, "--csv"]));
    assert_eq!(csv.lines().count(), 21);
    refused(&place.run(&["design", "--explain", EXAMPLE]), "--explain: how many units the levels State, ");
    let wrong = place.run(&["design", "--explain", EXAMPLE, "--per-level", "1,5"]);
    refused(&wrong, "--per-level: `1,5` is not 5 numbers of units, of State, ");
}

#[test]
fn designs_are_drawn() {
    let place = Place::new("design-plot");
    place.write("blocks.toml", read(Path::new(EXAMPLE)));
    let text = read(Path::new(&example("needs.toml")));
    let guard = "guard = { than = \"blocks.toml\", times = \"1.5\" }";
    place.write("needs.toml", text.replace("drop = true", guard));
    succeeds(&place.say("design needs.toml --no-prices --plot a.svg"));
    let svg = place.read("a.svg");
    for word in
        ["margins that are used", "county totals", "epsilon against the guard", "epsilon of the design"]
    {
        assert!(svg.contains(word), "{word}");
    }
    refused(&place.say("design needs.toml --plot a.svg"), "--plot: `a.svg` exists already\nhint: ");
    refused(
        &place.run(&["design", "needs.toml", "--plot", "b.svg", "--need", "county total"]),
        "--need: `county total` is not one of county totals, ",
    );
    assert!(!place.names().contains(&"b.svg".to_string()));
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new("design-wrong");
    refused(&place.say("design"), "missing: <NEEDS>\n");
    refused(&place.say("design nowhere.toml"), "nowhere.toml: cannot be read: ");
    refused(&place.say("design needs.toml --out a.json"), "--out: `a.json` does not end in .toml\n");
    place.write("needs.toml", "allocation = 'nowhere.toml'\n");
    refused(&place.say("design needs.toml"), "");
    place.write("blocks.toml", read(Path::new(EXAMPLE)));
    let text = read(Path::new(&example("needs.toml")));
    // A need that nothing on offer bears on, and an epsilon that does not suffice.
    place.write("short.toml", text.replace("goal = \"least-epsilon\"", "epsilon = 4"));
    let output = place.say("design short.toml");
    refused(&output, "the needs cannot be met with epsilon = 4: they take ");
    assert!(stderr(&output).contains("minority share of a district"), "{}", stderr(&output));
    place.write("wider.toml", text.replace("goal = \"least-epsilon\"", "epsilon = 4\nwider = true"));
    let report = parse_json(&succeeds(&place.say("design wider.toml --json")));
    assert!(report["factor"].as_f64().unwrap() > 1.0 && upper(&report) <= 4.0, "{report}");
}
