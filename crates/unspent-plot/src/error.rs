//! Why there is no picture.

use std::fmt;

/// Why there is no picture: what is no SVG, or has no size that a picture can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    cause: String,
}

impl Error {
    pub(crate) fn new(cause: impl Into<String>) -> Error {
        Error { cause: cause.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Error {}
