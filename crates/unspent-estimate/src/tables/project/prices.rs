//! Prices that give tables their sums where negative counts are cut off (Lemma T3a of `theory/tables.md`).
//!
//! Newton's method finds a price with `Σ max(0, v − price) = must`. The sum is convex and piecewise linear in
//! the price, so that it ends, and with the solution.

use super::Run;
use super::step::Chunk;

/// Most turns of Newton's method. Few are needed; rounding errors must not make it go on for ever.
const MAX_TURNS: usize = 100;

/// Values less a price, for many prices: the sum of the positive ones, how many they are, and the largest of
/// all.
#[derive(Default)]
struct Above {
    sum: Vec<f64>,
    count: Vec<f64>,
    most: Vec<f64>,
}

impl Above {
    fn clear(&mut self, length: usize) {
        for (of, nothing) in
            [(&mut self.sum, 0.0), (&mut self.count, 0.0), (&mut self.most, f64::NEG_INFINITY)]
        {
            of.clear();
            of.resize(length, nothing);
        }
    }

    /// Adds a value to each of some prices.
    fn add(&mut self, start: usize, values: &[f64], prices: &[f64]) {
        let n = values.len();
        let (sum, count) = (&mut self.sum[start..][..n], &mut self.count[start..][..n]);
        let (most, prices) = (&mut self.most[start..][..n], &prices[start..][..n]);
        for i in 0..n {
            let value = values[i] - prices[i];
            sum[i] += if value > 0.0 { value } else { 0.0 };
            count[i] += if value > 0.0 { 1.0 } else { 0.0 };
            most[i] = if value > most[i] { value } else { most[i] };
        }
    }

    /// Adds all values at one price.
    fn push(&mut self, values: &[f64], price: f64) {
        let (mut sum, mut count, mut most) = (0.0, 0.0, f64::NEG_INFINITY);
        for value in values.iter().map(|value| value - price) {
            sum += if value > 0.0 { value } else { 0.0 };
            count += if value > 0.0 { 1.0 } else { 0.0 };
            most = if value > most { value } else { most };
        }
        self.sum.push(sum);
        self.count.push(count);
        self.most.push(most);
    }

    fn join(&mut self, other: &Above) {
        self.sum.iter_mut().zip(&other.sum).for_each(|(x, y)| *x += y);
        self.count.iter_mut().zip(&other.count).for_each(|(x, y)| *x += y);
        self.most.iter_mut().zip(&other.most).for_each(|(x, y)| *x = x.max(*y));
    }

    /// Goes on from a price to the next one. `last` is how many values were above the one before. Whether
    /// this is the solution.
    fn improve(&self, at: usize, must: f64, price: &mut f64, last: &mut f64) -> bool {
        let (sum, count, most) = (self.sum[at], self.count[at], self.most[at]);
        if most == f64::NEG_INFINITY {
            // There are no values.
            return true;
        }
        if count == 0.0 {
            // The largest value alone gives the sum, or more.
            *price += most - must;
            return must == 0.0;
        }
        *price += (sum - must) / count;
        // The same values as at the last price: from there to here the sum is linear.
        std::mem::replace(last, count) == count
    }
}

impl Run<'_> {
    /// Takes a price off the values of each child in each group of cells whose sum is given: what is positive
    /// then has this sum.
    pub(super) fn price_groups(&self, chunk: &mut Chunk, groups: &[u32]) {
        let n = chunk.children.len();
        let allowed = || groups.iter().enumerate().filter(|(cell, _)| self.of.signs.allowed[*cell]);
        let (mut prices, mut last) = (vec![0.0; chunk.sums.len()], vec![0.0; chunk.sums.len()]);
        let mut above = Above::default();
        for _ in 0..MAX_TURNS {
            above.clear(prices.len());
            for (cell, group) in allowed() {
                above.add(*group as usize * n, &chunk.multiplier[cell * n..][..n], &prices);
            }
            let mut done = true;
            for (at, must) in chunk.sums.iter().enumerate() {
                done &= above.improve(at, *must, &mut prices[at], &mut last[at]);
            }
            if done {
                break;
            }
        }
        for (row, group) in chunk.multiplier.chunks_exact_mut(n).zip(groups) {
            row.iter_mut().zip(&prices[*group as usize * n..]).for_each(|(v, price)| *v -= price);
        }
    }

    /// For each cell, the price with which what is positive of the children's values adds up to the parent's
    /// count.
    pub(super) fn cell_prices(&self, chunks: &mut [Chunk]) -> Vec<f64> {
        let mut prices = vec![0.0; self.of.cells()];
        let mut last = prices.clone();
        let mut open: Vec<usize> = (0..prices.len()).filter(|cell| self.of.signs.allowed[*cell]).collect();
        for _ in 0..MAX_TURNS {
            if open.is_empty() {
                break;
            }
            // Chunks are joined in their order, whatever thread they were on.
            let mut above = self.each_mut(chunks, |chunk| {
                let n = chunk.children.len();
                let mut above = Above::default();
                open.iter().for_each(|c| above.push(&chunk.multiplier[c * n..][..n], prices[*c]));
                above
            });
            let (all, others) = above.split_first_mut().expect("there are children");
            others.iter().for_each(|other| all.join(other));
            let found = |(at, cell): (usize, &usize)| {
                let must = self.cell_sums[*cell];
                all.improve(at, must, &mut prices[*cell], &mut last[*cell])
            };
            let found: Vec<bool> = open.iter().enumerate().map(found).collect();
            let mut found = found.into_iter();
            open.retain(|_| !found.next().expect("one for each"));
        }
        prices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_price_has_the_sum() {
        let mut state = 5u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for (length, must) in [(1, 0.0), (1, 7.0), (40, 0.0), (40, 3.0), (2_500, 1.0), (2_500, 1e4)] {
            let values: Vec<f64> = (0..length).map(|_| 30.0 * random()).collect();
            for start in [-1e3, 0.0, 14.0, 1e3] {
                let (mut price, mut last, mut turns) = (start, 0.0, 0);
                let mut found = false;
                while !found {
                    let mut above = Above::default();
                    above.push(&values, price);
                    found = above.improve(0, must, &mut price, &mut last);
                    turns += 1;
                }
                let sum: f64 = values.iter().map(|value| (value - price).max(0.0)).sum();
                assert!((sum - must).abs() <= 1e-12 * must.max(1.0) * length as f64, "{sum} {must}");
                assert!(turns <= 15, "{length} {must} {start}: {turns}");
            }
        }
        // No values, no price.
        let mut above = Above::default();
        above.clear(1);
        assert!(above.improve(0, 0.0, &mut 0.0, &mut 0.0));
    }
}
