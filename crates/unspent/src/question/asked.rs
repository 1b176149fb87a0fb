//! The questions. Each is a type that can be read from JSON, and knows its answer.

use serde::Deserialize;

use super::Ask;
use super::product::{FileText, Product};
use super::terms::Terms;
use crate::allocation::Allocation;
use crate::calibrate::{Target, solve};
use crate::composition::Composition;
use crate::error::{Error, ErrorKind, Result};
use crate::file::Draft;
use crate::mechanism::{Described, Entry};
use crate::number::Rational;
use crate::profile::Direction;
use crate::quantity::{Alpha, Delta, Epsilon};
use crate::release::Release;
use crate::report::account::Account;
use crate::report::certificate::{Asked, Certificate};
use crate::report::comparison::Comparison;
use crate::report::curve::{Curve, TradeoffCurve};
use crate::report::parameter::Parameter;
use crate::report::presets::PresetEntry;
use crate::report::promise::{Promise, Scaling};
use crate::report::reading::Reading;
use crate::report::recalibration::Recalibration;
use crate::report::spending::Spending;
use crate::scope::Scope;
use crate::zcdp::Conversion;

fn yes() -> bool {
    true
}

fn whole() -> Scope {
    Scope::Total
}

fn products<P: Into<Product>>(products: impl IntoIterator<Item = P>) -> Vec<Product> {
    products.into_iter().map(Into::into).collect()
}

/// What does a release promise?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateQuestion {
    /// The products, all about the same record.
    pub release: Vec<Product>,
    /// The δ of every ε; that of the allocations unless given.
    #[serde(default)]
    pub delta: Option<Delta>,
    /// The conversion whose ε counts as published; that of the allocations unless given.
    #[serde(default)]
    pub conversion: Option<Conversion>,
    /// An ε that is stated for the whole release, to be checked.
    #[serde(default)]
    pub epsilon: Option<Epsilon>,
    /// Whether to look for removable noise, which takes most of the time.
    #[serde(default = "yes")]
    pub reductions: bool,
    /// What an attacker believed before: adds what is believed after, in words.
    #[serde(default)]
    pub prior: Option<Rational>,
}

impl CertificateQuestion {
    /// About these products, with everything else as the allocations say.
    pub fn about<P: Into<Product>>(release: impl IntoIterator<Item = P>) -> CertificateQuestion {
        let release = products(release);
        CertificateQuestion {
            release,
            delta: None,
            conversion: None,
            epsilon: None,
            reductions: true,
            prior: None,
        }
    }
}

impl Ask for CertificateQuestion {
    type Report = Certificate;

    fn work(&self, terms: &Terms) -> Result<Certificate> {
        let release = Product::release(&self.release)?;
        check_extent(&release, terms.limits.extent)?;
        let asked = Asked {
            delta: self.delta.as_ref(),
            conversion: self.conversion,
            epsilon: self.epsilon.as_ref(),
            reductions: self.reductions,
            prior: self.prior.as_ref(),
            effort: terms.effort,
            files: self.release.iter().map(Product::file).collect(),
        };
        Certificate::new(&release, asked)
    }
}

/// How many measurements the lines of an allocation's certificate have together: the total, every level,
/// every attribute, and every level with what is below it.
fn extent(allocation: &Allocation) -> usize {
    let (mut lines, mut above) = (0, 0);
    for level in allocation.levels() {
        let attributes = level.measurements.iter().map(|m| allocation.queries()[m.query].attributes.len());
        lines += level.measurements.len() * (2 + above) + attributes.sum::<usize>();
        above += usize::from(allocation.is_nested());
    }
    lines
}

/// Refuses a release whose certificate has more lines, and longer ones, than are worked out while somebody
/// waits.
fn check_extent(release: &Release, most: usize) -> Result<()> {
    if most == usize::MAX {
        return Ok(());
    }
    let found: usize = release.allocations().iter().map(extent).sum();
    if found <= most {
        return Ok(());
    }
    let cause = format!(
        "levels: a certificate of so many lines is not made here: they have {found} measurements together, \
         at most {most} are allowed"
    );
    Err(Error::of_kind(ErrorKind::TooLarge, cause, "ask where there is no such limit"))
}

/// Which points of a curve are asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grid {
    /// δ at these ε.
    Epsilon(Vec<Epsilon>),
    /// ε at these δ.
    Delta(Vec<Delta>),
}

/// What is δ at these ε, or ε at these δ?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveQuestion {
    /// The products, all about the same record.
    pub release: Vec<Product>,
    /// The part of it.
    #[serde(default = "whole")]
    pub part: Scope,
    /// The points.
    pub over: Grid,
}

impl Ask for CurveQuestion {
    type Report = Curve;

    fn work(&self, terms: &Terms) -> Result<Curve> {
        let release = Product::release(&self.release)?;
        match &self.over {
            Grid::Epsilon(grid) => Curve::over_epsilon(&release, &self.part, grid, terms.effort),
            Grid::Delta(grid) => Curve::over_delta(&release, &self.part, grid, terms.effort),
        }
    }
}

/// How often does the best attacker miss, at these rates of false alarms?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TradeoffQuestion {
    /// The products, all about the same record.
    pub release: Vec<Product>,
    /// The part of it.
    #[serde(default = "whole")]
    pub part: Scope,
    /// The rates.
    pub rates: Vec<Alpha>,
}

impl Ask for TradeoffQuestion {
    type Report = TradeoffCurve;

    fn work(&self, terms: &Terms) -> Result<TradeoffCurve> {
        TradeoffCurve::new(&Product::release(&self.release)?, &self.part, &self.rates, terms.effort)
    }
}

/// How much less noise keeps the promise?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationQuestion {
    /// The allocation.
    pub allocation: Product,
    /// The ε to keep; what the allocation states unless given, or `conversion`.
    #[serde(default)]
    pub epsilon: Option<Epsilon>,
    /// The conversion whose ε is to be kept.
    #[serde(default)]
    pub conversion: Option<Conversion>,
    /// The δ of the promise; that of the allocation unless given.
    #[serde(default)]
    pub delta: Option<Delta>,
    /// All levels alike, or each by itself.
    #[serde(default)]
    pub scaling: Scaling,
}

impl CalibrationQuestion {
    /// About this allocation, to keep what it states.
    pub fn about(allocation: impl Into<Product>) -> CalibrationQuestion {
        let allocation = allocation.into();
        let scaling = Scaling::Total;
        CalibrationQuestion { allocation, epsilon: None, conversion: None, delta: None, scaling }
    }

    /// What is to be kept.
    pub fn promise(&self, allocation: &Allocation) -> Result<Promise> {
        match (&self.epsilon, self.conversion) {
            (Some(_), Some(_)) => Err(Error::stated(
                "epsilon, conversion: both are given",
                "epsilon is a promise of its own; a conversion says how the promise was computed",
            )),
            (Some(epsilon), None) => Ok(Promise::Epsilon(epsilon.clone())),
            (None, Some(conversion)) => Ok(Promise::Conversion(conversion)),
            (None, None) => Promise::stated(allocation, self.delta.as_ref(), self.scaling),
        }
    }

    /// The result, to be edited further. It states what was kept: a conversion of the larger ρ would promise
    /// more, and more again.
    pub(super) fn draft_of(&self, report: &Recalibration) -> Result<Draft> {
        let found = Draft::of(&report.allocation)?;
        Ok(match &self.allocation {
            Product::Draft(draft) => draft.with_budget_of(&found),
            _ => found,
        })
    }
}

impl Ask for CalibrationQuestion {
    type Report = Recalibration;

    fn work(&self, _: &Terms) -> Result<Recalibration> {
        let allocation = self.allocation.allocation()?;
        let promise = self.promise(&allocation)?;
        allocation.calibrate(&promise, self.scaling, self.delta.as_ref())
    }
}

/// Where do two releases differ, and what does it cost?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonQuestion {
    /// A.
    pub first: Vec<Product>,
    /// B.
    pub second: Vec<Product>,
    /// The δ of every ε; that of A unless given, or that of B.
    #[serde(default)]
    pub delta: Option<Delta>,
}

impl Ask for ComparisonQuestion {
    type Report = Comparison;

    fn work(&self, terms: &Terms) -> Result<Comparison> {
        let (a, b) = (Product::release(&self.first)?, Product::release(&self.second)?);
        check_extent(&a, terms.limits.extent)?;
        check_extent(&b, terms.limits.extent)?;
        Comparison::new(&a, &b, self.delta.as_ref(), terms.effort)
    }
}

/// What does an attacker gain who believed the secret with that probability?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingQuestion {
    /// The products, all about the same record.
    pub release: Vec<Product>,
    /// The part of it.
    #[serde(default = "whole")]
    pub part: Scope,
    /// What is believed before.
    pub prior: String,
}

impl Ask for ReadingQuestion {
    type Report = Reading;

    fn work(&self, terms: &Terms) -> Result<Reading> {
        let prior = Rational::parse("prior", &self.prior)?;
        Reading::new(&Product::release(&self.release)?, &self.part, &prior, terms.effort)
    }
}

/// What does each query spend, and how much noise does it get?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpendingQuestion {
    /// The allocation.
    pub allocation: Product,
}

impl Ask for SpendingQuestion {
    type Report = Spending;

    fn work(&self, _: &Terms) -> Result<Spending> {
        Spending::new(&self.allocation.allocation()?)
    }
}

/// What does a composition of mechanisms promise?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountQuestion {
    /// The mechanisms.
    pub mechanisms: Vec<Described>,
    /// Which neighbours are compared; matters where some mechanism is not symmetric.
    #[serde(default)]
    pub direction: Direction,
    /// Asks for δ at these ε.
    #[serde(default)]
    pub epsilons: Vec<Epsilon>,
    /// Asks for ε at these δ.
    #[serde(default)]
    pub deltas: Vec<Delta>,
    /// Asks for the least rate of misses at these rates of false alarms.
    #[serde(default)]
    pub rates: Vec<Alpha>,
    /// The relative width to which answers must be known.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Whether to add how often the privacy loss exceeds each ε.
    #[serde(default)]
    pub tails: bool,
}

impl Ask for AccountQuestion {
    type Report = Account;

    fn work(&self, terms: &Terms) -> Result<Account> {
        let groups = self.mechanisms.iter().map(|d| (d.mechanism.clone(), d.count));
        let mut composition = Composition::with_effort(groups, terms.effort)?;
        if self.direction != Direction::Both {
            composition = composition.in_direction(self.direction)?;
        }
        if let Some(tolerance) = self.tolerance {
            composition = composition.with_tolerance(tolerance)?;
        }
        let asked = (self.epsilons.as_slice(), self.deltas.as_slice(), self.rates.as_slice());
        Account::new(&composition, self.mechanisms.clone(), asked, self.tails)
    }
}

/// What must one parameter be, for a composition to keep (ε, δ)?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterQuestion {
    /// The mechanisms; one parameter of one of them is `?`.
    pub mechanisms: Vec<Entry>,
    /// Which neighbours are compared; matters where some mechanism is not symmetric.
    #[serde(default)]
    pub direction: Direction,
    /// The ε to keep.
    pub epsilon: Epsilon,
    /// The δ to keep.
    pub delta: Delta,
}

impl Ask for ParameterQuestion {
    type Report = Parameter;

    fn work(&self, terms: &Terms) -> Result<Parameter> {
        let (mut rest, mut open) = (vec![], None);
        for (index, entry) in self.mechanisms.iter().enumerate() {
            match (entry, open) {
                (Entry::Known(described), _) => rest.push(described.clone()),
                (Entry::Open(found), None) => open = Some((index, found)),
                (Entry::Open(found), Some((first, _))) => {
                    return Err(Error::stated(
                        format!(
                            "mechanism {}: `{}` is looked for, and so is a parameter of mechanism {}",
                            index + 1,
                            found.parameter(),
                            first + 1
                        ),
                        "one parameter of one mechanism is looked for, all others are given",
                    ));
                }
            }
        }
        let Some((index, open)) = open else {
            return Err(Error::stated(
                "mechanisms: no parameter is `?`",
                "write `?` for the parameter that is looked for",
            ));
        };
        let target = Target { epsilon: self.epsilon.clone(), delta: self.delta.clone() };
        let found = solve(&rest, open, &target, self.direction, terms.effort)?;
        rest.insert(index, found.found.clone());
        Ok(Parameter::new(open, (index, rest), &target, found))
    }
}

/// Which presets are there?
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetsQuestion {}

impl Ask for PresetsQuestion {
    type Report = Vec<PresetEntry>;

    fn work(&self, _: &Terms) -> Result<Vec<PresetEntry>> {
        PresetEntry::all()
    }
}

/// What is in that file, as a draft to be edited?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadQuestion {
    /// The preset or file.
    pub allocation: Product,
}

impl Ask for ReadQuestion {
    type Report = Draft;

    fn work(&self, terms: &Terms) -> Result<Draft> {
        if let Product::File(FileText { text, .. }) = &self.allocation {
            let (found, most) = (text.len(), terms.limits.bytes);
            if found > most {
                let cause = format!("text: {found} bytes are more than the {most} that are read here");
                let hint = "an allocation is a short text; ask where there is no such limit";
                return Err(Error::of_kind(ErrorKind::TooLarge, cause, hint));
            }
        }
        Draft::of(&self.allocation.allocation()?)
    }
}

/// What is the allocation file of that draft?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileQuestion {
    /// The draft.
    pub allocation: Product,
}

impl Ask for FileQuestion {
    type Report = String;

    fn work(&self, _: &Terms) -> Result<String> {
        self.allocation.allocation()?.to_file()
    }
}
