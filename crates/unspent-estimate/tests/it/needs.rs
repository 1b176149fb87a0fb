//! Needs files that are read, and those that are refused: the whole message, every time.
//!
//! The cases are in `refused.json`: changes of `needs.toml`, and whole files.

use serde_json::Value;
use unspent::{Allocation, Error, Rational, Result, Scope};
use unspent_estimate::design::{
    Goal, Law, Needs, OtherFiles, PresetsOnly, Quantity, Rest, Selection, UnitSet, UnitTree, Units,
};

use crate::expect::{expect, expected_in};

const GOOD: &str = include_str!("needs.toml");

fn parse(text: &str) -> Result<Needs> {
    Needs::parse("needs.toml", text, &mut PresetsOnly)
}

/// As the command prints it.
fn printed(error: &Error) -> String {
    let excerpt = error.excerpt().map_or_else(String::new, |excerpt| format!("{excerpt}\n"));
    format!("error: {error}\n{excerpt}hint: {}\n", error.hint())
}

fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

#[test]
fn a_good_file_is_read() {
    let needs = parse(GOOD).unwrap();
    assert_eq!(needs.offer.name(), "Health");
    assert_eq!(needs.offer.measurements().count(), 9, "every query may be measured at every level");
    assert_eq!(needs.units, Units::PerLevel(vec![1, 12, 120]));
    assert_eq!((needs.goal, needs.law), (Goal::LeastEpsilon, Law::Normal));
    let [totals, table, share] = &needs.needs[..] else { panic!("three needs") };
    assert_eq!(totals.quantity, Quantity::Table { by: vec![], margin: number("12") });
    assert_eq!((totals.level, &totals.confidence, totals.all), (2, &number("0.95"), false));
    assert_eq!(
        (table.name.as_str(), &table.confidence, table.all),
        ("Region: adult * sex", &number("0.9"), true)
    );
    assert_eq!(share.set, Some(UnitSet::Packed(5)));
    let Quantity::Share { of, among, margin, population, about } = &share.quantity else { panic!("a share") };
    assert_eq!((of, among), (&Selection([(2, vec![1, 2])].into()), &Selection::default()));
    assert_eq!([margin, population], [&number("0.02"), &number("9000")]);
    assert_eq!(about, &Some(number("0.1")));
    assert!(matches!(needs.rest, Rest::Drop));
    assert_eq!(needs.promises[0].scope, Scope::Attribute("condition".into()));
}

#[test]
fn a_set_has_whole_units_of_several_levels() {
    let parts = "parts = { District = 5, Region = 2 }";
    let text =
        GOOD.replacen("count = 5\nspread = \"packed\"", parts, 1).replacen("name = \"prevalence\"\n", "", 1);
    let needs = parse(&text).unwrap();
    assert_eq!(needs.needs[2].set, Some(UnitSet::Parts([(1, 2), (2, 5)].into())));
    let name = "2 of Region and 5 of District: share of condition = heart or lung";
    assert_eq!(needs.needs[2].name, name);
    let quantity = &needs.design(false).unwrap().needs[2].quantity;
    assert_eq!(quantity, "share of condition = heart or lung, 2 of Region and 5 of District");
    // What is more together is known better.
    let rho = |parts: &str| {
        let text = text.replacen("parts = { District = 5, Region = 2 }", parts, 1);
        parse(&text).unwrap().design(false).unwrap().rho
    };
    let (together, apart) = (rho("parts = { District = 5, Region = 2 }"), rho("count = 25"));
    assert!(together < apart, "{together} {apart}");
}

#[test]
fn a_share_is_among_others() {
    let among = "share = \"0.02\"\nof = { adult = [\"adult\"], sex = [\"male\"] }";
    let text = GOOD.replacen("share = \"0.02\"", among, 1).replacen(
        "condition = [\"condition\"]\n",
        "all = [\"age\", \"sex\", \"condition\"]\n",
        1,
    );
    let needs = parse(&text.replace("name = \"prevalence\"\n", "")).unwrap();
    let name = "5 of District, packed: share of condition = heart or lung among age = adult, sex = male";
    assert_eq!(needs.needs[2].name, name);
    let Quantity::Share { of, among, .. } = &needs.needs[2].quantity else { panic!("a share") };
    assert_eq!(among, &Selection([(0, vec![1, 2]), (1, vec![1])].into()));
    assert_eq!(of, &Selection([(0, vec![1, 2]), (1, vec![1]), (2, vec![1, 2])].into()));
}

/// Presets, the units of the census, exact totals, a guard, and the best for the rest.
#[test]
fn an_allocation_says_what_may_be_measured() {
    let text = r#"
        allocation = "pl94-persons-us-2020"
        exact_totals = ["State"]
        delta = "1e-6"
        goal = "least-epsilon"
        rest = { guard = { than = "pl94-persons-us-2020", times = 1.25 } }
        [[needs]]
        level = "Block"
        where = { hispanic = ["Hispanic or Latino"], votingage = ["18 or older"] }
        margin = 30
        [[needs]]
        level = "Block"
        where = { hispanic = ["Hispanic or Latino"], votingage = ["18 or older"] }
        margin = 40
    "#;
    let needs = parse(text).unwrap();
    assert_eq!(needs.units.per_level().last(), Some(&8_132_968));
    assert_eq!(needs.offer.production().exact_totals, ["State"]);
    assert_eq!(needs.delta.to_string(), "1e-6");
    assert!(matches!(needs.rest, Rest::Guard { times, .. } if times == number("5/4")));
    assert!(needs.needs[1].name.ends_with(" (2)"), "{}", needs.needs[1].name);
    let given =
        text.replace("goal = \"least-epsilon\"", "epsilon = \"8\"\nwider = true\nlaw = \"guaranteed\"");
    let guard = "rest = { guard = { than = \"pl94-persons-us-2020\", times = 1.25 } }";
    let given = parse(&given.replace(guard, "rest = { best = true }")).unwrap();
    assert_eq!(given.goal, Goal::Epsilon { epsilon: "8".parse().unwrap(), wider: true });
    assert!(matches!((given.law, given.rest), (Law::Guaranteed, Rest::Best)));
}

/// Files beside a needs file.
struct Beside;

impl OtherFiles for Beside {
    fn allocation(&mut self, name: &str) -> Result<Allocation> {
        match name {
            "broken.toml" => Allocation::parse(name, "name = \"broken\"\n"),
            other => Err(Error::input("allocation", other, "a file that can be read", "check the path")),
        }
    }

    fn units(&mut self, list: &str, schema: Option<&str>, offer: &Allocation) -> Result<UnitTree> {
        assert_eq!((list, schema, offer.levels().len()), ("codes.csv", Some("codes.toml"), 3));
        Ok(UnitTree { roots: 1, parents: vec![vec![0, 0], vec![0, 0, 1, 1, 1]] })
    }
}

#[test]
fn other_files_are_at_fault_themselves() {
    let listed = "units = { list = \"codes.csv\", schema = \"codes.toml\" }";
    let text = GOOD.replacen("units = { Country = 1, Region = 12, District = 120 }", listed, 1);
    let needs = Needs::parse("needs.toml", &text, &mut Beside).unwrap();
    assert_eq!(needs.units.per_level(), [1, 2, 5]);
    let error = |text: &str| Needs::parse("needs.toml", text, &mut Beside).unwrap_err().to_string();
    assert_eq!(error("allocation = \"broken.toml\"\n"), "broken.toml:1:1: `neighbours` is missing");
    let missing = "needs.toml:1:14: allocation: `nowhere.toml` is not a file that can be read";
    assert_eq!(error("allocation = \"nowhere.toml\"\n"), missing);
}

/// What the solution says, not the file.
#[test]
fn noise_that_there_is_not_is_refused() {
    for (margin, variance) in [("margin = \"0.001\"", "e-7, and"), ("margin = 20000000", "e1")] {
        let text = GOOD.replacen("margin = 12", margin, 1).replacen("margin = \"7.5\"", margin, 1);
        let text = text.replacen("population = 9000", "population = 900000000", 1);
        let error = parse(&text[..text.find("[[promises]]").unwrap()]).unwrap().design(false).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("would have noise of variance") && message.contains(variance), "{message}");
        assert!(error.hint().contains("margins"), "{}", error.hint());
    }
}

#[test]
fn bad_files_are_refused_with_place_and_hint() {
    let all: Value = serde_json::from_str(include_str!("refused.json")).unwrap();
    let groups = all.as_object().unwrap();
    for (group, cases) in groups {
        let mut messages = String::new();
        for case in cases.as_array().unwrap() {
            let text = match case.as_str() {
                Some(text) => text.to_string(),
                None => {
                    let [what, by] = [0, 1].map(|at| case[at].as_str().unwrap());
                    assert!(GOOD.contains(what), "{what}");
                    GOOD.replacen(what, by, 1)
                }
            };
            let error = parse(&text).err().unwrap_or_else(|| panic!("{case} is accepted"));
            assert!(
                error.is_input() && error.excerpt().is_some() && !error.hint().is_empty(),
                "{case}: {error}"
            );
            let title: String = case.to_string().chars().take(100).collect();
            messages += &format!("--- {title}\n{}\n", printed(&error));
        }
        expect(&format!("expected/refused/{group}.txt"), &messages);
    }
    let mut names: Vec<&String> = groups.keys().collect();
    names.sort();
    assert_eq!(expected_in("expected/refused").iter().collect::<Vec<_>>(), names);
}
