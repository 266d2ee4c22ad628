//! Assertions and context switches, section 4; figures of papers 000, 001 and 002.

use std::collections::BTreeSet;

use foretrace_oracle::{Needed, least_switches};

use super::*;

/// Paper 000, Fig. 1; Fig. 7 and 8 have another expression at t3.
fn figure_1(t3: &str) -> String {
    format!(
        "init x[0:1] = 0\n\
         init y[0:1] = 0\n\
         semaphore l = 1\n\
         t1: a = read x[0:1] : 0\n\
         t1: semwait l\n\
         t1: write x[0:1] = {t3}\n\
         t1: sempost l\n\
         t1: write y[0:1] = 1 + a : 1\n\
         t1: semwait l\n\
         t1: write x[0:1] = 1 + a : 1\n\
         t1: sempost l\n\
         t2: let b = 0\n\
         t2: semwait l\n\
         t2: c = read x[0:1] : 1\n\
         t2: branch c > b : true\n\
         t2: d = read y[0:1] : 1\n\
         t2: assert d == 1 : true\n\
         t2: sempost l\n"
    )
}

#[test]
fn paper_000_figure_1_needs_symbolic() {
    check_models(
        &figure_1("2 + a : 2"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 4 12
            assertion 13
        "#]],
    );
    let trace = parse(&figure_1("2 + a : 2"));
    let needed = least_switches(&trace, Model::Symbolic, false).expect("it is small");
    assert_eq!(needed[&Violation::Assertion(EventId(13))].any.switches, 1);
}

#[test]
fn paper_000_figures_7_and_8_need_values() {
    check_models(
        &figure_1("1 + a : 1"),
        expect![[r#"
            reads-from:
            values, symbolic, control:
            race 4 12
            assertion 13
        "#]],
    );
}

/// Paper 001, Fig. 1 and Table 1: the merges of the statements 1, 2, 5 and 6, 7. The table's fourth
/// row is shifted in print.
#[test]
fn paper_001_figure_1_has_ten_interleavings() {
    let trace = parse(
        "t1: write y[0:1] = 1 + 1 : 2\n\
         t1: p = read y[0:1] : 2\n\
         t1: branch p < 2 : false\n\
         t1: q = read y[0:1] : 2\n\
         t1: assert q >= 2 : true\n\
         t2: branch 0 >= 0 : true\n\
         t2: write y[0:1] = 0 + 1 : 1\n",
    );
    let table =
        ["12567", "12657", "12675", "16257", "16275", "16725", "61257", "61275", "61725", "67125"];
    let assertion = EventId(4);
    let failure = Violation::Assertion(assertion);
    let complete = foretrace_oracle::linearisations(&trace, Model::Symbolic);
    let (mut infeasible, mut failing) = (BTreeSet::new(), BTreeSet::new());
    for (index, statements) in table.iter().enumerate() {
        let events: Vec<EventId> = statements
            .bytes()
            .flat_map(|statement| match statement {
                b'1' => vec![0],
                b'2' => vec![1, 2],
                b'5' => vec![3, 4],
                b'6' => vec![5],
                _ => vec![6],
            })
            .map(EventId)
            .collect();
        let place = events.iter().position(|&event| event == assertion).expect("it is there");
        let fails = check_schedule(&trace, Model::Symbolic, false, &events[..place], &failure);
        match (complete.contains(&events), fails) {
            (true, _) => {}
            (false, Ok(())) => drop(failing.insert(index + 1)),
            (false, Err(_)) => drop(infeasible.insert(index + 1)),
        }
    }
    assert_eq!(infeasible, BTreeSet::from([6, 9]));
    assert_eq!(failing, BTreeSet::from([3, 5, 8]));
}

/// Paper 002, Fig. 3: nothing depends on what thread 2 reads, so it may come last.
#[test]
fn paper_002_figure_3_has_a_race_under_symbolic() {
    check_models(
        "init x[0:1] = 0\n\
         init y[0:1] = 0\n\
         t1: acquire l\n\
         t1: write x[0:1] = 10\n\
         t1: release l\n\
         t2: acquire l\n\
         t2: read x[0:1] : 10\n\
         t2: write y[0:1] = 20\n\
         t2: release l\n\
         t1: acquire l\n\
         t1: write x[0:1] = 20\n\
         t1: release l\n\
         t1: write y[0:1] = 30\n",
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 5 10
        "#]],
    );
}

fn asserted(between: &str, assertion: &str) -> String {
    format!(
        "init x[0:1] = 0\n\
         t1: a = read x[0:1] : 0\n\
         {between}\
         t1: assert {assertion}\n\
         t2: write x[0:1] = 5 atomic\n"
    )
    .replace("read x[0:1] : 0", "read x[0:1] : 0 atomic")
}

#[test]
fn reads_that_only_the_assertion_uses_are_released() {
    check_models(
        &asserted("", "a == 0 : true"),
        expect![[r#"
            assertion 1
        "#]],
    );
    check_models(
        &asserted("t1: write y = 1\n", "a == 0 : true"),
        expect![[r#"
            assertion 2
        "#]],
    );
    // These need what was read.
    check_models(
        &asserted("t1: branch a < 6 : true\n", "a == 0 : true"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            assertion 2
        "#]],
    );
    check_models(
        &asserted("t1: external\n", "a == 0 : true"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            assertion 2
        "#]],
    );
    check_models(
        &asserted("t1: let b = a\n", "b == 0 : true"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            assertion 2
        "#]],
    );
}

#[test]
fn what_was_recorded_not_to_hold_is_violated() {
    check_models(
        &asserted("", "a == 1 : false"),
        expect![[r#"
            assertion 1
        "#]],
    );
    check_models(
        &asserted("", ": false"),
        expect![[r#"
            assertion 1
        "#]],
    );
}

#[test]
fn without_an_expression_only_control_says_that_it_may_fail() {
    check_models(
        &asserted("", ": true"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            assertion 1
        "#]],
    );
    check_models(&asserted("", "a < 256 : true"), expect![[""]]);
}

#[test]
fn switches_are_counted_to_the_events_that_are_next() {
    let needs = |input: &str| -> Vec<String> {
        let needed = least_switches(&parse(input), Model::Values, false).expect("it is small");
        let line = |(violation, needed): (&Violation, &Needed)| {
            format!("{} {}", show(violation), needed.any.switches)
        };
        needed.iter().map(line).collect()
    };
    // One behind the other; and if a thread has run before, it goes first.
    assert_eq!(needs("t1: write x\nt2: write x\n"), ["race 0 1 1"]);
    assert_eq!(needs("t1: write y\nt1: write x\nt2: write x\n"), ["race 1 2 1"]);
    assert_eq!(needs("t1: write y\nt1: write x\nt2: write z\nt2: write x\n"), ["race 1 3 2"]);
    assert_eq!(
        needs("t1: region begin\nt1: read x : 0\nt1: read x : 0\nt2: write x : 1\n"),
        ["race 1 3 1", "race 2 3 1", "atomicity 1 3 2 2"]
    );
    // The second acquire of each is next: t1, t2, and either again.
    assert_eq!(
        needs(
            "t1: acquire l\nt1: acquire m\nt1: release m\nt1: release l\n\
             t2: acquire m\nt2: acquire l\nt2: release l\nt2: release m\n"
        ),
        ["cycle 1 5 2"]
    );
    // A hung thread is not next anywhere.
    assert_eq!(needs("semaphore s = 0\nt1: request semwait s\nt2: end\n"), ["stuck 0 1"]);
}
