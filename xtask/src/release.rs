//! `release [--dry-run]`: checks that a version can go out, and makes its archive. Publishes
//! nothing.
//!
//! **Computes.** In `target/release-archive`, an archive with the command line, the compiler
//! plugin, the runtime and the headers, laid out as packages install them. It is unpacked outside
//! of the checkout, where its command line must find the rest and the bug of a small program. The
//! crates that are useful alone are packaged, and built from their packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::package::{copy, lay_out};
use crate::shell::{Stop, cargo, release_build, root, run, step, target_folder};
use crate::{metadata, tools};

/// Files of the archive besides what is installed: where they are, and where they go.
const FILES: [(&str, &str); 4] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// Crates that others can use without the rest, after what they need.
const PACKAGES: [&str; 5] = [
    "foretrace-recording",
    "foretrace-trace",
    "foretrace-verdict",
    "foretrace-witness",
    "foretrace-solve",
];

/// A program whose recorded run goes well, and whose assertion another schedule breaks.
const PROGRAM: &str = r#"#include "foretrace.h"
#include <pthread.h>
static int count;
static void *add(void *unused) { count++; return unused; }
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    FORETRACE_ASSERT(count == 2);
    return 0;
}
"#;

/// Checks everything and makes the archive. A dry run accepts changes that are not committed, and
/// a changelog whose section still is *Unreleased*.
pub(crate) fn release(dry_run: bool) -> Result<(), Stop> {
    let version = step("version and changelog", || check_sources(dry_run))?;
    tools::ensure_for_programs()?;
    release_build()?;
    let archive = step("archive", || make_archive(&version))?;
    step("archive works elsewhere", || try_archive(&archive))?;
    let mut package = cargo("package --locked --offline");
    package.args(PACKAGES.iter().flat_map(|name| ["--package", *name]));
    if dry_run {
        package.arg("--allow-dirty");
    }
    run("packages", &mut package)?;
    println!("version {version} can go out: {}", archive.display());
    Ok(())
}

/// The version, if all crates have it, are described, and the changelog has a section for it.
fn check_sources(dry_run: bool) -> Result<String, Stop> {
    let packages = metadata::packages()?;
    let ours: Vec<_> = packages.iter().filter(|package| package.source.is_none()).collect();
    let version = ours.first().map(|package| package.version.clone()).unwrap_or_default();
    for package in ours {
        if package.version != version {
            let (name, other) = (&package.name, &package.version);
            return Err(Stop::failed(format!("{name} has version {other}, others {version}")));
        }
        if let Some(field) = package.missing.first() {
            let problem = format!("{}: its Cargo.toml says no {field}", package.name);
            return Err(Stop::failed(problem));
        }
    }
    let changelog = read(&root().join("CHANGELOG.md"))?;
    let mut names = vec![version.as_str()];
    names.extend(dry_run.then_some("Unreleased"));
    if !names.iter().any(|name| has_section(&changelog, name)) {
        let problem = format!("CHANGELOG.md has no section [{version}] with changes");
        return Err(Stop::failed(problem));
    }
    if !dry_run {
        let mut status = Command::new("git");
        let output = status.args(["status", "--porcelain"]).current_dir(root()).output();
        let output = output.map_err(|error| Stop::usage(format!("cannot run git: {error}")))?;
        if !output.status.success() || !output.stdout.is_empty() {
            return Err(Stop::failed("there are changes that are not committed"));
        }
    }
    Ok(version)
}

/// The version of the command line.
pub(crate) fn version() -> Result<String, Stop> {
    let packages = metadata::packages()?;
    let ours = packages.iter().find(|package| package.name == "foretrace");
    Ok(ours.map(|package| package.version.clone()).unwrap_or_default())
}

/// Whether a changelog has a section of this name in which a change is listed.
fn has_section(changelog: &str, name: &str) -> bool {
    let title = format!("## [{name}]");
    let mut lines = changelog.lines().skip_while(|line| !line.starts_with(&title)).skip(1);
    lines.by_ref().take_while(|line| !line.starts_with("## ")).any(|line| line.starts_with("- "))
}

/// The archive, made of files with fixed times and owners: the same files give the same bytes.
pub(crate) fn make_archive(version: &str) -> Result<PathBuf, Stop> {
    let folder = target_folder().join("release-archive");
    let name = format!("foretrace-{version}-{}-linux", std::env::consts::ARCH);
    let _ = fs::remove_dir_all(&folder);
    lay_out(&folder.join(&name))?;
    for (from, to) in FILES {
        copy(&root().join(from), &folder.join(&name).join(to))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    run("tar", tar.arg("-C").arg(&folder).arg("-czf").arg(&archive).arg(&name))?;
    Ok(archive)
}

/// Unpacks the archive outside of the checkout, and tests a program with what is in it.
fn try_archive(archive: &Path) -> Result<(), Stop> {
    let folder = std::env::temp_dir().join(format!("foretrace-release-{}", std::process::id()));
    let cannot = |error: std::io::Error| Stop::usage(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(cannot)?;
    let folder = folder.canonicalize().map_err(cannot)?;
    let result = fs::write(folder.join("small.c"), PROGRAM).map_err(cannot).and_then(|()| {
        run("unpack", Command::new("tar").arg("-C").arg(&folder).arg("-xzf").arg(archive))?;
        try_unpacked(&folder)
    });
    let _ = fs::remove_dir_all(&folder);
    result
}

fn try_unpacked(folder: &Path) -> Result<(), Stop> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let unpacked = entries.into_iter().find(|path| path.is_dir());
    let unpacked = unpacked.ok_or_else(|| Stop::failed("the archive has no folder"))?;
    let foretrace = |arguments: &[&str], status: i32| -> Result<String, Stop> {
        let mut command = Command::new(unpacked.join("bin/foretrace"));
        command.args(arguments).current_dir(folder);
        for variable in ["FORETRACE_HOME", "FORETRACE_OPTIONS", "LD_LIBRARY_PATH"] {
            command.env_remove(variable);
        }
        let output = command.output();
        let output = output.map_err(|error| Stop::failed(format!("the archive: {error}")))?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.code() == Some(status) {
            return Ok(said);
        }
        let (what, ended) = (arguments.join(" "), output.status);
        Err(Stop::failed(format!("foretrace {what} of the archive: {ended}, not {status}\n{said}")))
    };
    // A build falls back to the header of its checkout, so it must be seen which one is taken.
    let header = unpacked.join("include/foretrace/foretrace.h").display().to_string();
    if !foretrace(&["cc", "-E", "small.c"], 0)?.contains(&header) {
        return Err(Stop::failed(format!("the compiler of the archive does not use {header}")));
    }
    foretrace(&["cc", "-pthread", "small.c", "-o", "small"], 0)?;
    let said = foretrace(&["test", "--", "./small"], 1)?;
    if !said.contains("confirmed by replay") {
        return Err(Stop::failed(format!("the archive finds no bug in its example\n{said}")));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Stop> {
    fs::read_to_string(path).map_err(|error| Stop::usage(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_without_changes_is_none() {
        let log =
            "# Changelog\n\n## [Unreleased]\n\n## [0.2.0]\n\n### Added\n\n- A.\n\n## [0.1.0]\n";
        assert!(has_section(log, "0.2.0"));
        for name in ["Unreleased", "0.1.0", "0.3.0", "0.2"] {
            assert!(!has_section(log, name), "{name}");
        }
    }

    #[test]
    fn what_is_in_the_tree_can_go_out_but_for_its_build() {
        assert_eq!(check_sources(true).unwrap(), env!("CARGO_PKG_VERSION"));
        let installed = crate::package::FILES.iter().map(|(from, _)| from);
        let installed = installed.filter(|from| !from.starts_with("target/"));
        for from in FILES.iter().map(|(from, _)| from).chain(installed) {
            assert!(root().join(from).is_file(), "{from}");
        }
    }
}
