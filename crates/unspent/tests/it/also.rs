//! Other mechanisms for the same record, and products that are known by their budget alone.

use unspent::calibrate::Target;
use unspent::file::Draft;
use unspent::mechanism::Described;
use unspent::question::{Ask, CertificateQuestion};
use unspent::report::certificate::Line;
use unspent::report::series::Missing;
use unspent::{
    Allocation, Certificate, Composition, Delta, Epsilon, Method, Preset, Promise, Rational, Release,
    Scaling, Scope,
};

use crate::support::number;

const LAPLACE: &str =
    "\n[[also]]\nkind = \"laplace\"\nb = 4\ncount = 3\nnote = \"a survey: each answer by 1\"\n";
const EVENT: &str = "\n[[also]]\nkind = \"zcdp\"\nrho = \"0.25\"\nnote = \"a product without details\"\n";

fn text(neighbours: &str, also: &str) -> String {
    format!(
        "name = \"x\"\nneighbours = \"{neighbours}\"\ndelta = \"1e-6\"\nepsilon = \"9\"\nrho = \"1/2\"\n\
         attributes = [\"size\"]\n{also}\n[queries]\ntotal = []\nsize = [\"size\"]\n\
         [[levels]]\nname = \"Country\"\nshare = \"1/4\"\n[levels.shares]\nsize = 1\n\
         [[levels]]\nname = \"Region\"\nshare = \"3/4\"\n[levels.shares]\ntotal = \"1/3\"\nsize = \"2/3\"\n"
    )
}

fn allocation(neighbours: &str, also: &str) -> Allocation {
    Allocation::parse("x.toml", &text(neighbours, also)).unwrap()
}

fn certificate(products: impl IntoIterator<Item = Allocation>) -> Certificate {
    CertificateQuestion { reductions: false, ..CertificateQuestion::about(products) }.answer().unwrap()
}

#[track_caller]
fn line<'c>(certificate: &'c Certificate, scope: &Scope) -> &'c Line {
    certificate.line(scope).unwrap_or_else(|| panic!("no line {scope}"))
}

fn ends(line: &Line) -> (f64, f64) {
    let bounds = line.tight.bounds().to_f64();
    (bounds.lower(), bounds.upper())
}

/// The composition of a scope without them, and then with them.
fn composed(allocation: &Allocation, scope: &Scope, also: &[&str]) -> (f64, f64) {
    let plain = Release::from(allocation.clone()).worst_case(scope).unwrap();
    let mut groups: Vec<_> =
        plain.only().unwrap().unwrap().groups().iter().map(|g| (g.mechanism.clone(), g.count)).collect();
    groups.extend(also.iter().map(|text| Described::parse(text).unwrap()).map(|d| (d.mechanism, d.count)));
    let epsilon = Composition::new(groups).unwrap().epsilon(&Delta::parse("1e-6").unwrap()).unwrap();
    (epsilon.lower(), epsilon.upper())
}

fn close(a: (f64, f64), b: (f64, f64)) {
    assert!((a.0 - b.0).abs() < 1e-5 * b.0 && (a.1 - b.1).abs() < 1e-5 * b.1, "{a:?} {b:?}");
}

/// Counted in the whole and in what a change of the record reveals; not by a reader of one level.
#[test]
fn they_are_counted_where_they_are_seen() {
    let plain = allocation("bounded", "");
    let made = certificate([allocation("bounded", LAPLACE)]);
    let without = certificate([plain.clone()]);
    let laplace = ["laplace:b=4,count=3"];
    for scope in [Scope::Total, Scope::Attribute("size".into()), Scope::Within("Country".into())] {
        let (with, alone) = (ends(line(&made, &scope)), ends(line(&without, &scope)));
        let upper = composed(&plain, &scope, &laplace).1;
        assert!((with.1 / upper - 1.0).abs() < 1e-6 && with.1 > alone.1, "{scope}: {with:?} {upper}");
        // Whether the survey sees a change of the size alone is not known.
        let known = if scope == Scope::Total { with.1 * 0.999 } else { alone.0 * 0.999 };
        assert!(with.0 > known && (scope == Scope::Total || with.0 < alone.1 * 1.001), "{scope}: {with:?}");
    }
    let level = Scope::Level("Region".into());
    close(ends(line(&made, &level)), ends(line(&without, &level)));
    let words = made.document().terminal();
    assert!(words.contains("also laplace:scale=4,shift=1,count=3: a survey: each answer by 1"), "{words}");
    assert!(words.contains("lines of single levels\n  are without them"), "{words}");
}

/// Of an event only an upper end is known; the lower end is that of everything else.
#[test]
fn events_leave_the_lower_end_alone() {
    let plain = allocation("bounded", "");
    let made = certificate([allocation("bounded", EVENT)]);
    let total = line(&made, &Scope::Total);
    assert!(total.method == Method::OneSided && !total.attained);
    let alone = ends(line(&certificate([plain.clone()]), &Scope::Total));
    assert!((ends(total).0 - alone.0).abs() < 1e-6, "{:?} {alone:?}", ends(total));
    assert!(ends(total).1 > alone.1);
    assert!((ends(total).1 - composed(&plain, &Scope::Total, &["zcdp:rho=1/4"]).1).abs() < 1e-6);
    assert_eq!(total.rho.as_ref().unwrap().upper(), number("3/4"));
    // (ε, δ): no ρ, and the lower end is without it.
    let vendor = "[[also]]\nkind = \"approximate_dp\"\nepsilon = 1\ndelta = \"1e-8\"\nnote = \"a vendor\"\n";
    let made = certificate([allocation("bounded", vendor)]);
    let total = line(&made, &Scope::Total);
    assert!(total.rho.is_none() && total.canonne_kamath_steinke.is_none() && !total.attained);
    assert!((ends(total).0 - alone.0).abs() < 1e-6 && ends(total).1 > alone.1 + 0.5);
    // A δ below what the vendor may reveal has no ε.
    let question = CertificateQuestion {
        reductions: false,
        delta: Some(Delta::parse("1e-9").unwrap()),
        ..CertificateQuestion::about([allocation("bounded", vendor)])
    };
    let error = question.answer().unwrap_err().to_string();
    assert!(error.contains("revealed for certain"), "{error}");
}

#[test]
fn files_and_drafts_keep_them() {
    let both = format!(
        "{LAPLACE}{EVENT}[[also]]\nkind = \"finite\"\np = [\"1/2\", \"1/2\"]\nq = [\"1/4\", \"3/4\"]\n\
                        note = \"a coin\"\n"
    );
    let read = allocation("bounded", &both);
    assert_eq!(read.also().len(), 3);
    assert_eq!(Allocation::parse("again", &read.to_file().unwrap()).unwrap(), read);
    let draft = Draft::of(&read).unwrap();
    let json = serde_json::to_string(&draft).unwrap();
    let again: Draft = serde_json::from_str(&json).unwrap();
    assert_eq!(again, draft);
    assert_eq!(again.allocation().unwrap().also(), read.also());
    for preset in Preset::EVENTS {
        let read = preset.allocation().unwrap();
        assert_eq!(Allocation::parse("again", &read.to_file().unwrap()).unwrap(), read);
        assert!(Draft::of(&read).unwrap_err().to_string().contains("no levels to edit"));
    }
}

/// Noise is scaled until all of it together keeps the promise; the others stay as they are.
#[test]
fn a_calibration_leaves_them_as_they_are() {
    for also in [LAPLACE, EVENT] {
        let before = allocation("bounded", also);
        let epsilon = Epsilon::parse("8").unwrap();
        let found = before.calibrate(&Promise::Epsilon(epsilon.clone()), Scaling::Total, None).unwrap();
        assert_eq!(found.allocation.also(), before.also());
        assert!(found.rows[0].factor.as_ref().unwrap() < &Rational::from(1), "{also}");
        let release = Release::from(found.allocation);
        let target = Target { epsilon, delta: Delta::parse("1e-6").unwrap() };
        assert!(release.worst_case(&Scope::Total).unwrap().meets(&target).unwrap());
        assert!(release.worst_case(&Scope::Total).unwrap().epsilon(&target.delta).unwrap().upper() > 7.9999);
    }
    // More than the promise by themselves.
    let event = EVENT.replace("0.25", "20");
    let error = allocation("bounded", &event)
        .calibrate(&Promise::Epsilon(Epsilon::parse("8").unwrap()), Scaling::Total, None)
        .unwrap_err();
    assert!(error.to_string().contains("no variance up to 1e12 meets the target"), "{error}");
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let bad = |neighbours: &str, also: &str| {
        Allocation::parse("x.toml", &text(neighbours, also)).unwrap_err().to_string()
    };
    for (also, words) in [
        ("[[also]]\nkind = \"laplace\"\nb = 2\n", &["also: note is missing"][..]),
        ("[[also]]\nb = 2\nnote = \"n\"\n", &["also: kind is missing"]),
        ("[[also]]\nkind = \"cauchy\"\nb = 2\nnote = \"n\"\n", &["kind", "cauchy"]),
        ("[[also]]\nkind = \"laplace\"\nb = -2\nnote = \"n\"\n", &["laplace", "-2", "1e-3"]),
        ("[[also]]\nkind = \"laplace\"\nb = 2\nsigma = 1\nnote = \"n\"\n", &["sigma", "parameter"]),
        ("also = 3\n", &["also: not a list of tables"]),
        ("[[also]]\nkind = \"laplace\"\nb = \"?\"\nnote = \"n\"\n", &["laplace", "?"]),
        (
            "[[also]]\nkind = \"subsampled_gaussian\"\nsigma = 1\nq = \"1/10\"\nnote = \"n\"\n",
            &["added or removed"],
        ),
    ] {
        let message = bad("bounded", also);
        assert!(words.iter().all(|word| message.contains(word)), "{also}: {message}");
    }
    // With add-remove neighbours nothing is stated of a change.
    let release = Release::from(allocation("add-remove", LAPLACE));
    let error = release.worst_case(&Scope::Attribute("size".into())).unwrap_err().to_string();
    assert!(error.contains("are for add-remove neighbours"), "{error}");
    assert!(!release.scopes().contains(&Scope::Attribute("size".into())));
    // An event of several records at a time has a bound, added noise has not.
    let person = allocation("bounded", "");
    let of_units = |also: &str| {
        let other =
            text("bounded", also).replace("name = \"x\"", "name = \"y\"\nrecord = \"unit\"\ntouches = 2");
        let other = Allocation::parse("y.toml", &other).unwrap();
        Release::new(vec![person.clone(), other]).unwrap().worst_case(&Scope::Total).map(|_| ())
    };
    of_units(EVENT).unwrap();
    let error = of_units(LAPLACE).unwrap_err().to_string();
    assert!(error.contains("laplace") && error.contains("no proved bound"), "{error}");
    // A product with measurements is not converted.
    let mixed = Release::new(vec![person, allocation("add-remove", "")]).unwrap_err().to_string();
    assert!(mixed.contains("neighbours"), "{mixed}");
}

/// Beside measurements of the same person, a budget alone counts in every line about a change of the person.
#[test]
fn a_budget_alone_counts_in_every_change() {
    let event = "name = \"event\"\nneighbours = \"add-remove\"\ndelta = \"1e-6\"\n".to_owned() + EVENT;
    let event = Allocation::parse("event.toml", &event).unwrap();
    let plain = allocation("bounded", "");
    let (with, without) = (certificate([plain.clone(), event]), certificate([plain.clone()]));
    for scope in [Scope::Total, Scope::Attribute("size".into()), Scope::Within("Country".into())] {
        // A changed record is one removed and one added: four times the budget.
        let upper = composed(&plain, &scope, &["zcdp:rho=1"]).1;
        let (found, alone) = (line(&with, &scope), line(&without, &scope));
        assert!((ends(found).1 / upper - 1.0).abs() < 1e-6, "{scope}: {:?} {upper}", ends(found));
        assert!((ends(found).0 - ends(alone).0).abs() < 1e-6 && !found.attained, "{scope}");
        assert_eq!(found.rho.as_ref().unwrap().upper(), &alone.rho.as_ref().unwrap().upper() + &number("1"));
    }
    let level = Scope::Level("Country".into());
    close(ends(line(&with, &level)), ends(line(&without, &level)));
}

/// What all seven products of 2020 reveal of one person: budgets by N12, and from below what is measured.
#[test]
fn a_persons_whole_2020() {
    let delta = Delta::parse("1e-10").unwrap();
    for (series, events, all) in [
        ("us-2020", "4*4.944 + 16*8.895302 + 4*1.257281", "205.7502"),
        ("pr-2020", "4*2.643 + 16*4.754134 + 4*1.226649", "130.165"),
    ] {
        let read = |(name, touches): &(&str, Option<u64>)| {
            let allocation = Allocation::preset(name).unwrap();
            touches.map_or(allocation.clone(), |touches| allocation.touching(touches).unwrap())
        };
        let products: Vec<Allocation> = Preset::series(series).unwrap().iter().map(read).collect();
        let release = Release::new(products.clone()).unwrap();
        assert_eq!(release.record(), "person");
        let total = release.worst_case(&Scope::Total).unwrap();
        let measured = Release::new(products[..4].to_vec()).unwrap().worst_case(&Scope::Total).unwrap();
        let term = |text: &str| {
            let (times, rho) = text.split_once('*').unwrap();
            &number(times) * &number(rho)
        };
        let stated = events.split(" + ").map(term).reduce(|a, b| &a + &b).unwrap();
        let (with, without) = (total.rho().unwrap().upper(), measured.rho().unwrap().upper());
        assert_eq!(with, &without + &stated, "{series}");
        assert_eq!(with.to_decimal(7, unspent::Round::Up), all);
        let (with, without) = (total.epsilon(&delta).unwrap(), measured.epsilon(&delta).unwrap());
        assert!((with.lower() - without.lower()).abs() < 1e-6 && with.upper() > 2.0 * without.upper());
        assert!(Missing::of(&release).is_empty(), "{:?}", Missing::of(&release));
    }
}

/// What is not worked out is not said to be nothing. A mechanism that is not symmetric has two directions.
#[test]
fn what_is_left_out_is_said_with_its_reason() {
    let model = "\n[[also]]\nkind = \"subsampled-gaussian\"\nsigma = 2\nq = \"1/9\"\ncount = 40\n\
                 note = \"a model\"\n";
    for (also, is_asymmetric) in [(LAPLACE, false), (model, true)] {
        let words = certificate([allocation("add-remove", also)]).document().terminal().replace("\n  ", " ");
        let said = "Nothing is said of size: the other mechanisms of `x` are for add-remove neighbours.";
        assert!(words.contains(said) && !words.contains("nothing is released about it"), "{words}");
        assert_eq!(
            words.contains("each delta is the larger of the two directions"),
            is_asymmetric,
            "{words}"
        );
    }
}

/// The place of what is wrong is that of the parameter, under whichever name it was given.
#[test]
fn objections_point_at_the_parameter() {
    let also = |list: &str| format!("\n[[also]]\nkind = \"{list}\nnote = \"x\"\n");
    for (list, at, said) in [
        ("laplace\"\nb = \"-1\"", "b = \"-1\"", "laplace: scale: `-1` is not"),
        ("laplace\"\nscale = 0", "scale = 0", "laplace: scale: `0` is not"),
        ("gaussian\"\nsigma = 0\n", "sigma = 0", "gaussian: sigma: `0` is not"),
        ("subsampled-gaussian\"\nsigma = 1\nq = 0", "q = 0", "subsampled_gaussian: q: `0` is not"),
        (
            "subsampled-gaussian\"\nsigma = 1\nq = \"1.01\"",
            "q = \"1.01\"",
            "subsampled_gaussian: q: `101/100`",
        ),
        ("finite\"\np = [\"1/2\", \"1/3\"]\nq = [\"1/2\", \"1/2\"]", "p = [", "finite: p: `5/6` is not"),
        ("laplace\"\nb = 2\ncount = 0", "count = 0", "laplace: count: `0` is not"),
    ] {
        let text = text("add-remove", &also(list));
        let error = Allocation::parse("x.toml", &text).unwrap_err();
        let line = text.lines().position(|line| line.starts_with(at)).unwrap() + 1;
        assert_eq!(error.excerpt().unwrap().line(), line, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
