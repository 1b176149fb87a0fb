//! `unspent new`: a commented allocation file from a few answers.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use unspent::file::{Outline, OutlineBudget};
use unspent::{Delta, Epsilon, Error, Neighbours, Rho};

use crate::Failure;
use crate::output::{self, Target};

/// Writes a commented allocation file to start from, from a few flags or answers.
///
/// What no flag says is asked for on a terminal. Every level gets the same share of the budget and
/// every query the same share of its level: edit the shares, and `unspent certificate` says what
/// the result guarantees.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent new --out budget.toml
  unspent new --name \"Survey 2026\" --record person --neighbours add-remove --levels Country,Region \\
    --query total --query age=age --query age_sex=age,sex --epsilon 1 --delta 1e-6 --out budget.toml"
)]
pub struct Arguments {
    /// What the release is called
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// What one record is, like person or household
    #[arg(long, value_name = "TEXT")]
    record: Option<String>,

    /// bounded (one record changes) or add-remove (one record is added or removed)
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// Geographic levels, from the largest areas to the smallest, separated by commas
    #[arg(long, value_name = "L,L,…")]
    levels: Option<String>,

    /// A query and the attributes it touches: NAME, or NAME=A,A; may be repeated
    #[arg(long = "query", value_name = "NAME[=A,A]")]
    queries: Vec<String>,

    /// The epsilon to promise, with --delta: rho is the largest that keeps it
    #[arg(long, value_name = "E", allow_hyphen_values = true, conflicts_with = "rho")]
    epsilon: Option<String>,

    /// The budget for rho-zCDP instead
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    rho: Option<String>,

    /// The delta of the promise
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// The file to write; stdout unless given
    #[arg(long, value_name = "FILE.toml")]
    out: Option<String>,

    /// Replaces the file if it exists
    #[arg(long)]
    force: bool,
}

impl Arguments {
    /// Asks what is missing, and writes the file.
    pub fn run(&self) -> Result<(), Failure> {
        let out =
            self.out.as_ref().map(|out| Target::new("--out", out, &["toml"], self.force)).transpose()?;
        let text = self.outline(&mut Answers::new())?.to_file()?;
        match out {
            None => output::print(&text),
            Some(out) => {
                out.write(text.as_bytes())?;
                let path = self.out.as_deref().unwrap_or_default();
                output::confirm(&format!(
                    "Written to {path}. `unspent certificate {path}` says what it guarantees.\n"
                ))
            }
        }
    }

    fn outline(&self, answers: &mut Answers) -> Result<Outline, Failure> {
        let name = answers.or_ask("--name", &self.name, "What is the release called?")?;
        let record = answers.or_ask("--record", &self.record, "What is one record (person, household)?")?;
        let question = "What do neighbours differ in: bounded (one record changes) or add-remove?";
        let neighbours =
            Neighbours::parse(answers.or_ask("--neighbours", &self.neighbours, question)?.trim())?;
        let question = "Which geographic levels, from the largest to the smallest (Country, County)?";
        let levels = parts(&answers.or_ask("--levels", &self.levels, question)?);
        let queries = if self.queries.is_empty() {
            let question = "Which queries, each with its attributes (total; age=age; age_sex=age,sex)?";
            let listed = answers.or_ask("--query", &None, question)?;
            let listed = listed.split(';').filter(|query| !query.trim().is_empty());
            listed.map(query).collect::<Result<Vec<_>, Failure>>()?
        } else {
            self.queries.iter().map(|text| query(text)).collect::<Result<Vec<_>, Failure>>()?
        };
        Ok(Outline { name, record, neighbours, levels, queries, budget: self.budget(answers)? })
    }

    fn budget(&self, answers: &mut Answers) -> Result<OutlineBudget, Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        if let Some(rho) = &self.rho {
            return Ok(OutlineBudget::Rho(Rho::parse(rho)?, delta));
        }
        let epsilon = answers.or_ask("--epsilon", &self.epsilon, "Which epsilon is promised?")?;
        let epsilon = Epsilon::parse(epsilon.trim())?;
        let delta = match delta {
            Some(delta) => delta,
            None => Delta::parse(answers.or_ask("--delta", &None, "At which delta (1e-10)?")?.trim())?,
        };
        Ok(OutlineBudget::Epsilon(epsilon, delta))
    }
}

/// `age, sex` as two names.
fn parts(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// `age_sex=age,sex`, or `total`.
fn query(text: &str) -> Result<(String, Vec<String>), Failure> {
    let Some((name, attributes)) = text.split_once('=') else {
        return Ok((text.trim().into(), vec![]));
    };
    let attributes = parts(attributes);
    // A query that touches nothing is a total; guarantees for attributes rest on it.
    if attributes.is_empty() {
        return Err(Failure::usage(
            format!("--query: `{text}` names no attribute after `=`"),
            "write NAME=A,A for a query that touches attributes, and NAME alone for a total",
        ));
    }
    Ok((name.trim().into(), attributes))
}

/// What is asked on a terminal.
struct Answers {
    can_ask: bool,
}

impl Answers {
    fn new() -> Answers {
        Answers { can_ask: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }

    /// What the flag says or, on a terminal, what is answered.
    fn or_ask(&mut self, flag: &str, given: &Option<String>, question: &str) -> Result<String, Failure> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        if !self.can_ask {
            return Err(Failure::usage(
                format!("missing: {flag}"),
                "on a terminal it would be asked for; `unspent new --help` has examples",
            ));
        }
        // Only the file goes to stdout.
        let _ = write!(io::stderr(), "{question} ");
        let _ = io::stderr().flush();
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let failed = |e| Error::io("the answer could not be read", e, "give the flags instead");
        if read.map_err(failed)? == 0 {
            return Err(Failure::usage(format!("missing: {flag}"), "the input ended before it was answered"));
        }
        Ok(line.trim().into())
    }
}
