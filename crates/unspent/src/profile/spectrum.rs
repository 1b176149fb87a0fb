//! The kinds of a composition, ready for the transform: one entry per distinct mechanism.

use num_bigint::BigInt;
use num_traits::Zero;

use crate::mechanism::Mechanism;
use crate::number::Rational;
use crate::number::float::{DD_UNIT, Dd, TWO_PI, UNIT};
use crate::stop;
use crate::transform::{self, Tilt, Transform};

/// The law of one mechanism's noise on the integers, for those who enumerate it.
#[derive(Debug)]
pub(crate) struct Noise {
    pub sigma2: f64,
    pub shift: f64,
    /// `Σ_x e^{−x²/2σ²}`.
    pub normaliser: f64,
}

impl Noise {
    fn of(mechanism: &Mechanism) -> Option<Noise> {
        match mechanism {
            Mechanism::DiscreteGaussian(noise) => {
                let sigma2 = noise.sigma2().to_f64();
                let normaliser = transform::normaliser(sigma2);
                Some(Noise { sigma2, shift: noise.shift() as f64, normaliser })
            }
            _ => None,
        }
    }
}

/// `count` equal mechanisms.
#[derive(Debug)]
pub(crate) struct Kind {
    pub count: f64,
    count_dd: Dd,
    /// Angle per unit of `t`, in turns: `a/2π`.
    pub rate: Dd,
    /// The lattice step `a` of the noise's part of the loss; the angle is then reduced to half a
    /// turn either way. `None` on the line.
    pub step: Option<Rational>,
    /// `n·μ²`.
    pub mu2: Rational,
    pub step_dd: Dd,
    pub periodic: bool,
    pub noise: Option<Noise>,
    pub curvature: f64,
    pub transform: Box<dyn Transform>,
}

impl Kind {
    fn new(mechanism: &Mechanism, count: u128) -> Kind {
        stop::check();
        let step = mechanism.loss_step();
        let transform = mechanism.transform().expect("Gaussian noise");
        let a = step.as_ref().map_or(Dd::from(1.0), Rational::to_dd);
        Kind {
            count: count as f64,
            count_dd: Rational::integer(count).to_dd(),
            rate: a.div(TWO_PI),
            periodic: step.is_some(),
            step,
            step_dd: a,
            noise: Noise::of(mechanism),
            mu2: &mechanism.mu_squared().expect("Gaussian noise") * &Rational::integer(count),
            curvature: transform.curvature(),
            transform,
        }
    }

    /// A lower bound of `−ln(|Φ(c+it)|/Φ(c))` of the whole group over `t₁ ≤ t ≤ t₂`, for every c.
    pub fn decay_over(&self, t1: f64, t2: f64) -> f64 {
        let (x1, x2) = (t1 * self.rate.hi, t2 * self.rate.hi);
        // Two roundings and the low part of the rate: below 4u of x.
        let blur = 4.0 * UNIT * x2;
        let nearest = if self.periodic {
            let below = x1.floor();
            (x1 - below).min(below + 1.0 - x2) - blur
        } else {
            x1 - blur
        };
        if nearest <= 0.0 { 0.0 } else { self.count * self.transform.decay(nearest) }
    }

    /// The most `decay_over` can ever be; infinite on the line.
    pub fn most_decay(&self) -> f64 {
        if self.periodic { self.count * self.transform.decay(0.5) } else { f64::INFINITY }
    }
}

/// `log Φ` of a whole composition at a real tilt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPhi {
    pub value: Dd,
    /// Bound of the absolute error of `value`.
    pub error: f64,
    /// `Σ n·b·a`: the slope of the phase at `t = 0`, before the offset is taken out.
    pub drift: Dd,
    /// First and second derivative, approximately: they only steer.
    pub slope: f64,
    pub spread: f64,
}

/// Nodes times kinds after which an integral is refused as too long.
const WORK: u64 = 1 << 21;

/// A little above the accumulated rounding errors, so that neither is bought at the other's expense.
const ALIAS: f64 = 1e-13;

const REST: f64 = UNIT / 16.0;

/// `e^{−40}` is 4·10⁻¹⁸.
const CUT: f64 = 40.0;

/// Every kind of a composition, and the sums that do not depend on the tilt.
#[derive(Debug)]
pub(crate) struct Spectrum {
    /// Most evaluations of one kind in a sum; a sieve, which is made once, may take four times as many.
    pub work: u64,
    /// Aliasing is pushed below this fraction of the answer.
    pub alias: f64,
    /// Where the modulus is known to fall from node to node, the rest is bounded instead of computed
    /// once it is below this fraction of the sum so far.
    pub rest: f64,
    /// All nodes that a sieve leaves out are together below `e^{−cut}` of Φ(c), about.
    pub cut: f64,
    /// The fastest-decaying first.
    pub kinds: Vec<Kind>,
    /// `μ² = Σ n·Δ²/σ²` and the part `κ` of it that belongs to kinds with a quadratic transform,
    /// both within 2⁻¹⁰⁰ relative.
    pub mu2: Dd,
    pub kappa: Dd,
    /// Largest rate of a periodic kind.
    pub top_rate: f64,
    /// μ² of the continuous Gaussians: what smooths the loss without our doing.
    pub continuous: f64,
}

impl Spectrum {
    pub fn new(groups: &[(Mechanism, u128)]) -> Spectrum {
        let mut kinds: Vec<Kind> = groups.iter().map(|(m, n)| Kind::new(m, *n)).collect();
        let total = sum_mu2(&kinds, |_| true);
        let kappa = sum_mu2(&kinds, |k| k.transform.is_quadratic());
        let continuous = sum_mu2(&kinds, |k| !k.periodic).to_f64();
        let top_rate = kinds.iter().filter(|k| k.periodic).map(|k| k.rate.hi).fold(0.0, f64::max);
        // Stable, so that the order of equally strong kinds is that of the groups.
        kinds.sort_by(|a, b| b.most_decay().total_cmp(&a.most_decay()));
        Spectrum {
            work: WORK,
            alias: ALIAS,
            rest: REST,
            cut: CUT,
            kinds,
            mu2: total,
            kappa,
            top_rate,
            continuous,
        }
    }

    /// # Guarantee
    /// `value` is within `error` of log Φ(c) of the composition together with a continuous
    /// Gaussian of μ² = `s2`. Kinds not in `active` contribute their quadratic part only;
    /// `skipped` bounds the sum of their remainders.
    pub fn log_phi(&self, active: &[usize], skipped: f64, s2: f64, c: f64) -> LogPhi {
        let kappa = self.kappa.add(Dd::from(s2));
        let quadratic = kappa.mul(Dd::sum(c, -1.0).scale(c)).scale(0.5);
        let mut out = LogPhi {
            value: quadratic,
            error: 8.0 * DD_UNIT * quadratic.hi.abs() + skipped,
            drift: kappa.scale(c),
            slope: kappa.hi * (c - 0.5),
            spread: kappa.hi,
        };
        for &j in active {
            let kind = &self.kinds[j];
            let tilt = kind.transform.tilt(c);
            kind.add_to(&mut out, &tilt);
        }
        out
    }

    pub fn tilts(&self, c: f64) -> Vec<Tilt> {
        self.kinds.iter().map(|k| k.transform.tilt(c)).collect()
    }
}

impl Kind {
    fn add_to(&self, out: &mut LogPhi, tilt: &Tilt) {
        let remainder = self.count * tilt.remainder;
        out.value = out.value.add(self.count_dd.mul(tilt.exponent)).add(Dd::from(remainder));
        out.error +=
            self.count * (tilt.error + 16.0 * DD_UNIT * tilt.magnitude) + 2.0 * UNIT * remainder.abs();
        out.drift = out.drift.add(self.count_dd.mul(tilt.drift));
        out.slope += self.count * tilt.slope;
        out.spread += self.count * tilt.spread;
    }
}

/// `Σ n·μ²` in fixed point: exact fractions would grow with every incommensurate kind. Each term
/// is cut below 2⁻²⁵⁶, and μ² is at least 10⁻¹² for each, so that a million kinds lose 2⁻¹⁹⁰.
fn sum_mu2(kinds: &[Kind], keep: impl Fn(&Kind) -> bool) -> Dd {
    const BITS: u32 = 256;
    let sum =
        kinds.iter().filter(|k| keep(k)).fold(BigInt::zero(), |sum, kind| sum + kind.mu2.floor_scaled(BITS));
    Rational::over_power_of_two(sum, BITS).to_dd()
}
