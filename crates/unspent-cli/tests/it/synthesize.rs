//! `unspent synthesize`: the files it writes, what can be done with them, and what it refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::process::{Output, Stdio};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use unspent::schema::Schema;
use unspent_data::population::{Population, schema};

use crate::support::{Place, program, stderr, succeeds};

const HEADS: &str =
    "geocode,pop_hispanic,pop_white,pop_black,pop_aian,pop_asian,pop_nhpi,pop_other,pop_two,pop_three";

/// What a run says that the command line is at fault for.
fn refused(output: &Output) -> String {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty() && said.starts_with("error: ") && said.contains("\nhint: "), "{said}");
    said.into()
}

fn files(place: &Place) -> BTreeSet<String> {
    fs::read_dir(&place.0).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect()
}

/// A Parquet table as CSV, and the notes in it.
fn parquet(place: &Place, name: &str) -> (String, BTreeMap<String, String>) {
    let reader = SerializedFileReader::new(File::open(place.path(name)).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let columns = metadata.schema_descr().columns();
    let mut text = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(",") + "\n";
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        text += row.get_string(0).unwrap();
        for (_, field) in row.get_column_iter().skip(1) {
            match field {
                Field::Int(count) => text += &format!(",{count}"),
                Field::Long(number) => text += &format!(",{number}"),
                Field::Str(value) => text += &format!(",{value}"),
                other => panic!("{other}"),
            }
        }
        text.push('\n');
    }
    let notes = metadata.key_value_metadata().unwrap().iter();
    (text, notes.map(|note| (note.key.clone(), note.value.clone().unwrap())).collect())
}

/// What the library makes, written the slow way.
fn expected(blocks: u64, seed: u64) -> String {
    let mut text = format!("{HEADS}\n");
    for block in Population::new(blocks, seed).unwrap() {
        text += block.code();
        block.counts.iter().for_each(|count| text += &format!(",{count}"));
        text.push('\n');
    }
    text
}

#[test]
fn csv_parquet_and_stdout_are_the_same_table() {
    let place = Place::new("same");
    let common = ["synthesize", "--blocks", "20000", "--seed", "7"];
    let csv = succeeds(&place.run(&[&common[..], &["--out", "people.csv"]].concat()));
    succeeds(&place.run(&[&common[..], &["--out", "again.parquet"]].concat()));
    let stdout = succeeds(&place.run(&common));
    let text = place.read("people.csv");
    assert_eq!(text, expected(20_000, 7));
    assert_eq!(stdout, text);
    let (again, notes) = parquet(&place, "again.parquet");
    assert_eq!(again, text);
    assert_eq!((notes["unspent.blocks"].as_str(), notes["unspent.seed"].as_str()), ("20000", "7"));
    assert!(notes["unspent.note"].contains("made up"), "{notes:?}");
    assert_ne!(succeeds(&place.run(&["synthesize", "--blocks", "20000"])), text, "the seed counts");

    // A schema each, and nothing else.
    let names = ["again.parquet", "again.toml", "people.csv", "people.toml"];
    assert_eq!(files(&place), names.map(String::from).into());
    assert_eq!(Schema::read(&place.path("people.toml")).unwrap(), schema());
    assert_eq!(place.read("people.toml"), place.read("again.toml"));

    // The summary counts what is in the table.
    for (level, length) in [("State", 2), ("County", 5), ("Tract Subset", 11), ("Block", 15)] {
        let units: BTreeSet<&str> = text.lines().skip(1).map(|line| &line[..length]).collect();
        let line = csv.lines().find(|line| line.trim_start().starts_with(&format!("{level}  "))).unwrap();
        let shown: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(shown[shown.len() - 2], units.len().to_string(), "{csv}");
    }
    let people = |line: &str| -> u64 { line.split(',').skip(1).map(|n| n.parse::<u64>().unwrap()).sum() };
    let persons: u64 = text.lines().skip(1).map(people).sum();
    assert!(csv.contains(&format!("\n{persons} persons; ")), "{csv}");
    assert!(csv.starts_with("A made-up population: nobody in it exists.\n"), "{csv}");
    assert!(csv.ends_with("Written to people.csv; people.toml says how it is read.\n"), "{csv}");
}

#[test]
fn it_is_a_hundred_thousand_blocks_of_seed_1_unless_told_otherwise() {
    let text = succeeds(&Place::new("default").run(&["synthesize"]));
    assert!(text == expected(100_000, 1), "all of it");
}

#[test]
fn row_groups_are_put_together_again() {
    // A full one and a row.
    let place = Place::new("groups");
    let blocks = (1u64 << 20) + 1;
    succeeds(&place.run(&["synthesize", "--blocks", &blocks.to_string(), "--out", "people.parquet"]));
    let reader = SerializedFileReader::new(File::open(place.path("people.parquet")).unwrap()).unwrap();
    let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [1 << 20, 1]);
    let last = Population::new(blocks, 1).unwrap().last().unwrap();
    let row = reader.get_row_group(1).unwrap().get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get_string(0).unwrap(), last.code());
    assert_eq!(row.get_int(2).unwrap(), last.counts[1] as i32);
}

#[test]
fn noise_can_be_added_to_it() {
    let place = Place::new("measured");
    // Noise of this variance is 0, but for a chance of 2·exp(−500) a draw.
    let allocation = r#"
name = "test"
neighbours = "bounded"
delta = "1e-10"
attributes = ["race"]
[queries]
total = []
race = ["race"]
[[levels]]
name = "US"
[levels.sigma2]
total = 5
[[levels]]
name = "County"
[levels.sigma2]
race = "0.001"
[[levels]]
name = "Block"
[levels.sigma2]
race = "0.001"
"#;
    place.write("budget.toml", allocation);
    for kind in ["csv", "parquet"] {
        let (table, noisy) = (format!("people.{kind}"), format!("noisy-{kind}"));
        succeeds(&place.run(&["synthesize", "--blocks", "3000", "--out", &table, "--force"]));
        succeeds(&place.run(&[
            "measure",
            &table,
            "--allocation",
            "budget.toml",
            "--schema",
            "people.toml",
            "--out",
            &noisy,
        ]));
        for (folder, length) in [("county", 5), ("block", 15)] {
            let mut sums: BTreeMap<String, Vec<i64>> = BTreeMap::new();
            for block in Population::new(3_000, 1).unwrap() {
                let unit = sums.entry(block.code()[..length].into()).or_insert_with(|| vec![0; 9]);
                unit.iter_mut().zip(block.counts).for_each(|(sum, count)| *sum += i64::from(count));
            }
            let file = File::open(place.path(&noisy).join(folder).join("part-00000.parquet")).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let rows: BTreeMap<String, Vec<i64>> = reader
                .get_row_iter(None)
                .unwrap()
                .map(|row| {
                    let row = row.unwrap();
                    let value = |(name, field): (&String, &Field)| match (name.as_str(), field) {
                        ("value", Field::ListInternal(list)) => Some(list.clone()),
                        _ => None,
                    };
                    let values = row.get_column_iter().find_map(value).expect("a value");
                    let number = |field: &Field| match field {
                        Field::Long(n) => *n,
                        other => panic!("{other}"),
                    };
                    (row.get_string(0).unwrap().clone(), values.elements().iter().map(number).collect())
                })
                .collect();
            assert!(rows == sums, "{kind}, {folder}");
        }
    }
}

#[test]
fn nothing_is_overwritten_unasked() {
    let place = Place::new("exists");
    let run = |more: &[&str]| place.run(&[&["synthesize", "--blocks", "50"][..], more].concat());
    succeeds(&run(&["--out", "people.csv"]));
    let said = refused(&run(&["--out", "people.csv", "--seed", "2"]));
    assert!(said.contains("--out: `people.csv` exists already") && said.contains("--force"), "{said}");
    // A schema of that name is somebody's, whatever the table is.
    place.write("people.toml", "mine");
    let said = refused(&run(&["--out", "people.parquet"]));
    assert!(said.contains("the schema beside it: `people.toml` exists already"), "{said}");
    assert_eq!((place.read("people.csv"), place.read("people.toml")), (expected(50, 1), "mine".into()));
    assert_eq!(files(&place), ["people.csv", "people.toml"].map(String::from).into());
    succeeds(&run(&["--out", "people.csv", "--seed", "2", "--force"]));
    assert_eq!(place.read("people.csv"), expected(50, 2));
    assert_eq!(Schema::read(&place.path("people.toml")).unwrap(), schema());
}

#[test]
fn bad_input_is_refused_by_name() {
    let place = Place::new("refused");
    for (arguments, cause) in [
        (&["--blocks", "0"][..], "--blocks: `0`"),
        (&["--blocks", "-5"], "--blocks: `-5`"),
        (&["--blocks", "1e6"], "--blocks: `1e6`"),
        (&["--blocks", "1000000001"], "a whole number between 1 and 1000000000"),
        (&["--seed", "-1"], "--seed: `-1`"),
        (&["--seed", "18446744073709551616"], "between 0 and 2^64 − 1"),
        (&["--out", "people.txt"], "does not end in .csv, .parquet"),
        (&["--out", "no/people.csv"], "the directory of `no/people.csv` does not exist"),
        (&["--schema", "pl95"], "--schema: `pl95`"),
        (&["--schema", "pl94-units"], "one of pl94, pl94-persons, dhc-persons"),
        (&["--state", "guam-sized"], "--state: `guam-sized`"),
        (&["--state", "vermont-sized", "--blocks", "5"], "cannot be used with"),
        (&["--rows", "counts"], "missing: --schema <NAME>"),
        (&["--ids"], "missing: --schema <NAME>"),
        (&["--schema", "pl94", "--rows", "people"], "--rows: `people`"),
        (&["--schema", "pl94", "--rows", "counts", "--ids"], "--ids: a row of --rows counts is several"),
    ] {
        let said = refused(&place.run(&[&["synthesize"], arguments].concat()));
        assert!(said.contains(cause), "{arguments:?}: {said}");
    }
    assert!(files(&place).is_empty());
}

#[test]
fn people_are_written_in_a_shipped_schema() {
    let place = Place::new("persons");
    let common = ["synthesize", "--blocks", "300", "--seed", "3", "--schema"];
    let run = |more: &[&str]| succeeds(&place.run(&[&common[..], more].concat()));
    for (schema, heads) in [
        ("pl94", "geocode,hhgq,votingage,hispanic,cenrace"),
        ("dhc-persons", "geocode,relgq,sex,age,hispanic,cenrace"),
    ] {
        for (rows, last) in [(&[][..], ""), (&["--ids"], ",person"), (&["--rows", "counts"], ",count")] {
            let said = run(&[&[schema, "--force", "--out", "people.csv"][..], rows].concat());
            run(&[&[schema, "--force", "--out", "again.parquet"][..], rows].concat());
            let text = place.read("people.csv");
            assert_eq!(text.lines().next(), Some(format!("{heads}{last}").as_str()));
            assert!(text == run(&[&[schema][..], rows].concat()), "{schema}, {rows:?}: stdout");
            let (again, notes) = parquet(&place, "again.parquet");
            assert!(text == again, "{schema}, {rows:?}: Parquet");
            assert!(notes["unspent.schema"].starts_with(schema), "{notes:?}");
            let units = place.read("people-units.csv");
            assert_eq!(units, parquet(&place, "again-units.parquet").0);
            assert_eq!((units.lines().next(), units.lines().count()), (Some("geocode,persons"), 301));
            assert_eq!(place.read("people.toml"), place.read("again.toml"));
            assert!(said.contains(&format!("The table has {} rows.", text.lines().count() - 1)), "{said}");
            let end = "\npeople-units.csv lists all blocks, with the number of persons of each.\n";
            assert!(said.ends_with(end), "{said}");
        }
    }
    let names = ["again-units.parquet", "again.parquet", "again.toml"];
    let names = names.into_iter().chain(["people-units.csv", "people.csv", "people.toml"]);
    assert_eq!(files(&place), names.map(String::from).collect());
    // The list of units is somebody's, too.
    fs::remove_file(place.path("people.csv")).unwrap();
    fs::remove_file(place.path("people.toml")).unwrap();
    let said = refused(&place.run(&[&common[..], &["pl94", "--out", "people.csv"]].concat()));
    assert!(said.contains("the list of units beside it: `people-units.csv` exists already"), "{said}");
}

#[test]
fn a_state_is_measured_with_its_list_of_units() {
    let place = Place::new("state");
    let made = succeeds(&place.run(&[
        "synthesize",
        "--schema",
        "pl94",
        "--state",
        "rhode-island-sized",
        "--rows",
        "counts",
        "--out",
        "ri.parquet",
    ]));
    assert!(made.lines().any(|line| line.split_whitespace().eq(["State", "1", "1050393"])), "{made}");
    // Totals alone, with noise of a variance of which a draw is 0 but for a chance of 2·exp(−500).
    let levels = ["US", "State", "County", "Tract", "Block_Group", "Block"]
        .map(|level| format!("[[levels]]\nname = \"{level}\"\n[levels.sigma2]\ntotal = \"0.001\"\n"));
    let head = "name = \"test\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\nschema = \"pl94-persons\"\n\
                [queries]\ntotal = []\n";
    place.write("totals.toml", format!("{head}{}", levels.concat()));
    let noisy = succeeds(&place.run(&[
        "measure",
        "ri.parquet",
        "--allocation",
        "totals.toml",
        "--units",
        "ri-units.parquet",
        "--check-total",
        "persons",
        "--sorted",
        "--out",
        "noisy",
    ]));
    assert!(noisy.lines().any(|line| line.contains("Block ") && line.contains(" 25181 ")), "{noisy}");
}

#[test]
fn a_reader_may_leave_early() {
    let mut run = program()
        .args(["synthesize", "--blocks", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 200];
    run.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(first.starts_with(HEADS.as_bytes()));
    assert!(output.status.success() && output.stderr.is_empty());
}
