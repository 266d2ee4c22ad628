//! One prediction by one choice of engines: who decided what, and what that took.

use std::path::Path;
use std::time::Duration;

use foretrace_predict::{Budget, Decider, Engines, Options, predict};
use foretrace_trace::binary;

use crate::Outcome;
use crate::clock::Clock;

/// A prediction that takes longer is cut off, and says so.
const MOST_TIME: Duration = Duration::from_secs(20);
/// What takes less than this is measured again, and the least time counts.
const SHORT: Duration = Duration::from_millis(200);
const TIMES: usize = 5;

/// Predicts everything on one core and prints who decided how much.
pub(crate) fn predict_by(path: &Path, engines: &str) -> Outcome {
    let trace = binary::read(path)?;
    let engines = match engines {
        "staged" => Engines::Staged,
        "solver" => Engines::Solver,
        "explicit" => Engines::Explicit,
        _ => return Err(format!("no engine `{engines}`").into()),
    };
    let budget = Budget { time: Some(MOST_TIME), ..Budget::default() };
    let options = Options { budget, engines, ..Options::default() };
    let clock = Clock::new();
    let mut time = Duration::MAX;
    for _ in 0..TIMES {
        let before = clock.used();
        let prediction = predict(&trace, &options, &())?;
        let used = clock.used() - before;
        let is_first = time == Duration::MAX;
        time = time.min(used);
        if is_first {
            let effort = &prediction.effort;
            for decider in Decider::ALL {
                println!("{} {} questions", decider.name(), effort.decided_by(decider));
            }
            let open = prediction.undecided.len();
            println!("open {open} questions");
            println!("recorded {} questions", prediction.for_recorded_values.len());
            println!("conflicts {} conflicts", effort.conflicts);
            println!("states {} states", effort.states);
            println!("found {} findings", prediction.findings.len());
        }
        if used > SHORT {
            break;
        }
    }
    println!("events {} events", trace.len());
    println!("time {} ns", time.as_nanos());
    Ok(())
}
