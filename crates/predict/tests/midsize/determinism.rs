//! The number of jobs changes nothing, and neither does a second run.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_predict::{Budget, Granularity, Options, Switches};
use foretrace_trace::{Trace, text};
use foretrace_verdict::Model;

use super::{MODELS, decide, for_seeds, has_default_seeds, open_classes};

/// Compares everything: findings with their schedules, ledgers, what is undecided.
fn check(trace: &Trace, options: &Options) -> u64 {
    let alone = decide(trace, &Options { jobs: 1, ..options.clone() });
    for jobs in [1, 2, 4] {
        let again = decide(trace, &Options { jobs, ..options.clone() });
        assert_eq!(alone, again, "jobs: {jobs}, {options:?}");
    }
    open_classes(&alone)
}

#[test]
fn litmus_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the litmus folder is there") {
        let path = entry.expect("the folder can be listed").path();
        if path.extension().is_none_or(|extension| extension != "trace") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the file can be read");
        let trace = text::parse(bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for model in MODELS {
            for infer_regions in [false, true] {
                for switches in [Switches::Any, Switches::AtMost(2), Switches::Fewest] {
                    let model = Some(model);
                    check(
                        &trace,
                        &Options { model, infer_regions, switches, ..Options::default() },
                    );
                }
            }
        }
        files += 1;
    }
    assert!(files > 90);
}

#[test]
fn generated_traces() {
    // From 512 classes on there are several shards.
    let (several_shards, many_shards) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(0..80, |seed, trace| {
        let granularity = if seed % 2 == 1 { Granularity::Event } else { Granularity::Location };
        let model = MODELS[(seed / 2 % 4) as usize];
        let options = Options {
            model: Some(model),
            granularity,
            infer_regions: seed % 3 == 0,
            ..Options::default()
        };
        let classes = check(trace, &options);
        several_shards.fetch_add(u64::from(classes >= 512), Ordering::Relaxed);
        many_shards.fetch_add(u64::from(classes >= 2048), Ordering::Relaxed);
    });
    let (several, many) = (several_shards.into_inner(), many_shards.into_inner());
    eprintln!("{several} with several shards, {many} with at least eight");
    if has_default_seeds() {
        assert!(several >= 8, "{several} {many}");
    }
}

#[test]
fn a_conflict_limit_does_not_depend_on_jobs() {
    for_seeds(1000..1020, |_, trace| {
        let budget = Budget { conflicts: Some(1), ..Budget::default() };
        let options = Options { model: Some(Model::Values), budget, ..Options::default() };
        check(trace, &options);
    });
}
