//! Sockets. Most talk to other processes: what is sent may come back as what is received, whoever
//! receives it. A process can also talk to itself, over a pair of sockets or over the network.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use foretrace_recording::channel::direction::BOTH;
use foretrace_recording::channel::{LOOPBACK, NAMES, OUTSIDE};
use foretrace_recording::input::{Input, call, problem};
use libc::{pollfd, sockaddr, socklen_t};

use super::descriptors::{open_one, opening};
use super::ports::{self, Address};
use crate::errno::{errno, keeping_errno, set_errno};
use crate::futex::system_call;
use crate::kernel::Kernel;
use crate::kernel::calls::{Wait, around_then};
use crate::kernel::exchange::{
    Fate, Source, exchange, exchange_then, finish, give, goes_on, start,
};
use crate::kernel::files::{How, named_file};
use crate::kernel::objects::{Kind, Port};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real, variants};
use crate::schedule::Waited;
use crate::thread::enter;
use crate::world::hold;

mod next {
    use super::*;
    real!(fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int);
    real!(fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int);
    real!(fn accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t,
        flags: c_int) -> c_int);
    real!(fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int);
    real!(fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int);
    real!(fn listen(fd: c_int, backlog: c_int) -> c_int);
    real!(fn getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    real!(fn getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    real!(fn shutdown(fd: c_int, how: c_int) -> c_int);
    real!(fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void,
        length: *mut socklen_t) -> c_int);
    real!(fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void,
        length: socklen_t) -> c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    open_one(|_| Uses::default(), || pass_on!(next::socket(domain, kind, protocol)), |_, _| ())
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
        || pass_on!(next::socketpair(domain, kind, protocol, ends)),
        |kernel, &status| {
            if status == 0 {
                let stream = kind & 0xff == libc::SOCK_STREAM;
                // SAFETY: the caller gives room for two descriptors, which the call has set.
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
    // SAFETY: it is an address that the program gives to the kernel, or that the kernel has set,
    // and has so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length as usize) };
    match c_int::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
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
    let length = length.min(size_of::<libc::sockaddr_storage>() as socklen_t);
    if status != 0 { None } else { name_of(address.as_ptr().cast(), length) }
}

/// How much room there is for an address.
pub(super) fn room(address: *const sockaddr, length: *const socklen_t) -> usize {
    // SAFETY: the caller of a function of sockets gives both, or null.
    if address.is_null() || length.is_null() { 0 } else { unsafe { *length as usize } }
}

/// Visits an address that a call sets, and its length.
pub(super) fn visit_address(
    address: *mut sockaddr,
    room: usize,
    length: *mut socklen_t,
    visit: &mut dyn FnMut(*mut u8, usize),
) {
    if room > 0 {
        visit(address.cast(), room);
    }
    if !length.is_null() {
        visit(length.cast(), size_of::<socklen_t>());
    }
}

/// Something is sent to an address: if it is one of our own, the process talks to itself from now
/// on.
pub(super) fn note_destination(to: *const sockaddr, length: socklen_t) {
    if to.is_null() {
        return;
    }
    enter(|thread| {
        let mut world = hold();
        let objects = &mut world.kernel.objects;
        let name = name_of(to, length);
        let is_new =
            !objects.talks_to_itself && name.is_none_or(|name| objects.bound.contains(&name));
        if is_new {
            objects.talks_to_itself = true;
            let (thread, call) = (thread.index, call::TALKS_TO_ITSELF);
            let none = Input { thread, call, ordinal: 0, errno: 0, result: 0, sent: 0 };
            world.keep_input(&none, &[]);
        }
    });
}

/// Whether the other end of a socket is one of ours.
fn is_from_ourselves(fd: c_int) -> bool {
    let name = name_by(libc::SYS_getpeername, fd);
    let is_known = enter(|_| {
        let kernel = &mut hold().kernel;
        // Who connects may not have come back yet.
        for fd in kernel.objects.connecting.clone() {
            if let Some(name) = connector_name(fd).filter(|own| Some(own) == name.as_ref()) {
                kernel.named(fd, Some(name));
            }
        }
        kernel.has_connected(name.as_deref())
    });
    is_known.unwrap_or(false)
}

/// The name by which the other end can tell a socket that connects. (Those of the file system have
/// none, and do not find each other.)
fn connector_name(fd: c_int) -> Option<Vec<u8>> {
    own_name(fd).filter(|name| name.len() == 3)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let list = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let wait = Wait::on(&list, 0, libc::SO_RCVTIMEO);
    let uses = |kernel: &mut Kernel| {
        let mut uses = opening();
        uses.join(&kernel.input(fd));
        uses.quiet()
    };
    let outside = |kernel: &mut Kernel| kernel.is_answered_by_others(fd);
    let room = room(from, length);
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result >= 0 {
            visit_address(from, room, length, visit);
        }
    };
    let source = Source::new(call::ACCEPT, &outside);
    let Some(mut begun) = start(&source, uses, wait) else {
        return pass_on!(next::accept4(fd, from, length, flags));
    };
    let is_answered = matches!(begun.fate, Fate::Answered(_));
    let new = match &begun.fate {
        Fate::Answered(answer) => {
            let new = if answer.result < 0 { -1 } else { placeholder(flags) };
            if i64::from(new) != answer.result {
                enter(|thread| hold().other_call(thread, call::ACCEPT, problem::OTHER_DESCRIPTOR));
            }
            give(answer, &areas);
            new
        }
        _ if begun.waited == Waited::Interrupted && !goes_on(wait) => {
            set_errno(libc::EINTR);
            -1
        }
        _ if begun.waited == Waited::TimedOut => {
            set_errno(libc::EAGAIN);
            -1
        }
        _ => pass_on!(next::accept4(fd, from, length, flags)),
    };
    if !is_answered && new >= 0 && is_from_ourselves(new) {
        // A replay makes it again.
        begun.fate = Fate::Made;
    }
    finish(&begun, &source, i64::from(new), &areas, |kernel| {
        if new >= 0 && is_answered {
            kernel.created(new, Kind::Outside, "socket");
        } else if new >= 0 {
            kernel.accepted(new, name_by(libc::SYS_getpeername, new));
        }
    });
    new
}

/// A descriptor in the place of a connection: never ready by itself, and good for all that does not
/// need the other end.
fn placeholder(flags: c_int) -> c_int {
    const { assert!(libc::SOCK_NONBLOCK == libc::EFD_NONBLOCK) };
    const { assert!(libc::SOCK_CLOEXEC == libc::EFD_CLOEXEC) };
    crate::futex::system_call(libc::SYS_eventfd2, [0, flags as usize, 0, 0, 0, 0]) as c_int
}

variants! {
    fn accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int
        = accept4(fd, from, length, 0);
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
        uses.connects()
    };
    // Before the call, since the other end may have it first.
    enter(|_| {
        let mut world = hold();
        match to_itself(&world.kernel) {
            true => world.kernel.connecting(fd),
            false => world.kernel.leaving(fd),
        }
    });
    let outside = |kernel: &mut Kernel| !to_itself(kernel) && kernel.goes_to_others(fd);
    let source = Source::new(call::CONNECT, &outside);
    let really = Address::really(to, length);
    let call = || i64::from(pass_on!(next::connect(fd, really.get(), length)));
    exchange_then(&source, uses, None, &|_, _| (), call, |kernel, _| {
        if to_itself(kernel) {
            kernel.named(fd, connector_name(fd));
        }
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(fd);
        uses.add(NAMES, BOTH);
        uses
    };
    let outside = |kernel: &mut Kernel| kernel.objects.talks_to_itself || kernel.goes_to_others(fd);
    keeping_errno(|| with_file(address, length, will_make));
    let source = Source::new(call::BIND, &outside);
    let port = Cell::new([0; 2]);
    let chosen = Cell::new(None);
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| visit(port.as_ptr().cast(), 2);
    let mut is_made = false;
    let call = || {
        is_made = true;
        chosen.set(chosen_port(address, length));
        let bind = || pass_on!(next::bind(fd, address, length));
        let status = bind();
        let is_taken = status != 0 && errno() == libc::EADDRINUSE;
        i64::from(if is_taken && was_free() && vacate(address, length) { bind() } else { status })
    };
    let status = exchange_then(&source, uses, None, &areas, call, |kernel, status| {
        if status == 0 {
            let name = own_name(fd);
            if let Some(&[0, first, second]) = name.as_deref() {
                port.set([first, second]);
            }
            kernel.objects.bound.extend(name);
            if let Some(was) = chosen.get().filter(|&was| was != port.get()) {
                kernel.objects.bound.push([&[0], &was[..]].concat());
                kernel.objects.ports.push((was, port.get()));
            }
        }
    });
    if status == 0 && !is_made {
        // It is not bound now, but the file is there all the same.
        keeping_errno(|| with_file(address, length, make_name));
    }
    status as c_int
}

/// What the recorded run of a replay got here: the result, and the port.
fn recorded() -> Option<(i64, &'static [u8])> {
    enter(|thread| {
        let (of, ordinal) = (thread.recorded, thread.ordinal);
        hold().inputs.as_ref()?.seen(of, ordinal, call::BIND)
    })?
}

/// The port that the kernel chose in the recorded run of a replay, and may not choose now.
fn chosen_port(address: *const sockaddr, length: socklen_t) -> Option<Port> {
    let is_any = name_of(address, length).as_deref() == Some(&[0, 0, 0]);
    recorded().filter(|_| is_any).and_then(|(_, port)| port.try_into().ok())
}

/// Whether the recorded run of a replay got the address that is taken now.
fn was_free() -> bool {
    recorded().is_some_and(|(result, _)| result == 0)
}

/// A replay that ended in the middle may have left a name behind in the file system that nobody
/// uses any more. Says whether it can be had again.
fn vacate(address: *const sockaddr, length: socklen_t) -> bool {
    let name = name_of(address, length);
    let Some([1, name @ ..]) = name.as_deref() else { return false };
    let is_file = name.first().is_some_and(|&byte| byte != 0);
    let name = [name, &[0]].concat();
    // The name itself, not what stands for it in a replay.
    let arguments = [name.as_ptr() as usize, 0, 0, 0, 0, 0];
    is_file && is_stale(address, length) && system_call(libc::SYS_unlink, arguments) == 0
}

/// Whether a name of the file system is that of a socket to which nobody listens.
fn is_stale(address: *const sockaddr, length: socklen_t) -> bool {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let socket = system_call(libc::SYS_socket, [libc::AF_UNIX as usize, kind as usize, 0, 0, 0, 0]);
    if socket < 0 {
        return false;
    }
    let arguments = [socket as usize, address as usize, length as usize, 0, 0, 0];
    let status = system_call(libc::SYS_connect, arguments);
    system_call(libc::SYS_close, [socket as usize, 0, 0, 0, 0, 0]);
    status == -(libc::ECONNREFUSED as isize)
}

/// Calls `make` with the file that an address is, if it is one.
fn with_file(address: *const sockaddr, length: socklen_t, make: impl FnOnce(&[u8])) {
    let name = name_of(address, length);
    if let Some([1, name @ ..]) = name.as_deref()
        && name.first().is_some_and(|&byte| byte != 0)
    {
        make(&[name, &[0]].concat());
    }
}

fn make_name(name: &[u8]) {
    // SAFETY: both the name and what stands for it end with a 0.
    named_file(libc::AT_FDCWD, name.as_ptr().cast(), How::Changes, |name| unsafe {
        libc::mknod(name, libc::S_IFSOCK | 0o777, 0)
    });
}

/// A recording keeps what is there.
fn will_make(name: &[u8]) {
    named_file(libc::AT_FDCWD, name.as_ptr().cast(), How::Changes, |_| ());
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(fd);
        uses.add(LOOPBACK, BOTH);
        uses
    };
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let source = Source::new(call::LISTEN, &outside);
    let call = || i64::from(pass_on!(next::listen(fd, backlog)));
    exchange_then(&source, uses, None, &|_, _| (), call, |kernel, status| {
        if status == 0 {
            kernel.objects.bound.extend(own_name(fd));
        }
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let source = Source::new(call::SHUTDOWN, &outside);
    let call = || i64::from(pass_on!(next::shutdown(fd, how)));
    exchange(&source, |kernel| kernel.both(fd).quiet(), None, &|_, _| (), call) as c_int
}

/// Options of a socket are its own; only an error that is fetched, or how much there is, tells of
/// others.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let source = Source::new(call::OPTION, &outside);
    let room = room(value.cast(), length);
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        visit_address(value.cast(), room, length, visit);
    };
    let call = || i64::from(pass_on!(next::getsockopt(fd, level, name, value, length)));
    exchange(&source, |kernel| kernel.both(fd), None, &areas, call) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
    let source = Source::new(call::SET_OPTION, &outside);
    let call = || i64::from(pass_on!(next::setsockopt(fd, level, name, value, length)));
    // Others change how much fits in, for example.
    let uses = |kernel: &mut Kernel| match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => kernel.both(fd).changes_waits(),
        (libc::IPPROTO_TCP, libc::TCP_NODELAY)
        | (libc::SOL_SOCKET, libc::SO_KEEPALIVE | libc::SO_REUSEADDR) => kernel.both(fd).quiet(),
        _ => kernel.both(fd),
    };
    exchange(&source, uses, None, &|_, _| (), call) as c_int
}

/// The addresses of a socket: they tell whether another thread has bound or connected it.
macro_rules! addresses {
    ($($name:ident: $call:expr;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            to: *mut sockaddr,
            length: *mut socklen_t,
        ) -> c_int {
            let outside = |kernel: &mut Kernel| kernel.goes_to_others(fd);
            let source = Source::new($call, &outside);
            let room = room(to, length);
            let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
                visit_address(to, room, length, visit);
            };
            let call = || {
                let status = pass_on!(next::$name(fd, to, length));
                ports::show(to, if status == 0 { room } else { 0 });
                i64::from(status)
            };
            exchange(&source, |kernel| kernel.question(fd).quiet(), None, &areas, call) as c_int
        }
    )* };
}

addresses! { getsockname: call::NAME; getpeername: call::PEER; }
