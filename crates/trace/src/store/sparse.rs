//! Columns with gaps, for what only some events have.
//!
//! **Computes.** A value for each of some events, in their order. A bit says which events have one;
//! how many have one before each 64 events is known, so finding a value takes two look-ups.
//!
//! **Invariant.** The last block has an event with a value, so that equal contents are equal
//! columns.
//!
//! **Cost.** An eighth and a sixteenth of a byte per event, and the values. Appending is constant;
//! putting something before what is there is linear.

use crate::ids::EventId;

/// A column with gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sparse<T> {
    /// Of each 64 events, which have a value.
    which: Vec<u64>,
    /// How many have one before these 64.
    before: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { which: Vec::new(), before: Vec::new(), values: Vec::new() }
    }
}

impl<T> Sparse<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the event has a value, and how many events before it have one.
    #[inline]
    pub(crate) fn find(&self, event: EventId) -> (bool, usize) {
        let (block, bit) = (event.index() / 64, event.index() % 64);
        let Some(which) = self.which.get(block) else { return (false, self.values.len()) };
        let earlier = (which & ((1 << bit) - 1)).count_ones() + self.before[block];
        (which >> bit & 1 == 1, earlier as usize)
    }

    #[inline]
    pub(crate) fn get(&self, event: EventId) -> Option<&T> {
        let (is_there, at) = self.find(event);
        is_there.then(|| &self.values[at])
    }

    pub(crate) fn get_mut(&mut self, event: EventId) -> Option<&mut T> {
        let (is_there, at) = self.find(event);
        is_there.then(|| &mut self.values[at])
    }

    /// All values.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Gives an event a value, in place of what it had.
    #[inline]
    pub(crate) fn insert(&mut self, event: EventId, value: T) {
        let (block, bit) = (event.index() / 64, event.index() % 64);
        while self.which.len() <= block {
            self.which.push(0);
            self.before.push(self.values.len() as u32);
        }
        match self.find(event) {
            (true, at) => self.values[at] = value,
            (false, at) if at < self.values.len() => {
                self.values.insert(at, value);
                self.before[block + 1..].iter_mut().for_each(|before| *before += 1);
            }
            _ => self.values.push(value),
        }
        self.which[block] |= 1 << bit;
    }

    /// All events that have a value, with it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EventId, &T)> {
        self.keys().zip(&self.values)
    }

    /// All events that have a value.
    pub(crate) fn keys(&self) -> impl Iterator<Item = EventId> + '_ {
        self.which.iter().zip((0..).step_by(64)).flat_map(|(&which, first)| {
            let mut rest = which;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(EventId(first + bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use foretrace_testing::Random;

    #[test]
    fn it_is_a_map() {
        let mut random = Random::new(7);
        for round in 0..200 {
            let (mut sparse, mut map) = (Sparse::default(), BTreeMap::new());
            for step in 0..random.below(200) as u32 {
                let events = [1, 3, 64, 65, 1000][round % 5];
                let event = match random.below(2) {
                    0 => EventId(random.below(events) as u32),
                    _ => EventId(3 * step),
                };
                sparse.insert(event, step);
                map.insert(event, step);
            }
            assert_eq!(sparse.len(), map.len());
            assert!(sparse.iter().eq(map.iter().map(|(event, value)| (*event, value))));
            for event in (0..1200).map(EventId) {
                assert_eq!(sparse.get(event), map.get(&event), "{event:?} in round {round}");
            }
            let mut ordered = Sparse::default();
            map.iter().for_each(|(event, value)| ordered.insert(*event, *value));
            assert_eq!(sparse, ordered);
        }
    }
}
