//! The truth lies inside: exact reference values against the bounds of every method.

use super::*;
use crate::mechanism::DiscreteGaussian;

struct Case {
    name: String,
    groups: Vec<(Mechanism, u128)>,
    points: Vec<Truth>,
}

struct Truth {
    epsilon: String,
    delta: Rational,
    p_tail: Rational,
    q_tail: Rational,
}

fn profiles() -> Option<Vec<Case>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference/profiles.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("SKIPPED: ../shared/reference/profiles.json is not here");
        return None;
    };
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = json["cases"].as_array().unwrap();
    let exact = |v: &serde_json::Value| v.as_str().unwrap().parse::<Rational>().unwrap();
    Some(
        cases
            .iter()
            .map(|case| Case {
                name: case["name"].as_str().unwrap().into(),
                groups: case["groups"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|g| {
                        let shift = g["shift"].as_u64().unwrap();
                        let noise = DiscreteGaussian::new(exact(&g["sigma2"]), shift).unwrap();
                        (noise.into(), u128::from(g["count"].as_u64().unwrap()))
                    })
                    .collect(),
                points: case["points"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|p| Truth {
                        epsilon: p["epsilon"].as_str().unwrap().into(),
                        delta: exact(&p["delta"]),
                        p_tail: exact(&p["p_tail"]),
                        q_tail: exact(&p["q_tail"]),
                    })
                    .collect(),
            })
            .collect(),
    )
}

#[test]
fn probe() {
    let Some(cases) = profiles() else { return };
    for case in cases {
        let a = Accountant::new(&case.groups);
        let name = &case.name;
        for truth in &case.points {
            let at = Point::new(truth.epsilon.parse().unwrap());
            for (what, b, t) in [
                ("d", a.delta(&at, 1e-6).delta, &truth.delta),
                ("p", a.p_tail(&at, 1e-6), &truth.p_tail),
                ("q", a.q_tail(&at, 1e-6), &truth.q_tail),
            ] {
                let ok = b.lower().to_rational() <= *t && *t <= b.upper().to_rational();
                let w = b.relative_width();
                if !ok || w > 1e-11 {
                    println!("{name} {what}({}) {:?} ok={ok} width={w:.1e} {:?} truth={}", truth.epsilon, a.method(), b, t.to_f64());
                }
            }
        }
    }
}

#[test]
fn debug_one() {
    for (s, n, e, s2nd) in [("1", 1, "0", None), ("1/6", 1, "23.6811", Some("10/81"))] {
        let mut groups: Vec<(Mechanism, u128)> = vec![(DiscreteGaussian::parse(s, "1").unwrap().into(), n)];
        if let Some(s) = s2nd { groups.push((DiscreteGaussian::parse(s, "1").unwrap().into(), 1)); }
        let a = Accountant::new(&groups);
        let at = Point::new(e.parse().unwrap());
        println!("== {s}"); 
        println!("{:?}", a.delta(&at, 1e-6).delta);
        println!("{:?}", a.p_tail(&at, 1e-6));
        println!("{:?}", a.lattice().unwrap().1);
    }
}
