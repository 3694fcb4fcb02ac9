//! Random processes made of blocks do what an oracle without tokens says.

use proptest::prelude::*;
use travertine_scenario::Mode;
use travertine_value::Value;

use super::build::*;

/// Part of a process, with one way in and one way out.
#[derive(Clone, Debug)]
enum Block {
    /// Adds to `x`, or multiplies it, and takes some time.
    Task {
        add: i64,
        times: i64,
        takes: i64,
    },
    /// Refuses an `x` that is as large, at one of its three points.
    Guarded {
        below: i64,
        at: &'static str,
        add: i64,
    },
    /// Adds to `d`, and is undone by what does not commute.
    Undone {
        add: i64,
        less: i64,
    },
    /// Adds to `x` the first from 0 on, but one, that all allow.
    Chosen {
        most: i64,
        but: i64,
    },
    Seq(Vec<Self>),
    /// Both, of which `x` is defined after only where they agree; data is added to by all.
    Par(Box<Self>, Box<Self>),
    /// The first where `x` is below, else the second.
    Xor {
        below: i64,
        yes: Box<Self>,
        no: Box<Self>,
    },
    Sub(Box<Self>),
    /// What is inside must keep `x` below; a failure adds to `x` and goes on.
    Caught {
        below: i64,
        inside: Box<Self>,
        more: i64,
    },
    /// Adds so often to `d`.
    Each {
        count: i64,
        sequential: bool,
        add: i64,
    },
    /// Adds to `x` until it is as large, so often at most.
    Loop {
        until: i64,
        most: i64,
        add: i64,
    },
}

fn block() -> impl Strategy<Value = Block> {
    let leaf = prop_oneof![
        (-3..5_i64, 1..3_i64, 0..4_i64).prop_map(|(add, times, takes)| Block::Task {
            add,
            times,
            takes
        }),
        (-5..20_i64, prop::sample::select(&["entry", "completion", "exit"][..]), -2..6_i64)
            .prop_map(|(below, at, add)| Block::Guarded { below, at, add }),
        (1..5_i64, -3..3_i64).prop_map(|(add, less)| Block::Undone { add, less }),
        (0..5_i64, -1..4_i64).prop_map(|(most, but)| Block::Chosen { most, but }),
        (1..4_i64, any::<bool>(), 1..4_i64).prop_map(|(count, sequential, add)| Block::Each {
            count,
            sequential,
            add
        }),
        (0..12_i64, 1..4_i64, 1..5_i64).prop_map(|(until, most, add)| Block::Loop {
            until,
            most,
            add
        }),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Block::Seq),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Block::Par(a.into(), b.into())),
            (-2..9_i64, inner.clone(), inner.clone()).prop_map(|(below, a, b)| Block::Xor {
                below,
                yes: a.into(),
                no: b.into()
            }),
            inner.clone().prop_map(|it| Block::Sub(it.into())),
            // What is done on both sides of it is undone, for what comes last hardly ever holds.
            (1..5_i64, -3..3_i64, -9..3_i64, inner.clone()).prop_map(|(add, less, below, it)| {
                let inside = vec![
                    Block::Undone { add, less },
                    it,
                    Block::Undone { add: 1, less: less - 1 },
                    Block::Guarded { below, at: "completion", add: 0 },
                ];
                Block::Caught { below: 20, inside: Block::Seq(inside).into(), more: 1 }
            }),
            (0..15_i64, inner, -3..3_i64).prop_map(|(below, it, more)| Block::Caught {
                below,
                inside: it.into(),
                more
            }),
        ]
    })
}

/// What a token knows: `x`, and the time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    x: Option<i64>,
    time: i64,
}

/// What all tokens share.
#[derive(Debug, Default)]
struct Shared {
    d: i64,
    /// What was counted when tasks were left.
    counted: i64,
    /// What can be undone in the scopes that are open, the innermost last: what is taken from twice `d`.
    undo: Vec<Vec<i64>>,
}

impl Shared {
    /// The innermost scope fails.
    fn undo(&mut self) {
        for less in self.undo.pop().unwrap_or_default().into_iter().rev() {
            self.d = self.d * 2 - less;
        }
    }

    /// The innermost scope is done, and can be undone with what is around it, or it fails.
    fn close(&mut self, is_done: bool) {
        if !is_done {
            return self.undo();
        }
        let done = self.undo.pop().unwrap_or_default();
        if let Some(around) = self.undo.last_mut() {
            around.extend(done);
        }
    }
}

/// How a path ends before its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Fails(Known),
    /// Nobody can choose.
    Waits,
}

/// How much each of the status attributes that a task declares counts.
const WEIGHT: i64 = 3;

/// What a block makes of it. `limits` are the restrictions around.
fn oracle(block: &Block, at: Known, limits: &[i64], all: &mut Shared) -> Result<Known, Ends> {
    let checked = |at: Known, limits: &[i64]| {
        let holds = limits.iter().all(|below| at.x.is_some_and(|x| x < *below));
        if holds { Ok(at) } else { Err(Ends::Fails(at)) }
    };
    match block {
        Block::Task { add, times, takes } => {
            checked(at, limits)?;
            let x = at.x.map(|x| (x + add) * times);
            let after = checked(Known { x, time: at.time + takes }, limits)?;
            // It counts what came in.
            all.counted += WEIGHT * at.x.unwrap_or(0);
            Ok(after)
        }
        Block::Guarded { below, at: point, add } => {
            checked(at, limits)?;
            if *point == "entry" {
                checked(at, &[*below])?;
            }
            let after = checked(Known { x: at.x.map(|x| x + add), ..at }, limits)?;
            if *point == "entry" { Ok(after) } else { checked(after, &[*below]) }
        }
        Block::Undone { add, less } => {
            checked(at, limits)?;
            all.d += add;
            all.undo.last_mut().expect("a scope is open").push(*less);
            Ok(at)
        }
        Block::Chosen { most, but } => {
            checked(at, limits)?;
            let after = |y: i64| Known { x: at.x.map(|x| x + y), ..at };
            let allowed = |y: &i64| y != but && checked(after(*y), limits).is_ok();
            (0..=*most).find(allowed).map(after).ok_or(Ends::Waits)
        }
        Block::Seq(parts) => parts.iter().try_fold(at, |at, it| oracle(it, at, limits, all)),
        Block::Par(a, b) => {
            let (a, b) = (oracle(a, at, limits, all)?, oracle(b, at, limits, all)?);
            let x = match (a.x, b.x) {
                (Some(a), Some(b)) => (a == b).then_some(a),
                (a, b) => a.or(b),
            };
            Ok(Known { x, time: a.time.max(b.time) })
        }
        Block::Xor { below, yes, no } => {
            let taken = if at.x.is_some_and(|x| x < *below) { yes } else { no };
            oracle(taken, at, limits, all)
        }
        Block::Sub(inside) => {
            checked(at, limits)?;
            all.undo.push(Vec::new());
            let done = oracle(inside, at, limits, all).and_then(|at| checked(at, limits));
            all.close(done.is_ok());
            done
        }
        Block::Caught { below, inside, more } => {
            let inner: Vec<i64> = limits.iter().copied().chain([*below]).collect();
            let done = checked(at, &inner).and_then(|at| {
                all.undo.push(Vec::new());
                let done = oracle(inside, at, &inner, all).and_then(|at| checked(at, &inner));
                all.close(done.is_ok());
                done
            });
            match done {
                Err(Ends::Fails(failed)) => {
                    checked(failed, limits)?;
                    checked(Known { x: failed.x.map(|x| x + more), ..failed }, limits)
                }
                other => other,
            }
        }
        Block::Each { count, add, .. } => {
            checked(at, limits)?;
            all.d += count * add;
            Ok(at)
        }
        Block::Loop { until, most, add } => {
            let mut at = at;
            for _ in 0..*most {
                checked(at, limits)?;
                at.x = at.x.map(|x| x + add);
                checked(at, limits)?;
                if at.x.is_none_or(|x| x >= *until) {
                    break;
                }
            }
            Ok(at)
        }
    }
}

/// Writes a block behind a node, and says behind which node the next one goes.
fn write(block: &Block, behind: &str, next: &mut usize, text: &mut String) -> String {
    *next += 1;
    let id = format!("N{next}");
    let timed = |add: i64, times: i64, takes: i64| {
        operators(&[&format!("x := (x + {add}) * {times}"), &format!("timestamp += {takes}")])
    };
    match block {
        Block::Task { add, times, takes } => {
            let own = attributes(&[&format!("came{id} := x|integer maximize {WEIGHT}")]);
            *text += &task(&id, &status(&(own + &timed(*add, *times, *takes))));
        }
        Block::Guarded { below, at, add } => {
            let limit = restrictions(&[&format!("{at}|x < {below}")]);
            *text += &task(&id, &status(&(limit + &operators(&[&format!("x += {add}")]))));
        }
        Block::Undone { add, less } => {
            let (boundary, undoes) = (format!("{id}B"), format!("{id}U"));
            let attached = format!("boundaryEvent attachedToRef='{id}'");
            *text += &does(&id, &[&format!("d += {add}")]);
            *text += &node(&attached, &boundary, "", "<bpmn:compensateEventDefinition/>");
            *text += &node(
                "task isForCompensation='true'",
                &undoes,
                &status(&operators(&[&format!("d := d * 2 - {less}")])),
                "",
            );
            *text += &association(&boundary, &undoes);
        }
        Block::Chosen { most, but } => {
            let own = attributes(&[&format!("y{id}|integer")])
                + &restrictions(&[&format!("completion|y{id} != {but}")])
                + &operators(&[&format!("x += y{id}")])
                + &choices(&[&format!("0 <= y{id} <= {most}")]);
            *text += &node("task bpmnos:type='Decision'", &id, &status(&own), "");
        }
        Block::Seq(all) => {
            let mut last = behind.to_owned();
            for it in all {
                last = write(it, &last, next, text);
            }
            return last;
        }
        Block::Par(a, b) => {
            let join = format!("{id}J");
            *text += &node("parallelGateway", &id, "", "");
            for it in [a, b] {
                let last = write(it, &id, next, text);
                *text += &flow(&last, &join);
            }
            *text += &node("parallelGateway", &join, "", "");
            *text += &flow(behind, &id);
            return join;
        }
        Block::Xor { below, yes, no } => {
            let (join, a, b) = (format!("{id}J"), format!("{id}A"), format!("{id}B"));
            *text += &node(&format!("exclusiveGateway default='{id}-{b}'"), &id, "", "");
            *text += &node("exclusiveGateway", &join, "", "");
            for (first, it) in [(&a, yes), (&b, no)] {
                *text += &node("exclusiveGateway", first, "", "");
                let last = write(it, first, next, text);
                *text += &flow(&last, &join);
            }
            *text += &flow_if(&id, &a, &[&format!("x < {below}")]);
            *text += &flow(&id, &b);
            *text += &flow(behind, &id);
            return join;
        }
        Block::Sub(inside) => {
            let begin = format!("{id}S");
            let mut inner = node("startEvent", &begin, "", "");
            write(inside, &begin, next, &mut inner);
            *text += &node("subProcess", &id, "", &inner);
        }
        Block::Caught { below, inside, more } => {
            let (begin, caught, join) = (format!("{id}S"), format!("{id}B"), format!("{id}J"));
            let mut inner = node("startEvent", &begin, "", "");
            write(inside, &begin, next, &mut inner);
            let limit = status(&restrictions(&[&format!("x < {below}")]));
            *text += &node("subProcess", &id, &limit, &inner);
            *text += &node(
                &format!("boundaryEvent attachedToRef='{id}'"),
                &caught,
                "",
                "<bpmn:errorEventDefinition/>",
            );
            let mend = format!("{id}M");
            *text += &does(&mend, &[&format!("x += {more}")]);
            *text += &node("exclusiveGateway", &join, "", "");
            *text += &(flow(behind, &id) + &flow(&id, &join) + &chain(&[&caught, &mend, &join]));
            return join;
        }
        Block::Each { count, sequential, add } => {
            let own = status(&operators(&[&format!("d += {add}")]))
                + &parameters("loopCharacteristics", &[("cardinality", &count.to_string())]);
            let each =
                format!("<bpmn:multiInstanceLoopCharacteristics isSequential='{sequential}'/>");
            *text += &node("task", &id, &own, &each);
        }
        Block::Loop { until, most, add } => {
            let condition = format!("x < {until}");
            let own = status(&operators(&[&format!("x += {add}")]))
                + &parameters(
                    "loopCharacteristics",
                    &[("condition", &condition), ("maximum", &most.to_string())],
                );
            *text += &node("task", &id, &own, "<bpmn:standardLoopCharacteristics/>");
        }
    }
    *text += &flow(behind, &id);
    id
}

fn association(from: &str, to: &str) -> String {
    format!("<bpmn:association sourceRef='{from}' targetRef='{to}'/>")
}

/// Whether a block has in it something that can fail beside something else, so that what is left undone
/// depends on the order; the oracle has no word for that.
fn is_told(block: &Block, limits: bool) -> bool {
    match block {
        Block::Par(a, b) => {
            let fails = limits || can_fail(a) || can_fail(b);
            let order = can_be_undone(a) && can_be_undone(b);
            !fails && !order && is_told(a, limits) && is_told(b, limits)
        }
        Block::Seq(all) => all.iter().all(|it| is_told(it, limits)),
        Block::Xor { yes, no, .. } => is_told(yes, limits) && is_told(no, limits),
        Block::Sub(inside) => is_told(inside, limits),
        Block::Caught { inside, .. } => is_told(inside, true),
        _ => true,
    }
}

fn can_be_undone(block: &Block) -> bool {
    match block {
        Block::Undone { .. } => true,
        Block::Par(a, b) => can_be_undone(a) || can_be_undone(b),
        Block::Seq(all) => all.iter().any(can_be_undone),
        Block::Xor { yes, no, .. } => can_be_undone(yes) || can_be_undone(no),
        Block::Sub(inside) | Block::Caught { inside, .. } => can_be_undone(inside),
        _ => false,
    }
}

fn can_fail(block: &Block) -> bool {
    match block {
        Block::Guarded { .. } | Block::Caught { .. } | Block::Chosen { .. } => true,
        Block::Par(a, b) => can_fail(a) || can_fail(b),
        Block::Seq(all) => all.iter().any(can_fail),
        Block::Xor { yes, no, .. } => can_fail(yes) || can_fail(no),
        Block::Sub(inside) => can_fail(inside),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_random_process_does_what_the_oracle_says(
        block in block().prop_filter("the order decides what is left undone", |it| is_told(it, false)),
        x in 0..6_i64,
    ) {
        let mut all = Shared { undo: vec![Vec::new()], ..Shared::default() };
        let expected = oracle(&block, Known { x: Some(x), time: 0 }, &[], &mut all);
        if let Err(Ends::Fails(_)) = expected {
            all.undo();
        }
        let data = attributes(&["d|integer maximize 2"]);
        let mut inner = node("dataObject", "O", &data, "") + &start();
        write(&block, "S", &mut 0, &mut inner);
        let text = with(&["x|integer minimize 1"], &inner);
        let row = format!("I; P; x := {x}");
        let mut run = begun(&text, &[&row, "I; P; d := 0"], settings(Mode::First));
        prop_assert_eq!(run.run(), Ok(()));
        let instance = &run.instances()[0];
        let (outcome, known) = match expected {
            Ok(known) => ("completed", known),
            Err(Ends::Fails(known)) => ("failed", known),
            Err(Ends::Waits) => {
                prop_assert_eq!(instance.outcome.name(), "waiting");
                return Ok(());
            }
        };
        prop_assert_eq!(instance.outcome.name(), outcome);
        let attributes = run.attributes(instance);
        prop_assert_eq!(attributes.get("d").cloned(), Some(all.d.into()));
        prop_assert_eq!(attributes.get("x").cloned(), known.x.map(Value::from));
        prop_assert_eq!(attributes.get("timestamp").cloned(), Some(known.time.into()));
        // What a failed process carries is not counted, for it was not left.
        let last = if outcome == "completed" { known.x.unwrap_or(0) } else { 0 };
        prop_assert_eq!(run.objective(), (2 * all.d + all.counted - last).into());
    }
}
