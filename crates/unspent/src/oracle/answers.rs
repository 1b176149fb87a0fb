//! Fresh answers of all kinds beside exact ones: `oracle/answers.json`, or the file that the variable
//! `UNSPENT_ORACLE_ANSWERS` names (`make oracle-answers`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{enclosure, exact, text};
use crate::calibrate::Target;
use crate::composition::Composition;
use crate::effort::Effort;
use crate::expected::Law;
use crate::mechanism::{Described, Mechanism};
use crate::number::{Bounds, Magnitude, Number, Rational};
use crate::parallel;
use crate::profile::Direction;
use crate::quantity::{Alpha, Delta, Epsilon, Rho};
use crate::report::reading::Attack;
use crate::worst::{Case, WorstCase};
use crate::zcdp::Conversion;

fn file() -> Value {
    match std::env::var("UNSPENT_ORACLE_ANSWERS") {
        Ok(path) => super::read(&path),
        Err(_) => super::file("answers.json"),
    }
}

fn section(name: &str) -> Vec<Value> {
    file()[name].as_array().unwrap().clone()
}

/// What was found of one question: where the truth is not inside, what was said instead.
struct Answer {
    kind: String,
    wrong: Option<String>,
    width: f64,
}

type Truth = (Rational, Rational);

/// The truth lies between two ends of which only what is certain is held against the bounds.
fn holds(bounds: &Bounds<Magnitude>, truth: &Truth) -> bool {
    let (low, high) = (truth.0.to_magnitude_bounds().0, truth.1.to_magnitude_bounds().1);
    bounds.lower() <= high && low <= bounds.upper()
}

fn groups(case: &Value) -> Vec<(Mechanism, u64)> {
    let parts: Vec<Described> = serde_json::from_value(case["composition"].clone()).unwrap();
    parts.into_iter().map(|part| (part.mechanism, part.count)).collect()
}

fn answers(case: &Value) -> Vec<Answer> {
    let direction: Direction = text(&case["direction"]).parse().unwrap();
    let made = Composition::new(groups(case)).and_then(|made| made.in_direction(direction));
    let made = made.unwrap_or_else(|e| panic!("{e}: {}", case["composition"]));
    let ask = |asked: &Value| {
        answer(&made, case, asked).unwrap_or_else(|e| panic!("{e}: {asked} {}", case["composition"]))
    };
    case["asked"].as_array().unwrap().iter().flat_map(ask).collect()
}

fn answer(made: &Composition, case: &Value, asked: &Value) -> crate::Result<Vec<Answer>> {
    let kind = text(&asked[0]);
    let truth = |i: usize| (exact(&asked[i]), exact(&asked[i + 1]));
    let epsilon = || Epsilon::parse(text(&asked[1]));
    let alpha = || Alpha::parse(text(&asked[1]));
    let found = match kind {
        "delta" => vec![(made.delta(&epsilon()?)?, truth(2))],
        "p_tail" => vec![(made.p_tail(&epsilon()?)?, truth(2))],
        "q_tail" => vec![(made.q_tail(&epsilon()?)?, truth(2))],
        "tradeoff" => vec![(made.tradeoff(&alpha()?)?, truth(2))],
        "power" => vec![(made.power(&alpha()?)?, truth(2))],
        "epsilon" => {
            let found = made.epsilon(&Delta::parse(text(&asked[1]))?)?;
            vec![(Number::from(found).bounds(), truth(2))]
        }
        "knot" => {
            let loss = exact(&asked[1]);
            let knots = made.knots(&loss, &loss)?;
            assert_eq!(knots.len(), 1, "{asked}");
            vec![(knots[0].false_alarms, truth(2)), (knots[0].misses, truth(4))]
        }
        "belief" => {
            let only = WorstCase::new(vec![Arc::new(Case::new(vec![], groups(case)))], None, Effort::Normal);
            vec![(Attack::best(&only, &alpha()?, &exact(&asked[2]))?.posterior.bounds(), truth(3))]
        }
        other => panic!("{other}"),
    };
    let judge = |(bounds, truth): (Bounds<Magnitude>, Truth)| {
        let (a, b) = bounds.to_decimal();
        let wrong = || format!("{asked} but [{a}, {b}] {} {}", case["direction"], case["composition"]);
        let width = if bounds.upper().is_zero() { 0.0 } else { bounds.relative_width() };
        Answer { kind: kind.into(), wrong: (!holds(&bounds, &truth)).then(wrong), width }
    };
    Ok(found.into_iter().map(judge).collect())
}

/// δ, ε, both tails, f(α), power, knots and beliefs of compositions of all kinds.
#[test]
fn every_fresh_answer_is_inside() {
    let cases = section("cases");
    let found: Vec<Answer> = parallel::map(&cases, answers).into_iter().flatten().collect();
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for answer in &found {
        kinds.entry(&answer.kind).or_default().push(answer.width);
    }
    for (kind, widths) in &mut kinds {
        widths.sort_by(f64::total_cmp);
        let (middle, last) = (widths[widths.len() / 2], widths[widths.len() - 1]);
        eprintln!("{kind}: {} answers, width {middle:.1e} in the middle, {last:.1e} at most", widths.len());
        // Half of them are known well: what is compared is not everything and its opposite.
        assert!(middle < 1e-8, "{kind}: {middle:e}");
    }
    let outside: Vec<&String> = found.iter().filter_map(|answer| answer.wrong.as_ref()).collect();
    assert!(outside.is_empty(), "{} of {} outside: {outside:#?}", outside.len(), found.len());
    assert!(kinds.len() == 8, "{:?}", kinds.keys());
}

/// What the published conversions state is not below the formula's exact value, and hardly above it.
#[test]
fn conversions_are_rounded_up() {
    let slightly: Rational = "1e-9".parse().unwrap();
    for case in section("conversions") {
        let rho = Rho::new(exact(&case["rho"])).unwrap();
        let delta = Delta::parse(text(&case["delta"])).unwrap();
        let epsilon = Epsilon::parse(text(&case["epsilon"])).unwrap();
        for conversion in Conversion::ALL {
            let [at_delta, at_epsilon] = [0_usize, 1].map(|i| &case["both"][conversion.name()][i]);
            let (low, high) = enclosure(at_delta);
            let found = Rational::from_f64("", rho.epsilon(conversion, &delta)).unwrap();
            assert!(found >= low, "{conversion} {case}: {}", found.to_f64());
            if *delta.value() < "0.99".parse().unwrap() {
                let slack = &(&(&high + rho.value()) * &slightly) + &"1e-15".parse().unwrap();
                let most = &high + &slack;
                assert!(found <= most, "{conversion} {case}: {}", found.to_f64());
            }
            if at_epsilon.is_null() {
                continue;
            }
            let (low, high) = enclosure(at_epsilon);
            let found = rho.delta(conversion, &epsilon);
            assert!(found >= low.to_magnitude_bounds().0, "{conversion} {case}: {found:?}");
            let most = (&high * &"1.000001".parse().unwrap()).to_magnitude_bounds().1;
            assert!(found <= most, "{conversion} {case}: {found:?}");
        }
    }
}

/// Expected errors are right to eleven digits.
#[test]
fn expected_errors_are_those_of_the_law() {
    for case in section("expected") {
        let law = Law::new(&exact(&case["sigma2"])).unwrap();
        for row in case["counts"].as_array().unwrap() {
            let count = row[0].as_u64().unwrap();
            let found = law.cut(&[count])[0];
            let all = [found.mse, found.mae, found.bias, law.tail(count)];
            for (i, found) in all.into_iter().enumerate() {
                let truth: f64 = text(&row[i + 1]).parse().unwrap();
                assert!((found - truth).abs() <= 1e-11 * truth, "{}: {row} {found:e}", case["sigma2"]);
            }
        }
    }
}

/// Below the factor that calibration returns δ crosses the target, and nowhere else near it.
#[test]
fn calibrated_factors_enclose_the_crossing() {
    for case in section("calibrations") {
        let made = Composition::new(super::groups(&case["groups"])).unwrap();
        let epsilon = Epsilon::parse(text(&case["epsilon"])).unwrap();
        let target = Target { epsilon, delta: Delta::parse(text(&case["delta"])).unwrap() };
        let (misses, meets) = (exact(&case["factor"][0]), exact(&case["factor"][1]));
        let found = made.smallest_scale(&target).unwrap();
        let failing = found.failing.unwrap();
        assert!(found.satisfying > misses && failing < meets, "{case}: {} {failing}", found.satisfying);
        let gap = (&found.satisfying / &failing).to_f64_bounds().1 - 1.0;
        assert!(gap < 1e-8, "{case}: {gap:e}");
    }
}

/// A δ that rounding cannot tell from what is revealed for certain has an error, not an infinite ε.
#[test]
fn a_delta_next_to_what_is_revealed_is_refused() {
    let made = Described::parse("approximate_dp:epsilon=13/853,delta=5e-9,count=16").unwrap();
    let made = Composition::new([(made.mechanism, made.count)]).unwrap();
    let next = "799999970000000699999988625000136499998749e-49";
    let error = made.epsilon(&Delta::parse(next).unwrap()).unwrap_err().to_string();
    assert!(error.contains("a delta that can be told from 8.0000000000000015e-8"), "{error}");
    let found = made.epsilon(&Delta::parse("9e-8").unwrap()).unwrap();
    assert!(found.upper() < 16.0 * 13.0 / 853.0 + 1e-12 && found.lower() > 0.2, "{found:?}");
    // A sample whose largest loss is known to be small only by its limit.
    let sample = r#"{"direction": "add", "composition": [{"kind": "subsampled_discrete_gaussian", "count": 1,
        "sigma2": "13/22", "shift": 1, "q": "1/2500"}]}"#;
    let made = Composition::new(groups(&serde_json::from_str(sample).unwrap())).unwrap();
    let made = made.in_direction(Direction::Add).unwrap();
    match made.epsilon(&Delta::parse("1e-500").unwrap()) {
        Ok(found) => assert!(found.lower() < 0.000_400_1 && found.upper().is_finite(), "{found:?}"),
        Err(error) => assert!(error.to_string().contains("a finite epsilon can be certified"), "{error}"),
    }
}
