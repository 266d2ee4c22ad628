//! The generator's promise: valid traces, the same for the same seed, of every kind.

use expect_test::expect;
use foretrace_oracle::{explore, generate, is_recorded_order_feasible};
use foretrace_trace::text;
use foretrace_trace::validate::validate;
use foretrace_verdict::Model;

#[test]
fn recorded_orders_are_feasible() {
    for seed in 0..5_000 {
        let trace = generate(seed);
        for model in Model::ALL {
            assert!(
                is_recorded_order_feasible(&trace, model),
                "seed {seed}\n{}",
                text::print(&trace)
            );
        }
    }
}

#[test]
fn what_a_model_finds_the_next_one_finds_too() {
    for seed in 0..500 {
        let trace = generate(seed);
        let explored = Model::ALL.map(|model| explore(&trace, model, true));
        for (strict, lenient) in explored.iter().zip(&explored[1..]) {
            if strict.complete && lenient.complete {
                let mut found = lenient.violations.clone();
                found.extend(lenient.unknown.iter().cloned());
                let printed = text::print(&trace);
                assert!(strict.violations.is_subset(&found), "seed {seed}\n{printed}");
            }
        }
    }
}

#[test]
fn traces_are_valid_and_have_a_text_form() {
    for seed in 0..5_000 {
        let trace = generate(seed);
        let printed = text::print(&trace);
        if let Err(invalid) = validate(&trace) {
            panic!("seed {seed}: {invalid}\n{printed}");
        }
        assert_eq!(text::parse(&printed).as_ref(), Ok(&trace), "seed {seed}\n{printed}");
    }
}

#[test]
fn a_seed_is_a_trace() {
    assert_eq!(text::print(&generate(1)), text::print(&generate(1)));
    assert_ne!(text::print(&generate(1)), text::print(&generate(2)));
}

/// A change of the generator that changes these has made `seeds.txt` worthless.
#[test]
fn regression_seeds_keep_their_traces() {
    let seeds = [7275944414207935204, 6160232205540345824, 11678291424476371057];
    let first_lines = |seed: u64| {
        let printed = text::print(&generate(seed));
        let events: Vec<&str> = printed.lines().filter(|line| line.starts_with('t')).collect();
        format!("{} events\n{}\n", generate(seed).len(), events[..4].join("\n"))
    };
    expect![[r#"
        14 events
        t2: read x[0:4] : 16842753 @ a.c:4
        t2: acquire m0 @ a.c:3
        t2: write x[0:4] : 16842753 @ a.c:2
        t1: acquire m1 @ a.c:4
        20 events
        t0: write x : 1099528405249 @ a.c:4
        t0: write x : 72339069031416065 @ a.c:2
        t1: begin
        t1: write x : 1103823372544 @ a.c:4
        11 events
        t0: acquire m0 @ a.c:2
        t0: fork t1 @ a.c:4
        t0: write x[0:1] : 1 @ a.c:4
        t1: write x[0:1] : 0 @ a.c:3
    "#]]
    .assert_eq(&seeds.map(first_lines).concat());
}
