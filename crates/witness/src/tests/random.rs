//! Random valid traces: threads that do at random whatever is enabled.

use foretrace_testing::Random;
use foretrace_trace::{Trace, validate::validate};

use super::trace;

#[derive(Clone, Default)]
struct Thread {
    is_started: bool,
    is_ended: bool,
    /// Waits on `c` with that lock; whether it has been notified, and whether it is timed.
    waits: Option<(usize, bool, bool)>,
    at_barrier: Option<usize>,
    /// How many calls it is in.
    calls: usize,
}

/// A program's state, and the text of what it has done.
struct World {
    text: String,
    threads: Vec<Thread>,
    holder: [Option<usize>; 2],
    cells: [u64; 3],
    tokens: u64,
    arrived: usize,
    allocated: Option<usize>,
    allocations: usize,
    /// Locks are taken and given back all the time.
    loves_locks: bool,
    /// Locks are released by threads that do not have them.
    is_careless: bool,
    /// Who has the reader-writer lock `w`: a writer, or readers.
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// A valid trace of about that many events.
pub(super) fn random_trace(random: &mut Random, length: usize) -> Trace {
    let count = 2 + random.below_u64(3) as usize;
    let mut world = World {
        text: "init x = 0\ninit y = 0\nsemaphore s = 1\nbarrier r = 2\n".to_string(),
        threads: vec![Thread::default(); count],
        holder: [None; 2],
        cells: [0; 3],
        tokens: 1,
        arrived: 0,
        allocated: None,
        allocations: 0,
        loves_locks: random.below_u64(2) == 0,
        is_careless: random.below_u64(4) == 0,
        writer: None,
        readers: Vec::new(),
    };
    let all_at_once = random.below_u64(2) == 0;
    for (number, thread) in world.threads.iter_mut().enumerate() {
        thread.is_started = all_at_once || number == 0;
    }
    for _ in 0..length {
        let thread = random.below_u64(count as u64) as usize;
        if world.threads[thread].is_started && !world.threads[thread].is_ended {
            world.act(thread, random);
        }
    }
    let made = trace(&world.text);
    validate(&made).unwrap_or_else(|invalid| panic!("{invalid}\n{}", world.text));
    made
}

impl World {
    fn say(&mut self, thread: usize, what: &str) {
        self.text += &format!("t{thread}: {what}\n");
    }

    fn act(&mut self, me: usize, random: &mut Random) {
        if let Some((lock, is_notified, is_timed)) = self.threads[me].waits {
            let ending = if is_notified { "" } else { " timeout" };
            if self.holder[lock].is_none() && (is_notified || is_timed) {
                self.holder[lock] = Some(me);
                self.threads[me].waits = None;
                self.say(me, &format!("wake c m{lock}{ending}"));
            }
            return;
        }
        if let Some(round) = self.threads[me].at_barrier {
            if self.arrived >= 2 * (round + 1) {
                self.threads[me].at_barrier = None;
                self.say(me, "leave r");
            }
            return;
        }
        let lock = random.below_u64(2) as usize;
        let cell = random.below_u64(2) as usize;
        let name = ["x", "y"][cell];
        let choice = random.below_u64(22);
        let choice = if self.loves_locks && choice > 9 { 8 } else { choice };
        match choice {
            0..4 => self.say(me, &format!("read {name} : {}", self.cells[cell])),
            4..7 => {
                self.cells[cell] = random.below_u64(3);
                self.say(me, &format!("write {name} = {}", self.cells[cell]));
            }
            7 => {
                let old = self.cells[cell];
                self.cells[cell] = (old + 1) % 3;
                self.say(me, &format!("rmw {name} : {old} -> {}", self.cells[cell]));
            }
            8 if random.below_u64(3) == 0 => self.reader_writer(me, lock == 0),
            8..11 => self.lock(me, lock, random),
            11 if self.holder[lock] == Some(me) => {
                let is_timed = random.below_u64(3) == 0;
                self.holder[lock] = None;
                self.threads[me].waits = Some((lock, false, is_timed));
                let wait = if is_timed { "timedwait" } else { "wait" };
                self.say(me, &format!("{wait} c m{lock}"));
            }
            12 => self.notify(me, random.below_u64(3) == 0, random),
            13 if self.tokens > 0 => {
                self.tokens -= 1;
                self.say(me, "semwait s");
            }
            13 => self.say(me, "trysemwait s : fail"),
            14 => {
                self.tokens += 1;
                self.say(me, "sempost s");
            }
            15 if self.threads.len() > 2 => {
                self.threads[me].at_barrier = Some(self.arrived / 2);
                self.arrived += 1;
                self.say(me, "arrive r");
            }
            16 => self.start_or_join(me),
            17 => self.allocate(me),
            18 if lock == 0 => self.say(me, ["region begin", "region end"][cell]),
            18 => self.half(me, random),
            20 => self.enter_call(me, random),
            21 if self.threads[me].calls > 0 => {
                self.threads[me].calls -= 1;
                self.say(me, "leave-call");
            }
            19 if random.below_u64(4) == 0 && !self.holder.contains(&Some(me)) => {
                self.threads[me].is_ended = true;
                self.say(me, "end");
            }
            _ => self.say(me, "external"),
        }
    }

    /// One half of x, so that accesses overlap in part; now and then one that nobody wrote.
    fn half(&mut self, me: usize, random: &mut Random) {
        let (low, high) = (self.cells[0] & 0xffff_ffff, self.cells[0] >> 32);
        match random.below_u64(8) {
            0..3 => self.say(me, &format!("read x[0:4] : {low}")),
            3..5 => self.say(me, &format!("read x[4:4] : {high}")),
            5 => {
                self.cells[0] = high << 32 | 2;
                self.say(me, "write x[0:4] = 2");
            }
            6 => {
                self.cells[0] = low | 1 << 32;
                self.say(me, "write x[4:4] = 1");
            }
            _ => self.say(me, "read y : 77"),
        }
    }

    fn enter_call(&mut self, me: usize, random: &mut Random) {
        let lists = ["p", "p q", ">p", "<p", "<q >r", "r", ">r", "*", ""];
        let on = lists[random.below_u64(lists.len() as u64) as usize];
        self.threads[me].calls += 1;
        self.say(me, &format!("enter-call {on}"));
    }

    fn reader_writer(&mut self, me: usize, shared: bool) {
        if let Some(index) = self.readers.iter().position(|&reader| reader == me) {
            self.readers.remove(index);
            self.say(me, "release shared w");
        } else if self.writer == Some(me) {
            self.writer = None;
            self.say(me, "release w");
        } else if self.writer.is_none() && shared {
            self.readers.push(me);
            self.say(me, "acquire shared w");
        } else if self.writer.is_none() && self.readers.is_empty() {
            self.writer = Some(me);
            self.say(me, "acquire w");
        } else {
            let mode = if shared { "shared " } else { "" };
            self.say(me, &format!("tryacquire {mode}w : fail"));
        }
    }

    fn lock(&mut self, me: usize, lock: usize, random: &mut Random) {
        if self.is_careless && random.below_u64(5) == 0 {
            self.holder[lock] = None;
            return self.say(me, &format!("release m{lock}"));
        }
        match self.holder[lock] {
            None => {
                self.holder[lock] = Some(me);
                self.say(me, &format!("acquire m{lock}"));
            }
            Some(holder) if holder == me => {
                self.holder[lock] = None;
                self.say(me, &format!("release m{lock}"));
            }
            Some(_) => self.say(me, &format!("tryacquire m{lock} : fail")),
        }
    }

    fn notify(&mut self, me: usize, all: bool, random: &mut Random) {
        self.say(me, if all { "broadcast c" } else { "signal c" });
        let mut waiting: Vec<&mut Thread> = self
            .threads
            .iter_mut()
            .filter(|thread| matches!(thread.waits, Some((_, false, _))))
            .collect();
        if !all && !waiting.is_empty() {
            let chosen = random.below_u64(waiting.len() as u64) as usize;
            waiting = vec![waiting.swap_remove(chosen)];
        }
        for thread in waiting {
            thread.waits.as_mut().expect("just filtered").1 = true;
        }
    }

    fn start_or_join(&mut self, me: usize) {
        let unstarted = self.threads.iter().position(|thread| !thread.is_started);
        let ended = self.threads.iter().position(|thread| thread.is_ended);
        if let Some(child) = unstarted {
            self.threads[child].is_started = true;
            self.say(me, &format!("fork t{child}"));
        } else if let Some(child) = ended.filter(|&child| child != me) {
            self.say(me, &format!("join t{child}"));
        }
    }

    fn allocate(&mut self, me: usize) {
        match self.allocated {
            None => {
                self.allocations += 1;
                self.allocated = Some(self.allocations);
                self.cells[2] = 0;
                self.say(me, &format!("alloc o{} size 8 at 64", self.allocations));
                self.say(me, &format!("write o{} = 0", self.allocations));
            }
            Some(object) if self.cells[2] == 2 => {
                self.allocated = None;
                self.say(me, &format!("free o{object}"));
            }
            Some(object) => {
                self.cells[2] += 1;
                let value = self.cells[2];
                self.say(me, &format!("rmw o{object} : {} -> {value} plain", value - 1));
            }
        }
    }
}
