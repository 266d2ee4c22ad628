//! Bit-vector terms over what reads saw: the values and conditions of the symbolic model.
//!
//! **Computes.** An arena of terms of 1 to 128 bits with the integer operations of C and LLVM. A
//! term is built once: equal terms have equal ids. While it is built, constants are folded and
//! local rules applied.
//!
//! **Follows.** `docs/terms.md` is normative for what an operation is worth; at 64 bits that is
//! what `docs/trace-format.md` says of the text form's expressions.
//!
//! **Invariant.** The children of a term have smaller ids than the term: the order of ids is an
//! evaluation order. A built term has the value of the operation asked for, under every assignment,
//! and as a tree it is never larger. Nothing here recurses on the depth of a term.
//!
//! **Cost.** Constant time for each operation; about 80 bytes for each distinct term, in the arena
//! and in the table.
//!
//! | file | what it does |
//! | --- | --- |
//! | `node` | what a term is made of |
//! | `value` | what an operation on one term is worth |
//! | `build` | the operations, as callers ask for them |
//! | `rewrite` | the rules that make a term simpler while it is built |
//! | `walk` | all that looks at whole terms: evaluation, symbols, size |
//! | `from_expr` | terms of the text form's expressions |

mod build;
mod from_expr;
mod node;
mod rewrite;
mod value;
mod walk;

use foretrace_words::cut;
use rustc_hash::FxHashMap;

use node::Row;

pub use foretrace_words::BinaryOp;
pub(crate) use from_expr::WORD;
pub use node::{Bits, Node, SymbolId, TermId, UnaryOp};
pub use walk::{Evaluation, Values};

/// The widest term, in bits.
pub const MAX_WIDTH: u32 = 128;

/// The arena.
#[derive(Default, Debug)]
pub struct Terms {
    rows: Vec<Row>,
    ids: FxHashMap<Row, TermId>,
    symbols: FxHashMap<SymbolId, TermId>,
    /// How many rules are being applied inside each other.
    nesting: u32,
}

impl Terms {
    /// An arena without terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many distinct terms there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no term yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number `value`, cut to `width` bits.
    pub fn constant(&mut self, value: u128, width: u32) -> TermId {
        check_width(width);
        self.intern(Row::new(Node::Constant(Bits::new(cut(value, width))), width))
    }

    /// The constant of one bit.
    pub fn boolean(&mut self, value: bool) -> TermId {
        self.constant(value as u128, 1)
    }

    /// What a read saw. A symbol has one width, for ever.
    pub fn symbol(&mut self, symbol: SymbolId, width: u32) -> TermId {
        check_width(width);
        if let Some(&term) = self.symbols.get(&symbol) {
            assert_eq!(self.width(term), width, "{symbol:?} has another width");
            return term;
        }
        let term = self.intern(Row::new(Node::Symbol(symbol), width));
        self.symbols.insert(symbol, term);
        term
    }

    /// What a term is made of.
    #[inline]
    pub fn node(&self, term: TermId) -> Node {
        self.rows[term.index()].node
    }

    /// How many bits a term has.
    #[inline]
    pub fn width(&self, term: TermId) -> u32 {
        self.rows[term.index()].width as u32
    }

    /// The number that a term is, if it is a constant.
    #[inline]
    pub fn as_constant(&self, term: TermId) -> Option<u128> {
        match self.node(term) {
            Node::Constant(bits) => Some(bits.get()),
            _ => None,
        }
    }

    /// The operands of a term, from left to right.
    pub fn children(&self, term: TermId) -> impl Iterator<Item = TermId> + use<> {
        self.node(term).children()
    }

    /// The id of a row, new or old.
    fn intern(&mut self, row: Row) -> TermId {
        let next = self.rows.len();
        *self.ids.entry(row).or_insert_with(|| {
            self.rows.push(row);
            TermId::from(next)
        })
    }
}

fn check_width(width: u32) {
    assert!((1..=MAX_WIDTH).contains(&width), "a term of {width} bits");
}
