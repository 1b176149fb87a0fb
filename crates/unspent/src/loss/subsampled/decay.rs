//! How fast the transform of subsampled Gaussian noise falls along a line.

use super::SubsampledGaussianLoss;
use crate::number::float::{self, PI};

/// How the modulus falls: bins of a Gaussian below the tilted law (V8), and its density's supremum (V9).
#[derive(Default)]
pub(super) struct Decay {
    weight: f64,
    edges: Vec<f64>,
    density: f64,
}

/// Bins of equal probability of the Gaussian that lies below the tilted law.
const BINS: usize = 24;
/// Quantiles of N(0, 1) at 1/24 … 23/24, within 10⁻⁶ outward from what is used below.
const QUANTILES: [f64; BINS - 1] = [
    -1.7316644, -1.3829941, -1.1503494, -0.9674216, -0.8122178, -0.6744898, -0.5485223, -0.4307273,
    -0.3186394, -0.2104284, -0.1046335, 0.0, 0.1046335, 0.2104284, 0.3186394, 0.4307273, 0.5485223,
    0.6744898, 0.8122178, 0.9674216, 1.1503494, 1.3829941, 1.7316644,
];

impl SubsampledGaussianLoss {
    pub(super) fn decay(&self, e: f64, log_phi: f64) -> Decay {
        let s2 = self.variance();
        let ln_f =
            |x: f64| -x * x * self.half + e * self.log_y(x).0 - float::ln((2.0 * PI).sqrt() * self.sigma);
        let share = |x: f64| {
            let (l, _) = self.log_y(x);
            float::exp(self.ln_q + (2.0 * x - 1.0) * self.half - l).min(1.0)
        };
        // V8: the tangent at any x₀; a fixed point of x = e·s(x) is best.
        let spread = if e >= 0.0 { s2 } else { s2 / (1.0 - e / (4.0 * s2)) };
        let candidate = |start: f64| {
            let mut x = start;
            for _ in 0..60 {
                let next = if e >= 0.0 { e * share(x) } else { 0.5 * (x + e * share(x)) };
                if (next - x).abs() < 1e-6 * self.sigma {
                    break;
                }
                x = next;
            }
            let centre = x + spread * (e * share(x) - x) / s2;
            // Exponents so large are not known to the 10⁻⁶ by which the weight is lowered.
            if (x * x * self.half).max((e * self.log_y(x).0).abs()).max(log_phi.abs()) > 1e7 {
                return (0.0, centre);
            }
            let log = ln_f(x) + (centre - x) * (centre - x) / (2.0 * spread) - log_phi;
            (float::exp(log) * (2.0 * PI * spread).sqrt(), centre)
        };
        let (a, b) = (candidate(0.0), candidate(e.max(0.0)));
        let (weight, centre) = if a.0 >= b.0 { a } else { b };
        let edges = QUANTILES.iter().map(|z| self.log_y(centre + spread.sqrt() * z).0).collect();
        // V9: the density of the loss, r = (σ²/q)e^{1/σ²}φ_σ(x+1)y^{e+1}/Φ, at points so near that its
        // logarithm, whose second derivative is at least −m, is nowhere larger by more than m·gap²/8.
        let m = 1.0 / s2 + (-(e + 1.0)).max(0.0) / (4.0 * s2 * s2);
        let gap = 0.5 / m.sqrt();
        let ln_r = |x: f64| {
            let (l, _) = self.log_y(x);
            float::ln(s2) - self.ln_q + 2.0 * self.half - (x + 1.0) * (x + 1.0) * self.half + (e + 1.0) * l
                - float::ln((2.0 * PI).sqrt() * self.sigma)
                - log_phi
        };
        // All maxima have x + 1 = (e+1)s(x), between −1 − |e+1|₋ and e.
        let (from, to) = (-1.0 + (e + 1.0).min(0.0) - gap, e.max(-1.0) + gap);
        let mut top = f64::NEG_INFINITY;
        if (to - from) / gap < 1e5 {
            let mut x = from;
            while x < to + gap {
                top = top.max(ln_r(x));
                x += gap;
            }
        } else {
            top = f64::INFINITY;
        }
        // Rounding: some units of each part of the exponent.
        let parts = (e.abs() + 2.0) * ((e.abs() + 2.0) * 2.0 * self.half + self.ln_q.abs()) + log_phi.abs();
        let density = float::exp(top + m * gap * gap / 8.0 + 1e-9 * (1.0 + top.abs()) + 1e-13 * parts);
        Decay { weight: (weight * (1.0 - 1e-6)).min(1.0), edges, density }
    }
}

impl Decay {
    pub fn over(&self, t1: f64, t2: f64) -> f64 {
        if t1 <= 0.0 || self.edges.is_empty() {
            return 0.0;
        }
        // V9: two maxima at most, so that the total variation is at most four times the supremum.
        let by_variation = -float::ln(4.0 * self.density / t1);
        let reach = PI / t2 * (1.0 - 1e-6);
        let mut sum = 0.0;
        let n = self.edges.len() - 1;
        // Bins i and j lie between edges i, i+1 and j, j+1.
        for i in 0..n {
            for j in i + 1..n {
                // Edges are within 10⁻¹³ of themselves.
                let blur = 1e-13 * (self.edges[j + 1].abs() + self.edges[i].abs());
                if self.edges[j + 1] - self.edges[i] + blur > reach {
                    break;
                }
                let gap = (self.edges[j] - self.edges[i + 1] - blur).max(0.0);
                sum += gap * gap;
            }
        }
        let v = self.weight * self.weight * 2.0 / (BINS * BINS) as f64 * sum * (1.0 - 1e-4);
        (t1 * t1 / (PI * PI) * v).max(by_variation).max(0.0)
    }
}
