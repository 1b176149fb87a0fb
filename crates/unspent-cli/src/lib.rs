//! The `unspent` command: arguments in, a certified report out.
//!
//! ```text
//! arguments ─▶ request ─▶ report ─▶ table, Markdown, JSON, CSV, Parquet, picture
//! (clap)       (exact)    (bounds)  (stdout, or files that appear whole)
//! ```
//!
//! Everything is parsed before anything is computed, and computed before anything is written. Only data goes
//! to stdout; an error is one line of cause, the line at fault if it is in a file, and one line of hint on
//! stderr.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "comments of arguments are the command's help, where brackets are brackets"
)]

mod account;
mod accuracy;
mod calibrate;
mod certificate;
mod column_file;
mod compare;
mod curve;
mod defect;
mod design;
mod destination;
mod estimate;
mod hints;
mod interval;
mod measure;
mod new;
mod noise;
mod output;
mod presets;
mod progress;
mod regress;
mod reproduce;
mod sample;
mod serve;
mod shell;
mod source;
mod stated;
mod synthesize;
mod terminal;
mod terms;
mod tradeoff;
mod usage;
mod utility;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Parser, Subcommand};
use terminal::Colour;
use unspent::ErrorKind;
use unspent_plot as plot;

/// Certified privacy accounting for discrete Gaussian noise.
#[derive(Parser)]
#[command(
    name = "unspent",
    version,
    after_help = "\
Exit codes:
  0  the answer was written (also if the reader closed the pipe early)
  1  no answer: a tolerance that cannot be met, or anything unforeseen
  2  the command line is at fault: bad usage or bad input
  3  a promised epsilon is not certified to be kept (certificate --check, measure), or a need is not
     met (design --check)
  130  Ctrl-C ended it, and nothing half-written is left

`unspent certificate --help` and the like have examples."
)]
struct Arguments {
    /// Says nothing but answers, warnings and errors: no progress, and not what was written
    #[arg(long, short, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Presets(presets::Arguments),
    Preset(presets::PresetArguments),
    New(new::Arguments),
    Certificate(certificate::Arguments),
    Calibrate(calibrate::Arguments),
    Curve(curve::Arguments),
    Tradeoff(tradeoff::Arguments),
    Compare(compare::Arguments),
    Measure(measure::Arguments),
    Sample(sample::Arguments),
    Accuracy(accuracy::Arguments),
    Design(design::Arguments),
    Utility(utility::Arguments),
    Regress(regress::Arguments),
    Interval(interval::Arguments),
    Estimate(estimate::Arguments),
    Synthesize(synthesize::Arguments),
    Reproduce(reproduce::Arguments),
    Account(account::Arguments),
    Serve(serve::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

/// Why there is no answer: one line of cause, perhaps the line of a file, one line of hint, and the exit
/// code.
struct Failure {
    cause: String,
    excerpt: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// Arguments that say too little or make no sense together.
    fn usage(cause: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { cause: cause.into(), excerpt: String::new(), hint: hint.into(), code: 2 }
    }

    /// The same failure with the name of its place put in front.
    fn at(mut self, place: impl std::fmt::Display) -> Failure {
        self.cause = format!("{place}: {}", self.cause);
        self
    }

    /// The same failure with dashes in front of the argument that is at fault, if it is one of these flags.
    fn flagged(mut self, flags: &[&str]) -> Failure {
        if self.cause.split_once(':').is_some_and(|(field, _)| flags.contains(&field)) {
            self.cause.insert_str(0, "--");
        }
        self
    }

    /// Anything that is not the arguments' fault.
    fn other(cause: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { code: 1, ..Failure::usage(cause, hint) }
    }
}

impl From<unspent::Error> for Failure {
    fn from(error: unspent::Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::PromiseNotKept => 3,
            _ if error.is_input() => 2,
            _ => 1,
        };
        let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
        Failure { cause: error.to_string(), excerpt, hint: hints::of(&error), code }
    }
}

impl From<plot::Error> for Failure {
    fn from(error: plot::Error) -> Failure {
        Failure::other(error.to_string(), "please report the command line")
    }
}

/// Runs the command with these arguments, the first of which is its own name; the exit code.
///
/// For a process that does nothing else: a defect and Ctrl-C end it.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    defect::report();
    defect::on_interrupt();
    match run(arguments) {
        Ok(()) => 0,
        Err(failure) => {
            report_failure(&failure);
            failure.code
        }
    }
}

fn report_failure(failure: &Failure) {
    // Names may come from files, and are not to start a line or to steer a terminal.
    let line = |text: &str| output::printable(text).replace('\n', " ");
    let (cause, hint) = (line(&failure.cause), line(&failure.hint));
    // If stderr is gone too, the exit code is all there is to say it with.
    let (error, advice) = (terminal::label("error", Colour::Red), terminal::label("hint", Colour::Cyan));
    let excerpt = output::printable(&failure.excerpt);
    let _ = writeln!(io::stderr(), "{error} {cause}\n{excerpt}{advice} {hint}");
}

fn run(given: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let arguments = match Arguments::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return Err(usage::failure(&error)),
        Err(help_or_version) => {
            return output::print(&terminal::help(&help_or_version.render().to_string()));
        }
    };
    if arguments.quiet {
        terminal::be_quiet();
    }
    match arguments.command {
        Command::Presets(arguments) => arguments.run(),
        Command::Preset(arguments) => arguments.run(),
        Command::New(arguments) => arguments.run(),
        Command::Certificate(arguments) => arguments.run(),
        Command::Calibrate(arguments) => arguments.run(),
        Command::Curve(arguments) => arguments.run(),
        Command::Tradeoff(arguments) => arguments.run(),
        Command::Compare(arguments) => arguments.run(),
        Command::Measure(arguments) => arguments.run(),
        Command::Sample(arguments) => arguments.run(),
        Command::Accuracy(arguments) => arguments.run(),
        Command::Design(arguments) => arguments.run(),
        Command::Utility(arguments) => arguments.run(),
        Command::Regress(arguments) => arguments.run(),
        Command::Interval(arguments) => arguments.run(),
        Command::Estimate(arguments) => arguments.run(),
        Command::Synthesize(arguments) => arguments.run(),
        Command::Reproduce(arguments) => arguments.run(),
        Command::Serve(arguments) => arguments.run(),
        Command::Account(arguments) => arguments.run(),
        Command::Completions(arguments) => arguments.run(),
        Command::Man(arguments) => arguments.run(),
    }
}
