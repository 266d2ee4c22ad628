//! Adds to the trace what the walk along the recorded paths finds.

use foretrace_recording::file::flags;
use foretrace_recording::record::{kind, readers};
use foretrace_rewalk::{Extent, Seen, Sharing, Told, WalkStep, Walker};
use foretrace_trace::*;

use super::chunks::Recording;
use super::emit::{Emit, Now};
use super::objects::Change;
use super::records::{Touch, Value};
use super::tables::Tables;

/// The walk, and what it told of the last record.
pub(super) struct Walking<'r> {
    walk: &'r mut Walker,
    /// Kept for the next record, so that nothing is allocated for each.
    spare: Told,
    names: u32,
    /// The stacks of the trace, by those of the walk.
    stacks: Vec<Option<StackId>>,
    /// The calls inside which events are that are made next.
    callers: Option<StackId>,
}

impl<'r> Walking<'r> {
    /// A walk, if the recording has what it needs.
    pub(super) fn new(
        walk: Option<&'r mut Walker>,
        recording: &Recording,
        tables: &Tables,
    ) -> Option<Walking<'r>> {
        let walk = walk.filter(|_| recording.flags & flags::PATH_LOST == 0)?;
        let code = tables.code();
        if code.is_empty() || tables.incomplete {
            return None;
        }
        code.iter().for_each(|code| walk.module(code));
        Some(Walking { walk, spare: Told::default(), names: 0, stacks: Vec::new(), callers: None })
    }
}

impl Emit<'_> {
    /// A record that only the walk looks at.
    pub(super) fn walk_way(&mut self, now: Now) {
        let record = now.record;
        let seen = match record.kind {
            kind::ENTER => Seen::Enter { function: record.site },
            kind::PATH => Seen::Path { outcomes: record.site, count: record.detail },
            kind::SWITCH => Seen::Switch { site: record.site, value: record.word(0) },
            kind::CALL => {
                let is_read = match record.detail {
                    readers::INSIDE => true,
                    readers::OUTSIDE => self.survey.calls.is_answered(),
                    _ => false,
                };
                Seen::Call { site: record.site, target: record.word(0), is_read }
            }
            kind::RETURN => Seen::Return { site: record.site, value: record.word(0) },
            _ => Seen::Land { function: record.word(0), block: record.word(1) },
        };
        let told = self.follow(now, seen);
        self.end_walk(now, told);
    }

    /// Shows the walk an access.
    pub(super) fn walk_access(
        &mut self,
        now: Now,
        touch: &Touch,
        sharing: Sharing,
        extent: Extent,
    ) -> Told {
        let (site, address, size) = (now.record.site, touch.address, touch.size as u8);
        let seen = match (touch.reads, touch.writes) {
            (Some(Value::Scalar(old)), Some(Value::Scalar(new))) => {
                Seen::Rmw { site, address, size, old, new, sharing, extent }
            }
            (Some(Value::Scalar(value)), _) => {
                Seen::Load { site, address, size, value, sharing, extent }
            }
            (_, Some(Value::Scalar(value))) => {
                Seen::Store { site, address, size, value, sharing, extent }
            }
            (Some(Value::Bytes(bytes)), _) => Seen::LoadRange { address, bytes, sharing },
            (_, Some(Value::Bytes(bytes))) => Seen::StoreRange { address, bytes, sharing },
            (None, None) => Seen::Other,
        };
        self.follow(now, seen)
    }

    /// Shows the walk any other record.
    pub(super) fn begin_walk(&mut self, now: Now, change: &Change) -> Told {
        let record = now.record;
        let seen = match record.kind {
            kind::FENCE => Seen::Fence,
            kind::REGION_BEGIN | kind::REGION_END => Seen::Region,
            kind::ASSERT => Seen::Assert { site: record.site, holds: record.detail != 0 },
            kind::ALLOC => Seen::Alloc { address: record.word(0), size: record.word(1) },
            kind::FREE if let Change::Free(Some(block)) = change => {
                Seen::Free { address: block.start, size: block.end - block.start }
            }
            kind::FREE => Seen::Free { address: record.word(0), size: 1 },
            kind::FORK => record.thread().map_or(Seen::Other, |child| Seen::Fork { child }),
            _ => Seen::Other,
        };
        self.follow(now, seen)
    }

    /// How many functions of the program the thread is in, and how many of them so far a library
    /// has called.
    pub(super) fn depth(&self, thread: u32) -> Option<(usize, u64)> {
        self.walk.as_ref()?.walk.depth(thread)
    }

    fn follow(&mut self, now: Now, seen: Seen) -> Told {
        let Some(walking) = &mut self.walk else { return Told::default() };
        let mut told = std::mem::take(&mut walking.spare);
        told.clear();
        walking.walk.follow(now.thread, seen, &mut told);
        let callers = told.callers;
        self.enter_calls(callers);
        self.push_steps(now, &mut told.before);
        self.enter_calls(callers);
        told
    }

    /// The events that are made next are inside these calls.
    fn enter_calls(&mut self, callers: Option<u32>) {
        let stack = callers.map(|callers| self.stack(callers));
        self.walk.as_mut().expect("only a walk knows calls").callers = stack;
    }

    /// The stack of the trace that a stack of the walk is.
    fn stack(&mut self, callers: u32) -> StackId {
        // From the innermost call outwards to one that is known, and back.
        let (mut open, mut at) = (Vec::new(), callers);
        let mut stack = loop {
            let walking = self.walk.as_ref().expect("only a walk knows calls");
            if let Some(known) = walking.stacks.get(at as usize).copied().flatten() {
                break known;
            }
            let Some((caller, site)) = walking.walk.call(at) else { break Builder::BOTTOM };
            open.push((at, site));
            at = caller;
        };
        for (at, site) in open.into_iter().rev() {
            if let Some(location) = self.location_of(site) {
                stack = self.builder.called(stack, location);
            }
            let walking = self.walk.as_mut().expect("only a walk knows calls");
            walking.stacks.resize(walking.stacks.len().max(at as usize + 1), None);
            walking.stacks[at as usize] = Some(stack);
        }
        stack
    }

    /// Says of the event that was pushed last inside which calls it is.
    pub(super) fn place_in_calls(&mut self) {
        if let Some(stack) = self.walk.as_ref().and_then(|walking| walking.callers) {
            let event = EventId(self.builder.so_far().len() as u32 - 1);
            self.builder.happens_in(event, stack);
        }
    }

    /// Gives the event that was pushed last what the walk told of it.
    pub(super) fn express(&mut self, told: &mut Told) {
        let event = EventId(self.builder.so_far().len() as u32 - 1);
        if let Some(name) = told.name {
            let name = self.name(name);
            self.builder.bind(event, name);
        }
        if let Some(value) = told.value.take() {
            self.builder.express(event, value);
        }
        if let Some(assumed) = told.assumed.take() {
            self.builder.assume(event, assumed);
        }
    }

    /// Appends what comes behind the record.
    pub(super) fn end_walk(&mut self, now: Now, mut told: Told) {
        if self.walk.is_none() {
            return;
        }
        self.push_steps(now, &mut told.after);
        self.enter_calls(None);
        if let Some(walking) = &mut self.walk {
            walking.spare = told;
        }
    }

    /// The names of a walk are numbered; those of all threads are the same.
    fn name(&mut self, number: u32) -> NameId {
        let walking = self.walk.as_mut().expect("only a walk gives names");
        while walking.names <= number {
            self.builder.name(&format!("r{}", walking.names));
            walking.names += 1;
        }
        NameId(number)
    }

    /// Appends steps, and leaves none.
    fn push_steps(&mut self, now: Now, steps: &mut Vec<WalkStep>) {
        if steps.is_empty() || !self.may_add(now.thread) {
            return;
        }
        for step in steps.drain(..) {
            let (mut bound, mut fault, mut object) = (None, None, None);
            let (op, site, expression) = match step {
                WalkStep::Branch { condition, taken, site } => {
                    (Op::Branch { taken }, site, Some(condition))
                }
                WalkStep::Demand {
                    condition,
                    site,
                    fault: otherwise,
                    extent: Extent { start, end, .. },
                } => {
                    fault = Some(otherwise);
                    object = (start < end).then(|| (start, end - start));
                    (Op::Branch { taken: true }, site, Some(condition))
                }
                WalkStep::Address { condition, bytes, site } => {
                    (fault, object) = (Some(ImplicitFault::Address), Some((0, bytes.into())));
                    (Op::Branch { taken: true }, site, Some(condition))
                }
                WalkStep::Assert { condition, holds, site } => {
                    (Op::Assert { holds }, site, Some(condition))
                }
                WalkStep::Let { name, value } => {
                    bound = Some(self.name(name));
                    (Op::Let, 0, Some(value))
                }
                WalkStep::Unexplained => {
                    self.pin(now);
                    continue;
                }
                WalkStep::Inside(callers) => {
                    self.enter_calls(Some(callers));
                    continue;
                }
                WalkStep::Opaque => (Op::External, now.record.site, None),
            };
            let location = self.location_of(site);
            let event = self.push_between(now.thread, op, location);
            self.place_in_calls();
            if let Some(expression) = expression {
                self.builder.express(event, expression);
            }
            if let Some(fault) = fault {
                let has_operation =
                    !matches!(fault, ImplicitFault::Division | ImplicitFault::Address);
                let operation = now.access_ordinal().filter(|_| has_operation);
                self.builder.fails_otherwise(event, Otherwise { fault, operation, object });
            }
            if let Some(name) = bound {
                self.builder.bind(event, name);
            }
        }
    }

    /// What the walk has to say of itself.
    pub(super) fn finish_walk(&mut self) {
        let facts = self.walk.as_ref().map(|walking| walking.walk.facts()).unwrap_or_default();
        for (fact, count) in facts {
            self.builder.tell(fact, count);
        }
    }
}
