//! Areas that are made of units: districts, places, school zones. They may overlap.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use unspent::{Error, ErrorKind, Result, did_you_mean, file};
use unspent_estimate::Tree;

use super::NamedArea;
use super::gather::Gathered;
use crate::units::Keys;

/// Most areas that a unit can be in.
const MAX_OVERLAP: usize = 64;

/// Which areas each unit is in.
#[derive(Debug, Default)]
pub(crate) struct Areas {
    pub(crate) areas: Vec<AreaName>,
    /// The sets of areas that units are in; the first is empty.
    patterns: Vec<Vec<u32>>,
    /// The codes of all units that are in some area, ascending.
    codes: Keys,
    /// The pattern of each.
    pattern_of: Vec<u32>,
    /// Whether each was found among the leaves.
    found: Vec<AtomicBool>,
    name: String,
}

/// What maps say: the codes of units as they come, and an area of each.
#[derive(Default)]
struct Listed {
    codes: Keys,
    areas: Vec<u32>,
    /// For each map the number of each area.
    known: HashMap<String, HashMap<String, u32>>,
    names: Vec<AreaName>,
}

impl Listed {
    fn push(&mut self, map: &str, area: &str, code: &str) {
        let number = self.known.get(map).and_then(|areas| areas.get(area)).copied();
        let number = number.unwrap_or_else(|| {
            let number = self.names.len() as u32;
            self.names.push(AreaName { map: map.into(), area: area.into() });
            self.known.entry(map.into()).or_default().insert(area.into(), number);
            number
        });
        self.codes.push(code);
        self.areas.push(number);
    }

    fn read_map(&mut self, path: &Path) -> Result<()> {
        let file = file::open(path).map_err(|error| {
            let hint = "a map is a CSV file: a unit's code, then the areas that it is in";
            Error::io(format!("cannot be read: {error}"), error, hint).with_kind(ErrorKind::Unreadable)
        })?;
        let bad = |error: csv::Error| {
            Error::stated(format!("cannot be read: {error}"), "a map is a CSV file in UTF-8, not packed")
        };
        let mut file = BufReader::new(file);
        let separator = separator(file.fill_buf().map_err(|error: io::Error| bad(error.into()))?);
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(file);
        let header = reader.headers().map_err(bad)?.clone();
        if header.len() < 2 {
            return Err(Error::stated(
                "has fewer than two columns",
                "the first column is the code of a unit, every other one names an area that it is in",
            ));
        }
        if header[0].trim().bytes().all(|b| b.is_ascii_digit()) {
            return Err(Error::input(
                "line 1",
                &header[0],
                "a line of names",
                "name the columns, like `block,district`: a code here would be lost",
            ));
        }
        // Spreadsheets leave columns without a name, which are empty.
        let mut maps: Vec<&str> =
            header.iter().skip(1).map(str::trim).filter(|map| !map.is_empty()).collect();
        maps.sort_unstable();
        if let Some(twice) = maps.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::stated(
                format!("line 1: two columns are called `{}`", twice[0]),
                "give each kind of area a name of its own",
            ));
        }
        let mut row = csv::StringRecord::new();
        let mut line = 1;
        while reader.read_record(&mut row).map_err(bad)? {
            line += 1;
            let code = row[0].trim();
            if code.is_empty() {
                return Err(Error::stated(format!("row {line} has no code"), "every row is about a unit"));
            }
            for (map, area) in header.iter().zip(&row).skip(1) {
                if !area.trim().is_empty() {
                    self.push(map.trim(), area.trim(), code);
                }
            }
        }
        Ok(())
    }
}

/// What separates the columns: of commas, semicolons and tabs, the one of which the first line has most.
fn separator(start: &[u8]) -> u8 {
    let line = start.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let count = |separator: u8| line.iter().filter(|byte| **byte == separator).count();
    [b';', b'\t'].into_iter().fold(b',', |best, next| if count(next) > count(best) { next } else { best })
}

/// An area: a column of a map, and a value in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AreaName {
    /// The name of the column.
    pub map: String,
    /// The name of the area.
    pub area: String,
}

impl Areas {
    /// Reads maps: the first column is the code of a unit, every other names an area that the unit is in.
    pub(crate) fn read(paths: &[impl AsRef<Path>], more: &[NamedArea]) -> Result<Areas> {
        let mut listed = Listed::default();
        let mut name = String::from("areas");
        for path in paths {
            let path = path.as_ref();
            name = path.display().to_string();
            let before = listed.areas.len();
            listed.read_map(path).map_err(|e| e.at(path.display()))?;
            if listed.areas.len() == before {
                let cause = format!("{name}: no unit is in an area");
                return Err(Error::stated(cause, "every row is a unit's code, and the areas that it is in"));
            }
        }
        for NamedArea { name, codes } in more {
            codes.iter().for_each(|code| listed.push(&name.map, &name.area, code));
        }
        Areas::new(name, listed)
    }

    /// Areas by name, and patterns in an order that does not depend on hashing.
    fn new(name: String, listed: Listed) -> Result<Areas> {
        let Listed { codes, areas, names, .. } = listed;
        let mut by_name: Vec<usize> = (0..names.len()).collect();
        by_name.sort_by(|a, b| natural(&names[*a]).cmp(&natural(&names[*b])));
        let mut place = vec![0u32; names.len()];
        by_name.iter().enumerate().for_each(|(at, area)| place[*area] = at as u32);
        let mut order: Vec<u32> = (0..codes.len() as u32).collect();
        let code = |at: &u32| codes.get(*at as usize);
        if !order.is_sorted_by(|a, b| code(a) <= code(b)) {
            order.sort_by(|a, b| code(a).cmp(code(b)));
        }
        let mut found = Areas {
            areas: by_name.iter().map(|area| names[*area].clone()).collect(),
            patterns: vec![vec![]],
            name,
            ..Areas::default()
        };
        let mut known: HashMap<Vec<u32>, u32> = HashMap::from([(vec![], 0)]);
        let mut of_unit: Vec<u32> = vec![];
        for rows in order.chunk_by(|a, b| code(a) == code(b)) {
            of_unit.clear();
            of_unit.extend(rows.iter().map(|row| place[areas[*row as usize] as usize]));
            of_unit.sort_unstable();
            of_unit.dedup();
            if of_unit.len() > MAX_OVERLAP {
                let unit = code(&rows[0]);
                let cause = format!("{}: unit `{unit}` is in more than {MAX_OVERLAP} areas", found.name);
                return Err(Error::stated(cause, "divide the map into several, and estimate each"));
            }
            let pattern = known.get(&of_unit).copied().unwrap_or_else(|| {
                let next = found.patterns.len() as u32;
                known.insert(of_unit.clone(), next);
                found.patterns.push(of_unit.clone());
                next
            });
            found.codes.push(code(&rows[0]));
            found.pattern_of.push(pattern);
            found.found.push(AtomicBool::new(false));
        }
        Ok(found)
    }

    /// The set of areas that a leaf is in.
    pub(super) fn pattern(&self, code: &str) -> u32 {
        self.codes.find(code).map_or(0, |at| {
            self.found[at].store(true, Ordering::Relaxed);
            self.pattern_of[at]
        })
    }

    /// The areas of each of these leaves. All units of the maps must be among them.
    pub(crate) fn of_leaves<'c>(&self, codes: impl Iterator<Item = &'c str>) -> Result<Vec<&[u32]>> {
        let areas = codes.map(|code| &self.patterns[self.pattern(code) as usize][..]).collect();
        match (0..self.codes.len()).find(|at| !self.found[*at].load(Ordering::Relaxed)) {
            None => Ok(areas),
            Some(at) => Err(Error::stated(
                format!("{}: unit `{}` is not among the smallest units", self.name, self.codes.get(at)),
                "codes are those of the table; leading zeros may have been lost",
            )),
        }
    }

    /// The nodes of each area.
    pub(super) fn nodes(&self, gathered: &Gathered, tree: &Tree) -> Result<Vec<Vec<usize>>> {
        let mut nodes = vec![vec![]; self.areas.len()];
        for (node, pattern) in gathered.patterns.iter().enumerate() {
            self.patterns[*pattern as usize].iter().for_each(|area| nodes[*area as usize].push(node));
        }
        // Units above the smallest level, and leaves that are bypassed, which are all of the unit above.
        let mut bypassed: HashMap<usize, &str> = HashMap::new();
        for at in (0..self.codes.len()).filter(|at| !self.found[*at].load(Ordering::Relaxed)) {
            let code = self.codes.get(at);
            let levels = 0..=gathered.leaf_level;
            let unit = levels.rev().find_map(|level| gathered.geography.node(level, code));
            let above = || {
                let geography = &gathered.geography;
                let above = geography.parent(gathered.leaf_level, code).ok().flatten();
                above.filter(|node| {
                    tree.children(*node).is_empty() && geography.is_as_long(gathered.leaf_level, code)
                })
            };
            let Some(node) = unit.or_else(above) else {
                return Err(Error::stated(
                    format!("{}: unit `{code}` is not among the units that are measured", self.name),
                    "codes are those of the measurements; leading zeros may have been lost",
                ));
            };
            // A unit above has one bypassed unit, which is all of it.
            if unit.is_none() && *bypassed.entry(node).or_insert(code) != code {
                return Err(Error::stated(
                    format!(
                        "{}: units `{code}` and `{}` cannot both be the only one of the unit above",
                        self.name, bypassed[&node]
                    ),
                    "a unit that is not measured is the only child of its parent: check the codes of the map",
                ));
            }
            for area in &self.patterns[self.pattern_of[at] as usize] {
                nodes[*area as usize].push(node);
            }
        }
        Ok(nodes)
    }

    /// The area of that name: `map:area`, or the area alone if only one map has it.
    pub(super) fn find(&self, text: &str) -> Result<usize> {
        let full = |area: &AreaName| format!("{}:{}", area.map, area.area);
        let named: Vec<usize> = (0..self.areas.len())
            .filter(|at| full(&self.areas[*at]) == text || self.areas[*at].area == text)
            .collect();
        match named[..] {
            [area] => Ok(area),
            [] => {
                let names: Vec<String> = self.areas.iter().map(full).collect();
                let hint =
                    did_you_mean(text, names.iter().map(String::as_str), "areas are named as in the map");
                Err(Error::input("area", text, "an area of the map, like `district:3`", hint))
            }
            _ => Err(Error::input("area", text, "one area", "write the column too, like `district:3`")),
        }
    }
}

/// Numbers in their order, then texts.
fn natural(area: &AreaName) -> (&str, Option<u64>, &str) {
    (&area.map, Some(area.area.parse().unwrap_or(u64::MAX)), &area.area)
}
