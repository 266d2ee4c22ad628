//! What the programmer calls memory: a section that a reader can do without.

use super::BinaryError;
use super::bytes::{Cursor, put_number, put_string};
use super::sections::{Index, Tag};
use crate::Trace;
use crate::ids::*;
use crate::store::{Builder, Called, Layout, Member, Shape, TypeInfo};

const SCALAR: u64 = 0;
const STRUCTURE: u64 = 1;
const CLASS: u64 = 2;
const ARRAY: u64 = 3;

pub(super) fn encode(trace: &Trace) -> Vec<u8> {
    let (mut out, layouts) = (Vec::new(), trace.layouts());
    if layouts.types.is_empty() && layouts.folders.is_empty() {
        return out;
    }
    put_number(&mut out, layouts.folders.len() as u64);
    layouts.folders.iter().for_each(|folder| put_string(&mut out, folder));
    put_number(&mut out, layouts.types.len() as u64);
    for TypeInfo { size, shape } in &layouts.types {
        put_number(&mut out, (*size).into());
        match shape {
            Shape::Scalar => put_number(&mut out, SCALAR),
            Shape::Array(element) => {
                put_number(&mut out, ARRAY);
                put_number(&mut out, element.0.into());
            }
            Shape::Structure { name, is_class, members } => {
                put_number(&mut out, if *is_class { CLASS } else { STRUCTURE });
                put_string(&mut out, name);
                put_number(&mut out, members.len() as u64);
                for Member { name, offset, of } in members {
                    put_string(&mut out, name);
                    put_number(&mut out, (*offset).into());
                    put_number(&mut out, of.0.into());
                }
            }
        }
    }
    put_number(&mut out, layouts.parts.len() as u64);
    for Layout { object, start, end, called, of } in &layouts.parts {
        put_number(&mut out, object.0.into());
        put_number(&mut out, (*start).into());
        put_number(&mut out, (*end).into());
        put_number(&mut out, of.0.into());
        match called {
            Called::Object => put_number(&mut out, 0),
            Called::Type => put_number(&mut out, 1),
            Called::Variable(name) => {
                put_number(&mut out, 2);
                put_string(&mut out, name);
            }
        }
    }
    out
}

pub(super) fn decode(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::LAYOUTS)?;
    if content.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&content, offset);
    let mut folders = Vec::new();
    for _ in 0..cursor.count()? {
        folders.push(cursor.string()?.to_string());
    }
    builder.set_folders(folders);
    let types = cursor.count()? as u64;
    for known in 0..types {
        // What a type consists of comes before it, so following members comes to an end.
        let info = type_info(&mut cursor, known)?;
        builder.add_type(info);
    }
    let objects = builder.so_far().objects().len() as u64;
    let mut parts: Vec<Layout> = Vec::new();
    for _ in 0..cursor.count()? {
        let object = ObjectId(cursor.below(objects, "object")?);
        let (start, end) = (cursor.word()?, cursor.word()?);
        let of = TypeId(cursor.below(types, "type")?);
        let called = match cursor.number()? {
            0 => Called::Object,
            1 => Called::Type,
            2 => Called::Variable(cursor.string()?.to_string()),
            other => return Err(cursor.damaged(format!("unknown name of memory {other}"))),
        };
        let is_behind = parts.last().is_none_or(|last| {
            (last.object, last.end.saturating_sub(1)) < (object, start) || last.object < object
        });
        if start >= end || !is_behind {
            return Err(cursor.damaged(format!("a part from byte {start} to {end}")));
        }
        parts.push(Layout { object, start, end, called, of });
    }
    builder.set_layouts(parts);
    cursor.finish()
}

fn type_info(cursor: &mut Cursor, known: u64) -> Result<TypeInfo, BinaryError> {
    let size = cursor.word()?;
    let shape = match cursor.number()? {
        SCALAR => Shape::Scalar,
        ARRAY => Shape::Array(TypeId(cursor.below(known, "type")?)),
        kind @ (STRUCTURE | CLASS) => {
            let name = cursor.string()?.to_string();
            let mut members = Vec::new();
            for _ in 0..cursor.count()? {
                let name = cursor.string()?.to_string();
                let offset = cursor.word()?;
                members.push(Member { name, offset, of: TypeId(cursor.below(known, "type")?) });
            }
            Shape::Structure { name, is_class: kind == CLASS, members }
        }
        other => return Err(cursor.damaged(format!("unknown shape {other}"))),
    };
    Ok(TypeInfo { size, shape })
}
