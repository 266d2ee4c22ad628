//! Dropping the terms that nothing refers to any more.

use super::{FEW, Kind, Node, TermId, Terms, Value, children};

/// Terms that are still needed, while the others are dropped.
pub(crate) struct Keep<'t> {
    terms: &'t mut Terms,
    /// The new number of each old term, 0 if it is not kept so far.
    moved: Vec<u32>,
    nodes: Vec<Node>,
    /// Terms whose parts come first.
    open: Vec<TermId>,
}

impl Terms {
    /// Drops all terms but those that the result is shown.
    pub(crate) fn keep(&mut self) -> Keep<'_> {
        let mut nodes = std::mem::take(&mut self.spare_nodes);
        nodes.clear();
        nodes.push(self.nodes[0]);
        let mut moved = std::mem::take(&mut self.spare_moved);
        moved.clear();
        moved.resize(self.nodes.len(), 0);
        Keep { moved, nodes, open: Vec::new(), terms: self }
    }
}

impl Keep<'_> {
    /// Keeps the term of a value, if it depends on reads that may still differ, and with it its
    /// parts.
    pub(crate) fn value(&mut self, value: &mut Value) {
        *value = self.terms.now(*value);
        value.term = self.term(value.term);
    }

    /// Parts have smaller numbers than what they are parts of, before and after.
    fn term(&mut self, term: TermId) -> TermId {
        if term == TermId::NONE {
            return term;
        }
        let mut open = std::mem::take(&mut self.open);
        open.push(term);
        while let Some(&next) = open.last() {
            if self.moved[next.0 as usize] != 0 {
                open.pop();
                continue;
            }
            let mut node = *self.terms.node(next);
            if !node.fixed {
                let missing = open.len();
                open.extend(children(node.kind).filter(|part| self.moved[part.0 as usize] == 0));
                if open.len() > missing {
                    continue;
                }
            }
            // Nobody asks any more what a fixed term is made of.
            node.kind = match (node.fixed, node.exact) {
                (true, true) => Kind::Number(node.bits),
                (true, false) => Kind::Unmodelled(TermId::NONE, TermId::NONE),
                _ => with_parts(node.kind, |part| TermId(self.moved[part.0 as usize])),
            };
            self.moved[next.0 as usize] = self.nodes.len() as u32;
            self.nodes.push(node);
            open.pop();
        }
        self.open = open;
        TermId(self.moved[term.0 as usize])
    }

    pub(crate) fn finish(self) {
        let Keep { terms, nodes, moved, .. } = self;
        (terms.spare_nodes, terms.spare_moved) =
            (std::mem::replace(&mut terms.nodes, nodes), moved);
        terms.limit = FEW.max(2 * terms.nodes.len());
        terms.shared.clear();
        let Terms { nodes, shared, .. } = terms;
        for (node, term) in nodes.iter().zip(0..).skip(1) {
            if !matches!(node.kind, Kind::Read(_)) {
                let kind_of = |term: u32| nodes[term as usize].kind;
                shared.put(shared.find(node.kind, kind_of), term, kind_of);
            }
        }
    }
}

/// The same with other parts.
fn with_parts(kind: Kind, part: impl Fn(TermId) -> TermId) -> Kind {
    match kind {
        Kind::Number(_) | Kind::Read(_) => kind,
        Kind::Binary { op, width, left, right } => {
            Kind::Binary { op, width, left: part(left), right: part(right) }
        }
        Kind::Truncate { to, of } => Kind::Truncate { to, of: part(of) },
        Kind::SignExtend { from, to, of } => Kind::SignExtend { from, to, of: part(of) },
        Kind::Choice { condition, then, otherwise } => Kind::Choice {
            condition: part(condition),
            then: part(then),
            otherwise: part(otherwise),
        },
        Kind::Unmodelled(a, b) => Kind::Unmodelled(part(a), part(b)),
    }
}
