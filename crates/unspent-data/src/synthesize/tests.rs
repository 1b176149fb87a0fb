use std::collections::BTreeMap;

use unspent::Allocation;
use unspent::schema::Schema;

use super::*;
use crate::population::persons::PersonSchema;
use crate::{Columns, Input, Measure, NoiseSource, Plan, Quiet, UnitList, Values};

fn records(blocks: u64, schema: PersonSchema, rows: RecordRows) -> SyntheticRecords {
    SyntheticRecords::new(Synthetic::new(blocks, 1).unwrap(), schema, rows)
}

/// The heads of a table, and its rows.
fn rows(text: &[u8]) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = std::str::from_utf8(text).unwrap().lines().map(|line| line.split(',').collect());
    (lines.next().unwrap(), lines.collect())
}

fn csv(records: &mut SyntheticRecords) -> Vec<u8> {
    let mut text = vec![];
    records.write_csv(&mut text, &mut Quiet).unwrap();
    text
}

fn units(records: &SyntheticRecords) -> Vec<u8> {
    let mut text = vec![];
    records.units().write_csv(&mut text, &mut Quiet).unwrap();
    text
}

#[test]
fn counts_numbers_and_lists_agree_with_records() {
    for schema in [PersonSchema::Pl94, PersonSchema::Dhc] {
        let mut plain = records(700, schema, RecordRows::Records);
        let listed = units(&plain);
        let text = csv(&mut plain);
        let (heads, people) = rows(&text);
        let names: Vec<String> = schema.attributes().into_iter().map(|attribute| attribute.name).collect();
        assert_eq!(
            (heads[0], &heads[1..]),
            ("geocode", &names.iter().map(String::as_str).collect::<Vec<_>>()[..])
        );

        let numbered = csv(&mut records(700, schema, RecordRows::Numbered));
        let (heads, numbered) = rows(&numbered);
        assert_eq!(heads.last(), Some(&"person"));
        for (i, (plain, numbered)) in people.iter().zip(&numbered).enumerate() {
            assert_eq!(numbered[..numbered.len() - 1], plain[..]);
            assert_eq!(numbered[numbered.len() - 1], (i + 1).to_string());
        }

        let mut expected: BTreeMap<&[&str], u64> = BTreeMap::new();
        people.iter().for_each(|person| *expected.entry(person).or_default() += 1);
        let mut counted = records(700, schema, RecordRows::Counts);
        let text = csv(&mut counted);
        let (heads, counts) = rows(&text);
        assert_eq!(heads.last(), Some(&"count"));
        assert_eq!(counts.len(), expected.len());
        for row in &counts {
            let (count, values) = row.split_last().unwrap();
            assert_eq!(expected[values].to_string(), *count, "{row:?}");
        }
        assert!(counts.is_sorted_by(|a, b| a[0] <= b[0]));

        // Every block once, and how many people it has.
        let (heads, listed) = rows(&listed);
        assert_eq!(heads, ["geocode", "persons"]);
        assert_eq!(listed.len(), 700);
        let mut persons: BTreeMap<&str, u64> = BTreeMap::new();
        people.iter().for_each(|person| *persons.entry(person[0]).or_default() += 1);
        for unit in &listed {
            assert_eq!(unit[1], persons.remove(unit[0]).unwrap_or(0).to_string());
        }
        assert!(persons.is_empty(), "{persons:?}");
        assert!(listed.iter().any(|unit| unit[1] == "0"));

        // The summary.
        let (made, of_counts) = (plain.made(), counted.made());
        assert_eq!((made.blocks.blocks, made.blocks.persons), (700, people.len() as u64));
        assert_eq!(made.blocks, of_counts.blocks);
        let text = of_counts.document().terminal();
        assert!(text.contains(&format!("The table has {} rows.", counts.len())), "{text}");
        let minors = people.iter().filter(|person| match schema {
            PersonSchema::Pl94 => person[2] == "1",
            PersonSchema::Dhc => person[3].parse::<u8>().unwrap() < 18,
        });
        let minors = 100.0 * minors.count() as f64 / people.len() as f64;
        assert!(text.contains(&format!("under 18: {minors:.1} %")), "{text}");
    }
}

#[test]
fn the_first_rows_are_these() {
    let text = csv(&mut records(700, PersonSchema::Pl94, RecordRows::Records));
    let (_, people) = rows(&text);
    let first: Vec<String> = people[..4].iter().map(|row| row.join(",")).collect();
    let expected = [
        "010011100011001,0,2,2,01",
        "010011100011001,0,2,2,06",
        "010011100011001,0,1,2,01",
        "010011100011001,0,1,2,01",
    ];
    assert_eq!(first, expected);
    let text = csv(&mut records(700, PersonSchema::Dhc, RecordRows::Records));
    let (_, people) = rows(&text);
    let first: Vec<String> = people[..4].iter().map(|row| row.join(",")).collect();
    let expected = [
        "010011100011001,0,1,27,2,01",
        "010011100011001,1,2,26,2,06",
        "010011100011001,6,2,1,2,01",
        "010011100011001,6,2,7,2,01",
    ];
    assert_eq!(first, expected);
}

/// A table as columns of texts.
fn columns_of(text: &[u8], number: &str) -> Input {
    let (heads, rows) = rows(text);
    let columns = heads.iter().enumerate().map(|(i, head)| {
        let texts = rows.iter().map(|row| row[i]);
        let values: Values = if *head == number {
            texts.map(|n| n.parse().unwrap()).collect::<Vec<i64>>().into()
        } else {
            texts.collect::<Vec<&str>>().into()
        };
        ((*head).into(), values)
    });
    Input::Columns(Columns::new(columns.collect()).unwrap())
}

#[test]
fn the_production_allocation_can_be_measured_on_it() {
    let noisy = |rows: RecordRows| {
        let mut records = records(400, PersonSchema::Pl94, rows);
        let schema = Schema::parse("people.toml", &records.schema_file()).unwrap();
        let list = units(&records);
        let table = csv(&mut records);
        let measure = Measure {
            schema: Some(schema),
            units: UnitList::List(columns_of(&list, "persons")),
            check_total: Some("persons".into()),
            noise: NoiseSource::NotPrivate(1),
            ..Measure::new(columns_of(&table, "count"), Allocation::preset("pl94-persons-us-2020").unwrap())
        };
        (records.made(), measure.in_memory(&mut Quiet).unwrap())
    };
    let (made, of_records) = noisy(RecordRows::Records);
    let (_, of_numbered) = noisy(RecordRows::Numbered);
    let (_, of_counts) = noisy(RecordRows::Counts);
    assert_eq!(of_records.levels, of_counts.levels);
    assert_eq!(of_records.levels, of_numbered.levels);
    assert_eq!(of_records.manifest.rows, None);
    let units = |name: &str| {
        let level = of_records.levels.iter().find(|level| level.level == name);
        level.map_or(0, |level| level.codes.len() as u64)
    };
    for level in &made.blocks.levels {
        // Only children are bypassed and have no measurements.
        assert!(units(&level.level) <= level.units, "{level:?}");
    }
    assert!(units("Block") > 350 && units("Block_Group") > 10, "{:?}", made.blocks.levels);
    let state = of_records.levels.iter().find(|level| level.level == "State").unwrap();
    let total = state.queries.iter().find(|query| query.name == "total").unwrap();
    let error = total.values[0] - made.blocks.persons as i64;
    assert!(error.abs() < 60, "{error}");
}

#[test]
fn schema_files_say_how_tables_are_read() {
    for (schema, preset) in
        [(PersonSchema::Pl94, "pl94-persons-us-2020"), (PersonSchema::Dhc, "dhc-persons-us-2020")]
    {
        for (rows, expected) in [
            (RecordRows::Records, Rows::Records(None)),
            (RecordRows::Numbered, Rows::Records(Some("person".into()))),
            (RecordRows::Counts, Rows::Counts("count".into())),
        ] {
            let read = Schema::parse("people.toml", &records(10, schema, rows).schema_file()).unwrap();
            assert_eq!(read.attributes(), schema.attributes());
            assert_eq!(read.layout().unwrap().rows(), &expected);
            let allocation = Allocation::preset(preset).unwrap().with_schema(read).without_bypass();
            let plan = Plan::of(&allocation).unwrap();
            assert_eq!(plan.columns().codes, ["geocode"]);
        }
    }
}
