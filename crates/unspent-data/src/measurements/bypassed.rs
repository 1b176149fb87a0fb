//! The units that are bypassed: listed in a file beside the measurements, and read back.
//!
//! The file is CSV with the columns `level` and `geocode`, from the largest areas to the smallest. Whoever
//! estimates needs it: a unit that is not measured has no row in any other file, and is there all the same.

use std::collections::HashSet;

use unspent::{Error, Result};

use super::read::differs;
use super::{BypassedUnits, Reader};
use crate::names::one_of;
use crate::progress::Quiet;
use crate::table::{Input, Table, Wanted};

/// The columns of the file.
const COLUMNS: [&str; 2] = ["level", "geocode"];

/// The text of the file.
pub(crate) fn csv(levels: &[BypassedUnits]) -> Vec<u8> {
    let units =
        levels.iter().flat_map(|BypassedUnits { level, codes }| codes.iter().map(move |c| [level, c]));
    // Codes are written as they are: what reads them compares them with others.
    let mut writer = csv::Writer::from_writer(vec![]);
    writer.write_record(COLUMNS).expect("memory takes it");
    units.for_each(|unit| writer.write_record(unit).expect("memory takes it"));
    writer.into_inner().expect("memory takes it")
}

impl Reader {
    /// The units that are bypassed, which must be as many as the manifest says.
    pub fn read_bypassed(&self) -> Result<Vec<BypassedUnits>> {
        let Some(entry) = &self.manifest().bypassed else { return Ok(vec![]) };
        let path = self.beside(&entry.file)?;
        let name = path.display().to_string();
        let level = |said: &String| BypassedUnits { level: said.clone(), codes: vec![] };
        let mut found: Vec<BypassedUnits> = entry.levels.iter().map(|said| level(&said.level)).collect();
        let mut seen: Vec<HashSet<String>> = found.iter().map(|_| HashSet::new()).collect();
        let columns = COLUMNS.map(String::from);
        let table = Table::open(Input::File(path), Wanted { codes: &columns, values: &[], counts: &[] })?;
        let read = table.rows(&mut Quiet, &mut |row| {
            let (level, code) = (row.codes[0], row.codes[1]);
            let known = entry.levels.iter().map(|said| said.level.as_str());
            let at = one_of("level", level, known, "the manifest names the levels that have bypassed units")?;
            if !seen[at].insert(code.into()) {
                let cause = format!("unit `{code}` of level `{level}` is there twice");
                return Err(Error::stated(cause, "a bypassed unit is listed once"));
            }
            found[at].codes.push(code.into());
            Ok(())
        });
        // The list is public: its codes may be shown.
        read.map_err(Error::revealed)?;
        for (said, BypassedUnits { level, codes }) in entry.levels.iter().zip(&found) {
            if codes.len() as u64 != said.units {
                let (found, said) = (codes.len(), said.units);
                let what = format!("has {found} units of level `{level}`; the manifest says {said}");
                return Err(differs(&name, &what));
            }
        }
        Ok(found)
    }
}
