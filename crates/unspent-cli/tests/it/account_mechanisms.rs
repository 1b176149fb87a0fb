//! `unspent account --mechanisms FILE`: the reference values of all mechanisms, through the command.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use unspent::Rational;

use crate::support::{Place, number, parse_json, program, read, repository, succeeds, unspent};

/// Cases of one composition in one direction.
fn batches() -> Vec<Vec<Value>> {
    let reference = parse_json(&read(&repository("oracle/mechanisms.json")));
    let mut batches: Vec<Vec<Value>> = vec![];
    for case in reference["cases"].as_array().unwrap() {
        let same =
            |b: &&mut Vec<Value>| ["composition", "direction"].iter().all(|key| b[0][key] == case[key]);
        match batches.iter_mut().find(same) {
            Some(batch) => batch.push(case.clone()),
            None => batches.push(vec![case.clone()]),
        }
    }
    batches
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} in {case}"))
}

/// Whether printed bounds hold a value to the digits that are certain of it.
fn holds(bounds: &Value, case: &Value) -> bool {
    let [lower, upper] = ["lower", "upper"].map(|end| number(text(bounds, end)));
    let truth = number(text(case, "delta"));
    let Some(digits) = case["certain_digits"].as_i64() else {
        return truth == Rational::from(0) && lower == truth;
    };
    let unit = &truth * &number(&format!("1e{}", 1 - digits));
    lower <= &truth + &unit && &truth - &unit <= upper
}

#[test]
fn bounds_hold_the_reference_values_of_all_mechanisms() {
    let place = Place::new("account-mechanisms");
    let (mut seen, mut outside) = (0, vec![]);
    for (i, batch) in batches().iter().enumerate() {
        let file = place.0.join(format!("{i}.json"));
        std::fs::write(&file, batch[0]["composition"].to_string()).unwrap();
        let mut arguments = vec![
            "account",
            "--mechanisms",
            file.to_str().unwrap(),
            "--direction",
            text(&batch[0], "direction"),
        ];
        for case in batch {
            arguments.extend(["--epsilon", text(case, "epsilon")]);
        }
        arguments.push("--json");
        let report = parse_json(&succeeds(&unspent(&arguments)));
        let points = report["points"].as_array().unwrap();
        assert_eq!(points.len(), batch.len());
        for (point, case) in points.iter().zip(batch) {
            seen += 1;
            if !holds(&point["delta"], case) {
                outside.push(format!("{}: {} {}", text(case, "name"), point["delta"], case["delta"]));
            }
        }
    }
    assert_eq!((seen, outside), (81, vec![]));
}

/// A file may be TOML, standard input, or the whole of a reference case.
#[test]
fn files_of_mechanisms_are_read_in_every_form() {
    let asked = |arguments: &[&str], input: &str| {
        let mut child = program()
            .args(arguments)
            .args(["--epsilon", "2", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        parse_json(&succeeds(&child.wait_with_output().unwrap()))["points"].clone()
    };
    let line = asked(&["account", "--mechanism", "laplace:b=2,shift=1,count=5"], "");
    let list = r#"[{"kind": "laplace", "scale": "2", "shift": "1", "count": 5}]"#;
    let forms = [
        list.to_owned(),
        format!(r#"{{"name": "five", "composition": {list}, "direction": "both"}}"#),
        "[[mechanism]]\nkind = \"laplace\"\nb = 2\ncount = 5\n".to_owned(),
    ];
    for form in forms {
        assert_eq!(asked(&["account", "--mechanisms", "-"], &form), line, "{form}");
    }
}
