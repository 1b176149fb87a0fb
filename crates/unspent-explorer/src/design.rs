//! A budget from needs: the text of a needs file, and the allocation that it is about.

use serde::Deserialize;
use unspent::question::{Limits, Product};
use unspent::{Allocation, Error, Result};
use unspent_estimate::design::{Design, Needs, OtherFiles, PresetsOnly, UnitTree};

use crate::size::{HINT, check_offer};

/// By this name a text has the allocation that comes along with it. Other names are those of presets.
const THIS: &str = "this";
/// Most needs: each is a variance of its own, and one more solution for its price.
const MAX_NEEDS: usize = 50;

/// Which allocation of the least budget meets needs?
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignQuestion {
    /// The text of a needs file.
    needs: String,
    /// The allocation that it calls `this`.
    #[serde(default)]
    allocation: Option<Product>,
    /// Whether it is found out what each need costs; it is, unless given.
    #[serde(default)]
    prices: Option<bool>,
}

impl DesignQuestion {
    /// The design, within what a server grants.
    pub fn design(&self) -> Result<Design> {
        let (found, most) = (self.needs.len(), Limits::SERVED.bytes);
        if found > most {
            let cause = format!("needs: {found} bytes are more than the {most} that are read here");
            return Err(Error::stated(cause, HINT));
        }
        let needs = Needs::parse("needs", &self.needs, &mut Along(self.allocation.as_ref()))?;
        // The text may say itself what may be measured.
        check_offer(&needs.offer)?;
        let found = needs.needs.len();
        if found > MAX_NEEDS {
            let cause = format!("needs: there are {found}; at most {MAX_NEEDS} are possible here");
            return Err(Error::stated(cause, HINT));
        }
        needs.design(self.prices.unwrap_or(true))
    }
}

/// What came along with the text. No file can be named.
struct Along<'q>(Option<&'q Product>);

impl OtherFiles for Along<'_> {
    fn allocation(&mut self, name: &str) -> Result<Allocation> {
        let allocation = match (name, self.0) {
            (THIS, Some(product)) => product.allocation()?,
            (THIS, None) => {
                let hint = "give `allocation` beside `needs`, or name a preset";
                return Err(Error::stated(format!("no allocation came along as `{THIS}`"), hint));
            }
            _ => PresetsOnly.allocation(name)?,
        };
        check_offer(&allocation)?;
        Ok(allocation)
    }

    fn units(&mut self, list: &str, schema: Option<&str>, offer: &Allocation) -> Result<UnitTree> {
        PresetsOnly.units(list, schema, offer)
    }
}
