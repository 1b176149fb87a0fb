//! Gaussian noise as an integrand: the sum over the nodes that a sieve leaves.

use num_bigint::BigInt;

use super::allowance;
use super::contour::{Integrand, Nodes, Rule, Spacing};
use super::lattice::Lattice;
use super::node::Line;
use super::sieve::Sieve;
use super::spectrum::{LogPhi, Spectrum};
use super::term::{Term, dropping};
use crate::number::float::{self, DD_UNIT, Dd, PI, Sum, UNIT};
use crate::stop;

/// A composition of Gaussian noise, with the windows of the line that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieved<'a> {
    pub spectrum: &'a Spectrum,
    pub sieve: &'a Sieve,
    /// μ² of the fictitious continuous Gaussian; 0 on a lattice.
    pub s2: f64,
    /// On a lattice, itself and the index on it of the loss that the kernel refers to.
    pub lattice: Option<(&'a Lattice, &'a BigInt)>,
}

impl Integrand for Sieved<'_> {
    fn log_phi(&self, c: f64) -> LogPhi {
        self.spectrum.log_phi(&self.sieve.active, self.sieve.skipped, self.s2, c)
    }

    fn start(&self, x: f64) -> (f64, f64) {
        let mu2 = self.spectrum.mu2.hi + self.s2;
        (mu2, x / mu2 + 0.5)
    }

    fn alias(&self) -> f64 {
        self.spectrum.alias
    }

    fn sum_nodes(&self, rule: &Rule<'_>) -> Option<Nodes> {
        let Rule { kernel, c, x, drift, distance, spacing, .. } = *rule;
        let spectrum = self.spectrum;
        let per_node = 2.0 * PI / distance;
        let plain_end = self.sieve.plain_end;
        let beyond_plain = self.sieve.windows.last().is_some_and(|w| w.1 > plain_end);
        let beyond = (self.sieve.measure - plain_end).max(0.0) / per_node;
        let most = allowance::most(spectrum.work as f64);
        if beyond * spectrum.kinds.len() as f64 > most {
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
            drift: drift.sub(spectrum.mu2.add(Dd::from(self.s2)).scale(0.5)).sub(x).to_f64(),
            drift_error: 16.0 * DD_UNIT * (drift.hi.abs() + spectrum.mu2.hi + x.hi.abs()),
            active: self.sieve.active.iter().map(|&j| (j, spectrum.kinds[j].transform.tilt(c))).collect(),
            rates: if beyond_plain { self.rates(spacing) } else { vec![] },
            tilts: if beyond_plain { spectrum.tilts(c) } else { vec![] },
            phase: self.phase(spacing, x),
        };
        let mut total = Nodes::default();
        let (mut sum, mut density) = (Sum::default(), Sum::default());
        let peak = kernel.real() * (1.0 + 1e-12);
        let mut next = 0u64;
        let mut kept = 0u64;
        let mut work = 0.0;
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
                work += if plain { 1 + line.active.len() } else { spectrum.kinds.len() } as f64;
                // Too long, or hopeless: the errors drown the sum.
                if work > most || total.rounding > 4.0 * peak {
                    allowance::spend(work);
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
        allowance::spend(work);
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
}

impl Sieved<'_> {
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
    fn phase(&self, spacing: Spacing, x: Dd) -> Dd {
        match (spacing, self.lattice) {
            (Spacing::Lattice { nodes }, Some((_, index))) => Lattice::phase(index, nodes),
            (Spacing::Lattice { .. }, None) => unreachable!("lattice nodes without a lattice"),
            (Spacing::Line { distance }, _) => self.spectrum.mu2.scale(0.5).add(x).div(Dd::from(distance)),
        }
    }
}
