//! No usable lattice: bounds from both sides, by one more mechanism that is not there.
//!
//! Add one continuous Gaussian mechanism of size `s` to the composition. More mechanisms can only cost
//! privacy, so δ ≤ δ_s. At a given loss `L` it adds at most `s·e^{(L+ε)/2}·φ((L−ε)/s)`, whose expectation is
//! `s²e^{s²/8}·D_s`, so
//!
//! ```text
//! δ_s(ε) − s²e^{s²/8}·D_s(ε)  ≤  δ(ε)  ≤  δ_s(ε),      D_s = (1/2π) ∫ Φ(z) e^{s²(z²−z)/2} e^{−(z−1)ε} dt
//! ```
//!
//! (`theory/smoothing.md`, S1 to S5). The bracket is of second order in `s`; `s` is a power of two, chosen
//! from the tolerance, and each power has its own sieve, made when first needed.

use std::sync::OnceLock;

use super::allowance;
use super::contour::{Integral, Problem};
use super::gaussians::{Gaussians, log_cut};
use super::kernel::{Expectation, Losses};
use super::sieve::Sieve;
use super::sieved::Sieved;
use super::spectrum::Spectrum;
use super::term::{Term, dropping};
use super::{DeltaBounds, Point};
use crate::number::float::{self, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Round};

/// Finest smoothing, `s = 2^−FINEST`.
const FINEST: i32 = 60;
/// Coarsest smoothing, `s = 2^COARSEST`: beyond it the bracket says nothing.
const COARSEST: i32 = 2;

/// Levels tried for one answer.
const ATTEMPTS: usize = 6;

#[derive(Debug)]
pub(crate) struct Smoothing {
    /// `None` inside: the sieve takes too long.
    levels: [Level; (FINEST + COARSEST + 1) as usize],
    /// Without any: the composition's own continuous Gaussians.
    own: Level,
}

type Level = OnceLock<Option<Sieve>>;

impl Default for Smoothing {
    fn default() -> Smoothing {
        Smoothing { levels: std::array::from_fn(|_| Level::new()), own: Level::new() }
    }
}

impl Smoothing {
    pub(super) fn sieve(&self, spectrum: &Spectrum, level: Option<i32>) -> Option<&Sieve> {
        let cell = match level {
            Some(k) => &self.levels[(k + COARSEST) as usize],
            None => &self.own,
        };
        cell.get_or_init(|| {
            let s2 = level.map_or(0.0, square);
            let smooth = s2 + spectrum.continuous;
            // The range ends where the Gaussian factor alone is below the cut.
            let cut = log_cut(spectrum, (2.0 * spectrum.cut / smooth).sqrt()) + 2.0;
            let end = (2.0 * cut / smooth).sqrt();
            Sieve::new(spectrum, s2, end, cut, 4 * spectrum.work)
        })
        .as_ref()
    }

    pub fn solve(
        &self,
        accountant: &Gaussians,
        expectation: Expectation,
        at: &Point,
        tolerance: f64,
    ) -> Bounds<Magnitude> {
        let spectrum = &accountant.spectrum;
        let wanted = wanted(spectrum, expectation, at, tolerance);
        if spectrum.continuous >= wanted
            && let Some(value) = self.own(spectrum, expectation, at)
        {
            return value;
        }
        let first = first_level(wanted);
        let mut level = (first as i32).clamp(-COARSEST, FINEST);
        let mut best: Option<Bounds<Magnitude>> = None;
        for _ in 0..ATTEMPTS {
            let before = allowance::left();
            match self.bracket(spectrum, level, expectation, at) {
                Some(found) => {
                    let both = best.map_or(found, |b| b.intersect(&found));
                    // Finer until it is enough; but a level that had to be coarsened is final.
                    let coarsened = f64::from(level) < first;
                    if both.relative_width() <= tolerance || level == FINEST || coarsened {
                        return both;
                    }
                    best = Some(both);
                    level += 1;
                }
                None => {
                    if best.is_some() || level <= -COARSEST {
                        break;
                    }
                    // A sum that was not begun costs nothing. Otherwise the attempt may have been long:
                    // sixteen times coarser at once.
                    let begun = self.sieve(spectrum, Some(level)).is_none() || allowance::left() < before;
                    level = (level - if begun { 4 } else { 1 }).max(-COARSEST);
                }
            }
        }
        best.unwrap_or_else(|| Bounds::new(Magnitude::ZERO, Magnitude::ONE))
    }

    /// Not below `δ_s`, at the level where the bracket is about that wide; and which that is.
    pub fn above(&self, spectrum: &Spectrum, at: &Point, tolerance: f64) -> Option<(i32, Magnitude)> {
        let level = first_level(wanted(spectrum, Expectation::Delta, at, tolerance)) as i32;
        let level = level.clamp(-COARSEST, FINEST);
        Some((level, self.integrate(spectrum, Some(level), Expectation::Delta, at)?.value.upper()))
    }

    /// Whether the sieve of a composition that is smooth by itself leaves anything but one window.
    pub fn own_is_short(&self, spectrum: &Spectrum) -> bool {
        self.sieve(spectrum, None).is_some_and(|sieve| sieve.windows.len() == 1)
    }

    /// An expectation of a composition that is smooth by itself; `None` if that takes too long.
    pub fn own(
        &self,
        spectrum: &Spectrum,
        expectation: Expectation,
        at: &Point,
    ) -> Option<Bounds<Magnitude>> {
        let smooth = spectrum.continuous > 0.0;
        smooth.then(|| self.integrate(spectrum, None, expectation, at)).flatten().map(|i| i.value)
    }

    fn integrate(
        &self,
        spectrum: &Spectrum,
        level: Option<i32>,
        expectation: Expectation,
        at: &Point,
    ) -> Option<Integral> {
        let sieve = self.sieve(spectrum, level)?;
        let integrand = Sieved { spectrum, sieve, s2: level.map_or(0.0, square), lattice: None };
        Problem { integrand: &integrand, expectation, losses: Losses::Line, x: at.dd, markov: at.dd }.solve()
    }

    fn bracket(
        &self,
        spectrum: &Spectrum,
        level: i32,
        expectation: Expectation,
        at: &Point,
    ) -> Option<Bounds<Magnitude>> {
        let Integral { value, density } = self.integrate(spectrum, Some(level), expectation, at)?;
        let s2 = square(level);
        let factor = float::up(s2 * float::exp(s2 / 8.0), 8.0);
        let excess = density.mul(Magnitude::from_f64(dropping(Term::Smoothing, factor)), Round::Up);
        Some(match expectation {
            // δ_s is above δ, its complement below.
            Expectation::Complement => Bounds::new(value.lower(), value.upper().add(excess, Round::Up)),
            _ => Bounds::new(value.lower().sub(excess, Round::Down), value.upper()),
        })
    }

    /// `P[L > ε]` from secants: δ is convex in `x = e^ε` with right slope −`P[L > ε]`, so the chord to
    /// a point on the left is an upper bound and the chord to a point on the right a lower one.
    pub fn p_tail(&self, accountant: &Gaussians, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let here = accountant.delta(at, tolerance);
        self.p_tail_from(accountant, at, tolerance, &here)
    }

    fn p_tail_from(
        &self,
        accountant: &Gaussians,
        at: &Point,
        tolerance: f64,
        here: &DeltaBounds,
    ) -> Bounds<Magnitude> {
        let mu2 = accountant.mu2();
        let c = (at.dd.hi / mu2 + 0.5).max(1.0) + 1.0 / mu2.sqrt();
        let step = (tolerance / (c * (c - 1.0))).sqrt();
        secants(at, here, step, |epsilon| delta_at(accountant, epsilon, tolerance))
    }

    /// `Q[L > ε]` = δ(ε) + e^ε·`P[L > ε]`.
    pub fn q_tail(&self, accountant: &Gaussians, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let here = accountant.delta(at, tolerance);
        q_from_p(at, &here, &self.p_tail_from(accountant, at, tolerance, &here))
    }
}

/// `P[L > ε]` from three lengths of secants (S7) of about this step, with δ at ε and at any other real
/// number. Half the digits: the best step balances the width of δ against the curvature.
pub(super) fn secants(
    at: &Point,
    here: &DeltaBounds,
    step: f64,
    delta_at: impl Fn(f64) -> Bounds<Magnitude>,
) -> Bounds<Magnitude> {
    let step = step.min(0.05).max(16.0 * f64::EPSILON * at.dd.hi.abs());
    let (mut low, mut high) = (Magnitude::ZERO, Magnitude::ONE);
    for scale in [1.0, 4.0, 16.0] {
        let step = step * scale;
        let left = at.dd.hi - step;
        let right = at.dd.hi + step;
        let after = delta_at(right);
        let width = exp_gap(at.dd, Dd::from(right));
        let fall = here.delta.lower().sub(after.upper(), Round::Down);
        let chord = fall.div(width.upper(), Round::Down);
        low = if low < chord { chord } else { low };
        let before = delta_at(left);
        let width = exp_gap(Dd::from(left), at.dd);
        let fall = before.upper().sub(here.delta.lower(), Round::Up);
        let chord = fall.div(width.lower(), Round::Up);
        high = if chord < high { chord } else { high };
    }
    // Q ≤ 1 gives `P ≤ e^{−ε}·(1 − δ)`.
    let cap =
        here.complement.upper().mul(Magnitude::exp(at.dd.neg(), at.dd.hi.abs() * UNIT, Round::Up), Round::Up);
    let high = if cap < high { cap } else { high };
    Bounds::new(if low < high { low } else { high }, high)
}

/// `Q[L > ε]` = δ(ε) + e^ε·`P[L > ε]` (S8).
pub(super) fn q_from_p(at: &Point, here: &DeltaBounds, p: &Bounds<Magnitude>) -> Bounds<Magnitude> {
    let end = |delta: Magnitude, p: Magnitude, round| {
        let e = Magnitude::exp(at.dd, at.dd.hi.abs() * UNIT, round);
        delta.add(e.mul(p, round), round)
    };
    Bounds::new(
        end(here.delta.lower(), p.lower(), Round::Down),
        end(here.delta.upper(), p.upper(), Round::Up),
    )
}

/// δ at any real ε: for ε < 0, `1 − δ(ε) = e^ε·(1 − δ(−ε))`.
fn delta_at(accountant: &Gaussians, epsilon: f64, tolerance: f64) -> Bounds<Magnitude> {
    if epsilon >= 0.0 {
        return accountant.delta(&Point::from_f64(epsilon), tolerance).delta;
    }
    let mirrored = accountant.delta(&Point::from_f64(-epsilon), tolerance).complement;
    let end = |rest: Magnitude, round| Magnitude::exp(Dd::from(epsilon), 0.0, round).mul(rest, round);
    Bounds::new(end(mirrored.lower(), Round::Down), end(mirrored.upper(), Round::Up)).complement()
}

/// The `s²` with which the bracket is about that wide: relatively about `s²·c(c−1)` at the tilt c.
fn wanted(spectrum: &Spectrum, expectation: Expectation, at: &Point, tolerance: f64) -> f64 {
    let mu2 = spectrum.mu2.hi;
    let c = (at.dd.hi / mu2 + 0.5).max(1.0) + 2.5 / mu2.sqrt();
    let curvature = if expectation == Expectation::Complement { 0.25 } else { c * (c - 1.0) };
    0.9 * tolerance / curvature
}

/// The coarsest level with at most that `s²`.
fn first_level(wanted: f64) -> f64 {
    (-0.5 * float::ln(wanted) / std::f64::consts::LN_2).ceil()
}

/// `s²` of a level.
pub(super) fn square(level: i32) -> f64 {
    2f64.powi(-2 * level)
}

/// `e^b − e^a` for `a < b`.
fn exp_gap(a: Dd, b: Dd) -> Bounds<Magnitude> {
    let gap = b.sub(a);
    let growth = float::expm1(gap.to_f64());
    let error = (a.hi.abs() + b.hi.abs()) * UNIT * UNIT;
    let end =
        |round, growth: f64| Magnitude::exp(a, 4.0 * error, round).mul(Magnitude::from_f64(growth), round);
    // The difference of two double-doubles may lose digits: 4u relative and their own error.
    let slack = 16.0 + 4.0 * gap.hi + 8.0 * error / (gap.hi * UNIT);
    Bounds::new(end(Round::Down, float::down(growth, slack)), end(Round::Up, float::up(growth, slack)))
}
