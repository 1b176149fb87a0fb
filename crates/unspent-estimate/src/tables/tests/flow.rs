use super::{Random, every};
use crate::tables::{Arc, Network};

/// What the flow costs; none if a node does not balance or a bound is not met.
fn cost(network: &Network, nodes: usize, flow: &[i64]) -> Option<f64> {
    let mut excess = vec![0; nodes];
    let mut cost = 0.0;
    for (arc, flow) in network.arcs().iter().zip(flow) {
        if !(arc.lower..=arc.upper).contains(flow) {
            return None;
        }
        excess[arc.from] -= flow;
        excess[arc.to] += flow;
        cost += arc.wanted.map_or(0.0, |wanted| (*flow as f64 - wanted).powi(2));
    }
    excess.iter().all(|x| *x == 0).then_some(cost)
}

#[test]
fn no_other_flow_is_nearer_and_none_is_missed() {
    let mut rng = Random::new(3);
    let mut found = [0, 0];
    for case in 0..1_000 {
        let (nodes, arcs) = (2 + rng.below(4), 1 + rng.below(6));
        let mut network = Network::default();
        (0..nodes).for_each(|_| _ = network.node());
        for _ in 0..arcs {
            let lower = rng.count(2);
            let upper = lower + rng.count(4 - lower);
            let wanted = (rng.below(3) > 0).then(|| rng.between(-2.0, 12.0));
            network.arc(Arc { from: rng.below(nodes), to: rng.below(nodes), lower, upper, wanted });
        }
        let best = every(arcs, 4).filter_map(|flow| cost(&network, nodes, &flow)).min_by(f64::total_cmp);
        match (network.nearest(), best) {
            (Ok(flow), Some(best)) => {
                let cost = cost(&network, nodes, &flow).expect("within the bounds");
                assert!((cost - best).abs() < 1e-9, "case {case}: {cost} instead of {best}");
                found[0] += 1;
            }
            (Err(narrow), None) => {
                let into = |arc: &&Arc| !narrow.inside[arc.from] && narrow.inside[arc.to];
                let out = |arc: &&Arc| narrow.inside[arc.from] && !narrow.inside[arc.to];
                let needed: i64 = network.arcs().iter().filter(into).map(|arc| arc.lower).sum();
                let possible: i64 = network.arcs().iter().filter(out).map(|arc| arc.upper).sum();
                assert_eq!((narrow.needed, narrow.possible), (needed, possible));
                assert!(needed > possible, "case {case}: {narrow:?}");
                found[1] += 1;
            }
            (flow, best) => panic!("case {case}: {flow:?}, but the best costs {best:?}"),
        }
    }
    assert!(found[0] > 200 && found[1] > 200, "{found:?}");
}

/// Far from what is wanted, large steps come first: the shares of a large total on many arcs.
#[test]
fn a_large_total_is_shared_evenly() {
    let mut network = Network::default();
    let (from, to) = (network.node(), network.node());
    let count = 1_000;
    let total = 3_000_000_007;
    for _ in 0..count {
        network.arc(Arc { from, to, lower: 0, upper: i64::MAX, wanted: Some(0.0) });
    }
    network.arc(Arc { from: to, to: from, lower: total, upper: total, wanted: None });
    let flow = network.nearest().unwrap();
    assert_eq!(flow[..count].iter().sum::<i64>(), total);
    assert!(flow[..count].iter().all(|x| [3_000_000, 3_000_001].contains(x)));
}
