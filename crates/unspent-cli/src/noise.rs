//! Where noise comes from, for all commands that draw it.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::thread;

use clap::Args;
use unspent::Error;
use unspent::sampler::Key;

use crate::Failure;

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
    pub fn threads(&self) -> Result<NonZeroUsize, Failure> {
        let Some(text) = &self.threads else {
            return Ok(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
        };
        let threads = text.parse().ok().filter(|n: &NonZeroUsize| n.get() <= 1_024);
        threads.ok_or_else(|| {
            Error::input("--threads", text, "a whole number between 1 and 1024", "leave it out for all cores")
                .into()
        })
    }

    /// The key, and what to say of it if it is not private.
    pub fn key(&self) -> Result<(Key, Option<String>), Failure> {
        no_core_dumps();
        let Some(text) = &self.not_private_seed else { return Ok((Key::from_os()?, None)) };
        let seed: u64 = text.parse().map_err(|_| {
            let hint = "leave it out for private noise";
            Error::input("--not-private-seed", text, "a whole number between 0 and 2^64 − 1", hint)
        })?;
        let warning = Key::not_private_warning(seed);
        let _ = writeln!(io::stderr(), "warning: {warning}");
        Ok((Key::not_private(seed), Some(warning)))
    }
}

/// A process with a key in its memory does not write that to a disk when it crashes, and is not looked into by
/// others of its user. Where the system has no such thing, it is without.
fn no_core_dumps() {
    #[cfg(unix)]
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}
