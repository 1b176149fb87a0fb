//! Needs files and what they name: the tree of a public list of units, for a budget that is designed from
//! needs.
//!
//! Of a list only columns with codes are read: no count of any record can come in.

use std::path::{Path, PathBuf};

use unspent::file::{read_text, shown};
use unspent::schema::Schema;
use unspent::{Allocation, ErrorKind, Preset, Result};
use unspent_estimate::design::{OtherFiles, UnitTree};

use crate::accuracy::without_public_numbers;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::table::Input;
use crate::units::{UnitColumns, Units};

/// The units of a list, by the levels of an allocation. The list is read as `schema` says; as the allocation
/// or a file beside the list does, unless given.
pub fn unit_tree(
    list: Input,
    schema: Option<Schema>,
    allocation: Allocation,
    progress: &mut dyn Progress,
) -> Result<UnitTree> {
    let allocation = match list.schema(schema, Some(&allocation))? {
        Some(schema) => allocation.with_schema(schema),
        None => allocation,
    };
    let plan = Plan::of(&without_public_numbers(allocation)?.without_bypass())?;
    let units = Units::read(list, &plan, UnitColumns::default(), progress)?;
    let levels = plan.levels().len();
    // How many units of each level there are so far: the last one is open.
    let mut seen = vec![0u32; levels];
    let mut parents = vec![vec![]; levels - 1];
    for changed in units.changed_levels(&plan)? {
        for level in usize::from(changed)..levels {
            seen[level] += 1;
            if let Some(above) = level.checked_sub(1) {
                parents[above].push(seen[above] - 1);
            }
        }
    }
    Ok(UnitTree { roots: u64::from(seen[0]), parents })
}

/// The text of a needs file.
pub fn needs_text(path: &Path) -> Result<String> {
    let hint = "a needs file is a short text; examples/needs.toml is one";
    let text = read_text(path, hint, "check the path");
    text.map_err(|e| e.at(shown(path)).with_kind(ErrorKind::Unreadable))
}

/// The files beside a needs file. Paths are from its folder on.
pub struct NeedsFolder<'p> {
    folder: PathBuf,
    progress: &'p mut dyn Progress,
}

impl<'p> NeedsFolder<'p> {
    /// The folder in which a needs file is.
    pub fn of(needs: &Path, progress: &'p mut dyn Progress) -> NeedsFolder<'p> {
        NeedsFolder { folder: needs.parent().unwrap_or(Path::new("")).to_path_buf(), progress }
    }
}

impl OtherFiles for NeedsFolder<'_> {
    fn folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }

    fn allocation(&mut self, name: &str) -> Result<Allocation> {
        let path = self.folder.join(name);
        match Preset::find(name) {
            Ok(preset) => preset.allocation(),
            // A bare word that is no file was meant to be a preset.
            Err(error) if !name.contains(['.', '/', '\\']) && !path.exists() => Err(error),
            Err(_) => Allocation::read(&path, None),
        }
    }

    fn units(&mut self, list: &str, schema: Option<&str>, offer: &Allocation) -> Result<UnitTree> {
        let schema = schema.map(|name| match Schema::shipped(name) {
            Ok(schema) => Ok(schema),
            Err(_) => Schema::read(&self.folder.join(name)),
        });
        let list = Input::File(self.folder.join(list));
        unit_tree(list, schema.transpose()?, offer.clone(), self.progress)
    }
}
