//! Lines of a needs file, made of arguments.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use unspent::Error;
use unspent::file::quoted;

use crate::classes::Allocation;
use crate::error::exception;
use crate::number::{rational, wrong_type};
use crate::texts::strings;

/// What an allocation that guards is called in the lines.
pub const GUARD: &str = "guard";

/// Lines of TOML. Whether they make sense is decided where they are read.
pub struct Lines(pub String);

impl Lines {
    pub fn value(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    pub fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(key, &quoted(value));
        }
    }

    /// A number, exactly.
    pub fn number(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if let Some(value) = value {
            self.value(key, &quoted(&rational(key, value)?.to_string()));
        }
        Ok(())
    }

    /// Values of attributes and recodes.
    pub fn selection(&mut self, key: &str, chosen: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let Some(chosen) = chosen else { return Ok(()) };
        let mut parts = vec![];
        for (part, values) in chosen.iter() {
            let Ok(part) = part.extract::<String>() else {
                return Err(wrong_type(key, &part, "the name of an attribute or a recode; give a str"));
            };
            let values =
                strings(&format!("{key}: {part}"), &values, "a value, or several; give them as str")?;
            parts.push(format!("{} = {}", quoted(&part), list(&values)));
        }
        self.value(key, &format!("{{ {} }}", parts.join(", ")));
        Ok(())
    }

    /// A whole number for each of some names.
    pub fn counts(&mut self, key: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let Some(given) = given else { return Ok(()) };
        let mut parts = vec![];
        for (name, count) in given.iter() {
            let Ok(name) = name.extract::<String>() else {
                return Err(wrong_type(key, &name, "the name of a level; give a str"));
            };
            parts.push(format!("{} = {}", quoted(&name), quoted(&rational(key, &count)?.to_string())));
        }
        self.value(key, &format!("{{ {} }}", parts.join(", ")));
        Ok(())
    }

    /// What becomes of tables that nobody asked for; if another allocation guards them, that one is returned.
    pub fn rest(&mut self, rest: &Bound<'_, PyAny>) -> PyResult<Option<unspent::Allocation>> {
        let allowed = "\"drop\", \"best\" or {\"guard\": allocation, \"times\": \"1.25\"}";
        if let Ok(text) = rest.cast::<PyString>() {
            let text = text.to_string_lossy();
            if text != "drop" && text != "best" {
                let hint = "say what becomes of tables that nobody asked for: they may be lost, get what the \
                            needs leave of an epsilon, or be nearly as good as with an allocation";
                return Err(exception(rest.py(), &Error::input("rest", text, allowed, hint)));
            }
            self.value("rest", &format!("{{ {text} = true }}"));
            return Ok(None);
        }
        let refuse = || wrong_type("rest", rest, allowed);
        let given = rest.cast::<PyDict>().map_err(|_| refuse())?;
        let (Some(guard), Some(times), 2) = (given.get_item("guard")?, given.get_item("times")?, given.len())
        else {
            return Err(refuse());
        };
        let guard = guard.cast::<Allocation>().map_err(|_| refuse())?;
        let times = quoted(&rational("times", &times)?.to_string());
        self.value("rest", &format!("{{ guard = {{ than = {}, times = {times} }} }}", quoted(GUARD)));
        Ok(Some(guard.get().0.clone()))
    }
}

/// A list of texts.
pub fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}
