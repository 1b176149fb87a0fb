use std::collections::BTreeMap;

use proptest::prelude::*;

use unspent::sampler::ReleaseKey;
use unspent::{Allocation, Result};

use super::{Batch, Feed, MAX_CODE, NoisyBatch};
use crate::noise::Noises;
use crate::plan::Plan;
use crate::table::Row;

const ALLOCATION: &str = r#"
name = "test"
neighbours = "bounded"
delta = "1e-10"
attributes = ["age", "sex", "place of birth"]
[queries]
total = []
age = ["age"]
"sex * age" = ["sex", "age"]
all = ["age", "sex", "place of birth"]
[[levels]]
name = "Country"
[levels.sigma2]
total = 5
all = "100/3"
[[levels]]
name = "County"
[levels.sigma2]
"sex * age" = 2
[[levels]]
name = "Tract"
[levels.sigma2]
total = "0.5"
age = 5
all = 2000
"#;

/// Two ages, three sexes, two places of birth; one cell is a difference.
const TABLE: &str = r#"
[table]
code = "code"
cells = [
  { age = "young", sex = "f", "place of birth" = "here", column = "a" },
  { age = "young", sex = "f", "place of birth" = "away", column = "b" },
  { age = "young", sex = "m", "place of birth" = "here", column = "c" },
  { age = "young", sex = "m", "place of birth" = "away", column = "d" },
  { age = "young", sex = "x", "place of birth" = "here", column = "e" },
  { age = "young", sex = "x", "place of birth" = "away", column = "f" },
  { age = "old", sex = "f", "place of birth" = "here", column = "g" },
  { age = "old", sex = "f", "place of birth" = "away", column = "h" },
  { age = "old", sex = "m", "place of birth" = "here", column = "i" },
  { age = "old", sex = "m", "place of birth" = "away", column = "j" },
  { age = "old", sex = "x", "place of birth" = "here", column = "k" },
  { age = "old", sex = "x", "place of birth" = "away", column = "all", minus = ["a", "b"] },
]
[table.levels]
Country = 0
State = 1
County = 2
Tract = 4
[table.attributes]
age = ["young", "old"]
sex = ["f", "m", "x"]
"place of birth" = ["here", "away"]
"#;

fn plan_of(text: &str) -> Plan {
    Plan::of(&Allocation::parse("test.toml", text).unwrap()).unwrap()
}

fn plan() -> Plan {
    plan_of(&[ALLOCATION, TABLE].concat())
}

/// All batches of a table, in the order in which they were cut.
fn tabulate(plan: &Plan, limit: usize, rows: &[(Vec<&str>, Vec<i64>)]) -> Result<Vec<Batch>> {
    let mut feed = Feed::of_table(plan)?;
    feed.cut_at(limit);
    let mut batches = vec![];
    let mut full = |batch: Batch| -> Result<()> {
        batches.push(batch);
        Ok(())
    };
    for (codes, counts) in rows {
        feed.row(Row { codes, values: &[], counts }, &mut full)?;
    }
    feed.finish(&mut full)?;
    Ok(batches)
}

/// What a level's queries say of each unit.
fn by_unit(plan: &Plan, batches: &[Batch], level: usize) -> BTreeMap<String, Vec<Vec<i64>>> {
    let mut units = BTreeMap::new();
    for batch in batches.iter().filter(|b| b.level() == level) {
        for (i, code) in batch.codes().iter().enumerate() {
            let values = plan.levels()[level].queries.iter().enumerate().map(|(q, query)| {
                let length = query.length();
                batch.exact(q)[i * length..][..length].to_vec()
            });
            assert!(units.insert(code.clone(), values.collect()).is_none(), "a unit comes once");
        }
    }
    units
}

/// The counts of a row, in the order of the plan, from its cells.
fn counts(cells: &[i64]) -> Vec<i64> {
    let mut counts = cells.to_vec();
    // The last cell is `all` less `a` and `b`.
    counts[11] += cells[0] + cells[1];
    // `a` and `b` come before `all`, so the columns are in the order of the cells.
    counts
}

#[test]
fn columns_are_asked_for_once() {
    let plan = plan();
    assert_eq!(plan.columns().codes, ["code"]);
    assert_eq!(plan.columns().counts.len(), 12);
    assert_eq!(plan.columns().counts[..2], ["a", "b"]);
    let shapes: Vec<_> =
        plan.levels().iter().flat_map(|l| l.queries.iter().map(|q| q.shape.clone())).collect();
    assert_eq!(shapes, [vec![1], vec![2, 3, 2], vec![2, 3], vec![1], vec![2], vec![2, 3, 2]]);
}

proptest! {
    /// Against sums taken cell by cell, with the answers' places computed from the values' names.
    #[test]
    fn every_query_is_the_sum_of_its_cells_at_every_level(
        rows in prop::collection::btree_map("[1-3]{4}", prop::collection::vec(0i64..1000, 12), 1..40),
        limit in 1usize..60,
    ) {
        let plan = plan();
        let table: Vec<(Vec<&str>, Vec<i64>)> =
            rows.iter().map(|(code, cells)| (vec![code.as_str()], counts(cells))).collect();
        let batches = tabulate(&plan, limit, &table).unwrap();
        for (level, length) in [(0, 0), (1, 2), (2, 4)] {
            let mut expected: BTreeMap<String, Vec<i64>> = BTreeMap::new();
            for (code, cells) in &rows {
                let sums = expected.entry(code[..length].into()).or_insert_with(|| vec![0; 12]);
                sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell);
            }
            let units = by_unit(&plan, &batches, level);
            prop_assert_eq!(units.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (code, cells) in expected {
                // The cells are young f here, young f away, young m here, …
                let cell = |age: usize, sex: usize, birth: usize| cells[6 * age + 2 * sex + birth];
                let total = vec![cells.iter().sum::<i64>()];
                let both = |a: usize, s: usize| cell(a, s, 0) + cell(a, s, 1);
                let age: Vec<i64> = (0..2).map(|a| (0..3).map(|s| both(a, s)).sum()).collect();
                // In the order of the schema, whatever that of the query: age before sex.
                let age_sex: Vec<i64> =
                    (0..2).flat_map(|a| (0..3).map(move |s| (a, s))).map(|(a, s)| both(a, s)).collect();
                let answers = match level {
                    0 => vec![total, cells],
                    1 => vec![age_sex],
                    _ => vec![total, age, cells],
                };
                prop_assert_eq!(&units[&code], &answers);
            }
        }
    }
}

fn with_noise(plan: &Plan, limit: usize, rows: &[(Vec<&str>, Vec<i64>)]) -> Vec<NoisyBatch> {
    let noises = Noises::new(plan, &ReleaseKey::not_private(1)).unwrap();
    let batches = tabulate(plan, limit, rows).unwrap();
    batches.into_iter().map(|batch| batch.with_noise(&noises).unwrap()).collect()
}

/// All values of a level's query, one unit after the other.
fn joined(batches: &[NoisyBatch], level: usize, query: usize) -> Vec<i64> {
    batches.iter().filter(|b| b.level == level).flat_map(|b| b.values[query].clone()).collect()
}

#[test]
fn noise_belongs_to_the_cell_and_not_to_the_batch_or_the_thread() {
    let plan = plan();
    let codes: Vec<String> = (1000..1400).map(|n| n.to_string()).collect();
    let rows: Vec<_> = codes.iter().map(|code| (vec![code.as_str()], counts(&[7; 12]))).collect();
    let [one, many] = [usize::MAX, 50].map(|limit| with_noise(&plan, limit, &rows));
    assert!(many.len() > 50 && one.len() == 3);
    for (level, query) in [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)] {
        assert_eq!(joined(&one, level, query), joined(&many, level, query));
    }
    // Nor to the units beside it: the second half of the table alone.
    let half = with_noise(&plan, usize::MAX, &rows[200..]);
    for query in 0..3 {
        let (all, some) = (joined(&one, 2, query), joined(&half, 2, query));
        assert_eq!(all[all.len() / 2..], some);
    }
    // Queries do not share their noise, even where they have the same law.
    let noise: Vec<i64> = joined(&one, 2, 1).iter().map(|x| x - 42).collect();
    assert!(noise.iter().any(|x| *x != 0) && noise[..400] != noise[400..]);
}

#[test]
fn noise_has_the_variance_of_its_query() {
    // With a fixed seed. The sum of n squares is within six standard errors, √(2n)σ², with a false-alarm rate
    // below 1e-8 by the central limit.
    let plan = plan();
    let codes: Vec<String> = (0..10_000).map(|n| format!("{n:04}")).collect();
    let rows: Vec<_> = codes.iter().map(|code| (vec![code.as_str()], counts(&[3; 12]))).collect();
    let made = with_noise(&plan, 10_000, &rows);
    for (query, mean) in [(0, 36), (1, 18), (2, 3)] {
        let values = joined(&made, 2, query);
        let variance = plan.levels()[2].queries[query].noises[0].variance;
        let n = values.len() as f64;
        let squares: f64 = values.iter().map(|x| ((x - mean) * (x - mean)) as f64).sum();
        assert!(
            (squares - n * variance).abs() < 6.0 * (2.0 * n).sqrt() * variance,
            "{query}: {}",
            squares / n
        );
    }
}

#[track_caller]
fn refuses(rows: &[(Vec<&str>, Vec<i64>)], message: &str) {
    refuses_with(&plan(), rows, message);
}

#[track_caller]
fn refuses_with(plan: &Plan, rows: &[(Vec<&str>, Vec<i64>)], message: &str) {
    let error = tabulate(plan, 1_000, rows).map(|_| ()).unwrap_err();
    // Nothing in quotes but names, unless it is asked for more.
    let concealed = error.to_string();
    assert!(concealed.split('`').skip(1).step_by(2).all(|name| name.parse::<f64>().is_err()), "{concealed}");
    assert_eq!(error.revealed().to_string(), message);
}

#[test]
fn rows_that_do_not_fit_are_refused_by_name() {
    let good = counts(&[1; 12]);
    let row = |code: &'static str| (vec![code], good.clone());
    refuses(&[], "the table has no rows");
    refuses(&[row("1112"), row("1111")], "code `1111` of level `Tract` comes after `1112`");
    refuses(&[row("2111"), row("1111")], "code `1` of level `State` comes after `2`");
    refuses(&[row("1111"), row("1111")], "there are two rows for unit `1111` of level `Tract`");
    refuses(&[row("111")], "level `Tract`: code: `111` is not a code of at least 4 characters");
    refuses(&[row("11111")], "code: `11111` is not a code of 4 characters");
    refuses(&[row("")], "level `State`: code: `` is not a code of at least 1 characters");
    let mut negative = good.clone();
    negative[11] = 1;
    refuses(&[(vec!["1111"], negative)], "all less a less b is -1");
    let mut large = good.clone();
    large[2] = i64::MAX;
    let message = "unit `1111` of level `Tract`: a sum exceeds 2^63 − 1";
    refuses(&[(vec!["1111"], large.clone()), row("1112")], message);
    // One cell alone is in range; two units together are not.
    let mut huge = vec![0; 12];
    huge[2] = i64::MAX;
    let message = "unit `11` of level `County`: a sum exceeds 2^63 − 1";
    refuses(&[(vec!["1111"], huge.clone()), (vec!["1112"], huge), row("2111")], message);
}

#[test]
fn a_unit_that_comes_back_is_found_however_its_code_is_written() {
    let table = |length: usize| {
        let levels = format!(
            "[[levels]]\nname = \"Block\"\nsigma2 = {{ total = 5 }}\n[table]\ncode = \"code\"\n\
             cells = [{{ column = \"pop\" }}]\n[table.levels]\nArea = 1\nBlock = {length}\n"
        );
        plan_of(&(ALLOCATION.split("attributes").next().unwrap().to_string() + &levels))
    };
    let rows = |codes: &[&'static str]| codes.iter().map(|code| (vec![*code], vec![1])).collect::<Vec<_>>();
    // With hyphens the order of letters is not that of parts: both were to hold so far, and neither does now.
    for codes in [["12-3", "2-34", "12-3"], ["12,3", "12-3", "12,3"]] {
        assert!(tabulate(&table(4), 1_000, &rows(&codes)).is_err(), "{codes:?}");
    }
    // As many bytes, but more characters.
    let error = tabulate(&table(3), 1_000, &rows(&["12é", "1300"])).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "code: is not a code of 3 characters");
    assert_eq!(error.revealed().to_string(), "code: `1300` is not a code of 3 characters");
    assert!(tabulate(&table(4), 1_000, &rows(&["1200", "1201", "2101"])).is_ok());
}

#[test]
fn levels_must_come_in_the_order_of_the_table() {
    // What is said of places inside a unit would be false otherwise.
    let text = [ALLOCATION, TABLE].concat();
    let swapped = text
        .replacen("name = \"Country\"", "name = \"X\"", 1)
        .replacen("name = \"Tract\"", "name = \"Country\"", 1)
        .replacen("name = \"X\"", "name = \"Tract\"", 1);
    let refused = Plan::of(&Allocation::parse("test.toml", &swapped).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the levels of the allocation, Tract, County, Country, come in another order than those of the \
         table, Country, State, County, Tract"
    );
    let flat = swapped.replacen("neighbours =", "nested = false\nneighbours =", 1);
    assert!(Plan::of(&Allocation::parse("test.toml", &flat).unwrap()).is_ok());
}

#[test]
fn a_count_with_its_noise_that_is_too_large_is_an_error() {
    let plan = plan();
    let mut huge = vec![0; 12];
    huge[2] = i64::MAX;
    let batches = tabulate(&plan, 1_000, &[(vec!["1111"], huge)]).unwrap();
    let noises = Noises::new(&plan, &ReleaseKey::not_private(0)).unwrap();
    // Six values are that large, each with noise of either sign: one of them is too large, with this seed.
    let noisy: Result<Vec<_>> = batches.into_iter().map(|b| b.with_noise(&noises)).collect();
    assert_eq!(noisy.map(|_| ()).unwrap_err().to_string(), "a count with its noise: a sum exceeds 2^63 − 1");
}

#[test]
fn levels_by_columns_must_nest() {
    let table = r#"
[table]
cells = [{ column = "pop" }]
[table.levels]
Country = "country"
County = "county"
Tract = ["county", "tract"]
"#;
    let allocation = ALLOCATION.split("attributes").next().unwrap().to_string()
        + "[[levels]]\nname = \"County\"\nsigma2 = { total = 5 }\n\
           [[levels]]\nname = \"Tract\"\nsigma2 = { total = 5 }\n"
        + table;
    let plan = plan_of(&allocation);
    assert_eq!(plan.columns().codes, ["country", "county", "tract"]);
    let row = |country, county, tract, n| (vec![country, county, tract], vec![n]);
    // Numbers without leading zeros ascend as numbers do.
    let rows =
        [row("a", "9", "1", 1), row("a", "10", "1", 2), row("a", "10", "11", 4), row("b", "11", "2", 8)];
    let batches = tabulate(&plan, 1_000, &rows).unwrap();
    assert_eq!(
        by_unit(&plan, &batches, 0).into_iter().map(|(c, v)| (c, v[0][0])).collect::<Vec<_>>(),
        [("10".into(), 6), ("11".into(), 8), ("9".into(), 1)]
    );
    assert_eq!(by_unit(&plan, &batches, 1).keys().collect::<Vec<_>>(), ["10-1", "10-11", "11-2", "9-1"]);
    refuses_with(
        &plan,
        &[row("a", "9", "1", 1), row("b", "9", "2", 1)],
        "unit `9` of level `County` lies in two units of level `Country`",
    );
    refuses_with(
        &plan,
        &[row("a", "9", "1", 1), row("a", "10", "1", 1), row("a", "9", "2", 1)],
        "code `9` of level `County` comes after `10`",
    );
    refuses_with(&plan, &[row("a", "", "1", 1)], "level `County`: code: `` is not a code");
    // Just as long as a code may be, alone and with another.
    let long = |length: usize| -> &'static str { "x".repeat(length).leak() };
    assert!(tabulate(&plan, 1_000, &[row("a", long(MAX_CODE - 2), "1", 1)]).is_ok());
    for (county, tract) in [(long(MAX_CODE + 1), "1"), (long(MAX_CODE - 1), "1")] {
        let error = tabulate(&plan, 1_000, &[row("a", county, tract, 1)]).map(|_| ()).unwrap_err();
        assert!(error.to_string().ends_with(": code: is not a code of at most 256 bytes"), "{error}");
    }
}

#[test]
fn what_the_table_lacks_is_refused_by_name() {
    let refused =
        |text: String| Plan::of(&Allocation::parse("test.toml", &text).unwrap()).map(|_| ()).unwrap_err();
    let error = refused(ALLOCATION.into());
    assert_eq!(error.to_string(), "`test` does not say how a table is read");
    assert_eq!(error.kind(), unspent::ErrorKind::NoTable);
    let error = refused([ALLOCATION, &TABLE.replace("Tract = 4", "Tracts = 4")].concat());
    assert_eq!(
        (error.to_string().as_str(), error.hint()),
        (
            "level: `Tract` is not one of the levels of the table, Country, State, County, Tracts",
            "did you mean `Tracts`?"
        )
    );
    let error = refused([ALLOCATION, &TABLE.replace("\"place of birth\"", "birth")].concat());
    assert_eq!(
        error.to_string(),
        "query `all`: attributes: `place of birth` is not one of the attributes and recodes age, sex, birth"
    );
    let shifted = ALLOCATION.replace("age = [\"age\"]", "age = { attributes = [\"age\"], shift = 3 }");
    let error = refused([&shifted, TABLE].concat());
    assert_eq!(error.to_string(), "query `age`: one record moves it by 3, so it is no count");
}

#[test]
fn an_allocation_with_a_table_reads_back_the_same() {
    let allocation = Allocation::parse("test.toml", &[ALLOCATION, TABLE].concat()).unwrap();
    assert!(allocation.schema().is_some());
    assert_eq!(Allocation::parse("again.toml", &allocation.to_toml()).unwrap(), allocation);
}
