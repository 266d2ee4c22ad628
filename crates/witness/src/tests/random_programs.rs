//! Random valid traces with expressions: threads that compute with the bytes of one object.

use foretrace_trace::{Trace, validate::validate};

use super::trace;
use foretrace_testing::Random;

/// The bytes of the object `v`.
const BYTES: usize = 4;

/// A program's state, and the text of what it has done.
struct World<'a> {
    random: &'a mut Random,
    text: String,
    bytes: [u8; BYTES],
    /// The names that each thread has bound, and what they are worth.
    names: Vec<Vec<(String, u64)>>,
    holder: Option<usize>,
    /// Opaque events and unrecorded values occur.
    is_murky: bool,
}

/// A valid trace of that many events or a few more.
pub(super) fn random_program(random: &mut Random, length: usize) -> Trace {
    let threads = 2 + random.below_u64(2) as usize;
    let mut text = String::new();
    if random.below_u64(12) == 0 {
        text += "dependences unknown\n";
    }
    if random.below_u64(4) > 0 {
        text += "init v[0:4] = 0\n";
    } else {
        text += "init v[1:2] = 0\n";
    }
    let is_murky = random.below_u64(3) == 0;
    let names = vec![Vec::new(); threads];
    let mut world = World { random, text, bytes: [0; BYTES], names, holder: None, is_murky };
    for _ in 0..length {
        let me = world.random.below_u64(threads as u64) as usize;
        world.act(me);
    }
    let made = trace(&world.text);
    validate(&made).unwrap_or_else(|invalid| panic!("{invalid}\n{}", world.text));
    made
}

impl World<'_> {
    fn say(&mut self, me: usize, what: &str) {
        self.text += &format!("t{me}: {what}\n");
    }

    fn often(&mut self, percent: u64) -> bool {
        self.random.below_u64(100) < percent
    }

    /// Some bytes of `v`, and what they are worth together.
    fn place(&mut self) -> (usize, usize, u64) {
        let size = if self.often(30) { 2 } else { 1 };
        let from = self.random.below_u64((BYTES - size + 1) as u64) as usize;
        let bytes = self.bytes[from..from + size].iter().rev();
        (from, size, bytes.fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn store(&mut self, from: usize, size: usize, value: u64) -> u64 {
        for (index, byte) in self.bytes[from..from + size].iter_mut().enumerate() {
            *byte = (value >> (8 * index)) as u8;
        }
        if size == 1 { value & 0xff } else { value & 0xffff }
    }

    fn bind(&mut self, me: usize, value: u64) -> String {
        let name = format!("n{}", self.random.below_u64(4));
        self.names[me].retain(|(known, _)| *known != name);
        self.names[me].push((name.clone(), value));
        name
    }

    /// An expression of the thread's names, and what it is worth.
    fn expression(&mut self, me: usize, depth: u32) -> (String, u64) {
        if depth == 0 || self.often(20) {
            let names = self.names[me].len() as u64;
            if names > 0 && self.often(75) {
                return self.names[me][self.random.below_u64(names) as usize].clone();
            }
            let literal = self.random.below_u64(4);
            return (literal.to_string(), literal);
        }
        let (left, a) = self.expression(me, depth - 1);
        let (right, b) = self.expression(me, depth - 1);
        let (operator, value) = match self.random.below_u64(8) {
            0..3 => ("+", a.wrapping_add(b)),
            3 => ("-", a.wrapping_sub(b)),
            4 => ("^", a ^ b),
            5 => ("==", u64::from(a == b)),
            6 => ("!=", u64::from(a != b)),
            _ => ("<", u64::from((a as i64) < b as i64)),
        };
        (format!("({left} {operator} {right})"), value)
    }

    fn act(&mut self, me: usize) {
        let (from, size, value) = self.place();
        let at = format!("v[{from}:{size}]");
        let is_unrecorded = self.is_murky && self.often(10);
        let is_opaque = self.is_murky && self.often(15);
        match self.random.below_u64(20) {
            0..6 => {
                let is_strange = self.is_murky && self.often(5);
                let seen = if is_strange { self.random.below_u64(200) } else { value };
                let name = self.bind(me, seen);
                let seen = if is_unrecorded { "?".to_string() } else { seen.to_string() };
                self.say(me, &format!("{name} = read {at} : {seen}"));
            }
            6..11 => {
                let (given, stored) = self.expression(me, 2);
                let stored = self.store(from, size, stored);
                match (is_unrecorded, is_opaque) {
                    (true, _) => self.say(me, &format!("write {at}")),
                    (_, true) => self.say(me, &format!("write {at} : {stored}")),
                    _ => self.say(me, &format!("write {at} = {given} : {stored}")),
                }
            }
            11 => {
                let name = self.bind(me, value);
                let (given, stored) = self.expression(me, 1);
                let stored = self.store(from, size, stored);
                let written =
                    if is_opaque { stored.to_string() } else { format!("{given} : {stored}") };
                let assumed = match self.random.below_u64(3) {
                    0 => format!(" assuming {name} == {value}"),
                    1 => format!(" assuming {name} != {}", value + 1),
                    _ => String::new(),
                };
                self.say(me, &format!("{name} = rmw {at} : {value} -> {written}{assumed}"));
            }
            12 => {
                let (given, value) = self.expression(me, 2);
                let name = self.bind(me, value);
                self.say(me, &format!("let {name} = {given}"));
            }
            choice @ 13..18 => {
                let kind = ["branch", "assert", "assert", "assert", "assume"][choice as usize - 13];
                let (given, value) = self.expression(me, 2);
                let given = if is_opaque { String::new() } else { given };
                self.say(me, &format!("{kind} {given} : {}", value != 0));
            }
            18 => match self.holder {
                None => {
                    self.holder = Some(me);
                    self.say(me, "acquire m");
                }
                Some(holder) => {
                    self.holder = None;
                    self.say(holder, "release m");
                }
            },
            _ if is_opaque => self.say(me, "external"),
            _ => self.say(me, "fence acquire"),
        }
    }
}
