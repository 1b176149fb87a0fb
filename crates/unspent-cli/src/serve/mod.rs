//! `unspent serve`: a page on this machine on which a budget is turned by hand.
//!
//! ```text
//! page ──JSON──▶ http (who may ask, how much, how long) ─▶ unspent-explorer (questions in, reports out)
//! ```
//!
//! Nothing is kept: every question brings its allocation along, as a draft. The page and all it needs are
//! inside the program.

mod http;
mod turns;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use unspent::Error;

use crate::terminal::{self, Colour};
use crate::{Failure, output};

/// A page on this machine on which a budget can be turned by hand.
///
/// Choose a preset or drop in an allocation file, move a level's share or delta, and see what it
/// promises. Nothing leaves this machine. Ctrl-C ends it.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent serve --open
  unspent serve --port 0"
)]
pub struct Arguments {
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "P", default_value = "8020", allow_hyphen_values = true)]
    port: String,

    /// The address to listen on; others than this machine can reach it if it is not a loopback address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", allow_hyphen_values = true)]
    listen: String,

    /// The longest time for one answer; a slow machine needs more for large allocations
    #[arg(long, value_name = "SECONDS", default_value = "20", allow_hyphen_values = true)]
    answer_within: String,

    /// Opens the page in a browser
    #[arg(long)]
    open: bool,
}

impl Arguments {
    /// Listens until it is interrupted.
    pub fn run(&self) -> Result<(), Failure> {
        let port: u16 = self.port.parse().map_err(|_| {
            Error::input(
                "--port",
                &self.port,
                "a number between 0 and 65535",
                "0 takes any port that is free",
            )
        })?;
        let address: IpAddr = self.listen.parse().map_err(|_| {
            let hint = "127.0.0.1 is this machine only, 0.0.0.0 every network it is in";
            Error::input("--listen", &self.listen, "an IP address", hint)
        })?;
        let most = http::MOST_TO_ANSWER.as_secs();
        let to_answer = self.answer_within.parse().ok().filter(|seconds| (1..=most).contains(seconds));
        let to_answer = to_answer.map(Duration::from_secs).ok_or_else(|| {
            Error::input(
                "--answer-within",
                &self.answer_within,
                format!("a whole number of seconds between 1 and {most}"),
                "the command itself has no such limit",
            )
        })?;
        if !address.is_loopback() {
            let _ = writeln!(
                std::io::stderr(),
                "{} whoever can reach {address} can use this page: there is no password, and no \
                 encryption",
                terminal::label("warning", Colour::Yellow)
            );
        }
        // A defect in one answer is that answer's, and no reason to leave the others without one.
        std::panic::set_hook(Box::new(|defect| {
            let _ = writeln!(std::io::stderr(), "a defect of unspent: {defect}");
        }));
        http::serve(SocketAddr::new(address, port), to_answer, |found| {
            let page = format!("http://{found}/");
            output::print(&format!("unspent is at {page} (Ctrl-C ends it)\n"))?;
            if self.open && !opened(&page) {
                let warning = terminal::label("warning", Colour::Yellow);
                let _ = writeln!(std::io::stderr(), "{warning} no browser could be opened; go to {page}");
            }
            Ok(())
        })
    }
}

/// Whether something was found that opens pages.
fn opened(page: &str) -> bool {
    let ways: [&[&str]; 3] = [&["xdg-open"], &["open"], &["cmd", "/C", "start"]];
    ways.iter().any(|way| {
        let command = Command::new(way[0])
            .args(&way[1..])
            .arg(page)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        command.is_ok()
    })
}
