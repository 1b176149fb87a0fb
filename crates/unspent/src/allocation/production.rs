//! What is known of the system that used an allocation: which units it bypassed, what it published exactly,
//! and what has to be assumed of it.
//!
//! A geographic unit that is the only child of its parent covers the same area. A system may *bypass* it: the
//! unit is not measured, and its budget goes to the nearest unit above that is kept, which divides it among
//! its own queries as before. So the budget is the same on every path from the whole to a smallest unit, but
//! the noise is not (`theory/neighbours.md`, N6 to N9).

use super::Allocation;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::number::Rational;
use crate::spelling::did_you_mean;

/// Most paths of an allocation: a certificate looks at all pairs of them, 4,095.
const MAX_PATHS: usize = 90;

/// What is known of the system that used an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Production {
    /// Which units may have been bypassed.
    pub bypass: Option<Bypass>,
    /// Levels for whose units the number of records is published exactly.
    pub exact_totals: Vec<String>,
    /// What else is published exactly.
    pub invariants: Vec<Invariant>,
    /// How many records of this product one record of the release can change, if it is not the same record.
    pub touches: Option<u64>,
    /// What the product belongs to, like the 2020 Census: other products about the same people.
    pub series: Option<String>,
    /// What has to be assumed of the system for a certificate to hold, besides what every certificate
    /// assumes.
    pub assumptions: Vec<String>,
}

/// Something besides totals that is published exactly for every unit of a level. All guarantees are for
/// neighbours that agree on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// The level.
    pub level: String,
    /// What is published.
    pub values: ExactValues,
}

/// What is published exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactValues {
    /// The answers to a query of that name.
    Query(String),
    /// Numbers of the units themselves, like facilities: these columns of the list of units, under a name.
    Columns(String, Vec<String>),
}

impl Invariant {
    /// The name of the query or of the columns.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.values {
            ExactValues::Query(name) | ExactValues::Columns(name, _) => name,
        }
    }
}

/// Which units may have been bypassed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// It is not known which: every set of levels that has these levels is a path.
    Keep(Vec<String>),
    /// These paths occurred, each given by the levels it keeps.
    Paths(Vec<Vec<String>>),
}

/// A way from the whole to a smallest unit: which of the levels it keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(Vec<bool>);

impl Path {
    /// Whether the level of that index is kept.
    #[must_use]
    pub fn keeps(&self, level: usize) -> bool {
        self.0[level]
    }

    /// Whether all levels are kept.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.0.iter().all(|kept| *kept)
    }

    /// The last of the levels whose budget a kept level has; none if the level is not kept.
    #[must_use]
    pub fn budget_end(&self, level: usize) -> Option<usize> {
        self.segments().find(|segment| segment.level == level).map(|segment| segment.last)
    }

    /// Whether the two keep the same levels up to and including that one.
    pub(crate) fn agrees(&self, other: &Path, level: usize) -> bool {
        self.0[..=level] == other.0[..=level]
    }

    /// Every kept level, with the last of the levels whose budget it has.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let ends = |from: usize| (from + 1..self.0.len()).find(|i| self.0[*i]).unwrap_or(self.0.len()) - 1;
        (0..self.0.len()).filter(|i| self.0[*i]).map(move |level| Segment { level, last: ends(level) })
    }
}

/// A kept level and the last of the levels whose budget it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Segment {
    pub level: usize,
    pub last: usize,
}

impl Allocation {
    /// What is known of the system that used it.
    #[must_use]
    pub fn production(&self) -> &Production {
        &self.production
    }

    /// The same allocation, used by such a system; an error if that makes no sense with these levels.
    pub fn used_by(mut self, production: Production) -> Result<Allocation> {
        production.check(&self)?;
        self.production = production;
        Ok(self)
    }

    /// The same allocation, of whose records one record of a release can change so many.
    pub fn touching(self, touches: u64) -> Result<Allocation> {
        let production = Production { touches: Some(touches), ..self.production.clone() };
        self.used_by(production)
    }

    /// The paths through the geography, the one that keeps all levels first if it is among them.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let names: Vec<&str> = self.levels.iter().map(|level| level.name.as_str()).collect();
        let has = |list: &[String], name: &str| list.iter().any(|kept| kept == name);
        let mut paths = match &self.production.bypass {
            None => vec![Path(vec![true; names.len()])],
            Some(Bypass::Paths(lists)) => {
                lists.iter().map(|list| Path(names.iter().map(|name| has(list, name)).collect())).collect()
            }
            Some(Bypass::Keep(always)) => {
                let free: Vec<usize> = (0..names.len()).filter(|i| !has(always, names[*i])).collect();
                let path = |set: usize| {
                    let bypassed =
                        |i: usize| free.iter().position(|f| *f == i).is_some_and(|j| set >> j & 1 == 1);
                    Path((0..names.len()).map(|i| !bypassed(i)).collect())
                };
                (0..1usize << free.len()).map(path).collect()
            }
        };
        paths.sort_by_key(|path: &Path| !path.is_main());
        paths
    }

    /// The same allocation for a system that bypasses no unit.
    #[must_use]
    pub fn without_bypass(&self) -> Allocation {
        let production = Production { bypass: None, ..self.production.clone() };
        Allocation { production, ..self.clone() }
    }

    /// The noise of a kept level that has the budget of all levels of the segment: `σ²` falls as the budget
    /// grows (N6).
    pub(crate) fn noise_on(&self, segment: Segment) -> Result<Vec<(usize, Mechanism)>> {
        let level = &self.levels[segment.level];
        if segment.last == segment.level {
            return Ok(level.measurements.iter().map(|m| (m.query, m.noise.clone())).collect());
        }
        let budgets: Vec<Rational> =
            self.levels[segment.level..=segment.last].iter().map(super::Level::rho).collect();
        let factor = &budgets[0] / &Rational::sum(&budgets);
        let noise = |m: &super::Measurement| {
            let made = m.gaussian().and_then(|noise| m.noise.with_sigma2(noise.sigma2() * &factor));
            Ok((
                m.query,
                made.map_err(|e| e.at(format!("level `{}` with the budget of levels below", level.name)))?,
            ))
        };
        level.measurements.iter().map(noise).collect()
    }

    /// The noise of each measurement of a level whose units have the budgets of the levels from it to `last`
    /// (N6).
    ///
    /// # Panics
    /// If there are no such levels.
    pub fn noise_with_budget_of(&self, level: usize, last: usize) -> Result<Vec<Mechanism>> {
        assert!(level <= last && last < self.levels.len(), "levels from the first to the last");
        Ok(self.noise_on(Segment { level, last })?.into_iter().map(|(_, noise)| noise).collect())
    }

    /// The index of the smallest level whose units' totals are published exactly.
    #[must_use]
    pub fn exact_level(&self) -> Option<usize> {
        let exact = |name: &String| self.production.exact_totals.contains(name);
        (0..self.levels.len()).rev().find(|i| exact(&self.levels[*i].name))
    }
}

impl Production {
    /// Whether it makes sense with the levels of that allocation.
    fn check(&self, allocation: &Allocation) -> Result<()> {
        let names = || allocation.levels.iter().map(|level| level.name.as_str());
        let known = |field: &str, name: &String| {
            if names().any(|level| level == name) {
                return Ok(());
            }
            let allowed = format!("one of the levels {}", names().collect::<Vec<_>>().join(", "));
            let hint = did_you_mean(name, names(), "names are written as in [[levels]]");
            Err(Error::input(field, name, allowed, hint))
        };
        for name in &self.exact_totals {
            known("exact_totals", name)?;
        }
        if !self.exact_totals.is_empty() && allocation.neighbours == super::Neighbours::AddRemove {
            return Err(Error::stated(
                "exact_totals: no add-remove neighbours keep an exact total",
                "adding a record changes the total of every unit it is in; exact totals need bounded \
                 neighbours",
            ));
        }
        for invariant in &self.invariants {
            known("invariants", &invariant.level)?;
            let ExactValues::Query(name) = &invariant.values else { continue };
            if allocation.neighbours == super::Neighbours::AddRemove {
                return Err(Error::stated(
                    format!("invariants: add-remove neighbours do not agree on `{name}`"),
                    "adding a record changes exact answers; they need bounded neighbours",
                ));
            }
            match allocation.queries.iter().find(|query| query.name == *name) {
                None => {
                    let known = allocation.queries.iter().map(|query| query.name.as_str());
                    let hint = did_you_mean(name, known, "an invariant is a query that is asked somewhere");
                    return Err(Error::input("invariants", name, "the name of one of the queries", hint));
                }
                Some(query) if query.attributes.is_empty() => {
                    return Err(Error::stated(
                        format!("invariants: `{name}` is a total"),
                        "write exact_totals = [\"State\"], the levels whose totals are exact",
                    ));
                }
                Some(_) => {}
            }
        }
        if let Some(touches) = self.touches {
            parse_touches(&touches.to_string())?;
        }
        let first = names().next();
        let needs_first = |list: &[String]| {
            if list.iter().any(|name| Some(name.as_str()) == first) {
                return Ok(());
            }
            Err(Error::stated(
                format!("bypass: `{}` is not kept", first.unwrap_or("the first level")),
                "the first level is kept on every path: there is no level above that could take its budget",
            ))
        };
        let lists: Vec<&Vec<String>> = match &self.bypass {
            None => return Ok(()),
            Some(Bypass::Keep(list)) => vec![list],
            Some(Bypass::Paths(lists)) => lists.iter().collect(),
        };
        if !allocation.nested {
            return Err(Error::stated(
                "bypass: the levels are not nested",
                "a unit is bypassed because another one above it covers the same area",
            ));
        }
        // What a budget from below does to noise is only said of Gaussian noise (N6).
        allocation.needs_gaussian("bypass")?;
        if lists.is_empty() {
            return Err(Error::stated("bypass: there is no path", "list at least one path"));
        }
        for list in &lists {
            list.iter().try_for_each(|name| known("bypass", name))?;
            needs_first(list)?;
        }
        let count = match &self.bypass {
            Some(Bypass::Keep(list)) => 1usize
                .checked_shl((allocation.levels.len() - list.len()) as u32)
                .filter(|_| allocation.levels.len() - list.len() < usize::BITS as usize)
                .unwrap_or(usize::MAX),
            _ => lists.len(),
        };
        if count > MAX_PATHS {
            let allowed = format!("a number of paths up to {MAX_PATHS}");
            return Err(Error::input("bypass", count, allowed, "keep more levels, or list the paths"));
        }
        let mut paths: Vec<Vec<bool>> =
            lists.iter().map(|list| names().map(|n| list.iter().any(|k| k == n)).collect()).collect();
        paths.sort();
        if paths.windows(2).any(|two| two[0] == two[1]) {
            return Err(Error::stated("bypass: a path is there twice", "list every path once"));
        }
        Ok(())
    }
}

/// Reads how many records of a product one record of the release can change: 1 or 2 (N10).
pub fn parse_touches(text: &str) -> Result<u64> {
    match text.trim() {
        "1" => Ok(1),
        "2" => Ok(2),
        other => {
            let hint = "how many records of this product one record of the release can change; of more \
             nothing is proved";
            Err(Error::input("touches", other, "1 or 2", hint))
        }
    }
}
