use super::*;
use crate::table::Row;
use crate::utility::errors::NORMAL_95;

const SCHEMA: &str = r#"
[table]
code = "code"
cells = [
  { sex = "f", column = "f" }, { sex = "m", column = "m" }, { sex = "x", column = "all", minus = ["f", "m"] },
]
[table.levels]
Country = 0
Tract = 3
[table.attributes]
sex = ["f", "m", "x"]
"#;

fn question(trials: u64) -> Question {
    let noise = |level: &str, before: &str, after: &str| LevelNoise {
        level: level.into(),
        before: before.parse().unwrap(),
        after: after.parse().unwrap(),
    };
    Question {
        schema: Schema::parse("schema.toml", SCHEMA).unwrap(),
        by: vec!["sex".into()],
        noises: vec![noise("Country", "5", "4.25"), noise("Tract", "456.62", "343.27")],
        bands: vec![0, 1, 50],
        trials,
        releases: None,
    }
}

/// Three hundred tracts with none to some seventy people of each sex.
fn rows() -> Vec<(String, [i64; 3])> {
    (0..300).map(|i| (format!("{i:03}"), [i % 7 * 10, i % 5, i % 7 * 10 + i % 5 + i % 3])).collect()
}

fn evaluate(question: Question, key: Option<&Key>) -> Utility {
    let noise = key.map(|key| (key, NonZeroUsize::MIN));
    let evaluation = Evaluation::new(question, noise).unwrap();
    assert_eq!(evaluation.plan().columns().counts, ["f", "m", "all"]);
    let all = |row: &mut TakeRow<'_>| {
        rows().iter().try_for_each(|(code, counts)| row(Row { codes: &[code], values: &[], counts }))
    };
    evaluation.evaluate(None, all).unwrap()
}

#[test]
fn expected_errors_are_means_over_the_counts() {
    let found = evaluate(question(0), None);
    assert_eq!((found.rows, found.levels.len(), found.levels[1].units), (300, 2, 300));
    let tract = &found.levels[1];
    assert_eq!((tract.all.counts, tract.cells.len(), tract.bands.len()), (900, 3, 3));
    let laws = ["456.62", "343.27"].map(|s| Law::new(&s.parse().unwrap()).unwrap());
    // Count by count, without histograms.
    for (pair, law) in [(&tract.all.cut.before, &laws[0]), (&tract.all.cut.after, &laws[1])] {
        let counts: Vec<u64> =
            rows().iter().flat_map(|(_, [f, m, all])| [*f as u64, *m as u64, (all - f - m) as u64]).collect();
        let mean = |pick: fn(&Expected) -> f64| law.cut(&counts).iter().map(pick).sum::<f64>() / 900.0;
        assert!((pair.mse - mean(|e| e.mse)).abs() < 1e-9);
        assert!((pair.mae - mean(|e| e.mae)).abs() < 1e-9);
        assert!((pair.bias - mean(|e| e.bias)).abs() < 1e-9);
    }
    // Groups make up the whole.
    for groups in [&tract.cells, &tract.bands, &tract.cells_by_band] {
        let n: u64 = groups.iter().map(|g| g.errors.counts).sum();
        let mse: f64 = groups.iter().map(|g| g.errors.counts as f64 * g.errors.cut.after.mse).sum();
        assert!(n == 900 && (mse / 900.0 - tract.all.cut.after.mse).abs() < 1e-9);
    }
    let names: Vec<_> = tract.bands.iter().map(|g| g.band.clone().unwrap()).collect();
    assert_eq!(names, ["0", "1–49", "50 and more"]);
    assert_eq!(tract.cells[2].cell.as_deref(), Some("x"));
}

#[test]
fn without_cutting_the_error_falls_with_the_variance() {
    let found = evaluate(question(0), None);
    for (level, [before, after]) in found.levels.iter().zip([["5", "4.25"], ["456.62", "343.27"]]) {
        let variance = |s: &str| DiscreteGaussian::parse(s, "1").unwrap().variance();
        let expected = 1.0 - variance(after) / variance(before);
        assert!((level.all.plain.mse_reduction() - expected).abs() < 1e-12);
        assert_eq!(level.all.plain.before.bias, 0.0);
    }
}

#[test]
fn trials_agree_with_what_is_expected() {
    // A fixed seed; an estimate fails to be within five of its standard errors with a probability below 1e-6.
    let found = evaluate(question(200), Some(&Key::not_private(3)));
    let mut checked = 0;
    for level in &found.levels {
        let cells = level.cells.iter().chain(&level.bands).chain(&level.cells_by_band).map(|g| &g.errors);
        for errors in cells.chain([&level.all]) {
            for pair in [&errors.plain, &errors.cut] {
                let Some(simulated) = pair.simulated.as_ref() else { continue };
                for (expected, simulated) in [&pair.before, &pair.after].into_iter().zip(simulated) {
                    for (estimate, x) in [
                        (simulated.mse, expected.mse),
                        (simulated.mae, expected.mae),
                        (simulated.bias, expected.bias),
                    ] {
                        let wide =
                            SimulatedMean { half_width: 5.0 / NORMAL_95 * estimate.half_width, ..estimate };
                        assert!(wide.contains(x), "{}: {estimate:?} {x}", level.level);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 100);
}

#[test]
fn a_question_that_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut Question)| {
        let mut question = question(0);
        change(&mut question);
        Evaluation::new(question, None).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(|q| q.bands = vec![1, 10]), "bands: `1,10` is not ascending numbers from 0 on");
    assert_eq!(
        refused(|q| q.by = vec!["age".into()]),
        "query `cells`: attributes: `age` is not one of the attributes and recodes sex"
    );
    assert_eq!(
        refused(|q| q.noises[0].after = Rational::integer(0)),
        "sigma2: `0` is not a variance between 1e-3 and 1e12"
    );
}
