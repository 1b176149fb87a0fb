//! What is refused, in whole messages.

use std::sync::Arc;

use ::parquet::basic::{LogicalType, TimeUnit};

use super::written::*;
use super::*;

/// The whole message, where the path is only its last part, with and without values.
fn refusal(place: &Place, error: Error) -> [String; 2] {
    let here = format!("{}/", place.path().display());
    let whole = |error: &Error| format!("{error} | {}", error.hint()).replace(&here, "");
    [whole(&error), whole(&error.revealed())]
}

#[test]
fn a_csv_table_is_refused_by_line_and_column() {
    let place = Place::new("csv");
    let message = |bytes: &[u8]| {
        let found = read(place.write("t.csv", bytes), &["code"], &["sex"], &["n"]);
        refusal(&place, found.unwrap_err())
    };
    let same = |bytes: &[u8], expected: &str| assert_eq!(message(bytes), [expected; 2]);
    same(b"", "t.csv: is empty | a table has a line of names and then one line for each unit");
    same(&gzip(b""), "t.csv: is empty | a table has a line of names and then one line for each unit");
    same(b"code\xff,n", "t.csv:1: is not a text | a table is CSV in UTF-8, or Parquet (.parquet)");
    same(b"code,n\n", "t.csv: there is no column `sex` | the table has code, n; [table] says which are read");
    same(
        b"code;sex;m\n",
        "t.csv: there is no column `n` | the table has code, sex, m; [table] says which are read",
    );
    // What may be records is not shown.
    for bytes in ["Jane Doe,f,ill\n", "x|f|731\n", "x f 731\n", "# code\n"] {
        same(
            bytes.as_bytes(),
            "t.csv: there is no column `code` | the first line has none of the columns that are read: a \
             table begins with a line of names, separated by commas, semicolons or tabs",
        );
    }
    same(
        b"x;f;731\n",
        "t.csv: there is no column `code` | the first line has numbers: a table begins with a line of names",
    );
    same(
        b"code,\"sex,n\nx,f,731\ny,m,732\n",
        "t.csv: there is no column `sex` \
         | a name has several lines: a quote in the line of names may not be closed",
    );
    same(b"code\tn\tn\tsex\n", "t.csv: there are two columns `n` | give every column a name of its own");
    same(
        b"code;sex;n\nx;m;1\ny;m",
        "t.csv:3: has 2 columns; the first line has 3 \
         | every line has all columns; quote what contains a semicolon",
    );
    same(
        &gzip(b"code\tsex\tn\nx\tm\t1\t2\n"),
        "t.csv:2: has 4 columns; the first line has 3 \
         | every line has all columns; quote what contains a tab",
    );
    same(b"code,sex,n\n1,\xff,1\n", "t.csv:2: sex: is not a text | a table is a text in UTF-8");
    assert_eq!(
        message(b"code,sex,n\n1,,1.0\n2,f,1.50\n"),
        [
            "t.csv:3: n: is not a count | counts are whole: noise on the integers is for integers",
            "t.csv:3: n: `1.50` is not a count | counts are whole: noise on the integers is for integers",
        ]
    );
    assert_eq!(
        message(b"code,sex,n\n1,f,\n"),
        [
            "t.csv:2: n: is not a count | a count is missing: write 0 if there is nobody",
            "t.csv:2: n: `` is not a count | a count is missing: write 0 if there is nobody",
        ]
    );
}

#[test]
fn a_packed_file_that_is_cut_or_damaged_is_refused() {
    let place = Place::new("gzip");
    let text: String = (0..3_000).map(|i| format!("{i:05},{},{}\n", i * 7 % 13, i * i % 101)).collect();
    let good = gzip(format!("code,sex,n\n{text}").as_bytes());
    let message = |bytes: &[u8]| {
        let found = read(place.write("t.csv.gz", bytes), &["code"], &["sex"], &["n"]);
        refusal(&place, found.unwrap_err())
    };
    let cut = "t.csv.gz: the gzip file ends in the middle | check that it was copied whole";
    let damaged =
        "t.csv.gz: the gzip file is damaged | unpack it with gzip -t to see where, or copy it again";
    for length in (2..good.len()).step_by(97).chain([3, 9, 10, 11, good.len() - 8, good.len() - 1]) {
        assert_eq!(message(&good[..length]), [cut; 2], "{length} bytes");
    }
    // The second of two.
    assert_eq!(message(&[&good[..], &good[..20]].concat()), [cut; 2]);
    assert_eq!(message(&[&good[..], b"and more than the head"].concat()), [damaged; 2]);
    let mut checksum = good.clone();
    *checksum.iter_mut().nth_back(6).unwrap() ^= 1;
    assert_eq!(message(&checksum), [damaged; 2]);
    // Wherever a bit is wrong behind the head, the table is not read as if it were whole.
    for at in (10..good.len()).step_by(53) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let [message, _] = message(&bytes);
        assert!(message.starts_with("t.csv.gz"), "{at}: {message}");
    }
}

#[test]
fn a_parquet_table_is_refused_by_row_and_column() {
    let place = Place::new("parquet");
    let text = |texts: [Option<&str>; 2]| Stored::Texts(texts.iter().map(|t| t.map(String::from)).collect());
    let good = [
        ("code", text([Some("x"), Some("y")])),
        ("sex", text([None, Some("f")])),
        ("n", Stored::Integers(vec![Some(1), Some(2)])),
    ];
    let with = |at: usize, stored: Stored| {
        let mut columns = good.clone();
        columns[at].1 = stored;
        read(place.write("t.parquet", parquet_file(&columns, 100, false)), &["code"], &["sex"], &["n"])
    };
    let row = |code: &str, sex: &str, n| (names(&[code]), names(&[sex]), vec![n]);
    assert_eq!(with(0, good[0].1.clone()).unwrap(), [row("x", "", 1), row("y", "f", 2)]);
    let missing = "is missing | every row has all codes and counts; write 0 if there is nobody";
    for (at, stored, hidden, shown) in [
        (0, text([Some("x"), None]), format!("row 2: code: {missing}"), None),
        (2, Stored::Integers(vec![None, Some(1)]), format!("row 1: n: {missing}"), None),
        (
            2,
            Stored::Integers(vec![Some(1), Some(-3)]),
            "row 2: n: is not a count | counts are never negative".into(),
            Some("row 2: n: `-3` is not a count | counts are never negative"),
        ),
        (
            2,
            Stored::Doubles(vec![Some(1.0), Some(2.5)]),
            "row 2: n: is not a count | counts are whole: noise on the integers is for integers".into(),
            Some("row 2: n: `2.5` is not a count | counts are whole: noise on the integers is for integers"),
        ),
        (
            2,
            Stored::Floats(vec![Some(f32::NAN), Some(2.0)]),
            "row 1: n: is not a count | a count is missing: write 0 if there is nobody".into(),
            Some("row 1: n: `NaN` is not a count | a count is missing: write 0 if there is nobody"),
        ),
    ] {
        let expected = [format!("t.parquet: {hidden}"), format!("t.parquet: {}", shown.unwrap_or(&hidden))];
        assert_eq!(refusal(&place, with(at, stored).unwrap_err()), expected);
    }
    let hint = "counts are columns of signed integers, or of whole DOUBLE or FLOAT; \
                codes and values are texts or integers";
    let meant = |logical| Stored::Meant(logical, vec![Some(1), Some(2)]);
    for (at, stored, what) in [
        (2, text([Some("1"), Some("2")]), "`n` is of UTF8, not of integers"),
        (2, meant(LogicalType::decimal(2, 18)), "`n` is of DECIMAL, not of integers"),
        (
            1,
            meant(LogicalType::timestamp(true, TimeUnit::NANOS)),
            "`sex` is of TIMESTAMP, not of texts or integers",
        ),
        (
            2,
            meant(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            "`n` is of TIMESTAMP_MILLIS, not of integers",
        ),
        (2, meant(LogicalType::integer(64, false)), "`n` is of UINT_64, not of integers"),
        (0, Stored::Doubles(vec![Some(1.0), Some(2.0)]), "`code` is of DOUBLE, not of texts or integers"),
        (1, Stored::Floats(vec![Some(1.0), Some(2.0)]), "`sex` is of FLOAT, not of texts or integers"),
        (1, Stored::Flags(vec![Some(true), None]), "`sex` is of BOOLEAN, not of texts or integers"),
        (2, Stored::Flags(vec![Some(true), None]), "`n` is of BOOLEAN, not of integers"),
    ] {
        let expected = format!("t.parquet: column {what} | {hint}");
        assert_eq!(refusal(&place, with(at, stored).unwrap_err()), [expected.clone(), expected]);
    }
}

#[test]
fn a_parquet_file_that_is_cut_is_refused() {
    let place = Place::new("cut");
    let good = parquet_of(200);
    let counts: Vec<String> = crate::synthesize::columns().1;
    let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
    for length in (0..good.len()).step_by(61).chain([good.len() - 1]) {
        let found = read(place.write("t.parquet", &good[..length]), &["geocode"], &[], &counts);
        let [message, shown] = refusal(&place, found.unwrap_err());
        let cause = match length {
            0..8 => "EOF: Parquet file too small. Size is 0 but need 8",
            _ => "Parquet error: Invalid Parquet file. Corrupt footer",
        };
        let expected = format!("t.parquet: cannot be read: {cause} | check that it is a whole Parquet file");
        assert_eq!([message, shown], [expected.clone(), expected], "{length} bytes");
    }
}

#[test]
fn columns_in_memory_are_refused_by_row_and_column() {
    let place = Place::new("memory");
    let some = |text: &str| Some(text.to_string());
    let with = |name: &str, values: Values| {
        let mut columns = vec![
            (String::from("code"), Values::from(vec!["x", "y"])),
            ("sex".into(), Values::new(vec![texts(&[some("f"), None])])),
            ("n".into(), vec![1, 2].into()),
        ];
        columns.iter_mut().find(|(n, _)| n == name).unwrap().1 = values;
        read(Input::Columns(Columns::new(columns)?), &["code"], &["sex"], &["n"])
    };
    let found = with("n", vec![3.0, 4.0].into()).unwrap();
    assert_eq!(found[1], (names(&["y"]), names(&[""]), vec![4]));
    let integers = |integers, present| {
        Values::new(vec![Chunk::new(Content::Integers(integers), present, 0, 2).unwrap()])
    };
    let none = with("sex", vec![None, Some(7)].into()).unwrap();
    assert_eq!((&none[0].1[..], &none[1].1[..]), (&names(&[""])[..], &names(&["7"])[..]));
    let none = with("sex", vec![some("f"), None].into()).unwrap();
    assert_eq!((&none[0].1[..], &none[1].1[..]), (&names(&["f"])[..], &names(&[""])[..]));
    let large = || integers(Integers::U64(Arc::new(vec![u64::MAX, 1])), None);
    assert_eq!(with("code", large()).unwrap()[0].0, ["18446744073709551615"]);
    let missing = "is missing | every row has all codes and counts; write 0 if there is nobody";
    let not_a_text = "is not a text | a table is a text in UTF-8";
    let broken = |places: Vec<i64>, bytes: &[u8]| {
        Values::from(Content::Texts(Integers::I64(Arc::new(places)), Arc::new(bytes.to_vec())))
    };
    let elsewhere = |at: u8| {
        let content = Content::Dictionary(Integers::U8(Arc::new(vec![0, at])), Arc::new(texts(&[some("x")])));
        Values::from(content)
    };
    let mut view = [0u8; 16];
    view[..4].copy_from_slice(&13i32.to_ne_bytes());
    let views = || Values::from(Content::Views(Arc::new(vec![[0; 16], view]), vec![]));
    for (name, values, hidden, shown) in [
        ("code", Values::new(vec![texts(&[some("x"), None])]), format!("row 2: code: {missing}"), None),
        ("code", Values::new(vec![dictionary(&[None, some("x")])]), format!("row 1: code: {missing}"), None),
        (
            "n",
            integers(Integers::I16(Arc::new(vec![1, 2])), bitmap(&[Some(1), None], 0)),
            format!("row 2: n: {missing}"),
            None,
        ),
        ("code", vec![None, some("x")].into(), format!("row 1: code: {missing}"), None),
        ("n", vec![Some(1), None].into(), format!("row 2: n: {missing}"), None),
        (
            "n",
            large(),
            "row 1: n: is not a count | the largest count is 2^63 − 1".into(),
            Some("row 1: n: `18446744073709551615` is not a count | the largest count is 2^63 − 1"),
        ),
        (
            "n",
            vec![0.0, 0.25].into(),
            "row 2: n: is not a count | counts are whole: noise on the integers is for integers".into(),
            Some("row 2: n: `0.25` is not a count | counts are whole: noise on the integers is for integers"),
        ),
        ("code", broken(vec![0, 1, 9], b"xy"), format!("row 2: code: {not_a_text}"), None),
        ("code", broken(vec![0, -1, 2], b"xy"), format!("row 1: code: {not_a_text}"), None),
        ("sex", broken(vec![1, 0, 2], b"xy"), format!("row 1: sex: {not_a_text}"), None),
        ("sex", broken(vec![0, 1, 2], b"x\xff"), format!("row 2: sex: {not_a_text}"), None),
        ("sex", elsewhere(1), format!("row 2: sex: {not_a_text}"), None),
        ("sex", views(), format!("row 2: sex: {not_a_text}"), None),
        (
            "sex",
            vec![1.0, 2.0].into(),
            "column `sex` is of floating-point numbers, not of texts or integers | \
             counts are columns of whole numbers; codes and values are texts or integers"
                .into(),
            None,
        ),
        (
            "n",
            Values::new(vec![dictionary(&[some("1"), some("2")])]),
            "column `n` is of texts, not of integers | \
             counts are columns of whole numbers; codes and values are texts or integers"
                .into(),
            None,
        ),
    ] {
        let expected = [format!("table: {hidden}"), format!("table: {}", shown.unwrap_or(&hidden))];
        assert_eq!(refusal(&place, with(name, values).map(|_| ()).unwrap_err()), expected);
    }
    let few = |present, first, rows| {
        let content = Content::Doubles(Arc::new(vec![0.0; 20]));
        refusal(&place, Chunk::new(content, present, first, rows).map(|_| ()).unwrap_err())
    };
    let says = |rows| {
        format!(
            "a column has {rows} rows in memory, fewer than it says | write the table to a file and read that"
        )
    };
    assert_eq!(few(None, 1, 20), [says(20), says(20)]);
    assert_eq!(few(None, usize::MAX, 2), [says(20), says(20)]);
    assert_eq!(few(bitmap(&[Some(1); 8], 0), 8, 1), [says(8), says(8)]);
}
