//! One door for questions: a question goes in, with how much it may cost, and a report comes out.
//!
//! ```text
//! typed question ───────────────┐
//! name and JSON ─▶ Question ────┴▶ ask(terms: effort, limits, stop) ─▶ report ─▶ JSON, document, columns
//! ```
//!
//! The command, the server and Python all come through here, and so can a page that has no server. A question
//! says what is asked; [`Terms`] say how well and for how long. Nothing here reads a file or a clock.
//!
//! ```
//! use unspent::question::{CertificateQuestion, Question, Terms};
//! use unspent::{Allocation, Ask};
//! // Typed.
//! let census = Allocation::preset("pl94-units-us-2020")?;
//! let certificate = CertificateQuestion::about([census]).answer()?;
//! // The same, as JSON.
//! let json = br#"{"release": [{"preset": "pl94-units-us-2020"}]}"#;
//! let answer = Question::read("certificate", json)?.ask(&Terms::default())?.to_json();
//! assert!(answer.contains(&certificate.lines[0].tight.at_most(17)));
//! # Ok::<(), unspent::Error>(())
//! ```

mod asked;
mod product;
mod terms;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use asked::{
    AccountQuestion, CalibrationQuestion, CertificateQuestion, ComparisonQuestion, CurveQuestion,
    FileQuestion, Grid, ParameterQuestion, PresetsQuestion, ReadQuestion, ReadingQuestion, SpendingQuestion,
    TradeoffQuestion,
};
pub use product::{FileText, Product};
pub use terms::{Limits, Terms};

use crate::error::{Error, Result};
use crate::file::Draft;
use crate::report::Account;
use crate::report::certificate::Certificate;
use crate::report::comparison::Comparison;
use crate::report::curve::{Curve, TradeoffCurve};
use crate::report::parameter::Parameter;
use crate::report::presets::PresetEntry;
use crate::report::reading::Reading;
use crate::report::recalibration::{Recalibration, ShownRecalibration};
use crate::report::spending::Spending;

/// Something that can be asked, and what comes back.
pub trait Ask {
    /// What comes back.
    type Report;

    /// The answer, found under these terms, which may be that there is none.
    fn work(&self, terms: &Terms) -> Result<Self::Report>;

    /// The answer, on these terms: an error of kind [`Stopped`](crate::ErrorKind::Stopped) if it was stopped.
    fn ask(&self, terms: &Terms) -> Result<Self::Report> {
        match &terms.stop {
            Some(stop) => stop.run(|| self.work(terms)),
            None => self.work(terms),
        }
    }

    /// The answer with normal effort, without limits, however long it takes.
    fn answer(&self) -> Result<Self::Report> {
        self.ask(&Terms::default())
    }
}

/// Any question, as a program asks it in JSON.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Question {
    /// What a release promises.
    Certificate(CertificateQuestion),
    /// δ against ε, or ε against δ.
    Curve(CurveQuestion),
    /// Misses against false alarms.
    Tradeoff(TradeoffQuestion),
    /// Less noise for the same promise.
    Calibration(CalibrationQuestion),
    /// Two releases side by side.
    Comparison(ComparisonQuestion),
    /// What an attacker gains.
    Reading(ReadingQuestion),
    /// What each query spends, and its noise.
    Spending(SpendingQuestion),
    /// What a composition promises.
    Account(AccountQuestion),
    /// What one parameter must be.
    Parameter(ParameterQuestion),
    /// The presets.
    Presets(PresetsQuestion),
    /// An allocation as a draft to be edited.
    Read(ReadQuestion),
    /// A draft as an allocation file.
    File(FileQuestion),
}

/// What comes back of a [`Question`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Report {
    /// What a release promises.
    Certificate(Box<Certificate>),
    /// δ against ε, or ε against δ.
    Curve(Curve),
    /// Misses against false alarms.
    Tradeoff(TradeoffCurve),
    /// Less noise for the same promise, and the result as a draft.
    Calibration(Box<Recalibration>, Box<Draft>),
    /// Two releases side by side.
    Comparison(Box<Comparison>),
    /// What an attacker gains.
    Reading(Reading),
    /// What each query spends, and its noise.
    Spending(Spending),
    /// What a composition promises.
    Account(Account),
    /// What one parameter must be.
    Parameter(Box<Parameter>),
    /// The presets.
    Presets(Vec<PresetEntry>),
    /// An allocation as a draft to be edited.
    Draft(Box<Draft>),
    /// The text of a file.
    File(String),
}

impl Question {
    /// What can be asked by name.
    pub const NAMES: [&'static str; 12] = [
        "certificate",
        "curve",
        "tradeoff",
        "calibration",
        "comparison",
        "reading",
        "spending",
        "account",
        "parameter",
        "presets",
        "read",
        "file",
    ];

    /// Reads the question of that name from JSON.
    pub fn read(name: &str, json: &[u8]) -> Result<Question> {
        Ok(match name {
            "certificate" => Question::Certificate(understood(json)?),
            "curve" => Question::Curve(understood(json)?),
            "tradeoff" => Question::Tradeoff(understood(json)?),
            "calibration" => Question::Calibration(understood(json)?),
            "comparison" => Question::Comparison(understood(json)?),
            "reading" => Question::Reading(understood(json)?),
            "spending" => Question::Spending(understood(json)?),
            "account" => Question::Account(understood(json)?),
            "parameter" => Question::Parameter(understood(json)?),
            "presets" => Question::Presets(understood(json)?),
            "read" => Question::Read(understood(json)?),
            "file" => Question::File(understood(json)?),
            _ => {
                let allowed = format!("one of the questions {}", Question::NAMES.join(", "));
                return Err(Error::input("question", name, allowed, "a question has a name and a body"));
            }
        })
    }

    /// The answer, on these terms.
    pub fn ask(&self, terms: &Terms) -> Result<Report> {
        Ok(match self {
            Question::Certificate(question) => Report::Certificate(Box::new(question.ask(terms)?)),
            Question::Curve(question) => Report::Curve(question.ask(terms)?),
            Question::Tradeoff(question) => Report::Tradeoff(question.ask(terms)?),
            Question::Calibration(question) => {
                let report = question.ask(terms)?;
                let draft = question.draft_of(&report)?;
                Report::Calibration(Box::new(report), Box::new(draft))
            }
            Question::Comparison(question) => Report::Comparison(Box::new(question.ask(terms)?)),
            Question::Reading(question) => Report::Reading(question.ask(terms)?),
            Question::Spending(question) => Report::Spending(question.ask(terms)?),
            Question::Account(question) => Report::Account(question.ask(terms)?),
            Question::Parameter(question) => Report::Parameter(Box::new(question.ask(terms)?)),
            Question::Presets(question) => Report::Presets(question.ask(terms)?),
            Question::Read(question) => Report::Draft(Box::new(question.ask(terms)?)),
            Question::File(question) => Report::File(question.ask(terms)?),
        })
    }
}

impl Report {
    /// The report as JSON: certificates and calibrations with their tables, everything else as `--json`
    /// writes it.
    ///
    /// # Panics
    /// Never: a report has only texts, numbers and lists.
    #[must_use]
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Calibrated<'r> {
            #[serde(flatten)]
            shown: ShownRecalibration<'r>,
            draft: &'r Draft,
        }
        #[derive(Serialize)]
        struct Drafted<'r> {
            draft: &'r Draft,
        }
        #[derive(Serialize)]
        struct Written<'r> {
            text: &'r str,
        }
        let json = match self {
            Report::Certificate(report) => serde_json::to_string(&report.shown()),
            Report::Curve(report) => serde_json::to_string(report),
            Report::Tradeoff(report) => serde_json::to_string(report),
            Report::Calibration(report, draft) => {
                serde_json::to_string(&Calibrated { shown: report.shown(), draft })
            }
            Report::Comparison(report) => serde_json::to_string(report),
            Report::Reading(report) => serde_json::to_string(report),
            Report::Spending(report) => serde_json::to_string(report),
            Report::Account(report) => serde_json::to_string(report),
            Report::Parameter(report) => serde_json::to_string(report),
            Report::Presets(report) => serde_json::to_string(report),
            Report::Draft(draft) => serde_json::to_string(&Drafted { draft }),
            Report::File(text) => serde_json::to_string(&Written { text }),
        };
        json.expect("texts, numbers and lists")
    }
}

fn understood<Q: DeserializeOwned>(json: &[u8]) -> Result<Q> {
    serde_json::from_slice(json).map_err(|error| {
        Error::stated(
            format!("the question cannot be read: {error}"),
            "check the names and values of its fields",
        )
    })
}
