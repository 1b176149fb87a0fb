//! The presets, in brief.

use serde::Serialize;

use crate::allocation::Neighbours;
use crate::error::Result;
use crate::file::Preset;
use crate::number::{Number, Rational};
use crate::report::document::{Document, Table};
use crate::report::numerals::number_equals;

/// A preset, in brief.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PresetEntry {
    /// What it is asked for by.
    pub preset: &'static str,
    /// What it is called.
    pub name: String,
    /// What its total protects.
    pub neighbours: Neighbours,
    /// What one record is.
    pub record: String,
    /// Its budget.
    pub rho: Number,
    /// How many levels it has.
    pub levels: usize,
    /// How many queries.
    pub queries: usize,
    /// How many queries at levels.
    pub measurements: usize,
}

impl PresetEntry {
    /// All presets.
    pub fn all() -> Result<Vec<PresetEntry>> {
        let entry = |preset: &Preset| {
            let allocation = preset.allocation()?;
            Ok(PresetEntry {
                preset: preset.name,
                name: allocation.name().into(),
                neighbours: allocation.neighbours(),
                record: allocation.record().into(),
                rho: Number::Exact(match allocation.levels() {
                    // Known by its budget alone.
                    [] => allocation.also_rho().unwrap_or_else(|| Rational::integer(0)),
                    _ => allocation.rho(),
                }),
                levels: allocation.levels().len(),
                queries: allocation.queries().len(),
                measurements: allocation.measurements().count(),
            })
        };
        Preset::ALL.iter().chain(Preset::EVENTS).map(entry).collect()
    }

    /// Presets for people.
    #[must_use]
    pub fn document(entries: &[PresetEntry]) -> Document {
        let mut table = Table::new(&["preset", "neighbours", "rho", "levels", "queries", "measurements"]);
        for entry in entries {
            table.row(vec![
                entry.preset.into(),
                entry.neighbours.to_string(),
                number_equals(&entry.rho).trim_start_matches(" = ").trim_start().into(),
                entry.levels.to_string(),
                entry.queries.to_string(),
                entry.measurements.to_string(),
            ]);
        }
        let mut text = Document::default();
        text.table(table);
        text
    }
}
