//! Random C programs of two or three small threads. What they do is defined on our compiler (`-fwrapv`), but for divisions by zero, which end the run.

use std::fmt::Write;

/// A generator of random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }
}

const TYPES: [&str; 8] = [
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
];

const PROLOGUE: &str = "\
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
const COMMON: &str = "\
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
const LOCKS: [&[&str; 2]; 8] = [
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
const VALUES: [&str; 26] = [
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
const READS: [&str; 24] = [
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
const CHANGES: [&str; 38] = [
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
const MAILBOXES: [(&str, &str); 14] = [
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

/// What is not said in terms of what was read, each for another reason.
pub(crate) const HARD: [&str; 14] = [
    "(int)halved((int){x})",
    "((float){x} * 1.5f > 1)",
    "((double){x} < 0.5)",
    "doubled({x})",
    "(long)((__int128){x} << 3)",
    "printed((int){x})",
    "sorted((int){x}, 7)",
    "table[(int){x} & 3]",
    "functions[(int){x} & 1](2)",
    "variable((int){x})",
    "from_array((int){x}, 5)",
    "strtol((int){x} & 1 ? \"12\" : \"7\", NULL, 10)",
    "*((int){x} & 3 ? &two : &one)",
    "strlen(\"long\" + ((int){x} & 3))",
];

/// How a letter is read: see [`letter`].
pub(crate) const WAYS: usize = 3;

/// A program in which one thread sends a letter and then a sign, and another one looks for the sign and then for the letter. What it makes of the letter goes through a function, and
/// decides a branch, is the thread's result, or is stored. It exits with 0 if the reader came first.
pub(crate) fn letter(function: &str, way: usize) -> String {
    let [new, old] = ["data", "0"].map(|value| function.replace("{x}", value));
    let (reader, at_end) = match way {
        0 => (
            format!(
                "if ({new} == {old}) n = 2; else return (void *)1;\n    assert(flag == 0);\n    return NULL;"
            ),
            "return result != NULL;".to_string(),
        ),
        1 => (
            format!("seen0 = flag;\n    return (void *)(long)({new} != {old});"),
            "assert(result || seen0 == 0);\n    return result != NULL;".to_string(),
        ),
        _ => (
            format!("seen0 = flag;\n    made0 = (int){new};\n    return NULL;"),
            format!("assert(made0 != (int){old} || seen0 == 0);\n    return made0 != (int){old};"),
        ),
    };
    format!(
        "{PROLOGUE}
static int n;
{COMMON}
static volatile int letter, sent;

static void *writer(void *unused)
{{
    letter = 3;
    sent = 1;
    return unused;
}}

static void *reader(void *unused)
{{
    int flag = sent;
    int data = letter;
    {reader}
}}

int main(void)
{{
    pthread_t t[2];
    void *result;
    letter = sent = n = 0;
    seen0 = 0;
    made0 = -1;
    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_join(t[0], &result);
    pthread_join(t[1], NULL);
    {at_end}
}}
"
    )
}

/// One thread writes first the data and then the flag; another one reads first the flag and then the data. If it sees the flag, it sees the data: whoever loses track of what
/// depends on what finds a failure where there is none.
struct Message {
    data: String,
    flag: String,
    writer: u64,
    /// What holds of it when all is done.
    at_end: Option<String>,
}

struct Generator {
    random: Random,
    text: String,
    /// Names of the shared scalars.
    shared: Vec<&'static str>,
    /// Locals in scope.
    locals: Vec<String>,
    next_local: u32,
    /// Shared operations that the thread may still have.
    budget: u32,
    has_lock: bool,
    /// Only what can be said in terms of reads.
    plain: bool,
    /// Nothing but messages, whose data go through what cannot be said in terms of reads.
    letters: bool,
    messages: Vec<Message>,
    /// Divisions by zero crash. (Where the compiler optimises, they do anything.)
    may_crash: bool,
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let letters = random.one_in(3);
    let plain = !letters && random.below(3) > 0;
    let mut generator = Generator {
        random,
        text: format!("/* seed {seed} */\n{PROLOGUE}\n"),
        shared: vec!["g", "h", "k", "v[1]", "v[2]"],
        locals: Vec::new(),
        next_local: 0,
        budget: 0,
        has_lock: false,
        plain,
        letters,
        messages: Vec::new(),
        may_crash: seed.is_multiple_of(3),
    };
    generator.whole();
    generator.text
}

impl Generator {
    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.text, "{}{text}", "    ".repeat(depth)).unwrap();
    }

    fn whole(&mut self) {
        for name in ["g", "h", "k"] {
            let (kind, value) = (self.random.pick(&TYPES), self.random.below(4));
            let volatile = self.random.pick(&["", "volatile "]);
            self.line(0, &format!("static {volatile}{kind} {name} = {value};"));
        }
        // Few variables: the threads are to meet.
        while self.shared.len() > 2 {
            let at = self.random.below(self.shared.len() as u64) as usize;
            self.shared.remove(at);
        }
        let (kind, atomic) = (self.random.pick(&TYPES), self.random.pick(&TYPES));
        self.line(0, &format!("static {kind} v[4] = {{1, 2, 3, 0}};"));
        self.line(0, &format!("static _Atomic {atomic} a = 1, b;"));
        self.line(0, "static int n = 1;");
        self.text.push_str(COMMON);
        let threads = if self.random.one_in(4) { 3 } else { 2 };
        let claims = self.letters && self.random.one_in(3);
        let count = if self.letters { 2 } else { u64::from(self.random.below(3) > 0) };
        let first = self.random.below(2);
        for number in 0..count {
            let data = self.mailbox(&format!("letter{number}"));
            let flag = self.mailbox(&format!("sent{number}"));
            self.messages.push(Message { data, flag, writer: first ^ number, at_end: None });
        }
        for thread in 0..threads {
            self.line(0, "");
            self.line(0, &format!("static void *t{thread}(void *unused)\n{{"));
            self.locals.clear();
            self.budget = if threads == 3 { 4 } else { 6 };
            if claims && thread == 0 {
                self.line(1, "int unclaimed = 0;");
                self.line(1, "atomic_compare_exchange_strong(&claim, &unclaimed, 1);");
            } else if claims && thread == 1 {
                self.line(1, "claim = 3;");
            }
            // What a thread has to say comes first: it may return when it reads.
            for is_writer in [true, false] {
                for number in 0..self.messages.len() {
                    if thread < 2 && (self.messages[number].writer == thread) == is_writer {
                        self.exchange(number, is_writer);
                    }
                }
            }
            let mut tries = 0;
            while self.budget > 0 && tries < 12 && !self.letters {
                tries += 1;
                self.statement(1);
            }
            if self.random.below(3) > 0 && !self.letters {
                self.assertion(1);
            }
            if self.plain || self.locals.is_empty() || self.random.below(3) > 0 {
                self.line(1, "return unused;\n}");
            } else {
                let value = self.atom();
                self.line(1, &format!("return (void *)(long){value};\n}}"));
            }
        }
        self.line(0, "");
        self.line(0, "int main(void)\n{");
        self.line(1, "pthread_t t[3];");
        self.line(1, "void *unused = NULL;");
        self.line(1, "heap = calloc(4, sizeof *heap);");
        self.line(1, "sem_init(&permit, 0, 1);");
        self.line(1, "sem_init(&permits, 0, 2);");
        // What memory holds at first is recorded only where somebody reads or writes it first.
        if !self.random.one_in(10) {
            self.line(1, INITIALISED);
        }
        for number in 0..self.messages.len() {
            let Message { data, flag, .. } = &self.messages[number];
            let text = format!("{data} = 0; {flag} = 0;");
            self.line(1, &text);
        }
        for thread in 0..threads {
            let given = self.random.below(4);
            self.line(
                1,
                &format!("pthread_create(&t[{thread}], NULL, t{thread}, (void *){given});"),
            );
        }
        self.locals.clear();
        if threads == 2 && self.random.one_in(3) {
            self.budget = 2;
            self.statement(1);
        }
        for thread in 0..threads {
            if self.letters || self.random.one_in(3) {
                self.line(1, &format!("void *r{thread};"));
                self.line(1, &format!("pthread_join(t[{thread}], &r{thread});"));
                self.locals.push(format!("(long)r{thread}"));
            } else {
                self.line(1, &format!("pthread_join(t[{thread}], NULL);"));
            }
        }
        for number in 0..self.messages.len() {
            if let Some(holds) = self.messages[number].at_end.take() {
                self.assert(1, &holds);
            }
        }
        if claims {
            self.assert(1, "claim == 3");
        }
        self.budget = 3;
        self.assertion(1);
        self.line(1, "return 0;\n}");
    }

    /// Declares a place for a message; returns its name.
    fn mailbox(&mut self, name: &str) -> String {
        let count = if self.plain { 7 } else { MAILBOXES.len() as u64 };
        let (declaration, place) = MAILBOXES[self.random.below(count) as usize];
        let kind = self.random.pick(&TYPES);
        let text = declaration.replace("{t}", kind).replace("{n}", name);
        self.line(0, &text);
        place.replace("{n}", name)
    }

    /// A thread's part in the message.
    fn exchange(&mut self, number: usize, is_writer: bool) {
        let Message { data, flag, .. } = &self.messages[number];
        let (data, flag) = (data.clone(), flag.clone());
        let before = if self.letters { 0 } else { self.random.below(3) };
        for _ in 0..before {
            self.budget = self.budget.max(1);
            self.statement(1);
        }
        self.spend(3);
        if is_writer {
            let (first, second) = (1 + self.random.below(3), 1 + self.random.below(3));
            self.line(1, &format!("{data} = {first};"));
            if self.random.one_in(3) && !self.letters {
                self.statement(1);
            }
            self.line(1, &format!("{flag} = {second};"));
            return;
        }
        let (x, y) = (self.local(), self.local());
        // Now and then in the wrong order: then it can fail.
        let reads = [
            format!("__typeof__(0 + {flag}) {x} = {flag};"),
            format!("__typeof__(0 + {data}) {y} = {data};"),
        ];
        let is_wrong = self.random.one_in(4);
        for at in 0..2 {
            self.line(1, &reads[at ^ usize::from(is_wrong)]);
        }
        let of = |function: &str, value: &str| function.replace("{x}", value);
        let (f, g) = (self.function(self.plain), self.function(self.plain));
        let simple = self.function(true);
        let as_before = self.random.pick(&["==", "==", "<=", ">="]);
        let has_no_flag = format!("{} {as_before} {}", of(&f, &x), of(&f, "0"));
        let has_simply_no_flag = format!("{} {as_before} {}", of(&simple, &x), of(&simple, "0"));
        let has_no_data = format!("{} == {}", of(&g, &y), of(&g, "0"));
        let simply = [of(&simple, &x), of(&simple, "0")];
        match self.random.below(if self.letters { 12 } else { 8 }) {
            // Others look at what the reader makes of it.
            8 | 9 => {
                self.line(1, &format!("seen{number} = (long){};", simply[0]));
                self.line(1, &format!("return (void *)(long)({has_no_data});"));
                let reader = 1 - self.messages[number].writer;
                let holds = format!("!r{reader} || seen{number} {as_before} (long){}", simply[1]);
                self.messages[number].at_end = Some(holds);
            }
            10 | 11 => {
                self.line(1, &format!("seen{number} = (long){};", simply[0]));
                self.line(1, &format!("made{number} = (int){};", of(&g, &y)));
                let holds = format!(
                    "made{number} != (int){} || seen{number} {as_before} (long){}",
                    of(&g, "0"),
                    simply[1]
                );
                self.messages[number].at_end = Some(holds);
            }
            0..=3 => {
                self.line(1, &format!("if ({has_no_data})"));
                self.line(2, "n = 2;");
                self.line(1, "else");
                self.line(2, "return unused;");
                self.assert(1, &has_simply_no_flag);
            }
            4 => {
                // The same through memory.
                self.line(1, &format!("own = {has_no_data};"));
                self.assert(1, &format!("{has_simply_no_flag} || !own"));
            }
            5 => {
                self.line(1, &format!("long {x}z = {}, {y}z = {};", of(&simple, &x), of(&g, &y)));
                self.line(
                    1,
                    &format!("if ({y}z == {}) put(&p.s, (int){y}z); else abort();", of(&g, "0")),
                );
                self.assert(1, &format!("{x}z {as_before} {}", of(&simple, "0")));
            }
            _ => self.assert(1, &format!("{has_no_flag} || !({has_no_data})")),
        }
        self.locals.extend([format!("(int){x}"), format!("(int){y}")]);
    }

    /// A function of {x} in C.
    fn function(&mut self, plain: bool) -> String {
        const SIMPLE: [&str; 14] = [
            "{x}",
            "({x} + 1)",
            "twice({x})",
            "(unsigned char){x}",
            "far({x}, 3)",
            "choose({x}, 9)",
            "((unsigned){x} + 0xffffffffu)",
            "(unsigned char)({x} + 255)",
            "(signed char)({x} + 127)",
            "((unsigned long){x} - 2)",
            "((unsigned){x} * 0x80000001u)",
            "((unsigned short)({x} - 1) / 2)",
            "((int){x} - 2 >> 1)",
            "(~(unsigned){x} % 7)",
        ];
        match self.random.below(4) {
            _ if plain => return self.random.pick(&SIMPLE).to_string(),
            0 => return self.random.pick(&SIMPLE).to_string(),
            1 | 2 => return self.random.pick(&HARD).to_string(),
            _ => {}
        }
        let y = self.random.below(6).to_string();
        self.random.pick(&VALUES).replace("{x}", "(int){x}").replace("{y}", &y)
    }

    fn spend(&mut self, operations: u32) {
        self.budget = self.budget.saturating_sub(operations);
    }

    fn place(&mut self) -> &'static str {
        let at = self.random.below(self.shared.len() as u64) as usize;
        self.shared[at]
    }

    fn constant(&mut self) -> String {
        const EXTREME: [&str; 14] = [
            "-1",
            "-2",
            "127",
            "128",
            "255",
            "-128L",
            "0x7fff",
            "0xffffu",
            "0x10001",
            "0x7fffffff",
            "0xffffffffu",
            "1000000007",
            "0x100000001L",
            "0x7fffffffffffffffL",
        ];
        match self.random.below(5) {
            0 | 1 => self.random.pick(&EXTREME).to_string(),
            _ => self.random.below(5).to_string(),
        }
    }

    /// Something that reads nothing shared.
    fn atom(&mut self) -> String {
        if self.locals.is_empty() || self.random.one_in(4) {
            return self.constant();
        }
        // What was read last matters most.
        let count = self.locals.len() as u64;
        let at = self.random.below(count).max(self.random.below(count));
        self.locals[at as usize].clone()
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.atom();
        }
        let x = self.expression(depth - 1);
        let y = self.atom();
        match self.random.below(32) {
            0..=3 => format!("({x} + {y})"),
            4 => format!("({x} - {y})"),
            5 => format!("({x} * {y})"),
            6 => format!("({x} & {y})"),
            7 => format!("({x} | {y})"),
            8 => format!("({x} ^ {y})"),
            9 => format!("(~{x})"),
            10 => format!("(- {x})"),
            11 => format!("({x} << ({y} & 7))"),
            12 => format!("({x} >> ({y} & 7))"),
            13 => format!("({x} / (({y} & 3) + 1))"),
            14 => format!("({x} % (({y} & 7) + 2))"),
            15 => format!("((unsigned){x} / ((unsigned){y} | 1))"),
            16 => format!("(({}){x})", self.random.pick(&TYPES)),
            17 => format!("({x} ? {y} : {})", self.atom()),
            18 => format!("({x} && {y})"),
            19 => format!("({x} || {y})"),
            20 => format!("({x} {} {y})", self.random.pick(&["<", "<=", "==", "!="])),
            21 => format!("twice((int){x})"),
            22 => format!("choose((unsigned char){x}, {y})"),
            23 => format!("far({x}, (int){y})"),
            24 => format!("(!{x})"),
            25 if self.may_crash => format!("quotient((unsigned){x}, (unsigned){y})"),
            26 if !self.plain => format!("parity((unsigned){x} & 7)"),
            27 if !self.plain => format!("table[{x} & 3]"),
            28 if !self.plain => format!("(int)((float){x} * 1.5f)"),
            29..=31 if !self.plain || self.random.one_in(2) => {
                let value = self.random.pick(&VALUES);
                value.replace("{x}", &x).replace("{y}", &y)
            }
            _ => format!("({x} + 1)"),
        }
    }

    fn value(&mut self) -> String {
        let depth = 1 + self.random.below(2) as u32;
        self.expression(depth)
    }

    fn condition(&mut self) -> String {
        let x = self.expression(1);
        let y = if self.random.one_in(3) { self.atom() } else { self.constant() };
        match self.random.below(10) {
            0..=4 => format!("{x} != {y}"),
            5 => format!("{x} == {y}"),
            6 => format!("{x} <= {y}"),
            7 => format!("{x} < {y} || {} != {}", self.atom(), self.constant()),
            8 => format!("{x} != {y} && {} != {}", self.atom(), self.constant()),
            _ => x,
        }
    }

    fn local(&mut self) -> String {
        self.next_local += 1;
        format!("x{}", self.next_local)
    }

    fn declare(&mut self, depth: usize, value: &str) {
        let (name, kind) = (self.local(), self.random.pick(&TYPES));
        self.line(depth, &format!("{kind} {name} = {value};"));
        self.locals.push(name);
    }

    fn read(&mut self, depth: usize) {
        let place = self.place();
        self.spend(1);
        self.declare(depth, place);
    }

    fn assertion(&mut self, depth: usize) {
        if self.random.below(3) > 0 {
            return self.repeated(depth);
        }
        if self.locals.is_empty() || self.random.one_in(3) {
            self.read(depth);
        }
        // Not so often false that the recorded run never passes.
        let (x, c) = (self.atom(), self.random.below(9));
        let condition = match self.random.below(10) {
            0..=2 => format!("{x} != {c}"),
            8 => {
                let (kind, z) = (self.random.pick(&TYPES), self.constant());
                format!("({kind})({x} + {z}) {} {}", self.random.pick(&["<", ">"]), self.atom())
            }
            9 => {
                let (kind, z) = (self.random.pick(&TYPES), self.constant());
                format!(
                    "({x} {} {z}) != ({kind}){}",
                    self.random.pick(&["+", "*", "-", "^"]),
                    self.atom()
                )
            }
            3 => format!("({x} & 7) != {c}"),
            4 => format!("{x} + {} != {c}", self.atom()),
            5 => format!("{x} <= {} || {x} > {c}", self.atom()),
            6 => format!("{x} == {} || {x} != {c}", self.atom()),
            _ => self.condition(),
        };
        self.assert(depth, &condition);
    }

    fn assert(&mut self, depth: usize, condition: &str) {
        let text = match self.random.below(4) {
            0 => format!("if (!({condition})) abort();"),
            1 => format!("FORETRACE_ASSERT({condition});"),
            _ => format!("assert({condition});"),
        };
        self.line(depth, &text);
    }

    /// What holds if nobody interferes.
    fn repeated(&mut self, depth: usize) {
        let place = self.place();
        let (name, again) = (self.local(), self.local());
        self.spend(2);
        if self.random.one_in(2) {
            self.line(depth, &format!("__typeof__({place}) {name} = {place};"));
        } else {
            let value = self.value();
            self.line(depth, &format!("__typeof__({place}) {name} = {value};"));
            self.line(depth, &format!("{place} = {name};"));
        }
        self.locals.push(name.clone());
        if self.random.one_in(2) {
            self.statement(depth);
        }
        let kind = self.random.pick(&TYPES);
        let c = self.random.below(4);
        match self.random.below(3) {
            0 => self.line(depth, &format!("__typeof__({place}) {again} = {place};")),
            1 if !self.has_lock => {
                self.line(depth, "pthread_mutex_lock(&m0);");
                self.line(depth, &format!("__typeof__({place}) {again} = {place};"));
                self.line(depth, "pthread_mutex_unlock(&m0);");
            }
            _ => self.line(depth, &format!("{kind} {again} = ({kind}){place};")),
        }
        let condition = match self.random.below(6) {
            0 | 1 => format!("{name} == {again}"),
            2 => format!("({kind})({again} - {name}) == 0"),
            3 => format!("({again} ^ {name}) < {c} + 1"),
            4 => format!("{again} * 3 - {name} * 3 != {c} + 1"),
            _ => format!("({kind}){again} <= ({kind}){name}"),
        };
        self.assert(depth, &condition);
        if self.random.one_in(3) {
            self.assert(depth, &format!("{again} != {c} + 1"));
        }
        self.locals.push(again);
    }

    fn block(&mut self, depth: usize, count: u64) {
        let scope = self.locals.len();
        for _ in 0..count {
            self.statement(depth);
        }
        self.locals.truncate(scope);
    }

    fn statement(&mut self, depth: usize) {
        let place = self.place();
        match self.random.below(if self.plain { 30 } else { 60 }) {
            0..=4 => self.read(depth),
            5..=8 => {
                let value = self.value();
                self.spend(1);
                self.line(depth, &format!("{place} = {value};"));
            }
            9..=11 => {
                let value = self.atom();
                self.spend(2);
                let operation = self.random.pick(&["+", "+", "-", "^", "|", "*"]);
                self.line(depth, &format!("{place} {operation}= {value};"));
            }
            12 => {
                self.spend(2);
                self.line(depth, &format!("{place}++;"));
            }
            13 | 14 if !self.has_lock => {
                let [take, give] = *self.random.pick(&LOCKS);
                self.line(depth, take);
                self.has_lock = true;
                self.spend(1);
                self.block(depth, 2);
                self.has_lock = false;
                self.line(depth, give);
            }
            15 | 16 if depth < 3 => {
                if self.locals.is_empty() {
                    self.read(depth);
                }
                let condition = self.condition();
                self.line(depth, &format!("if ({condition}) {{"));
                self.block(depth + 1, 1);
                if self.random.one_in(3) {
                    self.line(depth, "} else {");
                    self.block(depth + 1, 1);
                }
                self.line(depth, "}");
            }
            17 if depth < 3 && self.budget > 2 => {
                let name = self.local();
                self.line(depth, &format!("for (int {name} = 0; {name} < 2; {name}++) {{"));
                self.locals.push(name);
                let before = self.budget;
                self.block(depth + 1, 1);
                self.locals.pop();
                self.spend(before - self.budget);
                self.line(depth, "}");
            }
            18 => {
                let operation = self.random.pick(&["add", "sub", "xor", "or"]);
                let value = self.atom();
                self.spend(1);
                self.declare(depth, &format!("atomic_fetch_{operation}(&a, {value})"));
            }
            19 => {
                let value = self.value();
                self.spend(1);
                let atomic = self.random.pick(&["a", "b"]);
                self.line(depth, &format!("{atomic} = {value};"));
            }
            20 => {
                self.spend(1);
                let atomic = self.random.pick(&["a", "b"]);
                self.declare(depth, atomic);
            }
            21 => {
                let (name, value) = (self.local(), self.atom());
                let wanted = self.random.below(3);
                self.spend(1);
                self.line(depth, &format!("__typeof__((0, a)) {name} = {wanted};"));
                let done = format!("atomic_compare_exchange_strong(&a, &{name}, {value})");
                self.declare(depth, &done);
                self.locals.push(name);
            }
            22 => {
                let value = self.atom();
                self.spend(2);
                self.line(depth, &format!("add(&n, (int){value});"));
            }
            23 => {
                self.spend(1);
                self.declare(depth, "get(&n)");
            }
            24 => {
                // A local whose address is taken.
                let (name, value, more) = (self.local(), self.atom(), self.atom());
                self.line(depth, &format!("int {name} = (int){value};"));
                self.line(depth, &format!("add(&{name}, (int){more});"));
                self.locals.push(name);
            }
            25 => {
                let value = self.value();
                self.spend(1);
                let field = self.random.pick(&["p.s", "p.c", "p.d", "p.i", "p.l"]);
                self.line(depth, &format!("{field} = {value};"));
            }
            26 => {
                self.spend(1);
                let field = self.random.pick(&["p.s", "p.c", "p.d", "p.i", "q.i"]);
                self.declare(depth, field);
            }
            27 => {
                let value = self.atom();
                self.spend(1);
                self.line(depth, &format!("put(&p.s, (int){value});"));
            }
            28 | 29 => self.assertion(depth),
            30 => {
                self.spend(4);
                let copy = self.random.pick(&[
                    "q = p;",
                    "memcpy(&q, &p, sizeof q);",
                    "memcpy(&q, &p, 5);",
                    "memset(&p, 0, sizeof p);",
                    "memset(&p, 1, 4);",
                    "p = made(3);",
                ]);
                self.line(depth, copy);
            }
            31 | 32 => {
                self.spend(2);
                self.declare(depth, "sum(p)");
            }
            33 => {
                let value = self.atom();
                self.line(depth, &format!("printf(\"%ld\\n\", (long){value});"));
            }
            34 | 35 => {
                self.spend(1);
                let index = self.atom();
                self.declare(depth, &format!("v[{index} & 3]"));
            }
            36 => {
                self.spend(1);
                let (index, value) = (self.atom(), self.atom());
                self.line(depth, &format!("v[{index} & 3] = {value};"));
            }
            37 => {
                self.spend(2);
                let value = self.atom();
                self.line(depth, &format!("f = f * 2 + (float){value};"));
            }
            38 => {
                self.spend(1);
                self.declare(depth, "f > 2");
            }
            39 => {
                self.spend(2);
                self.line(depth, "d += 0.5;");
            }
            40 => {
                // A copy of a struct that the thread has for itself.
                let (name, value) = (self.local(), self.atom());
                self.line(depth, &format!("struct pair {name} = made((int){value});"));
                self.locals.push(format!("{name}.s"));
                self.locals.push(format!("{name}.i"));
            }
            41 => {
                let (name, value) = (self.local(), self.value());
                self.spend(2);
                self.line(depth, &format!("struct pair {name} = p; {name}.i += (int){value};"));
                self.locals.push(format!("sum({name})"));
            }
            42 => {
                let value = self.value();
                self.line(depth, &format!("switch ((int){value}) {{"));
                self.line(depth, &format!("case 0: {place} = 1; break;"));
                self.line(depth, "case 1: n = 2; break;");
                self.line(depth, &format!("default: {place} = 3;\n    }}"));
                self.spend(1);
            }
            43 => {
                let value = self.atom();
                self.spend(2);
                let pointer = self.random.pick(&["&p.i", "&n"]);
                self.line(
                    depth,
                    &format!(
                        "int *to{0} = {value} & 1 ? &n : {pointer}; *to{0} += 1;",
                        self.next_local
                    ),
                );
                self.next_local += 1;
            }
            44 => {
                self.spend(1);
                self.line(depth, "atomic_thread_fence(memory_order_seq_cst);");
            }
            45..=49 => {
                self.spend(1);
                let value = self.random.pick(&READS);
                self.declare(depth, value);
            }
            50..=57 => {
                self.spend(2);
                let (change, value) = (self.random.pick(&CHANGES), self.atom());
                self.line(depth, &change.replace("{x}", &value));
            }
            _ => {
                let value = self.value();
                self.declare(depth, &value);
            }
        }
    }
}
