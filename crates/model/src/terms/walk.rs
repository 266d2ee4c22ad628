//! All that looks at whole terms: evaluation, substitution, symbols, size.
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

    /// The term with symbols replaced, simplified again.
    pub fn substitute(&mut self, term: TermId, substitution: &mut Substitution) -> TermId {
        let is_known = |term| substitution.results.contains_key(&term);
        for term in self.reachable_but([term], is_known) {
            let result = |child: TermId| substitution.results[&child];
            let new = match self.node(term) {
                Node::Constant(_) => term,
                Node::Symbol(symbol) => match substitution.replacements.get(&symbol) {
                    Some(&by) => {
                        assert_eq!(self.width(by), self.width(term), "{symbol:?}: other width");
                        by
                    }
                    None => term,
                },
                node if node.children().all(|child| result(child) == child) => term,
                node => self.rebuild(node, self.width(term), result),
            };
            substitution.results.insert(term, new);
        }
        substitution.results[&term]
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

/// Terms for symbols, and what became of the terms that have them. To be used with one arena.
#[derive(Default, Debug)]
pub struct Substitution {
    replacements: FxHashMap<SymbolId, TermId>,
    results: FxHashMap<TermId, TermId>,
}

impl Substitution {
    /// Replaces nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces a symbol by a term of its width. What is put in is not replaced again.
    pub fn replace(&mut self, symbol: SymbolId, by: TermId) {
        self.replacements.insert(symbol, by);
        self.results.clear();
    }
}

impl FromIterator<(SymbolId, TermId)> for Substitution {
    fn from_iter<I: IntoIterator<Item = (SymbolId, TermId)>>(pairs: I) -> Self {
        Substitution { replacements: pairs.into_iter().collect(), results: FxHashMap::default() }
    }
}

impl Terms {
    /// The operation of a node, with other operands.
    fn rebuild(&mut self, node: Node, width: u32, new: impl Fn(TermId) -> TermId) -> TermId {
        use super::UnaryOp::*;
        match node {
            Node::Constant(_) | Node::Symbol(_) => unreachable!("leaves have no operands"),
            Node::Unary(Not, a) => self.not(new(a)),
            Node::Unary(Neg, a) => self.neg(new(a)),
            Node::Unary(ZeroExtend, a) => self.zext(new(a), width),
            Node::Unary(SignExtend, a) => self.sext(new(a), width),
            Node::Binary(op, a, b) => self.binary(op, new(a), new(b)),
            Node::Concat(a, b) => self.concat(new(a), new(b)),
            Node::Extract { of, low } => self.extract(new(of), low as u32, width),
            Node::Ite(condition, then, other) => self.ite(new(condition), new(then), new(other)),
        }
    }
}
