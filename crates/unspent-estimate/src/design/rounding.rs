//! Budgets of few digits that keep all limits, in exact fractions (Lemma B4 of `theory/design.md`).

use num_rational::BigRational;
use num_traits::{One, Zero};
use unspent::{Error, Result};

use super::answer::{Designer, Limits, Solved};
use super::bound::double;
use super::budgets::Budgets;
use super::evaluator::{Evaluator, Limit};

/// Parts of ρ that are not worth a measurement.
const DROPPED: f64 = 1e-5;
/// Digits of a ρ.
pub(super) const DIGITS: i32 = 4;

/// What is worth a measurement.
struct Kept {
    kept: Vec<bool>,
    /// Of these variables, unless it is all of them.
    evaluator: Option<Evaluator>,
    /// How many times as large precisions have to be without the others.
    over: f64,
}

impl Designer<'_> {
    /// Precisions as budgets of few digits, up or down, without those that are not worth it.
    ///
    /// Upwards, all limits are kept, in exact fractions.
    pub(super) fn rounded(&self, limits: &Limits, solved: &Solved, up: bool) -> Result<Budgets> {
        let costs = self.costs();
        let Kept { kept, evaluator, .. } = self.kept(limits, solved, &costs);
        let doubles: Vec<Limit> =
            limits.exact.iter().map(|l| Limit::new(&l.variance, double(&l.limit))).collect();
        let mut factor = 1.0;
        loop {
            let budget = |j: usize| -> BigRational {
                match kept[j] {
                    true => rounded(factor * costs[j] * solved.precisions[j], up),
                    false => BigRational::zero(),
                }
            };
            let budgets = Budgets::new(&self.compiled.frame, (0..costs.len()).map(budget).collect());
            if !up {
                return Ok(budgets);
            }
            // Doubles say what is not worth an exact look.
            let measured = budgets.precisions.iter().zip(&kept).filter(|(_, kept)| **kept);
            let precisions: Vec<f64> = measured.map(|(w, _)| double(w)).collect();
            let mut worst = largest(evaluator.as_ref().unwrap_or(&self.evaluator), &precisions, &doubles);
            if worst <= 1.0 + 1e-9 {
                let exact = self.worst(limits, &budgets)?;
                if exact <= BigRational::one() {
                    return Ok(budgets);
                }
                worst = double(&exact);
            }
            // A variance is at most as many times smaller as all precisions are larger.
            factor *= worst * (1.0 + 1e-9);
        }
    }

    /// The precisions of what is worth a measurement, raised until all limits are kept. The others are 0: so
    /// small, they would leave no digit of the covariances of a unit.
    pub(super) fn worthwhile(&self, limits: &Limits, solved: &Solved) -> Vec<f64> {
        let Kept { kept, over, .. } = self.kept(limits, solved, &self.costs());
        kept.iter().zip(&solved.precisions).map(|(kept, w)| if *kept { w * over } else { 0.0 }).collect()
    }

    fn costs(&self) -> Vec<f64> {
        self.compiled.frame.variables.iter().map(|v| double(&v.cost)).collect()
    }

    /// Which variables are worth a measurement: the others are less than a small part of the budget, and
    /// without them all limits can be kept.
    fn kept(&self, limits: &Limits, solved: &Solved, costs: &[f64]) -> Kept {
        let frame = &self.compiled.frame;
        let spent: Vec<f64> = costs.iter().zip(&solved.precisions).map(|(c, w)| c * w).collect();
        let mut kept: Vec<bool> = spent.iter().map(|rho| *rho >= DROPPED * solved.cost).collect();
        // A level with exact values must stay, and a level stays with a measurement. So must the first one
        // where units are bypassed: it is what takes their budget if there is no other above.
        let production = self.compiled.offer.production();
        for (at, level) in self.compiled.offer.levels().iter().enumerate() {
            let exact = production.exact_totals.contains(&level.name)
                || production.invariants.iter().any(|invariant| invariant.level == level.name);
            let is_first = at == 0 && production.bypass.is_some();
            let count = self.compiled.offer.queries().len();
            let of_level = at * count..(at + 1) * count;
            if (exact || is_first) && !kept[of_level.clone()].contains(&true) {
                let most = of_level.max_by(|i, j| spent[*i].total_cmp(&spent[*j])).expect("a query");
                kept[most] = true;
            }
        }
        let known = frame.known(&kept);
        if frame.are_seen(limits.exact.iter().map(|limit| &limit.variance), &known) {
            let evaluator = Evaluator::new(frame, &kept, &known, &self.asked);
            let measured = solved.precisions.iter().zip(&kept).filter(|(_, kept)| **kept);
            let precisions: Vec<f64> = measured.map(|(w, _)| *w).collect();
            let doubles: Vec<Limit> =
                limits.exact.iter().map(|l| Limit::new(&l.variance, double(&l.limit))).collect();
            let over = largest(&evaluator, &precisions, &doubles);
            if over < 1.0 + 100.0 * DROPPED {
                return Kept { kept, evaluator: Some(evaluator), over: over.max(1.0) };
            }
        }
        Kept { kept: vec![true; kept.len()], evaluator: None, over: 1.0 }
    }

    /// The largest variance as a part of its limit, in exact fractions.
    fn worst(&self, limits: &Limits, budgets: &Budgets) -> Result<BigRational> {
        let frame = &self.compiled.frame;
        let mut worst = BigRational::zero();
        for limit in &limits.exact {
            let Some(value) = frame.exact_value(&limit.variance, budgets.at(frame)) else {
                return Err(Error::stated("a need is not determined", "this is an error of the program"));
            };
            worst = worst.max(value[1].clone() / &limit.limit);
        }
        Ok(worst)
    }
}

/// The largest variance as a part of its limit.
fn largest(evaluator: &Evaluator, precisions: &[f64], limits: &[Limit]) -> f64 {
    let point = evaluator.at(precisions);
    limits.iter().map(|limit| evaluator.value(limit, &point) / limit.limit).fold(0.0f64, f64::max)
}

/// A number of few digits, not below or not above.
fn rounded(value: f64, up: bool) -> BigRational {
    let exponent = pxfm::f_log10(value).floor() as i32 - (DIGITS - 1);
    let ten = BigRational::from_integer(10.into());
    let power = if exponent < 0 {
        BigRational::one() / num_traits::pow(ten, exponent.unsigned_abs() as usize)
    } else {
        num_traits::pow(ten, exponent as usize)
    };
    let steps = BigRational::from_float(value).expect("finite") / &power;
    (if up { steps.ceil() } else { steps.floor() }) * power
}
