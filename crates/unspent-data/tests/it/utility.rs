//! Questions about what noise does, asked of the library.

use std::path::Path;

use unspent::mechanism::Stated;
use unspent::{Allocation, ErrorKind, Promise, Rational, Scaling};
use unspent_data::utility::{After, EstimateErrors, EstimatedFrom, GivenNoise};
use unspent_data::{Input, NoiseSource, Quiet, UnitsAccuracy, UtilityQuestion};
use unspent_estimate::accuracy::Deviation;

use crate::support::{budget, measure, table};

fn given(level: &str, before: &str, after: Option<&str>) -> GivenNoise {
    GivenNoise {
        stated: Stated::Sigma2,
        level: level.into(),
        before: before.parse().unwrap(),
        after: after.map(|after| after.parse().unwrap()),
    }
}

fn question() -> UtilityQuestion {
    UtilityQuestion { schema: budget().schema().cloned(), ..UtilityQuestion::new(table(40)) }
}

#[test]
fn noise_may_be_given_directly() {
    let report = UtilityQuestion { given: vec![given("town", "8", Some("2"))], ..question() };
    let report = report.answer(&mut Quiet).unwrap();
    assert!(report.change.is_none() && report.left_out.is_empty());
    let [town] = &report.errors.levels[..] else { panic!("one level") };
    assert_eq!((town.level.as_str(), town.units, town.all.counts), ("Town", 40, 240));
    assert!((town.all.plain.mse_reduction() - 0.75).abs() < 1e-6);
    // JSON is that of the errors, with what is known of the noise beside them.
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["change"].is_null() && json["levels"][0]["sigma2_after"] == "2");
    assert!(json.get("left_out").is_none());
    let text = report.document(report.errors.level(None).unwrap()).terminal();
    assert!(text.contains("Raw noisy counts:") && text.contains("Clamped at zero:"), "{text}");
}

#[test]
fn trials_stand_beside_what_is_expected() {
    let question = UtilityQuestion {
        given: vec![given("Town", "8", Some("2"))],
        trials: 50,
        noise: NoiseSource::NotPrivate(1),
        ..question()
    };
    let report = question.answer(&mut Quiet).unwrap();
    let pair = &report.errors.levels[0].all.plain;
    let [before, after] = pair.simulated.as_ref().unwrap();
    // 12,000 draws; within five standard errors but for one seed in a million.
    assert!((before.mse.mean - pair.before.mse).abs() < 2.6 * before.mse.half_width);
    assert!((after.mse.mean - pair.after.mse).abs() < 2.6 * after.mse.half_width);
}

#[test]
fn questions_that_say_too_little_are_of_a_kind() {
    let refused = |question: UtilityQuestion| question.answer(&mut Quiet).map(|_| ()).unwrap_err();
    let error = refused(question());
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NoVariance, "no noise was given"));
    let error = refused(UtilityQuestion { given: vec![given("Town", "8", None)], ..question() });
    assert_eq!(error.kind(), ErrorKind::NoVariance);
    let error = refused(UtilityQuestion { schema: None, ..question() });
    assert_eq!(error.kind(), ErrorKind::NoTable);
    let error = refused(UtilityQuestion { before: Some(budget()), ..question() });
    assert_eq!(error.kind(), ErrorKind::NoPromise);
    let twice = vec![given("Town", "8", Some("2")), given("TOWN", "8", Some("2"))];
    let error = refused(UtilityQuestion { given: twice, ..question() });
    assert_eq!(error.to_string(), "sigma2: the noise of level `TOWN` is given twice");
    let error = refused(UtilityQuestion { trials: 1_000_001, ..question() });
    assert_eq!(error.to_string(), "trials: `1000001` is not a whole number up to 1000000");
    // Advice is for whoever asks, from whatever front end.
    for question in [question(), UtilityQuestion { schema: None, ..question() }] {
        let error = refused(question);
        assert!(!error.hint().contains("--"), "{}", error.hint());
    }
    let after = unspent_data::utility::After::Allocation(Box::new(budget()));
    let error = refused(UtilityQuestion { before: Some(budget()), after, ..question() });
    assert_eq!(error.kind(), ErrorKind::NoQuery);
    assert_eq!(error.hint(), "name one: total, detailed");
}

fn rhode_island() -> (Input, Allocation) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let allocation = Allocation::read(&root.join("examples/blocks.toml"), None).unwrap();
    (Input::File(root.join("data/ri-2010-blocks.csv")), allocation)
}

/// To the last bit: it is the same tree, and the same arithmetic.
#[test]
fn errors_of_estimates_are_those_that_accuracy_says() {
    let (blocks, before) = rhode_island();
    let said = |allocation: &Allocation, query: &str| -> Vec<Deviation> {
        let accuracy = UnitsAccuracy::new(blocks.clone(), allocation.clone()).answer(&mut Quiet).unwrap();
        let of = |queries: &[unspent_estimate::accuracy::QueryAccuracy]| {
            queries.iter().find(|found| found.query == query).unwrap().estimate
        };
        accuracy.levels.iter().map(|level| of(&level.queries)).collect()
    };
    let factors = ["1/2", "3", "1", "0.9", "1/7"].map(|factor| factor.parse::<Rational>().unwrap());
    let unlike = before.scaled(&factors).unwrap();
    let calibrated = |scaling| {
        let promise = Promise::stated(&before, None, scaling).unwrap();
        before.calibrate(&promise, scaling, None).unwrap().allocation
    };
    let cases = [
        (After::Allocation(Box::new(unlike.clone())), unlike),
        (After::Calibrated(Scaling::Total), calibrated(Scaling::Total)),
        (After::Calibrated(Scaling::Level), calibrated(Scaling::Level)),
    ];
    for (after, allocation) in cases {
        let question = UtilityQuestion {
            before: Some(before.clone()),
            after,
            query: Some("race".into()),
            ..UtilityQuestion::new(blocks.clone())
        };
        let report = question.answer(&mut Quiet).unwrap();
        assert_eq!(report.errors.estimated_from, EstimatedFrom::Allocation);
        let found = |pick: fn(&EstimateErrors) -> Deviation| -> Vec<Deviation> {
            report.errors.levels.iter().map(|level| pick(level.estimate.as_ref().unwrap())).collect()
        };
        assert_eq!(found(|estimate| estimate.before), said(&before, "race"));
        assert_eq!(found(|estimate| estimate.after), said(&allocation, "race"));
        // An estimate is never worse than the count that it is made from.
        for level in &report.errors.levels {
            let [before, after] = level.estimate.unwrap().mse().map(Option::unwrap);
            let raw = &level.all.plain;
            assert!(before < raw.before.mse && after < raw.after.mse, "{}", level.level);
        }
    }
}

/// The inverse of a symmetric positive definite matrix, without regard to anything.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for pivot in 0..n {
        let by = matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|x| *x /= by);
        let row = matrix[pivot].clone();
        for (_, other) in matrix.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = other[pivot];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    matrix.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// Dense least squares share nothing with the tree. Their variances are those that are stated; and of 800
/// counties measured with a seed, each a draw of its own, they have these errors within four standard errors.
#[test]
fn least_squares_on_noisy_counts_have_the_errors_that_are_stated() {
    const COUNTIES: usize = 800;
    const TOWNS: usize = 10;
    const CELLS: usize = 6;
    let towns = (COUNTIES * TOWNS) as i64;
    let question = UtilityQuestion {
        before: Some(budget()),
        after: After::Allocation(Box::new(budget())),
        query: Some("detailed".into()),
        ..UtilityQuestion::new(table(towns))
    };
    let stated = question.answer(&mut Quiet).unwrap().errors.levels;
    // The unknowns are the cells of a county's towns. Each measurement is the unknowns that it adds up and
    // σ²: the county's total and cells, the towns' totals, and their cells.
    let of_cell = |cell: usize| -> Vec<usize> { (0..TOWNS).map(|town| town * CELLS + cell).collect() };
    let mut measured = vec![((0..TOWNS * CELLS).collect::<Vec<_>>(), 16.0 / 3.0)];
    measured.extend((0..CELLS).map(|cell| (of_cell(cell), 20.0)));
    measured.extend((0..TOWNS).map(|town| ((town * CELLS..(town + 1) * CELLS).collect(), 5.0)));
    measured.extend((0..TOWNS * CELLS).map(|unknown| (vec![unknown], 100.0 / 3.0)));
    let mut normal = vec![vec![0.0; TOWNS * CELLS]; TOWNS * CELLS];
    for (adds, sigma2) in &measured {
        adds.iter().for_each(|i| adds.iter().for_each(|j| normal[*i][*j] += 1.0 / sigma2));
    }
    let covariance = inverse(normal);
    // What errors are of: the cells of the county, and those of its towns.
    let sums: [Vec<Vec<usize>>; 2] =
        [(0..CELLS).map(of_cell).collect(), (0..TOWNS * CELLS).map(|unknown| vec![unknown]).collect()];
    let noisy = measure(towns).in_memory(&mut Quiet).unwrap();
    let [county, town] = &noisy.levels[..] else { panic!("two levels") };
    let mut drawn = [vec![], vec![]];
    for at in 0..COUNTIES {
        let part = |values: &[i64], length: usize| values[at * length..(at + 1) * length].to_vec();
        let values = [
            part(&county.queries[0].values, 1),
            part(&county.queries[1].values, CELLS),
            part(&town.queries[0].values, TOWNS),
            part(&town.queries[1].values, TOWNS * CELLS),
        ];
        let mut weighted = [0.0; TOWNS * CELLS];
        for ((adds, sigma2), value) in measured.iter().zip(values.concat()) {
            adds.iter().for_each(|i| weighted[*i] += value as f64 / sigma2);
        }
        let error = |(i, row): (usize, &Vec<f64>)| {
            let estimate: f64 = row.iter().zip(&weighted).map(|(a, b)| a * b).sum();
            // As the table is made.
            estimate - (100 * (i % CELLS) + (at * TOWNS + i / CELLS) % 7) as f64
        };
        let errors: Vec<f64> = covariance.iter().enumerate().map(error).collect();
        for (drawn, sums) in drawn.iter_mut().zip(&sums) {
            let square = |sum: &Vec<usize>| sum.iter().map(|i| errors[*i]).sum::<f64>().powi(2);
            drawn.push(sums.iter().map(square).sum::<f64>() / sums.len() as f64);
        }
    }
    for ((level, sums), drawn) in stated.iter().zip(&sums).zip(drawn) {
        let variance = |sum: &Vec<usize>| -> f64 {
            sum.iter().map(|i| sum.iter().map(|j| covariance[*i][*j]).sum::<f64>()).sum()
        };
        let wanted = sums.iter().map(variance).sum::<f64>() / sums.len() as f64;
        let mse = level.estimate.unwrap().mse()[0].unwrap();
        assert!((mse / wanted - 1.0).abs() < 1e-10, "{}: {mse} is not {wanted}", level.level);
        let n = COUNTIES as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        let error = (drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!((mean - mse).abs() < 4.0 * error, "{}: {mse}, drawn {mean} ± {error}", level.level);
        // The check tells the estimate from the noise.
        assert!(mse + 8.0 * error < level.all.plain.before.mse, "{}: {mse} ± {error}", level.level);
    }
}

#[test]
fn noise_that_is_given_makes_estimates_from_the_counts_alone() {
    let noise = vec![given("County", "6", Some("3")), given("Town", "2", Some("4"))];
    let report = UtilityQuestion { given: noise, ..question() }.answer(&mut Quiet).unwrap();
    assert_eq!(report.errors.estimated_from, EstimatedFrom::Counts);
    // A county of ten towns: its own count, and the sum of theirs. A town has the rest of what is left.
    for (i, [county, town]) in [[6.0, 2.0], [3.0, 4.0]].into_iter().enumerate() {
        let all = 1.0 / (1.0 / county + 1.0 / (10.0 * town));
        let one = town * (1.0 - 0.1) + 0.01 * all;
        for (level, wanted) in report.errors.levels.iter().zip([all, one]) {
            let found = level.estimate.unwrap().mse()[i].unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-12, "{}: {found} is not {wanted}", level.level);
        }
    }
    let only = UtilityQuestion { given: vec![given("Town", "8", Some("2"))], ..question() };
    let only = only.answer(&mut Quiet).unwrap();
    let mse = only.errors.levels[0].estimate.unwrap().mse().map(Option::unwrap);
    assert!((mse[0] - 8.0).abs() < 1e-12 && (mse[1] - 2.0).abs() < 1e-12, "nothing else is known: {mse:?}");
    let small = UtilityQuestion { given: vec![given("Town", "1/4", Some("2"))], ..question() };
    let small = small.answer(&mut Quiet).unwrap();
    for (report, said) in [(&small, true), (&only, false)] {
        let text = report.document(&report.errors.levels[0]).terminal();
        assert_eq!(text.contains("Where sigma2 is below 1"), said, "{text}");
    }
    // By σ², which is more than the noise varies.
    assert!(small.errors.levels[0].all.plain.before.mse < 0.99 / 4.0);
    let csv = only.errors.columns().csv();
    let line = csv.lines().find(|line| line.contains(",estimate,")).unwrap();
    let fields: Vec<&str> = line.split(',').collect();
    assert_eq!(fields[..7], ["Town", "", "", "240", "8", "2", "estimate"]);
    assert_eq!(fields[7..9].iter().map(|x| x.parse().unwrap()).collect::<Vec<f64>>(), mse);
    assert_eq!(fields[9..13], ["", "", "0", "0"], "no mean absolute error, and no bias");
}

#[test]
fn what_cannot_be_estimated_is_said_in_words() {
    // The table has nothing by income.
    let text = crate::support::BUDGET.replace("[queries]", "[queries]\nincome = [\"income\"]");
    let text = text.replace("[\"age\", \"sex\"]\n[queries]", "[\"age\", \"sex\", \"income\"]\n[queries]");
    let text = text.replace("{ total = 5,", "{ total = 5, income = 5,");
    let text = &text[..text.find("[table]").unwrap()];
    let other = Allocation::parse("income.toml", text).unwrap();
    let question = |allocation: &Allocation, query: &str, by: &[&str]| UtilityQuestion {
        before: Some(allocation.clone()),
        after: After::Allocation(Box::new(allocation.clone())),
        query: Some(query.into()),
        by: Some(by.iter().map(|name| name.to_string()).collect()),
        ..question()
    };
    let report = question(&other, "total", &["sex"]).answer(&mut Quiet).unwrap();
    let EstimatedFrom::Nothing { why } = &report.errors.estimated_from else { panic!() };
    assert!(why.starts_with("query `income`: attributes: `income` is not one of"), "{why}");
    let text = report.document(report.errors.level(None).unwrap()).terminal();
    assert!(text.replace("\n", " ").contains("No estimates: "), "{text}");
    assert!(text.contains("query `income`") && !text.contains("RMSE"), "{text}");
    assert!(report.errors.levels.iter().all(|level| level.estimate.is_none()));
    assert!(!report.errors.columns().csv().contains("estimate"));
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["estimated_from"]["why"].is_string() && json["levels"][1]["estimate"].is_null());
    // Only totals are measured: nothing determines the sexes.
    let text = crate::support::BUDGET.replace(", detailed = 20", "").replace(", detailed = \"100/3\"", "");
    let totals =
        Allocation::parse("totals.toml", &text.replace("detailed = [\"age\", \"sex\"]\n", "")).unwrap();
    let report = question(&totals, "total", &["sex"]).answer(&mut Quiet).unwrap();
    for level in &report.errors.levels {
        assert_eq!(level.estimate.unwrap().before, Deviation::NotDetermined);
        assert_eq!(level.estimate.unwrap().mse(), [None, None]);
    }
    let text = report.document(report.errors.level(None).unwrap()).terminal();
    assert!(text.contains("not determined"), "{text}");
    let csv = report.errors.columns().csv();
    let line = csv.lines().find(|line| line.contains(",estimate,")).unwrap();
    assert!(line.contains(",estimate,,,,,,,"), "{line}");
}
