//! The order of calls as the model has it and as the checker has it, on traces that are too long
//! for the oracle.

use foretrace_model::Skeleton;
use foretrace_testing::Random;
use foretrace_trace::{Direction, Event, EventId, Op, ThreadId, Trace};
use foretrace_verdict::Model;
use foretrace_witness::calls::Kept;

/// Threads that enter and leave calls, some on many channels, and never leave some of them.
fn random_calls(random: &mut Random, events: usize) -> Trace {
    let mut builder = Trace::builder();
    let threads: Vec<ThreadId> =
        (0..2 + random.below(6)).map(|at| builder.thread(&format!("t{at}"))).collect();
    let channels: Vec<_> = (0..12).map(|at| builder.channel(&format!("c{at}"))).collect();
    builder.set_delayed(channels[11]);
    let ways = [Direction::Both, Direction::Both, Direction::Gives, Direction::Takes];
    let mut depths = vec![0; threads.len()];
    for _ in 0..events {
        let at = random.below(threads.len());
        let op = if depths[at] > 0 && random.below(8) < 5 {
            depths[at] -= 1;
            Op::LeaveCall
        } else {
            depths[at] += 1;
            let count = [0, 1, 1, 1, 1, 2, 2, 5][random.below(8)];
            let list: Vec<_> = (0..count)
                .map(|_| (channels[random.below(channels.len())], ways[random.below(4)]))
                .collect();
            let on = match random.below(40) {
                0 => builder.every_channel(),
                _ => builder.channels(&list),
            };
            Op::EnterCall { on, by: None }
        };
        builder.push(Event { thread: threads[at], op, location: None });
    }
    builder.finish()
}

#[test]
fn model_and_checker_agree() {
    let mut needed = 0;
    for seed in 1..400 {
        let trace = random_calls(&mut Random::new(seed), 300);
        let skeleton = Skeleton::new(&trace, Model::Values);
        let kept = Kept::of(&trace);
        for leave in (0..trace.len()).map(EventId::from) {
            let expected = kept.needed_by(leave);
            assert_eq!(skeleton.calls.needed_by(leave), expected, "seed {seed}, event {}", leave.0);
            needed += expected.len();
        }
    }
    assert!(needed > 50_000, "{needed}");
}
