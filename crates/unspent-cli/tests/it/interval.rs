//! `unspent interval --measurements`: a table of intervals for a folder. One count is in `utility`.

use std::fs;

use crate::support::blocks::{measure, with_blocks};
use crate::support::{parse_json, refuses_with, stderr, stdout, succeeds, succeeds_seeded};

#[test]
fn a_folder_becomes_a_table_of_intervals() {
    let place = with_blocks("interval-table", 60);
    succeeds_seeded(&place.run(&measure("noisy", &["--not-private-seed", "7"])));
    let said = succeeds_seeded(&place.say("interval --measurements noisy --confidence 0.9 --out all.csv"));
    let mut table = csv::Reader::from_path(place.path("all.csv")).unwrap();
    let heads: Vec<String> = table.headers().unwrap().iter().map(String::from).collect();
    assert_eq!(heads, ["level", "geocode", "query", "cell", "value", "variance", "lower", "upper"]);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(
        said,
        format!(
            "{} intervals written to all.csv. Of such intervals at least 0.9 contain the true count.\n",
            rows.len()
        )
    );
    // As many as the manifest says, and each the same as for one count alone.
    let manifest = place.json("noisy/manifest.json");
    let queries = || {
        let levels = manifest["levels"].as_array().unwrap().iter();
        levels.flat_map(|level| level["queries"].as_array().unwrap().iter().map(move |query| (level, query)))
    };
    let all: u64 = queries().map(|(_, query)| query["measurements"].as_u64().unwrap()).sum();
    assert_eq!(rows.len() as u64, all);
    for (level, query) in queries() {
        let (level, name) = (level["level"].as_str().unwrap(), query["query_name"].as_str().unwrap());
        let row = rows.iter().find(|row| &row[0] == level && &row[2] == name).unwrap();
        let sigma2 = query["sigma2"].as_str().unwrap();
        let arguments = ["interval", &row[4], "--sigma2", sigma2, "--confidence", "0.9", "--json"];
        let single = parse_json(&succeeds(&place.run(&arguments)));
        let end = |key: &str| single[key].as_i64().map(|end| end.to_string()).unwrap_or_default();
        assert_eq!((&row[6], &row[7]), (end("lower").as_str(), end("upper").as_str()), "{row:?}");
    }

    let (level, query) = (&rows[0][0], &rows[0][2]);
    let some = ["--level", level, "--query", query, "--out", "some.csv"];
    succeeds_seeded(&place.run(&[&["interval", "--measurements", "noisy"], &some[..]].concat()));
    let text = place.read("some.csv");
    assert_eq!(
        text.lines().count() - 1,
        rows.iter().filter(|row| &row[0] == level && &row[2] == query).count()
    );
    succeeds_seeded(&place.say("interval --measurements noisy --out all.parquet"));
    assert!(fs::read(place.path("all.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn what_is_wrong_is_refused_and_nothing_is_written() {
    let place = with_blocks("interval-refused", 20);
    succeeds_seeded(&place.run(&measure("noisy", &["--not-private-seed", "7"])));
    place.write("there.csv", "mine");
    refuses_with(
        &place.say("interval --measurements noisy --out there.csv"),
        "--out: `there.csv` exists already",
        "add --force to replace it, or choose another name",
    );
    assert_eq!(place.read("there.csv"), "mine");
    succeeds_seeded(&place.say("interval --measurements noisy --out there.csv --force"));
    assert!(place.read("there.csv").starts_with("level,geocode,"));
    refuses_with(
        &place.say("interval --measurements nowhere --out x.csv"),
        "nowhere: cannot be read: No such file or directory (os error 2)",
        "noisy measurements have a manifest.json, or, if the Census Bureau published them, folders like \
         State.parquet/DPQuery",
    );
    refuses_with(
        &place.say("interval --measurements noisy --out x.txt"),
        "--out: `x.txt` does not end in .csv, .parquet",
        "the extension says what to write",
    );
    let said = |arguments: &str| {
        let output = place.say(arguments);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
        stderr(&output).lines().next().unwrap_or_default().to_string()
    };
    assert!(
        said("interval --measurements noisy --level Blok --out x.csv")
            .starts_with("error: level: `Blok` is not one of ")
    );
    assert_eq!(said("interval --measurements noisy"), "error: missing: --out <FILE>");
    assert_eq!(said("interval"), "error: missing: <COUNT>");
    for both in ["12 --out x.csv", "--sigma2 5 --out x.csv", "--json --out x.csv"] {
        let said = said(&format!("interval --measurements noisy {both}"));
        assert!(said.contains("cannot be used with"), "{said}");
    }
    // A file that is damaged in the middle of the run.
    let part = fs::read_dir(place.path("noisy")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = part.filter(|path| path.is_dir()).collect();
    folders.sort();
    fs::write(folders[0].join("part-00000.parquet"), "no Parquet").unwrap();
    let output = place.say("interval --measurements noisy --out x.csv");
    assert!(stderr(&output).contains("part-00000.parquet: its SHA-256 is "), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(2));
    assert!(!place.names().iter().any(|name| name.starts_with("x.") || name.contains(".x")));
}
