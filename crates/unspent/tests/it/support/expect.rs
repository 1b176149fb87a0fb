//! Expected texts as files, which can be written anew.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a difference that are shown.
const SHOWN: usize = 12;

/// The names of the files in a directory below `tests/it`, without their extensions, sorted: none may be left
/// over.
pub fn expected_in(directory: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(directory);
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `text` is what the file says: a path below `tests/it` of the crate that is tested.
///
/// With `BLESS=1` in the environment the file is written instead. Files in `golden` hold numbers that were
/// certified; they are written with `BLESS=golden` only.
#[track_caller]
pub fn expect(file: &str, text: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
    let word = if file.starts_with("golden/") { "golden" } else { "1" };
    if std::env::var("BLESS").is_ok_and(|given| given == word) {
        fs::create_dir_all(path.parent().expect("below tests/it")).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if text == expected {
        return;
    }
    let (mut differing, mut shown) = (0, String::new());
    let lines = expected.lines().count().max(text.lines().count());
    for line in 0..lines {
        let [was, is] = [&expected, text].map(|text| text.lines().nth(line));
        if was != is {
            differing += 1;
            if differing <= SHOWN {
                let [was, is] = [was, is].map(|line| line.unwrap_or("(no such line)"));
                shown += &format!("line {}:\n  expected  {was}\n  found     {is}\n", line + 1);
            }
        }
    }
    panic!(
        "{file} says something else, in {differing} lines:\n{shown}\
         If that is meant, run the test again with BLESS={word} in the environment, and read what `git diff` \
         shows."
    );
}
