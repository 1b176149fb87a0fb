//! How much work an answer is worth.

use crate::named::named;

/// How much work an answer is worth. Every answer is certified, whatever the effort; more of it makes bounds
/// narrower where there is neither a usable lattice of losses nor a small number of atoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// For answers while somebody waits: a relative width of δ of 10⁻⁵ is enough where anything better takes
    /// milliseconds, and a wider one where even that does, as with noise far below 1.
    Fast,
    /// A relative width of δ of 10⁻⁶ or less.
    #[default]
    Normal,
    /// A relative width of δ of 10⁻⁹ or less, where it can be had.
    Thorough,
}

impl Effort {
    /// All of them.
    pub const ALL: [Effort; 3] = [Effort::Fast, Effort::Normal, Effort::Thorough];

    /// `fast`, `normal` or `thorough`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Effort::Fast => "fast",
            Effort::Normal => "normal",
            Effort::Thorough => "thorough",
        }
    }

    /// Relative width of δ aimed at where no lattice makes it narrower.
    #[must_use]
    pub fn tolerance(self) -> f64 {
        match self {
            Effort::Fast => 1e-5,
            Effort::Normal => 1e-6,
            Effort::Thorough => 1e-9,
        }
    }

    /// Work that one answer may take, in evaluations of one mechanism's transform, each of a tenth of a
    /// microsecond or two.
    pub(crate) fn allowance(self) -> f64 {
        match self {
            Effort::Fast => (1u64 << 18) as f64,
            Effort::Normal => (1u64 << 23) as f64,
            Effort::Thorough => (1u64 << 26) as f64,
        }
    }
}

named!(Effort, "effort", "the effort is how much work an answer is worth; `normal` is right for most");
