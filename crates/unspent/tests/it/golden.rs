//! Every certified number of every preset, to the last digit.
//!
//! A number may change only if a better bound is found on purpose. The tables were written by an earlier
//! program; they are compared as text, so that a difference in the last digit is seen.

use serde_json::Value;
use unspent::{Alpha, Delta, Epsilon, Preset, Scope};

use crate::support::{certificate, expect, expected_in, over_delta, over_epsilon, preset, tradeoff};

/// A field of a report, as it is printed; nothing if there is none.
fn field(value: &Value) -> &str {
    match value {
        Value::Null => "",
        Value::String(text) => text,
        other => panic!("{other} is neither a number in quotation marks nor a name"),
    }
}

fn json(report: impl serde::Serialize) -> Value {
    serde_json::to_value(report).unwrap()
}

#[test]
fn every_certificate_is_the_same_to_the_last_digit() {
    for Preset { name, .. } in Preset::ALL {
        let certificate = json(certificate(&preset(name), None, None));
        let reductions = certificate["reductions"].as_array().unwrap();
        let mut text = String::from(
            "scope,name,delta,bun_steinke,canonne_kamath_steinke,tight_lower,tight_upper,main_path_lower,\
             main_path_upper,factor\n",
        );
        for line in certificate["lines"].as_array().unwrap() {
            let same = |r: &&Value| r["scope"] == line["scope"] && r["name"] == line["name"];
            let factor = reductions.iter().find(same).map_or(&Value::Null, |reduction| &reduction["factor"]);
            let fields = [
                &line["scope"],
                &line["name"],
                &certificate["delta"],
                &line["bun_steinke"],
                &line["canonne_kamath_steinke"],
                &line["tight"]["lower"],
                &line["tight"]["upper"],
                &line["main_path"]["lower"],
                &line["main_path"]["upper"],
                factor,
            ];
            text += &(fields.map(field).join(",") + "\n");
        }
        expect(&format!("golden/{name}.csv"), &text);
    }
    let mut all: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name).chain(["curves"]).collect();
    all.sort_unstable();
    assert_eq!(expected_in("golden"), all);
}

/// δ at five ε, ε at four δ, and f at four α, of the whole of every preset.
#[test]
fn every_curve_is_the_same_to_the_last_digit() {
    let epsilons = ["0", "5", "10", "15", "20"].map(|text| Epsilon::parse(text).unwrap());
    let deltas = ["1e-20", "1e-14", "1e-8", "0.01"].map(|text| Delta::parse(text).unwrap());
    let alphas = ["0.01", "0.1", "0.5", "0.9"].map(|text| Alpha::parse(text).unwrap());
    let mut text = String::from("preset,quantity,at,lower,upper,bun_steinke,canonne_kamath_steinke\n");
    for Preset { name, .. } in Preset::ALL {
        let release = preset(name);
        let curves = [
            ("delta", "epsilon", json(over_epsilon(&release, &Scope::Total, &epsilons))),
            ("epsilon", "delta", json(over_delta(&release, &Scope::Total, &deltas))),
            ("misses", "alpha", json(tradeoff(&release, &Scope::Total, &alphas))),
        ];
        for (quantity, at, curve) in &curves {
            for point in curve["points"].as_array().unwrap() {
                let found = &point[quantity];
                // What was asked is exact.
                let at = point[at].get("lower").unwrap_or(&point[at]);
                let fields = [
                    at,
                    &found["lower"],
                    &found["upper"],
                    &point["bun_steinke"],
                    &point["canonne_kamath_steinke"],
                ];
                text += &format!("{name},{quantity},{}\n", fields.map(field).join(","));
            }
        }
    }
    expect("golden/curves.csv", &text);
}
