//! The channels of one call.

use foretrace_recording::channel::{OUTSIDE, direction};
use foretrace_recording::record::stream;

/// More channels than this are all channels.
const MOST: usize = 64;

/// Channels, each with a [`direction`].
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses {
    list: Vec<(u32, u32)>,
    every: bool,
    /// What is known of a call that moves no bytes into streams or out of them, see [`stream`].
    quiet: u8,
}

impl Uses {
    /// All channels.
    pub(crate) fn every() -> Uses {
        Uses { every: true, ..Uses::default() }
    }

    pub(crate) fn of(list: &[(u32, u32)]) -> Uses {
        let mut uses = Uses::default();
        list.iter().for_each(|&(channel, direction)| uses.add(channel, direction));
        uses
    }

    /// The same of a call that moves no bytes.
    pub(crate) fn quiet(self) -> Uses {
        Uses { quiet: stream::QUIET, ..self }
    }

    /// The same of a call that changes whether reads wait.
    pub(crate) fn changes_waits(self) -> Uses {
        Uses { quiet: stream::QUIET | stream::WAITS, ..self }
    }

    /// The same of a call that connects two ends.
    pub(crate) fn connects(self) -> Uses {
        Uses { quiet: stream::QUIET | stream::CONNECTS, ..self }
    }

    /// The detail of its record, if it is on no stream.
    pub(crate) fn detail(&self) -> u8 {
        self.quiet
    }

    pub(crate) fn is_every(&self) -> bool {
        self.every || self.list.len() > MOST
    }

    /// Whether threads of the process may see what the call does, and not only others.
    pub(crate) fn is_inside(&self) -> bool {
        self.every || self.list.iter().any(|&(channel, _)| channel != OUTSIDE)
    }

    /// Whether the call touches no channel.
    pub(crate) fn is_empty(&self) -> bool {
        !self.every && self.list.is_empty()
    }

    pub(crate) fn add(&mut self, channel: u32, direction: u32) {
        match self.list.iter_mut().find(|(known, _)| *known == channel) {
            Some((_, known)) if *known != direction => *known = direction::BOTH,
            Some(_) => {}
            None => self.list.push((channel, direction)),
        }
    }

    pub(crate) fn join(&mut self, other: &Uses) {
        self.every |= other.every;
        other.list.iter().for_each(|&(channel, direction)| self.add(channel, direction));
    }

    /// As the recording has them, in order, each channel as what `find` says that it is a part of.
    pub(super) fn words(&self, find: impl Fn(u32) -> u32) -> Vec<u64> {
        let mut found = Uses::default();
        self.list.iter().for_each(|&(channel, direction)| found.add(find(channel), direction));
        let mut words: Vec<u64> = found
            .list
            .iter()
            .map(|&(channel, direction)| u64::from(channel) | u64::from(direction) << 32)
            .collect();
        words.sort_unstable();
        words
    }
}
