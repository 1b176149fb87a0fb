//! Schemas: those that are shipped, what queries touch, and files that are refused.

use unspent::schema::{Rows, Schema, ShippedSchema};
use unspent::{Allocation, Preset};

use crate::support::expect;

fn shipped(name: &str) -> Schema {
    Schema::shipped(name).unwrap()
}

/// How many cells each query of the 2020 products has, by the Bureau's code; 0 for one that is not there.
const CELLS: [(&str, &str, usize); 33] = [
    ("pl94-persons", "total", 1),
    ("pl94-persons", "cenrace", 63),
    ("pl94-persons", "hispanic", 2),
    ("pl94-persons", "votingage", 2),
    ("pl94-persons", "hhinstlevels", 3),
    ("pl94-persons", "hhgq", 8),
    ("pl94-persons", "hispanic * cenrace", 126),
    ("pl94-persons", "votingage * cenrace", 126),
    ("pl94-persons", "votingage * hispanic", 4),
    ("pl94-persons", "votingage * hispanic * cenrace", 252),
    ("pl94-persons", "detailed", 2_016),
    ("pl94-units", "detailed", 2),
    ("dhc-persons", "age_18_64_116 * relgq_4_groups", 12),
    ("dhc-persons", "age_18_64_116 * sex", 6),
    ("dhc-persons", "age_38_groups * sex", 76),
    ("dhc-persons", "hispanic * sex", 4),
    ("dhc-persons", "sex * relgq_4_groups", 8),
    ("dhc-persons", "gq_constr_groups * age_10_groups", 60),
    ("dhc-persons", "popSehsdTargetsRelship", 19),
    ("dhc-persons", "hispanic * sex * age_40_groups * relship_and_eight_level_GQ * cenrace", 252_000),
    ("dhc-persons", "relgq * age_40_groups * hispanic * cenrace * sex", 423_360),
    ("dhc-persons", "detailed", 1_227_744),
    ("dhc-units", "multig * hisp * hhtenshort_2lev", 8),
    ("dhc-units", "hisp * hhtenshort_2lev", 4),
    ("dhc-units", "hisp * hhtenshort_2lev * race", 28),
    ("dhc-units", "partner_type_detailed_own_child_status * sex * hhtenshort_2lev", 48),
    ("dhc-units", "coupled_hh_type * hisp * hhtenshort_2lev", 20),
    ("dhc-units", "sex * hisp * hhtenshort_3lev * race * DetailedCoupleTypeMultGenDetOwnChildSize", 15_372),
    (
        "dhc-units",
        "sex * hisp * hhtenshort_3lev * race * hhage * DetailedCoupleTypeMultGenDetOwnChildSize",
        138_348,
    ),
    ("dhc-units", "hhtenshort_3lev * hhage * DetailedCoupleTypeMultGenDetOwnChildSize", 4_941),
    ("dhc-units", "detailed", 1_578_528),
    ("dhc-units", "tenvacgq", 35),
    ("dhc-units", "partner_type_own_child_status * sex * hhtenshort_2lev", 24),
];

#[test]
fn every_query_has_the_cells_that_the_bureau_gives_it() {
    for (schema, query, cells) in CELLS {
        let schema = shipped(schema);
        let found = schema.queries().iter().find(|known| known.name == query).unwrap();
        let parts = schema.resolve(&found.by).unwrap();
        assert_eq!(parts.iter().map(|part| part.cells).product::<usize>(), cells, "{query}");
    }
    assert_eq!(shipped("pl94-persons").cells(), 2_016);
    assert_eq!(shipped("dhc-persons").cells(), 1_227_744);
}

/// The rules, and how many of the 2,016 and 1,227,744 cells no record can be in.
#[test]
fn structural_zeros_are_those_of_production() {
    for (name, rules, zeros) in [("pl94-persons", 1, 126), ("dhc-persons", 32, 322_560), ("dhc-units", 22, 0)]
    {
        let schema = shipped(name);
        assert_eq!(schema.impossible().len(), rules);
        if zeros == 0 {
            continue;
        }
        let sizes: Vec<usize> = schema.attributes().iter().map(|a| a.values.len()).collect();
        let among = |rule: &unspent::schema::Impossible, cell: &[u32]| {
            rule.combination.iter().all(|(at, values)| values.contains(&cell[*at]))
        };
        let mut found = 0;
        let mut cell = vec![0u32; sizes.len()];
        'cells: loop {
            found += usize::from(schema.impossible().iter().any(|rule| among(rule, &cell)));
            for at in (0..sizes.len()).rev() {
                cell[at] += 1;
                if (cell[at] as usize) < sizes[at] {
                    continue 'cells;
                }
                cell[at] = 0;
            }
            break;
        }
        assert_eq!(found, zeros, "{name}");
    }
}

#[test]
fn every_preset_names_a_schema_and_asks_its_queries() {
    for preset in Preset::ALL {
        let allocation = preset.allocation().unwrap();
        let schema = allocation.schema().unwrap();
        assert!(schema.is_shipped() && schema.layout().is_some(), "{}", preset.name);
        assert!(matches!(schema.layout().unwrap().rows(), Rows::Records(None)));
        let names: Vec<&String> = schema.attributes().iter().map(|a| &a.name).collect();
        assert!(names.iter().copied().eq(allocation.attributes()), "{}", preset.name);
        for query in allocation.queries() {
            let of_schema = schema.queries().iter().find(|known| known.name == query.name).unwrap();
            assert_eq!(of_schema.by, query.by);
            let mut touched = query.attributes.clone();
            touched.sort_by_key(|name| schema.attribute(name));
            assert_eq!(schema.touched(&query.by).unwrap(), touched);
        }
    }
    // A recode touches its attribute.
    let pl94 = Allocation::preset("pl94-persons-us-2020").unwrap();
    let recode = pl94.queries().iter().find(|query| query.name == "hhinstlevels").unwrap();
    assert_eq!(
        (recode.by.as_slice(), recode.attributes.as_slice()),
        (&["hhinstlevels".into()][..], &["hhgq".into()][..])
    );
    let units = Allocation::preset("dhc-units-us-2020").unwrap();
    let tenvacgq = units.queries().iter().find(|query| query.name == "tenvacgq").unwrap();
    assert_eq!(tenvacgq.attributes, ["hhtenshort"]);
}

#[test]
fn schemas_and_allocations_with_them_read_back_the_same() {
    for ShippedSchema { name, text } in ShippedSchema::ALL {
        let schema = Schema::parse(name, text).unwrap();
        assert_eq!(Schema::parse("", &schema.to_toml()).unwrap(), schema, "{name}");
        let named = shipped(name);
        assert_eq!(Schema::parse("", &named.to_toml()).unwrap(), named);
        assert!(named.to_toml().len() < 100, "a shipped schema is named");
    }
    for preset in Preset::ALL {
        let allocation = preset.allocation().unwrap();
        let written = allocation.to_file().unwrap();
        assert_eq!(Allocation::parse("", &written).unwrap(), allocation, "{}", preset.name);
        assert!(written.contains("schema = ") && !written.contains("[queries]"), "{written}");
    }
    let allocation = Allocation::parse("", GOOD).unwrap();
    assert_eq!(allocation.queries()[1].attributes, ["age", "sex"]);
    let written = allocation.to_file().unwrap();
    assert_eq!(Allocation::parse("", &written).unwrap(), allocation);
    for part in ["[attributes]", "[recodes.adult]", "[[impossible]]", "[[invariants]]", "optional = true"] {
        assert!(written.contains(part), "{part}: {written}");
    }
}

const GOOD: &str = r#"name = "Homes"
neighbours = "bounded"
delta = "1e-9"
exact_totals = ["Country"]

[attributes]
sex = ["f", "m"]
age = { first = 0, last = 99 }
home = { values = ["house", "school", "none"], codes = ["1", "2", "3"], optional = true }

[recodes.adult]
of = "age"
groups = { minor = [[0, 17]], adult = [[18, 99]] }

[recodes.school]
of = "home"
groups = { school = ["school"] }

[[impossible]]
name = "old pupils"
where = { home = ["school"], age = [[30, 99]] }

[queries]
total = []
"adult * sex" = ["adult", "sex"]
school = ["school"]

[[invariants]]
level = "Country"
query = "school"

[[invariants]]
level = "Town"
name = "schools"
columns = ["n_schools"]

[[levels]]
name = "Country"
sigma2 = { "adult * sex" = 10, school = 4 }

[[levels]]
name = "Town"
sigma2 = { total = 5, "adult * sex" = 20 }

[table]
code = "code"
[table.levels]
Country = 0
Town = 4
"#;

#[test]
fn a_schema_that_makes_no_sense_is_refused() {
    let changes = [
        ("[\"f\", \"m\"]", "[\"f\", \"f\"]"),
        ("[\"f\", \"m\"]", "[]"),
        ("[\"f\", \"m\"]", "\"f\""),
        ("first = 0, last = 99", "first = 9, last = 0"),
        ("first = 0, last = 99", "first = 0"),
        ("first = 0, last = 99", "first = 0, last = 9999999"),
        ("\"3\"], optional", "\"3\", \"4\"], optional"),
        ("optional = true", "optional = 1"),
        ("sex = [", "column = ["),
        ("of = \"age\"", "of = \"ages\""),
        ("of = \"age\"\n", ""),
        ("[recodes.adult]", "[recodes.sex]"),
        ("[[0, 17]]", "[[0, 18]]"),
        ("[[0, 17]]", "[[17, 0]]"),
        ("[[0, 17]]", "[]"),
        ("[[0, 17]]", "[100]"),
        ("school = [\"school\"] }", "school = [\"scool\"] }"),
        ("groups = { school = [\"school\"] }", "groups = {}"),
        ("where = { home = [\"school\"], age = [[30, 99]] }", "where = {}"),
        ("where = { home", "where = { hom"),
        ("name = \"old pupils\"\n", ""),
        ("[\"adult\", \"sex\"]", "[\"adult\", \"age\"]"),
        ("[\"adult\", \"sex\"]", "[\"adults\", \"sex\"]"),
        ("query = \"school\"", "query = \"total\""),
        ("query = \"school\"", "query = \"shool\""),
        ("query = \"school\"", "name = \"school\""),
        ("level = \"Town\"", "level = \"Village\""),
        ("neighbours = \"bounded\"", "neighbours = \"bounded\"\nschema = \"pl94\""),
        ("neighbours = \"bounded\"", "neighbours = \"bounded\"\nschema = \"pl94-persons\""),
        ("neighbours = \"bounded\"", "neighbours = \"bounded\"\nschema = \"other.toml\""),
        ("code = \"code\"\n", "code = \"code\"\ncount = \"n\"\nid = \"p\"\n"),
        ("code = \"code\"\n", "code = \"code\"\ncells = []\n"),
        ("Country = 0\nTown = 4\n", "Country = 0\nTown = 4\n[table.columns]\nages = \"AGE\"\n"),
    ];
    let mut messages = String::new();
    for (what, by) in changes {
        assert!(GOOD.contains(what), "{what}");
        let error = Allocation::parse("a.toml", &GOOD.replacen(what, by, 1)).err();
        let error = error.unwrap_or_else(|| panic!("{by} is accepted"));
        let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
        messages += &format!("--- {by}\nerror: {error}\n{excerpt}hint: {}\n\n", error.hint());
    }
    expect("expected/refused/schemas.txt", &messages);
}

/// What was said of a query in a file, and what follows from the schema, count the same.
#[test]
fn a_schema_changes_no_certificate() {
    use unspent::Ask;
    use unspent::question::CertificateQuestion;
    let named = Allocation::preset("pl94-units-us-2020").unwrap();
    let text = named.to_toml().replace("schema = \"pl94-units\"", "attributes = [\"h1\"]\n");
    let said = Allocation::parse("", &format!("{text}\n[queries]\ndetailed = [\"h1\"]\n")).unwrap();
    let lines = |allocation: Allocation| {
        let certificate = CertificateQuestion::about([allocation]).answer().unwrap();
        certificate.lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lines(named), lines(said));
}
