//! Sums of cells: how precisely the answers of a query are known, and any other sum (Lemma E3 of
//! `theory/estimates.md`).

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::Zero;

use crate::family::State;
use crate::known::Known;
use crate::matrix::Matrix;
use crate::model::{Model, Scratch};
use crate::space::NOWHERE;
use crate::subspace::Subspace;

/// How precisely a sum is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// The measurements do not determine it.
    Unknown,
    /// Exactly.
    Exact,
    /// With this variance.
    Variance(f64),
}

impl Precision {
    /// The variance, if it is known at all.
    #[must_use]
    pub fn variance(self) -> Option<f64> {
        match self {
            Precision::Unknown => None,
            Precision::Exact => Some(0.0),
            Precision::Variance(variance) => Some(variance),
        }
    }
}

/// What a sum of cells is in a block: `Σ w wᵀ` over the copies, and what all `w` span.
#[derive(Clone, Debug)]
struct Part {
    block: usize,
    gram: Matrix,
    directions: Subspace,
}

/// A sum of cells, or several whose variances are the same.
#[derive(Clone, Debug)]
pub struct SumOfCells {
    parts: Vec<Part>,
}

impl SumOfCells {
    /// By the weight of each cell of the space.
    #[must_use]
    pub fn new(model: &Model, weights: &[i32], scratch: &mut Scratch) -> (SumOfCells, Vec<f64>) {
        let doubles = weights.iter().map(|weight| f64::from(*weight)).collect();
        let coordinates = model.functional(doubles, scratch);
        let directions = model.basis().directions(weights);
        let mut parts = vec![];
        for (at, (block, directions)) in model.blocks().iter().zip(directions).enumerate() {
            if !directions.is_zero() {
                parts.push(Part { block: at, gram: block.gram(&coordinates, &coordinates), directions });
            }
        }
        (SumOfCells { parts }, coordinates)
    }

    /// A sum of products of factors with counts of cells, by the values that are counted on every axis; and
    /// its coordinates.
    pub(crate) fn weighted(model: &Model, counted: &[(f64, Vec<Vec<bool>>)]) -> (SumOfCells, Vec<f64>) {
        let space = model.space();
        let mut weights = vec![0.0; space.cells()];
        space.each_cell(|cell, values| {
            let is_counted = |counted: &[Vec<bool>]| counted.iter().zip(values).all(|(c, value)| c[*value]);
            weights[cell] = counted.iter().filter(|(_, c)| is_counted(c)).map(|(factor, _)| factor).sum();
        });
        let coordinates = model.functional(weights, &mut Scratch::default());
        let mut spans: BTreeMap<usize, Subspace> = BTreeMap::new();
        for (_, counted) in counted {
            for (block, _, direction) in model.basis().product_functional(counted) {
                let span = Subspace::span(direction.len(), [&direction]);
                let known = spans.entry(block).or_insert_with(|| Subspace::zero(direction.len()));
                *known = known.sum(&span);
            }
        }
        let part = |(block, directions): (usize, Subspace)| {
            let gram = model.blocks()[block].gram(&coordinates, &coordinates);
            Part { block, gram, directions }
        };
        let parts = spans.into_iter().map(part).collect();
        (SumOfCells { parts }, coordinates)
    }

    /// The blocks in which it is, with `Σ w wᵀ` over the copies.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, &Matrix)> {
        self.parts.iter().map(|part| (part.block, &part.gram))
    }

    /// Whether what it is in a block is seen.
    pub(crate) fn is_seen(&self, block: usize, known: &Known) -> bool {
        self.parts.iter().all(|part| part.block != block || known.seen.includes(&part.directions))
    }

    /// How precisely it is known, by the states of all blocks.
    pub(crate) fn precision(&self, states: &[State], covariances: &[Matrix]) -> Precision {
        let known = |block: usize| (&states[block].known.seen, &states[block].known.exact);
        self.precision_of(known, covariances)
    }

    /// The same, by the functionals of each block that are seen, and exact.
    pub(crate) fn precision_of<'k>(
        &self,
        known: impl Fn(usize) -> (&'k Subspace, &'k Subspace),
        covariances: &[Matrix],
    ) -> Precision {
        let mut all_exact = true;
        let mut variance = 0.0;
        for Part { block, gram, directions } in &self.parts {
            let (seen, exact) = known(*block);
            if !seen.includes(directions) {
                return Precision::Unknown;
            }
            if !exact.includes(directions) {
                all_exact = false;
                variance += gram.inner(&covariances[*block]);
            }
        }
        if all_exact { Precision::Exact } else { Precision::Variance(variance.max(0.0)) }
    }
}

/// The covariances of the coordinates of a unit, one matrix for each block.
pub(crate) fn coordinate_covariances(states: &[State]) -> Vec<Matrix> {
    states.iter().map(State::of_coordinates).collect()
}

/// The answers of a query, in classes that are known equally well wherever units are.
#[derive(Clone, Debug)]
pub struct AnswerClasses {
    /// The query.
    pub query: usize,
    /// The class of each answer; none if no cell that can occur is counted, so that it is 0.
    pub class_of: Vec<Option<u16>>,
    /// One sum of each class.
    pub classes: Vec<SumOfCells>,
}

impl AnswerClasses {
    /// Those of a query.
    #[must_use]
    pub fn new(model: &Model, query: usize) -> AnswerClasses {
        let (class_of, counted) = AnswerClasses::counted(model, query);
        let classes = counted.iter().map(|counted| product(model, counted)).collect();
        AnswerClasses { query, class_of, classes }
    }

    /// The class of each answer, and for one answer of each class the values that it counts on every axis.
    pub(crate) fn counted(model: &Model, query: usize) -> (Vec<Option<u16>>, Vec<Vec<Vec<bool>>>) {
        let space = model.space();
        // On each axis: the groups of the query, what they add to an answer's place, and their kind.
        let mut axes = vec![];
        for (at, axis) in space.axes.iter().enumerate() {
            let mut groups: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
            for (value, offset) in axis.offsets[query].iter().enumerate().filter(|(_, o)| **o != NOWHERE) {
                groups.entry(*offset).or_insert_with(|| vec![false; axis.values.len()])[value] = true;
            }
            let mut kinds: Vec<Vec<Vec<u32>>> = vec![];
            let mut listed: Vec<(u32, usize, Vec<bool>)> = vec![];
            for (offset, counted) in groups {
                let shares = model.basis().shares_on(at, &counted);
                let kind = kinds.iter().position(|known| *known == shares).unwrap_or_else(|| {
                    kinds.push(shares);
                    kinds.len() - 1
                });
                listed.push((offset, kind, counted));
            }
            axes.push(listed);
        }
        let (mut class_of, mut classes) = (vec![None; space.queries()[query].length()], vec![]);
        if axes.iter().any(Vec::is_empty) {
            return (class_of, classes);
        }
        let mut made: BTreeMap<Vec<usize>, u16> = BTreeMap::new();
        let mut at = vec![0; axes.len()];
        loop {
            let groups: Vec<&(u32, usize, Vec<bool>)> =
                axes.iter().zip(&at).map(|(axis, i)| &axis[*i]).collect();
            let kinds: Vec<usize> = groups.iter().map(|group| group.1).collect();
            let class = *made.entry(kinds).or_insert_with(|| {
                classes.push(groups.iter().map(|group| group.2.clone()).collect());
                (classes.len() - 1) as u16
            });
            let place: u32 = groups.iter().map(|group| group.0).sum();
            class_of[place as usize] = Some(class);
            let mut moved = false;
            for (i, axis) in at.iter_mut().zip(&axes).rev() {
                *i += 1;
                if *i < axis.len() {
                    moved = true;
                    break;
                }
                *i = 0;
            }
            if !moved {
                return (class_of, classes);
            }
        }
    }
}

/// The sum of the cells whose values are counted on every axis.
fn product(model: &Model, counted: &[Vec<bool>]) -> SumOfCells {
    let part = |(block, gram, direction): (usize, Matrix, Vec<BigRational>)| {
        debug_assert!(direction.iter().any(|x| !x.is_zero()));
        Part { block, gram, directions: Subspace::span(direction.len(), [&direction]) }
    };
    SumOfCells { parts: model.basis().product_functional(counted).into_iter().map(part).collect() }
}
