//! `unspent sample`: plain noise.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Args;
use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::Int64Type;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use unspent::mechanism::{DiscreteLaplace, kind_named};
use unspent::sampler::{Noise, Sampler};
use unspent::{DiscreteGaussian, Error, Mechanism, Rational, Result};
use unspent_data::Progress as _;

use crate::Failure;
use crate::noise::NoiseArguments;
use crate::output::{self, Target};
use crate::progress::Progress;
use crate::stated::StatedArguments;

/// Exact discrete Gaussian or discrete Laplace noise, one integer a line.
///
/// The law is P[X = x] proportional to exp(-x^2/2 sigma2), or to exp(-|x|/scale), on all integers,
/// exactly; the random bits are ChaCha20's under a key from the operating system that is used once
/// and forgotten.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent sample --sigma2 5 --count 10
  unspent sample --sigma 2.5 --count 10
  unspent sample --mechanism discrete-laplace --scale 7/3 --count 10
  unspent sample --sigma2 100000/9563 --count 1000000 --out noise.parquet"
)]
pub struct Arguments {
    /// The kind of noise: discrete-gaussian or discrete-laplace (geometric)
    ///
    /// The width of discrete Laplace noise is its --scale b, between 1e-3 and 1e6.
    #[arg(long, value_name = "KIND", default_value = "discrete-gaussian")]
    mechanism: String,

    #[command(flatten)]
    stated: StatedArguments,

    /// How many
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    count: String,

    /// Writes comma-separated values
    ///
    /// The name of the column, then one integer a line.
    #[arg(long, conflicts_with = "out")]
    csv: bool,

    /// The file to write instead of stdout: .txt, .csv or .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<String>,

    /// Replaces the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    noise: NoiseArguments,
}

/// Draws that are made and written at a time.
const CHUNK: usize = 1 << 20;
/// Most draws of one run.
const MAX: u64 = 1_000_000_000_000;

impl Arguments {
    /// Checks, draws and writes.
    pub fn run(&self) -> std::result::Result<(), Failure> {
        let mechanism = self.mechanism()?;
        let sampler = Sampler::drawing(&mechanism)?;
        let count = self.count.parse().ok().filter(|n| (1..=MAX).contains(n)).ok_or_else(|| {
            let allowed = format!("a whole number between 1 and {MAX}");
            Error::input("--count", &self.count, allowed, "write digits only")
        })?;
        let threads = self.noise.threads()?;
        let out =
            self.out.as_ref().map(|out| Target::new("--out", out, &["txt", "csv", "parquet"], self.force));
        let out = out.transpose()?;
        let noise = self.noise.source()?;
        let (key, warning) = (noise.key(&mut Progress::new())?, noise.warning());
        // In a pipe whoever reads says how far it is.
        let progress = out.is_some().then(Progress::new);
        let noise = key.noise(&sampler);
        let mut draws = Chunks { noise, left: count, all: count, threads, chunk: vec![], progress };
        let warning = warning.as_deref();
        let written = match &out {
            None => return output::stream(|stdout| text(stdout, &mut draws, self.csv, warning)),
            Some(out) if out.extension() == "parquet" => {
                out.write_with(|file| parquet(file, &mut draws, &mechanism, warning))
            }
            Some(out) => out
                .write_with(|file| text(BufWriter::new(file), &mut draws, out.extension() == "csv", warning)),
        };
        drop(draws);
        written?;
        let name = self.out.as_deref().unwrap_or_default();
        let law = match (width(&mechanism), &mechanism) {
            ((_, scale), Mechanism::DiscreteLaplace(_)) => format!("discrete Laplace noise of scale {scale}"),
            ((_, sigma2), _) => format!("N_Z(0, {sigma2})"),
        };
        output::confirm(&format!("{count} draws of {law} written to {name}.\n"))
    }

    /// The noise, on an answer that moves by one.
    fn mechanism(&self) -> Result<Mechanism> {
        match kind_named(&self.mechanism).as_str() {
            "discrete_gaussian" => Ok(DiscreteGaussian::new(self.stated.sigma2()?, 1)?.into()),
            "discrete_laplace" => Ok(DiscreteLaplace::new(self.stated.laplace_scale()?, 1)?.into()),
            _ => Err(Error::input(
                "--mechanism",
                &self.mechanism,
                "noise that is drawn: discrete-gaussian or discrete-laplace",
                "noise on the line is not drawn: no computer does so exactly",
            )),
        }
    }
}

/// The parameter of the noise, and its value.
fn width(mechanism: &Mechanism) -> (&'static str, String) {
    let (name, value) = match mechanism {
        Mechanism::DiscreteLaplace(noise) => ("scale", Some(noise.scale())),
        _ => ("sigma2", mechanism.sigma2()),
    };
    (name, value.map(Rational::to_decimal_or_fraction).unwrap_or_default())
}

/// The draws that are left, some at a time.
struct Chunks {
    noise: Noise,
    left: u64,
    all: u64,
    threads: NonZeroUsize,
    chunk: Vec<i64>,
    progress: Option<Progress>,
}

impl Chunks {
    fn next(&mut self) -> io::Result<Option<&[i64]>> {
        if let Some(progress) = &mut self.progress {
            progress.done("draws", self.all - self.left, self.all);
        }
        let count = self.left.min(CHUNK as u64);
        if count == 0 {
            return Ok(None);
        }
        self.left -= count;
        self.chunk.resize(count as usize, 0);
        self.noise.fill_on(self.threads, &mut self.chunk).map_err(io::Error::other)?;
        Ok(Some(&self.chunk))
    }
}

/// The name of the column, which says so if the noise is not private.
fn column(warning: Option<&str>) -> &'static str {
    if warning.is_some() { "noise_NOT_PRIVATE" } else { "noise" }
}

fn text(mut to: impl Write, draws: &mut Chunks, csv: bool, warning: Option<&str>) -> io::Result<()> {
    if csv {
        writeln!(to, "{}", column(warning))?;
    } else if let Some(warning) = warning {
        writeln!(to, "# {warning}")?;
    }
    while let Some(chunk) = draws.next()? {
        for x in chunk {
            writeln!(to, "{x}")?;
        }
    }
    to.flush()
}

fn parquet(
    file: &mut File,
    draws: &mut Chunks,
    mechanism: &Mechanism,
    warning: Option<&str>,
) -> io::Result<()> {
    let name = column(warning);
    let field = Type::primitive_type_builder(name, PhysicalType::INT64)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let schema = Type::group_type_builder("unspent").with_fields(vec![Arc::new(field)]).build()?;
    let mut notes = vec![
        KeyValue::new("unspent.version".into(), Some(env!("CARGO_PKG_VERSION").into())),
        KeyValue::new("unspent.mechanism".into(), Some(mechanism.kind().into())),
        KeyValue::new(format!("unspent.{}", width(mechanism).0), Some(width(mechanism).1)),
        KeyValue::new("unspent.private".into(), Some(warning.is_none().to_string())),
    ];
    notes.extend(warning.map(|warning| KeyValue::new("unspent.warning".into(), Some(warning.into()))));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_key_value_metadata(Some(notes))
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    while let Some(chunk) = draws.next()? {
        let mut group = writer.next_row_group()?;
        let mut column = group.next_column()?.expect("one column");
        column.typed::<Int64Type>().write_batch(chunk, None, None)?;
        column.close()?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
