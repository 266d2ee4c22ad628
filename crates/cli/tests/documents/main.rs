//! The commands of the documents do what the documents say.
//!
//! Each page runs from top to bottom, in a folder of its own that contains the `examples` and
//! `litmus` of the repository and the program of `surroundings`:
//!
//! - a fenced block whose first line names a language and a file (```` ```c bank.c ````) is written
//!   to that file;
//! - a fenced block that begins with `$ ` is a transcript: its commands run, and print the lines
//!   below them. A line `...` stands for any number of lines;
//! - a line of an indented block, or of a fenced block of `sh`, is a command if it begins with
//!   `foretrace`, `make` or `export`. It must be accepted: status 2 and 70 are failures.
//!
//! Plugin and runtime must lie beside the command line: `cargo build --workspace` puts them there.

mod page;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use page::{Part, parts};

/// Pages whose commands are about programs that are not ours.
const NOT_RUN: [&str; 1] = ["projects.md"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn every_command_does_what_its_page_says() {
    let root = repository();
    let mut pages = vec![root.join("README.md")];
    pages.extend(fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|kind| kind == "md"));
    pages.retain(|page| !NOT_RUN.iter().any(|name| page.ends_with(name)));
    pages.sort();
    let (mut commands, mut complaints) = (0, Vec::new());
    for page in pages {
        let name = page.file_stem().unwrap().to_str().unwrap().to_string();
        let mut session = Session::new(&root, &name);
        for part in parts(&fs::read_to_string(&page).unwrap()) {
            if let Err(complaint) = session.perform(&part) {
                complaints.push(format!("{name}, line {}: {complaint}", part.line()));
            }
        }
        commands += session.commands;
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    assert!(commands > 20, "the pages have only {commands} commands");
}

/// A folder in which the commands of one page run, and what they have exported.
struct Session {
    folder: PathBuf,
    exported: String,
    commands: usize,
}

impl Session {
    fn new(root: &Path, name: &str) -> Session {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for shared in ["examples", "litmus"] {
            symlink(root.join(shared), folder.join(shared)).unwrap();
        }
        for entry in fs::read_dir(root.join("crates/cli/tests/documents/surroundings")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        Session { folder, exported: String::new(), commands: 0 }
    }

    fn perform(&mut self, part: &Part) -> Result<(), String> {
        match part {
            Part::File { name, text, .. } => {
                fs::write(self.folder.join(name), text).unwrap();
                Ok(())
            }
            Part::Command { command, .. } => {
                if command.starts_with("export ") {
                    self.exported.push_str(&format!("{command}; "));
                    return Ok(());
                }
                let (status, said) = self.run(command);
                match status {
                    Some(0 | 1 | 3 | 4) => Ok(()),
                    _ => Err(format!("`{command}` ends with {status:?}:\n{said}")),
                }
            }
            Part::Transcript { command, expected, .. } => {
                let (status, said) = self.run(command);
                let difference = page::difference(expected, &said);
                match (status, difference) {
                    (Some(0 | 1 | 3 | 4), None) => Ok(()),
                    (status, difference) => Err(format!(
                        "`{command}` ends with {status:?}; {}; it prints\n{said}",
                        difference.unwrap_or_default()
                    )),
                }
            }
        }
    }

    /// Runs a command; its exit status, and what it prints.
    fn run(&mut self, command: &str) -> (Option<i32>, String) {
        self.commands += 1;
        let tools = Path::new(env!("CARGO_BIN_EXE_foretrace")).parent().unwrap();
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {}{command}", self.exported)])
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .output()
            .expect("sh starts");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
