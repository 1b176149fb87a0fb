//! Questions that not every composition has an answer to.

use super::{Composition, Group};
use crate::error::{Error, Result};

impl Composition {
    /// Refuses a question that has an answer only if the pair of laws is symmetric and nothing is revealed
    /// for certain.
    pub(crate) fn has_symmetric_pair(&self, what: &str) -> Result<()> {
        self.is_its_own_mirror(what)?;
        self.has_trade_off(what)
    }

    /// Refuses a question about tests where there is no pair of laws, or where something is revealed for
    /// certain.
    pub(crate) fn has_trade_off(&self, what: &str) -> Result<()> {
        self.has_a_law(what)?;
        if !self.accountant().infinity_either_way().upper().is_zero() {
            return Err(Error::stated(
                format!("{what}: some mechanism reveals the record for certain with a positive probability"),
                "ask for delta or epsilon, which count that probability",
            ));
        }
        Ok(())
    }

    /// Refuses a question about one law if adding and removing a record differ.
    pub(crate) fn is_its_own_mirror(&self, what: &str) -> Result<()> {
        let asymmetric = |g: &&Group| !g.mechanism.is_symmetric();
        match self.groups().iter().find(asymmetric) {
            Some(group) => {
                let hint = "delta and epsilon have an answer for each direction, and for both";
                Err(group.mechanism.has_no(&format!("symmetric pair of laws, which {what} needs"), hint))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn has_a_law(&self, what: &str) -> Result<()> {
        let known = |g: &&Group| g.mechanism.is_one_sided();
        match self.groups().iter().find(known) {
            Some(group) => {
                let hint = "only its Rényi divergences are bounded; delta and epsilon have an upper bound";
                Err(group.mechanism.has_no(&format!("law of the privacy loss, which {what} needs"), hint))
            }
            None => Ok(()),
        }
    }
}
