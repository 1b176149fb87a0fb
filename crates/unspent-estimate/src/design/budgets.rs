//! Budgets, and the variances that they give.

use std::cell::OnceCell;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::exact::shortened;
use super::program::{ExactPoint, Frame, Variable};

/// Budgets of all variables.
#[derive(Debug)]
pub(super) struct Budgets {
    pub(super) rho: Vec<BigRational>,
    pub(super) precisions: Vec<BigRational>,
    at: OnceCell<ExactPoint>,
}

impl Budgets {
    pub(super) fn new(frame: &Frame, rho: Vec<BigRational>) -> Budgets {
        let precision = |(rho, v): (&BigRational, &Variable)| rho / &v.cost;
        let precisions = rho.iter().zip(&frame.variables).map(precision).collect();
        Budgets { rho, precisions, at: OnceCell::new() }
    }

    /// Variances that are not below those of the budgets, and not above by more than 2⁻³⁹ of them: at
    /// precisions that are rounded down to short numbers of a unit (Lemma B3).
    pub(super) fn at(&self, frame: &Frame) -> &ExactPoint {
        self.at.get_or_init(|| {
            let rounded = |(w, variable): (&BigRational, &Variable)| {
                let units = BigInt::from(frame.units[variable.level]);
                if w.is_zero() { w.clone() } else { shortened(&(w / &units), 40) * units }
            };
            let precisions: Vec<BigRational> =
                self.precisions.iter().zip(&frame.variables).map(rounded).collect();
            frame.exactly(&precisions)
        })
    }
}
