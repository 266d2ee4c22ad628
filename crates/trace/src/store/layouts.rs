//! What the programmer calls memory: `queue.slots[3].ready` instead of `queue+44`.
//!
//! **Computes.** An object, or a part of it, may have a layout: what it is called, and of which
//! type it is. The name of a place follows members and elements from there, as far as the place
//! lies in one of them; what remains is an offset.
//!
//! **Invariant.** Names are for readers. Nothing else depends on them, and two places may have the
//! same one.

use std::fmt::Write;

use super::{Builder, Place, Trace};
use crate::ids::*;

/// A type of the program, as far as names need it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypeInfo {
    /// In bytes; 0 if it is not known.
    pub size: u32,
    /// What it consists of.
    pub shape: Shape,
}

/// What a type consists of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// A number, a pointer: it has no parts.
    Scalar,
    /// A structure, class or union.
    Structure {
        /// Its qualified name, perhaps empty.
        name: String,
        /// Members are written `Name::member`, as in C++.
        is_class: bool,
        /// In the order of the source.
        members: Vec<Member>,
    },
    /// Elements of one type, as many as fit.
    Array(TypeId),
}

/// A member of a structure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Empty for a base class and for an anonymous member.
    pub name: String,
    /// In bytes, from the start of the structure.
    pub offset: u32,
    /// Its type.
    pub of: TypeId,
}

/// What a part of an object is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The object.
    pub object: ObjectId,
    /// The first byte of the part.
    pub start: u32,
    /// The first byte behind it. If there is room for several of the type, they are an array.
    pub end: u32,
    /// What it is called.
    pub called: Called,
    /// Its type.
    pub of: TypeId,
}

/// What a part of an object is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Called {
    /// As the object.
    Object,
    /// Like this: a local variable.
    Variable(String),
    /// As its type, which is a structure: nobody else has a name for it.
    Type,
}

/// All layouts of a trace.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Layouts {
    /// What a type consists of comes before it.
    pub(crate) types: Vec<TypeInfo>,
    /// By object and first byte, none overlapping another.
    pub(crate) parts: Vec<Layout>,
    /// Where the compiler ran: relative names of source files start there.
    pub(crate) folders: Vec<String>,
}

impl Layouts {
    fn part(&self, object: ObjectId, offset: u32) -> Option<&Layout> {
        let after = self.parts.partition_point(|one| (one.object, one.start) <= (object, offset));
        let part = &self.parts[after.checked_sub(1)?];
        (part.object == object && offset < part.end).then_some(part)
    }

    /// Appends members and elements up to a place of so many bytes at an offset of a type, and what
    /// is left of the offset. `is_first`: nothing but the type's name was written.
    fn descend(&self, text: &mut String, of: TypeId, offset: u32, size: u32, is_first: bool) {
        let TypeInfo { shape, .. } = &self.types[of.index()];
        let rest = match shape {
            Shape::Array(element) => {
                let bytes = self.types[element.index()].size;
                match offset.checked_div(bytes) {
                    Some(number) => {
                        put(text, format_args!("[{number}]"));
                        return self.descend(text, *element, offset % bytes, size, false);
                    }
                    None => offset,
                }
            }
            Shape::Structure { is_class, members, .. } => {
                let room = |member: &Member| self.types[member.of.index()].size;
                let holds = |member: &&Member| {
                    member.offset <= offset
                        && offset + size <= member.offset.saturating_add(room(member))
                };
                let mut holding: Vec<&Member> = members.iter().filter(holds).collect();
                // Of a union the member that is as large as what is accessed.
                if holding.iter().any(|member| room(member) == size) {
                    holding.retain(|member| room(member) == size);
                }
                // Fields of bits in one word, or a union: nobody knows which of them is meant.
                if holding.len() > 1 && holding.iter().all(|member| self.is_named_scalar(member)) {
                    let names: Vec<&str> =
                        holding.iter().map(|member| member.name.as_str()).collect();
                    let joint = if is_first && *is_class { "::" } else { "." };
                    put(text, format_args!("{joint}{}", names.join("|")));
                    let (of, inner) = (holding[0].of, offset - holding[0].offset);
                    return self.descend(text, of, inner, size, false);
                }
                let member = holding.first().copied();
                // The elements of `std::array` have the name of the whole.
                if let ([only], Some(_)) = (&members[..], member)
                    && matches!(self.types[only.of.index()].shape, Shape::Array(_))
                    && is_reserved(&only.name)
                {
                    return self.descend(text, only.of, offset, size, false);
                }
                match member.filter(|member| !is_reserved(&member.name)) {
                    Some(member) => {
                        if !member.name.is_empty() {
                            let joint = if is_first && *is_class { "::" } else { "." };
                            put(text, format_args!("{joint}{}", member.name));
                        }
                        let is_first = is_first && member.name.is_empty();
                        let inner = offset - member.offset;
                        return self.descend(text, member.of, inner, size, is_first);
                    }
                    // Inside of a type of the library, offsets say nothing to anybody.
                    None if members.iter().any(|member| is_reserved(&member.name)) => 0,
                    None => offset,
                }
            }
            Shape::Scalar => offset,
        };
        if rest > 0 {
            put(text, format_args!("+{rest}"));
        }
    }

    fn is_named_scalar(&self, member: &Member) -> bool {
        let is_scalar = self.types[member.of.index()].shape == Shape::Scalar;
        is_scalar && !member.name.is_empty() && !is_reserved(&member.name)
    }
}

/// Whether the name is one that only the implementation of a library may use.
fn is_reserved(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next() == Some('_')
        && characters.next().is_some_and(|second| second == '_' || second.is_ascii_uppercase())
}

fn put(text: &mut String, what: std::fmt::Arguments) {
    text.write_fmt(what).expect("a string takes all text");
}

impl Trace {
    /// What the programmer calls a place, if the trace says so: `queue.slots[3].ready`.
    pub fn source_name(&self, at: Place) -> Option<String> {
        let part = self.layouts.part(at.object, at.offset)?;
        let TypeInfo { size, shape } = &self.layouts.types[part.of.index()];
        let mut text = match (&part.called, shape) {
            (Called::Object, _) => self.objects().get(at.object.index()).to_string(),
            (Called::Variable(name), _) => name.clone(),
            (Called::Type, Shape::Structure { name, .. }) => name.clone(),
            (Called::Type, Shape::Scalar | Shape::Array(_)) => return None,
        };
        let mut offset = at.offset - part.start;
        let is_array = *size > 0 && u64::from(part.end - part.start) >= 2 * u64::from(*size);
        if is_array {
            put(&mut text, format_args!("[{}]", offset / size));
            offset %= size;
        }
        let is_first = part.called == Called::Type && !is_array;
        self.layouts.descend(&mut text, part.of, offset, at.size, is_first);
        Some(text)
    }

    /// What a block of memory as a whole is called: as its type or as a pointer to it, if the trace
    /// says so.
    pub fn block_name(&self, object: ObjectId) -> &str {
        let part = self.layouts.part(object, 0).filter(|part| part.start == 0);
        let shape = part.map(|part| &self.layouts.types[part.of.index()].shape);
        match (part.map(|part| &part.called), shape) {
            (Some(Called::Variable(name)), _) => name,
            (Some(Called::Type), Some(Shape::Structure { name, .. })) => name,
            _ => self.objects().get(object.index()),
        }
    }

    /// What a place is called: as the programmer does, or else `object+offset`.
    pub fn place_name(&self, at: Place) -> String {
        self.source_name(at).unwrap_or_else(|| {
            let object = self.objects().get(at.object.index());
            if at.offset == 0 { object.to_string() } else { format!("{object}+{}", at.offset) }
        })
    }

    /// Whether a type is a structure, class or union.
    pub fn is_structure(&self, of: TypeId) -> bool {
        matches!(self.layouts.types[of.index()].shape, Shape::Structure { .. })
    }

    /// The folders in which the program was compiled, where relative names of files start.
    pub fn folders(&self) -> &[String] {
        &self.layouts.folders
    }

    /// The types and layouts.
    pub(crate) fn layouts(&self) -> &Layouts {
        &self.layouts
    }
}

impl Builder {
    /// A type; what it consists of is known already.
    pub fn add_type(&mut self, info: TypeInfo) -> TypeId {
        self.trace.layouts.types.push(info);
        TypeId::from(self.trace.layouts.types.len() - 1)
    }

    /// What begins at an offset of something that is called so, and of this type; if it has no
    /// name of its own, it is called as its type, if that is a structure.
    pub fn member_name(&self, called: Option<String>, of: TypeId, offset: u32) -> Option<String> {
        let layouts = &self.trace.layouts;
        let is_first = called.is_none();
        let mut text = match (called, &layouts.types[of.index()].shape) {
            (Some(name), _) => name,
            (None, Shape::Structure { name, .. }) => name.clone(),
            (None, Shape::Scalar | Shape::Array(_)) => return None,
        };
        layouts.descend(&mut text, of, offset, 1, is_first);
        Some(text)
    }

    /// Says in which folders the program was compiled.
    pub fn set_folders(&mut self, folders: Vec<String>) {
        self.trace.layouts.folders = folders;
    }

    /// Says what parts of objects are called. Of parts that overlap the first one stays.
    pub fn set_layouts(&mut self, mut parts: Vec<Layout>) {
        parts.sort_by_key(|one| (one.object, one.start));
        parts.dedup_by(|next, before| next.object == before.object && next.start < before.end);
        parts.retain(|one| one.start < one.end);
        self.trace.layouts.parts = parts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary;

    fn trace() -> Trace {
        let mut builder = Trace::builder();
        let int = builder.add_type(TypeInfo { size: 4, shape: Shape::Scalar });
        let member = |name: &str, offset, of| Member { name: name.to_string(), offset, of };
        let cell = Shape::Structure {
            name: "cell".into(),
            is_class: true,
            members: vec![member("ready", 0, int), member("_M_i", 4, int)],
        };
        let cell = builder.add_type(TypeInfo { size: 8, shape: cell });
        let cells = builder.add_type(TypeInfo { size: 24, shape: Shape::Array(cell) });
        let queue = Shape::Structure {
            name: "queue".into(),
            is_class: false,
            members: vec![member("count", 0, int), member("cells", 4, cells), member("", 28, cell)],
        };
        let queue = builder.add_type(TypeInfo { size: 36, shape: queue });
        let byte = builder.add_type(TypeInfo { size: 1, shape: Shape::Scalar });
        let bits = Shape::Structure {
            name: "bits".into(),
            is_class: true,
            members: vec![member("on", 0, int), member("level", 0, int), member("low", 0, byte)],
        };
        let bits = builder.add_type(TypeInfo { size: 4, shape: bits });
        let [q, heap, stack] = ["q", "heap#1", "stack of T0"].map(|name| builder.object(name));
        let part = |object, start, end, called, of| Layout { object, start, end, called, of };
        builder.set_layouts(vec![
            part(stack, 16, 52, Called::Variable("local".into()), queue),
            part(heap, 0, 8, Called::Type, cell),
            part(heap, 8, 24, Called::Type, cell),
            part(heap, 24, 28, Called::Type, bits),
            part(q, 0, 36, Called::Object, queue),
        ]);
        builder.set_folders(vec!["/src".into()]);
        builder.finish()
    }

    #[test]
    fn names_follow_members_and_elements() {
        let trace = trace();
        let name = |object, offset, size| {
            trace.place_name(Place { object: ObjectId(object), offset, size })
        };
        assert_eq!(name(0, 0, 4), "q.count");
        assert_eq!(name(0, 12, 4), "q.cells[1].ready");
        assert_eq!(name(0, 14, 1), "q.cells[1].ready+2");
        assert_eq!(name(0, 28, 4), "q.ready", "an anonymous member");
        assert_eq!(name(0, 0, 36), "q", "all of it");
        assert_eq!(name(0, 16, 4), "q.cells[1]", "what is inside of a library's type is its own");
        assert_eq!(name(1, 0, 4), "cell::ready");
        assert_eq!(name(1, 16, 4), "cell[1].ready");
        assert_eq!(name(1, 24, 4), "bits::on|level", "one of those");
        assert_eq!(name(1, 25, 2), "bits::on|level+1");
        assert_eq!(name(1, 24, 1), "bits::low", "of a union the one with that size");
        assert_eq!(name(2, 20, 4), "local.cells[0].ready");
        assert_eq!(name(2, 60, 4), "stack of T0+60", "nothing is known there");
    }

    #[test]
    fn layouts_survive_the_binary_form() {
        let trace = trace();
        assert_eq!(binary::decode(&binary::encode(&trace).unwrap()).unwrap(), trace);
    }
}
