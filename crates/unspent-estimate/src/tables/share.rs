//! Whole shares of one total, nearest to given numbers.
//!
//! The *step* of an entry from y − 1 to y costs 2(y − near) − 1. Steps of an entry become dearer by 2 each,
//! so the cheapest steps of all entries together are the optimum (Lemma W1 of `theory/tables.md`).

use std::cmp::Ordering;

/// What separates the steps that are taken from those that are not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The dearest step that could be taken back.
    pub taken: f64,
    /// The cheapest step that could be taken next.
    pub next: f64,
}

impl Cut {
    /// A price between both.
    pub fn price(self) -> f64 {
        match (self.taken.is_finite(), self.next.is_finite()) {
            (true, true) => self.taken + (self.next - self.taken) / 2.0,
            (true, false) => self.taken,
            (false, true) => self.next,
            (false, false) => 0.0,
        }
    }
}

/// Fills `to` with whole numbers between the bounds of each entry that add up to `total` and are nearest to
/// `near`. Of equal steps that of the smaller index is taken first. Lower bounds are not negative. False if
/// the bounds do not allow the total; then `to` is worth nothing.
pub(super) fn share(
    total: i64,
    near: impl Fn(usize) -> f64,
    bounds: impl Fn(usize) -> (i64, i64),
    to: &mut [i64],
    steps: &mut Vec<(f64, u32)>,
) -> bool {
    let fill = |to: &mut [i64], shift: f64| -> i64 {
        let mut sum = 0i64;
        for (at, y) in to.iter_mut().enumerate() {
            let (lower, upper) = bounds(at);
            // Cut off towards zero: the same as the floor, for what is not negative.
            *y = ((near(at) + shift) as i64).min(upper.min(total)).max(lower);
            sum = sum.saturating_add(*y);
        }
        total - sum
    };
    // Whole parts: all steps that cost at most −1. A shift of all numbers changes nothing but where we start.
    let mut missing = fill(to, 0.0);
    let few = to.len() as i64;
    if missing < -few || missing > few {
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for at in 0..to.len() {
            let (lower, upper) = bounds(at);
            low = low.min(lower as f64 - near(at));
            high = high.max(upper.min(total) as f64 - near(at) + 1.0);
        }
        for _ in 0..100 {
            let middle = low + (high - low) / 2.0;
            missing = fill(to, middle);
            match (missing < 0, missing > few) {
                (true, _) => high = middle,
                (_, true) => low = middle,
                _ => break,
            }
        }
    }
    while missing != 0 {
        let up = missing > 0;
        // Towards the total: the cheapest steps up, or the dearest taken back. No entry makes its second step
        // before another makes a first one that is less than 2 away from the best.
        let cost = |at: usize, y: i64| match up {
            true => 2.0 * (y as f64 - near(at)) + 1.0,
            false => 1.0 - 2.0 * (y as f64 - near(at)),
        };
        steps.clear();
        let (mut best, mut worst) = (f64::INFINITY, f64::NEG_INFINITY);
        for (at, y) in to.iter().enumerate() {
            let (lower, upper) = bounds(at);
            if if up { *y < upper } else { *y > lower } {
                let cost = cost(at, *y);
                best = best.min(cost);
                worst = worst.max(cost);
                steps.push((cost, at as u32));
            }
        }
        if steps.is_empty() {
            return false;
        }
        if worst > best + 2.0 {
            steps.retain(|(cost, _)| *cost <= best + 2.0);
        }
        let count = steps.len().min(missing.unsigned_abs() as usize);
        if count < steps.len() {
            steps.select_nth_unstable_by(count - 1, by_cost);
        }
        for (_, at) in &steps[..count] {
            to[*at as usize] += if up { 1 } else { -1 };
        }
        missing -= if up { count as i64 } else { -(count as i64) };
    }
    true
}

fn by_cost(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// The cut of shares that are not bounded above.
pub(super) fn cut(near: impl Fn(usize) -> f64, shares: &[i64]) -> Cut {
    let mut cut = Cut { taken: f64::NEG_INFINITY, next: f64::INFINITY };
    for (at, y) in shares.iter().enumerate() {
        let middle = 2.0 * (*y as f64 - near(at));
        cut.next = cut.next.min(middle + 1.0);
        if *y > 0 {
            cut.taken = cut.taken.max(middle - 1.0);
        }
    }
    cut
}
