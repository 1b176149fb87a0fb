//! Tables and schemas that `measure` refuses.

use std::fs::File;

use crate::support::blocks::{left_behind, measure, table, with_blocks};
use crate::support::{EXAMPLE, Place, read, refuses, stderr};

#[test]
fn integers_that_mean_something_else_are_no_counts() {
    use parquet::data_type::{ByteArrayType, Int32Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let place = Place::new("decimal");
    let allocation = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n[[levels]]\nname = \"A\"\n\
     sigma2 = { total = 5 }\n\
                      [table]\ncells = [{ column = \"p\" }]\n[table.levels]\nA = \"a\"\n";
    place.write("x.toml", allocation);
    for (kind, code) in [("decimal(9, 2)", 2), ("date", 2), ("uint_32", 2), ("int_32", 0)] {
        let schema = format!("message t {{ required binary a (utf8); required int32 p ({kind}); }}");
        let schema = parse_message_type(&schema).unwrap().into();
        let path = place.path("t.parquet");
        let mut writer =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&["1".into()], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[500_000], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let output = place.run(&["measure", "t.parquet", "--allocation", "x.toml", "--out", "noisy"]);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{kind}: {errors}");
        assert!(code == 0 || errors.contains("column `p` is of "), "{errors}");
    }
}

/// A table without a line of names, given where something else is meant: no cell of it is in a message.
#[test]
fn a_table_in_the_wrong_place_is_not_shown() {
    let place = Place::new("misplaced");
    place.write("people.csv", "31337,77001,4242\n31338,77002,4243\n");
    place.write("people", "31337;77001;4242\n31338;77002;4243\n");
    place.write("people.CSV", "31337;77001;4242\n31338;77002;4243\n");
    for arguments in [
        &["measure", "people.csv", "--allocation", EXAMPLE, "--schema", "people.csv", "--out", "o"][..],
        &["measure", "people.csv", "--allocation", "people.csv", "--neighbours", "bounded", "--out", "o"],
        &["measure", "people.csv", "--allocation", "people.csv", "--out", "o"],
        &["utility", "people.csv", "--schema", "people.csv"],
        &["certificate", "people.csv", "--neighbours", "bounded"],
        &["design", "people.csv"],
        &["design", "people"],
        &["utility", "people", "--schema", "people.CSV"],
        &["certificate", "people"],
        &["certificate", "people.CSV", "--neighbours", "bounded"],
    ] {
        let output = place.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        let misplaced = arguments.iter().rfind(|argument| argument.starts_with("people")).unwrap();
        assert!(errors.contains(&format!("error: {misplaced}: ")), "{arguments:?}: {errors}");
        for cell in ["31337", "77001", "4242", "31338"] {
            assert!(!errors.contains(cell), "{arguments:?}: {errors}");
        }
    }
}

#[test]
fn bad_tables_are_refused_by_name_and_nothing_is_written() {
    let place = Place::new("bad");
    let good = table(3);
    let refuses = |table: &str, message: &str| {
        place.write("blocks.csv", table);
        let output = place.run(&measure("noisy", &[]));
        refuses(&output, message);
        assert_eq!(left_behind(&place), [""; 0]);
    };
    // The second block of the table, and its count of whites.
    let spoiled = |by: &str| good.replacen("440010000011002,7,", &format!("440010000011002,{by},"), 1);
    assert_ne!(spoiled("x"), good);
    refuses(
        "",
        "error: blocks.csv: is empty\nhint: a table has a line of names and then one line for each unit\n",
    );
    refuses(
        good.lines().next().unwrap(),
        "error: the table has no rows\nhint: a table has a line of names and then one line for each unit\n",
    );
    // What is in the table is named by line and column, and shown to those who ask for it.
    let spoils = |table: &str, hidden: &str, shown: &str, hint: &str| {
        refuses(table, &format!("error: blocks.csv:{hidden}\nhint: {hint}\n"));
        let output = place.run(&measure("noisy", &["--show-values"]));
        let message = format!("error: blocks.csv:{shown}\nhint: {hint}\n");
        assert_eq!(stderr(&output), message);
    };
    for (count, hint) in [
        ("-7", "counts are never negative"),
        ("7.5", "counts are whole: noise on the integers is for integers"),
        ("", "a count is missing: write 0 if there is nobody"),
        ("99999999999999999999", "the largest count is 2^63 − 1"),
        ("Jane Doe", "write digits only"),
    ] {
        let shown = format!("3: pop_white: `{count}` is not a count");
        spoils(&spoiled(count), "3: pop_white: is not a count", &shown, hint);
    }
    spoils(
        &spoiled("9223372036854775807"),
        "4: the unit of level `Block`: a sum exceeds 2^63 − 1",
        "4: unit `440010000011002` of level `Block`: a sum exceeds 2^63 − 1",
        "check the counts of the table",
    );
    spoils(
        &spoiled("1"),
        "3: pop_white less vap_white is negative",
        "3: pop_white less vap_white is -4",
        "a cell is never negative: check the columns of the schema",
    );
    spoils(
        &good.replace("440010000011003", "44001000001100"),
        "4: level `Block`: code: is not a code of at least 15 characters",
        "4: level `Block`: code: `44001000001100` is not a code of at least 15 characters",
        "codes nest by their first characters; leading zeros may have been lost",
    );
    spoils(
        &good.replace("440010000011003", "440010000011001"),
        "4: the code of level `Block` is not after the one before",
        "4: code `440010000011001` of level `Block` comes after `440010000011002`",
        "sort the table by its codes; if a code means several units, name more columns, as in [\"county\", \
         \"tract\"]",
    );
    spoils(
        &good.replace("440010000011003", "440010000011002"),
        "4: there are two rows for one unit of level `Block`",
        "4: there are two rows for unit `440010000011002` of level `Block`",
        "there is one row for each unit of the last level",
    );
    // A table without a line of names: its first line is one of counts.
    refuses(
        good.split_once('\n').unwrap().1,
        "error: blocks.csv: there is no column `geoid`\n\
         hint: the first line has numbers: a table begins with a line of names\n",
    );
    // A quote that is not closed.
    refuses(
        &(good.clone() + "\"" + &"440010000011004,1\n".repeat(1 << 20)),
        "error: blocks.csv: a line has more than 16 megabytes\nhint: a quote may not be closed\n",
    );
    refuses(
        &(good.clone() + "440010000011004,1\n"),
        "error: blocks.csv:5: has 2 columns; the first line has 17\n\
         hint: every line has all columns; quote what contains a comma\n",
    );
    refuses(
        &good.replace("vap_two", "vap_white"),
        "error: blocks.csv: there are two columns `vap_white`\nhint: give every column a name of its own\n",
    );
    let output = place.run(&["measure", "nowhere.csv", "--allocation", EXAMPLE, "--out", "noisy"]);
    assert!(stderr(&output).starts_with("error: nowhere.csv: cannot be read: No such file"));
    let output =
        place.run(&["measure", "blocks.csv", "--allocation", "pl94-persons-us-2020", "--out", "noisy"]);
    assert_eq!(
        stderr(&output),
        "error: blocks.csv: there is no column `geocode`\n\
         hint: the first line has none of the columns that are read: a table begins with a line of names, \
         separated by commas, semicolons or tabs\n"
    );
    // A message about a swapped allocation has nothing of the table.
    place.write("counts.txt", "440010000011001,731\n");
    let output = place.run(&["measure", "x.toml", "--allocation", "counts.txt", "--out", "noisy"]);
    assert_eq!(
        stderr(&output),
        "error: TABLE: `x.toml` is a TOML file, not a table\n\
         hint: the table is CSV or Parquet; the allocation is named with --allocation\n"
    );
    place.write("damaged.parquet", &good);
    let output = place.run(&["measure", "damaged.parquet", "--allocation", EXAMPLE, "--out", "noisy"]);
    assert!(stderr(&output).starts_with("error: damaged.parquet: cannot be read:"));
    assert!(!place.path("noisy").exists());
}

#[test]
fn bad_schemas_are_refused_where_they_are_bad() {
    let place = with_blocks("schema", 3);
    let good = read(EXAMPLE.as_ref());
    let refuses = |what: &str, by: &str, message: &str| {
        let text = good.replacen(what, by, 1);
        assert_ne!(text, good, "{what}");
        place.write("budget.toml", text);
        let output = place.run(&["measure", "blocks.csv", "--allocation", "budget.toml", "--out", "noisy"]);
        let errors = stderr(&output);
        let first = errors.lines().next().unwrap();
        let (line, cause) = first.trim_start_matches("error: budget.toml:").split_once(": ").unwrap();
        assert!(line.split(':').all(|n| n.parse::<usize>().is_ok()), "{first}");
        assert_eq!(cause, message);
        assert_eq!((output.status.code(), left_behind(&place)), (Some(2), vec![]));
    };
    refuses(
        "column = \"vap_two\"",
        "column = \"pop_white\"",
        "cells: those who are in `pop_white` would be counted twice",
    );
    refuses(
        "race = \"nhpi\", column",
        "race = \"nhip\", column",
        "race: `nhip` is not one of white, black, hispanic, aian, asian, nhpi, other, two or more",
    );
    refuses(
        "race = \"nhpi\", column",
        "race = \"asian\", column",
        "cells: the cell voting age = under 18, race = asian is in the list twice",
    );
    refuses("race = \"nhpi\", column", "column", "`race` is missing");
    refuses(", column = \"pop_nhpi\", minus", ", minus", "`column` is missing");
    refuses(
        "\"aian\", \"asian\"",
        "\"aian\", \"inuit\", \"asian\"",
        "cells: the cell voting age = under 18, race = inuit has no column",
    );
    refuses("County = 5", "County = 1", "level `County`: 1 characters cannot lie inside a unit of 2");
    refuses("County = 5", "County = 5.5", "level `County`: neither a number of characters nor a column");
    refuses("County = 5", "County = 500", "County: `500` is not a number of characters between 0 and 64");
    refuses("code = \"geoid\"", "", "level `State`: there is no code to take characters of");
    refuses(
        "code = \"geoid\"",
        "kode = \"geoid\"",
        "unknown key: `kode` is not one of the keys code, levels, attributes, cells, count, id, columns",
    );
}
