//! Lists of units: which are bypassed, what is exact, and what is refused by name.

use unspent::allocation::Bypass;
use unspent::{Allocation, Error, Rational};
use unspent_data::utility::After;
use unspent_data::{
    BypassRule, Columns, Input, Measure, Measurements, NoiseSource, Quiet, RowOrder, UnitList,
    UtilityQuestion, Values,
};

use crate::support::Place;

/// Three levels, of which the last two may be bypassed.
const HOMES: &str = r#"
name = "Homes"
neighbours = "bounded"
delta = "1e-9"
exact_totals = ["State"]
[attributes]
sex = { values = ["female", "male"], codes = ["1", "2"] }
home = ["house", "school"]
age = { first = 0, last = 99 }
[recodes.adult]
of = "age"
groups = { minor = [[0, 17]], adult = [[18, 99]] }
[[impossible]]
name = "old pupils"
where = { home = ["school"], age = [[30, 99]] }
[queries]
sex = ["sex"]
home = ["home"]
"adult * home" = ["adult", "home"]
[bypass]
keep = ["State"]
[[invariants]]
level = "County"
query = "home"
[[invariants]]
level = "Town"
name = "schools"
columns = ["primary", "secondary"]
[[levels]]
name = "State"
rho = "1/10"
shares = { sex = "1/2", "adult * home" = "1/2" }
[[levels]]
name = "County"
rho = "1/5"
shares = { sex = "1/4", home = "3/4" }
[[levels]]
name = "Town"
rho = "2/5"
shares = { sex = "1" }
[table]
code = "code"
[table.levels]
State = 1
County = 2
Town = 4
"#;

/// State 1 has two counties, one of a single town; state 2 is one county of one town; state 3 one county of
/// two.
const TOWNS: [&str; 6] = ["1101", "1102", "1201", "2101", "3101", "3102"];

fn texts(texts: &[&str]) -> Values {
    texts.iter().map(|text| text.to_string()).collect::<Vec<_>>().into()
}

fn list(others: Vec<(&str, Values)>) -> UnitList {
    let mut columns = vec![("code".to_string(), texts(&TOWNS))];
    columns.push(("primary".into(), vec![1, 2, 3, 4, 5, 6].into()));
    columns.push(("secondary".into(), vec![0, 0, 1, 0, 0, 7].into()));
    columns.extend(others.into_iter().map(|(name, values)| (name.to_string(), values)));
    UnitList::List(Input::Columns(Columns::new(columns).unwrap()))
}

/// Records: code, sex, home, age.
fn people(rows: &[[&str; 4]]) -> Input {
    let column = |at: usize| texts(&rows.iter().map(|row| row[at]).collect::<Vec<_>>());
    let names = ["code", "sex", "home", "age"];
    let columns = names.iter().enumerate().map(|(at, name)| (name.to_string(), column(at)));
    Input::Columns(Columns::new(columns.collect()).unwrap())
}

const PEOPLE: [[&str; 4]; 5] = [
    ["3102", "1", "house", "30"],
    ["1101", "2", "school", "7"],
    ["1201", "1", "school", "29"],
    ["1101", "1", "house", "17"],
    ["2101", "2", "house", "18"],
];

fn homes() -> Measure {
    let allocation = Allocation::parse("homes.toml", HOMES).unwrap();
    let noise = NoiseSource::NotPrivate(5);
    Measure { noise, units: list(vec![]), ..Measure::new(people(&PEOPLE), allocation) }
}

fn found(measure: Measure) -> Measurements {
    measure.in_memory(&mut Quiet).unwrap()
}

/// The codes of a level's units and the σ² of `sex`, with bounded neighbours 1/ρ.
fn noises(found: &Measurements, level: usize) -> Vec<(String, String)> {
    let level = &found.levels[level];
    let query = level.queries.iter().find(|query| query.name == "sex").unwrap();
    let sigma2 = |unit: usize| query.noise(unit).sigma2.as_ref().map(Rational::to_string).unwrap();
    level.codes.iter().enumerate().map(|(unit, code)| (code.clone(), sigma2(unit))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(code, sigma2)| (code.to_string(), sigma2.to_string())).collect()
}

/// σ² of `sex`: State 1/(1/2·1/10) = 20, County 1/(1/4·1/5) = 20, Town 1/(2/5) = 5/2.
#[test]
fn an_only_child_is_bypassed_and_its_budget_goes_up() {
    let noisy = found(homes());
    // State 2 has the budgets of its only county and town, 7/10 in all; state 3 that of its only county,
    // 3/10.
    assert_eq!(noises(&noisy, 0), pairs(&[("1", "20"), ("2", "20/7"), ("3", "20/3")]));
    // County 12 has that of its only town: 3/5 instead of 1/5.
    assert_eq!(noises(&noisy, 1), pairs(&[("11", "20"), ("12", "20/3")]));
    assert_eq!(
        noises(&noisy, 2),
        pairs(&[("1101", "5/2"), ("1102", "5/2"), ("3101", "5/2"), ("3102", "5/2")])
    );
    let level = &noisy.manifest.levels[0];
    let larger: Vec<(Vec<String>, u64)> =
        level.larger_budgets.iter().map(|budget| (budget.levels.clone(), budget.units)).collect();
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(larger, [(names(&["State", "County"]), 1), (names(&["State", "County", "Town"]), 1)]);
    // The same, named by a list and by a column.
    let columns = vec![
        ("level".into(), texts(&["County", "Town", "County", "Town"])),
        (
            "code".into(),
            texts(&["3 1", "2101", "21", "1201"].map(|code| if code == "3 1" { "31" } else { code })),
        ),
    ];
    let units = Input::Columns(Columns::new(columns).unwrap());
    let listed = found(Measure { bypass: Some(BypassRule::List(units)), ..homes() });
    let column = texts(&["", "", "Town", "County | Town", "County", "County"]);
    let by_column = Measure {
        units: list(vec![("gone", column)]),
        bypass: Some(BypassRule::Column("gone".into())),
        ..homes()
    };
    let by_column = found(by_column);
    for level in 0..3 {
        assert_eq!(noises(&listed, level), noises(&noisy, level));
        assert_eq!(noises(&by_column, level), noises(&noisy, level));
    }
    // Nobody is bypassed if that is said.
    let all = found(Measure { bypass: Some(BypassRule::None), ..homes() });
    assert_eq!(all.levels.iter().map(|level| level.codes.len()).collect::<Vec<_>>(), [3, 4, 6]);
    assert!(all.manifest.levels.iter().all(|level| level.larger_budgets.is_empty()));
}

/// The certificate is that of the paths that occur: each spends the same, 7/10, in another way.
#[test]
fn the_certificate_is_over_the_paths_that_occur() {
    let place = Place::new("paths");
    let out = place.path("noisy");
    let measured = homes().to_directory(&out, &mut Quiet).unwrap();
    let written = Allocation::read(&out.join("allocation.toml"), None).unwrap();
    let Some(Bypass::Paths(paths)) = &written.production().bypass else { panic!("no paths") };
    let mut kept: Vec<String> = paths.iter().map(|path| path.join(" ")).collect();
    kept.sort();
    assert_eq!(kept, ["State", "State County", "State County Town", "State Town"]);
    let certificate = unspent::question::CertificateQuestion::about([written]);
    let again = unspent::Ask::answer(&certificate).unwrap();
    assert_eq!(again.lines[0].tight.at_most(17), measured.manifest.certificate.lines[0].tight.at_most(17));
    let text = measured.document().terminal();
    assert!(text.contains("Units of State that have the budget of County, Town too"), "{text}");
    assert!(
        text.contains("Units that are bypassed: 2 of County, 2 of Town. bypassed.csv lists them."),
        "{text}"
    );
    assert!(text.contains("Published exactly for Town: schools."), "{text}");
    assert!(
        measured
            .manifest
            .certificate
            .assumptions
            .iter()
            .any(|a| a.contains("`schools` is published exactly")),
        "{:?}",
        measured.manifest.certificate.assumptions
    );
    // What was written is read back, with each unit's own noise.
    let read = Measurements::read(&out).unwrap();
    let memory = found(homes());
    assert_eq!(read.levels, memory.levels);
    assert_eq!(read.exact, memory.exact);
    assert_eq!(read.bypassed, memory.bypassed);
    assert_eq!(
        read.bypassed.iter().map(|level| level.codes.join(" ")).collect::<Vec<_>>(),
        ["21 31", "1201 2101"]
    );
}

#[test]
fn what_is_exact_is_published_exactly_for_every_unit() {
    let exact = found(homes()).exact;
    let values = |level: usize, query: usize| exact[level].queries[query].values.clone();
    assert_eq!(
        exact.iter().map(|level| level.level.as_str()).collect::<Vec<_>>(),
        ["State", "County", "Town"]
    );
    assert_eq!((exact[0].codes.len(), values(0, 0)), (3, vec![3, 1, 1]));
    // Also where units are bypassed: houses and schools.
    assert_eq!((exact[1].codes.len(), values(1, 0)), (4, vec![1, 1, 0, 1, 1, 0, 1, 0]));
    assert_eq!((exact[2].codes.len(), values(2, 0)), (6, vec![1, 0, 2, 0, 3, 1, 4, 0, 5, 0, 6, 7]));
    assert_eq!(exact[2].queries[0].shape, [2]);
}

/// What is said, without and with values of the table.
#[track_caller]
fn refuses(measure: Measure, concealed: &str, revealed: &str) -> Error {
    // Tests run side by side.
    let place = Place::new(&format!("refused-{}", std::panic::Location::caller().line()));
    let out = place.path("noisy");
    let error = measure.to_directory(&out, &mut Quiet).map(|_| ()).unwrap_err();
    assert!(!out.exists(), "nothing is written");
    assert_eq!(error.to_string(), concealed);
    let clone = error.clone();
    assert_eq!(clone.revealed().to_string(), revealed);
    error
}

fn with(row: [&str; 4]) -> Measure {
    let mut rows = PEOPLE.to_vec();
    rows.push(row);
    Measure { table: people(&rows), ..homes() }
}

#[test]
fn records_that_make_no_sense_are_refused_by_name() {
    refuses(
        with(["1101", "3", "house", "7"]),
        "table: row 6: sex: is not one of the values 1, 2",
        "table: row 6: sex: `3` is not one of the values 1, 2",
    );
    refuses(
        with(["1101", "", "house", "7"]),
        "table: row 6: sex: is missing",
        "table: row 6: sex: is missing",
    );
    refuses(
        with(["1101", "1", "house", "100"]),
        "table: row 6: age: is not one of the values 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …",
        "table: row 6: age: `100` is not one of the values 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …",
    );
    refuses(
        with(["1101", "1", "school", "30"]),
        "table: row 6: there is a record with an impossible combination of values",
        "table: row 6: there is a record with an impossible combination of values, `old pupils`",
    );
    refuses(
        with(["4101", "1", "house", "30"]),
        "table: row 6: the unit is not in the list of units",
        "table: row 6: unit `4101` is not in the list of units",
    );
    // A code that is shorter is no unit of the list.
    refuses(
        with(["110", "1", "house", "30"]),
        "table: row 6: the unit is not in the list of units",
        "table: row 6: unit `110` is not in the list of units",
    );
    refuses(
        with(["", "1", "house", "30"]),
        "table: row 6: code: is not a code",
        "table: row 6: code: `` is not a code",
    );
    refuses(
        Measure { order: RowOrder::Sorted, ..homes() },
        "table: row 2: the unit is not in the list of units",
        "table: row 2: unit `1101` is not in the list of units",
    );
}

#[test]
fn lists_that_make_no_sense_are_refused_by_name() {
    let totals = |totals: Vec<i64>| Measure {
        units: list(vec![("people", totals.into())]),
        check_total: Some("people".into()),
        ..homes()
    };
    found(totals(vec![2, 0, 1, 1, 0, 1]));
    refuses(
        totals(vec![2, 0, 1, 1, 0, 2]),
        "units: unit `3102` has another number of records than the list says",
        "units: unit `3102` has 1 records; the list of units says 2",
    );
    let error = refuses(
        Measure { units: UnitList::Rows, bypass: Some(BypassRule::None), ..plain() },
        "table: the list of all units is missing",
        "table: the list of all units is missing",
    );
    assert_eq!(error.kind(), unspent::ErrorKind::NoUnits);
    refuses(
        Measure { units: UnitList::Table, ..homes() },
        "table: bypassed units, check totals and exact columns need a list of units",
        "table: bypassed units, check totals and exact columns need a list of units",
    );
    let twice = Columns::new(vec![("code".into(), texts(&["1101", "1101"]))]).unwrap();
    refuses(
        Measure { units: UnitList::List(Input::Columns(twice)), ..plain() },
        "units: there are two rows for unit `1101` of level `Town`",
        "units: there are two rows for unit `1101` of level `Town`",
    );
    let short = Columns::new(vec![("code".into(), texts(&["1101", "110"]))]).unwrap();
    refuses(
        Measure { units: UnitList::List(Input::Columns(short)), ..plain() },
        "units: level `Town`: code: `110` is not a code of at least 4 characters",
        "units: level `Town`: code: `110` is not a code of at least 4 characters",
    );
    let long = Columns::new(vec![("code".into(), texts(&["1101", "11012"]))]).unwrap();
    refuses(
        Measure { units: UnitList::List(Input::Columns(long)), ..plain() },
        "units: code: `11012` is not a code of 4 characters",
        "units: code: `11012` is not a code of 4 characters",
    );
    let gone = |column: [&str; 6]| Measure {
        units: list(vec![("gone", texts(&column))]),
        bypass: Some(BypassRule::Column("gone".into())),
        ..homes()
    };
    refuses(
        gone(["Town", "", "", "", "", ""]),
        "units: the unit of level `Town` with `1101` cannot be bypassed",
        "units: the unit of level `Town` with `1101` cannot be bypassed",
    );
    refuses(
        gone(["State", "State", "State", "", "", ""]),
        "units: the unit of level `State` with `1101` cannot be bypassed",
        "units: the unit of level `State` with `1101` cannot be bypassed",
    );
    refuses(
        gone(["", "", "", "", "County", ""]),
        "units: unit `3102`: one unit is bypassed here and not in the row before",
        "units: unit `3102`: one unit is bypassed here and not in the row before",
    );
    refuses(
        gone(["Village", "", "", "", "", ""]),
        "units: unit `1101`: bypassed level: `Village` is not one of the levels State, County, Town",
        "units: unit `1101`: bypassed level: `Village` is not one of the levels State, County, Town",
    );
}

/// Without anything that needs a list.
fn plain() -> Measure {
    let text = HOMES.replace("[bypass]\nkeep = [\"State\"]\n", "");
    let start = text.find("[[invariants]]\nlevel = \"Town\"").unwrap();
    let end = text.find("[[levels]]").unwrap();
    let allocation = Allocation::parse("homes.toml", &[&text[..start], &text[end..]].concat()).unwrap();
    Measure { noise: NoiseSource::NotPrivate(5), ..Measure::new(people(&PEOPLE), allocation) }
}

/// The list of units must not be read off the records, and an exact number of records needs bounded
/// neighbours.
#[test]
fn what_would_say_too_much_is_refused() {
    refuses(
        Measure { units: UnitList::Table, ..plain() },
        "table: a table of records cannot be the list of its own units",
        "table: a table of records cannot be the list of its own units",
    );
    let add_remove =
        |text: &str| text.replace("bounded", "add-remove").replace("exact_totals = [\"State\"]\n", "");
    let error = Allocation::parse("homes.toml", &add_remove(HOMES)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "homes.toml:21:1: invariants: add-remove neighbours do not agree on `home`"
    );
    let start = HOMES.find("[[invariants]]\nlevel = \"County\"").unwrap();
    let end = HOMES.find("[[invariants]]\nlevel = \"Town\"").unwrap();
    let text = add_remove(&[&HOMES[..start], &HOMES[end..]].concat());
    let allocation = Allocation::parse("homes.toml", &text).unwrap();
    let measure = Measure { allocation, check_total: Some("primary".into()), ..homes() };
    refuses(
        measure,
        "invariants: column `primary` is the number of records, which is not to be published",
        "invariants: column `primary` is the number of records, which is not to be published",
    );
    // What is certified is for neighbours that agree on what is exact, and says so first.
    let place = Place::new("agree");
    let private = Measure { noise: NoiseSource::Private, ..homes() };
    let measured = private.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let text = measured.document().terminal();
    assert!(text.contains("for bounded neighbours that agree on what is exact."), "{text}");
    let certificate = std::fs::read_to_string(place.path("noisy").join("certificate.md")).unwrap();
    let exact = "agree on what is published exactly: the totals of State, home of County, schools of Town.";
    assert!(certificate.contains(exact), "{certificate}");
}

#[test]
fn a_value_that_is_missing_is_not_zero() {
    refuses(
        with(["1101", "1", "house", ""]),
        "table: row 6: age: is missing",
        "table: row 6: age: is missing",
    );
}

#[test]
fn a_record_is_counted_once() {
    let with_ids = |ids: [&str; 5]| {
        let mut columns: Vec<(String, Values)> = vec![];
        for (at, name) in ["code", "sex", "home", "age"].iter().enumerate() {
            columns.push((name.to_string(), texts(&PEOPLE.map(|row| row[at]))));
        }
        columns.push(("person".into(), texts(&ids)));
        let rows = Some(unspent::schema::Rows::Records(Some("person".into())));
        Measure { table: Input::Columns(Columns::new(columns).unwrap()), rows, ..homes() }
    };
    found(with_ids(["a", "b", "c", "d", "e"]));
    refuses(
        with_ids(["a", "b", "c", "b", "e"]),
        "table: row 4: id: is not new: a record with it came before",
        "table: row 4: id: `b` is not new: a record with it came before",
    );
    refuses(
        with_ids(["a", "b", "c", "", "e"]),
        "table: row 4: id: is missing",
        "table: row 4: id: is missing",
    );
}

/// A table with a row a unit, in any order or sorted, must have a row for every unit of the list.
#[test]
fn a_unit_of_the_list_without_a_row_is_refused() {
    let towns = |codes: &[&str]| {
        let counts: Vec<i64> = (0..codes.len() as i64).collect();
        Input::Columns(
            Columns::new(vec![("code".into(), texts(codes)), ("n".into(), counts.into())]).unwrap(),
        )
    };
    let text = "name = \"Towns\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n[[levels]]\nname = \"Town\"\n\
                sigma2 = { total = 5 }\n[table]\ncode = \"code\"\ncells = [{ column = \"n\" }]\n\
                [table.levels]\nTown = 1\n";
    let measure = |codes: &[&str], order| Measure {
        noise: NoiseSource::NotPrivate(1),
        units: UnitList::List(towns(&["a", "b", "c"])),
        order,
        ..Measure::new(towns(codes), Allocation::parse("towns.toml", text).unwrap())
    };
    found(measure(&["c", "a", "b"], RowOrder::Any));
    found(measure(&["a", "b", "c"], RowOrder::Sorted));
    for (codes, place, order) in
        [(["a", "c"], "", RowOrder::Any), (["a", "c"], "table: row 2: ", RowOrder::Sorted)]
    {
        let message = format!("{place}units: unit `b` has no row in the table");
        let error = measure(&codes, order).in_memory(&mut Quiet).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = measure(&["a", "b"], RowOrder::Sorted).in_memory(&mut Quiet).unwrap_err();
    assert_eq!(error.to_string(), "units: unit `c` has no row in the table");
    let error = measure(&["a", "a", "b", "c"], RowOrder::Sorted).in_memory(&mut Quiet).unwrap_err();
    assert_eq!(error.to_string(), "table: row 2: there are two rows for one unit");
}

/// Expected errors are not published: without a list, the units of records are those in the table.
#[test]
fn errors_of_records_need_no_list() {
    let question = |units| UtilityQuestion {
        before: Some(Allocation::parse("homes.toml", HOMES).unwrap()),
        after: After::Allocation(Box::new(Allocation::parse("homes.toml", HOMES).unwrap())),
        query: Some("sex".into()),
        units,
        ..UtilityQuestion::new(people(&PEOPLE))
    };
    let towns = |report: unspent_data::UtilityReport| report.errors.levels.last().unwrap().units;
    assert_eq!(towns(question(UnitList::Rows).answer(&mut Quiet).unwrap()), 4);
    assert_eq!(towns(question(list(vec![])).answer(&mut Quiet).unwrap()), 6);
}
