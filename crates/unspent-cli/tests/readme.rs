//! Every command in the README, run: it must print what the README says it prints.

use std::process::Command;

const PROMPT: &str = "$ cargo run --release -- ";

#[test]
fn the_readme_tells_the_truth() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
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
        let output =
            Command::new(env!("CARGO_BIN_EXE_unspent")).args(arguments.split_whitespace()).output().unwrap();
        let printed = format!(
            "{}{}",
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap()
        );
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        ran += 1;
    }
    assert!(ran >= 3, "the README shows at least three commands");
}
