//! Instructions that need to know which object they mean: calls, locks, joins, frees.
//!
//! **Computes.** Where an operand of such an instruction is a choice (a lock of an array, a
//! function of a table, a block that a pointer in memory names), the instruction is unfolded once
//! for each thing that the operand may mean, as if the program had a switch in front of it; then
//! the ways are one again.
//!
//! **Invariant.** Either one of the meanings holds, or an exit is taken.

use foretrace_program::{Callee, Op, Operand, RegisterId, Site};
use foretrace_words::BinaryOp;

use super::Unfolder;
use super::ways::Arrival;
use crate::skeleton::Why;
use crate::terms::{self, Term};

/// How many things one operand may mean.
const MOST_MEANINGS: usize = 64;

/// The registers that must hold one thing for the instruction to be unfolded.
fn chosen(op: &Op) -> Vec<RegisterId> {
    let operands = match op {
        Op::Call { callee: Callee::Indirect(operand), .. }
        | Op::Fork { callee: Callee::Indirect(operand), .. } => vec![Some(*operand)],
        Op::Free { address: operand }
        | Op::SizeOf { address: operand }
        | Op::Join { thread: operand } => vec![Some(*operand)],
        _ => op.synchronised().to_vec(),
    };
    operands.into_iter().flatten().filter_map(Operand::register).collect()
}

impl Unfolder<'_> {
    /// Unfolds an instruction for each meaning of its operand, if there are several; whether the
    /// way goes on. `None` if there is only one.
    pub(super) fn by_meaning(
        &mut self,
        here: &mut Arrival,
        site: Site,
        depth: u32,
        op: &Op,
    ) -> Option<bool> {
        let is_open = |this: &Self, register: &RegisterId| {
            let value = here.registers[register.index()].expect("it is defined before");
            let terms = &this.skeleton.terms;
            terms.as_constant(value).is_none() && terms.as_address(value).is_none()
        };
        let register = chosen(op).into_iter().find(|register| is_open(self, register))?;
        let value = here.registers[register.index()].expect("it is defined before");
        let meanings = self.meanings(value);
        if meanings.len() > MOST_MEANINGS {
            return Some(self.refuse(here, site, "an operand with too many possible meanings"));
        }
        let mut known = self.skeleton.terms.truth(false);
        for &(condition, _) in &meanings {
            known = self.skeleton.terms.or(known, condition);
        }
        let unknown = self.skeleton.terms.not(known);
        let why = "an object that depends on data, of which too little is known";
        self.exit_if(&mut here.way, unknown, site, Why::Unsupported(why.into()));
        let mut ways: Vec<Arrival> = Vec::new();
        let mut going = self.skeleton.terms.truth(false);
        let mut all_go = true;
        let mut is_whole = true;
        for (condition, meaning) in meanings {
            let mut next = here.clone();
            next.way.path = self.skeleton.terms.and(next.way.path, condition);
            next.set(register, meaning);
            if next.way.is_dead(&self.skeleton.terms) {
                continue;
            }
            let path = next.way.path;
            if self.instruction(&mut next, site, depth) {
                is_whole &= next.way.path == path;
                going = self.skeleton.terms.or(going, condition);
                next.set(register, value);
                ways.push(next);
            } else {
                all_go = false;
            }
        }
        let path = here.way.path;
        let Some(merged) = self.merge(ways, site.function, site.block) else {
            return Some(false);
        };
        *here = merged;
        // A function that was called may have ended paths, in turns that are left out.
        if is_whole {
            here.way.path = path;
        }
        if !all_go {
            let stops = self.skeleton.terms.not(going);
            here.way.stop_if(&mut self.skeleton.terms, stops);
        }
        Some(!here.way.is_dead(&self.skeleton.terms))
    }

    /// The addresses and numbers that a value may be, each with its condition, as far as they are
    /// known.
    fn meanings(&mut self, value: Term) -> Vec<(Term, Term)> {
        let truth = self.skeleton.terms.truth(true);
        let mut found: Vec<(Term, Term)> = Vec::new();
        let mut open = vec![(truth, value, 0u64)];
        while let Some((condition, term, added)) = open.pop() {
            if found.len() > MOST_MEANINGS {
                break;
            }
            match self.skeleton.terms.op(term) {
                terms::Op::Constant(_) | terms::Op::Address { .. } => {
                    let more = self.skeleton.terms.constant(added, 64);
                    let meaning = self.skeleton.terms.binary(BinaryOp::Add, term, more);
                    self.may_mean(&mut found, condition, meaning);
                }
                terms::Op::Ite(choice, then, otherwise) => {
                    let terms = &mut self.skeleton.terms;
                    let not = terms.not(choice);
                    open.push((terms.and(condition, choice), then, added));
                    open.push((terms.and(condition, not), otherwise, added));
                }
                terms::Op::Binary(BinaryOp::Add, inner, more)
                    if self.skeleton.terms.as_constant(more).is_some() =>
                {
                    let more = self.skeleton.terms.as_constant(more).unwrap_or(0);
                    open.push((condition, inner, added.wrapping_add(more)));
                }
                terms::Op::Symbol(_) => {
                    let null = self.skeleton.terms.equals(term, 0);
                    let null = self.skeleton.terms.and(condition, null);
                    let nothing = self.skeleton.terms.constant(added, 64);
                    self.may_mean(&mut found, null, nothing);
                    for (choice, object, offset) in self.pointees(term).unwrap_or_default() {
                        let terms = &mut self.skeleton.terms;
                        let condition = terms.and(condition, choice);
                        let meaning = terms.address(object, offset.wrapping_add(added));
                        self.may_mean(&mut found, condition, meaning);
                    }
                }
                terms::Op::Binary(BinaryOp::Add, ..) => {
                    for case in self.cases(term, 1).unwrap_or_default() {
                        let terms = &mut self.skeleton.terms;
                        let condition = terms.and(condition, case.condition);
                        let offset = u64::from(case.offset).wrapping_add(added);
                        let meaning = terms.address(case.object, offset);
                        self.may_mean(&mut found, condition, meaning);
                    }
                }
                _ => (),
            }
        }
        found
    }

    fn may_mean(&mut self, found: &mut Vec<(Term, Term)>, condition: Term, meaning: Term) {
        if self.skeleton.terms.is_false(condition) {
            return;
        }
        match found.iter_mut().find(|(_, other)| *other == meaning) {
            Some((known, _)) => *known = self.skeleton.terms.or(*known, condition),
            None => found.push((condition, meaning)),
        }
    }
}
