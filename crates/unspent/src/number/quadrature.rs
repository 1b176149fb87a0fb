//! Gauss–Legendre quadrature on short intervals, with its error (`theory/mechanisms.md`, Q5).

use super::float;

/// The nodes on `[−1, 1]` that are positive, and their weights: each within u of the 16-point rule's.
const HALF: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

/// Nodes of the rule.
pub(crate) const POINTS: usize = 16;

/// The nodes on `[−1, 1]`, in no particular order, with their weights.
pub(crate) fn nodes() -> [(f64, f64); POINTS] {
    std::array::from_fn(|i| {
        let (node, weight) = HALF[i / 2];
        (if i % 2 == 0 { node } else { -node }, weight)
    })
}

/// The half-axes of the ellipse with foci ±1 and sum of half-axes ρ.
pub(crate) fn half_axes(rho: f64) -> (f64, f64) {
    (0.5 * (rho + 1.0 / rho), 0.5 * (rho - 1.0 / rho))
}

/// What the rule misses of the integral over `[−1, 1]` of a function that is analytic inside that ellipse,
/// and there at most `e^{log_most}` (Q5).
pub(crate) fn missed(rho: f64, log_most: f64) -> f64 {
    8.01 * float::exp(log_most - (2 * POINTS - 1) as f64 * float::ln(rho)) / (rho - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polynomials of degree 31 and less are integrated, and one of degree 32 is missed by less than said.
    #[test]
    fn the_rule_is_gauss_legendre() {
        let sum = |k: i32| nodes().iter().map(|(x, w)| w * x.powi(k)).sum::<f64>();
        for k in 0..=31 {
            let truth = if k % 2 == 0 { 2.0 / f64::from(k + 1) } else { 0.0 };
            assert!((sum(k) - truth).abs() < 4e-15, "{k}: {}", sum(k));
        }
        // 1/(1.3 − x), whose pole is outside the ellipse of ρ = 2: there it is at most 1/(1.3 − 1.25).
        let found: f64 = nodes().iter().map(|(x, w)| w / (1.3 - x)).sum();
        let off = (found - float::ln(2.3 / 0.3)).abs();
        assert!(off > 1e-11 && off < missed(2.0, float::ln(20.0)), "{off:e}");
    }
}
