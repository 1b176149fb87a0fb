//! Many compositions of two halves each, by those whose halves are equal (S9, S10).
//!
//! Let `Γ` be the transform of a continuous Gaussian with the budget of a half, and A, B two halves. Then
//!
//! ```text
//! δ_s[A ⊎ B] ≤ ½·δ_s[A ⊎ A] + ½·δ_s[B ⊎ B] + d_A² + d_B²
//! d_A² = (1/2π) ∫ |Φ_A − Γ|²·|e^{s²(z²−z)/2 − (z−1)ε} / z(z−1)| dt
//! ```
//!
//! on any line `c > 1` (`theory/smoothing.md`). `d` is small where the law of a half is dense, so that n
//! halves answer for n² pairs.

use super::Point;
use super::gaussians::Gaussians;
use crate::number::float::{self, Dd, PI};
use crate::number::{Magnitude, Round};

/// A half of a composition, known by the composition of two of it: both for one ε and one level of smoothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    /// Not below δ_s of two of it.
    delta: Magnitude,
    /// Not below `d²`.
    distance: Magnitude,
    /// What they are for; and `μ²` of the Gaussian that the distance is from.
    level: i32,
    mu2: Dd,
}

/// Every rounding here is far below a part in 10⁹ of what it is made of.
const SLACK: f64 = 1.0 + 1e-6;

/// Largest exponent whose rounding, a few units of its size, is as far below.
const MAX_EXPONENT: f64 = 1e5;

/// Where the central part of the line may end, in deviations of |Φ|² there.
const ENDS: [f64; 4] = [8.0, 7.0, 6.0, 5.0];

impl Half {
    /// Not below δ of the two halves together; 1 if they were not looked at alike.
    pub fn with(&self, other: &Half) -> Magnitude {
        // Halves that spend the same budget are compared with the same Gaussian.
        if (self.level, self.mu2.hi, self.mu2.lo) != (other.level, other.mu2.hi, other.mu2.lo) {
            return Magnitude::ONE;
        }
        let add = |a: Magnitude, b: Magnitude| a.add(b, Round::Up);
        let half = Magnitude::from_f64(0.5);
        let mean = add(self.delta, other.delta).mul(half, Round::Up);
        add(mean, add(self.distance, other.distance))
    }
}

impl Gaussians {
    /// Half of it, if all its counts are even; `None` if nothing is known of it that would help.
    pub fn half(&self, at: &Point, tolerance: f64) -> Option<Half> {
        let mu2 = self.spectrum.mu2;
        let below = (0.5 * mu2.hi - at.dd.hi) / mu2.hi.sqrt();
        // Near δ = 1 it is the complement that is known, and continuous noise has no need of any of this.
        if below > 1.5 || self.spectrum.continuous > 0.0 || at.dd.hi < 0.0 {
            return None;
        }
        let (level, delta) = self.smoothing.above(&self.spectrum, at, tolerance)?;
        let distance = self.distance(at, level)?;
        Some(Half { delta, distance, level, mu2 })
    }

    /// Not below `d²` (S10).
    fn distance(&self, at: &Point, level: i32) -> Option<Magnitude> {
        let sieve = self.smoothing.sieve(&self.spectrum, Some(level))?;
        let s2 = super::smoothing::square(level);
        // Of a half: |Φ_A|² is |Φ| of two of it, and |Γ(c+it)|² is Γ(c)²·e^{−mt²}.
        let m = 0.5 * self.spectrum.mu2.hi;
        let x = at.dd.hi;
        let c = (x / (2.0 * m) + 0.5).max(1.0) + 1.0 / (2.0 * m).sqrt();
        let cc = c * (c - 1.0);
        // Γ(c)²·e^{s²(c²−c)/2 − (c−1)ε}.
        let exponent = (m + 0.5 * s2) * cc - (c - 1.0) * x;
        if !(exponent.abs() < MAX_EXPONENT && m * cc < MAX_EXPONENT && c * x < MAX_EXPONENT) {
            return None;
        }
        let leaf = 0.25 / (2.0 * m + s2).sqrt();
        let tail = |t: f64| {
            // 2|Φ_A|² + 2|Γ|², and 1/|z(z−1)| ≤ 1/t². What windows leave: Φ_A(c) ≤ Γ(c) (T7).
            let outside = 2.0 * float::exp(-sieve.log_cut) / t + 2.0 * float::exp(-m * t * t) / t;
            let inside: f64 = sieve
                .windows
                .iter()
                .filter(|(_, to)| *to > t)
                .map(|&(from, to)| {
                    let from = from.max(t);
                    let pieces = ((to - from) / leaf).ceil().max(1.0);
                    let step = (to - from) / pieces;
                    // A window is a few pieces; one that is as long as the line has nothing to tell.
                    if pieces > 1e4 {
                        return f64::INFINITY;
                    }
                    let piece = |k: usize| {
                        let a = from + k as f64 * step;
                        let decay: f64 =
                            self.spectrum.kinds.iter().map(|kind| kind.decay_over(a, a + step)).sum();
                        2.0 * step * float::exp(-decay - 0.5 * s2 * a * a) / (a * a)
                    };
                    (0..pieces as usize).map(piece).sum()
                })
                .sum();
            // Beyond the end of the sieve the smoothing's own factor is below the cut.
            outside + inside
        };
        // Before it |Φ_A/Γ − 1| ≤ e^r − 1, and the integral is that of a Gaussian.
        let centre = |t: f64| {
            let bound =
                |turns: f64, kind: &super::spectrum::Kind| kind.count * kind.transform.remainder_bound(turns);
            let r: f64 = self.spectrum.kinds.iter().map(|k| bound((t * k.rate.hi * SLACK).min(0.5), k)).sum();
            let past = self.spectrum.top_rate * t > 0.5;
            let r = if past { f64::INFINITY } else { r };
            // The same μ² to a hundred bits is not yet the same.
            let off = float::expm1(r * SLACK + 1e-20);
            off * off * (PI / (m + 0.5 * s2)).sqrt() / cc
        };
        // Both sides of the real axis, for the tail.
        let all = |deviations: f64| {
            let t = deviations / (2.0 * m).sqrt();
            (centre(t) + 2.0 * tail(t)) / (2.0 * PI) * SLACK
        };
        let least = ENDS.into_iter().map(all).fold(f64::INFINITY, f64::min);
        if !least.is_finite() {
            return None;
        }
        let scale =
            Magnitude::exp(Dd::from(exponent), 64.0 * f64::EPSILON * (m * cc + c * x + 1.0), Round::Up);
        Some(scale.mul(Magnitude::from_f64(least), Round::Up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::Effort;
    use crate::mechanism::{DiscreteGaussian, Mechanism};

    fn groups(noises: &[(&str, u128)]) -> Vec<(Mechanism, u128)> {
        noises.iter().map(|(s, n)| (DiscreteGaussian::parse(s, "1").unwrap().into(), *n)).collect()
    }

    /// δ of halves of two compositions, on a lattice to all digits, beside what the two say of it: where
    /// their laws are far apart, half the sum of their own δ is not enough without the distance.
    #[test]
    fn two_halves_together_are_below_what_their_wholes_say() {
        let (mut asked, mut needed, mut near) = (0, 0, 0);
        for (a, na, b, nb) in [
            ("4", 20, "6", 30),
            ("1", 4, "3/2", 6),
            ("1/2", 4, "3/4", 6),
            ("1/2", 8, "1/4", 4),
            ("0.7", 20, "0.77", 22),
            ("0.4", 20, "0.44", 22),
        ] {
            let one = Gaussians::at_a_glance(&groups(&[(a, na)]));
            let other = Gaussians::at_a_glance(&groups(&[(b, nb)]));
            let together = Gaussians::new(&groups(&[(a, na / 2), (b, nb / 2)]), Effort::Normal);
            let mu2 = together.mu2();
            for deviations in 0..60 {
                let x = 0.5 * mu2 + (-1.4 + 0.15 * f64::from(deviations)) * mu2.sqrt();
                let at = Point::from_f64(x.max(0.0));
                for tolerance in [1e-5, 1e-2, 0.5] {
                    let halves = one.half(&at, tolerance).zip(other.half(&at, tolerance));
                    let Some((half, of_other)) = halves else { continue };
                    let truth = together.delta(&at, 1e-9).delta;
                    let found = half.with(&of_other);
                    assert!(truth.lower() <= found, "{a} {b} {x} {tolerance}: {found:?} {truth:?}");
                    let half = Magnitude::from_f64(0.5);
                    let mean = one.half(&at, tolerance).unwrap().delta.add(of_other.delta, Round::Up);
                    needed += usize::from(mean.mul(half, Round::Up) < truth.lower());
                    let little = truth.upper().mul(Magnitude::from_f64(1.0 + 2.0 * tolerance), Round::Up);
                    near += usize::from(found <= little);
                    asked += 1;
                }
            }
        }
        assert!(asked > 500 && needed > 50 && near > 50, "{asked} {needed} {near}");
    }

    /// Another level, or another budget, is another line.
    #[test]
    fn halves_that_were_not_looked_at_alike_say_nothing() {
        let of = |count| Gaussians::at_a_glance(&groups(&[("4", count)]));
        let at = Point::from_f64(6.0);
        let half = |count, tolerance| of(count).half(&at, tolerance).unwrap();
        assert!(half(20, 1e-5).with(&half(20, 1e-5)) < Magnitude::ONE);
        assert_eq!(half(20, 1e-5).with(&half(20, 1e-2)), Magnitude::ONE);
        assert_eq!(half(20, 1e-5).with(&half(22, 1e-5)), Magnitude::ONE);
    }
}
