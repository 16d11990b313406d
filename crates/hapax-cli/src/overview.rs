//! The list of commands in `hapax --help`, sorted by task, and the short flags they share.
//!
//! clap lists commands in one column; this module writes the list into its template instead. Rarely used commands
//! share one line. Manual pages and completions use clap's own list.

use clap::{Arg, Command};
use std::fmt::Write;

const TASKS: [(&str, &[&str]); 5] = [
    ("Clean a corpus", &["dedup", "apply", "fingerprint", "pairs", "groups"]),
    ("Compare and search", &["compare", "near"]),
    ("Repository and service", &["page", "group", "events", "inspect", "export", "store", "serve"]),
    ("Search engine", &["search", "query-dedup"]),
    ("Measure and plan", &["eval", "plan"]),
];
const OTHER: [&str; 6] = ["partition", "rank", "recipe", "train", "completions", "man"];

/// Long flags with their letters, for all commands.
const SHORT: [(&str, char); 3] = [("out", 'o'), ("threads", 't'), ("within", 'k')];

/// Lists the commands of the program by task.
pub(crate) fn by_task(program: Command) -> Command {
    let mut list = String::new();
    for (task, names) in TASKS {
        let _ = writeln!(list, "\n{task}:");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name:<11}  {about}");
        }
    }
    let other = OTHER.join(", ");
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n\
         Other: {other}; `hapax help COMMAND` explains each\n\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Adds the letter of the flag, if it has one.
pub(crate) fn with_short(argument: Arg) -> Arg {
    let letter = SHORT.iter().find(|(long, _)| argument.get_long() == Some(long));
    match letter {
        Some((_, letter)) if argument.get_short().is_none() => argument.short(*letter),
        Some(_) | None => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_and_no_more_than_eighteen_have_a_line() {
        let lines: Vec<&str> = TASKS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert!(lines.len() <= 18);
        let mut listed: Vec<&str> = lines.into_iter().chain(OTHER).collect();
        listed.sort_unstable();
        let program = crate::command();
        let mut there: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        there.sort_unstable();
        assert_eq!(listed, there);
    }

    #[test]
    fn help_lists_tasks_and_short_flags_equal_long_ones() {
        let help = crate::command().render_long_help().to_string();
        for (task, names) in TASKS {
            assert!(help.contains(&format!("\n{task}:\n  {}", names[0])), "{help}");
        }
        let words = ["hapax", "dedup", "in", "-o", "out", "-t", "2", "-k", "3"];
        let matches = crate::command().try_get_matches_from(words).unwrap();
        let (_, dedup) = matches.subcommand().unwrap();
        assert!(dedup.contains_id("out") && dedup.contains_id("threads"));
    }
}
