//! Pieces of C that random programs are made of.

pub(crate) const TYPES: [&str; 8] = [
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
];

pub(crate) const PROLOGUE: &str = "\
#include <assert.h>
#include \"foretrace.h\"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
";

/// All that threads read without having written it has a recorded value.
pub(crate) const INITIALISED: &str = "latch = 0; g = 1; h = 2; k = 0; n = 3; a = 1; b = 0; f = 1; d = 2; for (int i = 0; i < 4; i++) v[i] = i; p = q = made(1); u.i = 1; bits.a = bits.b = 1; bits.c = 2; w.c = w.i = w.s = 1; flag = 0; ptr = &n; wide = 1; seen0 = seen1 = 0; made0 = made1 = -1; claim = 0; strcpy(text, \"abc\");";

/// What every program has beside its own variables.
pub(crate) const COMMON: &str = "\
struct pair { short s; unsigned char c; signed char d; int i; long l; };
static struct pair p, q;
static float f = 1;
static double d = 2;
static pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t permit, permits;
static atomic_int latch;
static const short table[4] = {3, -1, 2, 7};

static int twice(int x) { return x * 2; }
static unsigned choose(unsigned char x, long y) { return x > 2 ? (unsigned)y : x; }
static void add(int *to, int x) { *to += x; }
static void put(short *to, int x) { *to = (short)x; }
static int get(const int *from) { return *from; }
static long sum(struct pair x) { return x.s + x.c + x.i; }
static struct pair made(int x) { struct pair y = {(short)x, 1, 2, x, 4}; return y; }
static int parity(unsigned x) { int odd = 0; while (x) { odd ^= x & 1; x >>= 1; } return odd; }
__attribute__((noinline)) static long far(long x, int y) { return y & 1 ? x - y : x + y; }
__attribute__((noinline)) static unsigned quotient(unsigned x, unsigned y) { return x / y; }

static union { int i; unsigned char c[4]; float f; short s[2]; } u;
static struct { unsigned a : 3; int b : 5; unsigned c : 12; } bits;
static struct { char c; int i; short s; } __attribute__((packed)) w;
static _Bool flag;
static int *ptr = &n;
static int *heap;
static char text[8] = \"abc\";
static _Thread_local int own;
static __int128 wide;
static int one = 1, two = 2;
static long seen0, seen1;
static int made0 = -1, made1 = -1;
static atomic_int claim;

static int recursive(int x) { return x <= 0 ? 1 : x * recursive(x - 1); }
static int (*const functions[2])(int) = {twice, recursive};
static int called(int which, int x) { return functions[which & 1](x & 3); }
static int least(int x, ...)
{
    __builtin_va_list list;
    __builtin_va_start(list, x);
    int y = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return x < y ? x : y;
}
static int from_array(int x, int y) { int all[4] = {1, x, 3, y}; all[y & 3] += 2; return all[x & 3]; }
static int from_bytes(int x) { unsigned char bytes[4]; memcpy(bytes, &x, 4); bytes[1] ^= 1; memcpy(&x, bytes, 4); return x; }
static int printed(int x) { char line[16]; snprintf(line, sizeof line, \"%d\", x); return atoi(line); }
static int compare(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }
static int sorted(int x, int y) { int all[3] = {x, 2, y}; qsort(all, 3, sizeof *all, compare); return all[0]; }
static int overflow(int x, int y) { int z; return __builtin_add_overflow(x, y, &z) ? 7 : z; }
static unsigned char saturated(unsigned char x, unsigned char y) { return x > 255 - y ? 255 : x + y; }
static int variable(int x) { int all[(x & 3) + 1]; all[x & 3] = x; all[0] += 1; return all[x & 3]; }
static long wider(long x, long y) { return (long)((__int128)x * y >> 3); }
static int punned(int x) { union { int i; float f; unsigned char c[4]; } y = {x}; return y.c[0] + y.c[3]; }
static int jumps(int x) { int y = 0; again: y += x; if (y < 3 && x > 0) goto again; return y; }
static float halved(int x) { return (float)x * 0.5f; }
static long doubled(long x) { long double y = x; return (long)(y * 2); }
static int counted(const char *of) { int count = 0; while (*of++) count++; return count; }
";

/// What excludes others: locks, readers, permits, an exchange.
pub(crate) const LOCKS: [&[&str; 2]; 8] = [
    &["pthread_mutex_lock(&m0);", "pthread_mutex_unlock(&m0);"],
    &["pthread_mutex_lock(&m0);", "pthread_mutex_unlock(&m0);"],
    &["pthread_mutex_lock(&m1);", "pthread_mutex_unlock(&m1);"],
    &["pthread_rwlock_rdlock(&rw);", "pthread_rwlock_unlock(&rw);"],
    &["pthread_rwlock_wrlock(&rw);", "pthread_rwlock_unlock(&rw);"],
    &["sem_wait(&permit);", "sem_post(&permit);"],
    &["sem_wait(&permits);", "sem_post(&permits);"],
    &["while (atomic_exchange(&latch, 1)) {}", "latch = 0;"],
];

/// Values of two locals.
pub(crate) const VALUES: [&str; 26] = [
    "({x} < {y} ? {x} : {y})",
    "__builtin_popcount((unsigned){x})",
    "__builtin_bswap32((unsigned){x})",
    "((unsigned){x} << 5 | (unsigned){x} >> 27)",
    "abs((int){x} | 1)",
    "__builtin_clz((unsigned){x} | 1)",
    "__builtin_ctz((unsigned){x} | 16)",
    "({x} > {y}) - ({x} < {y})",
    "(_Bool){x}",
    "recursive((int){x} & 3)",
    "called((int){x}, (int){y})",
    "least((int){x}, (int){y})",
    "from_array((int){x}, (int){y})",
    "from_bytes((int){x})",
    "printed((int){x})",
    "sorted((int){x}, (int){y})",
    "overflow((int){x}, (int){y})",
    "saturated((unsigned char){x}, (unsigned char){y})",
    "variable((int){x})",
    "wider({x}, {y})",
    "punned((int){x})",
    "jumps((int){x} & 3)",
    "(int)halved((int){x})",
    "doubled({x})",
    "table[{x} & 3]",
    "strtol({x} & 1 ? \"12\" : \"7\", NULL, 10)",
];

/// What others can see.
pub(crate) const READS: [&str; 24] = [
    "u.i",
    "u.c[1]",
    "u.s[0]",
    "bits.a",
    "bits.b",
    "bits.c",
    "w.i",
    "w.s",
    "w.c",
    "flag",
    "*ptr",
    "heap[1]",
    "strlen(text)",
    "text[1]",
    "strcmp(text, \"abc\")",
    "memcmp(&p, &q, 4)",
    "own",
    "(long)wide",
    "counted(text)",
    "u.f > 1",
    "(long)unused",
    "sum(q)",
    "atomic_load_explicit(&a, memory_order_relaxed)",
    "v[0] + v[1] + v[2] + v[3]",
];

/// Statements with a local.
pub(crate) const CHANGES: [&str; 38] = [
    "u.i = (int){x};",
    "u.s[1] = (short){x};",
    "u.c[0] = (unsigned char){x};",
    "u.c[1]++;",
    "u.f = (float){x};",
    "bits.a = {x};",
    "bits.b = {x};",
    "bits.c += {x};",
    "w.i = (int){x};",
    "w.s = (short){x};",
    "w.i += 3;",
    "flag = {x};",
    "flag = !flag;",
    "ptr = {x} & 1 ? &n : &p.i;",
    "*ptr = (int){x};",
    "heap[1] = (int){x};",
    "heap[1] += 2;",
    "text[1] = (char)('a' + ({x} & 3));",
    "text[({x} & 1) + 1] = 0;",
    "strcpy(text, \"xyz\");",
    "own += (int){x};",
    "wide += {x};",
    "memcpy(&q.i, &p.i, 4);",
    "memmove((char *)&p + 1, &p, 5);",
    "memset(&p, (int){x}, 3);",
    "memcpy(&p, &q, {x} & 3);",
    "{ int mine = (int){x}; memcpy(&n, &mine, sizeof n); }",
    "{ struct pair mine = p; mine.s ^= 1; p = mine; }",
    "{ struct pair mine; memset(&mine, 1, sizeof mine); mine.c = (unsigned char){x}; p = mine; }",
    "v[0] = v[1] = v[2] = {x};",
    "atomic_exchange(&b, {x});",
    "atomic_fetch_and(&a, {x});",
    "__atomic_fetch_nand(&n, (int){x}, __ATOMIC_SEQ_CST);",
    "{ long mine = {x}; while (mine > 0 && mine < 4) { n += 1; mine += 2; } }",
    "{ volatile int mine = (int){x}; mine++; n = mine; }",
    "{ int mine[2] = {(int){x}, 2}; int *to = &mine[n & 1]; *to += 1; n = mine[0]; }",
    "n = n < (int){x} ? n : (int){x};",
    "p.i = p.s > {x} ? p.s : (int){x};",
];

/// Where a message may be: what declares it, and its name.
pub(crate) const MAILBOXES: [(&str, &str); 14] = [
    ("static {t} {n};", "{n}"),
    ("static volatile {t} {n};", "{n}"),
    ("static _Atomic {t} {n};", "{n}"),
    ("static struct { char x; {t} y; } {n};", "{n}.y"),
    ("static {t} {n}[3];", "{n}[1]"),
    ("static union { {t} y; unsigned char c[8]; } {n};", "{n}.y"),
    ("static struct { char x; {t} y; } __attribute__((packed)) {n};", "{n}.y"),
    ("static float {n};", "{n}"),
    ("static volatile double {n};", "{n}"),
    ("static volatile _Bool {n};", "{n}"),
    ("static volatile struct { unsigned x : 2, y : 9; } {n};", "{n}.y"),
    ("static volatile struct { int x : 7, y : 4; } {n};", "{n}.y"),
    ("static __int128 {n};", "{n}"),
    ("static volatile {t} {n}[2];", "{n}[0]"),
];
