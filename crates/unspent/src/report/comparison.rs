//! Two releases side by side: where they differ, and what it costs.

use std::collections::HashMap;

use serde::Serialize;

use crate::allocation::Neighbours;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::number::{Number, Rational, Round};
use crate::quantity::Delta;
use crate::release::Release;
use crate::report::certificate::{Line, assemble, stated_delta};
use crate::report::columns::csv;
use crate::report::document::{Document, Table};
use crate::report::numerals::{FULL, upper};
use crate::report::words;
use crate::scope::Scope;

/// Two releases, A and B.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What they are.
    pub sides: [Side; 2],
    /// The δ of every ε.
    pub delta: Rational,
    /// Whether the two protect the same thing; if not, [`restated`](Comparison::restated) is what to compare.
    pub same_neighbours: bool,
    /// The totals with the noise as it is and the neighbours the same, if they are not.
    pub restated: Vec<Restated>,
    /// What each scope promises in A, in B, or in both.
    pub lines: Vec<Pair>,
    /// The measurements whose noise is not the same in both.
    pub noise: Vec<Noise>,
    /// How many measurements have the same noise in both.
    pub same_noise: usize,
}

/// One of the two.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// What one record is.
    pub record: String,
    /// What the total protects.
    pub neighbours: Neighbours,
    /// How many queries at levels it has.
    pub measurements: usize,
}

/// The tight ε of both totals, for the same neighbours.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Restated {
    /// Those neighbours.
    pub neighbours: Neighbours,
    /// A's and B's.
    pub tight: [Number; 2],
}

/// A scope in A and in B.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Pair {
    /// How a certificate calls it.
    pub label: String,
    /// The part.
    #[serde(flatten)]
    pub scope: Scope,
    /// What A promises of it, and B.
    pub sides: [Option<Line>; 2],
}

/// A measurement in A and in B.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Noise {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// How far one record moves a cell.
    pub shift: u64,
    /// Its variances.
    pub sigma2: [Option<Number>; 2],
}

impl Comparison {
    /// Of two releases, at `delta` or at the one that A states, or B.
    pub(crate) fn new(a: &Release, b: &Release, delta: Option<&Delta>, effort: Effort) -> Result<Comparison> {
        let delta = stated_delta(a, delta.or(a.delta()).or(b.delta()))?;
        let same_neighbours = a.neighbours() == b.neighbours();
        let mut restated = vec![];
        if !same_neighbours {
            for neighbours in [a.neighbours(), b.neighbours()] {
                restated.push(Restated {
                    neighbours,
                    tight: [total(a, neighbours, &delta)?, total(b, neighbours, &delta)?],
                });
            }
        }
        for allocation in a.allocations().iter().chain(b.allocations()) {
            allocation.needs_gaussian("a comparison")?;
        }
        let (noise, same_noise) = noise(a, b);
        Ok(Comparison {
            sides: [Side::new(a), Side::new(b)],
            delta: delta.value().clone(),
            same_neighbours,
            restated,
            lines: pair(assemble(a, &delta, None, effort)?.0, assemble(b, &delta, None, effort)?.0),
            noise,
            same_noise,
        })
    }
}

impl Side {
    fn new(release: &Release) -> Side {
        Side {
            name: release.name(),
            record: release.record().into(),
            neighbours: release.neighbours(),
            measurements: release.allocations().iter().map(|a| a.measurements().count()).sum(),
        }
    }
}

fn total(release: &Release, neighbours: Neighbours, delta: &Delta) -> Result<Number> {
    if release.has_also() && release.neighbours() != neighbours {
        return Err(Error::stated(
            format!(
                "`{}` has other mechanisms, stated for {} neighbours",
                release.name(),
                release.neighbours()
            ),
            "compare it with a release for the same neighbours",
        ));
    }
    let restated = release.allocations().iter().map(|a| a.restated(neighbours)).collect();
    Ok(Release::new(restated)?.worst_case(&Scope::Total)?.epsilon(delta)?.into())
}

/// The scopes of both, those of A first, each with its namesake.
fn pair(a: Vec<Line>, b: Vec<Line>) -> Vec<Pair> {
    let mut rest: Vec<Option<Line>> = b.into_iter().map(Some).collect();
    let mut pairs: Vec<Pair> = vec![];
    for line in a {
        let same = |other: &Line| other.scope == line.scope;
        let other = rest.iter_mut().find(|other| other.as_ref().is_some_and(same)).and_then(Option::take);
        pairs.push(Pair { label: line.label.clone(), scope: line.scope.clone(), sides: [Some(line), other] });
    }
    for line in rest.into_iter().flatten() {
        pairs.push(Pair { label: line.label.clone(), scope: line.scope.clone(), sides: [None, Some(line)] });
    }
    // Stable: those of A first, in the order of the scopes' kinds.
    pairs.sort_by_key(|pair| pair.scope.order());
    pairs
}

/// Measurements with their noise, told apart by level, query and shift, and by number where products repeat
/// them.
fn noise(a: &Release, b: &Release) -> (Vec<Noise>, usize) {
    type Key<'k> = (&'k str, &'k str, u64, usize);
    let mut order: Vec<Key<'_>> = vec![];
    let mut found: HashMap<Key<'_>, [Option<&Rational>; 2]> = HashMap::new();
    for (side, release) in [a, b].into_iter().enumerate() {
        let mut times: HashMap<(&str, &str, u64), usize> = HashMap::new();
        for (level, query, m) in release.allocations().iter().flat_map(|a| a.measurements()) {
            let name = (level.name.as_str(), query.name.as_str(), query.shift);
            let time = times.entry(name).and_modify(|n| *n += 1).or_insert(0);
            let key = (name.0, name.1, name.2, *time);
            let both = found.entry(key).or_insert_with(|| {
                order.push(key);
                [None, None]
            });
            both[side] = m.noise.sigma2();
        }
    }
    let differ: Vec<_> = order.iter().filter(|key| found[*key][0] != found[*key][1]).collect();
    let same = order.len() - differ.len();
    let exact = |x: Option<&Rational>| x.cloned().map(Number::Exact);
    let noise = differ.into_iter().map(|key| Noise {
        level: key.0.into(),
        query: key.1.into(),
        shift: key.2,
        sigma2: found[key].map(exact),
    });
    (noise.collect(), same)
}

/// Differences in noise that are listed for people before the rest is only counted.
const SHOWN: usize = 40;

impl Comparison {
    /// The comparison for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        for (side, letter) in self.sides.iter().zip(["A", "B"]) {
            text.line(format!("{letter}: {}", side.name));
            text.line(format!(
                "   one record is a {}; {} neighbours; {} measurements",
                side.record, side.neighbours, side.measurements
            ));
        }
        text.line(words::at_delta(&self.delta));
        text.line("");
        if !self.same_neighbours {
            text.line(
                "A and B are for different neighbours: their totals and levels are not comparable. These \
                 are:",
            );
            text.line("");
            let heads = ["total, both with neighbours", "A, upper (≤)", "B, upper (≤)", "B − A"];
            let mut table = Table::new(&heads);
            for restated in &self.restated {
                let [a, b] = &restated.tight;
                let name = restated.neighbours.to_string();
                table.row(vec![name, upper(a), upper(b), difference(a, b)]);
            }
            text.table(table);
            text.line("");
        }
        if self.sides[0].record != self.sides[1].record {
            text.line("A record is not the same in A and in B: differences compare one with the other.");
            text.line("");
        }
        text.table(self.epsilons());
        text.line("");
        self.noise_lines(&mut text);
        text.line(
            "Columns marked ≤ are valid upper bounds, rounded up. The difference is that of the upper \
             bounds.",
        );
        text
    }

    fn epsilons(&self) -> Table {
        let heads = ["epsilon of", "rho, A", "rho, B", "A, upper (≤)", "B, upper (≤)", "B − A"];
        let mut table = Table::new(&heads);
        let mut head = None;
        for pair in &self.lines {
            if words::heading(&pair.scope) != head {
                head = words::heading(&pair.scope);
                table.head(head.unwrap_or_default());
            }
            // Two moves per query count for a changed value or place, whatever the neighbours of the total.
            let comparable =
                self.same_neighbours || matches!(pair.scope, Scope::Attribute(_) | Scope::Within(_));
            table.row_about(&pair.scope, &pair.label, row(pair, comparable));
        }
        table
    }

    fn noise_lines(&self, text: &mut Document) {
        if self.noise.is_empty() {
            text.line(format!("The noise of all {} measurements is the same.", self.same_noise));
            text.line("");
            return;
        }
        text.line(format!(
            "Noise that differs ({} measurements; {} have the same):",
            self.noise.len(),
            self.same_noise
        ));
        text.line("");
        let mut table = Table::new(&["query", "level", "variance, A", "variance, B", "B / A"]);
        for noise in self.noise.iter().take(SHOWN) {
            let variance = |side: &Option<Number>| side.as_ref().map_or_else(none, |x| x.at_least(6));
            let ratio = match &noise.sigma2 {
                [Some(a), Some(b)] => (&b.upper() / &a.upper()).to_decimal(5, Round::Up),
                _ => none(),
            };
            let [a, b] = noise.sigma2.each_ref().map(variance);
            table.row(vec![noise.query.clone(), noise.level.clone(), a, b, ratio]);
        }
        if self.noise.len() > SHOWN {
            table.note(format!("… and {} more; CSV and JSON have them all", self.noise.len() - SHOWN));
        }
        text.table(table);
        text.line("");
    }

    /// One row for each figure of each part.
    #[must_use]
    pub fn csv(&self) -> String {
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
        let delta = self.delta.to_decimal(FULL, Round::Up);
        let pair = |sides: [Option<&Number>; 2]| {
            let ends = |side: Option<&Number>| match side {
                Some(number) => [number.at_most(FULL), number.at_least(FULL)],
                None => [String::new(), String::new()],
            };
            sides.map(ends).concat()
        };
        let mut rows = vec![];
        let mut add =
            |what: &str, scope: &Scope, query: &str, neighbours: [Neighbours; 2], figures: Vec<String>| {
                let [a, b] = neighbours.map(Neighbours::name);
                let name = scope.name().unwrap_or_default();
                let row = [what, scope.kind(), name, query, &delta, a, b].map(String::from);
                rows.push([row.to_vec(), figures].concat());
            };
        let own = self.sides.each_ref().map(|side| side.neighbours);
        for restated in &self.restated {
            let figures = pair(restated.tight.each_ref().map(Some));
            add("tight epsilon", &Scope::Total, "", [restated.neighbours; 2], figures);
        }
        for line in &self.lines {
            let of = |field: fn(&Line) -> Option<&Number>| {
                pair(line.sides.each_ref().map(|side| side.as_ref().and_then(field)))
            };
            add("tight epsilon", &line.scope, "", own, of(|line| Some(&line.tight)));
            add("rho", &line.scope, "", own, of(|line| line.rho.as_ref()));
        }
        for noise in &self.noise {
            let figures = pair(noise.sigma2.each_ref().map(Option::as_ref));
            add("sigma2", &Scope::Level(noise.level.clone()), &noise.query, own, figures);
        }
        csv(&heads, &rows)
    }
}

fn none() -> String {
    "–".into()
}

fn row(pair: &Pair, comparable: bool) -> Vec<String> {
    let [a, b] = &pair.sides;
    let rho = |line: &Option<Line>| {
        line.as_ref().and_then(|line| line.rho.as_ref()).map_or_else(none, |rho| rho.at_most(6))
    };
    let tight = |line: &Option<Line>| line.as_ref().map_or_else(none, |line| upper(&line.tight));
    let cost = match (a, b) {
        (Some(a), Some(b)) if comparable => difference(&a.tight, &b.tight),
        _ => none(),
    };
    let label = if pair.scope == Scope::Total { "the whole release".into() } else { pair.label.clone() };
    vec![label, rho(a), rho(b), tight(a), tight(b), cost]
}

/// B's upper end less A's.
fn difference(a: &Number, b: &Number) -> String {
    let gap = &b.upper() - &a.upper();
    let text = gap.to_decimal(5, Round::Up);
    if gap > Rational::integer(0) { format!("+{text}") } else { text.replace('-', "−") }
}
