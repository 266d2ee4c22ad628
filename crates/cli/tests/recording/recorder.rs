//! The library records programs as the command does.

use foretrace::{Certainty, Error, Frame, Options, Recorder, Violation};

use crate::harness::{compile, source};

fn recorder() -> Recorder {
    Recorder::new(env!("CARGO_BIN_EXE_foretrace"))
}

#[test]
fn a_recorded_program_has_its_race() {
    let program = compile("racy", &["racy.c"]);
    let file = program.folder.join("racy.ftb");
    let trace = recorder().seed(2).record(&[&program.path], &file).unwrap();
    let options = Options::default().limited_for(&trace);
    let prediction = foretrace::predict(&trace, &options).unwrap();
    let race = &prediction.findings[0];
    assert!(matches!(race.violation, Violation::Race(..)) && race.certainty == Certainty::Real);
    let report = foretrace::report_trace(&trace, prediction, Frame::new(&options));
    let race = &report.findings[0];
    assert!(report.locations(race).all(|place| place.contains("racy.c")));
    assert_eq!(report.settings.conflicts, Some(10_000));
}

#[test]
fn what_is_not_recorded_leaves_no_trace() {
    let program = compile("racy", &["racy.c"]);
    let file = program.folder.join("racy.ftb");
    recorder().record(&[&program.path], &file).unwrap();
    // The trace of the run before must not be taken for one of `true`.
    let error = recorder().record(&["/bin/true"], &file).unwrap_err();
    assert!(matches!(error, Error::NotRecorded(_)), "{error}");
    let error = Recorder::new(source("racy.c")).record(&["/bin/true"], &file).unwrap_err();
    assert!(matches!(error, Error::NotStarted { .. }), "{error}");
}
