//! What is decided before anything is measured: the plan, the certificate, and what is written about both.

use unspent::file::FileDigest;
use unspent::question::{CertificateQuestion, Product};
use unspent::report::certificate::Stamp;
use unspent::{Allocation, Ask, Certificate, Delta, Error, ErrorKind, Neighbours, Result};

use crate::date;
use crate::manifest::{self, ALLOCATION, BypassedEntry, ExactEntry, LevelEntry, Manifest};
use crate::measurements::{BypassedUnits, bypassed_csv};
use crate::plan::Plan;

/// An allocation that may be measured: its certificate was made, and what it states is kept.
pub(crate) struct Approved {
    pub(crate) allocation: Allocation,
    /// The allocation as the file that is written beside the measurements.
    pub(crate) file: String,
    pub(crate) plan: Plan,
    pub(crate) certificate: Certificate,
}

/// What a manifest says of one run.
pub(crate) struct About {
    /// The table's name.
    pub(crate) table: String,
    /// How many rows it had, where each is a unit.
    pub(crate) rows: Option<u64>,
    /// What must be said of noise that is not private.
    pub(crate) warning: Option<String>,
    pub(crate) started: String,
    pub(crate) finished: String,
    pub(crate) assumes: String,
}

impl Approved {
    /// Fails with [`ErrorKind::PromiseNotKept`] unless a stated ε is kept, or it may be broken.
    pub(crate) fn new(
        allocation: Allocation,
        plan: Plan,
        delta: Option<Delta>,
        break_promise: bool,
    ) -> Result<Approved> {
        let file = allocation.to_file()?;
        let digest = FileDigest::of(ALLOCATION, &file);
        let product = Product::Allocation(Box::new(allocation.clone()), Some(digest));
        let certificate = CertificateQuestion {
            delta,
            prior: Some(Certificate::PRIOR.parse()?),
            ..CertificateQuestion::about([product])
        }
        .answer()?;
        if !break_promise {
            check_promises(&certificate)?;
        }
        Ok(Approved { allocation, file, plan, certificate })
    }

    /// What was released.
    pub(crate) fn manifest(
        &self,
        about: About,
        levels: Vec<LevelEntry>,
        exact: Vec<ExactEntry>,
        bypassed: Option<BypassedEntry>,
    ) -> Manifest<Certificate> {
        let About { table, rows, warning, started, finished, assumes } = about;
        Manifest {
            program: "unspent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            allocation: self.allocation.name().into(),
            table,
            rows,
            private: warning.is_none(),
            kept: self.certificate.kept,
            warning,
            started,
            finished,
            levels,
            exact,
            bypassed,
            files: vec![],
            assumes,
            certificate: self.certificate.clone(),
        }
    }

    /// All files of a directory of measurements but the measurements, by name; the manifest, which comes
    /// last, is made to state the digests of the others.
    pub(crate) fn files(
        &self,
        manifest: &mut Manifest<Certificate>,
        bypassed: &[BypassedUnits],
    ) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![(ALLOCATION.to_string(), self.file.clone().into_bytes())];
        if let Some(entry) = &manifest.bypassed {
            files.push((entry.file.clone(), bypassed_csv(bypassed)));
        }
        let (warning, assumes) = (manifest.warning.clone(), Some(manifest.assumes.clone()));
        let signed = self.certificate.signed(&Stamp { date: date::today(), warning, assumes });
        let title = format!("Privacy certificate: {}", self.certificate.name);
        files.push(("certificate.md".into(), signed.markdown().into_bytes()));
        files.push(("certificate.html".into(), signed.html(&title).into_bytes()));
        if let Some(warning) = &manifest.warning {
            files.push(("NOT-PRIVATE.txt".into(), format!("{warning}.\n").into_bytes()));
        }
        manifest.files = files.iter().map(|(name, bytes)| FileDigest::of(name, bytes)).collect();
        let json = serde_json::to_string_pretty(manifest).expect("strings, numbers and lists");
        files.push((manifest::FILE.into(), (json + "\n").into_bytes()));
        files
    }
}

/// Fails if the number of records would be published exactly for neighbours that differ in it.
pub(crate) fn check_exact(allocation: &Allocation, plan: &Plan, total: Option<&str>) -> Result<()> {
    let published = total.filter(|total| plan.public().iter().any(|column| column == total));
    match (published, allocation.neighbours()) {
        (Some(column), Neighbours::AddRemove) => Err(Error::stated(
            format!("invariants: column `{column}` is the number of records, which is not to be published"),
            "adding a record changes it; exact totals need bounded neighbours",
        )),
        _ => Ok(()),
    }
}

/// Fails with [`ErrorKind::PromiseNotKept`] if an ε that is stated is not certified to be kept.
fn check_promises(certificate: &Certificate) -> Result<()> {
    match certificate.promises.iter().find(|promise| promise.kept != Some(true)) {
        None => Ok(()),
        Some(broken) => Err(Error::of_kind(
            ErrorKind::PromiseNotKept,
            format!("`{}`: {}", broken.product, broken.in_words()),
            "calibrate the allocation to what it states, or state what it delivers",
        )),
    }
}
