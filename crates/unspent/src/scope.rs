//! Which part of a release is meant: total, level, keeping, attribute, within.

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// Which part of a release is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All of it.
    Total,
    /// What is measured at one geographic level.
    Level(String),
    /// What a change of the record moves that stays inside one unit of this level: it keeps the totals of
    /// this level and of those above.
    Keeping(String),
    /// What a change of this attribute moves.
    Attribute(String),
    /// What a move inside one unit of this level moves.
    Within(String),
}

impl Scope {
    /// `total`, `level`, `keeping`, `attribute` or `within`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Scope::Total => "total",
            Scope::Level(_) => "level",
            Scope::Keeping(_) => "keeping",
            Scope::Attribute(_) => "attribute",
            Scope::Within(_) => "within",
        }
    }

    /// The place of its kind in a report.
    pub(crate) fn order(&self) -> usize {
        match self {
            Scope::Total => 0,
            Scope::Level(_) => 1,
            Scope::Keeping(_) => 2,
            Scope::Attribute(_) => 3,
            Scope::Within(_) => 4,
        }
    }

    /// The part of that kind and name.
    pub fn named(kind: &str, name: Option<&str>) -> Result<Scope> {
        let make: fn(String) -> Scope = match (kind, name) {
            ("total", None) => return Ok(Scope::Total),
            ("level", _) => Scope::Level,
            ("keeping", _) => Scope::Keeping,
            ("attribute", _) => Scope::Attribute,
            ("within", _) => Scope::Within,
            _ => return Err(Scope::unknown(kind)),
        };
        name.map(|name| make(name.into())).ok_or_else(|| Scope::unknown(kind))
    }

    fn unknown(text: &str) -> Error {
        Error::input(
            "scope",
            text,
            "total, or level, keeping, attribute or within with a name",
            "like `level State`: what is measured at the level of that name",
        )
    }

    /// The name of the level or attribute.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Scope::Total => None,
            Scope::Level(name) | Scope::Keeping(name) | Scope::Attribute(name) | Scope::Within(name) => {
                Some(name)
            }
        }
    }
}

/// `total`, or a kind and a name: `level State`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            None => f.write_str(self.kind()),
            Some(name) => write!(f, "{} {name}", self.kind()),
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Scope> {
        match text.trim().split_once(' ') {
            Some((kind, name)) => Scope::named(kind, Some(name.trim())),
            None => Scope::named(text.trim(), None),
        }
    }
}

/// `{"scope": "level", "name": "State"}`; the name of the total is null.
impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Scope", 2)?;
        fields.serialize_field("scope", self.kind())?;
        fields.serialize_field("name", &self.name())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Scope, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            scope: String,
            name: Option<String>,
        }
        let Fields { scope, name } = Fields::deserialize(deserializer)?;
        Scope::named(&scope, name.as_deref()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn scopes_are_read_as_they_are_written() {
        let scopes = [
            Scope::Total,
            Scope::Level("State".into()),
            Scope::Keeping("Block group".into()),
            Scope::Attribute("age".into()),
            Scope::Within("County".into()),
        ];
        for scope in scopes {
            assert_eq!(scope.to_string().parse::<Scope>().unwrap(), scope);
            let json = serde_json::to_string(&scope).unwrap();
            assert_eq!(serde_json::from_str::<Scope>(&json).unwrap(), scope);
        }
        for text in ["", "level", "total State", "place State"] {
            let error = text.parse::<Scope>().unwrap_err().to_string();
            assert!(error.starts_with("scope: `"), "{error}");
        }
        assert!(serde_json::from_str::<Scope>(r#"{"scope": "level", "kind": "x"}"#).is_err());
    }
}
