//! Allocations as text: files, tables of budgets, presets, and drafts that are edited.
//!
//! ```text
//! TOML, CSV, draft ─▶ values with their place ─▶ AllocationBuilder ─▶ Allocation ─▶ TOML that reads back
//! ```
//!
//! Each reader knows where a value stands; the rules are the builder's.

mod also;
mod csv;
mod digest;
mod draft;
mod laplace;
mod layout;
mod limits;
mod new;
mod offer;
mod preset;
mod production;
pub mod reader;
mod schema;
mod toml;
mod write;

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub use digest::{FileDigest, Hashed};
pub use draft::{
    Draft, DraftAlso, DraftInvariant, DraftLaplace, DraftLevel, DraftProduction, DraftQuery, DraftShare,
};
pub use new::{Outline, OutlineBudget};
pub use offer::OFFER_KEYS;
pub use preset::Preset;
pub use write::quoted;

use crate::allocation::{Allocation, MAX_DIGITS, Neighbours};
use crate::error::{Error, ErrorKind, Result};
use crate::mechanism::Stated;
use crate::number::Rational;

/// Largest file accepted. Ten thousand queries take about one megabyte.
const MAX_BYTES: u64 = 16 << 20;

impl Allocation {
    /// Reads a file: a table of budgets if its name ends in `.csv`, TOML otherwise.
    ///
    /// A table of budgets cannot say what its neighbours are, so `neighbours` must; a TOML file says
    /// it, so it must not.
    pub fn read(path: &Path, neighbours: Option<Neighbours>) -> Result<Allocation> {
        Allocation::read_with_digest(path, neighbours).map(|(allocation, _)| allocation)
    }

    /// The same, and which file it was.
    pub fn read_with_digest(path: &Path, neighbours: Option<Neighbours>) -> Result<(Allocation, FileDigest)> {
        let text = read_allocation(path)?;
        let name = shown(path);
        let allocation = Allocation::parse_beside(&name, &text, neighbours, path.parent())?;
        Ok((allocation, FileDigest::of(&name, &text)))
    }

    /// Reads the text of a file of that name: a table of budgets if it ends in `.csv`, TOML otherwise.
    ///
    /// It is no file, so that it can name shipped schemas only.
    pub fn parse_named(name: &str, text: &str, neighbours: Option<Neighbours>) -> Result<Allocation> {
        Allocation::parse_beside(name, text, neighbours, None)
    }

    fn parse_beside(
        name: &str,
        text: &str,
        neighbours: Option<Neighbours>,
        beside: Option<&Path>,
    ) -> Result<Allocation> {
        // Of what has no name, whoever says what the neighbours are says that it is a table.
        let is_table = Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"))
            || name == STDIN && neighbours.is_some();
        match (is_table, neighbours) {
            (true, Some(neighbours)) => Allocation::parse_csv(name, text, neighbours),
            (true, None) => Err(Error::stated(
                format!("{name}: a table of budgets does not say what its neighbours are"),
                format!("say it beside the table: {}", Neighbours::MEANING),
            )),
            (false, Some(_)) => Err(Error::stated(
                format!("{name}: the file itself says what its neighbours are"),
                "leave them out; only tables, whose names end in .csv, need to be told",
            )),
            (false, None) => Allocation::parse_toml(name, text, beside),
        }
    }
}

/// The text of an allocation file.
fn read_allocation(path: &Path) -> Result<String> {
    let hint = "an allocation file is a short text; every preset is one";
    read_text(path, hint, "check the path").map_err(|e| e.at(shown(path)))
}

/// What messages call the standard input.
const STDIN: &str = "stdin";

/// Whether a path is that of the standard input, `-`.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// What messages call a file.
#[must_use]
pub fn shown(path: &Path) -> String {
    if is_stdin(path) { STDIN.into() } else { path.display().to_string() }
}

/// The standard input, which can be read once: whoever comes second would find nothing.
pub fn stdin() -> io::Result<io::Stdin> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    match TAKEN.swap(true, Ordering::Relaxed) {
        false => Ok(io::stdin()),
        true => Err(io::Error::other("the standard input was read already; give one of them as a file")),
    }
}

/// Opens a file, or the standard input for `-`.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if is_stdin(path) { Box::new(stdin()?) } else { Box::new(File::open(path)?) })
}

/// σ² of noise that is stated as this number in a file.
///
/// The square of a deviation has twice its digits, and is what is written into files.
fn stated_sigma2(stated: Stated, number: Rational) -> Result<Rational> {
    let sigma2 = stated.sigma2(number)?;
    if stated != Stated::Sigma2 && sigma2.to_decimal_or_fraction().len() > MAX_DIGITS {
        let allowed = format!("a number whose square has at most {MAX_DIGITS} characters");
        return Err(Error::input(stated.name(), "", allowed, "shorten the fraction"));
    }
    Ok(sigma2)
}

/// The text of a short file; `hint` is what to say if it is none, `missing` if there is no such file.
pub fn read_text(path: &Path, hint: &str, missing: &str) -> Result<String> {
    let refuse = |what: String| Error::of_kind(ErrorKind::NoAllocation, what, hint);
    let failed = |error: io::Error| {
        let (kind, hint) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorKind::NoAllocation, missing),
            io::ErrorKind::PermissionDenied => (ErrorKind::Input, "check that you may read it"),
            _ => (ErrorKind::Input, "check that it is a file that can be read"),
        };
        let cause = format!("cannot be read: {}", in_words(&error));
        Error::io(cause, error, hint).with_kind(kind)
    };
    let file = open(path).map_err(failed)?;
    let known = if is_stdin(path) { None } else { Some(path.metadata().map_err(failed)?) };
    if known.as_ref().is_some_and(Metadata::is_dir) {
        return Err(refuse("is a directory, not a file".into()));
    }
    let mut bytes = vec![];
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        let length = known.map_or(0, |metadata| metadata.len());
        let size = if length > 0 { format!("has {length} bytes") } else { "has no end".into() };
        return Err(refuse(format!("{size}; at most {MAX_BYTES} are read")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(format!("is not a text: byte {} is not UTF-8", at + 1))
    })?;
    match text.find('\0') {
        Some(at) => Err(refuse(format!("is not a text: byte {} is zero", at + 1))),
        None => Ok(text),
    }
}

/// What the system says, without its number.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|c| c.to_lowercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}
