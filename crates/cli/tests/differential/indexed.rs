//! Random programs whose addresses depend on what was read, with addresses that range over their
//! objects, against the truth.
//!
//! Indices stay inside of their arrays, so that the model has every execution on the recorded
//! paths, whatever the addresses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use foretrace_predict::{Granularity, Options, Prediction, predict, predict_program};
use foretrace_program::merge_recorded;
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{Model, Property, Violation};

use crate::compare::{Recording, keeps_something};
use crate::explorer::{Recorded, Truth};
use crate::generator::Random;

/// What is predicted of one recording.
pub(crate) struct Ranging {
    pub(crate) recorded: Recorded,
    /// How many accesses range over their objects.
    pub(crate) accesses: usize,
    /// How much is found that recorded addresses do not show.
    pub(crate) beyond: usize,
    /// All that is found: failing assertions, and pairs of operations that race.
    found: Truth,
    /// Nothing is kept as recorded or left out.
    pub(crate) is_exact: bool,
}

/// Reads a recording and predicts, with addresses that range over their objects.
pub(crate) fn prepare(path: &Path) -> Ranging {
    let mut read = foretrace_importer::read_together(&[path], true).unwrap();
    let (trace, walker) = read.pop().expect("there is one recording");
    validate(&trace).unwrap();
    let merged = merge_recorded(&[&trace]).unwrap();
    let options = Options {
        model: Some(Model::Symbolic),
        properties: vec![Property::Race, Property::Assertion],
        granularity: Granularity::Event,
        ..Options::default()
    };
    let answer = predict_program(&merged.program, &options, &()).unwrap();
    assert!(answer.prediction.undecided.is_empty(), "nothing keeps the solver from deciding all");
    let recording = Recording::new(path, &trace, &walker);
    let event = |of: EventId| {
        let origins = merged.origins(answer.summary.origins[of.index()].site);
        origins.first().expect("what is found was recorded").1
    };
    let found = violations(&answer.prediction, &trace, &recording, event);
    let pinned = predict(&trace, &options, &()).unwrap();
    let pinned = violations(&pinned, &trace, &recording, |event| event);
    let beyond = found.failures.difference(&pinned.failures).count()
        + found.races.difference(&pinned.races).count();
    let is_kept = keeps_something(&trace);
    let is_whole = merged.left_out.is_empty() && merged.kept_addresses.is_empty();
    let is_exact = is_whole && !is_kept && !recording.has_switch;
    let accesses = merged.ranging_accesses as usize;
    Ranging { recorded: recording.recorded, accesses, beyond, found, is_exact }
}

/// What is found, in terms of the operations of the program.
fn violations(
    prediction: &Prediction,
    trace: &Trace,
    recording: &Recording,
    event: impl Fn(EventId) -> EventId,
) -> Truth {
    let mut found = Truth::default();
    for finding in &prediction.findings {
        match finding.violation {
            Violation::Assertion(id) => {
                found.failures.insert(recording.assertions[&event(id)]);
            }
            Violation::Race(one, other) => {
                let [a, b] = [one, other].map(|id| recording.operation(trace, event(id)));
                found.races.insert((a.min(b), a.max(b)));
            }
            _ => unreachable!("nobody asked for more"),
        }
    }
    found
}

impl Ranging {
    /// Where model and truth differ, in words.
    pub(crate) fn differences(&self, truth: &Truth) -> Vec<String> {
        fn minus<T: Ord + std::fmt::Debug>(
            what: &str,
            a: &BTreeSet<T>,
            b: &BTreeSet<T>,
        ) -> Vec<String> {
            a.difference(b).map(|one| format!("{what}: {one:?}")).collect()
        }
        let mut differences = minus("FALSE ALARM", &self.found.failures, &truth.failures);
        differences.extend(minus("FALSE ALARM: race", &self.found.races, &truth.races));
        if self.is_exact {
            differences.extend(minus("missed", &truth.failures, &self.found.failures));
            differences.extend(minus("missed: race", &truth.races, &self.found.races));
        }
        differences
    }
}

const PROLOGUE: &str = "\
#include \"foretrace.h\"
#include <pthread.h>
#include <stdlib.h>

int n, v[4];
unsigned char c[8];
struct row { char tag; int value; short more; } rows[4];
int *heap, *cursor;
struct { int head; int ring[3]; int tail; } queue;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

";

const MAIN: &str = "\
int main(void) {
    n = 1;
    for (int i = 0; i < 4; i++) { v[i] = i; rows[i].value = 3 - i; rows[i].tag = i; rows[i].more = 1; }
    for (int i = 0; i < 8; i++) c[i] = i & 3;
    int *block = malloc(4 * sizeof *block);
    for (int i = 0; i < 4; i++) block[i] = i ^ 1;
    heap = block;
    cursor = v;
    queue.head = queue.tail = 0;
    for (int i = 0; i < 3; i++) queue.ring[i] = i;
    pthread_t t[3];
";

/// A statement about what an index says; `INDEX` is the index, `NUMBER` a number.
const STATEMENTS: [&str; 28] = [
    "i = n & 3;",
    "i = v[INDEX] & 3;",
    "i = c[INDEX] & 3;",
    "i = heap[INDEX] & 3;",
    "i = rows[INDEX].value & 3;",
    "n = INDEX + 1;",
    "n = n + 1;",
    "v[INDEX] = NUMBER;",
    "v[INDEX] = v[INDEX] + 1;",
    "v[v[INDEX] & 3] = NUMBER;",
    "heap[INDEX] = NUMBER;",
    "heap[INDEX] += 1;",
    "rows[INDEX].value = NUMBER;",
    "rows[INDEX].more = i;",
    "c[INDEX] = NUMBER;",
    "((unsigned short *)c)[INDEX] = NUMBER;",
    "*cursor = NUMBER;",
    "cursor = v + INDEX;",
    "i = *cursor & 3;",
    "__atomic_fetch_add(&v[INDEX], 1, __ATOMIC_SEQ_CST);",
    "queue.ring[queue.tail % 3] = NUMBER;",
    "queue.tail = (queue.tail + 1) % 3;",
    "i = queue.ring[queue.head % 3] & 3;",
    "FORETRACE_ASSERT(v[INDEX] != NUMBER);",
    "FORETRACE_ASSERT(heap[INDEX] != NUMBER);",
    "FORETRACE_ASSERT(i != NUMBER);",
    "FORETRACE_ASSERT(v[INDEX] == heap[NUMBER]);",
    "FORETRACE_ASSERT(rows[INDEX].value + c[INDEX] != NUMBER);",
];

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = PROLOGUE.to_string();
    let threads = 2 + random.below(4) / 3;
    for thread in 0..threads {
        write!(text, "void *t{thread}(void *unused) {{\n    int i = n & 3;\n").unwrap();
        let mut is_locked = false;
        for _ in 0..(if threads == 2 { 4 + random.below(2) } else { 2 }) {
            match random.below(10) {
                0 if !is_locked => {
                    text.push_str("    pthread_mutex_lock(&m);\n");
                    is_locked = true;
                }
                1 => text.push_str("    if (i > 1)\n    "),
                _ => {}
            }
            let statement = STATEMENTS[random.below(STATEMENTS.len())];
            let number = random.below(4).to_string();
            let index = ["i", "i", "(n & 3)", "(3 - i)"][random.below(4)];
            writeln!(text, "    {}", statement.replace("INDEX", index).replace("NUMBER", &number))
                .unwrap();
            if is_locked && random.below(2) == 0 {
                text.push_str("    pthread_mutex_unlock(&m);\n");
                is_locked = false;
            }
        }
        if is_locked {
            text.push_str("    pthread_mutex_unlock(&m);\n");
        }
        text.push_str("    return unused;\n}\n\n");
    }
    text.push_str(MAIN);
    for thread in 0..threads {
        writeln!(text, "    pthread_create(&t[{thread}], 0, t{thread}, 0);").unwrap();
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_join(t[{thread}], 0);").unwrap();
    }
    for (place, value) in
        [("v[0]", 0), ("v[2]", 2), ("rows[1].value", 2), ("c[3]", 3), ("heap[2]", 3)]
    {
        if random.below(2) == 0 {
            continue;
        }
        let operator = ["<=", "==", ">="][random.below(3)];
        writeln!(text, "    FORETRACE_ASSERT({place} {operator} {value});").unwrap();
    }
    text.push_str("    return 0;\n}\n");
    text
}
