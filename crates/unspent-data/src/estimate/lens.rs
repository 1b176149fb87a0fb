//! One schema seen through another: attributes that are recodes of finer ones.

use unspent::schema::Schema;
use unspent::{Error, Result};
use unspent_estimate::{Partition, partitions};

use super::input::Input;

/// How the attributes of one schema are attributes or recodes of another.
pub(super) struct Lens {
    /// For each attribute, that of the other schema, and the value that each of its values belongs to.
    attributes: Vec<(usize, Vec<Option<u32>>)>,
    sizes: Vec<usize>,
}

impl Lens {
    pub(super) fn new(input: &Input, schema: &Schema) -> Result<Lens> {
        let size = |a: &unspent::schema::Attribute| a.values.len() + usize::from(a.optional);
        let sizes = schema.attributes().iter().map(size).collect();
        let mut attributes: Vec<(usize, Vec<Option<u32>>)> = vec![];
        for attribute in input.schema.attributes() {
            // With the same values; of several attributes with these, that of the same name.
            let alike: Vec<usize> = schema
                .attributes()
                .iter()
                .enumerate()
                .filter(|(_, other)| other.values == attribute.values && other.optional == attribute.optional)
                .map(|(at, _)| at)
                .collect();
            let named = alike.iter().find(|at| schema.attributes()[**at].name == attribute.name);
            let same = named.or(alike.first().filter(|_| alike.len() == 1)).copied();
            let found = match same {
                Some(at) => Some((at, (0..size(attribute) as u32).map(Some).collect())),
                None => schema.recodes().iter().find_map(|recode| {
                    let labels = recode.groups.iter().map(|group| &group.label);
                    let whole = &schema.attributes()[recode.attribute];
                    if !labels.eq(&attribute.values) || !recode.is_partition(whole) || whole.optional {
                        return None;
                    }
                    let mut of = vec![None; whole.values.len()];
                    for (group, members) in recode.groups.iter().enumerate() {
                        members.values.iter().for_each(|value| of[*value as usize] = Some(group as u32));
                    }
                    Some((recode.attribute, of))
                }),
            };
            let Some((at, of)) = found.filter(|(at, _)| attributes.iter().all(|(known, _)| known != at))
            else {
                return Err(Error::stated(
                    format!(
                        "{}: attribute `{}` is neither an attribute nor a recode of the finest schema",
                        input.name, attribute.name
                    ),
                    "folders are estimated together if the values of one schema are groups of another's, \
                     with the same labels in the same order",
                ));
            };
            attributes.push((at, of));
        }
        Ok(Lens { attributes, sizes })
    }

    pub(super) fn partitions(&self, input: &Input, by: &[String]) -> Result<Vec<Partition>> {
        let own = partitions(&input.schema, by)?;
        let told: Vec<usize> = input.schema.resolve(by)?.iter().map(|part| part.attribute).collect();
        let mut found: Vec<Partition> = self.sizes.iter().map(|size| Partition::summed(*size)).collect();
        for attribute in told {
            let (at, of) = &self.attributes[attribute];
            found[*at] = own[attribute].refined(of);
        }
        Ok(found)
    }

    pub(super) fn attributes(&self, input: &Input, by: &[String]) -> Result<Vec<usize>> {
        Ok(input.schema.resolve(by)?.iter().map(|part| self.attributes[part.attribute].0).collect())
    }
}

/// Most answers of a query that have a label each.
const MAX_LABELS: usize = 10_000;

/// What the answers of a query are called: the values or groups that they count, with `; ` between them.
pub(super) fn labels_of(schema: &Schema, by: &[String]) -> Result<Vec<String>> {
    let parts = schema.resolve(by)?;
    if parts.iter().map(|part| part.cells).product::<usize>() > MAX_LABELS {
        return Ok(vec![]);
    }
    let mut labels = vec![String::new()];
    for part in &parts {
        let own: Vec<&str> = match part.recode {
            Some(recode) => recode.groups.iter().map(|group| group.label.as_str()).collect(),
            None => schema.attributes()[part.attribute].values.iter().map(String::as_str).collect(),
        };
        let join = |label: &String| {
            let before = if label.is_empty() { String::new() } else { format!("{label}; ") };
            own.iter().map(move |own| format!("{before}{own}")).collect::<Vec<_>>()
        };
        labels = labels.iter().flat_map(join).collect();
    }
    Ok(labels)
}
