//! Enums whose values have names: written and read by them, in text and in JSON. The nearest of some names.

/// Implements `Display`, `FromStr`, `Serialize` and `Deserialize` through `name`, `ALL` and a hint.
///
/// `$field` is what an error calls the value.
macro_rules! named {
    ($enum:ty, $field:literal, $hint:literal) => {
        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::Error;
            fn from_str(text: &str) -> $crate::Result<$enum> {
                <$enum>::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
                    let names = <$enum>::ALL.map(|one| format!("`{}`", one.name()));
                    let (last, others) = names.split_last().expect("at least one");
                    let allowed = format!("{} or {last}", others.join(", "));
                    $crate::Error::input($field, text, allowed, $hint)
                })
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<$enum, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use named;

/// The one among `known` that is nearest to what was written; the first of those that are equally near, and
/// `None` if none is near.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity > 0.8)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use crate::{Conversion, Effort, Method};

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
            let json = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
        }
        for conversion in Conversion::ALL {
            assert_eq!(conversion.to_string().parse::<Conversion>().unwrap(), conversion);
        }
        assert_eq!(serde_json::from_str::<Effort>("\"fast\"").unwrap(), Effort::Fast);
        assert_eq!(serde_json::to_string(&Effort::default()).unwrap(), "\"normal\"");
        let error = "quick".parse::<Effort>().unwrap_err();
        assert_eq!(error.to_string(), "effort: `quick` is not `fast`, `normal` or `thorough`");
        assert!(
            serde_json::from_str::<Effort>("\"quick\"").unwrap_err().to_string().contains("`quick` is not")
        );
    }
}
