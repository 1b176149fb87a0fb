//! What is integrated against the transform: the kernel of an expectation, on the line or on a lattice.
//!
//! An expectation `V(ε) = E_P[v(L)]` over the privacy loss is recovered as
//! `V = (1/2π) ∫ Φ(z) e^{−(z−1)x} K(z) dt` over `z = c + it`, with `c` in the expectation's domain. On the
//! line `x = ε` and `K` is rational. On a lattice of step `g` the integral over all `t` folds into one period
//! and `K` becomes a geometric sum; with `x` the first loss above ε, `d = x − ε` and `θ = tg`,
//!
//! | expectation | value | domain | line | lattice |
//! |---|---|---|---|---|
//! | `Delta` | δ(ε) | c > 1 | 1/z(z−1) | (n₀ + n₁e^{−iθ}) / (1−a)(1−b) |
//! | `Complement` | 1 − δ(ε) | 0 < c < 1 | 1/z(1−z) | (m₀ + m₁e^{iθ}) / (1−a⁻¹)(1−b) |
//! | `UpperQ` | `Q[L > ε]` | c > 1 | | 1/(1−a) |
//! | `LowerQ` | `Q[L ≤ ε]` | c < 1 | | 1/(1−a⁻¹), from the loss below |
//! | `UpperP` | `P[L > ε]` | c > 0 | | 1/(1−b), times e^{−x} |
//!
//! `a = e^{−(z−1)g}`, `b = e^{−zg}`, `n₀ = m₁/|a⁻¹| = 1−e^{−d}`, `m₀ = n₁/|a| = e^{−d}−e^{−g}`.
//! (C6). All weights are non-negative, so `|K(c+it)| ≤ K(c)`, and nothing cancels near the real axis
//! however fine the lattice is.

use crate::number::float::{self, Complex, Dd, UNIT};

/// An expectation over the privacy loss; the table above has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    Delta,
    Complement,
    UpperQ,
    LowerQ,
    UpperP,
}

impl Expectation {
    /// The open interval in which `c` may lie. On its closure, with `x` the loss that the
    /// kernel refers to (ε itself for `Complement`), `V ≤ Φ(c)e^{−(c−1)x}` (Markov's inequality), for
    /// `UpperP` times `e^{−x}`.
    pub fn domain(self) -> (f64, f64) {
        match self {
            Expectation::Delta | Expectation::UpperQ => (1.0, f64::INFINITY),
            Expectation::Complement => (0.0, 1.0),
            Expectation::LowerQ => (f64::NEG_INFINITY, 1.0),
            Expectation::UpperP => (0.0, f64::INFINITY),
        }
    }

    fn has_pole_at_one(self) -> bool {
        self != Expectation::UpperP
    }

    fn has_pole_at_zero(self) -> bool {
        matches!(self, Expectation::Delta | Expectation::Complement | Expectation::UpperP)
    }
}

/// Where the losses are, relative to ε.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Losses {
    /// Everywhere.
    Line,
    /// At ε + `gap` + `step`·ℤ, `0 < gap ≤ step`; `rest` = step − gap.
    Lattice { step: f64, gap: f64, rest: f64 },
}

/// The kernel on one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    expectation: Expectation,
    c: f64,
    form: Form,
    /// The kernel below is `e^{−log_scale}` times the true one.
    pub log_scale: f64,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Line,
    Lattice {
        /// Numerator `n0 + n1·e^{±iθ}`, each within `error` of itself.
        n0: f64,
        n1: f64,
        error: f64,
        /// `(ρ, 1 − ρ)` of the two denominators.
        one: (f64, f64),
        zero: (f64, f64),
    },
}

/// Lattice steps above this make the weights underflow unless they are scaled.
const COARSE: f64 = 300.0;

impl Kernel {
    pub fn new(expectation: Expectation, losses: Losses, c: f64) -> Kernel {
        let Losses::Lattice { step, gap, rest } = losses else {
            return Kernel { expectation, c, form: Form::Line, log_scale: 0.0 };
        };
        let to_one = (c - 1.0).abs() * step;
        let pair = |y: f64| (float::exp(-y), -float::expm1(-y));
        let (one, zero) = (pair(to_one), pair(c * step));
        let (n0, n1, log_scale) = match expectation {
            Expectation::Delta if step <= COARSE => {
                (-float::expm1(-gap), -float::expm1(-rest) * float::exp(-gap - to_one), 0.0)
            }
            Expectation::Complement if step <= COARSE => {
                (-float::expm1(-rest) * float::exp(-gap), -float::expm1(-gap) * one.0, 0.0)
            }
            Expectation::Delta => scaled(ln_one_minus_exp(gap), ln_one_minus_exp(rest) - gap - to_one),
            Expectation::Complement => scaled(ln_one_minus_exp(rest) - gap, ln_one_minus_exp(gap) - to_one),
            _ => (1.0, 0.0, 0.0),
        };
        // A dozen units for the functions, and what their arguments are off by: a few units of
        // their size, which on a coarse lattice is that of logarithms of the step's.
        let arguments = gap + to_one + if step <= COARSE { 0.0 } else { step };
        let error = UNIT * (20.0 + 16.0 * arguments);
        Kernel { expectation, c, form: Form::Lattice { n0, n1, error, one, zero }, log_scale }
    }

    /// The kernel at `t = 0`, within 64u relative.
    pub fn real(&self) -> f64 {
        match self.form {
            Form::Line => {
                let one = if self.expectation.has_pole_at_one() { (self.c - 1.0).abs() } else { 1.0 };
                let zero = if self.expectation.has_pole_at_zero() { self.c } else { 1.0 };
                1.0 / (one * zero)
            }
            Form::Lattice { n0, n1, one, zero, .. } => {
                let a = if self.expectation.has_pole_at_one() { one.1 } else { 1.0 };
                let b = if self.expectation.has_pole_at_zero() { zero.1 } else { 1.0 };
                (n0 + n1) / (a * b)
            }
        }
    }

    /// The kernel at height `t`, where `half` = (sin, cos)(θ/2) on a lattice.
    ///
    /// # Guarantee
    /// The returned error bounds the absolute error, given `t` and the sines to 8u relative. In
    /// the denominators both components are sums of terms of one sign, each within 20u; the
    /// numerator can cancel, so its error is relative to `n0 + n1`.
    pub fn at(&self, t: f64, half: (f64, f64)) -> (Complex, f64) {
        match self.form {
            Form::Line => {
                let z = Complex::new(self.c, t);
                let pole = match self.expectation {
                    Expectation::Complement | Expectation::LowerQ => Complex::new(1.0 - self.c, -t),
                    _ => Complex::new(self.c - 1.0, t),
                };
                let one = Complex::new(1.0, 0.0);
                let value = match (self.expectation.has_pole_at_one(), self.expectation.has_pole_at_zero()) {
                    (true, true) => one.div(z.mul(pole)),
                    (true, false) => one.div(pole),
                    _ => one.div(z),
                };
                (value, 40.0 * UNIT * value.abs())
            }
            Form::Lattice { n0, n1, error, one, zero } => {
                let (s, c) = half;
                let (versine, sine) = (2.0 * s * s, 2.0 * s * c);
                let denominator = |(rho, one_minus): (f64, f64), sign: f64| {
                    Complex::new(one_minus + rho * versine, sign * rho * sine)
                };
                // e^{−iθ} on the right of the pole at one, e^{iθ} on its left.
                let side = match self.expectation {
                    Expectation::Complement | Expectation::LowerQ => -1.0,
                    _ => 1.0,
                };
                let numerator = Complex::new(n0 + n1 * (1.0 - versine), -side * n1 * sine);
                let mut value = numerator;
                let mut modulus = 1.0;
                if self.expectation.has_pole_at_one() {
                    let d = denominator(one, side);
                    value = value.div(d);
                    modulus *= d.abs();
                }
                if self.expectation.has_pole_at_zero() {
                    let d = denominator(zero, 1.0);
                    value = value.div(d);
                    modulus *= d.abs();
                }
                let error = 100.0 * UNIT * value.abs() + (40.0 * UNIT + error) * (n0 + n1) / modulus;
                (value, error)
            }
        }
    }

    /// First and second derivative of `ln K` in `c`: they only steer the choice of `c`.
    pub fn log_slope(expectation: Expectation, losses: Losses, c: f64) -> (f64, f64) {
        let step = match losses {
            Losses::Line => 0.0,
            Losses::Lattice { step, .. } => step,
        };
        // g/(e^{gy} − 1), which is 1/y in the limit.
        let pole = |y: f64| {
            if step * y < 1e-8 { 1.0 / y } else { step / float::expm1(step * y) }
        };
        let (mut first, mut second) = (0.0, 0.0);
        if expectation.has_pole_at_one() {
            let p = pole((c - 1.0).abs());
            first += if c < 1.0 { p } else { -p };
            second += p * (p + step);
        }
        if expectation.has_pole_at_zero() {
            let p = pole(c);
            first -= p;
            second += p * (p + step);
        }
        if let Form::Lattice { n0, n1, .. } = Kernel::new(expectation, losses, c).form {
            let share = step * n1 / (n0 + n1);
            first += if expectation == Expectation::Complement { share } else { -share };
            second += share * (step - share);
        }
        (first, second)
    }
}

/// `ln(1 − e^{−y})`; −∞ for `y = 0`.
pub(super) fn ln_one_minus_exp(y: f64) -> f64 {
    if y <= 0.0 {
        f64::NEG_INFINITY
    } else if y < 0.5 {
        float::ln(-float::expm1(-y))
    } else {
        float::ln1p(-float::exp(-y))
    }
}

/// `(e^a, e^b)` divided by the larger, whose logarithm comes third.
fn scaled(a: f64, b: f64) -> (f64, f64, f64) {
    let top = a.max(b);
    (float::exp(a - top), float::exp(b - top), top)
}

/// The loss that the kernel refers to, as an offset from ε.
pub(crate) fn reference_loss(expectation: Expectation, epsilon: Dd, gap: Dd, rest: Dd) -> Dd {
    match expectation {
        Expectation::LowerQ => epsilon.sub(rest),
        _ => epsilon.add(gap),
    }
}
