//! The litmus suite: every small trace of `litmus/` is predicted under all models, and the findings
//! must be exactly those that the file itself expects. What one model finds, the next finds as
//! well, in every file. `expectation` says how a file expects; `litmus/README.md` says it to
//! readers.

mod expectation;
mod papers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use expect_test::expect;
use foretrace_predict::{Finding, Options, Prediction, Switches, predict};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{Certainty, Ledger, LockMisuse, Model, Property, Violation};
use foretrace_witness::{CheckOptions, Checker, context_switches, reported_order};

use expectation::{
    Expectation, Expected, Outcome, ledger_line, show_difference, without_certainty,
};

/// The models that pin every read.
const PINNED: [Model; 2] = [Model::ReadsFrom, Model::Values];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus")
}

/// The names of all litmus files, without `.trace`, in order.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the litmus folder is there");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.expect("the folder can be listed").file_name();
            name.to_str().expect("names are UTF-8").strip_suffix(".trace").map(String::from)
        })
        .collect();
    names.sort_unstable();
    names
}

fn read(name: &str) -> String {
    let path = folder().join(format!("{name}.trace"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A trace that can be predicted and shown in the words of the expectations.
struct Litmus {
    trace: Trace,
    lines: text::Lines,
}

impl Litmus {
    fn parse(input: &str) -> Result<Litmus, String> {
        let (trace, lines) = text::parse_with_lines(input).map_err(|error| error.to_string())?;
        validate(&trace).map_err(|invalid| invalid.with_lines(&lines).to_string())?;
        Ok(Litmus { trace, lines })
    }

    /// Where an event is: its location, or else its line in the file.
    fn spot(&self, event: EventId) -> String {
        match self.trace.location_of(event) {
            Some(location) => self.trace.name(location).to_string(),
            None => format!("line:{}", self.lines.line(event)),
        }
    }

    fn show(&self, finding: &Finding) -> String {
        let spots = |events: &[EventId]| -> Vec<String> {
            events.iter().map(|&event| self.spot(event)).collect()
        };
        let object = || {
            let object = finding.object.expect("it is about an object");
            self.trace.name(object).to_string()
        };
        let (kind, mut words) = match finding.violation {
            Violation::Race(a, b) => ("race", [vec![object()], spots(&[a, b])].concat()),
            Violation::Atomicity { first, remote, second } => {
                ("atomicity", [vec![object()], spots(&[first, remote, second])].concat())
            }
            Violation::LockCycle(ref points) => ("cycle", spots(points)),
            Violation::Stuck(point) => ("stuck", spots(&[point])),
            Violation::Assertion(point) => ("assertion", spots(&[point])),
            Violation::Lock(misuse, point) => {
                let kind = match misuse {
                    LockMisuse::DoubleLock => "double-lock",
                    LockMisuse::UnlockNotHeld => "unlock-not-held",
                    LockMisuse::UnlockByOther => "unlock-by-other",
                    LockMisuse::DestroyHeld => "destroy-held",
                };
                (kind, spots(&[point]))
            }
        };
        expectation::canonical(kind, &mut words);
        let possible = if finding.certainty == Certainty::Possible { "possible " } else { "" };
        format!("{possible}{kind} {}", words.join(" "))
    }

    fn predict(
        &self,
        model: Model,
        infer_regions: bool,
        switches: Switches,
    ) -> Result<Prediction, String> {
        let options = Options { model: Some(model), infer_regions, switches, ..Options::default() };
        let prediction = predict(&self.trace, &options, &()).map_err(|error| error.to_string())?;
        if let Some(undecided) = prediction.undecided.first() {
            return Err(format!("undecided: {undecided:?}"));
        }
        let checker = Checker::new(&self.trace, model, CheckOptions { infer_regions });
        for finding in &prediction.findings {
            let certainty = checker
                .check(&finding.violation, &finding.schedule)
                .map_err(|refuted| format!("{}: {refuted}", self.show(finding)))?;
            if certainty != finding.certainty {
                return Err(format!("{} is {certainty:?}", self.show(finding)));
            }
            let taken = self.switches(finding);
            if matches!(switches, Switches::AtMost(most) if taken > most) {
                return Err(format!("{} has {taken} context switches", self.show(finding)));
            }
        }
        Ok(prediction)
    }

    /// How many context switches the witness of a finding has.
    fn switches(&self, finding: &Finding) -> u32 {
        let order = reported_order(&self.trace, &finding.violation, &finding.schedule);
        context_switches(&self.trace, &order) as u32
    }

    /// What bounds on the context switches make of a model's findings, against what is expected.
    fn bounded(
        &self,
        model: Model,
        infer_regions: bool,
        expected: &Expected,
    ) -> Result<String, String> {
        let mut differences = String::new();
        for (bound, expected) in &expected.bounded {
            let prediction = self.predict(model, infer_regions, Switches::AtMost(*bound))?;
            let title = format!("{} within {bound}", model.name());
            differences += &expected.difference(&title, &self.outcome(&prediction));
        }
        if !expected.fewest.is_empty() {
            let prediction = self.predict(model, infer_regions, Switches::Fewest)?;
            let found = |finding| (self.switches(finding), self.show(finding));
            let found: Vec<(u32, String)> = prediction.findings.iter().map(found).collect();
            let line = |(number, finding): &(u32, String)| format!("fewest {number} {finding}");
            let missing = expected.fewest.iter().filter(|&fewest| !found.contains(fewest));
            let lost: Vec<String> = missing.map(line).collect();
            let gained = if lost.is_empty() { vec![] } else { found.iter().map(line).collect() };
            differences += &show_difference(model.name(), &lost, &gained);
        }
        Ok(differences)
    }

    fn outcome(&self, prediction: &Prediction) -> Outcome {
        let mut findings: Vec<String> =
            prediction.findings.iter().map(|finding| self.show(finding)).collect();
        findings.sort_unstable();
        let line = |&(property, ledger): &(Property, Ledger)| {
            (expectation::property_name(property).to_string(), ledger_line(&ledger))
        };
        Outcome { findings, ledgers: prediction.ledgers.iter().map(line).collect() }
    }
}

/// What a model finds and the next one, which allows every schedule that it allows, does not.
fn not_contained(model: Model, found: &Outcome, next: &Outcome) -> Vec<String> {
    let finds_no_less = |finding: &String, other: &String| {
        other == finding
            || without_certainty(finding) == other
            || model == Model::Symbolic && without_certainty(finding) == without_certainty(other)
    };
    let lost = |finding: &&String| !next.findings.iter().any(|other| finds_no_less(finding, other));
    found.findings.iter().filter(lost).cloned().collect()
}

/// Holds a litmus text against its own expectations.
fn check(input: &str) -> Result<(), String> {
    let expectation = Expectation::parse(input)?;
    let litmus = Litmus::parse(input)?;
    let infer_regions = expectation.infer_regions;
    let mut differences = String::new();
    let mut found = Vec::new();
    for model in Model::ALL {
        let expected = expectation.of(model)?;
        let prediction = litmus.predict(model, infer_regions, Switches::Any)?;
        found.push(litmus.outcome(&prediction));
        if let Some(expected) = expected {
            differences += &expected.unbounded.difference(model.name(), &found[model as usize]);
            differences += &litmus.bounded(model, infer_regions, expected)?;
        }
    }
    for (model, pair) in Model::ALL.into_iter().zip(found.windows(2)) {
        let lost = not_contained(model, &pair[0], &pair[1]);
        let title = format!("found under {}, but not under the next model", model.name());
        differences += &show_difference(&title, &lost, &[]);
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// Checks one file of the folder, for tests that name it.
fn check_file(name: &str) {
    check(&read(name)).unwrap_or_else(|problem| panic!("litmus/{name}.trace\n{problem}"));
}

#[test]
fn all_files_give_what_they_expect() {
    let names = names();
    assert!(names.len() > 170, "only {} files", names.len());
    let problems: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let problem = check(&read(name)).err()?;
            Some(format!("litmus/{name}.trace\n{problem}"))
        })
        .collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_file_says_why() {
    for name in names() {
        let text = read(&name);
        let reason = text.lines().take_while(|line| line.starts_with("# ")).count();
        assert!(reason > 0, "litmus/{name}.trace does not begin with a comment that explains it");
    }
}

/// What an operation or a violation is called in `Debug`, without its fields.
fn kind_of(value: &impl std::fmt::Debug) -> String {
    let shown = format!("{value:?}");
    shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string()
}

#[test]
fn every_primitive_and_every_kind_of_finding_occurs() {
    let mut operations = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for name in names() {
        let text = read(&name);
        let trace = text::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        operations.extend(trace.ops().map(|(_, op)| kind_of(&op)));
        let findings = text.lines().filter_map(|line| line.strip_prefix("#? "));
        kinds.extend(findings.filter_map(|line| line.split(' ').next()).map(String::from));
    }
    // Steps without an effect have no verdict of their own.
    let expected = expect![[r#"
        Acquire AcquireFailed Alloc Arrive Assert Assume Begin Branch Broadcast Destroy End EnterCall Exit External Fork Free Join Leave LeaveCall Let Read RegionBegin RegionEnd Release Request Rmw SemPost SemWait SemWaitFailed Signal Wait Wake Write
    "#]];
    expected.assert_eq(&(operations.into_iter().collect::<Vec<_>>().join(" ") + "\n"));
    let expected = expect![[r#"
        assertion atomicity both bound control cycle destroy-held double-lock fewest infer-regions ledger none possible race reads-from same stuck symbolic unlock-by-other unlock-not-held values
    "#]];
    expected.assert_eq(&(kinds.into_iter().collect::<Vec<_>>().join(" ") + "\n"));
}

const TWO_WRITES: &str = "t1: write x = 1 @ a\nt2: write x = 2 @ b\n";

fn problem_with(directives: &str) -> String {
    check(&format!("{directives}{TWO_WRITES}")).expect_err("it is not what happens")
}

#[test]
fn a_file_without_an_expectation_fails() {
    expect!["no expectation for reads-from"].assert_eq(&problem_with(""));
    expect!["no expectation for values"].assert_eq(&problem_with("#? reads-from\n#? race x a b\n"));
    expect!["line 1: `both` expects nothing; if there is nothing, say `none`"]
        .assert_eq(&problem_with("#? both\n"));
}

#[test]
fn a_wrong_expectation_is_shown_as_a_difference() {
    expect![[r#"
        reads-from:
          - race x a c
          - ledger race candidates=2 violated=2
          + race x a b
          + ledger race candidates=1 violated=1
        values:
          - possible race x a b
          + race x a b
    "#]]
    .assert_eq(&problem_with(
        "#? reads-from\n#? race x c a\n#? ledger race candidates=2 violated=2\n\
         #? values\n#? possible race x b a\n",
    ));
    expect![[r#"
        symbolic:
          - race x a c
          + race x a b
        symbolic within 0:
          - race x a b
        symbolic:
          - fewest 2 race x a b
          + fewest 1 race x a b
        control:
          - race x a b
          + possible race x a b
    "#]]
    .assert_eq(&problem_with(
        "#? both\n#? race x a b\n\
         #? symbolic\n#? race x a c\n#? fewest 2 race x a b\n#? bound 0\n#? race x a b\n\
         #? control\n#? race x a b\n",
    ));
    expect![[r#"
        reads-from:
          + race x a b
        values:
          + race x a b
    "#]]
    .assert_eq(&problem_with("#? both\n#? none\n"));
}

#[test]
fn what_is_not_a_directive_is_refused() {
    expect!["line 1: `race x a b` is about no model"].assert_eq(&problem_with("#? race x a b\n"));
    expect!["line 2: unknown directive `rice x a b`"]
        .assert_eq(&problem_with("#? both\n#? rice x a b\n"));
    expect!["line 2: `race x a` has the wrong number of words"]
        .assert_eq(&problem_with("#? both\n#? race x a\n"));
    expect!["line 3: `none` beside other expectations"]
        .assert_eq(&problem_with("#? both\n#? race x a b\n#? none\n"));
    expect!["line 2: in `ledger race lost=1`: unknown count `lost`"]
        .assert_eq(&problem_with("#? both\n#? ledger race lost=1\n#? race x a b\n"));
    expect!["line 3: `same` beside other expectations"]
        .assert_eq(&problem_with("#? values\n#? race x a b\n#? same\n"));
    expect!["line 1: `same` as what?"].assert_eq(&problem_with("#? both\n#? same\n"));
    expect!["line 5: `same` within a bound"]
        .assert_eq(&problem_with("#? both\n#? none\n#? values\n#? bound 1\n#? same\n"));
    expect!["line 1: `both` within 1 expects nothing; if there is nothing, say `none`"]
        .assert_eq(&problem_with("#? both\n#? race x a b\n#? bound 1\n"));
    expect!["line 3: `few` is not a number"]
        .assert_eq(&problem_with("#? both\n#? race x a b\n#? bound few\n"));
    expect!["line 3: reads-from has its expectation already"]
        .assert_eq(&problem_with("#? both\n#? none\n#? reads-from\n#? none\n"));
    expect!["line 1: write `#? ` with one space"].assert_eq(&problem_with("#?both\n"));
}

#[test]
fn what_the_next_model_does_not_find_is_a_difference() {
    let outcome = |findings: &[&str]| Outcome {
        findings: findings.iter().map(|finding| finding.to_string()).collect(),
        ledgers: Vec::new(),
    };
    let lost = |model, found: &[&str], next: &[&str]| {
        not_contained(model, &outcome(found), &outcome(next)).join(", ")
    };
    let (real, possible) = ("race x a b", "possible race x a b");
    assert_eq!(lost(Model::Values, &[real], &[real, "race y a b"]), "");
    assert_eq!(lost(Model::Values, &[possible], &[real]), "");
    assert_eq!(lost(Model::Values, &[real], &[possible]), real);
    assert_eq!(lost(Model::Symbolic, &[real], &[possible]), "");
    assert_eq!(lost(Model::Symbolic, &[real], &["possible race y a b"]), real);
}

#[test]
fn an_invalid_trace_fails() {
    let problem = check("#? both\n#? none\nt1: acquire m\nt2: acquire m\n");
    expect!["line 4 (t2): acquire m, but t1 has held it since line 3 [lock-held]"]
        .assert_eq(&problem.expect_err("m is held"));
}
