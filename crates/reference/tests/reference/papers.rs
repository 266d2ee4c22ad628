//! The papers' worked examples.

use foretrace_reference::{Options, Scope};
use foretrace_verdict::{Model, Violation};

use super::{at, fails, parse, races, schedule};

/// 000 Fig. 1: `{t3}` stands for what is stored at t3.
fn figure_1(t3: &str) -> String {
    FIGURE_1.replace("{t3}", t3)
}

const FIGURE_1: &str = "\
semaphore l = 1
init x = 0
init y = 0
T1: a = read x : 0 @ t1
T1: semwait l @ t2
T1: write x = {t3} + a @ t3
T1: sempost l @ t4
T1: write y = 1 + a @ t5
T1: semwait l @ t6
T1: write x = 1 + a @ t7
T1: sempost l @ t8
T2: let b = 0 @ t9
T2: semwait l @ t10
T2: xs = read x : 1 @ t11
T2: branch xs > b : true @ t11.branch
T2: ys = read y : 1 @ t12
T2: assert ys == 1 : true @ here
T2: sempost l @ t13
";

#[test]
fn the_assertion_of_figure_1_fails_under_symbolic_only() {
    let input = figure_1("2");
    let found =
        [Model::ReadsFrom, Model::Values, Model::Symbolic].map(|model| fails(&input, model));
    assert_eq!(found, [false, false, true]);
    let with_a_lock = input
        .replace("semaphore l = 1\n", "")
        .replace("semwait", "acquire")
        .replace("sempost", "release");
    let found =
        [Model::ReadsFrom, Model::Values, Model::Symbolic].map(|model| fails(&with_a_lock, model));
    assert_eq!(found, [false, false, true]);
}

/// What t11 must see is stored at t3 already, and only the assertion uses what t12 sees.
#[test]
fn the_assertion_of_figure_7_fails_under_values_too() {
    let input = figure_1("1");
    let found =
        [Model::ReadsFrom, Model::Values, Model::Symbolic].map(|model| fails(&input, model));
    assert_eq!(found, [false, true, true]);
}

/// A prefix needs one switch; a run of all events needs a second one, back to T1.
#[test]
fn figure_1_needs_one_switch_or_two() {
    let trace = parse(&figure_1("2"));
    let violation = Violation::Assertion(at(&trace, "here"));
    let least = |scope| {
        let fits = |bound: &u32| {
            let options = Options { bound: Some(*bound), scope, ..Options::new(Model::Symbolic) };
            schedule(&trace, &violation, &options).is_some()
        };
        (0..5).find(fits)
    };
    assert_eq!((least(Scope::Prefix), least(Scope::Whole)), (Some(1), Some(2)));
}

/// 000 Fig. 5: the first triple makes a branch go the other way.
#[test]
fn one_triple_of_figure_5_exists_only_as_a_prefix() {
    let trace = parse(include_str!("../../../../litmus/paper-000-fig5.trace"));
    let found = |first, remote, second, scope| {
        let [first, remote, second] = [first, remote, second].map(|location| at(&trace, location));
        let options = Options { scope, ..Options::new(Model::Symbolic) };
        schedule(&trace, &Violation::Atomicity { first, remote, second }, &options).is_some()
    };
    for (triple, in_whole_runs) in [
        (["t1", "t5", "t2"], false),
        (["t1", "t5", "t4"], true),
        (["t2", "t5", "t4"], true),
        (["t1", "t6", "t4"], true),
    ] {
        let [first, remote, second] = triple;
        assert!(found(first, remote, second, Scope::Prefix), "{triple:?}");
        assert_eq!(found(first, remote, second, Scope::Whole), in_whole_runs, "{triple:?}");
    }
}

/// 000 Fig. 9 (a), rebuilt: not violable, since t5 needs t3 to see a number above 0.
#[test]
fn the_triple_of_figure_9a_is_infeasible() {
    let trace = parse(include_str!("../../../../litmus/paper-000-fig9a.trace"));
    let [first, remote, second] = ["t1", "t5", "t2"].map(|location| at(&trace, location));
    let violation = Violation::Atomicity { first, remote, second };
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        assert_eq!(schedule(&trace, &violation, &Options::new(model)), None, "{}", model.name());
    }
}

/// 002 Fig. 1, run 1: `symbolic` finds the pair on b.x too.
#[test]
fn figure_1_of_002_has_a_second_race_under_symbolic() {
    let trace = parse(include_str!("../../../../litmus/paper-002-fig1-run1.trace"));
    let accesses: Vec<_> = trace.accesses().collect();
    let count = |model: Model| {
        let pairs = accesses.iter().flat_map(|&(a, one)| {
            accesses
                .iter()
                .filter(move |&&(b, two)| a < b && one.conflicts(&two))
                .map(move |&(b, _)| (a, b))
        });
        pairs
            .filter(|&(a, b)| trace.thread_of(a) != trace.thread_of(b))
            .filter(|&(a, b)| {
                schedule(&trace, &Violation::Race(a, b), &Options::new(model)).is_some()
            })
            .count()
    };
    assert_eq!([Model::ReadsFrom, Model::Values, Model::Symbolic].map(count), [1, 1, 2]);
}

/// 002 Fig. 3: T2 may read x = 20, and nothing branches on it.
#[test]
fn figure_3_of_002_races_under_symbolic_only() {
    let input = include_str!("../../../../litmus/paper-002-fig3.trace");
    let found = [Model::ReadsFrom, Model::Values, Model::Symbolic]
        .map(|model| races(input, model, "t1.y", "t2.y"));
    assert_eq!(found, [false, false, true]);
}
