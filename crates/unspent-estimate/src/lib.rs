//! Best linear unbiased estimates from noisy measurements on a tree of units, with exact covariances.

pub mod accuracy;
mod allocation;
mod answers;
mod area;
mod basis;
mod covariance;
pub mod design;
mod expression;
mod family;
mod known;
mod margin;
mod matrix;
mod model;
mod ratio;
mod space;
mod subspace;
pub mod tables;
mod tree;

/// The mathematics: numbered lemmas with their proofs, cited where the code relies on them.
pub mod theory {
    #[doc = include_str!("../theory/estimates.md")]
    pub mod estimates {}
    #[doc = include_str!("../theory/design.md")]
    pub mod design {}
    #[doc = include_str!("../theory/tables.md")]
    pub mod tables {}
}

pub use accuracy::{Accuracy, AccuracyQuestion};
pub use allocation::{SchemaQuery, TOTAL, partitions};
pub use answers::{AnswerClasses, Precision, SumOfCells};
pub use area::Area;
pub use expression::NamedSum;
pub use margin::Confidence;
pub use matrix::Matrix;
pub use model::{Answered, Class, Contradiction, Leaf, Model, Scratch, SharedClass, UnitClass};
pub use ratio::{Estimated, Ratio, RatioSet};
pub use space::{Impossible, Partition, Query, Space};
pub use tree::{Contradicted, Measured, Node, Tree, Values};
