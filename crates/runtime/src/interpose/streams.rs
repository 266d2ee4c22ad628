//! Streams of the C library. The C library reads and writes them internally, so the plugin
//! announces the calls to the runtime.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, GIVES};
use foretrace_recording::channel::{LIBRARY, NAMES, OUTSIDE};
use foretrace_recording::library::Effect;
use libc::FILE;

use super::descriptors::{closing, opening};
use crate::config::{Mode, mode};
use crate::errno::keeping_errno;
use crate::kernel::calls::{around, around_then};
use crate::kernel::files::{how_opened, named_file};
use crate::kernel::given;
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real, variants};
use crate::schedule;
use crate::thread::{Thread, enter};
use crate::world::hold;

mod next {
    use super::*;
    real!(fn fclose(stream: *mut FILE) -> c_int);
    real!(fn freopen(name: *const c_char, how: *const c_char, stream: *mut FILE) -> *mut FILE);
    real!(fn flockfile(stream: *mut FILE));
    real!(fn ftrylockfile(stream: *mut FILE) -> c_int);
    real!(fn funlockfile(stream: *mut FILE));
}

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
}

/// More than this is never written without a look whether there is room.
const BUFFER: usize = 4096;

/// The channels of a call that reads from a stream, or writes to it.
pub(crate) fn uses(stream: u64, output: bool) -> Uses {
    // `fflush` of all streams.
    if stream == 0 {
        return Uses::every();
    }
    let descriptor = descriptor_of(stream as *mut FILE);
    match descriptor {
        ..0 => without_descriptor(),
        _ if output => self::output(descriptor),
        _ => hold().kernel.input(descriptor),
    }
}

/// The channels of a call on a stream in memory, or on one with functions of the program's.
fn without_descriptor() -> Uses {
    match super::own_streams::may_call_back() {
        true => Uses::every(),
        false => Uses::of(&[(LIBRARY, BOTH)]),
    }
}

pub(crate) fn descriptor_of(stream: *mut FILE) -> c_int {
    // SAFETY: the program gives the stream to a function of the C library, or it is one of the
    // standard ones.
    keeping_errno(|| unsafe { libc::fileno(stream) })
}

pub(crate) use super::stream_buffers::hand_over as hand_over_buffers;

/// The channels of a call that writes to a descriptor.
pub(crate) fn output(descriptor: i32) -> Uses {
    let kernel = &mut hold().kernel;
    kernel.may_write(descriptor);
    let surely = kernel.takes_at_once(descriptor, BUFFER);
    kernel.output(descriptor, surely)
}

/// The channels of a call that writes to standard output or standard error: only others see that,
/// unless the process has put something else in their place.
pub(crate) fn standard(error: bool) -> Uses {
    // SAFETY: these are variables of the C library that programs hardly ever set; this reads one of
    // them.
    let (stream, number) = unsafe { if error { (stderr, 2) } else { (stdout, 1) } };
    let descriptor = if stream.is_null() { number } else { descriptor_of(stream) };
    let is_as_found = descriptor == number && !hold().kernel.is_redirected(number);
    if descriptor < 0 {
        return without_descriptor();
    }
    let uses = output(descriptor);
    match is_as_found {
        true if uses.is_empty() => uses,
        true => Uses::of(&[(OUTSIDE, GIVES)]),
        false => uses,
    }
}

/// The channels of a call on a stream of C++'s library.
pub(crate) fn of_cxx(stream: u64) -> Uses {
    let is_one_of = |names: &[&std::ffi::CStr]| {
        names.iter().any(|name| {
            // SAFETY: the name is a C string.
            let known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            !known.is_null() && known as u64 == stream
        })
    };
    match () {
        () if is_one_of(&[c"_ZSt4cout", c"_ZSt5wcout"]) => standard(false),
        () if is_one_of(&[c"_ZSt4cerr", c"_ZSt4clog", c"_ZSt5wcerr", c"_ZSt5wclog"]) => {
            standard(true)
        }
        () if is_one_of(&[c"_ZSt3cin", c"_ZSt4wcin"]) => hold().kernel.input(0),
        // All parts of a stream have one base, and what is in its buffer is behind that.
        () => Uses::of(&[(hold().kernel.futex(base_of(stream)), BOTH)]),
    }
}

/// The `std::ios_base` of a stream of C++'s library: its parts for input and output have that in
/// common.
fn base_of(stream: u64) -> u64 {
    if stream == 0 {
        return 0;
    }
    // SAFETY: the program calls a function of such a stream, which is constructed: it begins with
    // the address of its table, and three words before that is the distance of its virtual base.
    let distance = unsafe { (*(stream as *const *const i64)).sub(3).read() };
    stream.wrapping_add_signed(distance)
}

/// What is left in the buffer is written, and the other end may notice the last close.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn fclose(stream: *mut FILE) -> c_int {
    let descriptor = descriptor_of(stream);
    let is_shared = given::is_shared(descriptor);
    super::own_streams::forget(stream);
    super::stream_buffers::forget(stream);
    let status = around_then(
        |kernel| match descriptor {
            ..0 => without_descriptor(),
            _ => {
                let mut uses = closing();
                uses.join(&kernel.both(descriptor));
                uses
            }
        },
        None,
        || pass_on!(next::fclose(stream)),
        |kernel, _| kernel.closed(descriptor),
    );
    if is_shared {
        given::was_closed();
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn freopen(
    name: *const c_char,
    how: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    let descriptor = descriptor_of(stream);
    named_file(libc::AT_FDCWD, name, how_opened(how), |name| {
        around_then(
            |kernel| {
                let mut uses = opening();
                uses.add(NAMES, BOTH);
                uses.join(&kernel.both(descriptor));
                uses.join(&kernel.named_file(name, true));
                uses
            },
            None,
            || pass_on!(next::freopen(name, how, stream)),
            |kernel, _| kernel.closed(descriptor),
        )
    })
}

variants! {
    fn freopen64(name: *const c_char, how: *const c_char, stream: *mut FILE) -> *mut FILE
        = freopen(name, how, stream);
}

/// Somebody has locked a stream, at some time.
static LOCKED: AtomicBool = AtomicBool::new(false);

/// The lock of a stream keeps its recorded order. Where threads run one at a time nobody waits for
/// it in the C library: its holder could not go on.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn flockfile(stream: *mut FILE) {
    around(
        |kernel| Uses::of(&[(kernel.futex(stream as u64), BOTH)]),
        None,
        || {
            LOCKED.store(true, Relaxed);
            if mode() == Mode::Scheduled {
                while pass_on!(next::ftrylockfile(stream)) != 0 {
                    enter(schedule::give_way);
                }
            } else {
                pass_on!(next::flockfile(stream));
            }
        },
    );
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ftrylockfile(stream: *mut FILE) -> c_int {
    around(
        |kernel| Uses::of(&[(kernel.futex(stream as u64), BOTH)]),
        None,
        || {
            LOCKED.store(true, Relaxed);
            pass_on!(next::ftrylockfile(stream))
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn funlockfile(stream: *mut FILE) {
    around(
        |kernel| Uses::of(&[(kernel.futex(stream as u64), BOTH)]),
        None,
        || pass_on!(next::funlockfile(stream)),
    );
}

/// Waits until nobody else has locked the stream that a function is about to use.
pub(crate) fn wait_until_free(thread: &mut Thread, effect: Option<Effect>, stream: u64) {
    if !LOCKED.load(Relaxed) || mode() != Mode::Scheduled {
        return;
    }
    let stream = match effect {
        Some(Effect::Stream { .. }) => stream as *mut FILE,
        // SAFETY: as in `standard`.
        Some(Effect::Standard { error }) => unsafe { if error { stderr } else { stdout } },
        _ => return,
    };
    if stream.is_null() {
        return;
    }
    // SAFETY: the program is about to give the stream to a function of the C library, and it is not
    // null.
    while unsafe { next::ftrylockfile(stream) } != 0 {
        schedule::give_way(thread);
    }
    // SAFETY: as above; we have just locked it.
    unsafe { next::funlockfile(stream) };
}
