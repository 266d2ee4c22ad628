//! Which findings of merged runs are certain, and which schedule a replay of them follows.

use foretrace_program::merge::{Merged, MixedTrace, Mixture};
use foretrace_program::{Operand, Site, run};
use foretrace_report::{Kind, Reason, Report};
use foretrace_trace::{EventId, Place, Trace};
use foretrace_verdict::{Certainty, Model, Violation};
use foretrace_witness::{CheckOptions, Checker};

/// Says in a report that parts of the runs are not in it: nothing that is not found there is
/// refuted.
pub fn tell_what_is_left_out(report: &mut Report, reasons: Vec<String>) {
    if reasons.is_empty() {
        return;
    }
    for kind in [Kind::Race, Kind::Assertion] {
        let what = "parts of the runs are left out, see the notes";
        report.leave_open(kind, Reason::new("runs-left-out", what));
        report.not_asked.retain(|part| part.property != kind.property());
    }
    report.notes.extend(reasons.into_iter().map(|reason| format!("left out: {reason}")));
}

/// Findings of merged runs, in terms of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Mixing<'a> {
    /// What the runs are as one program.
    pub merged: &'a Merged,
    /// The runs.
    pub traces: &'a [&'a Trace],
}

/// What a replay of a finding of merged runs follows.
#[derive(Debug)]
pub struct Replayable {
    /// The events of several runs as one trace, and their schedule.
    pub mixed: MixedTrace,
    /// The violation, by events of that trace.
    pub violation: Violation,
}

impl Mixing<'_> {
    /// How sure a finding is, and what a replay of it follows. It is real if one run has all of it,
    /// and the checker of schedules accepts it there.
    ///
    /// `happened` is all that the interpreter did up to the violation, which is at the sites
    /// `next`.
    pub(super) fn judge<'e>(
        &self,
        happened: impl Iterator<Item = &'e run::Event>,
        next: &[Site],
        kind: Kind,
    ) -> (Certainty, Option<Replayable>) {
        // A begin has the site of what comes first.
        let is_access = |site: Site| {
            let origin = self.merged.origins(site).first();
            origin.is_some_and(|&(run, event)| self.traces[run].access(event).is_some())
        };
        let is_step = |event: &&run::Event| match event.action {
            run::Action::Begin => false,
            // Which place an access is to is chosen before it happens.
            run::Action::Branch { .. } if is_access(event.site) => false,
            _ => !next.contains(&event.site),
        };
        let steps = happened.filter(is_step).map(|event| self.merged.origins(event.site));
        let steps: Vec<_> = steps.filter(|origins| !origins.is_empty()).collect();
        let next: Vec<_> = next.iter().map(|&site| self.merged.origins(site)).collect();
        let possible = Certainty::Possible;
        let Some(mixture) = Mixture::new(self.traces, self.merged, &steps, &next) else {
            return (possible, None);
        };
        let certainty = match mixture.run {
            Some(run) if self.is_real(run, &mixture, kind) => Certainty::Real,
            _ => possible,
        };
        let mixed = mixture.trace(self.traces, self.merged);
        let violation = Violation::of_kind(kind, &mixed.next);
        (certainty, violation.map(|violation| Replayable { mixed, violation }))
    }

    /// Whether a race between instructions is declared to be harmless: all bytes that both touch.
    pub(super) fn is_benign(&self, next: &[Site]) -> bool {
        let place = |site: &Site| {
            let &(run, event) = self.merged.origins(*site).first()?;
            let at = self.traces[run].access(event)?.at;
            // An access that ranges over its object is somewhere else than in the run. (What is cut
            // into pages has other names.)
            let instruction = self.merged.program.instruction(*site)?;
            let here = match instruction.op.access()? {
                (Operand::Global { global, offset }, _) => {
                    let name = &self.merged.program.globals[global.index()].name;
                    let is_same = name == self.traces[run].objects().get(at.object.index());
                    is_same.then_some(offset as u32)
                }
                _ => None,
            };
            Some((run, Place { offset: here.unwrap_or(at.offset), ..at }))
        };
        let &[(run, a), (other, b)] = &next.iter().filter_map(place).collect::<Vec<_>>()[..] else {
            return false;
        };
        let (start, end) = (a.offset.max(b.offset), a.end().min(b.end()));
        let is_declared = |run: usize, at: Place, byte: u32| {
            let benign = self.traces[run].benign().iter();
            benign.clone().any(|(known, _)| {
                known.object == at.object && (known.offset..known.end()).contains(&byte)
            })
        };
        (start..end).all(|byte| is_declared(run, a, byte) || is_declared(other, b, byte))
    }

    fn is_real(&self, run: usize, mixture: &Mixture, kind: Kind) -> bool {
        let own = |events: &[(usize, EventId)]| -> Vec<EventId> {
            events.iter().map(|&(_, event)| event).collect()
        };
        let Some(violation) = Violation::of_kind(kind, &own(&mixture.next)) else { return false };
        let checker = Checker::new(self.traces[run], Model::Symbolic, CheckOptions::default());
        let checked = checker.check(&violation, &own(&mixture.schedule));
        matches!(checked, Ok(Certainty::Real))
    }
}
