//! Group quarters: which kinds there are, how large they are, and who lives in them.

use super::Words;
use super::persons::{Ages, draw_age};

/// A kind of group quarters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facility {
    /// Its place among the values of `relgq`.
    pub(super) relgq: u8,
    /// How frequent it is among those of its size.
    weight: u32,
    /// Men, in 256.
    men: u32,
    ages: Ages,
}

const fn kind(relgq: u8, weight: u32, men: u32, ages: Ages) -> Facility {
    Facility { relgq, weight, men, ages }
}

/// Ages of those who live there, as [`Ages`]. No age is one that the schemas exclude.
const PRISON: Ages = &[(4, 16, 17), (150, 18, 24), (350, 25, 34), (280, 35, 44), (200, 45, 59), (40, 60, 85)];
const JUVENILE: Ages = &[(60, 5, 11), (300, 12, 14), (600, 15, 17), (64, 18, 21)];
const NURSING: Ages =
    &[(20, 25, 49), (120, 50, 64), (180, 65, 74), (304, 75, 84), (330, 85, 94), (66, 95, 99), (4, 100, 109)];
const HOSPITAL: Ages = &[(80, 5, 17), (500, 18, 49), (300, 50, 69), (144, 70, 95)];
const SCHOOL: Ages = &[(200, 4, 11), (600, 12, 18), (224, 19, 25)];
const COLLEGE: Ages = &[(30, 17, 17), (600, 18, 19), (340, 20, 21), (48, 22, 29), (6, 30, 60)];
const MILITARY: Ages = &[(10, 17, 17), (560, 18, 21), (380, 22, 29), (74, 30, 55)];
const SHELTER: Ages = &[(230, 0, 17), (250, 18, 34), (400, 35, 54), (144, 55, 75)];
const ADULTS: Ages = &[(224, 20, 34), (400, 35, 54), (300, 55, 69), (100, 70, 90)];
const WORKERS: Ages = &[(24, 16, 17), (500, 18, 29), (400, 30, 49), (100, 50, 70)];

/// A few people each.
const SMALL: &[Facility] = &[
    kind(22, 8, 220, PRISON),
    kind(24, 10, 160, JUVENILE),
    kind(25, 4, 160, JUVENILE),
    kind(30, 1, 110, NURSING),
    kind(32, 2, 150, SCHOOL),
    kind(36, 25, 150, SHELTER),
    kind(37, 45, 150, ADULTS),
    kind(38, 15, 180, ADULTS),
    kind(40, 6, 190, WORKERS),
    kind(41, 12, 120, ADULTS),
];
/// Dozens.
const MEDIUM: &[Facility] = &[
    kind(18, 1, 235, PRISON),
    kind(21, 10, 225, PRISON),
    kind(22, 3, 220, PRISON),
    kind(23, 1, 240, MILITARY),
    kind(26, 4, 215, JUVENILE),
    kind(27, 70, 80, NURSING),
    kind(28, 3, 150, HOSPITAL),
    kind(29, 2, 130, HOSPITAL),
    kind(31, 1, 215, MILITARY),
    kind(33, 10, 118, COLLEGE),
    kind(36, 5, 150, SHELTER),
    kind(39, 1, 235, WORKERS),
    kind(40, 2, 190, WORKERS),
];
/// Hundreds, and nearly all of the block.
const LARGE: &[Facility] = &[
    kind(18, 1, 235, PRISON),
    kind(19, 5, 238, PRISON),
    kind(20, 24, 238, PRISON),
    kind(21, 8, 225, PRISON),
    kind(33, 50, 118, COLLEGE),
    kind(34, 9, 220, MILITARY),
    kind(35, 2, 220, MILITARY),
];

/// Blocks of so many people at least may have such a facility, and so many in 1,024 have.
const LARGE_BLOCK: (u32, u32) = (300, 140);
const MEDIUM_BLOCK: (u32, u32) = (50, 28);
const SMALL_BLOCK: (u32, u32) = (12, 50);

impl Facility {
    /// The facility of a block with so many people, and how many of them live in it.
    #[inline]
    pub(super) fn of_block(persons: u32, words: &mut Words) -> Option<(Facility, u32)> {
        let word = words.next();
        let has = |(least, chance): (u32, u32), place: u32| {
            persons >= least && ((word >> place) & 1023) < u64::from(chance)
        };
        let (kinds, residents) = if has(LARGE_BLOCK, 0) {
            (LARGE, persons - persons * words.below(4) / 10)
        } else if has(MEDIUM_BLOCK, 10) {
            (MEDIUM, 30 + words.below(130))
        } else if has(SMALL_BLOCK, 20) {
            (SMALL, 3 + words.below(12))
        } else {
            return None;
        };
        let mut place = words.below(kinds.iter().map(|kind| kind.weight).sum());
        let chosen = kinds.iter().find(|kind| {
            let found = place < kind.weight;
            place = place.wrapping_sub(kind.weight);
            found
        });
        Some((*chosen?, residents.min(persons)))
    }

    /// The sex and the age of somebody who lives there.
    #[inline]
    pub(super) fn resident(&self, words: &mut Words) -> (u8, u8) {
        let sex = u8::from(words.below(256) >= self.men);
        (sex, draw_age(self.ages, words))
    }
}

#[cfg(test)]
mod tests {
    use unspent::schema::Schema;

    use super::super::persons::CHANCES;
    use super::*;

    #[test]
    fn every_kind_is_there_with_ages_that_it_may_have() {
        let schema = Schema::shipped("dhc-persons").unwrap();
        let (relgq, age) = (schema.attribute("relgq").unwrap(), schema.attribute("age").unwrap());
        let all = [SMALL, MEDIUM, LARGE].concat();
        for facility in &all {
            assert_eq!(facility.ages.iter().map(|band| band.0).sum::<u32>(), CHANCES, "{facility:?}");
            for rule in schema.impossible().iter().filter(|rule| rule.combination.len() == 2) {
                if rule.combination[&relgq].contains(&u32::from(facility.relgq)) {
                    let excluded = &rule.combination[&age];
                    let allowed = |band: &(u32, u8, u8)| {
                        (band.1..=band.2).all(|age| !excluded.contains(&u32::from(age)))
                    };
                    assert!(facility.ages.iter().all(allowed), "{}", rule.name);
                }
            }
        }
        let kinds: std::collections::BTreeSet<u8> = all.iter().map(|kind| kind.relgq).collect();
        assert_eq!(kinds, (18..=41).collect());
    }
}
