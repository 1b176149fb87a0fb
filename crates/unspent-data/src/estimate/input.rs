//! Noisy measurements of either kind as an estimate reads them: levels of units, rows of queries.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use unspent::file::FileDigest;
use unspent::schema::{Code, Schema};
use unspent::{Allocation, Error, Result, stop};

use super::simulated::{KnownUnit, NOWHERE, Simulated, places_of};
use crate::interval::sigma2_of_variance;
use crate::manifest::{self, LevelEntry};
use crate::measurements::bureau::Sign;
use crate::measurements::{BureauMeasurements, BypassedUnits, LevelMeasurements, Reader, Source};
use crate::plan;

/// Units that are handed on together where all measurements are in memory.
const PART: usize = 4096;

/// A folder of noisy measurements.
#[derive(Debug)]
pub(super) struct Input {
    /// Its path, for messages.
    pub(super) name: String,
    /// What was measured.
    pub(super) title: String,
    /// The digest of its manifest, if it has one.
    pub(super) digest: Option<String>,
    pub(super) schema: Schema,
    /// From the largest areas to the smallest.
    pub(super) levels: Vec<InputLevel>,
    /// What must be said of its noise.
    pub(super) warning: Option<String>,
    /// Queries that may be measured nowhere, and are answered all the same.
    pub(super) asked: Vec<InputQuery>,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    Files(Box<Reader>),
    Memory(Vec<LevelMeasurements>),
    Simulated(Simulated),
}

/// A level of a folder.
#[derive(Clone, Debug)]
pub(super) struct InputLevel {
    pub(super) name: String,
    pub(super) queries: Vec<InputQuery>,
    /// The noises that units have: the σ² of each query.
    pub(super) noises: Vec<Noise>,
    /// Where codes of units come from, if that is known.
    pub(super) code: Option<Code>,
    /// How many parts it is read in.
    pub(super) parts: usize,
    /// How many units it has.
    pub(super) units: u64,
    /// What is known of units without noise.
    pub(super) exact: Vec<ExactQuery>,
    /// The units that are not measured, because a unit above covers the same area.
    pub(super) bypassed: HashSet<String>,
    /// Only for measurements in memory: the noise of each unit.
    noise_of: Vec<u32>,
}

/// The σ² of the noise on each query of a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) sigma2: Vec<f64>,
    /// Whether the unit has the budgets of levels below, whose units are then bypassed.
    pub(super) bypasses: bool,
}

/// A query, by its name and what it tells apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputQuery {
    pub(super) name: String,
    pub(super) by: Vec<String>,
}

/// Values without noise, for units by their codes.
#[derive(Clone, Debug)]
pub(super) struct ExactQuery {
    pub(super) query: InputQuery,
    pub(super) codes: HashMap<String, u32>,
    /// How many values a unit has.
    pub(super) length: usize,
    pub(super) values: Vec<i64>,
    /// What they say of the counts: those of estimates are only used if they are equal, or zeros.
    pub(super) sign: Sign,
}

impl ExactQuery {
    pub(super) fn of(&self, code: &str) -> Option<&[i64]> {
        self.codes.get(code).map(|unit| &self.values[*unit as usize * self.length..][..self.length])
    }
}

/// A unit: its code, its noise, and the values of each query.
pub(super) type TakeUnit<'t> = dyn FnMut(&str, usize, &[&[i64]]) -> Result<()> + 't;

impl Input {
    pub(super) fn open(path: &Path) -> Result<Input> {
        match Source::open(path)? {
            Source::Own(reader) => Input::own(reader),
            Source::Bureau(dataset) => Input::bureau(path, dataset.read()?),
        }
    }

    fn own(reader: Reader) -> Result<Input> {
        let file = reader.beside(manifest::ALLOCATION)?;
        let allocation = Allocation::read(&file, None)?;
        allocation.needs_gaussian("an estimate")?;
        let Some(schema) = allocation.schema().cloned() else {
            return Err(Error::stated(
                format!("{}: does not say which values attributes have", file.display()),
                "it is written together with the measurements, and is not to be changed",
            ));
        };
        let by = |name: &str| allocation.queries().iter().find(|q| q.name == name).map(|q| q.by.clone());
        let missing = |what: &str, name: &str| {
            let cause = format!("{}: has no {what} `{name}`", file.display());
            Error::stated(cause, "the manifest names it; both are written with the measurements")
        };
        let code_of = |level: &str| code(&schema, level).ok_or_else(|| missing("level", level));
        let mut levels = vec![];
        for entry in &reader.manifest().levels {
            let query = |name: &String| {
                let by = by(name).ok_or_else(|| missing("query", name))?;
                Ok(InputQuery { name: name.clone(), by })
            };
            let queries = entry.queries.iter().map(|q| query(&q.query_name)).collect::<Result<Vec<_>>>()?;
            levels.push(InputLevel {
                code: Some(code_of(&entry.level)?),
                name: entry.level.clone(),
                queries,
                noises: noises(entry)?,
                parts: entry.files.len(),
                units: entry.units,
                exact: vec![],
                bypassed: HashSet::new(),
                noise_of: vec![],
            });
        }
        for BypassedUnits { level, codes } in reader.read_bypassed()? {
            let known = levels.iter_mut().find(|known| known.name == level);
            known.expect("a level of the manifest").bypassed = codes.into_iter().collect();
        }
        for exact in reader.read_exact()? {
            code_of(&exact.level)?;
            let codes = index(&exact.codes);
            for values in exact.queries {
                // Public numbers of units, like facilities, are no query.
                let by = match (by(&values.name), values.name.as_str()) {
                    (Some(by), _) => by,
                    (None, unspent_estimate::TOTAL) => vec![],
                    (None, _) => continue,
                };
                let query = InputQuery { name: values.name, by };
                let exact_query = ExactQuery {
                    query,
                    codes: codes.clone(),
                    length: values.shape.iter().map(|n| *n as usize).product(),
                    values: values.values,
                    sign: Sign::Equal,
                };
                push_exact(&mut levels, &schema, &exact.level, exact_query);
            }
        }
        let warning = reader.manifest().warning.clone();
        let name = reader.directory().display().to_string();
        let title = reader.manifest().allocation.clone();
        let query = |q: &unspent::allocation::Query| InputQuery { name: q.name.clone(), by: q.by.clone() };
        let asked = allocation.queries().iter().map(query).collect();
        let text = std::fs::read_to_string(reader.directory().join(manifest::FILE)).ok();
        let digest = text.map(|text| FileDigest::of(manifest::FILE, &text).sha256);
        let rows = Rows::Files(reader.into());
        Ok(Input { name, title, digest, schema, levels, warning, asked, rows })
    }

    /// What an allocation measures at the levels of known tables, and publishes exactly of them; the rows
    /// are yet to be simulated. No unit is bypassed.
    pub(super) fn of_allocation(
        schema: &Schema,
        allocation: &Allocation,
        levels: &[String],
        known: &[Arc<Vec<KnownUnit>>],
        more: &[(&str, &[String])],
    ) -> Result<Input> {
        let query = |q: &unspent::allocation::Query| InputQuery { name: q.name.clone(), by: q.by.clone() };
        let mut asked: Vec<InputQuery> = allocation.queries().iter().map(query).collect();
        for (name, by) in more {
            if asked.iter().all(|query| query.by != *by) {
                asked.push(InputQuery { name: (*name).into(), by: by.to_vec() });
            }
        }
        let mut found = vec![];
        for (name, units) in levels.iter().zip(known) {
            let level = allocation.levels().iter().find(|level| level.name == *name);
            let level = level.expect("levels of known tables are levels of every allocation");
            let sigma2 = level.measurements.iter().map(|m| Ok(m.gaussian()?.sigma2().to_f64()));
            let sigma2 = sigma2.collect::<Result<_>>()?;
            let codes: Vec<String> = units.iter().map(|unit| unit.code.clone()).collect();
            let mut exact = vec![];
            for of in plan::exact(allocation, name) {
                let places = places_of(schema, of.by)?;
                let length = schema.resolve(of.by)?.iter().map(|part| part.cells).product();
                let mut values = vec![0; length * units.len()];
                for (unit, values) in units.iter().zip(values.chunks_exact_mut(length)) {
                    let counted = unit.table.iter().map(|(cell, count)| (places[*cell as usize], count));
                    counted.filter(|(at, _)| *at != NOWHERE).for_each(|(at, n)| values[at as usize] += n);
                }
                let query = InputQuery { name: of.name.into(), by: of.by.to_vec() };
                exact.push(ExactQuery { query, codes: index(&codes), length, values, sign: Sign::Equal });
            }
            found.push(InputLevel {
                code: code(schema, name),
                name: name.clone(),
                queries: level.measurements.iter().map(|m| query(&allocation.queries()[m.query])).collect(),
                noises: vec![Noise { sigma2, bypasses: false }],
                parts: 0,
                units: 0,
                exact,
                bypassed: HashSet::new(),
                noise_of: vec![],
            });
        }
        Ok(Input {
            name: allocation.name().into(),
            title: allocation.name().into(),
            digest: None,
            schema: schema.clone(),
            levels: found,
            warning: None,
            asked,
            rows: Rows::Memory(vec![]),
        })
    }

    fn bureau(path: &Path, found: BureauMeasurements) -> Result<Input> {
        let schema = Schema::shipped(&found.schema)?;
        let by = |name: &str| schema.queries().iter().find(|q| q.name == name).map(|q| q.by.clone());
        let name = path.display().to_string();
        let mut levels = vec![];
        for level in &found.levels {
            let query = |name: &String| {
                let by = by(name).ok_or_else(|| {
                    let cause = format!("level `{}`: query `{name}` is not in the schema", level.level);
                    Error::stated(cause, "what a query tells apart must be known")
                })?;
                Ok(InputQuery { name: name.clone(), by })
            };
            let queries: Vec<InputQuery> = level
                .queries
                .iter()
                .map(|q| query(&q.name))
                .collect::<Result<_>>()
                .map_err(|e| e.at(&name))?;
            let (noises, noise_of) = noises_of_rows(level)?;
            levels.push(InputLevel {
                name: level.level.clone(),
                queries,
                noises,
                // Codes of the spine are not those of the shipped layout: they nest by their first letters.
                code: None,
                parts: level.codes.len().div_ceil(PART),
                units: level.codes.len() as u64,
                exact: vec![],
                bypassed: HashSet::new(),
                noise_of,
            });
        }
        let exact = found.exact.iter().flat_map(|exact| {
            exact
                .queries
                .iter()
                .map(|q| (&exact.level, &exact.codes, &q.name, &q.shape, &q.values, Sign::Equal))
        });
        let bounds = found.bounds.iter().flat_map(|bounds| {
            let values = bounds.queries.iter();
            values.map(|q| (&bounds.level, &bounds.codes, &q.name, &q.shape, &q.values, q.sign))
        });
        for (level, codes, name, shape, values, sign) in exact.chain(bounds) {
            let length = shape.iter().map(|n| *n as usize).product();
            let Some(query) = constrained(&schema, name, length) else { continue };
            let exact_query = ExactQuery { query, codes: index(codes), length, values: values.clone(), sign };
            push_exact(&mut levels, &schema, level, exact_query);
        }
        let title = path.file_name().map_or(name.clone(), |name| name.to_string_lossy().into_owned());
        let (warning, asked) = (None, vec![]);
        let (digest, rows) = (None, Rows::Memory(found.levels));
        Ok(Input { name, title, digest, schema, levels, warning, asked, rows })
    }

    /// Hands on the units of a part of a level.
    pub(super) fn each_unit(&self, level: usize, part: usize, take: &mut TakeUnit<'_>) -> Result<()> {
        stop::check();
        match &self.rows {
            Rows::Files(reader) => {
                let entry = &reader.manifest().levels[level];
                reader.file_units(entry, &entry.files[part], &mut |unit, noise| {
                    let code = unit[0].geocode;
                    if self.levels[level].bypassed.contains(code) {
                        return Err(both(code, &entry.level).at(&self.name));
                    }
                    let rows: Vec<&[i64]> = unit.iter().map(|row| row.values).collect();
                    take(code, usize::from(noise), &rows)
                })
            }
            Rows::Memory(levels) => {
                let found = &levels[level];
                for unit in part * PART..((part + 1) * PART).min(found.codes.len()) {
                    let row = |query: &crate::QueryMeasurements| {
                        let length = query.length();
                        unit * length..(unit + 1) * length
                    };
                    let rows: Vec<&[i64]> = found.queries.iter().map(|q| &q.values[row(q)]).collect();
                    take(&found.codes[unit], self.levels[level].noise_of[unit] as usize, &rows)?;
                }
                Ok(())
            }
            Rows::Simulated(simulated) => simulated.each_unit(level, part, take),
        }
    }

    /// The same with other rows.
    pub(super) fn with_rows(&self, levels: Vec<InputLevel>, rows: Simulated) -> Input {
        Input {
            name: self.name.clone(),
            title: self.title.clone(),
            digest: None,
            schema: self.schema.clone(),
            levels,
            warning: None,
            asked: self.asked.clone(),
            rows: Rows::Simulated(rows),
        }
    }
}

/// What a constraint is about, by its name: a query of the schema, the total, or an attribute, as in
/// `hhgq_total_lb`. None for others, which are structural zeros of the schema.
fn constrained(schema: &Schema, name: &str, length: usize) -> Option<InputQuery> {
    let known = |name: &str| schema.queries().iter().find(|q| q.name == name).map(|q| q.by.clone());
    let bounded = name.strip_suffix("_lb").or_else(|| name.strip_suffix("_ub")).unwrap_or(name);
    let attribute = bounded.strip_suffix("_total").unwrap_or(bounded);
    let is_attribute = |a: &unspent::schema::Attribute| a.name == attribute && a.values.len() == length;
    let (name, by) = match known(name).map(|by| (name, by)).or_else(|| Some((bounded, known(bounded)?))) {
        Some(found) => found,
        None if bounded == unspent_estimate::TOTAL => (bounded, vec![]),
        None if schema.attributes().iter().any(is_attribute) => (attribute, vec![attribute.to_string()]),
        None => return None,
    };
    Some(InputQuery { name: name.into(), by })
}

/// A unit that is measured, and listed as one that is not.
fn both(code: &str, level: &str) -> Error {
    Error::stated(
        format!("unit `{code}` of level `{level}` is measured and bypassed"),
        "the list of bypassed units is written with the measurements, and is not to be changed",
    )
}

fn push_exact(levels: &mut Vec<InputLevel>, schema: &Schema, level: &str, query: ExactQuery) {
    if let Some(found) = levels.iter_mut().find(|found| found.name == level) {
        found.exact.push(query);
        return;
    }
    // A level of which nothing is measured.
    let order = |name: &str| {
        let levels = schema.layout().map(|layout| layout.levels()).unwrap_or_default();
        levels.iter().position(|level| level.name == name)
    };
    let place = levels.partition_point(|found| order(&found.name) < order(level));
    let new = InputLevel {
        name: level.into(),
        queries: vec![],
        noises: vec![],
        code: code(schema, level),
        parts: 0,
        units: 0,
        exact: vec![query],
        bypassed: HashSet::new(),
        noise_of: vec![],
    };
    levels.insert(place, new);
}

fn code(schema: &Schema, level: &str) -> Option<Code> {
    let levels = schema.layout()?.levels();
    levels.iter().find(|known| known.name == level).map(|known| known.code.clone())
}

fn index(codes: &[String]) -> HashMap<String, u32> {
    codes.iter().zip(0..).map(|(code, unit)| (code.clone(), unit)).collect()
}

fn noises(entry: &LevelEntry) -> Result<Vec<Noise>> {
    let sigma2 = |noise: &&crate::manifest::NoiseEntry| {
        noise.sigma2.as_ref().map(unspent::Rational::to_f64).ok_or_else(|| {
            let cause = format!("an estimate: level `{}` has noise that is not Gaussian", entry.level);
            Error::stated(cause, "estimates are from discrete Gaussian noise")
        })
    };
    let of_budget = |(at, noises): (usize, Vec<&crate::manifest::NoiseEntry>)| {
        Ok(Noise { sigma2: noises.iter().map(sigma2).collect::<Result<_>>()?, bypasses: at > 0 })
    };
    entry.noises().into_iter().enumerate().map(of_budget).collect()
}

/// The noises of rows that have a variance each, and the noise of each unit.
fn noises_of_rows(level: &LevelMeasurements) -> Result<(Vec<Noise>, Vec<u32>)> {
    let mut found: HashMap<Vec<u64>, u32> = HashMap::new();
    let mut sigma2_of: HashMap<u64, f64> = HashMap::new();
    let (mut noises, mut noise_of) = (vec![], vec![]);
    for unit in 0..level.codes.len() {
        let mut sigma2 = vec![];
        for query in &level.queries {
            let variance = query.noise(unit).variance;
            if !variance.is_finite() || variance <= 0.0 {
                let cause = format!("unit `{}` of level `{}`", level.codes[unit], level.level);
                let allowed = "a finite number above 0";
                let hint = "what is exact has no noise, and is a constraint";
                return Err(Error::input("variance", format!("{variance}"), allowed, hint).at(cause));
            }
            let sigma2_at_least = match sigma2_of.get(&variance.to_bits()) {
                Some(sigma2) => *sigma2,
                None => sigma2_of_variance(variance)?.to_f64(),
            };
            sigma2_of.insert(variance.to_bits(), sigma2_at_least);
            sigma2.push(sigma2_at_least);
        }
        let key: Vec<u64> = sigma2.iter().map(|x: &f64| x.to_bits()).collect();
        let next = noises.len() as u32;
        noise_of.push(*found.entry(key).or_insert_with(|| {
            noises.push(Noise { sigma2, bypasses: false });
            next
        }));
    }
    // A unit that has the budget of levels below has less noise than others of its level.
    let queries = level.queries.len();
    let most: Vec<f64> =
        (0..queries).map(|q| noises.iter().map(|noise| noise.sigma2[q]).fold(0.0, f64::max)).collect();
    for noise in &mut noises {
        noise.bypasses = noise.sigma2.iter().zip(&most).any(|(sigma2, most)| *sigma2 < most * 0.999);
    }
    Ok((noises, noise_of))
}
