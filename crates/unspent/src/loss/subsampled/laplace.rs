//! Laplace noise on a Poisson sample: two atoms, and between them an integral over the loss of the noise.
//!
//! The integral is taken by Gauss–Legendre quadrature on panels, so that the law along a line is a list of
//! atoms with an error besides (Q6). How fast it falls is known from its atoms and its density (V9, V7).

use std::sync::OnceLock;

use super::super::atoms::ln_ratio;
use super::super::cells::{Cells, Noise, Sampling};
use super::super::{Along, Atoms, Loss, Remainder, Tilted, Way};
use crate::mechanism::Laplace;
use crate::number::Rational;
use crate::number::float::{self, Dd, PI, UNIT};
use crate::number::quadrature;
use crate::stop;

/// The loss of one mechanism.
#[derive(Debug)]
pub(crate) struct SubsampledLaplaceLoss {
    tau: f64,
    sampling: Sampling,
    /// Panels that are enough for powers `|e| + t` of up to `4^{i+2}`.
    levels: [OnceLock<Panels>; LEVELS],
}

/// The quadrature as a list of losses.
#[derive(Debug)]
struct Panels {
    atoms: Atoms,
    /// Centres and the half of the width.
    centres: Vec<f64>,
    half: f64,
}

const LEVELS: usize = 4;
/// Half of a panel times the power of y that is integrated on it.
const TURN: f64 = 4.0;
/// Widest half of a panel: its ellipse stays clear of the zeros of y, which are π off the real axis.
const WIDEST: f64 = 0.75;
/// The ellipse, and its half-axes.
const RHO: f64 = 8.0;
/// Parts of the segment from which decay is bounded.
const BINS: usize = 24;

impl SubsampledLaplaceLoss {
    pub fn new(noise: &Laplace, q: &Rational, way: Way) -> SubsampledLaplaceLoss {
        let one = Rational::integer(1);
        let sampling =
            Sampling { q: q.to_f64(), rest: (&one - q).to_f64(), ln_q: ln_ratio(q, &one).to_f64(), way };
        let tau = noise.largest_loss().to_f64();
        SubsampledLaplaceLoss { tau, sampling, levels: [const { OnceLock::new() }; LEVELS] }
    }

    /// The exponent of y at the tilt c.
    fn exponent(&self, c: f64) -> f64 {
        match self.sampling.way {
            Way::Remove => c,
            Way::Add => 1.0 - c,
        }
    }

    /// Panels for powers of y up to this; `None` if they would be too many.
    fn panels(&self, power: f64) -> Option<&Panels> {
        let level = (0..LEVELS).find(|i| power <= 4f64.powi(*i as i32 + 2))?;
        let half = (TURN / 4f64.powi(level as i32 + 2)).min(WIDEST);
        let number = (self.tau / half).ceil();
        if number > 1e4 {
            return None;
        }
        Some(self.levels[level].get_or_init(|| self.made(number, 4f64.powi(level as i32 + 2))))
    }

    fn made(&self, number: f64, power: f64) -> Panels {
        let half = self.tau / number;
        let centres: Vec<f64> =
            (0..number as usize).map(|i| -self.tau + half * (2.0 * i as f64 + 1.0)).collect();
        let ln_half = float::ln(0.5);
        let mut outcomes = vec![(-self.tau, ln_half), (self.tau, ln_half - self.tau)];
        let ln_scale = float::ln(0.25 * half);
        for centre in &centres {
            stop::check();
            outcomes.extend(quadrature::nodes().map(|(t, weight)| {
                let l = centre + half * t;
                (l, ln_scale + float::ln(weight) - 0.5 * (l + self.tau))
            }));
        }
        let list = outcomes.into_iter().map(|(l, log)| {
            let (log_y, _) = self.sampling.log_y(l);
            match self.sampling.way {
                Way::Remove => (log_y, log),
                Way::Add => (-log_y, log + log_y),
            }
        });
        // A node, and τ, are within 8uτ of what they stand for, which moves the integrand by that times the
        // power and a half. Logarithms are within 4u of their sizes; the loss as in `Sampling::log_y`.
        let error = UNIT * (64.0 + 16.0 * self.tau * (1.0 + power) + 8.0 * ln_scale.abs());
        let loss_error = UNIT * (16.0 * (1.0 + self.tau) + 32.0);
        Panels { atoms: Atoms::of_nodes(list.collect(), error, loss_error), centres, half }
    }

    /// What quadrature misses of `∫¼e^{−(l+τ)/2}y^{e+it}`, or of the integral of the bracket of M5, over Φ.
    fn missed(&self, panels: &Panels, e: f64, t: f64, bracket: Option<f64>, log_phi: f64) -> f64 {
        let (a, b) = quadrature::half_axes(RHO);
        let (a, b) = (a * panels.half, b * panels.half);
        // |y| is at most that of the rightmost point and, since its argument is at most b, at least
        // cos(b/2) times that of the leftmost.
        let cosine = float::ln(float::sin_cos(0.5 * b).1);
        let sum: f64 = panels
            .centres
            .iter()
            .map(|m| {
                let ends = (self.sampling.log_y(m - a).0, self.sampling.log_y(m + a).0);
                let power = if e >= 0.0 { e * ends.1 } else { e * (ends.0 + cosine) };
                let mut size = float::exp(power + t * b - log_phi);
                if let Some(c) = bracket {
                    size += (1.0 + c.abs()) * (float::exp(ends.1) + 1.0) * float::exp(-log_phi);
                }
                size * float::exp(-0.5 * (m - a + self.tau))
            })
            .sum();
        0.26 * panels.half * sum * quadrature::missed(RHO, 0.0)
    }

    /// The tilted law's atomic part: `ln` of either mass over Φ, within 10⁻¹⁰ and the error of `log_phi`.
    fn atomic(&self, e: f64, log_phi: f64) -> [f64; 2] {
        let ln_half = float::ln(0.5) - log_phi;
        let y = |l: f64| self.sampling.log_y(l).0;
        [ln_half + e * y(-self.tau), ln_half - self.tau + e * y(self.tau)]
    }
}

impl Loss for SubsampledLaplaceLoss {
    fn tilt(&self, c: f64) -> Tilted {
        let e = self.exponent(c);
        let Some(panels) = self.panels(e.abs() + 1.0) else {
            return Tilted { error: f64::INFINITY, mean: f64::NAN, ..Tilted::default() };
        };
        let tilted = panels.atoms.tilt(c);
        let missed = self.missed(panels, e, 0.0, Some(c), tilted.log.hi);
        // Of Φ − 1 nodes that are moved change c(e^{cl} − e^l)s, s ≤ 1 the slope of the loss; its share of
        // the whole is that of the move in τ.
        let moved = 64.0 * UNIT * (1.0 + self.tau) * tilted.log.hi.abs().min(1.0) * (1.0 + c.abs());
        let error = tilted.error + 1.1 * missed + moved;
        Tilted { error: if error < 0.1 { error } else { f64::INFINITY }, ..tilted }
    }

    fn line(&self, c: f64, h: Dd) -> Box<dyn Along + '_> {
        let (e, tilted) = (self.exponent(c), self.tilt(c));
        let log_phi = tilted.log.hi;
        let blur = 1e-9 + tilted.error;
        let known = tilted.error.is_finite() && (e.abs() + 1.0) * (1.0 + self.tau) < 1e5;
        let atoms =
            if known { self.atomic(e, log_phi).map(|log| float::exp(log + blur)) } else { [1.0, 1.0] };
        // V9: twice the values of the density at the ends of the segment.
        let density = |l: f64| {
            let exponent =
                (e + 1.0) * self.sampling.log_y(l).0 - 1.5 * l - 0.5 * self.tau - self.sampling.ln_q;
            0.5 * float::exp(exponent - log_phi + blur)
        };
        let mut line = SubsampledLaplaceLine {
            law: self,
            c,
            h,
            mean: tilted.mean,
            log_phi,
            inner: None,
            quadrature: f64::INFINITY,
            atomic: atoms[0] + atoms[1],
            variation: if known { density(-self.tau) + density(self.tau) } else { f64::INFINITY },
            bins: vec![],
        };
        if known {
            line.bins = self.bins(e, log_phi, blur);
        }
        Box::new(line)
    }

    fn cells(&self, cells: usize) -> Option<Cells> {
        Some(Noise::laplace(self.tau, cells).sampled(&self.sampling))
    }

    fn largest(&self) -> f64 {
        let (log, error) = match self.sampling.way {
            Way::Remove => self.sampling.log_y(self.tau * (1.0 + 4.0 * UNIT)),
            Way::Add => {
                let (log, error) = self.sampling.log_y(-self.tau * (1.0 + 4.0 * UNIT));
                (-log, error)
            }
        };
        log + 4.0 * error
    }
}

impl SubsampledLaplaceLoss {
    /// The atoms, and parts of the segment: ends of the loss, and a lower bound of the tilted mass.
    fn bins(&self, e: f64, log_phi: f64, blur: f64) -> Vec<(f64, f64, f64)> {
        let y = |l: f64| self.sampling.log_y(l).0;
        let [low, high] = self.atomic(e, log_phi);
        let mut bins = vec![(y(-self.tau), y(-self.tau), float::exp(low - blur))];
        let width = 2.0 * self.tau / BINS as f64;
        for i in 0..BINS {
            let (a, b) = (-self.tau + width * i as f64, -self.tau + width * (i + 1) as f64);
            let log = (e * y(a)).min(e * y(b)) - 0.5 * (b + self.tau) - log_phi - blur;
            bins.push((y(a), y(b), 0.25 * width * float::exp(log)));
        }
        bins.push((y(self.tau), y(self.tau), float::exp(high - blur)));
        bins
    }
}

struct SubsampledLaplaceLine<'a> {
    law: &'a SubsampledLaplaceLoss,
    c: f64,
    h: Dd,
    mean: f64,
    log_phi: f64,
    inner: Option<Box<dyn Along + 'a>>,
    quadrature: f64,
    atomic: f64,
    variation: f64,
    bins: Vec<(f64, f64, f64)>,
}

impl Along for SubsampledLaplaceLine<'_> {
    fn centre(&self) -> Dd {
        Dd::from(self.mean)
    }

    fn prepare(&mut self, last: u64) {
        let (e, t) = (self.law.exponent(self.c), last as f64 * self.h.hi * (1.0 + 1e-9));
        if let Some(panels) = self.law.panels(e.abs() + t + 1.0) {
            self.inner = Some(panels.atoms.along(self.c, self.h, self.mean));
            // Both of a quotient are integrals by the same rule, one at t = 0.
            let missed = |t: f64| self.law.missed(panels, e, t, None, self.log_phi);
            self.quadrature = 1.1 * (missed(t) + missed(0.0));
        }
    }

    fn at(&mut self, k: u64) -> Remainder {
        let unknown = Remainder { value: float::Complex::default(), error: 0.0, modulus_only: true };
        let Some(inner) = self.inner.as_mut().filter(|_| self.quadrature < 0.01) else {
            return unknown;
        };
        let found = inner.at(k);
        // The modulus of φ is e^{re}.
        let share = self.quadrature * float::exp(-found.value.re + found.error);
        if share > 0.1 {
            let bound = float::ln(float::exp(found.value.re + found.error) + self.quadrature);
            let value = float::Complex::new(bound.min(0.0), 0.0);
            return Remainder { value, error: 4.0 * UNIT * (1.0 + bound.abs()), modulus_only: true };
        }
        Remainder { error: found.error + 1.1 * share, ..found }
    }

    fn cost(&self) -> f64 {
        // Panels for powers of some hundreds.
        500.0 + 16_000.0 * self.law.tau
    }

    fn decay(&self, t1: f64, t2: f64) -> f64 {
        if t1 <= 0.0 {
            return 0.0;
        }
        let bound = (self.atomic + self.variation / t1) * (1.0 + 1e-9);
        let by_density = if bound < 1.0 { -float::ln(bound) } else { 0.0 };
        // V7, with bins that are at least as far apart as their inner ends.
        let reach = PI / t2 * (1.0 - 1e-6);
        let mut sum = 0.0;
        for (i, (low, end, mass)) in self.bins.iter().enumerate() {
            for (start, high, other) in &self.bins[i + 1..] {
                let blur = 1e-12 * (low.abs() + high.abs());
                if high - low + blur > reach {
                    break;
                }
                let gap = (start - end - blur).max(0.0);
                sum += mass * other * gap * gap;
            }
        }
        by_density.max(t1 * t1 / (PI * PI) * 2.0 * sum * (1.0 - 1e-6))
    }
}
