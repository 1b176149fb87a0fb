//! `unspent accuracy`: errors of estimates, without data.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{BLOCKS, EXAMPLE, Place, RHODE_ISLAND, parse_json, read, stderr, succeeds};

/// A cause that begins like this, and a hint.
#[track_caller]
fn refused(output: &Output, cause: &str) {
    let said = stderr(output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.starts_with(&format!("error: {cause}")) && said.contains("\nhint: "), "{said}");
}

/// sd of the noise and of the estimate of a query at a level.
fn deviations(report: &Value, level: &str, query: &str) -> (f64, f64) {
    let find = |list: &Value, key: &str, name: &str| {
        list.as_array().unwrap().iter().find(|entry| entry[key] == name).unwrap().clone()
    };
    let level = find(&report["levels"], "level", level);
    let query = find(&level["queries"], "query", query);
    (query["noise"]["sd"].as_f64().unwrap(), query["estimate"]["sd"].as_f64().unwrap())
}

#[test]
fn the_census_needs_no_numbers_of_units() {
    let place = Place::new("accuracy");
    let preset = "accuracy pl94-persons-us-2020 --exact-totals State --no-structural-zeros";
    let report = parse_json(&succeeds(&place.say(&format!("{preset} --json"))));
    let units: Vec<u64> =
        report["levels"].as_array().unwrap().iter().map(|level| level["units"].as_u64().unwrap()).collect();
    assert_eq!(units, [1, 51, 3_143, 84_414, 239_780, 8_132_968]);
    let shown = |(noise, estimate): (f64, f64)| format!("{noise:.1} {estimate:.2}");
    assert_eq!(shown(deviations(&report, "Block_Group", "cenrace")), "41.8 2.56");
    assert_eq!(shown(deviations(&report, "Tract", "cenrace")), "34.6 2.58");
    assert_eq!(shown(deviations(&report, "Block", "detailed")), "3.2 3.09");
    let text = succeeds(&place.say(preset));
    for line in ["  Block_Group, 239780 units\n", "  total  ", " exact ", "Totals are exact at State.\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The same numbers, said.
    let given = format!("{preset} --per-level 1,51,3143,84414,239780,8132968");
    assert_eq!(succeeds(&place.say(&given)), text);
    let csv = succeeds(&place.say(&format!("{preset} --csv")));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6 * 11);
    let sd: f64 =
        rows.iter().find(|row| &row[0] == "Tract" && &row[3] == "cenrace").unwrap()[10].parse().unwrap();
    assert_eq!(sd, deviations(&report, "Tract", "cenrace").1);
    // A confidence is that of both margins.
    let wide = parse_json(&succeeds(&place.say(&format!("{preset} --confidence 0.99 --json"))));
    let margin = |report: &Value, name: &str| report["levels"][2]["queries"][0][name].as_f64().unwrap();
    let ratio = |name| margin(&wide, name) / margin(&report, name);
    assert!((ratio("margin") - 2.575_829 / 1.959_964).abs() < 1e-6);
    assert!((ratio("guaranteed_margin") - 3.255_247_3 / 2.716_203_0).abs() < 1e-6);
}

#[test]
fn a_list_of_units_gives_every_unit_its_own_error() {
    let place = Place::new("accuracy-units");
    let listed = ["accuracy", EXAMPLE, "--units", RHODE_ISLAND, "--json"];
    let report = parse_json(&succeeds(&place.run(&listed)));
    assert_eq!(report["tree"], "listed");
    let block = deviations(&report, "Block", "race");
    assert_eq!(format!("{:.3} {:.3}", block.0, block.1), "3.266 1.633");
    let regular = ["accuracy", EXAMPLE, "--per-level", "1,5,244,815,25181", "--json"];
    let average = deviations(&parse_json(&succeeds(&place.run(&regular))), "Block", "race");
    assert_eq!(average.0, block.0);
    assert!((average.1 / block.1 - 1.0).abs() < 0.01 && average.1 != block.1, "{average:?} {block:?}");
    // Counts are not read: the same list with words in their place.
    let text = read(Path::new(RHODE_ISLAND));
    let codes = text.lines().skip(1).map(|line| format!("{},nobody\n", line.split(',').next().unwrap()));
    place.write("codes.csv", format!("geoid,pop_white\n{}", codes.collect::<String>()));
    let codes = parse_json(&succeeds(&place.run(&["accuracy", EXAMPLE, "--units", "codes.csv", "--json"])));
    assert_eq!(codes, report);
}

#[test]
fn deviations_are_drawn() {
    let place = Place::new("accuracy-plot");
    let draw = ["accuracy", EXAMPLE, "--units", BLOCKS, "--plot", "a.svg"];
    succeeds(&place.run(&draw));
    let svg = place.read("a.svg");
    for word in ["noise", "estimate", "standard deviation", "voting age"] {
        assert!(svg.contains(word), "{word}");
    }
    refused(&place.run(&draw), "--plot: `a.svg` exists already\nhint: ");
    succeeds(&place.run(&[&draw[..], &["--force"]].concat()));
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new("accuracy-wrong");
    let refused = |arguments: &str, said: &str| refused(&place.say(arguments), said);
    refused(
        "accuracy pl94-persons-us-2020 --per-level 1,51",
        "--per-level: `1,51` is not 6 numbers of units, of US, State, County, Tract, Block_Group, Block\n",
    );
    refused(
        "accuracy pl94-persons-us-2020 --per-level 1,51,x",
        "--per-level: `1,51,x` is not whole numbers with commas between them\nhint: ",
    );
    refused(
        "accuracy pl94-persons-us-2020 --per-level 1,51,3143,84414,239780,1",
        "--per-level: `1,51,3143,84414,239780,1` is not numbers from 1 on that do not fall\nhint: ",
    );
    refused(
        "accuracy pl94-persons-us-2020 --exact-totals Sate",
        "--exact-totals: `Sate` is not one of the levels US, State, ",
    );
    refused(
        "accuracy pl94-persons-us-2020 --confidence 95",
        "--confidence: `95` is not a number above 0 and below 1",
    );
    refused(
        "accuracy dhc-persons-us-2020",
        "--per-level: how many units the levels US, State, County, Prim, ",
    );
    refused("accuracy pl94-persons-us-2020 --bypass none", "");
    refused("accuracy pl94-persons-us-2020 --units x.csv --per-level 1", "");
    refused("accuracy pl94-persons-us-2020 --units nowhere.csv", "nowhere.csv: ");
    place.write(
        "bare.toml",
        "name = 'x'\nneighbours = 'bounded'\nattributes = ['a']\n[queries]\na = ['a']\n\
                              [[levels]]\nname = 'L'\nsigma2 = { a = 5 }\n",
    );
    refused("accuracy bare.toml --per-level 1", "`x` does not say which values attributes have\nhint: ");
}
