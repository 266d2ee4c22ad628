//! Calls that block until somebody feeds them.
//!
//! **Computes.** For each source the calls that wait on it, each with the calls that feed it, and
//! the calls that give on the source itself and so end every wait on it.
//!
//! **Follows.** `docs/theory.md`, section 2, *waiting calls*.
//!
//! **Cost.** Linear in the channels that calls name; for each call on every channel, one entry for
//! each waiting call.

use rustc_hash::FxHashMap;

use foretrace_trace::{Awaited, ChannelId, Channels, EventId, Op, Trace, ops};

/// The calls that wait.
#[derive(Debug, Default)]
pub struct WaitingCalls {
    sources: Vec<Source>,
    /// Which call of which source a thread is in that is at this point.
    points: FxHashMap<EventId, (usize, usize)>,
}

/// What calls wait on.
#[derive(Debug)]
pub struct Source {
    /// Its channel.
    pub channel: ChannelId,
    /// The calls that wait on it, in recorded order of their enters.
    pub calls: Vec<WaitingCall>,
    /// The enters of the calls that give on it.
    pub closers: Vec<EventId>,
}

/// A call that waits.
#[derive(Debug)]
pub struct WaitingCall {
    /// Where it begins.
    pub enter: EventId,
    /// Where it ends, unless it never does.
    pub leave: Option<EventId>,
    /// The enters of the other calls that give on its piece.
    pub feeds: Vec<EventId>,
}

impl WaitingCalls {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut waiting = WaitingCalls::default();
        if (0..trace.channel_list_count()).all(|on| trace.awaited(on.into()).is_none()) {
            return waiting;
        }
        let mut sources: FxHashMap<ChannelId, usize> = FxHashMap::default();
        let mut pieces: FxHashMap<ChannelId, Vec<(usize, usize)>> = FxHashMap::default();
        let mut open: Vec<Vec<Option<(usize, usize)>>> = vec![Vec::new(); trace.threads().len()];
        for (event, op) in trace.other_ops() {
            let open = &mut open[trace.thread_of(event).index()];
            match op {
                Op::EnterCall { on, .. } => {
                    let at = trace.awaited(on).map(|Awaited { source, piece }| {
                        let source = *sources.entry(source).or_insert_with(|| {
                            let (calls, closers) = (Vec::new(), Vec::new());
                            waiting.sources.push(Source { channel: source, calls, closers });
                            waiting.sources.len() - 1
                        });
                        let calls = &mut waiting.sources[source].calls;
                        calls.push(WaitingCall { enter: event, leave: None, feeds: Vec::new() });
                        let at = (source, calls.len() - 1);
                        if let Some(piece) = piece {
                            pieces.entry(piece).or_default().push(at);
                        }
                        at
                    });
                    open.push(at);
                }
                Op::LeaveCall => {
                    if let Some(Some((source, at))) = open.pop() {
                        waiting.sources[source].calls[at].leave = Some(event);
                    }
                }
                ops!(memory object data sync mark) => {}
            }
        }
        waiting.find_feeds(trace, &sources, &pieces);
        waiting.find_points(trace);
        waiting
    }

    fn find_feeds(
        &mut self,
        trace: &Trace,
        sources: &FxHashMap<ChannelId, usize>,
        pieces: &FxHashMap<ChannelId, Vec<(usize, usize)>>,
    ) {
        for (enter, op) in trace.other_ops() {
            let Op::EnterCall { on, .. } = op else { continue };
            let Channels::Only(list) = trace.channels_of(on) else {
                self.sources.iter_mut().for_each(|source| source.closers.push(enter));
                continue;
            };
            for (channel, _) in list.iter().filter(|(_, way)| way.gives()) {
                if let Some(&source) = sources.get(channel) {
                    self.sources[source].closers.push(enter);
                }
                for &(source, at) in pieces.get(channel).into_iter().flatten() {
                    let call = &mut self.sources[source].calls[at];
                    if call.enter != enter {
                        call.feeds.push(enter);
                    }
                }
            }
        }
    }

    fn find_points(&mut self, trace: &Trace) {
        for (number, source) in self.sources.iter().enumerate() {
            for (at, call) in source.calls.iter().enumerate() {
                let pending = || Some(call.enter).filter(|&enter| trace.next(enter).is_none());
                if let Some(point) = call.leave.or_else(pending) {
                    self.points.insert(point, (number, at));
                }
            }
        }
    }

    /// The waiting call that a thread is in which is next at this leave, or behind this enter as
    /// its last event; and its source.
    pub fn at(&self, point: EventId) -> Option<(usize, &Source, &WaitingCall)> {
        let &(source, at) = self.points.get(&point)?;
        Some((source, &self.sources[source], &self.sources[source].calls[at]))
    }
}
