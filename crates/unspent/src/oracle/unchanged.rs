//! Bounds as they have been, to the last bit. What drops an error term, or rounds one part the other way, may
//! leave the truth inside for years: here it shows.
//!
//! `oracle/unchanged.txt` has compositions, and below each what was said of it. `BLESS=1` writes it anew;
//! where that moves an end inward, the reason belongs into the message of the commit.

use std::fmt::Write;

use crate::composition::Composition;
use crate::mechanism::{Described, Mechanism};
use crate::number::{Bounds, Magnitude};
use crate::profile::Method;
use crate::quantity::{Alpha, Delta, Epsilon};

const QUESTIONS: [(&str, &str); 12] = [
    ("delta", "0"),
    ("delta", "1/3"),
    ("delta", "4"),
    ("delta", "70"),
    ("delta", "3000"),
    ("p_tail", "1"),
    ("q_tail", "7"),
    ("epsilon", "1e-9"),
    ("epsilon", "1e-700"),
    ("tradeoff", "0.02"),
    ("tradeoff", "0.6"),
    ("power", "1e-8"),
];

/// What is asked of those that take long, whose names begin with `few`.
const FEW: [(&str, &str); 2] = [("delta", "1/3"), ("delta", "4")];

/// A composition from `direction: kind:parameters …`, or `method: …` for one method alone.
fn composition(text: &str) -> Composition {
    let (first, parts) = text.split_once(": ").unwrap();
    let groups: Vec<(Mechanism, u64)> = parts
        .split_whitespace()
        .map(|part| Described::parse(part).unwrap_or_else(|e| panic!("{part}: {e}")))
        .map(|part| (part.mechanism, part.count))
        .collect();
    if let Some(method) = Method::ALL.into_iter().find(|method| method.name() == first) {
        return Composition::restricted_to(groups, method);
    }
    Composition::new(groups).and_then(|made| made.in_direction(first.parse()?)).unwrap()
}

fn answer(made: &Composition, question: &str, argument: &str) -> crate::Result<String> {
    let all = |found: Bounds<Magnitude>| {
        let [(a, m), (b, n)] = [found.lower().parts(), found.upper().parts()];
        format!("{a}p{m} {b}p{n}")
    };
    Ok(match question {
        "delta" => all(made.delta(&Epsilon::parse(argument)?)?),
        "p_tail" => all(made.p_tail(&Epsilon::parse(argument)?)?),
        "q_tail" => all(made.q_tail(&Epsilon::parse(argument)?)?),
        "tradeoff" => all(made.tradeoff(&Alpha::parse(argument)?)?),
        "power" => all(made.power(&Alpha::parse(argument)?)?),
        _ => {
            let found = made.epsilon(&Delta::parse(argument)?)?;
            format!("{} {}", found.lower(), found.upper())
        }
    })
}

#[test]
fn bounds_are_what_they_were() {
    let path = format!("{}/src/oracle/unchanged.txt", env!("CARGO_MANIFEST_DIR"));
    let before = std::fs::read_to_string(&path).unwrap();
    let mut now = String::new();
    for name in before.lines().filter_map(|line| line.strip_prefix("# ")) {
        writeln!(now, "# {name}").unwrap();
        let few = name.strip_prefix("few ");
        let made = composition(few.unwrap_or(name));
        for (question, argument) in if few.is_some() { &FEW[..] } else { &QUESTIONS } {
            let found = answer(&made, question, argument).unwrap_or_else(|_| "refused".into());
            writeln!(now, "{question} {argument}: {found}").unwrap();
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    for (before, now) in before.lines().zip(now.lines()) {
        assert_eq!(before, now);
    }
    assert_eq!(before.lines().count(), now.lines().count());
}
