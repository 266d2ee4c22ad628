//! Calls on channels.

use super::*;

#[test]
fn only_the_end_of_a_call_waits() {
    check(
        "t1: write x : 1\nt1: enter-call p\nt1: leave-call\nt2: write y : 1\nt2: enter-call p\nt2: write y : 2\n\
         t2: leave-call\nt2: write x : 2\nt3: write y : 3\nt3: enter-call p\n",
        expect![[r#"
            race 3 8
            race 5 8
        "#]],
    );
}

#[test]
fn both_directions_and_chains() {
    // Found nothing; gave; a look at both channels passes on what it saw of the one.
    let calls = |one: &str, two: &str, three: &str| {
        format!(
            "t1: write x : 1\nt1: enter-call {one}\nt1: leave-call\nt2: enter-call {two}\nt2: leave-call\n\
             t3: enter-call {three}\nt3: leave-call\nt3: write x : 2\n"
        )
    };
    check(&calls("<p", "", ">p"), expect![[""]]);
    check(&calls(">p", "", "<p"), expect![[""]]);
    check(&calls("p", "p q", "q"), expect![[""]]);
    check(
        &calls("p", "", "q"),
        expect![[r#"
        race 0 7
    "#]],
    );
    check(
        &calls(">p", "", ">p"),
        expect![[r#"
        race 0 7
    "#]],
    );
    check(&calls(">p", "<p", ">p"), expect![[""]]);
    check(&calls("*", "", "p"), expect![[""]]);
    check(
        &calls("*", "p", ""),
        expect![[r#"
        race 0 7
    "#]],
    );
}

#[test]
fn who_waits_for_a_kept_order_is_not_stuck() {
    check(
        "semaphore s = 1\nt2: semwait s\nt2: enter-call p\nt2: leave-call\nt2: end\n\
         t1: enter-call p\nt1: leave-call\nt1: sempost s\nt1: end\nt3: semwait s\nt3: end\n",
        expect![[""]],
    );
    // In a call to the end: not known to go on, nor not to.
    check("semaphore s = 0\nt1: enter-call p\nt2: request semwait s\n", expect![[""]]);
    check(
        "semaphore s = 0\nt1: enter-call p\nt1: end\nt2: request semwait s\n",
        expect![[r#"
        stuck 2
    "#]],
    );
}
