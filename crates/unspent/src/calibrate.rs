//! How much noise could go: the smallest variances that still meet (ε, δ).
//!
//! A guarantee needs the *certified upper* δ at or below the target; a witness right below, whose
//! certified lower δ is above it, shows that nothing was left on the table. At fixed ε, δ is not
//! monotone in σ² when σ² is small (at σ² = 0.2 the likely losses are 2.5 and 7.5; more noise moves
//! mass across ε = 3). So the stretch above the answer is scanned, up to where zCDP proves that
//! every larger scale satisfies (F7), and what the scan saw is part of the answer.

mod search;
mod solve;

use search::{Axis, GAP, Order, Search};
pub use solve::{Next, Solution, solve};

use crate::composition::{Composition, Group};
use crate::error::{Error, Result};
use crate::mechanism::{Base, Mechanism, ZeroConcentratedDp};
use crate::number::float;
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::profile::{Half, Method, Point, log_gaussian_delta};
use crate::quantity::{Delta, Epsilon};

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
    /// More privacy on one side of the answer is proved (`theory/mechanisms.md`, M10): every value there
    /// meets the target, and every value beyond the failing one misses it.
    Monotone,
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

    /// Whether it meets the target by so much that a rough bound proves it. How much is guessed from the
    /// Gaussian with the same ρ, and says how rough the bound may be: coarse smoothing has a short sieve.
    pub(crate) fn plainly_meets(&self, target: &Target) -> bool {
        const LEAST: f64 = 1e-4;
        const ROUGHEST: f64 = 0.5;
        let Some(mu2) = self.accountant().mu2() else { return false };
        let epsilon = target.epsilon.value().to_f64();
        let (wanted, _) = target.delta.value().to_magnitude_bounds();
        let margin = wanted.ln(Round::Down) - log_gaussian_delta(mu2.sqrt(), epsilon).0;
        if margin.is_nan() || margin <= LEAST {
            return false;
        }
        let at = Point::new(target.epsilon.value().clone());
        self.accountant().delta(&at, (0.25 * margin).min(ROUGHEST)).delta.upper() <= wanted
    }

    /// Half of it at the target's ε, if all its counts are even.
    pub(crate) fn half(&self, target: &Target) -> Option<Half> {
        self.accountant().half(&Point::new(target.epsilon.value().clone()), self.aim())
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
        self.over_scales(self.groups().len(), target, |search, start| search.run(start))
    }

    /// A common factor of all σ² that meets the target, with one right below that misses it.
    ///
    /// Unlike [`smallest_scale`](Composition::smallest_scale) it does not look for other such places, which
    /// may exist where single losses dominate δ, and takes a fraction of the time.
    pub fn scale_meeting(&self, target: &Target) -> Result<Calibration> {
        self.scale_of_first_meeting(self.groups().len(), target)
    }

    /// The same for the first groups alone; the others stay as they are.
    pub(crate) fn scale_of_first_meeting(&self, scaled: usize, target: &Target) -> Result<Calibration> {
        self.over_scales(scaled, target, |search, start| {
            let (low, high) = search.bracket(start)?;
            // Where only upper ends are known nothing is certified to miss.
            let failing = low.filter(|_| !search.one_sided).map(|low| search.axis.exact(low));
            let satisfying = search.axis.exact(high);
            Ok(Calibration { satisfying, failing, shape: Shape::NotScanned })
        })
    }

    fn over_scales(
        &self,
        scaled: usize,
        target: &Target,
        find: impl Fn(&Search<'_>, f64) -> Result<Calibration>,
    ) -> Result<Calibration> {
        let sigmas: Vec<f64> = self.groups()[..scaled].iter().map(sigma2_of).collect::<Result<_>>()?;
        let (least, most) = range(&sigmas);
        let mu2 = gaussian_mu2(target);
        let search = Search {
            target,
            build: &|factor| self.with_sigma2_of_first(scaled, |_, sigma2| sigma2 * factor),
            axis: Axis::NOISE,
            least,
            most,
            never: NEVER.into(),
            one_sided: self.method() == Method::OneSided,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            order: Order::Scanned {
                smallest_sigma2: &|factor| least_of(&sigmas) * factor,
                proved: &|factor| {
                    let made = self.with_sigma2_of_first(scaled, |_, sigma2| sigma2 * factor)?;
                    made.is_proved_by_zcdp(target, |group| group < scaled)
                },
            },
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
        let build = |value: &Rational| {
            self.with_sigma2(|i, sigma2| if i == group { value.clone() } else { sigma2.clone() })
        };
        let search = Search {
            target,
            build: &build,
            axis: Axis::NOISE,
            least: 1e-3,
            most: 1e12,
            never: NEVER.into(),
            one_sided: false,
            mechanisms: self.groups().iter().map(|g| g.count as f64).sum(),
            order: Order::Scanned {
                smallest_sigma2: &|value| value.min(least_of(&others)),
                proved: &|value| build(value)?.is_proved_by_zcdp(target, |_| true),
            },
            slope: gaussian_slope(target, gaussian_mu2(target)),
        };
        search.run(sigma2_of(chosen)?)
    }

    /// The same groups with other variances.
    pub fn with_sigma2(&self, sigma2: impl Fn(usize, &Rational) -> Rational) -> Result<Composition> {
        self.with_sigma2_of_first(self.groups().len(), sigma2)
    }

    /// The same of the first groups alone; the others stay as they are.
    fn with_sigma2_of_first(
        &self,
        scaled: usize,
        sigma2: impl Fn(usize, &Rational) -> Rational,
    ) -> Result<Composition> {
        let groups: Result<Vec<(Mechanism, u64)>> = self
            .groups()
            .iter()
            .enumerate()
            .map(|(i, Group { mechanism, count })| {
                if i >= scaled {
                    return Ok((mechanism.clone(), *count));
                }
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

impl Composition {
    /// Whether the target is met whatever is known of the Gaussian noise of these groups besides its ρ, which
    /// falls as σ² grows: then every larger σ² meets it, too (M9).
    fn is_proved_by_zcdp(&self, target: &Target, replaced: impl Fn(usize) -> bool) -> Result<bool> {
        let mut groups: Vec<(Mechanism, u64)> = vec![];
        for (i, Group { mechanism, count }) in self.groups().iter().enumerate() {
            // A sample of the records reveals no more than all of them (M10).
            let whole = match mechanism {
                Mechanism::Subsampled(sampled) => match sampled.base() {
                    Base::DiscreteGaussian(_) | Base::Gaussian(_) => sampled.base().clone().into(),
                    _ => mechanism.clone(),
                },
                mechanism => mechanism.clone(),
            };
            match whole.rho(*count).filter(|_| replaced(i)).map(ZeroConcentratedDp::new) {
                Some(Ok(event)) => groups.push((event.into(), 1)),
                // So large a budget proves nothing.
                Some(Err(_)) => return Ok(false),
                None => groups.push((mechanism.clone(), *count)),
            }
        }
        let mut known = Composition::with_effort(groups, self.effort())?;
        if self.direction() != known.direction() {
            known = known.in_direction(self.direction())?;
        }
        Ok(target.is_met_by(&known.delta(&target.epsilon)?))
    }
}

const NEVER: &str = "no variance up to 1e12 meets the target";

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
    let near = |value: f64| Axis::NOISE.exact(value).to_f64();
    (near(least * (1.0 + GAP)).min(1.0), near(most * (1.0 - GAP)).max(1.0))
}

/// The least common factor with which all these variances are still accounted for; never above 1.
pub(crate) fn least_factor(sigmas: &[f64]) -> Rational {
    Axis::NOISE.exact(range(sigmas).0)
}

#[cfg(test)]
mod tests;
