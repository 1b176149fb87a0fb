//! A bound of the least budget, in exact fractions (Lemma B5 of `theory/design.md`).

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::exact::fraction;
use super::program::{Frame, Variable, Variance};

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

/// Bits of the numbers that a certificate is made of. More would make the bound better by less than 10⁻⁸.
const BITS: i32 = 28;

/// No precisions within all limits cost less than this, whatever the multipliers are:
/// `F²/(θ · Σ y v) − Σ μ r` with `F = Σ y f(w)`, `θ = max −∂F/c̃`, `c̃ = c + μ` where a promise holds.
///
/// None if a variance with a multiplier is not determined at these precisions.
pub(super) fn least_cost(
    frame: &Frame,
    limits: &[ExactLimit],
    promises: &[ExactPromise],
    precisions: &[f64],
    multipliers: &[f64],
    of_promises: &[f64],
) -> Option<BigRational> {
    // Every choice of precisions gives a bound: those that are few bits by unit make short numbers.
    let near = |(variable, w): (&Variable, &f64)| {
        let units = frame.units[variable.level];
        fraction(*w / units as f64, BITS) * BigInt::from(units)
    };
    let precisions: Vec<BigRational> = frame.variables.iter().zip(precisions).map(near).collect();
    // Multipliers that do not matter are left out: every choice gives a bound.
    let largest = limits.iter().zip(multipliers).map(|(l, y)| y * double(&l.limit)).fold(0.0f64, f64::max);
    let multiplier = |(limit, y): (&ExactLimit, &f64)| match *y * double(&limit.limit) > 1e-12 * largest {
        true => fraction(*y, BITS),
        false => BigRational::zero(),
    };
    let multipliers: Vec<BigRational> = limits.iter().zip(multipliers).map(multiplier).collect();
    let of_promises: Vec<BigRational> = of_promises.iter().map(|m| fraction(m.max(0.0), BITS)).collect();
    let point = frame.exactly(&precisions);
    let (mut sum, mut allowed) = (BigRational::zero(), BigRational::zero());
    let mut summed = vec![];
    for (limit, y) in limits.iter().zip(&multipliers).filter(|(_, y)| y.is_positive()) {
        let [value, _] = frame.exact_value(&limit.variance, &point)?;
        sum += y * value;
        allowed += y * &limit.limit;
        summed.push((y, &limit.variance));
    }
    if !allowed.is_positive() {
        return None;
    }
    let slopes = frame.exact_slopes(&summed, &point);
    let mut steepest = BigRational::zero();
    for (j, (variable, slope)) in frame.variables.iter().zip(&slopes).enumerate() {
        let promised = promises.iter().zip(&of_promises).filter(|(promise, _)| promise.of[j]);
        let factor = promised.fold(BigRational::from_integer(1.into()), |sum, (_, m)| sum + m);
        let steepness = slope / (&variable.cost * factor);
        steepest = steepest.max(steepness);
    }
    let kept = promises.iter().zip(&of_promises).fold(BigRational::zero(), |sum, (p, m)| sum + m * &p.limit);
    Some((&sum * &sum / (steepest * allowed) - kept).max(BigRational::zero()))
}

pub(super) fn double(value: &BigRational) -> f64 {
    num_traits::ToPrimitive::to_f64(value).expect("finite")
}
