//! Statements of random programs that use the kernel: pipes, eventfds, pairs of sockets, files,
//! tables of descriptors, signals, clocks, and waiting for several of them with a time limit.
//!
//! **Invariant.** No thread waits for ever in the kernel. Whoever waits without a limit takes one
//! of the *credits*: bytes of the pipe `hand` and tokens of the eventfd `tokens`, which the threads
//! give before anything that may keep them from it. There are never fewer credits than waits.

use std::fmt::Write;

use crate::generator::Random;

/// Before everything else.
pub(crate) const HEADERS: &str = "\
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
";

/// What the threads share through the kernel, and the functions that use it.
pub(crate) const PROLOGUE: &str = "
static int hand[2], loose[2], stream[2], packets[2];
static int tokens, counter, file, journal, interest;
static int slots[64];
static struct timespec last;
static pthread_mutex_t timing = PTHREAD_MUTEX_INITIALIZER;
static sigset_t signals;
static pthread_t main_thread;

static int put(int to, char byte) { return write(to, &byte, 1) == 1; }

static int get(int from)
{
    char byte;
    return read(from, &byte, 1) == 1 ? byte : -1;
}

static long count(int from)
{
    long value;
    return read(from, &value, sizeof value) == sizeof value ? value : -1;
}

static int add(int to, long value) { return write(to, &value, sizeof value) == sizeof value; }

static int polled(int one, int other, int limit)
{
    struct pollfd list[2] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
    return poll(list, 2, limit) <= 0 ? -1 : (list[0].revents != 0) + 2 * (list[1].revents != 0);
}

static int selected(int one, int other, int limit)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(one, &set);
    FD_SET(other, &set);
    struct timeval time = {0, 1000 * limit};
    int found = select((one > other ? one : other) + 1, &set, NULL, NULL, &time);
    return found <= 0 ? -1 : FD_ISSET(one, &set) + 2 * FD_ISSET(other, &set);
}

static int watched(int limit)
{
    struct epoll_event event;
    return epoll_wait(interest, &event, 1, limit) == 1 ? event.data.fd : -1;
}

static int signalled(void)
{
    struct timespec none = {0, 0};
    return sigtimedwait(&signals, NULL, &none);
}

static int moved(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int forward = now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec > last.tv_nsec);
    last = now;
    return forward;
}

static int available(int from)
{
    int bytes = 0;
    ioctl(from, FIONREAD, &bytes);
    return bytes;
}
";

/// Makes all of it, before there are threads.
pub(crate) const SETUP: &str = "    pipe(hand);
    pipe2(loose, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_STREAM, 0, stream);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, packets);
    tokens = eventfd(0, EFD_SEMAPHORE);
    counter = eventfd(0, EFD_NONBLOCK);
    file = memfd_create(\"file\", 0);
    journal = memfd_create(\"journal\", 0);
    fcntl(journal, F_SETFL, O_APPEND);
    interest = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = WATCHED}};
    epoll_ctl(interest, EPOLL_CTL_ADD, WATCHED, &event);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    main_thread = pthread_self();
";

/// What is known of a program while its statements are made.
pub(crate) struct Kernel {
    /// Waits without a limit that nobody has taken yet, on the pipe and on the eventfd.
    credits: [u64; 2],
    /// Somebody closes an end of the pipe.
    closes: bool,
    /// What epoll watches, as C.
    pub(crate) watched: &'static str,
}

impl Kernel {
    pub(crate) fn new(random: &mut Random) -> Kernel {
        let watched = random.pick(&["loose[0]", "stream[0]", "packets[1]", "counter"]);
        Kernel { credits: [0; 2], closes: random.below(6) == 0, watched }
    }

    /// What a thread does first, so that nobody waits in vain.
    pub(crate) fn give(&mut self, random: &mut Random, text: &mut String) {
        for which in 0..2 {
            for _ in 0..random.below(3) {
                self.credits[which] += 1;
                let at = random.below(4);
                if random.below(2) == 0 {
                    writeln!(text, "    x[{at}] = {};", random.below(3)).unwrap();
                }
                let gives = ["put(hand[1], 1)", "add(tokens, 1)"][which];
                writeln!(text, "    {gives};").unwrap();
            }
        }
    }

    /// A statement in the midst of a thread.
    pub(crate) fn statement(&mut self, random: &mut Random, text: &mut String, indent: &str) {
        let (at, value) = (random.below(4), random.below(3));
        let limit = random.below(3);
        let end = random.below(2);
        let input = random.pick(&["loose[0]", "stream[0]", "packets[1]", "counter", "hand[0]"]);
        let one = random.pick(&["loose[0]", "stream[0]", "counter"]);
        let other = random.pick(&["stream[1]", "packets[0]", "packets[1]", "tokens"]);
        let size = random.below(5);
        let flags = random.pick(&["MSG_DONTWAIT", "MSG_DONTWAIT | MSG_PEEK"]);
        let sockets = random.pick(&["stream", "packets"]);
        let answer = match random.below(24) {
            0 => Answer::None(format!("put(loose[1], {value})")),
            1 => Answer::Number("get(loose[0])".to_string()),
            2 => Answer::None(format!("write(loose[1], &x[{at}], {size})")),
            3 => Answer::Number(format!("read(loose[0], &heap[{at}], {size})")),
            4 | 5 => {
                Answer::None(format!("send({sockets}[{end}], &x[{at}], {size}, MSG_DONTWAIT)"))
            }
            6 | 7 => {
                Answer::Number(format!("recv({sockets}[{end}], &bytes[{at}], {size}, {flags})"))
            }
            8 => Answer::None(format!("add(counter, {})", value + 1)),
            9 => Answer::Number("count(counter)".to_string()),
            10 if self.take(0) => Answer::Number("get(hand[0])".to_string()),
            11 if self.take(1) => Answer::Number("count(tokens)".to_string()),
            12 => Answer::Number(format!("polled({one}, {other}, {limit})")),
            13 => Answer::Number(format!("selected({one}, {other}, {limit})")),
            14 => Answer::Number(format!("watched({limit})")),
            15 | 16 => return self.descriptor(random, text, indent),
            17 => Answer::None(
                random
                    .pick(&[
                        "raise(SIGUSR1)",
                        "kill(getpid(), SIGUSR1)",
                        "pthread_kill(main_thread, SIGUSR1)",
                    ])
                    .to_string(),
            ),
            18 => Answer::Number("signalled()".to_string()),
            19 => {
                let lock = random.below(3) > 0;
                if lock {
                    writeln!(text, "{indent}pthread_mutex_lock(&timing);").unwrap();
                }
                writeln!(text, "{indent}if (moved()) sum++; else x[{at}] = 4;").unwrap();
                if lock {
                    writeln!(text, "{indent}pthread_mutex_unlock(&timing);").unwrap();
                }
                return;
            }
            20 => Answer::None(format!("printf(\"%d\\n\", x[{at}])")),
            21 => Answer::None(
                [
                    format!("pwrite(file, &x[{at}], 4, {})", 4 * value),
                    format!("write(journal, &x[{at}], {})", 1 + value),
                ][end]
                    .clone(),
            ),
            22 => Answer::Number(
                [
                    format!("pread(file, &heap[{at}], 4, {})", 4 * value),
                    format!("pread(journal, &bytes[{at}], 2, {value})"),
                    "lseek(journal, 0, SEEK_END)".to_string(),
                    "lseek(file, 1, SEEK_CUR)".to_string(),
                ][at]
                    .clone(),
            ),
            23 if self.closes => {
                self.closes = false;
                Answer::None("close(loose[1])".to_string())
            }
            _ => Answer::Number(format!("available({input})")),
        };
        // What it hands over, or may rely on.
        match answer {
            Answer::None(call) => writeln!(text, "{indent}x[{at}] = {value};\n{indent}{call};"),
            Answer::Number(call) => match random.below(4) {
                0 => writeln!(text, "{indent}sum += {call};"),
                1 => {
                    writeln!(text, "{indent}if ({call} > {value}) x[{at}]++; else sum += x[{at}];")
                }
                2 => writeln!(text, "{indent}if ({call} >= 0) sum += x[{}];", random.below(4)),
                _ => writeln!(text, "{indent}if ({call} < 0) x[{at}] = 6;"),
            },
        }
        .unwrap();
    }

    fn take(&mut self, which: usize) -> bool {
        let credits = &mut self.credits[which];
        let is_there = *credits > 0;
        *credits = credits.saturating_sub(1);
        is_there
    }

    /// A table by the numbers of descriptors: whoever has a number has its place, until he closes
    /// it. Now and then he forgets.
    fn descriptor(&mut self, random: &mut Random, text: &mut String, indent: &str) {
        let open = random.pick(&[
            "open(\"/dev/null\", O_RDWR)",
            "dup(loose[0])",
            "eventfd(0, EFD_NONBLOCK)",
            "memfd_create(\"own\", 0)",
            "fcntl(counter, F_DUPFD, 0)",
        ]);
        let inside = random.pick(&["sum += slots[own];", "get(own);", "put(own, 1);", "x[1]++;"]);
        let late = random.pick(&["", "", "", "slots[own]++;"]);
        let leaks = random.below(5) == 0;
        let close = if leaks { "" } else { "close(own);" };
        writeln!(
            text,
            "{indent}{{ int own = {open} & 63; slots[own]++; {inside} {close} {late} }}"
        )
        .unwrap();
    }
}

/// What a call gives back.
enum Answer {
    /// Nothing of interest.
    None(String),
    Number(String),
}
