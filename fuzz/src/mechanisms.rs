//! What `unspent account` takes: mechanisms as arguments or as a file, and where to look.

use unspent::mechanism::Entry;
use unspent::question::{AccountQuestion, Question};
use unspent::{Delta, Direction, Epsilon, Terms};

use crate::text::found;

/// Lines: `--mechanism`, `--epsilon` or `--delta` and a value; or a file of mechanisms.
///
/// What is understood is written, read again and, if it is small, asked.
pub(crate) fn account(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    if !text.starts_with("--") {
        return found(Entry::read_file(text)).is_some();
    }
    let (mut mechanisms, mut epsilons, mut deltas) = (vec![], vec![], vec![]);
    for line in text.lines() {
        let Some((flag, value)) = line.split_once(' ') else { continue };
        match flag {
            "--mechanism" => {
                let Some(entry) = found(Entry::parse(value)) else { return false };
                match entry {
                    Entry::Known(described) => mechanisms.push(described),
                    Entry::Open(_) => continue,
                }
            }
            "--epsilon" => epsilons.extend(found(Epsilon::parse(value))),
            "--delta" => deltas.extend(found(Delta::parse(value))),
            _ => {}
        }
    }
    for described in &mechanisms {
        let text = described.to_string();
        let again = Entry::parse(&text).and_then(Entry::described);
        assert_eq!(again.as_ref(), Ok(described), "{text}");
        let json = serde_json::to_string(described).unwrap();
        assert_eq!(&serde_json::from_str::<unspent::mechanism::Described>(&json).unwrap(), described);
    }
    // Samples take milliseconds, and many kinds of them long.
    if mechanisms.is_empty() || mechanisms.len() > 3 || epsilons.len() + deltas.len() > 4 {
        return !mechanisms.is_empty();
    }
    let question = AccountQuestion {
        mechanisms,
        direction: Direction::Both,
        epsilons,
        deltas,
        rates: vec![],
        tolerance: None,
        tails: false,
    };
    found(Question::Account(question).ask(&Terms::fast())).is_some()
}
