//! Codes of units, which come in order: a unit is complete when the next one begins.

use unspent::{Error, Result};

use crate::plan::{CodeSource, Plan};

/// Most bytes of a unit's code: what is longer is no code, and would be kept for every unit.
pub const MAX_CODE: usize = 256;

/// The codes of the last unit, and whether all came in order so far.
pub(crate) struct Codes<'p> {
    plan: &'p Plan,
    /// The last unit's code at each level of the table.
    last: Vec<LastCode>,
    /// Whether all levels are the first characters of one column.
    prefixes: bool,
    /// That column's code of the last unit.
    whole: String,
    /// A code that is put together from several columns.
    joined: String,
    begun: bool,
}

/// A code, and the orders in which all codes of its level have come so far.
struct LastCode {
    code: String,
    by_letters: bool,
    by_length: bool,
}

impl<'p> Codes<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Codes<'p> {
        let last = |_| LastCode { code: String::new(), by_letters: true, by_length: true };
        Codes {
            plan,
            last: (0..plan.codes().len()).map(last).collect(),
            prefixes: plan.codes().iter().all(|c| matches!(c, CodeSource::Prefix { .. })),
            whole: String::new(),
            joined: String::new(),
            begun: false,
        }
    }

    /// The code of the last unit at a level of the table.
    pub(crate) fn at(&self, depth: usize) -> &str {
        &self.last[depth].code
    }

    /// The first level of the table at which a unit is a new one. The codes stay those of the last unit until
    /// [`next`](Codes::next).
    pub(crate) fn check(&mut self, codes: &[&str]) -> Result<usize> {
        if let Some(changed) = self.changed_prefix(codes) {
            return Ok(changed);
        }
        let levels = self.plan.layout().levels();
        let mut changed: Option<usize> = None;
        for (depth, source) in self.plan.codes().iter().enumerate() {
            let code = code(source, codes, &mut self.joined)
                .map_err(|e| e.at(format!("level `{}`", levels[depth].name)))?;
            let last = &mut self.last[depth];
            let same = self.begun && last.code == code;
            if same {
                if let Some(above) = changed {
                    return Err(lies_in_two(code, &levels[depth].name, &levels[above].name));
                }
                continue;
            }
            changed.get_or_insert(depth);
            if self.begun {
                last.by_letters &= *last.code < *code;
                last.by_length &= parts(&last.code).lt(parts(code));
                if !last.by_letters && !last.by_length {
                    return Err(not_after(code, &last.code, &levels[depth].name));
                }
            }
        }
        check_length(self.plan, codes)?;
        changed.ok_or_else(|| {
            let level = &levels[levels.len() - 1].name;
            Error::stated(
                format!("there are two rows for unit `{}` of level `{level}`", self.at(levels.len() - 1)),
                "there is one row for each unit of the last level",
            )
            .concealed_as(format!("there are two rows for one unit of level `{level}`"))
        })
    }

    /// Goes on to a unit that was checked; `changed` is the first level at which it is a new one.
    pub(crate) fn next(&mut self, codes: &[&str], changed: usize) -> Result<()> {
        for (last, source) in self.last.iter_mut().zip(self.plan.codes()).skip(changed) {
            let code = code(source, codes, &mut self.joined)?;
            last.code.clear();
            last.code.push_str(code);
        }
        if self.prefixes {
            self.whole.clear();
            self.whole.push_str(codes[0]);
        }
        self.begun = true;
        Ok(())
    }

    /// The same where that is plain to see: the code has the length of the one before, comes after it, and
    /// all levels are its first characters.
    fn changed_prefix(&self, codes: &[&str]) -> Option<usize> {
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
        self.plan.codes().iter().position(longer)
    }
}

fn lies_in_two(code: &str, level: &str, above: &str) -> Error {
    Error::stated(
        format!("unit `{code}` of level `{level}` lies in two units of level `{above}`"),
        "levels must nest; if other units have the same code, name several columns, \
         as in [\"county\", \"tract\"]",
    )
    .concealed_as(format!("the unit of level `{level}` lies in two units of level `{above}`"))
}

fn not_after(code: &str, last: &str, level: &str) -> Error {
    Error::stated(
        format!("code `{code}` of level `{level}` comes after `{last}`"),
        "sort the table by its codes; if a code means several units, name more columns, \
         as in [\"county\", \"tract\"]",
    )
    .concealed_as(format!("the code of level `{level}` is not after the one before"))
}

/// The parts of a code, to be compared as numbers without leading zeros are.
fn parts(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.split('-').map(|part| (part.len(), part))
}

/// Fails unless the code of a smallest unit is as long as it has to be.
pub(crate) fn check_length(plan: &Plan, codes: &[&str]) -> Result<()> {
    match plan.codes().last() {
        Some(CodeSource::Prefix { column, length }) if codes[*column].chars().count() != *length => {
            let allowed = format!("a code of {length} characters");
            let hint = "a row is a unit of the last level, and its code as long as [table.levels] says";
            Err(Error::input(&plan.columns().codes[*column], codes[*column], allowed, hint).concealed())
        }
        _ => Ok(()),
    }
}

/// The code of a level's unit.
pub(crate) fn code<'c>(source: &CodeSource, codes: &[&'c str], joined: &'c mut String) -> Result<&'c str> {
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
