//! The tails of the privacy loss, in one direction.

use super::super::kernel::Expectation;
use super::super::{DeltaBounds, Point, smoothing};
use super::ordered::Ordered;
use crate::number::{Bounds, Magnitude, Round};

impl Ordered {
    /// `P[L > ε]`, strictly.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if self.is_beyond(at) && self.infinity.0.upper() == self.infinity.1.upper() {
            return Bounds::new(Magnitude::ZERO, Magnitude::ZERO);
        }
        match self.exact(Expectation::UpperP, at) {
            // Tails that were taken for revealed are as likely under P as under Q, and may be above ε.
            Some(found) if self.infinity.0.upper() < self.infinity.1.upper() => {
                Bounds::new(found.lower(), found.upper().add(self.infinity.1.upper(), Round::Up))
            }
            Some(found) => found,
            None => self.p_tail_from(at, tolerance, &self.delta(at, tolerance)),
        }
    }

    /// `Q[L > ε]`, strictly, with what is revealed for certain.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if self.is_beyond(at) {
            return Bounds::new(self.infinity.0.lower(), self.infinity.1.upper());
        }
        if let Some(finite) = self.exact(Expectation::UpperQ, at) {
            return Bounds::new(
                finite.lower().add(self.infinity.0.lower(), Round::Down),
                finite.upper().add(self.infinity.1.upper(), Round::Up),
            );
        }
        let here = self.delta(at, tolerance);
        smoothing::q_from_p(at, &here, &self.p_tail_from(at, tolerance, &here))
    }

    fn p_tail_from(&self, at: &Point, tolerance: f64, here: &DeltaBounds) -> Bounds<Magnitude> {
        let (mean, deviation) = self.scale();
        let c = 1.0 + ((at.dd.hi - mean) / (deviation * deviation)).max(0.0) + 1.0 / deviation;
        let width = here.delta.relative_width().clamp(1e-14, tolerance);
        let step = (width / (c * (c - 1.0))).sqrt();
        smoothing::secants(at, here, step, |epsilon| self.delta(&Point::from_f64(epsilon), tolerance).delta)
    }
}
