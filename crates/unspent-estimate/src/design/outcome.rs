//! What became of every need, table and promise.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use unspent::{Allocation, Epsilon, Error, Neighbours, Rational, Result, Scope};

use super::answer::{Designer, Found, Owner, SHORT, given_epsilon};
use super::bound::{double, doubles};
use super::compile::Compiled;
use super::exact::shortened;
use super::judge::Verdict;
use super::needs::{Law, Need, Needs, Quantity, Rest, UnitSet, Units};
use super::program::ExactPoint;
use super::report::{Checked, Design, Explained, Guarded, Importance, NeedMet, PromiseKept, TableOfDesign};
use super::{gaussian, law};

/// Below this σ² the lattice of the noise matters: the least ρ need not have the least ε.
const SMALL_SIGMA2: f64 = 0.5;

impl Needs {
    /// The allocation with the least budget that meets all needs. `prices` says whether it is found out how
    /// much each need costs, which takes one more solution for each.
    pub fn design(&self, prices: bool) -> Result<Design> {
        if self.needs.is_empty() {
            return Err(Error::stated("needs: there is none", "say what must be known with [[needs]]"));
        }
        let given = given_epsilon(&self.goal);
        if matches!(self.rest, Rest::Best) && given.is_none() {
            return Err(Error::stated(
                "rest: `best` is about what is left of a given epsilon",
                "give an epsilon, or say what happens to other tables with guard or drop",
            ));
        }
        let mut designer = Designer::new(self)?;
        let found = match given {
            None => designer.least()?,
            Some((epsilon, wider)) => designer.given(epsilon, wider)?,
        };
        designer.report(&found, prices)
    }

    /// Which needs an allocation meets.
    pub fn check(&self, allocation: &Allocation) -> Result<Checked> {
        let designer = Designer::new(self)?;
        let precisions = designer.compiled.precisions(allocation)?;
        let at = designer.compiled.frame.exactly(&precisions);
        let verdicts = designer.verdicts(&doubles(&precisions));
        let needs =
            verdicts.iter().enumerate().map(|(need, verdict)| designer.met(need, &at, verdict)).collect();
        Ok(Checked {
            allocation: allocation.name().into(),
            rho: allocation.rho(),
            delta: self.delta.clone(),
            epsilon: designer.epsilon(allocation, &Scope::Total)?,
            law: self.law,
            units: self.units.clone(),
            needs,
        })
    }
}

/// What an allocation is optimal for: for which importance of its tables no other one has all deviations as
/// small with less.
pub fn explain(allocation: &Allocation, units: &Units) -> Result<Explained> {
    let delta = match allocation.delta() {
        Some(delta) => delta.clone(),
        None => "1e-10".parse()?,
    };
    let needs = Needs {
        offer: allocation.clone(),
        units: units.clone(),
        delta,
        goal: super::Goal::LeastEpsilon,
        law: Law::Normal,
        needs: vec![],
        rest: Rest::Guard { than: Box::new(allocation.clone()), times: Rational::integer(1) },
        promises: vec![],
    };
    let designer = Designer::new(&needs)?;
    let limits = designer.limits(&[], 1.0);
    let solved = designer.solve(&limits)?;
    let least = designer.least_rho(&limits, &solved).expect("all tables are determined");
    let compiled = &designer.compiled;
    let precisions = compiled.precisions(allocation)?;
    let at = designer.guarded_at.as_ref().expect("there is a guard");
    let rho = double(&allocation.rho().into());
    let mut tables: Vec<Importance> = vec![];
    for (number, table) in compiled.tables.iter().enumerate() {
        let of_table = limits.owners.iter().zip(&solved.shares);
        let share =
            of_table.filter(|(owner, _)| **owner == Owner::Table(number)).map(|(_, share)| share).sum();
        let Some(deviation) = deviation(compiled, number, at) else { continue };
        let variable = table.level * allocation.queries().len() + table.query;
        tables.push(Importance {
            level: allocation.levels()[table.level].name.clone(),
            query: allocation.queries()[table.query].name.clone(),
            share,
            spent: double(&(&precisions[variable] * &compiled.frame.variables[variable].cost)) / rho,
            deviation,
        });
    }
    tables.sort_by(|a, b| b.share.total_cmp(&a.share));
    Ok(Explained {
        allocation: allocation.name().into(),
        rho: allocation.rho(),
        least_rho: shortened(&least, 60).into(),
        units: units.clone(),
        tables,
    })
}

/// The largest deviation of an answer of a table; none if one is not determined.
fn deviation(compiled: &Compiled, table: usize, at: &ExactPoint) -> Option<f64> {
    let mut largest = BigRational::zero();
    for variance in &compiled.tables[table].variances {
        let [_, value] = compiled.frame.exact_value(variance, at)?;
        largest = largest.max(value);
    }
    Some(double(&largest).sqrt())
}

impl Designer<'_> {
    fn report(&self, found: &Found, prices: bool) -> Result<Design> {
        let Found { limits, solved, budgets, least, factor, verdicts } = found;
        let plain = self.allocation(budgets, None)?;
        let epsilon = self.epsilon(&plain, &Scope::Total)?;
        let stated = match given_epsilon(&self.needs.goal) {
            Some((epsilon, _)) => epsilon.clone(),
            // Rounded up, so that the file keeps what it says.
            None => Epsilon::new(upward(epsilon.upper())?)?,
        };
        let allocation = self.allocation(budgets, Some((self.needs.delta.clone(), stated)))?;
        let precisions = &budgets.precisions;
        let at = budgets.at(&self.compiled.frame);
        let mut needs: Vec<NeedMet> =
            verdicts.iter().enumerate().map(|(need, verdict)| self.met(need, at, verdict)).collect();
        let mut rest_share = 0.0;
        for (owner, share) in limits.owners.iter().zip(&solved.shares) {
            match owner {
                Owner::Need(need) => needs[*need].share += share,
                Owner::Table(_) => rest_share += share,
            }
        }
        if prices && given_epsilon(&self.needs.goal).is_none() {
            let before = gaussian::epsilon_of(solved.cost, &self.needs.delta)?;
            for (number, need) in needs.iter_mut().enumerate() {
                let saved = match need.share < 1e-5 {
                    true => 0.0,
                    false => {
                        before
                            - gaussian::epsilon_of(self.cost_with(solved, number, 1.1)?, &self.needs.delta)?
                    }
                };
                need.tenth_wider_saves = Some(saved);
            }
        }
        let mut tables = vec![];
        let offer = &self.compiled.offer;
        for (number, table) in self.compiled.tables.iter().enumerate() {
            let variable = table.level * offer.queries().len() + table.query;
            let measured = budgets.rho[variable].is_positive();
            tables.push(TableOfDesign {
                level: offer.levels()[table.level].name.clone(),
                query: offer.queries()[table.query].name.clone(),
                rho: measured.then(|| budgets.rho[variable].clone().into()),
                sigma2: measured.then(|| (BigRational::one() / &precisions[variable]).into()),
                deviation: deviation(&self.compiled, number, at),
            });
        }
        let mut promises = vec![];
        for promise in &self.needs.promises {
            promises.push(PromiseKept {
                scope: promise.scope.clone(),
                promised: promise.epsilon.value().clone(),
                epsilon: self.epsilon(&plain, &promise.scope)?,
            });
        }
        let sigma2 = plain.measurements().filter_map(|(_, _, m)| m.noise.sigma2());
        let sigma2 = sigma2.map(Rational::to_f64).fold(f64::MAX, f64::min);
        let epsilon_of_least_rho = match least {
            Some(rho) if rho.is_positive() => Some(gaussian::epsilon_of(double(rho), &self.needs.delta)?),
            _ => None,
        };
        Ok(Design {
            rho: plain.rho(),
            allocation,
            // Rounded down, it is a bound still, and can be read.
            least_rho: least.as_ref().map(|rho| shortened(rho, 60).into()),
            delta: self.needs.delta.clone(),
            epsilon,
            epsilon_of_least_rho,
            factor: *factor,
            law: self.needs.law,
            units: self.needs.units.clone(),
            guarded: self.guarded(at),
            needs,
            rest_share,
            tables,
            promises,
            small_sigma2: (sigma2 < SMALL_SIGMA2).then_some(sigma2),
            assumptions: self.assumptions(),
        })
    }

    /// How a guard was kept.
    fn guarded(&self, at: &ExactPoint) -> Option<Guarded> {
        let Rest::Guard { than, times } = &self.needs.rest else { return None };
        let mut found = Guarded { than: than.name().into(), times: times.to_f64(), largest: 0.0, at: None };
        for (number, limit) in &self.guard {
            let [_, value] = self.compiled.frame.exact_value(&limit.variance, at)?;
            let ratio = double(&(value / &limit.limit)).sqrt() * found.times;
            if ratio > found.largest {
                let table = &self.compiled.tables[*number];
                let offer = &self.compiled.offer;
                let names = (&offer.levels()[table.level].name, &offer.queries()[table.query].name);
                (found.largest, found.at) = (ratio, Some((names.0.clone(), names.1.clone())));
            }
        }
        Some(found)
    }

    /// What became of a need at some precisions.
    fn met(&self, number: usize, at: &ExactPoint, verdict: &Option<Verdict>) -> NeedMet {
        let need = &self.needs.needs[number];
        let mut largest = Some(BigRational::zero());
        let mut margin = 1.0;
        for part in &self.compiled.needs[number] {
            margin = double(&part.margin);
            largest = match (largest, self.compiled.frame.exact_value(&part.variance, at)) {
                (Some(largest), Some([_, value])) => Some(largest.max(value)),
                _ => None,
            };
        }
        let mut deviation = largest.map_or(f64::INFINITY, |value| double(&value).sqrt());
        if let (Units::Listed(_), Some(verdict)) = (&self.needs.units, verdict) {
            deviation = verdict.variance.sqrt();
        }
        let (asked, population) = match &need.quantity {
            Quantity::Share { margin, population, .. } => (margin.to_f64(), Some(population.to_f64())),
            Quantity::Table { margin, .. } | Quantity::Count { margin, .. } => (margin.to_f64(), None),
        };
        // Part of the margin in records is the same part of the margin of a share.
        let predicted = asked * self.quantiles[number] * deviation / margin;
        let coverage = match (self.needs.law, verdict) {
            (Law::Normal, Some(verdict)) => verdict.coverage,
            (law, _) => law::coverage(law, margin / deviation),
        };
        // The law is computed to about SHORT; rounding of doubles is far below the other.
        let met = match (self.needs.law, verdict) {
            (Law::Normal, Some(_)) => coverage >= self.wanted(number) - 2.0 * SHORT,
            _ => predicted <= asked * (1.0 + 1e-9),
        };
        NeedMet {
            name: need.name.clone(),
            level: self.compiled.offer.levels()[need.level].name.clone(),
            quantity: self.in_words(need),
            asked,
            predicted,
            is_share: population.is_some(),
            population,
            confidence: need.confidence.to_f64(),
            coverage,
            share: 0.0,
            tenth_wider_saves: None,
            met,
        }
    }

    fn in_words(&self, need: &Need) -> String {
        let what = need.quantity.in_words(&self.compiled.offer);
        match &need.set {
            None => what,
            Some(UnitSet::Scattered(count)) => format!("{what}, {count} units scattered"),
            Some(UnitSet::Packed(count)) => format!("{what}, {count} units packed"),
            Some(set) => {
                let levels = self.compiled.offer.levels();
                let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
                format!("{what}, {}", set.in_words(need.level, &names))
            }
        }
    }

    fn assumptions(&self) -> Vec<String> {
        let mut said = vec![
            "Margins are of unbiased estimates (`unspent estimate`) from all measurements, not of single \
             noisy counts and not of whole tables."
                .to_string(),
        ];
        said.push(match self.needs.law {
            Law::Normal => {
                "Errors are taken for normal: no guarantee. Counts are whole, which matters where σ² is \
                 small."
                    .into()
            }
            Law::Guaranteed => {
                "Margins are guaranteed: errors are sub-Gaussian, whatever the design is.".into()
            }
        });
        let numbers: Vec<String> = self.needs.units.per_level().iter().map(u64::to_string).collect();
        let numbers = numbers.join(", ");
        said.push(match self.needs.units {
            Units::PerLevel(_) => format!(
                "Units: {numbers} by level, each with as many units in it as any other of its level. A unit \
                 with more has larger errors."
            ),
            Units::Listed(_) => format!(
                "Units: {numbers} by level, as listed. Margins hold for every unit; those of sets of units, \
                 and the guard, are for a regular tree with these numbers."
            ),
        });
        let offer = &self.compiled.offer;
        if offer.production().bypass.is_some() {
            said.push("No unit is bypassed.".into());
        }
        let root = self.needs.units.per_level()[0] == 1 && offer.production().exact_totals.is_empty();
        if root && offer.neighbours() == Neighbours::Bounded {
            said.push(format!(
                "The total of {} is not known. With bounded neighbours it never changes: if it is published, \
                 say so with exact_totals, and less is needed.",
                offer.levels()[0].name
            ));
        }
        said
    }
}

/// Rounded up to six digits after the point, or to six digits.
fn upward(value: f64) -> Result<Rational> {
    let exact = BigRational::from_float(value).expect("finite");
    let digits = (5 - pxfm::f_log10(value).floor() as i32).max(6);
    let power = num_traits::pow(BigRational::from_integer(10.into()), digits.unsigned_abs() as usize);
    Ok(((exact * &power).ceil() / power).into())
}
