//! Terms of SMT-LIB: booleans, integers for clocks and counts, bit-vectors for values.
//!
//! The constructors fold `true` and `false` and nothing else, as 000 section 4.2 does with orders
//! that are known; everything else is left to the solver.

/// A term. Whoever builds one keeps the sorts right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A bit-vector constant of that many bits.
    #[allow(missing_docs)]
    Word { value: u64, width: u32 },
    /// A declared or defined constant.
    Symbol(String),
    /// An operation of SMT-LIB on its operands.
    Apply(&'static str, Vec<Term>),
    /// An operation with numbers, such as `(_ extract 7 0)`.
    Indexed(&'static str, Vec<u32>, Box<Term>),
}

impl Term {
    /// Always true.
    pub const TRUE: Term = Term::Bool(true);
    /// Never true.
    pub const FALSE: Term = Term::Bool(false);

    /// All of them.
    pub fn and(terms: impl IntoIterator<Item = Term>) -> Term {
        Term::junction("and", true, terms)
    }

    /// At least one of them.
    pub fn or(terms: impl IntoIterator<Item = Term>) -> Term {
        Term::junction("or", false, terms)
    }

    fn junction(op: &'static str, neutral: bool, terms: impl IntoIterator<Item = Term>) -> Term {
        let mut kept = Vec::new();
        for term in terms {
            match term {
                Term::Bool(value) if value == neutral => {}
                Term::Bool(_) => return Term::Bool(!neutral),
                Term::Apply(inner, operands) if inner == op => kept.extend(operands),
                term => kept.push(term),
            }
        }
        match kept.len() {
            0 => Term::Bool(neutral),
            1 => kept.remove(0),
            _ => Term::Apply(op, kept),
        }
    }

    /// The opposite. Never of an order: see `cssa`.
    pub fn negated(self) -> Term {
        match self {
            Term::Bool(value) => Term::Bool(!value),
            term => Term::Apply("not", vec![term]),
        }
    }

    /// If the one, then the other.
    pub fn implies(self, then: Term) -> Term {
        match (self, then) {
            (Term::Bool(true), then) => then,
            (Term::Bool(false), _) | (_, Term::Bool(true)) => Term::TRUE,
            (condition, then) => Term::Apply("=>", vec![condition, then]),
        }
    }

    /// A relation or operation of two operands.
    pub fn binary(op: &'static str, left: Term, right: Term) -> Term {
        Term::Apply(op, vec![left, right])
    }

    /// Whether two terms of one sort have one value.
    pub fn equals(self, other: Term) -> Term {
        match (&self, &other) {
            (Term::Word { value, .. }, Term::Word { value: also, .. }) => Term::Bool(value == also),
            (Term::Int(value), Term::Int(also)) => Term::Bool(value == also),
            _ => Term::binary("=", self, other),
        }
    }

    /// `self` if the condition holds, else the other.
    pub fn choose(condition: Term, then: Term, other: Term) -> Term {
        Term::Apply("ite", vec![condition, then, other])
    }

    /// Whether the test holds of the term or of one inside it.
    pub fn any(&self, test: &impl Fn(&Term) -> bool) -> bool {
        test(self)
            || match self {
                Term::Apply(_, operands) => operands.iter().any(|operand| operand.any(test)),
                Term::Indexed(_, _, operand) => operand.any(test),
                _ => false,
            }
    }

    /// `width` bits from bit `low` on, of a term of `of` bits.
    pub fn bits(self, low: u32, width: u32, of: u32) -> Term {
        if low == 0 && width == of {
            return self;
        }
        match self {
            Term::Word { value, .. } => {
                let value = value.checked_shr(low).unwrap_or(0);
                Term::Word { value: value & low_bits(width), width }
            }
            term => Term::Indexed("extract", vec![low + width - 1, low], Box::new(term)),
        }
    }

    /// The same number in 64 bits, from a term of `width` bits.
    pub fn as_word(self, width: u32) -> Term {
        match self {
            term if width == 64 => term,
            Term::Word { value, .. } => Term::Word { value, width: 64 },
            term => Term::Indexed("zero_extend", vec![64 - width], Box::new(term)),
        }
    }

    /// A term of `width` bits, extended by its sign to 64.
    pub fn as_signed_word(self, width: u32) -> Term {
        match self {
            term if width == 64 => term,
            term => Term::Indexed("sign_extend", vec![64 - width], Box::new(term)),
        }
    }
}

/// A word whose lowest `width` bits are 1.
pub(crate) fn low_bits(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}
