//! Independent questions on all cores.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `f` of every item, in order, whatever thread it was computed on.
pub fn map<T: Sync, R: Send + Sync>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let answers: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < items.len()) {
            answers[i].get_or_init(|| f(&items[i]));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from).min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    answers.into_iter().map(|answer| answer.into_inner().expect("every item was taken")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn answers_come_in_order() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(super::map(&items, |i| i * i), items.iter().map(|i| i * i).collect::<Vec<_>>());
        assert!(super::map(&[] as &[u64], |i| *i).is_empty());
    }
}
