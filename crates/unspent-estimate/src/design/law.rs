//! How often an error is within a margin (Lemma B6 of `theory/design.md`).

use super::needs::Law;

/// Terms that are told from normal noise.
const TERMS: usize = 24;
/// The least part of a variance that stays normal. Without any the law has jumps, and the integral below
/// converges slowly.
const SMOOTH: f64 = 1e-4;
/// A product that is smaller is not made any smaller.
const NOTHING: f64 = 1e-12;
/// Deviations beyond which an error is found less than once in 10¹⁷: `2e^{−9²/2}` is 5·10⁻¹⁸.
const CERTAIN: f64 = 9.0;

/// How often an error is within so many deviations: by the normal law, or at least, by the sub-Gaussian one.
pub(super) fn coverage(law: Law, deviations: f64) -> f64 {
    match law {
        Law::Normal => pxfm::f_erf(deviations / std::f64::consts::SQRT_2),
        Law::Guaranteed => (1.0 - 2.0 * pxfm::f_exp(-deviations * deviations / 2.0)).max(0.0),
    }
}

/// Within how many deviations a normal error is so often.
pub(super) fn deviations(coverage: f64) -> f64 {
    std::f64::consts::SQRT_2 * pxfm::f_erfcinv((1.0 - coverage).max(1e-300))
}

/// How often a sum of weighted discrete Gaussians is at most the margin in size.
///
/// The largest `terms` (weight, σ²) have their own law; the rest of the variance is taken for normal, which
/// it is nearly, being a sum of many small terms.
pub(super) fn with_lattice(terms: &[(f64, f64)], variance: f64, margin: f64) -> f64 {
    // 1 to the last bit, as both laws are sub-Gaussian; the integral would need a node for each period.
    if margin > CERTAIN * variance.sqrt() {
        return 1.0;
    }
    let mut largest: Vec<(f64, f64)> = terms.iter().filter(|(weight, _)| *weight != 0.0).copied().collect();
    let part = |(weight, sigma2): &(f64, f64)| weight * weight * sigma2;
    let larger = |a: &(f64, f64), b: &(f64, f64)| part(b).total_cmp(&part(a));
    if largest.len() > TERMS {
        largest.select_nth_unstable_by(TERMS, larger);
        largest.truncate(TERMS);
    }
    largest.sort_by(larger);
    let own: f64 = largest.iter().map(part).sum();
    let margin = match largest[..] {
        // A count by itself: between two values of its error nothing changes.
        [(weight, _)] if variance - own < SMOOTH * variance => {
            ((margin / weight.abs() + 1e-9).floor() + 0.5) * weight.abs()
        }
        _ => margin,
    };
    // The margin of a count by itself may have become many deviations: those of a variance that is tiny.
    if margin > CERTAIN * variance.sqrt() {
        return 1.0;
    }
    let normal = (variance - own).max(SMOOTH * variance);
    // P[|X| ≤ m] = (2/π) ∫ sin(mt)/t φ(t) dt, by the midpoint rule: its error is what lies beyond the next
    // period of the law, and what is beyond the last t.
    let reach = margin + CERTAIN * variance.sqrt();
    let step = std::f64::consts::PI / reach;
    let last = (-2.0 * pxfm::f_log(1e-9) / normal).sqrt();
    let mut sum = 0.0;
    let mut t = 0.5 * step;
    while t < last {
        let mut value = pxfm::f_exp(-0.5 * normal * t * t) * pxfm::f_sin(margin * t) / t;
        for (weight, sigma2) in &largest {
            if value.abs() < NOTHING {
                break;
            }
            value *= characteristic(weight * t, *sigma2);
        }
        sum += value;
        t += step;
    }
    (2.0 / std::f64::consts::PI * sum * step).clamp(0.0, 1.0)
}

/// The characteristic function of the discrete Gaussian.
fn characteristic(t: f64, sigma2: f64) -> f64 {
    use std::f64::consts::TAU;
    if sigma2 < 1.0 {
        // Directly: Σ e^{−k²/2σ²} cos(kt).
        let (mut above, mut below) = (1.0, 1.0);
        for k in 1..12 {
            let k = f64::from(k);
            let mass = 2.0 * pxfm::f_exp(-k * k / (2.0 * sigma2));
            above += mass * pxfm::f_cos(k * t);
            below += mass;
        }
        return above / below;
    }
    // By Poisson summation: Σ e^{−σ²(t − 2πj)²/2}.
    let t = t - TAU * (t / TAU).round();
    let mass = |t: f64| pxfm::f_exp(-0.5 * sigma2 * t * t);
    let around = |t: f64| mass(t) + mass(t - TAU) + mass(t + TAU);
    around(t) / around(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `P[|Z| ≤ m]` of a discrete Gaussian, by summation.
    fn alone(sigma2: f64, margin: i64) -> f64 {
        let mass = |k: i64| pxfm::f_exp(-(k * k) as f64 / (2.0 * sigma2));
        let sum = |to: i64| (-to..=to).map(mass).sum::<f64>();
        sum(margin) / sum(margin + 40 + (40.0 * sigma2.sqrt()) as i64)
    }

    #[test]
    fn a_single_count_has_the_law_of_its_noise() {
        for (sigma2, margin) in [(0.2, 0), (1.0, 1), (1.0, 2), (0.3, 1), (4.0, 3), (50.0, 13), (900.0, 58)] {
            let found = with_lattice(&[(1.0, sigma2)], sigma2, margin as f64);
            let exact = alone(sigma2, margin);
            assert!((found - exact).abs() < 1e-4, "{sigma2} {margin} {found} {exact}");
        }
    }

    /// However large a margin is, the sum has some thousand nodes or none.
    #[test]
    fn a_huge_margin_is_certain() {
        for margin in [89.0, 91.0, 1e9, 1e30, f64::MAX] {
            assert!(with_lattice(&[(1.0, 100.0)], 100.0, margin) > 1.0 - 1e-8, "{margin}");
        }
    }

    /// A count by itself with next to no noise: half of its step is many deviations.
    #[test]
    fn a_tiny_margin_of_a_count_is_certain() {
        for deviations in [0.5, 1.96, 8.9] {
            let variance = 2.6e-19f64;
            assert_eq!(with_lattice(&[(1.0, variance)], variance, deviations * variance.sqrt()), 1.0);
        }
    }

    #[test]
    fn many_terms_are_normal() {
        let terms: Vec<(f64, f64)> = (0..40).map(|i| (0.1 + 0.037 * f64::from(i), 2.0)).collect();
        let variance: f64 = terms.iter().map(|(a, s)| a * a * s).sum();
        for deviations in [1.0, 1.644_853_6, 1.959_964, 3.0] {
            let found = with_lattice(&terms, variance, deviations * variance.sqrt());
            assert!((found - coverage(Law::Normal, deviations)).abs() < 1e-3, "{deviations} {found}");
        }
    }

    #[test]
    fn two_counts_have_the_law_of_their_sum() {
        // a Z + b Z': by summation over both, at a margin between two values.
        let (a, b, first, second, margin) = (1.0, 0.3, 0.8, 2.0, 1.555);
        let mass = |k: i64, sigma2: f64| pxfm::f_exp(-(k * k) as f64 / (2.0 * sigma2));
        let (mut inside, mut all) = (0.0, 0.0);
        for k in -30..=30 {
            for l in -40..=40 {
                let p = mass(k, first) * mass(l, second);
                all += p;
                inside += if (a * k as f64 + b * l as f64).abs() <= margin { p } else { 0.0 };
            }
        }
        let variance = a * a * first + b * b * second;
        let found = with_lattice(&[(a, first), (b, second)], variance, margin);
        assert!((found - inside / all).abs() < 2e-3, "{found} {}", inside / all);
    }
}
