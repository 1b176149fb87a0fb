//! Random offers, trees and needs. Everything follows from the seed.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use unspent::{Allocation, Rational};

use crate::design::compile::Compiled;
use crate::design::{Goal, Law, Need, Needs, Quantity, Rest, Selection, UnitSet, Units};

/// Splitmix64.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn chance(&mut self, part: f64) -> bool {
        self.unit() < part
    }

    /// Over so many orders of magnitude, around 1.
    pub(super) fn magnitude(&mut self, orders: f64) -> f64 {
        pxfm::f_exp10(orders * (self.unit() - 0.5))
    }
}

/// How many cases a test takes: by default few enough for every day.
pub(super) fn cases(usual: usize) -> usize {
    let times = std::env::var("UNSPENT_DESIGN_CASES").ok().map(|cases| cases.parse().expect("a number"));
    times.unwrap_or(usual)
}

/// What there is of an attribute: its values, and recodes with the group of each value.
struct Attribute {
    size: usize,
    recodes: Vec<Vec<Option<usize>>>,
}

/// An offer as text: attributes, recodes that may cross or leave values out, structural zeros, queries, exact
/// totals and other exact queries.
pub(super) fn offer(draw: &mut Draw, levels: usize, cells: usize, plain: bool) -> Allocation {
    loop {
        let text = offer_text(draw, levels, cells, plain);
        // Some recodes or structural zeros are refused: a group without values, nothing that can occur.
        if let Ok(found) = Allocation::parse("random.toml", &text) {
            return found;
        }
    }
}

fn offer_text(draw: &mut Draw, levels: usize, cells: usize, plain: bool) -> String {
    let mut attributes: Vec<Attribute> = vec![];
    let mut room = cells;
    for _ in 0..1 + draw.below(3) {
        let size = 1 + draw.below(4.min(room));
        room /= size;
        let mut recodes = vec![];
        for _ in 0..draw.below(3) {
            let groups = 1 + draw.below(size);
            let group = |draw: &mut Draw| (!draw.chance(0.1)).then(|| draw.below(groups));
            recodes.push((0..size).map(|_| group(draw)).collect());
        }
        attributes.push(Attribute { size, recodes: if plain { vec![] } else { recodes } });
    }
    let mut text = String::from("name = 'Random'\n");
    text += if draw.chance(0.5) { "neighbours = 'bounded'\n" } else { "neighbours = 'add-remove'\n" };
    let exact: Vec<String> =
        (0..levels).filter(|_| !plain && draw.chance(0.15)).map(|level| format!("'l{level}'")).collect();
    if !exact.is_empty() {
        text += &format!("exact_totals = [{}]\n", exact.join(", "));
    }
    text += "[attributes]\n";
    for (a, attribute) in attributes.iter().enumerate() {
        let values: Vec<String> = (0..attribute.size).map(|value| format!("'{value}'")).collect();
        text += &format!("a{a} = [{}]\n", values.join(", "));
    }
    for (a, attribute) in attributes.iter().enumerate() {
        for (r, groups) in attribute.recodes.iter().enumerate() {
            text += &format!("[recodes.a{a}r{r}]\nof = 'a{a}'\n[recodes.a{a}r{r}.groups]\n");
            for group in 0..attribute.size {
                let members: Vec<String> = (0..attribute.size)
                    .filter(|value| groups[*value] == Some(group))
                    .map(|value| format!("'{value}'"))
                    .collect();
                if !members.is_empty() {
                    text += &format!("g{group} = [{}]\n", members.join(", "));
                }
            }
        }
    }
    let several: Vec<usize> = (0..attributes.len()).filter(|a| attributes[*a].size > 1).collect();
    if !plain && several.len() > 1 && draw.chance(0.4) {
        let first = draw.below(several.len());
        let second = (first + 1 + draw.below(several.len() - 1)) % several.len();
        let [first, second] = [several[first], several[second]];
        let values = [first, second].map(|a| draw.below(attributes[a].size));
        text += &format!(
            "[[impossible]]\nname = 'never'\nwhere = {{ a{first} = ['{}'], a{second} = ['{}'] }}\n",
            values[0], values[1]
        );
    }
    let mut queries: Vec<Vec<String>> = vec![];
    if draw.chance(0.6) {
        queries.push((0..attributes.len()).map(|a| format!("a{a}")).collect());
    }
    for _ in 0..1 + draw.below(4) {
        let mut by = vec![];
        for (a, attribute) in attributes.iter().enumerate() {
            match draw.below(5) {
                0 | 1 => {}
                2 | 3 => by.push(format!("a{a}")),
                _ if attribute.recodes.is_empty() => {}
                _ => by.push(format!("a{a}r{}", draw.below(attribute.recodes.len()))),
            }
        }
        if !queries.contains(&by) {
            queries.push(by);
        }
    }
    let invariant = (!plain && draw.chance(0.15)).then(|| (draw.below(levels), draw.below(queries.len())));
    if let Some((level, query)) = invariant {
        text += &format!("[[invariants]]\nlevel = 'l{level}'\nquery = 'q{query}'\n");
    }
    text += "[queries]\n";
    for (q, by) in queries.iter().enumerate() {
        let by: Vec<String> = by.iter().map(|name| format!("'{name}'")).collect();
        text += &format!("q{q} = [{}]\n", by.join(", "));
    }
    for level in 0..levels {
        text += &format!("[[levels]]\nname = 'l{level}'\nsigma2 = {{ q0 = 1 }}\n");
    }
    text
}

/// Numbers of units of levels: whole numbers of units in each, or any.
pub(super) fn units(draw: &mut Draw, levels: usize, whole: bool, largest: u64) -> Vec<u64> {
    loop {
        let mut units = vec![if draw.chance(0.7) { 1 } else { 1 + draw.below(4) as u64 }];
        for _ in 1..levels {
            let above = *units.last().expect("the first");
            let next = match (whole, draw.below(8)) {
                (true, _) => above * (1 + draw.below(4) as u64),
                (false, 0) => above,
                (false, 1) => above * (1 + draw.below(1_000) as u64),
                (false, _) => above + draw.below(4 * above as usize + 1) as u64,
            };
            units.push(next);
        }
        if *units.last().expect("the last") <= largest {
            return units;
        }
    }
}

/// Which variables are measured, and how precisely: over six orders of magnitude. With few bits, so that
/// dense systems in fractions stay small.
pub(super) fn precisions(draw: &mut Draw, variables: usize) -> Vec<Option<BigRational>> {
    let part = [0.3, 0.6, 1.0][draw.below(3)];
    let orders = if draw.chance(0.7) { 6.0 } else { 1.0 };
    let mut found: Vec<Option<BigRational>> = vec![None; variables];
    while found.iter().all(Option::is_none) {
        for precision in &mut found {
            let exponent = pxfm::f_log2(draw.magnitude(orders)).round() as i32;
            let power = BigRational::from_integer(BigInt::from(2)).pow(exponent);
            let value = BigRational::new((8 + draw.below(8)).into(), 8.into()) * power;
            *precision = draw.chance(part).then_some(value);
        }
    }
    found
}

/// A number of three digits.
pub(super) fn digits(value: f64) -> Rational {
    format!("{value:.2e}").parse().expect("a number")
}

/// Values of some attributes.
pub(super) fn selection(draw: &mut Draw, offer: &Allocation, part: f64) -> Selection {
    let mut chosen = Selection::default();
    for (at, attribute) in offer.schema().expect("a schema").attributes().iter().enumerate() {
        if draw.chance(part) {
            let count = attribute.values.len();
            let mut values: Vec<u32> = (0..count as u32).filter(|_| draw.chance(0.5)).collect();
            if values.is_empty() {
                values.push(draw.below(count) as u32);
            }
            chosen.0.insert(at, values);
        }
    }
    chosen
}

/// Whole units of some levels, as far as there is room for them.
pub(super) fn parts(draw: &mut Draw, units: &[u64], level: usize) -> BTreeMap<usize, u64> {
    let mut parts = BTreeMap::new();
    let mut left = BigRational::one();
    for (at, there) in units.iter().enumerate().take(level + 1) {
        let room = (&left * BigInt::from(*there)).floor().to_u64().expect("a count").min(6);
        let needed = at == level && parts.is_empty();
        if room > 0 && (needed || draw.chance(0.5)) {
            let count = 1 + draw.below(room as usize) as u64;
            left -= BigRational::new(count.into(), (*there).into());
            parts.insert(at, count);
        }
    }
    parts
}

/// Something that must be known, of a set of units only if there may be one.
pub(super) fn need(draw: &mut Draw, offer: &Allocation, units: &[u64], sets: bool) -> Need {
    let level = draw.below(units.len());
    let margin = digits(10.0 * draw.magnitude(1.5));
    let quantity = match draw.below(4) {
        0 | 1 => {
            Quantity::Table { by: offer.queries()[draw.below(offer.queries().len())].by.clone(), margin }
        }
        2 => Quantity::Count { of: selection(draw, offer, 0.7), margin },
        _ => Quantity::Share {
            of: selection(draw, offer, 0.8),
            among: selection(draw, offer, 0.3),
            margin: digits(0.05 * draw.magnitude(1.0)),
            population: digits(200.0 * draw.magnitude(1.0)),
            about: draw.chance(0.5).then(|| digits(draw.unit())),
        },
    };
    let set = (sets && draw.chance(0.4)).then(|| {
        if draw.chance(0.4) {
            return UnitSet::Parts(parts(draw, units, level));
        }
        let count = 1 + draw.below(units[level].min(40) as usize) as u64;
        if draw.chance(0.5) { UnitSet::Scattered(count) } else { UnitSet::Packed(count) }
    });
    let confidence = ["0.9", "0.95", "0.99"][draw.below(3)].parse().expect("a number");
    Need { name: "random".into(), level, quantity, set, confidence, all: false }
}

/// Needs that the queries on offer can meet.
pub(super) fn needs(draw: &mut Draw) -> Needs {
    loop {
        let levels = 1 + draw.below(4);
        let offer = offer(draw, levels, 24, false);
        let whole = draw.chance(0.5);
        let units = units(draw, levels, whole, 100_000);
        let found: Vec<Need> = (0..1 + draw.below(5)).map(|_| need(draw, &offer, &units, true)).collect();
        let needs = Needs {
            offer,
            units: Units::PerLevel(units),
            delta: "1e-10".parse().expect("a number"),
            goal: Goal::LeastEpsilon,
            law: if draw.chance(0.5) { Law::Normal } else { Law::Guaranteed },
            needs: found,
            rest: Rest::Drop,
            promises: vec![],
        };
        let Ok(compiled) = Compiled::new(&needs.offer, needs.units.per_level(), &needs.needs) else {
            continue;
        };
        let known = compiled.frame.known(&vec![true; compiled.frame.variables.len()]);
        let seen = |need: &Vec<crate::design::compile::Part>| {
            need.iter().all(|part| compiled.frame.are_seen([&part.variance], &known))
        };
        let mut parts = compiled.needs.iter().flatten();
        if compiled.needs.iter().all(seen) && !parts.all(|part| compiled.frame.is_exact(&part.variance)) {
            return needs;
        }
    }
}
