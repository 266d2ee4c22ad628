//! `install` and `dist`: what users run, laid out as packages install it; as an archive and as a
//! Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::release::{make_archive, version};
use crate::shell::{Stop, release_build, root, run, step, target_folder};
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
Depends: clang-19, libc6, libgcc-s1, libllvm19, libstdc++6
Recommends: gdb
Section: devel
Priority: optional
Description: finds concurrency bugs before they happen
 Foretrace records one run of a concurrent C or C++ program. It predicts the
 data races, atomicity violations, deadlocks, lock errors and failing
 assertions that other schedules of the same events lead to, shows such a
 schedule, and replays it on the program.
";

/// Builds everything and installs it below a prefix.
pub(crate) fn install(prefix: &Path) -> Result<(), Stop> {
    tools::ensure_for_programs()?;
    release_build()?;
    step("install", || lay_out(prefix))?;
    let program = prefix.join("bin/foretrace");
    println!("installed: {}; try: {} doctor", program.display(), program.display());
    Ok(())
}

/// Builds everything, and makes the archive and the Debian package.
pub(crate) fn dist() -> Result<PathBuf, Stop> {
    tools::ensure_for_programs()?;
    tools::ensure_for_packages()?;
    release_build()?;
    let version = version()?;
    let archive = step("archive", || make_archive(&version))?;
    let package = step("Debian package", || make_package(&version))?;
    run("lintian", Command::new("lintian").args(["--fail-on", "error"]).arg(&package))?;
    println!("{}\n{}", archive.display(), package.display());
    Ok(package)
}

/// Copies what users run below a prefix, with manual pages and completions.
pub(crate) fn lay_out(prefix: &Path) -> Result<(), Stop> {
    for (from, to) in FILES {
        copy(&source(from), &prefix.join(to))?;
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
    Ok(())
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

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The Debian package of what is built.
fn make_package(version: &str) -> Result<PathBuf, Stop> {
    let architecture = if std::env::consts::ARCH == "x86_64" { "amd64" } else { "arm64" };
    let folder = target_folder().join("debian");
    let _ = fs::remove_dir_all(&folder);
    let tree = folder.join("tree");
    lay_out(&tree.join("usr"))?;
    let write = |path: PathBuf, text: &str| {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, text));
        written.map_err(|error| Stop::usage(format!("{}: {error}", path.display())))
    };
    let control = CONTROL.replace("VERSION", version).replace("ARCHITECTURE", architecture);
    write(tree.join("DEBIAN/control"), &control)?;
    let documents = tree.join("usr/share/doc/foretrace");
    let mit = fs::read_to_string(root().join("LICENSE-MIT")).unwrap_or_default();
    let copyright = "Foretrace may be used under the MIT licence below, or under the Apache\n\
                     License 2.0, which is in /usr/share/common-licenses/Apache-2.0.\n\n";
    write(documents.join("copyright"), &format!("{copyright}{mit}"))?;
    copy(&root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    for (file, _) in FILES.iter().filter(|(file, _)| file.starts_with("target/")) {
        let name = FILES.iter().find(|(known, _)| known == file).map_or("", |(_, to)| to);
        let mut strip = Command::new("strip");
        run("strip", strip.arg("--strip-unneeded").arg(tree.join("usr").join(name)))?;
    }
    let mut pages = entries(&tree.join("usr/share/man/man1"));
    pages.push(documents.join("changelog"));
    run("compress", Command::new("gzip").arg("-9n").args(&pages))?;
    // Folders and files as packages have them, whatever the umask is.
    run("rights", Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&tree))?;
    for library in ["libforetrace_llvm.so", "libforetrace_rt.so"] {
        let library = tree.join("usr/lib/foretrace").join(library);
        run("rights", Command::new("chmod").arg("644").arg(library))?;
    }
    let package = folder.join(format!("foretrace_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package);
    run("dpkg-deb", build.env("SOURCE_DATE_EPOCH", "0"))?;
    Ok(package)
}
