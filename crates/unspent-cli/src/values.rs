//! What messages say of a table.

use clap::Args;
use unspent::{Error, Result};

use crate::{Failure, defect};

/// Whether messages show values of a table.
#[derive(Args)]
pub struct Values {
    /// Shows values of the table in error messages
    ///
    /// Messages then have confidential data. Without it they name the line and the column.
    #[arg(long = "show-values")]
    shown: bool,
}

impl Values {
    /// Reads a table; from then on not even a defect shows what is in it.
    pub fn hiding<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.shown {
            defect::hide_values();
        }
        read()
    }

    /// An error of a table.
    pub fn failure(&self, error: Error) -> Failure {
        if self.shown { error.revealed().into() } else { error.into() }
    }
}
