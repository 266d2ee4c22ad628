//! As much of clang's command line as decides what clang will do.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What clang is asked for.
#[derive(Default, Debug)]
pub(super) struct CommandLine {
    /// Some input is source code.
    pub(super) compiles: bool,
    /// A program or a shared library is made.
    pub(super) links: bool,
    /// It is to be linked statically.
    pub(super) is_static: bool,
    /// A sanitizer that cannot work together with us.
    pub(super) sanitizer: Option<String>,
    /// Directives of OpenMP are followed.
    pub(super) openmp: bool,
    /// The user says which debug information to make.
    pub(super) debugs: bool,
}

/// Options whose value is the next argument.
const WITH_VALUE: &str = "\
    -A -B -D -F -G -I -L -MF -MJ -MQ -MT -T -U -Xanalyzer -Xarch_device -Xarch_host \
    -Xassembler -Xclang -Xlinker -Xopenmp-target -Xpreprocessor -arch -cxx-isystem \
    -dependency-file -dumpdir -e -h -idirafter -iframework -imacros -include \
    -include-pch -iprefix -iquote -isysroot -isystem -isystem-after -ivfsoverlay \
    -iwithprefix -iwithprefixbefore -iwithsysroot -l -mllvm -o -resource-dir -rpath \
    -target -u -working-directory -x -z --param --sysroot";

/// Options after which clang does not link.
const NO_LINKING: &str = "\
    -c -S -E -M -MM -fsyntax-only -emit-ast -emit-interface-stubs -extract-api \
    -module-file-info -verify-pch --analyze --assemble --compile --precompile \
    --preprocess -fdriver-only";

/// What the linker is told for a partial link, which must not get a runtime.
const PARTIAL: [&str; 3] = ["-r", "-i", "--relocatable"];

const SANITIZERS: [&str; 5] = ["address", "hwaddress", "kernel-address", "memory", "thread"];

/// Response files may name others.
const NESTING: usize = 16;

impl CommandLine {
    pub(super) fn parse(arguments: &[OsString]) -> CommandLine {
        // The compiler proper, as clang's driver calls it: nothing may come before.
        if arguments.first().is_some_and(|first| first.as_bytes().starts_with(b"-cc1")) {
            return CommandLine::default();
        }
        let mut expanded = Vec::new();
        expand(arguments, NESTING, &mut expanded);

        let mut reader = Reader::default();
        let mut arguments = expanded.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                arguments.by_ref().for_each(|file| reader.input(&file));
            } else if argument == "-" || !argument.starts_with('-') {
                reader.input(&argument);
            } else if is_among(&argument, WITH_VALUE) {
                let value = arguments.next().unwrap_or_default();
                reader.option(&argument, &value);
            } else {
                reader.option(&argument, "");
            }
        }
        reader.finish()
    }
}

#[derive(Default)]
struct Reader {
    /// From `-x`, unless that is `none`.
    language: Option<String>,
    has_input: bool,
    has_source: bool,
    only_headers: bool,
    stops_early: bool,
    is_partial: bool,
    is_static: bool,
    sanitizer: Option<String>,
    openmp: bool,
    debugs: bool,
}

impl Reader {
    fn option(&mut self, option: &str, value: &str) {
        match option {
            "-x" => self.language = (value != "none").then(|| value.to_string()),
            "-r" => self.is_partial = true,
            "-Xlinker" => self.linker(value),
            "-static" | "--static" | "-static-pie" => self.is_static = true,
            _ if is_among(option, NO_LINKING) => self.stops_early = true,
            _ if option.starts_with("-g") => self.debugs = true,
            _ if switches_openmp(option) => self.openmp = option != NO_OPENMP,
            _ => {
                if let Some(language) =
                    option.strip_prefix("-x").or(option.strip_prefix("--language="))
                {
                    self.language = (language != "none").then(|| language.to_string());
                } else if let Some(options) = option.strip_prefix("-Wl,") {
                    options.split(',').for_each(|option| self.linker(option));
                } else if let Some(names) = option.strip_prefix("-fsanitize=") {
                    let refused = names.split(',').find(|name| SANITIZERS.contains(name));
                    self.sanitizer = refused.map(str::to_string).or(self.sanitizer.take());
                }
            }
        }
    }

    fn linker(&mut self, option: &str) {
        self.is_partial |= PARTIAL.contains(&option);
        self.is_static |= option == "-static";
    }

    fn input(&mut self, file: &str) {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_header = match &self.language {
            Some(language) => language.ends_with("-header") || language.ends_with("-header-unit"),
            None => matches!(extension, "h" | "hh" | "hpp" | "hxx" | "H" | "h++"),
        };
        self.only_headers = is_header && (self.only_headers || !self.has_input);
        self.has_input = true;
        self.has_source |= self.language.is_some() || !is_for_linker(file, extension);
    }

    fn finish(self) -> CommandLine {
        let links = self.has_input && !self.stops_early && !self.is_partial && !self.only_headers;
        CommandLine {
            compiles: self.has_source,
            links,
            is_static: self.is_static,
            sanitizer: self.sanitizer.filter(|_| self.has_input),
            openmp: self.openmp,
            debugs: self.debugs,
        }
    }
}

const NO_OPENMP: &str = "-fno-openmp";

/// Whether the option says that directives of OpenMP are followed, or that they are not.
fn switches_openmp(option: &str) -> bool {
    option == "-fopenmp" || option.starts_with("-fopenmp=") || option == NO_OPENMP
}

/// The arguments without those that make clang link a runtime of OpenMP: ours has what it has.
pub(super) fn without_openmp(arguments: &[OsString]) -> Vec<OsString> {
    let mut expanded = Vec::new();
    expand(arguments, NESTING, &mut expanded);
    let mut kept = Vec::new();
    let mut all = expanded.into_iter();
    while let Some(argument) = all.next() {
        let option = argument.to_string_lossy().into_owned();
        if option == "--" {
            kept.push(argument);
            kept.extend(all.by_ref());
        } else if is_among(&option, WITH_VALUE) {
            kept.push(argument);
            kept.extend(all.next());
        } else if !switches_openmp(&option) {
            kept.push(argument);
        }
    }
    kept
}

fn is_among(option: &str, options: &str) -> bool {
    options.split(' ').any(|one| one == option)
}

/// Clang hands everything to the linker whose extension it does not know; we only need to know that
/// it does not compile these.
fn is_for_linker(file: &str, extension: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(extension, "o" | "a" | "so" | "lo" | "la" | "obj" | "lds" | "ld" | "map" | "ver")
        || name.contains(".so.")
}

/// Puts the contents of response files (`@file`) in their place.
fn expand(arguments: &[OsString], nesting: usize, expanded: &mut Vec<OsString>) {
    for argument in arguments {
        let file = argument.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes);
        match file.filter(|_| nesting > 0).and_then(|file| std::fs::read(file).ok()) {
            Some(contents) => expand(&words(&contents), nesting - 1, expanded),
            None => expanded.push(argument.clone()),
        }
    }
}

/// The arguments in a response file, quoted as GNU does.
fn words(contents: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = contents.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            b'"' | b'\'' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if byte.is_ascii_whitespace() && quote.is_none() => {
                words.extend(word.take().map(OsString::from_vec));
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_files_are_split_as_gnu_does() {
        let split = words(b"-c 'a b.c'\n\"-DX=\\\"1\\\"\" c\\ d ''");
        assert_eq!(split, ["-c", "a b.c", "-DX=\"1\"", "c d", ""].map(OsString::from));
    }

    #[test]
    fn openmp_is_taken_out() {
        let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let asked = |text| CommandLine::parse(&line(text)).openmp;
        assert!(asked("-fopenmp a.c") && asked("-fno-openmp a.c -fopenmp=libgomp"));
        assert!(!asked("-fopenmp -fno-openmp a.c") && !asked("-fopenmp-simd a.c"));
        assert!(!asked("-Xclang -fopenmp a.c"), "clang's own option needs no library");
        let kept = without_openmp(&line(
            "-fopenmp=libomp -fopenmp-simd -o -fopenmp a.c -fno-openmp -fopenmp -- -fopenmp",
        ));
        assert_eq!(kept, line("-fopenmp-simd -o -fopenmp a.c -- -fopenmp"));
    }

    #[test]
    fn values_are_not_inputs() {
        let arguments =
            ["-o", "a.c", "-MF", "b.c", "-Xclang", "c.c", "--param", "x=1"].map(OsString::from);
        let command_line = CommandLine::parse(&arguments);
        assert!(!command_line.compiles && !command_line.links, "{command_line:?}");
    }
}
