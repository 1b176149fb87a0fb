//! Which allocations can be edited: those whose draft is within the limits of drafts.

use super::{Draft, draft};
use crate::allocation::{Allocation, Level, MAX_DIGITS};
use crate::error::{Error, ErrorKind, Result};
use crate::number::Rational;

/// Bits of the longest denominator of a budget: shares of one that is longer are too long to be edited
/// anyway, and take long to find.
const MOST_BITS: u64 = 4 * MAX_DIGITS as u64;

impl Draft {
    /// The allocation to be edited, if that can be done: if its parts are few enough, and its shares short
    /// enough, to be read again.
    pub fn of(allocation: &Allocation) -> Result<Draft> {
        if allocation.levels().is_empty() {
            return Err(Error::stated(
                format!("`{}`: it has no levels to edit, only mechanisms under [[also]]", allocation.name()),
                "a certificate is made of it, alone or among other products",
            ));
        }
        draft::check_sizes(
            allocation.levels().len(),
            allocation.queries().len(),
            allocation.attributes().len(),
            allocation.measurements().count(),
        )?;
        let mut budgets = vec![];
        for level in allocation.levels() {
            budgets.push(
                Rational::sum_within(&draft::gaussian_rhos(level), MOST_BITS)
                    .ok_or_else(|| too_long(level))?,
            );
        }
        if Rational::sum_within(&budgets, MOST_BITS).is_none() {
            return Err(Error::of_kind(
                ErrorKind::TooLarge,
                "levels: their shares of the budget are fractions too long to be edited",
                format!("a share has at most {MAX_DIGITS} characters; {HINT}"),
            ));
        }
        let found = Draft::unchecked(allocation);
        for (level, edited) in allocation.levels().iter().zip(&found.levels) {
            let scales = edited.shares.iter().filter_map(|part| part.laplace.as_ref().map(|l| &l.scale));
            let shares = edited.shares.iter().map(|part| &part.share).chain([&edited.share]);
            if shares.chain(scales).any(|share| share.len() > MAX_DIGITS) {
                return Err(too_long(level));
            }
        }
        // Whatever else a draft may not be.
        found.allocation()?;
        Ok(found)
    }
}

const HINT: &str = "a certificate is made of longer ones too, from a file";

fn too_long(level: &Level) -> Error {
    Error::of_kind(
        ErrorKind::TooLarge,
        format!("level `{}`: its shares are fractions too long to be edited", level.name),
        format!("a share has at most {MAX_DIGITS} characters; {HINT}"),
    )
}

#[cfg(test)]
mod tests {
    use super::Draft;
    use crate::{Allocation, Neighbours, Preset};

    /// A budget may be too long where all shares of it are short.
    #[test]
    fn a_draft_can_be_read_again() {
        let rho = format!("{}7/{}1", "1".repeat(126), "9".repeat(126));
        let table = format!("level,query,sigma2\na,q,{rho}\nb,q,{rho}\n");
        let allocation = Allocation::parse_csv("t.csv", &table, Neighbours::Bounded).unwrap();
        assert!(Draft::unchecked(&allocation).levels.iter().all(|level| level.share == "0.5"));
        let scaled =
            allocation.scaled(&["0.123456789".parse().unwrap(), "0.123456789".parse().unwrap()]).unwrap();
        let error = Draft::of(&scaled).unwrap_err().to_string();
        assert!(
            error.starts_with("rho: `") && error.ends_with("a number of at most 256 characters"),
            "{error}"
        );
    }

    #[test]
    fn what_can_be_edited_is_and_what_cannot_is_refused_by_name() {
        for preset in Preset::ALL {
            let allocation = preset.allocation().unwrap();
            assert_eq!(Draft::of(&allocation).unwrap(), Draft::unchecked(&allocation));
        }
        let refused = |table: String| {
            let allocation = Allocation::parse_csv("t.csv", &table, Neighbours::Bounded).unwrap();
            Draft::of(&allocation).unwrap_err().to_string()
        };
        // Denominators without a common factor, in one level and over many.
        let unlike = |i: usize| format!("{}7/{}1", "1".repeat(20 + i), "9".repeat(20 + i));
        let one: String = (0..100).map(|i| format!("a,q{i},{}\n", unlike(i))).collect();
        assert!(
            refused(format!("level,query,rho\n{one}")).starts_with("level `a`: its shares are fractions")
        );
        let many: String = (0..100).map(|i| format!("a{i},q,{}\n", unlike(i))).collect();
        assert!(
            refused(format!("level,query,rho\n{many}")).starts_with("levels: their shares of the budget")
        );
        let levels: String = (0..1_001).map(|i| format!("a{i},q,1\n")).collect();
        assert!(refused(format!("level,query,rho\n{levels}")).starts_with("levels: `1001` is not a number"));
        let names: String = (0..1_001).map(|i| format!("a,q{i},1,x{i}\n")).collect();
        assert!(
            refused(format!("level,query,rho,attributes\n{names}")).starts_with("queries: `1001` is not")
        );
    }
}
