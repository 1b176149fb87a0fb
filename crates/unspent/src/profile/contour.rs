//! Inversion on a tilted line, with every error accounted for.
//!
//! For a payoff `V` (see [`super::kernel`]) and any `c` in its domain, the trapezoidal rule with
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

use num_bigint::BigInt;

use super::kernel::{Kernel, Losses, Payoff};
use super::lattice::Lattice;
use super::node::Line;
use super::sieve::Sieve;
use super::spectrum::Spectrum;
use super::term::{Term, dropping};
use crate::number::float::{self, DD_UNIT, Dd, FUNCTION, PI, Sum, UNIT};
use crate::number::{Bounds, Magnitude, Round};
use crate::stop;

/// Nodes of a period up to which every index is exact.
const MAX_NODES: f64 = (1u64 << 50) as f64;

/// One integral to be evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub spectrum: &'a Spectrum,
    pub sieve: &'a Sieve,
    /// μ² of the fictitious continuous Gaussian; 0 on a lattice.
    pub s2: f64,
    pub payoff: Payoff,
    pub losses: Losses,
    /// The loss the kernel refers to, and the one Markov's inequality does.
    pub x: Dd,
    pub markov: Dd,
    /// On a lattice, itself and the index of the loss `x` on it.
    pub lattice: Option<(&'a Lattice, &'a BigInt)>,
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
    /// The payoff's exact value lies in the returned bounds. `None` if it would take too long.
    pub fn solve(&self) -> Option<Integral> {
        let c = self.choose_line();
        let here = self.log_phi(c);
        let kernel = Kernel::new(self.payoff, self.losses, c);
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
        if !exponent.hi.is_finite() || !exponent_error.is_finite() {
            return None;
        }
        let scale_up = Magnitude::exp(exponent, exponent_error, Round::Up);
        let scale_down = Magnitude::exp(exponent, exponent_error, Round::Down);

        // Expected size of the answer: the sum over nodes is a Gaussian of this deviation.
        let effective = (2.0 * PI).sqrt() * deviation / step;
        let effective = if matches!(self.losses, Losses::Line) { effective } else { effective.max(1.0) };
        let mut expected = exponent.hi + float::ln(peak / effective);
        for last in [false, true] {
            let (distance, alias) = self.choose_distance(c, deviation, step, expected)?;
            let spacing = match self.losses {
                Losses::Line => Spacing::Line { distance },
                Losses::Lattice { .. } => Spacing::Lattice { nodes: (distance / step).round() as u64 },
            };
            let nodes = self.sum_nodes(&kernel, c, here.drift, distance, spacing)?;
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
            let too_near = alias > lower.mul(Magnitude::from_f64(4.0 * self.spectrum.alias), Round::Up);
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

    fn log_phi(&self, c: f64) -> super::spectrum::LogPhi {
        stop::check();
        self.spectrum.log_phi(&self.sieve.active, self.sieve.skipped, self.s2, c)
    }

    /// `log Φ(c) − (c−1)x`, for `UpperP` minus another x, and the bound of its error.
    fn exponent(&self, log_phi: Dd, error: f64, c: f64, x: Dd) -> (Dd, f64) {
        let factor = if self.payoff == Payoff::UpperP { Dd::from(c) } else { Dd::sum(c, -1.0) };
        let shift = factor.mul(x);
        let magnitude = log_phi.hi.abs() + shift.hi.abs();
        (log_phi.sub(shift), error + 16.0 * DD_UNIT * magnitude)
    }

    /// A tilt near the minimum of `log Φ(c) − (c−1)x + ln K(c)`, which is convex, kept away from
    /// the poles so that aliases stay near. Any tilt in the domain is valid.
    fn choose_line(&self) -> f64 {
        let (low, high) = self.payoff.domain();
        let x = self.x.hi;
        let mu2 = self.spectrum.mu2.hi + self.s2;
        let reach = 1.0 / mu2.sqrt();
        let start = x / mu2 + 0.5;
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
        for _ in 0..60 {
            let here = self.log_phi(c);
            let (kernel_slope, kernel_curve) = Kernel::log_slope(self.payoff, self.losses, c);
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
            c = if next > below && next < above { next } else { 0.5 * (below + above) };
        }
        // Two and a half deviations from a pole cost a factor of about e³ in the size of the
        // integrand and save most of the distance; on a coarse lattice 4/g does.
        let mut margin = 2.5 / spread.sqrt();
        if let Losses::Lattice { step, .. } = self.losses {
            margin = margin.min(4.0 / step);
        }
        if high - low <= 1.0 {
            let margin = margin.min(0.5);
            c.clamp(low + margin, high - margin)
        } else if low.is_finite() {
            c.max(low + margin)
        } else {
            c.min(high - margin)
        }
    }

    /// `D`, and the bound it gives on the aliases.
    fn choose_distance(&self, c: f64, deviation: f64, step: f64, expected: f64) -> Option<(f64, Magnitude)> {
        let (low, high) = self.payoff.domain();
        let lattice = matches!(self.losses, Losses::Lattice { .. });
        let want = expected + float::ln(self.spectrum.alias);
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

    /// The trapezoidal sum over the nodes inside the windows, in units of `Φ(c)`.
    fn sum_nodes(
        &self,
        kernel: &Kernel,
        c: f64,
        drift: Dd,
        distance: f64,
        spacing: Spacing,
    ) -> Option<Nodes> {
        let spectrum = self.spectrum;
        let per_node = 2.0 * PI / distance;
        let plain_end = self.sieve.plain_end;
        let beyond_plain = self.sieve.windows.last().is_some_and(|w| w.1 > plain_end);
        let beyond = (self.sieve.measure - plain_end).max(0.0) / per_node;
        if beyond * spectrum.kinds.len() as f64 > spectrum.work as f64 {
            return None;
        }
        let (half_period, period) = match spacing {
            Spacing::Line { .. } => (u64::MAX, 0),
            Spacing::Lattice { nodes } => (nodes / 2, nodes),
        };
        let line = Line {
            spectrum,
            s2: self.s2,
            skipped: self.sieve.skipped,
            c,
            kappa: spectrum.kappa.to_f64() + self.s2,
            // drift − μ²/2 − x, the slope of the phase; small near the saddle point.
            drift: drift.sub(spectrum.mu2.add(Dd::from(self.s2)).scale(0.5)).sub(self.x).to_f64(),
            drift_error: 16.0 * DD_UNIT * (drift.hi.abs() + spectrum.mu2.hi + self.x.hi.abs()),
            active: self.sieve.active.iter().map(|&j| (j, spectrum.kinds[j].transform.tilt(c))).collect(),
            rates: if beyond_plain { self.rates(spacing) } else { vec![] },
            tilts: if beyond_plain { spectrum.tilts(c) } else { vec![] },
            phase: self.phase(spacing),
        };
        let mut total = Nodes::default();
        let (mut sum, mut density) = (Sum::default(), Sum::default());
        let peak = kernel.real() * (1.0 + 1e-12);
        let mut next = 0u64;
        let mut kept = 0u64;
        let mut work = 0u64;
        let windows = if dropping(Term::Windows, 1.0) == 0.0 { 1 } else { self.sieve.windows.len() };
        for &(from, to) in &self.sieve.windows[..windows] {
            // Windows are widened by a part in 10⁹ of a node so that no node falls in a crack.
            let index = |t: f64, slack: f64| t / per_node * (1.0 + 2e-6 * slack) + slack;
            let first = (index(from, -1e-9).ceil().max(0.0) as u64).max(next);
            let last = (index(to, 1e-9).floor() as u64).min(half_period);
            let last_plain = ((plain_end / per_node).floor() as u64).min(last);
            let mut k = first;
            while k <= last {
                stop::check();
                let t = k as f64 * per_node;
                let half = if period > 0 { float::sin_cos_pi(k as f64 / period as f64) } else { (0.0, 1.0) };
                let (k_value, k_error) = kernel.at(t, half);
                let plain = t <= plain_end;
                let node = if plain { line.plain(t) } else { line.general(k, t) };
                let double = if k == 0 || 2 * k == period { 1.0 } else { 2.0 };
                if !node.modulus_only {
                    sum.push(double * node.value.mul(k_value).re);
                    density.push(double * node.value.re);
                }
                let size = node.size * double;
                total.rounding += size * (node.relative * k_value.abs() + k_error * (1.0 + node.relative));
                total.density_error += size * node.relative;
                work += if plain { 1 + line.active.len() as u64 } else { spectrum.kinds.len() as u64 };
                // Too long, or hopeless: the errors drown the sum.
                if work > spectrum.work || total.rounding > 4.0 * peak {
                    return None;
                }
                // Up to half a turn of every kind the modulus of Φ falls with t (T9, V5).
                let rest = last_plain.saturating_sub(k) as f64 * 2.0 * node.size * (1.0 + node.relative);
                if rest > 0.0
                    && rest * peak <= spectrum.rest * sum.value()
                    && rest <= spectrum.rest * density.value()
                {
                    total.discarded += dropping(Term::Rest, rest * peak);
                    total.density_error += dropping(Term::Rest, rest);
                    k = last_plain;
                }
                k += 1;
            }
            kept += (last + 1).saturating_sub(first);
            next = next.max(last.saturating_add(1));
        }
        // Compensated summation, and the additions of the error terms themselves.
        total.value = sum.value();
        total.density = density.value();
        let n = kept as f64;
        total.rounding = total.rounding * (1.0 + 1e-9) + 4.0 * UNIT * total.value.abs();
        total.density_error = total.density_error * (1.0 + 1e-9) + 4.0 * UNIT * total.density.abs();
        // Everything outside the windows (V2, V4): at most e^{−log_cut}·Φ(c)·K(c) a node.
        let outside = match spacing {
            Spacing::Lattice { nodes } => (nodes as f64 - n).max(0.0),
            Spacing::Line { .. } => {
                // Up to the end of the sieved range, and the Gaussian tail beyond it:
                // Σ_{k} e^{−s²(Ω+kh)²/2} ≤ e^{−s²Ω²/2}·(1 + 1/(h·s²Ω)).
                let smooth = self.s2 + spectrum.continuous;
                let end = (2.0 * self.sieve.log_cut / smooth).sqrt();
                2.0 * (end / per_node + 2.0 + 1.0 / (per_node * smooth * end))
            }
        };
        let each = dropping(Term::Outside, float::exp(-self.sieve.log_cut) * 1.01);
        total.discarded += outside * each * peak;
        total.density_error += outside * each;
        Some(total)
    }

    /// Turns of each kind per node: `a/D`, on a lattice `m/N`.
    fn rates(&self, spacing: Spacing) -> Vec<Dd> {
        match (spacing, self.lattice) {
            (Spacing::Lattice { nodes }, Some((lattice, _))) => lattice.turns(nodes),
            (Spacing::Lattice { .. }, None) => unreachable!("lattice nodes without a lattice"),
            (Spacing::Line { distance }, _) => {
                let d = Dd::from(distance);
                self.spectrum.kinds.iter().map(|k| k.rate.mul(float::TWO_PI).div(d)).collect()
            }
        }
    }

    /// Turns per node of the phase that is taken out: `(μ²/2 + x)/D`; on a lattice that is a
    /// whole number of `N`ths.
    fn phase(&self, spacing: Spacing) -> Dd {
        match (spacing, self.lattice) {
            (Spacing::Lattice { nodes }, Some((_, index))) => Lattice::phase(index, nodes),
            (Spacing::Lattice { .. }, None) => unreachable!("lattice nodes without a lattice"),
            (Spacing::Line { distance }, _) => {
                self.spectrum.mu2.scale(0.5).add(self.x).div(Dd::from(distance))
            }
        }
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
struct Nodes {
    value: f64,
    density: f64,
    density_error: f64,
    rounding: f64,
    discarded: f64,
}
