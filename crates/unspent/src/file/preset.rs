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

/// A preset of a series, and how many of its records one person changes where its file does not say so.
pub type Member = (&'static str, Option<u64>);

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

    /// Products of which the budget is counted, and no measurement.
    pub const EVENTS: &'static [Preset] = presets![
        "ddhc-a-us-2020",
        "ddhc-a-pr-2020",
        "ddhc-b-us-2020",
        "ddhc-b-pr-2020",
        "sdhc-us-2020",
        "sdhc-pr-2020",
    ];

    /// All products of a series that are about the same people, and how many records of each one person
    /// changes where its file does not say so.
    pub const SERIES: &'static [(&'static str, &'static [Member])] = &[
        (
            "us-2020",
            &[
                ("pl94-persons-us-2020", None),
                ("pl94-units-us-2020", Some(2)),
                ("dhc-persons-us-2020", None),
                ("dhc-units-us-2020", Some(2)),
                ("ddhc-a-us-2020", None),
                ("ddhc-b-us-2020", None),
                ("sdhc-us-2020", None),
            ],
        ),
        (
            "pr-2020",
            &[
                ("pl94-persons-pr-2020", None),
                ("pl94-units-pr-2020", Some(2)),
                ("dhc-persons-pr-2020", None),
                ("dhc-units-pr-2020", Some(2)),
                ("ddhc-a-pr-2020", None),
                ("ddhc-b-pr-2020", None),
                ("sdhc-pr-2020", None),
            ],
        ),
    ];

    /// The products of a series, with how many records of each one record of the first changes.
    pub fn series(name: &str) -> Result<&'static [Member]> {
        let found = Preset::SERIES.iter().find(|(series, _)| *series == name).map(|(_, products)| *products);
        found.ok_or_else(|| {
            let names: Vec<&str> = Preset::SERIES.iter().map(|(series, _)| *series).collect();
            let hint = "a series is all that was published of the same people";
            Error::input("series", name, format!("one of {}", names.join(", ")), hint)
        })
    }

    /// The preset of that name.
    pub fn find(name: &str) -> Result<&'static Preset> {
        let all = || Preset::ALL.iter().chain(Preset::EVENTS);
        all().find(|p| p.name == name).ok_or_else(|| {
            let names = || all().map(|p| p.name);
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
