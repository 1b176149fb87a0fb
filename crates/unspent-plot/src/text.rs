//! Text as the layout sees it: how wide it may be, where it breaks, how it is written.

use std::fmt::Write;

/// Tried in turn. The first is the one [`crate::png()`] brings along.
pub const FAMILY: &str = "'Noto Sans', Arial, Helvetica, sans-serif";

/// Size of a raised exponent, and how far it is raised, in the size of its text.
const RAISED: (f64, f64) = (0.72, 0.36);

const SUPERSCRIPTS: [(char, char); 12] = [
    ('⁰', '0'),
    ('¹', '1'),
    ('²', '2'),
    ('³', '3'),
    ('⁴', '4'),
    ('⁵', '5'),
    ('⁶', '6'),
    ('⁷', '7'),
    ('⁸', '8'),
    ('⁹', '9'),
    ('⁺', '+'),
    ('⁻', '−'),
];

/// An integer in superscripts.
pub fn superscript(n: i64) -> String {
    let digits = n.to_string().replace('-', "−");
    digits
        .chars()
        .filter_map(|c| SUPERSCRIPTS.iter().find(|(_, plain)| *plain == c))
        .map(|(s, _)| s)
        .collect()
}

fn lowered(c: char) -> Option<char> {
    SUPERSCRIPTS.iter().find(|(raised, _)| *raised == c).map(|(_, plain)| *plain)
}

/// Not less than the width in Noto Sans or Arial, and little more.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let em: f64 =
        text.chars().map(|c| lowered(c).map_or_else(|| advance(c), |c| RAISED.0 * advance(c))).sum();
    em * size * if bold { 1.1 } else { 1.0 }
}

/// The wider of the two fonts, by class, in the size of the text.
fn advance(c: char) -> f64 {
    match c {
        ' ' | '.' | ',' | ':' | ';' | '!' | 'i' | 'j' | 'l' | '\'' | '’' | '‘' | '·' | '\u{a0}' => 0.29,
        '(' | ')' | '[' | ']' | '/' | 'f' | 't' | 'I' | '-' => 0.37,
        'r' | '“' | '”' => 0.42,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | 'J' | '–' | 'ε' => 0.54,
        '0'..='9' | '+' | '−' | '=' | '<' | '>' | '≤' | '≥' | '×' | '±' | '≈' | '~' => 0.6,
        'a'..='z' if !matches!(c, 'm' | 'w') => 0.63,
        'C' | 'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'U' | 'w' | '∞' | '&' => 0.8,
        'A'..='Z' if !matches!(c, 'M' | 'W') => 0.72,
        'α'..='ω' => 0.68,
        // Wide scripts, and whatever else comes.
        _ => 1.0,
    }
}

/// Broken at spaces into lines no wider than `room`, and inside a word only where it alone is wider.
///
/// As few lines as possible, and a little shorter where that keeps the last word from standing alone.
pub fn wrap(text: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines = greedy(text, size, bold, room);
    let least = words(text).map(|word| width(word, size, bold)).fold(0.75 * room, f64::max);
    let mut tighter = room;
    while lines.len() > 1 && tighter > least {
        tighter = (tighter - size).max(least);
        let balanced = greedy(text, size, bold, tighter);
        if balanced.len() > lines.len() {
            break;
        }
        lines = balanced;
    }
    lines
}

fn greedy(text: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in words(text) {
        if let Some(line) = lines.last_mut()
            && width(&format!("{line} {word}"), size, bold) <= room
        {
            *line = format!("{line} {word}");
            continue;
        }
        lines.push(String::new());
        for c in word.chars() {
            let line = lines.last_mut().expect("one was pushed");
            if !line.is_empty() && width(&format!("{line}{c}"), size, bold) > room {
                lines.push(c.to_string());
            } else {
                line.push(c);
            }
        }
    }
    lines
}

/// The pieces that may be parted: a no-break space stays.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty())
}

/// Escaped for XML.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // XML has no way to write these.
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Escaped, with superscripts as raised digits: many fonts lack some of them, and few draw them alike.
pub fn markup(text: &str, size: f64) -> String {
    let mut out = String::new();
    let (mut run, mut raised) = (String::new(), false);
    let mut height = 0.0;
    let mut end = |run: &mut String, raised: bool| {
        if run.is_empty() {
            return;
        }
        let target = if raised { RAISED.1 * size } else { 0.0 };
        let (dy, text) = (height - target, escaped(run));
        let _ = if raised {
            write!(out, r#"<tspan dy="{dy:.2}" font-size="{:.2}">{text}</tspan>"#, RAISED.0 * size)
        } else if dy != 0.0 {
            write!(out, r#"<tspan dy="{dy:.2}">{text}</tspan>"#)
        } else {
            write!(out, "{text}")
        };
        height = target;
        run.clear();
    };
    for c in text.chars() {
        let plain = lowered(c);
        if plain.is_some() != raised {
            end(&mut run, raised);
            raised = plain.is_some();
        }
        run.push(plain.unwrap_or(c));
    }
    end(&mut run, raised);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_raised_and_what_follows_is_not() {
        assert_eq!(superscript(-120), "⁻¹²⁰");
        let written = markup("10⁻⁹ & so", 10.0);
        assert_eq!(
            written,
            r#"10<tspan dy="-3.60" font-size="7.20">−9</tspan><tspan dy="3.60"> &amp; so</tspan>"#
        );
    }

    #[test]
    fn control_characters_and_markup_cannot_leave_the_text() {
        assert_eq!(escaped("<a b=\"\u{0}\">&"), "&lt;a b=&quot; &quot;&gt;&amp;");
    }

    #[test]
    fn lines_fit_and_lose_nothing() {
        let text = "Optimized Block Group and Pneumonoultramicroscopicsilicovolcanoconiosis";
        let lines = wrap(text, 12.0, false, 120.0);
        assert!(lines.len() > 3);
        for line in &lines {
            assert!(width(line, 12.0, false) <= 120.0, "{line}");
        }
        let squeezed = |s: &str| s.replace(' ', "");
        assert_eq!(squeezed(&lines.concat()), squeezed(text));
        let title = wrap("Total population by voting age", 12.0, false, 180.0);
        assert_eq!(title, ["Total population by", "voting age"]);
        assert!(wrap("  ", 12.0, false, 120.0).is_empty());
    }
}
