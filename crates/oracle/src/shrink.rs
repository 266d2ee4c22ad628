//! Makes a disagreement small enough to be understood.
//!
//! **Computes.** A trace from which nothing more can be taken - no thread, no pair of events, no
//! event, no declaration, no location, no name, no expression, no operator - without it becoming
//! invalid or the disagreement going away.
//!
//! **Follows.** Greedy delta debugging; pairs are tried because an acquire and its release, or a
//! wait and its wake, only go together.
//!
//! **Invariant.** The result is valid, and predictor and oracle still differ on it, perhaps about
//! something else.
//!
//! **Cost.** Quadratic in the events per round; each try is a comparison.

use foretrace_trace::expr::Expr;
use foretrace_trace::validate::validate;
use foretrace_trace::*;
use foretrace_verdict::Model;

use crate::compare::Difference;
use crate::draft::{Draft, Line};
use crate::explore::is_recorded_order_feasible;

/// The smallest trace found, and how the two differ on it.
pub(crate) fn shrink(
    trace: &Trace,
    found: Difference,
    difference_of: &dyn Fn(&Trace) -> Option<Difference>,
) -> (Trace, Difference) {
    let mut best = (trace.clone(), found);
    'smaller: loop {
        let draft = Draft::of(&best.0);
        for smaller in candidates(&draft) {
            let trace = smaller.build();
            if is_valid(&trace)
                && let Some(difference) = difference_of(&trace)
            {
                best = (trace, difference);
                continue 'smaller;
            }
        }
        return best;
    }
}

/// What to try, the largest steps first.
fn candidates<'t>(draft: &Draft<'t>) -> Vec<Draft<'t>> {
    let mut all = Vec::new();
    let mut threads: Vec<ThreadId> = draft.lines.iter().map(|line| line.event.thread).collect();
    threads.sort();
    threads.dedup();
    for thread in threads {
        let mut without = draft.clone();
        without.lines.retain(|line| {
            line.event.thread != thread
                && !matches!(line.event.op,
                    Op::Fork { child } | Op::Join { child } | Op::Request(Request::Join(child))
                        if child == thread)
        });
        all.push(without);
    }
    for first in 0..draft.lines.len() {
        let mut without = draft.clone();
        without.lines.remove(first);
        all.push(without);
    }
    for second in 0..draft.lines.len() {
        for first in 0..second {
            let mut without = draft.clone();
            without.lines.remove(second);
            without.lines.remove(first);
            all.push(without);
        }
    }
    for index in 0..draft.declarations.len() {
        let mut without = draft.clone();
        without.declarations.remove(index);
        all.push(without);
    }
    for index in 0..draft.lines.len() {
        if draft.lines[index].event.location.is_some() {
            let mut without = draft.clone();
            without.lines[index].event.location = None;
            all.push(without);
        }
    }
    for (index, line) in draft.lines.iter().enumerate() {
        let mut push = |change: &dyn Fn(&mut Line)| {
            let mut changed = draft.clone();
            change(&mut changed.lines[index]);
            all.push(changed);
        };
        if let Some(expression) = &line.expression {
            push(&|line| line.expression = None);
            for simpler in simpler(expression) {
                push(&|line| line.expression = Some(simpler.clone()));
            }
        }
        if let Some(assumption) = &line.assumption {
            push(&|line| line.assumption = None);
            for simpler in simpler(assumption) {
                push(&|line| line.assumption = Some(simpler.clone()));
            }
        }
        if line.binding.is_some() {
            push(&|line| line.binding = None);
        }
    }
    all
}

/// The expression with one operator less, or one name.
fn simpler(expr: &Expr) -> Vec<Expr> {
    let within = |part: &Expr, rebuild: &dyn Fn(Box<Expr>) -> Expr| -> Vec<Expr> {
        simpler(part).into_iter().map(|part| rebuild(Box::new(part))).collect()
    };
    let (mut all, inner) = match expr {
        Expr::Literal(_) => return Vec::new(),
        Expr::Name(_) => (vec![Expr::Literal(0), Expr::Literal(1)], Vec::new()),
        Expr::Unary(op, a) => (vec![Expr::clone(a)], within(a, &|a| Expr::Unary(*op, a))),
        Expr::Binary(op, a, b) => {
            let mut inner = within(a, &|a| Expr::Binary(*op, a, b.clone()));
            inner.extend(within(b, &|b| Expr::Binary(*op, a.clone(), b)));
            (vec![Expr::clone(a), Expr::clone(b)], inner)
        }
        Expr::IfThenElse(c, a, b) => {
            let mut inner = within(c, &|c| Expr::IfThenElse(c, a.clone(), b.clone()));
            inner.extend(within(a, &|a| Expr::IfThenElse(c.clone(), a, b.clone())));
            inner.extend(within(b, &|b| Expr::IfThenElse(c.clone(), a.clone(), b)));
            (vec![Expr::clone(c), Expr::clone(a), Expr::clone(b)], inner)
        }
    };
    all.extend(inner);
    all
}

/// Valid, and feasible by the oracle's own rules.
fn is_valid(trace: &Trace) -> bool {
    !trace.is_empty()
        && validate(trace).is_ok()
        && Model::ALL.into_iter().all(|model| is_recorded_order_feasible(trace, model))
}
