//! The paper's figures, in its arrangement: what is drawn is described here and nowhere else.

use unspent::question::{CurveQuestion, Grid, Product, TradeoffQuestion};
use unspent::residual::against_gaussian;
use unspent::{
    Alpha, Ask, Composition, Conversion, Delta, DiscreteGaussian, Epsilon, Magnitude, Rational, Release,
    Result, Rho, Round, Scope,
};
use unspent_explorer::grid;
use unspent_explorer::pictures::smooth_rates;

use super::data;
use super::published::LEVELS;
use super::study::{LEVEL_DELTA, Study, rounded_down};
use crate::plot::{Axis, Bar, Figure, Interval, Panel, Role, Series};

/// A figure of the study.
pub struct StudyFigure {
    /// The name of its files.
    pub id: &'static str,
    /// Which of the paper's it is.
    pub number: &'static str,
    /// What is drawn.
    pub figure: Figure,
}

const TIGHT: &str = "tight, same noise";
const REDUCED: &str = "tight, reduced noise";
const CKS: &str = "Canonne–Kamath–Steinke, from ρ";
const BUN_STEINKE: &str = "Bun–Steinke, from ρ (the Bureau’s in the paper)";
/// Points of a curve.
const POINTS: usize = 161;

/// All of them; `progress` is told of each before it is computed.
pub fn all(study: &Study, progress: &mut dyn FnMut(&str)) -> Result<Vec<StudyFigure>> {
    type Draw = fn(&Study) -> Result<StudyFigure>;
    let list: [(&str, Draw); 14] = [
        ("curves by level", curves),
        ("epsilon by level", epsilons),
        ("trade-off functions by level", tradeoffs),
        ("curves with reduced noise", reduced_curves),
        ("errors by level", errors_by_level),
        ("the overall curve", overall),
        ("errors by race", errors_by_race),
        ("slopes", slopes),
        ("probabilities and their approximation", probabilities),
        ("the American Community Survey", survey),
        ("the overall trade-off function", overall_tradeoff),
        ("the trade-off function of County, near its end", zoomed_tradeoff),
        ("gain in epsilon", gain),
        ("gain in epsilon, in percent", gain_percent),
    ];
    list.into_iter()
        .map(|(name, draw)| {
            progress(name);
            draw(study)
        })
        .collect()
}

fn number(text: &str) -> Rational {
    text.parse().expect("a number")
}

fn errors_by_level(study: &Study) -> Result<StudyFigure> {
    Ok(StudyFigure { id: "errors-by-level", number: "Figure 6", figure: data::by_level(&study.data) })
}

fn errors_by_race(study: &Study) -> Result<StudyFigure> {
    Ok(StudyFigure { id: "errors-by-race", number: "Figure 8", figure: data::by_race(&study.data) })
}

fn slopes(study: &Study) -> Result<StudyFigure> {
    Ok(StudyFigure { id: "slopes", number: "Figure 9", figure: data::slopes(&study.data) })
}

/// A 2 × 4 figure, a panel a level.
fn by_level(
    id: &'static str,
    caption: &str,
    number: &'static str,
    subtitle: &str,
    panel: impl Fn(&str) -> Result<Panel>,
) -> Result<StudyFigure> {
    let panels = LEVELS.iter().map(|level| Ok(Panel { title: level.name.into(), ..panel(level.name)? }));
    let figure = Figure {
        title: caption.into(),
        subtitle: subtitle.into(),
        notes: vec![
            "2022-08-25 allocation as read by Su, Su and Wang; add-remove neighbours; each level by itself."
                .into(),
        ],
        columns: 4,
        panels: panels.collect::<Result<_>>()?,
    };
    Ok(StudyFigure { id, number, figure })
}

/// `(ε, log₁₀ δ)` of the tight guarantee and of both conversions, from 0 to `to`.
fn lines(release: &Release, scope: &Scope, to: &Rational) -> Result<[Vec<(f64, f64)>; 3]> {
    let grid = grid::linear(&Rational::from(0), to, POINTS).into_iter().map(Epsilon::new);
    let over = Grid::Epsilon(grid.collect::<Result<_>>()?);
    let curve = CurveQuestion { release: Product::all_of(release), part: scope.clone(), over }.answer()?;
    let line = |pick: fn(&unspent::report::curve::Point) -> f64| {
        curve.points.iter().map(|p| (p.epsilon.upper().to_f64(), pick(p))).collect()
    };
    Ok([
        line(|p| p.log10_delta.upper.unwrap_or(f64::NEG_INFINITY)),
        line(|p| p.canonne_kamath_steinke.log10(Round::Up)),
        line(|p| p.bun_steinke.log10(Round::Up)),
    ])
}

/// The same release accounted for three times: tight, and by both conversions.
fn accountings<T>(series: fn(&'static str, Role, T) -> Series, data: [T; 3]) -> Vec<Series> {
    let [tight, cks, bun_steinke] = data;
    vec![
        series(TIGHT, Role::Guarantee, tight),
        series(CKS, Role::Baseline(0), cks),
        series(BUN_STEINKE, Role::Baseline(1), bun_steinke),
    ]
}

/// A little beyond the Bureau's ε at a δ.
fn beyond(release: &Release, scope: &Scope, delta: &str) -> Result<Rational> {
    let rho = Rho::new(release.worst_case(scope)?.rho()?.upper())?;
    let epsilon = rho.epsilon(Conversion::BunSteinke, &Delta::parse(delta)?);
    Ok(number(&Magnitude::from_f64(1.02 * epsilon).to_decimal(2, Round::Up)))
}

fn level(name: &str) -> Scope {
    Scope::Level(name.into())
}

fn curves(study: &Study) -> Result<StudyFigure> {
    let subtitle = "δ against ε, each level on its own scale of ε; lower is more private";
    by_level("curves-by-level", "(ε, δ)-curves of the eight levels", "Figure 2", subtitle, |name| {
        let to = beyond(&study.release, &level(name), "1e-12")?;
        let lines = lines(&study.release, &level(name), &to)?;
        Ok(Panel {
            x: Axis::linear("ε").between(0.0, to.to_f64()),
            y: Axis::log10("δ").between(-12.0, 0.0),
            series: accountings(Series::line, lines),
            ..Panel::default()
        })
    })
}

fn epsilons(study: &Study) -> Result<StudyFigure> {
    let panel = |text: &str, title: &str| {
        let delta = Delta::parse(text)?;
        let mut bars: [Vec<Bar>; 3] = Default::default();
        for level in &LEVELS {
            let composition = Study::level(&study.release, level.name)?;
            let rho = Rho::new(composition.rho()?)?;
            let values = [
                composition.epsilon(&delta)?.upper(),
                rho.epsilon(Conversion::CanonneKamathSteinke, &delta),
                rho.epsilon(Conversion::BunSteinke, &delta),
            ];
            for (bars, value) in bars.iter_mut().zip(values) {
                // To two decimals, up.
                bars.push(Bar { value, label: format!("{:.2}", (100.0 * value).ceil() / 100.0) });
            }
        }
        Ok::<_, unspent::Error>(Panel {
            title: title.into(),
            x: Axis::linear("ε"),
            categories: LEVELS.iter().map(|level| level.name.into()).collect(),
            series: accountings(Series::bars, bars),
            ..Panel::default()
        })
    };
    let caption = "ε by level at two values of δ";
    Ok(StudyFigure {
        id: "epsilon-by-level",
        number: "Figure 3",
        figure: Figure {
            title: caption.into(),
            subtitle: "shorter is more private".into(),
            notes: vec![
                "Each ε is rounded up, so that 2.80 here is 2.79 in the paper. Add-remove \
                         neighbours; each level by itself."
                    .into(),
            ],
            columns: 2,
            panels: vec![panel(LEVEL_DELTA, "δ = 10⁻¹¹")?, panel("1e-5", "δ = 10⁻⁵")?],
        },
    })
}

/// Misses against false alarms, tight and by Bun and Steinke's conversion.
fn tradeoff(release: &Release, scope: &Scope, rates: &[Alpha]) -> Result<[Vec<(f64, f64)>; 2]> {
    let curve =
        TradeoffQuestion { release: Product::all_of(release), part: scope.clone(), rates: rates.to_vec() }
            .answer()?;
    let line = |pick: fn(&unspent::report::curve::TradeoffPoint) -> Magnitude| {
        let at = |p: &unspent::report::curve::TradeoffPoint| {
            (p.alpha.to_bounds().lower().to_f64(Round::Down), pick(p).to_f64(Round::Down))
        };
        curve.points.iter().map(at).collect()
    };
    Ok([line(|p| p.misses.bounds().lower()), line(|p| p.bun_steinke)])
}

/// The three trade-off functions of a figure, and guessing.
fn tradeoff_panel(same: &Release, reduced: &Release, scope: &Scope) -> Result<Panel> {
    let rates = smooth_rates(&Rational::from(0), &Rational::from(1))?;
    let rates = rates.into_iter().map(Alpha::new).collect::<Result<Vec<_>>>()?;
    let [tight, bun_steinke] = tradeoff(same, scope, &rates)?;
    let [less, _] = tradeoff(reduced, scope, &rates)?;
    let axis = |label| Axis::linear(label).between(0.0, 1.0);
    Ok(Panel {
        x: axis("α, rate of false alarms"),
        y: axis("rate of misses, at least"),
        series: vec![
            Series::line(TIGHT, Role::Guarantee, tight),
            Series::line(REDUCED, Role::Alternative, less),
            Series::line(BUN_STEINKE, Role::Baseline(1), bun_steinke),
            Series::line("guessing", Role::Reference, vec![(0.0, 1.0), (1.0, 0.0)]),
        ],
        ..Panel::default()
    })
}

fn tradeoffs(study: &Study) -> Result<StudyFigure> {
    let subtitle = "how often the best attacker misses; higher is more private";
    by_level("tradeoff-by-level", "Trade-off functions of the eight levels", "Figure 4", subtitle, |name| {
        tradeoff_panel(&study.release, &study.by_level, &level(name))
    })
}

fn reduced_curves(study: &Study) -> Result<StudyFigure> {
    let subtitle = "with the noise of Table 1, the tight curve meets Bun and Steinke’s at δ = 10⁻¹¹ (around \
                    it State’s ripples with its losses)";
    by_level("curves-reduced-noise", "(ε, δ)-curves with reduced noise", "Figure 5", subtitle, |name| {
        let to = beyond(&study.release, &level(name), "1e-14")?;
        let [reduced, _, _] = lines(&study.by_level, &level(name), &to)?;
        let [_, _, bun_steinke] = lines(&study.release, &level(name), &to)?;
        Ok(Panel {
            x: Axis::linear("ε").between(0.0, to.to_f64()),
            y: Axis::log10("δ").between(-14.0, 0.0),
            series: vec![
                Series::line(REDUCED, Role::Alternative, reduced),
                Series::line(BUN_STEINKE, Role::Baseline(1), bun_steinke),
                Series::line("δ = 10⁻¹¹", Role::Reference, vec![(0.0, -11.0), (to.to_f64(), -11.0)]),
            ],
            ..Panel::default()
        })
    })
}

fn overall(study: &Study) -> Result<StudyFigure> {
    let to = number("25");
    let [tight, cks, bun_steinke] = lines(&study.release, &Scope::Total, &to)?;
    let [reduced, _, _] = lines(&study.overall, &Scope::Total, &to)?;
    let total = study.release.main_path(&Scope::Total)?;
    let one_term = grid::linear(&Rational::from(0), &to, POINTS)
        .into_iter()
        .map(|epsilon| {
            let x = epsilon.to_f64();
            Ok((x, total.q_tail(&Epsilon::new(epsilon)?)?.upper().log10(Round::Up)))
        })
        .collect::<Result<Vec<_>>>()?;
    let caption = "All eight levels together";
    let less = rounded_down(100.0 * study.overall_reductions.0, 3);
    Ok(StudyFigure {
        id: "overall-curve",
        number: "Figure 7",
        figure: Figure {
            title: caption.into(),
            subtitle: "δ against ε for all eighty queries; lower is more private".into(),
            notes: vec![format!(
                "Reduced noise has {less} % less variance and meets (21.97, 10⁻¹⁰). The first term alone is \
                 what the paper could compute. Add-remove neighbours."
            )],
            columns: 1,
            panels: vec![Panel {
                x: Axis::linear("ε").between(0.0, to.to_f64()),
                y: Axis::log10("δ").between(-14.0, 0.0),
                series: vec![
                    Series::line(TIGHT, Role::Guarantee, tight),
                    Series::line(REDUCED, Role::Alternative, reduced),
                    Series::line(CKS, Role::Baseline(0), cks),
                    Series::line(BUN_STEINKE, Role::Baseline(1), bun_steinke),
                    Series::line("first term of δ alone, same noise", Role::Baseline(2), one_term),
                ],
                ..Panel::default()
            }],
        },
    })
}

fn probabilities(_: &Study) -> Result<StudyFigure> {
    let panel = |sigma2: &str, reach: u64| {
        let law = against_gaussian(&number(sigma2), 2, reach)?;
        let exact = |(y, p, _): &(i64, f64, f64)| Interval { at: *y as f64, low: *p, value: *p, high: *p };
        Ok::<_, unspent::Error>(Panel {
            title: format!("n = 2, σ² = {sigma2}"),
            x: Axis::linear("y"),
            y: Axis::linear("probability"),
            series: vec![
                Series::line(
                    "φ(y/B)/B",
                    Role::Baseline(0),
                    law.iter().map(|(y, _, g)| (*y as f64, *g)).collect(),
                ),
                Series::points("P[X + X′ = y]", Role::Guarantee, law.iter().map(exact).collect()),
            ],
            ..Panel::default()
        })
    };
    let caption = "The law of a sum and its approximation";
    Ok(StudyFigure {
        id: "pmf",
        number: "supplement",
        figure: Figure {
            title: caption.into(),
            subtitle: "two discrete Gaussians, and the density of a Gaussian of the same variance".into(),
            notes: vec![
                "In double precision, to be looked at; the table of residuals has bounds of the \
                         difference, which is too small to be seen."
                    .into(),
            ],
            columns: 2,
            panels: vec![panel("5", 12)?, panel("25", 28)?],
        },
    })
}

fn survey(_: &Study) -> Result<StudyFigure> {
    let panel = |sigma2: &str| {
        let composition = Composition::new([(DiscreteGaussian::parse(sigma2, "1")?, 1890)])?;
        let rho = Rho::new(composition.rho()?)?;
        let to = rho.epsilon(Conversion::BunSteinke, &Delta::parse("1e-12")?);
        let to = number(&Magnitude::from_f64(to).to_decimal(2, Round::Up));
        let mut lines: [Vec<(f64, f64)>; 3] = Default::default();
        for epsilon in grid::linear(&Rational::from(0), &to, POINTS) {
            let x = epsilon.to_f64();
            let epsilon = Epsilon::new(epsilon)?;
            let values = [
                composition.delta(&epsilon)?.upper(),
                rho.delta_canonne_kamath_steinke(&epsilon),
                rho.delta_bun_steinke(&epsilon),
            ];
            for (line, value) in lines.iter_mut().zip(values) {
                line.push((x, value.log10(Round::Up)));
            }
        }
        Ok::<_, unspent::Error>(Panel {
            title: format!("σ² = {sigma2}"),
            x: Axis::linear("ε").between(0.0, to.to_f64()),
            y: Axis::log10("δ").between(-12.0, 0.0),
            series: accountings(Series::line, lines),
            ..Panel::default()
        })
    };
    let caption = "The American Community Survey, n = 1890";
    Ok(StudyFigure {
        id: "acs",
        number: "supplement",
        figure: Figure {
            title: caption.into(),
            subtitle: "1,890 queries with equal noise, each variance on its own scale of ε".into(),
            notes: vec!["The paper does not state σ²; these two are examples. One move per query.".into()],
            columns: 2,
            panels: vec![panel("500")?, panel("5000")?],
        },
    })
}

fn overall_tradeoff(study: &Study) -> Result<StudyFigure> {
    let caption = "Trade-off function of all eight levels together";
    let panel = tradeoff_panel(&study.release, &study.overall, &Scope::Total)?;
    let less = rounded_down(100.0 * study.overall_reductions.0, 3);
    Ok(StudyFigure {
        id: "overall-tradeoff",
        number: "supplement",
        figure: Figure {
            title: caption.into(),
            subtitle: "how often the best attacker misses; higher is more private".into(),
            notes: vec![format!("Reduced noise has {less} % less variance. Add-remove neighbours.")],
            columns: 1,
            panels: vec![panel],
        },
    })
}

fn zoomed_tradeoff(study: &Study) -> Result<StudyFigure> {
    let caption = "The trade-off function of County, near its end";
    let scope = level("County");
    let rates: Vec<Alpha> = grid::logarithmic(&number("1e-14"), &number("0.01"), 97)
        .into_iter()
        .map(Alpha::new)
        .collect::<Result<_>>()?;
    // Near the end misses are all but certain: what is left of 1 is what can be seen, and is an upper bound.
    let power = |release: &Release| {
        let composition = release.main_path(&scope)?;
        rates
            .iter()
            .map(|alpha| {
                let x = alpha.value().to_bounds().log10().lower();
                Ok((x, composition.power(alpha)?.upper().log10(Round::Up)))
            })
            .collect::<Result<Vec<_>>>()
    };
    let release = Product::all_of(&study.release);
    let curve = TradeoffQuestion { release, part: scope.clone(), rates: rates.clone() }.answer()?;
    let bun_steinke = curve.points.iter().map(|p| {
        let rest = Magnitude::from_f64(1.0 - p.bun_steinke.to_f64(Round::Down));
        (p.alpha.to_bounds().log10().lower(), rest.log10(Round::Up))
    });
    let panel = Panel {
        x: Axis::log10("α, rate of false alarms"),
        y: Axis::log10("power: 1 − rate of misses, at most"),
        series: vec![
            Series::line(TIGHT, Role::Guarantee, power(&study.release)?),
            Series::line(REDUCED, Role::Alternative, power(&study.by_level)?),
            Series::line(BUN_STEINKE, Role::Baseline(1), bun_steinke.collect()),
        ],
        ..Panel::default()
    };
    Ok(StudyFigure {
        id: "county-tradeoff-zoom",
        number: "supplement",
        figure: Figure {
            title: caption.into(),
            subtitle: "what the best attacker gains at tiny rates of false alarms; lower is more private"
                .into(),
            notes: vec![
                "With reduced noise the attacker gains more than Bun and Steinke’s bound allows only where \
                 false alarms are rarer than one in some 6·10¹². Add-remove neighbours."
                    .into(),
            ],
            columns: 1,
            panels: vec![panel],
        },
    })
}

/// ε by Bun and Steinke less the tight one, against log₁₀ δ.
fn gains(study: &Study, name: &str, percent: bool) -> Result<Panel> {
    let grid = grid::logarithmic(&number("1e-15"), &number("0.1"), 57).into_iter().map(Delta::new);
    let over = Grid::Delta(grid.collect::<Result<_>>()?);
    let release = Product::all_of(&study.release);
    let curve = CurveQuestion { release, part: level(name), over }.answer()?;
    let line = |by: fn(&unspent::report::curve::Point) -> Magnitude| {
        let at = |p: &unspent::report::curve::Point| {
            let (bureau, ours) = (by(p).to_f64(Round::Up), p.epsilon.upper().to_f64());
            let gain = if percent { 100.0 * (bureau - ours) / bureau } else { bureau - ours };
            (p.log10_delta.upper.unwrap_or(f64::NAN), gain)
        };
        curve.points.iter().map(at).collect::<Vec<_>>()
    };
    let bureau = line(|p| p.bun_steinke);
    // From zero on: a gain is compared with none.
    let y = if percent {
        Axis::linear("gain in ε, %").between(0.0, 100.0)
    } else {
        Axis::linear("gain in ε").between(0.0, 1.05 * bureau.iter().fold(0.0, |most: f64, at| most.max(at.1)))
    };
    Ok(Panel {
        x: Axis::log10("δ"),
        y,
        series: vec![
            Series::line("over Bun–Steinke", Role::Baseline(1), bureau),
            Series::line(
                "over Canonne–Kamath–Steinke",
                Role::Baseline(0),
                line(|p| p.canonne_kamath_steinke),
            ),
        ],
        ..Panel::default()
    })
}

fn gain(study: &Study) -> Result<StudyFigure> {
    let subtitle = "how much smaller the tight ε is, each level on its own scale";
    by_level("gain", "Gain in ε against δ", "supplement", subtitle, |name| gains(study, name, false))
}

fn gain_percent(study: &Study) -> Result<StudyFigure> {
    let subtitle = "how much smaller the tight ε is, in percent of each conversion’s";
    by_level("gain-percent", "Gain in ε against δ, in percent", "supplement", subtitle, |name| {
        gains(study, name, true)
    })
}
