//! Where noise comes from, and a stream of it for every query of a plan.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use unspent::Result;
use unspent::sampler::{Draws, Key, Noise, Sampler};

use crate::plan::{Plan, PlannedLevel, PlannedQuery, QueryNoise};
use crate::progress::Progress;
use crate::tabulation::Batch;

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

    /// A key for confidential data. From now on the process writes no core dumps, and other processes of the
    /// same user cannot look into its memory, where the system can prevent it.
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

fn no_core_dumps() {
    #[cfg(unix)]
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// One stream of noise for every query at every level, and for each budget that units of the level have.
///
/// Draws are taken when a batch is cut, in the order of the units; so they are the same whatever thread makes
/// them.
pub struct Streams(Vec<Vec<Vec<Noise>>>);

impl Streams {
    /// Streams of this key that it never makes again.
    pub fn new(plan: &Plan, key: &Key) -> Result<Streams> {
        let mut samplers = HashMap::new();
        let mut noise = |noise: &QueryNoise| {
            if !samplers.contains_key(&noise.mechanism) {
                samplers.insert(noise.mechanism.clone(), Sampler::drawing(&noise.mechanism)?);
            }
            Ok(key.noise(&samplers[&noise.mechanism]))
        };
        let mut query = |query: &PlannedQuery| query.noises.iter().map(&mut noise).collect();
        let level = |level: &PlannedLevel| level.queries.iter().map(&mut query).collect();
        Ok(Streams(plan.levels().iter().map(level).collect::<Result<_>>()?))
    }

    /// The draws for a batch; to be asked for in the order in which batches are cut.
    pub fn take(&mut self, batch: &Batch) -> Vec<Vec<Draws>> {
        if batch.is_exact() {
            return vec![];
        }
        let streams = &mut self.0[batch.level()];
        let needed = batch.draws_needed(streams.first().map_or(0, Vec::len));
        let query = |(streams, needed): (&mut Vec<Noise>, Vec<u64>)| {
            streams.iter_mut().zip(needed).map(|(noise, count)| noise.take(count)).collect()
        };
        streams.iter_mut().zip(needed).map(query).collect()
    }
}
