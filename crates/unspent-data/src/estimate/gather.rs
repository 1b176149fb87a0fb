//! The first way through all measurements: units above the smallest level, and sums of the leaves.
//!
//! Leaves of one parent that are of the same class and in the same areas are added up, so that memory does
//! not grow with the number of leaves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use unspent::{Error, Result, parallel};
use unspent_estimate::{Measured, Node, Scratch};

use super::areas::Areas;
use super::geography::{Geography, Order, Unclear};
use super::join::{Joined, UnitKind, UnitValues};
use super::twice;
use crate::progress::Progress;

/// A unit that is a node of the tree by itself.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) level: usize,
    pub(super) code: String,
}

/// Leaves of one kind: their parent, the number of their kind, and the areas that they are in.
type GroupKey = (u32, u32, u32);

/// The parent of units that have none.
const NO_PARENT: u32 = u32::MAX;
/// The largest count that is added up: more than all people, and 2²⁴ such counts fit into a word.
const MAX_COUNT: i64 = 1 << 38;

/// All units, or sums of them, as nodes of a tree.
pub(super) struct Gathered {
    pub(super) nodes: Vec<Node>,
    pub(super) measured: Vec<Measured>,
    /// What each node is: a unit, or leaves that are in the same areas.
    pub(super) units: Vec<Option<Unit>>,
    /// For nodes of leaves: the areas that they are in.
    pub(super) patterns: Vec<u32>,
    /// The node of each group of leaves.
    groups: HashMap<GroupKey, usize>,
    pub(super) kinds: Vec<Arc<UnitKind>>,
    pub(super) geography: Geography,
    /// The level whose units are added up.
    pub(super) leaf_level: usize,
    /// The parent of each node.
    pub(super) parents: Vec<Option<usize>>,
    pub(super) leaves: u64,
    pub(super) largest_count: i64,
}

/// Sums of leaves of one kind.
struct Group {
    kind: Arc<UnitKind>,
    count: u64,
    values: UnitValues,
}

/// What was found in a part of the leaves.
#[derive(Default)]
struct Part {
    groups: HashMap<GroupKey, Group>,
    order: Order,
    codes: Vec<String>,
    largest: i64,
}

impl Gathered {
    pub(super) fn read(joined: &Joined, areas: &Areas, progress: &mut dyn Progress) -> Result<Gathered> {
        let levels = &joined.first.levels;
        let leaf_level = levels.iter().rposition(|level| level.parts > 0 || !level.bypassed.is_empty());
        let Some(leaf_level) = leaf_level else {
            let cause = format!("{}: has no noisy measurements", joined.first.name);
            return Err(Error::stated(cause, "name a folder of noisy measurements"));
        };
        let mut gathered = Gathered {
            nodes: vec![],
            measured: vec![],
            units: vec![],
            patterns: vec![],
            groups: HashMap::new(),
            kinds: vec![],
            geography: Geography::new(levels.iter().map(|level| level.code.clone()).collect()),
            leaf_level,
            parents: vec![],
            leaves: 0,
            largest_count: 0,
        };
        for level in 0..leaf_level {
            gathered.read_level(joined, level)?;
            progress.rows(gathered.nodes.len() as u64, None);
        }
        gathered.read_leaves(joined, areas, progress)?;
        gathered.parents = gathered.nodes.iter().map(|node| node.parent).collect();
        gathered.check_children(joined)?;
        Ok(gathered)
    }

    fn push(
        &mut self,
        joined: &Joined,
        level: usize,
        code: String,
        kind: &Arc<UnitKind>,
        measured: Measured,
    ) -> Result<usize> {
        let parent = self.parent(joined, level, &code)?;
        let node = self.nodes.len();
        if !self.geography.insert(level, &code, node) {
            return Err(twice(&code, &joined.levels[level]).at(&joined.first.name));
        }
        self.nodes.push(Node { parent, class: kind.class.clone(), count: 1.0 });
        self.measured.push(measured);
        self.units.push(Some(Unit { level, code }));
        self.kinds.push(kind.clone());
        self.patterns.push(0);
        Ok(node)
    }

    /// Reads all units of a level above the smallest.
    fn read_level(&mut self, joined: &Joined, level: usize) -> Result<()> {
        let input = &joined.first.levels[level];
        let parts: Vec<usize> = (0..input.parts).collect();
        let found = parallel::map(&parts, |part| -> Result<_> {
            let mut scratch = Scratch::default();
            let mut units = vec![];
            joined.first.each_unit(level, *part, &mut |code, noise, rows| {
                let lacking = self.lacking(self.parent(joined, level, code)?);
                let (kind, values) = joined.unit(level, code, Some((noise, rows)), lacking)?;
                let largest = largest(joined, level, code, rows)?;
                units.push((code.to_string(), joined.measured(&kind, &values, &mut scratch), kind, largest));
                Ok(())
            })?;
            Ok(units)
        });
        for part in found {
            for (code, measured, kind, largest) in part? {
                self.largest_count = self.largest_count.max(largest);
                self.push(joined, level, code, &kind, measured)?;
            }
        }
        let read = self.units.iter().flatten().filter(|unit| unit.level == level).count() as u64;
        if read != input.units {
            return Err(Error::stated(
                format!(
                    "{}: level `{}` has {read} units; the manifest says {}",
                    joined.first.name, input.name, input.units
                ),
                "a directory of measurements is read as it was written",
            ));
        }
        self.push_unmeasured(joined, level, |gathered, code| gathered.geography.node(level, code).is_some())?;
        joined.check_others(level, |code| self.geography.node(level, code).is_some())
    }

    /// Units that are not measured: those that are listed as bypassed, and, where nobody lists them, those of
    /// which something is known exactly.
    fn push_unmeasured(
        &mut self,
        joined: &Joined,
        level: usize,
        is_measured: impl Fn(&Gathered, &str) -> bool,
    ) -> Result<()> {
        let input = &joined.first.levels[level];
        let exact = input.exact.iter().flat_map(|exact| exact.codes.keys());
        let known = exact.chain(&input.bypassed);
        let mut codes: Vec<&String> = known.filter(|code| !is_measured(self, code)).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut scratch = Scratch::default();
        for code in codes {
            let lacking = self.lacking(self.parent(joined, level, code)?);
            let (kind, values) = joined.unit(level, code, None, lacking)?;
            let measured = joined.measured(&kind, &values, &mut scratch);
            self.push(joined, level, code.clone(), &kind, measured)?;
        }
        Ok(())
    }

    fn read_leaves(&mut self, joined: &Joined, areas: &Areas, progress: &mut dyn Progress) -> Result<()> {
        let level = self.leaf_level;
        let input = &joined.first.levels[level];
        let plain = joined.is_plain(level);
        let parts: Vec<usize> = (0..input.parts).collect();
        let mut groups: HashMap<GroupKey, Group> = HashMap::new();
        let (mut orders, mut largest_count) = (vec![], self.largest_count);
        // Codes are kept only where they must be compared with others.
        let mut there: HashSet<String> = HashSet::new();
        // Some parts at a time, so that not all of their sums are in memory before they are added up.
        for some in parts.chunks(64) {
            let found = parallel::map(some, |part| -> Result<Part> {
                let mut found = Part::default();
                let mut kinds = LeafKinds::new(joined, level);
                joined.first.each_unit(level, *part, &mut |code, noise, rows| {
                    found.order.push(code);
                    if !plain {
                        found.codes.push(code.into());
                    }
                    found.largest = found.largest.max(largest(joined, level, code, rows)?);
                    let parent = self.parent(joined, level, code)?;
                    let (kind, values) =
                        kinds.of(joined, level, code, (noise, rows), self.lacking(parent))?;
                    let key = (key_of(parent), kind.number, areas.pattern(code));
                    let group = found.groups.entry(key).or_insert_with(|| Group {
                        kind,
                        count: 0,
                        values: UnitValues::default(),
                    });
                    group.count += 1;
                    match values {
                        None => add_rows(&mut group.values, rows),
                        Some(values) => add(&mut group.values, &values),
                    }
                    Ok(())
                })?;
                Ok(found)
            });
            for part in found {
                let part = part?;
                orders.push(part.order);
                there.extend(part.codes);
                largest_count = largest_count.max(part.largest);
                for (key, group) in part.groups {
                    match groups.get_mut(&key) {
                        Some(known) => {
                            known.count += group.count;
                            add(&mut known.values, &group.values);
                        }
                        None => _ = groups.insert(key, group),
                    }
                }
            }
            let read: u64 = orders.iter().map(|order| order.units).sum();
            progress.rows(read, Some(read as f64 / input.units.max(1) as f64 / 2.0));
        }
        self.leaves = orders.iter().map(|order| order.units).sum();
        if !Order::ascends(&orders) {
            check_twice(joined, level)?;
        }
        self.largest_count = largest_count;
        self.push_groups(joined, groups);
        self.push_unmeasured(joined, level, |_, code| there.contains(code))?;
        joined.check_others(level, |code| there.contains(code) || self.geography.node(level, code).is_some())
    }

    fn push_groups(&mut self, joined: &Joined, groups: HashMap<GroupKey, Group>) {
        let mut entries: Vec<(GroupKey, Group)> = groups.into_iter().collect();
        // Numbers of kinds depend on who came first; what decides a kind does not.
        entries.sort_by(|(a, x), (b, y)| (a.0, &x.kind.key, a.2).cmp(&(b.0, &y.kind.key, b.2)));
        let measured = parallel::map(&entries, |(_, group)| {
            joined.measured(&group.kind, &group.values, &mut Scratch::default())
        });
        for ((key, group), measured) in entries.into_iter().zip(measured) {
            let node = self.nodes.len();
            let parent = (key.0 != NO_PARENT).then_some(key.0 as usize);
            self.nodes.push(Node { parent, class: group.kind.class.clone(), count: group.count as f64 });
            self.measured.push(measured);
            self.units.push(None);
            self.kinds.push(group.kind);
            self.patterns.push(key.2);
            self.groups.insert(key, node);
        }
    }

    /// The nearest unit above one of that level and code; none if no level above has units.
    pub(super) fn parent(&self, joined: &Joined, level: usize, code: &str) -> Result<Option<usize>> {
        let parent = self.geography.parent(level, code).map_err(|e| unclear(joined, level, e))?;
        if parent.is_none() && self.geography.has_units_above(level) {
            return Err(lies_nowhere(joined, level, code));
        }
        Ok(parent)
    }

    /// The values of the carrier that a unit lacks, and so do all units in it.
    pub(super) fn lacking(&self, unit: Option<usize>) -> &[u32] {
        unit.map_or(&[], |node| &self.kinds[node].key.lacking)
    }

    /// The node of the leaves of a parent that one belongs to.
    pub(super) fn group(&self, parent: Option<usize>, kind: &UnitKind, pattern: u32) -> Option<usize> {
        self.groups.get(&(key_of(parent), kind.number, pattern)).copied()
    }

    /// A unit above the smallest level has units below it, unless these are bypassed and nobody lists them; a
    /// unit that is listed as bypassed is the only one of the unit above.
    fn check_children(&self, joined: &Joined) -> Result<()> {
        let levels = &joined.first.levels;
        let are_listed = levels.iter().any(|level| !level.bypassed.is_empty());
        let mut children = vec![0.0; self.nodes.len()];
        for node in &self.nodes {
            node.parent.into_iter().for_each(|parent| children[parent] += node.count);
        }
        for (node, unit) in self.units.iter().enumerate() {
            let Some(unit) = unit else { continue };
            let level = &levels[unit.level];
            let place = || format!("{}: unit `{}` of level `{}`", joined.first.name, unit.code, level.name);
            let bypasses = |noise: u32| level.noises[noise as usize].bypasses;
            let may_lack = !are_listed && self.kinds[node].key.noises[0].is_none_or(bypasses);
            if unit.level < self.leaf_level && children[node] == 0.0 && !may_lack {
                return Err(Error::stated(
                    format!("{} has no units of the levels below", place()),
                    "an estimate needs every unit: a missing one is not an empty one",
                ));
            }
            let is_only = self.nodes[node].parent.is_some_and(|parent| children[parent] == 1.0);
            if level.bypassed.contains(&unit.code) && !is_only {
                return Err(Error::stated(
                    format!("{} is bypassed, and is not the only one of the unit above", place()),
                    "the list of bypassed units is written with the measurements, and is not to be changed",
                ));
            }
        }
        Ok(())
    }
}

/// The largest of a unit's counts.
fn largest(joined: &Joined, level: usize, code: &str, rows: &[&[i64]]) -> Result<i64> {
    let counts = rows.iter().flat_map(|row| row.iter());
    let largest = counts.map(|count| count.saturating_abs()).max().unwrap_or(0);
    if largest > MAX_COUNT {
        return Err(Error::stated(
            format!(
                "{}: unit `{code}` of level `{}` has a noisy count beyond {MAX_COUNT}",
                joined.first.name, joined.levels[level]
            ),
            "check the file: noisy counts are as large as counts of records",
        ));
    }
    Ok(largest)
}

/// The parent of leaves in a key.
fn key_of(parent: Option<usize>) -> u32 {
    parent.map_or(NO_PARENT, |node| node as u32)
}

/// The kinds of leaves; those of which only the noise matters are kept, by their noise.
pub(super) struct LeafKinds {
    plain: bool,
    by_noise: Vec<Option<Arc<UnitKind>>>,
}

impl LeafKinds {
    pub(super) fn new(joined: &Joined, level: usize) -> LeafKinds {
        LeafKinds { plain: joined.is_plain(level), by_noise: vec![] }
    }

    /// The kind of a leaf with this noise and these rows, and all of its values if these are more than the
    /// rows.
    pub(super) fn of(
        &mut self,
        joined: &Joined,
        level: usize,
        code: &str,
        (noise, rows): (usize, &[&[i64]]),
        lacking: &[u32],
    ) -> Result<(Arc<UnitKind>, Option<UnitValues>)> {
        if !self.plain || !lacking.is_empty() {
            let (kind, values) = joined.unit(level, code, Some((noise, rows)), lacking)?;
            return Ok((kind, Some(values)));
        }
        if self.by_noise.len() <= noise {
            self.by_noise.resize(noise + 1, None);
        }
        Ok((self.by_noise[noise].get_or_insert_with(|| joined.plain_kind(level, noise)).clone(), None))
    }
}

fn add_rows(sum: &mut UnitValues, rows: &[&[i64]]) {
    if sum.noisy.is_empty() {
        sum.noisy.push(rows.iter().map(|row| vec![0; row.len()]).collect());
    }
    for (sum, row) in sum.noisy[0].iter_mut().zip(rows) {
        sum.iter_mut().zip(*row).for_each(|(sum, count)| *sum += count);
    }
}

fn add(sum: &mut UnitValues, more: &UnitValues) {
    if sum.noisy.is_empty() {
        *sum = more.clone();
        return;
    }
    let noisy = sum.noisy.iter_mut().flatten().zip(more.noisy.iter().flatten());
    for (sum, more) in noisy.chain(sum.exact.iter_mut().zip(&more.exact)) {
        sum.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
    }
}

fn check_twice(joined: &Joined, level: usize) -> Result<()> {
    let mut seen: HashSet<String> = HashSet::new();
    for part in 0..joined.first.levels[level].parts {
        joined.first.each_unit(level, part, &mut |code, _, _| match seen.insert(code.into()) {
            true => Ok(()),
            false => Err(twice(code, &joined.levels[level]).at(&joined.first.name)),
        })?;
    }
    Ok(())
}

fn unclear(joined: &Joined, level: usize, unclear: Unclear) -> Error {
    Error::stated(
        format!(
            "{}: codes of level `{}` do not say in which unit of level `{}` a unit lies",
            joined.first.name, joined.levels[level], joined.levels[unclear.above]
        ),
        "levels must be the first characters of one code, or name the columns of the level above too, as in \
         [\"county\", \"tract\"]",
    )
}

fn lies_nowhere(joined: &Joined, level: usize, code: &str) -> Error {
    Error::stated(
        format!(
            "{}: unit `{code}` of level `{}` lies in no unit of the levels above",
            joined.first.name, joined.levels[level]
        ),
        "codes nest by their first characters or by their columns; a unit above may be missing",
    )
}
