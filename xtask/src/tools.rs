//! What a build needs besides cargo: a C++ compiler for CaDiCaL, clang and LLVM for recording
//! programs; z3, rustfmt, clippy and a browser for tests.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell::{Stop, cargo, run, target_folder};

/// Programs, and the Debian packages that bring them.
const PROGRAMS: [(&str, &str); 2] = [("g++", "g++"), ("make", "make")];

/// What recording programs needs in addition; a path stands for itself.
const FOR_PROGRAMS: [(&str, &str); 3] = [
    ("clang-19", "clang-19"),
    ("opt-19", "llvm-19"),
    ("/usr/lib/llvm-19/include/llvm-c/Core.h", "llvm-19-dev"),
];

/// The second opinion of the tests, and the baseline of the benchmarks.
const Z3: (&str, &str) = ("z3", "z3");

/// Installs what a build needs and the machine does not have.
pub(crate) fn ensure() -> Result<(), Stop> {
    ensure_all(&PROGRAMS)
}

/// Installs what the compiler wrapper and its plugin need as well.
pub(crate) fn ensure_for_programs() -> Result<(), Stop> {
    ensure_all(&[&PROGRAMS[..], &FOR_PROGRAMS].concat())
}

/// Installs the solver that we compare with as well.
pub(crate) fn ensure_for_comparison() -> Result<(), Stop> {
    ensure_all(&[&PROGRAMS[..], &[Z3]].concat())
}

/// And what ThreadSanitizer needs, to compare with.
pub(crate) fn ensure_for_benchmarks() -> Result<(), Stop> {
    ensure_for_programs()?;
    let there =
        std::fs::read_dir("/usr/lib/llvm-19/lib/clang/19/lib/linux").is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| file.file_name().to_string_lossy().contains("tsan"))
            })
        });
    if there { Ok(()) } else { install(&["libclang-rt-19-dev"]) }
}

/// And valgrind.
pub(crate) fn ensure_for_sanitizing() -> Result<(), Stop> {
    ensure_for_programs()?;
    ensure_all(&[("valgrind", "valgrind")])
}

/// What uses and checks the page of a report.
const FOR_PAGES: [(&str, &str); 4] = [
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("/usr/lib/python3/dist-packages/selenium/__init__.py", "python3-selenium"),
    ("npm", "npm"),
];

/// A package of npm, its SHA-256, and the folder that it gets in the target folder.
type NpmPackage = (&'static str, &'static str, &'static str);

/// What checks the page.
const PAGE_TOOLS: [NpmPackage; 2] = [
    (
        "@typescript/typescript-linux-x64@7.0.2",
        "7ecad6f67377e831856367ab062ef394f21506a611405bf8ac0ff039348637d3",
        "page-tools/typescript",
    ),
    (
        "axe-core@4.14.0",
        "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af",
        "page-tools/axe-core",
    ),
];

/// Installs what the tests of the page need. Tests that miss something of it are skipped, and
/// counted.
pub(crate) fn ensure_for_pages() {
    let packages = ensure_all(&FOR_PAGES);
    let downloads = PAGE_TOOLS.iter().map(unpack);
    for stop in std::iter::once(packages).chain(downloads).filter_map(Result::err) {
        println!(
            "warning: tests of the page need something that cannot be installed: {}",
            stop.message
        );
    }
}

/// Puts a package of npm into the target folder.
fn unpack((package, sum, name): &NpmPackage) -> Result<(), Stop> {
    let folder = target_folder().join(name);
    if folder.exists() {
        return Ok(());
    }
    // The folder gets its name last, so that it is there whole or not at all.
    let script = format!(
        "rm -rf '{0}.part' && mkdir -p '{0}.part' && cd '{0}.part' \
         && npm pack --silent '{package}' >/dev/null && mv ./*.tgz package.tgz \
         && echo '{sum}  package.tgz' | sha256sum --check --quiet \
         && tar -xzf package.tgz --strip-components=1 && rm package.tgz && mv '{0}.part' '{0}'",
        folder.display(),
    );
    run(&format!("install {package}"), Command::new("sh").args(["-c", &script]))
}

fn ensure_all(programs: &[(&str, &'static str)]) -> Result<(), Stop> {
    let missing: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

/// What makes and checks a Debian package.
pub(crate) fn ensure_for_packages() -> Result<(), Stop> {
    ensure_all(&[
        ("dpkg-deb", "dpkg"),
        ("dpkg-shlibdeps", "dpkg-dev"),
        ("git", "git"),
        ("lintian", "lintian"),
        ("strip", "binutils"),
    ])
}

/// What makes a root folder with a fresh Debian in it.
pub(crate) fn ensure_for_clean_root() -> Result<(), Stop> {
    ensure_all(&[("mmdebstrap", "mmdebstrap")])
}

/// Microsoft's validator of SARIF, which also has the published schema (MIT licence).
const SARIF_MULTITOOL: NpmPackage = (
    "@microsoft/sarif-multitool-linux@5.7.0",
    "27d8e3e96dde578a23b7c45035b8d741fece5731e2700aa068015b8c44d1514e",
    "validators/sarif-multitool",
);

/// Installs programs that others wrote and that read our reports.
pub(crate) fn ensure_validators() -> Result<(), Stop> {
    ensure_all(&[
        ("npm", "npm"),
        ("/usr/bin/python3", "python3"),
        ("/usr/lib/python3/dist-packages/jsonschema/__init__.py", "python3-jsonschema"),
        ("/usr/lib/python3/dist-packages/junitparser/__init__.py", "python3-junitparser"),
    ])?;
    unpack(&SARIF_MULTITOOL)?;
    let program = target_folder().join(SARIF_MULTITOOL.2).join("Sarif.Multitool");
    run("make it a program", Command::new("chmod").arg("+x").arg(&program))
}

/// Installs what the tests need in addition.
pub(crate) fn ensure_for_tests() -> Result<(), Stop> {
    ensure_for_programs()?;
    ensure_all(&[
        ("gdb", "gdb"),
        ("cmake", "cmake"),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", "python3-yaml"),
        Z3,
    ])?;
    ensure_validators()?;
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let works = succeeds(cargo(subcommand).arg("--version"));
        if works {
            continue;
        }
        let install = format!("rustup component add {component}");
        if !is_installed("rustup") {
            return Err(Stop::usage(format!("{component} is missing; install it: {install}")));
        }
        run(component, Command::new("rustup").args(["component", "add", component]))?;
    }
    Ok(())
}

fn install(packages: &[&str]) -> Result<(), Stop> {
    let by_hand = format!(
        "missing: {0}\ninstall it: sudo apt-get update && sudo apt-get install -y {0}",
        packages.join(" ")
    );
    if !is_installed("apt-get") {
        return Err(Stop::usage(by_hand));
    }
    let as_root = if is_root() {
        "env"
    } else if is_installed("sudo") && succeeds(&mut sudo_without_password()) {
        "sudo"
    } else {
        return Err(Stop::usage(by_hand));
    };
    run("apt-get update", Command::new(as_root).args(["apt-get", "update"]))?;
    let mut install = Command::new(as_root);
    install.args(["apt-get", "install", "-y", "--no-install-recommends"]).args(packages);
    run("apt-get install", install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn sudo_without_password() -> Command {
    let mut command = Command::new("sudo");
    command.args(["-n", "true"]);
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder: std::path::PathBuf| is_file(&folder.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
