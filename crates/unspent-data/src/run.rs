//! A run: one thread reads and tabulates, all add the noise and put it where it goes.
//!
//! ```text
//! table ─▶ Tabulation ─▶ Batch ─▶ noise ─▶ Sink
//! (one thread reads)              (any thread)
//! ```

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use unspent::{Error, ErrorKind, Result};

use crate::noise::Noises;
use crate::progress::Progress;
use crate::table::Table;
use crate::tabulation::{Batch, Feed, NoisyBatch};

/// As many threads as there are cores.
#[must_use]
pub fn all_cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Takes noisy batches, from any thread.
pub(crate) trait Sink: Sync {
    /// Takes one; `part` is its number among those of its level.
    fn put(&self, batch: NoisyBatch, part: usize) -> Result<()>;
}

/// A batch that is to be noised.
struct Job {
    batch: Batch,
    /// Its number among those of its level.
    part: usize,
}

/// Why a run ends early.
enum End {
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
}

/// A run in progress, shared by its threads.
struct Run<'r> {
    noises: &'r Noises,
    sink: &'r dyn Sink,
    /// The first thing that went wrong.
    end: Mutex<Option<End>>,
}

/// Reads the table into `feed`, of a plan of so many levels, and gives every batch to `sink`, with noise;
/// returns the number of rows.
///
/// A panic of any thread, and a [stop](unspent::stop) of this one, end all of them and go on from here.
pub(crate) fn run(
    feed: Feed<'_>,
    levels: usize,
    table: Table,
    noises: &Noises,
    threads: NonZeroUsize,
    sink: &dyn Sink,
    progress: &mut dyn Progress,
) -> Result<u64> {
    let run = Run { noises, sink, end: Mutex::new(None) };
    let workers = threads.get() - 1;
    let rows = thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Job>(workers);
        let receiver = std::sync::Arc::new(Mutex::new(receiver));
        for _ in 0..workers {
            let (run, receiver) = (&run, receiver.clone());
            scope.spawn(move || run.work(&receiver));
        }
        let mut parts = vec![[0; 2]; levels];
        let mut full = |batch: Batch| {
            let number = &mut parts[batch.level()][usize::from(batch.is_exact())];
            let part = *number;
            *number += 1;
            let job = Job { batch, part };
            // The thread that reads lends a hand where the others have enough to do.
            match sender.try_send(job) {
                Ok(()) => {}
                Err(TrySendError::Full(job)) => return run.write(job),
                Err(TrySendError::Disconnected(_)) => {
                    unreachable!("workers go on until there are no more jobs")
                }
            }
            // Whatever is read from now on would be in vain.
            match *run.end() {
                None => Ok(()),
                Some(_) => Err(Error::of_kind(ErrorKind::Io, "writing failed", "")),
            }
        };
        let mut feed = feed;
        table.rows(progress, &mut |row| feed.row(row, &mut full))?;
        feed.finish(&mut full)
    });
    // What went wrong first is why nothing was read any more.
    match run.end.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => rows,
        Some(End::Failed(error)) => Err(error),
        Some(End::Panicked(panic)) => resume_unwind(panic),
    }
}

impl Run<'_> {
    fn work(&self, jobs: &Mutex<Receiver<Job>>) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            if self.end().is_some() {
                continue;
            }
            let ended = match catch_unwind(AssertUnwindSafe(|| self.write(job))) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => End::Failed(error),
                // Whoever reads must not wait for a worker that is gone.
                Err(panic) => End::Panicked(panic),
            };
            self.end().get_or_insert(ended);
        }
    }

    /// Adds the noise, and hands it on.
    fn write(&self, job: Job) -> Result<()> {
        self.sink.put(job.batch.with_noise(self.noises)?, job.part)
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use unspent::Allocation;
    use unspent::sampler::ReleaseKey;

    use super::*;
    use crate::plan::Plan;
    use crate::progress::Quiet;
    use crate::table::{Columns, Input};
    use crate::tabulation::RowOrder;

    /// Does something of its own with every batch.
    struct Does(fn(usize) -> Result<()>);

    impl Sink for Does {
        fn put(&self, batch: NoisyBatch, part: usize) -> Result<()> {
            assert_eq!(part, 0, "a batch a level");
            (self.0)(batch.level)
        }
    }

    /// Six levels, each with a batch.
    fn run_with(threads: usize, does: fn(usize) -> Result<()>) -> Result<u64> {
        let mut text = String::from("name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n");
        (0..6).for_each(|i| {
            text += &format!("[[levels]]\nname = \"{i}\"\nsigma2 = {{ total = 5 }}\n");
        });
        text += "[table]\ncode = \"code\"\ncells = [{ column = \"n\" }]\n[table.levels]\n";
        (0..6).for_each(|i| text += &format!("{i} = {i}\n"));
        let plan = Plan::of(&Allocation::parse("x.toml", &text)?)?;
        let columns = Columns::new(vec![
            ("code".into(), vec!["11111".to_string(), "11112".into()].into()),
            ("n".into(), vec![3, 4].into()),
        ])?;
        let table = Table::open(Input::Columns(columns), plan.columns())?;
        let noises = Noises::new(&plan, &ReleaseKey::not_private(1))?;
        let threads = NonZeroUsize::new(threads).unwrap();
        let feed = Feed::new("table", &plan, None, false, RowOrder::Any)?;
        run(feed, plan.levels().len(), table, &noises, threads, &Does(does), &mut Quiet)
    }

    /// More batches than can wait: nobody waits for a worker that is gone.
    #[test]
    fn a_worker_that_fails_or_panics_ends_the_run() {
        for threads in [1, 2, 4] {
            assert_eq!(run_with(threads, |_| Ok(())), Ok(2));
            let failed = run_with(threads, |level| match level {
                3 => Err(Error::of_kind(ErrorKind::Io, "the disk is full", "")),
                _ => Ok(()),
            });
            assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
            let panicked = catch_unwind(|| run_with(threads, |_| resume_unwind(Box::new("a defect"))));
            assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"a defect"));
        }
    }
}
