//! Assumption R2, searched for a counterexample: every function of the parent module at random arguments,
//! beside the same function in double-doubles.
//!
//! The reference uses sums and products of double-doubles alone (R3, R11), so that it shares nothing with
//! the library under test but the first guess of a logarithm and of an angle, which it corrects. It is good
//! to some 2⁻⁸⁵, which does not show beside `u = 2⁻⁵³`. `ARGUMENTS` is how many arguments each range of a
//! function gets: few in the tests, many in `make elementary`, which is for a new version of the library.

use super::*;

/// π/2 in four doubles, to 2⁻²¹⁶.
const HALF_PI: [f64; 4] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33, 5.562271104316826e-50];

/// Random doubles, the same ones in every run.
struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between `from` and `to`, all alike.
    fn even(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * ((self.bits() >> 11) as f64 * UNIT)
    }

    /// A positive number whose binary exponent is one of these, all alike.
    fn scaled(&mut self, from: i32, to: i32) -> f64 {
        let exponent = from + (self.bits() % (to - from) as u64) as i32;
        f64::from_bits((1023u64 << 52) | (self.bits() >> 12)) * 2f64.powi(exponent)
    }

    fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }
}

/// `Σ_{i≥0} x^{2i}(−1)^i/(first + 1)(first + 2)…(first + 2i)`: sin x over x with `first` = 1, cos x with 0.
fn alternating(x: Dd, first: u32) -> Dd {
    let square = x.mul(x).neg();
    // |x| ≤ π/4: the term of x^28 is below 2⁻¹⁰⁰.
    (1..=14).rev().fold(Dd::from(1.0), |sum, i| {
        let divisor = f64::from((first + 2 * i - 1) * (first + 2 * i));
        sum.mul(square).div(Dd::from(divisor)).add(Dd::from(1.0))
    })
}

/// `(sin, cos)` of `x + quarters·π/2`, `|x| ≤ π/4`.
fn turned(x: Dd, quarters: f64) -> (Dd, Dd) {
    let (sin, cos) = (x.mul(alternating(x, 1)), alternating(x, 0));
    match quarters.rem_euclid(4.0) as u8 {
        0 => (sin, cos),
        1 => (cos, sin.neg()),
        2 => (sin.neg(), cos.neg()),
        _ => (cos.neg(), sin),
    }
}

fn sin_cos_reference(x: f64) -> (Dd, Dd) {
    let quarters = (x / HALF_PI[0]).round();
    turned(HALF_PI.iter().fold(Dd::from(x), |r, part| r.sub(two_prod(quarters, *part))), quarters)
}

fn sin_cos_pi_reference(x: f64) -> (Dd, Dd) {
    let quarters = (2.0 * x).round();
    let pi = Dd { hi: 2.0 * HALF_PI[0], lo: 2.0 * HALF_PI[1] };
    // Exact: multiples of one half are near, or x is small.
    turned(pi.scale(x - 0.5 * quarters), quarters)
}

/// `e^x − 1`.
fn expm1_reference(x: f64) -> Dd {
    if x.abs() > 0.125 {
        return Dd::from(x).exp().sub(Dd::from(1.0));
    }
    // The term of x^21 is below 2⁻¹⁰⁵ of the first.
    let sum = (2..=21)
        .rev()
        .fold(Dd::from(1.0), |sum, i| sum.mul(Dd::from(x)).div(Dd::from(f64::from(i))).add(Dd::from(1.0)));
    sum.scale(x)
}

/// `ln(1 + x)`: a logarithm that is small is corrected by what its exponential lacks.
fn ln1p_reference(x: f64) -> Dd {
    let first = pxfm::f_log1p(x);
    if first.abs() > 0.125 {
        return Dd::sum(1.0, x).ln();
    }
    // With y = first: ln(1 + x) = y + ln1p(r), r = (x − (e^y − 1))/e^y, a few u of x.
    let lack = Dd::from(x).sub(expm1_reference(first)).div(expm1_reference(first).add(Dd::from(1.0)));
    Dd::from(first).add(lack.sub(lack.mul(lack).scale(0.5)))
}

/// `ln x`, also for numbers that [`Dd::ln`] does not take, and near 1.
fn ln_reference(x: f64) -> Dd {
    if (x - 1.0).abs() < 0.125 {
        // Exact: the two are within a factor of two.
        return ln1p_reference(x - 1.0);
    }
    let halves = if x > 1.0 { 500.0 } else { -500.0 };
    let ln2 = LN2.iter().rev().fold(Dd::ZERO, |sum, part| sum.add(Dd::from(*part)));
    if x.abs() > 2f64.powi(900) || x < 2f64.powi(-900) {
        return Dd::from(x * 2f64.powi(-halves as i32)).ln().add(ln2.scale(halves));
    }
    Dd::from(x).ln()
}

fn sinh_reference(x: f64) -> Dd {
    // (e^x − e^−x)/2 = (g + g/(1 + g))/2 with g = e^x − 1, without cancellation for positive x.
    let grown = expm1_reference(x.abs());
    grown.add(grown.div(grown.add(Dd::from(1.0)))).scale(0.5 * x.signum())
}

fn cosh_reference(x: f64) -> Dd {
    Dd::from(x).exp().add(Dd::from(-x).exp()).scale(0.5)
}

/// The angle of (x, y): the library's, turned by what it lacks.
fn atan2_reference(y: f64, x: f64) -> Dd {
    let first = pxfm::f_atan2(y, x);
    let (sin, cos) = sin_cos_reference(first);
    let (across, along) = (cos.scale(y).sub(sin.scale(x)), cos.scale(x).add(sin.scale(y)));
    Dd::from(first).add(across.div(along))
}

/// The largest error of one function, in units of `u`.
struct Worst {
    name: &'static str,
    error: f64,
    at: (f64, f64),
    arguments: u64,
}

impl Worst {
    fn new(name: &'static str) -> Worst {
        Worst { name, error: 0.0, at: (0.0, 0.0), arguments: 0 }
    }

    fn see(&mut self, at: (f64, f64), found: f64, truth: Dd) {
        self.arguments += 1;
        let off = Dd::from(found).sub(truth).to_f64();
        let error = if off == 0.0 { 0.0 } else { (off / truth.hi).abs() / UNIT };
        // NaN is worse than any number.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if error > self.error {
            (self.error, self.at) = (error, at);
        }
    }
}

#[test]
fn no_elementary_function_is_off_by_more_than_is_assumed() {
    let count = std::env::var("ARGUMENTS").map_or(4_000, |text| text.parse().expect("ARGUMENTS: a number"));
    let seed = std::env::var("SEED").map_or(1, |text| text.parse().expect("SEED: a number"));
    let draw = &mut Draw(seed);
    let mut all: Vec<Worst> =
        ["exp", "expm1", "ln", "ln1p", "sin", "cos", "sin π", "cos π", "sinh", "cosh", "atan2"]
            .map(Worst::new)
            .into();
    for _ in 0..count {
        let [exp1, expm, log, log1, sin, cos, sin_pi, cos_pi, sinh, cosh, angle] = &mut all[..] else {
            unreachable!("eleven functions")
        };
        for x in [draw.even(-708.0, 709.0), draw.sign() * draw.scaled(-60, 9), draw.even(-1.0, 1.0)] {
            // The reference itself ends at 660.
            if x.abs() <= 660.0 {
                exp1.see((x, 0.0), exp(x), Dd::from(x).exp());
                let (s, c) = sinh_cosh(x);
                sinh.see((x, 0.0), s, sinh_reference(x));
                cosh.see((x, 0.0), c, cosh_reference(x));
                expm.see((x, 0.0), expm1(x), expm1_reference(x));
            } else {
                let half = Dd::from(0.5 * x).exp();
                // e^x = (e^{x/2})², scaled where the second double would be subnormal.
                let scale = if x < 0.0 { 2f64.powi(500) } else { 1.0 };
                exp1.see((x, 0.0), exp(x) * scale, half.scale(scale).mul(half));
            }
        }
        for x in [draw.scaled(-300, -20), draw.even(-0.25, 0.25)] {
            let x = if x.abs() < 1e-3 { x * draw.sign() } else { x };
            expm.see((x, 0.0), expm1(x), expm1_reference(x));
            log1.see((x, 0.0), ln1p(x), ln1p_reference(x));
            sinh.see((x, 0.0), sinh_cosh(x).0, sinh_reference(x));
        }
        for x in [draw.scaled(-1021, 1023), draw.even(0.5, 2.0), draw.even(0.0, 1e3)] {
            if x > 0.0 && x != 1.0 {
                log.see((x, 0.0), ln(x), ln_reference(x));
            }
        }
        for x in [draw.scaled(-60, 300), -draw.even(0.0, 1.0), draw.even(0.0, 10.0)] {
            log1.see((x, 0.0), ln1p(x), ln1p_reference(x));
        }
        let quarters = draw.even(0.0, 1e6).round();
        let near = quarters * HALF_PI[0] * (1.0 + draw.sign() * draw.scaled(-52, -20));
        for x in [draw.sign() * draw.scaled(-60, 30), draw.even(-7.0, 7.0), near] {
            let ((s, c), truth) = (sin_cos(x), sin_cos_reference(x));
            sin.see((x, 0.0), s, truth.0);
            cos.see((x, 0.0), c, truth.1);
        }
        let near = (0.5 * draw.even(-8.0, 8.0).round()) * (1.0 + draw.sign() * draw.scaled(-52, -20));
        for x in [draw.even(-1.0, 1.0), draw.sign() * draw.scaled(-60, 10), near] {
            let ((s, c), truth) = (sin_cos_pi(x), sin_cos_pi_reference(x));
            sin_pi.see((x, 0.0), s, truth.0);
            cos_pi.see((x, 0.0), c, truth.1);
        }
        let (y, x) = (draw.sign() * draw.scaled(-40, 40), draw.sign() * draw.scaled(-40, 40));
        let like = draw.even(-1.0, 1.0);
        for (y, x) in [(y, x), (like, draw.even(-1.0, 1.0)), (y, draw.scaled(-40, 40))] {
            angle.see((y, x), atan2(y, x), atan2_reference(y, x));
        }
    }
    for Worst { name, error, at, arguments } in &all {
        println!("{name:6} {arguments:>12} arguments, worst {error:.4} u at {at:?}");
    }
    let assumed = FUNCTION / UNIT;
    let broken: Vec<_> = all.iter().filter(|worst| worst.error > assumed).map(|w| w.name).collect();
    assert!(broken.is_empty(), "off by more than {assumed} u: {broken:?}");
}
