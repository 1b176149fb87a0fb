//! Every command in the README, run: it must print what the README says it prints.

use std::fs;

use crate::support::{Place, read, repository, stderr, stdout};

const PROMPT: &str = "$ cargo run --release -- ";

#[test]
fn the_readme_tells_the_truth() {
    let root = repository("");
    let readme = read(&root.join("README.md"));
    // What the commands read, in a place where they may write.
    let place = Place::new("commands");
    fs::create_dir(place.path("examples")).unwrap();
    for file in fs::read_dir(root.join("examples")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), place.path("examples").join(file.file_name())).unwrap();
    }
    let mut ran = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let Some((command, expected)) = block.split_once('\n') else { continue };
        let mut command = command.to_string();
        let mut expected = expected;
        while command.ends_with('\\') {
            let (next, rest) = expected.split_once('\n').unwrap();
            command = format!("{}{}", command.trim_end_matches('\\'), next.trim());
            expected = rest;
        }
        let Some(arguments) = command.strip_prefix(PROMPT) else { continue };
        let output = place.say(arguments);
        let printed = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        ran += 1;
    }
    assert!(ran >= 3, "the README shows at least three commands");
}
