use super::*;
use crate::SchemaQuery;

fn pl94() -> Schema {
    Schema::shipped("pl94-persons").unwrap()
}

/// How many combinations of values a predicate counts.
fn cells(text: &str, schema: &Schema) -> usize {
    let sum = NamedSum::parse(&format!("sum: {text}"), schema).unwrap_or_else(|e| panic!("{e}"));
    let mut values = vec![0; sum.sizes.len()];
    let counted = |cell: &usize| {
        sum.place(*cell, &mut values);
        sum.counts(&values)
    };
    (0..sum.sizes.iter().product()).filter(counted).count()
}

/// An optional attribute, a recode that leaves a value out, codes, and names with spaces.
fn homes() -> Schema {
    let text = r#"
        [attributes.home]
        values = ["Whitefish house", "white tent", "1", "red-white boat"]
        codes = ["1", "2", "3", "4"]
        optional = true
        [attributes."voting age"]
        values = ["no", "yes"]
        [recodes.kind]
        of = "home"
        groups = { "on land" = [0, 1], "on water" = [3] }
    "#;
    Schema::parse("homes.toml", text).unwrap()
}

#[test]
fn cells_of_the_redistricting_data() {
    let schema = pl94();
    // Of 63 races 32 have Black in them; 8 × 2 × 2 cells of each.
    assert_eq!(cells("cenrace contains \"Black\"", &schema), 32 * 32);
    assert_eq!(cells("cenrace contains black", &schema), 32 * 32);
    assert_eq!(cells("cenrace = Black", &schema), 32);
    assert_eq!(cells("cenrace contains \"some other race\"", &schema), 32 * 32);
    // All but one of the 2 × 63 combinations of ethnicity and race.
    let minority =
        r#"votingage = "18 or older" and not (hispanic = "not Hispanic or Latino" and cenrace = "White")"#;
    assert_eq!(cells(minority, &schema), 8 * (2 * 63 - 1));
    assert_eq!(cells("hhgq = 1 and votingage = 2", &schema), 2 * 63);
    assert_eq!(cells("hhgq = in a household", &schema), 4 * 63);
    assert_eq!(cells("numraces = two races | \"three races\"..six races", &schema), 57 * 32);
    assert_eq!(cells("numraces != one race", &schema), 57 * 32);
    // Codes are 01 to 63; 7 is 07.
    assert_eq!(cells("cenrace = 7..63", &schema), 57 * 32);
    assert_eq!(cells("cenrace = 007 | 08 | White+Asian", &schema), 3 * 32);
}

#[test]
fn ages_are_in_order() {
    let schema = Schema::shipped("dhc-persons").unwrap();
    let cells_of_age = 42 * 2 * 2 * 63;
    assert_eq!(cells("age = 65..115", &schema), 51 * cells_of_age);
    assert_eq!(cells("age = 0..4 | 65 | 110..115", &schema), 12 * cells_of_age);
    assert_eq!(cells("age_18_64_116 = \"ages 65-115\" and not age = 65", &schema), 50 * cells_of_age);
}

#[test]
fn not_binds_before_and_and_and_before_or() {
    let schema = pl94();
    let same = |a: &str, b: &str| {
        let read = |text: &str| NamedSum::parse(&format!("sum: {text}"), &schema).unwrap();
        let space = Space::of_schema(&schema, &[], &[]).unwrap();
        assert_eq!(read(a).weights(&space), read(b).weights(&space), "{a} and {b}");
    };
    same("hhgq=1 or votingage=2 and not hispanic=1", "hhgq = 1 or (votingage = 2 and (not (hispanic = 1)))");
    same("not hhgq = 1 and votingage = 2", "(NOT hhgq = 1) AND votingage = 2");
    same("not (hhgq = 1 or votingage = 2)", "hhgq != 1 and votingage != 2");
    same("not not hhgq = 1", "hhgq = 1");
}

#[test]
fn weights_are_in_the_order_of_the_space() {
    let schema = pl94();
    // The nursing homes' zeros join two attributes to an axis, and axes are sorted.
    let by = ["hhinstlevels".to_string()];
    let queries = [SchemaQuery { name: "levels", by: &by, known: true }];
    let space = Space::of_schema(&schema, &queries, &[]).unwrap();
    let sum = NamedSum::parse("sum: hhgq = 3|4 and cenrace contains Asian", &schema).unwrap();
    let weights = sum.weights(&space);
    assert_eq!((weights.len(), space.cells()), (1_890, 1_890));
    // Three combinations of age and home, since no minor is in a nursing home.
    assert_eq!(weights.iter().sum::<i32>(), 3 * 2 * 32);
    for (cell, weight) in weights.iter().enumerate() {
        let number = space.cell_numbers()[cell] as usize;
        let (home, race) = (number / (4 * 63), number % 63);
        let asian = schema.attributes()[3].values[race].contains("Asian");
        assert_eq!(*weight == 1, (home == 3 || home == 4) && asian);
        assert!(*weight == 0 || space.place_of(0, cell) == Some(1));
    }
}

#[test]
fn records_that_lack_a_value_satisfy_no_condition_on_it() {
    let schema = homes();
    // Two ages; four homes and one more for records without one.
    assert_eq!(cells("voting age = yes", &schema), 5);
    assert_eq!(cells("\"voting age\" != yes", &schema), 5);
    assert_eq!(cells("home = 4", &schema), 2);
    assert_eq!(cells("home != 4", &schema), 6);
    assert_eq!(cells("not home = 4", &schema), 8);
    // The third home is in no group.
    assert_eq!(cells("kind != on water", &schema), 4);
    assert_eq!(cells("not kind = on water", &schema), 8);
}

#[test]
fn contains_looks_for_whole_words() {
    let schema = homes();
    assert_eq!(cells("home contains White", &schema), 2 * 2);
    assert_eq!(cells("home contains whitefish", &schema), 2);
    assert_eq!(cells("home contains 'White Boat' or home contains 'WHITE BOAT'", &schema), 2);
    assert_eq!(cells("kind contains on", &schema), 2 * 3);
}

fn error(text: &str, schema: &Schema) -> String {
    let error = NamedSum::parse(text, schema).unwrap_err();
    format!("{error} ({})", error.hint())
}

#[test]
fn errors_name_the_place_the_value_and_what_is_allowed() {
    let schema = pl94();
    for (text, expected) in [
        (
            "a: cenrase = 1",
            "sum, column 4: attributes: `cenrase` is not one of the attributes and recodes hhgq",
        ),
        ("a: cenrase = 1", "(did you mean `cenrace`?)"),
        ("a: cenrace = Blck", "sum, column 14: cenrace: `Blck` is not one of 01 (\"White\"), 02 (\"Black\")"),
        ("a: cenrace = Blck", "(did you mean `Black`?)"),
        ("a: numraces = 2", "column 15: numraces: `2` is not one of \"one race\", \"two races\""),
        ("ä b: votingage = 18 or older", "column 18: votingage: `18` is not one of 1 (\"under 18\")"),
        ("ä b: votingage = 18 or older", "are quoted"),
        ("a: hhgq = 3..1", "column 11: `hhgq`: `adult correctional facility` comes before `nursing home`"),
        ("a: cenrace contains Whit", "column 21: cenrace contains: `Whit` is not in any of the 63 values"),
        ("a: cenrace contains \"\"", "column 21: cenrace contains: `` is not in any"),
        ("a: hhgq 3", "column 4: attributes: `hhgq 3` is not one of the attributes"),
        ("a: hhgq < 3", "column 4: attributes: `hhgq < 3` is not"),
        ("a: hhgq \"3\"", "column 9: predicate: `3` is not `=`, `!=` or `contains`"),
        ("a: hhgq = ", "column 11: the predicate ends where a value is expected"),
        ("a: hhgq = 3|", "column 13: the predicate ends where a value is expected"),
        ("a: hhgq = 3 votingage = 2", "column 11: hhgq: `3 votingage` is not one of 0 (\"in a household\")"),
        ("a: hhgq = \"3\" votingage = 2", "column 15: predicate: `votingage` is not `and`, `or` or the end"),
        ("a: (hhgq = 3 and", "column 17: the predicate ends where a condition"),
        ("a: (hhgq = 3", "column 13: the predicate ends where `and`, `or` or `)` is expected"),
        ("a: hhgq = 3)", "column 12: predicate: `)` is not `and`, `or` or the end"),
        ("a:", "column 3: the predicate ends where a condition"),
        ("hhgq = 3", "column 9: sum: `hhgq = 3` is not NAME: predicate"),
        (": hhgq = 3", "column 1: name: `` is not a text"),
        ("'a: hhgq = 3", "column 1: a quote is not closed"),
        ("a: hhgq = \"3", "column 11: a quote is not closed"),
        ("a: hhgq = 1 and hhgq = 2", "column 3: `a`: no record can satisfy this"),
    ] {
        let found = error(text, &schema);
        assert!(found.contains(expected), "{text}: {found}");
    }
    // `1` is the name of a home, and the code of another.
    let found = error("a: home = 1", &homes());
    assert!(found.contains("column 11: `home`: `1` may be `Whitefish house` or `1`"), "{found}");
}

#[test]
fn a_predicate_may_not_be_too_deep() {
    for open in ["(", "not ", "not("] {
        let found = error(&format!("a: {}hhgq = 1", open.repeat(100_000)), &pl94());
        assert!(found.contains("more than 64 predicates inside each other"), "{found}");
    }
    // Depth is what is open, not what has been.
    let long = vec!["(hhgq = 1)"; 1_000].join(" or ");
    assert_eq!(cells(&long, &pl94()), 252);
}

#[test]
fn a_file_has_a_sum_in_each_line() {
    let text = "# Who can vote\n\n  adults: votingage = 2 \r\n'a: b' : cenrace contains Black\n";
    let sums = NamedSum::parse_file("sums.txt", text, &pl94()).unwrap();
    assert_eq!(sums.iter().map(NamedSum::name).collect::<Vec<_>>(), ["adults", "a: b"]);
    for (text, expected) in [
        ("# nothing\n", "sums.txt: has no sums"),
        ("a: hhgq = 1\n\nb: hhgq = 9", "sums.txt:3:11: hhgq: `9` is not one of"),
        ("a: hhgq = 1\nb: hhgq = 2\na: hhgq = 3", "sums.txt:3: `a` is in line 1 already"),
    ] {
        let error = NamedSum::parse_file("sums.txt", text, &pl94()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
