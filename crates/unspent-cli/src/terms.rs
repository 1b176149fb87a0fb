//! How much work an answer is worth, for all commands that ask the accountant.

use clap::Args;
use unspent::{Result, Terms};

/// How much work an answer is worth.
#[derive(Args)]
pub struct TermsArguments {
    /// How much work an answer is worth: fast, normal or thorough
    ///
    /// Every answer is certified. More work makes bounds narrower where the losses share no lattice.
    #[arg(long, value_name = "E", default_value = "normal")]
    effort: String,
}

impl TermsArguments {
    /// The terms of a question, without limits.
    pub fn terms(&self) -> Result<Terms> {
        Ok(Terms { effort: self.effort.parse()?, ..Terms::default() })
    }
}
