//! The expressions of events: all in one row of bytes, in the order of the events.

use super::sparse::Sparse;
use crate::expr::ExprRef;
use crate::ids::EventId;

/// An expression for each of some events.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Expressions {
    /// Where each begins; it ends where the next one begins.
    starts: Sparse<usize>,
    code: Vec<u8>,
}

impl Expressions {
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    #[inline]
    pub(crate) fn get(&self, event: EventId) -> Option<ExprRef<'_>> {
        let (is_there, at) = self.starts.find(event);
        is_there.then(|| self.at(at))
    }

    fn start(&self, at: usize) -> usize {
        self.starts.values().get(at).copied().unwrap_or(self.code.len())
    }

    #[inline]
    fn at(&self, at: usize) -> ExprRef<'_> {
        ExprRef::new(&self.code[self.start(at)..self.start(at + 1)])
    }

    /// Gives an event an expression, in place of what it had; `write` appends the bytes of it.
    /// Cheap behind all others.
    pub(crate) fn insert(&mut self, event: EventId, write: impl FnOnce(&mut Vec<u8>)) {
        let (is_there, at) = self.starts.find(event);
        let end = self.code.len();
        if at == self.starts.len() {
            write(&mut self.code);
            return self.starts.insert(event, end);
        }
        let mut new = Vec::new();
        write(&mut new);
        let old = self.start(at)..if is_there { self.start(at + 1) } else { self.start(at) };
        self.starts.insert(event, old.start);
        for start in &mut self.starts.values_mut()[at + 1..] {
            *start = *start - old.len() + new.len();
        }
        self.code.splice(old, new);
    }

    /// All events that have an expression.
    pub(crate) fn keys(&self) -> impl Iterator<Item = EventId> + '_ {
        self.starts.keys()
    }

    /// All events that have an expression, with it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EventId, ExprRef<'_>)> {
        self.keys().enumerate().map(|(at, event)| (event, self.at(at)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::expr::nodes::encode;
    use crate::expr::{BinaryOp, Expr};
    use foretrace_testing::Random;

    #[test]
    fn the_order_does_not_matter() {
        let mut random = Random::new(3);
        let mut expressions = Expressions::default();
        let mut map = BTreeMap::new();
        for _ in 0..500 {
            let event = EventId(random.below(300) as u32);
            let mut expr = Expr::Literal(random.below(1 << 20) as u64);
            for _ in 0..random.below(3) {
                expr = Expr::Binary(BinaryOp::Sub, expr.into(), Expr::Literal(7).into());
            }
            expressions.insert(event, |code| expr.for_each_node(|node| encode(code, node)));
            map.insert(event, expr);
        }
        assert_eq!(expressions.len(), map.len());
        for event in (0..400).map(EventId) {
            assert_eq!(expressions.get(event).map(|expr| expr.tree()).as_ref(), map.get(&event));
        }
        let mut ordered = Expressions::default();
        for (event, expr) in &map {
            ordered.insert(*event, |code| expr.for_each_node(|node| encode(code, node)));
        }
        assert_eq!(expressions, ordered);
    }
}
