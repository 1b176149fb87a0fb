//! A made-up population in nested units, for trying things out where there is no table at hand.
//!
//! ```text
//! size, seed ─▶ states ─▶ counties ─▶ PEPGs ─▶ groups ─▶ tracts ─▶ block groups ─▶ blocks ─▶ households
//!               (shares)  (each takes some of the blocks that its parent has left)           (of one race each)
//! ```
//!
//! Nobody in it exists, but its shape is roughly that of the 2010 Census: sizes with heavy tails, two blocks in five empty, 28
//! persons a block on average and thousands in some, and races that cluster by state, county, tract and household, so
//! that most small counts are zero. Blocks come in the order of their codes, and memory is one open unit a level.
//!
//! All arithmetic is on integers, so that a size and a seed give the same population on every machine. A larger
//! population is another one, not the smaller one with blocks added: it has more states.

use crate::allocation::Schema;
use crate::error::{Error, Result};

/// Most blocks of a population.
pub const MAX_BLOCKS: u64 = 1_000_000_000;

/// Characters of a block's code.
pub const CODE: usize = 15;

/// Levels of the schema, the whole included.
pub const LEVELS: usize = 8;

/// Race cells of a block: everyone is in one of them.
pub const RACES: usize = 9;

/// The table `[table]` that tells how such a population is read, as a file with comments.
pub const SCHEMA: &str = r#"# How a table from `unspent synthesize` is read. It is made up: nobody in it exists.
# `unspent measure TABLE --allocation FILE --schema THIS --out DIR` adds noise, for an allocation of any of these levels
# and of queries that ask for nothing ([]) or for ["race"].

# One row for each block, sorted by code.
[table]
code = "geocode"

# Which column is which cell. Persons who are hispanic are of any race; all others are not hispanic.
cells = [
  { race = "hispanic", column = "pop_hispanic" },
  { race = "white", column = "pop_white" },
  { race = "black", column = "pop_black" },
  { race = "aian", column = "pop_aian" },
  { race = "asian", column = "pop_asian" },
  { race = "nhpi", column = "pop_nhpi" },
  { race = "other", column = "pop_other" },
  { race = "two races", column = "pop_two" },
  { race = "three or more races", column = "pop_three" },
]

# From the largest areas to the smallest: how many characters of the code name a unit. The levels are those of
# the preset paper-2022-08-25.
[table.levels]
US = 0
State = 2
County = 5
PEPG = 6
"Tract Subset Group" = 7
"Tract Subset" = 11
"Optimized Block Group" = 12
Block = 15

# In the order in which answers list them.
[table.attributes]
race = ["hispanic", "white", "black", "aian", "asian", "nhpi", "other", "two races", "three or more races"]
"#;

/// How such a population is read.
#[must_use]
pub fn schema() -> Schema {
    Schema::parse("the schema of made-up populations", SCHEMA).expect("tested")
}

/// The blocks of a made-up population, in the order of their codes.
///
/// ```
/// use unspent::population::Population;
/// let blocks: Vec<_> = Population::new(1_000, 1)?.collect();
/// assert_eq!(blocks.len(), 1_000);
/// assert!(blocks.is_sorted_by(|a, b| a.code() < b.code()));
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Population {
    words: Words,
    /// The code of the last block.
    code: [u8; CODE],
    /// The number of the open unit of each level, inside the one above; units have numbers from 1.
    numbers: [u64; LEVELS],
    /// Blocks of each level's open unit that no unit below it has taken yet.
    left: [u64; LEVELS],
    /// Units of each level so far.
    units: [u64; LEVELS],
    /// Blocks of each state.
    states: Vec<u64>,
    /// Typical blocks of a county, unless its state would have too many.
    county: u64,
    /// Typical blocks of the units of each level that lie in the open one of the level above.
    typical: [u64; LEVELS],
    /// What the races weigh in the open unit of each level.
    weights: [[u64; RACES]; LEVELS],
    /// How dense the open county is, in 1/256.
    density: u64,
    tract: Tract,
}

/// A block: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its code, in ASCII digits; the first of them are those of the units it lies in.
    pub digits: [u8; CODE],
    /// Persons of each race, in the order of [`schema`].
    pub counts: [u32; RACES],
}

impl Block {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.digits).expect("ASCII digits")
    }
}

const US: usize = 0;
const STATE: usize = 1;
const COUNTY: usize = 2;
const TRACT: usize = 5;
const BLOCK: usize = 7;

/// Characters of the codes of each level, as in [`SCHEMA`].
const ENDS: [usize; LEVELS] = [0, 2, 5, 6, 7, 11, 12, CODE];

/// Into how many units a unit of the level above typically falls, and of how many blocks these are at least: so there are
/// some 3,100 counties, 76,000 tracts and 216,000 block groups for 11 million blocks, and units are not crumbs if there are few.
const PARTS: [(u64, u64); LEVELS] =
    [(1, 1), (1, 1), (300, 1), (2, 1_000), (3, 400), (2_500, 200), (2, 20), (1, 1)];

/// Most blocks a unit of each level can have: all codes below it.
const CAPACITY: [u64; LEVELS] = {
    let mut capacity = [1; LEVELS];
    let mut level = BLOCK;
    while level > US {
        capacity[level - 1] = capacity[level] * last_number(level);
        level -= 1;
    }
    capacity
};

/// The largest number of a unit inside the one above.
const fn last_number(level: usize) -> u64 {
    10u64.pow((ENDS[level] - ENDS[level - 1]) as u32) - 1
}

/// States of a population as large as that of 2010, which had 11,078,297 blocks: nearly 83 · 51³.
const MOST_STATES: u64 = 51;
const BLOCKS_BY_CUBE_OF_STATES: u64 = 83;
/// Typical blocks of a county, for each state that there is.
const COUNTY_BY_STATES: u64 = 70;

/// What the races weigh, in the order of the schema: such that they come out about as in 2010, with 64 % white, 16 % hispanic
/// and 12 % black. Where others are many there is less room for more of them, so that they weigh more than they are.
const WEIGHTS: [u64; RACES] = [1_900, 5_500, 1_400, 95, 550, 20, 24, 210, 16];

const WHITE: usize = 1;

/// Households of two blocks with people, in an area of ordinary density.
const HOUSEHOLDS: u64 = 31;
/// Most households of a block.
const MOST_HOUSEHOLDS: u64 = 4_000;
/// Persons of a household, of each size as many as there are such households in 64.
const PERSONS: [u8; 64] = {
    let households = [17, 21, 10, 9, 4, 2, 1];
    let mut persons = [0; 64];
    let (mut size, mut next) = (1, 0);
    while size <= households.len() {
        let end = next + households[size - 1];
        while next < end {
            persons[next] = size as u8;
            next += 1;
        }
        size += 1;
    }
    persons
};

/// What is the same for all blocks of a tract.
#[derive(Clone, Debug)]
struct Tract {
    /// Households of a block with people, in 1/256.
    households: u64,
    /// Blocks with people, in 256.
    inhabited: u64,
    /// A race for each 10 bits, as often as it is in the tract: one person of it, counted in fields of 7 bits.
    races: Box<[u64; 1 << 10]>,
}

/// Bits of a field, and households until one could overflow: 16 · 7 ≤ 2⁷ − 1.
const FIELD: usize = 7;
const HOUSEHOLDS_AT_A_TIME: u64 = 16;

impl Population {
    /// A population of so many blocks.
    pub fn new(blocks: u64, seed: u64) -> Result<Population> {
        if !(1..=MAX_BLOCKS).contains(&blocks) {
            let allowed = format!("a whole number between 1 and {MAX_BLOCKS}");
            return Err(Error::input("blocks", blocks, allowed, "the 2010 Census had 11078297"));
        }
        let mut words = Words(seed);
        let root = cube_root(blocks / BLOCKS_BY_CUBE_OF_STATES).max(1);
        let states = states(&mut words, blocks, root.min(MOST_STATES));
        let mut population = Population {
            words,
            code: [b'0'; CODE],
            numbers: [0; LEVELS],
            left: [0; LEVELS],
            units: [0; LEVELS],
            states,
            county: COUNTY_BY_STATES * root,
            typical: [1; LEVELS],
            // Room for factors below 1.
            weights: [WEIGHTS.map(|weight| weight << 8); LEVELS],
            density: 256,
            tract: Tract { households: 0, inhabited: 0, races: Box::new([0; 1 << 10]) },
        };
        population.left[US] = blocks;
        population.units[US] = 1;
        Ok(population)
    }

    /// How many units of each level of the schema there were so far.
    #[must_use]
    pub fn units(&self) -> [u64; LEVELS] {
        self.units
    }

    /// Opens the units of the next block: those below the smallest one that has blocks left.
    #[inline]
    fn open(&mut self) -> Option<()> {
        let smallest = (US..BLOCK).rev().find(|level| self.left[*level] > 0)?;
        for level in smallest + 1..=BLOCK {
            self.numbers[level] += 1;
            self.units[level] += 1;
            write_number(&mut self.code[ENDS[level - 1]..ENDS[level]], self.numbers[level]);
            let blocks = self.blocks(level);
            self.left[level - 1] -= blocks;
            if level < BLOCK {
                self.left[level] = blocks;
                self.numbers[level + 1] = 0;
                let (parts, least) = PARTS[level + 1];
                let least = if level + 1 == COUNTY { self.county } else { least };
                self.typical[level + 1] = (blocks / parts).max(least);
                self.settle(level);
            }
        }
        Some(())
    }

    /// How many blocks of its parent a new unit takes: at least one, and enough that codes last for the others.
    #[inline]
    fn blocks(&mut self, level: usize) -> u64 {
        if level == BLOCK {
            return 1;
        }
        if level == STATE {
            return self.states[self.numbers[STATE] as usize - 1];
        }
        let left = self.left[level - 1];
        let later = (last_number(level) - self.numbers[level]) * CAPACITY[level];
        let needed = left.saturating_sub(later).max(1);
        ((self.typical[level] * self.words.factor()) >> 8).clamp(needed, left.min(CAPACITY[level]))
    }

    /// Decides what kind of place a new unit is.
    fn settle(&mut self, level: usize) {
        self.weights[level] = self.weights[level - 1];
        if matches!(level, STATE | COUNTY | TRACT) {
            for (race, weight) in self.weights[level].iter_mut().enumerate() {
                // All others vary against the largest.
                if race != WHITE {
                    *weight = ((*weight * self.words.factor()) >> 8).max(1);
                }
            }
        }
        if level == COUNTY {
            // Half way to the ordinary: counties differ less than tracts.
            self.density = (256 + self.words.factor()) / 2;
        }
        if level == TRACT {
            let density = (self.density * self.words.factor()) >> 8;
            self.tract.households = HOUSEHOLDS * density / 2;
            // More of a dense tract's blocks have people: 31 % at the least, 86 % at the most.
            self.tract.inhabited = 80 + (density * 5 / 16).min(140);
            self.tract.fill_races(&self.weights[level], self.words.next());
        }
    }

    /// The people of a block.
    #[inline]
    fn people(&mut self) -> [u32; RACES] {
        let mut counts = [0; RACES];
        let word = self.words.next();
        if word & 255 >= self.tract.inhabited {
            return counts;
        }
        // The last 16 bits round, up as often as down.
        let households = (self.tract.households * factor(word >> 8) + (word >> 48)) >> 16;
        let mut households = households.min(MOST_HOUSEHOLDS);
        while households > 0 {
            let mut now = households.min(HOUSEHOLDS_AT_A_TIME);
            households -= now;
            let mut fields = 0;
            while now >= 4 {
                let word = self.words.next();
                fields += self.tract.household(word)
                    + self.tract.household(word >> 16)
                    + self.tract.household(word >> 32)
                    + self.tract.household(word >> 48);
                now -= 4;
            }
            let mut word = self.words.next();
            for _ in 0..now {
                fields += self.tract.household(word);
                word >>= 16;
            }
            for (race, count) in counts.iter_mut().enumerate() {
                *count += (fields >> (FIELD * race)) as u32 & ((1 << FIELD) - 1);
            }
        }
        counts
    }
}

impl Iterator for Population {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        self.open()?;
        let counts = self.people();
        Some(Block { digits: self.code, counts })
    }
}

impl Tract {
    /// Gives each race its share of the 1,024 places, rounded at random: small ones have none in many tracts.
    fn fill_races(&mut self, weights: &[u64; RACES], word: u64) {
        let all: u64 = weights.iter().sum();
        // Below 10⁴ · 2⁸ · 940³ · 2¹⁰ < 2⁶³: no overflow, whatever the factors were.
        let mut sum = word % all;
        let mut start = 0;
        for (race, weight) in weights.iter().enumerate() {
            sum += weight * self.races.len() as u64;
            let end = (sum / all) as usize;
            self.races[start..end].fill(1 << (FIELD * race));
            start = end;
        }
    }

    /// The people of a household, from 16 random bits: all of one race.
    #[inline]
    fn household(&self, word: u64) -> u64 {
        self.races[(word & 1023) as usize] * u64::from(PERSONS[((word >> 10) & 63) as usize])
    }
}

/// Random words: Steele, Lea and Flood's SplitMix64. Good enough to make up people and for nothing that is to be private.
#[derive(Clone, Debug)]
struct Words(u64);

impl Words {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A factor in 1/256; see [`factor`].
    fn factor(&mut self) -> u64 {
        factor(self.next())
    }
}

/// A random factor in 1/256, of mean 1, from 30 random bits: from a lognormal law, and then doubled while a chance
/// of one in eight comes true, at most eight times. That makes a Pareto tail of exponent 3.
#[inline]
fn factor(word: u64) -> u64 {
    /// Quantiles (i + ½)/64 of a lognormal law whose logarithm has standard deviation 0.7; of mean 6/7, since
    /// doubling multiplies the mean by 7/6.
    const QUANTILES: [u16; 64] = [
        32, 43, 50, 56, 62, 66, 71, 75, 79, 83, 87, 91, 95, 99, 102, 106, 110, 113, 117, 121, 125, 129, 132,
        136, 140, 144, 149, 153, 157, 161, 166, 171, 175, 180, 185, 190, 196, 201, 207, 213, 219, 226, 233,
        240, 247, 255, 264, 273, 282, 292, 303, 315, 329, 343, 359, 377, 398, 422, 450, 485, 530, 594, 695,
        940,
    ];
    let doubled = ((word >> 6) | (1 << 24)).trailing_zeros() / 3;
    u64::from(QUANTILES[(word & 63) as usize]) << doubled
}

/// Divides blocks among states, at least one each.
fn states(words: &mut Words, blocks: u64, states: u64) -> Vec<u64> {
    let factors: Vec<u64> = (0..states).map(|_| words.factor()).collect();
    let all: u64 = factors.iter().sum();
    let more = blocks - states;
    let (mut sum, mut before) = (0, 0);
    let of_state = |factor: &u64| {
        sum += factor;
        // Below 10⁹ · 2²⁴: no overflow.
        let end = more * sum / all;
        1 + end - std::mem::replace(&mut before, end)
    };
    factors.iter().map(of_state).collect()
}

/// The largest integer whose cube is not above `n`.
fn cube_root(n: u64) -> u64 {
    let mut root = 0u64;
    while (root + 1).pow(3) <= n {
        root += 1;
    }
    root
}

/// Writes a number with leading zeros.
#[inline]
fn write_number(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;
    use crate::allocation::{Allocation, Code};
    use crate::measure::{Batch, Noises, Plan, Tabulation};
    use crate::sampler::Key;

    fn population(blocks: u64, seed: u64) -> Population {
        Population::new(blocks, seed).unwrap()
    }

    #[test]
    fn the_schema_is_that_of_the_blocks() {
        let schema = schema();
        let lengths: Vec<Code> = schema.levels().iter().map(|level| level.code.clone()).collect();
        assert_eq!(lengths, ENDS.map(Code::Prefix));
        assert_eq!((schema.code(), schema.cells().len()), (Some("geocode"), RACES));
        let columns: HashSet<&str> = schema.cells().iter().map(|cell| cell.column.as_str()).collect();
        assert_eq!(columns.len(), RACES);
        assert!(schema.cells().iter().all(|cell| cell.minus.is_empty()));
        assert_eq!(schema.attributes()[0].values[WHITE], "white");
        // The levels are those of the preset.
        let preset = Allocation::preset("paper-2022-08-25").unwrap();
        let names = |level: &crate::allocation::Level| level.name.clone();
        let expected: Vec<String> = preset.levels().iter().map(names).collect();
        let levels: Vec<String> = schema.levels().iter().map(|level| level.name.clone()).collect();
        assert_eq!(levels, expected);
    }

    #[test]
    fn sizes_are_refused_by_name() {
        for blocks in [0, MAX_BLOCKS + 1] {
            let error = Population::new(blocks, 1).unwrap_err().to_string();
            assert!(
                error.contains("blocks") && error.contains("between 1 and 1000000000"),
                "{blocks}: {error}"
            );
        }
    }

    /// Checks that codes are digits, ascend, and number the units inside a unit 1, 2, 3 and so on; and counts all units.
    struct Codes {
        last: [u8; CODE],
        units: [u64; LEVELS],
    }

    impl Codes {
        fn new() -> Codes {
            Codes { last: [b'0'; CODE], units: [1, 0, 0, 0, 0, 0, 0, 0] }
        }

        fn add(&mut self, code: &[u8; CODE]) {
            let number = |code: &[u8; CODE], level: usize| -> u64 {
                let digits = &code[ENDS[level - 1]..ENDS[level]];
                digits.iter().fold(0, |n, digit| {
                    assert!(digit.is_ascii_digit());
                    10 * n + u64::from(digit - b'0')
                })
            };
            let new = (STATE..=BLOCK).find(|level| code[..ENDS[*level]] != self.last[..ENDS[*level]]);
            let new = new.expect("no code comes twice");
            assert_eq!(number(code, new), number(&self.last, new) + 1);
            assert!((new + 1..=BLOCK).all(|level| number(code, level) == 1));
            self.units[new..].iter_mut().for_each(|units| *units += 1);
            self.last = *code;
        }
    }

    #[test]
    fn every_size_has_its_number_of_blocks_in_nested_order() {
        for blocks in (1..=2_000).chain([4_095, 10_007, 99_999, 663_999, 664_000, 2_345_678]) {
            let mut population = population(blocks, blocks);
            let mut codes = Codes::new();
            let mut rows = 0;
            for block in &mut population {
                codes.add(&block.digits);
                rows += 1;
            }
            assert_eq!(rows, blocks);
            assert_eq!(population.units(), codes.units, "{blocks}");
            assert!(population.next().is_none(), "{blocks}: the end is the end");
        }
    }

    /// The codes alone, without people.
    #[test]
    fn large_sizes_have_codes_too() {
        for blocks in [11_078_297, 50_000_000] {
            let mut population = population(blocks, 3);
            let mut rows = 0u64;
            let mut last = [b'0'; CODE];
            while population.open().is_some() {
                assert!(last < population.code);
                last = population.code;
                rows += 1;
            }
            assert_eq!((rows, population.units[STATE]), (blocks, MOST_STATES));
        }
    }

    #[test]
    fn units_that_need_all_their_codes_get_them() {
        // A tract as full as can be, whose block groups would like to be small; and one with a block less.
        for missing in [0, 1] {
            let mut population = population(1, 1);
            while population.open().is_some() {}
            population.left[TRACT] = CAPACITY[TRACT] - missing;
            population.numbers[TRACT + 1] = 0;
            population.typical[TRACT + 1] = 20;
            let mut rows = 0;
            while population.open().is_some() {
                rows += 1;
            }
            assert_eq!(rows, 9 * 999 - missing);
            assert_eq!(population.numbers[TRACT + 1..], [9, 999]);
        }
        // The largest population fits into any state.
        assert!(CAPACITY[STATE] > MAX_BLOCKS);
    }

    #[test]
    fn a_size_and_a_seed_are_one_population_everywhere() {
        let blocks = |seed| population(10_000, seed).collect::<Vec<_>>();
        let (one, two) = (blocks(1), blocks(2));
        assert_eq!(one, blocks(1));
        let same = one.iter().zip(&two).filter(|(a, b)| a.counts == b.counts && a.counts != [0; RACES]);
        assert!(same.count() < 500, "seeds differ");
        // SplitMix64's published values.
        let mut words = Words(1_234_567);
        assert_eq!([words.next(), words.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        // FNV-1a of all rows, as on every other machine.
        let mut digest = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |byte: u8| digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        for block in &one {
            block.digits.iter().for_each(|digit| add(*digit));
            block.counts.iter().flat_map(|count| count.to_le_bytes()).for_each(&mut add);
        }
        assert_eq!(digest, 0xaf04_b408_36a8_5dac, "{digest:#x}");
    }

    /// What is said of the shape, for several seeds.
    #[test]
    fn the_shape_is_roughly_that_of_2010() {
        for seed in [1, 2, 3] {
            let blocks = 2_000_000;
            let mut population = population(blocks, seed);
            let (mut empty, mut over_1000, mut largest) = (0u64, 0u64, 0);
            let (mut sums, mut present) = ([0u64; RACES], [0u64; RACES]);
            let mut states: BTreeMap<[u8; 2], u64> = BTreeMap::new();
            let mut tracts: BTreeMap<[u8; 11], [u64; RACES]> = BTreeMap::new();
            for block in &mut population {
                let persons: u32 = block.counts.iter().sum();
                empty += u64::from(persons == 0);
                over_1000 += u64::from(persons >= 1_000);
                largest = persons.max(largest);
                let tract = tracts.entry(block.digits[..11].try_into().unwrap()).or_default();
                for (race, count) in block.counts.iter().enumerate() {
                    sums[race] += u64::from(*count);
                    present[race] += u64::from(*count > 0);
                    tract[race] += u64::from(*count);
                }
                *states.entry(block.digits[..2].try_into().unwrap()).or_default() += u64::from(persons);
            }
            let all: u64 = sums.iter().sum();
            let part = |n: u64| n as f64 / blocks as f64;
            let within = |what: &str, x: f64, from: f64, to: f64| {
                assert!((from..to).contains(&x), "seed {seed}: {what}: {x}");
            };
            within("empty blocks", part(empty), 0.40, 0.48);
            within("persons a block", part(all), 24.0, 32.0);
            within("blocks of 1000", part(over_1000), 2e-4, 2e-3);
            within("the largest", f64::from(largest), 4e3, 28e3);

            // States: 28 = the cube root of what one in 83 blocks makes, and unequal.
            let mut sizes: Vec<u64> = states.into_values().collect();
            sizes.sort_unstable();
            assert_eq!(sizes.len(), 28);
            within("the largest state", sizes[27] as f64 / all as f64, 0.07, 0.4);
            within("the smallest state", sizes[0] as f64 / all as f64, 1e-4, 0.012);

            // Units below them, a block group having some 50 blocks and a tract three block groups.
            let units = population.units().map(|n| n as f64);
            within("counties a state", units[2] / units[1], 20.0, 60.0);
            within("blocks a tract", units[7] / units[5], 110.0, 180.0);
            within("block groups a tract", units[6] / units[5], 2.4, 3.5);

            // Races.
            let share = |race: usize| sums[race] as f64 / all as f64;
            within("white", share(WHITE), 0.5, 0.76);
            within("hispanic", share(0), 0.07, 0.28);
            within("black", share(2), 0.06, 0.24);
            for (race, most) in [(3, 0.04), (5, 0.02), (6, 0.02), (8, 0.02)] {
                within("a small race", share(race), 1e-4, most);
                within("blocks with a small race", part(present[race]), 1e-3, 0.15);
            }
            // They cluster: in one tract of ten hardly anyone is black, and in another one of ten many are.
            let mut black: Vec<f64> = tracts
                .into_values()
                .map(|tract| (tract[2] as f64, tract.iter().sum::<u64>() as f64))
                .filter(|(_, persons)| *persons >= 1_000.0)
                .map(|(black, persons)| black / persons)
                .collect();
            black.sort_by(f64::total_cmp);
            within("a tract with few", black[black.len() / 10], 0.0, 0.04);
            within("a tract with many", black[black.len() * 9 / 10], 0.18, 0.8);
        }
    }

    #[test]
    fn factors_have_mean_one_and_a_heavy_tail() {
        let mut words = Words(9);
        let draws = 1_000_000;
        let factors: Vec<u64> = (0..draws).map(|_| words.factor()).collect();
        let mean = factors.iter().sum::<u64>() as f64 / f64::from(draws) / 256.0;
        assert!((0.98..1.02).contains(&mean), "{mean}");
        // Eight times the typical, three doublings more or less: one in 8³ before the lognormal law's own spread.
        let tail = |n: u64| factors.iter().filter(|factor| **factor > 256 * n).count() as f64;
        assert!((3.0..16.0).contains(&(tail(8) / tail(16))), "{} {}", tail(8), tail(16));
        assert!(factors.iter().all(|factor| (32..=940 << 8).contains(factor)));
    }

    /// Through the tabulation, which checks order and nesting itself: the units of every level, and their sums.
    #[test]
    fn totals_are_the_same_at_every_level() {
        // Noise of this variance is 0, but for a chance of 2·exp(−500).
        let levels: String = schema()
            .levels()
            .iter()
            .map(|level| {
                format!("[[levels]]\nname = \"{}\"\n[levels.sigma2]\nrace = \"0.001\"\n", level.name)
            })
            .collect();
        let head = "name = \"test\"\nneighbours = \"bounded\"\nattributes = [\"race\"]\n[queries]\nrace = [\"race\"]\n";
        let allocation = Allocation::parse("test.toml", &[head, &levels].concat()).unwrap();
        let plan = Plan::new(&allocation.with_table(schema())).unwrap();
        assert_eq!(plan.code_columns(), ["geocode"]);
        let mut noises = Noises::new(&plan, &Key::not_private(1)).unwrap();
        let (mut units, mut sums) = ([0; LEVELS], [[0; RACES]; LEVELS]);
        let mut full = |batch: Batch| -> Result<()> {
            let draws = noises.take(&batch);
            let batch = batch.with_noise(draws)?;
            units[batch.level] += batch.codes.len() as u64;
            for unit in batch.values[0].chunks_exact(RACES) {
                sums[batch.level].iter_mut().zip(unit).for_each(|(sum, count)| *sum += count);
            }
            Ok(())
        };
        let mut population = population(30_000, 5);
        let mut tabulation = Tabulation::new(&plan);
        let mut expected = [0; RACES];
        for block in &mut population {
            let counts = block.counts.map(i64::from);
            expected.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            tabulation.row(&[block.code()], &counts, &mut full).unwrap();
        }
        assert_eq!(tabulation.finish(&mut full).unwrap(), 30_000);
        assert_eq!(units, population.units());
        assert_eq!(sums, [expected; LEVELS]);
        assert!(units.is_sorted_by(|above, below| above < below), "{units:?}");
    }
}
