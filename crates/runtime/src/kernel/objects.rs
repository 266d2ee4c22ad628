//! Which kernel object a descriptor is.
//!
//! **Invariant.** Two descriptors through which one thread can notice what another does have a
//! channel in common: `dup` shares the object, both ends of a pipe or of a pair of sockets are one,
//! a file is its device and inode. What a number stands for is looked up at each call, since the C
//! library opens and closes files unseen; descriptors that cannot be told apart share one channel.

use std::ffi::c_char;

use foretrace_recording::channel::{self, ANONYMOUS, LOOPBACK};
use foretrace_recording::input::descriptor;
use rustc_hash::{FxHashMap, FxHashSet};

use super::given::Piece;
use super::looks::{Identity, look, look_at, path};
use super::system_files::is_made_up;
use super::{Kernel, looks};
use crate::futex::system_call;

/// What libc calls it is a c_int.
const F_GETPIPE_SZ: usize = libc::F_GETPIPE_SZ as usize;
/// A pipe has so many bytes of room, in 16 pages.
const USUAL_ROOM: i64 = 65536;

/// The number of a port, as addresses have it.
pub(crate) type Port = [u8; 2];

/// What a descriptor stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nothing that anybody could notice: `/dev/null`.
    Nothing,
    /// Random numbers.
    Random,
    /// The process's own output at its start, if that is no file: what is written there orders
    /// nothing.
    Log,
    /// An object that only this process feeds.
    Inside,
    /// An object that this process and others may feed.
    Shared,
    /// A counter (eventfd): who adds to it does not notice others that do.
    Counter,
    /// Another process, a device or the network feeds it too.
    Outside,
    /// A file that the kernel makes up, from what this process and others do.
    System,
    /// A timer in virtual time.
    Timer,
    /// A socket that is not connected: like `Outside`, as long as the process does not talk to
    /// itself.
    Socket,
    /// A socket to the process itself over the network.
    Loopback,
}

/// What a number stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(super) identity: Identity,
    pub(crate) channel: u32,
    pub(crate) kind: Kind,
    pub(super) end: End,
}

/// Which end of a stream of bytes a descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// No end, or not of a stream of bytes.
    None,
    /// Both ends: what is written can be read by the same object.
    Both,
    /// A counter that was 0 at first.
    Counter,
    First,
    Second,
}

/// The descriptors of the process.
#[derive(Default)]
pub(crate) struct Objects {
    slots: Vec<Option<Slot>>,
    pub(super) known: FxHashMap<Identity, Slot>,
    /// The objects that were standard output and standard error at the start, and are no files.
    logs: Vec<Identity>,
    /// Numbers that were given back while there were several threads: who uses one later depends on
    /// who has taken it since.
    pub(super) given_back: Vec<bool>,
    /// Numbers that were opened while there were several threads, with the threads that know of it.
    pub(super) opened: FxHashMap<i32, Vec<u32>>,
    /// The calls that are under way on such numbers: the thread, which did not know of it before.
    pub(super) guessed: Vec<(u32, i32)>,
    /// There are, or were, other processes that share our descriptors.
    pub(crate) forked: bool,
    /// In a replay: children are started again.
    pub(crate) children_again: bool,
    /// Pipes and pairs of sockets that the process has made.
    pub(super) pieces: Vec<Piece>,
    /// Objects of which only children have the other end.
    pub(super) given: Vec<Identity>,
    /// Descriptors that are being connected to the process itself.
    pub(crate) connecting: Vec<i32>,
    /// In a replay: ports that the kernel has chosen, in the recorded run and now.
    pub(crate) ports: Vec<(Port, Port)>,
    /// The process has connected to, or sent to, an address that it has bound itself.
    pub(crate) talks_to_itself: bool,
    /// Epoll objects that watch what the outside feeds.
    pub(super) fed: Vec<u32>,
    /// Files that are in memory, and can be changed there.
    mapped: Vec<Identity>,
    /// Files that the process has opened by name and can write to.
    writable: Vec<Identity>,
    /// Files in memory that the process has made, and that no other one has.
    own: Vec<Identity>,
    /// Files that have changed since the process runs.
    pub(super) answers: FxHashSet<Identity>,
    /// Files of which that is not known, and the calls that are under way on them: the thread, and
    /// the descriptor.
    pub(super) asked: Vec<(u32, i32, Identity)>,
    /// Pages with what is in a file that the process cannot change: where they begin, and how many
    /// bytes.
    shown: Vec<(Identity, u64, u64)>,
    /// The channel of the files that the kernel makes up.
    system_files: Option<u32>,
    /// What standard output and standard error were at the start.
    standard: [Option<Identity>; 2],
    /// An object without a name of its own was found under a number that we did not see it get: it
    /// may be any of them.
    confused: bool,
    /// The channels of objects without a name of their own.
    anonymous: Vec<u32>,
    /// The sockets that the process has connected to itself, by their names.
    connectors: Vec<(Vec<u8>, Slot)>,
    /// The channels of those whose other end is not known yet: it may be on the channel of all such
    /// ends.
    pub(super) unpaired: Vec<u32>,
    /// These, and those that watch timers: the process alone does not decide what they say.
    pub(super) answered: Vec<u32>,
    /// What epoll objects watch: their channel, the descriptor, and what they say of it.
    watched: Vec<(u32, i32, u64)>,
    /// The addresses that sockets were bound to.
    pub(crate) bound: Vec<Vec<u8>>,
}

impl Kernel {
    /// Looks at what the process begins with, and returns what descriptors 0 to 2 are. In a replay
    /// they count as what they were in the recorded run.
    pub(crate) fn begin(&mut self, recorded: Option<[u8; 3]>) -> u64 {
        self.since = looks::now();
        self.objects.standard = [1, 2].map(|number| look(number).map(|found| found.identity));
        if let Some(recorded) = recorded {
            for (descriptor, what) in (0..).zip(recorded) {
                self.pretend(descriptor, what);
            }
        } else {
            self.find_logs();
        }
        let what = |kind: Kind| match kind {
            Kind::Nothing | Kind::Random => descriptor::NOTHING,
            Kind::Log => descriptor::LOG,
            Kind::Outside | Kind::Socket | Kind::Timer | Kind::System => descriptor::OUTSIDE,
            Kind::Inside | Kind::Counter | Kind::Loopback => descriptor::INSIDE,
            Kind::Shared => descriptor::OUTSIDE,
        };
        (0..3).fold(0, |all, number| {
            let found = self.slot(number).map_or(descriptor::CLOSED, |slot| what(slot.kind));
            all | u64::from(found) << (8 * number)
        })
    }

    /// A descriptor counts as what it was.
    fn pretend(&mut self, number: i32, what: u8) {
        let kind = match what {
            descriptor::INSIDE => Kind::Inside,
            descriptor::LOG => Kind::Log,
            descriptor::OUTSIDE => Kind::Outside,
            descriptor::NOTHING => Kind::Nothing,
            _ => return,
        };
        self.created(number, kind, "standard descriptor");
    }

    fn find_logs(&mut self) {
        for descriptor in [1, 2] {
            let Some(found) = look(descriptor) else { continue };
            if found.kind != libc::S_IFREG {
                self.objects.logs.push(found.identity);
            }
        }
    }

    /// Whether standard output, or standard error, is something else than at the start.
    pub(crate) fn is_redirected(&self, descriptor: i32) -> bool {
        let at_first = self.objects.standard.get((descriptor - 1) as usize).copied().flatten();
        look(descriptor).map(|found| found.identity) != at_first
    }

    /// What a descriptor stands for; `None` if it is not open.
    pub(crate) fn slot(&mut self, descriptor: i32) -> Option<Slot> {
        let found = self.look(descriptor)?;
        let identity = found.identity;
        let at = usize::try_from(descriptor).ok()?;
        if let Some(Some(known)) = self.objects.slots.get(at)
            && known.identity == identity
        {
            return Some(*known);
        }
        if let Some(known) = self.objects.known.get(&identity) {
            return Some(*known);
        }
        let of = |what: &str| format!("{what} of descriptor {descriptor}");
        let (kind, name) = match found.kind {
            _ if self.objects.logs.contains(&identity) => (Kind::Log, of("terminal")),
            libc::S_IFREG if is_made_up(descriptor, &found) => (Kind::System, String::new()),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => (Kind::Inside, path(descriptor)),
            // One that has a name, or that we were given: somebody else may have the other end.
            libc::S_IFIFO if descriptor > 2 => (Kind::Shared, of("pipe")),
            libc::S_IFIFO => (Kind::Outside, of("pipe")),
            libc::S_IFSOCK => (Kind::Socket, of("socket")),
            libc::S_IFCHR if found.is_random() => (Kind::Random, String::new()),
            libc::S_IFCHR if found.is_nothing() => (Kind::Nothing, String::new()),
            libc::S_IFCHR => (Kind::Outside, of("device")),
            // Objects without a name of their own all look the same.
            _ => {
                self.confuse();
                return Some(Slot {
                    identity,
                    channel: ANONYMOUS,
                    kind: Kind::Inside,
                    end: End::None,
                });
            }
        };
        let channel = match kind {
            Kind::Nothing | Kind::Random => ANONYMOUS,
            Kind::System => self.system_files(),
            _ => self.channel(name),
        };
        let slot = Slot { identity, channel, kind, end: End::None };
        self.objects.known.insert(identity, slot);
        Some(slot)
    }

    /// What the process writes to one of these files may be read from another one.
    pub(super) fn system_files(&mut self) -> u32 {
        if let Some(known) = self.objects.system_files {
            return known;
        }
        let channel = self.channel("files of the kernel".to_string());
        self.objects.system_files = Some(channel);
        channel
    }

    fn set(&mut self, descriptor: i32, slot: Option<Slot>) {
        let Ok(at) = usize::try_from(descriptor) else { return };
        if slot.is_some() {
            self.has_opened(descriptor);
        }
        if self.objects.slots.len() <= at {
            self.objects.slots.resize(at + 1, None);
        }
        self.objects.slots[at] = slot;
    }

    /// The channel of those who wait for a word in memory.
    pub(crate) fn futex(&mut self, address: u64) -> u32 {
        const MEMORY: u64 = u64::MAX;
        let identity = (MEMORY, address);
        if let Some(known) = self.objects.known.get(&identity) {
            return known.channel;
        }
        let channel = self.channel(format!("futex {address:#x}"));
        let slot = Slot { identity, channel, kind: Kind::Inside, end: End::None };
        self.objects.known.insert(identity, slot);
        channel
    }

    /// A descriptor of a new object that has no inode of its own.
    pub(crate) fn created(&mut self, descriptor: i32, kind: Kind, what: &str) {
        let Some(found) = look(descriptor) else { return };
        let channel = self.channel(format!("{what} of descriptor {descriptor}"));
        let slot = Slot { identity: found.identity, channel, kind, end: End::None };
        self.set(descriptor, Some(slot));
        self.objects.anonymous.push(channel);
        if self.objects.confused {
            self.join(channel, ANONYMOUS);
        }
    }

    /// A counter was made that is 0.
    pub(crate) fn counts_from_zero(&mut self, descriptor: i32) {
        let slot = usize::try_from(descriptor).ok().and_then(|at| self.objects.slots.get_mut(at));
        if let Some(slot) = slot.and_then(Option::as_mut) {
            slot.end = End::Counter;
        }
    }

    /// A descriptor may be any of the objects without a name: all of them are one channel.
    fn confuse(&mut self) {
        if !self.objects.confused {
            self.objects.confused = true;
            for channel in self.objects.anonymous.clone() {
                self.join(channel, ANONYMOUS);
            }
        }
    }

    /// The ends of a pipe.
    pub(crate) fn piped(&mut self, ends: [i32; 2], flags: i32) {
        let name = format!("pipe of descriptors {} and {}", ends[0], ends[1]);
        let channel = self.channel(name);
        // With O_DIRECT it passes on messages; and a user with very many pipes gets small ones.
        let room = system_call(libc::SYS_fcntl, [ends[0] as usize, F_GETPIPE_SZ, 0, 0, 0, 0]);
        let is_stream = flags & libc::O_DIRECT == 0 && room as i64 >= USUAL_ROOM;
        self.made(ends, true);
        for end in ends {
            self.know(end, channel, Kind::Inside, if is_stream { End::Both } else { End::None });
        }
    }

    /// Two sockets that are connected; `stream` if they pass on bytes, and not messages.
    pub(crate) fn paired(&mut self, ends: [i32; 2], stream: bool) {
        let name = format!("pair of sockets of descriptors {} and {}", ends[0], ends[1]);
        let channel = self.channel(name);
        self.made(ends, false);
        let which = if stream { [End::First, End::Second] } else { [End::None; 2] };
        for (end, which) in ends.into_iter().zip(which) {
            self.know(end, channel, Kind::Inside, which);
        }
    }

    /// What the kernel calls the object of this descriptor is this from now on.
    fn know(&mut self, descriptor: i32, channel: u32, kind: Kind, end: End) -> Option<Slot> {
        self.has_opened(descriptor);
        let slot = Slot { identity: look(descriptor)?.identity, channel, kind, end };
        self.objects.known.insert(slot.identity, slot);
        self.set(descriptor, None);
        Some(slot)
    }

    /// Only children have the other end of this object from now on: they feed it.
    pub(super) fn give(&mut self, descriptor: i32) {
        let Some(slot) = self.slot(descriptor) else { return };
        self.know(descriptor, slot.channel, Kind::Outside, End::None);
        self.objects.given.push(slot.identity);
        let watching: Vec<u32> = self.objects.watched.iter().map(|&(by, ..)| by).collect();
        let watched: Vec<i32> = self.objects.watched.iter().map(|&(_, fd, _)| fd).collect();
        for (by, fd) in watching.into_iter().zip(watched) {
            if self.slot(fd).is_some_and(|other| other.identity == slot.identity) {
                self.objects.fed.push(by);
                self.objects.answered.push(by);
            }
        }
    }

    /// A socket is about to be connected to the process itself.
    pub(crate) fn connecting(&mut self, descriptor: i32) {
        let channel = self.channel(format!("connection of descriptor {descriptor}"));
        self.objects.unpaired.push(channel);
        // Who watches the socket already notices what becomes of the connection.
        if let Some(before) = self.slot(descriptor).filter(|slot| !self.is_single(slot.channel)) {
            self.join(before.channel, channel);
        }
        self.know(descriptor, channel, Kind::Loopback, End::First);
        self.objects.connecting.push(descriptor);
    }

    /// A socket is about to be connected to somebody outside.
    pub(crate) fn leaving(&mut self, descriptor: i32) {
        if let Some(slot) = self.slot(descriptor).filter(|slot| slot.kind == Kind::Socket) {
            self.know(descriptor, slot.channel, Kind::Outside, End::None);
        }
    }

    /// It has this name now, by which the other end can tell it.
    pub(crate) fn named(&mut self, descriptor: i32, name: Option<Vec<u8>>) {
        self.objects.connecting.retain(|&other| other != descriptor);
        if let (Some(slot), Some(name)) = (self.slot(descriptor), name) {
            self.objects.connectors.retain(|(known, _)| *known != name);
            self.objects.connectors.push((name, slot));
        }
    }

    /// Whether a socket of this name may be one that the process has connected to itself.
    pub(crate) fn has_connected(&self, name: Option<&[u8]>) -> bool {
        let mut known = self.objects.connectors.iter();
        // Unix sockets that connect have no names.
        known.any(|(known, _)| Some(known.as_slice()) == name)
            || (self.objects.talks_to_itself && name.is_none_or(|name| name.len() < 3))
    }

    /// A connection is accepted from a socket of this name.
    pub(crate) fn accepted(&mut self, descriptor: i32, from: Option<Vec<u8>>) {
        let own = self.objects.connectors.iter().find(|(name, _)| Some(name) == from.as_ref());
        match own {
            Some(&(_, slot)) => {
                self.objects.unpaired.retain(|&channel| channel != slot.channel);
                self.know(descriptor, slot.channel, Kind::Loopback, End::Second)
            }
            // Perhaps one of ours whose name is not known yet.
            None if self.objects.talks_to_itself => {
                self.know(descriptor, LOOPBACK, Kind::Loopback, End::None)
            }
            None => {
                let channel = self.channel(format!("socket of descriptor {descriptor}"));
                self.know(descriptor, channel, Kind::Outside, End::None)
            }
        };
    }

    /// A number is free again, or stands for something else.
    pub(crate) fn gave_back(&mut self, descriptor: i32) {
        let Ok(at) = usize::try_from(descriptor) else { return };
        if self.has_several_threads {
            if self.objects.given_back.len() <= at {
                self.objects.given_back.resize(at + 1, false);
            }
            self.objects.given_back[at] = true;
        }
    }

    /// One number stands for what another one does.
    pub(crate) fn duplicated(&mut self, old: i32, new: i32) {
        let slot = usize::try_from(old).ok().and_then(|at| *self.objects.slots.get(at)?);
        self.set(new, slot);
        self.has_opened(new);
    }

    pub(crate) fn closed(&mut self, descriptor: i32) {
        self.objects.opened.remove(&descriptor);
        self.set(descriptor, None);
        self.remove_timer(descriptor);
        self.objects.watched.retain(|(_, known, _)| *known != descriptor);
    }

    /// The process has made a file that has no name.
    pub(crate) fn made_own(&mut self, descriptor: i32) {
        if let Some(slot) = self.slot(descriptor) {
            self.objects.own.push(slot.identity);
        }
    }

    /// Descriptors go to other processes, and files with them.
    pub(crate) fn pass_on(&mut self) {
        self.objects.own.clear();
    }

    /// Whether nobody else has a file. (Children are another matter.)
    pub(super) fn is_own(&self, file: Identity) -> bool {
        self.objects.own.contains(&file)
    }

    /// A file is changed through memory from now on.
    pub(crate) fn mapped(&mut self, descriptor: i32) {
        if let Some(slot) = self.slot(descriptor) {
            self.objects.mapped.push(slot.identity);
        }
    }

    /// Which object it is, however many descriptors there are of it.
    pub(crate) fn identity(&mut self, descriptor: i32) -> Option<Identity> {
        self.slot(descriptor).map(|slot| slot.identity)
    }

    /// Whether a file may be changed through memory.
    pub(crate) fn is_mapped(&mut self, descriptor: i32) -> bool {
        !self.objects.mapped.is_empty()
            && self
                .slot(descriptor)
                .is_some_and(|slot| self.objects.mapped.contains(&slot.identity))
    }

    /// Whether the process has opened a file by which it can write to this one.
    pub(crate) fn is_written(&mut self, descriptor: i32) -> bool {
        let slot = self.slot(descriptor);
        slot.is_some_and(|slot| self.objects.writable.contains(&slot.identity))
    }

    /// These pages hold what is in a file.
    pub(crate) fn shown(&mut self, descriptor: i32, start: u64, size: u64) {
        if let Some(slot) = self.slot(descriptor) {
            self.objects.shown.push((slot.identity, start, size));
        }
    }

    /// The pages there are gone, or something else.
    pub(crate) fn forget_pages(&mut self, start: u64) {
        self.objects.shown.retain(|&(_, known, _)| known != start);
        self.resized.remove(&(start as usize));
    }

    /// The process can change the file of this name from now on: the pages that show it.
    pub(crate) fn changes_file(&mut self, folder: i32, name: *const c_char) -> Vec<(u64, u64)> {
        let Some(found) = look_at(folder, name) else { return Vec::new() };
        self.objects.answers.insert(found.identity);
        if !self.objects.writable.contains(&found.identity) {
            self.objects.writable.push(found.identity);
        }
        let shown = self.objects.shown.extract_if(.., |(file, ..)| *file == found.identity);
        shown.map(|(_, start, size)| (start, size)).collect()
    }

    /// An epoll object watches a descriptor: their channels become one.
    pub(crate) fn watch(&mut self, epoll: i32, descriptor: i32, says: u64) {
        self.unwatch(epoll, descriptor);
        let (Some(epoll), Some(watched)) = (self.slot(epoll), self.slot(descriptor)) else {
            return;
        };
        self.objects.watched.push((epoll.channel, descriptor, says));
        self.join(epoll.channel, watched.channel);
        let is_outside = self.is_fed(watched);
        if is_outside {
            // So may the outside feed it.
            self.objects.fed.push(epoll.channel);
        }
        let is_timer = watched.kind == Kind::Timer;
        if is_outside || is_timer || self.objects.answered.contains(&watched.channel) {
            self.objects.answered.push(epoll.channel);
        }
    }

    /// It does so no longer.
    pub(crate) fn unwatch(&mut self, epoll: i32, descriptor: i32) {
        let Some(epoll) = self.slot(epoll) else { return };
        self.objects.watched.retain(|&(by, known, _)| (by, known) != (epoll.channel, descriptor));
    }

    /// The descriptor of which an epoll object says this.
    pub(crate) fn watched(&mut self, epoll: i32, says: u64) -> Option<i32> {
        let channel = self.slot(epoll)?.channel;
        let mut known = self.objects.watched.iter();
        known.find(|(by, _, said)| (*by, *said) == (channel, says)).map(|(_, found, _)| *found)
    }

    /// What an epoll object says of a descriptor.
    pub(crate) fn says(&mut self, epoll: i32, descriptor: i32) -> Option<u64> {
        let channel = self.slot(epoll)?.channel;
        let mut known = self.objects.watched.iter();
        known.find(|(by, of, _)| (*by, *of) == (channel, descriptor)).map(|(_, _, says)| *says)
    }
}

const _: () = assert!(LOOPBACK < channel::FIRST_OBJECT);
