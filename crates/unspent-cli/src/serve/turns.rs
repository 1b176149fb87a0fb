//! Whose turn it is: of all answers in the making, those are worked on that have had the least time so far.
//!
//! Nobody knows how long an answer takes before it is there. So each is worked on as long as there are cores
//! for all. Where there are not, the ones that have had twice as much as others wait ([`Stop::pause`]), and
//! go on where they were; of those that have had about as much the first goes first. What takes a moment is
//! there in a moment, whatever else is asked; what takes long gets what is left, and no work is done twice.
//! Where all places are taken, the one that has had the most gives way.
//!
//! What answers share is worked out before it is kept, so that none waits for one that is paused.

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::{task, time};
use unspent::Stop;

/// Who has had twice as much has had more; what takes no longer than this has had the same.
const MOMENT: Duration = Duration::from_millis(100);
/// How often it is looked at whose turn it is.
const TURN: Duration = Duration::from_millis(10);
/// Answers in the making; each keeps what it needs in memory, also while it waits.
const MOST: usize = 16;
/// Who has had that much gives way to somebody new, where all places are taken.
const MUCH: Duration = Duration::from_secs(1);
/// How long a request waits for a place.
const TO_BEGIN: Duration = Duration::from_secs(5);

/// All answers in the making.
pub struct Turns {
    /// As many are worked on at a time.
    at_a_time: usize,
    table: Mutex<Table>,
    /// Told when one has ended.
    room: Notify,
}

struct Table {
    last: u64,
    /// When turns were looked at.
    dealt: Instant,
    turns: Vec<Turn>,
}

struct Turn {
    number: u64,
    stop: Stop,
    /// How long it was worked on.
    had: Duration,
    runs: bool,
    gives_way: bool,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Others are worked on that need less, or there are too many.
    Crowded,
    /// It took longer than it may.
    Late,
    /// The work panicked.
    Defect,
}

/// A place among the answers in the making, while it lives.
struct Place {
    turns: Arc<Turns>,
    number: u64,
    stop: Stop,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.turns.table();
        table.turns.retain(|turn| turn.number != self.number);
        table.deal(self.turns.at_a_time);
        drop(table);
        self.turns.room.notify_one();
    }
}

/// Ends the work of whoever does not wait for it any more.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.tell();
    }
}

impl Table {
    /// Gives everybody who ran the time since the last look.
    fn count(&mut self) {
        let now = Instant::now();
        let passed = now - self.dealt;
        self.dealt = now;
        for turn in self.turns.iter_mut().filter(|turn| turn.runs) {
            turn.had += passed;
        }
    }

    /// Lets those go on that have had the least, of about as much the first, and the others wait.
    fn deal(&mut self, at_a_time: usize) {
        self.count();
        let doublings = |had: Duration| (had.as_millis() / MOMENT.as_millis()).checked_ilog2();
        self.turns.sort_by_key(|turn| (doublings(turn.had), turn.number));
        for (i, turn) in self.turns.iter_mut().enumerate() {
            let runs = i < at_a_time;
            if runs != turn.runs {
                turn.runs = runs;
                if runs { turn.stop.resume() } else { turn.stop.pause() }
            }
        }
    }

    /// Tells whoever has had the most to give way, if it is much.
    fn make_room(&mut self) {
        self.count();
        let turns = self.turns.iter_mut().filter(|turn| !turn.gives_way);
        if let Some(turn) = turns.max_by_key(|turn| turn.had).filter(|turn| turn.had >= MUCH) {
            turn.gives_way = true;
            turn.stop.tell();
        }
    }
}

impl Turns {
    /// Nobody's, for all cores.
    pub fn new() -> Turns {
        let at_a_time = thread::available_parallelism().map_or(1, usize::from);
        Turns::of(at_a_time)
    }

    fn of(at_a_time: usize) -> Turns {
        let table = Table { last: 0, dealt: Instant::now(), turns: vec![] };
        Turns { at_a_time, table: Mutex::new(table), room: Notify::new() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics with it")
    }

    fn deal(&self) {
        self.table().deal(self.at_a_time);
    }

    /// What `work` finds, in its turns, within that time from its first one. If nobody waits for it any more,
    /// it ends.
    pub async fn work<T: Send + 'static>(
        self: &Arc<Turns>,
        most: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let begun = time::timeout(TO_BEGIN, self.begin(most)).await;
        let place = begun.map_err(|_| Unanswered::Crowded)?;
        let stop = place.stop.clone();
        let _waiting = Waiting(stop.clone());
        let mut work = task::spawn_blocking(move || {
            // The place is free when the work is done, also if its asker has left before.
            let found = stop.run(|| Ok(work()));
            found.map_err(|_stopped| if place.gives_way() { Unanswered::Crowded } else { Unanswered::Late })
        });
        loop {
            match time::timeout(TURN, &mut work).await {
                Ok(found) => return found.unwrap_or(Err(Unanswered::Defect)),
                Err(_) => self.deal(),
            }
        }
    }

    async fn begin(self: &Arc<Turns>, most: Duration) -> Place {
        let mut asked = false;
        loop {
            let room = self.room.notified();
            if let Some(place) = self.place(most) {
                return place;
            }
            if !asked {
                self.table().make_room();
                asked = true;
            }
            room.await;
        }
    }

    fn place(self: &Arc<Turns>, most: Duration) -> Option<Place> {
        let mut table = self.table();
        if table.turns.len() >= MOST {
            return None;
        }
        table.last += 1;
        let (number, stop) = (table.last, Stop::after(most));
        let (had, stop_of_turn) = (Duration::ZERO, stop.clone());
        table.turns.push(Turn { number, stop: stop_of_turn, had, runs: true, gives_way: false });
        table.deal(self.at_a_time);
        Some(Place { turns: self.clone(), number, stop })
    }
}

impl Place {
    fn gives_way(&self) -> bool {
        let table = self.turns.table();
        table.turns.iter().any(|turn| turn.number == self.number && turn.gives_way)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::runtime::{Builder, Runtime};
    use unspent::stop;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    /// Works, and looks, until the count is reached.
    fn until(count: &Arc<AtomicU64>, reached: u64) -> impl FnOnce() -> &'static str + use<> {
        let count = count.clone();
        move || {
            while count.load(Ordering::SeqCst) < reached {
                stop::check();
                thread::yield_now();
            }
            "long"
        }
    }

    async fn begun(turns: &Arc<Turns>, many: usize) {
        while turns.table().turns.len() < many {
            time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// One place to work at, taken by what ends only when the others have been answered.
    #[test]
    fn what_takes_long_waits_for_what_takes_a_moment() {
        let (turns, count) = (Arc::new(Turns::of(1)), Arc::new(AtomicU64::new(0)));
        runtime().block_on(async {
            let long = task::spawn({
                let (turns, work) = (turns.clone(), until(&count, 3));
                async move { turns.work(LONG, work).await }
            });
            begun(&turns, 1).await;
            for _ in 0..3 {
                let count = count.clone();
                let short = turns.work(LONG, move || count.fetch_add(1, Ordering::SeqCst)).await;
                assert!(short.is_ok());
            }
            assert_eq!(long.await.unwrap(), Ok("long"));
        });
        assert!(turns.table().turns.is_empty());
    }

    #[test]
    fn who_has_had_the_most_gives_way_where_all_places_are_taken() {
        let (turns, count) = (Arc::new(Turns::of(MOST)), Arc::new(AtomicU64::new(0)));
        runtime().block_on(async {
            let crowd: Vec<_> = (0..MOST)
                .map(|_| {
                    let (turns, work) = (turns.clone(), until(&count, 1));
                    task::spawn(async move { turns.work(LONG, work).await })
                })
                .collect();
            begun(&turns, MOST).await;
            // Nobody has had much yet.
            turns.table().make_room();
            assert!(turns.table().turns.iter().all(|turn| !turn.gives_way));
            time::sleep(MUCH).await;
            let short = turns.work(LONG, || "short").await;
            assert_eq!(short, Ok("short"));
            count.store(1, Ordering::SeqCst);
            let mut answers = vec![];
            for asker in crowd {
                answers.push(asker.await.unwrap());
            }
            assert_eq!(answers.iter().filter(|answer| **answer == Err(Unanswered::Crowded)).count(), 1);
            assert_eq!(answers.iter().filter(|answer| **answer == Ok("long")).count(), MOST - 1);
        });
    }

    #[test]
    fn what_is_late_or_asked_by_nobody_ends_and_a_defect_is_one() {
        let (turns, count) = (Arc::new(Turns::of(2)), Arc::new(AtomicU64::new(0)));
        runtime().block_on(async {
            let late = turns.work(Duration::from_millis(20), until(&count, 1)).await;
            assert_eq!(late, Err(Unanswered::Late));
            let defect: Result<(), _> =
                turns.work(LONG, || std::panic::resume_unwind(Box::new("a defect"))).await;
            assert_eq!(defect, Err(Unanswered::Defect));
            let left = task::spawn({
                let (turns, work) = (turns.clone(), until(&count, 1));
                async move { turns.work(LONG, work).await }
            });
            begun(&turns, 1).await;
            left.abort();
            while !turns.table().turns.is_empty() {
                time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
}
