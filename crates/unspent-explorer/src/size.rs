//! How large an allocation may be, if somebody who moves a hand waits for what follows from it.

use unspent::{Allocation, Error, Result};

/// Most cells of a histogram whose estimates are looked at. The redistricting data have 2,016.
const MAX_CELLS: u64 = 4_096;
/// Most queries at levels of a design: a step towards it takes the cube of their number.
const MAX_TABLES: usize = 400;

/// What to do instead.
pub const HINT: &str = "the command line has no such limit: save the draft as a file";

/// Fails if its estimates take long.
pub fn check_cells(allocation: &Allocation) -> Result<()> {
    let cells = allocation.schema().map_or(0, |schema| schema.cells());
    if cells <= MAX_CELLS {
        return Ok(());
    }
    let cause = format!("a table of {cells} cells is too large here; at most {MAX_CELLS} are possible");
    Err(Error::stated(cause, HINT))
}

/// Fails if designs of its queries take long.
pub fn check_offer(offer: &Allocation) -> Result<()> {
    check_cells(offer)?;
    let tables = offer.levels().len() * offer.queries().len();
    if tables <= MAX_TABLES {
        return Ok(());
    }
    let cause = format!("{tables} queries at levels are too many here; at most {MAX_TABLES} are possible");
    Err(Error::stated(cause, HINT))
}
