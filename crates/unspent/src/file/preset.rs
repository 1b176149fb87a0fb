//! Allocations that were published.

use crate::allocation::Allocation;
use crate::error::{Error, ErrorKind, Result};
use crate::spelling::did_you_mean;

/// A published allocation that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What it is asked for by.
    pub name: &'static str,
    /// The text of its file, to print and edit.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../presets/", $name, ".toml")) }),*]
    };
}

impl Preset {
    /// All of them.
    pub const ALL: &'static [Preset] = presets![
        "pl94-persons-us-2020",
        "pl94-persons-pr-2020",
        "pl94-units-us-2020",
        "pl94-units-pr-2020",
        "dhc-persons-us-2020",
        "dhc-persons-pr-2020",
        "dhc-units-us-2020",
        "dhc-units-pr-2020",
        "dhc-persons-us-2022-08-25",
        "dhc-persons-pr-2022-08-25",
        "dhc-units-us-2022-08-25",
        "dhc-units-pr-2022-08-25",
        "paper-2022-08-25",
    ];

    /// The preset of that name.
    pub fn find(name: &str) -> Result<&'static Preset> {
        Preset::ALL.iter().find(|p| p.name == name).ok_or_else(|| {
            let names = || Preset::ALL.iter().map(|p| p.name);
            let same: Vec<&str> = names().filter(|preset| preset.starts_with(name)).collect();
            let hint = match same.as_slice() {
                [] => did_you_mean(name, names(), "check the list of presets"),
                same => format!("did you mean `{}`?", same.join("` or `")),
            };
            Error::input("preset", name, "the name of a preset", hint).with_kind(ErrorKind::NoPreset)
        })
    }

    /// What its text says.
    pub fn allocation(&self) -> Result<Allocation> {
        Allocation::parse(&format!("preset {}", self.name), self.text)
    }
}

impl Allocation {
    /// A published allocation.
    pub fn preset(name: &str) -> Result<Allocation> {
        Preset::find(name)?.allocation()
    }
}
