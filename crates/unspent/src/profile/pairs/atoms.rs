//! Few atoms: add them up one by one.

use super::super::Point;
use super::super::kernel::Expectation;
use super::super::term::{Term, dropping};
use crate::loss::{Atoms, Segment};
use crate::number::float::{self, Dd, FUNCTION, Sum, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::stop;

/// Losses of a group with the logarithms of their masses under P.
struct List {
    atoms: Vec<(Dd, f64)>,
    /// Bounds of the error of each logarithm, and of each loss.
    error: f64,
    blur: f64,
}

/// A loss and its logarithm are known to about this.
const LOSS_UNIT: f64 = 1.0 / (1u128 << 86) as f64;

/// `n` equal laws with finitely many losses.
pub(super) type Part<'a> = (&'a Atoms, u64);

/// How many atoms they have together.
pub(super) fn count(parts: &[Part<'_>]) -> f64 {
    parts.iter().map(|(atoms, n)| multisets(atoms.losses.len(), *n as f64)).product()
}

/// Number of ways to choose n of m, with repetition: C(n+m−1, m−1).
fn multisets(m: usize, n: f64) -> f64 {
    (1..m).fold(1.0, |product, i| product * (n + i as f64) / i as f64)
}

/// The part of finite losses of an expectation at ε (R12): of the atoms, or of the atoms and one independent
/// loss on a segment (M8).
pub(super) fn solve(
    parts: &[Part<'_>],
    segment: Option<&Segment>,
    expectation: Expectation,
    at: &Point,
) -> Bounds<Magnitude> {
    let lists: Vec<List> = parts.iter().map(|(atoms, n)| List::new(atoms, *n)).collect();
    let size = 1.0 + at.dd.hi.abs() + segment.map_or(0.0, |s| s.tau.hi);
    let blur: f64 = lists.iter().map(|l| l.blur).sum::<f64>() + LOSS_UNIT * size;
    let mut terms =
        Terms { expectation, epsilon: at.dd, lists: &lists, segment, blur, found: vec![], unsure: vec![] };
    terms.add(0, Dd::ZERO, 0.0);
    let error: f64 = lists.iter().map(|l| l.error).sum();
    let top = terms.found.iter().chain(&terms.unsure).fold(f64::NEG_INFINITY, |a, t| a.max(t.log));
    if top == f64::NEG_INFINITY {
        return Bounds::new(Magnitude::ZERO, Magnitude::ZERO);
    }
    let (mut sum, mut off) = (Sum::default(), 0.0);
    for term in &terms.found {
        let value = float::exp(term.log - top);
        sum.push(value);
        off += value * (error + term.error + UNIT * (8.0 * (term.log.abs() + top.abs())) + 2.0 * FUNCTION);
    }
    let unsure: f64 = terms.unsure.iter().map(|t| float::exp(t.log - top)).sum::<f64>() * 1.01;
    let unsure = dropping(Term::Unsure, unsure);
    let off = dropping(Term::AtomRounding, 1.01 * off + 8.0 * UNIT * sum.value());
    let end =
        |x: f64, round| Magnitude::exp(Dd::from(top), 0.0, round).mul(Magnitude::from_f64(x.max(0.0)), round);
    let lower = end(float::down(sum.value() - off, 4.0), Round::Down);
    Bounds::new(lower, end(float::up(sum.value() + off + unsure, 4.0), Round::Up))
}

impl List {
    /// All sums of n losses, with multinomial weights.
    fn new(atoms: &Atoms, n: u64) -> List {
        let m = atoms.losses.len();
        let (list, full) = match atoms.losses.as_slice() {
            // Nothing is finite; and one loss n times, however large n is.
            [] if n > 0 => (vec![], 0.0),
            [loss] => (vec![(Rational::from(n).to_dd().mul(*loss), n as f64 * atoms.logs[0])], 0.0),
            _ => {
                // ln k!, each within 2u·k·ln k of itself.
                let mut sum = Sum::default();
                let ln_factorial = |k: u64| {
                    sum.push(if k == 0 { 0.0 } else { float::ln(k as f64) });
                    sum.value()
                };
                let factorials: Vec<f64> = (0..=n).map(ln_factorial).collect();
                let full = factorials[n as usize];
                let mut multisets = Multisets { atoms, factorials, list: vec![] };
                multisets.fill(0, n, Dd::ZERO, full);
                (multisets.list, full)
            }
        };
        let largest = atoms.losses.iter().fold(0.0f64, |a, l| a.max(l.hi.abs()));
        let deepest = atoms.logs.iter().fold(0.0f64, |a, l| a.max(l.abs()));
        let n = n as f64;
        List {
            atoms: list,
            error: n * atoms.log_error
                + UNIT * (8.0 * full * (m as f64 + 1.0) + 4.0 * n * deepest * (m as f64 + 1.0)),
            blur: LOSS_UNIT * n * (1.0 + largest) * (m as f64 + 1.0),
        }
    }
}

/// Lists how often each atom may occur.
struct Multisets<'a> {
    atoms: &'a Atoms,
    factorials: Vec<f64>,
    list: Vec<(Dd, f64)>,
}

impl Multisets<'_> {
    /// All ways to choose `left` more losses from the i-th on.
    fn fill(&mut self, i: usize, left: u64, loss: Dd, log: f64) {
        let last = i + 1 == self.atoms.losses.len();
        for k in if last { left..=left } else { 0..=left } {
            stop::check();
            let next = loss.add(self.atoms.losses[i].scale(k as f64));
            let weight = log + k as f64 * self.atoms.logs[i] - self.factorials[k as usize];
            if last {
                self.list.push((next, weight));
            } else {
                self.fill(i + 1, left - k, next, weight);
            }
        }
    }
}

struct Found {
    log: f64,
    error: f64,
}

struct Terms<'a> {
    expectation: Expectation,
    epsilon: Dd,
    lists: &'a [List],
    segment: Option<&'a Segment>,
    /// A bound of the error of a sum of losses, less ε.
    blur: f64,
    found: Vec<Found>,
    /// So near to ε that it is not known on which side.
    unsure: Vec<Found>,
}

impl Terms<'_> {
    fn add(&mut self, depth: usize, loss: Dd, log: f64) {
        let Some(list) = self.lists.get(depth) else {
            stop::check();
            return match self.segment {
                Some(segment) => self.on_segment(segment, loss, log),
                None => self.atom(loss, log),
            };
        };
        for (l, weight) in &list.atoms {
            self.add(depth + 1, loss.add(*l), log + weight);
        }
    }

    /// An atom at L and, independent of it, a loss l on the segment. With `x = ε − L` (M8):
    ///
    /// - `E[(e^{L+l} − e^ε)₊]` is `½e^{ε−τ}(e^{(τ−x)/2} − 1)²` for `|x| ≤ τ` and `½(1−e^{−τ})(e^L − e^ε)`
    ///   below;
    /// - `E[min(e^{L+l}, e^ε)]` is `½e^{−τ}(e^L(e^{(τ+x)/2} − 1) + e^ε(e^{(τ−x)/2} − 1))` for `|x| ≤ τ`,
    ///   beyond it `½(1−e^{−τ})` times the smaller of `e^L` and `e^ε`.
    fn on_segment(&mut self, segment: &Segment, loss: Dd, log: f64) {
        let tau = segment.tau;
        let (above, below) =
            (tau.sub(self.epsilon.sub(loss)).to_f64(), tau.add(self.epsilon.sub(loss)).to_f64());
        let own = UNIT * (8.0 * (loss.hi.abs() + self.epsilon.hi.abs() + tau.hi) + 16.0);
        let half = float::ln(0.5);
        let (q, p) = (log + loss.to_f64(), log + self.epsilon.to_f64());
        let mass = half + float::ln(-float::expm1(-tau.to_f64()));
        let blur = 4.0 * self.blur;
        // e^{a/2} − 1, where a is known to within the blur: as a logarithm, with its error.
        let rise = |a: f64| {
            let a = a.max(blur);
            (float::ln(float::expm1(0.5 * a)), blur / -float::expm1(-0.5 * a))
        };
        match self.expectation {
            Expectation::Delta => {
                if above <= blur {
                    if above > -blur {
                        let log = half + p - tau.to_f64() + 2.0 * float::ln(2.0 * blur);
                        self.unsure.push(Found { log, error: own });
                    }
                } else if below >= 0.0 {
                    let (rise, off) = rise(above);
                    self.found
                        .push(Found { log: half + p - tau.to_f64() + 2.0 * rise, error: own + 2.0 * off });
                } else {
                    let x = self.epsilon.sub(loss).to_f64();
                    let factor = -float::expm1(x);
                    let error = own + 2.0 * blur / factor;
                    self.found.push(Found { log: mass + q + float::ln(factor), error });
                }
            }
            _ if above <= 0.0 => self.found.push(Found { log: mass + q, error: own + blur }),
            _ if below <= 0.0 => self.found.push(Found { log: mass + p, error: own + blur }),
            _ => {
                for (start, distance) in [(q, below), (p, above)] {
                    let (rise, off) = rise(distance);
                    let log = half - tau.to_f64() + start + rise;
                    if distance > blur {
                        self.found.push(Found { log, error: own + blur + off });
                    } else {
                        self.unsure.push(Found { log: log + 1.0, error: own });
                    }
                }
            }
        }
    }

    fn atom(&mut self, loss: Dd, log: f64) {
        let blur = self.blur;
        let y = loss.sub(self.epsilon).to_f64();
        let own = UNIT * (4.0 * (loss.hi.abs() + self.epsilon.hi.abs()));
        let q = log + loss.to_f64();
        let p = log + self.epsilon.to_f64();
        let near = y.abs() <= 4.0 * blur;
        match self.expectation {
            // e^L − e^ε = e^L(1 − e^{−y}): off by blur/(1 − e^{−y}), relatively.
            Expectation::Delta if near => {
                self.unsure.push(Found { log: q + float::ln(8.0 * blur), error: own })
            }
            Expectation::Delta if y > 0.0 => {
                let factor = -float::expm1(-y);
                self.found.push(Found {
                    log: q + float::ln(factor),
                    error: own + 2.0 * blur / factor + 4.0 * UNIT,
                });
            }
            Expectation::Delta => {}
            Expectation::Complement => {
                self.found.push(Found { log: if y > 0.0 { p } else { q }, error: own + blur });
            }
            Expectation::UpperQ if near => self.unsure.push(Found { log: q, error: own }),
            Expectation::UpperQ if y > 0.0 => self.found.push(Found { log: q, error: own + blur }),
            Expectation::UpperP if near => self.unsure.push(Found { log, error: own }),
            Expectation::UpperP if y > 0.0 => self.found.push(Found { log, error: blur }),
            Expectation::LowerQ if near => self.unsure.push(Found { log: q, error: own }),
            Expectation::LowerQ if y < 0.0 => self.found.push(Found { log: q, error: own + blur }),
            Expectation::UpperQ | Expectation::UpperP | Expectation::LowerQ => {}
        }
    }
}
