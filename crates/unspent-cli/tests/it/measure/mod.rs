//! `unspent measure`: what it writes. What it refuses is in `refused`.

mod records;
mod refused;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row, RowAccessor};
use unspent::file::FileDigest;

use crate::support::blocks::{RACES, left_behind, measure, parquet_table, table, with_blocks};
use crate::support::{
    EXAMPLE, Place, RHODE_ISLAND, parse_json, read, repository, stderr, succeeds, succeeds_seeded,
};

/// A row of a noisy measurement file.
#[derive(Debug, PartialEq)]
struct Measured {
    geocode: String,
    query: String,
    shape: Vec<i64>,
    value: Vec<i64>,
    variance: f64,
    plb: f64,
}

fn list(row: &Row, at: usize) -> Vec<i64> {
    let list = row.get_list(at).unwrap();
    let number = |field: &Field| match field {
        Field::Int(n) => i64::from(*n),
        Field::Long(n) => *n,
        other => panic!("{other}"),
    };
    list.elements().iter().map(number).collect()
}

/// All rows of a level, in the order of its files, and the notes of the last one.
fn level(directory: &Path, folder: &str) -> (Vec<Measured>, BTreeMap<String, String>) {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut rows, mut notes) = (vec![], BTreeMap::new());
    for file in files {
        let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
        for note in reader.metadata().file_metadata().key_value_metadata().unwrap() {
            notes.insert(note.key.clone(), note.value.clone().unwrap());
        }
        let columns: Vec<String> = reader
            .metadata()
            .file_metadata()
            .schema()
            .get_fields()
            .iter()
            .map(|field| field.name().to_string())
            .collect();
        assert_eq!(columns, ["geocode", "query_name", "query_shape", "value", "variance", "plb"]);
        rows.extend(reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            Measured {
                geocode: row.get_string(0).unwrap().clone(),
                query: row.get_string(1).unwrap().clone(),
                shape: list(&row, 2),
                value: list(&row, 3),
                variance: row.get_double(4).unwrap(),
                plb: row.get_double(5).unwrap(),
            }
        }));
    }
    (rows, notes)
}

/// Exact answers of a query, from the cells of a unit: under 18 by race, then 18 and over by race.
fn exact(query: &str, cells: &[i64]) -> Vec<i64> {
    match query {
        "total" => vec![cells.iter().sum()],
        "voting age" => vec![cells[..8].iter().sum(), cells[8..].iter().sum()],
        "race" => (0..8).map(|i| cells[i] + cells[i + 8]).collect(),
        _ => cells.to_vec(),
    }
}

/// The cells of every unit of a level, from the CSV.
fn cells(csv: &str, length: usize) -> BTreeMap<String, Vec<i64>> {
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: String| heads.iter().position(|h| *h == name).unwrap();
    let (pop, vap): (Vec<usize>, Vec<usize>) =
        RACES.iter().map(|race| (at(format!("pop_{race}")), at(format!("vap_{race}")))).unzip();
    let mut units: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let n = |i: usize| fields[i].parse::<i64>().unwrap();
        let under = pop.iter().zip(&vap).map(|(p, v)| n(*p) - n(*v));
        let row: Vec<i64> = under.chain(vap.iter().map(|v| n(*v))).collect();
        let sums = units.entry(fields[at("geoid".into())][..length].into()).or_insert_with(|| vec![0; 16]);
        sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
    }
    units
}

const LEVELS: [(&str, usize); 5] =
    [("state", 2), ("county", 5), ("tract", 11), ("block-group", 12), ("block", 15)];
const QUERIES: [(&str, &[i64]); 4] =
    [("total", &[1]), ("voting age", &[2]), ("race", &[8]), ("voting age * race", &[2, 8])];

/// Every unit and query is there once, in order, and the noise has mean 0 and the variance that the file
/// says.
///
/// Each of the forty sums is within six standard errors of its expectation; noise that is what it should be
/// fails with a probability below 40 · 2e-9 by the central limit, where there are enough values for it.
fn check_measurements(directory: &Path, csv: &str) {
    for (folder, length) in LEVELS {
        let (rows, _) = level(directory, folder);
        let units = cells(csv, length);
        // The state's total is not measured.
        let queries = if folder == "state" { &QUERIES[1..] } else { &QUERIES[..] };
        let mut expected = units
            .iter()
            .flat_map(|(code, cells)| queries.iter().map(move |(name, shape)| (code, cells, *name, *shape)));
        let mut errors: BTreeMap<&str, (Vec<i64>, f64)> = BTreeMap::new();
        for row in &rows {
            let (code, cells, name, shape) = expected.next().expect("no more rows than that");
            assert_eq!((&row.geocode, row.query.as_str(), &row.shape[..]), (code, name, shape));
            let exact = exact(name, cells);
            assert_eq!(row.value.len(), exact.len());
            let of_query = errors.entry(name).or_insert((vec![], row.variance));
            assert_eq!(of_query.1, row.variance);
            of_query.0.extend(row.value.iter().zip(exact).map(|(noisy, exact)| noisy - exact));
            // Bounded neighbours: two moves.
            assert!((row.plb * row.variance - 1.0).abs() < 1e-9);
        }
        assert!(expected.next().is_none(), "all rows are there");
        for (query, (errors, variance)) in errors {
            let n = errors.len() as f64;
            let sum = errors.iter().sum::<i64>() as f64;
            let squares: f64 = errors.iter().map(|e| (e * e) as f64).sum();
            assert!(sum.abs() < 6.0 * (n * variance).sqrt(), "{folder} {query}: mean {}", sum / n);
            if n >= 1_000.0 {
                let off = (squares - n * variance).abs();
                assert!(
                    off < 6.0 * (2.0 * n).sqrt() * variance,
                    "{folder} {query}: variance {}",
                    squares / n
                );
            }
        }
    }
}

#[test]
fn a_table_becomes_noisy_measurements_at_every_level() {
    let place = with_blocks("levels", 3_000);
    let text = succeeds_seeded(&place.run(&measure("noisy", &["--not-private-seed", "7"])));
    assert!(text.contains("WARNING: NOT PRIVATE"), "{text}");
    check_measurements(&place.path("noisy"), &table(3_000));
    assert_eq!(left_behind(&place), ["noisy"]);
}

#[test]
fn the_manifest_says_what_was_released() {
    let place = with_blocks("manifest", 500);
    let text = succeeds(&place.run(&measure("noisy/.", &[])));
    assert!(!text.contains("NOT PRIVATE"));
    let noisy = place.path("noisy");
    let manifest = place.json("noisy/manifest.json");
    assert_eq!(manifest["private"], true);
    assert_eq!((&manifest["rows"], &manifest["table"]), (&500.into(), &"blocks.csv".into()));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert!(manifest.get("warning").is_none() && !noisy.join("NOT-PRIVATE.txt").exists());
    let block = &manifest["levels"][4];
    assert_eq!((&block["level"], &block["units"]), (&"Block".into(), &500.into()));
    let cross = &block["queries"][3];
    assert_eq!((&cross["query_shape"], &cross["sigma2"]), (&serde_json::json!([2, 8]), &"32/15".into()));
    assert_eq!(cross["measurements"], 8_000);
    // The digest of every file but its own.
    let digest = |name: &str| FileDigest::of(name, fs::read(noisy.join(name)).unwrap());
    let file = "block/part-00000.parquet";
    let entry = serde_json::json!({"file": file, "rows": 2_000, "units": 500, "sha256": digest(file).sha256});
    assert_eq!(block["files"], serde_json::json!([entry]));
    let beside = ["allocation.toml", "certificate.md", "certificate.html"].map(digest);
    assert_eq!(manifest["files"], serde_json::to_value(beside).unwrap());
    // No trace of the key: nothing in the manifest but what is listed.
    let keys: Vec<&String> = manifest.as_object().unwrap().keys().collect();
    let known = [
        "assumes",
        "program",
        "version",
        "allocation",
        "table",
        "rows",
        "private",
        "kept",
        "started",
        "finished",
        "levels",
        "files",
        "certificate",
    ];
    assert!(keys.len() == known.len() && known.iter().all(|k| manifest.get(k).is_some()), "{keys:?}");

    // The certificate is that of the allocation that was written, and it names that file.
    let certificate = |allocation| parse_json(&succeeds(&place.run(&["certificate", allocation, "--json"])));
    let ours = certificate("noisy/allocation.toml");
    let mut released = manifest["certificate"].clone();
    // It also says what an attacker gains.
    assert!(released["reading"].take().is_object());
    assert_eq!(released, ours);
    assert_eq!(ours["products"][0]["file"]["name"], "allocation.toml");
    // It is that of the allocation that was used, which is another file.
    let mut used = certificate(EXAMPLE);
    assert_ne!(used["products"][0]["file"].take(), ours["products"][0]["file"]);
    used["products"][0]["file"] = ours["products"][0]["file"].clone();
    assert_eq!(used, ours);
    let markdown = succeeds(&place.run(&["certificate", "noisy/allocation.toml", "--markdown"]));
    let written = place.read("noisy/certificate.md");
    let guarantees = markdown.split("## ").find(|part| part.starts_with("Guarantees")).unwrap();
    assert!(written.contains(guarantees) && written.contains("exactly one cell of one row"), "{written}");
}

#[test]
fn a_fixed_seed_is_marked_wherever_its_noise_goes() {
    let place = with_blocks("seed", 100);
    succeeds_seeded(&place.run(&measure("noisy", &["--not-private-seed", "7"])));
    let noisy = place.path("noisy");
    let manifest = place.json("noisy/manifest.json");
    assert_eq!(manifest["private"], false);
    assert!(manifest["warning"].as_str().unwrap().starts_with("NOT PRIVATE"));
    assert!(place.read("noisy/NOT-PRIVATE.txt").starts_with("NOT PRIVATE"));
    // Right below the title.
    let certificate = place.read("noisy/certificate.md");
    assert!(certificate.lines().nth(2).unwrap().starts_with("NOT PRIVATE"), "{certificate}");
    assert!(place.read("noisy/certificate.html").contains("NOT PRIVATE"));
    for (folder, _) in LEVELS {
        let (_, notes) = level(&noisy, folder);
        assert_eq!(notes["unspent.private"], "false");
        assert!(notes["unspent.warning"].starts_with("NOT PRIVATE"));
    }
    let sample = |more: &[&str]| {
        let all = [&["sample", "--sigma2", "5", "--count", "3", "--not-private-seed", "7"], more].concat();
        succeeds_seeded(&place.run(&all))
    };
    assert!(sample(&[]).starts_with("# NOT PRIVATE"));
    assert!(sample(&["--csv"]).starts_with("noise_NOT_PRIVATE\n"));
    sample(&["--out", "noise.parquet"]);
    let reader = SerializedFileReader::new(File::open(place.path("noise.parquet")).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().schema().get_fields()[0].name(), "noise_NOT_PRIVATE");
}

#[test]
fn threads_do_not_change_what_is_written() {
    // More than one file at the lowest level: a file has some two million values.
    let place = with_blocks("threads", 100_000);
    for threads in ["1", "2", "5"] {
        succeeds_seeded(&place.run(&measure(threads, &["--not-private-seed", "7", "--threads", threads])));
    }
    for (folder, _) in LEVELS {
        let files: Vec<_> =
            fs::read_dir(place.path("1").join(folder)).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(files.len(), if folder == "block" { 2 } else { 1 });
        for file in files {
            let read = |run: &str| fs::read(place.path(run).join(folder).join(&file)).unwrap();
            assert_eq!(read("1"), read("2"), "{folder}");
            assert_eq!(read("1"), read("5"), "{folder}");
        }
    }
}

#[test]
fn a_second_run_has_other_noise() {
    let place = with_blocks("again", 200);
    succeeds(&place.run(&measure("first", &[])));
    succeeds(&place.run(&measure("second", &[])));
    let values = |run: &str| level(&place.path(run), "block").0.into_iter().flat_map(|row| row.value);
    let same = values("first").zip(values("second")).filter(|(a, b)| a == b).count();
    // 5,400 values: two with the same noise key would all agree.
    assert!(same < 2_700, "{same}");
}

#[test]
fn a_table_may_come_from_a_pipe_or_as_parquet() {
    let place = with_blocks("kinds", 300);
    succeeds_seeded(&place.run(&measure("csv", &["--not-private-seed", "7"])));
    let mut child = place
        .program()
        .args(["measure", "-", "--allocation", EXAMPLE, "--out", "pipe", "--not-private-seed", "7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(table(300).as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    parquet_table(&place.path("blocks.parquet"), &table(300), 200, false);
    let all =
        ["measure", "blocks.parquet", "--allocation", EXAMPLE, "--out", "parquet", "--not-private-seed", "7"];
    succeeds_seeded(&place.run(&all));
    for (folder, _) in LEVELS {
        let rows = |run: &str| level(&place.path(run), folder).0;
        assert_eq!(rows("csv"), rows("pipe"));
        assert_eq!(rows("csv"), rows("parquet"));
    }
    assert_eq!(place.json("pipe/manifest.json")["table"], "stdin");
    // A count that is missing.
    parquet_table(&place.path("missing.parquet"), &table(300), 200, true);
    let output = place.run(&["measure", "missing.parquet", "--allocation", EXAMPLE, "--out", "x"]);
    assert_eq!(
        stderr(&output),
        "error: missing.parquet: row 1: vap_white: is missing\n\
         hint: every row has all codes and counts; write 0 if there is nobody\n"
    );
}

#[test]
fn rhode_island_is_measured() {
    let place = Place::new("rhode-island");
    let csv = read(RHODE_ISLAND.as_ref());
    succeeds_seeded(&place.run(&[
        "measure",
        RHODE_ISLAND,
        "--allocation",
        EXAMPLE,
        "--out",
        "noisy",
        "--not-private-seed",
        "1",
    ]));
    let units: Vec<u64> = place.json("noisy/manifest.json")["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| level["units"].as_u64().unwrap())
        .collect();
    assert_eq!(units, [1, 5, 244, 815, 25_181]);
    check_measurements(&place.path("noisy"), &csv);
    assert_eq!(cells(&csv, 2)["44"].iter().sum::<i64>(), 1_052_567);
}

/// What a newcomer tries first: a real table that says how it is read, and an allocation for it.
#[test]
fn the_allocation_for_rhode_island_fits_its_table() {
    let place = Place::new("first");
    let allocation = repository("data/ri-2010-allocation.toml");
    succeeds(&place.run(&[
        "measure",
        RHODE_ISLAND,
        "--allocation",
        allocation.to_str().unwrap(),
        "--out",
        "noisy",
    ]));
    let manifest = place.json("noisy/manifest.json");
    assert_eq!(manifest["private"], true);
    let blocks = &manifest["levels"][4];
    assert_eq!((&blocks["level"], &blocks["units"]), (&"Block".into(), &25_181.into()));
}
