//! Functions that name files: in a replay, names of files that the recorded run changed lead to
//! copies of the replay's own. See [`crate::kernel::files`].
//!
//! Which channels they use, the plugin says.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use foretrace_recording::input::call;
use libc::{AT_FDCWD, FILE, mode_t, off_t, size_t, ssize_t};

use super::own_streams;
use crate::kernel::Kernel;
use crate::kernel::exchange::{Fate, Source, finish, give, start};
use crate::kernel::files::{How, how_opened, made, named_file};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real, variants};

/// Functions whose first argument is a name; or a folder, and a name in it.
macro_rules! names {
    ($($how:ident $name:ident(path $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        mod plain {
            use super::*;
            $( real!(fn $name(path: *const c_char $(, $argument: $type)*) -> $result); )*
        }
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                path: *const c_char $(, $argument: $type)*
            ) -> $result {
                let call = |path| pass_on!(plain::$name(path $(, $argument)*));
                named_file(AT_FDCWD, path, How::$how, call)
            }
        )*
    };
}

macro_rules! names_in_folders {
    ($($how:ident $name:ident(folder, path $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        mod in_folders {
            use super::*;
            $( real!(fn $name(
                folder: c_int, path: *const c_char $(, $argument: $type)*
            ) -> $result); )*
        }
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                folder: c_int,
                path: *const c_char $(, $argument: $type)*
            ) -> $result {
                let call = |path| pass_on!(in_folders::$name(folder, path $(, $argument)*));
                named_file(folder, path, How::$how, call)
            }
        )*
    };
}

names! {
    Asks stat(path, to: *mut c_void) -> c_int;
    Asks stat64(path, to: *mut c_void) -> c_int;
    Asks lstat(path, to: *mut c_void) -> c_int;
    Asks lstat64(path, to: *mut c_void) -> c_int;
    Asks access(path, how: c_int) -> c_int;
    Asks euidaccess(path, how: c_int) -> c_int;
    Asks eaccess(path, how: c_int) -> c_int;
    Asks readlink(path, to: *mut c_char, size: size_t) -> ssize_t;
    Asks opendir(path) -> *mut c_void;
    Asks chdir(path) -> c_int;
    Changes unlink(path) -> c_int;
    Changes remove(path) -> c_int;
    Changes rmdir(path) -> c_int;
    Changes truncate(path, size: off_t) -> c_int;
    Changes truncate64(path, size: off_t) -> c_int;
    Changes chmod(path, mode: mode_t) -> c_int;
    Changes chown(path, user: c_uint, group: c_uint) -> c_int;
    Changes lchown(path, user: c_uint, group: c_uint) -> c_int;
    Changes utime(path, times: *const c_void) -> c_int;
    Changes utimes(path, times: *const c_void) -> c_int;
    Changes mkfifo(path, mode: mode_t) -> c_int;
}

names_in_folders! {
    Asks fstatat(folder, path, to: *mut c_void, flags: c_int) -> c_int;
    Asks fstatat64(folder, path, to: *mut c_void, flags: c_int) -> c_int;
    Asks statx(folder, path, flags: c_int, mask: c_uint, to: *mut c_void) -> c_int;
    Asks faccessat(folder, path, how: c_int, flags: c_int) -> c_int;
    Asks readlinkat(folder, path, to: *mut c_char, size: size_t) -> ssize_t;
    Changes unlinkat(folder, path, flags: c_int) -> c_int;
    Changes fchmodat(folder, path, mode: mode_t, flags: c_int) -> c_int;
    Changes fchownat(folder, path, user: c_uint, group: c_uint, flags: c_int) -> c_int;
    Changes utimensat(folder, path, times: *const c_void, flags: c_int) -> c_int;
}

mod next {
    use super::*;
    real!(fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE);
    real!(fn mkdir(path: *const c_char, mode: mode_t) -> c_int);
    real!(fn mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int);
    real!(fn rename(old: *const c_char, new: *const c_char) -> c_int);
    real!(fn renameat2(old_folder: c_int, old: *const c_char, new_folder: c_int, new: *const c_char,
        flags: c_uint) -> c_int);
    real!(fn linkat(old_folder: c_int, old: *const c_char, new_folder: c_int, new: *const c_char,
        flags: c_int) -> c_int);
    real!(fn symlinkat(target: *const c_char, folder: c_int, path: *const c_char) -> c_int);
    real!(fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int);
    real!(fn mkostemps(template: *mut c_char, behind: c_int, flags: c_int) -> c_int);
    real!(fn mkdtemp(template: *mut c_char) -> *mut c_char);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE {
    if own_streams::is_fed(path, how) {
        return own_streams::open_fed(path, how);
    }
    named_file(AT_FDCWD, path, how_opened(how), |path| pass_on!(next::fopen(path, how)))
}

/// Making a folder that is there changes nothing.
fn how_made(folder: c_int, path: *const c_char) -> How {
    // SAFETY: the path is one that the program gave to `mkdir` or `mkdirat`: a C string.
    let exists = unsafe { in_folders::faccessat(folder, path, libc::F_OK, 0) } == 0;
    if exists { How::Asks } else { How::Changes }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    let how = crate::errno::keeping_errno(|| how_made(AT_FDCWD, path));
    named_file(AT_FDCWD, path, how, |path| pass_on!(next::mkdir(path, mode)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int {
    let how = crate::errno::keeping_errno(|| how_made(folder, path));
    named_file(folder, path, how, |path| pass_on!(next::mkdirat(folder, path, mode)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    named_file(AT_FDCWD, old, How::Changes, |old| {
        named_file(AT_FDCWD, new, How::Changes, |new| pass_on!(next::rename(old, new)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn renameat2(
    old_folder: c_int,
    old: *const c_char,
    new_folder: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    named_file(old_folder, old, How::Changes, |old| {
        named_file(new_folder, new, How::Changes, |new| {
            pass_on!(next::renameat2(old_folder, old, new_folder, new, flags))
        })
    })
}

/// What is changed through one name is changed under the other, too.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn linkat(
    old_folder: c_int,
    old: *const c_char,
    new_folder: c_int,
    new: *const c_char,
    flags: c_int,
) -> c_int {
    named_file(old_folder, old, How::Changes, |old| {
        named_file(new_folder, new, How::Changes, |new| {
            pass_on!(next::linkat(old_folder, old, new_folder, new, flags))
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn symlinkat(
    target: *const c_char,
    folder: c_int,
    path: *const c_char,
) -> c_int {
    named_file(folder, path, How::Changes, |path| pass_on!(next::symlinkat(target, folder, path)))
}

/// Makes a temporary file or folder; its name is that of the recorded run. `make` makes it with a
/// name of its own, `again` with the name that is there.
///
/// # Safety
///
/// The template is a C string that may be changed.
unsafe fn temporary(
    template: *mut c_char,
    make: impl FnOnce() -> c_int,
    again: impl FnOnce(*const c_char) -> c_int,
) -> c_int {
    let always = |_: &mut Kernel| true;
    // SAFETY: the caller says so.
    let size = unsafe { CStr::from_ptr(template) }.to_bytes().len();
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| visit(template.cast(), size);
    let source = Source { optional: true, ..Source::new(call::TEMPORARY, &always) };
    let Some(begun) = start(&source, |_| Uses::default(), None) else { return make() };
    let result = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, &areas);
            match answer.result {
                ..0 => answer.result as c_int,
                _ => named_file(AT_FDCWD, template, How::Changes, again),
            }
        }
        _ => make(),
    };
    if let (Fate::Kept, 0..) = (&begun.fate, result) {
        made(template);
    }
    finish(&begun, &source, i64::from(result), &areas, |_| ());
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mkostemps(template: *mut c_char, behind: c_int, flags: c_int) -> c_int {
    let make = || pass_on!(next::mkostemps(template, behind, flags));
    let exclusively = flags | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    let again = |path| pass_on!(next::open(path, exclusively, 0o600));
    pass_on!(temporary(template, make, again))
}

/// The other names of the same.
macro_rules! temporaries {
    ($($name:ident($($argument:ident),*) = $behind:expr, $flags:expr;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(template: *mut c_char $(, $argument: c_int)*) -> c_int {
            pass_on!(mkostemps(template, $behind, $flags))
        }
    )* };
}

temporaries! {
    mkstemp() = 0, 0;
    mkstemp64() = 0, 0;
    mkostemp(flags) = 0, flags;
    mkostemp64(flags) = 0, flags;
    mkstemps(behind) = behind, 0;
    mkstemps64(behind) = behind, 0;
    mkostemps64(behind, flags) = behind, flags;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mkdtemp(template: *mut c_char) -> *mut c_char {
    let make = || if pass_on!(next::mkdtemp(template)).is_null() { -1 } else { 0 };
    let again = |path| pass_on!(next::mkdir(path, 0o700));
    match pass_on!(temporary(template, make, again)) {
        0 => template,
        _ => std::ptr::null_mut(),
    }
}

// The same under other names, and special cases.
variants! {
    fn fopen64(path: *const c_char, how: *const c_char) -> *mut FILE = fopen(path, how);
    fn renameat(old_folder: c_int, old: *const c_char, new_folder: c_int,
        new: *const c_char) -> c_int = renameat2(old_folder, old, new_folder, new, 0);
    fn link(old: *const c_char, new: *const c_char) -> c_int
        = linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
    fn symlink(target: *const c_char, path: *const c_char) -> c_int
        = symlinkat(target, AT_FDCWD, path);
}
