//! `estimate` and `measure`, killed anywhere, and on a disk that is full after any number of bytes: what
//! looks finished is whole, and nothing else is left but what is hidden.
//!
//! A few rounds, unless the environment asks for more: `make kills` does.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::support::blocks::{measure, with_blocks};
use crate::support::{Place, parse_json, stderr};

fn rounds(otherwise: u32) -> u32 {
    std::env::var("UNSPENT_KILLS").map_or(otherwise, |n| n.parse().unwrap())
}

/// The part of a run, or of a file, that comes before it ends: all parts alike, by the golden section.
fn part(round: u32) -> f64 {
    f64::from(round + 1) * 0.618_034 % 1.0
}

/// All files of a directory, by their paths in it; of a manifest without the times of the run.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(directory: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{path}/"), found),
                false => {
                    let mut bytes = fs::read(entry.path()).unwrap();
                    if path == "manifest.json" {
                        let mut manifest = parse_json(std::str::from_utf8(&bytes).unwrap());
                        for time in ["started", "finished"] {
                            manifest.as_object_mut().unwrap().remove(time);
                        }
                        bytes = manifest.to_string().into();
                    }
                    found.insert(path, bytes);
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(directory, "", &mut found);
    found
}

/// What is in the place besides what was there from the beginning.
fn left(place: &Place, before: &[String]) -> Vec<String> {
    place.names().into_iter().filter(|name| !before.contains(name)).collect()
}

const SEED: [&str; 2] = ["--not-private-seed", "7"];
const ESTIMATE: [&str; 5] = ["estimate", "noisy", "--tables", "--out", "made"];

fn succeeds(place: &Place, arguments: &[&str]) {
    let output = place.run(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Measurements of some blocks, and what estimates of them are.
fn measured(name: &str, blocks: usize) -> (Place, BTreeMap<String, Vec<u8>>) {
    let place = with_blocks(name, blocks);
    succeeds(&place, &measure("noisy", &SEED));
    succeeds(&place, &ESTIMATE);
    let whole = contents(&place.path("made"));
    assert!(whole.len() > 8, "{:?}", whole.keys());
    fs::remove_dir_all(place.path("made")).unwrap();
    (place, whole)
}

#[test]
fn an_estimate_that_is_killed_leaves_nothing_that_looks_finished() {
    let (place, whole) = measured("killed-estimate", 2_000);
    let before = place.names();
    let started = Instant::now();
    succeeds(&place, &ESTIMATE);
    let time = started.elapsed();
    fs::remove_dir_all(place.path("made")).unwrap();
    let (mut finished, mut hidden, mut clean) = (0, 0, 0);
    for round in 0..rounds(12) {
        let mut run = place.program();
        run.args(ESTIMATE).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = run.spawn().unwrap();
        thread::sleep(time.mul_f64(part(round)));
        let _ = child.kill();
        child.wait().unwrap();
        match &left(&place, &before)[..] {
            [] => clean += 1,
            [name] if name == "made" => {
                assert!(
                    contents(&place.path("made")) == whole,
                    "round {round}: it looks finished and is not"
                );
                finished += 1;
            }
            [name] => {
                assert!(name.starts_with(".made.") && name.ends_with(".tmp"), "{name}");
                hidden += 1;
            }
            more => panic!("{more:?}"),
        }
        for name in left(&place, &before) {
            fs::remove_dir_all(place.path(name)).unwrap();
        }
    }
    // What was killed has changed nothing of what it was made from.
    succeeds(&place, &ESTIMATE);
    assert!(contents(&place.path("made")) == whole);
    println!(
        "estimate: {clean} killed with nothing left, {hidden} with a hidden directory, {finished} finished"
    );
    assert!(clean + hidden > 0);
}

/// A run of which no file may have more bytes: that fails where a full disk does.
fn with_room(place: &Place, bytes: u64, arguments: &[&str]) -> std::process::Output {
    let mut shell = Command::new("bash");
    let run = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", bytes.div_ceil(1024));
    shell.current_dir(&place.0).args(["-c", &run, "bash", env!("CARGO_BIN_EXE_unspent")]).args(arguments);
    shell.output().unwrap()
}

/// Rounds in which there is room for a part of the largest file of `whole`.
fn on_a_full_disk(place: &Place, name: &str, arguments: &[&str], whole: &BTreeMap<String, Vec<u8>>) {
    let before = place.names();
    let largest = whole.values().map(Vec::len).max().unwrap() as f64;
    let (mut failed, mut finished) = (0, 0);
    for round in 0..rounds(12) {
        // A tenth of them have room enough.
        let output = with_room(place, (1.1 * largest * part(round)) as u64, arguments);
        if output.status.success() {
            assert!(contents(&place.path(name)) == *whole, "round {round}");
            fs::remove_dir_all(place.path(name)).unwrap();
            finished += 1;
        } else {
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let words = stderr(&output);
            assert!(words.contains("could not be written: File too large"), "{words}");
            failed += 1;
        }
        assert_eq!(left(place, &before), [""; 0], "round {round}");
    }
    println!("{name} on a full disk: {failed} refused with nothing left, {finished} finished");
    assert!(failed > 0);
}

#[test]
fn a_disk_that_is_full_anywhere_leaves_no_estimate() {
    let (place, whole) = measured("full-estimate", 2_000);
    on_a_full_disk(&place, "made", &ESTIMATE, &whole);
}

#[test]
fn a_disk_that_is_full_anywhere_leaves_no_measurements() {
    let place = with_blocks("full-measure", 20_000);
    let arguments = measure("noisy", &SEED);
    succeeds(&place, &arguments);
    let whole = contents(&place.path("noisy"));
    fs::remove_dir_all(place.path("noisy")).unwrap();
    on_a_full_disk(&place, "noisy", &arguments, &whole);
}
