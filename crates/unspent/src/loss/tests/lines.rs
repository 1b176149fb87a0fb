//! Transforms along a line beside sums over the law, and how fast they are said to fall beside how fast they
//! do.

use super::super::*;
use crate::mechanism::Described;
use crate::number::float::PI;
use crate::number::quadrature;

/// Masses under the law without the record, and the losses of removing it, if all records are in the sample.
fn of_base(mechanism: &Mechanism) -> Vec<(f64, f64)> {
    if let Mechanism::Laplace(noise) = mechanism {
        let tau = noise.largest_loss().to_f64();
        let panels = (4.0 * tau).ceil();
        let half = tau / panels;
        let mut all = vec![(0.5, -tau), (0.5 * float::exp(-tau), tau)];
        for panel in 0..panels as usize {
            let centre = -tau + half * (2.0 * panel as f64 + 1.0);
            all.extend(quadrature::nodes().map(|(t, weight)| {
                let l = centre + half * t;
                (0.25 * half * weight * float::exp(-0.5 * (l + tau)), l)
            }));
        }
        return all;
    }
    let sigma2 = mechanism.sigma2().unwrap().to_f64();
    let shift = mechanism.shift().unwrap().to_f64();
    let is_discrete = matches!(mechanism, Mechanism::DiscreteGaussian(_));
    let step = if is_discrete { 1.0 } else { sigma2.sqrt() / 16.0 };
    let reach = ((13.0 * sigma2.sqrt() + 12.0 * shift) / step).ceil() as i64;
    let weight = |x: f64| float::exp(-x * x / (2.0 * sigma2));
    let total: f64 = (-reach..=reach).map(|j| weight(j as f64 * step)).sum();
    let at = |j: i64| {
        let x = j as f64 * step;
        (weight(x) / total, (2.0 * x - shift) * shift / (2.0 * sigma2))
    };
    (-reach..=reach).map(at).collect()
}

/// The same in either direction, of a sample.
fn of_sample(mechanism: &Mechanism, way: Way) -> Vec<(f64, f64)> {
    let (base, q) = match mechanism {
        Mechanism::Subsampled(sampled) => (sampled.base().clone().into(), sampled.q().to_f64()),
        other => (other.clone(), 1.0),
    };
    let changed = |(mass, l): (f64, f64)| {
        let y = 1.0 - q + q * float::exp(l);
        match way {
            Way::Remove => (mass, float::ln(y)),
            Way::Add => (mass * y, -float::ln(y)),
        }
    };
    of_base(&base).into_iter().map(changed).collect()
}

/// `Σ p·e^{it(l − m)}` over a total.
fn sum(tilted: &[(f64, f64)], total: f64, t: f64, m: f64) -> (f64, f64) {
    let (mut re, mut im) = (0.0, 0.0);
    for (mass, l) in tilted {
        let (sin, cos) = float::sin_cos((t * (l - m)) % (2.0 * PI));
        re += mass / total * cos;
        im += mass / total * sin;
    }
    (re, im)
}

/// Whether a value is known, which then is near enough; of others the modulus is not larger.
fn near(what: &str, there: &Remainder, (re, im): (f64, f64)) -> bool {
    let (e, size) = (float::exp(there.value.re), re.hypot(im));
    if there.modulus_only {
        assert!(size <= e * float::exp(there.error) + 1e-10, "{what}: {size:e} {there:?}");
        return false;
    }
    let (sin, cos) = float::sin_cos(there.value.im);
    let off = (e * cos - re).hypot(e * sin - im);
    assert!(off <= 1.5 * there.error * size + 1e-10, "{what}: {off:e} {there:?}");
    true
}

#[test]
fn transforms_along_a_line_are_those_of_the_law_and_fall_as_is_said() {
    let (mut values, mut falls) = (0, 0.0);
    for name in [
        "gaussian:sigma2=4,shift=3",
        "discrete_gaussian:sigma2=3,shift=2",
        "discrete_gaussian:sigma2=1/3",
        "laplace:b=1/3",
        "laplace:b=4",
        "subsampled_gaussian:sigma2=1,q=1/10",
        "subsampled_gaussian:sigma2=9,q=1/2",
        "subsampled_gaussian:sigma2=1/16,q=1/10",
        "subsampled_laplace:b=1,q=1/10",
        "subsampled_laplace:b=1/4,q=1/3",
    ] {
        let mechanism = Described::parse(name).unwrap().mechanism;
        for (way, c) in [
            (Way::Remove, 0.4),
            (Way::Remove, 1.7),
            (Way::Remove, 5.0),
            (Way::Add, 0.4),
            (Way::Add, 1.7),
            (Way::Add, 5.0),
        ] {
            let (law, list) = (of(&mechanism, 1.0, way).unwrap().unwrap(), of_sample(&mechanism, way));
            let what = format!("{name} {way:?} {c}");
            // Together, since the one may be 0 and the other no double.
            let weigh = |(mass, l): &(f64, f64)| (float::exp(float::ln(*mass) + c * l), *l);
            let tilted: Vec<(f64, f64)> = list.iter().filter(|(mass, _)| *mass > 0.0).map(weigh).collect();
            let total: f64 = tilted.iter().map(|(mass, _)| mass).sum();
            let found = law.tilt(c);
            let off = (found.log.to_f64() - float::ln(total)).abs();
            assert!(off <= found.error + 1e-11, "{what}: {off:e}");
            let h = 0.13;
            let mut line = law.line(c, Dd::from(h));
            line.prepare(80);
            let m = line.centre().to_f64();
            if let Some(found) = line.atomic_mass() {
                let truth = (tilted[0].0 + tilted[1].0) / total;
                assert!((truth..truth * (1.0 + 1e-8)).contains(&(found * (1.0 + 1e-12))), "{what}: {found}");
            }
            let mut fall = vec![];
            for k in 0..=80u64 {
                let (t, there) = (h * k as f64, line.at(k));
                let (re, im) = sum(&tilted, total, t, m);
                let size = re.hypot(im);
                // Atoms and the rest by themselves, where there are both: the atoms come first.
                if let Some([atomic, rest]) = line.parts(k) {
                    let cut = [0..2, 2..tilted.len()].map(|part| sum(&tilted[part], total, t, m));
                    for (there, (re, im)) in [atomic, rest].iter().zip(cut) {
                        near(&what, there, (re, im));
                    }
                }
                fall.push(-float::ln(size.max(1e-9)));
                values += usize::from(near(&what, &there, (re, im)));
            }
            let decay = |from: usize, to: f64| line.decay(h * from as f64, to);
            for from in 1..fall.len() {
                for to in [from, from + 2, from + 9] {
                    let Some(least) = fall.get(from..=to).map(|f| f.iter().copied().fold(f64::MAX, f64::min))
                    else {
                        continue;
                    };
                    let said = decay(from, h * to as f64);
                    assert!(
                        (0.0..=least + 1e-8).contains(&said) || least > 14.0,
                        "{what} {from} {to}: {said} {least}"
                    );
                    falls += said;
                }
                let rest = fall[from..].iter().copied().fold(f64::MAX, f64::min);
                let said = decay(from, f64::INFINITY);
                assert!(said <= rest + 1e-8 || rest > 14.0, "{what} from {from}: {said} {rest}");
            }
        }
    }
    // Most of it is known, and something is said.
    assert!(values > 3000 && falls > 1000.0, "{values} {falls}");
}
