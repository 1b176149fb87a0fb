//! `unspent certificate`: what a release promises, as published and tight, and what noise could go.

use clap::Args;
use unspent::allocation::Neighbours;
use unspent::certificate::{Against, Certificate, Line, Reduction};
use unspent::report::Figure;
use unspent::{Conversion, Delta, Magnitude, Rational, Round};

use crate::Failure;
use crate::decimal::{self, FULL, READABLE, padded};
use crate::document::{Document, Table};
use crate::output::{self, Format};
use crate::source::Source;

/// What a release promises: by level, attribute and place, as published and tight.
///
/// Every epsilon stands there three times: by the conversions from rho of Bun and Steinke and of
/// Canonne, Kamath and Steinke, and tight, as certified bounds. The last part says what noise could
/// go: by what factor all variances, or those of one level, could be smaller for the same published
/// epsilon.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent certificate pl94-persons-us-2020
  unspent certificate budget.toml --delta 1e-6 --markdown
  unspent certificate --product pl94-persons-us-2020 --product dhc-persons-us-2020
  unspent certificate budgets.csv --neighbours bounded --delta 1e-10 --json"
)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    /// The delta of every epsilon; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// The conversion whose epsilon counts as published
    ///
    /// bun-steinke or canonne-kamath-steinke; that of the allocation unless given.
    #[arg(long, value_name = "C")]
    conversion: Option<String>,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let conversion = self.conversion.as_deref().map(Conversion::parse).transpose()?;
        let release = self.source.release()?;
        let certificate = Certificate::new(&release, delta.as_ref(), conversion)?;
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&certificate),
            Format { csv: true, .. } => csv(&certificate),
            Format { markdown: true, .. } => document(&certificate).markdown(),
            _ => document(&certificate).terminal(),
        })
    }
}

/// What neighbours are, in words.
pub fn in_words(neighbours: Neighbours, record: &str) -> String {
    match neighbours {
        Neighbours::Bounded => {
            format!(
                "Neighbours: bounded. One {record} changes: it leaves a cell of each query and enters another."
            )
        }
        Neighbours::AddRemove => {
            format!("Neighbours: add-remove. One {record} comes or goes: it moves one cell of each query.")
        }
    }
}

/// ` = ρ`, exact if that is short.
pub fn equals(rho: &Figure) -> String {
    match rho {
        Figure::Exact(rho) => decimal::equals(rho),
        Figure::Between { .. } => format!(" ≤ {}", rho.at_most(READABLE)),
    }
}

/// An upper bound for people.
pub fn up(x: &Magnitude) -> String {
    padded(&x.to_decimal(READABLE, Round::Up))
}

/// Both ends for people.
pub fn ends(figure: &Figure) -> [String; 2] {
    [padded(&figure.at_most(READABLE)), padded(&figure.at_least(READABLE))]
}

/// The change of a variance in percent; a reduction is never more than it is.
pub fn change(factor: &Rational) -> String {
    let percent = &(factor - &Rational::from(1)) * &Rational::from(100);
    let sign = if *factor > Rational::from(1) { "+" } else { "" };
    format!("{sign}{} %", percent.to_decimal(5, Round::Up).replace('-', "−"))
}

/// `3 levels`, `1 level`.
fn counted(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// How the rows of a scope are headed.
pub fn heading(scope: &str) -> Option<&'static str> {
    match scope {
        "level" => Some("one level, to a reader of that level only"),
        "attribute" => Some("the value of one attribute: two moves of each query that touches it"),
        "within" => Some("the place, inside one unit: two moves of each query at the levels below"),
        _ => None,
    }
}

/// The whole of it in one line.
pub fn in_short(certificate: &Certificate) -> String {
    let total = &certificate.lines[0];
    format!(
        "Tight epsilon ≤ {} at delta{}, for {} neighbours; certificate.md has the rest.",
        total.tight.at_most(READABLE),
        decimal::equals(certificate.delta.value()),
        certificate.neighbours
    )
}

/// The certificate for people.
pub fn document(certificate: &Certificate) -> Document {
    let mut text = Document::default();
    for product in &certificate.products {
        text.line(&product.name);
        text.line(format!(
            "  {}, {}, {}; zCDP rho{}",
            counted(product.levels, "level"),
            if product.queries == 1 { "1 query".into() } else { format!("{} queries", product.queries) },
            counted(product.measurements, "measurement"),
            equals(&product.rho)
        ));
    }
    text.line(in_words(certificate.neighbours, &certificate.record));
    text.line(format!("delta{}", decimal::equals(certificate.delta.value())));
    text.line("");
    text.table(epsilons(certificate));
    text.line("");
    text.line("Each epsilon but the last is a guarantee, rounded up; the truth lies between the last two.");
    text.line("Bun–St.: Bun and Steinke's conversion from rho. C.–K.–St.: Canonne, Kamath and Steinke's.");
    if let Some(conversion) = certificate.published {
        text.line(format!("* marks the conversion behind what was published ({}).", conversion.authors()));
    }
    if certificate.lines.iter().any(|line| line.scope == "attribute") {
        text.line("What a query touches is what the allocation says it touches.");
    }
    left_out(&mut text, certificate);
    text.line("");
    let Some(against) = &certificate.against else {
        text.line("What noise could go: no promise is stated; --conversion measures against one.");
        return text;
    };
    text.line(match against {
        Against::Conversion(conversion) => {
            format!("What noise could go, for the same epsilon by {}:", conversion.authors())
        }
        Against::Stated(_) => "What noise could go, for the epsilon that the allocation states:".into(),
    });
    text.line("");
    text.table(reductions(certificate));
    text.line("");
    text.line(
        "The factor is certified: all variances of the row times it keep the row's epsilon at this delta.",
    );
    if certificate.reductions.len() > 1 {
        text.line(
            "Each row is by itself: levels that are reduced together may exceed the epsilon of the whole.",
        );
    }
    if let [_] = certificate.products.as_slice() {
        text.line("`unspent calibrate` writes the allocation.");
    }
    text
}

/// What a reader may miss.
fn left_out(text: &mut Document, certificate: &Certificate) {
    let several = certificate.products.len() > 1;
    if !certificate.left_out.is_empty() {
        let names = certificate.left_out.join(", ");
        text.line(if several {
            format!("Nothing is said of {names}: not every product knows it by that name.")
        } else {
            format!("No query touches {names}: nothing is released about it.")
        });
    }
    if !certificate.places_left_out.is_empty() {
        let names = certificate.places_left_out.join(", ");
        text.line(if several {
            format!("Nothing is said of places inside {names}: not every product has that level.")
        } else {
            "Nothing is said of places: the levels are not known to be nested.".into()
        });
    }
}

fn epsilons(certificate: &Certificate) -> Table {
    let mark = |conversion: Conversion, name: &str| {
        let star = if certificate.published == Some(conversion) { " *" } else { "" };
        format!("{name}{star}")
    };
    let mut table = Table::new(&[
        "epsilon of",
        "rho",
        &mark(Conversion::BunSteinke, "Bun–St."),
        &mark(Conversion::CanonneKamathSteinke, "C.–K.–St."),
        "tight (≤)",
        "truth (≥)",
    ]);
    let mut scope = "total";
    for line in &certificate.lines {
        if line.scope != scope {
            scope = line.scope;
            table.head(heading(scope).unwrap_or_default());
        }
        table.row(row(line));
    }
    table
}

fn row(line: &Line) -> Vec<String> {
    let label = if line.scope == "total" { "the whole release".into() } else { line.label.clone() };
    let [most, least] = ends(&line.tight);
    vec![
        label,
        padded(&line.rho.at_most(READABLE)),
        up(&line.bun_steinke),
        up(&line.canonne_kamath_steinke),
        most,
        least,
    ]
}

fn reductions(certificate: &Certificate) -> Table {
    let mut table = Table::new(&[
        "noise of",
        "epsilon",
        "variance now",
        "times (certified)",
        "variance enough",
        "change",
    ]);
    for reduction in &certificate.reductions {
        let name = reduction.name.clone().unwrap_or_else(|| "all levels alike".into());
        let enough = |sigma2: &Rational| sigma2 * &reduction.factor;
        table.row(vec![
            name,
            up(&reduction.epsilon),
            range(&reduction.least_sigma2, &reduction.greatest_sigma2, Round::Down),
            reduction.factor.to_decimal_or_fraction(),
            range(&enough(&reduction.least_sigma2), &enough(&reduction.greatest_sigma2), Round::Up),
            change(&reduction.factor),
        ]);
    }
    table
}

/// One variance, or the smallest and the largest. What is there is never more than it is, and what is enough never less.
fn range(least: &Rational, greatest: &Rational, round: Round) -> String {
    if least == greatest {
        return least.to_decimal(READABLE, round);
    }
    format!("{} … {}", least.to_decimal(5, round), greatest.to_decimal(5, round))
}

pub fn csv(certificate: &Certificate) -> String {
    let heads = [
        "scope",
        "name",
        "label",
        "neighbours",
        "moves",
        "delta",
        "rho",
        "bun_steinke",
        "canonne_kamath_steinke",
        "tight_upper",
        "tight_lower",
        "method",
        "against",
        "promised_epsilon",
        "factor",
        "least_sigma2",
        "greatest_sigma2",
    ];
    let up = |x: &Magnitude| x.to_decimal(FULL, Round::Up);
    let rows = certificate.lines.iter().map(|line| {
        let same = |r: &&Reduction| r.scope == line.scope && r.name == line.name;
        let reduction = certificate.reductions.iter().find(same);
        let of = |field: &dyn Fn(&Reduction) -> String| reduction.map(field).unwrap_or_default();
        vec![
            line.scope.into(),
            line.name.clone().unwrap_or_default(),
            line.label.clone(),
            certificate.neighbours.name().into(),
            line.moves.to_string(),
            certificate.delta.value().to_decimal(FULL, Round::Up),
            line.rho.at_most(FULL),
            up(&line.bun_steinke),
            up(&line.canonne_kamath_steinke),
            line.tight.at_most(FULL),
            line.tight.at_least(FULL),
            line.method.name().into(),
            of(&|_| certificate.against.as_ref().map_or_else(String::new, |a| a.name().into())),
            of(&|r| up(&r.epsilon)),
            of(&|r| r.factor.to_decimal_or_fraction()),
            of(&|r| r.least_sigma2.to_decimal(FULL, Round::Down)),
            of(&|r| r.greatest_sigma2.to_decimal(FULL, Round::Down)),
        ]
    });
    output::csv(&heads, &rows.collect::<Vec<_>>())
}
