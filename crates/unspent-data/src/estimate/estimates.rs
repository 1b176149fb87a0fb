//! Estimates in memory, to be asked one after the other.

use unspent::schema::Schema;
use unspent::{Error, Result};
use unspent_estimate::Accuracy;

use super::WholeTables;
use super::answers::Estimated;
use super::areas::AreaName;
use super::estimation::Estimation;
use super::replicates::{self, TableErrors};
use super::tables;
use super::whole::{self, LookAtFamily, Whole};
use crate::names::one_of;
use crate::progress::Progress;

/// What was estimated.
pub struct Estimates(pub(super) Estimation);

/// An answer of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerRow {
    /// The query or sum of cells.
    pub query: String,
    /// The number of the answer, from 0.
    pub cell: usize,
    /// What it counts, in words.
    pub label: String,
    /// The estimate; none if the measurements do not determine it.
    pub answer: Option<Estimated>,
}

/// An answer for an area less that for another.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceRow {
    /// The difference.
    pub difference: AnswerRow,
    /// The covariance of the two answers; none if one of them is not determined.
    pub covariance: Option<f64>,
}

/// A ratio in an area.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioRow {
    /// The area; for a unit its level and its code.
    pub name: AreaName,
    /// The ratio, as it was asked for.
    pub ratio: String,
    /// The estimate; none if it is not determined.
    pub value: Option<f64>,
    /// The normal interval; none if it is not bounded, or no ratio is near enough.
    pub normal: Option<(f64, f64)>,
    /// The guaranteed one.
    pub guaranteed: Option<(f64, f64)>,
    /// Why an interval is missing.
    pub note: String,
}

/// Whole tables of all units.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The name of each level, and its units by their codes: the code of a unit, the numbers
    /// of its cells that are not empty among all combinations of values, ascending, and their counts.
    pub levels: Vec<(String, Vec<UnitCells>)>,
    /// The largest gap of a projection, as a share of its cost.
    pub largest_gap: f64,
}

/// The code of a unit, and its cells that are not empty.
pub type UnitCells = (String, Vec<(u32, i64)>);

impl Tables {
    /// The units of a level.
    pub fn level(&self, name: &str) -> Result<&[UnitCells]> {
        let levels = self.levels.iter().map(|(level, _)| level.as_str());
        let at = one_of("level", name, levels, "levels are those of the measurements")?;
        Ok(&self.levels[at].1)
    }
}

/// Takes the code of a unit, a query and its answers.
pub type TakeUnit<'t> = dyn FnMut(&str, &str, &[Option<Estimated>]) + 't;

impl Estimates {
    /// The names of the levels, from the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[String] {
        &self.0.joined.levels
    }

    /// Which values attributes have.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.0.joined.schema
    }

    /// The queries and sums that are answered, and how many values each of their attributes has.
    pub fn queries(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.0.questions.asked.iter().map(|asked| (asked.name.as_str(), &asked.shape[..]))
    }

    /// What must be said of the noise.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.0.warning()
    }

    /// How precise the estimates are, by level and query.
    #[must_use]
    pub fn accuracy(&self) -> Accuracy {
        self.0.accuracy()
    }

    /// What the answers of a query count, in words.
    #[must_use]
    pub fn labels(&self, query: &str) -> &[String] {
        self.0.joined.labels(query)
    }

    /// Fails unless the query or sum is answered.
    pub fn check_query(&self, query: &str) -> Result<()> {
        one_of("query", query, self.queries().map(|(name, _)| name), "see the queries").map(|_| ())
    }

    /// Hands on the answers for every unit of a level, to all queries or to one.
    pub fn units(&self, level: &str, query: Option<&str>, take: &mut TakeUnit<'_>) -> Result<()> {
        let levels = self.levels().iter().map(String::as_str);
        let at = one_of("level", level, levels, "levels are those of the measurements")?;
        query.map_or(Ok(()), |query| self.check_query(query))?;
        let only: Vec<bool> =
            self.queries().map(|(name, _)| query.is_none_or(|wanted| wanted == name)).collect();
        self.0.each_unit(at, &only, take)
    }

    /// The areas that were asked for.
    #[must_use]
    pub fn areas(&self) -> &[AreaName] {
        &self.0.areas().areas
    }

    /// The answers for an area that was asked for.
    pub fn area(&self, name: &str) -> Result<Vec<AnswerRow>> {
        let nodes = self.0.area_nodes()?;
        let area = self.0.area(&nodes[self.0.areas().find(name)?], &[]);
        Ok(self.0.answers(&area, &self.all(), 0.0))
    }

    /// The answers for an area, less those for another.
    pub fn difference(&self, name: &str, without: &str) -> Result<Vec<DifferenceRow>> {
        let nodes = self.0.area_nodes()?;
        let (a, b) = (self.0.areas().find(name)?, self.0.areas().find(without)?);
        Ok(self.0.difference(&nodes[a], &nodes[b], &self.all()))
    }

    /// Fails unless a ratio is one of two sums.
    pub fn check_ratio(&self, ratio: &str) -> Result<()> {
        tables::ratio_sums(&self.0, ratio).map(|_| ())
    }

    /// Ratios of two sums in every area, and in every unit above the smallest level.
    pub fn ratios(&self, ratios: &[String]) -> Result<Vec<RatioRow>> {
        tables::ratio_rows(&self.0, &self.0.area_nodes()?, ratios)
    }

    /// Whole tables that add up, if they were asked for with the estimates.
    pub fn tables(&self, progress: &mut dyn Progress) -> Result<Tables> {
        self.tables_of(&|_, _| (), progress)
    }

    /// The same; `look` is called for each family of units, on several threads, before it is solved.
    pub fn tables_of(&self, look: &LookAtFamily<'_>, progress: &mut dyn Progress) -> Result<Tables> {
        whole::tables_of(&self.0, self.wanted()?, look, progress).map(|found| self.numbered(found))
    }

    /// Whole tables, and how far they may be from the truth if replicates were asked for.
    pub fn tables_and_errors(&self, progress: &mut dyn Progress) -> Result<(Tables, Option<TableErrors>)> {
        let question = self.wanted()?;
        replicates::check(&self.0, question)?;
        let found = whole::tables(&self.0, question, progress)?;
        let errors = replicates::of_tables(&self.0, &found, question, progress)?;
        Ok((self.numbered(found), errors))
    }

    /// What was asked of whole tables.
    fn wanted(&self) -> Result<&WholeTables> {
        let hint = "ask for tables when estimates are made";
        let without = || Error::stated("these estimates were made without whole tables", hint);
        self.0.tables.as_ref().ok_or_else(without)
    }

    /// Tables by the numbers of their cells.
    pub(super) fn numbered(&self, found: Whole) -> Tables {
        let space = self.0.joined.model.space();
        let of_level = |(name, units): (&String, Vec<whole::UnitTable>)| {
            let unit = |unit: whole::UnitTable| (unit.code, Whole::numbered(space, &unit.table));
            (name.clone(), units.into_iter().map(unit).collect())
        };
        let levels = self.levels().iter().zip(found.levels).map(of_level).collect();
        Tables { levels, largest_gap: found.quality.largest_gap }
    }

    fn all(&self) -> Vec<bool> {
        vec![true; self.0.questions.asked.len()]
    }
}
