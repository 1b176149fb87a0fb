//! What is known of units without noise, as limits to whole tables: exact counts, zeros and bounds.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use unspent::file::{self, FileDigest};
use unspent::{Error, ErrorKind, Result};
use unspent_estimate::tables::{Bound, Limits, Origin, Stated, UNBOUNDED, UnitBounds, UnitLimits, Unmet};

use super::estimation::Estimation;
use super::join::Joined;
use crate::measurements::bureau::Sign;
use crate::names::one_of;

/// The columns of a file of bounds.
const COLUMNS: [&str; 6] = ["level", "geocode", "query", "answer", "at_least", "at_most"];

/// The largest count that a bound may have: more than all people, and sums of many stay whole.
const MAX_BOUND: i64 = 1 << 38;

/// A file of bounds on counts of single units, which is read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundsFile {
    /// Its path, for messages.
    shown: String,
    text: String,
    digest: FileDigest,
}

impl BoundsFile {
    /// Reads it; what it says is understood when it is known what was measured.
    pub fn read(path: &Path) -> Result<BoundsFile> {
        let shown = file::shown(path);
        let text =
            file::open(path).and_then(io::read_to_string).map_err(|error| unreadable(&shown, &error))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let digest = FileDigest::of(&name, &text);
        Ok(BoundsFile { shown, text, digest })
    }

    pub(super) fn digest(&self) -> &FileDigest {
        &self.digest
    }

    fn claims(&self, joined: &Joined) -> Result<Vec<Claim>> {
        let bytes = self.text.as_bytes();
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let heads = reader.headers().map_err(|error| unreadable(&self.shown, &error))?.clone();
        if heads.iter().ne(COLUMNS) {
            let found: Vec<&str> = heads.iter().collect();
            return Err(Error::input("columns", found.join(","), COLUMNS.join(","), form()).at(&self.shown));
        }
        let mut claims = vec![];
        for record in reader.records() {
            let record = record.map_err(|error| unreadable(&self.shown, &error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let place = format!("{}: line {line}", self.shown);
            claims.push(claim(&record, joined, &place).map_err(|error| error.at(&place))?);
        }
        Ok(claims)
    }
}

fn form() -> String {
    format!("a file of bounds is CSV with the columns {}", COLUMNS.join(","))
}

fn unreadable(shown: &str, error: &dyn std::fmt::Display) -> Error {
    Error::of_kind(ErrorKind::Unreadable, format!("{shown}: cannot be read: {error}"), form())
}

/// Limits to the tables of all units.
pub(super) struct TreeLimits {
    limits: Limits,
    /// The group of each cell of the space.
    group_of: Vec<u32>,
    /// What the groups are.
    labels: Vec<String>,
    /// The unit of each node that is a unit by itself.
    units: Vec<Option<usize>>,
    /// The level and the code of each unit.
    names: Vec<(usize, String)>,
    by_code: HashMap<(usize, String), usize>,
}

/// A bound that was stated.
struct Claim {
    level: usize,
    code: String,
    /// The query of the space, and the answer.
    query: usize,
    answer: usize,
    bound: Bound,
    place: String,
}

impl TreeLimits {
    /// None if nothing is limited. Groups of cells that are not `allowed` are empty.
    pub(super) fn new(
        estimation: &Estimation,
        files: &[BoundsFile],
        allowed: &[bool],
    ) -> Result<Option<TreeLimits>> {
        let joined = &estimation.joined;
        let mut claims = stated(joined);
        for file in files {
            claims.extend(file.claims(joined)?);
        }
        if claims.is_empty() {
            return Ok(None);
        }
        let space = joined.model.space();
        let cells = space.cells();
        let places = |query: usize| -> Vec<Option<usize>> {
            (0..cells).map(|cell| space.place_of(query, cell)).collect()
        };
        let is_total =
            |query: usize| space.queries()[query].length() == 1 && places(query).iter().all(Option::is_some);
        let mut queries: Vec<usize> = claims.iter().map(|claim| claim.query).collect();
        queries.sort_unstable();
        queries.dedup();
        let grouping = queries.iter().copied().filter(|query| !is_total(*query));
        let finest = grouping.max_by_key(|query| (space.queries()[*query].length(), usize::MAX - query));
        // Cells that the query does not count are a group of their own.
        let (group_of, groups) = match finest {
            None => (vec![0; cells], 1),
            Some(query) => {
                let rest = space.queries()[query].length();
                let of = places(query).iter().map(|place| place.unwrap_or(rest) as u32).collect();
                (of, rest + 1)
            }
        };
        let mut labels = finest.map_or(vec![], |query| {
            let name = &space.queries()[query].name;
            let labels = joined.labels(name).to_vec();
            let number = |at: usize| format!("{name} {}", labels.get(at).unwrap_or(&format!("number {at}")));
            (0..groups - 1).map(number).collect()
        });
        labels.push("all others".into());
        let mut tree = Units::of(estimation, &claims)?;
        let mut bounds: HashMap<usize, UnitBounds> = HashMap::new();
        let free = |unit: usize| UnitBounds { unit, total: Bound::FREE, groups: vec![Bound::FREE; groups] };
        for claim in &claims {
            let Some(unit) = tree.find(claim.level, &claim.code) else {
                let cause =
                    format!("there is no unit `{}` of level `{}`", claim.code, joined.levels[claim.level]);
                return Err(Error::stated(cause, "bounds are of units that were measured").at(&claim.place));
            };
            let own = bounds.entry(unit).or_insert_with(|| free(unit));
            if is_total(claim.query) {
                own.total = own.total.and(claim.bound);
            } else if Some(claim.query) == finest {
                own.groups[claim.answer] = own.groups[claim.answer].and(claim.bound);
            } else if claim.bound.upper == 0 {
                // Nobody in a sum is nobody in any part of it.
                let inside = |cell: &usize| space.place_of(claim.query, *cell) == Some(claim.answer);
                let mut counted = vec![false; groups];
                (0..cells).filter(inside).for_each(|cell| counted[group_of[cell] as usize] = true);
                let whole = (0..cells).all(|cell| !counted[group_of[cell] as usize] || inside(&cell));
                if !whole {
                    return Err(crossing(joined, claim, finest));
                }
                (0..groups)
                    .filter(|g| counted[*g])
                    .for_each(|g| own.groups[g] = own.groups[g].and(Bound::ZERO));
            } else if claim.bound != Bound::FREE {
                return Err(crossing(joined, claim, finest));
            }
        }
        // What cannot occur is nowhere.
        let mut possible = vec![false; groups];
        group_of.iter().zip(allowed).for_each(|(group, ok)| possible[*group as usize] |= ok);
        if finest.is_some() && possible.contains(&false) {
            for root in tree.roots() {
                let own = bounds.entry(root).or_insert_with(|| free(root));
                let empty = own.groups.iter_mut().zip(&possible).filter(|(_, possible)| !**possible);
                empty.for_each(|(bound, _)| *bound = bound.and(Bound::ZERO));
            }
        }
        let mut bounds: Vec<UnitBounds> = bounds.into_values().collect();
        bounds.sort_by_key(|bounds| bounds.unit);
        let limits = Limits::new(groups, &tree.parents, bounds);
        let Units { names, units, by_code, .. } = tree;
        let found = TreeLimits { limits, group_of, labels, units, names, by_code };
        found.limits.check().map_err(|unmet| found.error(estimation, &unmet))?;
        Ok(Some(found))
    }

    /// The limits of a root and of all units in it.
    pub(super) fn of_root(&self, node: usize) -> Option<UnitLimits<'_>> {
        let unit = self.units[node]?;
        Some(UnitLimits { limits: &self.limits, unit, group_of: &self.group_of })
    }

    /// The limits of a leaf that lies in no unit.
    pub(super) fn of_leaf(&self, level: usize, code: &str) -> Option<UnitLimits<'_>> {
        let unit = *self.by_code.get(&(level, code.to_string()))?;
        Some(UnitLimits { limits: &self.limits, unit, group_of: &self.group_of })
    }

    /// The limits of the children of a node; none if they have none.
    pub(super) fn of_family(&self, node: usize) -> Option<UnitLimits<'_>> {
        self.of_root(node).filter(|of| !self.limits.is_free(of.unit))
    }

    /// What cannot be met, in words.
    pub(super) fn error(&self, estimation: &Estimation, unmet: &Unmet) -> Error {
        let name = |unit: usize| {
            let (level, code) = &self.names[unit];
            format!("unit `{code}` of level `{}`", estimation.joined.levels[*level])
        };
        let of =
            |group: Option<usize>| group.map_or(String::new(), |group| format!(" in {}", self.labels[group]));
        let stated = |stated: &Stated| {
            let side = if stated.at_least { "at least" } else { "at most" };
            let from = match stated.from {
                Origin::Own => "as is known of it",
                Origin::Parts => "as parts of it say",
                Origin::Given => "as was decided before",
            };
            format!("{} has {side} {}{}, {from}", name(stated.unit), stated.count, of(stated.group))
        };
        // That a count is not negative is known of all.
        let told = |stated: &&Stated| !stated.at_least || stated.count > 0;
        let list: Vec<String> = unmet.stated.iter().filter(told).take(6).map(stated).collect();
        let rest = unmet.stated.iter().filter(told).count().saturating_sub(6);
        let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        Error::stated(
            format!(
                "{}: no tables meet all that is known{}: at least {} are needed, at most {} are possible; \
                 {}{more}",
                name(unmet.unit),
                of(unmet.group),
                unmet.lower,
                unmet.upper,
                list.join("; "),
            ),
            "check exact values and bounds: they must be those of one set of records",
        )
    }
}

/// The units that limits are of: all nodes that are units, and leaves if any of them is limited.
struct Units {
    parents: Vec<Option<usize>>,
    names: Vec<(usize, String)>,
    units: Vec<Option<usize>>,
    by_code: HashMap<(usize, String), usize>,
}

impl Units {
    fn of(estimation: &Estimation, claims: &[Claim]) -> Result<Units> {
        let Estimation { gathered, tree, joined, .. } = estimation;
        let mut found = Units {
            parents: vec![],
            names: vec![],
            units: vec![None; tree.nodes().len()],
            by_code: HashMap::new(),
        };
        for (node, unit) in gathered.units.iter().enumerate() {
            let Some(unit) = unit else { continue };
            let parent = tree.nodes()[node].parent.and_then(|parent| found.units[parent]);
            found.units[node] = Some(found.push(parent, unit.level, &unit.code));
        }
        let level = gathered.leaf_level;
        let of_leaf =
            |claim: &Claim| claim.level == level && !found.by_code.contains_key(&(level, claim.code.clone()));
        let is_mixed = |node: usize| {
            let units = tree.children(node).iter().filter(|child| found.units[**child].is_some()).count();
            units > 0 && units < tree.children(node).len()
        };
        if claims.iter().any(of_leaf) || (0..tree.nodes().len()).any(is_mixed) {
            for part in 0..joined.first.levels[level].parts {
                joined.first.each_unit(level, part, &mut |code, _, _| {
                    let parent = gathered.parent(joined, level, code)?;
                    let parent = parent.and_then(|parent| found.units[parent]);
                    found.push(parent, level, code);
                    Ok(())
                })?;
            }
        }
        Ok(found)
    }

    fn push(&mut self, parent: Option<usize>, level: usize, code: &str) -> usize {
        let unit = self.parents.len();
        self.parents.push(parent);
        self.names.push((level, code.into()));
        self.by_code.insert((level, code.into()), unit);
        unit
    }

    fn find(&mut self, level: usize, code: &str) -> Option<usize> {
        self.by_code.get(&(level, code.to_string())).copied()
    }

    fn roots(&self) -> Vec<usize> {
        (0..self.parents.len()).filter(|unit| self.parents[*unit].is_none()).collect()
    }
}

/// What measurements state: exact values and bounds.
fn stated(joined: &Joined) -> Vec<Claim> {
    let mut claims = vec![];
    for (level, query, exact) in joined.exact_queries() {
        for code in exact.codes.keys() {
            let values = exact.of(code).expect("has values");
            for (answer, count) in values.iter().enumerate() {
                let bound = match exact.sign {
                    Sign::Equal => Bound::exactly(*count),
                    Sign::AtMost if *count > MAX_BOUND => Bound::FREE,
                    Sign::AtMost => Bound { lower: 0, upper: (*count).max(0) },
                    Sign::AtLeast => Bound { lower: (*count).clamp(0, MAX_BOUND), upper: UNBOUNDED },
                };
                if bound != Bound::FREE {
                    let place = joined.first.name.clone();
                    claims.push(Claim { level, code: code.clone(), query, answer, bound, place });
                }
            }
        }
    }
    claims
}

fn claim(record: &csv::StringRecord, joined: &Joined, place: &str) -> Result<Claim> {
    let field = |at: usize| record.get(at).unwrap_or_default();
    let space = joined.model.space();
    let levels = joined.levels.iter().map(String::as_str);
    let level = one_of("level", field(0), levels, "levels are named as in the measurements")?;
    let asked: Vec<usize> =
        (0..space.queries().len()).filter(|query| !joined.hidden.contains(query)).collect();
    let names = asked.iter().map(|query| space.queries()[*query].name.as_str());
    let query = asked[one_of("query", field(2), names, "queries are named as in the measurements")?];
    let (labels, length) = (joined.labels(field(2)), space.queries()[query].length());
    let by_label = labels.iter().position(|label| label == field(3));
    let by_number = field(3).parse::<usize>().ok().filter(|at| *at < length);
    let answer = match (by_label.or(by_number), field(3)) {
        (Some(answer), _) => answer,
        (None, "") if length == 1 => 0,
        (None, text) => {
            let some: Vec<&str> = labels.iter().take(8).map(String::as_str).collect();
            let allowed = format!("a label of `{}`, or a number below {length}", field(2));
            return Err(Error::input("answer", text, allowed, format!("labels are {}", some.join(", "))));
        }
    };
    let count = |name: &'static str, text: &str| -> Result<Option<i64>> {
        if text.is_empty() {
            return Ok(None);
        }
        let count = text.parse::<i64>().ok().filter(|count| (0..=MAX_BOUND).contains(count));
        let (allowed, hint) =
            (format!("a whole number from 0 to {MAX_BOUND}"), "leave it empty if there is no bound");
        count.map(Some).ok_or_else(|| Error::input(name, text, allowed, hint))
    };
    let (lower, upper) = (count("at_least", field(4))?, count("at_most", field(5))?);
    let bound = Bound { lower: lower.unwrap_or(0), upper: upper.unwrap_or(UNBOUNDED) };
    if bound.lower > bound.upper {
        let allowed = format!("at most {}", bound.upper);
        return Err(Error::input("at_least", field(4), allowed, "at_least is not above at_most"));
    }
    Ok(Claim { level, code: field(1).into(), query, answer, bound, place: place.into() })
}

fn crossing(joined: &Joined, claim: &Claim, finest: Option<usize>) -> Error {
    let name = |query: usize| joined.model.space().queries()[query].name.clone();
    let other = finest.map_or(String::new(), name);
    Error::stated(
        format!(
            "bounds on `{}` and on `{other}` are given, and neither is a total: tables cannot be made to \
             meet both",
            name(claim.query)
        ),
        "give all bounds for one query; zeros may be given for sums of its answers too",
    )
    .at(&claim.place)
}
