//! Memory: objects' lifetimes, places, declared initial values.
//!
//! **Invariant.** An object without a recorded alloc is live from the start. So an object that is
//! used is taken to be one, until an alloc of it says otherwise.

use crate::event::Place;
use crate::ids::*;
use crate::store::Trace;
use crate::text::{eval::truncate, show_place};

use super::invalid::{Breach, breach};
use super::rule::Rule;

pub(super) struct Lifetimes {
    lives: Vec<Life>,
    /// Where the declared initial values of each object end; empty if there are none at all.
    declared_end: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Life {
    Untouched,
    /// Used, and not allocated: live from the start.
    Used(EventId),
    Allocated {
        size: u32,
        at: EventId,
    },
    Freed(EventId),
}

impl Lifetimes {
    /// After [`check_initial`].
    pub(super) fn new(trace: &Trace) -> Lifetimes {
        let objects = trace.objects().len();
        let mut declared_end = vec![0; if trace.initial().is_empty() { 0 } else { objects }];
        for (at, _) in trace.initial() {
            let end = &mut declared_end[at.object.index()];
            *end = at.end().max(*end);
        }
        Lifetimes { lives: vec![Life::Untouched; objects], declared_end }
    }

    #[inline]
    pub(super) fn access(&mut self, id: EventId, at: Place) -> Result<(), Breach> {
        check_place(at)?;
        let life = &mut self.lives[at.object.index()];
        match *life {
            Life::Used(_) => Ok(()),
            Life::Untouched => {
                *life = Life::Used(id);
                Ok(())
            }
            Life::Allocated { size, .. } if at.end() <= size => Ok(()),
            Life::Allocated { size, at: alloc } => {
                let why = format!("the object has only {size} bytes since its alloc ");
                Err(breach(Rule::PlaceOutside, why).event(alloc))
            }
            Life::Freed(free) => {
                Err(breach(Rule::UseAfterFree, "the object was freed at ").event(free))
            }
        }
    }

    pub(super) fn alloc(&mut self, id: EventId, object: ObjectId, size: u32) -> Result<(), Breach> {
        let life = &mut self.lives[object.index()];
        let error = |rule: Rule, why: &str, event: EventId| {
            Err(breach(rule, why).event(event).text(" (a new block of memory has a new name)"))
        };
        match *life {
            Life::Untouched => {}
            Life::Used(first) => {
                return Err(
                    breach(Rule::UseBeforeAlloc, "the object is in use since ").event(first)
                );
            }
            Life::Allocated { at, .. } => {
                return error(Rule::AllocTwice, "the object was allocated at ", at);
            }
            Life::Freed(free) => return error(Rule::AllocTwice, "the object was freed at ", free),
        }
        *life = Life::Allocated { size, at: id };
        let declared = self.declared_end.get(object.index()).copied().unwrap_or(0);
        if declared > size {
            let why = format!("initial values are declared for its bytes up to {declared}");
            return Err(breach(Rule::PlaceOutside, why));
        }
        Ok(())
    }

    pub(super) fn free(&mut self, id: EventId, object: ObjectId) -> Result<(), Breach> {
        let life = &mut self.lives[object.index()];
        if let Life::Freed(free) = *life {
            return Err(breach(Rule::UseAfterFree, "the object was freed at ").event(free));
        }
        *life = Life::Freed(id);
        Ok(())
    }
}

/// Whether the declared initial values are values, and give no byte two of them.
pub(super) fn check_initial(trace: &Trace) -> Result<(), Breach> {
    for &(at, value) in trace.initial() {
        if at.object.index() >= trace.objects().len() {
            let why = format!("an initial value is declared for object {}", at.object.0);
            return Err(breach(Rule::UnknownId, format!("{why}, which has no name")));
        }
        if at.size == 0 || at.offset.checked_add(at.size).is_none() {
            let name = trace.name(at.object);
            let why = format!("init {name}[{}:{}] is not a place", at.offset, at.size);
            return Err(breach(Rule::PlaceSize, why));
        }
        if at.size > 8 || truncate(value, at.size) != value {
            let why = format!("init {} = {value} does not fit", show_place(trace, at));
            return Err(breach(Rule::ValueSize, why));
        }
    }
    let mut places: Vec<Place> = trace.initial().iter().map(|&(at, _)| at).collect();
    places.sort_unstable();
    // In this order a place that overlaps an earlier one overlaps its direct predecessor, as long
    // as no earlier pair overlaps.
    match places.windows(2).find(|pair| pair[0].overlaps(pair[1])) {
        None => Ok(()),
        Some(pair) => {
            let [first, second] = [pair[0], pair[1]].map(|at| show_place(trace, at));
            let why = format!("init {first} and init {second} overlap");
            Err(breach(Rule::InitTwice, why))
        }
    }
}

/// Whether the places of benign races are places.
pub(super) fn check_benign(trace: &Trace) -> Result<(), Breach> {
    for (at, _) in trace.benign() {
        if at.object.index() >= trace.objects().len() {
            let why = format!("a benign race is declared for object {}", at.object.0);
            return Err(breach(Rule::UnknownId, format!("{why}, which has no name")));
        }
        check_place(*at)?;
    }
    Ok(())
}

#[inline]
fn check_place(at: Place) -> Result<(), Breach> {
    if at.size == 0 {
        return Err(breach(Rule::PlaceSize, "an access has at least 1 byte"));
    }
    if at.offset.checked_add(at.size).is_none() {
        return Err(breach(Rule::PlaceSize, "the place ends behind byte 2^32 - 1"));
    }
    Ok(())
}
