//! Several runs, merged: what is found in them is in the program, and with all runs it is all that
//! is in the program.

mod figure_11;
mod generate;
mod mirror;
mod ranging;
mod recorded;
mod refusals;
mod statements;

use std::collections::{BTreeSet, HashSet};

use foretrace_program::explore::{STATE_BUDGET, explore};
use foretrace_program::run::{Action, Event, State};
use foretrace_program::validate::check_bounded;
use foretrace_program::{
    GlobalId, Machine, Program, Site, Violation, executions, merge, parse, print, validate,
};
use foretrace_trace::{ThreadId, Trace, WakeReason, text};

use figure_11::{ELSE_THEN, THEN_ELSE};
use generate::{GLOBALS, Generated, Mix, Random, generate};
use mirror::mirror;

fn read(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    validate(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
    program
}

fn trace(text: &str) -> Trace {
    text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Merges traces, and checks that the program is what a program has to be.
fn merged(texts: &[&str]) -> Program {
    let traces: Vec<Trace> = texts.iter().map(|text| trace(text)).collect();
    let traces: Vec<&Trace> = traces.iter().collect();
    let program =
        merge(&traces).unwrap_or_else(|error| panic!("{error}\n{}", texts.join("\n--\n")));
    validate(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{}", print(&program)));
    check_bounded(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{}", print(&program)));
    let again = read(&print(&program));
    assert_eq!(print(&again), print(&program));
    program
}

/// What is wrong with a program, by locations; `None` if there are too many states.
fn found(program: &Program, budget: u64) -> Option<BTreeSet<String>> {
    let explored = explore(&Machine::new(program), budget);
    let at = |site: Site| program.location(site).unwrap_or("?").to_string();
    let show = |violation: &Violation| match violation {
        Violation::Assertion(site) => format!("assertion {}", at(*site)),
        Violation::Race(a, b) => {
            let (a, b) = (at(*a), at(*b));
            format!("race {} {}", (&a).min(&b), (&a).max(&b))
        }
        Violation::LockError(error, site) => format!("{error} {}", at(*site)),
        Violation::Undefined(what, site) => format!("undefined behaviour: {what} {}", at(*site)),
        Violation::Deadlock(sites) => {
            let sites: BTreeSet<String> = sites.iter().map(|&site| at(site)).collect();
            format!("deadlock {sites:?}")
        }
    };
    explored.complete.then(|| explored.violations.keys().map(show).collect())
}

#[test]
fn paper_000_figure_11_fails_only_if_both_runs_are_merged() {
    let fails = |texts: &[&str]| {
        found(&merged(texts), STATE_BUDGET).expect("it is small").contains("assertion t5")
    };
    assert!(!fails(&[THEN_ELSE]));
    assert!(!fails(&[ELSE_THEN]));
    assert!(fails(&[THEN_ELSE, ELSE_THEN]));

    let program = merged(&[THEN_ELSE, ELSE_THEN]);
    let value = |name| program.find_global(name).expect("it is there");
    let failing = executions(&Machine::new(&program)).find(|execution| {
        execution.events.iter().any(|event| event.action == Action::Assert { holds: false })
    });
    let state = failing.expect("there is one").state;
    assert_eq!((state.value(value("x")), state.value(value("y"))), (2, 2));
}

/// `docs/program-form.md` shows two runs and what they become.
#[test]
fn the_runs_in_the_book_become_the_program_behind_them() {
    let book = include_str!("../../../../docs/program-form.md");
    let (_, section) = book.split_once("## Merged runs").expect("there is such a section");
    let mut blocks = section.split("```").skip(1).step_by(2);
    let mut block = |kind: &str| {
        let text = blocks.next().and_then(|block| block.strip_prefix(kind));
        text.expect("two traces and a program").trim_start()
    };
    let runs = [block("trace"), block("trace")];
    assert_eq!(print(&merged(&runs)), block("program"));
}

/// Everything that memory can hold; `None` if there are too many states.
fn memories(program: &Program, budget: usize) -> Option<BTreeSet<Vec<u64>>> {
    let machine = Machine::new(program);
    let global = |(name, ..): &(&str, u32, u64)| program.find_global(name).expect("it is declared");
    let globals: Vec<GlobalId> = GLOBALS.iter().map(global).collect();
    let mut memories = BTreeSet::new();
    let mut seen: HashSet<State> = HashSet::new();
    let mut open = vec![machine.start().0];
    while let Some(state) = open.pop() {
        if seen.contains(&state) {
            continue;
        }
        if seen.len() == budget {
            return None;
        }
        memories.insert(globals.iter().map(|&global| state.value(global)).collect());
        for chosen in machine.moves(&state) {
            let mut after = state.clone();
            machine.step(&mut after, chosen).expect("the step is possible");
            open.push(after);
        }
        seen.insert(state);
    }
    Some(memories)
}

/// How many cases, and from which seed on; `FORETRACE_MERGES` and `FORETRACE_SEED` say otherwise.
fn seeds(cases: u64) -> std::ops::Range<u64> {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let start = number("FORETRACE_SEED", 1);
    start..start + number("FORETRACE_MERGES", cases)
}

/// A run with a random schedule, sometimes only the beginning of it.
fn random_run(program: &Program, random: &mut Random) -> Vec<Event> {
    let (_, mut events) = Machine::new(program).run(|moves| random.below(moves.len()));
    if random.chance(20) {
        events.truncate(random.below(events.len() + 1));
    }
    events
}

#[test]
fn what_is_found_in_some_runs_is_in_the_program() {
    let (mut compared, mut wrong, mut skipped) = (0, 0, 0);
    for seed in seeds(800) {
        let mix = Mix { opaque: seed % 2 == 0, waits: seed % 3 == 0 };
        let generated = generate(seed, mix);
        let text = generated.program();
        let program = read(&text);
        let Some(truth) = found(&program, 100_000) else { continue };
        let mut random = Random::new(seed ^ 0x5555);
        let declare = !random.chance(10);
        let count = 1 + random.below(4);
        let runs = (0..count).map(|_| random_run(&program, &mut random));
        let runs: Vec<String> =
            runs.map(|events| generated.trace(&program, &events, declare)).collect();
        let texts: Vec<&str> = runs.iter().map(String::as_str).collect();
        let traces: Vec<Trace> = texts.iter().map(|text| trace(text)).collect();
        if !declare && merge(&traces.iter().collect::<Vec<_>>()).is_err() {
            skipped += 1;
            continue;
        }
        let merged = merged(&texts);
        let found = found(&merged, 1_000_000).expect("there are fewer states than in the program");
        let extra: Vec<&String> = found.difference(&truth).collect();
        let all = texts.join("--\n");
        assert!(extra.is_empty(), "seed {seed}: {extra:?}\n{text}\n{all}\n{}", print(&merged));
        for _ in 0..20 {
            if let Err(step) = mirror(&merged, &program, &mut random) {
                panic!("seed {seed}: {step}\n{text}\n{all}\n{}", print(&merged));
            }
        }
        compared += 1;
        wrong += usize::from(!found.is_empty());
    }
    println!("{compared} compared, {wrong} with something wrong, {skipped} without initial values");
    let cases = seeds(800).count();
    assert!(compared * 4 > cases * 3 && wrong * 4 > compared);
}

/// Runs that show every way of every thread; `None` if the program has too many executions, or its
/// traces do not say enough.
fn all_ways(generated: &Generated, program: &Program, limit: usize) -> Option<Vec<String>> {
    let machine = Machine::new(program);
    let mut seen: HashSet<(ThreadId, Vec<(Site, bool)>)> = HashSet::new();
    let mut runs = Vec::new();
    for (number, execution) in executions(&machine).enumerate() {
        if number == limit {
            return None;
        }
        let mut is_new = false;
        for thread in execution.state.thread_ids() {
            let of_thread = execution.events.iter().filter(|event| event.thread == thread);
            let outcome = |action: Action| match action {
                Action::Branch { taken } => taken,
                Action::AcquireFailed { .. } | Action::SemWaitFailed { .. } => false,
                Action::Wake { reason, .. } => reason == WakeReason::Notified,
                other => matches!(other, Action::Rmw { .. }),
            };
            let way = of_thread.map(|event| (event.site, outcome(event.action))).collect();
            is_new |= seen.insert((thread, way));
        }
        if is_new {
            runs.push(generated.trace(program, &execution.events, true));
        }
    }
    Some(runs)
}

#[test]
fn what_is_found_in_all_runs_is_all_that_is_in_the_program() {
    let (mut compared, mut wrong, mut most) = (0, 0, 0);
    for seed in seeds(400) {
        let generated = generate(seed, Mix { opaque: false, waits: seed % 3 == 0 });
        let text = generated.program();
        let program = read(&text);
        let Some(runs) = all_ways(&generated, &program, 3000) else { continue };
        most = most.max(runs.len());
        let texts: Vec<&str> = runs.iter().map(String::as_str).collect();
        let merged = merged(&texts);
        // Runs do not show an operation that blocks for ever, so they do not show that all are
        // blocked.
        let shown = |program: &Program| {
            let mut all = found(program, STATE_BUDGET).expect("it has few executions");
            all.retain(|wrong| !wrong.starts_with("deadlock"));
            all
        };
        let (found, truth) = (shown(&merged), shown(&program));
        assert_eq!(found, truth, "seed {seed}\n{text}\n{}\n{}", texts.join("--\n"), print(&merged));
        let (can, could) = (memories(&merged, 1_000_000), memories(&program, 1_000_000));
        assert_eq!(can, could, "seed {seed}\n{text}\n{}\n{}", texts.join("--\n"), print(&merged));
        compared += 1;
        wrong += usize::from(!truth.is_empty());
    }
    println!("{compared} compared, {wrong} with something wrong; at most {most} runs");
    let cases = seeds(400).count();
    assert!(compared * 2 > cases && wrong * 4 > compared);
}
