//! `unspent curve`: δ against ε, or ε against δ, as numbers and as a picture.

use clap::{Args, ValueEnum};
use unspent::question::{CurveQuestion, Grid, Product};
use unspent::report::READABLE;
use unspent::report::columns::{Column, Columns};
use unspent::{Ask, Curve, Delta, Epsilon, Rational, Release, Round, Scope};
use unspent_explorer::grid;
use unspent_explorer::pictures::{self, SMOOTH};

use crate::Failure;
use crate::destination::{self, Destination};
use crate::source::{Selection, Source};
use crate::terms::TermsArguments;

/// The (epsilon, delta)-curve of a release, with the published conversions beside it.
///
/// Both ends of every delta are certified; the upper one is the guarantee. CSV goes to stdout unless
/// --out or --plot is given. The curve is over epsilon, from 0 to a little beyond what is published,
/// or over delta.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent curve dhc-persons-us-2020 --plot curve.svg
  unspent curve dhc-persons-us-2020 --level State --from 0 --to 15 --points 301 --out state.parquet
  unspent curve --product pl94-persons-us-2020 --product dhc-persons-us-2020 --over delta"
)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    selection: Selection,

    /// What the grid is of, epsilon or delta
    #[arg(long, value_enum, default_value_t = Over::Epsilon, hide_possible_values = true)]
    over: Over,

    /// First point (default 0, and 1e-20 over delta)
    #[arg(long, value_name = "E|D", allow_hyphen_values = true)]
    from: Option<String>,

    /// Last point (default: beyond the published, and 1e-2 over delta)
    #[arg(long, value_name = "E|D", allow_hyphen_values = true)]
    to: Option<String>,

    /// How many points
    #[arg(long, value_name = "N", default_value = "201", allow_hyphen_values = true)]
    points: String,

    #[command(flatten)]
    terms: TermsArguments,

    #[command(flatten)]
    destination: Destination,
}

/// What a grid is of.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Over {
    /// Evenly spaced epsilon
    Epsilon,
    /// Delta, evenly spaced in the logarithm
    Delta,
}

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.destination.check()?;
        let points = grid::parse_points(&self.points)?;
        let terms = self.terms.terms()?;
        let products = self.source.products()?;
        let release =
            Release::new(products.iter().map(Product::allocation).collect::<unspent::Result<_>>()?)?;
        let part = self.selection.scope();
        let (from, to) = self.ends(&release, &part)?;
        let ask = |points: usize| {
            let over = self.points(&from, &to, points)?;
            let question = CurveQuestion { release: products.clone(), part: part.clone(), over };
            Ok::<_, unspent::Error>((question.ask(&terms)?, question.over))
        };
        let (curve, over) = ask(points)?;
        files.write(&self.columns(&curve), &curve, &curve.subject, || {
            let (smooth, over) = if points < SMOOTH { ask(SMOOTH)? } else { (curve.clone(), over) };
            let at = |delta: &Delta| {
                let over = Grid::Delta(vec![delta.clone()]);
                CurveQuestion { release: products.clone(), part: part.clone(), over }.ask(&terms)
            };
            let exact = release.delta().map(at).transpose()?;
            let exact = exact.as_ref().and_then(|curve| curve.points.first()).map(|point| &point.epsilon);
            let stated = release.delta().map(|delta| (delta, exact));
            Ok(pictures::of_curve(&smooth, &over, stated, READABLE))
        })
    }

    fn ends(&self, release: &Release, part: &Scope) -> Result<(Rational, Rational), Failure> {
        let read = |field: &str, text: &Option<String>| {
            text.as_ref()
                .map(|text| match self.over {
                    Over::Epsilon => Epsilon::parse(text).map(|e| e.value().clone()),
                    Over::Delta => Delta::parse(text).map(|d| d.value().clone()),
                })
                .transpose()
                .map_err(|e| e.at(format!("--{field}")))
        };
        let number = |text: &str| text.parse::<Rational>();
        let from = match (read("from", &self.from)?, self.over) {
            (Some(from), _) => from,
            (None, Over::Epsilon) => Rational::from(0),
            (None, Over::Delta) => number("1e-20")?,
        };
        let to = match (read("to", &self.to)?, self.over) {
            (Some(to), _) => to,
            (None, Over::Delta) => number("1e-2")?,
            (None, Over::Epsilon) => pictures::beyond_published(release, part)?,
        };
        destination::ordered(from, to)
    }

    fn points(&self, from: &Rational, to: &Rational, points: usize) -> unspent::Result<Grid> {
        Ok(match self.over {
            Over::Epsilon => {
                let grid = grid::linear(from, to, points).into_iter().map(Epsilon::new);
                Grid::Epsilon(grid.collect::<unspent::Result<_>>()?)
            }
            Over::Delta => {
                let grid = grid::logarithmic(from, to, points).into_iter().map(Delta::new);
                Grid::Delta(grid.collect::<unspent::Result<_>>()?)
            }
        })
    }

    fn columns(&self, curve: &Curve) -> Columns {
        let points = || curve.points.iter();
        let epsilon = || points().map(|p| Some(&p.epsilon));
        let delta = || points().map(|p| Some(&p.delta));
        let bun_steinke = points().map(|p| Some(&p.bun_steinke));
        let cks = points().map(|p| Some(&p.canonne_kamath_steinke));
        let mut columns = match self.over {
            Over::Epsilon => vec![
                Column::upper("epsilon", epsilon()),
                Column::upper("delta_upper", delta()),
                Column::lower("delta_lower", delta()),
                Column::doubles("log10_delta_upper", points().map(|p| p.log10_delta.upper)),
                Column::doubles("log10_delta_lower", points().map(|p| p.log10_delta.lower)),
                Column::rounded("delta_bun_steinke", bun_steinke, Round::Up),
                Column::rounded("delta_canonne_kamath_steinke", cks, Round::Up),
            ],
            Over::Delta => vec![
                Column::upper("delta", delta()),
                Column::upper("epsilon_upper", epsilon()),
                Column::lower("epsilon_lower", epsilon()),
                Column::rounded("epsilon_bun_steinke", bun_steinke, Round::Up),
                Column::rounded("epsilon_canonne_kamath_steinke", cks, Round::Up),
            ],
        };
        columns.extend(destination::of(&curve.subject, curve.points.len()));
        Columns(columns)
    }
}
