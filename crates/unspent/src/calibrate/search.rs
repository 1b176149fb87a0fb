//! The search itself: a value that meets a target beside one that misses it, on a grid of values that can be
//! written down.

use crate::calibrate::{Calibration, Shape, Target, Verdict};
use crate::composition::Composition;
use crate::error::{Error, Result};
use crate::number::float;
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::profile::Point;
use crate::stop;

/// Points of the scan, spread evenly in the logarithm.
pub(super) const SCAN: usize = 96;
/// σ² below which rises of δ with the noise have been seen.
const SCAN_BELOW: f64 = 3.0;
/// Significant digits of every value that is tried: the answer is a decimal that can be written down.
const DIGITS: usize = 12;
/// Relative distance at which the answer and its witness are near enough.
pub(super) const GAP: f64 = 1e-11;
/// Relative distance from which on it is worth many more evaluations to come nearer.
const COARSE: f64 = 1e-4;
/// Relative length of the shortest step from a guess to the other side of the answer, and what each
/// further step is longer by.
const FIRST_STEP: f64 = 1e-9;
const LONGER: f64 = 4.0;

/// Which values of a parameter are tried, and on which side of it the privacy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Whole numbers; otherwise decimals.
    pub whole: bool,
    /// Larger values are more private. The search goes over the value then, and over its inverse otherwise.
    pub rising: bool,
}

impl Axis {
    /// Variances and factors of them.
    pub const NOISE: Axis = Axis { whole: false, rising: true };

    /// The value that is tried at a place of the search.
    pub fn exact(self, place: f64) -> Rational {
        let value = if self.rising { place } else { 1.0 / place };
        if self.whole { decimal(value.round().max(1.0), 17) } else { decimal(value, DIGITS) }
    }

    /// The place of a value.
    pub fn place(self, value: f64) -> f64 {
        if self.rising { value } else { 1.0 / value }
    }

    /// The place of the value that is tried there. The inverse of an inverse is off by two roundings, which
    /// twelve digits do not see.
    fn on_grid(self, place: f64) -> f64 {
        self.place(self.exact(place).to_f64())
    }

    /// A whole number strictly between two places, about halfway.
    fn whole_between(self, low: f64, high: f64) -> Option<f64> {
        let (a, b) = (self.exact(low).to_f64(), self.exact(high).to_f64());
        let middle = (0.5 * (a + b)).floor();
        (self.whole && middle > a.min(b)).then(|| self.place(middle))
    }
}

/// The decimal of so many digits nearest to a value.
pub(super) fn decimal(value: f64, digits: usize) -> Rational {
    format!("{value:.*e}", digits - 1).parse().expect("a finite value")
}

/// Looks for the least private place that meets a target. Places are positive; larger ones are more private.
pub(super) struct Search<'a> {
    pub target: &'a Target,
    pub build: &'a dyn Fn(&Rational) -> Result<Composition>,
    pub axis: Axis,
    /// The least and the most private place that is allowed.
    pub least: f64,
    pub most: f64,
    /// What to say if not even the most private value is enough.
    pub never: String,
    /// Whether only upper ends of δ are known: what is not certified to meet the target then ends the search.
    pub one_sided: bool,
    /// Whether more private values are known to have a smaller δ; otherwise the smallest σ² at a place, which
    /// says when a scan is due, and whether every more private value is proved to meet the target.
    pub order: Order<'a>,
    /// About how fast ln δ falls with the logarithm of the place.
    pub slope: f64,
    /// How many there are; with few, single losses dominate δ, and it rises as they pass ε.
    pub mechanisms: f64,
}

/// What is known of δ along the axis.
pub(super) enum Order<'a> {
    /// δ does not rise (M10).
    Proved,
    /// Nothing, and nothing is looked for.
    Unknown,
    /// It may rise here and there; a scan looks for that.
    Scanned { smallest_sigma2: &'a dyn Fn(f64) -> f64, proved: &'a dyn Fn(&Rational) -> Result<bool> },
}

impl Search<'_> {
    fn exact(&self, place: f64) -> Rational {
        self.axis.exact(place)
    }

    /// δ at the target's ε.
    fn delta(&self, place: f64) -> Result<Bounds<Magnitude>> {
        stop::check();
        let composition = (self.build)(&self.exact(place))?;
        let point = Point::new(self.target.epsilon.value().clone());
        Ok(composition.accountant().delta(&point, composition.aim()).delta)
    }

    /// The verdict at a place, and ln δ(ε) − ln δ, roughly.
    fn at(&self, place: f64) -> Result<(Verdict, f64)> {
        let found = self.delta(place)?;
        let wanted = self.target.delta.value().to_magnitude_bounds().0;
        let distance = found.upper().ln(Round::Up) - wanted.ln(Round::Down);
        Ok(match self.target.verdict(&found) {
            Verdict::Undecided if self.one_sided => (Verdict::Misses, distance),
            verdict => (verdict, distance),
        })
    }

    /// The same; nothing is known where there is no composition.
    fn try_at(&self, place: f64) -> (Verdict, f64) {
        self.at(place).unwrap_or((Verdict::Undecided, f64::INFINITY))
    }

    pub fn run(&self, start: f64) -> Result<Calibration> {
        let (low, high) = self.bracket(start)?;
        let shape = match self.order {
            Order::Proved => Shape::Monotone,
            _ => Shape::NotScanned,
        };
        let found = |low: Option<f64>| Calibration {
            satisfying: self.exact(high),
            failing: low.map(|low| self.exact(low)),
            shape: shape.clone(),
        };
        match (low, &self.order) {
            (Some(low), Order::Scanned { smallest_sigma2, proved }) => {
                let crowded = self.mechanisms >= 2.0 * self.target.epsilon.value().to_f64();
                if smallest_sigma2(high) >= SCAN_BELOW && crowded || self.one_sided {
                    return Ok(found(Some(low)));
                }
                self.scan(low, high, proved)
            }
            (low, _) => Ok(found(low)),
        }
    }

    /// A place that meets the target and, unless it is the least allowed, one right below that misses it.
    pub fn bracket(&self, start: f64) -> Result<(Option<f64>, f64)> {
        let mut place = self.axis.on_grid(start.clamp(self.least, self.most));
        // `low` misses, `high` meets; both with ln δ(ε) − ln δ.
        let (mut low, mut high) = (None, None);
        let mut step = FIRST_STEP / LONGER;
        let mut undecided = 0;
        loop {
            let found = self.at(place);
            let (verdict, distance) = *found.as_ref().unwrap_or(&(Verdict::Undecided, f64::INFINITY));
            match verdict {
                Verdict::Meets => high = Some((place, distance)),
                Verdict::Misses => low = Some((place, distance)),
                // Its bounds straddle the target: step aside, further each time.
                Verdict::Undecided => {
                    undecided += 1;
                    if undecided > 30 {
                        found?;
                        return Err(Error::not_certified(
                            "the certified bounds of delta are too wide to tell whether the target is met",
                            "ask for a less extreme target, or for a tolerance",
                        ));
                    }
                }
            }
            if let (Some(low), Some(high)) = (low, high) {
                let (low, high) = self.narrow(low, high)?;
                return Ok((Some(low), high));
            }
            if high.is_none() && place >= self.most {
                return Err(Error::not_certified(self.never.clone(), "ask for a larger epsilon or delta"));
            }
            if let (None, Some((high, _)), true) = (low, high, place <= self.least) {
                return Ok((None, high));
            }
            // Half as far again as the Gaussian's slope says, so as to come out on the other side.
            step = (step * LONGER).max(1.5 * (distance / self.slope).abs()).min(3.0);
            let next = if high.is_none() { place * (1.0 + step) } else { place / (1.0 + step) };
            place = self.axis.on_grid(next.clamp(self.least, self.most));
        }
    }

    /// Narrows a bracket by the secant rule on ln δ against the logarithm of the place, halving where that is
    /// slow.
    fn narrow(&self, low: (f64, f64), high: (f64, f64)) -> Result<(f64, f64)> {
        let ((mut low, mut at_low), (mut high, mut at_high)) = (low, high);
        let mut moved = Verdict::Undecided;
        for round in 0..200 {
            if high / low - 1.0 <= GAP {
                break;
            }
            let share = at_low / (at_low - at_high);
            // Where δ is 0 or unknown, its logarithm says nothing.
            let known = at_low.is_finite() && at_high.is_finite() && share.is_finite();
            let share = if round % 6 == 5 || !known { 0.5 } else { share.clamp(1e-3, 0.999) };
            let mut middle = self.axis.on_grid(low * float::exp(share * float::ln(high / low)));
            if middle <= low || middle >= high {
                match self.axis.whole_between(low, high) {
                    Some(between) => middle = between,
                    None => break,
                }
            }
            let (verdict, distance) = self.try_at(middle);
            // An end that stays put twice counts half (the Illinois rule), so that it will move next.
            let weight = if verdict == moved { 0.5 } else { 1.0 };
            moved = verdict;
            match verdict {
                Verdict::Meets => (high, at_high, at_low) = (middle, distance, weight * at_low),
                Verdict::Misses => (low, at_low, at_high) = (middle, distance, weight * at_high),
                // The bounds of δ straddle the target here: step out of where they do, on both sides.
                Verdict::Undecided => return Ok(self.around(middle, low, high)),
            }
        }
        Ok((low, high))
    }

    /// The nearest places around one that is undecided for which there is a verdict.
    fn around(&self, middle: f64, low: f64, high: f64) -> (f64, f64) {
        let width = self.delta(middle).map_or(1.0, |delta| delta.relative_width().min(1.0));
        let side = |end: f64, verdict: Verdict| {
            let mut step = (1.2 * width / self.slope).max(GAP);
            loop {
                let nearer = if end > middle { middle * (1.0 + step) } else { middle / (1.0 + step) };
                let nearer = self.axis.on_grid(nearer);
                if (nearer - middle).abs() >= (end - middle).abs() {
                    return end;
                }
                if self.try_at(nearer).0 == verdict {
                    return nearer;
                }
                step *= 2.0;
            }
        };
        let (low, high) = (side(low, Verdict::Misses), side(high, Verdict::Meets));
        if high / low - 1.0 <= COARSE { (low, high) } else { self.halved(low, high) }
    }

    /// Narrows a bracket by halving, where bounds are wide at some places and narrow beside them: first down
    /// to a place that meets the target, then up to one that misses it.
    fn halved(&self, mut low: f64, mut high: f64) -> (f64, f64) {
        for wanted in [Verdict::Meets, Verdict::Misses] {
            let (mut bottom, mut top) = (low, high);
            while top / bottom - 1.0 > GAP {
                let middle = self.axis.on_grid((bottom * top).sqrt());
                if middle <= bottom || middle >= top {
                    break;
                }
                let verdict = self.try_at(middle).0;
                match verdict {
                    Verdict::Meets => high = high.min(middle),
                    Verdict::Misses => low = low.max(middle),
                    Verdict::Undecided => {}
                }
                // What is not decided is on the other side of what is looked for.
                let is_above = match wanted {
                    Verdict::Meets => verdict == Verdict::Meets,
                    _ => verdict != Verdict::Misses,
                };
                if is_above { top = middle } else { bottom = middle }
            }
        }
        (low, high)
    }

    /// Looks for failures above the bracket and for satisfying places below it.
    fn scan(&self, low: f64, high: f64, proved: &dyn Fn(&Rational) -> Result<bool>) -> Result<Calibration> {
        let calibration = |low: f64, high: f64, shape: Shape| Calibration {
            satisfying: self.exact(high),
            failing: Some(self.exact(low)),
            shape,
        };
        // Above `top` zCDP proves the target for every value; it falls with the noise.
        let mut top = high;
        while top < self.most && !proved(&self.exact(top))? {
            top = (top * 1.5).min(self.most);
        }
        let bottom = (low / 8.0).max(self.least);
        let step = float::ln(top / bottom) / SCAN as f64;
        let mut last_failure = low;
        let mut islands = vec![];
        let mut next_success = high;
        for i in 0..=SCAN {
            let place = (bottom * float::exp(step * i as f64)).clamp(self.least, self.most);
            match self.at(place)?.0 {
                Verdict::Misses if place > last_failure => last_failure = place,
                Verdict::Meets if place < low => islands.push(place),
                _ => {}
            }
        }
        if last_failure <= low && islands.is_empty() {
            return Ok(calibration(low, high, Shape::Scanned(SCAN + 1)));
        }
        let mut low = low;
        if last_failure > low {
            // The answer moves up, behind the last failure; what was found becomes an island.
            islands.push(high);
            let mut place = last_failure;
            while self.at(place)?.0 != Verdict::Meets {
                if place >= top {
                    return Err(Error::not_certified(
                        "no value above the last failure is certified to meet the target",
                        "ask for a less extreme target",
                    ));
                }
                place = (place * float::exp(step)).min(top);
            }
            let with_distance = |place| Ok::<_, Error>((place, self.at(place)?.1));
            (low, next_success) = self.narrow(with_distance(last_failure)?, with_distance(place)?)?;
        }
        let islands = islands.into_iter().filter(|v| *v < low).map(|place| self.exact(place)).collect();
        Ok(calibration(low, next_success, Shape::Islands(islands)))
    }
}
