//! Traversals of whole terms: evaluation, symbols, size.
//!
//! **Invariant.** No recursion: the terms below a root are collected with a stack of our own, and
//! because children have smaller ids than parents, going through them in the order of their ids
//! meets children first.
//!
//! **Cost.** O(n log n) for n distinct terms below the roots; what the arena holds beside them
//! costs nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Node, SymbolId, TermId, Terms, value};

impl Terms {
    /// The roots and all terms below them, children before parents, each once.
    pub fn reachable(&self, roots: impl IntoIterator<Item = TermId>) -> Vec<TermId> {
        self.reachable_but(roots, |_| false)
    }

    /// As `reachable`, without what is known already and what is only below that.
    fn reachable_but(
        &self,
        roots: impl IntoIterator<Item = TermId>,
        is_known: impl Fn(TermId) -> bool,
    ) -> Vec<TermId> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<TermId> = roots.into_iter().collect();
        while let Some(term) = stack.pop() {
            if !is_known(term) && seen.insert(term) {
                stack.extend(self.children(term));
            }
        }
        let mut terms: Vec<TermId> = seen.into_iter().collect();
        terms.sort_unstable();
        terms
    }

    /// How many distinct terms a term is made of, itself included.
    pub fn size(&self, term: TermId) -> usize {
        self.reachable([term]).len()
    }

    /// The reads on which a term depends, in increasing order.
    pub fn symbols_of(&self, term: TermId) -> Vec<SymbolId> {
        self.symbols_of_all([term])
    }

    /// The reads on which some of the terms depend, in increasing order.
    pub fn symbols_of_all(&self, terms: impl IntoIterator<Item = TermId>) -> Vec<SymbolId> {
        let symbol = |term: TermId| match self.node(term) {
            Node::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        let mut symbols: Vec<_> = self.reachable(terms).into_iter().filter_map(symbol).collect();
        symbols.sort_unstable();
        symbols
    }

    /// What a term is worth if the reads saw what `assignment` says.
    pub fn evaluate(&self, term: TermId, assignment: &impl Fn(SymbolId) -> u128) -> u128 {
        Evaluation::new(self, assignment).value(term)
    }
}

/// The values of terms, each computed once, while an assignment comes to be: a term can be asked
/// for when its symbols have values, and these do not change any more.
#[derive(Clone, Default, Debug)]
pub struct Values {
    values: FxHashMap<TermId, u128>,
}

impl Values {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// What a term is worth.
    pub fn value(
        &mut self,
        terms: &Terms,
        term: TermId,
        assignment: impl Fn(SymbolId) -> u128,
    ) -> u128 {
        if let Some(&value) = self.values.get(&term) {
            return value;
        }
        let missing = terms.reachable_but([term], |term| self.values.contains_key(&term));
        for term in missing {
            let value = self.operation(terms, term, &assignment);
            self.values.insert(term, value);
        }
        self.values[&term]
    }

    /// The value of a term whose children have theirs.
    fn operation(
        &self,
        terms: &Terms,
        term: TermId,
        assignment: &impl Fn(SymbolId) -> u128,
    ) -> u128 {
        let width = terms.width(term);
        let value = |child: TermId| self.values[&child];
        match terms.node(term) {
            Node::Constant(bits) => bits.get(),
            Node::Symbol(symbol) => {
                let value = assignment(symbol);
                assert!(value <= value::ones(width), "{symbol:?} = {value} in {width} bits");
                value
            }
            Node::Unary(op, a) => value::unary(op, value(a), terms.width(a), width),
            Node::Binary(op, a, b) => op.apply(value(a), value(b), terms.width(b)),
            Node::Concat(a, b) => value(a) << terms.width(b) | value(b),
            Node::Extract { of, low } => value::extract(value(of), low as u32, width),
            Node::Ite(condition, then, other) => {
                if value(condition) == 1 {
                    value(then)
                } else {
                    value(other)
                }
            }
        }
    }
}

/// The values of terms under one assignment, each computed once.
#[derive(Debug)]
pub struct Evaluation<'t, A> {
    terms: &'t Terms,
    assignment: A,
    values: Values,
}

impl<'t, A: Fn(SymbolId) -> u128> Evaluation<'t, A> {
    /// Under the assignment that gives each symbol a value of its width.
    pub fn new(terms: &'t Terms, assignment: A) -> Self {
        Evaluation { terms, assignment, values: Values::default() }
    }

    /// What a term is worth.
    pub fn value(&mut self, term: TermId) -> u128 {
        self.values.value(self.terms, term, &self.assignment)
    }
}
