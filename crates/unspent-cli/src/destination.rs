//! Where a curve goes: numbers to a file or stdout, and a picture.

use clap::Args;
use unspent::report::brief;
use unspent::report::columns::{Column, Columns};
use unspent::report::curve::Subject;
use unspent::{Rational, Round};

use crate::Failure;
use crate::column_file;
use crate::output::{self, Target};
use crate::plot;

/// Where a curve goes.
#[derive(Args)]
pub struct Destination {
    /// Writes the numbers to a file; its extension says how
    #[arg(long, value_name = "FILE.csv|json|parquet")]
    out: Option<String>,

    /// Draws the curve
    #[arg(long, value_name = "FILE.svg|png|pdf")]
    plot: Option<String>,

    /// Replaces files that exist
    #[arg(long)]
    force: bool,

    /// Writes JSON instead of CSV to stdout
    #[arg(long)]
    json: bool,
}

/// Files that may be written, checked.
pub struct Files {
    out: Option<Target>,
    plot: Option<Target>,
    json: bool,
}

impl Destination {
    /// Checks what is to be written, before anything is computed.
    pub fn check(&self) -> Result<Files, Failure> {
        let file = |flag, path: &Option<String>, extensions: &[&str]| {
            path.as_ref().map(|path| Target::new(flag, path, extensions, self.force)).transpose()
        };
        Ok(Files {
            out: file("--out", &self.out, &["csv", "json", "parquet"])?,
            plot: file("--plot", &self.plot, plot::EXTENSIONS)?,
            json: self.json,
        })
    }
}

impl Files {
    /// Writes what was asked for: a file, a picture or, if neither, to stdout.
    pub fn write(
        &self,
        columns: &Columns,
        report: &impl serde::Serialize,
        subject: &Subject,
        figure: impl FnOnce() -> Result<plot::Figure, Failure>,
    ) -> Result<(), Failure> {
        let notes = [
            ("unspent.name", subject.name.clone()),
            ("unspent.scope", subject.part.kind().into()),
            ("unspent.part", subject.part.name().unwrap_or_default().into()),
            ("unspent.neighbours", subject.neighbours.to_string()),
            ("unspent.version", env!("CARGO_PKG_VERSION").into()),
        ];
        let defect = |cause: String| Failure::other(cause, "please report the command line");
        // Everything is made before anything is written.
        let out = match &self.out {
            Some(file) => Some((
                file,
                match file.extension().as_str() {
                    "parquet" => column_file::written(columns, &notes).map_err(defect)?,
                    "json" => output::json(report).into_bytes(),
                    _ => columns.csv().into_bytes(),
                },
            )),
            None => None,
        };
        let picture = match &self.plot {
            Some(file) => Some((file, plot::bytes(&figure()?, &file.extension())?)),
            None => None,
        };
        if out.is_none() && (picture.is_none() || self.json) {
            output::print(&if self.json { output::json(report) } else { columns.csv() })?;
        }
        out.into_iter().chain(picture).try_for_each(|(file, bytes)| file.write(&bytes))
    }
}

/// Two ends of a grid, the lower one first.
pub fn ordered(from: Rational, to: Rational) -> Result<(Rational, Rational), Failure> {
    if from < to {
        return Ok((from, to));
    }
    Err(Failure::usage(
        format!("--from: {} is not below --to, {}", brief(&from, Round::Down), brief(&to, Round::Down)),
        "a grid goes up",
    ))
}

/// What every row says of its subject, so that no row can be mistaken for another's.
pub fn of(subject: &Subject, rows: usize) -> [Column; 3] {
    [
        Column::repeated("scope", subject.part.kind(), rows),
        Column::repeated("name", subject.part.name().unwrap_or_default(), rows),
        Column::repeated("neighbours", subject.neighbours.name(), rows),
    ]
}
