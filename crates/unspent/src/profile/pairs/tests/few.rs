//! Laws cut into cells, beside exact values and beside integrals; and events of which a few orders are
//! bounded.

use super::super::cells::Halves;
use super::super::ordered::Ordered;
use super::{interval, text};
use crate::Composition;
use crate::effort::Effort;
use crate::loss::Way;
use crate::mechanism::{Described, Mechanism};
use crate::number::float;
use crate::number::{Bounds, Magnitude};
use crate::oracle;
use crate::profile::{Direction, Point};

/// δ from either direction's cells, and from whatever is best.
fn both(parts: &[Described], way: Way, at: &Point) -> [Bounds<Magnitude>; 2] {
    let groups: Vec<(Mechanism, u128)> =
        parts.iter().map(|part| (part.mechanism.clone(), u128::from(part.count))).collect();
    let ordered = Ordered::new(&groups, Effort::Normal, way).unwrap();
    let halves = Halves::new(&ordered.kinds, Effort::Normal).unwrap();
    [halves.delta(at), ordered.delta(at, 1e-6).delta]
}

/// The truth is strictly between what is merged and what is spread: either in place of the other is wrong.
#[test]
fn two_steps_are_between_merged_and_spread_cells() {
    let file = oracle::file("mechanisms_few.json");
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let parts: Vec<Described> = serde_json::from_value(case["composition"].clone()).unwrap();
        let at = Point::new(text(case, "epsilon").parse().unwrap());
        let (low, high) = interval(case);
        let ways = match text(case, "direction").parse().unwrap() {
            Direction::Add => [Way::Add; 2],
            Direction::Remove => [Way::Remove; 2],
            Direction::Both => [Way::Remove, Way::Add],
        };
        let [one, other] = ways.map(|way| both(&parts, way, &at)[0]);
        let least = if one.lower() < other.lower() { other } else { one };
        let most = if one.upper() < other.upper() { other.upper() } else { one.upper() };
        assert!(least.lower() < low && high < most, "{case} {least:?}");
        assert!(least.relative_width() < 1e-2, "{case} {least:?}");
    }
}

/// What an integral knows well is between the cells, of every law that is cut.
#[test]
fn integrals_are_between_merged_and_spread_cells() {
    for (list, epsilon) in [
        (&["subsampled_gaussian:sigma=1,q=1/10,count=3"][..], 0.3),
        (&["subsampled_gaussian:sigma=1,q=1/20,count=40"], 0.8),
        (&["subsampled_gaussian:sigma=2,q=1/5,count=13", "gaussian:sigma=3"], 0.9),
        (&["subsampled_laplace:b=1,q=1/10,count=100"], 1.5),
        (&["laplace:b=2,count=6", "gaussian:sigma=2"], 2.5),
        (&["randomised_response:k=3,epsilon=1/2,count=9"], 2.0),
        (&["subsampled_discrete_gaussian:sigma=3,q=1/10,count=5", "discrete_gaussian:sigma2=9"], 0.7),
    ] {
        let parts: Vec<Described> = list.iter().map(|text| Described::parse(text).unwrap()).collect();
        for way in [Way::Remove, Way::Add] {
            let [cells, known] = both(&parts, way, &Point::from_f64(epsilon));
            let inside = cells.lower() <= known.upper() && known.lower() <= cells.upper();
            assert!(inside, "{list:?} {way:?} {cells:?} {known:?}");
            assert!(cells.relative_width() < 5e-2, "{list:?} {way:?} {cells:?} {known:?}");
        }
    }
}

fn upper(mechanism: &str, epsilon: f64) -> f64 {
    let Described { mechanism, count } = Described::parse(mechanism).unwrap();
    let made = Composition::new([(mechanism, count)]).unwrap();
    let found = made.accountant().delta(&Point::from_f64(epsilon), 1e-6).delta;
    assert_eq!(found.lower(), Magnitude::ZERO);
    found.to_f64().upper()
}

/// One order is M9's closed form; orders below the listed ones are no worse than the next; many are as good
/// as ρ-zCDP, and more of the same event add.
#[test]
fn bounds_of_listed_orders_are_those_of_the_lemma() {
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-12, "{found} {truth}");
    near(upper("rdp:orders=2,epsilons=1", 3.0), 0.25 * float::exp(-2.0));
    near(upper("rdp:orders=2,epsilons=1/4,count=4", 3.0), 0.25 * float::exp(-2.0));
    // A worse bound of a lower order is not used, nor is its own list hurt by it.
    near(upper("rdp:orders=3/2;2,epsilons=9;1", 3.0), 0.25 * float::exp(-2.0));
    let (mut orders, mut epsilons) = (vec![], vec![]);
    for i in 11..400 {
        orders.push(format!("{i}/10"));
        epsilons.push(format!("{i}/40"));
    }
    let list = format!("rdp:orders={},epsilons={}", orders.join(";"), epsilons.join(";"));
    let (listed, all) = (upper(&list, 2.0), upper("zcdp:rho=1/4", 2.0));
    assert!(all <= listed && listed < 1.001 * all, "{listed} {all}");
    // The Gaussian noise that is 1/4-zCDP, and no more.
    let noise = Described::parse("gaussian:sigma2=2").unwrap().mechanism;
    let truth = Composition::new([(noise, 1)]).unwrap().accountant().delta(&Point::from_f64(2.0), 1e-6).delta;
    assert!(truth.to_f64().upper() < listed);
}
