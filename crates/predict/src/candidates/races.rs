//! Race candidates: conflicting accesses of one object by different threads.
//!
//! **Computes.** Each pair of groups of accesses that conflict is a part of the class of its two source locations on its
//! object.
//!
//! **Follows.** `docs/theory.md`, section 4, *Race*; design section 4 for the grouping.
//!
//! **Cost.** One look at each pair of families on one object, and at each pair of their groups unless a lock refutes them all:
//! one pair that a lock refutes is as good as many, so for the others nothing is asked.

use foretrace_trace::EventId;
use foretrace_witness::{Property, Violation};

use super::alike::{Grouping, SharedAccesses};
use super::{Candidates, Context, Fate, Gathering, GroupId, Parts};

/// Any access of one group against any of the other; the groups are of different threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RacePart {
    pub(crate) first: GroupId,
    pub(crate) second: GroupId,
}

pub(super) fn list(context: &Context, accesses: &SharedAccesses, candidates: &mut Candidates) {
    let mut grouping = Grouping::new(accesses);
    let mut gathering = Gathering::new();
    // The id that each group of the object got when it first became part of a class.
    let mut ids: Vec<Option<GroupId>> = Vec::new();
    for object in accesses.objects() {
        grouping.group(accesses, object);
        gathering.forget_keys();
        let groups = &grouping.groups;
        ids.clear();
        ids.resize(groups.len(), None);
        for second in 0..grouping.families.len() {
            for first in 0..=second {
                let [one, two] = [first, second].map(|at| grouping.families[at].clone());
                let (a, b) = (&groups[one.start], &groups[two.start]);
                if !a.access.conflicts(&b.access) || (a.access.atomic && b.access.atomic) {
                    continue;
                }
                let guarded = context.locksets.exclude(a.alike.lockset, b.alike.lockset);
                let sites = (a.site.min(b.site), a.site.max(b.site));
                let pairs = one.flat_map(|one| two.clone().map(move |two| (one, two)));
                for (one, two) in pairs.filter(|(one, two)| first != second || one < two) {
                    if groups[one].alike.thread == groups[two].alike.thread {
                        continue;
                    }
                    let [left, right] = [one, two].map(|at| grouping.events(at));
                    let (early, late) = (left[0].min(right[0]), left[0].max(right[0]));
                    let class = gathering.class(sites, || Violation::Race(early, late));
                    if guarded && class.knows_locks() {
                        break;
                    }
                    class.add(if !context.any_unordered(left, right) {
                        Fate::RefutedByOrder
                    } else if guarded {
                        Fate::RefutedByLocks
                    } else {
                        let mut id = |at: usize, events: &[EventId]| {
                            *ids[at].get_or_insert_with(|| candidates.groups.add(events))
                        };
                        Fate::Open(RacePart { first: id(one, left), second: id(two, right) })
                    });
                }
            }
        }
    }
    gathering.finish(Property::Race, candidates, Parts::Race);
}
