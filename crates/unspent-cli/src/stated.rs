//! How wide noise is, for all commands that are told so.

use clap::Args;
use unspent::mechanism::Stated;
use unspent::{Error, Rational, Result};

/// How wide noise is: one of three flags.
#[derive(Args)]
pub struct StatedArguments {
    /// The noise, as its variance parameter
    ///
    /// A decimal or a fraction between 1e-3 and 1e12, taken exactly.
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    sigma2: Option<String>,

    /// The same as its standard deviation, of which sigma2 is the square
    ///
    /// A decimal or a fraction, squared exactly.
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    sigma: Option<String>,

    /// Another name for --sigma
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    scale: Option<String>,
}

impl StatedArguments {
    /// σ², exactly.
    pub fn sigma2(&self) -> Result<Rational> {
        let given = of(&self.sigma2, &self.sigma, &self.scale);
        let (stated, text) = Stated::only(given.filter_map(|(stated, text)| Some((stated, text.as_ref()?))))?;
        stated.parse(text)
    }
}

impl StatedArguments {
    /// The scale b of Laplace noise: `--scale`, and nothing else.
    pub fn laplace_scale(&self) -> Result<Rational> {
        let hint = "give --scale alone: the scale b of the law exp(-|x|/b)";
        for (name, given) in [("--sigma2", &self.sigma2), ("--sigma", &self.sigma)] {
            if given.is_some() {
                return Err(Error::stated(
                    format!("{name} is a width of Gaussian noise, not of Laplace noise"),
                    hint,
                ));
            }
        }
        match &self.scale {
            Some(text) => Rational::parse("--scale", text),
            None => Err(Error::stated("nothing says how wide the noise is", hint)),
        }
    }
}

/// What was given by each of the flags.
pub fn of<'a, T>(sigma2: &'a T, sigma: &'a T, scale: &'a T) -> impl Iterator<Item = (Stated, &'a T)> {
    [(Stated::Sigma2, sigma2), (Stated::Sigma, sigma), (Stated::Scale, scale)].into_iter()
}

/// Reads σ² from a number, which is a variance, or from one with its name in front, like `sigma=2.5`.
pub fn parse(text: &str) -> Result<Rational> {
    let Some((name, number)) = text.split_once('=') else { return Stated::Sigma2.parse(text) };
    let stated = Stated::named(name.trim()).ok_or_else(|| {
        Error::input("noise", name, "one of the names sigma2, sigma and scale", Stated::MEANING)
    })?;
    stated.parse(number)
}
