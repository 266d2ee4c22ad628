//! The CSV of the figures: `thread,operation,object,source,number`, the traces of SpeedyGo.
//!
//! **Computes.** A trace from `RD WR ARD AWR` (accesses, the latter two atomic), `LK UK` (locks)
//! and `SIG WT` (ordering). The source `nil` means that there is none.
//!
//! **Follows.** The readers of `KaiSta/SpeedyGo` and `KaiSta/SpeedyGoPP`, with these decisions:
//!
//! 1. The last column is no value: their readers use it as the number of the event, and for `SIG`
//!    and `WT` as the number of the signal. One reader matches these two by the last column, the
//!    other by the object; where the two columns differ the line is refused.
//! 2. A `WT` is ordered after the `SIG` of the same number: it stands for the start or the end of a
//!    thread, or for a notification. Each signal becomes a semaphore of initial count 0 on which
//!    the `SIG` posts once for each of its `WT`s, so that no `WT` takes the place of another one.
//!    With a single `SIG` per number, and only that is accepted, this is exactly the edge. The
//!    semaphore waits are timed: whether a thread could wait there for ever is not known.
//! 3. Atomic and plain accesses are counted apart by those readers, so whether `ARD,1` and `RD,1`
//!    mean one variable is not known: a file that has both is refused.
//! 4. Branch and notification records of other files of that project are refused.
//!
//! **Cost.** One pass to count the signals' waits, one to read.

use rustc_hash::FxHashMap;

use super::steps::{Positions, Steps, What};
use super::{ImportError, Position, Problem, excerpt, for_each_line};
use crate::Trace;

/// Reads a trace from the bytes of a `.csv` file.
pub fn parse(bytes: &[u8]) -> Result<Trace, ImportError> {
    let mut lines = Vec::new();
    for_each_line(bytes, |number, text| {
        if !text.is_empty() {
            let line = Line::parse(text)
                .ok_or_else(|| Problem::syntax(excerpt(text.as_bytes()), EXPECTED));
            lines
                .push(line.map_err(|problem| problem.at(Position::Line(number)))?.to_owned(number));
        }
        Ok(())
    })?;
    if lines.is_empty() {
        return Err(Problem::syntax("no event", EXPECTED).at(Position::File));
    }
    let waits = count_waits(&lines)?;
    check_atomics(&lines)?;
    let mut steps = Steps::new(Positions::Listed(Vec::new()));
    for line in &lines {
        let (what, prefix) = OPERATIONS[line.operation].1;
        let target = format!("{prefix}{}", line.object);
        let times = match what {
            What::Post => waits.get(&line.object).copied().unwrap_or(0).max(1),
            _ => 1,
        };
        for _ in 0..times {
            if let Positions::Listed(positions) = &mut steps.positions {
                positions.push(line.number as u32);
            }
            steps.push(&format!("T{}", line.thread), what, &target, line.source.as_deref())?;
        }
    }
    let signals = steps.builder.so_far().semaphores().len();
    for signal in 0..signals {
        steps.builder.set_semaphore(signal.into(), 0);
    }
    steps.into_trace()
}

/// Whether a line has the form of a CSV event.
pub(crate) fn is_event(line: &str) -> bool {
    Line::parse(line).is_some()
}

const EXPECTED: &str = "`thread,operation,object,source,number` with the operation RD, WR, ARD, \
     AWR, LK, UK, SIG or WT";

const OPERATIONS: [(&str, (What, &str)); 8] = [
    ("RD", (What::Read, "V")),
    ("WR", (What::Write, "V")),
    ("ARD", (What::AtomicRead, "V")),
    ("AWR", (What::AtomicWrite, "V")),
    ("LK", (What::Acquire, "L")),
    ("UK", (What::Release, "L")),
    ("SIG", (What::Post, "S")),
    ("WT", (What::Await, "S")),
];

struct Line<'a> {
    thread: &'a str,
    operation: usize,
    object: &'a str,
    source: &'a str,
    number: &'a str,
}

struct OwnedLine {
    number: u64,
    thread: String,
    operation: usize,
    object: String,
    source: Option<String>,
    last: String,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.split(',');
        let thread = fields.next().filter(|thread| !thread.is_empty())?;
        let word = fields.next()?;
        let operation = OPERATIONS.iter().position(|&(known, _)| known == word)?;
        let object = fields.next().filter(|object| !object.is_empty())?;
        let source = fields.next().filter(|source| !source.is_empty())?;
        let number = fields.next()?;
        fields.next().is_none().then_some(Line { thread, operation, object, source, number })
    }

    fn to_owned(&self, number: u64) -> OwnedLine {
        OwnedLine {
            number,
            thread: self.thread.to_string(),
            operation: self.operation,
            object: self.object.to_string(),
            source: (self.source != "nil").then(|| self.source.to_string()),
            last: self.number.to_string(),
        }
    }
}

/// How many waits each signal has, and that they are unambiguous.
fn count_waits(lines: &[OwnedLine]) -> Result<FxHashMap<String, usize>, ImportError> {
    let mut waits: FxHashMap<String, usize> = FxHashMap::default();
    for line in lines {
        let at = Position::Line(line.number);
        let what = OPERATIONS[line.operation].1.0;
        if !matches!(what, What::Post | What::Await) {
            continue;
        }
        if line.object != line.last {
            let problem = format!(
                "signal {} is also called {}; which of the two columns names it is not known",
                line.object, line.last
            );
            return Err(Problem::Unsupported(problem).at(at));
        }
        let signalled = waits.contains_key(&line.object);
        match what {
            What::Post if signalled => {
                let problem = format!(
                    "signal {} is sent again; which of the two a wait means is not known",
                    line.object
                );
                return Err(Problem::Unsupported(problem).at(at));
            }
            What::Post => {
                waits.insert(line.object.clone(), 0);
            }
            _ if !signalled => {
                let broken =
                    format!("thread {} has waited for signal {}", line.thread, line.object);
                return Err(Problem::rule(broken, "it has not been sent before").at(at));
            }
            _ => *waits.entry(line.object.clone()).or_default() += 1,
        }
    }
    Ok(waits)
}

fn check_atomics(lines: &[OwnedLine]) -> Result<(), ImportError> {
    let mut kinds: FxHashMap<&str, bool> = FxHashMap::default();
    for line in lines {
        let atomic = match OPERATIONS[line.operation].1.0 {
            What::Read | What::Write => false,
            What::AtomicRead | What::AtomicWrite => true,
            _ => continue,
        };
        if *kinds.entry(&line.object).or_insert(atomic) != atomic {
            let problem = format!(
                "object {} has atomic and plain accesses; whether it is one variable is not known",
                line.object
            );
            return Err(Problem::Unsupported(problem).at(Position::Line(line.number)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::{MemoryOrder, Op, Patience, SemId};

    #[test]
    fn accesses_and_locks() {
        let trace =
            parse(b"1,LK,1,nil,1\n1,WR,1,Test.java:1:1,1\n1,UK,1,nil,0\n2,ARD,2,a:2,3").unwrap();
        assert_eq!(trace.len(), 4);
        assert_eq!(trace.threads().iter().collect::<Vec<_>>(), ["T1", "T2"]);
        assert_eq!(trace.objects().iter().collect::<Vec<_>>(), ["V1", "V2"]);
        assert_eq!(trace.locks().iter().collect::<Vec<_>>(), ["L1"]);
        assert_eq!(trace.locations().iter().collect::<Vec<_>>(), ["Test.java:1:1", "a:2"]);
        assert!(matches!(trace.op(1usize.into()), Op::Write { value: None, .. }));
        assert!(matches!(trace.op(3usize.into()), Op::Read { order: MemoryOrder::SeqCst, .. }));
    }

    #[test]
    fn a_signal_posts_once_for_each_wait() {
        let trace = parse(b"3,SIG,1,nil,1\n4,WT,1,nil,1\n5,WT,1,nil,1\n4,SIG,2,nil,2\n").unwrap();
        let sem = SemId(0);
        let ops: Vec<Op> = trace.events().map(|(_, event)| event.op).collect();
        let wait = Op::SemWait { sem, patience: Patience::Timed };
        let post = Op::SemPost { sem };
        assert_eq!(ops, [post, post, wait, wait, Op::SemPost { sem: SemId(1) }]);
        assert_eq!(trace.semaphore_count(sem), Some(0));
    }

    #[test]
    fn what_is_ambiguous_or_wrong_is_refused() {
        for (text, message) in [
            ("1,WT,1,nil,1", "line 1: thread 1 has waited for signal 1, but it has not been sent"),
            ("1,SIG,1,nil,2", "line 1: signal 1 is also called 2"),
            ("1,SIG,1,nil,1\n1,SIG,1,nil,1", "line 2: signal 1 is sent again"),
            ("1,RD,1,nil,1\n1,PREBRANCH,1,nil,1", "line 2: `1,PREBRANCH,1,nil,1`; expected"),
            ("1,RD,1,nil", "line 1: `1,RD,1,nil`; expected"),
            ("1,RD,1,nil,1,1", "line 1: `1,RD,1,nil,1,1`; expected"),
            ("1,RD,1,nil,1\n1,AWR,1,nil,1", "line 2: object 1 has atomic and plain accesses"),
            ("1,UK,1,nil,1", "line 1: T1 releases L1, which it does not hold"),
            ("", "no event; expected"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
