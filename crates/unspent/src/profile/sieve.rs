//! The sieve: which parts of the line `c + it` have to be integrated over.
//!
//! `|Φ(c+it)|/Φ(c)` is tiny except in narrow windows, but tiny has to be proved on the whole
//! half-line that is integrated over. Each kind gives a lower bound on the decay over an interval
//! of `t` that holds for every tilt `c` ([`Kind::decay_over`], T10 and T12); when the sum passes a threshold
//! the interval is discarded, otherwise it is halved. What survives, down to a leaf a fraction of
//! the central peak wide, is where quadrature nodes go. One sieve serves every ε and every δ.
//!
//! The lead kind, whose windows are few, is stepped through directly instead of bisected to.

use super::spectrum::{Kind, Spectrum};
use crate::number::float::{Dd, UNIT};
use crate::stop;

/// Surviving intervals, and what is known of the rest.
#[derive(Debug)]
pub(crate) struct Sieve {
    /// Disjoint, ascending, inside `[0, end]`; the first one starts at 0.
    pub windows: Vec<(f64, f64)>,
    /// `|Φ(c+it)| ≤ e^{−log_cut}·Φ(c)` outside the windows, for every c.
    pub log_cut: f64,
    /// Up to here every angle is below half a turn and only `active` kinds have a remainder
    /// worth computing; those of all others together are at most `skipped`.
    pub plain_end: f64,
    pub active: Vec<usize>,
    pub skipped: f64,
    /// Length of all windows.
    pub measure: f64,
}

/// Remainders below this, all together, are bounded instead of computed: an eighth of a unit
/// roundoff is lost in the other rounding errors.
const NEGLIGIBLE: f64 = UNIT / 8.0;

impl Sieve {
    /// Sieves `[0, end]` for a composition smoothed by `s2`; `None` if that takes too long.
    pub fn new(spectrum: &Spectrum, s2: f64, end: f64, log_cut: f64, work_limit: u64) -> Option<Sieve> {
        let leaf = 0.25 / (spectrum.mu2.hi + s2).sqrt();
        let mut search =
            Search { kinds: &spectrum.kinds, s2, log_cut, leaf, work: 0, work_limit, windows: vec![] };
        search.run(end)?;
        let windows = search.windows;
        let measure = windows.iter().map(|(a, b)| b - a).sum();
        let half_turn = if spectrum.top_rate > 0.0 { 0.5 / spectrum.top_rate } else { f64::INFINITY };
        let plain_end = windows[0].1.min(half_turn);
        let (active, skipped) = partition(&spectrum.kinds, plain_end);
        Some(Sieve { windows, log_cut, plain_end, active, skipped, measure })
    }
}

/// Which kinds need their remainder computed for `|t| ≤ end`, and a bound for the rest.
fn partition(kinds: &[Kind], end: f64) -> (Vec<usize>, f64) {
    let share = NEGLIGIBLE / kinds.len() as f64;
    let mut active = vec![];
    let mut skipped = 0.0;
    for (j, kind) in kinds.iter().enumerate() {
        let bound = kind.count * kind.transform.remainder_bound(end * kind.rate.hi * (1.0 + 8.0 * UNIT));
        if bound <= share {
            skipped += bound;
        } else {
            active.push(j);
        }
    }
    (active, skipped)
}

struct Search<'a> {
    kinds: &'a [Kind],
    s2: f64,
    log_cut: f64,
    leaf: f64,
    work: u64,
    work_limit: u64,
    windows: Vec<(f64, f64)>,
}

impl Search<'_> {
    fn run(&mut self, end: f64) -> Option<()> {
        let most: f64 = self.kinds.iter().map(Kind::most_decay).sum();
        if most + self.s2 * end * end / 2.0 < self.log_cut {
            self.windows.push((0.0, end));
            return Some(());
        }
        match self.lead() {
            None => self.bisect(0.0, end)?,
            Some((rate, half)) => {
                let last = (end * rate).ceil() as u64;
                for turn in 0..=last {
                    // The rate and the division are each off by at most 2u.
                    let half = half + 8.0 * UNIT * turn as f64;
                    let a = ((turn as f64 - half) / rate).max(0.0);
                    let b = ((turn as f64 + half) / rate).min(end);
                    self.work += 1;
                    if a <= b {
                        self.bisect(a, b)?;
                    }
                }
            }
        }
        // The centre never dies, but make the invariant plain.
        if self.windows.first().is_none_or(|w| w.0 > 0.0) {
            self.windows.insert(0, (0.0, 0.0));
        }
        Some(())
    }

    /// The kind whose own windows are the fewest and smallest: its rate, and half a window in
    /// turns, widened by a part in 10⁹ against its own rounding.
    fn lead(&self) -> Option<(f64, f64)> {
        let top = self.kinds.iter().filter(|k| k.periodic).map(|k| k.rate.hi).fold(0.0, f64::max);
        self.kinds
            .iter()
            .filter(|k| k.periodic && k.most_decay() >= self.log_cut)
            .map(|k| {
                let enough = |turns: f64| k.count * k.transform.decay(turns) >= self.log_cut;
                let (mut low, mut high) = (0.0, 0.5);
                for _ in 0..40 {
                    let middle = 0.5 * (low + high);
                    if enough(middle) { high = middle } else { low = middle }
                }
                (k.rate.hi, high * (1.0 + 1e-9))
            })
            .min_by(|x, y| {
                let cost = |(rate, half): &(f64, f64)| rate + 2.0 * half * top;
                cost(x).total_cmp(&cost(y))
            })
    }

    /// Whether the transform is proved negligible on all of `[a, b]`.
    fn dies(&mut self, a: f64, b: f64) -> bool {
        stop::check();
        // The threshold is raised by a part in 10⁹ against rounding in the sums.
        let enough = self.log_cut * (1.0 + 1e-9);
        let mut decay = self.s2 * a * a / 2.0;
        for kind in self.kinds {
            if decay >= enough {
                break;
            }
            self.work += 1;
            decay += kind.decay_over(a, b);
        }
        decay >= enough
    }

    fn bisect(&mut self, a: f64, b: f64) -> Option<()> {
        if self.work > self.work_limit {
            return None;
        }
        if self.dies(a, b) {
            return Some(());
        }
        if b - a <= self.leaf {
            match self.windows.last_mut() {
                Some(last) if a <= last.1 => last.1 = b,
                _ => self.windows.push((a, b)),
            }
            return Some(());
        }
        let middle = Dd::sum(a, b).scale(0.5).hi;
        self.bisect(a, middle)?;
        self.bisect(middle, b)
    }
}
