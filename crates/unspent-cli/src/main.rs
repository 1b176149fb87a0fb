//! The `unspent` command: arguments in, a certified report out.
//!
//! ```text
//! arguments ─▶ request ─▶ report ─▶ table or JSON
//! (clap)       (exact)    (bounds)  (stdout)
//! ```
//!
//! Everything is parsed before anything is computed. Only data goes to stdout; an error is one line
//! of cause and one line of hint on stderr.

mod account;
mod decimal;
mod render;
mod report;
mod usage;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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

`unspent account --help` has examples."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Account(account::Arguments),
}

/// Why there is no answer: one line of cause, one line of hint, and the exit code.
struct Failure {
    cause: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// Arguments that say too little or make no sense together.
    fn usage(cause: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { cause: cause.into(), hint: hint.into(), code: 2 }
    }
}

impl From<unspent::Error> for Failure {
    fn from(error: unspent::Error) -> Failure {
        let code = if error.is_input() { 2 } else { 1 };
        Failure { cause: error.to_string(), hint: error.hint().into(), code }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure {
            cause: format!("the output could not be written: {error}"),
            hint: "check that there is space and permission to write".into(),
            code: 1,
        }
    }
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|defect| {
        report_failure(&Failure {
            cause: format!("a defect of unspent: {}", defect.to_string().replace('\n', " ")),
            hint: "no answer is better than a wrong one; please report the command line".into(),
            code: 1,
        });
        std::process::exit(1);
    }));
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report_failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn report_failure(failure: &Failure) {
    // If stderr is gone too, the exit code is all there is to say it with.
    let _ = writeln!(io::stderr(), "error: {}\nhint: {}", failure.cause, failure.hint);
}

fn run() -> Result<(), Failure> {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return Err(usage::failure(&error)),
        Err(help_or_version) => return write(&help_or_version.render().to_string()),
    };
    match arguments.command {
        Command::Account(arguments) => {
            let json = arguments.json;
            let report = account::parse(&arguments)?.answer()?;
            write(&if json { render::json(&report) } else { render::table(&report) })
        }
    }
}

/// Writes to stdout; a reader that has seen enough is not an error.
fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
