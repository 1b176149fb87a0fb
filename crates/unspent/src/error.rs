//! One error type: it names the place, the value, what is allowed, and offers a hint.
//!
//! The library does not know who asks. A hint never names a flag of the command or an argument of Python:
//! where a front end has its own way to give what is missing, it looks at the [`ErrorKind`] and says so.

mod excerpt;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use excerpt::Excerpt;

/// What went wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A value that cannot be read, is out of range, or makes no sense.
    Input,
    /// No δ was given and the allocation states none.
    NoDelta,
    /// No ε was given to keep and the allocation states none.
    NoPromise,
    /// Nothing says how a table of counts is read.
    NoTable,
    /// Nothing says which units there are.
    NoUnits,
    /// The queries of a level have different noise, and none of them was named.
    NoQuery,
    /// No level was named, and none is known whose noise the areas get.
    NoLevel,
    /// Nothing says how wide the noise of a level is.
    NoVariance,
    /// A preset of that name does not exist.
    NoPreset,
    /// There is no allocation file at that path, or what is there is none.
    NoAllocation,
    /// Two releases have different neighbours and cannot be composed.
    OtherNeighbours,
    /// The allocation is too large or its fractions are too long for an editor.
    TooLarge,
    /// Certified bounds exist but are wider than the tolerance that was asked for.
    Tolerance,
    /// No answer could be certified.
    NotCertified,
    /// The operating system gave no random bytes, or the noise was already drawn.
    NoNoise,
    /// A file that was named cannot be read.
    Unreadable,
    /// What is to be written is there already, or cannot be where it is to be.
    Output,
    /// An ε that an allocation states is not certified to be kept.
    PromiseNotKept,
    /// Reading or writing failed.
    Io,
    /// The computation was [stopped](crate::stop), told to or because its time was up.
    Stopped,
}

/// Anything that can go wrong in this crate.
///
/// [`fmt::Display`] prints one line of cause; [`Error::hint`] is one line of advice. What was found
/// in a file is preceded by `file:line:column`, and [`Error::excerpt`] shows the line.
#[derive(Clone, Debug)]
pub struct Error(Box<Said>);

/// What an error says; on the heap, so that results stay small.
#[derive(Clone, Debug)]
struct Said {
    kind: ErrorKind,
    cause: Cause,
    hint: String,
    excerpt: Option<Box<Excerpt>>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Two errors are equal if they say the same.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        (self.0.kind, &self.0.cause, &self.0.hint, &self.0.excerpt)
            == (other.0.kind, &other.0.cause, &other.0.hint, &other.0.excerpt)
    }
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
    /// An input that quotes confidential data, and what is said instead.
    Concealed(String, Box<Cause>),
}

impl Cause {
    fn at(&mut self, place: &dyn fmt::Display) {
        self.prefixed(&format!("{place}: "));
    }

    fn inside(&mut self, field: &dyn fmt::Display) {
        self.prefixed(&format!("{field}."));
    }

    fn prefixed(&mut self, prefix: &str) {
        match self {
            Cause::Input { field: text, .. }
            | Cause::Tolerance { quantity: text, .. }
            | Cause::Stated(text) => text.insert_str(0, prefix),
            Cause::Concealed(text, cause) => {
                text.insert_str(0, prefix);
                cause.prefixed(prefix);
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
    fn new(kind: ErrorKind, cause: Cause, hint: impl Into<String>) -> Error {
        Error(Box::new(Said { kind, cause, hint: hint.into(), excerpt: None, source: None }))
    }

    /// An error of that kind; `cause` says what is wrong.
    pub fn of_kind(kind: ErrorKind, cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::new(kind, Cause::Stated(cause.into()), hint)
    }

    /// The input `field` was given as `value`; `allowed` says what it takes.
    pub fn input(
        field: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        let value = quoted(&value.to_string());
        Error::new(
            ErrorKind::Input,
            Cause::Input { field: field.into(), value, allowed: allowed.into() },
            hint,
        )
    }

    /// Something about the input as a whole is wrong: `cause` says what.
    pub fn stated(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::of_kind(ErrorKind::Input, cause, hint)
    }

    /// Reading or writing failed; `cause` says what of, and `source` why.
    pub fn io(
        cause: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
        hint: impl Into<String>,
    ) -> Error {
        let mut error = Error::of_kind(ErrorKind::Io, cause, hint);
        error.0.source = Some(Arc::new(source));
        error
    }

    pub(crate) fn tolerance(quantity: impl Into<String>, asked: f64, achieved: f64) -> Error {
        let hint = if achieved.is_finite() {
            format!(
                "ask for a tolerance of {achieved:.1e} or more, or for none to get the bounds as they are"
            )
        } else {
            "ask for no tolerance to get the bounds as they are".into()
        };
        let cause = Cause::Tolerance { quantity: quantity.into(), asked, achieved };
        Error::new(ErrorKind::Tolerance, cause, hint)
    }

    /// No answer could be certified.
    pub(crate) fn not_certified(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::of_kind(ErrorKind::NotCertified, cause, hint)
    }

    pub(crate) fn stopped(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::of_kind(ErrorKind::Stopped, cause, hint)
    }

    /// The same error of something in a table of counts, which may be confidential: its value is not shown
    /// unless it is [`Error::revealed`].
    #[must_use]
    pub fn concealed(self) -> Error {
        match &self.0.cause {
            Cause::Input { field, allowed, .. } => {
                let cause = format!("{field}: is not {allowed}");
                self.concealed_as(cause)
            }
            _ => self,
        }
    }

    /// The same, said in other words.
    #[must_use]
    pub fn concealed_as(mut self, cause: impl Into<String>) -> Error {
        let shown = std::mem::replace(&mut self.0.cause, Cause::Stated(String::new()));
        self.0.cause = Cause::Concealed(cause.into(), Box::new(shown));
        self
    }

    /// The same error with the values of a table, which may be confidential.
    #[must_use]
    pub fn revealed(mut self) -> Error {
        if let Cause::Concealed(_, cause) = &mut self.0.cause {
            let shown = std::mem::replace(&mut **cause, Cause::Stated(String::new()));
            self.0.cause = shown;
        }
        self
    }

    /// The same error, quoting the value as it was written.
    pub(crate) fn quoting(mut self, text: &str) -> Error {
        if let Cause::Input { value, .. } = &mut self.0.cause {
            *value = quoted(text.trim());
        }
        self
    }

    /// The same error as one of another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self
    }

    /// The same error with another hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = hint.into();
        self
    }

    /// What went wrong, for programs.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The input at fault, if it is one: a field like `levels[2].share`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match &self.0.cause {
            Cause::Input { field, .. } => Some(field),
            _ => None,
        }
    }

    /// The name of the input at fault without its place: `scale` of `laplace: scale`.
    pub(crate) fn name(&self) -> Option<&str> {
        self.field()?.rsplit(": ").next()
    }

    /// One line of advice.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// Whether the input is at fault, and not what was done with it.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(
            self.0.kind,
            ErrorKind::Tolerance
                | ErrorKind::NotCertified
                | ErrorKind::NoNoise
                | ErrorKind::Io
                | ErrorKind::Stopped
        )
    }

    /// Certified bounds exist but are wider than the tolerance that was asked for.
    #[must_use]
    pub fn is_tolerance(&self) -> bool {
        self.0.kind == ErrorKind::Tolerance
    }

    /// The computation was [stopped](crate::stop), told to or because its time was up.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.kind == ErrorKind::Stopped
    }

    /// The same error with the name of its place put in front, as in `mechanism 2: sigma2`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        self.0.cause.at(&place);
        self
    }

    /// The same error of a field inside another: `share` inside `levels[2]` is `levels[2].share`.
    #[must_use]
    pub fn inside(mut self, field: impl fmt::Display) -> Error {
        self.0.cause.inside(&field);
        self
    }

    /// The same error, found at `span` (in bytes) of the text called `origin`.
    pub(crate) fn found_in(mut self, origin: &str, text: &str, span: Range<usize>) -> Error {
        self.0.excerpt = Some(Box::new(Excerpt::new(origin, text, span)));
        self
    }

    /// The same error without the line at fault: for a text that a program made, which nobody has seen.
    #[must_use]
    pub fn without_excerpt(mut self) -> Error {
        self.0.excerpt = None;
        self
    }

    /// The line at fault, if the error was found in a file.
    #[must_use]
    pub fn excerpt(&self) -> Option<&Excerpt> {
        self.0.excerpt.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(excerpt) = self.excerpt() {
            write!(f, "{}:{}:{}: ", excerpt.origin, excerpt.line(), excerpt.column())?;
        }
        match &self.0.cause {
            Cause::Input { field, value, allowed } => {
                write!(f, "{field}: `{value}` is not {allowed}")
            }
            Cause::Tolerance { quantity, asked, achieved } if achieved.is_finite() => write!(
                f,
                "{quantity}: the certified bounds are {achieved:.1e} wide relative to the value, wider than \
                 the tolerance {asked:.1e}"
            ),
            Cause::Tolerance { quantity, asked, .. } => write!(
                f,
                "{quantity}: the certified bounds reach down to 0, wider than any tolerance, {asked:.1e} was \
                 asked for"
            ),
            Cause::Stated(cause) | Cause::Concealed(cause, _) => f.write_str(cause),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// `Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
