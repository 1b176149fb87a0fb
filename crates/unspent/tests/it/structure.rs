//! What must hold of any profile, on random compositions.

use proptest::prelude::*;
use unspent::{Bounds, Composition, DiscreteGaussian, Epsilon, Gaussian, Magnitude, Mechanism, Rational};

/// σ² as a fraction, from 0.2 to 2,000.
fn sigma2() -> impl Strategy<Value = Rational> {
    (2u64..2_000, prop::sample::select(vec![1u64, 3, 7, 10]))
        .prop_map(|(n, d)| &Rational::from(n) / &Rational::from(d))
        .prop_filter("small", |s| *s >= "0.2".parse().unwrap())
}

fn groups() -> impl Strategy<Value = Vec<(DiscreteGaussian, u64)>> {
    let group = (sigma2(), 1u64..4, 2u64..40);
    prop::collection::vec(group, 1..6).prop_map(|list| {
        list.into_iter().map(|(s, shift, n)| (DiscreteGaussian::new(s, shift).unwrap(), n)).collect()
    })
}

fn epsilon() -> impl Strategy<Value = Epsilon> {
    (0u64..400).prop_map(|n| Epsilon::new(&Rational::from(n) / &Rational::from(20)).unwrap())
}

fn delta<M: Into<Mechanism>>(groups: Vec<(M, u64)>, at: &Epsilon) -> Bounds<Magnitude> {
    Composition::new(groups).unwrap().delta(at).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn order_and_splitting_change_nothing(groups in groups(), at in epsilon(), cut in 1u64..20) {
        let whole = delta(groups.clone(), &at);
        let mut other: Vec<_> = groups.iter().rev().cloned().collect();
        let (noise, n) = other.remove(0);
        let part = cut.min(n - 1);
        other.push((noise.clone(), part));
        other.insert(0, (noise, n - part));
        prop_assert_eq!(whole, delta(other, &at));
    }

    #[test]
    fn one_more_mechanism_never_lowers_delta(groups in groups(), at in epsilon(), extra in sigma2()) {
        let before = delta(groups.clone(), &at);
        let mut more = groups;
        more.push((DiscreteGaussian::new(extra, 1).unwrap(), 1));
        prop_assert!(before.lower() <= delta(more, &at).upper());
    }

    #[test]
    fn delta_falls_with_epsilon_and_bounds_the_tails(groups in groups(), at in epsilon()) {
        let release = Composition::new(groups).unwrap();
        let next = Epsilon::new(at.value() + &"0.37".parse().unwrap()).unwrap();
        let here = release.delta(&at).unwrap();
        prop_assert!(release.delta(&next).unwrap().lower() <= here.upper());
        // P ≤ Q, δ ≤ Q, and δ + e^ε·P = Q.
        let (p, q) = (release.p_tail(&at).unwrap(), release.q_tail(&at).unwrap());
        prop_assert!(p.lower() <= q.upper() && here.lower() <= q.upper());
        let e = at.value().to_f64();
        #[allow(clippy::disallowed_methods)]
        let sum = here.to_f64().upper() + e.exp() * p.to_f64().upper();
        prop_assert!(q.to_f64().lower() <= sum * (1.0 + 1e-12));
    }

    #[test]
    fn epsilon_inverts_delta(groups in groups(), exponent in 1u32..60) {
        let release = Composition::new(groups).unwrap();
        let target = &Rational::integer(1) / &Rational::integer(2u64.pow(exponent));
        let target = unspent::Delta::new(target).unwrap();
        let epsilon = release.epsilon(&target).unwrap();
        let exact = |x: f64| Epsilon::new(Rational::from_f64("", x).unwrap()).unwrap();
        let at = |epsilon: f64| release.delta(&exact(epsilon)).unwrap();
        prop_assert!(at(epsilon.upper()).upper().to_rational() <= *target.value());
        if epsilon.lower() > 0.0 {
            prop_assert!(at(epsilon.lower()).lower().to_rational() >= *target.value());
        }
    }

    /// Continuous noise of the same μ is nearly the same at large σ², and the known closed form.
    #[test]
    fn continuous_gaussian_agrees_with_its_formula(mu_tenths in 1u64..60, at in epsilon()) {
        let mu2 = &Rational::from(mu_tenths * mu_tenths) / &Rational::from(100);
        let noise = Gaussian::new(&Rational::integer(1) / &mu2, Rational::integer(1)).unwrap();
        let bounds = delta(vec![(noise, 1)], &at).to_f64();
        let (mu, e) = (mu_tenths as f64 / 10.0, at.value().to_f64());
        let phi = |z: f64| 0.5 * pxfm::f_erfc(-z / std::f64::consts::SQRT_2);
        #[allow(clippy::disallowed_methods)]
        let closed = phi(mu / 2.0 - e / mu) - e.exp() * phi(-mu / 2.0 - e / mu);
        prop_assert!(bounds.lower() <= closed + 1e-13, "{} {:?}", closed, bounds);
        prop_assert!(closed - 1e-13 <= bounds.upper(), "{} {:?}", closed, bounds);
    }
}
