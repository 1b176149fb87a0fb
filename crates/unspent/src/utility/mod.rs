//! What noise does to data: errors of counts in expectation, exactly summed; of whole tables; of a regression.

mod expected;
pub mod regression;
mod table;

pub use expected::{Expected, Law};
pub use table::{
    Errors, Estimate, Evaluation, Group, LevelErrors, LevelNoise, NOT_PRIVATE, Pair, Question, Simulated,
    TakeRow, Utility,
};
