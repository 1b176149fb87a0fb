//! Where an axis is marked, and how the marks are called.

use crate::Scale;
use crate::text::superscript;

/// log₁₀ of 1 to 9.
const LOG10: [f64; 9] = [
    0.0,
    std::f64::consts::LOG10_2,
    0.477_121_254_719_662_4,
    0.602_059_991_327_962_4,
    0.698_970_004_336_018_8,
    0.778_151_250_383_643_6,
    0.845_098_040_014_256_8,
    0.903_089_986_991_943_6,
    0.954_242_509_439_324_9,
];

/// Ends beyond this are cut: room for differences without overflow.
const FAR: f64 = 1e300;

/// A mark with its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where, in the units of the axis.
    pub at: f64,
    /// The value there, for people.
    pub label: String,
}

/// The marks of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    /// Labelled ones, in order.
    pub major: Vec<Tick>,
    /// Small ones between them.
    pub minor: Vec<f64>,
}

/// 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    digit: i64,
    exponent: i32,
}

impl Step {
    const ONE: Step = Step { digit: 1, exponent: 0 };

    /// The least step of at least `gap` > 0. Its exponent is read off the decimal notation, which
    /// is exact where a logarithm is not.
    fn at_least(gap: f64) -> Step {
        let text = format!("{gap:e}");
        let (mantissa, exponent) = text.split_once('e').expect("{:e} writes an exponent");
        let mantissa: f64 = mantissa.parse().expect("written above");
        let exponent = exponent.parse().expect("written above");
        match [1, 2, 5].into_iter().find(|&digit| mantissa <= digit as f64 * (1.0 + 1e-9)) {
            Some(digit) => Step { digit, exponent },
            None => Step { digit: 1, exponent: exponent + 1 },
        }
    }

    fn next(self) -> Step {
        match self.digit {
            1 => Step { digit: 2, ..self },
            2 => Step { digit: 5, ..self },
            _ => Step { digit: 1, exponent: self.exponent + 1 },
        }
    }

    /// The step between minor ticks: halves of 2, fifths of 1 and 5.
    fn minor(self) -> Step {
        match self.digit {
            1 => Step { digit: 2, exponent: self.exponent - 1 },
            2 | 5 => Step { digit: 1, ..self },
            _ => unreachable!("a step is 1, 2 or 5"),
        }
    }

    /// `n` steps, correctly rounded.
    fn times(self, n: i64) -> f64 {
        format!("{}e{}", n * self.digit, self.exponent).parse().expect("a decimal number")
    }

    /// The first and last multiple within the range, give or take rounding.
    fn within(self, low: f64, high: f64) -> std::ops::RangeInclusive<i64> {
        let size = self.times(1);
        (low / size - 1e-6).ceil() as i64..=(high / size + 1e-6).floor() as i64
    }

    fn count(self, low: f64, high: f64) -> i64 {
        let within = self.within(low, high);
        within.end() - within.start() + 1
    }
}

/// The range of an axis that was given none: all finite values, rounded outward to minor ticks.
pub fn range(values: impl Iterator<Item = f64>, scale: Scale) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value.max(-FAR)), high.max(value.min(FAR)));
    }
    if low > high {
        return if scale == Scale::Log10 { (-1.0, 0.0) } else { (0.0, 1.0) };
    }
    let (low, high) = proper(low, high);
    let mut step = Step::at_least((high - low) / 8.0).minor();
    if scale == Scale::Log10 && step.exponent < 0 {
        step = Step::ONE;
    }
    let size = step.times(1);
    // Not `within`: outward.
    let (first, last) = ((low / size + 1e-6).floor() as i64, (high / size - 1e-6).ceil() as i64);
    (step.times(first).min(low), step.times(last).max(high))
}

/// Two ends that are finite, in order and apart.
pub fn proper(low: f64, high: f64) -> (f64, f64) {
    if !low.is_finite() || !high.is_finite() {
        return (0.0, 1.0);
    }
    let (low, high) = (low.min(high).max(-FAR), low.max(high).min(FAR));
    let least = 1e-9 * low.abs().max(high.abs());
    if high - low > least {
        return (low, high);
    }
    let half = if low == 0.0 { 0.5 } else { 0.5 * low.abs().min(1.0).max(4.0 * least) };
    (low - half, high + half)
}

/// At most about `at_most` labelled ticks between `low` and `high`; none if that is no range.
pub fn ticks(scale: Scale, low: f64, high: f64, at_most: usize) -> Ticks {
    // The negation also catches NaN.
    if !(low < high && high - low < 4.0 * FAR) {
        return Ticks::default();
    }
    let at_most = at_most.max(2) as i64;
    match scale {
        Scale::Linear => linear(low, high, at_most),
        Scale::Log10 => log10(low, high, at_most),
    }
}

fn linear(low: f64, high: f64, at_most: i64) -> Ticks {
    let mut step = Step::at_least((high - low) / at_most as f64);
    while step.count(low, high) > at_most {
        step = step.next();
    }
    let large = low.abs().max(high.abs()) >= 1e7;
    let name = |n: i64| decimal(n * step.digit, step.exponent, large);
    let major: Vec<Tick> =
        step.within(low, high).map(|n| Tick { at: step.times(n), label: name(n) }).collect();
    Ticks { minor: between(&major, step.minor(), low, high), major }
}

fn log10(low: f64, high: f64, at_most: i64) -> Ticks {
    let mut step = Step::ONE;
    while step.count(low, high) > at_most {
        step = step.next();
    }
    let short = low >= -3.01 && high <= 4.01;
    let decades: Vec<i64> = step.within(low, high).map(|n| step.times(n) as i64).collect();
    if step != Step::ONE {
        let major: Vec<Tick> =
            decades.into_iter().map(|k| Tick { at: k as f64, label: power(1, k, false) }).collect();
        return Ticks { minor: between(&major, step.minor(), low, high), major };
    }
    // Within few decades the multiples are marked, and labelled if there are too few powers.
    let multiples = |digits: &[usize]| -> Vec<Tick> {
        let all = (low.floor() as i64..=high.floor() as i64)
            .flat_map(|k| digits.iter().map(move |&d| (k as f64 + LOG10[d - 1], d as i64, k)));
        let seen = all.filter(|(at, ..)| (low - 1e-9..=high + 1e-9).contains(at));
        seen.map(|(at, d, k)| Tick { at, label: power(d, k, short) }).collect()
    };
    let enough = |ticks: &Vec<Tick>| ticks.len() >= 2 && ticks.len() as i64 <= at_most;
    let all = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let candidates = [multiples(&[1]), multiples(&[1, 2, 5]), multiples(&all)];
    let Some(major) = candidates.into_iter().find(enough) else {
        // Less than an octave: name the exponents themselves.
        let mut ticks = linear(low, high, at_most);
        for tick in &mut ticks.major {
            tick.label = format!("10^{}", tick.label);
        }
        return ticks;
    };
    let mut minor: Vec<f64> = multiples(&all).into_iter().map(|tick| tick.at).collect();
    minor.retain(|at| !major.iter().any(|tick| (tick.at - at).abs() < 1e-9));
    Ticks { major, minor }
}

/// Multiples of a minor step that are not major ticks.
fn between(major: &[Tick], step: Step, low: f64, high: f64) -> Vec<f64> {
    let tolerance = 0.1 * step.times(1);
    let all = step.within(low, high).map(|n| step.times(n));
    all.filter(|at| !major.iter().any(|tick| (tick.at - at).abs() < tolerance)).collect()
}

/// `digit·10^k`, written out if `short`.
fn power(digit: i64, k: i64, short: bool) -> String {
    match (digit, k) {
        (_, 0) => digit.to_string(),
        _ if short => decimal(digit, k as i32, false),
        (1, _) => format!("10{}", superscript(k)),
        _ => format!("{digit}×10{}", superscript(k)),
    }
}

/// `n·10^exponent` with a real minus sign and thousands set apart; as a product if long.
fn decimal(n: i64, exponent: i32, large: bool) -> String {
    if n == 0 {
        return "0".into();
    }
    let sign = if n < 0 { "−" } else { "" };
    if exponent < -5 || (large && exponent > 2) {
        return format!("{sign}{}×10{}", n.abs(), superscript(i64::from(exponent)));
    }
    let scale = 10_i64.pow(exponent.unsigned_abs());
    if exponent < 0 {
        let places = exponent.unsigned_abs() as usize;
        return format!("{sign}{}.{:0places$}", n.abs() / scale, n.abs() % scale);
    }
    let digits = (n.abs() * scale).to_string();
    let mut grouped = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64) -> Vec<String> {
        ticks(scale, low, high, 8).major.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_steps_are_1_2_5() {
        assert_eq!(labels(Scale::Linear, 0.0, 25.0), ["0", "5", "10", "15", "20", "25"]);
        assert_eq!(labels(Scale::Linear, 0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(trim));
        assert_eq!(labels(Scale::Linear, -3.0, 3.0), ["−3", "−2", "−1", "0", "1", "2", "3"]);
        assert_eq!(labels(Scale::Linear, 0.0, 60_000.0)[1], "10,000");
        assert_eq!(labels(Scale::Linear, 0.0, 6e9)[1], "1×10⁹");
        assert_eq!(labels(Scale::Linear, 0.0, 6e-9)[1], "1×10⁻⁹");
        assert_eq!(labels(Scale::Linear, -2e-3, -1e-3).first().unwrap(), "−0.0020");
    }

    fn trim(label: &str) -> &str {
        if label == "0.0" { "0" } else { label }
    }

    #[test]
    fn decades_are_thinned_and_short_spans_written_out() {
        assert_eq!(labels(Scale::Log10, -3.0, 0.0), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(Scale::Log10, -12.0, 0.0), ["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]);
        let wide = ["10⁻³⁰⁰", "10⁻²⁵⁰", "10⁻²⁰⁰", "10⁻¹⁵⁰", "10⁻¹⁰⁰", "10⁻⁵⁰", "1"];
        assert_eq!(labels(Scale::Log10, -300.0, 0.0), wide);
        assert_eq!(labels(Scale::Log10, -43_000.0, 0.0)[0], "10⁻⁴⁰⁰⁰⁰");
        assert_eq!(labels(Scale::Log10, -1.0, 0.0), ["0.1", "1"]);
        assert_eq!(labels(Scale::Log10, -7.9, -7.1), ["2×10⁻⁸", "5×10⁻⁸"]);
        assert_eq!(labels(Scale::Log10, 0.31, 0.33).first().unwrap(), "10^0.310");
    }

    #[test]
    fn minor_ticks_are_multiples_or_whole_decades() {
        assert_eq!(ticks(Scale::Log10, -3.0, 0.0, 8).minor.len(), 24);
        assert_eq!(ticks(Scale::Log10, -12.0, 0.0, 8).minor, [-11.0, -9.0, -7.0, -5.0, -3.0, -1.0]);
        assert_eq!(ticks(Scale::Linear, 0.0, 25.0, 8).minor.len(), 20);
    }

    #[test]
    fn never_too_many_and_always_inside() {
        for scale in [Scale::Linear, Scale::Log10] {
            for low in [-1e6, -4300.0, -300.5, -7.2, -0.3, 0.0, 0.7, 12.0, 5e4] {
                for span in [0.01, 0.2, 0.9, 1.0, 3.3, 17.0, 61.0, 299.0, 1e5] {
                    for at_most in 2..9 {
                        let all = ticks(scale, low, low + span, at_most);
                        let case = format!("{scale:?} {low} {span} {at_most}");
                        assert!(all.major.len() <= at_most && !all.major.is_empty(), "{case}");
                        let slack = 1e-5 * span + 1e-8;
                        let inside = |at: f64| (low - slack..=low + span + slack).contains(&at);
                        assert!(all.major.iter().all(|tick| inside(tick.at)), "{case}");
                        assert!(all.minor.iter().all(|&at| inside(at)), "{case}");
                        assert!(all.major.windows(2).all(|w| w[0].label != w[1].label), "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_range_has_no_ticks() {
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN), (0.0, f64::INFINITY)] {
            assert_eq!(ticks(Scale::Linear, low, high, 8), Ticks::default());
            assert_eq!(ticks(Scale::Log10, low, high, 8), Ticks::default());
        }
    }

    #[test]
    fn ranges_hold_all_finite_values_and_are_never_degenerate() {
        let of = |values: &[f64], scale| range(values.iter().copied(), scale);
        assert_eq!(of(&[0.0, 23.2, f64::NAN], Scale::Linear), (0.0, 24.0));
        assert_eq!(of(&[-11.4, 0.0, f64::NEG_INFINITY], Scale::Log10), (-12.0, 0.0));
        assert_eq!(of(&[-287.0, -0.1], Scale::Log10), (-290.0, 0.0));
        assert_eq!(of(&[], Scale::Linear), (0.0, 1.0));
        for scale in [Scale::Linear, Scale::Log10] {
            for value in [0.0, 3.0, -1e-12, 1e15, -1e300, f64::MAX] {
                let (low, high) = of(&[value], scale);
                assert!(low < high, "{value} {scale:?}");
                assert!(low <= value && (value > FAR || value <= high), "{value} {scale:?}");
            }
        }
        assert_eq!(proper(f64::NAN, 2.0), (0.0, 1.0));
        assert_eq!(proper(2.0, 1.0), (1.0, 2.0));
    }
}
