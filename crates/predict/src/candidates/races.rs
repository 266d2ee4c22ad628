//! Race candidates: conflicting accesses of one object by different threads.
//!
//! **Computes.** Each pair of groups of accesses that conflict is a part of the class of its two
//! source locations on its object.
//!
//! **Follows.** `docs/theory.md`, section 4, *Race*; design section 4 for the grouping.
//!
//! **Cost.** One look at each pair of families that meet in a word of one object, and at each pair
//! of their groups unless a lock refutes them all: one pair that a lock refutes is as good as many,
//! so for the others nothing is asked.

use rustc_hash::FxHashMap;

use foretrace_trace::EventId;
use foretrace_verdict::{Property, Violation};

use super::alike::{Grouping, SharedAccesses};
use super::benign::Benign;
use super::{Candidates, Context, Gathering, GroupId, Parts};

/// Any access of one group against any of the other; the groups are of different threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RacePart {
    pub(crate) first: GroupId,
    pub(crate) second: GroupId,
}

pub(super) fn list(context: &Context, accesses: &SharedAccesses, candidates: &mut Candidates) {
    let mut grouping = Grouping::new(accesses);
    let mut gathering = Gathering::new();
    let benign = Benign::new(context.skeleton.trace);
    // The id that each group of the object got when it first became part of a class.
    let mut ids: Vec<Option<GroupId>> = Vec::new();
    let (mut words, mut neighbours) = (Words::default(), Vec::new());
    for object in accesses.objects() {
        grouping.group(accesses, object);
        gathering.forget_keys();
        let groups = &grouping.groups;
        ids.clear();
        ids.resize(groups.len(), None);
        words.fill(&grouping);
        for second in 0..grouping.families.len() {
            words.neighbours(&grouping, second, &mut neighbours);
            for &first in &neighbours {
                let [one, two] = [first, second].map(|at| grouping.families[at].clone());
                let (a, b) = (&groups[one.start], &groups[two.start]);
                if !a.access.conflicts(&b.access) || (a.access.atomic && b.access.atomic) {
                    continue;
                }
                if benign.has(a.access.at, b.access.at) {
                    continue;
                }
                let guarded =
                    context.prune && context.locksets.exclude(a.alike.lockset, b.alike.lockset);
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
                    let ordered = context.prune && !context.any_unordered(left, right);
                    class.add(guarded, ordered, || {
                        let mut id = |at: usize, events: &[EventId]| {
                            *ids[at].get_or_insert_with(|| candidates.groups.add(events))
                        };
                        RacePart { first: id(one, left), second: id(two, right) }
                    });
                }
            }
        }
    }
    gathering.finish(Property::Race, candidates, Parts::Race);
}

/// Which families touch a word of an object; a block of memory may have many that never meet.
#[derive(Default)]
struct Words {
    /// Word and family, sorted; empty if there is one word only.
    families: Vec<(u32, u32)>,
    /// Where each word begins in `families`.
    starts: FxHashMap<u32, u32>,
}

impl Words {
    fn of(grouping: &Grouping, family: usize) -> std::ops::RangeInclusive<u32> {
        let at = grouping.groups[grouping.families[family].start].access.at;
        at.offset / 8..=at.offset.saturating_add(at.size.max(1) - 1) / 8
    }

    fn fill(&mut self, grouping: &Grouping) {
        self.families.clear();
        self.starts.clear();
        let all = 0..grouping.families.len();
        let first = all.clone().next().map(|family| Self::of(grouping, family));
        if all.clone().all(|family| {
            let words = Self::of(grouping, family);
            words.start() == words.end() && Some(words) == first
        }) {
            return;
        }
        for family in all {
            self.families.extend(Self::of(grouping, family).map(|word| (word, family as u32)));
        }
        self.families.sort_unstable();
        for (at, &(word, _)) in self.families.iter().enumerate() {
            self.starts.entry(word).or_insert(at as u32);
        }
    }

    /// The families up to `family` that touch a word which it touches, in their order; there may be
    /// more.
    fn neighbours(&self, grouping: &Grouping, family: usize, neighbours: &mut Vec<usize>) {
        neighbours.clear();
        if self.families.is_empty() {
            neighbours.extend(0..=family);
            return;
        }
        let mut words = 0;
        for word in Self::of(grouping, family) {
            let start = self.starts[&word] as usize;
            let here = self.families[start..].iter();
            let here = here.take_while(|&&(other, at)| other == word && at as usize <= family);
            neighbours.extend(here.map(|&(_, at)| at as usize));
            words += 1;
        }
        if words > 1 {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
    }
}
