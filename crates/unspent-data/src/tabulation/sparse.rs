//! Counts of the cells that are not empty.

/// Entries below which nothing is put together.
const FEW: usize = 64;

/// Counts by cell, of which few are not 0. Counts are not negative. A cell is its number in the histogram, or
/// that with a unit before it.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<C = u64> {
    /// Cells may come several times.
    entries: Vec<(C, i64)>,
    /// How many there were when they were put together last.
    distinct: usize,
}

impl<C> Default for Sparse<C> {
    fn default() -> Sparse<C> {
        Sparse { entries: vec![], distinct: 0 }
    }
}

impl<C: Ord + Copy> Sparse<C> {
    /// Adds to cells. Nothing if a sum is too large.
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = (C, i64)>) -> Option<()> {
        self.entries.extend(more);
        if self.entries.len() > 2 * self.distinct + FEW { self.put_together() } else { Some(()) }
    }

    /// Every cell once, in order. Nothing if a sum is too large.
    pub(crate) fn entries(&mut self) -> Option<&[(C, i64)]> {
        self.put_together()?;
        Some(&self.entries)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.distinct = 0;
    }

    fn put_together(&mut self) -> Option<()> {
        if !self.entries.is_sorted_by(|a, b| a.0 < b.0) {
            self.entries.sort_unstable_by_key(|entry| entry.0);
            let mut fits = true;
            self.entries.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    // The sum of two such numbers is negative if and only if it is too large.
                    kept.1 = kept.1.wrapping_add(next.1);
                    fits &= kept.1 >= 0;
                }
                same
            });
            if !fits {
                return None;
            }
        }
        self.distinct = self.entries.len();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::Sparse;

    #[test]
    fn cells_are_put_together_in_order() {
        let mut sparse = Sparse::default();
        for i in 0..1_000u64 {
            sparse.add([(i * 7 % 90, 1)]).unwrap();
        }
        let entries = sparse.entries().unwrap();
        assert_eq!(entries.len(), 90);
        assert_eq!(entries.iter().map(|(_, n)| n).sum::<i64>(), 1_000);
        assert!(entries.is_sorted_by_key(|entry| entry.0));
        sparse.clear();
        assert_eq!(sparse.entries(), Some(&[][..]));
        sparse.add([(3, i64::MAX), (3, 1)]).unwrap();
        assert_eq!(sparse.entries(), None);
    }
}
