use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use unspent::Allocation;

use super::*;
use crate::directory::{Folder, Unfinished};
use crate::table::{Table, Wanted};
use crate::{Input, Measure, NoiseSource, Quiet, UnitList};

const RACES: [&str; 6] = [
    "White",
    "Black",
    "American Indian or Alaska Native",
    "Asian",
    "Native Hawaiian or Pacific Islander",
    "some other race",
];

fn shipped(name: &str) -> Schema {
    Schema::shipped(name).unwrap()
}

fn tables(name: &str) -> Vec<PublishedTable> {
    of_schema(&shipped(name)).unwrap()
}

/// All sets of races: smaller ones first, then those whose first race comes first, and so on.
fn race_sets() -> Vec<Vec<usize>> {
    let members = |set: u32| (0..6).filter(|race| set >> race & 1 == 1).collect();
    let mut sets: Vec<Vec<usize>> = (1..64).map(members).collect();
    sets.sort_by_key(|set| (set.len(), set.clone()));
    sets
}

/// A person: kind of group quarters, whether of voting age, whether Hispanic, and races.
struct Person {
    hhgq: usize,
    adult: bool,
    hispanic: bool,
    races: Vec<usize>,
}

/// What each cell of the histogram counts, by nested loops.
fn people() -> Vec<Person> {
    let mut people = vec![];
    for hhgq in 0..8 {
        for adult in [false, true] {
            for hispanic in [false, true] {
                for races in race_sets() {
                    people.push(Person { hhgq, adult, hispanic, races });
                }
            }
        }
    }
    people
}

/// Whom a published cell counts.
type Counts = Box<dyn Fn(&Person) -> bool>;

/// Whom the cells by race below the total count: written from the headings of the published table.
fn by_race() -> Vec<Counts> {
    let mut cells: Vec<Counts> = vec![Box::new(|person| person.races.len() == 1)];
    cells.extend((0..6).map(|race| -> Counts { Box::new(move |person| person.races == [race]) }));
    cells.push(Box::new(|person| person.races.len() > 1));
    for size in 2..=6 {
        cells.push(Box::new(move |person| person.races.len() == size));
        for set in race_sets().into_iter().filter(|set| set.len() == size) {
            cells.push(Box::new(move |person| person.races == set));
        }
    }
    cells
}

fn expected(table: &str) -> Vec<Counts> {
    let mut cells: Vec<Counts> = vec![Box::new(|_| true)];
    match table {
        "P1" => cells.extend(by_race()),
        "P2" => {
            cells.push(Box::new(|person| person.hispanic));
            cells.push(Box::new(|person| !person.hispanic));
            cells.extend(
                by_race()
                    .into_iter()
                    .map(|counts| -> Counts { Box::new(move |person| !person.hispanic && counts(person)) }),
            );
        }
        "P3" | "P4" => {
            let everybody = if table == "P3" { "P1" } else { "P2" };
            let adult = |counts: Counts| -> Counts { Box::new(move |person| person.adult && counts(person)) };
            return expected(everybody).into_iter().map(adult).collect();
        }
        "P5" => {
            let kinds = [(1, 7), (1, 4), (1, 1), (2, 2), (3, 3), (4, 4), (5, 7), (5, 5), (6, 6), (7, 7)];
            let kind = |(first, last): (usize, usize)| -> Counts {
                Box::new(move |person| first <= person.hhgq && person.hhgq <= last)
            };
            return kinds.map(kind).into_iter().collect();
        }
        _ => unreachable!(),
    }
    cells
}

/// Numbers without a pattern, from 0 on.
fn scattered(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// The cells of a unit: some hundred of them, with counts up to 50. Nobody under 18 is in a nursing home.
fn unit(number: u64) -> Vec<(u32, i64)> {
    let possible = (0..756).chain(882..2016);
    let cells = possible.filter(|cell| scattered(cell + 5000 * number).is_multiple_of(8));
    cells.map(|cell| (cell as u32, 1 + (scattered(cell + 77) % 50) as i64)).collect()
}

#[test]
fn every_published_cell_is_the_sum_of_those_it_counts() {
    let people = people();
    assert_eq!(people.len(), 2016);
    // All cells have different counts; then each alone.
    let all: Vec<(u32, i64)> = (0..2016).map(|cell| (cell, scattered(u64::from(cell)) as i64)).collect();
    let mut lengths = vec![];
    for table in tables("pl94-persons") {
        let expected = expected(table.name());
        lengths.push((table.name(), table.cells().len()));
        assert_eq!(expected.len(), table.cells().len());
        let row = table.row(&all).unwrap();
        for (at, counts) in expected.iter().enumerate() {
            let sum = |(cell, count): &(u32, i64)| if counts(&people[*cell as usize]) { *count } else { 0 };
            assert_eq!(row[at], all.iter().map(sum).sum::<i64>(), "{}", table.cells()[at].code);
        }
        for (cell, person) in (0..).zip(&people) {
            let ones = expected.iter().map(|counts| i64::from(counts(person)));
            assert_eq!(table.row(&[(cell, 1)]).unwrap(), ones.collect::<Vec<_>>(), "cell {cell}");
        }
    }
    assert_eq!(lengths, [("P1", 71), ("P2", 73), ("P3", 71), ("P4", 73), ("P5", 10)]);
    let units = tables("pl94-units");
    assert_eq!((units.len(), units[0].name(), units[0].cells().len()), (1, "H1", 3));
    assert_eq!(units[0].row(&[(0, 30), (1, 500)]).unwrap(), [530, 500, 30]);
}

#[test]
fn codes_and_labels_are_those_of_the_published_file() {
    let tables = tables("pl94-persons");
    let cell = |table: usize, number: usize| {
        let cell = &tables[table - 1].cells()[number - 1];
        (cell.code.as_str(), cell.label.as_str())
    };
    assert_eq!(cell(1, 1), ("P0010001", "total"));
    assert_eq!(cell(1, 8), ("P0010008", "some other race alone"));
    assert_eq!(cell(1, 26), ("P0010026", "three races"));
    assert_eq!(cell(2, 2), ("P0020002", "Hispanic or Latino"));
    assert_eq!(cell(2, 6), ("P0020006", "not Hispanic or Latino: Black alone"));
    assert_eq!(cell(4, 11), ("P0040011", "not Hispanic or Latino: two or more races"));
    assert_eq!(cell(5, 7), ("P0050007", "non-institutional group quarters"));
    assert_eq!(cell(5, 9), ("P0050009", "military quarters or ship"));
    // Combinations are called by their races, in the order of the sets.
    let labels = tables[0].cells().iter().map(|cell| cell.label.as_str());
    let labels: Vec<&str> = labels.filter(|label| label.contains('+')).collect();
    let several = race_sets().into_iter().filter(|set| set.len() > 1);
    let names = several.map(|set| set.iter().map(|race| RACES[*race]).collect::<Vec<_>>().join("+"));
    assert_eq!(labels, names.collect::<Vec<_>>());
    // No label comes twice in a table.
    for table in &tables {
        let mut labels: Vec<&str> = table.cells().iter().map(|cell| cell.label.as_str()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), table.cells().len(), "{}", table.name());
    }
}

#[test]
fn parts_of_tables_sum() {
    let tables = tables("pl94-persons");
    for number in 0..20 {
        let counts = unit(number);
        let rows: Vec<Vec<i64>> = tables.iter().map(|table| table.row(&counts).unwrap()).collect();
        let cell = |table: usize, number: usize| rows[table - 1][number - 1];
        assert_eq!(cell(1, 1), counts.iter().map(|(_, count)| count).sum::<i64>());
        assert_eq!(cell(2, 1), cell(1, 1));
        assert_eq!(cell(4, 1), cell(3, 1));
        for table in [1, 3] {
            assert_eq!(cell(table, 1), cell(table, 2) + cell(table, 9));
            assert_eq!(cell(table, 2), (3..=8).map(|n| cell(table, n)).sum::<i64>());
            let sizes = [10, 26, 47, 63, 70].map(|n| cell(table, n));
            assert_eq!(cell(table, 9), sizes.iter().sum::<i64>());
            assert_eq!(cell(table, 70), cell(table, 71));
        }
        for table in [2, 4] {
            assert_eq!(cell(table, 1), cell(table, 2) + cell(table, 3));
            assert_eq!(cell(table, 3), cell(table, 4) + cell(table, 11));
        }
        assert_eq!(cell(5, 1), cell(5, 2) + cell(5, 7));
        assert!(cell(5, 1) < cell(1, 1));
        // Minors, and those who are Hispanic, are never fewer than nobody.
        assert!(rows[0].iter().zip(&rows[2]).all(|(all, adults)| all >= adults));
        assert!(rows[1].iter().zip(&rows[3]).all(|(all, adults)| all >= adults));
        assert!(rows[0][1..].iter().zip(&rows[1][3..]).all(|(all, others)| all >= others));
    }
}

#[test]
fn other_schemas_have_no_published_tables() {
    for name in ["dhc-persons", "dhc-units"] {
        let schema = shipped(name);
        assert_eq!(of_schema(&schema), None);
        let error = needed_of_schema(&schema).unwrap_err();
        assert!(error.to_string().contains(schema.name().unwrap()), "{error}");
        assert!(error.hint().contains("pl94-persons"), "{}", error.hint());
    }
    let own = |text: &str| of_schema(&Schema::parse("own.toml", text).unwrap());
    let values = "values = [\"vacant housing unit\", \"occupied housing unit\"]";
    let tables = own(&format!("[attributes]\nh1 = {{ {values}, codes = [\"v\", \"o\"] }}"));
    assert_eq!(tables.unwrap()[0].name(), "H1", "codes are how records write them");
    assert_eq!(own(&format!("[attributes]\nh1 = {{ {values}, optional = true }}")), None);
    assert_eq!(own(&format!("[attributes]\nh2 = {{ {values} }}")), None);
    assert_eq!(own("[attributes]\nh1 = [\"occupied housing unit\", \"vacant housing unit\"]"), None);
    assert_eq!(own(&format!("[attributes]\nh1 = {{ {values} }}\nother = [\"a\", \"b\"]")), None);
}

#[test]
fn cells_that_do_not_exist_and_sums_that_are_too_large_are_refused() {
    let table = &tables("pl94-units")[0];
    let error = table.row(&[(2, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "table H1: cell: `2` is not one of 2 cells");
    let error = table.row(&[(0, i64::MAX), (1, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "H0010001: a sum exceeds 2^63 − 1");
}

/// Writes a directory, and removes it at the end.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, write: impl FnOnce(&Path, &Folder)) -> Written {
        let path = std::env::temp_dir().join(format!("unspent-published-{name}-{}", std::process::id()));
        let unfinished = Unfinished::create(&path).unwrap();
        write(&path, unfinished.folder());
        unfinished.finish().unwrap();
        Written(path)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Codes, values and counts of the rows of a file.
type Owned = (Vec<String>, Vec<String>, Vec<i64>);

fn read(path: PathBuf, codes: &[&str], values: &[&str], counts: &[&str]) -> Vec<Owned> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let (codes, values, counts) = (names(codes), names(values), names(counts));
    let wanted = Wanted { codes: &codes, values: &values, counts: &counts };
    let mut rows = vec![];
    let table = Table::open(Input::File(path), wanted).unwrap();
    table
        .rows(&mut Quiet, &mut |row| {
            rows.push((names(row.codes), names(row.values), row.counts.to_vec()));
            Ok(())
        })
        .unwrap();
    rows
}

fn notes() -> Vec<(&'static str, String)> {
    vec![("unspent.version", "0".into()), ("unspent.warning", "not private".into())]
}

fn notes_of(path: PathBuf) -> BTreeMap<String, String> {
    let file = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let notes = file.metadata().file_metadata().key_value_metadata().unwrap();
    notes.iter().map(|note| (note.key.clone(), note.value.clone().unwrap())).collect()
}

#[test]
fn published_files_are_read_back() {
    // More units than a row group has, and one level without any.
    let blocks: Vec<String> = (0..9000).map(|n| format!("44001030100{n:04}")).collect();
    let counts = |n: usize| unit(n as u64 % 7).split_off(n % 100);
    let levels = ["State", "Tract", "Block group"].map(String::from);
    let mut made = vec![];
    let written = Written::new("tables", |target, folder| {
        let tables = tables("pl94-persons");
        let mut writer = PublishedWriter::new(target, folder, tables, &levels, &notes()).unwrap();
        for (n, code) in blocks.iter().enumerate() {
            writer.push(2, code, &counts(n)).unwrap();
            if n == 3 {
                writer.push(0, "a \"code\", in quotes", &counts(n)).unwrap();
            }
        }
        made = writer.finish().unwrap();
    });
    for table in tables("pl94-persons") {
        let codes: Vec<&str> = table.cells().iter().map(|cell| cell.code.as_str()).collect();
        for end in ["csv", "parquet"] {
            let path = |level: &str| written.0.join(format!("published/{}/{level}.{end}", table.name()));
            let rows = read(path("block-group"), &["geocode"], &[], &codes);
            assert_eq!(rows.len(), blocks.len());
            for (n, (code, _, row)) in rows.iter().enumerate() {
                assert_eq!((&code[0], row), (&blocks[n], &table.row(&counts(n)).unwrap()));
            }
            let state = read(path("state"), &["geocode"], &[], &codes);
            assert_eq!(state.len(), 1);
            assert_eq!(state[0].0, ["a \"code\", in quotes"]);
            assert_eq!(state[0].2, table.row(&counts(3)).unwrap());
            assert!(!path("tract").exists());
        }
        let found = notes_of(written.0.join(format!("published/{}/state.parquet", table.name())));
        assert_eq!(found["unspent.warning"], "not private");
        assert!(found["unspent.table"].starts_with(table.name()), "{found:?}");
    }
    assert_eq!(made.len(), 1 + 5 * 2 * 2);
    assert!(made.iter().all(|file| written.0.join(file).is_file()), "{made:?}");
    let columns = written.text("published/columns.csv");
    assert_eq!(columns.lines().count(), 1 + 298);
    let second = "P1,P0010002,population of one race,total population";
    assert_eq!(columns.lines().nth(2), Some(second));
    let last = columns.lines().last().unwrap();
    assert!(last.starts_with("P5,P0050010,other non-institutional group quarters,"), "{last}");
}

#[test]
fn records_are_counted_again() {
    let schema = shipped("pl94-persons");
    let names = ["hhgq", "votingage", "hispanic", "cenrace"];
    let mut expected = BTreeMap::new();
    let mut result = (vec![], 0);
    let written = Written::new("records", |target, folder| {
        let mut writer = RecordsWriter::new(target, folder, &schema, &notes()).unwrap();
        let levels = ["Block".to_string()];
        let tables = tables("pl94-persons");
        let mut published = PublishedWriter::new(target, folder, tables, &levels, &[]).unwrap();
        for n in 0..40 {
            let code = format!("4400103010010{n:02}");
            let mut counts = if n % 5 == 0 { vec![] } else { unit(n) };
            // In no order, and with a cell of which there is nobody.
            counts.reverse();
            counts.push((3, 0));
            writer.push(&code, &counts).unwrap();
            published.push(0, &code, &counts).unwrap();
            let there = counts.iter().filter(|(_, count)| *count > 0);
            expected.extend(there.map(|(cell, count)| ((code.clone(), *cell), *count)));
        }
        result = writer.finish().unwrap();
        published.finish().unwrap();
    });
    assert_eq!(result.0, ["records.csv", "records.parquet", "records.toml"]);
    assert_eq!(result.1, expected.values().sum::<i64>() as u64);
    // How the attributes write their values, as digits: 0 to 7, 1 and 2, 1 and 2, 01 to 63.
    let number = |values: &[String]| {
        let n: Vec<u32> = values.iter().map(|value| value.parse().unwrap()).collect();
        ((n[0] * 2 + n[1] - 1) * 2 + n[2] - 1) * 63 + n[3] - 1
    };
    for end in ["csv", "parquet"] {
        let rows = read(written.0.join(format!("records.{end}")), &["geocode"], &names, &[]);
        let order: Vec<(String, u32)> =
            rows.iter().map(|(code, values, _)| (code[0].clone(), number(values))).collect();
        assert!(order.is_sorted());
        let mut counted = BTreeMap::new();
        for place in order {
            *counted.entry(place).or_default() += 1;
        }
        assert_eq!(counted, expected);
    }
    let found = notes_of(written.0.join("records.parquet"));
    assert_eq!(found["unspent.warning"], "not private");
    assert!(found["unspent.note"].starts_with("made from the counts"), "{found:?}");
    assert!(written.text("records.toml").starts_with("# records.csv: made from the counts"));
    // A measurement reads them with the schema beside them; P1 lists all units, with their totals.
    let measure = Measure {
        units: UnitList::List(Input::File(written.0.join("published/P1/block.csv"))),
        check_total: Some("P0010001".into()),
        noise: NoiseSource::NotPrivate(1),
        ..Measure::new(
            Input::File(written.0.join("records.csv")),
            Allocation::preset("pl94-persons-us-2020").unwrap().without_bypass(),
        )
    };
    let measured = measure.in_memory(&mut Quiet).unwrap();
    let level = |name: &str| measured.levels.iter().find(|level| level.level == name).unwrap();
    assert_eq!(level("Block").codes.len(), 40);
    let total = level("State").queries.iter().find(|query| query.name == "total").unwrap();
    assert!((total.values[0] - result.1 as i64).abs() < 60, "{}", total.values[0]);
}

#[test]
fn records_have_the_columns_that_the_schema_names() {
    let text = "[attributes]\nkind = [\"a, b\", \"c \\\"d\\\"\"]\nage = { first = 3, last = 5 }\n\
                [table]\ncode = \"area\"\nid = \"number\"\n[table.levels]\nAll = 0\nArea = 2\n\
                [table.columns]\nkind = \"sort\"\n";
    let schema = Schema::parse("own.toml", text).unwrap();
    let written = Written::new("own", |target, folder| {
        let mut writer = RecordsWriter::new(target, folder, &schema, &[]).unwrap();
        writer.push("x1", &[(5, 2), (1, 1)]).unwrap();
        writer.push("x2", &[(3, 1)]).unwrap();
        assert_eq!(writer.finish().unwrap().1, 4);
    });
    let expected = "area,sort,age,number\nx1,\"a, b\",4,1\nx1,\"c \"\"d\"\"\",5,2\nx1,\"c \"\"d\"\"\",5,3\n\
                    x2,\"c \"\"d\"\"\",3,4\n";
    assert_eq!(written.text("records.csv"), expected);
    assert_eq!(Schema::read(&written.0.join("records.toml")).unwrap(), schema);
    let columns = |end: &str| {
        read(written.0.join(format!("records.{end}")), &["area"], &["sort", "age", "number"], &[])
    };
    assert_eq!(columns("csv"), columns("parquet"));
    // Codes that are in several columns are written in one.
    let text = "[attributes]\nsex = [\"m\", \"f\"]\n[table]\n[table.levels]\nArea = [\"a\", \"b\"]\n";
    let schema = Schema::parse("own.toml", text).unwrap();
    let written = Written::new("several", |target, folder| {
        let mut writer = RecordsWriter::new(target, folder, &schema, &[]).unwrap();
        writer.push("1-2", &[(1, 1)]).unwrap();
        assert_eq!(writer.finish().unwrap().0, ["records.csv", "records.parquet"]);
    });
    assert_eq!(written.text("records.csv"), "geocode,sex\n1-2,f\n");
}

#[test]
fn records_of_one_cell_fill_several_row_groups() {
    let schema = shipped("pl94-units");
    let many = (1 << 20) + 5;
    let written = Written::new("many", |target, folder| {
        let mut writer = RecordsWriter::new(target, folder, &schema, &[]).unwrap();
        writer.push("1", &[(0, 7), (1, many)]).unwrap();
        writer.push("2", &[(1, 3)]).unwrap();
        assert_eq!(writer.finish().unwrap().1, many as u64 + 10);
    });
    let file = fs::File::open(written.0.join("records.parquet")).unwrap();
    assert_eq!(SerializedFileReader::new(file).unwrap().num_row_groups(), 2);
    for end in ["csv", "parquet"] {
        let mut counted: BTreeMap<(String, String), i64> = BTreeMap::new();
        for (code, values, _) in read(written.0.join(format!("records.{end}")), &["geocode"], &["h1"], &[]) {
            *counted.entry((code[0].clone(), values[0].clone())).or_default() += 1;
        }
        // Vacant is written as 2, and occupied as 1.
        let counted: Vec<_> = counted.iter().map(|((code, h1), n)| (&code[..], &h1[..], *n)).collect();
        assert_eq!(counted, [("1", "1", many), ("1", "2", 7), ("2", "1", 3)]);
    }
}

#[test]
fn records_of_what_is_no_count_are_refused() {
    let schema = shipped("pl94-units");
    Written::new("refused", |target, folder| {
        let mut writer = RecordsWriter::new(target, folder, &schema, &[]).unwrap();
        let error = writer.push("7", &[(0, 2), (1, -1)]).unwrap_err();
        assert_eq!(error.to_string(), "unit `7`: cell 1: `-1` is not a count of records");
        let error = writer.push("7", &[(2, 1)]).unwrap_err();
        assert_eq!(error.to_string(), "unit `7`: cell: `2` is not one of 2 cells");
        assert_eq!(writer.finish().unwrap().1, 0);
    });
}
