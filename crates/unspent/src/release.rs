//! What is released about the same record, and the parts of it that people ask about.
//!
//! One allocation, or several for the same record (redistricting data and detailed tables about the same
//! person). A [`Scope`] picks the measurements that a certain secret can move:
//!
//! | scope | secret | moved | moves |
//! |---|---|---|---|
//! | total | the record | every measurement | 1 or 2, by the neighbours |
//! | level | the record, to a reader of one level only | that level | 1 or 2, by the neighbours |
//! | keeping X | the record, inside one unit of X | all below X; else what touches an attribute | 2 |
//! | attribute | the value of one attribute | the queries that touch it | 2 |
//! | within X | the place, inside one unit of level X | the levels below X | 2 |
//!
//! A changed value or a changed place always leaves one cell and enters another, so the last three count two
//! moves whatever the neighbours of the total are (`theory/neighbours.md`, N1 to N5). Where units were
//! bypassed, the noise depends on the paths of the two cells, and the guarantee is the worst over all pairs
//! of paths that the secret allows (N6 to N9).

mod cases;

pub(crate) use cases::Cases;

use crate::allocation::{Allocation, Measurement, Neighbours, Query};
use crate::composition::Composition;
use crate::effort::Effort;
use crate::error::{Error, ErrorKind, Result};
use crate::quantity::Delta;
use crate::scope::Scope;
use crate::spelling::did_you_mean;
use crate::worst::WorstCase;

/// One allocation or more, for the same record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    allocations: Vec<Allocation>,
}

impl From<Allocation> for Release {
    fn from(allocation: Allocation) -> Release {
        Release { allocations: vec![allocation] }
    }
}

impl Release {
    /// All that is released about the same record.
    pub fn new(allocations: Vec<Allocation>) -> Result<Release> {
        let [first, others @ ..] = allocations.as_slice() else {
            return Err(Error::stated("no product was named", "a release has at least one allocation"));
        };
        let release = Release { allocations: allocations.clone() };
        for other in allocations.iter() {
            // Of a product that is known by its mechanisms alone, a change is one removal and one addition.
            let converts = other.levels().is_empty() && other.neighbours() == Neighbours::AddRemove;
            if other.neighbours() != release.neighbours() && !converts {
                return Err(Error::of_kind(
                    ErrorKind::OtherNeighbours,
                    format!(
                        "`{}` is for {} neighbours, `{}` for {}",
                        release.with_neighbours().name(),
                        release.neighbours(),
                        other.name(),
                        other.neighbours()
                    ),
                    "one guarantee needs one notion of neighbours; a comparison shows both under either",
                ));
            }
        }
        for other in others {
            if other.record() != first.record() && other.production().touches.is_none() {
                return Err(Error::stated(
                    format!(
                        "a record of `{}` is a {}, one of `{}` a {}",
                        first.name(),
                        first.record(),
                        other.name(),
                        other.record()
                    ),
                    format!(
                        "say how many records of `{}` one {} can change: `touches = 2` in its file if a move \
                         changes two",
                        other.name(),
                        first.record()
                    ),
                ));
            }
        }
        Ok(Release { allocations })
    }

    /// The allocations.
    #[must_use]
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// What a reader would call it.
    #[must_use]
    pub fn name(&self) -> String {
        self.allocations.iter().map(Allocation::name).collect::<Vec<_>>().join(" + ")
    }

    /// What one record is.
    #[must_use]
    pub fn record(&self) -> &str {
        self.allocations[0].record()
    }

    /// The neighbours of the total.
    #[must_use]
    pub fn neighbours(&self) -> Neighbours {
        self.with_neighbours().neighbours()
    }

    /// The product whose neighbours are those of the release: the first that measures anything.
    fn with_neighbours(&self) -> &Allocation {
        self.allocations.iter().find(|a| !a.levels().is_empty()).unwrap_or(&self.allocations[0])
    }

    /// How many records of a product one record of the release changes.
    pub(crate) fn touches(&self, product: usize) -> u64 {
        let others = self.allocations.len() > 1;
        self.allocations[product].production().touches.filter(|_| others).unwrap_or(1)
    }

    /// How many neighbours lie one after the other between two data sets of a product whose release differs
    /// in one record: a changed record is one removed and one added, if that is what its neighbours are
    /// (N12).
    pub(crate) fn steps(&self, product: usize) -> u64 {
        let is_changed = self.neighbours() == Neighbours::Bounded;
        let by_two = is_changed && self.allocations[product].neighbours() == Neighbours::AddRemove;
        self.touches(product) * if by_two { 2 } else { 1 }
    }

    /// Whether other mechanisms for the same record are counted.
    pub(crate) fn has_also(&self) -> bool {
        self.allocations.iter().any(|a| !a.also().is_empty())
    }

    /// The δ at which ε is quoted: the smallest of those that the allocations state.
    #[must_use]
    pub fn delta(&self) -> Option<&Delta> {
        self.allocations.iter().filter_map(Allocation::delta).min()
    }

    /// The total, every level, what keeps the totals of a level, every attribute, and every level that has
    /// others below it.
    ///
    /// With several allocations only what all of them know by the same name: a change of an attribute that
    /// one of them calls otherwise, or of a place that one of them does not delimit, moves more than could be
    /// counted. A level need only be in one of them.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        let mut scopes = vec![Scope::Total];
        let levels = self.level_names();
        let of_levels = levels.iter().map(|name| Scope::Level((*name).into()));
        // Where totals are exact, all neighbours keep those of that level and above.
        let exact = |name: &str| {
            self.allocations.iter().any(|a| {
                let index = a.levels().iter().position(|level| level.name == name);
                a.exact_level().is_some_and(|exact| index.is_some_and(|index| index <= exact))
            })
        };
        // Inside a unit the record moves what it moves inside the unit above, less the totals of the level.
        let has_total = |name: &str| {
            self.allocations.iter().any(|a| {
                let level = a.levels().iter().find(|level| level.name == name);
                let stays = |m: &Measurement| !touches_any(a, &a.queries()[m.query]);
                level.is_some_and(|level| level.measurements.iter().any(stays))
            })
        };
        let keeping = levels
            .iter()
            .filter(|name| !exact(name) && has_total(name))
            .map(|name| Scope::Keeping((*name).into()));
        let attributes = self.allocations[0].attributes().iter().cloned().map(Scope::Attribute);
        let places = levels.iter().rev().map(|name| Scope::Within((*name).into()));
        let parts = of_levels.chain(keeping).chain(attributes).chain(places);
        scopes.extend(parts.filter(|scope| self.moved(scope).is_ok()));
        scopes
    }

    /// The levels of all allocations, each name once.
    fn level_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for level in self.allocations.iter().flat_map(Allocation::levels) {
            if !names.contains(&level.name.as_str()) {
                names.push(&level.name);
            }
        }
        names
    }

    /// How the scope is called in a certificate, like `Block-within-County`.
    #[must_use]
    pub fn label(&self, scope: &Scope) -> String {
        match scope {
            Scope::Total => "total".into(),
            Scope::Level(name) | Scope::Attribute(name) => name.clone(),
            Scope::Keeping(name) => format!("record-within-{name}"),
            Scope::Within(name) => {
                let mut smallest: Vec<&str> = self
                    .allocations
                    .iter()
                    .filter_map(|a| a.levels().last())
                    .map(|l| l.name.as_str())
                    .collect();
                smallest.dedup();
                format!("{}-within-{name}", smallest.join("/"))
            }
        }
    }

    /// How many cells of each measurement the secret of that scope can move.
    #[must_use]
    pub fn moves(&self, scope: &Scope) -> u64 {
        match scope {
            Scope::Total | Scope::Level(_) => self.neighbours().moves(),
            Scope::Keeping(_) | Scope::Attribute(_) | Scope::Within(_) => 2,
        }
    }

    /// The measurements that the secret of that scope can move.
    pub fn moved(&self, scope: &Scope) -> Result<Vec<&Measurement>> {
        let mut moved = vec![];
        for allocation in &self.allocations {
            self.allows(allocation, scope)?;
            let chosen = self.index_of(allocation, scope);
            let paths = allocation.paths();
            for (index, level) in allocation.levels().iter().enumerate() {
                if !paths.iter().any(|path| path.keeps(index)) {
                    continue;
                }
                let chosen = chosen.map(|chosen| index <= chosen);
                moved.extend(level.measurements.iter().filter(|m| {
                    let query = &allocation.queries()[m.query];
                    // Totals that are published exactly are the same for all neighbours.
                    let is_free = allocation.exact_level().is_none_or(|exact| index > exact);
                    let can_move = is_free || touches_any(allocation, query);
                    match scope {
                        Scope::Total => can_move,
                        Scope::Level(name) => level.name == *name && can_move,
                        Scope::Keeping(_) => chosen == Some(false) || touches_any(allocation, query),
                        Scope::Attribute(name) => query.attributes.contains(name),
                        Scope::Within(_) => chosen == Some(false),
                    }
                }));
            }
        }
        if moved.is_empty() && !(*scope == Scope::Total && self.has_also()) {
            return Err(self.nothing_moves(scope));
        }
        Ok(moved)
    }

    /// An error if nothing can be said of that scope for one of the allocations.
    fn allows(&self, allocation: &Allocation, scope: &Scope) -> Result<()> {
        let several = self.allocations.len() > 1;
        match scope {
            Scope::Total | Scope::Level(_) => return Ok(()),
            _ if !allocation.also().is_empty() && self.neighbours() == Neighbours::AddRemove => {
                return Err(Error::stated(
                    format!(
                        "{scope}: the other mechanisms of `{}` are for add-remove neighbours",
                        allocation.name()
                    ),
                    "what a changed record does in them is not stated",
                ));
            }
            // What is known by its mechanisms alone has neither attributes nor levels; they are all counted.
            _ if allocation.levels().is_empty() => return Ok(()),
            Scope::Attribute(name) => self.knows(allocation, "attribute", name, allocation.attributes())?,
            Scope::Keeping(name) | Scope::Within(name) => {
                let names: Vec<String> = allocation.levels().iter().map(|l| l.name.clone()).collect();
                self.knows(allocation, "level", name, &names)?;
                if !allocation.is_nested() {
                    return Err(Error::stated(
                        format!(
                            "{}: the levels of `{}` are not known to be nested",
                            scope.kind(),
                            allocation.name()
                        ),
                        "an allocation file (.toml) with its levels from the largest areas to the smallest \
                         says so",
                    ));
                }
            }
        }
        if several && allocation.production().touches.is_some() {
            return Err(Error::stated(
                format!("{scope}: a record of `{}` is not that of the release", allocation.name()),
                "what one record moves of the other kind is only bounded for all of it, and by level",
            ));
        }
        if let (Scope::Within(name), Some(exact)) = (scope, allocation.exact_level())
            && self.index_of(allocation, scope).is_some_and(|index| index < exact)
        {
            let levels = allocation.levels();
            return Err(Error::stated(
                format!(
                    "within {name}: no place changes there: the totals of `{}` are exact",
                    levels[exact].name
                ),
                "a record that goes to another unit changes an exact total",
            ));
        }
        Ok(())
    }

    fn index_of(&self, allocation: &Allocation, scope: &Scope) -> Option<usize> {
        allocation.levels().iter().position(|level| Some(level.name.as_str()) == scope.name())
    }

    /// The worst of all compositions that neighbours of that scope can come down to.
    pub fn worst_case(&self, scope: &Scope) -> Result<WorstCase> {
        self.worst_case_with(scope, Effort::Normal)
    }

    /// The same, with as much work for an answer as that.
    pub fn worst_case_with(&self, scope: &Scope, effort: Effort) -> Result<WorstCase> {
        Cases::new(self, effort).worst_case(scope)
    }

    /// The mechanisms that the secret of that scope can move on the path that keeps all levels, twice where
    /// it leaves a cell and enters another. It is the worst case only if no unit was bypassed.
    pub fn main_path(&self, scope: &Scope) -> Result<Composition> {
        self.on_main_paths().worst_case(scope)?.into_first()
    }

    /// The same release, as if no unit had been bypassed.
    pub(crate) fn on_main_paths(&self) -> Release {
        let allocations = self.allocations.iter().map(Allocation::without_bypass).collect();
        Release { allocations }
    }

    fn knows(&self, allocation: &Allocation, what: &str, name: &str, known: &[String]) -> Result<()> {
        if known.iter().any(|k| k == name) {
            return Ok(());
        }
        let names = || known.iter().map(String::as_str);
        if self.allocations.len() > 1 {
            let allowed = if what == "level" { "levels" } else { "attributes" };
            return Err(Error::stated(
                format!("{what}: `{name}` is not among the {allowed} of `{}`", allocation.name()),
                "with several products only what all of them know by the same name can be counted",
            ));
        }
        let allowed = match known {
            [] => format!("an {what}: the allocation declares none"),
            _ => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
        };
        let hint = did_you_mean(name, names(), "names are written as in the allocation");
        Err(Error::input(what, name, allowed, hint))
    }

    fn nothing_moves(&self, scope: &Scope) -> Error {
        match scope {
            Scope::Level(name) => {
                let levels = self.level_names();
                let hint =
                    did_you_mean(name, levels.iter().copied(), "names are written as in the allocation");
                Error::input("level", name, format!("one of {}", levels.join(", ")), hint)
            }
            Scope::Within(name) => Error::stated(
                format!("within: no level is below `{name}`"),
                "levels come from the largest areas to the smallest",
            ),
            Scope::Keeping(name) => Error::stated(
                format!("keeping: no change inside one unit of `{name}` moves anything"),
                "no query touches an attribute, and no level is below",
            ),
            Scope::Attribute(name) => Error::stated(
                format!("attribute: no query touches `{name}`"),
                "nothing is released about it, so there is nothing to account for",
            ),
            Scope::Total => Error::stated("nothing is released", "a release has at least one query"),
        }
    }
}

/// Whether a changed record can change its cell of that query without changing its place: unless the query is
/// known to count records. Where no attributes are declared, it is not known what queries touch; and what a
/// record adds to a query with a larger shift may depend on more than its place.
fn touches_any(allocation: &Allocation, query: &Query) -> bool {
    allocation.attributes().is_empty() || !query.attributes.is_empty() || query.shift > 1
}

#[cfg(test)]
mod tests;
