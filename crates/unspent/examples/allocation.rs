//! The certificate of an allocation: of a preset, or of a file.
//!
//! `cargo run --example allocation -p unspent -- examples/allocation.toml`

use std::env;
use std::path::Path;

use unspent::question::{Ask, CertificateQuestion};
use unspent::{Allocation, Delta, Release, Scope};

fn main() -> unspent::Result<()> {
    let allocation = match env::args().nth(1) {
        Some(file) => Allocation::read(Path::new(&file), None)?,
        None => Allocation::preset("pl94-units-us-2020")?,
    };
    let certificate = CertificateQuestion::about([allocation.clone()]).answer()?;
    println!("{}", certificate.document().terminal());

    // One part by itself: what a reader of the first level learns.
    let Some(level) = allocation.levels().first() else { return Ok(()) };
    let scope = Scope::Level(level.name.clone());
    let epsilon = Release::from(allocation.clone()).worst_case(&scope)?.epsilon(&Delta::parse("1e-6")?)?;
    println!("{} alone: epsilon at most {} at delta = 1e-6", level.name, epsilon.upper());
    Ok(())
}
