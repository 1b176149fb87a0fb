//! From needs to an allocation: the least budget with which everything that must be known is known, with a
//! certificate that none is smaller (Lemmas B1 to B7 of `theory/design.md`).

mod answer;
mod barrier;
mod bound;
mod budgets;
mod compile;
mod data;
mod document;
mod evaluator;
mod exact;
mod file;
mod fit;
mod gaussian;
mod given;
mod judge;
mod kinds;
mod law;
mod needs;
mod outcome;
mod program;
mod quantity;
mod report;
mod rounding;
mod tangent;
mod words;

#[cfg(test)]
mod tests;

pub use self::file::{OtherFiles, PresetsOnly};
pub use self::needs::{Goal, Law, Need, Needs, Promise, Quantity, Rest, Selection, UnitSet, UnitTree, Units};
pub use self::outcome::explain;
pub use self::report::{
    Checked, Design, Explained, Guarded, Importance, NeedMet, PromiseKept, TableOfDesign,
};
