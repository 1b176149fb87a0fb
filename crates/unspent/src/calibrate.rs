//! How much noise could go: the smallest variances that still meet (ε, δ).
//!
//! A guarantee needs the *certified upper* δ at or below the target; a witness right below, whose
//! certified lower δ is above it, shows that nothing was left on the table. At fixed ε, δ is not
//! monotone in σ² when σ² is small (at σ² = 0.2 the likely losses are 2.5 and 7.5; more noise moves
//! mass across ε = 3). So the stretch above the answer is scanned, up to where zCDP proves that
//! every larger scale satisfies (F7), and what the scan saw is part of the answer.

use crate::composition::{Composition, Group};
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::number::float;
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::profile::{Point, log_gaussian_delta};
use crate::quantity::{Delta, Epsilon, Rho};
use crate::stop;

/// A promise: (ε, δ).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// ε.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
}

impl Target {
    /// Whether bounds of δ at its ε prove that it is met.
    pub(crate) fn is_met_by(&self, delta: &Bounds<Magnitude>) -> bool {
        self.verdict(delta) == Verdict::Meets
    }

    /// What bounds of δ at its ε prove.
    fn verdict(&self, delta: &Bounds<Magnitude>) -> Verdict {
        let (low, high) = self.delta.value().to_magnitude_bounds();
        if delta.upper() <= low {
            Verdict::Meets
        } else if delta.lower() > high {
            Verdict::Misses
        } else {
            Verdict::Undecided
        }
    }
}

/// The smallest noise found to meet a target.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Certified to meet the target: the common factor of all σ², or the one σ².
    pub satisfying: Rational,
    /// Just below it and certified to miss the target; `None` if the smallest noise that is
    /// allowed meets it already.
    pub failing: Option<Rational>,
    /// Whether what was scanned is consistent with "more noise never hurts".
    pub shape: Shape,
}

/// What the satisfying set looks like around the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// No scan was made: none was asked for, or every σ² is at least 3 and there are at least two
    /// mechanisms to every unit of ε, so that no single loss dominates δ. Stretches on which δ rises with
    /// the noise have not been seen there; that is measured, not proved.
    NotScanned,
    /// Scanned at this many points up to where every scale is proved to satisfy: none failed
    /// above the answer, none satisfied below it. A scan is not a proof for what lies between.
    Scanned(usize),
    /// Not an interval: smaller values satisfy too (certified), with failing ones in between.
    /// `satisfying` is where the last stretch begins, above which no failure was seen.
    Islands(Vec<Rational>),
}

/// Points of the scan, spread evenly in the logarithm.
const SCAN: usize = 96;
/// σ² below which rises of δ with the noise have been seen.
const SCAN_BELOW: f64 = 3.0;
/// Significant digits of every value that is tried: the answer is a decimal that can be written down.
const DIGITS: usize = 12;
/// Relative distance at which the answer and its witness are near enough.
const GAP: f64 = 1e-11;
/// Relative length of the shortest step from a guess to the other side of the answer, and what each
/// further step is longer by.
const FIRST_STEP: f64 = 1e-9;
const LONGER: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Meets,
    Misses,
    Undecided,
}

impl Composition {
    /// Whether δ at the target's ε is certified to be at most the target's δ.
    pub fn meets(&self, target: &Target) -> Result<bool> {
        Ok(target.is_met_by(&self.delta(&target.epsilon)?))
    }

    /// The smallest common factor of all σ² that meets the target.
    ///
    /// ```
    /// use unspent::{Composition, DiscreteGaussian, Epsilon, Delta, calibrate::Target};
    /// let release = Composition::new([(DiscreteGaussian::parse("5", "1")?, 10)])?;
    /// let target = Target { epsilon: Epsilon::parse("11.07")?, delta: Delta::parse("1e-11")? };
    /// let least = release.smallest_scale(&target)?;
    /// assert!((least.satisfying.to_f64() - 0.849).abs() < 0.001);
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn smallest_scale(&self, target: &Target) -> Result<Calibration> {
        self.over_scales(target, |search, start| search.run(start))
    }

    /// A common factor of all σ² that meets the target, with one right below that misses it.
    ///
    /// Unlike [`smallest_scale`](Composition::smallest_scale) it does not look for other such places, which
    /// may exist where single losses dominate δ, and takes a fraction of the time.
    pub fn scale_meeting(&self, target: &Target) -> Result<Calibration> {
        self.over_scales(target, |search, start| {
            let (low, high) = search.bracket(start)?;
            Ok(Calibration { satisfying: exact(high), failing: low.map(exact), shape: Shape::NotScanned })
        })
    }

    fn over_scales(
        &self,
        target: &Target,
        find: impl Fn(&Search<'_>, f64) -> Result<Calibration>,
    ) -> Result<Calibration> {
        let sigmas: Vec<f64> = self.groups().iter().map(sigma2_of).collect::<Result<_>>()?;
        let (least, most) = range(&sigmas);
        let mu2 = gaussian_mu2(target);
        let search = Search {
            target,
            build: &|factor| self.with_sigma2(|_, sigma2| sigma2 * factor),
            least,
            most,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            smallest_sigma2: &|factor| least_of(&sigmas) * factor,
            slope: gaussian_slope(target, mu2),
        };
        let deviation = self.accountant().scale().1;
        find(&search, deviation * deviation / mu2)
    }

    /// The smallest σ² of the group of that index, all others as they are, that meets the target.
    pub fn smallest_sigma2(&self, group: usize, target: &Target) -> Result<Calibration> {
        let Some(chosen) = self.groups().get(group) else {
            return Err(Error::input(
                "group",
                group,
                format!("an index below {}", self.groups().len()),
                "groups are counted from 0 in the order they were given",
            ));
        };
        let others = self.groups().iter().enumerate().filter(|(i, _)| *i != group);
        let others: Vec<f64> = others.map(|(_, g)| sigma2_of(g)).collect::<Result<_>>()?;
        let search = Search {
            target,
            build: &|value| {
                self.with_sigma2(|i, sigma2| if i == group { value.clone() } else { sigma2.clone() })
            },
            least: 1e-3,
            most: 1e12,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            smallest_sigma2: &|value| value.min(least_of(&others)),
            slope: gaussian_slope(target, gaussian_mu2(target)),
        };
        search.run(sigma2_of(chosen)?)
    }

    /// The same groups with other variances.
    pub fn with_sigma2(&self, sigma2: impl Fn(usize, &Rational) -> Rational) -> Result<Composition> {
        let groups: Result<Vec<(Mechanism, u64)>> = self
            .groups()
            .iter()
            .enumerate()
            .map(|(i, Group { mechanism, count })| {
                let old = mechanism.sigma2().ok_or_else(|| mechanism.refuses("variance to change"))?;
                Ok((mechanism.with_sigma2(sigma2(i, old))?, *count))
            })
            .collect();
        let made = Composition::with_effort(groups?, self.effort())?;
        Ok(match self.demanded_tolerance() {
            Some(tolerance) => made.with_tolerance(tolerance)?,
            None => made,
        })
    }
}

fn sigma2_of(group: &Group) -> Result<f64> {
    let sigma2 = group.mechanism.sigma2().ok_or_else(|| group.mechanism.refuses("variance to change"))?;
    Ok(sigma2.to_f64())
}

/// About the largest μ² of continuous Gaussian noise that meets the target: with many mechanisms the
/// loss is nearly Gaussian, and this nearly the answer.
fn gaussian_mu2(target: &Target) -> f64 {
    let epsilon = target.epsilon.value().to_f64().max(1e-12);
    let wanted = target.delta.value().to_magnitude_bounds().0.ln(Round::Down);
    let (mut low, mut high) = (-30.0, 30.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let mu = float::exp(0.5 * middle);
        // Five deviations below the mean loss δ is nearly 1, and μ far too large.
        let meets = epsilon / mu > 0.5 * mu - 5.0 && log_gaussian_delta(mu, epsilon).0 <= wanted;
        if meets { low = middle } else { high = middle }
    }
    float::exp(low)
}

/// About how fast ln δ falls with ln σ² at that μ², were the loss Gaussian.
fn gaussian_slope(target: &Target, mu2: f64) -> f64 {
    let epsilon = target.epsilon.value().to_f64().max(1e-12);
    let at = |mu2: f64| log_gaussian_delta(mu2.sqrt(), epsilon).0;
    let slope = (at(mu2 * 1.001) - at(mu2)) / 0.001;
    if slope.is_finite() { slope.max(0.1) } else { 0.1 }
}

fn least_of(sigmas: &[f64]) -> f64 {
    sigmas.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Factors that keep every σ² inside what is allowed.
fn range(sigmas: &[f64]) -> (f64, f64) {
    let least = sigmas.iter().map(|s| 1e-3 / s).fold(0.0, f64::max);
    let most = sigmas.iter().map(|s| 1e12 / s).fold(f64::INFINITY, f64::min);
    // A little inside, as decimals that can be tried: rounding to twelve digits moves a value by 5e-12 at
    // most. What is there now is allowed in any case.
    (exact(least * (1.0 + GAP)).to_f64().min(1.0), exact(most * (1.0 - GAP)).to_f64().max(1.0))
}

struct Search<'a> {
    target: &'a Target,
    build: &'a dyn Fn(&Rational) -> Result<Composition>,
    least: f64,
    most: f64,
    /// The smallest σ² at a value: says when a scan is due.
    smallest_sigma2: &'a dyn Fn(f64) -> f64,
    /// About how fast ln δ falls with ln value.
    slope: f64,
    /// How many there are; with few, single losses dominate δ, and it rises as they pass ε.
    mechanisms: f64,
}

impl Search<'_> {
    /// δ at the target's ε.
    fn delta(&self, value: f64) -> Result<Bounds<Magnitude>> {
        stop::check();
        let composition = (self.build)(&exact(value))?;
        let point = Point::new(self.target.epsilon.value().clone());
        Ok(composition.accountant().delta(&point, composition.aim()).delta)
    }

    /// The verdict at a value, and ln δ(ε) − ln δ, roughly.
    fn at(&self, value: f64) -> Result<(Verdict, f64)> {
        let found = self.delta(value)?;
        let wanted = self.target.delta.value().to_magnitude_bounds().0;
        let distance = found.upper().ln(Round::Up) - wanted.ln(Round::Down);
        Ok((self.target.verdict(&found), distance))
    }

    fn run(&self, start: f64) -> Result<Calibration> {
        match self.bracket(start)? {
            (Some(low), high) => self.scan(low, high),
            (None, high) => {
                Ok(Calibration { satisfying: exact(high), failing: None, shape: Shape::NotScanned })
            }
        }
    }

    /// A value that meets the target and, unless it is the smallest allowed, one right below that misses it.
    fn bracket(&self, start: f64) -> Result<(Option<f64>, f64)> {
        let mut value = exact(start.clamp(self.least, self.most)).to_f64();
        // `low` misses, `high` meets; both with ln δ(ε) − ln δ.
        let (mut low, mut high) = (None, None);
        let mut step = FIRST_STEP / LONGER;
        let mut undecided = 0;
        loop {
            let (verdict, distance) = self.at(value)?;
            match verdict {
                Verdict::Meets => high = Some((value, distance)),
                Verdict::Misses => low = Some((value, distance)),
                // Its bounds straddle the target: step aside, further each time.
                Verdict::Undecided => {
                    undecided += 1;
                    if undecided > 30 {
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
            if high.is_none() && value >= self.most {
                return Err(Error::not_certified(
                    "no variance up to 1e12 meets the target",
                    "ask for a larger epsilon or delta",
                ));
            }
            if let (None, Some((high, _)), true) = (low, high, value <= self.least) {
                return Ok((None, high));
            }
            // Half as far again as the Gaussian's slope says, so as to come out on the other side.
            step = (step * LONGER).max(1.5 * (distance / self.slope).abs()).min(3.0);
            let next = if high.is_none() { value * (1.0 + step) } else { value / (1.0 + step) };
            value = exact(next.clamp(self.least, self.most)).to_f64();
        }
    }

    /// Narrows a bracket by the secant rule on ln δ against ln value, halving where that is slow.
    fn narrow(&self, low: (f64, f64), high: (f64, f64)) -> Result<(f64, f64)> {
        let ((mut low, mut at_low), (mut high, mut at_high)) = (low, high);
        let mut moved = Verdict::Undecided;
        for round in 0..200 {
            if high / low - 1.0 <= GAP {
                break;
            }
            let share = at_low / (at_low - at_high);
            let share = if round % 6 == 5 || !share.is_finite() { 0.5 } else { share.clamp(1e-3, 0.999) };
            let middle = exact(low * float::exp(share * float::ln(high / low))).to_f64();
            if middle <= low || middle >= high {
                break;
            }
            let (verdict, distance) = self.at(middle)?;
            // An end that stays put twice counts half (the Illinois rule), so that it will move next.
            let weight = if verdict == moved { 0.5 } else { 1.0 };
            moved = verdict;
            match verdict {
                Verdict::Meets => (high, at_high, at_low) = (middle, distance, weight * at_low),
                Verdict::Misses => (low, at_low, at_high) = (middle, distance, weight * at_high),
                // The bounds of δ straddle the target here: step out of where they do, on both sides.
                Verdict::Undecided => return self.around(middle, low, high),
            }
        }
        Ok((low, high))
    }

    /// The nearest values around one that is undecided for which there is a verdict.
    fn around(&self, middle: f64, low: f64, high: f64) -> Result<(f64, f64)> {
        let width = self.delta(middle)?.relative_width();
        let side = |end: f64, verdict: Verdict| -> Result<f64> {
            let mut step = (1.2 * width / self.slope).max(GAP);
            loop {
                let nearer =
                    exact(if end > middle { middle * (1.0 + step) } else { middle / (1.0 + step) }).to_f64();
                if (nearer - middle).abs() >= (end - middle).abs() {
                    return Ok(end);
                }
                if self.at(nearer)?.0 == verdict {
                    return Ok(nearer);
                }
                step *= 2.0;
            }
        };
        Ok((side(low, Verdict::Misses)?, side(high, Verdict::Meets)?))
    }

    /// Looks for failures above the bracket and for satisfying values below it.
    fn scan(&self, low: f64, high: f64) -> Result<Calibration> {
        let crowded = self.mechanisms >= 2.0 * self.target.epsilon.value().to_f64();
        if (self.smallest_sigma2)(high) >= SCAN_BELOW && crowded {
            return Ok(calibration(low, high, Shape::NotScanned));
        }
        // Above `top` zCDP proves the target for every value; it falls with the noise.
        let mut top = high;
        while top < self.most && !self.is_proved_by_zcdp(top)? {
            top = (top * 1.5).min(self.most);
        }
        let bottom = (low / 8.0).max(self.least);
        let step = float::ln(top / bottom) / SCAN as f64;
        let mut last_failure = low;
        let mut islands = vec![];
        let mut next_success = high;
        for i in 0..=SCAN {
            let value = (bottom * float::exp(step * i as f64)).clamp(self.least, self.most);
            match self.at(value)?.0 {
                Verdict::Misses if value > last_failure => last_failure = value,
                Verdict::Meets if value < low => islands.push(value),
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
            let mut value = last_failure;
            while self.at(value)?.0 != Verdict::Meets {
                if value >= top {
                    return Err(Error::not_certified(
                        "no value above the last failure is certified to meet the target",
                        "ask for a less extreme target",
                    ));
                }
                value = (value * float::exp(step)).min(top);
            }
            let with_distance = |value| Ok::<_, Error>((value, self.at(value)?.1));
            (low, next_success) = self.narrow(with_distance(last_failure)?, with_distance(value)?)?;
        }
        let islands = islands.into_iter().filter(|v| *v < low).map(exact).collect();
        Ok(calibration(low, next_success, Shape::Islands(islands)))
    }

    fn is_proved_by_zcdp(&self, value: f64) -> Result<bool> {
        // From above: what that proves the truth does.
        let rho = Rho::new((self.build)(&exact(value))?.known_rho()?.upper())?;
        let proved = rho.delta_canonne_kamath_steinke(&self.target.epsilon);
        Ok(self.target.is_met_by(&Bounds::new(Magnitude::ZERO, proved)))
    }
}

/// The decimal of [`DIGITS`] digits nearest to a value.
fn exact(value: f64) -> Rational {
    format!("{value:.*e}", DIGITS - 1).parse().expect("a finite value")
}

fn calibration(low: f64, high: f64, shape: Shape) -> Calibration {
    Calibration { satisfying: exact(high), failing: Some(exact(low)), shape }
}

#[cfg(test)]
mod tests;
