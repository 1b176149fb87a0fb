//! `unspent presets` and `unspent preset`: published allocations that need no file.

use clap::Args;
use unspent::question::PresetsQuestion;
use unspent::report::presets::PresetEntry;
use unspent::schema::ShippedSchema;
use unspent::{Ask, Preset};

use crate::Failure;
use crate::output;
use crate::terminal;

/// Lists the presets: published allocations that need no file.
#[derive(Args)]
pub struct Arguments {
    /// Writes one line of JSON
    #[arg(long)]
    json: bool,
}

/// Prints a preset as an allocation file to start from, or the schema that presets name.
#[derive(Args)]
pub struct PresetArguments {
    /// Its name, or that of a schema; `unspent presets` lists both
    #[arg(value_name = "NAME")]
    name: String,
}

impl Arguments {
    /// Writes the list.
    pub fn run(&self) -> Result<(), Failure> {
        let entries = PresetsQuestion {}.answer()?;
        if self.json {
            return output::print(&output::json(&entries));
        }
        let mut text = PresetEntry::document(&entries);
        text.line("");
        let schemas = ShippedSchema::ALL.map(|schema| schema.name).join(", ");
        text.line(format!("Schemas (attributes, values, recodes, queries): {schemas}."));
        text.line("");
        text.line(
            "`unspent certificate PRESET` says what one promises, `unspent preset PRESET` prints it as a \
             file.",
        );
        output::print(&terminal::shown(&text))
    }
}

impl PresetArguments {
    /// Writes the file.
    pub fn run(&self) -> Result<(), Failure> {
        match ShippedSchema::ALL.iter().find(|schema| schema.name == self.name) {
            Some(schema) => output::print(schema.text),
            None => output::print(Preset::find(&self.name)?.text),
        }
    }
}
