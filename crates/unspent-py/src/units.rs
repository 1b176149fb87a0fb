//! Which units there are: numbers by level, or a public list.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use unspent::schema::Schema;
use unspent::{Error, did_you_mean};
use unspent_data::{Quiet, unit_tree};
use unspent_estimate::accuracy::usual_units;
use unspent_estimate::design::Units;

use crate::columns::unit_input;
use crate::error::{OrRaise, exception};
use crate::work::interruptible;

/// The units that were given for the levels of an allocation: a dict with a number for each level, or the
/// list of all units of the smallest level, a path or columns, which `schema` says how to read.
///
/// Without any they are those of a census whose numbers are known.
pub fn units_of(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    schema: Option<PathBuf>,
    allocation: &unspent::Allocation,
) -> PyResult<Units> {
    let Some(given) = given else {
        return usual_units(allocation)
            .map(Units::PerLevel)
            .ok_or_else(|| exception(py, &unknown(allocation)));
    };
    if let Some(numbers) = numbers(given) {
        if schema.is_some() {
            let hint = "schema says how a list of units is read; leave it out";
            return Err(exception(py, &Error::stated("schema is given without a list of units", hint)));
        }
        return per_level(&numbers, allocation).map(Units::PerLevel).or_raise(py);
    }
    let schema = schema.map(|path| Schema::read(&path)).transpose().or_raise(py)?;
    let list = unit_input(given, schema.as_ref().or(allocation.schema()), &[])?;
    let allocation = allocation.clone();
    let tree = interruptible(py, move || unit_tree(list, schema, allocation, &mut Quiet))?;
    tree.or_raise(py).map(Units::Listed)
}

fn unknown(allocation: &unspent::Allocation) -> Error {
    let names: Vec<&str> = allocation.levels().iter().map(|level| level.name.as_str()).collect();
    Error::stated(
        format!("units: how many units the levels {} have is not known", names.join(", ")),
        "give units=, a dict with a number for each level, or a public list of all units of the smallest \
         level",
    )
}

/// The numbers of a dict that has nothing else; a dict of columns is a list of units.
fn numbers(given: &Bound<'_, PyAny>) -> Option<Vec<(String, u64)>> {
    let given = given.cast::<PyDict>().ok()?;
    given.iter().map(|(level, number)| Some((level.extract().ok()?, number.extract().ok()?))).collect()
}

/// A number for each level, in the order of the levels.
fn per_level(numbers: &[(String, u64)], allocation: &unspent::Allocation) -> unspent::Result<Vec<u64>> {
    let names: Vec<&str> = allocation.levels().iter().map(|level| level.name.as_str()).collect();
    let all = names.join(", ");
    if let Some((unknown, _)) = numbers.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        let hint = did_you_mean(unknown, names.iter().copied(), "give a number for each level");
        return Err(Error::input("units", unknown, format!("one of the levels {all}"), hint));
    }
    let mut found: Vec<u64> = vec![];
    for name in names {
        let Some((_, number)) = numbers.iter().find(|(level, _)| level == name) else {
            let cause = format!("units: how many units `{name}` has is not said");
            return Err(Error::stated(cause, format!("give a number for each of {all}")));
        };
        if *number < found.last().copied().unwrap_or(1) {
            let allowed = "a number from 1 on, and no fewer than the level above has";
            let hint = "every unit has at least one of the level below in it, so that numbers do not fall";
            return Err(Error::input(format!("units: {name}"), number, allowed, hint));
        }
        found.push(*number);
    }
    Ok(found)
}
