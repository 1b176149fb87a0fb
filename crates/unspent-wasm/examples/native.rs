//! Answers of the native library to what the module is asked, for the comparison of the two: lines with an
//! address, a tab and a question come in, and lines with a status, a tab and a text go out.

use std::io::{BufWriter, Write, stdin, stdout};

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lines() {
        let line = line?;
        let (address, body) = line.split_once('\t').unwrap_or((&line, ""));
        let reply = unspent_wasm::answered(address, body.as_bytes());
        // Texts of files have several lines.
        writeln!(out, "{}\t{}", reply.status, reply.body.replace('\n', "\\n"))?;
    }
    out.flush()
}
