//! Calls whose results may come from outside of the process.
//!
//! A recording keeps what such a call returned and the memory that it set, if somebody outside may
//! have decided it. A replay does not make the call then: it gives the same result at the same
//! place. A call on the outside that the recording does not have ends the replay.

use foretrace_recording::channel::DESCRIPTORS;
use foretrace_recording::channel::direction::BOTH;
use foretrace_recording::input::{Input, NOTHING_SENT, OF_CHILD, call, hash, problem};

use super::Kernel;
use super::calls::{Wait, around, begin_on, end_with, is_in_unknown_call, wait_more};
use super::ready::Ready;
use super::uses::Uses;
use crate::config::{Mode, mode};
use crate::errno::{errno, keeping_errno, set_errno};
use crate::inputs::Answer;
use crate::log::Writer;
use crate::schedule::{self, Waited};
use crate::sync::Pending;
use crate::thread::{Thread, enter};
use crate::world::{World, hold};

/// How a call is one on a stream of bytes or a counter, see
/// [`foretrace_recording::record::stream`], and how much it wants to read or write, or the list of
/// those that it looks at.
type OnStream<'a> = &'a dyn Fn(&mut Kernel, &mut Writer) -> (u8, u64);

/// A call that may get something from outside.
pub(crate) struct Source<'a> {
    /// See `foretrace_recording::input::call`.
    pub(crate) call: u32,
    /// Whether others than the process decide its result.
    pub(crate) outside: &'a dyn Fn(&mut Kernel) -> bool,
    /// The hash of what it sends.
    pub(crate) sent: Option<&'a dyn Fn() -> u64>,
    /// How it is a call on a stream of bytes.
    pub(crate) stream: Option<OnStream<'a>>,
    /// What it took from a counter, by what it returned; `None` if it is on none.
    pub(crate) counted: &'a dyn Fn(i64) -> Option<i64>,
    /// Whether a child of the process answers.
    pub(crate) of_child: Option<&'a dyn Fn(&mut Kernel) -> bool>,
    /// A replay makes it really where the recording does not have it.
    pub(crate) optional: bool,
    /// It does not change what descriptors stand for.
    pub(crate) only_moves_bytes: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn new(call: u32, outside: &'a dyn Fn(&mut Kernel) -> bool) -> Source<'a> {
        Source {
            call,
            outside,
            sent: None,
            stream: None,
            counted: &|_| None,
            of_child: None,
            optional: false,
            only_moves_bytes: false,
        }
    }
}

/// What becomes of a call.
pub(crate) enum Fate {
    /// It is made.
    Made,
    /// It is made, and what it gets is kept.
    Kept,
    /// It is not made.
    Answered(Answer),
    /// In a replay nobody answers it, and nobody needs what the thread does behind it.
    Unanswered,
}

/// A call that has begun.
pub(crate) struct Begun {
    /// The number of the list of its channels, if it has any: then a record says that it ends.
    list: Option<u64>,
    /// Behind how many operations of its thread.
    pub(crate) ordinal: u32,
    pub(crate) waited: Waited,
    pub(crate) fate: Fate,
    sent: u64,
}

/// Visits the memory that a call with this result has set. The result may be that of another call,
/// in a recording: what is visited is nonetheless within what the program has given.
pub(crate) type Areas<'a> = &'a dyn Fn(i64, &mut dyn FnMut(*mut u8, usize));

/// The hash of bytes in pieces.
pub(crate) fn hash_of(list: &[libc::iovec]) -> u64 {
    list.iter().fold(NOTHING_SENT, |so_far, part| match part.iov_len {
        0 => so_far,
        // SAFETY: the program gives these bytes to be written.
        size => hash(so_far, unsafe { std::slice::from_raw_parts(part.iov_base.cast(), size) }),
    })
}

/// Begins a call; `None`: the runtime is off, or the call comes from inside of it.
pub(crate) fn start(
    source: &Source,
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
) -> Option<Begun> {
    let begun = keeping_errno(|| {
        enter(|thread| {
            let mut fate = Fate::Made;
            let opened = begin_on(thread, uses, Some(source), wait, |world, thread| {
                fate = decide(world, thread, source);
                matches!(fate, Fate::Answered(_))
            });
            if opened.is_none() {
                fate = decide(&mut hold(), thread, source);
            }
            if let Fate::Unanswered = fate {
                wait_for_ever(thread);
            }
            let sent = match (&fate, source.sent) {
                (Fate::Made | Fate::Unanswered, _) | (_, None) => 0,
                (_, Some(sent)) => sent(),
            };
            let (waited, list) = opened.map_or((Waited::Ready, None), |(how, on)| (how, Some(on)));
            Begun { list, ordinal: thread.ordinal, waited, fate, sent }
        })
    })?;
    if let Fate::Answered(answer) = &begun.fate
        && answer.sent != begun.sent
    {
        enter(|thread| hold().other_call(thread, source.call, problem::OTHER_BYTES));
    }
    Some(begun)
}

fn decide(world: &mut World, thread: &Thread, source: &Source) -> Fate {
    if world.replay.is_none() {
        let is_kept = (source.outside)(&mut world.kernel);
        return if is_kept { Fate::Kept } else { Fate::Made };
    }
    if !world.is_fed() {
        return Fate::Made;
    }
    if world.inputs.as_ref().is_some_and(|inputs| inputs.talks_to_itself)
        && matches!(source.call, call::BIND | call::LISTEN | call::NAME)
    {
        // Its own ports are real.
        return Fate::Made;
    }
    if let Some(answer) = world.answer(thread, thread.ordinal, source.call) {
        return Fate::Answered(answer);
    }
    let talks_to_itself = world.inputs.as_ref().is_some_and(|inputs| inputs.talks_to_itself);
    if talks_to_itself && matches!(source.call, call::ACCEPT | call::CONNECT) {
        return Fate::Made;
    }
    if !source.optional && (source.outside)(&mut world.kernel) {
        if world.needs_no_more_of(thread) {
            return Fate::Unanswered;
        }
        world.other_call(thread, source.call, problem::NOT_RECORDED);
    }
    Fate::Made
}

/// The outside does not answer before the replay is over: in the recorded run, the process ended
/// first.
fn wait_for_ever(thread: &mut Thread) -> ! {
    loop {
        schedule::block(hold(), thread, Pending::Ready(Ready::new(&[], true)), None);
    }
}

/// Puts the recorded data where the call would have put it, and sets `errno`.
pub(crate) fn give(answer: &Answer, areas: Areas) {
    let mut rest = answer.data;
    areas(answer.result, &mut |to, size| {
        let (now, later) = rest.split_at(size.min(rest.len()));
        // SAFETY: `areas` visits memory that the program has given for the call to set, and says
        // how much of it there is: never more, whatever the recorded call returned.
        unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), to, now.len()) };
        rest = later;
    });
    if answer.result < 0 {
        set_errno(answer.errno);
    }
}

/// A call is over. `then` brings what is known of the kernel up to date.
pub(crate) fn finish(
    begun: &Begun,
    source: &Source,
    result: i64,
    areas: Areas,
    then: impl FnOnce(&mut Kernel),
) {
    let errno = errno();
    keeping_errno(|| {
        enter(|thread| {
            let mut world = hold();
            if source.only_moves_bytes && !is_in_unknown_call(thread) {
                world.kernel.moved_bytes();
            } else {
                world.kernel.look_anew();
            }
            then(&mut world.kernel);
            if let Fate::Kept = begun.fate {
                let mut data = Vec::new();
                areas(result, &mut |from, size| {
                    // SAFETY: it is memory that the call has set, or the program has given it for
                    // that.
                    data.extend_from_slice(unsafe { std::slice::from_raw_parts(from, size) });
                });
                let by_child = source.of_child.is_some_and(|of_child| of_child(&mut world.kernel));
                let errno = if result < 0 { errno as u32 } else { 0 };
                let input = Input {
                    thread: thread.index,
                    call: source.call,
                    ordinal: begun.ordinal,
                    errno: errno | if by_child { OF_CHILD } else { 0 },
                    result,
                    sent: begun.sent,
                };
                world.keep_input(&input, &data);
            }
            drop(world);
            if begun.list.is_some() {
                let returned = (source.counted)(result).unwrap_or(result);
                end_with(thread, if source.stream.is_some() { returned } else { 0 });
            }
        })
    });
}

/// Where threads run freely, another one may have closed and reopened a number between our look at
/// it and the call: then what the call noticed came before this.
pub(crate) fn follow(begun: &Begun, source: &Source, uses: impl Fn(&mut Kernel) -> Uses) {
    if mode() != Mode::Free || begun.list.is_none() || !source.only_moves_bytes {
        return;
    }
    let is_other = enter(|_| {
        let world = &mut *hold();
        let now = uses(&mut world.kernel);
        begun.list != Some(world.kernel.list(&mut world.tables, &now))
    });
    if is_other == Some(true) {
        let both = |kernel: &mut Kernel| {
            let mut both = uses(kernel);
            both.add(DESCRIPTORS, BOTH);
            both
        };
        around(both, None, || ());
    }
}

/// A handler has run while a call waited: whether the call goes on, and has what it waits for. A
/// call with a time limit does not, whatever `SA_RESTART` says.
pub(crate) fn goes_on(wait: Option<Wait>) -> bool {
    let is_restarted = |wait: &Wait| {
        matches!(wait.deadline(), Some(None)) && crate::interpose::signals::restarts_calls()
    };
    let Some(wait) = wait.filter(is_restarted) else {
        return false;
    };
    loop {
        match enter(|thread| wait_more(thread, wait.list, None)) {
            Some(Waited::Interrupted) if crate::interpose::signals::restarts_calls() => {}
            Some(Waited::Interrupted) => return false,
            _ => return true,
        }
    }
}

/// Makes a call, or answers it.
pub(crate) fn exchange(
    source: &Source,
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
    areas: Areas,
    call: impl FnOnce() -> i64,
) -> i64 {
    exchange_then(source, uses, wait, areas, call, |_, _| ())
}

/// The same; `then` brings what is known of the kernel up to date.
pub(crate) fn exchange_then(
    source: &Source,
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
    areas: Areas,
    call: impl FnOnce() -> i64,
    then: impl FnOnce(&mut Kernel, i64),
) -> i64 {
    let Some(begun) = start(source, &uses, wait) else { return call() };
    let interrupted = begun.waited == Waited::Interrupted && !goes_on(wait);
    let result = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, areas);
            answer.result
        }
        _ if interrupted => {
            set_errno(libc::EINTR);
            -1
        }
        _ if begun.waited == Waited::TimedOut => {
            set_errno(libc::EAGAIN);
            -1
        }
        _ => call(),
    };
    finish(&begun, source, result, areas, |kernel| then(kernel, result));
    keeping_errno(|| follow(&begun, source, &uses));
    result
}
