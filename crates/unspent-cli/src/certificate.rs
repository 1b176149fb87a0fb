//! `unspent certificate`: what a release promises, as published and tight, and the removable noise.

use clap::Args;
use unspent::question::CertificateQuestion;
use unspent::report::certificate::Stamp;
use unspent::{Ask, Certificate, Conversion, Delta, Epsilon};
use unspent_data::date;

use crate::Failure;
use crate::output::{self, Format};
use crate::source::Source;
use crate::terminal;
use crate::terms::TermsArguments;

/// What a release promises: by level, attribute and place, as published and tight.
///
/// Every epsilon stands there three times: by the conversions from rho of Bun and Steinke and of
/// Canonne, Kamath and Steinke, and tight, as certified bounds. The last part is the removable noise:
/// by what factor all variances, or those of one level, could be smaller for the same published
/// epsilon. --markdown and --html write a document to be signed.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent certificate pl94-persons-us-2020
  unspent certificate budget.toml --delta 1e-6 --html > certificate.html
  unspent certificate --product pl94-persons-us-2020 --product dhc-persons-us-2020
  unspent certificate --product dhc-persons-us-2020 --product dhc-units-us-2020 --touches 2
  unspent certificate --series us-2020
  unspent certificate budget.toml --check
  unspent certificate budgets.csv --neighbours bounded --delta 1e-10 --json"
)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,

    /// The delta of every epsilon; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// The conversion whose epsilon counts as published
    ///
    /// bun-steinke or canonne-kamath-steinke; that of the allocation unless given.
    #[arg(long, value_name = "C")]
    conversion: Option<String>,

    /// An epsilon that is promised for the whole release, to be checked
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,

    #[command(flatten)]
    terms: TermsArguments,

    /// Ends with exit code 3 if a promise is not certified to be kept
    #[arg(long)]
    check: bool,

    /// Writes a page of HTML, to be printed and signed
    #[arg(long, group = "format")]
    html: bool,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Reads, asks and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let question = CertificateQuestion {
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            conversion: self.conversion.as_deref().map(Conversion::parse).transpose()?,
            epsilon: self.epsilon.as_deref().map(Epsilon::parse).transpose()?,
            // A document to be signed says it in plain words too.
            prior: (self.html || self.format.markdown).then(|| Certificate::PRIOR.parse()).transpose()?,
            ..CertificateQuestion::about(self.source.products()?)
        };
        let certificate = question.ask(&self.terms.terms()?)?;
        let signed = || certificate.signed(&Stamp { date: date::today(), ..Stamp::default() });
        output::print(&match self.format {
            Format { json: true, .. } => output::json(&certificate),
            Format { csv: true, .. } => certificate.columns().csv(),
            Format { markdown: true, .. } => signed().markdown(),
            _ if self.html => signed().html(&format!("Privacy certificate: {}", certificate.name)),
            _ => terminal::shown(&certificate.document()),
        })?;
        if self.check { keeps(&certificate) } else { Ok(()) }
    }
}

/// What to do about a promise that is not kept.
pub const NOT_KEPT: &str =
    "`unspent calibrate FILE --epsilon E` finds noise that keeps it; or state what is delivered";

/// A failure with exit code 3 if a promise is not certified to be kept.
fn keeps(certificate: &Certificate) -> Result<(), Failure> {
    match certificate.promises.iter().find(|promise| promise.kept != Some(true)) {
        None => Ok(()),
        Some(broken) => Err(Failure {
            code: 3,
            ..Failure::usage(format!("`{}`: {}", broken.product, broken.in_words()), NOT_KEPT)
        }),
    }
}
