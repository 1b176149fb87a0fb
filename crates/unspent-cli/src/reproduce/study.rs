//! Every number of the paper that can be computed, beside what was printed.

use unspent::expected::Law;
use unspent::question::{CertificateQuestion, Product};
use unspent::residual::{absolute_residual, largest_difference};
use unspent::{
    Allocation, Ask, Composition, Conversion, Delta, Epsilon, Magnitude, Promise, Rational, Release, Result,
    Rho, Round, Scaling, Scope,
};

use super::data::{self, Data, Files};
use super::paths::Paths;
use super::published::{self, EPSILONS, LEVELS, RESIDUALS, SIMULATED};

use crate::Failure;
use crate::progress::Progress;

/// A table of the study.
pub struct Table {
    /// The name of its files.
    pub id: &'static str,
    /// What it is.
    pub title: String,
    /// What to know when reading it.
    pub note: String,
    /// One of them may be `verdict`.
    pub heads: Vec<&'static str>,
    /// As they are written.
    pub rows: Vec<Vec<String>>,
}

/// A published number and what became of it.
pub struct Claim {
    /// What it is of.
    pub what: String,
    /// Where it stands.
    pub place: &'static str,
    /// As printed.
    pub published: String,
    /// As computed; empty if it was not.
    pub computed: String,
    /// Whether the two agree.
    pub verdict: Verdict,
    /// Why not, if not.
    pub why: String,
}

/// What a comparison came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// To every printed digit.
    Agrees,
    /// Not to every printed digit.
    Differs,
    /// A draw; what is computed is its expectation.
    Simulated,
    /// Needs what is not there.
    NotComputed,
}

impl Verdict {
    /// For tables and for style sheets.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Simulated => "simulated",
            Verdict::NotComputed => "not computed",
        }
    }

    fn of(published: &str, computed: f64) -> Verdict {
        let decimals = published.split_once('.').map_or(0, |(_, part)| part.len()) as i32;
        let printed: f64 = published.parse().expect("a published number");
        // Half a unit of the last printed digit, and a little for a tie.
        let unit = 10f64.powi(-decimals);
        if (computed - printed).abs() <= 0.5001 * unit { Verdict::Agrees } else { Verdict::Differs }
    }
}

/// The paper's allocation, by level and as a whole, with the noise it has and the noise that would do.
pub struct Study {
    /// As published.
    pub release: Release,
    /// Each level with the least noise that keeps its ε of Bun and Steinke at 10⁻¹¹.
    pub by_level: Release,
    /// All levels with the least common noise that keeps (21.97, 10⁻¹⁰).
    pub overall: Release,
    /// All tables.
    pub tables: Vec<Table>,
    /// All published numbers.
    pub claims: Vec<Claim>,
    /// The share of the variance that can go overall with both terms, and with the first alone.
    pub overall_reductions: (f64, f64),
    /// What depends on data.
    pub data: Data,
    /// The second paper, if it was asked for.
    pub paths: Option<Paths>,
}

// Where numbers stand.
const INTRODUCTION: &str = "Introduction";
const ACCURACY: &str = "Results, accuracy";
const OVERALL: &str = "Results, overall";

/// Why a residual may differ.
const RESIDUAL: &str = "One residual bound comes out smaller, evaluated as the paper describes; its own evaluation seems to have been coarser.";

/// The δ at which levels are calibrated in the paper.
pub const LEVEL_DELTA: &str = "1e-11";

impl Study {
    /// Computes everything.
    pub fn new(files: &Files<'_>, progress: &mut Progress) -> std::result::Result<Study, Failure> {
        let allocation = Allocation::preset("paper-2022-08-25")?;
        let release = Release::from(allocation.clone());
        let level_delta = Delta::parse(LEVEL_DELTA)?;
        let bun_steinke = Promise::Conversion(Conversion::BunSteinke);
        let by_level = allocation.calibrate(&bun_steinke, Scaling::Level, Some(&level_delta))?;
        let (epsilon, delta) = (Epsilon::parse(published::OVERALL.0)?, Delta::parse(published::OVERALL.1)?);
        let overall =
            allocation.calibrate(&Promise::Epsilon(epsilon.clone()), Scaling::Total, Some(&delta))?;
        let by_level = Release::from(by_level.allocation);
        let mut study = Study {
            data: Data::new(files, [&release, &by_level], progress)?,
            overall_reductions: (
                1.0 - overall.rows[0].factor.as_ref().expect("one factor").to_f64(),
                1.0 - one_term_scale(&release.main_path(&Scope::Total)?, &epsilon, &delta)?.to_f64(),
            ),
            release,
            by_level,
            overall: overall.allocation.into(),
            tables: vec![],
            claims: vec![],
            paths: None,
        };
        study.noise()?;
        study.epsilons()?;
        study.residuals()?;
        study.whole()?;
        study.simulations()?;
        study.summary();
        Ok(study)
    }

    /// What one level is made of.
    pub fn level(release: &Release, name: &str) -> Result<Composition> {
        release.main_path(&Scope::Level(name.into()))
    }

    /// σ² of a level: all its queries have the same.
    pub fn sigma2(release: &Release, name: &str) -> Result<Rational> {
        Ok(Study::level(release, name)?.groups()[0].mechanism.sigma2().clone())
    }

    fn claim(
        &mut self,
        what: String,
        place: &'static str,
        published: &str,
        computed: f64,
        why: &str,
    ) -> Verdict {
        let verdict = Verdict::of(published, computed);
        self.claims.push(Claim {
            what,
            place,
            published: published.into(),
            computed: format!("{computed:.6}"),
            verdict,
            why: if verdict == Verdict::Agrees { String::new() } else { why.into() },
        });
        verdict
    }

    /// Table 1, with the allocation it starts from.
    fn noise(&mut self) -> Result<()> {
        let mut rows = vec![];
        for level in &LEVELS {
            let (before, after) =
                (Study::sigma2(&self.release, level.name)?, Study::sigma2(&self.by_level, level.name)?);
            let total = self.release.allocations()[0].rho();
            let share = &Study::level(&self.release, level.name)?.rho() / &total;
            let reduction = 100.0 * (1.0 - (&after / &before).to_f64());
            let percent = (&share * &Rational::from(100)).to_f64();
            // What the study starts from, and so no claim; but it must be the same.
            debug_assert!(Verdict::of(level.share, percent) == Verdict::Agrees);
            let what = |quantity: &str| format!("{}: {quantity}", level.name);
            let place = "Table 1";
            let verdicts = [
                self.claim(what("σ²"), place, level.sigma2, before.to_f64(), ""),
                self.claim(what("σ² that would do"), place, level.reduced, after.to_f64(), ""),
                self.claim(what("reduction of σ², %"), place, level.reduction, reduction, ""),
            ];
            let all = verdicts.iter().all(|v| *v == Verdict::Agrees);
            rows.push(vec![
                level.name.into(),
                share.to_decimal_or_fraction(),
                level.sigma2.into(),
                before.to_decimal(9, Round::Up),
                level.reduced.into(),
                after.to_decimal(9, Round::Up),
                level.reduction.into(),
                down(reduction),
                if all { Verdict::Agrees } else { Verdict::Differs }.name().into(),
            ]);
        }
        self.tables.push(Table {
            id: "noise-by-level",
            title: "Noise by level, and the noise that would do (the paper’s Table 1)".into(),
            note: "σ² = n/(2aρ) with n = 10 queries, ρ = 3.65 and share a; add-remove neighbours. With the σ² that would do, ε at δ = 10⁻¹¹ \
                   is certified not to exceed what Bun and Steinke's conversion publishes for the level as it is; right below, certified to exceed it."
                .into(),
            heads: vec![
                "level",
                "share",
                "sigma2_published",
                "sigma2",
                "sigma2_enough_published",
                "sigma2_enough",
                "less_percent_published",
                "less_percent",
                "verdict",
            ],
            rows,
        });
        // The text calls 15.08 % the national figure.
        let us = Study::sigma2(&self.by_level, "US")? / Study::sigma2(&self.release, "US")?;
        let us_reduction = 100.0 * (1.0 - us.to_f64());
        self.claim("US: reduction of σ², %".into(), INTRODUCTION, "20.88", us_reduction, "");
        let state = Study::sigma2(&self.release, "State")?.to_f64();
        let cut = "The smallest variance is printed cut rather than rounded.";
        self.claim("smallest σ² of all levels".into(), "appendix", "4.99", state, cut);
        self.claim(
            "US: reduction of σ², as the text beside Table 1 has it, %".into(),
            ACCURACY,
            "15.08",
            100.0 * (1.0 - us.to_f64()),
            "A slip of the text: 15.08 % is State's, and the table is right.",
        );
        Ok(())
    }

    /// ε by level at two δ.
    fn epsilons(&mut self) -> Result<()> {
        let mut rows = vec![];
        let mut reductions = vec![];
        for text in [LEVEL_DELTA, "1e-5"] {
            let question = CertificateQuestion {
                delta: Some(Delta::parse(text)?),
                ..CertificateQuestion::about(Product::all_of(&self.release))
            };
            let certificate = question.answer()?;
            for line in certificate.lines.iter().filter(|line| matches!(line.scope, Scope::Level(_))) {
                let up = |x: &Magnitude| x.to_decimal(9, Round::Up);
                let bureau = line.bun_steinke.to_f64(Round::Up);
                let tight = line.tight.upper().to_f64();
                let reduction = 100.0 * (1.0 - tight / bureau);
                if text == LEVEL_DELTA {
                    reductions.push(reduction);
                }
                let printed = || EPSILONS.iter().filter(|e| e.level == line.label && e.delta == text);
                let mut verdicts = vec![];
                for at in printed() {
                    let what = |quantity: &str| format!("{} at δ = {text}: {quantity}", line.label);
                    let numbers = [
                        (at.bureau, "ε of the Bureau (Bun–Steinke)", bureau),
                        (at.tight, "ε, tight", tight),
                        (at.reduction, "reduction of ε, %", reduction),
                    ];
                    for (number, quantity, computed) in numbers {
                        let Some(number) = number else { continue };
                        verdicts.push(self.claim(what(quantity), at.place, number, computed, ""));
                    }
                }
                let show = |field: fn(&published::EpsilonAt) -> Option<&'static str>| {
                    printed().find_map(field).unwrap_or_default().to_string()
                };
                let verdict = match verdicts.iter().find(|v| **v != Verdict::Agrees) {
                    Some(worst) => worst.name(),
                    None if verdicts.is_empty() => "",
                    None => Verdict::Agrees.name(),
                };
                rows.push(vec![
                    line.label.clone(),
                    text.into(),
                    show(|p| p.bureau),
                    up(&line.bun_steinke),
                    up(&line.canonne_kamath_steinke),
                    show(|p| p.tight),
                    line.tight.at_most(9),
                    line.tight.at_least(9),
                    show(|p| p.reduction),
                    down(reduction),
                    verdict.into(),
                ]);
            }
        }
        let least = reductions.iter().copied().fold(f64::INFINITY, f64::min);
        let most = reductions.iter().copied().fold(0.0, f64::max);
        let why = "The introduction gives the range as 8.49 to 13.21 %, the section on levels as 8.50 to 13.76 % at δ = 10⁻¹¹; \
                   what is computed is the latter.";
        self.claim("least reduction of ε over the levels, %".into(), INTRODUCTION, "8.49", least, why);
        self.claim("greatest reduction of ε over the levels, %".into(), INTRODUCTION, "13.21", most, why);
        self.tables.push(Table {
            id: "epsilon-by-level",
            title: "ε by level at δ = 10⁻¹¹ and 10⁻⁵".into(),
            note: "The Bureau's accounting in the paper is Bun and Steinke's conversion; its signed certificates of the redistricting data used the tighter one of Canonne, \
                   Kamath and Steinke, so both are shown. Every ε is rounded up; the last column of the tight ones is rounded down."
                .into(),
            heads: vec![
                "level",
                "delta",
                "bureau_published",
                "bun_steinke",
                "canonne_kamath_steinke",
                "tight_published",
                "tight_upper",
                "tight_lower",
                "less_percent_published",
                "less_percent",
                "verdict",
            ],
            rows,
        });
        Ok(())
    }

    /// How far n equal mechanisms are from a Gaussian.
    fn residuals(&mut self) -> Result<()> {
        let mut rows = vec![];
        for (n, row) in RESIDUALS {
            for (sigma2, printed) in ["1", "5", "10", "16"].iter().zip(row.into_iter().chain(["≪ 1e-100"]))
            {
                let exactly: Rational = sigma2.parse()?;
                let bound = absolute_residual(&exactly, n)?;
                let difference = largest_difference(&exactly, n)?;
                // The table has one digit, rounded up as a bound must be.
                let agrees = match printed.parse::<f64>() {
                    Ok(_) => {
                        bound.to_decimal(1, Round::Up)
                            == printed.parse::<Rational>()?.to_decimal(1, Round::Up)
                    }
                    Err(_) => bound.log10(Round::Up) < -100.0,
                };
                let verdict = if agrees { Verdict::Agrees } else { Verdict::Differs };
                let digits = |log: f64| {
                    let whole = log.floor();
                    format!("{:.2}e{whole}", tenth_power(log - whole))
                };
                rows.push(vec![
                    n.to_string(),
                    (*sigma2).into(),
                    printed.into(),
                    bound.to_decimal(3, Round::Up),
                    digits(difference),
                    verdict.name().into(),
                ]);
                self.claims.push(Claim {
                    what: format!("residual bound, n = {n}, σ² = {sigma2}"),
                    place: "table of residuals",
                    published: printed.into(),
                    computed: bound.to_decimal(3, Round::Up),
                    verdict,
                    why: if agrees { String::new() } else { RESIDUAL.into() },
                });
            }
        }
        self.tables.push(Table {
            id: "residuals",
            title: "Residuals: how far n equal mechanisms are from a Gaussian (the paper’s Table 2)".into(),
            note: "The largest |P[ΣX = y] − φ(y/B)/B| over y, B² = nσ². The bound is the paper's, evaluated as it describes and rounded up; it agrees \
                   if it rounds up to the printed digit. The difference itself (evaluated from the exact formula, not certified) is what it bounds."
                .into(),
            heads: vec!["n", "sigma2", "bound_published", "bound", "difference", "verdict"],
            rows,
        });
        Ok(())
    }

    /// All eighty queries.
    fn whole(&mut self) -> Result<()> {
        let (epsilon, delta) = published::OVERALL;
        let total = self.release.main_path(&Scope::Total)?;
        let delta_exact = Delta::parse(delta)?;
        let rho = Rho::new(total.rho())?;
        let configured = Rho::parse("235225/64516")?;
        let tight = total.epsilon(&delta_exact)?;
        let (both, one) = self.overall_reductions;
        let one_term = one_term_epsilon(&total, &delta_exact)?;
        let bureau = configured.epsilon(Conversion::BunSteinke, &delta_exact);
        self.claim("whole release: ε of the Bureau at δ = 1e-10".into(), "appendix", epsilon, bureau, "");
        let why = format!(
            "The paper keeps the first of the two terms of δ, Q[L > ε] − exp(ε)·P[L > ε], since the second lies below what its arithmetic can resolve. The first \
             alone gives {:.4} %, as printed; with both, four tenths more of the noise can go.",
            100.0 * one
        );
        let what = "whole release: reduction of σ² at (21.97, 1e-10), %".into();
        self.claim(what, OVERALL, published::OVERALL_REDUCTION, 100.0 * both, &why);
        let verdict = |published: &str, computed: f64| Verdict::of(published, computed).name().to_string();
        let row = |what: &str, published: &str, computed: String, verdict: String| {
            vec![what.into(), published.into(), computed, verdict]
        };
        let up = |x: f64| Magnitude::from_f64(x).to_decimal(15, Round::Up);
        let down = |x: f64| Magnitude::from_f64(x).to_decimal(15, Round::Down);
        let at_configured = configured.epsilon(Conversion::BunSteinke, &delta_exact);
        let rows = vec![
            row(
                "ε by Bun–Steinke, ρ = 3.65 as the paper reads it",
                "",
                up(rho.epsilon(Conversion::BunSteinke, &delta_exact)),
                String::new(),
            ),
            row(
                "ε by Bun–Steinke, ρ = 235225/64516 as configured",
                epsilon,
                up(at_configured),
                verdict(epsilon, at_configured),
            ),
            row(
                "ε by Canonne–Kamath–Steinke, ρ = 3.65",
                "",
                up(rho.epsilon(Conversion::CanonneKamathSteinke, &delta_exact)),
                String::new(),
            ),
            row("ε with the first term of δ alone, as in the paper", "", up(one_term), String::new()),
            row("ε, tight: at most", "", up(tight.upper()), String::new()),
            row("ε, tight: at least", "", down(tight.lower()), String::new()),
            row(
                "less variance at (21.97, 1e-10), %, first term alone",
                published::OVERALL_REDUCTION,
                down(100.0 * one),
                verdict(published::OVERALL_REDUCTION, 100.0 * one),
            ),
            row(
                "less variance at (21.97, 1e-10), %, both terms",
                published::OVERALL_REDUCTION,
                down(100.0 * both),
                verdict(published::OVERALL_REDUCTION, 100.0 * both),
            ),
        ];
        self.tables.push(Table {
            id: "overall",
            title: "All eight levels together".into(),
            note: "Eighty queries at δ = 10⁻¹⁰; add-remove neighbours. The paper's value took 9.5 hours on 96 virtual processors for each ε."
                .into(),
            heads: vec!["quantity", "published", "computed", "verdict"],
            rows,
        });
        Ok(())
    }

    /// What the simulations are draws of.
    fn simulations(&mut self) -> Result<()> {
        let mut rows = vec![];
        let drawn = "A Monte-Carlo value. What is computed is the ratio of the expected errors, which does not depend on the data; tracts are taken to have the \
                     noise of Tract Subset.";
        for simulated in &SIMULATED {
            let before = Study::sigma2(&self.release, simulated.level)?;
            let after = Study::sigma2(&self.by_level, simulated.level)?;
            let (before, after) = (Law::new(&before)?.plain(), Law::new(&after)?.plain());
            let (mse, mae) = (100.0 * (1.0 - after.mse / before.mse), 100.0 * (1.0 - after.mae / before.mae));
            let what = |quantity: &str| format!("{}: reduction of {quantity}, %", simulated.geography);
            let place = ACCURACY;
            for (quantity, published, computed) in [("MSE", simulated.mse, mse), ("MAE", simulated.mae, mae)]
            {
                self.claims.push(Claim {
                    what: what(quantity),
                    place,
                    published: published.into(),
                    computed: format!("{computed:.6}"),
                    verdict: Verdict::Simulated,
                    why: drawn.into(),
                });
            }
            let found = self.data.level(simulated.level).map(|level| &level.all.cut);
            let cut = [
                ("MSE", simulated.mse_cut, found.map(|pair| 100.0 * pair.mse_reduction())),
                ("MAE", simulated.mae_cut, found.map(|pair| 100.0 * pair.mae_reduction())),
            ];
            for (quantity, published, computed) in cut {
                let (verdict, why) = self.data.counts.verdict(computed);
                self.claims.push(Claim {
                    what: what(&format!("{quantity} with counts cut at zero")),
                    place,
                    published: published.into(),
                    computed: computed
                        .filter(|_| verdict == Verdict::Simulated)
                        .map_or_else(String::new, |x| format!("{x:.6}")),
                    verdict,
                    why,
                });
            }
            rows.push(vec![
                simulated.geography.into(),
                simulated.level.into(),
                simulated.mse.into(),
                format!("{mse:.4}"),
                simulated.mae.into(),
                format!("{mae:.4}"),
                Verdict::Simulated.name().into(),
            ]);
        }
        let slope = self.data.slopes.iter().find(|(name, _)| name.starts_with("state"));
        let slope = slope.and_then(|(_, found)| found.plain.as_ref()).map(|reduction| reduction.percent.mean);
        let (verdict, why) = self.data.areas.verdict(slope);
        self.claims.push(Claim {
            what: "state: reduction of the distortion of the slope of earnings on education, %".into(),
            place: "Results, downstream",
            published: published::SLOPE.into(),
            computed: slope
                .filter(|_| verdict == Verdict::Simulated)
                .map_or_else(String::new, |x| format!("{x:.2}")),
            verdict,
            why: format!("The mean of three draws, which is little more than chance. {why}"),
        });
        self.tables.push(Table {
            id: "expected-error",
            title: "Expected error without cutting at zero".into(),
            note: "The expectations of the squared and absolute error of a count fall with the noise alone, whatever the data. The published values \
                   were simulated on Pennsylvania."
                .into(),
            heads: vec![
                "geography",
                "noise_of_level",
                "mse_less_percent_published",
                "mse_less_percent",
                "mae_less_percent_published",
                "mae_less_percent",
                "verdict",
            ],
            rows,
        });
        self.tables.push(data::cut_table(&self.data));
        self.tables.push(data::slope_table(&self.data));
        Ok(())
    }

    /// Every published number with its verdict.
    fn summary(&mut self) {
        let rows = self.claims.iter().map(|claim| {
            vec![
                claim.what.clone(),
                claim.place.into(),
                claim.published.clone(),
                claim.computed.clone(),
                claim.verdict.name().into(),
                claim.why.clone(),
            ]
        });
        let table = Table {
            id: "comparison",
            title: "Published numbers compared".into(),
            note: "A number agrees if what is computed rounds to every printed digit (up, for the bounds of residuals). \
                   Left out are bounds of intermediate errors in the appendix, which belong to the authors' method.".into(),
            heads: vec!["what", "where", "published", "computed", "verdict", "why"],
            rows: rows.collect(),
        };
        self.tables.insert(0, table);
    }
}

/// A reduction in percent to so many decimals, never more than it is.
pub fn rounded_down(percent: f64, decimals: usize) -> String {
    let unit = 10f64.powi(decimals as i32);
    format!("{:.decimals$}", (unit * percent).floor() / unit)
}

fn down(percent: f64) -> String {
    rounded_down(percent, 4)
}

/// The smallest common factor of six digits for which the first term of δ alone, Q[L > ε], is at most δ.
fn one_term_scale(composition: &Composition, epsilon: &Epsilon, delta: &Delta) -> Result<Rational> {
    let (mut low, mut high) = (500_000u64, 1_000_000u64);
    let factor = |millionths: u64| Rational::from(millionths) / Rational::from(1_000_000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let scaled = composition.with_sigma2(|_, sigma2| sigma2 * &factor(middle))?;
        let meets = scaled.q_tail(epsilon)?.upper() <= delta.value().to_bounds().lower();
        if meets { high = middle } else { low = middle }
    }
    Ok(factor(high))
}

/// ε at which the first term of δ alone is at most δ, to nine decimals.
pub fn one_term_epsilon(composition: &Composition, delta: &Delta) -> Result<f64> {
    let (mut low, mut high) = (0.0, 200.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        let at = Epsilon::new(Rational::from_f64("epsilon", middle)?)?;
        let meets = composition.q_tail(&at)?.upper() <= delta.value().to_bounds().lower();
        if meets { high = middle } else { low = middle }
    }
    Ok(high)
}

#[expect(clippy::disallowed_methods, reason = "three digits are printed")]
fn tenth_power(x: f64) -> f64 {
    10f64.powf(x)
}
