//! From needs to a design: compile, solve, round, check in fractions, certify.
//!
//! ```text
//! Needs ─▶ Compiled: variances ─▶ Problem ─▶ precisions, multipliers ─▶ rounded ρ ─▶ checked ─▶ Design
//!                                                    └▶ least ρ, in fractions
//! ```

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use unspent::{Allocation, Bounds, Delta, Epsilon, Error, Rational, Release, Result, Scope};

use super::barrier::{Linear, Multipliers, Problem, Solution, dot};
use super::bound::{ExactLimit, ExactPromise, double, least_cost};
use super::compile::{Compiled, quantile};
use super::evaluator::{Evaluator, Limit};
use super::exact::{fraction, shortened};
use super::judge::{Judge, Verdict};
use super::needs::{Goal, Law, Needs, Rest, Units};
use super::{gaussian, law, words};
use crate::accuracy::check_units;
use crate::answers::AnswerClasses;

/// Parts of ρ that are not worth a measurement.
const DROPPED: f64 = 1e-5;
/// Digits of a ρ.
pub(super) const DIGITS: i32 = 4;
/// How often limits are fitted to the tree of units and to the lattice of the noise, in both directions; and
/// then only downwards.
const ROUNDS: usize = 8;
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
    multipliers: Multipliers,
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
    evaluator: Evaluator,
    judge: Judge,
}

impl<'n> Designer<'n> {
    pub(super) fn new(needs: &'n Needs) -> Result<Designer<'n>> {
        check_units(&needs.offer, &needs.units.per_level())?;
        let compiled = Compiled::new(&needs.offer, needs.units.per_level(), &needs.needs)?;
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
            let all = vec![true; compiled.frame.variables.len()];
            if !compiled.needs[number].iter().all(|part| compiled.frame.is_seen(&part.variance, &all)) {
                return Err(Error::stated(
                    format!("need `{}`: no query on offer tells it", need.name),
                    "add a query by all attributes that it is about to [queries]",
                ));
            }
        }
        let evaluator = Evaluator::new(&compiled.frame, &vec![true; compiled.frame.variables.len()]);
        let tightened = vec![1.0; quantiles.len()];
        let judge = Judge::new(&compiled, needs);
        let mut designer =
            Designer { needs, compiled, quantiles, tightened, guard: vec![], evaluator, judge };
        if let Rest::Guard { than, times } = &needs.rest {
            let precisions = designer.compiled.precisions(than)?;
            let at = designer.compiled.frame.exactly(&precisions);
            let times: BigRational = times.clone().into();
            if !times.is_positive() {
                let hint = "1.25 lets every deviation grow by a quarter";
                return Err(Error::input("times", Rational::from(times), "a number above 0", hint));
            }
            designer.guard = designer.compiled.guard(&at, &times);
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
                let limit = shortened(&(&deviation * &deviation));
                limits.exact.push(ExactLimit { variance: part.variance.clone(), limit });
                limits.owners.push(Owner::Need(number));
            }
        }
        let times = fraction(guard * guard, 50);
        for (table, limit) in &self.guard {
            let variance = limit.variance.clone();
            limits.exact.push(ExactLimit { variance, limit: shortened(&(&limit.limit * &times)) });
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
        let proportions: Vec<f64> = costs.iter().map(|cost| 1.0 / cost).collect();
        let mut start = problem.scaled(&proportions, 0.5);
        let promises: Vec<Linear> = limits.promises.iter().map(linear).collect();
        if promises.iter().any(|p| dot(&p.coefficients, &start) >= p.limit) {
            start = self.within_promises(&problem, start, &promises)?;
        }
        problem.linear = promises;
        let Solution { precisions, multipliers } = problem.solve(start);
        let cost = dot(&costs, &precisions);
        let parts: Vec<f64> =
            limits.exact.iter().zip(&multipliers.of_variances).map(|(l, y)| y * double(&l.limit)).collect();
        let sum: f64 = parts.iter().sum();
        let shares = parts.iter().map(|part| part / sum).collect();
        Ok(Solved { precisions, cost, shares, multipliers })
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
        let mut from = start;
        from.push(2.0 * largest);
        let found = relaxed.solve(from).precisions;
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

    /// No allocation within the limits, as they were asked for, spends less.
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
            &solved.multipliers.at,
            &solved.multipliers.of_variances,
            &solved.multipliers.of_sums,
        )
    }

    /// Precisions as budgets of few digits, up or down, without those that are not worth it.
    ///
    /// Upwards, all limits are kept, in exact fractions.
    pub(super) fn rounded(&self, limits: &Limits, solved: &Solved, up: bool) -> Result<Vec<BigRational>> {
        let frame = &self.compiled.frame;
        let costs: Vec<f64> = frame.variables.iter().map(|v| double(&v.cost)).collect();
        let kept = self.kept(limits, solved, &costs);
        let mut factor = 1.0;
        loop {
            let budget = |j: usize| -> BigRational {
                match kept[j] {
                    true => rounded(factor * costs[j] * solved.precisions[j], up),
                    false => BigRational::zero(),
                }
            };
            let budgets: Vec<BigRational> = (0..costs.len()).map(budget).collect();
            if !up {
                return Ok(budgets);
            }
            let worst = self.worst(limits, &budgets)?;
            if worst <= BigRational::one() {
                return Ok(budgets);
            }
            // A variance is at most as many times smaller as all precisions are larger.
            factor *= double(&worst) * (1.0 + 1e-9);
        }
    }

    /// Which variables are worth a measurement: the others are less than a small part of the budget, and
    /// without them all limits can be kept.
    fn kept(&self, limits: &Limits, solved: &Solved, costs: &[f64]) -> Vec<bool> {
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
        if limits.exact.iter().all(|limit| frame.is_seen(&limit.variance, &kept)) {
            let evaluator = Evaluator::new(frame, &kept);
            let precisions: Vec<f64> =
                solved.precisions.iter().zip(&kept).filter(|(_, k)| **k).map(|(w, _)| *w).collect();
            let point = evaluator.at(&precisions);
            let over = |l: &ExactLimit| {
                let limit = Limit::new(&l.variance, double(&l.limit));
                evaluator.value(&limit, &point) / limit.limit
            };
            if limits.exact.iter().map(over).fold(0.0f64, f64::max) < 1.0 + 100.0 * DROPPED {
                return kept;
            }
        }
        vec![true; kept.len()]
    }

    /// The largest variance as a part of its limit, in exact fractions.
    fn worst(&self, limits: &Limits, budgets: &[BigRational]) -> Result<BigRational> {
        let frame = &self.compiled.frame;
        let precisions: Vec<BigRational> =
            budgets.iter().zip(&frame.variables).map(|(rho, v)| rho / &v.cost).collect();
        let point = frame.exactly(&precisions);
        let mut worst = BigRational::zero();
        for limit in &limits.exact {
            let Some(value) = frame.exact_value(&limit.variance, &point) else {
                return Err(Error::stated("a need is not determined", "this is an error of the program"));
            };
            worst = worst.max(value[1].clone() / &limit.limit);
        }
        Ok(worst)
    }

    /// The allocation with these budgets.
    pub(super) fn allocation(
        &self,
        budgets: &[BigRational],
        promise: Option<(Delta, Epsilon)>,
    ) -> Result<Allocation> {
        let rho = |j: usize| budgets[j].is_positive().then(|| Rational::from(budgets[j].clone()));
        self.compiled.allocation_of(rho, promise)
    }

    /// ε of a part of an allocation, certified.
    pub(super) fn epsilon(&self, allocation: &Allocation, scope: &Scope) -> Result<Bounds<f64>> {
        Release::new(vec![allocation.clone()])?.worst_case(scope)?.epsilon(&self.needs.delta)
    }

    /// Limits, their solution and budgets of the least ε, within promises and on the tree of units.
    pub(super) fn least(&mut self) -> Result<(Limits, Solved, Vec<BigRational>)> {
        let mut parts = vec![1.0; self.needs.promises.len()];
        let mut rounds = 0;
        loop {
            let limits = self.with_promises(self.limits(&self.ones(), 1.0), &parts)?;
            let solved = self.solve(&limits)?;
            if !self.suits_the_tree(&limits, &solved, rounds < ROUNDS) && rounds < 2 * ROUNDS {
                rounds += 1;
                continue;
            }
            let budgets = self.rounded(&limits, &solved, true)?;
            if self.keep_promises(&budgets, &mut parts)? {
                return Ok((limits, solved, budgets));
            }
        }
    }

    /// Whether the worst unit of each need is within its margin often enough. If not, limits are tightened;
    /// with a list of units those that are too tight are also widened, as long as that is allowed.
    fn suits_the_tree(&mut self, limits: &Limits, solved: &Solved, may_widen: bool) -> bool {
        let listed = matches!(self.needs.units, Units::Listed(_));
        if !listed && self.needs.law == Law::Guaranteed {
            return true;
        }
        let mut shares = vec![0.0; self.needs.needs.len()];
        for (owner, share) in limits.owners.iter().zip(&solved.shares) {
            if let Owner::Need(need) = owner {
                shares[*need] += share;
            }
        }
        let mut suits = true;
        for (need, verdict) in self.verdicts(&solved.precisions).into_iter().enumerate() {
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
            let wide = listed && may_widen && room > 1.0 + 2e-3 && shares[need] > 1e-4;
            if short || wide {
                suits = false;
                self.tightened[need] *= if short { room * (1.0 - 1e-6) } else { room };
            }
        }
        suits
    }

    /// How often the error of each unit is within the margin of a need.
    pub(super) fn wanted(&self, need: usize) -> f64 {
        law::coverage(self.needs.law, self.quantiles[need])
    }

    /// The worst unit of each need; none for sets of units.
    pub(super) fn verdicts(&self, precisions: &[f64]) -> Vec<Option<Verdict>> {
        let sets: Vec<bool> = self.needs.needs.iter().map(|need| need.set.is_some()).collect();
        self.judge.verdicts(&self.compiled, precisions, &sets)
    }

    /// Whether all promises are kept by certified ε. If not, less of their ρ may be used from now on.
    fn keep_promises(&self, budgets: &[BigRational], parts: &mut [f64]) -> Result<bool> {
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

    fn ones(&self) -> Vec<f64> {
        vec![1.0; self.needs.needs.len()]
    }

    /// The least cost if one margin were so many times as wide.
    pub(super) fn cost_with(&self, need: usize, wider: f64) -> Result<f64> {
        let mut factors = self.ones();
        factors[need] = wider;
        let parts = vec![1.0; self.needs.promises.len()];
        Ok(self.solve(&self.with_promises(self.limits(&factors, 1.0), &parts)?)?.cost)
    }
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

/// The goal's ε, if one was given.
pub(super) fn given_epsilon(goal: &Goal) -> Option<(&Epsilon, bool)> {
    match goal {
        Goal::LeastEpsilon => None,
        Goal::Epsilon { epsilon, wider } => Some((epsilon, *wider)),
    }
}
