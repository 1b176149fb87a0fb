//! Which product a dataset is of, and what its queries look like.

use unspent::schema::Schema;
use unspent::{Error, Result};

/// What files of a product are known by.
struct Known {
    /// The shipped schema.
    schema: &'static str,
    /// A part of the dataset's name.
    mark: &'static str,
    /// The columns of attributes, in the order of the schema.
    attributes: &'static [&'static str],
}

const KNOWN: [Known; 4] = [
    Known {
        schema: "pl94-persons",
        mark: "Person_PL",
        attributes: &["hhgq", "votingage", "hispanic", "cenrace"],
    },
    Known { schema: "pl94-units", mark: "Unit_PL", attributes: &["h1"] },
    Known {
        schema: "dhc-persons",
        mark: "DHCP",
        attributes: &["relgq", "sex", "age", "hispanic", "cenrace"],
    },
    // The mark is a guess. The schema calls the last two `hhtenshort` and `hhtype`.
    Known {
        schema: "dhc-units",
        mark: "DHCH",
        attributes: &["sex", "hhage", "hisp", "race", "elderly", "hhtenshort_3lev", "hhtype_dhch"],
    },
];

/// The product of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The name of the shipped schema.
    pub(super) name: &'static str,
    pub(super) schema: Schema,
    /// The columns of attributes.
    pub(super) attributes: &'static [&'static str],
}

impl Product {
    /// The one with that shipped schema.
    pub(super) fn named(name: &str) -> Result<Product> {
        let schema = Schema::shipped(name)?;
        let known = KNOWN.iter().find(|known| known.schema == name).ok_or_else(|| {
            let allowed = format!("one of the products {}", KNOWN.map(|known| known.schema).join(", "));
            Error::input("schema", name, allowed, "no noisy measurements of others were published")
        })?;
        Ok(Product { name: known.schema, schema, attributes: known.attributes })
    }

    /// The one that datasets of that name are of.
    pub(super) fn of_dataset(name: &str) -> Option<&'static str> {
        KNOWN.iter().find(|known| name.contains(known.mark)).map(|known| known.schema)
    }

    /// The one whose attributes are all among these columns.
    pub(super) fn of_columns(columns: &[&str]) -> Option<&'static str> {
        let all = |known: &&Known| known.attributes.iter().all(|name| columns.contains(name));
        KNOWN.iter().find(all).map(|known| known.schema)
    }

    /// From the largest areas to the smallest.
    pub(super) fn levels(&self) -> Vec<&str> {
        let levels = self.schema.layout().into_iter().flat_map(|layout| layout.levels());
        levels.map(|level| level.name.as_str()).collect()
    }

    /// Where a query is in the schema.
    pub(super) fn query(&self, name: &str) -> Option<usize> {
        self.schema.queries().iter().position(|query| query.name == name)
    }

    /// The shape that files have for a query of the schema: an entry for each attribute, 1 if it is summed
    /// out.
    pub(super) fn full_shape(&self, query: usize) -> Result<Vec<i64>> {
        let parts = self.schema.resolve(&self.schema.queries()[query].by)?;
        let mut shape = vec![1; self.schema.attributes().len()];
        parts.iter().for_each(|part| shape[part.attribute] = part.cells as i64);
        Ok(shape)
    }

    /// Whether a shape in a file can be that of a query of the schema.
    ///
    /// How files of the DHC unit product write the shape of a query on their second histogram is not known,
    /// so that a list without the entries of other attributes is taken too.
    pub(super) fn fits(&self, full: &[i64], found: &[i64]) -> bool {
        found == full || (self.name == "dhc-units" && without_ones(found) == without_ones(full))
    }
}

/// The shape of an answer as the library has it: without attributes that are summed out; `[1]` for a total.
pub(super) fn without_ones(shape: &[i64]) -> Vec<u32> {
    let kept: Vec<u32> = shape.iter().filter(|n| **n != 1).map(|n| *n as u32).collect();
    if kept.is_empty() { vec![1] } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_has_its_schema_and_an_attribute_for_each_column() {
        for known in &KNOWN {
            let product = Product::named(known.schema).unwrap();
            assert_eq!(product.attributes.len(), product.schema.attributes().len(), "{}", product.name);
            for (column, attribute) in product.attributes.iter().zip(product.schema.attributes()) {
                assert!(column.starts_with(&attribute.name), "{column} {}", attribute.name);
            }
            assert_eq!(Product::of_columns(product.attributes), Some(product.name));
            assert_eq!(product.levels()[0], "US");
        }
        assert_eq!(Product::named("pl94").unwrap_err().field(), Some("schema"));
    }

    #[test]
    fn names_of_datasets_say_their_product() {
        for (name, product) in [
            ("US_Person_PL_PROD", Some("pl94-persons")),
            ("PR_Person_PL_PROD", Some("pl94-persons")),
            ("US_Unit_PL_PROD", Some("pl94-units")),
            ("PR_DHCP_PROD", Some("dhc-persons")),
            ("US_DHCH_PROD", Some("dhc-units")),
            ("measurements", None),
        ] {
            assert_eq!(Product::of_dataset(name), product, "{name}");
        }
    }

    /// Shapes that were read in the Bureau's configuration, or in readers of the files.
    #[test]
    fn shapes_are_those_of_the_production_run() {
        for (product, query, shape) in [
            ("pl94-persons", "total", &[1, 1, 1, 1][..]),
            ("pl94-persons", "hhinstlevels", &[3, 1, 1, 1]),
            ("pl94-persons", "votingage * hispanic * cenrace", &[1, 2, 2, 63]),
            ("pl94-units", "detailed", &[2]),
            ("dhc-persons", "hispanic * sex", &[1, 2, 1, 2, 1]),
            ("dhc-persons", "detailed", &[42, 2, 116, 2, 63]),
            ("dhc-units", "detailed", &[2, 9, 2, 7, 4, 3, 522]),
        ] {
            let product = Product::named(product).unwrap();
            let full = product.full_shape(product.query(query).unwrap()).unwrap();
            assert_eq!(full, shape, "{query}");
            assert!(product.fits(&full, shape));
        }
        let units = Product::named("dhc-units").unwrap();
        let full = units.full_shape(units.query("tenvacgq").unwrap()).unwrap();
        assert!(units.fits(&full, &[35]) && !units.fits(&full, &[34]));
        let persons = Product::named("dhc-persons").unwrap();
        assert!(!persons.fits(&[1, 2, 1, 2, 1], &[2, 2]));
    }

    #[test]
    fn a_shape_without_ones_is_never_empty() {
        assert_eq!(without_ones(&[1, 1]), [1]);
        assert_eq!(without_ones(&[8, 1, 1, 63]), [8, 63]);
    }
}
