//! The lines of a certificate: every scope's worst case, asked once each, on all cores.

use std::sync::OnceLock;

use super::{Line, Reduction, WorstPaths};
use crate::allocation::{Allocation, Path};
use crate::calibrate::{Calibration, Target};
use crate::effort::Effort;
use crate::error::{Error, ErrorKind, Result};
use crate::number::{Magnitude, Number};
use crate::parallel;
use crate::quantity::{Delta, Rho};
use crate::release::{Cases, Release};
use crate::report::promise::Promise;
use crate::scope::Scope;
use crate::worst::{Route, WorstCase};
use crate::zcdp::Conversion;

/// What every scope promises and, `against` a conversion, how much smaller the noise could be.
pub(in crate::report) fn assemble(
    release: &Release,
    delta: &Delta,
    against: Option<&Promise>,
    effort: Effort,
) -> Result<(Vec<Line>, Vec<Reduction>)> {
    let scopes = release.scopes();
    let mut cases = Cases::new(release, effort);
    let has_paths = release.allocations().iter().any(|a| a.paths().len() > 1);
    let main = has_paths.then(|| release.on_main_paths());
    let mut parts: Vec<Part> = vec![];
    let mut part_of = vec![];
    for scope in &scopes {
        let place = |e: Error| e.at(scope);
        let worst = cases.worst_case(scope).map_err(place)?;
        let index = match parts.iter().position(|p| p.worst.is_same(&worst)) {
            Some(index) => index,
            None => {
                let main = match &main {
                    Some(main) => Some(main.worst_case_with(scope, effort).map_err(place)?),
                    None => None,
                };
                let (tight, scale, on_main) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
                parts.push(Part { worst, main, is_scaled: false, tight, scale, on_main });
                parts.len() - 1
            }
        };
        let has_noise = release.allocations().iter().any(|a| !a.levels().is_empty());
        let promises = |against: &Promise| {
            // Of some mechanism zCDP says nothing, and neither does a conversion.
            let is_silent = release.has_also() && matches!(against, Promise::Conversion(_));
            against.covers(scope) && !(is_silent && parts[index].worst.rho().is_err())
        };
        let is_scaled = has_noise && against.is_some_and(promises);
        parts[index].is_scaled |= is_scaled;
        part_of.push(index);
    }
    // All questions at once, so that no core waits for the other longer than it must.
    let scaled = parts.iter().filter(|part| part.is_scaled).map(|part| (part, against));
    let questions: Vec<(&Part, Option<&Promise>)> = scaled
        .filter(|(_, against)| against.is_some())
        .chain(parts.iter().map(|part| (part, None)))
        .collect();
    parallel::map(&questions, |(part, against)| match against {
        Some(against) => drop(part.scale.set(part.find_scale(delta, against))),
        None => {
            let found = part.worst.epsilon_and_routes(delta);
            drop(part.tight.set(found.map(|(epsilon, routes)| (Number::from(epsilon), routes.to_vec()))));
            if let Some(main) = &part.main {
                drop(part.on_main.set(main.epsilon(delta).map(Number::from)));
            }
        }
    });
    let (mut lines, mut reductions) = (vec![], vec![]);
    for (scope, i) in scopes.iter().zip(part_of) {
        let place = |e: Error| e.at(scope);
        lines.push(Line::new(release, scope, &parts[i], delta).map_err(place)?);
        if let (true, Some(found)) = (against.is_some_and(|a| a.covers(scope)), parts[i].scale.get()) {
            let found = found.as_ref().map_err(|e| place(e.clone()))?;
            reductions.push(Reduction::new(scope, release, found)?);
        }
    }
    Ok((lines, reductions))
}

/// The worst case that one scope or more come down to, and what is found out about it.
struct Part {
    worst: WorstCase,
    /// The same as if no unit had been bypassed, if some may have been.
    main: Option<WorstCase>,
    is_scaled: bool,
    tight: OnceLock<Result<(Number, Vec<Route>)>>,
    scale: OnceLock<Result<(Target, Calibration)>>,
    on_main: OnceLock<Result<Number>>,
}

impl Part {
    fn find_scale(&self, delta: &Delta, against: &Promise) -> Result<(Target, Calibration)> {
        let target = against.target(&self.worst, delta)?;
        let found = self.worst.scale_meeting(&target)?;
        Ok((target, found))
    }
}

/// The δ asked for, or stated by the allocations.
pub(in crate::report) fn stated_delta(release: &Release, delta: Option<&Delta>) -> Result<Delta> {
    delta.or(release.delta()).cloned().ok_or_else(|| {
        Error::of_kind(
            ErrorKind::NoDelta,
            "no delta: the allocation does not state one",
            "add a line delta = \"1e-10\" to the file",
        )
    })
}

impl Line {
    fn new(release: &Release, scope: &Scope, part: &Part, delta: &Delta) -> Result<Line> {
        let rho = match part.worst.rho() {
            Ok(rho) => Some(rho),
            // Of some mechanism zCDP says nothing.
            Err(_) if release.has_also() => None,
            Err(error) => return Err(error),
        };
        let upper = rho.as_ref().map(|rho| Rho::new(rho.upper())).transpose()?;
        let by = |conversion| Some(Magnitude::from_f64(upper.as_ref()?.epsilon(conversion, delta)));
        let (tight, routes) = part.tight.get().expect("asked of every part").clone()?;
        let has_paths = part.worst.count() > 1;
        let levels = |(route, allocation): (&Route, &Allocation)| {
            let names = |path: &Path| {
                let kept = allocation.levels().iter().enumerate().filter(|(i, _)| path.keeps(*i));
                kept.map(|(_, level)| level.name.clone()).collect()
            };
            WorstPaths { from: names(&route.from), to: names(&route.to) }
        };
        Ok(Line {
            scope: scope.clone(),
            label: release.label(scope),
            moves: release.moves(scope),
            bun_steinke: by(Conversion::BunSteinke),
            canonne_kamath_steinke: by(Conversion::CanonneKamathSteinke),
            tight,
            attained: part.worst.is_attained(),
            cases: part.worst.count(),
            main_path: part.on_main.get().cloned().transpose()?,
            worst: routes.iter().zip(release.allocations()).filter(|_| has_paths).map(levels).collect(),
            method: part.worst.method()?,
            rho,
        })
    }
}

impl Reduction {
    fn new(scope: &Scope, release: &Release, (target, found): &(Target, Calibration)) -> Result<Reduction> {
        let moved = release.moved(scope)?;
        let all = moved.into_iter().map(|m| Ok(m.gaussian()?.sigma2())).collect::<Result<Vec<_>>>()?;
        Ok(Reduction {
            scope: scope.clone(),
            epsilon: target.epsilon.value().to_bounds().upper(),
            least_sigma2: (*all.iter().min().expect("not empty")).clone(),
            greatest_sigma2: (*all.iter().max().expect("not empty")).clone(),
            factor: found.satisfying.clone(),
            failing: found.failing.clone(),
        })
    }
}
