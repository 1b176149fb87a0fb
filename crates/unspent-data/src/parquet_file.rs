//! Parquet files that may be damaged, or whose disk may be full.

use parquet::errors::ParquetError;
use unspent::{Error, Result};

use crate::panics;

/// What reading a file gives; a library that trips over a damaged one is no reason to end.
pub fn whole<T>(name: &str, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match panics::caught(read) {
        Some(read) => read.map_err(|error| {
            let hint = if error.to_string().contains("feature") {
                "write it with the compression snappy, or without"
            } else {
                "check that it is a whole Parquet file"
            };
            Error::stated(format!("{name}: cannot be read: {error}"), hint)
        }),
        None => Err(damaged(name)),
    }
}

/// A file whose parts do not fit together.
pub fn damaged(name: &str) -> Error {
    Error::stated(
        format!("{name}: cannot be read: lengths in it do not fit"),
        "check that it is a whole Parquet file",
    )
}

/// What the system says of a file that could not be written, without the library's words around it.
pub fn system_error(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast() {
            Ok(inner) => *inner,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    }
}
