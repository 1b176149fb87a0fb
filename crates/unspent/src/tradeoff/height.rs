//! `H(x) = 1 − δ(ε) − xα` at one place, with every rounding, and what three places say of its maximum.

use crate::number::float::{self, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::profile::{DeltaBounds, Point};

/// `H` at one ε, and `1 − H`: whichever is small is known to small relative error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub f: Bounds<Magnitude>,
    pub power: Bounds<Magnitude>,
}

impl Value {
    /// At ε ≥ 0, from bounds of δ there.
    pub fn at(alpha: &Rational, at: &Point, delta: &DeltaBounds) -> Value {
        let (low, high) = alpha.to_magnitude_bounds();
        let end =
            |delta: Magnitude, alpha: Magnitude, round| delta.add(exp(at.dd, round).mul(alpha, round), round);
        // H can be negative, and 1 − H above 1, far from the maximum.
        let power = Bounds::new(
            end(delta.delta.lower(), low, Round::Down),
            end(delta.delta.upper(), high, Round::Up),
        );
        // 1 − δ − xα through the complement, which keeps its digits where δ is near 1.
        let rest = |complement: Magnitude, alpha: Magnitude, round, other| {
            complement.sub(exp(at.dd, other).mul(alpha, other), round)
        };
        let f = Bounds::new(
            rest(delta.complement.lower(), high, Round::Down, Round::Up),
            rest(delta.complement.upper(), low, Round::Up, Round::Down),
        );
        Value { f: f.intersect(&power.complement()), power }
    }

    /// At −ε, from bounds of δ at ε ≥ 0 (F2).
    pub fn below_zero(alpha: &Rational, at: &Point, delta: &DeltaBounds) -> Value {
        let (low, high) = (&Rational::integer(1) - alpha).to_magnitude_bounds();
        let end = |rest: Magnitude, delta: Magnitude, round| {
            exp(at.dd.neg(), round).mul(rest.sub(delta, round), round)
        };
        let f = Bounds::new(
            end(low, delta.delta.upper(), Round::Down),
            end(high, delta.delta.lower(), Round::Up),
        );
        Value { f, power: f.complement() }
    }

    /// Whether 1 − H is what is small, and so what is compared and bounded.
    pub fn is_by_power(&self) -> bool {
        self.power.upper() < Magnitude::from_f64(0.5)
    }

    /// Falls as H rises, with digits wherever H or 1 − H has them: it only steers.
    pub fn cost(&self) -> f64 {
        if self.is_by_power() {
            self.power.upper().ln(Round::Up)
        } else if self.f.lower().is_zero() {
            f64::INFINITY
        } else {
            -self.f.lower().ln(Round::Down) - 2.0 * std::f64::consts::LN_2
        }
    }

    /// The value of whichever is the better for the attacked: the larger `H`.
    pub fn or_better(&self, other: &Value, by_power: bool) -> Value {
        let least = |a: Magnitude, b: Magnitude| if b < a { b } else { a };
        let most = |a: Magnitude, b: Magnitude| if a < b { b } else { a };
        let f = Bounds::new(most(self.f.lower(), other.f.lower()), most(self.f.upper(), other.f.upper()));
        let power = Bounds::new(
            least(self.power.lower(), other.power.lower()),
            least(self.power.upper(), other.power.upper()),
        );
        if by_power { Value { f: power.complement(), power } } else { Value { f, power: f.complement() } }
    }

    /// The value of whichever is the worse for the attacked: the smaller f.
    pub fn or_worse(&self, other: &Value) -> Value {
        let least = |a: Magnitude, b: Magnitude| if b < a { b } else { a };
        let most = |a: Magnitude, b: Magnitude| if a < b { b } else { a };
        Value {
            f: Bounds::new(least(self.f.lower(), other.f.lower()), least(self.f.upper(), other.f.upper())),
            power: Bounds::new(
                most(self.power.lower(), other.power.lower()),
                most(self.power.upper(), other.power.upper()),
            ),
        }
    }

    pub fn intersect(&self, other: &Value) -> Value {
        Value { f: self.f.intersect(&other.f), power: self.power.intersect(&other.power) }
    }
}

/// `e^ε`, rounded.
fn exp(epsilon: Dd, round: Round) -> Magnitude {
    Magnitude::exp(epsilon, epsilon.hi.abs() * UNIT * UNIT, round)
}

/// What one point alone says: `max H` is at least this.
pub(super) fn loose(middle: &Value) -> Value {
    let f = Bounds::new(middle.f.lower(), Magnitude::ONE);
    let power = f.complement();
    let upper = middle.power.upper();
    Value { f, power: power.intersect(&Bounds::new(Magnitude::ZERO, clamp(upper))) }
}

fn clamp(m: Magnitude) -> Magnitude {
    if m < Magnitude::ONE { m } else { Magnitude::ONE }
}

/// `(e^c − e^b)/(e^b − e^a)` for `a < b < c`, and the units within which it is (F5); `None` if two of them
/// are the same double, or so far apart that it is none.
pub(super) fn ratio_of_gaps(a: f64, b: f64, c: f64) -> Option<(f64, f64)> {
    // The differences of the doubles at hand, which are not those that were meant. Each sum is exact as a
    // pair, its larger part within u; that moves expm1 by u(1 + x) at most, the function adds 4u, the
    // quotient u.
    let (right, left) = (Dd::sum(c, -b).hi, Dd::sum(b, -a).hi);
    let ratio = (left > 0.0 && right > 0.0).then(|| float::expm1(right) / -float::expm1(-left))?;
    ratio.is_finite().then_some((ratio, 32.0 + 2.0 * (left + right)))
}

/// Bounds of `max H` from `H` at three points, the right gap `ratio` times the left; `None` if the middle is
/// not certainly the best.
pub(super) fn by_concavity(three: &[Value; 3], ratio: (f64, f64), by_power: bool) -> Option<Value> {
    let (ratio, units) = ratio;
    let r = Magnitude::from_f64(float::up(ratio.max(1.0 / ratio), units));
    let [left, middle, right] = three;
    let larger = |a: Magnitude, b: Magnitude| if a < b { b } else { a };
    if by_power {
        let g = [left.power, middle.power, right.power];
        // Beyond the outer points the convex 1 − H must rise; and an end at 1 may be a cut one.
        let risen =
            |outer: &Bounds<Magnitude>| outer.lower() >= g[1].upper() && outer.upper() < Magnitude::ONE;
        if !risen(&g[0]) || !risen(&g[2]) {
            return None;
        }
        // To the right of the middle, 1 − H ≥ g₁ − (g₀ − g₁)·r; to the left, ≥ g₁ − (g₂ − g₁)/r.
        let fall = |outer: Magnitude| outer.sub(g[1].lower(), Round::Up).mul(r, Round::Up);
        let most = larger(fall(g[0].upper()), fall(g[2].upper()));
        let power = Bounds::new(g[1].lower().sub(most, Round::Down), g[1].upper());
        return Some(Value { f: power.complement(), power });
    }
    let h = [left.f, middle.f, right.f];
    // Likewise, where an end at 0 may be a cut one.
    let fallen = |outer: &Bounds<Magnitude>| outer.upper() <= h[1].lower() && !outer.lower().is_zero();
    if !fallen(&h[0]) || !fallen(&h[2]) {
        return None;
    }
    let rise = |outer: Magnitude| h[1].upper().sub(outer, Round::Up).mul(r, Round::Up);
    let most = larger(rise(h[0].lower()), rise(h[2].lower()));
    let f = Bounds::new(h[1].lower(), clamp(h[1].upper().add(most, Round::Up)));
    Some(Value { f, power: f.complement() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::big::{Big, Draws, big, of_magnitude, of_rational};

    fn point(x: Magnitude) -> Bounds<Magnitude> {
        Bounds::new(x, x)
    }

    /// A δ that is a double, and whose complement is one.
    fn delta(draws: &mut Draws) -> DeltaBounds {
        let x = (float::exp(-12.0 * draws.unit()) * 2f64.powi(50)).round() * 2f64.powi(-50);
        DeltaBounds { delta: point(Magnitude::from_f64(x)), complement: point(Magnitude::from_f64(1.0 - x)) }
    }

    /// Checks that a truth lies inside, and records how near to either end it comes, relatively.
    fn inside(bounds: &Bounds<Magnitude>, truth: &Big, nearest: &mut [f64; 2]) {
        let (lower, upper) = (of_magnitude(bounds.lower()), of_magnitude(bounds.upper()));
        assert!(lower <= *truth && *truth <= upper, "{bounds:?} {}", truth.to_f64().value());
        for (end, off) in nearest.iter_mut().zip([truth - lower, upper - truth]) {
            *end = end.min((off / truth).to_f64().value());
        }
    }

    /// Of a δ that is exact: H and 1 − H lie inside, and so near to the ends that a rounding the other way
    /// would show.
    #[test]
    fn heights_are_rounded_outward() {
        let mut draws = Draws::new(7);
        let (mut steep, mut power, mut flat) = ([1.0; 2], [1.0; 2], [1.0; 2]);
        for _ in 0..4000 {
            let epsilon = Rational::from_f64("", 9.0 * draws.unit()).unwrap() / Rational::integer(7);
            let alpha = Rational::from_f64("", float::exp(-14.0 * draws.unit())).unwrap();
            let alpha = alpha * "0.99999999999999999137".parse().unwrap();
            let (at, delta) = (Point::new(epsilon.clone()), delta(&mut draws));
            let (x, a) = (of_rational(&epsilon).exp(), of_rational(&alpha));
            let d = of_magnitude(delta.delta.lower());
            let found = Value::at(&alpha, &at, &delta);
            let lost = &d + &x * &a;
            inside(&found.power, &lost, &mut power);
            if lost < big(0.999) {
                inside(&found.f, &(big(1.0) - lost), &mut steep);
            }
            let found = Value::below_zero(&alpha, &at, &delta);
            let rest = big(1.0) - a - d;
            if rest > big(1e-3) {
                let height = rest / x;
                inside(&found.f, &height, &mut flat);
                inside(&found.power, &(big(1.0) - height), &mut [1.0; 2]);
            }
        }
        for (nearest, within) in [(steep, 1.0), (power, 4.0), (flat, 16.0)] {
            assert!(nearest.iter().all(|off| *off < within * UNIT), "{nearest:?}");
        }
    }

    /// The largest H that three points allow (F5) is below the upper end, and so near that a rounding would
    /// show.
    #[test]
    fn maxima_are_rounded_outward() {
        let mut draws = Draws::new(11);
        let (mut below, mut above) = ([1.0; 2], [1.0; 2]);
        let mut known = 0;
        for _ in 0..4000 {
            let (b, step) = (4.0 * draws.unit() - 2.0, float::exp(-1.0 - 8.0 * draws.unit()));
            let (a, c) = (b - step, b + step * (0.5 + draws.unit()));
            let ratio = ratio_of_gaps(a, b, c).unwrap();
            let (x, y, z) = (big(a).exp(), big(b).exp(), big(c).exp());
            let gaps = (z - &y) / (y - x);
            // H at the middle, and lower by a little on either side.
            let middle = 0.05 + 0.9 * draws.unit();
            let mut lower = || middle - middle * float::exp(-3.0 - 25.0 * draws.unit());
            let heights = [lower(), middle, lower()];
            for by_power in [false, true] {
                // By power the heights are those of 1 − H, upside down.
                let values = heights.map(|h| {
                    let known = point(Magnitude::from_f64(if by_power { 2.0 * middle - h } else { h }));
                    let other = known.complement();
                    if by_power { Value { f: other, power: known } } else { Value { f: known, power: other } }
                });
                let Some(found) = by_concavity(&values, ratio, by_power) else { continue };
                let exact = |i: usize| {
                    of_magnitude(if by_power { values[i].power.lower() } else { values[i].f.lower() })
                };
                let fall = |i: usize| {
                    let off = exact(1) - exact(i);
                    if by_power { -off } else { off }
                };
                let (left, right) = (fall(0) * &gaps, fall(2) / &gaps);
                let most = if left > right { left } else { right };
                known += 1;
                if by_power {
                    let least = exact(1) - most;
                    if least > big(0.0) {
                        inside(&Bounds::new(found.power.lower(), Magnitude::ONE), &least, &mut below);
                    }
                } else {
                    let most = exact(1) + most;
                    if most < big(1.0) {
                        inside(&Bounds::new(Magnitude::ZERO, found.f.upper()), &most, &mut above);
                    }
                }
            }
        }
        assert!(known > 4000, "{known}");
        assert!(below[0] < 2.0 * UNIT && above[1] < 2.0 * UNIT, "{below:?} {above:?}");
    }

    /// Ends as they have been: what rounds one part differently shows here, even if others make up for it.
    #[test]
    fn ends_are_the_same_to_the_last_bit() {
        let ends = |value: Value| {
            let (f, power) = (value.f.to_f64(), value.power.to_f64());
            [f.lower(), f.upper(), power.lower(), power.upper()]
        };
        let known = |x: f64| DeltaBounds {
            delta: point(Magnitude::from_f64(x)),
            complement: point(Magnitude::from_f64(x)).complement(),
        };
        for (epsilon, delta, alpha, at, below) in HEIGHTS {
            let (epsilon, alpha) = (Point::new(epsilon.parse().unwrap()), alpha.parse().unwrap());
            assert_eq!(ends(Value::at(&alpha, &epsilon, &known(delta))), at, "{delta}");
            assert_eq!(ends(Value::below_zero(&alpha, &epsilon, &known(delta))), below, "{delta}");
        }
        for (three, ratio, by_power, found) in MAXIMA {
            let values = three.map(|h| {
                let known = point(Magnitude::from_f64(h));
                let other = known.complement();
                if by_power { Value { f: other, power: known } } else { Value { f: known, power: other } }
            });
            assert_eq!(ends(by_concavity(&values, (ratio, 32.0), by_power).unwrap()), found, "{three:?}");
        }
    }

    fn between(lower: f64, upper: f64) -> Bounds<Magnitude> {
        Bounds::new(Magnitude::from_f64(lower), Magnitude::from_f64(upper))
    }

    /// Of a δ that is only known to lie between two doubles: H lies inside for either, and nothing is given
    /// away.
    #[test]
    fn heights_of_a_wide_delta_hold_for_both_of_its_ends() {
        let (alpha, at) = ("1/8".parse().unwrap(), Point::new("1/2".parse().unwrap()));
        let x = big(0.5).exp();
        let ends = [0.125, 0.25];
        let delta = DeltaBounds { delta: between(0.125, 0.25), complement: between(0.75, 0.875) };
        let (above, below) = (Value::at(&alpha, &at, &delta), Value::below_zero(&alpha, &at, &delta));
        let exact = |bounds: Bounds<Magnitude>, at: [Big; 2]| {
            for (found, exact) in [(bounds.lower(), &at[0]), (bounds.upper(), &at[1])] {
                let off = (of_magnitude(found) - exact).to_f64().value();
                assert!(off.abs() < 16.0 * UNIT, "{bounds:?} {off:e}");
            }
            let inside = of_magnitude(bounds.lower()) <= at[0] && at[1] <= of_magnitude(bounds.upper());
            assert!(inside, "{bounds:?}");
        };
        let lost = ends.map(|d| big(d) + &x * big(0.125));
        exact(above.f, [big(1.0) - &lost[1], big(1.0) - &lost[0]]);
        exact(above.power, lost);
        let [most, least] = ends.map(|d| (big(0.875) - big(d)) / &x);
        exact(below.power, [big(1.0) - &most, big(1.0) - &least]);
        exact(below.f, [least, most]);
    }

    /// The better and the worse of two, and what one alone says, of each end by itself.
    #[test]
    fn ends_of_two_are_chosen_each_by_itself() {
        let value = |lower: f64, upper: f64| Value {
            f: between(lower, upper),
            power: between(1.0 - upper, 1.0 - lower),
        };
        let ends =
            |v: &Value| [v.f, v.power].map(|b| (b.lower().to_f64(Round::Down), b.upper().to_f64(Round::Up)));
        let (wide, narrow, high) = (value(0.125, 0.75), value(0.25, 0.5), value(0.5, 0.875));
        for by_power in [false, true] {
            assert_eq!(ends(&wide.or_better(&narrow, by_power)), [(0.25, 0.75), (0.25, 0.75)]);
            assert_eq!(ends(&narrow.or_better(&wide, by_power)), [(0.25, 0.75), (0.25, 0.75)]);
            assert_eq!(ends(&high.or_better(&wide, by_power)), [(0.5, 0.875), (0.125, 0.5)]);
        }
        assert_eq!(ends(&wide.or_worse(&narrow)), [(0.125, 0.5), (0.5, 0.875)]);
        assert_eq!(ends(&narrow.or_worse(&wide)), [(0.125, 0.5), (0.5, 0.875)]);
        assert_eq!(ends(&high.or_worse(&wide)), [(0.125, 0.75), (0.25, 0.875)]);
        assert_eq!(ends(&wide.intersect(&high)), [(0.5, 0.75), (0.25, 0.5)]);
        assert_eq!(ends(&loose(&wide)), [(0.125, 1.0), (0.0, 0.875)]);
    }

    /// A maximum among heights that are only known to lie between two doubles, to the ratio's 32u.
    #[test]
    fn a_maximum_holds_for_every_height_that_is_possible() {
        let value = |f: Bounds<Magnitude>| Value { f, power: f.complement() };
        let (outer, middle) = (between(0.125, 0.25), between(0.5, 0.5625));
        let near = |found: Magnitude, exact: f64| {
            let off = found.to_f64(Round::Up) - exact;
            assert!(off.abs() < 1e-14, "{off:e}");
            off
        };
        let three = [value(outer), value(middle), value(between(0.375, 0.4375))];
        let found = by_concavity(&three, (0.75, 0.0), false).unwrap();
        assert_eq!(found.f.lower(), middle.lower());
        assert!(near(found.f.upper(), 1.0) <= 0.0, "it is cut at 1");
        let three = [value(between(0.46875, 0.484375)), value(middle), value(between(0.4375, 0.5))];
        let found = by_concavity(&three, (0.5, 0.0), false).unwrap();
        assert!(near(found.f.upper(), 0.5625 + 2.0 * 0.125) >= 0.0);
        let power = |power: Bounds<Magnitude>| Value { f: power.complement(), power };
        let three = [power(between(0.5625, 0.625)), power(middle), power(between(0.5625, 0.59375))];
        let found = by_concavity(&three, (2.0, 0.0), true).unwrap();
        assert_eq!(found.power.upper(), middle.upper());
        assert!(near(found.power.lower(), 0.5 - 2.0 * 0.125) <= 0.0);
        // One that may be as high as the middle.
        for (three, by_power) in [
            ([value(between(0.125, 0.53125)), value(middle), value(outer)], false),
            ([value(outer), value(middle), value(between(0.0, 0.25))], false),
            ([power(between(0.53125, 0.75)), power(middle), power(between(0.75, 0.875))], true),
            ([power(between(0.75, 0.875)), power(middle), power(between(0.75, 1.0))], true),
        ] {
            assert!(by_concavity(&three, (1.0, 0.0), by_power).is_none());
        }
    }

    type Ends = [f64; 4];

    /// ε, δ, α, and the ends of H and of 1 − H at ε and at −ε.
    const HEIGHTS: [(&str, f64, &str, Ends, Ends); 3] = [
        (
            "1/3",
            0.1,
            "1/7",
            [0.7006267964162726, 0.7006267964162732, 0.2993732035837268, 0.2993732035837274],
            [0.5425165637201539, 0.5425165637201556, 0.45748343627984445, 0.4574834362798461],
        ),
        (
            "2",
            0.003,
            "0.031",
            [0.7679392609331495, 0.7679392609331501, 0.23206073906684987, 0.23206073906685046],
            [0.13073388360656768, 0.13073388360656807, 0.8692661163934318, 0.8692661163934323],
        ),
        (
            "0.7",
            1e-9,
            "1/3",
            [0.3287490965098401, 0.3287490965098422, 0.6712509034901578, 0.6712509034901599],
            [0.33105686869768725, 0.3310568686976882, 0.6689431313023116, 0.6689431313023128],
        ),
    ];

    /// Three heights, the ratio of the gaps, whether they are those of 1 − H, and the ends of the maximum.
    const MAXIMA: [([f64; 3], f64, bool, Ends); 4] = [
        ([0.31, 0.32, 0.3], 1.1, false, [0.32, 0.3420000000000002, 0.6579999999999998, 0.68]),
        // Heights so far apart that their difference is no double.
        ([0.1, 0.37, 0.013], 1.0, false, [0.37, 0.7270000000000014, 0.2729999999999986, 0.63]),
        ([0.9, 0.7, 0.71], 1.0, true, [0.30000000000000004, 0.5000000000000009, 0.4999999999999991, 0.7]),
        ([0.33, 0.3, 0.31], 0.93, true, [0.6999999999999998, 0.7322580645161293, 0.26774193548387076, 0.3]),
    ];

    /// Near 2⁴⁰ steps of 2⁻¹³ are rounded to multiples of 2⁻¹³ or 2⁻¹²: one gap is twice the other, or there
    /// is none.
    #[test]
    fn gaps_are_those_of_the_points() {
        let best = 2f64.powi(40);
        let step = 0.6 * 2f64.powi(-12);
        let (left, right) = (best - step, best + step);
        assert_eq!((best - left, right - best), (2f64.powi(-13), 2f64.powi(-12)));
        let (ratio, _) = ratio_of_gaps(left, best, right).unwrap();
        assert!((2.0..2.001).contains(&ratio), "{ratio}");
        assert_eq!(ratio_of_gaps(best - 1e-6, best, best + 1e-6), None);
        // Where a difference is no double either: e^step but for 32u.
        let (ratio, units) = ratio_of_gaps(1e-9 - 0.0625, 1e-9, 1e-9 + 0.0625).unwrap();
        assert_eq!(units, 32.25);
        assert!((ratio / float::exp(0.0625) - 1.0).abs() <= 32.0 * UNIT, "{ratio}");
        // Long steps, from points whose differences are rounded.
        let mut draws = Draws::new(13);
        for _ in 0..2000 {
            let (b, step) = (900.0 * (draws.unit() - 0.5), 256.0 * float::exp(-9.0 * draws.unit()));
            let (a, c) = (b - step, b + step);
            let (ratio, units) = ratio_of_gaps(a, b, c).unwrap();
            let (x, y, z) = (big(a).exp(), big(b).exp(), big(c).exp());
            let exact = (z - &y) / (y - x);
            let off = ((big(ratio) - &exact) / &exact).to_f64().value().abs();
            assert!(off < units * UNIT, "{a} {b} {c} {ratio}");
        }
    }
}
