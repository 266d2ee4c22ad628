//! Random programs whose threads take branches on shared data, in loops, under locks or not:
//! `foretrace verify -- PROGRAM` against all schedules of the same program.
//!
//! A proof is wrong if any schedule fails, crashes, races or gets stuck; a bug must happen in some
//! schedule. The exploration wakes those first who wait longest, and lets time pass only where
//! nobody can go on; where a bug needs more, it counts if the program has shown it.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::explorer::{Recorded, Truth};
use crate::generator::Random;
use crate::{Case, Sums, Tried, add};

const PROLOGUE: &str = "\
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>

static int x, y = 1, cells[3] = {0, 1, 2};
static int *where = &cells[1];
static atomic_int a, flag;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *const locks[2] = {&m, &n};
static sem_t s;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct timespec soon = {1, 0};
static atomic_int go;
static void first(void) { a = a + 1; }
static int *made;
static FILE *in;
";

/// What is read from `in`.
const INPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runs/numbers.txt");

/// What a thread does; `#` is a small number.
const STATEMENTS: [&str; 40] = [
    "pthread_mutex_lock(&m); x = x + #; pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); if (x > #) y = x; else x = #; pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); x++; y--; pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); assert(x + y < 4#); pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); int seen# = x; pthread_mutex_unlock(&m); if (seen# == #) a++;",
    "pthread_mutex_lock(&n); cells[#] += 1; pthread_mutex_unlock(&n);",
    "pthread_mutex_lock(&n); where = &cells[#]; pthread_mutex_unlock(&n);",
    "pthread_mutex_lock(&n); *where = #; pthread_mutex_unlock(&n);",
    "pthread_mutex_lock(locks[1]); assert(*where < 3); pthread_mutex_unlock(locks[1]);",
    "a = a + #;",
    "atomic_fetch_add(&a, #);",
    "if (a == #) flag = 1;",
    "assert(!(flag && a == #));",
    "for (int i = 0; i < a && i < #; i++) atomic_fetch_sub(&a, 1);",
    "int old# = #; if (atomic_compare_exchange_strong(&a, &old#, 2)) flag = #;",
    "sem_wait(&s); x = x + 1; sem_post(&s);",
    "sem_wait(&s); assert(x != 2#); sem_post(&s);",
    "if (flag && a > #) abort();",
    "switch (a) { case 1: flag = 1; break; case 2: a = #; break; default: break; }",
    "pthread_mutex_lock(&m); if (!made) { made = malloc(4); *made = #; } *made += 1; \
     pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); x = fgetc(in) & 3; pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); char one[4]; if (fgets(one, 4, in)) x += atoi(one); \
     pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); int got; if (fscanf(in, \"%d\", &got) == 1) assert(got + x != 1#); \
     pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); made = realloc(made, 8); made[1] = #; *made = 1; \
     pthread_mutex_unlock(&m);",
    "if (pthread_mutex_trylock(&m) == 0) { x = x + #; pthread_mutex_unlock(&m); } else a = #;",
    "if (pthread_mutex_trylock(&m) == 0) pthread_mutex_unlock(&m); else assert(a != #);",
    "if (pthread_mutex_trylock(&n)) a++; else { cells[#]++; pthread_mutex_unlock(&n); }",
    "pthread_mutex_lock(&m); int is = pthread_mutex_trylock(&n); if (is == 0) { cells[#] = x; \
     pthread_mutex_unlock(&n); } pthread_mutex_unlock(&m); if (is) flag = 1;",
    "if (pthread_mutex_timedlock(&n, &soon) == 0) { cells[#]--; pthread_mutex_unlock(&n); }",
    "if (sem_trywait(&s) == 0) { x = x + #; sem_post(&s); } else flag = 1;",
    "if (sem_trywait(&s)) assert(a < 2); else sem_post(&s);",
    "pthread_rwlock_rdlock(&r); int now# = cells[1]; pthread_rwlock_unlock(&r); \
     assert(now# < 3);",
    "pthread_rwlock_wrlock(&r); cells[#] = a; pthread_rwlock_unlock(&r);",
    "if (pthread_rwlock_trywrlock(&r) == 0) { cells[#]++; pthread_rwlock_unlock(&r); } \
     else a = 2;",
    "pthread_mutex_lock(&m); while (x < 1) pthread_cond_wait(&c, &m); x--; \
     pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); x++; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
    "pthread_mutex_lock(&m); x = 2; pthread_mutex_unlock(&m); pthread_cond_broadcast(&c);",
    "while (!go); assert(a < 2);",
    "pthread_once(&once, first); assert(a > 0);",
    "y = y + #;",
];

/// What programs have, each with a word that shows it: all are compared.
pub(crate) const CONSTRUCTS: [(&str, &str); 11] = [
    ("attempts to lock", "pthread_mutex_trylock"),
    ("locks with a deadline", "pthread_mutex_timedlock"),
    ("attempts to get a token", "sem_trywait"),
    ("reader-writer locks", "pthread_rwlock_rdlock"),
    ("attempts to get them", "pthread_rwlock_trywrlock"),
    ("condition variables", "pthread_cond_wait"),
    ("loops that wait", "while (!go)"),
    ("memory from the heap", "realloc("),
    ("files", "fopen("),
    ("compare-exchanges", "atomic_compare_exchange_strong"),
    ("once", "pthread_once("),
];

/// Racy statements are rare, since one hides the rest.
fn statement(random: &mut Random) -> String {
    let mut text = String::new();
    let last = if random.below(6) == 0 { STATEMENTS.len() } else { STATEMENTS.len() - 1 };
    let chosen = STATEMENTS[random.below(last)];
    let number = random.below(3);
    chosen.chars().for_each(|letter| match letter {
        '#' => text.push_str(&number.to_string()),
        _ => text.push(letter),
    });
    format!("    {{ {text} }}\n")
}

pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let mut text = PROLOGUE.to_string();
    for thread in 0..threads {
        let _ = writeln!(text, "static void *f{thread}(void *given) {{\n    (void)given;");
        (0..1 + random.below(3)).for_each(|_| text.push_str(&statement(&mut random)));
        text.push_str("    return 0;\n}\n");
    }
    text.push_str("int main(void) {\n    pthread_t t[3];\n    sem_init(&s, 0, 1);\n");
    if text.contains("in)") || text.contains("in,") {
        let _ = writeln!(text, "    in = fopen(\"{INPUT}\", \"r\");");
    }
    for thread in 0..threads {
        let _ = writeln!(text, "    pthread_create(&t[{thread}], 0, f{thread}, 0);");
    }
    text.push_str("    go = 1;\n");
    if random.below(3) == 0 {
        text.push_str(&statement(&mut random));
    }
    for thread in 0..threads {
        let _ = writeln!(text, "    pthread_join(t[{thread}], 0);");
    }
    let number = random.below(5);
    let last = ["a", "x", "y + x", "flag", "*where"][random.below(5)];
    let _ = writeln!(text, "    assert({last} != {number});\n    return 0;\n}}");
    text
}

/// Compares the verdict with what happens; `None` if there are too many schedules.
pub(crate) fn check(case: &Case, folder: &Path, sums: &Sums) -> Option<Vec<String>> {
    let tried = Tried::compiled(case, folder, sums);
    let truth = tried.explore(&Recorded::default(), sums)?;
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["verify", "--budget", "20s", "--"])
        .arg(&tried.program)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let head = said.lines().take(2).collect::<Vec<_>>().join(" ");
    let Truth { failures, races, crashes, stuck, .. } = &truth;
    let happens = format!("{} failures, {} races", failures.len() + crashes.len(), races.len());
    let goes_wrong = !failures.is_empty() || !crashes.is_empty();
    let mut differences = Vec::new();
    match output.status.code() {
        Some(0) => {
            add(&sums.proved, 1);
            if goes_wrong || !races.is_empty() || !stuck.is_empty() {
                differences.push(format!("a wrong proof: {happens}: {head}"));
            }
        }
        Some(1) => {
            add(&sums.bugs, 1);
            // What no schedule of the exploration shows, the program itself has.
            let is_shown = said.contains("\nreplayed on the compiled program")
                && ["pthread_cond", "timed"].iter().any(|word| case.source.contains(word));
            let is_possible = match () {
                () if is_shown => true,
                () if head.starts_with("bug: race") => !races.is_empty(),
                () if head.starts_with("bug: lock error") => true,
                () if head.starts_with("bug: deadlock") => !stuck.is_empty(),
                () => goes_wrong,
            };
            if !is_possible {
                differences.push(format!("a false alarm: {happens}: {head}"));
            }
        }
        Some(3) if !said.contains("a bug of foretrace") => {
            add(&sums.one_way, 1);
            println!("{}: {head}", case.name);
        }
        status => differences.push(format!("status {status:?}: {head}")),
    }
    if matches!(output.status.code(), Some(0 | 1)) {
        let body = case.source.replace(PROLOGUE, "");
        for ((_, word), sum) in CONSTRUCTS.iter().zip(&sums.constructs) {
            add(sum, usize::from(body.contains(word)));
        }
    }
    if differences.is_empty() {
        tried.forget();
    }
    Some(differences)
}
