//! The sum over the nodes of a path where doubles are not enough.
//!
//! `S = Σ w(e^{ita} − 1)` is multiplied by the number of steps. Most of the weight sits at losses near the
//! mean, and their terms cancel: the sum of their sizes is far larger than S. So for `|ta| ≤ RADIUS` the sum
//! is a polynomial in t whose coefficients, moments of the weights, are double-doubles (Q4). What is left
//! are the rare large losses, of little weight, node by node in doubles.

use super::super::Way;
use super::wide::{WIDE_UNIT, Wide};
use super::{SubsampledGaussianLoss, line};
use crate::number::float::{self, Complex, Dd, TWO_PI, UNIT};
use crate::stop;

/// A path of nodes: shift off the real axis, step, index of the first node, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub e: f64,
    pub log_phi: f64,
    pub mean: f64,
    pub eta: f64,
    pub step: f64,
    pub first: f64,
    pub len: usize,
}

/// Largest `|ta|` of losses that go into the polynomial.
const RADIUS: f64 = 4.0;
/// Degree of the polynomial, and of its part that is summed in double-double.
const DEGREE: usize = 34;
const LOW: usize = 12;
/// Nodes between two restarts of the recurrence.
const BLOCK: u64 = 64;
/// Partial sums of a node.
const LANES: usize = 8;

pub(super) struct Precise {
    h: Dd,
    /// Weights over their sum and centred losses, by falling modulus of the loss.
    weights: Vec<Wide>,
    losses: Vec<Wide>,
    /// The same as doubles: weights, moduli of weights, and the factor of a step less 1.
    wr: Vec<f64>,
    wi: Vec<f64>,
    sizes: Vec<f64>,
    sr: Vec<f64>,
    si: Vec<f64>,
    /// `ha` of a step: turns, and what the modulus falls by.
    turns: Vec<Dd>,
    falls: Vec<f64>,
    /// `e^{ita}` of the large losses.
    zr: Vec<f64>,
    zi: Vec<f64>,
    octave: Octave,
    next: u64,
}

/// All nodes `t = kh` with k up to `end`, a power of two.
#[derive(Default)]
struct Octave {
    end: u64,
    /// How many losses are large, rounded up to whole lanes.
    large: usize,
    /// The sum of their weights.
    constant: Wide,
    /// `Σ w(ia·end·h)^m/m!` over the small ones, for m = 1 …
    low: [Wide; LOW],
    high: [Complex; DEGREE - LOW],
    /// Bound of the error of the sum at any node.
    error: f64,
}

impl Precise {
    pub fn new(law: &SubsampledGaussianLoss, path: &Path, h: Dd) -> Precise {
        let theta = Dd::from(path.eta).mul(law.half_dd.scale(2.0));
        let turn = Wide::new(Dd::ZERO, theta).exp();
        let (e, eta) = (path.e, Dd::from(path.eta));
        let eta2 = eta.mul(eta);
        let mut total = Wide::default();
        let mut nodes: Vec<(Wide, Wide)> = (0..path.len)
            .map(|j| {
                stop::check();
                let x = (path.first + j as f64) * path.step;
                let y = law.half_dd.mul(Dd::sum(2.0 * x, -1.0));
                let l = if y.hi > 300.0 {
                    Wide::new(y.add(law.ln_q_dd), theta)
                } else {
                    let jump = law.q_dd.mul(y.exp());
                    Wide::new(turn.re.mul(jump).add(law.rest_dd), turn.im.mul(jump)).ln()
                };
                let x = Dd::from(x);
                let quadratic = law.half_dd.mul(eta2.sub(x.mul(x)));
                let re = quadratic.add(l.re.scale(e)).sub(Dd::from(path.log_phi));
                let im = l.im.scale(e).sub(x.mul(eta).mul(law.half_dd).scale(2.0));
                let weight = Wide::new(re, im).exp();
                total = total.plus(weight);
                // Remove: y^{it} on Im x = η. Add: y^{−it} on Im x = −η, the conjugate of all that.
                match law.way {
                    Way::Remove => (weight, Wide::new(l.re.sub(Dd::from(path.mean)), l.im)),
                    Way::Add => (weight.conjugate(), Wide::new(l.re.neg().sub(Dd::from(path.mean)), l.im)),
                }
            })
            .collect();
        if law.way == Way::Add {
            total = total.conjugate();
        }
        nodes.sort_by(|a, b| b.1.near().abs().total_cmp(&a.1.near().abs()));
        let weights: Vec<Wide> = nodes.iter().map(|(w, _)| w.over(total)).collect();
        let losses: Vec<Wide> = nodes.iter().map(|(_, a)| *a).collect();
        let n = nodes.len().next_multiple_of(LANES);
        let padded = |f: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..n).map(|j| if j < nodes.len() { f(j) } else { 0.0 }).collect()
        };
        let step = |j: usize| {
            let (re, im) = (losses[j].re.mul(h).to_f64(), losses[j].im.mul(h).to_f64());
            line::exp_minus_one(re, im, 1.0)
        };
        Precise {
            h,
            wr: padded(&|j| weights[j].re.to_f64()),
            wi: padded(&|j| weights[j].im.to_f64()),
            sizes: padded(&|j| weights[j].near().abs()),
            sr: padded(&|j| step(j).re),
            si: padded(&|j| step(j).im),
            turns: losses.iter().map(|a| a.re.mul(h).div(TWO_PI)).collect(),
            falls: losses.iter().map(|a| a.im.mul(h).to_f64()).collect(),
            zr: vec![0.0; n],
            zi: vec![0.0; n],
            weights,
            losses,
            octave: Octave::default(),
            next: 0,
        }
    }

    /// `S` at node k, with the bound of its error.
    pub fn at(&mut self, k: u64) -> (Complex, f64) {
        if k.is_multiple_of(BLOCK) || k != self.next {
            self.restart(k);
        }
        self.next = k + 1;
        let n = self.octave.large;
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        let (wr, wi, sr, si) = (&self.wr[..n], &self.wi[..n], &self.sr[..n], &self.si[..n]);
        let (zr, zi) = (&mut self.zr[..n], &mut self.zi[..n]);
        for first in (0..n).step_by(LANES) {
            for lane in 0..LANES {
                let j = first + lane;
                let (a, b) = (zr[j], zi[j]);
                re[lane] += wr[j] * a - wi[j] * b;
                im[lane] += wr[j] * b + wi[j] * a;
                // z ← z + zs.
                zr[j] = a + (a * sr[j] - b * si[j]);
                zi[j] = b + (a * si[j] + b * sr[j]);
            }
        }
        // The node over the end of the octave, exactly.
        let tau = k as f64 / self.octave.end as f64;
        let mut high = Complex::default();
        for b in self.octave.high.iter().rev() {
            high = Complex::new((high.re + b.re) * tau, (high.im + b.im) * tau);
        }
        let mut sum = Wide::new(Dd::from(high.re), Dd::from(high.im));
        for b in self.octave.low.iter().rev() {
            sum = sum.plus(*b).scale(tau);
        }
        let jumps = Wide::new(Dd::from(re.iter().sum::<f64>()), Dd::from(im.iter().sum::<f64>()));
        let s = sum.plus(jumps).plus(self.octave.constant.neg()).near();
        (s, self.octave.error + 2.0 * UNIT * s.abs())
    }

    /// Computes the factors of the large losses anew.
    fn restart(&mut self, k: u64) {
        stop::check();
        if k + BLOCK > self.octave.end {
            self.octave = self.octave((k + BLOCK).next_power_of_two());
        }
        let steps = k as f64;
        for j in 0..self.octave.large.min(self.losses.len()) {
            let (sin, cos) = float::sin_cos_pi(2.0 * self.turns[j].scale(steps).fraction());
            let size = float::exp(-self.falls[j] * steps);
            (self.zr[j], self.zi[j]) = (size * cos, size * sin);
        }
    }

    fn octave(&self, end: u64) -> Octave {
        let scale = self.h.scale(end as f64);
        let n = self.losses.len();
        let modulus = |j: usize| self.losses[j].near().abs() * scale.hi * (1.0 + 1e-12);
        let large = self.losses.partition_point(|a| a.near().abs() * scale.hi * (1.0 + 1e-12) > RADIUS);
        let large = large.next_multiple_of(LANES);
        let mut octave = Octave { end, large, ..Octave::default() };
        let (mut rest, mut truncated, mut wide) = (0.0, 0.0, 0.0);
        for j in large..n {
            stop::check();
            let (x, size) = (modulus(j), self.sizes[j]);
            // (ia·end·h)^m/m!.
            let step = Wide::new(self.losses[j].im.mul(scale).neg(), self.losses[j].re.mul(scale));
            let mut power = self.weights[j];
            let mut bound = size;
            for (m, sum) in octave.low.iter_mut().enumerate() {
                power = power.times(step);
                *sum = sum.plus(power);
                bound *= x / (m + 1) as f64;
                wide += bound;
            }
            let (step, mut power) = (step.near(), power.scale(1.0 / factorial(LOW)).near());
            for (m, sum) in octave.high.iter_mut().enumerate() {
                let less = 1.0 / (m + LOW + 1) as f64;
                power = power.mul(Complex::new(step.re * less, step.im * less));
                *sum = sum.plus(power);
                bound *= x / (m + LOW + 1) as f64;
                rest += bound;
            }
            truncated += bound * x / (DEGREE + 1) as f64;
        }
        for (m, sum) in octave.low.iter_mut().enumerate() {
            let by = Dd::from(factorial(m + 1));
            *sum = Wide::new(sum.re.div(by), sum.im.div(by));
        }
        let (mut own, mut weight) = (0.0, 0.0);
        for j in 0..large.min(n) {
            octave.constant = octave.constant.plus(self.weights[j]);
            let ha = self.losses[j].near().abs() * self.h.hi;
            own += self.sizes[j] * (BLOCK as f64 * (1.0 + 28.0 * ha.min(2.0) + 2.0 * ha) + 24.0);
            weight += self.sizes[j];
        }
        // Errors, in units of u. Each |z| is at most 1. A restart leaves 16u: 4u for each function, 3u for a
        // fraction of a turn, a product and the exponent's x·3u·e^−x. A step adds u for its sum and 4u|s| for
        // its product, and its factor is within 24u|s| + 2u·h|a|, |s| ≤ min(2, h|a|). Weights are within u in
        // either part. Lanes add n/LANES products of three roundings. The powers and Horner's rule of the
        // upper part take at most 8 roundings a degree, and the sum over the losses one each; the truncated
        // rest is at most 1/(1 − RADIUS/(DEGREE + 2)) of its first term.
        let additions = 1.5 * ((large / LANES + LANES) as f64 + 4.0);
        let double = own + additions * weight + (8.0 * DEGREE as f64 + n as f64) * rest;
        octave.error = 1.02 * (UNIT * double + 1.2 * truncated + WIDE_UNIT * (n as f64) * (wide + weight));
        octave
    }
}

/// m!, exactly for m ≤ 18.
fn factorial(m: usize) -> f64 {
    (1..=m).map(|i| i as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Along;
    use crate::loss::subsampled::line::SubsampledLine;
    use crate::number::Rational;

    /// In doubles and with moments, in both directions, at nodes of every octave.
    #[test]
    fn both_sums_enclose_the_same_value() {
        let exact = |text: &str| text.parse::<Rational>().unwrap();
        let cases = [("0.64", "1e-4", 11.3), ("0.25", "1e-3", 7.9), ("1", "0.01", 1.7), ("9", "0.3", 4.2)];
        for (sigma2, q, c) in cases {
            for (way, c) in [(Way::Remove, c), (Way::Add, c), (Way::Add, 40.0 * c), (Way::Remove, 0.3)] {
                let law = SubsampledGaussianLoss::new(&exact(sigma2), &exact(q), 1e5, way);
                let h = Dd::from(0.0771);
                let (mut plain, mut precise) =
                    (SubsampledLine::new(&law, c, h), SubsampledLine::new(&law, c, h));
                precise.prepare(1 << 40);
                let (mut first, mut second) = (0.0, 0.0);
                for k in (1..200).chain([255, 256, 257, 1000, 1001, 4096, 10_000, 70_000]) {
                    let (a, b) = (plain.at(k), precise.at(k));
                    if a.modulus_only || b.modulus_only {
                        continue;
                    }
                    let turn = 2.0 * std::f64::consts::PI;
                    let (re, im) = (a.value.re - b.value.re, a.value.im - b.value.im);
                    let off = re.abs().max((im - turn * (im / turn).round()).abs());
                    assert!(off <= a.error + b.error, "{sigma2} {q} {c} {way:?} {k}: {off:e} {a:?} {b:?}");
                    (first, second) = (first + a.error, second + b.error);
                }
                assert!(second < first, "{sigma2} {q} {c} {way:?}: {first:e} {second:e}");
            }
        }
    }
}
