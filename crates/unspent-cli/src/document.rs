//! A report as lines and tables, for a terminal and in Markdown.

use std::fmt::Write;

use crate::output;

/// Widest line written to a terminal.
const WIDTH: usize = 100;

/// What a reader sees, from the top down.
#[derive(Default)]
pub struct Document {
    blocks: Vec<Block>,
}

enum Block {
    Line(String),
    Table(Table),
}

/// A table whose rows may be grouped under heads of their own.
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    Head(String),
}

impl Table {
    /// A table without rows.
    pub fn new(heads: &[&str]) -> Table {
        Table { heads: heads.iter().map(ToString::to_string).collect(), rows: vec![] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(Row::Cells(cells));
    }

    /// Heads the rows that follow.
    pub fn head(&mut self, text: &str) {
        self.rows.push(Row::Head(text.into()));
    }
}

impl Document {
    /// Adds a line of text; an empty one separates paragraphs.
    pub fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(text.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// At most 100 columns wide, if the first cell of each row can be cut for it.
    pub fn terminal(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Line(line) => wrapped(&mut text, line),
                Block::Table(table) => table.terminal(&mut text),
            }
        }
        output::printable(&text)
    }

    /// With tables that Markdown understands.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Line(line) => {
                    // Two spaces keep lines of one paragraph apart.
                    text += &escaped(line.trim_start());
                    text += if line.is_empty() { "\n" } else { "  \n" };
                }
                Block::Table(table) => table.markdown(&mut text),
            }
        }
        text
    }
}

impl Table {
    fn terminal(&self, text: &mut String) {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| width(head)).collect();
        for row in &self.rows {
            if let Row::Cells(cells) = row {
                for (most, cell) in widths.iter_mut().zip(cells) {
                    *most = width(cell).max(*most);
                }
            }
        }
        let others: usize = widths.iter().skip(1).map(|w| w + 2).sum();
        if let Some(first) = widths.first_mut() {
            *first = (*first).min(WIDTH.saturating_sub(others + 2).max(10));
        }
        aligned(text, &widths, &self.heads);
        for row in &self.rows {
            match row {
                Row::Cells(cells) => aligned(text, &widths, cells),
                Row::Head(head) => {
                    let _ = writeln!(text, "\n  {head}");
                }
            }
        }
    }

    fn markdown(&self, text: &mut String) {
        let mut line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&self.heads);
        line(&vec!["---".into(); self.heads.len()]);
        for row in &self.rows {
            match row {
                Row::Cells(cells) => line(cells),
                Row::Head(head) => {
                    let mut cells = vec![String::new(); self.heads.len()];
                    cells[0] = format!("**{head}**");
                    line(&cells);
                }
            }
        }
    }
}

/// A line, broken at spaces where it is too wide; what follows is two spaces in.
fn wrapped(text: &mut String, line: &str) {
    let mut room = WIDTH;
    for (i, word) in line.split(' ').enumerate() {
        if i > 0 && width(word) + 1 > room {
            *text += "\n  ";
            room = WIDTH - 2;
        } else if i > 0 {
            text.push(' ');
            room = room.saturating_sub(1);
        }
        *text += word;
        room = room.saturating_sub(width(word));
    }
    text.push('\n');
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// What would be taken for markup: links, pictures, HTML, code; `*` only where we do not mean it.
fn escaped(text: &str) -> String {
    let bold = text.starts_with("**");
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        // Addresses become links without any brackets.
        let address = match c {
            ':' => text[at..].starts_with("://"),
            '.' => text[..at].to_ascii_lowercase().ends_with("www"),
            _ => false,
        };
        let special =
            matches!(c, '|' | '_' | '<' | '\\' | '[' | ']' | '`' | '&' | '~') || (c == '*' && !bold);
        if special || address {
            escaped.push('\\');
        }
        escaped.push(if c.is_control() { ' ' } else { c });
    }
    escaped
}

/// One line of left-aligned cells, two spaces in; what is too wide is cut.
fn aligned<S: AsRef<str>>(text: &mut String, widths: &[usize], cells: &[S]) {
    let mut line = String::new();
    for (cell, most) in cells.iter().zip(widths) {
        let cell = cell.as_ref();
        if width(cell) > *most {
            let cut: String = cell.chars().take(most - 1).collect();
            let _ = write!(line, "  {cut}…");
        } else {
            let _ = write!(line, "  {cell:<most$}");
        }
    }
    *text += line.trim_end();
    text.push('\n');
}

/// Left-aligned columns under their heads, as wide as they need.
pub fn columns(text: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = heads.iter().map(|head| width(head)).collect();
    for (most, i) in widths.iter_mut().zip(0..) {
        *most = rows.iter().map(|row: &Vec<String>| width(&row[i])).max().unwrap_or(0).max(*most);
    }
    aligned(text, &widths, heads);
    for row in rows {
        aligned(text, &widths, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Document {
        let mut table = Table::new(&["name", "value"]);
        table.head("a * b");
        table.row(vec!["x".repeat(120), "1|2".into()]);
        let mut document = Document::default();
        document.line("first_line");
        document.line(format!("  {}end", "word ".repeat(30)));
        document.table(table);
        document
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let text = example().terminal();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("\n  word word ") && text.contains("word end\n"), "{text}");
        assert!(text.contains("x…  1|2\n") && text.contains("\n\n  a * b\n"), "{text}");
    }

    #[test]
    fn markdown_says_what_is_meant() {
        let text = example().markdown();
        assert!(
            text.starts_with("first\\_line  \nword ")
                && text.contains("end  \n| name | value |\n| --- | --- |\n| **a * b** |  |\n| xxx"),
            "{text}"
        );
        assert!(text.ends_with("x | 1\\|2 |\n"), "{text}");
    }
}
