//! A space in its basis: gradients and coordinates of what was measured, and classes of units.

use std::sync::Arc;

use unspent::Result;

use crate::basis::{Basis, Block};
use crate::family::{ExactSource, Own, Sum, Upward};
use crate::known::Knowledge;
use crate::space::Space;

/// What is known of a unit without its children.
///
/// Units of the same class have the same variances; only their values differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitClass {
    /// For each query of the space the variance of its noise; none where it is not measured.
    pub variances: Vec<Option<f64>>,
    /// The queries whose answers are exact.
    pub exact: Vec<usize>,
    /// The values of the carrier, by their places, that no record of the unit has; ascending.
    pub lacking: Vec<u32>,
}

/// A space with its basis: what all units have in common.
#[derive(Debug)]
pub struct Model {
    space: Space,
    basis: Basis,
    knowledge: Vec<Knowledge>,
}

/// A class of units with its matrices, one for each block.
#[derive(Debug)]
pub struct Class {
    pub(crate) spec: UnitClass,
    pub(crate) own: Vec<Own>,
}

impl Class {
    /// What it is a class of.
    #[must_use]
    pub fn unit(&self) -> &UnitClass {
        &self.spec
    }
}

/// How a unit without children is estimated by itself.
#[derive(Debug)]
pub struct Leaf {
    pub(crate) class: SharedClass,
    pub(crate) upward: Vec<Upward>,
}

/// Memory that is used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) answers: Vec<Vec<f64>>,
    pub(crate) cells: Vec<f64>,
    pub(crate) work: Vec<f64>,
}

/// A table, and its answers.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'s> {
    /// The cells that can occur.
    pub cells: &'s [f64],
    /// For each query that was needed.
    pub answers: &'s [Vec<f64>],
}

/// Two exact values that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    /// What one says.
    pub first: f64,
    /// What the other says.
    pub second: f64,
}

impl Model {
    /// Fails if there are too many queries.
    pub fn new(space: Space) -> Result<Model> {
        let basis = Basis::new(&space)?;
        let knowledge = basis.blocks.iter().map(|_| Knowledge::default()).collect();
        Ok(Model { space, basis, knowledge })
    }

    /// Its space.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The dimension and the number of copies of each block; their products add up to the cells.
    #[must_use]
    pub fn block_sizes(&self) -> Vec<(usize, usize)> {
        self.basis.blocks.iter().map(|block| (block.dimension, block.copies)).collect()
    }

    /// What each block is of, its dimension and its number of copies. `names` are those of the attributes: an
    /// attribute is named where the block has its contrasts, with a number where it has sums of that many
    /// groups of its values.
    #[must_use]
    pub fn components(&self, names: &[&str]) -> Vec<(String, usize, usize)> {
        let axis = |(axis, atoms): (usize, Option<usize>)| {
            let of: Vec<&str> =
                self.space.axes[axis].attributes.iter().filter_map(|a| names.get(*a).copied()).collect();
            let of = of.join("×");
            atoms.map_or(of.clone(), |atoms| format!("{of}({atoms})"))
        };
        let of_block = |block: &Block| {
            let parts: Vec<String> = self.basis.parts_of(block).into_iter().map(axis).collect();
            let name = if parts.is_empty() { "total".into() } else { parts.join(" * ") };
            (name, block.dimension, block.copies)
        };
        self.blocks().iter().map(of_block).collect()
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.basis.blocks
    }

    pub(crate) fn knowledge(&self, block: usize) -> &Knowledge {
        &self.knowledge[block]
    }

    /// The matrices of a class.
    #[must_use]
    pub fn class(&self, spec: UnitClass) -> Class {
        let of_block = |block: &Block| {
            let mut own = Own::new(block, &spec.variances);
            for (at, query) in spec.exact.iter().enumerate() {
                if let Some(query) = block.query(*query) {
                    own.exact.push((ExactSource::Query(at), query.seen.rows()));
                }
            }
            if let (Some(axis), false) = (self.space.carrier_axis(), spec.lacking.is_empty()) {
                let rows = self.basis.lacking(block, axis, &spec.lacking);
                own.exact.push((ExactSource::Lacking, rows));
            }
            own
        };
        let own = self.blocks().iter().map(of_block).collect();
        Class { spec, own }
    }

    /// How a unit without children is estimated by itself.
    #[must_use]
    pub fn leaf(&self, class: SharedClass) -> Leaf {
        let of_block = |(at, own): (usize, &Own)| Upward::new(&self.knowledge[at], own, None);
        let upward = class.own.iter().enumerate().map(of_block).collect();
        Leaf { class, upward }
    }

    /// The measurements of a unit, or sums of those of several units with the same noise, weighted and by
    /// coordinates. `variances` says which queries are measured, and `answers` gives their noisy answers.
    pub fn gradient<'a>(
        &self,
        variances: &[Option<f64>],
        answers: impl Fn(usize) -> &'a [i64],
        scratch: &mut Scratch,
        to: &mut [f64],
    ) {
        let queries = self.space.queries();
        scratch.answers.resize(queries.len(), vec![]);
        for (query, weighted) in scratch.answers.iter_mut().enumerate() {
            weighted.clear();
            match variances[query] {
                Some(variance) => {
                    let precision = 1.0 / variance;
                    weighted.extend(answers(query).iter().map(|count| *count as f64 * precision));
                }
                None => weighted.resize(queries[query].length(), 0.0),
            }
        }
        scratch.cells.clear();
        scratch.cells.resize(self.space.cells(), 0.0);
        self.space.spread(&mut scratch.answers, &mut scratch.cells);
        self.basis.gradient(&mut scratch.cells, &mut scratch.work, to);
    }

    /// Coordinates of some table that has these answers to a query.
    #[must_use]
    pub fn lift(&self, query: usize, answers: &[i64], scratch: &mut Scratch) -> Vec<f64> {
        // Each answer is put into one of the cells that it counts.
        let mut place = vec![u32::MAX; answers.len()];
        let mut cells = vec![0.0; self.space.cells()];
        self.space.each_cell(|cell, values| {
            let to = self.space.place(query, values);
            if to != u32::MAX && place[to as usize] == u32::MAX {
                place[to as usize] = cell as u32;
                cells[cell] = answers[to as usize] as f64;
            }
        });
        let mut coordinates = vec![0.0; cells.len()];
        self.basis.coordinates(&mut cells, &mut scratch.work, &mut coordinates);
        coordinates
    }

    /// The coordinates of a functional, by its weight of each cell.
    #[must_use]
    pub fn functional(&self, mut weights: Vec<f64>, scratch: &mut Scratch) -> Vec<f64> {
        let mut coordinates = vec![0.0; weights.len()];
        self.basis.gradient(&mut weights, &mut scratch.work, &mut coordinates);
        coordinates
    }

    /// The table with these coordinates, and its answers to some queries: those that
    /// [`needed`](Space::needed) says, to answer the ones that are wanted.
    pub fn answer<'s>(&self, coordinates: &[f64], needed: &[bool], scratch: &'s mut Scratch) -> Answered<'s> {
        scratch.cells.resize(self.space.cells(), 0.0);
        let Scratch { answers, cells, work } = scratch;
        self.basis.to_cells(coordinates, work, cells);
        answers.resize(self.space.queries().len(), vec![]);
        self.space.answer(cells, needed, answers);
        Answered { cells, answers }
    }

    /// The covariance of two sums of cells by their [coordinates](Model::functional), where the coordinates
    /// of the tables that they are of have these covariances.
    #[must_use]
    pub fn covariance(&self, first: &[f64], second: &[f64], covariances: &[crate::Matrix]) -> f64 {
        let blocks = self.blocks().iter().zip(covariances);
        blocks.map(|(block, covariance)| block.gram(first, second).inner(covariance)).sum()
    }
}

/// The values of an upward estimate, for one block.
///
/// `gradient` and `exact` are of all coordinates of the space; `sum` is what the children's sum has, in the
/// functionals of its [`Known`](crate::known::Known), in as many places as the block has coordinates.
pub(crate) fn upward_values(
    block: &Block,
    own: &Own,
    upward: &Upward,
    sum: Option<(&Sum, &[f64])>,
    gradient: &[f64],
    exact: &[Vec<f64>],
    to: &mut [f64],
) -> std::result::Result<(), Contradiction> {
    let d = block.dimension;
    if d == 1 && upward.exact.is_none() {
        // A scalar: seen or not.
        let Some(gain) = upward.from_own.entries().first() else {
            to[block.range()].fill(0.0);
            return Ok(());
        };
        let range = block.range();
        let from_sum = sum.map_or(0.0, |_| {
            upward.from_sum.as_ref().and_then(|m| m.entries().first().copied()).unwrap_or(0.0)
        });
        match sum {
            Some((_, sum)) => {
                for ((x, g), s) in to[range.clone()].iter_mut().zip(&gradient[range.clone()]).zip(&sum[range])
                {
                    *x = gain * g + from_sum * s;
                }
            }
            None => {
                let pairs = to[range.clone()].iter_mut().zip(&gradient[range]);
                pairs.for_each(|(x, g)| *x = gain * g);
            }
        }
        return Ok(());
    }
    let exact_count = upward.state.known.exact_count();
    let mut given = vec![];
    let mut found = vec![0.0; d];
    for copy in 0..block.copies {
        let at = block.start + copy * d;
        found.fill(0.0);
        if let Some(tracked) = &upward.exact {
            given.clear();
            if let Some((sum, values)) = sum {
                given.extend_from_slice(&values[at..][..sum.known.exact_count()]);
            }
            for (source, rows) in &own.exact {
                for row in rows {
                    given.push(match source {
                        ExactSource::Lacking => 0.0,
                        ExactSource::Query(query) => row_times(row, &exact[*query][at..][..d]),
                    });
                }
            }
            check(&tracked.relations, &given)?;
            tracked.coefficients.apply(&given, &mut found);
        }
        let (exact_part, free) = found.split_at_mut(exact_count);
        upward.from_own.apply(&gradient[at..][..d], free);
        if let (Some(from_sum), Some((sum, values))) = (&upward.from_sum, sum) {
            let sum_free = &values[at + sum.known.exact_count()..at + sum.known.count()];
            from_sum.apply_add(sum_free, free);
        }
        for (i, x) in free.iter_mut().enumerate().take(upward.from_exact.rows()) {
            *x -= upward.from_exact.row(i).iter().zip(exact_part.iter()).map(|(a, b)| a * b).sum::<f64>();
        }
        to[at..][..d].copy_from_slice(&found);
    }
    Ok(())
}

fn row_times(row: &[num_rational::BigRational], coordinates: &[f64]) -> f64 {
    use num_traits::{ToPrimitive, Zero};
    let terms = row.iter().zip(coordinates).filter(|(factor, _)| !factor.is_zero());
    terms.map(|(factor, x)| factor.to_f64().expect("finite") * x).sum()
}

/// Exact values that follow from each other must agree.
///
/// They are integers, or contrasts of integers, which differ by more than this in some coordinate if they
/// differ at all, for counts up to 10⁹; rounding errors are relative to the values.
fn check(relations: &crate::Matrix, given: &[f64]) -> std::result::Result<(), Contradiction> {
    for i in 0..relations.rows() {
        let terms = relations.row(i).iter().zip(given).map(|(a, b)| a * b);
        let (mut plus, mut minus) = (0.0, 0.0);
        terms.for_each(|term| if term > 0.0 { plus += term } else { minus -= term });
        if (plus - minus).abs() > 2f64.powi(-26) + 2f64.powi(-44) * (plus + minus) {
            return Err(Contradiction { first: plus, second: minus });
        }
    }
    Ok(())
}

/// Shared by all units of a class.
pub type SharedClass = Arc<Class>;
