//! Bad allocation files, as a user meets them: the whole message, every time.

use std::fs;

use crate::support::{Place, refuses, succeeds};

const GOOD: &str = r#"name = "x"
neighbours = "bounded"
delta = "1e-10"
rho = 2.5
attributes = ["size", "tenure"]

[queries]
total = []
size = ["size"]

[[levels]]
name = "Country"
share = 0.25
[levels.shares]
size = 1

[[levels]]
name = "Region"
share = 0.75
[levels.shares]
total = "1/3"
size = "2/3"
"#;

/// How a bad file is met.
trait Refuses {
    fn refuses(&self, file: &str, content: &[u8], more: &[&str], message: &str);
    fn spoiled(&self, what: &str, by: &str, message: &str);
    fn table(&self, content: &str, message: &str);
}

impl Refuses for Place {
    /// `file` with that content is refused with exactly that message.
    #[track_caller]
    fn refuses(&self, file: &str, content: &[u8], more: &[&str], message: &str) {
        self.write(file, content);
        refuses(&self.run(&[&["certificate", file], more].concat()), message);
    }

    /// The good file with one thing changed.
    #[track_caller]
    fn spoiled(&self, what: &str, by: &str, message: &str) {
        assert!(GOOD.contains(what));
        self.refuses("budget.toml", GOOD.replacen(what, by, 1).as_bytes(), &[], message);
    }

    #[track_caller]
    fn table(&self, content: &str, message: &str) {
        let more = ["--neighbours", "bounded", "--delta", "1e-10"];
        self.refuses("table.csv", content.as_bytes(), &more, message);
    }
}

#[test]
fn the_good_file_is_good() {
    let place = Place::new("good");
    place.write("budget.toml", GOOD);
    let output = place.run(&["certificate", "budget.toml"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    // Windows line ends and a comment in another script change nothing but the places.
    place.write("dos.toml", format!("# бюджет\r\n{}", GOOD.replace('\n', "\r\n")));
    assert_eq!(place.run(&["certificate", "dos.toml"]).stdout, output.stdout);
}

#[test]
fn shares_that_do_not_sum_to_one() {
    let place = Place::new("shares_that_do_not_sum_to_one");
    place.spoiled(
        "share = 0.75",
        "share = 0.7",
        r#"error: budget.toml:19:9: the shares of the levels sum to 0.95, not to 1
   |
19 | share = 0.7
   |         ^^^
hint: 0.05 of the budget is left over; shares are exact, so a third is 1/3
"#,
    );
    place.spoiled(
        "share = 0.75",
        "share = \"3/4000\"",
        r#"error: budget.toml:19:9: the shares of the levels sum to 0.25075, not to 1
   |
19 | share = "3/4000"
   |         ^^^^^^^^
hint: 0.74925 of the budget is left over; shares are exact, so a third is 1/3
"#,
    );
    place.spoiled(
        "total = \"1/3\"",
        "total = \"1/2\"",
        r#"error: budget.toml:20:1: the shares of level `Region` sum to 7/6, not to 1
   |
20 | [levels.shares]
   | ^^^^^^^^^^^^^^^
hint: they exceed the budget by 1/6; shares are exact, so a third is 1/3
"#,
    );
    place.spoiled(
        "\"2/3\"",
        "0.666666667",
        r#"error: budget.toml:20:1: the shares of level `Region` sum to 3000000001/3000000000, not to 1
   |
20 | [levels.shares]
   | ^^^^^^^^^^^^^^^
hint: they exceed the budget by 1/3000000000; shares are exact, so a third is 1/3
"#,
    );
}

#[test]
fn unknown_keys() {
    let place = Place::new("unknown_keys");
    place.spoiled(
        "neighbours =",
        "neighbors =",
        r#"error: budget.toml:2:1: unknown key: `neighbors` is not one of the keys name, source, record, neighbours, delta, conversion, epsilon, rho, scale, nested, touches, series, assumptions, exact_totals, bypass, attributes, queries, levels, table
  |
2 | neighbors = "bounded"
  | ^^^^^^^^^
hint: did you mean `neighbours`?
"#,
    );
    place.spoiled(
        "share = 0.25",
        "share = 0.25\nweight = 3",
        r#"error: budget.toml:14:1: unknown key: `weight` is not one of the keys name, share, shares, rho, sigma2, sigma, scale
   |
14 | weight = 3
   | ^^^^^^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
    place.spoiled(
        "size = [\"size\"]",
        "size = { attribute = [\"size\"] }",
        r#"error: budget.toml:9:10: unknown key: `attribute` is not one of the keys attributes, shift
  |
9 | size = { attribute = ["size"] }
  |          ^^^^^^^^^
hint: did you mean `attributes`?
"#,
    );
}

#[test]
fn missing_keys() {
    let place = Place::new("missing_keys");
    place.spoiled(
        "name = \"x\"\n",
        "",
        r#"error: budget.toml:1:1: `name` is missing
  |
1 | neighbours = "bounded"
  | ^^^^^^^^^^^^^^^^^^^^^^
hint: a line such as name = "my release"
"#,
    );
    place.spoiled(
        "neighbours = \"bounded\"\n",
        "",
        r#"error: budget.toml:1:1: `neighbours` is missing
  |
1 | name = "x"
  | ^^^^^^^^^^
hint: with `bounded` one record changes (two moves per query), with `add-remove` it comes or goes (one move)
"#,
    );
    place.spoiled(
        "rho = 2.5\n",
        "",
        r#"error: budget.toml:12:9: share: there is no total for this to be a share of
   |
12 | share = 0.25
   |         ^^^^
hint: add a line rho = "…" at the top, or epsilon and delta, or write rho instead of share here
"#,
    );
    place.spoiled(
        "share = 0.25\n",
        "",
        r#"error: budget.toml:11:1: level `Country`: has no share of the total
   |
11 | [[levels]]
   | ^^^^^^^^^^
hint: give every level its share, or leave the total out: it is the sum of the levels
"#,
    );
    place.spoiled(
        "name = \"Region\"\n",
        "",
        r#"error: budget.toml:17:1: `name` is missing
   |
17 | [[levels]]
   | ^^^^^^^^^^
hint: every level has a name, like name = "State"
"#,
    );
}

#[test]
fn duplicate_names() {
    let place = Place::new("duplicate_names");
    place.spoiled(
        "name = \"Region\"",
        "name = \"Country\"",
        r#"error: budget.toml:18:8: name: `Country` is already the name of the level on line 12
   |
18 | name = "Country"
   |        ^^^^^^^^^
hint: levels are told apart by their names
"#,
    );
    place.spoiled(
        "size = \"2/3\"",
        "total = \"2/3\"",
        r#"error: budget.toml:22:1: `total` is given twice
   |
22 | total = "2/3"
   | ^^^^^
hint: give each name and each key once
"#,
    );
    place.spoiled(
        "\"size\", \"tenure\"]",
        "\"size\", \"size\"]",
        r#"error: budget.toml:5:23: attributes: `size` is in the list twice
  |
5 | attributes = ["size", "size"]
  |                       ^^^^^^
hint: once is enough
"#,
    );
    place.spoiled(
        "size = [\"size\"]",
        "size = [\"size\", \"size\"]",
        r#"error: budget.toml:9:17: attributes: `size` is in the list twice
  |
9 | size = ["size", "size"]
  |                 ^^^^^^
hint: once is enough
"#,
    );
    place.spoiled(
        "\"tenure\"]",
        "\"Size\"]",
        r#"error: budget.toml:5:23: attributes: `size` and `Size` differ in capitals only
  |
5 | attributes = ["size", "Size"]
  |                       ^^^^^^
hint: spell an attribute the same everywhere
"#,
    );
}

#[test]
fn zero_negative_and_absurd_numbers() {
    let place = Place::new("zero_negative_and_absurd_numbers");
    place.spoiled(
        "share = 0.25",
        "share = 0",
        r#"error: budget.toml:13:9: share: `0` is not a number above 0 and at most 1
   |
13 | share = 0
   |         ^
hint: what gets no share is left out: no noise is wide enough for a budget of 0
"#,
    );
    place.spoiled(
        "size = 1\n",
        "size = 0.0\n",
        r#"error: budget.toml:15:8: share: `0.0` is not a number above 0 and at most 1
   |
15 | size = 0.0
   |        ^^^
hint: what gets no share is left out: no noise is wide enough for a budget of 0
"#,
    );
    place.spoiled(
        "share = 0.25",
        "share = -0.25",
        r#"error: budget.toml:13:9: share: `-0.25` is not a number above 0 and at most 1
   |
13 | share = -0.25
   |         ^^^^^
hint: a share is a part of 1, like 104/4099 or 0.25
"#,
    );
    place.spoiled(
        "total = \"1/3\"",
        "total = \"4/3\"",
        r#"error: budget.toml:21:9: share: `4/3` is not a number above 0 and at most 1
   |
21 | total = "4/3"
   |         ^^^^^
hint: a share is a part of 1, like 104/4099 or 0.25
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = nan",
        r#"error: budget.toml:4:7: rho: `nan` is not a number
  |
4 | rho = nan
  |       ^^^
hint: write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 0",
        r#"error: budget.toml:4:7: rho: `0` is not a number above 0 and at most 1e18
  |
4 | rho = 0
  |       ^
hint: rho is a zCDP budget, like 2.63
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = \"1/0\"",
        r#"error: budget.toml:4:7: rho: `1/0` is not a fraction with a denominator other than zero
  |
4 | rho = "1/0"
  |       ^^^^^
hint: write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = \"1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000/3\"",
        r#"error: budget.toml:4:7: rho: `100000000000000000000000000000000000000000000000000000000000…` is not a number of at most 256 characters
  |
4 | rho = "1000000000000000000000000000000000000000000000000000000000000000000000000…
  |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: shorten the fraction
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 1e17",
        r#"error: budget.toml:15:8: a budget of rho = 2.5e16 means noise of variance 4e-17, outside 1e-3 to 1e12
   |
15 | size = 1
   |        ^
hint: check the share and the total
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 1e-30",
        r#"error: budget.toml:15:8: a budget of rho = 2.5e-31 means noise of variance 4e30, outside 1e-3 to 1e12
   |
15 | size = 1
   |        ^
hint: check the share and the total
"#,
    );
    place.spoiled(
        "\"1e-10\"",
        "1",
        r#"error: budget.toml:3:9: delta: `1` is not a number strictly between 0 and 1
  |
3 | delta = 1
  |         ^
hint: delta is a probability, like 1e-10
"#,
    );
    place.spoiled(
        "size = [\"size\"]",
        "size = { attributes = [\"size\"], shift = 0 }",
        r#"error: budget.toml:9:41: shift: `0` is not a whole number between 1 and 1000000
  |
9 | size = { attributes = ["size"], shift = 0 }
  |                                         ^
hint: the shift is how far one record can move the answer; it is 1 for counts
"#,
    );
}

#[test]
fn unknown_names() {
    let place = Place::new("unknown_names");
    place.spoiled(
        "size = [\"size\"]",
        "size = [\"sise\"]",
        r#"error: budget.toml:9:9: attributes: `sise` is not one of the attributes size, tenure
  |
9 | size = ["sise"]
  |         ^^^^^^
hint: did you mean `size`?
"#,
    );
    place.spoiled(
        "total = \"1/3\"",
        "totl = \"1/3\"",
        r#"error: budget.toml:21:1: query: `totl` is not declared in [queries]
   |
21 | totl = "1/3"
   | ^^^^
hint: did you mean `total`?
"#,
    );
    place.spoiled(
        "\"bounded\"",
        "\"unbounded\"",
        r#"error: budget.toml:2:14: neighbours: `unbounded` is not `bounded` or `add-remove`
  |
2 | neighbours = "unbounded"
  |              ^^^^^^^^^^^
hint: with `bounded` one record changes (two moves per query), with `add-remove` it comes or goes (one move)
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 2.5\nconversion = \"cks\"",
        r#"error: budget.toml:5:14: conversion: `cks` is not `bun-steinke` or `canonne-kamath-steinke`
  |
5 | conversion = "cks"
  |              ^^^^^
hint: the conversion is how a published epsilon was computed from rho
"#,
    );
}

#[test]
fn wrong_kinds() {
    let place = Place::new("wrong_kinds");
    place.spoiled(
        "rho = 2.5",
        "rho = true",
        r#"error: budget.toml:4:7: rho: `true` is not a number
  |
4 | rho = true
  |       ^^^^
hint: write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = \"2,5\"",
        r#"error: budget.toml:4:7: rho: `2,5` is not a number
  |
4 | rho = "2,5"
  |       ^^^^^
hint: write a decimal point, and no commas between digits
"#,
    );
    place.spoiled(
        "share = 0.25",
        "share = \"25%\"",
        r#"error: budget.toml:13:9: share: `25%` is not a number
   |
13 | share = "25%"
   |         ^^^^^
hint: write a part of 1: 50 % is 0.5
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = [1]",
        r#"error: budget.toml:4:7: rho: a list is not a number
  |
4 | rho = [1]
  |       ^^^
hint: write a decimal or a fraction, like 3.65 or "104/4099"
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 0x10",
        r#"error: budget.toml:4:7: rho: `0x10` is not a number
  |
4 | rho = 0x10
  |       ^^^^
hint: write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10
"#,
    );
    place.spoiled(
        "name = \"x\"",
        "name = 3",
        r#"error: budget.toml:1:8: name: a number is not a text
  |
1 | name = 3
  |        ^
hint: put it in quotation marks
"#,
    );
    place.spoiled(
        "name = \"x\"",
        "name = \"\"",
        r#"error: budget.toml:1:8: name: `` is not a text of one line
  |
1 | name = ""
  |        ^^
hint: write something a reader will recognise
"#,
    );
    place.spoiled(
        "attributes = [\"size\", \"tenure\"]",
        "attributes = \"size\"",
        r#"error: budget.toml:5:14: attributes: a text is not a list
  |
5 | attributes = "size"
  |              ^^^^^^
hint: write a list, like attributes = ["age", "sex"]
"#,
    );
    place.spoiled(
        "total = []",
        "total = 3",
        r#"error: budget.toml:8:9: attributes: a number is not a list
  |
8 | total = 3
  |         ^
hint: write a list, like attributes = ["age", "sex"]
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 2.5\nnested = 1",
        r#"error: budget.toml:5:10: nested: is neither true nor false
  |
5 | nested = 1
  |          ^
hint: leave it out if each level lies inside the one before
"#,
    );
    place.spoiled(
        "[queries]\ntotal = []\nsize = [\"size\"]\n",
        "queries = 3\n",
        r#"error: budget.toml:7:11: queries: a number is not a table
  |
7 | queries = 3
  |           ^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
}

#[test]
fn budgets_given_twice_or_not_at_all() {
    let place = Place::new("budgets_given_twice_or_not_at_all");
    place.spoiled(
        "rho = 2.5",
        "rho = 2.5\nscale = 1",
        r#"error: budget.toml:5:9: scale: the budget is given twice, as rho and as scale
  |
5 | scale = 1
  |         ^
hint: leave one of them out; scale is the standard deviation that the whole budget buys one query
"#,
    );
    place.spoiled(
        "share = 0.25",
        "share = 0.25\nrho = 1",
        r#"error: budget.toml:11:1: level `Country`: its budget is incomplete or given twice
   |
11 | [[levels]]
   | ^^^^^^^^^^
hint: a level has a share (of the total) or a rho and a table of shares, or a table rho, sigma2, sigma or scale
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 2.5\nconversion = \"bun-steinke\"\nepsilon = 3",
        r#"error: budget.toml:6:11: epsilon: what was promised is given twice, as epsilon and by a conversion
  |
6 | epsilon = 3
  |           ^
hint: leave one of them out
"#,
    );
    place.spoiled(
        "delta = \"1e-10\"",
        "epsilon = 3",
        r#"error: budget.toml:3:11: epsilon: was promised at some delta, which is missing
  |
3 | epsilon = 3
  |           ^
hint: add a line such as delta = "1e-10"
"#,
    );
    place.spoiled(
        "[levels.shares]\nsize = 1\n",
        "",
        r#"error: budget.toml:11:1: level `Country`: its budget is incomplete or given twice
   |
11 | [[levels]]
   | ^^^^^^^^^^
hint: a level has a share (of the total) or a rho and a table of shares, or a table rho, sigma2, sigma or scale
"#,
    );
    place.spoiled(
        "size = 1\n",
        "",
        r#"error: budget.toml:14:1: level `Country`: no query is asked
   |
14 | [levels.shares]
   | ^^^^^^^^^^^^^^^
hint: leave the level out if nothing is asked there
"#,
    );
}

#[test]
fn what_is_not_toml() {
    let place = Place::new("what_is_not_toml");
    place.spoiled(
        "rho = 2.5",
        "rho = 2.5.5",
        r#"error: budget.toml:4:10: not TOML: invalid float, expected nothing
  |
4 | rho = 2.5.5
  |          ^^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = ",
        r#"error: budget.toml:4:7: not TOML: string values must be quoted, expected literal string
  |
4 | rho = 
  |       ^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
    place.spoiled(
        "rho = 2.5",
        "rho = 2,5",
        r#"error: budget.toml:4:8: not TOML: unexpected key or value, expected newline, `#`
  |
4 | rho = 2,5
  |        ^
hint: write a decimal point, as in 2.5
"#,
    );
    place.spoiled(
        "share = 0.25",
        "share = 25%",
        r#"error: budget.toml:13:9: not TOML: string values must be quoted, expected literal string
   |
13 | share = 25%
   |         ^^^
hint: a share is a part of 1: 50 % is 0.5
"#,
    );
    place.spoiled(
        "\"1/3\"",
        "1/3",
        r#"error: budget.toml:21:9: not TOML: string values must be quoted, expected literal string
   |
21 | total = 1/3
   |         ^^^
hint: fractions need quotation marks, as in "2/3"
"#,
    );
    place.spoiled(
        "name = \"x\"",
        "name = “x”",
        r#"error: budget.toml:1:8: not TOML: string values must be quoted, expected literal string
  |
1 | name = “x”
  |        ^^^
hint: use straight quotation marks, "…"
"#,
    );
    place.spoiled(
        "[[levels]]",
        "[[levels]",
        r#"error: budget.toml:11:10: not TOML: unclosed array table, expected `]`
   |
11 | [[levels]
   |          ^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
    place.spoiled(
        "name = \"x\"",
        "name = \"x",
        r#"error: budget.toml:1:10: not TOML: invalid basic string, expected `"`
  |
1 | name = "x
  |          ^
hint: `unspent preset NAME` prints a file to start from
"#,
    );
}

#[test]
fn files_that_say_too_little() {
    let place = Place::new("little");
    place.refuses(
        "budget.toml",
        "".as_bytes(),
        &[],
        r#"error: budget.toml:1:1: `name` is missing
  |
1 | 
  | ^
hint: a line such as name = "my release"
"#,
    );
    place.refuses(
        "budget.toml",
        "levels = []\nname = \"x\"\nneighbours = \"bounded\"\n".as_bytes(),
        &[],
        r#"error: budget.toml:1:10: levels: an allocation needs at least one level
  |
1 | levels = []
  |          ^^
hint: levels are tables headed [[levels]], from the largest areas to the smallest
"#,
    );
    place.refuses(
        "budget.toml",
        "name = \"x\"\nneighbours = \"bounded\"\n[levels]\na = 1\n".as_bytes(),
        &[],
        r#"error: budget.toml:3:1: levels: not a list of tables
  |
3 | [levels]
  | ^^^^^^^^
hint: levels are tables headed [[levels]], from the largest areas to the smallest
"#,
    );
    place.refuses(
        "budget.toml",
        "name = \"x\"\nneighbours = \"bounded\"\n[[levels]]\nname = \"a\"\nshare = 1\n[levels.shares]\nq = 1\n".as_bytes(),
        &[],
        r#"error: budget.toml:5:9: share: there is no total for this to be a share of
  |
5 | share = 1
  |         ^
hint: add a line rho = "…" at the top, or epsilon and delta, or write rho instead of share here
"#,
    );
}

#[test]
fn tables() {
    let place = Place::new("tables");
    place.table(
        "level,query\nA,x\n",
        r#"error: table.csv:1:1: one of the columns rho, sigma2, sigma and scale must be there, and only one
  |
1 | level,query
  | ^^^^^^^^^^^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table("level,query,rh0\nA,x,1\n", r#"error: table.csv:1:13: unknown column: `rh0` is not one of the columns level, query, rho, sigma2, sigma, scale, shift, attributes
  |
1 | level,query,rh0
  |             ^^^
hint: did you mean `rho`?
"#);
    place.table(
        "level,query,rho,rho\nA,x,1,1\n",
        r#"error: table.csv:1:17: column `rho` is there twice
  |
1 | level,query,rho,rho
  |                 ^^^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table(
        "query,rho\nx,1\n",
        r#"error: table.csv:1:1: column `level` is missing
  |
1 | query,rho
  | ^^^^^^^^^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table(
        "level,query,rho\nA,x\n",
        r#"error: table.csv:2:1: 2 fields, but the first line names 3 columns
  |
2 | A,x
  | ^^^
hint: put fields that contain commas in quotation marks
"#,
    );
    place.table(
        "level,query,rho\nA,x,abc\n",
        r#"error: table.csv:2:5: rho: `abc` is not a number
  |
2 | A,x,abc
  |     ^^^
hint: write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10
"#,
    );
    place.table(
        "level,query,rho\nA,x,0\n",
        r#"error: table.csv:2:5: rho: `0` is not a number above 0 and at most 1e18
  |
2 | A,x,0
  |     ^
hint: rho is a zCDP budget, like 2.63
"#,
    );
    place.table(
        "level,query,sigma2\nA,x,1e13\n",
        r#"error: table.csv:2:5: sigma2: `1e13` is not a variance between 1e-3 and 1e12
  |
2 | A,x,1e13
  |     ^^^^
hint: check the units of sigma2
"#,
    );
    place.table(
        "level,query,rho\nA,x,1\nA,x,2\n",
        r#"error: table.csv:3:3: query: `x` is asked at level `A` twice
  |
3 | A,x,2
  |   ^
hint: add the two budgets up, or name the queries apart
"#,
    );
    place.table(
        "",
        r#"error: table.csv:1:1: the table is empty
  |
1 | 
  | ^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table(
        "level,query,rho\n",
        r#"error: table.csv:1:1: the table has no line after its head
  |
1 | level,query,rho
  | ^^^^^^^^^^^^^^^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table(
        "level,query,rho\n\"A,x,1\n",
        r#"error: table.csv:2:1: a quotation mark is not closed
  |
2 | "A,x,1
  | ^^^^^^
hint: fields end on the line they begin on
"#,
    );
    place.table(
        "level,query,rho\n\"A\"b,x,1\n",
        r#"error: table.csv:2:1: text follows a closing quotation mark
  |
2 | "A"b,x,1
  | ^^^
hint: put the whole field inside
"#,
    );
    place.table(
        "level,query,rho,sigma2\nA,x,1,1\n",
        r#"error: table.csv:1:1: one of the columns rho, sigma2, sigma and scale must be there, and only one
  |
1 | level,query,rho,sigma2
  | ^^^^^^^^^^^^^^^^^^^^^^
hint: the first line names the columns, like level,query,rho
"#,
    );
    place.table(
        "level,query,sigma2,shift\nA,x,4,2\nB,x,4,3\n",
        r#"error: table.csv:3:3: query: `x` had another shift or other attributes before
  |
3 | B,x,4,3
  |   ^
hint: a query is the same at all levels
"#,
    );
    place.table(
        "level,query,rho\n,x,1\n",
        r#"error: table.csv:2:1: level: is empty
  |
2 | ,x,1
  | ^
hint: every line names its level and its query
"#,
    );
    place.table(
        "level,query,rho,attributes\nA,x,1,sex;sex\n",
        r#"error: table.csv:2:7: attributes: `sex` is in the list twice
  |
2 | A,x,1,sex;sex
  |       ^^^^^^^
hint: once is enough
"#,
    );
    place.table(
        "level,query,rho,attributes\nA,x,1,\"age,sex\"\n",
        r#"error: table.csv:2:7: attributes: `age,sex` is not a name without commas
  |
2 | A,x,1,"age,sex"
  |       ^^^^^^^^^
hint: names are separated by semicolons, as in age;sex
"#,
    );
    place.table(
        "level,query,rho,attributes\nA,x,1,age\nA,y,1,Age;sex\n",
        r#"error: table.csv:3:7: attributes: `age` and `Age` differ in capitals only
  |
3 | A,y,1,Age;sex
  |       ^^^^^^^
hint: spell an attribute the same everywhere
"#,
    );
    place.table("level;query;rho\nA;x;1\n", r#"error: table.csv:1:1: unknown column: `level;query;rho` is not one of the columns level, query, rho, sigma2, sigma, scale, shift, attributes
  |
1 | level;query;rho
  | ^^^^^^^^^^^^^^^
hint: fields are separated by commas
"#);
    place.table(
        "level,query,rho\nA,\x1bx,1\n",
        r#"error: table.csv:2:3: query: `\u{1b}x` is not a text of one line
  |
2 | A,�x,1
  |   ^^
hint: write something a reader will recognise
"#,
    );
    place.table("level,query,rho\nA,x,111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\n", r#"error: table.csv:2:5: rho: `111111111111111111111111111111111111111111111111111111111111…` is not a number of at most 256 characters
  |
2 | A,x,1111111111111111111111111111111111111111111111111111111111111111111111111111…
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: shorten the fraction
"#);
    place.refuses(
        "table.csv",
        b"level,query,rho\nA,x,1\n",
        &[],
        r#"error: table.csv: a table of budgets does not say what its neighbours are
hint: say it beside the table: neighbours are bounded (one record changes) or add-remove (it comes or goes)
"#,
    );
    place.refuses(
        "table.csv",
        b"level,query,rho\nA,x,1\n",
        &["--neighbours", "bounded"],
        r#"error: no delta: the allocation does not state one
hint: add --delta 1e-10, or a line delta = "1e-10" to the file
"#,
    );
    place.refuses(
        "budget.toml",
        GOOD.as_bytes(),
        &["--neighbours", "bounded"],
        r#"error: budget.toml: the file itself says what its neighbours are
hint: leave them out; only tables, whose names end in .csv, need to be told
"#,
    );
}

#[test]
fn what_is_no_allocation_file_is_refused_politely() {
    let place = Place::new("nofile");
    let hint = "hint: an allocation file is a short text; `unspent preset NAME` prints one\n";
    let message = format!("error: binary.toml: is not a text: byte 5 is not UTF-8\n{hint}");
    place.refuses("binary.toml", b"\x7fELF\xff\x01", &[], &message);
    let message = format!("error: zero.toml: is not a text: byte 2 is zero\n{hint}");
    place.refuses("zero.toml", b"a\0b", &[], &message);
    let message = format!("error: huge.toml: has 104857600 bytes; at most 16777216 are read\n{hint}");
    place.refuses("huge.toml", &vec![b'#'; 100 << 20], &[], &message);

    fs::create_dir(place.path("directory")).unwrap();
    let output = place.run(&["certificate", "directory"]);
    let message = format!("error: directory: is a directory, not a file\n{hint}");
    refuses(&output, &message);

    let output = place.run(&["certificate", "missing.toml"]);
    let message = "error: missing.toml: cannot be read: no such file or directory\n\
                   hint: check the path; `unspent presets` lists what needs no file\n";
    refuses(&output, message);
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("forbidden");
    let path = place.path("secret.toml");
    fs::write(&path, GOOD).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: this user may read everything");
        return;
    }
    let output = place.run(&["certificate", "secret.toml"]);
    let message = "error: secret.toml: cannot be read: permission denied\nhint: check that you may read it\n";
    refuses(&output, message);
}

#[test]
fn ten_thousand_queries() {
    let place = Place::new("large");
    let mut text = "name = \"large\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\nrho = 2\n".to_string();
    text += "[[levels]]\nname = \"only\"\nshare = 1\n[levels.shares]\n";
    for i in 1..=10_000 {
        text += &format!("query-{i} = \"{i}/50005000\"\n");
    }
    place.write("large.toml", text);
    let csv = succeeds(&place.run(&["certificate", "large.toml", "--csv"]));
    // The same ρ in so many small parts is nearly one continuous Gaussian.
    assert!(csv.contains("\ntotal,,total,bounded,2,1e-10,2,15.57"), "{csv}");
    assert!(csv.contains(",14.2740"), "{csv}");
}
