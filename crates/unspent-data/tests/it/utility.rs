//! Questions about what noise does, asked of the library.

use unspent::ErrorKind;
use unspent::mechanism::Stated;
use unspent_data::utility::GivenNoise;
use unspent_data::{NoiseSource, Quiet, UtilityQuestion};

use crate::support::{budget, table};

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
