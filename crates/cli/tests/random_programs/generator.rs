//! Random C programs of two or three threads, with locks, atomics, semaphores and a condition
//! variable.

pub(crate) use foretrace_testing::Random;
use std::fmt::Write;

use crate::kernel::{self, Kernel};

const PROLOGUE: &str = "\
#include \"foretrace.h\"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int x[4];
static char bytes[16];
static atomic_int a[2];
static struct { short s; char c[6]; long l; } mixed, other;
static int *heap;
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int ready;
";

/// Statements of one thread. Locks are taken in random order, but given back in the opposite one.
fn body(
    random: &mut Random,
    text: &mut String,
    depth: u32,
    held: &mut Vec<usize>,
    budget: &mut u32,
    kernel: &mut Option<Kernel>,
) {
    let count = 1 + random.below(4);
    for _ in 0..count {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        let at = random.below(4);
        let indent = "    ".repeat(depth as usize + 1);
        if let Some(kernel) = kernel
            && random.below(2) == 0
        {
            kernel.statement(random, text, &indent);
            continue;
        }
        match random.below(22) {
            0 | 1 => writeln!(text, "{indent}x[{at}] = {};", random.below(3)),
            2 | 3 => writeln!(text, "{indent}x[{at}]++;"),
            4 => writeln!(text, "{indent}x[{at}] = x[{}] + 1;", random.below(4)),
            5 => writeln!(text, "{indent}sum += x[{at}];"),
            6 => writeln!(text, "{indent}atomic_fetch_add(&a[{}], 1);", at % 2),
            7 => writeln!(text, "{indent}a[{}] = {};", at % 2, random.below(3)),
            8 => writeln!(text, "{indent}memcpy(bytes + {at}, x, {});", 1 + random.below(12)),
            9 => writeln!(text, "{indent}mixed.{} = {};", ["s", "c[1]", "c[4]", "l"][at], random.below(3)),
            10 => writeln!(text, "{indent}{};", ["other = mixed", "mixed = other", "sum += mixed.s", "sum += (int)other.l"][at]),
            11 => writeln!(text, "{indent}sum += heap[{at}]; heap[{at}] = sum;"),
            12 => writeln!(text, "{indent}int expected{budget} = {}; atomic_compare_exchange_strong(&a[0], &expected{budget}, 7);", random.below(2)),
            13 => writeln!(text, "{indent}sem_post(&sem);"),
            14 => writeln!(text, "{indent}if (sem_trywait(&sem) == 0) x[{at}] = 5;"),
            15 if !held.is_empty() => {
                let lock = held[random.below(held.len())];
                writeln!(text, "{indent}if (x[{at}] > {}) pthread_cond_broadcast(&changed);\n{indent}sum += {lock};", random.below(2))
            }
            16..=18 if depth < 3 => {
                let lock = random.below(3);
                if held.contains(&lock) {
                    continue;
                }
                writeln!(text, "{indent}pthread_mutex_lock(&m[{lock}]);").unwrap();
                held.push(lock);
                body(random, text, depth + 1, held, budget, kernel);
                held.pop();
                writeln!(text, "{indent}pthread_mutex_unlock(&m[{lock}]);")
            }
            19 if depth < 3 => {
                writeln!(text, "{indent}if (x[{at}] == {}) {{", random.below(2)).unwrap();
                body(random, text, depth + 1, held, budget, kernel);
                writeln!(text, "{indent}}}")
            }
            20 if depth == 0 => {
                let mode = ["rdlock", "wrlock"][random.below(2)];
                writeln!(text, "{indent}pthread_rwlock_{mode}(&rw);").unwrap();
                body(random, text, depth + 1, &mut vec![0, 1, 2], budget, kernel);
                writeln!(text, "{indent}pthread_rwlock_unlock(&rw);")
            }
            21 if depth == 0 => {
                writeln!(text, "{indent}FORETRACE_ATOMIC_BEGIN();").unwrap();
                body(random, text, depth + 1, held, budget, kernel);
                writeln!(text, "{indent}FORETRACE_ATOMIC_END();")
            }
            _ => writeln!(text, "{indent}sum ^= x[{at}];"),
        }
        .unwrap();
    }
}

/// Through which the threads of a program may see each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Through {
    Memory,
    Kernel,
}

/// The program of a seed.
pub(crate) fn program(seed: u64, through: Through) -> String {
    let mut random = Random::new(seed);
    let mut kernel = (through == Through::Kernel).then(|| Kernel::new(&mut random));
    let mut text = String::new();
    if kernel.is_some() {
        text.push_str(kernel::HEADERS);
    }
    text.push_str(PROLOGUE);
    if kernel.is_some() {
        text.push_str(kernel::PROLOGUE);
    }
    let threads = 2 + random.below(2);
    let waits = random.below(3) == 0;
    let signals = kernel.is_some() && random.below(4) == 0;
    for thread in 0..threads {
        writeln!(text, "\nstatic void *t{thread}(void *unused)\n{{\n    int sum = 0;").unwrap();
        if let Some(kernel) = &mut kernel {
            kernel.give(&mut random, &mut text);
        }
        if signals && thread == 0 {
            text.push_str("    x[0] = 2;\n    pthread_kill(main_thread, SIGRTMIN);\n");
        }
        if waits && thread == 0 {
            text.push_str(
                "    pthread_mutex_lock(&m[0]);\n    while (!ready)\n        pthread_cond_wait(&changed, &m[0]);\n    \
                 pthread_mutex_unlock(&m[0]);\n",
            );
        }
        if waits && thread == 1 {
            text.push_str(
                "    pthread_mutex_lock(&m[0]);\n    ready = 1;\n    pthread_cond_signal(&changed);\n    pthread_mutex_unlock(&m[0]);\n",
            );
        }
        let mut budget = 12;
        while budget > 4 {
            body(&mut random, &mut text, 0, &mut Vec::new(), &mut budget, &mut kernel);
        }
        text.push_str("    bytes[15] ^= (char)(sum * 0);\n    return unused;\n}\n");
    }
    text.push_str("\nint main(void)\n{\n    pthread_t t[4];\n    heap = calloc(4, sizeof *heap);\n    sem_init(&sem, 0, 0);\n");
    if let Some(kernel) = &kernel {
        text.push_str(&kernel::SETUP.replace("WATCHED", kernel.watched));
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_create(&t[{thread}], NULL, t{thread}, NULL);").unwrap();
    }
    if signals {
        text.push_str("    int arrived;\n    sigset_t one;\n    sigemptyset(&one);\n    sigaddset(&one, SIGRTMIN);\n    sigwait(&one, &arrived);\n    x[0]++;\n");
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_join(t[{thread}], NULL);").unwrap();
    }
    text.push_str("    free(heap);\n    return 0;\n}\n");
    text
}
