//! Property files of the verification competition: what is asked of a program.
//!
//! A line is `CHECK( init(main()), LTL(G ! call(reach_error())) )`, `… LTL(G ! data-race) …` and
//! the like. What is asked is what the file names, and nothing else: other mistakes of the program
//! leave the answer open where they can happen, since C does not say how it goes on behind them.

use std::fs;
use std::path::Path;

use foretrace_verdict::Property;
use foretrace_verify::Options;

use crate::failure::Failure;

/// What a property file asks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Asked {
    /// Its name in answers: `unreach-call`, `no-data-race`, …
    pub(crate) name: String,
    /// The function that must not be called.
    pub(crate) call: Option<String>,
    pub(crate) races: bool,
    pub(crate) memory: bool,
    pub(crate) overflow: bool,
    pub(crate) leaks: bool,
    /// What it asks that cannot be proved here.
    pub(crate) missing: Option<&'static str>,
}

impl Asked {
    pub(crate) fn read(file: &Path) -> Result<Asked, Failure> {
        let shown = file.display();
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::input(format_args!("{shown}: {error}")))?;
        Asked::parse(&text).map_err(|line| {
            Failure::input(format_args!("{shown}: this is not a property that is known: {line}"))
                .hint("known are: G ! call(NAME()), G ! data-race, G valid-deref, G valid-free, …")
        })
    }

    fn parse(text: &str) -> Result<Asked, String> {
        let mut asked = Asked::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let compact: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
            let formula = compact
                .strip_prefix("CHECK(init(main()),LTL(")
                .and_then(|rest| rest.strip_suffix("))"))
                .ok_or(line)?;
            let name = match formula {
                "G!data-race" => {
                    asked.races = true;
                    "no-data-race"
                }
                "Gvalid-deref" | "Gvalid-free" => {
                    asked.memory = true;
                    "valid-memsafety"
                }
                "Gvalid-memtrack" | "Gvalid-memcleanup" => {
                    asked.memory = true;
                    asked.leaks = true;
                    "valid-memsafety"
                }
                "G!overflow" => {
                    asked.overflow = true;
                    "no-overflow"
                }
                "Fend" => {
                    asked.missing = Some("whether the program ends is not checked");
                    "termination"
                }
                _ => {
                    let call = formula.strip_prefix("G!call(").ok_or(line)?;
                    asked.call = Some(call.strip_suffix("())").ok_or(line)?.to_string());
                    "unreach-call"
                }
            };
            asked.name = name.to_string();
        }
        if asked.name.is_empty() { Err("it is empty".to_string()) } else { Ok(asked) }
    }

    /// What that is in our words.
    pub(crate) fn properties(&self) -> Vec<Property> {
        let asked = [
            (self.races, Property::Race),
            (self.call.is_some() || self.memory || self.overflow, Property::Assertion),
        ];
        asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, property)| property).collect()
    }

    /// The same for the verifier.
    pub(crate) fn choose(&self, options: Options) -> Options {
        Options {
            assertions: self.call.is_some(),
            lock_errors: false,
            races: self.races,
            deadlocks: false,
            memory: self.memory,
            asks_overflow: self.overflow,
            leaks: self.leaks,
            undefined: false,
            ..options
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_properties_of_the_competition_are_known() {
        let parse = |formula: &str| Asked::parse(&format!("CHECK( init(main()), LTL({formula}) )"));
        let reach = parse("G ! call(reach_error())").unwrap();
        assert_eq!(
            (reach.name.as_str(), reach.call.as_deref()),
            ("unreach-call", Some("reach_error"))
        );
        assert!(parse("G ! data-race").unwrap().races);
        assert!(parse("G valid-deref").unwrap().memory);
        assert!(parse("G ! overflow").unwrap().overflow);
        assert!(parse("G valid-memtrack").unwrap().leaks);
        assert!(parse("F end").unwrap().missing.is_some());
        assert!(parse("G ! something").is_err() && Asked::parse("").is_err());
    }
}
