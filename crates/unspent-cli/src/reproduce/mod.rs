//! `unspent reproduce`: every table and figure of the paper, beside what was published.
//!
//! ```text
//! published numbers ─▶ Study (tables, claims) ─▶ CSV and Markdown
//!                        └▶ figures, as data   ─▶ CSV, SVG, PNG ─▶ report.html
//! ```
//!
//! What depends on data (errors of counts that are clamped at zero, by level and by race, of whole tables,
//! and slopes) is computed on made-up data, and labelled so, unless tables are given.

mod data;
mod figures;
mod page;
mod paths;
mod processing;
mod published;
mod study;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use unspent::report::document;
use unspent_data::directory::{self, Folder, Unfinished};

use crate::Failure;
use crate::output;
use crate::plot;
use crate::progress::Progress;
use crate::terminal;
use data::Files;
use paths::Paths;
use study::{Study, Verdict};

/// Reproduces Su, Su and Wang (PNAS 2025): tables and figures beside what was published.
///
/// Writes a directory with report.html (open it in any browser), tables as CSV and Markdown, and
/// figures as SVG and PNG with their numbers as CSV. It appears whole or not at all.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
The paper is Su, Su and Wang, The 2020 US Decennial Census is more private than you (might) think,
PNAS 2025. No network is used and no data are needed. What depends on data is computed on a made-
up population, and labelled so, unless --table and --s1501 name real ones.

--paths adds the same authors' A Sieve-Accelerated Quadrature Method for Exact Privacy Accounting in
the 2020 U.S. Decennial Census, arXiv 2606.29835: every path through the geography of the production
DHC persons file, and certified bounds beside each of the 39,732 points they publish.

Examples:
  unspent reproduce --out paper
  unspent reproduce --out paper --paths
  unspent reproduce --out paper --table blocks.csv --schema blocks.toml --s1501 states.csv"
)]
pub struct Arguments {
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: String,

    /// Replaces the directory if it was written by this command before
    #[arg(long)]
    force: bool,

    /// A table of counts, as for `unspent measure`
    ///
    /// Its levels are named as in the paper; Tract and Block group will do.
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,

    /// A file whose [table] says how the table is read
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    /// A table S1501, as for `unspent regress`
    ///
    /// May be repeated.
    #[arg(long, value_name = "FILE.csv")]
    s1501: Vec<String>,

    /// Adds the second paper: every pair of paths through the geography, beside what was published
    #[arg(long)]
    paths: bool,

    /// Leaves the PNGs out, which take most of the time
    #[arg(long)]
    no_png: bool,
}

/// The page, and what it says of where it comes from.
const PAGE: &str = "report.html";
const GENERATOR: &str = "<meta name=\"generator\" content=\"unspent reproduce\">";

impl Arguments {
    /// Checks, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        // Without a dot at the end, which could not be renamed to.
        let target: PathBuf = Path::new(&self.out).components().collect();
        self.check(&target)?;
        let unfinished = Unfinished::create(&target)?;
        let study = self.compute(unfinished.folder(), &target)?;
        // Somebody else may have made it in the meantime.
        self.check(&target)?;
        unfinished.replace()?;
        output::confirm(&summary(&study, &target))
    }

    fn compute(&self, unfinished: &Folder, target: &Path) -> Result<Study, Failure> {
        let mut progress = Progress::new();
        progress.step("tables");
        let files =
            Files { table: self.table.as_deref(), schema: self.schema.as_deref(), surveys: &self.s1501 };
        let mut study = Study::new(&files, &mut progress)?;
        let mut figures = figures::all(&study, &mut |name| progress.step(name))?;
        if self.paths {
            progress.step("every pair of paths");
            let paths = Paths::new()?;
            study.tables.extend(paths.tables()?);
            progress.step("figures of the pairs of paths");
            figures.extend(paths.figures()?);
            study.paths = Some(paths);
        }
        let written = self.write(unfinished, &study, &figures, &mut progress);
        written.map_err(|error| directory::failed(target, error))?;
        Ok(study)
    }

    /// Whether the directory may be written.
    fn check(&self, target: &Path) -> Result<(), Failure> {
        if !directory::check(target).map_err(|error| error.at("--out"))? {
            return Ok(());
        }
        if !self.force {
            return Err(output::exists(&format!("--out: `{}`", target.display())));
        }
        // Replacing means removing: never what somebody else has made, or added.
        if let Some(foreign) = foreign(target) {
            return Err(Failure::usage(
                format!("--out: `{}` was not written by this command", foreign.display()),
                "choose another name; --force replaces earlier reports only",
            ));
        }
        Ok(())
    }

    fn write(
        &self,
        directory: &Folder,
        study: &Study,
        figures: &[figures::StudyFigure],
        progress: &mut Progress,
    ) -> io::Result<()> {
        let (tables, pictures) = (directory.create_folder("tables")?, directory.create_folder("figures")?);
        for table in &study.tables {
            tables.write(&format!("{}.csv", table.id), output::csv(&table.heads, &table.rows))?;
            let mut text = document::Document::default();
            text.line(format!("**{}**", table.title));
            text.line("");
            text.line(&table.note);
            text.line("");
            let mut rows = document::Table::new(&table.heads);
            table.rows.iter().for_each(|row| rows.row(row.clone()));
            text.table(rows);
            tables.write(&format!("{}.md", table.id), text.markdown())?;
        }
        if let Some(paths) = &study.paths {
            let (heads, rows) = paths.every_point();
            tables.write("paths-points.csv", output::csv(&heads, &rows).as_bytes())?;
        }
        let mut drawn = vec![];
        for figure in figures {
            progress.step(&format!("drawing {}", figure.id));
            let svg = plot::svg(&figure.figure);
            let numbers = output::csv(&plot::Figure::HEADS, &figure.figure.rows());
            pictures.write(&format!("{}.csv", figure.id), numbers)?;
            if !self.no_png {
                let png = plot::png(&svg, 2.0).map_err(io::Error::other)?;
                pictures.write(&format!("{}.png", figure.id), png)?;
            }
            pictures.write(&format!("{}.svg", figure.id), &svg)?;
            drawn.push((figure, svg));
        }
        directory.write(PAGE, page::page(study, &drawn))
    }
}

/// Something in a directory that no run of this command has written.
fn foreign(directory: &Path) -> Option<PathBuf> {
    if !directory.is_dir() {
        return Some(directory.into());
    }
    let entries = |path: &Path| -> Vec<PathBuf> {
        fs::read_dir(path).map_or_else(|_| vec![path.into()], |all| all.flatten().map(|e| e.path()).collect())
    };
    let ends = |path: &Path, extensions: &[&str]| {
        path.is_file() && path.extension().is_some_and(|e| extensions.iter().any(|known| e == *known))
    };
    entries(directory).into_iter().find_map(|path| match path.file_name().and_then(|name| name.to_str()) {
        Some(PAGE) => {
            let ours = fs::read_to_string(&path).is_ok_and(|page| page.contains(GENERATOR));
            (!ours).then_some(path)
        }
        Some("tables") => entries(&path).into_iter().find(|file| !ends(file, &["csv", "md"])),
        Some("figures") => entries(&path).into_iter().find(|file| !ends(file, &["csv", "svg", "png"])),
        _ => Some(path),
    })
}

fn summary(study: &Study, target: &Path) -> String {
    let of = |verdict| study.claims.iter().filter(move |claim| claim.verdict == verdict);
    let mut text = document::Document::default();
    text.line(format!(
        "{} published numbers: {} agree, {} differ, {} are simulations of what is computed, {} need data.",
        study.claims.len(),
        of(Verdict::Agrees).count(),
        of(Verdict::Differs).count(),
        of(Verdict::Simulated).count(),
        of(Verdict::NotComputed).count()
    ));
    text.line("");
    let mut table = document::Table::new(&["what differs", "published", "computed"]);
    for claim in of(Verdict::Differs) {
        table.row(vec![claim.what.clone(), claim.published.clone(), claim.computed.clone()]);
    }
    text.table(table);
    text.line("");
    if let Some(paths) = &study.paths {
        text.line(paths.sentence());
        text.line(paths.guarantee());
        text.line("");
    }
    text.line(format!("Written to {}; report.html says why.", target.display()));
    terminal::shown(&text)
}
