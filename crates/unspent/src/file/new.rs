//! A new allocation file from a few answers, with comments that say what each line means.

use std::fmt::Write;

use super::write::{key, list, quoted};
use crate::allocation::{Allocation, Neighbours};
use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Rho};

/// What a new allocation file is to say. Every level gets the same share of the budget, and every query the
/// same share of its level: a start, to be edited.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What the release is called.
    pub name: String,
    /// What one record is.
    pub record: String,
    /// What neighbouring data sets differ in.
    pub neighbours: Neighbours,
    /// Geographic levels, from the largest areas to the smallest.
    pub levels: Vec<String>,
    /// The queries, each with the attributes it touches.
    pub queries: Vec<(String, Vec<String>)>,
    /// The budget.
    pub budget: OutlineBudget,
}

/// The budget of a new allocation.
#[derive(Clone, Debug)]
pub enum OutlineBudget {
    /// The largest ρ that keeps this ε at this δ.
    Epsilon(Epsilon, Delta),
    /// This ρ; ε is quoted at δ.
    Rho(Rho, Option<Delta>),
}

impl Outline {
    /// The text of the file, which was read back: it is an allocation.
    pub fn to_file(&self) -> Result<String> {
        if self.levels.is_empty() {
            let hint = "name at least one, like Country or County";
            return Err(Error::stated("levels: there is none", hint));
        }
        if self.queries.is_empty() {
            let hint = "ask at least one query, like `total`";
            return Err(Error::stated("queries: there is none", hint));
        }
        let text = self.text();
        Allocation::parse("the new file", &text)?;
        Ok(text)
    }

    fn text(&self) -> String {
        let mut attributes: Vec<String> = vec![];
        for attribute in self.queries.iter().flat_map(|(_, touched)| touched) {
            if !attributes.contains(attribute) {
                attributes.push(attribute.clone());
            }
        }
        let mut text = String::from(
            "# An allocation: how a privacy budget is divided among levels and queries.\n\
             # `unspent certificate FILE` says what it guarantees; edit it and look again.\n\
             # Numbers are exact: \"1/3\" is a third, and 0.15 is 15/100.\n\n",
        );
        let neighbours = match self.neighbours {
            Neighbours::Bounded => "bounded (substitution): one record changes; or \"add-remove\"",
            Neighbours::AddRemove => "one record is added or removed; or \"bounded\": one record changes",
        };
        let mut line = |entry: String, comment: &str| {
            let _ = writeln!(text, "{entry:<33} # {comment}");
        };
        line(format!("name = {}", quoted(&self.name)), "what the release is called");
        line(format!("record = {}", quoted(&self.record)), "what one record is");
        line(format!("neighbours = \"{}\"", self.neighbours), neighbours);
        match &self.budget {
            OutlineBudget::Epsilon(epsilon, delta) => {
                line(format!("delta = \"{delta}\""), "of the (epsilon, delta) guarantee");
                line(format!("epsilon = \"{epsilon}\""), "the promise: rho is the largest that keeps it");
            }
            OutlineBudget::Rho(rho, delta) => {
                line(format!("rho = \"{rho}\""), "the budget, for rho-zCDP");
                if let Some(delta) = delta {
                    line(format!("delta = \"{delta}\""), "the delta at which epsilon is quoted");
                }
            }
        }
        if !attributes.is_empty() {
            line(format!("attributes = {}", list(&attributes)), "what is known of a record");
        }
        text += "\n# What is asked, and the attributes that each query touches: those whose change can move \
         a\n\
                 # record to another of its cells. A query without attributes is a total.\n[queries]\n";
        for (name, touched) in &self.queries {
            let _ = writeln!(text, "{} = {}", key(name), list(touched));
        }
        text += "\n# The levels, from the largest areas to the smallest, each inside the one before. Shares \
         of\n\
                 # the budget sum to 1, and so do the shares of the queries at every level.\n";
        let (level_share, query_share) = (part(self.levels.len()), part(self.queries.len()));
        for level in &self.levels {
            let _ = write!(text, "[[levels]]\nname = {}\nshare = \"{level_share}\"\n", quoted(level));
            text += "[levels.shares]\n";
            for (name, _) in &self.queries {
                let _ = writeln!(text, "{} = \"{query_share}\"", key(name));
            }
            text.push('\n');
        }
        text + "# To measure a table of counts, add a [table] that says how it is read; \
         examples/blocks.toml\n\
                # has one with comments. Laplace noise, and mechanisms that are released beside this, are\n\
                # in examples/survey.toml.\n"
    }
}

/// An equal share of so many.
fn part(count: usize) -> String {
    if count == 1 { "1".into() } else { format!("1/{count}") }
}

#[cfg(test)]
mod tests {
    use super::{Outline, OutlineBudget};
    use crate::question::{Ask, CertificateQuestion};
    use crate::{Allocation, Neighbours, Scope};

    fn outline() -> Outline {
        Outline {
            name: "A \"new\" release".into(),
            record: "person".into(),
            neighbours: Neighbours::AddRemove,
            levels: ["Country", "County", "Tract"].map(String::from).to_vec(),
            queries: vec![("total".into(), vec![]), ("age by sex".into(), vec!["age".into(), "sex".into()])],
            budget: OutlineBudget::Epsilon("2".parse().unwrap(), "1e-10".parse().unwrap()),
        }
    }

    #[test]
    fn a_new_file_is_an_allocation_that_keeps_its_promise() {
        let allocation = Allocation::parse("new.toml", &outline().to_file().unwrap()).unwrap();
        assert_eq!((allocation.levels().len(), allocation.measurements().count()), (3, 6));
        assert_eq!(allocation.attributes(), ["age", "sex"]);
        let certificate = CertificateQuestion::about([allocation]).answer().unwrap();
        assert_eq!(certificate.kept, Some(true));
        let total = certificate.line(&Scope::Total).unwrap();
        assert!(
            total.tight.upper() <= "2".parse().unwrap() && total.tight.lower() > "1.999".parse().unwrap()
        );
        let text = outline().to_file().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn what_makes_no_file_is_refused() {
        let refused = |change: &dyn Fn(&mut Outline)| {
            let mut outline = outline();
            change(&mut outline);
            outline.to_file().unwrap_err().to_string()
        };
        assert!(refused(&|o| o.levels.clear()).starts_with("levels: there is none"));
        assert!(refused(&|o| o.queries.clear()).starts_with("queries: there is none"));
        assert!(refused(&|o| o.levels[1] = "Country".into()).contains("`Country` is already the name"));
        assert!(refused(&|o| o.queries[1].1[1] = "Age".into()).contains("differ in capitals only"));
        assert!(refused(&|o| o.name = " ".into()).contains("name: ` ` is not a text of one line"));
    }
}
