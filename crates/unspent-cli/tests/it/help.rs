//! The texts of `--help` and `--version`.

use crate::support::{expect, expected_in, program, succeeds};

/// Without a terminal, so that it is as wide as it may be.
fn help(arguments: &[&str]) -> String {
    let text = succeeds(&program().args(arguments).env_remove("COLUMNS").output().unwrap());
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{arguments:?}: {line}");
    }
    text
}

/// The commands, as the help of the program lists them.
pub fn commands() -> Vec<String> {
    let text = help(&["--help"]);
    let (_, list) = text.split_once("\nCommands:\n").expect("a list of commands");
    let names = list.lines().take_while(|line| line.starts_with("  "));
    // A description that goes on in the next line is further to the right.
    let names =
        names.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn help_and_version_are_data() {
    assert_eq!(help(&["--version"]), format!("unspent {}\n", env!("CARGO_PKG_VERSION")));
    expect("expected/help/unspent.txt", &help(&["--help"]));
    let commands = commands();
    assert!(commands.len() >= 16 && commands.contains(&"serve".into()), "{commands:?}");
    for command in &commands {
        let text = help(&[command, "--help"]);
        assert!(text.contains("\nUsage: unspent "), "{text}");
        expect(&format!("expected/help/{command}.txt"), &text);
        // The short form is the same in fewer words.
        help(&[command, "-h"]);
    }
    let mut all = [&commands[..], &["unspent".into()]].concat();
    all.sort();
    assert_eq!(expected_in("expected/help"), all);
}
