//! The threads of an engine, step by step, in every order.
//!
//! A [`World`] has what the threads of an engine have: shards with their queues, the ways between threads,
//! a store. Nothing in it waits: who would have to is not among those who may go on. [`explore`] takes all
//! orders in which a thread that could go on is held up a few times; a thread that waits gives way as often as it
//! likes. An order in which nobody may go on before all have ended is a deadlock. No time passes, so nothing
//! may depend on a wait that runs out.

mod world;

use std::{sync::Arc, time::Duration};

use world::{Act, Shape, Trick, World};

use crate::{
    Definitions, Engine,
    engine::{File, Options, one_task},
};

/// Which way an order went wherever several could go on, and how many could.
#[derive(Default)]
struct Order {
    turns: Vec<(usize, usize)>,
    next: usize,
}

impl Order {
    fn choose(&mut self, among: usize) -> usize {
        if self.next == self.turns.len() {
            self.turns.push((0, among));
        }
        let (chosen, could) = self.turns[self.next];
        assert_eq!(could, among, "the same turns lead to the same place");
        self.next += 1;
        chosen
    }

    /// The next order, if there is one.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((chosen, among)) = self.turns.pop() {
            if chosen + 1 < among {
                self.turns.push((chosen + 1, among));
                return true;
            }
        }
        false
    }
}

/// Takes every order in which somebody who could go on is held up at most `held_up_max` times. Answers how
/// many there were.
fn explore(
    definitions: &Arc<Definitions>,
    shape: Shape,
    actors: &[&[Act]],
    held_up_max: usize,
) -> usize {
    let mut order = Order::default();
    for orders in 1.. {
        let world = World::new(definitions, shape, actors);
        run(world, shape, &mut |among| order.choose(among), held_up_max);
        if !order.advance() {
            return orders;
        }
    }
    unreachable!("an order is the last one");
}

/// Takes so many orders by chance, the same ones each time.
fn try_some(definitions: &Arc<Definitions>, shape: Shape, actors: &[&[Act]], orders: u64) {
    for seed in 1..=orders {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut choose = |among: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("it is small") % among
        };
        run(World::new(definitions, shape, actors), shape, &mut choose, usize::MAX);
    }
}

fn run(mut world: World, shape: Shape, choose: &mut dyn FnMut(usize) -> usize, held_up_max: usize) {
    let mut steps = Vec::new();
    let mut held_up = 0;
    while !world.is_over() {
        let mut able = world.able();
        assert!(!able.is_empty(), "deadlock after {steps:?}, {shape:?}");
        assert!(steps.len() < 1_000, "no end in sight after {steps:?}, {shape:?}");
        let last = steps.last().copied();
        if let Some(here) = able.iter().position(|it| Some(*it) == last) {
            able.swap(0, here);
            if held_up == held_up_max {
                able.truncate(1);
            }
        }
        let chosen = if able.len() == 1 { 0 } else { choose(able.len()) };
        held_up += usize::from(chosen > 0 && Some(able[0]) == last);
        steps.push(able[chosen]);
        world.step(able[chosen]);
    }
    if let Err(wrong) = world.check(shape) {
        panic!("{wrong} after {steps:?}, {shape:?}");
    }
}

/// Processes `p`, which waits, and `q`, which sends a message to whichever shard keeps its name.
fn definitions() -> Arc<Definitions> {
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
        targetNamespace="t"><message id="m" name="news"/><process id="q" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
        <intermediateThrowEvent id="t"><messageEventDefinition messageRef="m"/>
        </intermediateThrowEvent><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
        <endEvent id="e"/></process></definitions>"#;
    let sends = File { name: "q.bpmn".to_owned(), body: model.into() };
    let engine = Engine::in_memory(Options::default()).expect("an engine");
    engine.deploy(&[one_task(), sends]).expect("they are deployed");
    engine.definitions()
}

#[test]
fn no_order_of_deciding_writing_and_storing_rows_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let starts: &[Act] = &[Start("p", 0), Start("p", 0), Start("p", 0)];
    let mut orders = 0;
    for (batch_entries, changed_max) in [(1, 1), (2, 2), (4_096, 1)] {
        let shape = Shape::new(1, batch_entries, changed_max);
        orders += explore(&definitions, shape, &[starts, &[Flush, Stop]], 1);
    }
    assert!(orders > 1_000, "only {orders} orders");
}

#[test]
fn no_order_of_two_shards_in_one_lane_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let shape = Shape { lanes: 1, ..Shape::new(2, 1, 1) };
    let orders =
        explore(&definitions, shape, &[&[Start("p", 0), Start("q", 1)], &[Flush, Stop]], 1);
    assert!(orders > 300, "only {orders} orders");
}

#[test]
fn no_order_by_chance_of_many_requests_to_two_shards_ends_in_a_deadlock() {
    use Act::{Flush, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Start("q", 1), Start("p", 0), Start("q", 0)];
    let other: &[Act] = &[Start("p", 1), Start("q", 1), Flush, Start("p", 1), Start("q", 0), Stop];
    for (batch_entries, changed_max) in [(1, 1), (1, 2), (2, 3), (4_096, 1), (4_096, 4)] {
        for lanes in [1, 2] {
            let shape = Shape { lanes, ..Shape::new(2, batch_entries, changed_max) };
            try_some(&definitions, shape, &[one, other], 300);
        }
    }
}

#[test]
fn a_shard_that_is_lost_holds_up_no_other_one_and_comes_again_unless_somebody_has_it() {
    use Act::{Flush, Named, Start, Stop};
    let definitions = definitions();
    let one: &[Act] = &[Start("q", 0), Start("p", 0), Named("q", 1), Start("p", 0)];
    let other: &[Act] =
        &[Named("p", 1), Flush, Start("p", 1), Start("q", 0), Named("p", 1), Flush, Stop];
    let of = |written: bool| [Trick::Unknown(written), Trick::Doubted(written)];
    let tricks = [Trick::Stolen, Trick::Fails, Trick::Panics];
    for trick in tricks.into_iter().chain(of(true)).chain(of(false)) {
        for (batch_entries, changed_max) in [(1, 1), (2, 3), (4_096, 4)] {
            for (lanes, patience) in [(1, 1), (2, 1), (1, 0), (2, 0)] {
                let shape = Shape {
                    lanes,
                    trick: Some((trick, 1)),
                    patience: Duration::from_hours(patience),
                    ..Shape::new(2, batch_entries, changed_max)
                };
                try_some(&definitions, shape, &[one, other], 40);
            }
        }
    }
}
