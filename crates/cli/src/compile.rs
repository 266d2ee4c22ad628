//! `foretrace cc` and `foretrace c++`: clang with our plugin and runtime, for use as `CC` and
//! `CXX`.
//!
//! All we add comes before the user's own arguments: of two that contradict each other clang takes
//! the last, and after a `--` nothing can follow.

mod command_line;
mod installation;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use command_line::CommandLine;
use foretrace_lift::OVERFLOWS;
use installation::Installation;

/// Which of clang's two names to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C,
    Cpp,
}

/// Becomes clang; returns only if it cannot.
pub(crate) fn run(language: Language, arguments: Vec<OsString>) -> ExitCode {
    let message = match additions(&arguments, &Installation::of_this_program()) {
        Ok(additions) => {
            let clang = language.compiler();
            let mut command = Command::new(&clang);
            if !CommandLine::parse(&arguments).debugs {
                // What the plugin has read of the debug information need not stay in the objects.
                command.env("FORETRACE_LINE_TABLES", "1");
            }
            let error = command.args(additions).args(kept(arguments)).exec();
            cannot_start(Path::new(&clang), &error)
        }
        Err(message) => message,
    };
    let _ = writeln!(std::io::stderr(), "error: {message}");
    ExitCode::FAILURE
}

/// The compiler that is called, for `foretrace doctor`.
pub(crate) fn clang(cpp: bool) -> String {
    let language = if cpp { Language::Cpp } else { Language::C };
    language.compiler().to_string_lossy().into_owned()
}

/// Where the plugin is, or where it was looked for.
pub(crate) fn plugin() -> Result<String, String> {
    Installation::of_this_program().plugin().map(|path| path.display().to_string())
}

/// Where the runtime is, or where it was looked for.
pub(crate) fn runtime() -> Result<String, String> {
    Installation::of_this_program().runtime().map(|path| path.display().to_string())
}

/// Where the header is.
pub(crate) fn header() -> Result<String, String> {
    let headers = Installation::of_this_program().headers();
    headers.map(|folder| folder.display().to_string()).ok_or_else(|| "not found".to_string())
}

/// Compiles a C file to an object file whose image can be verified; gives what clang says about
/// variables that are read before they are initialised.
pub(crate) fn object(
    source: &Path,
    flags: &[OsString],
    to: &Path,
    asks_overflow: bool,
) -> Result<(), String> {
    let mut additions = Vec::new();
    compiling(&mut additions, &Installation::of_this_program())?;
    let clang = Language::C.compiler();
    let mut command = Command::new(&clang);
    // Labels of constants say how long these are.
    command.args(["-c", "-O0", "-Xclang", "-msave-temp-labels", "-Wno-everything"]);
    // Variables are marked where they begin to exist; the plugin makes unknown values of that.
    command.arg("-ftrivial-auto-var-init=zero").env("FORETRACE_INDETERMINATE", "1");
    if asks_overflow {
        command.args(["-ftrapv", &format!("-ftrapv-handler={OVERFLOWS}")]);
        // Shifts to the left beyond the sign: a trap, which no verdict passes.
        command.args(["-fsanitize=shift-base", "-fsanitize-trap=shift-base"]);
    }
    command.args(additions).args(flags).arg(source).arg("-o").arg(to);
    let output = command.output().map_err(|error| cannot_start(Path::new(&clang), &error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Links object files that were verified. What nobody defines is no problem until it is called.
pub(crate) fn link(objects: &[PathBuf], flags: &[OsString], to: &Path) -> Result<(), String> {
    let mut additions = Vec::new();
    linking(&mut additions, &Installation::of_this_program())?;
    let clang = Language::C.compiler();
    let mut command = Command::new(&clang);
    command.args(["-w", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,lazy"]);
    command.args(additions).args(flags).args(objects).arg("-o").arg(to);
    let output = command.output().map_err(|error| cannot_start(Path::new(&clang), &error))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

impl Language {
    /// The language and the compiler's own arguments, if this is `foretrace cc ...` or
    /// `foretrace c++ ...`.
    pub(crate) fn asked_for(
        mut arguments: impl Iterator<Item = OsString>,
    ) -> Option<(Language, Vec<OsString>)> {
        let language = match arguments.nth(1)?.to_str()? {
            "cc" => Language::C,
            "c++" => Language::Cpp,
            _ => return None,
        };
        Some((language, arguments.collect()))
    }

    fn compiler(self) -> OsString {
        let (variable, default) = match self {
            Language::C => ("FORETRACE_CLANG", "clang-19"),
            Language::Cpp => ("FORETRACE_CLANGXX", "clang++-19"),
        };
        std::env::var_os(variable).unwrap_or_else(|| default.into())
    }
}

/// What clang gets of the user's arguments: all but the wish to link a runtime of OpenMP.
fn kept(arguments: Vec<OsString>) -> Vec<OsString> {
    let CommandLine { compiles, links, openmp, .. } = CommandLine::parse(&arguments);
    match openmp && (compiles || links) {
        true => command_line::without_openmp(&arguments),
        false => arguments,
    }
}

/// What clang gets besides the user's arguments.
fn additions(arguments: &[OsString], installation: &Installation) -> Result<Vec<OsString>, String> {
    let command_line = CommandLine::parse(arguments);
    let mut additions = Vec::new();
    if let Some(sanitizer) = &command_line.sanitizer {
        return Err(format!(
            "-fsanitize={sanitizer} replaces the same operations as foretrace does\n\
             hint: build without it, in a directory of its own"
        ));
    }
    if command_line.compiles {
        compiling(&mut additions, installation)?;
        if command_line.openmp {
            // As the compiler proper hears of it: of the driver it would ask for a library as well.
            additions.extend(["-Xclang", "-fopenmp"].map(OsString::from));
            // The threads of a parallel region end with it, and what is thread-local with them.
            additions.extend(["-Xclang", "-fnoopenmp-use-tls"].map(OsString::from));
        }
    }
    if command_line.links {
        if command_line.is_static {
            return Err(
                "static linking is not supported: the runtime must be able to take the place of \
                        the C library's functions\nhint: link without -static"
                    .to_string(),
            );
        }
        linking(&mut additions, installation)?;
    }
    if !additions.is_empty() {
        // Not every input needs all of them, and builds with -Werror must not hear of it.
        additions.insert(0, "--start-no-unused-arguments".into());
        additions.push("--end-no-unused-arguments".into());
    }
    Ok(additions)
}

fn compiling(additions: &mut Vec<OsString>, installation: &Installation) -> Result<(), String> {
    // Where operations are, and what the programmer calls memory.
    additions.push("-g".into());
    additions.push(joined("-fpass-plugin=", &installation.plugin()?));
    // Otherwise functions at -O0 forbid that their local variables become values.
    additions.extend(["-Xclang", "-disable-O0-optnone", "-D__FORETRACE__=1"].map(OsString::from));
    if let Some(headers) = installation.headers() {
        additions.extend(["-idirafter".into(), headers.into_os_string()]);
    }
    Ok(())
}

fn linking(additions: &mut Vec<OsString>, installation: &Installation) -> Result<(), String> {
    let runtime = installation.runtime()?;
    let directory = runtime.parent().unwrap_or(Path::new("."));
    additions.push(joined("-L", directory));
    // The runtime comes before all other libraries, needed or not, because it takes the place of
    // their functions.
    additions.push("-Wl,--push-state,--no-as-needed,-Bdynamic".into());
    additions.push("-lforetrace_rt".into());
    additions.push("-Wl,--pop-state".into());
    // As two arguments of the linker, because the directory may contain a comma.
    additions.extend(["-Xlinker", "-rpath", "-Xlinker"].map(OsString::from));
    additions.push(directory.into());
    // Not `-pthread`, which would also change how sources compile, and with which precompiled
    // headers.
    additions.push("-lpthread".into());
    Ok(())
}

fn joined(option: &str, value: &Path) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}

fn cannot_start(clang: &Path, error: &std::io::Error) -> String {
    let clang = clang.display();
    if error.kind() == ErrorKind::NotFound {
        format!(
            "{clang} not found\nhint: apt-get install clang-19 llvm-19-dev libclang-rt-19-dev, or set \
             FORETRACE_CLANG and FORETRACE_CLANGXX to a clang 19"
        )
    } else {
        format!("cannot start {clang}: {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(arguments: &str) -> String {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let installation = Installation::at("/ft");
        match additions(&arguments, &installation) {
            Ok(additions) => {
                additions.iter().map(|one| one.to_string_lossy()).collect::<Vec<_>>().join(" ")
            }
            Err(message) => message,
        }
    }

    #[test]
    fn questions_pass_through() {
        for question in [
            "--version",
            "-v",
            "-dumpmachine",
            "-print-search-dirs",
            "--help",
            "-###",
            "-cc1 -version a.c",
            "",
        ] {
            assert_eq!(added(question), "", "{question}");
        }
    }

    #[test]
    fn static_programs_are_refused() {
        assert!(added("-static a.c").starts_with("static linking is not supported"));
        assert!(added("a.o -static-pie").starts_with("static linking is not supported"));
        assert!(added("-static -c a.c").contains("foretrace_llvm"), "only linking minds");
    }

    #[test]
    fn each_step_gets_what_it_needs() {
        let plugin =
            |arguments| added(arguments).contains("-fpass-plugin=/ft/libforetrace_llvm.so");
        let runtime = |arguments| added(arguments).contains("-lforetrace_rt");
        for (arguments, compiles, links) in [
            ("a.c", true, true),
            ("-c a.c -o a.o", true, false),
            ("-S a.c", true, false),
            ("-E a.c", true, false),
            ("-MM a.c", true, false),
            ("-MD -MF a.d a.c", true, true),
            ("-x c -", true, true),
            ("a.o b.o -o a", false, true),
            ("-shared -o liba.so a.o", false, true),
            ("-r a.o b.o -o c.o", false, false),
            ("-Wl,-r a.o -o c.o", false, false),
            ("-Xlinker --relocatable a.o", false, false),
            ("-x c-header a.h -o a.h.pch", true, false),
            ("a.h", true, false),
            ("-fsyntax-only a.c", true, false),
            ("-o a", false, false),
            ("-include a.h -I dir", false, false),
        ] {
            assert_eq!((plugin(arguments), runtime(arguments)), (compiles, links), "{arguments}");
        }
    }

    #[test]
    fn openmp_needs_no_library() {
        for arguments in ["-fopenmp a.c", "a.c -fopenmp=libomp -c"] {
            assert!(added(arguments).contains("-Xclang -fopenmp "), "{arguments}");
        }
        assert!(!added("-fopenmp a.o").contains("-fopenmp"));
        assert!(!added("-fopenmp -fno-openmp a.c").contains("-fopenmp"));
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(kept(words("-fopenmp a.o -o a")), words("a.o -o a"));
        assert_eq!(kept(words("-fopenmp --version")), words("-fopenmp --version"));
    }

    #[test]
    fn sanitizers_are_refused() {
        assert!(added("-fsanitize=undefined,thread a.c").starts_with("-fsanitize=thread"));
        assert!(added("-fsanitize=undefined a.c").contains("foretrace_rt"));
    }
}
