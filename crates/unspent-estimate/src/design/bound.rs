//! A bound of the least budget, in exact fractions (Lemma B5 of `theory/design.md`).

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::evaluator::Inverse;
use super::exact::{fixed_up, fraction};
use super::program::{Frame, Variance};
use super::tangent::Tangent;

/// A variance that must be at most its limit.
#[derive(Clone, Debug)]
pub(super) struct ExactLimit {
    pub(super) variance: Variance,
    pub(super) limit: BigRational,
}

/// A sum of ρ of some variables that must be at most a limit.
#[derive(Clone, Debug)]
pub(super) struct ExactPromise {
    /// Which variables.
    pub(super) of: Vec<bool>,
    pub(super) limit: BigRational,
}

/// Bits of multipliers. More would make the bound better by less than 10⁻⁸.
const BITS: i32 = 28;

/// No precisions within all limits cost less than this, whatever the multipliers y and μ are and at whatever
/// point inverses are taken: `L²/(θ · Σ y v) − Σ μ r`, where `2L − S·w` is a [`Tangent`] below `Σ y f(w)`,
/// `θ = max S/c̃`, and `c̃ = c + μ` where a promise holds.
///
/// None if there is no multiplier above 0.
pub(super) fn least_cost(
    frame: &Frame,
    limits: &[ExactLimit],
    promises: &[ExactPromise],
    inverses: &[Inverse],
    multipliers: &[f64],
    of_promises: &[f64],
) -> Option<BigRational> {
    // Multipliers that do not matter are left out: every choice gives a bound.
    let largest = limits.iter().zip(multipliers).map(|(l, y)| y * double(&l.limit)).fold(0.0f64, f64::max);
    let multiplier = |(limit, y): (&ExactLimit, &f64)| match *y * double(&limit.limit) > 1e-12 * largest {
        true => fraction(*y, BITS),
        false => BigRational::zero(),
    };
    let multipliers: Vec<BigRational> = limits.iter().zip(multipliers).map(multiplier).collect();
    let of_promises: Vec<BigRational> = of_promises.iter().map(|m| fraction(m.max(0.0), BITS)).collect();
    let mut allowed = BigInt::zero();
    let mut summed = vec![];
    for (limit, y) in limits.iter().zip(&multipliers).filter(|(_, y)| y.is_positive()) {
        allowed += fixed_up(&(y.numer() * limit.limit.numer()), &(y.denom() * limit.limit.denom()));
        summed.push((y, &limit.variance));
    }
    if !allowed.is_positive() {
        return None;
    }
    let Tangent { constant, slopes } = frame.tangent(&summed, inverses);
    let mut steepest = BigInt::zero();
    for (j, (variable, slope)) in frame.variables.iter().zip(slopes).enumerate() {
        let promised = promises.iter().zip(&of_promises).filter(|(promise, _)| promise.of[j]);
        let cost = promised.fold(BigRational::one(), |sum, (_, m)| sum + m) * &variable.cost;
        steepest = steepest.max(Integer::div_ceil(&(slope * cost.denom()), cost.numer()));
    }
    if !constant.is_positive() || !steepest.is_positive() {
        return Some(BigRational::zero());
    }
    let kept = promises.iter().zip(&of_promises).fold(BigRational::zero(), |sum, (p, m)| sum + m * &p.limit);
    Some((BigRational::new(&constant * &constant, steepest * allowed) - kept).max(BigRational::zero()))
}

pub(super) fn double(value: &BigRational) -> f64 {
    num_traits::ToPrimitive::to_f64(value).expect("finite")
}

pub(super) fn doubles(values: &[BigRational]) -> Vec<f64> {
    values.iter().map(double).collect()
}
