//! The fuzz targets on stable, over a few thousand mutated inputs each: what `cargo fuzz` does for
//! hours, for a second.

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub)]
mod targets;

use foretrace_oracle::{Random, generate};
use foretrace_trace::{binary, export, text};

const INPUTS: u64 = 3_000;

/// Feeds the target inputs that are a seed with a few mutations, some with none.
fn run(target: fn(&[u8]), seed_input: impl Fn(&mut Random) -> Vec<u8>) {
    for number in 0..foretrace_testing::cases(INPUTS, 300 * INPUTS) {
        let mut random = Random::new(number);
        let mut input = seed_input(&mut random);
        for _ in 0..random.below(4) {
            mutate(&mut input, &mut random);
        }
        target(&input);
    }
}

/// Changes, takes out, repeats or inserts some bytes.
fn mutate(input: &mut Vec<u8>, random: &mut Random) {
    let (at, end) = (random.below(input.len() + 1), random.below(input.len() + 1));
    let (from, to) = (at.min(end), at.max(end).min(at.min(end) + 1 + random.below(40)));
    match random.below(5) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.pick(&[0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'-', b'9']);
            }
        }
        2 => drop(input.drain(from..to)),
        3 => {
            let again = input[from..to].to_vec();
            input.splice(at..at, again);
        }
        _ => {
            let bytes: Vec<u8> = (0..random.below(6)).map(|_| random.number() as u8).collect();
            input.splice(at..at, bytes);
        }
    }
}

/// A line made of these words, as the importers' formats are.
fn lines(random: &mut Random, line: impl Fn(&mut Random) -> String) -> Vec<u8> {
    (0..random.below(14)).map(|_| line(random) + "\n").collect::<String>().into_bytes()
}

#[test]
fn oracle() {
    for seed in 0..300_u64 {
        targets::oracle(&seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
    targets::oracle(&[]);
}

#[test]
fn text_form() {
    run(targets::text, |random| text::print(&generate(random.number())).into_bytes());
}

#[test]
fn binary_form() {
    run(targets::binary, |random| {
        binary::encode(&generate(random.number())).expect("written to memory")
    });
}

#[test]
fn std_form() {
    run(targets::std, |random| {
        let mut exported = Vec::new();
        if random.chance(50) && export::write_std(&generate(random.number()), &mut exported).is_ok()
        {
            return exported;
        }
        lines(random, |random| {
            let thread = random.pick(&["T0", "T1", "T2"]);
            let operation = random.pick(&[
                "acq(L0)", "rel(L0)", "acq(L1)", "rel(L1)", "r(V0)", "w(V0)", "fork(T1)",
                "join(T1)", "begin", "end", "req(L0)",
            ]);
            let location = random.pick(&["", "1", "f(int):3"]);
            format!("{thread}|{operation}|{location}")
        })
    });
}

#[test]
fn rapidbin() {
    run(targets::rapidbin, |random| {
        let events: Vec<u64> = (0..random.below(12))
            .map(|_| {
                let (thread, operation) = (random.below(3), random.below(10));
                let (object, location) = (random.below(3), random.below(4));
                (thread | operation << 10 | object << 14 | location << 48) as u64
            })
            .collect();
        let mut bytes = Vec::new();
        bytes.extend(3_i16.to_be_bytes());
        bytes.extend(3_i32.to_be_bytes());
        bytes.extend(3_i32.to_be_bytes());
        bytes.extend((events.len() as i64).to_be_bytes());
        bytes.extend(events.iter().flat_map(|event| event.to_be_bytes()));
        bytes
    });
}

#[test]
fn csv() {
    run(targets::csv, |random| {
        lines(random, |random| {
            let operation = random.pick(&["RD", "WR", "LK", "UK", "SIG", "WT", "ARD", "AWR"]);
            let (thread, object) = (random.below(3), random.below(3));
            let source = random.pick(&["nil", "a.go:1"]);
            format!("{thread},{operation},{object},{source},{object}")
        })
    });
}

#[test]
fn rvpredict() {
    run(targets::rvpredict, |random| {
        let mut bytes = vec![random.pick(&[0, 0, 1, 2, 0x81])];
        let events = random.below(12);
        for event in 0..events {
            bytes.extend((1 + event as i64).to_le_bytes());
            bytes.extend((1 + random.below(2) as i64).to_le_bytes());
            bytes.extend((random.below(3) as i32).to_le_bytes());
            bytes.extend((0x1000 + random.below(3) as u64).to_le_bytes());
            bytes.extend((random.below(2) as u64).to_le_bytes());
            bytes.push(random.below(19) as u8);
        }
        bytes
    });
}

#[test]
fn recording() {
    run(targets::recording, |random| {
        let mut bytes = vec![random.below(2) as u8];
        let mut word = |word: u64| bytes.extend(word.to_le_bytes());
        let mut stamp = 0;
        if random.below(4) > 0 {
            word(1);
            word(0);
        }
        for _ in 0..random.below(24) {
            // Kind, detail, operands; what has stamps counts them.
            let address = 0x5555_0000 + 8 * random.below(3) as u64;
            match random.below(9) {
                0 => [1, random.below(3) as u64].into_iter().for_each(&mut word),
                1 => [8 | 8 << 8, address, random.below(2) as u64].into_iter().for_each(&mut word),
                2 => [9 | 4 << 8, address, random.below(2) as u64].into_iter().for_each(&mut word),
                3 => word(16 | 2 << 8 | (random.below(3) as u64) << 18),
                4 => [10, address, 72].into_iter().chain([7; 9]).for_each(&mut word),
                kind => {
                    stamp += 1;
                    let kinds = [34, 35, 48, 50, 52, 57, 58, 59, 66, 68, 73, 74, 80, 81];
                    let head = kinds[random.below(kinds.len())];
                    word(head);
                    word(if kind == 5 { random.below(3) as u64 } else { address });
                    if matches!(head, 57 | 58 | 80) {
                        word(address);
                    }
                    word(stamp);
                }
            }
        }
        bytes
    });
}
