//! Pages that stand alone: one file with the module inside, which opens from a disk and asks nobody anything.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::page::{script, text};

/// A page that is served, and what it is called where it stands alone.
pub struct Alone {
    /// The file.
    pub name: &'static str,
    /// The page, by its path in `web/`.
    page: &'static str,
    /// The module that brings the accountant along, and all that the page needs.
    main: &'static str,
}

/// All of them.
pub static PAGES: [Alone; 2] = [
    Alone { name: "explorer.html", page: "explorer/index.html", main: "alone/explorer.js" },
    Alone { name: "calculator.html", page: "calculator/index.html", main: "alone/calculator.js" },
];

/// What only makes sense where there is a server stands between these.
const SERVED: (&str, &str) = ("<!-- served -->", "<!-- /served -->");

impl Alone {
    /// The page as one file, with the WebAssembly module, compressed with gzip, inside.
    ///
    /// Its policy lets it run its own scripts and styles, which are named by their digests, and the module;
    /// there is no address that it may ask anything of.
    #[must_use]
    pub fn html(&self, module: &[u8]) -> String {
        let page = text(self.page);
        let (mut head, mut style) = (String::new(), String::from("\n"));
        let (before, body) = page.split_once("</head>").expect("a page has a head");
        for line in before.lines() {
            if let Some(path) = between(line, "<link rel=\"stylesheet\" href=\"/", "\">") {
                style += text(path);
            } else if !line.starts_with("<script ") {
                head += line;
                head.push('\n');
                if line.starts_with("<meta charset") {
                    head += "{{policy}}\n";
                }
            }
        }
        let main = format!("\n{}", script(self.main));
        let policy = format!(
            "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; worker-src blob:; \
             img-src data: blob:; base-uri 'none'; form-action 'none'",
            digest(&main),
            digest(&style)
        );
        let policy = format!("<meta http-equiv=\"Content-Security-Policy\"\n  content=\"{policy}\">");
        let mut html = head.replace("{{policy}}", &policy);
        let _ = write!(html, "<style>{style}</style>\n</head>{}", without_served(body.trim_end_matches(END)));
        let worker = script("alone/worker.js");
        for (id, data) in [("worker", &worker), ("module", &base64(module))] {
            let _ = write!(html, "<script type=\"text/plain\" id=\"{id}\">\n{data}</script>\n");
        }
        // Last, so that all of it is there when it runs.
        let _ = write!(html, "<script type=\"module\">{main}</script>\n{END}");
        html
    }
}

const END: &str = "</body>\n</html>\n";

fn between<'t>(line: &'t str, start: &str, end: &str) -> Option<&'t str> {
    line.strip_prefix(start)?.strip_suffix(end)
}

fn without_served(body: &str) -> String {
    let mut left = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once(SERVED.0) {
        left += before;
        rest = after.split_once(SERVED.1).expect("what begins ends").1;
    }
    left + rest
}

/// As a policy names what stands inside a script or a style.
fn digest(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)).trim_end())
}

/// In lines that editors bear.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const GROUPS: usize = 27;
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + bytes.len() / GROUPS);
    for (i, group) in bytes.chunks(3).enumerate() {
        if i > 0 && i % GROUPS == 0 {
            text.push('\n');
        }
        let at = |place: usize| u32::from(*group.get(place).unwrap_or(&0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { letter.into() } else { '=' });
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_letters() {
        for (bytes, letters) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()).trim_end(), letters);
        }
        assert_eq!(digest(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn a_page_alone_asks_nobody() {
        for alone in &PAGES {
            let html = alone.html(b"module");
            let name = alone.name;
            assert!(html.contains("default-src 'none'; script-src 'sha256-"), "{name}");
            assert!(!html.contains("unsafe-inline") && !html.contains("'self'"), "{name}");
            for outside in ["src=", "href=\"/", "<link rel=\"stylesheet\"", "{{policy}}", "openapi.json\""] {
                assert!(!html.contains(outside), "{name}: {outside}");
            }
            // What is named by its digest is what stands there; data is never run.
            let (_, main) = html.split_once("<script type=\"module\">").unwrap();
            let (main, _) = main.split_once("</script>").unwrap();
            assert!(html.contains(&digest(main)), "{name}");
            let (_, style) = html.split_once("<style>").unwrap();
            assert!(html.contains(&digest(style.split_once("</style>").unwrap().0)), "{name}");
            assert_eq!(html.matches("<script").count(), 3, "{name}");
            assert_eq!(html.matches("</script>").count(), 3, "{name}");
            assert!(!html.contains("import {") && html.contains("\nbW9kdWxl\n</script>"), "{name}");
        }
    }
}
