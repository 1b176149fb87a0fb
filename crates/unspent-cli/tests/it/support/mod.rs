//! What the tests share: the program, a directory to run it in, and what it printed.

pub mod blocks;
pub mod browser;
#[path = "../../../../unspent/tests/it/support/expect.rs"]
mod expect;
mod place;
pub mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use unspent::Rational;

pub use expect::{expect, expected_in};
pub use place::Place;

/// The example allocation with the description of its table, and that table.
pub const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/blocks.toml");
pub const BLOCKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/blocks.csv");

/// The blocks of Rhode Island in 2010; how they are read stands beside them.
pub const RHODE_ISLAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ri-2010-blocks.csv");

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The program that was built for these tests.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_unspent"))
}

/// `unspent …`, wherever the tests run.
pub fn unspent(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The standard output of a run that succeeds and says nothing else.
#[track_caller]
pub fn succeeds(output: &Output) -> String {
    assert_eq!((output.status.code(), stderr(output)), (Some(0), ""), "quiet in a pipe");
    stdout(output).into()
}

/// The standard output of a run that succeeds and warns, once, that its noise is from a fixed seed.
#[track_caller]
pub fn succeeds_seeded(output: &Output) -> String {
    let warning = "warning: NOT PRIVATE: the noise was made from the fixed seed ";
    assert!(stderr(output).starts_with(warning) && stderr(output).lines().count() == 1, "{}", stderr(output));
    assert_eq!(output.status.code(), Some(0));
    stdout(output).into()
}

/// A run whose input is at fault says exactly this, and nothing on its standard output.
#[track_caller]
pub fn refuses(output: &Output, message: &str) {
    assert_eq!(stderr(output), message);
    assert_eq!((output.status.code(), stdout(output)), (Some(2), ""));
}

/// The same of a message in its usual form.
#[track_caller]
pub fn refuses_with(output: &Output, cause: &str, hint: &str) {
    refuses(output, &format!("error: {cause}\nhint: {hint}\n"));
}

#[track_caller]
pub fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[track_caller]
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Interrupts a process, as Ctrl-C does.
#[cfg(unix)]
pub fn interrupt(process: u32) {
    Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap();
}
