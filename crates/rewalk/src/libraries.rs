//! What is known of functions that are not instrumented.
//!
//! **Computes.** For the name of a function, how much of what the thread has read may decide what
//! it does. Of a function that is not listed nothing is known: it may depend on its arguments and
//! on all memory that it can reach.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// How a function may depend on what the thread has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Only through its arguments; memory of the program it neither reads nor writes, other than
    /// objects of synchronisation.
    Arguments,
    /// Through its arguments; it may write what they point to, a few words each.
    Results,
    /// It tells the world about its arguments and what they point to. What it returns depends on
    /// these, if anybody looks.
    Prints,
    /// Through its arguments and any memory of the program.
    Memory,
}

/// What is known of a function.
pub(crate) fn reach(name: &str) -> Reach {
    if is_openmp(name) {
        return reach_of_openmp(name);
    }
    let name = name.strip_prefix("__isoc99_").or(name.strip_prefix("__isoc23_")).unwrap_or(name);
    // The operators are `new` and `delete`.
    let mut prefixes =
        "pthread_ sem_ mtx_ cnd_ thrd_ tss_ _Znw _Zna _Zdl _Zda foretrace_ __cxa_guard_".split(' ');
    // Those of them that read or write more than what they synchronise with: times, attributes,
    // names, sets of signals.
    let more = ["get", "attr", "timed", "clock", "sched", "_np", "open", "unlink"];
    let is_prefixed = prefixes.any(|prefix| name.starts_with(prefix));
    let is_c = is_prefixed && !name.starts_with('_');
    let known = LISTED.get(name).copied();
    if name.starts_with("pthread_") && (name.contains("affinity") || name.contains("sigmask")) {
        Reach::Memory
    } else if known == Some(Reach::Results) || is_c && more.iter().any(|part| name.contains(part)) {
        Reach::Results
    } else if is_prefixed {
        Reach::Arguments
    } else {
        known.unwrap_or(Reach::Memory)
    }
}

/// Whether a call of the function can come back more than once.
pub(crate) fn returns_twice(name: &str) -> bool {
    ["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "vfork"].contains(&name)
}

/// Whether the thread may go on with another stack.
pub(crate) fn changes_stack(name: &str) -> bool {
    ["getcontext", "setcontext", "swapcontext", "makecontext"].contains(&name)
        || name.ends_with("_fcontext")
}

/// What new threads run that a function creates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Routine {
    /// Which argument it is; those behind it are passed on.
    pub(crate) argument: usize,
    /// How many are passed on; all that there are if this is more.
    pub(crate) passed: usize,
    /// How many others come before them.
    pub(crate) before: usize,
    /// The thread that creates the others runs it as well.
    pub(crate) is_shared: bool,
}

/// What new threads run that a function creates.
pub(crate) fn routine(name: &str) -> Option<Routine> {
    let created = |argument| Routine { argument, passed: 1, before: 0, is_shared: false };
    match name {
        "pthread_create" => Some(created(2)),
        "thrd_create" => Some(created(1)),
        // The body gets pointers to two numbers of its thread, then the variables.
        "__kmpc_fork_call" => {
            Some(Routine { argument: 2, passed: usize::MAX, before: 2, is_shared: true })
        }
        "GOMP_parallel" => Some(Routine { argument: 0, passed: 1, before: 0, is_shared: true }),
        _ => None,
    }
}

/// Whether the runtime has the function in place of the one of an OpenMP library.
pub(crate) fn is_openmp(name: &str) -> bool {
    let families = ["get_", "set_", "unset_", "test_", "init_", "destroy_", "in_", "is_"];
    name.starts_with("__kmpc_")
        || name.starts_with("GOMP_")
        || name
            .strip_prefix("omp_")
            .is_some_and(|rest| families.iter().any(|family| rest.starts_with(family)))
}

/// These functions look at no memory but their own, other than the bounds of a loop; and where
/// these are, they store others, which is recorded. Which iterations a thread gets, and whether it
/// runs a block, depends on the thread's number or on a cell that the recording shows.
fn reach_of_openmp(name: &str) -> Reach {
    // These copy the variables of a task, or look at a list of addresses.
    match name.starts_with("__kmpc_taskloop") || name == "__kmpc_omp_task_with_deps" {
        true => Reach::Memory,
        false => Reach::Arguments,
    }
}

/// The functions of the tables below. The walk asks at each call.
static LISTED: LazyLock<FxHashMap<&str, Reach>> = LazyLock::new(|| {
    let tables = [
        (PRINTS, Reach::Prints),
        (ARGUMENTS, Reach::Arguments),
        (ARGUMENTS_OF_CXX, Reach::Arguments),
        (RESULTS, Reach::Results),
    ];
    let of = |(names, reach): (&'static str, Reach)| {
        names.split_ascii_whitespace().map(move |name| (name, reach))
    };
    tables.into_iter().flat_map(of).collect()
});

const RESULTS: &str = "
    pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np thrd_create thrd_join
    pthread_getspecific pthread_key_create sem_getvalue posix_memalign nanosleep
    clock_nanosleep time clock_gettime gettimeofday clock_getres pthread_attr_getstacksize
    pthread_getschedparam pthread_setcancelstate pthread_setcanceltype pthread_getattr_np
    pthread_attr_getdetachstate thrd_sleep pthread_mutexattr_gettype
";

const ARGUMENTS: &str = "
    malloc calloc free aligned_alloc memalign valloc sleep usleep sched_yield alarm pause clock
    rand srand random srandom drand48 lrand48 getpid gettid getppid getuid sysconf getpagesize
    exit _exit _Exit quick_exit abort __assert_fail __assert_perror_fail call_once
    __errno_location raise kill abs labs llabs toupper tolower isalpha isdigit isspace isalnum
    isupper islower sqrt sin cos tan exp log pow fabs floor ceil fmod longjmp _longjmp
    siglongjmp malloc_usable_size __cxa_allocate_exception __cxa_free_exception close lseek
    lseek64 ftruncate ftruncate64 fsync fdatasync isatty dup dup2 geteuid getgid getegid
    __cxa_throw __cxa_rethrow __cxa_begin_catch __cxa_end_catch __cxa_get_exception_ptr
    _Unwind_Resume _ZSt9terminatev
";

/// `std::thread`: join, detach, hardware_concurrency, and the base of what a thread runs;
/// `std::condition_variable`: its beginning and end, notify_one, notify_all.
const ARGUMENTS_OF_CXX: &str = "
    _ZNSt6thread4joinEv _ZNSt6thread6detachEv _ZNSt6thread20hardware_concurrencyEv
    _ZNSt6thread6_StateD0Ev _ZNSt6thread6_StateD1Ev _ZNSt6thread6_StateD2Ev
    _ZNSt18condition_variableC1Ev _ZNSt18condition_variableD1Ev
    _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv
";

const PRINTS: &str = "
    printf fprintf vprintf vfprintf dprintf puts fputs putchar fputc putc perror fflush syslog
    __printf_chk __fprintf_chk fwrite
";
