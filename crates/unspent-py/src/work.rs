//! Long work, which Ctrl-C must be able to end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Told when nobody waits for the answer any more.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The result of `work`, done on a thread of its own and without the GIL.
///
/// If a signal handler raises, that is raised at once. Work that does not look at `Stop` then goes on
/// unseen until it is done.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let told = Arc::new(AtomicBool::new(false));
    let stop = Stop(told.clone());
    let (sender, mut receiver) = sync_channel(1);
    thread::Builder::new().name("unspent".into()).spawn(move || {
        // Whoever waited may have left.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(&stop))));
    })?;
    loop {
        let found;
        (found, receiver) = py.detach(move || (receiver.recv_timeout(PATIENCE), receiver));
        match found {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                told.store(true, Ordering::Relaxed);
            })?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
        }
    }
}
