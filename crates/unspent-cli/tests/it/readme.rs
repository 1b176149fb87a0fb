//! Every command in the README and in the page of needs, run: it must print what they say it prints. A block
//! that is not run is no block of ```console.

use std::fs;

use crate::support::{Place, read, repository, stderr, stdout};

/// How a command begins; the rest of the line is its arguments.
const PROMPTS: [&str; 2] = ["$ cargo run --release -- ", "$ unspent "];

/// The commands of a block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = vec![];
    let mut goes_on = false;
    for line in block.lines() {
        match found.last_mut() {
            Some((command, _)) if goes_on => *command += line.trim(),
            _ if line.starts_with("$ ") => found.push((line.into(), String::new())),
            Some((_, printed)) => *printed += &format!("{line}\n"),
            None => panic!("a block begins with a command, not with {line}"),
        }
        let (command, printed) = found.last_mut().expect("just found");
        goes_on = printed.is_empty() && command.ends_with('\\');
        if goes_on {
            command.pop();
        }
    }
    found
}

#[test]
fn the_readme_tells_the_truth() {
    tells_the_truth("README.md", "commands", 5);
}

#[test]
fn the_page_of_needs_tells_the_truth() {
    tells_the_truth("docs/needs.md", "commands-of-needs", 3);
}

fn tells_the_truth(page: &str, place: &str, least_blocks: usize) {
    let text = read(&repository(page));
    // What the commands read, in a place where they may write.
    let place = Place::new(place);
    for directory in ["examples", "data"] {
        fs::create_dir(place.path(directory)).unwrap();
        for file in fs::read_dir(repository(directory)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), place.path(directory).join(file.file_name())).unwrap();
        }
    }
    fs::copy(repository("allocation.toml"), place.path("allocation.toml")).unwrap();
    let blocks: Vec<&str> = text.split("```console\n").skip(1).collect();
    assert!(blocks.len() >= least_blocks, "{page} shows commands");
    for block in blocks {
        let (block, _) = block.split_once("```").expect("a block has an end");
        let commands = commands(block);
        assert!(!commands.is_empty(), "a block of ```console shows a command:\n{block}");
        for (command, expected) in commands {
            let arguments = PROMPTS.iter().find_map(|prompt| command.strip_prefix(prompt));
            let arguments = arguments.unwrap_or_else(|| panic!("{command}: only {PROMPTS:?} is run here"));
            let output = place.say(arguments);
            let printed = format!("{}{}", stdout(&output), stderr(&output));
            assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        }
    }
}
