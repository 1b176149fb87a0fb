//! What an answer looks like: [`Bounds`], and [`Magnitude`] for probabilities that underflow.
//!
//! The contract of the whole crate: for every public [`Bounds`] the exact mathematical value lies
//! between `lower` and `upper`, both included, with every truncation and every rounding error of
//! the computation accounted for. Converting or printing one end rounds it outward.

use std::fmt;

use super::magnitude::{Magnitude, Round};

/// A pair `lower ≤ truth ≤ upper`.
///
/// There is no midpoint: quote the end that is a guarantee for your purpose (for δ and ε that is
/// [`upper`](Bounds::upper), for a trade-off function [`lower`](Bounds::lower)).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Bounds<T> {
    lower: T,
    upper: T,
}

impl<T: Copy + PartialOrd + fmt::Debug> Bounds<T> {
    /// # Panics
    /// If `lower ≤ upper` does not hold: that is a defect of this crate, and no answer is better
    /// than a wrong one.
    pub(crate) fn new(lower: T, upper: T) -> Bounds<T> {
        assert!(lower <= upper, "bounds out of order: {lower:?} > {upper:?}");
        Bounds { lower, upper }
    }

    /// The truth is at least this.
    pub fn lower(&self) -> T {
        self.lower
    }

    /// The truth is at most this.
    pub fn upper(&self) -> T {
        self.upper
    }

    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: T) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Whether the two could describe the same truth.
    pub fn overlaps(&self, other: &Bounds<T>) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }
}

impl Bounds<Magnitude> {
    /// Bounds that were taken apart, to be sent or kept: as good as whoever kept them.
    ///
    /// # Panics
    /// If `lower ≤ upper` does not hold.
    pub fn restored(lower: Magnitude, upper: Magnitude) -> Bounds<Magnitude> {
        Bounds::new(lower, upper)
    }
}

impl Bounds<f64> {
    /// `(upper − lower) / |lower|`, rounded up; infinite if `lower` is 0 and `upper` is not.
    #[must_use]
    pub fn relative_width(&self) -> f64 {
        if self.lower == self.upper {
            return 0.0;
        }
        ((self.upper - self.lower).next_up() / self.lower.abs()).next_up()
    }

    /// Both ends as decimal strings of 17 significant digits, rounded outward.
    #[must_use]
    pub fn to_decimal(&self) -> (String, String) {
        let one = |x: f64, towards: Round| match (x < 0.0, towards) {
            (false, _) => Magnitude::from_f64(x).to_decimal(17, towards),
            (true, Round::Up) => {
                format!("-{}", Magnitude::from_f64(-x).to_decimal(17, Round::Down))
            }
            (true, Round::Down) => {
                format!("-{}", Magnitude::from_f64(-x).to_decimal(17, Round::Up))
            }
        };
        (one(self.lower, Round::Down), one(self.upper, Round::Up))
    }
}

impl Bounds<Magnitude> {
    /// Both ends as decimal strings of 17 significant digits, rounded outward.
    #[must_use]
    pub fn to_decimal(&self) -> (String, String) {
        (self.lower.to_decimal(17, Round::Down), self.upper.to_decimal(17, Round::Up))
    }

    /// Both ends as doubles, rounded outward: what underflows becomes 0 below and the smallest
    /// positive double above.
    pub fn to_f64(&self) -> Bounds<f64> {
        Bounds::new(self.lower.to_f64(Round::Down), self.upper.to_f64(Round::Up))
    }

    /// Bounds of the natural logarithm (−∞ below if the lower end is 0).
    pub fn ln(&self) -> Bounds<f64> {
        Bounds::new(self.lower.ln(Round::Down), self.upper.ln(Round::Up))
    }

    /// Bounds of the decimal logarithm (−∞ below if the lower end is 0).
    pub fn log10(&self) -> Bounds<f64> {
        Bounds::new(self.lower.log10(Round::Down), self.upper.log10(Round::Up))
    }

    /// `(upper − lower) / lower`, rounded up; infinite if `lower` is 0 and `upper` is not.
    #[must_use]
    pub fn relative_width(&self) -> f64 {
        if self.lower == self.upper {
            return 0.0;
        }
        let width = self.upper.sub(self.lower, Round::Up);
        if self.lower.is_zero() {
            return f64::INFINITY;
        }
        width.div(self.lower, Round::Up).to_f64(Round::Up)
    }

    /// Bounds of `1 − truth`, for a probability.
    pub(crate) fn complement(&self) -> Bounds<Magnitude> {
        let upper = Magnitude::ONE.sub(self.lower, Round::Up);
        Bounds::new(
            Magnitude::ONE.sub(self.upper, Round::Down),
            if upper < Magnitude::ONE { upper } else { Magnitude::ONE },
        )
    }

    /// Both hold, so the truth lies in the intersection.
    pub(crate) fn intersect(&self, other: &Bounds<Magnitude>) -> Bounds<Magnitude> {
        let lower = if self.lower < other.lower { other.lower } else { self.lower };
        let upper = if self.upper < other.upper { self.upper } else { other.upper };
        Bounds::new(lower, upper)
    }
}
