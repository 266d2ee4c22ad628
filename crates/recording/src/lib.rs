//! The numbers and layouts that the compiler plugin, the runtime in the user's process, and the
//! importer agree on. It does not know any other crate; `docs/recording.md` explains them.
//!
//! - [`site`]: the tables that the plugin puts into each compiled module;
//! - [`record`]: the words that the runtime writes for each operation;
//! - [`file`]: how these words lie in the recording;
//! - [`image`]: the code of a module, for the walk along the recorded path;
//! - [`names`]: what the programmer calls the memory of a module;
//! - [`channel`]: what orders threads other than memory: kernel objects and hidden state of
//!   libraries;
//! - [`library`]: which functions of libraries use which of them;
//! - [`input`]: what a program got from outside, for replays;
//! - [`pack`]: how full chunks of them take fewer bytes;
//! - [`plan`]: the schedule that a replay follows, and what it answers.

pub mod channel;
pub mod explore;
pub mod file;
pub mod image;
pub mod input;
pub mod library;
pub mod names;
pub mod pack;
pub mod plan;
pub mod record;
pub mod site;
