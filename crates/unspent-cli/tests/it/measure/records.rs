//! The production schema on the command line: records, lists of units, intervals.

use serde_json::Value;

use crate::support::{Place, repository, stderr, stdout, succeeds, succeeds_seeded};

const PRESET: &str = "pl94-persons-us-2020";

/// A made-up state of so many blocks in the schema of the redistricting data.
fn state(name: &str, blocks: &str) -> Place {
    let place = Place::new(name);
    succeeds(&place.run(&["synthesize", "--schema", "pl94", "--blocks", blocks, "--out", "people.csv"]));
    place
}

#[test]
fn the_redistricting_data_are_measured_from_records() {
    let place = state("pl94", "60");
    let measure = ["measure", "people.csv", "--allocation", PRESET, "--units", "people-units.csv"];
    let rest = ["--check-total", "persons", "--not-private-seed", "3"];
    let said = succeeds_seeded(&place.run(&[&measure[..], &rest, &["--out", "noisy"]].concat()));
    assert!(said.contains("detailed                        8 × 2 × 2 × 63"), "{said}");
    let manifest: Value = serde_json::from_str(&place.read("noisy/manifest.json")).unwrap();
    let level = |at: usize| &manifest["levels"][at];
    assert_eq!(level(0)["units"], 1);
    let shapes: Vec<String> = level(5)["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|query| query["query_shape"].to_string())
        .collect();
    assert_eq!(shapes.last().unwrap(), "[8,2,2,63]");
    assert_eq!(shapes.len(), 11);
    // The same records sorted, and through a pipe, are the same measurements.
    succeeds_seeded(&place.run(&[&measure[..], &rest, &["--sorted", "--out", "sorted"]].concat()));
    let levels = |folder: &str| {
        let manifest: Value = serde_json::from_str(&place.read(&format!("{folder}/manifest.json"))).unwrap();
        manifest["levels"].clone()
    };
    assert_eq!(levels("noisy"), levels("sorted"));
    let bytes = |folder: &str| std::fs::read(place.path(folder).join("county/part-00000.parquet")).unwrap();
    assert_eq!(bytes("noisy"), bytes("sorted"));
    // Every count has the interval of its own row.
    let said = place.run(&[
        "interval",
        "--measurements",
        "noisy",
        "--level",
        "County",
        "--query",
        "total",
        "--out",
        "county.csv",
    ]);
    succeeds_seeded(&said);
    let table = place.read("county.csv");
    assert!(table.contains("level,geocode,query,cell,value,variance,lower,upper"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("County,")).count() as u64, level(2)["units"]);
}

#[test]
fn the_example_of_records_works() {
    let place = Place::new("homes");
    let [table, allocation, units] =
        ["homes.csv", "homes.toml", "homes-units.csv"].map(|name| repository(&format!("examples/{name}")));
    let [table, allocation, units] = [&table, &allocation, &units].map(|path| path.to_str().unwrap());
    let measure =
        ["measure", table, "--allocation", allocation, "--units", units, "--check-total", "persons"];
    let said = succeeds(&place.run(&[&measure[..], &["--out", "noisy"]].concat()));
    assert!(said.contains("Published exactly for Block: facilities."), "{said}");
    assert!(said.contains("Units of Tract that have the budget of Block too"), "{said}");
    let bounded = place.read("noisy/certificate.md");
    assert!(bounded.contains("published exactly: facilities of Block."), "{bounded}");
    succeeds(&place.run(&["certificate", allocation]));
    // An age is no number of records.
    let said = place.run(&[&measure[..], &["--count", "age", "--out", "counted"]].concat());
    let message = stderr(&said);
    assert!(message.contains("count: the column `age` has the values of `age`"), "{message}");
}

#[test]
fn a_table_of_records_needs_the_list_of_units() {
    let place = state("needs-units", "10");
    let refused = |more: &[&str]| {
        let output =
            place.run(&[&["measure", "people.csv", "--allocation", PRESET, "--out", "noisy"], more].concat());
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
        assert!(!place.path("noisy").exists());
        stderr(&output).to_string()
    };
    assert_eq!(
        refused(&[]),
        "error: people.csv: the list of all units is missing\n\
         hint: give the list of all units of the smallest level, --units FILE; it is public and must not \
         depend on the records. If the table itself has a row for every unit: --units-of-table\n"
    );
    place.write("short.csv", "geocode\n010011100011001\n");
    let message = refused(&["--units", "short.csv"]);
    assert!(message.starts_with("error: people.csv:"), "{message}");
    assert!(message.contains(": the unit is not in the list of units, short.csv\n"), "{message}");
    let message = refused(&["--units", "people-units.csv", "--check-total", "geocode"]);
    assert!(message.contains("has another number of records than the list says"), "{message}");
    place.write("wrong.csv", place.read("people.csv").replacen(",2,1,01\n", ",2,1,64\n", 1));
    place.write("wrong.toml", place.read("people.toml"));
    let output = place.run(&[
        "measure",
        "wrong.csv",
        "--allocation",
        PRESET,
        "--units",
        "people-units.csv",
        "--out",
        "noisy",
    ]);
    let message = stderr(&output);
    assert!(message.contains(": cenrace: is not one of the values 01, 02, 03, "), "{message}");
    assert!(!message.contains("64") && !place.path("noisy").exists());
}
