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
