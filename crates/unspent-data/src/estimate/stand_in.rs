//! Tables that stand for the truth when the errors of whole tables are simulated (T7 of `theory/tables.md`).
//!
//! Tables that were made are smoother than true ones: somebody is in blocks that are empty, and in facilities
//! that are not there. What is too small to be told from nothing is taken away here and dealt out again to
//! where there is enough, so that all sums of parents stay.
//!
//! ```text
//! made tables, errors of their sums ─▶ weak sums ─▶ from the top down, family by family ─▶ tables
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use unspent::Result;
use unspent::schema::Schema;

use super::errors::{Answers, Truth};
use super::estimation::Estimation;
use super::input::InputQuery;
use super::simulated::{Draws, KnownUnit, NOWHERE, places_of};
use super::whole::Whole;

/// A sum is weak if it is below so many of its errors (T7: a choice, from measurements).
const WEAK: f64 = 1.5;

/// The sums that are looked at: the total, and those of every attribute but the longest one, whose answers
/// are small almost everywhere; and the cells, which come last.
pub(super) fn looked_at(schema: &Schema) -> Vec<InputQuery> {
    let attributes = schema.attributes();
    let longest = (0..attributes.len()).rev().max_by_key(|at| attributes[*at].values.len());
    let short = (0..attributes.len()).filter(|at| Some(*at) != longest);
    let query = |by: Vec<String>| InputQuery { name: by.join(" * "), by };
    let total = InputQuery { name: unspent_estimate::TOTAL.into(), by: vec![] };
    let cells = query(attributes.iter().map(|attribute| attribute.name.clone()).collect());
    [total]
        .into_iter()
        .chain(short.map(|at| query(vec![attributes[at].name.clone()])))
        .chain([cells])
        .collect()
}

/// Errors of sums that are not 0, by level and query.
pub(super) struct SumErrors {
    /// The number of each sum among the truth's queries.
    queries: Vec<usize>,
    /// For each level and sum the squared errors, and of how many answers.
    squares: Vec<Vec<(f64, u64)>>,
}

impl SumErrors {
    pub(super) fn new(schema: &Schema, truth: &Truth) -> Result<SumErrors> {
        let number = |query: InputQuery| truth.query_by(schema, &query.by);
        let queries = looked_at(schema).into_iter().map(number).collect::<Result<Vec<_>>>()?;
        let squares = vec![vec![(0.0, 0); queries.len()]; truth.levels.len()];
        Ok(SumErrors { queries, squares })
    }

    pub(super) fn add(&mut self, answers: &Answers<'_>) {
        let Some(found) = answers.found else { return };
        for (query, (squares, count)) in self.queries.iter().zip(&mut self.squares[answers.level]) {
            if *query != answers.query {
                continue;
            }
            for (found, exact) in found.iter().zip(answers.exact).filter(|(_, exact)| **exact != 0.0) {
                *squares += (found - exact) * (found - exact);
                *count += 1;
            }
        }
    }

    /// For each level and sum, what is too small to be told from nothing.
    fn thresholds(&self) -> Vec<Vec<f64>> {
        let threshold = |(squares, count): &(f64, u64)| WEAK * (squares / (*count).max(1) as f64).sqrt();
        self.squares.iter().map(|level| level.iter().map(threshold).collect()).collect()
    }
}

/// A unit: its level, and where it is there.
type Place = (usize, usize);

/// The tables that stand for the truth. Where something is known of a unit without noise, tables stay as they
/// are.
pub(super) fn tables(
    estimation: &Estimation,
    whole: &Whole,
    known: &[Arc<Vec<KnownUnit>>],
    errors: &SumErrors,
    seed: u64,
) -> Result<Vec<Arc<Vec<KnownUnit>>>> {
    let Estimation { joined, gathered, .. } = estimation;
    let mut places: HashMap<(usize, &str), usize> = HashMap::new();
    for (level, units) in known.iter().enumerate() {
        places.extend(units.iter().enumerate().map(|(at, unit)| ((level, unit.code.as_str()), at)));
    }
    let mut families: HashMap<Place, (usize, Vec<Place>)> = HashMap::new();
    for (level, units) in known.iter().enumerate() {
        for (at, unit) in units.iter().enumerate() {
            let Some(node) = gathered.parent(joined, level, &unit.code)? else { continue };
            let above = gathered.units[node].as_ref().expect("a parent is a unit by itself");
            let parent = (above.level, places[&(above.level, above.code.as_str())]);
            families.entry(parent).or_insert((node, vec![])).1.push((level, at));
        }
    }
    let mut families: Vec<(Place, (usize, Vec<Place>))> = families.into_iter().collect();
    // A parent's table is decided before it is dealt out.
    families.sort_unstable_by_key(|(parent, _)| *parent);
    let sums = Sums::new(&joined.first.schema, errors.thresholds())?;
    let mut made: Vec<Vec<KnownUnit>> = known.iter().map(|units| units.to_vec()).collect();
    let mut draws = Draws::new(seed);
    for ((level, at), (node, children)) in families {
        if whole.is_limited(node) {
            continue;
        }
        let members: Vec<Member<'_>> =
            children.iter().map(|(level, at)| (*level, &known[*level][*at].table[..])).collect();
        let found = sums.dealt_out(&made[level][at].table, &members, &mut draws);
        for ((level, at), table) in children.into_iter().zip(found) {
            made[level][at].table = table;
        }
    }
    Ok(made.into_iter().map(Arc::new).collect())
}

/// A child: its level, and its table.
type Member<'m> = (usize, &'m [(u32, i64)]);

/// The sums that are looked at, without the cells, and what is weak.
struct Sums {
    /// For each sum, the answer that counts each cell.
    places: Vec<Vec<u32>>,
    /// How many answers each has.
    lengths: Vec<usize>,
    /// By level: of each sum, and of cells.
    thresholds: Vec<Vec<f64>>,
}

/// What the children of a family have.
struct Family<'f> {
    sums: &'f Sums,
    levels: Vec<usize>,
    /// For each sum, the answers of each child, one child after the other.
    answers: Vec<Vec<i64>>,
    /// Shares by which people are dealt out, added up; by the answers that count them.
    shares: HashMap<Vec<u32>, Vec<u64>>,
}

impl Sums {
    fn new(schema: &Schema, thresholds: Vec<Vec<f64>>) -> Result<Sums> {
        let mut looked_at = looked_at(schema);
        looked_at.pop();
        let places =
            looked_at.iter().map(|query| places_of(schema, &query.by)).collect::<Result<Vec<_>>>()?;
        let length = |places: &Vec<u32>| {
            places.iter().filter(|at| **at != NOWHERE).max().map_or(1, |at| *at as usize + 1)
        };
        let lengths = places.iter().map(length).collect();
        Ok(Sums { places, lengths, thresholds })
    }

    /// Deals a parent's table out to its children. Whoever is counted by strong sums alone stays.
    fn dealt_out(
        &self,
        parent: &[(u32, i64)],
        children: &[Member<'_>],
        draws: &mut Draws,
    ) -> Vec<Vec<(u32, i64)>> {
        let mut family = Family::new(self, children);
        let members = children.iter().enumerate();
        let mut counts: Vec<(u32, usize, i64)> = members
            .flat_map(|(child, (_, table))| table.iter().map(move |(cell, count)| (*cell, child, *count)))
            .collect();
        counts.sort_unstable();
        let mut rest = &counts[..];
        let mut found = vec![vec![]; children.len()];
        let mut stay = vec![0; children.len()];
        for (cell, people) in parent {
            rest = &rest[rest.partition_point(|(other, ..)| other < cell)..];
            let (here, later) = rest.split_at(rest.partition_point(|(other, ..)| other == cell));
            rest = later;
            stay.fill(0);
            for (_, child, count) in
                here.iter().filter(|(_, child, count)| family.stays(*cell, *child, *count))
            {
                stay[*child] += count;
            }
            let mut staying: i64 = stay.iter().sum();
            while staying > *people {
                let mut at = draws.below(staying as u64) as i64;
                let leaves = stay.iter().position(|count| {
                    at -= count;
                    at < 0
                });
                stay[leaves.expect("is below their sum")] -= 1;
                staying -= 1;
            }
            if staying < *people {
                let shares = family.shares(*cell);
                for _ in staying..*people {
                    let at = draws.below(*shares.last().expect("a parent has children"));
                    stay[shares.partition_point(|end| *end <= at)] += 1;
                }
            }
            let counts = stay.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.for_each(|(child, count)| found[child].push((*cell, *count)));
        }
        found
    }
}

impl<'f> Family<'f> {
    fn new(sums: &'f Sums, children: &[Member<'_>]) -> Family<'f> {
        let mut answers: Vec<Vec<i64>> =
            sums.lengths.iter().map(|length| vec![0; length * children.len()]).collect();
        for (child, (_, table)) in children.iter().enumerate() {
            for (cell, count) in *table {
                for ((answers, places), length) in answers.iter_mut().zip(&sums.places).zip(&sums.lengths) {
                    match places[*cell as usize] {
                        NOWHERE => {}
                        place => answers[child * length + place as usize] += count,
                    }
                }
            }
        }
        let levels = children.iter().map(|(level, _)| *level).collect();
        Family { sums, levels, answers, shares: HashMap::new() }
    }

    /// A child's answer; none if the sum does not count the cell.
    fn answer(&self, sum: usize, place: u32, child: usize) -> Option<i64> {
        let at = child * self.sums.lengths[sum] + place as usize;
        (place != NOWHERE).then(|| self.answers[sum][at])
    }

    fn is_strong(&self, sum: usize, place: u32, child: usize) -> bool {
        let threshold = self.sums.thresholds[self.levels[child]][sum];
        self.answer(sum, place, child).is_none_or(|answer| answer as f64 >= threshold)
    }

    /// Whether so many of a cell stay in a child.
    fn stays(&self, cell: u32, child: usize, count: i64) -> bool {
        let cells = self.sums.places.len();
        let strong = |(sum, places): (usize, &Vec<u32>)| self.is_strong(sum, places[cell as usize], child);
        count as f64 >= self.sums.thresholds[self.levels[child]][cells]
            && self.sums.places.iter().enumerate().all(strong)
    }

    /// Shares of the children in people of a cell that do not stay, added up.
    fn shares(&mut self, cell: u32) -> &[u64] {
        let key: Vec<u32> = self.sums.places.iter().map(|places| places[cell as usize]).collect();
        if !self.shares.contains_key(&key) {
            let mut end = 0;
            let ends = self.weights(&key).into_iter().map(|weight| {
                end += weight;
                end
            });
            let ends = ends.collect();
            self.shares.insert(key.clone(), ends);
        }
        &self.shares[&key]
    }

    /// In proportion to the rarest sum that is strong anywhere, where the others are strong too if possible.
    fn weights(&self, key: &[u32]) -> Vec<u64> {
        let children = 0..self.levels.len();
        let of_all = |sum: usize| -> i64 {
            children.clone().map(|child| self.answer(sum, key[sum], child).unwrap_or(0)).sum()
        };
        let mut order: Vec<usize> = (0..key.len()).filter(|sum| of_all(*sum) > 0).collect();
        order.sort_by_key(|sum| of_all(*sum));
        let is_there = |weights: &[u64]| weights.iter().any(|weight| *weight > 0);
        let only_strong = |weights: &[u64], sum: usize| -> Vec<u64> {
            let weight = |child: usize| u64::from(self.is_strong(sum, key[sum], child)) * weights[child];
            children.clone().map(weight).collect()
        };
        let answers = |sum: usize| -> Vec<u64> {
            children.clone().map(|child| self.answer(sum, key[sum], child).unwrap_or(0) as u64).collect()
        };
        for sum in &order {
            let mut weights = only_strong(&answers(*sum), *sum);
            if !is_there(&weights) {
                continue;
            }
            for other in &order {
                let fewer = only_strong(&weights, *other);
                if is_there(&fewer) {
                    weights = fewer;
                }
            }
            return weights;
        }
        // Nothing is strong: as they are; or nobody is anywhere, and all are alike.
        order.first().map_or_else(|| vec![1; self.levels.len()], |sum| answers(*sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four cells: two homes by two kinds. Totals below 4, homes below 3 and cells below 2 are weak.
    fn sums() -> Sums {
        let places = vec![vec![0; 4], vec![0, 0, 1, 1]];
        Sums { places, lengths: vec![1, 2], thresholds: vec![vec![4.0, 3.0, 2.0]] }
    }

    fn dealt_out(parent: &[(u32, i64)], children: &[&[(u32, i64)]]) -> Vec<Vec<(u32, i64)>> {
        let children: Vec<Member<'_>> = children.iter().map(|table| (0, *table)).collect();
        let found = sums().dealt_out(parent, &children, &mut Draws::new(3));
        for (cell, people) in parent {
            let of_cell = found.iter().flatten().filter(|(other, _)| other == cell);
            assert_eq!(of_cell.map(|(_, count)| count).sum::<i64>(), *people, "{cell}");
        }
        let sum = |table: &[(u32, i64)]| table.iter().map(|(_, count)| count).sum::<i64>();
        assert_eq!(found.iter().map(|table| sum(table)).sum::<i64>(), sum(parent));
        assert!(found.iter().flatten().all(|(_, count)| *count > 0));
        found
    }

    #[test]
    fn what_is_strong_stays_and_what_is_weak_goes_where_there_is_enough() {
        // Three are too few for a unit.
        let found = dealt_out(&[(0, 13)], &[&[(0, 10)], &[(0, 3)], &[]]);
        assert_eq!(found, [vec![(0, 13)], vec![], vec![]]);
        // Nothing is weak.
        let children: [&[(u32, i64)]; 2] = [&[(0, 5), (2, 4)], &[(1, 9)]];
        assert_eq!(dealt_out(&[(0, 5), (1, 9), (2, 4)], &children), children);
        // Two in the second home are too few, and go to where it has some, however large others are.
        let found = dealt_out(&[(0, 70), (2, 10)], &[&[(0, 30), (2, 8)], &[(0, 40), (2, 2)]]);
        assert_eq!(found, [vec![(0, 30), (2, 10)], vec![(0, 40)]]);
    }

    #[test]
    fn weak_cells_are_dealt_out_by_strong_sums() {
        // Each of these is one person of a rare kind, in the smaller unit by chance.
        let found = dealt_out(&[(0, 1000), (1, 1)], &[&[(0, 999)], &[(0, 1), (1, 1)]]);
        assert_eq!(found, [vec![(0, 1000), (1, 1)], vec![]]);
        // In proportion to sizes.
        let many: Vec<Vec<(u32, i64)>> = (0..400).map(|_| vec![(0, 4), (1, 1)]).collect();
        let mut children: Vec<&[(u32, i64)]> = many.iter().map(Vec::as_slice).collect();
        children.push(&[(0, 2000)]);
        let found = dealt_out(&[(0, 3600), (1, 400)], &children);
        let large: i64 = found[400].iter().filter(|(cell, _)| *cell == 1).map(|(_, n)| n).sum();
        assert!((160..240).contains(&large), "{large}: half of them");
    }

    #[test]
    fn a_parent_with_other_people_is_followed() {
        // Fewer, more and others than the children had.
        let found = dealt_out(&[(0, 4)], &[&[(0, 10)], &[(0, 30)]]);
        assert!(found.iter().flatten().all(|(cell, _)| *cell == 0));
        dealt_out(&[(0, 50), (3, 7)], &[&[(0, 10)], &[(0, 30)]]);
        // Nothing is strong, or nobody is there.
        dealt_out(&[(1, 3)], &[&[(1, 1)], &[(1, 2)]]);
        dealt_out(&[(1, 3)], &[&[], &[]]);
        assert_eq!(dealt_out(&[(2, 3)], &[&[(1, 5)]]), [vec![(2, 3)]]);
        assert_eq!(dealt_out(&[], &[&[(1, 5)], &[]]), [vec![], vec![]]);
    }
}
