//! The calls that a thread is inside of.
//!
//! **Computes.** A tree, shared by all threads: each stack is a call at a site, made inside another
//! stack; 0 is that of a function that nobody calls whom we know. Calls from system headers are
//! left out: records there have the site of the user's call.

use rustc_hash::FxHashMap;

use crate::Program;
use crate::thread::{Caller, Context, Thread};
use crate::told::WalkStep;

/// All stacks that were seen.
#[derive(Default)]
pub(crate) struct Stacks {
    /// From 1: the stack of the caller, and the site of the call.
    calls: Vec<(u32, u64)>,
    index: FxHashMap<(u32, u64), u32>,
}

impl Stacks {
    /// The stack of a function that is called at a site by one that has the stack `caller`.
    pub(crate) fn called(&mut self, caller: u32, site: u64) -> u32 {
        let Stacks { calls, index } = self;
        *index.entry((caller, site)).or_insert_with(|| {
            calls.push((caller, site));
            calls.len() as u32
        })
    }

    /// The innermost call of a stack, and the stack of the caller.
    pub(crate) fn call(&self, stack: u32) -> Option<(u32, u64)> {
        self.calls.get((stack as usize).checked_sub(1)?).copied()
    }
}

impl Thread {
    /// The stack of a function that the top frame calls.
    pub(crate) fn stack_of_callee(&self, context: &mut Context, caller: Caller) -> u32 {
        let Some(frame) = self.frames.last() else { return 0 };
        let function = &context.program.functions[frame.function as usize];
        let instruction = self.instruction(context.program).and_then(|(_, next)| next);
        match instruction.map(|instruction| instruction.site) {
            // A callback of a library is inside the call of the library.
            Some(site) if site != 0 && !function.is_system => {
                context.stacks.called(frame.callers, site)
            }
            _ if caller == Caller::Unknown && instruction.is_none() => 0,
            _ => frame.callers,
        }
    }

    /// The calls that the thread is inside of, apart from the one that its records name.
    pub(crate) fn callers(&self, program: &Program, stacks: &Stacks) -> Option<u32> {
        let frame = self.frames.last()?;
        if program.functions[frame.function as usize].is_system {
            return Some(stacks.call(frame.callers).map_or(0, |(caller, _)| caller));
        }
        Some(frame.callers)
    }

    /// Tells a step, and before it inside which calls it is, if that is not known yet.
    pub(crate) fn tell(&mut self, context: &mut Context, step: WalkStep) {
        let callers = self.callers(context.program, context.stacks);
        if callers != self.told_callers {
            context.steps.extend(callers.map(WalkStep::Inside));
            self.told_callers = callers;
        }
        context.steps.push(step);
    }
}
