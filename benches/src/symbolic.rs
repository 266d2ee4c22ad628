//! Traces with expressions: `banking-N[a]` and `indexer-N[a]`, after the programs of paper 000,
//! Table 1.
//!
//! *Banking*: N threads serve customers. A service changes the balance of an account under the
//! account's lock, and then the bank's total under its own. At the end the balances must add up to
//! the total. In the variant `a`, threads give the lock of the total back between reading and
//! writing it.
//!
//! *Indexer*: N threads insert four messages each into a hash table of 128 entries, with
//! compare-and-swap and linear probing; entries collide only with 12 threads or more. Before one
//! insertion a thread looks whether an entry is empty, and asserts that. In the variant `a` it is
//! an entry that another thread fills.
//!
//! The recorded run is one thread after the other, and nothing goes wrong in it.

use std::fmt::Write;

use foretrace_trace::{Trace, text};

const ACCOUNTS: usize = 123;
const SERVICES: usize = 21;
const ENTRIES: usize = 128;
const MESSAGES: usize = 4;
/// Thread-local steps of one hash.
const HASH_STEPS: usize = 68;

/// The trace of that name; `None` if it is none of these.
pub(crate) fn generate(kind: &str) -> Option<Trace> {
    let (program, variant) = kind.split_once('-')?;
    let is_buggy = variant.ends_with('a');
    let threads: usize = variant.trim_end_matches('a').parse().ok()?;
    let lines = match program {
        "banking" => banking(threads, is_buggy),
        "indexer" => indexer(threads, is_buggy),
        _ => return None,
    };
    Some(text::parse(&lines).unwrap_or_else(|error| panic!("{kind}: {error}")))
}

fn banking(threads: usize, is_buggy: bool) -> String {
    let mut lines = String::new();
    let mut line = |text: String| writeln!(lines, "{text}").expect("a string takes all text");
    let mut balances = [100u64; ACCOUNTS];
    let mut total = 0;
    for account in 0..ACCOUNTS {
        line(format!("main: write account{account}[0:4] = 100 @ bank.c:10"));
        total += 100;
    }
    line(format!("main: write total[0:4] = {total} @ bank.c:12"));
    for thread in 0..threads {
        line(format!("main: fork t{thread}"));
    }
    for thread in 0..threads {
        line(format!("t{thread}: begin"));
        for service in 0..SERVICES {
            let account = (thread * 37 + service * 11) % ACCOUNTS;
            let amount = 1 + (thread * 7 + service * 3) % 20;
            let balance = balances[account];
            balances[account] += amount as u64;
            line(format!("t{thread}: let amount = {amount}"));
            line(format!("t{thread}: acquire m{account} @ bank.c:20"));
            line(format!("t{thread}: b = read account{account}[0:4] : {balance} @ bank.c:21"));
            line(format!("t{thread}: let new = b + amount"));
            line(format!("t{thread}: write account{account}[0:4] = new @ bank.c:22"));
            line(format!("t{thread}: release m{account} @ bank.c:23"));
            line(format!("t{thread}: acquire bank @ bank.c:25"));
            line(format!("t{thread}: s = read total[0:4] : {total} @ bank.c:26"));
            line(format!("t{thread}: let sum = s + amount"));
            if is_buggy {
                line(format!("t{thread}: release bank @ bank.c:27"));
                line(format!("t{thread}: acquire bank @ bank.c:28"));
            }
            line(format!("t{thread}: write total[0:4] = sum @ bank.c:29"));
            line(format!("t{thread}: release bank @ bank.c:30"));
            total += amount as u64;
        }
        line(format!("t{thread}: end"));
    }
    for thread in 0..threads {
        line(format!("main: join t{thread}"));
    }
    line("main: let all = 0".to_string());
    for (account, balance) in balances.iter().enumerate() {
        line(format!("main: b = read account{account}[0:4] : {balance} @ bank.c:40"));
        line("main: let all = all + b".to_string());
    }
    line(format!("main: s = read total[0:4] : {total} @ bank.c:41"));
    line("main: assert all == s @ bank.c:42".to_string());
    lines
}

/// What one thread does at one entry of the table.
struct Probe {
    entry: usize,
    /// The message that it inserts there; `None`: it finds another one.
    inserts: Option<usize>,
}

fn indexer(threads: usize, is_buggy: bool) -> String {
    let mut table = [0usize; ENTRIES];
    let message = |thread: usize, number: usize| (number + 1) * 11 + thread;
    let hash = |message: usize| message * 7 % ENTRIES;
    // Where everybody ends up if one runs after the other.
    let mut probes: Vec<Vec<Vec<Probe>>> = Vec::new();
    for thread in 0..threads {
        let mut insertions = Vec::new();
        for number in 0..MESSAGES {
            let mut entry = hash(message(thread, number));
            let mut way = Vec::new();
            while table[entry] != 0 {
                way.push(Probe { entry, inserts: None });
                entry = (entry + 1) % ENTRIES;
            }
            table[entry] = message(thread, number);
            way.push(Probe { entry, inserts: Some(message(thread, number)) });
            insertions.push(way);
        }
        probes.push(insertions);
    }
    // The last thread looks at an entry before everybody else starts: one that the first thread
    // fills, or that nobody does.
    let looked_at = match is_buggy {
        true => probes[0][MESSAGES - 1].last().expect("it inserts").entry,
        false => (0..ENTRIES).find(|&entry| table[entry] == 0).expect("the table is not full"),
    };
    let mut lines = String::new();
    let mut line = |text: String| writeln!(lines, "{text}").expect("a string takes all text");
    for entry in 0..ENTRIES {
        line(format!("init table[{}:4] = 0", 4 * entry));
    }
    for thread in 0..threads {
        line(format!("main: fork t{thread}"));
    }
    let last = threads - 1;
    line(format!("t{last}: p = read table[{}:4] : 0 atomic @ indexer.c:30", 4 * looked_at));
    line(format!("t{last}: assert p == 0 @ indexer.c:31"));
    let mut now = [0usize; ENTRIES];
    for (thread, insertions) in probes.iter().enumerate() {
        line(format!("t{thread}: let tid = {thread}"));
        line(format!("t{thread}: let m = 0"));
        for way in insertions {
            line(format!("t{thread}: let m = m + 1"));
            line(format!("t{thread}: let w = m * 11 + tid"));
            line(format!("t{thread}: let h = 0"));
            for step in 0..HASH_STEPS {
                line(format!("t{thread}: let h = h + ((w * 7) >> {}) * {}", step % 30, step % 3));
            }
            for probe in way {
                let at = 4 * probe.entry;
                match probe.inserts {
                    Some(message) => {
                        line(format!(
                            "t{thread}: c = rmw table[{at}:4] : 0 -> w : {message} assuming c == 0 @ indexer.c:20"
                        ));
                        now[probe.entry] = message;
                    }
                    None => {
                        let other = now[probe.entry];
                        line(format!(
                            "t{thread}: c = read table[{at}:4] : {other} atomic @ indexer.c:21"
                        ));
                        line(format!("t{thread}: branch c != 0 @ indexer.c:22"));
                    }
                }
            }
        }
        line(format!("t{thread}: end"));
    }
    lines
}
