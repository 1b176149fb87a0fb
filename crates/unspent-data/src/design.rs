//! The tree of a public list of units, for a budget that is designed from needs.
//!
//! Only columns with codes are read: no count of any record can come in.

use unspent::schema::Schema;
use unspent::{Allocation, Result};
use unspent_estimate::design::UnitTree;

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
