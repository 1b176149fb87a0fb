//! From the text of a sum to its predicate.

use unspent::schema::{Part, Schema};
use unspent::{Error, Result, did_you_mean};

use super::Predicate;
use crate::allocation::size;

/// How deep predicates may be inside each other.
const MAX_DEPTH: usize = 64;
/// How many values a message lists.
const SHOWN: usize = 12;
const KEYWORDS: [&str; 4] = ["and", "or", "not", "contains"];
/// Longer ones first.
const SYMBOLS: [&str; 6] = ["!=", "..", "=", "|", "(", ")"];
const CONDITION: &str = "a condition like votingage = \"18 or older\"";

/// A result whose errors come with their column.
type Read<T> = std::result::Result<T, (usize, Error)>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
    Keyword(&'static str),
    Symbol(&'static str),
    End,
}

impl Token {
    fn written(&self) -> &str {
        match self {
            Token::Word(text) | Token::Quoted(text) => text,
            Token::Keyword(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }
}

/// The name of a sum, the text after its colon, and the column where that begins.
pub(super) fn split_name(text: &str) -> Read<(String, &str, usize)> {
    let start = text.len() - text.trim_start().len();
    let first = text[start..].chars().next();
    let column = |at: usize| text[..at].chars().count() + 1;
    let (name, after) = match first {
        Some(quote @ ('"' | '\'')) => {
            let Some(end) = text[start + 1..].find(quote) else { return Err(open_quote(column(start))) };
            (&text[start + 1..start + 1 + end], start + end + 2)
        }
        _ => {
            let end = text.find(':').unwrap_or(text.len());
            (&text[..end], end)
        }
    };
    let rest = text[after..].trim_start();
    let Some(rest) = rest.strip_prefix(':') else {
        let hint = "write a name, a colon and a predicate: adults in prison: hhgq = 1 and votingage = 2";
        return Err((column(after), Error::input("sum", text, "NAME: predicate", hint)));
    };
    let name = name.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        let hint = "every sum has a name, before the colon";
        return Err((column(start), Error::input("name", name, "a text without control characters", hint)));
    }
    Ok((name.into(), rest, column(text.len() - rest.len())))
}

fn open_quote(column: usize) -> (usize, Error) {
    (column, Error::stated("a quote is not closed", "quotes are \"…\" or '…', and end in the same line"))
}

/// The text in tokens, each with its column.
fn tokens(text: &str, first_column: usize) -> Read<Vec<(usize, Token)>> {
    let mut found = vec![];
    let (mut rest, mut column) = (text, first_column);
    loop {
        column += rest.chars().take_while(|c| c.is_whitespace()).count();
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            found.push((column, Token::End));
            return Ok(found);
        };
        let (token, length) = if let '"' | '\'' = first {
            let Some(end) = rest[1..].find(first) else { return Err(open_quote(column)) };
            (Token::Quoted(rest[1..=end].into()), end + 2)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let ends = |at: usize, c: char| {
                at > 0 && (c.is_whitespace() || SYMBOLS.iter().any(|symbol| rest[at..].starts_with(symbol)))
            };
            let end = rest.char_indices().find(|(at, c)| ends(*at, *c)).map_or(rest.len(), |(at, _)| at);
            let word = &rest[..end];
            let keyword = KEYWORDS.into_iter().find(|keyword| keyword.eq_ignore_ascii_case(word));
            (keyword.map_or_else(|| Token::Word(word.into()), Token::Keyword), end)
        };
        found.push((column, token));
        column += rest[..length].chars().count();
        rest = &rest[length..];
    }
}

/// Reads a predicate by recursive descent.
pub(super) struct Parser<'s> {
    schema: &'s Schema,
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

impl<'s> Parser<'s> {
    pub(super) fn new(text: &str, first_column: usize, schema: &'s Schema) -> Read<Parser<'s>> {
        Ok(Parser { schema, tokens: tokens(text, first_column)?, at: 0, depth: 0 })
    }

    /// The whole text.
    pub(super) fn read(mut self) -> Read<Predicate> {
        let predicate = self.any()?;
        match self.next() {
            Token::End => Ok(predicate),
            _ => Err(self.unexpected("`and`, `or` or the end")),
        }
    }

    fn next(&self) -> &Token {
        &self.tokens[self.at].1
    }

    fn column(&self) -> usize {
        self.tokens[self.at].0
    }

    /// Goes on if the next token is this one.
    fn take(&mut self, token: &Token) -> bool {
        let found = self.next() == token;
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, allowed: &str) -> (usize, Error) {
        let hint = "quote values that have symbols in them, or the words and, or, not, contains";
        let error = match self.next() {
            Token::End => Error::stated(format!("the predicate ends where {allowed} is expected"), hint),
            token => Error::input("predicate", token.written(), allowed, hint),
        };
        (self.column(), error)
    }

    fn any(&mut self) -> Read<Predicate> {
        self.list(&Token::Keyword("or"), Parser::all, Predicate::Any)
    }

    fn all(&mut self) -> Read<Predicate> {
        self.list(&Token::Keyword("and"), Parser::one, Predicate::All)
    }

    fn list(
        &mut self,
        between: &Token,
        one: fn(&mut Self) -> Read<Predicate>,
        join: fn(Vec<Predicate>) -> Predicate,
    ) -> Read<Predicate> {
        let first = one(self)?;
        let mut found = vec![first];
        while self.take(between) {
            found.push(one(self)?);
        }
        Ok(if found.len() == 1 { found.remove(0) } else { join(found) })
    }

    fn one(&mut self) -> Read<Predicate> {
        let column = self.column();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let cause = format!("there are more than {MAX_DEPTH} predicates inside each other");
            return Err((column, Error::stated(cause, "write it with fewer parentheses")));
        }
        let found = if self.take(&Token::Keyword("not")) {
            Predicate::Not(Box::new(self.one()?))
        } else if self.take(&Token::Symbol("(")) {
            let inside = self.any()?;
            if !self.take(&Token::Symbol(")")) {
                return Err(self.unexpected("`and`, `or` or `)`"));
            }
            inside
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn condition(&mut self) -> Read<Predicate> {
        let (column, name) = self.phrase(CONDITION)?;
        let part = self.schema.resolve(&[&name]).map_err(|error| (column, error))?[0];
        let subject = Subject::new(self.schema, part, &name);
        let chosen = if self.take(&Token::Keyword("contains")) {
            let (column, text) = self.phrase("a text to look for")?;
            subject.containing(&text).map_err(|error| (column, error))?
        } else if self.take(&Token::Symbol("=")) {
            self.values(&subject)?
        } else if self.take(&Token::Symbol("!=")) {
            self.values(&subject)?.into_iter().map(|chosen| !chosen).collect()
        } else {
            return Err(self.unexpected("`=`, `!=` or `contains`"));
        };
        Ok(subject.condition(&chosen))
    }

    /// Which values are listed.
    fn values(&mut self, subject: &Subject<'_>) -> Read<Vec<bool>> {
        let mut chosen = vec![false; subject.labels.len()];
        loop {
            let (column, first) = self.value(subject)?;
            let mut last = first;
            if self.take(&Token::Symbol("..")) {
                last = self.value(subject)?.1;
            }
            if first > last {
                let (from, to) = (subject.labels[first], subject.labels[last]);
                let cause = format!("`{}`: `{to}` comes before `{from}`", subject.name);
                let hint = "a range is in the order of the schema, from the first to the last";
                return Err((column, Error::stated(cause, hint)));
            }
            chosen[first..=last].fill(true);
            if !self.take(&Token::Symbol("|")) {
                return Ok(chosen);
            }
        }
    }

    fn value(&mut self, subject: &Subject<'_>) -> Read<(usize, usize)> {
        let (column, text) = self.phrase("a value")?;
        Ok((column, subject.find(&text).map_err(|error| (column, error))?))
    }

    /// What is quoted, or words up to a keyword or symbol.
    fn phrase(&mut self, allowed: &str) -> Read<(usize, String)> {
        let column = self.column();
        if let Token::Quoted(text) = self.next() {
            let text = text.clone();
            self.at += 1;
            return Ok((column, text));
        }
        let mut words: Vec<String> = vec![];
        while let Token::Word(word) = self.next() {
            words.push(word.clone());
            self.at += 1;
        }
        if words.is_empty() { Err(self.unexpected(allowed)) } else { Ok((column, words.join(" "))) }
    }
}

/// An attribute or recode, and what its values or groups are called.
struct Subject<'s> {
    name: String,
    part: Part<'s>,
    labels: Vec<&'s str>,
    codes: &'s [String],
    /// The label of each value of the attribute.
    label_of: Vec<Option<u32>>,
}

impl<'s> Subject<'s> {
    fn new(schema: &'s Schema, part: Part<'s>, name: &str) -> Subject<'s> {
        let attribute = &schema.attributes()[part.attribute];
        let (labels, codes) = match part.recode {
            Some(recode) => (recode.groups.iter().map(|group| group.label.as_str()).collect(), &[][..]),
            None => (attribute.values.iter().map(String::as_str).collect(), &attribute.codes[..]),
        };
        let mut label_of = part.cell_of(attribute);
        label_of.resize(size(attribute), None);
        Subject { name: name.into(), part, labels, codes, label_of }
    }

    fn condition(&self, chosen: &[bool]) -> Predicate {
        let counted = |label: &Option<u32>| label.is_some_and(|label| chosen[label as usize]);
        let counted = self.label_of.iter().map(counted).collect();
        Predicate::Condition { attribute: self.part.attribute, counted }
    }

    /// The value that is written so, as tables are read: by its code, or in words.
    fn find(&self, text: &str) -> Result<usize> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let codes = || self.codes.iter().map(String::as_str);
        // Numbers may have lost their leading zeros. Labels of groups are words, also if they are numbers.
        let listed: Vec<&str> = if self.codes.is_empty() { self.labels.clone() } else { codes().collect() };
        let numbers = self.part.recode.is_none() && is_number(text) && listed.iter().all(|c| is_number(c));
        let is_meant = |at: usize| {
            self.labels[at] == text
                || listed[at] == text
                || numbers && listed[at].trim_start_matches('0') == text.trim_start_matches('0')
        };
        let mut found = (0..self.labels.len()).filter(|at| is_meant(*at));
        match (found.next(), found.next()) {
            (Some(value), None) => Ok(value),
            (Some(first), Some(second)) => Err(Error::stated(
                format!(
                    "`{}`: `{text}` may be `{}` or `{}`",
                    self.name, self.labels[first], self.labels[second]
                ),
                "write the value in words, or by a code that no other value has",
            )),
            (None, _) => {
                let hint = "values with symbols, or with the words and, or, not, contains, are quoted";
                Err(self.unknown(text, hint))
            }
        }
    }

    fn unknown(&self, text: &str, otherwise: &str) -> Error {
        let shown = self.labels.iter().zip(0..).take(SHOWN).map(|(label, at)| match self.codes.get(at) {
            Some(code) => format!("{code} (\"{label}\")"),
            None => format!("\"{label}\""),
        });
        let more = if self.labels.len() > SHOWN { ", …" } else { "" };
        let allowed = format!("one of {}{more}", shown.collect::<Vec<_>>().join(", "));
        Error::input(&self.name, text, allowed, did_you_mean(text, self.labels.clone(), otherwise))
    }

    /// The values that have a text in them, as whole words.
    fn containing(&self, text: &str) -> Result<Vec<bool>> {
        let wanted = text.trim().to_lowercase();
        let chosen: Vec<bool> =
            self.labels.iter().map(|label| has_words(&label.to_lowercase(), &wanted)).collect();
        if wanted.is_empty() || !chosen.contains(&true) {
            let hint = "contains looks for whole words, whatever their case";
            let field = format!("{} contains", self.name);
            let allowed = format!("in any of the {} values", self.labels.len());
            let known = self.labels.iter().flat_map(|label| label.split(|c: char| !c.is_alphanumeric()));
            return Err(Error::input(field, text, allowed, did_you_mean(text, known, hint)));
        }
        Ok(chosen)
    }
}

/// Whether a text occurs in another with neither a letter nor a digit right before or after it.
fn has_words(text: &str, wanted: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let mut places = text.char_indices().map(|(at, _)| at);
    !wanted.is_empty()
        && places.any(|at| {
            text[at..].starts_with(wanted)
                && edge(text[..at].chars().next_back())
                && edge(text[at + wanted.len()..].chars().next())
        })
}
