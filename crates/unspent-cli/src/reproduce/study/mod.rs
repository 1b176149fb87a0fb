//! Every number of the paper that can be computed, beside what was printed.

mod errors;
mod levels;
mod overall;
mod residuals;

use unspent::{
    Allocation, Composition, Conversion, Delta, Epsilon, Promise, Rational, Release, Result, Scaling, Scope,
};

use super::data::{Data, Files};
use super::paths::Paths;
use super::published;
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
        let both = 1.0 - overall.rows[0].factor.as_ref().expect("one factor").to_f64();
        let first =
            1.0 - overall::one_term_scale(&release.main_path(&Scope::Total)?, &epsilon, &delta)?.to_f64();
        let mut study = Study {
            data: Data::new(files, [&release, &by_level], [first, both], progress)?,
            overall_reductions: (both, first),
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
        let level = Study::level(release, name)?;
        let noise = level.groups()[0].mechanism.sigma2();
        Ok(noise.expect("allocations have Gaussian noise").clone())
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
            note: "A number agrees if what is computed rounds to every printed digit (up, for the bounds of \
                   residuals). Left out are bounds of intermediate errors in the appendix, which belong to \
                   the authors' method."
                .into(),
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
