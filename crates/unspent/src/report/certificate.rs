//! What a release promises: in total, by level, by attribute, by geography; and removable noise.
//!
//! Every line has the same release behind it three times: by the two published conversions of its ρ, and
//! tight. The gap between them is budget that was promised and never spent: the last part says how much
//! smaller the noise could have been, all of it or one level's, for the same published ε.

mod assemble;
mod columns;
mod document;

use serde::Serialize;

pub(super) use assemble::{assemble, stated_delta};
pub use document::{ShownCertificate, Stamp};

use crate::allocation::{Allocation, Neighbours};
use crate::effort::Effort;
use crate::error::Result;
use crate::file::FileDigest;
use crate::mechanism::Described;
use crate::number::{Magnitude, Number, Rational, maybe_rounded_up, rounded_up};
use crate::profile::Method;
use crate::quantity::{Delta, Epsilon};
use crate::release::Release;
use crate::report::promise::{Promise, PromiseCheck};
use crate::report::reading::Reading;
use crate::report::series::Missing;
use crate::report::spending::NoiseLine;
use crate::scope::Scope;
use crate::zcdp::Conversion;

/// A release and its guarantees.
///
/// ```
/// use unspent::{Allocation, Ask, question::CertificateQuestion};
/// let census = Allocation::preset("pl94-persons-us-2020")?;
/// let certificate = CertificateQuestion::about([census]).answer()?;
/// let total = &certificate.lines[0];
/// assert_eq!(total.tight.at_most(6), "16.4678");
/// assert_eq!(&total.canonne_kamath_steinke.unwrap().to_decimal(6, unspent::Round::Up), "17.1436");
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Certificate {
    /// What was released.
    pub name: String,
    /// The allocations it consists of.
    pub products: Vec<Product>,
    /// What one record is.
    pub record: String,
    /// What the total protects.
    pub neighbours: Neighbours,
    /// The δ of every ε.
    pub delta: Delta,
    /// How the published ε was computed, if that is known.
    pub published: Option<Conversion>,
    /// Whether every ε that is stated is certified to be kept; none if none is stated.
    pub kept: Option<bool>,
    /// Each ε that a product states, beside what it delivers.
    pub promises: Vec<PromiseCheck>,
    /// What each scope promises.
    pub lines: Vec<Line>,
    /// The promise that the reductions keep, if one is known.
    pub against: Option<Promise>,
    /// How much smaller the noise could be at the same published ε.
    pub reductions: Vec<Reduction>,
    /// Attributes, and places inside levels, of which nothing is said, and why.
    pub left_out: Vec<LeftOut>,
    /// The noise of every query at every level, where no unit was bypassed.
    pub noise: Vec<NoiseLine>,
    /// What an attacker gains from the whole release, if it was asked for.
    pub reading: Option<Reading>,
    /// What the certificate rests on and does not check.
    pub assumptions: Vec<String>,
    /// Products of the same series, about the same people, that are not counted here.
    pub missing: Vec<Missing>,
    /// Of this library.
    pub version: &'static str,
}

/// A part of which nothing is said, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// The part.
    #[serde(flatten)]
    pub scope: Scope,
    /// Why.
    pub reason: String,
}

/// An allocation, in brief.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Product {
    /// Its name.
    pub name: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// The file that it was read from.
    pub file: Option<FileDigest>,
    /// How many geographic levels it has.
    pub levels: usize,
    /// How many different queries.
    pub queries: usize,
    /// How many queries at levels.
    pub measurements: usize,
    /// Its budget, if zCDP bounds all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<Number>,
    /// Other mechanisms for the same record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoLine>,
    /// How many paths through the geography its noise may take.
    pub paths: usize,
    /// How many of its records one record of the release can change.
    pub touches: u64,
    /// Levels whose units' totals are published exactly: the guarantee is for neighbours that keep them.
    pub exact_totals: Vec<String>,
    /// What else is published exactly, by name and level.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
}

/// Other mechanisms for the same record, as they are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AlsoLine {
    /// As the file has them.
    pub stated: Described,
    /// As they are counted, where a record of the release is several of theirs.
    pub counted: Described,
    /// How many of their neighbours lie between two neighbours of the release.
    pub steps: u64,
    /// What one record can do in each, as stated.
    pub note: String,
}

/// What one scope promises at the certificate's δ.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// The part that it is about.
    #[serde(flatten)]
    pub scope: Scope,
    /// How a certificate calls it, like `Block-within-County`.
    pub label: String,
    /// How many cells of each measurement its secret moves.
    pub moves: u64,
    /// The zCDP budget of what it can move, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<Number>,
    /// ε by Bun and Steinke's conversion, rounded up.
    #[serde(serialize_with = "maybe_rounded_up", skip_serializing_if = "Option::is_none")]
    pub bun_steinke: Option<Magnitude>,
    /// ε by Canonne, Kamath and Steinke's conversion, rounded up.
    #[serde(serialize_with = "maybe_rounded_up", skip_serializing_if = "Option::is_none")]
    pub canonne_kamath_steinke: Option<Magnitude>,
    /// The least ε over all neighbours and all paths: the guarantee is its upper end.
    pub tight: Number,
    /// Whether some neighbours are known to have the ε of the worst case. If not, the lower end is that of
    /// neighbours that are known.
    pub attained: bool,
    /// How many compositions it is the largest of: one for each pair of paths.
    pub cases: usize,
    /// The same on the path that keeps all levels, if there are others: not a guarantee for all records.
    pub main_path: Option<Number>,
    /// The paths of the worst case, one pair for each product; empty if there is only one path.
    pub worst: Vec<WorstPaths>,
    /// How it was obtained.
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
#[non_exhaustive]
pub struct Reduction {
    /// The total, or a level.
    #[serde(flatten)]
    pub scope: Scope,
    /// The promise.
    #[serde(serialize_with = "rounded_up")]
    pub epsilon: Magnitude,
    /// The smallest variance in it now.
    pub least_sigma2: Rational,
    /// The largest.
    pub greatest_sigma2: Rational,
    /// What all its variances can be multiplied with: certified to keep the promise.
    pub factor: Rational,
    /// Right below it, and certified to break the promise; none if the least noise allowed keeps it.
    pub failing: Option<Rational>,
}

/// What is asked of a release.
pub(crate) struct Asked<'q> {
    pub delta: Option<&'q Delta>,
    pub conversion: Option<Conversion>,
    /// Another ε that is stated for the whole release.
    pub epsilon: Option<&'q Epsilon>,
    /// Whether to look for removable noise, which takes most of the time.
    pub reductions: bool,
    /// What an attacker believed before, if it is to be said what is believed after.
    pub prior: Option<&'q Rational>,
    pub effort: Effort,
    /// The file of each product.
    pub files: Vec<Option<FileDigest>>,
}

impl Certificate {
    /// What an attacker believed before, in documents to be signed.
    pub const PRIOR: &'static str = "1/1000";

    pub(crate) fn new(release: &Release, asked: Asked<'_>) -> Result<Certificate> {
        let delta = stated_delta(release, asked.delta)?;
        let published = asked.conversion.or(published(release));
        // An ε that is stated is stated at the allocation's own δ.
        let stated = match release.allocations() {
            [only] if only.delta() == Some(&delta) => only.epsilon().cloned(),
            _ => None,
        };
        let against = published.map(Promise::Conversion).or(stated.map(Promise::Epsilon));
        // How much smaller it could be is only looked for in Gaussian noise.
        let gaussian = release.allocations().iter().all(Allocation::is_gaussian);
        let searched = against.as_ref().filter(|_| asked.reductions && gaussian);
        let (lines, reductions) = assemble(release, &delta, searched, asked.effort)?;
        let promise = |allocation: &Allocation| {
            let same = release.allocations().len() == 1 && allocation.delta() == Some(&delta);
            PromiseCheck::stated(allocation, same.then(|| &lines[0].tight))
        };
        let promises = release.allocations().iter().map(promise).collect::<Result<Vec<_>>>()?;
        let mut promises: Vec<PromiseCheck> = promises.into_iter().flatten().collect();
        if let Some(epsilon) = asked.epsilon {
            promises.push(PromiseCheck::new(release, epsilon, &delta)?);
        }
        let kept = (!promises.is_empty()).then(|| promises.iter().all(|promise| promise.kept == Some(true)));
        let files = asked.files.into_iter().chain(std::iter::repeat(None));
        let products = (0..release.allocations().len()).zip(files).map(|(i, f)| Product::new(release, i, f));
        Ok(Certificate {
            left_out: left_out(release, &lines),
            kept,
            promises,
            assumptions: assumptions(release),
            missing: Missing::of(release),
            name: release.name(),
            products: products.collect::<Result<_>>()?,
            record: release.record().into(),
            neighbours: release.neighbours(),
            published,
            delta,
            lines,
            against,
            reductions,
            noise: NoiseLine::all(release.allocations())?,
            // One attack in fast mode is as certified, and its words have three digits.
            reading: match asked.prior {
                // Some of the other mechanisms have no trade-off function.
                Some(prior) if release.has_also() => {
                    Reading::new(release, &Scope::Total, prior, Effort::Fast).ok()
                }
                Some(prior) => Some(Reading::new(release, &Scope::Total, prior, Effort::Fast)?),
                None => None,
            },
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// The line of that part of the release.
    #[must_use]
    pub fn line(&self, scope: &Scope) -> Option<&Line> {
        self.lines.iter().find(|line| line.scope == *scope)
    }

    /// The removable noise of that part of the release.
    #[must_use]
    pub fn reduction(&self, scope: &Scope) -> Option<&Reduction> {
        self.reductions.iter().find(|reduction| reduction.scope == *scope)
    }
}

/// The conversion behind what was published, if all allocations state the same one.
fn published(release: &Release) -> Option<Conversion> {
    let first = release.allocations()[0].conversion();
    first.filter(|_| release.allocations().iter().all(|a| a.conversion() == first))
}

/// Attributes and places of which there is no line.
fn left_out(release: &Release, lines: &[Line]) -> Vec<LeftOut> {
    let mut list: Vec<LeftOut> = vec![];
    let mut add = |scope: Scope, reason: &dyn Fn() -> Option<String>| {
        let known =
            lines.iter().any(|line| line.scope == scope) || list.iter().any(|left| left.scope == scope);
        if let (false, Some(reason)) = (known, reason()) {
            list.push(LeftOut { scope, reason });
        }
    };
    for name in release.allocations().iter().flat_map(Allocation::attributes) {
        let scope = Scope::Attribute(name.clone());
        let touched = release
            .allocations()
            .iter()
            .any(|allocation| allocation.measurements().any(|(_, query, _)| query.attributes.contains(name)));
        let reason = || match release.moved(&scope) {
            Err(error) if touched && release.has_also() => Some(error.to_string()),
            _ if release.allocations().len() > 1 => {
                Some("not every product has an attribute of that name".into())
            }
            _ => Some("no query touches it, so that nothing is released about it".into()),
        };
        add(scope.clone(), &reason);
    }
    for allocation in release.allocations() {
        for level in allocation.levels().split_last().map_or(&[][..], |(_, above)| above) {
            let scope = Scope::Within(level.name.clone());
            let reason = || release.moved(&scope).err().map(|error| error.to_string());
            add(scope.clone(), &reason);
        }
    }
    list
}

impl Product {
    /// One of the products of a release.
    fn new(release: &Release, index: usize, file: Option<FileDigest>) -> Result<Product> {
        let allocation = &release.allocations()[index];
        let rho = Release::from(allocation.clone()).on_main_paths().worst_case(&Scope::Total)?.rho();
        let rho = if allocation.also().is_empty() { Some(rho?) } else { rho.ok() };
        let production = allocation.production();
        let steps = release.steps(index);
        let also = allocation.also().iter().zip(allocation.also_in(steps, true)?);
        let also = also.map(|(also, (mechanism, count))| AlsoLine {
            stated: also.described.clone(),
            counted: Described { mechanism, count },
            steps,
            note: also.note.clone(),
        });
        Ok(Product {
            also: also.collect(),
            paths: allocation.paths().len(),
            touches: release.touches(index),
            exact_totals: production.exact_totals.clone(),
            invariants: production
                .invariants
                .iter()
                .map(|i| format!("{} of {}", i.name(), i.level))
                .collect(),
            name: allocation.name().into(),
            source: allocation.source().map(Into::into),
            file,
            levels: allocation.levels().len(),
            queries: allocation.queries().len(),
            measurements: allocation.measurements().count(),
            rho,
        })
    }
}

impl Line {
    /// The ε of one of the conversions.
    #[must_use]
    pub fn by(&self, conversion: Conversion) -> Option<&Magnitude> {
        match conversion {
            Conversion::BunSteinke => self.bun_steinke.as_ref(),
            Conversion::CanonneKamathSteinke => self.canonne_kamath_steinke.as_ref(),
        }
    }
}

/// The laws of all noise, in words.
fn laws(release: &Release) -> String {
    let mut laws: Vec<String> = vec![];
    for (_, _, m) in release.allocations().iter().flat_map(Allocation::measurements) {
        let law = format!("the {}", m.noise.name());
        if !laws.contains(&law) {
            laws.push(law);
        }
    }
    match laws.split_last() {
        Some((last, [_, ..])) => {
            format!("{} or {last}, as it is said of each query", laws[..laws.len() - 1].join(", "))
        }
        _ => laws.concat(),
    }
}

/// What every certificate rests on, and what these allocations add.
fn assumptions(release: &Release) -> Vec<String> {
    let mut list: Vec<String> = vec![];
    let laws = laws(release);
    // A product that is known by its budget alone has no measurements.
    if !laws.is_empty() {
        list.extend([
            String::from(
                "Each measurement is drawn once: noise that is drawn again for the same count is another \
                 measurement.",
            ),
            format!("The noise is exactly {laws}, independent from cell to cell."),
            "Every record is in one unit of each level and in at most one cell of each query; which units \
             there are does not depend on the records."
                .into(),
        ]);
    }
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
        for invariant in &allocation.production().invariants {
            list.push(format!(
                "`{}`: `{}` is published exactly for {}; the guarantee is for neighbours that agree on it.",
                allocation.name(),
                invariant.name(),
                invariant.level
            ));
        }
        for also in allocation.also() {
            list.push(format!(
                "`{}`, {}: {} (as stated). Its noise is drawn independently of everything else.",
                allocation.name(),
                also.described,
                also.note.trim_end_matches('.')
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
