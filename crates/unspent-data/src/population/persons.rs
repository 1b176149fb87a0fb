//! The people of a block, one by one, with all that the shipped schemas of persons ask for.
//!
//! ```text
//! Block ─▶ group quarters, in few blocks ─▶ Person: relationship or kind of group quarters, sex, age,
//!      └─▶ households, of one race each  ─▶         Hispanic origin, race
//!                                           └▶ values in the schema of P.L. 94-171, or of the DHC
//! ```
//!
//! A block has as many people of each kind as [`Block::counts`] says: nobody is added. Both schemas describe
//! the same people. No one has a combination of values that a schema excludes.

use unspent::schema::{Attribute, Schema};
use unspent::{Error, Result};

use super::facilities::Facility;
use super::races::Category;
use super::{Block, ENDS, PERSONS, Words};

/// A person. The numbers are places of values in the schema `dhc-persons`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    /// Relationship to the householder, or kind of group quarters.
    pub relgq: u8,
    /// 0 for men and 1 for women.
    pub sex: u8,
    /// In years.
    pub age: u8,
    /// 1 for those who are Hispanic or Latino.
    pub hispanic: u8,
    /// Which of the 63 combinations of races.
    pub cenrace: u8,
}

impl Person {
    /// Whether they are under 18.
    #[must_use]
    pub fn is_minor(&self) -> bool {
        self.age < 18
    }

    /// The kind of group quarters, as the schema `pl94-persons` has it; 0 for those in a household.
    #[must_use]
    pub fn hhgq(&self) -> u8 {
        match self.relgq {
            0..=17 => 0,
            18..=23 => 1,
            24..=26 => 2,
            27 => 3,
            28..=32 => 4,
            33 => 5,
            34 | 35 => 6,
            _ => 7,
        }
    }
}

/// Most attributes of a schema of persons.
pub const MOST_ATTRIBUTES: usize = 5;

/// A shipped schema that people can be described in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonSchema {
    /// `pl94-persons`.
    Pl94,
    /// `dhc-persons`.
    Dhc,
}

impl PersonSchema {
    /// What they are asked for by, and the schema that each is.
    pub const NAMES: [(&'static str, PersonSchema); 3] = [
        ("pl94", PersonSchema::Pl94),
        ("pl94-persons", PersonSchema::Pl94),
        ("dhc-persons", PersonSchema::Dhc),
    ];

    /// The one of that name; messages say where the name was given.
    pub fn find(place: &str, name: &str) -> Result<PersonSchema> {
        let found = PersonSchema::NAMES.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, schema)| schema).ok_or_else(|| {
            let names = PersonSchema::NAMES.map(|(name, _)| name);
            let hint = "a schema of housing units has no people; other schemas cannot be made up";
            Error::input(place, name, format!("one of {}", names.join(", ")), hint)
        })
    }

    /// What the shipped schema is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PersonSchema::Pl94 => "pl94-persons",
            PersonSchema::Dhc => "dhc-persons",
        }
    }

    /// What is known of a person.
    #[must_use]
    pub fn attributes(self) -> Vec<Attribute> {
        Schema::shipped(self.name()).expect("tested").attributes().to_vec()
    }

    /// The levels, and how many characters of a block's code name a unit of each.
    #[must_use]
    pub fn levels(self) -> Vec<(&'static str, usize)> {
        match self {
            PersonSchema::Pl94 => {
                let names = ["US", "State", "County", "Tract", "Block_Group", "Block"];
                names.into_iter().zip([0, 2, 5, 11, 12, 15]).collect()
            }
            PersonSchema::Dhc => {
                let below = ["Prim", "Tract_Subset_Group", "Tract_Subset", "Block_Group", "Block"];
                ["US", "State", "County"].into_iter().chain(below).zip(ENDS).collect()
            }
        }
    }

    /// The places of a person's values, in the order of the attributes; zeros after them.
    #[must_use]
    #[inline]
    pub fn values(self, person: &Person) -> [u8; MOST_ATTRIBUTES] {
        let Person { relgq, sex, age, hispanic, cenrace } = *person;
        match self {
            PersonSchema::Pl94 => [person.hhgq(), u8::from(!person.is_minor()), hispanic, cenrace, 0],
            PersonSchema::Dhc => [relgq, sex, age, hispanic, cenrace],
        }
    }
}

/// A law of ages: how many in [`CHANCES`] are of which ages, from the first to the last, all alike.
pub(super) type Ages = &'static [(u32, u8, u8)];
pub(super) const CHANCES: u32 = 1024;

/// An age.
#[inline]
pub(super) fn draw_age(ages: Ages, words: &mut Words) -> u8 {
    let mut place = words.below(CHANCES);
    for (chances, first, last) in ages {
        if place < *chances {
            return first + words.below(u32::from(last - first) + 1) as u8;
        }
        place -= chances;
    }
    unreachable!("the chances add up")
}

/// Householders who live alone, in a couple without others, with children, and with housemates.
const ALONE: Ages = &[
    (6, 18, 21),
    (100, 22, 29),
    (110, 30, 39),
    (130, 40, 49),
    (190, 50, 59),
    (190, 60, 69),
    (177, 70, 79),
    (110, 80, 89),
    (10, 90, 99),
    (1, 100, 110),
];
const COUPLE: Ages =
    &[(10, 18, 21), (130, 22, 29), (110, 30, 39), (114, 40, 49), (250, 50, 59), (230, 60, 69), (180, 70, 88)];
const PARENT: Ages = &[(20, 19, 24), (90, 25, 30), (220, 31, 38), (380, 39, 48), (234, 49, 58), (80, 59, 80)];
const MATES: Ages = &[(100, 18, 20), (500, 21, 29), (274, 30, 44), (150, 45, 70)];

/// Places of values of `relgq`.
mod relgq {
    pub const ALONE: u8 = 0;
    pub const WITH_OTHERS: u8 = 1;
    pub const SPOUSE: u8 = 2;
    pub const PARTNER: u8 = 3;
    /// What is added to a spouse or a partner of the householder's own sex.
    pub const SAME_SEX: u8 = 2;
    pub const CHILD: u8 = 6;
    pub const ADOPTED: u8 = 7;
    pub const STEPCHILD: u8 = 8;
    pub const SIBLING: u8 = 9;
    pub const PARENT: u8 = 10;
    pub const GRANDCHILD: u8 = 11;
    pub const PARENT_IN_LAW: u8 = 12;
    pub const CHILD_IN_LAW: u8 = 13;
    pub const RELATIVE: u8 = 14;
    pub const HOUSEMATE: u8 = 15;
    pub const FOSTER_CHILD: u8 = 16;
    pub const NOT_RELATED: u8 = 17;
}

/// Those who are neither householder nor spouse nor partner, in [`CHANCES`]. All others are children.
const OTHERS: [(u32, u8); 10] = [
    (24, relgq::ADOPTED),
    (50, relgq::STEPCHILD),
    (22, relgq::SIBLING),
    (26, relgq::PARENT),
    (60, relgq::GRANDCHILD),
    (8, relgq::PARENT_IN_LAW),
    (12, relgq::CHILD_IN_LAW),
    (30, relgq::RELATIVE),
    (4, relgq::FOSTER_CHILD),
    (24, relgq::NOT_RELATED),
];

/// Makes up the people of blocks. The same seed and the same blocks make the same people on every machine.
#[derive(Clone, Debug)]
pub struct Persons {
    words: Words,
}

impl Persons {
    /// For the blocks of a population with that seed.
    #[must_use]
    pub fn new(seed: u64) -> Persons {
        // Other words than those that the blocks were made with.
        Persons { words: Words(Words(seed ^ 0x7065_7273_6f6e_7321).next()) }
    }

    /// The people of the next block, household by household, and then those of group quarters.
    pub fn of_block(&mut self, block: &Block, people: &mut Vec<Person>) {
        people.clear();
        let persons: u32 = block.counts.iter().sum();
        if persons == 0 {
            return;
        }
        let mut left = block.counts;
        let mut residents = vec![];
        if let Some((facility, number)) = Facility::of_block(persons, &mut self.words) {
            for taken in 0..number {
                let category = self.take(&mut left, persons - taken);
                let (sex, age) = facility.resident(&mut self.words);
                let (hispanic, cenrace) = (category.hispanic(), category.race(&mut self.words));
                residents.push(Person { relgq: facility.relgq, sex, age, hispanic, cenrace });
            }
        }
        for (category, mut persons) in Category::all().zip(left) {
            while persons > 0 {
                let size = u32::from(PERSONS[self.words.below(64) as usize]).min(persons);
                self.household(category, size, people);
                persons -= size;
            }
        }
        people.append(&mut residents);
    }

    /// Takes any one of those who are left.
    fn take<const N: usize>(&mut self, left: &mut [u32; N], all: u32) -> Category {
        let mut place = self.words.below(all);
        for (category, count) in left.iter_mut().enumerate() {
            if place < *count {
                *count -= 1;
                return Category(category);
            }
            place -= *count;
        }
        unreachable!("somebody is left")
    }

    /// A household of so many people.
    #[inline]
    fn household(&mut self, category: Category, size: u32, people: &mut Vec<Person>) {
        let words = &mut self.words;
        let hispanic = category.hispanic();
        let common = category.race(words);
        let mut add = |words: &mut Words, (relgq, sex, age): (u8, u8, u8)| {
            // One in eight is of another combination of races, if there are several.
            let cenrace = if words.below(8) == 0 { category.race(words) } else { common };
            people.push(Person { relgq, sex, age, hispanic, cenrace });
        };
        let sex = words.below(2) as u8;
        if size == 1 {
            let age = draw_age(ALONE, words);
            return add(words, (relgq::ALONE, sex, age));
        }
        // In 256: of two people more are a couple without others, of more people more have children.
        let (married, partners, mates) = if size == 2 { (148, 180, 206) } else { (172, 192, 206) };
        let kind = words.below(256);
        let couple = kind < partners;
        let with_housemates = (partners..mates).contains(&kind);
        let ages = match (couple, with_housemates) {
            (true, _) if size == 2 => COUPLE,
            (_, true) => MATES,
            _ => PARENT,
        };
        let age = draw_age(ages, words);
        add(words, (relgq::WITH_OTHERS, sex, age));
        let mut others = size - 1;
        if couple {
            others -= 1;
            let near = (age + words.below(9) as u8).saturating_sub(4).max(18);
            let relation = if kind < married { relgq::SPOUSE } else { relgq::PARTNER };
            let same_sex = words.below(64) == 0;
            let (relation, of_sex) =
                if same_sex { (relation + relgq::SAME_SEX, sex) } else { (relation, 1 - sex) };
            add(words, (relation, of_sex, near));
        }
        for _ in 0..others {
            let relation = if with_housemates { relgq::HOUSEMATE } else { other(words) };
            let member = (relation, words.below(2) as u8, age_of(relation, age, words));
            add(words, member);
        }
    }
}

/// Somebody who lives with a householder.
#[inline]
fn other(words: &mut Words) -> u8 {
    let mut place = words.below(CHANCES);
    for (chances, relation) in OTHERS {
        if place < chances {
            return relation;
        }
        place -= chances;
    }
    relgq::CHILD
}

/// An age that fits the householder's, which is at least 18.
#[inline]
fn age_of(relation: u8, householder: u8, words: &mut Words) -> u8 {
    let mut below = |n: u8| words.below(u32::from(n)) as u8;
    match relation {
        relgq::SIBLING => (householder + below(17)).saturating_sub(8),
        relgq::PARENT | relgq::PARENT_IN_LAW => (householder + 18 + below(18)).min(102),
        relgq::GRANDCHILD => below(householder.saturating_sub(34).clamp(4, 26)),
        relgq::CHILD_IN_LAW => 18 + below(26),
        relgq::RELATIVE => below(76),
        relgq::HOUSEMATE => 18 + below(38),
        relgq::FOSTER_CHILD => below(19),
        relgq::NOT_RELATED => 4 + below(62),
        _ => below((householder - 17).min(36)),
    }
}

#[cfg(test)]
mod tests;
