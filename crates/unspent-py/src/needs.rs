//! What must be known of a release, and the allocation with the least budget that does it.
//!
//! ```text
//! arguments ─▶ lines of a needs file ─▶ its reader, which knows all rules ─▶ Needs ─▶ Design
//! ```

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use unspent::file::quoted;
use unspent::{Error, Result};
use unspent_data::{NeedsFolder, Quiet, needs_text};
use unspent_estimate::design::{OtherFiles, UnitTree, Units};

use crate::classes::Allocation;
use crate::design::{Checked, Design};
use crate::error::{OrRaise, exception};
use crate::lines::{GUARD, Lines, list};
use crate::number::wrong_type;
use crate::texts::texts;
use crate::units::units_of;
use crate::work::interruptible;

/// The allocation with the least epsilon that meets needs, and a proof that none needs less.
///
/// `needs` is a needs file (examples/needs.toml is one with comments) or Needs. With `prices` every need is
/// told what a margin that is wider by a tenth would save, which takes one more solution for each.
///
/// >>> import unspent
/// >>> towns = unspent.Allocation.parse('''
/// ... name = "Towns"
/// ... neighbours = "add-remove"
/// ... delta = "1e-10"
/// ... [attributes]
/// ... age = ["child", "adult"]
/// ... [queries]
/// ... total = []
/// ... age = ["age"]
/// ... [[levels]]
/// ... name = "County"
/// ... sigma2 = { total = 4, age = 4 }
/// ... [[levels]]
/// ... name = "Town"
/// ... sigma2 = { total = 4, age = 4 }
/// ... ''')
/// >>> needs = unspent.Needs(towns, units={"County": 1, "Town": 20}, rest="drop")
/// >>> found = unspent.design(needs.need("Town", margin=6).need("County", table=["age"], margin=10))
/// >>> found.needs["met"], found.least_rho <= found.rho == found.allocation.rho
/// ([True, True], True)
#[pyfunction]
#[pyo3(signature = (needs, *, prices=true))]
pub fn design(py: Python<'_>, needs: &Bound<'_, PyAny>, prices: bool) -> PyResult<Design> {
    if let Ok(needs) = needs.cast::<Needs>() {
        return needs.borrow().design(py, prices);
    }
    match needs.extract() {
        Ok(path) => Needs::read(py, path)?.design(py, prices),
        Err(_) => Err(wrong_type("needs", needs, "needs; give the path of a needs file, or Needs")),
    }
}

/// What must be known of a release, and how well: needs are added with `need`.
///
/// Nothing in it may come from confidential counts: an allocation that depends on them tells about them.
///
/// `allocation` says which queries may be measured at which levels; its budgets are not looked at. `rest`
/// says what becomes of tables that nobody asked for: "drop" (they may be lost), "best" (what the needs
/// leave of a given epsilon is spent on them) or {"guard": allocation, "times": "1.25"} (no standard
/// deviation is more than so many times what it is with that allocation).
///
/// `units` are a dict with a number for each level, as {"County": 1, "Town": 20}, or a public list of all
/// units of the smallest level, a path or columns, of which only the codes are read, as `schema`, a file,
/// or the allocation says. For the levels of the 2020 Census its numbers are known.
///
/// The least epsilon is found at `delta`, that of the allocation unless given. With `epsilon` it is the best
/// common factor of all margins at that epsilon instead; `wider` says whether it may be above 1. `law` is
/// "normal", which takes errors for normal and is no guarantee, or "guaranteed", which costs about twice the
/// budget. `exact_totals` names levels whose totals are published exactly. The allocation that is found
/// is called after `name`, or after the allocation on offer.
///
/// >>> import unspent
/// >>> census = unspent.preset("pl94-persons-us-2020")
/// >>> needs = unspent.Needs(census, rest={"guard": census, "times": "1.25"}, exact_totals="State")
/// >>> needs.need("Tract", margin=30).need("County", table=["votingage"], margin=20, confidence="0.9").names
/// ['Tract: total', 'County: votingage']
#[pyclass(module = "unspent")]
pub struct Needs {
    needs: unspent_estimate::design::Needs,
    /// The lines of the needs file.
    text: String,
    named: Named,
}

/// What the lines name.
#[derive(Clone)]
struct Named {
    /// The needs file, if it is one.
    path: Option<PathBuf>,
    /// What is there as objects instead of files.
    offer: Option<unspent::Allocation>,
    guard: Option<unspent::Allocation>,
    /// Once it is known.
    tree: Option<UnitTree>,
}

/// What the allocation on offer is called in lines that were made of arguments.
const OFFER: &str = "allocation";

impl OtherFiles for Named {
    fn folder(&self) -> Option<&Path> {
        self.path.as_ref().map(|path| path.parent().unwrap_or(Path::new("")))
    }

    fn allocation(&mut self, name: &str) -> Result<unspent::Allocation> {
        if let Some(path) = &self.path {
            return NeedsFolder::of(path, &mut Quiet).allocation(name);
        }
        let object = if name == GUARD { &self.guard } else { &self.offer };
        Ok(object.clone().expect("lines that were made of arguments name what was given"))
    }

    fn units(&mut self, list: &str, schema: Option<&str>, offer: &unspent::Allocation) -> Result<UnitTree> {
        match (&self.tree, &self.path) {
            (Some(tree), _) => Ok(tree.clone()),
            (None, Some(path)) => NeedsFolder::of(path, &mut Quiet).units(list, schema, offer),
            (None, None) => unreachable!("lines that were made of arguments name what was given"),
        }
    }
}

impl Needs {
    /// What lines say, made of arguments: what is wrong has no place in a file.
    fn parsed(py: Python<'_>, text: String, mut named: Named) -> PyResult<Needs> {
        let origin = named.path.as_ref().map_or("needs".into(), |path| path.display().to_string());
        let parse = move || {
            let needs = unspent_estimate::design::Needs::parse_unfinished(&origin, &text, &mut named);
            let needs = needs.map_err(Error::without_excerpt)?;
            Ok(Needs { needs, text, named })
        };
        interruptible(py, parse)?.or_raise(py)
    }

    /// The same with more lines.
    fn add(&mut self, py: Python<'_>, lines: &str) -> PyResult<()> {
        let mut named = self.named.clone();
        if let Units::Listed(tree) = &self.needs.units {
            named.tree = Some(tree.clone());
        }
        *self = Needs::parsed(py, format!("{}\n{lines}", self.text), named)?;
        Ok(())
    }
}

#[pymethods]
impl Needs {
    #[new]
    #[pyo3(
        signature = (
            allocation, *, rest, units=None, schema=None, epsilon=None, wider=false, delta=None, law="normal",
            exact_totals=None, name=None
        ),
        text_signature = "(allocation, *, rest, units=None, schema=None, epsilon=None, wider=False, \
                          delta=None, law='normal', exact_totals=(), name=None)"
    )]
    #[allow(clippy::too_many_arguments)] // Keywords, each with its name.
    fn new<'py>(
        py: Python<'py>,
        allocation: &Bound<'py, Allocation>,
        rest: &Bound<'py, PyAny>,
        units: Option<&Bound<'py, PyAny>>,
        schema: Option<PathBuf>,
        epsilon: Option<&Bound<'py, PyAny>>,
        wider: bool,
        delta: Option<&Bound<'py, PyAny>>,
        law: &str,
        exact_totals: Option<&Bound<'py, PyAny>>,
        name: Option<&str>,
    ) -> PyResult<Needs> {
        let offer = &allocation.get().0;
        if delta.is_none() && offer.delta().is_none() {
            let error = Error::stated(format!("`{}` states no delta", offer.name()), "give delta=\"1e-10\"");
            return Err(exception(py, &error));
        }
        let units = units_of(py, units, schema, offer)?;
        let mut text = Lines(format!("allocation = {}\n", quoted(OFFER)));
        text.text("name", name);
        text.number("delta", delta)?;
        match epsilon {
            None => text.text("goal", Some("least-epsilon")),
            Some(_) => text.number("epsilon", epsilon)?,
        }
        if wider {
            text.value("wider", "true");
        }
        text.text("law", Some(law));
        let exact_totals = texts("exact_totals", exact_totals)?;
        if !exact_totals.is_empty() {
            text.value("exact_totals", &list(&exact_totals));
        }
        let tree = match units {
            Units::PerLevel(numbers) => {
                let names = offer.levels().iter().map(|level| quoted(&level.name));
                let numbers: Vec<String> =
                    names.zip(numbers).map(|(name, n)| format!("{name} = {n}")).collect();
                text.value("units", &format!("{{ {} }}", numbers.join(", ")));
                None
            }
            Units::Listed(tree) => {
                text.value("units", "{ list = \"units\" }");
                Some(tree)
            }
        };
        let guard = text.rest(rest)?;
        Needs::parsed(py, text.0, Named { path: None, offer: Some(offer.clone()), guard, tree })
    }

    /// Reads a needs file (TOML), and what it names: paths are from its folder on.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Needs> {
        let read = move || {
            let text = needs_text(&path)?;
            let origin = path.display().to_string();
            let mut named = Named { path: Some(path), offer: None, guard: None, tree: None };
            let needs = unspent_estimate::design::Needs::parse(&origin, &text, &mut named)?;
            Ok(Needs { needs, text, named })
        };
        interruptible(py, read)?.or_raise(py)
    }

    /// Adds something that must be known of each unit of a level, and gives the Needs back.
    ///
    /// It is one of three things. Every answer of a `table` by some attributes or recodes, the total if there
    /// is none, within `margin` records. The number of records `where` attributes and recodes have some
    /// values, as {"race": ["black", "asian"]}, within `margin`. Or their `share` `of` others (all records,
    /// unless given), within so many parts of 1, if those are `population` at least, by public figures;
    /// `about` is the share, where that is known, which costs less.
    ///
    /// With `count` it is about sets of so many units, as districts, which are "scattered" (the worst case)
    /// or "packed"; with `parts` about sets of whole units of the level and of levels above it, as {"Block
    /// group": 2, "Block": 11}, wherever they lie. An error is within the margin as often as `confidence`
    /// says; with `all` those of all units and answers are at once.
    #[pyo3(
        signature = (
            level, *, margin=None, table=None, r#where=None, share=None, of=None, population=None, about=None,
            count=None, spread="scattered", parts=None, confidence=None, all=false, name=None
        ),
        text_signature = "($self, level, *, margin=None, table=(), where=None, share=None, of=None, \
                          population=None, about=None, count=None, spread='scattered', parts=None, \
                          confidence='0.95', all=False, name=None)"
    )]
    #[allow(clippy::too_many_arguments)] // Keywords, each with its name.
    fn need<'py>(
        mut slf: PyRefMut<'py, Self>,
        level: &str,
        margin: Option<&Bound<'py, PyAny>>,
        table: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyDict>>,
        share: Option<&Bound<'py, PyAny>>,
        of: Option<&Bound<'py, PyDict>>,
        population: Option<&Bound<'py, PyAny>>,
        about: Option<&Bound<'py, PyAny>>,
        count: Option<&Bound<'py, PyAny>>,
        spread: &str,
        parts: Option<&Bound<'py, PyDict>>,
        confidence: Option<&Bound<'py, PyAny>>,
        all: bool,
        name: Option<&str>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let py = slf.py();
        let mut lines = Lines("[[needs]]\n".into());
        lines.text("name", name);
        lines.text("level", Some(level));
        let table = texts("table", table)?;
        if !table.is_empty() {
            lines.value("table", &list(&table));
        }
        lines.selection("where", r#where)?;
        lines.selection("of", of)?;
        if count.is_some() || spread != "scattered" {
            lines.text("spread", Some(spread));
        }
        lines.counts("parts", parts)?;
        let numbers = [
            ("margin", margin),
            ("share", share),
            ("population", population),
            ("about", about),
            ("count", count),
            ("confidence", confidence),
        ];
        for (key, value) in numbers {
            lines.number(key, value)?;
        }
        if all {
            lines.value("all", "true");
        }
        slf.add(py, &lines.0)?;
        Ok(slf)
    }

    /// Adds that a part of the release may spend no more than `epsilon`, at the delta of the needs, and gives
    /// the Needs back. One part is named, as in `Allocation.worst_case`.
    #[pyo3(signature = (epsilon, *, level=None, keeping=None, attribute=None, within=None))]
    fn promise<'py>(
        mut slf: PyRefMut<'py, Self>,
        epsilon: &Bound<'py, PyAny>,
        level: Option<&str>,
        keeping: Option<&str>,
        attribute: Option<&str>,
        within: Option<&str>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let py = slf.py();
        let mut lines = Lines("[[promises]]\n".into());
        let parts = [("level", level), ("keeping", keeping), ("attribute", attribute), ("within", within)];
        for (key, part) in parts {
            lines.text(key, part);
        }
        lines.number("epsilon", Some(epsilon))?;
        slf.add(py, &lines.0)?;
        Ok(slf)
    }

    /// The allocation with the least epsilon that meets them, as the function `design` finds it.
    #[pyo3(signature = (*, prices=true))]
    fn design(&self, py: Python<'_>, prices: bool) -> PyResult<Design> {
        let needs = self.needs.clone();
        interruptible(py, move || needs.design(prices))?.or_raise(py).map(Design)
    }

    /// Which of them an allocation meets.
    fn check(&self, py: Python<'_>, allocation: &Bound<'_, Allocation>) -> PyResult<Checked> {
        let (needs, allocation) = (self.needs.clone(), allocation.get().0.clone());
        interruptible(py, move || needs.check(&allocation))?.or_raise(py).map(Checked)
    }

    /// The names of the needs.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.needs.needs.iter().map(|need| need.name.as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.needs.needs.len()
    }

    fn __repr__(&self) -> String {
        format!("<Needs '{}': {} needs>", self.needs.offer.name(), self.needs.needs.len())
    }
}
