//! Subsampled Gaussian noise along a line: a trapezoidal sum on a shifted path (Q2), node by node.

use super::super::{Along, Remainder, Way};
use super::decay::Decay;
use super::precise::{Path, Precise};
use super::{MOST_NODES, REACH, SubsampledGaussianLoss};
use crate::loss::Loss;
use crate::number::float::{self, Complex, Dd, PI, Sum, UNIT};
use crate::stop;
use crate::transform::ln_one_plus;

/// Nodes between two restarts of the recurrence along a line.
const BLOCK: u64 = 16;
/// Partial sums of a node.
const LANES: usize = 8;
/// Nodes of a path times nodes of a line from which on a sum pays for its moments.
const LONG: f64 = 4e5;

/// The nodes of a path, tilted.
pub(super) struct SubsampledLine<'a> {
    law: &'a SubsampledGaussianLoss,
    h: f64,
    spacing: Dd,
    mean: f64,
    path: Path,
    precise: Option<Box<Precise>>,
    /// Complex weights over their sum, and the centred losses `ar + i·ai`, `ai ≥ 0`.
    wr: Vec<f64>,
    wi: Vec<f64>,
    ar: Vec<f64>,
    ai: Vec<f64>,
    /// Moduli of the weights times the relative errors of weights, and of losses.
    weight_errors: Vec<f64>,
    sizes: Vec<f64>,
    moved: f64,
    /// `e^{it(ar + i·ai)} − 1`, and the factor of a step, less 1.
    dr: Vec<f64>,
    di: Vec<f64>,
    sr: Vec<f64>,
    si: Vec<f64>,
    /// Error of the sum of the weights, relatively, and of φ from quadrature.
    normal: f64,
    quadrature: f64,
    /// Of all nodes up to the next restart: error of the sum, and the sum of the sizes of its terms.
    block_error: f64,
    block_size: f64,
    next: u64,
    decay: Decay,
}

impl<'a> SubsampledLine<'a> {
    pub fn new(law: &'a SubsampledGaussianLoss, c: f64, h: Dd) -> SubsampledLine<'a> {
        let mut line = SubsampledLine {
            law,
            h: h.hi,
            spacing: h,
            mean: 0.0,
            path: Path::default(),
            precise: None,
            wr: vec![],
            wi: vec![],
            ar: vec![],
            ai: vec![],
            weight_errors: vec![],
            sizes: vec![],
            moved: 0.0,
            dr: vec![],
            di: vec![],
            sr: vec![],
            si: vec![],
            normal: 0.0,
            quadrature: f64::INFINITY,
            block_error: f64::INFINITY,
            block_size: f64::INFINITY,
            next: 0,
            decay: Decay::default(),
        };
        let tilted = law.tilt(c);
        line.mean = tilted.mean;
        let e = law.exponent(c);
        if tilted.error.is_finite()
            && let Some(path) = law.path(e)
        {
            line.build(e, tilted.log.to_f64(), path);
            line.decay = law.decay(e, tilted.log.to_f64());
        }
        line
    }

    fn build(&mut self, e: f64, log_phi: f64, (eta, step, error): (f64, f64, f64)) {
        let law = self.law;
        let s2 = law.variance();
        let theta = eta / s2;
        let (sin, cos) = float::sin_cos(theta);
        let (sin_half, _) = float::sin_cos(0.5 * theta);
        let norm = step / ((2.0 * PI).sqrt() * law.sigma);
        let before = REACH * law.sigma + 1.0;
        let after = e.max(1.0) + REACH * law.sigma;
        let (first, last) = (-(before / step).ceil(), (after / step).ceil());
        if last - first > 4.0 * MOST_NODES {
            return;
        }
        // Weights below this of the whole are left out at either end, and bounded.
        let (mut all, mut losses, mut loss_errors) = (vec![], vec![], vec![]);
        let mut j = first;
        let lift = eta * eta * law.half;
        while j <= last {
            let x = j * step;
            let y = (2.0 * x - 1.0) * law.half;
            let (l, dl) = if y > 300.0 {
                (Complex::new(y + law.ln_q, theta), UNIT * (8.0 * y + 8.0 * law.ln_q.abs() + 8.0 * theta))
            } else {
                // e^Y − 1 = expm1(Yr)cos θ − 2sin²(θ/2) + i·e^{Yr}sin θ.
                let m = float::expm1(y);
                let v = Complex::new(law.q * (m * cos - 2.0 * sin_half * sin_half), law.q * (1.0 + m) * sin);
                let size = law.q * (m.abs() + (1.0 + m) * theta);
                let found = ln_one_plus(v, UNIT * (4.0 * (1.0 + y.abs()) + 16.0) * size);
                (found.value, found.error)
            };
            let exponent = -x * x * law.half + lift + e * l.re - log_phi;
            let phase = -x * eta * 2.0 * law.half + e * l.im;
            all.push((
                exponent,
                phase,
                UNIT * (16.0
                    + 6.0 * (x * x + eta * eta) * law.half
                    + 10.0 * (x * eta).abs() * law.half
                    + 2.0 * (e * l.re).abs()
                    + 2.0 * log_phi.abs()),
            ));
            losses.push(l);
            loss_errors.push(dl);
            j += 1.0;
        }
        // The two ends beyond which all is below the accuracy.
        let small = -law.accuracy - 6.0;
        let from = all.iter().position(|a| a.0 > small).unwrap_or(0);
        let to = all.iter().rposition(|a| a.0 > small).unwrap_or(all.len() - 1) + 1;
        let start = first + from as f64;
        self.path = Path { e, log_phi, mean: self.mean, eta, step, first: start, len: to - from };
        let mut dropped: f64 =
            all[..from].iter().chain(&all[to..]).map(|a| float::exp(a.0)).sum::<f64>() * norm;
        // What is beyond the nodes of the real axis is on the path larger by at most the lift and, for e < 0,
        // by cos(θ/2)^e.
        let (a, b) = (-first * step, last * step);
        let real = |x: f64| float::exp(-x * x * law.half + e * law.log_y(x).0 - log_phi) * norm / step;
        let ends = (real(-a), real(b));
        let cosine = if e < 0.0 { e * float::ln(float::sin_cos(0.5 * theta).1) } else { 0.0 };
        let more = float::exp(lift + cosine);
        dropped += more * law.beyond((a, b), ends, step, e);
        let (mut total_r, mut total_i) = (Sum::default(), Sum::default());
        let sign = if law.way == Way::Remove { 1.0 } else { -1.0 };
        let mut weighted = 0.0;
        for (i, (exponent, phase, own)) in all.iter().enumerate().take(to).skip(from) {
            let size = norm * float::exp(*exponent);
            let (s, c) = float::sin_cos(*phase);
            self.wr.push(size * c);
            self.wi.push(size * s);
            total_r.push(size * c);
            total_i.push(size * s);
            // Remove: y^{it} on Im x = η. Add: y^{−it} on Im x = −η, the conjugate of all that.
            let l = losses[i];
            self.ar.push(sign * l.re - self.mean);
            self.ai.push(l.im);
            let relative = own + e.abs() * loss_errors[i] + UNIT * 4.0 * phase.abs() + 8.0 * UNIT;
            self.weight_errors.push(relative);
            self.sizes.push(size);
            weighted += size * relative;
            self.moved += size
                * (loss_errors[i]
                    + 6.0 * UNIT * (l.re - sign * self.mean).abs()
                    + 2.0 * UNIT * l.re.abs()
                    + 6.0 * UNIT * l.im);
        }
        if law.way == Way::Add {
            // On the conjugate path the weights are conjugate, and −it·ln y decays again.
            self.wi.iter_mut().for_each(|w| *w = -*w);
        }
        // Divide by the sum, so that only errors times |e^{ita} − 1| count (M7).
        let total = Complex::new(
            total_r.value(),
            if law.way == Way::Add { -total_i.value() } else { total_i.value() },
        );
        for (r, i) in self.wr.iter_mut().zip(&mut self.wi) {
            let w = Complex::new(*r, *i).div(total);
            (*r, *i) = (w.re, w.im);
        }
        // Two sums, each within `error + dropped` of Φ(c), one over the other.
        self.quadrature = if error + dropped < 0.01 { 2.2 * (error + dropped) } else { f64::INFINITY };
        let n = self.wr.len().next_multiple_of(LANES);
        for vector in
            [&mut self.wr, &mut self.wi, &mut self.ar, &mut self.ai, &mut self.weight_errors, &mut self.sizes]
        {
            vector.resize(n, 0.0);
        }
        for vector in [&mut self.dr, &mut self.di, &mut self.sr, &mut self.si] {
            vector.resize(n, 0.0);
        }
        for j in 0..n {
            let d = exp_minus_one(self.ar[j], self.ai[j], self.h);
            (self.sr[j], self.si[j]) = (d.re, d.im);
        }
        self.normal = weighted;
    }

    /// Computes all factors anew at node k, and the error of the nodes up to the next time.
    fn restart(&mut self, k: u64) {
        stop::check();
        let t = k as f64 * self.h;
        let end = (k + BLOCK) as f64 * self.h;
        let (mut error, mut size) = (0.0, 0.0);
        for j in 0..self.wr.len() {
            let d = exp_minus_one(self.ar[j], self.ai[j], t);
            (self.dr[j], self.di[j]) = (d.re, d.im);
            // |d| = |e^{ita} − 1| ≤ min(2, t|a|). The factor 1 + s has a modulus of at most 1, so that errors
            // do not grow. A step adds u|d| for its sum, 6u|s|(1 + |d|) ≤ 18u|s| for its product, and 24u|s|
            // for the error of s; the start has 24u|d|: functions of 4u, each part at most 2|d|.
            let most = (end * (self.ar[j].abs() + self.ai[j])).min(2.0);
            let step = self.sr[j].abs() + self.si[j].abs();
            let own = UNIT * (most * (24.0 + BLOCK as f64) + 42.0 * BLOCK as f64 * step);
            error += self.sizes[j] * (most * self.weight_errors[j] + own);
            size += self.sizes[j] * most;
        }
        self.block_error = 1.02 * error + end * self.moved;
        self.block_size = 1.01 * size;
    }
}

/// `e^{it(a + ib)} − 1` for b ≥ 0.
pub(super) fn exp_minus_one(a: f64, b: f64, t: f64) -> Complex {
    let (sin, cos) = float::sin_cos(t * a);
    let (sin_half, _) = float::sin_cos(0.5 * t * a);
    let m = float::expm1(-t * b);
    Complex::new(m * cos - 2.0 * sin_half * sin_half, (1.0 + m) * sin)
}

impl Along for SubsampledLine<'_> {
    fn cost(&self) -> f64 {
        0.25 * self.wr.len() as f64
    }

    fn centre(&self) -> Dd {
        Dd::from(self.mean)
    }

    fn prepare(&mut self, last: u64) {
        if last as f64 * self.wr.len() as f64 > LONG && self.quadrature.is_finite() {
            self.precise = Some(Box::new(Precise::new(self.law, &self.path, self.spacing)));
        }
    }

    fn at(&mut self, k: u64) -> Remainder {
        if !self.quadrature.is_finite() || !self.block_error.is_finite() && self.wr.is_empty() {
            return Remainder { value: Complex::default(), error: 0.0, modulus_only: true };
        }
        if let Some(precise) = &mut self.precise {
            let (s, error) = precise.at(k);
            return ln_one_plus(s, error + self.quadrature);
        }
        if k.is_multiple_of(BLOCK) || k != self.next {
            self.restart(k);
        }
        self.next = k + 1;
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        let n = self.wr.len();
        let (wr, wi, sr, si) = (&self.wr[..n], &self.wi[..n], &self.sr[..n], &self.si[..n]);
        let (dr, di) = (&mut self.dr[..n], &mut self.di[..n]);
        for first in (0..n).step_by(LANES) {
            for lane in 0..LANES {
                let j = first + lane;
                let (a, b) = (dr[j], di[j]);
                re[lane] += wr[j] * a - wi[j] * b;
                im[lane] += wr[j] * b + wi[j] * a;
                // d ← d(1 + s) + s.
                dr[j] = a + (a * sr[j] - b * si[j] + sr[j]);
                di[j] = b + (a * si[j] + b * sr[j] + si[j]);
            }
        }
        let s = Complex::new(re.iter().sum(), im.iter().sum());
        // Each lane sums n/LANES products, each of which is rounded three times.
        let additions = (n / LANES + LANES + 4) as f64;
        let error = self.block_error
            + s.abs() * (self.normal + 8.0 * UNIT)
            + self.quadrature
            + 1.5 * UNIT * additions * self.block_size;
        ln_one_plus(s, error)
    }

    fn decay(&self, t1: f64, t2: f64) -> f64 {
        self.decay.over(t1, t2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Rational;

    /// With a step so coarse that the rule's error is seen, a fine path is within what is said of it, and not
    /// within it if that error is left out (Q1, Q2).
    #[test]
    fn a_dropped_error_of_quadrature_is_noticed() {
        let exact = |text: &str| text.parse::<Rational>().unwrap();
        let (mut missed, mut moved) = (0, 0);
        for (sigma2, q) in [("1", "0.01"), ("0.64", "0.1"), ("4", "0.3")] {
            for (way, c) in [(Way::Remove, 3.0), (Way::Remove, 0.4), (Way::Add, 2.5), (Way::Add, 9.0)] {
                let law = |accuracy| {
                    let law = SubsampledGaussianLoss::new(&exact(sigma2), &exact(q), 1.0, way);
                    SubsampledGaussianLoss { accuracy, ..law }
                };
                let (coarse, fine) = (law(8.0), law(44.0));
                let (a, b) = (coarse.tilt(c), fine.tilt(c));
                let off = a.log.sub(b.log).to_f64().abs();
                assert!(off <= a.error + b.error, "{sigma2} {q} {c} {way:?}: {off:e} {:e}", a.error);
                moved += usize::from(off > 1e3 * b.error);
                let h = Dd::from(0.3);
                let path = coarse.path(coarse.exponent(c));
                let (mut one, mut other) =
                    (SubsampledLine::new(&coarse, c, h), SubsampledLine::new(&fine, c, h));
                if path.is_none() || !one.quadrature.is_finite() {
                    continue;
                }
                for k in 1..40 {
                    let (a, b) = (one.at(k), other.at(k));
                    if a.modulus_only || b.modulus_only {
                        continue;
                    }
                    let off = (a.value.re - b.value.re).abs();
                    assert!(off <= a.error + b.error, "{sigma2} {q} {c} {way:?} {k}: {off:e} {:e}", a.error);
                    let kept = std::mem::replace(&mut one.quadrature, 0.0);
                    let without = one.at(k);
                    one.quadrature = kept;
                    missed += usize::from(off > without.error + b.error);
                }
            }
        }
        assert!(missed > 0 && moved > 0, "{missed} {moved}");
    }
}
