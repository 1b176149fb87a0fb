//! Where noise comes from, and the noise of every query of a plan.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use unspent::Result;
use unspent::sampler::{AddressedNoise, Key, ReleaseKey, Sampler};

use crate::plan::{Plan, PlannedLevel, PlannedQuery, QueryNoise};
use crate::progress::Progress;

/// Where noise comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseSource {
    /// A key of the operating system that is used once and forgotten.
    #[default]
    Private,
    /// A seed, so that anyone can repeat the noise and take it off again: for tests and demonstrations.
    NotPrivate(u64),
}

impl NoiseSource {
    /// What must be said wherever its noise goes, if it is not private.
    #[must_use]
    pub fn warning(self) -> Option<String> {
        match self {
            NoiseSource::Private => None,
            NoiseSource::NotPrivate(seed) => Some(Key::not_private_warning(seed)),
        }
    }

    /// A seed for a simulation on confidential data: that one, or one that nobody has chosen or will see.
    pub fn seed(self, progress: &mut dyn Progress) -> u64 {
        no_core_dumps();
        match self {
            NoiseSource::Private => RandomState::new().build_hasher().finish(),
            NoiseSource::NotPrivate(seed) => {
                progress.warning(&Key::not_private_warning(seed));
                seed
            }
        }
    }

    /// A key for a release of confidential data, with which all its noise is made. From now on the process
    /// writes no core dumps, and other processes of the same user cannot look into its memory, where the
    /// system can prevent it.
    pub fn release_key(self, progress: &mut dyn Progress) -> Result<ReleaseKey> {
        no_core_dumps();
        match self {
            NoiseSource::Private => ReleaseKey::from_os(),
            NoiseSource::NotPrivate(seed) => {
                progress.warning(&Key::not_private_warning(seed));
                Ok(ReleaseKey::not_private(seed))
            }
        }
    }

    /// The same for simulations, whose draws are used one after the other.
    pub fn key(self, progress: &mut dyn Progress) -> Result<Key> {
        no_core_dumps();
        match self {
            NoiseSource::Private => Key::from_os(),
            NoiseSource::NotPrivate(seed) => {
                progress.warning(&Key::not_private_warning(seed));
                Ok(Key::not_private(seed))
            }
        }
    }
}

/// From now on the process writes no core dumps, and other processes of the same user cannot look into its
/// memory, where the system can prevent it.
pub fn no_core_dumps() {
    #[cfg(unix)]
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// The noise of every query at every level, for each budget that units of the level have.
///
/// Noise is made by [address](ReleaseKey): level, query, law, unit and cell. So it is the same in whatever
/// order batches come, and wherever they are cut.
pub struct Noises(Vec<Vec<Vec<AddressedNoise>>>);

impl Noises {
    /// The noise of a plan under a key.
    pub fn new(plan: &Plan, key: &ReleaseKey) -> Result<Noises> {
        Noises::of(plan, key, |_| true)
    }

    /// The same of those levels of which `is_needed` says so.
    pub fn of(plan: &Plan, key: &ReleaseKey, is_needed: impl Fn(&PlannedLevel) -> bool) -> Result<Noises> {
        let mut samplers = HashMap::new();
        let mut noise = |level: &PlannedLevel, query: &PlannedQuery, noise: &QueryNoise| {
            if !samplers.contains_key(&noise.mechanism) {
                samplers.insert(noise.mechanism.clone(), Sampler::drawing(&noise.mechanism)?);
            }
            Ok(key.noise(&level.name, &query.name, &samplers[&noise.mechanism]))
        };
        let mut query = |level: &PlannedLevel, query: &PlannedQuery| {
            query.noises.iter().map(|of| noise(level, query, of)).collect::<Result<_>>()
        };
        let mut level = |level: &PlannedLevel| match is_needed(level) {
            true => level.queries.iter().map(|q| query(level, q)).collect::<Result<_>>(),
            false => Ok(vec![]),
        };
        Ok(Noises(plan.levels().iter().map(&mut level).collect::<Result<_>>()?))
    }

    /// For each query of a level of the plan, the noise of each budget.
    pub(crate) fn at(&self, level: usize) -> &[Vec<AddressedNoise>] {
        &self.0[level]
    }
}
