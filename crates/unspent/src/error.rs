//! One error type: it names the place, the value, what is allowed, and offers a hint.

use std::fmt;

/// Anything that can go wrong in this crate.
///
/// [`fmt::Display`] prints one line of cause; [`Error::hint`] is one line of advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    cause: Cause,
    hint: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Cause {
    Input { field: String, value: String, allowed: String },
    Tolerance { quantity: String, asked: f64, achieved: f64 },
    Unreachable(String),
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
        }
    }

    pub(crate) fn tolerance(quantity: impl Into<String>, asked: f64, achieved: f64) -> Error {
        let hint = if achieved.is_finite() {
            format!(
                "ask for a tolerance of {achieved:.1e} or more, or for none to get the bounds as they are"
            )
        } else {
            "ask for no tolerance to get the bounds as they are".into()
        };
        Error { cause: Cause::Tolerance { quantity: quantity.into(), asked, achieved }, hint }
    }

    pub(crate) fn unreachable(cause: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { cause: Cause::Unreachable(cause.into()), hint: hint.into() }
    }

    /// The same error, quoting the value as it was written.
    pub(crate) fn quoting(mut self, text: &str) -> Error {
        if let Cause::Input { value, .. } = &mut self.cause {
            *value = quoted(text.trim());
        }
        self
    }

    /// One line of advice.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The input is at fault: a value that cannot be read, is out of range, or makes no sense.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self.cause, Cause::Input { .. })
    }

    /// Certified bounds exist but are wider than the tolerance that was asked for.
    #[must_use]
    pub fn is_tolerance(&self) -> bool {
        matches!(self.cause, Cause::Tolerance { .. })
    }

    /// The same error with the name of its place put in front, as in `--mechanism #2: sigma2`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Error {
        match &mut self.cause {
            Cause::Input { field, .. } => *field = format!("{place}: {field}"),
            Cause::Tolerance { quantity, .. } => *quantity = format!("{place}: {quantity}"),
            Cause::Unreachable(cause) => *cause = format!("{place}: {cause}"),
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            Cause::Unreachable(cause) => f.write_str(cause),
        }
    }
}

impl std::error::Error for Error {}

/// `Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
