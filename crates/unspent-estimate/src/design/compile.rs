//! Needs as limits of variances.

use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use unspent::allocation::{Budget, Bypass, Production};
use unspent::{Allocation, Delta, Epsilon, Error, Rational, Release, Result};

use super::bound::{ExactLimit, ExactPromise};
use super::exact::shortened;
use super::needs::{Law, Need, Promise, Quantity, Selection, UnitSet};
use super::program::{ExactPoint, Frame, Variable, Variance};
use crate::allocation::{SchemaQuery, exact_queries};
use crate::answers::AnswerClasses;
use crate::margin::Confidence;
use crate::model::Model;
use crate::space::Space;

/// What an allocation offers, and the variances of all of its tables and of some needs.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) offer: Allocation,
    pub(super) frame: Frame,
    /// For each need its variances, each with a margin for a deviation of 1.
    pub(super) needs: Vec<Vec<Part>>,
    /// For each level and query of the allocation, the variances of its answers.
    pub(super) tables: Vec<Table>,
}

/// A query at a level.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) level: usize,
    /// By its place in the allocation.
    pub(super) query: usize,
    pub(super) variances: Vec<Variance>,
}

/// A part of a need: a deviation of a sum of cells that must be at most `margin/z`.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) variance: Variance,
    /// In records.
    pub(super) margin: BigRational,
    /// The cells on every axis that are counted, each with a factor: a share has two.
    pub(super) counted: Vec<(BigRational, Vec<Vec<bool>>)>,
}

impl Compiled {
    pub(super) fn new(offer: &Allocation, units: Vec<u64>, needs: &[Need]) -> Result<Compiled> {
        if !offer.also().is_empty() {
            return Err(Error::stated(
                format!("`{}`: a design does not count the mechanisms under [[also]]", offer.name()),
                "leave them out here, and add them to the file that is designed: its certificate counts them",
            ));
        }
        if !offer.is_nested() {
            return Err(Error::stated(
                format!("`{}`: the levels are not nested", offer.name()),
                "an estimate adds up the units of a level to those above",
            ));
        }
        let mut tables: Vec<(String, &[String])> = vec![];
        for need in needs {
            if let Quantity::Table { by, .. } = &need.quantity {
                tables.push((format!("\u{1}{}", by.join("*")), by));
            }
        }
        let asked: Vec<SchemaQuery<'_>> =
            tables.iter().map(|(name, by)| SchemaQuery { name, by, known: false }).collect();
        let space = Space::of_allocation(offer, &asked, &[])?;
        let of_name = |name: &str| space.query(name).expect("all queries of the allocation are there");
        let queries: Vec<usize> = offer.queries().iter().map(|query| of_name(&query.name)).collect();
        let asked: Vec<usize> = tables.iter().map(|(name, _)| of_name(name)).collect();
        let exact: Vec<Vec<usize>> = offer
            .levels()
            .iter()
            .map(|level| exact_queries(offer, &level.name).filter_map(|name| space.query(name)).collect())
            .collect();
        let moves = BigInt::from(offer.neighbours().moves());
        let mut variables = vec![];
        for level in 0..offer.levels().len() {
            for (query, of_space) in offer.queries().iter().zip(&queries) {
                let cost = BigRational::new(&moves * query.shift * query.shift, 2.into());
                variables.push(Variable { level, query: *of_space, cost });
            }
        }
        let frame = Frame::new(Arc::new(Model::new(space)?), units, variables, exact);
        let mut compiled = Compiled { offer: offer.clone(), frame, needs: vec![], tables: vec![] };
        let mut asked = asked.into_iter();
        for need in needs {
            let query = matches!(need.quantity, Quantity::Table { .. }).then(|| asked.next().expect("one"));
            let parts = compiled.parts(need, query).map_err(|e| e.at(format!("need `{}`", need.name)))?;
            compiled.needs.push(parts);
        }
        // Answers of different classes may have the same terms.
        let mut of_queries: Vec<Vec<Terms>> = vec![];
        for of_space in &queries {
            let (_, classes) = AnswerClasses::counted(&compiled.frame.model, *of_space);
            let mut terms: Vec<Terms> =
                classes.iter().map(|counted| sorted(compiled.frame.product(counted, counted))).collect();
            terms.sort_unstable();
            terms.dedup();
            of_queries.push(terms);
        }
        for level in 0..offer.levels().len() {
            let levels = compiled.of_unit(level);
            for (query, terms) in of_queries.iter().enumerate() {
                let variance = |terms: &Terms| Variance::new(levels.clone(), terms.clone());
                compiled.tables.push(Table { level, query, variances: terms.iter().map(variance).collect() });
            }
        }
        Ok(compiled)
    }

    /// Which pairs the variances of needs are made of, or those of all tables too.
    pub(super) fn asked(&self, of_needs_alone: bool) -> Vec<bool> {
        let mut asked = vec![!of_needs_alone; self.frame.pairs.len()];
        for (pair, _) in self.needs.iter().flatten().flat_map(|part| &part.variance.terms) {
            asked[*pair] = true;
        }
        asked
    }

    /// `c_k` of one unit of a level (Lemma B1).
    fn of_unit(&self, level: usize) -> Vec<BigRational> {
        let one = BigRational::one();
        let together = |k: usize| &one / self.frame.inside(k, level);
        self.of_squares(level, &together)
    }

    /// `c_k` of a set of units of a level: as many as can be in different units above, or in the same.
    fn of_set(&self, level: usize, set: &UnitSet) -> Vec<BigRational> {
        if let UnitSet::Packed(count) = set {
            let count = BigRational::from_integer((*count).into());
            // The sum of squared numbers of units of the set in each unit of level k.
            return self.of_squares(level, &|k| {
                let inside = self.frame.inside(k, level);
                let full = (&count / &inside).floor();
                let rest = &count - &full * &inside;
                (&full * &inside * &inside + &rest * &rest) / inside
            });
        }
        // Each part with how many units of the level it has.
        let parts: Vec<(usize, BigRational, BigRational)> = (set.parts(level).into_iter())
            .map(|(at, count)| (at, BigRational::from_integer(count.into()), self.frame.inside(at, level)))
            .collect();
        self.of_squares(level, &|k| {
            let inside = self.frame.inside(k, level);
            let (whole, below): (Vec<_>, Vec<_>) = parts.iter().partition(|(at, _, _)| *at <= k);
            let sum = |of: &[&(usize, BigRational, BigRational)]| -> BigRational {
                of.iter().map(|(_, count, size)| count * size).sum()
            };
            let (in_whole, rest) = (sum(&whole), sum(&below));
            if rest.is_zero() {
                return in_whole;
            }
            let alone: BigRational = below.iter().map(|(_, count, size)| count * size * size).sum();
            // Units of level k that are not whole in the set.
            let others = BigRational::from_integer(self.frame.units[k].into()) - &in_whole / &inside;
            in_whole + alone.max(&rest * &rest / others) / inside
        })
    }

    fn of_squares(&self, level: usize, together: &dyn Fn(usize) -> BigRational) -> Vec<BigRational> {
        let mut squares: Vec<BigRational> = (0..=level).map(together).collect();
        // With numbers of units that are not whole, packed sets may seem to fall apart and come together
        // again. Less together is a larger variance, and without it the variance would not be convex.
        for k in (0..level).rev() {
            squares[k] = squares[k].clone().min(squares[k + 1].clone());
        }
        let of_level = |k: usize| match squares.get(k) {
            None => BigRational::zero(),
            Some(here) => {
                let before = k.checked_sub(1).map_or_else(BigRational::zero, |k| squares[k].clone());
                (here - before) / self.frame.inside(k, level)
            }
        };
        (0..self.frame.units.len()).map(of_level).collect()
    }

    fn variance(&mut self, levels: &[BigRational], counted: &[Vec<bool>]) -> Variance {
        Variance::new(levels.to_vec(), sorted(self.frame.product(counted, counted)))
    }

    /// The values on every axis of the records that a selection has.
    fn counted(&self, selection: &Selection) -> Vec<Vec<bool>> {
        let has = |attributes: &[usize], values: &[u32]| {
            attributes.iter().zip(values).all(|(attribute, value)| {
                selection.0.get(attribute).is_none_or(|chosen| chosen.contains(value))
            })
        };
        let axes = self.frame.model.space().axes.iter();
        axes.map(|axis| axis.values.iter().map(|values| has(&axis.attributes, values)).collect()).collect()
    }

    fn parts(&mut self, need: &Need, query: Option<usize>) -> Result<Vec<Part>> {
        let levels = match &need.set {
            None => self.of_unit(need.level),
            Some(set) => {
                if need.all {
                    return Err(Error::stated(
                        "all: how many sets of units there are is not known",
                        "leave `all` out, or ask for every unit",
                    ));
                }
                let names: Vec<&str> = self.offer.levels().iter().map(|level| level.name.as_str()).collect();
                set.check(need.level, &names, &self.frame.units)?;
                self.of_set(need.level, set)
            }
        };
        let one = BigRational::one();
        match &need.quantity {
            Quantity::Table { margin, .. } => {
                let margin = positive("margin", margin)?;
                let query = query.expect("a table");
                let (_, classes) = AnswerClasses::counted(&self.frame.model, query);
                let part = |counted: Vec<Vec<bool>>| Part {
                    variance: self.variance(&levels, &counted),
                    margin: margin.clone(),
                    counted: vec![(one.clone(), counted)],
                };
                Ok(classes.into_iter().map(part).collect())
            }
            Quantity::Count { of, margin } => {
                let margin = positive("margin", margin)?;
                let counted = self.counted(of);
                let variance = self.variance(&levels, &counted);
                Ok(vec![Part { variance, margin, counted: vec![(one, counted)] }])
            }
            Quantity::Share { of, among, margin, population, about } => {
                let (margin, population) = (positive("share", margin)?, positive("population", population)?);
                // |m̂/T̂ − s| ≤ x if and only if m̂ − (s + x)T̂ ≤ 0 ≤ m̂ − (s − x)T̂: two sums of cells,
                // whose variance is convex in the factor of T̂. Without a share the ends are those of 0 and
                // 1.
                let ends = match about {
                    Some(about) => {
                        let about: BigRational = about.clone().into();
                        if about.is_negative() || about > one {
                            let hint = "it is the share that is expected";
                            return Err(Error::input("about", Rational::from(about), "from 0 to 1", hint));
                        }
                        [&about - &margin, &about + &margin]
                    }
                    None => [-margin.clone(), &one + &margin],
                };
                let among = self.counted(among);
                let both = |(of, among): (&Vec<bool>, &Vec<bool>)| -> Vec<bool> {
                    of.iter().zip(among).map(|(a, b)| *a && *b).collect()
                };
                let of: Vec<Vec<bool>> = self.counted(of).iter().zip(&among).map(both).collect();
                let records = &margin * &population;
                let parts = ends.map(|end| {
                    let factors = [(one.clone(), &of), (-end, &among)];
                    let mut terms: HashMap<usize, BigRational> = HashMap::new();
                    for (a, first) in &factors {
                        for (b, second) in &factors {
                            for (pair, phi) in self.frame.product(first, second) {
                                *terms.entry(pair).or_insert_with(BigRational::zero) += a * b * phi;
                            }
                        }
                    }
                    let variance = Variance::new(levels.clone(), sorted(terms));
                    let counted = factors.map(|(factor, counted)| (factor, counted.clone()));
                    Part { variance, margin: records.clone(), counted: counted.to_vec() }
                });
                Ok(parts.to_vec())
            }
        }
    }

    /// Precisions of an allocation with the same levels and queries, one for each variable.
    pub(super) fn precisions(&self, allocation: &Allocation) -> Result<Vec<BigRational>> {
        let mut precisions = vec![BigRational::zero(); self.frame.variables.len()];
        let queries = self.offer.queries();
        for (level, query, measurement) in allocation.measurements() {
            let of_level = self.offer.levels().iter().position(|known| known.name == level.name);
            let of_query = queries.iter().position(|known| known.name == query.name);
            let (Some(of_level), Some(of_query)) = (of_level, of_query) else {
                let cause = format!(
                    "`{}` measures {} at {}, which is not among the queries and levels on offer",
                    allocation.name(),
                    query.name,
                    level.name
                );
                return Err(Error::stated(cause, "both must have the same levels and queries"));
            };
            if (&queries[of_query].by, queries[of_query].shift) != (&query.by, query.shift) {
                let cause =
                    format!("`{}`: {} is another query than the one on offer", allocation.name(), query.name);
                return Err(Error::stated(cause, "both must have the same queries"));
            }
            let sigma2: BigRational = measurement.gaussian()?.sigma2().clone().into();
            precisions[of_level * queries.len() + of_query] = BigRational::one() / sigma2;
        }
        Ok(precisions)
    }

    /// Limits of all tables: their variances at a point, so many times. Those that are not determined there
    /// have no limit, those that are exact neither.
    pub(super) fn guard(&self, at: &ExactPoint, times: &BigRational) -> Vec<(usize, ExactLimit)> {
        let mut limits = vec![];
        for (number, table) in self.tables.iter().enumerate() {
            for variance in &table.variances {
                match self.frame.exact_value(variance, at) {
                    Some([value, _]) if value.is_positive() => {
                        let limit = shortened(&(value * times * times), 60);
                        limits.push((number, ExactLimit { variance: variance.clone(), limit }));
                    }
                    _ => {}
                }
            }
        }
        limits
    }

    /// Which variables a promise is about, and what it allows, if ρ of `limit` keeps it.
    pub(super) fn promise(&self, promise: &Promise, limit: &BigRational) -> Result<ExactPromise> {
        let all = self.allocation_of(|_| Some(Rational::integer(1)), None)?;
        let release = Release::new(vec![all])?;
        let moved = release.moved(&promise.scope)?;
        let measurements = release.allocations()[0].measurements();
        let of = measurements.map(|(_, _, m)| moved.iter().any(|moved| std::ptr::eq(*moved, m))).collect();
        // What a part of the release moves may differ from what all of it does.
        let moves = [self.offer.neighbours().moves(), release.moves(&promise.scope)].map(BigInt::from);
        let [all, part] = moves;
        Ok(ExactPromise { of, limit: limit * BigRational::new(all, part) })
    }

    /// The allocation with these budgets, by the numbers of variables. Levels at which nothing is measured
    /// are left out.
    pub(super) fn allocation_of(
        &self,
        rho: impl Fn(usize) -> Option<Rational>,
        promise: Option<(Delta, Epsilon)>,
    ) -> Result<Allocation> {
        let offer = &self.offer;
        let mut builder = Allocation::builder(&format!("Designed: {}", offer.name()), offer.neighbours())?;
        builder.source("the least budget that meets needs, by `unspent design`")?;
        builder.record(offer.record())?;
        if let Some((delta, epsilon)) = promise {
            builder.promise(Some(delta), None, Some(epsilon))?;
        }
        if let Some(schema) = offer.schema() {
            builder.schema(schema.clone());
        }
        for attribute in offer.attributes() {
            builder.attribute(attribute)?;
        }
        builder.written_as_rho();
        for query in offer.queries() {
            builder.query(&query.name, &query.by, query.shift)?;
        }
        let count = offer.queries().len();
        let mut measured: Vec<&str> = vec![];
        for (at, level) in offer.levels().iter().enumerate() {
            let budgets: Vec<(usize, Rational)> =
                (0..count).filter_map(|query| Some((query, rho(at * count + query)?))).collect();
            if budgets.is_empty() {
                continue;
            }
            measured.push(&level.name);
            let of_level = builder.level(&level.name)?;
            for (query, rho) in budgets {
                builder.measure(of_level, query, Budget::Rho(rho))?;
            }
        }
        builder.build_for(among(offer.production(), &measured))
    }
}

/// What is known of the production, for an allocation that has only these levels: no path has another one.
fn among(production: &Production, levels: &[&str]) -> Production {
    let there = |names: &Vec<String>| -> Vec<String> {
        names.iter().filter(|name| levels.contains(&name.as_str())).cloned().collect()
    };
    let mut production = production.clone();
    production.bypass = production.bypass.map(|bypass| match bypass {
        Bypass::Keep(keep) => Bypass::Keep(there(&keep)),
        Bypass::Paths(paths) => {
            let mut lists: Vec<Vec<String>> = vec![];
            for list in paths.iter().map(there) {
                if !lists.contains(&list) {
                    lists.push(list);
                }
            }
            Bypass::Paths(lists)
        }
    });
    production.exact_totals = there(&production.exact_totals);
    production.invariants.retain(|invariant| levels.contains(&invariant.level.as_str()));
    production
}

/// The margin of a deviation of 1, not less than it is.
pub(super) fn quantile(need: &Need, law: Law, answers: u64, units: u64) -> Result<f64> {
    let level = match need.all {
        false => need.confidence.clone(),
        true => {
            let missed = &Rational::integer(1) - &need.confidence;
            &Rational::integer(1) - &(&missed / &Rational::integer(answers.max(1) * units))
        }
    };
    let confidence = Confidence::new(level)?;
    Ok(match law {
        Law::Normal => confidence.normal(1.0) * (1.0 + 1e-12),
        Law::Guaranteed => confidence.guaranteed(1.0),
    })
}

fn positive(field: &str, value: &Rational) -> Result<BigRational> {
    let exact: BigRational = value.clone().into();
    if exact.is_positive() {
        return Ok(exact);
    }
    let hint = "no finite budget gives exact counts";
    Err(Error::input(field, value, "a number above 0", hint))
}

/// Pairs with their `φ`.
type Terms = Vec<(usize, BigRational)>;

fn sorted(terms: HashMap<usize, BigRational>) -> Terms {
    let mut terms: Terms = terms.into_iter().filter(|(_, phi)| !phi.is_zero()).collect();
    terms.sort_by_key(|(pair, _)| *pair);
    terms
}
