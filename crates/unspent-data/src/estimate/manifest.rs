//! What was estimated, for programs: `manifest.json` of a directory of estimates.

use serde::{Deserialize, Serialize};
use unspent::file::FileDigest;

use crate::manifest::FileEntry;

/// What was estimated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EstimateManifest {
    /// `unspent`.
    pub program: String,
    /// Of the program.
    pub version: String,
    /// What the estimates are, in a sentence.
    pub method: String,
    /// What was read.
    pub noisy: Vec<NoisySource>,
    /// How often each interval is to contain the true count.
    pub confidence: String,
    /// What the intervals are.
    pub intervals: String,
    /// What must be said of noise that is not private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// How many structural zeros of the schema were not used, because their attributes have too many values.
    pub unused_structural_zeros: usize,
    /// From the largest areas to the smallest.
    pub levels: Vec<EstimatedLevel>,
    /// Files with other sums than units.
    pub files: Vec<String>,
    /// The blocks that the table of a unit falls apart into: their components in `covariance.parquet`.
    pub components: Vec<Component>,
    /// Whole tables that add up, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<TablesEntry>,
}

/// Whole tables that add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TablesEntry {
    /// What they are, in a sentence.
    pub method: String,
    /// Whether each is from its own measurements and its parent's table alone.
    pub own_measurements: bool,
    /// The files of bounds that they meet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<FileDigest>,
    /// The columns of the files. With `index` and `count`, counts of 0 are left out.
    pub columns: Vec<String>,
    /// How many cells a table has, also those that cannot occur; the last attribute changes fastest. An
    /// attribute that may be missing has one more value, the last.
    pub cells: usize,
    /// Parents whose children's tables were projected.
    pub parents: u64,
    /// Steps of all projections together.
    pub steps: u64,
    /// How much more a projection costs than the best one, at most, as a share of what it costs that no count
    /// is negative: the largest of all.
    pub largest_gap: f64,
    /// The parent that has it.
    pub largest_gap_at: String,
    /// Where totals were decided before the rest of the tables.
    pub totals_first: Vec<TotalsFirst>,
    /// From the largest areas to the smallest.
    pub levels: Vec<TableLevel>,
    /// How their errors were simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<ReplicatesEntry>,
    /// Other files that were made from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// How the errors of tables were simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatesEntry {
    /// What they are, in a sentence.
    pub what: String,
    /// How many there are.
    pub replicates: u32,
    /// How many there were before, with the tables as they are for the truth; 0 in older manifests.
    #[serde(default)]
    pub plain_replicates: u32,
    /// The seed of their noise.
    pub seed: u64,
}

/// How many parents of a level's units decided their totals first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TotalsFirst {
    /// The level of the children.
    pub level: String,
    /// How many parents it has.
    pub families: u64,
    /// How many of them decided the totals of their children first.
    pub totals_first: u64,
}

/// The tables of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableLevel {
    /// Its name.
    pub level: String,
    /// Where its files are.
    pub folder: String,
    /// How many units it has.
    pub units: u64,
    /// Its files, in the order of the units.
    pub files: Vec<FileEntry>,
}

/// A folder of noisy measurements that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisySource {
    /// The name of the folder, without its path.
    pub folder: String,
    /// The SHA-256 of its manifest, if it has one.
    pub manifest_sha256: Option<String>,
}

/// A level of estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimatedLevel {
    /// Its name.
    pub level: String,
    /// Where its files are.
    pub folder: String,
    /// How many units it has.
    pub units: u64,
    /// What is answered for each unit, in the order of the rows.
    pub queries: Vec<String>,
    /// Queries of which some answer is not determined for some unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_determined: Vec<String>,
    /// Its files, in the order of the units.
    pub files: Vec<FileEntry>,
}

/// Copies of a small problem that share all of their matrices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// The attributes whose contrasts it has, and those whose atoms are its coordinates.
    pub name: String,
    /// How many coordinates a copy has.
    pub dimension: usize,
    /// How many copies there are.
    pub copies: usize,
}
