//! The generator's promise: valid traces, the same for the same seed, of every kind.

use foretrace_oracle::{explore, generate, is_recorded_order_feasible};
use foretrace_trace::validate::validate;
use foretrace_trace::{Model, text};

#[test]
fn recorded_orders_are_feasible() {
    for seed in 0..5_000 {
        let trace = generate(seed);
        for model in [Model::ReadsFrom, Model::Values] {
            assert!(
                is_recorded_order_feasible(&trace, model),
                "seed {seed}\n{}",
                text::print(&trace)
            );
        }
    }
}

#[test]
fn what_reads_from_finds_values_finds_too() {
    for seed in 0..500 {
        let trace = generate(seed);
        let strict = explore(&trace, Model::ReadsFrom, true);
        let lenient = explore(&trace, Model::Values, true);
        if strict.complete && lenient.complete {
            assert!(strict.violations.is_subset(&lenient.violations), "seed {seed}");
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
