//! ε(δ): the inverse of the two bounds of δ(ε).
//!
//! δ is continuous and strictly decreasing. Any ε whose certified *upper* δ is at most the target
//! is an upper bound of ε(δ), and any ε whose certified *lower* δ is at least the target a lower
//! bound: the search may be as heuristic as it likes, only the two last evaluations count.

use super::{Accountant, Answer, DeltaBounds, Method, Point};
use crate::effort::Effort;
use crate::number::float::{self, PI};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::quantity::Delta;
use crate::zcdp;

/// A target δ in (0, 1).
struct Target {
    delta: (Magnitude, Magnitude),
    complement: (Magnitude, Magnitude),
    /// Compare through 1 − δ, which is the smaller.
    near_one: bool,
}

impl Target {
    fn new(delta: &Rational) -> Target {
        let one = Rational::integer(1);
        let near_one = *delta > Rational::parse("", "1/2").expect("a half");
        Target {
            delta: delta.to_magnitude_bounds(),
            complement: (&one - delta).to_magnitude_bounds(),
            near_one,
        }
    }

    /// Certainly δ(ε) ≤ target.
    fn is_met_by(&self, found: &DeltaBounds) -> bool {
        found.delta.upper() <= self.delta.0 || found.complement.lower() >= self.complement.1
    }

    /// Certainly δ(ε) ≥ target.
    fn is_missed_by(&self, found: &DeltaBounds) -> bool {
        found.delta.lower() >= self.delta.1 || found.complement.upper() <= self.complement.0
    }

    /// Whether this ε is such an end, and by how much the bound that says so exceeds the target, as a
    /// logarithm.
    fn look(&self, end: End, found: &DeltaBounds) -> (bool, f64) {
        let is_end = match end {
            End::Met => self.is_met_by(found),
            End::Missed => self.is_missed_by(found),
        };
        let (delta, rest) = match end {
            End::Met => (found.delta.upper(), found.complement.lower()),
            End::Missed => (found.delta.lower(), found.complement.upper()),
        };
        let excess = if self.near_one {
            self.complement.0.ln(Round::Down) - rest.ln(Round::Down)
        } else {
            delta.ln(Round::Down) - self.delta.0.ln(Round::Down)
        };
        (is_end, excess)
    }

    /// `ln δ(ε) − ln δ`, or for large δ `ln(1−δ) − ln(1−δ(ε))`: falls with ε. And its width.
    fn excess(&self, found: &DeltaBounds) -> (f64, f64) {
        let (bounds, target, sign) = if self.near_one {
            (found.complement, self.complement.0, -1.0)
        } else {
            (found.delta, self.delta.0, 1.0)
        };
        let logs = bounds.ln();
        let middle =
            if logs.lower().is_finite() { 0.5 * (logs.lower() + logs.upper()) } else { logs.upper() };
        (sign * (middle - target.ln(Round::Down)), logs.upper() - logs.lower())
    }
}

/// An end of ε: where δ is certainly at most the target, or at least.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Met,
    Missed,
}

/// Evaluations after which a search settles for the bracket it has.
const MAX_EVALUATIONS: usize = 80;
/// Evaluations that may find nothing out before a search gives up.
const MAX_BLIND: usize = 4;
/// Relative distance of two ends that is worth a second search, and how near an end is then known.
const WIDE: f64 = 1e-4;
const NEAR: f64 = 1e-10;
/// Relative width of δ from which on it is looked for less closely, and how closely.
const VAGUE: f64 = 0.5;
const VAGUELY_NEAR: f64 = 1e-3;
/// Relative distance of a bound of δ from the target that is near enough.
const CLOSE: f64 = 1e-8;
const MAX_HALVINGS: usize = 50;

impl Accountant {
    /// ε(δ) for 0 < δ < 1, faster from a good guess.
    pub fn epsilon(&self, delta: &Delta, tolerance: f64, guess: Option<f64>) -> Bounds<f64> {
        self.within(Answer::Search, || self.find_epsilon(delta, tolerance, guess))
    }

    fn find_epsilon(&self, delta: &Delta, tolerance: f64, guess: Option<f64>) -> Bounds<f64> {
        let target = Target::new(delta.value());
        let ends = if self.method() == Method::OneSided {
            // The two ends are those of different compositions, and each is looked for by itself.
            if target.is_met_by(&self.delta(&Point::from_f64(0.0), tolerance)) {
                return Bounds::new(0.0, 0.0);
            }
            Bounds::new(0.0, self.first_end(delta, &target, tolerance, &mut vec![]))
        } else {
            self.search(&target, delta, tolerance, guess)
        };
        self.narrow(&target, ends, tolerance)
    }

    fn search(&self, target: &Target, delta: &Delta, tolerance: f64, guess: Option<f64>) -> Bounds<f64> {
        let at = |epsilon: f64| self.delta(&Point::from_f64(epsilon), tolerance);
        let given = guess.is_some();
        let guess = guess.unwrap_or_else(|| self.gaussian_epsilon(target));
        // Only where ε may be 0 is it worth asking; otherwise the search finds out by itself.
        if guess < self.scale().1 && target.is_met_by(&at(0.0)) {
            return Bounds::new(0.0, 0.0);
        }
        // low: certainly ε(δ) ≥ low; high: certainly ε(δ) ≤ high.
        let mut seen = vec![];
        let (mut low, mut high) = (0.0f64, self.first_end(delta, target, tolerance, &mut seen));
        if high.is_infinite() {
            return Bounds::new(0.0, high);
        }
        // The same by the middle of the bounds: not certain, but it steers.
        let (mut left, mut right) = (0.0f64, high);
        let scale = Stretch(self.largest_loss());
        // Where the usual distance was not enough, the loss is not much like a Gaussian.
        let between = match seen[..] {
            [.., (a, above), (b, below)] if above > 0.0 && below.is_finite() && !given => {
                a + above / (above - below) * (b - a)
            }
            _ => guess,
        };
        let mut guess = between.min(high);
        if guess >= scale.0 {
            guess = 0.5 * scale.0;
        }
        let mut previous: Option<(f64, f64)> = None;
        let (mut slow, mut blind) = (0, 0);
        for _ in 0..MAX_EVALUATIONS {
            let found = at(guess);
            let (met, missed) = (target.is_met_by(&found), target.is_missed_by(&found));
            if met {
                high = high.min(guess);
            }
            if missed {
                low = low.max(guess);
            }
            let (excess, width) = target.excess(&found);
            if !width.is_finite() {
                // δ may be exactly 0 here, which is an answer. If nothing is known, look elsewhere, but not
                // for ever.
                (left, right) = (left.max(low), right.min(high));
                blind += usize::from(!(met || missed));
                let most = if self.mu2().is_some() { MAX_BLIND } else { 4 * MAX_BLIND };
                if blind > most || right - left <= right * 4.0 * f64::EPSILON {
                    break;
                }
                guess = if self.mu2().is_some() {
                    0.5 * (left + guess.min(right))
                } else {
                    // Where nothing is known, it is more often because ε is too small.
                    left = if met { left } else { left.max(guess) };
                    middle(left, right)
                };
                continue;
            }
            let before = right - left;
            if excess > 0.0 {
                left = left.max(guess)
            } else {
                right = right.min(guess)
            }
            // Nearing the root from one side is no reason to halve.
            let nears = previous.is_some_and(|(_, x)| excess.abs() < 0.5 * x.abs());
            slow = if nears || right - left < 0.5 * before { 0 } else { slow + 1 };
            // Near the largest loss ln δ is linear in the logarithm of the distance from there.
            let (here, share) = (scale.stretched(guess), scale.share(guess));
            let slope = match previous {
                Some((e, x)) if (x - excess) / (e - here) < 0.0 => (x - excess) / (e - here),
                _ => -self.slope_guess(guess, target) * share,
            };
            previous = Some((here, excess));
            let next = scale.restored(here - excess / slope);
            let (step, slope) = (next - guess, slope / share);
            let resolution = guess * 4.0 * f64::EPSILON;
            // Close enough: now certify both sides.
            if step.abs() <= resolution || excess.abs() <= 2.0 * width + 1e-14 || right - left <= resolution {
                let reach = ((width + 1e-14) / -slope).max(resolution);
                let root = if step.is_finite() { (guess + step).clamp(low, high) } else { guess };
                return self.certify(target, root, reach, (low, high), tolerance);
            }
            guess = if next > left && next < right && slow < 3 {
                next
            } else {
                // A cliff or a kink: halve, on a logarithmic scale if that is what it takes.
                slow = 0;
                middle(left, right)
            };
        }
        Bounds::new(low, high)
    }

    /// Moves the two ends towards each other where they are far apart: each by its own bound of δ, which may
    /// be far from the other one where δ itself is wide.
    fn narrow(&self, target: &Target, ends: Bounds<f64>, tolerance: f64) -> Bounds<f64> {
        let (low, high) = (ends.lower(), ends.upper());
        let fast = self.effort() == Effort::Fast && self.method() != Method::OneSided;
        if high - low <= WIDE * high || !high.is_finite() || fast {
            return ends;
        }
        let met = self.nearest(target, End::Met, (high, low), tolerance);
        Bounds::new(self.nearest(target, End::Missed, (low, met), tolerance), met)
    }

    /// The end for which the target is certainly met, or missed, moved towards where that is not known: by
    /// the secant rule on the logarithm of that bound, halving where it is slow.
    fn nearest(&self, target: &Target, end: End, (known, unknown): (f64, f64), tolerance: f64) -> f64 {
        let at = |epsilon: f64| self.delta(&Point::from_f64(epsilon), tolerance);
        let look = |epsilon: f64| target.look(end, &at(epsilon));
        let (mut known, mut unknown) = (known, unknown);
        let first = at(known);
        let (mut at_known, mut at_unknown) = (target.look(end, &first).1, look(unknown).1);
        // An ε of 0 is an end whatever δ is there.
        if (at_known > 0.0) == (end == End::Met) || !at_known.is_finite() {
            return known;
        }
        let mut moved = None;
        // Where δ is not known to some digits, ε is not worth many.
        let vague = |found: &DeltaBounds| found.delta.relative_width() > VAGUE;
        let vague = self.mu2().is_none() && self.method() != Method::OneSided && vague(&first);
        let near = if vague { VAGUELY_NEAR } else { NEAR };
        for round in 0..MAX_HALVINGS {
            if (known - unknown).abs() <= near * known.max(unknown) || at_known.abs() <= CLOSE {
                break;
            }
            let share = at_known / (at_known - at_unknown);
            let share = if round % 4 == 3 || !share.is_finite() { 0.5 } else { share.clamp(1e-3, 0.999) };
            let epsilon = known + share * (unknown - known);
            let (is_known, at) = look(epsilon);
            // An end that stays put twice counts half (the Illinois rule).
            let weight = if moved == Some(is_known) { 0.5 } else { 1.0 };
            moved = Some(is_known);
            if is_known {
                (known, at_known, at_unknown) = (epsilon, at, weight * at_unknown);
            } else {
                (unknown, at_unknown, at_known) = (epsilon, at, weight * at_known);
            }
        }
        known
    }

    /// A first upper end, loose but certain; infinite if there is none. Every ε on the way is noted, with the
    /// excess of δ.
    fn first_end(&self, delta: &Delta, target: &Target, tolerance: f64, seen: &mut Vec<(f64, f64)>) -> f64 {
        if let Some(mu2) = self.mu2() {
            // By zCDP.
            return zcdp::canonne_kamath_steinke(float::up(0.5 * mu2, 4.0), delta);
        }
        // From the largest loss on δ is what is revealed for certain.
        let most = self.largest_loss();
        let (mean, deviation) = self.scale();
        let mut end = (mean + 8.0 * deviation).max(1e-9);
        for _ in 0..60 {
            end = end.min(most);
            let found = self.delta(&Point::from_f64(end), tolerance);
            seen.push((end, target.excess(&found).0));
            if target.is_met_by(&found) {
                return end;
            }
            if end >= most {
                break;
            }
            end *= 4.0;
        }
        f64::INFINITY
    }

    /// Evaluates on both sides of the root, further and further out until both are certain.
    fn certify(
        &self,
        target: &Target,
        root: f64,
        reach: f64,
        (mut low, mut high): (f64, f64),
        tolerance: f64,
    ) -> Bounds<f64> {
        let at = |epsilon: f64| self.delta(&Point::from_f64(epsilon), tolerance);
        let mut up = reach;
        for _ in 0..60 {
            let end = root + up;
            if end >= high {
                break;
            }
            if target.is_met_by(&at(end)) {
                high = end;
                break;
            }
            up *= 4.0;
        }
        let mut down = reach;
        for _ in 0..60 {
            let end = root - down;
            if end <= low {
                break;
            }
            if target.is_missed_by(&at(end)) {
                low = end;
                break;
            }
            down *= 4.0;
        }
        Bounds::new(low, high)
    }

    /// The answer for continuous noise of the same μ: a first guess.
    fn gaussian_epsilon(&self, target: &Target) -> f64 {
        let mu = self.scale().1;
        let log_target = target.delta.0.ln(Round::Down);
        // Beyond what doubles can do, the leading term of the tail.
        let mut epsilon = mu * mu / 2.0 + mu * (-2.0 * log_target.min(-0.1)).sqrt();
        if target.near_one {
            let log_rest = target.complement.0.ln(Round::Down);
            epsilon = (mu * mu / 2.0 - mu * (-2.0 * log_rest).sqrt()).max(0.0);
        }
        for _ in 0..30 {
            let (value, slope) = log_gaussian_delta(mu, epsilon);
            if !(value.is_finite() && slope < 0.0) {
                break;
            }
            let step = (log_target - value) / slope;
            epsilon = (epsilon + step).max(0.5 * epsilon);
            if step.abs() < 1e-9 * epsilon {
                break;
            }
        }
        epsilon.max(f64::MIN_POSITIVE)
    }

    /// −d/dε of the excess, for continuous noise.
    fn slope_guess(&self, epsilon: f64, target: &Target) -> f64 {
        let mu = self.scale().1;
        let z = (epsilon - 0.5 * mu * mu) / mu;
        if target.near_one {
            // 1 − δ ≈ Φ(z): its logarithm rises like the inverse Mills ratio at −z.
            return inverse_mills(-z) / mu;
        }
        (-log_gaussian_delta(mu, epsilon).1).max(1e-300)
    }
}

/// ε from 0 to a largest loss l, stretched to `−l·ln(1 − ε/l)`; nothing changes far below that.
struct Stretch(f64);

impl Stretch {
    fn stretched(&self, epsilon: f64) -> f64 {
        if epsilon < self.0 && self.0.is_finite() {
            -self.0 * float::ln1p(-epsilon / self.0)
        } else {
            epsilon
        }
    }

    fn restored(&self, x: f64) -> f64 {
        if self.0.is_finite() { -self.0 * float::expm1(-x / self.0) } else { x }
    }

    /// dε/dx.
    fn share(&self, epsilon: f64) -> f64 {
        if epsilon < self.0 && self.0.is_finite() { 1.0 - epsilon / self.0 } else { 1.0 }
    }
}

/// Halfway, on a logarithmic scale if the two are far apart.
fn middle(left: f64, right: f64) -> f64 {
    if left > 0.0 && right > 4.0 * left { (left * right).sqrt() } else { 0.5 * (left + right) }
}

/// `φ(z)/(1 − Φ(z))`.
fn inverse_mills(z: f64) -> f64 {
    let scaled = float::erfcx(z / std::f64::consts::SQRT_2);
    if scaled.is_finite() { (2.0 / PI).sqrt() / scaled } else { 0.0 }
}

/// `ln δ(ε)` of the continuous Gaussian mechanism and its derivative; not certified.
pub(crate) fn log_gaussian_delta(mu: f64, epsilon: f64) -> (f64, f64) {
    // δ = φ(z)·[m(z) − m(z + μ)], m the Mills ratio, z = ε/μ − μ/2.
    let z = epsilon / mu - 0.5 * mu;
    let log_phi = -0.5 * z * z - 0.5 * float::ln(2.0 * PI);
    let mills = |z: f64| 1.0 / inverse_mills(z);
    let (a, b) = (mills(z), mills(z + mu));
    let difference = a - b;
    if !difference.is_finite() || difference < 1e-9 * a {
        // Far out: δ ≈ φ(z)·μ/z².
        let z = z.max(1.0);
        return (log_phi + float::ln(mu / (z * (z + mu))), -(z / mu));
    }
    (log_phi + float::ln(difference), -b / (mu * difference) * mu)
}

#[cfg(test)]
mod tests {
    use crate::mechanism::Described;
    use crate::number::float;
    use crate::profile::ASKED;
    use crate::{Composition, Delta};

    fn epsilon(mechanisms: &[&str], delta: &str) -> (f64, f64) {
        let groups = mechanisms.iter().map(|text| {
            let Described { mechanism, count } = Described::parse(text).unwrap();
            (mechanism, count)
        });
        let found = Composition::new(groups).unwrap().epsilon(&Delta::parse(delta).unwrap()).unwrap();
        (found.lower(), found.upper())
    }

    /// How many δ one ε takes.
    #[test]
    fn an_epsilon_takes_ten_deltas_at_most() {
        for mechanisms in [
            &["subsampled_gaussian:sigma=1,q=0.01,count=10000"][..],
            &["subsampled_gaussian:sigma=1.1,q=256/60000,count=14000"],
            &["subsampled_gaussian:sigma=5,q=0.2,count=1000"],
            &["gaussian:sigma=2,count=3", "laplace:b=3,count=4"],
            &[
                "subsampled_gaussian:sigma=1,q=0.01,count=2000",
                "laplace:b=4,count=4",
                "randomised_response:k=3,epsilon=0.3,count=3",
            ],
        ] {
            for delta in ["1e-3", "1e-5", "1e-8", "1e-10", "1e-20", "1e-60"] {
                let before = ASKED.get();
                let (low, high) = epsilon(mechanisms, delta);
                let asked = ASKED.get() - before;
                let most = if delta == "1e-60" { 11 } else { 10 };
                assert!(high / low - 1.0 < 1e-8 && asked <= most, "{mechanisms:?} {delta}: {asked}");
            }
        }
    }

    /// Where δ falls to 0 at once, and where its two bounds are far apart.
    #[test]
    fn both_ends_are_near_what_their_own_bound_allows() {
        // δ of pure ε₀-DP is (e^{ε₀} − e^ε)/(1 + e^{ε₀}).
        let truth = float::ln(float::exp(0.5) - 1e-5 * (1.0 + float::exp(0.5)));
        let (low, high) = epsilon(&["pure_dp:epsilon=1/2"], "1e-5");
        assert!(
            (low - truth).abs() < 1e-8 && (high - truth).abs() < 1e-8 && low <= high,
            "{low} {truth} {high}"
        );
        let (low, high) = epsilon(&["pure_dp:epsilon=1/2"], "1e-1000");
        assert!(low <= 0.5 && 0.5 <= high && high - low < 1e-8, "{low} {high}");
        // The upper end of ρ-zCDP is the best of Canonne, Kamath and Steinke's bounds, the lower end that of
        // the noise beside it.
        let (low, high) = epsilon(&["zcdp:rho=1/2"], "1e-6");
        let best = crate::zcdp::canonne_kamath_steinke(0.5, &Delta::parse("1e-6").unwrap());
        assert!(low == 0.0 && (high / best - 1.0).abs() < 1e-6, "{low} {high} {best}");
        let (noise, _) = epsilon(&["sigma2=5"], "1e-6");
        let (low, high) = epsilon(&["zcdp:rho=1/2", "sigma2=5"], "1e-6");
        assert!((low / noise - 1.0).abs() < 1e-6 && high < 5.8, "{low} {noise} {high}");
        // Just below the largest loss δ = e⁵/(e^½+1)¹⁰·(1 − e^{ε−5}).
        let (low, high) = epsilon(&["pure_dp:epsilon=1/2,count=10"], "1e-6");
        let all = float::exp(5.0) / (float::exp(0.5) + 1.0).powi(10);
        let truth = 5.0 + float::ln1p(-1e-6 / all);
        assert!((low - truth).abs() < 1e-9 && (high - truth).abs() < 1e-9, "{low} {truth} {high}");
        let (low, high) = epsilon(&["laplace:scale=2,count=10"], "1e-9");
        assert!(low > 4.999 && high <= 5.0, "{low} {high}");
        // Few atoms far apart, and δ far below every double.
        for (mechanisms, delta, truth) in [
            (&["sigma2=0.001", "sigma2=31.5200000001"][..], "1e-1000", 2504.33),
            (&["sigma2=0.001,count=5"][..], "1e-300", 3500.0),
            // The losses are 500 apart: from 6750 on δ is at most 10⁻³²⁵⁶.
            (&["sigma2=0.002,count=5"][..], "1e-3000", 6750.0),
            (&["sigma2=0.002,count=5"][..], "1e-3100", 6750.0),
            (&["sigma2=0.001,count=5"][..], "1e-2000", 8500.0),
        ] {
            let (low, high) = epsilon(mechanisms, delta);
            assert!((low / truth - 1.0).abs() < 1e-6 && (high / truth - 1.0).abs() < 1e-6, "{low} {high}");
        }
    }
}
