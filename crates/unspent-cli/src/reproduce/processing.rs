//! What less noise is worth after post-processing: whole tables with the noise of the paper, with what its
//! one term of δ leaves of it, and with what both terms do.

use unspent::allocation::{Budget, Neighbours};
use unspent::schema::Schema;
use unspent::{Allocation, Rational};
use unspent_data::Progress;
use unspent_data::estimate::{Stage, TrialMean};
use unspent_data::population::Population;
use unspent_data::table::Row;
use unspent_data::utility::processing::{KnownTables, Processed, Processing, ProcessingQuestion};
use unspent_data::utility::{BANDS, LevelNoise};

use super::data::Data;
use super::study;

/// Blocks of the population that is made up, and its seed.
const BLOCKS: (u64, u64) = (8_000, 1);
/// The noise is that of public or made-up data, and the same every time.
const SEED: u64 = 2_025;
/// Most trials, and most cells of smallest units in all trials: some ten seconds.
const MAX_TRIALS: u64 = 12;
const MAX_CELLS: u64 = 5_000_000;

/// The table whose releases are simulated.
pub struct Known {
    pub tables: KnownTables,
    pub name: String,
}

/// Releases with three noises.
pub struct PublishedTables {
    found: Processed,
    name: String,
    /// What part of the variance goes, by the first term of δ and by both.
    overall: [f64; 2],
    queries: Vec<String>,
}

/// The releases that are compared; why not, if they cannot be.
pub fn question(schema: &Schema, noises: &[LevelNoise], overall: [f64; 2]) -> Result<Processing, String> {
    let made = || -> unspent::Result<Processing> {
        let before = allocation(schema, noises)?;
        let scaled = |part: f64| -> unspent::Result<Allocation> {
            let factor = Rational::from_f64("factor", 1.0 - part)?;
            before.scaled(&vec![factor; noises.len()])
        };
        let allocations = vec![before.clone(), scaled(overall[0])?, scaled(overall[1])?];
        Processing::new(ProcessingQuestion {
            schema: schema.clone(),
            allocations,
            bands: BANDS.to_vec(),
            shares_of: None,
            districts: vec![],
            stages: vec![Stage::Raw, Stage::Estimate, Stage::Whole],
            trials: MAX_TRIALS,
            seed: SEED,
        })
    };
    made().map_err(|error| error.to_string())
}

/// At every level with noise the total, each attribute, and all of them together, with the level's noise.
fn allocation(schema: &Schema, noises: &[LevelNoise]) -> unspent::Result<Allocation> {
    let mut builder = Allocation::builder("The paper's noise", Neighbours::AddRemove)?;
    let names: Vec<&str> = schema.attributes().iter().map(|attribute| attribute.name.as_str()).collect();
    names.iter().try_for_each(|name| builder.attribute(name))?;
    let mut queries = vec![builder.query::<&str>("total", &[], 1)?];
    for name in &names {
        queries.push(builder.query(name, &[*name], 1)?);
    }
    if names.len() > 1 {
        queries.push(builder.query(&names.join(" * "), &names, 1)?);
    }
    for noise in noises {
        let level = builder.level(&noise.level)?;
        for query in &queries {
            builder.measure(level, *query, Budget::Sigma2(noise.before.clone()))?;
        }
    }
    builder.schema(schema.clone());
    builder.build()
}

/// A population that is made up.
pub fn made_up(processing: Processing) -> Result<Known, String> {
    let read = || -> unspent::Result<KnownTables> {
        let population = Population::new(BLOCKS.0, BLOCKS.1)?;
        processing.read(None, |row| {
            for block in population {
                row(Row { codes: &[block.code()], values: &[], counts: &block.counts.map(i64::from) })?;
            }
            Ok(())
        })
    };
    let name = "made-up data (unspent synthesize, 8,000 blocks)".into();
    Ok(Known { tables: read().map_err(|error| error.to_string())?, name })
}

impl PublishedTables {
    /// Makes all releases as often as there is time for.
    pub fn new(
        known: Known,
        overall: [f64; 2],
        progress: &mut dyn Progress,
    ) -> Result<PublishedTables, String> {
        let Known { tables, name } = known;
        let trials = MAX_CELLS / tables.cells().max(1);
        if trials < 2 {
            return Err("The table is too large for a simulation of some seconds.".into());
        }
        let tables = tables.with_trials(trials.min(MAX_TRIALS));
        let found = tables.simulate(progress).map_err(|error| error.to_string())?;
        let queries = found.queries().map(String::from).collect();
        Ok(PublishedTables { found, name, overall, queries })
    }

    fn less(&self, release: usize, stage: Stage, level: &str, query: &str) -> Option<TrialMean> {
        self.found.reduction(release, stage, level, query)
    }

    /// What was found, in a sentence or two.
    pub fn sentence(&self) -> String {
        let (level, _) = self.found.levels().last().expect("there is a level");
        let detailed = self.queries.last().expect("there is a query");
        let part = |release: usize, query: &str| {
            let less = self.less(release, Stage::Whole, level, query);
            less.map_or("–".into(), |less| {
                let error = less.standard_error.map_or(String::new(), |e| format!(" ± {:.1}", 100.0 * e));
                format!("{:.1}{error} %", 100.0 * less.mean).replacen('-', "−", 1)
            })
        };
        let root = |part: f64| 100.0 * (1.0 - (1.0 - part).sqrt());
        format!(
            "What is that worth in published tables? On {}, whole tables of level {level} lose {} of the \
             mean absolute error of totals and {} of that of {detailed} with the paper’s {:.2} %, and {} and \
             {} with the {:.2} % of both terms (simulated, {} trials). Raw noisy answers lose {:.1} % and \
             {:.1} %.",
            self.name,
            part(1, "total"),
            part(1, detailed),
            100.0 * self.overall[0],
            part(2, "total"),
            part(2, detailed),
            100.0 * self.overall[1],
            self.found.trials(),
            root(self.overall[0]),
            root(self.overall[1]),
        )
    }
}

/// Errors of raw answers, estimates and whole tables, by level and query, with the three noises.
pub fn table(data: &Data) -> study::Table {
    let heads = vec![
        "level",
        "units",
        "query",
        "published",
        "mae",
        "mae_first_term",
        "first_term_less_percent",
        "first_term_standard_error",
        "mae_both_terms",
        "both_terms_less_percent",
        "both_terms_standard_error",
    ];
    let (id, title) = ("published-tables", "Mean absolute errors of published tables".into());
    let tables = match &data.processed {
        Ok(tables) => tables,
        Err(why) => {
            return study::Table { id, title, note: format!("Not computed. {why}"), heads, rows: vec![] };
        }
    };
    let found = &tables.found;
    let mut rows = vec![];
    for (level, units) in found.levels() {
        for query in &tables.queries {
            for stage in [Stage::Raw, Stage::Estimate, Stage::Whole] {
                let mae = |release| {
                    let figures = found.figures(release, stage, level, query);
                    figures.map_or(String::new(), |figures| format!("{:.4}", figures.mean_absolute.mean))
                };
                let less = |release| {
                    let less = tables.less(release, stage, level, query);
                    let percent = |x: Option<f64>| x.map_or(String::new(), |x| format!("{:.2}", 100.0 * x));
                    [percent(less.map(|less| less.mean)), percent(less.and_then(|less| less.standard_error))]
                };
                let mut row =
                    vec![level.into(), units.to_string(), query.clone(), stage.name().into(), mae(0)];
                for release in [1, 2] {
                    row.push(mae(release));
                    row.extend(less(release));
                }
                rows.push(row);
            }
        }
    }
    let note = format!(
        "On {}. Every level has the paper’s noise on the total, on each attribute, and on all together; all \
         variances are as published, {:.2} % less (first term of δ alone) and {:.2} % less (both terms). \
         Means over {} trials, which add the noise, estimate, and make whole tables as for a release; the \
         noises of a trial are made of the same random words. less, %: what part of the mean absolute error \
         goes, with its standard error of the simulation. Where a level has few units trials tell little.",
        tables.name,
        100.0 * tables.overall[0],
        100.0 * tables.overall[1],
        found.trials()
    );
    study::Table { id, title, note, heads, rows }
}
