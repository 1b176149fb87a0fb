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
mod knots;

use num_bigint::BigInt;

use crate::composition::Composition;
use crate::error::Result;
use crate::loss::Way;
use crate::number::float;
use crate::number::{Bounds, Magnitude, Rational, Round, least_near};
use crate::profile::{Answer, Direction, Point};
use crate::quantity::Alpha;
use crate::stop;
use height::{Value, by_concavity, loose, ratio_of_gaps};
pub use knots::Knot;

/// Relative width of δ that is enough to find the best test by.
const STEERING: f64 = 1e-3;

/// How near to the best test the search by such a δ comes, in parts of what changes 1 − H, and how near the
/// next.
const ROUGHLY: f64 = 1e-2;
const NEARLY: f64 = 3e-6;

/// Coarsest and finest step to the three points that bound H from above, as powers of two.
const FIRST_STEP: i32 = -8;
const LAST_STEP: i32 = 24;

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
        self.demand("tradeoff", |aim| self.best_attack(alpha, aim).0.f)
    }

    /// The best attacker's power at the false-alarm rate α: 1 − f(α). Its **upper** bound is the
    /// guarantee.
    pub fn power(&self, alpha: &Alpha) -> Result<Bounds<Magnitude>> {
        self.has_trade_off("the power of a test")?;
        self.demand("power", |aim| self.best_attack(alpha, aim).0.power)
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
    pub(crate) fn best_test(&self, alpha: &Alpha) -> Result<(Misses, Power, f64)> {
        self.has_trade_off("the trade-off function")?;
        let (found, epsilon) = self.best_attack(alpha, self.aim());
        Ok((found.f, found.power, epsilon))
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
        let search = || self.worst_way(|way| self.best_attack_in(way, alpha, aim));
        let (found, epsilon) = self.accountant().within(Answer::Searches, search);
        // Guessing at random never misses more often than 1 − α.
        let rest = (&Rational::integer(1) - alpha).to_magnitude_bounds().1;
        let guessing = Value {
            f: Bounds::new(Magnitude::ZERO, rest),
            power: Bounds::new(alpha.to_magnitude_bounds().0, Magnitude::ONE),
        };
        (found.intersect(&guessing), epsilon)
    }

    fn best_attack_in(&self, way: Way, alpha: &Rational, aim: f64) -> (Value, f64) {
        let within = |epsilon: f64, tolerance| {
            self.value_at(way, alpha, &Rational::from_f64("", epsilon).expect("finite"), tolerance)
        };
        let at = |epsilon: f64| within(epsilon, aim);
        let mu = self.accountant().scale().1;
        let step = |exponent: i32| mu.min(1.0) * 2f64.powi(-exponent);
        let guess = self.gaussian_threshold(alpha);
        // Over this much of ε a Gaussian 1 − H changes by its own size.
        let scale = if mu > 0.0 { mu / (1.0 + (guess / mu + 0.5 * mu).abs()) } else { 0.0 };
        // H is unimodal in ε. Losses of which a few are rare and large may have the best test far from the
        // guess. By a δ within STEERING the best is known to about the root of that, on a lattice much
        // better.
        let reach = 0.5 * mu + 1e-3 * guess.abs();
        let losses = self.accountant().losses();
        let near = losses.map_or(ROUGHLY * scale, |lattice| (NEARLY * scale).max(lattice.step_f64 / 16.0));
        let best = least_near(|e| within(e, STEERING).cost(), guess, reach, near);
        let by_power = within(best, STEERING).is_by_power();
        if let Some(found) = self.at_losses(alpha, best, by_power, aim) {
            return (found, best);
        }
        // Points nearer than a fraction of the first step are as good as the best.
        let roughly = first_step(&at(best), by_power);
        let near = (step(roughly) / 32.0).clamp(NEARLY * scale, 0.1 * ROUGHLY * scale);
        let best = least_near(|e| at(e).cost(), best, 4.0 * ROUGHLY * scale, near);
        let middle = at(best);
        let by_power = middle.is_by_power();
        let around = |step: f64| {
            let (left, right) = (best - step, best + step);
            let gaps = ratio_of_gaps(left, best, right)?;
            by_concavity(&[at(left), middle, at(right)], gaps, by_power)
        };
        // Finer and finer steps, until the curvature no longer shows through the width of δ; from one that it
        // should still show through, or the finest coarser one that it does.
        let first = first_step(&middle, by_power);
        let coarser = || {
            (FIRST_STEP..=first - 2).rev().step_by(2).find_map(|e| around(step(e)).map(|value| (e, value)))
        };
        let Some((mut last, mut found)) = around(step(first)).map(|value| (first, value)).or_else(coarser)
        else {
            return (loose(&middle), best);
        };
        for value in (last + 1..=LAST_STEP).map_while(|e| around(step(e))) {
            found = found.intersect(&value);
            last += 1;
        }
        if let Some(value) = around(std::f64::consts::FRAC_1_SQRT_2 * step(last)) {
            found = found.intersect(&value);
        }
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

/// Where the curvature shows through the width of H about 30 times.
fn first_step(middle: &Value, by_power: bool) -> i32 {
    let width = if by_power { middle.power } else { middle.f }.relative_width();
    let halvings = 0.5 * float::ln(1.0 / (30.0 * width.clamp(1e-18, 1.0))) / std::f64::consts::LN_2;
    (halvings as i32).clamp(FIRST_STEP, LAST_STEP)
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

    /// One loss of −50 has nearly all the mass and one of 50 less than α: the best test is far from that of
    /// continuous noise, and 1 − f is 1 to every digit. Straight from the pmf:
    /// `f(α) = Q(0)(1 − (α − P[y ≥ 1])/P(0)) + Q[y < 0]`.
    #[test]
    fn few_misses_at_few_false_alarms_have_their_digits() {
        let release = Composition::new([(DiscreteGaussian::parse("1/100", "1").unwrap(), 1)]).unwrap();
        let weight = |x: i32| float::exp(f64::from(-50 * x * x));
        let total = 1.0 + 2.0 * (weight(1) + weight(2));
        for a in ["1e-18", "1e-12", "1e-8", "0.001", "0.3", "0.5", "0.999"] {
            let above = (weight(1) + weight(2)) / total;
            let alarms = (a.parse::<f64>().unwrap() - above) * total;
            let truth = (weight(1) * (1.0 - alarms) + weight(2)) / total;
            let f = release.tradeoff(&alpha(a)).unwrap().to_f64();
            assert!(f.lower() <= truth * (1.0 + 1e-14) && truth * (1.0 - 1e-14) <= f.upper(), "{a} {f:?}");
            assert!(f.relative_width() < 1e-13, "{a} {f:?}");
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
