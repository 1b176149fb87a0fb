//! Panics of a library that meets a damaged file. They are the file's fault, and no reason to end.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// Whether this thread is in [`caught`].
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and turned into an error.
///
/// A panic hook asks this: such a panic is not to be reported, and not to end the process.
#[must_use]
pub fn is_caught() -> bool {
    CAUGHT.get()
}

/// What `f` returns, or nothing if it panics.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    CAUGHT.set(before);
    result.ok()
}

/// Panics where a test has asked for it. Such tests are of programs that are not released.
#[cfg(debug_assertions)]
pub(crate) fn injected(place: &str) {
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
