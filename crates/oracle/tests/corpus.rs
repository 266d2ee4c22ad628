//! The small public deadlock traces, enumerated exhaustively: the predictor's deadlocks are all
//! there are.

use std::collections::BTreeSet;
use std::path::Path;

use foretrace_oracle::explore;
use foretrace_predict::{Granularity, Options, predict};
use foretrace_verdict::{Property, Violation};

#[test]
fn small_deadlock_traces_agree_with_enumeration() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/deadlock");
    if !folder.exists() {
        println!("corpus: SKIPPED, {} is not there", folder.display());
        return;
    }
    let names = ["Bensalem", "Deadlock", "DiningPhil", "StringBuffer", "Transfer"];
    for name in names.iter().flat_map(|name| [format!("{name}.std"), format!("{name}.rapidbin")]) {
        let trace = foretrace_trace::open(folder.join(&name)).expect("a public trace").trace;
        let options = Options {
            granularity: Granularity::Event,
            properties: vec![Property::Deadlock],
            ..Options::default()
        };
        let prediction = predict(&trace, &options, &()).expect("no internal error");
        if trace.len() > foretrace_oracle::MOST_EVENTS {
            println!("{name}: too long to enumerate");
            continue;
        }
        let explored = explore(&trace, prediction.model, false);
        if !explored.complete {
            println!("{name}: too many states to enumerate");
            continue;
        }
        let is_deadlock = |violation: &&Violation| violation.property() == Property::Deadlock;
        let there: BTreeSet<_> = explored.violations.iter().filter(is_deadlock).cloned().collect();
        let found: BTreeSet<_> =
            prediction.findings.into_iter().map(|finding| finding.violation).collect();
        println!("{name}: {} states, {} deadlocks", explored.states, there.len());
        assert_eq!(found, there, "{name}");
    }
}
