//! The list of all units of the smallest level, also of those with nobody in them. It is public.
//!
//! ```text
//! list of units ─▶ Units: codes in order, check totals, public numbers
//!                      └▶ which units are bypassed ─▶ paths that occur
//! ```

mod bypass;

use std::cmp::Ordering;

use unspent::{Error, ErrorKind, Result};

pub use self::bypass::{BypassRule, BypassedUnits};
use crate::codes::Codes;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::table::{Input, Table, Wanted};

/// Between the codes of a unit, where there are several columns of them. No code has it.
const BETWEEN: char = '\u{1f}';

/// What a list in memory is called.
const UNITS: &str = "units";

/// Where the list of units comes from.
#[derive(Clone, Default)]
pub enum UnitList {
    /// There is none: every row of the table is a unit, in order.
    #[default]
    Rows,
    /// The units are those of the table, which has a row for every unit with nobody in it too.
    Table,
    /// A table of its own, with the same columns of codes.
    List(Input),
}

/// All units of the smallest level, in order.
#[derive(Clone, Debug, Default)]
pub struct Units {
    name: String,
    keys: Keys,
    /// The number of records of each, if it is to be checked.
    totals: Option<Vec<i64>>,
    /// The path of each among those of the plan; all have the first if it is empty.
    paths: Vec<u8>,
    /// What the list says of each unit for [`BypassRule::Column`].
    bypassed: Vec<String>,
    /// The public numbers of all units, one unit after the other.
    public: Vec<i64>,
}

/// What is public of a smallest unit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known<'k> {
    /// The number of its path among those of the plan.
    pub(crate) path: usize,
    /// Its numbers in the plan's public columns.
    pub(crate) public: &'k [i64],
}

/// The columns of a list of units that are read besides its codes.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitColumns<'c> {
    /// How many records the unit has, to be checked.
    pub total: Option<&'c String>,
    /// Which levels are bypassed.
    pub bypassed: Option<&'c String>,
}

impl Units {
    /// Reads a list, and puts it in order.
    pub fn read(
        input: Input,
        plan: &Plan,
        columns: UnitColumns<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Units> {
        let name = match &input {
            Input::Columns(_) => UNITS.into(),
            other => other.name(),
        };
        let one = |column: Option<&String>| column.cloned().into_iter().collect::<Vec<_>>();
        let (values, mut counts) = (one(columns.bypassed), plan.public().to_vec());
        counts.extend(one(columns.total));
        let numbers = plan.public().len();
        let wanted = Wanted { codes: plan.columns().codes, values: &values, counts: &counts };
        let table = Table::open(input, wanted)?;
        let (mut keys, mut totals, mut marks) = (Keys::default(), vec![], vec![]);
        let mut public: Vec<i64> = vec![];
        let mut key = String::new();
        table.rows(progress, &mut |row| {
            write_key(row.codes, &mut key)?;
            keys.push(&key);
            public.extend_from_slice(&row.counts[..numbers]);
            totals.extend(row.counts.get(numbers).copied());
            marks.extend(row.values.first().map(|mark| mark.to_string()));
            Ok(())
        })?;
        if keys.len() == 0 {
            let hint = "it has a line of names and then one line for each unit, also where nobody lives";
            return Err(Error::stated(format!("{name}: the list of units has no rows"), hint));
        }
        // The list is public: its codes may be shown.
        let (mut units, order) = Units::of(&name, plan, keys).map_err(|e| e.revealed().at(&name))?;
        if let Some(order) = order {
            public = order.iter().flat_map(|at| public[at * numbers..][..numbers].iter().copied()).collect();
            let moved = |at: &usize| totals[*at];
            totals = if totals.is_empty() { totals } else { order.iter().map(moved).collect() };
            marks =
                if marks.is_empty() { marks } else { order.iter().map(|at| marks[*at].clone()).collect() };
        }
        units.public = public;
        units.totals = columns.total.map(|_| totals);
        units.bypassed = marks;
        Ok(units)
    }

    /// Units with these keys, in order, and the place that each had before if it was another.
    pub(crate) fn of(name: &str, plan: &Plan, mut keys: Keys) -> Result<(Units, Option<Vec<usize>>)> {
        let mut order = None;
        if check(plan, &keys).is_err() {
            let mut places: Vec<usize> = (0..keys.len()).collect();
            places.sort_unstable_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
            let mut sorted = Keys::default();
            places.iter().for_each(|at| sorted.push(keys.get(*at)));
            check(plan, &sorted)?;
            (keys, order) = (sorted, Some(places));
        }
        Ok((Units { name: name.into(), keys, ..Units::default() }, order))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    pub(crate) fn key(&self, unit: usize) -> &str {
        self.keys.get(unit)
    }

    /// The codes of a unit, in the order of the plan's columns.
    pub(crate) fn codes<'u>(&'u self, unit: usize, codes: &mut Vec<&'u str>) {
        codes.clear();
        codes.extend(self.key(unit).split(BETWEEN));
    }

    /// The first level of the plan at which each unit lies in a new unit; the number of levels if there is
    /// none.
    pub(crate) fn changed_levels(&self, plan: &Plan) -> Result<Vec<u8>> {
        let mut codes = Codes::new(plan);
        let (mut changed, mut parts) = (Vec::with_capacity(self.len()), vec![]);
        for unit in 0..self.len() {
            self.codes(unit, &mut parts);
            let depth = codes.check(&parts)?;
            codes.next(&parts, depth)?;
            let level = plan.levels().iter().position(|level| level.depth >= depth);
            changed.push(level.unwrap_or(plan.levels().len()) as u8);
        }
        Ok(changed)
    }

    /// What is public of a unit besides its codes.
    pub(crate) fn known(&self, unit: usize) -> Known<'_> {
        let path = self.paths.get(unit).map_or(0, |path| usize::from(*path));
        let width = self.public.len() / self.len();
        Known { path, public: &self.public[unit * width..][..width] }
    }

    /// Fails if the unit is to have another number of records.
    pub(crate) fn check_total(&self, unit: usize, cells: &[(u64, i64)]) -> Result<()> {
        let Some(totals) = &self.totals else { return Ok(()) };
        let found: i128 = cells.iter().map(|(_, count)| i128::from(*count)).sum();
        let said = totals[unit];
        if found == i128::from(said) {
            return Ok(());
        }
        let code = self.key(unit).replace(BETWEEN, "-");
        Err(Error::stated(
            format!("{}: unit `{code}` has {found} records; the list of units says {said}", self.name),
            "the records and the list belong to different versions, or records are missing",
        )
        .concealed_as(format!(
            "{}: unit `{code}` has another number of records than the list says",
            self.name
        )))
    }

    /// A unit without a row, where every row is a unit.
    pub(crate) fn without_row(&self, unit: usize) -> Error {
        let code = self.key(unit).replace(BETWEEN, "-");
        let cause = format!("{}: unit `{code}` has no row in the table", self.name);
        Error::stated(cause, "every unit of the list has a row, also where nobody lives")
    }

    /// A code that is not in the list.
    pub(crate) fn unknown(&self, key: &str) -> Error {
        let code = key.replace(BETWEEN, "-");
        Error::stated(
            format!("unit `{code}` is not in the list of units{}", self.called()),
            "the list has every unit of the smallest level, also those with nobody in them",
        )
        .concealed_as(format!("the unit is not in the list of units{}", self.called()))
    }

    /// What the list is called, if it is a file.
    fn called(&self) -> String {
        if self.name == UNITS { String::new() } else { format!(", {}", self.name) }
    }
}

/// Texts one after the other: a country has millions of units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    text: String,
    ends: Vec<usize>,
}

impl Keys {
    pub(crate) fn push(&mut self, key: &str) {
        self.text.push_str(key);
        self.ends.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }

    /// The place of a key, if all are ascending.
    pub(crate) fn find(&self, key: &str) -> Option<usize> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.get(middle).cmp(key) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
            }
        }
        None
    }
}

/// There is no list of units where one is needed.
pub(crate) fn no_list(name: &str) -> Error {
    Error::of_kind(
        ErrorKind::NoUnits,
        format!("{name}: the list of all units is missing"),
        "give a list of all units of the smallest level, also of those with nobody in them; it is public and \
         must not depend on the records",
    )
}

/// Writes the codes of a unit as one text.
pub(crate) fn write_key(codes: &[&str], key: &mut String) -> Result<()> {
    key.clear();
    for (i, code) in codes.iter().enumerate() {
        if code.is_empty() || code.chars().any(char::is_control) {
            return Err(Error::input("code", code, "a code", "every row has one").concealed());
        }
        if i > 0 {
            key.push(BETWEEN);
        }
        key.push_str(code);
    }
    Ok(())
}

/// Fails if units do not come in an order in which they can be added up.
fn check(plan: &Plan, keys: &Keys) -> Result<()> {
    let mut codes = Codes::new(plan);
    let mut parts: Vec<&str> = vec![];
    for unit in 0..keys.len() {
        parts.clear();
        parts.extend(keys.get(unit).split(BETWEEN));
        let changed = codes.check(&parts)?;
        codes.next(&parts, changed)?;
    }
    Ok(())
}
