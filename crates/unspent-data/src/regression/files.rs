//! Tables S1501 as files.

use std::io::Read;
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};
use unspent::{Error, ErrorKind, Result, file};

use super::simulation::Sample;
use super::survey::{Geography, LeftOut, Survey};

/// A file that was read.
pub struct SurveyFile {
    /// Where it is.
    pub path: PathBuf,
    /// What most of its areas are, if their codes say so.
    pub geography: Option<&'static Geography>,
    /// How many areas are something else.
    pub strangers: usize,
    /// Areas that are not in the sample.
    pub left_out: Vec<LeftOut>,
    /// The others.
    pub sample: Sample,
    /// For each area that was to be left out, whether it was there.
    pub found: Vec<bool>,
}

impl SurveyFile {
    /// Reads a table; areas called like those of `without` are left out.
    pub fn read(path: &Path, without: &[String]) -> Result<SurveyFile> {
        let shown = file::shown(path);
        let mut bytes = vec![];
        file::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| {
            let cause = format!("{shown}: cannot be read: {error}");
            Error::io(cause, error, "name a table of S1501 (.csv)").with_kind(ErrorKind::Unreadable)
        })?;
        // Lines of the Bureau's files may end with a comma more than others; the survey knows how many fields
        // it needs.
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[..]);
        let mut record = ByteRecord::new();
        let mut next = |record: &mut ByteRecord| {
            reader.read_byte_record(record).map_err(|error| {
                Error::stated(format!("{shown}: {error}"), "a table is CSV: columns separated by commas")
            })
        };
        if !next(&mut record)? {
            let hint = "a table has a line of names and then one line for each area";
            return Err(Error::stated(format!("{shown}: is empty"), hint));
        }
        // Names of places may be in any encoding; nothing else that is read is more than ASCII.
        let texts = |record: &ByteRecord| -> Vec<String> {
            record.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
        };
        let names = texts(&record);
        let mut survey = Survey::new(names.iter().map(String::as_str)).map_err(|e| e.at(&shown))?;
        let mut found = vec![false; without.len()];
        while next(&mut record)? {
            let fields = texts(&record);
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let line = record.position().map_or(0, csv::Position::line);
            let asked = survey.row(&fields, without).map_err(|e| e.at(format!("{shown}:{line}")))?;
            if let Some(i) = asked {
                found[i] = true;
            }
        }
        let (geography, strangers, left_out) = (survey.geography(), survey.strangers(), survey.left_out());
        let sample = survey.into_sample().map_err(|e| e.at(&shown))?;
        Ok(SurveyFile { path: path.into(), geography, strangers, left_out, sample, found })
    }

    /// Its geography, or its file.
    #[must_use]
    pub fn name(&self) -> String {
        self.geography.map_or_else(|| self.stem(), |geography| geography.name.into())
    }

    /// Its file, without path and extension.
    pub(super) fn stem(&self) -> String {
        self.path
            .file_stem()
            .map_or_else(|| self.path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
    }
}
