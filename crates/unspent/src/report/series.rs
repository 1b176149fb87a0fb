//! What belongs together: products about the same people, published one by one.

use serde::Serialize;

use crate::release::Release;

/// A product of a series.
struct Member {
    series: &'static str,
    name: &'static str,
    /// What one record is, and what is known of its budget.
    about: &'static str,
}

// The 2020 Census, from the production configurations of each system. Puerto Rico is a series of its own:
// nobody is in both.
const UNITED_STATES: &str = "2020 Census, United States";
const PUERTO_RICO: &str = "2020 Census, Puerto Rico";

const MEMBERS: &[Member] = &[
    Member { series: UNITED_STATES, name: "P.L. 94-171 redistricting data, persons", about: "person" },
    Member {
        series: UNITED_STATES,
        name: "P.L. 94-171 redistricting data, housing units",
        about: "housing unit",
    },
    Member {
        series: UNITED_STATES,
        name: "Demographic and Housing Characteristics, persons",
        about: "person",
    },
    Member {
        series: UNITED_STATES,
        name: "Demographic and Housing Characteristics, housing units",
        about: "housing unit",
    },
    Member {
        series: UNITED_STATES,
        name: "Detailed DHC-A",
        about: "person; add-remove; two adaptive stages; rho = 4.944",
    },
    Member { series: UNITED_STATES, name: "Detailed DHC-B", about: "household; rho = 8.895302" },
    Member {
        series: UNITED_STATES,
        name: "Supplemental DHC",
        about: "person and two unit records; rho = 1.257281",
    },
    Member { series: PUERTO_RICO, name: "P.L. 94-171 redistricting data, persons", about: "person" },
    Member {
        series: PUERTO_RICO,
        name: "P.L. 94-171 redistricting data, housing units",
        about: "housing unit",
    },
    Member { series: PUERTO_RICO, name: "Demographic and Housing Characteristics, persons", about: "person" },
    Member {
        series: PUERTO_RICO,
        name: "Demographic and Housing Characteristics, housing units",
        about: "housing unit",
    },
    Member {
        series: PUERTO_RICO,
        name: "Detailed DHC-A",
        about: "person; add-remove; two adaptive stages; rho = 2.643",
    },
    Member { series: PUERTO_RICO, name: "Detailed DHC-B", about: "household; rho = 4.754134" },
    Member {
        series: PUERTO_RICO,
        name: "Supplemental DHC",
        about: "person and two unit records; rho = 1.226649",
    },
];

/// A product of a series that is not counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What it belongs to.
    pub series: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What one record is, and what is known of its budget.
    pub about: &'static str,
}

impl Missing {
    /// The products of the series of a release's products that are not among them.
    #[must_use]
    pub fn of(release: &Release) -> Vec<Missing> {
        let series =
            |name: &str| release.allocations().iter().any(|a| a.production().series.as_deref() == Some(name));
        let counted = |member: &Member| {
            release.allocations().iter().any(|a| {
                let same = a.production().series.as_deref() == Some(member.series);
                same && a.name().starts_with(member.name)
            })
        };
        let missing = MEMBERS.iter().filter(|member| series(member.series) && !counted(member));
        missing.map(|m| Missing { series: m.series, name: m.name, about: m.about }).collect()
    }
}
