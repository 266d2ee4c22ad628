//! Default options from the project, and from the environment: `FORETRACE_OPTIONS`.
//!
//! Its words, split as a shell splits them, come before the options of the command line, which
//! therefore win. One variable serves several commands: an option that another one of them has is
//! passed over, one that none of them has is an error.

use std::ffi::OsString;

use clap::{Arg, ArgAction, CommandFactory, Parser};

use crate::args::Arguments;
use crate::failure::Failure;
use crate::settings;

const VARIABLE: &str = "FORETRACE_OPTIONS";

/// The commands that take defaults.
const COMMANDS: [&str; 5] = ["test", "run", "predict", "explain", "replay"];

/// The command line, with the defaults behind the name of the command: those of the project, then
/// those of the environment, then what the user typed.
pub(crate) fn command_line() -> Result<Vec<OsString>, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let name = words.get(1).and_then(|name| COMMANDS.into_iter().find(|known| name == known));
    let Some(name) = name else { return Ok(words) };
    let mut sources: Vec<(String, Vec<String>)> = settings::read(name)?.into_iter().collect();
    if let Some(value) = std::env::var_os(VARIABLE) {
        let value = value.to_str().ok_or_else(|| refused(VARIABLE, "it is not UTF-8"))?;
        sources.push((VARIABLE.to_string(), split(value)?));
    }
    let (mut all, mut end) = (words.clone(), 2);
    for (source, options) in sources {
        let defaults = options_of(name, &source, &options)?;
        let count = defaults.len();
        all.splice(end..end, defaults.into_iter().map(OsString::from));
        end += count;
        // What only fails with the defaults is to be mended there.
        if let Err(error) = Arguments::try_parse_from(&all)
            && Arguments::try_parse_from(&words).is_ok()
        {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            return Err(refused(&source, first.trim_start_matches("error: ")));
        }
    }
    Ok(all)
}

fn refused(source: &str, why: &str) -> Failure {
    Failure::input(format_args!("{source}: {why}"))
        .hint(format_args!("it has options of {}", COMMANDS.join(", ")))
}

/// Those of the words that are options of a command.
fn options_of(command: &str, source: &str, words: &[String]) -> Result<Vec<String>, Failure> {
    let all = Arguments::command();
    let find = |command: &str, option: &str| {
        // The output of `run` is a file for its trace; here it is meant for reports.
        if (command, option) == ("run", "output") {
            return None;
        }
        let options = all.find_subcommand(command)?.get_arguments();
        options.into_iter().find(|known| known.get_long() == Some(option))
    };
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) else {
            return Err(refused(source, &format!("`{word}` is not a long option")));
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let own = find(command, name);
        let Some(option) = own.or_else(|| COMMANDS.iter().find_map(|other| find(other, name)))
        else {
            return Err(refused(source, &format!("no command has the option `--{name}`")));
        };
        let mut taken = vec![word.clone()];
        if value.is_none() && takes_next_word(option) {
            let next = words.next();
            taken.push(
                next.ok_or_else(|| refused(source, &format!("`--{name}` needs a value")))?.clone(),
            );
        }
        if own.is_some() {
            kept.extend(taken);
        }
    }
    Ok(kept)
}

fn takes_next_word(option: &Arg) -> bool {
    let takes_values = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
    takes_values && !option.is_require_equals_set()
}

/// Words as a shell splits them: at white space, with quotes and backslashes, and with nothing
/// expanded.
fn split(text: &str) -> Result<Vec<String>, Failure> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        // What is quoted is a word, empty or not.
        let word = word.get_or_insert_default();
        match character {
            '\'' => loop {
                match characters.next().ok_or_else(|| refused(VARIABLE, "a quote is not closed"))? {
                    '\'' => break,
                    other => word.push(other),
                }
            },
            '"' => loop {
                let open = || refused(VARIABLE, "a double quote is not closed");
                match characters.next().ok_or_else(open)? {
                    '"' => break,
                    '\\' => {
                        let next = characters.next().ok_or_else(open)?;
                        if !matches!(next, '"' | '\\' | '$' | '`') {
                            word.push('\\');
                        }
                        word.push(next);
                    }
                    other => word.push(other),
                }
            },
            '\\' => {
                let next = characters.next();
                word.push(
                    next.ok_or_else(|| refused(VARIABLE, "nothing follows the last backslash"))?,
                );
            }
            other => word.push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Vec<String>> {
        split(text).ok()
    }

    #[test]
    fn words_are_split_as_by_a_shell() {
        let all = words(" --a  b\t'c  d' \"e \\\" \\x\" f\\ g '' h'i'\"j\" ").unwrap();
        assert_eq!(all, ["--a", "b", "c  d", "e \" \\x", "f g", "", "hij"]);
        assert_eq!(words("").unwrap(), [""; 0]);
        for open in ["'a", "\"a", "a\\", "\"\\"] {
            assert_eq!(words(open), None, "{open}");
        }
    }

    fn for_command(command: &str, value: &str) -> Result<Vec<String>, String> {
        options_of(command, VARIABLE, &split(value).unwrap())
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn options_of_other_commands_are_passed_over() {
        let value = "--seed 3 --model=values --why --timing --gdb --output json=x";
        assert_eq!(for_command("run", value).unwrap(), ["--seed", "3"]);
        assert_eq!(for_command("explain", value).unwrap(), ["--model=values"]);
        let predict = ["--model=values", "--why", "--timing", "--output", "json=x"];
        assert_eq!(for_command("predict", value).unwrap(), predict);
        assert_eq!(for_command("replay", value).unwrap(), ["--gdb"]);
        let test = ["--seed", "3", "--model=values", "--timing", "--output", "json=x"];
        assert_eq!(for_command("test", value).unwrap(), test);
    }

    #[test]
    fn what_no_command_has_is_refused() {
        for value in ["--sed 3", "seed", "-o x", "--", "--help", "--seed"] {
            assert!(for_command("test", value).is_err(), "{value}");
        }
    }
}
