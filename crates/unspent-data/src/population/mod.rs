//! A made-up population in nested units, for trying things out where there is no table at hand.
//!
//! ```text
//! size, seed ─▶ states ─▶ counties ─▶ PEPGs ─▶ groups ─▶ tracts ─▶ block groups ─▶ blocks ─▶ households
//!               (shares)  (each takes some of the blocks that its parent has left)           (of one race)
//! ```
//!
//! Nobody in it exists, but its shape is roughly that of the 2010 Census: sizes with heavy tails, two blocks
//! in five empty, 28 persons a block on average and thousands in some, and races that cluster by state,
//! county, tract and household, so that most small counts are zero. Blocks come in the order of their codes,
//! and memory is one open unit a level.
//!
//! All arithmetic is on integers, so that a size and a seed give the same population on every machine. A
//! larger population is another one, not the smaller one with blocks added: it has more states.
//!
//! [`persons`] turns the counts of a block into people with all that a schema asks of them.

mod facilities;
pub mod persons;
mod races;
mod state;

use unspent::schema::Schema;
use unspent::{Error, Result};

pub use state::StateSize;

/// Most blocks of a population.
pub const MAX_BLOCKS: u64 = 1_000_000_000;

/// Characters of a block's code.
pub const CODE: usize = 15;

/// Levels of the schema, the whole included.
pub const LEVELS: usize = 8;

/// Race cells of a block: everyone is in one of them.
pub const RACES: usize = 9;

/// The table `[table]` that tells how such a population is read, as a file with comments.
pub const SCHEMA: &str = r#"# How a table from `unspent synthesize` is read.
# It is made up: nobody in it exists. Noise can be added for an allocation with any of these levels, and with
# queries that ask for nothing ([]) or for ["race"].

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
/// use unspent_data::population::Population;
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
    /// How dense the whole is, in 1/[`SCALE`].
    scale: u64,
    /// Whether the people of each block have random words of their own, so that the units are the same
    /// whatever the scale is.
    forked: bool,
}

/// A scale of 1.
const SCALE: u64 = 1 << 16;

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
pub(crate) const ENDS: [usize; LEVELS] = [0, 2, 5, 6, 7, 11, 12, CODE];

/// Into how many units a unit of the level above typically falls, and of how many blocks these are at least:
/// so there are some 3,100 counties, 76,000 tracts and 216,000 block groups for 11 million blocks, and units
/// are not crumbs if there are few.
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

/// What the races weigh, in the order of the schema: such that they come out about as in 2010, with 64 %
/// white, 16 % hispanic and 12 % black. Where others are many there is less room for more of them, so that
/// they weigh more than they are.
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
    /// A race for each 10 bits, as often as it is in the tract: one person of it, counted in fields of 7
    /// bits.
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
        Ok(Population::of_states(words, states, COUNTY_BY_STATES * root))
    }

    /// States of so many blocks, with counties of typically so many.
    fn of_states(words: Words, states: Vec<u64>, county: u64) -> Population {
        let blocks = states.iter().sum();
        let mut population = Population {
            words,
            code: [b'0'; CODE],
            numbers: [0; LEVELS],
            left: [0; LEVELS],
            units: [0; LEVELS],
            states,
            county,
            typical: [1; LEVELS],
            // Room for factors below 1.
            weights: [WEIGHTS.map(|weight| weight << 8); LEVELS],
            density: 256,
            tract: Tract { households: 0, inhabited: 0, races: Box::new([0; 1 << 10]) },
            scale: SCALE,
            forked: false,
        };
        population.left[US] = blocks;
        population.units[US] = 1;
        population
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

    /// How many blocks of its parent a new unit takes: at least one, and enough that codes last for the
    /// others.
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
            // No overflow: a density is below 2²⁷, and a scale at most 2⁸ of its unit, which is 2¹⁶.
            let density = ((self.density * self.words.factor()) >> 8) * self.scale / SCALE;
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
        let counts = if self.forked {
            let own = Words(self.words.next());
            let units = std::mem::replace(&mut self.words, own);
            let counts = self.people();
            self.words = units;
            counts
        } else {
            self.people()
        };
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

/// Random words: Steele, Lea and Flood's SplitMix64. Good enough to make up people and for nothing that is to
/// be private.
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

    /// A number below `n`, all alike but for one part in 2³².
    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A factor in 1/256; see [`factor`].
    fn factor(&mut self) -> u64 {
        factor(self.next())
    }
}

/// A random factor in 1/256, of mean 1, from 30 random bits: from a lognormal law, and then doubled while a
/// chance of one in eight comes true, at most eight times. That makes a Pareto tail of exponent 3.
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
mod tests;
