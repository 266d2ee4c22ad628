//! What the programmer calls memory: the tables of the modules, and the parts of objects that
//! accesses show.
//!
//! **Computes.** Global variables have their types from debug information. What a block of the heap
//! is, its accesses tell: the code there reaches into a structure at an offset, so the structure
//! begins that many bytes before; of several the largest is the whole. A local variable is where
//! its function accesses it by name; where two variables had the same place at different times, the
//! place has no name.
//!
//! **Invariant.** Names are for readers: nothing but names follows from them. What cannot be read
//! is left out.

use foretrace_recording::image::take;
use foretrace_recording::names as layout;
use foretrace_trace::{Builder, Called, Layout, Member, ObjectId, Shape, TypeId, TypeInfo};
use rustc_hash::FxHashMap;

use super::objects::{Found, What};

/// The names of one module.
#[derive(Default)]
pub(super) struct ModuleNames {
    /// Where the compiler ran.
    pub(super) directory: String,
    types: Vec<TypeInfo>,
    /// Types of global variables, by their place in the module.
    pub(super) globals: FxHashMap<u32, TypeId>,
    /// What addresses are offsets into, by the number of the site.
    bases: FxHashMap<u32, Base>,
    /// What memory is allocated for, by the number of the site.
    allocated: FxHashMap<u32, Allocated>,
}

/// What an address is an offset into.
#[derive(Clone)]
pub(super) struct Base {
    /// A local variable; otherwise what something points to.
    pub(super) variable: Option<String>,
    pub(super) of: TypeId,
    pub(super) offset: u32,
}

/// What memory is allocated for.
#[derive(Clone)]
pub(super) struct Allocated {
    /// The pointer that gets its address.
    pub(super) pointer: String,
    /// What that points to.
    pub(super) of: TypeId,
}

impl ModuleNames {
    /// Reads a table; `None` if it is damaged or of another version.
    pub(super) fn parse(bytes: &[u8]) -> Option<ModuleNames> {
        let mut reader = Reader(bytes);
        if reader.number()? != layout::VERSION {
            return None;
        }
        let mut names = ModuleNames { directory: reader.text()?, ..ModuleNames::default() };
        for _ in 0..reader.count()? {
            let info = reader.type_info(names.types.len())?;
            names.types.push(info);
        }
        let types = names.types.len();
        for _ in 0..reader.count()? {
            names.globals.insert(reader.word()?, reader.type_number(types)?);
        }
        for _ in 0..reader.count()? {
            let (site, kind) = (reader.word()?, reader.number()?);
            let variable = match kind {
                layout::IN_STRUCTURE => None,
                layout::IN_VARIABLE | layout::ALLOCATED => Some(reader.text()?),
                _ => return None,
            };
            let (of, offset) = (reader.type_number(types)?, reader.word()?);
            match variable {
                Some(pointer) if kind == layout::ALLOCATED => {
                    names.allocated.insert(site, Allocated { pointer, of });
                }
                variable => _ = names.bases.insert(site, Base { variable, of, offset }),
            }
        }
        Some(names)
    }

    pub(super) fn base(&self, site: u32) -> Option<&Base> {
        self.bases.get(&site)
    }

    pub(super) fn allocated(&self, site: u32) -> Option<&Allocated> {
        self.allocated.get(&site)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        take(&mut self.0)
    }

    fn word(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// How many of something follow, each of at least a byte.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn type_number(&mut self, known: usize) -> Option<TypeId> {
        self.word().filter(|&number| (number as usize) < known).map(TypeId)
    }

    /// A size in bytes; what is larger has none that anybody needs.
    fn size(&mut self) -> Option<u32> {
        Some(u32::try_from(self.number()?).unwrap_or(0))
    }

    fn type_info(&mut self, known: usize) -> Option<TypeInfo> {
        Some(match self.number()? {
            layout::SCALAR => TypeInfo { size: self.size()?, shape: Shape::Scalar },
            layout::ARRAY => {
                let size = self.size()?;
                TypeInfo { size, shape: Shape::Array(self.type_number(known)?) }
            }
            layout::STRUCTURE => {
                let (name, is_class) = (self.text()?, self.number()? != 0);
                let size = self.size()?;
                let mut members = Vec::new();
                for _ in 0..self.count()? {
                    let name = self.text()?;
                    let offset = self.size()?;
                    members.push(Member { name, offset, of: self.type_number(known)? });
                }
                TypeInfo { size, shape: Shape::Structure { name, is_class, members } }
            }
            _ => return None,
        })
    }
}

/// What is known of the objects of a trace.
#[derive(Default)]
pub(super) struct Evidence {
    /// The trace's types, by module and number there, and equal ones once.
    types: FxHashMap<(usize, TypeId), TypeId>,
    known: FxHashMap<TypeInfo, TypeId>,
    /// Global variables.
    whole: Vec<Layout>,
    /// Of blocks and stacks, by object and first byte: those with names of their own, and others;
    /// `None` where two differ.
    variables: FxHashMap<(ObjectId, u32), Option<Variable>>,
    structures: FxHashMap<ObjectId, Vec<(u32, TypeId, u32)>>,
    /// Of blocks: what they were allocated for.
    allocated: Vec<(ObjectId, Variable)>,
}

/// Name, type and size.
type Variable = (String, TypeId, u32);

/// So many structures of one object are looked at.
const MOST: usize = 16;

impl Evidence {
    /// A type of a module as one of the trace.
    pub(super) fn import(
        &mut self,
        module: (usize, &ModuleNames),
        of: TypeId,
        to: &mut Builder,
    ) -> TypeId {
        let key = (module.0, of);
        if let Some(&known) = self.types.get(&key) {
            return known;
        }
        let mut info = module.1.types[of.index()].clone();
        match &mut info.shape {
            Shape::Scalar => {}
            Shape::Array(element) => *element = self.import(module, *element, to),
            Shape::Structure { members, .. } => {
                for member in members {
                    member.of = self.import(module, member.of, to);
                }
            }
        }
        let id = match self.known.get(&info) {
            Some(&known) => known,
            None => {
                let id = to.add_type(info.clone());
                self.known.insert(info, id);
                id
            }
        };
        self.types.insert(key, id);
        id
    }

    /// A global variable is of this type.
    pub(super) fn global(
        &mut self,
        module: (usize, &ModuleNames),
        of: TypeId,
        (object, size): (ObjectId, u64),
        to: &mut Builder,
    ) {
        let of = self.import(module, of, to);
        let end = u32::try_from(size).unwrap_or(u32::MAX);
        self.whole.push(Layout { object, start: 0, end, called: Called::Object, of });
    }

    /// A block was allocated for a pointer.
    pub(super) fn allocated(
        &mut self,
        module: (usize, &ModuleNames),
        Allocated { pointer, of }: &Allocated,
        object: ObjectId,
        to: &mut Builder,
    ) {
        let size = module.1.types[of.index()].size;
        if size > 0 {
            let of = self.import(module, *of, to);
            self.allocated.push((object, (pointer.clone(), of, size)));
        }
    }

    /// An access of a block or stack, at an offset of the object, is based on this.
    pub(super) fn access(
        &mut self,
        module: (usize, &ModuleNames),
        base: &Base,
        (object, offset): (ObjectId, u32),
        found: &Found,
        to: &mut Builder,
    ) {
        let info = &module.1.types[base.of.index()];
        let (size, Some(start)) = (info.size, offset.checked_sub(base.offset)) else { return };
        let length = found.end - found.start;
        if size == 0 || u64::from(start) + u64::from(size) > length {
            return;
        }
        match (&base.variable, found.what) {
            (Some(name), What::Stack(_)) => {
                let of = self.import(module, base.of, to);
                let this = Some((name.clone(), of, size));
                let known = self.variables.entry((object, start)).or_insert_with(|| this.clone());
                if *known != this {
                    *known = None;
                }
            }
            (None, What::Stack(_) | What::Heap(_)) => {
                let list = self.structures.entry(object).or_default();
                if list.len() < MOST {
                    let of = self.import(module, base.of, to);
                    let list = self.structures.entry(object).or_default();
                    if !list.contains(&(start, of, size)) {
                        list.push((start, of, size));
                    }
                }
            }
            _ => {}
        }
    }

    /// The layouts; `length` of an object, if it is a block. `is_structure`: of types.
    pub(super) fn finish(
        self,
        length: impl Fn(ObjectId) -> Option<u32>,
        is_structure: impl Fn(TypeId) -> bool,
    ) -> Vec<Layout> {
        let mut layouts = self.whole;
        let mut taken: FxHashMap<ObjectId, Vec<(u32, u32)>> = FxHashMap::default();
        let mut variables: Vec<_> = self.variables.into_iter().collect();
        variables.sort_by_key(|((object, start), _)| (*object, *start));
        for ((object, start), named) in variables {
            let Some((name, of, size)) = named else { continue };
            let end = start + size;
            let ends = taken.entry(object).or_default();
            // Two variables in one place, at different times.
            if ends.iter().any(|&(other, behind)| other < end && start < behind) {
                layouts.retain(|one| one.object != object || one.end <= start || end <= one.start);
                continue;
            }
            ends.push((start, end));
            layouts.push(Layout { object, start, end, called: Called::Variable(name), of });
        }
        for (object, mut list) in self.structures {
            list.sort_by_key(|&(start, of, size)| (u32::MAX - size, start, of));
            let ends = taken.entry(object).or_default();
            for (start, of, size) in list {
                // What fills a block from its beginning on is an array of it.
                let (start, end) = match length(object) {
                    Some(length) if start % size == 0 => (0, length / size * size),
                    _ => (start, start + size),
                };
                if ends.iter().any(|&(other, behind)| other < end && start < behind) {
                    continue;
                }
                ends.push((start, end));
                layouts.push(Layout { object, start, end, called: Called::Type, of });
            }
        }
        // Of others it is known at least what they were allocated for.
        for (object, (pointer, of, size)) in self.allocated {
            let end = length(object).map_or(0, |length| length / size * size);
            if end == 0 || taken.contains_key(&object) {
                continue;
            }
            let called = match () {
                () if is_structure(of) => Called::Type,
                () if end > size => Called::Variable(pointer),
                () => Called::Variable(format!("*{pointer}")),
            };
            layouts.push(Layout { object, start: 0, end, called, of });
        }
        layouts
    }
}
