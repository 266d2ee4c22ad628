//! Said, Wang, Yang and Sakallah, *Generating Data Race Witnesses by an SMT-Based Analysis*, NFM
//! 2011, figure 3: the read of x in thread 2 must lie between the two writes of x in thread 1, so
//! the two writes of y are never next at once.

use foretrace_trace::EventId;
use foretrace_verdict::{Model, Violation};

use super::{feasible, trace};
use crate::checker::{CheckOptions, Checker};

const FIGURE_3: &str = "\
init x = 0
init y = 0
t1: acquire l
t1: write x = 10
t1: release l
t2: acquire l
t2: read x : 10
t2: write y = 20
t2: release l
t1: acquire l
t1: write x = 20
t1: release l
t1: write y = 30
";

/// How many of all schedules are feasible, and how many are witnesses.
fn count(checker: &Checker, violation: &Violation, schedule: &mut Vec<EventId>) -> [usize; 2] {
    let is_feasible = feasible(checker, schedule).is_ok();
    let is_witness = checker.check(violation, schedule).is_ok();
    assert!(is_feasible || !is_witness);
    let mut found = [usize::from(is_feasible), usize::from(is_witness)];
    for event in super::next_of_each(checker.trace(), schedule) {
        schedule.push(event);
        let more = count(checker, violation, schedule);
        found = [found[0] + more[0], found[1] + more[1]];
        schedule.pop();
    }
    found
}

#[test]
fn the_race_on_y_has_no_witness() {
    for model in [Model::Values, Model::ReadsFrom] {
        let figure = trace(FIGURE_3);
        let checker = Checker::new(&figure, model, CheckOptions::default());
        let race = Violation::Race(EventId(5), EventId(10));
        let [feasible, witnesses] = count(&checker, &race, &mut Vec::new());
        assert_eq!(witnesses, 0);
        assert!(feasible > 10, "{feasible}");
    }
}

#[test]
fn without_the_read_it_has_one() {
    let figure = trace(&FIGURE_3.replace("read x : 10", "external"));
    let checker = Checker::new(&figure, Model::Values, CheckOptions::default());
    let race = Violation::Race(EventId(5), EventId(10));
    assert!(count(&checker, &race, &mut Vec::new())[1] > 0);
}
