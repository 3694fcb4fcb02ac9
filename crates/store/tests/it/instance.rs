//! Whole instances: that they come back as they were and go on as they would have.

use proptest::{collection::vec, prelude::*};
use travertine_kernel::{
    Assignments, Command, Destination, Event, Instance, Modification, NodeId, Plan, Reach, TokenId,
    Turn, WaitId, Which, check, handle, replay, time::Timestamp,
};
use travertine_store::codec::{DecodeError, Flaw, decode_instance, encode_instance};
use travertine_testkit::block::block;

use crate::{shapes, strategy, try_decode};

pub(crate) fn encoded(instance: &Instance) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_instance(instance, &mut bytes).expect("no value is nested too deeply");
    bytes
}

/// The instance as it comes back from its bytes.
fn kept(instance: &Instance) -> Instance {
    let bytes = encoded(instance);
    let read = decode_instance(&bytes).unwrap_or_else(|error| panic!("{error}: {instance:#?}"));
    assert_eq!(&read, instance);
    // Equality does not look at the order of fields in values.
    assert_eq!(format!("{read:?}"), format!("{instance:?}"));
    assert_eq!(encoded(&read), bytes);
    read
}

/// What may happen next: work is done, or fails; someone sets a variable, or moves a token.
#[derive(Clone, Debug)]
enum Next {
    Complete(usize, Assignments),
    Fail(usize),
    Set(Assignments),
    Move(usize, usize),
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        6 => (any::<usize>(), strategy::assignments()).prop_map(|(at, it)| Next::Complete(at, it)),
        1 => any::<usize>().prop_map(Next::Fail),
        1 => strategy::assignments().prop_map(Next::Set),
        1 => any::<(usize, usize)>().prop_map(|(token, to)| Next::Move(token, to)),
    ]
}

fn command(next: Next, plan: &Plan, instance: &Instance) -> Option<Command> {
    let waits: Vec<WaitId> = instance.waits.keys().copied().collect();
    let pick = |at: usize| waits.get(at % waits.len().max(1)).copied();
    Some(match next {
        Next::Complete(at, variables) => Command::Complete { wait: pick(at)?, variables },
        Next::Fail(at) => Command::Fail {
            wait: pick(at)?,
            retries: 0,
            message: "no".to_owned(),
            variables: Vec::new(),
        },
        Next::Set(variables) => Command::Set { token: None, variables, reach: Reach::Layer },
        Next::Move(token, to) => {
            let tokens: Vec<TokenId> = instance.tokens.keys().copied().collect();
            let which = Which::Token(*tokens.get(token % tokens.len().max(1))?);
            let to = u32::try_from(to % plan.nodes.len()).expect("plans are small");
            let to = Destination::before(NodeId(to));
            Command::Modify { steps: vec![Modification::Move { which, to }] }
        }
    })
}

/// Asks the instance and what came back from its bytes, and compares them.
fn ask(plan: &Plan, instance: &mut Instance, command: Command) {
    let mut command = command;
    loop {
        let mut other = kept(instance);
        let turn = handle(plan, instance, Timestamp::default(), command.clone());
        let same = handle(plan, &mut other, Timestamp::default(), command);
        assert_eq!(turn, same);
        assert_eq!(&other, instance);
        match turn {
            Ok(Turn { unfinished: true, .. }) => command = Command::Continue,
            Ok(_) | Err(_) => break,
        }
    }
    kept(instance);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_instance_comes_back_at_any_time_and_goes_on_as_it_would_have(
        block in block(),
        turn_steps_max in prop_oneof![Just(10_000u32), 1..5u32],
        variables in strategy::assignments(),
        nexts in vec(next(), 0..30),
        cancel in any::<bool>(),
    ) {
        let mut plan = block.plan();
        plan.turn_steps_max = turn_steps_max;
        let mut instance = Instance::default();
        ask(&plan, &mut instance, Command::Start { at: Vec::new(), variables, caller: None });
        for next in nexts {
            let Some(command) = command(next, &plan, &instance) else { break };
            ask(&plan, &mut instance, command);
        }
        if cancel {
            ask(&plan, &mut instance, Command::Cancel);
        }
    }

    #[test]
    fn flipped_bits_do_no_harm(
        shape in any::<prop::sample::Index>(),
        flips in vec((any::<prop::sample::Index>(), 0_u8..8), 2..6),
    ) {
        let shapes = shapes();
        let (_, instance) = shape.get(&shapes);
        let mut bytes = encoded(instance);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        try_decode(&bytes);
    }
}

fn shapes() -> Vec<(&'static str, Instance)> {
    thread_local! {
        static SHAPES: Vec<(&'static str, Vec<Event>)> = shapes::all();
    }
    SHAPES.with(|it| it.iter().map(|(name, events)| (*name, replay(events))).collect())
}

#[test]
fn every_shape_comes_back() {
    for (_, instance) in shapes() {
        kept(&instance);
    }
}

#[test]
fn every_shape_survives_every_cut_and_every_flip() {
    for (name, instance) in shapes() {
        let bytes = encoded(&instance);
        for at in 0..bytes.len() {
            assert!(decode_instance(&bytes[..at]).is_err(), "{name} cut at {at}");
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(instance) = decode_instance(&bytes) {
                    check(&instance);
                }
                try_decode(&bytes);
            }
        }
    }
}

#[test]
fn what_does_not_fit_together_is_refused_with_what_it_is() {
    // Running, since 0, without a start or a caller, and nothing else.
    let bytes = [&[1, 1, 1, 0, 0, 0][..], &[0; 10]].concat();
    let error: DecodeError = decode_instance(&bytes).unwrap_err();
    assert!(matches!(error.flaw, Flaw::Unsound(_)), "{error}");
    assert_eq!(error.offset, bytes.len());
    assert_eq!(
        error.to_string(),
        "byte 16: 1 breaks the rule that what is running has the token of the process"
    );
}

#[test]
fn huge_announcements_cost_nothing() {
    const HUGE: [u8; 9] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let head = [1, 1, 1, 0, 0, 0, 0, 0, 0];
    for before in 0..7 {
        let bytes = [&head[..], &vec![0; before], &HUGE, &[0; 64]].concat();
        let error = decode_instance(&bytes).unwrap_err();
        assert!(matches!(error.flaw, Flaw::TooMany(_)), "{error}");
    }
}
