//! What can be asked: the library's questions by name, pictures, and files to take away.
//!
//! `/api/NAME` with a body asks the question of that name (see [`unspent::question`]); the shapes are those
//! of `--json`. `openapi.json` describes them. Without a body there are lists, presets, and the description.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unspent::file::Draft;
use unspent::question::{CertificateQuestion, Limits, Product, ReadQuestion, Report};
use unspent::{Ask, Effort, ErrorKind, Question, Scope, Terms};
use unspent_estimate::AccuracyQuestion;
use unspent_plot::{Figure, svg};

use crate::design::DesignQuestion;
use crate::pictures;
use crate::size::check_cells;

const JSON: &str = "application/json";

/// An answer, ready to send.
#[derive(Clone, Debug)]
pub struct Reply {
    /// As in HTTP.
    pub status: u16,
    /// The type of its media.
    pub kind: &'static str,
    /// All of it is text.
    pub body: String,
}

impl Reply {
    fn new(kind: &'static str, body: impl Into<String>) -> Reply {
        Reply { status: 200, kind, body: body.into() }
    }

    /// A report, as JSON.
    #[must_use]
    pub fn report(report: &Report) -> Reply {
        Reply::new(JSON, report.to_json())
    }

    fn json(report: &impl Serialize) -> Reply {
        Reply::new(JSON, serde_json::to_string(report).expect("texts, numbers and lists"))
    }
}

/// An answer, or why there is none.
pub type Result<T> = std::result::Result<T, Box<Trouble>>;

/// Why there is no answer.
#[derive(Debug, Serialize)]
pub struct Trouble {
    #[serde(skip)]
    status: u16,
    message: String,
    hint: String,
    /// The field of the draft that is at fault.
    field: Option<String>,
    /// Where in a file it was found.
    line: Option<usize>,
    column: Option<usize>,
    excerpt: Option<String>,
}

impl Trouble {
    /// One with that status, as in HTTP.
    pub fn new(status: u16, message: impl Into<String>, hint: impl Into<String>) -> Box<Trouble> {
        let (message, hint) = (message.into(), hint.into());
        Box::new(Trouble { status, message, hint, field: None, line: None, column: None, excerpt: None })
    }
}

impl From<unspent::Error> for Box<Trouble> {
    fn from(error: unspent::Error) -> Box<Trouble> {
        let excerpt = error.excerpt();
        Box::new(Trouble {
            field: error.field().map(Into::into),
            line: excerpt.map(unspent::Excerpt::line),
            column: excerpt.map(unspent::Excerpt::column),
            excerpt: excerpt.map(ToString::to_string),
            ..*Trouble::new(422, error.to_string(), hint(&error))
        })
    }
}

/// The hint of an error, in words of the page.
fn hint(error: &unspent::Error) -> String {
    match error.kind() {
        ErrorKind::NoDelta => "give the delta at which epsilon is quoted".into(),
        ErrorKind::NoPromise => "give the epsilon to keep".into(),
        ErrorKind::NoPreset => format!("{}; /api/presets lists them", error.hint()),
        ErrorKind::TooLarge => {
            format!(
                "{}; `unspent certificate FILE` has no such limit: save the draft as a file",
                error.hint()
            )
        }
        _ => error.hint().into(),
    }
}

impl From<Box<Trouble>> for Reply {
    fn from(trouble: Box<Trouble>) -> Reply {
        #[derive(Serialize)]
        struct Body {
            error: Box<Trouble>,
        }
        Reply { status: trouble.status, ..Reply::json(&Body { error: trouble }) }
    }
}

/// What is granted to a page. Whoever answers has a stop of its own around the whole.
fn terms(effort: Effort) -> Terms {
    Terms { effort, limits: Limits::SERVED, stop: None }
}

/// What needs no question: the description of all questions, the limits, and presets.
pub fn get(path: &str) -> Result<Reply> {
    Ok(match path {
        "/api/openapi.json" => {
            Reply::new(JSON, include_str!("openapi.json").replace("{{version}}", env!("CARGO_PKG_VERSION")))
        }
        "/api/presets" => Reply::report(&Question::read("presets", b"{}")?.ask(&terms(Effort::Normal))?),
        "/api/limits" => Reply::json(&Limits::SERVED),
        _ => match path.strip_prefix("/api/presets/") {
            Some(name) => {
                let question = ReadQuestion { allocation: Product::Preset(name.into()) };
                let draft = question.ask(&terms(Effort::Normal)).map_err(absent)?;
                Reply::report(&Report::Draft(Box::new(draft)))
            }
            None if takes_body(path).is_ok() => {
                return Err(Trouble::new(
                    405,
                    format!("{path} is asked with POST"),
                    "with a draft as its body",
                ));
            }
            None => return Err(nothing(path)),
        },
    })
}

/// Whether something is asked there with a body.
pub fn takes_body(path: &str) -> Result<()> {
    match path.strip_prefix("/api/") {
        Some("figure" | "export" | "accuracy" | "design") => Ok(()),
        Some(name) if Question::NAMES.contains(&name) => Ok(()),
        _ => Err(nothing(path)),
    }
}

/// The answer to what is asked there with that body, in JSON.
pub fn answer(path: &str, body: &[u8]) -> Result<Reply> {
    takes_body(path)?;
    match path.trim_start_matches("/api/") {
        "figure" => Ok(Reply::json(&understood::<FigureQuestion>(body)?.draw()?)),
        "export" => export(&understood(body)?),
        "accuracy" => accuracy(&understood(body)?),
        "design" => Ok(Reply::json(&understood::<DesignQuestion>(body)?.design()?)),
        name => {
            let asked = Question::read(name, body).map_err(|e| Trouble::new(400, e.to_string(), SHAPES))?;
            Ok(Reply::report(&asked.ask(&terms(effort(&asked)))?))
        }
    }
}

/// While a hand moves, answers are as certified, and perhaps a hundred-thousandth wider.
fn effort(question: &Question) -> Effort {
    match question {
        Question::Certificate(CertificateQuestion { reductions: true, .. }) => Effort::Normal,
        Question::Calibration(_) | Question::Account(_) => Effort::Normal,
        _ => Effort::Fast,
    }
}

const SHAPES: &str = "/api/openapi.json describes what can be asked";

fn nothing(path: &str) -> Box<Trouble> {
    let path: String = path.chars().take(60).collect();
    Trouble::new(404, format!("there is nothing at {path}"), "/api/openapi.json lists what there is")
}

fn absent(error: unspent::Error) -> Box<Trouble> {
    Box::new(Trouble { status: 404, ..*Box::<Trouble>::from(error) })
}

fn understood<Q: DeserializeOwned>(body: &[u8]) -> Result<Q> {
    serde_json::from_slice(body)
        .map_err(|error| Trouble::new(400, format!("the question cannot be read: {error}"), SHAPES))
}

fn accuracy(question: &AccuracyQuestion) -> Result<Reply> {
    let allocation = question.allocation.allocation()?;
    check_cells(&allocation)?;
    let question = AccuracyQuestion { allocation: allocation.into(), ..question.clone() };
    Ok(Reply::json(&question.ask(&terms(Effort::Fast))?.shown()))
}

/// Which picture.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Curve,
    Tradeoff,
    Noise,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureQuestion {
    figure: Kind,
    draft: Draft,
    /// What to compare with.
    start: Option<Draft>,
    part: Scope,
}

impl FigureQuestion {
    fn draw(&self) -> Result<Figure> {
        let now = self.draft.allocation()?;
        let start = self.start.as_ref().filter(|start| **start != self.draft);
        let start = start.map(Draft::allocation).transpose()?;
        let (start, terms) = (start.as_ref(), terms(Effort::Fast));
        Ok(match self.figure {
            Kind::Curve => pictures::curve_picture(&now, &self.part, start, &terms)?,
            Kind::Tradeoff => pictures::tradeoff_picture(&now, &self.part, start, &terms)?,
            Kind::Noise => pictures::deviations(&now, start),
        })
    }
}

/// As which file.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Toml,
    Csv,
    Svg,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportQuestion {
    format: Format,
    draft: Draft,
    figure: Kind,
    part: Scope,
    start: Option<Draft>,
}

fn export(question: &ExportQuestion) -> Result<Reply> {
    let ExportQuestion { format, draft, figure, part, start } = question;
    Ok(match format {
        Format::Toml => Reply::new("application/toml; charset=utf-8", draft.allocation()?.to_file()?),
        Format::Csv => {
            let question = CertificateQuestion::about([Product::Draft(Box::new(draft.clone()))]);
            let report = question.ask(&terms(Effort::Normal))?;
            Reply::new("text/csv; charset=utf-8", report.columns().csv())
        }
        Format::Svg => {
            let (draft, start, part) = (draft.clone(), start.clone(), part.clone());
            let figure = FigureQuestion { figure: *figure, draft, start, part }.draw()?;
            Reply::new("image/svg+xml", svg(&figure))
        }
    })
}
