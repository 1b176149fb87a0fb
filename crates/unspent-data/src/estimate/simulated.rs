//! Measurements that are simulated from known tables, as often as they are asked for.
//!
//! The noise of a part follows from the seed, the level and the number of the part, so that a part that is
//! read twice has the same noise. The seed is known: such measurements protect nobody.

use std::collections::HashMap;
use std::sync::Arc;

use unspent::sampler::{Key, Sampler};
use unspent::schema::Schema;
use unspent::{Rational, Result};
use unspent_estimate::partitions;

use super::input::{Input, InputLevel, InputQuery, TakeUnit};

/// Units of a part.
const PART: usize = 128;
/// Marks a cell that a query does not count.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A unit whose table is known.
#[derive(Clone, Debug)]
pub(crate) struct KnownUnit {
    pub(crate) code: String,
    /// Which of its level's noises it has; none if it is not measured.
    pub(crate) noise: Option<u32>,
    /// The numbers of its cells among all combinations of values, and their counts.
    pub(crate) table: Vec<(u32, i64)>,
}

impl KnownUnit {
    /// How many records it has.
    pub(crate) fn size(&self) -> i64 {
        self.table.iter().map(|(_, count)| count).sum()
    }
}

/// Known tables, and the noise that is added to their answers.
#[derive(Debug)]
pub(super) struct Simulated {
    levels: Vec<SimulatedLevel>,
    seed: u64,
}

#[derive(Debug)]
struct SimulatedLevel {
    units: Arc<Vec<KnownUnit>>,
    /// Those that are measured.
    measured: Vec<u32>,
    /// For each query, the answer that counts each cell.
    places: Vec<Arc<Vec<u32>>>,
    lengths: Vec<usize>,
    /// For each noise, a sampler for each query.
    samplers: Vec<Vec<Sampler>>,
}

impl Simulated {
    /// `levels` says what is measured, and `units` has the units of each level.
    pub(super) fn new(
        schema: &Schema,
        levels: &[InputLevel],
        units: &[Arc<Vec<KnownUnit>>],
        seed: u64,
    ) -> Result<Simulated> {
        let mut made: HashMap<Vec<String>, Arc<Vec<u32>>> = HashMap::new();
        let mut found = vec![];
        for (level, units) in levels.iter().zip(units) {
            let mut places = vec![];
            for InputQuery { by, .. } in &level.queries {
                if !made.contains_key(by) {
                    made.insert(by.clone(), Arc::new(places_of(schema, by)?));
                }
                places.push(made[by].clone());
            }
            let sampler = |sigma2: &f64| Sampler::new(&Rational::from_f64("sigma2", *sigma2)?);
            let of_noise = |noise: &super::input::Noise| noise.sigma2.iter().map(sampler).collect();
            let length = |query: &InputQuery| -> Result<usize> {
                Ok(schema.resolve(&query.by)?.iter().map(|part| part.cells).product())
            };
            let lengths = level.queries.iter().map(length).collect::<Result<Vec<_>>>()?;
            let samplers = level.noises.iter().map(of_noise).collect::<Result<_>>()?;
            let measured = (0..units.len() as u32).filter(|at| units[*at as usize].noise.is_some()).collect();
            found.push(SimulatedLevel { units: units.clone(), measured, places, lengths, samplers });
        }
        Ok(Simulated { levels: found, seed })
    }

    /// How many units of a level are measured.
    pub(super) fn measured(&self, level: usize) -> usize {
        self.levels[level].measured.len()
    }

    /// Hands on the units of a part of a level.
    pub(super) fn each_unit(&self, level: usize, part: usize, take: &mut TakeUnit<'_>) -> Result<()> {
        let SimulatedLevel { units, measured, places, lengths, samplers } = &self.levels[level];
        let key = Key::not_private(address(self.seed, level as u64, part as u64));
        let units: Vec<&KnownUnit> =
            measured[part * PART..].iter().take(PART).map(|at| &units[*at as usize]).collect();
        let noise = |unit: &KnownUnit| unit.noise.expect("is measured") as usize;
        // All noise of a part at once, which is faster than unit by unit.
        let mut counts = vec![0; samplers.len()];
        units.iter().for_each(|unit| counts[noise(unit)] += 1);
        let mut draws: Vec<Vec<Vec<i64>>> = vec![];
        for (samplers, count) in samplers.iter().zip(counts) {
            let mut of_noise = vec![];
            for (sampler, length) in samplers.iter().zip(lengths) {
                let mut values = vec![0; count * length];
                key.noise(sampler).fill(&mut values)?;
                of_noise.push(values);
            }
            draws.push(of_noise);
        }
        let mut taken = vec![0; samplers.len()];
        for unit in units {
            let noise = noise(unit);
            let at = taken[noise];
            taken[noise] += 1;
            let mut rows = vec![];
            for ((values, length), places) in draws[noise].iter_mut().zip(lengths).zip(places) {
                let row = &mut values[at * length..][..*length];
                for (cell, count) in &unit.table {
                    match places[*cell as usize] {
                        NOWHERE => {}
                        place => row[place as usize] += count,
                    }
                }
                rows.push(&*row);
            }
            take(&unit.code, noise, &rows)?;
        }
        Ok(())
    }
}

impl Input {
    /// The same measurements of known units, with other noise.
    pub(super) fn simulated(&self, units: &[Arc<Vec<KnownUnit>>], seed: u64) -> Result<Input> {
        let mut levels = self.levels.clone();
        let simulated = Simulated::new(&self.schema, &levels, units, seed)?;
        for (at, level) in levels.iter_mut().enumerate() {
            level.parts = simulated.measured(at).div_ceil(PART);
            level.units = simulated.measured(at) as u64;
        }
        Ok(self.with_rows(levels, simulated))
    }
}

/// For each combination of values the answer of a query that counts it.
pub(super) fn places_of(schema: &Schema, by: &[String]) -> Result<Vec<u32>> {
    let mut places = vec![0u32];
    for part in partitions(schema, by)? {
        let (groups, values) = (part.groups() as u32, part.values());
        let longer = |place: &u32| {
            let place = *place;
            values.iter().map(move |group| match group {
                Some(group) if place != NOWHERE => place * groups + group,
                _ => NOWHERE,
            })
        };
        places = places.iter().flat_map(longer).collect();
    }
    Ok(places)
}

/// Numbers that follow from a seed.
pub(super) struct Draws {
    seed: u64,
    drawn: u64,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Draws {
        Draws { seed, drawn: 0 }
    }

    /// A number below another one, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        let word = address(self.seed, u64::MAX - 1, self.drawn);
        ((u128::from(word) * u128::from(end)) >> 64) as u64
    }
}

/// The seed of a replicate: those of other seeds are others.
pub(super) fn seed_of(seed: u64, replicate: u64) -> u64 {
    address(seed, u64::MAX, replicate)
}

/// One number for each part of each level, for streams that do not meet.
fn address(seed: u64, level: u64, part: u64) -> u64 {
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    mix(mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(level)).wrapping_add(part))
}
