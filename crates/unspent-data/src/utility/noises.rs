//! The noise of each level of a table: that of an allocation, or as it was given.

use unspent::allocation::{Allocation, Level, Measurement};
use unspent::schema::Layout;
use unspent::{Error, ErrorKind, Rational, Result};

use super::evaluation::LevelNoise;
use super::{GivenNoise, UtilityQuestion};

impl GivenNoise {
    fn is_for(&self, level: &str) -> bool {
        self.level.eq_ignore_ascii_case(level)
    }
}

impl UtilityQuestion {
    /// The noise of every level of the table that has one, and the allocation's levels that the table lacks.
    pub(super) fn noises(
        &self,
        layout: &Layout,
        after: Option<&Allocation>,
    ) -> Result<(Vec<LevelNoise>, Vec<String>)> {
        self.check_given(layout)?;
        let mut noises = vec![];
        for level in layout.levels() {
            let of = |allocation: Option<&Allocation>| {
                let found =
                    allocation.and_then(|a| Some((a, a.levels().iter().find(|l| l.name == level.name)?)));
                found
                    .map(|(allocation, level)| variance(allocation, level, self.query.as_deref()))
                    .transpose()
            };
            let pair = match self.given.iter().find(|given| given.is_for(&level.name)) {
                Some(GivenNoise { before, after: Some(after), .. }) => Some((before.clone(), after.clone())),
                // The same change, from where it was said to be.
                Some(given) => match (of(self.before.as_ref())?, of(after)?) {
                    (Some(before), Some(after)) => {
                        let scaled = &(&given.before * &after) / &before;
                        Some((given.before.clone(), scaled))
                    }
                    _ => return Err(not_after(given, &level.name)),
                },
                None => of(self.before.as_ref())?.zip(of(after)?),
            };
            let Some((first, second)) = pair else { continue };
            noises.push(LevelNoise { level: level.name.clone(), before: first, after: second });
        }
        let before = self.before.as_ref();
        if noises.is_empty() {
            let names =
                |levels: &[Level]| levels.iter().map(|l| l.name.clone()).collect::<Vec<_>>().join(", ");
            return Err(Error::of_kind(
                ErrorKind::NoVariance,
                match before {
                    Some(before) => format!(
                        "no level of the table is a level of the allocation, which has {}",
                        names(before.levels())
                    ),
                    None => "no noise was given".into(),
                },
                "give an allocation that has a level of the table, or the noise of a level, before and after",
            ));
        }
        let unknown = |level: &&Level| !layout.levels().iter().any(|l| l.name == level.name);
        let left_out = before.map_or(&[][..], |b| b.levels()).iter().filter(unknown);
        Ok((noises, left_out.map(|level| level.name.clone()).collect()))
    }

    /// Fails if noise is given for a level that the table lacks, or twice for one.
    fn check_given(&self, layout: &Layout) -> Result<()> {
        for (i, given) in self.given.iter().enumerate() {
            let flag = given.stated.name();
            if self.given[..i].iter().any(|other| other.is_for(&given.level)) {
                let cause = format!("{flag}: the noise of level `{}` is given twice", given.level);
                return Err(Error::stated(cause, "give before and after together"));
            }
            if !layout.levels().iter().any(|level| given.is_for(&level.name)) {
                let known: Vec<&str> = layout.levels().iter().map(|l| l.name.as_str()).collect();
                let allowed = format!("one of the levels of the table, {}", known.join(", "));
                let field = format!("{flag}: level");
                return Err(Error::input(field, &given.level, allowed, "check [table.levels]"));
            }
        }
        Ok(())
    }
}

fn not_after(given: &GivenNoise, level: &str) -> Error {
    Error::of_kind(
        ErrorKind::NoVariance,
        format!("{}: nothing says what the noise of level `{level}` is after", given.stated.name()),
        "give it before and after, or give an allocation that has the level",
    )
}

/// The noise of a level: that of the named query, or of all if they have the same.
pub(crate) fn variance(allocation: &Allocation, level: &Level, query: Option<&str>) -> Result<Rational> {
    let name = |m: &Measurement| allocation.queries()[m.query].name.as_str();
    let place = |e: Error| e.at(format!("level `{}` of `{}`", level.name, allocation.name()));
    let names: Vec<&str> = level.measurements.iter().map(name).collect();
    let mut measurements = level.measurements.iter();
    if let Some(wanted) = query {
        return match measurements.find(|m| name(m) == wanted) {
            Some(found) => Ok(found.gaussian().map_err(place)?.sigma2().clone()),
            None => {
                let allowed = format!("asked at level `{}`", level.name);
                Err(Error::input("query", wanted, allowed, format!("it asks {}", names.join(", "))))
            }
        };
    }
    let first = level.measurements[0].gaussian().map_err(place)?;
    if measurements.all(|m| m.noise.sigma2() == Some(first.sigma2())) {
        return Ok(first.sigma2().clone());
    }
    Err(Error::of_kind(
        ErrorKind::NoQuery,
        format!("level `{}`: its queries have different noise", level.name),
        format!("name one: {}", names.join(", ")),
    ))
}
