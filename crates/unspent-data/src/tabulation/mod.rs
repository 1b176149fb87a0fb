//! Rows in, units out, as soon as they are complete.
//!
//! ```text
//! Plan ──────────────────▶ Tabulation ─▶ Batch ────────▶ NoisyBatch
//! rows, in order of code ─▶ (open units)  (exact counts)  (with noise)
//! ```
//!
//! Rows come sorted, so that a unit is complete when the next one begins: memory holds one open unit a level
//! and one batch a level, however long the table is. Only a [`NoisyBatch`] has values that can be read.

mod batch;
#[cfg(test)]
mod tests;

use unspent::{Error, Result};

pub use self::batch::{Batch, NoisyBatch};
use crate::plan::{CodeSource, Plan};

/// Takes a batch that is full.
pub type TakeBatch<'b> = dyn FnMut(Batch) -> Result<()> + 'b;

/// Values at which a batch is cut: some 16 megabytes.
const BATCH: usize = 1 << 21;
/// Most bytes of a unit's code: what is longer is no code, and would be kept for every unit.
pub const MAX_CODE: usize = 256;

/// The units that are being added up.
pub struct Tabulation<'p> {
    plan: &'p Plan,
    /// The last row's code at each level of the table.
    codes: Vec<LastCode>,
    /// The open unit of each level of the plan.
    open: Vec<Vec<i64>>,
    batches: Vec<Batch>,
    /// The cells of the row.
    cells: Vec<i64>,
    /// Whether all levels are the first characters of one column.
    prefixes: bool,
    /// That column's code in the last row.
    whole: String,
    /// A code that is put together from several columns.
    joined: String,
    rows: u64,
    /// Values at which a batch is cut.
    limit: usize,
}

/// A code, and the orders in which all codes of its level have come so far.
struct LastCode {
    code: String,
    by_letters: bool,
    by_length: bool,
}

impl<'p> Tabulation<'p> {
    /// Nothing was read yet.
    #[must_use]
    pub fn new(plan: &'p Plan) -> Tabulation<'p> {
        let last = |_| LastCode { code: String::new(), by_letters: true, by_length: true };
        Tabulation {
            plan,
            codes: (0..plan.codes().len()).map(last).collect(),
            open: plan.levels().iter().map(|_| vec![0; plan.cells().len()]).collect(),
            batches: (0..plan.levels().len()).map(|level| Batch::new(plan, level)).collect(),
            cells: vec![0; plan.cells().len()],
            prefixes: plan.codes().iter().all(|c| matches!(c, CodeSource::Prefix { .. })),
            whole: String::new(),
            joined: String::new(),
            rows: 0,
            limit: BATCH,
        }
    }

    /// Adds a row: its codes and counts, in the order of the plan's columns. Batches that are full go to `full`.
    pub fn row(&mut self, codes: &[&str], counts: &[i64], full: &mut TakeBatch<'_>) -> Result<()> {
        self.check_counts(counts)?;
        let changed = self.check_codes(codes)?;
        if self.rows > 0 {
            self.close(changed, full)?;
        }
        for (last, source) in self.codes.iter_mut().zip(self.plan.codes()).skip(changed) {
            let code = code(source, codes, &mut self.joined)?;
            last.code.clear();
            last.code.push_str(code);
        }
        if let Some(smallest) = self.open.last_mut() {
            add(smallest, &self.cells)
                .ok_or_else(|| too_large(self.plan, &self.codes, self.plan.levels().len() - 1))?;
        }
        self.rows += 1;
        Ok(())
    }

    /// No more rows: hands over what is left, and returns how many rows there were.
    pub fn finish(mut self, full: &mut TakeBatch<'_>) -> Result<u64> {
        if self.rows == 0 {
            let hint = "a table has a line of names and then one line for each unit";
            return Err(Error::stated("the table has no rows", hint));
        }
        self.close(0, full)?;
        for batch in std::mem::take(&mut self.batches) {
            if !batch.is_empty() {
                full(batch)?;
            }
        }
        Ok(self.rows)
    }

    /// The cells of the row, none of them negative.
    fn check_counts(&mut self, counts: &[i64]) -> Result<()> {
        for (i, (cell, source)) in self.cells.iter_mut().zip(self.plan.cells()).enumerate() {
            let mut count = counts[source.column];
            for less in &source.minus {
                // Neither is negative, so that the difference is in range unless it is negative many times
                // over.
                count = count.saturating_sub(counts[*less]);
            }
            if count < 0 {
                let cell = &self.plan.schema().cells()[i];
                let cause = format!("{} less {} is {count}", cell.column, cell.minus.join(" less "));
                let concealed = format!("{} less {} is negative", cell.column, cell.minus.join(" less "));
                let hint = "a cell is never negative: check the columns of the schema";
                return Err(Error::stated(cause, hint).concealed_as(concealed));
            }
            *cell = count;
        }
        Ok(())
    }

    /// The first level of the table at which the unit is a new one, where that is plain to see: the code has the
    /// length of the one before, comes after it, and all levels are its first characters.
    fn changed_prefix(&mut self, codes: &[&str]) -> Option<usize> {
        let code = codes[0];
        // Without hyphens the order of letters is that of parts, for codes of the same length.
        let plain = |code: &str| code.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'-');
        let comparable = code.len() == self.whole.len() && plain(code) && plain(&self.whole);
        if !self.prefixes || !comparable || *code <= *self.whole {
            return None;
        }
        let same = code.bytes().zip(self.whole.bytes()).take_while(|(a, b)| a == b).count();
        let longer =
            |source: &CodeSource| matches!(source, CodeSource::Prefix { length, .. } if *length > same);
        let changed = self.plan.codes().iter().position(longer)?;
        self.whole.clear();
        self.whole.push_str(code);
        Some(changed)
    }

    /// The first level of the table at which the unit is a new one.
    fn check_codes(&mut self, codes: &[&str]) -> Result<usize> {
        if let Some(changed) = self.changed_prefix(codes) {
            return Ok(changed);
        }
        let levels = self.plan.schema().levels();
        let mut changed: Option<usize> = None;
        for (depth, source) in self.plan.codes().iter().enumerate() {
            let code =
                code(source, codes, &mut self.joined).map_err(|e| e.at(level_named(&levels[depth].name)))?;
            let last = &mut self.codes[depth];
            let same = self.rows > 0 && last.code == code;
            if same {
                if let Some(above) = changed {
                    let name: &str = &levels[above].name;
                    return Err(Error::stated(
                        format!(
                            "unit `{code}` of level `{}` lies in two units of level `{name}`",
                            levels[depth].name
                        ),
                        "levels must nest; if other units have the same code, name several columns, \
                         as in [\"county\", \"tract\"]",
                    )
                    .concealed_as(format!(
                        "the unit of level `{}` lies in two units of level `{name}`",
                        levels[depth].name
                    )));
                }
                continue;
            }
            changed.get_or_insert(depth);
            if self.rows > 0 {
                last.by_letters &= *last.code < *code;
                last.by_length &= parts(&last.code).lt(parts(code));
                if !last.by_letters && !last.by_length {
                    return Err(Error::stated(
                        format!(
                            "code `{code}` of level `{}` comes after `{}`",
                            levels[depth].name, last.code
                        ),
                        "sort the table by its codes; if a code means several units, name more columns, \
                         as in [\"county\", \"tract\"]",
                    )
                    .concealed_as(format!(
                        "the code of level `{}` is not after the one before",
                        levels[depth].name
                    )));
                }
            }
        }
        if let CodeSource::Prefix { column, length } = self.plan.codes()[levels.len() - 1]
            && codes[column].chars().count() != length
        {
            let allowed = format!("a code of {length} characters");
            let hint = "a row is a unit of the last level, and its code as long as [table.levels] says";
            let name = &self.plan.columns().codes[column];
            return Err(Error::input(name, codes[column], allowed, hint).concealed());
        }
        if self.prefixes {
            self.whole.clear();
            self.whole.push_str(codes[0]);
        }
        changed.ok_or_else(|| {
            let level = &levels[levels.len() - 1].name;
            let code = &self.codes[levels.len() - 1].code;
            Error::stated(
                format!("there are two rows for unit `{code}` of level `{level}`"),
                "there is one row for each unit of the last level",
            )
            .concealed_as(format!("there are two rows for one unit of level `{level}`"))
        })
    }

    /// Hands over the open units of the levels from `changed` down.
    fn close(&mut self, changed: usize, full: &mut TakeBatch<'_>) -> Result<()> {
        for (i, level) in self.plan.levels().iter().enumerate().rev() {
            if level.depth < changed {
                break;
            }
            let (above, here) = self.open.split_at_mut(i);
            let here = &mut here[0];
            if let Some(above) = above.last_mut() {
                add(above, here).ok_or_else(|| too_large(self.plan, &self.codes, i - 1))?;
            }
            let (batch, code) = (&mut self.batches[i], &self.codes[level.depth].code);
            let pushed = batch.push(self.plan, code, here);
            pushed.ok_or_else(|| too_large(self.plan, &self.codes, i))?;
            here.fill(0);
            if batch.size() >= self.limit {
                full(std::mem::replace(batch, Batch::new(self.plan, i)))?;
            }
        }
        Ok(())
    }
}

/// A sum of the open unit of a level of the plan is.
fn too_large(plan: &Plan, codes: &[LastCode], level: usize) -> Error {
    let level = &plan.levels()[level];
    let error = overflow(&format!("unit `{}` of level `{}`", codes[level.depth].code, level.name));
    error.concealed_as(overflow(&format!("the unit of level `{}`", level.name)).to_string())
}

/// The parts of a code, to be compared as numbers without leading zeros are.
fn parts(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.split('-').map(|part| (part.len(), part))
}

fn level_named(name: &str) -> String {
    format!("level `{name}`")
}

fn overflow(what: &str) -> Error {
    Error::stated(format!("{what}: a sum exceeds 2^63 − 1"), "check the counts of the table")
}

/// Adds counts that are not negative; nothing if a sum is too large.
fn add(sums: &mut [i64], counts: &[i64]) -> Option<()> {
    let mut all = 0;
    for (sum, count) in sums.iter_mut().zip(counts) {
        // The sum of two such numbers is negative if and only if it is too large.
        *sum = sum.wrapping_add(*count);
        all |= *sum;
    }
    (all >= 0).then_some(())
}

/// The code of a level's unit.
fn code<'c>(source: &CodeSource, codes: &[&'c str], joined: &'c mut String) -> Result<&'c str> {
    let code = match source {
        CodeSource::Prefix { length: 0, .. } => return Ok(""),
        CodeSource::Prefix { column, length } => {
            let code = codes[*column];
            let end = if code.is_ascii() {
                Some(*length).filter(|n| *n <= code.len())
            } else {
                code.char_indices().map(|(at, _)| at).chain([code.len()]).nth(*length)
            };
            let Some(end) = end else {
                let allowed = format!("a code of at least {length} characters");
                let hint = "codes nest by their first characters; leading zeros may have been lost";
                return Err(Error::input("code", code, allowed, hint).concealed());
            };
            &code[..end]
        }
        CodeSource::Columns(columns) => match &columns[..] {
            [one] => codes[*one],
            several => {
                joined.clear();
                for (i, column) in several.iter().enumerate() {
                    let part = codes[*column];
                    if part.is_empty() || part.contains('-') {
                        let hint = "every column of a code has a text, without hyphens: these join them";
                        return Err(Error::input("code", part, "a part of a code", hint).concealed());
                    }
                    if i > 0 {
                        joined.push('-');
                    }
                    joined.push_str(part);
                }
                joined
            }
        },
    };
    if code.len() > MAX_CODE {
        let allowed = format!("a code of at most {MAX_CODE} bytes");
        return Err(Error::input("code", code, allowed, "check the columns of the schema").concealed());
    }
    if code.is_empty() || code.chars().any(char::is_control) {
        return Err(Error::input("code", code, "a code", "every row has one").concealed());
    }
    Ok(code)
}
