//! Random programs whose threads also see each other through the kernel, against the truth:
//! whatever is predicted happens under some schedule.
//!
//! The other direction is not asked, since the order of calls is kept.

use std::fmt::Write;

use crate::generator::Random;

const PROLOGUE: &str = "\
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int hand[2], loose[2], packets[2];
static int tokens, counter;
static int x, y, slots[64];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static int put(int to, char byte) { return write(to, &byte, 1) == 1; }

static int get(int from)
{
    char byte;
    return read(from, &byte, 1) == 1 ? byte : -1;
}

static int gets2(int from)
{
    char bytes[2];
    return (int)read(from, bytes, 2);
}

static int add(int to, long value) { return write(to, &value, sizeof value) == sizeof value; }

static int count(int from)
{
    long value;
    return read(from, &value, sizeof value) == sizeof value ? (int)value : -1;
}
";

const MAIN: &str = "
int main(void)
{
    pthread_t t[3];
    x = y = 0;
    for (int i = 0; i < 64; i++)
        slots[i] = 0;
    pipe(hand);
    pipe2(loose, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, packets);
    tokens = eventfd(0, EFD_SEMAPHORE);
    counter = eventfd(0, EFD_NONBLOCK);
";

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = format!("/* seed {seed} */\n{PROLOGUE}");
    let threads = if random.one_in(6) { 3 } else { 2 };
    let focus = random.below(5);
    let mut bodies = Vec::new();
    for _ in 0..threads {
        let mut body = String::new();
        for _ in 0..if threads == 3 { 1 } else { 2 + random.below(2) } {
            statement(&mut random, &mut body, focus);
        }
        bodies.push(body);
    }
    text.push_str(&whole(&bodies));
    text
}

/// Programs with an order that only the kernel knows: two in which it matters what a call did not
/// find (a refusal, and less than was wanted), and one for each kind of channel.
pub(crate) fn planted() -> Vec<String> {
    let writes = "    put(loose[1], 1);\n    put(loose[1], 2);\n    x = 1;\n";
    let negative = |found: &str| {
        let reads = format!("    int seen = x;\n    if ({found})\n        assert(seen == 0);\n");
        [reads, writes.to_string()]
    };
    let handed_over = |gives: &str, takes: &str| {
        let writes = format!("    x = 1;\n    {gives};\n");
        [format!("    if ({takes} > 0)\n        x = 2;\n"), writes]
    };
    let slot = "    int own = dup(0);\n    slots[own & 63]++;\n    close(own);\n".to_string();
    let bodies = [
        negative("get(loose[0]) < 0"),
        negative("gets2(loose[0]) == 1"),
        handed_over("put(loose[1], 1)", "get(loose[0])"),
        handed_over("add(counter, 1)", "count(counter)"),
        handed_over("put(packets[0], 2)", "get(packets[1])"),
        [slot.clone(), slot],
    ];
    bodies.iter().map(|bodies| format!("{PROLOGUE}{}", whole(bodies))).collect()
}

/// Threads that do this, and a `main`.
fn whole(bodies: &[String]) -> String {
    let (threads, mut text) = (bodies.len(), String::new());
    for (thread, body) in bodies.iter().enumerate() {
        let head = format!("\nstatic void *t{thread}(void *unused)\n{{");
        writeln!(text, "{head}\n{body}    return unused;\n}}").unwrap();
    }
    text.push_str(MAIN);
    // So most runs end, though some threads wait.
    text.push_str("    put(hand[1], 1);\n    add(tokens, 1);\n");
    for thread in 0..threads {
        writeln!(text, "    pthread_create(&t[{thread}], NULL, t{thread}, NULL);").unwrap();
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_join(t[{thread}], NULL);").unwrap();
    }
    text.push_str("    return 0;\n}\n");
    text
}

/// What gives to a channel, and what takes from it.
const CHANNELS: [[&[&str]; 2]; 5] = [
    [&["put(hand[1], 1)"], &["get(hand[0])"]],
    [&["add(tokens, 1)"], &["count(tokens)"]],
    [&["put(loose[1], 1)", "put(loose[1], 2)"], &["get(loose[0])", "gets2(loose[0])"]],
    [&["add(counter, 1)", "add(counter, 2)"], &["count(counter)"]],
    [&["put(packets[0], 2)"], &["get(packets[1])", "gets2(packets[1])"]],
];

fn statement(random: &mut Random, text: &mut String, focus: usize) {
    let (place, other) = (random.pick(&["x", "y"]), random.pick(&["x", "y"]));
    let value = 1 + random.below(2);
    // The threads are to meet.
    let channel = if random.one_in(4) { random.below(5) } else { focus };
    let [gives, takes] = CHANNELS[channel];
    let (gives, again) = (random.pick(gives), random.pick(gives));
    let takes = random.pick(takes);
    match random.below(12) {
        0 | 1 => writeln!(text, "    {place} = {value};\n    {gives};"),
        2 => writeln!(text, "    {gives};\n    {place} = {value};"),
        3 => writeln!(text, "    {gives};\n    {again};\n    {place} = {value};"),
        4 => writeln!(text, "    {place} = {value};\n    if ({takes} < 0)\n        {other}++;"),
        5 => writeln!(
            text,
            "    {{\n        int seen = {place};\n        if ({takes} < 0)\n            assert(seen == 0);\n    }}"
        ),
        6 => writeln!(text, "    if ({takes} > 0)\n        assert({place} != {value});"),
        7 => writeln!(text, "    if ({takes} == {value})\n        {place} = 3;"),
        8 => writeln!(text, "    assert({takes} != {value} || {place} == 0);"),
        9 => writeln!(
            text,
            "    {{\n        int own = dup(0);\n        slots[own & 63]++;\n        close(own);\n    }}"
        ),
        10 => writeln!(
            text,
            "    pthread_mutex_lock(&m);\n    {place}++;\n    {gives};\n    pthread_mutex_unlock(&m);"
        ),
        _ => writeln!(text, "    {place} = {other} + {value};"),
    }
    .unwrap();
}
