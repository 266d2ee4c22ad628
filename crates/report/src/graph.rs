//! The events that matter to an explanation, and what orders them, in the language of Graphviz.
//!
//! **Invariant.** Equal graphs are written as equal bytes.

use std::io::{self, Write};

/// Events and what orders them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// What it is about.
    pub title: String,
    /// The threads that matter.
    pub threads: Vec<ThreadNodes>,
    /// The edges, in the order in which they are written.
    pub edges: Vec<Edge>,
}

/// The events of a thread that matter, in program order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadNodes {
    /// The thread.
    pub name: String,
    /// Its events.
    pub nodes: Vec<Node>,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number.
    pub event: u32,
    /// What it does, and where.
    pub label: String,
    /// Whether the candidate names it.
    pub named: bool,
    /// Whether the contradiction is about it.
    pub contradicted: bool,
}

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// In the thread.
    Program,
    /// By fork, join, barrier or lifetime, or because a read needs it.
    Seed,
    /// It follows from other orders.
    Induced,
    /// No order: the two exclude each other, or one is of the kind that gives the other what it
    /// needs.
    Related,
}

/// One event before another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier event.
    pub from: u32,
    /// The later one.
    pub to: u32,
    /// Why.
    pub kind: EdgeKind,
    /// The rule, in words.
    pub label: String,
    /// Whether it is part of what contradicts the candidate.
    pub on_cycle: bool,
}

/// Writes the graph for Graphviz.
///
/// # Errors
/// Those of the writer.
pub fn write_dot(graph: &Graph, writer: &mut dyn Write) -> io::Result<()> {
    writeln!(writer, "digraph explanation {{")?;
    writeln!(writer, "  label={}; labelloc=t;", quoted(&graph.title))?;
    writeln!(writer, "  node [shape=box, fontname=\"monospace\"];")?;
    for (number, thread) in graph.threads.iter().enumerate() {
        writeln!(writer, "  subgraph cluster_{number} {{")?;
        writeln!(writer, "    label={};", quoted(&thread.name))?;
        for node in &thread.nodes {
            let named = if node.named { ", style=filled, fillcolor=lightyellow" } else { "" };
            let red = if node.contradicted { ", color=red" } else { "" };
            let label = quoted(&node.label);
            writeln!(writer, "    e{} [label={label}{named}{red}];", node.event)?;
        }
        writeln!(writer, "  }}")?;
    }
    for edge in &graph.edges {
        let style = match edge.kind {
            EdgeKind::Program => "solid",
            EdgeKind::Seed => "bold",
            EdgeKind::Induced => "dashed",
            EdgeKind::Related => "dotted",
        };
        let mut attributes = format!("style={style}");
        if !edge.label.is_empty() {
            attributes.push_str(&format!(", label={}", quoted(&edge.label)));
        }
        if edge.kind == EdgeKind::Related {
            attributes.push_str(", constraint=false");
        }
        if edge.on_cycle {
            attributes.push_str(", color=red, fontcolor=red");
        }
        writeln!(writer, "  e{} -> e{} [{attributes}];", edge.from, edge.to)?;
    }
    writeln!(writer, "}}")
}

/// A string as the language writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn labels_are_escaped() {
        let node = |event, label: &str| {
            let label = label.to_string();
            Node { event, label, named: event == 1, contradicted: event == 1 }
        };
        let graph = Graph {
            title: "a \"race\"".to_string(),
            threads: vec![ThreadNodes {
                name: "t\\1".to_string(),
                nodes: vec![node(0, "take m\na.c:1"), node(1, "write x")],
            }],
            edges: vec![
                Edge {
                    from: 0,
                    to: 1,
                    kind: EdgeKind::Program,
                    label: String::new(),
                    on_cycle: false,
                },
                Edge {
                    from: 1,
                    to: 0,
                    kind: EdgeKind::Induced,
                    label: "m".to_string(),
                    on_cycle: true,
                },
            ],
        };
        let mut bytes = Vec::new();
        write_dot(&graph, &mut bytes).unwrap();
        expect![[r#"
            digraph explanation {
              label="a \"race\""; labelloc=t;
              node [shape=box, fontname="monospace"];
              subgraph cluster_0 {
                label="t\\1";
                e0 [label="take m\na.c:1"];
                e1 [label="write x", style=filled, fillcolor=lightyellow, color=red];
              }
              e0 -> e1 [style=solid];
              e1 -> e0 [style=dashed, label="m", color=red, fontcolor=red];
            }
        "#]]
        .assert_eq(&String::from_utf8(bytes).unwrap());
    }
}
