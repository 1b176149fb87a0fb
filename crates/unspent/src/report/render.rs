//! Documents for a terminal, as Markdown and as HTML.

use std::fmt::Write;

use super::document::{Block, Document, Table};

/// Widest line written to a terminal.
const WIDTH: usize = 100;

/// Lines and columns of characters.
pub(super) fn terminal(document: &Document) -> String {
    let mut text = String::new();
    for block in document.blocks() {
        match block {
            Block::Title(line) | Block::Line(line) => wrapped(&mut text, line),
            Block::List(items) => items.iter().for_each(|item| wrapped(&mut text, &format!("- {item}"))),
            Block::Table(table) => terminal_table(&mut text, table),
        }
    }
    printable(&text)
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

fn terminal_table(text: &mut String, table: &Table) {
    let mut widths: Vec<usize> = table.heads.iter().map(|head| width(head)).collect();
    for row in table.groups.iter().flat_map(|group| &group.rows) {
        for (most, cell) in widths.iter_mut().zip(&row.cells) {
            *most = width(cell).max(*most);
        }
    }
    let others: usize = widths.iter().skip(1).map(|w| w + 2).sum();
    if let Some(first) = widths.first_mut() {
        *first = (*first).min(WIDTH.saturating_sub(others + 2).max(10));
    }
    aligned(text, &widths, &table.heads);
    for group in &table.groups {
        if let Some(head) = &group.head {
            let _ = writeln!(text, "\n  {head}");
        }
        group.rows.iter().for_each(|row| aligned(text, &widths, &row.cells));
    }
    if !table.notes.is_empty() {
        text.push('\n');
        table.notes.iter().for_each(|note| wrapped(text, note));
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

/// One line of left-aligned cells, two spaces in; what is too wide is cut.
fn aligned(text: &mut String, widths: &[usize], cells: &[String]) {
    let mut line = String::new();
    for (cell, most) in cells.iter().zip(widths) {
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
  color: #1a1a1a; background: #fff }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2rem }
p { margin: .2rem 0 }
p.gap { height: .6rem; margin: 0 }
p.note { color: #555; font-size: .9rem }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; vertical-align: top }
tr.group th { padding-top: .8rem; font-weight: 600 }
@media print { body { margin: 0; max-width: none } tr { break-inside: avoid } }
";

/// A page by itself.
pub(super) fn html(document: &Document, title: &str) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n",
        html_text(title)
    );
    text += &fragment(document);
    text + "</body>\n</html>\n"
}

/// The blocks of a page, without the page.
pub(super) fn fragment(document: &Document) -> String {
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
                html_table(&mut text, table);
                Ok(())
            }
        };
    }
    text
}

fn html_table(text: &mut String, table: &Table) {
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", html_text(cell))).collect()
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
        assert!(!text.contains("http") && !text.contains("<script"), "nothing is loaded");
        let fragment = example().fragment();
        assert!(text.contains(&fragment) && fragment.starts_with("<p>") && !fragment.contains("<style"));
    }
}
