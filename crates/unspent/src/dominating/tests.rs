//! Laws against exact profiles, as others evaluate them.

use super::*;
use crate::number::big::{Big, Draws, big, of_rational};
use crate::oracle;
use crate::{Composition, Delta, DiscreteGaussian, Epsilon, Gaussian, Rational};

fn composition(groups: &[(&str, u64)]) -> Composition {
    let group = |(sigma2, n): &(&str, u64)| (DiscreteGaussian::parse(sigma2, "1").unwrap(), *n);
    Composition::new(groups.iter().map(group)).unwrap()
}

fn law(composition: &Composition, interval: f64) -> DominatingLaw {
    composition.dominating_law(interval, &Delta::parse("1e-20").unwrap()).unwrap()
}

/// As others evaluate it.
fn delta(law: &DominatingLaw, epsilon: f64) -> f64 {
    let terms = law.masses.iter().enumerate().map(|(i, q)| {
        let loss = (law.lowest + i as i64) as f64 * law.interval;
        if loss > epsilon { -crate::number::float::expm1(epsilon - loss) * q } else { 0.0 }
    });
    law.infinite + terms.sum::<f64>()
}

/// δ at any real ε, by F2.
fn exactly(composition: &Composition, epsilon: f64) -> (f64, f64) {
    let at = Epsilon::new(Rational::from_f64("epsilon", epsilon.abs()).unwrap()).unwrap();
    let found = composition.delta(&at).unwrap().to_f64();
    let mirrored = |delta: f64| 1.0 - crate::number::float::exp(epsilon) * (1.0 - delta);
    if epsilon < 0.0 {
        (mirrored(found.lower()) - 1e-15, mirrored(found.upper()) + 1e-15)
    } else {
        (found.lower(), found.upper())
    }
}

/// δ' of a law at ε, exactly.
fn exact_delta(law: &DominatingLaw, epsilon: &Big) -> Big {
    let terms = law.masses.iter().enumerate().filter(|(_, q)| **q > 0.0).map(|(i, q)| {
        let loss = big((law.lowest + i as i64) as f64) * big(law.interval);
        if loss > *epsilon { big(*q) * (big(1.0) - (epsilon - loss).exp()) } else { big(0.0) }
    });
    terms.fold(big(law.infinite), |sum, term| sum + term)
}

/// Of the oracle's profiles, at every ε and at its mirror image, however the law is evaluated.
#[test]
fn it_dominates_the_exact_profiles() {
    let mut checked = 0;
    for case in oracle::file("standard.json")["cases"].as_array().unwrap().iter().step_by(3) {
        let release = oracle::composition(case);
        let interval = (0.05 * release.rho().unwrap().to_f64().sqrt()).clamp(1e-3, 1.0);
        let law = release.dominating_law(interval, &Delta::parse("1e-13").unwrap()).unwrap();
        for point in case["points"].as_array().unwrap() {
            let epsilon = oracle::exact(&point["e"]);
            for (sign, truth) in [
                (1.0, of_rational(&oracle::enclosure(&point["d"]).0)),
                (
                    -1.0,
                    big(1.0) - of_rational(&oracle::enclosure(&point["c"]).1) / of_rational(&epsilon).exp(),
                ),
            ] {
                let at = of_rational(&epsilon) * big(sign);
                assert!(exact_delta(&law, &at) >= truth, "{}: {} {sign}", case["groups"], point["e"]);
                // In doubles losses are rounded, so that what is found is δ at an ε a few roundings
                // larger.
                let lower = float::down(sign * epsilon.to_f64(), 8.0);
                assert!(big(delta(&law, lower)) >= truth, "{}: {} {sign}", case["groups"], point["e"]);
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "{checked}");
}

/// What D4 asks of every mass, in exact arithmetic: δ' is above its goal by what evaluating it can lose.
#[test]
fn every_goal_is_reached_with_the_slack_that_is_promised() {
    for (release, interval) in [
        (composition(&[("5", 10)]), 0.05),
        (composition(&[("5", 10)]), 2.0),
        (composition(&[("3", 2)]), 0.005),
        (composition(&[("0.02", 1)]), 1.0),
    ] {
        let step = Rational::from_f64("", interval).unwrap();
        let top = (release.epsilon(&Delta::parse("1e-9").unwrap()).unwrap().upper() / interval).ceil() as i64;
        let deltas: Vec<(f64, f64)> = (0..=top)
            .map(|k| {
                let at = Epsilon::new(&Rational::integer(k) * &step).unwrap();
                let delta = release.delta(&at).unwrap().to_f64().upper();
                (delta, delta_below_zero(at.value().to_f64(), 1.0 - delta))
            })
            .collect();
        let grid = Grid::new(interval, top);
        let law = grid.lift(&deltas, 1e-9);
        let shrink = (-big(interval)).exp();
        let grown = big(interval).exp() - big(1.0);
        let (mut b, mut reached) = (big(0.0), big(law.infinite));
        assert!(reached >= big(deltas[top as usize].0) * (big(1.0) + big(grid.slack * UNIT)));
        let slack = big(2.0 * grid.slack * UNIT);
        for k in (-top..top).rev() {
            b = (b + big(law.masses[(k + 1 + top) as usize])) * &shrink;
            reached += &grown * &b;
            let (above, below) = deltas[k.unsigned_abs() as usize];
            let goal = big(if k >= 0 { above } else { below });
            assert!(reached >= goal + &slack * (&reached + &b), "{interval}: {k}");
        }
        let total = law.masses.iter().fold(big(law.infinite), |sum, q| sum + big(*q));
        assert!(total >= big(1.0), "{interval}");
    }
}

/// 1 − e^{−ε}(1 − δ) from above, for complements that are exact, and so near that a rounding would show.
#[test]
fn deltas_below_zero_are_rounded_up() {
    let mut draws = Draws::new(3);
    let mut nearest = 1.0f64;
    for _ in 0..4000 {
        let (epsilon, complement) = (3.0 * draws.unit(), draws.unit());
        // The ε that is meant may be a relative 2u larger.
        let meant = big(epsilon) * (big(1.0) + big(2.0 * UNIT));
        let exact = big(1.0) - (-meant).exp() * big(complement);
        let off = (big(delta_below_zero(epsilon, complement)) - &exact).to_f64().value();
        assert!(off >= 0.0, "{epsilon} {complement}: below by {:e}", -off);
        nearest = nearest.min(off);
    }
    assert!(nearest < UNIT, "{nearest:e}");
}

/// A law as it has been: what rounds one part differently shows here, even if others make up for it.
#[test]
fn masses_are_the_same_to_the_last_bit() {
    let deltas = [0.3, 0.11, 0.03, 0.007, 0.001].iter().enumerate();
    let deltas: Vec<_> = deltas.map(|(k, d)| (*d, delta_below_zero(0.37 * k as f64, 1.0 - d))).collect();
    let law = Grid::new(0.37, 4).lift(&deltas, 1e-9);
    assert_eq!(law.infinite, 0.001000000000000003);
    assert_eq!(
        law.masses,
        [
            0.004416352235640854,
            0.020092854105772693,
            0.20163329018069995,
            0.049498979974224686,
            0.0,
            0.43568125044949313,
            0.207307557051096,
            0.06096892052401087,
            0.019400795479062906,
        ]
    );
}

#[test]
fn it_dominates_and_is_near() {
    let cases = [
        (composition(&[("5", 10)]), 1e-3),
        (composition(&[("5000", 1890)]), 1e-3),
        (composition(&[("4", 3), ("6", 10)]), 1e-3),
        (composition(&[("5.41421", 2), ("6.82843", 3), ("8.24264", 1)]), 0.1),
        (composition(&[("0.2", 1)]), 0.25),
        (composition(&[("1000000", 1)]), 1e-5),
        (
            Composition::new([(Gaussian::new("2".parse().unwrap(), "1".parse().unwrap()).unwrap(), 3)])
                .unwrap(),
            1e-3,
        ),
    ];
    for (composition, interval) in &cases {
        let law = law(composition, *interval);
        assert!(law.masses.iter().all(|q| *q >= 0.0));
        let total = law.infinite + law.masses.iter().sum::<f64>();
        assert!((1.0 - 1e-12..1.0 + 1e-6).contains(&total), "{total}");
        let top = -law.lowest as f64 * interval;
        for i in -200..=200 {
            // Off the grid, and on it.
            for epsilon in
                [f64::from(i) / 190.0 * top, (f64::from(i) / 200.0 * top / interval).round() * interval]
            {
                let (lower, upper) = exactly(composition, epsilon);
                let above = delta(&law, epsilon);
                assert!(above >= lower, "delta({epsilon}) = {above:e} is below {lower:e}");
                // A chord is above a convex function by at most the square of the interval, and the tail
                // is cut off.
                if *interval <= 1e-3 {
                    assert!(above <= 1.01 * upper + 2e-20, "delta({epsilon}) = {above:e}, exactly {upper:e}");
                }
            }
        }
    }
}

/// Between the atoms of a sparse law δ is flat: there is nothing above a point of the grid, and nothing
/// new at it.
#[test]
fn a_sparse_law_is_dominated_too() {
    for (sigma2, shift, tail) in [
        ("0.01", "1", "1e-10"),
        ("0.02", "1", "1e-10"),
        ("0.03", "1", "1e-10"),
        ("5", "200", "1e-10"),
        ("0.001", "1", "1e-280"),
    ] {
        let noise = DiscreteGaussian::parse(sigma2, shift).unwrap();
        let release = Composition::new([(noise, 1)]).unwrap();
        let law = release.dominating_law(1.0, &Delta::parse(tail).unwrap()).unwrap();
        let total = law.infinite + law.masses.iter().sum::<f64>();
        assert!((1.0 - 1e-12..1.0 + 1e-6).contains(&total), "{sigma2}: {total}");
        let top = -law.lowest as f64;
        for i in -300..=300 {
            let epsilon = f64::from(i) / 290.0 * top;
            let (lower, _) = exactly(&release, epsilon);
            let above = delta(&law, epsilon);
            assert!(above >= lower, "{sigma2}: delta({epsilon}) = {above:e} is below {lower:e}");
        }
    }
}

#[test]
fn an_interval_that_doubles_cannot_resolve_is_refused() {
    let release = composition(&[("10000000", 1)]);
    let error = release.dominating_law(1e-9, &Delta::parse("1e-10").unwrap()).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("long enough for doubles"), "{error}");
}

#[test]
fn it_still_dominates_when_composed() {
    let parts = [composition(&[("5", 4)]), composition(&[("3.7", 3), ("11", 2)])];
    let both = composition(&[("5", 4), ("3.7", 3), ("11", 2)]);
    let [a, b] = parts.map(|part| law(&part, 0.01));
    let mut masses = vec![0.0; a.masses.len() + b.masses.len() - 1];
    for (i, p) in a.masses.iter().enumerate() {
        for (j, q) in b.masses.iter().enumerate() {
            masses[i + j] += p * q;
        }
    }
    let infinite = a.infinite + b.infinite - a.infinite * b.infinite;
    let composed = DominatingLaw { interval: 0.01, lowest: a.lowest + b.lowest, masses, infinite };
    for i in 0..100 {
        let epsilon = 0.17 * f64::from(i);
        let (lower, upper) = exactly(&both, epsilon);
        let above = delta(&composed, epsilon);
        assert!(lower <= above && above <= 1.01 * upper + 1e-19, "{epsilon}: {above:e}, exactly {upper:e}");
    }
}

#[test]
fn a_grid_must_make_sense() {
    let tail = Delta::parse("1e-20").unwrap();
    let release = composition(&[("5", 10)]);
    for interval in [0.0, -1e-3, 11.0, f64::NAN, f64::INFINITY] {
        assert!(release.dominating_law(interval, &tail).unwrap_err().is_input());
    }
    let error = release.dominating_law(1e-7, &tail).unwrap_err().to_string();
    assert!(error.starts_with("interval: `0.0000001` is not so long that at most 4194304"), "{error}");
    let error = release.dominating_law(1e-3, &Delta::parse("1e-300").unwrap()).unwrap_err().to_string();
    assert!(error.contains("is not a mass of at least 1e-280"), "{error}");
}

/// Of a composition that is not symmetric, or that reveals something for certain: each direction, at positive
/// and at negative ε.
#[test]
fn both_directions_are_dominated() {
    use crate::mechanism::{Described, Mechanism};
    for mechanisms in [
        &["subsampled_gaussian:sigma=1,q=1/10,count=50"][..],
        &["finite:p=1/2;1/3;1/6,q=1/4;1/4;1/2,count=6", "gaussian:sigma=2,count=2"],
        &["finite:p=1/2;1/2;0,q=1/4;1/2;1/4,count=2", "gaussian:sigma=2"],
        &["approximate_dp:epsilon=1/2,delta=1/1000,count=3", "gaussian:sigma=3"],
        &["subsampled_discrete_laplace:scale=2,q=1/3,count=5"],
    ] {
        let groups = mechanisms.iter().map(|text| {
            let Described { mechanism, count } = Described::parse(text).unwrap();
            (mechanism, count)
        });
        let release = Composition::new::<Mechanism>(groups).unwrap();
        let laws = release.dominating_laws(0.1, &Delta::parse("1e-9").unwrap()).unwrap();
        let ways = [Direction::Remove, Direction::Add].map(|way| release.in_direction(way).unwrap());
        let ask = |way: &Composition, epsilon: f64| {
            let at = Epsilon::new(Rational::from_f64("epsilon", epsilon).unwrap()).unwrap();
            way.delta(&at).unwrap().to_f64()
        };
        for (law, own, other) in [(&laws[0], &ways[0], &ways[1]), (&laws[1], &ways[1], &ways[0])] {
            let top = -law.lowest as f64 * law.interval;
            for i in 0..=12 {
                for epsilon in [f64::from(i) / 11.0 * top, f64::from(i) * law.interval] {
                    let (truth, above) = (ask(own, epsilon), delta(law, epsilon));
                    assert!(above >= truth.lower(), "{mechanisms:?} {epsilon}: {above:e} {truth:?}");
                    assert!(
                        above <= 1.1 * truth.upper() + 0.01,
                        "{mechanisms:?} {epsilon}: {above:e} {truth:?}"
                    );
                    let mirrored = 1.0 - float::exp(-epsilon) * (1.0 - ask(other, epsilon).lower());
                    let above = delta(law, -epsilon);
                    assert!(above >= mirrored - 1e-15, "{mechanisms:?} -{epsilon}: {above:e} {mirrored:e}");
                    assert!(above <= mirrored + 0.05, "{mechanisms:?} -{epsilon}: {above:e} {mirrored:e}");
                }
            }
        }
        if !release.is_symmetric() {
            let error = release.dominating_law(0.1, &Delta::parse("1e-9").unwrap()).unwrap_err();
            assert!(error.to_string().contains("no symmetric pair of laws"), "{error}");
        }
    }
}
