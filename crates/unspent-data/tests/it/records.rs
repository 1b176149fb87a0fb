//! Records, counts and rows that are units: the same tables, and those of a plain group-by.

use std::collections::BTreeMap;

use proptest::prelude::*;
use unspent::Allocation;
use unspent::schema::Rows;
use unspent_data::{
    BypassRule, Columns, Input, Measure, Measurements, NoiseSource, Quiet, RowOrder, UnitList, Values,
};

/// A schema that was made up: sizes of attributes, which may be missing, and recodes of them.
#[derive(Clone, Debug)]
struct Made {
    sizes: Vec<usize>,
    optional: Vec<bool>,
    /// For each attribute the group of each value; none if no group has it.
    groups: Vec<Vec<Option<usize>>>,
    /// Values of the first two attributes that cannot occur together.
    impossible: Option<(usize, usize)>,
    /// Code of the smallest unit, and a value of each attribute; the size of an attribute for a missing one.
    records: Vec<(usize, Vec<usize>)>,
}

const UNITS: usize = 12;

/// Codes of three characters: the first is the county.
fn code(unit: usize) -> String {
    format!("{}{:02}", unit % 3, unit)
}

fn made() -> impl Strategy<Value = Made> {
    prop::collection::vec((1usize..5, any::<bool>(), prop::collection::vec(0usize..4, 5)), 1..4)
        .prop_flat_map(|attributes| {
            let values: Vec<_> =
                attributes.iter().map(|(size, optional, _)| 0..size + usize::from(*optional)).collect();
            let records = prop::collection::vec((0..UNITS, values), 0..60);
            (Just(attributes), records, prop::option::of((0usize..4, 0usize..4)))
        })
        .prop_map(|(attributes, mut records, impossible)| {
            let sizes: Vec<usize> = attributes.iter().map(|(size, ..)| *size).collect();
            let impossible = impossible.filter(|(a, b)| {
                sizes.len() > 1 && *a < sizes[0] && *b < sizes[1] && sizes[0] * sizes[1] > 1
            });
            if let Some((a, b)) = impossible {
                records.retain(|(_, values)| (values[0], values[1]) != (a, b));
            }
            // Groups 0 to 2; what is 3 is in none. Every recode has a group 0.
            let group = |(at, group): (usize, &usize)| {
                if at == 0 { Some(0) } else { Some(*group).filter(|g| *g < 3) }
            };
            let groups = attributes
                .iter()
                .map(|(size, _, groups)| {
                    let raw: Vec<Option<usize>> = groups[..*size].iter().enumerate().map(group).collect();
                    // Without gaps between the groups.
                    let mut used: Vec<usize> = raw.iter().flatten().copied().collect();
                    used.sort_unstable();
                    used.dedup();
                    raw.iter().map(|g| g.and_then(|g| used.iter().position(|u| *u == g))).collect()
                })
                .collect();
            let optional = attributes.iter().map(|(_, optional, _)| *optional).collect();
            Made { sizes, optional, groups, impossible, records }
        })
}

impl Made {
    /// The queries: a total, each attribute, each recode, and all attributes in an order of their own.
    fn queries(&self) -> Vec<(String, Vec<(usize, bool)>)> {
        let mut queries = vec![("total".to_string(), vec![])];
        for at in 0..self.sizes.len() {
            queries.push((format!("a{at}"), vec![(at, false)]));
            queries.push((format!("r{at}"), vec![(at, true)]));
        }
        let all = (0..self.sizes.len()).rev().map(|at| (at, at % 2 == 1)).collect();
        queries.push(("all".into(), all));
        queries
    }

    fn toml(&self, table: &str) -> String {
        let mut text =
            String::from("name = \"made up\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n[attributes]\n");
        for (at, size) in self.sizes.iter().enumerate() {
            let values: Vec<String> = (0..*size).map(|v| format!("\"value {v}\"")).collect();
            let codes: Vec<String> = (0..*size).map(|v| format!("\"{:02}\"", v + 1)).collect();
            let (values, codes) = (values.join(", "), codes.join(", "));
            text += &format!(
                "a{at} = {{ values = [{values}], codes = [{codes}], optional = {} }}\n",
                self.optional[at]
            );
        }
        for (at, groups) in self.groups.iter().enumerate() {
            text += &format!("[recodes.r{at}]\nof = \"a{at}\"\n[recodes.r{at}.groups]\n");
            for group in 0..=groups.iter().flatten().max().copied().unwrap() {
                let members: Vec<String> = (0..groups.len())
                    .filter(|value| groups[*value] == Some(group))
                    .map(
                        |value| if value % 2 == 0 { value.to_string() } else { format!("\"value {value}\"") },
                    )
                    .collect();
                text += &format!("g{group} = [{}]\n", members.join(", "));
            }
        }
        if let Some((a, b)) = self.impossible {
            text += &format!("[[impossible]]\nname = \"never\"\nwhere = {{ a0 = [{a}], a1 = [{b}] }}\n");
        }
        text += "[queries]\n";
        for (name, by) in self.queries() {
            let by: Vec<String> = by
                .iter()
                .map(|(at, recode)| format!("\"{}{at}\"", if *recode { "r" } else { "a" }))
                .collect();
            text += &format!("{name} = [{}]\n", by.join(", "));
        }
        for level in ["Country", "County", "Town"] {
            text += &format!("[[levels]]\nname = \"{level}\"\n[levels.sigma2]\n");
            // Noise of this variance is 0, but for a chance of 2·exp(−500).
            self.queries().iter().for_each(|(name, _)| text += &format!("{name} = \"0.001\"\n"));
        }
        text + "[table]\ncode = \"code\"\n" + table + "[table.levels]\nCountry = 0\nCounty = 1\nTown = 3\n"
    }

    /// The answer to a query by a plain group-by.
    fn answer(&self, by: &[(usize, bool)], length: usize) -> BTreeMap<String, Vec<i64>> {
        let mut by = by.to_vec();
        by.sort_unstable();
        let cells = |(at, recode): &(usize, bool)| match recode {
            true => self.groups[*at].iter().flatten().max().unwrap() + 1,
            false => self.sizes[*at],
        };
        let size: usize = by.iter().map(cells).product();
        let mut units: BTreeMap<String, Vec<i64>> =
            (0..UNITS).map(|unit| (code(unit)[..length].into(), vec![0; size])).collect();
        for (unit, values) in &self.records {
            let mut place = Some(0);
            for part @ (at, recode) in &by {
                let value = values[*at];
                let cell = match (value < self.sizes[*at], recode) {
                    (false, _) => None,
                    (true, false) => Some(value),
                    (true, true) => self.groups[*at][value],
                };
                place = place.zip(cell).map(|(place, cell)| place * cells(part) + cell);
            }
            if let Some(place) = place {
                units.get_mut(&code(*unit)[..length]).unwrap()[place] += 1;
            }
        }
        units
    }

    fn check(&self, found: &Measurements) -> Result<(), TestCaseError> {
        for (level, length) in found.levels.iter().zip([0, 1, 3]) {
            for (query, (name, by)) in level.queries.iter().zip(self.queries()) {
                prop_assert_eq!(&query.name, &name);
                let answers = self.answer(&by, length);
                let codes: Vec<&String> = answers.keys().collect();
                prop_assert_eq!(codes, level.codes.iter().collect::<Vec<_>>());
                let values: Vec<i64> = answers.into_values().flatten().collect();
                prop_assert_eq!(&query.values, &values, "{}", name);
            }
        }
        Ok(())
    }

    /// The value of a record as a table writes it: by its code, without zeros, or in words.
    fn written(&self, at: usize, value: usize, style: usize) -> String {
        match style % 3 {
            _ if value == self.sizes[at] => String::new(),
            0 => format!("{:02}", value + 1),
            1 => (value + 1).to_string(),
            _ => format!("value {value}"),
        }
    }

    fn records(&self, order: &[usize]) -> Columns {
        let rows = || order.iter().map(|at| &self.records[*at]);
        let mut columns =
            vec![("code".to_string(), Values::from(rows().map(|r| code(r.0)).collect::<Vec<String>>()))];
        for at in 0..self.sizes.len() {
            let values = rows().enumerate().map(|(i, r)| self.written(at, r.1[at], i));
            columns.push((format!("a{at}"), values.collect::<Vec<String>>().into()));
        }
        let ids: Vec<i64> = order.iter().map(|at| *at as i64).collect();
        columns.push(("id".into(), ids.into()));
        Columns::new(columns).unwrap()
    }

    fn counts(&self) -> Columns {
        let mut counts: BTreeMap<(usize, Vec<usize>), i64> = BTreeMap::new();
        self.records.iter().for_each(|record| *counts.entry(record.clone()).or_default() += 1);
        // A row of no records for every unit, and rows that say the same in two parts.
        let mut rows: Vec<(usize, Vec<usize>, i64)> = vec![];
        for ((unit, values), n) in counts {
            rows.push((unit, values.clone(), 1));
            rows.push((unit, values, n - 1));
        }
        rows.extend((0..UNITS).map(|unit| (unit, vec![0; self.sizes.len()], 0)));
        rows.sort_by_key(|row| (row.0 * 7 % 12, row.2));
        let codes: Vec<String> = rows.iter().map(|row| code(row.0)).collect();
        let mut columns = vec![("code".to_string(), Values::from(codes))];
        for at in 0..self.sizes.len() {
            let values = rows.iter().map(|row| self.written(at, row.1[at], row.0));
            columns.push((format!("a{at}"), values.collect::<Vec<String>>().into()));
        }
        columns.push(("n".into(), rows.iter().map(|row| row.2).collect::<Vec<i64>>().into()));
        Columns::new(columns).unwrap()
    }
}

/// The list of units, with how many records each has.
fn list(made: &Made, sorted: bool) -> Input {
    let mut units: Vec<usize> = (0..UNITS).collect();
    units.sort_by_key(|unit| if sorted { code(*unit) } else { (unit * 5 % 12).to_string() });
    let persons = |unit: &usize| made.records.iter().filter(|record| record.0 == *unit).count() as i64;
    let codes: Vec<String> = units.iter().map(|unit| code(*unit)).collect();
    let totals: Vec<i64> = units.iter().map(persons).collect();
    Input::Columns(
        Columns::new(vec![("code".into(), codes.into()), ("persons".into(), totals.into())]).unwrap(),
    )
}

fn measured(table: Columns, toml: &str, change: impl FnOnce(Measure) -> Measure) -> Measurements {
    let allocation = Allocation::parse("made.toml", toml).unwrap();
    let measure =
        Measure { noise: NoiseSource::NotPrivate(1), ..Measure::new(Input::Columns(table), allocation) };
    change(measure).in_memory(&mut Quiet).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_query_is_a_plain_group_by(made in made(), shuffle in any::<u64>()) {
        let toml = made.toml("");
        let check_total = Some("persons".to_string());
        // In any order, with numbers of records and check totals.
        let mut order: Vec<usize> = (0..made.records.len()).collect();
        order.sort_by_key(|at| (*at as u64).wrapping_mul(shuffle | 1) >> 7);
        let found = measured(made.records(&order), &toml, |measure| Measure {
            rows: Some(Rows::Records(Some("id".into()))),
            units: UnitList::List(list(&made, false)),
            check_total: check_total.clone(),
            ..measure
        });
        made.check(&found)?;
        // How many records there are is not published.
        prop_assert_eq!(found.manifest.rows, None);
        // Sorted like the list.
        order.sort_by_key(|at| code(made.records[*at].0));
        let found = measured(made.records(&order), &toml, |measure| Measure {
            units: UnitList::List(list(&made, true)),
            order: RowOrder::Sorted,
            check_total: check_total.clone(),
            ..measure
        });
        made.check(&found)?;
        // Counts, whose units are those of the table.
        if made.impossible.is_none_or(|rule| rule != (0, 0)) {
            let found = measured(made.counts(), &made.toml("count = \"n\"\n"), |measure| Measure {
                units: UnitList::Table,
                ..measure
            });
            made.check(&found)?;
        }
        // With bypassed units the counts stay what they are; what is measured is a part.
        let found = measured(made.records(&order), &toml, |measure| Measure {
            units: UnitList::List(list(&made, true)),
            bypass: Some(BypassRule::OnlyChildren),
            ..measure
        });
        made.check(&found)?;
    }
}
