//! Files that the process changes by name.
//!
//! **Computes.** In a recording, for each name through which the process first changes something:
//! what was there before. In a replay, where such a name leads: into a folder of the replay's own,
//! which begins with these contents. So a replay changes no file of the user's, and each one finds
//! what the recorded run found. Files that are only read are read where they are, and must not have
//! changed since.
//!
//! Names are taken as they are written, made absolute; links between them are not followed. A name
//! below a folder that the process itself has made is in that folder, wherever it is.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicPtr, Ordering::*};

use foretrace_recording::input::file::{ABSENT, LARGEST, LARGEST_TOGETHER, NOT_KEPT};
use foretrace_recording::input::{Input, call, problem};

use crate::futex::system_call;
use crate::inputs::Inputs;
use crate::thread::enter;
use crate::world::{World, hold};

/// What a recording knows of files.
#[derive(Default)]
pub(crate) struct Files {
    changed: HashSet<Vec<u8>>,
    /// Those that were only read, as they were when they were first opened.
    seen: HashMap<Vec<u8>, [u64; 4]>,
    /// How many bytes are kept.
    bytes: u64,
}

/// What a replay knows of files.
struct Private {
    /// Names that lead elsewhere; `None` if what was there is not kept.
    names: HashMap<Vec<u8>, Option<Vec<u8>>>,
    seen: HashMap<Vec<u8>, Vec<[u64; 4]>>,
}

/// Set once, before `main`, and never changed.
static PRIVATE: AtomicPtr<Private> = AtomicPtr::new(std::ptr::null_mut());

fn private() -> Option<&'static Private> {
    // SAFETY: it is null, or set once to what is never freed or changed.
    unsafe { PRIVATE.load(Acquire).as_ref() }
}

/// What a call does with the file that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It asks about it.
    Asks,
    /// It opens it to read it.
    Reads,
    /// It opens it to write to it, and may make it.
    Writes,
    /// It changes what the name stands for, or makes or removes it.
    Changes,
}

/// The name of a file as everybody would write it.
fn absolute(folder: i32, path: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: the program gives a C string, or null.
    let path = unsafe { path.as_ref().map(|path| CStr::from_ptr(path)) }?.to_bytes();
    let mut whole = [0u8; libc::PATH_MAX as usize];
    let mut name: Vec<u8> = Vec::new();
    if path.is_empty() {
        return None;
    } else if path[0] != b'/' {
        let (to, room) = (whole.as_mut_ptr() as usize, whole.len());
        let length = if folder == libc::AT_FDCWD {
            system_call(libc::SYS_getcwd, [to, room, 0, 0, 0, 0]) - 1
        } else {
            let link = format!("/proc/self/fd/{folder}\0");
            system_call(libc::SYS_readlink, [link.as_ptr() as usize, to, room, 0, 0, 0])
        };
        name.extend_from_slice(whole.get(..usize::try_from(length).ok()?)?);
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => name.truncate(name.iter().rposition(|&byte| byte == b'/').unwrap_or(0)),
            _ => {
                name.push(b'/');
                name.extend_from_slice(part);
            }
        }
    }
    Some(name)
}

/// Devices, and what the kernel shows as files.
fn is_of_the_kernel(name: &[u8]) -> bool {
    let is_shared_memory = name.starts_with(b"/dev/shm/");
    [&b"/proc/"[..], b"/sys/", b"/dev/"].iter().any(|start| name.starts_with(start))
        && !is_shared_memory
}

/// The folders that a name is in, the innermost first.
fn folders(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = name.iter().enumerate().rev().filter(|&(at, &byte)| byte == b'/' && at > 0);
    ends.map(|(at, _)| &name[..at])
}

/// Size, inode and time of the last change of a file.
fn state(found: &std::fs::Metadata) -> [u64; 4] {
    [found.size(), found.ino(), found.mtime() as u64, found.mtime_nsec() as u64]
}

fn look(name: &[u8]) -> Option<std::fs::Metadata> {
    std::fs::metadata(OsStr::from_bytes(name)).ok()
}

/// Whether a name is, or may become, that of a file. A folder cannot be opened for writing: the
/// attempt fails, and changes nothing.
fn is_file(name: &[u8]) -> bool {
    look(name).is_none_or(|found| found.is_file())
}

impl World {
    /// The process is about to use a file.
    fn uses_file(&mut self, name: &[u8], how: How) {
        let files = &mut self.kernel.files;
        if files.changed.contains(name)
            || folders(name).any(|folder| files.changed.contains(folder))
        {
            return;
        }
        match how {
            How::Writes if !is_file(name) => {}
            How::Writes | How::Changes => self.keep_file(name),
            How::Reads => {
                let Some(now) = look(name).filter(|found| found.is_file()) else { return };
                let now = state(&now);
                if files.seen.get(name) != Some(&now) {
                    files.seen.insert(name.to_vec(), now);
                    let rest: Vec<u8> =
                        now[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
                    let mut data = named(name);
                    data.resize(data.len().next_multiple_of(8), 0);
                    data.extend(rest);
                    self.keep_about(call::SEEN_FILE, now[0] as i64, &data);
                }
            }
            How::Asks => {}
        }
    }

    fn keep_file(&mut self, name: &[u8]) {
        let mut data = named(name);
        let result = match look(name) {
            None => ABSENT,
            Some(found) if found.is_dir() => {
                let list = std::fs::read_dir(OsStr::from_bytes(name));
                let is_empty = list.is_ok_and(|mut list| list.next().is_none());
                if is_empty { i64::from(found.mode()) } else { NOT_KEPT }
            }
            Some(found) if !found.is_file() => i64::from(found.mode()),
            Some(found) => {
                let all = self.kernel.files.bytes + found.size();
                let content = (found.size() <= LARGEST && all <= LARGEST_TOGETHER)
                    .then(|| std::fs::read(OsStr::from_bytes(name)).ok())
                    .flatten();
                match content {
                    Some(content) => {
                        self.kernel.files.bytes = all;
                        data.extend(content);
                        i64::from(found.mode())
                    }
                    None => NOT_KEPT,
                }
            }
        };
        self.kernel.files.changed.insert(name.to_vec());
        self.keep_about(call::FILE, result, &data);
    }

    fn keep_about(&mut self, call: u32, result: i64, data: &[u8]) {
        let input = Input { thread: 0, call, ordinal: 0, errno: 0, result, sent: 0 };
        self.keep_input(&input, data);
    }
}

fn named(name: &[u8]) -> Vec<u8> {
    [name, &[0]].concat()
}

/// The process has made something that nobody had before.
pub(crate) fn made(path: *const c_char) {
    enter(|_| {
        let mut world = hold();
        if let Some(name) = absolute(libc::AT_FDCWD, path).filter(|_| world.replay.is_none())
            && world.kernel.files.changed.insert(name.clone())
        {
            world.keep_about(call::FILE, ABSENT, &named(&name));
        }
    });
}

/// A replay begins: makes its folder, and what the recorded run found.
pub(crate) fn begin(inputs: &mut Inputs, folder: &[u8]) {
    let folder = [folder, b".files"].concat();
    let mut private = Private { names: HashMap::new(), seen: HashMap::new() };
    for (call, result, data) in inputs.take_files() {
        let (name, content) = split(data);
        if call == call::SEEN_FILE {
            let word = |at: usize| {
                let from = name.len().saturating_add(1).next_multiple_of(8) + 8 * at;
                let bytes = data.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
                u64::from_le_bytes(bytes.unwrap_or_default())
            };
            let known = private.seen.entry(name.to_vec()).or_default();
            known.push([result as u64, word(0), word(1), word(2)]);
            continue;
        }
        if private.names.is_empty() {
            // Of an earlier replay.
            let _ = std::fs::remove_dir_all(OsStr::from_bytes(&folder));
            let _ = std::fs::create_dir_all(OsStr::from_bytes(&folder));
        }
        let number = private.names.len().to_string();
        let place = [&folder[..], b"/", number.as_bytes()].concat();
        let is_there = match result {
            NOT_KEPT => false,
            ABSENT => true,
            mode => put(&place, mode as u32, content),
        };
        private.names.insert(name.to_vec(), is_there.then_some(place));
    }
    if !private.names.is_empty() || !private.seen.is_empty() {
        PRIVATE.store(Box::into_raw(Box::new(private)), Release);
    }
}

fn split(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    (&data[..end], data.get(end + 1..).unwrap_or_default())
}

fn put(place: &[u8], mode: u32, content: &[u8]) -> bool {
    let place = OsStr::from_bytes(place);
    let made = match mode & libc::S_IFMT {
        libc::S_IFDIR => std::fs::create_dir(place),
        libc::S_IFSOCK | libc::S_IFIFO => special(place, mode),
        _ => std::fs::write(place, content),
    };
    let permissions = std::fs::Permissions::from_mode(mode & 0o7777);
    made.and_then(|()| std::fs::set_permissions(place, permissions)).is_ok()
}

fn special(place: &OsStr, mode: u32) -> std::io::Result<()> {
    let place = named(place.as_bytes());
    // SAFETY: the name ends with a 0.
    match unsafe { libc::mknod(place.as_ptr().cast(), mode, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

impl Private {
    /// Where a name leads: `None` where it says.
    fn lookup(&self, name: &[u8]) -> Option<Option<Vec<u8>>> {
        if let Some(place) = self.names.get(name) {
            return Some(place.clone());
        }
        folders(name).find_map(|folder| {
            let place = self.names.get(folder)?.as_ref()?;
            Some(Some([place, &name[folder.len()..]].concat()))
        })
    }
}

/// A file is about to be used. A recording keeps what it needs; a replay says where the name leads
/// now, as a text that ends with a NUL.
fn prepare(folder: i32, path: *const c_char, how: How) -> Option<Vec<u8>> {
    if private().is_none() && how == How::Asks {
        return None;
    }
    let name = absolute(folder, path).filter(|name| !is_of_the_kernel(name))?;
    if private().is_none() && !hold().is_fed() {
        let mut world = hold();
        if world.replay.is_none() {
            world.uses_file(&name, how);
        }
        return None;
    }
    let found = private().and_then(|private| private.lookup(&name));
    match found {
        Some(Some(place)) => return Some(named(&place)),
        Some(None) => differs(problem::FILE_NOT_KEPT, call::FILE),
        None if how == How::Changes || how == How::Writes && is_file(&name) => {
            differs(problem::FILE_NOT_CHANGED, call::FILE);
        }
        None if how == How::Reads => {
            let known = private().and_then(|private| private.seen.get(&name));
            let now = look(&name).map(|found| state(&found));
            if known.is_some_and(|known| known.iter().any(|known| Some(known) != now.as_ref())) {
                differs(problem::OTHER_FILE, call::SEEN_FILE);
            }
        }
        None => {}
    }
    None
}

fn differs(why: u64, call: u32) -> ! {
    match crate::thread::glance() {
        Some(thread) => hold().other_call(thread, call, why),
        // The caller is inside of the runtime, as a thread of the program.
        None => unreachable!(),
    }
}

/// Makes a call on a file by the name that leads to it.
pub(crate) fn named_file<R>(
    folder: i32,
    path: *const c_char,
    how: How,
    call: impl FnOnce(*const c_char) -> R,
) -> R {
    let keep = || crate::errno::keeping_errno(|| enter(|_| prepare(folder, path, how)));
    let place = match keep() {
        Some(place) => place,
        // The runtime is off: in a child, or at the end. Names still lead where they led.
        None => private().and_then(|private| {
            let name = absolute(folder, path)?;
            private.lookup(&name).flatten().map(|place| named(&place))
        }),
    };
    let changes = || {
        if matches!(how, How::Writes | How::Changes) {
            crate::errno::keeping_errno(|| crate::interpose::memory::changes_file(folder, path));
        }
    };
    let Some(place) = place else {
        let result = call(path);
        changes();
        return result;
    };
    let result = call(place.as_ptr().cast());
    changes();
    crate::errno::keeping_errno(|| enter(|_| drop(place)));
    result
}

/// How a stream is opened.
pub(crate) fn how_opened(how: *const c_char) -> How {
    // SAFETY: the program gives a C string, or null.
    let how = unsafe { how.as_ref().map(|how| CStr::from_ptr(how)) };
    let changes = how.is_none_or(|how| how.to_bytes().iter().any(|byte| b"wa+".contains(byte)));
    if changes { How::Writes } else { How::Reads }
}

/// How a descriptor is opened.
pub(crate) fn how_flagged(flags: i32) -> How {
    let changes =
        flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    // A file without a name is nobody else's.
    match flags & libc::O_TMPFILE == libc::O_TMPFILE || flags & libc::O_PATH != 0 {
        true => How::Asks,
        false if changes => How::Writes,
        false => How::Reads,
    }
}
