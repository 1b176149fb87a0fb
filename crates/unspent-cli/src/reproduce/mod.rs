//! `unspent reproduce`: every table and figure of the paper, beside what was published.
//!
//! ```text
//! published numbers ─▶ Study (tables, claims) ─▶ CSV and Markdown
//!                        └▶ figures, as data   ─▶ CSV, SVG, PNG ─▶ report.html
//! ```
//!
//! Figures that need data (errors by level and by group, slopes) are further entries of `figures::all` and
//! `Study`; their sections are in the page already.

mod figures;
mod page;
mod published;
mod study;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;

use crate::Failure;
use crate::document;
use crate::output;
use crate::plot;
use study::{Study, Verdict};

/// Computes the paper again: every table and figure, beside what was published.
///
/// Writes a directory with report.html (open it in any browser), tables as CSV and Markdown, and
/// figures as SVG and PNG with their numbers as CSV. It appears whole or not at all.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
The paper is Su, Su and Wang, The 2020 US Decennial Census is more private than you (might) think,
PNAS 2025. No network is used and no data are needed.

Example:
  unspent reproduce --out paper"
)]
pub struct Arguments {
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: String,

    /// Replaces the directory if it was written by this command before
    #[arg(long)]
    force: bool,

    /// Leaves the PNGs out, which take most of the time
    #[arg(long)]
    no_png: bool,
}

/// The file that says that a directory was written by this command.
const MARK: &str = "report.html";

/// The directory that is being written, to be removed if the run is interrupted.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

impl Arguments {
    /// Checks, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let target = PathBuf::from(&self.out);
        self.check(&target)?;
        let mut progress = Progress::new();
        progress.step("tables");
        let study = Study::new()?;
        let figures = figures::all(&study, &mut |name| progress.step(name))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unfinished = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        on_interrupt();
        *UNFINISHED.lock().expect("not poisoned") = Some(unfinished.clone());
        let written = self
            .write(&unfinished, &study, &figures, &mut progress)
            .and_then(|()| self.finish(&unfinished, &target));
        *UNFINISHED.lock().expect("not poisoned") = None;
        progress.end();
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&unfinished);
            return Err(Failure::other(
                format!("{}: could not be written: {error}", target.display()),
                "check that there is space and permission to write; nothing was changed",
            ));
        }
        output::print(&summary(&study, &target))
    }

    /// Whether the directory may be written.
    fn check(&self, target: &Path) -> Result<(), Failure> {
        let shown = target.display();
        if target.file_name().is_none() {
            return Err(Failure::usage(
                format!("--out: `{shown}` has no name of its own"),
                "name a new directory",
            ));
        }
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.is_dir() {
            return Err(Failure::usage(
                format!("--out: the directory of `{shown}` does not exist"),
                "make it first, or check the path",
            ));
        }
        if !target.exists() {
            return Ok(());
        }
        if !self.force {
            return Err(Failure::usage(
                format!("--out: `{shown}` exists already"),
                "add --force to replace it, or choose another name",
            ));
        }
        // Replacing means removing: never what somebody else has made.
        let empty = target.is_dir() && fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
        if !empty && !target.join(MARK).is_file() {
            return Err(Failure::usage(
                format!("--out: `{shown}` was not written by this command"),
                "choose another name; --force replaces earlier reports only",
            ));
        }
        Ok(())
    }

    fn write(
        &self,
        directory: &Path,
        study: &Study,
        figures: &[figures::StudyFigure],
        progress: &mut Progress,
    ) -> io::Result<()> {
        let (tables, pictures) = (directory.join("tables"), directory.join("figures"));
        fs::create_dir(directory)?;
        fs::create_dir(&tables)?;
        fs::create_dir(&pictures)?;
        for table in &study.tables {
            fs::write(tables.join(format!("{}.csv", table.id)), output::csv(&table.heads, &table.rows))?;
            let mut text = document::Document::default();
            text.line(format!("**{}**", table.title));
            text.line("");
            text.line(&table.note);
            text.line("");
            let mut rows = document::Table::new(&table.heads);
            table.rows.iter().for_each(|row| rows.row(row.clone()));
            text.table(rows);
            fs::write(tables.join(format!("{}.md", table.id)), text.markdown())?;
        }
        for figure in figures {
            progress.step(&format!("drawing {}", figure.id));
            let svg = plot::svg(&figure.figure);
            fs::write(pictures.join(format!("{}.csv", figure.id)), figure.figure.csv())?;
            if !self.no_png {
                let png = plot::png(&svg, 2.0).map_err(io::Error::other)?;
                fs::write(pictures.join(format!("{}.png", figure.id)), png)?;
            }
            fs::write(pictures.join(format!("{}.svg", figure.id)), svg)?;
        }
        fs::write(directory.join(MARK), page::page(study, figures))
    }

    /// Puts the finished directory in its place.
    fn finish(&self, unfinished: &Path, target: &Path) -> io::Result<()> {
        if !target.exists() {
            return fs::rename(unfinished, target);
        }
        if !self.force {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let old = unfinished.with_extension("old");
        fs::rename(target, &old)?;
        fs::rename(unfinished, target)?;
        fs::remove_dir_all(old)
    }
}

/// An interrupted run leaves nothing behind.
fn on_interrupt() {
    // A second handler is refused: there is one already then.
    let _ = ctrlc::set_handler(|| {
        if let Some(unfinished) = UNFINISHED.lock().ok().and_then(|mut path| path.take()) {
            let _ = fs::remove_dir_all(unfinished);
        }
        std::process::exit(130);
    });
}

fn summary(study: &Study, target: &Path) -> String {
    let of = |verdict| study.claims.iter().filter(move |claim| claim.verdict == verdict);
    let mut text = document::Document::default();
    text.line(format!(
        "{} published numbers: {} agree to every printed digit, {} differ, {} need data that are not here.",
        study.claims.len(),
        of(Verdict::Agrees).count(),
        of(Verdict::Differs).count(),
        of(Verdict::NotComputed).count()
    ));
    text.line("");
    let mut table = document::Table::new(&["what differs", "published", "computed"]);
    for claim in of(Verdict::Differs) {
        table.row(vec![claim.what.clone(), claim.published.clone(), claim.computed.clone()]);
    }
    text.table(table);
    text.line("");
    text.line(format!("Written to {}; report.html says why.", target.display()));
    text.terminal()
}

/// A line that is written over, on a terminal; nothing in a pipe.
struct Progress {
    shown: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { shown: io::stderr().is_terminal() }
    }

    fn step(&mut self, name: &str) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{name} …");
        }
    }

    fn end(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
