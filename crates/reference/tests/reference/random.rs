//! Small random traces with expressions, mixed sizes, values that are not recorded, locks and
//! semaphores.

use foretrace_testing::Random;
use std::fmt::Write;

/// A run that is being written.
struct Run {
    random: Random,
    text: String,
    /// Those of [`PLACES`] that it mostly uses.
    places: Vec<usize>,
    memory: [[u8; 8]; 2],
    /// The names of each thread, with their values and whether these are recorded.
    names: Vec<Vec<(String, u64)>>,
    /// Who has the lock, and who has it shared.
    writer: Option<usize>,
    readers: Vec<usize>,
    count: u32,
    fresh: usize,
}

const OBJECTS: [&str; 2] = ["x", "y"];
/// Object, offset and size.
const PLACES: [(usize, usize, usize); 10] = [
    (0, 0, 8),
    (1, 0, 8),
    (0, 0, 8),
    (1, 0, 8),
    (0, 0, 4),
    (1, 0, 4),
    (0, 0, 1),
    (0, 1, 1),
    (0, 2, 4),
    (1, 0, 2),
];

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Rmw,
    Let,
    Condition,
    Lock,
    Semaphore,
    External,
    Assertion,
}

/// A valid trace of 5 to 8 events of two or three threads, the first of which is one region. Each
/// has only some kinds of events and few places, so that they meet.
pub(crate) fn random_trace(seed: u64) -> String {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678);
    random.below(2);
    let threads = 2 + usize::from(random.one_in(4));
    let events = 5 + random.below(4);
    let count = random.below(2) as u32;
    let mut kinds = vec![Kind::Read, Kind::Write, Kind::Read, Kind::Write, Kind::Assertion];
    let others =
        [Kind::Rmw, Kind::Let, Kind::Condition, Kind::Lock, Kind::Semaphore, Kind::External];
    for kind in others {
        if random.one_in(3) {
            kinds.extend([kind; 3]);
        }
    }
    let places = (0..1 + random.below(2)).map(|_| random.below(PLACES.len())).collect();
    let mut run = Run {
        random,
        text: format!("semaphore s = {count}\n"),
        places,
        memory: [[0; 8]; 2],
        names: vec![Vec::new(); threads],
        writer: None,
        readers: Vec::new(),
        count,
        fresh: 0,
    };
    if !run.random.one_in(3) {
        run.text.push_str("init x = 0\n");
    }
    if run.random.one_in(2) {
        run.text.push_str("init y[0:4] = 0\n");
    }
    if run.random.one_in(20) {
        run.text.push_str("dependences unknown\n");
    }
    run.text.push_str("t0: region begin\n");
    for _ in 0..events {
        let thread = run.random.below(threads);
        let kind = kinds[run.random.below(kinds.len())];
        run.event(thread, kind);
    }
    run.text
}

impl Run {
    fn event(&mut self, thread: usize, kind: Kind) {
        match kind {
            Kind::Read => self.read(thread),
            Kind::Write => self.write(thread),
            Kind::Rmw => self.rmw(thread),
            Kind::Let => {
                let (expr, value) = self.expression(thread);
                let name = format!("l{}", self.fresh);
                self.fresh += 1;
                _ = writeln!(self.text, "t{thread}: let {name} = {expr}");
                self.names[thread].push((name, value));
            }
            Kind::Condition => self.condition(thread),
            Kind::Lock => self.lock(thread),
            Kind::Semaphore => self.semaphore(thread),
            Kind::External => _ = writeln!(self.text, "t{thread}: external"),
            Kind::Assertion => self.assertion(thread),
        }
    }

    /// A place, and the bytes that it has.
    fn place(&mut self) -> (String, usize, std::ops::Range<usize>) {
        // Mostly the first ones, now and then any other.
        let place = match self.random.one_in(6) {
            true => self.random.below(PLACES.len()),
            false => self.places[self.random.below(self.places.len())],
        };
        let (object, offset, size) = PLACES[place];
        let part = if size == 8 { String::new() } else { format!("[{offset}:{size}]") };
        (format!("{}{part}", OBJECTS[object]), object, offset..offset + size)
    }

    fn load(&self, object: usize, bytes: std::ops::Range<usize>) -> u64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(&self.memory[object][bytes]);
        u64::from_le_bytes(word)
    }

    fn store(&mut self, object: usize, bytes: std::ops::Range<usize>, value: u64) -> u64 {
        let size = bytes.len();
        self.memory[object][bytes.clone()].copy_from_slice(&value.to_le_bytes()[..size]);
        self.load(object, bytes)
    }

    fn order(&mut self) -> &'static str {
        if self.random.one_in(3) { " atomic" } else { "" }
    }

    fn read(&mut self, thread: usize) {
        let (place, object, bytes) = self.place();
        let mut value = self.load(object, bytes);
        if self.random.one_in(12) {
            // A writer that is not recorded.
            value ^= 1;
        }
        let name = format!("r{}", self.fresh);
        self.fresh += 1;
        let seen = if self.random.one_in(8) { "?".to_string() } else { value.to_string() };
        let order = self.order();
        _ = writeln!(
            self.text,
            "t{thread}: {name} = read {place} : {}{order}",
            signed(&place, seen)
        );
        self.names[thread].push((name, value));
    }

    fn write(&mut self, thread: usize) {
        let (place, object, bytes) = self.place();
        let (expr, value) = self.expression(thread);
        let value = self.store(object, bytes, value);
        let value = signed(&place, value.to_string());
        let stored = match self.random.below(12) {
            0 => format!(" : {value}"),
            1 => String::new(),
            2 => format!(" = {expr} : ?"),
            _ => format!(" = {expr} : {value}"),
        };
        let order = self.order();
        _ = writeln!(self.text, "t{thread}: write {place}{stored}{order}");
    }

    fn rmw(&mut self, thread: usize) {
        let (place, object, bytes) = self.place();
        let value = self.load(object, bytes.clone());
        let stored = self.store(object, bytes, value.wrapping_add(1));
        let name = format!("r{}", self.fresh);
        self.fresh += 1;
        let (seen, left) = (signed(&place, value.to_string()), signed(&place, stored.to_string()));
        let stored = match self.random.below(4) {
            0 => left,
            _ => format!("{name} + 1 : {left}"),
        };
        let assuming = match self.random.below(3) {
            0 => format!(" assuming {name} == {seen}"),
            1 => format!(" assuming {name} <= {seen}"),
            _ => String::new(),
        };
        _ = writeln!(self.text, "t{thread}: {name} = rmw {place} : {seen} -> {stored}{assuming}");
        self.names[thread].push((name, value));
    }

    /// An expression over the names of a thread, and its value.
    fn expression(&mut self, thread: usize) -> (String, u64) {
        let number = self.random.below(3) as u64;
        if self.names[thread].is_empty() || self.random.one_in(3) {
            return (number.to_string(), number);
        }
        // Mostly the last one.
        let last = self.names[thread].len() - 1;
        let index = if self.random.one_in(3) { self.random.below(last + 1) } else { last };
        let (name, value) = self.names[thread][index].clone();
        match self.random.below(4) {
            0 => (name, value),
            1 => (format!("{name} * 2"), value.wrapping_mul(2)),
            2 => (format!("{name} ^ {number}"), value ^ number),
            _ => (format!("{name} + {number}"), value.wrapping_add(number)),
        }
    }

    /// A condition, mostly one that holds of few values, and whether it holds.
    fn comparison(&mut self, thread: usize) -> (String, bool) {
        let (expr, value) = match self.names[thread].last() {
            Some((name, value)) if !self.random.one_in(4) => (name.clone(), *value),
            _ => self.expression(thread),
        };
        let number = self.random.below(3) as u64;
        match self.random.below(5) {
            0 => (format!("({expr}) != {number}"), value != number),
            1 => (format!("({expr}) <= {number}"), (value as i64) <= number as i64),
            _ => (format!("({expr}) == {}", value as i64), true),
        }
    }

    fn condition(&mut self, thread: usize) {
        let word = ["branch", "assume"][self.random.below(2)];
        match self.random.one_in(6) {
            true => _ = writeln!(self.text, "t{thread}: {word} : true"),
            false => {
                let (expr, outcome) = self.comparison(thread);
                _ = writeln!(self.text, "t{thread}: {word} {expr} : {outcome}");
            }
        }
    }

    fn assertion(&mut self, thread: usize) {
        if self.names[thread].is_empty() {
            self.read(thread);
        }
        match self.random.one_in(6) {
            true => _ = writeln!(self.text, "t{thread}: assert : {}", self.random.one_in(2)),
            false => {
                let (expr, outcome) = self.comparison(thread);
                _ = writeln!(self.text, "t{thread}: assert {expr} : {outcome}");
            }
        }
    }

    fn lock(&mut self, thread: usize) {
        let shared = self.random.one_in(3);
        let others_read = self.readers.iter().any(|&reader| reader != thread);
        if self.writer == Some(thread) {
            self.writer = None;
            _ = writeln!(self.text, "t{thread}: release m");
        } else if self.readers.contains(&thread) && (shared || others_read || self.writer.is_some())
        {
            self.readers.retain(|&reader| reader != thread);
            _ = writeln!(self.text, "t{thread}: release shared m");
        } else if self.writer.is_some() {
            let mode = if shared { "shared " } else { "" };
            _ = writeln!(self.text, "t{thread}: tryacquire {mode}m : fail");
        } else if shared {
            self.readers.push(thread);
            _ = writeln!(self.text, "t{thread}: acquire shared m");
        } else if others_read {
            _ = writeln!(self.text, "t{thread}: tryacquire m : fail");
        } else {
            self.writer = Some(thread);
            _ = writeln!(self.text, "t{thread}: acquire m");
        }
    }

    fn semaphore(&mut self, thread: usize) {
        if self.random.one_in(2) {
            self.count += 1;
            _ = writeln!(self.text, "t{thread}: sempost s");
        } else if self.count > 0 {
            self.count -= 1;
            _ = writeln!(self.text, "t{thread}: semwait s");
        } else {
            _ = writeln!(self.text, "t{thread}: trysemwait s : fail");
        }
    }
}

/// A value as it is written at a place.
fn signed(place: &str, value: String) -> String {
    match value.parse::<u64>() {
        Ok(value) if !place.contains('[') => (value as i64).to_string(),
        _ => value,
    }
}
