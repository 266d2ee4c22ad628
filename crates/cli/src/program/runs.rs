//! Merged runs: reads them together, and says what is left out of them.

use std::mem::ManuallyDrop;
use std::path::Path;

use foretrace_program::merge::Merged;
use foretrace_report::kept_in_words;
use foretrace_trace::provenance::Walked;
use foretrace_trace::validate::validate;
use foretrace_trace::{Provenance, Trace};

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
            kept.extend(why.is_address().then(|| (kept_in_words(*why), *count)));
        }
        let of_others = merged.kept_addresses.iter();
        kept.extend(of_others.map(|(why, count)| (why.as_str(), *count)));
        kept.sort_unstable();
        let keep = |(why, count): &(&str, u64)| {
            format!("addresses fixed to their recorded values: {count} ({why})")
        };
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
