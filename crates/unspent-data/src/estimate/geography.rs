//! Units by their codes: which unit lies in which, and whether one came twice.

use std::collections::HashMap;

use unspent::schema::Code;

/// The units above the smallest level, by their codes.
#[derive(Debug, Default)]
pub(super) struct Geography {
    codes: Vec<Option<Code>>,
    /// For each level, the node of each code.
    nodes: Vec<HashMap<String, u32>>,
    /// For each level, the lengths of its codes, from long to short.
    lengths: Vec<Vec<usize>>,
}

impl Geography {
    pub(super) fn new(codes: Vec<Option<Code>>) -> Geography {
        let levels = codes.len();
        Geography { codes, nodes: vec![HashMap::new(); levels], lengths: vec![vec![]; levels] }
    }

    pub(super) fn node(&self, level: usize, code: &str) -> Option<usize> {
        self.nodes[level].get(code).map(|node| *node as usize)
    }

    /// Whether the unit is new.
    pub(super) fn insert(&mut self, level: usize, code: &str, node: usize) -> bool {
        let length = code.chars().count();
        let lengths = &mut self.lengths[level];
        if !lengths.contains(&length) {
            lengths.push(length);
            lengths.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.nodes[level].insert(code.into(), node as u32).is_none()
    }

    /// Whether any level above has units.
    pub(super) fn has_units_above(&self, level: usize) -> bool {
        self.nodes[..level].iter().any(|units| !units.is_empty())
    }

    /// The nearest unit above one of that level and code; none if no level above has one. Fails if codes do
    /// not say which it is.
    pub(super) fn parent(&self, level: usize, code: &str) -> Result<Option<usize>, Unclear> {
        for above in (0..level).rev() {
            if let Some(node) = self.ancestor(level, code, above)? {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    fn ancestor(&self, level: usize, code: &str, above: usize) -> Result<Option<usize>, Unclear> {
        let units = &self.nodes[above];
        let only = || units.values().next().filter(|_| units.len() == 1).map(|node| *node as usize);
        match (&self.codes[level], &self.codes[above]) {
            _ if units.is_empty() => Ok(None),
            // The whole table, or codes that begin like those above.
            (Some(Code::Prefix(_)), Some(Code::Prefix(_))) => Ok(self.beginning(above, code)),
            (None, None) => Ok(self.beginning(above, code).or_else(only)),
            (_, Some(Code::Prefix(0))) => Ok(only()),
            (Some(Code::Columns(own)), Some(Code::Columns(theirs))) => {
                let parts: Vec<&str> = if own.len() > 1 { code.split('-').collect() } else { vec![code] };
                let part = |column: &String| {
                    own.iter().position(|own| own == column).and_then(|at| parts.get(at).copied())
                };
                match theirs.iter().map(part).collect::<Option<Vec<&str>>>() {
                    Some(code) => Ok(self.node(above, &code.join("-"))),
                    None => only().map(Some).ok_or(Unclear { above }),
                }
            }
            _ => only().map(Some).ok_or(Unclear { above }),
        }
    }

    /// The unit whose code a code begins with.
    fn beginning(&self, above: usize, code: &str) -> Option<usize> {
        let starts = |length: &usize| {
            let end = match code.is_ascii() {
                true => (*length <= code.len()).then_some(*length),
                false => code.char_indices().map(|(at, _)| at).chain([code.len()]).nth(*length),
            };
            self.node(above, &code[..end?])
        };
        self.lengths[above].iter().find_map(starts)
    }

    /// Whether a code is as long as those of a level are.
    pub(super) fn is_as_long(&self, level: usize, code: &str) -> bool {
        match &self.codes[level] {
            Some(Code::Prefix(length)) => code.chars().count() == *length,
            _ => true,
        }
    }
}

/// Codes do not say in which unit of that level a unit lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unclear {
    pub(super) above: usize,
}

/// Codes that came one after the other, and whether each came after the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    first: String,
    last: String,
    pub(super) units: u64,
    by_letters: bool,
    by_length: bool,
}

fn by_length(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.split('-').map(|part| (part.len(), part))
}

impl Order {
    pub(super) fn push(&mut self, code: &str) {
        if self.units == 0 {
            (self.by_letters, self.by_length) = (true, true);
            self.first.push_str(code);
        } else {
            self.by_letters &= *self.last < *code;
            self.by_length &= by_length(&self.last).lt(by_length(code));
        }
        self.units += 1;
        self.last.clear();
        self.last.push_str(code);
    }

    /// Whether all codes of all parts are different: they are if they ascend in one order.
    pub(super) fn ascends(parts: &[Order]) -> bool {
        let parts: Vec<&Order> = parts.iter().filter(|part| part.units > 0).collect();
        let between = |less: &dyn Fn(&str, &str) -> bool| {
            parts.windows(2).all(|pair| less(&pair[0].last, &pair[1].first))
        };
        (parts.iter().all(|part| part.by_letters) && between(&|a, b| a < b))
            || (parts.iter().all(|part| part.by_length) && between(&|a, b| by_length(a).lt(by_length(b))))
    }
}
