//! Where the true count is, for a noisy one: confidence intervals.
//!
//! A confidence interval is right as often as it says, and not always: it is no certified bound.

use std::fmt;

use serde::Serialize;
use unspent::expected::Law;
use unspent::report::brief;
use unspent::{Error, Rational, Result, Round};

/// A confidence interval for the count behind a noisy one.
///
/// ```
/// use unspent_data::Interval;
/// let interval = Interval::new(12, &"5".parse()?, &"0.95".parse()?)?;
/// assert_eq!((interval.lower, interval.upper), (Some(8), Some(16)));
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The noisy count.
    pub count: i64,
    /// The σ² of its noise.
    pub sigma2: Rational,
    /// How often such intervals contain the true count, at least.
    pub confidence: Rational,
    /// The noisy count is within this of the true one so often.
    pub half_width: u64,
    /// The lower end, at least 0; none if even the upper end is negative.
    pub lower: Option<i128>,
    /// The upper end, which may be above every count of 64 bits.
    pub upper: Option<i128>,
}

impl Interval {
    /// Of one count. The confidence is above 0 and below 1.
    pub fn new(count: i64, sigma2: &Rational, confidence: &Rational) -> Result<Interval> {
        Ok(Intervals::new(sigma2, confidence)?.of(count))
    }
}

/// In a sentence.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { count, half_width, .. } = self;
        let confidence = brief(&self.confidence, Round::Down);
        match self.lower.zip(self.upper) {
            Some((lower, upper)) => write!(
                f,
                "{lower} to {upper}: {count} ± {half_width}, clamped at zero. \
                 Of such intervals at least {confidence} contain the true count."
            ),
            None => write!(
                f,
                "None: {count} ± {half_width} has no count from zero on. \
                 Of such intervals at least {confidence} contain the true count; this one does not."
            ),
        }
    }
}

/// Confidence intervals for counts with the same noise.
#[derive(Clone, Debug)]
pub struct Intervals {
    sigma2: Rational,
    confidence: Rational,
    half_width: u64,
}

impl Intervals {
    /// With noise of this σ². The confidence is above 0 and below 1.
    pub fn new(sigma2: &Rational, confidence: &Rational) -> Result<Intervals> {
        let half_width = Law::new(sigma2)?.half_width(confidence)?;
        Ok(Intervals { sigma2: sigma2.clone(), confidence: confidence.clone(), half_width })
    }

    /// With noise of which only the variance is known, rounded to a 32-bit float or less. They are those of a
    /// σ² that is no smaller than the true one.
    pub fn of_variance(variance: f64, confidence: &Rational) -> Result<Intervals> {
        Intervals::new(&sigma2_of_variance(variance)?, confidence)
    }

    /// A noisy count is within this of the true one so often.
    #[must_use]
    pub fn half_width(&self) -> u64 {
        self.half_width
    }

    /// Both ends for a noisy count, as numbers of 64 bits; none if no count that is not negative is so near.
    /// An end beyond the last such number is that number: of counts that fit in 64 bits none is left out.
    #[must_use]
    pub fn ends(&self, count: i64) -> Option<(i64, i64)> {
        let (lower, upper) = self.whole_ends(count)?;
        let within = |end: i128| i64::try_from(end).unwrap_or(i64::MAX);
        Some((within(lower), within(upper)))
    }

    fn whole_ends(&self, count: i64) -> Option<(i128, i128)> {
        let (count, half_width) = (i128::from(count), i128::from(self.half_width));
        let upper = count + half_width;
        (upper >= 0).then_some(((count - half_width).max(0), upper))
    }

    /// The interval for a noisy count.
    #[must_use]
    pub fn of(&self, count: i64) -> Interval {
        let ends = self.whole_ends(count);
        Interval {
            count,
            sigma2: self.sigma2.clone(),
            confidence: self.confidence.clone(),
            half_width: self.half_width,
            lower: ends.map(|(lower, _)| lower),
            upper: ends.map(|(_, upper)| upper),
        }
    }
}

/// A σ² that is at least that of the discrete Gaussian of this variance, and larger by 10⁻⁶ of it at most if
/// the variance is 1 or more.
///
/// A larger σ² never has a shorter interval: the ratio of the weights `exp(−x²/2σ²)` of two σ² is monotone in
/// |x|, so that |X| grows in law with σ², and with it the half-width and the variance.
///
/// With `t = 1/2σ²`, the variance is `−d/dt log Σ exp(−tx²)`, and by Poisson's summation formula
///
/// ```text
/// Σ exp(−tx²) = √(π/t) (1 + 2 Σ_{m≥1} exp(−π²m²/t)),
/// Var = σ² − 8π²σ⁴ S₂ / (1 + 2S₀),      Sₖ = Σ_{m≥1} mᵏ exp(−2π²σ²m²).
/// ```
///
/// So `Var < σ²`, and for σ² ≥ 1 the difference is at most `8π²σ² exp(−2π²σ²) (1 + 10⁻²⁰)` of σ², which falls
/// with σ² and is 2.12·10⁻⁷ at σ² = 1: 3.5 times the rounding of a 32-bit float there, less than it from
/// σ² = 1.07 on, and 1.2·10⁻¹⁵ at σ² = 2. A variance that was rounded to the nearest 32-bit float is up to
/// 2⁻²⁴ = 5.96·10⁻⁸ of itself below the true one. Both together are below 2.8·10⁻⁷, also where a variance
/// just below 1 was rounded to 1; 2⁻²¹ = 4.77·10⁻⁷ is added.
pub(crate) fn sigma2_of_variance(variance: f64) -> Result<Rational> {
    if !(variance > 0.0 && variance.is_finite()) {
        let allowed = "a finite number above 0";
        return Err(Error::input("variance", variance, allowed, "values without noise need no interval"));
    }
    const MARGIN: f64 = 1.0 / (1 << 21) as f64;
    // Below this, 32-bit floats have fewer digits.
    let variance_at_most = variance.max(f32::MIN_POSITIVE.into()) * (1.0 + MARGIN);
    if variance >= 1.0 {
        return Rational::from_f64("variance", variance_at_most);
    }
    // The variance falls faster than σ² below 1: find where it is reached. A law's own variance is right to
    // about 10⁻¹², which the margin covers.
    let variance_of = |sigma2: f64| Ok(Law::new(&Rational::from_f64("sigma2", sigma2)?)?.plain().mse);
    // Noise of σ² = 0.002 has a variance below 10⁻¹⁰⁰.
    let (mut low, mut high) = (0.002, 2.0);
    while high - low > high * MARGIN {
        let middle = (low + high) / 2.0;
        if variance_of(middle)? >= variance_at_most { high = middle } else { low = middle }
    }
    Rational::from_f64("sigma2", high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(count: i64, sigma2: &str, confidence: &str) -> Interval {
        Interval::new(count, &sigma2.parse().unwrap(), &confidence.parse().unwrap()).unwrap()
    }

    #[test]
    fn an_interval_is_around_the_noisy_count_and_never_negative() {
        // P[|X| ≤ 4] = 0.956 and P[|X| ≤ 3] = 0.883 for σ² = 5.
        for (count, confidence, ends) in [
            (12, "0.95", Some((8, 16))),
            (12, "0.88", Some((9, 15))),
            (-3, "0.95", Some((0, 1))),
            (-4, "0.95", Some((0, 0))),
            (-5, "0.95", None),
            (i64::MAX, "0.95", Some((i128::from(i64::MAX) - 4, i128::from(i64::MAX) + 4))),
            (i64::MIN, "0.95", None),
        ] {
            let found = interval(count, "5", confidence);
            assert_eq!(found.lower.zip(found.upper), ends, "{count} {confidence}");
        }
        let widest = Intervals::new(&"1e12".parse().unwrap(), &"0.95".parse().unwrap()).unwrap();
        assert_eq!(widest.ends(i64::MAX), Some((i64::MAX - 1_959_964, i64::MAX)));
        assert!(widest.of(i64::MAX).to_string().starts_with("9223372036852815843 to 9223372036856735771: "));
        assert_eq!(interval(12, "0.001", "0.5").half_width, 0);
        assert!(Interval::new(12, &"5".parse().unwrap(), &"1".parse().unwrap()).is_err());
    }

    #[test]
    fn its_json_has_exact_numbers() {
        let json = serde_json::to_string(&interval(12, "16/3", "1/3")).unwrap();
        assert_eq!(
            json,
            r#"{"count":12,"sigma2":"16/3","confidence":"1/3","half_width":1,"lower":11,"upper":13}"#
        );
    }

    /// What files have of noise of this σ²: its variance as a double, and as a 32-bit float.
    fn variances(sigma2: &Rational) -> [f64; 2] {
        let variance = Law::new(sigma2).unwrap().plain().mse;
        [variance, f64::from(variance as f32)]
    }

    #[test]
    fn a_variance_gives_a_sigma2_that_is_never_too_small() {
        let many = (0..200).map(|i| format!("{}", 0.02 * 1.07f64.powi(i)));
        let close = (90..130).map(|i| format!("{i}/100"));
        for sigma2 in many.chain(close).chain(["1", "1/3", "100000/9563", "0.3"].map(String::from)) {
            let sigma2: Rational = sigma2.parse().unwrap();
            for variance in variances(&sigma2) {
                let found = sigma2_of_variance(variance).unwrap();
                assert!(found >= sigma2, "{sigma2}: {found} of {variance}");
                let more = found.to_f64() / sigma2.to_f64() - 1.0;
                // Below 1 the variance says less of σ²: it hardly changes its digits.
                assert!(more < if variance >= 1.0 { 1e-6 } else { 1e-5 }, "{sigma2}: {more}");
            }
        }
    }

    #[test]
    fn a_variance_gives_the_intervals_of_its_sigma2() {
        let confidence = "0.9".parse().unwrap();
        for sigma2 in ["0.05", "0.25", "0.9", "1", "16/3", "456.62", "100000/9563"] {
            let sigma2: Rational = sigma2.parse().unwrap();
            let exactly = Intervals::new(&sigma2, &confidence).unwrap().half_width();
            for variance in variances(&sigma2) {
                let found = Intervals::of_variance(variance, &confidence).unwrap().half_width();
                assert_eq!(found, exactly, "{sigma2}");
            }
        }
        // Whatever has less noise than there can be has none to speak of.
        assert_eq!(Intervals::of_variance(1e-300, &confidence).unwrap().half_width(), 0);
        for (variance, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let error = Intervals::of_variance(variance, &confidence).unwrap_err();
            assert_eq!(error.to_string(), format!("variance: `{shown}` is not a finite number above 0"));
        }
    }
}
