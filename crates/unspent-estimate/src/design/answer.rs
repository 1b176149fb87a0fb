//! From needs to a design: compile, solve, round, check in fractions, certify.
//!
//! ```text
//! Needs ─▶ Compiled: variances ─▶ Problem ─▶ precisions, multipliers ─▶ rounded ρ ─▶ checked ─▶ Design
//!                                                    └▶ least ρ, in fractions
//! ```

use num_rational::BigRational;
use num_traits::Signed;
use unspent::{
    Allocation, Bounds, Delta, DiscreteGaussian, Epsilon, Error, Rational, Release, Result, Round, Scope,
};

use super::barrier::{GAP, Linear, Multipliers, Problem, Solution, Start};
use super::bound::{ExactLimit, ExactPromise, double, least_cost};
use super::budgets::Budgets;
use super::compile::{Compiled, quantile};
use super::evaluator::{Evaluator, Limit};
use super::exact::{fraction, shortened};
use super::judge::{Judge, Verdict};
use super::needs::{Goal, Needs, Rest, Units};
use super::program::ExactPoint;
use super::{gaussian, law, words};
use crate::accuracy::check_units;
use crate::answers::AnswerClasses;
use crate::matrix::dot;

/// By how much a coverage may be below what is wanted: the law is computed to about this.
pub(super) const SHORT: f64 = 2e-4;

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A need.
    Need(usize),
    /// A table that is guarded.
    Table(usize),
}

/// All limits, for a common factor of margins or of guards.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) exact: Vec<ExactLimit>,
    pub(super) owners: Vec<Owner>,
    pub(super) promises: Vec<ExactPromise>,
}

/// Where the solver ended, and what it proves.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) precisions: Vec<f64>,
    pub(super) cost: f64,
    /// The part of the cost that each limit accounts for.
    pub(super) shares: Vec<f64>,
    pub(super) multipliers: Multipliers,
    /// The relative gap of the solver's last round.
    pub(super) gap: f64,
    /// Where a problem with nearly the same limits starts.
    pub(super) midway: Start,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) limits: Limits,
    pub(super) solved: Solved,
    pub(super) budgets: Budgets,
    /// No allocation meets the needs as they were asked for with less, if that is known.
    pub(super) least: Option<BigRational>,
    /// The common factor of all margins.
    pub(super) factor: f64,
    /// What becomes of needs with these budgets.
    pub(super) verdicts: Vec<Option<Verdict>>,
}

/// A design in the making.
#[derive(Debug)]
pub(super) struct Designer<'n> {
    pub(super) needs: &'n Needs,
    pub(super) compiled: Compiled,
    /// For each need, the margin of a deviation of 1.
    pub(super) quantiles: Vec<f64>,
    /// For each need, by how much its limit is lower than the law says: the lattice of the noise.
    pub(super) tightened: Vec<f64>,
    /// What each table may be, and how many times: the guard.
    pub(super) guard: Vec<(usize, ExactLimit)>,
    /// Variances of the allocation that guards.
    pub(super) guarded_at: Option<ExactPoint>,
    /// The pairs of directions that limits may be about.
    pub(super) asked: Vec<bool>,
    pub(super) evaluator: Evaluator,
    judge: Judge,
}

impl<'n> Designer<'n> {
    pub(super) fn new(needs: &'n Needs) -> Result<Designer<'n>> {
        check_units(&needs.offer, &needs.units.per_level())?;
        let compiled = Compiled::new(&needs.offer, needs.units.per_level(), &needs.needs)?;
        let all = vec![true; compiled.frame.variables.len()];
        let known = compiled.frame.known(&all);
        let mut quantiles = vec![];
        for (number, need) in needs.needs.iter().enumerate() {
            let answers = match &need.quantity {
                super::needs::Quantity::Table { by, .. } => {
                    let name = format!("\u{1}{}", by.join("*"));
                    let query = compiled.frame.model.space().query(&name).expect("it was added");
                    let (class_of, _) = AnswerClasses::counted(&compiled.frame.model, query);
                    class_of.iter().flatten().count() as u64
                }
                _ => 1,
            };
            let units = compiled.frame.units[need.level];
            let found = quantile(need, needs.law, answers, units);
            quantiles.push(found.map_err(|e| e.at(format!("need `{}`", need.name)))?);
            let variances = compiled.needs[number].iter().map(|part| &part.variance);
            if !compiled.frame.are_seen(variances, &known) {
                return Err(Error::stated(
                    format!("need `{}`: no query on offer tells it", need.name),
                    "add a query by all attributes that it is about to [queries]",
                ));
            }
        }
        let asked = compiled.asked(matches!(needs.rest, Rest::Drop));
        let evaluator = Evaluator::new(&compiled.frame, &all, &known, &asked);
        let tightened = vec![1.0; quantiles.len()];
        let judge = Judge::new(&compiled, needs);
        let mut designer = Designer {
            needs,
            compiled,
            quantiles,
            tightened,
            guard: vec![],
            guarded_at: None,
            asked,
            evaluator,
            judge,
        };
        if let Rest::Guard { than, times } = &needs.rest {
            let precisions = designer.compiled.precisions(than)?;
            let at = designer.compiled.frame.exactly(&precisions);
            let times: BigRational = times.clone().into();
            if !times.is_positive() {
                let hint = "1.25 lets every deviation grow by a quarter";
                return Err(Error::input("times", Rational::from(times), "a number above 0", hint));
            }
            designer.guard = designer.compiled.guard(&at, &times);
            designer.guarded_at = Some(at);
        }
        let mut parts = designer.compiled.needs.iter().flatten();
        if designer.guard.is_empty() && parts.all(|part| designer.compiled.frame.is_exact(&part.variance)) {
            return Err(Error::stated(
                "needs: all of it is exact already, so that nothing has to be measured",
                "ask for something that is not exact",
            ));
        }
        Ok(designer)
    }

    /// All limits, with margins of needs so many times as wide, and those of guards.
    pub(super) fn limits(&self, wider: &[f64], guard: f64) -> Limits {
        let mut limits = Limits { exact: vec![], owners: vec![], promises: vec![] };
        for (number, parts) in self.compiled.needs.iter().enumerate() {
            // Rounded down: needs that are met then are met as they were asked.
            let factor = fraction(wider[number] * self.tightened[number] / self.quantiles[number], 50);
            for part in parts {
                let deviation = &part.margin * &factor;
                let limit = shortened(&(&deviation * &deviation), 60);
                limits.exact.push(ExactLimit { variance: part.variance.clone(), limit });
                limits.owners.push(Owner::Need(number));
            }
        }
        let times = fraction(guard * guard, 50);
        for (table, limit) in &self.guard {
            let variance = limit.variance.clone();
            limits.exact.push(ExactLimit { variance, limit: shortened(&(&limit.limit * &times), 60) });
            limits.owners.push(Owner::Table(*table));
        }
        limits
    }

    /// Adds promises, each with the part of its ρ that may be used.
    pub(super) fn with_promises(&self, mut limits: Limits, parts: &[f64]) -> Result<Limits> {
        for (promise, part) in self.needs.promises.iter().zip(parts) {
            let rho = fraction(gaussian::rho_of(&promise.epsilon, &self.needs.delta)? * part, 50);
            limits.promises.push(self.compiled.promise(promise, &rho)?);
        }
        Ok(limits)
    }

    /// The least cost within limits.
    pub(super) fn solve(&self, limits: &Limits) -> Result<Solved> {
        self.solve_from(limits, None, GAP)
    }

    /// The same to a relative gap, from where the solution of nearly the same problem came by.
    pub(super) fn solve_from(&self, limits: &Limits, from: Option<Start>, until: f64) -> Result<Solved> {
        let costs: Vec<f64> = self.compiled.frame.variables.iter().map(|v| double(&v.cost)).collect();
        let doubles = |l: &ExactLimit| Limit::new(&l.variance, double(&l.limit));
        let linear = |promise: &ExactPromise| {
            let coefficients = promise.of.iter().zip(&costs).map(|(of, c)| if *of { *c } else { 0.0 });
            Linear { coefficients: coefficients.collect(), limit: double(&promise.limit) }
        };
        let mut problem = Problem {
            evaluator: &self.evaluator,
            cost: costs.clone(),
            limits: limits.exact.iter().map(doubles).collect(),
            linear: vec![],
        };
        let promises: Vec<Linear> = limits.promises.iter().map(linear).collect();
        let cold = |problem: &Problem<'_>| -> Result<Start> {
            let proportions: Vec<f64> = costs.iter().map(|cost| 1.0 / cost).collect();
            let mut w = problem.scaled(&proportions, 0.5);
            if promises.iter().any(|p| dot(&p.coefficients, &w) >= p.limit) {
                w = self.within_promises(problem, w, &promises)?;
            }
            Ok(Start { w, gap: 1.0 })
        };
        let start = match from {
            Some(Start { w, gap }) => {
                // A little inside the limits, if it is not there already.
                let inside = if problem.allows(&w) { w } else { problem.scaled(&w, 1.0 - gap / 10.0) };
                match promises.iter().all(|p| dot(&p.coefficients, &inside) < p.limit) {
                    true => Start { w: inside, gap },
                    false => cold(&problem)?,
                }
            }
            None => cold(&problem)?,
        };
        problem.linear.clone_from(&promises);
        let Solution { precisions, multipliers, gap, midway } = problem.solve(start, until);
        let cost = dot(&costs, &precisions);
        let parts: Vec<f64> =
            limits.exact.iter().zip(&multipliers.of_variances).map(|(l, y)| y * double(&l.limit)).collect();
        let sum: f64 = parts.iter().sum();
        let shares = parts.iter().map(|part| part / sum).collect();
        Ok(Solved { precisions, cost, shares, multipliers, gap, midway })
    }

    /// A point within all limits and promises: the least common factor of the promises with which there is
    /// one, as a variable of its own.
    fn within_promises(
        &self,
        problem: &Problem<'_>,
        start: Vec<f64>,
        promises: &[Linear],
    ) -> Result<Vec<f64>> {
        let count = start.len();
        let largest = promises.iter().map(|p| dot(&p.coefficients, &start) / p.limit).fold(0.0f64, f64::max);
        let with_factor = |promise: &Linear| {
            let mut coefficients = promise.coefficients.clone();
            coefficients.push(-promise.limit);
            Linear { coefficients, limit: 0.0 }
        };
        let mut cost = vec![1e-9 / dot(&problem.cost, &start); count];
        cost.push(1.0);
        let mut linear: Vec<Linear> = promises.iter().map(with_factor).collect();
        // Half of what is promised is little enough: less would start the search at measurements of nothing.
        let mut coefficients = vec![0.0; count];
        coefficients.push(-1.0);
        linear.push(Linear { coefficients, limit: -0.5 });
        let relaxed = Problem { evaluator: problem.evaluator, cost, limits: problem.limits.clone(), linear };
        let mut w = start;
        w.push(2.0 * largest);
        let found = relaxed.solve(Start { w, gap: 1.0 }, GAP).precisions;
        let factor = found[count];
        // In the middle between what the limits and the promises need.
        let between: Vec<f64> = found[..count].iter().map(|w| w / factor.sqrt()).collect();
        if promises.iter().all(|p| dot(&p.coefficients, &between) < p.limit) {
            return Ok(between);
        }
        let worst: Vec<String> = self.needs.promises.iter().map(|p| format!("`{}`", p.scope)).collect();
        Err(Error::stated(
            format!(
                "the needs cannot be met with the promises for {}: rho of these parts would have to be {} \
                 times as large",
                worst.join(", "),
                words::short(factor)
            ),
            "widen margins of needs that are about these parts, or raise the epsilon of the promises",
        ))
    }

    /// No allocation within the limits, as they were asked for, spends less. None with a list of units:
    /// limits were fitted to it, which proves nothing.
    pub(super) fn least_of_regular(&self, limits: &Limits, solved: &Solved) -> Option<BigRational> {
        match self.needs.units {
            Units::PerLevel(_) => self.least_rho(limits, solved),
            Units::Listed(_) => None,
        }
    }

    /// No allocation within the limits, as they were asked for, spends less on a regular tree.
    pub(super) fn least_rho(&self, limits: &Limits, solved: &Solved) -> Option<BigRational> {
        // Limits that were tightened for the lattice of the noise are wider again; multipliers stay.
        let as_asked = |(limit, owner): (&ExactLimit, &Owner)| match owner {
            Owner::Need(need) if self.tightened[*need] != 1.0 => {
                let factor = fraction(self.tightened[*need] * (1.0 - 1e-12), 40);
                ExactLimit { limit: &limit.limit / (&factor * &factor), ..limit.clone() }
            }
            _ => limit.clone(),
        };
        let asked: Vec<ExactLimit> = limits.exact.iter().zip(&limits.owners).map(as_asked).collect();
        least_cost(
            &self.compiled.frame,
            &asked,
            &limits.promises,
            &self.evaluator.inverses(&self.evaluator.at(&solved.multipliers.at)),
            &solved.multipliers.of_variances,
            &solved.multipliers.of_sums,
        )
    }

    /// The allocation with these budgets.
    pub(super) fn allocation(
        &self,
        budgets: &Budgets,
        promise: Option<(Delta, Epsilon)>,
    ) -> Result<Allocation> {
        for (j, (variable, rho)) in self.compiled.frame.variables.iter().zip(&budgets.rho).enumerate() {
            let sigma2 = || Rational::from(&variable.cost / rho);
            if rho.is_positive() && DiscreteGaussian::new(sigma2(), 1).is_err() {
                let offer = &self.compiled.offer;
                let query = &offer.queries()[j % offer.queries().len()].name;
                return Err(Error::stated(
                    format!(
                        "needs: `{query}` of {} would have noise of variance {}, and noise has variances \
                         from 1e-3 to 1e12",
                        offer.levels()[variable.level].name,
                        sigma2().to_decimal(4, Round::Up)
                    ),
                    "check the margins: some are far narrower than one record, or wider than every count",
                ));
            }
        }
        let rho = |j: usize| budgets.rho[j].is_positive().then(|| Rational::from(budgets.rho[j].clone()));
        self.compiled.allocation_of(rho, promise)
    }

    /// ε of a part of an allocation, certified.
    pub(super) fn epsilon(&self, allocation: &Allocation, scope: &Scope) -> Result<Bounds<f64>> {
        Release::new(vec![allocation.clone()])?.worst_case(scope)?.epsilon(&self.needs.delta)
    }

    /// How often the error of each unit is within the margin of a need.
    pub(super) fn wanted(&self, need: usize) -> f64 {
        law::coverage(self.needs.law, self.quantiles[need])
    }

    /// The worst unit of each need; none for sets of units.
    pub(super) fn verdicts(&self, precisions: &[f64]) -> Vec<Option<Verdict>> {
        let sets: Vec<bool> = self.needs.needs.iter().map(|need| need.set.is_some()).collect();
        self.judge.verdicts(precisions, &sets)
    }

    pub(super) fn ones(&self) -> Vec<f64> {
        vec![1.0; self.needs.needs.len()]
    }

    /// The least cost if one margin were so many times as wide.
    pub(super) fn cost_with(&self, solved: &Solved, need: usize, wider: f64) -> Result<f64> {
        let mut factors = self.ones();
        factors[need] = wider;
        let parts = vec![1.0; self.needs.promises.len()];
        let limits = self.with_promises(self.limits(&factors, 1.0), &parts)?;
        Ok(self.solve_from(&limits, Some(solved.midway.clone()), GAP)?.cost)
    }
}

/// The goal's ε, if one was given.
pub(super) fn given_epsilon(goal: &Goal) -> Option<(&Epsilon, bool)> {
    match goal {
        Goal::LeastEpsilon => None,
        Goal::Epsilon { epsilon, wider } => Some((epsilon, *wider)),
    }
}
