//! Refutes classes without the solver: an ordered table of rules.
//!
//! **Computes.** Whether a rule refutes every member of a class, and which columns of the ledger
//! count the class then.
//!
//! **Follows.** `docs/causality.md`, section 7.
//!
//! **Invariant.** A rule only refutes what happens in no feasible schedule: it changes no verdict,
//! only how soon there is one. While candidates are listed, order and common locks refute parts of
//! classes already, so that most of what these rules refute does not come here.

mod constants;
mod graph;
mod latches;
mod needs;
mod values;

use foretrace_trace::EventId;
use foretrace_verdict::{Column, Columns};

use crate::candidates::Class;
use crate::effort::Decider;
use crate::pipeline::Work;

use foretrace_causality::Scope;
use graph::Members;

/// A rule that refutes classes.
pub(crate) struct Rule {
    /// The name in `docs/causality.md`.
    pub(crate) name: &'static str,
    /// The column of what it refutes; `None`: it counts as if the solver had refuted it.
    column: Option<Column>,
    /// A column that counts whatever this rule refutes: what is not in that one is not in this.
    within: Option<Column>,
    tried: Tried,
    /// Who refutes it, for the account of who did what.
    by: Decider,
    /// Whether no schedule has a member of the class; if the last argument is true, no schedule
    /// without reads of unknown writers.
    refutes: fn(&mut Pruner, &Class, bool) -> bool,
}

/// When a rule is tried on a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tried {
    /// At once.
    First,
    /// If the recorded order has no witness.
    AfterRecordedOrder,
    /// Once the class is refuted: another rule refutes all that this one does.
    ForColumns,
}

/// All rules, in the order in which they are tried.
const RULES: [Rule; 8] = [
    constants::RULE,
    latches::RULE,
    needs::RULE,
    values::RULE,
    graph::DATA,
    graph::BOTH,
    graph::ORDER,
    graph::LOCKS,
];

/// Tries the rules.
pub(crate) struct Pruner<'w> {
    work: &'w Work<'w>,
    /// `None`: the graph is not asked.
    graph: Option<Members<'w>>,
    contents: values::Contents,
}

impl<'w> Pruner<'w> {
    pub(crate) fn new(work: &'w Work<'w>) -> Self {
        Pruner { work, graph: work.graph.map(Members::new), contents: values::Contents::default() }
    }

    /// The columns of a class that one of the rules refutes which are tried at that time.
    pub(crate) fn refuted(
        &mut self,
        class: &Class,
        tried: Tried,
        explained: bool,
    ) -> Option<(Columns<bool>, Decider)> {
        let mut rules = RULES.iter().filter(|rule| rule.tried == tried);
        let by = rules.find(|rule| (rule.refutes)(self, class, explained))?;
        self.work.progress.refuted(by.name);
        let mut columns = Columns::all(false);
        for rule in &RULES {
            if let Some(column) = rule.column
                && class.listed[column]
                && rule.within.is_none_or(|whole| columns[whole])
            {
                columns[column] |= (rule.refutes)(self, class, explained);
            }
        }
        Some((columns, by.by))
    }

    /// The orders that a class with one member implies, if the graph does not refute it.
    pub(crate) fn induced(&mut self, class: &Class) -> Vec<(EventId, EventId)> {
        let groups = &self.work.candidates.groups;
        self.graph.as_mut().map(|graph| graph.induced(groups, class)).unwrap_or_default()
    }

    fn by_graph(&mut self, class: &Class, scope: Scope) -> bool {
        let groups = &self.work.candidates.groups;
        self.graph.as_mut().is_some_and(|graph| graph.refutes(groups, class, scope))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::Mutex;

    use super::*;
    use crate::{Options, Phase, Progress, predict};

    #[test]
    fn the_table_is_documented() {
        let page = include_str!("../../../../docs/causality.md");
        let rows: Vec<String> = RULES
            .iter()
            .map(|rule| format!("| {} | {} |", rule.name, rule.column.map_or("-", Column::name)))
            .collect();
        let documented: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "| rule | column | refutes |")
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert_eq!(documented.len(), rows.len());
        for (line, row) in documented.iter().zip(&rows) {
            assert!(line.starts_with(row.as_str()), "{line}\n{row}");
        }
    }

    /// The names of the rules that refuted something.
    #[derive(Default)]
    struct Names(Mutex<BTreeSet<&'static str>>);

    impl Progress for Names {
        fn report(&self, _: Phase, _: u64, _: u64) {}

        fn refuted(&self, rule: &'static str) {
            self.0.lock().unwrap().insert(rule);
        }
    }

    #[test]
    fn each_rule_refutes_something_that_those_before_it_do_not() {
        let (names, mut counted) = (Names::default(), Columns::all(0));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let Ok(trace) = foretrace_trace::text::parse(&text) else { continue };
            for (_, ledger) in predict(&trace, &Options::default(), &names).unwrap().ledgers {
                counted = Columns::new(|column| counted[column] + ledger.pruned[column]);
            }
        }
        let names = names.0.into_inner().unwrap();
        for rule in &RULES {
            match rule.tried {
                Tried::ForColumns => assert!(rule.column.is_some_and(|column| counted[column] > 0)),
                Tried::First | Tried::AfterRecordedOrder => {
                    assert!(names.contains(rule.name), "{}: {names:?}", rule.name);
                }
            }
        }
    }
}
