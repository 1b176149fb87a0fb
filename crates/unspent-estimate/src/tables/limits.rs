//! Bounds on the units of a tree: how many a unit may have of each group, and in all.
//!
//! Going down the tree must never get stuck, so a step at a unit looks at all bounds below it. The tables
//! that a unit may have are a *shape*. Where bounds of groups and of totals do not mix below a unit, its
//! shape is an interval for each group and one for the total, and nothing below needs to be looked at.
//! Otherwise the shape is made of parts, and a step is a flow through them (Lemmas W3 and W4 of
//! `theory/tables.md`).

use std::collections::BTreeMap;

use super::flow::UNBOUNDED;
use super::network::{Build, Origin, Stated, Unmet};
use super::rounding::{Rows, nearest_whole};
use super::share::share;

/// The least and the largest count allowed; [`UNBOUNDED`] if there is no largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The least count.
    pub lower: i64,
    /// The largest count.
    pub upper: i64,
}

impl Bound {
    /// Any count.
    pub const FREE: Bound = Bound { lower: 0, upper: UNBOUNDED };
    /// None at all.
    pub const ZERO: Bound = Bound { lower: 0, upper: 0 };

    /// Just this count.
    #[must_use]
    pub fn exactly(count: i64) -> Bound {
        Bound { lower: count, upper: count }
    }

    /// What both allow; the lower end may be above the upper one.
    #[must_use]
    pub fn and(self, other: Bound) -> Bound {
        Bound { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// What a sum may be.
    #[must_use]
    pub fn plus(self, other: Bound) -> Bound {
        Bound { lower: self.lower.saturating_add(other.lower), upper: self.upper.saturating_add(other.upper) }
    }
}

/// The bounds of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitBounds {
    /// The unit.
    pub unit: usize,
    /// Of all its groups together.
    pub total: Bound,
    /// Of each group; empty if there are none.
    pub groups: Vec<Bound>,
}

/// The tables that a unit may have: within the bounds of each group and of the total. If there are parts,
/// also a sum of tables that these may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Empty if no group is bounded.
    pub groups: Vec<Bound>,
    pub total: Bound,
    pub parts: Vec<Part>,
}

/// A part of a unit: a child, or several children whose bounds do not mix, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Child(usize),
    Together(Shape),
}

impl Shape {
    pub const FREE: Shape = Shape { groups: vec![], total: Bound::FREE, parts: vec![] };

    pub fn group(&self, group: usize) -> Bound {
        self.groups.get(group).copied().unwrap_or(Bound::FREE)
    }

    /// At most groups are bounded.
    fn groups_only(&self) -> bool {
        self.total == Bound::FREE && self.parts.is_empty()
    }

    /// At most the total is bounded.
    fn total_only(&self) -> bool {
        self.groups.is_empty() && self.parts.is_empty()
    }

    fn is_free(&self) -> bool {
        self.groups_only() && self.total_only()
    }

    fn bound_groups(&mut self, groups: &[Bound]) {
        if self.groups.is_empty() {
            self.groups = groups.to_vec();
        } else {
            self.groups.iter_mut().zip(groups).for_each(|(bound, other)| *bound = bound.and(*other));
        }
        if self.groups.iter().all(|bound| *bound == Bound::FREE) {
            self.groups.clear();
        }
    }
}

/// The bounds on a tree of units, ready for going down from the root.
#[derive(Clone, Debug)]
pub struct Limits {
    groups: usize,
    roots: Vec<usize>,
    /// `below[starts[unit]..starts[unit + 1]]`
    starts: Vec<u32>,
    below: Vec<u32>,
    own: BTreeMap<usize, UnitBounds>,
    /// Of all units whose shape is not free.
    shapes: BTreeMap<usize, Shape>,
    unmet: Option<Unmet>,
}

impl Limits {
    /// Units are given by their parents, which come before their children.
    ///
    /// # Panics
    ///
    /// If a parent comes after its child, or if bounds are of an unknown unit or not of all groups.
    #[must_use]
    pub fn new(groups: usize, parents: &[Option<usize>], bounds: Vec<UnitBounds>) -> Limits {
        let mut starts = vec![0u32; parents.len() + 1];
        for (unit, parent) in parents.iter().enumerate() {
            let Some(parent) = parent else { continue };
            assert!(*parent < unit, "the parent {parent} of unit {unit} does not come before it");
            starts[parent + 1] += 1;
        }
        for unit in 0..parents.len() {
            starts[unit + 1] += starts[unit];
        }
        let mut next = starts.clone();
        let mut below = vec![0; starts[parents.len()] as usize];
        for (unit, parent) in parents.iter().enumerate() {
            let Some(parent) = parent else { continue };
            below[next[*parent] as usize] = unit as u32;
            next[*parent] += 1;
        }
        let mut own = BTreeMap::<usize, UnitBounds>::new();
        for mut bounds in bounds {
            assert!(bounds.unit < parents.len(), "unit {} does not exist", bounds.unit);
            assert!(bounds.groups.is_empty() || bounds.groups.len() == groups, "{groups} groups have bounds");
            bounds.total = bounds.total.and(Bound::FREE);
            bounds.groups.iter_mut().for_each(|bound| *bound = bound.and(Bound::FREE));
            match own.get_mut(&bounds.unit) {
                None => _ = own.insert(bounds.unit, bounds),
                Some(first) => {
                    first.total = first.total.and(bounds.total);
                    let missing = first.groups.is_empty() && !bounds.groups.is_empty();
                    first.groups.extend(missing.then(|| vec![Bound::FREE; groups]).into_iter().flatten());
                    first.groups.iter_mut().zip(&bounds.groups).for_each(|(a, b)| *a = a.and(*b));
                }
            }
        }
        let roots = (0..parents.len()).filter(|unit| parents[*unit].is_none()).collect();
        let mut limits = Limits { groups, roots, starts, below, own, shapes: BTreeMap::new(), unmet: None };
        // Units that are bounded or have something bounded below, children first.
        let mut waiting: std::collections::BTreeSet<usize> = limits.own.keys().copied().collect();
        while let Some(unit) = waiting.pop_last() {
            let shape = limits.combine(unit);
            if shape.is_free() {
                continue;
            }
            limits.unmet = limits.unmet.take().or_else(|| limits.contradiction(unit, &shape));
            limits.shapes.insert(unit, shape);
            waiting.extend(parents[unit]);
        }
        limits.unmet = limits.unmet.take().or_else(|| {
            let opened = limits.roots.iter().filter(|root| !limits.shape(**root).parts.is_empty());
            opened.copied().find_map(|root| Build::unfixed(&limits, root).check().err())
        });
        limits
    }

    /// The number of groups.
    #[must_use]
    pub fn groups_count(&self) -> usize {
        self.groups
    }

    fn children(&self, unit: usize) -> &[u32] {
        &self.below[self.starts[unit] as usize..self.starts[unit + 1] as usize]
    }

    pub(super) fn shape(&self, unit: usize) -> &Shape {
        const FREE: &Shape = &Shape::FREE;
        self.shapes.get(&unit).unwrap_or(FREE)
    }

    /// The shape of a unit from those of its children.
    fn combine(&self, unit: usize) -> Shape {
        let children = self.children(unit);
        let shapes = || children.iter().map(|child| self.shape(*child as usize));
        let mut shape = match children {
            [] => Shape::FREE,
            [only] => match self.shape(*only as usize) {
                opened if !opened.parts.is_empty() => {
                    Shape { parts: vec![Part::Child(*only as usize)], ..Shape::FREE }
                }
                shape => shape.clone(),
            },
            _ if shapes().all(Shape::groups_only) => self.sum(shapes()),
            _ if shapes().all(Shape::total_only) => self.sum(shapes()),
            _ => {
                // Children that are free go with those of bounded groups, if there are any.
                let grouped = shapes().any(|shape| shape.groups_only() && !shape.total_only());
                let with_groups = |shape: &&Shape| shape.groups_only() && (grouped || !shape.total_only());
                let with_totals = |shape: &&Shape| shape.total_only() && !with_groups(shape);
                let mixed = |shape: &Shape| !shape.groups_only() && !shape.total_only();
                let mut parts: Vec<Part> = (children.iter().map(|child| *child as usize))
                    .filter(|child| mixed(self.shape(*child)))
                    .map(Part::Child)
                    .collect();
                if shapes().any(|shape| with_groups(&shape)) {
                    parts.push(Part::Together(self.sum(shapes().filter(with_groups))));
                }
                if shapes().any(|shape| with_totals(&shape)) {
                    parts.push(Part::Together(self.sum(shapes().filter(with_totals))));
                }
                Shape { parts, ..Shape::FREE }
            }
        };
        if let Some(own) = self.own.get(&unit) {
            shape.total = shape.total.and(own.total);
            if !own.groups.is_empty() {
                shape.bound_groups(&own.groups);
            }
        }
        shape
    }

    /// The sum of shapes in which only groups are bounded, or only totals.
    fn sum<'a>(&self, shapes: impl Iterator<Item = &'a Shape>) -> Shape {
        let mut total = Bound::ZERO;
        let mut groups = vec![Bound::ZERO; self.groups];
        for shape in shapes {
            total = total.plus(shape.total);
            groups.iter_mut().enumerate().for_each(|(at, sum)| *sum = sum.plus(shape.group(at)));
        }
        let mut sum = Shape { total, ..Shape::FREE };
        sum.bound_groups(&groups);
        sum
    }

    /// What a shape without parts cannot meet.
    fn contradiction(&self, unit: usize, shape: &Shape) -> Option<Unmet> {
        let at_least = |group, count| self.stated(unit, group, true, count);
        let at_most = |group, count| self.stated(unit, group, false, count);
        let unmet = |group, lower, upper, stated| Some(Unmet { unit, group, lower, upper, stated });
        let group = shape.groups.iter().position(|bound| bound.lower > bound.upper);
        if let Some(Bound { lower, upper }) = group.map(|group| shape.groups[group]) {
            return unmet(group, lower, upper, vec![at_least(group, lower), at_most(group, upper)]);
        }
        let Bound { lower, upper } = shape.total;
        if lower > upper {
            return unmet(None, lower, upper, vec![at_least(None, lower), at_most(None, upper)]);
        }
        if shape.groups.is_empty() {
            return None;
        }
        let sum = shape.groups.iter().fold(Bound::ZERO, |sum, bound| sum.plus(*bound));
        let groups = || shape.groups.iter().enumerate();
        if sum.lower > upper {
            let stated = groups().map(|(group, bound)| at_least(Some(group), bound.lower));
            return unmet(None, sum.lower, upper, stated.chain([at_most(None, upper)]).collect());
        }
        if lower > sum.upper {
            let stated = groups().map(|(group, bound)| at_most(Some(group), bound.upper));
            return unmet(None, lower, sum.upper, stated.chain([at_least(None, lower)]).collect());
        }
        None
    }

    pub(super) fn stated(&self, unit: usize, group: Option<usize>, at_least: bool, count: i64) -> Stated {
        let own = self.own.get(&unit).map_or(Bound::FREE, |own| match group {
            None => own.total,
            Some(group) => own.groups.get(group).copied().unwrap_or(Bound::FREE),
        });
        let is_own = if at_least { own.lower == count } else { own.upper == count };
        Stated { unit, group, at_least, count, from: if is_own { Origin::Own } else { Origin::Parts } }
    }

    /// Whether any tables meet all bounds.
    ///
    /// # Errors
    ///
    /// What cannot be met.
    pub fn check(&self) -> Result<(), Unmet> {
        self.unmet.clone().map_or(Ok(()), Err)
    }

    /// Whether nothing below a unit is bounded.
    #[must_use]
    pub fn is_free(&self, unit: usize) -> bool {
        self.shapes.is_empty()
            || self.children(unit).iter().all(|c| !self.shapes.contains_key(&(*c as usize)))
    }

    /// Whether totals of the children of a unit are bounded, by themselves or by what is below.
    #[must_use]
    pub fn bounds_totals(&self, unit: usize) -> bool {
        self.children(unit).iter().any(|child| !self.shape(*child as usize).groups_only())
    }

    /// Whether groups of the children of a unit are bounded, by themselves or by what is below.
    #[must_use]
    pub fn bounds_groups(&self, unit: usize) -> bool {
        self.children(unit).iter().any(|child| !self.shape(*child as usize).total_only())
    }

    /// The bounds of a group of each child of a unit.
    #[must_use]
    pub fn of_children(&self, unit: usize, group: usize) -> Vec<Bound> {
        self.children(unit).iter().map(|child| self.shape(*child as usize).group(group)).collect()
    }

    /// The bounds of the groups of a unit; none if no group of it is bounded, by itself or by what is below.
    #[must_use]
    pub fn of_groups(&self, unit: usize) -> Option<Vec<Bound>> {
        let shape = self.shape(unit);
        (!shape.total_only()).then(|| (0..self.groups).map(|group| shape.group(group)).collect())
    }

    /// The table of a root, nearest to what is wanted; with this total, if one is given.
    ///
    /// # Errors
    ///
    /// What cannot be met.
    pub fn root(&self, unit: usize, wanted: &[f64], total: Option<i64>) -> Result<Vec<i64>, Unmet> {
        assert_eq!(wanted.len(), self.groups, "a number for each group");
        self.check()?;
        let mut build = Build::new(self, unit, None);
        let arcs = build.top(total, wanted)?;
        build.solve(&arcs)
    }

    /// Totals of the children of a unit, nearest to what is wanted, for which tables of all below exist.
    /// `table` is the unit's own, by group.
    ///
    /// # Errors
    ///
    /// What cannot be met.
    pub fn totals(&self, unit: usize, table: &[i64], wanted: &[f64]) -> Result<Vec<i64>, Unmet> {
        let children = self.children(unit);
        assert_eq!(table.len(), self.groups, "a count for each group");
        assert_eq!(wanted.len(), children.len(), "a number for each child");
        self.check()?;
        let shapes: Vec<&Shape> = children.iter().map(|child| self.shape(*child as usize)).collect();
        if shapes.iter().all(|shape| shape.total_only()) {
            let bounds: Vec<Bound> = shapes.iter().map(|shape| shape.total).collect();
            return self.shares(unit, None, table.iter().sum(), wanted, &bounds);
        }
        let mut build = Build::new(self, unit, Some(table));
        let mut arcs = vec![];
        for (child, wanted) in children.iter().zip(wanted) {
            arcs.push(build.child(*child as usize, None, Some(*wanted), None)?.total);
        }
        build.solve(&arcs)
    }

    /// Tables of the children of a unit, `[group * children + child]`, nearest to what is wanted, for which
    /// tables of all units below exist; with these totals, if some are given. `table` is the unit's own.
    ///
    /// # Errors
    ///
    /// What cannot be met.
    pub fn groups(
        &self,
        unit: usize,
        table: &[i64],
        wanted: &[f64],
        totals: Option<&[i64]>,
    ) -> Result<Vec<i64>, Unmet> {
        let children = self.children(unit);
        let count = children.len();
        assert_eq!(table.len(), self.groups, "a count for each group");
        assert_eq!(wanted.len(), self.groups * count, "a number for each group and child");
        assert!(totals.is_none_or(|totals| totals.len() == count), "a total for each child");
        self.check()?;
        let shapes: Vec<&Shape> = children.iter().map(|child| self.shape(*child as usize)).collect();
        if totals.is_none() && shapes.iter().all(|shape| shape.groups_only()) {
            let mut tables = vec![];
            for group in 0..self.groups {
                let bounds: Vec<Bound> = shapes.iter().map(|shape| shape.group(group)).collect();
                let wanted = &wanted[group * count..(group + 1) * count];
                tables.extend(self.shares(unit, Some(group), table[group], wanted, &bounds)?);
            }
            return Ok(tables);
        }
        if let Some(totals) = totals.filter(|_| self.is_free(unit)) {
            let rows = Rows { group_of: &vec![0; self.groups], sums: totals };
            return nearest_whole(count, wanted, table, Some(rows)).map_err(|_| {
                Unmet::sums(unit, None, table.iter().sum(), Bound::exactly(totals.iter().sum()))
            });
        }
        let mut build = Build::new(self, unit, Some(table));
        let mut arcs = vec![0; wanted.len()];
        for (at, child) in children.iter().enumerate() {
            let of_child: Vec<f64> = (0..self.groups).map(|group| wanted[group * count + at]).collect();
            let total = totals.map(|totals| totals[at]);
            let added = build.child(*child as usize, Some(&of_child), None, total)?;
            added.groups.iter().enumerate().for_each(|(group, arc)| arcs[group * count + at] = *arc);
        }
        build.solve(&arcs)
    }

    /// Shares of a total among the children of a unit, each within bounds.
    fn shares(
        &self,
        unit: usize,
        group: Option<usize>,
        total: i64,
        wanted: &[f64],
        bounds: &[Bound],
    ) -> Result<Vec<i64>, Unmet> {
        let mut shares = vec![0; bounds.len()];
        let sum = bounds.iter().fold(Bound::ZERO, |sum, bound| sum.plus(*bound));
        let allowed = |at: usize| (bounds[at].lower, bounds[at].upper);
        let within = sum.lower <= total && total <= sum.upper;
        match within && share(total, |at| wanted[at], allowed, &mut shares, &mut vec![]) {
            true => Ok(shares),
            false => Err(Unmet::sums(unit, group, total, sum)),
        }
    }
}
