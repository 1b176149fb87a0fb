//! What is said of designs, with made-up figures.

use serde_json::Value;
use unspent::{Allocation, Bounds, Magnitude, Scope};
use unspent_estimate::design::{
    Checked, Design, Explained, Guarded, Importance, Law, NeedMet, PromiseKept, TableOfDesign, Units,
};

use crate::expect::expect;

fn bounds(lower: f64, upper: f64) -> Bounds<f64> {
    Bounds::restored(Magnitude::from_f64(lower), Magnitude::from_f64(upper)).to_f64()
}

fn need(name: &str, asked: f64, predicted: f64, share: f64) -> NeedMet {
    NeedMet {
        name: name.into(),
        level: "Town".into(),
        quantity: "total".into(),
        asked,
        predicted,
        is_share: false,
        population: None,
        confidence: 0.95,
        coverage: 0.951,
        share,
        tenth_wider_saves: Some(0.1234),
        met: predicted <= asked,
    }
}

fn table(level: &str, query: &str, rho: Option<&str>, deviation: Option<f64>) -> TableOfDesign {
    let rho = rho.map(|rho| rho.parse().unwrap());
    let sigma2 = rho.as_ref().map(|rho| &unspent::Rational::integer(1) / rho);
    TableOfDesign { level: level.into(), query: query.into(), rho, sigma2, deviation }
}

fn design() -> Design {
    let allocation = Allocation::parse(
        "towns.toml",
        "name = 'Towns, from needs'\nrecord = 'person'\nneighbours = 'bounded'\ndelta = '1e-10'\n\
         [attributes]\nage = ['young', 'old']\n[queries]\ntotal = []\nage = ['age']\n\
         [[levels]]\nname = 'Town'\nrho = { total = 0.25, age = '1/4' }\n",
    );
    let share =
        NeedMet { is_share: true, population: Some(1300.0), ..need("share of the old", 0.01, 0.0091, 0.0) };
    Design {
        allocation: allocation.unwrap(),
        rho: "0.5".parse().unwrap(),
        least_rho: Some("0.4997501".parse().unwrap()),
        delta: "1e-10".parse().unwrap(),
        epsilon: bounds(6.55, 6.550_000_1),
        epsilon_of_least_rho: Some(6.5481),
        factor: 1.0,
        law: Law::Normal,
        units: Units::PerLevel(vec![1, 40]),
        needs: vec![need("totals of towns", 5.0, 4.9991, 0.7), share],
        rest_share: 0.3,
        guarded: Some(Guarded {
            than: "Towns".into(),
            times: 1.25,
            largest: 1.2499,
            at: Some(("Town".into(), "age".into())),
        }),
        tables: vec![
            table("County", "total", None, Some(12.0)),
            table("County", "age", None, None),
            table("Town", "total", Some("0.25"), Some(1.9)),
            table("Town", "age", Some("1/4"), Some(2.1)),
        ],
        promises: vec![PromiseKept {
            scope: Scope::Attribute("age".into()),
            promised: "5".parse().unwrap(),
            epsilon: bounds(4.25, 4.25),
        }],
        small_sigma2: Some(0.3125),
        assumptions: vec!["The totals of Town are exact.".into()],
    }
}

fn checked() -> Checked {
    let missed = NeedMet { met: false, confidence: 0.9, ..need("ages", 5.0, f64::INFINITY, 0.0) };
    let Design { rho, delta, epsilon, law, units, .. } = design();
    let needs = vec![need("totals", 5.0, 4.0, 0.0), need("regions", 5.0, 6.0, 0.0), missed];
    Checked { allocation: "Towns".into(), rho, delta, epsilon, law, units, needs }
}

fn explained() -> Explained {
    let importance = |query: &str, share: f64| Importance {
        level: "Town".into(),
        query: query.into(),
        share,
        spent: 0.5,
        deviation: 1.9,
    };
    Explained {
        allocation: "Towns".into(),
        rho: "0.5".parse().unwrap(),
        least_rho: "0.5".parse().unwrap(),
        units: Units::PerLevel(vec![1, 40]),
        tables: vec![importance("total", 0.75), importance("age", 0.25)],
    }
}

#[test]
fn designs_are_told() {
    let told = design();
    let terminal = told.document().terminal();
    assert!(terminal.lines().all(|line| line.chars().count() <= 100), "{terminal}");
    expect("expected/design.txt", &terminal);
    expect("expected/design.md", &told.document().markdown());
    // What is lost, and what is not, is always said.
    let mut kept = design();
    kept.tables[1].deviation = Some(3.0);
    kept.factor = 1.375;
    kept.law = Law::Guaranteed;
    kept.least_rho = None;
    kept.epsilon_of_least_rho = None;
    let text = kept.document().terminal();
    for said in [
        "Every query can be answered at every level.",
        "times 1.375: wider.",
        "asked for at least, for one unit",
        "is not certified for a list of units",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn checks_and_explanations_are_told() {
    expect("expected/checked.txt", &checked().document().terminal());
    expect("expected/explained.txt", &explained().document().terminal());
}

#[test]
fn programs_get_exact_numbers_as_text_and_bounds_as_pairs() {
    let json: Value = serde_json::to_value(design()).unwrap();
    assert_eq!((&json["rho"], &json["least_rho"]), (&"0.5".into(), &"0.4997501".into()));
    assert_eq!(json["epsilon"]["lower"], "6.5499999999999998");
    assert_eq!(json["units"], serde_json::json!({"tree": "regular", "per_level": [1, 40]}));
    assert_eq!(json["promises"][0]["scope"], "attribute");
    assert_eq!(json["tables"][1]["rho"], Value::Null);
    let file = json["file"].as_str().unwrap();
    assert_eq!(Allocation::parse("written", file).unwrap(), design().allocation);
    let json: Value = serde_json::to_value(checked()).unwrap();
    assert_eq!((&json["met"], &json["needs"][2]["predicted"]), (&false.into(), &Value::Null));
    assert_eq!(serde_json::to_value(explained()).unwrap()["tables"][0]["share"], 0.75);
    assert_eq!(design().table_columns().csv().lines().nth(3), Some("Town,total,0.25,4,1.9"));
    let csv = design().columns().csv();
    assert_eq!(
        csv.lines().nth(1).unwrap(),
        "totals of towns,Town,total,5,4.9991,false,,0.95,0.951,0.7,0.1234,true"
    );
    assert!(
        checked()
            .columns()
            .csv()
            .starts_with("name,level,quantity,asked,predicted,is_share,population,confidence,coverage,met\n")
    );
    assert_eq!(explained().columns().rows(), 2);
}
