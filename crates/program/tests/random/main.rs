//! Random programs: the text form comes back, every execution is a valid trace, and the exploration
//! agrees with plain enumeration.

mod generate;

use std::collections::{BTreeMap, BTreeSet};

use foretrace_program::explore::{Execution, replay, violations};
use foretrace_program::run::{Action, Event, record};
use foretrace_program::validate::check_bounded;
use foretrace_program::*;
use foretrace_trace::ObjectId;

use generate::generate;

/// Programs that are parsed.
const SEEDS: u64 = 1000;
/// Programs that are run.
const RUN_SEEDS: u64 = 200;
/// Programs with more states than this are only parsed.
const STATES: u64 = 20_000;
/// Programs with more executions than this are not enumerated.
const EXECUTIONS: usize = 1_000;

fn read(seed: u64) -> Program {
    let text = generate(seed);
    let program = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    validate(&program).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}\n{text}"));
    check_bounded(&program).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}\n{text}"));
    program
}

fn machine(program: &Program) -> Machine<'_> {
    Machine::new(program).with_inputs(|input| vec![0, u64::from(input.ordinal) + 1])
}

/// All executions, if they are few.
fn all_executions(machine: &Machine) -> Option<Vec<Execution>> {
    let all: Vec<Execution> = executions(machine).take(EXECUTIONS + 1).collect();
    (all.len() <= EXECUTIONS).then_some(all)
}

#[test]
fn the_text_comes_back() {
    for seed in 0..SEEDS {
        let program = read(seed);
        let text = print(&program);
        let again = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(again, program, "seed {seed}\n{text}");
        let mut canonical = program.clone();
        canonical.functions.iter_mut().for_each(Function::canonicalise);
        assert_eq!(
            canonical, program,
            "seed {seed}: the parser's order is the canonical one\n{text}"
        );
    }
}

/// Blocks and registers in another order mean the same, and come back into order.
#[test]
fn order_is_restored() {
    for seed in 0..SEEDS {
        let program = read(seed);
        let mut random = generate::Random::new(seed);
        for function in &program.functions {
            let mut shuffled = function.clone();
            shuffle(&mut shuffled, &mut random);
            shuffled.canonicalise();
            assert_eq!(&shuffled, function, "seed {seed}\n{}", print(&program));
        }
    }
}

/// Puts blocks but the first, and all registers, in another order.
fn shuffle(function: &mut Function, random: &mut generate::Random) {
    let order = |count: usize, first: usize, random: &mut generate::Random| {
        let mut order: Vec<usize> = (0..count).collect();
        for place in first..count {
            order.swap(place, place + random.below(count - place));
        }
        order
    };
    let blocks = order(function.blocks.len(), 1, random);
    let registers = order(function.registers.len(), 0, random);
    let register = |old: &mut RegisterId| *old = RegisterId::from(registers[old.index()]);
    let operand = |operand: &mut Operand| {
        if let Operand::Register(old) = operand {
            register(old);
        }
    };
    let old = function.clone();
    for (from, &to) in blocks.iter().enumerate() {
        function.blocks[to] = old.blocks[from].clone();
    }
    for (from, &to) in registers.iter().enumerate() {
        function.registers[to] = old.registers[from].clone();
    }
    function.params.iter_mut().for_each(register);
    for block in &mut function.blocks {
        block.params.iter_mut().for_each(register);
        for instruction in &mut block.instructions {
            instruction.result.iter_mut().for_each(register);
            instruction.op.operands_mut().into_iter().for_each(operand);
        }
        block.terminator.kind.operands_mut().into_iter().for_each(operand);
        for target in block.terminator.kind.targets_mut() {
            target.block = BlockId::from(blocks[target.block.index()]);
        }
    }
}

#[test]
fn executions_are_valid_traces_and_show_what_the_exploration_finds() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut actions: BTreeSet<String> = BTreeSet::new();
    for seed in 0..RUN_SEEDS {
        let program = read(seed);
        let machine = machine(&program);
        let explored = explore(&machine, STATES);
        for (violation, steps) in &explored.violations {
            let (state, _) = replay(&machine, steps).expect("the steps are possible");
            assert!(violations(&machine, &state).contains(violation), "seed {seed}: {violation:?}");
        }
        if !explored.complete {
            *kinds.entry("gave up").or_default() += 1;
            continue;
        }
        let Some(all) = all_executions(&machine) else {
            *kinds.entry("too many executions").or_default() += 1;
            continue;
        };
        let mut seen = BTreeSet::new();
        for execution in &all {
            let trace = record(&program, &execution.state, &execution.events);
            foretrace_trace::validate::validate(&trace).unwrap_or_else(|invalid| {
                let text = foretrace_trace::text::print(&trace);
                panic!("seed {seed}: {invalid}\n{text}\n{}", print(&program))
            });
            assert!(reads_see_writes(&program, &execution.events), "seed {seed}");
            actions.extend(execution.events.iter().map(|event| action_kind(event.action)));
            let (mut state, _) = machine.start();
            seen.extend(violations(&machine, &state));
            for &step in &execution.steps {
                machine.step(&mut state, step).expect("the step is possible");
                seen.extend(violations(&machine, &state));
            }
        }
        let found: BTreeSet<Violation> = explored.violations.into_keys().collect();
        assert_eq!(seen, found, "seed {seed}\n{}", print(&program));
        for violation in &found {
            *kinds.entry(kind(violation)).or_default() += 1;
        }
        *kinds.entry(if found.is_empty() { "no violation" } else { "violations" }).or_default() +=
            1;
    }
    println!("{kinds:?}\n{actions:?}");
    let all_actions = [
        "Acquire",
        "AcquireFailed",
        "Alloc",
        "Arrive",
        "Assert",
        "Assume",
        "Begin",
        "Branch",
        "Broadcast",
        "End",
        "Exit",
        "External",
        "Fence",
        "Fork",
        "Free",
        "Join",
        "Leave",
        "Read",
        "RegionBegin",
        "Release",
        "Rmw",
        "SemPost",
        "SemWait",
        "SemWaitFailed",
        "Signal",
        "Wait",
        "Wake Notified",
        "Wake TimedOut",
        "Write",
    ];
    let missing: Vec<_> = all_actions.iter().filter(|action| !actions.contains(**action)).collect();
    assert!(missing.is_empty(), "no execution has {missing:?}");
    let expected =
        ["assertion", "deadlock", "undefined behaviour", "lock error", "no violation", "race"];
    let rare: Vec<_> =
        expected.into_iter().filter(|kind| kinds.get(kind).is_none_or(|&n| n < 5)).collect();
    assert!(rare.is_empty(), "too few of {rare:?} in {kinds:?}");
}

fn action_kind(action: Action) -> String {
    match action {
        Action::Wake { reason, .. } => format!("Wake {reason:?}"),
        _ => format!("{action:?}").split(' ').next().unwrap_or_default().to_string(),
    }
}

/// Whether every read saw what was last written, byte by byte.
fn reads_see_writes(program: &Program, events: &[Event]) -> bool {
    let mut memory: BTreeMap<(ObjectId, u32), u8> = BTreeMap::new();
    for (index, global) in program.globals.iter().enumerate() {
        let bytes = global.bytes().into_iter().enumerate();
        memory.extend(bytes.map(|(at, byte)| ((ObjectId::from(index), at as u32), byte)));
    }
    events.iter().all(|event| {
        let (at, read, written) = match event.action {
            Action::Read { at, value, .. } => (at, value, None),
            Action::Write { at, value, .. } => (at, None, value),
            Action::Rmw { at, read, written, .. } => (at, read, written),
            _ => return true,
        };
        let mut agrees = true;
        for byte in 0..at.size {
            let cell = memory.entry((at.object, at.offset + byte)).or_default();
            let part = |value: u64| (value >> (8 * byte)) as u8;
            agrees &= read.is_none_or(|value| part(value) == *cell);
            *cell = written.map_or(*cell, part);
        }
        agrees
    })
}

fn kind(violation: &Violation) -> &'static str {
    match violation {
        Violation::Assertion(_) => "assertion",
        Violation::Race(..) => "race",
        Violation::LockError(..) => "lock error",
        Violation::Deadlock(_) => "deadlock",
        Violation::Undefined(..) => "undefined behaviour",
    }
}

/// If two neighbouring steps of different threads can change places in a trace so that it stays
/// valid, the result is an execution, too.
#[test]
fn no_interleaving_is_missing() {
    let mut swaps = 0;
    for seed in 0..RUN_SEEDS {
        let program = read(seed);
        let machine = machine(&program);
        if !explore(&machine, STATES).complete {
            continue;
        }
        let Some(all) = all_executions(&machine).filter(|all| all.len() <= 300) else { continue };
        let lists: Vec<Vec<Vec<Event>>> = all.iter().map(|run| by_step(&machine, run)).collect();
        // An execution that had come to its end may be able to go on after the change, so all
        // beginnings count.
        let prefixes = lists.iter().flat_map(|list| (0..=list.len()).map(|end| &list[..end]));
        let known: BTreeSet<String> = prefixes.map(|list| key(&program, list)).collect();
        for (execution, list) in all.iter().zip(&lists) {
            for place in 1..list.len().saturating_sub(1) {
                let mut swapped = list.clone();
                swapped.swap(place, place + 1);
                if swapped[place][0].thread == swapped[place + 1][0].thread {
                    continue;
                }
                let events: Vec<Event> = swapped.concat();
                let trace = record(&program, &execution.state, &events);
                let is_valid = foretrace_trace::validate::validate(&trace).is_ok();
                if is_valid && reads_see_writes(&program, &events) {
                    swaps += 1;
                    let is_known = known.contains(&key(&program, &swapped));
                    let text = foretrace_trace::text::print(&trace);
                    assert!(is_known, "seed {seed}: missing\n{text}\n{}", print(&program));
                }
            }
        }
    }
    println!("{swaps} swaps");
    assert!(swaps > 1000, "only {swaps} swaps were tried");
}

/// What happened at the start, and in each step that others can see.
fn by_step(machine: &Machine, execution: &Execution) -> Vec<Vec<Event>> {
    let (mut state, events) = machine.start();
    let mut list = vec![events];
    for &step in &execution.steps {
        let events = machine.step(&mut state, step).expect("the step is possible");
        if !events.is_empty() {
            list.push(events);
        }
    }
    list
}

fn key(program: &Program, list: &[Vec<Event>]) -> String {
    let visible = list.iter().skip(1).map(|events| events[0]);
    visible
        .map(|event| {
            format!(
                "{:?} {:?} {}\n",
                event.thread,
                event.action,
                text::describe(program, event.site)
            )
        })
        .collect()
}

/// Small changes of good texts are refused with an error or give another program, but never panic.
#[test]
fn damaged_texts_do_not_panic() {
    for seed in 0..SEEDS {
        let text = if seed % 2 == 0 { generate(seed) } else { print(&read(seed)) };
        let mut random = generate::Random::new(seed);
        for _ in 0..10 {
            let mut bytes: Vec<char> = text.chars().collect();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(
                        at,
                        random.pick(&['(', '}', '%', '9', ':', '=', '"', '@', 'é', '\n']),
                    ),
                    _ => bytes[at] = bytes[random.below(bytes.len())],
                }
            }
            let damaged: String = bytes.into_iter().collect();
            if let Ok(program) = parse(&damaged) {
                // What is read can be checked, and what is valid can be printed and run.
                if validate(&program).is_ok() {
                    assert_eq!(parse(&print(&program)).as_ref(), Ok(&program), "{damaged}");
                    explore(&machine(&program), 50);
                }
            }
        }
    }
}
