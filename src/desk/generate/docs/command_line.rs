//! docs/command-line.md: the help of every subcommand, as the program prints it.

use clap::Command;

use super::markdown::Document;

const WIDTH: usize = 100;

pub fn page(command: &Command) -> String {
    let mut page = Document::new("Command line");
    page.paragraph(
        "You can also set each `--long` option through the environment variable shown below it. The command line takes precedence.",
    );
    let mut root = command.clone().term_width(WIDTH);
    root.build();
    page.heading(2, root.get_name());
    page.code("text", &help(&root));
    for command in
        root.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        page.heading(2, command.get_name());
        page.code("text", &help(command));
    }
    page.finish()
}

fn help(command: &Command) -> String {
    // the environment of the generating run does not belong in the page
    let hidden = command.clone().term_width(WIDTH).mut_args(|arg| arg.hide_env_values(true));
    let text = hidden.clone().render_long_help().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
