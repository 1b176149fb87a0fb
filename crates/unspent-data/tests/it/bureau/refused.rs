//! Datasets that are not what they should be: refused by name.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use unspent_data::measurements::bureau::{BureauDataset, BureauOptions};
use unspent_data::measurements::read_any;

use super::Random;
use super::fixture::{self, Columns, FixtureRow, Form, PLAIN, Values};
use crate::support::Place;

const ATTRIBUTES: [&str; 4] = ["hhgq", "votingage", "hispanic", "cenrace"];

/// Two states, and two queries of each.
fn noisy() -> Vec<FixtureRow> {
    let row = |geocode: &str, name: &str, shape: [i64; 4], variance| FixtureRow {
        geocode: geocode.into(),
        name: name.into(),
        shape: shape.into(),
        values: (0..shape.iter().product()).collect(),
        variance,
        sign: None,
    };
    vec![
        row("001", "total_dpq", [1, 1, 1, 1], 5.25),
        row("001", "hispanic_dpq", [1, 1, 2, 1], 5.25),
        row("101", "total_dpq", [1, 1, 1, 1], 2.5),
        row("101", "hispanic_dpq", [1, 1, 2, 1], 2.5),
    ]
}

fn constraints() -> Vec<FixtureRow> {
    let row = |geocode: &str, sign| FixtureRow {
        geocode: geocode.into(),
        name: "hhgq_total_ub_con".into(),
        shape: vec![8, 1, 1, 1],
        values: vec![9; 8],
        variance: 0.0,
        sign: Some(sign),
    };
    vec![row("001", "<="), row("101", "<=")]
}

/// Writes a dataset with these files, and returns what is said of it, and the advice.
fn said(noisy: &Columns, constraints: &Columns, form: Form, change: impl FnOnce(&Path)) -> [String; 2] {
    // Tests run beside each other.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let place = Place::new(&format!("bureau-refused-{}", MADE.fetch_add(1, Ordering::Relaxed)));
    let path = place.path("US_Person_PL_PROD");
    fixture::write(&path.join("State.parquet/DPQuery/State=001/a.parquet"), noisy, form);
    fixture::write(&path.join("State.parquet/Constraint/b.parquet"), constraints, form);
    change(&path);
    let error = read_any(&path).map(|_| ()).unwrap_err();
    assert!(error.is_input(), "{error}");
    let shown = |text: &str| text.replace(&format!("{}/", place.0.display()), "");
    [shown(&error.to_string()), shown(error.hint())]
}

fn columns(rows: &[FixtureRow]) -> Columns {
    fixture::columns(rows, &ATTRIBUTES, PLAIN)
}

/// What is said when the noisy answers are these.
fn of_rows(change: impl FnOnce(&mut Vec<FixtureRow>)) -> [String; 2] {
    let mut rows = noisy();
    change(&mut rows);
    said(&columns(&rows), &columns(&constraints()), PLAIN, |_| {})
}

fn of_constraints(change: impl FnOnce(&mut Vec<FixtureRow>)) -> [String; 2] {
    let mut rows = constraints();
    change(&mut rows);
    said(&columns(&noisy()), &columns(&rows), PLAIN, |_| {})
}

/// What is said when the files of noisy answers have these columns.
fn of_columns(change: impl FnOnce(&mut Columns)) -> [String; 2] {
    let mut noisy = columns(&noisy());
    change(&mut noisy);
    said(&noisy, &columns(&constraints()), PLAIN, |_| {})
}

fn of_folder(change: impl FnOnce(&Path)) -> [String; 2] {
    said(&columns(&noisy()), &columns(&constraints()), PLAIN, change)
}

const NOISY: &str = "US_Person_PL_PROD/State.parquet/DPQuery/State=001/a.parquet";
const EXACT: &str = "US_Person_PL_PROD/State.parquet/Constraint/b.parquet";

#[test]
fn what_is_written_here_is_whole() {
    let place = Place::new("bureau-whole");
    let path = place.path("US_Person_PL_PROD");
    let form = Form { optional: false, more: false, ..PLAIN };
    fixture::write(&path.join("State.parquet/DPQuery/a"), &fixture::columns(&noisy(), &[], form), form);
    let read = read_any(&path).unwrap();
    assert_eq!(read.levels()[0].codes, ["001", "101"]);
    let hispanic = &read.levels()[0].queries[1];
    assert_eq!((hispanic.name.as_str(), hispanic.noise(0).variance), ("hispanic", 5.25));
    assert_eq!((hispanic.noise(1).variance, &hispanic.values[..]), (2.5, &[0, 1, 0, 1][..]));
}

#[test]
fn columns_are_refused_by_name() {
    let without = |name: &str| of_columns(|columns| columns.retain(|(column, _)| column != name));
    for name in ["geocode", "query_name", "query_shape", "value", "variance"] {
        let hint = "needed are geocode, query_name, query_shape, value, variance";
        assert_eq!(without(name), [format!("{NOISY}: has no column `{name}`"), hint.into()]);
    }
    let mut unsigned = columns(&constraints());
    unsigned.retain(|(column, _)| column != "sign");
    assert_eq!(
        said(&columns(&noisy()), &unsigned, PLAIN, |_| {}),
        [
            format!("{EXACT}: has no column `sign`"),
            "needed are geocode, query_name, query_shape, value, variance, sign".into()
        ]
    );
    let with = |name: &str, values: Values| {
        let [said, hint] = of_columns(|columns| {
            columns.iter_mut().find(|(column, _)| column == name).unwrap().1 = values;
        });
        assert_eq!(hint, "noisy measurement files have it so; a file with other columns is no such file");
        said
    };
    let texts = Values::Texts(vec!["5".into(); 4]);
    for (name, values, what) in [
        ("geocode", Values::Integers(vec![1; 4]), "INT64, not of texts"),
        ("query_name", Values::Reals(vec![1.0; 4], true), "DOUBLE, not of texts"),
        ("query_shape", texts.clone(), "UTF8, not of lists of integers"),
        ("value", Values::Integers(vec![1; 4]), "INT64, not of lists of integers"),
        ("variance", texts.clone(), "UTF8, not of FLOAT or DOUBLE"),
        ("variance", Values::Lists(vec![vec![1]; 4], false), "lists of INT32, not of FLOAT or DOUBLE"),
        ("cenrace", Values::Integers(vec![1; 4]), "INT64, not of texts"),
    ] {
        assert_eq!(with(name, values), format!("{NOISY}: column `{name}` is of {what}"));
    }
}

#[test]
fn rows_are_refused_by_query_and_unit() {
    let last = |what: &str| format!("{NOISY}: row 4: query `hispanic_dpq` of unit `101`: {what}");
    let product = "the number of values is the product of the shape";
    assert_eq!(
        of_rows(|rows| rows[3].values.truncate(1)),
        [last("it has 1 values, which its shape [1, 1, 2, 1] does not make"), product.into()]
    );
    assert_eq!(
        of_rows(|rows| rows[3].shape = vec![1, 2, 1, 1]),
        [
            last("its shape is [1, 2, 1, 1]; in pl94-persons it is [1, 1, 2, 1]"),
            "an entry for each attribute, 1 where it is summed out".into()
        ]
    );
    assert_eq!(
        of_rows(|rows| rows[3].shape = vec![2])[0],
        last("its shape is [2]; in pl94-persons it is [1, 1, 2, 1]")
    );
    for shape in [vec![1, 0, 2, 1], vec![1, -1, -2, 1]] {
        let shown = last(&format!("its shape is {shape:?}"));
        assert_eq!(of_rows(|rows| rows[3].shape = shape), [shown, "a shape has numbers from 1 on".into()]);
    }
    for (variance, shown) in [(f64::NAN, "NaN"), (0.0, "0"), (-1.0, "-1"), (f64::INFINITY, "inf")] {
        assert_eq!(
            of_rows(|rows| rows[3].variance = variance),
            [last(&format!("its variance is {shown}")), "noise has a variance above 0 that is finite".into()]
        );
    }
    let named = |name: &str| of_rows(|rows| rows[3].name = name.into());
    assert_eq!(
        named("hispani_dpq"),
        [
            format!("{NOISY}: row 4: query `hispani_dpq` of unit `101`: pl94-persons has no such query"),
            "did you mean `hispanic`?".into()
        ]
    );
    assert_eq!(named("tenvacgq_dpq")[1], "queries of other products are kept only on request");
    assert_eq!(
        named("hispanic_con"),
        [
            format!("{NOISY}: row 4: query `hispanic_con` of unit `101`: its name does not end in `_dpq`"),
            "it belongs into another folder".into()
        ]
    );
}

#[test]
fn constraints_are_refused_by_query_and_unit() {
    let last = |what: &str| format!("{EXACT}: row 2: query `hhgq_total_ub_con` of unit `101`: {what}");
    assert_eq!(
        of_constraints(|rows| rows[1].variance = 0.5),
        [last("its variance is 0.5"), "constraints have none: 0".into()]
    );
    assert_eq!(
        of_constraints(|rows| rows[1].sign = Some("<")),
        [last("its sign is `<`"), "signs are =, <= and >=".into()]
    );
    assert_eq!(
        of_constraints(|rows| rows[1].sign = Some("=")),
        [
            last("differs in shape or sign from a row before").replace("_con`", "`"),
            "a query is the same for all units of a level".into()
        ]
    );
    assert_eq!(
        of_constraints(|rows| rows[1].values.truncate(7))[0],
        last("it has 7 values, which its shape [8, 1, 1, 1] does not make")
    );
}

#[test]
fn units_that_differ_are_refused() {
    let folder = "US_Person_PL_PROD/State.parquet/DPQuery";
    assert_eq!(
        of_rows(|rows| rows.push(rows[0].clone())),
        [
            format!("{folder}: unit `001` has query `total` twice"),
            "every unit has every query of its level once".into()
        ]
    );
    assert_eq!(
        of_rows(|rows| drop(rows.remove(2))),
        [
            format!("{folder}: unit `101` lacks query `total`, which others have"),
            "check that no file is missing; rows can be read one by one all the same".into()
        ]
    );
    // The same file under another name.
    assert_eq!(
        of_folder(|path| {
            let folder = path.join("State.parquet/DPQuery/State=001");
            fs::copy(folder.join("a.parquet"), folder.join("copy")).map(drop).unwrap();
        })[0],
        format!("{folder}: unit `001` has query `hispanic` twice")
    );
}

#[test]
fn nulls_and_empty_lists_are_refused_by_column_and_row() {
    for name in ["geocode", "query_name", "query_shape", "value", "variance"] {
        for group in [1_000, 2] {
            let form = Form { null: Some((name, 3)), group, ..PLAIN };
            let [said, hint] = said(&columns(&noisy()), &columns(&constraints()), form, |_| {});
            let what = "row 4 has no value, or a list in which one is missing";
            assert_eq!(said, format!("{NOISY}: cannot be read: Parquet error: column `{name}`: {what}"));
            assert_eq!(hint, "check that it is a whole Parquet file");
        }
    }
}

#[test]
fn folders_are_refused_by_name() {
    let hint = "noisy measurements have a manifest.json, or, if the Census Bureau published them, \
                folders like State.parquet/DPQuery";
    let place = Place::new("bureau-folders");
    let error = read_any(&place.path("nowhere")).map(|_| ()).unwrap_err();
    let nowhere = place.path("nowhere").display().to_string();
    assert_eq!(
        error.to_string(),
        format!("{nowhere}: cannot be read: No such file or directory (os error 2)")
    );
    assert_eq!(error.hint(), hint);
    fs::create_dir(place.path("empty")).unwrap();
    let error = read_any(&place.path("empty")).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: has no folder of a level", place.path("empty").display()));
    assert_eq!(error.hint(), hint);

    assert_eq!(
        of_folder(|path| fs::remove_file(path.join("State.parquet/Constraint/b.parquet")).unwrap()),
        [
            "US_Person_PL_PROD/State.parquet/Constraint: has no file".into(),
            "a folder without answers is not there at all; check that the download is whole".to_string()
        ]
    );
    assert_eq!(
        of_folder(|path| fs::write(path.join("US.parquet"), "x").unwrap()),
        [
            "US_Person_PL_PROD/US.parquet: has no folder DPQuery and no folder Constraint".to_string(),
            hint.into()
        ]
    );
    assert_eq!(
        of_folder(|path| fs::create_dir(path.join("State.parquet/DPQuery/old")).unwrap()),
        [
            "US_Person_PL_PROD/State.parquet/DPQuery/old: is a folder that is no partition".into(),
            "folders of partitions are called like State=044 or County=04410001".to_string()
        ]
    );
}

#[test]
fn files_that_are_cut_or_no_files_of_this_kind_are_refused() {
    let [said, hint] = of_folder(|path| {
        let file = path.join("State.parquet/DPQuery/State=001/a.parquet");
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    });
    assert_eq!(said, format!("{NOISY}: cannot be read: Parquet error: Invalid Parquet file. Corrupt footer"));
    assert_eq!(hint, "check that it is a whole Parquet file");
    let [said, _] =
        of_folder(|path| fs::write(path.join("State.parquet/Constraint/notes.txt"), "hello").unwrap());
    let text = "US_Person_PL_PROD/State.parquet/Constraint/notes.txt: cannot be read: ";
    assert!(said.starts_with(text), "{said}");
}

#[test]
fn the_product_is_known_or_named() {
    let place = Place::new("bureau-product");
    let form = Form { more: false, ..PLAIN };
    let path = place.path("some");
    fixture::write(&path.join("State.parquet/DPQuery/a"), &fixture::columns(&noisy(), &[], form), form);
    let error = read_any(&path).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: neither its name nor its columns say what product it is of", path.display())
    );
    let options = |schema: &str| BureauOptions { schema: Some(schema.into()), ..BureauOptions::default() };
    let read = BureauDataset::open(&path, &options("pl94-persons")).unwrap().read().unwrap();
    assert_eq!((read.schema.as_str(), read.levels.len()), ("pl94-persons", 1));
    let error = BureauDataset::open(&path, &options("pl94-person")).map(|_| ()).unwrap_err();
    assert_eq!((error.field(), error.hint()), (Some("schema"), "did you mean `pl94-persons`?"));

    let path = place.path("US_Unit_PL_PROD");
    let file = path.join("State.parquet/DPQuery/a");
    fixture::write(&file, &fixture::columns(&noisy(), &ATTRIBUTES, PLAIN), PLAIN);
    let error = read_any(&path).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: has the columns of pl94-persons, not of pl94-units", file.display())
    );
    assert_eq!(error.hint(), "the product is what the dataset's name says, or the schema that was named");
}

/// Several hundred damaged files: all are read, with other values perhaps, or refused with their names.
#[test]
fn damaged_files_are_refused() {
    let place = Place::new("bureau-damaged");
    let path = place.path("US_Person_PL_PROD");
    let file = path.join("State.parquet/DPQuery/a");
    fixture::write(&file, &columns(&noisy()), PLAIN);
    let good = fs::read(&file).unwrap();
    let hook = std::panic::take_hook();
    // A library that trips over a damaged file is no news.
    std::panic::set_hook(Box::new(move |panic| {
        if !unspent_data::panics::is_caught() {
            hook(panic);
        }
    }));
    let (mut read, mut refused, mut random) = (0, 0, Random(1));
    for _ in 0..600 {
        let mut bytes = good.clone();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 + random.below(255) as u8;
        fs::write(&file, bytes).unwrap();
        match read_any(&path) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(error.is_input() && error.to_string().contains("DPQuery"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > 10 && refused > 100, "{read} were read, {refused} refused");
}
