//! The sum over the nodes of a line, for any laws.

use super::super::contour::{Integrand, Nodes, Rule, Spacing};
use super::super::node;
use super::super::spectrum::LogPhi;
use super::super::term::{Term, dropping};
use super::ordered::Ordered;
use crate::loss::{Along, Remainder};
use crate::number::float::{self, Complex, DD_UNIT, Dd, PI, Sum, TWO_PI, UNIT};
use crate::stop;

/// One direction of a composition along lines, with a fictitious Gaussian of μ² = `s2` besides.
pub(super) struct OnLine<'a> {
    pub ordered: &'a Ordered,
    pub s2: f64,
    /// The step of the lattice, if all losses lie on one.
    pub step: Option<Dd>,
    /// Whether atoms, and atoms with one continuous loss, are taken out of the transform (M8).
    pub peeled: bool,
    /// The most work that a sum may take.
    pub work: f64,
}

/// Ratio of the ends of the intervals on which decay is bounded.
const RUNG: f64 = 1.25;
/// What is not computed may be the first of these fractions of the answer for which the sum is short; if none
/// is, the last.
const REST: [f64; 3] = [1e-14, 1e-10, 2e-8];
/// Work (nodes times their cost) of a short sum: some milliseconds.
pub(super) const SHORT: f64 = 3e6;
/// Work after which a sum is refused as too long.
pub(super) const LONG: f64 = 1.5e7;

impl Integrand for OnLine<'_> {
    fn log_phi(&self, c: f64) -> LogPhi {
        let mut here = self.ordered.log_phi(c);
        if self.s2 > 0.0 {
            let quadratic = Dd::sum(c, -1.0).scale(c).scale(0.5 * self.s2);
            here.value = here.value.add(quadratic);
            here.error += 8.0 * DD_UNIT * quadratic.hi.abs();
            here.slope += self.s2 * (c - 0.5);
            here.spread += self.s2;
        }
        here
    }

    fn start(&self, x: f64) -> (f64, f64) {
        let (mean, deviation) = self.ordered.scale();
        let variance = deviation * deviation + self.s2;
        (variance, 1.0 + (x - mean) / variance)
    }

    fn alias(&self) -> f64 {
        1e-13
    }

    fn is_parabolic(&self) -> bool {
        false
    }

    fn sum_nodes(&self, rule: &Rule<'_>) -> Option<Nodes> {
        let c = rule.c;
        let (h, half_period) = match (rule.spacing, self.step) {
            (Spacing::Lattice { nodes }, Some(step)) => {
                (TWO_PI.div(step.scale(nodes as f64)), Some(nodes / 2))
            }
            (Spacing::Line { distance }, None) => (Dd::from(2.0 * PI / distance), None),
            _ => unreachable!("the spacing is that of the losses"),
        };
        let period = match rule.spacing {
            Spacing::Lattice { nodes } => nodes,
            Spacing::Line { .. } => 0,
        };
        let mut lines: Vec<(Box<dyn Along + '_>, f64)> =
            self.ordered.kinds.iter().map(|k| (k.law.line(c, h), k.count)).collect();
        let mut drift = Dd::from(self.s2).mul(Dd::sum(c, -0.5)).sub(rule.x);
        let mut sizes = rule.x.hi.abs() + self.s2 * c.abs();
        for ((line, _), kind) in lines.iter().zip(&self.ordered.kinds) {
            let part = kind.count_dd.mul(line.centre());
            sizes += part.hi.abs();
            drift = drift.add(part);
        }
        let peak = rule.kernel.real() * (1.0 + 1e-12);
        // What is taken out is computed besides.
        let parts = if self.peeled { 3.0 } else { 1.0 };
        let cost: f64 = parts * lines.iter().map(|(line, _)| line.cost()).sum::<f64>();
        let reach = self.reach(&lines, h.hi, peak, half_period, rule.expected, cost)?;
        lines.iter_mut().for_each(|(line, _)| line.prepare(reach.last));
        let (drift, drift_error) = (drift.to_f64(), 16.0 * DD_UNIT * sizes);
        let zero = Remainder { value: Complex::default(), error: 0.0, modulus_only: false };
        let mut remainders = vec![zero; lines.len()];
        let mut total = Nodes::default();
        let (mut sum, mut density) = (Sum::default(), Sum::default());
        for k in 0..=reach.last {
            stop::check();
            let t = k as f64 * h.hi;
            let half = if period > 0 { float::sin_cos_pi(k as f64 / period as f64) } else { (0.0, 1.0) };
            let (kernel, kernel_error) = rule.kernel.at(t, half);
            let base = Exponent::new(Complex::new(-0.5 * self.s2 * t * t, t * drift), t * drift_error);
            let mut whole = base;
            for ((line, count), found) in lines.iter_mut().zip(&mut remainders).filter(|_| k > 0) {
                *found = line.at(k);
                whole.add(*found, *count);
            }
            let double = if k == 0 || 2 * k == period { 1.0 } else { 2.0 };
            let mut take = |exponent: Exponent, times: f64| {
                let node = node::finish(exponent.value, exponent.error, exponent.modulus_only);
                if !node.modulus_only {
                    sum.push(double * times * node.value.mul(kernel).re);
                    density.push(double * times * node.value.re);
                }
                let size = node.size * double * times.abs();
                let relative = node.relative + 4.0 * UNIT;
                total.rounding += size * (relative * kernel.abs() + kernel_error * (1.0 + relative));
                total.density_error += size * relative;
            };
            take(whole, 1.0);
            if self.peeled {
                peel(base, &lines, &remainders, k, |exponent, times| take(exponent, -times));
            }
            if total.rounding > 4.0 * peak {
                return None;
            }
        }
        total.value = sum.value();
        total.density = density.value();
        total.rounding = total.rounding * (1.0 + 1e-9) + 4.0 * UNIT * total.value.abs();
        total.density_error = total.density_error * (1.0 + 1e-9) + 4.0 * UNIT * total.density.abs();
        total.discarded += dropping(Term::Outside, reach.discarded);
        total.density_error += dropping(Term::Outside, reach.density);
        if self.s2 == 0.0 {
            // Nobody asks for it, and it need not exist.
            (total.density, total.density_error) = (0.0, 0.0);
        }
        Some(total)
    }
}

/// The exponent of a node, and the bound of its error.
#[derive(Clone, Copy)]
struct Exponent {
    value: Complex,
    error: f64,
    modulus_only: bool,
}

impl Exponent {
    fn new(value: Complex, error: f64) -> Exponent {
        let own = UNIT * (12.0 * value.re.abs() + 8.0 * value.im.abs());
        Exponent { value, error: error + own, modulus_only: false }
    }

    fn add(&mut self, part: Remainder, count: f64) {
        self.value.re += count * part.value.re;
        self.value.im += count * part.value.im;
        self.error += count * (part.error + 4.0 * UNIT * (part.value.re.abs() + part.value.im.abs()));
        self.modulus_only |= part.modulus_only && count > 0.0;
    }
}

/// The transforms of what was taken out: of the atoms, and of the atoms with one continuous loss, which is
/// one of `n` equal ones (M8).
fn peel(
    base: Exponent,
    lines: &[(Box<dyn Along + '_>, f64)],
    wholes: &[Remainder],
    k: u64,
    mut take: impl FnMut(Exponent, f64),
) {
    let parts: Vec<[Remainder; 2]> =
        lines.iter().zip(wholes).map(|((line, _), whole)| line.parts(k).unwrap_or([*whole; 2])).collect();
    let mut atoms = base;
    parts.iter().zip(lines).for_each(|(part, (_, n))| atoms.add(part[0], *n));
    take(atoms, 1.0);
    for (i, (line, count)) in lines.iter().enumerate() {
        if line.atomic_mass().is_none() {
            continue;
        }
        let mut one = base;
        for (j, (part, (_, n))) in parts.iter().zip(lines).enumerate() {
            one.add(part[0], if i == j { n - 1.0 } else { *n });
        }
        one.add(parts[i][1], 1.0);
        take(one, *count);
    }
}

/// How far nodes are computed, and a bound of all others: with the kernel, and with kernel 1.
struct Reach {
    last: u64,
    discarded: f64,
    density: f64,
}

impl OnLine<'_> {
    /// Bounds the decay on a ladder of intervals, and stops where all that follows is small (V7, V10).
    fn reach(
        &self,
        lines: &[(Box<dyn Along + '_>, f64)],
        h: f64,
        peak: f64,
        half_period: Option<u64>,
        expected: f64,
        cost: f64,
    ) -> Option<Reach> {
        let most = self.work / cost;
        let end = half_period.map(|n| n as f64 * h * (1.0 + 1e-9));
        let decay = |t1: f64, t2: f64| {
            let own = 0.5 * self.s2 * t1 * t1;
            (own + lines.iter().map(|(line, n)| n * line.decay(t1, t2)).sum::<f64>()) * (1.0 - 1e-9)
        };
        let laplaces = || lines.iter().filter_map(|(line, n)| line.atomic_mass().map(|mass| (mass, n)));
        let continuous: f64 = laplaces().map(|(_, n)| n).sum();
        let atomic: f64 = laplaces().map(|(mass, n)| n * float::ln(mass)).sum::<f64>() * (1.0 - 1e-12);
        // |Φ − A − ΣnBA^{n−1}| ≤ A(e^X − 1 − X), X = Σ n|B|/A ≤ Σ n/2t, and e^X − 1 − X ≤ e^X·X²/2 (M8).
        let decay = |t1: f64, t2: f64| {
            if !self.peeled {
                return decay(t1, t2);
            }
            let others = lines.iter().filter(|(line, _)| line.atomic_mass().is_none());
            let others: f64 = others.map(|(line, n)| n * line.decay(t1, t2)).sum();
            let x = 0.5 * continuous / t1;
            let fall = others - atomic - x - 2.0 * float::ln(x) + float::ln(2.0);
            (fall * (1.0 - 1e-9) - 1e-9).max(0.0)
        };
        // On the line both kernels are at most 1/t².
        let kernel = |t: f64| if end.is_some() { peak } else { peak.min(1.0 / (t * t)) };
        let first = 4.0 * h;
        let mut rungs = vec![];
        let mut t = first;
        let last = end.unwrap_or(f64::INFINITY);
        while t < last && rungs.len() < 400 {
            let next = (t * RUNG).min(last);
            let fall = decay(t, next);
            rungs.push((t, next, fall));
            t = next;
            // Where the bound that holds up to infinity says enough, it bounds all that follows. A bound for
            // an interval alone does not: it says nothing of what comes later.
            let far = if self.peeled { 2.0 * most * h } else { 1e6 * most * h };
            if end.is_none() && (decay(t, f64::INFINITY) > 200.0 || t > far) {
                break;
            }
        }
        // What is left from each rung on, with the kernel and with kernel 1.
        let mut left = vec![(0.0, 0.0); rungs.len() + 1];
        if end.is_none() {
            let fall = float::exp(-decay(t, f64::INFINITY));
            // Σ 1/t_k² over t_k ≥ t is at most 1/(ht) + 1/t²; twice, for both signs.
            let discarded = 2.02 * fall * (1.0 / (h * t) + 1.0 / (t * t));
            // With kernel 1 only the fictitious Gaussian makes the sum finite.
            let gauss = float::exp(-0.5 * self.s2 * t * t);
            let density = if self.s2 > 0.0 { 2.02 * gauss * (1.0 + 1.0 / (h * self.s2 * t)) } else { 0.0 };
            left[rungs.len()] = (discarded, density);
        }
        for (i, (from, to, fall)) in rungs.iter().enumerate().rev() {
            let nodes = 2.02 * ((to - from) / h + 2.0) * float::exp(-fall);
            left[i] = (left[i + 1].0 + nodes * kernel(*from), left[i + 1].1 + nodes);
        }
        let from = |i: usize| rungs.get(i).map_or(t, |rung| rung.0);
        // The density is only needed to a few digits, in units of its largest node.
        let enough =
            |i: usize, rest: f64| left[i].0 <= rest * expected && (self.s2 == 0.0 || left[i].1 <= 1e-6);
        let first = |rest: f64| (0..left.len()).find(|i| enough(*i, rest)).unwrap_or(rungs.len());
        let short = |i: &usize| from(*i) / h * cost <= SHORT;
        let choices = REST.map(first);
        let mut chosen = choices.into_iter().find(short).unwrap_or(choices[REST.len() - 1]);
        while chosen > 0 && from(chosen) / h > most {
            chosen -= 1;
        }
        let (discarded, density) = left[chosen];
        if discarded > 0.25 * expected || from(chosen) / h > most {
            return None;
        }
        let last = (from(chosen) / h).ceil() as u64;
        Some(Reach { last: half_period.map_or(last, |n| last.min(n)), discarded, density })
    }
}
