//! Replicates of whole tables predict errors where tables are smoother than the truth.

use std::collections::HashMap;
use std::fs;

use unspent::Allocation;
use unspent_data::{Columns, Estimate, Input, Measure, NoiseSource, Quiet, UnitList, WholeTables};

use crate::support::Place;

/// Noise of towns is large beside their counts; counties are known well.
const BUDGET: &str = r#"
name = "Sparse towns"
neighbours = "bounded"
delta = "1e-10"
[[levels]]
name = "Land"
sigma2 = { detailed = 2 }
[[levels]]
name = "County"
sigma2 = { total = 3, detailed = 4 }
[[levels]]
name = "Town"
sigma2 = { total = 400, detailed = 10 }
[queries]
total = []
detailed = ["home", "kind"]
[attributes]
home = ["house", "school", "prison", "ship"]
kind = KINDS
[table]
code = "code"
count = "n"
[table.levels]
Land = 0
County = 2
Town = 4
"#;

const KINDS: usize = 60;
const HOMES: [&str; 4] = ["house", "school", "prison", "ship"];

fn budget() -> Allocation {
    let kinds: Vec<String> = (0..KINDS).map(|kind| format!("{kind:02}")).collect();
    Allocation::parse("budget.toml", &BUDGET.replace("KINDS", &format!("{kinds:?}"))).unwrap()
}

/// 500 towns in twenty counties.
fn codes() -> Vec<String> {
    (0..500).map(|town| format!("{:02}{:02}", town / 25, town % 25)).collect()
}

/// People by town, home and kind: nobody in every other town, most kinds rare, few facilities.
fn people() -> Vec<(usize, usize, usize)> {
    let mut state = 7_u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 33) * end as u64) >> 31) as usize
    };
    let mut found = vec![];
    for town in (0..500).filter(|town| town % 2 == 0) {
        let size = [5, 20, 40, 80, 200][below(5)];
        // Half are of the first kinds.
        (0..size).for_each(|_| {
            let end = if below(2) == 0 { 3 } else { KINDS };
            found.push((town, 0, below(end)));
        });
        if below(12) == 0 {
            let home = 1 + below(3);
            (0..60).for_each(|_| found.push((town, home, below(5))));
        }
    }
    found
}

fn measured(place: &Place, seed: u64) {
    let (towns, mut counts) = (codes(), HashMap::new());
    people().into_iter().for_each(|key| *counts.entry(key).or_insert(0_i64) += 1);
    let mut rows: Vec<((usize, usize, usize), i64)> = counts.into_iter().collect();
    rows.sort_unstable();
    let text = |of: &dyn Fn(&(usize, usize, usize)) -> String| -> Vec<String> {
        rows.iter().map(|(key, _)| of(key)).collect()
    };
    let columns = vec![
        ("code".into(), text(&|key| towns[key.0].clone()).into()),
        ("home".into(), text(&|key| HOMES[key.1].into()).into()),
        ("kind".into(), text(&|key| format!("{:02}", key.2)).into()),
        ("n".into(), rows.iter().map(|(_, count)| *count).collect::<Vec<_>>().into()),
    ];
    let units = Columns::new(vec![("code".into(), towns.clone().into())]).unwrap();
    let measure = Measure {
        noise: NoiseSource::NotPrivate(seed),
        units: UnitList::List(Input::Columns(units)),
        ..Measure::new(Input::Columns(Columns::new(columns).unwrap()), budget())
    };
    measure.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
}

fn question(place: &Place, replicates: u32) -> Estimate {
    let tables = WholeTables { replicates, ..WholeTables::default() };
    Estimate { tables: Some(tables), ..Estimate::new(&place.path("noisy")) }
}

#[test]
fn replicates_predict_errors_of_tables_of_sparse_towns() {
    let mut truth = vec![0_i64; 500];
    people().iter().for_each(|(town, ..)| truth[*town] += 1);
    let (towns, mut squares, mut count) = (codes(), 0.0, 0.0);
    let place = Place::new("replicates-sparse");
    for seed in 0..4 {
        fs::remove_dir_all(place.path("noisy")).ok();
        measured(&place, seed);
        let found = question(&place, 0).estimates(&mut Quiet).unwrap().tables(&mut Quiet).unwrap();
        let (_, units) = found.levels.iter().find(|(level, _)| level == "Town").unwrap();
        for ((code, cells), (town, truth)) in units.iter().zip(towns.iter().zip(&truth)) {
            assert_eq!(code, town);
            let total: i64 = cells.iter().map(|(_, count)| count).sum();
            squares += ((total - truth) * (total - truth)) as f64;
            count += 1.0;
        }
    }
    let rms = f64::sqrt(squares / count);
    let estimates = question(&place, 4).estimates(&mut Quiet).unwrap();
    let errors = estimates.tables_and_errors(&mut Quiet).unwrap().1.unwrap();
    assert_eq!((errors.replicates, errors.plain_replicates), (4, 4));
    let level = errors.levels.iter().find(|level| level.level == "Town").unwrap();
    let total = level.queries.iter().find(|query| query.query == "total").unwrap();
    // By chance both are off by 2 % or so.
    let (corrected, plain) = (total.rms / rms, total.plain_rms / rms);
    assert!((0.9..1.1).contains(&corrected), "{corrected} (plain {plain})");
    assert!(plain < 0.9, "{plain}: this land does not show what is corrected");
    // Units are those of the tables that stand for the truth: all towns, and about half of them empty.
    assert_eq!(level.sizes.iter().map(|size| size.units).sum::<u64>(), 500);
    let empty = level.sizes.iter().find(|size| size.from == 0).unwrap();
    assert!((150..350).contains(&empty.units), "{}", empty.units);
}
