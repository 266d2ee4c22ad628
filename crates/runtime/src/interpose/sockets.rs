//! Sockets. Most talk to other processes: what is sent may come back as what is received, whoever receives it. A process can also talk
//! to itself, over a pair of sockets or over the network.

use std::ffi::{c_int, c_void};

use foretrace_recording::channel::direction::BOTH;
use foretrace_recording::channel::{LOOPBACK, NAMES, OUTSIDE};
use libc::{pollfd, sockaddr, socklen_t};

use super::descriptors::{open_one, opening};
use crate::kernel::Kernel;
use crate::kernel::calls::{Wait, around, around_then};
use crate::kernel::uses::Uses;
use crate::real::real;
use crate::thread::enter;
use crate::world::hold;

mod next {
    use super::*;
    real!(fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int);
    real!(fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int);
    real!(fn accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int);
    real!(fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int);
    real!(fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int);
    real!(fn listen(fd: c_int, backlog: c_int) -> c_int);
    real!(fn shutdown(fd: c_int, how: c_int) -> c_int);
    real!(fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int);
    real!(fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    open_one(|_| Uses::default(), || unsafe { next::socket(domain, kind, protocol) }, |_, _| ())
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    around_then(
        |_| opening(),
        None,
        || unsafe { next::socketpair(domain, kind, protocol, ends) },
        |kernel, &status| {
            if status == 0 {
                let stream = kind & 0xff == libc::SOCK_STREAM;
                kernel.paired(unsafe { [*ends, *ends.add(1)] }, stream);
            }
        },
    )
}

/// What tells sockets of one family apart: the port, or the name.
fn name_of(address: *const sockaddr, length: socklen_t) -> Option<Vec<u8>> {
    if address.is_null() || (length as usize) < size_of::<libc::sa_family_t>() {
        return None;
    }
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length as usize) };
    match c_int::from(unsafe { (*address).sa_family }) {
        // By whatever address the machine is called: only the port counts.
        libc::AF_INET | libc::AF_INET6 => Some([&[0], bytes.get(2..4)?].concat()),
        libc::AF_UNIX => {
            let name = bytes.get(2..)?;
            let end = if name.first() == Some(&0) {
                name.len()
            } else {
                name.iter().position(|&byte| byte == 0).unwrap_or(name.len())
            };
            Some([&[1], &name[..end]].concat())
        }
        _ => None,
    }
}

/// The name of a socket of ours.
fn own_name(fd: c_int) -> Option<Vec<u8>> {
    name_by(libc::SYS_getsockname, fd)
}

fn name_by(call: i64, fd: c_int) -> Option<Vec<u8>> {
    let mut address = std::mem::MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as socklen_t;
    let arguments =
        [fd as usize, address.as_mut_ptr() as usize, (&raw mut length) as usize, 0, 0, 0];
    let status = crate::futex::system_call(call, arguments);
    if status != 0 { None } else { name_of(address.as_ptr().cast(), length) }
}

/// Something is sent to an address: if it is one of our own, the process talks to itself from now on.
pub(super) fn note_destination(to: *const sockaddr, length: socklen_t) {
    if to.is_null() {
        return;
    }
    enter(|_| {
        let mut world = hold();
        let objects = &mut world.kernel.objects;
        let name = name_of(to, length);
        objects.talks_to_itself |= name.is_none_or(|name| objects.bound.contains(&name));
    });
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let list = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let blocking = super::transfers::is_blocking(fd, 0);
    let wait = blocking.then_some(Wait { list: &list, deadline: None });
    let uses = |kernel: &mut Kernel| {
        let mut uses = opening();
        uses.join(&kernel.input(fd));
        uses.quiet()
    };
    let call = || unsafe { next::accept4(fd, from, length, flags) };
    around_then(uses, wait, call, |kernel, &new| {
        if new >= 0 {
            kernel.accepted(new, name_by(libc::SYS_getpeername, new));
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    unsafe { accept4(fd, from, length, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    note_destination(to, length);
    let to_itself = |kernel: &Kernel| {
        let name = name_of(to, length);
        kernel.objects.talks_to_itself
            && name.is_none_or(|name| kernel.objects.bound.contains(&name))
    };
    let uses = |kernel: &mut Kernel| {
        // Of a socket that is not connected yet nobody else knows.
        let mut uses = kernel.both(fd);
        match to_itself(kernel) {
            true => uses.add(LOOPBACK, BOTH),
            false => uses.add(OUTSIDE, BOTH),
        }
        uses.quiet()
    };
    // Before the call, since the other end may have it first.
    enter(|_| {
        let mut world = hold();
        if to_itself(&world.kernel) {
            world.kernel.connecting(fd);
        }
    });
    let call = || unsafe { next::connect(fd, to, length) };
    around_then(uses, None, call, |kernel, _| {
        // Sockets of the file system have no names of their own, and do not find each other.
        if to_itself(kernel) {
            kernel.named(fd, own_name(fd).filter(|name| name.len() == 3));
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(fd);
        uses.add(NAMES, BOTH);
        uses
    };
    around_then(
        uses,
        None,
        || unsafe { next::bind(fd, address, length) },
        |kernel, &status| {
            if status == 0 {
                kernel.objects.bound.extend(own_name(fd));
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(fd);
        uses.add(LOOPBACK, BOTH);
        uses
    };
    around_then(
        uses,
        None,
        || unsafe { next::listen(fd, backlog) },
        |kernel, &status| {
            if status == 0 {
                kernel.objects.bound.extend(own_name(fd));
                kernel.listening(fd);
            }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    around(|kernel| kernel.both(fd).quiet(), None, || unsafe { next::shutdown(fd, how) })
}

/// Options of a socket are its own; only an error that is fetched, or how much there is, tells of others.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    around(
        |kernel| kernel.both(fd),
        None,
        || unsafe { next::getsockopt(fd, level, name, value, length) },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    around(
        |kernel| kernel.both(fd),
        None,
        || unsafe { next::setsockopt(fd, level, name, value, length) },
    )
}
