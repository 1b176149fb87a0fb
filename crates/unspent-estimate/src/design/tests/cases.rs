//! Random trees with what is measured on them, and sums of cells with their compiled variances.

use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed};
use unspent::{Allocation, Rational};

use super::dense::Dense;
use super::random::{self, Draw};
use crate::allocation::exact_queries;
use crate::answers::AnswerClasses;
use crate::design::bound::double;
use crate::design::compile::Compiled;
use crate::design::program::Variance;
use crate::design::{Need, Quantity, Selection, UnitSet};
use crate::model::{SharedClass, UnitClass};
use crate::space::Space;
use crate::tree::{Node, Tree};

/// A sum of cells of a unit or of a set of units, with its variance: of `weights`, times `scale`.
pub(super) struct Asked {
    pub(super) level: usize,
    pub(super) set: Option<UnitSet>,
    pub(super) weights: Vec<i32>,
    pub(super) scale: BigRational,
    pub(super) variance: Variance,
}

pub(super) struct Case {
    pub(super) units: Vec<u64>,
    pub(super) compiled: Compiled,
    /// 0 where nothing is measured.
    pub(super) precisions: Vec<BigRational>,
    pub(super) measured: Vec<bool>,
    pub(super) exact: Vec<Vec<usize>>,
    pub(super) asked: Vec<Asked>,
}

impl Case {
    pub(super) fn new(draw: &mut Draw, units: Vec<u64>, cells: usize, sets: bool) -> Case {
        let levels = units.len();
        let offer = random::offer(draw, levels, cells, false);
        let mut needs: Vec<Need> = vec![];
        for level in 0..levels {
            if !sets {
                let tables = offer.queries().iter().map(|query| table(level, &query.by));
                needs.extend(tables);
            }
            let of_level: Vec<Need> = (0..4)
                .map(|_| random::need(draw, &offer, &units, sets))
                .filter(|need| !matches!(need.quantity, Quantity::Table { .. }))
                .collect();
            needs.extend(of_level);
        }
        let compiled = Compiled::new(&offer, units.clone(), &needs).unwrap();
        let space = compiled.frame.model.space();
        let exact = offer
            .levels()
            .iter()
            .map(|level| exact_queries(&offer, &level.name).map(|name| space.query(name).unwrap()).collect());
        let exact = exact.collect();
        let drawn = random::precisions(draw, compiled.frame.variables.len());
        let measured = drawn.iter().map(Option::is_some).collect();
        let precisions = drawn.into_iter().map(Option::unwrap_or_default).collect();
        let asked = asked(&compiled, &offer, &needs);
        Case { units, compiled, precisions, measured, exact, asked }
    }

    pub(super) fn class(&self, level: usize) -> SharedClass {
        let model = &self.compiled.frame.model;
        let mut variances = vec![None; model.space().queries().len()];
        for (variable, precision) in self.compiled.frame.variables.iter().zip(&self.precisions) {
            if variable.level == level && precision.is_positive() {
                variances[variable.query] = Some(double(&(BigRational::one() / precision)));
            }
        }
        Arc::new(model.class(UnitClass { variances, exact: self.exact[level].clone(), lacking: vec![] }))
    }

    /// One node for each level, of as many units as lie in one above.
    pub(super) fn regular(&self) -> Tree {
        let node = |level: usize| {
            let parent = level.checked_sub(1);
            let count = parent.map_or(1.0, |parent| self.units[level] as f64 / self.units[parent] as f64);
            Node { parent, class: self.class(level), count }
        };
        Tree::new(&self.compiled.frame.model, (0..self.units.len()).map(node).collect())
    }

    /// A node for each unit, and the first node of each level.
    pub(super) fn explicit(&self) -> (Tree, Vec<usize>) {
        let (mut nodes, mut starts) = (vec![], vec![]);
        for (level, count) in self.units.iter().enumerate() {
            let class = self.class(level);
            let start = nodes.len();
            for unit in 0..*count as usize {
                let parent = (level > 0).then(|| {
                    let inside = (count / self.units[level - 1]) as usize;
                    starts[level - 1] + unit / inside
                });
                nodes.push(Node { parent, class: class.clone(), count: 1.0 });
            }
            starts.push(start);
        }
        (Tree::new(&self.compiled.frame.model, nodes), starts)
    }

    pub(super) fn dense(&self) -> Dense<'_> {
        let frame = &self.compiled.frame;
        let measured = frame.variables.iter().zip(&self.precisions).filter(|(_, w)| w.is_positive());
        let exact = self.exact.iter().enumerate();
        Dense {
            space: frame.model.space(),
            units: &self.units,
            measured: measured.map(|(v, w)| (v.level, v.query, w.clone())).collect(),
            exact: exact.flat_map(|(level, of)| of.iter().map(move |query| (level, *query))).collect(),
        }
    }

    /// The largest precision over the smallest.
    pub(super) fn spread(&self) -> f64 {
        let doubles = self.doubles();
        doubles.iter().fold(0.0f64, |x, y| x.max(*y)) / doubles.iter().fold(f64::MAX, |x, y| x.min(*y))
    }

    /// The precisions of what is measured, in doubles.
    pub(super) fn doubles(&self) -> Vec<f64> {
        self.precisions.iter().filter(|w| w.is_positive()).map(double).collect()
    }
}

pub(super) fn table(level: usize, by: &[String]) -> Need {
    Need {
        name: "table".into(),
        level,
        quantity: Quantity::Table { by: by.to_vec(), margin: Rational::integer(1) },
        set: None,
        confidence: "0.95".parse().unwrap(),
        all: false,
    }
}

/// How often each cell counts that has values of a selection.
fn weights(space: &Space, selection: &Selection) -> Vec<i32> {
    let mut found = vec![];
    space.each_cell(|_, places| {
        let mut all = true;
        for (axis, place) in space.axes.iter().zip(places) {
            for (attribute, value) in axis.attributes.iter().zip(&axis.values[*place]) {
                all &= selection.0.get(attribute).is_none_or(|chosen| chosen.contains(value));
            }
        }
        found.push(i32::from(all));
    });
    found
}

/// Every answer of every table, and every count and share, with the variance that was compiled for it.
fn asked(compiled: &Compiled, offer: &Allocation, needs: &[Need]) -> Vec<Asked> {
    let model = &compiled.frame.model;
    let space = model.space();
    let mut asked = vec![];
    for (need, parts) in needs.iter().zip(&compiled.needs) {
        let of = |weights, scale, variance: &Variance| Asked {
            level: need.level,
            set: need.set.clone(),
            weights,
            scale,
            variance: variance.clone(),
        };
        match &need.quantity {
            Quantity::Table { by, .. } => {
                let query = space.query(&format!("\u{1}{}", by.join("*"))).unwrap();
                let (class_of, _) = AnswerClasses::counted(model, query);
                for (answer, class) in class_of.iter().enumerate() {
                    let Some(class) = class else { continue };
                    let count = |cell| i32::from(space.place_of(query, cell) == Some(answer));
                    let weights = (0..space.cells()).map(count).collect();
                    asked.push(of(weights, BigRational::one(), &parts[*class as usize].variance));
                }
                // The table of the design has the same variances.
                let number = offer.queries().iter().position(|q| q.by == *by).unwrap();
                let table = compiled.tables.iter().find(|t| (t.level, t.query) == (need.level, number));
                let same = |variance: &Variance| parts.iter().any(|part| part.variance == *variance);
                let table = table.unwrap();
                assert!(table.variances.iter().all(same) && table.variances.len() <= parts.len());
                assert!(parts.iter().all(|part| table.variances.contains(&part.variance)));
            }
            Quantity::Count { of: selection, .. } => {
                let weights = weights(space, selection);
                asked.push(of(weights, BigRational::one(), &parts[0].variance));
            }
            Quantity::Share { of: selection, among, margin, about, .. } => {
                let [margin, low, high] = [
                    margin.clone(),
                    about.clone().unwrap_or(Rational::integer(0)),
                    about.clone().unwrap_or(Rational::integer(1)),
                ]
                .map(BigRational::from);
                let among = self::weights(space, among);
                let selected = self::weights(space, selection);
                for (end, part) in [low - &margin, high + &margin].iter().zip(parts) {
                    let [p, q]: [i32; 2] = [end.numer(), end.denom()].map(|x| x.try_into().unwrap());
                    let both = selected.iter().zip(&among);
                    let weights = both.map(|(s, a)| q * s * a - p * a).collect();
                    let scale = BigRational::new(1.into(), BigInt::from(q) * q);
                    asked.push(of(weights, scale, &part.variance));
                }
            }
        }
    }
    asked
}

/// Whether it may be 0: no other variance is so small.
pub(super) fn is_zero([low, high]: &[BigRational; 2]) -> bool {
    !low.is_positive() && !high.is_negative() && double(&(high - low)) < 1e-40
}
