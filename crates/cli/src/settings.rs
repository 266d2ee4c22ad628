//! The settings of a project: `foretrace.toml`, here or in a folder above, up to the one of the
//! repository. Its keys are long options; those of a table are for the command with its name.
//! Files that it names are relative to its own folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::failure::Failure;

const FILE: &str = "foretrace.toml";

/// Options whose values are files.
const FILES: [&str; 5] = ["suppressions", "baseline", "write-baseline", "json", "trace"];

/// The file, and its options for a command.
pub(crate) fn read(command: &str) -> Result<Option<(String, Vec<String>)>, Failure> {
    let Some(path) = find() else { return Ok(None) };
    let name = path.display().to_string();
    let failed = |error: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {error}"));
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let table: Table = text.parse().map_err(|error| failed(&error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let words = words(&table, command, folder).map_err(|why| failed(&why))?;
    Ok(Some((name, words)))
}

/// The nearest file.
fn find() -> Option<PathBuf> {
    if Path::new(FILE).is_file() {
        return Some(FILE.into());
    }
    let here = env::current_dir().ok()?;
    let is_outside = |folder: &&Path| folder.join(".git").exists();
    if is_outside(&here.as_path()) {
        return None;
    }
    for folder in here.ancestors().skip(1) {
        if folder.join(FILE).is_file() {
            return Some(folder.join(FILE));
        }
        if is_outside(&folder) {
            break;
        }
    }
    None
}

fn words(table: &Table, command: &str, folder: &Path) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(own) if key == command => {
                for (key, value) in own {
                    option(key, value, folder, &mut words)?;
                }
            }
            Value::Table(_) => {}
            value => option(key, value, folder, &mut words)?,
        }
    }
    Ok(words)
}

fn option(key: &str, value: &Value, folder: &Path, words: &mut Vec<String>) -> Result<(), String> {
    let key = key.replace('_', "-");
    let path = |text: &str| folder.join(text).display().to_string();
    let text = match value {
        Value::Boolean(true) => {
            words.push(format!("--{key}"));
            return Ok(());
        }
        Value::Boolean(false) => return Ok(()),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::String(text) if FILES.contains(&key.as_str()) => path(text),
        Value::String(text) if key == "output" => match text.split_once('=') {
            Some((format, file)) if file != "-" => format!("{format}={}", path(file)),
            _ => text.clone(),
        },
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            return values.iter().try_for_each(|value| option(&key, value, folder, words));
        }
        Value::Datetime(_) | Value::Table(_) => {
            return Err(format!("`{key}` is neither true nor false, nor text, number or list"));
        }
    };
    words.push(format!("--{key}={text}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_options() {
        let text = "budget = '30s'\nstrict = true\ntiming = false\noutput = ['sarif=r.sarif']\n\
                    [test]\nruns = 3\nbaseline = 'known.json'\n[run]\nseed = 4\n";
        let table: Table = text.parse().unwrap();
        let test = words(&table, "test", Path::new("up")).unwrap();
        let common = ["--budget=30s", "--output=sarif=up/r.sarif", "--strict"];
        let mut sorted = test.clone();
        sorted.sort();
        let mut expected = [&common[..], &["--runs=3", "--baseline=up/known.json"]].concat();
        expected.sort();
        assert_eq!(sorted, expected);
        let run = words(&table, "run", Path::new("")).unwrap();
        assert!(run.contains(&"--seed=4".to_string()) && !run.contains(&"--runs=3".to_string()));
        let wrong: Table = "budget = 1979-05-27\n".parse().unwrap();
        assert!(words(&wrong, "test", Path::new("")).is_err());
    }
}
