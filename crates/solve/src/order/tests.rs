use foretrace_testing::Random;

use super::*;

/// Two chains of three nodes, recorded one after the other, and the edges of a test.
fn two_chains() -> (Order, [Node; 3], [Node; 3]) {
    let mut order = Order::default();
    let mut chain = |base: u64| {
        let nodes = [0, 1, 2].map(|at| order.add_node(base + at));
        order.link_chain(nodes[0], None, Some(nodes[1]));
        order.link_chain(nodes[2], Some(nodes[1]), None);
        nodes
    };
    let (a, b) = (chain(0), chain(10));
    (order, a, b)
}

fn put(order: &mut Order, from: Node, to: Node, literal: i32) -> Option<EdgeId> {
    let edge = order.add_edge();
    order.insert(edge, from, to, Reason::Literal(literal)).then_some(edge)
}

fn assert_labels_fit(order: &Order) {
    for (at, place) in order.places.iter().enumerate() {
        if place.next != NONE {
            assert!(place.label < order.label(place.next));
        }
        let mut edge = place.first_out;
        while edge != NONE {
            let record = &order.edges[edge as usize];
            assert_eq!(record.from as usize, at);
            assert!(place.label < order.label(record.to));
            edge = record.next_out;
        }
    }
}

#[test]
fn an_edge_against_the_labels_reorders() {
    let (mut order, a, b) = two_chains();
    assert!(put(&mut order, b[1], a[1], 7).is_some());
    assert_labels_fit(&order);
    assert_eq!(order.reorders(), 1);
}

#[test]
fn a_cycle_is_refused_and_explained_with_few_literals() {
    let (mut order, a, b) = two_chains();
    let c = order.add_node(20);
    // Two ways from a0 to b2: over c with two literals, or directly with one.
    put(&mut order, a[0], c, 1).unwrap();
    put(&mut order, c, b[2], 2);
    put(&mut order, a[1], b[1], 3).unwrap();
    assert!(put(&mut order, b[2], a[0], 4).is_none());
    assert_eq!(order.cycle(), [3]);
    assert_labels_fit(&order);
}

#[test]
fn root_edges_cost_nothing_but_are_named() {
    let (mut order, a, b) = two_chains();
    let c = order.add_node(5);
    put(&mut order, a[0], b[2], 1).unwrap();
    for (from, to, literal) in [(a[0], c, 2), (c, b[0], 3)] {
        let edge = order.add_edge();
        assert!(order.insert(edge, from, to, Reason::Root(literal)));
    }
    assert!(put(&mut order, b[2], a[0], 4).is_none());
    assert_eq!(order.cycle(), [3, 2]);
}

#[test]
fn home_again_after_removal() {
    let (mut order, a, b) = two_chains();
    let edge = put(&mut order, b[2], a[0], 1).unwrap();
    assert!(order.label(b[0].index() as u32) < order.label(a[0].index() as u32));
    order.remove(edge);
    order.go_home();
    assert_labels_fit(&order);
    for (at, place) in order.places.iter().enumerate() {
        assert_eq!(place.label, Label { home: place.home, owner: at as u32 });
    }
}

#[test]
fn equal_homes_are_no_harm() {
    let mut order = Order::default();
    let (a, b) = (order.add_node(3), order.add_node(3));
    let edge = put(&mut order, b, a, 1).unwrap();
    assert!(put(&mut order, a, b, -1).is_none());
    order.remove(edge);
    assert!(put(&mut order, a, b, -1).is_some());
}

#[test]
#[should_panic(expected = "homes must increase along a chain")]
fn a_chain_against_the_homes_is_refused() {
    let mut order = Order::default();
    let (a, b) = (order.add_node(3), order.add_node(2));
    order.link_chain(b, Some(a), None);
}

/// Random insertions and removals against reachability by plain search.
#[test]
fn agrees_with_reachability() {
    let mut random = Random::new(42);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..200 {
        let (mut order, a, b) = two_chains();
        let mut nodes = [a, b].concat();
        nodes.extend((0..3).map(|at| order.add_node(4 * at + 1)));
        let hard = [(a[0], a[1]), (a[1], a[2]), (b[0], b[1]), (b[1], b[2])];
        let mut inside: Vec<(Node, Node, EdgeId)> = Vec::new();
        for _ in 0..60 {
            let (from, to) = (nodes[random.below(9)], nodes[random.below(9)]);
            if random.one_in(4) {
                if let Some((_, _, edge)) = inside.pop() {
                    order.remove(edge);
                }
            } else if from != to {
                let edges: Vec<_> = inside.iter().map(|&(f, t, _)| (f, t)).chain(hard).collect();
                let mut reached = vec![to];
                let mut cursor = 0;
                while cursor < reached.len() {
                    for &(f, t) in &edges {
                        if f == reached[cursor] && !reached.contains(&t) {
                            reached.push(t);
                        }
                    }
                    cursor += 1;
                }
                let result = put(&mut order, from, to, 1);
                assert_eq!(result.is_none(), reached.contains(&from));
                match result {
                    Some(edge) => {
                        inside.push((from, to, edge));
                        accepted += 1;
                    }
                    None => refused += 1,
                }
            }
            assert_labels_fit(&order);
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} {refused}");
}
