//! `unspent certificate`: what a release promises, as published and tight, and what noise could go.

use clap::Args;
use unspent::allocation::Neighbours;
use unspent::certificate::{Against, Certificate, Line, Reduction};
use unspent::report::Figure;
use unspent::{Conversion, Delta, Epsilon, Magnitude, Rational, Round};

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
  unspent certificate --product dhc-persons-us-2020 --product dhc-units-us-2020 --touches 2
  unspent certificate budget.toml --check
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

    /// An epsilon that is promised for the whole release, to be checked
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,

    /// Ends with exit code 3 if a promise is not certified to be kept
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let conversion = self.conversion.as_deref().map(Conversion::parse).transpose()?;
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose()?;
        let release = self.source.release()?;
        let mut certificate = Certificate::new(&release, delta.as_ref(), conversion)?;
        if let Some(epsilon) = &epsilon {
            certificate = certificate.promising(&release, epsilon)?;
        }
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&certificate),
            Format { csv: true, .. } => csv(&certificate),
            Format { markdown: true, .. } => document(&certificate).markdown(),
            _ => document(&certificate).terminal(),
        })?;
        if self.check { keeps(&certificate) } else { Ok(()) }
    }
}

/// What to do about a promise that is not kept.
pub const NOT_KEPT: &str =
    "`unspent calibrate FILE --epsilon E` finds noise that keeps it; or state what is delivered";

/// A failure with exit code 3 if a promise is not certified to be kept.
fn keeps(certificate: &Certificate) -> Result<(), Failure> {
    match certificate.promises.iter().find(|promise| promise.kept != Some(true)) {
        None => Ok(()),
        Some(broken) => Err(Failure {
            code: 3,
            ..Failure::usage(format!("`{}`: {}", broken.product, broken.in_words()), NOT_KEPT)
        }),
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
        "keeping" => {
            Some("the record, inside one unit, whose total stays: two moves of each query that can change")
        }
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
    for promise in &certificate.promises {
        let of =
            if certificate.products.len() > 1 { format!("{}: ", promise.product) } else { String::new() };
        text.line(format!("{of}{}", promise.in_words()));
    }
    for product in &certificate.products {
        text.line(&product.name);
        text.line(format!(
            "  {}, {}, {}; zCDP rho{}",
            counted(product.levels, "level"),
            if product.queries == 1 { "1 query".into() } else { format!("{} queries", product.queries) },
            counted(product.measurements, "measurement"),
            equals(&product.rho)
        ));
        if product.touches > 1 {
            text.line(format!("  one {} can change {} of its records", certificate.record, product.touches));
        }
        if product.paths > 1 {
            text.line(format!(
                "  {} paths through the geography: units were bypassed, and their budget moved up",
                product.paths
            ));
        }
    }
    text.line(in_words(certificate.neighbours, &certificate.record));
    text.line(format!("delta{}", decimal::equals(certificate.delta.value())));
    text.line("");
    text.table(epsilons(certificate));
    text.line("");
    text.line(
        "Each epsilon up to tight (≤) is a guarantee, rounded up; the truth lies between tight (≤) and truth (≥).",
    );
    text.line("Bun–St.: Bun and Steinke's conversion from rho. C.–K.–St.: Canonne, Kamath and Steinke's.");
    if let Some(conversion) = certificate.published {
        text.line(format!("* marks the conversion behind what was published ({}).", conversion.authors()));
    }
    if has_paths(certificate) {
        text.line(
            "Each line is the worst over all pairs of paths; `main path` is the upper end where no unit was bypassed, and no guarantee for others.",
        );
    }
    if certificate.lines.iter().any(|line| !line.attained) {
        text.line(
            "° No neighbours are known that attain the upper end: the lower one is that of neighbours that are known.",
        );
    }
    left_out(&mut text, certificate);
    text.line("");
    text.line("Assumed, and not checked:");
    for assumption in &certificate.assumptions {
        text.line(format!("- {assumption}"));
    }
    if let [first, ..] = certificate.missing.as_slice() {
        text.line("");
        text.line(format!("Not counted here, of the {}:", first.series));
        for missing in &certificate.missing {
            text.line(format!("- {} ({})", missing.name, missing.about));
        }
    }
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
    if let [first, ..] = certificate.places_left_out.as_slice() {
        let names: Vec<&str> = certificate.places_left_out.iter().map(|left| left.name.as_str()).collect();
        let reason = first.reason.split_once(": ").map_or(first.reason.as_str(), |(_, reason)| reason);
        text.line(format!("Nothing is said of places inside {}: {reason}.", names.join(", ")));
    }
}

/// Whether some line is the worst of several.
fn has_paths(certificate: &Certificate) -> bool {
    certificate.lines.iter().any(|line| line.main_path.is_some())
}

fn epsilons(certificate: &Certificate) -> Table {
    let mark = |conversion: Conversion, name: &str| {
        let star = if certificate.published == Some(conversion) { " *" } else { "" };
        format!("{name}{star}")
    };
    let [first, second] =
        [mark(Conversion::BunSteinke, "Bun–St."), mark(Conversion::CanonneKamathSteinke, "C.–K.–St.")];
    let mut heads = vec!["epsilon of", "rho", &first, &second, "tight (≤)", "truth (≥)"];
    let paths = has_paths(certificate);
    if paths {
        heads.push("main path");
    }
    let mut table = Table::new(&heads);
    let mut scope = "total";
    for line in &certificate.lines {
        if line.scope != scope {
            scope = line.scope;
            table.head(heading(scope).unwrap_or_default());
        }
        table.row(row(line, paths));
    }
    table
}

fn row(line: &Line, paths: bool) -> Vec<String> {
    let label = if line.scope == "total" { "the whole release".into() } else { line.label.clone() };
    let [most, mut least] = ends(&line.tight);
    if !line.attained {
        least.push('°');
    }
    let mut cells = vec![
        label,
        padded(&line.rho.at_most(READABLE)),
        up(&line.bun_steinke),
        up(&line.canonne_kamath_steinke),
        most,
        least,
    ];
    if paths {
        cells.push(line.main_path.as_ref().map_or_else(String::new, |main| ends(main)[0].clone()));
    }
    cells
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
        "attained",
        "cases",
        "main_path_upper",
        "main_path_lower",
        "kept",
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
            line.attained.to_string(),
            line.cases.to_string(),
            line.main_path.as_ref().map_or_else(String::new, |main| main.at_most(FULL)),
            line.main_path.as_ref().map_or_else(String::new, |main| main.at_least(FULL)),
            certificate
                .kept
                .filter(|_| line.scope == "total")
                .map_or_else(String::new, |kept| kept.to_string()),
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
