//! Atoms: values of an axis that no query of a branch tells apart in different ways.

use std::collections::HashMap;

use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::matrix::Matrix;
use crate::space::{NOWHERE, Space};
use crate::subspace::Functional;

/// How a query sees a value of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Seen {
    Not,
    Alone,
    With(u32),
}

/// A branch of the basis at an axis.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) axis: usize,
    /// Values whose sum is a coordinate; none if all values are coordinates by themselves.
    pub(super) atoms: Option<Vec<Atom>>,
    /// The node of each row after the transform; none after the last axis.
    pub(super) next: Vec<Option<usize>>,
    /// The queries that are alive here.
    pub(super) alive: u128,
}

#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) values: Vec<u32>,
    /// How each query sees its values.
    pub(super) seen: Vec<Seen>,
}

/// Makes the nodes of a space.
pub(super) struct Builder<'s> {
    pub(super) space: &'s Space,
    pub(super) known: Vec<usize>,
    pub(super) nodes: Vec<Node>,
    pub(super) made: HashMap<(usize, u128), usize>,
}

impl Builder<'_> {
    /// The node of an axis for the queries that are alive.
    pub(super) fn node(&mut self, at: usize, alive: u128) -> usize {
        if let Some(node) = self.made.get(&(at, alive)) {
            return *node;
        }
        let axis = &self.space.axes[at];
        let living: Vec<bool> = (0..self.known.len()).map(|bit| alive >> bit & 1 == 1).collect();
        let seen: Vec<Vec<Seen>> = (0..self.known.len())
            .map(|bit| if living[bit] { sees(&axis.offsets[self.known[bit]]) } else { vec![] })
            .collect();
        let values = axis.values.len();
        let all_alone = seen.iter().all(|seen| seen.iter().all(|seen| *seen == Seen::Alone));
        let atoms = (axis.whole || !all_alone).then(|| {
            let mut atoms: Vec<Atom> = vec![];
            for value in 0..values {
                let of_value: Vec<Seen> =
                    seen.iter().map(|seen| seen.get(value).copied().unwrap_or(Seen::Not)).collect();
                match atoms.iter_mut().find(|atom| !axis.whole && atom.seen == of_value) {
                    Some(atom) => atom.values.push(value as u32),
                    None => atoms.push(Atom { values: vec![value as u32], seen: of_value }),
                }
            }
            atoms
        });
        let number = self.nodes.len();
        self.made.insert((at, alive), number);
        self.nodes.push(Node { axis: at, atoms: None, next: vec![], alive });
        let last = at + 1 == self.space.axes.len();
        let mut next = vec![];
        match &atoms {
            None => next.resize(values, if last { None } else { Some(self.node(at + 1, alive)) }),
            Some(atoms) => {
                let sums = if last { None } else { Some(self.node(at + 1, alive)) };
                next.resize(atoms.len(), sums);
                for atom in atoms {
                    let fewer = alone(alive, &atom.seen);
                    let contrasts = atom.values.len() - 1;
                    let after = if last || contrasts == 0 { None } else { Some(self.node(at + 1, fewer)) };
                    next.resize(next.len() + contrasts, after);
                }
            }
        }
        (self.nodes[number].atoms, self.nodes[number].next) = (atoms, next);
        number
    }
}

/// How a query sees each value of an axis.
fn sees(offsets: &[u32]) -> Vec<Seen> {
    let mut count: HashMap<u32, usize> = HashMap::new();
    offsets.iter().for_each(|offset| *count.entry(*offset).or_default() += 1);
    let sees = |offset: &u32| match *offset {
        NOWHERE => Seen::Not,
        offset if count[&offset] == 1 => Seen::Alone,
        offset => Seen::With(offset),
    };
    offsets.iter().map(sees).collect()
}
/// The atom that a contrast belongs to.
pub(super) fn atom_of(atoms: &[Atom], mut contrast: usize) -> usize {
    for (at, atom) in atoms.iter().enumerate() {
        match contrast.checked_sub(atom.values.len() - 1) {
            None => return at,
            Some(rest) => contrast = rest,
        }
    }
    unreachable!("as many contrasts as values without sums")
}

/// Of the queries that are alive those that see every value alone.
pub(super) fn alone(alive: u128, seen: &[Seen]) -> u128 {
    let sees = |(bit, seen): (usize, &Seen)| u128::from(*seen == Seen::Alone) << bit;
    alive & seen.iter().enumerate().map(sees).fold(0, |a, b| a | b)
}

/// The information of a query about the sums of atoms, for noise of variance 1.
pub(super) fn atom_information(atoms: &[Atom], query: usize) -> Matrix {
    let mut information = Matrix::zeros(atoms.len(), atoms.len());
    for (i, a) in atoms.iter().enumerate() {
        for (j, b) in atoms.iter().enumerate() {
            information[(i, j)] = match (a.seen[query], b.seen[query]) {
                // The sum of as many answers has as many times the variance.
                (Seen::Alone, _) if i == j => 1.0 / a.values.len() as f64,
                (Seen::With(a), Seen::With(b)) if a == b => 1.0,
                _ => 0.0,
            };
        }
    }
    information
}

/// The functionals of the sums of atoms that a query sees.
pub(super) fn atom_rows(atoms: &[Atom], query: usize) -> Vec<Functional> {
    let mut rows: Vec<Functional> = vec![];
    for (i, atom) in atoms.iter().enumerate() {
        let with = |other: usize| match (atom.seen[query], atoms[other].seen[query]) {
            (Seen::Alone, _) => other == i,
            (Seen::With(a), Seen::With(b)) => a == b,
            _ => false,
        };
        let row: Functional = (0..atoms.len())
            .map(|other| if with(other) { BigRational::one() } else { BigRational::zero() })
            .collect();
        if !rows.contains(&row) && row.iter().any(|x| !x.is_zero()) {
            rows.push(row);
        }
    }
    rows
}
