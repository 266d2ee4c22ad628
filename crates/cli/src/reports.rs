//! Which reports are written, and where: `--output FORMAT[=FILE]`.
//!
//! The text is for the user who waits for it. It goes to standard output, unless the user has asked
//! for something else there; where standard output is that of the program, to standard error.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use foretrace_report::{Again, Format, Report, Style, write_report};

use crate::args::PredictionOptions;
use crate::failure::{Failure, Status};
use crate::predict::{overall, verdict};
use crate::project::Project;
use crate::sources;
use crate::{interrupt, output, pager, terminal};

/// A report that the user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Output {
    format: Format,
    /// `-` is standard output.
    file: PathBuf,
    /// Nobody asked for it: where standard output is a program's, it goes to standard error.
    is_default: bool,
}

impl Output {
    /// `FORMAT` or `FORMAT=FILE`.
    pub(crate) fn parse(text: &str) -> Result<Output, String> {
        let (name, file) = text.split_once('=').unwrap_or((text, "-"));
        let format = Format::of_name(name).ok_or_else(|| {
            format!("there is no format `{name}`; use {}", Format::ALL.map(Format::name).join(", "))
        })?;
        match file {
            "" => Err(format!("`{name}=` names no file")),
            file => Ok(Output { format, file: file.into(), is_default: false }),
        }
    }

    fn is_stdout(&self) -> bool {
        output::is_stdout(&self.file)
    }

    /// The file for one of several reports.
    fn numbered(&self, name: &str) -> PathBuf {
        if self.is_stdout() { self.file.clone() } else { numbered(&self.file, name) }
    }
}

/// `report.json` is `report.2.json` for the second run.
pub(crate) fn numbered(path: &Path, name: &str) -> PathBuf {
    match path.extension() {
        Some(extension) => path.with_extension(format!("{name}.{}", extension.display())),
        None => path.with_extension(name),
    }
}

/// The reports of one command: each is settled with what the project knows, shown, and counts for
/// the exit status.
pub(crate) struct Reports<'a> {
    options: &'a PredictionOptions,
    outputs: Vec<Output>,
    project: Project<'a>,
    /// The program that is recorded, and its arguments.
    program: &'a [OsString],
    statuses: Vec<Status>,
    /// What was shown, for the formats that have one file for all of it.
    shown: Vec<Report>,
}

impl<'a> Reports<'a> {
    /// Refuses outputs that would write over each other.
    pub(crate) fn new(options: &'a PredictionOptions) -> Result<Self, Failure> {
        let outputs = outputs(options);
        check(&outputs)?;
        let project = Project::open(&options.project)?;
        let program = &[];
        let (statuses, shown) = (Vec::new(), Vec::new());
        Ok(Reports { options, outputs, project, program, statuses, shown })
    }

    /// The same for a program that is recorded.
    pub(crate) fn of_program(self, program: &'a [OsString]) -> Self {
        Reports { program, ..self }
    }

    /// Whether somebody draws a picture of the run.
    pub(crate) fn have_picture(options: &PredictionOptions) -> bool {
        outputs(options).iter().any(|output| output.format == Format::Html)
    }

    /// Whether a report takes standard output for itself, so that the program's own words have to
    /// go elsewhere.
    pub(crate) fn take_stdout(&self) -> bool {
        self.outputs.iter().any(|output| output.is_stdout() && output.format.is_document())
    }

    /// The file of the JSON report, beside which its trace is kept.
    pub(crate) fn json_file(&self) -> Option<&Path> {
        let is_file = |output: &&Output| output.format == Format::Json && !output.is_stdout();
        self.outputs.iter().find(is_file).map(|output| output.file.as_path())
    }

    /// Gives a report what is known of it besides the analysis.
    pub(crate) fn settle(&mut self, report: &mut Report) {
        sources::attach(report);
        self.project.judge(report);
    }

    /// Writes a report; `name` tells it from others of the same command.
    pub(crate) fn show(&mut self, mut report: Report, name: Option<&str>) -> Result<(), Failure> {
        // Replays come after that, and only findings have fingerprints.
        if report.findings.iter().all(|finding| finding.stable_fingerprint.is_empty()) {
            self.settle(&mut report);
        }
        report.interrupted |= interrupt::STOP.is_set();
        self.project.add(&mut report, name);
        report.again = self.again(name);
        self.statuses.push(verdict(&report, self.options.strict));
        let report = [report];
        for output in self.outputs.iter().filter(|output| !output.format.joins_reports()) {
            let file = name.map_or(output.file.clone(), |name| output.numbered(name));
            self.write(output, &file, &report)?;
        }
        if self.outputs.iter().any(|output| output.format.joins_reports()) {
            self.shown.extend(report);
        }
        Ok(())
    }

    /// How to see the findings of a report again.
    fn again(&self, name: Option<&str>) -> Again {
        let file = self.json_file().map(Path::to_path_buf);
        let file = file.map(|file| name.map_or(file.clone(), |name| numbered(&file, name)));
        let words = self.program.iter().map(|word| quoted(&word.display().to_string()));
        let words: Vec<String> = words.collect();
        Again {
            json: file.map(|file| quoted(&file.display().to_string())),
            program: (!words.is_empty()).then(|| words.join(" ")),
        }
    }

    fn write(&self, output: &Output, file: &Path, reports: &[Report]) -> Result<(), Failure> {
        let on_stderr = output.is_default && !self.program.is_empty();
        let style = self.style(output, on_stderr);
        let content = |writer: &mut dyn Write| write_report(output.format, reports, style, writer);
        match output.format {
            Format::Text if on_stderr => output::to_stderr(content),
            Format::Text if output.is_stdout() && !self.options.no_pager => pager::show(content),
            _ => output::to_path(file, content),
        }
    }

    /// How an output may look.
    fn style(&self, output: &Output, on_stderr: bool) -> Style {
        let PredictionOptions { full_schedule, verbose, quiet, .. } = *self.options;
        let terminal = terminal::style(output.is_stdout().then_some(on_stderr));
        Style { full_schedule, verbose, quiet, ..terminal }
    }

    /// Writes what is about all reports together, and says what status they have.
    pub(crate) fn finish(self) -> Result<Status, Failure> {
        for output in self.outputs.iter().filter(|output| output.format.joins_reports()) {
            self.write(output, &output.file, &self.shown)?;
        }
        self.project.finish()?;
        Ok(overall(&self.statuses))
    }
}

/// All reports that are to be written, those for people first: if a file cannot be written, they
/// have seen theirs.
fn outputs(options: &PredictionOptions) -> Vec<Output> {
    let json = options.project.json.iter().map(|file| Output {
        format: Format::Json,
        file: file.clone(),
        is_default: false,
    });
    let mut outputs: Vec<Output> = options.project.output.iter().cloned().chain(json).collect();
    let takes_its_place = |output: &Output| output.is_stdout() || output.format == Format::Text;
    if !outputs.iter().any(takes_its_place) {
        outputs.push(Output { format: Format::Text, file: "-".into(), is_default: true });
    }
    outputs.sort_by_key(|output| !output.is_stdout());
    outputs
}

/// Refuses outputs that would write over each other.
fn check(outputs: &[Output]) -> Result<(), Failure> {
    let on_stdout: Vec<&Output> = outputs.iter().filter(|output| output.is_stdout()).collect();
    if let Some(document) = on_stdout.iter().find(|output| output.format.is_document())
        && on_stdout.len() > 1
    {
        let name = document.format.name();
        let why = format_args!("nothing else can go to standard output beside {name}");
        return Err(Failure::input(why).hint(format_args!("name a file: --output {name}=FILE")));
    }
    for (index, output) in outputs.iter().enumerate().filter(|(_, output)| !output.is_stdout()) {
        if outputs[..index].iter().any(|other| other.file == output.file) {
            let file = output.file.display();
            return Err(Failure::input(format_args!("{file} is to be written twice")));
        }
    }
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_files() {
        let output = |text| Output::parse(text).unwrap();
        let to = |format, file: &str| Output { format, file: file.into(), is_default: false };
        assert_eq!(output("json"), to(Format::Json, "-"));
        assert_eq!(output("text=a=b"), to(Format::Text, "a=b"));
        assert!(Output::parse("json=").is_err() && Output::parse("jsn=x").is_err());
    }

    #[test]
    fn one_of_several_files() {
        assert_eq!(numbered(Path::new("a/report.json"), "2"), Path::new("a/report.2.json"));
        assert_eq!(numbered(Path::new("report"), "merged"), Path::new("report.merged"));
    }
}
