//! Least budgets of random needs against `oracle/design.py`: a general solver of cone programs, on its own
//! closed form or on the definition of the best estimate.

use std::fmt::Write;
use std::fs;

use serde_json::Value;
use unspent::{Allocation, Rational};
use unspent_estimate::design::{Goal, Law, Need, Needs, Quantity, Rest, Selection, UnitSet, Units};

/// The largest relative difference of least budgets.
const TOLERANCE: f64 = 1e-5;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn int(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn number(value: &Value) -> Rational {
    value.as_str().unwrap().parse().unwrap()
}

fn offer(problem: &Value) -> Allocation {
    let mut text = format!("name = 'Random'\nneighbours = {}\n[attributes]\n", problem["neighbours"]);
    for (attribute, size) in list(&problem["attributes"]).iter().enumerate() {
        let values: Vec<String> = (0..int(size)).map(|value| format!("'{value}'")).collect();
        writeln!(text, "a{attribute} = [{}]", values.join(", ")).unwrap();
    }
    text += "[queries]\n";
    for (query, by) in list(&problem["queries"]).iter().enumerate() {
        writeln!(text, "q{query} = {:?}", names(by)).unwrap();
    }
    for level in 0..list(&problem["units"]).len() {
        writeln!(text, "[[levels]]\nname = 'l{level}'\nsigma2 = {{ q0 = 1 }}").unwrap();
    }
    Allocation::parse("random.toml", &text).unwrap()
}

fn names(by: &Value) -> Vec<String> {
    list(by).iter().map(|attribute| format!("a{}", int(attribute))).collect()
}

fn selection(chosen: &Value) -> Selection {
    let values = |values: &Value| list(values).iter().map(|value| int(value) as u32).collect();
    Selection(list(chosen).iter().map(|pair| (int(&pair[0]), values(&pair[1]))).collect())
}

fn need(need: &Value) -> Need {
    let quantity = match (need.get("by"), need.get("share")) {
        (Some(by), _) => Quantity::Table { by: names(by), margin: number(&need["margin"]) },
        (None, None) => Quantity::Count { of: selection(&need["of"]), margin: number(&need["margin"]) },
        (None, Some(share)) => Quantity::Share {
            of: selection(&need["of"]),
            among: selection(&need["among"]),
            margin: number(share),
            population: number(&need["population"]),
            about: need["about"].as_str().map(|about| about.parse().unwrap()),
        },
    };
    let set = need.get("set").map(|set| {
        let count = set[0].as_u64().unwrap();
        if set[1] == "packed" { UnitSet::Packed(count) } else { UnitSet::Scattered(count) }
    });
    Need {
        name: "random".into(),
        level: int(&need["level"]),
        quantity,
        set,
        confidence: number(&need["confidence"]),
        all: need.get("all").is_some(),
    }
}

#[test]
fn least_budgets_are_those_of_a_general_solver() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/design.jsonl");
    let path = std::env::var("UNSPENT_ORACLE_DESIGN").unwrap_or_else(|_| fixture.into());
    let text = fs::read_to_string(path).unwrap();
    let (mut compared, mut dense, mut skipped, mut tightened) = (0, 0, 0, 0);
    let (mut worst, mut loosest) = (0.0f64, 0.0f64);
    for (line, problem) in text.lines().enumerate() {
        let problem: Value = serde_json::from_str(problem).unwrap();
        let normal = problem["law"] == "normal";
        let needs = Needs {
            offer: offer(&problem),
            units: Units::PerLevel(list(&problem["units"]).iter().map(|x| x.as_u64().unwrap()).collect()),
            delta: "1e-10".parse().unwrap(),
            goal: Goal::LeastEpsilon,
            law: if normal { Law::Normal } else { Law::Guaranteed },
            needs: list(&problem["needs"]).iter().map(need).collect(),
            rest: Rest::Drop,
            promises: vec![],
        };
        let design = needs.design(false).unwrap_or_else(|e| panic!("{line}: {e}"));
        let (least, rho) = (design.least_rho.unwrap().to_f64(), design.rho.to_f64());
        assert!(design.needs.iter().all(|need| need.met), "{line}: {:?}", design.needs);
        if problem["status"] != "Solved" {
            skipped += 1;
            continue;
        }
        // By the definition where that was possible.
        let wanted = problem["dense"].as_f64().unwrap_or_else(|| problem["rho"].as_f64().unwrap());
        let difference = (least / wanted - 1.0).abs();
        assert!(least <= wanted * (1.0 + 1e-7), "{line}: {least} is no bound of {wanted}");
        assert!(rho >= wanted * (1.0 - 1e-7), "{line}: {rho} is not enough, {wanted} is");
        if normal && rho > 1.002 * wanted {
            // Limits were tightened for the lattice of the noise.
            tightened += 1;
            continue;
        }
        assert!(difference <= TOLERANCE, "{line}: {least} is not {wanted}");
        // Budgets are rounded up to four digits.
        assert!(rho <= 1.002 * wanted, "{line}: {rho} {wanted}");
        (worst, loosest) = (worst.max(difference), loosest.max(rho / wanted - 1.0));
        compared += 1;
        dense += usize::from(!problem["dense"].is_null());
    }
    assert!(compared > 9 * skipped && dense > compared / 4 && tightened < compared / 4);
    println!(
        "{compared} budgets, {dense} of them by the definition, {skipped} not solved, {tightened} with \
         tightened limits: worst difference {worst:.1e}, rounding costs up to {loosest:.1e}"
    );
}
