//! The largest ε over all cases in fast mode.
//!
//! Where units were bypassed, hundreds of pairs of paths spend the same budget, and their ε agree to a
//! millionth or a billionth. An ε that is so little above the largest that is known serves all that keep it.
//! A record that moves from one path to another has half of what it would have if it moved along either: two
//! paths' own cases answer for the pair (S9).

use std::collections::HashMap;
use std::sync::Arc;

use super::{BLOCK, Case, WorstCase, likeliest_first};
use crate::allocation::Path;
use crate::calibrate::Target;
use crate::error::Result;
use crate::mechanism::Mechanism;
use crate::number::{Bounds, Rational};
use crate::parallel;
use crate::profile::Half;
use crate::quantity::{Delta, Epsilon};

/// By how much, relatively, an ε may be above the largest that was found.
const ABOVE: f64 = 1e-7;

/// What the cases looked at so far prove.
struct Known<'d> {
    delta: &'d Delta,
    /// Certainly not above the largest ε.
    floor: f64,
    /// The largest upper end, and a little more.
    top: f64,
    /// What all are known not to be above.
    upper: f64,
}

/// What is found out about one case.
enum Found {
    Below,
    /// It keeps a little more than the largest upper end so far.
    Kept,
    Ends(Bounds<f64>),
}

impl Known<'_> {
    fn target(&self, epsilon: f64) -> Result<Target> {
        let epsilon = Epsilon::new(Rational::from_f64("epsilon", epsilon)?)?;
        Ok(Target { epsilon, delta: self.delta.clone() })
    }

    fn ceiling(&self) -> f64 {
        self.top * (1.0 + ABOVE)
    }

    fn look(&self, case: &Case) -> Result<Found> {
        // What is plainly smaller need not be known better.
        if case.plainly_meets(&self.target(self.floor)?)? {
            return Ok(Found::Below);
        }
        if !self.top.is_finite() {
            return Ok(Found::Ends(case.glance()?.epsilon_near(self.delta, Some(self.floor))));
        }
        let target = self.target(self.ceiling())?;
        Ok(case.quick_epsilon(&target)?.map_or(Found::Kept, Found::Ends))
    }

    /// Looks at some of the cases; the index of the one with the largest lower end, if that is a new one.
    fn look_at(&mut self, cases: &[Arc<Case>], some: &[usize]) -> Result<Option<usize>> {
        let mut worst = None;
        for block in some.chunks(BLOCK) {
            let all = parallel::map(block, |i| self.look(&cases[*i]));
            let ceiling = self.ceiling();
            for (i, found) in block.iter().zip(all) {
                match found? {
                    Found::Below => {}
                    Found::Kept => self.upper = self.upper.max(ceiling),
                    Found::Ends(ends) => {
                        if ends.lower() > self.floor {
                            worst = Some(*i);
                        }
                        self.floor = self.floor.max(ends.lower());
                        self.top = self.top.max(ends.upper());
                    }
                }
            }
        }
        Ok(worst)
    }
}

impl WorstCase {
    /// ε in fast mode, and the index of a case that has it.
    pub(super) fn largest_epsilon(&self, delta: &Delta) -> Result<(Bounds<f64>, usize)> {
        let (found, worst) = self.largest_epsilon_of(&self.cases, delta)?;
        let lower = match &self.attained {
            None => found.lower(),
            // Neighbours that are known may move nothing at all.
            Some(cases) if cases.is_empty() => 0.0,
            Some(cases) => self.largest_epsilon_of(cases, delta)?.0.lower(),
        };
        Ok((Bounds::new(lower, found.upper()), worst))
    }

    fn largest_epsilon_of(&self, cases: &[Arc<Case>], delta: &Delta) -> Result<(Bounds<f64>, usize)> {
        if let [only] = cases {
            return Ok((self.best_of(only)?.epsilon(delta)?, 0));
        }
        let first = cases[0].glance()?.epsilon_near(delta, None);
        let mut known = Known { delta, floor: first.lower(), top: first.upper(), upper: 0.0 };
        let order = likeliest_first(cases);
        let mut worst = known.look_at(cases, &order[..1])?.unwrap_or(0);
        // Those that stay on their path, then those that go from one to another.
        let stays = |i: &usize| cases[*i].paths().is_some_and(|(from, to)| from == to);
        let (alone, mut others): (Vec<usize>, Vec<usize>) = order[1..].iter().partition(|i| stays(i));
        worst = known.look_at(cases, &alone)?.unwrap_or(worst);
        if others.len() > BLOCK && known.top.is_finite() {
            let target = known.target(known.ceiling())?;
            let own: Vec<usize> = (0..cases.len()).filter(stays).collect();
            let halves = parallel::map(&own, |i| cases[*i].half(&target));
            let mut of: HashMap<&Path, (Half, HashMap<&Mechanism, u64>)> = HashMap::new();
            for (i, half) in own.iter().zip(halves) {
                if let (Some(half), Some((path, _))) = (half?, cases[*i].paths()) {
                    of.insert(path, half);
                }
            }
            let (most, _) = delta.value().to_magnitude_bounds();
            let before = others.len();
            others.retain(|i| {
                let halves = cases[*i].paths().and_then(|(from, to)| of.get(from).zip(of.get(to)));
                !halves.is_some_and(|((a, in_a), (b, in_b))| {
                    a.with(b) <= most && cases[*i].is_within(in_a, in_b)
                })
            });
            if others.len() < before {
                known.upper = known.upper.max(known.ceiling());
            }
        }
        worst = known.look_at(cases, &others)?.unwrap_or(worst);
        Ok((Bounds::new(known.floor, known.upper.max(known.top)), worst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::Effort;
    use crate::{Allocation, Release, Scope};

    /// Levels of which all but the first may be bypassed, with these shares of the budget.
    fn bypassed(rho: &str, shares: &[u32]) -> Release {
        let mut text = format!(
            "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-6\"\nrho = \"{rho}\"\n\
             attributes = [\"a\"]\n[queries]\ntotal = []\nq = [\"a\"]\n[bypass]\nkeep = [\"l0\"]\n"
        );
        let all: u32 = shares.iter().sum();
        for (i, share) in shares.iter().enumerate() {
            text += &format!("[[levels]]\nname = \"l{i}\"\nshare = \"{share}/{all}\"\n[levels.shares]\n");
            text += if i == 0 { "q = 1\n" } else { "total = \"1/3\"\nq = \"2/3\"\n" };
        }
        Allocation::parse("x", &text).unwrap().into()
    }

    /// More pairs of paths than are looked at one by one, beside all of them looked at well.
    #[test]
    fn what_is_found_at_a_glance_is_not_below_any_case() {
        for (rho, shares) in [("3", [1, 1, 1, 1, 1]), ("30", [1, 1, 1, 1, 1]), ("30", [1, 2, 4, 3, 5])] {
            let worst = bypassed(rho, &shares).worst_case(&Scope::Total).unwrap();
            let fast = WorstCase { effort: Effort::Fast, attained: None, ..worst };
            assert!(fast.cases.len() > 2 * BLOCK, "{}", fast.cases.len());
            for delta in ["1e-10", "0.2"] {
                let delta = Delta::parse(delta).unwrap();
                let (found, _) = fast.largest_epsilon(&delta).unwrap();
                let well = |case: &Arc<Case>| case.made(Effort::Normal).unwrap().epsilon(&delta).unwrap();
                let all = parallel::map(&fast.cases, well);
                let lower = all.iter().map(Bounds::lower).fold(0.0, f64::max);
                let upper = all.iter().map(Bounds::upper).fold(0.0, f64::max);
                assert!(lower <= found.upper() && found.lower() <= upper, "{found:?} {lower} {upper}");
                assert!(found.upper() <= lower * 1.01, "{rho} {shares:?}: {found:?} {lower}");
            }
        }
    }
}
