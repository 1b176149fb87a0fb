//! Ending a long computation from outside, because somebody says so or because its time is up, and letting it
//! wait while others are worked on.
//!
//! ```
//! use unspent::stop::Stop;
//! use unspent::{Composition, Delta, DiscreteGaussian};
//! let stop = Stop::new();
//! stop.tell(); // from any thread, at any time
//! let found = stop.run(|| {
//!     let release = Composition::new([(DiscreteGaussian::parse("5", "1")?, 10)])?;
//!     release.epsilon(&Delta::parse("1e-11")?)
//! });
//! assert!(found.unwrap_err().is_stopped());
//! ```
//!
//! Every long loop of this crate calls [`check`]. Inside [`Stop::run`], on its thread and on those of
//! [`parallel::map`](crate::parallel::map), that leaves the computation once the stop was told: the stack is
//! unwound, and `run` returns an error. Nothing is half done then: what a computation keeps for later (in a
//! `OnceLock`) is kept when it is complete. Without a `Stop` nothing is looked at, and nothing ever stops.
//!
//! [`Stop::pause`] lets a computation wait at its next look, on all of its threads, until [`Stop::resume`]:
//! whoever answers many at a time can work on the short ones first, and nothing is worked out twice. A paused
//! computation keeps what it holds. So nothing that another computation waits for, a lock say, may be held
//! where [`check`] is called.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Looks at the flag between two looks at the clock, which cost ten times as much.
const LOOKS: u32 = 64;

/// Tells a computation to end, or to wait. Copies tell the same one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// One of `GOES`, `WAITS` and `ENDS`; changed under the lock.
    told: AtomicU8,
    deadline: Option<(Instant, Duration)>,
    lock: Mutex<()>,
    changed: Condvar,
}

const GOES: u8 = 0;
const WAITS: u8 = 1;
/// The last word.
const ENDS: u8 = 2;

/// What unwinds the stack of a computation that was stopped.
struct Stopped {
    by: Stop,
}

thread_local! {
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

impl Stop {
    /// One that stops when it is told.
    #[must_use]
    pub fn new() -> Stop {
        Stop::default()
    }

    /// One that also stops by itself, so much later than now.
    #[must_use]
    pub fn after(time: Duration) -> Stop {
        // A time beyond what a clock can say never comes.
        let deadline = Instant::now().checked_add(time).map(|end| (end, time));
        Stop(Arc::new(State { deadline, ..State::default() }))
    }

    /// Tells what runs under it to end, and what will.
    pub fn tell(&self) {
        self.0.tell(ENDS);
    }

    /// Lets what runs under it wait, until it is resumed, or ends. Its time goes on.
    pub fn pause(&self) {
        self.0.tell(WAITS);
    }

    /// Lets what was paused go on.
    pub fn resume(&self) {
        self.0.tell(GOES);
    }

    /// The result of `work`, or an error that [is one of being stopped](Error::is_stopped).
    ///
    /// Inside another `run` only the inner stop is looked at. A panic of `work` stays one.
    pub fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let found = catch_unwind(AssertUnwindSafe(|| {
            let _installed = Installed::new(Some(self.clone()));
            // It may be too late already, or the work be so short that it never looks.
            LEFT.set(0);
            check();
            work()
        }));
        found.unwrap_or_else(|panic| match panic.downcast::<Stopped>() {
            Ok(stopped) if Arc::ptr_eq(&stopped.by.0, &self.0) => Err(stopped.into_error()),
            Ok(other) => resume_unwind(other),
            Err(panic) => resume_unwind(panic),
        })
    }
}

impl State {
    fn tell(&self, word: u8) {
        let _held = self.held();
        if self.told.load(Ordering::Relaxed) != ENDS {
            self.told.store(word, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    fn held(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().expect("nothing panics with it")
    }

    /// Whether what runs has to end; waits before, if it is told to.
    #[cold]
    fn is_told_to_end(&self) -> bool {
        let mut held = self.held();
        loop {
            match self.told.load(Ordering::Relaxed) {
                GOES => return false,
                WAITS => {}
                _ => return true,
            }
            let Some((end, _)) = self.deadline else {
                held = self.changed.wait(held).expect("nothing panics with it");
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Its time is up, and looked at outside of here.
                LEFT.set(0);
                return false;
            }
            held = self.changed.wait_timeout(held, left).expect("nothing panics with it").0;
        }
    }
}

impl Stopped {
    fn into_error(self) -> Error {
        match self.by.0.deadline {
            Some((end, time)) if Instant::now() >= end => Error::stopped(
                format!("the answer took longer than {} seconds", time.as_secs_f64()),
                "ask for fewer or more equal levels and queries, or use the command, which has no such limit",
            ),
            _ => Error::stopped("the computation was interrupted", "ask again"),
        }
    }
}

/// Leaves the computation if it was stopped.
///
/// Takes a nanosecond or two, so that it may stand in a loop whose rounds take a hundred.
pub fn check() {
    let stopped = CURRENT.with_borrow(|current| {
        let stop = current.as_ref()?;
        if stop.0.told.load(Ordering::Relaxed) == GOES || !stop.0.is_told_to_end() {
            let (end, _) = stop.0.deadline?;
            let left = LEFT.get();
            LEFT.set(left.checked_sub(1).unwrap_or(LOOKS));
            if left > 0 || Instant::now() < end {
                return None;
            }
            // The other threads need not look at the clock.
            stop.tell();
        }
        Some(Stopped { by: stop.clone() })
    });
    if let Some(stopped) = stopped {
        // Not a panic: no hook is called, nothing is printed.
        resume_unwind(Box::new(stopped));
    }
}

/// What this thread runs under, for another that works for it.
pub(crate) fn current() -> Option<Stop> {
    CURRENT.with_borrow(Clone::clone)
}

/// While this lives its thread runs under a stop.
pub(crate) struct Installed(Option<Stop>);

impl Installed {
    pub(crate) fn new(stop: Option<Stop>) -> Installed {
        Installed(CURRENT.replace(stop))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::thread;

    use super::*;
    use crate::question::{Ask, CertificateQuestion};
    use crate::{Allocation, Composition, Delta, DiscreteGaussian, Effort, parallel};

    fn composed(effort: Effort) -> Composition {
        let noise = |i: u64| DiscreteGaussian::parse(&format!("{}/{}", 5000 + i, 997 + 2 * i), "1").unwrap();
        Composition::with_effort((0..2_000).map(|i| (noise(i), 1)), effort).unwrap()
    }

    fn heavy() -> Composition {
        composed(Effort::Normal)
    }

    #[test]
    fn what_was_told_is_not_begun() {
        let stop = Stop::new();
        assert_eq!(stop.run(|| Ok(1)), Ok(1));
        stop.clone().tell();
        let error = stop.run(|| -> Result<()> { unreachable!("it was told") }).unwrap_err();
        assert!(error.is_stopped() && !error.is_input(), "{error}");
        // Outside of it nothing stops.
        check();
        let late = Stop::after(Duration::ZERO).run(|| Ok(1)).unwrap_err();
        assert!(late.is_stopped() && late.to_string().contains("longer than 0 seconds"), "{late}");
    }

    #[test]
    fn it_ends_in_the_middle_on_every_thread_and_what_it_worked_on_is_still_good() {
        let release = heavy();
        let delta = Delta::parse("1e-10").unwrap();
        let items: Vec<u64> = (0..64).collect();
        let stop = Stop::new();
        let found = stop.run(|| {
            parallel::map(&items, |i| {
                if *i == 40 {
                    stop.tell();
                }
                release.delta(&crate::Epsilon::parse("1").unwrap())
            });
            Ok(())
        });
        assert!(found.unwrap_err().is_stopped());
        let fresh = heavy().epsilon(&delta).unwrap();
        assert_eq!(release.epsilon(&delta).unwrap(), fresh);
    }

    #[test]
    fn what_is_paused_waits_on_every_thread_and_goes_on() {
        let stop = Stop::new();
        let (rounds, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        let seen = || rounds.load(Ordering::Relaxed);
        let wait_for = |what: &dyn Fn() -> bool| {
            while !what() {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                let found = stop.run(|| {
                    parallel::map(&[0; 4], |_| {
                        while !ends.load(Ordering::Relaxed) {
                            rounds.fetch_add(1, Ordering::Relaxed);
                            check();
                        }
                    });
                    Ok(7)
                });
                assert_eq!(found, Ok(7));
            });
            wait_for(&|| seen() > 1000);
            stop.pause();
            // A round that had begun is finished; then none is.
            let last = Cell::new(seen());
            wait_for(&|| {
                thread::sleep(Duration::from_millis(20));
                last.replace(seen()) == seen()
            });
            ends.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
            assert_eq!(seen(), last.get());
            stop.resume();
        });
        assert!(seen() > 1000);
        // What is told to end, or is late, does not wait for ever; what has ended does not begin again.
        for stop in [Stop::after(Duration::from_millis(1)), Stop::new()] {
            stop.pause();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| stop.run(|| Ok(1)));
                if stop.0.deadline.is_none() {
                    stop.tell();
                }
                assert!(waiting.join().unwrap().unwrap_err().is_stopped());
            });
            stop.tell();
            stop.resume();
            assert!(stop.run(|| Ok(1)).is_err());
        }
    }

    #[test]
    fn the_inner_one_counts_and_a_panic_stays_one() {
        let (outer, inner) = (Stop::new(), Stop::new());
        inner.tell();
        let found = outer.run(|| {
            assert!(inner.run(|| Ok(())).is_err());
            check();
            Ok(7)
        });
        assert_eq!(found, Ok(7));
        let panic =
            catch_unwind(|| Stop::new().run(|| -> Result<()> { resume_unwind(Box::new("a defect")) }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"a defect"));
        let scattered = catch_unwind(|| {
            parallel::map(&[1, 2, 3, 4], |i| if *i > 2 { resume_unwind(Box::new("a defect")) } else { *i })
        });
        assert_eq!(scattered.unwrap_err().downcast_ref::<&str>(), Some(&"a defect"));
    }

    /// Every kind of long work looks: told before it begins inside, none of them comes to its end.
    #[test]
    fn all_long_work_looks() {
        let census = CertificateQuestion::about([Allocation::preset("pl94-persons-us-2020").unwrap()]);
        let one = Composition::new([(DiscreteGaussian::parse("5", "1").unwrap(), 10)]).unwrap();
        let delta = Delta::parse("1e-10").unwrap();
        let target = crate::Target { epsilon: "5".parse().unwrap(), delta: delta.clone() };
        let whole: Vec<crate::Rational> = (1..9).map(|i| &crate::Rational::from(1) / &i.into()).collect();
        type Work<'w> = &'w dyn Fn() -> Result<()>;
        let works: [(&str, Work<'_>); 9] = [
            ("certificate", &|| census.answer().map(drop)),
            ("epsilon", &|| one.epsilon(&delta).map(drop)),
            ("fast", &|| composed(Effort::Fast).epsilon(&delta).map(drop)),
            ("calibration", &|| one.smallest_scale(&target).map(drop)),
            ("trade-off", &|| one.tradeoff(&"0.05".parse()?).map(drop)),
            ("knots", &|| one.knots(&"-3".parse()?, &"3".parse()?).map(drop)),
            ("law", &|| one.dominating_law(1e-3, &delta).map(drop)),
            ("composition", &|| {
                heavy();
                Ok(())
            }),
            ("sum", &|| {
                crate::Rational::sum(&whole);
                Ok(())
            }),
        ];
        for (name, work) in works {
            let stop = Stop::new();
            let found = stop.run(|| {
                stop.tell();
                work()
            });
            assert!(found.is_err_and(|e| e.is_stopped()), "{name} did not look");
        }
    }
}
