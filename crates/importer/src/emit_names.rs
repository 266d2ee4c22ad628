//! Names of objects, locks and the like.

use foretrace_trace::*;

use super::emit::Emit;
use super::names::Evidence;
use super::objects::{Block, Found, What};

/// What is called by its place at first.
#[derive(Clone, Copy)]
pub(super) enum Nameless {
    Lock(LockId),
    Cond(CondId),
}

impl Emit<'_> {
    /// A name that nothing of its kind has had: `m`, then `m#2`.
    pub(super) fn fresh(&mut self, table: &str, name: String) -> String {
        let count = self.names.entry(format!("{table} {name}")).or_default();
        *count += 1;
        match *count {
            1 => name,
            count => {
                let next = format!("{name}#{count}");
                self.fresh(table, next)
            }
        }
    }

    /// What is at an address, for the name of a lock or the like.
    pub(super) fn describe(&mut self, address: u64) -> String {
        if let Some(name) = self.tables.lock_names.get(&address) {
            return name.clone();
        }
        let found = self.objects.find(address);
        if found.what == What::Region {
            return format!("{address:#x}");
        }
        if let Some(name) = self.source_name(&found, address).filter(|_| !self.together) {
            return name;
        }
        let name = self.object_name(&found);
        match address - found.start {
            0 => name,
            offset => format!("{name}+{offset}"),
        }
    }

    /// Remembers where a lock or a condition variable is whose name says only that: what is around
    /// it may tell more.
    pub(super) fn note_nameless(&mut self, nameless: Nameless, address: u64) {
        let found = self.objects.find(address);
        let is_named = self.tables.lock_names.contains_key(&address);
        if matches!(found.what, What::Heap(_) | What::Stack(_)) && !is_named && !self.together {
            let offset = u32::try_from(address - found.start).unwrap_or(u32::MAX);
            self.nameless.push((nameless, found.object, offset));
        }
    }

    /// Calls locks and condition variables by what their blocks turned out to be:
    /// `Account::mutex_`.
    fn name_nameless(&mut self) {
        let all = |names: &Names| -> Vec<String> {
            (0..names.len()).map(|at| names.get(at).to_string()).collect()
        };
        let trace = self.builder.so_far();
        let (mut locks, mut conds) = (all(trace.locks()), all(trace.conds()));
        for (nameless, object, offset) in std::mem::take(&mut self.nameless) {
            let Some(&object) = self.object_ids.get(&object) else { continue };
            let at = Place { object, offset, size: 1 };
            let (table, old) = match nameless {
                Nameless::Lock(lock) => ("lock", &mut locks[lock.index()]),
                Nameless::Cond(cond) => ("cond", &mut conds[cond.index()]),
            };
            let is_place = |name: &str| name.contains(['+', '@']);
            let name = self.builder.so_far().source_name(at).filter(|name| !is_place(name));
            if let (Some(name), true) = (name, is_place(old)) {
                *old = self.fresh(table, name);
            }
        }
        self.builder.rename_locks(&locks);
        self.builder.rename_conds(&conds);
    }

    /// What the programmer calls what is at an address, at the site of this record.
    fn source_name(&mut self, found: &Found, address: u64) -> Option<String> {
        let (tables, offset) = (self.tables, u32::try_from(address - found.start).ok()?);
        let (module, of, called, offset) = match found.what {
            What::Global(at) => {
                let (module, of) = tables.type_of(at)?;
                (module, of, Some(self.object_name(found)), offset)
            }
            What::Heap(_) | What::Stack(_) => {
                let (module, base) = tables.base(self.site)?;
                (module, base.of, base.variable.clone(), base.offset)
            }
            What::Region => return None,
        };
        let of = self.evidence.import(module, of, &mut self.builder);
        self.builder.member_name(called, of, offset)
    }

    fn object_name(&self, found: &Found) -> String {
        match found.what {
            What::Global(at) => self.tables.globals[at].name.clone(),
            What::Heap(block) => self.block_name(&block),
            What::Stack(thread) if self.together => {
                format!("stack of {}", self.tables.lineage(thread))
            }
            What::Stack(thread) => format!("stack of T{thread}"),
            What::Region => format!("mem@{:#x}", found.start),
        }
    }

    fn block_name(&self, block: &Block) -> String {
        if self.together {
            let place = self.tables.place(block.site).ok().flatten();
            let place = place.map_or(String::new(), |place| format!("@{}", place.short()));
            let of = self.tables.lineage(block.thread);
            return format!("heap#{}{place} of {of}", block.nth);
        }
        match self.tables.place(block.site) {
            Ok(Some(place)) => format!("heap#{}@{}", block.number, place.short()),
            _ => format!("heap#{}", block.number),
        }
    }

    pub(super) fn object(&mut self, found: &Found) -> ObjectId {
        if let Some(&known) = self.object_ids.get(&found.object) {
            return known;
        }
        let name = self.object_name(found);
        let name = self.fresh("object", name);
        let id = self.builder.object(&name);
        self.object_ids.insert(found.object, id);
        let size = found.end - found.start;
        match found.what {
            What::Global(at) => {
                if let Some((module, of)) = self.tables.type_of(at) {
                    self.evidence.global(module, of, (id, size), &mut self.builder);
                }
            }
            What::Heap(block) => {
                self.block_sizes.insert(id, size as u32);
                if let Some((module, what)) = self.tables.allocated(block.site) {
                    self.evidence.allocated(module, what, id, &mut self.builder);
                }
            }
            What::Stack(_) | What::Region => {}
        }
        id
    }

    /// An access at this record's site shows what a block or a part of a stack is.
    pub(super) fn note_base(&mut self, found: &Found, at: Place) {
        if matches!(found.what, What::Heap(_) | What::Stack(_))
            && let Some((module, base)) = self.tables.base(self.site)
        {
            let place = (at.object, at.offset);
            self.evidence.access(module, base, place, found, &mut self.builder);
        }
    }

    /// Tells the trace what the programmer calls memory.
    pub(super) fn finish_names(&mut self) {
        let evidence: Evidence = std::mem::take(&mut self.evidence);
        let trace = self.builder.so_far();
        let length = |object| self.block_sizes.get(&object).copied();
        let layouts = evidence.finish(length, |of| trace.is_structure(of));
        self.builder.set_layouts(layouts);
        self.name_nameless();
        self.builder.set_folders(self.tables.directories());
    }
}
