//! docs/command-line.md: the help of every subcommand, as the program prints it.

use super::markdown::Page;
use crate::cli;

/// Columns, whatever the terminal of whoever generates.
const WIDTH: usize = 100;

/// The page.
pub fn page() -> String {
    let mut page = Page::new("Command line");
    page.paragraph(INTRODUCTION);
    let mut root = cli::command().term_width(WIDTH);
    root.build();
    page.heading(2, root.get_name());
    page.code("text", &help(&root));
    for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
        page.heading(2, command.get_name());
        page.code("text", &help(command));
    }
    page.finish()
}

const INTRODUCTION: &str = "\
Options of the form `--long` may also be given as the environment variable that stands beside them; the command line wins.";

fn help(command: &clap::Command) -> String {
    // the values that these variables have while this is generated are nobody's business
    let hidden = command.clone().term_width(WIDTH).mut_args(|arg| arg.hide_env_values(true));
    let text = hidden.clone().render_long_help().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
