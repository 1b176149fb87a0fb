//! `unspent completions` and `unspent man`: what shells and `man` know of the command, from its own
//! description.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::{Failure, output};

/// Completions of commands and flags for a shell.
///
/// What is written is a script that the shell reads when it starts.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples, each for its shell:
  unspent completions bash > ~/.local/share/bash-completion/completions/unspent
  unspent completions zsh > ~/.zfunc/_unspent     (with `fpath+=~/.zfunc` before `compinit`)
  unspent completions fish > ~/.config/fish/completions/unspent.fish"
)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Named,
}

/// The shells that are tried.
#[derive(Clone, Copy, ValueEnum)]
enum Named {
    Bash,
    Zsh,
    Fish,
}

impl CompletionsArguments {
    /// Writes the script.
    pub fn run(&self) -> Result<(), Failure> {
        let shell = match self.shell {
            Named::Bash => Shell::Bash,
            Named::Zsh => Shell::Zsh,
            Named::Fish => Shell::Fish,
        };
        let mut script = vec![];
        generate(shell, &mut crate::Arguments::command(), "unspent", &mut script);
        output::stream(|stdout| std::io::Write::write_all(stdout, &script))
    }
}

/// A page of the manual: of the command, or of one of its commands.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent man > unspent.1
  unspent man certificate > unspent-certificate.1
  man -l unspent.1"
)]
pub struct ManArguments {
    /// The command that the page is about
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl ManArguments {
    /// Writes the page.
    pub fn run(&self) -> Result<(), Failure> {
        let mut all = crate::Arguments::command();
        all.build();
        let page = match &self.command {
            None => all.disable_help_subcommand(true),
            Some(name) => match all.find_subcommand(name) {
                Some(found) => found.clone(),
                None => {
                    let hint = "`unspent --help` lists the commands";
                    return Err(Failure::usage(format!("there is no command `{name}`"), hint));
                }
            },
        };
        let mut text = vec![];
        Man::new(page).render(&mut text).map_err(|error| Failure::other(error.to_string(), "try again"))?;
        output::stream(|stdout| std::io::Write::write_all(stdout, &text))
    }
}
