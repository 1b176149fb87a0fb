//! Inversion on a tilted line, with every error accounted for.
//!
//! For an expectation `V` (see [`super::kernel`]) and any `c` in its domain, the trapezoidal rule with
//! spacing `2π/D` in `t` gives, by Poisson summation, not `V(ε)` but exactly
//!
//! ```text
//! Σ_{m∈ℤ} e^{(c−1)mD} V(ε + mD)
//! ```
//!
//! (C3), whose terms are all non-negative: the sum is never below the truth, and above it by the terms
//! `m ≠ 0`, which Markov's inequality at a second tilt on either side bounds by a geometric
//! series. `D` is chosen from that bound. On a lattice `D` is a multiple of the step, and the
//! infinite sum over nodes folds into one period.
//!
//! `c` is chosen near the saddle point, so that the integrand is of the size of the answer and
//! double precision gives relative accuracy however small the answer is; the big exponent
//! `log Φ(c) − (c−1)x` is kept apart, in double-double.

use super::kernel::{Expectation, Kernel, Losses};
use super::spectrum::LogPhi;
use super::term::{Term, dropping};
use crate::number::float::{self, DD_UNIT, Dd, FUNCTION, PI, UNIT};
use crate::number::{Bounds, Magnitude, Round};
use crate::stop;

/// Nodes of a period up to which every index is exact.
const MAX_NODES: f64 = (1u64 << 50) as f64;

/// One integral to be evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub integrand: &'a dyn Integrand,
    pub expectation: Expectation,
    pub losses: Losses,
    /// The loss the kernel refers to, and the one Markov's inequality does.
    pub x: Dd,
    pub markov: Dd,
}

/// What is integrated: the transform of a composition's loss.
pub(crate) trait Integrand {
    /// `log Φ` at a real tilt.
    fn log_phi(&self, c: f64) -> LogPhi;

    /// About the variance of the loss, and about the tilt at which its mean is `x`: where to start.
    fn start(&self, x: f64) -> (f64, f64);

    /// Whether `log Φ` is about a parabola, as that of Gaussian noise is.
    fn is_parabolic(&self) -> bool {
        true
    }

    /// Aliasing is pushed below this fraction of the answer.
    fn alias(&self) -> f64;

    /// The trapezoidal sum over all nodes, in units of `Φ(c)`; `None` if it takes too long.
    fn sum_nodes(&self, rule: &Rule<'_>) -> Option<Nodes>;
}

/// The trapezoidal rule on one line.
pub(crate) struct Rule<'a> {
    pub kernel: &'a Kernel,
    pub c: f64,
    pub x: Dd,
    /// The slope of the phase at `t = 0` before `x` is taken out.
    pub drift: Dd,
    pub distance: f64,
    pub spacing: Spacing,
    /// About what the sum will be.
    pub expected: f64,
}

/// The distance `D` between an answer and its aliases.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spacing {
    /// `nodes` steps of the lattice.
    Lattice { nodes: u64 },
    /// Any number.
    Line { distance: f64 },
}

/// The answer, and the plain integral `D_s` (kernel 1) over the same nodes from above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integral {
    pub value: Bounds<Magnitude>,
    pub density: Magnitude,
}

impl Problem<'_> {
    /// # Guarantee
    /// The expectation's exact value lies in the returned bounds. `None` if it would take too long.
    pub fn solve(&self) -> Option<Integral> {
        let c = self.choose_line();
        let here = self.log_phi(c);
        let kernel = Kernel::new(self.expectation, self.losses, c);
        let peak = kernel.real();
        let deviation = here.spread.max(0.0).sqrt();
        let step = match self.losses {
            Losses::Line => 1.0,
            Losses::Lattice { step, .. } => step,
        };
        // exponent = log Φ(c) − (c−1)x + log of the kernel's scale.
        let (exponent, mut exponent_error) = self.exponent(here.value, here.error, c, self.x);
        let exponent = exponent.add(Dd::from(kernel.log_scale));
        exponent_error += 4.0 * FUNCTION * kernel.log_scale.abs();
        exponent_error = dropping(Term::Exponent, exponent_error);
        if !exponent.hi.is_finite() || !exponent_error.is_finite() {
            return None;
        }
        let scale_up = Magnitude::exp(exponent, exponent_error, Round::Up);
        let scale_down = Magnitude::exp(exponent, exponent_error, Round::Down);

        // Expected size of the answer: the sum over nodes is a Gaussian of this deviation.
        let effective = (2.0 * PI).sqrt() * deviation / step;
        let effective = if matches!(self.losses, Losses::Line) { effective } else { effective.max(1.0) };
        let mut expected = exponent.hi + float::ln(peak / effective);
        for attempt in 0..3 {
            let last = attempt == if self.integrand.is_parabolic() { 1 } else { 2 };
            let (distance, alias) = self.choose_distance(c, deviation, step, expected)?;
            let spacing = match self.losses {
                Losses::Line => Spacing::Line { distance },
                Losses::Lattice { .. } => Spacing::Lattice { nodes: (distance / step).round() as u64 },
            };
            let nodes = self.integrand.sum_nodes(&Rule {
                kernel: &kernel,
                c,
                x: self.x,
                drift: here.drift,
                distance,
                spacing,
                expected: float::exp(expected - exponent.hi) * distance / step,
            })?;
            // Overflow or NaN anywhere: nothing is known.
            if !(nodes.value + nodes.rounding + nodes.density + nodes.density_error).is_finite() {
                return None;
            }
            let weight = match spacing {
                Spacing::Line { distance } => distance,
                Spacing::Lattice { nodes } => nodes as f64,
            };
            let error = dropping(Term::Rounding, nodes.rounding) + nodes.discarded;
            let high = float::up((nodes.value + error).max(0.0) / weight, 4.0);
            let low = float::down((nodes.value - error) / weight, 4.0).max(0.0);
            let upper = scale_up.mul(Magnitude::from_f64(high), Round::Up);
            let lower = scale_down.mul(Magnitude::from_f64(low), Round::Down);
            // The answer can be smaller than expected (a sparse law has gaps): then the aliases
            // are not small against it, and a larger distance is worth another sum.
            let too_near = alias > lower.mul(Magnitude::from_f64(4.0 * self.integrand.alias()), Round::Up);
            // What was left out is as large as the answer, which is much smaller than expected.
            let unseen = lower.is_zero() && nodes.discarded > nodes.rounding;
            if unseen && attempt == 0 && !self.integrand.is_parabolic() {
                expected -= 9.0;
                continue;
            }
            if too_near && !last && !lower.is_zero() {
                expected = expected.min(lower.ln(Round::Down)) - 1.0;
                continue;
            }
            let alias = if dropping(Term::Alias, 1.0) == 0.0 { Magnitude::ZERO } else { alias };
            // The density's kernel is 1, without a scale.
            let density = float::up((nodes.density + nodes.density_error).max(0.0) / weight, 4.0);
            let unscale = Magnitude::exp(Dd::from(-kernel.log_scale), 0.0, Round::Up);
            let density = scale_up.mul(Magnitude::from_f64(density), Round::Up).mul(unscale, Round::Up);
            let value = Bounds::new(lower.sub(alias, Round::Down), upper);
            return Some(Integral { value, density });
        }
        None
    }

    fn log_phi(&self, c: f64) -> LogPhi {
        stop::check();
        self.integrand.log_phi(c)
    }

    /// `log Φ(c) − (c−1)x`, for `UpperP` minus another x, and the bound of its error.
    fn exponent(&self, log_phi: Dd, error: f64, c: f64, x: Dd) -> (Dd, f64) {
        let factor = if self.expectation == Expectation::UpperP { Dd::from(c) } else { Dd::sum(c, -1.0) };
        let shift = factor.mul(x);
        let magnitude = log_phi.hi.abs() + shift.hi.abs();
        (log_phi.sub(shift), error + 16.0 * DD_UNIT * magnitude)
    }

    /// A tilt near the minimum of `log Φ(c) − (c−1)x + ln K(c)`, which is convex, kept away from
    /// the poles so that aliases stay near. Any tilt in the domain is valid.
    fn choose_line(&self) -> f64 {
        let (low, high) = self.expectation.domain();
        let x = self.x.hi;
        let (mu2, start) = self.integrand.start(x);
        let reach = 1.0 / mu2.sqrt();
        let inside = |c: f64| {
            if high - low <= 1.0 {
                c.clamp(0.05, 0.95)
            } else if low.is_finite() {
                c.max(low + 0.5 * reach)
            } else {
                c.min(high - 0.5 * reach)
            }
        };
        let mut c = inside(start);
        let (mut below, mut above) = (low, high);
        let mut spread = mu2;
        for round in 0..60 {
            let here = self.log_phi(c);
            let (kernel_slope, kernel_curve) = Kernel::log_slope(self.expectation, self.losses, c);
            // Where nothing is known of Φ, it is too large to be summed.
            if here.error == f64::INFINITY && here.slope.is_nan() {
                above = c;
                c = if below.is_finite() { 0.5 * (below + c) } else { 0.5 * c };
                continue;
            }
            let slope = here.slope - x + kernel_slope;
            spread = here.spread.max(0.0);
            let curve = spread + kernel_curve;
            if slope > 0.0 {
                above = c
            } else {
                below = c
            }
            let step = -slope / curve;
            // A twentieth of a deviation is near enough.
            if !step.is_finite() || (step * curve.sqrt()).abs() < 0.05 {
                break;
            }
            let next = (c + step).clamp(-1e30, 1e30);
            // Where the law changes suddenly, steps may go back and forth from one side of it to the other.
            let halve = round >= 8 && round % 2 == 0 && (above - below).is_finite();
            c = if next > below && next < above && !halve { next } else { 0.5 * (below + above) };
        }
        // Two and a half deviations from a pole cost a factor of about e³ in the size of the
        // integrand and save most of the distance; on a coarse lattice 4/g does.
        let mut margin = 2.5 / spread.sqrt();
        if let Losses::Lattice { step, .. } = self.losses {
            margin = margin.min(4.0 / step);
        }
        let apart = |margin: f64| {
            if high - low <= 1.0 {
                let margin = margin.min(0.5);
                c.clamp(low + margin, high - margin)
            } else if low.is_finite() {
                c.max(low + margin)
            } else {
                c.min(high - margin)
            }
        };
        if self.integrand.is_parabolic() {
            return apart(margin);
        }
        // The tilted law of rare large losses changes suddenly: no further than it costs a factor of e⁶.
        let size = |c: f64| {
            let (exponent, error) = {
                let here = self.log_phi(c);
                self.exponent(here.value, here.error, c, self.x)
            };
            let peak = Kernel::new(self.expectation, self.losses, c).real();
            if error.is_finite() { exponent.hi + float::ln(peak) } else { f64::INFINITY }
        };
        let least = size(c);
        for _ in 0..40 {
            let there = apart(margin);
            if there == c || size(there) <= least + 6.0 {
                return there;
            }
            margin *= 0.7;
        }
        c
    }

    /// `D`, and the bound it gives on the aliases.
    fn choose_distance(&self, c: f64, deviation: f64, step: f64, expected: f64) -> Option<(f64, Magnitude)> {
        let (low, high) = self.expectation.domain();
        let lattice = matches!(self.losses, Losses::Lattice { .. });
        let want = expected + float::ln(self.integrand.alias());
        let (here, _) = self.exponent(self.log_phi(c).value, 0.0, c, self.markov);
        let deficit = (here.hi - want).max(1.0);
        // The second tilt on either side: the best for a Gaussian, nearer while that helps. The
        // distance it asks for is quasi-convex in the offset, and any offset is valid.
        let mut start = (2.0 * deficit).sqrt() / deviation;
        if lattice {
            start = start.min(2.0 * deficit / step);
        }
        let try_tilt = |other: f64| {
            let phi = self.log_phi(other);
            let (exponent, error) = self.exponent(phi.value, phi.error, other, self.markov);
            let reach = (other - c).abs();
            let distance = ((exponent.hi - want) / reach).max(1.0 / reach);
            Side { distance, reach, exponent, error }
        };
        let side = |sign: f64| {
            let mut offset = start;
            let mut best: Option<Side> = None;
            for _ in 0..60 {
                let other = (c + sign * offset).clamp(low.max(-1e100), high.min(1e100));
                let tried = try_tilt(other);
                let better = best.is_none_or(|b| tried.distance < b.distance);
                if (tried.distance + tried.error).is_finite() && better {
                    best = Some(tried);
                } else if best.is_some() {
                    break;
                }
                offset = 0.5 * (other - c).abs();
            }
            best
        };
        let sides = [side(-1.0)?, side(1.0)?];
        let mut distance = sides[0].distance.max(sides[1].distance);
        if lattice {
            let nodes = (distance / step).ceil().max(1.0);
            // Beyond that, neither the number of nodes nor a node's index is a double.
            if nodes >= MAX_NODES {
                return None;
            }
            distance = nodes * step;
        }
        let alias = sides.iter().fold(Magnitude::ZERO, |sum, Side { reach, exponent, error, .. }| {
            // e^{exponent}·r/(1−r), r = e^{−reach·D}; the product is rounded once.
            let decay = reach * distance * (1.0 - 8.0 * UNIT);
            let head = Magnitude::exp(exponent.sub(Dd::from(decay)), *error, Round::Up);
            let series = Magnitude::from_f64(float::up(-1.0 / float::expm1(-decay), 8.0));
            sum.add(head.mul(series, Round::Up), Round::Up)
        });
        Some((distance, alias))
    }
}

/// Markov's inequality at a second tilt, `reach` away: the aliases on its side, `distance` apart,
/// are at most `e^{exponent ± error − reach·distance}` and so on geometrically.
#[derive(Clone, Copy, Debug)]
struct Side {
    distance: f64,
    reach: f64,
    exponent: Dd,
    error: f64,
}

/// Sums over nodes, and the bounds of their errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nodes {
    pub value: f64,
    /// The same with kernel 1.
    pub density: f64,
    pub density_error: f64,
    pub rounding: f64,
    /// Nodes that are not computed.
    pub discarded: f64,
}
