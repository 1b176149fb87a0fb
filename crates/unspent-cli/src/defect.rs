//! What happens when a defect of this program shows, or Ctrl-C is pressed: it ends, and leaves nothing
//! half-written.

use std::any::Any;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, Location};
use std::sync::atomic::{AtomicBool, Ordering};

use unspent_data::{directory, panics};

use crate::{Failure, report_failure};

/// Whether a table of counts was opened.
static CONFIDENTIAL: AtomicBool = AtomicBool::new(false);

/// From now on a defect is one line of cause and one of hint, in whatever thread it shows.
pub fn report() {
    panic::set_hook(Box::new(|defect| {
        // A library that meets a damaged file: the file's fault.
        if panics::is_caught() {
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

/// From now on a run that is interrupted leaves nothing behind, and the cursor on a line of its own.
pub fn on_interrupt() {
    // Where it cannot be set, an interrupt is what the system makes of it.
    let _ = ctrlc::set_handler(|| {
        directory::abandon();
        if io::stderr().is_terminal() {
            let _ = writeln!(io::stderr());
        }
        std::process::exit(130);
    });
}
