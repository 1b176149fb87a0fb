//! Units in, with the counts of their cells; units of all levels out, as soon as they are complete.
//!
//! ```text
//! Plan ────────────────────▶ Tabulation ─▶ Batch ────────▶ NoisyBatch
//! rows ─▶ Feed ─▶ units ───▶ (open units)  (exact counts)  (with noise)
//!         (any order)        (in order of code)
//! ```
//!
//! Units come sorted, so that one is complete when the next one begins: memory holds one open unit a level,
//! as the cells that are not empty, and one batch a level, however long the table is. Only a [`NoisyBatch`]
//! has values that can be read.

mod batch;
mod feed;
mod sparse;
#[cfg(test)]
mod tests;

use unspent::{Error, Result};

pub use self::batch::{Batch, NoisyBatch};
pub(crate) use self::feed::RowReader;
pub use self::feed::{Feed, RowOrder};
use self::sparse::Sparse;
use crate::codes::Codes;
pub use crate::codes::MAX_CODE;
use crate::plan::Plan;
use crate::units::Known;

/// Takes a batch that is full.
pub type TakeBatch<'b> = dyn FnMut(Batch) -> Result<()> + 'b;

/// Values at which a batch is cut: some 16 megabytes.
const BATCH: usize = 1 << 21;

/// The units that are being added up.
pub(crate) struct Tabulation<'p> {
    plan: &'p Plan,
    codes: Codes<'p>,
    /// The open unit of each level of the plan.
    open: Vec<Sparse>,
    /// How many units of the next level each of them has so far.
    children: Vec<u32>,
    /// The path of the last smallest unit, which is that of all units it lies in.
    path: usize,
    /// The public numbers of the last smallest unit.
    public: Vec<i64>,
    batches: Vec<Batch>,
    /// What is published exactly of each level of the plan.
    exact: Vec<Batch>,
    begun: bool,
    /// Values at which a batch is cut.
    limit: usize,
}

impl<'p> Tabulation<'p> {
    /// Nothing was read yet.
    pub(crate) fn new(plan: &'p Plan) -> Tabulation<'p> {
        Tabulation {
            plan,
            codes: Codes::new(plan),
            open: plan.levels().iter().map(|_| Sparse::default()).collect(),
            children: vec![0; plan.levels().len()],
            path: 0,
            public: vec![],
            batches: (0..plan.levels().len()).map(|level| Batch::new(plan, level, false)).collect(),
            exact: (0..plan.levels().len()).map(|level| Batch::new(plan, level, true)).collect(),
            begun: false,
            limit: BATCH,
        }
    }

    /// Adds a smallest unit: its codes in the order of the plan's columns, what is public of it, and the
    /// counts of its cells. Batches that are full go to `full`.
    pub(crate) fn unit(
        &mut self,
        codes: &[&str],
        known: Known<'_>,
        cells: &[(u64, i64)],
        full: &mut TakeBatch<'_>,
    ) -> Result<()> {
        let changed = self.codes.check(codes)?;
        if self.begun {
            self.close(changed, full)?;
        }
        self.codes.next(codes, changed)?;
        (self.path, self.begun) = (known.path, true);
        self.public.clear();
        self.public.extend_from_slice(known.public);
        if let Some(smallest) = self.open.last_mut() {
            smallest.add(cells.iter().copied()).ok_or_else(|| self.too_large(self.open.len() - 1))?;
        }
        Ok(())
    }

    /// No more units: hands over what is left.
    pub(crate) fn finish(mut self, full: &mut TakeBatch<'_>) -> Result<()> {
        if self.begun {
            self.close(0, full)?;
        }
        for batch in self.batches.into_iter().chain(self.exact) {
            if !batch.is_empty() {
                full(batch)?;
            }
        }
        Ok(())
    }

    /// Hands over the open units of the levels from `changed` down.
    fn close(&mut self, changed: usize, full: &mut TakeBatch<'_>) -> Result<()> {
        for (i, level) in self.plan.levels().iter().enumerate().rev() {
            if level.depth < changed {
                break;
            }
            let mut here = std::mem::take(&mut self.open[i]);
            let cells = here.entries().ok_or_else(|| self.too_large(i))?;
            let children = std::mem::take(&mut self.children[i]);
            if i > 0 {
                self.children[i - 1] += 1;
                self.open[i - 1].add(cells.iter().copied()).ok_or_else(|| self.too_large(i - 1))?;
            }
            // A unit that is bypassed is not measured; what is exact is exact for it too.
            let budget = self.plan.paths()[self.path][i];
            let exact = Some(0).filter(|_| !level.exact.is_empty());
            for (batches, budget) in [(&mut self.batches, budget), (&mut self.exact, exact)] {
                let Some(budget) = budget else { continue };
                let batch = &mut batches[i];
                let code = self.codes.at(level.depth);
                if batch.push(self.plan, code, budget as u8, children, cells, &self.public).is_none() {
                    return Err(too_large(self.plan, &self.codes, i));
                }
                if batch.size() >= self.limit {
                    let next = Batch::new(self.plan, i, batch.is_exact());
                    full(std::mem::replace(batch, next))?;
                }
            }
            here.clear();
            self.open[i] = here;
        }
        Ok(())
    }

    fn too_large(&self, level: usize) -> Error {
        too_large(self.plan, &self.codes, level)
    }
}

/// A sum of the open unit of a level of the plan is.
fn too_large(plan: &Plan, codes: &Codes<'_>, level: usize) -> Error {
    let level = &plan.levels()[level];
    let error = overflow(&format!("unit `{}` of level `{}`", codes.at(level.depth), level.name));
    error.concealed_as(overflow(&format!("the unit of level `{}`", level.name)).to_string())
}

pub(crate) fn overflow(what: &str) -> Error {
    Error::stated(format!("{what}: a sum exceeds 2^63 − 1"), "check the counts of the table")
}
