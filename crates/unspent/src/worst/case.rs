//! One case: a composition that neighbours can come down to, made as well as it is asked for.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Route;
use crate::allocation::Path;
use crate::calibrate::Target;
use crate::composition::Composition;
use crate::effort::Effort;
use crate::error::Result;
use crate::mechanism::Mechanism;
use crate::number::{Bounds, Rational};
use crate::profile::Half;

/// One composition that neighbours can come down to.
#[derive(Debug)]
pub(crate) struct Case {
    /// One for each product.
    pub(super) routes: Vec<Route>,
    /// What the allocations measure.
    pub(super) groups: Vec<(Mechanism, u64)>,
    /// Other mechanisms for the same record: no calibration changes them.
    pub(super) also: Vec<(Mechanism, u64)>,
    rough_rho: OnceLock<f64>,
    glance: OnceLock<Result<Composition>>,
    /// By smoothing alone, however few kinds there are.
    smooth: OnceLock<Result<Composition>>,
    /// One for each effort.
    pub(super) composed: [OnceLock<Result<Composition>>; 3],
}

impl Case {
    pub fn new(routes: Vec<Route>, groups: Vec<(Mechanism, u64)>) -> Case {
        Case {
            routes,
            groups,
            also: vec![],
            rough_rho: OnceLock::new(),
            glance: OnceLock::new(),
            smooth: OnceLock::new(),
            composed: [const { OnceLock::new() }; 3],
        }
    }

    /// The same beside other mechanisms.
    pub fn beside(self, also: Vec<(Mechanism, u64)>) -> Case {
        Case { also, ..self }
    }

    /// Whether nothing is moved in it.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.also.is_empty()
    }

    /// Everything, what is measured first.
    fn all(&self) -> impl Iterator<Item = &(Mechanism, u64)> {
        self.groups.iter().chain(&self.also)
    }

    /// Its budget, exactly, if all of it has one.
    pub fn rho(&self) -> Result<Rational> {
        let rho = |(mechanism, count): &(Mechanism, u64)| {
            mechanism.zcdp(*count).ok_or_else(|| mechanism.refuses("rho of zCDP"))
        };
        Ok(Rational::sum(&self.all().map(rho).collect::<Result<Vec<_>>>()?))
    }

    /// Its budget to six digits, so that equal ones are equal: it only says where to look first.
    pub(super) fn rough_rho(&self) -> f64 {
        let term =
            |(noise, count): &(Mechanism, u64)| noise.zcdp(*count).map_or(0.0, |rho| 2.0 * rho.to_f64());
        *self.rough_rho.get_or_init(|| (1e6 * self.all().map(term).sum::<f64>()).round())
    }

    pub(super) fn made(&self, effort: Effort) -> Result<Composition> {
        Composition::with_effort(self.all().cloned(), effort)
    }

    /// In fast mode, to be compared with others.
    pub(super) fn glance(&self) -> Result<&Composition> {
        // Few kinds have a sparse law, which smoothing is slow with, and a lattice that is soon sieved.
        const FEW: usize = 6;
        if self.groups.len() >= FEW {
            return self.smooth();
        }
        self.glance.get_or_init(|| self.made(Effort::Fast)).as_ref().map_err(Clone::clone)
    }

    fn smooth(&self) -> Result<&Composition> {
        let make = || Composition::at_a_glance(self.all().cloned());
        self.smooth.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    pub(super) fn composed(&self, effort: Effort) -> Result<&Composition> {
        self.composed[effort as usize].get_or_init(|| self.made(effort)).as_ref().map_err(Clone::clone)
    }

    /// Whether it meets the target by so much that a rough bound proves it.
    pub(super) fn plainly_meets(&self, target: &Target) -> Result<bool> {
        let is_gaussian = self.all().all(|(noise, _)| noise.is_gaussian());
        Ok(is_gaussian && self.smooth()?.plainly_meets(target))
    }

    /// ε in fast mode; `None` if the case certainly meets the target.
    pub(super) fn quick_epsilon(&self, target: &Target) -> Result<Option<Bounds<f64>>> {
        if self.plainly_meets(target)? || self.glance()?.meets(target)? {
            return Ok(None);
        }
        let near = target.epsilon.value().to_f64();
        Ok(Some(self.glance()?.epsilon_near(&target.delta, Some(near))))
    }

    /// Half of it at the target's ε, if it is two equal halves; what it is made of.
    pub(super) fn half(&self, target: &Target) -> Result<Option<(Half, HashMap<&Mechanism, u64>)>> {
        let counts: HashMap<&Mechanism, u64> = self.groups.iter().map(|(noise, n)| (noise, *n)).collect();
        let is_even = self.also.is_empty() && counts.values().all(|n| n % 2 == 0);
        if !is_even {
            return Ok(None);
        }
        Ok(self.smooth()?.half(target).map(|half| (half, counts)))
    }

    /// Whether it is one half of each of two others, or less.
    pub(super) fn is_within(&self, one: &HashMap<&Mechanism, u64>, other: &HashMap<&Mechanism, u64>) -> bool {
        let is_there = |(noise, n): &(Mechanism, u64)| {
            let count = |of: &HashMap<&Mechanism, u64>| u128::from(of.get(noise).copied().unwrap_or(0));
            2 * u128::from(*n) <= count(one) + count(other)
        };
        self.also.is_empty() && self.groups.iter().all(is_there)
    }

    /// Its two paths, if there is one product.
    pub(super) fn paths(&self) -> Option<(&Path, &Path)> {
        match self.routes.as_slice() {
            [Route { from, to }] => Some((from, to)),
            _ => None,
        }
    }
}
