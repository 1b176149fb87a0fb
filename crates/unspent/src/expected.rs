//! The error that noise makes of a count, in expectation: sums over the law, no simulation.
//!
//! A count `c ≥ 0` is published as `c + X`, or, cut at zero, as `max(c + X, 0)`; X is N_ℤ(0, σ²). With
//! `T(c) = P[X > c]`, cutting changes the error only where `X < −c`, which is `−c` then:
//!
//! ```text
//! bias      B(c) = Σ_{x>c} (x − c) P[X = x],      B(c) = B(c + 1) + T(c)
//! absolute  E|X| − B(c)
//! squared   E[X²] − D(c),  D(c) = Σ_{x>c} (x² − c²) P[X = x],  D(c) = D(c + 1) + (2c + 1) T(c)
//! ```
//!
//! All terms are positive and are added from the smallest on, in doubles with the rounding of every sum
//! carried along. What is returned is right to about twelve digits; it is not a bound.

use crate::error::{Error, Result};
use crate::mechanism::check_sigma2;
use crate::number::Rational;
use crate::number::float;

/// What is expected of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Expected {
    /// The mean squared error.
    pub mse: f64,
    /// The mean absolute error.
    pub mae: f64,
    /// The mean error.
    pub bias: f64,
}

/// Beyond so many σ the weights are below the doubles: `exp(−39²/2) < 2⁻¹⁰⁷⁴`.
const REACH: f64 = 39.0;

/// From this σ² on what is expected has closed forms to all digits, and tails are added up in blocks.
///
/// By Poisson's summation formula the total and the second moment are those of the normal law but for
/// `exp(−2π²σ²)`. By Euler's and Maclaurin's `Σ_{x≥1} x·exp(−x²/2σ²) = σ² − 1/12 − 1/240σ² + …`.
const WIDE: f64 = 1e5;

/// Weights of a block follow from the first and from two quotients: each is off by `k²u/2` after k steps.
const BLOCK: u64 = 64;

/// The law of the noise of one σ², ready for questions about counts.
///
/// ```
/// use unspent::expected::Law;
/// let law = Law::new(&"456.62".parse()?)?;
/// assert!((law.plain().mse - 456.62).abs() < 1e-9);
/// // Half of the noise on an empty cell is cut away.
/// let empty = law.cut(&[0])[0];
/// assert!((empty.mse - 456.62 / 2.0).abs() < 1e-9 && empty.bias > 8.0);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Law {
    sigma2: f64,
    /// The largest x with a weight.
    reach: u64,
    /// Σ exp(−x²/2σ²).
    total: f64,
    plain: Expected,
}

impl Law {
    /// σ² between 10⁻³ and 10¹².
    pub fn new(sigma2: &Rational) -> Result<Law> {
        let sigma2 = check_sigma2(sigma2.clone())?.to_f64();
        let reach = (REACH * sigma2.sqrt()).ceil().max(1.0) as u64;
        let mut law = Law { sigma2, reach, total: 1.0, plain: Expected::default() };
        if sigma2 >= WIDE {
            law.total = (2.0 * float::PI * sigma2).sqrt();
            let mae = 2.0 * (sigma2 - 1.0 / 12.0 - 1.0 / (240.0 * sigma2)) / law.total;
            law.plain = Expected { mse: sigma2, mae, bias: 0.0 };
            return Ok(law);
        }
        let (mut total, mut first, mut second) = (Sum::default(), Sum::default(), Sum::default());
        for x in (1..=reach).rev() {
            let weight = 2.0 * law.weight(x);
            let x = x as f64;
            total.add(weight);
            first.add(x * weight);
            second.add(x * x * weight);
        }
        total.add(1.0);
        law.total = total.value();
        law.plain = Expected { mse: second.value() / law.total, mae: first.value() / law.total, bias: 0.0 };
        Ok(law)
    }

    fn weight(&self, x: u64) -> f64 {
        let x = x as f64;
        float::exp(-x * x / (2.0 * self.sigma2))
    }

    /// The errors of any count, published as it comes.
    #[must_use]
    pub fn plain(&self) -> Expected {
        self.plain
    }

    /// The errors of counts that are cut at zero when they are published, in the order of the counts.
    #[must_use]
    pub fn cut(&self, counts: &[u64]) -> Vec<Expected> {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_unstable_by_key(|i| std::cmp::Reverse(counts[*i]));
        let mut expected = vec![self.plain; counts.len()];
        let mut order = order.into_iter().skip_while(|i| counts[*i] > self.reach).peekable();
        // T, B and D at x, from the far end on.
        let (mut tail, mut bias, mut less) = (Sum::default(), Sum::default(), Sum::default());
        for x in (0..=self.reach).rev() {
            if order.peek().is_none() {
                break;
            }
            tail.add(self.weight(x + 1));
            bias.add(tail.value());
            less.add((2 * x + 1) as f64 * tail.value());
            while let Some(i) = order.next_if(|i| counts[*i] == x) {
                let (bias, less) = (bias.value() / self.total, less.value() / self.total);
                expected[i] = Expected { mse: self.plain.mse - less, mae: self.plain.mae - bias, bias };
            }
        }
        expected
    }

    /// The probability of noise above `x`.
    #[must_use]
    pub fn tail(&self, x: u64) -> f64 {
        let mut tail = Sum::default();
        (x.saturating_add(1)..=self.reach).rev().for_each(|x| tail.add(self.weight(x)));
        tail.value() / self.total
    }

    /// The probability that the error of a count exceeds `t`, either way; `cut` if it is cut at zero.
    #[must_use]
    pub fn exceedance(&self, count: u64, t: u64, cut: bool) -> f64 {
        // What is cut at zero is never too small by more than the count.
        let below = if cut && count <= t { 0.0 } else { 1.0 };
        (1.0 + below) * self.tail(t)
    }

    /// The smallest `k` such that a noisy count is within `k` of the true one with this probability at least.
    ///
    /// So `y − k` to `y + k` (from 0, if that is more) is a confidence interval for the count that was
    /// published as `y`. The probability is computed with a margin for rounding; the interval has at least
    /// the confidence that was asked for.
    pub fn half_width(&self, confidence: &Rational) -> Result<u64> {
        let one = Rational::integer(1);
        // Weights are doubles: beyond this they would have too few digits.
        let most = &one - &Rational::power_of_ten(-200);
        if !confidence.is_positive() || *confidence > most {
            return Err(Error::input(
                "confidence",
                confidence,
                "a number above 0 and below 1 (by 1e-200 at least)",
                "95 % is 0.95",
            ));
        }
        // Weights are right to 1e-12 of themselves; this is more than enough, and moves k only at a tie.
        let allowed = (&one - confidence).to_f64() * (1.0 - 1e-10) / 2.0;
        let mut tail = Sum::default();
        if self.sigma2 >= WIDE {
            return Ok(self.wide_half_width(allowed * self.total));
        }
        for x in (0..=self.reach).rev() {
            tail.add(self.weight(x + 1));
            if tail.value() / self.total > allowed {
                return Ok(x + 1);
            }
        }
        Ok(0)
    }

    /// The smallest k whose weights beyond are not above `allowed` together.
    ///
    /// Weights that together are below 10⁻¹⁴ of that are not added up: beyond `x₀` they are less than
    /// `exp(−x₀²/2σ²)·(1 + σ²/x₀)`, and less than `σ·exp(…)·2` where `x₀ ≥ σ ≥ 300`.
    fn wide_half_width(&self, allowed: f64) -> u64 {
        let sigma = self.sigma2.sqrt();
        let depth = 2.0 * (float::ln(2e14 * sigma) - float::ln(allowed)).max(0.5);
        let mut above = (sigma * depth.sqrt()).ceil() as u64;
        let step = float::exp(-1.0 / self.sigma2);
        let mut tail = Sum::default();
        while above > 0 {
            // From `above` down: the weight at x − 1 is that at x times exp((2x − 1)/2σ²).
            let mut weight = self.weight(above);
            let mut quotient = float::exp((2.0 * above as f64 - 1.0) / (2.0 * self.sigma2));
            let (first, mut block) = (above, 0.0);
            let bottom = above.saturating_sub(BLOCK);
            for _ in bottom..first {
                block += weight;
                weight *= quotient;
                quotient *= step;
            }
            if tail.value() + block > allowed {
                break;
            }
            tail.add(block);
            above = bottom;
        }
        // In the block that passes it, one by one.
        while above > 0 {
            tail.add(self.weight(above));
            if tail.value() > allowed {
                return above;
            }
            above -= 1;
        }
        0
    }
}

/// A sum of doubles that carries its rounding errors along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        // Which of the two is larger decides what was lost of the other.
        self.lost +=
            if self.sum.abs() >= term.abs() { (self.sum - sum) + term } else { (term - sum) + self.sum };
        self.sum = sum;
    }

    /// The sum.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Straight from the definition.
    fn by_definition(sigma2: f64, count: i64) -> Expected {
        let (mut total, mut expected) = (0.0, Expected::default());
        for x in -2_000..=2_000i64 {
            let weight = float::exp(-((x * x) as f64) / (2.0 * sigma2));
            let error = ((count + x).max(0) - count) as f64;
            total += weight;
            expected.mse += error * error * weight;
            expected.mae += error.abs() * weight;
            expected.bias += error * weight;
        }
        Expected { mse: expected.mse / total, mae: expected.mae / total, bias: expected.bias / total }
    }

    #[test]
    fn cut_errors_are_those_of_the_definition() {
        for sigma2 in ["0.001", "0.3", "1", "5", "68.49", "456.62", "2000"] {
            let law = Law::new(&sigma2.parse().unwrap()).unwrap();
            let sigma2: f64 = sigma2.parse().unwrap();
            let counts = [3, 0, 1, 50, 7, 1_000, 7, 20, 2_000];
            for (count, found) in counts.iter().zip(law.cut(&counts)) {
                let expected = by_definition(sigma2, *count as i64);
                for (a, b) in
                    [(found.mse, expected.mse), (found.mae, expected.mae), (found.bias, expected.bias)]
                {
                    assert!(
                        (a - b).abs() <= 1e-10 * (1e-3 + b.abs()),
                        "{sigma2} {count}: {found:?} {expected:?}"
                    );
                }
            }
        }
    }

    /// What is added up in blocks, beside a plain sum over all that has a weight.
    #[test]
    fn wide_noise_has_the_half_widths_of_the_plain_sum() {
        for sigma2 in ["100000", "123456.789", "5000000"] {
            let law = Law::new(&sigma2.parse().unwrap()).unwrap();
            let total = 1.0 + 2.0 * (1..=law.reach).rev().map(|x| law.weight(x)).sum::<f64>();
            assert!((law.total / total - 1.0).abs() < 1e-12);
            let first = (1..=law.reach).rev().map(|x| x as f64 * law.weight(x)).sum::<f64>();
            assert!((law.plain.mae / (2.0 * first / total) - 1.0).abs() < 1e-12);
            for confidence in ["0.001", "0.5", "0.95", "0.999999", "0.9999999999999999999999999999999"] {
                let confidence: Rational = confidence.parse().unwrap();
                let allowed = (&Rational::integer(1) - &confidence).to_f64() * (1.0 - 1e-10) / 2.0;
                let mut tail = Sum::default();
                let passes = |x: &u64| {
                    tail.add(law.weight(x + 1));
                    tail.value() / total > allowed
                };
                let expected = (0..=law.reach).rev().find(passes).map_or(0, |x| x + 1);
                assert_eq!(law.half_width(&confidence).unwrap(), expected, "{sigma2} {confidence}");
            }
        }
    }

    #[test]
    fn a_count_far_from_zero_is_not_cut() {
        let law = Law::new(&"5".parse().unwrap()).unwrap();
        let [far, farther] = law.cut(&[86, u64::MAX])[..] else { panic!() };
        assert!((far.mse - law.plain().mse).abs() < 1e-12 && farther == law.plain());
    }

    #[test]
    fn the_widest_law_is_the_normal() {
        let law = Law::new(&"1e12".parse().unwrap()).unwrap();
        assert!((law.plain().mse / 1e12 - 1.0).abs() < 1e-12);
        // E|X| of the normal is σ√(2/π); the difference is of order 1/σ.
        assert!((law.plain().mae / (1e6 * (2.0 / std::f64::consts::PI).sqrt()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_interval_covers_and_a_shorter_one_does_not() {
        for sigma2 in ["0.001", "0.1", "1", "5", "456.62", "1e6"] {
            let law = Law::new(&sigma2.parse().unwrap()).unwrap();
            for confidence in ["0.5", "0.9", "0.95", "0.999999"] {
                let k = law.half_width(&confidence.parse().unwrap()).unwrap();
                let missed = 1.0 - confidence.parse::<f64>().unwrap();
                assert!(2.0 * law.tail(k) <= missed * (1.0 + 1e-12), "{sigma2} {confidence}: {k}");
                assert!(
                    k == 0 || 2.0 * law.tail(k - 1) > missed * (1.0 - 1e-9),
                    "{sigma2} {confidence}: {k}"
                );
            }
        }
        let law = Law::new(&"5".parse().unwrap()).unwrap();
        assert_eq!(law.half_width(&"0.95".parse().unwrap()).unwrap(), 4);
        let error = law.half_width(&"95".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "confidence: `95` is not a number above 0 and below 1 (by 1e-200 at least)"
        );
    }

    #[test]
    fn exceedance_is_one_sided_for_a_count_that_cannot_fall_so_far() {
        let law = Law::new(&"5".parse().unwrap()).unwrap();
        assert_eq!(law.exceedance(3, 4, false), 2.0 * law.tail(4));
        assert_eq!(law.exceedance(3, 4, true), law.tail(4));
        assert_eq!(law.exceedance(5, 4, true), 2.0 * law.tail(4));
        assert!((law.tail(0) + law.tail(0) + 1.0 / law.total - 1.0).abs() < 1e-15);
    }
}
