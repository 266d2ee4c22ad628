//! Use after free, two ways: by the cells that `implicit::assert_no` puts into a trace, and by a
//! lock that whoever frees takes behind the free, and that the others release before each access:
//! where somebody holds it then, the memory is gone. Nothing else may change.

use std::collections::BTreeSet;

use foretrace_oracle::{MOST_EVENTS, explore, generate};
use foretrace_predict::{Granularity, Options, implicit, predict};
use foretrace_trace::validate::validate;
use foretrace_trace::{Dependences, EventId, ImplicitFault, Op, Trace, text};
use foretrace_verdict::{LockMisuse, Model, Property, Violation};

/// The accesses by threads other than the one that frees the memory later.
fn accesses(trace: &Trace) -> Vec<EventId> {
    let frees: Vec<(EventId, Op)> =
        trace.other_ops().filter(|(_, op)| matches!(op, Op::Free { .. })).collect();
    let is_other = |event: EventId, free: EventId| trace.thread_of(event) != trace.thread_of(free);
    let is_late = |(event, object): (EventId, _)| {
        frees.iter().any(|&(free, op)| op == Op::Free { object } && is_other(event, free))
    };
    let all = trace.accesses().map(|(event, access)| (event, access.at.object));
    all.filter(|&access| is_late(access)).map(|(event, _)| event).collect()
}

/// The trace with the locks, and the releases before these accesses.
fn with_locks(trace: &Trace, accesses: &[EventId]) -> (Trace, Vec<EventId>) {
    let mut written = Vec::new();
    text::write(trace, &mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let header = lines.len() - trace.len();
    let mut all: Vec<String> = lines[..header].iter().map(|line| line.to_string()).collect();
    let mut releases = Vec::new();
    for (event, described) in trace.events() {
        let thread = trace.name(described.thread);
        if accesses.contains(&event) {
            let object = trace.access(event).unwrap().at.object;
            releases.push(EventId((all.len() - header) as u32));
            all.push(format!("{thread}: release gone{}", object.0));
        }
        all.push(lines[header + event.index()].to_string());
        if let Op::Free { object } = described.op {
            all.push(format!("{thread}: acquire gone{}", object.0));
        }
    }
    (text::parse(all.join("\n")).unwrap(), releases)
}

/// Whether the access, or one before it in its thread to the same memory, is among the late ones.
fn told(trace: &Trace, late: &BTreeSet<EventId>, access: EventId) -> bool {
    let memory = |event: EventId| trace.access(event).map(|access| access.at.object);
    let same = |&event: &EventId| {
        trace.thread_of(event) == trace.thread_of(access) && memory(event) == memory(access)
    };
    late.range(..=access).any(same)
}

/// Violations without what belongs to the question itself, by the events' numbers in the trace
/// without it.
fn others(violations: &BTreeSet<Violation>, numbers: &[Option<EventId>]) -> BTreeSet<Violation> {
    let number = |event: &EventId| numbers[event.index()];
    let known = |violation: &Violation| {
        Some(match violation {
            Violation::Race(a, b) => Violation::Race(number(a)?, number(b)?),
            Violation::Atomicity { first, remote, second } => Violation::Atomicity {
                first: number(first)?,
                remote: number(remote)?,
                second: number(second)?,
            },
            Violation::LockCycle(events) => {
                Violation::LockCycle(events.iter().map(number).collect::<Option<_>>()?)
            }
            Violation::Stuck(event) => Violation::Stuck(number(event)?),
            Violation::Lock(misuse, event) => Violation::Lock(*misuse, number(event)?),
            Violation::Assertion(event) => Violation::Assertion(number(event)?),
        })
    };
    violations.iter().filter_map(known).collect()
}

/// The numbers that the events of a trace with cells have without them.
fn numbers(with_cells: &Trace) -> Vec<Option<EventId>> {
    let mut next = 0;
    let number = |event| {
        let is_old = !with_cells.is_made_up(EventId(event));
        next += u32::from(is_old);
        is_old.then(|| EventId(next - 1))
    };
    (0..with_cells.len() as u32).map(number).collect()
}

#[test]
fn cells_and_locks_find_the_same() {
    let (mut asked, mut found) = (0, 0);
    for seed in 0..60_000 {
        let trace = generate(seed);
        let accesses = accesses(&trace);
        // Where dependences are not known, all reads are pinned: then it is not asked.
        let is_known = trace.dependences() == Dependences::Recorded;
        // Memory that is given out again is asked about only in part.
        let is_asked =
            is_known && !accesses.is_empty() && implicit::given_out_again(&trace).is_empty();
        if !is_asked || trace.len() + 3 * accesses.len() > MOST_EVENTS.min(40) {
            continue;
        }
        let (locked, releases) = with_locks(&trace, &accesses);
        let mut watched = trace.clone();
        implicit::assert_no(&mut watched, &[ImplicitFault::Freed]);
        if let Err(invalid) = validate(&watched) {
            assert!(validate(&trace).is_err(), "seed {seed}: {invalid}");
            continue;
        }
        let numbers = numbers(&watched);
        for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
            let [plain, by_locks, by_cells] =
                [&trace, &locked, &watched].map(|trace| explore(trace, model, false));
            if !(plain.complete && by_locks.complete && by_cells.complete) {
                continue;
            }
            let is_late = |(_, release): &(&EventId, &EventId)| {
                let late = Violation::Lock(LockMisuse::UnlockByOther, **release);
                by_locks.violations.contains(&late)
            };
            let pairs = accesses.iter().zip(&releases).filter(is_late);
            let expected: BTreeSet<EventId> = pairs.map(|(&access, _)| access).collect();
            let access = |violation: &Violation| match violation {
                Violation::Assertion(event) if watched.is_made_up(*event) => {
                    numbers[watched.next(*event).unwrap().index()]
                }
                _ => None,
            };
            let late: BTreeSet<EventId> = by_cells.violations.iter().filter_map(access).collect();
            let shown = || format!("seed {seed}, {}:\n{}", model.name(), text::print(&trace));
            let is_told = |&access: &EventId| told(&trace, &late, access);
            assert!(late.is_subset(&expected), "{late:?}, {expected:?}, {}", shown());
            assert!(expected.iter().all(is_told), "{late:?}, {expected:?}, {}", shown());
            let unchanged = others(&by_cells.violations, &numbers);
            assert_eq!(unchanged, plain.violations, "{}", shown());

            let properties = vec![Property::Assertion];
            let granularity = Granularity::Event;
            let options =
                Options { model: Some(model), properties, granularity, ..Options::default() };
            let prediction = predict(&watched, &options, &()).unwrap();
            let predicted: BTreeSet<EventId> =
                prediction.findings.iter().filter_map(|it| access(&it.violation)).collect();
            assert_eq!(predicted, late, "predicted, {}", shown());
            asked += accesses.len();
            found += expected.len();
        }
    }
    assert!(asked > 1_000 && found > 100 && found < asked, "{found} of {asked}");
}
