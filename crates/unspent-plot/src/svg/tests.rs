//! Pictures read back: nothing leaves the page, labels stay apart, all that is drawn can be read aloud.

use resvg::usvg::roxmltree::{Document, Node};

use super::{fingerprint, svg};
use crate::text::width;
use crate::{Axis, Bar, Figure, Interval, Panel, Role, Series};

fn curve(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..=50).map(|i| 0.5 * f64::from(i)).map(|x| (x, f(x))).collect()
}

fn delta_curve(rho: f64) -> Panel {
    let conversion = |x: f64| -(x - rho).max(0.0) * (x - rho).max(0.0) / (9.2 * rho);
    Panel {
        x: Axis::linear("ε"),
        y: Axis::log10("δ").between(-12.0, 0.0),
        series: vec![
            Series::line("guarantee (upper bound)", Role::Guarantee, curve(|x| conversion(x) - 1.0)),
            Series::band(
                "certified bracket",
                Role::Guarantee,
                curve(conversion).into_iter().map(|(x, y)| (x, y - 2.0, y - 1.0)).collect(),
            ),
            Series::line("Bun–Steinke <ρ & σ>", Role::Baseline(0), curve(conversion)),
        ],
        ..Panel::default()
    }
}

fn grid() -> Figure {
    let titles = ["United States", "State", "County", "Tract", "Optimized Block Group", "Block"];
    let panel = |i: usize| {
        let title = titles.get(i).map_or("Total population by voting age and county", |title| title);
        Panel { title: title.into(), ..delta_curve(0.3 * (i + 1) as f64) }
    };
    Figure {
        title: "Privacy by level".into(),
        subtitle: "alone".into(),
        notes: vec!["A source. ".repeat(30)],
        columns: 4,
        panels: (0..8).map(panel).collect(),
    }
}

fn bars() -> Figure {
    let names = ["United States", "Optimized Block Group", "American Indian Reservation and Trust Land"];
    let lengths = |k: f64| (1..4).map(|i| k * f64::from(i)).collect::<Vec<_>>();
    let bars = |k| lengths(k).into_iter().map(|v| Bar { value: v, label: format!("{v:.2}") }).collect();
    let points = |k| {
        let at = lengths(k).into_iter().enumerate();
        at.map(|(i, v)| Interval { at: i as f64, low: v - 0.5, value: v, high: v + 9.0 }).collect()
    };
    let panel = |range| Panel {
        x: Axis { range, ..Axis::linear("ε") },
        categories: names.map(String::from).to_vec(),
        series: vec![
            Series::bars("ours", Role::Guarantee, bars(1.0)),
            Series::bars("theirs", Role::Baseline(1), bars(-1.4)),
            Series::points("both", Role::Alternative, points(1.2)),
        ],
        ..Panel::default()
    };
    Figure { columns: 2, panels: vec![panel(None), panel(Some((-1.0, 3.0)))], ..Figure::default() }
}

fn wild() -> Figure {
    let nothing = Panel { x: Axis::linear("x").between(f64::NAN, 1.0), ..Panel::default() };
    let odd = [f64::NAN, f64::NEG_INFINITY, -1e300, 4.0, f64::INFINITY, 1e300, 0.0];
    let odd: Vec<(f64, f64)> = odd.iter().flat_map(|&x| odd.iter().map(move |&y| (x, y))).collect();
    let series = vec![
        Series::band("band", Role::Baseline(3), odd.iter().map(|&(x, y)| (x, y, x)).collect()),
        Series::line("line", Role::Baseline(2), odd.clone()),
        Series::bars(
            "bars",
            Role::Baseline(0),
            odd.iter().map(|p| Bar { value: p.0, label: "a".into() }).collect(),
        ),
        Series::points(
            "points",
            Role::Reference,
            odd.iter().map(|&(at, low)| Interval { at, low, value: at, high: low }).collect(),
        ),
    ];
    let free = Panel { series: series.clone(), ..Panel::default() };
    let bounded = Panel { y: Axis::log10("y").between(-4300.0, 0.0), series, ..Panel::default() };
    Figure { columns: 9, panels: vec![nothing, free, bounded], ..Figure::default() }
}

/// Left, top, right, bottom of a text, by the estimate of its width.
fn extent(node: Node) -> (f64, f64, f64, f64) {
    let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let (x, y, size) = (number("x"), number("y"), number("font-size"));
    let bold = node.attribute("font-weight").is_some();
    let mut length = 0.0;
    for part in node.descendants().filter(Node::is_text) {
        let size = part.parent().unwrap().attribute("font-size").map_or(size, |s| s.parse().unwrap());
        length += width(part.text().unwrap(), size, bold);
    }
    let start = match node.attribute("text-anchor").unwrap() {
        "start" => 0.0,
        "middle" => -0.5 * length,
        _ => -length,
    };
    let (up, down) = (0.75 * size, 0.22 * size);
    match node.attribute("transform") {
        Some(_) => (x - up, y - start - length, x + down, y - start),
        None => (x + start, y - up, x + start + length, y + down),
    }
}

fn texts<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name("text")).collect()
}

fn content(node: Node) -> String {
    node.descendants().filter(Node::is_text).filter_map(|part| part.text()).collect()
}

#[test]
fn nothing_leaves_the_page() {
    for figure in [grid(), bars(), wild(), Figure::default()] {
        let svg = svg(&figure);
        let document = Document::parse(&svg).expect("well-formed");
        let view = document.root_element().attribute("viewBox").unwrap();
        let page: Vec<f64> = view.split(' ').map(|n| n.parse().unwrap()).collect();
        let inside = |x: f64, y: f64| (0.0..=page[2]).contains(&x) && (0.0..=page[3]).contains(&y);
        for path in document.descendants().filter_map(|node| node.attribute("d")) {
            // Arcs give radii first; the points of all other commands are pairs.
            for point in path.split(['M', 'L', 'Z']).filter(|p| !p.is_empty() && !p.contains('A')) {
                let (x, y) = point.split_once(' ').unwrap();
                assert!(inside(x.parse().unwrap(), y.parse().unwrap()), "{path}");
            }
        }
        for rect in document.descendants().filter(|n| n.has_tag_name("rect") && n.has_attribute("x")) {
            let of = |name| rect.attribute(name).unwrap().parse::<f64>().unwrap();
            assert!(inside(of("x"), of("y")), "{rect:?}");
            assert!(inside(of("x") + of("width"), of("y") + of("height")), "{rect:?}");
        }
        for text in texts(&document) {
            let (left, top, right, bottom) = extent(text);
            assert!(inside(left, top) && inside(right, bottom), "{}", content(text));
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn labels_do_not_overlap() {
    let single = Figure { panels: vec![delta_curve(1.0)], ..grid() };
    let wide = |x: Axis| Panel { x, ..delta_curve(1.0) };
    let wide = vec![wide(Axis::log10("α").between(-3e4, 0.0)), wide(Axis::linear("n").between(-4e5, 4e5))];
    let narrow = Figure { columns: 4, panels: [wide.clone(), wide].concat(), ..Figure::default() };
    for figure in [grid(), bars(), single, narrow] {
        let svg = svg(&figure);
        let document = Document::parse(&svg).expect("well-formed");
        let texts = texts(&document);
        for (i, &a) in texts.iter().enumerate() {
            for &b in &texts[..i] {
                let (p, q) = (extent(a), extent(b));
                let apart = p.0 >= q.2 || q.0 >= p.2 || p.1 >= q.3 || q.1 >= p.3;
                assert!(apart, "{} and {}", content(a), content(b));
            }
        }
    }
}

#[test]
fn the_legend_has_each_label_once() {
    let svg = svg(&grid());
    let document = Document::parse(&svg).expect("well-formed");
    for label in ["guarantee (upper bound)", "certified bracket", "Bun–Steinke <ρ & σ>"] {
        assert_eq!(texts(&document).iter().filter(|&&text| content(text) == label).count(), 1, "{label}");
    }
    assert_eq!(texts(&document).iter().filter(|&&text| content(text) == "ε").count(), 4);
    assert_eq!(texts(&document).iter().filter(|&&text| content(text) == "δ").count(), 2);
}

#[test]
fn ticks_are_written_as_powers() {
    let svg = svg(&Figure { panels: vec![delta_curve(1.0)], ..Figure::default() });
    for label in ["−12</tspan>", "−2</tspan>", ">1</text>", ">25</text>"] {
        assert!(svg.contains(label), "{label}");
    }
}

#[test]
fn it_can_be_read_aloud() {
    let svg = svg(&grid());
    let document = Document::parse(&svg).expect("well-formed");
    let said = |tag: &str| document.descendants().find(|node| node.has_tag_name(tag)).map(content).unwrap();
    assert_eq!(document.root_element().attribute("role"), Some("img"));
    assert_eq!(said("title"), "Privacy by level");
    assert!(said("desc").contains("County: δ from 10^-12 to 10^0, against ε from 0 to 25. Shown: guarantee"));
}

#[test]
fn the_diagonal_is_one() {
    let diagonal = Series::line("no information", Role::Reference, vec![(0.0, 1.0), (1.0, 0.0)]);
    let panel =
        Panel { x: Axis::linear("α"), y: Axis::linear("f(α)"), series: vec![diagonal], ..Panel::default() };
    let svg = svg(&Figure { panels: vec![panel], ..Figure::default() });
    let document = Document::parse(&svg).expect("well-formed");
    let clip = document.descendants().find(|node| node.has_tag_name("clipPath")).unwrap();
    let area = clip.first_element_child().unwrap();
    assert_eq!(area.attribute("width"), area.attribute("height"));
}

#[test]
fn ids_differ_between_figures() {
    assert_eq!(fingerprint(&grid()), fingerprint(&grid()));
    assert_ne!(fingerprint(&grid()), fingerprint(&bars()));
}

#[test]
fn points_without_intervals_are_on_one_line() {
    let points = |x: f64, high: f64| vec![Interval { at: 1.0, low: f64::NAN, value: x, high }];
    let figure = |high: f64| {
        let series = vec![
            Series::points("noise", Role::Baseline(0), points(2.0, high)),
            Series::points("estimate", Role::Guarantee, points(1.0, high)),
        ];
        let panel = Panel {
            x: Axis::linear("sd"),
            categories: vec!["race".into(), "age".into()],
            series,
            ..Panel::default()
        };
        svg(&Figure { panels: vec![panel], ..Figure::default() })
    };
    // The heights of the markers in the panel; those of the legend are the last two.
    let heights = |svg: &str| -> Vec<String> {
        let document = Document::parse(svg).unwrap();
        let paths = document.descendants().filter_map(|node| node.attribute("d"));
        // A circle begins at its left end: M4.00 7.00A5 …
        let circles = paths.filter_map(|path| path.split_once('A'));
        circles.map(|(start, _)| start.split_once(' ').unwrap().1.to_string()).collect()
    };
    let bare = heights(&figure(f64::NAN));
    assert_eq!((bare.len(), &bare[0]), (4, &bare[1]));
    let beside = heights(&figure(3.0));
    assert_ne!(beside[0], beside[1]);
}
