//! The examples of `docs/program-form.md` are what the page says.

use std::collections::BTreeSet;

use foretrace_program::explore::STATE_BUDGET;
use foretrace_program::validate::check_bounded;
use foretrace_program::*;

fn examples() -> Vec<Program> {
    let book = include_str!("../../../docs/program-form.md");
    let texts = book.split("```program\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    texts
        .map(|text| {
            let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            validate(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
            check_bounded(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
            assert_eq!(parse(&print(&program)).as_ref(), Ok(&program));
            program
        })
        .collect()
}

#[test]
fn the_examples_in_the_book_have_no_violation() {
    let examples = examples();
    assert_eq!(examples.len(), 5);
    for program in &examples {
        let explored = explore(&Machine::new(program), STATE_BUDGET);
        let found: BTreeSet<_> = explored.violations.keys().collect();
        assert!(explored.complete && found.is_empty(), "{found:?}\n{}", print(program));
    }
}

#[test]
fn without_its_lock_the_first_example_loses_an_update() {
    let text = print(&examples()[0]).replace("    acquire m\n", "").replace("    release m\n", "");
    let program = parse(&text).unwrap();
    let explored = explore(&Machine::new(&program), STATE_BUDGET);
    let count = |is: fn(&Violation) -> bool| explored.violations.keys().filter(|v| is(v)).count();
    assert_eq!(count(|v| matches!(v, Violation::Assertion(_))), 1);
    assert_eq!(count(|v| matches!(v, Violation::Race(..))), 2);
}
