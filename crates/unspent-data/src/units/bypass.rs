//! Which units are bypassed: not measured, because another unit above covers the same area. Their budget goes
//! to the nearest kept unit above (`theory/neighbours.md`, N6).

use std::collections::HashSet;

use unspent::allocation::{Allocation, Bypass, Production};
use unspent::{Error, Result};

use super::{BETWEEN, Units};
use crate::codes::Codes;
use crate::plan::{Plan, PlannedLevel};
use crate::progress::Quiet;
use crate::table::{Input, Table, Wanted};

/// How it is known which units are bypassed. It is public, and does not depend on the records.
#[derive(Clone, Default)]
pub enum BypassRule {
    /// None is.
    #[default]
    None,
    /// Every unit that is the only child of its parent, except on levels that are always kept: the rule of
    /// the production system of 2020.
    OnlyChildren,
    /// A column of the list of units names the levels that are bypassed, with `|` between them.
    Column(String),
    /// A table with the columns `level` and `code` names the units.
    List(Input),
}

/// Units of a level that are bypassed: not measured, because a unit above covers the same area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BypassedUnits {
    /// The level.
    pub level: String,
    /// Their codes, in the order of the list of units.
    pub codes: Vec<String>,
}

/// Most levels: a path is a set of bits.
const MAX_LEVELS: usize = 63;

/// Where each smallest unit begins new units.
struct Starts {
    /// The first level of the plan at which each smallest unit lies in a new unit.
    changed: Vec<u8>,
    /// The levels at which a unit begins here that is the only child of its parent.
    only: Vec<u64>,
}

impl Units {
    /// The allocation for the paths that occur, and the path of every unit.
    ///
    /// `plan` is that of the allocation without bypassed units.
    pub fn bypass(
        mut self,
        rule: &BypassRule,
        plan: &Plan,
        allocation: &Allocation,
    ) -> Result<(Units, Allocation)> {
        if matches!(rule, BypassRule::None) {
            return Ok((self, allocation.without_bypass()));
        }
        let names: Vec<&str> = plan.levels().iter().map(|level| level.name.as_str()).collect();
        if !allocation.is_nested() {
            let cause = "bypass: the levels are not nested";
            return Err(Error::stated(cause, "a unit is bypassed because one above it covers the same area"));
        }
        if names.len() > MAX_LEVELS {
            let cause =
                format!("bypass: there are {} levels; at most {MAX_LEVELS} are possible", names.len());
            return Err(Error::stated(cause, "measure all units: none is bypassed then"));
        }
        let starts = Starts::find(&self, plan)?;
        let bit = |name: &str| names.iter().position(|n| *n == name).map_or(0, |at| 1u64 << at);
        // What every path of the allocation keeps is always kept; other paths than those it knows may occur
        // here.
        let kept = match &allocation.production().bypass {
            None => 1,
            Some(Bypass::Keep(kept)) => kept.iter().fold(1, |kept, name| kept | bit(name)),
            Some(Bypass::Paths(paths)) => {
                let keeps = |path: &Vec<String>| path.iter().fold(1, |kept, name| kept | bit(name));
                paths.iter().map(keeps).fold(u64::MAX, |all, path| all & path)
            }
        };
        let bypassed = match rule {
            BypassRule::None => unreachable!("was looked at first"),
            BypassRule::OnlyChildren => starts.spread(|unit| starts.only[unit] & !kept),
            BypassRule::Column(_) => self.marked_in_column(&starts, &names, kept)?,
            BypassRule::List(input) => self.named_in_list(input.clone(), &starts, plan, kept)?,
        };
        let mut masks: Vec<u64> = bypassed.clone();
        masks.sort_unstable();
        masks.dedup();
        let path = |mask: &u64| -> Vec<String> {
            let kept = names.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 0);
            kept.map(|(_, name)| (*name).to_string()).collect()
        };
        let bypass = if masks == [0] { None } else { Some(Bypass::Paths(masks.iter().map(path).collect())) };
        let known = allocation.production();
        let made = allocation.clone().used_by(Production { bypass, ..known.clone() })?;
        // The numbers of the paths, in the order of the allocation.
        let number = |mask: &u64| -> u8 {
            let keeps = |path: &unspent::allocation::Path| {
                (0..names.len()).all(|at| path.keeps(at) == (mask >> at & 1 == 0))
            };
            made.paths().iter().position(keeps).expect("one of them") as u8
        };
        let numbers: Vec<u8> = masks.iter().map(number).collect();
        let place = |mask: &u64| numbers[masks.binary_search(mask).expect("is in the list")];
        self.paths = bypassed.iter().map(place).collect();
        Ok((self, made))
    }

    /// The units that are bypassed, by level of the plan that is made of the paths that occur.
    ///
    /// They follow from the list of units and from what says which are bypassed. Both are public: no record
    /// is looked at, and so they may be published.
    pub(crate) fn bypassed_units(&self, plan: &Plan) -> Result<Vec<BypassedUnits>> {
        if plan.paths().iter().flatten().all(Option::is_some) {
            return Ok(vec![]);
        }
        let level = |level: &PlannedLevel| BypassedUnits { level: level.name.clone(), codes: vec![] };
        let mut found: Vec<BypassedUnits> = plan.levels().iter().map(level).collect();
        self.each_beginning(plan, &mut |unit, level, code| {
            if plan.paths()[self.known(unit).path][level].is_none() {
                found[level].codes.push(code.into());
            }
        })?;
        found.retain(|level| !level.codes.is_empty());
        Ok(found)
    }

    /// Hands on every unit of every level of a plan: the smallest unit that it begins with, the level, and
    /// its code.
    fn each_beginning(&self, plan: &Plan, take: &mut dyn FnMut(usize, usize, &str)) -> Result<()> {
        let mut codes = Codes::new(plan);
        let mut parts = vec![];
        for unit in 0..self.len() {
            self.codes(unit, &mut parts);
            let changed = codes.check(&parts)?;
            codes.next(&parts, changed)?;
            let levels = plan.levels().iter().enumerate();
            levels
                .filter(|(_, level)| level.depth >= changed)
                .for_each(|(at, level)| take(unit, at, codes.at(level.depth)));
        }
        Ok(())
    }

    fn marked_in_column(&self, starts: &Starts, names: &[&str], kept: u64) -> Result<Vec<u64>> {
        let mut masks = vec![];
        for (unit, text) in self.bypassed.iter().enumerate() {
            let mut mask = 0;
            for name in text.split('|').map(str::trim).filter(|name| !name.is_empty()) {
                let Some(at) = names.iter().position(|n| *n == name) else {
                    let allowed = format!("one of the levels {}", names.join(", "));
                    let error =
                        Error::input("bypassed level", name, allowed, "write levels with | between them");
                    return Err(error.at(self.place(unit)));
                };
                mask |= 1 << at;
            }
            masks.push(mask);
        }
        // All smallest units of a unit must say the same of it.
        let mut before = 0;
        for (unit, mask) in masks.iter().enumerate() {
            let shared = (1u64 << starts.changed[unit]) - 1;
            if unit > 0 && (before ^ mask) & shared != 0 {
                let cause =
                    format!("{}: one unit is bypassed here and not in the row before", self.place(unit));
                return Err(Error::stated(cause, "a unit is bypassed in all of its rows"));
            }
            before = *mask;
        }
        self.check_only(&masks, starts, names, kept)?;
        Ok(masks)
    }

    fn named_in_list(&self, input: Input, starts: &Starts, plan: &Plan, kept: u64) -> Result<Vec<u64>> {
        let name = input.name();
        let columns = ["level".to_string(), "code".to_string()];
        let mut listed: HashSet<(String, String)> = HashSet::new();
        let table = Table::open(input, Wanted { codes: &columns, values: &[], counts: &[] })?;
        table.rows(&mut Quiet, &mut |row| {
            listed.insert((row.codes[0].into(), row.codes[1].into()));
            Ok(())
        })?;
        let mut begins = vec![0u64; self.len()];
        self.each_beginning(plan, &mut |unit, level, code| {
            if listed.remove(&(plan.levels()[level].name.clone(), code.into())) {
                begins[unit] |= 1 << level;
            }
        })?;
        if let Some((level, code)) = listed.iter().min() {
            let cause = format!("{name}: there is no unit `{code}` of level `{level}`");
            return Err(Error::stated(cause, "the list of bypassed units names units of the list of units"));
        }
        let masks = starts.spread(|unit| begins[unit]);
        let names: Vec<&str> = plan.levels().iter().map(|level| level.name.as_str()).collect();
        self.check_only(&masks, starts, &names, kept)?;
        Ok(masks)
    }

    /// Fails if a unit is bypassed that has siblings, or is always kept: its budget would have nowhere to go.
    fn check_only(&self, masks: &[u64], starts: &Starts, names: &[&str], kept: u64) -> Result<()> {
        let only = starts.spread(|unit| starts.only[unit]);
        for (unit, (mask, only)) in masks.iter().zip(only).enumerate() {
            let wrong = mask & (!only | kept);
            if wrong != 0 {
                let level = names[wrong.trailing_zeros() as usize];
                let code = self.key(unit).replace(BETWEEN, "-");
                let cause =
                    format!("{}: the unit of level `{level}` with `{code}` cannot be bypassed", self.name);
                let hint =
                    "only a unit that is the only child of its parent is, on a level that is not always kept";
                return Err(Error::stated(cause, hint));
            }
        }
        Ok(())
    }

    fn place(&self, unit: usize) -> String {
        format!("{}: unit `{}`", self.name, self.key(unit).replace(BETWEEN, "-"))
    }
}

impl Starts {
    fn find(units: &Units, plan: &Plan) -> Result<Starts> {
        let changed = units.changed_levels(plan)?;
        let levels = plan.levels().len();
        // For each level, what is new where its next unit begins.
        let mut next: Vec<Option<u8>> = vec![None; levels];
        let mut only = vec![0; units.len()];
        for (unit, only) in only.iter_mut().enumerate().rev() {
            let here = changed[unit];
            for (level, next) in next.iter_mut().enumerate().skip(usize::from(here)) {
                let first = usize::from(here) < level;
                let last = next.is_none_or(|new| usize::from(new) < level);
                if level > 0 && first && last {
                    *only |= 1u64 << level;
                }
                *next = Some(here);
            }
        }
        Ok(Starts { changed, only })
    }

    /// For each smallest unit, the levels that `of` names for the units it lies in, where these begin.
    fn spread(&self, of: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut current = 0;
        let each = self.changed.iter().enumerate().map(|(unit, changed)| {
            let above = (1u64 << changed) - 1;
            current = (current & above) | (of(unit) & !above);
            current
        });
        each.collect()
    }
}
