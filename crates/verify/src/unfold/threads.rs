//! Threads: making them, waiting for their ends, and what they give.

use foretrace_program::{Callee, Operand, RegisterId, Site};

use super::instruction::FUNCTIONS;
use super::ways::{Arrival, Way};
use super::{Unfolder, Waiting, key};
use crate::skeleton::*;
use crate::terms::Term;

/// The object that stands for the first thread's handle.
const THREADS: u32 = 1 << 29;
const MOST_THREADS: usize = 1000;

impl Unfolder<'_> {
    pub(super) fn fork(
        &mut self,
        here: &mut Arrival,
        site: Site,
        callee: &Callee,
        args: &[Operand],
        result: Option<RegisterId>,
    ) -> bool {
        let Some(function) = self.callee(here, site, callee) else {
            return self.refuse(here, site, "a thread whose function depends on data");
        };
        let args = self.operands(here, args);
        if !self.takes(function, &args) {
            return self.refuse(here, site, "a thread with other types than its function has");
        }
        self.breaks_section(&here.way);
        if here.way.section.is_some() {
            return self.refuse(here, site, "a thread that is started in an atomic section");
        }
        if self.skeleton.threads.len() >= MOST_THREADS {
            return self.refuse(here, site, "more than 1000 threads");
        }
        here.way.effects += 1;
        for (lock, _) in here.way.holds.keys().copied().collect::<Vec<_>>() {
            self.breaks(lock);
        }
        self.publish(&mut here.way);
        let guard = here.way.guard(&mut self.skeleton.terms);
        let node = self.node();
        let instance = self.instances.entry((self.thread_key, site)).or_default();
        *instance += 1;
        let key = key(("thread", self.thread_key, site, *instance));
        let child = self.new_thread(Some(node), guard);
        self.users.fork(self.thread, child);
        self.step(&here.way, guard, Some(node), How::Fork(child));
        let truth = self.skeleton.terms.truth(true);
        let mut way = Way::new(truth, guard, false);
        way.memory = here.way.memory.clone();
        self.waiting.push(Waiting { thread: child, key, function, args, way });
        if let Some(result) = result {
            let handle = self.skeleton.terms.address(THREADS + child as u32, 0);
            here.set(result, handle);
        }
        true
    }

    pub(super) fn join(
        &mut self,
        here: &mut Arrival,
        site: Site,
        handle: Term,
        result: Option<RegisterId>,
    ) -> bool {
        let guard = here.way.guard(&mut self.skeleton.terms);
        let child = match self.skeleton.terms.as_address(handle) {
            Some((object, 0)) if (THREADS..FUNCTIONS).contains(&object) => {
                (object - THREADS) as usize
            }
            _ if self.skeleton.terms.as_constant(handle).is_some_and(|handle| {
                !(1..=self.program.threads.len() as u64).contains(&handle)
            }) =>
            {
                // No thread has such a handle, whatever the schedule.
                return self.refuse(here, site, "a join of something that is no thread");
            }
            _ => {
                return self.refuse(here, site, "a join of a thread that depends on data");
            }
        };
        if child == self.thread {
            return self.refuse(here, site, "a thread that joins itself");
        }
        self.breaks_section(&here.way);
        if here.way.section.is_some() {
            return self.refuse(here, site, "a join in an atomic section");
        }
        here.way.effects += 1;
        let node = self.node();
        let passes = self.skeleton.terms.symbol(1);
        let always = self.skeleton.terms.is_true(here.way.path);
        self.may_wait_for(&here.way, site, passes, child);
        let asked = self.skeleton.terms.and(guard, passes);
        self.skeleton.joins.push(Join { node, child, passes: asked, choice: passes, always });
        self.step(&here.way, asked, Some(node), How::Join(child));
        let stops = self.skeleton.terms.not(passes);
        here.way.stop_if(&mut self.skeleton.terms, stops);
        if let Some(result) = result {
            let place = self.result_of(child);
            let truth = self.skeleton.terms.truth(true);
            let value = self.read(&mut here.way, &mut Some(node), place, truth, site);
            here.set(result, value);
        }
        true
    }

    /// Where a thread leaves what it gives. It is memory like any other; if nobody looks at it, no
    /// other thread accesses it.
    pub(super) fn result_of(&mut self, thread: usize) -> Place {
        let bytes = Some(vec![0; 8]);
        let object = self.object(key(("result", thread)), 8, bytes, ObjectKind::State);
        Place { object, offset: 0, size: 8 }
    }

    /// The handle of the thread that is unfolded.
    pub(super) fn own_handle(&mut self) -> Term {
        self.skeleton.terms.address(THREADS + self.thread as u32, 0)
    }
}
