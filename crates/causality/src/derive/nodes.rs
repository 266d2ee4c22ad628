//! Numbers the events that a derivation is about.

use std::collections::BTreeSet;

use foretrace_trace::{EventId, ThreadId, Trace};

/// An event that some rule mentions. Their order is the recorded one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Node(pub(super) u32);

impl Node {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All nodes, by event and by thread.
pub(super) struct Nodes {
    events: Vec<EventId>,
    /// The node of each event that has one.
    of_event: Vec<Node>,
    threads: Vec<ThreadId>,
    /// The place of each node among those of its thread.
    ranks: Vec<u32>,
    of_thread: Vec<Vec<Node>>,
}

impl Nodes {
    pub(super) fn new(trace: &Trace, events: BTreeSet<EventId>) -> Self {
        let events: Vec<EventId> = events.into_iter().collect();
        let threads: Vec<ThreadId> = events.iter().map(|&event| trace.thread_of(event)).collect();
        let mut of_thread = vec![Vec::new(); trace.threads().len()];
        let mut ranks = Vec::with_capacity(events.len());
        for (index, thread) in threads.iter().enumerate() {
            let list: &mut Vec<Node> = &mut of_thread[thread.index()];
            ranks.push(list.len() as u32);
            list.push(Node(index as u32));
        }
        let mut of_event = vec![Node(u32::MAX); trace.len()];
        for (index, event) in events.iter().enumerate() {
            of_event[event.index()] = Node(index as u32);
        }
        Nodes { events, of_event, threads, ranks, of_thread }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn thread_count(&self) -> usize {
        self.of_thread.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.events.len() as u32).map(Node)
    }

    /// The node of an event that some rule mentions.
    pub(super) fn node(&self, event: EventId) -> Node {
        let node = self.of_event[event.index()];
        debug_assert!(node.index() < self.len(), "the event is mentioned");
        node
    }

    pub(super) fn event(&self, node: Node) -> EventId {
        self.events[node.index()]
    }

    pub(super) fn thread(&self, node: Node) -> usize {
        self.threads[node.index()].index()
    }

    pub(super) fn rank(&self, node: Node) -> u32 {
        self.ranks[node.index()]
    }

    /// The nodes of a thread in program order.
    pub(super) fn of_thread(&self, thread: usize) -> &[Node] {
        &self.of_thread[thread]
    }

    pub(super) fn next(&self, node: Node) -> Option<Node> {
        self.of_thread[self.thread(node)].get(self.rank(node) as usize + 1).copied()
    }

    /// Whether the first node is the second or precedes it in their thread.
    pub(super) fn is_up_to(&self, first: Node, second: Node) -> bool {
        first <= second && self.thread(first) == self.thread(second)
    }
}
