//! The bound of the least budget: below everything that meets the needs, and near it.

use num_rational::BigRational;
use num_traits::Signed;
use unspent::Allocation;

use super::random::{self, Draw};
use crate::design::answer::Designer;
use crate::design::bound::{ExactPromise, double, least_cost};
use crate::design::{Need, Quantity, Units};

#[test]
fn no_multipliers_and_precisions_give_a_bound_above_what_is_enough() {
    let (mut worst, mut loosest, mut promised) = (0.0f64, 0.0f64, 0);
    let cases = random::cases(60);
    for seed in 0..cases {
        let mut draw = Draw(3_000_000 + seed as u64);
        let needs = random::needs(&mut draw);
        let designer = Designer::new(&needs).unwrap();
        let frame = &designer.compiled.frame;
        let mut limits = designer.limits(&vec![1.0; needs.needs.len()], 1.0);
        let solved = designer.solve(&limits).unwrap();
        let least = designer.least_rho(&limits, &solved).unwrap();
        let gap = 1.0 - double(&least) / solved.cost;
        worst = worst.max(gap);
        assert!(gap <= 1e-5, "problem {seed}: {gap:e}");
        let rounded = designer.rounded(&limits, &solved, true).unwrap();
        let budgets = &rounded.rho;
        let spent: BigRational = budgets.iter().sum();
        assert!(spent >= least, "problem {seed}");
        loosest = loosest.max(double(&(&spent / &least)) - 1.0);
        // Rounded up.
        let wanted = solved.precisions.iter().zip(&frame.variables).map(|(w, v)| w * double(&v.cost));
        let mut up = budgets.iter().zip(wanted).filter(|(rho, _)| rho.is_positive());
        assert!(up.all(|(rho, wanted)| double(rho) >= wanted * (1.0 - 1e-12)), "problem {seed}");
        // What is spent meets the needs, in fractions.
        let precisions: Vec<BigRational> =
            budgets.iter().zip(&frame.variables).map(|(rho, v)| rho / &v.cost).collect();
        let at = frame.exactly(&precisions);
        // Ends are apart by the steps of fixed numbers.
        let tiny = BigRational::new(1.into(), num_bigint::BigInt::from(1) << 120);
        for limit in &limits.exact {
            let [_, value] = frame.exact_value(&limit.variance, &at).unwrap();
            assert!(value <= limit.limit, "problem {seed}");
            // What was checked is not below, and near.
            let [_, checked] = frame.exact_value(&limit.variance, rounded.at(frame)).unwrap();
            let near = &value * BigRational::new(((1u64 << 38) + 1).into(), (1u64 << 38).into());
            assert!(value <= checked && checked <= near + tiny.clone(), "problem {seed}");
        }
        for _ in 0..4 {
            // Near the best, or anywhere.
            let orders = if draw.chance(0.5) { 0.1 } else { 4.0 };
            let w: Vec<f64> = solved.precisions.iter().map(|w| w * draw.magnitude(orders)).collect();
            let y: Vec<f64> = (solved.shares.iter().zip(&limits.exact))
                .map(|(share, limit)| {
                    (share + 1e-3 * draw.unit()) / double(&limit.limit) * draw.magnitude(orders)
                })
                .collect();
            let x = designer.evaluator.inverses(&designer.evaluator.at(&w));
            let found = least_cost(frame, &limits.exact, &[], &x, &y, &[]).unwrap();
            assert!(found <= spent, "problem {seed}");
            // A promise that the budgets keep exactly, with any multiplier.
            let of: Vec<bool> = budgets.iter().map(|_| draw.chance(0.5)).collect();
            let kept = budgets.iter().zip(&of).filter(|(_, of)| **of).map(|(rho, _)| rho).sum();
            let promise = ExactPromise { of, limit: kept };
            let multiplier = draw.magnitude(4.0);
            let found =
                least_cost(frame, &limits.exact, std::slice::from_ref(&promise), &x, &y, &[multiplier])
                    .unwrap();
            assert!(found <= spent, "problem {seed} with a promise");
        }
        // Solved with a promise for some variables that binds, or nearly.
        let of: Vec<bool> = budgets.iter().map(|_| draw.chance(0.5)).collect();
        let kept: f64 = (solved.precisions.iter().zip(&frame.variables).zip(&of))
            .filter(|(_, of)| **of)
            .map(|((w, v), _)| w * double(&v.cost))
            .sum();
        let part = BigRational::new((70 + draw.below(60)).into(), 100.into());
        let limit = BigRational::from_float(kept).unwrap() * part;
        if limit.is_positive() && of.contains(&false) {
            limits.promises = vec![ExactPromise { of, limit }];
            if let Ok(solved) = designer.solve(&limits) {
                let least = designer.least_rho(&limits, &solved).unwrap();
                let gap = 1.0 - double(&least) / solved.cost;
                promised += 1;
                worst = worst.max(gap);
                assert!(gap <= 1e-5, "problem {seed} with a promise: {gap:e}");
            }
        }
    }
    println!(
        "{cases} problems, {promised} with promises: worst gap {worst:.1e}, rounding costs {loosest:.1e}"
    );
    assert!(promised > cases / 10);
}

#[test]
fn needs_that_are_exact_already_are_refused() {
    let text = "name = 'Exact'\nneighbours = 'bounded'\nexact_totals = ['Town']\n[attributes]\n\
                a = ['0', '1']\n[queries]\na = ['a']\n[[levels]]\nname = 'County'\n\
                sigma2 = { a = 1 }\n[[levels]]\nname = 'Town'\n\
                sigma2 = { a = 1 }\n";
    let total = |level: usize| Need {
        name: "total".into(),
        level,
        quantity: Quantity::Table { by: vec![], margin: "5".parse().unwrap() },
        set: None,
        confidence: "0.95".parse().unwrap(),
        all: false,
    };
    let mut needs = random::needs(&mut Draw(1));
    needs.offer = Allocation::parse("exact.toml", text).unwrap();
    needs.units = Units::PerLevel(vec![1, 3]);
    needs.needs = vec![total(0), total(1)];
    let error = needs.design(false).unwrap_err().to_string();
    assert!(error.contains("exact already"), "{error}");
    // Beside something that is not exact they cost nothing.
    let by_value = Quantity::Table { by: vec!["a".into()], margin: "5".parse().unwrap() };
    needs.needs.push(Need { quantity: by_value, ..total(1) });
    let design = needs.design(false).unwrap();
    assert!(design.needs.iter().all(|need| need.met));
    assert!(design.needs[0].share < 1e-6 && design.needs[1].share < 1e-6, "{:?}", design.needs);
}
