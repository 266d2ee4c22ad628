//! STD, the text format of RAPID: one event per line, `thread|operation|location`.
//!
//! **Computes.** A trace from `acq(o) rel(o) r(o) w(o) fork(t) join(t) begin end`, and `req(o)` of
//! the deadlock dialect (about to request a lock). Plain, or compressed with gzip.
//!
//! **Follows.** RAPID (`umangm/rapid`), with these differences:
//!
//! 1. A line that is not of this form is an error. (Some readers repeat the line before it.)
//! 2. `begin` and `end` are those of a thread, as in RapidBin. RAPID's atomicity tools use the same
//!    words for transactions; such a pair in the middle of a thread is dropped and counted.
//! 3. An empty third field means that the location is not known.
//!
//! **Invariant.** There are no values, so every read must see the write that it saw. An object is
//! one indivisible cell, a lock may be taken again by its holder (Java's monitors).
//!
//! **Cost.** One pass; the repairs of `steps` and `threads` after it.

use std::io::{BufRead, BufReader};

use super::steps::{Positions, Steps, What};
use super::{ImportError, Position, Problem, excerpt, for_each_line};
use crate::Trace;

/// The first bytes of every gzip file.
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a trace from the bytes of a `.std` or `.std.gz` file.
pub fn parse(bytes: &[u8]) -> Result<Trace, ImportError> {
    if bytes.starts_with(&GZIP_MAGIC) {
        parse_lines(BufReader::new(flate2::read::MultiGzDecoder::new(bytes)))
    } else {
        parse_lines(bytes)
    }
}

/// Whether a line has the form of an STD event.
pub(crate) fn is_event(line: &str) -> bool {
    split(line).is_some_and(|(_, operation, _)| parse_operation(operation).is_some())
}

fn parse_lines(reader: impl BufRead) -> Result<Trace, ImportError> {
    let mut steps = Steps::new(Positions::Lines);
    let mut blank = None;
    for_each_line(reader, |number, line| {
        let at = Position::Line(number);
        // Blank lines may end the file, not interrupt it: then steps and lines count alike.
        if line.is_empty() {
            blank.get_or_insert(at);
            return Ok(());
        }
        if let Some(blank) = blank {
            return Err(Problem::syntax("an empty line", EXPECTED).at(blank));
        }
        let (thread, what, target, location) = parse_line(line)
            .ok_or_else(|| Problem::syntax(excerpt(line.as_bytes()), EXPECTED).at(at))?;
        steps.push(thread, what, target, (!location.is_empty()).then_some(location))
    })?;
    if steps.list.is_empty() {
        return Err(Problem::syntax("no event", EXPECTED).at(Position::File));
    }
    steps.into_trace()
}

const EXPECTED: &str = "`thread|operation|location` with acq, rel, r, w, fork, join, req (each with \
     a name in parentheses), begin or end";

fn parse_line(line: &str) -> Option<(&str, What, &str, &str)> {
    let (thread, operation, location) = split(line)?;
    let (what, target) = parse_operation(operation)?;
    Some((thread, what, target, location))
}

fn split(line: &str) -> Option<(&str, &str, &str)> {
    let (thread, rest) = line.split_once('|')?;
    let (operation, location) = rest.split_once('|')?;
    (!thread.is_empty() && !location.contains('|')).then_some((thread, operation, location))
}

fn parse_operation(operation: &str) -> Option<(What, &str)> {
    let Some((word, rest)) = operation.split_once('(') else {
        return match operation {
            "begin" => Some((What::Begin, "")),
            "end" => Some((What::End, "")),
            _ => None,
        };
    };
    let target = rest.strip_suffix(')')?;
    let what = match word {
        // RapidBin turned into STD writes a meaningless operand here.
        "begin" => return Some((What::Begin, "")),
        "end" => return Some((What::End, "")),
        "r" => What::Read,
        "w" => What::Write,
        "acq" => What::Acquire,
        "rel" => What::Release,
        "req" => What::Request,
        "fork" => What::Fork,
        "join" => What::Join,
        _ => return None,
    };
    (!target.is_empty()).then_some((what, target))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use expect_test::{Expect, expect};

    use super::parse;
    use crate::{Op, Trace};

    /// The imported events, one per line, and the notes.
    fn show(trace: &Trace) -> String {
        let mut text = String::new();
        let name = |thread: crate::ThreadId| trace.name(thread);
        for (_, event) in trace.events() {
            let what = match event.op {
                Op::Read { at, .. } => format!("r({})", trace.name(at.object)),
                Op::Write { at, .. } => format!("w({})", trace.name(at.object)),
                Op::Acquire { lock, .. } => format!("acq({})", trace.name(lock)),
                Op::Release { lock, .. } => format!("rel({})", trace.name(lock)),
                Op::Fork { child } => format!("fork({})", name(child)),
                Op::Join { child } => format!("join({})", name(child)),
                Op::Request(_) => "req".to_string(),
                other => format!("{other:?}"),
            };
            let location = event.location.map(|at| trace.name(at));
            writeln!(text, "{} {what} {}", name(event.thread), location.unwrap_or("-")).unwrap();
        }
        for (fact, count) in trace.provenance() {
            writeln!(text, "{}: {count}", fact.code()).unwrap();
        }
        text
    }

    fn check(lines: &str, expected: impl std::borrow::Borrow<Expect>) {
        let text = lines.replace(' ', "\n");
        expected.borrow().assert_eq(&match parse(text.as_bytes()) {
            Ok(trace) => show(&trace),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn every_operation_is_read() {
        check(
            "A|w(x)|1 A|fork(B)|2 B|begin|3 B|req(m)| B|acq(m)|a.c:4 B|acq(m)|4 B|r(x)|5 B|rel(m)|6 \
             B|rel(m)|7 B|end|8 A|join(B)|9",
            expect![[r#"
                A w(x) 1
                A fork(B) 2
                B Begin 3
                B req -
                B acq(m) a.c:4
                B acq(m) 4
                B r(x) 5
                B rel(m) 6
                B rel(m) 7
                B End 8
                A join(B) 9
            "#]],
        );
    }

    #[test]
    fn a_bare_number_names_the_thread_with_a_t() {
        check(
            "T1|fork(2)|1 T2|r(x)|2 T1|join(2)|3",
            expect![[r#"
                T1 fork(T2) 1
                T2 r(x) 2
                T1 join(T2) 3
                fork-by-number: 2
            "#]],
        );
        // A thread that is really called so is meant literally.
        check(
            "1|fork(2)|1 2|r(x)|2 T2|r(x)|3",
            expect![[r#"
                1 fork(2) 1
                2 r(x) 2
                T2 r(x) 3
            "#]],
        );
    }

    #[test]
    fn of_repeated_forks_the_last_is_kept() {
        check(
            "A|fork(B)|1 A|w(x)|2 A|fork(B)|3 B|r(x)|4",
            expect![[r#"
                A w(x) 2
                A fork(B) 3
                B r(x) 4
                repeated-fork: 1
            "#]],
        );
        check(
            "A|fork(B)|1 B|r(x)|2 A|fork(B)|3 B|r(x)|4",
            expect![
                "line 3: A forks B, which runs since line 2, but a thread is forked once, before its first event"
            ],
        );
        check(
            "A|fork(B)|1 C|fork(B)|2 B|r(x)|3",
            expect!["line 2: C forks B, which A has forked at line 1, but a thread is forked once"],
        );
    }

    #[test]
    fn a_fork_of_nobody_is_the_fork_of_the_only_orphan() {
        check(
            "A|w(x)|1 A|fork(B)|2 C|r(x)|3 A|join(B)|4",
            expect![[r#"
                A w(x) 1
                A fork(C) 2
                C r(x) 3
                A join(C) 4
                fork-of-idle-thread: 1
            "#]],
        );
        // C runs before the fork: it is not its child. And two orphans leave the choice open.
        check(
            "C|r(x)|1 A|fork(B)|2 C|r(x)|3",
            expect![[r#"
                C r(x) 1
                A fork(B) 2
                C r(x) 3
            "#]],
        );
        check(
            "A|fork(B)|1 C|r(x)|2 D|r(x)|3",
            expect![[r#"
                A fork(B) 1
                C r(x) 2
                D r(x) 3
            "#]],
        );
    }

    #[test]
    fn a_late_release_is_moved_up() {
        check(
            "A|acq(m)|1 A|r(x)|2 B|r(x)|3 B|acq(m)|4 B|w(y)|5 A|rel(m)|6 B|rel(m)|7",
            expect![[r#"
                A acq(m) 1
                A r(x) 2
                B r(x) 3
                A rel(m) 6
                B acq(m) 4
                B w(y) 5
                B rel(m) 7
                late-release: 1
            "#]],
        );
        check(
            "A|acq(m)|1 A|acq(n)|2 B|acq(n)|3 C|acq(m)|4 A|rel(n)|5 A|rel(m)|6 B|rel(n)|7 C|rel(m)|8",
            expect![[r#"
                A acq(m) 1
                A acq(n) 2
                A rel(n) 5
                B acq(n) 3
                A rel(m) 6
                C acq(m) 4
                B rel(n) 7
                C rel(m) 8
                late-release: 2
            "#]],
        );
    }

    #[test]
    fn other_broken_exclusion_is_an_error() {
        let held = expect![
            "line 2: B acquires m, which A holds since line 1, but a lock has one holder, and the holder's next event is not its release"
        ];
        check("A|acq(m)|1 B|acq(m)|2 A|w(x)|3 A|rel(m)|4", &held);
        check("A|acq(m)|1 B|acq(m)|2", &held);
        check(
            "A|acq(m)|1 A|acq(m)|2 B|acq(m)|3 A|rel(m)|4",
            expect![
                "line 3: B acquires m, which A holds since line 1, but a lock has one holder, and the holder's next event is not its release"
            ],
        );
        let unheld = expect![
            "line 2: B releases m, which it does not hold, but in this format a release ends a recorded hold of its own thread"
        ];
        check("A|acq(m)|1 B|rel(m)|2", &unheld);
        check("A|r(x)|1 B|rel(m)|2", &unheld);
    }

    #[test]
    fn begin_and_end_stand_at_the_ends() {
        check(
            "A|begin|1 B|begin|1 A|fork(B)|2 B|begin|3 B|r(x)|4 B|begin|5 B|end|6 B|w(x)|7 B|end|8 B|end|9",
            expect![[r#"
                A Begin 1
                A fork(B) 2
                B Begin 3
                B r(x) 4
                B w(x) 7
                B End 8
                misplaced-begin: 2
                misplaced-end: 2
            "#]],
        );
    }

    #[test]
    fn a_thread_that_hangs_has_no_end() {
        check(
            "A|acq(m)|1 A|req(n)|2 A|end|3",
            expect![[r#"
                A acq(m) 1
                A req 2
                end-of-hung-thread: 1
            "#]],
        );
    }

    #[test]
    fn a_join_comes_last() {
        check(
            "A|fork(B)|1 B|r(x)|2 A|join(B)|3 B|end|4",
            expect![[r#"
                A fork(B) 1
                B r(x) 2
                A join(B) 3
                misplaced-end: 1
            "#]],
        );
        check(
            "A|fork(B)|1 A|join(B)|2 B|r(x)|3",
            expect![
                "line 2: A joins B, which goes on at line 3, but a join returns after the last event of the joined thread"
            ],
        );
        check(
            "A|join(B)|1 A|fork(B)|2",
            expect![
                "line 1: A joins B, which is forked at line 2, but a thread is joined after it was forked"
            ],
        );
        check(
            "A|join(A)|1",
            expect![
                "line 1: A joins A, which goes on at line 1, but a join returns after the last event of the joined thread"
            ],
        );
    }

    #[test]
    fn what_is_not_std_is_an_error_with_its_line() {
        let expected = "expected `thread|operation|location` with acq, rel, r, w, fork, join, req (each with a name in parentheses), begin or end";
        for (text, found) in [
            ("A|r(x)|1\nA|q(x)|2\n", "line 2: `A|q(x)|2`"),
            ("A|r(x)\n", "line 1: `A|r(x)`"),
            ("A|r()|1\n", "line 1: `A|r()|1`"),
            ("|r(x)|1\n", "line 1: `|r(x)|1`"),
            ("A|r(x|1\n", "line 1: `A|r(x|1`"),
            ("A|r(x)|1|2\n", "line 1: `A|r(x)|1|2`"),
            ("A|r(x)|1\n\nA|r(x)|1\n", "line 2: an empty line"),
            ("", "no event"),
        ] {
            assert_eq!(
                parse(text.as_bytes()).unwrap_err().to_string(),
                format!("{found}; {expected}")
            );
        }
        assert!(parse(b"A|r(x)|1\r\nA|r(x)|2\r\n\r\n").is_ok());
        assert!(parse(b"A|r(\xff)|1").unwrap_err().to_string().contains("expected UTF-8 text"));
        assert!(parse(&[b'a'; 100_000]).unwrap_err().to_string().contains("at most 64 KiB"));
    }

    #[test]
    fn gzip_is_read_and_its_damage_reported() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"A|r(x)|1\nB|w(x)|2\n").unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(parse(&packed).unwrap().len(), 2);
        for length in 0..packed.len() {
            assert!(parse(&packed[..length]).is_err());
        }
    }
}
