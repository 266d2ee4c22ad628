//! The rows of section 3 where reads are not pinned: `symbolic` and `control`.

use expect_test::expect;

use super::{control, on, symbolic};

#[test]
fn a_read_sees_what_is_there() {
    let text = "init x = 0; a: write x = 5; b: r = read x : 5; b: write y = r + 1; c: s = read y : 6; c: branch s > 3 : true";
    symbolic(text).gives(expect![[r#"
        0 1 2 3 4 => Real
        // y is 1 now, and 1 is not above 3.
        1 2 3 => Real
        1 2 3 4 => step 3: event 4 was recorded as true, but its condition gives 0
        // Nobody has written y.
        3 => step 0: event 3 reads what the initial state left in object 1 at 0, which has no value, but expects what event 2 left
    "#]]);
    symbolic(&format!("init y = 4; {text}")).gives(expect!["3 4 => Real"]);
    symbolic(&format!("init y = 3; {text}"))
        .gives(expect!["3 4 => step 1: event 4 was recorded as true, but its condition gives 0"]);
    on(text).gives(expect!["1 2 3 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
}

#[test]
fn conditions_keep_their_outcomes() {
    let branch =
        "init x = 0; a: write x = 5; b: r = read x : 5; b: branch r == 5; b: branch r == 4";
    symbolic(branch).gives(expect![[r#"
        0 1 2 3 => Real
        1 2 => step 1: event 2 was recorded as true, but its condition gives 0
    "#]]);
    let other = "init x = 4; a: write x = 5; b: r = read x : 5; b: branch r == 4";
    symbolic(other)
        .gives(expect!["1 2 => step 1: event 2 was recorded as false, but its condition gives 1"]);
    let assume = "init x = 0; a: write x = 5; b: r = read x : 5; b: assume r != 0";
    symbolic(assume).gives(expect![[r#"
        0 1 2 => Real
        1 2 => step 1: event 2 was recorded as true, but its condition gives 0
    "#]]);
    let assert = assume.replace("assume", "assert");
    symbolic(&assert).gives(expect![[r#"
        0 1 2 => Real
        1 2 => step 1: event 2 asserts what does not hold
    "#]]);
    // One that was recorded not to hold may be passed either way.
    let failed = "init x = 5; a: write x = 0; b: r = read x : 0; b: assert r != 0; b: external";
    symbolic(failed).gives(expect![[r#"
        0 1 2 3 => Real
        1 2 => Real
    "#]]);
}

#[test]
fn an_opaque_event_needs_its_thread_s_reads_as_recorded() {
    let opaque = |event: &str| format!("init x = 0; a: write x = 5; b: r = read x : 5; b: {event}");
    for event in [
        "external",
        "branch : true",
        "assert : true",
        "assume : true",
        "write y",
        "write y : 3",
        "rmw y : 0 -> 1",
    ] {
        let text = opaque(event);
        symbolic(&text).gives(expect![[r#"
            0 1 2 => Real
            1 2 => step 1: event 2 may depend on event 1, which is not as recorded: it reads 0 instead of 5
        "#]]);
    }
    for event in
        ["write y = 7", "write y = r", "let s = r", "acquire m", "fence acquire", "branch 1 : true"]
    {
        symbolic(&opaque(event)).gives(expect!["1 2 => Real"]);
    }
    // A write of the same value is as good, and other threads' reads do not matter.
    let same = "init x = 0; a: write x = 5; c: write x = 5; b: r = read x : 5; b: external";
    symbolic(same).gives(expect!["0 2 3 => Real"]);
    let others = "init x = 0; a: write x = 5; b: r = read x : 5; c: external";
    symbolic(others).gives(expect!["1 2 => Real"]);
    // A later read does not hide an earlier one.
    let twice = "init x = 0; b: read x : 0; a: write x = 5; b: read x : 5; b: external";
    symbolic(twice).gives(expect!["1 0 2 3 => step 3: event 3 may depend on event 0, which is not as recorded: it reads 5 instead of 0"]);
}

#[test]
fn an_opaque_read_modify_write_depends_on_its_own_reading() {
    let text = "init x = 0; a: write x = 5; b: rmw x : 5 -> 6";
    symbolic(text).gives(expect![[r#"
        0 1 => Real
        1 => step 0: event 1 may depend on event 1, which is not as recorded: it reads 0 instead of 5
    "#]]);
    let counting = "init x = 0; a: write x = 5; b: r = rmw x : 5 -> r + 1; c: s = read x : 6; c: assume s == 6";
    symbolic(counting).gives(expect![[r#"
        0 1 2 3 => Real
        1 2 => Real
        1 2 3 => step 2: event 3 was recorded as true, but its condition gives 0
        1 0 2 3 => step 3: event 3 was recorded as true, but its condition gives 0
    "#]]);
}

#[test]
fn a_read_modify_write_assumes() {
    let text = "init x = 0; a: write x = 5; b: r = rmw x : 5 -> r + 1 assuming r == 5; b: external";
    symbolic(text).gives(expect![[r#"
        0 1 2 => Real
        1 => step 0: event 1 sees 0, of which its assumption does not hold
    "#]]);
    let weaker = text.replace("r == 5", "r != 7");
    symbolic(&weaker).gives(expect![[r#"
        1 => Real
        1 2 => step 1: event 2 may depend on event 1, which is not as recorded: it reads 0 instead of 5
    "#]]);
    // What it assumes does not count, so the whole event is opaque.
    let unknown =
        "init x = 0; a: write x = 5; b: q = read z; b: r = rmw x : 5 -> r + 1 assuming r != q";
    symbolic(unknown).gives(expect![[r#"
        0 1 2 => Real
        1 2 => step 1: event 2 may depend on event 2, which is not as recorded: it reads 0 instead of 5
    "#]]);
}

#[test]
fn an_expression_counts_only_with_recorded_values() {
    let unread = "init x = 0; a: write x = 5; b: r = read x; b: branch r > 0 : true; b: external";
    symbolic(unread).gives(expect![[r#"
        0 1 2 3 => Real
        1 => Real
        1 2 => step 1: event 2 may depend on event 1, which is not as recorded: it reads 0 instead of an unrecorded value
    "#]]);
    let unstored = "init x = 0; a: write x = 5; b: r = read x : 5; b: s = read z; b: write y = s; b: write y = s + r";
    symbolic(unstored).gives(expect![[r#"
        0 1 2 3 4 => Real
        1 2 3 => step 2: event 3 may depend on event 1, which is not as recorded: it reads 0 instead of 5
    "#]]);
    let wide = "init x[0:4] = 0; a: write x[0:16]; b: r = read x[0:16]; b: write x[0:16] = 7";
    symbolic(wide).gives(expect![[r#"
        0 1 2 => Real
        1 => step 0: event 1 reads what the initial state left in object 0 at 4, which has no value, but expects what event 0 left
    "#]]);
}

#[test]
fn names_are_followed_through_lets() {
    let text = "init x = 1; a: write x = 5; b: r = read x : 5; b: let s = r + 1; b: let r = s * 2; b: let t = r + s; b: branch t == 18; b: write y = t; c: u = read y : 18; c: branch u > 5";
    symbolic(text).gives(expect![[r#"
        0 1 2 3 4 5 6 7 8 => Real
        1 2 3 4 5 => step 4: event 5 was recorded as true, but its condition gives 0
    "#]]);
    let free = text.replace("t == 18", "t > 5");
    symbolic(&free).gives(expect!["1 2 3 4 5 6 7 8 => Real"]);
    let narrow = free.replace("u > 5", "u > 6");
    symbolic(&narrow).gives(expect![
        "1 2 3 4 5 6 7 8 => step 7: event 8 was recorded as true, but its condition gives 0"
    ]);
    // A `let` of what is not known is no opaque event, but what uses it is.
    let unknown = "init x = 1; a: write x = 5; b: r = read x : 5; b: q = read z; b: let s = r + q; b: branch s > 0 : true";
    symbolic(unknown).gives(expect![[r#"
        1 2 3 => Real
        1 2 3 4 => step 3: event 4 may depend on event 1, which is not as recorded: it reads 1 instead of 5
    "#]]);
    // Each thread has names of its own.
    let names = "init x = 1; a: r = read x : 1; a: write x = r + 1; b: r = read x : 2; b: write y = r; a: write z = r";
    symbolic(&format!("{names}; c: v = read z : 1; c: assume v == 1"))
        .gives(expect!["2 3 0 1 4 5 6 => Real"]);
}

#[test]
fn unvalued_contents_are_seen_only_as_recorded() {
    let text = "init x = 1; a: write x; b: r = read x : 7; b: branch r == 7; c: write x";
    symbolic(text).gives(expect![[r#"
        0 1 2 => Real
        3 1 => step 1: event 1 reads what event 3 left in object 0 at 0, which has no value, but expects what event 0 left
        1 => Real
        1 2 => step 1: event 2 was recorded as true, but its condition gives 0
        0 3 1 => step 2: event 1 reads what event 3 left in object 0 at 0, which has no value, but expects what event 0 left
    "#]]);
    let expects_value = "init x = 1; a: write x = 5; b: r = read x : 5; c: write x";
    symbolic(expects_value).gives(expect!["2 1 => step 1: event 1 reads what event 2 left in object 0 at 0, which has no value, but expects what event 0 left"]);
    // What a read sees where nothing is known at the beginning.
    let beginning = "a: write x = 5; b: read x : 5";
    symbolic(beginning).gives(expect!["1 => step 0: event 1 reads what the initial state left in object 0 at 0, which has no value, but expects what event 0 left"]);
}

#[test]
fn values_are_made_of_bytes() {
    let text = "init x = 0; a: write x[0:1] = 1; b: write x[1:1] = 2; c: r = read x[0:2] : 513; c: branch r == 513; d: write x = 0";
    symbolic(text).gives(expect![[r#"
        0 1 2 3 => Real
        0 2 3 => step 2: event 3 was recorded as true, but its condition gives 0
        1 2 3 => step 2: event 3 was recorded as true, but its condition gives 0
        0 4 1 2 3 => step 4: event 3 was recorded as true, but its condition gives 0
        4 1 0 2 3 => Real
    "#]]);
    // A wide value computed is cut into bytes, and each byte may come from another writer.
    let cut = "init x[0:4] = 0; a: p = read y[0:2] : 0; a: write x[0:2] = p + 0x1fff0; b: write x[1:2] = 0; c: r = read x[0:4] : 0xf0; c: branch r == 0xf0; d: write y[0:2] = 3";
    symbolic(cut).gives(expect![[r#"
        0 1 2 3 4 => Real
        5 0 1 2 3 4 => step 5: event 4 was recorded as true, but its condition gives 0
        0 1 3 4 => step 3: event 4 was recorded as true, but its condition gives 0
    "#]]);
    // One byte unvalued: it counts with what the read saw there.
    let half = "init x[0:1] = 0; a: write x[1:1]; c: r = read x[0:2] : 0x300; c: branch r >= 0x300; b: write x[0:1] = 9; c: branch r == 0x309 : false";
    symbolic(half).gives(expect![[r#"
        0 1 2 3 4 => Real
        0 3 1 2 => Real
        0 3 1 2 4 => step 4: event 4 was recorded as false, but its condition gives 1
        1 => step 0: event 1 reads what the initial state left in object 0 at 1, which has no value, but expects what event 0 left
    "#]]);
}

#[test]
fn a_read_with_an_unknown_writer_is_pinned() {
    let text = "init x = 0; a: write y = 1; b: r = read x : 7; b: branch r == 7; b: external";
    symbolic(text).gives(expect![[r#"
        0 1 2 3 => Possible
        1 => step 0: event 1 has an unknown writer, and event 0 was recorded before it
    "#]]);
    // Private: the thread's own, whatever it stored.
    let private = "init y = 0; a: write y = 1; b: q = read y : 1; b: write x = q; b: r = read x : 7; b: branch r == 7";
    symbolic(private).gives(expect!["1 2 3 4 => Possible"]);
}

#[test]
fn without_known_dependences_all_reads_are_pinned() {
    let text = "init x = 0; a: write x = 5; c: write x = 5; b: r = read x : 5; b: write y = r";
    symbolic(text).gives(expect!["2 3 => Real"]);
    let unknown = format!("dependences unknown; {text}");
    symbolic(&unknown).gives(expect![[r#"
        0 2 3 => Real
        2 => step 0: event 2 reads what the initial state left in object 0 at 0, but expects what event 1 left
    "#]]);
    control(&unknown).gives(expect!["2 3 => Possible"]);
}

#[test]
fn a_remote_read_is_free_under_every_model() {
    let text = "a: region begin; a: write x; a: write x; b: r = read x : 2; b: fence acquire";
    symbolic(text).gives(expect![[r#"
        atomicity 1 3 2: 0 1 3 => Real
        atomicity 1 3 2: 0 1 3 4 => step 2: event 3 reads what event 1 left in object 0 at 0, which has no value, but expects what event 2 left
    "#]]);
    control(text).gives(expect![[r#"
        atomicity 1 3 2: 0 1 3 => Possible
        atomicity 1 3 2: 0 1 3 4 => Possible
    "#]]);
}

#[test]
fn under_control_only_synchronisation_counts() {
    let text = "init x = 0; a: write x = 5; b: r = read x : 5; b: branch r == 5; b: external; b: r = rmw x : 5 -> r + 1 assuming r == 5; b: acquire m; b: release m; c: acquire m";
    control(text).gives(expect![[r#"
        1 2 3 4 => Possible
        1 2 3 4 5 7 => step 5: event 7 acquires lock 0, which thread 1 still holds
    "#]]);
    control("a: alloc o size 8; a: write o = 1; b: read o : 1; a: free o")
        .gives(expect!["2 => step 0: event 2 uses object 0, which is not live"]);
    control("init x = 0; a: external; b: read x : 7").gives(expect!["1 => Possible"]);
}
