//! The paper's closed forms for one and two mechanisms: sums in the loss domain, written out
//! without any transform, against the accountant.

#![allow(clippy::disallowed_methods, reason = "an independent path: the platform's exp, to 1e-11")]

use unspent::{Composition, DiscreteGaussian, Epsilon};

use crate::support::number;

/// `P[X > t]` for N_ℤ(0, σ²).
fn upper_tail(sigma2: f64, t: f64) -> f64 {
    let weight = |x: i64| (-((x * x) as f64) / (2.0 * sigma2)).exp();
    let reach = (40.0 * sigma2.sqrt()) as i64 + 40;
    let total: f64 = (-reach..=reach).map(weight).sum();
    let first = t.floor() as i64 + 1;
    (first..=reach.max(first)).rev().map(weight).sum::<f64>() / total
}

/// `δ(ε) = P[X > εσ²/Δ − Δ/2] − e^ε·P[X > εσ²/Δ + Δ/2]`.
fn one(sigma2: f64, shift: f64, epsilon: f64) -> f64 {
    let middle = epsilon * sigma2 / shift;
    upper_tail(sigma2, middle - shift / 2.0) - epsilon.exp() * upper_tail(sigma2, middle + shift / 2.0)
}

/// Two equal mechanisms: the sum of two discrete Gaussians splits into even and odd values, each
/// a Gaussian sum with its own constant; `δ = max_t 1 − β(t) − e^ε·α(t)`.
fn two(sigma2: f64, shift: i64, epsilon: f64) -> f64 {
    let reach = (20.0 * sigma2.sqrt()) as i64 + 40;
    let gauss = |x: f64| (-x * x / sigma2).exp();
    let constant = |offset: f64| (-reach..=reach).map(|i| gauss(i as f64 - offset)).sum::<f64>();
    let single: f64 = (-reach..=reach).map(|i| (-((i * i) as f64) / (2.0 * sigma2)).exp()).sum();
    let (even, odd) = (constant(0.0) / (single * single), constant(0.5) / (single * single));
    let mass = |y: i64| if y % 2 == 0 { even } else { odd } * gauss(y as f64 / 2.0);
    (-2 * reach..=2 * reach)
        .map(|t| {
            let alpha: f64 = (t + 1..=4 * reach).rev().map(mass).sum();
            let beta: f64 = (-4 * reach..=t - 2 * shift).map(mass).sum();
            1.0 - beta - epsilon.exp() * alpha
        })
        .fold(0.0, f64::max)
}

fn assert_agrees(sigma2: &str, count: u64, shift: u64, epsilon: &str, closed: f64) {
    let noise = DiscreteGaussian::new(sigma2.parse().unwrap(), shift).unwrap();
    let release = Composition::new([(noise, count)]).unwrap();
    let bounds = release.delta(&Epsilon::parse(epsilon).unwrap()).unwrap().to_f64();
    let slack = 1e-11 * closed + 1e-14;
    assert!(
        bounds.lower() <= closed + slack && closed - slack <= bounds.upper(),
        "{count} x {sigma2}, shift {shift}, at {epsilon}: {closed} outside {bounds:?}"
    );
}

#[test]
fn one_mechanism() {
    for sigma2 in ["0.2", "0.5", "1", "2.5", "7", "68.49"] {
        for shift in [1, 2, 5] {
            for epsilon in ["0", "0.31", "1", "2.7"] {
                let exact = |t: &str| number(t).to_f64();
                let closed = one(exact(sigma2), shift as f64, exact(epsilon));
                assert_agrees(sigma2, 1, shift, epsilon, closed);
            }
        }
    }
}

#[test]
fn two_mechanisms() {
    for sigma2 in ["0.3", "1", "5", "25"] {
        for epsilon in ["0", "0.7", "2.1"] {
            let exact = |t: &str| number(t).to_f64();
            assert_agrees(sigma2, 2, 1, epsilon, two(exact(sigma2), 1, exact(epsilon)));
        }
    }
}
