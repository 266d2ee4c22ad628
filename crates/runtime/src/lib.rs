//! The runtime: the part of Foretrace inside the user's process. It performs, records and schedules
//! what the program does. It does not know any analysis.
//!
//! Instrumented code calls the hooks in [`hooks`], which *perform* the operation that they stand
//! for, so that what is recorded is what happened. Threads, locks and all other synchronisation
//! come here because this library is linked before the C library ([`interpose`]); their meaning is
//! implemented once, in [`sync`], over one lock, and so has one exact order.
//!
//! | mode | who runs | what is logged |
//! | --- | --- | --- |
//! | off | everybody, with the C library's own primitives | nothing |
//! | free | everybody | one stream for each thread, stamps order the synchronisation |
//! | scheduled, replay | one thread at a time; it hands over at visible operations ([`schedule`]) | one stream |
//!
//! **Rules of the house.** Nothing here allocates from the program's heap ([`arena`]), changes
//! `errno`, or panics into the program. Only the thread that holds the world ([`world`]) touches
//! what it protects.

mod annotations;
mod arena;
mod config;
mod ending;
mod errno;
mod explore;
mod futex;
mod hooks;
mod inputs;
mod interpose;
mod kernel;
mod log;
mod message;
mod module;
mod openmp;
mod real;
mod replay;
mod schedule;
mod sync;
mod thread;
mod verification;
mod watchdog;
mod watched;
mod world;

#[global_allocator]
static ARENA: arena::Arena = arena::Arena;
