//! What a project knows already: its suppressions and its baseline; `foretrace suppress`.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use foretrace_report::{Baseline, Known, Progress, Report, Suppressions, ToldBugs};

use crate::args::{ProjectOptions, SuppressArguments};
use crate::failure::{Failure, Status};
use crate::output;
use crate::process::record::say;

/// The file that is used unasked.
const SUPPRESSIONS: &str = "foretrace.supp";

/// What a command knows of its project, and what it learns.
pub(crate) struct Project<'a> {
    options: &'a ProjectOptions,
    suppressions: Suppressions,
    baseline: Option<Baseline>,
    progress: Progress,
    /// What reports of this command have.
    told: ToldBugs,
}

impl<'a> Project<'a> {
    /// Reads the files that the options name.
    pub(crate) fn open(options: &'a ProjectOptions) -> Result<Project<'a>, Failure> {
        let mut suppressions = Suppressions::default();
        let mut read = |path: &Path| {
            let text = read(path)?;
            let name = path.display().to_string();
            suppressions.read(&name, &String::from_utf8_lossy(&text)).map_err(Failure::input)
        };
        options.suppressions.iter().try_for_each(|path| read(path))?;
        if options.suppressions.is_empty() && Path::new(SUPPRESSIONS).is_file() {
            read(Path::new(SUPPRESSIONS))?;
        }
        let baseline = options.baseline.as_deref().map(read_baseline).transpose()?;
        let (progress, told) = (Progress::default(), ToldBugs::default());
        Ok(Project { options, suppressions, baseline, progress, told })
    }

    /// Tells findings that the project knows from others.
    pub(crate) fn judge(&mut self, report: &mut Report) {
        self.suppressions.apply(report);
        if let Some(baseline) = &self.baseline {
            baseline.apply(report);
        }
    }

    /// Remembers a report; what an earlier one has as surely is not told again.
    pub(crate) fn add(&mut self, report: &mut Report, name: Option<&str>) {
        self.progress.add(report);
        if let Some(baseline) = &self.baseline {
            let mut alone = Progress::default();
            alone.add(report);
            report.baseline = Some(alone.outcome(baseline));
        }
        let name = match name {
            Some(number) if number.parse::<u32>().is_ok() => format!("run {number}"),
            Some(name) => name.to_string(),
            None => "the report".to_string(),
        };
        self.told.mark(report, &name);
    }

    /// Says what became of the baseline, and which suppressions are of no use; writes the next
    /// baseline.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.suppressions.unused().for_each(|entry| say(&format!("unused suppression: {entry}")));
        let outcome = self.baseline.as_ref().map(|baseline| self.progress.outcome(baseline));
        if let Some(outcome) = &outcome {
            let (fixed, not_seen) = (outcome.fixed.len(), outcome.not_seen.len());
            let (new, known) = (outcome.new, outcome.known);
            say(&format!("baseline: {new} new, {known} known, {fixed} fixed, {not_seen} not seen"));
            let tell = |what: &str, known: &Known| {
                let places = known.locations.join(", ");
                say(&format!("{what}: {} at {places} [{}]", known.title, known.fingerprint));
            };
            outcome.fixed.iter().for_each(|known| tell("fixed", known));
        }
        match &self.options.write_baseline {
            Some(path) => {
                let text = self.progress.next(outcome.as_ref());
                output::to_path(path, |writer| writer.write_all(text.as_bytes()))
            }
            None => Ok(()),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let baseline = Baseline::read(&read(path)?);
    baseline.map_err(|error| {
        Failure::input(format_args!("{}: {error}", path.display()))
            .hint("give a file that --write-baseline or --output json=FILE wrote")
    })
}

/// Appends a finding to the suppressions.
pub(crate) fn suppress(arguments: &SuppressArguments) -> Result<Status, Failure> {
    let mut entry = String::new();
    let fingerprint = match arguments.finding.rsplit_once('#') {
        Some((report, id)) => {
            let known = read_baseline(Path::new(report))?
                .find(id)
                .cloned()
                .ok_or_else(|| Failure::input(format_args!("{report}: it has no finding {id}")))?;
            entry.push_str(&format!("# {} at {}\n", known.title, known.locations.join(", ")));
            known.fingerprint
        }
        None => arguments.finding.clone(),
    };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fingerprint.len() < 16 || !is_hexadecimal(&fingerprint[..16]) {
        let why = format_args!("`{fingerprint}` is neither REPORT#FINDING nor a fingerprint");
        let hint = "the JSON report of a finding has its stable_fingerprint";
        return Err(Failure::input(why).hint(hint));
    }
    if let Some(reason) = &arguments.reason {
        let lines = reason.lines().map(|line| format!("# {line}\n"));
        entry.extend(lines);
    }
    let file = &arguments.file;
    let before = fs::read_to_string(file).unwrap_or_default();
    let rule = format!("id:{fingerprint}");
    if before.lines().any(|line| line == rule) {
        say(&format!("{} has {rule} already", file.display()));
        return Ok(Status::Nothing);
    }
    let gap = if before.is_empty() { "" } else { "\n" };
    let failed = |error| Failure::input(format_args!("{}: {error}", file.display()));
    let mut end = File::options().create(true).append(true).open(file).map_err(failed)?;
    writeln!(end, "{gap}{entry}{rule}").map_err(failed)?;
    say(&format!("{} has {rule} now", file.display()));
    Ok(Status::Nothing)
}
