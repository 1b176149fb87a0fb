//! The report as one page that needs nothing else.

use std::fmt::Write;

use unspent_explorer::page as web;

use super::figures::StudyFigure;
use super::study::{Study, Table, Verdict, rounded_down};

type Section = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// What each section is called, what it says, and which tables and figures it shows.
const SECTIONS: [Section; 7] = [
    (
        "levels",
        "Each level by itself",
        "For each of the eight geographic levels the paper compares its accounting with the Bureau’s, as the \
         paper reads it: ten queries with equal noise, add-remove neighbours, and the conversion of Bun and \
         Steinke. Every curve below is certified: δ from above, the rate of misses from below. The bounds \
         from the other side lie within a part in 10⁹ and cannot be told apart on the page.",
        &["epsilon-by-level", "curves-by-level", "tradeoff-by-level"],
    ),
    (
        "noise",
        "Removable noise (variance that could be saved at the published ε)",
        "The published ε of each level can be kept with less noise. The table gives a variance for which \
         that ε at δ = 10⁻¹¹ is certified to be kept; right below it, it is certified not to be.",
        &["noise-by-level", "curves-reduced-noise"],
    ),
    (
        "overall",
        "All levels together",
        "Composing eighty queries with seven different variances took the authors 9.5 hours on 96 processors \
         for one point, and one of two terms had to be dropped. Written as one integral with one sign the \
         same δ takes microseconds, with both terms: the gain is four tenths larger than published.",
        &["overall", "overall-curve", "overall-tradeoff"],
    ),
    (
        "error",
        "What it does to counts",
        "Without further processing the expected error of a count depends on the noise alone. With counts \
         clamped at zero it depends on the data, and so does the regression of earnings on education; after \
         estimation it depends on which units there are. These parts are computed on made-up data unless \
         tables are given; each says what it is on.",
        &["expected-error", "errors-by-level", "cut-error", "estimate-error", "errors-by-race", "slopes"],
    ),
    (
        "published-tables",
        "What it is worth after post-processing",
        "The paper leaves open what less noise does to published tables. An agency does not publish noisy \
         answers: it makes whole tables of them, which are not negative and add up over all levels. Here \
         that is done again and again: with the paper’s noise, with what its 8.59 % leave of it, and with \
         what both terms allow. The errors of raw answers fall as the root of the variance. What remains of \
         that in whole tables is measured; it is a simulation, with its standard error, and no guarantee.",
        &["published-tables"],
    ),
    (
        "gaussian",
        "How good the Gaussian approximation is",
        "The paper’s method rests on the sum of n discrete Gaussians being nearly a Gaussian. Its table of \
         bounds, and what they bound.",
        &["residuals", "pmf", "acs"],
    ),
    (
        "more",
        "Further figures",
        "The rest of the supplement.",
        &["county-tradeoff-zoom", "gain", "gain-percent"],
    ),
];

/// The second paper, if it was asked for.
const PATHS: Section = (
    "paths",
    "Every path through the geography",
    "Where a unit was the only child of another, the production system did not measure it: its budget went \
     up, and the noise of a person’s measurements depends on the path from the nation to the block. The \
     authors’ second paper (Su, Su and Wang, A Sieve-Accelerated Quadrature Method for Exact Privacy \
     Accounting in the 2020 U.S. Decennial Census, arXiv 2606.29835) publishes the 43 paths of the DHC \
     persons file and δ for all 946 pairs between which a changed record can move. Here every point has \
     certified bounds beside it. Trade-off functions are computed here only: the authors’ points are not at \
     hand.",
    &[
        "paths-epsilon",
        "paths-sensitivity",
        "paths-published",
        "paths-accuracy",
        "paths-curve",
        "paths-tradeoff",
    ],
);

/// The whole page.
pub fn page(study: &Study, figures: &[(&StudyFigure, String)]) -> String {
    let count = |verdict| study.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let mut body = String::from("<div class=\"page\">\n<header>\n");
    let title = "Reproducing Su, Su and Wang (PNAS 2025)";
    let _ = write!(
        body,
        "<h1>{title}</h1>\n<p class=\"lead\">The tables and figures of “The 2020 US Decennial Census is more \
         private than you (might) think”, computed again from the exact fractions with certified bounds. Of \
         {} published numbers compared, {} agree, {} do not, {} are simulations of what is computed here, \
         and {} need data that are not here.</p>\n<p class=\"source\">Computed by unspent {}. Upper bounds \
         of ε and δ are guarantees: they are rounded up, and include every rounding error of the \
         computation.</p>\n</header>\n",
        study.claims.len(),
        count(Verdict::Agrees),
        count(Verdict::Differs),
        count(Verdict::Simulated),
        count(Verdict::NotComputed),
        env!("CARGO_PKG_VERSION"),
    );
    body += "<nav class=\"toc\" aria-label=\"Contents\"><h2>Contents</h2>\n<ol>\n<li><a href=\"#found\">What \
             was found</a></li>\n";
    let sections = || SECTIONS.into_iter().chain(study.paths.is_some().then_some(PATHS));
    for (id, name, _, _) in sections() {
        let _ = writeln!(body, "<li><a href=\"#{id}\">{name}</a></li>");
    }
    body += "<li><a href=\"#numbers\">Published numbers compared</a></li>\n</ol>\n</nav>\n<main>\n";
    found(&mut body, study);
    for (id, name, text, parts) in sections() {
        let _ = writeln!(body, "<section id=\"{id}\">\n<h2>{name}</h2>\n<p>{}</p>", marked(text));
        for part in parts {
            study.tables.iter().filter(|t| t.id == *part).for_each(|t| table(&mut body, t));
            figures.iter().filter(|(f, _)| f.id == *part).for_each(|(f, svg)| figure(&mut body, f, svg));
        }
        body += "</section>\n";
    }
    body += "<section id=\"numbers\">\n<h2>Published numbers compared</h2>\n";
    study.tables.iter().filter(|t| t.id == "comparison").for_each(|t| table(&mut body, t));
    body += "</section>\n</main>\n</div>";
    let style = [web::text("charts/charts.css"), web::text("report/report.css")].concat();
    let script = web::script("report/report.js");
    // One pass, so that what is filled in is not searched again.
    let mut page = String::new();
    let mut rest = web::text("report/page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a closed placeholder");
        page += before;
        page += match name {
            "title" => title,
            "style" => &style,
            "script" => &script,
            _ => &body,
        };
        rest = after;
    }
    page + rest
}

/// What was asked, what was found, and what differs and why.
fn found(body: &mut String, study: &Study) {
    let (both, _) = study.overall_reductions;
    let _ = write!(
        body,
        "<section id=\"found\">\n<h2>What was found</h2>\n<p>The question: how private were the noisy \
         measurements behind the 2020 Census really, and how much noise did the published ε need? The paper \
         answers it for the allocation of 2022-08-25, read as eight levels of ten equal \
         queries.</p>\n<ul>\n<li>Its table of noise by level, and its values of ε at single δ, are confirmed \
         to every printed digit.</li>\n<li>With both terms of δ, {} % of the variance could have been saved \
         at the published (21.97, 10<sup>−10</sup>), where the paper finds 8.59 % with one. (That ε is the \
         Bureau’s for ρ = 235225/64516; the noise is read as ρ = 3.65.)</li>\n",
        rounded_down(100.0 * both, 3),
    );
    // One sentence a reason, with all numbers it is the reason for.
    let mut reasons: Vec<(&str, Vec<String>)> = vec![];
    for claim in study.claims.iter().filter(|claim| claim.verdict == Verdict::Differs) {
        let numbers = format!("{}: {} published, {} computed", claim.what, claim.published, claim.computed);
        match reasons.iter_mut().find(|(why, _)| *why == claim.why) {
            Some((_, list)) => list.push(numbers),
            None => reasons.push((&claim.why, vec![numbers])),
        }
    }
    for (why, numbers) in reasons {
        let _ = writeln!(body, "<li>{} <small>({})</small></li>", marked(why), marked(&numbers.join("; ")));
    }
    if let Ok(tables) = &study.data.processed {
        let link = "<small>(<a href=\"#published-tables\">by level and query</a>)</small>";
        let _ = writeln!(body, "<li>{} {link}</li>", marked(&tables.sentence()));
    }
    if let Some(paths) = &study.paths {
        let _ = writeln!(
            body,
            "<li>Of the second paper: {} {} <small>(<a href=\"#paths\">every pair</a>, <a \
             href=\"tables/paths-points.csv\">every point as CSV</a>, <a \
             href=\"tables/paths-pairs.csv\">pairs as CSV</a>)</small></li>",
            marked(&paths.sentence()),
            marked(&paths.guarantee())
        );
    }
    *body += "</ul>\n</section>\n";
}

fn table(body: &mut String, table: &Table) {
    let id = table.id;
    let _ = write!(
        body,
        "<p class=\"caption\" id=\"table-{id}-caption\"><b>{}.</b> {} <a href=\"tables/{id}.csv\">Data as \
         CSV</a></p>\n<div class=\"wide\" role=\"region\" aria-labelledby=\"table-{id}-caption\" \
         tabindex=\"0\">\n<table id=\"table-{id}\">\n<thead><tr>",
        marked(&table.title),
        marked(&table.note)
    );
    let numeric: Vec<bool> = (0..table.heads.len())
        .map(|i| table.rows.iter().all(|row| row[i].is_empty() || row[i].parse::<f64>().is_ok()))
        .collect();
    for (head, numeric) in table.heads.iter().zip(&numeric) {
        let class = if *numeric { " class=\"num\"" } else { "" };
        let _ = write!(body, "<th scope=\"col\"{class}>{}</th>", marked(&heading(head)));
    }
    *body += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *body += "<tr>";
        for (i, (cell, head)) in row.iter().zip(&table.heads).enumerate() {
            let text = marked(cell);
            let _ = match (i, *head) {
                (0, _) if numeric[0] => write!(body, "<th scope=\"row\" class=\"num\">{text}</th>"),
                (0, _) => write!(body, "<th scope=\"row\">{text}</th>"),
                (_, "verdict") if !cell.is_empty() => {
                    write!(body, "<td class=\"verdict {}\">{text}</td>", cell.replace(' ', "-"))
                }
                _ if numeric[i] => write!(body, "<td class=\"num\">{text}</td>"),
                _ => write!(body, "<td>{text}</td>"),
            };
        }
        *body += "</tr>\n";
    }
    *body += "</tbody>\n</table>\n</div>\n";
}

/// A column's name for people.
fn heading(head: &str) -> String {
    let words = [
        ("canonne_kamath_steinke", "Canonne–Kamath–Steinke"),
        ("bun_steinke", "Bun–Steinke"),
        ("tight_upper", "ε upper (≤)"),
        ("tight_lower", "ε lower (≥)"),
        ("less_percent", "less, %"),
        ("_published", " (published)"),
        ("sigma2", "σ²"),
        ("mse", "MSE"),
        ("mae", "MAE"),
        ("bureau", "Bureau"),
        ("delta", "δ"),
        ("_", " "),
    ];
    words.iter().fold(head.to_string(), |text, (from, to)| text.replace(from, to))
}

fn figure(body: &mut String, figure: &StudyFigure, svg: &str) {
    let data = serde_json::to_string(&figure.figure).expect("numbers and texts").replace('<', "\\u003c");
    let id = figure.id;
    let _ = write!(
        body,
        "<figure class=\"chart\" id=\"figure-{id}\">\n{}\n<script type=\"application/json\">{data}</script>\n\
         <figcaption>The paper’s {}. <a href=\"figures/{id}.csv\">Data as CSV</a></figcaption>\n</figure>\n",
        svg, figure.number
    );
}

/// Text as HTML, with superscripts raised.
fn marked(text: &str) -> String {
    let mut html = String::new();
    let mut raised = false;
    for c in text.chars() {
        let digit = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|d| d == c);
        let plain = digit.and_then(|d| char::from_digit(d as u32, 10)).or((c == '⁻').then_some('−'));
        // The square of σ² is a character of its own in every font.
        let plain = plain.filter(|_| c != '²' || raised);
        if plain.is_some() != raised {
            html += if raised { "</sup>" } else { "<sup>" };
            raised = !raised;
        }
        match plain.unwrap_or(c) {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            c => html.push(c),
        }
    }
    if raised {
        html += "</sup>";
    }
    html
}
