//! Names that mean something to other programs: spreadsheets, readers of Markdown, terminals.

use crate::support::{Place, stderr, succeeds};

/// An allocation whose names are as hostile as names can be.
fn hostile(name: &str) -> Place {
    let place = Place::new(name);
    let levels: String = [
        "=HYPERLINK(\\\"http://x.example\\\")",
        "+1+cmd|x",
        "@SUM(A1)",
        "-2-3",
        "![p](http://x.example/p.png)",
        "[l](javascript:x)",
        "<img src=x>",
        "www.x.example &amp; `code` ~~x~~",
    ]
    .iter()
    .map(|level| format!("[[levels]]\nname = \"{level}\"\nsigma2 = {{ total = 5 }}\n"))
    .collect();
    let text = format!(
        "name = \"[x](http://x.example)\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n[queries]\n\
         total = []\n{levels}"
    );
    place.write("x.toml", text);
    place
}

fn certificate(place: &Place, form: &str) -> String {
    succeeds(&place.run(&["certificate", "x.toml", form]))
}

#[test]
fn no_cell_of_a_table_is_a_formula() {
    let csv = certificate(&hostile("csv"), "--csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let mut texts = 0;
    for record in reader.records() {
        for field in record.unwrap().iter() {
            let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!formula || field.parse::<f64>().is_ok(), "{field}");
            // What was there can be read all the same.
            texts += usize::from(field.contains("=HYPERLINK(\"http://x.example\")"));
        }
    }
    assert!(texts > 0, "{csv}");
}

#[test]
fn no_name_is_a_link_a_picture_or_a_tag() {
    let text = certificate(&hostile("markdown"), "--markdown");
    // What is left once all that is escaped is taken out.
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        if c == '\\' {
            letters.next();
        } else {
            plain.push(c);
        }
    }
    for markup in ["[", "<", "&", "`", "~", "://", "www."] {
        assert!(!plain.contains(markup), "{markup}: {plain}");
    }
    assert!(text.contains("x.example"), "{text}");
}

#[test]
fn names_do_not_steer_a_terminal_from_a_message() {
    let place = hostile("terminal");
    let table = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n[[levels]]\nname = \"A\"\n\
     sigma2 = { total = 5 }\n\
                 [table]\ncells = [{ column = \"p\" }]\n[table.levels]\nA = \"a\"\n";
    place.write("t.toml", table);
    place.write("t.csv", "a,\u{1b}[31mred,\u{202e}back\n1,2,3\n");
    let output = place.run(&["measure", "t.csv", "--allocation", "t.toml", "--out", "noisy"]);
    let message = stderr(&output);
    assert!(message.contains("hint: the table has a, \\u{1b}[31mred, \\u{202e}back;"), "{message}");
}
