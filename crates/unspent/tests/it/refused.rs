//! Bad allocation files: the whole message, every time.
//!
//! The cases are in `refused.json`: changes of `good.toml`, whole files, and tables of budgets. What is said
//! of them is in `expected/refused`.

use serde_json::Value;
use unspent::{Allocation, Error, Neighbours, Result};

use crate::support::expect;

const GOOD: &str = include_str!("good.toml");

fn cases(group: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("refused.json")).unwrap();
    let found = all["changes"].get(group).or(all.get(group)).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no {group} in refused.json")).clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// As the command prints it.
fn printed(error: &Error) -> String {
    let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
    format!("error: {error}\n{excerpt}hint: {}\n", error.hint())
}

/// Every case of the group is refused, with the messages that are expected.
fn refused(group: &str, read: impl Fn(&Value) -> Result<Allocation>) {
    let mut messages = String::new();
    for case in cases(group) {
        let error = read(&case).err().unwrap_or_else(|| panic!("{case} is accepted"));
        assert!(error.is_input(), "{case}: {error}");
        // Cases are told apart by their beginning.
        let title: String = case.to_string().chars().take(100).collect();
        messages += &format!("--- {title}\n{}\n", printed(&error));
    }
    expect(&format!("expected/refused/{group}.txt"), &messages);
}

/// The good file with one thing changed.
fn changed(group: &str) {
    refused(group, |case| {
        let [what, by] = [text(&case[0]), text(&case[1])];
        assert!(GOOD.contains(what), "{what}");
        Allocation::parse("budget.toml", &GOOD.replacen(what, by, 1))
    });
}

#[test]
fn the_good_file_is_good() {
    let good = Allocation::parse("good.toml", GOOD).unwrap();
    // Windows line ends and a comment in another script change nothing but the places.
    let dos = format!("# бюджет\r\n{}", GOOD.replace('\n', "\r\n"));
    assert_eq!(Allocation::parse("good.toml", &dos).unwrap(), good);
}

#[test]
fn shares_that_do_not_sum_to_one() {
    changed("shares_that_do_not_sum_to_one");
}

#[test]
fn unknown_keys() {
    changed("unknown_keys");
}

#[test]
fn missing_keys() {
    changed("missing_keys");
}

#[test]
fn duplicate_names() {
    changed("duplicate_names");
}

#[test]
fn zero_negative_and_absurd_numbers() {
    changed("zero_negative_and_absurd_numbers");
}

#[test]
fn unknown_names() {
    changed("unknown_names");
}

#[test]
fn wrong_kinds() {
    changed("wrong_kinds");
}

#[test]
fn budgets_given_twice_or_not_at_all() {
    changed("budgets_given_twice_or_not_at_all");
}

#[test]
fn what_is_not_toml() {
    changed("what_is_not_toml");
}

#[test]
fn files_that_say_too_little() {
    refused("files_that_say_too_little", |case| Allocation::parse("budget.toml", text(case)));
}

#[test]
fn tables() {
    refused("tables", |case| Allocation::parse_csv("table.csv", text(case), Neighbours::Bounded));
}
