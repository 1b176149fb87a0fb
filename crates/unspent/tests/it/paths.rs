//! Bypassed units, exact totals and several records of one person.

use unspent::allocation::{Bypass, Production};
use unspent::question::{Ask, CertificateQuestion, Product};
use unspent::report::certificate::Line;
use unspent::{
    Allocation, Alpha, Certificate, Composition, Delta, DiscreteGaussian, Epsilon, Preset, Promise,
    PromiseCheck, Rational, Release, Scaling, Scope, Target, WorstCase,
};

use crate::support::{self, line, number, over_delta, over_epsilon, preset, tradeoff};

fn delta() -> Delta {
    Delta::parse("1e-10").unwrap()
}

pub fn certificate(release: &Release) -> Certificate {
    let question = CertificateQuestion::about(Product::all_of(release));
    CertificateQuestion { reductions: false, ..question }.answer().unwrap()
}

/// The ends of a line, as doubles.
pub fn ends(line: &Line) -> (f64, f64) {
    let bounds = line.tight.bounds().to_f64();
    (bounds.lower(), bounds.upper())
}

fn contains(line: &Line, value: f64) -> bool {
    let (lower, upper) = ends(line);
    lower <= value && value <= upper
}

/// Three nested levels with a total and a query, budgets 1, 2 and 4 of 7, and whatever is added.
fn small(head: &str, tail: &str) -> Allocation {
    spending("7/10", head, tail)
}

fn spending(rho: &str, head: &str, tail: &str) -> Allocation {
    let text = format!(
        "name = \"small\"\nneighbours = \"bounded\"\ndelta = \"1e-6\"\nrho = \"{rho}\"\n\
         attributes = [\"a\"]\n{head}\n\
         [queries]\ntotal = []\nq = [\"a\"]\n\
         [[levels]]\nname = \"top\"\nshare = \"1/7\"\n[levels.shares]\nq = 1\n\
         [[levels]]\nname = \"mid\"\nshare = \"2/7\"\n[levels.shares]\ntotal = \"1/4\"\nq = \"3/4\"\n\
         [[levels]]\nname = \"low\"\nshare = \"4/7\"\n[levels.shares]\ntotal = \"1/2\"\nq = \"1/2\"\n{tail}"
    );
    Allocation::parse("small.toml", &text).unwrap()
}

/// A composition of discrete Gaussians given by ρ (of two cells together) and how many cells.
fn of(cells: &[(&str, u64)]) -> Composition {
    let noise = |rho: &str| DiscreteGaussian::new(&Rational::from(1) / &number(rho), 1).unwrap();
    Composition::new(cells.iter().map(|(rho, count)| (noise(rho), *count))).unwrap()
}

fn same(a: &WorstCase, b: &Composition) {
    for delta in ["1e-6", "1e-3", "0.2"] {
        let delta = Delta::parse(delta).unwrap();
        let (a, b) = (a.epsilon(&delta).unwrap(), b.epsilon(&delta).unwrap());
        assert!(a.lower() <= b.upper() && b.lower() <= a.upper(), "{a:?} {b:?}");
        assert!((a.upper() - b.upper()).abs() < 1e-5, "{a:?} {b:?}");
    }
}

/// One path that bypasses `low`: `mid` has its budget, with its own division, and nothing is measured below.
#[test]
fn a_bypassed_level_gives_its_budget_to_the_one_above() {
    let path = |list: &str| Release::from(small("", &format!("[bypass]\npaths = [{list}]\n")));
    let merged = path("[\"top\", \"mid\"]");
    // ρ of the total and of q at mid: (2 + 4)/10 times 1/4 and 3/4.
    same(&merged.worst_case(&Scope::Total).unwrap(), &of(&[("1/10", 2), ("3/20", 2), ("9/20", 2)]));
    let level = merged.worst_case(&Scope::Level("mid".into())).unwrap();
    assert_eq!(level.rho().unwrap().upper(), number("6/10"));
    assert!(merged.worst_case(&Scope::Level("low".into())).is_err(), "nothing is measured there");
    // Everything at the top.
    let top = path("[\"top\"]");
    same(&top.worst_case(&Scope::Total).unwrap(), &of(&[("7/10", 2)]));
    // Two paths: the worst of three pairs, one of which leaves the cells of one path and enters those of the
    // other.
    let both = path("[\"top\", \"mid\"], [\"top\"]").worst_case(&Scope::Total).unwrap();
    assert_eq!(both.count(), 3);
    let delta = Delta::parse("1e-6").unwrap();
    let alone = [
        of(&[("1/10", 2), ("3/20", 2), ("9/20", 2)]),
        of(&[("7/10", 2)]),
        of(&[("1/10", 1), ("3/20", 1), ("9/20", 1), ("7/10", 1)]),
    ];
    let worst = alone.iter().map(|c| c.epsilon(&delta).unwrap().lower()).fold(0.0, f64::max);
    let found = both.epsilon(&delta).unwrap();
    assert!(found.lower() <= worst + 1e-9 && worst <= found.upper(), "{found:?} {worst}");
    // δ, too, is the largest at every ε, and the trade-off function the smallest at every α.
    for epsilon in ["0", "0.5", "2", "6"] {
        let epsilon = Epsilon::parse(epsilon).unwrap();
        let found = both.delta(&epsilon).unwrap();
        for one in &alone {
            assert!(one.delta(&epsilon).unwrap().lower() <= found.upper());
        }
        assert!(alone.iter().any(|one| one.delta(&epsilon).unwrap().upper() >= found.lower()));
    }
    for alpha in ["0", "1e-6", "0.01", "0.3", "0.9", "1"] {
        let alpha = Alpha::parse(alpha).unwrap();
        let (misses, power) = (both.tradeoff(&alpha).unwrap(), both.power(&alpha).unwrap());
        for one in &alone {
            assert!(misses.lower() <= one.tradeoff(&alpha).unwrap().upper(), "{alpha}");
            assert!(one.power(&alpha).unwrap().lower() <= power.upper(), "{alpha}");
        }
        assert!(alone.iter().any(|one| one.tradeoff(&alpha).unwrap().lower() <= misses.upper()), "{alpha}");
    }
}

/// All pairs of what is allowed, by brute force, against the routes that are looked at.
#[test]
fn every_pair_of_paths_that_a_secret_allows_is_looked_at() {
    let allocation = small("", "[bypass]\nkeep = [\"top\"]\n");
    let release = Release::from(allocation.clone());
    let paths = allocation.paths();
    assert_eq!(paths.len(), 4);
    // ρ of a kept level, with what it took over.
    let budget = |path: usize, level: usize| {
        let end = (level + 1..3).find(|l| paths[path].keeps(*l)).unwrap_or(3);
        (level..end).map(|l| allocation.levels()[l].rho()).fold(Rational::from(0), |a, b| a + b)
    };
    let shares: [(&str, &str); 3] = [("0", "1"), ("1/4", "3/4"), ("1/2", "1/2")];
    // What a record moves from path a to path b, apart below the level `shared`; all of it apart if that is
    // none.
    let moved = |a: usize, b: usize, shared: Option<usize>, place_only: bool| {
        let mut cells: Vec<(DiscreteGaussian, u64)> = vec![];
        for (level, (total, touching)) in shares.into_iter().enumerate() {
            let is_shared = shared.is_some_and(|s| level <= s);
            for path in [a, b] {
                if !paths[path].keeps(level) || (is_shared && place_only) {
                    continue;
                }
                for (is_total, share) in [(true, total), (false, touching)] {
                    if share == "0" || (is_total && is_shared) {
                        continue;
                    }
                    let rho = &budget(path, level) * &number(share);
                    cells.push((DiscreteGaussian::new(&Rational::from(1) / &rho, 1).unwrap(), 1));
                }
            }
        }
        (!cells.is_empty()).then(|| Composition::new(cells).unwrap())
    };
    // Paths of two smallest units that share a unit of that level and no smaller one.
    let possible = |a: usize, b: usize, shared: usize| {
        let agree = (0..=shared).all(|l| paths[a].keeps(l) == paths[b].keeps(l));
        agree && if shared == 2 { a == b } else { paths[a].keeps(shared + 1) && paths[b].keeps(shared + 1) }
    };
    let delta = Delta::parse("1e-6").unwrap();
    let check = |scope: Scope, cases: Vec<Composition>| {
        let found = release.worst_case(&scope).unwrap().epsilon(&delta).unwrap();
        let truth = cases.iter().map(|c| c.epsilon(&delta).unwrap());
        let (lower, upper) = truth.fold((0.0f64, 0.0f64), |(l, u), e| (l.max(e.lower()), u.max(e.upper())));
        assert!(found.lower() <= upper && lower <= found.upper(), "{scope}: {found:?} {lower} {upper}");
        assert!(found.upper() - lower < 1e-5, "{scope}: {found:?} {lower}");
    };
    let pairs = || (0..4).flat_map(|a| (a..4).map(move |b| (a, b)));
    check(Scope::Total, pairs().filter_map(|(a, b)| moved(a, b, None, false)).collect());
    for (least, name) in [(0, "top"), (1, "mid"), (2, "low")] {
        let at = |place_only: bool| -> Vec<Composition> {
            let all = pairs().flat_map(|(a, b)| (least..3).map(move |shared| (a, b, shared)));
            let all = all.filter(|(a, b, shared)| possible(*a, *b, *shared));
            all.filter_map(|(a, b, shared)| moved(a, b, Some(shared), place_only)).collect()
        };
        check(Scope::Keeping(name.into()), at(false));
        if least < 2 {
            check(Scope::Within(name.into()), at(true));
        }
    }
}

/// Figures of the issue and of the paper of 2026, each inside the bounds of its line.
#[test]
fn the_census_over_all_paths() {
    let persons = certificate(&preset("pl94-persons-us-2020"));
    let total = &persons.lines[0];
    assert!(contains(total, 16.467_751_2), "{total:?}");
    assert!(total.main_path.as_ref().unwrap().at_most(8).starts_with("16.46515"));
    // The pair: the main path with the one on which the state takes all below.
    let worst = &total.worst[0];
    let kept = [worst.from.len(), worst.to.len()];
    assert!(kept == [6, 2] || kept == [2, 6], "{worst:?}");
    // Inside one unit of State its total does not move; inside one block only attributes change.
    let inside = line(&persons, "record-within-State");
    assert!(inside.main_path.as_ref().unwrap().at_most(7).starts_with("13.1259"), "{inside:?}");
    let block = line(&persons, "record-within-Block");
    assert!(block.main_path.as_ref().unwrap().at_most(6).starts_with("9.7629"), "{block:?}");
    assert!(ends(block).0 > 9.904, "{block:?}");
    // A unit that took over what is below it: the level's own line is far above the main path's.
    assert!(ends(line(&persons, "State")).0 > 16.19);

    let dhc = certificate(&preset("dhc-persons-us-2020"));
    assert!(contains(&dhc.lines[0], 24.456_514_457_337), "{:?}", dhc.lines[0]);
    assert_eq!(dhc.products[0].paths, 43);
    assert_eq!(dhc.lines[0].worst[0].from, ["US", "State"]);
    assert_eq!(dhc.lines[0].worst[0].to, ["US", "State"]);

    for (name, value) in [
        ("pl94-persons-pr-2020", 16.465_264_06),
        ("pl94-units-us-2020", 2.363_545_966_7),
        ("pl94-units-pr-2020", 2.363_417_651_7),
        ("dhc-units-us-2020", 32.071_985_2),
    ] {
        let (lower, upper) = ends(&certificate(&preset(name)).lines[0]);
        assert!(lower - 1e-7 <= value && value <= upper + 1e-7, "{name}: {lower} {value} {upper}");
    }
}

/// How many compositions all pairs come down to: 136 pairs of 16 paths and 946 of 43, some of them alike.
#[test]
fn pairs_are_counted() {
    let count = |name: &str, scope: &Scope| preset(name).worst_case(scope).unwrap().count();
    assert_eq!(Allocation::preset("pl94-persons-us-2020").unwrap().paths().len(), 16);
    assert_eq!(Allocation::preset("dhc-units-us-2020").unwrap().paths().len(), 64);
    let pairs = count("pl94-persons-us-2020", &Scope::Total);
    assert!(pairs <= 136 && pairs > 100, "{pairs}");
    let inside = count("pl94-persons-us-2020", &Scope::Keeping("State".into()));
    assert!(inside <= 51 && inside > 40, "{inside}");
    let pairs = count("dhc-persons-us-2020", &Scope::Total);
    assert!(pairs <= 946 && pairs > 700, "{pairs}");
    // The number of units of a block is exact: a unit stays where it is, on one path.
    assert!(count("dhc-units-us-2020", &Scope::Total) <= 64);
}

#[test]
fn curves_and_calibrations_are_of_all_paths() {
    let release = preset("pl94-persons-us-2020");
    let main = release.main_path(&Scope::Total).unwrap();
    let epsilon = Epsilon::parse("16.4655").unwrap();
    let curve = over_epsilon(&release, &Scope::Total, std::slice::from_ref(&epsilon));
    // Where the main path has met δ = 1e-10 already, the worst pair has not.
    assert!(main.delta(&epsilon).unwrap().upper().to_rational() < number("1e-10"));
    assert!(curve.points[0].delta.lower() > number("1e-10"));
    let curve = over_delta(&release, &Scope::Total, &[delta()]);
    assert!(curve.points[0].epsilon.lower() > number("16.4677"));
    let alpha = Alpha::parse("1e-6").unwrap();
    let tradeoff = tradeoff(&release, &Scope::Total, std::slice::from_ref(&alpha));
    assert!(tradeoff.points[0].misses.bounds().lower() <= main.tradeoff(&alpha).unwrap().upper());
    // A calibrated allocation keeps the promise on every path.
    let allocation = &release.allocations()[0];
    let promise = Promise::Conversion(allocation.conversion().unwrap());
    let found = allocation.calibrate(&promise, Scaling::Total, None).unwrap();
    let after = Release::from(found.allocation.clone()).worst_case(&Scope::Total).unwrap();
    let promised = found.rows[0].promised.as_ref().unwrap().upper();
    assert!(after.epsilon(&delta()).unwrap().lower() <= promised.to_f64());
    assert_eq!(
        PromiseCheck::new(&found.allocation.into(), &Epsilon::new(promised).unwrap(), &delta()).unwrap().kept,
        Some(true)
    );
}

/// A total of the first level cannot change if that level has one unit, which nobody said: the upper end
/// charges it, the lower one does not.
#[test]
fn a_total_at_the_root_is_not_claimed_to_be_attained() {
    let text = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-6\"\nattributes = [\"a\"]\n[queries]\n\
     total = []\nq = [\"a\"]\n\
                [[levels]]\nname = \"root\"\n[levels.sigma2]\ntotal = 4\nq = 9\n\
                [[levels]]\nname = \"low\"\n[levels.sigma2]\nq = 9\n";
    let release = Release::from(Allocation::parse("x", text).unwrap());
    let certificate = certificate(&release);
    let (total, inside) = (&certificate.lines[0], line(&certificate, "record-within-root"));
    assert!(!total.attained && inside.attained);
    assert!(total.tight.upper() > inside.tight.upper());
    assert_eq!(total.tight.lower(), inside.tight.lower());
    // Said to be exact, it is no secret and costs nothing.
    let exact = text.replace("attributes =", "exact_totals = [\"root\"]\nattributes =");
    let exact = support::certificate(&Release::from(Allocation::parse("x", &exact).unwrap()), None, None);
    assert!(exact.lines[0].attained);
    assert_eq!(exact.lines[0].tight, inside.tight);
    // A level with nothing but that total: nobody is known to move anything there, and if it is exact there
    // is no line.
    let only = text.replace("total = 4\nq = 9\n", "total = 4\n");
    assert_ne!(only, text);
    let found = self::certificate(&Release::from(Allocation::parse("x", &only).unwrap()));
    assert_eq!(line(&found, "root").tight.lower(), number("0"));
    assert!(line(&found, "root").tight.upper() > number("1"));
    let exact = only.replace("attributes =", "exact_totals = [\"root\"]\nattributes =");
    let found = self::certificate(&Release::from(Allocation::parse("x", &exact).unwrap()));
    assert!(found.lines.iter().all(|line| line.label != "root"), "{:?}", found.lines);
    // With a record more or less it moves like any other.
    let other = Allocation::parse("x", &text.replace("bounded", "add-remove")).unwrap();
    assert!(self::certificate(&Release::from(other)).lines[0].attained);
}

/// What a record adds to a query of a larger shift can change where it is: that is no total, and stays
/// charged.
#[test]
fn a_sum_is_not_a_total() {
    let rho = |shift: u64| {
        let text = format!(
            "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-6\"\nattributes = [\"a\"]\n\
             [queries]\nsum = {{ shift = {shift} }}\nq = [\"a\"]\n\
             [[levels]]\nname = \"root\"\n[levels.sigma2]\nsum = 18\nq = 9\n"
        );
        let release = Release::from(Allocation::parse("x", &text).unwrap());
        release.worst_case(&Scope::Keeping("root".into())).unwrap().rho().unwrap().upper()
    };
    // Two cells of q are 1/9; two of the sum, moved by 3, are 9/18 more.
    assert_eq!(rho(1), number("1/9"));
    assert_eq!(rho(3), number("11/18"));
}

/// Two households of one person: the cells they leave may be one, which moves by two.
#[test]
fn one_person_may_change_two_households() {
    let persons = "name = \"persons\"\nrecord = \"person\"\nneighbours = \"bounded\"\ndelta = \"1e-6\"\n\
     [[levels]]\nname = \"a\"\n[levels.sigma2]\nq = 20\n";
    let units = persons.replace("persons", "units").replace("person", "unit").replace("q = 20", "h = 50");
    let [persons, units] = [persons.to_string(), units].map(|text| Allocation::parse("x", &text).unwrap());
    let error = Release::new(vec![persons.clone(), units.clone()]).unwrap_err();
    assert!(error.hint().contains("touches"), "{error} {}", error.hint());
    let total = |touches: u64| {
        let products = vec![persons.clone(), units.clone().touching(touches).unwrap()];
        Release::new(products).unwrap().main_path(&Scope::Total).unwrap()
    };
    let shifts = |c: &Composition| {
        c.groups().iter().map(|g| (g.mechanism.shift().unwrap().to_string(), g.count)).collect::<Vec<_>>()
    };
    assert_eq!(shifts(&total(1)), [("1".into(), 2), ("1".into(), 2)]);
    assert_eq!(shifts(&total(2)), [("1".into(), 2), ("2".into(), 2)]);
    // Four cells by one are never worse than two by two (N10).
    let four = Composition::new([(DiscreteGaussian::parse("50", "1").unwrap(), 4)]).unwrap();
    let two = Composition::new([(DiscreteGaussian::parse("50", "2").unwrap(), 2)]).unwrap();
    for epsilon in ["0", "0.3", "1", "2"] {
        let epsilon = Epsilon::parse(epsilon).unwrap();
        assert!(four.delta(&epsilon).unwrap().lower() <= two.delta(&epsilon).unwrap().upper());
    }
    assert!(units.touching(3).is_err());
    // Of attributes and places nothing is said across kinds of records.
    let products = [Allocation::preset("dhc-persons-us-2020"), Allocation::preset("dhc-units-us-2020")];
    let [persons, units] = products.map(Result::unwrap);
    let both = Release::new(vec![persons, units.touching(2).unwrap()]).unwrap();
    assert!(both.scopes().iter().all(|scope| matches!(scope, Scope::Total | Scope::Level(_))));
}

/// The lemma behind it, for one cell against two, over small and large noise.
#[test]
fn one_cell_by_two_is_worse_than_two_cells_by_one() {
    for sigma2 in ["0.05", "0.3", "1", "2.5", "17", "400"] {
        let one = Composition::new([(DiscreteGaussian::parse(sigma2, "2").unwrap(), 1)]).unwrap();
        let two = Composition::new([(DiscreteGaussian::parse(sigma2, "1").unwrap(), 2)]).unwrap();
        for epsilon in ["0", "0.01", "0.2", "1", "3", "7", "15", "40"] {
            let epsilon = Epsilon::parse(epsilon).unwrap();
            let (a, b) = (two.delta(&epsilon).unwrap(), one.delta(&epsilon).unwrap());
            assert!(a.lower() <= b.upper(), "{sigma2} {epsilon}: {a:?} {b:?}");
        }
    }
}

#[test]
fn what_makes_no_sense_of_a_system_is_refused_by_place() {
    let base = Preset::find("pl94-units-us-2020").unwrap().text;
    let refused = |from: &str, to: &str| {
        assert!(base.contains(from), "{from}");
        let error = Allocation::parse("x.toml", &base.replace(from, to)).unwrap_err();
        assert!(error.excerpt().is_some(), "{error}");
        format!("{error}; {}", error.hint())
    };
    let keep = "keep = [\"US\", \"State\"]";
    for (from, to, want) in [
        (keep, "keep = [\"State\"]", "bypass: `US` is not kept; the first level is kept on every path"),
        (keep, "keep = [\"US\", \"Stat\"]", "bypass: `Stat` is not one of the levels US, State"),
        (keep, "paths = [[\"US\"], [\"US\"]]", "bypass: a path is there twice"),
        (keep, "paths = []", "bypass: there is no path"),
        (
            keep,
            "keep = [\"US\"]\npaths = [[\"US\"]]",
            "bypass: one of keep and paths is needed, and not both",
        ),
        (keep, "kept = [\"US\"]", "unknown key: `kept` is not one of the keys keep, paths"),
        (
            "exact_totals = [\"Block\"]",
            "exact_totals = [\"Blok\"]",
            "exact_totals: `Blok` is not one of the levels",
        ),
        ("exact_totals = [\"Block\"]", "touches = 3", "touches: `3` is not 1 or 2"),
        (
            "neighbours = \"bounded\"",
            "neighbours = \"add-remove\"",
            "exact_totals: no add-remove neighbours keep",
        ),
    ] {
        let found = refused(from, to);
        assert!(found.contains(want), "{found}\n{want}");
    }
    let allocation = small("", "");
    let unordered = Production { bypass: Some(Bypass::Keep(vec!["top".into()])), ..Production::default() };
    assert!(allocation.clone().used_by(unordered).is_ok());
    let flat = Allocation::parse(
        "x",
        "name = \"x\"\nnested = false\nneighbours = \"bounded\"\n[bypass]\nkeep = [\"a\"]\n[[levels]]\n\
         name = \"a\"\n[levels.sigma2]\nq = 4\n",
    );
    assert!(flat.unwrap_err().to_string().contains("bypass: the levels are not nested"));
}

/// What a certificate rests on and what it leaves out.
#[test]
fn assumptions_and_missing_products_are_named() {
    let certificate = certificate(&preset("dhc-units-us-2020"));
    let all = certificate.assumptions.join("\n");
    for assumed in ["drawn once", "closed library", "totals of Block are exact"] {
        assert!(all.contains(assumed), "{all}");
    }
    assert!(certificate.lines.iter().all(|line| !matches!(line.scope, Scope::Within(_))));
    assert!(certificate.left_out[0].reason.contains("totals of `Block` are exact"));
    let missing: Vec<&str> = certificate.missing.iter().map(|m| m.name).collect();
    for name in
        ["Detailed DHC-A", "Detailed DHC-B", "Supplemental DHC", "P.L. 94-171 redistricting data, persons"]
    {
        assert!(missing.contains(&name), "{missing:?}");
    }
    assert!(!missing.contains(&"Demographic and Housing Characteristics, housing units"), "{missing:?}");
    assert!(self::certificate(&preset("paper-2022-08-25")).missing.is_empty());
}

#[test]
fn what_is_enough_on_one_path_is_no_less_than_any_noise_on_another() {
    let release: Release = spending("900", "epsilon = \"1e9\"\n", "[bypass]\nkeep = [\"top\"]\n").into();
    let certificate = CertificateQuestion::about(Product::all_of(&release)).answer().unwrap();
    assert_eq!(certificate.kept, Some(true));
    let target = Target { epsilon: Epsilon::parse("1e9").unwrap(), delta: delta() };
    let found = release.worst_case(&Scope::Total).unwrap().scale_meeting(&target).unwrap();
    assert!(found.failing.is_none() && found.satisfying < Rational::from(1), "{found:?}");
}
