//! Streams over pipes and sockets, over devices such as `/dev/urandom`, and over files of the
//! kernel. The C library fills its streams internally, where no call can be interposed, so these
//! are streams of our own, which read and write as the program does.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{FILE, off64_t, pid_t, size_t, ssize_t};

use super::{children, descriptors, streams, transfers};
use crate::config::{Mode, mode};
use crate::errno::{errno, keeping_errno, set_errno};
use crate::futex::{Guarded, system_call};
use crate::kernel::calls::around;
use crate::kernel::system_files;
use crate::real::{pass_on, real};
use crate::thread::enter;

mod next {
    use super::*;
    real!(fn fileno(stream: *mut FILE) -> c_int);
    real!(fn fdopen(fd: c_int, how: *const c_char) -> *mut FILE);
    real!(fn popen(command: *const c_char, how: *const c_char) -> *mut FILE);
    real!(fn pclose(stream: *mut FILE) -> c_int);
    real!(fn fopencookie(cookie: *mut c_void, mode: *const c_char,
        functions: Functions) -> *mut FILE);
}

type Read = unsafe extern "C-unwind" fn(*mut c_void, *mut c_char, size_t) -> ssize_t;
type Write = unsafe extern "C-unwind" fn(*mut c_void, *const c_char, size_t) -> ssize_t;
type Seek = unsafe extern "C-unwind" fn(*mut c_void, *mut off64_t, c_int) -> c_int;
type Close = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// What a stream of the program's own does (`cookie_io_functions_t`).
#[repr(C)]
struct Functions {
    read: Option<Read>,
    write: Option<Write>,
    seek: Option<Seek>,
    close: Option<Close>,
}

unsafe extern "C" {
    static mut stdout: *mut FILE;
    static environ: *const *mut c_char;
}

/// Whether the program has made a stream whose functions are its own: the C library calls them
/// under a lock that nobody else sees.
static CALLS_BACK: AtomicBool = AtomicBool::new(false);

pub(super) fn may_call_back() -> bool {
    CALLS_BACK.load(Relaxed)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fopencookie(
    cookie: *mut c_void,
    mode: *const c_char,
    functions: Functions,
) -> *mut FILE {
    CALLS_BACK.store(true, Relaxed);
    pass_on!(next::fopencookie(cookie, mode, functions))
}

/// A stream of ours.
#[derive(Clone, Copy)]
struct Own {
    stream: *mut FILE,
    fd: c_int,
    /// The child at the other end, if `popen` made it.
    child: pid_t,
}

// SAFETY: the C library lets any thread use a stream, and here it is only compared.
unsafe impl Send for Own {}

static LIST: Guarded<Vec<Own>> = Guarded::new(Vec::new());

fn find(stream: *mut FILE) -> Option<Own> {
    let find = || LIST.with(|list| list.iter().find(|own| own.stream == stream).copied());
    // No signal handler comes between.
    enter(|_| find()).unwrap_or_else(find)
}

/// A stream is closed.
pub(super) fn forget(stream: *mut FILE) {
    let forget = || LIST.with(|list| list.retain(|own| own.stream != stream));
    enter(|_| forget()).unwrap_or_else(forget);
}

/// Makes a stream over a descriptor, if the runtime is on.
pub(super) fn make(fd: c_int, how: *const c_char, child: pid_t) -> Option<*mut FILE> {
    let functions =
        Functions { read: Some(read), write: Some(write), seek: Some(seek), close: Some(close) };
    // From inside of the runtime: the memory that the C library takes for it is none of the
    // program's.
    enter(|_| {
        // SAFETY: the functions are there as long as the process, and take the descriptor that is
        // given in the place of a pointer; `how` is a C string.
        let stream = unsafe {
            next::fopencookie(std::ptr::without_provenance_mut(fd as usize), how, functions)
        };
        if !stream.is_null() {
            LIST.with(|list| list.push(Own { stream, fd, child }));
        }
        stream
    })
}

unsafe extern "C-unwind" fn read(fd: *mut c_void, to: *mut c_char, size: size_t) -> ssize_t {
    let fd = fd.addr() as c_int;
    // SAFETY: the C library calls it with memory that has so much room; `stdout` is its own, and
    // may be null.
    unsafe {
        // The C library shows what was written before it waits for the user.
        if fd == 0 && keeping_errno(|| libc::isatty(0)) == 1 {
            libc::fflush(stdout);
        }
        transfers::read(fd, to.cast(), size)
    }
}

/// Returns what was written; 0, and not -1, is an error.
unsafe extern "C-unwind" fn write(fd: *mut c_void, from: *const c_char, size: size_t) -> ssize_t {
    let mut done = 0;
    while done < size {
        let (from, left) = (from.wrapping_add(done), size - done);
        match pass_on!(transfers::write(fd.addr() as c_int, from.cast(), left)) {
            written if written > 0 => done += written as usize,
            _ => break,
        }
    }
    done as ssize_t
}

unsafe extern "C-unwind" fn seek(fd: *mut c_void, place: *mut off64_t, from: c_int) -> c_int {
    // SAFETY: the C library gives a place, and takes the new one there.
    unsafe {
        let result = descriptors::lseek(fd.addr() as c_int, *place, from);
        if result < 0 {
            return -1;
        }
        *place = result;
    }
    0
}

unsafe extern "C-unwind" fn close(fd: *mut c_void) -> c_int {
    pass_on!(descriptors::close(fd.addr() as c_int))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fileno(stream: *mut FILE) -> c_int {
    match find(stream) {
        Some(own) => own.fd,
        None => pass_on!(next::fileno(stream)),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fileno_unlocked(stream: *mut FILE) -> c_int {
    pass_on!(fileno(stream))
}

/// Whether a descriptor is a pipe or a socket: others may feed it.
fn is_connected(fd: c_int) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
    let arguments = [fd as usize, found.as_mut_ptr() as usize, 0, 0, 0, 0];
    system_call(libc::SYS_fstat, arguments) == 0
        && matches!(
            // SAFETY: it was all zeros, which is a `stat`, and the kernel has set it.
            unsafe { found.assume_init() }.st_mode & libc::S_IFMT,
            libc::S_IFIFO | libc::S_IFSOCK
        )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fdopen(fd: c_int, how: *const c_char) -> *mut FILE {
    // It fails if the number is not open.
    around(
        |kernel| kernel.of_number(fd),
        None,
        || {
            let own = if is_connected(fd) { make(fd, how, 0) } else { None };
            own.unwrap_or_else(|| pass_on!(next::fdopen(fd, how)))
        },
    )
}

/// Whether somebody wants to read what others feed.
pub(super) fn is_fed(name: *const c_char, how: *const c_char) -> bool {
    !name.is_null()
        && !how.is_null()
        && matches!(mode(), Mode::Free | Mode::Scheduled)
        // SAFETY: it is not null, so it is the C string that the program gives to `fopen`.
        && unsafe { *how.cast::<u8>() } == b'r'
        && enter(|_| system_files::is_fed(name)).unwrap_or(false)
}

/// Opens such a file.
pub(super) fn open_fed(name: *const c_char, how: *const c_char) -> *mut FILE {
    // SAFETY: `is_fed` has looked at it: it is the C string that the program gives to `fopen`.
    let says = |letter: u8| unsafe { CStr::from_ptr(how) }.to_bytes().contains(&letter);
    let mut flags = if says(b'+') { libc::O_RDWR } else { libc::O_RDONLY };
    if says(b'e') {
        flags |= libc::O_CLOEXEC;
    }
    // The call of `fopen` itself is recorded, and with it that a descriptor is opened.
    let arguments = [libc::AT_FDCWD as usize, name as usize, flags as usize, 0, 0, 0];
    let fd = system_call(libc::SYS_openat, arguments) as i64 as c_int;
    if fd < 0 {
        set_errno(-fd);
        return null_mut();
    }
    match make(fd, how, 0).filter(|stream| !stream.is_null()) {
        Some(stream) => stream,
        None => {
            system_call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
            null_mut()
        }
    }
}

/// What a program is started with: descriptors that it gets, and that it does not.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    /// The program gets `from` as its descriptor `to`, and none of the streams to other children.
    fn new(from: c_int, to: c_int) -> Actions {
        // SAFETY: zeros are what `posix_spawn_file_actions_init` makes of it, too.
        let mut actions = Actions(unsafe { std::mem::zeroed() });
        // SAFETY: the actions are ours, and were made before anything is added.
        enter(|_| unsafe {
            libc::posix_spawn_file_actions_init(&mut actions.0);
            LIST.with(|list| {
                for own in list.iter().filter(|own| own.child != 0 && own.fd != to) {
                    libc::posix_spawn_file_actions_addclose(&mut actions.0, own.fd);
                }
            });
            libc::posix_spawn_file_actions_adddup2(&mut actions.0, from, to);
        });
        actions
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: they were made in `new`, and nobody uses them any more.
        enter(|_| unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) });
    }
}

/// A pipe, a program and a stream, each as if the program had asked for it.
///
/// # Safety
///
/// Both are C strings.
unsafe fn start(command: *const c_char, how: *const c_char) -> *mut FILE {
    // SAFETY: the caller says so.
    let flags = unsafe { CStr::from_ptr(how) }.to_bytes();
    let reads = flags.contains(&b'r');
    let mut ends = [0; 2];
    if pass_on!(descriptors::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC)) != 0 {
        return null_mut();
    }
    let (own, theirs, place) = if reads { (ends[0], ends[1], 1) } else { (ends[1], ends[0], 0) };
    let actions = Actions::new(theirs, place);
    let shell = [c"sh".as_ptr(), c"-c".as_ptr(), c"--".as_ptr(), command, null()];
    let mut child = 0;
    // SAFETY: the strings and lists end as `posix_spawn` wants it, and are there until it returns.
    let status = unsafe {
        let actions = (&raw const actions.0).cast();
        let (arguments, variables) = (shell.as_ptr().cast(), environ);
        let path = c"/bin/sh".as_ptr();
        children::posix_spawn(&mut child, path, actions, null(), arguments, variables)
    };
    pass_on!(descriptors::close(theirs));
    if status != 0 {
        pass_on!(descriptors::close(own));
        set_errno(status);
        return null_mut();
    }
    if !flags.contains(&b'e') {
        let arguments = [own as usize, libc::F_SETFD as usize, 0, 0, 0, 0];
        system_call(libc::SYS_fcntl, arguments);
    }
    let mode = if reads { c"r" } else { c"w" };
    make(own, mode.as_ptr(), child).unwrap_or(null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn popen(command: *const c_char, how: *const c_char) -> *mut FILE {
    // SAFETY: the caller gives a C string.
    let flags = unsafe { CStr::from_ptr(how) }.to_bytes();
    let is_known = matches!(flags, b"r" | b"w" | b"re" | b"we" | b"er" | b"ew");
    if enter(|_| ()).is_none() || !is_known {
        return pass_on!(next::popen(command, how));
    }
    pass_on!(start(command, how))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pclose(stream: *mut FILE) -> c_int {
    let Some(own) = find(stream).filter(|own| own.child != 0) else {
        return pass_on!(next::pclose(stream));
    };
    let mut status = 0;
    pass_on!(streams::fclose(stream));
    loop {
        let ended = pass_on!(children::wait4(own.child, &mut status, 0, null_mut()));
        if ended == own.child {
            return status;
        }
        if errno() != libc::EINTR {
            return -1;
        }
    }
}
