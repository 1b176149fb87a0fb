//! Where a function is least.

/// About where `f` is least on `[low, high]`, if it falls and then rises: golden-section search.
pub(crate) fn golden_section(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64, steps: u32) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..steps {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - RATIO * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + RATIO * (high - low);
            fb = f(b);
        }
    }
    if fa <= fb { a } else { b }
}

/// About where `f` is least, if it falls and then rises, from a guess: outward in growing steps of `reach`
/// until it rises on either side, then by parabolas and golden sections (Brent's method) to within `near`. It
/// may be infinite above some place; not below.
pub(crate) fn least_near(f: impl Fn(f64) -> f64, guess: f64, reach: f64, near: f64) -> f64 {
    const OUTWARD: usize = 24;
    const MOST: usize = 60;
    let (mut a, mut x, mut b) = (guess - reach, guess, guess + reach);
    let (mut fa, mut fx, mut fb) = (f(a), f(x), f(b));
    for _ in 0..OUTWARD {
        if fb < fx {
            (a, fa, x, fx) = (x, fx, b, fb);
            b = x + 2.0 * (x - a);
            fb = f(b);
        } else if fa < fx || fx == f64::INFINITY {
            (b, fb, x, fx) = (x, fx, a, fa);
            a = x - 2.0 * (b - x);
            fa = f(a);
        } else {
            break;
        }
    }
    if fx == f64::INFINITY {
        return x;
    }
    // The least so far, the second and the third.
    let ((mut w, mut fw), (mut v, mut fv)) = if fa < fb { ((a, fa), (b, fb)) } else { ((b, fb), (a, fa)) };
    let (mut last, mut before) = (b - a, b - a);
    for _ in 0..MOST {
        let middle = 0.5 * (a + b);
        if (x - middle).abs() + 0.5 * (b - a) <= 2.0 * near {
            break;
        }
        // The least of the parabola through all three.
        let (r, q) = ((x - w) * (fx - fv), (x - v) * (fx - fw));
        let step = ((x - v) * q - (x - w) * r) / (2.0 * (r - q));
        let inside = step.is_finite() && a < x + step && x + step < b;
        last = if inside && step.abs() < 0.5 * before.abs() {
            before = last;
            // Next to an end of the bracket there is nothing to be learnt: a step to the other side instead.
            let beside = x + step - a < 2.0 * near || b - (x + step) < 2.0 * near;
            if beside { near.copysign(middle - x) } else { step }
        } else {
            before = if x < middle { b - x } else { a - x };
            0.381_966_011_250_105_1 * before
        };
        last = if last.abs() < near { near.copysign(last) } else { last };
        let u = x + last;
        let fu = f(u);
        if fu <= fx {
            if u < x {
                b = x
            } else {
                a = x
            }
            (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
        } else {
            if u < x {
                a = u
            } else {
                b = u
            }
            if fu <= fw || w == x {
                (v, fv, w, fw) = (w, fw, u, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::least_near;
    use crate::number::float;

    #[test]
    fn the_least_is_found_from_afar_in_few_steps() {
        for (least, guess) in [(0.0, 0.3), (-40.0, 2.0), (1234.5, 0.0), (-3.0, -3.0)] {
            let shapes: [(&dyn Fn(f64) -> f64, usize); 3] = [
                (&|x: f64| (x - least) * (x - least), 20),
                (&|x: f64| (x - least).abs(), 60),
                (
                    &|x: f64| {
                        let fall = float::exp(0.25 * (least - x));
                        if x > least + 7.0 { f64::INFINITY } else { fall + 0.1 * (x - least) }
                    },
                    60,
                ),
            ];
            for (i, (shape, most)) in shapes.into_iter().enumerate() {
                let asked = Cell::new(0);
                let at = |x: f64| {
                    asked.set(asked.get() + 1);
                    shape(x)
                };
                let found = least_near(at, guess, 1.0, 1e-5);
                let truth = if i == 2 { least + 4.0 * float::ln(2.5) } else { least };
                assert!((found - truth).abs() < 1e-4, "{i}: {found} {truth}");
                assert!(asked.get() <= most, "{i} {least}: {}", asked.get());
            }
        }
    }
}
