//! Designs whose figures are known.

use unspent::{Allocation, Rational};

use crate::design::{Goal, Law, Need, Needs, Quantity, Rest, Selection, UnitSet, Units, explain};

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
fn of_blocks(set: UnitSet) -> Needs {
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
    let district = Need { set: Some(set), ..need("minority share", 4, share) };
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
    for (set, epsilon) in [(UnitSet::Scattered(30), 15.3856), (UnitSet::Packed(30), 6.6202)] {
        let design = of_blocks(set).design(true).unwrap();
        assert!((design.epsilon.upper() - epsilon).abs() < 1e-3, "{:?}", design.epsilon);
        // Without regard to the lattice of the noise it would be 15.377 and 6.609.
        let least = design.epsilon_of_least_rho.unwrap();
        assert!(least < design.epsilon.upper() && least > design.epsilon.upper() - 0.02, "{least}");
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

/// Four groups of people whose shares matter, at four levels, as accurate as the production allocation.
fn redistricting(guard: &str) -> Needs {
    let offer = Allocation::preset("pl94-persons-us-2020").unwrap();
    let than = Box::new(offer.clone());
    let total = |level: usize, margin: &str| table(level, &[], margin);
    Needs {
        offer,
        units: Units::PerLevel(vec![1, 51, 3_143, 84_414, 239_780, 8_132_968]),
        delta: "1e-10".parse().unwrap(),
        goal: Goal::LeastEpsilon,
        law: Law::Normal,
        needs: vec![total(2, "4.1"), total(3, "3.7"), total(4, "3.1")],
        rest: Rest::Guard { than, times: number(guard) },
        promises: vec![],
    }
}

#[test]
fn guards_are_kept() {
    let design = redistricting("1.25").design(false).unwrap();
    let guarded = design.guarded.unwrap();
    assert!(guarded.largest <= 1.25 && guarded.largest > 1.2499);
}

#[test]
fn an_epsilon_is_spent() {
    let mut needs = of_blocks(UnitSet::Packed(30));
    needs.goal = Goal::Epsilon { epsilon: "8".parse().unwrap(), wider: false };
    let design = needs.design(false).unwrap();
    assert!(design.epsilon.upper() <= 8.0 && design.epsilon.upper() > 7.99 && design.factor < 1.0);
    assert!(design.needs.iter().all(|need| need.met && need.predicted <= need.asked));
    // The bound is of the needs as they were asked for, and holds for this design, too.
    needs.goal = Goal::LeastEpsilon;
    let least = needs.design(false).unwrap();
    assert!(least.rho < design.rho && design.least_rho == least.least_rho);
    assert!(design.least_rho.as_ref().unwrap() <= &least.rho);
    let text = design.document().terminal();
    assert!(text.contains(" % above.") && !text.contains("a tenth saves"), "{text}");
    needs.goal = Goal::Epsilon { epsilon: "4".parse().unwrap(), wider: false };
    let error = needs.design(false).unwrap_err().to_string();
    assert!(error.contains("cannot be met with epsilon = 4: they take about 6.618"), "{error}");
    assert!(error.contains("rho of at least 0.5081"), "{error}");
    needs.goal = Goal::Epsilon { epsilon: "4".parse().unwrap(), wider: true };
    let design = needs.design(false).unwrap();
    assert!(design.factor > 1.4 && design.epsilon.upper() <= 4.0, "{} {:?}", design.factor, design.epsilon);
    assert!(design.least_rho == least.least_rho && design.least_rho.as_ref().unwrap() > &design.rho);
    let text = design.document().terminal();
    assert!(!text.contains(" % above.") && text.contains(": an indication, no bound."), "{text}");
    needs.goal = Goal::Epsilon { epsilon: "8".parse().unwrap(), wider: false };
    needs.rest = Rest::Best;
    let design = needs.design(false).unwrap();
    assert!(design.epsilon.upper() <= 8.0 && design.epsilon.upper() > 7.99);
    assert!(design.tables.iter().all(|table| table.deviation.is_some()));
    assert!(design.needs.iter().all(|need| need.met));
    assert!(design.least_rho.as_ref().unwrap() < &design.rho);
}

#[test]
fn promises_of_parts_are_kept() {
    let mut needs = of_blocks(UnitSet::Packed(30));
    let scope = unspent::Scope::Level("Block".into());
    needs.promises.push(crate::design::Promise { scope: scope.clone(), epsilon: "4".parse().unwrap() });
    let design = needs.design(false).unwrap();
    assert!(design.promises[0].epsilon.upper() <= 4.0);
    assert!(design.rho.to_f64() < 1.01 * design.least_rho.unwrap().to_f64());
    needs.promises[0].epsilon = "1".parse().unwrap();
    let error = needs.design(false).unwrap_err().to_string();
    assert!(error.contains("cannot be met with the promises"), "{error}");
}

#[test]
fn the_worst_unit_of_a_list_is_within_the_margin() {
    // Counties with 1 to 9 tracts, each with 1 to 5 block groups, each with 1 to 60 blocks.
    let mut parents = vec![vec![0u32; 5], vec![], vec![], vec![]];
    let mut state = 5u64;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % most
    };
    for (level, most) in [(1, 9), (2, 5), (3, 60)] {
        for unit in 0..parents[level - 1].len() as u32 {
            let count = next(most) as usize;
            parents[level].extend(std::iter::repeat_n(unit, count));
        }
    }
    let tree = crate::design::UnitTree { roots: 1, parents };
    let mut needs = of_blocks(UnitSet::Packed(30));
    let regular = Units::PerLevel(tree.per_level());
    needs.units = Units::Listed(tree);
    needs.needs.truncate(2);
    let design = needs.design(false).unwrap();
    assert!(design.needs.iter().all(|need| need.met && need.coverage > 0.949 && need.coverage < 0.953));
    needs.units = regular;
    let of_regular = needs.design(false).unwrap();
    assert!(of_regular.epsilon.upper() < design.epsilon.upper());
}
