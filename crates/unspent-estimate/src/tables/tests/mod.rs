//! Against everything that small cases allow.

mod flow;
mod limits;
mod project;
mod rounding;

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Below a bound.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn count(&mut self, most: i64) -> i64 {
        self.below(most as usize + 1) as i64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() as f64 / (1u64 << 48) as f64)
    }
}

fn cost(whole: &[i64], near: &[f64]) -> f64 {
    assert_eq!(whole.len(), near.len());
    whole.iter().zip(near).map(|(y, near)| (*y as f64 - near).powi(2)).sum()
}

/// All lists of so many whole numbers from 0 to `most`.
fn every(length: usize, most: i64) -> impl Iterator<Item = Vec<i64>> {
    let base = most as usize + 1;
    (0..base.pow(length as u32)).map(move |number| {
        let digit = |at: usize| (number / base.pow(at as u32) % base) as i64;
        (0..length).map(digit).collect()
    })
}
