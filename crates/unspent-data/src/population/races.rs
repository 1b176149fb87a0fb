//! The race of a person, among the 63 combinations of six races, in the order of the schemas.
//!
//! What combinations weigh is roughly as in the 2010 Census: most people of several races are White and
//! something else, and hardly anyone is of four or more.

use super::{RACES, Words};

/// Combinations of races.
const COMBINATIONS: usize = 63;

/// White, Black, AIAN, Asian, NHPI, some other race.
const ONE: [u32; 6] = [53_000, 2_460, 1_360, 410, 120, 36_700];
/// White and each of the others; Black and each of those after it; and so on.
const TWO: [u32; 15] = [1834, 1432, 1623, 170, 600, 270, 186, 50, 220, 59, 11, 40, 166, 200, 30];
const THREE: [u32; 20] =
    [2300, 610, 80, 300, 450, 90, 150, 1440, 250, 40, 90, 40, 80, 80, 70, 20, 70, 40, 10, 50];
const FOUR: [u32; 15] = [190, 20, 100, 50, 30, 8, 60, 30, 5, 50, 10, 10, 3, 5, 5];
const FIVE: [u32; 6] = [66, 8, 3, 3, 4, 2];
const SIX: [u32; 1] = [8];
/// Two races of a person who is Hispanic: some other race is much more frequent.
const HISPANIC_TWO: [u32; 15] = [480, 450, 280, 60, 3_200, 90, 40, 20, 450, 20, 10, 200, 40, 100, 50];
/// Three races or more weigh so much less for a person who is Hispanic, where the others are in 100,000.
const HISPANIC_MORE: u32 = 16;

const TWO_FIRST: usize = ONE.len();
const MORE_FIRST: usize = TWO_FIRST + TWO.len();

/// Sums of weights up to each combination, of those that may be drawn.
struct Law([u32; COMBINATIONS]);

static TWO_RACES: Law = Law::new(&[(TWO_FIRST, &TWO)], 1);
static MORE_RACES: Law = Law::new(&[(MORE_FIRST, &THREE), (41, &FOUR), (56, &FIVE), (62, &SIX)], 1);
static HISPANIC: Law = {
    let more = Law::new(&[(MORE_FIRST, &THREE), (41, &FOUR), (56, &FIVE), (62, &SIX)], HISPANIC_MORE);
    let fewer = Law::new(&[(0, &ONE), (TWO_FIRST, &HISPANIC_TWO)], 1);
    let mut sums = [0; COMBINATIONS];
    let mut i = 0;
    while i < COMBINATIONS {
        sums[i] = fewer.0[i] + more.0[i];
        i += 1;
    }
    Law(sums)
};

impl Law {
    /// From lists of weights, each from its first combination on, divided and rounded up.
    const fn new(lists: &[(usize, &[u32])], divided: u32) -> Law {
        let mut sums = [0; COMBINATIONS];
        let mut i = 0;
        while i < lists.len() {
            let (first, weights) = lists[i];
            let mut j = 0;
            while j < weights.len() {
                sums[first + j] = weights[j].div_ceil(divided);
                j += 1;
            }
            i += 1;
        }
        let mut i = 1;
        while i < COMBINATIONS {
            sums[i] += sums[i - 1];
            i += 1;
        }
        Law(sums)
    }

    fn draw(&self, words: &mut Words) -> u8 {
        let place = words.below(self.0[COMBINATIONS - 1]);
        self.0.partition_point(|sum| *sum <= place) as u8
    }
}

/// What a block counts people by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Category(pub(super) usize);

impl Category {
    /// In the order of a block's counts.
    pub(super) fn all() -> impl Iterator<Item = Category> {
        (0..RACES).map(Category)
    }

    /// 1 for people who are Hispanic, 0 for others: the place of the value in the schemas.
    pub(super) fn hispanic(self) -> u8 {
        u8::from(self.0 == 0)
    }

    /// A combination of races: its place in the schemas.
    #[inline]
    pub(super) fn race(self, words: &mut Words) -> u8 {
        match self.0 {
            0 => HISPANIC.draw(words),
            7 => TWO_RACES.draw(words),
            8 => MORE_RACES.draw(words),
            one => one as u8 - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use unspent::schema::Schema;

    use super::*;

    /// How many of 400,000 people have each combination.
    fn drawn(category: usize) -> [u32; COMBINATIONS] {
        let mut words = Words(5);
        let mut counts = [0; COMBINATIONS];
        (0..400_000).for_each(|_| counts[usize::from(Category(category).race(&mut words))] += 1);
        counts
    }

    /// The combinations of so many races, by the schema's own words.
    fn of_races(races: usize) -> Vec<usize> {
        let schema = Schema::shipped("pl94-persons").unwrap();
        let values = &schema.attributes()[3].values;
        assert_eq!(values.len(), COMBINATIONS);
        (0..COMBINATIONS).filter(|i| values[*i].split('+').count() == races).collect()
    }

    #[test]
    fn combinations_are_those_of_the_category() {
        let share =
            |counts: &[u32], of: &[usize]| of.iter().map(|i| f64::from(counts[*i])).sum::<f64>() / 400_000.0;
        let (two, more, hispanic) = (drawn(7), drawn(8), drawn(0));
        assert_eq!(share(&two, &of_races(2)), 1.0);
        assert!(of_races(2).iter().all(|i| two[*i] > 0), "{two:?}");
        // White and something else: the first five.
        assert!((0.75..0.9).contains(&share(&two, &of_races(2)[..5])), "{two:?}");
        let by_number: Vec<f64> = (1..=6).map(|n| share(&more, &of_races(n))).collect();
        assert_eq!(by_number[..2], [0.0, 0.0]);
        assert!((0.85..0.95).contains(&by_number[2]), "{by_number:?}");
        assert!(by_number[2..].is_sorted_by(|a, b| a > b) && by_number[5] > 0.0, "{by_number:?}");
        assert!((0.5..0.56).contains(&share(&hispanic, &[0])), "{hispanic:?}");
        assert!((0.33..0.4).contains(&share(&hispanic, &[5])), "{hispanic:?}");
        let several: f64 = (2..=6).map(|n| share(&hispanic, &of_races(n))).sum();
        assert!((0.05..0.07).contains(&several), "{several}");
        for (category, race) in (1..7).zip(0..) {
            assert_eq!(drawn(category)[race], 400_000);
        }
    }
}
