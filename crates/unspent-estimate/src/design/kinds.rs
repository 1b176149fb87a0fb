//! A tree of units in which equal subtrees are computed once, and the variances of all of its units in a
//! block.
//!
//! Units of a level are measured alike, so that what the units below a unit know of it depends on their
//! numbers alone: on the kind of its subtree. With V the upward covariance of a unit, D that of the sum of it
//! and its siblings, and C the last one of their parent (Lemma E2), its own last covariance is
//!
//! ```text
//! V − V M V,      M = D⁻¹ (D − C) D⁻¹ ,
//! ```
//!
//! and the variance `⟨G, V − VMV⟩` of a sum of cells is `⟨G, V⟩ − ⟨VGV, M⟩`, where `⟨G, V⟩` and `VGV` are of
//! the kind and M is of the parent. The difference loses digits where a unit is known much better than by
//! its subtree; so it only finds the worst unit, which is then estimated with the recursion of the estimator.

use std::collections::HashMap;
use std::sync::Arc;

use unspent::parallel;

use super::needs::Units;
use crate::family::{Children, Downward, Own, State, Sum, Upward};
use crate::known::{Knowledge, Known};
use crate::matrix::Matrix;

/// Units by the kind of their subtree.
#[derive(Debug)]
pub(super) struct Kinds {
    /// For each level and kind, the kinds of the children, and how many there are.
    children: Vec<Vec<Vec<(u32, f64)>>>,
    /// For each level, units by their parents among those of the level above; units of the same parent and
    /// kind are one.
    units: Vec<Vec<Unit>>,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    parent: u32,
    kind: u32,
}

impl Kinds {
    /// Every unit but those of the last level has one below it.
    pub(super) fn new(units: &Units) -> Kinds {
        let mut found = match units {
            Units::PerLevel(units) => {
                let below = |pair: &[u64]| vec![vec![(0, pair[1] as f64 / pair[0] as f64)]];
                let mut children: Vec<Vec<Vec<(u32, f64)>>> = units.windows(2).map(below).collect();
                children.push(vec![vec![]]);
                Kinds { children, units: vec![vec![Unit { parent: 0, kind: 0 }]] }
            }
            Units::Listed(tree) => {
                let mut children = vec![vec![vec![]]];
                let mut kind_of = vec![0u32; tree.parents.last().map_or(tree.roots as usize, Vec::len)];
                for (above, parents) in tree.parents.iter().enumerate().rev() {
                    let count = if above == 0 { tree.roots as usize } else { tree.parents[above - 1].len() };
                    let (kinds, of_level) = merged(count, parents, &kind_of);
                    children.push(kinds);
                    kind_of = of_level;
                }
                children.reverse();
                kind_of.sort_unstable();
                kind_of.dedup();
                let roots = kind_of.into_iter().map(|kind| Unit { parent: 0, kind }).collect();
                Kinds { children, units: vec![roots] }
            }
        };
        for level in 1..found.children.len() {
            let mut below = vec![];
            for (parent, unit) in found.units[level - 1].iter().enumerate() {
                let children = &found.children[level - 1][unit.kind as usize];
                below.extend(children.iter().map(|(kind, _)| Unit { parent: parent as u32, kind: *kind }));
            }
            found.units.push(below);
        }
        found
    }

    /// How many units of a level are told from each other.
    pub(super) fn count(&self, level: usize) -> usize {
        self.units[level].len()
    }

    /// Whether all units of a level are the only ones of their parents.
    fn all_alone(&self, level: usize) -> bool {
        self.children[level - 1].iter().all(|children| children.len() == 1 && children[0].1 == 1.0)
    }

    /// The last state of a unit in a block, with the recursion of the estimator. `found` are those of the
    /// block that were asked for before, by level and unit.
    pub(super) fn last<'a>(
        &self,
        of: &OfBlock,
        knowledge: &Knowledge,
        (level, unit): (usize, usize),
        found: &'a mut HashMap<(usize, usize), State>,
    ) -> &'a State {
        // From the last unit on the way down whose state is there.
        let mut path = vec![(level, unit)];
        while let Some((level, unit)) = path.last().copied().filter(|at| at.0 > 0 && !found.contains_key(at))
        {
            path.push((level - 1, self.units[level][unit].parent as usize));
        }
        for (level, unit) in path.into_iter().rev() {
            if found.contains_key(&(level, unit)) {
                continue;
            }
            let Unit { parent, kind } = self.units[level][unit];
            let state = match level {
                0 => of.state(0, kind),
                _ => {
                    let above = &found[&(level - 1, parent as usize)];
                    self.last_below(of, knowledge, (level, unit), above)
                }
            };
            found.insert((level, unit), state);
        }
        &found[&(level, unit)]
    }

    /// That of a unit whose parent has this one.
    fn last_below(
        &self,
        of: &OfBlock,
        knowledge: &Knowledge,
        (level, unit): (usize, usize),
        above: &State,
    ) -> State {
        let Unit { parent, kind } = self.units[level][unit];
        let below = &self.children[level - 1][self.units[level - 1][parent as usize].kind as usize];
        let states: Vec<State> = below.iter().map(|(kind, _)| of.state(level, *kind)).collect();
        let family: Vec<Children<'_>> =
            (states.iter().zip(below)).map(|(state, (_, count))| Children { state, count: *count }).collect();
        let which = below.iter().position(|(other, _)| *other == kind).expect("a child of its parent");
        let sum = Sum::new(knowledge, &family);
        Downward::new(knowledge, &family, which, &sum, above).state
    }
}

/// The kinds of units whose children have these parents and kinds, and the kind of each unit.
fn merged(count: usize, parents: &[u32], kind_of: &[u32]) -> (Vec<Vec<(u32, f64)>>, Vec<u32>) {
    let mut numbers: HashMap<Vec<(u32, u32)>, u32> = HashMap::new();
    let mut of_units = Vec::with_capacity(count);
    let mut at = 0;
    let mut kinds: Vec<u32> = vec![];
    for family in parents.chunk_by(|a, b| a == b) {
        kinds.clear();
        kinds.extend_from_slice(&kind_of[at..at + family.len()]);
        at += family.len();
        kinds.sort_unstable();
        let key = kinds.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
        let next = numbers.len() as u32;
        of_units.push(*numbers.entry(key).or_insert(next));
    }
    assert_eq!(of_units.len(), count, "every unit has one below it");
    let mut kinds = vec![vec![]; numbers.len()];
    for (key, number) in numbers {
        kinds[number as usize] = key.into_iter().map(|(kind, count)| (kind, f64::from(count))).collect();
    }
    (kinds, of_units)
}

/// What is known of each kind of unit in a block by its subtree.
#[derive(Debug)]
pub(super) struct OfBlock {
    /// For each level, which is the same for all of its units.
    known: Vec<Arc<Known>>,
    /// For each level, the covariances of all kinds.
    covariances: Vec<Vec<Matrix>>,
}

/// A sum of cells in a block, at a level: `⟨G, covariance⟩`.
#[derive(Debug)]
pub(super) struct Form<'f> {
    pub(super) level: usize,
    pub(super) gram: &'f Matrix,
}

impl OfBlock {
    /// `own` is what a unit of each level says of the block.
    pub(super) fn new(kinds: &Kinds, knowledge: &Knowledge, own: &[&Own]) -> OfBlock {
        let last = own.len() - 1;
        let leaf = Upward::new(knowledge, own[last], None).state;
        let mut found = OfBlock { known: vec![leaf.known], covariances: vec![vec![leaf.covariance]] };
        for level in (0..last).rev() {
            let below = found.known.last().expect("one").clone();
            let of_below = found.covariances.last().expect("one");
            let sum = |children: &Vec<(u32, f64)>| sum(&below, of_below, children);
            // Which functionals are seen and exact does not depend on numbers of units.
            let first = State { known: below.clone(), covariance: of_below[0].clone() };
            let first = Sum::new(knowledge, &[Children { state: &first, count: 1.0 }]);
            let known = Upward::new(knowledge, own[level], Some(&first)).state.known;
            let lift = known.free_lift();
            let of_own = lift.transposed().around(&own[level].information);
            let of_sum = below.free_rows().times(&lift);
            let upward = |children: &Vec<(u32, f64)>| {
                let mut information = of_own.clone();
                let inverse = positive_inverse(&sum(children));
                match below.plain && known.plain {
                    true => information.add(&inverse, 1.0),
                    false => information.add(&of_sum.transposed().around(&inverse), 1.0),
                }
                positive_inverse(&information)
            };
            let covariances = parallel::map(&kinds.children[level], upward);
            found.known.push(known);
            found.covariances.push(covariances);
        }
        found.known.reverse();
        found.covariances.reverse();
        found
    }

    fn state(&self, level: usize, kind: u32) -> State {
        State { known: self.known[level].clone(), covariance: self.covariances[level][kind as usize].clone() }
    }

    /// What is known in the end of units of a level, but for units that are the only ones of their parents.
    pub(super) fn known(&self, kinds: &Kinds, level: usize) -> &Known {
        // If all are alone, each of them is its parent.
        let level = (1..=level).rev().find(|level| !kinds.all_alone(*level)).unwrap_or(0);
        &self.known[level]
    }

    /// For each form, its value in the last covariance of each unit of its level. It must be seen there.
    pub(super) fn values(&self, kinds: &Kinds, forms: &[Form<'_>]) -> Vec<Vec<f64>> {
        let mut values = vec![vec![]; forms.len()];
        let Some(deepest) = forms.iter().map(|form| form.level).max() else { return values };
        let in_free = |known: &Known, form: &Form<'_>| known.free_lift().transposed().around(form.gram);
        let mut known = &self.known[0];
        let mut last: Vec<Matrix> =
            kinds.units[0].iter().map(|unit| self.covariances[0][unit.kind as usize].clone()).collect();
        for level in 0..=deepest {
            let here = |(_, form): &(usize, &Form<'_>)| form.level == level;
            if level == 0 || kinds.all_alone(level) {
                for (at, form) in forms.iter().enumerate().filter(here) {
                    let gram = in_free(known, form);
                    values[at] = last.iter().map(|covariance| gram.inner(covariance)).collect();
                }
                continue;
            }
            // M of each parent.
            let of_parent = known.express_free(&self.known[level].free_rows());
            let is_plain = known.plain && self.known[level].plain;
            let upward = &self.covariances[level];
            let parents: Vec<(usize, &Unit)> = kinds.units[level - 1].iter().enumerate().collect();
            let middles = parallel::map(&parents, |(at, unit)| {
                let children = &kinds.children[level - 1][unit.kind as usize];
                let mut difference = sum(&self.known[level], upward, children);
                let inverse = positive_inverse(&difference);
                match is_plain {
                    true => difference.add(&last[*at], -1.0),
                    false => difference.add(&of_parent.around(&last[*at]), -1.0),
                }
                inverse.around(&difference)
            });
            known = &self.known[level];
            for (at, form) in forms.iter().enumerate().filter(here) {
                let gram = in_free(known, form);
                let of_kind = |v: &Matrix| (gram.inner(v), v.around(&gram));
                let of_kinds: Vec<(f64, Matrix)> = upward.iter().map(of_kind).collect();
                let value = |unit: &Unit| {
                    let (alone, around) = &of_kinds[unit.kind as usize];
                    alone - around.inner(&middles[unit.parent as usize])
                };
                values[at] = kinds.units[level].iter().map(value).collect();
            }
            if level < deepest {
                last = parallel::map(&kinds.units[level], |unit| {
                    let v = &upward[unit.kind as usize];
                    let mut covariance = v.clone();
                    covariance.add(&v.around(&middles[unit.parent as usize]), -1.0);
                    covariance
                });
            }
        }
        values
    }
}

/// The covariance of the sum of some units.
fn sum(known: &Known, covariances: &[Matrix], units: &[(u32, f64)]) -> Matrix {
    let mut sum = Matrix::zeros(known.free_count(), known.free_count());
    units.iter().for_each(|(kind, count)| sum.add(&covariances[*kind as usize], *count));
    sum
}

fn positive_inverse(matrix: &Matrix) -> Matrix {
    if matrix.rows() == 0 { matrix.clone() } else { matrix.inverse() }
}
