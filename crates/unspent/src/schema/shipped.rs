//! Schemas of published products.

use crate::error::{Error, Result};
use crate::spelling::did_you_mean;

/// A schema that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct ShippedSchema {
    /// What it is asked for by.
    pub name: &'static str,
    /// The text of its file, to print and edit.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        [$(ShippedSchema { name: $name, text: include_str!(concat!("../../schemas/", $name, ".toml")) }),*]
    };
}

impl ShippedSchema {
    /// All of them.
    pub const ALL: [ShippedSchema; 4] = schemas!["pl94-persons", "pl94-units", "dhc-persons", "dhc-units"];

    /// The place of the one with that name.
    pub(crate) fn position(name: &str) -> Result<usize> {
        ShippedSchema::ALL.iter().position(|schema| schema.name == name).ok_or_else(|| {
            let names = ShippedSchema::ALL.map(|schema| schema.name);
            let allowed = format!("one of the shipped schemas {}", names.join(", "));
            let hint = did_you_mean(name, names, "or the name of a file, like \"schema.toml\"");
            Error::input("schema", name, allowed, hint)
        })
    }
}
