//! What can be asked: drafts in, the library's reports out.
//!
//! The shapes are those of `--json`; `openapi.json` describes them.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::body::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unspent::allocation::{Measurement, Neighbours};
use unspent::file::Draft;
use unspent::reading::Attack;
use unspent::report::{self, Figure};
use unspent::{
    Allocation, Alpha, Certificate, Epsilon, Preset, Promise, Rational, Recalibration, Release, Round, Scope,
};

use crate::plot::{self, Axis, Bar, Panel, Role, Series};
use crate::{certificate, curve, presets};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const JSON: &str = "application/json";

/// An answer, ready to send.
pub struct Reply {
    pub status: u16,
    pub kind: &'static str,
    pub body: Bytes,
}

impl Reply {
    fn new(kind: &'static str, body: impl Into<String>) -> Reply {
        Reply { status: 200, kind, body: Bytes::from(body.into()) }
    }

    fn json(report: &impl Serialize) -> Reply {
        Reply::new(JSON, serde_json::to_string(report).expect("texts, numbers and lists"))
    }
}

/// An answer, or why there is none.
pub type Result<T> = std::result::Result<T, Box<Trouble>>;

/// Why there is no answer.
#[derive(Serialize)]
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
            ..*Trouble::new(422, error.to_string(), error.hint())
        })
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

/// A question that was understood.
pub struct Question {
    /// Whether it may take long: those wait for each other, and not others for them.
    pub is_long: bool,
    /// May be asked again, if it was stopped.
    pub answer: Arc<dyn Fn() -> Result<Reply> + Send + Sync>,
}

impl Question {
    fn new(is_long: bool, answer: impl Fn() -> Result<Reply> + Send + Sync + 'static) -> Question {
        Question { is_long, answer: Arc::new(answer) }
    }
}

/// Longest file that is read: that many bytes are thousands of measurements, and a preset has ten thousand.
const MAX_TEXT: usize = 256 << 10;

/// Most measurements that the lines of a certificate have together, and from how many on it is known to take long. The
/// largest preset has less than a thousand.
const MAX_EXTENT: usize = 50_000;
const LONG_EXTENT: usize = 5_000;

/// How many measurements the lines of a draft's certificate have together: the total, every level, every attribute, and every
/// level with what is below it.
fn extent(draft: &Draft) -> usize {
    let touched: HashMap<&str, usize> =
        draft.queries.iter().map(|query| (query.name.as_str(), query.attributes.len())).collect();
    let (mut lines, mut above) = (0, 0);
    for level in &draft.levels {
        let attributes = level.shares.iter().map(|part| touched.get(part.query.as_str()).unwrap_or(&0));
        lines += level.shares.len() * (2 + above) + attributes.sum::<usize>();
        above += usize::from(draft.nested);
    }
    lines
}

/// The release of a draft, unless its certificate has more lines, and longer ones, than are worked out while somebody waits.
fn certifiable(draft: &Draft) -> Result<Release> {
    let allocation = draft.allocation()?;
    let found = extent(draft);
    if found <= MAX_EXTENT {
        return Ok(Release::from(allocation));
    }
    let cause = format!(
        "levels: a certificate of so many lines is not made here: \
         they have {found} measurements together, at most {MAX_EXTENT} are allowed"
    );
    let hint = "`unspent certificate` has no such limit: save the draft as a file";
    Err(unspent::Error::stated(cause, hint).into())
}

/// A page, a part of it, or a list.
pub fn get(path: &str) -> Result<Reply> {
    Ok(match path {
        "/" => Reply::new(HTML, include_str!("page/index.html")),
        "/explorer.js" => Reply::new(SCRIPT, include_str!("page/explorer.js")),
        "/explorer.css" => Reply::new(STYLE, include_str!("page/explorer.css")),
        "/exact.js" => Reply::new(SCRIPT, include_str!("page/exact.js")),
        "/charts.js" => Reply::new(SCRIPT, include_str!("../page/charts.js")),
        "/charts.css" => Reply::new(STYLE, include_str!("../page/charts.css")),
        "/api/openapi.json" => {
            Reply::new(JSON, include_str!("openapi.json").replace("{{version}}", env!("CARGO_PKG_VERSION")))
        }
        "/api/presets" => Reply::json(&presets::entries()?),
        _ => match path.strip_prefix("/api/presets/") {
            Some(name) => Reply::json(&Drafted::from(&Preset::find(name).map_err(absent)?.allocation()?)),
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

const QUESTIONS: [&str; 7] = [
    "/api/read",
    "/api/certificate",
    "/api/figure",
    "/api/noise",
    "/api/reading",
    "/api/calibrate",
    "/api/export",
];

/// Whether something is asked there with a body.
pub fn takes_body(path: &str) -> Result<()> {
    if QUESTIONS.contains(&path) { Ok(()) } else { Err(nothing(path)) }
}

/// What is asked.
pub fn question(path: &str, body: &[u8]) -> Result<Question> {
    Ok(match path {
        "/api/read" => {
            let asked: ReadQuestion = understood(body)?;
            if asked.text.len() > MAX_TEXT {
                let cause = format!(
                    "text: {} bytes are more than the {MAX_TEXT} that are read here",
                    asked.text.len()
                );
                let hint = "an allocation is a short text; `unspent certificate` takes longer ones";
                return Err(unspent::Error::stated(cause, hint).into());
            }
            Question::new(false, move || read(&asked))
        }
        "/api/certificate" => {
            let asked: CertificateQuestion = understood(body)?;
            Question::new(asked.reductions || extent(&asked.draft) > LONG_EXTENT, move || certify(&asked))
        }
        "/api/figure" => {
            let asked: FigureQuestion = understood(body)?;
            Question::new(false, move || Ok(Reply::json(&asked.draw()?)))
        }
        "/api/noise" => {
            let asked: NoiseQuestion = understood(body)?;
            Question::new(false, move || noise(&asked))
        }
        "/api/reading" => {
            let asked: ReadingQuestion = understood(body)?;
            Question::new(false, move || reading(&asked))
        }
        "/api/calibrate" => {
            let asked: CalibrateQuestion = understood(body)?;
            Question::new(true, move || calibrate(&asked))
        }
        "/api/export" => {
            let asked: ExportQuestion = understood(body)?;
            Question::new(matches!(asked.format, Format::Csv), move || export(&asked))
        }
        _ => return Err(nothing(path)),
    })
}

fn nothing(path: &str) -> Box<Trouble> {
    let path: String = path.chars().take(60).collect();
    Trouble::new(404, format!("there is nothing at {path}"), "/api/openapi.json lists what there is")
}

fn absent(error: unspent::Error) -> Box<Trouble> {
    Box::new(Trouble { status: 404, ..*Box::<Trouble>::from(error) })
}

fn understood<Q: DeserializeOwned>(body: &[u8]) -> Result<Q> {
    serde_json::from_slice(body).map_err(|error| {
        let hint = "/api/openapi.json describes what can be asked";
        Trouble::new(400, format!("the request cannot be read: {error}"), hint)
    })
}

/// An allocation to be edited.
#[derive(Serialize)]
struct Drafted {
    draft: Draft,
}

impl From<&Allocation> for Drafted {
    fn from(allocation: &Allocation) -> Drafted {
        Drafted { draft: Draft::from(allocation) }
    }
}

/// A file that was dropped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadQuestion {
    name: String,
    text: String,
    /// What a table of budgets cannot say.
    neighbours: Option<String>,
}

fn read(question: &ReadQuestion) -> Result<Reply> {
    let ReadQuestion { name, text, neighbours } = question;
    let neighbours = neighbours.as_deref().map(Neighbours::parse).transpose()?;
    let allocation = Allocation::parse_named(name, text, neighbours)?;
    Ok(Reply::json(&Drafted { draft: Draft::of(&allocation)? }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateQuestion {
    draft: Draft,
    /// Whether to say what noise could go, which takes most of the time.
    #[serde(default = "yes")]
    reductions: bool,
}

fn yes() -> bool {
    true
}

fn certify(question: &CertificateQuestion) -> Result<Reply> {
    let release = certifiable(&question.draft)?;
    Ok(Reply::json(&if question.reductions {
        Certificate::new(&release, None, None)?
    } else {
        // Asked while a hand moves: as certified, and perhaps a hundred-thousandth wider.
        Certificate::without_reductions(&release.in_haste(), None, None)?
    }))
}

/// Which part of a release.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    kind: String,
    name: Option<String>,
}

impl Part {
    fn scope(&self) -> Result<Scope> {
        match (self.kind.as_str(), self.name.clone()) {
            ("total", None) => Ok(Scope::Total),
            ("level", Some(name)) => Ok(Scope::Level(name)),
            ("keeping", Some(name)) => Ok(Scope::Keeping(name)),
            ("attribute", Some(name)) => Ok(Scope::Attribute(name)),
            ("within", Some(name)) => Ok(Scope::Within(name)),
            (kind, _) => Err(unspent::Error::input(
                "scope",
                kind,
                "total, or level, keeping, attribute or within with a name",
                "like {\"kind\": \"level\", \"name\": \"State\"}",
            )
            .into()),
        }
    }
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
    scope: Part,
}

impl FigureQuestion {
    fn draw(&self) -> Result<plot::Figure> {
        let scope = self.scope.scope()?;
        let release = |draft: &Draft| Ok::<_, Box<Trouble>>(Release::from(draft.allocation()?).in_haste());
        let now = release(&self.draft)?;
        let start = self.start.as_ref().filter(|start| **start != self.draft);
        let start = start.map(release).transpose()?;
        Ok(match self.figure {
            Kind::Curve => curve::curve_picture(&now, &scope, start.as_ref())?,
            Kind::Tradeoff => curve::tradeoff_picture(&now, &scope, start.as_ref())?,
            Kind::Noise => {
                deviations(&now.allocations()[0], start.as_ref().map(|start| &start.allocations()[0]))
            }
        })
    }
}

/// σ in so many digits, to be read; not a bound.
fn deviation(measurement: &Measurement, digits: u32) -> (f64, String) {
    let sigma = measurement.noise.sigma2().to_f64().sqrt();
    let exact = Rational::from_f64("sigma", sigma).expect("variances are finite");
    (sigma, exact.to_decimal(digits, Round::Up))
}

/// What the noise of an allocation does not say where units may have been bypassed.
fn bypassed(allocation: &Allocation) -> Option<String> {
    let note = "Where no unit was bypassed. Where one was, the unit above it has its budget, and less noise.";
    (allocation.paths().len() > 1).then(|| note.into())
}

/// The noise of every query, a panel a level.
fn deviations(now: &Allocation, start: Option<&Allocation>) -> plot::Figure {
    let before: HashMap<(&str, &str), &Measurement> = start
        .into_iter()
        .flat_map(Allocation::measurements)
        .map(|(level, query, m)| ((level.name.as_str(), query.name.as_str()), m))
        .collect();
    let bar = |measurement: Option<&Measurement>| match measurement.map(|m| deviation(m, 4)) {
        Some((value, label)) => Bar { value, label },
        None => Bar { value: f64::NAN, label: String::new() },
    };
    let panels = now.levels().iter().map(|level| {
        let queries: Vec<String> =
            level.measurements.iter().map(|m| now.queries()[m.query].name.clone()).collect();
        let bars = level.measurements.iter().map(|m| bar(Some(m))).collect();
        let mut series = vec![Series::bars("now", Role::Guarantee, bars)];
        if start.is_some() {
            let bars = queries.iter().map(|query| bar(before.get(&(&level.name, query)).copied())).collect();
            series.push(Series::bars("at the start", Role::Alternative, bars));
        }
        Panel {
            title: level.name.clone(),
            x: Axis::linear("σ, standard deviation of the noise"),
            categories: queries,
            series,
            ..Panel::default()
        }
    });
    plot::Figure {
        title: "Noise by level and query".into(),
        subtitle: now.name().into(),
        notes: bypassed(now).into_iter().collect(),
        columns: 2,
        panels: panels.collect(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseQuestion {
    draft: Draft,
}

/// What is spent, and the noise that spends it.
#[derive(Serialize)]
struct Noise {
    rho: Figure,
    measurements: Vec<MeasuredNoise>,
}

#[derive(Serialize)]
struct MeasuredNoise {
    level: String,
    query: String,
    rho: String,
    sigma2: String,
    /// σ in a few digits, to be read; not a bound.
    deviation: String,
}

fn noise(question: &NoiseQuestion) -> Result<Reply> {
    let allocation = question.draft.allocation()?;
    let measurements = allocation.measurements().map(|(level, query, m)| MeasuredNoise {
        level: level.name.clone(),
        query: query.name.clone(),
        rho: m.rho.to_decimal_or_fraction(),
        sigma2: m.noise.sigma2().to_decimal_or_fraction(),
        deviation: deviation(m, 5).1,
    });
    let rhos: Vec<Rational> = allocation.measurements().map(|(_, _, m)| m.rho.clone()).collect();
    Ok(Reply::json(&Noise { rho: report::sum(&rhos), measurements: measurements.collect() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingQuestion {
    draft: Draft,
    scope: Part,
    /// What is believed before.
    prior: String,
}

/// What the best attacker reaches.
#[derive(Serialize)]
struct Reading {
    prior: String,
    record: String,
    neighbours: &'static str,
    attacks: Vec<Attack>,
}

/// The rates of false alarms that people think in.
const RATES: [&str; 2] = ["0.01", "0.05"];

fn reading(question: &ReadingQuestion) -> Result<Reply> {
    let release = Release::from(question.draft.allocation()?).in_haste();
    let cases = release.worst_case(&question.scope.scope()?)?;
    let prior = Rational::parse("prior", &question.prior)?;
    let attacks = RATES.iter().map(|rate| Attack::best(&cases, &Alpha::parse(rate)?, &prior));
    Ok(Reply::json(&Reading {
        prior: prior.to_decimal_or_fraction(),
        record: release.record().into(),
        neighbours: release.neighbours().name(),
        attacks: attacks.collect::<unspent::Result<_>>()?,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrateQuestion {
    draft: Draft,
    /// What to keep; what was published unless given.
    epsilon: Option<String>,
    each_level: bool,
}

#[derive(Serialize)]
struct Calibrated {
    report: Recalibration,
    draft: Draft,
}

fn calibrate(question: &CalibrateQuestion) -> Result<Reply> {
    let allocation = question.draft.allocation()?;
    let promise = match &question.epsilon {
        Some(epsilon) => Some(Promise::Epsilon(Epsilon::parse(epsilon)?)),
        None => Promise::stated(&allocation, None, question.each_level),
    };
    let promise = promise.ok_or_else(|| {
        Trouble::new(
            422,
            "no promise: the allocation does not say what was published",
            "give the epsilon to keep",
        )
    })?;
    let report = allocation.calibrate(&promise, question.each_level, None)?;
    Draft::of(&report.allocation)?;
    // It states what was kept: a conversion of the larger rho would promise more, and more again.
    let draft = question.draft.with_budget_of(&report.allocation);
    Ok(Reply::json(&Calibrated { report, draft }))
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
    scope: Part,
    start: Option<Draft>,
}

fn export(question: &ExportQuestion) -> Result<Reply> {
    let ExportQuestion { format, draft, figure, scope, start } = question;
    Ok(match format {
        Format::Toml => {
            let allocation = draft.allocation()?;
            Reply::new("application/toml; charset=utf-8", allocation.to_file()?)
        }
        Format::Csv => {
            let report = Certificate::new(&certifiable(draft)?, None, None)?;
            Reply::new("text/csv; charset=utf-8", certificate::csv(&report))
        }
        Format::Svg => {
            let (draft, start, scope) = (draft.clone(), start.clone(), scope.clone());
            let figure = FigureQuestion { figure: *figure, draft, start, scope }.draw()?;
            Reply::new("image/svg+xml", plot::svg(&figure))
        }
    })
}
