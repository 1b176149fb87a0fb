//! Trade-off functions (f-DP): what the best attacker can do.
//!
//! `f(α)` is the least rate of misses among all tests whose rate of false alarms is α; `1 − f(α)`
//! is the best attacker's power. With `x = e^ε` over *all* real ε,
//!
//! ```text
//! f(α) = max_x H(x),   H(x) = 1 − δ(ε) − x·α   (concave),
//! ```
//!
//! and for ε < 0, `1 − δ(ε) = e^ε·(1 − δ(−ε))` with δ of the pair exchanged; a symmetric pair is its own
//! exchange. Any ε gives a lower bound of `f` (a guarantee); an upper bound comes from concavity, three
//! points around the maximum: between them a concave function lies below its chords extended, and beyond them
//! it only falls. On a lattice `H` is linear between losses, so its maximum is at one of them
//! (`theory/tradeoff.md`).

mod height;

use num_bigint::BigInt;

use crate::composition::Composition;
use crate::error::{Error, Result};
use crate::loss::Way;
use crate::number::float;
use crate::number::{Bounds, Magnitude, Rational, Round, golden_section};
use crate::profile::{Direction, Point};
use crate::quantity::Alpha;
use crate::stop;
use height::{Value, by_concavity, loose, ratio_of_gaps};

/// A vertex of the trade-off function on a lattice of losses: the test that raises an alarm when
/// the loss is at least `loss`.
#[derive(Clone, Debug)]
pub struct Knot {
    /// The threshold.
    pub loss: Rational,
    /// `P[L ≥ loss]`: alarms when the record is absent.
    pub false_alarms: Bounds<Magnitude>,
    /// `Q[L < loss]`: silence when it is present.
    pub misses: Bounds<Magnitude>,
}

/// Relative width of δ that is enough to find the best test by.
const STEERING: f64 = 1e-3;

/// Most knots that are listed at a time.
const MAX_KNOTS: u64 = 100_000;

/// Bounds of f(α), and of 1 − f(α).
pub(crate) type Misses = Bounds<Magnitude>;
pub(crate) type Power = Bounds<Magnitude>;

impl Composition {
    /// The trade-off function at α. Its **lower** bound is the guarantee.
    ///
    /// If adding and removing a record differ, it is the smaller of both; of one direction alone, remove has
    /// the false alarms of data without the record, and add those of data with it.
    pub fn tradeoff(&self, alpha: &Alpha) -> Result<Bounds<Magnitude>> {
        self.has_trade_off("the trade-off function")?;
        // Guessing at random never misses more often than 1 − α.
        let rest = &Rational::integer(1) - alpha.value();
        let trivial = Bounds::new(Magnitude::ZERO, rest.to_magnitude_bounds().1);
        self.demand("tradeoff", |aim| self.best_attack(alpha, aim).0.f.intersect(&trivial))
    }

    /// The best attacker's power at the false-alarm rate α: 1 − f(α). Its **upper** bound is the
    /// guarantee.
    pub fn power(&self, alpha: &Alpha) -> Result<Bounds<Magnitude>> {
        self.has_trade_off("the power of a test")?;
        let trivial = Bounds::new(alpha.value().to_magnitude_bounds().0, Magnitude::ONE);
        self.demand("power", |aim| self.best_attack(alpha, aim).0.power.intersect(&trivial))
    }

    /// All knots with a threshold between `from` and `to`.
    pub fn knots(&self, from: &Rational, to: &Rational) -> Result<Vec<Knot>> {
        self.has_symmetric_pair("the list of knots")?;
        let Some(lattice) = self.accountant().losses() else {
            return Err(Error::input(
                "composition",
                "losses off any usable lattice",
                "one whose trade-off function has knots that can be listed",
                "use tradeoff() for bounds at any alpha",
            ));
        };
        let count = (to - from).to_f64() / lattice.step_f64;
        if count > MAX_KNOTS as f64 {
            return Err(Error::input(
                "knots",
                format!("{count:.3e} knots"),
                format!("a list of at most {MAX_KNOTS}"),
                "ask for a shorter range of losses",
            ));
        }
        let mut index = lattice.position(from).above - BigInt::from(1);
        if lattice.loss(&index) < *from {
            index += 1;
        }
        let mut knots = vec![];
        loop {
            let loss = lattice.loss(&index);
            if loss > *to {
                return Ok(knots);
            }
            // P[L ≥ l] = P[L > l − g], and Q[L < l] = P[L > −l] by symmetry.
            let above = |threshold: &Rational| {
                let found = self.demand("P[L > l]", |aim| self.p_above(threshold, aim));
                found.map_err(|e| e.at(format!("knot at {}", loss.to_short())))
            };
            knots.push(Knot {
                false_alarms: above(&(&loss - &lattice.step))?,
                misses: above(&(&Rational::integer(0) - &loss))?,
                loss,
            });
            index += 1;
        }
    }

    /// `P[L > l]` at any loss of the lattice; for l < 0, 1 − `Q[L ≥ −l]` by symmetry.
    fn p_above(&self, loss: &Rational, aim: f64) -> Bounds<Magnitude> {
        match self.reflect(loss) {
            Ok(point) => self.accountant().p_tail(&point, aim),
            Err(mirrored) => self.q_above(&mirrored, aim).complement(),
        }
    }

    /// `Q[L > l]`; for l < 0, 1 − `P[L ≥ −l]`.
    fn q_above(&self, loss: &Rational, aim: f64) -> Bounds<Magnitude> {
        match self.reflect(loss) {
            Ok(point) => self.accountant().q_tail(&point, aim),
            Err(mirrored) => self.p_above(&mirrored, aim).complement(),
        }
    }

    /// An ε ≥ 0 with the same losses above it, or the loss whose mirror image bounds the others.
    fn reflect(&self, loss: &Rational) -> std::result::Result<Point, Rational> {
        let zero = Rational::integer(0);
        let step = &self.accountant().losses().expect("a lattice").step;
        if *loss >= zero {
            Ok(Point::new(loss.clone()))
        } else if loss + step > zero {
            // The next loss is positive already.
            Ok(Point::new(zero))
        } else {
            Err(&(&zero - loss) - step)
        }
    }

    /// `H` at any real ε, in one direction: below 0 by δ of the other (F2).
    fn value_at(&self, way: Way, alpha: &Rational, epsilon: &Rational, tolerance: f64) -> Value {
        stop::check();
        let zero = Rational::integer(0);
        if *epsilon >= zero {
            let at = Point::new(epsilon.clone());
            return Value::at(alpha, &at, &self.accountant().delta_in(way, &at, tolerance));
        }
        let at = Point::new(&zero - epsilon);
        Value::below_zero(alpha, &at, &self.accountant().delta_in(way.other(), &at, tolerance))
    }

    /// The directions that answers are for.
    fn ways(&self) -> &'static [Way] {
        match self.direction() {
            _ if self.is_symmetric() => &[Way::Remove],
            Direction::Remove => &[Way::Remove],
            Direction::Add => &[Way::Add],
            Direction::Both => &[Way::Remove, Way::Add],
        }
    }

    /// The worse of the directions, for the attacked.
    fn worst_way<T>(&self, of: impl Fn(Way) -> (Value, T)) -> (Value, T) {
        let all = self.ways().iter().map(|way| of(*way));
        let worse = |a: (Value, T), b: (Value, T)| {
            let worst = a.0.or_worse(&b.0);
            (worst, if b.0.power.upper() < a.0.power.upper() { a.1 } else { b.1 })
        };
        all.reduce(worse).expect("at least one direction")
    }

    /// f(α) and 1 − f(α), and the ε of about the best test.
    pub(crate) fn best_test(&self, alpha: &Alpha) -> (Misses, Power, f64) {
        let (found, epsilon) = self.best_attack(alpha, self.aim());
        (found.f, found.power, epsilon)
    }

    /// What the ε of some test proves of f(α), which is at least `H` at any real ε (F1): the lower end of the
    /// first, and of 1 − f(α), the upper end of the second.
    pub(crate) fn proved_at(&self, alpha: &Alpha, epsilon: f64) -> (Misses, Power) {
        let epsilon = Rational::from_f64("", epsilon).expect("finite");
        let (found, ()) = self.worst_way(|way| (self.value_at(way, alpha.value(), &epsilon, self.aim()), ()));
        (found.f, found.power)
    }

    fn best_attack(&self, alpha: &Alpha, aim: f64) -> (Value, f64) {
        let alpha = alpha.value();
        let exactly = |f: Magnitude| {
            let f = Bounds::new(f, f);
            (Value { f, power: f.complement() }, 0.0)
        };
        if alpha.is_zero() {
            // The noise is unbounded, so no test without false alarms ever raises an alarm.
            return exactly(Magnitude::ONE);
        }
        if *alpha == Rational::integer(1) {
            return exactly(Magnitude::ZERO);
        }
        self.worst_way(|way| self.best_attack_in(way, alpha, aim))
    }

    fn best_attack_in(&self, way: Way, alpha: &Rational, aim: f64) -> (Value, f64) {
        let guess = self.gaussian_threshold(alpha);
        let by_power = guess >= 0.0;
        let cost = |v: &Value| {
            if by_power { v.power.upper().ln(Round::Up) } else { -v.f.lower().ln(Round::Down) }
        };
        let within = |epsilon: f64, tolerance| {
            self.value_at(way, alpha, &Rational::from_f64("", epsilon).expect("finite"), tolerance)
        };
        let at = |epsilon: f64| within(epsilon, aim);
        let mu = self.accountant().scale().1;
        // A wide bracket around the guess; H is unimodal in ε.
        let reach = 3.0 * mu + 1e-3 * guess.abs();
        // Where to look need not be known well.
        let (mut from, mut to) = (guess - reach, guess + reach);
        let mut best = golden_section(|e| cost(&within(e, STEERING)), from, to, 30);
        // Losses of which a few are rare and large may have the best test far from the guess.
        for _ in 0..8 {
            let edge = 0.02 * (to - from);
            if best - from > edge && to - best > edge {
                break;
            }
            (from, to) = (2.0 * from - best.max(guess), 2.0 * to - best.min(guess));
            best = golden_section(|e| cost(&within(e, STEERING)), from, to, 30);
        }
        let found = self.at_losses(alpha, best, by_power, aim).unwrap_or_else(|| {
            // Finer and finer steps, until the curvature no longer shows through the width of δ.
            let middle = at(best);
            let mut found = middle;
            let mut known = false;
            for exponent in (4..=24).step_by(2) {
                let step = mu.min(1.0) * 2f64.powi(-exponent);
                let (left, right) = (best - step, best + step);
                let Some(ratio) = ratio_of_gaps(left, best, right) else {
                    break;
                };
                let Some(value) = by_concavity(&[at(left), middle, at(right)], ratio, by_power) else {
                    break;
                };
                found = if known { found.intersect(&value) } else { value };
                known = true;
            }
            if known { found } else { loose(&middle) }
        });
        (found, best)
    }

    /// On a lattice `max H` is attained at a loss: the best one near ε and its rivals, that is
    /// those that are not certainly worse. `None` if the losses are too near to be told apart.
    fn at_losses(&self, alpha: &Rational, epsilon: f64, by_power: bool, aim: f64) -> Option<Value> {
        const RIVALS: usize = 20;
        let lattice = self.accountant().losses()?;
        let index = lattice.position(&Rational::from_f64("", epsilon).ok()?).above;
        let value = |k: &BigInt| self.value_at(Way::Remove, alpha, &lattice.loss(k), aim);
        let worse = |a: &Value, b: &Value| {
            if by_power { a.power.lower() >= b.power.upper() } else { a.f.upper() <= b.f.lower() }
        };
        let mut best = value(&index);
        // Outward on either side: as soon as one loss is certainly worse, all beyond it are.
        for sign in [-1, 1] {
            let mut k = index.clone();
            let mut rivals = 0;
            loop {
                k += sign;
                let next = value(&k);
                if worse(&next, &best) {
                    break;
                }
                rivals += 1;
                if rivals > RIVALS {
                    return None;
                }
                best = if worse(&best, &next) { next } else { best.or_better(&next, by_power) };
            }
        }
        // Ends that are cut at 0 or 1 compare as equal: then nothing was decided.
        let decided = if by_power { best.power.upper() < Magnitude::ONE } else { !best.f.lower().is_zero() };
        decided.then_some(best)
    }

    /// Where `P[L > ε]` = α for continuous noise of the same μ.
    pub(crate) fn gaussian_threshold(&self, alpha: &Rational) -> f64 {
        let mu = self.accountant().scale().1;
        let log = |x: &Rational| x.to_magnitude_bounds().0.ln(Round::Down);
        let half = Rational::parse("", "1/2").expect("a half");
        let rest = &Rational::integer(1) - alpha;
        let (target, sign) = if *alpha <= half { (log(alpha), 1.0) } else { (log(&rest), -1.0) };
        // ln(1 − Φ(z)) = −z²/2 + ln(erfcx(z/√2)/2), solved by Newton's method.
        let mut z = (-2.0 * target).sqrt();
        for _ in 0..20 {
            let e = float::erfcx(z / std::f64::consts::SQRT_2);
            let value = -0.5 * z * z + float::ln(0.5 * e);
            let slope = -(2.0 / float::PI).sqrt() / e;
            z = (z - (value - target) / slope).max(0.0);
        }
        mu * sign * z - 0.5 * mu * mu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{DiscreteGaussian, Gaussian};
    use crate::oracle::{self, text};
    use crate::profile::Method;

    fn alpha(text: &str) -> Alpha {
        Alpha::parse(text).unwrap()
    }

    /// f(α) and 1 − f(α) of the oracle lie inside: on lattices, of continuous noise, and where only smoothing
    /// is left.
    #[test]
    fn exact_trade_off_functions_lie_inside() {
        let (mut checked, mut smoothed) = (0, 0);
        for case in oracle::guarantees("tradeoffs") {
            let release = oracle::composition(&case);
            let is_fine = release.accountant().losses().is_some_and(|l| {
                release.method() == Method::Lattice && l.step_f64 < 0.05 * release.accountant().scale().1
            });
            let by_smoothing = is_fine
                .then(|| Composition::restricted_to(oracle::groups(&case["groups"]), Method::Smoothing));
            for point in case["points"].as_array().unwrap() {
                let at = alpha(text(&point["a"]));
                for release in [Some(&release), by_smoothing.as_ref()].into_iter().flatten() {
                    let found = [release.tradeoff(&at).unwrap(), release.power(&at).unwrap()];
                    for (bounds, exact) in found.iter().zip([&point["f"], &point["power"]]) {
                        let (low, high) = oracle::enclosure(exact);
                        let (low, high) = (low.to_magnitude_bounds().0, high.to_magnitude_bounds().1);
                        assert!(
                            bounds.lower() <= high && low <= bounds.upper(),
                            "{}: {point} is outside {bounds:?}",
                            case["groups"]
                        );
                    }
                    // One of the two is known well, whatever the rate.
                    let width = found[0].relative_width().min(found[1].relative_width());
                    let exact = release.method() == Method::Lattice;
                    assert!(
                        width < if exact { 1e-10 } else { 1e-3 },
                        "{}: {point} {width:e}",
                        case["groups"]
                    );
                    checked += 1;
                    smoothed += usize::from(!exact);
                }
            }
        }
        assert!(checked > 200 && smoothed > 80, "{checked} {smoothed}");
    }

    /// One mechanism, straight from the pmf: f at a knot is a sum of the other law.
    #[test]
    fn one_mechanism_agrees_with_its_own_sums() {
        let sigma2 = 3.0f64;
        let release = Composition::new([(DiscreteGaussian::parse("3", "1").unwrap(), 1)]).unwrap();
        let weight = |x: i32| float::exp(-f64::from(x * x) / (2.0 * sigma2));
        let total: f64 = (-60..=60).map(weight).sum();
        let knots = release.knots(&"-3".parse().unwrap(), &"3".parse().unwrap()).unwrap();
        assert_eq!(knots.len(), 18);
        for knot in knots {
            // L = (2x − 1)/6 ≥ loss.
            let x0 = ((knot.loss.to_f64() * 6.0 + 1.0) / 2.0).round() as i32;
            let alpha: f64 = (x0..=60).map(weight).sum::<f64>() / total;
            let misses: f64 = (-60..x0).map(|x| weight(x - 1)).sum::<f64>() / total;
            let near = |b: &Bounds<Magnitude>, x: f64| {
                let b = b.to_f64();
                b.lower() <= x * (1.0 + 1e-13) + 1e-16
                    && x * (1.0 - 1e-13) - 1e-16 <= b.upper()
                    && b.upper() - b.lower() < 1e-11
            };
            assert!(near(&knot.false_alarms, alpha), "{knot:?} {alpha}");
            assert!(near(&knot.misses, misses), "{knot:?} {misses}");
            // The function itself passes through its knots, and between them it is linear.
            let at = Alpha::new(Rational::from_f64("", alpha).unwrap()).unwrap();
            assert!(near(&release.tradeoff(&at).unwrap(), misses), "{knot:?}");
        }
    }

    /// Continuous noise: f(α) = Φ(Φ⁻¹(1−α) − μ), with μ = 1 at the symmetric point and at α = 1/2.
    #[test]
    fn gaussian_trade_off_is_the_known_one() {
        let one = Gaussian::new("1".parse().unwrap(), "1".parse().unwrap()).unwrap();
        let release = Composition::new([(one, 1)]).unwrap();
        for (a, f) in [("0.5", 0.158_655_253_931_457_05), ("0.308537538725986896", 0.308_537_538_725_986_9)] {
            let b = release.tradeoff(&alpha(a)).unwrap().to_f64();
            assert!(b.lower() <= f * (1.0 + 1e-12) && f * (1.0 - 1e-12) <= b.upper(), "{a} {b:?}");
            assert!(b.upper() - b.lower() < 1e-8, "{b:?}");
        }
    }

    /// One step on a sample: `f(α) = (1−q)(1−α) + qΦ(Φ⁻¹(1−α) − 1)` if the record is removed, and the inverse
    /// if it is added; of many steps the two are inverse to each other.
    #[test]
    fn directions_of_a_sample_are_inverse() {
        let near = |found: &Bounds<Magnitude>, truth: f64, width: f64| {
            let b = found.to_f64();
            let inside = b.lower() <= truth * (1.0 + 1e-12) && truth * (1.0 - 1e-12) <= b.upper();
            assert!(inside && b.upper() - b.lower() < width, "{truth} {b:?}");
        };
        let sampled = |count| {
            let text = format!("subsampled_gaussian:sigma=1,q=3/10,count={count}");
            let part = crate::mechanism::Described::parse(&text).unwrap();
            let made = Composition::new([(part.mechanism, part.count)]).unwrap();
            [Direction::Remove, Direction::Add, Direction::Both].map(|way| made.in_direction(way).unwrap())
        };
        let [remove, add, both] = sampled(1);
        // Φ(1) and Φ(0).
        let (a, f) = ("0.158655253931457051", 0.7 * 0.841_344_746_068_542_9 + 0.15);
        let back = format!("{f:.17}");
        near(&remove.tradeoff(&alpha(a)).unwrap(), f, 1e-6);
        near(&remove.power(&alpha(a)).unwrap(), 1.0 - f, 1e-6);
        near(&add.tradeoff(&alpha(&back)).unwrap(), 0.158_655_253_931_457_05, 1e-6);
        for a in [a, &back, "0.4"] {
            let [f, g, least] = [&remove, &add, &both].map(|made| made.tradeoff(&alpha(a)).unwrap().to_f64());
            let smaller = Bounds::new(f.lower().min(g.lower()), f.upper().min(g.upper()));
            assert!(least.overlaps(&smaller) && least.relative_width() < 1e-5, "{least:?} {smaller:?}");
        }
        let [remove, add, _] = sampled(40);
        for a in ["0.0001", "0.02", "0.3", "0.8"] {
            let f = remove.tradeoff(&alpha(a)).unwrap();
            let back =
                |end: Magnitude| add.tradeoff(&Alpha::new(end.to_rational()).unwrap()).unwrap().to_f64();
            let (most, least) = (back(f.lower()), back(f.upper()));
            let a: f64 = a.parse().unwrap();
            assert!(least.lower() <= a && a <= most.upper(), "{a} {least:?} {most:?}");
            assert!(most.upper() / least.lower() < 1.0 + 1e-4, "{a} {least:?} {most:?}");
        }
    }

    #[test]
    fn symmetric_and_bracketed_everywhere() {
        let sigmas = ["5", "7.77", "12.3456789"];
        let release =
            Composition::new(sigmas.map(|s| (DiscreteGaussian::parse(s, "1").unwrap(), 4))).unwrap();
        for a in ["1e-300", "1e-20", "1e-3", "0.05", "0.3", "0.5", "0.9", "0.999"] {
            let f = release.tradeoff(&alpha(a)).unwrap();
            let power = release.power(&alpha(a)).unwrap();
            assert!(power.relative_width() < 1e-4 || f.relative_width() < 1e-4, "{a}: {f:?} {power:?}");
            // f(f(α)) = α.
            let back = Alpha::new(f.upper().to_rational()).unwrap();
            if a.len() < 5 {
                let again = release.tradeoff(&back).unwrap().to_f64();
                let a: f64 = a.parse().unwrap();
                assert!(again.lower() <= a * 1.0001 && a * 0.9999 <= again.upper(), "{a} {again:?}");
            }
        }
        assert_eq!(release.tradeoff(&alpha("0")).unwrap().lower(), Magnitude::ONE);
        assert_eq!(release.tradeoff(&alpha("1")).unwrap().upper(), Magnitude::ZERO);
        assert!(Alpha::parse("1.1").is_err());
    }
}
