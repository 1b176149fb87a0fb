//! Confidence intervals for whole measurements.

use std::fs;

use unspent::sampler::{Key, Sampler};
use unspent::{Rational, expected::Law};
use unspent_data::measurements::{IntervalTable, Only, RowIntervals, RowNoise, Source, read_any};
use unspent_data::{Interval, Measurements, QueryMeasurements, Quiet};

use super::fixture::PLAIN;
use super::persons;
use crate::support::{Place, measure};

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Counts from 0 to 19 with exact noise, of which every other unit has much more.
fn simulated(units: usize, sigma2: [&str; 2], known: bool) -> QueryMeasurements {
    let noise = |sigma2: &&str| {
        let sigma2 = rational(sigma2);
        let variance = f64::from(Law::new(&sigma2).unwrap().plain().mse as f32);
        RowNoise { sigma2: known.then_some(sigma2), laplace: None, variance, rho: None }
    };
    let draws = sigma2.map(|sigma2| {
        let mut draws = vec![0; units];
        Key::not_private(7).noise(&Sampler::new(&rational(sigma2)).unwrap()).fill(&mut draws).unwrap();
        draws
    });
    QueryMeasurements {
        name: "total".into(),
        shape: vec![1],
        noises: sigma2.iter().map(noise).collect(),
        noise_of: (0..units).map(|unit| (unit % 2) as u16).collect(),
        values: (0..units).map(|unit| (unit % 20) as i64 + draws[unit % 2][unit]).collect(),
    }
}

#[test]
fn intervals_cover_as_often_as_the_law_says() {
    let (units, sigma2) = (40_000, ["5", "456.62"]);
    for confidence in ["0.5", "0.9", "0.95"].map(rational) {
        for known in [true, false] {
            let query = simulated(units, sigma2, known);
            let ends = query.intervals(&confidence).unwrap();
            for (noise, sigma2) in sigma2.iter().enumerate() {
                let law = Law::new(&rational(sigma2)).unwrap();
                let width = law.half_width(&confidence).unwrap();
                let covered = (noise..units).step_by(2).filter(|unit| {
                    let truth = (unit % 20) as i64;
                    ends.lower[*unit] <= truth && truth <= ends.upper[*unit]
                });
                let (found, all) = (covered.count() as f64, units as f64 / 2.0);
                let expected = 1.0 - 2.0 * law.tail(width);
                assert!(expected >= confidence.to_f64());
                // Five standard deviations.
                let near = 5.0 * (all * expected * (1.0 - expected)).sqrt();
                assert!((found - all * expected).abs() < near, "{sigma2}: {found} of {all}, {expected}");
            }
        }
    }
}

#[test]
fn every_row_has_the_interval_of_its_own_noise() {
    let confidence = rational("0.95");
    for known in [true, false] {
        let query = simulated(100, ["5", "456.62"], known);
        let ends = query.intervals(&confidence).unwrap();
        for unit in 0..100 {
            let sigma2 = rational(["5", "456.62"][unit % 2]);
            let single = Interval::new(query.values[unit], &sigma2, &confidence).unwrap();
            let [row] = &query.intervals_of(unit, &confidence).unwrap()[..] else { panic!("one value") };
            assert_eq!(
                (row.lower, row.upper, row.half_width),
                (single.lower, single.upper, single.half_width)
            );
            if known {
                assert_eq!(*row, single);
            }
            match single.lower.zip(single.upper) {
                Some(both) => assert_eq!((ends.lower[unit].into(), ends.upper[unit].into()), both),
                None => assert!(ends.upper[unit] < 0 && ends.lower[unit] == 0),
            }
        }
    }
    let error = RowIntervals::new(&rational("1")).unwrap_err();
    assert_eq!(error.to_string(), "confidence: `1` is not a number above 0 and below 1 (by 1e-200 at least)");
}

#[test]
fn measurements_have_intervals_at_every_level() {
    let place = Place::new("intervals-levels");
    measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let own = Measurements::read(&place.path("noisy")).unwrap();
    let confidence = rational("0.9");
    let found = own.intervals(&confidence).unwrap();
    assert_eq!(found, read_any(&place.path("noisy")).unwrap().intervals(&confidence).unwrap());
    for (level, intervals) in own.levels.iter().zip(&found) {
        assert_eq!(level.level, intervals.level);
        for (query, ends) in level.queries.iter().zip(&intervals.queries) {
            assert_eq!(query.name, ends.name);
            assert_eq!(*ends, query.intervals(&confidence).unwrap());
            assert_eq!((ends.lower.len(), ends.upper.len()), (query.values.len(), query.values.len()));
        }
    }
}

/// The table as text, from a folder of either kind.
fn table(source: &Source, only: Only) -> String {
    let mut text = vec![];
    let mut table = IntervalTable::new(source, only, &rational("0.95")).unwrap();
    let rows = table.write_csv(&mut text, &mut Quiet).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count() as u64, rows + 1);
    text
}

#[test]
fn a_table_has_a_row_for_each_value() {
    let (place, written) = persons("intervals-table", PLAIN);
    let confidence = rational("0.95");
    let source = Source::open(&place.path("US_Person_PL_PROD")).unwrap();
    let mut expected = vec![];
    for level in &written.levels {
        for query in &level.queries {
            for (unit, code) in level.codes.iter().enumerate() {
                let variance = query.noise(unit).variance;
                for (cell, row) in query.intervals_of(unit, &confidence).unwrap().iter().enumerate() {
                    let end = |end: Option<i128>| end.map(|end| end.to_string()).unwrap_or_default();
                    let (level, query, count) = (&level.level, &query.name, row.count);
                    let (lower, upper) = (end(row.lower), end(row.upper));
                    expected
                        .push(format!("{level},{code},{query},{cell},{count},{variance},{lower},{upper}"));
                }
            }
        }
    }
    let text = table(&source, Only::default());
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.remove(0), "level,geocode,query,cell,value,variance,lower,upper");
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert!(expected.iter().any(|line| line.ends_with(",,")) && expected.len() > 2_000);

    let some = Only { level: Some("State".into()), query: Some("total".into()) };
    let mut of_states: Vec<String> = table(&source, some).lines().skip(1).map(String::from).collect();
    of_states.sort_unstable();
    expected.retain(|line| line.starts_with("State,") && line.contains(",total,"));
    assert_eq!(of_states, expected);
    let wrong = Only { level: Some("Stat".into()), query: None };
    let error = IntervalTable::new(&source, wrong, &confidence).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "level: `Stat` is not one of US, State, Block_Group, Block");
    assert_eq!(error.hint(), "did you mean `State`?");
}

/// The same rows as Parquet, read with the library's rows.
#[test]
fn a_parquet_table_has_the_same_rows() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let place = Place::new("intervals-parquet");
    measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let source = Source::open(&place.path("noisy")).unwrap();
    let mut file = fs::File::create(place.path("t.parquet")).unwrap();
    let mut written = IntervalTable::new(&source, Only::default(), &rational("0.95")).unwrap();
    let rows = written.write_parquet(&mut file, &mut Quiet).unwrap();
    assert_eq!(rows, (4 + 40) * 7);
    let reader = SerializedFileReader::new(fs::File::open(place.path("t.parquet")).unwrap()).unwrap();
    let mut lines = String::from("level,geocode,query,cell,value,variance,lower,upper\n");
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let text = |i| row.get_string(i).unwrap().as_str();
        let end = |i| row.get_long(i).map(|end| end.to_string()).unwrap_or_default();
        lines += &format!(
            "{},{},{},{},{},{},{},{}\n",
            text(0),
            text(1),
            text(2),
            row.get_int(3).unwrap(),
            row.get_long(4).unwrap(),
            row.get_double(5).unwrap(),
            end(6),
            end(7)
        );
    }
    assert_eq!(lines, table(&source, Only::default()));
}

/// A file that is damaged is an error of reading, not of writing.
#[test]
fn what_cannot_be_read_is_said_as_such() {
    let (place, _) = persons("intervals-damaged", PLAIN);
    let path = place.path("US_Person_PL_PROD");
    fs::write(path.join("Block.parquet/DPQuery/x"), "no Parquet").unwrap();
    let source = Source::open(&path).unwrap();
    let mut table = IntervalTable::new(&source, Only::default(), &rational("0.95")).unwrap();
    let error = table.write_csv(&mut std::io::sink(), &mut Quiet).unwrap_err();
    let error = error.downcast::<unspent::Error>().unwrap();
    let shown = path.join("Block.parquet/DPQuery/x").display().to_string();
    assert!(error.to_string().starts_with(&format!("{shown}: cannot be read: ")), "{error}");
}
