//! Random programs whose threads also see each other through the kernel, against the truth: whatever is predicted happens under some schedule.
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
    let mut random = Random(seed);
    let mut text = format!("/* seed {seed} */\n{PROLOGUE}");
    let threads = if random.one_in(4) { 3 } else { 2 };
    for thread in 0..threads {
        writeln!(text, "\nstatic void *t{thread}(void *unused)\n{{").unwrap();
        for _ in 0..if threads == 3 { 2 } else { 3 + random.below(2) } {
            statement(&mut random, &mut text);
        }
        text.push_str("    return unused;\n}\n");
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

fn statement(random: &mut Random, text: &mut String) {
    let (place, other) = (random.pick(&["x", "y"]), random.pick(&["x", "y"]));
    let value = 1 + random.below(2);
    // What gives, and what takes: the ones without waiting come in twice.
    let gives = random.pick(&[
        "put(hand[1], 1)",
        "add(tokens, 1)",
        "put(loose[1], 1)",
        "put(loose[1], 2)",
        "add(counter, 1)",
        "add(counter, 2)",
        "put(packets[0], 2)",
    ]);
    let takes = random.pick(&[
        "get(hand[0])",
        "count(tokens)",
        "get(loose[0])",
        "gets2(loose[0])",
        "count(counter)",
        "get(packets[1])",
        "gets2(packets[1])",
    ]);
    match random.below(12) {
        0..=2 => writeln!(text, "    {place} = {value};\n    {gives};"),
        3 => writeln!(text, "    {gives};"),
        4 => writeln!(text, "    if ({takes} == {value})\n        {place} = 3;"),
        5 => writeln!(text, "    if ({takes} < 0)\n        {place} = 4;"),
        6 => writeln!(text, "    if ({takes} > 0)\n        assert({place} != {value});"),
        7 => writeln!(text, "    if ({takes} < 0)\n        assert({place} == 0);"),
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
