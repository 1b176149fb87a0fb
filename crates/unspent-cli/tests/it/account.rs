//! `unspent account`, as a user meets it: exit code, stdout and stderr of the real binary.

use std::process::Output;

use serde_json::Value;
use unspent::Rational;

use crate::support::{number, parse_json, program, refuses_with, stderr, stdout, succeeds, unspent};

/// `unspent account …`, split at spaces.
fn account(arguments: &str) -> Output {
    unspent(&["account"].into_iter().chain(arguments.split_whitespace()).collect::<Vec<_>>())
}

fn data(arguments: &str) -> String {
    succeeds(&account(arguments))
}

fn json(arguments: &str) -> Value {
    parse_json(&data(&format!("{arguments} --json")))
}

/// `bounds` holds a figure known to the digits in which it is written.
#[track_caller]
fn assert_holds(bounds: &Value, figure: &str) {
    let (digits, exponent) = figure.split_once('e').unwrap_or((figure, "0"));
    let places = digits.split_once('.').map_or(0, |(_, part)| part.len()) as i64;
    let unit = number(&format!("1e{}", exponent.parse::<i64>().unwrap() - places));
    let (lower, upper) = ends(bounds);
    assert!(lower <= &number(figure) + &unit, "{bounds} is above {figure}");
    assert!(&number(figure) - &unit <= upper, "{bounds} is below {figure}");
    let narrow = number("1e-9") * number(figure);
    assert!(&upper - &lower < narrow, "{bounds} is wide");
}

fn ends(bounds: &Value) -> (Rational, Rational) {
    (number(bounds["lower"].as_str().unwrap()), number(bounds["upper"].as_str().unwrap()))
}

#[test]
fn bounds_hold_the_reference_figures() {
    let report = json("--mechanism sigma2=5,count=10 --delta 1e-11 --delta 1e-50 --epsilon 6.57");
    assert_holds(&report["points"][0]["delta"], "1.00473574693982460001524492089e-5");
    assert_holds(&report["points"][1]["epsilon"], "10.1248309344810");
    assert_holds(&report["points"][2]["epsilon"], "21.8984804322233");
    let report = json("--mechanism sigma2=5000,count=1890 --delta 1e-5");
    assert_holds(&report["points"][0]["epsilon"], "2.51298931444041");
    let report = json("--mechanism sigma2=1e6,count=1e6 --delta 1e-11");
    assert_holds(&report["points"][0]["epsilon"], "6.90182024499939");
}

#[test]
fn json_tells_what_was_asked_and_what_is_known() {
    let report = json(
        "--mechanism shift=2,sigma2=100000/1460 --mechanism count=9223372036854775808,sigma2=1e12 --delta \
         1e-5 --epsilon 6.57",
    );
    let mechanisms = serde_json::json!([
        {"sigma2": "5000/73", "count": 1, "shift": 2},
        {"sigma2": "1000000000000", "count": 9223372036854775808u64, "shift": 1},
    ]);
    assert_eq!(report["mechanisms"], mechanisms);
    assert_eq!((&report["kinds"], &report["tolerance"]), (&2.into(), &Value::Null));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let rho = number("292/10000") + number("9223372036854775808/2e12");
    let (lower, upper) = ends(&report["rho"]);
    assert!(lower <= rho && rho <= upper && &upper - &lower < number("1e-9"));
    // Every --epsilon first, then every --delta.
    let points = report["points"].as_array().unwrap();
    assert_eq!((&points[0]["input"], &points[1]["input"]), (&"epsilon".into(), &"delta".into()));
    assert_eq!(points[0]["epsilon"], serde_json::json!({"lower": "6.57", "upper": "6.57"}));
    assert_eq!(points[1]["delta"], serde_json::json!({"lower": "1e-5", "upper": "1e-5"}));
    let log = |end: &str| points[1]["log10_delta"][end].as_f64().unwrap();
    assert!(log("lower") <= -5.0 && -5.0 <= log("upper") && log("upper") - log("lower") < 1e-12);
    let zcdp = |name: &str| number(points[1]["zcdp"][name].as_str().unwrap());
    assert!(ends(&points[1]["epsilon"]).1 < zcdp("canonne_kamath_steinke"));
    assert!(zcdp("canonne_kamath_steinke") < zcdp("bun_steinke"));
    assert!(points[0].get("p_tail").is_none());
}

#[test]
fn points_keep_the_order_in_which_they_were_given() {
    let report = json("--mechanism sigma2=5 --delta 0.1 --epsilon 2 --delta 0.01 --epsilon 1");
    let points = report["points"].as_array().unwrap();
    let asked = |p: &Value| ends(&p[p["input"].as_str().unwrap()]).0.to_decimal_or_fraction();
    assert_eq!(points.iter().map(asked).collect::<Vec<_>>(), ["2", "1", "0.1", "0.01"]);
}

#[test]
fn an_input_without_a_finite_decimal_is_enclosed() {
    let report = json("--mechanism sigma2=5 --epsilon 1/3 --delta 1e-400/7");
    let third = serde_json::json!({"lower": "0.33333333333333333", "upper": "0.33333333333333334"});
    assert_eq!(report["points"][0]["epsilon"], third);
    let delta = serde_json::json!({"lower": "1.4285714285714285e-401", "upper": "1.4285714285714286e-401"});
    assert_eq!(report["points"][1]["delta"], delta);
    let log = &report["points"][1]["log10_delta"];
    // log₁₀ 7 = 0.84509804…
    assert!(log["lower"].as_f64().unwrap() < -400.845098 && log["upper"].as_f64().unwrap() > -400.845099);
}

#[test]
fn the_logarithm_belongs_to_delta() {
    let report = json("--mechanism sigma2=5,count=10 --epsilon 6.57 --epsilon 1e12");
    let log = &report["points"][0]["log10_delta"];
    // δ(6.57) = 1.004735746939…e-5
    let (lower, upper) = (log["lower"].as_f64().unwrap(), log["upper"].as_f64().unwrap());
    assert!(lower < -4.997948145 && upper > -4.997948146 && lower <= upper && upper - lower < 1e-9);
    let far = &report["points"][1];
    if far["delta"]["lower"] == "0" {
        assert_eq!(far["log10_delta"]["lower"], Value::Null);
    }
    assert!(far["log10_delta"]["upper"].as_f64().unwrap() < -1e17);
}

#[test]
fn tails_and_delta_fit_together() {
    // δ = Q[L > ε] − e^ε·P[L > ε], and e³ = 20.0855369231876677…
    let report = json("--mechanism sigma2=5,count=10 --epsilon 3 --delta 1e-5 --tails");
    let point = &report["points"][0];
    let ((p_low, p_high), (q_low, q_high)) = (ends(&point["p_tail"]), ends(&point["q_tail"]));
    let (low, high) = ends(&point["delta"]);
    assert!(low <= q_high - number("20.0855369231876677") * p_low);
    assert!(high >= q_low - number("20.0855369231876678") * p_high);
    assert!(report["points"][1].get("p_tail").is_none());
}

#[test]
fn far_below_the_smallest_double_there_are_still_digits() {
    // Exponents beyond ±10000 cannot be read as rationals: compare the digits.
    let report = json("--mechanism sigma2=5,count=1 --epsilon 200");
    for end in ["lower", "upper"] {
        let text = report["points"][0]["delta"][end].as_str().unwrap();
        assert!(text.starts_with("6.0492419515") && text.ends_with("e-43432"), "{text}");
    }
    for format in ["", "--json"] {
        let text = data(&format!("--mechanism sigma2=5,count=1 --delta 1e-1000 --epsilon 200 {format}"));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert!(text.contains("6.0492419"), "{text}");
    }
}

#[test]
fn the_table_is_what_it_is() {
    let table = data(
        "--mechanism sigma2=5,count=10 --mechanism sigma2=100000/1460,shift=2 --delta 1e-11 --epsilon 6.57 \
         --epsilon 1/3 --tails --tolerance 1e-9",
    );
    let expected = "\
Release: 11 answers with discrete Gaussian noise of 2 kinds; zCDP rho = 1.0292
  count  sigma2              shift
  10     5                   1
  1      5000/73 ≈ 68.49315  2

Method: lattice. The privacy losses lie on a lattice and are summed; only rounding is left.
Tolerance: each delta asked for is known to a relative width of 1e-9.

  epsilon, given    delta: upper (≤)  delta: lower (≥)
  6.57              1.4174770e-5      1.4174769e-5
  1/3 ≈ 0.33333334  0.44733483        0.44733482

  delta, given  epsilon: upper (≤)  epsilon: lower (≥)
  1e-11         10.279827           10.279826

  for comparison  from rho, Canonne–Kamath–Steinke (≤)  from rho, Bun–Steinke (≤)
  1e-11           10.690612                             11.240572

  epsilon, given    P[L > epsilon], record absent (≤)  at least (≥)
  6.57              6.0422125e-8                       6.0422124e-8
  1/3 ≈ 0.33333334  0.17167720                         0.17167719

  epsilon, given    Q[L > epsilon], record present (≤)  at least (≥)
  6.57              5.7278091e-5                        5.7278090e-5
  1/3 ≈ 0.33333334  0.68692965                          0.68692964

Every (≤) is a guarantee for this composition: one record moves only these answers, each by its
  shift.
Whether neighbours add, remove or replace a record is up to the counts and shifts given.
";
    assert_eq!(table, expected);
}

#[test]
fn the_table_fits_100_columns() {
    for arguments in [
        "--mechanism sigma2=5,count=10 --epsilon 123456789012.34567 --epsilon 1e12 --delta 1e-5 --tails",
        "--mechanism sigma2=314.15926535897932384626433832795,count=9e12,shift=1000 --epsilon 1 --delta \
         1234567/12345678",
        "--mechanism sigma2=5 --delta 1.2345678901234567e-9999 --tolerance 0.000123456789",
    ] {
        let table = data(arguments);
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }
}

#[test]
fn long_releases_are_cut_in_the_table_only() {
    let many = "--mechanism sigma2=5 ".repeat(25) + "--epsilon 1";
    let table = data(&many);
    assert!(
        table.starts_with("Release: 25 answers with discrete Gaussian noise of 1 kind; zCDP rho = 2.5\n")
    );
    assert!(table.contains("\n… and 5 more groups\n"), "{table}");
    assert_eq!(json(&many)["mechanisms"].as_array().unwrap().len(), 25);
}

#[test]
fn smoothing_says_that_its_bounds_are_a_bracket() {
    let irrational = "--mechanism sigma2=314.159265358979323846,count=20 --mechanism \
     sigma2=271.828182845904523536,count=7 --epsilon 1";
    let table = data(irrational);
    assert!(
        table.contains("\nMethod: smoothing. No usable lattice; the two ends are a certified bracket"),
        "{table}"
    );
    assert_eq!(json(irrational)["method"], "smoothing");

    let output = account(&format!("{irrational} --tolerance 1e-15"));
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    let lines: Vec<_> = stderr(&output).lines().collect();
    assert!(lines[0].starts_with("error: epsilon 1: delta: the certified bounds are "), "{lines:?}");
    assert!(lines[0].ends_with("wider than the tolerance 1.0e-15"), "{lines:?}");
    assert!(lines[1].starts_with("hint: ask for a tolerance of "), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn bad_mechanisms_are_refused_by_name() {
    const FORM: &str = "write it like sigma2=6.25,count=10 or laplace:b=2,shift=1,count=10";
    const OWN: &str = "each kind has its own parameters";
    const NUMBER: &str = "write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10";
    const MEANING: &str = "sigma and scale are the standard deviation, sigma2 is its square, the variance";
    const NOISE: &str = "give one of sigma2, sigma and scale: sigma and scale are the standard deviation, \
        sigma2 is its square, the variance";
    const SIGN: &str = "sigma2 is never negative: check the sign";
    const SHIFT: &str = "the shift is how far one record can move the answer; it is 1 for counts";
    const COUNT: &str = "the count says how many equal mechanisms there are";
    for (mechanism, cause, hint) in [
        ("count=3", "nothing says how wide the noise is", NOISE),
        ("sigma2=5,", "mechanism: `sigma2=5,` is not a list of key=value separated by commas", FORM),
        ("5", "mechanism: `5` is not a list of key=value separated by commas", FORM),
        ("sigma2=5,cout=3", "parameter: `cout` is not sigma2 (or sigma, scale), [shift], [count]", OWN),
        ("sigma2=5,=5", "parameter: `` is not sigma2 (or sigma, scale), [shift], [count]", OWN),
        ("sigma2=5,sigma2=6", "sigma2 is given twice", "it takes sigma2 (or sigma, scale), [shift]"),
        ("sigma2=5,sigma=6", "the noise is given twice, as sigma2 and as sigma", NOISE),
        ("scale=5,count=2,sigma=5", "the noise is given twice, as sigma and as scale", NOISE),
        (
            "sigma=0",
            "sigma: `0` is not a positive standard deviation whose square is between 1e-3 and 1e12",
            MEANING,
        ),
        (
            "sigma=-5",
            "sigma: `-5` is not a positive standard deviation whose square is between 1e-3 and 1e12",
            MEANING,
        ),
        (
            "scale=1e7",
            "scale: `1e7` is not a positive standard deviation whose square is between 1e-3 and 1e12",
            MEANING,
        ),
        ("sigma2=", "sigma2: `` is not a number", NUMBER),
        ("sigma2=NaN", "sigma2: `NaN` is not a number", NUMBER),
        ("sigma2=0", "sigma2: `0` is not a variance between 1e-3 and 1e12", "sigma2 must be positive"),
        ("sigma2=-1", "sigma2: `-1` is not a variance between 1e-3 and 1e12", SIGN),
        (
            "sigma2=1e13",
            "sigma2: `1e13` is not a variance between 1e-3 and 1e12",
            "check the units of sigma2",
        ),
        (
            "sigma2=1e-4",
            "sigma2: `1e-4` is not a variance between 1e-3 and 1e12",
            "check the units of sigma2",
        ),
        ("sigma2=5,shift=0", "shift: `0` is not a whole number between 1 and 1000000", SHIFT),
        ("sigma2=5,shift=1.5", "shift: `1.5` is not a whole number between 1 and 1000000", SHIFT),
        ("sigma2=5,shift=2000000", "shift: `2000000` is not a whole number between 1 and 1000000", SHIFT),
        ("sigma2=5,count=0", "count: `0` is not a whole number between 1 and 2^63", COUNT),
        ("sigma2=5,count=1e30", "count: `1e30` is not a whole number between 1 and 2^63", COUNT),
    ] {
        let output = account(&format!("--mechanism sigma2=5 --mechanism {mechanism} --epsilon 1"));
        refuses_with(&output, &format!("--mechanism #2: {cause}"), hint);
    }
    let output = account("--mechanism laplac:b=2 --epsilon 1");
    assert!(stderr(&output).ends_with("\nhint: did you mean `laplace`?\n"), "{}", stderr(&output));
}

#[test]
fn bad_points_are_refused_by_name() {
    const NUMBER: &str = "write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10";
    const PROBABILITY: &str = "delta is a probability, like 1e-10";
    const PLENTY: &str = "1e-6 is plenty for most uses";
    for (arguments, cause, hint) in [
        (
            "--epsilon -1",
            "epsilon: `-1` is not a number between 0 and 1e12",
            "epsilon is never negative: check the sign",
        ),
        ("--epsilon NaN", "epsilon: `NaN` is not a number", NUMBER),
        (
            "--delta 0",
            "delta: `0` is not a number strictly between 0 and 1",
            "no finite epsilon meets delta = 0: the noise is unbounded, and so is the privacy loss",
        ),
        ("--delta 1", "delta: `1` is not a number strictly between 0 and 1", PROBABILITY),
        ("--delta 2", "delta: `2` is not a number strictly between 0 and 1", PROBABILITY),
        ("--delta 0.1 --tolerance 0", "tolerance: `0` is not a relative width between 1e-15 and 1", PLENTY),
        ("--delta 0.1 --tolerance 1", "tolerance: `1` is not a relative width between 1e-15 and 1", PLENTY),
        ("--delta 0.1 --tolerance x", "tolerance: `x` is not a number", NUMBER),
    ] {
        refuses_with(&account(&format!("--mechanism sigma2=5 {arguments}")), cause, hint);
    }
}

#[test]
fn bad_usage_is_refused_with_a_way_out() {
    const EXAMPLE: &str = "for example: unspent account --mechanism sigma2=5,count=10 --delta 1e-10";
    const HELP: &str = "`unspent --help` lists the commands, and `unspent COMMAND --help` has examples";
    refuses_with(
        &account("--mechanism sigma2=5"),
        "nothing was asked: at least one --epsilon or --delta is needed",
        EXAMPLE,
    );
    refuses_with(
        &account("--delta 0.1"),
        "no release was described: at least one --mechanism is needed",
        EXAMPLE,
    );
    refuses_with(&unspent(&[]), "no command was given", HELP);
    refuses_with(
        &unspent(&["acount"]),
        "unrecognized subcommand 'acount'",
        &format!("did you mean `account`? {HELP}"),
    );
    refuses_with(
        &unspent(&["estimat"]),
        "unrecognized subcommand 'estimat'",
        &format!("did you mean `estimate`? {HELP}"),
    );
    refuses_with(&unspent(&["xyz"]), "unrecognized subcommand 'xyz'", HELP);
    refuses_with(
        &account("--mechanism sigma2=5 --epsilon 1 --direction up"),
        "direction: `up` is not `both`, `remove` or `add`",
        "remove hides that the record was there, add that it was not",
    );
    refuses_with(
        &account("--epsilon"),
        "a value is required for '--epsilon <E>' but none was supplied",
        HELP,
    );
}

/// What is found keeps the promise when it is asked for again, and its neighbour does not.
#[test]
fn a_parameter_is_found_for_a_promise() {
    let keep = "--mechanism gaussian:sigma=4 --epsilon 2 --delta 1e-6";
    let report = json(&format!("--mechanism laplace:b=?,count=10 {keep}"));
    assert_eq!((&report["parameter"], &report["order"]), (&"b".into(), &"monotone".into()));
    let delta = |b: &Value| {
        let found = json(&format!(
            "--mechanism laplace:b={},count=10 --mechanism gaussian:sigma=4 --epsilon 2",
            b.as_str().unwrap()
        ));
        ends(&found["points"][0]["delta"])
    };
    assert!(delta(&report["value"]).1 <= number("1e-6"));
    assert!(report["next"]["fails"] == true && delta(&report["next"]["value"]).0 > number("1e-6"));
    let table = data(&format!("--mechanism laplace:b=?,count=10 {keep}"));
    let value = report["value"].as_str().unwrap();
    assert!(table.contains(&format!("\n  {value}  keeps it, certified ")), "{table}");
    assert!(
        table.contains("Every larger value keeps it, too: delta does not rise there (proved)."),
        "{table}"
    );
}

#[test]
fn a_parameter_needs_a_promise_that_can_be_kept() {
    const HINT: &str = "for example: unspent account --mechanism laplace:b=?,count=10 --epsilon 2 --delta \
                        1e-6";
    for (arguments, cause) in [
        ("--epsilon 2", "`?` is looked for: it needs --epsilon and --delta to keep"),
        ("--delta 1e-6", "`?` is looked for: it needs --epsilon and --delta to keep"),
        (
            "--epsilon 2 --epsilon 3 --delta 1e-6",
            "`?` is looked for: one --epsilon and one --delta at a time",
        ),
        ("--epsilon 2 --delta 1e-6 --tails", "`?` is looked for: --tails and --tolerance are for answers"),
    ] {
        refuses_with(&account(&format!("--mechanism laplace:b=? {arguments}")), cause, HINT);
    }
    let both = "--mechanism laplace:b=? --mechanism sigma2=? --epsilon 2 --delta 1e-6";
    refuses_with(
        &account(both),
        "mechanism 2: `sigma2` is looked for, and so is a parameter of mechanism 1",
        "one parameter of one mechanism is looked for, all others are given",
    );
    let never = account("--mechanism sigma2=1 --mechanism laplace:b=? --epsilon 2 --delta 1e-6");
    assert_eq!((never.status.code(), stdout(&never)), (Some(1), ""));
    assert!(stderr(&never).starts_with("error: the other mechanisms alone exceed the target: "));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [
        &["account", "--mechanism", "sigma2=5", "--epsilon", "1"][..],
        &["account", "--mechanism", "sigma2=5", "--epsilon", "1", "--json"],
        &["account", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = program().args(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    }
}

/// |i64::MIN| is no i64: a limit that was checked with `abs` let it pass, and 10^(2^63) was begun.
#[test]
fn an_exponent_at_the_end_of_64_bits_is_refused() {
    for number in ["1e-9223372036854775808", "1e9223372036854775807", "2/1e-9223372036854775808"] {
        let refused = |arguments: &[&str]| {
            let output = unspent(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            let error = stderr(&output);
            assert!(error.contains("a number with a decimal exponent between ±10000"), "{error}");
        };
        refused(&["sample", "--sigma2", number, "--count", "1"]);
        refused(&["account", "--mechanism", &format!("sigma2={number}"), "--delta", "1e-10"]);
        refused(&["certificate", "pl94-persons-us-2020", "--delta", number]);
    }
}
