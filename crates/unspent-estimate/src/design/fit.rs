//! The least budget: limits that are fitted to the lattice of the noise and to a list of units, and budgets
//! that keep promises.

use unspent::{Rational, Result};

use super::answer::{Designer, Found, Limits, Owner, SHORT, Solved};
use super::barrier::{COARSE, GAP, STEEPER, Start};
use super::bound::doubles;
use super::budgets::Budgets;
use super::judge::Verdict;
use super::law;
use super::needs::{Law, Units};

/// How often limits are fitted to the tree of units and to the lattice of the noise, in both directions; and
/// then only downwards.
const ROUNDS: usize = 8;

impl Designer<'_> {
    /// Limits, their solution and budgets of the least ε, within promises and on the tree of units.
    pub(super) fn least(&mut self) -> Result<Found> {
        let mut parts = vec![1.0; self.needs.promises.len()];
        let mut rounds = 0;
        // Limits are fitted to rough solutions first, each of which starts where the last one came by.
        let mut from = None;
        loop {
            let limits = self.with_promises(self.limits(&self.ones(), 1.0), &parts)?;
            let rough = self.solve_from(&limits, from.take(), COARSE)?;
            from = Some(rough.midway.clone());
            let verdicts = self.verdicts(&self.worthwhile(&limits, &rough));
            let may_widen = rounds < ROUNDS;
            if !self.suits_the_tree(&verdicts, may_widen.then_some((&limits, &rough))) && rounds < 2 * ROUNDS
            {
                rounds += 1;
                continue;
            }
            let end = Start { w: rough.precisions, gap: rough.gap / STEEPER };
            let solved = Solved { midway: rough.midway, ..self.solve_from(&limits, Some(end), GAP)? };
            let budgets = self.rounded(&limits, &solved, true)?;
            let verdicts = self.verdicts(&doubles(&budgets.precisions));
            if !self.suits_the_tree(&verdicts, None) && rounds < 2 * ROUNDS {
                rounds += 1;
                continue;
            }
            if self.keep_promises(&budgets, &mut parts)? {
                let least = self.least_of_regular(&limits, &solved);
                return Ok(Found { limits, solved, budgets, least, factor: 1.0, verdicts });
            }
        }
    }

    /// Whether the worst unit of each need is within its margin often enough. If not, limits are tightened;
    /// with a list of units those that are too tight at a solution are also widened, if that is given.
    fn suits_the_tree(
        &mut self,
        verdicts: &[Option<Verdict>],
        may_widen: Option<(&Limits, &Solved)>,
    ) -> bool {
        let listed = matches!(self.needs.units, Units::Listed(_));
        if !listed && self.needs.law == Law::Guaranteed {
            return true;
        }
        // What each need takes of the budget.
        let mut shares = vec![0.0; self.needs.needs.len()];
        if let (true, Some((limits, solved))) = (listed, may_widen) {
            for (owner, share) in limits.owners.iter().zip(&solved.shares) {
                if let Owner::Need(need) = owner {
                    shares[*need] += share;
                }
            }
        }
        let mut suits = true;
        for (need, verdict) in verdicts.iter().enumerate() {
            let Some(verdict) = verdict else { continue };
            // How many times the deviations may be what they are.
            let room = match self.needs.law {
                Law::Guaranteed => verdict.margin / (self.quantiles[need] * verdict.variance.sqrt()),
                Law::Normal => law::deviations(verdict.coverage) / self.quantiles[need],
            };
            let short = match self.needs.law {
                Law::Guaranteed => room < 1.0 - 1e-9,
                Law::Normal => verdict.coverage < self.wanted(need) - SHORT,
            };
            let wide = room > 1.0 + 2e-3 && shares[need] > 1e-4;
            if short || wide {
                suits = false;
                self.tightened[need] *= if short { room * (1.0 - 1e-6) } else { room };
            }
        }
        suits
    }

    /// Whether all promises are kept by certified ε. If not, less of their ρ may be used from now on.
    fn keep_promises(&self, budgets: &Budgets, parts: &mut [f64]) -> Result<bool> {
        let mut kept = true;
        if parts.is_empty() {
            return Ok(true);
        }
        let allocation = self.allocation(budgets, None)?;
        for (promise, part) in self.needs.promises.iter().zip(parts) {
            let Ok(epsilon) = self.epsilon(&allocation, &promise.scope) else { continue };
            let over = epsilon.upper() / promise.epsilon.value().to_f64();
            if Rational::from_f64("epsilon", epsilon.upper())? > *promise.epsilon.value() {
                kept = false;
                *part /= over.powi(2).max(1.0 + 2e-4);
            }
        }
        Ok(kept)
    }
}
