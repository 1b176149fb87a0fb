//! Mechanisms as text: a kind, and parameters by name. The same names in commands, files and JSON.

use std::fmt;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{
    ApproximateDp, Base, DiscreteGaussian, DiscreteLaplace, Entry, Finite, Gaussian, Laplace, Mechanism,
    RandomisedResponse, RenyiDp, Stated, Subsampled, TruncatedDiscreteGaussian, Truth, ZeroConcentratedDp,
    parse_count, parse_shift,
};
use crate::error::{Error, Result};
use crate::named::nearest;
use crate::number::Rational;

/// Equal mechanisms of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// One of them.
    pub mechanism: Mechanism,
    /// How many there are.
    pub count: u64,
}

/// Every kind, with its parameters; those in brackets may be left out.
pub const KINDS: [(&str, &str); 16] = [
    ("discrete_gaussian", "sigma2 (or sigma, scale), [shift]"),
    ("gaussian", "sigma2 (or sigma, scale), [shift]"),
    ("laplace", "scale (or b), [shift]"),
    ("discrete_laplace", "scale (or b), [shift]"),
    ("randomised_response", "k, epsilon or truth"),
    ("pure_dp", "epsilon"),
    ("approximate_dp", "epsilon, delta"),
    ("finite", "p, q: masses, separated by semicolons"),
    ("truncated_discrete_gaussian", "sigma2 (or sigma, scale), bound, [shift]"),
    ("subsampled_gaussian", "sigma2 (or sigma, scale), q, [shift]"),
    ("subsampled_discrete_gaussian", "sigma2 (or sigma, scale), q, [shift]"),
    ("subsampled_laplace", "scale (or b), q, [shift]"),
    ("subsampled_discrete_laplace", "scale (or b), q, [shift]"),
    ("zcdp", "rho"),
    ("rdp", "orders, epsilons: lists, separated by semicolons"),
    ("gdp", "mu"),
];

/// The kind that is meant: hyphens may stand for underscores, and geometric noise is discrete Laplace noise.
#[must_use]
pub fn kind_named(text: &str) -> String {
    let kind = text.trim().replace('-', "_").to_lowercase();
    if kind == "geometric" { "discrete_laplace".into() } else { kind }
}

/// The kind of a mechanism that has none.
pub(super) const DEFAULT: &str = "discrete_gaussian";

/// Parameters, by name.
pub(super) type Pairs<'t> = Vec<(&'t str, &'t str)>;

/// What was given, each parameter once.
struct Given<'a> {
    kind: &'static str,
    allowed: &'static str,
    list: Vec<(&'a str, &'a str)>,
}

impl Described {
    /// Reads a mechanism of a kind from its parameters. `count` is one of them, 1 unless given.
    ///
    /// ```
    /// # use unspent::mechanism::Described;
    /// let laplace = Described::read("laplace", &[("b", "2"), ("count", "10")])?;
    /// assert_eq!(laplace.to_string(), "laplace:scale=2,shift=1,count=10");
    /// assert!(Described::read("laplace", &[("b", "-2")]).is_err());
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn read(kind: &str, parameters: &[(&str, &str)]) -> Result<Described> {
        let wanted = kind_named(kind);
        Described::of_kind(kind, parameters).map_err(|error| error.at(wanted))
    }

    /// The kind of that name, and its parameters.
    pub(super) fn find_kind(kind: &str) -> Result<(&'static str, &'static str)> {
        let wanted = kind_named(kind);
        KINDS.into_iter().find(|(name, _)| *name == wanted).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let hint = nearest(&wanted, names.iter().copied())
                .map_or("hyphens may stand for underscores".into(), |name| format!("did you mean `{name}`?"));
            Error::input("kind", kind, names.join(", "), hint)
        })
    }

    /// The same without the kind in front of errors: who names none is not told one.
    pub(super) fn of_kind(kind: &str, parameters: &[(&str, &str)]) -> Result<Described> {
        let (kind, allowed) = Described::find_kind(kind)?;
        let mut given = Given { kind, allowed, list: parameters.to_vec() };
        let mechanism = given.mechanism()?;
        let count = given.optional("count")?.map_or(Ok(1), parse_count)?;
        given.nothing_left()?;
        Ok(Described { mechanism, count })
    }

    /// Reads `kind:name=value,name=value`; without a kind it is discrete Gaussian noise.
    pub fn parse(text: &str) -> Result<Described> {
        Entry::parse(text)?.described()
    }

    /// The kind, if one is named, and the parameters of `kind:name=value,name=value`.
    pub(super) fn split(text: &str) -> Result<(Option<&str>, Pairs<'_>)> {
        let colon = text.split_once(':').filter(|(kind, _)| !kind.contains('='));
        let (kind, list) = colon.map_or((None, text), |(kind, list)| (Some(kind), list));
        let mut parameters = vec![];
        for item in list.split(',') {
            let Some((name, value)) = item.split_once('=') else {
                let hint = "write it like sigma2=6.25,count=10 or laplace:b=2,shift=1,count=10";
                let place = kind.unwrap_or("mechanism");
                return Err(Error::input(place, text, "a list of key=value separated by commas", hint));
            };
            parameters.push((name.trim(), value.trim()));
        }
        Ok((kind, parameters))
    }

    /// Whether it is discrete Gaussian noise.
    #[must_use]
    pub fn is_discrete_gaussian(&self) -> bool {
        matches!(self.mechanism, Mechanism::DiscreteGaussian(_))
    }
}

impl<'a> Given<'a> {
    fn optional(&mut self, name: &str) -> Result<Option<&'a str>> {
        let Some(place) = self.list.iter().position(|(n, _)| *n == name) else {
            return Ok(None);
        };
        let (_, value) = self.list.remove(place);
        if self.list.iter().any(|(n, _)| *n == name) {
            return Err(Error::stated(
                format!("{name} is given twice"),
                format!("it takes {}", self.allowed),
            ));
        }
        Ok(Some(value))
    }

    fn needed(&mut self, name: &str) -> Result<&'a str> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(Error::stated(format!("{name} is missing"), format!("it takes {}", self.allowed))),
        }
    }

    fn number(&mut self, name: &'static str) -> Result<Rational> {
        Rational::parse(name, self.needed(name)?)
    }

    fn nothing_left(&self) -> Result<()> {
        match self.list.first() {
            None => Ok(()),
            Some((name, _)) => {
                let allowed = format!("{}, [count]", self.allowed);
                Err(Error::input("parameter", name, allowed, "each kind has its own parameters"))
            }
        }
    }

    /// σ², however it is stated.
    fn sigma2(&mut self) -> Result<Rational> {
        let mut found = vec![];
        for stated in Stated::ALL {
            if let Some(value) = self.optional(stated.name())? {
                found.push((stated, value));
            }
        }
        let (stated, value) = Stated::only(found)?;
        stated.parse(value)
    }

    /// The scale b of Laplace noise.
    fn scale(&mut self) -> Result<Rational> {
        match (self.optional("b")?, self.optional("scale")?) {
            (Some(_), Some(_)) => {
                Err(Error::stated("the scale is given twice, as b and as scale", "give one"))
            }
            (Some(value), None) | (None, Some(value)) => Rational::parse("scale", value),
            (None, None) => self.number("scale"),
        }
    }

    fn shift(&mut self) -> Result<Rational> {
        self.optional("shift")?.map_or(Ok(Rational::integer(1)), |text| Rational::parse("shift", text))
    }

    fn whole_shift(&mut self) -> Result<u64> {
        self.optional("shift")?.map_or(Ok(1), parse_shift)
    }

    fn whole(&mut self, name: &'static str) -> Result<u64> {
        let text = self.needed(name)?;
        text.parse()
            .map_err(|_| Error::input(name, text, "a whole number", format!("it takes {}", self.allowed)))
    }

    fn masses(&mut self, name: &'static str) -> Result<Vec<Rational>> {
        self.needed(name)?.split(';').map(|mass| Rational::parse(name, mass.trim())).collect()
    }

    fn base(&mut self, kind: &str) -> Result<Base> {
        Ok(match kind {
            "gaussian" => Base::Gaussian(Gaussian::new(self.sigma2()?, self.shift()?)?),
            "discrete_gaussian" => {
                Base::DiscreteGaussian(DiscreteGaussian::new(self.sigma2()?, self.whole_shift()?)?)
            }
            "laplace" => Base::Laplace(Laplace::new(self.scale()?, self.shift()?)?),
            _ => Base::DiscreteLaplace(DiscreteLaplace::new(self.scale()?, self.whole_shift()?)?),
        })
    }

    fn mechanism(&mut self) -> Result<Mechanism> {
        if let Some(base) = self.kind.strip_prefix("subsampled_") {
            let base = self.base(base)?;
            return Ok(Subsampled::new(base, self.number("q")?)?.into());
        }
        Ok(match self.kind {
            "randomised_response" => {
                let values = self.whole("k")?;
                let truth = match self.optional("truth")? {
                    Some(text) => Truth::Probability(Rational::parse("truth", text)?),
                    None => Truth::Epsilon(self.number("epsilon")?),
                };
                RandomisedResponse::new(values, truth)?.into()
            }
            "pure_dp" => ApproximateDp::new(self.number("epsilon")?, Rational::integer(0))?.into(),
            "approximate_dp" => ApproximateDp::new(self.number("epsilon")?, self.number("delta")?)?.into(),
            "finite" => Finite::new(self.masses("p")?, self.masses("q")?)?.into(),
            "truncated_discrete_gaussian" => {
                let (sigma2, shift) = (self.sigma2()?, self.whole_shift()?);
                TruncatedDiscreteGaussian::new(sigma2, shift, self.whole("bound")?)?.into()
            }
            "rdp" => RenyiDp::new(self.masses("orders")?, self.masses("epsilons")?)?.into(),
            "zcdp" => ZeroConcentratedDp::new(self.number("rho")?)?.into(),
            "gdp" => {
                let mu = self.number("mu")?;
                if !mu.is_positive() {
                    let hint = "mu of Gaussian DP is the shift over sigma";
                    return Err(Error::input("mu", mu, "a positive number", hint));
                }
                Gaussian::new(&Rational::integer(1) / &(&mu * &mu), Rational::integer(1))?.into()
            }
            kind => self.base(kind)?.into(),
        })
    }
}

impl Mechanism {
    /// Its kind, as [`Described::read`] takes it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Mechanism::DiscreteGaussian(_) => "discrete_gaussian",
            Mechanism::Gaussian(_) => "gaussian",
            Mechanism::Laplace(_) => "laplace",
            Mechanism::DiscreteLaplace(_) => "discrete_laplace",
            Mechanism::RandomisedResponse(_) => "randomised_response",
            Mechanism::ApproximateDp(event) if event.delta().is_zero() => "pure_dp",
            Mechanism::ApproximateDp(_) => "approximate_dp",
            Mechanism::Finite(_) => "finite",
            Mechanism::TruncatedDiscreteGaussian(_) => "truncated_discrete_gaussian",
            Mechanism::Subsampled(sampled) => match sampled.base() {
                Base::DiscreteGaussian(_) => "subsampled_discrete_gaussian",
                Base::Gaussian(_) => "subsampled_gaussian",
                Base::Laplace(_) => "subsampled_laplace",
                Base::DiscreteLaplace(_) => "subsampled_discrete_laplace",
            },
            Mechanism::ZeroConcentratedDp(_) => "zcdp",
            Mechanism::RenyiDp(_) => "rdp",
        }
    }

    /// Its parameters, as [`Described::read`] takes them: exact.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let masses = |list: &[Rational]| list.iter().map(Rational::to_string).collect::<Vec<_>>().join(";");
        let of = |list: &[(&'static str, &dyn fmt::Display)]| -> Vec<(&'static str, String)> {
            list.iter().map(|(name, value)| (*name, value.to_string())).collect()
        };
        match self {
            Mechanism::DiscreteGaussian(m) => of(&[("sigma2", m.sigma2()), ("shift", &m.shift())]),
            Mechanism::Gaussian(m) => of(&[("sigma2", m.sigma2()), ("shift", m.shift())]),
            Mechanism::Laplace(m) => of(&[("scale", m.scale()), ("shift", m.shift())]),
            Mechanism::DiscreteLaplace(m) => of(&[("scale", m.scale()), ("shift", &m.shift())]),
            Mechanism::RandomisedResponse(m) => match m.truth() {
                Truth::Epsilon(epsilon) => of(&[("k", &m.values()), ("epsilon", epsilon)]),
                Truth::Probability(truth) => of(&[("k", &m.values()), ("truth", truth)]),
            },
            Mechanism::ApproximateDp(m) if m.delta().is_zero() => of(&[("epsilon", m.epsilon())]),
            Mechanism::ApproximateDp(m) => of(&[("epsilon", m.epsilon()), ("delta", m.delta())]),
            Mechanism::Finite(m) => of(&[("p", &masses(m.p())), ("q", &masses(m.q()))]),
            Mechanism::TruncatedDiscreteGaussian(m) => {
                of(&[("sigma2", m.sigma2()), ("shift", &m.shift()), ("bound", &m.bound())])
            }
            Mechanism::Subsampled(m) => {
                let mut list = Mechanism::from(m.base().clone()).parameters();
                list.push(("q", m.q().to_string()));
                list
            }
            Mechanism::ZeroConcentratedDp(m) => of(&[("rho", m.rho())]),
            Mechanism::RenyiDp(m) => {
                let (orders, epsilons): (Vec<_>, Vec<_>) = m.points().iter().cloned().unzip();
                of(&[("orders", &masses(&orders)), ("epsilons", &masses(&epsilons))])
            }
        }
    }
}

impl fmt::Display for Described {
    /// As [`Described::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.mechanism.kind())?;
        for (name, value) in self.mechanism.parameters() {
            write!(f, "{name}={value},")?;
        }
        write!(f, "count={}", self.count)
    }
}

impl Serialize for Described {
    /// Parameters by name. The kind of discrete Gaussian noise is left out.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Mechanism::DiscreteGaussian(noise) = &self.mechanism {
            map.serialize_entry("sigma2", noise.sigma2())?;
            map.serialize_entry("count", &self.count)?;
            map.serialize_entry("shift", &noise.shift())?;
            return map.end();
        }
        map.serialize_entry("kind", self.mechanism.kind())?;
        for (name, value) in self.mechanism.parameters() {
            match self.mechanism {
                Mechanism::Finite(_) | Mechanism::RenyiDp(_) => {
                    map.serialize_entry(name, &value.split(';').collect::<Vec<_>>())?;
                }
                _ => map.serialize_entry(name, &value)?,
            }
        }
        map.serialize_entry("count", &self.count)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Described {
    /// Parameters by name: texts, whole numbers, or lists of them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Described, D::Error> {
        let map = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        Entry::from_json(&map).and_then(Entry::described).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read again.
    #[test]
    fn descriptions_are_read_as_they_are_written() {
        for text in [
            "discrete_gaussian:sigma2=5,shift=2,count=3",
            "gaussian:sigma2=1/4,shift=1/3,count=1",
            "laplace:scale=2,shift=1,count=10",
            "discrete_laplace:scale=3/2,shift=4,count=2",
            "randomised_response:k=2,epsilon=1,count=5",
            "randomised_response:k=4,truth=1/2,count=5",
            "pure_dp:epsilon=1/2,count=1",
            "approximate_dp:epsilon=1/2,delta=1/1000000,count=1",
            "finite:p=1/2;1/2,q=1/4;3/4,count=7",
            "truncated_discrete_gaussian:sigma2=9,shift=1,bound=40,count=1",
            "subsampled_gaussian:sigma2=121/100,shift=1,q=256/60000,count=14000",
            "subsampled_discrete_laplace:scale=2,shift=1,q=1/10,count=9",
            "zcdp:rho=1/8,count=1",
            "rdp:orders=3/2;2;8,epsilons=1/10;1/5;1,count=4",
            "subsampled_laplace:scale=2,shift=1,q=1/10,count=9",
        ] {
            let read = Described::parse(text).unwrap();
            assert_eq!(Described::parse(&read.to_string()).unwrap(), read, "{text}");
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Described>(&json).unwrap(), read, "{json}");
            assert_eq!(Entry::read_file(&format!("[{json}]")).unwrap(), [Entry::Known(read)], "{json}");
        }
        let toml = "[[mechanism]]\nkind = \"laplace\"\nb = \"2\"\ncount = 10\n";
        assert_eq!(Entry::read_file(toml).unwrap(), [Entry::parse("laplace:b=2,count=10").unwrap()]);
        assert_eq!(
            Described::parse("sigma=2").unwrap(),
            Described::parse("discrete-gaussian:sigma2=4").unwrap()
        );
        assert_eq!(Described::parse("gdp:mu=1/2").unwrap(), Described::parse("gaussian:sigma=2").unwrap());
        assert_eq!(Described::parse("geometric:b=2"), Described::parse("discrete-laplace:b=2"));
        // A sample of everything is no sample.
        let whole = Described::parse("subsampled-gaussian:sigma=2,q=1").unwrap();
        assert_eq!(whole, Described::parse("gaussian:sigma=2").unwrap());
    }

    /// Each message names the mechanism, the value and what is allowed.
    #[test]
    fn bad_descriptions_are_refused_by_name() {
        for (text, words) in [
            ("subsampled_gaussian:sigma=1,q=0", ["subsampled_gaussian", "q", "above 0"]),
            ("subsampled_gaussian:sigma=1,q=1.01", ["subsampled_gaussian", "101/100", "at most 1"]),
            ("laplace:b=0", ["laplace", "scale", "1e-3"]),
            ("laplace:b=-1", ["laplace", "-1", "1e-3"]),
            ("laplace:count=2", ["laplace", "scale", "missing"]),
            ("laplace:b=2,scale=2", ["laplace", "twice", "b and"]),
            ("laplace:b=2,sigma=3", ["laplace", "sigma", "scale (or b)"]),
            ("finite:p=1/2;1/3,q=1/2;1/2", ["finite", "5/6", "sum to 1"]),
            ("finite:p=3/2;-1/2,q=1/2;1/2", ["finite", "-1/2", "at least 0"]),
            ("finite:p=1,q=1/2;1/2", ["finite", "1 masses", "2"]),
            ("laplace:b=2,count=0", ["laplace", "count", "1"]),
            ("randomised_response:k=1,epsilon=1", ["randomised_response", "k", "at least 2"]),
            ("randomised_response:k=2,truth=1/2", ["randomised_response", "1/2", "between"]),
            ("approximate_dp:epsilon=1,delta=1", ["approximate_dp", "delta", "below 1"]),
            ("rdp:orders=2;4,epsilons=1", ["rdp", "2 orders and 1 epsilons", "one epsilon"]),
            ("rdp:orders=1;4,epsilons=1;1", ["rdp", "orders: `1`", "above 1"]),
            ("rdp:orders=2;2,epsilons=1;1", ["rdp", "orders: `2`", "once"]),
            ("rdp:orders=2,epsilons=-1", ["rdp", "epsilons: `-1`", "from 0"]),
            ("zcdp:rho=0", ["zcdp", "rho", "positive"]),
            ("gdp:mu=0", ["gdp", "mu", "positive"]),
            ("cauchy:b=2", ["kind", "cauchy", "discrete_gaussian"]),
            ("discrete_laplace:b=2,shift=1.5", ["discrete_laplace", "1.5", "shift"]),
        ] {
            let message = Described::parse(text).unwrap_err().to_string();
            for word in words {
                assert!(message.contains(word), "{text}: {word} in {message}");
            }
        }
    }
}
