//! Designs whose figures are known.

use unspent::{Allocation, Rational};

use crate::design::{Goal, Law, Need, Needs, Quantity, Rest, Selection, Spread, UnitSet, Units, explain};

fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

fn blocks() -> Allocation {
    Allocation::parse("blocks.toml", include_str!("../../../../../examples/blocks.toml")).unwrap()
}

fn need(name: &str, level: usize, quantity: Quantity) -> Need {
    Need { name: name.into(), level, quantity, set: None, confidence: number("0.95"), all: false }
}

fn table(level: usize, by: &[&str], margin: &str) -> Need {
    let by: Vec<String> = by.iter().map(|name| (*name).into()).collect();
    need(&format!("{level} {by:?}"), level, Quantity::Table { by, margin: number(margin) })
}

/// County totals ±5, block groups by voting age and race ±12, and the minority share of 30 blocks ±1 point.
fn of_blocks(spread: Spread) -> Needs {
    let offer = blocks();
    let minority = ["black", "hispanic", "aian", "asian", "nhpi", "other", "two or more"];
    let minority: Vec<String> = minority.iter().map(|name| (*name).into()).collect();
    let of = Selection::new(offer.schema().unwrap(), &[("race".into(), minority)]).unwrap();
    let share = Quantity::Share {
        of,
        among: Selection::default(),
        margin: number("0.01"),
        population: number("1300"),
        about: None,
    };
    let district = Need { set: Some(UnitSet { count: 30, spread }), ..need("minority share", 4, share) };
    Needs {
        offer,
        units: Units::PerLevel(vec![1, 5, 250, 792, 25_181]),
        delta: "1e-10".parse().unwrap(),
        goal: Goal::LeastEpsilon,
        law: Law::Normal,
        needs: vec![table(1, &[], "5"), table(3, &["voting age", "race"], "12"), district],
        rest: Rest::Drop,
        promises: vec![],
    }
}

#[test]
fn blocks_of_the_example() {
    for (spread, epsilon) in [(Spread::Scattered, 15.378), (Spread::Packed, 6.608)] {
        let design = of_blocks(spread).design(true).unwrap();
        assert!((design.epsilon.upper() - epsilon).abs() < 0.0015, "{:?}", design.epsilon);
    }
}

#[test]
fn redistricting_is_optimal_for_itself() {
    let allocation = Allocation::preset("pl94-persons-us-2020").unwrap();
    let units = Units::PerLevel(vec![1, 51, 3_143, 84_414, 239_780, 8_132_968]);
    let found = explain(&allocation, &units).unwrap();
    // Nothing can be saved without giving something up.
    assert!(found.least_rho <= found.rho);
    assert!(found.rho.to_f64() - found.least_rho.to_f64() < 1e-6, "{}", found.least_rho.to_f64());
    let most: Vec<String> =
        found.tables.iter().take(3).map(|t| format!("{} {} {:.3}", t.level, t.query, t.share)).collect();
    let known = ["State total 0.326", "Block_Group total 0.101", "Tract hispanic * cenrace 0.100"];
    assert_eq!(most, known);
}
