//! Whole tables beside an interior-point solver, and those of a very large parent.
//!
//! ```text
//! cargo bench -p unspent-bench-tables -- peer NOISY PARENTS
//! cargo bench -p unspent-bench-tables -- large NOISY
//! ```
//!
//! `peer` samples parents of a folder of noisy measurements with a fixed seed, and solves the problem of
//! their children twice: with ours, and with clarabel from the same problem as dense matrices. It fails if a
//! value of a table differs by more than 0.01. `large` times the projection and the rounding of the largest
//! family.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use unspent::Result;
use unspent_data::estimate::LookAtFamily;
use unspent_data::{Estimate, Quiet, WholeTables};
use unspent_estimate::tables::{Family, Rows, nearest_whole};

mod peer;

/// Values that the children's tables have together. Clarabel's time grows with the cube of a table's size.
const SIZES: std::ops::RangeInclusive<usize> = 20..=700;
/// How far a value may be from clarabel's.
const APART: f64 = 0.01;
/// Up to here clarabel's values are its tolerance.
const ZERO: f64 = 1e-6;
const SEED: u64 = 18;

fn main() -> ExitCode {
    // `cargo bench` adds a word of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["peer", noisy, parents] => match parents.parse() {
            Ok(parents) => beside_peer(Path::new(noisy), parents),
            Err(_) => usage(),
        },
        ["large", noisy] => largest(Path::new(noisy)).map(|()| true),
        _ => usage(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> Result<bool> {
    println!("usage: cargo bench -p unspent-bench-tables -- peer NOISY PARENTS | large NOISY");
    Ok(true)
}

/// Looks at all families of a folder of noisy measurements.
fn each_family(noisy: &Path, look: &LookAtFamily<'_>) -> Result<()> {
    let asked = Estimate { tables: Some(WholeTables::default()), ..Estimate::new(noisy) };
    asked.estimates(&mut Quiet)?.tables_of(look, &mut Quiet).map(|_| ())
}

fn values(family: &Family<'_>) -> usize {
    family.children.len() * family.support.size()
}

/// What was found at a parent.
struct Compared {
    code: String,
    values: usize,
    totals_first: bool,
    /// By how much each value of a table differs that is not 0 in both.
    apart: Vec<f64>,
    /// What cells cost that the parent does not have, whatever the tables are: a share of the cost.
    fixed_cost: f64,
    /// How much more ours costs, and the gap that ours states, as shares of the cost.
    costs_more: f64,
    gap: f64,
    /// Seconds: ours with the rounding, clarabel's without.
    ours: f64,
    theirs: f64,
    solved: bool,
}

impl Compared {
    fn most_apart(&self) -> f64 {
        self.apart.iter().copied().fold(0.0, f64::max)
    }
}

fn beside_peer(noisy: &Path, parents: usize) -> Result<bool> {
    let codes = Mutex::new(vec![]);
    each_family(noisy, &|code, family| {
        if family.children.len() > 1 && SIZES.contains(&values(family)) {
            codes.lock().expect("not poisoned").push(code.to_owned());
        }
    })?;
    let mut codes = codes.into_inner().expect("not poisoned");
    let all = codes.len();
    codes.sort_unstable();
    let mut sample = sampled(codes, parents);
    sample.sort_unstable();

    // One at a time, so that both are timed in the same way.
    let found = Mutex::new(vec![]);
    each_family(noisy, &|code, family| {
        let chosen = sample.binary_search_by(|known| known.as_str().cmp(code)).is_ok();
        if chosen && family.children.len() > 1 && SIZES.contains(&values(family)) {
            let mut found = found.lock().expect("not poisoned");
            found.push(compare(code, family));
        }
    })?;
    let mut found = found.into_inner().expect("not poisoned");
    found.sort_by(|a, b| a.code.cmp(&b.code));
    Ok(report(&found, all))
}

/// A few of them, by a generator with a fixed seed (SplitMix64).
fn sampled(mut codes: Vec<String>, count: usize) -> Vec<String> {
    let mut state = SEED;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let count = count.min(codes.len());
    for at in 0..count {
        let other = at + (next() % (codes.len() - at) as u64) as usize;
        codes.swap(at, other);
    }
    codes.truncate(count);
    codes
}

fn compare(code: &str, family: &Family<'_>) -> Compared {
    let start = Instant::now();
    family.solve(false).expect("there are no bounds");
    let ours = start.elapsed().as_secs_f64();
    let (dense, tables, quality) = family.projected(false).expect("there are no bounds");
    let start = Instant::now();
    let (peer, solved) = peer::solve(&dense);
    let theirs = start.elapsed().as_secs_f64();
    let best = peer::cost(&dense, &peer);
    let costs_more = (peer::cost(&dense, &tables) - best) / best.abs().max(1e-3);
    Compared {
        code: code.into(),
        values: tables.len(),
        totals_first: dense.totals.is_some(),
        apart: tables
            .iter()
            .zip(&peer)
            .filter(|(x, y)| x.max(**y) > ZERO)
            .map(|(x, y)| (x - y).abs())
            .collect(),
        fixed_cost: dense.cost / best,
        costs_more,
        gap: quality.relative_gap(),
        ours,
        theirs,
        solved,
    }
}

fn report(found: &[Compared], all: usize) -> bool {
    let worst = |of: fn(&Compared) -> f64| found.iter().map(of).fold(0.0, f64::max);
    let of_all = |of: fn(&Compared) -> f64| median(found.iter().map(of).collect());
    let totals_first = found.iter().filter(|one| one.totals_first).count();
    let (smallest, largest) = (SIZES.start(), SIZES.end());
    println!("{} parents of {all} with {smallest} to {largest} values", found.len());
    println!(
        "  values: {:.0} (median); totals decided first: {totals_first}",
        of_all(|one| one.values as f64)
    );
    let apart: Vec<f64> = found.iter().flat_map(|one| one.apart.iter().copied()).collect();
    let most = worst(Compared::most_apart);
    let mark = if most <= APART { "ok" } else { "MISSED" };
    println!("  a value differs by {most:.1e} at most (bar {APART}: {mark}), {:.1e} (median)", median(apart));
    let least = found.iter().map(|one| one.costs_more).fold(f64::INFINITY, f64::min);
    println!("  ours costs {least:.1e} to {:.1e} of the cost more", worst(|one| one.costs_more));
    println!("  our largest gap: {:.1e} of the cost", worst(|one| one.gap));
    let fixed = of_all(|one| one.fixed_cost);
    println!("  cells that the parent does not have cost {fixed:.2} of it (median), whatever the tables are");
    let milliseconds = |of: fn(&Compared) -> f64| 1e3 * of_all(of);
    let (ours, theirs) = (milliseconds(|one| one.ours), milliseconds(|one| one.theirs));
    println!(
        "  a parent takes {ours:.2} ms, rounding included; clarabel without it {theirs:.2} ms (medians)"
    );
    let in_all = |of: fn(&Compared) -> f64| found.iter().map(of).sum::<f64>();
    println!("  all take {:.2} s; clarabel {:.2} s", in_all(|one| one.ours), in_all(|one| one.theirs));
    let unsolved: Vec<&str> = found.iter().filter(|one| !one.solved).map(|one| one.code.as_str()).collect();
    if !unsolved.is_empty() {
        println!("  clarabel did not reach its tolerance at {}", unsolved.join(", "));
    }
    let mut missed: Vec<&Compared> = found.iter().filter(|one| one.most_apart() > APART).collect();
    missed.sort_by(|a, b| b.most_apart().total_cmp(&a.most_apart()));
    if !missed.is_empty() {
        println!("  {} parents beyond the bar, the worst ones:", missed.len());
    }
    for one in missed.iter().take(5) {
        let Compared { code, costs_more, gap, fixed_cost, .. } = one;
        let most = one.most_apart();
        println!(
            "    {code}: {most:.1e}, costs {costs_more:.1e} more, gap {gap:.1e}, {fixed_cost:.2} of it fixed"
        );
    }
    !found.is_empty() && most <= APART
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The parts of the family with the most values.
fn largest(noisy: &Path) -> Result<()> {
    let done = Mutex::new(0);
    each_family(noisy, &|code, family| {
        let mut done = done.lock().expect("not poisoned");
        if values(family) > *done {
            *done = values(family);
            time_parts(code, family);
        }
    })
}

fn time_parts(code: &str, family: &Family<'_>) {
    let start = Instant::now();
    let (dense, tables, quality) = family.projected(true).expect("there are no bounds");
    let projection = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let group_of = vec![0; dense.counts.len()];
    let rows = dense.totals.as_ref().map(|sums| Rows { group_of: &group_of, sums });
    let whole = nearest_whole(dense.children, &tables, &dense.counts, rows).expect("sums of one total");
    let rounding = start.elapsed().as_secs_f64();
    let people: i64 = whole.iter().sum();
    println!("parent {code:?}: {} children × {} cells, {people} people", dense.children, dense.counts.len());
    println!("  totals decided first: {}", dense.totals.is_some());
    println!(
        "  projection {projection:.1} s ({} steps, gap {:.1e}), rounding {rounding:.1} s",
        quality.steps,
        quality.relative_gap()
    );
}
