//! Published allocations: certificates as signed, tight figures, the paper's table.

use proptest::prelude::*;
use unspent::{
    Allocation, Alpha, Certificate, Conversion, Delta, Epsilon, Neighbours, Preset, Promise, Rational,
    Release, Round, Scaling, Scope,
};

use crate::support::{self, comparison, facts, line, number, over_delta, over_epsilon, preset, tradeoff};

fn certificate(name: &str, delta: Option<&str>) -> Certificate {
    let delta = delta.map(|d| Delta::parse(d).unwrap());
    support::certificate(&preset(name), delta.as_ref(), None)
}

/// The lines of the two signed certificates of 2021-06-25.
#[test]
fn every_line_of_the_signed_certificates_is_reproduced() {
    let signed = facts("pl94-2021-certificates.csv");
    assert_eq!(signed.len(), 17);
    for name in ["pl94-persons-us-2020", "pl94-units-us-2020"] {
        // The signed certificates know one path, and places also of units whose number in every block is
        // exact.
        let text = Preset::find(name).unwrap().text.replace("exact_totals = [\"Block\"]", "");
        let release = Release::from(Allocation::parse(name, &text).unwrap().without_bypass());
        let certificate = support::certificate(&release, None, None);
        let mut lines = 0;
        for row in signed.iter().filter(|row| row[0] == name) {
            let [_, label, delta, epsilon] = &row[..] else { panic!("{row:?}") };
            assert_eq!(certificate.delta.value(), &number(delta));
            let ours = line(&certificate, label).canonne_kamath_steinke.unwrap().to_f64(Round::Up);
            assert_eq!(format!("{ours:.2}"), *epsilon, "{name} {label}");
            lines += 1;
        }
        assert_eq!(lines, if name.contains("persons") { 10 } else { 7 });
        assert_eq!(certificate.published, Some(Conversion::CanonneKamathSteinke));
    }
}

#[test]
fn presets_are_the_published_allocations() {
    let rows = facts("das-2020-budgets.csv");
    assert_eq!(rows.len(), 688);
    let mut names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    names.dedup();
    // All but the paper's, which is not an agency's.
    assert_eq!(names.len() + 1, Preset::ALL.len());
    for name in names {
        let allocation = Allocation::preset(name).unwrap();
        let published = rows.iter().filter(|row| row[0] == name);
        let mut published: Vec<(&str, &str, Rational)> =
            published.map(|row| (row[1].as_str(), row[2].as_str(), number(&row[3]))).collect();
        let mut ours: Vec<(&str, &str, Rational)> = allocation
            .measurements()
            .map(|(level, query, m)| {
                // Bounded neighbours: σ² = 1/ρ.
                assert_eq!(&m.rho * m.gaussian().unwrap().sigma2(), Rational::from(1));
                (level.name.as_str(), query.name.as_str(), m.rho.clone())
            })
            .collect();
        let order: Vec<&str> = allocation.levels().iter().map(|l| l.name.as_str()).collect();
        let mut seen: Vec<&str> = published.iter().map(|p| p.0).collect();
        seen.dedup();
        assert_eq!(order, seen, "{name}: levels in the published order");
        published.sort();
        ours.sort();
        assert_eq!(published, ours, "{name}");
    }
}

#[test]
fn tight_totals() {
    for (name, epsilon) in [
        ("pl94-persons-us-2020", "16.46775"),
        ("pl94-persons-pr-2020", "16.46526"),
        ("pl94-units-us-2020", "2.363545966"),
        ("pl94-units-pr-2020", "2.363417651"),
        ("dhc-persons-us-2020", "24.45651"),
        ("dhc-units-us-2020", "32.07198"),
        ("paper-2022-08-25", "20.324689750789"),
    ] {
        let total = &certificate(name, None).lines[0];
        assert!(total.tight.at_most(17).starts_with(epsilon), "{name}: {:?}", total.tight);
        assert!(total.tight.at_least(17).starts_with(epsilon), "{name}: {:?}", total.tight);
    }
}

/// σ² at the same ε of Bun and Steinke at 10⁻¹¹, exact to the digits given.
#[test]
fn the_papers_table_of_noise() {
    let certificate = certificate("paper-2022-08-25", Some("1e-11"));
    assert_eq!(certificate.against, Some(Promise::Conversion(Conversion::BunSteinke)));
    for (level, sigma2) in [
        ("US", 54.193_952),
        ("State", 4.245_382),
        ("County", 13.283_138),
        ("PEPG", 8.718_809),
        ("Tract Subset Group", 8.718_809),
        ("Tract Subset", 4.873_180),
        ("Optimized Block Group", 9.647_810),
        ("Block", 343.269_047),
    ] {
        let reduction = certificate.reduction(&Scope::Level(level.into())).unwrap();
        assert_eq!(reduction.least_sigma2, reduction.greatest_sigma2);
        let enough = (&reduction.least_sigma2 * &reduction.factor).to_f64();
        assert!((enough - sigma2).abs() < 1e-6, "{level}: {enough}");
        // Nothing was left on the table: right below, the promise is certainly broken.
        let gap = reduction.factor.to_f64() / reduction.failing.as_ref().unwrap().to_f64() - 1.0;
        assert!(gap > 0.0 && gap < 1e-9, "{level}: {gap}");
    }
}

#[test]
fn all_eighty_folds_at_once() {
    let allocation = Allocation::preset("paper-2022-08-25").unwrap();
    let promise = Promise::Epsilon(Epsilon::parse("21.97").unwrap());
    let found =
        allocation.calibrate(&promise, Scaling::Total, Some(&Delta::parse("1e-10").unwrap())).unwrap();
    let less = 100.0 * (1.0 - found.rows[0].factor.as_ref().unwrap().to_f64());
    assert!((less - 12.1793).abs() < 5e-5, "{less}");
    // δ(ε) of the result, the figure of the promise itself.
    let after = Release::from(found.allocation).main_path(&Scope::Total).unwrap();
    let delta = after.delta(&Epsilon::parse("21.97").unwrap()).unwrap();
    assert!(delta.upper().to_rational() <= number("1e-10"));
    assert!(delta.lower().to_rational() > number("0.99999999e-10"));
}

#[test]
fn a_calibrated_file_reads_back_and_keeps_its_promise() {
    let delta = Delta::parse("1e-10").unwrap();
    for (name, scaling) in
        [("pl94-persons-us-2020", Scaling::Total), ("dhc-units-us-2022-08-25", Scaling::Level)]
    {
        let each_level = scaling == Scaling::Level;
        let allocation = Allocation::preset(name).unwrap();
        let conversion = allocation.conversion().unwrap();
        let found = allocation.calibrate(&Promise::Conversion(conversion), scaling, None).unwrap();
        let back = Allocation::parse("back", &found.allocation.to_toml()).unwrap();
        assert_eq!(back, found.allocation);
        // It states what was promised for the whole, and does not claim the conversion any more.
        assert_eq!((back.conversion(), back.epsilon().is_some()), (None, true));
        assert_eq!(found.exceeds, each_level, "levels by themselves add up to more than the whole may spend");
        let (before, after) = (Release::from(allocation), Release::from(back));
        let scopes: Vec<Scope> = match each_level {
            true => before.scopes().into_iter().filter(|s| matches!(s, Scope::Level(_))).collect(),
            false => vec![Scope::Total],
        };
        for scope in scopes {
            let rho = unspent::Rho::new(before.worst_case(&scope).unwrap().rho().unwrap().upper()).unwrap();
            let promised = Rational::from_f64("", rho.epsilon(conversion, &delta)).unwrap();
            let kept = after.worst_case(&scope).unwrap().delta(&Epsilon::new(promised).unwrap()).unwrap();
            assert!(kept.upper().to_rational() <= *delta.value(), "{name} {scope}");
            // And it is less noise, by a sensible amount.
            let rho_after = after.worst_case(&scope).unwrap().rho().unwrap().upper();
            let ratio = (&rho_after / rho.value()).to_f64();
            assert!(ratio > 1.04 && ratio < 1.4, "{name} {scope}: {ratio}");
        }
    }
}

#[test]
fn every_preset_is_written_and_read_back_the_same() {
    for preset in Preset::ALL {
        let allocation = preset.allocation().unwrap();
        assert_eq!(Allocation::parse("back", &allocation.to_toml()).unwrap(), allocation, "{}", preset.name);
    }
    let error = Allocation::preset("pl94-persons-us").unwrap_err();
    assert_eq!(error.hint(), "did you mean `pl94-persons-us-2020`?");
}

/// A changed value leaves one cell and enters another, whatever the neighbours of the total are.
#[test]
fn attributes_and_places_count_two_moves_under_either_neighbours() {
    let of = |neighbours: &str, sigma2: &str| {
        let text = format!(
            "name = \"x\"\nneighbours = \"{neighbours}\"\nattributes = [\"a\"]\n[queries]\nq = [\"a\"]\n\
             r = []\n\
             [[levels]]\nname = \"top\"\n[levels.sigma2]\nq = {sigma2}\nr = 7\n\
             [[levels]]\nname = \"low\"\n[levels.sigma2]\nq = {sigma2}\n"
        );
        Release::from(Allocation::parse("x", &text).unwrap())
    };
    let (bounded, add_remove) = (of("bounded", "5"), of("add-remove", "5"));
    for scope in [Scope::Attribute("a".into()), Scope::Within("top".into())] {
        let (a, b) = (bounded.main_path(&scope).unwrap(), add_remove.main_path(&scope).unwrap());
        assert!(a.is_same(&b), "{scope}");
        let cells: u64 = a.groups().iter().map(|g| g.count).sum();
        assert_eq!(cells, 2 * bounded.moved(&scope).unwrap().len() as u64);
    }
    let attribute = bounded.main_path(&Scope::Attribute("a".into())).unwrap();
    assert_eq!(attribute.rho().unwrap(), number("2/5"));
    for scope in [Scope::Total, Scope::Level("top".into())] {
        let (a, b) = (bounded.main_path(&scope).unwrap(), add_remove.main_path(&scope).unwrap());
        assert_eq!(a.rho().unwrap(), b.rho().unwrap() * Rational::from(2), "{scope}");
    }
    // The same noise for other neighbours is the other file, and ρ follows.
    let restated = bounded.allocations()[0].restated(Neighbours::AddRemove);
    assert_eq!(restated, add_remove.allocations()[0]);
}

#[test]
fn a_shift_of_two_is_four_times_the_budget() {
    let text = |shift: u32| {
        format!(
            "name = \"x\"\nneighbours = \"bounded\"\n[queries]\nq = {{ shift = {shift} }}\n\
             [[levels]]\nname = \"a\"\n[levels.sigma2]\nq = \"8\"\n"
        )
    };
    let rho = |shift| Allocation::parse("x", &text(shift)).unwrap().rho();
    assert_eq!((rho(1), rho(2)), (number("1/8"), number("1/2")));
    let release = Release::from(Allocation::parse("x", &text(2)).unwrap());
    assert_eq!(release.main_path(&Scope::Total).unwrap().rho().unwrap(), number("1/2"));
}

#[test]
fn the_four_forms_of_a_budget_are_the_same() {
    let head = "name = \"x\"\nneighbours = \"bounded\"\n";
    let level = "[[levels]]\nname = \"a\"\n";
    let forms = [
        format!("{head}rho = \"1/4\"\n{level}share = 1\n[levels.shares]\np = \"1/3\"\nq = \"2/3\"\n"),
        format!("{head}scale = 2\n{level}share = 1\n[levels.shares]\np = \"1/3\"\nq = \"2/3\"\n"),
        format!("{head}{level}rho = 0.25\n[levels.shares]\np = \"1/3\"\nq = \"2/3\"\n"),
        format!("{head}{level}[levels.rho]\np = \"1/12\"\nq = \"1/6\"\n"),
        format!("{head}{level}[levels.sigma2]\np = 12\nq = 6\n"),
    ];
    let read: Vec<Allocation> = forms.iter().map(|text| Allocation::parse("x", text).unwrap()).collect();
    assert!(read.iter().all(|a| *a == read[0]), "{read:#?}");
    let table = "level,query,rho\na,p,1/12\n\"a\",q,1/6\n";
    let table = Allocation::parse_csv("x.csv", table, Neighbours::Bounded).unwrap();
    // But for the nesting of levels, which a table does not tell.
    let nested = table.to_toml().replace("nested = false\n", "");
    assert_eq!(Allocation::parse("x", &nested).unwrap(), read[0]);
    let places = Release::from(table).main_path(&Scope::Within("a".into())).unwrap_err();
    assert!(places.to_string().contains("not known to be nested"), "{places}");
    // With add-remove neighbours the same scale buys half the ρ.
    let other = forms[1].replace("bounded", "add-remove");
    assert_eq!(Allocation::parse("x", &other).unwrap().rho(), number("1/8"));
}

#[test]
fn several_products_for_the_same_person() {
    let products = ["pl94-persons-us-2020", "dhc-persons-us-2020"];
    let both = Release::new(products.map(|p| Allocation::preset(p).unwrap()).to_vec()).unwrap();
    let certificate = support::certificate(&both, None, None);
    let total = &certificate.lines[0];
    assert_eq!(total.rho.as_ref().unwrap().upper(), number("293764/114921") + number("4.9622"));
    let alone = |name: &str| self::certificate(name, None).lines[0].tight.upper();
    let (a, b) = (alone(products[0]), alone(products[1]));
    let tight = total.tight.upper();
    assert!(tight > a && tight > b && tight < a + b, "{tight}");
    // Both know `hispanic`; what only one of them calls `votingage` the other calls `age`.
    let hispanic = line(&certificate, "hispanic").rho.as_ref().unwrap().upper();
    assert_eq!(
        hispanic,
        line(&self::certificate(products[0], None), "hispanic").rho.as_ref().unwrap().upper()
            + line(&self::certificate(products[1], None), "hispanic").rho.as_ref().unwrap().upper()
    );
    let (attributes, places): (Vec<_>, Vec<_>) =
        certificate.left_out.iter().partition(|left| matches!(left.scope, Scope::Attribute(_)));
    let names: Vec<_> = attributes.iter().filter_map(|left| left.scope.name()).collect();
    assert_eq!(names, ["hhgq", "votingage", "relgq", "sex", "age"]);
    let reason = "not every product has an attribute of that name";
    assert!(attributes.iter().all(|left| left.reason == reason));
    let names: Vec<_> = places.iter().filter_map(|left| left.scope.name()).collect();
    assert_eq!(names, ["Tract", "Prim", "Tract_Subset_Group", "Tract_Subset"]);
    assert!(places.iter().all(|left| left.reason.contains("is not among the levels of")));
    assert!(certificate.lines.iter().all(|l| l.label != "Block-within-Tract"));
    let error = both.main_path(&Scope::Within("Tract".into())).unwrap_err();
    assert!(error.to_string().contains("is not among the levels of `Demographic"), "{error}");
    // A unit is not a person, and one notion of neighbours is not the other.
    for other in ["dhc-units-us-2020", "paper-2022-08-25"] {
        let pair = [products[0], other].map(|p| Allocation::preset(p).unwrap()).to_vec();
        assert!(Release::new(pair).unwrap_err().is_input());
    }
}

#[test]
fn comparison_restates_what_is_for_other_neighbours() {
    let (a, b) = (preset("dhc-persons-us-2022-08-25"), preset("paper-2022-08-25"));
    let found = comparison(&a, &b);
    assert!(!found.same_neighbours);
    let [bounded, add_remove] = &found.restated[..] else { panic!("{:?}", found.restated) };
    assert_eq!((bounded.neighbours, add_remove.neighbours), (Neighbours::Bounded, Neighbours::AddRemove));
    // Each as it is under its own, and B, with half the noise, is worse under either.
    assert_eq!(bounded.tight[0], found.lines[0].sides[0].as_ref().unwrap().tight);
    assert_eq!(add_remove.tight[1], found.lines[0].sides[1].as_ref().unwrap().tight);
    for restated in &found.restated {
        assert!(restated.tight[1].upper() > restated.tight[0].upper());
    }
    assert_eq!(found.noise.len(), 120);
    let same = comparison(&a, &a);
    assert!(same.same_neighbours && same.noise.is_empty() && same.same_noise == 80);
}

#[test]
fn curves_lie_below_what_zcdp_says_and_tradeoffs_above() {
    let release = preset("dhc-persons-us-2020");
    for scope in [Scope::Total, Scope::Level("State".into()), Scope::Attribute("age".into())] {
        let grid: Vec<Epsilon> = ["0", "1", "5", "12.5", "40"].map(|e| Epsilon::parse(e).unwrap()).into();
        for point in over_epsilon(&release, &scope, &grid).points {
            let tight = point.delta.bounds();
            assert!(tight.upper() <= point.canonne_kamath_steinke, "{scope} {point:?}");
            assert!(point.canonne_kamath_steinke <= point.bun_steinke, "{scope} {point:?}");
        }
        let grid: Vec<Delta> = ["1e-300", "1e-10", "0.01"].map(|d| Delta::parse(d).unwrap()).into();
        for point in over_delta(&release, &scope, &grid).points {
            assert!(point.epsilon.bounds().upper() <= point.canonne_kamath_steinke, "{scope} {point:?}");
        }
        let grid: Vec<Alpha> =
            ["0", "1e-9", "0.001", "0.05", "0.5", "0.99", "1"].map(|a| Alpha::parse(a).unwrap()).into();
        for point in tradeoff(&release, &scope, &grid).points {
            let tight = point.misses.bounds();
            assert!(point.canonne_kamath_steinke <= tight.upper(), "{scope} {point:?}");
            assert!(point.bun_steinke <= point.canonne_kamath_steinke, "{scope} {point:?}");
            // A guarantee worth the name, away from the ends.
            if point.alpha == number("0.05") {
                assert!(point.canonne_kamath_steinke.to_f64(Round::Down) > 1e-6, "{point:?}");
            }
        }
    }
}

/// What is drawn from the trade-off of a conversion is a supremum over ε; a plain grid of ε must not beat it.
#[test]
fn the_tradeoff_of_a_conversion_is_its_best() {
    let release = preset("pl94-units-us-2020");
    let rho = unspent::Rho::new(release.main_path(&Scope::Total).unwrap().rho().unwrap()).unwrap();
    for alpha in ["0.001", "0.05", "0.3", "0.9"] {
        let grid = [Alpha::parse(alpha).unwrap()];
        let found = &tradeoff(&release, &Scope::Total, &grid).points[0];
        let a = number(alpha).to_f64();
        // Finer than a grid can be, and no more than that.
        let mut best: f64 = 0.0;
        for i in 0..=20_000 {
            let epsilon = f64::from(i) * 5e-4;
            let exact = Epsilon::new(Rational::from_f64("", epsilon).unwrap()).unwrap();
            let delta = rho.delta_canonne_kamath_steinke(&exact).to_f64(Round::Up);
            let e = pxfm::f_exp(epsilon);
            best = best.max(1.0 - delta - e * a).max((1.0 - delta - a) / e);
        }
        let ours = found.canonne_kamath_steinke.to_f64(Round::Down);
        assert!((ours - best).abs() < 1e-6 * best, "{alpha}: {ours} {best}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever can be said in a table can be written as a file, and reads back as the same.
    #[test]
    fn files_read_back(
        rows in prop::collection::vec(
            // A ρ of up to 500, as σ² is at least 1e-3.
            (0usize..4, "[a-z \"'#=\\\\é]{1,12}", 1u32..=500, 1u32..1000), 1..12
        ),
        bounded: bool,
    ) {
        let mut table = "level,query,rho,shift,attributes\n".to_string();
        let mut seen = vec![];
        for (level, query, n, d) in &rows {
            let query = query.trim();
            if query.is_empty() || seen.contains(&(*level, query)) { continue }
            seen.push((*level, query));
            let shift = query.len() % 3 + 1;
            let quoted = query.replace('"', "\"\"");
            table += &format!("L{level},\"{quoted}\",{n}/{d},{shift},a;b{}\n", query.len());
        }
        prop_assume!(!seen.is_empty());
        let neighbours = if bounded { Neighbours::Bounded } else { Neighbours::AddRemove };
        let allocation = Allocation::parse_csv("table.csv", &table, neighbours).unwrap();
        prop_assert_eq!(allocation.measurements().count(), seen.len());
        let back = Allocation::parse("back", &allocation.to_toml()).unwrap();
        prop_assert_eq!(&back, &allocation);
        // The parts of a release sum to the whole.
        let release = Release::from(allocation.clone());
        let levels = release.scopes().into_iter().filter(|s| matches!(s, Scope::Level(_)));
        let rho = |scope: Scope| release.main_path(&scope).unwrap().rho().unwrap();
        let sum = levels.map(rho).fold(Rational::from(0), |a, b| a + b);
        prop_assert_eq!(sum, allocation.rho());
    }
}
