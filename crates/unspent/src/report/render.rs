//! Documents for a terminal, as Markdown and as HTML.

use std::fmt::Write;

use super::document::{Block, Document, Table};

/// Widest line written to a terminal.
const WIDTH: usize = 100;

/// What a terminal can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// How many columns it has, if that is known. Tables that are wider are broken into several.
    pub width: Option<usize>,
    /// Whether it shows letters in bold and the like.
    pub styles: bool,
}

/// How a line looks.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Pale,
}

/// Lines and columns of characters.
pub(super) fn terminal(document: &Document, terminal: Terminal) -> String {
    let mut page = Page { text: String::new(), terminal };
    for block in document.blocks() {
        match block {
            Block::Title(line) => page.wrapped(line, Style::Bold),
            Block::Line(line) => page.wrapped(line, Style::Plain),
            Block::List(items) => {
                items.iter().for_each(|item| page.wrapped(&format!("- {item}"), Style::Plain));
            }
            Block::Table(table) => page.table(table),
        }
    }
    page.text
}

/// The same text without characters that steer a terminal: those are shown by their numbers.
#[must_use]
pub fn printable(text: &str) -> String {
    // Controls, and marks that turn the direction of writing.
    let steers = |c: char| {
        c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// What is written so far.
struct Page {
    text: String,
    terminal: Terminal,
}

impl Page {
    /// One line; names in it may come from files.
    fn line(&mut self, line: &str, style: Style) {
        let line = printable(line);
        let start = match style {
            _ if !self.terminal.styles || line.is_empty() => "",
            Style::Plain => "",
            Style::Bold => "\x1b[1m",
            Style::Pale => "\x1b[2m",
        };
        let end = if start.is_empty() { "" } else { "\x1b[0m" };
        let _ = writeln!(self.text, "{start}{line}{end}");
    }

    /// A line, broken at spaces where it is too wide; what follows is two spaces in.
    fn wrapped(&mut self, line: &str, style: Style) {
        let most = self.terminal.width.map_or(WIDTH, |width| width.clamp(20, WIDTH));
        let (mut broken, mut room) = (String::new(), most);
        for (i, word) in line.split(' ').enumerate() {
            if i > 0 && width(word) + 1 > room {
                self.line(&broken, style);
                broken = "  ".into();
                room = most - 2;
            } else if i > 0 {
                broken.push(' ');
                room = room.saturating_sub(1);
            }
            broken += word;
            room = room.saturating_sub(width(word));
        }
        self.line(&broken, style);
    }

    fn table(&mut self, table: &Table) {
        let mut widths: Vec<usize> = table.heads.iter().map(|head| width(head)).collect();
        for row in table.groups.iter().flat_map(|group| &group.rows) {
            for (most, cell) in widths.iter_mut().zip(&row.cells) {
                *most = width(cell).max(*most);
            }
        }
        let (parts, first) = self.parts(&widths);
        if let Some(widest) = widths.first_mut() {
            *widest = first.min(*widest);
        }
        for (i, part) in parts.into_iter().enumerate() {
            let columns: Vec<usize> = std::iter::once(0).chain(part).collect();
            if i > 0 {
                self.line("", Style::Plain);
            }
            self.aligned(&columns, &widths, &table.heads, Style::Bold);
            for group in &table.groups {
                if let Some(head) = &group.head {
                    self.line("", Style::Plain);
                    self.wrapped(&format!("  {head}"), Style::Bold);
                }
                for row in &group.rows {
                    self.aligned(&columns, &widths, &row.cells, Style::Plain);
                }
            }
        }
        if !table.notes.is_empty() {
            self.line("", Style::Plain);
            table.notes.iter().for_each(|note| self.wrapped(note, Style::Pale));
        }
    }

    /// Which columns stand side by side after the first, which is always there, and how wide that may be.
    fn parts(&self, widths: &[usize]) -> (Vec<std::ops::Range<usize>>, usize) {
        let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        let first = widths.first().copied().unwrap_or_default();
        let room = match self.terminal.width {
            Some(width) if first + 2 + others > width => width,
            _ => {
                let all = 1..widths.len().max(1);
                return (vec![all], WIDTH.saturating_sub(others + 2).max(10));
            }
        };
        let first = first.min((room / 2).max(10));
        let (mut parts, mut start, mut taken) = (vec![], 1, first + 2);
        for (column, width) in widths.iter().enumerate().skip(1) {
            if column > start && taken + width + 2 > room {
                parts.push(start..column);
                (start, taken) = (column, first + 2);
            }
            taken += width + 2;
        }
        parts.push(start..widths.len());
        (parts, first)
    }

    /// One line of left-aligned cells, two spaces in; what is too wide is cut.
    fn aligned(&mut self, columns: &[usize], widths: &[usize], cells: &[String], style: Style) {
        let mut line = String::new();
        for column in columns.iter().filter(|column| **column < cells.len()) {
            let (cell, most) = (&cells[*column], widths[*column]);
            if width(cell) > most {
                let cut: String = cell.chars().take(most - 1).collect();
                let _ = write!(line, "  {cut}…");
            } else {
                let _ = write!(line, "  {cell:<most$}");
            }
        }
        self.line(line.trim_end(), style);
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Markdown with tables, as GitHub and Pandoc read it.
pub(super) fn markdown(document: &Document) -> String {
    let mut text = String::new();
    // Two spaces keep lines of one paragraph apart.
    let line = |text: &mut String, line: &str| {
        *text += &escaped(line.trim_start());
        *text += if line.is_empty() { "\n" } else { "  \n" };
    };
    for (i, block) in document.blocks().iter().enumerate() {
        match block {
            Block::Title(title) => {
                let level = if i == 0 { "#" } else { "\n##" };
                let _ = write!(text, "{level} {}\n\n", escaped(title));
            }
            Block::Line(content) => line(&mut text, content),
            Block::List(items) => {
                if !text.ends_with("\n\n") {
                    text.push('\n');
                }
                items.iter().for_each(|item| {
                    let _ = writeln!(text, "- {}", escaped(item));
                });
                text.push('\n');
            }
            Block::Table(table) => {
                markdown_table(&mut text, table);
                if !table.notes.is_empty() {
                    text.push('\n');
                    table.notes.iter().for_each(|note| line(&mut text, note));
                }
            }
        }
    }
    text
}

fn markdown_table(text: &mut String, table: &Table) {
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&table.heads);
    line(&vec!["---".into(); table.heads.len()]);
    for group in &table.groups {
        if let Some(head) = &group.head {
            let mut cells = vec![String::new(); table.heads.len()];
            cells[0] = format!("**{head}**");
            line(&cells);
        }
        group.rows.iter().for_each(|row| line(&row.cells));
    }
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

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; overflow-wrap: anywhere }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2rem }
p { margin: .2rem 0 }
p.gap { height: .6rem; margin: 0 }
p.note { color: #555; font-size: .9rem }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; vertical-align: top;
  overflow-wrap: normal }
th { vertical-align: bottom }
.num { text-align: right; white-space: nowrap }
tr.group th { padding-top: .8rem; font-weight: 600 }
@media screen and (max-width: 60rem) { table { display: block; overflow-x: auto } }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt }
  table { font-size: 7.5pt }
  th, td { padding-right: .45rem }
  tr { break-inside: avoid }
}
";

/// A page by itself.
pub(super) fn html(document: &Document, title: &str) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n",
        html_text(title)
    );
    text += &blocks(document, true);
    text + "</body>\n</html>\n"
}

/// The blocks of a page, without the page.
pub(super) fn fragment(document: &Document) -> String {
    blocks(document, false)
}

/// The blocks of a page; with classes where a style sheet knows them.
fn blocks(document: &Document, is_styled: bool) -> String {
    let mut text = String::new();
    for (i, block) in document.blocks().iter().enumerate() {
        let _ = match block {
            Block::Title(line) => {
                let tag = if i == 0 { "h1" } else { "h2" };
                writeln!(text, "<{tag}>{}</{tag}>", html_text(line))
            }
            Block::Line(line) if line.is_empty() => writeln!(text, "<p class=\"gap\"></p>"),
            Block::Line(line) => writeln!(text, "<p>{}</p>", html_text(line.trim_start())),
            Block::List(items) => {
                let items: String = items.iter().map(|i| format!("<li>{}</li>\n", html_text(i))).collect();
                writeln!(text, "<ul>\n{items}</ul>")
            }
            Block::Table(table) => {
                html_table(&mut text, table, is_styled);
                Ok(())
            }
        };
    }
    text
}

fn html_table(text: &mut String, table: &Table, is_styled: bool) {
    let numeric: Vec<usize> =
        (0..table.heads.len()).filter(|column| is_styled && is_numeric(table, *column)).collect();
    let cells = |tag: &str, cells: &[String]| -> String {
        let class = |i: usize| if numeric.contains(&i) { " class=\"num\"" } else { "" };
        let cell = |(i, cell): (usize, &String)| format!("<{tag}{}>{}</{tag}>", class(i), html_text(cell));
        cells.iter().enumerate().map(cell).collect()
    };
    let _ = writeln!(text, "<table>\n<thead><tr>{}</tr></thead>\n<tbody>", cells("th", &table.heads));
    for group in &table.groups {
        if let Some(head) = &group.head {
            let span = table.heads.len();
            let _ =
                writeln!(text, "<tr class=\"group\"><th colspan=\"{span}\">{}</th></tr>", html_text(head));
        }
        for row in &group.rows {
            let _ = writeln!(text, "<tr>{}</tr>", cells("td", &row.cells));
        }
    }
    *text += "</tbody>\n</table>\n";
    for note in &table.notes {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", html_text(note));
    }
}

/// What numbers consist of besides digits.
const NUMERIC: &str = " .,/e+−-–±≈≤≥…%";

/// Whether all that a column has are numbers, whose digits belong below each other.
fn is_numeric(table: &Table, column: usize) -> bool {
    let rows = || table.groups.iter().flat_map(|group| &group.rows);
    let cells = || rows().filter_map(|row| row.cells.get(column)).filter(|cell| !cell.is_empty());
    let is_number = |cell: &String| cell.chars().all(|c| c.is_ascii_digit() || NUMERIC.contains(c));
    column > 0 && cells().next().is_some() && cells().all(is_number)
}

/// Names come from files, and are text here, never markup.
fn html_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).replace('\n', " ").chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Document {
        let mut table = Table::new(&["name", "value"]);
        table.head("a * b");
        table.row(vec!["x".repeat(120), "1|2".into()]);
        table.note("a <note>");
        let mut document = Document::default();
        document.line("first_line");
        document.line(format!("  {}end", "word ".repeat(30)));
        document.list(["an item"]);
        document.table(table);
        document
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let text = example().terminal();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("\n  word word ") && text.contains("word end\n- an item\n"), "{text}");
        assert!(text.contains("x…  1|2\n\na <note>\n") && text.contains("\n\n  a * b\n"), "{text}");
    }

    #[test]
    fn wide_tables_are_broken_where_the_terminal_ends() {
        let mut table = Table::new(&["name", "one", "two", "three"]);
        table.head("of a group");
        table.row(["State", "1".repeat(12).as_str(), "2", "3"].map(String::from).to_vec());
        let mut document = Document::default();
        document.title("title");
        document.table(table);
        let narrow = document.terminal_like(Terminal { width: Some(24), styles: false });
        let parts = [
            "title\n  name   one\n\n  of a group\n  State  111111111111\n",
            "\n  name   two  three\n\n  of a group\n  State  2    3\n",
        ];
        assert_eq!(narrow, parts.concat());
        assert_eq!(document.terminal_like(Terminal { width: Some(34), styles: false }), document.terminal());
        let styled = document.terminal_like(Terminal { width: None, styles: true });
        assert!(styled.starts_with("\x1b[1mtitle\x1b[0m\n\x1b[1m  name   one"), "{styled}");
        let mut hostile = Document::default();
        hostile.title("\x1b[31mred");
        let shown = hostile.terminal_like(Terminal { width: None, styles: true });
        assert_eq!(shown, "\x1b[1m\\u{1b}[31mred\x1b[0m\n");
    }

    #[test]
    fn markdown_says_what_is_meant() {
        let text = example().markdown();
        assert!(text.starts_with("first\\_line  \nword "), "{text}");
        let table = "end  \n\n- an item\n\n| name | value |\n| --- | --- |\n| **a * b** |  |\n| xxx";
        assert!(text.contains(table), "{text}");
        assert!(text.ends_with("x | 1\\|2 |\n\na \\<note>  \n"), "{text}");
    }

    #[test]
    fn html_has_no_markup_but_its_own() {
        let text = example().html("<script>");
        assert!(text.contains("<title>&lt;script&gt;</title>"), "{text}");
        assert!(text.contains("<p class=\"note\">a &lt;note&gt;</p>") && text.contains("<li>an item</li>"));
        assert_eq!(text.matches("<td>").count(), 2);
        let mut numbers = Table::new(&["of", "epsilon", "query"]);
        numbers.row(["State", "16.19", "age"].map(String::from).to_vec());
        numbers.row(["US", "± 2", "sex"].map(String::from).to_vec());
        let mut document = Document::default();
        document.table(numbers);
        let page = document.html("");
        assert!(page.contains("<th>of</th><th class=\"num\">epsilon</th><th>query</th>"), "{page}");
        assert!(page.contains("<td>US</td><td class=\"num\">± 2</td>"), "{page}");
        assert!(!document.fragment().contains("class"));
        assert!(!text.contains("http") && !text.contains("<script"), "nothing is loaded");
        let fragment = example().fragment();
        assert!(text.contains(&fragment) && fragment.starts_with("<p>") && !fragment.contains("<style"));
    }
}
