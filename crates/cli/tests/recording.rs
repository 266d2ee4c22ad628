//! What the runtime promises: programs behave under it as without it, what they do is in the trace,
//! and a run can be had again.
//!
//! The programs in `recording/programs` check themselves and end with status 99 where something is
//! not as POSIX, C or C++ say; the tests run them by themselves and under every schedule, and look
//! at the trace and the report. Plugin and runtime must lie beside the command line:
//! `cargo build --workspace` puts them there.

#[path = "recording/addresses.rs"]
mod addresses;
#[path = "recording/annotations.rs"]
mod annotations;
#[path = "recording/answers.rs"]
mod answers;
#[path = "recording/assembly.rs"]
mod assembly;
#[path = "recording/benchmarks.rs"]
mod benchmarks;
#[path = "recording/blind_spots.rs"]
mod blind_spots;
#[path = "recording/blocking.rs"]
mod blocking;
#[path = "recording/calling_back.rs"]
mod calling_back;
#[path = "recording/children.rs"]
mod children;
#[path = "recording/control_flow.rs"]
mod control_flow;
#[path = "recording/determinism.rs"]
mod determinism;
#[path = "recording/ending.rs"]
mod ending;
#[path = "recording/everyday.rs"]
mod everyday;
#[path = "recording/failing.rs"]
mod failing;
#[path = "recording/files.rs"]
mod files;
#[path = "recording/further.rs"]
mod further;
#[path = "recording/harness.rs"]
mod harness;
#[path = "recording/implicit.rs"]
mod implicit;
#[path = "recording/inputs.rs"]
mod inputs;
#[path = "recording/kernel.rs"]
mod kernel;
#[path = "recording/library.rs"]
mod library;
#[path = "recording/limits.rs"]
mod limits;
#[path = "recording/merging.rs"]
mod merging;
#[path = "recording/names.rs"]
mod names;
#[path = "recording/openmp.rs"]
mod openmp;
#[path = "recording/options.rs"]
mod options;
#[path = "recording/outcome.rs"]
mod outcome;
#[path = "recording/process.rs"]
mod process;
#[path = "recording/recorder.rs"]
mod recorder;
#[path = "recording/replaying.rs"]
mod replaying;
#[path = "recording/robust.rs"]
mod robust;
#[path = "recording/supervision.rs"]
mod supervision;
#[path = "recording/synchronisation.rs"]
mod synchronisation;
#[path = "recording/terms.rs"]
mod terms;
#[path = "recording/waiting.rs"]
mod waiting;
