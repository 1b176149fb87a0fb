//! Measurements that are kept in memory.

use std::sync::Mutex;

use unspent::Result;

use super::{LevelMeasurements, QueryMeasurements};
use crate::manifest::{self, LevelEntry};
use crate::plan::Plan;
use crate::run::Sink;
use crate::tabulation::NoisyBatch;

/// The batches of each level, by their numbers.
pub(crate) struct Memory(Vec<Mutex<Vec<Option<NoisyBatch>>>>);

impl Memory {
    pub(crate) fn new(plan: &Plan) -> Memory {
        Memory(plan.levels().iter().map(|_| Mutex::default()).collect())
    }

    /// All levels, and what the manifest says of them: there are no files.
    pub(crate) fn into_levels(self, plan: &Plan) -> (Vec<LevelEntry>, Vec<LevelMeasurements>) {
        let folders = manifest::folders(plan);
        let (mut entries, mut levels) = (vec![], vec![]);
        for ((level, batches), folder) in plan.levels().iter().zip(self.0).zip(folders) {
            let batches = batches.into_inner().expect("not poisoned").into_iter().flatten();
            let (mut codes, mut values) = (vec![], vec![vec![]; level.queries.len()]);
            for mut batch in batches {
                codes.append(&mut batch.codes);
                for (all, more) in values.iter_mut().zip(batch.values) {
                    all.extend(more);
                }
            }
            let entry = LevelEntry::new(level, folder, codes.len() as u64, vec![]);
            let queries = entry
                .queries
                .iter()
                .zip(values)
                .map(|(query, values)| QueryMeasurements { values, ..QueryMeasurements::new(query) })
                .collect();
            levels.push(LevelMeasurements { level: level.name.clone(), codes, queries });
            entries.push(entry);
        }
        (entries, levels)
    }
}

impl Sink for Memory {
    fn put(&self, batch: NoisyBatch, part: usize) -> Result<()> {
        let mut batches = self.0[batch.level].lock().expect("not poisoned");
        if batches.len() <= part {
            batches.resize_with(part + 1, || None);
        }
        batches[part] = Some(batch);
        Ok(())
    }
}
