//! Two releases side by side: where they differ, and what it costs.

use std::collections::HashMap;

use serde::Serialize;

use crate::allocation::Neighbours;
use crate::certificate::{self, Line};
use crate::error::Result;
use crate::number::Rational;
use crate::quantity::Delta;
use crate::release::{Release, Scope};
use crate::report::{self, Figure};

/// Two releases, A and B.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What they are.
    pub sides: [Side; 2],
    /// The δ of every ε.
    #[serde(serialize_with = "report::exactly")]
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
pub struct Side {
    /// What it is called.
    pub name: String,
    /// What one record is.
    pub record: String,
    /// What the total protects.
    pub neighbours: &'static str,
    /// How many queries at levels it has.
    pub measurements: usize,
}

/// The tight ε of both totals, for the same neighbours.
#[derive(Clone, Debug, Serialize)]
pub struct Restated {
    /// Those neighbours.
    pub neighbours: &'static str,
    /// A's and B's.
    pub tight: [Figure; 2],
}

/// A scope in A and in B.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// How a certificate calls it.
    pub label: String,
    /// `total`, `level`, `keeping`, `attribute` or `within`.
    pub scope: &'static str,
    /// What A promises of it, and B.
    pub sides: [Option<Line>; 2],
}

/// A measurement in A and in B.
#[derive(Clone, Debug, Serialize)]
pub struct Noise {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// How far one record moves a cell.
    pub shift: u64,
    /// Its variances.
    pub sigma2: [Option<Figure>; 2],
}

impl Comparison {
    /// Of two releases, at `delta` or at the one that A states, or B.
    pub fn new(a: &Release, b: &Release, delta: Option<&Delta>) -> Result<Comparison> {
        let delta = certificate::stated_delta(a, delta.or(a.delta()).or(b.delta()))?;
        let same_neighbours = a.neighbours() == b.neighbours();
        let mut restated = vec![];
        if !same_neighbours {
            for neighbours in [a.neighbours(), b.neighbours()] {
                restated.push(Restated {
                    neighbours: neighbours.name(),
                    tight: [total(a, neighbours, &delta)?, total(b, neighbours, &delta)?],
                });
            }
        }
        let (noise, same_noise) = noise(a, b);
        Ok(Comparison {
            sides: [Side::new(a), Side::new(b)],
            delta: delta.value().clone(),
            same_neighbours,
            restated,
            lines: pair(certificate::assemble(a, &delta, None)?.0, certificate::assemble(b, &delta, None)?.0),
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
            neighbours: release.neighbours().name(),
            measurements: release.allocations().iter().map(|a| a.measurements().count()).sum(),
        }
    }
}

fn total(release: &Release, neighbours: Neighbours, delta: &Delta) -> Result<Figure> {
    let restated = release.allocations().iter().map(|a| a.restated(neighbours)).collect();
    Ok(Release::new(restated)?.worst_case(&Scope::Total)?.epsilon(delta)?.into())
}

/// The scopes of both, those of A first, each with its namesake.
fn pair(a: Vec<Line>, b: Vec<Line>) -> Vec<Pair> {
    let mut rest: Vec<Option<Line>> = b.into_iter().map(Some).collect();
    let mut pairs: Vec<Pair> = vec![];
    for line in a {
        let same = |other: &Line| other.scope == line.scope && other.name == line.name;
        let other = rest.iter_mut().find(|other| other.as_ref().is_some_and(same)).and_then(Option::take);
        pairs.push(Pair { label: line.label.clone(), scope: line.scope, sides: [Some(line), other] });
    }
    for line in rest.into_iter().flatten() {
        pairs.push(Pair { label: line.label.clone(), scope: line.scope, sides: [None, Some(line)] });
    }
    let order =
        |scope: &str| ["total", "level", "keeping", "attribute", "within"].iter().position(|s| *s == scope);
    pairs.sort_by_key(|pair| order(pair.scope));
    pairs
}

/// Measurements with their noise, told apart by level, query and shift, and by number where products repeat them.
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
            both[side] = Some(m.noise.sigma2());
        }
    }
    let differ: Vec<_> = order.iter().filter(|key| found[*key][0] != found[*key][1]).collect();
    let same = order.len() - differ.len();
    let exact = |x: Option<&Rational>| x.cloned().map(Figure::Exact);
    let noise = differ.into_iter().map(|key| Noise {
        level: key.0.into(),
        query: key.1.into(),
        shift: key.2,
        sigma2: found[key].map(exact),
    });
    (noise.collect(), same)
}
