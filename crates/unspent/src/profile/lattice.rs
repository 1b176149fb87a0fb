//! The lattice of losses, found with exact rational arithmetic.
//!
//! Every mechanism's part of the loss moves in steps of `a = Δ/σ²`. If all steps are multiples
//! `m·g` of one rational `g` (they are whenever budgets are fractions), then `μ² = M·g` with a
//! whole number `M = Σ n·Δ·m`, and the losses are exactly `g·(k − M/2)`, `k ∈ ℤ`.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, ToPrimitive};

use super::spectrum::Spectrum;
use crate::number::float::Dd;
use crate::number::{Rational, ratio_to_dd};

/// Multiples beyond this make a period too long to be sieved.
const MAX_MULTIPLE: u64 = 1 << 40;

#[derive(Debug)]
pub(crate) struct Lattice {
    pub step: Rational,
    pub step_f64: f64,
    /// `m` of each kind, in the order of the spectrum.
    multiples: Vec<u64>,
    /// `M`.
    offset: BigInt,
}

/// The losses next to ε.
#[derive(Debug)]
pub(crate) struct Position {
    /// Index `k` of the first loss strictly above ε.
    pub above: BigInt,
    /// From ε up to that loss, and from the loss at or below ε up to ε.
    pub gap: Dd,
    pub rest: Dd,
}

impl Lattice {
    pub fn find(spectrum: &Spectrum) -> Option<Lattice> {
        let steps: Option<Vec<&Rational>> = spectrum.kinds.iter().map(|k| k.step.as_ref()).collect();
        let steps = steps?;
        let largest = steps.iter().max()?;
        let too_fine = *largest / &Rational::from(MAX_MULTIPLE);
        let mut step = (*steps.first()?).clone();
        for other in &steps[1..] {
            step = step.gcd(other);
            if step < too_fine {
                return None;
            }
        }
        let multiples: Option<Vec<u64>> = steps.iter().map(|a| a.multiple_of(&step)).collect();
        let offset = spectrum.kinds.iter().map(|k| (&k.mu2 / &step).floor_and_fraction().0).sum();
        Some(Lattice { multiples: multiples?, step_f64: step.to_f64(), step, offset })
    }

    pub fn position(&self, epsilon: &Rational) -> Position {
        // ε/g + M/2 is the index of ε; its integer part is that of the loss at or below. Over a
        // common denominator, and never reduced: this is on the path of every answer.
        let (p, q) = (epsilon.numerator(), epsilon.denominator());
        let (g, h) = (self.step.numerator(), self.step.denominator());
        let qg = q * g;
        let index = ((p * h) << 1u8) + &self.offset * &qg;
        let denominator: BigInt = qg << 1u8;
        let (below, part) = index.div_mod_floor(&denominator);
        let scaled = h * &denominator;
        Position {
            above: below + BigInt::one(),
            gap: ratio_to_dd(&(g * (&denominator - &part)), &scaled),
            rest: ratio_to_dd(&(g * &part), &scaled),
        }
    }

    fn half_offset(&self) -> Rational {
        &Rational::from_bigint(self.offset.clone()) / &Rational::integer(2)
    }

    /// The loss of index `k`.
    pub fn loss(&self, k: &BigInt) -> Rational {
        &self.step * &(&Rational::from_bigint(k.clone()) - &self.half_offset())
    }

    /// `m/N` of each kind.
    pub fn turns(&self, nodes: u64) -> Vec<Dd> {
        let n = Rational::from(nodes);
        self.multiples.iter().map(|m| (&Rational::from(m % nodes) / &n).to_dd()).collect()
    }

    /// `k/N` up to whole turns.
    pub fn phase(index: &BigInt, nodes: u64) -> Dd {
        let k = index.mod_floor(&BigInt::from(nodes)).to_u64().expect("below the number of nodes");
        (&Rational::from(k) / &Rational::from(nodes)).to_dd()
    }
}
