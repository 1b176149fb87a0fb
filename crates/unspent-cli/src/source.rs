//! What a command is about: a preset, a file, or several for the same record; and which part of it.

use std::path::Path;

use clap::Args;
use unspent::file::FileDigest;
use unspent::question::Product;
use unspent::schema::{Schema, ShippedSchema};
use unspent::{Allocation, Error, Neighbours, Preset, Result, Scope};
use unspent_data::Input;

use crate::Failure;

/// One product or more.
#[derive(Args)]
pub struct Source {
    /// A preset or an allocation file
    ///
    /// `unspent presets` lists the presets. A file is TOML, or a table (.csv) with --neighbours; - is
    /// standard input.
    #[arg(value_name = "PRESET|FILE")]
    named: Option<String>,

    /// A product to account for the same record; may be repeated
    #[arg(long = "product", value_name = "PRESET|FILE")]
    products: Vec<String>,

    /// All products of a series, about the same person: us-2020 or pr-2020
    ///
    /// Redistricting data and DHC, persons and units, Detailed DHC-A and -B, and Supplemental DHC. One
    /// person changes two records of each product that is not about persons.
    #[arg(long, value_name = "S", conflicts_with_all = ["named", "products"])]
    series: Option<String>,

    /// For a table (.csv): bounded or add-remove
    ///
    /// A table cannot say what its neighbours are; any other file does.
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// For products of other records: how many of them one record can change, 1 or 2
    ///
    /// A person who moves changes two housing units. PRODUCT=N for one product, N for all whose
    /// record is not that of the first.
    #[arg(long, value_name = "N")]
    touches: Vec<String>,
}

impl Source {
    /// Reads all products.
    pub fn products(&self) -> std::result::Result<Vec<Product>, Failure> {
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        let series = self.series.as_deref().map(Preset::series).transpose()?.unwrap_or_default();
        let members: Vec<String> = series.iter().map(|(name, _)| (*name).to_owned()).collect();
        let names: Vec<&String> = self.named.iter().chain(&self.products).chain(&members).collect();
        if names.is_empty() {
            return Err(Failure::usage(
                "no release was named: a preset or an allocation file is needed",
                "for example: unspent certificate pl94-persons-us-2020; `unspent presets` lists the presets",
            ));
        }
        let read: Result<Vec<(Allocation, FileDigest)>> = names
            .iter()
            .map(|name| {
                // With several products the flag is for those that need it.
                let needed = neighbours.filter(|_| is_table(name) || !names.iter().any(|n| is_table(n)));
                read(name, needed)
            })
            .collect();
        let (mut allocations, files): (Vec<_>, Vec<_>) = read?.into_iter().unzip();
        for (allocation, (_, touches)) in allocations.iter_mut().zip(series) {
            if let Some(touches) = touches {
                *allocation = allocation.clone().touching(*touches)?;
            }
        }
        for touches in &self.touches {
            touch(&mut allocations, &names, touches)?;
        }
        let products = allocations.into_iter().zip(files);
        Ok(products.map(|(allocation, file)| Product::Allocation(Box::new(allocation), Some(file))).collect())
    }
}

/// Applies `N`, or `PRODUCT=N`.
fn touch(
    allocations: &mut [Allocation],
    names: &[&String],
    touches: &str,
) -> std::result::Result<(), Failure> {
    let (product, count) = touches.rsplit_once('=').map_or((None, touches), |(p, n)| (Some(p), n));
    let count = unspent::allocation::parse_touches(count)?;
    let first = allocations[0].record().to_string();
    let mut found = false;
    for (allocation, name) in allocations.iter_mut().zip(names) {
        let is_meant = product.map_or(allocation.record() != first, |product| product == name.as_str());
        if is_meant {
            *allocation = allocation.clone().touching(count)?;
            found = true;
        }
    }
    if found {
        return Ok(());
    }
    Err(Failure::usage(
        format!("--touches: `{touches}` is for no product that was named"),
        "N is for products whose record is not that of the first, PRODUCT=N for the one of that name",
    ))
}

/// Reads a preset or a file, and says which file it was.
fn read(name: &str, neighbours: Option<Neighbours>) -> Result<(Allocation, FileDigest)> {
    let preset = Preset::find(name);
    match (preset, neighbours) {
        (Ok(preset), None) => {
            let file = FileDigest::of(&format!("preset {name}"), preset.text);
            Ok((preset.allocation()?, file))
        }
        (Ok(_), Some(_)) => Err(Error::input(
            "neighbours",
            name,
            "a table of budgets (.csv)",
            "a preset says what its neighbours are; `unspent compare` shows another reading",
        )),
        // A bare word that is no file was meant to be a preset.
        (Err(error), _) if name != "-" && !name.contains(['.', '/', '\\']) && !Path::new(name).exists() => {
            Err(error)
        }
        (Err(_), neighbours) => Allocation::read_with_digest(Path::new(name), neighbours),
    }
}

/// Reads a preset or a file.
pub fn allocation(name: &str, neighbours: Option<Neighbours>) -> Result<Allocation> {
    read(name, neighbours).map(|(allocation, _)| allocation)
}

/// Reads a preset or a file, to ask about it.
pub fn product(name: &str, neighbours: Option<Neighbours>) -> Result<Product> {
    let (allocation, file) = read(name, neighbours)?;
    Ok(Product::Allocation(Box::new(allocation), Some(file)))
}

/// Reads one of several, to which the neighbours apply if it is a table that needs them.
pub fn product_among(name: &str, neighbours: Option<Neighbours>) -> Result<Product> {
    product(name, neighbours.filter(|_| is_table(name)))
}

/// Reads one of several, to which the neighbours apply if it is a table that needs them.
pub fn allocation_among(name: &str, neighbours: Option<Neighbours>) -> Result<Allocation> {
    allocation(name, neighbours.filter(|_| is_table(name)))
}

fn is_table(name: &str) -> bool {
    name.to_lowercase().ends_with(".csv")
}

/// Where a table comes from: a file, or stdin for `-`.
pub fn table(name: &str) -> Input {
    if name == "-" { Input::Stdin } else { Input::File(name.into()) }
}

/// Reads a schema, if there is one: a file, or a shipped one.
pub fn schema(path: Option<&str>) -> Result<Option<Schema>> {
    let read = |name: &str| match ShippedSchema::ALL.iter().any(|shipped| shipped.name == name) {
        true => Schema::shipped(name),
        false => Schema::read(Path::new(name)),
    };
    path.map(read).transpose()
}

/// What to do where nothing says how a table is read.
pub const NO_TABLE: &str =
    "name a file with a [table], --schema; `unspent synthesize` makes a table with one beside it";

/// A file without its path.
pub fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy().into_owned())
}

/// Which part of a release.
#[derive(Args)]
#[group(multiple = false)]
pub struct Selection {
    /// Only what is measured at this geographic level
    #[arg(long, value_name = "L")]
    level: Option<String>,

    /// Only what a change of the record moves that stays inside one unit of this level
    #[arg(long, value_name = "X")]
    keeping: Option<String>,

    /// Only what a change of this attribute moves
    #[arg(long, value_name = "A")]
    attribute: Option<String>,

    /// Only what a move inside one unit of this level moves
    #[arg(long, value_name = "X")]
    within: Option<String>,
}

impl Selection {
    /// The part; the whole, if nothing was said.
    pub fn scope(&self) -> Scope {
        let level = self.level.clone().map(Scope::Level);
        let attribute = self.attribute.clone().map(Scope::Attribute);
        let within = self.within.clone().map(Scope::Within);
        let keeping = self.keeping.clone().map(Scope::Keeping);
        level.or(keeping).or(attribute).or(within).unwrap_or(Scope::Total)
    }
}
