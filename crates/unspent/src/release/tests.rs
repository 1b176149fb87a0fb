//! What is counted, and how often, where several products are about the same record.

use super::*;

const LEVELS: &str = r#"
attributes = ["age"]
[queries]
total = []
age = ["age"]
[[levels]]
name = "Country"
[levels.sigma2]
total = "20"
[[levels]]
name = "Region"
[levels.sigma2]
total = "30"
age = "50"
"#;
const ALSO: &str = "[[also]]\nkind = \"laplace\"\nscale = \"10\"\ncount = 3\nnote = \"n\"\n";

fn product(name: &str, neighbours: &str, rest: &str) -> Allocation {
    let head =
        format!("name = \"{name}\"\nrecord = \"person\"\nneighbours = \"{neighbours}\"\ndelta = \"1e-6\"\n");
    Allocation::parse(name, &(head + rest)).unwrap()
}

/// One record of a release is several of another product; alone a product is about its own.
#[test]
fn records_of_another_product_are_counted_as_often_as_they_move() {
    let (persons, units) = (product("persons", "bounded", LEVELS), product("units", "bounded", LEVELS));
    let units = units.touching(2).unwrap();
    assert_eq!(Release::new(vec![units.clone()]).unwrap().touches(0), 1);
    let both = Release::new(vec![persons, units]).unwrap();
    assert_eq!([0, 1].map(|product| both.touches(product)), [1, 2]);
    assert_eq!([0, 1].map(|product| both.steps(product)), [1, 2]);
}

/// A changed record is one removed and one added for mechanisms that are stated for add-remove neighbours.
#[test]
fn a_change_is_two_steps_of_what_is_stated_for_one() {
    let (bounded, added) = (product("a", "bounded", LEVELS), product("b", "add-remove", ALSO));
    let both = Release::new(vec![bounded.clone(), added.clone()]).unwrap();
    assert_eq!([0, 1].map(|product| both.steps(product)), [1, 2]);
    let made = both.main_path(&Scope::Total).unwrap();
    let laplace = made.groups().iter().filter(|group| group.mechanism.kind() == "laplace");
    assert_eq!(laplace.map(|group| group.count).sum::<u64>(), 6);
    let alike = Release::new(vec![product("a", "add-remove", LEVELS), added]).unwrap();
    assert_eq!([0, 1].map(|product| alike.steps(product)), [1, 1]);
    // What measures anything itself must have the same neighbours.
    let error = Release::new(vec![bounded, product("b", "add-remove", LEVELS)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherNeighbours);
}

fn scopes(release: &Release) -> Vec<String> {
    release.scopes().iter().map(ToString::to_string).collect()
}

/// A change inside a unit is told apart from others where totals move, and not where they are exact.
#[test]
fn records_that_keep_totals_are_told_apart_where_totals_are_noisy() {
    let release = Release::from(product("a", "bounded", LEVELS));
    assert_eq!(
        scopes(&release),
        [
            "total",
            "level Country",
            "level Region",
            "keeping Country",
            "keeping Region",
            "attribute age",
            "within Country"
        ]
    );
    let exact = Release::from(product("a", "bounded", &format!("exact_totals = [\"Country\"]\n{LEVELS}")));
    assert_eq!(
        scopes(&exact),
        ["total", "level Region", "keeping Region", "attribute age", "within Country"]
    );
    // The total of the country cannot move, and the other queries can.
    let moved = |release: &Release, scope: &Scope| release.moved(scope).map(|moved| moved.len());
    assert_eq!(moved(&release, &Scope::Total).unwrap(), 3);
    assert_eq!(moved(&exact, &Scope::Total).unwrap(), 2);
    assert!(moved(&exact, &Scope::Level("Country".into())).is_err());
    assert_eq!(moved(&release, &Scope::Keeping("Region".into())).unwrap(), 1);
    assert_eq!(moved(&release, &Scope::Within("Country".into())).unwrap(), 2);
}

/// What a record adds to a total that it can move by more than one may depend on its attributes.
#[test]
fn a_total_with_a_larger_shift_moves_with_any_attribute() {
    let larger = LEVELS.replace("total = []", "total = { attributes = [], shift = 2 }");
    let release = Release::from(product("a", "bounded", &larger));
    assert_eq!(release.moved(&Scope::Keeping("Region".into())).unwrap().len(), 3);
    assert_eq!(release.moved(&Scope::Attribute("age".into())).unwrap().len(), 1);
}

/// Other mechanisms alone are a release, of which nothing is said but in total.
#[test]
fn mechanisms_alone_are_all_of_a_release() {
    let release = Release::from(product("b", "add-remove", ALSO));
    assert!(release.moved(&Scope::Total).unwrap().is_empty());
    assert!(release.moved(&Scope::Level("Country".into())).is_err());
    assert_eq!(scopes(&release), ["total"]);
    let release = Release::from(product("b", "bounded", ALSO));
    assert!(release.moved(&Scope::Attribute("age".into())).is_err());
}

#[test]
fn names_are_those_of_the_allocation() {
    let release = Release::from(product("a", "bounded", LEVELS));
    for scope in
        [Scope::Attribute("Age".into()), Scope::Within("country".into()), Scope::Level("Town".into())]
    {
        assert!(release.moved(&scope).unwrap_err().is_input(), "{scope}");
    }
    let two = Release::new(vec![product("a", "bounded", LEVELS), product("b", "bounded", LEVELS)]).unwrap();
    let error = two.moved(&Scope::Attribute("sex".into())).unwrap_err().to_string();
    assert!(error.contains("attribute: `sex` is not among the attributes of `a`"), "{error}");
    let error = two.moved(&Scope::Within("Town".into())).unwrap_err().to_string();
    assert!(error.contains("level: `Town` is not among the levels of `a`"), "{error}");
}
