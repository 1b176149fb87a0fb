//! What happens when a defect shows: of this program, which then ends and leaves nothing half-written; or of a
//! library that meets a damaged file, which is the file's fault.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Failure, directory, report_failure};

thread_local! {
    /// Whether this thread is in [`caught`].
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a table of counts was opened.
static CONFIDENTIAL: AtomicBool = AtomicBool::new(false);

/// From now on a defect is one line of cause and one of hint, in whatever thread it shows.
pub fn report() {
    panic::set_hook(Box::new(|defect| {
        if CAUGHT.get() {
            return;
        }
        // No destructor runs: the process ends here.
        directory::abandon();
        report_failure(&Failure::other(
            format!("a defect of unspent: {}", in_words(defect.location(), defect.payload())),
            "no answer is better than a wrong one; please report the command line",
        ));
        std::process::exit(1);
    }));
}

fn in_words(place: Option<&Location<'_>>, payload: &dyn Any) -> String {
    let place = place.map_or_else(|| "somewhere".into(), ToString::to_string);
    let words = match (payload.downcast_ref::<&'static str>(), payload.downcast_ref::<String>()) {
        (Some(words), _) => *words,
        // What is put together may quote a count.
        (_, Some(words)) if !CONFIDENTIAL.load(Ordering::Relaxed) => words,
        _ => "(what it says may be confidential, and is not shown)",
    };
    format!("panicked at {place}: {}", words.replace('\n', " "))
}

/// From now on nothing that could quote a table is shown.
pub fn hide_values() {
    CONFIDENTIAL.store(true, Ordering::Relaxed);
}

/// What `f` returns; nothing if it panics, which is then not reported.
pub fn caught<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    CAUGHT.set(before);
    result.ok()
}

/// Panics where a test has asked for it; such tests are of programs that are not released.
#[cfg(debug_assertions)]
pub fn injected(place: &str) {
    let Ok(asked) = std::env::var("UNSPENT_TEST_PANIC") else { return };
    if asked == place {
        panic!("injected");
    }
    if let (Ok(after), "start") = (asked.parse(), place) {
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(after));
            panic!("injected");
        });
    }
}
