//! What is released about the same record, and the parts of it that people ask about.
//!
//! One allocation, or several for the same record (redistricting data and detailed tables about the same
//! person). A [`Scope`] picks the measurements that a certain secret can move:
//!
//! | scope | secret | moved | moves |
//! |---|---|---|---|
//! | total | the record | every measurement | 1 or 2, by the neighbours |
//! | level | the record, to a reader of one level only | that level | 1 or 2, by the neighbours |
//! | keeping X | the record, inside one unit of level X | all below X; at X and above what touches an attribute | 2 |
//! | attribute | the value of one attribute | the queries that touch it | 2 |
//! | within X | the place, inside one unit of level X | the levels below X | 2 |
//!
//! A changed value or a changed place always leaves one cell and enters another, so the last three count two
//! moves whatever the neighbours of the total are (`theory/neighbours.md`, N1 to N5). Where units were bypassed, the
//! noise depends on the paths of the two cells, and the guarantee is the worst over all pairs of paths that the secret
//! allows (N6 to N9).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::allocation::{Allocation, Measurement, Neighbours, Path, Query, Segment};
use crate::composition::{Composition, Delta};
use crate::error::{Error, Result, did_you_mean};
use crate::exact::Rational;
use crate::mechanism::DiscreteGaussian;
use crate::worst::{Case, Route, WorstCase};
use crate::zcdp::Rho;

/// Which part of a release is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All of it.
    Total,
    /// What is measured at one geographic level.
    Level(String),
    /// What a change of the record moves that stays inside one unit of this level: it keeps the totals of this level
    /// and of those above.
    Keeping(String),
    /// What a change of this attribute moves.
    Attribute(String),
    /// What a move inside one unit of this level moves.
    Within(String),
}

impl Scope {
    /// `total`, `level`, `keeping`, `attribute` or `within`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Scope::Total => "total",
            Scope::Level(_) => "level",
            Scope::Keeping(_) => "keeping",
            Scope::Attribute(_) => "attribute",
            Scope::Within(_) => "within",
        }
    }

    /// The name of the level or attribute.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Scope::Total => None,
            Scope::Level(name) | Scope::Keeping(name) | Scope::Attribute(name) | Scope::Within(name) => {
                Some(name)
            }
        }
    }
}

/// One allocation or more, for the same record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    allocations: Vec<Allocation>,
    hasty: bool,
}

impl From<Allocation> for Release {
    fn from(allocation: Allocation) -> Release {
        Release { allocations: vec![allocation], hasty: false }
    }
}

impl Release {
    /// All that is released about the same record.
    pub fn new(allocations: Vec<Allocation>) -> Result<Release> {
        let [first, others @ ..] = allocations.as_slice() else {
            return Err(Error::stated("no product was named", "a release has at least one allocation"));
        };
        for other in others {
            if other.neighbours() != first.neighbours() {
                return Err(Error::stated(
                    format!(
                        "`{}` is for {} neighbours, `{}` for {}",
                        first.name(),
                        first.neighbours(),
                        other.name(),
                        other.neighbours()
                    ),
                    "one guarantee needs one notion of neighbours; `unspent compare` shows both under either",
                ));
            }
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
                        "say how many records of `{}` one {} can change: `touches = 2` in its file if a move changes two",
                        other.name(),
                        first.record()
                    ),
                ));
            }
        }
        Ok(Release { allocations, hasty: false })
    }

    /// The same release, for answers while somebody waits: see [`Composition::in_haste`].
    #[must_use]
    pub fn in_haste(mut self) -> Release {
        self.hasty = true;
        self
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
        self.allocations[0].neighbours()
    }

    /// The δ at which ε is quoted: the smallest of those that the allocations state.
    #[must_use]
    pub fn delta(&self) -> Option<&Delta> {
        self.allocations.iter().filter_map(Allocation::delta).min()
    }

    /// The total, every level, what keeps the totals of a level, every attribute, and every level that has others below
    /// it.
    ///
    /// With several allocations only what all of them know by the same name: a change of an attribute that one
    /// of them calls otherwise, or of a place that one of them does not delimit, moves more than could be counted.
    /// A level need only be in one of them.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        let mut scopes = vec![Scope::Total];
        let levels = self.level_names();
        scopes.extend(levels.iter().map(|name| Scope::Level((*name).into())));
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
        scopes.extend(keeping.chain(attributes).chain(places).filter(|scope| self.moved(scope).is_ok()));
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
                    match scope {
                        Scope::Total => true,
                        Scope::Level(name) => level.name == *name,
                        Scope::Keeping(_) => chosen == Some(false) || touches_any(allocation, query),
                        Scope::Attribute(name) => query.attributes.contains(name),
                        Scope::Within(_) => chosen == Some(false),
                    }
                }));
            }
        }
        if moved.is_empty() {
            return Err(self.nothing_moves(scope));
        }
        Ok(moved)
    }

    /// An error if nothing can be said of that scope for one of the allocations.
    fn allows(&self, allocation: &Allocation, scope: &Scope) -> Result<()> {
        let several = self.allocations.len() > 1;
        match scope {
            Scope::Total | Scope::Level(_) => return Ok(()),
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
                        "an allocation file (.toml) with its levels from the largest areas to the smallest says so",
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
        Cases::new(self).worst_case(scope)
    }

    /// The mechanisms that the secret of that scope can move on the path that keeps all levels, twice where it leaves a
    /// cell and enters another. It is the worst case only if no unit was bypassed.
    pub fn main_path(&self, scope: &Scope) -> Result<Composition> {
        self.on_main_paths().worst_case(scope)?.into_first()
    }

    /// The same release, as if no unit had been bypassed.
    pub(crate) fn on_main_paths(&self) -> Release {
        let allocations = self.allocations.iter().map(Allocation::without_bypass).collect();
        Release { allocations, hasty: self.hasty }
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

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            None => f.write_str(self.kind()),
            Some(name) => write!(f, "{} {name}", self.kind()),
        }
    }
}

/// Whether a changed record can change its cell of that query without changing its place. Where no attributes are
/// declared, it is not known what queries touch.
fn touches_any(allocation: &Allocation, query: &Query) -> bool {
    allocation.attributes().is_empty() || !query.attributes.is_empty()
}

/// Which queries of a level are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Moved {
    All,
    /// Those that touch any attribute.
    Touching,
    /// Those that touch the attribute of the scope.
    Attribute,
}

/// Some queries of one level on one path, and how many cells of each are moved, by how many times its shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Part {
    product: usize,
    segment: Segment,
    moved: Moved,
    times: u64,
    cells: u64,
}

/// The routes of one product, with what moves on each.
type Routes = Vec<(Route, Vec<Part>)>;

/// Most cases that are looked at one by one.
const MAX_CASES: usize = 1 << 12;

/// The cases of a release, each once however many scopes it belongs to.
pub(crate) struct Cases<'r> {
    release: &'r Release,
    paths: Vec<Vec<Path>>,
    made: HashMap<(Option<String>, Vec<Part>), Arc<Case>>,
    noise: HashMap<(usize, Segment), Vec<(usize, DiscreteGaussian)>>,
}

impl<'r> Cases<'r> {
    pub fn new(release: &'r Release) -> Cases<'r> {
        let paths = release.allocations.iter().map(Allocation::paths).collect();
        Cases { release, paths, made: HashMap::new(), noise: HashMap::new() }
    }

    /// The worst of all compositions that neighbours of that scope can come down to.
    pub fn worst_case(&mut self, scope: &Scope) -> Result<WorstCase> {
        // What makes no sense is an error here.
        self.release.moved(scope)?;
        let lists = self.lists(scope, Allocation::exact_level)?;
        let count = lists.iter().map(Vec::len).try_fold(1usize, |all, n| all.checked_mul(n));
        let hasty = self.release.hasty;
        if count.is_none_or(|count| count > MAX_CASES) {
            // Budgets add up: zCDP bounds all combinations at once. The first of each list is the main path.
            let mut budgets = vec![];
            for list in &lists {
                let largest = self.combined(scope, vec![list.clone()])?.iter().map(|case| case.rho()).max();
                budgets.extend(largest);
            }
            let first = lists.into_iter().map(|list| list.into_iter().take(1).collect()).collect();
            let main = self.combined(scope, first)?;
            return Ok(WorstCase::new(main, None, hasty).bounded_by(Rho::new(Rational::sum(&budgets))?));
        }
        let cases = self.combined(scope, lists)?;
        let attained = self.attained(scope)?;
        Ok(WorstCase::new(cases, attained, hasty))
    }

    /// Every combination of one route for each product.
    fn combined(&mut self, scope: &Scope, lists: Vec<Routes>) -> Result<Vec<Arc<Case>>> {
        let mut all: Vec<(Vec<Route>, Vec<Part>)> = vec![(vec![], vec![])];
        for list in lists {
            let mut next = Vec::with_capacity(all.len() * list.len());
            for (routes, parts) in &all {
                for (route, more) in &list {
                    let mut routes = routes.clone();
                    routes.push(route.clone());
                    next.push((routes, [parts.as_slice(), more].concat()));
                }
            }
            all = next;
        }
        let mut cases: Vec<Arc<Case>> = vec![];
        let mut seen = HashSet::new();
        for (routes, parts) in all {
            if !parts.is_empty() && seen.insert(parts.clone()) {
                cases.push(self.case(scope, routes, parts)?);
            }
        }
        Ok(cases)
    }

    fn case(&mut self, scope: &Scope, routes: Vec<Route>, parts: Vec<Part>) -> Result<Arc<Case>> {
        // Where every query touches an attribute, these are the same.
        let all_touch = |part: &Part| {
            let allocation = &self.release.allocations[part.product];
            let level = &allocation.levels()[part.segment.level];
            level.measurements.iter().all(|m| touches_any(allocation, &allocation.queries()[m.query]))
        };
        let plain = |part: Part| match part.moved {
            Moved::Touching if all_touch(&part) => Part { moved: Moved::All, ..part },
            _ => part,
        };
        let parts = merged(parts.into_iter().map(plain).collect());
        let by_attribute = parts.iter().any(|part| part.moved == Moved::Attribute);
        let key = (scope.name().filter(|_| by_attribute).map(String::from), parts);
        if let Some(case) = self.made.get(&key) {
            return Ok(case.clone());
        }
        let mut order: Vec<DiscreteGaussian> = vec![];
        let mut counts: HashMap<DiscreteGaussian, u64> = HashMap::new();
        for part in &key.1 {
            let allocation = &self.release.allocations[part.product];
            let noise = match self.noise.entry((part.product, part.segment)) {
                std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::hash_map::Entry::Vacant(empty) => {
                    empty.insert(allocation.noise_on(part.segment)?)
                }
            };
            for (query, noise) in noise.iter() {
                let query = &allocation.queries()[*query];
                let is_moved = match part.moved {
                    Moved::All => true,
                    Moved::Touching => touches_any(allocation, query),
                    Moved::Attribute => {
                        scope.name().is_some_and(|name| query.attributes.iter().any(|a| a == name))
                    }
                };
                if is_moved {
                    let noise = match part.times {
                        1 => noise.clone(),
                        times => DiscreteGaussian::new(noise.sigma2().clone(), noise.shift() * times)?,
                    };
                    *counts.entry(noise.clone()).or_insert_with(|| {
                        order.push(noise);
                        0
                    }) += part.cells;
                }
            }
        }
        let groups = order.into_iter().map(|noise| {
            let count = counts[&noise];
            (noise.into(), count)
        });
        let case = Arc::new(Case::new(routes, groups.collect()));
        self.made.insert(key, case.clone());
        Ok(case)
    }

    /// The routes of one product that the secret of a scope allows, with what moves on them; that of the main path first.
    ///
    /// All neighbours keep the totals of the level `kept` and of those above, if there is one.
    fn routes(&self, product: usize, scope: &Scope, kept: Option<usize>) -> Result<Routes> {
        let allocation = &self.release.allocations[product];
        let paths = &self.paths[product];
        let chosen = self.release.index_of(allocation, scope);
        let mut routes: Routes = vec![];
        let mut seen = HashSet::new();
        for (i, from) in paths.iter().enumerate() {
            let way = Way { product, from, last: allocation.levels().len() - 1 };
            let mut add = |to: &Path, mut parts: Vec<Part>| {
                if matches!(scope, Scope::Level(_)) {
                    parts.retain(|part| chosen == Some(part.segment.level));
                }
                let parts = merged(parts);
                if !parts.is_empty() && seen.insert(parts.clone()) {
                    routes.push((Route { from: from.clone(), to: to.clone() }, parts));
                }
            };
            match (scope, self.release.neighbours()) {
                (Scope::Attribute(_), _) => add(from, way.alone(Moved::Attribute, 1, 2)),
                (Scope::Total | Scope::Level(_), _) if self.times(product) > 1 => {
                    self.several(product, &way, &paths[i..], kept, &mut add)?;
                }
                (Scope::Total | Scope::Level(_), Neighbours::AddRemove) => {
                    add(from, way.alone(Moved::All, 1, 1));
                }
                (Scope::Total | Scope::Level(_), Neighbours::Bounded) => {
                    for to in &paths[i..] {
                        match kept {
                            Some(kept) => way.inside(to, kept).into_iter().for_each(|parts| add(to, parts)),
                            None => add(to, way.apart(to, None, Moved::All)),
                        }
                    }
                }
                (Scope::Keeping(_), _) => {
                    let least = chosen.max(kept).expect("checked before");
                    for to in &paths[i..] {
                        way.inside(to, least).into_iter().for_each(|parts| add(to, parts));
                    }
                }
                (Scope::Within(_), _) => {
                    let least = chosen.expect("checked before");
                    for to in &paths[i..] {
                        if let Some(shared) = way.shared(to, least) {
                            let mut parts = way.apart(to, Some(shared), Moved::All);
                            parts.retain(|part| part.segment.level > shared);
                            add(to, parts);
                        }
                    }
                }
            }
        }
        // A product may have nothing to say of a level.
        if routes.is_empty() {
            routes.push((Route { from: paths[0].clone(), to: paths[0].clone() }, vec![]));
        }
        Ok(routes)
    }

    /// How many records of a product one record of the release changes.
    fn times(&self, product: usize) -> u64 {
        let others = self.release.allocations.len() > 1;
        self.release.allocations[product].production().touches.filter(|_| others).unwrap_or(1)
    }

    /// Several records, all in one smallest unit, or in two units on paths that part somewhere (N10).
    fn several(
        &self,
        product: usize,
        way: &Way<'_>,
        others: &[Path],
        kept: Option<usize>,
        add: &mut impl FnMut(&Path, Vec<Part>),
    ) -> Result<()> {
        let allocation = &self.release.allocations[product];
        let (times, cells) = (self.times(product), self.release.neighbours().moves());
        let may_move = cells > 1 && kept != Some(way.last);
        if self.paths[product].len() > 1 && may_move {
            return Err(Error::stated(
                format!(
                    "`{}`: {times} records that each may change their place have no proved bound where units were \
                     bypassed",
                    allocation.name()
                ),
                "it has one if the totals of the smallest level are exact: exact_totals",
            ));
        }
        let moved = if kept.is_some() { Moved::Touching } else { Moved::All };
        for to in others {
            if way.from == to {
                add(to, way.alone(moved, times, cells));
                continue;
            }
            let shared = way.parting(to);
            let is_shared = |segment: &Segment| shared.is_some_and(|shared| segment.level <= shared);
            let both = way.from.segments().filter(is_shared).map(|s| way.part(s, moved, times, cells));
            let each = way.from.segments().chain(to.segments()).filter(|s| !is_shared(s));
            add(to, both.chain(each.map(|s| way.part(s, moved, 1, cells))).collect());
        }
        Ok(())
    }

    /// The cases that some neighbours are known to come down to, where that is not known of all: a total of the first
    /// level moves only if that level has more than one unit (N9).
    fn attained(&mut self, scope: &Scope) -> Result<Option<Vec<Arc<Case>>>> {
        let release = self.release;
        let by_place = match scope {
            Scope::Total => true,
            Scope::Level(name) => release.allocations.iter().any(|a| a.levels()[0].name == *name),
            _ => false,
        };
        let may_stay = |allocation: &Allocation| {
            if allocation.exact_level().is_some() {
                return false;
            }
            let first = &allocation.levels()[0].measurements;
            first.iter().any(|m| !touches_any(allocation, &allocation.queries()[m.query]))
        };
        if !by_place
            || release.neighbours() == Neighbours::AddRemove
            || !release.allocations.iter().any(may_stay)
        {
            return Ok(None);
        }
        // Neighbours that stay in their unit of the first level exist in any case.
        let lists = self.lists(scope, |allocation| allocation.exact_level().or(Some(0)))?;
        self.combined(scope, lists).map(Some)
    }

    /// The routes of every product, for neighbours that keep the totals of a level.
    fn lists(&self, scope: &Scope, kept: impl Fn(&Allocation) -> Option<usize>) -> Result<Vec<Routes>> {
        let allocations = self.release.allocations.iter().enumerate();
        allocations.map(|(product, allocation)| self.routes(product, scope, kept(allocation))).collect()
    }
}

/// A path of one product, and what moves when a record goes from it to another.
struct Way<'p> {
    product: usize,
    from: &'p Path,
    /// The index of the smallest level.
    last: usize,
}

impl Way<'_> {
    fn part(&self, segment: Segment, moved: Moved, times: u64, cells: u64) -> Part {
        Part { product: self.product, segment, moved, times, cells }
    }

    /// So many cells of every level of this path.
    fn alone(&self, moved: Moved, times: u64, cells: u64) -> Vec<Part> {
        self.from.segments().map(|s| self.part(s, moved, times, cells)).collect()
    }

    /// Two cells of each level up to the one of a unit that both paths share; below, one of each path.
    fn apart(&self, to: &Path, shared: Option<usize>, moved: Moved) -> Vec<Part> {
        let is_shared = |segment: &Segment| shared.is_some_and(|shared| segment.level <= shared);
        let above = self.from.segments().filter(is_shared).map(|s| self.part(s, moved, 1, 2));
        let below = self.from.segments().chain(to.segments()).filter(|s| !is_shared(s));
        above.chain(below.map(|s| self.part(s, Moved::All, 1, 1))).collect()
    }

    /// The largest unit at or below that level in which the two paths can part: they are one down to it, and both keep the
    /// level right below, where they are in different units (N7).
    fn shared(&self, to: &Path, least: usize) -> Option<usize> {
        (least..self.last).find(|level| self.part_at(to, *level))
    }

    /// The smallest such unit.
    fn parting(&self, to: &Path) -> Option<usize> {
        (0..self.last).rev().find(|level| self.part_at(to, *level))
    }

    fn part_at(&self, to: &Path, level: usize) -> bool {
        self.from.agrees(to, level) && self.from.keeps(level + 1) && to.keeps(level + 1)
    }

    /// What a change of a record moves that stays inside one unit of that level, if the two paths allow it.
    fn inside(&self, to: &Path, least: usize) -> Option<Vec<Part>> {
        match self.shared(to, least) {
            Some(shared) => Some(self.apart(to, Some(shared), Moved::Touching)),
            // In the same smallest unit.
            None => (self.from == to).then(|| self.alone(Moved::Touching, 1, 2)),
        }
    }
}

/// The same parts, those that are moved alike once.
fn merged(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort();
    let mut merged: Vec<Part> = vec![];
    for part in parts {
        match merged.last_mut() {
            Some(last) if Part { cells: part.cells, ..*last } == part => last.cells += part.cells,
            _ => merged.push(part),
        }
    }
    merged
}
