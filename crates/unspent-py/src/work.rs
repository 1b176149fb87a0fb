//! Long work, which Ctrl-C must be able to end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use unspent::{Ask, Stop, Terms};

use crate::error::OrRaise;

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// The result of `work`, done on a thread of its own and without the GIL.
///
/// If a signal handler raises, that is raised at once, and the work told to stop.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> unspent::Result<T> + Send + 'static,
) -> PyResult<unspent::Result<T>> {
    let stop = Stop::new();
    let (sender, mut receiver) = sync_channel(1);
    let told = stop.clone();
    thread::Builder::new().name("unspent".into()).spawn(move || {
        // Whoever waited may have left.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(|| told.run(work))));
    })?;
    loop {
        let found;
        (found, receiver) = py.detach(move || (receiver.recv_timeout(PATIENCE), receiver));
        match found {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| stop.tell())?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
        }
    }
}

/// The answer to a question, which Ctrl-C can end.
pub fn asked<Q: Ask + Send + 'static>(py: Python<'_>, question: Q) -> PyResult<Q::Report>
where
    Q::Report: Send + 'static,
{
    interruptible(py, move || question.ask(&Terms::default()))?.or_raise(py)
}
