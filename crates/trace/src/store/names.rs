//! Tables of names.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

/// A table of strings with an index.
///
/// **Cost.** The text and 8 bytes for each name; 8 to 16 for its place in the index. Reads of
/// recorded programs are called `r0`, `r1`, … in this order: a table that begins so needs no index
/// of these.
#[derive(Clone, Default, Debug)]
pub struct Names {
    /// All names, one behind the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// How many of the first names are `r0`, `r1`, …
    numbered: usize,
    /// Numbers of the others, by their hashes, each at or behind its own place; a power of two, of
    /// which at least half is empty.
    index: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl Names {
    /// The number of the name, new or known.
    pub fn intern(&mut self, name: &str) -> usize {
        let number = numbered(name);
        if let Some(known) = number.filter(|number| *number < self.numbered) {
            return known;
        }
        let new = self.len();
        assert!(new < EMPTY as usize, "a table has at most 2^32 - 1 entries");
        if number == Some(new) && self.numbered == new {
            self.numbered += 1;
        } else {
            if 2 * (new - self.numbered + 1) > self.index.len() {
                self.rebuild((2 * self.index.len()).max(8));
            }
            let place = self.place(name);
            if self.index[place] != EMPTY {
                return self.index[place] as usize;
            }
            self.index[place] = new as u32;
        }
        self.text.push_str(name);
        self.ends.push(self.text.len());
        new
    }

    /// The number of a known name.
    pub fn find(&self, name: &str) -> Option<usize> {
        if let Some(known) = numbered(name).filter(|number| *number < self.numbered) {
            return Some(known);
        }
        let known = match self.index.is_empty() {
            true => EMPTY,
            false => self.index[self.place(name)],
        };
        (known != EMPTY).then_some(known as usize)
    }

    /// Where the index has the name, or room for it.
    fn place(&self, name: &str) -> usize {
        let mask = self.index.len() - 1;
        let mut place = FxBuildHasher.hash_one(name) as usize & mask;
        while self.index[place] != EMPTY && self.get(self.index[place] as usize) != name {
            place = (place + 1) & mask;
        }
        place
    }

    /// Makes an index of so many places.
    fn rebuild(&mut self, size: usize) {
        self.index = vec![EMPTY; size];
        for number in self.numbered..self.len() {
            let place = self.place(self.get(number));
            self.index[place] = number as u32;
        }
    }

    /// Forgets all names but so many of the first ones.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.text.truncate(count.checked_sub(1).map_or(0, |last| self.ends[last]));
            self.ends.truncate(count);
            self.numbered = self.numbered.min(count);
            self.rebuild((2 * (count - self.numbered)).next_power_of_two());
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with that number.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// All names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Names {}

/// The number in `r17`.
fn numbered(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('r')?;
    let is_shortest = digits == "0" || matches!(digits.as_bytes().first(), Some(b'1'..=b'9'));
    digits.parse().ok().filter(|_| is_shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_number() {
        let mut names = Names::default();
        assert_eq!(names.find("r0"), None);
        for round in 0..2 {
            for number in 0..3000 {
                assert_eq!(names.intern(&format!("r{number}")), number, "round {round}");
            }
            assert_eq!(names.intern(""), 3000);
        }
        assert_eq!((names.get(0), names.get(2999), names.get(3000)), ("r0", "r2999", ""));
        assert_eq!(names.find("r17"), Some(17));
        assert_eq!(names.find("r3000"), None);
        assert_eq!(names.iter().len(), 3001);
    }

    #[test]
    fn the_last_names_can_be_forgotten() {
        let many: Vec<String> = (0..40).map(|number| format!("x{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for all in [&["r0", "r1", "x", "y", "r7"], &["x", "r0", "y", "z", "r1"], &many[..]] {
            for count in 0..=all.len() {
                let (mut cut, mut short) = (Names::default(), Names::default());
                all.iter().for_each(|name| _ = cut.intern(name));
                all[..count].iter().for_each(|name| _ = short.intern(name));
                cut.truncate(count);
                assert_eq!(cut, short);
                for &name in all {
                    assert_eq!(cut.find(name), short.find(name));
                    assert_eq!(cut.intern(name), short.intern(name));
                }
            }
        }
    }

    /// However a table begins, it is the same one.
    #[test]
    fn numbers_in_names_are_written_so() {
        for first in ["r0", "r1", "r00", "x", "r"] {
            let mut names = Names::default();
            let all = [first, "r0", "r1", "r01", "r2", "r+2", "r", "x", "r00", "r3", "r4"];
            let mut known: Vec<&str> = Vec::new();
            for name in all {
                let number = known.iter().position(|one| *one == name);
                assert_eq!(names.find(name), number, "{name} behind {first}");
                assert_eq!(names.intern(name), number.unwrap_or(known.len()), "{name} {first}");
                if number.is_none() {
                    known.push(name);
                }
                assert_eq!(names.find(name).map(|number| names.get(number)), Some(name));
            }
            assert!(names.iter().eq(known));
        }
    }
}
