//! Reading from descriptors and writing to them.
//!
//! If the user's own code makes the call, what is read goes through memory of ours to where he
//! wants it, and what is written comes the same way: then the accesses are recorded like his own,
//! and what the kernel gets is what was recorded.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use foretrace_recording::input::{call, problem};
use foretrace_recording::record::{kind, stream, unseen};
use libc::{iovec, off_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

use super::descriptors::opening;
use super::ports::Address;
use crate::errno::keeping_errno;
use crate::hooks::ranges;
use crate::kernel::Kernel;
use crate::kernel::calls::Wait;
use crate::kernel::exchange::{Source, exchange_then, hash_of};
use crate::log::Writer;
use crate::real::{pass_on, real};
use crate::thread::{Thread, enter};
use crate::world::hold;

mod next {
    use super::*;
    real!(fn read(fd: c_int, to: *mut c_void, size: size_t) -> ssize_t);
    real!(fn pread(fd: c_int, to: *mut c_void, size: size_t, at: off_t) -> ssize_t);
    real!(fn readv(fd: c_int, list: *const iovec, count: c_int) -> ssize_t);
    real!(fn preadv(fd: c_int, list: *const iovec, count: c_int, at: off_t) -> ssize_t);
    real!(fn preadv2(fd: c_int, list: *const iovec, count: c_int, at: off_t,
        flags: c_int) -> ssize_t);
    real!(fn recv(fd: c_int, to: *mut c_void, size: size_t, flags: c_int) -> ssize_t);
    real!(fn recvfrom(fd: c_int, to: *mut c_void, size: size_t, flags: c_int, from: *mut sockaddr,
        length: *mut socklen_t) -> ssize_t);
    real!(fn write(fd: c_int, from: *const c_void, size: size_t) -> ssize_t);
    real!(fn pwrite(fd: c_int, from: *const c_void, size: size_t, at: off_t) -> ssize_t);
    real!(fn writev(fd: c_int, list: *const iovec, count: c_int) -> ssize_t);
    real!(fn pwritev(fd: c_int, list: *const iovec, count: c_int, at: off_t) -> ssize_t);
    real!(fn pwritev2(fd: c_int, list: *const iovec, count: c_int, at: off_t,
        flags: c_int) -> ssize_t);
    real!(fn send(fd: c_int, from: *const c_void, size: size_t, flags: c_int) -> ssize_t);
    real!(fn sendto(fd: c_int, from: *const c_void, size: size_t, flags: c_int, to: *const sockaddr,
        length: socklen_t) -> ssize_t);
    real!(fn eventfd_read(fd: c_int, value: *mut u64) -> c_int);
    real!(fn eventfd_write(fd: c_int, value: u64) -> c_int);
}

/// Whether the user's own code makes this call of ours, and not a library on the way.
fn is_direct(function: usize) -> bool {
    enter(|thread| std::mem::take(&mut thread.callee) == function as u64).unwrap_or(false)
}

/// Memory that a call sets beside the data itself: visits it.
type Beside<'a> = &'a dyn Fn(&mut dyn FnMut(*mut u8, usize));
/// What a call does to descriptors, if it may open some beside what it reads.
pub(super) type Opens<'a> = Option<&'a dyn Fn(&mut Kernel)>;

/// Makes a call that reads from a descriptor to these places.
fn receive(
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    beside: Beside,
    opens: Opens,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let waits = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let wait = Wait::on(&waits, flags, libc::SO_RCVTIMEO);
    let outside = |kernel: &mut Kernel| kernel.is_answered_by_others(fd);
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result >= 0 {
            visit_data(list, result as usize, visit);
            beside(visit);
        }
    };
    let call = || call() as i64;
    // Only what takes bytes from the stream is one of its reads.
    let usual = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
    let plain = flags & !usual == 0 && opens.is_none();
    let size: usize = list.iter().map(|part| part.iov_len).sum();
    let count = list.first().filter(|part| part.iov_len >= size_of::<u64>());
    let is_counter = Cell::new(false);
    let stream = |kernel: &mut Kernel, _: &mut Writer| {
        let how = if plain { kernel.stream(fd, false) } else { 0 };
        is_counter.set(how & stream::COUNTER != 0 && count.is_some());
        if how == 0 || (how & stream::COUNTER != 0 && count.is_none()) {
            return (0, 0);
        }
        let waits = flags & libc::MSG_DONTWAIT == 0 && kernel.waits_for_input(fd);
        (if waits { how | stream::WAITS } else { how }, size as u64)
    };
    let counted = |result: i64| {
        let count = count.filter(|_| is_counter.get() && result == size_of::<u64>() as i64)?;
        // SAFETY: the program has given at least 8 bytes there, and the call has set them.
        Some(unsafe { count.iov_base.cast::<i64>().read_unaligned() })
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        stream: Some(&stream),
        counted: &counted,
        of_child: Some(&of_child),
        only_moves_bytes: opens.is_none(),
        ..Source::new(call::READ, &outside)
    };
    let then = |kernel: &mut Kernel, result: i64| {
        if plain && result > 0 {
            kernel.has_read(fd, result as u64);
        }
        if let Some(opens) = opens.filter(|_| result >= 0) {
            opens(kernel);
        }
    };
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.input(fd);
        if opens.is_some() {
            uses.join(&opening());
        }
        uses
    };
    let result = exchange_then(&source, uses, wait, &areas, call, then) as ssize_t;
    keeping_errno(|| enter(|thread| note_mapped(thread, fd)));
    result
}

/// What was read from a file that is also in memory may have been stored there, and what the kernel
/// says of a process may be what its threads have done.
pub(super) fn note_mapped(thread: &mut Thread, fd: c_int) {
    let mut world = hold();
    let site = thread.call_site;
    if world.kernel.is_mapped(fd) {
        world.stamped(thread, kind::UNSEEN, unseen::MAPPED_FILE, site, []);
    } else if world.kernel.is_about_process(fd) {
        world.stamped(thread, kind::UNSEEN, unseen::LOOKED, site, []);
    }
}

/// Visits the first `size` bytes of a list.
pub(super) fn visit_data(list: &[iovec], size: usize, visit: &mut dyn FnMut(*mut u8, usize)) {
    let mut left = size;
    for part in list {
        let now = part.iov_len.min(left);
        if now > 0 {
            visit(part.iov_base.cast(), now);
        }
        left -= now;
    }
}

fn nothing(_: &mut dyn FnMut(*mut u8, usize)) {}

/// Makes a call that writes to a descriptor.
fn transmit(
    fd: c_int,
    size: usize,
    flags: c_int,
    list: &[iovec],
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let waits = [pollfd { fd, events: libc::POLLOUT, revents: 0 }];
    let wait = Wait::on(&waits, flags, libc::SO_SNDTIMEO);
    let uses = |kernel: &mut Kernel| {
        let surely = kernel.takes_at_once(fd, size);
        kernel.output(fd, surely)
    };
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let sent = || hash_of(list);
    let plain = flags & libc::MSG_OOB == 0;
    let count = list.first().filter(|part| part.iov_len >= size_of::<u64>());
    let stream = |kernel: &mut Kernel, _: &mut Writer| {
        let how = if plain { kernel.stream(fd, true) } else { 0 };
        match count {
            _ if how & stream::COUNTER == 0 => (how, size as u64),
            None => (0, 0),
            // SAFETY: the program has given at least 8 bytes there to be written.
            Some(count) => (how, unsafe { count.iov_base.cast::<u64>().read_unaligned() }),
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        sent: Some(&sent),
        stream: Some(&stream),
        of_child: Some(&of_child),
        only_moves_bytes: true,
        ..Source::new(call::WRITE, &outside)
    };
    let then = |kernel: &mut Kernel, result: i64| kernel.wrote(fd, result.max(0) as u64);
    exchange_then(&source, uses, wait, &|_, _| (), || call() as i64, then) as ssize_t
}

/// Reads to memory of ours, and stores that where the user wants it.
fn read_through(
    function: usize,
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    call: impl FnOnce(&[iovec]) -> ssize_t,
) -> ssize_t {
    read_and(function, fd, flags, list, &nothing, None, call)
}

/// The same, of a call that sets other memory as well.
pub(super) fn read_and(
    function: usize,
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    beside: Beside,
    opens: Opens,
    call: impl FnOnce(&[iovec]) -> ssize_t,
) -> ssize_t {
    if !is_direct(function) {
        return receive(fd, flags, list, beside, opens, || call(list));
    }
    let size = list.iter().map(|part| part.iov_len).sum();
    let Some(mut own) = enter(|_| vec![0u8; size]) else { return call(list) };
    let whole = [iovec { iov_base: own.as_mut_ptr().cast(), iov_len: size }];
    let result = receive(fd, flags, &whole, beside, opens, || call(&whole));
    keeping_errno(|| {
        enter(|thread| {
            // With MSG_TRUNC it is more than there was room for.
            let (mut done, size) = (0, size.min(usize::try_from(result).unwrap_or(0)));
            for part in list {
                let length = part.iov_len.min(size - done);
                let site = thread.call_site;
                let from = own[done..].as_ptr();
                // SAFETY: `own` has so many bytes there, and the program has given as much room.
                unsafe { ranges::store(thread, site, part.iov_base.cast(), length, from) };
                done += length;
            }
            drop(own);
        })
    });
    result
}

/// Loads what the user wants to write to memory of ours, and writes that.
pub(super) fn write_through(
    function: usize,
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    call: impl FnOnce(&[iovec]) -> ssize_t,
) -> ssize_t {
    let size = list.iter().map(|part| part.iov_len).sum();
    if !is_direct(function) {
        return transmit(fd, size, flags, list, || call(list));
    }
    let own = enter(|thread| {
        let (mut own, mut done) = (vec![0u8; size], 0);
        for part in list {
            let site = thread.call_site;
            let to = own[done..].as_mut_ptr();
            // SAFETY: the program has given so many bytes, and `own` has room for those of all
            // parts.
            unsafe { ranges::load(thread, site, part.iov_base.cast(), part.iov_len, to) };
            done += part.iov_len;
        }
        own
    });
    let Some(own) = own else { return call(list) };
    let whole = [iovec { iov_base: own.as_ptr().cast_mut().cast(), iov_len: size }];
    let result = transmit(fd, size, flags, &whole, || call(&whole));
    keeping_errno(|| enter(|_| drop(own)));
    result
}

fn one(base: *const c_void, size: size_t) -> [iovec; 1] {
    [iovec { iov_base: base.cast_mut(), iov_len: size }]
}

/// The places that a call reads to, or writes from.
///
/// # Safety
///
/// The program has given a list of so many, for the time of a call.
pub(super) unsafe fn parts<'a>(list: *const iovec, count: c_int) -> &'a [iovec] {
    match usize::try_from(count) {
        // SAFETY: the caller says so.
        Ok(count) if !list.is_null() => unsafe { std::slice::from_raw_parts(list, count) },
        _ => &[],
    }
}

/// Calls with one buffer: `read or write: name(type of the buffer, flags; further arguments)`.
macro_rules! with_buffer {
    ($($through:ident: $name:ident($buffer:ty, $flags:expr; $($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            pub(super) unsafe extern "C-unwind" fn $name(
                fd: c_int,
                buffer: $buffer,
                size: size_t,
                $($argument: $type),*
            ) -> ssize_t {
                $through($name as *const () as usize, fd, $flags, &one(buffer, size), |list| {
                    pass_on!(next::$name(fd, list[0].iov_base, list[0].iov_len, $($argument),*))
                })
            }
        )*
    };
}

with_buffer! {
    read_through: pread(*mut c_void, 0; at: off_t);
    read_through: recv(*mut c_void, flags; flags: c_int);
    write_through: write(*const c_void, 0;);
    write_through: pwrite(*const c_void, 0; at: off_t);
    write_through: send(*const c_void, flags; flags: c_int);
}

/// The same with a list of buffers.
macro_rules! with_list {
    ($($through:ident: $name:ident($flags:expr; $($argument:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C-unwind" fn $name(
            fd: c_int,
            list: *const iovec,
            count: c_int,
            $($argument: $type),*
        ) -> ssize_t {
            let list = pass_on!(parts(list, count));
            $through($name as *const () as usize, fd, $flags, list, |list| {
                pass_on!(next::$name(fd, list.as_ptr(), list.len() as c_int, $($argument),*))
            })
        }
    )* };
}

with_list! {
    read_through: readv(0;);
    read_through: preadv(0; at: off_t);
    read_through: preadv2(if flags & libc::RWF_NOWAIT != 0 { libc::MSG_DONTWAIT } else { 0 };
        at: off_t, flags: c_int);
    write_through: writev(0;);
    write_through: pwritev(0; at: off_t);
    write_through: pwritev2(0; at: off_t, flags: c_int);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn read(fd: c_int, to: *mut c_void, size: size_t) -> ssize_t {
    // SAFETY: the list has one part, which is the caller's or has as much room; where 8 bytes were
    // read there is room for 8.
    read_through(read as *const () as usize, fd, 0, &one(to, size), |list| unsafe {
        let result = next::read(fd, list[0].iov_base, list[0].iov_len);
        if result == 8
            && let Some(times) = keeping_errno(|| super::descriptors::timer_read(fd))
        {
            list[0].iov_base.cast::<u64>().write_unaligned(times);
        }
        result
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    let room = super::sockets::room(from, length);
    let beside = |visit: &mut dyn FnMut(*mut u8, usize)| {
        super::sockets::visit_address(from, room, length, visit)
    };
    let function = recvfrom as *const () as usize;
    read_and(function, fd, flags, &one(to, size), &beside, None, |list| {
        pass_on!(next::recvfrom(fd, list[0].iov_base, list[0].iov_len, flags, from, length))
    })
}

/// In a replay: the recorded run got something here that is not kept.
pub(super) fn cannot_be_given(call: u32) {
    enter(|thread| hold().other_call(thread, call, problem::NOT_GIVEN));
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    from: *const c_void,
    size: size_t,
    flags: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    super::sockets::note_destination(to, length);
    let to = Address::really(to, length);
    write_through(sendto as *const () as usize, fd, flags, &one(from, size), |list| {
        pass_on!(next::sendto(fd, list[0].iov_base, list[0].iov_len, flags, to.get(), length))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn eventfd_read(fd: c_int, value: *mut u64) -> c_int {
    let function = eventfd_read as *const () as usize;
    let list = one(value.cast(), 8);
    let result = read_through(function, fd, 0, &list, |list| {
        let status = pass_on!(next::eventfd_read(fd, list[0].iov_base.cast()));
        if status == 0 { 8 } else { -1 }
    });
    if result == 8 { 0 } else { -1 }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn eventfd_write(fd: c_int, value: u64) -> c_int {
    let list = one((&raw const value).cast(), 8);
    let call = || pass_on!(next::eventfd_write(fd, value)) as ssize_t;
    let result = transmit(fd, 8, 0, &list, call);
    result as c_int
}
