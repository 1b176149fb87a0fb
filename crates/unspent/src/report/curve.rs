//! Whole curves: (ε, δ) and trade-off functions, with what the published conversions say beside them.

use serde::Serialize;

use crate::allocation::Neighbours;
use crate::effort::Effort;
use crate::envelope::Envelope;
use crate::error::Result;
use crate::number::{Bounds, LogBounds, Magnitude, Number, Rational, rounded_down, rounded_up};
use crate::parallel;
use crate::quantity::{Alpha, Delta, Epsilon, Rho};
use crate::release::Release;
use crate::scope::Scope;
use crate::worst::WorstCase;
use crate::zcdp::Conversion;

/// What a curve is about.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Subject {
    /// The release.
    pub name: String,
    /// The part of it.
    pub part: Scope,
    /// How a certificate calls it.
    pub label: String,
    /// The neighbours of the total.
    pub neighbours: Neighbours,
    /// How many cells of each measurement the secret moves.
    pub moves: u64,
    /// The zCDP budget.
    pub rho: Number,
}

impl Subject {
    fn new(release: &Release, scope: &Scope, rho: Number) -> Subject {
        Subject {
            name: release.name(),
            part: scope.clone(),
            label: release.label(scope),
            neighbours: release.neighbours(),
            moves: release.moves(scope),
            rho,
        }
    }
}

/// δ against ε.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Curve {
    /// What it is about.
    pub subject: Subject,
    /// In the order of the grid.
    pub points: Vec<Point>,
}

/// A point of a curve: ε or δ is given, the other is bounded, and so is what zCDP says of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// ε.
    pub epsilon: Number,
    /// δ.
    pub delta: Number,
    /// log₁₀ δ.
    pub log10_delta: LogBounds,
    /// Of δ (of ε, where δ is given), by Bun and Steinke's conversion, rounded up.
    #[serde(serialize_with = "rounded_up")]
    pub bun_steinke: Magnitude,
    /// By Canonne, Kamath and Steinke's.
    #[serde(serialize_with = "rounded_up")]
    pub canonne_kamath_steinke: Magnitude,
}

impl Curve {
    /// δ at each ε.
    pub(crate) fn over_epsilon(
        release: &Release,
        scope: &Scope,
        grid: &[Epsilon],
        effort: Effort,
    ) -> Result<Curve> {
        let (subject, cases, rho) = parts(release, scope, effort)?;
        let points = parallel::map(grid, |epsilon| {
            let delta = cases.delta(epsilon)?;
            Ok(Point {
                epsilon: Number::Exact(epsilon.value().clone()),
                delta: delta.into(),
                log10_delta: delta.into(),
                bun_steinke: rho.delta_bun_steinke(epsilon),
                canonne_kamath_steinke: rho.delta_canonne_kamath_steinke(epsilon),
            })
        });
        Ok(Curve { subject, points: points.into_iter().collect::<Result<_>>()? })
    }

    /// ε at each δ.
    pub(crate) fn over_delta(
        release: &Release,
        scope: &Scope,
        grid: &[Delta],
        effort: Effort,
    ) -> Result<Curve> {
        let (subject, cases, rho) = parts(release, scope, effort)?;
        let points = parallel::map(grid, |delta| {
            Ok(Point {
                epsilon: cases.epsilon(delta)?.into(),
                delta: Number::Exact(delta.value().clone()),
                log10_delta: delta.value().to_bounds().into(),
                bun_steinke: Magnitude::from_f64(rho.epsilon_bun_steinke(delta)),
                canonne_kamath_steinke: Magnitude::from_f64(rho.epsilon_canonne_kamath_steinke(delta)),
            })
        });
        Ok(Curve { subject, points: points.into_iter().collect::<Result<_>>()? })
    }
}

/// Misses against false alarms.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TradeoffCurve {
    /// What it is about.
    pub subject: Subject,
    /// In the order of the grid.
    pub points: Vec<TradeoffPoint>,
}

/// A point of a trade-off function. Its guarantee is the lower end: so often at least the best attacker errs.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TradeoffPoint {
    /// The rate of false alarms, as given.
    pub alpha: Rational,
    /// The least rate of misses.
    pub misses: Number,
    /// What the (ε, δ) of Bun and Steinke's conversion, all of them together, guarantee; rounded down.
    #[serde(serialize_with = "rounded_down")]
    pub bun_steinke: Magnitude,
    /// Of Canonne, Kamath and Steinke's.
    #[serde(serialize_with = "rounded_down")]
    pub canonne_kamath_steinke: Magnitude,
}

impl TradeoffCurve {
    /// f(α) at each α.
    pub(crate) fn new(
        release: &Release,
        scope: &Scope,
        grid: &[Alpha],
        effort: Effort,
    ) -> Result<TradeoffCurve> {
        let (subject, cases, rho) = parts(release, scope, effort)?;
        let is_fast = effort == Effort::Fast;
        let [cks, bun_steinke] = Conversion::ALL.map(|conversion| conversion.envelope(&rho, !is_fast));
        let sketch = is_fast.then(|| sketch(&cases)).transpose()?;
        let points = parallel::map(grid, |alpha| {
            Ok(TradeoffPoint {
                alpha: alpha.value().clone(),
                misses: match &sketch {
                    // Guessing misses 1 − α of the times.
                    Some(sketch) => {
                        let guessing = (&Rational::integer(1) - alpha.value()).to_bounds();
                        Bounds::new(sketch.at(alpha), guessing.upper()).into()
                    }
                    None => cases.tradeoff(alpha)?.into(),
                },
                bun_steinke: bun_steinke.at(alpha),
                canonne_kamath_steinke: cks.at(alpha),
            })
        });
        Ok(TradeoffCurve { subject, points: points.into_iter().collect::<Result<_>>()? })
    }
}

/// The envelope of the worst case's own profile, on a grid alone: a little below its trade-off function, for
/// rates that can be drawn.
fn sketch(cases: &WorstCase) -> Result<Envelope<'_>> {
    /// Points of a sketch times cases, and the fewest and the most points of one.
    const SKETCHED: usize = 1 << 14;
    const FEWEST: usize = 96;
    const MOST: usize = 512;
    let small = Delta::new(Rational::power_of_ten(-9)).expect("a probability");
    let end = cases.epsilon(&small)?.upper();
    // Any grid is valid. Each point is asked of every case: with many of them, fewer points. Between two of
    // them, h apart, f is missed by at most (e^h − 1)·Q[a loss between them]/4, which is below what can be
    // seen.
    let points = (SKETCHED / cases.count()).clamp(FEWEST, MOST);
    Ok(Envelope::new(points, end, false, cases.profile()?))
}

/// What is asked about, its mechanisms, and a ρ that is not below theirs.
fn parts(release: &Release, scope: &Scope, effort: Effort) -> Result<(Subject, WorstCase, Rho)> {
    let cases = release.worst_case_with(scope, effort)?;
    let rho = cases.rho()?;
    let upper = Rho::new(rho.upper())?;
    Ok((Subject::new(release, scope, rho), cases, upper))
}

#[cfg(test)]
mod tests {
    use super::TradeoffCurve;
    use crate::{Allocation, Alpha, Effort, Rational, Release, Scope};

    /// The same over many pairs of paths, of which none may be forgotten.
    #[test]
    fn sketches_lie_below_every_case() {
        let release = Release::from(Allocation::preset("pl94-persons-us-2020").unwrap());
        let rates = [1, 50, 500, 950].map(|k| Alpha::new(&Rational::integer(k) / &Rational::integer(1000)));
        let rates = rates.map(Result::unwrap);
        let exact = TradeoffCurve::new(&release, &Scope::Total, &rates, Effort::Normal).unwrap();
        let fast = TradeoffCurve::new(&release, &Scope::Total, &rates, Effort::Fast).unwrap();
        for (fast, exact) in fast.points.iter().zip(&exact.points) {
            let (sketch, truth) = (fast.misses.bounds().lower(), exact.misses.bounds());
            assert!(sketch <= truth.lower(), "{sketch:?} is above {truth:?}");
            let (sketch, truth) = (sketch.to_f64(crate::Round::Down), truth.to_f64().lower());
            // Points are at most 0.17 apart, and the density of the loss is about that of a Gaussian,
            // 0.4/√(2ρ) at most.
            assert!(truth - sketch < 1.4e-3, "{sketch} is far below {truth}");
        }
    }

    /// In fast mode: never above the trade-off function, and hardly below it.
    #[test]
    fn sketches_lie_below() {
        for (preset, level) in [
            ("pl94-persons-us-2020", "State"),
            ("paper-2022-08-25", "Block"),
            ("dhc-units-pr-2020", "County"),
        ] {
            let release = Release::from(Allocation::preset(preset).unwrap());
            let rates =
                [1, 10, 50, 200, 500, 900, 990, 999].map(|k| Rational::integer(k) / Rational::integer(1000));
            let rates = rates.map(|rate| Alpha::new(rate).unwrap());
            let scope = Scope::Level(level.into());
            let exact = TradeoffCurve::new(&release, &scope, &rates, Effort::Normal).unwrap();
            let fast = TradeoffCurve::new(&release, &scope, &rates, Effort::Fast).unwrap();
            for (fast, exact) in fast.points.iter().zip(&exact.points) {
                let (sketch, truth) = (fast.misses.bounds().lower(), exact.misses.bounds());
                assert!(sketch <= truth.upper(), "{preset}: {sketch:?} is above {truth:?}");
                let (sketch, truth) = (sketch.to_f64(crate::Round::Down), truth.to_f64().lower());
                assert!(truth - sketch < 1e-4, "{preset}: {sketch} is far below {truth}");
            }
        }
    }
}
