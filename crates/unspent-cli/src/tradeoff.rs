//! `unspent tradeoff`: misses against false alarms, as numbers and as a picture.

use clap::Args;
use unspent::question::TradeoffQuestion;
use unspent::report::columns::{Column, Columns};
use unspent::{Alpha, Ask, Rational, Round};
use unspent_explorer::{grid, pictures};

use crate::Failure;
use crate::destination::{self, Destination};
use crate::source::{Selection, Source};
use crate::terms::TermsArguments;

/// The trade-off function of a release: how often the best attacker errs.
///
/// At a rate alpha of false alarms, the least rate of misses. Both ends are certified; the lower one
/// is the guarantee. CSV goes to stdout unless --out or --plot is given.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent tradeoff dhc-persons-us-2020 --level State --plot state.svg
  unspent tradeoff pl94-persons-us-2020 --attribute hispanic --log --from 1e-6 --out hispanic.csv"
)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    selection: Selection,

    /// Spaces the rates, and draws them, by their logarithm
    #[arg(long)]
    log: bool,

    /// First rate of false alarms (default 0, and 1e-6 with --log)
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    from: Option<String>,

    /// Last rate of false alarms
    #[arg(long, value_name = "A", default_value = "1", allow_hyphen_values = true)]
    to: String,

    /// How many points
    #[arg(long, value_name = "N", default_value = "201", allow_hyphen_values = true)]
    points: String,

    #[command(flatten)]
    terms: TermsArguments,

    #[command(flatten)]
    destination: Destination,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.destination.check()?;
        let points = grid::parse_points(&self.points)?;
        let from = self.from.as_deref().unwrap_or(if self.log { "1e-6" } else { "0" });
        let (from, to) = (
            Alpha::parse(from).map_err(|e| e.at("--from"))?.value().clone(),
            Alpha::parse(&self.to).map_err(|e| e.at("--to"))?.value().clone(),
        );
        let (from, to) = destination::ordered(from, to)?;
        if self.log && from == Rational::from(0) {
            return Err(Failure::usage(
                "--from: `0` has no logarithm",
                "with --log start above 0, at 1e-6 say",
            ));
        }
        let terms = self.terms.terms()?;
        let (release, part) = (self.source.products()?, self.selection.scope());
        let ask = |rates: Vec<Rational>| {
            let rates = rates.into_iter().map(Alpha::new).collect::<unspent::Result<_>>()?;
            TradeoffQuestion { release: release.clone(), part: part.clone(), rates }.ask(&terms)
        };
        let answer = ask(if self.log {
            grid::logarithmic(&from, &to, points)
        } else {
            grid::linear(&from, &to, points)
        })?;
        let rows = || answer.points.iter();
        let mut columns = vec![
            Column::cut("alpha", rows().map(|p| Some(&p.alpha)), Round::Down),
            Column::lower("misses_lower", rows().map(|p| Some(&p.misses))),
            Column::upper("misses_upper", rows().map(|p| Some(&p.misses))),
            Column::rounded("misses_bun_steinke", rows().map(|p| Some(&p.bun_steinke)), Round::Down),
            Column::rounded(
                "misses_canonne_kamath_steinke",
                rows().map(|p| Some(&p.canonne_kamath_steinke)),
                Round::Down,
            ),
        ];
        columns.extend(destination::of(&answer.subject, answer.points.len()));
        files.write(&Columns(columns), &answer, &answer.subject, || {
            let whole = !self.log && from == Rational::from(0) && to == Rational::from(1);
            if whole && let Some(rates) = pictures::rates_of_power(&ask)? {
                return Ok(pictures::of_power(&ask(rates)?));
            }
            Ok(pictures::of_tradeoff(&ask(pictures::smooth_rates(&from, &to)?)?, self.log))
        })
    }
}
