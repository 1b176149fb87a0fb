//! What others expect: values of their own tests, codes and documents (`oracle/external.json`), and our
//! bounds.

#![allow(clippy::disallowed_methods, reason = "doubles with room for their roundings, as others compute")]

use std::collections::BTreeMap;

use serde_json::Value;
use unspent::expected::Law;
use unspent::mechanism::Described;
use unspent::{
    Alpha, Bounds, Composition, Conversion, Delta, Epsilon, Magnitude, Rational, Rho, Round, parallel,
};

use crate::support::{number, preset};

/// The ends of what we say, as fractions.
struct Ends(Rational, Rational);

impl Ends {
    fn exact(value: Rational) -> Ends {
        Ends(value.clone(), value)
    }

    fn doubles(lower: f64, upper: f64) -> Ends {
        let fraction = |end| Rational::from_f64("end", end).unwrap();
        Ends(fraction(lower), fraction(upper))
    }

    fn of(bounds: &Bounds<Magnitude>) -> Ends {
        let (lower, upper) = bounds.to_decimal();
        Ends(small(&lower), small(&upper))
    }

    fn less(self, other: &Ends) -> Ends {
        Ends(&self.0 - &other.1, &self.1 - &other.0)
    }

    fn complement(self) -> Ends {
        Ends::exact(number("1")).less(&self)
    }
}

/// A decimal, or what stands for all below 1e-9000: no value of theirs is so small but 0.
fn small(text: &str) -> Rational {
    let exponent = text.split_once('e').map_or(0, |(_, exponent)| exponent.parse::<i64>().unwrap());
    number(if exponent < -9000 { "1e-9000" } else { text })
}

/// A value as it is given; a double may be written in full.
fn given(case: &Value, key: &str) -> Option<Rational> {
    case.get(key).map(|value| value.as_str().map_or_else(|| number(&value.to_string()), number))
}

fn needed(case: &Value, key: &str) -> Rational {
    given(case, key).unwrap_or_else(|| panic!("{key} in {case}"))
}

fn composition(case: &Value) -> Composition {
    let parts: Vec<Described> = serde_json::from_value(case["mechanisms"].clone()).unwrap();
    Composition::new(parts.into_iter().map(|part| (part.mechanism, part.count))).unwrap()
}

fn is_negative(value: &Rational) -> bool {
    *value < number("0")
}

/// δ at any ε: below 0 by `1 − δ(−ε) = e^{−ε}(1 − δ(ε))`, in doubles with room for their roundings.
fn delta(noise: &Composition, epsilon: &Rational) -> Ends {
    let at = |epsilon: Rational| noise.delta(&Epsilon::new(epsilon).unwrap()).unwrap();
    if !is_negative(epsilon) {
        return Ends::of(&at(epsilon.clone()));
    }
    let found = at(&number("0") - epsilon).to_f64();
    let factor = epsilon.to_f64().exp();
    Ends::doubles(1.0 - factor * (1.0 - found.lower()) - 1e-14, 1.0 - factor * (1.0 - found.upper()) + 1e-14)
}

/// `Q[L > x]`, or `Q[L ≥ x]`, at any x. The noise is symmetric: −L under P is L under Q.
fn above(noise: &Composition, x: &Rational, closed: bool) -> Ends {
    let tiny = number("1e-30");
    let tail = |x: Rational, present: bool| {
        let x = Epsilon::new(x).unwrap();
        Ends::of(&if present { noise.q_tail(&x) } else { noise.p_tail(&x) }.unwrap())
    };
    let opposite = &number("0") - x;
    match (is_negative(x), closed) {
        (false, false) => tail(x.clone(), true),
        (false, true) if *x > tiny => tail(x - &tiny, true),
        (false, true) => tail(tiny, false).complement(),
        // Q[L > x] = 1 − P[L ≥ −x].
        (true, false) => tail(&opposite - &tiny, false).complement(),
        (true, true) => tail(opposite, false).complement(),
    }
}

/// The mass of Q between two losses.
fn mass(case: &Value) -> Ends {
    let noise = composition(case);
    let from = match given(case, "above") {
        Some(x) => above(&noise, &x, case["closed"] == true),
        None => Ends::exact(number("1")),
    };
    let from = match (given(case, "up to"), given(case, "below")) {
        (Some(x), _) => from.less(&above(&noise, &x, false)),
        (None, Some(x)) => from.less(&above(&noise, &x, true)),
        (None, None) => from,
    };
    from.less(&Ends::exact(given(case, "less").unwrap_or_else(|| number("0"))))
}

/// A law on a grid of losses with our δ at each of them: `δ_i = Σ_{j>i} (1 − e^{ε_i−ε_j}) p_j + p_∞`.
fn connected(case: &Value) -> Ends {
    let noise = composition(case);
    let step = needed(case, "interval");
    let [first, last] = ["first", "last"].map(|key| case[key].as_i64().unwrap());
    let at = |k: i64| {
        let Ends(lower, upper) = delta(&noise, &(&step * &number(&k.to_string())));
        (lower.to_f64() + upper.to_f64()) / 2.0
    };
    let infinity = at(last);
    let mut masses: BTreeMap<i64, f64> = BTreeMap::new();
    for k in (first..last).rev() {
        let gap = |j: i64| -(-(step.to_f64() * (j - k) as f64)).exp_m1();
        let known: f64 = masses.iter().map(|(j, p)| gap(*j) * p).sum();
        masses.insert(k + 1, (at(k) - infinity - known) / gap(k + 1));
    }
    masses.insert(first, 1.0 - infinity - masses.values().sum::<f64>());
    let value = case["index"].as_i64().map_or(infinity, |k| masses[&k]);
    Ends::doubles(value - 1e-12, value + 1e-12)
}

/// Whether the least noise is within the tolerance of theirs: less does not meet the target, more does.
fn least(case: &Value, squared: bool) -> bool {
    let target = needed(case, "delta");
    let meets = |size: Rational| {
        let sigma2 = if squared { size } else { &size * &size };
        let mut changed = case.clone();
        changed["mechanisms"][0]["sigma2"] = sigma2.to_string().into();
        delta(&composition(&changed), &needed(case, "epsilon"))
    };
    let (value, tolerance) = (needed(case, "value"), needed(case, "tolerance"));
    let (less, more) = (meets(&value - &tolerance), meets(&value + &tolerance));
    target <= less.1 && more.0 <= target
}

fn rho(case: &Value) -> Rho {
    Rho::new(needed(case, "rho")).unwrap()
}

/// An upper bound that is computed, rounded up: what it bounds is below by some digits of a double.
fn rounded_up(value: &Rational) -> Ends {
    Ends(value * &number("0.9999999999999"), value.clone())
}

fn answer(case: &Value) -> Ends {
    let conversion = Conversion::CanonneKamathSteinke;
    let alpha = || Alpha::new(needed(case, "at")).unwrap();
    match case["ask"].as_str().unwrap() {
        "delta" => delta(&composition(case), &needed(case, "at")),
        "epsilon" => {
            let found = composition(case).epsilon(&Delta::new(needed(case, "at")).unwrap()).unwrap();
            Ends::doubles(found.lower(), found.upper())
        }
        "mass" => mass(case),
        "connect the dots" => connected(case),
        "tradeoff" => Ends::of(&composition(case).tradeoff(&alpha()).unwrap()),
        "power" => Ends::of(&composition(case).power(&alpha()).unwrap()),
        "zcdp delta" => {
            let found = rho(case).delta(conversion, &Epsilon::new(needed(case, "at")).unwrap());
            rounded_up(&small(&found.to_decimal(17, Round::Up)))
        }
        "zcdp epsilon" => {
            let found = rho(case).epsilon(conversion, &Delta::new(needed(case, "at")).unwrap());
            rounded_up(&Rational::from_f64("epsilon", found).unwrap())
        }
        "rho" => Ends::exact(composition(case).rho().unwrap()),
        "half-width" => {
            let law = Law::new(&needed(case, "sigma2")).unwrap();
            Ends::exact(number(&law.half_width(&needed(case, "at")).unwrap().to_string()))
        }
        "preset rho" => Ends::exact(preset_rho(case)),
        "preset epsilon" => {
            let found = Rho::new(preset_rho(case)).unwrap();
            let found = found.epsilon(conversion, &Delta::new(needed(case, "at")).unwrap());
            rounded_up(&Rational::from_f64("epsilon", found).unwrap())
        }
        other => panic!("{other} is not asked"),
    }
}

fn preset_rho(case: &Value) -> Rational {
    preset(case["preset"].as_str().unwrap()).allocations()[0].rho()
}

/// Whether our bounds meet the value within its tolerance, or are not above a bound of theirs.
fn agrees(case: &Value) -> bool {
    match case["ask"].as_str().unwrap() {
        "least scale" => return least(case, false),
        "least variance" => return least(case, true),
        _ => {}
    }
    let Ends(lower, upper) = answer(case);
    let (value, tolerance) = (needed(case, "value"), needed(case, "tolerance"));
    // One without a tolerance but with many digits is rounded in the last.
    let places = case["value"].as_str().unwrap().split_once('.').map_or(0, |(_, part)| part.len());
    let rounded = tolerance == number("0") && places >= 15;
    let tolerance = if rounded { number(&format!("1e-{places}")) } else { tolerance };
    match case["relation"].as_str() {
        Some("upper") => lower <= &value + &tolerance,
        None => lower <= &value + &tolerance && &value - &tolerance <= upper,
        Some(other) => panic!("{other}"),
    }
}

#[test]
fn values_that_others_expect_agree() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/external.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = file["values"].as_array().unwrap();
    let agreed = parallel::map(cases, agrees);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = vec![];
    for (case, agrees) in cases.iter().zip(agreed) {
        let name = match case["known"].as_str() {
            // What is wrong on their side must be seen to be so.
            Some(reason) if !agrees => format!("{}: theirs is {reason}", case["ask"].as_str().unwrap()),
            None if agrees => format!("{}: agrees", case["ask"].as_str().unwrap()),
            _ => {
                wrong.push(format!("{case} {}", file["sources"][case["from"].as_u64().unwrap() as usize]));
                continue;
            }
        };
        *counts.entry(name).or_default() += 1;
    }
    eprintln!("{counts:#?}\nnot asked: {:#}", file["not_asked"]);
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), cases.len());
    let not_asked: u64 = file["not_asked"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(cases.len() as u64 + not_asked, 1849);
}
