//! Streams of the C library. They are read and written inside it, so that the plugin tells us of the calls.

use foretrace_recording::channel::LIBRARY;
use foretrace_recording::channel::direction::BOTH;

use crate::kernel::uses::Uses;
use crate::world::hold;

/// More than this is never written without a look whether there is room.
const BUFFER: usize = 4096;

/// The channels of a call that reads from a stream, or writes to it.
pub(crate) fn uses(stream: u64, output: bool) -> Uses {
    // `fflush` of all streams.
    if stream == 0 {
        return Uses::of(&[(LIBRARY, BOTH)]);
    }
    let descriptor = unsafe { libc::fileno(stream as *mut libc::FILE) };
    match descriptor {
        // A stream in memory.
        ..0 => Uses::of(&[(LIBRARY, BOTH)]),
        _ if output => self::output(descriptor),
        _ => hold().kernel.input(descriptor),
    }
}

/// The channels of a call that writes to a descriptor.
pub(crate) fn output(descriptor: i32) -> Uses {
    let kernel = &mut hold().kernel;
    let surely = kernel.takes_at_once(descriptor, BUFFER);
    kernel.output(descriptor, surely)
}
