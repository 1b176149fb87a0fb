//! Allocations with Laplace noise: read, written, certified, and refused where something is only known of
//! Gaussian noise.

use unspent::allocation::Allocation;
use unspent::mechanism::Described;
use unspent::question::{CertificateQuestion, ComparisonQuestion};
use unspent::report::{Certificate, Promise, Scaling};
use unspent::{Alpha, Ask, Composition, Delta, Epsilon, Error, Number, Rational, Release, Round, Scope};

/// A level of geometric noise, one with a query of its own noise, and one of Gaussian noise.
const MIXED: &str = r#"
name = "Mixed"
neighbours = "bounded"
delta = "1e-8"
attributes = ["age"]
[queries]
total = []
by_age = ["age"]
hours = { attributes = ["age"], shift = 3 }
[[levels]]
name = "State"
mechanism = "geometric"
[levels.epsilon]
total = "0.5"
hours = "0.6"
[[levels]]
name = "County"
[levels.rho]
total = "0.05"
by_age = { mechanism = "discrete-laplace", scale = "7/2" }
[[levels]]
name = "Town"
sigma2 = { total = 40, by_age = 50 }
"#;

fn mixed() -> Allocation {
    Allocation::parse("mixed.toml", MIXED).unwrap()
}

fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

/// What `account` says of the same mechanisms.
fn account(mechanisms: &[&str]) -> Composition {
    let described = mechanisms.iter().map(|text| Described::parse(text).unwrap());
    Composition::new(described.map(|d| (d.mechanism, d.count))).unwrap()
}

/// On one line.
fn words(certificate: &Certificate) -> String {
    certificate.document().terminal().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn delta() -> Delta {
    Delta::parse("1e-8").unwrap()
}

/// The certificate of an allocation is what `account` says of its mechanisms, in every part.
#[test]
fn certificates_are_those_of_the_same_mechanisms() {
    let certificate = CertificateQuestion::about([mixed()]).answer().unwrap();
    // b = mΔ/ε with m = 2: 4 and 10. Two cells of each query are moved.
    let state = ["discrete_laplace:b=4,count=2", "discrete_laplace:b=10,shift=3,count=2"];
    let county = ["sigma2=20,count=2", "discrete_laplace:b=7/2,count=2"];
    let town = ["sigma2=40,count=2", "sigma2=50,count=2"];
    let age = ["discrete_laplace:b=10,shift=3,count=2", county[1], town[1]];
    let parts = [
        (Scope::Total, [state, county, town].concat()),
        (Scope::Level("State".into()), state.to_vec()),
        (Scope::Level("County".into()), county.to_vec()),
        (Scope::Attribute("age".into()), age.to_vec()),
        (Scope::Within("State".into()), [county, town].concat()),
    ];
    for (scope, mechanisms) in parts {
        let composition = account(&mechanisms);
        let line = certificate.line(&scope).unwrap_or_else(|| panic!("{scope}"));
        let expected = Number::from(composition.epsilon(&delta()).unwrap());
        assert_eq!(line.tight.upper(), expected.upper(), "{scope}");
        // What is converted from the rho that pure DP implies is not below it.
        for converted in [line.bun_steinke, line.canonne_kamath_steinke] {
            let converted = converted.expect("pure DP implies zCDP").to_f64(Round::Up);
            assert!(line.tight.lower().to_f64() <= converted, "{scope}");
        }
        let half = &Rational::integer(1) / &Rational::integer(2);
        let loss = |b: &str, shift: u64| {
            let loss = &Rational::from(shift) / &number(b);
            &loss * &loss
        };
        if scope == Scope::Level("State".into()) {
            // m(Δ/b)²/2.
            let rho = line.rho.as_ref().unwrap().upper();
            assert_eq!(rho, &(&loss("4", 1) + &loss("10", 3)) * &(&half * &Rational::from(2)));
        }
    }
}

/// Pure differential privacy: from the sum of all ε on, δ is zero; right below it is not.
#[test]
fn a_budget_of_epsilon_is_kept_to_the_last_digit() {
    for (neighbours, kind) in
        [("bounded", "geometric"), ("add-remove", "discrete_laplace"), ("add-remove", "laplace")]
    {
        let text = format!(
            "name = \"x\"\nneighbours = \"{neighbours}\"\n[[levels]]\nname = \"a\"\n\
             mechanism = \"{kind}\"\n[levels.epsilon]\nq = \"0.3\"\nr = \"1/5\"\n"
        );
        let allocation = Allocation::parse("x", &text).unwrap();
        let worst = Release::from(allocation).worst_case(&Scope::Total).unwrap();
        let delta = |epsilon: &str| worst.delta(&Epsilon::parse(epsilon).unwrap()).unwrap();
        assert!(delta("0.5").upper().is_zero(), "{neighbours} {kind}: {:?}", delta("0.5"));
        assert!(!delta("0.49").upper().is_zero(), "{neighbours} {kind}");
        // And ε at any δ is not above it.
        assert!(
            worst.epsilon(&Delta::parse("1e-30").unwrap()).unwrap().upper() <= 0.5,
            "{neighbours} {kind}"
        );
    }
}

#[test]
fn files_are_read_as_they_are_written() {
    let allocation = mixed();
    let written = allocation.to_file().unwrap();
    assert_eq!(Allocation::parse("again.toml", &written).unwrap(), allocation, "{written}");
    for part in [
        "mechanism = \"discrete-laplace\"\n[levels.scale]\ntotal = \"4\"\nhours = \"10\"",
        "by_age = { mechanism = \"discrete-laplace\", scale = \"3.5\" }",
        "total = \"20\"",
    ] {
        assert!(written.contains(part), "{part} in {written}");
    }
    // The same noise for other neighbours.
    let restated = allocation.restated(unspent::allocation::Neighbours::AddRemove);
    assert_eq!(&restated.rho() * &Rational::from(2), allocation.rho());
}

/// Curves and trade-off functions are those of the composition, too.
#[test]
fn curves_and_trade_offs_are_certified() {
    let release = Release::from(mixed());
    let worst = release.worst_case(&Scope::Level("State".into())).unwrap();
    let composition = account(&["discrete_laplace:b=4,count=2", "discrete_laplace:b=10,shift=3,count=2"]);
    for epsilon in ["0.1", "0.4", "0.9"] {
        let epsilon = Epsilon::parse(epsilon).unwrap();
        let (a, b) = (worst.delta(&epsilon).unwrap(), composition.delta(&epsilon).unwrap());
        assert!(a.lower() <= b.upper() && b.lower() <= a.upper(), "{a:?} {b:?}");
    }
    let alpha = Alpha::parse("0.05").unwrap();
    let (a, b) = (worst.tradeoff(&alpha).unwrap(), composition.tradeoff(&alpha).unwrap());
    assert!(a.lower() <= b.upper() && b.lower() <= a.upper(), "{a:?} {b:?}");
}

#[test]
fn a_certificate_says_what_its_rho_is() {
    let certificate = CertificateQuestion::about([mixed()]).answer().unwrap();
    let shown = words(&certificate);
    assert!(shown.contains("No least rho is known of Laplace noise"), "{shown}");
    assert!(shown.contains("the discrete Laplace or the discrete Gaussian"), "{shown}");
    let json = serde_json::to_value(&certificate).unwrap();
    assert_eq!(json["noise"][0]["mechanism"], "discrete_laplace");
    assert_eq!(json["noise"][0]["scale"], "4");
    assert!(json["noise"][0].get("sigma2").is_none());
    assert!(json["noise"][2].get("mechanism").is_none());
    // A promise is checked as ever; less noise is not looked for.
    let promising = MIXED.replace("delta = \"1e-8\"", "delta = \"1e-8\"\nepsilon = \"9\"");
    let promising = Allocation::parse("x", &promising).unwrap();
    let certificate = CertificateQuestion::about([promising]).answer().unwrap();
    assert_eq!(certificate.kept, Some(true));
    let shown = words(&certificate);
    assert!(shown.contains("not computed: it is only looked for in Gaussian noise"), "{shown}");
}

fn refused<T>(result: unspent::Result<T>) -> String {
    let error: Error = result.err().expect("it is refused");
    assert!(!error.hint().is_empty());
    error.to_string()
}

#[test]
fn what_is_only_known_of_gaussian_noise_is_refused_by_name() {
    let named = "`total` at level `State` of `Mixed` has discrete Laplace noise";
    let promise = Promise::Epsilon(Epsilon::parse("3").unwrap());
    let calibrated = mixed().calibrate(&promise, Scaling::Total, None);
    assert_eq!(refused(calibrated), format!("calibration: {named}"));
    let [first, second] = [mixed(), mixed()].map(|allocation| vec![allocation.into()]);
    let compared = ComparisonQuestion { first, second, delta: None }.answer();
    assert_eq!(refused(compared), format!("a comparison: {named}"));
    let factors = vec![Rational::from(2); 3];
    assert_eq!(refused(mixed().scaled(&factors)), format!("scaling noise: {named}"));
    let bypassed = MIXED.replace(
        "[[levels]]\nname = \"State\"",
        "[bypass]\nkeep = [\"State\"]\n[[levels]]\nname = \"State\"",
    );
    assert!(refused(Allocation::parse("x", &bypassed)).ends_with(&format!("bypass: {named}")));
    let other = Allocation::parse("x", &MIXED.replace("Mixed", "Other")).unwrap().touching(2).unwrap();
    let release = Release::new(vec![mixed(), other]).unwrap();
    let message = refused(release.worst_case(&Scope::Total));
    assert!(message.contains("2 records of a product with discrete Laplace noise"), "{message}");
}

#[test]
fn budgets_that_do_not_say_what_they_are_are_refused() {
    let state = "[[levels]]\nname = \"State\"\nmechanism = \"geometric\"\n[levels.epsilon]\ntotal = \"0.5\"\n\
                 hours = \"0.6\"";
    assert!(MIXED.contains(state));
    let level = |text: &str| {
        let text = MIXED.replace(state, &format!("[[levels]]\nname = \"State\"\n{text}"));
        refused(Allocation::parse("x.toml", &text))
    };
    for (text, words) in [
        (
            "[levels.epsilon]\ntotal = 1",
            "level `State`: epsilon is a budget of Laplace noise, and its noise is",
        ),
        ("mechanism = \"laplace\"\n[levels.rho]\ntotal = 1", "level `State`: rho is for Gaussian noise"),
        ("mechanism = \"laplace\"\n[levels.sigma]\ntotal = 1", "level `State`: sigma is for Gaussian noise"),
        (
            "mechanism = \"laplace\"\nrho = 1\n[levels.shares]\ntotal = 1",
            "level `State`: shares is for Gaussian",
        ),
        ("mechanism = \"laplace\"", "level `State`: its budget is missing or given twice"),
        (
            "mechanism = \"laplace\"\nscale = { total = 1 }\nepsilon = { total = 1 }",
            "level `State`: its budget is missing or given twice",
        ),
        (
            "mechanism = \"cauchy\"\n[levels.scale]\ntotal = 1",
            "mechanism: `cauchy` is not `discrete-gaussian`",
        ),
        ("mechanism = \"geometric\"\n[levels.scale]\ntotal = 0", "scale: `0` is not a scale b of Laplace"),
        ("mechanism = \"geometric\"\n[levels.epsilon]\ntotal = 0", "epsilon: `0` is not a positive number"),
        (
            "mechanism = \"geometric\"\n[levels.epsilon]\ntotal = 1e-20",
            "a budget of epsilon = 1e-20 means noise of scale 2e20, outside 1e-3 to 1e12",
        ),
        ("[levels.rho]\ntotal = { scale = 1 }", "mechanism"),
        (
            "[levels.rho]\ntotal = { mechanism = \"laplace\", scale = 1, epsilon = 1 }",
            "its width is missing or given twice",
        ),
        (
            "[levels.rho]\ntotal = { mechanism = \"discrete-gaussian\", scale = 1 }",
            "a query of its own noise is for Laplace noise",
        ),
    ] {
        let message = level(text);
        assert!(message.starts_with("x.toml:"), "{message}");
        assert!(message.contains(words), "{text}: {message}");
    }
    // A share of a total is Gaussian noise, and so is what is left of it.
    let shares =
        "rho = 1\n[[levels]]\nname = \"State\"\nmechanism = \"geometric\"\n[levels.scale]\ntotal = 1";
    let text = format!("name = \"x\"\nneighbours = \"bounded\"\n{shares}\n");
    assert!(refused(Allocation::parse("x", &text)).contains("level `State`: has no share of the total"));
}
