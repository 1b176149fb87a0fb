//! How well and for how long: effort, limits, and a way to stop.

use serde::Serialize;

use crate::allocation::MAX_DIGITS;
use crate::effort::Effort;
use crate::file::Draft;
use crate::stop::Stop;

/// How well an answer is to be found, and what it may cost.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How much work it is worth.
    pub effort: Effort,
    /// How large a question may be.
    pub limits: Limits,
    /// Ends it from outside, or when its time is up.
    pub stop: Option<Stop>,
}

impl Terms {
    /// For answers while somebody waits.
    #[must_use]
    pub fn fast() -> Terms {
        Terms { effort: Effort::Fast, ..Terms::default() }
    }
}

/// How large a question may be. There are none, unless they are set: a server sets them, a command does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Bytes of a file.
    pub bytes: usize,
    /// Measurements that the lines of a certificate have together.
    pub extent: usize,
    /// Levels, queries, and attributes of a draft, each.
    pub levels: usize,
    /// Queries at levels of a draft.
    pub shares: usize,
    /// Characters of a number.
    pub digits: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: usize::MAX, extent: usize::MAX, ..Limits::SERVED }
    }
}

impl Limits {
    /// Those of a server. A file of that many bytes has thousands of measurements, and the largest preset
    /// less than a thousand.
    pub const SERVED: Limits = Limits {
        bytes: 256 << 10,
        extent: 50_000,
        levels: Draft::MAX_PARTS,
        shares: Draft::MAX_MEASUREMENTS,
        digits: MAX_DIGITS,
    };
}
