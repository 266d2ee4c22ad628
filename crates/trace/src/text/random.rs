//! Random traces and random damage: printing loses nothing, parsing never panics.

use super::*;
use crate::event::*;
use crate::expr::{BinaryOp, CastWidth, Expr, UnaryOp};
use crate::ids::*;
use crate::provenance::{LeftOut, Provenance, Walked};
use crate::store::LockKind;
use foretrace_testing::Random;

const NAMES: [&str; 32] = [
    "x",
    "y",
    "shared",
    "a b",
    "",
    "\"",
    "\\",
    "#",
    "@",
    "a#b",
    "a:b",
    "a::b",
    "a:",
    "::",
    "->",
    "p->q",
    "a=b",
    "a[0]",
    "-5",
    "\n",
    "\u{a0}",
    "é",
    "recursive",
    "\u{feff}",
    "u",
    "u8",
    "s63",
    "u8(x)",
    "*",
    "by",
    ">x",
    "<",
];

fn random_expr(random: &mut Random, depth: usize, bound: &[NameId]) -> Expr {
    let literals = [0, 1, 7, u64::MAX, 1 << 63, 1 << 62];
    if depth == 0 {
        return match bound.is_empty() || random.below(2) == 0 {
            true => Expr::Literal(random.pick(&literals)),
            false => Expr::Name(random.pick(bound)),
        };
    }
    let below = |random: &mut Random| {
        let depth = random.below(depth);
        Box::new(random_expr(random, depth, bound))
    };
    match random.below(7) {
        0 => {
            Expr::Unary(random.pick(&[UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot]), below(random))
        }
        1 => Expr::IfThenElse(below(random), below(random), below(random)),
        2 => {
            let width = CastWidth::new(1 + random.below(63) as u32).unwrap();
            let casts = [UnaryOp::ZeroExtend(width), UnaryOp::SignExtend(width)];
            Expr::Unary(random.pick(&casts), below(random))
        }
        _ => Expr::Binary(random.pick(&BinaryOp::ALL), below(random), below(random)),
    }
}

/// A fact about anything.
fn random_fact(random: &mut Random, name: &str) -> Provenance {
    let text = name.to_string();
    match random.below(4) {
        0 => Provenance::UnknownWriter { at: Some(text) },
        1 => random.pick(LeftOut::ALL).into(),
        2 => {
            let function = (random.below(2) == 0).then(|| random.pick(&NAMES).to_string());
            Walked::Unsupported { what: text, function }.into()
        }
        _ => Provenance::Other(text),
    }
}

/// Any events in any order, with any names: not valid, but printable.
fn random_trace(random: &mut Random) -> Trace {
    let mut builder = Trace::builder();
    for _ in 0..random.below(12) {
        let name = random.pick(&NAMES);
        match random.below(10) {
            8 => {
                let channel = builder.channel(name);
                builder.set_delayed(channel);
            }
            0 => drop(builder.thread(name)),
            1 => drop(builder.object(name)),
            2 => drop(builder.cond(name)),
            3 => drop(builder.location(name)),
            4 => drop(builder.name(name)),
            5 => {
                let lock = builder.lock(name);
                let kinds = [LockKind::Unknown, LockKind::Plain, LockKind::Recursive];
                builder.set_lock_kind(lock, random.pick(&kinds));
            }
            6 => {
                let sem = builder.semaphore(name);
                builder.set_semaphore(sem, random.below(3) as u32);
            }
            7 => {
                let barrier = builder.barrier(name);
                builder.set_barrier(barrier, 1 + random.below(3) as u32);
            }
            _ => {
                let object = builder.object(name);
                let at = Place { object, offset: random.below(9) as u32, size: 4 };
                builder.set_initial(at, random.below(9) as u64);
                builder.tell(random_fact(random, name), random.below(9) as u64);
                builder.declare_benign(at, random.pick(&NAMES));
            }
        }
    }
    if random.below(4) == 0 {
        builder.set_dependences(crate::Dependences::Unknown);
    }
    let mut bound: Vec<(ThreadId, NameId, Option<u64>)> = Vec::new();
    for _ in 0..random.below(12) {
        let thread = builder.thread(random.pick(&NAMES));
        let location = (random.below(2) == 0).then(|| builder.location(random.pick(&NAMES)));
        let object = builder.object(random.pick(&NAMES));
        let lock = builder.lock(random.pick(&NAMES));
        let cond = builder.cond(random.pick(&NAMES));
        let sem = builder.semaphore(random.pick(&NAMES));
        let barrier = builder.barrier(random.pick(&NAMES));
        let child = builder.thread(random.pick(&NAMES));
        let directions = [Direction::Gives, Direction::Takes, Direction::Both];
        let channel = |builder: &mut crate::Builder, random: &mut Random| {
            (builder.channel(random.pick(&NAMES)), random.pick(&directions))
        };
        let list: Vec<_> = (0..random.below(4)).map(|_| channel(&mut builder, random)).collect();
        let on = match random.below(4) {
            0 => builder.every_channel(),
            1 => {
                let (source, _) = channel(&mut builder, random);
                let piece = (random.below(2) == 0).then(|| builder.channel(random.pick(&NAMES)));
                builder.channels_awaiting(&list, Some(Awaited { source, piece }))
            }
            _ => builder.channels(&list),
        };
        let by = (random.below(2) == 0).then(|| builder.function(random.pick(&NAMES)));
        let mode = random.pick(&[Mode::Exclusive, Mode::Shared]);
        let patience = random.pick(&[Patience::Blocking, Patience::Timed, Patience::Try]);
        let order = random.pick(&[
            MemoryOrder::Plain,
            MemoryOrder::Relaxed,
            MemoryOrder::Acquire,
            MemoryOrder::Release,
            MemoryOrder::AcqRel,
            MemoryOrder::SeqCst,
        ]);
        let reasons = [WakeReason::Notified, WakeReason::TimedOut, WakeReason::Spurious];
        let reason = random.pick(&reasons);
        let size = random.pick(&[1, 2, 4, 8, 16]);
        let at = Place { object, offset: random.pick(&[0, 0, 4, 1 << 31]), size };
        let word = random.pick(&[0, 1, 200, u64::MAX, 1 << 63]);
        let value = (random.below(3) > 0).then(|| eval::truncate(word, size));
        let yes = random.below(2) == 0;
        let names = |of: ThreadId, bound: &[(ThreadId, NameId, Option<u64>)]| {
            bound.iter().filter(|row| row.0 == of).map(|row| row.1).collect::<Vec<_>>()
        };
        let bind = |builder: &mut crate::Builder, bound: &mut Vec<_>, name: &str| {
            let name = builder.name(name);
            bound.retain(|row: &(ThreadId, NameId, _)| (row.0, row.1) != (thread, name));
            bound.push((thread, name, eval::bound_value(value, size)));
            name
        };
        let push =
            |builder: &mut crate::Builder, op: Op| builder.push(Event { thread, op, location });
        match random.below(24) {
            0 | 1 => {
                let event = push(&mut builder, Op::Read { at, value, order });
                if yes {
                    let name = bind(&mut builder, &mut bound, random.pick(&NAMES));
                    builder.bind(event, name);
                }
            }
            kind @ 2..6 => {
                let is_rmw = kind >= 4;
                let name =
                    (is_rmw && yes).then(|| bind(&mut builder, &mut bound, random.pick(&NAMES)));
                let expr =
                    (random.below(2) == 0).then(|| random_expr(random, 4, &names(thread, &bound)));
                let known = |name: NameId| {
                    bound.iter().find(|row| (row.0, row.1) == (thread, name)).unwrap().2
                };
                let computed = expr.as_ref().and_then(|expr| eval::evaluate(expr, &known));
                let computed = computed.map(|word| eval::truncate(word, size));
                let stored = if random.below(2) == 0 { None } else { computed.or(value) };
                let op = match is_rmw {
                    true => Op::Rmw { at, read: value, written: stored, order },
                    false => Op::Write { at, value: stored, order },
                };
                let event = push(&mut builder, op);
                name.inspect(|&name| builder.bind(event, name));
                if let Some(expr) = expr {
                    builder.express(event, expr);
                }
                let assumed = random_expr(random, 2, &names(thread, &bound));
                let holds = eval::evaluate(&assumed, &known) != Some(0);
                if is_rmw && holds && random.below(2) == 0 {
                    builder.assume(event, assumed);
                }
            }
            8 => {
                let expr = random_expr(random, 4, &names(thread, &bound));
                let known = |name: NameId| {
                    bound.iter().find(|row| (row.0, row.1) == (thread, name)).unwrap().2
                };
                let value = eval::evaluate(&expr, &known);
                let event = push(&mut builder, Op::Let);
                let name = builder.name(random.pick(&NAMES));
                bound.retain(|row| (row.0, row.1) != (thread, name));
                bound.push((thread, name, value));
                builder.bind(event, name);
                builder.express(event, expr);
            }
            6 | 7 => {
                let expr =
                    (random.below(2) == 0).then(|| random_expr(random, 4, &names(thread, &bound)));
                let known = |name: NameId| {
                    bound.iter().find(|row| (row.0, row.1) == (thread, name)).unwrap().2
                };
                let computed = expr.as_ref().and_then(|expr| eval::evaluate(expr, &known));
                let outcome = computed.map_or(yes, |word| word != 0);
                let ops = [
                    Op::Branch { taken: outcome },
                    Op::Assert { holds: outcome },
                    Op::Assume { holds: outcome },
                ];
                let event = push(&mut builder, random.pick(&ops));
                if let Some(expr) = expr {
                    builder.express(event, expr);
                }
            }
            _ => {
                let ops = [
                    Op::Acquire { lock, mode, patience },
                    Op::AcquireFailed { lock, mode, patience },
                    Op::Release { lock, mode },
                    Op::Destroy { lock },
                    Op::Wait { cond, lock, timed: yes },
                    Op::Wake { cond, lock, reason },
                    Op::Signal { cond },
                    Op::Broadcast { cond },
                    Op::SemWait { sem, patience },
                    Op::SemWaitFailed { sem, patience },
                    Op::SemPost { sem },
                    Op::Arrive { barrier },
                    Op::Leave { barrier },
                    Op::Request(Request::Acquire(lock, mode)),
                    Op::Request(Request::SemWait(sem)),
                    Op::Request(Request::Join(child)),
                    Op::Fork { child },
                    Op::Join { child },
                    Op::Begin,
                    Op::End,
                    Op::Exit,
                    Op::Alloc { object, size, address: value },
                    Op::Free { object },
                    Op::RegionBegin,
                    Op::RegionEnd,
                    Op::Fence { order },
                    Op::External,
                    Op::EnterCall { on, by },
                    Op::LeaveCall,
                ];
                push(&mut builder, random.pick(&ops));
            }
        }
    }
    builder.finish()
}

#[test]
fn random_traces_come_back_whole() {
    for seed in 1..4000 {
        let trace = random_trace(&mut Random::new(seed));
        let printed = print(&trace);
        match parse(&printed) {
            Ok(back) => assert_eq!(back, trace, "seed {seed}\n{printed}"),
            Err(error) => panic!("seed {seed}: {error}\n{printed}"),
        }
    }
}

#[test]
fn mutated_texts_never_panic() {
    let pieces: [&[u8]; 16] = [
        b"\"",
        b"\\u{",
        b"=",
        b":",
        b"->",
        b"[",
        b"99999999999999999999",
        b"-",
        b"\xff",
        b"\n",
        b"(",
        b"?",
        b"#",
        b"@",
        b"0x",
        b"\xc3\xa9",
    ];
    let mut accepted = 0;
    for seed in 1..6000 {
        let mut random = Random::new(seed);
        let mut text = print(&random_trace(&mut random)).into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len() + 1);
            let end = (at + random.below(4)).min(text.len());
            let piece = random.pick(&pieces);
            text.splice(at..end, piece.iter().copied());
        }
        if let Ok(trace) = parse(&text) {
            accepted += 1;
            assert_eq!(parse(print(&trace)), Ok(trace), "seed {seed}");
        }
    }
    assert!(accepted > 100, "{accepted} texts were still traces");
}
