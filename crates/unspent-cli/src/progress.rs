//! How far a long run is: a line that is written over, on a terminal; nothing in a pipe.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::terminal::{self, Colour};

/// A line on stderr.
pub struct Progress {
    shown: bool,
    started: Instant,
    last: Option<Instant>,
    /// What is being done, and since when.
    doing: Option<(&'static str, Instant)>,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn new() -> Progress {
        let shown = io::stderr().is_terminal() && !terminal::is_quiet();
        Progress { shown, started: Instant::now(), last: None, doing: None }
    }

    /// What is being done.
    pub fn step(&mut self, name: &str) {
        self.line(&format!("{name} …"));
    }

    fn line(&self, text: &str) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }
}

impl unspent_data::Progress for Progress {
    /// A few times a second.
    fn rows(&mut self, rows: u64, part: Option<f64>) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(100)) {
            return;
        }
        self.last = Some(Instant::now());
        let elapsed = self.started.elapsed().as_secs_f64().max(1e-3);
        self.line(&bar(rows, elapsed, part));
    }

    fn done(&mut self, what: &'static str, done: u64, all: u64) {
        let begun = self.doing.filter(|(known, _)| *known == what);
        let started = begun.map_or_else(Instant::now, |(_, started)| started);
        self.doing = Some((what, started));
        // What begins is always shown: nothing may follow for minutes.
        let recent = self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(100));
        if !self.shown || (recent && begun.is_some()) {
            return;
        }
        self.last = Some(Instant::now());
        let part = done as f64 / all.max(1) as f64;
        let text = format!("{done} of {all} {what}");
        self.line(&with_bar(part, started.elapsed().as_secs_f64(), &text));
    }

    fn warning(&mut self, text: &str) {
        self.line("");
        let _ = writeln!(io::stderr(), "{} {text}", terminal::label("warning", Colour::Yellow));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line("");
    }
}

fn bar(rows: u64, elapsed: f64, part: Option<f64>) -> String {
    let rate = format!("{} rows, {} a second", short(rows as f64), short(rows as f64 / elapsed));
    match part {
        Some(part) => with_bar(part, elapsed, &rate),
        None => rate,
    }
}

fn with_bar(part: f64, elapsed: f64, text: &str) -> String {
    let part = part.clamp(0.0, 1.0);
    let full = (part * 24.0).round() as usize;
    let (done, rest) = ("█".repeat(full), "·".repeat(24 - full));
    // Before anything is done, nobody knows how long it takes.
    let left = match part > 0.0 {
        true => format!(", {:.0} s left", elapsed * (1.0 - part) / part),
        false => String::new(),
    };
    format!("[{done}{rest}] {:3.0} %  {text}{left}", 100.0 * part)
}

/// `12`, `3.4 k`, `1.2 M`.
fn short(x: f64) -> String {
    match x {
        x if x < 1e3 => format!("{x:.0}"),
        x if x < 1e6 => format!("{:.1} k", x / 1e3),
        x if x < 1e9 => format!("{:.1} M", x / 1e6),
        x => format!("{:.1} G", x / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_far_how_fast_and_how_long() {
        assert_eq!(
            bar(1_500_000, 3.0, Some(0.25)),
            "[██████··················]  25 %  1.5 M rows, 500.0 k a second, 9 s left"
        );
        assert_eq!(bar(10, 1.0, None), "10 rows, 10 a second");
        assert_eq!(with_bar(0.0, 5.0, "0 of 3 units"), "[························]   0 %  0 of 3 units");
    }
}
