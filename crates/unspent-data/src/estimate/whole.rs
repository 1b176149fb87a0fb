//! Whole tables of every unit that add up over all levels, from the top down.
//!
//! ```text
//! roots ─▶ children of every unit, level by level ─▶ leaves, as their measurements are read again
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use unspent::{Error, Result, parallel};
use unspent_estimate::Space;
use unspent_estimate::tables::{
    ChildEstimate, Family, FamilyTables, Isolate, Kind, Quality, Roots, Support, Table, Unmet,
};

use super::WholeTables;
use super::bounds::TreeLimits;
use super::estimation::{By, Estimation, Work};
use super::join::{Joined, UnitKind};
use crate::plan::StructuralZeros;
use crate::progress::Progress;

/// Counts of a family that are worth more than one core: smaller ones are solved side by side.
const LARGE: usize = 1 << 20;

/// The table of a unit.
#[derive(Clone, Debug)]
pub(super) struct UnitTable {
    pub(super) code: String,
    pub(super) kind: Arc<UnitKind>,
    pub(super) table: Table,
}

/// The tables of all units.
pub(super) struct Whole {
    /// By level and code.
    pub(super) levels: Vec<Vec<UnitTable>>,
    pub(super) quality: WholeQuality,
    /// Nodes with children of which something is known without noise, or of units in them.
    limited: HashSet<usize>,
}

/// How good the projections are, and what was decided first.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeQuality {
    /// Parents whose children were projected.
    pub(super) parents: u64,
    /// The largest gap, as a share of the cost, and where it is.
    pub(super) largest_gap: f64,
    pub(super) largest_gap_at: String,
    pub(super) steps: u64,
    /// For each level, how many families decided their totals first, of how many.
    pub(super) isolated: Vec<(u64, u64)>,
}

/// A child of a parent.
struct Member {
    code: String,
    kind: Arc<UnitKind>,
    level: usize,
    /// The node that stands for it; its own, if it is a unit by itself.
    node: usize,
    /// None if the parent is empty.
    estimate: Option<ChildEstimate>,
    /// Where it is among the leaves.
    place: (usize, usize),
}

/// A parent whose children are all there.
struct Ready {
    parent: usize,
    members: Vec<Member>,
}

/// How many of some things are done. It is said at once what is begun: one of them may take long.
struct Steps<'p> {
    progress: &'p mut dyn Progress,
    what: &'static str,
    done: u64,
    all: u64,
}

impl Steps<'_> {
    fn new<'p>(progress: &'p mut dyn Progress, what: &'static str, all: usize) -> Steps<'p> {
        progress.done(what, 0, all as u64);
        Steps { progress, what, done: 0, all: all as u64 }
    }

    fn more(&mut self) {
        self.done += 1;
        self.progress.done(self.what, self.done, self.all);
    }
}

/// Looks at families, by the code of their parent, before they are solved.
pub type LookAtFamily<'l> = dyn Fn(&str, &Family<'_>) + Sync + 'l;

pub(super) fn tables(
    estimation: &Estimation,
    question: &WholeTables,
    progress: &mut dyn Progress,
) -> Result<Whole> {
    tables_of(estimation, question, &|_, _| (), progress)
}

/// The same; all families are looked at.
pub(super) fn tables_of(
    estimation: &Estimation,
    question: &WholeTables,
    look: &LookAtFamily<'_>,
    progress: &mut dyn Progress,
) -> Result<Whole> {
    let by = if question.own_measurements { By::Own } else { By::All };
    let nodes = estimation.tree.nodes().len();
    let levels = estimation.joined.levels.len();
    let allowed = allowed(&estimation.joined);
    let limits = TreeLimits::new(estimation, &question.bounds, &allowed)?;
    let mut solver = Solver {
        estimation,
        by,
        allowed,
        limits,
        look,
        supports: Mutex::default(),
        kinds: Mutex::default(),
        tables: vec![None; nodes],
        leaves: vec![],
        quality: WholeQuality { isolated: vec![(0, 0); levels], ..WholeQuality::default() },
    };
    solver.roots(progress)?;
    solver.descend(progress)?;
    Ok(solver.finish())
}

struct Solver<'s> {
    estimation: &'s Estimation,
    by: By,
    /// Cells that may have anybody in them.
    allowed: Vec<bool>,
    limits: Option<TreeLimits>,
    look: &'s LookAtFamily<'s>,
    supports: Mutex<HashMap<usize, Arc<Support>>>,
    kinds: Mutex<HashMap<usize, Arc<Kind>>>,
    /// Of nodes that are units by themselves.
    tables: Vec<Option<Table>>,
    /// Of all others, and where they are among the leaves.
    leaves: Vec<((usize, usize), UnitTable)>,
    quality: WholeQuality,
}

impl Whole {
    /// Whether something is known without noise of children of a node, or of units in them.
    pub(super) fn is_limited(&self, node: usize) -> bool {
        self.limited.contains(&node)
    }

    /// The table of a unit by the numbers of its cells among all combinations of values, ascending.
    pub(super) fn numbered(space: &Space, table: &Table) -> Vec<(u32, i64)> {
        let numbers = space.cell_numbers();
        let mut found: Vec<(u32, i64)> =
            table.iter().map(|(cell, count)| (numbers[*cell as usize], *count)).collect();
        found.sort_unstable();
        found
    }
}

impl Solver<'_> {
    fn is_unit(&self, node: usize) -> bool {
        self.estimation.gathered.units[node].is_some()
    }

    /// How precisely a node is known; the matrices of leaves that are a node together are the same.
    fn kind(&self, node: usize) -> Arc<Kind> {
        if let Some(kind) = self.kinds.lock().expect("not poisoned").get(&node) {
            return kind.clone();
        }
        let Estimation { tree, joined, gathered, .. } = self.estimation;
        let kind = Arc::new(match self.by {
            By::All => Kind::upward(tree, node),
            By::Own => Kind::own(&joined.model, &gathered.kinds[node].leaf),
        });
        self.kinds.lock().expect("not poisoned").entry(node).or_insert(kind).clone()
    }

    fn support(&self, node: usize) -> Option<Arc<Support>> {
        let table = self.tables[node].as_ref().expect("a parent's table comes first");
        if table.is_empty() {
            return None;
        }
        if let Some(support) = self.supports.lock().expect("not poisoned").get(&node) {
            return Some(support.clone());
        }
        let support = Arc::new(Support::new(&self.estimation.joined.model, table));
        Some(self.supports.lock().expect("not poisoned").entry(node).or_insert(support).clone())
    }

    fn roots(&mut self, progress: &mut dyn Progress) -> Result<()> {
        let Estimation { tree, joined, .. } = self.estimation;
        let roots = Roots::new(&joined.model, self.allowed.clone(), self.by == By::All);
        let is_root = |node: &usize| tree.nodes()[*node].parent.is_none() && self.is_unit(*node);
        let found: Vec<usize> = (0..tree.nodes().len()).filter(is_root).collect();
        let mut steps = Steps::new(progress, "tables of the largest units", found.len());
        for node in found {
            let mut coordinates = vec![0.0; joined.model.space().cells()];
            self.estimation.node_coordinates(node, self.by, &mut coordinates)?;
            let limits = self.limits.as_ref().and_then(|limits| limits.of_root(node));
            let found = roots.solve(&self.kind(node), &coordinates, limits);
            let (table, quality) = found.map_err(|unmet| self.unmet(&unmet))?;
            self.note(node, &quality);
            self.tables[node] = Some(table);
            steps.more();
        }
        Ok(())
    }

    fn note(&mut self, node: usize, quality: &Quality) {
        self.quality.parents += 1;
        self.quality.steps += quality.steps as u64;
        if quality.relative_gap() >= self.quality.largest_gap {
            self.quality.largest_gap = quality.relative_gap();
            let (level, code) = self.estimation.place(node);
            self.quality.largest_gap_at = format!("{level} {code}").trim().into();
        }
    }

    fn unmet(&self, unmet: &Unmet) -> Error {
        let limits = self.limits.as_ref().expect("only limits cannot be met");
        limits.error(self.estimation, unmet)
    }

    /// Solves all families whose parent has a table, until there are none.
    fn descend(&mut self, progress: &mut dyn Progress) -> Result<()> {
        let tree = &self.estimation.tree;
        let mut waiting: Vec<usize> =
            (0..tree.nodes().len()).filter(|node| !tree.children(*node).is_empty()).collect();
        let is_upper = |node: &&usize| tree.children(**node).iter().all(|child| self.is_unit(*child));
        let all = waiting.iter().filter(is_upper).count();
        let mut steps = Steps::new(progress, "parents of larger units", all);
        loop {
            let (now, later): (Vec<usize>, Vec<usize>) =
                waiting.into_iter().partition(|node| self.tables[*node].is_some());
            if now.is_empty() {
                break;
            }
            waiting = later;
            let has_leaves = |node: &usize| tree.children(*node).iter().any(|child| !self.is_unit(*child));
            let (with_leaves, upper): (Vec<usize>, Vec<usize>) = now.into_iter().partition(has_leaves);
            let ready = parallel::map(&upper, |parent| {
                self.members(*parent).map(|members| Ready { parent: *parent, members })
            });
            self.solve(ready.into_iter().collect::<Result<Vec<_>>>()?, &mut steps)?;
            // Leaves are read once if all tables above them are there.
            match upper.is_empty() {
                true => self.stream(&with_leaves, steps.progress)?,
                false => waiting.extend(with_leaves),
            }
        }
        let rootless =
            tree.nodes().iter().enumerate().any(|(node, of)| of.parent.is_none() && !self.is_unit(node));
        if rootless { self.stream_roots() } else { Ok(()) }
    }

    /// The children of a parent that are units by themselves.
    fn members(&self, parent: usize) -> Result<Vec<Member>> {
        let Estimation { tree, gathered, joined, .. } = self.estimation;
        let mut work = Work::new(joined.model.space().cells());
        let mut found = vec![];
        for node in tree.children(parent).iter().copied().filter(|child| self.is_unit(*child)) {
            let unit = gathered.units[node].as_ref().expect("a unit by itself");
            let estimate = match self.support(parent) {
                None => None,
                Some(support) => {
                    self.estimation.node_coordinates(node, self.by, &mut work.coordinates)?;
                    let kind = self.kind(node);
                    let Work { scratch, coordinates, .. } = &mut work;
                    Some(support.child(&joined.model, &kind, coordinates, scratch))
                }
            };
            let kind = gathered.kinds[node].clone();
            let place = (usize::MAX, node);
            found.push(Member { code: unit.code.clone(), kind, level: unit.level, node, estimate, place });
        }
        Ok(found)
    }

    /// Solves families, large ones one after the other.
    fn solve(&mut self, ready: Vec<Ready>, steps: &mut Steps<'_>) -> Result<()> {
        let size = |ready: &Ready| {
            let cells = self.support(ready.parent).map_or(0, |support| support.size());
            ready.members.len() * cells
        };
        let (large, small): (Vec<Ready>, Vec<Ready>) =
            ready.into_iter().partition(|ready| size(ready) >= LARGE);
        for ready in large {
            let found = self.family(&ready, true)?;
            self.take(ready, found);
            steps.more();
        }
        let found = parallel::map(&small, |ready| self.family(ready, false));
        for (ready, found) in small.into_iter().zip(found) {
            self.take(ready, found?);
            steps.more();
        }
        Ok(())
    }

    fn family(&self, ready: &Ready, on_all_cores: bool) -> Result<FamilyTables> {
        let Ready { parent, members } = ready;
        let Some(support) = self.support(*parent) else {
            let tables = vec![vec![]; members.len()];
            return Ok(FamilyTables { tables, quality: Quality::default(), isolated: false });
        };
        let mut nodes: Vec<usize> = members.iter().map(|member| member.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let kinds: Vec<Arc<Kind>> = nodes.iter().map(|node| self.kind(*node)).collect();
        let child = |member: &Member| {
            let kind = nodes.binary_search(&member.node).expect("is among them") as u32;
            (kind, member.estimate.clone().expect("its parent is not empty"))
        };
        let leaf_level = self.estimation.gathered.leaf_level;
        let isolate = match self.by {
            By::All => Isolate::WellKnown,
            By::Own => Isolate::Fixed(members[0].level < leaf_level),
        };
        let family = Family {
            support: &support,
            kinds: kinds.iter().map(|kind| &**kind).collect(),
            children: members.iter().map(child).collect(),
            isolate,
            limits: self.limits.as_ref().and_then(|limits| limits.of_family(*parent)),
        };
        (self.look)(self.estimation.code(*parent), &family);
        family.solve(on_all_cores).map_err(|unmet| self.unmet(&unmet))
    }

    fn take(&mut self, ready: Ready, found: FamilyTables) {
        let Ready { parent, members } = ready;
        self.note(parent, &found.quality);
        let counts = &mut self.quality.isolated[members[0].level];
        *counts = (counts.0 + u64::from(found.isolated), counts.1 + 1);
        self.supports.get_mut().expect("not poisoned").remove(&parent);
        for (member, table) in members.into_iter().zip(found.tables) {
            self.kinds.get_mut().expect("not poisoned").remove(&member.node);
            match member.place.0 {
                usize::MAX => self.tables[member.node] = Some(table),
                _ => {
                    let unit = UnitTable { code: member.code, kind: member.kind, table };
                    self.leaves.push((member.place, unit));
                }
            }
        }
    }

    /// Reads the leaves again, and solves a family as soon as all of them are there.
    fn stream(&mut self, parents: &[usize], progress: &mut dyn Progress) -> Result<()> {
        let Estimation { tree, joined, gathered, .. } = self.estimation;
        let mut missing: HashMap<usize, u64> = HashMap::new();
        let mut waiting: HashMap<usize, Vec<Member>> = HashMap::new();
        for parent in parents {
            let leaves = tree.children(*parent).iter().filter(|child| !self.is_unit(**child));
            missing.insert(*parent, leaves.map(|child| tree.nodes()[*child].count as u64).sum());
            waiting.insert(*parent, self.members(*parent)?);
        }
        let level = gathered.leaf_level;
        let parts: Vec<usize> = (0..joined.first.levels[level].parts).collect();
        let mut steps = Steps::new(progress, "parents of the smallest units", parents.len());
        for some in parts.chunks(16) {
            let found = parallel::map(some, |part| self.leaves_of(*part, &missing));
            for members in found {
                for (parent, member) in members? {
                    *missing.get_mut(&parent).expect("is waited for") -= 1;
                    waiting.get_mut(&parent).expect("is waited for").push(member);
                }
            }
            let mut done: Vec<usize> =
                waiting.keys().copied().filter(|parent| missing[parent] == 0).collect();
            done.sort_unstable();
            let take = |parent: usize| {
                let members = waiting.remove(&parent).expect("is waited for");
                Ready { parent, members }
            };
            let ready = done.into_iter().map(take).collect();
            self.solve(ready, &mut steps)?;
        }
        assert!(waiting.is_empty(), "every leaf was read again");
        Ok(())
    }

    fn leaves_of(&self, part: usize, wanted: &HashMap<usize, u64>) -> Result<Vec<(usize, Member)>> {
        let Estimation { joined, gathered, .. } = self.estimation;
        let mut found = vec![];
        let mut at = 0;
        self.estimation.each_leaf_node(part, self.by, &mut |leaf, work| {
            at += 1;
            let Some(parent) = leaf.parent.filter(|parent| wanted.contains_key(parent)) else {
                return Ok(());
            };
            let estimate = self.support(parent).map(|support| {
                let Work { scratch, coordinates, .. } = work;
                support.child(&joined.model, &self.kind(leaf.node), coordinates, scratch)
            });
            let (code, kind) = (leaf.code.into(), leaf.kind.clone());
            let (level, node) = (gathered.leaf_level, leaf.node);
            found.push((parent, Member { code, kind, level, node, estimate, place: (part, at) }));
            Ok(())
        })?;
        Ok(found)
    }

    /// Leaves that lie in no unit: each is a root.
    fn stream_roots(&mut self) -> Result<()> {
        let Estimation { joined, gathered, .. } = self.estimation;
        let roots = Roots::new(&joined.model, self.allowed.clone(), self.by == By::All);
        let parts: Vec<usize> = (0..joined.first.levels[gathered.leaf_level].parts).collect();
        let found = parallel::map(&parts, |part| -> Result<_> {
            let (mut found, mut at) = (vec![], 0);
            self.estimation.each_leaf_node(*part, self.by, &mut |leaf, work| {
                at += 1;
                if leaf.parent.is_none() {
                    let limits = self.limits.as_ref();
                    let limits = limits.and_then(|limits| limits.of_leaf(gathered.leaf_level, leaf.code));
                    let solved = roots.solve(&self.kind(leaf.node), &work.coordinates, limits);
                    let (table, quality) = solved.map_err(|unmet| self.unmet(&unmet))?;
                    let unit = UnitTable { code: leaf.code.into(), kind: leaf.kind.clone(), table };
                    found.push((leaf.node, quality, ((*part, at), unit)));
                }
                Ok(())
            })?;
            Ok(found)
        });
        for part in found {
            for (node, quality, leaf) in part? {
                self.note(node, &quality);
                self.leaves.push(leaf);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Whole {
        let Estimation { joined, gathered, .. } = self.estimation;
        let is_limited = |node: &usize| self.limits.as_ref().is_some_and(|of| of.of_family(*node).is_some());
        let limited = (0..self.tables.len()).filter(is_limited).collect();
        let mut levels: Vec<Vec<UnitTable>> = joined.levels.iter().map(|_| vec![]).collect();
        self.leaves.sort_by_key(|(place, _)| *place);
        levels[gathered.leaf_level] = self.leaves.into_iter().map(|(_, unit)| unit).collect();
        for (node, table) in self.tables.into_iter().enumerate() {
            if let (Some(unit), Some(table)) = (&gathered.units[node], table) {
                let kind = gathered.kinds[node].clone();
                levels[unit.level].push(UnitTable { code: unit.code.clone(), kind, table });
            }
        }
        // Units without measurements came last.
        levels.iter_mut().for_each(|units| units.sort_by(|a, b| a.code.cmp(&b.code)));
        Whole { levels, quality: self.quality, limited }
    }
}

/// Which cells may have anybody in them: the space has also those of structural zeros that it cannot use.
fn allowed(joined: &Joined) -> Vec<bool> {
    let sizes: Vec<usize> =
        joined.schema.attributes().iter().map(|a| a.values.len() + usize::from(a.optional)).collect();
    let zeros = StructuralZeros::new(&joined.schema);
    let occurs = |number: &u32| {
        let mut rest = *number as usize;
        let mut values = vec![0; sizes.len()];
        for (value, size) in values.iter_mut().zip(&sizes).rev() {
            *value = (rest % size) as u32;
            rest /= size;
        }
        zeros.allow(&values)
    };
    joined.model.space().cell_numbers().iter().map(occurs).collect()
}
