use std::collections::BTreeMap;

use unspent::ErrorKind;
use unspent::sampler::ReleaseKey;

use super::*;
use crate::table::{Columns, Input, Wanted};
use crate::{BypassRule, Measure, NoiseSource, Quiet, UnitList};

/// Bypassed units, recodes, a zero, and two numbers of the units that are published.
const HOMES: &str = include_str!("../../../../examples/homes.toml");
const RECORDS: &str = include_str!("../../../../examples/homes.csv");
const UNITS: &str = include_str!("../../../../examples/homes-units.csv");

const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn homes(listed: bool, without_bypass: bool) -> Result<Distributed> {
    let allocation = Allocation::parse("homes.toml", HOMES)?;
    let (schema, rows, delta) = (None, None, None);
    DistributedPlan { allocation, schema, rows, listed, without_bypass, delta, break_promise: false }
        .approve()
}

/// Every so many-th line of a table, from one on.
fn columns(csv: &str, wanted: Wanted<'_>, from: usize, step: usize) -> Columns {
    let (names, lines) = csv.split_once('\n').unwrap();
    let lines: Vec<Vec<&str>> =
        lines.lines().skip(from).step_by(step).map(|line| line.split(',').collect()).collect();
    let column = |(at, name): (usize, &str)| {
        let texts = lines.iter().map(|line| line[at]);
        let values = match wanted.counts.iter().any(|counted| counted == name) {
            true => texts.map(|text| text.parse().unwrap()).collect::<Vec<i64>>().into(),
            false => texts.collect::<Vec<_>>().into(),
        };
        (name.to_string(), values)
    };
    Columns::new(names.split(',').enumerate().map(column).collect()).unwrap()
}

fn code(texts: &Texts, at: usize) -> String {
    let [start, end] = [texts.offsets[at], texts.offsets[at + 1]].map(|offset| offset as usize);
    String::from_utf8(texts.bytes[start..end].to_vec()).unwrap()
}

/// Of a level's units by code, their cells and what is public of them.
type Sums = BTreeMap<String, (Vec<(u64, i64)>, Vec<i64>)>;

/// As others add them up: all parts of the table, and units with nobody in them.
fn sums(reader: &TableReader, level: usize) -> Sums {
    let public = Wanted { codes: &[], values: &[], counts: reader.public() };
    let units = reader.units(columns(UNITS, public, 0, 1)).unwrap();
    let width = reader.public().len();
    let mut sums = Sums::new();
    for (at, public) in units.public.chunks_exact(width).enumerate() {
        sums.insert(code(&units.codes[level].1, at), (vec![], public.to_vec()));
    }
    for part in [2, 0, 1] {
        let read = reader.rows(columns(RECORDS, reader.columns(), part, 3)).unwrap();
        for ((row, cell), count) in read.rows.iter().zip(&read.cells).zip(&read.counts) {
            let of = code(&read.codes[level].1, *row as usize);
            sums.get_mut(&of).unwrap().0.push((*cell as u64, *count));
        }
    }
    sums
}

fn measured(noise: &UnitNoise, sums: &Sums, exact: bool) -> Result<crate::tabulation::NoisyBatch> {
    let units = sums.iter().map(|(code, (cells, public))| Ok(UnitCounts { code, cells, public }));
    noise.measure(units, exact)
}

#[test]
fn what_is_measured_in_parts_is_what_is_measured_at_once() {
    let release = homes(true, true).unwrap();
    let lines = |csv: &str, wanted: Wanted<'_>| Input::Columns(columns(csv, wanted, 0, 1));
    let reader = TableReader::new(release.text()).unwrap();
    let public = Wanted { codes: &[], values: &[], counts: reader.public() };
    let at_once = Measure {
        units: UnitList::List(lines(UNITS, public)),
        bypass: Some(BypassRule::None),
        noise: NoiseSource::NotPrivate(5),
        ..Measure::new(lines(RECORDS, reader.columns()), Allocation::parse("homes.toml", HOMES).unwrap())
    };
    let at_once = at_once.in_memory(&mut Quiet).unwrap();
    assert_eq!(at_once.levels.len(), 3);
    for (at, level) in at_once.levels.iter().enumerate() {
        let noise = UnitNoise::new(release.text(), &ReleaseKey::not_private(5), &level.level).unwrap();
        let sums = sums(&reader, at);
        let batch = measured(&noise, &sums, false).unwrap();
        assert_eq!(batch.codes, level.codes);
        for (values, query) in batch.values.iter().zip(&level.queries) {
            assert_eq!(*values, query.values, "{}: {}", level.level, query.name);
        }
        for exact in at_once.exact.iter().filter(|exact| exact.level == level.level) {
            let batch = measured(&noise, &sums, true).unwrap();
            assert_eq!((batch.exact, &batch.codes), (true, &exact.codes));
            assert!(batch.values.iter().eq(exact.queries.iter().map(|query| &query.values)));
        }
    }
    assert_eq!(at_once.exact.len(), 1);
}

#[test]
fn the_files_of_a_release_name_all_its_units() {
    let release = homes(true, true).unwrap();
    let described = serde_json::to_value(release.described()).unwrap();
    let queries = |level: usize| described["levels"][level]["queries"].as_array().unwrap().len() as u64;
    let file = |level: &str, at: usize, units: u64| {
        let entry = FileEntry {
            file: format!("{level}/part.parquet"),
            rows: units * queries(at),
            units,
            sha256: DIGEST.into(),
        };
        (level.to_string(), vec![entry])
    };
    let run = DistributedRun {
        table: "homes".into(),
        rows: None,
        not_private_seed: None,
        started: "then".into(),
        finished: "now".into(),
        levels: vec![file("Block", 2, 9), file("State", 0, 1), file("Tract", 1, 3)],
        exact: vec![(
            "Block".into(),
            vec![FileEntry {
                file: "exact-block/part.parquet".into(),
                rows: 9,
                units: 9,
                sha256: DIGEST.into(),
            }],
        )],
    };
    let files = release.files(run.clone()).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["allocation.toml", "certificate.md", "certificate.html", "manifest.json"]);
    let manifest: serde_json::Value = serde_json::from_slice(&files[3].1).unwrap();
    assert_eq!(manifest["levels"][2]["units"], 9);
    assert_eq!(manifest["levels"][2]["files"][0]["sha256"], DIGEST);
    let text = String::from_utf8(files[0].1.clone()).unwrap();
    let digest = unspent::file::FileDigest::of("allocation.toml", text);
    assert_eq!(manifest["files"][0], serde_json::to_value(digest).unwrap());
    assert!(manifest["assumes"].as_str().unwrap().ends_with(DETERMINISTIC));
    assert_eq!(manifest["private"], true);
    assert!(String::from_utf8(files[1].1.clone()).unwrap().contains(DETERMINISTIC));

    let refused = |change: &dyn Fn(&mut DistributedRun)| {
        let mut run = run.clone();
        change(&mut run);
        release.files(run).unwrap_err().to_string()
    };
    assert_eq!(refused(&|run| drop(run.levels.pop())), "level `Tract` was not written");
    assert_eq!(refused(&|run| run.exact.clear()), "level `Block` was not written");
    assert_eq!(refused(&|run| run.levels.push(file("Street", 0, 1))), "level `Street` is not measured");
    let twice = "level `Tract` is there twice";
    assert_eq!(refused(&|run| run.levels.push(file("Tract", 1, 3))), twice);
    let others = "level `Block`: its exact values are of other units";
    assert_eq!(refused(&|run| run.exact[0].1[0].units = 8), others);
    let rows = refused(&|run| run.levels[1].1[0].rows += 1);
    assert!(rows.contains("its rows and units do not fit"), "{rows}");
    let outside = refused(&|run| run.levels[1].1[0].file = "../part.parquet".into());
    assert!(outside.contains("is not in the directory"), "{outside}");
    let digest = refused(&|run| run.exact[0].1[0].sha256.clear());
    assert!(digest.contains("is not 64 hexadecimal digits but ``"), "{digest}");
}

#[test]
fn what_cannot_be_measured_in_parts_is_refused_beforehand() {
    let error = |found: Result<Distributed>| found.map(|_| ()).unwrap_err();
    assert!(error(homes(true, false)).to_string().contains("bypasses units"));
    let unlisted = error(homes(false, true)).to_string();
    assert_eq!(unlisted, "exact columns need a list of units");
    let mut allocation = Allocation::parse("homes.toml", HOMES).unwrap();
    allocation = allocation.used_by(Default::default()).unwrap();
    let (schema, rows, delta) = (None, None, None);
    let plan = DistributedPlan {
        allocation,
        schema,
        rows,
        listed: false,
        without_bypass: false,
        delta,
        break_promise: false,
    };
    assert_eq!(error(plan.approve()).kind(), ErrorKind::NoUnits);
}

#[test]
fn a_unit_is_refused_without_its_counts() {
    let release = homes(true, true).unwrap();
    let noise = UnitNoise::new(release.text(), &ReleaseKey::not_private(5), "Tract").unwrap();
    let refused = |units: &[(&str, &[(u64, i64)])]| {
        let units = units.iter().map(|(code, cells)| Ok(UnitCounts { code, cells, public: &[] }));
        noise.measure(units, false).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[("101", &[]), ("102", &[]), ("101", &[])]), "a unit comes twice");
    assert_eq!(refused(&[("101", &[]), ("101", &[])]), "a unit comes twice");
    assert_eq!(refused(&[("101", &[(0, -31)])]), "a count of a cell is negative");
    assert_eq!(refused(&[("101", &[(696, 1)])]), "a cell has a number beyond 695");
    assert_eq!(refused(&[("101 ", &[])]), "level `Tract`: code: is not a code of 3 characters");
    assert_eq!(refused(&[("10\n", &[])]), "level `Tract`: code: is not a code of at most 256 bytes");
    assert_eq!(refused(&[("101", &[(0, i64::MAX), (1, 1)])]), "a unit: a sum exceeds 2^63 − 1");
    assert!(UnitNoise::new(release.text(), &ReleaseKey::not_private(5), "Street").is_err());
}
