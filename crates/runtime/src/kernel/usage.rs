//! Which channels a call on a descriptor uses, and who else takes part in it.

use std::ffi::c_char;

use foretrace_recording::channel::direction::{BOTH, GIVES, TAKES};
use foretrace_recording::channel::{DESCRIPTORS, LOOPBACK, OUTSIDE};
use foretrace_recording::record::stream;

use super::Kernel;
use super::looks::{Found, Identity, last_change, look_at};
use super::objects::{End, Kind, Slot};
use super::system_files::is_name_made_up;
use super::uses::Uses;

impl Kernel {
    /// How a call on this descriptor is a call on a stream of bytes, see [`stream`]: 0 if it is
    /// none.
    pub(crate) fn stream(&mut self, descriptor: i32, writes: bool) -> u8 {
        let Some(slot) = self.slot(descriptor) else { return 0 };
        if self.objects.forked || !self.is_single(slot.channel) {
            return 0;
        }
        let back = match slot.end {
            End::None => return 0,
            End::Both => 0,
            End::Counter => stream::COUNTER,
            End::First => u8::from(!writes) * stream::BACK,
            End::Second => u8::from(writes) * stream::BACK,
        };
        back | if writes { stream::WRITE } else { stream::READ }
    }

    /// What a call on this number depends on before it comes to an object: a number that is not
    /// open may have been, or be soon, one that was given back before has been taken again, and one
    /// that another thread has opened may not have been open when the thread guesses it. That a
    /// thread guesses right it notices the first time that it uses the number.
    fn number(&mut self, descriptor: i32, is_open: bool) -> Uses {
        let Ok(at) = usize::try_from(descriptor) else { return Uses::default() };
        match is_open {
            // Who closes only takes.
            false => Uses::of(&[(DESCRIPTORS, BOTH)]),
            true if self.objects.given_back.get(at) == Some(&true) => {
                Uses::of(&[(DESCRIPTORS, TAKES)])
            }
            true if self.objects.opened.contains_key(&descriptor) => {
                let thread = crate::thread::glance().map_or(u32::MAX, |thread| thread.index);
                if self.objects.opened[&descriptor].contains(&thread) {
                    return Uses::default();
                }
                if !self.objects.guessed.contains(&(thread, descriptor)) {
                    self.objects.guessed.push((thread, descriptor));
                }
                Uses::of(&[(DESCRIPTORS, TAKES)])
            }
            true => Uses::default(),
        }
    }

    /// Behind a call of a thread: it knows the numbers that the call was about.
    pub(super) fn knows_numbers(&mut self, thread: u32) {
        for (_, number) in self.objects.guessed.extract_if(.., |(by, _)| *by == thread) {
            self.objects.opened.entry(number).and_modify(|knowing| knowing.push(thread));
        }
    }

    /// A thread has opened a number.
    pub(crate) fn has_opened(&mut self, number: i32) {
        let thread = crate::thread::glance().map(|thread| thread.index);
        match self.has_several_threads {
            true => drop(self.objects.opened.insert(number, thread.into_iter().collect())),
            false => drop(self.objects.opened.remove(&number)),
        }
    }

    /// A call that fails if the number is not open, and does not depend on what it stands for.
    pub(crate) fn of_number(&mut self, descriptor: i32) -> Uses {
        let is_open = self.slot(descriptor).is_some();
        let mut uses = self.number(descriptor, is_open);
        if self.has_several_threads {
            // Whether it is open may be all that the caller wants to know.
            uses.add(DESCRIPTORS, TAKES);
        }
        uses
    }

    /// Whether the kernel says by a descriptor what a process has in its memory, or which threads:
    /// the file is below `/proc/NUMBER`.
    pub(crate) fn is_about_process(&mut self, descriptor: i32) -> bool {
        if self.slot(descriptor).is_none_or(|slot| slot.kind != Kind::System) {
            return false;
        }
        let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}"));
        name.is_ok_and(|name| {
            let mut parts = name.components().skip(1);
            let is_number = |part: std::path::Component| {
                part.as_os_str().to_str().is_some_and(|part| part.parse::<u32>().is_ok())
            };
            parts.next().is_some_and(|part| part.as_os_str() == "proc")
                && parts.next().is_some_and(is_number)
        })
    }

    /// Whether others feed an object, or something that it watches.
    pub(super) fn is_fed(&self, slot: Slot) -> bool {
        let channel = self.find(slot.channel);
        let fed = [Kind::Outside, Kind::Log, Kind::Socket, Kind::Shared, Kind::System];
        fed.contains(&slot.kind) || self.objects.fed.iter().any(|&fed| self.find(fed) == channel)
    }

    /// Whether others than this process may feed a descriptor.
    pub(crate) fn is_fed_from_outside(&mut self, descriptor: i32) -> bool {
        self.objects.forked || self.slot(descriptor).is_some_and(|slot| self.is_fed(slot))
    }

    /// Whether others than this process decide what it reads from a descriptor.
    pub(crate) fn is_answered_by_others(&mut self, descriptor: i32) -> bool {
        let Some(slot) = self.slot(descriptor) else { return false };
        match slot.kind {
            Kind::Outside | Kind::Log | Kind::Timer | Kind::Random | Kind::System => true,
            Kind::Socket => !self.objects.talks_to_itself,
            Kind::Inside => self.objects.answered.contains(&slot.channel),
            Kind::Nothing | Kind::Counter | Kind::Loopback | Kind::Shared => false,
        }
    }

    /// Whether what is written to a descriptor goes to others than this process.
    pub(crate) fn goes_to_others(&mut self, descriptor: i32) -> bool {
        let Some(slot) = self.slot(descriptor) else { return false };
        match slot.kind {
            Kind::Outside | Kind::System => true,
            Kind::Socket => !self.objects.talks_to_itself,
            _ => false,
        }
    }

    /// A call that reads from a descriptor.
    pub(crate) fn input(&mut self, descriptor: i32) -> Uses {
        self.asking(descriptor, BOTH)
    }

    /// A call that asks about a descriptor, and changes nothing.
    pub(crate) fn question(&mut self, descriptor: i32) -> Uses {
        self.asking(descriptor, TAKES)
    }

    fn asking(&mut self, descriptor: i32, how: u32) -> Uses {
        let slot = self.slot(descriptor);
        let mut uses = self.number(descriptor, slot.is_some());
        let Some(slot) = slot else { return uses };
        if matches!(slot.kind, Kind::Nothing | Kind::Random) {
            return uses;
        }
        // Who adds to a counter only takes, so whoever asks about one gives: the two keep their
        // order.
        let counts = slot.kind == Kind::Counter || !self.is_single(slot.channel);
        uses.add(slot.channel, if counts { BOTH } else { how });
        if slot.kind == Kind::Socket
            || slot.channel == LOOPBACK
            || self.objects.unpaired.contains(&slot.channel)
        {
            // Who connects to ourselves, or has an end that we do not know, may be noticed here.
            uses.add(LOOPBACK, BOTH);
        }
        let outside = self.is_fed(slot)
            || slot.kind == Kind::Timer
            || self.objects.answered.iter().any(|&one| self.find(one) == self.find(slot.channel));
        if outside
            || (self.objects.forked && slot.kind != Kind::Loopback)
            || (slot.kind == Kind::Inside
                && self.look(descriptor).is_some_and(|found| found.kind == libc::S_IFREG)
                && !self.is_own(slot.identity)
                && self.is_answer(descriptor, slot.identity))
        {
            uses.add(OUTSIDE, TAKES);
        }
        uses
    }

    /// Whether a file is known to have changed since the process runs: somebody outside may have
    /// answered by it. If it is not known, that is looked for behind the call.
    fn is_answer(&mut self, descriptor: i32, file: Identity) -> bool {
        if !self.has_several_threads || self.objects.answers.contains(&file) {
            return self.has_several_threads;
        }
        let thread = crate::thread::glance().map_or(u32::MAX, |thread| thread.index);
        if !self.objects.asked.contains(&(thread, descriptor, file)) {
            self.objects.asked.push((thread, descriptor, file));
        }
        false
    }

    /// Behind a call of a thread: whether a file that it was about has changed for the first time
    /// since the process runs.
    pub(super) fn has_new_answer(&mut self, thread: u32) -> bool {
        if self.objects.asked.is_empty() {
            return false;
        }
        let asked: Vec<_> = self.objects.asked.extract_if(.., |(by, ..)| *by == thread).collect();
        let since = self.since;
        let new = asked.into_iter().filter(|&(_, descriptor, _)| {
            last_change(descriptor, None).is_some_and(|time| time >= since)
        });
        let before = self.objects.answers.len();
        self.objects.answers.extend(new.map(|(_, _, file)| file));
        self.objects.answers.len() > before
    }

    /// A call that writes to a descriptor; `surely` if it does not have to wait, and all of it is
    /// written.
    pub(crate) fn output(&mut self, descriptor: i32, surely: bool) -> Uses {
        let slot = self.slot(descriptor);
        let mut uses = self.number(descriptor, slot.is_some());
        let Some(slot) = slot else { return uses };
        match slot.kind {
            Kind::Nothing | Kind::Random => return uses,
            // Whoever reads it may answer.
            Kind::Log => {
                uses.add(OUTSIDE, GIVES);
                return uses;
            }
            // Those who add keep their order with those who read, not among each other.
            Kind::Counter => uses.add(slot.channel, if surely { TAKES } else { BOTH }),
            Kind::Inside => {
                uses.add(slot.channel, if surely { GIVES } else { BOTH });
                if self.look(descriptor).is_some_and(|found| found.kind == libc::S_IFREG) {
                    uses.add(OUTSIDE, GIVES);
                }
            }
            Kind::Shared | Kind::System => {
                uses.add(slot.channel, BOTH);
                uses.add(OUTSIDE, BOTH);
            }
            Kind::Loopback if surely && slot.end != End::None => uses.add(slot.channel, GIVES),
            Kind::Loopback => uses.add(slot.channel, BOTH),
            Kind::Outside | Kind::Timer | Kind::Socket if surely => {}
            Kind::Outside | Kind::Timer | Kind::Socket => {
                uses.add(slot.channel, BOTH);
                uses.add(OUTSIDE, TAKES);
            }
        }
        if slot.kind == Kind::Socket || self.objects.unpaired.contains(&slot.channel) {
            // Perhaps to ourselves.
            uses.add(LOOPBACK, BOTH);
        }
        if matches!(slot.kind, Kind::Outside | Kind::Timer | Kind::Socket) || self.objects.forked {
            uses.add(OUTSIDE, GIVES);
        }
        uses
    }

    /// A call that may do anything with a descriptor.
    pub(crate) fn both(&mut self, descriptor: i32) -> Uses {
        let mut uses = self.input(descriptor);
        uses.join(&self.output(descriptor, false));
        uses
    }

    /// Whether writing so many bytes to a descriptor neither waits nor stops half-way. (Where
    /// threads run one at a time: nobody else can fill it meanwhile.)
    pub(crate) fn takes_at_once(&mut self, descriptor: i32, size: usize) -> bool {
        const SURELY: usize = 4096; // PIPE_BUF
        let is_file = self.look(descriptor).is_some_and(|found| found.kind == libc::S_IFREG);
        let alone = crate::config::mode() == crate::config::Mode::Scheduled;
        is_file || (alone && size <= SURELY && self.has_room(descriptor))
    }

    /// The channels of a call that asks about the file of this name, or changes it.
    pub(crate) fn named_file(&mut self, name: *const c_char, changes: bool) -> Uses {
        self.named_file_in(libc::AT_FDCWD, name, changes)
    }

    /// The same of a name in a folder.
    pub(crate) fn named_file_in(
        &mut self,
        folder: i32,
        name: *const c_char,
        changes: bool,
    ) -> Uses {
        let mut uses = Uses::default();
        let is_file = |found: &Found| found.kind == libc::S_IFREG;
        let found = look_at(folder, name);
        if self.has_several_threads
            && (found.is_none()
                || last_change(folder, Some(name)).is_some_and(|time| time >= self.since))
        {
            // Somebody outside may have made it, or make it just now.
            uses.add(OUTSIDE, TAKES);
        }
        let Some(found) = found.filter(is_file) else { return uses };
        let identity = found.identity;
        let channel = match self.objects.known.get(&identity) {
            Some(known) => known.channel,
            None if is_name_made_up(folder, name, &found) => self.system_files(),
            None => {
                // SAFETY: the file of this name was found, so it is a C string.
                let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned();
                let channel = self.channel(name);
                let slot = Slot { identity, channel, kind: Kind::Inside, end: End::None };
                self.objects.known.insert(identity, slot);
                channel
            }
        };
        uses.add(channel, if changes { BOTH } else { TAKES });
        uses
    }
}
