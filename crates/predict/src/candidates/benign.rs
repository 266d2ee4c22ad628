//! Places that the programmer declares benign: races that lie wholly inside them are no candidates.

use rustc_hash::FxHashMap;

use foretrace_trace::{ObjectId, Place, Trace};

/// The bytes of each object that were declared so.
#[derive(Default, Debug)]
pub(super) struct Benign {
    /// Sorted, and joined where they touch.
    bytes: FxHashMap<ObjectId, Vec<(u32, u32)>>,
}

impl Benign {
    pub(super) fn new(trace: &Trace) -> Benign {
        let mut bytes: FxHashMap<ObjectId, Vec<(u32, u32)>> = FxHashMap::default();
        for (at, _) in trace.benign() {
            let end = at.offset.saturating_add(at.size);
            bytes.entry(at.object).or_default().push((at.offset, end));
        }
        for declared in bytes.values_mut() {
            declared.sort_unstable();
            declared.dedup_by(|next, last| {
                let touch = next.0 <= last.1;
                if touch {
                    last.1 = last.1.max(next.1);
                }
                touch
            });
        }
        Benign { bytes }
    }

    /// Whether all bytes that both accesses touch were declared.
    pub(super) fn has(&self, one: Place, other: Place) -> bool {
        let Some(declared) = self.bytes.get(&one.object) else { return false };
        let start = one.offset.max(other.offset);
        let end = one.offset.saturating_add(one.size).min(other.offset.saturating_add(other.size));
        declared.iter().any(|&(first, behind)| first <= start && end <= behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::text;

    #[test]
    fn common_bytes_must_be_declared_all() {
        let trace = text::parse(
            "benign x[4:2] why\nbenign x[6:2] why\nbenign x[12:4] why\nt: read x[0:16]\n",
        );
        let benign = Benign::new(&trace.unwrap());
        let at = |offset, size| Place { object: ObjectId(0), offset, size };
        assert!(benign.has(at(4, 4), at(4, 4)), "places that touch are one");
        assert!(benign.has(at(0, 8), at(4, 12)), "of the first only the second half is common");
        assert!(!benign.has(at(0, 8), at(0, 8)));
        assert!(!benign.has(at(4, 12), at(4, 12)), "there is a gap");
        assert!(benign.has(at(13, 1), at(12, 2)));
    }
}
