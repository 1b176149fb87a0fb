//! The line of a file at which something was found.

use std::fmt;
use std::ops::Range;

/// A line of a file, with the part at fault underlined when displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub(super) origin: String,
    line: usize,
    column: usize,
    /// What is shown of the line.
    shown: String,
    /// The part at fault, in characters of `shown`.
    underlined: Range<usize>,
}

impl Excerpt {
    /// Characters of a line that are shown at most.
    const WIDTH: usize = 80;

    pub(super) fn new(origin: &str, text: &str, span: Range<usize>) -> Excerpt {
        let floor =
            |at: usize| (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let (start, end) = (floor(span.start), floor(span.end));
        let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[first..].find('\n').map_or(text.len(), |at| first + at);
        let before = text[first..start].chars().count();
        let length = text[start..end.clamp(start, last.max(start))].chars().count().max(1);
        // A very long line is shown from a little before the place on.
        let cut = if before + length > Excerpt::WIDTH { before.saturating_sub(20) } else { 0 };
        let line = text[first..last].trim_end_matches('\r');
        let printable = |c: char| {
            if c == '\t' {
                ' '
            } else if c.is_control() {
                '\u{fffd}'
            } else {
                c
            }
        };
        let mut shown: String = if cut > 0 { "…".into() } else { String::new() };
        shown.extend(line.chars().skip(cut).take(Excerpt::WIDTH).map(printable));
        if line.chars().nth(cut + Excerpt::WIDTH).is_some() {
            shown.push('…');
        }
        let from = before - cut + usize::from(cut > 0);
        let to = (from + length).min(shown.chars().count().max(from + 1));
        Excerpt {
            origin: origin.into(),
            line: text[..start].matches('\n').count() + 1,
            column: before + 1,
            shown,
            underlined: from..to,
        }
    }

    /// The number of the line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The number of the first character at fault, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let (indent, line) = (" ".repeat(self.underlined.start), "^".repeat(self.underlined.len()));
        write!(f, "{margin} |\n{number} | {}\n{margin} | {indent}{line}", self.shown)
    }
}
