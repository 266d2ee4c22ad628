//! What a row of the event columns may hold.
//!
//! **Computes.** For a block of rows the first one that no event packs to, or whose ids are outside
//! their tables.
//!
//! **Invariant.** A row passes iff it is what `store` packs for some event of this trace. Which
//! pairs of kind and detail exist is asked of `store` itself, so the two cannot come apart.
//!
//! **Cost.** One pass without branches; only a block with a bad row is looked at again.

use std::sync::LazyLock;

use crate::ops;
use crate::store::{Columns, HAS_VALUE, KIND_COUNT, NO_LOCATION, packed_operations};
use crate::{Names, Op, Request, Trace};

/// The limits for rows of one kind: each number must be *below* its limit.
struct Limits {
    /// Which details exist, one bit each.
    details: [u64; 4],
    target: u64,
    operand: u64,
    size: u64,
    /// For operand + size: no place ends beyond 2^32 - 1.
    end: u64,
}

/// All limits of a trace whose tables are complete.
pub(super) struct Rules {
    limits: Vec<Limits>,
    threads: u32,
    locations: u32,
}

const ANY: u64 = 1 << 32;
const ZERO: u64 = 1;

/// Of each kind: which details exist, one bit each, and one of its operations.
static KINDS: LazyLock<Vec<([u64; 4], Option<Op>)>> = LazyLock::new(|| {
    let mut kinds = vec![([0; 4], None); KIND_COUNT];
    for (kind, detail, op) in packed_operations() {
        let (details, example) = &mut kinds[usize::from(kind)];
        details[usize::from(detail) / 64] |= 1u64 << (detail % 64);
        *example = Some(op);
    }
    kinds
});

impl Rules {
    pub(super) fn new(trace: &Trace) -> Rules {
        let limits = KINDS.iter().map(|(details, example)| {
            let (target, operand, size) = match example {
                Some(op) => operands(trace, op),
                None => (0, 0, 0),
            };
            let is_access = example.is_some_and(|op| op.access().is_some());
            let end = if is_access { ANY } else { u64::MAX };
            Limits { details: *details, target, operand, size, end }
        });
        Rules {
            limits: limits.collect(),
            threads: trace.threads().len() as u32,
            locations: trace.locations().len() as u32,
        }
    }

    /// The first row that is not allowed.
    pub(super) fn first_bad(&self, rows: &Columns) -> Option<usize> {
        let count = rows.kind.len();
        let all_kinds = rows.kind.iter().all(|&kind| usize::from(kind) < KIND_COUNT);
        let good = all_kinds && (0..count).fold(true, |good, row| good & self.allows(rows, row));
        if good {
            return None;
        }
        (0..count).find(|&row| usize::from(rows.kind[row]) >= KIND_COUNT || !self.allows(rows, row))
    }

    /// Whether a row is allowed; its kind exists.
    #[inline]
    fn allows(&self, rows: &Columns, row: usize) -> bool {
        let limits = &self.limits[usize::from(rows.kind[row])];
        let (detail, location) = (rows.detail[row], rows.location[row]);
        let (operand, size) = (u64::from(rows.operand[row]), u64::from(rows.size[row]));
        (limits.details[usize::from(detail) / 64] >> (detail % 64) & 1 == 1)
            & (rows.thread[row] < self.threads)
            & ((location < self.locations) | (location == NO_LOCATION))
            & (u64::from(rows.target[row]) < limits.target)
            & (operand < limits.operand)
            & (size < limits.size)
            & (operand + size < limits.end)
            & ((rows.value[row] == 0) | (detail & HAS_VALUE != 0))
    }
}

/// The limits of target, operand and size of an operation.
fn operands(trace: &Trace, op: &Op) -> (u64, u64, u64) {
    let of = |names: &Names| names.len() as u64;
    let locks = of(trace.locks());
    match op {
        Op::Read { .. } | Op::Write { .. } | Op::Rmw { .. } => (of(trace.objects()), ANY, ANY),
        Op::Alloc { .. } => (of(trace.objects()), ZERO, ANY),
        Op::Free { .. } => (of(trace.objects()), ZERO, ZERO),
        Op::Acquire { .. }
        | Op::AcquireFailed { .. }
        | Op::Release { .. }
        | Op::Destroy { .. }
        | Op::Request(Request::Acquire(..)) => (locks, ZERO, ZERO),
        Op::Wait { .. } | Op::Wake { .. } => (of(trace.conds()), locks, ZERO),
        Op::Signal { .. } | Op::Broadcast { .. } => (of(trace.conds()), ZERO, ZERO),
        Op::SemWait { .. }
        | Op::SemWaitFailed { .. }
        | Op::SemPost { .. }
        | Op::Request(Request::SemWait(_)) => (of(trace.semaphores()), ZERO, ZERO),
        Op::Arrive { .. } | Op::Leave { .. } => (of(trace.barriers()), ZERO, ZERO),
        Op::Fork { .. } | Op::Join { .. } | Op::Request(Request::Join(_)) => {
            (of(trace.threads()), ZERO, ZERO)
        }
        Op::EnterCall { .. } => {
            (trace.channel_list_count() as u64, of(trace.functions()) + 1, ZERO)
        }
        ops!(data mark Begin End Exit LeaveCall) => (ZERO, ZERO, ZERO),
    }
}
