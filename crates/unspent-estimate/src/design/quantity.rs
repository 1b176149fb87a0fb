//! What is known of a unit, in words.

use unspent::Allocation;
use unspent::schema::Schema;

use super::needs::{Quantity, Selection};

/// Most values that are listed by name.
const LISTED: usize = 3;

impl Selection {
    /// The records that are selected by both.
    #[must_use]
    pub fn within(mut self, other: &Selection) -> Selection {
        for (attribute, values) in &other.0 {
            let both = self.0.entry(*attribute).or_insert_with(|| values.clone());
            both.retain(|value| values.contains(value));
        }
        self
    }

    /// `race = black or asian`; `everybody` if all are selected.
    #[must_use]
    pub fn in_words(&self, schema: &Schema) -> String {
        let mut parts = vec![];
        for (at, values) in &self.0 {
            let attribute = &schema.attributes()[*at];
            // A group of a recode by its label, which is shorter and says more.
            let recodes = schema.recodes().iter().filter(|recode| recode.attribute == *at);
            let groups = recodes.flat_map(|recode| &recode.groups);
            let group = groups.filter(|group| values.len() > 1 && group.values == *values).map(|g| &g.label);
            let names: Vec<&str> = match group.into_iter().next() {
                Some(label) => vec![label],
                None => values.iter().map(|value| attribute.values[*value as usize].as_str()).collect(),
            };
            let listed = match names.len() {
                0..=LISTED => names.join(" or "),
                n => format!("{} or {} more", names[..LISTED - 1].join(" or "), n - (LISTED - 1)),
            };
            parts.push(format!("{} = {listed}", attribute.name));
        }
        if parts.is_empty() { "everybody".into() } else { parts.join(", ") }
    }
}

impl Quantity {
    /// `total`, `voting age * race`, `race = black`, `share of race = black`.
    #[must_use]
    pub fn in_words(&self, offer: &Allocation) -> String {
        let selected = |of: &Selection| offer.schema().map_or_else(String::new, |s| of.in_words(s));
        match self {
            Quantity::Table { by, .. } if by.is_empty() => "total".into(),
            Quantity::Table { by, .. } => by.join(" * "),
            Quantity::Count { of, .. } => selected(of),
            Quantity::Share { of, among, .. } => {
                // What both say is said once.
                let mut own = of.clone();
                own.0.retain(|attribute, values| among.0.get(attribute) != Some(values));
                let share = format!("share of {}", selected(&own));
                if among.0.is_empty() { share } else { format!("{share} among {}", selected(among)) }
            }
        }
    }
}
