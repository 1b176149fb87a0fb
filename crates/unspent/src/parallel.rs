//! Independent questions on all cores.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stop::{self, Installed};

/// `f` of every item, in order, whatever thread it was computed on. All of them run under the
/// [`Stop`](crate::Stop) of this one.
pub fn map<T: Sync, R: Send + Sync>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let answers: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < items.len()) {
            stop::check();
            answers[i].get_or_init(|| f(&items[i]));
        }
    };
    let stop = stop::current();
    std::thread::scope(|scope| {
        let others = 1..std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
        let others: Vec<_> = others
            .map(|_| {
                let stop = stop.clone();
                scope.spawn(move || {
                    let _installed = Installed::new(stop);
                    work();
                })
            })
            .collect();
        work();
        // Joined by hand, so that what unwound one of them goes on here as it is.
        for other in others {
            other.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
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
