//! Values from outside, and the bounds around them.

use serde_json::Value;

use crate::mechanism::{
    ApproximateDp, Base, DiscreteGaussian, DiscreteLaplace, Finite, Gaussian, Laplace, Mechanism,
    RandomisedResponse, Subsampled, TruncatedDiscreteGaussian, Truth,
};
use crate::number::Rational;
use crate::oracle;
use crate::profile::{Direction, Point};
use crate::{Composition, Epsilon};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn number(value: &Value, key: &str) -> Rational {
    match &value[key] {
        Value::String(text) => text.parse().unwrap(),
        other => other.to_string().parse().unwrap(),
    }
}

fn masses(value: &Value) -> Vec<Rational> {
    value.as_array().unwrap().iter().map(|m| m.as_str().unwrap().parse().unwrap()).collect()
}

fn mechanism(value: &Value) -> Mechanism {
    let kind = text(value, "kind");
    let shift = || value.get("shift").map_or(Rational::from(1u64), |_| number(value, "shift"));
    let whole = || shift().to_f64() as u64;
    let base = |kind: &str| match kind {
        "gaussian" => Base::Gaussian(Gaussian::new(number(value, "sigma2"), shift()).unwrap()),
        "discrete_gaussian" => {
            Base::DiscreteGaussian(DiscreteGaussian::new(number(value, "sigma2"), whole()).unwrap())
        }
        "laplace" => Base::Laplace(Laplace::new(number(value, "scale"), shift()).unwrap()),
        "discrete_laplace" => {
            Base::DiscreteLaplace(DiscreteLaplace::new(number(value, "scale"), whole()).unwrap())
        }
        other => panic!("{other}"),
    };
    if let Some(name) = kind.strip_prefix("subsampled_") {
        return Subsampled::new(base(name), number(value, "q")).unwrap().into();
    }
    match kind {
        "randomised_response" => {
            let truth = if value.get("truth").is_some() {
                Truth::Probability(number(value, "truth"))
            } else {
                Truth::Epsilon(number(value, "epsilon"))
            };
            RandomisedResponse::new(number(value, "k").to_f64() as u64, truth).unwrap().into()
        }
        "pure_dp" => ApproximateDp::new(number(value, "epsilon"), Rational::from(0u64)).unwrap().into(),
        "approximate_dp" => {
            ApproximateDp::new(number(value, "epsilon"), number(value, "delta")).unwrap().into()
        }
        "finite" => Finite::new(masses(&value["p"]), masses(&value["q"])).unwrap().into(),
        "truncated_discrete_gaussian" => {
            let bound = number(value, "bound").to_f64() as u64;
            TruncatedDiscreteGaussian::new(number(value, "sigma2"), whole(), bound).unwrap().into()
        }
        _ => base(kind).into(),
    }
}

/// Every value of the reference lies within its bounds.
#[test]
fn reference_values_of_other_mechanisms_are_inside() {
    let mut outside = vec![];
    for case in oracle::file("mechanisms.json")["cases"].as_array().unwrap() {
        let groups: Vec<(Mechanism, u64)> = case["composition"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| (mechanism(part), part["count"].as_u64().unwrap()))
            .collect();
        let direction = match text(case, "direction") {
            "both" => Direction::Both,
            "remove" => Direction::Remove,
            _ => Direction::Add,
        };
        let made = Composition::new(groups).unwrap().in_direction(direction).unwrap();
        let epsilon: Rational = text(case, "epsilon").parse().unwrap();
        let start = std::time::Instant::now();
        let found = made.accountant().delta(&Point::new(epsilon.clone()), 1e-6).delta;
        let time = start.elapsed();
        let again = std::time::Instant::now();
        let _ = made.delta(&Epsilon::new(epsilon.clone()).unwrap());
        let again = again.elapsed();
        let truth: Rational = text(case, "delta").parse().unwrap();
        // An exact value says no number of digits.
        let digits = case["certain_digits"].as_i64().unwrap_or(100);
        let slack = &truth * &Rational::power_of_ten(2 - digits as i32);
        let low = (&truth - &slack).to_magnitude_bounds().0;
        let high = (&truth + &slack).to_magnitude_bounds().1;
        let ok = found.lower() <= high && low <= found.upper();
        let (a, b) = found.to_decimal();
        let line = format!(
            "{} {} {} {:?} width {:.1e} {:?} {:?} {} [{a}, {b}] {}",
            if ok { "ok " } else { "OUT" },
            text(case, "name"),
            text(case, "direction"),
            made.method(),
            found.relative_width(),
            time,
            again,
            epsilon.to_f64(),
            text(case, "delta")
        );
        eprintln!("{line}");
        if !ok {
            outside.push(line);
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
}
