//! The cells of a histogram, and queries as sums of them.
//!
//! Attributes that share structural zeros become one *axis* whose values are the combinations that occur; all
//! others are an axis each. A query is a product: on every axis it puts values into groups.

use std::collections::BTreeMap;

use unspent::{Error, Result};

/// Most values of an axis that several attributes share. Above it the structural zeros are not used: the
/// estimates stay unbiased, with slightly larger variances.
const MAX_SHARED: usize = 64;
/// Most cells of a histogram that is estimated.
const MAX_CELLS: usize = 1 << 24;
/// Marks a cell that a query does not count.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a query tells apart of an attribute: groups of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    groups: usize,
    group_of: Vec<Option<u32>>,
}

impl Partition {
    /// Every value is a group of its own.
    #[must_use]
    pub fn identity(values: usize) -> Partition {
        Partition { groups: values, group_of: (0..values as u32).map(Some).collect() }
    }

    /// All values are one group: the attribute is summed out.
    #[must_use]
    pub fn summed(values: usize) -> Partition {
        Partition { groups: 1, group_of: vec![Some(0); values] }
    }

    /// The same for an attribute of finer values: `coarse` is the value that each of them belongs to.
    #[must_use]
    pub fn refined(&self, coarse: &[Option<u32>]) -> Partition {
        let group = |value: &Option<u32>| value.and_then(|value| self.group_of[value as usize]);
        Partition { groups: self.groups, group_of: coarse.iter().map(group).collect() }
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The group of each value; none for one that the query does not count.
    #[must_use]
    pub fn values(&self) -> &[Option<u32>] {
        &self.group_of
    }

    /// The group of each value, below `groups`; none for a value that the query does not count.
    #[must_use]
    pub fn new(groups: usize, group_of: Vec<Option<u32>>) -> Partition {
        assert!(
            group_of.iter().flatten().all(|group| (*group as usize) < groups),
            "a group is below {groups}"
        );
        Partition { groups, group_of }
    }
}

/// A query: a group of values of each attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name.
    pub name: String,
    /// One for each attribute.
    pub parts: Vec<Partition>,
    /// Whether it is measured or exact somewhere. Others are only answered.
    pub known: bool,
}

impl Query {
    /// How many answers it has; those of the last attribute change fastest.
    #[must_use]
    pub fn length(&self) -> usize {
        self.parts.iter().map(|part| part.groups).product()
    }

    /// How many groups each attribute has that it tells apart; `[1]` for a total.
    #[must_use]
    pub fn shape(&self) -> Vec<u32> {
        let told: Vec<u32> =
            self.parts.iter().map(|part| part.groups as u32).filter(|groups| *groups != 1).collect();
        if told.is_empty() { vec![1] } else { told }
    }
}

/// Values of some attributes that no record has together: indices of attributes, and of their values.
pub type Impossible = BTreeMap<usize, Vec<u32>>;

/// Several attributes whose values are told apart together, or one.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) attributes: Vec<usize>,
    /// The values of the attributes.
    pub(crate) values: Vec<Vec<u32>>,
    /// Whether single units may lack values, so that no values are put together.
    pub(crate) whole: bool,
    /// For each query, what each value adds to the place of an answer; [`NOWHERE`] if it is not counted.
    pub(crate) offsets: Vec<Vec<u32>>,
}

/// How the answers of a query follow from those of a finer one, or from the cells.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) query: usize,
    /// None for the cells themselves.
    pub(crate) from: Option<usize>,
    /// For each answer of the finer one, the place of the coarser; [`NOWHERE`] if there is none.
    pub(crate) to: Vec<u32>,
}

/// The cells of a histogram that can occur, and queries on them.
#[derive(Debug)]
pub struct Space {
    pub(crate) axes: Vec<Axis>,
    queries: Vec<Query>,
    cells: usize,
    /// The number of each cell in the histogram of all combinations.
    cell_numbers: Vec<u32>,
    all_cells: usize,
    /// From fine to coarse.
    pub(crate) projections: Vec<Projection>,
    unused_zeros: usize,
    /// The axis whose values single units may lack.
    carrier: Option<usize>,
}

impl Space {
    /// Attributes by their numbers of values. `carrier` are the attributes of which single units may lack
    /// values.
    pub fn new(
        attributes: &[usize],
        queries: Vec<Query>,
        impossible: &[Impossible],
        carrier: &[usize],
    ) -> Result<Space> {
        if attributes.is_empty() {
            // Only a total can be asked for: one attribute with one value.
            let one = |query: Query| Query { parts: vec![Partition::summed(1)], ..query };
            return Space::new(&[1], queries.into_iter().map(one).collect(), &[], &[]);
        }
        let all_cells = attributes.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
        let Some(all_cells) = all_cells.filter(|n| *n <= MAX_CELLS) else {
            return Err(Error::stated(
                format!("the histogram has more than {MAX_CELLS} cells"),
                "estimates are made of tables that fit into memory several times",
            ));
        };
        let (groups, unused_zeros) = shared(attributes, impossible, carrier);
        let mut axes: Vec<Axis> =
            groups.into_iter().map(|group| axis(attributes, &queries, impossible, carrier, group)).collect();
        // Axes with recodes come last: what is a contrast on an axis before has fewer queries there. Among
        // the others long ones come first, so that sums run over long rows.
        axes.sort_by_key(|axis| (is_recoded(axis), std::cmp::Reverse(axis.values.len())));
        let cells: usize = axes.iter().map(|axis| axis.values.len()).product();
        let mut space = Space {
            carrier: axes.iter().position(|axis| axis.whole),
            axes,
            queries,
            cells,
            cell_numbers: vec![],
            all_cells,
            projections: vec![],
            unused_zeros,
        };
        space.number_cells(attributes);
        space.project();
        Ok(space)
    }

    /// The queries, in the order given.
    #[must_use]
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// How many cells can occur.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// How many combinations of values there are, also those that cannot occur.
    #[must_use]
    pub fn all_cells(&self) -> usize {
        self.all_cells
    }

    /// The number of each cell among all combinations, those of the last attribute changing fastest.
    #[must_use]
    pub fn cell_numbers(&self) -> &[u32] {
        &self.cell_numbers
    }

    /// How many structural zeros are not used, because their attributes have too many values together.
    #[must_use]
    pub fn unused_zeros(&self) -> usize {
        self.unused_zeros
    }

    /// The attributes of which single units may lack values, and these values.
    #[must_use]
    pub fn carrier(&self) -> Option<(&[usize], &[Vec<u32>])> {
        self.carrier.map(|axis| (&self.axes[axis].attributes[..], &self.axes[axis].values[..]))
    }

    /// For a query by attributes of the carrier alone, the places of the carrier's values that each of its
    /// answers counts; none for another query.
    #[must_use]
    pub fn carried(&self, query: usize) -> Option<Vec<Vec<u32>>> {
        let axis = &self.axes[self.carrier?];
        let asked = &self.queries[query];
        let summed = |part: &Partition| part.groups == 1 && part.group_of.iter().all(Option::is_some);
        let inside =
            |(attribute, part): (usize, &Partition)| axis.attributes.contains(&attribute) || summed(part);
        if !asked.parts.iter().enumerate().all(inside) {
            return None;
        }
        let mut values = vec![vec![]; asked.length()];
        for (value, offset) in
            axis.offsets[query].iter().enumerate().filter(|(_, offset)| **offset != NOWHERE)
        {
            values[*offset as usize].push(value as u32);
        }
        Some(values)
    }

    /// Whether a query that is measured or exact tells apart all values of these axes, and no others.
    pub(crate) fn is_known(&self, told: &[bool]) -> bool {
        let tells = |query: usize| {
            self.axes.iter().zip(told).all(|(axis, told)| {
                let offsets = &axis.offsets[query];
                let mut different: Vec<u32> = offsets.clone();
                different.sort_unstable();
                different.dedup();
                let wanted = if *told { offsets.len() } else { 1 };
                !offsets.contains(&NOWHERE) && different.len() == wanted
            })
        };
        (0..self.queries.len()).any(|query| self.queries[query].known && tells(query))
    }

    pub(crate) fn carrier_axis(&self) -> Option<usize> {
        self.carrier
    }

    /// The place of the answer that counts a cell, by the value on each axis.
    pub(crate) fn place(&self, query: usize, values: &[usize]) -> u32 {
        let mut place = 0;
        for (axis, value) in self.axes.iter().zip(values) {
            let offset = axis.offsets[query][*value];
            if offset == NOWHERE {
                return NOWHERE;
            }
            place += offset;
        }
        place
    }

    /// Whether each answer of a query counts a cell that can occur; if not, it is 0.
    #[must_use]
    pub fn can_occur(&self, query: usize) -> Vec<bool> {
        let mut occurs = vec![false; self.queries[query].length()];
        self.each_cell(|_, values| match self.place(query, values) {
            NOWHERE => {}
            place => occurs[place as usize] = true,
        });
        occurs
    }

    /// The place of the answer of a query that counts a cell.
    #[must_use]
    pub fn place_of(&self, query: usize, cell: usize) -> Option<usize> {
        let mut rest = cell;
        let mut values = vec![0; self.axes.len()];
        for (value, axis) in values.iter_mut().zip(&self.axes).rev() {
            *value = rest % axis.values.len();
            rest /= axis.values.len();
        }
        Some(self.place(query, &values)).filter(|place| *place != NOWHERE).map(|place| place as usize)
    }

    /// Hands on the values of each cell on the axes, in order.
    pub(crate) fn each_cell(&self, mut take: impl FnMut(usize, &[usize])) {
        let mut values = vec![0; self.axes.len()];
        for cell in 0..self.cells {
            take(cell, &values);
            for (value, axis) in values.iter_mut().zip(&self.axes).rev() {
                *value = (*value + 1) % axis.values.len();
                if *value > 0 {
                    break;
                }
            }
        }
    }

    fn number_cells(&mut self, attributes: &[usize]) {
        let mut steps = vec![1u32; attributes.len()];
        for a in (1..attributes.len()).rev() {
            steps[a - 1] = steps[a] * attributes[a] as u32;
        }
        let number = |axis: &Axis, value: usize| -> u32 {
            axis.attributes.iter().zip(&axis.values[value]).map(|(a, v)| steps[*a] * v).sum()
        };
        let mut numbers = vec![0; self.cells];
        self.each_cell(|cell, values| {
            numbers[cell] = self.axes.iter().zip(values).map(|(axis, value)| number(axis, *value)).sum();
        });
        self.cell_numbers = numbers;
    }

    /// Each query is summed from the shortest one that it follows from.
    fn project(&mut self) {
        let mut order: Vec<usize> = (0..self.queries.len()).collect();
        order.sort_by_key(|query| std::cmp::Reverse(self.queries[*query].length()));
        for (at, query) in order.iter().enumerate() {
            let finer = order[..at].iter().rev().find(|finer| self.follows(*query, **finer)).copied();
            let length = finer.map_or(self.cells, |finer| self.queries[finer].length());
            let mut to = vec![NOWHERE; length];
            self.each_cell(|cell, values| {
                let from = finer.map_or(cell as u32, |finer| self.place(finer, values));
                if from != NOWHERE {
                    to[from as usize] = self.place(*query, values);
                }
            });
            self.projections.push(Projection { query: *query, from: finer, to });
        }
    }

    /// Whether the answers of a query are sums of those of another.
    fn follows(&self, query: usize, finer: usize) -> bool {
        self.axes.iter().all(|axis| {
            let mut coarse: BTreeMap<u32, u32> = BTreeMap::new();
            axis.offsets[query].iter().zip(&axis.offsets[finer]).all(|(to, from)| match *from {
                NOWHERE => *to == NOWHERE,
                from => *coarse.entry(from).or_insert(*to) == *to,
            })
        })
    }

    /// Adds to the cells what each query has, through finer queries. The answers are used up.
    pub(crate) fn spread(&self, answers: &mut [Vec<f64>], cells: &mut [f64]) {
        for projection in self.projections.iter().rev() {
            let coarse = std::mem::take(&mut answers[projection.query]);
            let fine = match projection.from {
                Some(finer) => &mut answers[finer][..],
                None => &mut *cells,
            };
            for (x, to) in fine.iter_mut().zip(&projection.to) {
                if *to != NOWHERE {
                    *x += coarse[*to as usize];
                }
            }
            answers[projection.query] = coarse;
        }
    }

    /// Sums the cells to the answers of each query that is wanted, or needed for one.
    pub(crate) fn answer(&self, cells: &[f64], needed: &[bool], answers: &mut [Vec<f64>]) {
        for projection in self.projections.iter().filter(|p| needed[p.query]) {
            let mut coarse = std::mem::take(&mut answers[projection.query]);
            coarse.clear();
            coarse.resize(self.queries[projection.query].length(), 0.0);
            let fine = projection.from.map_or(cells, |finer| &answers[finer]);
            for (x, to) in fine.iter().zip(&projection.to) {
                if *to != NOWHERE {
                    coarse[*to as usize] += x;
                }
            }
            answers[projection.query] = coarse;
        }
    }

    /// The queries that are needed to answer those that are wanted.
    #[must_use]
    pub fn needed(&self, wanted: &[bool]) -> Vec<bool> {
        let mut needed = wanted.to_vec();
        for projection in self.projections.iter().rev() {
            if let (true, Some(finer)) = (needed[projection.query], projection.from) {
                needed[finer] = true;
            }
        }
        needed
    }
}

/// Groups of attributes that share an axis, and how many structural zeros are left out.
fn shared(attributes: &[usize], impossible: &[Impossible], carrier: &[usize]) -> (Vec<Vec<usize>>, usize) {
    let mut group: Vec<usize> = (0..attributes.len()).collect();
    let join = |group: &mut Vec<usize>, members: &[usize]| {
        for pair in members.windows(2) {
            let (keep, other) = (group[pair[0]], group[pair[1]]);
            group.iter_mut().filter(|g| **g == other).for_each(|g| *g = keep);
        }
    };
    join(&mut group, carrier);
    let mut unused = 0;
    for combination in impossible {
        let members: Vec<usize> = combination.keys().copied().collect();
        let mut joined = group.clone();
        join(&mut joined, &members);
        let Some(first) = members.first() else { continue };
        let same = |a: &usize| joined[*a] == joined[*first];
        let size: usize = (0..attributes.len()).filter(same).map(|a| attributes[a]).product();
        if joined == group || size <= MAX_SHARED { group = joined } else { unused += 1 }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    group.iter().enumerate().for_each(|(attribute, group)| groups.entry(*group).or_default().push(attribute));
    (groups.into_values().collect(), unused)
}

fn axis(
    attributes: &[usize],
    queries: &[Query],
    impossible: &[Impossible],
    carrier: &[usize],
    group: Vec<usize>,
) -> Axis {
    let mut values: Vec<Vec<u32>> = vec![vec![]];
    for attribute in &group {
        let longer = |value: &Vec<u32>| {
            let value = value.clone();
            (0..attributes[*attribute] as u32).map(move |next| [&value[..], &[next]].concat())
        };
        values = values.iter().flat_map(longer).collect();
    }
    let inside = |combination: &&Impossible| combination.keys().all(|a| group.contains(a));
    let cannot = |value: &Vec<u32>, combination: &Impossible| {
        combination.iter().all(|(attribute, among)| {
            let at = group.iter().position(|a| a == attribute).expect("inside");
            among.contains(&value[at])
        })
    };
    let combinations: Vec<&Impossible> = impossible.iter().filter(inside).collect();
    values.retain(|value| !combinations.iter().any(|combination| cannot(value, combination)));
    let offsets = |query: &Query| {
        let step = |attribute: usize| -> u32 {
            query.parts[attribute + 1..].iter().map(|part| part.groups as u32).product()
        };
        let offset = |value: &Vec<u32>| {
            let mut offset = 0;
            for (attribute, value) in group.iter().zip(value) {
                match query.parts[*attribute].group_of[*value as usize] {
                    Some(place) => offset += place * step(*attribute),
                    None => return NOWHERE,
                }
            }
            offset
        };
        values.iter().map(offset).collect()
    };
    let offsets = queries.iter().map(offsets).collect();
    let whole = group.iter().any(|attribute| carrier.contains(attribute));
    Axis { attributes: group, values, whole, offsets }
}

/// Whether a query has groups on the axis that are neither single values nor all of them.
fn is_recoded(axis: &Axis) -> bool {
    let plain = |offsets: &Vec<u32>| {
        let all_same = offsets.iter().all(|offset| *offset == offsets[0]);
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        sorted.dedup();
        !offsets.contains(&NOWHERE) && (all_same || sorted.len() == offsets.len())
    };
    axis.whole || !axis.offsets.iter().all(plain)
}

#[cfg(test)]
pub(crate) mod tests;
