//! Estimates in memory, to be asked one after the other.

use unspent::{Error, Result, did_you_mean};

use super::answers::Estimated;
use super::estimation::Estimation;

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

/// Takes the code of a unit, a query and its answers.
pub type TakeUnit<'t> = dyn FnMut(&str, &str, &[Option<Estimated>]) + 't;

impl Estimates {
    /// The names of the levels, from the largest areas to the smallest.
    #[must_use]
    pub fn levels(&self) -> &[String] {
        &self.0.joined.levels
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

    /// What the answers of a query count, in words.
    #[must_use]
    pub fn labels(&self, query: &str) -> &[String] {
        self.0.joined.labels(query)
    }

    /// Hands on the answers for every unit of a level, to all queries or to one.
    pub fn units(&self, level: &str, query: Option<&str>, take: &mut TakeUnit<'_>) -> Result<()> {
        let at = self.levels().iter().position(|known| known == level).ok_or_else(|| {
            let names: Vec<&str> = self.levels().iter().map(String::as_str).collect();
            let allowed = format!("one of {}", names.join(", "));
            Error::input(
                "level",
                level,
                allowed,
                did_you_mean(level, names, "levels are those of the measurements"),
            )
        })?;
        let only: Vec<bool> =
            self.queries().map(|(name, _)| query.is_none_or(|wanted| wanted == name)).collect();
        if !only.contains(&true) {
            let names: Vec<&str> = self.queries().map(|(name, _)| name).collect();
            let allowed = format!("one of {}", names.join(", "));
            let wanted = query.unwrap_or_default();
            return Err(Error::input(
                "query",
                wanted,
                allowed,
                did_you_mean(wanted, names, "see the queries"),
            ));
        }
        self.0.each_unit(at, &only, take)
    }

    /// The answers for an area that was asked for.
    pub fn area(&self, name: &str) -> Result<Vec<AnswerRow>> {
        self.difference(name, None)
    }

    /// The answers for an area, less those for another.
    pub fn difference(&self, name: &str, without: Option<&str>) -> Result<Vec<AnswerRow>> {
        let nodes = self.0.area_nodes()?;
        let first = self.0.areas().find(name)?;
        let second = without.map(|name| self.0.areas().find(name)).transpose()?;
        let area = self.0.area(&nodes[first], second.map_or(&[], |at| &nodes[at]));
        let least = if second.is_some() { f64::NEG_INFINITY } else { 0.0 };
        let only = vec![true; self.0.questions.asked.len()];
        let mut rows = vec![];
        self.0.each_answer(&area, &only, least, &mut |query, cell, label, answer| {
            rows.push(AnswerRow { query: query.into(), cell, label: label.into(), answer });
        });
        Ok(rows)
    }
}
