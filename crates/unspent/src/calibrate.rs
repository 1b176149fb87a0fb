//! How much noise could go: the smallest variances that still meet (ε, δ).
//!
//! A guarantee needs the *certified upper* δ at or below the target; a witness right below, whose
//! certified lower δ is above it, shows that nothing was left on the table. At fixed ε, δ is not
//! monotone in σ² when σ² is small (at σ² = 0.2 the likely losses are 2.5 and 7.5; more noise moves
//! mass across ε = 3). So the stretch above the answer is scanned, up to where zCDP proves that
//! every larger scale satisfies (F7), and what the scan saw is part of the answer.

use crate::bounds::Round;
use crate::composition::{Composition, Delta, Epsilon, Group};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::float;
use crate::mechanism::Mechanism;
use crate::profile::Point;
use crate::zcdp::Rho;

/// A promise: (ε, δ).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// ε.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
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
    /// No scan was made: every σ² is at least 3, and there are at least two mechanisms to every
    /// unit of ε, so that no single loss dominates δ. Stretches on which δ rises with the noise
    /// have not been seen there; that is measured, not proved.
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
/// Relative distance at which the answer and its witness are near enough.
const GAP: f64 = 1e-12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Meets,
    Misses,
    Undecided,
}

impl Composition {
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
        let sigmas: Vec<f64> = self.groups().iter().map(|g| g.mechanism.sigma2().to_f64()).collect();
        let (least, most) = range(&sigmas);
        let search = Search {
            target,
            build: &|factor| self.with_sigma2(|_, sigma2| sigma2 * factor),
            least,
            most,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            smallest_sigma2: &|factor| least_of(&sigmas) * factor,
        };
        search.run(1.0)
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
        let others: Vec<f64> = others.map(|(_, g)| g.mechanism.sigma2().to_f64()).collect();
        let search = Search {
            target,
            build: &|value| {
                self.with_sigma2(|i, sigma2| if i == group { value.clone() } else { sigma2.clone() })
            },
            least: 1e-3,
            most: 1e12,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            smallest_sigma2: &|value| value.min(least_of(&others)),
        };
        search.run(chosen.mechanism.sigma2().to_f64())
    }

    /// The same groups with other variances.
    pub fn with_sigma2(&self, sigma2: impl Fn(usize, &Rational) -> Rational) -> Result<Composition> {
        let groups: Result<Vec<(Mechanism, u64)>> = self
            .groups()
            .iter()
            .enumerate()
            .map(|(i, Group { mechanism, count })| {
                Ok((mechanism.with_sigma2(sigma2(i, mechanism.sigma2()))?, *count))
            })
            .collect();
        let made = Composition::new(groups?)?;
        Ok(match self.demanded_tolerance() {
            Some(tolerance) => made.with_tolerance(tolerance)?,
            None => made,
        })
    }
}

fn least_of(sigmas: &[f64]) -> f64 {
    sigmas.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Factors that keep every σ² inside what is allowed.
fn range(sigmas: &[f64]) -> (f64, f64) {
    let least = sigmas.iter().map(|s| 1e-3 / s).fold(0.0, f64::max);
    let most = sigmas.iter().map(|s| 1e12 / s).fold(f64::INFINITY, f64::min);
    (least * (1.0 + 1e-12), most * (1.0 - 1e-12))
}

struct Search<'a> {
    target: &'a Target,
    build: &'a dyn Fn(&Rational) -> Result<Composition>,
    least: f64,
    most: f64,
    /// The smallest σ² at a value: says when a scan is due.
    smallest_sigma2: &'a dyn Fn(f64) -> f64,
    /// How many there are; with few, single losses dominate δ, and it rises as they pass ε.
    mechanisms: f64,
}

impl Search<'_> {
    /// The verdict at a value, and ln δ(ε) − ln δ, roughly.
    fn at(&self, value: f64) -> Result<(Verdict, f64)> {
        let composition = (self.build)(&exact(value))?;
        let found = composition
            .accountant()
            .delta(&Point::new(self.target.epsilon.value().clone()), composition.aim());
        let (low, high) = self.target.delta.value().to_magnitude_bounds();
        let verdict = if found.delta.upper() <= low {
            Verdict::Meets
        } else if found.delta.lower() > high {
            Verdict::Misses
        } else {
            Verdict::Undecided
        };
        Ok((verdict, found.delta.upper().ln(Round::Up) - low.ln(Round::Down)))
    }

    fn run(&self, start: f64) -> Result<Calibration> {
        let start = start.clamp(self.least, self.most);
        // A bracket: `low` misses, `high` meets.
        let (mut low, mut high) = (None, None);
        let mut value = start;
        let mut undecided = 0;
        while low.is_none() || high.is_none() {
            match self.at(value)?.0 {
                Verdict::Meets => high = Some(value),
                Verdict::Misses => low = Some(value),
                Verdict::Undecided => {
                    // Its bounds straddle the target: step aside, further each time.
                    undecided += 1;
                    if undecided > 30 {
                        return Err(Error::unreachable(
                            "the certified bounds of delta are too wide to tell whether the target is met",
                            "ask for a less extreme target, or for a tolerance",
                        ));
                    }
                    value = (value * (1.0 + 1e-9 * 2f64.powi(undecided))).min(self.most);
                    continue;
                }
            }
            let next = if high.is_none() { value * 4.0 } else { value / 4.0 };
            if low.is_some() && high.is_some() {
                break;
            }
            if high.is_none() && value >= self.most {
                return Err(Error::unreachable(
                    "no variance up to 1e12 meets the target",
                    "ask for a larger epsilon or delta",
                ));
            }
            if low.is_none() && value <= self.least {
                return Ok(Calibration { satisfying: exact(value), failing: None, shape: Shape::NotScanned });
            }
            value = next.clamp(self.least, self.most);
        }
        let (low, high) = self.narrow(low.expect("set"), high.expect("set"))?;
        self.scan(low, high)
    }

    /// Narrows a bracket by the secant rule on ln δ against ln value, halving where that is slow.
    fn narrow(&self, mut low: f64, mut high: f64) -> Result<(f64, f64)> {
        let (mut at_low, mut at_high) = (self.at(low)?.1, self.at(high)?.1);
        let mut stuck = 0;
        for round in 0..200 {
            if high / low - 1.0 <= GAP || stuck >= 6 {
                break;
            }
            let share = at_low / (at_low - at_high);
            let share = if round % 3 == 2 || !share.is_finite() { 0.5 } else { share.clamp(0.01, 0.99) };
            let middle = low * float::exp(share * float::ln(high / low));
            if middle <= low || middle >= high {
                break;
            }
            match self.at(middle)? {
                (Verdict::Meets, x) => (high, at_high, stuck) = (middle, x, 0),
                (Verdict::Misses, x) => (low, at_low, stuck) = (middle, x, 0),
                (Verdict::Undecided, _) => {
                    // The bounds of δ straddle the target here: close in from both sides.
                    stuck += 1;
                    for (end, verdict) in [(&mut high, Verdict::Meets), (&mut low, Verdict::Misses)] {
                        let nearer = middle * float::exp(0.5 * float::ln(*end / middle));
                        if self.at(nearer)?.0 == verdict {
                            *end = nearer;
                            stuck = 0;
                        }
                    }
                }
            }
        }
        Ok((low, high))
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
            while value < top && self.at(value)?.0 != Verdict::Meets {
                value = (value * float::exp(step)).min(top);
            }
            (low, next_success) = self.narrow(last_failure, value)?;
        }
        let islands = islands.into_iter().filter(|v| *v < low).map(exact).collect();
        Ok(calibration(low, next_success, Shape::Islands(islands)))
    }

    fn is_proved_by_zcdp(&self, value: f64) -> Result<bool> {
        let rho = Rho::new((self.build)(&exact(value))?.rho())?;
        Ok(rho.delta_canonne_kamath_steinke(&self.target.epsilon)
            <= self.target.delta.value().to_magnitude_bounds().0)
    }
}

fn exact(value: f64) -> Rational {
    Rational::from_f64("scale", value).expect("a finite scale")
}

fn calibration(low: f64, high: f64, shape: Shape) -> Calibration {
    Calibration { satisfying: exact(high), failing: Some(exact(low)), shape }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::DiscreteGaussian;

    fn target(epsilon: &str, delta: &str) -> Target {
        Target { epsilon: Epsilon::parse(epsilon).unwrap(), delta: Delta::parse(delta).unwrap() }
    }

    fn release(groups: &[(&str, u64)]) -> Composition {
        Composition::new(groups.iter().map(|(s, n)| (DiscreteGaussian::parse(s, "1").unwrap(), *n))).unwrap()
    }

    fn check(release: &Composition, found: &Calibration, target: &Target) {
        let delta = |factor: &Rational| {
            release.with_sigma2(|_, s| s * factor).unwrap().delta(&target.epsilon).unwrap()
        };
        assert!(delta(&found.satisfying).upper().to_rational() <= *target.delta.value());
        if let Some(failing) = &found.failing {
            assert!(failing < &found.satisfying);
            assert!(delta(failing).lower().to_rational() > *target.delta.value());
        }
    }

    /// State level of the paper's Table 1: σ² = 50000/10001 against the Bureau's ε at 10⁻¹¹.
    #[test]
    fn paper_table_one_state() {
        let release = release(&[("50000/10001", 10)]);
        let rho = Rho::new(release.rho()).unwrap();
        let delta = Delta::parse("1e-11").unwrap();
        let published = rho.epsilon_bun_steinke(&delta);
        let target =
            Target { epsilon: Epsilon::new(Rational::from_f64("", published).unwrap()).unwrap(), delta };
        let found = release.smallest_scale(&target).unwrap();
        let sigma2 = 50000.0 / 10001.0 * found.satisfying.to_f64();
        assert!((sigma2 - 4.245382).abs() < 1e-6, "{sigma2}");
        assert_eq!(found.shape, Shape::Scanned(SCAN + 1));
        check(&release, &found, &target);
        let gap = found.satisfying.to_f64() / found.failing.unwrap().to_f64() - 1.0;
        assert!(gap < 1e-10, "{gap}");
    }

    #[test]
    fn one_group_with_the_others_fixed() {
        let release = release(&[("5", 10), ("20", 10)]);
        let target = target("12", "1e-10");
        let found = release.smallest_sigma2(1, &target).unwrap();
        let at = |s: &Rational| {
            let made = release.with_sigma2(|i, old| if i == 1 { s.clone() } else { old.clone() });
            made.unwrap().delta(&target.epsilon).unwrap()
        };
        assert!(at(&found.satisfying).upper().to_rational() <= *target.delta.value());
        assert!(at(&found.failing.unwrap()).lower().to_rational() > *target.delta.value());
        assert!(release.smallest_sigma2(2, &target).is_err());
    }

    /// One mechanism at ε = 3: δ grows with σ² over whole stretches between 0.2 and 0.6.
    #[test]
    fn a_set_that_is_no_interval_is_reported() {
        let release = release(&[("1", 1)]);
        let mut seen = false;
        // Around 2.6068e-4 the rise is above σ² = 1: from 1.17 to 1.305.
        for delta in ["2.6068e-4", "0.08", "0.1", "0.12", "0.15", "0.2"] {
            let target = target("3", delta);
            let found = release.smallest_scale(&target).unwrap();
            check(&release, &found, &target);
            assert!(delta.len() < 5 || found.satisfying.to_f64() > 1.305, "{found:?}");
            if let Shape::Islands(islands) = &found.shape {
                seen = true;
                for island in islands {
                    assert!(*island < found.satisfying);
                    let delta =
                        release.with_sigma2(|_, s| s * island).unwrap().delta(&target.epsilon).unwrap();
                    assert!(delta.upper().to_rational() <= *target.delta.value());
                }
            }
        }
        assert!(seen, "a gap exists for some of these targets");
    }

    #[test]
    fn ends_of_the_range_are_answers_or_errors() {
        let easy = release(&[("5", 1)]).smallest_scale(&target("1000", "0.5")).unwrap();
        assert!(easy.failing.is_none() || easy.satisfying.to_f64() < 0.01);
        let error = release(&[("5", 1 << 62)]).smallest_scale(&target("0", "1e-300")).unwrap_err();
        assert!(!error.is_input() && error.to_string().contains("1e12"), "{error}");
    }
}
