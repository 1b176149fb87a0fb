//! How far a sum of discrete Gaussians is from a Gaussian.

use unspent::residual::{absolute_residual, largest_difference};
use unspent::{Rational, Result, Round};

use super::{Claim, Study, Table, Verdict};
use crate::reproduce::published::RESIDUALS;

/// Why a residual may differ.
const RESIDUAL: &str = "One residual bound comes out smaller, evaluated as the paper describes; its own \
                        evaluation seems to have been coarser.";

impl Study {
    /// How far n equal mechanisms are from a Gaussian.
    pub(super) fn residuals(&mut self) -> Result<()> {
        let mut rows = vec![];
        for (n, row) in RESIDUALS {
            for (sigma2, printed) in ["1", "5", "10", "16"].iter().zip(row.into_iter().chain(["≪ 1e-100"]))
            {
                let exactly: Rational = sigma2.parse()?;
                let bound = absolute_residual(&exactly, n)?;
                let difference = largest_difference(&exactly, n)?;
                // The table has one digit, rounded up as a bound must be.
                let agrees = match printed.parse::<f64>() {
                    Ok(_) => {
                        bound.to_decimal(1, Round::Up)
                            == printed.parse::<Rational>()?.to_decimal(1, Round::Up)
                    }
                    Err(_) => bound.log10(Round::Up) < -100.0,
                };
                let verdict = if agrees { Verdict::Agrees } else { Verdict::Differs };
                let digits = |log: f64| {
                    let whole = log.floor();
                    format!("{:.2}e{whole}", tenth_power(log - whole))
                };
                rows.push(vec![
                    n.to_string(),
                    (*sigma2).into(),
                    printed.into(),
                    bound.to_decimal(3, Round::Up),
                    digits(difference),
                    verdict.name().into(),
                ]);
                self.claims.push(Claim {
                    what: format!("residual bound, n = {n}, σ² = {sigma2}"),
                    place: "table of residuals",
                    published: printed.into(),
                    computed: bound.to_decimal(3, Round::Up),
                    verdict,
                    why: if agrees { String::new() } else { RESIDUAL.into() },
                });
            }
        }
        self.tables.push(Table {
            id: "residuals",
            title: "Residuals: how far n equal mechanisms are from a Gaussian (the paper’s Table 2)".into(),
            note: "The largest |P[ΣX = y] − φ(y/B)/B| over y, B² = nσ². The bound is the paper's, evaluated \
                   as it describes and rounded up; it agrees if it rounds up to the printed digit. The \
                   difference itself (evaluated from the exact formula, not certified) is what it bounds."
                .into(),
            heads: vec!["n", "sigma2", "bound_published", "bound", "difference", "verdict"],
            rows,
        });
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "three digits are printed")]
fn tenth_power(x: f64) -> f64 {
    10f64.powf(x)
}
