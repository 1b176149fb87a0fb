//! Small models: with a few bits at a time, every string of bits can be tried.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use dashu_int::IBig;

use super::super::level::{Level, Steps, Words};
use super::super::oracle::{self, fixed};
use super::{PRECISION, form, ratio};

/// A few bits at a time, and then no more.
struct Bits<'a> {
    pieces: &'a [u32],
    more: u32,
}

/// What is thrown when there are no more bits.
struct Exhausted;

impl Words for Bits<'_> {
    fn next(&mut self) -> u32 {
        let Some((piece, rest)) = self.pieces.split_first() else { resume_unwind(Box::new(Exhausted)) };
        self.pieces = rest;
        // The level takes the first bits of a word; the others are there to be ignored.
        piece << (32 - self.more) | (u32::MAX.unbounded_shr(self.more) & 0x5a5a_5a5a)
    }
}

/// What a string of bits means, if it is long enough.
fn run(level: &Level, v: u32, pieces: &[u32], more: u32) -> Option<u64> {
    match catch_unwind(AssertUnwindSafe(|| level.draw(v, &mut Bits { pieces, more }))) {
        Ok(m) => Some(m),
        Err(thrown) if thrown.is::<Exhausted>() => None,
        Err(thrown) => resume_unwind(thrown),
    }
}

/// Masses by value, in strings of one length; and what is not decided.
#[derive(Clone, Debug, Default, PartialEq)]
struct Masses {
    decided: Vec<u64>,
    undecided: u64,
}

impl Masses {
    fn add(&mut self, m: Option<u64>, strings: u64) {
        let Some(m) = m else {
            self.undecided += strings;
            return;
        };
        if self.decided.len() <= m as usize {
            self.decided.resize(m as usize + 1, 0);
        }
        self.decided[m as usize] += strings;
    }

    /// Every probability lies between what is decided and what may still be.
    fn check(&self, truth: &oracle::Level, total: u32) {
        assert_eq!(self.decided.iter().sum::<u64>() + self.undecided, 1 << total);
        for (m, p) in truth.chances.iter().enumerate() {
            let decided = self.decided.get(m).copied().unwrap_or(0);
            let [low, high] = [decided, decided + self.undecided]
                .map(|n| IBig::from(n) << (truth.fraction - total as usize));
            let p = fixed(p, truth.fraction);
            assert!(low <= p && p < high, "{m}: {decided} and {} undecided", self.undecided);
        }
        assert!(self.decided.len() <= truth.chances.len());
    }
}

/// Forms by name: of σ² or, after `b=`, of b, folded or not; `digit b` is one of four values.
fn form_of(name: &str, folded: bool) -> oracle::Form {
    match (name.strip_prefix("b="), name.strip_prefix("digit ")) {
        (Some(scale), _) => oracle::Form::geometric(ratio(scale).inverse(), folded),
        (_, Some(scale)) => oracle::Form::digit(ratio(scale).inverse(), 4),
        _ => oracle::Form::gaussian(ratio(name).times(2, 1).inverse(), folded),
    }
}

fn models() -> Vec<(&'static str, bool, Steps)> {
    let mut models = vec![];
    for name in ["1e-3", "0.1", "1", "5", "b=0.01", "b=0.3", "b=1", "b=3", "digit 5/3", "digit 33"] {
        for folded in [true, false] {
            for (first, more) in [(6, 4), (1, 1), (3, 2), (8, 3)] {
                models.push((name, folded, Steps { first, more }));
            }
        }
    }
    // No integers at all: everything is decided by the remainder.
    models.push(("456.62", true, Steps { first: 4, more: 4 }));
    models.push(("b=40", false, Steps { first: 4, more: 4 }));
    models
}

fn build(name: &str, folded: bool, steps: Steps) -> (Level, oracle::Level) {
    let truth = form_of(name, folded);
    (Level::new(form(&truth), steps), oracle::Level::new(&truth, steps.first, PRECISION))
}

/// All strings that begin with `v` and `pieces`; those that are decided early count for all that begin like
/// them.
fn explore(
    level: &Level,
    truth: &oracle::Level,
    steps: Steps,
    v: u32,
    pieces: &mut Vec<u32>,
    masses: &mut [Masses],
) {
    let found = run(level, v, pieces, steps.more);
    let depth = pieces.len();
    let expected = truth.first(v).or_else(|| {
        let whole = IBig::from(v.checked_sub(truth.end()).filter(|_| depth > 0)?);
        let y = pieces.iter().fold(whole, |y, bits| (y << steps.more as usize) + IBig::from(*bits));
        truth.decide(&y, depth * steps.more as usize)
    });
    assert_eq!(found, expected, "{v} {pieces:?}");
    if let Some(m) = found {
        for (further, masses) in masses[depth..].iter_mut().enumerate() {
            masses.add(Some(m), 1 << (steps.more as usize * further));
        }
        return;
    }
    masses[depth].add(None, 1);
    if depth + 1 < masses.len() {
        for bits in 0..1 << steps.more {
            pieces.push(bits);
            explore(level, truth, steps, v, pieces, masses);
            pieces.pop();
        }
    }
}

#[test]
fn all_strings_of_a_length_bracket_every_probability_ever_closer() {
    for (sigma2, folded, steps) in models() {
        let (level, truth) = build(sigma2, folded, steps);
        assert_eq!(level.sums(), truth.sums);
        let depth = if steps.first == 4 { 3 } else { 4 };
        let mut masses = vec![Masses::default(); depth + 1];
        for v in 0..1 << steps.first {
            explore(&level, &truth, steps, v, &mut vec![], &mut masses);
        }
        for (depth, at) in masses.iter().enumerate() {
            let known = depth * steps.more as usize;
            at.check(&truth, steps.first + known as u32);
            // What is left undecided are the strings on an edge, and those of a tail: not one more.
            let mut open: BTreeSet<IBig> =
                truth.edges.iter().map(|edge| edge >> (truth.fraction - known)).collect();
            if truth.last.is_none() {
                open.insert((IBig::from(truth.rest()) << known) - IBig::from(1));
            }
            let all = if depth == 0 { u64::from(truth.rest()) } else { open.len() as u64 };
            assert_eq!(at.undecided, all, "{sigma2} {folded} {steps:?}");
        }
        let share =
            |depth: usize| masses[depth].undecided as f64 / 2f64.powi((depth * steps.more as usize) as i32);
        // And they become fewer.
        assert!((1..masses.len()).all(|depth| share(depth) <= share(depth - 1)));
        assert!(share(depth) < share(0), "{sigma2} {folded} {steps:?}");
    }
}

#[test]
fn strings_that_are_all_run_have_the_masses_of_those_that_were_cut_short() {
    for (sigma2, folded) in
        [("0.1", true), ("5", true), ("5", false), ("20", true), ("b=2", true), ("digit 7", false)]
    {
        let steps = Steps { first: 6, more: 2 };
        let (level, truth) = build(sigma2, folded, steps);
        let mut cut = vec![Masses::default(); 4];
        let mut all = Masses::default();
        for v in 0..1 << steps.first {
            explore(&level, &truth, steps, v, &mut vec![], &mut cut);
            for string in 0u32..1 << 6 {
                let pieces = [string >> 4, string >> 2 & 3, string & 3];
                all.add(run(&level, v, &pieces, steps.more), 1);
            }
        }
        assert_eq!(all, cut[3]);
        all.check(&truth, 12);
    }
}

#[test]
fn a_model_with_a_unit_moved_does_not_bracket() {
    let steps = Steps { first: 8, more: 4 };
    let (level, truth) = build("5", true, steps);
    for j in 0..level.sums().len() - 1 {
        let mut sums = level.sums().to_vec();
        sums[j] += 1;
        let moved = level.with_sums(sums);
        let mut all = Masses::default();
        for v in 0..1 << steps.first {
            for string in 0u32..1 << 8 {
                all.add(run(&moved, v, &[string >> 4, string & 15], steps.more), 1);
            }
        }
        assert!(catch_unwind(|| all.check(&truth, 16)).is_err(), "threshold {j}");
    }
}
