//! Reports as pictures: curves, trade-off functions and noise, described as data.

use std::collections::HashMap;

use unspent::allocation::Measurement;
use unspent::question::{CurveQuestion, Grid, TradeoffQuestion};
use unspent::report::curve::{Point, Subject, TradeoffPoint};
use unspent::report::{READABLE, brief, nearest};
use unspent::{
    Allocation, Alpha, Ask, Conversion, Curve, Delta, Effort, Epsilon, Error, Magnitude, Number, Rational,
    Release, Result, Rho, Round, Scope, Terms, TradeoffCurve,
};
use unspent_plot::{Axis, Bar, Figure, Interval, Panel, Role, Series, comparable};

use crate::grid;

/// Fewest points of a picture: chords of a coarser curve would show, below it.
pub const SMOOTH: usize = 201;

/// Cases from which on a picture in fast mode has fewer points.
const MANY: usize = 64;

/// The δ that is marked if the allocation states none.
const USUAL_DELTA: &str = "1e-10";

/// A little more than the ε that is published; or, where ρ says little of some mechanism, than the exact one.
pub fn beyond_published(release: &Release, part: &Scope) -> Result<Rational> {
    let usual = Delta::parse(USUAL_DELTA)?;
    let delta = release.delta().unwrap_or(&usual);
    let cases = release.worst_case_with(part, Effort::Fast)?;
    let published = Rho::new(cases.rho()?.upper())?.epsilon(Conversion::BunSteinke, delta);
    let is_gaussian = |a: &Allocation| a.is_gaussian() && a.also().is_empty();
    let to = if release.allocations().iter().all(is_gaussian) {
        1.05 * published
    } else {
        published.min(2.0 * cases.epsilon(delta)?.upper()).mul_add(1.05, 0.01)
    };
    Magnitude::from_f64(to).to_decimal(2, Round::Up).parse()
}

/// δ against ε as `unspent curve --plot` draws it; with another allocation beside it, if one is given.
pub fn curve_picture(
    allocation: &Allocation,
    part: &Scope,
    other: Option<&Allocation>,
    terms: &Terms,
) -> Result<Figure> {
    let release = Release::from(allocation.clone());
    let mut to = beyond_published(&release, part)?;
    // What the other one does not have has no curve there.
    let other = other.filter(|other| Release::from((*other).clone()).moved(part).is_ok());
    if let Some(other) = other {
        to = to.max(beyond_published(&Release::from(other.clone()), part)?);
    }
    // Each point is asked of every case: with many of them, fewer points. −ln δ is curved by about 1/2ρ, as a
    // Gaussian's, so that chords are then below the curve by some 0.002 decades.
    let is_many = terms.effort == Effort::Fast && release.worst_case(part)?.count() > MANY;
    let points = if is_many { SMOOTH.div_ceil(4) } else { SMOOTH };
    let grid = grid::linear(&Rational::from(0), &to, points).into_iter().map(Epsilon::new);
    let grid = Grid::Epsilon(grid.collect::<Result<_>>()?);
    let curve = |allocation: &Allocation| {
        let release = vec![allocation.clone().into()];
        CurveQuestion { release, part: part.clone(), over: grid.clone() }.ask(terms)
    };
    let at = |delta: &Delta| {
        let release = vec![allocation.clone().into()];
        CurveQuestion { release, part: part.clone(), over: Grid::Delta(vec![delta.clone()]) }.ask(terms)
    };
    let exact = release.delta().map(at).transpose()?;
    let exact = exact.as_ref().and_then(|curve| curve.points.first()).map(|point| &point.epsilon);
    // A bound that was found fast does not have all the digits of the certificate.
    let digits = if terms.effort == Effort::Fast { FAST_DIGITS } else { READABLE };
    let stated = release.delta().map(|delta| (delta, exact));
    let mut figure = of_curve(&curve(allocation)?, &grid, stated, digits);
    if let Some(other) = other {
        beside(&mut figure, &of_curve(&curve(other)?, &grid, None, digits));
    }
    if let (Some(delta), Some((low, _))) = (release.delta(), &mut figure.panels[0].y.range) {
        let decades = delta.value().to_bounds().log10().lower();
        *low = low.max((DEPTH * decades).floor().min(-1.0));
    }
    Ok(figure)
}

/// How many times the decades of the stated δ a picture goes down at most: where one of two allocations is
/// much the stronger, the other would be a line along the top.
const DEPTH: f64 = 2.0;

/// Digits of an ε in fast mode that those of the certificate bear out.
const FAST_DIGITS: u32 = 6;

/// The trade-off function as `unspent tradeoff --plot` draws it; with another allocation beside it, if one is
/// given.
pub fn tradeoff_picture(
    allocation: &Allocation,
    part: &Scope,
    other: Option<&Allocation>,
    terms: &Terms,
) -> Result<Figure> {
    let rates = smooth_rates(&Rational::from(0), &Rational::from(1))?;
    let rates = rates.into_iter().map(Alpha::new).collect::<Result<Vec<_>>>()?;
    let tradeoff = |allocation: &Allocation| {
        let release = vec![allocation.clone().into()];
        let question = TradeoffQuestion { release, part: part.clone(), rates: rates.clone() };
        Ok::<_, Error>(of_tradeoff(&question.ask(terms)?, false))
    };
    let mut figure = tradeoff(allocation)?;
    if let Some(other) = other.filter(|other| Release::from((*other).clone()).moved(part).is_ok()) {
        match tradeoff(other) {
            Ok(other) => beside(&mut figure, &other),
            // It may have none, which is no reason to show neither.
            Err(error) if error.is_input() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(figure)
}

/// Adds the other's guarantee.
fn beside(figure: &mut Figure, other: &Figure) {
    let panel = &mut figure.panels[0];
    let guarantee = other.panels[0].series[0].data.clone();
    panel.series.insert(1, Series { label: "at the start".into(), role: Role::Alternative, data: guarantee });
    if let (Some((low, _)), Some((other, _))) = (&mut panel.y.range, other.panels[0].y.range) {
        *low = low.min(other);
    }
}

/// A curve as a picture.
///
/// `stated` is the δ that is promised, and the exact ε at it if that is to be marked, with so many `digits`.
pub fn of_curve(
    curve: &Curve,
    over: &Grid,
    stated: Option<(&Delta, Option<&Number>)>,
    digits: u32,
) -> Figure {
    let upper = |number: &Number| number.bounds().upper();
    let epsilon = |x: Magnitude| x.to_f64(Round::Up);
    let line = |pick: &dyn Fn(&Point) -> Magnitude| {
        let at = |p: &Point| match over {
            Grid::Epsilon(_) => (epsilon(upper(&p.epsilon)), pick(p).log10(Round::Up)),
            Grid::Delta(_) => (epsilon(pick(p)), p.log10_delta.upper.unwrap_or(f64::NEG_INFINITY)),
        };
        curve.points.iter().map(at).collect::<Vec<_>>()
    };
    let tight = |p: &Point| match over {
        Grid::Epsilon(_) => upper(&p.delta),
        Grid::Delta(_) => upper(&p.epsilon),
    };
    let guarantee: Vec<(f64, f64)> = line(&tight);
    let mut series = vec![
        Series::line("certified: the guarantee", Role::Guarantee, guarantee.clone()),
        Series::line(
            "Canonne–Kamath–Steinke, from ρ",
            Role::Baseline(0),
            line(&|p| p.canonne_kamath_steinke),
        ),
        Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(&|p| p.bun_steinke)),
    ];
    let lower = |p: &Point| p.log10_delta.lower.unwrap_or(f64::NEG_INFINITY);
    let wide = |p: &Point| p.log10_delta.upper.is_some_and(|upper| upper - lower(p) > VISIBLE);
    if matches!(over, Grid::Epsilon(_)) && curve.points.iter().any(wide) {
        let slices = curve.points.iter().zip(&guarantee).map(|(p, (x, y))| (*x, lower(p), *y)).collect();
        series.insert(1, Series::band("the exact value lies in here", Role::Guarantee, slices));
    }
    let (left, right) =
        guarantee.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.0), b.max(p.0)));
    let floor = guarantee.iter().fold(0.0, |least: f64, p| least.min(p.1));
    let mut y = Axis::log10("δ");
    if floor.is_finite() {
        y = y.between(floor.floor().min(-1.0), 0.0);
    }
    if let Some((delta, exact)) = stated {
        let at = delta.value().to_bounds().log10().upper();
        // What is not in the picture is not in its legend.
        if y.range.is_none_or(|(low, _)| low <= at) {
            let label = format!("δ = {}, as stated", power(delta));
            series.push(Series::line(label, Role::Reference, vec![(left, at), (right, at)]));
        }
        if let Some(exact) = exact {
            let mark = Interval { at: epsilon(upper(exact)), low: f64::NAN, value: at, high: f64::NAN };
            let label = format!("ε ≤ {}", exact.at_most(digits));
            series.push(Series::points(label, Role::Guarantee, vec![mark]));
        }
    }
    figure(&curve.subject, Panel { x: Axis::linear("ε").between(left, right), y, series, ..Panel::default() })
}

/// Decades that can be seen in print.
const VISIBLE: f64 = 0.02;

/// The lines of a picture of a trade-off function; `place` says where the least misses of a line go.
fn tradeoff_lines(
    curve: &TradeoffCurve,
    place: impl Fn(&TradeoffPoint, Magnitude) -> (f64, f64),
) -> Vec<Series> {
    let line = |misses: &dyn Fn(&TradeoffPoint) -> Magnitude| {
        curve.points.iter().map(|point| place(point, misses(point))).collect::<Vec<_>>()
    };
    let one = Rational::from(1);
    vec![
        Series::line("certified: the guarantee", Role::Guarantee, line(&|p| p.misses.bounds().lower())),
        Series::line(
            "Canonne–Kamath–Steinke, from ρ",
            Role::Baseline(0),
            line(&|p| p.canonne_kamath_steinke),
        ),
        Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(&|p| p.bun_steinke)),
        Series::line("guessing", Role::Reference, line(&|p| (&one - &p.alpha).to_bounds().lower())),
    ]
}

/// A trade-off function as a picture.
pub fn of_tradeoff(curve: &TradeoffCurve, log: bool) -> Figure {
    let scaled = |x: Magnitude, round| if log { x.log10(round) } else { x.to_f64(round) };
    let series = tradeoff_lines(curve, |point, misses| {
        (scaled(point.alpha.to_bounds().lower(), Round::Down), scaled(misses, Round::Down))
    });
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

/// Rates of false alarms of a function that a linear picture would show as a corner: dense where the power
/// grows, which is decades below 1. Nothing if it can be seen there.
pub fn rates_of_power(ask: &dyn Fn(Vec<Rational>) -> Result<TradeoffCurve>) -> Result<Option<Vec<Rational>>> {
    let misses = |decades: u32| -> Result<f64> {
        let found = ask(vec![format!("1e-{decades}").parse()?])?;
        Ok(found.points.first().map_or(0.0, |p| p.misses.bounds().lower().to_f64(Round::Down)))
    };
    if misses(1)? >= CORNER {
        return Ok(None);
    }
    let mut from = DECADES[0];
    for decades in DECADES {
        from = decades;
        if misses(decades)? >= NEARLY_ALL {
            break;
        }
    }
    Ok(Some(grid::logarithmic(&format!("1e-{from}").parse()?, &Rational::from(1), SMOOTH)))
}

/// Misses at one false alarm in ten below which a linear picture shows a corner.
const CORNER: f64 = 0.25;
/// Misses from which on there is no power to be seen.
const NEARLY_ALL: f64 = 0.98;
/// How far below 1 the power is looked for.
const DECADES: [u32; 10] = [2, 3, 4, 6, 8, 12, 16, 24, 40, 60];

/// A trade-off function as a picture of the power, 1 − f(α), against the logarithm of α.
pub fn of_power(curve: &TradeoffCurve) -> Figure {
    let series = tradeoff_lines(curve, |point, misses| {
        let power = (1.0 - misses.to_f64(Round::Down)).next_up().min(1.0);
        (point.alpha.to_bounds().log10().lower(), power)
    });
    let (x, y) = (Axis::log10("α, rate of false alarms"), Axis::linear("power: rate of hits, at most"));
    figure(&curve.subject, Panel { x, y: y.between(0.0, 1.0), series, ..Panel::default() })
}

/// Rates dense at both ends. The function is convex, so that chords lie above it: they must not be seen to.
pub fn smooth_rates(from: &Rational, to: &Rational) -> Result<Vec<Rational>> {
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

/// The noise of every query, a panel a level.
pub fn deviations(now: &Allocation, start: Option<&Allocation>) -> Figure {
    let before: HashMap<(&str, &str), &Measurement> = start
        .into_iter()
        .flat_map(Allocation::measurements)
        .map(|(level, query, m)| ((level.name.as_str(), query.name.as_str()), m))
        .collect();
    let bar = |measurement: Option<&Measurement>| match measurement {
        Some(m) => {
            let variance = m.noise.sigma2().map(Rational::to_f64).or_else(|| m.noise.variance());
            let value = variance.unwrap_or(f64::NAN).sqrt();
            Bar { value, label: nearest(value, 4) }
        }
        None => Bar { value: f64::NAN, label: String::new() },
    };
    let panels = now.levels().iter().map(|level| {
        let queries: Vec<String> =
            level.measurements.iter().map(|m| now.queries()[m.query].name.clone()).collect();
        let bars = level.measurements.iter().map(|m| bar(Some(m))).collect();
        let mut series = vec![Series::bars("now", Role::Guarantee, bars)];
        if start.is_some() {
            let bars = queries.iter().map(|query| bar(before.get(&(&level.name, query)).copied())).collect();
            series.push(Series::bars("at the start", Role::Alternative, bars));
        }
        Panel {
            title: level.name.clone(),
            x: Axis::linear("σ, standard deviation of the noise"),
            categories: queries,
            series,
            ..Panel::default()
        }
    });
    let is_bypassed = now.paths().len() > 1;
    comparable(Figure {
        title: "Noise by level and query".into(),
        subtitle: now.name().into(),
        notes: is_bypassed.then(|| unspent::report::BYPASSED.into()).into_iter().collect(),
        columns: 2,
        panels: panels.collect(),
    })
}

fn figure(subject: &Subject, panel: Panel) -> Figure {
    let part = match &subject.part {
        Scope::Total => "the whole release".into(),
        Scope::Level(name) => format!("level {name} alone"),
        Scope::Attribute(name) => format!("attribute {name}"),
        Scope::Keeping(_) | Scope::Within(_) => subject.label.clone(),
    };
    let note = format!(
        "{} neighbours; {} per query; ρ\u{a0}≤\u{a0}{}. Each line is a valid bound at the computed points.",
        subject.neighbours,
        if subject.moves == 1 { "one move" } else { "two moves" },
        subject.rho.at_most(READABLE)
    );
    let mut note_letters = note.chars();
    let note: String =
        note_letters.next().into_iter().flat_map(char::to_uppercase).chain(note_letters).collect();
    Figure { title: subject.name.clone(), subtitle: part, notes: vec![note], columns: 1, panels: vec![panel] }
}

/// `10⁻¹⁰`, or the number as it is.
fn power(delta: &Delta) -> String {
    let text = brief(delta.value(), Round::Up);
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
