//! Laws of laying out, over graphs of all shapes.

use proptest::prelude::*;

use super::graph::{Arc, Graph, Laid, Port, Spot};
use crate::geometry::{Point, Rect};

/// An event, a gateway, a sub-process, a task.
fn spot(kind: usize, lane: usize) -> Spot {
    match kind {
        0 => Spot { width: 36.0, height: 36.0, slot: 80.0, below: 20.0, lane, ..Spot::default() },
        1 => {
            let corners = true;
            Spot { width: 50.0, height: 50.0, above: 18.0, lane, corners, ..Spot::default() }
        }
        2 => Spot { width: 300.0, height: 200.0, below: 40.0, lane, ..Spot::default() },
        _ => Spot { width: 100.0, height: 80.0, below: 40.0, lane, ..Spot::default() },
    }
}

const PORT: Port = Port { x: 60.0, reach: 18.0, name: 0.0 };

fn graphs() -> impl Strategy<Value = Graph> {
    (1_usize..14, 1_usize..4).prop_flat_map(|(count, lanes)| {
        let spot = (0..4_usize, 0..lanes).prop_map(|(kind, lane)| spot(kind, lane));
        let arc = (0..count, 0..count, any::<bool>(), 0..3_u8);
        let boxes = prop::collection::vec(spot, count);
        let arcs = prop::collection::vec(arc, 0..2 * count);
        (boxes, arcs).prop_map(move |(boxes, arcs)| {
            let arcs = arcs.into_iter().map(|(from, to, label, port)| Arc {
                from,
                to,
                label: if label { (40.0, 13.0) } else { (0.0, 0.0) },
                port: (port == 0 && boxes[from].height >= 80.0).then_some(PORT),
            });
            let arcs = arcs.collect();
            Graph { boxes, arcs, lanes }
        })
    })
}

fn parts(way: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    way.windows(2).map(|it| (it[0], it[1]))
}

/// A box with all that must stay free around it.
fn room(laid: &Laid, graph: &Graph, of: usize) -> Rect {
    let (rect, spot) = (laid.boxes[of], graph.boxes[of]);
    Rect { y: rect.y - spot.above, height: rect.height + spot.above + spot.below, ..rect }
}

/// Lines run along the axes and through no box.
fn run_clear(graph: &Graph) -> Result<(), TestCaseError> {
    let laid = graph.lay_out();
    for (id, arc) in graph.arcs.iter().enumerate() {
        prop_assert!(laid.ways[id].len() >= 2);
        for (from, to) in parts(&laid.ways[id]) {
            let (dx, dy) = ((from.x - to.x).abs(), (from.y - to.y).abs());
            prop_assert!(dx.min(dy) <= 0.5, "{arc:?} {:?}", laid.ways[id]);
            for (other, rect) in laid.boxes.iter().enumerate() {
                // Lines may touch their own boxes, but not go through them.
                let margin = if other == arc.from || other == arc.to { -1.0 } else { -0.01 };
                prop_assert!(
                    !rect.grown(margin).is_crossed(from, to),
                    "{arc:?} goes through {other}: {:?} {:?}",
                    laid.ways[id],
                    laid.boxes
                );
            }
        }
    }
    Ok(())
}

/// Lines that share no box do not lie on each other between layers.
fn keep_apart(graph: &Graph) -> Result<(), TestCaseError> {
    let laid = graph.lay_out();
    let risers = |id: usize| {
        parts(&laid.ways[id]).filter(|(from, to)| (from.y - to.y).abs() > 1.0).collect::<Vec<_>>()
    };
    for (one, first) in graph.arcs.iter().enumerate() {
        for (other, second) in graph.arcs.iter().enumerate().take(one) {
            let ends = [second.from, second.to];
            if ends.contains(&first.from) || ends.contains(&first.to) {
                continue;
            }
            for (from, to) in risers(one) {
                let top = from.y.min(to.y) + 1.0;
                let line = Rect::new(from.x - 1.0, top, 2.0, (from.y - to.y).abs() - 2.0);
                let lies = risers(other).into_iter().any(|(a, b)| line.is_crossed(a, b));
                prop_assert!(!lies, "{first:?} {second:?} {:?}", laid.ways);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_box_lies_on_another(graph in graphs()) {
        let laid = graph.lay_out();
        for one in 0..graph.boxes.len() {
            for other in 0..one {
                let rooms = (room(&laid, &graph, one), room(&laid, &graph, other));
                prop_assert!(!rooms.0.grown(-0.01).overlaps(rooms.1), "{one} {other} {laid:?}");
            }
        }
    }

    #[test]
    fn lines_run_along_the_axes_and_through_no_box(graph in graphs()) {
        run_clear(&graph)?;
    }

    #[test]
    fn lines_that_share_no_box_do_not_lie_on_each_other_between_layers(graph in graphs()) {
        keep_apart(&graph)?;
    }

    #[test]
    fn lines_begin_and_end_at_their_boxes(graph in graphs()) {
        let laid = graph.lay_out();
        for (arc, way) in graph.arcs.iter().zip(&laid.ways) {
            let touches = |rect: Rect, point: Point, reach: f64| {
                let around = Rect { height: rect.height + reach, ..rect };
                around.grown(0.6).is_crossed(point, point)
            };
            let reach = arc.port.map_or(0.0, |it| it.reach);
            prop_assert!(touches(laid.boxes[arc.from], way[0], reach), "{arc:?} {way:?}");
            prop_assert!(touches(laid.boxes[arc.to], way[way.len() - 1], reach), "{arc:?} {way:?}");
        }
    }

    #[test]
    fn boxes_keep_to_their_bands(graph in graphs()) {
        let laid = graph.lay_out();
        for (of, spot) in graph.boxes.iter().enumerate() {
            let (top, bottom) = laid.lanes[spot.lane];
            let room = room(&laid, &graph, of);
            prop_assert!(room.y >= top - 0.01 && room.bottom() <= bottom + 0.01, "{of} {laid:?}");
        }
    }

    #[test]
    fn the_same_graph_is_laid_out_alike(graph in graphs()) {
        prop_assert_eq!(format!("{:?}", graph.lay_out()), format!("{:?}", graph.lay_out()));
    }
}

fn graph(kinds: &[usize], arcs: &[(usize, usize, Option<Port>)]) -> Graph {
    let arcs = arcs.iter().map(|&(from, to, port)| Arc { from, to, port, ..Arc::default() });
    let arcs = arcs.collect();
    Graph { boxes: kinds.iter().map(|kind| spot(*kind, 0)).collect(), arcs, lanes: 1 }
}

#[test]
fn turns_too_small_to_be_drawn_do_not_add_up() {
    let port = Some(PORT);
    let arcs = [(1, 0, None), (2, 3, port), (0, 2, None), (3, 1, port), (0, 1, None), (1, 0, None)];
    run_clear(&graph(&[0, 1, 2, 2], &arcs)).unwrap();
}

#[test]
fn no_line_lies_on_one_from_a_box_to_itself() {
    let arcs = [(2, 0, None), (2, 3, None), (1, 1, None)];
    keep_apart(&graph(&[3, 1, 1, 0], &arcs)).unwrap();
}

#[test]
fn what_follows_stands_to_the_right_and_in_line() {
    let spot = Spot { width: 100.0, height: 80.0, ..Spot::default() };
    let arc = |from, to| Arc { from, to, ..Arc::default() };
    let graph = Graph { boxes: vec![spot; 3], arcs: vec![arc(0, 1), arc(1, 2)], lanes: 1 };
    let laid = graph.lay_out();
    for pair in laid.boxes.windows(2) {
        assert!(pair[0].right() + 40.0 < pair[1].x);
        assert!((pair[0].y - pair[1].y).abs() < 0.01);
    }
    assert!(laid.ways.iter().all(|it| it.len() == 2));
}
