//! One door for noisy measurements of both kinds: directories that this library wrote, and the Bureau's.

use std::path::Path;

use unspent::{Rational, Result};

use super::bureau::{BureauDataset, BureauMeasurements, BureauOptions, LevelBounds, Part};
use super::intervals::{LevelIntervals, level_intervals};
use super::{ExactMeasurements, LevelMeasurements, Measurements, Reader, RowNoise};
use crate::manifest::{self, Manifest};
use crate::names::one_of;

/// Noisy measurements of either kind that were opened, to be read row by row or all at once.
#[derive(Clone, Debug)]
pub enum Source {
    /// A directory with a manifest.
    Own(Reader),
    /// A dataset that the Census Bureau published.
    Bureau(BureauDataset),
}

/// Noisy measurements of either kind, in memory.
#[derive(Clone, Debug)]
pub enum AnyMeasurements {
    /// From a directory with a manifest.
    Own(Box<Measurements>),
    /// From a dataset that the Census Bureau published.
    Bureau(BureauMeasurements),
}

/// A query, asked of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyRow<'r> {
    /// The level.
    pub level: &'r str,
    /// The code of the unit.
    pub geocode: &'r str,
    /// The name of the query.
    pub query: &'r str,
    /// The noisy counts.
    pub values: &'r [i64],
    /// The noise on each.
    pub noise: &'r RowNoise,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    /// Those of this level; of all, if there is none.
    pub level: Option<String>,
    /// Those of this query; of all, if there is none.
    pub query: Option<String>,
}

/// Reads noisy measurements: a directory with a manifest, or a dataset of the Census Bureau.
pub fn read_any(path: &Path) -> Result<AnyMeasurements> {
    Source::open(path)?.read()
}

impl Source {
    /// Opens a directory with a manifest, or a dataset of the Census Bureau.
    pub fn open(path: &Path) -> Result<Source> {
        if path.join(manifest::FILE).exists() {
            return Ok(Source::Own(Reader::open(path)?));
        }
        Ok(Source::Bureau(BureauDataset::open(path, &BureauOptions::default())?))
    }

    /// Reads all of it.
    pub fn read(&self) -> Result<AnyMeasurements> {
        Ok(match self {
            Source::Own(reader) => AnyMeasurements::Own(reader.read_all()?.into()),
            Source::Bureau(dataset) => AnyMeasurements::Bureau(dataset.read()?),
        })
    }

    /// What must be said of its noise, if that is known not to be private.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        match self {
            Source::Own(reader) => reader.manifest().warning.as_deref(),
            Source::Bureau(_) => None,
        }
    }

    /// Fails if a level or a query is wanted that is not there.
    pub fn check(&self, only: &Only) -> Result<()> {
        let known = |field: &str, wanted: &Option<String>, names: Vec<&str>| match wanted {
            Some(name) => one_of(field, name, names, "names are written as in the measurements").map(|_| ()),
            None => Ok(()),
        };
        known("level", &only.level, self.levels())?;
        known("query", &only.query, self.queries(only))
    }

    fn levels(&self) -> Vec<&str> {
        match self {
            Source::Own(reader) => {
                reader.manifest().levels.iter().map(|level| level.level.as_str()).collect()
            }
            Source::Bureau(dataset) => dataset.levels().collect(),
        }
    }

    /// Those of the levels that are wanted. What a level of the Bureau's has is known only once it is read.
    fn queries(&self, only: &Only) -> Vec<&str> {
        match self {
            Source::Own(reader) => {
                let levels = reader.manifest().levels.iter().filter(|level| only.wants_level(&level.level));
                let mut names = vec![];
                for query in levels.flat_map(|level| &level.queries) {
                    if !names.contains(&query.query_name.as_str()) {
                        names.push(query.query_name.as_str());
                    }
                }
                names
            }
            Source::Bureau(dataset) => dataset.queries().collect(),
        }
    }

    /// Hands on the rows that are wanted, as they come.
    pub fn rows(&self, only: &Only, take: &mut dyn FnMut(NoisyRow<'_>) -> Result<()>) -> Result<()> {
        self.check(only)?;
        for level in self.levels().into_iter().filter(|level| only.wants_level(level)) {
            match self {
                Source::Own(reader) => own_rows(reader, level, only, take)?,
                Source::Bureau(dataset) => dataset.rows(level, Part::Noisy, &mut |row| {
                    if !only.wants_query(row.query) {
                        return Ok(());
                    }
                    let noise = RowNoise { sigma2: None, laplace: None, variance: row.variance, rho: None };
                    let (geocode, query, values) = (row.geocode, row.query, row.values);
                    take(NoisyRow { level, geocode, query, values, noise: &noise })
                })?,
            }
        }
        Ok(())
    }
}

fn own_rows(
    reader: &Reader,
    level: &str,
    only: &Only,
    take: &mut dyn FnMut(NoisyRow<'_>) -> Result<()>,
) -> Result<()> {
    let Some(entry) = reader.manifest().levels.iter().find(|entry| entry.level == level) else {
        return Ok(());
    };
    let of_budget = |noises: Vec<_>| noises.into_iter().map(RowNoise::from).collect();
    let noises: Vec<Vec<RowNoise>> = entry.noises().into_iter().map(of_budget).collect();
    reader.units(entry, &mut |unit, budget| {
        let rows = unit.iter().zip(&noises[usize::from(budget)]);
        for (row, noise) in rows.filter(|(row, _)| only.wants_query(row.query)) {
            let (geocode, query, values) = (row.geocode, row.query, row.values);
            take(NoisyRow { level, geocode, query, values, noise })?;
        }
        Ok(())
    })
}

impl Only {
    fn wants_level(&self, level: &str) -> bool {
        self.level.as_ref().is_none_or(|wanted| wanted == level)
    }

    fn wants_query(&self, query: &str) -> bool {
        self.query.as_ref().is_none_or(|wanted| wanted == query)
    }
}

impl AnyMeasurements {
    /// What was released; the Bureau's files do not say it.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            AnyMeasurements::Own(found) => Some(&found.manifest),
            AnyMeasurements::Bureau(_) => None,
        }
    }

    /// The noisy answers, from the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[LevelMeasurements] {
        match self {
            AnyMeasurements::Own(found) => &found.levels,
            AnyMeasurements::Bureau(found) => &found.levels,
        }
    }

    /// What was published exactly.
    #[must_use]
    pub fn exact(&self) -> &[ExactMeasurements] {
        match self {
            AnyMeasurements::Own(found) => &found.exact,
            AnyMeasurements::Bureau(found) => &found.exact,
        }
    }

    /// What was published as bounds.
    #[must_use]
    pub fn bounds(&self) -> &[LevelBounds] {
        match self {
            AnyMeasurements::Own(_) => &[],
            AnyMeasurements::Bureau(found) => &found.bounds,
        }
    }

    /// A confidence interval for every noisy count. The confidence is above 0 and below 1.
    pub fn intervals(&self, confidence: &Rational) -> Result<Vec<LevelIntervals>> {
        level_intervals(self.levels(), confidence)
    }
}
