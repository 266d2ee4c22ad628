//! Random programs whose threads wait for each other in the kernel, against the truth: whoever is
//! predicted to wait for ever does so under some schedule.
//!
//! The other direction is not asked, since the order of calls is kept; how many deadlocks there are
//! and how many of them are found is counted.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use foretrace_predict::{Granularity, Options, predict};
use foretrace_rewalk::Walker;
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::{Certainty, Model, Property, Violation};

use crate::compare::{FALSE_ALARM, Recording, thread_number};
use crate::explorer::{Operation, Recorded, Truth};
use crate::generator::Random;

const PROLOGUE: &str = "\
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int a[2], b[2], s[2];
static int counter, tokens;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;

static void put(int to, int size) { char bytes[2] = {1, 2}; (void)!write(to, bytes, size); }
static void get(int from, int size) { char bytes[2]; (void)!read(from, bytes, size); }
static void add(int to, long value) { (void)!write(to, &value, sizeof value); }
static void count(int from) { long value; (void)!read(from, &value, sizeof value); }
static void try(int from) { char byte; (void)!recv(from, &byte, 1, MSG_DONTWAIT); }
static void either(int one, int other)
{
    struct pollfd both[2] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
    (void)!poll(both, one == other ? 1 : 2, -1);
}
static void see(int one) { either(one, one); }
";

const MAIN: &str = "
int main(void)
{
    pthread_t t[3];
    pipe(a);
    pipe(b);
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    counter = eventfd(0, 0);
    tokens = eventfd(0, EFD_SEMAPHORE);
";

/// What gives to a source, and what takes from it or waits until it could.
const SOURCES: [[&[&str]; 2]; 6] = [
    [
        &["put(a[1], 1)", "put(a[1], 2)"],
        &[
            "get(a[0], 1)",
            "get(a[0], 1)",
            "get(a[0], 2)",
            "see(a[0])",
            "see(a[0]), get(a[0], 1)",
            "either(a[0], b[0])",
            "either(counter, a[0])",
        ],
    ],
    [&["put(b[1], 1)"], &["get(b[0], 1)", "get(b[0], 1)", "see(b[0])", "either(b[0], a[0])"]],
    [
        &["put(s[0], 1)", "put(s[0], 2)"],
        &["get(s[1], 1)", "get(s[1], 2)", "see(s[1]), try(s[1])", "either(s[0], s[1])"],
    ],
    [&["put(s[1], 1)"], &["get(s[0], 1)", "get(s[0], 1)", "see(s[0])"]],
    [
        &["add(counter, 1)", "add(counter, 2)"],
        &["count(counter)", "count(counter)", "see(counter), count(counter)"],
    ],
    [
        &["add(tokens, 1)", "add(tokens, 2)"],
        &["count(tokens)", "count(tokens)", "see(tokens)", "either(tokens, s[0])"],
    ],
];

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let threads = if random.one_in(3) { 3 } else { 2 };
    let source = random.below(6);
    let other = if random.one_in(3) { random.below(6) } else { source };
    // How much more is given to each than taken.
    let mut balance = [0; 6];
    let mut bodies = vec![String::new(); threads];
    for body in &mut bodies {
        for _ in 0..1 + random.below(2) {
            statement(&mut random, body, [source, other], &mut balance);
        }
    }
    if random.one_in(3) {
        balance[source] += 1;
    }
    // So most runs end.
    let mut text = format!("/* seed {seed} */\n{PROLOGUE}");
    let mut last = random.below(threads);
    for (source, balance) in balance.iter().enumerate() {
        for _ in *balance..0 {
            let (gives, lock) = (SOURCES[source][0][0], random.pick(&["m", "m", "n"]));
            let before =
                format!("    pthread_mutex_lock(&{lock});\n    pthread_mutex_unlock(&{lock});\n");
            let before = if random.below(3) > 0 { before } else { String::new() };
            bodies[last].insert_str(0, &format!("{before}    {gives};\n"));
            last = (last + 1) % threads;
        }
    }
    for (thread, body) in bodies.iter().enumerate() {
        let head = format!("\nstatic void *t{thread}(void *unused)\n{{");
        writeln!(text, "{head}\n{body}    return unused;\n}}").unwrap();
    }
    text.push_str(MAIN);
    for thread in 0..threads {
        writeln!(text, "    pthread_create(&t[{thread}], NULL, t{thread}, NULL);").unwrap();
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_join(t[{thread}], NULL);").unwrap();
    }
    text.push_str("    return 0;\n}\n");
    text
}

fn statement(random: &mut Random, text: &mut String, sources: [usize; 2], balance: &mut [i32; 6]) {
    let lock = random.pick(&["m", "m", "n"]);
    let (to, from) = (sources[random.below(2)], sources[random.below(2)]);
    let gives = random.pick(SOURCES[to][0]);
    let takes = random.pick(SOURCES[from][1]);
    let what = random.below(9);
    balance[to] += i32::from(matches!(what, 0 | 5 | 6 | 7));
    balance[from] -= i32::from((1..=5).contains(&what));
    match what {
        0 => writeln!(text, "    {gives};"),
        1 => writeln!(text, "    {takes};"),
        2..=4 => writeln!(
            text,
            "    pthread_mutex_lock(&{lock});\n    {takes};\n    pthread_mutex_unlock(&{lock});"
        ),
        5 => writeln!(
            text,
            "    pthread_mutex_lock(&{lock});\n    {takes};\n    {gives};\n    pthread_mutex_unlock(&{lock});"
        ),
        6 => writeln!(
            text,
            "    pthread_mutex_lock(&{lock});\n    {gives};\n    pthread_mutex_unlock(&{lock});"
        ),
        7 => writeln!(
            text,
            "    pthread_mutex_lock(&{lock});\n    pthread_mutex_unlock(&{lock});\n    {gives};"
        ),
        _ => writeln!(text, "    {}", random.pick(&["close(a[1]);", "", ""])),
    }
    .unwrap();
}

/// What is predicted of one recording.
pub(crate) struct Waiting {
    trace: Trace,
    pub(crate) recorded: Recorded,
    /// Who waits for ever, with the operation behind the call, and whether that is real.
    stuck: Vec<(EventId, Operation, bool)>,
}

/// Reads a recording and predicts deadlocks.
pub(crate) fn prepare(path: &Path) -> Waiting {
    let mut walker = Walker::default();
    let trace = foretrace_importer::read(path, Some(&mut walker)).unwrap();
    validate(&trace).unwrap();
    let recorded = Recording::new(path, &trace, &walker).recorded;
    let options = Options {
        model: Some(Model::Symbolic),
        properties: vec![Property::Deadlock],
        granularity: Granularity::Event,
        ..Options::default()
    };
    let prediction = predict(&trace, &options, &()).unwrap();
    let mut stuck = Vec::new();
    for finding in &prediction.findings {
        let Violation::Stuck(point) = finding.violation else { continue };
        if trace.op(point) == Op::LeaveCall {
            let enter = trace.enter_of(point).expect("the trace is valid");
            let ordinal = trace.ordinal(enter).expect("calls are visible operations");
            let behind = (thread_number(&trace, enter), ordinal + 1);
            stuck.push((point, behind, finding.certainty == Certainty::Real));
        }
    }
    Waiting { trace, recorded, stuck }
}

impl Waiting {
    /// Who is predicted to wait for ever, and never does.
    pub(crate) fn differences(&self, truth: &Truth) -> Vec<String> {
        let wrong = self.stuck.iter().filter(|(_, at, real)| *real && !truth.stuck.contains(at));
        wrong
            .map(|(point, at, _)| {
                let place = self.trace.location_of(*point);
                let place = place.map_or("?", |at| self.trace.name(at));
                format!("{FALSE_ALARM}: {at:?} waits for ever at {place}")
            })
            .collect()
    }

    /// How many threads wait for ever in calls that others feed, and how many of these are found.
    pub(crate) fn counts(&self, truth: &Truth) -> (usize, usize) {
        let found: BTreeSet<Operation> = self.stuck.iter().map(|(_, at, _)| *at).collect();
        let calls: BTreeSet<Operation> = self
            .trace
            .events()
            .filter(|&(id, _)| self.trace.awaited_by(id).is_some())
            .filter_map(|(id, _)| {
                Some((thread_number(&self.trace, id), self.trace.ordinal(id)? + 1))
            })
            .collect();
        let there: BTreeSet<&Operation> = truth.stuck.intersection(&calls).collect();
        (there.len(), there.iter().filter(|at| found.contains(at)).count())
    }
}
