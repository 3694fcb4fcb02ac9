//! The kernel's mechanisms, on plans made by hand. What BPMN means by them is tested in `testkit`.

use expect_test::expect;
use travertine_value::{EvalError, Program, VALUE_DEPTH_MAX, Value};

use crate::{
    Command, Ending, NodeId, Reach, Rejection, State,
    plan::{
        Boundary, Container, Count, Each, Element, Loop, Merge, OnEmpty, OutputItem, Payload,
        Repeat, Throw, Trigger,
    },
    testing::{Bench, Build, program, script, value, work},
};

const PROCESS: NodeId = NodeId(0);

#[test]
fn a_token_goes_from_node_to_node() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let charge = build.job(PROCESS, "charge");
    let end = build.add(PROCESS, "end", Element::Pass);
    build.chain(&[start, charge, end]);
    let mut bench = Bench::started(build.plan());
    bench.complete("charge");

    expect![["
        > start
        Started { at: Timestamp(0), start: [], caller: None }
        token 1 at process (Flow)
        ScopeOpened { scope: TokenId(1), node: NodeId(0), kind: Process, census: false }
        token 1 Busy
        token 2 at start (Flow)
        token 2 to charge
        wait 3: token 2 for job charge
        token 2 Busy
        > complete
        wait 3 closed
        token 2 to end
        token 2 gone, Done
        ScopeClosed { scope: TokenId(1) }
        token 1 gone, Done
        Finished { ending: Completed }
    "]]
    .assert_eq(&bench.trace);
}

#[test]
fn a_parallel_join_waits_for_every_branch() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let fork = build.add(PROCESS, "fork", Element::Parallel);
    let join = build.add(PROCESS, "join", Element::Parallel);
    let end = build.job(PROCESS, "after");
    build.flow(start, fork);
    for name in ["left", "right"] {
        let job = build.job(PROCESS, name);
        build.chain(&[fork, job, join]);
    }
    build.flow(join, end);
    let mut bench = Bench::started(build.plan());
    assert_eq!(bench.waiting(), ["left", "right"]);
    bench.complete("right");
    assert_eq!(bench.waiting(), ["left"]);
    bench.complete("left");
    assert_eq!(bench.waiting(), ["after"]);
    bench.complete("after");
    assert_eq!(bench.instance.ending(), Some(&Ending::Completed));
}

fn each(count: Count) -> Each {
    Each {
        sequential: false,
        count,
        item: Some("item".into()),
        index: None,
        output: Some(("results".into(), OutputItem::Variable("result".into()))),
        completion: None,
        on_empty: OnEmpty::Error,
        batch: None,
        behavior: Vec::new(),
    }
}

// covers: MULTI-T13a
#[test]
fn a_multi_instance_script_collects_its_results_in_order() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let review = build.add(
        PROCESS,
        "review",
        script(|it| {
            let item = it.get("item").unwrap();
            ("result".into(), format!("reviewed-{}", item.as_str().unwrap()).as_str().into())
        }),
    );
    let end = build.add(PROCESS, "end", Element::Pass);
    build.chain(&[start, review, end]);
    let items = value(|it| it.get("items").unwrap());
    build.node(review).repeat = Some(Box::new(Repeat::Each(each(Count::Collection(items)))));
    let mut bench = Bench::new(build.plan());
    let items: Vec<Value> = vec!["A".into(), "B".into(), "C".into()];
    bench.start(vec![("items".into(), items.into())]);

    assert!(bench.is_over(), "{}", bench.trace);
    let results: Vec<Value> = vec!["reviewed-A".into(), "reviewed-B".into(), "reviewed-C".into()];
    assert_eq!(bench.variable("results"), Some(results.into()));
    assert_eq!(bench.variable("result"), None);
}

#[test]
fn an_error_goes_to_the_nearest_boundary_and_takes_the_scope_with_it() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let sub = build.add(PROCESS, "sub", Element::SubProcess(Container::default()));
    let inner = build.start(sub, "inner");
    let other = build.job(sub, "other");
    let throw = build.add(
        sub,
        "throw",
        Element::Throw(vec![Throw::Error {
            code: Some("E1".into()),
            message: None,
            payload: Payload::default(),
        }]),
    );
    build.flow(inner, other);
    build.flow(inner, throw);
    let boundary = build.add(
        PROCESS,
        "caught",
        Element::Boundary(Boundary {
            attached_to: sub,
            triggers: vec![Trigger::Error {
                code: Some("E1".into()),
                code_variable: Some("code".into()),
                message_variable: None,
            }],
            all: false,
            interrupting: true,
            handler: None,
        }),
    );
    let repair = build.job(PROCESS, "repair");
    let after = build.job(PROCESS, "after");
    build.chain(&[start, sub, after]);
    build.chain(&[boundary, repair]);
    let bench = Bench::started(build.plan());
    assert_eq!(bench.waiting(), ["repair"]);
    assert_eq!(bench.variable("code"), Some("E1".into()));
}

#[test]
fn an_error_is_caught_by_a_boundary_event_that_has_no_token_yet_while_others_have() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let job = build.job(PROCESS, "job");
    build.chain(&[start, job]);
    let timer = |when: &str| Trigger::Timer {
        kind: travertine_value::time::Timer::Duration,
        when: Program::constant(when.into()),
    };
    let error = Trigger::Error { code: None, code_variable: None, message_variable: None };
    for (name, trigger) in [("good", timer("PT1H")), ("bad", timer("soon")), ("caught", error)] {
        let boundary = Element::Boundary(Boundary {
            attached_to: job,
            triggers: vec![trigger],
            all: false,
            interrupting: true,
            handler: None,
        });
        let boundary = build.add(PROCESS, name, boundary);
        let after = build.job(PROCESS, &format!("after-{name}"));
        build.chain(&[boundary, after]);
    }
    let bench = Bench::started(build.plan());
    assert_eq!(bench.waiting(), ["after-caught"]);
}

#[test]
fn an_error_nobody_catches_stays_as_an_incident_and_can_be_retried() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let fragile = build.add(
        PROCESS,
        "fragile",
        Element::Script {
            program: program(|it| match it.get("fixed") {
                Some(_) => Ok(travertine_value::Outcome::default()),
                None => Err(EvalError::Failed("not fixed".into())),
            }),
            result: None,
        },
    );
    build.chain(&[start, fragile]);
    let mut bench = Bench::started(build.plan());
    let (&token, _) = bench.instance.incidents.first_key_value().unwrap();
    assert_eq!(bench.at(token), "fragile");
    bench
        .ask(Command::Set {
            token: None,
            variables: vec![("fixed".into(), true.into())],
            reach: Reach::Layer,
        })
        .unwrap();
    bench.ask(Command::Retry { token }).unwrap();
    assert!(bench.is_over());
}

#[test]
fn a_fan_in_merges_branch_by_branch() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let fork = build.add(PROCESS, "fork", Element::FanOut);
    let join = build.add(PROCESS, "join", Element::FanIn(Merge::Last));
    let end = build.job(PROCESS, "after");
    build.flow(start, fork);
    for name in ["left", "right"] {
        let job = build.job(PROCESS, name);
        build.chain(&[fork, job, join]);
    }
    build.flow(join, end);
    let mut bench = Bench::started(build.plan());
    bench.complete_with("right", vec![("x".into(), "right".into())]);
    bench.complete_with("left", vec![("x".into(), "left".into())]);
    assert_eq!(bench.waiting(), ["after"]);
    assert_eq!(bench.variable("x"), Some("right".into()));
}

#[test]
fn completed_activities_are_undone_the_youngest_first() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let mut last = start;
    for name in ["hotel", "flight"] {
        let job = build.job(PROCESS, name);
        build.flow(last, job);
        let undo = build.add(PROCESS, &format!("undo-{name}"), work("undo"));
        build.node(undo).for_compensation = true;
        build.add(
            PROCESS,
            &format!("on-{name}"),
            Element::Boundary(Boundary {
                attached_to: job,
                triggers: vec![Trigger::Compensation],
                all: false,
                interrupting: false,
                handler: Some(undo),
            }),
        );
        last = job;
    }
    let throw = build.add(
        PROCESS,
        "throw",
        Element::Throw(vec![Throw::Compensation { activity: None, wait: true }]),
    );
    let after = build.job(PROCESS, "after");
    build.chain(&[last, throw, after]);
    let mut bench = Bench::started(build.plan());
    bench.complete("hotel");
    bench.complete("flight");
    assert_eq!(bench.waiting(), ["undo-flight"]);
    bench.complete("undo-flight");
    assert_eq!(bench.waiting(), ["undo-hotel"]);
    bench.complete("undo-hotel");
    assert_eq!(bench.waiting(), ["after"]);
    bench.complete("after");
    assert!(bench.is_over());
}

#[test]
fn a_long_run_is_cut_into_turns() {
    let mut build = Build::new();
    let start = build.start(PROCESS, "start");
    let each_one = build.add(PROCESS, "each", Element::Task);
    build.chain(&[start, each_one]);
    let mut it = each(Count::Cardinality(Program::constant(500.into())));
    it.output = None;
    build.node(each_one).repeat = Some(Box::new(Repeat::Each(it)));
    let mut plan = build.plan();
    plan.turn_steps_max = 10;
    let bench = Bench::started(plan);
    assert!(bench.is_over());
    assert!(bench.trace.matches("> continue").count() > 20);
}

#[test]
fn arrows_of_the_life_cycle() {
    assert!(State::Arrived.leads_to(State::Ready));
    assert!(!State::Busy.leads_to(State::Ready));
    assert!(!State::Failing.leads_to(State::Done));
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |it, _| vec![it].into())
}

#[test]
fn a_command_with_a_value_that_cannot_be_kept_is_refused() {
    let mut build = Build::new();
    build.job(PROCESS, "job");
    let mut plan = build.plan();
    plan.limits.value_bytes_max = 2_000;
    let mut bench = Bench::started(plan);
    let deepest = VALUE_DEPTH_MAX - 2;
    let wait = bench.waits("job")[0];
    for value in [nested(deepest + 1), "x".repeat(2_000).as_str().into()] {
        let variables = vec![("x".into(), value)];
        let refused = bench.ask(Command::Complete { wait, variables: variables.clone() });
        assert!(matches!(refused, Err(Rejection::TooMuch { .. })), "{refused:?}");
        let refused = bench.ask(Command::Set { token: None, variables, reach: Reach::Layer });
        assert!(matches!(refused, Err(Rejection::TooMuch { .. })), "{refused:?}");
    }
    bench.complete_with("job", vec![("x".into(), nested(deepest))]);
    assert!(bench.is_over());
}

#[test]
fn a_script_whose_value_cannot_be_kept_is_an_incident() {
    let deep = |depth: usize| {
        let mut build = Build::new();
        build.add(PROCESS, "deep", script(move |_| ("x".into(), nested(depth))));
        Bench::started(build.plan())
    };
    assert!(deep(VALUE_DEPTH_MAX - 1).is_over());
    let bench = deep(VALUE_DEPTH_MAX);
    let incident = bench.instance.incidents.values().next().unwrap();
    assert_eq!(incident.failure.message, "x would be nested deeper than 1023");
    assert_eq!(bench.variable("x"), None);
}

#[test]
fn what_no_receiver_could_take_is_an_incident_of_the_sender() {
    let send = |depth: usize| {
        let mut build = Build::new();
        let payload = vec![("x".into(), Program::constant(nested(depth)))].into();
        let name = Program::constant("alarm".into());
        build.add(PROCESS, "send", Element::Throw(vec![Throw::Signal { name, payload }]));
        Bench::started(build.plan())
    };
    assert!(send(VALUE_DEPTH_MAX - 2).is_over());
    let bench = send(VALUE_DEPTH_MAX - 1);
    let incident = bench.instance.incidents.values().next().unwrap();
    assert_eq!(incident.failure.message, "the value of x is nested deeper than 1022");
    assert!(bench.instance.posts.is_empty());
}

#[test]
fn a_list_of_results_that_cannot_be_kept_is_an_incident_of_the_activity() {
    let mut build = Build::new();
    let each_one =
        build.add(PROCESS, "each", script(|_| ("result".into(), nested(VALUE_DEPTH_MAX - 1))));
    let count = Count::Cardinality(Program::constant(2.into()));
    build.node(each_one).repeat = Some(Box::new(Repeat::Each(each(count))));
    let mut bench = Bench::started(build.plan());
    let (&token, incident) = bench.instance.incidents.first_key_value().unwrap();
    assert_eq!(incident.failure.message, "variable results would be nested deeper than 1023");
    assert_eq!(bench.at(token), "each");
    bench.ask(Command::Retry { token }).unwrap();
    assert_eq!(bench.instance.incidents.len(), 1, "nothing has changed");
}

#[test]
fn an_activity_of_several_runs_that_finds_no_way_on_is_tried_again_without_its_runs() {
    for looped in [false, true] {
        let mut build = Build::new();
        let task = build.job(PROCESS, "task");
        let after = build.job(PROCESS, "after");
        let flow = build.flow(task, after);
        build.flows[flow.0 as usize].condition = Some(value(|it| it.get("open").is_some().into()));
        let mut several = each(Count::Cardinality(Program::constant(1.into())));
        several.output = None;
        let maximum = Some(Program::constant(1.into()));
        let looping = Loop { condition: None, test_before: false, maximum };
        build.node(task).repeat =
            Some(Box::new(if looped { Repeat::Loop(looping) } else { Repeat::Each(several) }));
        let mut bench = Bench::started(build.plan());
        bench.complete("task");
        let (&token, _) = bench.instance.incidents.first_key_value().unwrap();
        bench
            .ask(Command::Set {
                token: None,
                variables: vec![("open".into(), true.into())],
                reach: Reach::Layer,
            })
            .unwrap();
        bench.ask(Command::Retry { token }).unwrap();
        assert_eq!(bench.waiting(), ["after"]);
    }
}
