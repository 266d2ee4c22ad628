//! Expressions for people: what was read is called by where it was read from.
//!
//! **Computes.** The text of an event's expression. In a recorded program reads have made-up names,
//! `r0`, `r1`, …; the variable says more, so `r2 >= 0` becomes `balance >= 0`. Names that a trace
//! gives are left alone, and so is what was read from memory without a name of its own: a list of
//! values says where that was read. A whole variable whose sign counts is shown as a number with a
//! sign, and without the cast that says so.
//!
//! **Cost.** Looks back at most [`FAR`] events of the thread for each expression.

use foretrace_trace::expr::{Expr, ExprRef, UnaryOp};
use foretrace_trace::text::{Leaves, show_with};
use foretrace_trace::{EventId, NameId, Place, Trace};

/// How many events of its thread a read may be before its use.
const FAR: usize = 4096;

/// An expression and what its names mean.
pub(crate) struct Readable<'t> {
    trace: &'t Trace,
    expression: Expr,
    names: Vec<Named>,
}

struct Named {
    name: NameId,
    /// Where it was read, if it is not a name of the trace's own.
    from: Option<Place>,
    /// What to call it.
    word: String,
    /// It is a number with a sign, of that many bits.
    signed: Option<u32>,
}

impl<'t> Readable<'t> {
    /// The expression of an event.
    pub(crate) fn of(trace: &'t Trace, event: EventId, expression: ExprRef<'_>) -> Readable<'t> {
        let expression = expression.tree();
        let mut used = Vec::new();
        collect(&expression, None, &mut used);
        let mut names: Vec<Named> = Vec::new();
        for &(name, _) in &used {
            if names.iter().all(|known| known.name != name) {
                let word = trace.name(name).to_string();
                names.push(Named { name, from: None, word, signed: None });
            }
        }
        let mut readable = Readable { trace, expression, names };
        readable.find_reads(event);
        readable.find_words();
        readable.find_signs(&used);
        readable
    }

    fn find_reads(&mut self, event: EventId) {
        let trace = self.trace;
        let is_made_up = |named: &Named| named.word == format!("r{}", named.name.index());
        let mut open = self.names.iter().filter(|named| is_made_up(named)).count();
        if open == 0 {
            return;
        }
        let events = trace.thread_events(trace.thread_of(event));
        let before = events.partition_point(|&other| other < event);
        for &other in events[..before].iter().rev().take(FAR) {
            let Some(name) = trace.binding(other) else { continue };
            let mut names = self.names.iter_mut();
            let is_asked = |named: &&mut Named| {
                named.name == name && named.from.is_none() && is_made_up(named)
            };
            let Some(named) = names.find(is_asked) else { continue };
            named.from = trace.access(other).map(|access| access.at);
            open -= 1;
            if open == 0 {
                return;
            }
        }
    }

    /// Calls reads by the variable, if that has a name and no other read here is of the same one.
    fn find_words(&mut self) {
        let words: Vec<Option<String>> =
            self.names.iter().map(|named| variable(self.trace, named.from?)).collect();
        for (at, named) in self.names.iter_mut().enumerate() {
            let is_alone = words.iter().filter(|word| **word == words[at]).count() == 1;
            if let (Some(word), true) = (&words[at], is_alone) {
                named.word = word.clone();
            }
        }
    }

    /// A read is a number with a sign if it is used as one everywhere, and as a whole.
    fn find_signs(&mut self, used: &[(NameId, Option<u32>)]) {
        for named in &mut self.names {
            let Some(from) = named.from else { continue };
            let mut casts = used.iter().filter(|(name, _)| *name == named.name);
            let bits = 8 * from.size;
            named.signed = casts.all(|(_, cast)| *cast == Some(bits)).then_some(bits);
        }
    }

    fn named(&self, name: NameId) -> &Named {
        self.names.iter().find(|named| named.name == name).expect("all names are listed")
    }

    /// The text of the expression.
    pub(crate) fn show(&self) -> String {
        let bare = self.without_casts(&self.expression);
        let name = |name: NameId, out: &mut String| out.push_str(&self.named(name).word);
        show_with(&bare, &Leaves { name: &name, number: &number })
    }

    /// Casts that only say which numbers have a sign are left out.
    fn without_casts(&self, expression: &Expr) -> Expr {
        let bare = |part: &Expr| Box::new(self.without_casts(part));
        match expression {
            Expr::Literal(_) | Expr::Name(_) => expression.clone(),
            Expr::Unary(UnaryOp::SignExtend(_), operand)
                if matches!(**operand, Expr::Name(name)
                    if self.named(name).signed.is_some()) =>
            {
                (**operand).clone()
            }
            Expr::Unary(op, operand) => Expr::Unary(*op, bare(operand)),
            Expr::Binary(op, left, right) => Expr::Binary(*op, bare(left), bare(right)),
            Expr::IfThenElse(condition, then, other) => {
                Expr::IfThenElse(bare(condition), bare(then), bare(other))
            }
        }
    }

    /// What a name is worth: `balance = -60`, or `r0 = 5 from stack of T0+16`.
    pub(crate) fn equation(&self, name: NameId, value: u64) -> String {
        let Some(named) = self.names.iter().find(|named| named.name == name) else {
            return format!("{} = {}", self.trace.name(name), value as i64);
        };
        let value = match named.signed {
            Some(bits @ 1..=63) => (value << (64 - bits)) as i64 >> (64 - bits),
            _ => value as i64,
        };
        let mut text = format!("{} = ", named.word);
        number(value as u64, &mut text);
        if let Some(at) = named.from
            && named.word == self.trace.name(name)
        {
            text += &format!(" from {}", self.trace.place_name(at));
        }
        text
    }
}

/// All uses of names, each with the width of the signed cast directly around it.
fn collect(expression: &Expr, cast: Option<u32>, used: &mut Vec<(NameId, Option<u32>)>) {
    match expression {
        Expr::Literal(_) => {}
        Expr::Name(name) => used.push((*name, cast)),
        Expr::Unary(op, operand) => {
            let cast = if let UnaryOp::SignExtend(width) = op { Some(width.bits()) } else { None };
            collect(operand, cast, used);
        }
        Expr::Binary(_, left, right) => {
            collect(left, None, used);
            collect(right, None, used);
        }
        Expr::IfThenElse(condition, then, other) => {
            [condition, then, other].into_iter().for_each(|part| collect(part, None, used));
        }
    }
}

/// A place that can stand in an expression: `accounts[8]`.
fn variable(trace: &Trace, at: Place) -> Option<String> {
    let named = trace.source_name(at);
    let name = named.as_deref().unwrap_or_else(|| trace.name(at.object));
    let can_stand = |c: char| c.is_alphanumeric() || "_$.:@#<>()[]*".contains(c);
    if !name.chars().all(can_stand) {
        return None;
    }
    let is_whole = at.offset == 0 || named.is_some();
    Some(if is_whole { name.to_string() } else { format!("{name}[{}]", at.offset) })
}

/// Large numbers are addresses or bits. Those just below 2^32 are negative ones of 32 bits.
fn number(word: u64, out: &mut String) {
    let value = small_negative(word).unwrap_or(word as i64);
    match value.unsigned_abs() >= 1 << 32 {
        true => out.push_str(&format!("{word:#x}")),
        false => out.push_str(&value.to_string()),
    }
}

/// The number that these 32 bits are with a sign, if that is negative and near 0: nobody
/// means 4294967295.
pub(crate) fn small_negative(word: u64) -> Option<i64> {
    const NEAR: i64 = 1 << 16;
    let value = (word as i64).wrapping_sub(1 << 32);
    (-NEAR..0).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use foretrace_trace::{Op, text};

    use super::*;

    /// The condition of the last assertion, and what each of its names is worth if all are `value`.
    fn shown(trace: &str, value: u64) -> String {
        let trace = text::parse(trace).unwrap();
        let is_assertion = |event: &EventId| matches!(trace.op(*event), Op::Assert { .. });
        let assertion = (0..trace.len()).map(EventId::from).rfind(is_assertion).unwrap();
        let readable = Readable::of(&trace, assertion, trace.expression(assertion).unwrap());
        let worth = readable.names.iter().map(|named| readable.equation(named.name, value));
        format!("{} ({})", readable.show(), worth.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn reads_are_called_by_their_variables() {
        let trace = "a: r0 = read x[0:4] : 1\na: r1 = read pair[4:4] : 2\na: assert u32(r0 + r1) == 3 : true\n";
        assert_eq!(shown(trace, 5), "u32(x + pair[4]) == 3 (x = 5, pair[4] = 5)");
    }

    #[test]
    fn numbers_are_those_that_people_mean() {
        let number = |word| {
            let mut text = String::new();
            super::number(word, &mut text);
            text
        };
        let shown = [7, 0xffff_fffe, u64::MAX, 1 << 63, i64::MAX as u64].map(number);
        assert_eq!(shown, ["7", "-2", "-1", "0x8000000000000000", "0x7fffffffffffffff"]);
    }

    #[test]
    fn a_whole_variable_with_a_sign_needs_no_cast() {
        let trace = "a: r0 = read x[0:4] : 1\na: assert s32(r0) >= 0 : true\n";
        assert_eq!(shown(trace, 0xffff_ffc4), "x >= 0 (x = -60)");
        let half = "a: r0 = read x[0:4] : 1\na: assert s16(r0) >= 0 : true\n";
        assert_eq!(shown(half, 0x12_ffff), "s16(x) >= 0 (x = 1245183)");
        let both = "a: r0 = read x[0:4] : 1\na: assert s32(r0) >= 0 || r0 == 7 : true\n";
        assert_eq!(shown(both, 7), "s32(x) >= 0 || x == 7 (x = 7)");
    }

    #[test]
    fn names_of_the_trace_stay() {
        let trace = "a: seen = read x : 1\na: assert seen >= 0 : true\n";
        assert_eq!(shown(trace, 1), "seen >= 0 (seen = 1)");
    }

    #[test]
    fn what_the_variable_would_not_tell_apart_says_where_it_is_from() {
        let twice = "a: r0 = read x[0:4] : 1\na: r1 = read x[0:4] : 1\na: assert r0 == r1 : true\n";
        assert_eq!(shown(twice, 1), "r0 == r1 (r0 = 1 from x, r1 = 1 from x)");
        let stack = "a: r0 = read \"stack of T0\"[8:4] : 1\na: assert r0 == 1 : true\n";
        assert_eq!(shown(stack, 1), "r0 == 1 (r0 = 1 from stack of T0+8)");
    }

    #[test]
    fn addresses_are_hexadecimal() {
        let trace = "a: r0 = read x[0:8] : 1\na: assert r0 != 93824992231424 : true\n";
        assert_eq!(shown(trace, 0x5555_5555_0000), "x != 0x555555554000 (x = 0x555555550000)");
    }
}
