//! Recorded runs: what cannot be merged ends its thread there, and is told.

use expect_test::{Expect, expect};
use foretrace_program::merge::Mixture;
use foretrace_program::{Merged, Site, merge_recorded, print, validate};
use foretrace_trace::{EventId, Trace};

use super::trace;

fn together(texts: &[&str]) -> (Vec<Trace>, Merged) {
    let traces: Vec<Trace> = texts.iter().map(|text| trace(text)).collect();
    let merged = merge_recorded(&traces.iter().collect::<Vec<_>>()).expect("recorded runs");
    validate(&merged.program).unwrap_or_else(|e| panic!("{e}\n{}", print(&merged.program)));
    (traces, merged)
}

fn check(texts: &[&str], expected: &Expect) {
    let (_, merged) = together(texts);
    let mut text: String = merged.left_out.iter().map(|left| format!("# {left}\n")).collect();
    text.push_str(&print(&merged.program));
    expected.assert_eq(&text);
}

/// A constant differs where no branch does: neither is taken.
#[test]
fn unseen_choices_are_not_mixed() {
    let run = |value: u32| {
        format!("init x = 0\nt: write x = 1 : 1 @ a\nt: write x = {value} : {value} @ b\nt: end\n")
    };
    check(
        &[&run(5), &run(7)],
        &expect![[r#"
            # thread t goes on differently without a branch at b; what comes behind that is left out
            foretrace-program 1
            global x : 8

            func t() {
              %0:
                store x, 1 @ a
                assume false
                return
            }

            thread t = t()
        "#]],
    );
}

/// What a call would have returned beside the calls of another run is not known. Calls that depend
/// on nobody are left out.
#[test]
fn a_call_whose_result_may_depend_on_others_ends_its_thread() {
    let run = "init x = 0\nt: enter-call >terminal by printf\nt: write x = 1 : 1 @ a\nt: leave-call\n\
               t: enter-call pipe#1 by read\nt: write x = 2 : 2 @ b\nt: leave-call @ c\nt: write x = 3 : 3 @ d\nt: end\n";
    check(
        &[run, run],
        &expect![[r#"
        # a call whose result may depend on other threads at c is not supported; what comes behind it in its thread is left out
        foretrace-program 1
        global x : 8

        func t() {
          %0:
            store x, 1 @ a
            store x, 2 @ b
            assume false
            return
        }

        thread t = t()
    "#]],
    );
}

/// Where each run says that a value is as it was, the value decides.
#[test]
fn values_that_are_as_they_were_are_alternatives() {
    let run = |value: u32| {
        format!(
            "init x = 0\nu: write x = {value} : {value}\nt: r = read x : {value} @ a\nt: branch r == {value} : true @ a\n\
             t: write y = {value} : {value} @ b\nt: end\n"
        )
    };
    let (_, merged) = together(&[&run(5), &run(7)]);
    let text = print(&merged.program);
    assert!(text.contains("== 5") && text.contains("== 7"), "{text}");
    assert!(merged.left_out[0].contains("thread u goes on differently"), "{:?}", merged.left_out);
}

/// Whose child a thread is tells which one it is.
#[test]
fn threads_are_known_by_their_lineage() {
    let one = "T0: fork T1\nT0: fork T2\nT1: fork T3\nT2: fork T4\nT3: write x = 1 : 1\nT4: write y = 1 : 1\n";
    let two = "T0: fork T1\nT0: fork T2\nT2: fork T3\nT1: fork T4\nT4: write x = 1 : 1\nT3: write y = 1 : 1\n";
    let (_, merged) = together(&[one, two]);
    assert_eq!(merged.left_out, Vec::<String>::new());
    assert_eq!(merged.program.functions.len(), 5);
}

/// A compare-and-exchange that failed, as recordings have it, and what is not supported.
#[test]
fn what_recordings_have() {
    let one = "init x = 0 \nt: r = rmw x : 0 -> 1 : 1 assuming r == 0 @ a\nt: write y = 1 : 1 @ b\nt: end\n";
    let two = "init x = 0\nu: write x = 2 : 2 @ c\nt: r = read x : 2 atomic seq_cst @ a\nt: branch r != 0 : true @ a\nt: end\n";
    let (_, merged) = together(&[one, two]);
    assert_eq!(merged.left_out, Vec::<String>::new());
    assert!(print(&merged.program).contains("cmpxchg"), "{}", print(&merged.program));
    let waits = "lock m\nt: acquire m\nt: wait c m @ a\n";
    let (_, merged) = together(&[waits, waits]);
    let expected = "a wait for a condition at a is not supported; what comes behind it in its thread is left out";
    assert_eq!(merged.left_out, [expected]);
}

/// The way of each thread is that of a run which it follows, one run for all if there is one.
#[test]
fn schedules_in_terms_of_the_runs() {
    let (traces, merged) = together(&[super::THEN_ELSE, super::ELSE_THEN]);
    let traces: Vec<&Trace> = traces.iter().collect();
    let origins_at = |location: &str| {
        let found = merged.program.functions.iter().enumerate().find_map(|(function, code)| {
            let blocks = code.blocks.iter().enumerate();
            let mut sites = blocks.flat_map(|(block, code)| {
                let all = (0..code.instructions.len()).map(move |index| (block, index));
                all.map(|(block, index)| Site {
                    function: function.into(),
                    block: block.into(),
                    index: index as u32,
                })
            });
            sites.find(|&site| {
                let is_step =
                    merged.program.instruction(site).is_some_and(|one| one.op.access().is_some());
                is_step && merged.program.location(site) == Some(location)
            })
        });
        merged.origins(found.expect("it is there"))
    };
    let runs =
        |origins: &[(usize, EventId)]| origins.iter().map(|&(run, _)| run).collect::<Vec<_>>();
    let (first, both) = (origins_at("t13"), origins_at("t11"));
    assert_eq!((runs(first), runs(both)), (vec![0], vec![0, 1]));
    let other = origins_at("t23");
    assert_eq!(runs(other), [1]);
    let one = Mixture::new(&traces, &merged, &[both, first], &[]).expect("run 1 has it");
    assert_eq!(one.run, Some(0));
    let mixed = Mixture::new(&traces, &merged, &[both, first, other], &[]).expect("of two runs");
    assert_eq!(mixed.run, None);
    let copy = mixed.trace(&traces, &merged);
    assert_eq!(copy.schedule.len(), mixed.schedule.len());
    assert!(mixed.schedule.iter().any(|&(run, _)| run == 0));
    assert!(mixed.schedule.iter().any(|&(run, _)| run == 1));
}

/// Calls are part of what a thread did, and keep the names of their channels.
#[test]
fn a_schedule_has_the_calls_of_its_threads() {
    let run = "t: enter-call pipe#1 >log by write @ a\nt: leave-call\nt: enter-call *\nt: write x = 1 : 1 @ b\n";
    let (traces, merged) = together(&[run, run]);
    let traces: Vec<&Trace> = traces.iter().collect();
    let step = [(0, EventId(3)), (1, EventId(3))];
    let mixed = Mixture::new(&traces, &merged, &[&step], &[]).expect("both runs have it");
    let copy = mixed.trace(&traces, &merged);
    // Only replays ask for it, so values are not computed any more.
    let expected = format!("foretrace-trace 1\n{}", run.replace("= 1 : 1", ": 1"));
    assert_eq!(foretrace_trace::text::print(&copy.trace), expected);
}
