//! The tables of the redistricting file (P.L. 94-171) of 2020, as sums of cells of the shipped schemas.
//!
//! Where this is from:
//!
//! - **Source.** Which cells of the histogram P1 to P5 sum, and in what order:
//!   `uscensusbureau/DAS_2020_GLS_Uncertainty_Evaluation` (commit e9f5495), `GLS/create_pl94_ci_queries.py`.
//!   H1 (total, occupied, vacant) is as the published file is generally known: no code was found that has
//!   it. Codes of cells are a letter, the number of the table in three places, and the cell in four.
//! - **Terms.** Facts from works of the U.S. government. No code was copied; labels are in our words, those
//!   of the shipped schemas.
//! - **Form.** The cells are made from the labels of the schema: a combination of races has a `+` between its
//!   races, and the schema lists combinations in the published order.
//! - **Checks.** All 301 cells were compared once with a list of the facts, whose 298 sums of P1 to P5 equal
//!   the source's as vectors of 2,016 cells. Tests sum every cell once more, by sets of races, and check
//!   lengths (71, 73, 71, 73, 10, 3) and sums within and between tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use unspent::schema::Attribute;

use super::{PublishedCell, PublishedTable};

/// Makes the published tables of a schema.
type MakeTables = fn(&[Attribute]) -> Vec<PublishedTable>;

/// Shipped schemas with published tables, and how these are made for the schema's attributes.
pub(super) const FORMS: [(&str, MakeTables); 2] = [("pl94-persons", persons), ("pl94-units", units)];

// Places of attributes, and of some of their values.
const HHGQ: usize = 0;
const VOTINGAGE: usize = 1;
const HISPANIC: usize = 2;
const CENRACE: usize = 3;
const IS_ADULT: u32 = 1;
const NOT_HISPANIC: u32 = 0;
const IS_HISPANIC: u32 = 1;
const H1: usize = 0;
const IS_VACANT: u32 = 0;
const IS_OCCUPIED: u32 = 1;

/// Labels, and which values of attributes are counted.
type Lines = Vec<(String, BTreeMap<usize, Vec<u32>>)>;

fn persons(attributes: &[Attribute]) -> Vec<PublishedTable> {
    let by_race = races(&attributes[CENRACE].values);
    let by_origin = origins(&attributes[HISPANIC].values, &by_race);
    let (all, adults) = ("total population", "population 18 or older");
    let origin_title = "Hispanic origin, and not Hispanic by race";
    let table = |facts, number, lines| PublishedTable::new(facts, coded('P', number, lines), attributes);
    vec![
        table(("P1", "race", all), 1, by_race.clone()),
        table(("P2", origin_title, all), 2, by_origin.clone()),
        table(("P3", "race", adults), 3, of_adults(by_race)),
        table(("P4", origin_title, adults), 4, of_adults(by_origin)),
        table(
            ("P5", "group-quarters population by type", "population in group quarters"),
            5,
            group_quarters(&attributes[HHGQ].values),
        ),
    ]
}

fn units(attributes: &[Attribute]) -> Vec<PublishedTable> {
    let lines = vec![
        ("total housing units".into(), BTreeMap::new()),
        ("occupied".into(), BTreeMap::from([(H1, vec![IS_OCCUPIED])])),
        ("vacant".into(), BTreeMap::from([(H1, vec![IS_VACANT])])),
    ];
    vec![PublishedTable::new(("H1", "occupancy", "housing units"), coded('H', 1, lines), attributes)]
}

/// The cells of a table, with their codes.
fn coded(letter: char, table: u32, lines: Lines) -> Vec<PublishedCell> {
    let cell = |(number, (label, values)): (u32, (String, BTreeMap<usize, Vec<u32>>))| PublishedCell {
        code: format!("{letter}{table:03}{number:04}"),
        label,
        values,
    };
    (1..).zip(lines).map(cell).collect()
}

/// Everybody, those of one race, each race, those of several, of two, each two, and so on.
fn races(combinations: &[String]) -> Lines {
    let of = |races: RangeInclusive<usize>| -> Vec<u32> {
        let has = |label: &str| races.contains(&label.split('+').count());
        (0..).zip(combinations).filter(|(_, label)| has(label)).map(|(at, _)| at).collect()
    };
    let line = |label: String, values| (label, BTreeMap::from([(CENRACE, values)]));
    let mut lines = vec![("total".into(), BTreeMap::new())];
    lines.push(line("population of one race".into(), of(1..=1)));
    for race in of(1..=1) {
        lines.push(line(format!("{} alone", combinations[race as usize]), vec![race]));
    }
    lines.push(line("two or more races".into(), of(2..=6)));
    for (races, word) in (2..).zip(["two", "three", "four", "five", "six"]) {
        lines.push(line(format!("{word} races"), of(races..=races)));
        for combination in of(races..=races) {
            lines.push(line(combinations[combination as usize].clone(), vec![combination]));
        }
    }
    lines
}

/// Everybody, those of Hispanic origin, the others, and these by race.
fn origins(labels: &[String], by_race: &Lines) -> Lines {
    let (others, hispanic) = (&labels[NOT_HISPANIC as usize], &labels[IS_HISPANIC as usize]);
    let mut lines = vec![
        ("total".into(), BTreeMap::new()),
        (hispanic.clone(), BTreeMap::from([(HISPANIC, vec![IS_HISPANIC])])),
        (others.clone(), BTreeMap::from([(HISPANIC, vec![NOT_HISPANIC])])),
    ];
    lines.extend(by_race[1..].iter().map(|(label, values)| {
        let mut values = values.clone();
        values.insert(HISPANIC, vec![NOT_HISPANIC]);
        (format!("{others}: {label}"), values)
    }));
    lines
}

/// The same of those of voting age.
fn of_adults(mut lines: Lines) -> Lines {
    for (_, values) in &mut lines {
        values.insert(VOTINGAGE, vec![IS_ADULT]);
    }
    lines
}

/// Those in group quarters, in institutions, in each kind of them, in other ones, in each kind of them.
fn group_quarters(kinds: &[String]) -> Lines {
    let line = |label: &str, values: Vec<u32>| (label.to_string(), BTreeMap::from([(HHGQ, values)]));
    let mut lines = vec![line("total in group quarters", (1..=7).collect())];
    for (label, first, last) in [("institutions", 1, 4), ("non-institutional group quarters", 5, 7)] {
        lines.push(line(label, (first..=last).collect()));
        lines.extend((first..=last).map(|kind| line(&kinds[kind as usize], vec![kind])));
    }
    lines
}
