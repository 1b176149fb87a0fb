mod formats;
mod refused;
mod written;

use std::fs;

use unspent::ErrorKind;

use super::*;
use crate::panics;
use crate::progress::Quiet;
use crate::synthesize::parquet_of;

/// Texts of their own.
fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// A few thousand damaged files: all are read, or refused as files that cannot be.
#[test]
fn damaged_parquet_is_refused() {
    let place = std::env::temp_dir().join(format!("unspent-damaged-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let codes = names(&["geocode"]);
    let counts: Vec<String> = crate::synthesize::columns().1;
    let path = place.join("people.parquet");
    let good = parquet_of(300);
    let mut random = 1u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = good.clone();
        // Mostly one byte, now and then several.
        for _ in 0..=below(2) * below(4) {
            let at = below(bytes.len());
            bytes[at] ^= 1 + below(255) as u8;
        }
        fs::write(&path, bytes).unwrap();
        let rows = || {
            let wanted = Wanted { codes: &codes, values: &[], counts: &counts };
            Table::open(Input::File(path.clone()), wanted)?.rows(&mut Quiet, &mut |_| Ok(()))
        };
        match panics::caught(rows).expect("nothing escapes") {
            Ok(()) => read += 1,
            Err(error) => {
                assert!(error.is_input() && error.to_string().contains("people.parquet: "), "{error}");
                refused += 1;
            }
        }
    }
    fs::remove_dir_all(&place).unwrap();
    assert!(read > 500 && refused > 500, "{read} were read, {refused} refused");
}

fn rows_of(columns: Vec<(String, Values)>) -> Result<Vec<(Vec<String>, Vec<i64>)>> {
    let (codes, counts) = (names(&["state", "county"]), names(&["pop"]));
    let table = Table::open(
        Input::Columns(Columns::new(columns)?),
        Wanted { codes: &codes, values: &[], counts: &counts },
    )?;
    let mut found = vec![];
    table.rows(&mut Quiet, &mut |row| {
        found.push((row.codes.iter().map(|code| code.to_string()).collect(), row.counts.to_vec()));
        Ok(())
    })?;
    Ok(found)
}

#[test]
fn columns_in_memory_are_rows() {
    let column = |name: &str, values| (String::from(name), values);
    let state = || column("state", names(&[" 44", "45"]).into());
    let county = || column("county", vec![1, 3].into());
    let found = rows_of(vec![column("pop", vec![7, 0].into()), county(), state()]).unwrap();
    assert_eq!(found, [(names(&["44", "1"]), vec![7]), (names(&["45", "3"]), vec![0])]);

    let refused = |pop: Values| rows_of(vec![state(), county(), column("pop", pop)]).unwrap_err();
    let error = refused(vec![7, -12].into());
    assert_eq!(error.to_string(), "table: row 2: pop: is not a count");
    assert_eq!(error.revealed().to_string(), "table: row 2: pop: `-12` is not a count");
    let error = refused(names(&["7", "8"]).into());
    assert_eq!(error.to_string(), "table: column `pop` is of texts, not of integers");
    let error = refused(vec![7].into());
    assert_eq!(error.to_string(), "table: column `pop` has 1 rows; column `state` has 2");
    let error = rows_of(vec![state(), county()]).unwrap_err();
    assert_eq!(error.to_string(), "table: there is no column `pop`");
    let error = rows_of(vec![state(), state(), county()]).unwrap_err();
    assert_eq!(error.to_string(), "table: there are two columns `state`");
}

#[test]
fn a_file_that_is_not_there_is_the_inputs_fault() {
    let nowhere = Input::File("nowhere/blocks.csv".into());
    let error = Table::open(nowhere.clone(), Wanted { codes: &[], values: &[], counts: &[] })
        .map(|_| ())
        .unwrap_err();
    assert_eq!((error.kind(), error.is_input()), (ErrorKind::Unreadable, true));
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(nowhere.name(), "blocks.csv");
    let error = nowhere.needed_schema(None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoTable);
    assert_eq!(error.to_string(), "nowhere/blocks.csv: nothing says how the table is read");
}
