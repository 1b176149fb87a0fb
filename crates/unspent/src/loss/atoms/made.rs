//! The lists of losses of each mechanism.

use num_bigint::BigInt;

use super::super::Grid;
use super::{Atom, Atoms, Only};
use crate::error::{Error, Result};
use crate::mechanism::{
    ApproximateDp, DiscreteGaussian, DiscreteLaplace, Finite, RandomisedResponse, TruncatedDiscreteGaussian,
    Truth,
};
use crate::number::Rational;
use crate::number::float::{self, Dd, Sum, UNIT};

/// Tails of discrete noise below `e^{−CUT}` of the peak are treated as if they revealed the record (M6).
const CUT: f64 = 220.0;
/// Quotients so near to 1 have a short series.
const NEAR_ONE: f64 = 1.0 / (1u64 << 25) as f64;
/// Most atoms of a list.
const MAX_ATOMS: f64 = 2e6;

impl Atoms {
    /// Two or three losses: −ε, 0 and ε.
    pub fn randomised_response(response: &RandomisedResponse) -> Atoms {
        let others = Rational::from(response.values() - 1);
        let zeros = response.values() - 2;
        let (epsilon, grid) = match response.truth() {
            Truth::Epsilon(epsilon) => {
                let step = if zeros == 0 { epsilon * &Rational::integer(2) } else { epsilon.clone() };
                let offset = &Rational::integer(0) - epsilon;
                (epsilon.to_dd(), Some(Grid { step, offset }))
            }
            Truth::Probability(truth) => {
                let other = &(&Rational::integer(1) - truth) / &others;
                (ln_ratio(truth, &other), None)
            }
        };
        // ln r, r = 1/(e^ε + k − 1) the mass of each other value.
        let e = epsilon.to_f64();
        let log_r = -(e + float::ln1p(others.to_f64() * float::exp(-e)));
        let mut atoms = vec![Atom::new(epsilon.neg(), e + log_r), Atom::new(epsilon, log_r)];
        if zeros > 0 {
            atoms.push(Atom::new(Dd::ZERO, log_r + float::ln(zeros as f64)));
        }
        // ε is within u, the sum within a few, and each logarithm within FUNCTION of its size.
        let grid = grid.filter(|grid| grid.step.is_positive());
        Atoms { grid, ..Atoms::new(atoms, 16.0 * UNIT * (1.0 + e + 2.0 * float::ln(zeros.max(1) as f64))) }
    }

    /// The atomic part of Laplace noise: masses ½ and ½e^{−τ} at −τ and τ.
    pub fn of_laplace(tau: Dd) -> Atoms {
        let half = float::ln(0.5);
        let atoms = vec![Atom::new(tau.neg(), half), Atom::new(tau, half - tau.to_f64())];
        Atoms::new(atoms, 4.0 * UNIT * (1.0 + tau.hi))
    }

    /// The worst pair of all (ε, δ)-DP mechanisms.
    pub fn approximate_dp(event: &ApproximateDp) -> Atoms {
        let (epsilon, e) = (event.epsilon().to_dd(), event.epsilon().to_f64());
        let rest = (&Rational::integer(1) - event.delta()).to_f64();
        let log = float::ln(rest) - float::ln1p(float::exp(-e));
        let atoms = if event.epsilon().is_zero() {
            vec![Atom::new(Dd::ZERO, float::ln(rest))]
        } else {
            // e^ε/(1 + e^ε) at −ε, and 1/(1 + e^ε) = e^−ε/(1 + e^−ε) at ε.
            vec![Atom::new(epsilon.neg(), log), Atom::new(epsilon, log - e)]
        };
        let only = Only::exactly(event.delta());
        let grid = event.epsilon().is_positive().then(|| Grid {
            step: event.epsilon() * &Rational::integer(2),
            offset: &Rational::integer(0) - event.epsilon(),
        });
        Atoms {
            p_only: only,
            q_only: only,
            grid,
            ..Atoms::new(atoms, UNIT * (16.0 + 8.0 * float::ln(rest).abs() + 4.0 * e))
        }
    }

    pub fn finite(finite: &Finite) -> Atoms {
        let (mut atoms, mut p_only, mut q_only, mut largest) = (vec![], vec![], vec![], 0.0f64);
        let one = Rational::integer(1);
        for (p, q) in finite.p().iter().zip(finite.q()) {
            match (p.is_positive(), q.is_positive()) {
                (true, true) => {
                    let log = ln_ratio(p, &one).to_f64();
                    largest = largest.max(log.abs());
                    atoms.push(Atom::new(ln_ratio(q, p), log));
                }
                (true, false) => p_only.push(p.clone()),
                (false, true) => q_only.push(q.clone()),
                (false, false) => {}
            }
        }
        let total = |masses: &[Rational]| Only::exactly(&Rational::sum(masses));
        let (p_only, q_only) = (total(&p_only), total(&q_only));
        Atoms { p_only, q_only, ..Atoms::new(atoms, UNIT * (8.0 + 8.0 * largest)) }
    }

    /// Losses (2k − Δ)/b for k = 0 … Δ.
    pub fn discrete_laplace(noise: &DiscreteLaplace) -> Atoms {
        let shift = noise.shift();
        let rate = (&Rational::integer(1) / noise.scale()).to_f64();
        // ln 1/(1+α) and ln (1−α)/(1+α), α = e^{−1/b}.
        let outer = -float::ln1p(float::exp(-rate));
        let inner = outer + float::ln(-float::expm1(-rate));
        let step = (&Rational::integer(1) / noise.scale()).to_dd();
        let atoms = (0..=shift).map(|k| {
            let loss = step.scale(2.0 * k as f64 - shift as f64);
            let log = if k == 0 {
                outer
            } else if k == shift {
                outer - rate * k as f64
            } else {
                inner - rate * k as f64
            };
            Atom::new(loss, log)
        });
        let size = rate * shift as f64 + outer.abs() + inner.abs();
        let grid = Some(Grid {
            step: &Rational::integer(2) / noise.scale(),
            offset: &Rational::integer(0) - &(&Rational::from(shift) / noise.scale()),
        });
        Atoms { grid, ..Atoms::new(atoms.collect(), UNIT * (16.0 + 8.0 * size)) }
    }

    pub fn truncated_discrete_gaussian(noise: &TruncatedDiscreteGaussian) -> Atoms {
        let bound = noise.bound() as f64;
        let mut atoms = Atoms::noise(noise.sigma2(), noise.shift(), bound, Tails::Cut);
        atoms.grid = Some(gaussian_grid(noise.sigma2(), noise.shift()));
        atoms
    }

    /// Discrete Gaussian noise, with far tails that are treated as if they revealed the record.
    pub fn discrete_gaussian(noise: &DiscreteGaussian) -> Result<Atoms> {
        let sigma2 = noise.sigma2().to_f64();
        let bound = (2.0 * CUT * sigma2).sqrt().ceil() + noise.shift() as f64;
        if bound > MAX_ATOMS {
            return Err(Error::input(
                "sigma2",
                noise.sigma2(),
                "a variance of subsampled discrete noise of at most about 1e9",
                "for so much noise use the Gaussian on the line",
            ));
        }
        let mut atoms = Atoms::noise(noise.sigma2(), noise.shift(), bound, Tails::Reveal);
        atoms.grid = Some(gaussian_grid(noise.sigma2(), noise.shift()));
        Ok(atoms)
    }

    /// Noise on `|x| ≤ bound`, without the record around 0, with it around the shift.
    fn noise(sigma2: &Rational, shift: u64, bound: f64, tails: Tails) -> Atoms {
        let half = (&Rational::integer(1) / &(sigma2 * &Rational::integer(2))).to_dd();
        let log = |x: f64| -(half.mul(Dd::from(x * x))).to_f64();
        let mut inside = Sum::default();
        let delta = shift as f64;
        let mut x = -bound;
        let (mut atoms, mut only) = (vec![], vec![]);
        while x <= bound {
            let weight = log(x);
            inside.push(float::exp(weight));
            if x < delta - bound {
                only.push(weight);
            } else {
                atoms.push(Atom::new(half.mul(Dd::from(delta * (2.0 * x - delta))), weight));
            }
            x += 1.0;
        }
        let mut total = inside.value();
        if let Tails::Reveal = tails {
            // Beyond the bound the weights fall at least by e^{−(2·bound+3)/2σ²} a step, on either side.
            let beyond = log(bound + 1.0) - float::ln(-float::expm1(-(2.0 * bound + 3.0) * half.hi));
            total += 2.0 * float::exp(beyond);
            only.extend([beyond + 1e-9; 2]);
        }
        let log_total = float::ln(total);
        for atom in &mut atoms {
            atom.log -= log_total;
        }
        let error = UNIT * (24.0 + 4.0 * half.hi * bound * bound + 4.0 * log_total.abs());
        let top = only.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let only = if only.is_empty() {
            Only::none()
        } else {
            let sum: f64 = only.iter().map(|weight| float::exp(weight - top)).sum();
            // Logarithms are within 4u of their size, and a sum of n terms within n units.
            Only::scaled(top - log_total, sum, error + UNIT * only.len() as f64)
        };
        let reveals = matches!(tails, Tails::Cut);
        Atoms { p_only: only, q_only: only, reveals, ..Atoms::new(atoms, error) }
    }
}

#[derive(Clone, Copy)]
enum Tails {
    Cut,
    Reveal,
}

fn gaussian_grid(sigma2: &Rational, shift: u64) -> Grid {
    let shift = Rational::from(shift);
    let step = &shift / sigma2;
    let half = &(&step * &shift) / &Rational::integer(2);
    Grid { offset: &Rational::integer(0) - &half, step }
}

/// `ln(a/b)`, also where the quotient is no double: within `2⁻⁸⁸(1 + |ln a/b|)`, and within 4u of itself.
pub(in crate::loss) fn ln_ratio(a: &Rational, b: &Rational) -> Dd {
    // Near 1, ln(1 + v) = v − v²/2 + v³/3 − v⁴/4 up to v⁵/5, which is below 2⁻¹⁰⁰ of it.
    let v = (&(a - b) / b).to_dd();
    if v.hi.abs() < NEAR_ONE {
        let inner = Dd::from(1.0).div(Dd::from(3.0)).sub(v.scale(0.25));
        return v.sub(v.mul(v).mul(Dd::from(0.5).sub(v.mul(inner))));
    }
    // a/b = m·2^k with m between 1 and 2.
    let ratio = a / b;
    let (_, k) = ratio.to_bounds().lower().parts();
    let power = Rational::from_bigint(BigInt::from(1) << k.unsigned_abs());
    let m = if k < 0 { &ratio * &power } else { &ratio / &power };
    m.to_dd().ln().add(Dd::from(2.0).ln().scale(k as f64))
}
