//! How long a prediction takes, and how much of it the solver, by what is refuted before it is
//! asked.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foretrace_causality::{Givers, Graph, Locksets, Needs, Question, Rules, Scope, Search};
use foretrace_model::Skeleton;
use foretrace_predict::{Budget, Options, Phase, Progress, Prune, predict};
use foretrace_trace::{EventId, Trace, open};
use foretrace_verdict::{Column, Ledger, Model, Property};

use crate::Outcome;
use crate::clock::{Clock, peak_memory};

/// A prediction that takes longer is cut off.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Adds up what the solver needs.
#[derive(Default)]
struct SolverTime(AtomicU64);

impl Progress for SolverTime {
    fn report(&self, _: Phase, _: u64, _: u64) {}

    fn solved(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Predicts races and atomicity violations with the given pruning.
pub(crate) fn decide(path: &Path, pruning: &str) -> Outcome {
    let prune = match pruning {
        "nothing" => Prune::Nothing,
        "needs" => Prune::Needs,
        "graph" => Prune::Graph,
        _ => return Err(format!("no pruning `{pruning}`").into()),
    };
    let trace = open(path)?.trace;
    let solver = SolverTime::default();
    let start = Instant::now();
    let budget = Budget { time: Some(MOST_TIME), ..Budget::default() };
    let properties = vec![Property::Race, Property::Atomicity];
    let options = Options { budget, prune, properties, infer_regions: true, ..Options::default() };
    let prediction = predict(&trace, &options, &solver)?;
    println!("predict {} ns", start.elapsed().as_nanos());
    println!("solver {} ns", solver.0.load(Ordering::Relaxed));
    println!("memory {} bytes", peak_memory());
    let sum = |count: fn(&Ledger) -> u64| -> u64 {
        prediction.ledgers.iter().map(|(_, ledger)| count(ledger)).sum()
    };
    for (name, count) in [
        ("candidates", sum(|ledger| ledger.candidates)),
        ("lsa", sum(|ledger| ledger.remaining(Column::Locks))),
        ("mhb", sum(|ledger| ledger.remaining(Column::Order))),
        ("ucg", sum(|ledger| ledger.remaining(Column::Both))),
        ("violated", sum(|ledger| ledger.violated)),
        ("undecided", sum(|ledger| ledger.undecided)),
    ] {
        println!("{name} {count} classes");
    }
    Ok(())
}

/// Asks the graph alone about so many pairs of conflicting accesses without a common lock, evenly
/// over the trace.
pub(crate) fn candidates(path: &Path, count: usize) -> Outcome {
    let trace = open(path)?.trace;
    let start = Instant::now();
    let skeleton = Skeleton::new(&trace, Model::ReadsFrom);
    let givers = Givers::new(&skeleton);
    let needs = Needs::new(&skeleton, &givers, Rules::ANY).ok_or("the table is too large")?;
    let order = Needs::new(&skeleton, &givers, Rules::SYNCHRONISATION).ok_or("too large")?;
    let graph = Graph::new(&skeleton, &givers, &order, Some(&needs)).ok_or("no graph")?;
    let locksets = Locksets::new(&skeleton);
    println!("prepare {} ns", start.elapsed().as_nanos());
    let pairs = pairs(&trace, &locksets, count);
    let clock = Clock::new();
    let before = clock.used();
    let mut search = Search::new(&graph);
    let mut refuted = 0;
    for &(one, two) in &pairs {
        refuted += u64::from(search.refutes(&Question::race(&skeleton, one, two), Scope::All));
    }
    println!("ask {} ns", (clock.used() - before).as_nanos());
    println!("asked {} pairs", pairs.len());
    println!("refuted {refuted} pairs");
    println!("memory {} bytes", peak_memory());
    Ok(())
}

/// Pairs of accesses of one object by different threads, near to each other in the recorded run, as
/// most candidates are.
fn pairs(trace: &Trace, locksets: &Locksets, count: usize) -> Vec<(EventId, EventId)> {
    let accesses: Vec<_> = trace.accesses().collect();
    let mut pairs = Vec::new();
    for nth in 0..count {
        let from = accesses.len() / count * nth;
        let (one, access) = accesses[from];
        let other = accesses[from + 1..].iter().find(|(two, other)| {
            trace.thread_of(*two) != trace.thread_of(one)
                && other.conflicts(&access)
                && !locksets.exclude(locksets.at(one), locksets.at(*two))
        });
        pairs.extend(other.map(|&(two, _)| (one, two)));
    }
    pairs
}
