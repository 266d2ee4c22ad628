//! Calls through which threads affect each other outside of memory: what `docs/recording.md` calls
//! *channels*.
//!
//! | file | what it does |
//! | --- | --- |
//! | `uses` | the channels of one call |
//! | `looks` | what the kernel says of a descriptor |
//! | `objects` | which kernel object a descriptor is |
//! | `usage` | which channels a call on a descriptor uses |
//! | `calls` | the two ends of a call: enter, leave |
//! | `exchange` | calls that may get something from outside: kept in recordings, answered in replays |
//! | `files` | files that the process changes, and where replays have them |
//! | `system_files` | files that the kernel makes up |
//! | `given` | pipes whose other end only children have |
//! | `ready` | waiting for descriptors without blocking in the kernel |
//! | `timers` | timers with a descriptor, in virtual time |

pub(crate) mod calls;
pub(crate) mod exchange;
pub(crate) mod files;
pub(crate) mod given;
pub(crate) mod limits;
pub(crate) mod looks;
pub(crate) mod objects;
pub(crate) mod ready;
pub(crate) mod system_files;
pub(crate) mod timers;
mod usage;
pub(crate) mod uses;

use foretrace_recording::channel;
use foretrace_recording::channel::direction::GIVES;
use foretrace_recording::file::table;
use foretrace_recording::library::{self, Effect};
use rustc_hash::FxHashMap;

use crate::interpose::stream_buffers::Buffer;
use crate::log::Writer;
use objects::Objects;
use uses::Uses;

/// What the world knows of channels.
#[derive(Default)]
pub(crate) struct Kernel {
    pub(crate) objects: Objects,
    looks: looks::Looks,
    files: files::Files,
    /// Blocks that a thread has made larger or smaller in place, while there were others.
    pub(crate) resized: FxHashMap<usize, u32>,
    /// Since when the process runs, in seconds and nanoseconds.
    since: (i64, u32),
    /// The program has, or has had, more than one thread.
    pub(crate) has_several_threads: bool,
    /// Memory of the program is a part of the environment.
    pub(crate) shares_environment: bool,
    /// Threads may refer to the same exceptions.
    pub(crate) shares_exceptions: bool,
    /// The kernel has been asked for signals when something can be read: whoever writes sends them.
    pub(crate) sends_signals: bool,
    /// The lists of channels that calls have used, with their numbers.
    lists: FxHashMap<Vec<u64>, u64>,
    /// Which channel a channel has become a part of; itself if none.
    parents: Vec<u32>,
    /// The channels that are several objects' by now.
    joined: Vec<u32>,
    /// Pairs of channels that have become one, as far as the recording does not say so yet.
    news: Vec<[u32; 2]>,
    /// How many channels are written to the recording.
    written: usize,
    names: Vec<String>,
    /// Functions that nothing is known of, once they were called.
    unknown: Vec<u64>,
    /// Functions that were called through pointers, in order, and whether they are known to touch
    /// no channel.
    silent: Vec<(u64, bool)>,
    /// Those of them that read the text which is their first argument.
    texts: Vec<u64>,
    /// Those of them that may access memory.
    touching: Vec<u64>,
    /// Memory of the program that streams use.
    pub(crate) buffers: Vec<Buffer>,
    /// Timers in virtual time.
    timers: Vec<timers::Timer>,
}

impl Kernel {
    /// A new channel for a kernel object.
    pub(crate) fn channel(&mut self, name: String) -> u32 {
        let number = channel::FIRST_OBJECT + self.names.len() as u32;
        self.names.push(name);
        self.parents.push(number);
        number
    }

    /// What a channel is a part of now.
    pub(crate) fn find(&self, mut channel: u32) -> u32 {
        while let Some(&parent) = self.parent(channel).filter(|&&parent| parent != channel) {
            channel = parent;
        }
        channel
    }

    /// Whether a channel is that of one object alone.
    pub(crate) fn is_single(&self, channel: u32) -> bool {
        !self.joined.contains(&self.find(channel))
    }

    fn parent(&self, channel: u32) -> Option<&u32> {
        self.parents.get(channel.checked_sub(channel::FIRST_OBJECT)? as usize)
    }

    /// From now on, what happens on one channel happens on the other too.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        let (child, parent) = (one.max(other), one.min(other));
        if !self.joined.contains(&parent) {
            self.joined.push(parent);
        }
        if child != parent {
            self.news.push([child, parent]);
        }
        // A fixed channel stays what it is.
        if child != parent && child >= channel::FIRST_OBJECT {
            self.parents[(child - channel::FIRST_OBJECT) as usize] = parent;
        }
    }

    /// The number of a list of channels, which is written to the recording when it is new. 0 is the
    /// list of all of them.
    pub(crate) fn list(&mut self, tables: &mut Writer, uses: &Uses) -> u64 {
        self.write_channels(tables);
        for pair in self.news.drain(..) {
            let bytes = pair.map(|channel| u64::from(channel).to_le_bytes());
            tables.table(table::JOINED, &[bytes.as_flattened()]);
        }
        if uses.is_every() {
            self.anybody_may_have_written();
            return channel::EVERY;
        }
        let words = uses.words(|channel| self.find(channel));
        if let Some(&known) = self.lists.get(&words) {
            return known;
        }
        let number = self.lists.len() as u64 + 1;
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        tables.table(table::CHANNELS, &[&bytes]);
        self.lists.insert(words, number);
        number
    }

    fn write_channels(&mut self, tables: &mut Writer) {
        if self.written == 0 {
            for (number, name) in channel::NAMES_OF_FIXED {
                tables.table(table::CHANNEL, &[&u64::from(number).to_le_bytes(), name.as_bytes()]);
            }
            self.written = 1;
        }
        while let Some(name) = self.names.get(self.written - 1) {
            let number = u64::from(channel::FIRST_OBJECT) + self.written as u64 - 1;
            tables.table(table::CHANNEL, &[&number.to_le_bytes(), name.as_bytes()]);
            self.written += 1;
        }
    }

    /// The channels of a call, with those of the signals that it may send.
    pub(crate) fn with_signals(&self, mut uses: Uses) -> Uses {
        if self.sends_signals && !uses.is_empty() {
            uses.add(channel::SIGNALS, GIVES);
            uses.add(channel::OUTSIDE, GIVES);
        }
        uses
    }

    /// Whether a function that is called through a pointer touches no channel: it is one of the C
    /// library's, or of those by which we stand before them.
    pub(crate) fn is_silent(&mut self, function: u64) -> bool {
        match self.silent.binary_search_by_key(&function, |&(known, _)| known) {
            Ok(at) => self.silent[at].1,
            Err(at) => {
                let (name, own) = (symbol(function), is_beside as *const () as u64);
                // The C library has some of its functions under two names.
                let name = name.strip_prefix("__").unwrap_or(&name);
                let is_ours = is_beside(function, own);
                let is_known = is_beside(function, libc::gnu_get_libc_version as *const () as u64)
                    && !library::is_interposed(name);
                let is_silent =
                    (is_ours || is_known) && library::effect(name) == Some(Effect::None);
                self.silent.insert(at, (function, is_silent));
                if is_silent && library::memory::strings_read_by(name).contains(&0) {
                    self.texts.push(function);
                }
                if is_silent && !is_ours {
                    self.touching.push(function);
                }
                is_silent
            }
        }
    }

    /// Whether a function that was found to touch no channel may access memory of the program.
    pub(crate) fn touches_memory(&self, function: u64) -> bool {
        self.touching.contains(&function)
    }

    /// Whether a function that was found to touch no channel reads the text that is its first
    /// argument.
    pub(crate) fn reads_text(&self, function: u64) -> bool {
        self.texts.contains(&function)
    }

    /// Notes the name of a function that nothing is known of, once.
    pub(crate) fn unknown(&mut self, tables: &mut Writer, function: u64) {
        if let Err(at) = self.unknown.binary_search(&function) {
            self.unknown.insert(at, function);
            let name = symbol(function);
            self.sends_signals |= library::asks_for_signals(&name);
            tables.table(table::UNKNOWN_FUNCTION, &[&function.to_le_bytes(), name.as_bytes()]);
        }
    }
}

/// Whether two functions are of the same library.
fn is_beside(one: u64, other: u64) -> bool {
    // SAFETY: `dladdr` takes any address, and fills in a local variable.
    let library = |function: u64| unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(function as *const libc::c_void, &mut found) != 0;
        known.then_some(found.dli_fbase as u64)
    };
    library(one).is_some() && library(one) == library(other)
}

/// The name of the function at an address.
fn symbol(function: u64) -> String {
    // SAFETY: `dladdr` takes any address, and fills in a local variable; a name is a C string of
    // the library that the function is in.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(function as *const libc::c_void, &mut found) != 0;
        if known && !found.dli_sname.is_null() && found.dli_saddr as u64 == function {
            return std::ffi::CStr::from_ptr(found.dli_sname).to_string_lossy().into_owned();
        }
    }
    String::new()
}
