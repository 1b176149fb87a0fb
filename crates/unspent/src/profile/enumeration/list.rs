//! The law of the sum of a few equal noises on the integers, tilted and cut.

use super::{MAX_ATOMS, MAX_SUM};
use crate::number::float::{self, DD_UNIT, Dd, FUNCTION, UNIT};
use crate::number::{Magnitude, Round};
use crate::profile::allowance;
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
/// Doubles below `e^{−600}` of the largest are left out: what underflows is far below, and none is subnormal.
const FLOOR: f64 = 600.0;
/// Products of weights that are multiplied out: of doubles, and of magnitudes, which take far longer.
const PRODUCTS: f64 = 64.0 * MAX_ATOMS;
const DEEP_PRODUCTS: f64 = MAX_ATOMS;
/// About the work of one of each, in evaluations of a transform.
const PRODUCT: f64 = 1.0 / 256.0;
const DEEP_PRODUCT: f64 = 1.0 / 4.0;

/// Takes the work of so many products from the allowance of the answer; `None` if there is not enough left.
fn pay(products: f64, of_one: f64) -> Option<()> {
    let work = products * of_one;
    (work <= allowance::most(f64::INFINITY)).then(|| allowance::spend(work))
}

impl List {
    /// `None` if the group is too large to convolve, or the answer has no work left for it.
    pub fn new(kind: &Kind, c: f64, cut: f64) -> Option<List> {
        let noise = kind.noise.as_ref()?;
        let centre = (c * noise.shift).round();
        // Beyond, a place of the list would be no exact double.
        if kind.count > MAX_SUM || centre.abs() * kind.count > 2f64.powi(50) {
            return None;
        }
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
        // relative to the largest weight. φ is ½ at most, or a little more where cΔ is so large that as a
        // double it has few digits after the point, and the centre is not the nearest integer.
        let most = phi.abs().max(0.5);
        let edge = radius + 1.0 - most;
        let log_tail = std::f64::consts::LN_2
            - (edge * edge - most * most) / (2.0 * noise.sigma2)
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

    /// From one noise to the sum of several, in doubles, by doubling.
    fn convolve(&mut self, sums: &Sums, of_one: f64, cut: f64) -> Option<()> {
        let mut power = Part {
            weights: self.logs.iter().map(|l| float::exp(*l)).collect(),
            start: self.start,
            twos: 0.0,
            // What is no normal double is off by less than the smallest of them.
            outside: sums.tail.add(Magnitude::from_f64(self.logs.len() as f64 * 1e-307), Round::Up),
            total: sums.mass,
            error: of_one + FUNCTION,
        };
        power.trim(cut);
        let mut sum: Option<Part> = None;
        let mut left = sums.count;
        loop {
            if left % 2 == 1 {
                sum = Some(match sum {
                    Some(sum) => sum.plus(&power, cut)?,
                    None => power.clone(),
                });
            }
            left /= 2;
            if left == 0 {
                break;
            }
            power = power.plus(&power, cut)?;
        }
        let Part { weights, start, twos, outside, total, error } = sum.expect("a count is positive");
        self.logs = weights.into_iter().map(float::ln).collect();
        self.start = start;
        self.peak = self.peak.add(float::LN_TWO.scale(twos));
        self.peak_error += 8.0 * DD_UNIT * (self.peak.hi.abs() + twos.abs());
        self.outside = outside;
        self.total = total;
        // A logarithm is within a `FUNCTION` of its size, which is at most the cut.
        self.error = (self.error + error) * 1.01 + (4.0 + DEEP) * FUNCTION;
        Some(())
    }

    /// The same in magnitudes, always rounded up: at most 3u for each operation, u to the nearest double and
    /// 2u to the next one.
    fn convolve_deep(&mut self, sums: &Sums, of_one: f64) -> Option<()> {
        let one: Vec<Magnitude> =
            self.logs.iter().map(|l| Magnitude::exp(Dd::from(*l), 0.0, Round::Up)).collect();
        let mut weights = one.clone();
        // The sum of k of them has k times the length.
        let pairs = 0.5 * sums.count as f64 * (sums.count as f64 - 1.0);
        let products = pairs * (one.len() * one.len()) as f64;
        if products > DEEP_PRODUCTS {
            return None;
        }
        pay(products, DEEP_PRODUCT)?;
        for _ in 1..sums.count {
            let mut next = vec![Magnitude::ZERO; weights.len() + one.len() - 1];
            for (i, a) in weights.iter().enumerate() {
                stop::check();
                for (j, b) in one.iter().enumerate() {
                    next[i + j] = next[i + j].add(a.mul(*b, Round::Up), Round::Up);
                }
            }
            // Magnitude::exp is within 16u of the exponential.
            self.grow(sums, of_one + UNIT * (3.0 * one.len() as f64 + 20.0));
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
}

/// The law of the sum of some equal noises: weights of which the largest is about 1, in units of `2^twos`.
#[derive(Clone)]
struct Part {
    weights: Vec<f64>,
    start: f64,
    twos: f64,
    outside: Magnitude,
    /// Not below the sum of the weights; and the relative error of each.
    total: f64,
    error: f64,
}

impl Part {
    /// Of both noises together; `None` if that takes too long.
    fn plus(&self, other: &Part, cut: f64) -> Option<Part> {
        let (a, b) = (&self.weights, &other.weights);
        let products = a.len() as f64 * b.len() as f64;
        if products > PRODUCTS {
            return None;
        }
        pay(products, PRODUCT)?;
        let mut weights = vec![0.0; a.len() + b.len() - 1];
        for (i, a) in a.iter().enumerate() {
            stop::check();
            for (sum, b) in weights[i..].iter_mut().zip(b) {
                *sum += a * b;
            }
        }
        let error = self.error + other.error + UNIT * (a.len().min(b.len()) as f64 + 2.0);
        let up = |x: f64| Magnitude::from_f64(x * 1.01);
        let all = up(other.total).add(other.outside, Round::Up);
        let outside =
            self.outside.mul(all, Round::Up).add(up(self.total).mul(other.outside, Round::Up), Round::Up);
        // A power of two is exact. The exponent of a positive normal double is in its upper bits.
        let largest = weights.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(*b));
        let exponent = (largest.to_bits() >> 52) as i32 - 1023;
        let scale = 2f64.powi(-exponent);
        // Products that underflow are each off by less than the smallest normal double.
        let lost = products * f64::MIN_POSITIVE;
        let outside =
            outside.add(Magnitude::from_f64(lost), Round::Up).mul(Magnitude::from_f64(scale), Round::Up);
        weights.iter_mut().for_each(|w| *w *= scale);
        let twos = self.twos + other.twos + f64::from(exponent);
        let total = weights.iter().sum::<f64>() * (1.01 + 2.0 * error);
        let mut sum = Part { weights, start: self.start + other.start, twos, outside, total, error };
        sum.trim(cut);
        Some(sum)
    }

    /// A sum spreads with the root of the count, its list with the count: both ends beyond the cut lie
    /// outside.
    fn trim(&mut self, cut: f64) {
        let least = self.weights.iter().fold(0.0, |a: f64, b| a.max(*b)) * float::exp(-cut.min(FLOOR));
        let first = self.weights.iter().position(|w| *w >= least).unwrap_or(0);
        let last = self.weights.iter().rposition(|w| *w >= least).map_or(self.weights.len(), |i| i + 1);
        let beyond: f64 = self.weights[..first].iter().chain(&self.weights[last..]).sum();
        // The sum is off by less than a hundredth: the error of each weight is far below that.
        self.outside = self.outside.add(Magnitude::from_f64(beyond * 1.01), Round::Up);
        self.weights.truncate(last);
        self.weights.drain(..first);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Described;
    use crate::profile::spectrum::Spectrum;

    /// Doubling in doubles beside one by one in magnitudes, entry by entry.
    #[test]
    fn sums_by_doubling_are_sums_one_by_one() {
        for (text, c) in [
            ("sigma2=0.01,count=50", 0.5),
            ("sigma2=0.3,count=20,shift=2", 12.3),
            ("sigma2=5,count=6", -3.7),
            ("sigma2=0.001,count=64", 2.49),
        ] {
            let Described { mechanism, count } = Described::parse(text).unwrap();
            let spectrum = Spectrum::new(&[(mechanism, u128::from(count))]);
            let fast = List::new(&spectrum.kinds[0], c, 120.0).unwrap();
            let slow = List::new(&spectrum.kinds[0], c, DEEP).unwrap();
            let (mut near, mut missing) = (0, 0.0);
            let middle = slow.peak.hi + slow.logs[slow.middle()];
            for (j, log) in slow.logs.iter().enumerate() {
                let truth = slow.peak.hi + log;
                let weight = float::exp(truth - fast.peak.hi);
                let i = (slow.start - fast.start) as isize + j as isize;
                let Some(log) = usize::try_from(i).ok().and_then(|i| fast.logs.get(i)) else {
                    missing += weight;
                    continue;
                };
                let found = fast.peak.hi + log;
                let error = fast.error + fast.peak_error + slow.error + slow.peak_error + 1e-13 * truth.abs();
                // Near the ends of the list some sums come from what was cut off.
                assert!(found <= truth + error, "{text}: {found} {truth} {error}");
                missing += weight * (1.0 - float::exp((found - truth).min(0.0)) - error).max(0.0);
                if truth > middle - 60.0 {
                    assert!(found >= truth - error, "{text}: {found} {truth} {error}");
                    near += 1;
                }
            }
            assert!(Magnitude::from_f64(missing * 0.999) <= fast.outside, "{text}: {missing}");
            assert!(near > 5 && fast.error + fast.peak_error < 1e-9, "{text}: {near} {}", fast.error);
        }
    }
}
