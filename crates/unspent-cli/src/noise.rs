//! Where noise comes from, for all commands that draw it.

use std::num::NonZeroUsize;

use clap::Args;
use unspent::{Error, Result};
use unspent_data::{NoiseSource, all_cores};

/// Where noise comes from.
#[derive(Args)]
pub struct NoiseArguments {
    /// How many threads; as many as there are cores unless given
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<String>,

    /// Noise that anyone can repeat: for tests and demonstrations
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    not_private_seed: Option<String>,
}

impl NoiseArguments {
    /// How many threads.
    pub fn threads(&self) -> Result<NonZeroUsize> {
        let Some(text) = &self.threads else { return Ok(all_cores()) };
        let threads = text.parse().ok().filter(|n: &NonZeroUsize| n.get() <= 1_024);
        threads.ok_or_else(|| {
            Error::input("--threads", text, "a whole number between 1 and 1024", "leave it out for all cores")
        })
    }

    /// Where it comes from.
    pub fn source(&self) -> Result<NoiseSource> {
        let Some(text) = &self.not_private_seed else { return Ok(NoiseSource::Private) };
        text.parse().map(NoiseSource::NotPrivate).map_err(|_| {
            let hint = "leave it out for private noise";
            Error::input("--not-private-seed", text, "a whole number between 0 and 2^64 − 1", hint)
        })
    }
}
