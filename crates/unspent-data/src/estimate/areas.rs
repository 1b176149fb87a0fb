//! Areas that are made of units: districts, places, school zones. They may overlap.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use unspent::{Error, ErrorKind, Result, did_you_mean};
use unspent_estimate::Tree;

use super::NamedArea;
use super::gather::Gathered;

/// Most areas that a unit can be in.
const MAX_OVERLAP: usize = 64;

/// Which areas each unit is in.
#[derive(Debug, Default)]
pub(super) struct Areas {
    pub(super) areas: Vec<AreaName>,
    /// The sets of areas that units are in; the first is empty.
    patterns: Vec<Vec<u32>>,
    units: HashMap<String, Listed>,
    name: String,
}

/// An area: a column of a map, and a value in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AreaName {
    /// The name of the column.
    pub map: String,
    /// The name of the area.
    pub area: String,
}

#[derive(Debug)]
struct Listed {
    pattern: u32,
    found: AtomicBool,
}

impl Areas {
    /// Reads maps: the first column is the code of a unit, every other names an area that the unit is in.
    pub(super) fn read(paths: &[impl AsRef<Path>], more: &[NamedArea]) -> Result<Areas> {
        let mut areas = Areas { patterns: vec![vec![]], ..Areas::default() };
        let mut of_units: HashMap<String, Vec<u32>> = HashMap::new();
        let mut known: HashMap<AreaName, u32> = HashMap::new();
        for path in paths {
            let path = path.as_ref();
            areas.name = path.display().to_string();
            areas.read_map(path, &mut of_units, &mut known).map_err(|e| e.at(path.display()))?;
        }
        for NamedArea { name, codes } in more {
            let number = areas.number(name.clone(), &mut known);
            codes.iter().for_each(|code| of_units.entry(code.clone()).or_default().push(number));
        }
        if areas.name.is_empty() {
            areas.name = "areas".into();
        }
        let mut patterns: HashMap<Vec<u32>, u32> = HashMap::from([(vec![], 0)]);
        for (code, mut of_unit) in of_units {
            of_unit.sort_unstable();
            of_unit.dedup();
            let next = areas.patterns.len() as u32;
            let pattern = *patterns.entry(of_unit.clone()).or_insert(next);
            if pattern == next {
                areas.patterns.push(of_unit);
            }
            areas.units.insert(code, Listed { pattern, found: AtomicBool::new(false) });
        }
        Ok(areas.sorted())
    }

    fn read_map(
        &mut self,
        path: &Path,
        of_units: &mut HashMap<String, Vec<u32>>,
        known: &mut HashMap<AreaName, u32>,
    ) -> Result<()> {
        let file = File::open(path).map_err(|error| {
            let hint = "a map is a CSV file: a unit's code, then the areas that it is in";
            Error::io(format!("cannot be read: {error}"), error, hint).with_kind(ErrorKind::Unreadable)
        })?;
        let bad =
            |error: csv::Error| Error::stated(format!("cannot be read: {error}"), "a map is a CSV file");
        let mut reader = csv::Reader::from_reader(file);
        let header = reader.headers().map_err(bad)?.clone();
        if header.len() < 2 {
            return Err(Error::stated(
                "has fewer than two columns",
                "the first column is the code of a unit, every other one names an area that it is in",
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
                if area.trim().is_empty() {
                    continue;
                }
                let name = AreaName { map: map.trim().into(), area: area.trim().into() };
                let number = self.number(name, known);
                let of_unit = of_units.entry(code.into()).or_default();
                of_unit.push(number);
                if of_unit.len() > MAX_OVERLAP {
                    let cause = format!("row {line}: unit `{code}` is in more than {MAX_OVERLAP} areas");
                    return Err(Error::stated(cause, "divide the map into several, and estimate each"));
                }
            }
        }
        Ok(())
    }

    fn number(&mut self, name: AreaName, known: &mut HashMap<AreaName, u32>) -> u32 {
        *known.entry(name.clone()).or_insert_with(|| {
            self.areas.push(name);
            self.areas.len() as u32 - 1
        })
    }

    /// Areas by name, and patterns in an order that does not depend on hashing.
    fn sorted(mut self) -> Areas {
        let mut order: Vec<usize> = (0..self.areas.len()).collect();
        order.sort_by(|a, b| natural(&self.areas[*a]).cmp(&natural(&self.areas[*b])));
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(at, area)| place[*area] = at as u32);
        self.areas = order.iter().map(|area| self.areas[*area].clone()).collect();
        for pattern in &mut self.patterns {
            pattern.iter_mut().for_each(|area| *area = place[*area as usize]);
            pattern.sort_unstable();
        }
        let mut order: Vec<usize> = (0..self.patterns.len()).collect();
        order.sort_by(|a, b| self.patterns[*a].cmp(&self.patterns[*b]));
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(at, pattern)| place[*pattern] = at as u32);
        self.patterns = order.iter().map(|pattern| self.patterns[*pattern].clone()).collect();
        self.units.values_mut().for_each(|listed| listed.pattern = place[listed.pattern as usize]);
        self
    }

    /// The set of areas that a leaf is in.
    pub(super) fn pattern(&self, code: &str) -> u32 {
        if self.units.is_empty() {
            return 0;
        }
        self.units.get(code).map_or(0, |listed| {
            listed.found.store(true, Ordering::Relaxed);
            listed.pattern
        })
    }

    /// The nodes of each area.
    pub(super) fn nodes(&self, gathered: &Gathered, tree: &Tree) -> Result<Vec<Vec<usize>>> {
        let mut nodes = vec![vec![]; self.areas.len()];
        for (node, pattern) in gathered.patterns.iter().enumerate() {
            self.patterns[*pattern as usize].iter().for_each(|area| nodes[*area as usize].push(node));
        }
        // Units above the smallest level, and leaves that are bypassed, which are all of the unit above.
        let mut others: Vec<(&String, &Listed)> =
            self.units.iter().filter(|(_, listed)| !listed.found.load(Ordering::Relaxed)).collect();
        others.sort_by_key(|(code, _)| *code);
        for (code, listed) in others {
            let levels = 0..=gathered.leaf_level;
            let unit = levels.rev().find_map(|level| gathered.geography.node(level, code));
            let above = || {
                gathered
                    .geography
                    .parent(gathered.leaf_level, code)
                    .filter(|node| tree.children(*node).is_empty())
            };
            let Some(node) = unit.or_else(above) else {
                return Err(Error::stated(
                    format!("{}: unit `{code}` is not among the units that are measured", self.name),
                    "codes are those of the measurements; leading zeros may have been lost",
                ));
            };
            for area in &self.patterns[listed.pattern as usize] {
                let nodes = &mut nodes[*area as usize];
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
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
