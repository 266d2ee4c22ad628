//! Memory whose life has ended: its address may be used again (`unfold/reuse.rs`).

use foretrace_program::parse;
use foretrace_verify::{Options, Verdict, verify};

fn verdict(text: &str) -> Verdict {
    verify(&parse(text).expect("it is a program"), &Options::default()).verdict
}

/// Whether the first block is freed before the second is made and compared with it.
fn compares(frees: bool) -> String {
    let free = if frees { "free a" } else { "" };
    format!(
        "thread main {{ a = alloc 4; {free}; b = alloc 4; assert a != b; assert a != 0; free b }}"
    )
}

#[test]
fn freed_memory_may_be_used_again() {
    assert!(matches!(verdict(&compares(false)), Verdict::Proved));
    let Verdict::Unknown(open) = verdict(&compares(true)) else { panic!("it is not known") };
    assert!(open[0].reason.contains("memory that is gone"), "{open:?}");
}

/// `taker` has read the address of a block that `giver` replaces by a new one. Behind that, the
/// exchange of `taker` can succeed only if `giver` frees the old block.
fn exchanges(frees: bool) -> String {
    let free = if frees { "free old" } else { "" };
    format!(
        "global top : 8; global given : 4
         func giver() {{
           old = load atomic top; {free}; new = alloc 4
           store atomic top, new; store atomic given, 1
         }}
         thread main {{
           first = alloc 4
           store atomic top, first
           r := fork giver()
           join r
           found = cmpxchg atomic top, first, 0
           assert found != first
         }}"
    )
}

#[test]
fn an_exchange_may_meet_an_address_again() {
    assert!(matches!(verdict(&exchanges(false)), Verdict::Proved));
    let verdict = verdict(&exchanges(true));
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
}

#[test]
fn a_variable_of_a_call_ends_with_it() {
    let text = "func f() -> 64 { s = slot 4; store.4 s, 1; return s }
                thread main { p = call f(); v = load.4 p }";
    let verdict = verdict(text);
    assert!(matches!(verdict, Verdict::Bug(_)), "{verdict:?}");
}

#[test]
fn what_lies_behind_an_object_may_be_another_one() {
    let program = "thread main { a = alloc 4; b = alloc 4; end = a + 4; assert end != b }";
    let Verdict::Unknown(open) = verdict(program) else { panic!("it is not known") };
    assert!(open[0].reason.contains("behind an object"), "{open:?}");
    let inside = "thread main { a = alloc 4; b = alloc 4; last = a + 3; assert last != b }";
    assert!(matches!(verdict(inside), Verdict::Proved));
}
