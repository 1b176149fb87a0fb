//! Where the true count is, for a noisy one: confidence intervals.
//!
//! A confidence interval is right as often as it says, and not always: it is no certified bound.

use std::fmt;

use serde::Serialize;
use unspent::expected::Law;
use unspent::report::brief;
use unspent::{Rational, Result, Round};

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
    pub lower: Option<i64>,
    /// The upper end.
    pub upper: Option<i64>,
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
                "None: {count} ± {half_width} has no count that is not negative. \
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

    /// A noisy count is within this of the true one so often.
    #[must_use]
    pub fn half_width(&self) -> u64 {
        self.half_width
    }

    /// Both ends for a noisy count; none if no count that is not negative is so near.
    #[must_use]
    pub fn ends(&self, count: i64) -> Option<(i64, i64)> {
        let lower = count.saturating_sub_unsigned(self.half_width);
        let upper = count.saturating_add_unsigned(self.half_width);
        (upper >= 0).then_some((lower.max(0), upper))
    }

    /// The interval for a noisy count.
    #[must_use]
    pub fn of(&self, count: i64) -> Interval {
        let ends = self.ends(count);
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
            (i64::MAX, "0.95", Some((i64::MAX - 4, i64::MAX))),
            (i64::MIN, "0.95", None),
        ] {
            let found = interval(count, "5", confidence);
            assert_eq!(found.lower.zip(found.upper), ends, "{count} {confidence}");
        }
        assert_eq!(interval(12, "0.001", "0.5").half_width, 0);
        assert!(Interval::new(12, &"5".parse().unwrap(), &"1".parse().unwrap()).is_err());
    }

    #[test]
    fn its_json_has_exact_numbers() {
        let json = serde_json::to_string(&interval(12, "16/3", "1/3")).unwrap();
        assert_eq!(
            json,
            "{\"count\":12,\"sigma2\":\"16/3\",\"confidence\":\"1/3\",\"half_width\":1,\"lower\":11,\"upper\":13}"
        );
    }
}
