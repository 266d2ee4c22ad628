//! Random valid traces: the recorded runs of random tiny programs.
//!
//! **Computes.** From a seed, a trace of two to four threads and about six to twenty events that
//! uses every kind of event, declared and undeclared initial values, bytes that overlap, and
//! threads that hang. Some are random programs, others scenes that are planted so that no primitive
//! is rare next to any property. Half of them compute: reads have names, writes and conditions
//! expressions. Some are about locks that are made of variables; some have calls on channels, and
//! some have calls that wait.
//!
//! **Follows.** A simulated run: a random thread tries a random action; if the simulated machine
//! lets it, the event is recorded. So the recorded order is feasible by construction, and the tests
//! check that the enumerator agrees.
//!
//! **Invariant.** The same seed gives the same trace, on every machine and for ever: regression
//! seeds depend on it. Every trace is valid in the sense of section 5 of `docs/theory.md`.
//!
//! **Cost.** Some microseconds per trace.

use std::ops::Range;

use foretrace_testing::Random;
use foretrace_trace::Trace;

use crate::calls::{accesses, with_calls};
use crate::latches::latched;
use crate::machine::Machine;
use crate::owned::owned;
use crate::profile::{Action, PROFILES, RECKONERS, SCENERY};
use crate::turns::in_turn;
use crate::waits::{piped, with_waits};

/// Of a hundred traces, which are planted scenes; the others are programs of a random profile.
const SCENES: Range<usize> = 20..65;

/// The bit of a seed's number that makes its program compute. (The oldest seeds of `seeds.txt` have
/// it not.)
const RECKONS: usize = 1 << 8;

/// Of 32 traces, which are about a variable that is used as a lock. (None of the oldest seeds is.)
const LATCHES: Range<usize> = 3..6;

/// Of 32 traces, which are about a variable that says who owns another one. (None
/// of the oldest seeds is.)
const OWNERS: Range<usize> = 22..24;

/// Of 32 traces, which are about a variable that says whose turn it is. (None
/// of the oldest seeds is.)
const TURNS: Range<usize> = 24..26;

/// Of 32 traces, which have calls. (None of the oldest seeds has.)
const CALLS: Range<usize> = 11..16;

/// Of 32 traces, which have calls that wait. (None of the oldest seeds has.)
const WAITS: Range<usize> = 17..21;

/// The trace of this seed.
pub fn generate(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    // Digits of one number, so that a trace of the one kind does not depend on how many there are
    // of the other.
    let number = random.number() as usize;
    let share = (number >> 53) % 32;
    if WAITS.contains(&share) {
        return waiting(number, random);
    }
    if !CALLS.contains(&share) {
        return without_calls(number, random);
    }
    let mut calls = Random::new(random.number());
    let trace = match calls.chance(30) {
        true => accesses(&mut calls),
        false => without_calls(number, random),
    };
    with_calls(&trace, calls)
}

fn waiting(number: usize, mut random: Random) -> Trace {
    let mut waits = Random::new(random.number());
    match waits.chance(45) {
        true => piped(waits),
        false => {
            let calls = Random::new(random.number());
            with_waits(&with_calls(&without_calls(number, random), calls), waits)
        }
    }
}

fn without_calls(number: usize, mut random: Random) -> Trace {
    if LATCHES.contains(&((number >> 48) % 32)) {
        return latched(random);
    }
    if OWNERS.contains(&((number >> 48) % 32)) {
        return owned(random);
    }
    if TURNS.contains(&((number >> 48) % 32)) {
        return in_turn(random);
    }
    let (nth, share) = (number % PROFILES.len(), number / PROFILES.len() % 100);
    let reckons = (number / PROFILES.len() / 100) & RECKONS != 0;
    if SCENES.contains(&share) {
        return scene(random, reckons);
    }
    let reckoner = reckons && share >= SCENES.end;
    let profile = if reckoner { &RECKONERS } else { &PROFILES[nth] };
    // More threads mean more interleavings, so they get fewer events.
    let (threads, events) = match random.below(10) {
        0..=4 => (2, 7 + random.below(12)),
        5..=8 => (3, 6 + random.below(9)),
        _ => (4, 6 + random.below(6)),
    };
    // What a thread computes adds events that can be executed at any time.
    let events = if reckoner { events + 3 } else { events };
    let exits = random.chance(6);
    let mut machine = Machine::new(random, profile, threads);
    if reckons {
        machine.reckon(reckoner);
    }
    for _ in 0..events * 12 {
        if machine.len() >= events {
            break;
        }
        let thread = machine.schedule();
        if !machine.wake_up(thread) {
            continue;
        }
        let action = machine.action();
        machine.act(thread, action);
        machine.perhaps_ponder(thread);
    }
    if exits {
        machine.exit();
    } else {
        wind_down(&mut machine, threads);
    }
    machine.finish()
}

fn scene(mut random: Random, reckons: bool) -> Trace {
    let threads = 2 + random.below(2);
    let mut machine = Machine::new(random, &SCENERY, threads);
    if reckons {
        machine.reckon(false);
    }
    if machine.play() {
        machine.exit();
    } else {
        wind_down(&mut machine, threads);
    }
    machine.finish()
}

/// Lets the threads come to their ends, as far as they can.
fn wind_down(machine: &mut Machine, threads: usize) {
    loop {
        let before = machine.len();
        for thread in 0..threads {
            if machine.is_started(thread) && machine.wake_up(thread) {
                machine.tidy(thread);
                machine.act(thread, Action::Finish);
            }
        }
        if machine.len() == before {
            break;
        }
    }
}
