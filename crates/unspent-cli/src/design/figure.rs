//! Designs, drawn: how much of each margin is used, and epsilon against a margin and the guard's factor.

use unspent::report::nearest;
use unspent::{Rational, did_you_mean};
use unspent_estimate::design::{Design, Goal, Needs, Quantity, Rest};

use crate::Failure;
use crate::plot::{Axis, Bar, Figure, Interval, Panel, Role, Series};

/// What a margin is multiplied with, in hundredths.
const FACTORS: [u64; 11] = [50, 60, 70, 80, 90, 100, 115, 130, 150, 175, 200];
/// Factors of a guard, in hundredths, besides its own.
const GUARDS: [u64; 9] = [100, 105, 110, 125, 150, 175, 200, 250, 300];

/// How far an axis goes beyond its bars.
const ROOM: f64 = 1.4;

/// Most needs beside which a curve is drawn.
const BESIDE: usize = 8;

/// The slack of all needs, and epsilon against what could be asked instead.
pub fn of(needs: &Needs, design: &Design, varied: Option<&str>) -> Result<Figure, Failure> {
    let mut panels = vec![slack(design)];
    // With a given epsilon there is nothing to be drawn against.
    if needs.goal == Goal::LeastEpsilon {
        panels.push(against_margin(needs, design, varied)?);
        panels.extend(against_guard(needs, design));
    }
    let mut notes = vec![
        "Margins are predicted for unbiased estimates. A need whose bar is well below 100 % is met by what \
         the others take."
            .to_string(),
    ];
    if panels.len() > 1 {
        notes.push(format!(
            "Every point is a design of its own, with its certified epsilon at delta = {}. The ring is the \
             one that was asked for.",
            needs.delta
        ));
    }
    Ok(Figure {
        title: "A budget from needs".into(),
        subtitle: design.allocation.name().into(),
        notes,
        // Beside a long list of needs a curve would be as high as the list.
        columns: if panels.len() > 1 && needs.needs.len() <= BESIDE { 2 } else { 1 },
        panels,
    })
}

/// The part of each margin that is used.
fn slack(design: &Design) -> Panel {
    let bars = design.needs.iter().map(|need| {
        let used = 100.0 * need.predicted / need.asked;
        Bar { value: used, label: if used.is_finite() { format!("{used:.1} %") } else { String::new() } }
    });
    let bars: Vec<Bar> = bars.collect();
    let most = bars.iter().map(|bar| bar.value).filter(|value| value.is_finite()).fold(100.0, f64::max);
    Panel {
        title: "margins that are used".into(),
        // With room for a label behind the longest bar.
        x: Axis::linear("predicted margin, % of the margin asked for").between(0.0, ROOM * most),
        categories: design.needs.iter().map(|need| need.name.clone()).collect(),
        series: vec![Series::bars("", Role::Guarantee, bars)],
        ..Panel::default()
    }
}

fn against_margin(needs: &Needs, design: &Design, varied: Option<&str>) -> Result<Panel, Failure> {
    let names = || needs.needs.iter().map(|need| need.name.as_str());
    let at = match varied {
        Some(name) => names().position(|known| known == name).ok_or_else(|| {
            let known: Vec<&str> = names().collect();
            let hint = did_you_mean(name, names(), "these are the needs of the file");
            Failure::usage(format!("--need: `{name}` is not one of {}", known.join(", ")), hint)
        })?,
        None => {
            let shares = design.needs.iter().map(|need| need.share).enumerate();
            shares.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
        }
    };
    let of = |hundredths: u64| {
        let mut other = needs.clone();
        let factor = &Rational::integer(hundredths) / &Rational::integer(100u64);
        match &mut other.needs[at].quantity {
            Quantity::Table { margin, .. }
            | Quantity::Count { margin, .. }
            | Quantity::Share { margin, .. } => {
                *margin = &*margin * &factor;
            }
        }
        epsilon(&other)
    };
    let points = FACTORS.map(|n| {
        let y = if n == 100 { design.epsilon.upper() } else { of(n) };
        (n as f64 / 100.0, y)
    });
    Ok(curve(
        format!("epsilon against one margin: {}", needs.needs[at].name),
        "margin, times the one asked for",
        &points,
        (1.0, design.epsilon.upper()),
    ))
}

fn against_guard(needs: &Needs, design: &Design) -> Option<Panel> {
    let Rest::Guard { than, times } = &needs.rest else { return None };
    let of = |times: Rational| {
        epsilon(&Needs { rest: Rest::Guard { than: than.clone(), times }, ..needs.clone() })
    };
    let mut points: Vec<(f64, f64)> = GUARDS
        .iter()
        .map(|n| (*n as f64 / 100.0, of(&Rational::integer(*n) / &Rational::integer(100u64))))
        .collect();
    let own = (times.to_f64(), design.epsilon.upper());
    points.retain(|(x, _)| *x != own.0);
    points.push(own);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(curve(
        format!("epsilon against the guard, now {} times", nearest(own.0, 4)),
        "standard deviations at most so many times as large",
        &points,
        own,
    ))
}

/// The certified epsilon of the design for other needs; a gap where there is none.
fn epsilon(needs: &Needs) -> f64 {
    needs.design(false).map_or(f64::NAN, |design| design.epsilon.upper())
}

fn curve(title: String, x: &str, points: &[(f64, f64)], own: (f64, f64)) -> Panel {
    let own = Interval { at: own.0, low: f64::NAN, value: own.1, high: f64::NAN };
    Panel {
        title,
        x: Axis::linear(x),
        y: Axis::linear("epsilon"),
        series: vec![
            Series::line("epsilon of the design", Role::Guarantee, points.to_vec()),
            Series::points("as asked", Role::Baseline(0), vec![own]),
        ],
        ..Panel::default()
    }
}
