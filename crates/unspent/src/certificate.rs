//! What a release promises: in total, by level, by attribute, by geography; and what noise could go.
//!
//! Every line has the same release behind it three times: by the two published conversions of its ρ, and tight. The
//! gap between them is budget that was promised and never spent: the last part says how much smaller the
//! noise could have been, all of it or one level's, for the same published ε.

use std::sync::OnceLock;

use serde::Serialize;
use serde::ser::Serializer;

use crate::allocation::{Allocation, Neighbours, Path};
use crate::calibrate::{Calibration, Target};
use crate::error::{Error, Result};
use crate::number::{Magnitude, Rational};
use crate::parallel;
use crate::profile::Method;
use crate::promise::PromiseCheck;
use crate::quantity::{Delta, Epsilon, Rho};
use crate::release::{Cases, Release, Scope};
use crate::report::{self, Figure};
use crate::series::Missing;
use crate::worst::{Route, WorstCase};
use crate::zcdp::Conversion;

/// A release and its guarantees.
///
/// ```
/// use unspent::{Allocation, Certificate, Release};
/// let census = Release::from(Allocation::preset("pl94-persons-us-2020")?);
/// let certificate = Certificate::new(&census, None, None)?;
/// let total = &certificate.lines[0];
/// assert_eq!(total.tight.at_most(6), "16.4678");
/// assert_eq!(&total.canonne_kamath_steinke.to_decimal(6, unspent::Round::Up), "17.1436");
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// What was released.
    pub name: String,
    /// The allocations it consists of.
    pub products: Vec<Product>,
    /// What one record is.
    pub record: String,
    /// What the total protects.
    #[serde(serialize_with = "neighbours")]
    pub neighbours: Neighbours,
    /// The δ of every ε.
    #[serde(serialize_with = "delta")]
    pub delta: Delta,
    /// How the published ε was computed, if that is known.
    #[serde(serialize_with = "conversion")]
    pub published: Option<Conversion>,
    /// Whether every ε that is stated is certified to be kept; none if none is stated.
    pub kept: Option<bool>,
    /// Each ε that a product states, beside what it delivers.
    pub promises: Vec<PromiseCheck>,
    /// What each scope promises.
    pub lines: Vec<Line>,
    /// The promise that the reductions keep, if one is known.
    #[serde(serialize_with = "against")]
    pub against: Option<Against>,
    /// How much smaller the noise could be at the same published ε.
    pub reductions: Vec<Reduction>,
    /// Attributes that not all products know by the same name, or that no query touches: nothing is said of them.
    pub left_out: Vec<String>,
    /// Levels with others below of which nothing is said of places inside them, and why.
    pub places_left_out: Vec<LeftOut>,
    /// What the certificate rests on and does not check.
    pub assumptions: Vec<String>,
    /// Products of the same series, about the same people, that are not counted here.
    pub missing: Vec<Missing>,
    /// Of this library.
    pub version: &'static str,
}

/// Something of which nothing is said, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// An allocation, in brief.
#[derive(Clone, Debug, Serialize)]
pub struct Product {
    /// Its name.
    pub name: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// How many geographic levels it has.
    pub levels: usize,
    /// How many different queries.
    pub queries: usize,
    /// How many queries at levels.
    pub measurements: usize,
    /// Its budget.
    pub rho: Figure,
    /// How many paths through the geography its noise may take.
    pub paths: usize,
    /// How many of its records one record of the release can change.
    pub touches: u64,
    /// Levels whose units' totals are published exactly: the guarantee is for neighbours that keep them.
    pub exact_totals: Vec<String>,
}

/// What one scope promises at the certificate's δ.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `total`, `level`, `keeping`, `attribute` or `within`.
    pub scope: &'static str,
    /// The name of the level or attribute.
    pub name: Option<String>,
    /// How a certificate calls it, like `Block-within-County`.
    pub label: String,
    /// How many cells of each measurement its secret moves.
    pub moves: u64,
    /// The zCDP budget of what it can move.
    pub rho: Figure,
    /// ε by Bun and Steinke's conversion, rounded up.
    #[serde(serialize_with = "report::rounded_up")]
    pub bun_steinke: Magnitude,
    /// ε by Canonne, Kamath and Steinke's conversion, rounded up.
    #[serde(serialize_with = "report::rounded_up")]
    pub canonne_kamath_steinke: Magnitude,
    /// The least ε over all neighbours and all paths: the guarantee is its upper end.
    pub tight: Figure,
    /// Whether some neighbours are known to have the ε of the worst case. If not, the lower end is that of neighbours
    /// that are known.
    pub attained: bool,
    /// How many compositions it is the largest of: one for each pair of paths.
    pub cases: usize,
    /// The same on the path that keeps all levels, if there are others: not a guarantee for all records.
    pub main_path: Option<Figure>,
    /// The paths of the worst case, one pair for each product; empty if there is only one path.
    pub worst: Vec<WorstPaths>,
    /// How it was obtained.
    #[serde(serialize_with = "method")]
    pub method: Method,
}

/// The levels that the two paths of the worst case keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorstPaths {
    /// On the path whose cells the record leaves.
    pub from: Vec<String>,
    /// On the path whose cells it enters.
    pub to: Vec<String>,
}

/// How much smaller the noise of a scope could be.
#[derive(Clone, Debug, Serialize)]
pub struct Reduction {
    /// `total` or `level`.
    pub scope: &'static str,
    /// The name of the level.
    pub name: Option<String>,
    /// The promise.
    #[serde(serialize_with = "report::rounded_up")]
    pub epsilon: Magnitude,
    /// The smallest variance in it now.
    #[serde(serialize_with = "report::exactly")]
    pub least_sigma2: Rational,
    /// The largest.
    #[serde(serialize_with = "report::exactly")]
    pub greatest_sigma2: Rational,
    /// What all its variances can be multiplied with: certified to keep the promise.
    #[serde(serialize_with = "report::exactly")]
    pub factor: Rational,
    /// Right below it, and certified to break the promise; none if the least noise allowed keeps it.
    #[serde(serialize_with = "report::perhaps")]
    pub failing: Option<Rational>,
}

impl Certificate {
    /// Of a release, at `delta` or at the one that the allocations state. What noise could go is measured against what
    /// `conversion` publishes, or the one that they state, or the ε that they state.
    pub fn new(
        release: &Release,
        delta: Option<&Delta>,
        conversion: Option<Conversion>,
    ) -> Result<Certificate> {
        Certificate::with(release, delta, conversion, true)
    }

    /// The same without what noise could go, which takes most of the time.
    pub fn without_reductions(
        release: &Release,
        delta: Option<&Delta>,
        conversion: Option<Conversion>,
    ) -> Result<Certificate> {
        Certificate::with(release, delta, conversion, false)
    }

    /// The same, with another ε that is stated for the whole release.
    pub fn promising(mut self, release: &Release, epsilon: &Epsilon) -> Result<Certificate> {
        self.promises.push(PromiseCheck::new(release, epsilon, &self.delta)?);
        self.kept = kept(&self.promises);
        Ok(self)
    }

    fn with(
        release: &Release,
        delta: Option<&Delta>,
        conversion: Option<Conversion>,
        reductions: bool,
    ) -> Result<Certificate> {
        let delta = stated_delta(release, delta)?;
        let published = conversion.or(published(release));
        // An ε that is stated is stated at the allocation's own δ.
        let stated = match release.allocations() {
            [only] if only.delta() == Some(&delta) => only.epsilon().cloned(),
            _ => None,
        };
        let against = published.map(Against::Conversion).or(stated.map(Against::Stated));
        let (lines, reductions) = assemble(release, &delta, against.as_ref().filter(|_| reductions))?;
        let known =
            |name: &str| lines.iter().any(|l| l.scope == "attribute" && l.name.as_deref() == Some(name));
        let mut left_out: Vec<String> = vec![];
        for name in release.allocations().iter().flat_map(Allocation::attributes) {
            if !known(name) && !left_out.contains(name) {
                left_out.push(name.clone());
            }
        }
        let mut places_left_out: Vec<LeftOut> = vec![];
        for allocation in release.allocations() {
            let (_, above) = allocation.levels().split_last().expect("at least one level");
            for name in above.iter().map(|level| &level.name) {
                let known = lines.iter().any(|l| l.scope == "within" && l.name.as_ref() == Some(name));
                if known || places_left_out.iter().any(|left| left.name == *name) {
                    continue;
                }
                if let Err(error) = release.moved(&Scope::Within(name.clone())) {
                    places_left_out.push(LeftOut { name: name.clone(), reason: error.to_string() });
                }
            }
        }
        let promise = |allocation: &Allocation| {
            let same = release.allocations().len() == 1 && allocation.delta() == Some(&delta);
            PromiseCheck::stated(allocation, same.then(|| &lines[0].tight))
        };
        let promises = release.allocations().iter().map(promise).collect::<Result<Vec<_>>>()?;
        let promises: Vec<PromiseCheck> = promises.into_iter().flatten().collect();
        Ok(Certificate {
            places_left_out,
            kept: kept(&promises),
            promises,
            assumptions: assumptions(release),
            missing: Missing::of(release),
            name: release.name(),
            products: release
                .allocations()
                .iter()
                .map(|a| Product::new(a, release.allocations().len() > 1))
                .collect::<Result<_>>()?,
            record: release.record().into(),
            neighbours: release.neighbours(),
            published,
            delta,
            lines,
            against,
            reductions,
            left_out,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}

fn kept(promises: &[PromiseCheck]) -> Option<bool> {
    (!promises.is_empty()).then(|| promises.iter().all(|promise| promise.kept == Some(true)))
}

/// What every scope promises and, `against` a conversion, how much smaller the noise could be.
pub(crate) fn assemble(
    release: &Release,
    delta: &Delta,
    against: Option<&Against>,
) -> Result<(Vec<Line>, Vec<Reduction>)> {
    let scopes = release.scopes();
    let mut cases = Cases::new(release);
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
                    Some(main) => Some(main.worst_case(scope).map_err(place)?),
                    None => None,
                };
                let (tight, scale, on_main) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
                parts.push(Part { worst, main, is_scaled: false, tight, scale, on_main });
                parts.len() - 1
            }
        };
        parts[index].is_scaled |= against.is_some_and(|against| against.scales(scope));
        part_of.push(index);
    }
    // All questions at once, so that no core waits for the other longer than it must.
    let scaled = parts.iter().filter(|part| part.is_scaled).map(|part| (part, against));
    let questions: Vec<(&Part, Option<&Against>)> = scaled
        .filter(|(_, against)| against.is_some())
        .chain(parts.iter().map(|part| (part, None)))
        .collect();
    parallel::map(&questions, |(part, against)| match against {
        Some(against) => drop(part.scale.set(part.find_scale(delta, against))),
        None => {
            let found = part.worst.epsilon_and_routes(delta);
            drop(part.tight.set(found.map(|(epsilon, routes)| (Figure::from(epsilon), routes.to_vec()))));
            if let Some(main) = &part.main {
                drop(part.on_main.set(main.epsilon(delta).map(Figure::from)));
            }
        }
    });
    let (mut lines, mut reductions) = (vec![], vec![]);
    for (scope, i) in scopes.iter().zip(part_of) {
        let place = |e: Error| e.at(scope);
        lines.push(Line::new(release, scope, &parts[i], delta).map_err(place)?);
        if let (true, Some(found)) = (against.is_some_and(|a| a.scales(scope)), parts[i].scale.get()) {
            let found = found.as_ref().map_err(|e| place(e.clone()))?;
            reductions.push(Reduction::new(scope, release, found)?);
        }
    }
    Ok((lines, reductions))
}

/// The promise that a reduction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// What this conversion publishes, for the whole and for each level.
    Conversion(Conversion),
    /// The ε that the allocation states for the whole.
    Stated(Epsilon),
}

impl Against {
    /// Whether the noise of that scope is scaled as a whole.
    fn scales(&self, scope: &Scope) -> bool {
        match self {
            Against::Conversion(_) => matches!(scope, Scope::Total | Scope::Level(_)),
            Against::Stated(_) => matches!(scope, Scope::Total),
        }
    }

    /// The name of the conversion, or `stated`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Against::Conversion(conversion) => conversion.name(),
            Against::Stated(_) => "stated",
        }
    }
}

/// The worst case that one scope or more come down to, and what is found out about it.
struct Part {
    worst: WorstCase,
    /// The same as if no unit had been bypassed, if some may have been.
    main: Option<WorstCase>,
    is_scaled: bool,
    tight: OnceLock<Result<(Figure, Vec<Route>)>>,
    scale: OnceLock<Result<(Target, Calibration)>>,
    on_main: OnceLock<Result<Figure>>,
}

impl Part {
    fn find_scale(&self, delta: &Delta, against: &Against) -> Result<(Target, Calibration)> {
        let epsilon = match against {
            Against::Stated(epsilon) => epsilon.clone(),
            Against::Conversion(conversion) => {
                let rho = Rho::new(self.worst.rho()?.upper())?;
                Epsilon::new(Rational::from_f64("epsilon", rho.epsilon(*conversion, delta))?)?
            }
        };
        let target = Target { epsilon, delta: delta.clone() };
        let found = self.worst.scale_meeting(&target)?;
        Ok((target, found))
    }
}

/// The δ asked for, or stated by the allocations.
pub(crate) fn stated_delta(release: &Release, delta: Option<&Delta>) -> Result<Delta> {
    delta.or(release.delta()).cloned().ok_or_else(|| {
        Error::stated(
            "no delta: the allocation does not state one",
            "add --delta 1e-10, or a line delta = \"1e-10\" to the file",
        )
    })
}

/// The conversion behind what was published, if all allocations state the same one.
pub(crate) fn published(release: &Release) -> Option<Conversion> {
    let first = release.allocations()[0].conversion();
    first.filter(|_| release.allocations().iter().all(|a| a.conversion() == first))
}

impl Product {
    /// Among several, or alone.
    fn new(allocation: &Allocation, several: bool) -> Result<Product> {
        let rho = Release::from(allocation.clone()).on_main_paths().worst_case(&Scope::Total)?.rho()?;
        let production = allocation.production();
        Ok(Product {
            paths: allocation.paths().len(),
            touches: production.touches.filter(|_| several).unwrap_or(1),
            exact_totals: production.exact_totals.clone(),
            name: allocation.name().into(),
            source: allocation.source().map(Into::into),
            levels: allocation.levels().len(),
            queries: allocation.queries().len(),
            measurements: allocation.measurements().count(),
            rho,
        })
    }
}

impl Line {
    fn new(release: &Release, scope: &Scope, part: &Part, delta: &Delta) -> Result<Line> {
        let rho = part.worst.rho()?;
        let upper = Rho::new(rho.upper())?;
        let by = |conversion| Magnitude::from_f64(upper.epsilon(conversion, delta));
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
            scope: scope.kind(),
            name: scope.name().map(Into::into),
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

    /// The ε of one of the conversions.
    #[must_use]
    pub fn by(&self, conversion: Conversion) -> &Magnitude {
        match conversion {
            Conversion::BunSteinke => &self.bun_steinke,
            Conversion::CanonneKamathSteinke => &self.canonne_kamath_steinke,
        }
    }
}

impl Reduction {
    fn new(scope: &Scope, release: &Release, (target, found): &(Target, Calibration)) -> Result<Reduction> {
        let variances = || release.moved(scope).map(|moved| moved.into_iter().map(|m| m.noise.sigma2()));
        Ok(Reduction {
            scope: scope.kind(),
            name: scope.name().map(Into::into),
            epsilon: target.epsilon.value().to_bounds().upper(),
            least_sigma2: variances()?.min().expect("not empty").clone(),
            greatest_sigma2: variances()?.max().expect("not empty").clone(),
            factor: found.satisfying.clone(),
            failing: found.failing.clone(),
        })
    }
}

/// What every certificate rests on, and what these allocations add.
fn assumptions(release: &Release) -> Vec<String> {
    let mut list = vec![
        "Each measurement is drawn once: noise that is drawn again for the same count is another measurement.".into(),
        "The noise is exactly the discrete Gaussian, independent from cell to cell.".into(),
        "Every record is in one unit of each level and in one cell of each query; which units there are does not depend on \
         the records."
            .into(),
    ];
    if release.allocations().iter().any(|a| !a.attributes().is_empty()) {
        list.push("A query touches the attributes that the allocation says it touches.".into());
    }
    for allocation in release.allocations() {
        if !allocation.production().exact_totals.is_empty() {
            list.push(format!(
                "`{}`: the totals of {} are exact; the guarantee is for neighbours that keep them.",
                allocation.name(),
                allocation.production().exact_totals.join(", ")
            ));
        }
        for assumption in &allocation.production().assumptions {
            if !list.contains(assumption) {
                list.push(assumption.clone());
            }
        }
    }
    list
}

fn neighbours<S: Serializer>(neighbours: &Neighbours, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(neighbours.name())
}

fn delta<S: Serializer>(delta: &Delta, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    report::exactly(delta.value(), serializer)
}

fn conversion<S: Serializer>(
    conversion: &Option<Conversion>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    conversion.map(Conversion::name).serialize(serializer)
}

fn against<S: Serializer>(against: &Option<Against>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    against.as_ref().map(Against::name).serialize(serializer)
}

fn method<S: Serializer>(method: &Method, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}
