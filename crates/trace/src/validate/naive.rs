//! Locks against a literal reading of `docs/theory.md`: a list of holds, searched for every rule.

use super::*;
use foretrace_testing::Random;

#[derive(Clone, Copy)]
struct Hold {
    thread: ThreadId,
    lock: LockId,
    mode: Mode,
    depth: u32,
}

/// The first event that is not enabled, or whose role section 2 does not know.
fn first_refused(trace: &Trace) -> Option<EventId> {
    let mut holds: Vec<Hold> = Vec::new();
    let mut destroyed: Vec<LockId> = Vec::new();
    let mut waiting: Vec<Hold> = Vec::new();
    trace
        .events()
        .find(|&(_, event)| !step(event, &mut holds, &mut destroyed, &mut waiting))
        .map(|(id, _)| id)
}

fn step(
    Event { thread, op, .. }: Event,
    holds: &mut Vec<Hold>,
    destroyed: &mut Vec<LockId>,
    waiting: &mut Vec<Hold>,
) -> bool {
    let own = |holds: &[Hold], lock: LockId, mode: Mode| {
        holds
            .iter()
            .position(|hold| hold.thread == thread && hold.lock == lock && hold.mode == mode)
    };
    let refused = |holds: &[Hold], lock: LockId, mode: Mode| {
        holds
            .iter()
            .any(|hold| hold.thread != thread && hold.lock == lock && hold.mode.conflicts(mode))
    };
    match op {
        Op::Acquire { lock, mode, .. } => {
            if destroyed.contains(&lock) {
                return false;
            }
            match own(holds, lock, mode) {
                Some(at) => holds[at].depth += 1,
                None if refused(holds, lock, mode) => return false,
                None => holds.push(Hold { thread, lock, mode, depth: 1 }),
            }
            true
        }
        Op::AcquireFailed { lock, mode, .. } => {
            !destroyed.contains(&lock)
                && holds.iter().any(|hold| hold.lock == lock && hold.mode.conflicts(mode))
        }
        Op::Release { lock, mode } => {
            if destroyed.contains(&lock) {
                return false;
            }
            if let Some(at) = own(holds, lock, mode) {
                holds[at].depth -= 1;
                if holds[at].depth == 0 {
                    holds.remove(at);
                }
                return true;
            }
            let foreign = holds.iter().position(|hold| {
                mode == Mode::Exclusive
                    && hold.mode == Mode::Exclusive
                    && hold.lock == lock
                    && hold.depth == 1
            });
            if let Some(at) = foreign {
                holds.remove(at);
                return true;
            }
            holds.iter().all(|hold| hold.lock != lock)
        }
        Op::Destroy { lock } => {
            if destroyed.contains(&lock) || holds.iter().any(|hold| hold.lock == lock) {
                return false;
            }
            destroyed.push(lock);
            true
        }
        Op::Wait { lock, .. } => {
            let modes = [Mode::Exclusive, Mode::Shared].map(|mode| own(holds, lock, mode));
            let ((Some(at), None) | (None, Some(at))) = modes.into() else { return false };
            waiting.push(holds.remove(at));
            !destroyed.contains(&lock)
        }
        Op::Wake { lock, .. } => {
            let at = waiting.iter().position(|hold| hold.thread == thread).unwrap();
            let hold = waiting.remove(at);
            let enabled = !destroyed.contains(&lock) && !refused(holds, lock, hold.mode);
            holds.push(hold);
            enabled
        }
        _ => true,
    }
}

fn random_run(random: &mut Random) -> Trace {
    let mut builder = Trace::builder();
    let cond = builder.cond("c");
    let threads = ["t1", "t2", "t3"].map(|name| builder.thread(name));
    let locks = ["m", "n"].map(|name| builder.lock(name));
    let mut waits: Vec<(ThreadId, LockId)> = Vec::new();
    for _ in 0..4 + random.below(20) {
        let (thread, lock) = (random.pick(&threads), random.pick(&locks));
        let mode = random.pick(&[Mode::Exclusive, Mode::Shared]);
        let op = match waits.iter().position(|wait| wait.0 == thread) {
            Some(at) => {
                let (_, lock) = waits.remove(at);
                Op::Wake { cond, lock, reason: WakeReason::Spurious }
            }
            None => match random.below(20) {
                0..8 => Op::Acquire { lock, mode, patience: Patience::Blocking },
                8..10 => Op::AcquireFailed { lock, mode, patience: Patience::Try },
                10..17 => Op::Release { lock, mode },
                17 if random.below(4) == 0 => Op::Destroy { lock },
                _ => {
                    waits.push((thread, lock));
                    Op::Wait { cond, lock, timed: false }
                }
            },
        };
        builder.push(Event { thread, op, location: None });
    }
    builder.finish()
}

#[test]
fn locks_obey_the_letter_of_the_theory() {
    let mut rules = std::collections::BTreeMap::new();
    for seed in 1..30_000 {
        let trace = random_run(&mut Random::new(seed));
        let found = validate(&trace).err();
        let verdict = found.as_ref().map_or("valid", |invalid| invalid.rule.code());
        *rules.entry(verdict).or_insert(0) += 1;
        let event = found.and_then(|invalid| invalid.event);
        assert_eq!(
            event,
            first_refused(&trace),
            "seed {seed}: {verdict}\n{}",
            crate::text::print(&trace)
        );
    }
    // No verdict is missing, so the agreement means something.
    for verdict in [
        "valid",
        "lock-held",
        "lock-free",
        "lock-destroyed",
        "destroy-held",
        "release-mode",
        "foreign-shared",
        "foreign-deep",
        "wait-not-held",
        "wait-both-modes",
    ] {
        assert!(rules.get(verdict).is_some_and(|&count| count > 20), "{verdict}: {rules:?}");
    }
}
