//! Table S1501 of the American Community Survey, row by row: as the Census Bureau's site gives it, or with plain names.

use std::collections::BTreeMap;

use serde::Serialize;

use unspent::{Error, Result};

use super::simulation::{Area, CATEGORIES, Sample};
use crate::table::count;

/// A kind of area, told by its codes.
#[derive(Debug, PartialEq, Eq)]
pub struct Geography {
    /// The first three characters of a code.
    summary_level: &'static str,
    /// What the areas are called.
    pub name: &'static str,
    /// The level of a census whose noise they are given, by the names it may have in an allocation.
    pub levels: &'static [&'static str],
}

impl Geography {
    /// The level of areas that are no level of a census: they get what tracts get.
    pub const OTHER: &[&str] = &["Tract Subset", "Tract"];

    const ALL: [Geography; 7] = [
        Geography { summary_level: "040", name: "states", levels: &["State"] },
        Geography { summary_level: "050", name: "counties", levels: &["County"] },
        Geography { summary_level: "060", name: "county subdivisions", levels: Geography::OTHER },
        Geography { summary_level: "140", name: "tracts", levels: Geography::OTHER },
        Geography { summary_level: "160", name: "places", levels: Geography::OTHER },
        Geography { summary_level: "310", name: "metro areas", levels: Geography::OTHER },
        Geography { summary_level: "860", name: "ZIP code areas", levels: Geography::OTHER },
    ];

    /// Of a code like `0400000US01`.
    fn of(code: &str) -> Option<&'static Geography> {
        let (head, _) = code.split_once("US")?;
        Geography::ALL.iter().find(|g| head.len() == 7 && head.starts_with(g.summary_level))
    }
}

/// Why an area is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Asked,
    Counts,
    Nobody,
    Earnings,
    Bound,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Asked => "as asked",
            Reason::Counts => "education counts missing",
            Reason::Nobody => "nobody in it",
            Reason::Earnings => "earnings missing",
            Reason::Bound => "earnings only bounded",
        }
    }
}

/// Areas left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Why.
    pub reason: &'static str,
    /// How many.
    pub areas: u64,
}

impl LeftOut {
    /// `3 areas left out: nobody in it (1), earnings missing (2)`; nothing if there are none.
    #[must_use]
    pub fn in_words(list: &[LeftOut]) -> Option<String> {
        let areas: u64 = list.iter().map(|left| left.areas).sum();
        let reasons: Vec<String> =
            list.iter().map(|left| format!("{} ({})", left.reason, left.areas)).collect();
        let plural = if areas == 1 { "area" } else { "areas" };
        (areas > 0).then(|| format!("{areas} {plural} left out: {}", reasons.join(", ")))
    }
}

/// Names of columns: the Bureau's and the plain ones. Where there are two they are added up.
const CODE: [&str; 2] = ["GEO_ID", "geo_id"];
const NAME: [&str; 2] = ["NAME", "name"];
const POPULATION: [&str; 2] = ["S1501_C01_006E", "pop25plus"];
const EDUCATION: [[&str; 2]; CATEGORIES] = [
    ["S1501_C01_007E", "lt_9th_grade"],
    ["S1501_C01_008E", "g9_12_no_diploma"],
    ["S1501_C01_009E", "hs_graduate"],
    ["S1501_C01_010E", "some_college_no_degree"],
    ["S1501_C01_011E", "associates"],
    ["S1501_C01_015E", "bachelors_or_higher"],
];
/// Bachelor's, and graduate or professional degrees: until 2017 column 015 is empty.
const DEGREES: [&str; 2] = ["S1501_C01_012E", "S1501_C01_013E"];
const EARNINGS: [&str; 2] = ["S1501_C01_059E", "median_earnings"];

/// The Bureau's annotations where there is no estimate, and what its interface and other programs write for them.
const MISSING: [&str; 18] = [
    "",
    "-",
    "(X)",
    "N",
    "*",
    "**",
    "***",
    "*****",
    "null",
    "NA",
    "NaN",
    "nan",
    "-222222222",
    "-333333333",
    "-555555555",
    "-666666666",
    "-888888888",
    "-999999999",
];

/// A table that is being read.
#[derive(Clone, Debug)]
pub struct Survey {
    heads: Vec<String>,
    code: Option<usize>,
    name: Option<usize>,
    population: Option<usize>,
    education: [Vec<usize>; CATEGORIES],
    earnings: usize,
    rows: u64,
    areas: Vec<Area>,
    /// Of each area, if its code says so.
    geographies: Vec<Option<&'static Geography>>,
    left_out: BTreeMap<Reason, u64>,
}

impl Survey {
    /// A table with these names of columns.
    pub fn new<'h>(heads: impl IntoIterator<Item = &'h str>) -> Result<Survey> {
        // Quotes are still there behind a byte-order mark.
        let clean = |head: &str| head.trim_start_matches('\u{feff}').trim().trim_matches('"').to_string();
        let mut heads: Vec<String> = heads.into_iter().map(clean).collect();
        // The Bureau's lines end with a comma, but not all of them do.
        while heads.pop_if(|head| head.is_empty()).is_some() {}
        let find = |name: &str| -> Result<Option<usize>> {
            let mut places = (0..heads.len()).filter(|i| heads[*i] == name);
            match (places.next(), places.next()) {
                (_, Some(_)) => Err(Error::stated(
                    format!("there are two columns `{name}`"),
                    "give every column a name of its own",
                )),
                (place, None) => Ok(place),
            }
        };
        // One table speaks one language: the Bureau's if any of its names is there.
        let plain = usize::from(!heads.iter().any(|head| head.starts_with("S1501_")));
        let needed = |names: [&str; 2]| {
            find(names[plain])?.ok_or_else(|| {
                Error::stated(
                    format!("there is no column `{}`", names[plain]),
                    format!(
                        "a table has the columns of S1501 ({} …) or plain ones ({} …)",
                        EDUCATION[0][0], EDUCATION[0][1]
                    ),
                )
            })
        };
        let mut education: [Vec<usize>; CATEGORIES] = Default::default();
        for (k, names) in EDUCATION.into_iter().enumerate() {
            education[k] = match (k == CATEGORIES - 1, find(DEGREES[0])?, find(DEGREES[1])?) {
                (true, Some(bachelors), Some(graduates)) => vec![bachelors, graduates],
                _ => vec![needed(names)?],
            };
        }
        Ok(Survey {
            code: find(CODE[plain])?,
            name: find(NAME[plain])?,
            population: find(POPULATION[plain])?,
            education,
            earnings: needed(EARNINGS)?,
            heads,
            rows: 0,
            areas: vec![],
            geographies: vec![],
            left_out: BTreeMap::new(),
        })
    }

    /// Reads a row; an area whose code or name is in `without` is left out, and its place in the list returned.
    pub fn row(&mut self, fields: &[&str], without: &[String]) -> Result<Option<usize>> {
        if fields.len() < self.heads.len() {
            return Err(Error::stated(
                format!("has {} columns; the first line has {}", fields.len(), self.heads.len()),
                "every line has all columns; quote what contains a comma",
            ));
        }
        self.rows += 1;
        if self.rows == 1 && fields[self.earnings].contains("!!") {
            self.rows = 0;
            return self.labels(fields).map(|()| None);
        }
        let of = |at: Option<usize>| at.map_or("", |at| fields[at].trim());
        let (code, name) = (of(self.code), of(self.name));
        let asked = without.iter().position(|w| w == code || w == name);
        let read = if asked.is_some() { Err(Reason::Asked) } else { self.area(fields)? };
        match read {
            Ok(area) => {
                self.areas.push(area);
                self.geographies.push(Geography::of(code));
            }
            Err(reason) => *self.left_out.entry(reason).or_default() += 1,
        }
        Ok(asked)
    }

    /// The second line of the Bureau's files says what the columns are.
    fn labels(&self, fields: &[&str]) -> Result<()> {
        let label = fields[self.earnings];
        if label.to_lowercase().contains("median earnings") {
            return Ok(());
        }
        let hint = "the columns of S1501 were others before 2015";
        Err(Error::input(&self.heads[self.earnings], label, "median earnings", hint))
    }

    fn area(&self, fields: &[&str]) -> Result<std::result::Result<Area, Reason>> {
        let mut counts = [0; CATEGORIES];
        for (count, columns) in counts.iter_mut().zip(&self.education) {
            for column in columns {
                let Some(n) = self.count(*column, fields)? else { return Ok(Err(Reason::Counts)) };
                *count += n;
            }
        }
        let sum: i64 = counts.iter().sum();
        let population = self.population.map(|column| self.count(column, fields)).transpose()?.flatten();
        if let Some(population) = population.filter(|population| *population != sum) {
            return Err(Error::stated(
                format!("the six counts by education sum to {sum}, not to the population, {population}"),
                "every person of 25 or over has one level of education: check the columns",
            )
            .concealed_as("the six counts by education do not sum to the population"));
        }
        if sum == 0 {
            return Ok(Err(Reason::Nobody));
        }
        let text = fields[self.earnings].trim();
        if MISSING.contains(&text) {
            return Ok(Err(Reason::Earnings));
        }
        // A median in the last class is `250,000+`, in the first `2,500-`.
        if let Some(bound) = text.strip_suffix(['+', '-'])
            && without_commas(bound).parse::<f64>().is_ok()
        {
            return Ok(Err(Reason::Bound));
        }
        match without_commas(text).parse() {
            Ok(earnings) if (0.0..=1e12).contains(&earnings) => Ok(Ok(Area { counts, earnings })),
            _ => {
                let hint = "an amount, or an annotation such as (X) or - where there is none";
                let earnings = &self.heads[self.earnings];
                Err(Error::input(earnings, text, "earnings between 0 and 1e12", hint).concealed())
            }
        }
    }

    /// None if it is missing.
    fn count(&self, column: usize, fields: &[&str]) -> Result<Option<i64>> {
        let text = fields[column].trim();
        if MISSING.contains(&text) {
            return Ok(None);
        }
        let count = count::parse(&self.heads[column], &without_commas(text))?;
        if count > 1_000_000_000_000 {
            return Err(Error::input(
                &self.heads[column],
                text,
                "a count of at most 1e12",
                "check the column",
            )
            .concealed());
        }
        Ok(Some(count))
    }

    /// What most of the areas are, if their codes say so.
    #[must_use]
    pub fn geography(&self) -> Option<&'static Geography> {
        let count =
            |geography: &Geography| self.geographies.iter().filter(|g| **g == Some(geography)).count();
        Geography::ALL.iter().max_by_key(|g| count(g)).filter(|g| 2 * count(g) > self.geographies.len())
    }

    /// How many areas are something else, in one table with the others.
    #[must_use]
    pub fn strangers(&self) -> usize {
        let most = self.geography();
        self.geographies.iter().filter(|g| most.is_some() && **g != most).count()
    }

    /// How many areas were left out, by reason.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.left_out.iter().map(|(reason, areas)| LeftOut { reason: reason.text(), areas: *areas }).collect()
    }

    /// The areas that were read, if they have a slope.
    pub fn into_sample(self) -> Result<Sample> {
        let left_out = LeftOut::in_words(&self.left_out());
        Sample::new(self.areas).map_err(|error| match left_out {
            Some(words) => Error::stated(format!("{error}; {words}"), error.hint()),
            None => error,
        })
    }
}

/// `1,234.5` as `1234.5`; anything else as it is.
fn without_commas(text: &str) -> String {
    let whole = text.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',').skip(1);
    if groups.all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit())) {
        return text.replace(',', "");
    }
    text.into()
}

#[cfg(test)]
mod tests;
