//! Which library functions let threads affect each other outside of memory.
//!
//! The plugin asks by name, for each function that a module calls and does not define. What it
//! answers is the first that holds:
//!
//! 1. [`Effect::None`]: the function touches no channel, or the runtime stands before it and
//!    records its channels itself;
//! 2. [`Effect::Stream`] and [`Effect::Hidden`]: which channels it uses is known;
//! 3. `None`: nothing is known of it. It keeps its order with all channels, and the report names
//!    it.
//!
//! A function too many in the first list is a false alarm, one too few costs findings.

pub mod memory;
mod silent;
mod using;

use crate::channel::direction::{BOTH, GIVES, TAKES};
use crate::channel::*;

use silent::{MATHEMATICS, SILENT, SILENT_PREFIXES};
use using::{
    ASKS, CONTENTS, CXX_LISTS, INTERPOSED, LISTS, NAMED, NOTIFIES, QUEUES, STANDARD, STREAMS,
};

/// Names, which white space separates.
#[derive(Clone, Copy)]
struct Names(&'static str);

impl Names {
    fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }

    fn contains(self, name: &str) -> bool {
        self.iter().any(|one| one == name)
    }
}

/// What a function of a library does with channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing, or the runtime knows better.
    None,
    /// Input or output on the stream that is argument number `argument`.
    Stream {
        /// Which argument is the stream.
        argument: u32,
        /// Whether it only writes to the stream.
        output: bool,
    },
    /// Output on the descriptor that is argument number 0.
    Descriptor,
    /// It fails if the descriptor that is argument number 0 is not open, or asks what it is.
    Asks {
        /// Whether only the number matters, not what it stands for.
        number: bool,
    },
    /// It uses the channels of [`HIDDEN`] with this number.
    Hidden(u32),
    /// The same, and it asks or changes what the file has whose name is argument number `argument`.
    Named {
        /// Which argument is the name.
        argument: u32,
        /// The list of [`HIDDEN`].
        list: u32,
    },
    /// Input or output on the message queue whose descriptor is argument number 0.
    Queue,
    /// Output on the stream `stdout`, or `stderr`.
    Standard {
        /// Whether it is `stderr`.
        error: bool,
    },
    /// Input or output on the stream of C++'s library that is argument number 0. Only those on
    /// standard descriptors matter.
    Cxx,
}

/// Lists of channels, each with a [`crate::channel::direction`].
pub const HIDDEN: [&[(u32, u32)]; 22] = [
    &[(RANDOM, BOTH)],
    &[(ENVIRONMENT, TAKES)],
    &[(ENVIRONMENT, BOTH)],
    &[(LIBRARY, BOTH)],
    // A file or stream is opened.
    &[(DESCRIPTORS, BOTH), (NAMES, BOTH), (OUTSIDE, GIVES)],
    // Names of files are looked up.
    &[(NAMES, TAKES)],
    // Names of files change, and others may look.
    &[(NAMES, BOTH), (OUTSIDE, GIVES)],
    // The outside is asked, through descriptors that come and go.
    &[(DESCRIPTORS, BOTH), (NAMES, TAKES), (OUTSIDE, BOTH)],
    // Children come and go, and change files.
    &[(CHILDREN, BOTH), (OUTSIDE, BOTH), (DESCRIPTORS, BOTH), (NAMES, BOTH), (ENVIRONMENT, TAKES)],
    &[(IPC, BOTH), (OUTSIDE, BOTH)],
    // A line for the system's log.
    &[(OUTSIDE, GIVES)],
    // It looks at the time zone or the locale.
    &[(LIBRARY, TAKES), (ENVIRONMENT, TAKES)],
    // It sets them as the environment says.
    &[(LIBRARY, BOTH), (ENVIRONMENT, TAKES)],
    &[(CLOCK, BOTH)],
    &[(LIBRARY, TAKES)],
    // What the kernel or the C library knows of a thread is set, or asked for.
    &[(THREADS, GIVES)],
    &[(THREADS, TAKES)],
    &[(LIBRARY, TAKES), (THREADS, TAKES)],
    &[(SIGNALS, BOTH)],
    // Memory of the program becomes a part of the environment.
    &[(ENVIRONMENT, BOTH)],
    // Threads refer to the same exception; what it is destroyed by may be code of the program, so
    // that the runtime counts them as calls on all channels.
    &[(LIBRARY, BOTH)],
    &[(LIBRARY, BOTH)],
];

/// The list of [`HIDDEN`] of functions on message queues and the like.
pub const QUEUES_LIST: u32 = 9;

/// The list of [`HIDDEN`] of functions that start other processes.
pub const CHILDREN_LIST: u32 = 8;

/// The lists of [`HIDDEN`] of functions that ask for the environment, or change it.
pub const ENVIRONMENT_LISTS: [u32; 2] = [1, 2];

/// The list of [`HIDDEN`] of the function that makes memory of the program a part of it.
pub const SHARED_ENVIRONMENT_LIST: u32 = 19;

/// The list of [`HIDDEN`] of functions on references to exceptions.
pub const EXCEPTIONS_LIST: u32 = 20;

/// The list of [`HIDDEN`] of the end of a handler, which may destroy the exception. As long as
/// there are no other references, nobody else has it.
pub const END_OF_HANDLER_LIST: u32 = 21;

/// What the plugin hands to the runtime: 0 if nothing is known, else what [`decode`] understands.
pub fn code(effect: Option<Effect>) -> u32 {
    match effect {
        None => 0,
        Some(Effect::None) => 1,
        Some(Effect::Stream { output, .. }) => 2 + u32::from(output),
        Some(Effect::Descriptor) => 4,
        Some(Effect::Standard { error }) => 5 + u32::from(error),
        Some(Effect::Cxx) => 7,
        Some(Effect::Asks { number }) => 8 + u32::from(number),
        Some(Effect::Queue) => 10,
        Some(Effect::Hidden(list)) => HIDDEN_CODE + list,
        Some(Effect::Named { list, .. }) => NAMED_CODE + list,
    }
}

const HIDDEN_CODE: u32 = 16;
const NAMED_CODE: u32 = 64;

/// What a [`code`] stands for; which argument the stream or the name is does not matter any more.
pub fn decode(code: u32) -> Option<Effect> {
    match code {
        1 => Some(Effect::None),
        2 | 3 => Some(Effect::Stream { argument: 0, output: code == 3 }),
        4 => Some(Effect::Descriptor),
        5 | 6 => Some(Effect::Standard { error: code == 6 }),
        7 => Some(Effect::Cxx),
        8 | 9 => Some(Effect::Asks { number: code == 9 }),
        10 => Some(Effect::Queue),
        NAMED_CODE.. => {
            known_list(code - NAMED_CODE).map(|list| Effect::Named { argument: 0, list })
        }
        HIDDEN_CODE.. => known_list(code - HIDDEN_CODE).map(Effect::Hidden),
        _ => None,
    }
}

fn known_list(list: u32) -> Option<u32> {
    Some(list).filter(|&list| (list as usize) < HIDDEN.len())
}

/// What is known of a function; `None`: nothing.
pub fn effect(name: &str) -> Option<Effect> {
    let plain = name
        .strip_prefix("__isoc99_")
        .or(name.strip_prefix("__isoc23_"))
        .or(name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk")))
        .unwrap_or(name);
    let plain = plain.strip_suffix("_unlocked").unwrap_or(plain);
    let plain = plain.strip_suffix("64").filter(|rest| is_file_function(rest)).unwrap_or(plain);
    if let Some((_, argument, output)) = STREAMS.iter().find(|(known, ..)| *known == plain) {
        return Some(Effect::Stream { argument: *argument, output: *output });
    }
    if ["dprintf", "vdprintf"].contains(&plain) {
        return Some(Effect::Descriptor);
    }
    if QUEUES.contains(plain) {
        return Some(Effect::Queue);
    }
    if let Some((_, number)) = ASKS.iter().find(|(known, _)| *known == plain) {
        return Some(Effect::Asks { number: *number });
    }
    if let Some((_, error)) = STANDARD.iter().find(|(known, _)| *known == plain) {
        return Some(Effect::Standard { error: *error });
    }
    if let Some((_, argument, list)) = NAMED.iter().find(|(known, ..)| *known == plain) {
        return Some(Effect::Named { argument: *argument, list: *list });
    }
    if let Some((_, list)) = LISTS.iter().find(|(known, _)| *known == plain) {
        return Some(Effect::Hidden(*list));
    }
    if name.starts_with("_Z") {
        return cxx(name);
    }
    let is_silent = SILENT.contains(plain)
        || INTERPOSED.contains(plain)
        || is_mathematical(plain)
        || SILENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_silent.then_some(Effect::None)
}

/// Whether a function may let the kernel send signals when a thread reads or writes.
pub fn asks_for_signals(name: &str) -> bool {
    NOTIFIES.contains(name.strip_suffix("64").unwrap_or(name))
}

/// Whether the runtime stands before a function of the C library, and records it itself: so the C
/// library's own must not be taken for it.
pub fn is_interposed(name: &str) -> bool {
    // Only the plugin stands before these; the C library's own allocate through the runtime.
    let is_plain = ["strdup", "strndup"].contains(&name);
    let by_prefix = SILENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !is_plain && (INTERPOSED.contains(name) || by_prefix)
}

/// C++'s own library. Its streams on files read and write through functions that the runtime stands
/// before.
fn cxx(name: &str) -> Option<Effect> {
    let opens = ["basic_filebuf", "basic_ifstream", "basic_ofstream", "basic_fstream"];
    if opens.iter().any(|part| name.contains(part)) {
        return Some(Effect::Hidden(4));
    }
    if name.starts_with("_ZNSt10filesystem") || name.starts_with("_ZNKSt10filesystem") {
        // Which file it is that is asked about or changed is not known here.
        let of_contents = CONTENTS.iter().any(|part| name.contains(part));
        return (!of_contents).then_some(Effect::Hidden(6));
    }
    let is_stream = ["_ZNSo", "_ZNSi", "_ZNKSo", "_ZNKSi", "_ZNSd", "_ZSt4endl", "_ZSt5flush"];
    let names_stream = is_stream.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with("_ZSt") || name.starts_with("_ZNSt"))
            && ["basic_ostream", "basic_istream"].iter().any(|part| name.contains(part));
    // Constructors and destructors: there is no stream yet, or none any more.
    let is_life = ["C1E", "C2E", "D0E", "D1E", "D2E"].iter().any(|part| name.contains(part));
    if names_stream && !is_life {
        return Some(Effect::Cxx);
    }
    if let Some((_, list)) = CXX_LISTS.iter().find(|(part, _)| name.contains(part)) {
        return Some(Effect::Hidden(*list));
    }
    let known = ["_ZNSt", "_ZNKSt", "_ZSt", "_ZNSs", "_ZNKSs", "_ZNSo", "_ZNSi", "_ZNSd", "_ZNSa"];
    let also =
        ["_ZTHSt", "_ZTWSt", "_Znw", "_Zna", "_Zdl", "_Zda", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"];
    let abi = ["_ZN10__cxxabiv1", "_ZNK10__cxxabiv1"];
    let mut prefixes = known.iter().chain(&also).chain(&abi);
    prefixes.any(|prefix| name.starts_with(prefix)).then_some(Effect::None)
}

/// Functions of math.h and complex.h, in their three widths.
fn is_mathematical(name: &str) -> bool {
    let narrow = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let plain = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_finite"));
    [name, narrow, plain.unwrap_or(name)].iter().any(|name| MATHEMATICS.contains(name))
}

/// Those that have a variant for large files.
fn is_file_function(name: &str) -> bool {
    INTERPOSED.contains(name)
        || LISTS.iter().any(|(known, _)| *known == name)
        || NAMED.iter().any(|(known, ..)| *known == name)
        || STREAMS.iter().any(|(known, ..)| *known == name)
        || ASKS.iter().any(|(known, _)| *known == name)
}

/// The functions before which the runtime stands, under all names by which [`effect`] knows them.
pub fn interposed() -> Vec<String> {
    let variants = |name: &str| [name.to_string(), format!("{name}64"), format!("__{name}_chk")];
    INTERPOSED.iter().flat_map(variants).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_one_place() {
        let mut all: Vec<&str> = STREAMS.iter().map(|one| one.0).collect();
        all.extend(LISTS.iter().map(|one| one.0));
        all.extend(STANDARD.iter().map(|one| one.0));
        all.extend(NAMED.iter().map(|one| one.0));
        all.extend(ASKS.iter().map(|one| one.0));
        for name in all {
            assert!(!SILENT.contains(name), "{name}");
            assert!(!INTERPOSED.contains(name), "{name}");
        }
        for (name, list) in LISTS {
            assert!((*list as usize) < HIDDEN.len(), "{name}");
        }
    }

    #[test]
    fn names_are_found_in_their_variants() {
        let nothing = Some(Effect::None);
        for name in
            ["strlen", "sinf", "__memcpy_chk", "pthread_create", "_ZNSt6thread4joinEv", "open64"]
        {
            assert_eq!(effect(name), nothing, "{name}");
        }
        assert_eq!(effect("__fprintf_chk"), Some(Effect::Stream { argument: 0, output: true }));
        assert_eq!(effect("__isoc99_fscanf"), Some(Effect::Stream { argument: 0, output: false }));
        assert_eq!(effect("fopen64"), Some(Effect::Named { argument: 0, list: 4 }));
        assert_eq!(effect("__printf_chk"), Some(Effect::Standard { error: false }));
        assert_eq!(effect("_ZNSo5flushEv"), Some(Effect::Cxx));
        assert_eq!(effect("getc_unlocked"), Some(Effect::Stream { argument: 0, output: false }));
        for name in ["event_base_loop", "SSL_read", "_ZN3foo3barEv", "uv_run"] {
            assert_eq!(effect(name), None, "{name}");
        }
    }
}
