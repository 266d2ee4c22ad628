//! Every fact survives both forms.

use std::collections::HashSet;

use super::*;
use crate::{Trace, binary, text};

/// Every fact, with and without what may be missing in it.
fn every_fact() -> Vec<Provenance> {
    let some = |text: &str| Some(text.to_string());
    let mut facts = vec![
        Provenance::FreedAccess,
        Provenance::UnknownWriter { at: None },
        Provenance::UnknownWriter { at: some("bank.c:20:5 (main)") },
        Provenance::EndedBySignal(6),
        Provenance::CutByBudget { read: 0, total: 7, unit: Unit::Events },
        Provenance::CutByBudget { read: 5, total: u64::MAX, unit: Unit::Bytes },
        Provenance::AssertionFailed("balance == \"130\"".to_string()),
        Provenance::Other("lines skipped".to_string()),
        Provenance::Other(String::new()),
    ];
    facts.extend(Repair::ALL.iter().map(|&what| what.into()));
    facts.extend(LeftOut::ALL.iter().map(|&what| what.into()));
    facts.extend(Private::ALL.iter().map(|&what| what.into()));
    facts.extend(Taken::ALL.iter().map(|&what| what.into()));
    facts.extend(Recorded::ALL.iter().map(|&what| what.into()));
    facts.extend(Cut::ALL.iter().map(|&why| Provenance::Prefix(why)));
    facts.extend(Cut::ALL.iter().map(|&why| Provenance::OperationLost(why)));
    for at in [None, some("a.c:1"), some("")] {
        let seen = |&what: &Unseen| Provenance::Unseen { what, at: at.clone() };
        facts.extend(Unseen::ALL.iter().map(seen));
    }
    let mut walked = vec![
        Walked::SharedWrites,
        Walked::Branches,
        Walked::Expressed,
        Walked::Concretised,
        Walked::BrokenImage,
    ];
    walked.extend(Kept::ALL.iter().map(|&why| Walked::ReadKept(why)));
    walked.extend(Differing::ALL.iter().map(|&what| Walked::NotAsComputed(what)));
    for function in [None, some("operator=")] {
        let lost = |&why: &Lost| Walked::PathLost { why, function: function.clone() };
        walked.extend(Lost::ALL.iter().map(lost));
        let what = "callbr = x".to_string();
        walked.push(Walked::Unsupported { what, function: function.clone() });
    }
    facts.extend(walked.into_iter().map(Provenance::Walked));
    facts
}

fn trace_with(facts: impl IntoIterator<Item = Provenance>) -> Trace {
    let mut builder = Trace::builder();
    for (number, fact) in facts.into_iter().enumerate() {
        builder.tell(fact, number as u64);
    }
    builder.finish()
}

#[test]
fn every_fact_survives_both_forms() {
    let facts = every_fact();
    let trace = trace_with(facts.clone());
    assert_eq!(trace.provenance().len(), facts.len(), "no two of them are equal");
    let through_text = text::parse(text::print(&trace)).unwrap();
    assert_eq!(through_text.provenance(), trace.provenance());
    let through_bytes = binary::decode(&binary::encode(&trace).unwrap()).unwrap();
    assert_eq!(through_bytes.provenance(), trace.provenance());
}

#[test]
fn no_two_facts_have_the_same_code() {
    let mut known = HashSet::new();
    for fact in every_fact() {
        let parts: Vec<String> = fact.details().iter().map(|detail| detail.to_string()).collect();
        assert!(known.insert((fact.code(), parts.clone())), "{fact:?}");
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(Provenance::from_parts(fact.code(), &parts), Some(fact.clone()));
        let is_kebab = |code: &str| code.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'-'));
        assert!(is_kebab(fact.code()), "{fact:?}");
    }
}

#[test]
fn a_fact_that_is_not_known_is_refused() {
    for (line, problem) in [
        ("fact lines-skipped = 1", "no fact is called `lines-skipped`"),
        ("fact unseen = 1", "no fact is called `unseen`"),
        ("fact unseen magic = 1", "no fact is called `unseen`"),
        ("fact free-running now = 1", "no fact is called `free-running`"),
        ("fact ended-by-signal 06 = 1", "no fact is called `ended-by-signal`"),
        ("fact free-running = -1", "a count is not negative"),
        ("fact free-running", "expected a detail of the fact, or `=`"),
        ("fact free-running = 1\nfact free-running = 2", "free-running"),
    ] {
        let error = text::parse(line).unwrap_err().to_string();
        assert!(error.contains(problem), "{line}: {error}");
    }
}
