//! Which functions of libraries let threads see each other other than through memory.
//!
//! The plugin asks by name, for each function that a module calls and does not define. What it
//! answers is the first that holds:
//!
//! 1. [`Effect::None`]: the function touches no channel, or the runtime stands before it and
//!    records its channels itself;
//! 2. [`Effect::Stream`] and [`Effect::Hidden`]: which channels it uses is known;
//! 3. `None`: nothing is known of it. It keeps its order with all channels, and the report names
//!    it.
//!
//! A function too many in the first list is a false alarm, one too few costs findings.

use crate::channel::direction::{BOTH, GIVES, TAKES};
use crate::channel::*;

/// What a function of a library does with channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing, or the runtime knows better.
    None,
    /// Input or output on the stream that is argument number `argument`.
    Stream {
        /// Which argument is the stream.
        argument: u32,
        /// Whether it only writes to the stream.
        output: bool,
    },
    /// Output on the descriptor that is argument number 0.
    Descriptor,
    /// It uses the channels of [`HIDDEN`] with this number.
    Hidden(u32),
    /// The same, and it asks or changes what the file has whose name is argument number `argument`.
    Named {
        /// Which argument is the name.
        argument: u32,
        /// The list of [`HIDDEN`].
        list: u32,
    },
    /// Output on the stream `stdout`, or `stderr`.
    Standard {
        /// Whether it is `stderr`.
        error: bool,
    },
    /// Input or output on the stream of C++'s library that is argument number 0. Only those on
    /// standard descriptors matter.
    Cxx,
}

/// Lists of channels, each with a [`crate::channel::direction`].
pub const HIDDEN: [&[(u32, u32)]; 15] = [
    &[(RANDOM, BOTH)],
    &[(ENVIRONMENT, TAKES)],
    &[(ENVIRONMENT, BOTH)],
    &[(LIBRARY, BOTH)],
    // A file or stream is opened.
    &[(DESCRIPTORS, BOTH), (NAMES, BOTH)],
    // Names of files are looked up.
    &[(NAMES, TAKES)],
    // Names of files change.
    &[(NAMES, BOTH)],
    // The outside is asked, through descriptors that come and go.
    &[(DESCRIPTORS, BOTH), (NAMES, TAKES), (OUTSIDE, BOTH)],
    // Children come and go, and change files.
    &[(CHILDREN, BOTH), (OUTSIDE, BOTH), (DESCRIPTORS, BOTH), (NAMES, BOTH), (ENVIRONMENT, TAKES)],
    &[(IPC, BOTH), (OUTSIDE, BOTH)],
    // A line for the system's log.
    &[(OUTSIDE, GIVES)],
    // It looks at the time zone or the locale.
    &[(LIBRARY, TAKES), (ENVIRONMENT, TAKES)],
    // It sets them as the environment says.
    &[(LIBRARY, BOTH), (ENVIRONMENT, TAKES)],
    &[(CLOCK, BOTH)],
    &[(LIBRARY, TAKES)],
];

/// The list of [`HIDDEN`] of functions that start other processes.
pub const CHILDREN_LIST: u32 = 8;

/// What the plugin hands to the runtime: 0 if nothing is known, else what [`decode`] understands.
pub fn code(effect: Option<Effect>) -> u32 {
    match effect {
        None => 0,
        Some(Effect::None) => 1,
        Some(Effect::Stream { output, .. }) => 2 + u32::from(output),
        Some(Effect::Descriptor) => 4,
        Some(Effect::Standard { error }) => 5 + u32::from(error),
        Some(Effect::Cxx) => 7,
        Some(Effect::Hidden(list)) => HIDDEN_CODE + list,
        Some(Effect::Named { list, .. }) => NAMED_CODE + list,
    }
}

const HIDDEN_CODE: u32 = 16;
const NAMED_CODE: u32 = 64;

/// What a [`code`] stands for; which argument the stream or the name is does not matter any more.
pub fn decode(code: u32) -> Option<Effect> {
    match code {
        1 => Some(Effect::None),
        2 | 3 => Some(Effect::Stream { argument: 0, output: code == 3 }),
        4 => Some(Effect::Descriptor),
        5 | 6 => Some(Effect::Standard { error: code == 6 }),
        7 => Some(Effect::Cxx),
        NAMED_CODE.. => {
            known_list(code - NAMED_CODE).map(|list| Effect::Named { argument: 0, list })
        }
        HIDDEN_CODE.. => known_list(code - HIDDEN_CODE).map(Effect::Hidden),
        _ => None,
    }
}

fn known_list(list: u32) -> Option<u32> {
    Some(list).filter(|&list| (list as usize) < HIDDEN.len())
}

/// What is known of a function; `None`: nothing.
pub fn effect(name: &str) -> Option<Effect> {
    let plain = name
        .strip_prefix("__isoc99_")
        .or(name.strip_prefix("__isoc23_"))
        .or(name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk")))
        .unwrap_or(name);
    let plain = plain.strip_suffix("_unlocked").unwrap_or(plain);
    let plain = plain.strip_suffix("64").filter(|rest| is_file_function(rest)).unwrap_or(plain);
    if let Some((_, argument, output)) = STREAMS.iter().find(|(known, ..)| *known == plain) {
        return Some(Effect::Stream { argument: *argument, output: *output });
    }
    if ["dprintf", "vdprintf"].contains(&plain) {
        return Some(Effect::Descriptor);
    }
    if let Some((_, error)) = STANDARD.iter().find(|(known, _)| *known == plain) {
        return Some(Effect::Standard { error: *error });
    }
    if let Some((_, argument, list)) = NAMED.iter().find(|(known, ..)| *known == plain) {
        return Some(Effect::Named { argument: *argument, list: *list });
    }
    if let Some((_, list)) = LISTS.iter().find(|(known, _)| *known == plain) {
        return Some(Effect::Hidden(*list));
    }
    if name.starts_with("_Z") {
        return cxx(name);
    }
    let is_silent = SILENT.contains(&plain)
        || INTERPOSED.contains(&plain)
        || is_mathematical(plain)
        || SILENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_silent.then_some(Effect::None)
}

/// Whether the runtime stands before a function of the C library, and records it itself: so the C
/// library's own must not be taken for it.
pub fn is_interposed(name: &str) -> bool {
    // Only the plugin stands before these; the C library's own allocate through the runtime.
    let is_plain = ["strdup", "strndup"].contains(&name);
    let by_prefix = SILENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !is_plain && (INTERPOSED.contains(&name) || by_prefix)
}

/// Which arguments of a function are strings that it only reads, up to their ends. What it returns
/// depends on them.
pub fn strings_read_by(name: &str) -> &'static [usize] {
    let plain = name.strip_prefix("__isoc99_").or(name.strip_prefix("__isoc23_")).unwrap_or(name);
    let one = |names: &[&str]| names.contains(&plain);
    match () {
        () if one(READ_FIRST) => &[0],
        () if one(READ_BOTH) => &[0, 1],
        () if plain == "inet_pton" => &[1],
        () => &[],
    }
}

const READ_FIRST: &[&str] = &[
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "strtold",
    "strtoimax",
    "strtoumax",
    "sscanf",
    "strchrnul",
    "index",
    "rindex",
    "inet_addr",
    "inet_aton",
];

const READ_BOTH: &[&str] = &[
    "strcasecmp",
    "strstr",
    "strcasestr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strcoll",
    "strverscmp",
];

/// C++'s own library. Its streams on files read and write through functions that the runtime stands
/// before.
fn cxx(name: &str) -> Option<Effect> {
    let opens = ["basic_filebuf", "basic_ifstream", "basic_ofstream", "basic_fstream"];
    if opens.iter().any(|part| name.contains(part)) {
        return Some(Effect::Hidden(4));
    }
    if name.starts_with("_ZNSt10filesystem") || name.starts_with("_ZNKSt10filesystem") {
        // Which file it is that is asked about or changed is not known here.
        let of_contents = CONTENTS.iter().any(|part| name.contains(part));
        return (!of_contents).then_some(Effect::Hidden(6));
    }
    let is_stream = ["_ZNSo", "_ZNSi", "_ZNKSo", "_ZNKSi", "_ZNSd", "_ZSt4endl", "_ZSt5flush"];
    if is_stream.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with("_ZSt") || name.starts_with("_ZNSt"))
            && ["basic_ostream", "basic_istream"].iter().any(|part| name.contains(part))
    {
        return Some(Effect::Cxx);
    }
    let known = ["_ZNSt", "_ZNKSt", "_ZSt", "_ZNSs", "_ZNKSs", "_ZNSo", "_ZNSi", "_ZNSd", "_ZNSa"];
    let also =
        ["_ZTHSt", "_ZTWSt", "_Znw", "_Zna", "_Zdl", "_Zda", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"];
    let abi = ["_ZN10__cxxabiv1", "_ZNK10__cxxabiv1"];
    let mut prefixes = known.iter().chain(&also).chain(&abi);
    prefixes.any(|prefix| name.starts_with(prefix)).then_some(Effect::None)
}

/// Functions of math.h and complex.h, in their three widths.
fn is_mathematical(name: &str) -> bool {
    let narrow = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let plain = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_finite"));
    [name, narrow, plain.unwrap_or(name)].iter().any(|name| MATHEMATICS.contains(name))
}

/// Those that have a variant for large files.
fn is_file_function(name: &str) -> bool {
    let known = |list: &[&str]| list.contains(&name);
    known(INTERPOSED)
        || LISTS.iter().any(|(known, _)| *known == name)
        || NAMED.iter().any(|(known, ..)| *known == name)
        || STREAMS.iter().any(|(known, ..)| *known == name)
}

/// Name, which argument is the stream, whether it only writes.
const STREAMS: &[(&str, u32, bool)] = &[
    ("fprintf", 0, true),
    ("vfprintf", 0, true),
    ("fputs", 1, true),
    ("fputc", 1, true),
    ("putc", 1, true),
    ("_IO_putc", 1, true),
    ("fputwc", 1, true),
    ("putwc", 1, true),
    ("fputws", 1, true),
    ("fwprintf", 0, true),
    ("fwrite", 3, true),
    ("fflush", 0, true),
    ("putw", 1, true),
    ("fread", 3, false),
    ("fgets", 2, false),
    ("fgetc", 0, false),
    ("getc", 0, false),
    ("_IO_getc", 0, false),
    ("getw", 0, false),
    ("fgetwc", 0, false),
    ("getwc", 0, false),
    ("fgetws", 2, false),
    ("ungetc", 1, false),
    ("fscanf", 0, false),
    ("vfscanf", 0, false),
    ("fwscanf", 0, false),
    ("getline", 2, false),
    ("getdelim", 3, false),
    ("__getdelim", 3, false),
    ("fseek", 0, false),
    ("fseeko", 0, false),
    ("ftell", 0, false),
    ("ftello", 0, false),
    ("rewind", 0, false),
    ("fgetpos", 0, false),
    ("fsetpos", 0, false),
    ("feof", 0, false),
    ("ferror", 0, false),
    ("clearerr", 0, false),
    ("__uflow", 0, false),
    ("__overflow", 0, true),
];

/// Name, which of [`HIDDEN`].
const LISTS: &[(&str, u32)] = &[
    ("rand", 0),
    ("srand", 0),
    ("random", 0),
    ("srandom", 0),
    ("initstate", 0),
    ("setstate", 0),
    ("drand48", 0),
    ("lrand48", 0),
    ("mrand48", 0),
    ("srand48", 0),
    ("seed48", 0),
    ("getenv", 1),
    ("secure_getenv", 1),
    ("setenv", 2),
    ("putenv", 2),
    ("unsetenv", 2),
    ("clearenv", 2),
    ("strtok", 3),
    ("setlocale", 12),
    ("localtime", 12),
    ("gmtime", 3),
    ("ctime", 12),
    ("asctime", 3),
    ("tzset", 12),
    ("strsignal", 3),
    ("dlopen", 3),
    ("dlclose", 3),
    ("dlerror", 3),
    ("getopt", 3),
    ("getopt_long", 3),
    ("getopt_long_only", 3),
    ("optarg", 3),
    ("hcreate", 3),
    ("hsearch", 3),
    ("atexit", 3),
    ("__cxa_atexit", 3),
    ("on_exit", 3),
    ("umask", 6),
    ("setvbuf", 3),
    ("setbuf", 3),
    ("setlinebuf", 3),
    ("tmpfile", 4),
    ("mkstemp", 4),
    ("mkostemp", 4),
    ("opendir", 4),
    ("fdopendir", 4),
    ("closedir", 4),
    ("readdir", 5),
    ("readdir_r", 5),
    ("rewinddir", 5),
    ("scandir", 4),
    ("glob", 4),
    ("ftw", 4),
    ("nftw", 4),
    ("realpath", 5),
    ("__realpath_chk", 5),
    ("readlink", 5),
    ("readlinkat", 5),
    ("statfs", 5),
    ("statvfs", 5),
    ("getcwd", 5),
    ("get_current_dir_name", 5),
    ("pathconf", 5),
    ("chdir", 6),
    ("fchdir", 6),
    ("symlink", 6),
    ("symlinkat", 6),
    ("mkdir", 6),
    ("mkdirat", 6),
    ("rmdir", 6),
    ("mkdtemp", 6),
    ("mkfifo", 6),
    ("mkfifoat", 6),
    ("mknod", 6),
    ("tmpnam", 6),
    ("chroot", 6),
    ("getaddrinfo", 7),
    ("getnameinfo", 7),
    ("gethostbyname", 7),
    ("gethostbyname_r", 7),
    ("gethostbyaddr", 7),
    ("getservbyname", 7),
    ("getpwnam", 7),
    ("getpwnam_r", 7),
    ("getpwuid", 7),
    ("getpwuid_r", 7),
    ("getgrnam", 7),
    ("getgrnam_r", 7),
    ("getgrgid", 7),
    ("getgrgid_r", 7),
    ("initgroups", 7),
    ("getgrouplist", 7),
    ("gethostname", 7),
    ("getifaddrs", 7),
    ("res_init", 7),
    ("daemon", 8),
    ("shm_open", 9),
    ("shm_unlink", 9),
    ("shmget", 9),
    ("shmat", 9),
    ("shmdt", 9),
    ("shmctl", 9),
    ("semget", 9),
    ("semop", 9),
    ("semtimedop", 9),
    ("semctl", 9),
    ("msgget", 9),
    ("msgsnd", 9),
    ("msgrcv", 9),
    ("msgctl", 9),
    ("mq_open", 9),
    ("mq_close", 9),
    ("mq_unlink", 9),
    ("mq_send", 9),
    ("mq_timedsend", 9),
    ("mq_receive", 9),
    ("mq_timedreceive", 9),
    ("mq_getattr", 9),
    ("mq_setattr", 9),
    ("mq_notify", 9),
    ("sem_open", 9),
    ("sem_unlink", 9),
    ("syslog", 10),
    ("vsyslog", 10),
    ("openlog", 10),
    ("closelog", 10),
    ("mktime", 11),
    ("timelocal", 11),
    ("localtime_r", 11),
    ("ctime_r", 11),
    ("strftime", 11),
    ("wcsftime", 11),
    ("strptime", 11),
    ("localeconv", 11),
    ("nl_langinfo", 11),
    ("getrusage", 13),
    ("setrlimit", 3),
    ("prlimit", 3),
    ("setpriority", 3),
    ("nice", 3),
    ("setpgid", 3),
    ("setsid", 3),
    ("getrlimit", 14),
    ("getpriority", 14),
    ("getpgid", 14),
    ("getsid", 14),
    ("dlsym", 14),
    ("dlvsym", 14),
    ("if_nametoindex", 7),
    ("if_indextoname", 7),
];

/// Name, which argument is the name of a file, which of [`HIDDEN`]: functions that ask about or
/// change what is known of the file itself, and is seen through its descriptors too.
const NAMED: &[(&str, u32, u32)] = &[
    ("stat", 0, 5),
    ("lstat", 0, 5),
    ("fstatat", 1, 5),
    ("statx", 1, 5),
    ("access", 0, 5),
    ("faccessat", 1, 5),
    ("euidaccess", 0, 5),
    ("unlink", 0, 6),
    ("unlinkat", 1, 6),
    ("remove", 0, 6),
    ("rename", 1, 6),
    ("renameat", 3, 6),
    ("renameat2", 3, 6),
    ("link", 0, 6),
    ("linkat", 1, 6),
    ("chmod", 0, 6),
    ("fchmodat", 1, 6),
    ("chown", 0, 6),
    ("lchown", 0, 6),
    ("utime", 0, 6),
    ("utimes", 0, 6),
    ("utimensat", 1, 6),
    ("truncate", 0, 6),
    ("fopen", 0, 4),
];

/// Parts of the names of those functions of `std::filesystem` that do the same.
const CONTENTS: &[&str] = &[
    "9file_size",
    "15last_write_time",
    "11resize_file",
    "15hard_link_count",
    "9copy_file",
    "4copyERK",
    "6statusERK",
    "14symlink_status",
    "8is_empty",
    "11permissions",
    "6removeERK",
    "10remove_all",
    "6renameERK",
    "7refresh",
];

/// Name, whether it writes to `stderr` instead of `stdout`.
const STANDARD: &[(&str, bool)] = &[
    ("printf", false),
    ("vprintf", false),
    ("wprintf", false),
    ("puts", false),
    ("putchar", false),
    ("putwchar", false),
    ("perror", true),
    ("psignal", true),
    ("err", true),
    ("errx", true),
    ("warn", true),
    ("warnx", true),
    ("verr", true),
    ("vwarn", true),
    ("verrx", true),
    ("vwarnx", true),
    ("error", true),
];

/// The functions before which the runtime stands, under all names by which [`effect`] knows them.
pub fn interposed() -> Vec<String> {
    let variants = |&name: &&str| [name.to_string(), format!("{name}64"), format!("__{name}_chk")];
    INTERPOSED.iter().flat_map(variants).collect()
}

/// Functions before which the runtime stands. They count as silent, since it records them itself.
const INTERPOSED: &[&str] = &[
    "read",
    "pread",
    "readv",
    "preadv",
    "preadv2",
    "preadv64v2",
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "write",
    "pwrite",
    "writev",
    "pwritev",
    "pwritev2",
    "pwritev64v2",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile",
    "splice",
    "tee",
    "copy_file_range",
    "fclose",
    "freopen",
    "flockfile",
    "ftrylockfile",
    "funlockfile",
    "open",
    "openat",
    "creat",
    "close",
    "close_range",
    "closefrom",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "socket",
    "socketpair",
    "accept",
    "accept4",
    "connect",
    "bind",
    "listen",
    "shutdown",
    "getsockopt",
    "setsockopt",
    "getsockname",
    "getpeername",
    "eventfd",
    "eventfd_read",
    "eventfd_write",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "signalfd",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "__poll",
    "select",
    "pselect",
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    "memfd_create",
    "fcntl",
    "ioctl",
    "lseek",
    "fstat",
    "ftruncate",
    "fallocate",
    "posix_fallocate",
    "flock",
    "lockf",
    "fchmod",
    "fchown",
    "futimens",
    "kill",
    "killpg",
    "tgkill",
    "raise",
    "sigqueue",
    "sigwait",
    "sigwaitinfo",
    "sigtimedwait",
    "sigpending",
    "sigprocmask",
    "sigsuspend",
    "pause",
    "sigaction",
    "signal",
    "sysv_signal",
    "__sysv_signal",
    "bsd_signal",
    "ssignal",
    "alarm",
    "setitimer",
    "getitimer",
    "timer_create",
    "timer_settime",
    "timer_gettime",
    "timer_delete",
    "timer_getoverrun",
    "fork",
    "vfork",
    "_Fork",
    "system",
    "popen",
    "pclose",
    "fdopen",
    "posix_spawn",
    "posix_spawnp",
    "wait",
    "waitpid",
    "waitid",
    "wait3",
    "wait4",
    "clock_gettime",
    "gettimeofday",
    "time",
    "timespec_get",
    "clock",
    "times",
    "syscall",
    "clock_nanosleep",
    "nanosleep",
    "sleep",
    "usleep",
    "sched_yield",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "reallocarray",
    "valloc",
    "pvalloc",
    "mmap",
    "munmap",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "abort",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "call_once",
];

/// Families of functions that the runtime stands before, or that touch no channel.
const SILENT_PREFIXES: &[&str] = &[
    "pthread_",
    "__pthread_",
    "sem_",
    "mtx_",
    "cnd_",
    "thrd_",
    "tss_",
    "foretrace_",
    "__cxa_",
    "__gxx_",
    "_Unwind_",
    "__dynamic_cast",
    "__clang_",
    "__ubsan_",
    "__sanitizer_",
    "__atomic_",
    "__sync_",
    "__kmpc_",
    "omp_",
    "GOMP_",
    "__VERIFIER_",
    "__builtin_",
];

/// Functions of the C library that touch nothing but their arguments and memory.
const SILENT: &[&str] = &[
    "posix_fadvise",
    "fsync",
    "fdatasync",
    "isatty",
    "strdup",
    "strndup",
    "posix_fadvise64",
    "memchr",
    "memrchr",
    "rawmemchr",
    "memcmp",
    "memcpy",
    "mempcpy",
    "memccpy",
    "memmem",
    "memmove",
    "memset",
    "bcmp",
    "bcopy",
    "bzero",
    "explicit_bzero",
    "strcat",
    "strncat",
    "strlcat",
    "strlcpy",
    "strchr",
    "strchrnul",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strcasestr",
    "strcoll",
    "strcpy",
    "strncpy",
    "stpcpy",
    "stpncpy",
    "strcspn",
    "strspn",
    "strlen",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strsep",
    "strstr",
    "strtok_r",
    "strxfrm",
    "strverscmp",
    "strerror",
    "strerror_r",
    "__xpg_strerror_r",
    "strerrorname_np",
    "strerrordesc_np",
    "index",
    "rindex",
    "ffs",
    "ffsl",
    "ffsll",
    "basename",
    "__xpg_basename",
    "dirname",
    "swab",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "strtold",
    "strtoimax",
    "strtoumax",
    "strtol_l",
    "strtod_l",
    "abs",
    "labs",
    "llabs",
    "imaxabs",
    "div",
    "ldiv",
    "lldiv",
    "qsort",
    "qsort_r",
    "bsearch",
    "lfind",
    "lsearch",
    "tsearch",
    "tfind",
    "tdelete",
    "twalk",
    "insque",
    "remque",
    "rand_r",
    "random_r",
    "srandom_r",
    "initstate_r",
    "erand48",
    "nrand48",
    "jrand48",
    "mblen",
    "mbtowc",
    "wctomb",
    "mbstowcs",
    "wcstombs",
    "mbrtowc",
    "wcrtomb",
    "mbsrtowcs",
    "wcsrtombs",
    "mbrlen",
    "mbsinit",
    "btowc",
    "wctob",
    "wcslen",
    "wcsnlen",
    "wcscpy",
    "wcsncpy",
    "wcscat",
    "wcsncat",
    "wcscmp",
    "wcsncmp",
    "wcschr",
    "wcsrchr",
    "wcsstr",
    "wcstol",
    "wcstoul",
    "wcstoll",
    "wcstoull",
    "wcstod",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    "wmemcmp",
    "wmemchr",
    "wcwidth",
    "wcswidth",
    "swprintf",
    "vswprintf",
    "isalnum",
    "isalpha",
    "isascii",
    "isblank",
    "iscntrl",
    "isdigit",
    "isgraph",
    "islower",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "toascii",
    "tolower",
    "toupper",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__ctype_get_mb_cur_max",
    "iswalnum",
    "iswalpha",
    "iswblank",
    "iswcntrl",
    "iswdigit",
    "iswgraph",
    "iswlower",
    "iswprint",
    "iswpunct",
    "iswspace",
    "iswupper",
    "iswxdigit",
    "towlower",
    "towupper",
    "wctype",
    "iswctype",
    "newlocale",
    "freelocale",
    "duplocale",
    "uselocale",
    "sprintf",
    "snprintf",
    "vsprintf",
    "vsnprintf",
    "asprintf",
    "vasprintf",
    "sscanf",
    "vsscanf",
    "swscanf",
    "fileno",
    "fmemopen",
    "open_memstream",
    "backtrace",
    "backtrace_symbols",
    "__errno_location",
    "__h_errno_location",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert",
    "__stack_chk_fail",
    "__fortify_fail",
    "malloc_usable_size",
    "mallopt",
    "malloc_trim",
    "mallinfo",
    "mallinfo2",
    "mprotect",
    "madvise",
    "posix_madvise",
    "mlock",
    "munlock",
    "mlockall",
    "munlockall",
    "mincore",
    "msync",
    "mremap",
    "brk",
    "sbrk",
    "alloca",
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getpgrp",
    "getpagesize",
    "sysconf",
    "confstr",
    "getauxval",
    "get_nprocs",
    "get_nprocs_conf",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getcpu",
    "sched_getscheduler",
    "sched_setscheduler",
    "sched_getparam",
    "sched_setparam",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "__sched_cpucount",
    "__sched_cpualloc",
    "__sched_cpufree",
    "uname",
    "sysinfo",
    "getloadavg",
    "prctl",
    "arch_prctl",
    "personality",
    "getrandom",
    "getentropy",
    "arc4random",
    "arc4random_buf",
    "arc4random_uniform",
    "clock_getres",
    "difftime",
    "timegm",
    "gmtime_r",
    "asctime_r",
    "htonl",
    "htons",
    "ntohl",
    "ntohs",
    "inet_addr",
    "inet_aton",
    "inet_ntoa",
    "inet_ntop",
    "inet_pton",
    "gai_strerror",
    "freeaddrinfo",
    "freeifaddrs",
    "getopt_r",
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "getcontext",
    "setcontext",
    "swapcontext",
    "makecontext",
    "sigemptyset",
    "sigfillset",
    "sigaddset",
    "sigdelset",
    "sigismember",
    "sigaltstack",
    "siginterrupt",
    "dladdr",
    "dl_iterate_phdr",
    "crypt",
    "crypt_r",
    "iconv",
    "iconv_open",
    "iconv_close",
    "regcomp",
    "regexec",
    "regfree",
    "regerror",
    "fnmatch",
    "wordfree",
    "globfree",
    "a64l",
    "l64a",
    "ecvt",
    "fcvt",
    "gcvt",
    "getsubopt",
    "rpmatch",
    "argz_create",
    "envz_get",
    "setproctitle",
    "crc32",
    "adler32",
    "__tls_get_addr",
    "__libc_start_main",
    "_setjmp3",
    "cfmakeraw",
    "__memcpy_chk",
    "__memset_chk",
    "__memmove_chk",
    "__sprintf_chk",
    "__snprintf_chk",
    "__vsnprintf_chk",
    "__strcpy_chk",
    "__strcat_chk",
    "__fdelt_chk",
    "__fdelt_warn",
    "timespec_getres",
    "gnu_get_libc_version",
    "strfmon",
    "ffsl",
    "popcount",
    "__popcountdi2",
    "__udivti3",
    "__umodti3",
    "__divti3",
    "__modti3",
    "__multi3",
    "__mulodi4",
    "__muloti4",
    "__truncdfhf2",
    "__extendhfsf2",
    "__fixunsdfti",
    "__floatuntidf",
];

const MATHEMATICS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "lgamma_r",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "nexttoward",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "roundeven",
    "scalb",
    "scalbln",
    "scalbn",
    "significand",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "yn",
    "finite",
    "isinf",
    "isnan",
    "signbit",
    "__isinf",
    "__isnan",
    "__finite",
    "__signbit",
    "__fpclassify",
    "cabs",
    "carg",
    "cexp",
    "clog",
    "conj",
    "cpow",
    "creal",
    "cimag",
    "csqrt",
    "csin",
    "ccos",
    "cproj",
    "fegetround",
    "fesetround",
    "feclearexcept",
    "fetestexcept",
    "feraiseexcept",
    "fegetenv",
    "fesetenv",
    "feholdexcept",
    "feupdateenv",
    "feenableexcept",
    "fedisableexcept",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_one_place() {
        let mut all: Vec<&str> = STREAMS.iter().map(|one| one.0).collect();
        all.extend(LISTS.iter().map(|one| one.0));
        all.extend(STANDARD.iter().map(|one| one.0));
        all.extend(NAMED.iter().map(|one| one.0));
        for name in all {
            assert!(!SILENT.contains(&name), "{name}");
            assert!(!INTERPOSED.contains(&name), "{name}");
        }
        for (name, list) in LISTS {
            assert!((*list as usize) < HIDDEN.len(), "{name}");
        }
    }

    #[test]
    fn names_are_found_in_their_variants() {
        let nothing = Some(Effect::None);
        for name in
            ["strlen", "sinf", "__memcpy_chk", "pthread_create", "_ZNSt6thread4joinEv", "open64"]
        {
            assert_eq!(effect(name), nothing, "{name}");
        }
        assert_eq!(effect("__fprintf_chk"), Some(Effect::Stream { argument: 0, output: true }));
        assert_eq!(effect("__isoc99_fscanf"), Some(Effect::Stream { argument: 0, output: false }));
        assert_eq!(effect("fopen64"), Some(Effect::Named { argument: 0, list: 4 }));
        assert_eq!(effect("__printf_chk"), Some(Effect::Standard { error: false }));
        assert_eq!(effect("_ZNSo5flushEv"), Some(Effect::Cxx));
        assert_eq!(effect("getc_unlocked"), Some(Effect::Stream { argument: 0, output: false }));
        for name in ["event_base_loop", "SSL_read", "_ZN3foo3barEv", "uv_run"] {
            assert_eq!(effect(name), None, "{name}");
        }
    }
}
