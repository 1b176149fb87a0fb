//! `unspent accuracy`: how far every estimate will be from the true count, without any data.

pub mod figure;

use clap::Args;
use unspent::{Allocation, Ask, Error, Neighbours, Rational};
use unspent_data::UnitsAccuracy;
use unspent_estimate::{Accuracy, AccuracyQuestion};

use crate::Failure;
use crate::measure::bypass;
use crate::output::{self, Format, Target};
use crate::plot;
use crate::progress::Progress;
use crate::source;
use crate::terminal;

/// How far every estimate will be from the true count, without any data.
///
/// A count is measured many times over: by its own query, by sums of finer ones, in the unit above and
/// in the units below. The best linear unbiased estimate uses all of it. Its error follows from the
/// noise and from the units alone: for each level and query the standard deviation of the noise and of
/// the estimate, half of the width of a normal interval, and of a guaranteed one.
///
/// With --units every unit of a public list has its exact variance. Only the codes of the list are
/// read. Without, all units of a level have equally many children, by the numbers of --per-level.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
What the measurements do not determine is said in words: it has no error that could be given.

The numbers of units of the 2020 Census are known for the levels US, State, County, Tract,
Block_Group and Block: 1, 51, 3143, 84414, 239780 and 8132968; those of Puerto Rico from State on.
The totals of states were published exactly. The presets for persons do not say so, because the
production system's State is a part of a state; --exact-totals State does.

Examples:
  unspent accuracy pl94-persons-us-2020 --exact-totals State
  unspent accuracy pl94-persons-us-2020 --exact-totals State --plot accuracy.svg
  unspent accuracy examples/blocks.toml --per-level 1,5,244,815,25181
  unspent accuracy examples/blocks.toml --units data/ri-2010-blocks.csv --csv"
)]
pub struct Arguments {
    /// A preset or an allocation file
    ///
    /// `unspent presets` lists the presets. A file is TOML, or a table (.csv) with --neighbours.
    #[arg(value_name = "PRESET|FILE")]
    named: String,

    /// For a table (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// A file that says which values attributes have, and how the list of units is read
    ///
    /// The allocation's own unless given, or that of a file beside the list (blocks.toml).
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    /// How many units each level has, from the first level on
    ///
    /// For the levels of the 2020 Census its numbers, unless given.
    #[arg(long, value_name = "N,N,…", conflicts_with = "units")]
    per_level: Option<String>,

    /// The list of all units of the smallest level: CSV, or Parquet (.parquet); - reads CSV from stdin
    ///
    /// Only its columns of codes are read, and the one that --bypass names.
    #[arg(long, value_name = "FILE")]
    units: Option<String>,

    /// Which units are bypassed: none, only-children, column:NAME of --units, or a list (level, code)
    ///
    /// For an allocation that has a [bypass] the only children of their parents are, as in the
    /// production system of 2020. Otherwise none is.
    #[arg(long, value_name = "RULE|FILE", requires = "units", conflicts_with = "per_level")]
    bypass: Option<String>,

    /// Levels whose totals are exact, besides those that the allocation says
    ///
    /// Separated by commas.
    #[arg(long, value_name = "L,L,…")]
    exact_totals: Option<String>,

    /// How often the intervals contain the true count
    #[arg(long, value_name = "P", default_value = "0.95", allow_hyphen_values = true)]
    confidence: String,

    /// Does not use that some combinations of values cannot occur
    #[arg(long)]
    no_structural_zeros: bool,

    /// Draws the deviations of noise and estimates by level: .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<String>,

    /// Replaces the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let plot = self.plot.as_ref();
        let plot = plot.map(|path| Target::new("--plot", path, plot::EXTENSIONS, self.force)).transpose()?;
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let allocation = source::allocation(&self.named, neighbours)?;
        let question = self.question(allocation.clone())?;
        let report = match &self.units {
            Some(list) => self.of_units(list, allocation, &question)?,
            None => question.answer().map_err(|error| self.failure(error))?,
        };
        if let Some(file) = plot {
            file.write(&plot::bytes(&figure::by_level(&report), &file.extension())?)?;
        }
        output::print(&self.written(&report))
    }

    fn question(&self, allocation: Allocation) -> Result<AccuracyQuestion, Failure> {
        // The schema of a list is found beside it, if there is one.
        let allocation = match (&self.units, source::schema(self.schema.as_deref())?) {
            (None, Some(schema)) => allocation.with_schema(schema),
            _ => allocation,
        };
        let names = |list: &String| {
            list.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
        };
        Ok(AccuracyQuestion {
            per_level: self.per_level.as_deref().map(numbers).transpose()?,
            confidence: Some(Rational::parse("--confidence", &self.confidence)?),
            exact_totals: self.exact_totals.as_ref().map(names).unwrap_or_default(),
            structural_zeros: Some(!self.no_structural_zeros),
            ..AccuracyQuestion::about(allocation)
        })
    }

    fn of_units(
        &self,
        list: &str,
        allocation: Allocation,
        question: &AccuracyQuestion,
    ) -> Result<Accuracy, Failure> {
        let asked = UnitsAccuracy {
            schema: source::schema(self.schema.as_deref())?,
            bypass: self.bypass.as_deref().map(bypass).transpose()?,
            assumptions: question.assumptions(),
            ..UnitsAccuracy::new(source::table(list), allocation)
        };
        let mut progress = Progress::new();
        let report = asked.answer(&mut progress);
        drop(progress);
        report.map_err(|error| self.failure(error))
    }

    /// What the library says, in the command's words.
    fn failure(&self, error: Error) -> Failure {
        let mut failure = Failure::from(error);
        for (field, flag) in
            [("per_level", "--per-level"), ("exact_totals", "--exact-totals"), ("confidence", "--confidence")]
        {
            if let Some(rest) = failure.cause.strip_prefix(field).filter(|rest| rest.starts_with(':')) {
                failure.cause = format!("{flag}{rest}");
                if field == "per_level" && self.per_level.is_none() {
                    failure.hint = "give a number for each level, as in --per-level 1,5,244, or a list of \
                                    all units, --units FILE"
                        .into();
                }
                return failure;
            }
        }
        failure
    }

    fn written(&self, report: &Accuracy) -> String {
        match self.format {
            Format { json: true, .. } => output::json(report),
            Format { csv: true, .. } => report.columns().csv(),
            Format { markdown: true, .. } => report.document().markdown(),
            _ => terminal::shown(&report.document()),
        }
    }
}

/// Reads `1,51,3143`.
pub fn numbers(text: &str) -> Result<Vec<u64>, Error> {
    let number = |n: &str| {
        n.trim().parse().map_err(|_| {
            let hint = "write a number of units for each level, like 1,51,3143";
            Error::input("--per-level", text, "whole numbers with commas between them", hint)
        })
    };
    text.split(',').map(number).collect()
}
