//! `unspent presets` and `unspent preset`: published allocations that need no file.

use clap::Args;
use serde::Serialize;
use unspent::report::Figure;
use unspent::{Allocation, Preset};

use crate::Failure;
use crate::certificate::equals;
use crate::document::{Document, Table};
use crate::output;

/// Lists the presets: published allocations that need no file.
#[derive(Args)]
pub struct Arguments {
    /// Writes one line of JSON
    #[arg(long)]
    json: bool,
}

/// Prints a preset as an allocation file to start from.
#[derive(Args)]
pub struct PresetArguments {
    /// Its name; `unspent presets` lists them
    #[arg(value_name = "NAME")]
    name: String,
}

/// A preset, in brief.
#[derive(Serialize)]
pub struct Entry {
    preset: &'static str,
    name: String,
    neighbours: &'static str,
    record: String,
    rho: Figure,
    levels: usize,
    queries: usize,
    measurements: usize,
}

impl Entry {
    fn new(preset: &'static Preset, allocation: &Allocation) -> Entry {
        Entry {
            preset: preset.name,
            name: allocation.name().into(),
            neighbours: allocation.neighbours().name(),
            record: allocation.record().into(),
            rho: Figure::Exact(allocation.rho()),
            levels: allocation.levels().len(),
            queries: allocation.queries().len(),
            measurements: allocation.measurements().count(),
        }
    }
}

/// All presets.
pub fn entries() -> unspent::Result<Vec<Entry>> {
    Preset::ALL.iter().map(|preset| Ok(Entry::new(preset, &preset.allocation()?))).collect()
}

impl Arguments {
    /// Writes the list.
    pub fn run(&self) -> Result<(), Failure> {
        let entries = entries()?;
        if self.json {
            return output::print(&output::json(&entries));
        }
        let mut table = Table::new(&["preset", "neighbours", "rho", "levels", "queries", "measurements"]);
        for entry in &entries {
            table.row(vec![
                entry.preset.into(),
                entry.neighbours.into(),
                equals(&entry.rho).trim_start_matches(" = ").trim_start().into(),
                entry.levels.to_string(),
                entry.queries.to_string(),
                entry.measurements.to_string(),
            ]);
        }
        let mut text = Document::default();
        text.table(table);
        text.line("");
        text.line("`unspent certificate PRESET` says what one promises, `unspent preset PRESET` prints it as a file.");
        output::print(&text.terminal())
    }
}

impl PresetArguments {
    /// Writes the file.
    pub fn run(&self) -> Result<(), Failure> {
        output::print(Preset::find(&self.name)?.text)
    }
}
