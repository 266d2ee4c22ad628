//! Which memory of their caller functions of the C library read and write.
//!
//! What such a function returns depends on what it reads, and what other threads find depends on
//! what it writes. A range too long is a race that is not there; one too short, or a function that
//! is missing, hides that a thread has seen another one.
//!
//! Functions that the plugin replaces by ones of the runtime (`strcpy`, `memchr`) are not here, nor
//! are those before which the runtime stands and records their accesses itself (`read`).

use super::{Effect, Names, silent};
use crate::record::handed;

use Amount::*;
use Success::*;

/// How many bytes a function accesses, from an address on. Numbers are those of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// A text with its end.
    Text,
    /// A text with its end, or the first bytes of it: as many as the argument says.
    TextUpTo(u32),
    /// As many as the argument says.
    Bytes(u32),
    /// The product of two arguments.
    Product(u32, u32),
    /// Up to the address that the argument is.
    UpTo(u32),
    /// Always the same.
    Fixed(u32),
    /// What the function returned, times the argument.
    Returned(u32),
    /// What the function returned.
    ReturnedBytes,
    /// The address of a text is there, and the text.
    TextBehind,
    /// A `std::string`: the address of its characters, how many there are, and these.
    String,
}

/// When a function has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Success {
    /// Always.
    Always,
    /// If it returned 0.
    Zero,
    /// If it returned something other than 0.
    NotZero,
    /// If it did not return a negative number.
    NotNegative,
    /// If it returned a negative number.
    Negative,
}

/// What a function reads: the argument that is the address, and how many bytes.
pub fn reads(name: &str) -> impl Iterator<Item = (u32, Amount)> {
    let plain = plain(name);
    let whole = strings_read_by(name).iter().map(|&argument| (argument as u32, Text));
    let listed = READS.iter().filter(move |row| row.0 == plain).map(|row| (row.1, row.2));
    let cxx = CXX_READS.iter().filter(|row| name.starts_with(row.0)).map(|row| (row.1, row.2));
    whole.chain(listed).chain(cxx)
}

/// Which arguments of a function are strings that it only reads, up to their ends. What it returns
/// depends on them.
pub fn strings_read_by(name: &str) -> &'static [usize] {
    let plain = plain(name);
    let one = |names: Names| names.contains(plain);
    match () {
        () if one(READ_FIRST) => &[0],
        () if one(READ_BOTH) => &[0, 1],
        () if plain == "inet_pton" => &[1],
        () => &[],
    }
}

const READ_FIRST: Names = Names(
    "
    atoi atol atoll atof strtol strtoll strtoul strtoull strtod strtof strtold strtoimax strtoumax
    sscanf strchrnul index rindex inet_addr inet_aton nan nanf nanl
",
);

const READ_BOTH: Names = Names(
    "
    strcasecmp strstr strcasestr strspn strcspn strpbrk strcoll strverscmp
",
);

/// What a function has written: the argument that is the address, how many bytes, and when.
pub fn writes(name: &str) -> impl Iterator<Item = (u32, Amount, Success)> {
    let plain = plain(name);
    WRITES.iter().filter(move |row| row.0 == plain).map(|row| (row.1, row.2, row.3))
}

/// Where a function has its format, if it formats texts: the argument, and whether the values are a
/// `va_list`. The values follow it.
pub fn format(name: &str) -> Option<(u32, bool)> {
    let checked = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk"));
    let (_, argument, extra) = FORMATS.iter().find(|row| row.0 == checked.unwrap_or(name))?;
    let is_list = checked.unwrap_or(name).starts_with('v');
    Some((argument + if checked.is_some() { *extra } else { 0 }, is_list))
}

/// Where a function has its format, if it takes texts apart. What it stores to follows it.
pub fn scan(name: &str) -> Option<u32> {
    match plain(name) {
        "sscanf" | "fscanf" => Some(1),
        "scanf" => Some(0),
        _ => None,
    }
}

/// Whether a function looks at memory of the program, or at what the kernel knows of it, in ways
/// that are not described here: then nothing is known of what it has seen.
pub fn looks_elsewhere(name: &str) -> Option<Success> {
    match name {
        "process_vm_readv" | "process_vm_writev" | "vmsplice" | "mincore" => Some(Always),
        "mallinfo" | "mallinfo2" | "malloc_stats" | "malloc_info" | "malloc_trim" => Some(Always),
        // What they read is behind an address of an address.
        "mbsrtowcs" | "wcsrtombs" | "mbsnrtowcs" | "wcsnrtombs" | "iconv" => Some(Always),
        // They fail if another thread has given the pages back.
        "msync" | "madvise" | "posix_madvise" | "mlock" | "munlock" | "mprotect" => Some(NotZero),
        // They fail if another thread has ended, or has given the key back.
        "pthread_getcpuclockid"
        | "pthread_setspecific"
        | "sched_getaffinity"
        | "sched_setaffinity"
        | "sched_getparam"
        | "sched_setparam"
        | "sched_setscheduler"
        | "setpriority"
        | "prlimit"
        | "clock_getcpuclockid" => Some(NotZero),
        "sched_getscheduler" | "getpriority" | "getpgid" | "getsid" => Some(Negative),
        // What the threads of the process have used together, and how many there are.
        "getrusage" | "sysinfo" | "getloadavg" => Some(Always),
        _ => None,
    }
}

/// Whether this is a variable of the C library that programs read, and that its functions change.
pub fn is_variable(name: &str) -> bool {
    let names = [
        "environ",
        "timezone",
        "daylight",
        "tzname",
        "optarg",
        "optind",
        "optopt",
        "signgam",
        "getdate_err",
        "error_message_count",
    ];
    names.contains(&name.trim_start_matches('_'))
}

/// What a function of which this is known may do with the memory at the addresses that it gets,
/// other than what is described here: a [`handed`]. `None`: nothing.
pub fn handed(name: &str, effect: Option<Effect>) -> Option<u8> {
    let plain = plain(name);
    let is_described = || {
        DESCRIBED.contains(plain)
            || reads(name).next().is_some()
            || writes(name).next().is_some()
            || format(name).is_some()
            || scan(name).is_some()
    };
    let is_stream = || CXX_STATEFUL.iter().any(|part| name.contains(part));
    match effect {
        None => Some(handed::UNKNOWN),
        Some(Effect::Cxx) => Some(handed::WRITTEN),
        Some(_) if name.starts_with("_Z") => is_stream().then_some(handed::UNDESCRIBED),
        Some(Effect::None) if RESULTS.contains(plain) => Some(handed::WRITTEN),
        Some(Effect::None) if is_attribute(plain) => Some(handed::UNDESCRIBED),
        Some(Effect::None) if !silent::touches_only_memory(plain) => None,
        Some(_) if !PARTLY.contains(plain) && is_described() => None,
        Some(_) => Some(handed::UNDESCRIBED),
    }
}

/// Functions on what says how a thread, lock or the like is made.
fn is_attribute(name: &str) -> bool {
    name.starts_with("pthread_") && name.contains("attr_")
}

/// Parts of the names of functions of C++'s library that change the state of streams, which
/// compiled code reads in place.
const CXX_STATEFUL: Names = Names(
    "
    9basic_ios 8ios_base 15basic_streambuf 15basic_stringbuf 18basic_stringstream
    19basic_istringstream 19basic_ostringstream 13basic_filebuf 14basic_ifstream 14basic_ofstream
    13basic_fstream
",
);

/// Functions before which the runtime stands, and which store results in memory of their caller.
const RESULTS: Names = Names(
    "
    wait waitpid waitid wait3 wait4 accept accept4 getsockopt getsockname getpeername sigaction
    sigprocmask pthread_sigmask sigpending sigwait sigwaitinfo sigtimedwait epoll_wait epoll_pwait
    epoll_pwait2 poll ppoll select pselect ioctl fcntl timerfd_gettime timerfd_settime
    timer_create timer_gettime timer_settime getitimer setitimer nanosleep clock_nanosleep times
    timespec_get posix_spawn posix_spawnp prctl
",
);

/// Functions that access more than what is described here.
const PARTLY: Names = Names(
    "
    mbstowcs wcstombs strtok_r strsep regcomp regexec strtof strtold strtoimax strtoumax inet_pton
    inet_aton inet_ntop vsscanf strftime localtime_r gmtime_r asctime_r ctime_r getsubopt
",
);

/// Functions that access no memory at the addresses that they get, or only such as no thread
/// accesses otherwise.
const DESCRIBED: Names = Names(
    "
    setjmp _setjmp sigsetjmp __sigsetjmp __tls_get_addr __libc_start_main __assert_fail __assert
    malloc_usable_size freeaddrinfo freeifaddrs globfree regfree mprotect madvise posix_madvise
    mlock munlock mincore msync fflush fileno feof ferror clearerr rewind fgetc getc _IO_getc
    fputc putc _IO_putc ungetc fseek fseeko ftell ftello __uflow __overflow closedir readdir
    rewinddir dlclose atexit __cxa_atexit on_exit pthread_setname_np
",
);

fn plain(name: &str) -> &str {
    let name = name.strip_prefix("__isoc99_").or(name.strip_prefix("__isoc23_")).unwrap_or(name);
    let name = name.strip_suffix("_unlocked").unwrap_or(name);
    let name = name.strip_suffix("64").filter(|rest| rest.ends_with("stat")).unwrap_or(name);
    name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk")).unwrap_or(name)
}

/// Beginnings of names of C++'s library.
const CXX_READS: &[(&str, u32, Amount)] = &[
    ("_ZSt10from_charsPKcS0_", 0, UpTo(1)),
    ("_ZSt16__ostream_insertIcSt11char_traitsIcEE", 1, Bytes(2)),
    ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", 1, Text),
    ("_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamI", 1, String),
    ("_ZNSo5writeEPKcl", 1, Bytes(2)),
    ("_ZSt11_Hash_bytesPKvmm", 0, Bytes(1)),
    ("_ZSt15_Fnv_hash_bytesPKvmm", 0, Bytes(1)),
    ("_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strERKNS_12basic_string", 1, String),
    ("_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEC1ERKNS_12basic_string", 1, String),
    ("_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ERKNS_12basic_", 1, String),
    ("_ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEEC1ERKNS_12basic_", 1, String),
    ("_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1ERKNS_12basic_", 1, String),
];

const READS: &[(&str, u32, Amount)] = &[
    ("getsubopt", 0, TextBehind),
    ("fwrite", 0, Product(1, 2)),
    ("fputs", 0, Text),
    ("puts", 0, Text),
    ("memmem", 0, Bytes(1)),
    ("memmem", 2, Bytes(3)),
    ("bcopy", 0, Bytes(2)),
    ("swab", 0, Bytes(2)),
    ("crc32", 1, Bytes(2)),
    ("adler32", 1, Bytes(2)),
    ("qsort", 0, Product(1, 2)),
    ("qsort_r", 0, Product(1, 2)),
    ("strtok", 0, Text),
    ("strtok", 1, Text),
    ("strtok_r", 0, Text),
    ("strtok_r", 1, Text),
    ("strsep", 0, TextBehind),
    ("strsep", 1, Text),
    ("strxfrm", 1, Text),
    ("mbstowcs", 1, Text),
    ("strtol_l", 0, Text),
    ("strtod_l", 0, Text),
    ("vsscanf", 0, Text),
    ("fnmatch", 0, Text),
    ("fnmatch", 1, Text),
    ("regcomp", 1, Text),
    ("regexec", 1, Text),
    ("getenv", 0, Text),
    ("secure_getenv", 0, Text),
    ("setenv", 0, Text),
    ("setenv", 1, Text),
    ("unsetenv", 0, Text),
    ("open", 0, Text),
    ("openat", 1, Text),
    ("creat", 0, Text),
    ("fopen", 0, Text),
    ("fopen", 1, Text),
    ("stat", 0, Text),
    ("lstat", 0, Text),
    ("fstatat", 1, Text),
    ("access", 0, Text),
    ("faccessat", 1, Text),
    ("unlink", 0, Text),
    ("remove", 0, Text),
    ("rename", 0, Text),
    ("rename", 1, Text),
    ("truncate", 0, Text),
    ("mkdir", 0, Text),
    ("rmdir", 0, Text),
    ("chdir", 0, Text),
    ("opendir", 0, Text),
    ("realpath", 0, Text),
    ("readlink", 0, Text),
    ("system", 0, Text),
    ("popen", 0, Text),
    ("popen", 1, Text),
    ("gethostbyname", 0, Text),
];

const WRITES: &[(&str, u32, Amount, Success)] = &[
    ("snprintf", 0, TextUpTo(1), NotNegative),
    ("vsnprintf", 0, TextUpTo(1), NotNegative),
    ("sprintf", 0, Text, NotNegative),
    ("vsprintf", 0, Text, NotNegative),
    ("asprintf", 0, TextBehind, NotNegative),
    ("vasprintf", 0, TextBehind, NotNegative),
    ("fgets", 0, TextUpTo(1), NotZero),
    ("fread", 0, Returned(1), NotZero),
    ("getline", 0, TextBehind, NotNegative),
    ("getline", 1, Fixed(8), NotNegative),
    ("getdelim", 0, TextBehind, NotNegative),
    ("getdelim", 1, Fixed(8), NotNegative),
    ("bcopy", 1, Bytes(2), Always),
    ("swab", 1, Bytes(2), Always),
    ("qsort", 0, Product(1, 2), Always),
    ("qsort_r", 0, Product(1, 2), Always),
    ("strxfrm", 0, TextUpTo(2), Always),
    ("wcstombs", 0, TextUpTo(2), NotNegative),
    ("strftime", 0, TextUpTo(1), NotZero),
    ("getcwd", 0, Text, NotZero),
    ("realpath", 1, Text, NotZero),
    ("readlink", 1, ReturnedBytes, NotNegative),
    ("inet_ntop", 2, Text, NotZero),
    ("gmtime_r", 1, Fixed(56), NotZero),
    ("localtime_r", 1, Fixed(56), NotZero),
    ("asctime_r", 1, Text, NotZero),
    ("ctime_r", 1, Text, NotZero),
    ("gethostname", 0, TextUpTo(1), Zero),
    ("stat", 1, Fixed(144), Zero),
    ("lstat", 1, Fixed(144), Zero),
    ("fstat", 1, Fixed(144), Zero),
    ("fstatat", 2, Fixed(144), Zero),
    ("pipe", 0, Fixed(8), Zero),
    ("pipe2", 0, Fixed(8), Zero),
    ("socketpair", 3, Fixed(8), Zero),
    ("clock_gettime", 1, Fixed(16), Zero),
    ("gettimeofday", 0, Fixed(16), Zero),
    ("time", 0, Fixed(8), Always),
    ("pthread_join", 1, Fixed(8), Zero),
    ("frexp", 1, Fixed(4), Always),
    ("frexpf", 1, Fixed(4), Always),
    ("modf", 1, Fixed(8), Always),
    ("modff", 1, Fixed(4), Always),
    ("sincos", 1, Fixed(8), Always),
    ("sincos", 2, Fixed(8), Always),
    ("remquo", 2, Fixed(4), Always),
    ("lgamma_r", 1, Fixed(4), Always),
    ("strtol", 1, Fixed(8), Always),
    ("strtoul", 1, Fixed(8), Always),
    ("strtoll", 1, Fixed(8), Always),
    ("strtoull", 1, Fixed(8), Always),
    ("strtod", 1, Fixed(8), Always),
];

/// Name, which argument is the format, how many more come before it in the variant that checks the
/// sizes of its arguments.
const FORMATS: &[(&str, u32, u32)] = &[
    ("snprintf", 2, 2),
    ("vsnprintf", 2, 2),
    ("sprintf", 1, 2),
    ("vsprintf", 1, 2),
    ("asprintf", 1, 1),
    ("vasprintf", 1, 1),
    ("fprintf", 1, 1),
    ("vfprintf", 1, 1),
    ("printf", 0, 1),
    ("vprintf", 0, 1),
    ("dprintf", 1, 1),
    ("vdprintf", 1, 1),
];

/// How amounts are passed from the plugin to the runtime.
pub mod code {
    use super::{Amount, Success};

    /// The function only prints: what it reads matters only if somebody reads that.
    pub const PRINTS: u32 = 1 << 16;
    /// The values of a format are a `va_list`.
    pub const LIST: u32 = 1 << 17;
    /// An address matters only if nothing is known of the function that turned out to be called.
    pub const ASKED: u32 = 1 << 18;

    const AMOUNTS: [Amount; 10] = [
        Amount::Text,
        Amount::TextUpTo(0),
        Amount::Bytes(0),
        Amount::Product(0, 0),
        Amount::UpTo(0),
        Amount::Fixed(0),
        Amount::Returned(0),
        Amount::ReturnedBytes,
        Amount::TextBehind,
        Amount::String,
    ];
    const SUCCESSES: [Success; 5] =
        [Success::Always, Success::Zero, Success::NotZero, Success::NotNegative, Success::Negative];

    /// An amount and when it is written. Which arguments are meant is lost: the plugin passes them.
    pub fn of(amount: Amount, success: Success) -> u32 {
        let is_same =
            |known: &Amount| std::mem::discriminant(known) == std::mem::discriminant(&amount);
        let amount = AMOUNTS.iter().position(is_same).expect("all amounts are in the list");
        let success = SUCCESSES.iter().position(|known| *known == success);
        amount as u32 | (success.expect("all are in the list") as u32) << 8
    }

    /// The amount of a code.
    pub fn amount(code: u32) -> Amount {
        AMOUNTS[(code & 0xff) as usize]
    }

    /// The success of a code.
    pub fn success(code: u32) -> Success {
        SUCCESSES[(code >> 8 & 0xff) as usize]
    }
}
