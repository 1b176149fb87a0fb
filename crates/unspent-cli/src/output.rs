//! Where answers go: to stdout, or into files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::PathBuf;

use clap::Args;

use unspent_data::directory;

use crate::{Failure, terminal};

pub use unspent::report::columns::csv;
pub use unspent::report::printable;

/// How a report is written to stdout.
#[derive(Args)]
#[group(id = "format", multiple = false)]
pub struct Format {
    /// Writes one line of JSON, with 17 digits
    #[arg(long)]
    pub json: bool,

    /// Writes Markdown
    #[arg(long)]
    pub markdown: bool,

    /// Writes comma-separated values, with 17 digits
    #[arg(long)]
    pub csv: bool,
}

/// One line of JSON.
pub fn json(report: &impl serde::Serialize) -> String {
    serde_json::to_string(report).expect("strings, numbers and lists") + "\n"
}

/// Writes to stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    stream(|stdout| stdout.write_all(text.as_bytes()))
}

/// Says on stdout what was written elsewhere, unless that is not wanted.
pub fn confirm(text: &str) -> Result<(), Failure> {
    if terminal::is_quiet() { Ok(()) } else { print(text) }
}

/// Writes to stdout, some at a time; a reader that has seen enough is not an error.
pub fn stream(write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(io::stdout().lock());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::other(
            format!("the output could not be written: {error}"),
            "check that there is space and permission to write",
        )),
        Ok(()) => Ok(()),
    }
}

/// A file to be written, checked before anything is computed.
pub struct Target {
    path: PathBuf,
    force: bool,
}

impl Target {
    /// A path whose extension is one of those given, in a directory that exists; the file must not exist,
    /// unless `force` says that it may be replaced.
    pub fn new(flag: &str, path: &str, extensions: &[&str], force: bool) -> Result<Target, Failure> {
        let path = PathBuf::from(path);
        let shown = path.display();
        let target = Target { path: path.clone(), force };
        if !extensions.contains(&target.extension().as_str()) {
            return Err(Failure::usage(
                format!("{flag}: `{shown}` does not end in .{}", extensions.join(", ."),),
                "the extension says what to write",
            ));
        }
        if path.is_dir() {
            return Err(Failure::usage(format!("{flag}: `{shown}` is a directory"), "name a file in it"));
        }
        directory::check_parent(&path).map_err(|error| error.at(flag))?;
        if path.exists() && !force {
            return Err(exists(&format!("{flag}: `{shown}`")));
        }
        Ok(target)
    }

    /// The extension, in small letters.
    pub fn extension(&self) -> String {
        self.path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
    }

    /// Writes the file.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_with(|file| file.write_all(bytes))
    }

    /// Writes all of it under another name first, so that the file is there whole or not at all.
    pub fn write_with(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Failure> {
        let may_replace = || {
            // Somebody else may have made the file in the meantime.
            if self.path.exists() && !self.force { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(()) }
        };
        directory::write_file(&self.path, write, may_replace).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                return exists(&self.path.display().to_string());
            }
            directory::failed(&self.path, error).into()
        })
    }
}

/// Something is there already, and may stay.
pub fn exists(what: &str) -> Failure {
    Failure::usage(format!("{what} exists already"), "add --force to replace it, or choose another name")
}
