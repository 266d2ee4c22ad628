//! Declarations of the merged program, from the tables of the runs.

use foretrace_trace::{BarrierId, LockId, SemId, ThreadId};
use rustc_hash::FxHashSet;

use crate::ir::{
    Barrier, Function, FunctionId, Global, GlobalId, Lock, Program, Semaphore, Thread,
};

use super::{Contents, Declared};

impl Declared {
    /// The names of the functions that the threads run: their own, unless a variable has it.
    pub(in crate::merge) fn function_names(&self) -> Vec<String> {
        let mut taken: FxHashSet<String> =
            self.objects.iter().chain(self.threads.iter()).map(str::to_string).collect();
        let names = self.threads.iter().map(|thread| {
            let mut name = thread.to_string();
            if self.objects.find(thread).is_some() {
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
            }
            name
        });
        names.collect()
    }

    /// The program whose threads run these functions.
    pub(in crate::merge) fn program(self, functions: Vec<Function>) -> Program {
        let nothing = Contents::default();
        let globals = self.objects.iter().enumerate().map(|(index, name)| {
            let contents = self.contents.get(&GlobalId::from(index)).unwrap_or(&nothing);
            let byte = |offset| contents.initial.get(&offset).map_or(0, |(byte, _)| *byte);
            let mut initial: Vec<u8> = (0..contents.size).map(byte).collect();
            initial
                .truncate(initial.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            Global { name: name.to_string(), size: contents.size.max(1), initial }
        });
        let locks = self.locks.iter().enumerate().map(|(index, name)| {
            let kind = self.kinds.get(&LockId::from(index));
            Lock {
                name: name.to_string(),
                recursive: kind.is_some_and(|(recursive, _)| *recursive),
            }
        });
        let semaphores = self.semaphores.iter().enumerate().map(|(index, name)| {
            let count = self.counts.get(&SemId::from(index)).map_or(0, |(count, _)| *count);
            Semaphore { name: name.to_string(), count }
        });
        let barriers = self.barriers.iter().enumerate().map(|(index, name)| {
            let parties =
                self.parties.get(&BarrierId::from(index)).map_or(1, |(parties, _)| *parties);
            Barrier { name: name.to_string(), parties }
        });
        let threads = self.threads.iter().enumerate().filter_map(|(index, name)| {
            let (parent, _) = self.parents.get(&ThreadId::from(index))?;
            let function = FunctionId::from(index);
            parent.is_none().then(|| Thread { name: name.to_string(), function, args: Vec::new() })
        });
        Program {
            globals: globals.collect(),
            locks: locks.collect(),
            conds: self.conds.iter().map(str::to_string).collect(),
            semaphores: semaphores.collect(),
            barriers: barriers.collect(),
            functions,
            threads: threads.collect(),
            locations: self.locations,
        }
    }
}
