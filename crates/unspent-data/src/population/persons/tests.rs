use std::collections::HashSet;

use unspent::Allocation;

use super::super::{Population, StateSize};
use super::*;

const RHODE_ISLAND: StateSize = StateSize::ALL[0];

/// Every block of a population with its people.
fn all(population: Population, seed: u64) -> impl Iterator<Item = (Block, Vec<Person>)> {
    let mut persons = Persons::new(seed);
    population.map(move |block| {
        let mut people = vec![];
        persons.of_block(&block, &mut people);
        (block, people)
    })
}

/// What a state is made of.
#[derive(Default)]
struct Shares {
    blocks: u64,
    inhabited: u64,
    persons: u64,
    minors: u64,
    hispanic: u64,
    /// By number of races.
    races: [u64; 7],
    /// By `hhgq`.
    quarters: [u64; 8],
    /// Blocks with group quarters.
    with_quarters: u64,
    /// Cells of the 2,016 with somebody in them, in all blocks.
    cells: u64,
    /// By `relgq`.
    relations: Vec<u64>,
    old: u64,
}

fn shares(population: Population, seed: u64) -> Shares {
    let mut shares = Shares { relations: vec![0; 42], ..Shares::default() };
    let races: Vec<usize> =
        PersonSchema::Pl94.attributes()[3].values.iter().map(|v| v.split('+').count()).collect();
    for (_, people) in all(population, seed) {
        shares.blocks += 1;
        shares.inhabited += u64::from(!people.is_empty());
        shares.persons += people.len() as u64;
        shares.with_quarters += u64::from(people.iter().any(|person| person.hhgq() > 0));
        let cells: HashSet<_> = people.iter().map(|person| PersonSchema::Pl94.values(person)).collect();
        shares.cells += cells.len() as u64;
        for person in people {
            shares.minors += u64::from(person.is_minor());
            shares.hispanic += u64::from(person.hispanic);
            shares.races[races[usize::from(person.cenrace)]] += 1;
            shares.quarters[usize::from(person.hhgq())] += 1;
            shares.relations[usize::from(person.relgq)] += 1;
            shares.old += u64::from(person.age >= 65);
        }
    }
    shares
}

#[test]
fn a_state_is_about_as_large_as_the_real_one() {
    for size in StateSize::ALL {
        let mut population = Population::state(size, 3);
        let persons: u64 = population.by_ref().flat_map(|block| block.counts).map(u64::from).sum();
        assert!(persons.abs_diff(size.persons) * 100 < size.persons, "{size:?}: {persons}");
        let units = population.units();
        assert_eq!((units[0], units[1], units[7]), (1, 1, size.blocks));
    }
    let counties = |size| {
        let mut population = Population::state(size, 1);
        population.by_ref().for_each(drop);
        population.units()[2]
    };
    // Five are real in Rhode Island, and 254 in Texas.
    assert!((2..=20).contains(&counties(RHODE_ISLAND)));
    assert!((120..=500).contains(&counties(StateSize::ALL[3])));
    assert_eq!(StateSize::find("--state", "vermont-sized").unwrap(), StateSize::ALL[1]);
    let error = StateSize::find("--state", "guam-sized").unwrap_err().to_string();
    assert!(error.contains("--state: `guam-sized`") && error.contains("rhode-island-sized"), "{error}");
}

/// What is said of the people, for several seeds.
#[test]
fn people_are_roughly_those_of_a_state() {
    for seed in [1, 2, 3] {
        let shares = shares(Population::state(RHODE_ISLAND, seed), seed);
        let within = |what: &str, x: f64, from: f64, to: f64| {
            assert!((from..to).contains(&x), "seed {seed}: {what}: {x}");
        };
        let part = |n: u64| n as f64 / shares.persons as f64;
        within("under 18", part(shares.minors), 0.2, 0.24);
        within("65 and older", part(shares.old), 0.11, 0.17);
        within("hispanic", part(shares.hispanic), 0.02, 0.3);
        within("of several races", part(shares.races[2..].iter().sum()), 0.005, 0.08);
        assert!(shares.races[2..6].is_sorted_by(|more, fewer| more > fewer), "{:?}", shares.races);
        assert!(shares.races[5] > 0, "five races");

        let quarters: u64 = shares.quarters[1..].iter().sum();
        within("in group quarters", part(quarters), 0.03, 0.05);
        assert!(shares.quarters.iter().all(|persons| *persons > 0), "{:?}", shares.quarters);
        within("blocks with group quarters", shares.with_quarters as f64 / shares.blocks as f64, 0.01, 0.05);
        // Sparse: some of the 2,016 cells, fewer than there are people.
        let cells = shares.cells as f64 / shares.inhabited as f64;
        within("cells with somebody", cells, 4.0, 12.0);
        within("people a block with people", shares.persons as f64 / shares.inhabited as f64, 50.0, 80.0);

        // A householder each, and not more spouses and partners than those.
        let [alone, with_others] = [shares.relations[0], shares.relations[1]];
        let couples: u64 = shares.relations[2..6].iter().sum();
        within("householders", part(alone + with_others), 0.35, 0.42);
        within("who live alone", alone as f64 / (alone + with_others) as f64, 0.24, 0.36);
        within("couples", couples as f64 / (alone + with_others) as f64, 0.45, 0.6);
        assert!(shares.relations[..18].iter().all(|persons| *persons > 0), "{:?}", shares.relations);
    }
}

#[test]
fn blocks_keep_their_people() {
    let races =
        |person: &Person| PersonSchema::Pl94.attributes()[3].values[usize::from(person.cenrace)].clone();
    let mut checked = 0;
    for (block, people) in all(Population::new(600, 4).unwrap(), 4) {
        let mut counts = [0; 9];
        for person in &people {
            let category = match (person.hispanic, person.cenrace, races(person).split('+').count()) {
                (1, ..) => 0,
                (_, race, 1) => 1 + usize::from(race),
                (.., 2) => 7,
                _ => 8,
            };
            counts[category] += 1;
        }
        assert_eq!(counts, block.counts);
        checked += people.len();
    }
    assert!(checked > 5_000);
}

/// Every record against every rule of the schema, in both schemas.
#[test]
fn nobody_is_impossible() {
    for schema in [PersonSchema::Pl94, PersonSchema::Dhc] {
        let shipped = Schema::shipped(schema.name()).unwrap();
        let sizes: Vec<usize> = shipped.attributes().iter().map(|a| a.values.len()).collect();
        let seen: HashSet<[u8; MOST_ATTRIBUTES]> = [1, 2]
            .into_iter()
            .flat_map(|seed| all(Population::state(RHODE_ISLAND, seed), seed))
            .flat_map(|(_, people)| people)
            .map(|person| schema.values(&person))
            .collect();
        assert!(seen.len() > 500, "{}", seen.len());
        for values in &seen {
            assert!(sizes.iter().zip(values).all(|(size, value)| usize::from(*value) < *size), "{values:?}");
            assert!(values[sizes.len()..].iter().all(|value| *value == 0));
            for rule in shipped.impossible() {
                let excluded = |(attribute, excluded): (&usize, &Vec<u32>)| {
                    excluded.contains(&u32::from(values[*attribute]))
                };
                assert!(!rule.combination.iter().all(excluded), "{}: {values:?}", rule.name);
            }
        }
    }
}

#[test]
fn both_schemas_describe_the_same_people() {
    // The kinds of group quarters of one schema are a recode of the other's.
    let shipped = Schema::shipped("dhc-persons").unwrap();
    let [part] = shipped.resolve(&["hhgq8lev"]).unwrap()[..] else { panic!("one part") };
    let hhgq: Vec<u32> = part.cell_of(&shipped.attributes()[0]).into_iter().flatten().collect();
    assert_eq!(hhgq.len(), 42);
    for (_, people) in all(Population::new(2_000, 9).unwrap(), 9) {
        for person in people {
            let [relgq, _, age, hispanic, cenrace] = PersonSchema::Dhc.values(&person);
            let expected = [hhgq[usize::from(relgq)] as u8, u8::from(age >= 18), hispanic, cenrace, 0];
            assert_eq!(PersonSchema::Pl94.values(&person), expected);
        }
    }
}

#[test]
fn levels_are_those_of_the_presets_and_of_the_codes() {
    for (schema, preset) in
        [(PersonSchema::Pl94, "pl94-persons-us-2020"), (PersonSchema::Dhc, "dhc-persons-us-2020")]
    {
        let preset = Allocation::preset(preset).unwrap();
        let names: Vec<&str> = preset.levels().iter().map(|level| level.name.as_str()).collect();
        let (levels, lengths): (Vec<&str>, Vec<usize>) = schema.levels().into_iter().unzip();
        assert_eq!(levels, names);
        assert!(lengths.iter().all(|length| ENDS.contains(length)), "{lengths:?}");
    }
    assert_eq!(PersonSchema::find("--schema", "pl94").unwrap(), PersonSchema::Pl94);
    let error = PersonSchema::find("--schema", "pl94-units").unwrap_err().to_string();
    assert!(error.contains("--schema: `pl94-units`") && error.contains("dhc-persons"), "{error}");
}

#[test]
fn chances_of_ages_add_up() {
    for ages in [ALONE, COUPLE, PARENT, MATES] {
        assert_eq!(ages.iter().map(|band| band.0).sum::<u32>(), CHANCES, "{ages:?}");
    }
}

#[test]
fn a_size_and_a_seed_are_the_same_people_everywhere() {
    let digest = |population: Population, seed: u64| {
        // FNV-1a.
        let mut digest = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |byte: u8| digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        for (block, people) in all(population, seed) {
            block.digits.iter().for_each(|digit| add(*digit));
            people.iter().flat_map(|person| PersonSchema::Dhc.values(person)).for_each(&mut add);
        }
        digest
    };
    let several = digest(Population::new(5_000, 1).unwrap(), 1);
    assert_eq!(several, 0x5289_6696_c7ea_1562, "{several:#x}");
    let single = digest(Population::state(RHODE_ISLAND, 1), 1);
    assert_eq!(single, 0x873f_c40d_b41d_cc86, "{single:#x}");
}
