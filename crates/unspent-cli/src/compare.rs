//! `unspent compare`: two allocations side by side.

use clap::Args;
use unspent::comparison::{Comparison, Pair};
use unspent::report::Figure;
use unspent::{Delta, Neighbours, Rational, Release, Round};

use crate::Failure;
use crate::certificate::{ends, heading};
use crate::decimal::{self, FULL};
use crate::document::{Document, Table};
use crate::output::{self, Format};
use crate::source;

/// Two allocations side by side: where they differ, and what it costs.
///
/// For every part that either has, the tight epsilon of both; for every query whose noise is not the
/// same, both variances. If the two are for different neighbours, their totals are also given for the
/// same ones.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent compare dhc-persons-us-2022-08-25 dhc-persons-us-2020
  unspent compare pl94-persons-us-2020 less-noise.toml --markdown"
)]
pub struct Arguments {
    /// A preset or an allocation file
    #[arg(value_name = "A")]
    first: String,

    /// Another one
    #[arg(value_name = "B")]
    second: String,

    /// For a table (.csv): bounded or add-remove
    ///
    /// A table cannot say what its neighbours are; any other file does.
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// The delta of every epsilon; that of A unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    #[command(flatten)]
    format: Format,
}

/// Differences in noise that are listed for people before the rest is only counted.
const SHOWN: usize = 40;

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let read = |name: &String| source::allocation_among(name, neighbours).map(Release::from);
        let comparison = Comparison::new(&read(&self.first)?, &read(&self.second)?, delta.as_ref())?;
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&comparison),
            Format { csv: true, .. } => csv(&comparison),
            Format { markdown: true, .. } => document(&comparison).markdown(),
            _ => document(&comparison).terminal(),
        })
    }
}

fn document(comparison: &Comparison) -> Document {
    let mut text = Document::default();
    for (side, letter) in comparison.sides.iter().zip(["A", "B"]) {
        text.line(format!("{letter}: {}", side.name));
        text.line(format!(
            "   one record is a {}; {} neighbours; {} measurements",
            side.record, side.neighbours, side.measurements
        ));
    }
    text.line(format!("delta{}", decimal::equals(&comparison.delta)));
    text.line("");
    if !comparison.same_neighbours {
        text.line(
            "A and B are for different neighbours: their totals and levels are not comparable. These are:",
        );
        text.line("");
        let mut table = Table::new(&["total, both with neighbours", "A, tight (≤)", "B, tight (≤)", "B − A"]);
        for restated in &comparison.restated {
            let [a, b] = &restated.tight;
            let [left, right] = [&ends(a)[0], &ends(b)[0]];
            table.row(vec![restated.neighbours.into(), left.clone(), right.clone(), difference(a, b)]);
        }
        text.table(table);
        text.line("");
    }
    if comparison.sides[0].record != comparison.sides[1].record {
        text.line("A record is not the same in A and in B: differences compare one with the other.");
        text.line("");
    }
    text.table(epsilons(comparison));
    text.line("");
    noise(&mut text, comparison);
    text.line(
        "Each epsilon is a guarantee, rounded up; the difference is between what the truths are at most.",
    );
    text
}

fn epsilons(comparison: &Comparison) -> Table {
    let mut table = Table::new(&["epsilon of", "rho, A", "rho, B", "A, tight (≤)", "B, tight (≤)", "B − A"]);
    let mut scope = "total";
    for pair in &comparison.lines {
        if pair.scope != scope {
            scope = pair.scope;
            table.head(heading(scope).unwrap_or_default());
        }
        // Two moves per query count for a changed value or place, whatever the neighbours of the total.
        let comparable = comparison.same_neighbours || matches!(scope, "attribute" | "within");
        table.row(row(pair, comparable));
    }
    table
}

fn row(pair: &Pair, comparable: bool) -> Vec<String> {
    let none = || "–".to_string();
    let [a, b] = &pair.sides;
    let rho = |line: &Option<unspent::certificate::Line>| {
        line.as_ref().map_or_else(none, |line| line.rho.at_most(6))
    };
    let tight = |line: &Option<unspent::certificate::Line>| {
        line.as_ref().map_or_else(none, |line| ends(&line.tight)[0].clone())
    };
    let cost = match (a, b) {
        (Some(a), Some(b)) if comparable => difference(&a.tight, &b.tight),
        _ => none(),
    };
    let label = if pair.scope == "total" { "the whole release".into() } else { pair.label.clone() };
    vec![label, rho(a), rho(b), tight(a), tight(b), cost]
}

/// B's upper end less A's.
fn difference(a: &Figure, b: &Figure) -> String {
    let gap = &b.upper() - &a.upper();
    let text = gap.to_decimal(5, Round::Up);
    if gap > Rational::from(0) { format!("+{text}") } else { text.replace('-', "−") }
}

fn noise(text: &mut Document, comparison: &Comparison) {
    if comparison.noise.is_empty() {
        text.line(format!("The noise of all {} measurements is the same.", comparison.same_noise));
        text.line("");
        return;
    }
    text.line(format!(
        "Noise that differs ({} measurements; {} have the same):",
        comparison.noise.len(),
        comparison.same_noise
    ));
    text.line("");
    let mut table = Table::new(&["query", "level", "variance, A", "variance, B", "B / A"]);
    for noise in comparison.noise.iter().take(SHOWN) {
        let variance = |side: &Option<Figure>| side.as_ref().map_or_else(|| "–".into(), |x| x.at_least(6));
        let ratio = match &noise.sigma2 {
            [Some(a), Some(b)] => (&b.upper() / &a.upper()).to_decimal(5, Round::Up),
            _ => "–".into(),
        };
        table.row(vec![
            noise.query.clone(),
            noise.level.clone(),
            variance(&noise.sigma2[0]),
            variance(&noise.sigma2[1]),
            ratio,
        ]);
    }
    text.table(table);
    if comparison.noise.len() > SHOWN {
        text.line(format!("  … and {} more; --csv and --json have them all", comparison.noise.len() - SHOWN));
    }
    text.line("");
}

fn csv(comparison: &Comparison) -> String {
    let heads = [
        "what",
        "scope",
        "name",
        "query",
        "delta",
        "neighbours_a",
        "neighbours_b",
        "a_upper",
        "a_lower",
        "b_upper",
        "b_lower",
    ];
    let [a, b] = &comparison.sides;
    let delta = comparison.delta.to_decimal(FULL, Round::Up);
    let pair = |sides: [Option<&Figure>; 2]| {
        let ends = |side: Option<&Figure>| match side {
            Some(figure) => [figure.at_most(FULL), figure.at_least(FULL)],
            None => [String::new(), String::new()],
        };
        sides.map(ends).concat()
    };
    let mut rows = vec![];
    let mut add =
        |what: &str, scope: &str, name: &str, query: &str, neighbours: [&str; 2], figures: Vec<String>| {
            let mut row: Vec<String> =
                [what, scope, name, query, &delta, neighbours[0], neighbours[1]].map(Into::into).into();
            row.extend(figures);
            rows.push(row);
        };
    let own = [a.neighbours, b.neighbours];
    for restated in &comparison.restated {
        let [a, b] = &restated.tight;
        add("tight epsilon", "total", "", "", [restated.neighbours; 2], pair([Some(a), Some(b)]));
    }
    for line in &comparison.lines {
        let tight = line.sides.each_ref().map(|side| side.as_ref().map(|l| &l.tight));
        let rho = line.sides.each_ref().map(|side| side.as_ref().map(|l| &l.rho));
        let name = line.sides.iter().flatten().find_map(|side| side.name.as_deref()).unwrap_or_default();
        add("tight epsilon", line.scope, name, "", own, pair(tight));
        add("rho", line.scope, name, "", own, pair(rho));
    }
    for noise in &comparison.noise {
        let sigma2 = noise.sigma2.each_ref().map(Option::as_ref);
        add("sigma2", "level", &noise.level, &noise.query, own, pair(sigma2));
    }
    output::csv(&heads, &rows)
}
