//! What noise does to published tables, simulated: against what is expected, and against itself.

use std::path::Path;

use unspent::expected::Law;
use unspent::{Allocation, Rational};
use unspent_data::estimate::Stage;
use unspent_data::utility::After;
use unspent_data::utility::processing::{ErrorRow, ProcessingReport, ShareRow};
use unspent_data::{Columns, Input, NoiseSource, Quiet, UtilityQuestion, Values};

use crate::support::{BUDGET, budget, table};

/// The same allocation with all variances times a factor.
fn scaled(allocation: &Allocation, factor: &str) -> Allocation {
    let factor: Rational = factor.parse().unwrap();
    allocation.scaled(&vec![factor; allocation.levels().len()]).unwrap()
}

fn question(table: Input, [before, after]: [Allocation; 2], trials: u64) -> UtilityQuestion {
    UtilityQuestion {
        before: Some(before),
        after: After::Allocation(Box::new(after)),
        trials,
        noise: NoiseSource::NotPrivate(11),
        ..UtilityQuestion::new(table)
    }
}

fn report(table: Input, releases: [Allocation; 2], trials: u64) -> ProcessingReport {
    question(table, releases, trials).after_processing(&mut Quiet).unwrap()
}

#[track_caller]
fn row<'r>(report: &'r ProcessingReport, level: &str, query: &str, stage: Stage) -> &'r ErrorRow {
    let is = |row: &&ErrorRow| {
        row.level == level && row.query == query && row.stage == stage && row.size.is_none()
    };
    report.errors.iter().find(is).unwrap()
}

/// Towns of which most cells are empty, ten in a county.
fn sparse(towns: i64) -> Input {
    let codes: Vec<String> = (0..towns).map(|i| format!("{:04}", 1_000 + i)).collect();
    let mut columns: Vec<(String, Values)> = vec![("code".into(), codes.into())];
    for (k, name) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        let counts: Vec<i64> =
            (0..towns).map(|i| if (i + k as i64) % 5 == 0 { 3 + i % 40 } else { 0 }).collect();
        columns.push(((*name).into(), counts.into()));
    }
    Input::Columns(Columns::new(columns).unwrap())
}

#[test]
fn without_noise_there_is_no_error_at_any_stage() {
    // σ² is at most 0.0084: a draw that is not 0 has a probability of 10⁻²⁵.
    let quiet = scaled(&budget(), "0.00025");
    let found = report(sparse(60), [quiet.clone(), quiet], 2);
    assert_eq!(found.errors.iter().map(|row| row.level.as_str()).next(), Some("County"));
    let mut stages = vec![];
    for row in &found.errors {
        let [before, after] = [row.before.unwrap(), row.after.unwrap()];
        assert_eq!(before, after);
        for figure in [before.mean_absolute, before.rms, before.bias] {
            // Estimates are computed in doubles.
            assert!(figure.mean.abs() < 1e-9, "{row:?}");
            assert!(row.stage == Stage::Estimate || figure.mean == 0.0, "{row:?}");
        }
        stages.push(row.stage);
    }
    assert!(Stage::ALL.iter().all(|stage| stages.contains(stage)));
    for row in &found.shares {
        assert_eq!(row.before.within_5_points.unwrap().share, 1.0);
        assert_eq!(row.before.majority_gained.unwrap().units, 0.0);
        assert_eq!(row.before.majority_lost.map_or(0.0, |lost| lost.units), 0.0);
    }
    assert!(found.shares.iter().any(|row| row.before.majority_lost.is_some()), "some have a majority");
}

#[test]
fn raw_errors_are_those_that_are_expected() {
    let half = scaled(&budget(), "1/2");
    let found = report(table(500), [budget(), half], 40);
    for (level, query, sigma2) in
        [("Town", "total", "5"), ("Town", "detailed", "100/3"), ("County", "detailed", "20")]
    {
        let raw = row(&found, level, query, Stage::Raw);
        let sigma2: Rational = sigma2.parse().unwrap();
        let laws = [sigma2.clone(), sigma2 / Rational::from(2)].map(|s| Law::new(&s).unwrap().plain());
        for (figures, law) in [raw.before.unwrap(), raw.after.unwrap()].iter().zip(&laws) {
            // One seed in some thousand is beyond five standard errors of forty trials.
            let near = |mean: unspent_data::estimate::TrialMean, expected: f64| {
                let error = mean.standard_error.unwrap();
                assert!((mean.mean - expected).abs() < 5.0 * error, "{mean:?} is not {expected}");
                assert!(error < 0.05 * law.mae, "{error}");
            };
            near(figures.mean_absolute, law.mae);
            near(figures.rms, law.mse.sqrt());
            near(figures.bias, 0.0);
        }
        let less = raw.reduction.unwrap();
        let expected = 1.0 - laws[1].mae / laws[0].mae;
        assert!(
            (less.mean - expected).abs() < 5.0 * less.standard_error.unwrap(),
            "{less:?}, not {expected}"
        );
        assert!((expected - (1.0 - 0.5f64.sqrt())).abs() < 0.02, "half of the variance is a root of a half");
        // Of the same random words: a fifth of what independent noise would say.
        let figures = raw.before.unwrap().mean_absolute;
        assert!(less.standard_error.unwrap() < figures.standard_error.unwrap() / figures.mean, "{less:?}");
    }
    // An answer that is not measured has no raw one, and an estimate all the same.
    assert!(found.errors.iter().all(|row| row.query != "age" || row.stage >= Stage::Estimate));
    assert!(row(&found, "Town", "age", Stage::Whole).before.is_some());
}

#[test]
fn nothing_changes_where_noise_does_not() {
    let found = report(sparse(100), [budget(), budget()], 3);
    for row in &found.errors {
        assert_eq!(row.before, row.after);
        assert!(row.reduction.is_none_or(|less| less.mean == 0.0 && less.standard_error == Some(0.0)));
    }
    for row in &found.shares {
        assert_eq!(row.before, row.after);
    }
    let again = report(sparse(100), [budget(), budget()], 3);
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&found).unwrap());
    let other =
        UtilityQuestion { noise: NoiseSource::Private, ..question(sparse(100), [budget(), budget()], 3) };
    let other = other.after_processing(&mut Quiet).unwrap();
    assert_ne!(serde_json::to_string(&other).unwrap(), serde_json::to_string(&found).unwrap());
}

#[test]
fn each_step_helps_where_tables_are_sparse() {
    let found = report(sparse(300), [budget(), scaled(&budget(), "3/4")], 10);
    let mae = |stage| row(&found, "Town", "detailed", stage).before.unwrap().mean_absolute.mean;
    let stages = Stage::ALL.map(mae);
    assert!(stages[0] > stages[1] && stages[0] > stages[2], "{stages:?}");
    assert!(stages[3] < 0.6 * stages[0] && stages[3] < stages[1] && stages[3] < stages[2], "{stages:?}");
    // An estimate has no bias, counts that are cut at zero have one, and errors never are less than bias.
    let figures = |stage| row(&found, "Town", "detailed", stage).before.unwrap();
    let bias = figures(Stage::Estimate).bias;
    assert!(bias.mean.abs() < 5.0 * bias.standard_error.unwrap(), "{bias:?}");
    assert!(figures(Stage::Cut).bias.mean > 1.0);
    for row in &found.errors {
        let figures = row.before.unwrap();
        assert!(figures.bias.mean.abs() <= figures.mean_absolute.mean + 1e-12, "{row:?}");
        assert!(figures.mean_absolute.mean <= figures.rms.mean + 1e-12, "{row:?}");
    }
    // Sizes of units make up the whole.
    for stage in Stage::ALL {
        let of = |row: &&ErrorRow| row.level == "Town" && row.query == "total" && row.stage == stage;
        let sum = |sized: bool| -> f64 {
            let rows = found.errors.iter().filter(of).filter(|row| row.size.is_some() == sized);
            rows.map(|row| row.units as f64 * row.before.unwrap().mean_absolute.mean).sum()
        };
        assert!((sum(true) / sum(false) - 1.0).abs() < 1e-12, "{stage:?}");
    }
}

#[test]
fn the_report_says_what_it_is() {
    let found = report(sparse(40), [budget(), scaled(&budget(), "1/2")], 2);
    assert_eq!(found.shares_of, ["age"]);
    let text = found.document(None).unwrap().terminal();
    for words in
        ["Simulated:", "NOT PRIVATE", "whole tables", "cut at zero", "Town, totals, by size", "Shares by age"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(found.document(Some("county")).unwrap().terminal().contains("County, totals"));
    let error = found.document(Some("Street")).unwrap_err();
    assert_eq!(error.to_string(), "level: `Street` is not one of County, Town");
    let csv = found.columns().csv();
    let head = "level,query,size,published,figure,before,after,before_standard_error,";
    assert!(csv.starts_with(head), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.contains("NOT PRIVATE")));
    assert!(csv.contains(",majority_lost,") && csv.contains(",bias,"), "{csv}");
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["errors"][0]["stage"], "raw");
    assert!(json["errors"][0]["before"]["mean_absolute"]["standard_error"].is_f64());
    // By sex there are two groups, which is asked for.
    let by =
        UtilityQuestion { by: Some(vec!["sex".into()]), ..question(sparse(40), [budget(), budget()], 1) };
    let by = by.after_processing(&mut Quiet).unwrap();
    assert_eq!(by.shares_of, ["sex"]);
    assert!(by.errors.iter().all(|row| row.before.unwrap().bias.standard_error.is_none()), "of one trial");
}

#[test]
fn questions_that_cannot_be_answered_are_refused() {
    let refused = |question: UtilityQuestion| question.after_processing(&mut Quiet).map(|_| ()).unwrap_err();
    let both = || [budget(), budget()];
    let error = refused(question(sparse(40), both(), 10_001));
    assert_eq!(error.to_string(), "trials: `10001` is not a whole number between 1 and 10000");
    let error = refused(UtilityQuestion { bands: vec![3, 2], ..question(sparse(40), both(), 1) });
    assert_eq!(error.to_string(), "bands: `3,2` is not ascending numbers from 0 on");
    let error =
        refused(UtilityQuestion { by: Some(vec!["income".into()]), ..question(sparse(40), both(), 1) });
    assert!(error.to_string().contains("`income` is not one of"), "{error}");
    let schema = budget().schema().cloned();
    let error =
        refused(UtilityQuestion { before: None, schema: schema.clone(), ..question(sparse(40), both(), 1) });
    assert_eq!(error.to_string(), "no noise was given");
    let elsewhere = BUDGET
        .replace("name = \"County\"", "name = \"Shire\"")
        .replace("name = \"Town\"", "name = \"Ville\"");
    let elsewhere = Allocation::parse("other.toml", &elsewhere).unwrap();
    let error =
        refused(UtilityQuestion { schema, ..question(sparse(40), [elsewhere.clone(), elsewhere], 1) });
    assert_eq!(error.to_string(), "no level of the table is a level of every allocation");
}

/// The bars of the design, of whole tables: `examples/blocks.toml` on Rhode Island.
#[test]
fn whole_tables_of_rhode_island_have_the_errors_of_the_design() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let before = Allocation::read(&root.join("examples/blocks.toml"), None).unwrap();
    let after = scaled(&before, "0.914");
    let blocks = Input::File(root.join("data/ri-2010-blocks.csv"));
    let found = report(blocks, [before, after], 2);
    let bars = [("Tract", "total", 1.6), ("Tract", "voting age * race", 1.0), ("Block", "total", 1.5)];
    for (level, query, most) in bars.into_iter().chain([("Block", "voting age * race", 0.24)]) {
        let whole = row(&found, level, query, Stage::Whole);
        let mae = whole.before.unwrap().mean_absolute.mean;
        assert!(mae < most && mae > 0.8 * most, "{level} {query}: {mae}");
    }
    // Less noise is less error, by less than the root of the variance says and by more than half of it.
    let less = row(&found, "Block", "voting age * race", Stage::Whole).reduction.unwrap();
    assert!((0.022..0.05).contains(&less.mean), "{less:?}");
}

#[test]
fn districts_are_looked_at_as_units_are() {
    let place = std::env::temp_dir().join(format!("unspent-districts-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let map = place.join("map.csv");
    let with = |text: &str| {
        std::fs::write(&map, text).unwrap();
        let releases = [budget(), scaled(&budget(), "0.5")];
        let mut question = question(sparse(60), releases, 4);
        question.districts = vec![map.clone()];
        question.after_processing(&mut Quiet)
    };
    // Each county is a district; and each town.
    let mut text = String::from("town,seat,ward\n");
    (0..60).for_each(|i| text += &format!("{},{},{i}\n", 1_000 + i, 100 + i / 10));
    let found = with(&text).unwrap();
    for (map, level) in [("seat", "County"), ("ward", "Town")] {
        for stage in [Stage::Raw, Stage::Whole, Stage::Estimate] {
            let of = |name: &str| {
                let is = |row: &&ShareRow| row.level == name && row.stage == stage && row.size.is_none();
                found.shares.iter().find(is).map(|row| (row.before, row.after))
            };
            // Whole tables and estimates add up, so that districts are as good as the units they are. Raw
            // counts do not: those of counties have noise of their own, or are not measured.
            if level == "Town" || stage != Stage::Raw {
                assert!(stage == Stage::Raw || of(map).is_some(), "{map} {stage:?}");
                assert_eq!(of(map), of(level), "{map} {stage:?}");
            }
        }
    }
    let said = found.document(None).unwrap().terminal();
    assert!(said.contains("Districts") && said.contains("seat"), "{said}");
    let error = with("town,seat\n9999,1\n").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unit `9999` is not among the smallest units"), "{error}");
    let error = with("town,County\n1000,1\n").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("is called `County`, as a level is"), "{error}");
    std::fs::remove_dir_all(&place).unwrap();
}
