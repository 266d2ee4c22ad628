//! Which instructions of the program the runtime of the compiled program sees.
//!
//! **Computes.** Of the instructions that one instruction of the image becomes, those that have no
//! record of their own: accesses to memory that the compiler knows to be private; what stands for
//! the inside of a library function, except its synchronisation; and of a copy or fill all but the
//! first of every eight bytes, as the runtime's pieces have it.

use foretrace_image as image;
use foretrace_program::{Instruction, Op};
use foretrace_recording::record::PIECEWISE;

/// The numbers of those among `made` that have no record.
pub(crate) fn silent(of: &image::Instruction, made: &[Instruction]) -> Vec<usize> {
    let is_silent = |op: &Op, before: u64| match &of.op {
        image::Op::Copy { to_private, from_private, .. } => match op {
            Op::Load { .. } => *from_private || is_inside(before, made),
            _ => *to_private || is_inside(before, made),
        },
        image::Op::Fill { private, .. } => *private || is_inside(before, made),
        image::Op::LoadWide { private, .. } => match op {
            Op::Load { .. } => *private || is_inside(before, made),
            _ => true,
        },
        image::Op::StoreWide { private, .. } => match op {
            Op::Store { .. } => *private || is_inside(before, made),
            _ => true,
        },
        image::Op::Call { .. } | image::Op::Leave { .. } | image::Op::Hooked { .. } => true,
        _ => of.site == 0,
    };
    // How many bytes were loaded and stored before.
    let (mut loaded, mut stored) = (0, 0);
    let mut posts = false;
    let mut found = Vec::new();
    for (number, Instruction { op, .. }) in made.iter().enumerate() {
        let is_silent = match op {
            Op::Load { size, .. } => {
                let before = loaded;
                loaded += u64::from(*size);
                is_silent(op, before)
            }
            Op::Store { size, .. } => {
                let before = stored;
                stored += u64::from(*size);
                is_silent(op, before)
            }
            Op::Rmw { .. } | Op::CompareExchange { .. } => of.site == 0,
            // A semaphore that begins with more than 0.
            Op::SemPost { .. } => !is_called(of, "sem_post") || std::mem::replace(&mut posts, true),
            _ => false,
        };
        if is_silent {
            found.push(number);
        }
    }
    found
}

/// Whether bytes behind `before` belong to a piece that begins earlier.
fn is_inside(before: u64, made: &[Instruction]) -> bool {
    let sizes = made.iter().map(|Instruction { op, .. }| match op {
        Op::Store { size, .. } => usize::from(*size),
        _ => 0,
    });
    let is_piecewise = sizes.sum::<usize>() <= PIECEWISE;
    if is_piecewise { !before.is_multiple_of(8) } else { before != 0 }
}

fn is_called(of: &image::Instruction, function: &str) -> bool {
    matches!(&of.op, image::Op::Leave { name, .. } if name == function)
}
