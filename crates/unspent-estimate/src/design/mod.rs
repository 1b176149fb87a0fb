//! From needs to an allocation: the least budget with which everything that must be known is known, with a
//! certificate that none is smaller (Lemmas B1 to B7 of `theory/design.md`).

mod data;
mod document;
mod file;
mod needs;
mod quantity;
mod report;

pub use self::file::{OtherFiles, PresetsOnly};
pub use self::needs::{
    Goal, Law, Need, Needs, Promise, Quantity, Rest, Selection, Spread, UnitSet, UnitTree, Units,
};
pub use self::report::{
    Checked, Design, Explained, Guarded, Importance, NeedMet, PromiseKept, TableOfDesign,
};

use unspent::{Allocation, Result};

impl Needs {
    /// The allocation with the least budget that meets all needs. `prices` says whether it is found out how
    /// much each need costs, which takes one more solution for each.
    pub fn design(&self, prices: bool) -> Result<Design> {
        let _ = prices;
        unimplemented!()
    }

    /// Which needs an allocation meets.
    pub fn check(&self, allocation: &Allocation) -> Result<Checked> {
        let _ = allocation;
        unimplemented!()
    }
}

/// What an allocation is optimal for.
pub fn explain(allocation: &Allocation, units: &Units) -> Result<Explained> {
    let _ = (allocation, units);
    unimplemented!()
}
