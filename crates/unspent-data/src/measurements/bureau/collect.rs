//! A whole dataset in memory: rows in any order, put into that of the units.

use std::collections::{BTreeMap, HashMap};

use unspent::{Error, Result};

use super::super::{ExactMeasurements, ExactValues, LevelMeasurements, QueryMeasurements, RowNoise};
use super::{BureauDataset, BureauRow, Part, Sign};

/// A dataset of the Bureau's noisy measurements, in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct BureauMeasurements {
    /// The name of the shipped schema of its product.
    pub schema: String,
    /// The noisy answers, from the largest areas to the smallest.
    pub levels: Vec<LevelMeasurements>,
    /// What was published exactly: the guarantees are for neighbours that agree on it.
    pub exact: Vec<ExactMeasurements>,
    /// What was published as bounds.
    pub bounds: Vec<LevelBounds>,
    /// What datasets of this product have and this one has not, as in `Prim.parquet/DPQuery`.
    pub missing: Vec<String>,
}

/// Bounds on the counts of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelBounds {
    /// The level.
    pub level: String,
    /// The codes of its units, also of those that are bypassed.
    pub codes: Vec<String>,
    /// The bounds.
    pub queries: Vec<BoundValues>,
}

/// Bounds on the answers to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundValues {
    /// The name of the constraint.
    pub name: String,
    /// Whether the true counts are at most or at least these.
    pub sign: Sign,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub shape: Vec<u32>,
    /// The bounds of all units, one unit after the other.
    pub values: Vec<i64>,
}

impl BureauDataset {
    /// Reads all of it. Units are sorted by code, queries are in the order of the schema.
    pub fn read(&self) -> Result<BureauMeasurements> {
        let (mut levels, mut exact, mut bounds) = (vec![], vec![], vec![]);
        for level in &self.levels {
            let name = level.name.clone();
            if level.files[Part::Noisy as usize].is_some() {
                let Collected { codes, queries } = self.collect(&name, Part::Noisy)?;
                let queries = queries.into_iter().map(Answers::into_query).collect::<Result<_>>();
                let queries = queries.map_err(|e| e.at(level.path.join("DPQuery").display()))?;
                levels.push(LevelMeasurements { level: name.clone(), codes, queries });
            }
            if level.files[Part::Constraint as usize].is_some() {
                let Collected { codes, queries } = self.collect(&name, Part::Constraint)?;
                let (equal, bound): (Vec<_>, Vec<_>) =
                    queries.into_iter().partition(|query| query.sign == Some(Sign::Equal));
                let values = |Answers { name, shape, values, .. }| ExactValues { name, shape, values };
                if !equal.is_empty() {
                    let queries = equal.into_iter().map(values).collect();
                    exact.push(ExactMeasurements { level: name.clone(), codes: codes.clone(), queries });
                }
                if !bound.is_empty() {
                    let queries = bound.into_iter().filter_map(Answers::into_bound).collect();
                    bounds.push(LevelBounds { level: name, codes, queries });
                }
            }
        }
        let (schema, missing) = (self.product.name.into(), self.missing.clone());
        Ok(BureauMeasurements { schema, levels, exact, bounds, missing })
    }

    fn collect(&self, level: &str, part: Part) -> Result<Collected> {
        let mut collector = Collector::default();
        self.rows(level, part, &mut |row| collector.add(&row))?;
        let folder = self.levels.iter().find(|known| known.name == level).map(|known| &known.path);
        let place = folder.map(|path| path.join(part.folder()).display().to_string()).unwrap_or_default();
        let mut collected = collector.finish().map_err(|error| error.at(place))?;
        let order = |query: &Answers| self.product.query(&query.name).unwrap_or(usize::MAX);
        collected.queries.sort_by_key(order);
        Ok(collected)
    }
}

/// The rows of a level so far.
#[derive(Default)]
struct Collector {
    /// By code, in the order in which they came.
    units: HashMap<String, u32>,
    queries: BTreeMap<String, Answers>,
}

/// The answers to a query so far.
struct Answers {
    name: String,
    shape: Vec<u32>,
    sign: Option<Sign>,
    /// The unit of each row.
    units: Vec<u32>,
    variances: Vec<f64>,
    values: Vec<i64>,
}

/// A level whose units are in order.
struct Collected {
    codes: Vec<String>,
    queries: Vec<Answers>,
}

impl Collector {
    fn add(&mut self, row: &BureauRow<'_>) -> Result<()> {
        let unit = match self.units.get(row.geocode) {
            Some(unit) => *unit,
            None => {
                let next = u32::try_from(self.units.len()).map_err(|_| {
                    Error::stated("more units than can be numbered", "read the rows one by one")
                })?;
                self.units.insert(row.geocode.into(), next);
                next
            }
        };
        if !self.queries.contains_key(row.query) {
            let (units, variances, values) = (vec![], vec![], vec![]);
            let (name, shape) = (row.query.to_string(), row.shape.to_vec());
            let new = Answers { name: name.clone(), shape, sign: row.sign, units, variances, values };
            self.queries.insert(name, new);
        }
        let query = self.queries.get_mut(row.query).expect("it is there now");
        if (&query.shape[..], query.sign) != (row.shape, row.sign) {
            return Err(Error::stated(
                format!(
                    "query `{}` of unit `{}`: differs in shape or sign from a row before",
                    query.name, row.geocode
                ),
                "a query is the same for all units of a level",
            ));
        }
        query.units.push(unit);
        query.variances.push(row.variance);
        query.values.extend_from_slice(row.values);
        Ok(())
    }

    /// Fails if a unit has a query twice or not at all.
    fn finish(self) -> Result<Collected> {
        let mut codes: Vec<(String, u32)> = self.units.into_iter().collect();
        codes.sort_unstable();
        // Where each unit goes.
        let mut place = vec![0; codes.len()];
        codes.iter().enumerate().for_each(|(i, (_, unit))| place[*unit as usize] = i);
        let codes: Vec<String> = codes.into_iter().map(|(code, _)| code).collect();
        let queries = self.queries.into_values().map(|query| query.in_order(&place, &codes));
        Ok(Collected { queries: queries.collect::<Result<_>>()?, codes })
    }
}

impl Answers {
    fn in_order(self, place: &[usize], codes: &[String]) -> Result<Answers> {
        let mut row_of: Vec<Option<usize>> = vec![None; codes.len()];
        for (row, unit) in self.units.iter().enumerate() {
            let unit = place[*unit as usize];
            if row_of[unit].replace(row).is_some() {
                return Err(Error::stated(
                    format!("unit `{}` has query `{}` twice", codes[unit], self.name),
                    "every unit has every query of its level once",
                ));
            }
        }
        if let Some(unit) = row_of.iter().position(Option::is_none) {
            return Err(Error::stated(
                format!("unit `{}` lacks query `{}`, which others have", codes[unit], self.name),
                "check that no file is missing; rows can be read one by one all the same",
            ));
        }
        let rows: Vec<usize> = row_of.into_iter().flatten().collect();
        if rows.is_sorted() {
            return Ok(self);
        }
        let length = self.values.len() / rows.len();
        let values = rows.iter().flat_map(|row| &self.values[row * length..][..length]).copied().collect();
        let variances = rows.iter().map(|row| self.variances[*row]).collect();
        Ok(Answers { values, variances, ..self })
    }

    fn into_query(self) -> Result<QueryMeasurements> {
        // The largest variance first, as it is that of the smallest budget.
        let mut distinct = self.variances.clone();
        distinct.sort_by(|a, b| b.total_cmp(a));
        distinct.dedup();
        if distinct.len() > usize::from(u16::MAX) {
            return Err(Error::stated(
                format!("query `{}` has {} different variances", self.name, distinct.len()),
                "a level has few; rows can be read one by one all the same",
            ));
        }
        let index = |variance: &f64| distinct.partition_point(|other| other > variance) as u16;
        let noise_of = self.variances.iter().map(index).collect();
        let noises = distinct.iter().map(|variance| RowNoise {
            sigma2: None,
            laplace: None,
            variance: *variance,
            rho: None,
        });
        let (name, shape, values) = (self.name, self.shape, self.values);
        Ok(QueryMeasurements { name, shape, noises: noises.collect(), noise_of, values })
    }

    fn into_bound(self) -> Option<BoundValues> {
        let Answers { name, sign, shape, values, .. } = self;
        Some(BoundValues { name, sign: sign?, shape, values })
    }
}
