//! A single state, about as large as a real one.

use unspent::{Error, Result};

use super::{COUNTY_BY_STATES, MOST_STATES, Population, SCALE, Words};

/// How large a state is, in 2010: figures of the Census Bureau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSize {
    /// What it is asked for by.
    pub name: &'static str,
    /// Blocks, also those with nobody in them.
    pub blocks: u64,
    /// People. The made-up state has as many within 1 %.
    pub persons: u64,
}

/// How often the density is adjusted at the most. Twice or three times is usual.
const ROUNDS: usize = 12;

impl StateSize {
    /// All that are known.
    pub const ALL: [StateSize; 4] = [
        StateSize { name: "rhode-island-sized", blocks: 25_181, persons: 1_052_567 },
        StateSize { name: "vermont-sized", blocks: 32_580, persons: 625_741 },
        StateSize { name: "wyoming-sized", blocks: 86_204, persons: 563_626 },
        StateSize { name: "texas-sized", blocks: 914_231, persons: 25_145_561 },
    ];

    /// The one of that name; messages say where the name was given.
    pub fn find(place: &str, name: &str) -> Result<StateSize> {
        StateSize::ALL.into_iter().find(|size| size.name == name).ok_or_else(|| {
            let names = StateSize::ALL.map(|size| size.name);
            let allowed = format!("one of {}", names.join(", "));
            Error::input(place, name, allowed, "for any other size give the number of blocks")
        })
    }
}

impl Population {
    /// A single state of that size.
    ///
    /// All of it is made up as often as it takes to find the density that gives the number of people.
    #[must_use]
    pub fn state(size: StateSize, seed: u64) -> Population {
        let county = COUNTY_BY_STATES * MOST_STATES;
        let mut population = Population::of_states(Words(seed), vec![size.blocks], county);
        population.forked = true;
        for _ in 0..ROUNDS {
            let people =
                |block: super::Block| block.counts.iter().map(|count| u64::from(*count)).sum::<u64>();
            let persons: u64 = population.clone().map(people).sum();
            if persons.abs_diff(size.persons) < size.persons / 256 {
                break;
            }
            let scale = population.scale * size.persons / persons.max(1);
            population.scale = scale.clamp(SCALE >> 8, SCALE << 8);
        }
        population
    }
}
