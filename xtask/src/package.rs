//! `install` and `dist`: what users run, laid out as packages install it; as an archive and as a
//! Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::release::{make_archive, version};
use crate::shell::{Stop, output, release_build, root, run, step, target_folder};
use crate::tools;

/// Files of an installation: where they are, and where they go below the prefix.
pub(crate) const FILES: [(&str, &str); 5] = [
    ("target/release/foretrace", "bin/foretrace"),
    ("target/release/libforetrace_llvm.so", "lib/foretrace/libforetrace_llvm.so"),
    ("target/release/libforetrace_rt.so", "lib/foretrace/libforetrace_rt.so"),
    ("include/foretrace.h", "include/foretrace/foretrace.h"),
    ("include/omp.h", "include/foretrace/omp.h"),
];

/// Completions that the command line generates, and where shells look for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("foretrace.bash", "share/bash-completion/completions/foretrace"),
    ("_foretrace", "share/zsh/vendor-completions/_foretrace"),
    ("foretrace.fish", "share/fish/vendor_completions.d/foretrace.fish"),
];

const CONTROL: &str = "\
Package: foretrace
Version: VERSION
Architecture: ARCHITECTURE
Maintainer: The Foretrace developers <foretrace@example.org>
Depends: clang-19, LIBRARIES
Recommends: gdb
Suggests: z3
Section: devel
Priority: optional
Description: finds concurrency bugs before they happen
 Foretrace records one run of a concurrent C or C++ program. It predicts the
 data races, atomicity violations, deadlocks, lock errors and failing
 assertions that other schedules of the same events lead to, shows such a
 schedule, and replays it on the program.
";

/// The changelog that Debian asks for; what changed is in `CHANGELOG.md.gz` beside it.
const CHANGELOG: &str = "\
foretrace (VERSION) unstable; urgency=medium

  * Version VERSION; CHANGELOG.md.gz in this folder lists the changes.

 -- The Foretrace developers <foretrace@example.org>  DATE
";

/// Documents and example programs, which go into `share/doc/foretrace` as they are.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "docs", "examples"];

/// Builds everything and installs it below a prefix.
pub(crate) fn install(prefix: &Path) -> Result<(), Stop> {
    tools::ensure_for_programs()?;
    release_build()?;
    step("install", || lay_out(prefix))?;
    let program = prefix.join("bin/foretrace");
    println!("installed: {}; try: {} doctor", program.display(), program.display());
    Ok(())
}

/// What users download.
pub(crate) struct Made {
    pub(crate) archive: PathBuf,
    pub(crate) package: PathBuf,
}

/// Builds everything, and makes the archive and the Debian package.
pub(crate) fn dist() -> Result<Made, Stop> {
    tools::ensure_for_programs()?;
    tools::ensure_for_packages()?;
    release_build()?;
    let version = version()?;
    let archive = step("archive", || make_archive(&version))?;
    let package = step("Debian package", || make_package(&version))?;
    run("lintian", Command::new("lintian").args(["--fail-on", "error,warning"]).arg(&package))?;
    println!("{}\n{}", archive.display(), package.display());
    Ok(Made { archive, package })
}

/// Copies what users run below a prefix, with documents, manual pages and completions.
pub(crate) fn lay_out(prefix: &Path) -> Result<(), Stop> {
    for (from, to) in FILES {
        copy(&source(from), &prefix.join(to))?;
        if from.starts_with("target/") {
            let mut strip = Command::new("strip");
            run("strip", strip.arg("--strip-unneeded").arg(prefix.join(to)))?;
        }
    }
    let generated = target_folder().join("generated");
    let _ = fs::remove_dir_all(&generated);
    let program = target_folder().join("release/foretrace");
    run("manual pages and completions", Command::new(program).arg("generate").arg(&generated))?;
    for (from, to) in COMPLETIONS {
        copy(&generated.join("completions").join(from), &prefix.join(to))?;
    }
    for page in entries(&generated.join("man")) {
        let name = page.file_name().unwrap_or_default();
        copy(&page, &prefix.join("share/man/man1").join(name))?;
    }
    let documents = prefix.join("share/doc/foretrace");
    DOCUMENTS.iter().try_for_each(|name| copy_all(&root().join(name), &documents.join(name)))
}

/// Where a file is that is named from the root of the workspace.
pub(crate) fn source(name: &str) -> PathBuf {
    match name.strip_prefix("target/") {
        Some(built) => target_folder().join(built),
        None => root().join(name),
    }
}

/// Copies a file, and makes the folders that it needs.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Stop> {
    let copied = to.parent().map_or(Ok(()), fs::create_dir_all);
    // A program that runs cannot be written to, but it can be replaced.
    let _ = fs::remove_file(to);
    let copied = copied.and_then(|()| fs::copy(from, to));
    copied.map(drop).map_err(|error| Stop::usage(format!("{}: {error}", from.display())))
}

/// Copies a file or a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) -> Result<(), Stop> {
    if from.is_file() {
        return copy(from, to);
    }
    let name = |path: &Path| path.file_name().unwrap_or_default().to_os_string();
    entries(from).iter().try_for_each(|entry| copy_all(entry, &to.join(name(entry))))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The Debian package of what is built. The same commit and build give the same bytes.
fn make_package(version: &str) -> Result<PathBuf, Stop> {
    let architecture = output("dpkg", Command::new("dpkg").arg("--print-architecture"))?;
    let folder = target_folder().join("debian");
    let _ = fs::remove_dir_all(&folder);
    let tree = folder.join("tree");
    lay_out(&tree.join("usr"))?;
    let (seconds, date) = time_of_commit()?;
    let documents = tree.join("usr/share/doc/foretrace");
    let mit = fs::read_to_string(root().join("LICENSE-MIT")).unwrap_or_default();
    let copyright = "Foretrace may be used under the MIT licence below, or under the Apache\n\
                     License 2.0, which is in /usr/share/common-licenses/Apache-2.0.\n\n";
    write(&documents.join("copyright"), &format!("{copyright}{mit}"))?;
    let changelog = CHANGELOG.replace("VERSION", version).replace("DATE", &date);
    write(&documents.join("changelog"), &changelog)?;
    let mut compressed = entries(&tree.join("usr/share/man/man1"));
    compressed.extend(["changelog", "CHANGELOG.md"].map(|name| documents.join(name)));
    run("compress", Command::new("gzip").arg("-9n").args(&compressed))?;
    let control = CONTROL.replace("VERSION", version).replace("ARCHITECTURE", &architecture);
    let control = control.replace("LIBRARIES", &libraries(&folder, &tree)?);
    write(&tree.join("DEBIAN/control"), &control)?;
    // Folders and files as packages have them, whatever the umask is.
    run("rights", Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&tree))?;
    for library in ["libforetrace_llvm.so", "libforetrace_rt.so"] {
        let library = tree.join("usr/lib/foretrace").join(library);
        run("rights", Command::new("chmod").arg("644").arg(library))?;
    }
    let package = folder.join(format!("foretrace_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package);
    run("dpkg-deb", build.env("SOURCE_DATE_EPOCH", seconds))?;
    Ok(package)
}

/// The packages whose shared libraries ours need, as `dpkg-shlibdeps` finds them.
fn libraries(folder: &Path, tree: &Path) -> Result<String, Stop> {
    // It reads the sources of a package, of which this is all that it looks at.
    write(
        &folder.join("debian/control"),
        "Source: foretrace\n\nPackage: foretrace\nArchitecture: any\n",
    )?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.arg("-O").current_dir(folder);
    for (_, name) in FILES.iter().filter(|(file, _)| file.starts_with("target/")) {
        command.arg("-e").arg(tree.join("usr").join(name));
    }
    let said = output("dpkg-shlibdeps", &mut command)?;
    let found = said.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    found.map(str::to_string).ok_or_else(|| Stop::failed("dpkg-shlibdeps found no libraries"))
}

/// When the last commit was made: in seconds, and as a changelog says it.
fn time_of_commit() -> Result<(String, String), Stop> {
    let mut log = Command::new("git");
    let seconds = output("git", log.args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email", "--date"]).arg(format!("@{seconds}"));
    Ok((seconds, output("date", &mut date)?))
}

/// Writes a file, and makes the folders that it needs.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Stop> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(path, text));
    written.map_err(|error| Stop::usage(format!("{}: {error}", path.display())))
}
