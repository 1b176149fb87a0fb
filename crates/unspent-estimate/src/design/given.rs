//! The best accuracy at a given ε.

use num_rational::BigRational;
use num_traits::One;
use unspent::{Epsilon, Error, Rational, Release, Result, Scope, Target};

use super::answer::{Designer, Found, Limits, Owner, Solved};
use super::bound::{double, doubles};
use super::budgets::Budgets;
use super::exact::fraction;
use super::needs::Rest;
use super::rounding::DIGITS;
use super::{gaussian, words};

impl Designer<'_> {
    /// Limits, solution and budgets at a given ε, and the common factor of all margins.
    pub(super) fn given(&mut self, epsilon: &Epsilon, wider: bool) -> Result<Found> {
        let delta = self.needs.delta.clone();
        let target = gaussian::rho_of(epsilon, &delta)?;
        let best = matches!(self.needs.rest, Rest::Best);
        let parts = vec![1.0; self.needs.promises.len()];
        // What is proved is of the needs as they were asked for, and not of what is spent here.
        let Found { limits, solved, least, .. } = self.least()?;
        if solved.cost > target && (best || !wider) {
            return Err(self.too_little(epsilon, &limits, &solved));
        }
        if best {
            // Beside an even split of the same budget.
            let count = self.compiled.frame.variables.len();
            let even: Vec<BigRational> = (self.compiled.frame.variables.iter())
                .map(|v| fraction(target / count as f64, 40) / &v.cost)
                .collect();
            let at = self.compiled.frame.exactly(&even);
            self.guard = self.compiled.guard(&at, &BigRational::one());
        }
        let at = |designer: &Designer<'_>, factor: f64| -> Result<(Limits, Solved)> {
            // Budgets are rounded down by up to a thousandth, and the needs are to be met all the same.
            let (needs, guard) = if best { (0.999, factor) } else { (factor, 1.0) };
            let wider = vec![needs; designer.needs.needs.len()];
            let limits = designer.with_promises(designer.limits(&wider, guard), &parts)?;
            let solved = designer.solve(&limits)?;
            Ok((limits, solved))
        };
        let fixed = best || !self.guard.is_empty() || !self.needs.promises.is_empty();
        let (limits, solved, factor) = match fixed {
            // All limits scale: a factor of margins is the square root of one of the budget (B3).
            false => {
                let factor = (solved.cost / target).sqrt();
                let (limits, solved) = at(self, factor)?;
                (limits, solved, factor)
            }
            true => {
                let (mut low, mut high) = (1e-3f64, 1e3f64);
                let (mut limits, mut solved) = at(self, high)?;
                if solved.cost > target {
                    return Err(self.too_little(epsilon, &limits, &solved));
                }
                while high / low > 1.0 + 1e-6 {
                    let middle = (low * high).sqrt();
                    let found = at(self, middle)?;
                    if found.1.cost > target {
                        low = middle;
                    } else {
                        (limits, solved, high) = (found.0, found.1, middle);
                    }
                }
                (limits, solved, high)
            }
        };
        let budgets = self.spending(&limits, &solved, epsilon)?;
        let verdicts = self.verdicts(&doubles(&budgets.precisions));
        Ok(Found { limits, solved, budgets, least, factor: if best { 1.0 } else { factor }, verdicts })
    }

    /// Budgets in these proportions that spend ε, certified.
    fn spending(&self, limits: &Limits, solved: &Solved, epsilon: &Epsilon) -> Result<Budgets> {
        let target = Target { epsilon: epsilon.clone(), delta: self.needs.delta.clone() };
        let mut scaled = solved.clone();
        for _ in 0..8 {
            let budgets = self.rounded(limits, &scaled, false)?;
            let release = Release::new(vec![self.allocation(&budgets, None)?])?;
            let worst = release.worst_case(&Scope::Total)?;
            let factor = worst.scale_meeting(&target)?.satisfying;
            if factor <= Rational::integer(1) && factor.to_f64() > 1.0 - 5e-4 {
                return Ok(budgets);
            }
            // Rounding down takes up to 10⁻³ of a budget.
            let factor = factor.to_f64() * (1.0 - 1e-9);
            scaled.precisions.iter_mut().for_each(|w| *w /= factor);
        }
        let budgets = self.rounded(limits, &scaled, false)?;
        match Release::new(vec![self.allocation(&budgets, None)?])?
            .worst_case(&Scope::Total)?
            .meets(&target)?
        {
            true => Ok(budgets),
            false => Err(Error::stated(
                format!("no budgets of {DIGITS} digits were found that keep epsilon = {epsilon}"),
                "give a slightly larger epsilon",
            )),
        }
    }

    fn too_little(&self, epsilon: &Epsilon, limits: &Limits, solved: &Solved) -> Error {
        let take = gaussian::epsilon_of(solved.cost, &self.needs.delta).unwrap_or(f64::INFINITY);
        let least = self.least_rho(limits, solved).map_or(0.0, |rho| double(&rho));
        let mut shares = vec![0.0; self.needs.needs.len()];
        let mut rest = 0.0;
        for (owner, share) in limits.owners.iter().zip(&solved.shares) {
            match owner {
                Owner::Need(need) => shares[*need] += share,
                Owner::Table(_) => rest += share,
            }
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
        let name =
            |need: &usize| format!("`{}` ({})", self.needs.needs[*need].name, words::percent(shares[*need]));
        let named: Vec<String> = order.iter().filter(|n| shares[**n] >= 0.01).take(3).map(name).collect();
        let guard =
            if rest >= 0.01 { format!("; the guard takes {}", words::percent(rest)) } else { String::new() };
        Error::stated(
            format!(
                "the needs cannot be met with epsilon = {epsilon}: they take about {} (rho of at least {}, \
                 certified)",
                words::short(take),
                words::short(least)
            ),
            format!("widen the margins that take most of it: {}{guard}", named.join(", ")),
        )
    }
}
