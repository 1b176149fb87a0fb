//! What a question is about: a preset, a file, a draft, or an allocation that is there already.

use serde::Deserialize;

use crate::allocation::{Allocation, Neighbours};
use crate::error::Result;
use crate::file::{Draft, FileDigest, Preset};
use crate::release::Release;

/// One product of a release, however it is given: in JSON `{"preset": NAME}`, `{"draft": {…}}` or
/// `{"file": {"name": …, "text": …}}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Product {
    /// The preset of that name.
    Preset(String),
    /// An allocation that is being edited.
    Draft(Box<Draft>),
    /// The text of a file.
    File(FileText),
    /// An allocation, and the file it was read from.
    #[serde(skip)]
    Allocation(Box<Allocation>, Option<FileDigest>),
}

/// The text of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// Its name: a table of budgets if it ends in `.csv`, TOML otherwise.
    pub name: String,
    /// All of it.
    pub text: String,
    /// What a table of budgets cannot say.
    #[serde(default)]
    pub neighbours: Option<Neighbours>,
}

impl From<Allocation> for Product {
    fn from(allocation: Allocation) -> Product {
        Product::Allocation(Box::new(allocation), None)
    }
}

impl Product {
    /// The allocation.
    pub fn allocation(&self) -> Result<Allocation> {
        match self {
            Product::Preset(name) => Allocation::preset(name),
            Product::Draft(draft) => draft.allocation(),
            Product::File(FileText { name, text, neighbours }) => {
                Allocation::parse_named(name, text, *neighbours)
            }
            Product::Allocation(allocation, _) => Ok((**allocation).clone()),
        }
    }

    /// The file that it comes from.
    pub(super) fn file(&self) -> Option<FileDigest> {
        match self {
            Product::Preset(name) => {
                let preset = Preset::find(name).ok()?;
                Some(FileDigest::of(&format!("preset {name}"), preset.text))
            }
            Product::Draft(_) => None,
            Product::File(file) => Some(FileDigest::of(&file.name, &file.text)),
            Product::Allocation(_, file) => file.clone(),
        }
    }

    /// The products of a release.
    #[must_use]
    pub fn all_of(release: &Release) -> Vec<Product> {
        release.allocations().iter().cloned().map(Product::from).collect()
    }

    /// All of them together.
    pub(super) fn release(products: &[Product]) -> Result<Release> {
        Release::new(products.iter().map(Product::allocation).collect::<Result<_>>()?)
    }
}
