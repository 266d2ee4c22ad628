//! Names of functions of the C and C++ libraries of which it is known what they do.

/// Whether a function prints texts.
pub(crate) fn prints(name: &str) -> bool {
    matches!(name, "fprintf" | "fputs" | "perror" | "printf" | "puts" | "snprintf" | "syslog")
}

/// Functions without effect on what is verified; their results are unknown.
pub(crate) const SILENT: [&str; 22] = [
    "fflush", "fprintf", "fputc", "fputs", "fwrite", "getpid", "gettid", "perror", "printf",
    "putchar", "putc", "puts", "rand", "random", "setbuf", "setvbuf", "srand", "srandom", "syslog",
    "vfprintf", "vprintf", "write",
];

/// Functions that only begin or end the life of something, or ask for what makes no difference,
/// and succeed.
pub(crate) const SUCCEEDING: [&str; 49] = [
    "_ZNSaIcEC1ERKS_",
    "_ZNSaIcEC1Ev",
    "_ZNSaIcEC2ERKS_",
    "_ZNSaIcEC2Ev",
    "_ZNSaIcED1Ev",
    "_ZNSaIcED2Ev",
    "clock_nanosleep",
    "cnd_destroy",
    "cnd_init",
    "mtx_destroy",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_attr_setinheritsched",
    "pthread_attr_setschedparam",
    "pthread_attr_setschedpolicy",
    "pthread_attr_setscope",
    "pthread_barrier_destroy",
    "pthread_barrierattr_destroy",
    "pthread_barrierattr_init",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_condattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_condattr_setpshared",
    "pthread_detach",
    "pthread_key_delete",
    "pthread_mutex_destroy",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_setprotocol",
    "pthread_mutexattr_setpshared",
    "pthread_rwlock_destroy",
    "pthread_rwlockattr_destroy",
    "pthread_rwlockattr_init",
    "pthread_setconcurrency",
    "pthread_spin_destroy",
    "pthread_spin_init",
    "pthread_yield",
    "sched_yield",
    "nanosleep",
    "sem_destroy",
    "sleep",
    "thrd_detach",
    "thrd_sleep",
    "thrd_yield",
    "tss_delete",
    "usleep",
];

/// Functions that print on a stream of C++'s library what is not memory, and give the stream.
pub(crate) const PRINTING: [&str; 14] = [
    "_ZNSo3putEc",
    "_ZNSo5flushEv",
    "_ZNSolsEPKv",
    "_ZNSolsEb",
    "_ZNSolsEd",
    "_ZNSolsEf",
    "_ZNSolsEi",
    "_ZNSolsEj",
    "_ZNSolsEl",
    "_ZNSolsEm",
    "_ZNSolsEs",
    "_ZNSolsEx",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_h",
];

/// Starts the thread of a `std::thread`.
pub(crate) const START_THREAD: &str =
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";

/// Whether `errno` is as before behind a call that does what is modelled.
pub(crate) fn keeps_errno(name: &str) -> bool {
    let starts = [
        "pthread_", "mtx_", "cnd_", "thrd_", "tss_", "spin ", "str", "mem", "is", "to", "ato",
        "_Z", "__c",
    ];
    let others = [
        "__errno_location",
        "abs",
        "aligned_alloc",
        "atexit",
        "calloc",
        "clock_gettime",
        "free",
        "getenv",
        "gettimeofday",
        "labs",
        "malloc",
        "operator new with alignment",
        "qsort",
        "rand",
        "rand_r",
        "random",
        "realloc",
        "sched_yield",
        "sem_destroy",
        "sem_init",
        "sem_post",
        "sem_wait",
        "srand",
        "srandom",
        "time",
    ];
    starts.iter().any(|start| name.starts_with(start)) || others.contains(&name)
}

/// The numbers of the arguments that a format prints as text; `None` if it does something else with
/// memory.
pub(crate) fn texts_of(format: &[u8]) -> Option<Vec<usize>> {
    let end = format.iter().position(|&byte| byte == 0).unwrap_or(format.len());
    let format = String::from_utf8_lossy(&format[..end]);
    let (mut texts, mut number) = (Vec::new(), 0);
    let mut letters = format.chars();
    while letters.by_ref().any(|letter| letter == '%') {
        loop {
            match letters.next()? {
                '%' => break,
                '*' => number += 1,
                letter if letter.is_ascii_digit() || " #+-hljztLq'".contains(letter) => (),
                's' => {
                    texts.push(number);
                    number += 1;
                    break;
                }
                letter if "diouxXeEfFgGaAcp".contains(letter) => {
                    number += 1;
                    break;
                }
                // A precision may end a text early.
                '.' => {
                    let rest: String = letters.clone().collect();
                    let kind = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
                    if rest[kind..].starts_with('s') {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
    Some(texts)
}

/// The names that C11 and others have for the same function.
pub(crate) fn common_name(name: &str) -> &str {
    match name {
        "tss_get" => "pthread_getspecific",
        "tss_set" => "pthread_setspecific",
        "tss_create" => "pthread_key_create",
        "cnd_signal" => "pthread_cond_signal",
        "cnd_broadcast" => "pthread_cond_broadcast",
        "cnd_wait" => "pthread_cond_wait",
        "mtx_lock" => "pthread_mutex_lock",
        "mtx_unlock" => "pthread_mutex_unlock",
        "thrd_current" => "pthread_self",
        "thrd_equal" => "pthread_equal",
        "pthread_spin_lock" => "spin lock",
        "pthread_spin_trylock" => "spin trylock",
        "pthread_spin_unlock" => "spin unlock",
        "pthread_cond_clockwait" => "pthread_cond_timedwait",
        "pthread_mutex_clocklock" => "pthread_mutex_timedlock",
        "pthread_rwlock_clockrdlock" => "pthread_rwlock_timedrdlock",
        "pthread_rwlock_clockwrlock" => "pthread_rwlock_timedwrlock",
        "sem_clockwait" => "sem_timedwait",
        "__isoc99_strtol" | "__isoc23_strtol" | "strtoll" | "__isoc23_strtoll" => "strtol",
        "__isoc23_strtoul" | "strtoull" | "__isoc23_strtoull" => "strtoul",
        "secure_getenv" => "getenv",
        "getc" | "_IO_getc" => "fgetc",
        "fopen64" => "fopen",
        "pread64" => "pread",
        "open64" => "open",
        "lseek64" => "lseek",
        "fseeko" | "fseeko64" => "fseek",
        "ftello" | "ftello64" => "ftell",
        "__getline" => "getline",
        "__strtok_r" => "strtok_r",
        "__isoc99_sscanf" | "__isoc23_sscanf" => "sscanf",
        "__isoc99_fscanf" | "__isoc23_fscanf" => "fscanf",
        "__isoc99_scanf" | "__isoc23_scanf" => "scanf",
        "_ZSt9terminatev" => "std::terminate",
        "_ZNSt18condition_variable10notify_oneEv" => "pthread_cond_signal",
        "_ZNSt18condition_variable10notify_allEv" => "pthread_cond_broadcast",
        "_Znwm" | "_Znam" | "_ZnwmRKSt9nothrow_t" | "_ZnamRKSt9nothrow_t" => "malloc",
        "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t" => "operator new with alignment",
        "_ZdlPv"
        | "_ZdaPv"
        | "_ZdlPvm"
        | "_ZdaPvm"
        | "_ZdlPvSt11align_val_t"
        | "_ZdlPvmSt11align_val_t" => "free",
        name => name,
    }
}
