//! The papers' worked examples as C programs: what each model says of the run that the paper shows.
//! `docs/papers.md` has them as a table.
//!
//! A program says at its end what is expected. The labels are comments behind its statements.
//!
//! ```text
//! //? run: t1 t3 T2.t11         the accesses of all threads but main, in the order of the run;
//!                               `any`: a run that ends well; `hangs`: one that does not end
//! //? symbolic: assertion t12; race y t5 t12
//! //? symbolic, assertion, 1 switch: none
//! //? merged, assertion: assertion t5          all runs above, merged
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::found::{Found, findings};
use super::{compile, examples, foretrace, replay_again};

/// Runs among which the one of the paper must be.
const RUNS: u64 = 300;

struct Paper {
    name: String,
    program: String,
    /// Labels by line.
    labels: BTreeMap<String, String>,
    /// Traces of the runs so far.
    traces: Vec<String>,
}

impl Paper {
    fn open(source: &Path) -> Paper {
        let name = source.file_stem().unwrap().to_str().unwrap().to_string();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("paper-{name}"));
        // Each statement of the figure is an access.
        compile(source, &target, &["-O0"]);
        let text = fs::read_to_string(source).unwrap();
        let label = |line: &str| {
            let label = line.rsplit_once("/* ")?.1.strip_suffix(" */")?;
            (!label.contains(' ')).then(|| label.to_string())
        };
        let labels = text
            .lines()
            .enumerate()
            .filter_map(|(number, line)| Some(((number + 1).to_string(), label(line)?)));
        let program = target.to_str().unwrap().to_string();
        Paper { labels: labels.collect(), name, program, traces: Vec::new() }
    }

    fn label<'l>(&'l self, line: &'l str) -> &'l str {
        self.labels.get(line).map_or(line, |label| label)
    }

    /// Records until there is a run as wanted.
    fn record(&mut self, wanted: &str) {
        let trace = format!("{}-{}.ftb", self.program, self.traces.len());
        for round in 0..RUNS {
            let (schedule, seed) = (["pct", "random"][round as usize % 2], (round / 2).to_string());
            let output = foretrace(&[
                "run",
                "--schedule",
                schedule,
                "--seed",
                &seed,
                "--timeout",
                "2s",
                "-o",
                &trace,
                "--",
                &self.program,
            ]);
            let is_it = match wanted {
                "any" => output.status.success(),
                "hangs" => output.status.code() == Some(124),
                order => output.status.success() && self.is_order(&trace, order),
            };
            if is_it {
                self.traces.push(trace);
                return;
            }
        }
        panic!("{}: no run is {wanted}", self.name);
    }

    /// Whether the accesses come in this order.
    fn is_order(&self, trace: &str, wanted: &str) -> bool {
        let text = foretrace(&["trace", "show", trace]).stdout;
        let text = String::from_utf8(text).unwrap();
        let accesses = text.lines().filter_map(|line| {
            let (thread, rest) = line.split_once(": ").filter(|(thread, _)| *thread != "T0")?;
            let (op, place) = rest.rsplit_once(" @ ")?;
            let is_access = op.contains("read ") || op.starts_with("write ");
            let line = place.rsplit(':').nth(1)?;
            is_access.then(|| (thread, self.label(line)))
        });
        let mut wanted = wanted.split(' ');
        accesses.into_iter().all(|(thread, label)| match wanted.next() {
            Some(word) => word == label || word == format!("{thread}.{label}"),
            None => false,
        }) && wanted.next().is_none()
    }

    /// A finding in the words of the program: `race y t5 t12`.
    fn show(&self, found: &Found) -> String {
        let mut places: Vec<&str> = found
            .places
            .iter()
            .map(|place| self.label(place.rsplit(':').next().unwrap()))
            // Where a thread that waits for others is does not matter.
            .filter(|label| found.kind != "stuck" || self.labels.values().any(|one| one == label))
            .collect();
        places.sort_unstable();
        // The variable, whatever its member.
        let object = found.what.strip_prefix("data race on ");
        let object = object.and_then(|name| name.split(['.', '[', '+']).next()).map(str::to_string);
        let words = [found.kind.clone()].into_iter().chain(object);
        words.chain(places.iter().map(|place| place.to_string())).collect::<Vec<_>>().join(" ")
    }

    /// Predicts as the line says, and compares.
    fn check(&self, how: &str, wanted: &str) -> Result<(), String> {
        let json = format!("{}.json", self.program);
        let mut arguments = vec!["predict", "--json", &json];
        let mut is_plain = true;
        match how.split(", ").next().unwrap() {
            "merged" => arguments.extend(self.traces.iter().map(|trace| &trace[..])),
            model => {
                arguments.extend([
                    "--model",
                    model,
                    self.traces.last().expect("a run comes first"),
                ]);
            }
        }
        for word in how.split(", ").skip(1) {
            match word.split_once(' ') {
                Some((bound, _)) => {
                    is_plain = false;
                    arguments.extend(["--context-bound", bound]);
                }
                None => arguments.extend(["--check", word]),
            }
        }
        arguments.push("--verbose");
        let output = foretrace(&arguments);
        let report = String::from_utf8_lossy(&output.stdout);
        let found = findings(&report);
        let mut shown: Vec<String> = found.iter().map(|found| self.show(found)).collect();
        shown.sort();
        let mut expected: Vec<String> = wanted
            .split("; ")
            .filter(|one| *one != "none")
            .map(|one| {
                // The places of a finding have no order.
                let places = if one.starts_with("race ") { 2 } else { 1 };
                let mut words: Vec<&str> = one.split(' ').collect();
                words[places..].sort_unstable();
                words.join(" ")
            })
            .collect();
        expected.sort();
        if shown != expected {
            return Err(format!(
                "{}, {how}: {shown:?} and not {expected:?}\n{report}{}",
                self.name,
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        if how.starts_with("symbolic") && is_plain {
            for finding in &found {
                replay_again(&finding.id, &json, &self.program)?;
            }
        }
        Ok(())
    }
}

#[test]
fn the_papers_examples_as_programs() {
    let mut sources: Vec<_> = fs::read_dir(examples("papers"))
        .expect("the programs are there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "c"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 12, "the programs are there");
    let mut errors = Vec::new();
    for source in sources {
        let mut paper = Paper::open(&source);
        let text = fs::read_to_string(&source).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("//? ")) {
            let (how, wanted) = line.split_once(": ").expect("how: what");
            match how {
                "run" => paper.record(wanted),
                _ => errors.extend(paper.check(how, wanted).err()),
            }
        }
        assert!(!paper.traces.is_empty(), "{}: nothing is expected", paper.name);
    }
    assert!(errors.is_empty(), "{}", errors.join("\n\n"));
}
