//! Reading from descriptors and writing to them.
//!
//! If the user's own code makes the call, what is read goes through memory of ours to where he
//! wants it, and what is written comes the same way: then the accesses are recorded like his own,
//! and what the kernel gets is what was recorded.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

use foretrace_recording::input::{call, problem};
use foretrace_recording::record::{kind, stream, unseen};
use libc::{iovec, mmsghdr, msghdr, off_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

use crate::hooks::ranges;
use crate::kernel::Kernel;
use crate::kernel::calls::{Wait, keeping_errno};
use crate::kernel::exchange::{Source, exchange, exchange_then, hash_of};
use crate::real::real;
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
    real!(fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t);
    real!(fn recvmmsg(fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int,
        time: *mut libc::timespec) -> c_int);
    real!(fn write(fd: c_int, from: *const c_void, size: size_t) -> ssize_t);
    real!(fn pwrite(fd: c_int, from: *const c_void, size: size_t, at: off_t) -> ssize_t);
    real!(fn writev(fd: c_int, list: *const iovec, count: c_int) -> ssize_t);
    real!(fn pwritev(fd: c_int, list: *const iovec, count: c_int, at: off_t) -> ssize_t);
    real!(fn pwritev2(fd: c_int, list: *const iovec, count: c_int, at: off_t,
        flags: c_int) -> ssize_t);
    real!(fn send(fd: c_int, from: *const c_void, size: size_t, flags: c_int) -> ssize_t);
    real!(fn sendto(fd: c_int, from: *const c_void, size: size_t, flags: c_int, to: *const sockaddr,
        length: socklen_t) -> ssize_t);
    real!(fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t);
    real!(fn sendmmsg(fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int);
    real!(fn eventfd_read(fd: c_int, value: *mut u64) -> c_int);
    real!(fn eventfd_write(fd: c_int, value: u64) -> c_int);
}

/// Whether the user's own code makes this call of ours, and not a library on the way.
fn is_direct(function: usize) -> bool {
    enter(|thread| std::mem::take(&mut thread.callee) == function as u64).unwrap_or(false)
}

/// Memory that a call sets beside the data itself: visits it.
type Beside<'a> = &'a dyn Fn(&mut dyn FnMut(*mut u8, usize));

/// Makes a call that reads from a descriptor to these places.
fn receive(
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    beside: Beside,
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
    let plain = flags & !(libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL) == 0;
    let size: usize = list.iter().map(|part| part.iov_len).sum();
    let count = list.first().filter(|part| part.iov_len >= size_of::<u64>());
    let is_counter = Cell::new(false);
    let stream = |kernel: &mut Kernel| {
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
        Some(unsafe { count.iov_base.cast::<i64>().read_unaligned() })
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        stream: Some(&stream),
        counted: &counted,
        of_child: Some(&of_child),
        ..Source::new(call::READ, &outside)
    };
    let then = |kernel: &mut Kernel, result: i64| {
        if plain && result > 0 {
            kernel.has_read(fd, result as u64);
        }
    };
    let uses = |kernel: &mut Kernel| kernel.input(fd);
    let result = exchange_then(&source, uses, wait, &areas, call, then) as ssize_t;
    keeping_errno(|| enter(|thread| note_mapped(thread, fd)));
    result
}

/// What was read from a file that is also in memory may have been stored there.
fn note_mapped(thread: &mut Thread, fd: c_int) {
    let mut world = hold();
    if world.kernel.is_mapped(fd) {
        let site = thread.call_site;
        world.stamped(thread, kind::UNSEEN, unseen::MAPPED_FILE, site, []);
    }
}

/// Visits the first `size` bytes of a list.
fn visit_data(list: &[iovec], size: usize, visit: &mut dyn FnMut(*mut u8, usize)) {
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
    let stream = |kernel: &mut Kernel| {
        let how = if plain { kernel.stream(fd, true) } else { 0 };
        match count {
            _ if how & stream::COUNTER == 0 => (how, size as u64),
            None => (0, 0),
            Some(count) => (how, unsafe { count.iov_base.cast::<u64>().read_unaligned() }),
        }
    };
    let stream = Some(&stream as &dyn Fn(&mut Kernel) -> (u8, u64));
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        sent: Some(&sent),
        stream,
        of_child: Some(&of_child),
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
    read_and(function, fd, flags, list, &nothing, call)
}

/// The same, of a call that sets other memory as well.
fn read_and(
    function: usize,
    fd: c_int,
    flags: c_int,
    list: &[iovec],
    beside: Beside,
    call: impl FnOnce(&[iovec]) -> ssize_t,
) -> ssize_t {
    if !is_direct(function) {
        return receive(fd, flags, list, beside, || call(list));
    }
    let size = list.iter().map(|part| part.iov_len).sum();
    let Some(mut own) = enter(|_| vec![0u8; size]) else { return call(list) };
    let whole = [iovec { iov_base: own.as_mut_ptr().cast(), iov_len: size }];
    let result = receive(fd, flags, &whole, beside, || call(&whole));
    keeping_errno(|| {
        enter(|thread| {
            // With MSG_TRUNC it is more than there was room for.
            let (mut done, size) = (0, size.min(usize::try_from(result).unwrap_or(0)));
            for part in list {
                let length = part.iov_len.min(size - done);
                let site = thread.call_site;
                let from = unsafe { own.as_ptr().add(done) };
                ranges::store(thread, site, part.iov_base.cast(), length, from);
                done += length;
            }
            drop(own);
        })
    });
    result
}

/// Loads what the user wants to write to memory of ours, and writes that.
fn write_through(
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
            let to = unsafe { own.as_mut_ptr().add(done) };
            ranges::load(thread, site, part.iov_base.cast(), part.iov_len, to);
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

unsafe fn parts<'a>(list: *const iovec, count: c_int) -> &'a [iovec] {
    match usize::try_from(count) {
        Ok(count) if !list.is_null() => unsafe { std::slice::from_raw_parts(list, count) },
        _ => &[],
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn read(fd: c_int, to: *mut c_void, size: size_t) -> ssize_t {
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
pub(super) unsafe extern "C-unwind" fn pread(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    at: off_t,
) -> ssize_t {
    read_through(pread as *const () as usize, fd, 0, &one(to, size), |list| unsafe {
        next::pread(fd, list[0].iov_base, list[0].iov_len, at)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn readv(fd: c_int, list: *const iovec, count: c_int) -> ssize_t {
    let list = unsafe { parts(list, count) };
    read_through(readv as *const () as usize, fd, 0, list, |list| unsafe {
        next::readv(fd, list.as_ptr(), list.len() as c_int)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn preadv(
    fd: c_int,
    list: *const iovec,
    count: c_int,
    at: off_t,
) -> ssize_t {
    let list = unsafe { parts(list, count) };
    read_through(preadv as *const () as usize, fd, 0, list, |list| unsafe {
        next::preadv(fd, list.as_ptr(), list.len() as c_int, at)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn preadv2(
    fd: c_int,
    list: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    let list = unsafe { parts(list, count) };
    let patience = if flags & libc::RWF_NOWAIT != 0 { libc::MSG_DONTWAIT } else { 0 };
    read_through(preadv2 as *const () as usize, fd, patience, list, |list| unsafe {
        next::preadv2(fd, list.as_ptr(), list.len() as c_int, at, flags)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn recv(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    read_through(recv as *const () as usize, fd, flags, &one(to, size), |list| unsafe {
        next::recv(fd, list[0].iov_base, list[0].iov_len, flags)
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
    read_and(function, fd, flags, &one(to, size), &beside, |list| unsafe {
        next::recvfrom(fd, list[0].iov_base, list[0].iov_len, flags, from, length)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let theirs = unsafe { *message };
    let list = unsafe { parts(theirs.msg_iov, theirs.msg_iovlen as c_int) };
    let beside = |visit: &mut dyn FnMut(*mut u8, usize)| visit_message(&theirs, message, visit);
    let mut is_made = false;
    let function = recvmsg as *const () as usize;
    let result = read_and(function, fd, flags, list, &beside, |list| unsafe {
        is_made = true;
        (*message).msg_iov = list.as_ptr().cast_mut();
        (*message).msg_iovlen = list.len();
        let result = next::recvmsg(fd, message, flags);
        (*message).msg_iov = theirs.msg_iov;
        (*message).msg_iovlen = theirs.msg_iovlen;
        result
    });
    if result >= 0 && !is_made && unsafe { brings_descriptors(message) } {
        // It names descriptors that are not there.
        cannot_be_given(call::READ);
    }
    result
}

/// In a replay: the recorded run got something here that is not kept.
pub(super) fn cannot_be_given(call: u32) {
    enter(|thread| hold().other_call(thread, call, problem::NOT_GIVEN));
}

/// Whether a message brings descriptors.
unsafe fn brings_descriptors(message: *const msghdr) -> bool {
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = part.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                return true;
            }
            part = libc::CMSG_NXTHDR(message, header);
        }
    }
    false
}

/// Visits what a received message sets beside its data; `before` is the message as it was.
fn visit_message(before: &msghdr, message: *mut msghdr, visit: &mut dyn FnMut(*mut u8, usize)) {
    if !before.msg_name.is_null() {
        visit(before.msg_name.cast(), before.msg_namelen as usize);
    }
    if !before.msg_control.is_null() {
        visit(before.msg_control.cast(), before.msg_controllen);
    }
    unsafe {
        visit((&raw mut (*message).msg_namelen).cast(), size_of::<socklen_t>());
        visit((&raw mut (*message).msg_controllen).cast(), size_of::<usize>());
        visit((&raw mut (*message).msg_flags).cast(), size_of::<c_int>());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    time: *mut libc::timespec,
) -> c_int {
    // One call for several messages: the data is that of each message that came.
    let waits = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let wait = Wait::on(&waits, flags, libc::SO_RCVTIMEO);
    let outside = |kernel: &mut Kernel| kernel.is_answered_by_others(fd);
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        for at in 0..result.max(0) as usize {
            let message = unsafe { list.add(at) };
            let theirs = unsafe { (*message).msg_hdr };
            let parts = unsafe { parts(theirs.msg_iov, theirs.msg_iovlen as c_int) };
            visit(unsafe { &raw mut (*message).msg_len }.cast(), size_of::<c_uint>());
            visit_data(parts, usize::MAX, visit);
            visit_message(&theirs, unsafe { &raw mut (*message).msg_hdr }, visit);
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source { of_child: Some(&of_child), ..Source::new(call::READ, &outside) };
    let call = || i64::from(unsafe { next::recvmmsg(fd, list, count, flags, time) });
    exchange(&source, |kernel| kernel.input(fd), wait, &areas, call) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn write(
    fd: c_int,
    from: *const c_void,
    size: size_t,
) -> ssize_t {
    write_through(write as *const () as usize, fd, 0, &one(from, size), |list| unsafe {
        next::write(fd, list[0].iov_base, list[0].iov_len)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pwrite(
    fd: c_int,
    from: *const c_void,
    size: size_t,
    at: off_t,
) -> ssize_t {
    write_through(pwrite as *const () as usize, fd, 0, &one(from, size), |list| unsafe {
        next::pwrite(fd, list[0].iov_base, list[0].iov_len, at)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn writev(fd: c_int, list: *const iovec, count: c_int) -> ssize_t {
    let list = unsafe { parts(list, count) };
    write_through(writev as *const () as usize, fd, 0, list, |list| unsafe {
        next::writev(fd, list.as_ptr(), list.len() as c_int)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pwritev(
    fd: c_int,
    list: *const iovec,
    count: c_int,
    at: off_t,
) -> ssize_t {
    let list = unsafe { parts(list, count) };
    write_through(pwritev as *const () as usize, fd, 0, list, |list| unsafe {
        next::pwritev(fd, list.as_ptr(), list.len() as c_int, at)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pwritev2(
    fd: c_int,
    list: *const iovec,
    count: c_int,
    at: off_t,
    flags: c_int,
) -> ssize_t {
    let list = unsafe { parts(list, count) };
    write_through(pwritev2 as *const () as usize, fd, 0, list, |list| unsafe {
        next::pwritev2(fd, list.as_ptr(), list.len() as c_int, at, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn send(
    fd: c_int,
    from: *const c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    write_through(send as *const () as usize, fd, flags, &one(from, size), |list| unsafe {
        next::send(fd, list[0].iov_base, list[0].iov_len, flags)
    })
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
    write_through(sendto as *const () as usize, fd, flags, &one(from, size), |list| unsafe {
        next::sendto(fd, list[0].iov_base, list[0].iov_len, flags, to, length)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let mut theirs = unsafe { *message };
    note_passed_on(&theirs);
    super::sockets::note_destination(theirs.msg_name.cast(), theirs.msg_namelen);
    let list = unsafe { parts(theirs.msg_iov, theirs.msg_iovlen as c_int) };
    write_through(sendmsg as *const () as usize, fd, flags, list, |list| unsafe {
        theirs.msg_iov = list.as_ptr().cast_mut();
        theirs.msg_iovlen = list.len();
        next::sendmsg(fd, &theirs, flags)
    })
}

/// Descriptors that are sent with a message may come to other processes.
fn note_passed_on(message: &msghdr) {
    if message.msg_controllen > 0 {
        crate::log::flag(foretrace_recording::file::flags::WAITS_END);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    for at in 0..count as usize {
        let message = unsafe { (*list.add(at)).msg_hdr };
        note_passed_on(&message);
        super::sockets::note_destination(message.msg_name.cast(), message.msg_namelen);
    }
    let waits = [pollfd { fd, events: libc::POLLOUT, revents: 0 }];
    let wait = Wait::on(&waits, flags, libc::SO_SNDTIMEO);
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let sent = || {
        (0..count as usize).fold(0u64, |so_far, at| {
            let message = unsafe { (*list.add(at)).msg_hdr };
            let parts = unsafe { parts(message.msg_iov, message.msg_iovlen as c_int) };
            so_far.rotate_left(1) ^ hash_of(parts)
        })
    };
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        for at in 0..result.max(0) as usize {
            visit(unsafe { &raw mut (*list.add(at)).msg_len }.cast(), size_of::<c_uint>());
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        sent: Some(&sent),
        of_child: Some(&of_child),
        ..Source::new(call::WRITE, &outside)
    };
    let call = || i64::from(unsafe { next::sendmmsg(fd, list, count, flags) });
    let uses = |kernel: &mut Kernel| kernel.output(fd, false);
    let then = |kernel: &mut Kernel, _: i64| kernel.may_write(fd);
    exchange_then(&source, uses, wait, &areas, call, then) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn eventfd_read(fd: c_int, value: *mut u64) -> c_int {
    let function = eventfd_read as *const () as usize;
    let list = one(value.cast(), 8);
    let result = read_through(function, fd, 0, &list, |list| unsafe {
        if next::eventfd_read(fd, list[0].iov_base.cast()) == 0 { 8 } else { -1 }
    });
    if result == 8 { 0 } else { -1 }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn eventfd_write(fd: c_int, value: u64) -> c_int {
    let list = one((&raw const value).cast(), 8);
    let result = transmit(fd, 8, 0, &list, || unsafe { next::eventfd_write(fd, value) as ssize_t });
    result as c_int
}
