//! Which compositions the neighbours of a scope can come down to: one for each pair of paths that its secret
//! allows (`theory/neighbours.md`, N7 and N8).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Release, touches_any};
use crate::allocation::{Allocation, Also, Neighbours, Path, Segment};
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::mechanism::{DiscreteGaussian, Mechanism};
use crate::number::Rational;
use crate::quantity::Rho;
use crate::scope::Scope;
use crate::worst::{Case, Route, WorstCase};

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

/// Which of the other mechanisms for the same record count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Beside {
    Nothing,
    /// Those of which a pair of laws is known.
    Known,
    All,
}

/// Most cases that are looked at one by one.
const MAX_CASES: usize = 1 << 12;

/// The cases of a release, each once however many scopes it belongs to.
pub(crate) struct Cases<'r> {
    release: &'r Release,
    effort: Effort,
    paths: Vec<Vec<Path>>,
    made: HashMap<(Option<String>, Vec<Part>, Beside), Arc<Case>>,
    noise: HashMap<(usize, Segment), Vec<(usize, Mechanism)>>,
}

impl<'r> Cases<'r> {
    pub fn new(release: &'r Release, effort: Effort) -> Cases<'r> {
        let paths = release.allocations.iter().map(Allocation::paths).collect();
        Cases { release, effort, paths, made: HashMap::new(), noise: HashMap::new() }
    }

    /// The worst of all compositions that neighbours of that scope can come down to.
    pub fn worst_case(&mut self, scope: &Scope) -> Result<WorstCase> {
        // What makes no sense is an error here.
        self.release.moved(scope)?;
        let lists = self.lists(scope, Allocation::exact_level)?;
        // A reader of one level does not see them.
        let beside = if matches!(scope, Scope::Level(_)) { Beside::Nothing } else { Beside::All };
        let count = lists.iter().map(Vec::len).try_fold(1usize, |all, n| all.checked_mul(n));
        let effort = self.effort;
        if count.is_none_or(|count| count > MAX_CASES) {
            // Budgets add up: zCDP bounds all combinations at once. The first of each list is the main path.
            let mut budgets = vec![];
            for list in &lists {
                let cases = self.combined(scope, vec![list.clone()], Beside::Nothing)?;
                let rhos = cases.iter().map(|case| case.rho()).collect::<Result<Vec<_>>>()?;
                budgets.extend(rhos.into_iter().max());
            }
            if beside == Beside::All {
                budgets.push(Case::new(vec![], vec![]).beside(self.also(beside)?).rho()?);
            }
            let first: Vec<Routes> =
                lists.into_iter().map(|list| list.into_iter().take(1).collect()).collect();
            let main = self.combined(scope, first.clone(), beside)?;
            let known = match beside {
                Beside::All if self.has_events() => Some(self.combined(scope, first, Beside::Known)?),
                _ => None,
            };
            return Ok(WorstCase::new(main, known, effort).bounded_by(Rho::new(Rational::sum(&budgets))?));
        }
        let cases = self.combined(scope, lists, beside)?;
        if cases.is_empty() {
            return Err(self.release.nothing_moves(scope));
        }
        let attained = self.attained(scope, beside)?;
        Ok(WorstCase::new(cases, attained, effort))
    }

    /// Every combination of one route for each product.
    fn combined(&mut self, scope: &Scope, lists: Vec<Routes>, beside: Beside) -> Result<Vec<Arc<Case>>> {
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
            if seen.insert(parts.clone()) {
                // Where only totals are measured that do not move, there is nothing to tell.
                cases.extend(Some(self.case(scope, routes, parts, beside)?).filter(|case| !case.is_empty()));
            }
        }
        Ok(cases)
    }

    /// Whether only a bound is known of some of the other mechanisms.
    fn has_events(&self) -> bool {
        self.release.allocations.iter().any(|a| a.also().iter().any(Also::is_event))
    }

    /// The other mechanisms for the same record, of all products.
    fn also(&self, beside: Beside) -> Result<Vec<(Mechanism, u64)>> {
        let mut all = vec![];
        for (product, allocation) in self.release.allocations.iter().enumerate() {
            match beside {
                Beside::Nothing => {}
                Beside::Known | Beside::All => {
                    all.extend(allocation.also_in(self.release.steps(product), beside == Beside::All)?);
                }
            }
        }
        Ok(all)
    }

    fn case(
        &mut self,
        scope: &Scope,
        routes: Vec<Route>,
        parts: Vec<Part>,
        beside: Beside,
    ) -> Result<Arc<Case>> {
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
        let key = (scope.name().filter(|_| by_attribute).map(String::from), parts, beside);
        if let Some(case) = self.made.get(&key) {
            return Ok(case.clone());
        }
        let mut order: Vec<Mechanism> = vec![];
        let mut counts: HashMap<Mechanism, u64> = HashMap::new();
        for part in &key.1 {
            let allocation = &self.release.allocations[part.product];
            let noise = match self.noise.entry((part.product, part.segment)) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(empty) => empty.insert(allocation.noise_on(part.segment)?),
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
                        times => several_times(noise, times).map_err(|e| e.at(allocation.name()))?,
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
            (noise, count)
        });
        let case = Arc::new(Case::new(routes, groups.collect()).beside(self.also(beside)?));
        self.made.insert(key, case.clone());
        Ok(case)
    }

    /// The routes of one product that the secret of a scope allows, with what moves on them; that of the main
    /// path first.
    ///
    /// All neighbours keep the totals of the level `kept` and of those above, if there is one.
    fn routes(&self, product: usize, scope: &Scope, kept: Option<usize>) -> Result<Routes> {
        let allocation = &self.release.allocations[product];
        let paths = &self.paths[product];
        // What is known by its mechanisms alone measures nothing.
        if allocation.levels().is_empty() {
            return Ok(vec![(Route { from: paths[0].clone(), to: paths[0].clone() }, vec![])]);
        }
        let chosen = self.release.index_of(allocation, scope);
        let mut routes: Routes = vec![];
        let mut seen = HashSet::new();
        for (i, from) in paths.iter().enumerate() {
            let way = Way { product, from, last: allocation.levels().len().saturating_sub(1) };
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
        self.release.touches(product)
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
                    "`{}`: {times} records that each may change their place have no proved bound where units \
                     were \
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

    /// The cases that some neighbours are known to come down to, where that is not known of all: a total of
    /// the first level moves only if that level has more than one unit (N9).
    ///
    /// Of events a bound is known and no pair of data sets; and whether the other mechanisms see a change of
    /// one attribute or place is not known.
    fn attained(&mut self, scope: &Scope, beside: Beside) -> Result<Option<Vec<Arc<Case>>>> {
        let release = self.release;
        let has_also = release.allocations.iter().any(|a| !a.also().is_empty());
        let has_events = self.has_events();
        let known = match (beside, scope) {
            (Beside::Nothing, _) => Beside::Nothing,
            (_, Scope::Total) if has_events => Beside::Known,
            (_, Scope::Total) => beside,
            _ if has_also => Beside::Nothing,
            _ => beside,
        };
        let by_place = match scope {
            Scope::Total => true,
            Scope::Level(name) => {
                release.allocations.iter().any(|a| a.levels().first().is_some_and(|l| l.name == *name))
            }
            _ => false,
        };
        let may_stay = |allocation: &Allocation| {
            if allocation.exact_level().is_some() {
                return false;
            }
            let first = allocation.levels().first().into_iter().flat_map(|level| &level.measurements);
            first.into_iter().any(|m| !touches_any(allocation, &allocation.queries()[m.query]))
        };
        if !by_place
            || release.neighbours() == Neighbours::AddRemove
            || !release.allocations.iter().any(may_stay)
        {
            if known == beside {
                return Ok(None);
            }
            let lists = self.lists(scope, Allocation::exact_level)?;
            return self.combined(scope, lists, known).map(Some);
        }
        // Neighbours that stay in their unit of the first level exist in any case.
        let kept = |a: &Allocation| a.exact_level().or((!a.levels().is_empty()).then_some(0));
        let lists = self.lists(scope, kept)?;
        self.combined(scope, lists, known).map(Some)
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

    /// The largest unit at or below that level in which the two paths can part: they are one down to it, and
    /// both keep the level right below, where they are in different units (N7).
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

/// The noise on a cell that several records move at once.
fn several_times(noise: &Mechanism, times: u64) -> Result<Mechanism> {
    match noise {
        Mechanism::DiscreteGaussian(noise) => {
            Ok(DiscreteGaussian::new(noise.sigma2().clone(), noise.shift() * times)?.into())
        }
        _ => Err(Error::stated(
            format!(
                "touches: what {times} records of a product with {} noise move has no proved bound",
                noise.name()
            ),
            "it has one for discrete Gaussian noise (N10)",
        )),
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
