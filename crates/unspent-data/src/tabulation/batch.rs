//! Complete units of a level. Exact counts cannot be read outside; they leave with noise on them, by type.

use unspent::Result;
use unspent::sampler::Draws;
use zeroize::Zeroizing;

use crate::plan::Plan;

/// Complete units of a level, with exact counts: not to be published, and not to be read outside.
pub struct Batch {
    level: usize,
    codes: Vec<String>,
    /// For each query, the values of all units one after the other.
    values: Vec<Vec<i64>>,
    /// All values of all queries.
    size: usize,
}

/// Complete units of a level, with noise on every value.
pub struct NoisyBatch {
    /// Index into [`Plan::levels`].
    pub level: usize,
    /// The codes of the units.
    pub codes: Vec<String>,
    /// For each query, the values of all units one after the other.
    pub values: Vec<Vec<i64>>,
}

impl Batch {
    pub(super) fn new(plan: &Plan, level: usize) -> Batch {
        let values = plan.levels()[level].queries.iter().map(|_| vec![]).collect();
        Batch { level, codes: vec![], values, size: 0 }
    }

    /// Adds a unit: the sums that its queries ask for. Nothing if one is too large.
    pub(super) fn push(&mut self, plan: &Plan, code: &str, cells: &[i64]) -> Option<()> {
        self.codes.push(code.into());
        for (values, query) in self.values.iter_mut().zip(&plan.levels()[self.level].queries) {
            let start = values.len();
            values.resize(start + query.length(), 0);
            self.size += query.length();
            let unit = &mut values[start..];
            let mut all = 0;
            for (cell, value) in cells.iter().zip(&query.value_of) {
                let sum = &mut unit[*value as usize];
                *sum = sum.wrapping_add(*cell);
                all |= *sum;
            }
            if all < 0 {
                return None;
            }
        }
        Some(())
    }

    /// Index into [`Plan::levels`].
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// How many values there are, of all queries.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many values each query has.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.values.iter().map(Vec::len)
    }

    #[cfg(test)]
    pub(super) fn codes(&self) -> &[String] {
        &self.codes
    }

    /// The exact values of a query, for what is computed of them here and is not private.
    pub(crate) fn exact(&self, query: usize) -> &[i64] {
        &self.values[query]
    }

    /// Adds the draws that were taken for it.
    pub fn with_noise(self, draws: Vec<Draws>) -> Result<NoisyBatch> {
        assert_eq!(draws.len(), self.values.len(), "draws for each query");
        let mut values = self.values;
        // As much as is needed at once, so that no copy is left where it has grown from.
        let longest = values.iter().map(Vec::len).max().unwrap_or(0);
        let mut noise = Zeroizing::new(Vec::with_capacity(longest));
        for (values, draws) in values.iter_mut().zip(draws) {
            noise.resize(values.len(), 0);
            draws.fill(&mut noise)?;
            for (value, noise) in values.iter_mut().zip(noise.iter()) {
                *value =
                    value.checked_add(*noise).ok_or_else(|| super::overflow("a count with its noise"))?;
            }
        }
        Ok(NoisyBatch { level: self.level, codes: self.codes, values })
    }
}
