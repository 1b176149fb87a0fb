//! Whole flows round a network, within bounds, nearest to what is wanted on some arcs.
//!
//! First a flow within the bounds is looked for, in integers: none exists if and only if some set of nodes
//! must take in more than it may let out (Hoffman's theorem), and that set is the answer. The nearest flow is
//! then found by successive shortest paths, first for large steps, then for ever smaller ones down to 1. All
//! amounts are integers; costs, in floating point, only choose among flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Distance;

/// No upper bound.
pub const UNBOUNDED: i64 = i64::MAX;
/// More than any flow; bounds beyond it are none. Sums over a million arcs do not overflow.
const MOST: i64 = 1 << 42;
const NOBODY: u32 = u32::MAX;
/// Costs of arcs that rounding lets fall below zero by this much are zero.
const TOLERANCE: f64 = 1e-9;

/// An arc: its flow is within the bounds, and (flow − wanted)² is its cost.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// The node where it starts.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// The least flow.
    pub lower: i64,
    /// The largest flow.
    pub upper: i64,
    /// The flow that costs nothing: a finite number. If there is none, every flow costs nothing.
    pub wanted: Option<f64>,
}

/// Why there is no flow: the arcs into a set of nodes bring at least `needed`, the arcs out of it take at
/// most `possible`, which is less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// Whether a node is in the set.
    pub inside: Vec<bool>,
    /// The lower bounds of all arcs into the set.
    pub needed: i64,
    /// The upper bounds of all arcs out of it.
    pub possible: i64,
}

/// A directed graph. What flows into a node flows out of it.
#[derive(Clone, Debug, Default)]
pub struct Network {
    nodes: usize,
    arcs: Vec<Arc>,
}

impl Network {
    /// A new node: its number.
    pub fn node(&mut self) -> usize {
        self.nodes += 1;
        self.nodes - 1
    }

    /// A new arc: its number.
    ///
    /// # Panics
    ///
    /// If a node does not exist, or if the lower bound is above the upper one.
    pub fn arc(&mut self, mut arc: Arc) -> usize {
        assert!(arc.from < self.nodes && arc.to < self.nodes, "a node does not exist");
        assert!(arc.lower <= arc.upper, "the bounds {} and {} contradict", arc.lower, arc.upper);
        arc.wanted = arc.wanted.map(|wanted| wanted.clamp(-(MOST as f64), MOST as f64));
        self.arcs.push(arc);
        self.arcs.len() - 1
    }

    /// All arcs.
    #[must_use]
    pub fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// The flow of each arc, nearest to what is wanted.
    ///
    /// # Errors
    ///
    /// If no flow is within the bounds.
    pub fn nearest(&self) -> Result<Vec<i64>, Narrow> {
        // As far as possible at no cost; the rest by shortest paths, once some way is known to exist.
        let mut start = Residual::new(self);
        if start.route(true).is_err() {
            start.clone().route(false)?;
        }
        Ok(start.cheapest())
    }

    /// Whether any flow is within the bounds.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn check(&self) -> Result<(), Narrow> {
        Residual::new(self).route(false)
    }
}

/// Flows that need not balance at the nodes yet, and what may still be changed.
#[derive(Clone)]
struct Residual<'a> {
    network: &'a Network,
    flow: Vec<i64>,
    /// What flows into a node beyond what flows out.
    excess: Vec<i64>,
    /// The arcs at each node, `links[starts[node]..starts[node + 1]]`: number, and whether it starts there.
    starts: Vec<u32>,
    links: Vec<(u32, bool)>,
}

impl<'a> Residual<'a> {
    /// Every arc has the flow that is best for itself.
    fn new(network: &'a Network) -> Residual<'a> {
        let mut excess = vec![0; network.nodes];
        let mut starts = vec![0u32; network.nodes + 1];
        let mut flow = Vec::with_capacity(network.arcs.len());
        for arc in &network.arcs {
            let best = arc.wanted.map_or(0, |wanted| wanted.round() as i64);
            let best = best.clamp(arc.lower.clamp(-MOST, MOST), arc.upper.clamp(-MOST, MOST));
            excess[arc.from] -= best;
            excess[arc.to] += best;
            starts[arc.from + 1] += 1;
            starts[arc.to + 1] += 1;
            flow.push(best);
        }
        for node in 0..network.nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut links = vec![(0, false); 2 * network.arcs.len()];
        for (number, arc) in network.arcs.iter().enumerate() {
            for (node, leaves) in [(arc.from, true), (arc.to, false)] {
                links[next[node] as usize] = (number as u32, leaves);
                next[node] += 1;
            }
        }
        Residual { network, flow, excess, starts, links }
    }

    fn links(&self, node: usize) -> &[(u32, bool)] {
        &self.links[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// How much more may go along an arc, or back.
    fn room(&self, (arc, forward): (u32, bool)) -> i64 {
        let (flow, arc) = (self.flow[arc as usize], &self.network.arcs[arc as usize]);
        if forward { arc.upper.min(MOST) - flow } else { flow - arc.lower.max(-MOST) }
    }

    fn end(&self, (arc, forward): (u32, bool)) -> usize {
        let arc = &self.network.arcs[arc as usize];
        if forward { arc.to } else { arc.from }
    }

    fn push(&mut self, link: (u32, bool), amount: i64) {
        self.flow[link.0 as usize] += if link.1 { amount } else { -amount };
        let (from, to) = (self.end((link.0, !link.1)), self.end(link));
        self.excess[from] -= amount;
        self.excess[to] += amount;
    }

    /// Balances all nodes whatever it costs, or only on arcs that have no cost, by Dinic's algorithm.
    fn route(&mut self, at_no_cost: bool) -> Result<(), Narrow> {
        let arcs = &self.network.arcs;
        let open = |link: (u32, bool)| !at_no_cost || arcs[link.0 as usize].wanted.is_none();
        let nodes = self.network.nodes;
        loop {
            let sources: Vec<usize> = (0..nodes).filter(|node| self.excess[*node] > 0).collect();
            if sources.is_empty() {
                return Ok(());
            }
            let mut level = vec![NOBODY; nodes];
            sources.iter().for_each(|node| level[*node] = 0);
            let mut queue = sources.clone();
            let mut lacking = false;
            let mut at = 0;
            while at < queue.len() {
                let node = queue[at];
                at += 1;
                lacking |= self.excess[node] < 0;
                for link in self.links(node) {
                    let end = self.end(*link);
                    if level[end] == NOBODY && open(*link) && self.room(*link) > 0 {
                        level[end] = level[node] + 1;
                        queue.push(end);
                    }
                }
            }
            if !lacking {
                return Err(self.narrow(level.iter().map(|level| *level != NOBODY).collect()));
            }
            let mut next: Vec<u32> = self.starts[..nodes].to_vec();
            for source in sources {
                self.push_from(source, open, &level, &mut next);
            }
        }
    }

    /// Sends what a node has too much to nodes that have too little, from level to level.
    fn push_from(
        &mut self,
        source: usize,
        open: impl Fn((u32, bool)) -> bool,
        level: &[u32],
        next: &mut [u32],
    ) {
        let mut path: Vec<(u32, bool)> = vec![];
        let mut node = source;
        while self.excess[source] > 0 {
            if self.excess[node] < 0 && node != source {
                let room = path.iter().map(|link| self.room(*link)).min().unwrap_or(0);
                let amount = room.min(self.excess[source]).min(-self.excess[node]);
                path.iter().for_each(|link| self.push(*link, amount));
                path.clear();
                node = source;
                continue;
            }
            let place = next[node];
            if place < self.starts[node + 1] {
                let link = self.links[place as usize];
                let end = self.end(link);
                if level[end] == level[node] + 1 && open(link) && self.room(link) > 0 {
                    path.push(link);
                    node = end;
                } else {
                    next[node] += 1;
                }
                continue;
            }
            let Some(link) = path.pop() else { return };
            node = self.end((link.0, !link.1));
            next[node] += 1;
        }
    }

    fn narrow(&self, inside: Vec<bool>) -> Narrow {
        let (mut needed, mut possible) = (0i64, 0i64);
        for arc in &self.network.arcs {
            match (inside[arc.from], inside[arc.to]) {
                (false, true) => needed = needed.saturating_add(arc.lower),
                (true, false) => possible = possible.saturating_add(arc.upper),
                _ => {}
            }
        }
        Narrow { inside, needed, possible }
    }

    /// Balances all nodes at the smallest cost. A flow within the bounds is known to exist.
    fn cheapest(mut self) -> Vec<i64> {
        let largest = self.excess.iter().map(|x| x.abs()).max().unwrap_or(0);
        let mut potential = vec![0.0; self.network.nodes];
        let mut step = 1i64 << (63 - largest.max(1).leading_zeros());
        while step > 0 {
            self.repair(step, &potential);
            while self.move_steps(step, &mut potential) {}
            step /= 2;
        }
        debug_assert!(self.excess.iter().all(|x| *x == 0), "a flow exists");
        self.flow
    }

    /// What a unit costs when a step goes along an arc, or back, with the potentials of its ends.
    fn cost(&self, link: (u32, bool), step: i64, potential: &[f64]) -> f64 {
        let (flow, arc) = (self.flow[link.0 as usize], &self.network.arcs[link.0 as usize]);
        let rising = potential[arc.from] - potential[arc.to];
        let slope = arc.wanted.map(|wanted| 2.0 * (flow as f64 - wanted));
        let own = slope.map_or(0.0, |slope| step as f64 + if link.1 { slope } else { -slope });
        own + if link.1 { rising } else { -rising }
    }

    /// Makes steps of this size while they pay, on each arc alone: a step that did not pay may when halved.
    fn repair(&mut self, step: i64, potential: &[f64]) {
        for arc in 0..self.flow.len() as u32 {
            for link in [(arc, true), (arc, false)] {
                while self.room(link) >= step && self.cost(link, step, potential) < -TOLERANCE {
                    self.push(link, step);
                }
            }
        }
    }

    /// Moves steps along shortest paths from nodes with too much to nodes with too little. False if none can.
    fn move_steps(&mut self, step: i64, potential: &mut [f64]) -> bool {
        let lacking = self.excess.iter().filter(|x| **x <= -step).count();
        if lacking == 0 {
            return false;
        }
        let (reached, before) = self.search(step, lacking.div_ceil(2), potential);
        let mut used = vec![false; self.flow.len()];
        let mut moved = false;
        for end in reached {
            let mut path = vec![];
            let mut source = end;
            while before[source] != (NOBODY, false) {
                let link = before[source];
                path.push(link);
                source = self.end((link.0, !link.1));
            }
            // What has a cost is used once: the second step costs more.
            let costs = |link: &(u32, bool)| self.network.arcs[link.0 as usize].wanted.is_some();
            let free = path.iter().all(|link| !used[link.0 as usize] && self.room(*link) >= step);
            if !free || self.excess[source] < step {
                continue;
            }
            let room = path.iter().map(|link| if costs(link) { step } else { self.room(*link) }).min();
            let amount = room.unwrap_or(step).min(self.excess[source]).min(-self.excess[end]);
            for link in path {
                used[link.0 as usize] = self.network.arcs[link.0 as usize].wanted.is_some();
                self.push(link, amount);
            }
            moved = true;
        }
        moved
    }

    /// Dijkstra's algorithm from all nodes with too much, until so many nodes with too little are reached:
    /// those, nearest first, and the last arc to each node.
    fn search(&self, step: i64, goal: usize, potential: &mut [f64]) -> (Vec<usize>, Vec<(u32, bool)>) {
        let nodes = self.network.nodes;
        let mut distance = vec![f64::INFINITY; nodes];
        let mut before = vec![(NOBODY, false); nodes];
        let mut settled = vec![false; nodes];
        let mut heap = BinaryHeap::new();
        for node in (0..nodes).filter(|node| self.excess[*node] >= step) {
            distance[node] = 0.0;
            heap.push(Reverse((Distance(0.0), node as u32)));
        }
        let mut reached = vec![];
        let mut last = 0.0;
        while let Some(Reverse((Distance(here), node))) = heap.pop() {
            let node = node as usize;
            if settled[node] {
                continue;
            }
            settled[node] = true;
            last = here;
            if self.excess[node] <= -step {
                reached.push(node);
                if reached.len() == goal {
                    break;
                }
            }
            for link in self.links(node) {
                let end = self.end(*link);
                if settled[end] || self.room(*link) < step {
                    continue;
                }
                let length = here + self.cost(*link, step, potential).max(0.0);
                if length < distance[end] {
                    distance[end] = length;
                    before[end] = *link;
                    heap.push(Reverse((Distance(length), end as u32)));
                }
            }
        }
        for node in (0..nodes).filter(|node| settled[*node]) {
            potential[node] += distance[node] - last;
        }
        (reached, before)
    }
}
