//! The law of the sum of a few equal noises on the integers, tilted and cut.

use super::{MAX_ATOMS, MAX_COUNT};
use crate::number::float::{self, Dd, FUNCTION, UNIT};
use crate::number::{Magnitude, Round};
use crate::profile::kernel::ln_one_minus_exp;
use crate::profile::spectrum::Kind;
use crate::stop;

/// Logarithms of the tilted weights of the sum of a group's noise, from `start` on, relative to
/// `e^{peak}`.
pub(in crate::profile) struct List {
    pub start: f64,
    pub logs: Vec<f64>,
    pub peak: Dd,
    pub peak_error: f64,
    /// Bound of the weight outside the list, and of the error of each logarithm.
    pub outside: Magnitude,
    pub error: f64,
    pub total: f64,
}

/// From this cut on, weights are multiplied out as magnitudes, which do not underflow, and all are kept:
/// those of sparse noise that matter may be far below every double, relative to the largest.
const DEEP: f64 = 1000.0;
/// Products of weights that are multiplied out: of doubles, and of magnitudes, which take ten times as long.
const PRODUCTS: f64 = 64.0 * MAX_ATOMS;
const DEEP_PRODUCTS: f64 = MAX_ATOMS;

impl List {
    /// `None` if the group is too large to convolve.
    pub fn new(kind: &Kind, c: f64, cut: f64) -> Option<List> {
        let noise = kind.noise.as_ref()?;
        if kind.count > MAX_COUNT {
            return None;
        }
        let centre = (c * noise.shift).round();
        let phi = c.mul_add(noise.shift, -centre);
        let radius = (2.0 * cut * noise.sigma2).sqrt().ceil() + 1.0;
        if radius > MAX_ATOMS {
            return None;
        }
        // −(x−φ)²/2σ² less its largest value, −φ²/2σ²: −x(x − 2φ)/2σ².
        let offsets = -(radius as i64)..=radius as i64;
        let logs: Vec<f64> = offsets
            .map(|x| {
                let x = x as f64;
                -x * (x - 2.0 * phi) / (2.0 * noise.sigma2)
            })
            .collect();
        let peak = phi * phi / (2.0 * noise.sigma2);
        let (peak, peak_error) = (Dd::from(-kind.count * peak), kind.count * 8.0 * UNIT * peak);
        // From half a step beyond the radius: a geometric series with ratio e^{−edge/σ²}, twice,
        // relative to the largest weight (φ² ≤ 1/4).
        let edge = radius + 0.5;
        let log_tail = std::f64::consts::LN_2
            - (edge * edge - 0.25) / (2.0 * noise.sigma2)
            - ln_one_minus_exp(edge / noise.sigma2);
        let tail = Magnitude::exp(Dd::from(log_tail), 0.01, Round::Up);
        let mass = logs.iter().map(|l| float::exp(*l)).sum::<f64>() * 1.01;
        let mut list = List {
            start: centre - radius,
            logs,
            peak,
            peak_error,
            outside: tail,
            // A logarithm is within 8u of its size (which the sum over atoms adds) and, since φ is
            // rounded, u·|x|/2σ²; for |x| ≥ 2 the size covers that too.
            error: 4.0 * UNIT / noise.sigma2,
            total: mass,
        };
        if kind.count > 1.0 {
            let sums = Sums { count: kind.count as u64, step: centre - radius, mass, tail };
            // Relative error of one weight, where weights are multiplied out: 8u of the largest logarithm.
            let of_one = UNIT * 8.0 * (3.0 * (radius + 1.0) / noise.sigma2 + cut);
            if cut < DEEP { list.convolve(&sums, of_one, cut) } else { list.convolve_deep(&sums, of_one) }?;
        }
        Some(list)
    }

    /// From one noise to the sum of several, in doubles.
    fn convolve(&mut self, sums: &Sums, of_one: f64, cut: f64) -> Option<()> {
        let one: Vec<f64> = self.logs.iter().map(|l| float::exp(*l)).collect();
        let mut weights = one.clone();
        for _ in 1..sums.count {
            if weights.len() as f64 * one.len() as f64 > PRODUCTS {
                return None;
            }
            let mut next = vec![0.0; weights.len() + one.len() - 1];
            for (i, a) in weights.iter().enumerate() {
                stop::check();
                for (j, b) in one.iter().enumerate() {
                    next[i + j] += a * b;
                }
            }
            // What falls below the doubles is outside too, times the weight it would have met.
            let lost = weights.len() as f64 * one.len() as f64 * f64::MIN_POSITIVE * (1.0 + self.total);
            self.grow(sums, of_one + FUNCTION + UNIT * (one.len() as f64 + 2.0));
            self.outside = self.outside.add(Magnitude::from_f64(lost * 1.01), Round::Up);
            weights = next;
        }
        self.trim(&mut weights, cut);
        // Subnormal weights have no relative accuracy: they are left out, and lie outside.
        self.logs =
            weights.iter().map(|w| if *w < 1e-290 { f64::NEG_INFINITY } else { float::ln(*w) }).collect();
        self.outside = self.outside.add(Magnitude::from_f64(weights.len() as f64 * 1e-289), Round::Up);
        self.error = (self.error + of_one) * 1.01 + 4.0 * FUNCTION + 700.0 * FUNCTION;
        Some(())
    }

    /// The same in magnitudes, always rounded up: at most 2u for each operation.
    fn convolve_deep(&mut self, sums: &Sums, of_one: f64) -> Option<()> {
        let one: Vec<Magnitude> =
            self.logs.iter().map(|l| Magnitude::exp(Dd::from(*l), 0.0, Round::Up)).collect();
        let mut weights = one.clone();
        let mut products = 0.0;
        for _ in 1..sums.count {
            products += weights.len() as f64 * one.len() as f64;
            if products > DEEP_PRODUCTS {
                return None;
            }
            let mut next = vec![Magnitude::ZERO; weights.len() + one.len() - 1];
            for (i, a) in weights.iter().enumerate() {
                stop::check();
                for (j, b) in one.iter().enumerate() {
                    next[i + j] = next[i + j].add(a.mul(*b, Round::Up), Round::Up);
                }
            }
            // Magnitude::exp is within 16u of the exponential.
            self.grow(sums, of_one + UNIT * (2.0 * one.len() as f64 + 20.0));
            weights = next;
        }
        self.logs = weights.iter().map(|w| w.ln(Round::Up)).collect();
        // The logarithm itself is within 32u of its size and of its two parts, which is at most three times
        // its size and ln 2.
        let deepest = self.logs.iter().fold(1.0f64, |a, l| a.max(l.abs()));
        self.error = (self.error + of_one + 20.0 * UNIT) * 1.01 + 128.0 * UNIT * deepest;
        Some(())
    }

    /// One noise more: what lies outside, where the list begins, and the error of its weights.
    fn grow(&mut self, sums: &Sums, error: f64) {
        let up = |x: f64| Magnitude::from_f64(x * 1.01);
        self.outside = self
            .outside
            .mul(up(sums.mass).add(sums.tail, Round::Up), Round::Up)
            .add(up(self.total).mul(sums.tail, Round::Up), Round::Up);
        self.start += sums.step;
        self.total *= sums.mass;
        self.error += error;
    }

    /// Where the largest weight is.
    pub fn middle(&self) -> usize {
        let largest = |best: usize, i: usize| if self.logs[i] > self.logs[best] { i } else { best };
        (0..self.logs.len()).fold(0, largest)
    }

    /// A sum spreads with the root of the count, its list with the count: both ends beyond the cut lie
    /// outside.
    fn trim(&mut self, weights: &mut Vec<f64>, cut: f64) {
        let least = weights.iter().fold(0.0, |a: f64, b| a.max(*b)) * float::exp(-cut);
        let first = weights.iter().position(|w| *w >= least).unwrap_or(0);
        let last = weights.iter().rposition(|w| *w >= least).map_or(weights.len(), |i| i + 1);
        let beyond: f64 = weights[..first].iter().chain(&weights[last..]).sum();
        // The sum is off by less than the error of each logarithm, which is far below a hundredth.
        self.outside = self.outside.add(Magnitude::from_f64(beyond * 1.01), Round::Up);
        weights.truncate(last);
        weights.drain(..first);
        self.start += first as f64;
    }
}

/// How often noise is added to itself: where its list begins, and its mass inside and outside, from above.
struct Sums {
    count: u64,
    step: f64,
    mass: f64,
    tail: Magnitude,
}
