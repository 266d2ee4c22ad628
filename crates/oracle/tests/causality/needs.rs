//! What events need, whoever wrote what their threads have seen, against the enumeration.

use std::fmt::Write;

use foretrace_causality::{Givers, Needs, Rules};
use foretrace_model::{Origins, Skeleton};
use foretrace_oracle::{case_seed, generate, missing};
use foretrace_testing::Random;
use foretrace_trace::{ThreadId, Trace, text};
use foretrace_verdict::Model;

use crate::cases;

const CASES: u64 = 1_500;
const SEED: u64 = 600;

/// How many needs there are without and with what follows from what was seen.
#[derive(Default, Debug)]
struct Counts {
    before: u64,
    after: u64,
}

/// No schedule executes an event without what it needs.
fn judge(trace: &Trace, seed: u64, counts: &mut [Counts; 2]) {
    for (model, counts) in [Model::Values, Model::Symbolic].into_iter().zip(counts) {
        let Some(missing) = missing(trace, model) else { continue };
        let skeleton = Skeleton::new(trace, model);
        let givers = Givers::new(&skeleton);
        let table = || Needs::new(&skeleton, &givers, Rules::ANY).expect("a small trace");
        let sharper = table().sharpened(&skeleton, &Origins::new(&skeleton));
        for (event, _) in trace.events() {
            let (own, position) = (trace.thread_of(event), trace.position(event) as u32);
            let row = sharper.of(own, position);
            for (thread, &count) in row.iter().enumerate() {
                let needed = &trace.thread_events(ThreadId::from(thread))[..count as usize];
                for &needed in needed {
                    assert!(
                        !missing.contains(&(needed, event)),
                        "seed {seed}, {}: {needed:?} can be missing at {event:?}\n{}",
                        model.name(),
                        text::print(trace)
                    );
                }
            }
            counts.before += table().of(own, position).iter().map(|&n| u64::from(n)).sum::<u64>();
            counts.after += row.iter().map(|&n| u64::from(n)).sum::<u64>();
        }
    }
}

#[test]
fn what_an_event_needs_is_never_missing() {
    let mut counts = Default::default();
    for case in 0..cases(CASES) {
        let seed = case_seed(SEED, case);
        judge(&generate(seed), seed, &mut counts);
        judge(&handed(seed), seed, &mut counts);
    }
    println!("needs under values and symbolic: {counts:?}");
    for Counts { before, after } in counts {
        assert!(after > before + before / 10, "{before} {after}");
    }
}

/// Threads that store numbers, copies of what they have read and a little more, and look at what
/// they read.
fn handed(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut out = String::from("init x = 0\ninit y = 0\n");
    let threads = 2 + random.below(2);
    let mut cells = [0u64; 2];
    let mut seen: Vec<Vec<(usize, u64)>> = vec![Vec::new(); threads];
    let mut names = 0;
    for _ in 0..9 + random.below(5) {
        let (thread, cell) = (random.below(threads), random.below(2));
        let at = ["x", "y"][cell];
        let known = seen[thread].last().copied();
        match (random.below(10), known) {
            (0..=1, _) => {
                cells[cell] = random.below_u64(4);
                writeln!(out, "t{thread}: write {at} = {}", cells[cell]).unwrap();
            }
            (2, Some((name, value))) => {
                cells[cell] = value;
                writeln!(out, "t{thread}: write {at} = r{name} : {value}").unwrap();
            }
            (3, Some((name, value))) => {
                cells[cell] = value + 1;
                writeln!(out, "t{thread}: write {at} = r{name} + 1 : {}", cells[cell]).unwrap();
            }
            (4, _) => {
                let value = cells[cell];
                cells[cell] += 1;
                seen[thread].push((names, value));
                let after = cells[cell];
                writeln!(out, "t{thread}: r{names} = rmw {at} : {value} -> r{names} + 1 : {after}")
                    .unwrap();
                names += 1;
            }
            (5..=6, Some((name, value))) => {
                let number = random.below_u64(4);
                let (sign, holds) = match random.below(3) {
                    0 => ("==", value == number),
                    1 => ("!=", value != number),
                    _ => ("<", value < number),
                };
                writeln!(out, "t{thread}: branch r{name} {sign} {number} : {holds}").unwrap();
            }
            _ => {
                let value = cells[cell];
                seen[thread].push((names, value));
                writeln!(out, "t{thread}: r{names} = read {at} : {value}").unwrap();
                if random.chance(60) {
                    writeln!(out, "t{thread}: branch r{names} == {value} : true").unwrap();
                }
                names += 1;
            }
        }
    }
    text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}
