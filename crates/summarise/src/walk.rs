//! Functions: blocks in order, conditions, merges, calls.
//!
//! **Computes.** What holds at the start of each block: under which condition a thread comes there,
//! and what differs with the way. A block that every way from its dominator passes has the
//! dominator's condition, so that conditions do not grow along a function. Behind a call the
//! condition is that before it: where the callee does not return, the event that ends the way is
//! listed before, and is never passed; likewise assertions and assumptions that fail.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::terms::TermId;
use foretrace_program::ir::{
    BlockId, Dominators, Function, FunctionId, Operand, RegisterId, Site, Target, TerminatorKind,
};
use foretrace_trace::{LockId, ObjectId, Op, Place, ThreadId};

use crate::locks::Depth;
use crate::value::Value;
use crate::{Origin, Part, Summariser, Unsupported};

/// A thread at some point of its way.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) thread: ThreadId,
    /// Under which condition the thread comes here.
    pub(crate) condition: TermId,
    /// How often it has which lock; those that are not there it never had.
    pub(crate) depths: FxHashMap<LockId, Depth>,
    /// What its own slots hold: by slot, first byte and size.
    pub(crate) slots: FxHashMap<(u32, u64, u8), TermId>,
}

impl Context {
    fn new(thread: ThreadId, condition: TermId) -> Self {
        let (depths, slots) = Default::default();
        Context { thread, condition, depths, slots }
    }
}

/// A way into a block.
struct Entry {
    context: Context,
    args: Vec<Value>,
}

/// A call that is being walked.
pub(crate) struct Frame<'f> {
    pub(crate) id: FunctionId,
    pub(crate) function: &'f Function,
    pub(crate) registers: FxHashMap<RegisterId, Value>,
}

impl<'p> Summariser<'p> {
    /// Objects, cells and their contents at the start.
    pub(crate) fn declare(&mut self) {
        for (index, global) in self.program.globals.iter().enumerate() {
            let object = self.trace.object(&global.name);
            assert_eq!(object, ObjectId::from(index), "globals come first");
            for (chunk, bytes) in global.bytes().chunks(8).enumerate() {
                let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                let (offset, size) = (chunk as u32 * 8, bytes.len() as u32);
                self.trace.set_initial(Place { object, offset, size }, value);
            }
        }
        self.declare_cells();
    }

    pub(crate) fn new_thread(
        &mut self,
        name: &str,
        fork: Option<foretrace_trace::EventId>,
    ) -> ThreadId {
        let id = self.trace.thread(name);
        assert_eq!(id.index(), self.forks.len(), "threads have names of their own");
        self.forks.push(fork);
        id
    }

    /// Walks a thread. Its end is an event, so that others can join it.
    pub(crate) fn thread(
        &mut self,
        thread: ThreadId,
        function: FunctionId,
        args: Vec<Value>,
    ) -> Result<(), Unsupported> {
        let condition = self.terms.boolean(true);
        let context = Context::new(thread, condition);
        let site = Site { function, block: Function::ENTRY, index: 0 };
        let origin = Origin { site, part: Part::Local };
        self.emit(thread, Op::Begin, condition, origin);
        if let Some(started) = self.late_start(thread) {
            let (event, old) = self.touch(&context, started, condition, origin);
            let is_started = self.terms.truth(old);
            self.assumed.insert(event, is_started);
            self.results.insert(event, old);
        }
        let Some((context, _)) = self.call(context, function, args)? else {
            // It never returns, and no join of it ever passes.
            let wrong = self.terms.boolean(true);
            let never = Context::new(thread, condition);
            self.block_here(&never, wrong, origin);
            return Ok(());
        };
        let origin = Origin { site, part: Part::End };
        if self.forks[thread.index()].is_some() {
            let at = self.done_flag(thread);
            let order = foretrace_trace::MemoryOrder::SeqCst;
            let op = Op::Write { at, value: None, order };
            let event = self.emit(thread, op, context.condition, origin);
            let one = self.terms.constant(1, 8);
            self.results.insert(event, one);
        }
        self.emit(thread, Op::End, context.condition, origin);
        Ok(())
    }

    /// The flag that a thread has ended.
    pub(crate) fn done_flag(&mut self, thread: ThreadId) -> Place {
        let name = self.trace.so_far().name(thread).to_string();
        let at = self.flag(&format!("end of {name}"));
        if !self.trace.so_far().initial().iter().any(|&(place, _)| place == at) {
            self.trace.set_initial(at, 0);
        }
        at
    }

    /// The flag that a thread is started, if its fork does not always happen.
    fn late_start(&mut self, thread: ThreadId) -> Option<Place> {
        let name = self.trace.so_far().name(thread).to_string();
        let flag = self.own_name(&format!("start of {name}"));
        let object = self.trace.so_far().objects().find(&flag)?;
        Some(Place { object: ObjectId::from(object), offset: 0, size: 1 })
    }

    /// Walks a call. Returns where the caller goes on and with which value; `None` if it never
    /// does.
    pub(crate) fn call(
        &mut self,
        context: Context,
        id: FunctionId,
        args: Vec<Value>,
    ) -> Result<Option<(Context, Option<Value>)>, Unsupported> {
        let function: &'p Function = self.program.function(id);
        let site = Site { function: id, block: Function::ENTRY, index: 0 };
        let Some(order) = function.topological_order() else {
            return self.unsupported(format!("{} has a loop", function.name), site);
        };
        let shape = Shape::new(function, &order);
        let before = context.condition;
        let thread = context.thread;
        let registers = function.params.iter().copied().zip(args).collect();
        let mut frame = Frame { id, function, registers };
        let mut entries: FxHashMap<BlockId, Vec<Entry>> = FxHashMap::default();
        entries.insert(Function::ENTRY, vec![Entry { context, args: Vec::new() }]);
        let mut conditions: FxHashMap<BlockId, TermId> = FxHashMap::default();
        let mut returns: Vec<Entry> = Vec::new();
        for &block in &order {
            let Some(ways) = entries.remove(&block) else { continue };
            let known = shape.merges(block).and_then(|above| conditions.get(&above).copied());
            let site = Site { function: id, block, index: 0 };
            let mut merged = self.merge(ways, known, site)?;
            for (&param, &arg) in function.block(block).params.iter().zip(&merged.args) {
                frame.registers.insert(param, arg);
            }
            conditions.insert(block, merged.context.condition);
            if self.terms.as_constant(merged.context.condition) == Some(0) {
                continue;
            }
            let mut goes_on = true;
            for (index, instruction) in function.block(block).instructions.iter().enumerate() {
                let site = Site { function: id, block, index: index as u32 };
                goes_on = self.instruction(&mut merged.context, &mut frame, instruction, site)?;
                if !goes_on {
                    break;
                }
            }
            if !goes_on {
                continue;
            }
            let index = function.block(block).instructions.len() as u32;
            let site = Site { function: id, block, index };
            let context = merged.context;
            match &function.block(block).terminator.kind {
                TerminatorKind::Return(value) => {
                    let args = match value {
                        Some(value) => vec![self.operand(&frame, *value)],
                        None => Vec::new(),
                    };
                    returns.push(Entry { context, args });
                }
                TerminatorKind::Exit => {
                    let origin = Origin { site, part: Part::Local };
                    self.emit(context.thread, Op::Exit, context.condition, origin);
                }
                TerminatorKind::ThreadExit(_) => {
                    return self.unsupported("a thread that ends inside a call", site);
                }
                TerminatorKind::Unreachable => {
                    let wrong = self.terms.boolean(true);
                    self.check(&context, wrong, Origin { site, part: Part::Unreachable });
                }
                kind => {
                    for (condition, target) in self.ways(&frame, kind, site)? {
                        let mut context = context.clone();
                        context.condition = self.terms.and(context.condition, condition);
                        let args = self.operands(&frame, &target.args);
                        entries.entry(target.block).or_default().push(Entry { context, args });
                    }
                }
            }
        }
        if returns.is_empty() {
            return Ok(None);
        }
        let mut merged = self.merge(returns, Some(before), site)?;
        merged.context.thread = thread;
        Ok(Some((merged.context, merged.args.first().copied())))
    }

    pub(crate) fn operands(&mut self, frame: &Frame, operands: &[Operand]) -> Vec<Value> {
        operands.iter().map(|&operand| self.operand(frame, operand)).collect()
    }

    pub(crate) fn operand(&mut self, frame: &Frame, operand: Operand) -> Value {
        match operand {
            Operand::Register(register) => frame.registers[&register],
            Operand::Constant(constant) => {
                Value::Bits(self.terms.constant(constant.value.into(), constant.width.into()))
            }
            Operand::Global { global, offset } => {
                Value::Address { object: ObjectId::from(global.index()), offset }
            }
            Operand::Function(function) => Value::Function(function),
        }
    }

    /// Where a block goes on, and when.
    fn ways<'k>(
        &mut self,
        frame: &Frame,
        kind: &'k TerminatorKind,
        site: Site,
    ) -> Result<Vec<(TermId, &'k Target)>, Unsupported> {
        Ok(match kind {
            TerminatorKind::Jump(target) => vec![(self.terms.boolean(true), target)],
            TerminatorKind::Branch { condition, then, otherwise } => {
                let condition = self.bits(frame, *condition, site)?;
                let not = self.terms.not(condition);
                vec![(condition, then), (not, otherwise)]
            }
            TerminatorKind::Switch { value, cases, default } => {
                let value = self.bits(frame, *value, site)?;
                let width = self.terms.width(value);
                let mut left = self.terms.boolean(true);
                let mut ways = Vec::new();
                for (number, target) in cases {
                    let number = self.terms.constant((*number).into(), width);
                    let equal = self.terms.eq(value, number);
                    ways.push((self.terms.and(left, equal), target));
                    let other = self.terms.not(equal);
                    left = self.terms.and(left, other);
                }
                ways.push((left, default));
                ways
            }
            TerminatorKind::Return(_)
            | TerminatorKind::Exit
            | TerminatorKind::ThreadExit(_)
            | TerminatorKind::Unreachable => {
                unreachable!("these go nowhere")
            }
        })
    }

    /// Joins ways into one: values become if-then-else, conditions a disjunction, if it is not
    /// known.
    fn merge(
        &mut self,
        mut ways: Vec<Entry>,
        condition: Option<TermId>,
        site: Site,
    ) -> Result<Entry, Unsupported> {
        let thread = ways[0].context.thread;
        ways.retain(|way| self.terms.as_constant(way.context.condition) != Some(0));
        let Some(mut merged) = ways.pop() else {
            // Nothing comes here; what it would do does not matter, since it never happens.
            let never = self.terms.boolean(false);
            let context = Context::new(thread, never);
            return Ok(Entry { context, args: Vec::new() });
        };
        let known_condition = condition;
        for way in ways.into_iter().rev() {
            let which = way.context.condition;
            for (mine, theirs) in merged.args.iter_mut().zip(way.args) {
                *mine = self.either(which, theirs, *mine, site)?;
            }
            self.merge_depths(&mut merged.context, &way.context, which);
            self.merge_slots(&mut merged.context, &way.context, which);
            merged.context.condition = self.terms.or(merged.context.condition, which);
        }
        if let Some(known) = known_condition {
            merged.context.condition = known;
        }
        Ok(merged)
    }

    /// The first value if the condition holds, else the second.
    pub(crate) fn either(
        &mut self,
        condition: TermId,
        a: Value,
        b: Value,
        site: Site,
    ) -> Result<Value, Unsupported> {
        match (a, b) {
            _ if a == b => Ok(a),
            (Value::Bits(a), Value::Bits(b)) => Ok(Value::Bits(self.terms.ite(condition, a, b))),
            _ => self.unsupported(format!("{} that depends on a branch", a.kind()), site),
        }
    }

    fn merge_depths(&mut self, mine: &mut Context, theirs: &Context, which: TermId) {
        let locks: FxHashSet<LockId> =
            mine.depths.keys().chain(theirs.depths.keys()).copied().collect();
        let zero = self.terms.constant(0, 32);
        let none = Depth { exclusive: zero, shared: zero };
        for lock in locks {
            let a = theirs.depths.get(&lock).copied().unwrap_or(none);
            let b = mine.depths.get(&lock).copied().unwrap_or(none);
            let exclusive = self.terms.ite(which, a.exclusive, b.exclusive);
            let shared = self.terms.ite(which, a.shared, b.shared);
            mine.depths.insert(lock, Depth { exclusive, shared });
        }
    }

    fn merge_slots(&mut self, mine: &mut Context, theirs: &Context, which: TermId) {
        let places: FxHashSet<(u32, u64, u8)> =
            mine.slots.keys().chain(theirs.slots.keys()).copied().collect();
        for place in places {
            let zero = self.terms.constant(0, 8 * u32::from(place.2));
            let a = theirs.slots.get(&place).copied().unwrap_or(zero);
            let b = mine.slots.get(&place).copied().unwrap_or(zero);
            let either = self.terms.ite(which, a, b);
            mine.slots.insert(place, either);
        }
    }
}

/// Which blocks every way from their dominator passes.
struct Shape<'f> {
    function: &'f Function,
    order: &'f [BlockId],
    dominators: Dominators,
}

impl<'f> Shape<'f> {
    fn new(function: &'f Function, order: &'f [BlockId]) -> Self {
        Shape { function, order, dominators: function.dominators() }
    }

    /// The nearest block above that always leads here.
    fn merges(&self, block: BlockId) -> Option<BlockId> {
        let at = self.order.iter().position(|&other| other == block)?;
        let mut above = self.order[..at].iter().rev().copied();
        let immediate = above.find(|&other| self.dominators.dominates(other, block))?;
        self.always_leads(immediate, block).then_some(immediate)
    }

    /// Whether every way from `above` comes to `block`.
    fn always_leads(&self, above: BlockId, block: BlockId) -> bool {
        let mut open = vec![above];
        let mut seen = FxHashSet::default();
        while let Some(next) = open.pop() {
            if next == block || !seen.insert(next) {
                continue;
            }
            let successors = self.function.successors(next);
            if successors.is_empty() {
                return false;
            }
            open.extend(successors);
        }
        true
    }
}
