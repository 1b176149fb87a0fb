//! One error type: it names the place, the value, what is allowed, and offers a hint.

use std::fmt;
use std::ops::Range;

/// Anything that can go wrong in this crate.
///
/// [`fmt::Display`] prints one line of cause; [`Error::hint`] is one line of advice. What was found
/// in a file is preceded by `file:line:column`, and [`Error::excerpt`] shows the line.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    cause: Cause,
    hint: String,
    excerpt: Option<Box<Excerpt>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Cause {
    Input {
        field: String,
        value: String,
        allowed: String,
    },
    Stated(String),
    Tolerance {
        quantity: String,
        asked: f64,
        achieved: f64,
    },
    Unreachable(String),
    Stopped(String),
    /// An input that quotes confidential data, and what is said instead.
    Concealed(String, Box<Cause>),
}

impl Cause {
    fn at(&mut self, place: &dyn fmt::Display) {
        match self {
            Cause::Input { field: text, .. }
            | Cause::Tolerance { quantity: text, .. }
            | Cause::Stated(text)
            | Cause::Unreachable(text)
            | Cause::Stopped(text) => *text = format!("{place}: {text}"),
            Cause::Concealed(text, cause) => {
                *text = format!("{place}: {text}");
                cause.at(place);
            }
        }
    }
}

/// Values quoted in messages are cut at this many characters.
const QUOTED: usize = 60;

fn quoted(value: &str) -> String {
    // Control characters would break the line, or colour the terminal.
    let value: String = value
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect();
    if value.chars().count() <= QUOTED {
        return value;
    }
    value.chars().take(QUOTED).collect::<String>() + "…"
}

impl Error {
    /// The input `field` was given as `value`; `allowed` says what it takes.
    pub fn input(
        field: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        let value = quoted(&value.to_string());
        Error {
            cause: Cause::Input { field: field.into(), value, allowed: allowed.into() },
            hint: hint.into(),
            excerpt: None,
        }
    }

    /// Something about the input as a whole is wrong: `cause` says what.
    pub fn stated(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { cause: Cause::Stated(cause.into()), hint: hint.into(), excerpt: None }
    }

    pub(crate) fn tolerance(quantity: impl Into<String>, asked: f64, achieved: f64) -> Error {
        let hint = if achieved.is_finite() {
            format!(
                "ask for a tolerance of {achieved:.1e} or more, or for none to get the bounds as they are"
            )
        } else {
            "ask for no tolerance to get the bounds as they are".into()
        };
        Error { cause: Cause::Tolerance { quantity: quantity.into(), asked, achieved }, hint, excerpt: None }
    }

    pub(crate) fn unreachable(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { cause: Cause::Unreachable(cause.into()), hint: hint.into(), excerpt: None }
    }

    /// The same error of something in a table of counts, which may be confidential: its value is not shown
    /// unless it is [`Error::revealed`].
    pub(crate) fn concealed(self) -> Error {
        match &self.cause {
            Cause::Input { field, allowed, .. } => {
                let cause = format!("{field}: is not {allowed}");
                self.concealed_as(cause)
            }
            _ => self,
        }
    }

    /// The same, said in other words.
    pub(crate) fn concealed_as(mut self, cause: impl Into<String>) -> Error {
        self.cause = Cause::Concealed(cause.into(), Box::new(self.cause));
        self
    }

    /// The same error with the values of a table, which may be confidential.
    #[must_use]
    pub fn revealed(mut self) -> Error {
        if let Cause::Concealed(_, cause) = self.cause {
            self.cause = *cause;
        }
        self
    }

    pub(crate) fn stopped(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { cause: Cause::Stopped(cause.into()), hint: hint.into(), excerpt: None }
    }

    /// The same error, quoting the value as it was written.
    pub(crate) fn quoting(mut self, text: &str) -> Error {
        if let Cause::Input { value, .. } = &mut self.cause {
            *value = quoted(text.trim());
        }
        self
    }

    /// The input at fault, if it is one: a field like `levels[2].share`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match &self.cause {
            Cause::Input { field, .. } => Some(field),
            _ => None,
        }
    }

    /// One line of advice.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The input is at fault: a value that cannot be read, is out of range, or makes no sense.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self.cause, Cause::Input { .. } | Cause::Stated(_) | Cause::Concealed(..))
    }

    /// Certified bounds exist but are wider than the tolerance that was asked for.
    #[must_use]
    pub fn is_tolerance(&self) -> bool {
        matches!(self.cause, Cause::Tolerance { .. })
    }

    /// The computation was [stopped](crate::stop), told to or because its time was up.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.cause, Cause::Stopped(_))
    }

    /// The same error with the name of its place put in front, as in `--mechanism #2: sigma2`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        self.cause.at(&place);
        self
    }

    /// The same error, found at `span` (in bytes) of the text called `origin`.
    pub(crate) fn found_in(mut self, origin: &str, text: &str, span: Range<usize>) -> Error {
        self.excerpt = Some(Box::new(Excerpt::new(origin, text, span)));
        self
    }

    /// The line at fault, if the error was found in a file.
    #[must_use]
    pub fn excerpt(&self) -> Option<&Excerpt> {
        self.excerpt.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Excerpt { origin, line, column, .. }) = self.excerpt() {
            write!(f, "{origin}:{line}:{column}: ")?;
        }
        match &self.cause {
            Cause::Input { field, value, allowed } => {
                write!(f, "{field}: `{value}` is not {allowed}")
            }
            Cause::Tolerance { quantity, asked, achieved } if achieved.is_finite() => write!(
                f,
                "{quantity}: the certified bounds are {achieved:.1e} wide relative to the value, wider than the tolerance {asked:.1e}"
            ),
            Cause::Tolerance { quantity, asked, .. } => write!(
                f,
                "{quantity}: the certified bounds reach down to 0, wider than any tolerance, {asked:.1e} was asked for"
            ),
            Cause::Stated(cause)
            | Cause::Unreachable(cause)
            | Cause::Stopped(cause)
            | Cause::Concealed(cause, _) => f.write_str(cause),
        }
    }
}

impl std::error::Error for Error {}

/// A line of a file, with the part at fault underlined when displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    origin: String,
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

    fn new(origin: &str, text: &str, span: Range<usize>) -> Excerpt {
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

/// `Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
