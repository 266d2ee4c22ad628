//! Messages: `recvmsg`, `sendmsg`, and several at once.

use std::ffi::{c_int, c_uint};

use foretrace_recording::input::call;
use libc::{mmsghdr, msghdr, pollfd, socklen_t, ssize_t};

use super::descriptors::opening;
use super::ports::Address;
use super::transfers::{Opens, cannot_be_given, parts, read_and, visit_data, write_through};
use crate::kernel::Kernel;
use crate::kernel::calls::Wait;
use crate::kernel::exchange::{Source, exchange_then, hash_of};
use crate::kernel::limits;
use crate::real::{pass_on, real};
use crate::world::hold;

mod next {
    use super::*;
    real!(fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t);
    real!(fn recvmmsg(fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int,
        time: *mut libc::timespec) -> c_int);
    real!(fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t);
    real!(fn sendmmsg(fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int);
}
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller gives a message.
    let theirs = unsafe { *message };
    let list = pass_on!(parts(theirs.msg_iov, theirs.msg_iovlen as c_int));
    let beside = |visit: &mut dyn FnMut(*mut u8, usize)| visit_message(&theirs, message, visit);
    let opens = |kernel: &mut Kernel| note_opened(kernel, message);
    let opens: Opens = if may_bring_descriptors(fd, &theirs) { Some(&opens) } else { None };
    let mut is_made = false;
    let function = recvmsg as *const () as usize;
    // SAFETY: the message is the caller's, and is as he gave it when the call is over. `list` is
    // his, or leads to memory of ours that has as much room.
    let result = read_and(function, fd, flags, list, &beside, opens, |list| unsafe {
        is_made = true;
        (*message).msg_iov = list.as_ptr().cast_mut();
        (*message).msg_iovlen = list.len();
        let result = next::recvmsg(fd, message, flags);
        (*message).msg_iov = theirs.msg_iov;
        (*message).msg_iovlen = theirs.msg_iovlen;
        result
    });
    let mut has_brought = false;
    if result >= 0 && !is_made {
        pass_on!(visit_descriptors(message, |_| has_brought = true));
    }
    if has_brought {
        // It names descriptors that are not there.
        cannot_be_given(call::READ);
    }
    result
}

/// Whether a message that is received there may bring descriptors.
fn may_bring_descriptors(fd: c_int, message: &msghdr) -> bool {
    !message.msg_control.is_null()
        && message.msg_controllen >= size_of::<libc::cmsghdr>() + size_of::<c_int>()
        && limits::option(fd, libc::SO_DOMAIN).is_none_or(|domain| domain == libc::AF_UNIX)
}

/// The descriptors that a received message has brought are open now.
fn note_opened(kernel: &mut Kernel, message: *const msghdr) {
    let note = |new| {
        kernel.closed(new);
        kernel.has_opened(new);
    };
    pass_on!(visit_descriptors(message, note));
}

/// Visits the descriptors that a message brings.
///
/// # Safety
///
/// It is one that was received.
unsafe fn visit_descriptors(message: *const msghdr, mut visit: impl FnMut(c_int)) {
    // SAFETY: the kernel, or a recording of what it did, has set the message's control data; the C
    // library's macros stay within it.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = part.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let (data, size) = (libc::CMSG_DATA(part).cast::<c_int>(), header.cmsg_len);
                let count = size.saturating_sub(libc::CMSG_LEN(0) as usize) / size_of::<c_int>();
                (0..count).for_each(|at| visit(data.add(at).read_unaligned()));
            }
            part = libc::CMSG_NXTHDR(message, part);
        }
    }
}

/// Visits what a received message sets beside its data; `before` is the message as it was.
fn visit_message(before: &msghdr, message: *mut msghdr, visit: &mut dyn FnMut(*mut u8, usize)) {
    if !before.msg_name.is_null() {
        visit(before.msg_name.cast(), before.msg_namelen as usize);
    }
    if !before.msg_control.is_null() {
        visit(before.msg_control.cast(), before.msg_controllen);
    }
    // SAFETY: the message is the one that the program gave; only addresses are taken here.
    let (name, control, flags) = unsafe {
        (
            &raw mut (*message).msg_namelen,
            &raw mut (*message).msg_controllen,
            &raw mut (*message).msg_flags,
        )
    };
    visit(name.cast(), size_of::<socklen_t>());
    visit(control.cast(), size_of::<usize>());
    visit(flags.cast(), size_of::<c_int>());
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
        for at in 0..result.clamp(0, i64::from(count)) as usize {
            // SAFETY: the caller gives `count` messages.
            let (theirs, header, length) = unsafe {
                let message = list.add(at);
                ((*message).msg_hdr, &raw mut (*message).msg_hdr, &raw mut (*message).msg_len)
            };
            let parts = pass_on!(parts(theirs.msg_iov, theirs.msg_iovlen as c_int));
            visit(length.cast(), size_of::<c_uint>());
            visit_data(parts, usize::MAX, visit);
            visit_message(&theirs, header, visit);
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source { of_child: Some(&of_child), ..Source::new(call::READ, &outside) };
    let call = || i64::from(pass_on!(next::recvmmsg(fd, list, count, flags, time)));
    // SAFETY: the caller gives `count` messages.
    let headers = (0..count as usize).map(|at| unsafe { &raw const (*list.add(at)).msg_hdr });
    // SAFETY: as above.
    let mut received = headers.clone().map(|header| unsafe { *header });
    let opens = received.any(|header| may_bring_descriptors(fd, &header));
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.input(fd);
        if opens {
            uses.join(&opening());
        }
        uses
    };
    let then = |kernel: &mut Kernel, result: i64| {
        let came = usize::try_from(result).unwrap_or(0);
        headers.clone().take(came).for_each(|header| note_opened(kernel, header));
    };
    exchange_then(&source, uses, wait, &areas, call, then) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller gives a message.
    let mut theirs = unsafe { *message };
    note_passed_on(&theirs);
    super::sockets::note_destination(theirs.msg_name.cast(), theirs.msg_namelen);
    let to = Address::really(theirs.msg_name.cast(), theirs.msg_namelen);
    theirs.msg_name = to.get().cast_mut().cast();
    let list = pass_on!(parts(theirs.msg_iov, theirs.msg_iovlen as c_int));
    write_through(sendmsg as *const () as usize, fd, flags, list, |list| {
        theirs.msg_iov = list.as_ptr().cast_mut();
        theirs.msg_iovlen = list.len();
        pass_on!(next::sendmsg(fd, &theirs, flags))
    })
}

/// Descriptors that are sent with a message may come to other processes.
fn note_passed_on(message: &msghdr) {
    if message.msg_controllen > 0 {
        crate::log::flag(foretrace_recording::file::flags::WAITS_END);
        hold().kernel.pass_on();
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
        // SAFETY: the caller gives `count` messages.
        let message = unsafe { (*list.add(at)).msg_hdr };
        note_passed_on(&message);
        super::sockets::note_destination(message.msg_name.cast(), message.msg_namelen);
    }
    let waits = [pollfd { fd, events: libc::POLLOUT, revents: 0 }];
    let wait = Wait::on(&waits, flags, libc::SO_SNDTIMEO);
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let sent = || {
        (0..count as usize).fold(0u64, |so_far, at| {
            // SAFETY: the caller gives `count` messages.
            let message = unsafe { (*list.add(at)).msg_hdr };
            let parts = pass_on!(parts(message.msg_iov, message.msg_iovlen as c_int));
            so_far.rotate_left(1) ^ hash_of(parts)
        })
    };
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        for at in 0..result.clamp(0, i64::from(count)) as usize {
            // SAFETY: the caller gives `count` messages.
            let length = unsafe { &raw mut (*list.add(at)).msg_len };
            visit(length.cast(), size_of::<c_uint>());
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(fd);
    let source = Source {
        sent: Some(&sent),
        of_child: Some(&of_child),
        ..Source::new(call::WRITE, &outside)
    };
    let call = || i64::from(pass_on!(next::sendmmsg(fd, list, count, flags)));
    let uses = |kernel: &mut Kernel| kernel.output(fd, false);
    let then = |kernel: &mut Kernel, _: i64| kernel.may_write(fd);
    exchange_then(&source, uses, wait, &areas, call, then) as c_int
}
