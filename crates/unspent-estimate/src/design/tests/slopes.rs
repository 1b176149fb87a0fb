//! Slopes and curvature of variances against differences of fractions; convexity and homogeneity.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::cases::{Asked, Case, is_zero};
use super::random::{self, Draw};
use crate::design::bound::double;
use crate::design::compile::Compiled;
use crate::design::evaluator::{Evaluator, Limit};
use crate::design::exact::fraction;
use crate::design::program::{Frame, Variance};
use crate::matrix::Matrix;

/// By how much a variance falls with each precision, in fractions: `Σ_k c_k/M_kl Σ_p φ_p xᵀ I_q y` with
/// `x = P_k⁻¹ a` and `y = P_k⁻¹ b`.
fn exact_slopes(frame: &Frame, variance: &Variance, precisions: &[BigRational]) -> Vec<BigRational> {
    let mut found = vec![BigRational::zero(); frame.variables.len()];
    frame.each_solution(precisions, |level, block, at| {
        let factor = BigRational::new(
            &frame.information[block].common * at.scale,
            &at.solutions.denominator * BigInt::from(frame.units[level]),
        );
        let solution = |direction: usize| -> Vec<BigRational> {
            let (_, of_direction) = &at.directions[direction];
            let x = at.solutions.numerators[direction].as_ref().expect("determined");
            x.iter().map(|x| &factor * x / of_direction).collect()
        };
        for (pair, phi) in variance.terms.iter().filter(|(pair, _)| frame.pairs[*pair].block == block) {
            if variance.levels[level].is_zero() {
                continue;
            }
            let (x, y) = (solution(frame.pairs[*pair].first), solution(frame.pairs[*pair].second));
            for (slope, variable) in found.iter_mut().zip(&frame.variables) {
                let query = frame.model.blocks()[block].query(variable.query);
                let Some(query) = query.filter(|_| variable.level >= level) else { continue };
                let mut product = BigRational::zero();
                for (row, x) in query.exact_information().iter().zip(&x) {
                    product += row.iter().zip(&y).map(|(i, y)| i * y * x).sum::<BigRational>();
                }
                *slope += &variance.levels[level] * phi * product / frame.inside(level, variable.level);
            }
        }
    });
    found
}

#[test]
fn slopes_and_curvature_are_those_of_fractions() {
    let (mut compared, mut worst, mut curved) = (0, 0.0f64, 0.0f64);
    for seed in 0..random::cases(60) {
        let mut draw = Draw(2_000_000 + seed as u64);
        let levels = 1 + draw.below(3);
        let units = random::units(&mut draw, levels, false, 1_000);
        let case = Case::new(&mut draw, units, 12, false);
        let Compiled { frame, .. } = &case.compiled;
        let at = frame.exactly(&case.precisions);
        let known = frame.known(&case.measured);
        let seen: Vec<&Asked> = case.asked.iter().filter(|a| frame.are_seen([&a.variance], &known)).collect();
        if seen.is_empty() {
            continue;
        }
        let variance = &seen[draw.below(seen.len())].variance;
        let value = frame.exact_value(variance, &at).unwrap();
        if is_zero(&value) {
            continue;
        }
        let exact = exact_slopes(frame, variance, &case.precisions);
        let evaluator = Evaluator::new(frame, &case.measured, &known, &case.compiled.asked(false));
        let doubles = case.doubles();
        let point = evaluator.at(&doubles);
        let limit = Limit::new(variance, 1.0);
        let slopes = evaluator.slopes(&limit, &point);
        let mut curvature = Matrix::zeros(doubles.len(), doubles.len());
        evaluator.add_curvature(&[limit], &[1.0], &point, &mut curvature);
        let variables: Vec<usize> = (0..case.measured.len()).filter(|j| case.measured[*j]).collect();
        let total = double(&value[1]);
        for (place, j) in variables.iter().enumerate() {
            let name = format!("tree {seed}, variable {j}");
            let w = &doubles[place];
            worst = worst.max((slopes[place] - double(&exact[*j])).abs() * w / total);
            // A difference quotient: between the slopes at both ends, as variances are convex.
            let mut moved = case.precisions.clone();
            let step = &moved[*j] / BigInt::from(1u64 << 30);
            moved[*j] += &step;
            let near = frame.exactly(&moved);
            let after = frame.exact_value(variance, &near).unwrap();
            let quotient = double(&((&value[1] - &after[1]) / &step));
            assert!((quotient - double(&exact[*j])).abs() * w <= 1e-8 * total, "{name}");
            let slopes_after = exact_slopes(frame, variance, &moved);
            for (other, k) in variables.iter().enumerate() {
                let quotient = double(&((&exact[*k] - &slopes_after[*k]) / &step));
                let difference = (quotient - curvature[(place, other)]).abs() * w * doubles[other];
                curved = curved.max(difference / total);
            }
            compared += 1;
        }
        // Homogeneous of degree −1 (Euler): the slopes make up the variance.
        let euler: BigRational = exact.iter().zip(&case.precisions).map(|(s, w)| s * w).sum();
        assert!(value[0] <= euler && euler <= value[1], "tree {seed}");
        let factor = fraction(draw.magnitude(4.0), 20);
        let scaled: Vec<BigRational> = case.precisions.iter().map(|w| w * &factor).collect();
        let found = frame.exact_value(variance, &frame.exactly(&scaled)).unwrap();
        assert!(value[0] <= &found[1] * &factor && &found[0] * &factor <= value[1], "tree {seed}");
        // Convex: half of the way, not above half of both.
        let other: Vec<BigRational> =
            case.precisions.iter().map(|w| w * fraction(draw.magnitude(3.0), 20)).collect();
        let middle =
            case.precisions.iter().zip(&other).map(|(a, b)| (a + b) / BigInt::from(2)).collect::<Vec<_>>();
        let [there, between] =
            [&other, &middle].map(|w| frame.exact_value(variance, &frame.exactly(w)).unwrap());
        assert!(&between[0] + &between[0] <= &value[1] + &there[1], "tree {seed}");
    }
    println!("{compared} slopes: worst {worst:.1e}, curvature {curved:.1e}");
    assert!(compared > 100 && worst < 1e-10 && curved < 1e-7, "{compared} {worst} {curved}");
}
