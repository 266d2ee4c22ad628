//! `foretrace predict` of several runs: what they share, what of their mixtures is certain, and
//! what a replay needs.

use std::mem::ManuallyDrop;
use std::path::Path;

use foretrace_program::merge::{Merged, MixedTrace, Mixture};
use foretrace_program::{Operand, Site, run};
use foretrace_report as report;
use foretrace_report::{Kind, Report};
use foretrace_trace::provenance::Walked;
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Place, Provenance, Trace};
use foretrace_verdict::{Certainty, LockMisuse, Model, Property, Violation};
use foretrace_witness::{CheckOptions, Checker};

use crate::args::InputFormat;
use crate::failure::Failure;
use crate::input;

/// So many reasons why something is left out are told one by one.
const MOST_REASONS: usize = 10;

/// Runs that are to be merged. They last until the process ends, as [`input::open_valid`] says.
pub(crate) struct Runs {
    traces: Vec<ManuallyDrop<Trace>>,
    /// Why the traces do not have all that mixtures of them may do.
    left_out: Option<String>,
}

impl Runs {
    /// Reads runs. Recordings are read together, so that what is shared in one of them is in all
    /// traces.
    pub(crate) fn open(
        paths: &[&Path],
        format: Option<InputFormat>,
        range: bool,
    ) -> Result<Runs, Failure> {
        let is_wanted = matches!(format, None | Some(InputFormat::Recording));
        if is_wanted && paths.iter().all(|path| foretrace_importer::is_recording(path)) {
            return Runs::of_recordings(paths, range);
        }
        let open = |path: &&Path| input::open_valid(path, format);
        let traces = paths.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
        let mut runs = Runs { traces, left_out: None };
        let leaves_out = |trace: &ManuallyDrop<Trace>| {
            let mut facts = trace.provenance().iter();
            facts.any(|(fact, _)| matches!(fact, Provenance::Private(_)))
        };
        if runs.are_recorded() && runs.traces.iter().any(leaves_out) {
            let what = "the traces lack accesses to memory that only one thread touched in its run, though it may be shared in another: \
                        give recordings (`foretrace run -o RUN.ftrec`), or use `foretrace test --runs`";
            runs.left_out = Some(what.to_string());
        }
        Ok(runs)
    }

    /// Reads recordings together; if addresses are to range over their objects, with all accesses
    /// to these.
    pub(crate) fn of_recordings(paths: &[&Path], range: bool) -> Result<Runs, Failure> {
        let traces = foretrace_importer::read_together(paths, range).map_err(Failure::input)?;
        for ((trace, _), path) in traces.iter().zip(paths) {
            validate(trace).map_err(|invalid| {
                Failure::internal(format_args!("{}: {invalid}", path.display()))
            })?;
        }
        let traces = traces.into_iter().map(|(trace, _)| ManuallyDrop::new(trace)).collect();
        Ok(Runs { traces, left_out: None })
    }

    pub(crate) fn traces(&self) -> Vec<&Trace> {
        self.traces.iter().map(|trace| &**trace).collect()
    }

    /// Whether our runtime recorded all of them.
    pub(crate) fn are_recorded(&self) -> bool {
        self.traces.iter().all(|trace| trace.has_ordinals())
    }

    /// Whether accesses are missing to memory that is not shared in its run.
    pub(crate) fn lack_accesses(&self) -> bool {
        self.left_out.is_some()
    }

    /// Whether some address may range over its object.
    pub(crate) fn have_address_guards(&self) -> bool {
        self.traces.iter().any(|trace| trace.address_guards().next().is_some())
    }

    /// What the report should say of addresses.
    pub(crate) fn addresses(&self, merged: &Merged) -> Vec<String> {
        let ranging = merged.ranging_accesses;
        let mut notes = vec![format!("addresses that range over their objects: {ranging}")];
        let mut kept: Vec<(&str, u64)> = Vec::new();
        for (fact, count) in self.traces.iter().flat_map(|trace| trace.provenance()) {
            let Provenance::Walked(Walked::ReadKept(why)) = fact else { continue };
            kept.extend(why.is_address().then(|| (report::kept_in_words(*why), *count)));
        }
        let of_others = merged.kept_addresses.iter();
        kept.extend(of_others.map(|(why, count)| (why.as_str(), *count)));
        kept.sort_unstable();
        let keep =
            |(why, count): &(&str, u64)| format!("addresses kept as recorded: {count} ({why})");
        notes.extend(kept.iter().map(keep));
        notes
    }

    /// What the report must say of what is missing.
    pub(crate) fn reasons(&self, merged: &Merged) -> Vec<String> {
        let mut reasons: Vec<String> = self.left_out.iter().cloned().collect();
        let all = &merged.left_out;
        reasons.extend(all.iter().take(MOST_REASONS).cloned());
        if all.len() > MOST_REASONS {
            reasons.push(format!("{} more things are left out", all.len() - MOST_REASONS));
        }
        reasons
    }
}

/// Says in a report that parts of the runs are not in it: nothing that is not found there is
/// refuted.
pub(super) fn tell_what_is_left_out(report: &mut Report, reasons: Vec<String>) {
    if reasons.is_empty() {
        return;
    }
    for (property, ledger) in &mut report.summary {
        let kind = match property {
            Property::Race => Kind::Race,
            Property::Assertion => Kind::Assertion,
            _ => continue,
        };
        ledger.candidates += 1;
        ledger.undecided += 1;
        report.undecided.push(report::Undecided {
            property: *property,
            kind,
            events: Vec::new(),
            reason: report::Reason::new(
                "runs-left-out",
                "parts of the runs are left out, see the notes",
            ),
        });
        report.not_asked.retain(|part| part.property != *property);
    }
    report.notes.extend(reasons.into_iter().map(|reason| format!("left out: {reason}")));
}

/// Findings of merged runs, in terms of the runs.
pub(super) struct Mixing<'a> {
    pub(super) merged: &'a Merged,
    pub(super) traces: &'a [&'a Trace],
}

/// What a replay of a finding of merged runs follows.
pub(crate) struct Replayable {
    pub(crate) mixed: MixedTrace,
    pub(crate) violation: Violation,
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
    ) -> (report::Certainty, Option<Replayable>) {
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
        let violation = violation(kind, &mixed.next);
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
        let Some(violation) = violation(kind, &own(&mixture.next)) else { return false };
        let checker = Checker::new(self.traces[run], Model::Symbolic, CheckOptions::default());
        let checked = checker.check(&violation, &own(&mixture.schedule));
        matches!(checked, Ok(Certainty::Real))
    }
}

/// The violation that a finding of this kind is, at these events.
fn violation(kind: Kind, next: &[EventId]) -> Option<Violation> {
    Some(match (kind, next) {
        (Kind::Race, &[a, b]) => Violation::Race(a.min(b), a.max(b)),
        (Kind::Assertion, &[event]) => Violation::Assertion(event),
        (Kind::DoubleLock, &[event]) => Violation::Lock(LockMisuse::DoubleLock, event),
        (Kind::UnlockNotHeld, &[event]) => Violation::Lock(LockMisuse::UnlockNotHeld, event),
        (Kind::UnlockByOther, &[event]) => Violation::Lock(LockMisuse::UnlockByOther, event),
        _ => return None,
    })
}
