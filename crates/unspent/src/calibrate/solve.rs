//! One parameter of one mechanism, found for (ε, δ) while everything else stays.
//!
//! What is certified is δ at the value that is found and at the one beside it. That no value beyond is enough
//! is another matter: it is proved where δ is monotone in the parameter (`theory/mechanisms.md`, M10).

use super::search::{Axis, Order, Search};
use super::{Shape, Target, Verdict, gaussian_mu2, gaussian_slope};
use crate::composition::Composition;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::mechanism::{Described, Open};
use crate::number::{Bounds, Magnitude, Rational};
use crate::profile::Direction;

/// The value of a parameter that keeps a promise.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Certified to meet the target.
    pub value: Rational,
    /// δ at the target's ε with it.
    pub delta: Bounds<Magnitude>,
    /// The nearest value that was tried on the less private side; `None` if there is none in its range.
    pub next: Option<Next>,
    /// What is known of all other values.
    pub shape: Shape,
    /// The mechanism with the value.
    pub found: Described,
    /// Everything, with the value.
    pub composition: Composition,
}

/// The value beside the one that was found.
#[derive(Clone, Debug)]
pub struct Next {
    /// The value.
    pub value: Rational,
    /// δ at the target's ε with it.
    pub delta: Bounds<Magnitude>,
    /// Whether it is certified to miss the target. Otherwise it is only not certified to meet it: of some
    /// mechanism no lower bound is known.
    pub fails: bool,
}

/// The least private value of the open parameter that meets the target, all other mechanisms as they are.
///
/// ```
/// use unspent::calibrate::{Target, solve};
/// use unspent::mechanism::{Described, Entry};
/// use unspent::{Delta, Direction, Effort, Epsilon};
/// let Entry::Open(laplace) = Entry::parse("laplace:b=?,count=10")? else { panic!() };
/// let rest = [Described::parse("gaussian:sigma=4")?];
/// let target = Target { epsilon: Epsilon::parse("2")?, delta: Delta::parse("1e-6")? };
/// let found = solve(&rest, &laplace, &target, Direction::Both, Effort::Normal)?;
/// let next = found.next.unwrap();
/// assert!(next.fails && next.value < found.value);
/// assert!(found.delta.upper() <= next.delta.lower());
/// # Ok::<(), unspent::Error>(())
/// ```
pub fn solve(
    rest: &[Described],
    open: &Open,
    target: &Target,
    direction: Direction,
    effort: Effort,
) -> Result<Solution> {
    let composed = |more: Option<Described>| -> Result<Composition> {
        let groups = more.iter().chain(rest).map(|d| (d.mechanism.clone(), d.count));
        let made = Composition::with_effort(groups, effort)?;
        if direction == Direction::Both { Ok(made) } else { made.in_direction(direction) }
    };
    if !rest.is_empty() {
        check_rest(&composed(None)?, open, target)?;
    }
    let build = |value: &Rational| composed(Some(open.with(value)?));
    let sought = open.sought();
    let axis = Axis { whole: sought.whole, rising: sought.rising };
    let (low, high) = sought.range;
    let (least, most) = if sought.rising { (low, high) } else { (1.0 / high, 1.0 / low) };
    let private = if sought.rising { high } else { low };
    let is_event = |d: &Described| d.mechanism.is_one_sided();
    let one_sided = open.kind() == "zcdp" || rest.iter().any(is_event);
    // What grows with the square of a parameter, or with itself.
    let squared = sought.rising && open.parameter() != "sigma2";
    let variance = |place: f64| if squared { place * place } else { place };
    let noise = open.kind().ends_with("discrete_gaussian") && sought.rising;
    let proved = |value: &Rational| build(value)?.is_proved_by_zcdp(target, |group| group == 0);
    let slope = gaussian_slope(target, gaussian_mu2(target));
    let search = Search {
        target,
        build: &build,
        axis,
        least,
        most,
        never: format!(
            "{}: not even {} = {private:e} meets the target, the most private value that is looked at",
            open.kind(),
            open.parameter()
        ),
        one_sided,
        order: match (sought.monotone, noise && open.kind() != "truncated_discrete_gaussian") {
            (true, _) => Order::Proved,
            (false, true) => Order::Scanned { smallest_sigma2: &variance, proved: &proved },
            (false, false) => Order::Unknown,
        },
        slope: if squared { 2.0 * slope } else { slope },
        mechanisms: open.with(&axis.exact(most))?.count as f64,
    };
    let found = search.run(axis.place(start(open, target)?))?;
    let at = |value: &Rational| -> Result<(Composition, Bounds<Magnitude>)> {
        let made = build(value)?;
        let delta = made.delta(&target.epsilon)?;
        Ok((made, delta))
    };
    let (composition, delta) = at(&found.satisfying)?;
    // The search asked the same, and the same was answered.
    if !target.is_met_by(&delta) {
        let hint = "ask for a less extreme target";
        return Err(Error::not_certified("no value could be certified to meet the target", hint));
    }
    let next = match found.failing {
        None => None,
        Some(value) => {
            let delta = at(&value)?.1;
            Some(Next { fails: target.verdict(&delta) == Verdict::Misses, value, delta })
        }
    };
    let described = open.with(&found.satisfying)?;
    Ok(Solution { value: found.satisfying, delta, next, shape: found.shape, found: described, composition })
}

/// Where to begin: near the answer for Gaussian noise of the same variance, were it alone.
fn start(open: &Open, target: &Target) -> Result<f64> {
    let sought = open.sought();
    let mu = gaussian_mu2(target).sqrt();
    let middle = if sought.whole { sought.range.0 } else { 1.0f64.clamp(sought.range.0, sought.range.1) };
    let sample = open.with(&Axis { whole: sought.whole, rising: true }.exact(middle))?;
    let root = (sample.count as f64).sqrt();
    let shift = sample.mechanism.shift().map_or(1.0, |shift| shift.to_f64());
    Ok(match open.parameter() {
        "sigma2" => (root * shift / mu).powi(2),
        "sigma" => root * shift / mu,
        // Of Laplace noise, whose deviation is √2 times its scale, or of Gaussian noise.
        "scale" | "b" => root * shift / mu,
        "epsilon" | "mu" => mu / root,
        "rho" => 0.5 * mu * mu / sample.count as f64,
        _ => middle,
    })
}

/// Refuses what the other mechanisms make impossible.
fn check_rest(rest: &Composition, open: &Open, target: &Target) -> Result<()> {
    let found = rest.delta(&target.epsilon)?;
    if target.verdict(&found) == Verdict::Meets {
        return Ok(());
    }
    let (epsilon, delta) = (target.epsilon.value().to_short(), target.delta.value().to_short());
    let known = if target.verdict(&found) == Verdict::Misses {
        "exceed the target"
    } else {
        "are not certified to meet the target"
    };
    let theirs = match rest.epsilon(&target.delta) {
        Ok(theirs) => {
            format!("their epsilon at delta {delta} is between {} and {}", theirs.lower(), theirs.upper())
        }
        Err(error) => error.to_string(),
    };
    Err(Error::not_certified(
        format!(
            "the other mechanisms alone {known}: {theirs}; no {} of {} keeps epsilon {epsilon}",
            open.parameter(),
            open.kind()
        ),
        "ask for a larger epsilon or delta, or put more noise on the others",
    ))
}
