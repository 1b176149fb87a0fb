//! The laws of losses against 400 bits.

mod lines;

use super::cells::Sampling;
use super::*;
use crate::Composition;
use crate::mechanism::{ApproximateDp, DiscreteLaplace, Finite, TruncatedDiscreteGaussian};
use crate::number::Magnitude;
use crate::number::big::{Big, Draws, big, of_magnitude, of_rational};
use crate::profile::Point;

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

fn ratio(p: &Rational, q: &Rational) -> Big {
    of_rational(q) / of_rational(p)
}

fn dd(x: Dd) -> Big {
    big(x.hi) + big(x.lo)
}

/// Two outcomes that differ by a part in 10²⁰, or 10⁷⁰: the loss has all its digits.
#[test]
fn losses_near_zero_keep_their_digits() {
    for less in ["1e-9", "1e-20", "3e-41", "1e-70"] {
        let (half, less) = (rational("1/2"), rational(less));
        let q = vec![&half - &less, &half + &less];
        let finite = Finite::new(vec![half.clone(), half.clone()], q.clone()).unwrap();
        let atoms = Atoms::finite(&finite);
        for (near, q) in atoms.near().iter().zip(&q) {
            let truth = ratio(&half, q).ln();
            let off = ((big(*near) - &truth) / &truth).to_f64().value().abs();
            assert!(off <= 4.0 * UNIT, "{less}: {:e}", off / UNIT);
        }
    }
    // A loss that is exactly 0 says nothing against the others.
    let noise = DiscreteLaplace::parse("1", "2").unwrap();
    let sampled = Subsampled::new(Base::DiscreteLaplace(noise), rational("1e-3")).unwrap();
    let made = Composition::new([(Mechanism::from(sampled), 200_000)]).unwrap();
    let found = made.accountant().delta(&Point::new(rational("1")), 1e-6).delta;
    assert!(found.relative_width() < 1e-3, "{found:?}");
}

/// Masses from 1 to 10⁻⁴⁵⁰ on either side: `ln Φ(c)` is within its error, however small the masses are.
#[test]
fn tilts_of_finite_laws_are_within_their_errors() {
    let mut draws = Draws::new(20);
    let mut close = 0;
    for _ in 0..120 {
        let mass = |u: f64| Rational::power_of_ten(-((u * u * u * 450.0) as i32));
        let mut list = || -> Vec<Rational> {
            let small: Vec<Rational> = (0..2).map(|_| &mass(draws.unit()) * &rational("1/4")).collect();
            let rest = &Rational::integer(1) - &Rational::sum(&small);
            vec![small[0].clone(), small[1].clone(), rest]
        };
        let finite = Finite::new(list(), list()).unwrap();
        let atoms = Atoms::finite(&finite);
        for c in [0.3, 0.98, 1.0 + 0.5 * draws.unit(), 1.0 + 40.0 * draws.unit(), -draws.unit()] {
            let term = |(p, q): (&Rational, &Rational)| {
                of_rational(p) * ((of_rational(q) / of_rational(p)).ln() * big(c)).exp()
            };
            let truth = finite.p().iter().zip(finite.q()).map(term).reduce(|a, b| a + b).unwrap().ln();
            let found = atoms.tilt(c);
            let off = (dd(found.log) - &truth).to_f64().value().abs();
            // 400 bits say no more than 10⁻¹¹⁸ of a number near 1.
            assert!(off <= found.error + 1e-118, "{finite:?} at {c}: off by {off:e}, said {:e}", found.error);
            close += usize::from(found.error < 1e-10);
        }
    }
    assert!(close > 500, "{close}");
}

/// What reveals for certain is counted, also where it is below every double.
#[test]
fn infinity_below_every_double_is_not_zero() {
    let check = |mechanism: Mechanism, count: u64, truth: Big| {
        let made = Composition::new([(mechanism, count)]).unwrap();
        let found = made.accountant().delta(&Point::new(rational("100000")), 1e-6).delta;
        assert!(of_magnitude(found.lower()) <= truth && truth <= of_magnitude(found.upper()), "{found:?}");
        assert!(found.lower() > Magnitude::ZERO && found.relative_width() < 1e-10, "{found:?}");
    };
    let event = ApproximateDp::new(rational("1"), rational("1e-400")).unwrap();
    check(event.into(), 7, of_rational(&rational("7e-400")));
    // σ² = 1, |x| ≤ 40: the only outcome that reveals has the weight e^−800.
    let noise = TruncatedDiscreteGaussian::new(rational("1"), 1, 40).unwrap();
    let weight = |x: i32| (-big(f64::from(x * x) / 2.0)).exp();
    let total = (-40..=40).map(weight).reduce(|a, b| a + b).unwrap();
    check(noise.into(), 1, weight(40) / total);
}

/// Of all records together a loss is what it is, even where e^Y is no ordinary double.
#[test]
fn a_sample_of_all_keeps_every_loss() {
    for y in [-800.0, -735.0, -1e-300, 0.0, 0.5, 400.0] {
        let (log, error) = Sampling::ALL.log_y(y);
        assert!((log - y).abs() <= error && error <= 1e-15 * y.abs(), "{y} {log} {error}");
    }
}
