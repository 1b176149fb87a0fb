//! `unspent utility`: errors of a table, exact and simulated, and what it refuses.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::support::{
    BLOCKS, EXAMPLE, Place, RHODE_ISLAND, parse_json, stderr, stdout, succeeds, succeeds_seeded,
};

#[track_caller]
fn simulated(output: &Output) -> Value {
    parse_json(&succeeds_seeded(output))
}

/// All pairs of an estimate and what is expected, at every level and for every group that has enough draws
/// for the normal approximation behind the intervals.
fn estimates(found: &Value) -> Vec<(String, f64, f64, f64)> {
    let mut all = vec![];
    let enough =
        |errors: &&Value| errors["counts"].as_u64().unwrap() * found["trials"].as_u64().unwrap() >= 5_000;
    for level in found["levels"].as_array().unwrap() {
        let groups = ["cells", "bands", "cells_by_band"].map(|name| level[name].as_array().unwrap());
        for errors in std::iter::once(&level["all"]).chain(groups.into_iter().flatten()).filter(enough) {
            for kind in ["plain", "cut"] {
                for (i, when) in ["before", "after"].iter().enumerate() {
                    for figure in ["mse", "mae", "bias"] {
                        let estimate = &errors[kind]["simulated"][i][figure];
                        all.push((
                            format!(
                                "{} {} {} {kind} {when} {figure}",
                                level["level"], errors["cell"], errors["band"]
                            ),
                            errors[kind][when][figure].as_f64().unwrap(),
                            estimate["mean"].as_f64().unwrap(),
                            estimate["half_width"].as_f64().unwrap(),
                        ));
                    }
                }
            }
        }
    }
    all
}

/// With a fixed seed. An interval of 95 % is 1.96 standard errors wide each way: one in a million truths is
/// beyond five, and of many independent ones about 5 % are outside.
fn agree(found: &Value) {
    let all = estimates(found);
    for level in found["levels"].as_array().unwrap() {
        let name = level["level"].to_string();
        assert!(all.iter().any(|(of, ..)| of.starts_with(&name)), "{name} is compared");
    }
    let outside = all.iter().filter(|(_, expected, mean, half)| (expected - mean).abs() > *half).count();
    for (name, expected, mean, half) in &all {
        // Where nothing can happen nothing did: an error that never varies.
        let allowed = 5.0 / 1.96 * half + 1e-9;
        assert!((expected - mean).abs() <= allowed, "{name}: expected {expected}, simulated {mean} ± {half}");
    }
    assert!(all.len() > 100 && outside * 8 < all.len(), "{outside} of {} outside", all.len());
}

#[test]
fn trials_agree_with_what_is_expected_at_every_level() {
    let place = Place::new("trials");
    let output = place.run(&[
        "utility",
        BLOCKS,
        "--before",
        EXAMPLE,
        "--query",
        "race",
        "--by",
        "race",
        "--trials",
        "2000",
        "--not-private-seed",
        "1",
        "--json",
    ]);
    let found = simulated(&output);
    assert_eq!(found["levels"].as_array().unwrap().len(), 5);
    agree(&found);
    // Every query by race, and by age and race, says something of race: from all of them.
    assert_eq!(found["estimated_from"]["measurements"], "allocation");
    for level in found["levels"].as_array().unwrap() {
        for when in ["before", "after"] {
            let raw = level["all"]["plain"][when]["mse"].as_f64().unwrap();
            let sd = level["estimate"][when]["sd"].as_f64().unwrap();
            assert!(sd > 0.0 && sd * sd < raw, "{}: {sd}", level["level"]);
        }
    }
}

#[test]
fn rhode_island_is_as_expected() {
    let place = Place::new("rhode-island");
    let noise = [
        "State=5:4.25",
        "County=16.12:13.28",
        "Tract=5.76:4.87",
        "Block group=11.61:9.65",
        "Block=456.62:343.27",
    ];
    let mut arguments = vec!["utility", RHODE_ISLAND, "--by", "race", "--json"];
    noise.iter().for_each(|noise| arguments.extend(["--sigma2", noise]));
    arguments.extend(["--trials", "650", "--not-private-seed", "1"]);
    let found = simulated(&place.run(&arguments));
    agree(&found);
    let variance = |level: usize| {
        let all = &found["levels"][level]["all"];
        1.0 - all["plain"]["after"]["mse"].as_f64().unwrap() / all["plain"]["before"]["mse"].as_f64().unwrap()
    };
    // Without cutting, the error falls exactly with the variance.
    for (level, expected) in
        [0.15, 1.0 - 13.28 / 16.12, 1.0 - 4.87 / 5.76, 1.0 - 9.65 / 11.61, 1.0 - 343.27 / 456.62]
            .iter()
            .enumerate()
    {
        assert!((variance(level) - expected).abs() < 1e-9, "{level}");
    }
    // A state is far from zero, a block is not: half of the blocks' cells and more are empty.
    let cut = |level: usize| found["levels"][level]["all"]["cut"]["before"]["mse"].as_f64().unwrap();
    assert!((cut(0) - 5.0).abs() < 1e-9 && cut(4) > 228.3 && cut(4) < 260.0);
}

#[test]
fn a_made_up_population_needs_no_more_than_its_own_schema() {
    let place = Place::new("made-up");
    let made = place.run(&["synthesize", "--blocks", "3000", "--out", "people.csv"]);
    assert_eq!(made.status.code(), Some(0));
    let all =
        ["utility", "people.csv", "--before", "paper-2022-08-25", "--scope", "level", "--delta", "1e-11"];
    let found = simulated(
        &place.run(&[&all[..], &["--json", "--trials", "600", "--not-private-seed", "2"]].concat()),
    );
    let names: Vec<&str> =
        found["levels"].as_array().unwrap().iter().map(|level| level["level"].as_str().unwrap()).collect();
    let levels = [
        "US",
        "State",
        "County",
        "PEPG",
        "Tract Subset Group",
        "Tract Subset",
        "Optimized Block Group",
        "Block",
    ];
    assert_eq!(names, levels);
    agree(&found);
    // The paper's table of noise: 24.82 % less at blocks.
    let block = &found["levels"][7]["all"]["plain"];
    let less = 1.0 - block["after"]["mse"].as_f64().unwrap() / block["before"]["mse"].as_f64().unwrap();
    assert!((100.0 * less - 24.82).abs() < 0.005, "{less}");
    // Tables and pictures.
    let output = place.run(&[&all[..], &["--plot", "levels.svg", "--plot-cells", "cells.png"]].concat());
    let text = stdout(&output);
    assert!(text.contains("Clamped at zero:") && text.contains("−24.82 %"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The allocation asks for ages, which these people do not have.
    assert!(text.contains("No estimates: the measurements of the allocation cannot be used"), "{text}");
    assert!(!text.contains("RMSE") && found["levels"][7]["estimate"].is_null(), "{text}");
    assert!(place.read("levels.svg").contains("Optimized Block Group"));
    assert!(fs::read(place.path("cells.png")).unwrap().starts_with(b"\x89PNG"));
    let csv = succeeds(&place.run(&[&all[..], &["--csv"]].concat()));
    assert!(csv.starts_with("level,cell,band,counts,sigma2_before,") && csv.lines().count() > 100);
    assert!(csv.lines().skip(1).all(|line| line.contains("NOT PRIVATE")), "{csv}");
}

#[test]
fn bad_questions_are_refused_by_name() {
    let place = Place::new("bad");
    let refuses = |more: &[&str], message: &str| {
        let output = place.run(&[&["utility", BLOCKS], more].concat());
        let errors = stderr(&output);
        assert_eq!(
            errors.lines().find(|l| l.starts_with("error")),
            Some(format!("error: {message}").as_str())
        );
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    };
    let schema = ["--schema", EXAMPLE];
    let with = |more: &[&'static str]| [&schema[..], more].concat();
    refuses(&with(&[]), "no noise was given");
    refuses(&["--before", EXAMPLE], "level `Tract`: its queries have different noise");
    refuses(&["--before", EXAMPLE, "--query", "age"], "--query: `age` is not asked at level `State`");
    refuses(&with(&["--sigma2", "Block"]), "--sigma2: `Block` is not of the form LEVEL=S or LEVEL=S:S");
    refuses(
        &with(&["--sigma2", "Blocks=5:4"]),
        "--sigma2: level: `Blocks` is not one of the levels of the table, State, County, Tract, Block group, \
         Block",
    );
    refuses(
        &with(&["--sigma2", "Block=5"]),
        "--sigma2: nothing says what the noise of level `Block` is after",
    );
    refuses(
        &with(&["--sigma2", "Block=0:1"]),
        "--sigma2 Block: sigma2: `0` is not a variance between 1e-3 and 1e12",
    );
    refuses(
        &with(&["--sigma2", "Block=5:4", "--by", "age"]),
        "query `cells`: attributes: `age` is not one of the attributes and recodes voting age, race",
    );
    refuses(
        &with(&["--sigma2", "Block=5:4", "--bands", "1,10"]),
        "bands: `1,10` is not ascending numbers from 0 on",
    );
    refuses(
        &with(&["--sigma2", "Block=5:4", "--trials", "-1"]),
        "--trials: `-1` is not a whole number up to 1000000",
    );
    refuses(&with(&["--sigma2", "Block=5:4", "--level", "State"]), "--level: `State` is not one of Block");
    place.write("alone.csv", "code,pop\n1,2\n");
    let output = place.run(&["utility", "alone.csv", "--sigma2", "Block=5:4"]);
    assert!(stderr(&output).starts_with("error: alone.csv: nothing says how the table is read\n"));
}

#[test]
fn an_interval_is_around_the_noisy_count_and_never_negative() {
    let place = Place::new("interval");
    let says = |arguments: &str| {
        let output = place.say(arguments);
        stdout(&output).to_string() + stderr(&output)
    };
    // P[|X| ≤ 4] = 0.956 and P[|X| ≤ 3] = 0.883 for σ² = 5.
    assert_eq!(
        says("interval 12 --sigma2 5"),
        "8 to 16: 12 ± 4, clamped at zero. Of such intervals at least 0.95 contain the true count.\n"
    );
    assert!(says("interval 12 --sigma2 5 --confidence 0.88").starts_with("9 to 15: 12 ± 3"));
    assert!(says("interval -3 --sigma2 5").starts_with("0 to 1: -3 ± 4"));
    assert!(says("interval -9 --sigma2 5").starts_with("None: -9 ± 4 has no count"));
    assert_eq!(
        says("interval 12 --sigma2 5 --json"),
        "{\"count\":12,\"sigma2\":\"5\",\"confidence\":\"0.95\",\"half_width\":4,\"lower\":8,\"upper\":16}\n"
    );
    assert!(says("interval 1.5 --sigma2 5").starts_with("error: count: `1.5` is not a whole number\n"));
    assert!(
        says("interval 1 --sigma2 5 --confidence 95").starts_with(
            "error: confidence: `95` is not a number above 0 and below 1 (by 1e-200 at least)\n"
        )
    );
}

#[test]
fn published_tables_have_errors_at_every_stage() {
    let place = Place::new("after-processing");
    let question = ["utility", BLOCKS, "--before", EXAMPLE, "--after-processing", "--not-private-seed", "3"];
    let run = |more: &[&str]| place.run(&[&question[..], more].concat());
    let text = succeeds_seeded(&run(&["--trials", "2"]));
    for words in ["whole tables", "cut at zero", "2 trials", "Simulated:", "NOT PRIVATE", "Shares by race"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let found = simulated(&run(&["--json"]));
    assert_eq!((&found["trials"], &found["shares_of"][0]), (&Value::from(10), &Value::from("race")));
    let of = |stage: &str| -> f64 {
        let is = |row: &&Value| {
            row["level"] == "Block"
                && row["query"] == "voting age * race"
                && row["stage"] == stage
                && row["size"].is_null()
        };
        let row = found["errors"].as_array().unwrap().iter().find(is).unwrap();
        row["before"]["mean_absolute"]["mean"].as_f64().unwrap()
    };
    // Where most cells are empty a table that is not negative says more than its noisy answers.
    assert!(of("whole") < of("cut") && of("cut") < of("raw"), "{} {} {}", of("whole"), of("cut"), of("raw"));
    let csv = succeeds_seeded(&run(&["--trials", "1", "--by", "voting age", "--csv"]));
    assert!(csv.contains(",whole tables,majority_lost,"), "{csv}");
    let none = run(&["--trials", "0"]);
    let none = stderr(&none);
    assert!(none.contains("--trials: `0` is not a whole number between 1 and 10000"), "{none}");
    assert!(stderr(&run(&["--query", "race"])).contains("cannot be used with"));
}
