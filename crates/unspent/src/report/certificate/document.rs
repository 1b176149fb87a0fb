//! A certificate for people: what the terminal, Markdown, HTML, the page and Python show.

use serde::Serialize;

use super::{Certificate, Line};
use crate::number::{Rational, Round};
use crate::profile::{Direction, Method};
use crate::report::document::{Document, Table};
use crate::report::numerals::{READABLE, change, counted, equals, lower, number_equals, up, upper};
use crate::report::promise::Promise;
use crate::report::words;
use crate::scope::Scope;
use crate::zcdp::Conversion;

/// A certificate, and how it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct ShownCertificate<'c> {
    /// The report.
    pub report: &'c Certificate,
    /// The lines above its tables: promises, products, neighbours, δ.
    pub words: Vec<String>,
    /// What each part promises.
    pub table: Table,
    /// The removable noise; none if no promise is known.
    pub reductions: Option<Table>,
}

/// When and of what a certificate was made, to be signed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stamp {
    /// The day, as in `2020-04-01`.
    pub date: String,
    /// What else must be said first, like that the noise can be repeated.
    pub warning: Option<String>,
    /// What is assumed of the table that was measured.
    pub assumes: Option<String>,
}

impl Certificate {
    /// The report with its tables, for a page that shows them.
    #[must_use]
    pub fn shown(&self) -> ShownCertificate<'_> {
        let reductions = (!self.reductions.is_empty()).then(|| self.reductions_table());
        ShownCertificate { report: self, words: self.words(), table: self.table(), reductions }
    }

    /// The whole of it in one line.
    #[must_use]
    pub fn in_short(&self) -> String {
        let agree = if self.exact().is_empty() { "" } else { " that agree on what is exact" };
        format!(
            "Certified epsilon ≤ {} at {}, for {} neighbours{agree}.",
            self.lines[0].tight.at_most(READABLE),
            words::at_delta(self.delta.value()),
            self.neighbours
        )
    }

    /// What is published exactly, in words.
    fn exact(&self) -> Vec<String> {
        let mut exact: Vec<String> = vec![];
        for product in &self.products {
            let totals = product.exact_totals.iter().map(|level| format!("the totals of {level}"));
            for text in totals.chain(product.invariants.iter().cloned()) {
                // Products of the same records agree on the same.
                if !exact.contains(&text) {
                    exact.push(text);
                }
            }
        }
        exact
    }

    /// The lines above the tables: promises, products, neighbours, δ.
    fn words(&self) -> Vec<String> {
        let mut lines = vec![];
        for promise in &self.promises {
            let of = if self.products.len() > 1 { format!("{}: ", promise.product) } else { String::new() };
            lines.push(format!("{of}{}", promise.in_words()));
        }
        for product in &self.products {
            lines.push(product.name.clone());
            lines.push(format!(
                "  {}{}",
                match product.levels {
                    0 => "known by what is stated of it alone".into(),
                    levels => format!(
                        "{}, {}, {}",
                        counted(levels, "level", "levels"),
                        counted(product.queries, "query", "queries"),
                        counted(product.measurements, "measurement", "measurements")
                    ),
                },
                product.rho.as_ref().map_or(String::new(), |rho| format!("; zCDP rho{}", number_equals(rho)))
            ));
            for also in &product.also {
                lines.push(format!("  also {}: {}", also.stated, also.note));
                if also.steps > 1 {
                    lines.push(format!(
                        "  counted as {}: between two data sets that differ in one {} lie {} neighbours of \
                         this product",
                        also.counted, self.record, also.steps
                    ));
                }
            }
            if product.touches > 1 {
                lines.push(format!("  one {} can change {} of its records", self.record, product.touches));
            }
            if product.paths > 1 {
                lines.push(format!(
                    "  {} paths through the geography: units were bypassed, and their budget moved up",
                    product.paths
                ));
            }
        }
        lines.push(self.neighbours.in_words(&self.record));
        if self.products.iter().any(|product| !product.also.is_empty()) {
            lines.push(words::ALSO.into());
        }
        if self.products.iter().flat_map(|product| &product.also).any(|a| !a.counted.mechanism.is_symmetric())
        {
            lines.push(words::direction(Direction::Both).into());
        }
        let exact = self.exact();
        if !exact.is_empty() {
            lines
                .push(format!("The two data sets agree on what is published exactly: {}.", exact.join(", ")));
        }
        lines.push(words::at_delta(self.delta.value()));
        lines
    }

    /// The certificate for a terminal: promises, tables, assumptions.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.lines(self.words());
        text.line("");
        text.table(self.table());
        text.line("");
        self.rests_on(&mut text, false);
        self.removable(&mut text, false);
        text
    }

    /// The certificate as a document to be signed: the same, with the noise of every query, version, date and
    /// files.
    #[must_use]
    pub fn signed(&self, stamp: &Stamp) -> Document {
        let mut text = Document::default();
        text.title(format!("Privacy certificate: {}", self.name));
        if let Some(warning) = &stamp.warning {
            text.line(format!("{warning}. What follows would hold of private noise."));
            text.line("");
        }
        text.lines(self.words());
        text.line("");
        text.line(self.in_plain_words());
        if self.reading.is_none() && self.products.iter().any(|product| !product.also.is_empty()) {
            text.line(words::NO_READING);
        }
        if let Some(reading) = &self.reading {
            text.title("In plain words");
            text.line(&reading.intro);
            text.list(reading.words.iter().map(String::as_str));
            text.line(&reading.note);
        }
        text.title("Guarantees");
        text.table(self.table());
        text.title("Noise");
        text.table(self.noise_table());
        self.rests_on(&mut text, true);
        text.lines(stamp.assumes.as_deref());
        text.title("Removable noise (variance that could be saved at the published epsilon)");
        self.removable(&mut text, true);
        text.title("Origin");
        text.line(format!("Computed by unspent {} on {}.", self.version, stamp.date));
        for file in self.products.iter().filter_map(|product| product.file.as_ref()) {
            text.line(format!("Allocation: {}, SHA-256 {}.", file.name, file.sha256));
        }
        text.line("");
        for role in ["Name and office", "Date", "Signature"] {
            text.line(format!("{role}: {}", "…".repeat(20)));
        }
        text
    }

    /// What the guarantee means to somebody who does not know the field.
    fn in_plain_words(&self) -> String {
        let epsilon = self.lines[0].tight.at_most(READABLE);
        format!(
            "The release is (epsilon, delta)-differentially private with epsilon = {epsilon} and delta{}: \
             for any two \
             data sets that are neighbours, and for any set of outcomes, the probability of the set under \
             one is at \
             most e^epsilon times its probability under the other, plus delta (hockey-stick divergence). One \
             record \
             is one {}.",
            equals(self.delta.value()),
            self.record
        )
    }

    /// What each part promises.
    fn table(&self) -> Table {
        let mark = |conversion: Conversion, name: &str| {
            let star = if self.published == Some(conversion) { " *" } else { "" };
            format!("{name}{star} ≤")
        };
        let [first, second] =
            [mark(Conversion::BunSteinke, "Bun–St."), mark(Conversion::CanonneKamathSteinke, "C.–K.–St.")];
        let mut heads = vec!["epsilon of", "rho", &first, &second, "upper (≤)", "lower (≥)"];
        let has_paths = self.lines.iter().any(|line| line.main_path.is_some());
        if has_paths {
            heads.push("main path");
        }
        let mut table = Table::new(&heads);
        let mut head = None;
        for line in &self.lines {
            if words::heading(&line.scope) != head {
                head = words::heading(&line.scope);
                table.head(head.unwrap_or_default());
            }
            table.row_about(&line.scope, &line.label, row(line, has_paths));
        }
        table.note(words::UPPER_BOUNDS);
        table.note(words::CONVERSIONS);
        if self.has_laplace_noise() {
            table.note(words::LAPLACE_RHO);
        }
        if let Some(conversion) = self.published {
            table.note(words::marked(conversion));
        }
        if has_paths {
            table.note(words::WORST_PATHS);
        }
        if self.lines.iter().any(|line| !line.attained) {
            table.note(words::NOT_ATTAINED);
        }
        if self.lines.iter().any(|line| line.method == Method::OneSided) {
            table.note(words::ONE_SIDED);
        }
        if self.lines.iter().any(|line| line.rho.is_none()) {
            table.note(words::NO_RHO);
        }
        self.left_out_notes(&mut table);
        table
    }

    /// Parts of which nothing is said, those with the same reason together.
    fn left_out_notes(&self, table: &mut Table) {
        let mut reasons: Vec<(&str, Vec<&str>, bool)> = vec![];
        for left in &self.left_out {
            // The part is named in front already.
            let is_place = matches!(left.scope, Scope::Within(_));
            let reason = left.reason.split_once(": ").map_or(&*left.reason, |(_, reason)| reason);
            let name = left.scope.name().unwrap_or_default();
            match reasons.iter_mut().find(|(known, _, place)| (*known, *place) == (reason, is_place)) {
                Some((_, names, _)) => names.push(name),
                None => reasons.push((reason, vec![name], is_place)),
            }
        }
        for (reason, names, is_place) in reasons {
            let what = if is_place { "places inside " } else { "" };
            table.note(format!("Nothing is said of {what}{}: {reason}.", names.join(", ")));
        }
    }

    /// What the certificate rests on, and what it does not count.
    fn rests_on(&self, text: &mut Document, titled: bool) {
        let head = "Assumed, and not checked";
        if titled {
            text.title(head)
        } else {
            text.line(format!("{head}:"))
        }
        text.list(self.assumptions.iter().map(String::as_str));
        if !titled {
            text.line("");
        }
        if let [first, ..] = self.missing.as_slice() {
            let head = format!("Not counted here, of the {}", first.series);
            if titled {
                text.title(head)
            } else {
                text.line(format!("{head}:"))
            }
            text.list(self.missing.iter().map(|missing| format!("{} ({})", missing.name, missing.about)));
            if !titled {
                text.line("");
            }
        }
    }

    fn removable(&self, text: &mut Document, titled: bool) {
        let Some(against) = &self.against else {
            text.line("Removable noise: not known. The allocation does not say what epsilon was published.");
            return;
        };
        let whose = match against {
            Promise::Conversion(conversion) => format!("the same epsilon by {}", conversion.authors()),
            Promise::Epsilon(_) => "the epsilon that the allocation states".into(),
        };
        if self.reductions.is_empty() {
            let why = if self.has_laplace_noise() { ": it is only looked for in Gaussian noise" } else { "" };
            text.line(format!("Removable noise, for {whose}: not computed{why}."));
            return;
        }
        text.line(if titled {
            format!("For {whose}:")
        } else {
            format!("Removable noise (variance that could be saved), for {whose}:")
        });
        text.line("");
        text.table(self.reductions_table());
    }

    fn reductions_table(&self) -> Table {
        let heads =
            ["noise of", "epsilon", "variance now", "factor (certified)", "variance enough", "change"];
        let mut table = Table::new(&heads);
        for reduction in &self.reductions {
            let name = reduction.scope.name().unwrap_or("all levels alike");
            let enough = |sigma2: &Rational| sigma2 * &reduction.factor;
            let (least, greatest) = (&reduction.least_sigma2, &reduction.greatest_sigma2);
            let cells = vec![
                name.into(),
                up(&reduction.epsilon),
                range(least, greatest, Round::Down),
                reduction.factor.to_decimal_or_fraction(),
                range(&enough(least), &enough(greatest), Round::Up),
                change(&reduction.factor),
            ];
            table.row_about(&reduction.scope, reduction.scope.name().unwrap_or("total"), cells);
        }
        table.note(words::FACTOR);
        if self.reductions.len() > 1 {
            table.note(words::EACH_ALONE);
        }
        table
    }

    /// Whether some noise is not Gaussian.
    fn has_laplace_noise(&self) -> bool {
        self.noise.iter().any(|noise| noise.scale.is_some())
    }

    /// The noise of every query at every level.
    fn noise_table(&self) -> Table {
        let laplace = self.has_laplace_noise();
        let mut heads = vec!["level", "query", "sigma", "sigma2", "margin at 95 %", "rho"];
        if laplace {
            heads.insert(2, "noise");
            heads.insert(5, "scale b");
        }
        let mut table = Table::new(&heads);
        for noise in &self.noise {
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
            let mut cells = vec![
                noise.level.clone(),
                noise.query.clone(),
                or_none(noise.sigma.as_ref().map(|sigma| sigma.at_most(6))),
                or_none(noise.sigma2.as_ref().map(|sigma2| sigma2.to_decimal(6, Round::Down))),
                format!("± {}", noise.margin_95),
                noise.rho.to_decimal(6, Round::Up),
            ];
            if laplace {
                cells.insert(2, noise.mechanism.unwrap_or("discrete_gaussian").replace('_', " "));
                cells.insert(5, or_none(noise.scale.as_ref().map(|scale| scale.to_decimal(6, Round::Down))));
            }
            table.row(cells);
        }
        if laplace {
            table.note(words::LAPLACE_RHO);
        }
        table.note(
            "A count with this noise is within the margin of the exact count with a probability of at \
         least 95 %.",
        );
        if self.products.iter().any(|product| product.paths > 1) {
            table.note(words::BYPASSED);
        }
        table
    }
}

fn row(line: &Line, has_paths: bool) -> Vec<String> {
    let label = if line.scope == Scope::Total { "the whole release".into() } else { line.label.clone() };
    let none = || "none".to_owned();
    let mut least = lower(&line.tight);
    if !line.attained {
        least.push('°');
    }
    let mut cells = vec![
        label,
        line.rho.as_ref().map_or_else(none, upper),
        line.bun_steinke.as_ref().map_or_else(none, up),
        line.canonne_kamath_steinke.as_ref().map_or_else(none, up),
        upper(&line.tight),
        least,
    ];
    if has_paths {
        cells.push(line.main_path.as_ref().map_or_else(String::new, upper));
    }
    cells
}

/// One variance, or the smallest and the largest. What is there is never more than it is, and what is enough
/// never less.
fn range(least: &Rational, greatest: &Rational, round: Round) -> String {
    if least == greatest {
        return least.to_decimal(READABLE, round);
    }
    format!("{} … {}", least.to_decimal(5, round), greatest.to_decimal(5, round))
}
