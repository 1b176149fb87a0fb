use std::collections::{BTreeMap, HashSet};

use unspent::Allocation;
use unspent::sampler::ReleaseKey;
use unspent::schema::{Code, Rows};

use super::*;
use crate::noise::Noises;
use crate::plan::Plan;
use crate::table::Row;
use crate::tabulation::{Batch, Feed};

fn population(blocks: u64, seed: u64) -> Population {
    Population::new(blocks, seed).unwrap()
}

#[test]
fn the_schema_is_that_of_the_blocks() {
    let schema = schema();
    let layout = schema.layout().unwrap();
    let Rows::Units(cells) = layout.rows() else { panic!("a row a block") };
    let lengths: Vec<Code> = layout.levels().iter().map(|level| level.code.clone()).collect();
    assert_eq!(lengths, ENDS.map(Code::Prefix));
    assert_eq!((layout.code(), cells.len()), (Some("geocode"), RACES));
    let columns: HashSet<&str> = cells.iter().map(|cell| cell.column.as_str()).collect();
    assert_eq!(columns.len(), RACES);
    assert!(cells.iter().all(|cell| cell.minus.is_empty()));
    assert_eq!(schema.attributes()[0].values[WHITE], "white");
    // The levels are those of the preset.
    let preset = Allocation::preset("paper-2022-08-25").unwrap();
    let names = |level: &unspent::allocation::Level| level.name.clone();
    let expected: Vec<String> = preset.levels().iter().map(names).collect();
    let levels: Vec<String> = layout.levels().iter().map(|level| level.name.clone()).collect();
    assert_eq!(levels, expected);
}

#[test]
fn sizes_are_refused_by_name() {
    for blocks in [0, MAX_BLOCKS + 1] {
        let error = Population::new(blocks, 1).unwrap_err().to_string();
        assert!(error.contains("blocks") && error.contains("between 1 and 1000000000"), "{blocks}: {error}");
    }
}

/// Checks that codes are digits, ascend, and number the units inside a unit 1, 2, 3 and so on; and counts all
/// units.
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
    let schema_ = schema();
    let levels: String = schema_
        .layout()
        .unwrap()
        .levels()
        .iter()
        .map(|level| format!("[[levels]]\nname = \"{}\"\n[levels.sigma2]\nrace = \"0.001\"\n", level.name))
        .collect();
    let head =
        "name = \"test\"\nneighbours = \"bounded\"\nattributes = [\"race\"]\n[queries]\nrace = [\"race\"]\n";
    let allocation = Allocation::parse("test.toml", &[head, &levels].concat()).unwrap();
    let plan = Plan::of(&allocation.with_schema(schema())).unwrap();
    assert_eq!(plan.columns().codes, ["geocode"]);
    let noises = Noises::new(&plan, &ReleaseKey::not_private(1)).unwrap();
    let (mut units, mut sums) = ([0; LEVELS], [[0; RACES]; LEVELS]);
    let mut full = |batch: Batch| -> Result<()> {
        let batch = batch.with_noise(&noises)?;
        units[batch.level] += batch.codes.len() as u64;
        for unit in batch.values[0].chunks_exact(RACES) {
            sums[batch.level].iter_mut().zip(unit).for_each(|(sum, count)| *sum += count);
        }
        Ok(())
    };
    let mut population = population(30_000, 5);
    let mut feed = Feed::of_table(&plan).unwrap();
    let mut expected = [0; RACES];
    for block in &mut population {
        let counts = block.counts.map(i64::from);
        expected.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        feed.row(Row { codes: &[block.code()], values: &[], counts: &counts }, &mut full).unwrap();
    }
    assert_eq!(feed.finish(&mut full).unwrap(), 30_000);
    assert_eq!(units, population.units());
    assert_eq!(sums, [expected; LEVELS]);
    assert!(units.is_sorted_by(|above, below| above < below), "{units:?}");
}
