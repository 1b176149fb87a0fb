//! `unspent curve` and `unspent tradeoff`: whole curves, as numbers and as pictures.

use clap::{Args, ValueEnum};
use unspent::curve::{Point, Subject, TradeoffPoint};
use unspent::report::Figure;
use unspent::{
    Alpha, Conversion, Curve, Delta, Epsilon, Magnitude, Rational, Release, Rho, Round, Scope, TradeoffCurve,
};

use crate::Failure;
use crate::certificate::equals;
use crate::decimal;
use crate::grid::{self, Column, Grid};
use crate::output::{self, Target};
use crate::plot::{self, Axis, Panel, Role, Series};
use crate::source::{Selection, Source};

/// Where a curve goes.
#[derive(Args)]
struct Destination {
    /// Writes the numbers to a file; its extension says how
    #[arg(long, value_name = "FILE.csv|json|parquet")]
    out: Option<String>,

    /// Draws the curve
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<String>,

    /// Replaces files that exist
    #[arg(long)]
    force: bool,

    /// Writes JSON instead of CSV to stdout
    #[arg(long)]
    json: bool,
}

/// Files that may be written, checked.
struct Files {
    out: Option<Target>,
    plot: Option<Target>,
    json: bool,
}

impl Destination {
    fn check(&self) -> Result<Files, Failure> {
        let file = |flag, path: &Option<String>, extensions: &[&str]| {
            path.as_ref().map(|path| Target::new(flag, path, extensions, self.force)).transpose()
        };
        Ok(Files {
            out: file("--out", &self.out, &["csv", "json", "parquet"])?,
            plot: file("--plot", &self.plot, &["svg", "png"])?,
            json: self.json,
        })
    }
}

impl Files {
    /// Writes what was asked for: a file, a picture or, if neither, to stdout.
    fn write(
        &self,
        grid: &Grid,
        report: &impl serde::Serialize,
        subject: &Subject,
        figure: impl FnOnce() -> Result<plot::Figure, Failure>,
    ) -> Result<(), Failure> {
        let notes = [
            ("unspent.name", subject.name.clone()),
            ("unspent.scope", subject.scope.into()),
            ("unspent.part", subject.part.clone().unwrap_or_default()),
            ("unspent.neighbours", subject.neighbours.into()),
            ("unspent.version", env!("CARGO_PKG_VERSION").into()),
        ];
        let defect = |cause: String| Failure::other(cause, "please report the command line");
        // Everything is made before anything is written.
        let out = match &self.out {
            Some(file) => Some((
                file,
                match file.extension().as_str() {
                    "parquet" => grid.parquet(&notes).map_err(defect)?,
                    "json" => output::json(report).into_bytes(),
                    _ => grid.csv().into_bytes(),
                },
            )),
            None => None,
        };
        let picture = match &self.plot {
            Some(file) => Some((file, plot::bytes(&figure()?, &file.extension())?)),
            None => None,
        };
        if out.is_none() && (picture.is_none() || self.json) {
            output::print(&if self.json { output::json(report) } else { grid.csv() })?;
        }
        out.into_iter().chain(picture).try_for_each(|(file, bytes)| file.write(&bytes))
    }
}

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

/// Fewest points of a picture: chords of a coarser curve would show, below it.
const SMOOTH: usize = 201;

/// Cases from which on a picture in fast mode has fewer points.
const MANY: usize = 64;

/// The δ that is marked if the allocation states none.
const USUAL_DELTA: &str = "1e-10";

impl Arguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.destination.check()?;
        let points = grid::parse_points(&self.points)?;
        let release = self.source.release()?;
        let scope = self.selection.scope();
        let (from, to) = self.ends(&release, &scope)?;
        let curve = self.curve(&release, &scope, &from, &to, points)?;
        let grid = self.grid(&curve);
        files.write(&grid, &curve, &curve.subject, || {
            let smooth = if points < SMOOTH {
                self.curve(&release, &scope, &from, &to, SMOOTH)?
            } else {
                curve.clone()
            };
            Ok(picture(&smooth, self.over, release.delta()))
        })
    }

    fn ends(&self, release: &Release, scope: &Scope) -> Result<(Rational, Rational), Failure> {
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
            (None, Over::Epsilon) => beyond_published(release, scope)?,
        };
        ordered(from, to)
    }

    fn curve(
        &self,
        release: &Release,
        scope: &Scope,
        from: &Rational,
        to: &Rational,
        points: usize,
    ) -> unspent::Result<Curve> {
        match self.over {
            Over::Epsilon => {
                let grid = grid::linear(from, to, points).into_iter().map(Epsilon::new);
                Curve::over_epsilon(release, scope, &grid.collect::<unspent::Result<Vec<_>>>()?)
            }
            Over::Delta => {
                let grid = grid::logarithmic(from, to, points).into_iter().map(Delta::new);
                Curve::over_delta(release, scope, &grid.collect::<unspent::Result<Vec<_>>>()?)
            }
        }
    }

    fn grid(&self, curve: &Curve) -> Grid {
        let points = || curve.points.iter();
        let epsilon = || points().map(|p| &p.epsilon);
        let delta = || points().map(|p| &p.delta);
        let bun_steinke = points().map(|p| &p.bun_steinke);
        let cks = points().map(|p| &p.canonne_kamath_steinke);
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
        columns.extend(of(&curve.subject, curve.points.len()));
        Grid(columns)
    }
}

/// A little more than the ε that is published.
fn beyond_published(release: &Release, scope: &Scope) -> unspent::Result<Rational> {
    let usual = Delta::parse(USUAL_DELTA)?;
    let rho = Rho::new(release.worst_case(scope)?.rho()?.upper())?;
    let published = rho.epsilon(Conversion::BunSteinke, release.delta().unwrap_or(&usual));
    Magnitude::from_f64(1.05 * published).to_decimal(2, Round::Up).parse()
}

/// δ against ε as `unspent curve --plot` draws it; with another allocation beside it, if one is given.
pub fn curve_picture(
    release: &Release,
    scope: &Scope,
    other: Option<&Release>,
) -> unspent::Result<plot::Figure> {
    let mut to = beyond_published(release, scope)?;
    // What the other one does not have has no curve there.
    let other = other.filter(|other| other.moved(scope).is_ok());
    if let Some(other) = other {
        to = to.max(beyond_published(other, scope)?);
    }
    // Each point is asked of every case: with many of them, fewer points. −ln δ is curved by about 1/2ρ, as a Gaussian's,
    // so that chords are then below the curve by some 0.002 decades.
    let cases = release.worst_case(scope)?;
    let points = if cases.is_hasty() && cases.count() > MANY { SMOOTH.div_ceil(4) } else { SMOOTH };
    let grid = grid::linear(&Rational::from(0), &to, points).into_iter().map(Epsilon::new);
    let grid = grid.collect::<unspent::Result<Vec<_>>>()?;
    let mut figure = picture(&Curve::over_epsilon(release, scope, &grid)?, Over::Epsilon, release.delta());
    if let Some(other) = other {
        let guarantee = picture(&Curve::over_epsilon(other, scope, &grid)?, Over::Epsilon, None);
        beside(&mut figure, &guarantee);
    }
    Ok(figure)
}

/// The trade-off function as `unspent tradeoff --plot` draws it; with another allocation beside it, if one is given.
pub fn tradeoff_picture(
    release: &Release,
    scope: &Scope,
    other: Option<&Release>,
) -> unspent::Result<plot::Figure> {
    let rates = smooth_rates(&Rational::from(0), &Rational::from(1))?;
    let rates = rates.into_iter().map(Alpha::new).collect::<unspent::Result<Vec<_>>>()?;
    let mut figure = tradeoff(&TradeoffCurve::new(release, scope, &rates)?, false);
    if let Some(other) = other.filter(|other| other.moved(scope).is_ok()) {
        beside(&mut figure, &tradeoff(&TradeoffCurve::new(other, scope, &rates)?, false));
    }
    Ok(figure)
}

/// Adds the other's guarantee.
fn beside(figure: &mut plot::Figure, other: &plot::Figure) {
    let panel = &mut figure.panels[0];
    let guarantee = other.panels[0].series[0].data.clone();
    panel.series.insert(1, Series { label: "at the start".into(), role: Role::Alternative, data: guarantee });
    if let (Some((low, _)), Some((other, _))) = (&mut panel.y.range, other.panels[0].y.range) {
        *low = low.min(other);
    }
}

/// A curve as a picture.
fn picture(curve: &Curve, over: Over, stated: Option<&Delta>) -> plot::Figure {
    let upper = |figure: &Figure| figure.bounds().upper();
    let epsilon = |x: Magnitude| x.to_f64(Round::Up);
    let line = |pick: &dyn Fn(&Point) -> Magnitude| {
        let at = |p: &Point| match over {
            Over::Epsilon => (epsilon(upper(&p.epsilon)), pick(p).log10(Round::Up)),
            Over::Delta => (epsilon(pick(p)), p.log10_delta.upper.unwrap_or(f64::NEG_INFINITY)),
        };
        curve.points.iter().map(at).collect::<Vec<_>>()
    };
    let tight = |p: &Point| match over {
        Over::Epsilon => upper(&p.delta),
        Over::Delta => upper(&p.epsilon),
    };
    let guarantee: Vec<(f64, f64)> = line(&tight);
    let mut series = vec![
        Series::line("tight: the guarantee", Role::Guarantee, guarantee.clone()),
        Series::line(
            "Canonne–Kamath–Steinke, from ρ",
            Role::Baseline(0),
            line(&|p| p.canonne_kamath_steinke),
        ),
        Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(&|p| p.bun_steinke)),
    ];
    let lower = |p: &Point| p.log10_delta.lower.unwrap_or(f64::NEG_INFINITY);
    let wide = |p: &Point| p.log10_delta.upper.is_some_and(|upper| upper - lower(p) > VISIBLE);
    if over == Over::Epsilon && curve.points.iter().any(wide) {
        let slices = curve.points.iter().zip(&guarantee).map(|(p, (x, y))| (*x, lower(p), *y)).collect();
        series.insert(1, Series::band("the truth lies in here", Role::Guarantee, slices));
    }
    let (left, right) =
        guarantee.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.0), b.max(p.0)));
    let floor = guarantee.iter().fold(0.0, |least: f64, p| least.min(p.1));
    let mut y = Axis::log10("δ");
    if floor.is_finite() {
        y = y.between(floor.floor().min(-1.0), 0.0);
    }
    if let Some(delta) = stated {
        let at = delta.value().to_bounds().log10().upper();
        let label = format!("δ = {}, as stated", power(delta));
        series.push(Series::line(label, Role::Reference, vec![(left, at), (right, at)]));
    }
    figure(&curve.subject, Panel { x: Axis::linear("ε").between(left, right), y, series, ..Panel::default() })
}

/// Decades that can be seen in print.
const VISIBLE: f64 = 0.02;

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
pub struct TradeoffArguments {
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
    destination: Destination,
}

impl TradeoffArguments {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.destination.check()?;
        let points = grid::parse_points(&self.points)?;
        let from = self.from.as_deref().unwrap_or(if self.log { "1e-6" } else { "0" });
        let (from, to) = (
            Alpha::parse(from).map_err(|e| e.at("--from"))?.value().clone(),
            Alpha::parse(&self.to).map_err(|e| e.at("--to"))?.value().clone(),
        );
        let (from, to) = ordered(from, to)?;
        if self.log && from == Rational::from(0) {
            return Err(Failure::usage(
                "--from: `0` has no logarithm",
                "with --log start above 0, at 1e-6 say",
            ));
        }
        let release = self.source.release()?;
        let scope = self.selection.scope();
        let curve = |rates: Vec<Rational>| {
            let rates = rates.into_iter().map(Alpha::new).collect::<unspent::Result<Vec<_>>>()?;
            TradeoffCurve::new(&release, &scope, &rates)
        };
        let answer = curve(if self.log {
            grid::logarithmic(&from, &to, points)
        } else {
            grid::linear(&from, &to, points)
        })?;
        let rows = || answer.points.iter();
        let mut columns = vec![
            Column::lower("alpha", rows().map(|p| Figure::Exact(p.alpha.clone())).collect::<Vec<_>>().iter()),
            Column::lower("misses_lower", rows().map(|p| &p.misses)),
            Column::upper("misses_upper", rows().map(|p| &p.misses)),
            Column::rounded("misses_bun_steinke", rows().map(|p| &p.bun_steinke), Round::Down),
            Column::rounded(
                "misses_canonne_kamath_steinke",
                rows().map(|p| &p.canonne_kamath_steinke),
                Round::Down,
            ),
        ];
        columns.extend(of(&answer.subject, answer.points.len()));
        files.write(&Grid(columns), &answer, &answer.subject, || {
            Ok(tradeoff(&curve(smooth_rates(&from, &to)?)?, self.log))
        })
    }
}

/// A trade-off function as a picture.
fn tradeoff(curve: &TradeoffCurve, log: bool) -> plot::Figure {
    let scaled = |x: Magnitude, round| if log { x.log10(round) } else { x.to_f64(round) };
    let line = |pick: &dyn Fn(&TradeoffPoint) -> Magnitude| {
        let at = |p: &TradeoffPoint| {
            (scaled(p.alpha.to_bounds().lower(), Round::Down), scaled(pick(p), Round::Down))
        };
        curve.points.iter().map(at).collect::<Vec<_>>()
    };
    let lower = |p: &TradeoffPoint| p.misses.bounds().lower();
    let one = Rational::from(1);
    let series = vec![
        Series::line("tight: the guarantee", Role::Guarantee, line(&lower)),
        Series::line(
            "Canonne–Kamath–Steinke, from ρ",
            Role::Baseline(0),
            line(&|p| p.canonne_kamath_steinke),
        ),
        Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(&|p| p.bun_steinke)),
        Series::line("guessing", Role::Reference, line(&|p| (&one - &p.alpha).to_bounds().lower())),
    ];
    let (x, y) = ("α, rate of false alarms", "rate of misses, at least");
    let panel = if log {
        // Both rates down to the same: the rest of the function is its mirror image.
        let least = curve.points.first().map_or(-6.0, |p| p.alpha.to_bounds().log10().lower());
        let y = Axis::log10(y).between(least, 0.0);
        Panel { x: Axis::log10(x), y, series, ..Panel::default() }
    } else {
        Panel { x: Axis::linear(x), y: Axis::linear(y).between(0.0, 1.0), series, ..Panel::default() }
    };
    figure(&curve.subject, panel)
}

/// Rates dense at both ends. The function is convex, so that chords lie above it: they must not be seen to.
pub fn smooth_rates(from: &Rational, to: &Rational) -> unspent::Result<Vec<Rational>> {
    let one = Rational::from(1);
    let small = grid::logarithmic(&"1e-6".parse()?, &one, SMOOTH / 3);
    let mirrored = small.iter().map(|rate| &one - rate);
    let mut rates: Vec<Rational> = mirrored.chain(grid::linear(from, to, SMOOTH / 3)).collect();
    rates.extend(small);
    rates.retain(|rate| from <= rate && rate <= to);
    rates.sort();
    rates.dedup();
    Ok(rates)
}

fn ordered(from: Rational, to: Rational) -> Result<(Rational, Rational), Failure> {
    if from < to {
        return Ok((from, to));
    }
    Err(Failure::usage(
        format!(
            "--from: {} is not below --to, {}",
            decimal::brief(&from, Round::Down),
            decimal::brief(&to, Round::Down)
        ),
        "a grid goes up",
    ))
}

/// What every row says of its subject, so that no row can be mistaken for another's.
fn of(subject: &Subject, rows: usize) -> [Column; 3] {
    [
        Column::text("scope", subject.scope, rows),
        Column::text("name", subject.part.as_deref().unwrap_or_default(), rows),
        Column::text("neighbours", subject.neighbours, rows),
    ]
}

fn figure(subject: &Subject, panel: Panel) -> plot::Figure {
    let part = match subject.scope {
        "total" => "the whole release".into(),
        "level" => format!("level {} alone", subject.label),
        "attribute" => format!("attribute {}", subject.label),
        _ => subject.label.clone(),
    };
    let note = format!(
        "{} neighbours; {} per query; ρ{}. Each line is a valid bound at the computed points; only the tight one is all but exact.",
        subject.neighbours,
        if subject.moves == 1 { "one move" } else { "two moves" },
        equals(&subject.rho).replace(' ', "\u{a0}")
    );
    let mut note_letters = note.chars();
    let note: String =
        note_letters.next().into_iter().flat_map(char::to_uppercase).chain(note_letters).collect();
    plot::Figure {
        title: subject.name.clone(),
        subtitle: part,
        notes: vec![note],
        columns: 1,
        panels: vec![panel],
    }
}

/// `10⁻¹⁰`, or the number as it is.
fn power(delta: &Delta) -> String {
    let text = decimal::brief(delta.value(), Round::Up);
    match text.strip_prefix("1e-") {
        Some(exponent) => {
            let raised = |digit: char| {
                digit.to_digit(10).and_then(|d| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(d as usize)).unwrap_or(digit)
            };
            format!("10⁻{}", exponent.chars().map(raised).collect::<String>())
        }
        None => text,
    }
}
