//! Calls: the rule of `docs/theory.md` in examples, and against its definition taken literally.

use expect_test::expect;
use foretrace_trace::{
    ChannelId, Channels, ChannelsId, Direction, Event, EventId, Op, ThreadId, Trace,
};

use super::{lines, on, trace};
use crate::calls::Kept;
use foretrace_testing::Random;

/// The enters that each leave needs, as `leave <- enters`.
fn needs(text: &str) -> String {
    let trace = trace(&lines(text));
    let kept = Kept::of(&trace);
    let mut shown = Vec::new();
    for (leave, op) in trace.ops() {
        let needed = kept.needed_by(leave);
        if op == Op::LeaveCall && !needed.is_empty() {
            let enters: Vec<String> = needed.iter().map(|enter| enter.0.to_string()).collect();
            shown.push(format!("{} <- {}", leave.0, enters.join(" ")));
        }
    }
    shown.join(", ")
}

#[test]
fn a_call_ends_after_those_that_it_rests_on_have_begun() {
    let text = "a: enter-call p; a: leave-call; b: enter-call p; b: leave-call";
    on(text).gives(expect![[r#"
        0 1 2 3 => Real
        0 2 3 1 => Real
        2 0 3 => Real
        2 3 => step 1: event 3 leaves a call, but rests on the call that event 0 enters
    "#]]);
    on("a: leave-call")
        .gives(expect!["0 => step 0: event 0 breaks the rules in the recorded run itself"]);
}

#[test]
fn directions() {
    let calls = |one: &str, two: &str| {
        needs(&format!("a: enter-call {one}; a: leave-call; b: enter-call {two}; b: leave-call"))
    };
    expect!["3 <- 0"].assert_eq(&calls(">p", "<p"));
    // Nothing was there: so it stays before what gives.
    expect!["3 <- 0"].assert_eq(&calls("<p", ">p"));
    expect![""].assert_eq(&calls("<p", "<p"));
    // Nobody takes what both give.
    expect![""].assert_eq(&calls(">p", ">p"));
    expect!["3 <- 0"].assert_eq(&calls(">p", "p"));
    expect![""].assert_eq(&calls("p", "q"));
    expect![""].assert_eq(&calls("*", ""));
    expect!["3 <- 0"].assert_eq(&calls("*", "<p"));
    expect!["3 <- 0"].assert_eq(&calls(">p", "*"));
    expect!["3 <- 0"].assert_eq(&calls("*", "*"));
}

/// Who takes can tell in which order others gave.
#[test]
fn two_that_give_keep_their_order_where_somebody_takes() {
    let text = "a: enter-call >p; a: leave-call; b: enter-call >p; b: leave-call; ";
    expect!["3 <- 0, 5 <- 0 2"]
        .assert_eq(&needs(&format!("{text} c: enter-call <p; c: leave-call")));
    // A call of which nothing is known does not tell.
    expect!["5 <- 0 2"].assert_eq(&needs(&format!("{text} c: enter-call *; c: leave-call")));
}

#[test]
fn what_arrives_late_is_not_missed() {
    let calls = |one: &str, two: &str| {
        let calls = "a: enter-call ONE; a: leave-call; b: enter-call TWO; b: leave-call";
        let calls = calls.replace("ONE", one).replace("TWO", two);
        needs(&format!("channel p delayed; {calls}; c: enter-call <p"))
    };
    expect!["3 <- 0"].assert_eq(&calls(">p", "<p"));
    expect![""].assert_eq(&calls("<p", ">p"));
    expect![""].assert_eq(&calls(">p", ">p"));
    expect!["3 <- 0"].assert_eq(&calls("p", "p"));
}

#[test]
fn a_chain_leads_through_other_calls() {
    // A look at both, which saw only what was given to p.
    expect!["3 <- 0, 5 <- 0 2"].assert_eq(&needs(
        "b: enter-call p; b: leave-call; a: enter-call p q; a: leave-call; c: enter-call q; c: leave-call",
    ));
    // Also while it is in flight.
    expect!["3 <- 0 1"]
        .assert_eq(&needs("a: enter-call p q; b: enter-call p; c: enter-call q; c: leave-call"));
    // What had left before the other entered carries nothing.
    expect!["4 <- 0"].assert_eq(&needs(
        "a: enter-call p q; a: leave-call; c: enter-call q; b: enter-call p; b: leave-call",
    ));
}

/// What an earlier leave of the thread needs, or an earlier call of the other, is not named.
#[test]
fn only_what_is_new_is_named() {
    expect!["3 <- 0, 8 <- 6"].assert_eq(&needs(
        "a: enter-call p; a: leave-call; b: enter-call p; b: leave-call; b: enter-call p; b: leave-call; \
         a: enter-call p; b: enter-call p; b: leave-call",
    ));
}

/// The calls of a trace: enter, leave if it has one, channels.
fn calls(trace: &Trace) -> Vec<(EventId, Option<EventId>, ChannelsId)> {
    let mut open = vec![Vec::new(); trace.threads().len()];
    let mut calls = Vec::new();
    for (event, Event { thread, op, .. }) in trace.events() {
        match op {
            Op::EnterCall { on, .. } => {
                open[thread.index()].push(calls.len());
                calls.push((event, None, on));
            }
            Op::LeaveCall => {
                let at: usize = open[thread.index()].pop().expect("the trace is valid");
                calls[at].1 = Some(event);
            }
            _ => {}
        }
    }
    calls
}

/// Whether the first of two calls leads to the second, by the definition.
fn leads(trace: &Trace, taken: &[bool], first: ChannelsId, second: ChannelsId) -> bool {
    let on = |list: &[(ChannelId, Direction)], channel: ChannelId| {
        list.iter().find(|(other, _)| *other == channel).map(|(_, direction)| *direction)
    };
    match (trace.channels_of(first), trace.channels_of(second)) {
        (Channels::Every, Channels::Every) => true,
        (Channels::Every, Channels::Only(list)) | (Channels::Only(list), Channels::Every) => {
            !list.is_empty()
        }
        (Channels::Only(from), Channels::Only(to)) => from.iter().any(|&(channel, gives)| {
            let Some(takes) = on(to, channel) else { return false };
            match trace.is_delayed(channel) {
                true => gives.gives() && takes.takes(),
                false => taken[channel.index()] && (gives.gives() || takes.gives()),
            }
        }),
    }
}

#[test]
fn the_last_enters_are_those_of_all_chains() {
    let mut needed = 0;
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let trace = random_calls(&mut random);
        let kept = Kept::of(&trace);
        let calls = calls(&trace);
        let mut taken = vec![false; trace.channels().len()];
        for &(_, _, on) in &calls {
            let Channels::Only(list) = trace.channels_of(on) else { continue };
            list.iter().for_each(|(channel, way)| taken[channel.index()] |= way.takes());
        }
        let mut known = vec![vec![None; trace.threads().len()]; trace.threads().len()];
        let mut leaves: Vec<(EventId, usize)> =
            calls.iter().enumerate().filter_map(|(at, call)| Some((call.1?, at))).collect();
        leaves.sort_unstable();
        for (leave, last) in leaves {
            // Chains backwards: the call that they have reached, and the first leave on them.
            let mut reached = vec![None; calls.len()];
            let mut waiting = vec![(last, leave)];
            while let Some((to, before)) = waiting.pop() {
                for (from, &(enter, left, on)) in calls.iter().enumerate() {
                    if enter > before || !leads(&trace, &taken, on, calls[to].2) {
                        continue;
                    }
                    let before = left.map_or(before, |left| left.min(before));
                    if reached[from].is_none_or(|known| before > known) {
                        reached[from] = Some(before);
                        waiting.push((from, before));
                    }
                }
            }
            let thread = trace.thread_of(leave);
            let mut expected: Vec<EventId> = Vec::new();
            for other in trace.thread_ids().filter(|&other| other != thread) {
                let of_other = |at: &usize| trace.thread_of(calls[*at].0) == other;
                let entered = (0..calls.len()).filter(|&at| reached[at].is_some()).filter(of_other);
                let last: Option<EventId> = entered.map(|at| calls[at].0).max();
                let known: &mut Option<EventId> = &mut known[thread.index()][other.index()];
                if last > *known {
                    *known = last;
                    expected.extend(last);
                }
            }
            needed += expected.len();
            let text = foretrace_trace::text::print(&trace);
            assert_eq!(kept.needed_by(leave), expected, "seed {seed}, event {}\n{text}", leave.0);
        }
    }
    assert!(needed > 10_000, "{needed}");
}

fn random_calls(random: &mut Random) -> Trace {
    let mut builder = Trace::builder();
    let threads: Vec<ThreadId> =
        (0..2 + random.below_u64(3)).map(|at| builder.thread(&format!("t{at}"))).collect();
    let channels = ["p", "q", "r"].map(|name| builder.channel(name));
    if random.below_u64(4) == 0 {
        builder.set_delayed(channels[2]);
    }
    let directions = [Direction::Both, Direction::Gives, Direction::Takes];
    let mut open = vec![0; threads.len()];
    for _ in 0..random.below_u64(24) {
        let at = random.below_u64(threads.len() as u64) as usize;
        let leaves = open[at] > 0 && random.below_u64(5) < 3;
        let op = if leaves {
            open[at] -= 1;
            Op::LeaveCall
        } else {
            open[at] += 1;
            let mut list = Vec::new();
            for channel in channels {
                if random.below_u64(3) == 0 {
                    list.push((channel, directions[random.below_u64(3) as usize]));
                }
            }
            let on = match random.below_u64(8) {
                0 => builder.every_channel(),
                _ => builder.channels(&list),
            };
            Op::EnterCall { on, by: None }
        };
        builder.push(Event { thread: threads[at], op, location: None });
    }
    builder.finish()
}
