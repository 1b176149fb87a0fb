//! Bounds on units as a flow: from each group of the parent into the children's, down to where shapes have no
//! parts, and out through the totals.

use std::fmt;

use super::flow::{Arc, Network};
use super::limits::{Bound, Limits, Part, Shape};

/// Where a bound comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was given for the unit.
    Own,
    /// It is the sum of bounds of the unit's parts.
    Parts,
    /// It is the count that the unit already has, or the total that was asked for.
    Given,
}

/// A bound that takes part in a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The unit.
    pub unit: usize,
    /// The group; none for the total.
    pub group: Option<usize>,
    /// Whether it is a lower bound.
    pub at_least: bool,
    /// The bound.
    pub count: i64,
    /// Where it comes from.
    pub from: Origin,
}

/// Bounds that no tables meet: what must be somewhere is more than may be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The unit at which, or below which, they contradict.
    pub unit: usize,
    /// The group; none if the total or several groups take part.
    pub group: Option<usize>,
    /// At least so many are needed.
    pub lower: i64,
    /// At most so many are possible: less.
    pub upper: i64,
    /// The bounds that contradict each other.
    pub stated: Vec<Stated>,
}

impl Unmet {
    /// A count of a unit is not within what its children allow.
    pub(super) fn sums(unit: usize, group: Option<usize>, given: i64, children: Bound) -> Unmet {
        let stated = |at_least, count, from| Stated { unit, group, at_least, count, from };
        let (lower, upper, stated) = match given < children.lower {
            true => {
                let parts = stated(true, children.lower, Origin::Parts);
                (children.lower, given, [parts, stated(false, given, Origin::Given)])
            }
            false => {
                let parts = stated(false, children.upper, Origin::Parts);
                (given, children.upper, [stated(true, given, Origin::Given), parts])
            }
        };
        Unmet { unit, group, lower, upper, stated: stated.into() }
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmet { unit, lower, upper, .. } = self;
        let what = self.group.map_or("total".into(), |group| format!("group {group}"));
        write!(f, "unit {unit}, {what}: at least {lower} are needed and at most {upper} are possible:")?;
        for (at, stated) in self.stated.iter().enumerate() {
            let Stated { unit, group, at_least, count, from } = stated;
            let what = group.map_or("in all".into(), |group| format!("of group {group}"));
            let side = if *at_least { "at least" } else { "at most" };
            let from = match from {
                Origin::Own => "its own bound",
                Origin::Parts => "the sum of its parts",
                Origin::Given => "given",
            };
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma} unit {unit} has {side} {count} {what} ({from})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unmet {}

/// What an arc is: the count of a unit in a group, or in all.
#[derive(Clone, Copy)]
struct Label {
    unit: usize,
    group: Option<usize>,
    /// If it is not to be found out.
    from: Option<Origin>,
}

/// The arcs of a unit.
pub(super) struct Added {
    pub groups: Vec<usize>,
    pub total: usize,
}

/// A network in the making, for a step at a unit.
pub(super) struct Build<'a> {
    limits: &'a Limits,
    unit: usize,
    network: Network,
    /// Of each arc.
    labels: Vec<Option<Label>>,
    /// Where the counts of each group start.
    columns: Vec<usize>,
    end: usize,
}

impl<'a> Build<'a> {
    /// `table` is what the unit has of each group; anything if there is none.
    pub fn new(limits: &'a Limits, unit: usize, table: Option<&[i64]>) -> Build<'a> {
        let mut network = Network::default();
        let end = network.node();
        let columns: Vec<usize> = (0..limits.groups_count()).map(|_| network.node()).collect();
        let mut build = Build { limits, unit, network, labels: vec![], columns, end };
        for group in 0..limits.groups_count() {
            let bound = table.map_or(Bound::FREE, |table| Bound::exactly(table[group]));
            let label = table.map(|_| Label { unit, group: Some(group), from: Some(Origin::Given) });
            build.arc(end, build.columns[group], bound, None, label);
        }
        build
    }

    /// The unit itself, with any table.
    pub fn unfixed(limits: &'a Limits, unit: usize) -> Build<'a> {
        let mut build = Build::new(limits, unit, None);
        let (columns, end) = (build.columns.clone(), build.end);
        build.add(&columns, end, (unit, None), limits.shape(unit), None, (limits.shape(unit).total, None));
        build
    }

    /// The unit itself, with wanted counts of the groups and a total: the arcs of its groups.
    pub fn top(&mut self, total: Option<i64>, wanted: &[f64]) -> Result<Vec<usize>, Unmet> {
        Ok(self.child(self.unit, Some(wanted), None, total)?.groups)
    }

    /// A child, with wanted counts of the groups or of the total; with a fixed total, if it is given.
    pub fn child(
        &mut self,
        child: usize,
        wanted: Option<&[f64]>,
        wanted_total: Option<f64>,
        total: Option<i64>,
    ) -> Result<Added, Unmet> {
        let shape = self.limits.shape(child);
        let bound = total.map_or(shape.total, |total| shape.total.and(Bound::exactly(total)));
        if let (Some(total), true) = (total, bound.lower > bound.upper) {
            return Err(Unmet::sums(child, None, total, shape.total));
        }
        let (columns, end) = (self.columns.clone(), self.end);
        let added = self.add(&columns, end, (child, None), shape, wanted, (bound, wanted_total));
        if let (Some(_), Some(label)) = (total, &mut self.labels[added.total]) {
            label.from = Some(Origin::Given);
        }
        Ok(added)
    }

    fn arc(
        &mut self,
        from: usize,
        to: usize,
        bound: Bound,
        wanted: Option<f64>,
        label: Option<Label>,
    ) -> usize {
        let Bound { lower, upper } = bound;
        self.labels.push(label);
        self.network.arc(Arc { from, to, lower, upper, wanted })
    }

    fn add(
        &mut self,
        from: &[usize],
        to: usize,
        (unit, told): (usize, Option<Origin>),
        shape: &Shape,
        wanted: Option<&[f64]>,
        (total, wanted_total): (Bound, Option<f64>),
    ) -> Added {
        let out = self.network.node();
        let mut entries = vec![];
        let mut groups = vec![];
        for (group, from) in from.iter().enumerate() {
            let entry = if shape.parts.is_empty() { out } else { self.network.node() };
            let label = Label { unit, group: Some(group), from: told };
            let wanted = wanted.map(|wanted| wanted[group]);
            groups.push(self.arc(*from, entry, shape.group(group), wanted, Some(label)));
            entries.push(entry);
        }
        let limits = self.limits;
        for part in &shape.parts {
            // Several children together are told of as parts of their parent.
            let (unit, shape) = match part {
                Part::Child(child) => ((*child, None), limits.shape(*child)),
                Part::Together(shape) => ((unit, Some(Origin::Parts)), shape),
            };
            self.add(&entries, out, unit, shape, None, (shape.total, None));
        }
        let total = self.arc(out, to, total, wanted_total, Some(Label { unit, group: None, from: told }));
        Added { groups, total }
    }

    /// Whether any flow exists.
    pub fn check(self) -> Result<(), Unmet> {
        self.network.check().map_err(|narrow| self.unmet(&narrow))
    }

    /// The flows of these arcs.
    pub fn solve(self, arcs: &[usize]) -> Result<Vec<i64>, Unmet> {
        let flow = self.network.nearest().map_err(|narrow| self.unmet(&narrow))?;
        Ok(arcs.iter().map(|arc| flow[*arc]).collect())
    }

    fn unmet(&self, narrow: &super::flow::Narrow) -> Unmet {
        let mut stated = vec![];
        for (arc, label) in self.network.arcs().iter().zip(&self.labels) {
            let ends = (narrow.inside[arc.from], narrow.inside[arc.to]);
            let Some(Label { unit, group, from }) = *label else { continue };
            let (at_least, count) = match ends {
                (false, true) if arc.lower > 0 => (true, arc.lower),
                (true, false) => (false, arc.upper),
                _ => continue,
            };
            let found = self.limits.stated(unit, group, at_least, count);
            stated.push(Stated { from: from.unwrap_or(found.from), ..found });
        }
        Unmet { unit: self.unit, group: None, lower: narrow.needed, upper: narrow.possible, stated }
    }
}
