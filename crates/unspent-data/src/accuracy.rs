//! How far every estimate will be from the true count, on the tree of a public list of units.
//!
//! ```text
//! list of units ─▶ units with their paths ─▶ Tree: the variance of each ─▶ Accuracy: by level and query
//! ```
//!
//! Only columns with codes are read, and the one that says which units are bypassed: no count of any record
//! can come in.

use std::collections::HashMap;

use unspent::allocation::{ExactValues, Production};
use unspent::schema::Schema;
use unspent::{Allocation, Result};
use unspent_estimate::accuracy::{Assumptions, Prospect, TreeKind};
use unspent_estimate::{Accuracy, Node, SharedClass, Tree};

use crate::plan::Plan;
use crate::progress::Progress;
use crate::table::Input;
use crate::units::{BypassRule, UnitColumns, Units};

/// An allocation and a list of units.
pub struct UnitsAccuracy {
    /// The list of all units of the smallest level, which is public.
    pub units: Input,
    /// What is asked, and with what noise.
    pub allocation: Allocation,
    /// How the list is read; as the allocation or a file beside the list says, unless given.
    pub schema: Option<Schema>,
    /// Which units are bypassed. Unless given: the only children of their parents, if the allocation is for a
    /// system that bypasses units; otherwise none.
    pub bypass: Option<BypassRule>,
    /// What errors are computed with.
    pub assumptions: Assumptions,
}

impl UnitsAccuracy {
    /// With the usual assumptions.
    #[must_use]
    pub fn new(units: Input, allocation: Allocation) -> UnitsAccuracy {
        UnitsAccuracy { units, allocation, schema: None, bypass: None, assumptions: Assumptions::default() }
    }

    /// Reads the list and answers.
    pub fn answer(self, progress: &mut dyn Progress) -> Result<Accuracy> {
        let allocation = match self.units.schema(self.schema, Some(&self.allocation))? {
            Some(schema) => self.allocation.with_schema(schema),
            None => self.allocation,
        };
        let allocation = without_public_numbers(allocation)?;
        let rule = self.bypass.unwrap_or(match allocation.production().bypass {
            Some(_) => BypassRule::OnlyChildren,
            None => BypassRule::None,
        });
        let plan = Plan::of(&allocation.without_bypass())?;
        // Whatever is wrong with the allocation is said before the list is read.
        let prospect = Prospect::new(&allocation, &self.assumptions)?;
        let bypassed = if let BypassRule::Column(column) = &rule { Some(column) } else { None };
        let columns = UnitColumns { total: None, bypassed };
        let units = Units::read(self.units, &plan, columns, progress)?;
        let (units, allocation) = units.bypass(&rule, &plan, &allocation)?;
        let listed = Listed::new(&prospect, &units, &plan, &allocation)?;
        let tree = Tree::new(prospect.model(), listed.nodes);
        let mut tally = prospect.tally();
        for (node, of) in listed.units.iter().enumerate() {
            tally.add(&tree, node, of.level, tree.nodes()[node].count as u64, of.bypassed);
        }
        Ok(prospect.accuracy(tally, &tree, TreeKind::Listed))
    }
}

/// Public numbers of units say nothing about the records: their columns are not read.
pub(crate) fn without_public_numbers(allocation: Allocation) -> Result<Allocation> {
    let mut production: Production = allocation.production().clone();
    production.invariants.retain(|invariant| matches!(invariant.values, ExactValues::Query(_)));
    allocation.used_by(production)
}

/// What a node of the tree is.
struct Unit {
    level: usize,
    bypassed: bool,
}

/// The units of a list as nodes of a tree, parents before their children.
struct Listed {
    nodes: Vec<Node>,
    units: Vec<Unit>,
}

impl Listed {
    fn new(prospect: &Prospect, units: &Units, plan: &Plan, allocation: &Allocation) -> Result<Listed> {
        let place = |name: &str| allocation.levels().iter().position(|level| level.name == name);
        let levels: Vec<usize> =
            plan.levels().iter().map(|level| place(&level.name).expect("a plan of it")).collect();
        let paths = allocation.paths();
        let mut classes: HashMap<(usize, Option<usize>), SharedClass> = HashMap::new();
        let mut listed = Listed { nodes: vec![], units: vec![] };
        // The unit of each level that is open, and the leaves of the last one that has children.
        let mut open = vec![0; levels.len()];
        let mut leaves: Vec<(Option<usize>, usize)> = vec![];
        for (unit, changed) in units.changed_levels(plan)?.into_iter().enumerate() {
            let path = &paths[units.known(unit).path];
            for (at, level) in levels.iter().enumerate().skip(usize::from(changed)) {
                let last = path.budget_end(*level);
                let is_leaf = at + 1 == levels.len();
                if !is_leaf {
                    // Another parent.
                    leaves.clear();
                }
                let same = leaves.iter().find(|(budget, _)| is_leaf && *budget == last);
                if let Some((_, node)) = same {
                    listed.nodes[*node].count += 1.0;
                    continue;
                }
                let class = match classes.get(&(*level, last)) {
                    Some(class) => class.clone(),
                    None => {
                        let class = prospect.class(*level, last)?;
                        classes.insert((*level, last), class.clone());
                        class
                    }
                };
                open[at] = listed.nodes.len();
                if is_leaf {
                    leaves.push((last, open[at]));
                }
                let parent = at.checked_sub(1).map(|above| open[above]);
                listed.nodes.push(Node { parent, class, count: 1.0 });
                listed.units.push(Unit { level: *level, bypassed: last.is_none() });
            }
        }
        Ok(listed)
    }
}
