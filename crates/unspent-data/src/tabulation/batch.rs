//! Complete units of a level. Exact counts cannot be read outside; they leave with noise on them, by type.

use unspent::Result;
use unspent::sampler::AddressedNoise;
use zeroize::Zeroizing;

use crate::noise::Noises;
use crate::plan::{Plan, PlannedQuery};

/// Complete units of a level, with exact counts: not to be published, and not to be read outside.
pub struct Batch {
    level: usize,
    /// Whether the allocation says that its values are published exactly.
    exact: bool,
    codes: Vec<String>,
    /// Which of the level's budgets each unit has.
    budgets: Vec<u8>,
    /// How many units of the plan's next level each has.
    children: Vec<u32>,
    /// For each query, where the counts are among the values of all units one after the other that are not 0.
    /// A place may come several times.
    counts: Vec<Vec<(usize, i64)>>,
    /// How many values each query has in a unit.
    lengths: Vec<usize>,
}

/// Complete units of a level, with noise on every value, or with values that the allocation says are
/// published exactly.
pub struct NoisyBatch {
    /// Index into [`Plan::levels`].
    pub level: usize,
    /// Whether the values are exact.
    pub exact: bool,
    /// The codes of the units.
    pub codes: Vec<String>,
    /// Which of the level's budgets each unit has.
    pub budgets: Vec<u8>,
    /// For each query, the values of all units one after the other.
    pub values: Vec<Vec<i64>>,
}

fn queries(plan: &Plan, level: usize, exact: bool) -> &[PlannedQuery] {
    let level = &plan.levels()[level];
    if exact { &level.exact } else { &level.queries }
}

impl Batch {
    pub(crate) fn new(plan: &Plan, level: usize, exact: bool) -> Batch {
        let queries = queries(plan, level, exact);
        Batch {
            level,
            exact,
            codes: vec![],
            budgets: vec![],
            children: vec![],
            counts: queries.iter().map(|_| vec![]).collect(),
            lengths: queries.iter().map(|query| query.length()).collect(),
        }
    }

    /// Adds a unit: the sums that its queries ask for, and its public numbers. Nothing if a sum is too large.
    pub(crate) fn push(
        &mut self,
        plan: &Plan,
        code: &str,
        budget: u8,
        children: u32,
        cells: &[(u64, i64)],
        public: &[i64],
    ) -> Option<()> {
        // No sum of cells is larger than that of all.
        cells.iter().try_fold(0i64, |sum, (_, count)| sum.checked_add(*count))?;
        let unit = self.codes.len();
        self.codes.push(code.into());
        self.budgets.push(budget);
        self.children.push(children);
        let queries = queries(plan, self.level, self.exact);
        for ((query, counts), length) in queries.iter().zip(&mut self.counts).zip(&self.lengths) {
            let numbers = query.public.clone().map_or(&[][..], |at| &public[at]);
            counts.extend(numbers.iter().enumerate().map(|(place, n)| (unit * length + place, *n)));
        }
        let mut values = vec![];
        for (cell, count) in cells {
            plan.cells().values(*cell, &mut values);
            for ((query, counts), length) in queries.iter().zip(&mut self.counts).zip(&self.lengths) {
                let Some(place) = query.place(&values) else { continue };
                let place = unit * length + place;
                match counts.last_mut() {
                    Some((last, sum)) if *last == place => *sum += count,
                    _ => counts.push((place, *count)),
                }
            }
        }
        Some(())
    }

    /// Index into [`Plan::levels`].
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// How many units of the plan's next level each unit has: which units there are is public.
    pub(crate) fn children(&self) -> &[u32] {
        &self.children
    }

    /// Whether its values are published exactly, so that it needs no draws.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// How many values there are, of all queries.
    pub(super) fn size(&self) -> usize {
        self.codes.len() * self.lengths.iter().sum::<usize>()
    }

    /// The codes of the units, which are public.
    pub(crate) fn codes(&self) -> &[String] {
        &self.codes
    }

    /// The exact values of a query, for what is computed of them here and is not private, or is declared to
    /// be published exactly.
    pub(crate) fn exact(&self, query: usize) -> Vec<i64> {
        let mut values = vec![0; self.codes.len() * self.lengths[query]];
        self.counts[query].iter().for_each(|(place, count)| values[*place] += count);
        values
    }

    /// Adds the noise of its units.
    pub fn with_noise(self, noises: &Noises) -> Result<NoisyBatch> {
        if self.exact {
            let values = (0..self.counts.len()).map(|query| self.exact(query)).collect();
            let (level, exact) = (self.level, true);
            return Ok(NoisyBatch { level, exact, codes: self.codes, budgets: self.budgets, values });
        }
        let noises = noises.at(self.level);
        assert_eq!(noises.len(), self.counts.len(), "noise for each query");
        let mut all = vec![];
        for ((counts, noises), length) in self.counts.iter().zip(noises).zip(&self.lengths) {
            let mut values = Zeroizing::new(vec![0; self.codes.len() * length]);
            self.fill(noises, *length, &mut values);
            for (place, count) in counts {
                let value = &mut values[*place];
                *value =
                    value.checked_add(*count).ok_or_else(|| super::overflow("a count with its noise"))?;
            }
            all.push(std::mem::take(&mut *values));
        }
        let (level, exact) = (self.level, false);
        Ok(NoisyBatch { level, exact, codes: self.codes, budgets: self.budgets, values: all })
    }

    /// Puts the noise of each budget into the values of its units.
    fn fill(&self, noises: &[AddressedNoise], length: usize, values: &mut [i64]) {
        for (budget, noise) in noises.iter().enumerate() {
            let ours = || self.budgets.iter().enumerate().filter(|(_, of)| usize::from(**of) == budget);
            let (count, all) = (ours().count(), self.codes.len());
            if count == all {
                noise.fill(self.codes.iter().map(String::as_bytes), length, values);
                continue;
            }
            // As much as is needed at once, so that no copy is left where it has grown from.
            let mut made = Zeroizing::new(vec![0; count * length]);
            noise.fill(ours().map(|(unit, _)| self.codes[unit].as_bytes()), length, &mut made);
            for ((unit, _), made) in ours().zip(made.chunks_exact(length)) {
                values[unit * length..][..length].copy_from_slice(made);
            }
        }
    }
}
