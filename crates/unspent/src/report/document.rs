//! A report for people: titles, lines, lists and tables, described once and rendered by each front end.

use serde::Serialize;

use crate::report::render::{self, Terminal};
use crate::scope::Scope;

/// What a reader sees, from the top down.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Document {
    blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// The title of the document, or of what follows.
    Title(String),
    /// A line of text; an empty one separates paragraphs.
    Line(String),
    /// Items without an order.
    List(Vec<String>),
    /// A table.
    Table(Table),
}

/// A table whose rows may be grouped under heads of their own.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// Its rows, in groups.
    pub groups: Vec<Group>,
    /// What a reader must know of it, a sentence or two each.
    pub notes: Vec<String>,
}

/// Rows under a common head.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The head; none for the first rows.
    pub head: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The part of a release that it is about.
    pub key: Option<Scope>,
    /// How reports call it, if it has a name of its own.
    pub label: Option<String>,
    /// One text for each column; the first says what the row is about.
    pub cells: Vec<String>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(heads: &[&str]) -> Table {
        let groups = vec![Group { head: None, rows: vec![] }];
        Table { heads: heads.iter().map(ToString::to_string).collect(), groups, notes: vec![] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.push(Row { key: None, label: None, cells });
    }

    /// Adds a row about a part of a release.
    pub fn row_about(&mut self, key: &Scope, label: &str, cells: Vec<String>) {
        self.push(Row { key: Some(key.clone()), label: Some(label.into()), cells });
    }

    fn push(&mut self, row: Row) {
        debug_assert_eq!(row.cells.len(), self.heads.len());
        self.groups.last_mut().expect("at least one group").rows.push(row);
    }

    /// Heads the rows that follow.
    pub fn head(&mut self, text: &str) {
        self.groups.push(Group { head: Some(text.into()), rows: vec![] });
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl Document {
    /// Adds a title.
    pub fn title(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Title(text.into()));
    }

    /// Adds a line of text; an empty one separates paragraphs.
    pub fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(text.into()));
    }

    /// Adds several lines.
    pub fn lines<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.line(text));
    }

    /// Adds a list.
    pub fn list<T: Into<String>>(&mut self, items: impl IntoIterator<Item = T>) {
        self.blocks.push(Block::List(items.into_iter().map(Into::into).collect()));
    }

    /// Adds a table, with its notes below it.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// The parts, from the top down.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// At most 100 columns wide, if the first cell of each row can be cut for it.
    #[must_use]
    pub fn terminal(&self) -> String {
        self.terminal_like(Terminal::default())
    }

    /// For a terminal of which something is known.
    #[must_use]
    pub fn terminal_like(&self, terminal: Terminal) -> String {
        render::terminal(self, terminal)
    }

    /// Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        render::markdown(self)
    }

    /// A page of HTML by itself, to be read, printed and signed; `title` is that of its window.
    #[must_use]
    pub fn html(&self, title: &str) -> String {
        render::html(self, title)
    }

    /// The same without the page around it and without a style, for another page: a notebook.
    #[must_use]
    pub fn fragment(&self) -> String {
        render::fragment(self)
    }
}
