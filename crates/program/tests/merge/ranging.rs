//! Accesses whose address depends on what was read: with the guard of the address they range over
//! the places of their object.

use expect_test::expect;
use foretrace_program::explore::STATE_BUDGET;
use foretrace_program::print;

use super::{found, merged};

/// Each thread takes the next slot.
const SLOTS: &str = "\
init n = 0
init slot[0:4] = 0
init slot[4:4] = 0
init slot[8:4] = 0
a: i = read n : 0 atomic
a: write n = i + 1 : 1 atomic
a: branch i * 4 == 0 : true else address 12
a: write slot[0:4] = 1 : 1 @ a
a: end
b: i = read n : 1 atomic
b: write n = i + 1 : 2 atomic
b: branch i * 4 == 4 : true else address 12
b: j = read slot[4:4] : 0 @ b
b: assert j == 0 : true @ c
b: end
";

#[test]
fn an_access_is_one_of_several() {
    let text = print(&merged(&[SLOTS]));
    let (_, functions) = text.split_once("func b() {").expect("there is a thread b");
    let function = functions.split("\n}").next().unwrap_or_default();
    let function = format!("func b() {{{function}\n}}\n");
    expect![[r#"
        func b() {
          %0:
            i = load atomic n
            %1 = i + 1
            store atomic n, %1
            %2 = i * 4
            %3 = %2 == 0
            %4 = i * 4
            %5 = %4 == 4
            %6 = %3 | %5
            %7 = i * 4
            %8 = %7 == 8
            %9 = %6 | %8
            assume %9
            %10 = i * 4 @ b
            switch %10 { 0: %1, 4: %2, else: %3 } @ b
          %1:
            %11 = load "slot"[0:4] @ b
            jump %4(%11) @ b
          %2:
            %12 = load "slot"[4:4] @ b
            jump %4(%12) @ b
          %3:
            %13 = load "slot"[8:4] @ b
            jump %4(%13) @ b
          %4(%14: 32):
            j = u64(%14) @ b
            %16 = j == 0 @ c
            assert %16 @ c
            return
        }
    "#]]
    .assert_eq(&function);
}

/// Both may take the same one; and the reader may come there second.
#[test]
fn other_places_are_explored() {
    let found = found(&merged(&[SLOTS]), STATE_BUDGET).expect("it is small");
    expect!["assertion c; race a b"].assert_eq(&found.into_iter().collect::<Vec<_>>().join("; "));
    let pinned = SLOTS.replace(" else address 12", "");
    let found = super::found(&merged(&[&pinned]), STATE_BUDGET).expect("it is small");
    assert!(found.is_empty(), "{found:?}");
}

/// An address that is said to be in none of the places stops its thread.
#[test]
fn outside_is_nothing() {
    let text = SLOTS.replace("else address 12", "else address 8").replace(
        "a: i = read n : 0 atomic",
        "a: write n = 9 : 9 atomic\na: write n = 0 : 0 atomic\na: i = read n : 0 atomic",
    );
    let found = found(&merged(&[&text]), STATE_BUDGET).expect("it is small");
    assert!(found.iter().all(|violation| !violation.contains("undefined behaviour")), "{found:?}");
}
