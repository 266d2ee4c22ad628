//! Functions that touch no channel.

use super::Names;

/// Families of functions that the runtime stands before, or that touch no channel.
pub(super) const SILENT_PREFIXES: Names = Names(
    "
    pthread_ __pthread_ sem_ mtx_ cnd_ thrd_ tss_ foretrace_ __cxa_ __gxx_ _Unwind_ __dynamic_cast
    __clang_ __ubsan_ __sanitizer_ __atomic_ __sync_ __kmpc_ omp_ GOMP_ __VERIFIER_ __builtin_
",
);

/// Functions of the C library that touch nothing but their arguments and memory.
pub(super) const SILENT: Names = Names(
    "
    strdup strndup memchr memrchr rawmemchr memcmp memcpy mempcpy memccpy memmem memmove memset
    bcmp bcopy bzero explicit_bzero strcat strncat strlcat strlcpy strchr strchrnul strcmp strncmp
    strcasecmp strncasecmp strcasestr strcoll strcpy strncpy stpcpy stpncpy strcspn strspn strlen
    strnlen strpbrk strrchr strsep strstr strtok_r strxfrm strverscmp strerror strerror_r
    __xpg_strerror_r strerrorname_np strerrordesc_np index rindex ffs ffsl ffsll basename
    __xpg_basename dirname swab atoi atol atoll atof strtol strtoll strtoul strtoull strtod strtof
    strtold strtoimax strtoumax strtol_l strtod_l abs labs llabs imaxabs div ldiv lldiv qsort
    qsort_r bsearch rand_r random_r srandom_r initstate_r wctomb mbstowcs
    wcstombs wcrtomb wcsrtombs mbsinit btowc wctob wcslen wcsnlen wcscpy wcsncpy wcscat wcsncat
    wcscmp wcsncmp wcschr wcsrchr wcsstr wcstol wcstoul wcstoll wcstoull wcstod wmemcpy wmemmove
    wmemset wmemcmp wmemchr wcwidth wcswidth swprintf vswprintf isalnum isalpha isascii isblank
    iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit toascii tolower
    toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max iswalnum
    iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
    iswxdigit towlower towupper wctype iswctype newlocale freelocale duplocale uselocale sprintf
    snprintf vsprintf vsnprintf asprintf vasprintf sscanf vsscanf swscanf fileno backtrace
    backtrace_symbols __errno_location __h_errno_location __assert_fail __assert_perror_fail
    __assert __stack_chk_fail __fortify_fail malloc_usable_size mallopt malloc_trim mallinfo
    mallinfo2 malloc_stats malloc_info mprotect madvise posix_madvise mlock munlock mlockall
    munlockall mincore msync alloca getpid getppid gettid getpagesize confstr getauxval
    get_nprocs_conf sched_get_priority_max sched_get_priority_min __sched_cpucount
    __sched_cpualloc __sched_cpufree uname sysinfo getloadavg arch_prctl personality getrandom
    getentropy arc4random arc4random_buf arc4random_uniform clock_getres difftime timegm gmtime_r
    asctime_r htonl htons ntohl ntohs inet_addr inet_aton inet_ntoa inet_ntop inet_pton
    gai_strerror freeaddrinfo freeifaddrs getopt_r setjmp _setjmp sigsetjmp __sigsetjmp getcontext
    setcontext swapcontext makecontext sigemptyset sigfillset sigaddset sigdelset sigismember
    sigaltstack crypt crypt_r iconv iconv_open iconv_close regcomp regexec regfree regerror
    fnmatch wordfree globfree a64l l64a ecvt fcvt gcvt getsubopt rpmatch argz_create envz_get
    setproctitle crc32 adler32 __tls_get_addr __libc_start_main _setjmp3 cfmakeraw __memcpy_chk
    __memset_chk __memmove_chk __sprintf_chk __snprintf_chk __vsnprintf_chk __strcpy_chk
    __strcat_chk __fdelt_chk __fdelt_warn timespec_getres gnu_get_libc_version strfmon ffsl
    popcount __popcountdi2 __udivti3 __umodti3 __divti3 __modti3 __multi3 __mulodi4 __muloti4
    __truncdfhf2 __extendhfsf2 __fixunsdfti __floatuntidf
",
);

/// Whether a silent function is none before which the runtime stands.
pub(super) fn touches_only_memory(name: &str) -> bool {
    SILENT.contains(name)
}

pub(super) const MATHEMATICS: Names = Names(
    "
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
    expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma lgamma_r
    llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
    pow remainder remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh
    sqrt tan tanh tgamma trunc y0 y1 yn finite isinf isnan signbit __isinf __isnan __finite
    __signbit __fpclassify cabs carg cexp clog conj cpow creal cimag csqrt csin ccos cproj
    fegetround fesetround feclearexcept fetestexcept feraiseexcept fegetenv fesetenv feholdexcept
    feupdateenv feenableexcept fedisableexcept
",
);
