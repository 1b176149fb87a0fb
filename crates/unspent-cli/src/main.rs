//! The command as a program; what it does is the library's.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(unspent_cli::main(std::env::args_os()))
}
