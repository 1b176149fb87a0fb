//! Measurements that are kept in memory.

use std::sync::Mutex;

use unspent::Result;

use super::{ExactMeasurements, LevelMeasurements, QueryMeasurements};
use crate::manifest::{self, ExactEntry, LevelEntry};
use crate::plan::Plan;
use crate::run::Sink;
use crate::tabulation::NoisyBatch;

/// The batches of each level, by their numbers: with noise, and exact.
pub(crate) struct Memory(Vec<[Mutex<Vec<Option<NoisyBatch>>>; 2]>);

/// All that was kept, and what the manifest says of it: there are no files.
pub(crate) struct Kept {
    pub(crate) entries: Vec<LevelEntry>,
    pub(crate) exact_entries: Vec<ExactEntry>,
    pub(crate) levels: Vec<LevelMeasurements>,
    pub(crate) exact: Vec<ExactMeasurements>,
}

impl Memory {
    pub(crate) fn new(plan: &Plan) -> Memory {
        Memory(plan.levels().iter().map(|_| Default::default()).collect())
    }

    /// All levels.
    pub(crate) fn into_levels(self, plan: &Plan) -> Kept {
        let folders = manifest::folders(plan);
        let mut kept = Kept { entries: vec![], exact_entries: vec![], levels: vec![], exact: vec![] };
        for ((level, [noisy, exact]), folder) in plan.levels().iter().zip(self.0).zip(folders) {
            let batch = joined(noisy, level.queries.len());
            let mut units = vec![0; level.budgets.len()];
            batch.budgets.iter().for_each(|budget| units[usize::from(*budget)] += 1);
            let entry = LevelEntry::new(level, folder.clone(), &units, vec![]);
            let mut queries = QueryMeasurements::of_level(&entry);
            for (query, values) in queries.iter_mut().zip(batch.values) {
                let noise_of = batch.budgets.iter().map(|budget| u16::from(*budget)).collect();
                (query.noise_of, query.values) = (noise_of, values);
            }
            kept.levels.push(LevelMeasurements { level: level.name.clone(), codes: batch.codes, queries });
            kept.entries.push(entry);
            if !level.exact.is_empty() {
                let batch = joined(exact, level.exact.len());
                let units = batch.codes.len() as u64;
                let entry = ExactEntry::new(level, format!("exact-{folder}"), units, vec![]);
                kept.exact.push(ExactMeasurements::new(&entry, batch.codes, batch.values));
                kept.exact_entries.push(entry);
            }
        }
        kept
    }
}

/// All batches as one.
fn joined(batches: Mutex<Vec<Option<NoisyBatch>>>, queries: usize) -> NoisyBatch {
    let values = vec![vec![]; queries];
    let mut all = NoisyBatch { level: 0, exact: false, codes: vec![], budgets: vec![], values };
    for mut batch in batches.into_inner().expect("not poisoned").into_iter().flatten() {
        all.codes.append(&mut batch.codes);
        all.budgets.append(&mut batch.budgets);
        for (all, more) in all.values.iter_mut().zip(batch.values) {
            all.extend(more);
        }
    }
    all
}

impl Sink for Memory {
    fn put(&self, batch: NoisyBatch, part: usize) -> Result<()> {
        let mut batches = self.0[batch.level][usize::from(batch.exact)].lock().expect("not poisoned");
        if batches.len() <= part {
            batches.resize_with(part + 1, || None);
        }
        batches[part] = Some(batch);
        Ok(())
    }
}
