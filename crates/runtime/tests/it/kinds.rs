//! What went wrong is data: a kind, what it is about, and the part of the model. Words decide nothing.

use std::{collections::BTreeSet, time::Duration};

use travertine_func::{ActivityDefinition, ActivityOptions, Functions, WorkflowDefinition};
use travertine_kernel::{Ending, Failure, FailureKind, Part, Phase, Rejection};
use travertine_runtime::{Engine, Error, InstanceId, JobFailure, RequestOutcome, engine::Options};

use crate::world::{World, file, rest, within};

fn engine(inside: &str) -> Engine {
    let engine = Engine::in_memory(Options::default()).expect("it opens");
    let process = format!(
        r#"<message id="m" name="m"/><process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>{inside}</process>"#
    );
    engine.deploy(&[file("p.bpmn", &process)]).expect("it is deployed");
    engine
}

/// The incidents of an instance.
fn incidents(engine: &Engine, id: InstanceId) -> Vec<Failure> {
    rest(engine);
    let look = engine.look(id).wait().expect("it is there");
    look.state.incidents.values().map(|it| it.failure.clone()).collect()
}

/// Why the only instance stands still.
fn incident(inside: &str) -> Failure {
    let engine = engine(inside);
    let id = engine.start("p").wait().expect("it starts");
    let mut all = incidents(&engine, id);
    assert_eq!(all.len(), 1, "{inside}");
    all.remove(0)
}

#[test]
fn an_incident_says_in_which_part_of_which_element_it_happened() {
    let with = |task: &str, extensions: &str| {
        format!(
            "<{task}><extensionElements>{extensions}</extensionElements></{}>",
            &task[..task.find(' ').unwrap()]
        )
    };
    let gateway = r#"<exclusiveGateway id="t"/><sequenceFlow id="bad" sourceRef="t" targetRef="e">
        <conditionExpression>nowhere.at.all &gt; 1</conditionExpression></sequenceFlow>
        <endEvent id="e"/>"#;
    let timer = r#"<intermediateCatchEvent id="t"><timerEventDefinition>
        <timeDuration>${nowhere.at.all}</timeDuration></timerEventDefinition></intermediateCatchEvent>"#;
    let catch = r#"<intermediateCatchEvent id="t"><extensionElements>
        <tv:correlation name="k">nowhere.at.all</tv:correlation></extensionElements>
        <messageEventDefinition messageRef="m"/></intermediateCatchEvent>"#;
    let cases = [
        (Part::Condition, "bad", gateway.to_owned()),
        (
            Part::Script,
            "t",
            r#"<scriptTask id="t" scriptFormat="javascript"><script>no()</script></scriptTask>"#
                .to_owned(),
        ),
        (
            Part::Input,
            "t",
            with("task id=\"t\"", r#"<tv:input target="a">nowhere.at.all</tv:input>"#),
        ),
        (
            Part::Output,
            "t",
            with("task id=\"t\"", r#"<tv:output target="a">nowhere.at.all</tv:output>"#),
        ),
        (Part::Timer, "t", timer.to_owned()),
        (
            Part::Listener,
            "t",
            with(
                "task id=\"t\"",
                r#"<tv:listener on="start" language="javascript">no()</tv:listener>"#,
            ),
        ),
        (Part::Call, "t", r#"<callActivity id="t" calledElement="q"/>"#.to_owned()),
        (
            Part::Decision,
            "t",
            r#"<businessRuleTask id="t" tv:decisionRef="d" tv:resultVariable="r"/>"#.to_owned(),
        ),
        (
            Part::Work,
            "t",
            with(
                "serviceTask id=\"t\" tv:jobType=\"w\"",
                r#"<tv:header key="a">nowhere.at.all</tv:header>"#,
            ),
        ),
        (Part::Correlation, "t", catch.to_owned()),
    ];
    for (part, element, inside) in cases {
        let place = incident(&inside).place.unwrap_or_else(|| panic!("{part:?} has a place"));
        assert_eq!((place.part, &*place.element), (part, element), "{inside}");
    }
}

#[test]
fn what_is_missing_is_data_of_the_incident() {
    let missing = incident(r#"<callActivity id="t" calledElement="q"/>"#).kind;
    assert_eq!(missing, FailureKind::MissingDefinition { definition: "q".into(), version: None });
    let decision = r#"<businessRuleTask id="t" tv:decisionRef="d" tv:resultVariable="r"/>"#;
    let missing = incident(decision).kind;
    assert_eq!(missing, FailureKind::MissingDecision { decision: "d".into(), version: None });
}

#[tokio::test]
async fn what_a_worker_says_is_of_the_kind_of_work_whatever_its_words_are() {
    let sentences = [
        "no such definition: q; it goes on when that is deployed",
        "this program has no function p version 1",
        "the instance has taken more than 10 steps",
        "the code panicked at a.rs:1: no",
    ];
    for sentence in sentences {
        let engine = engine(r#"<serviceTask id="t" tv:jobType="w"/>"#);
        let id = engine.start("p").wait().expect("it starts");
        rest(&engine);
        let jobs = engine
            .activate("w", "me", 1, Duration::from_mins(1), &[])
            .await
            .expect("there is work");
        engine
            .fail(jobs[0].job, JobFailure { retries: Some(0), ..JobFailure::new(sentence) })
            .await
            .expect("it fails");
        let all = incidents(&engine, id);
        assert_eq!(all, [Failure::new(FailureKind::Work, sentence)]);
        // What the sentence is about comes, and nothing happens.
        let q = r#"<process id="q" isExecutable="true"><startEvent id="s"/></process>"#;
        engine.deploy(&[file("q.bpmn", q)]).expect("it is deployed");
        assert_eq!(incidents(&engine, id), all);
    }
}

/// It fails with what the engine says where code is missing.
const LIAR: WorkflowDefinition = WorkflowDefinition {
    name: "liar",
    version: 1,
    parameters: &[],
    run: |_, _| {
        let words = "this program has no function liar version 1";
        Box::pin(async move { Err(travertine_func::Failure::terminal("error", words).into()) })
    },
};

#[test]
fn a_function_that_fails_with_our_own_words_has_failed_and_is_not_blocked() {
    let functions = Functions::new().workflow(LIAR);
    let engine = Engine::in_memory(Options { functions, ..Options::default() }).expect("it opens");
    let id = engine.start("liar").wait().expect("it starts");
    rest(&engine);
    let look = engine.look(id).wait().expect("it is there");
    let Phase::Ended(Ending::Failed(failure)) = &look.state.phase else { panic!("{look:?}") };
    assert_eq!(failure.kind, FailureKind::Error);
}

/// Headers that are called as what functions say of activities.
const HEADERS: [(&str, &str); 11] = [
    ("priority", "9"),
    ("limit", r#""class""#),
    ("input", r#"{"amount": 1}"#),
    ("idempotencyKey", r#""forged""#),
    ("attempts", "9"),
    ("retry", r#"{"initial": 1, "factor": 1, "maxDelay": 1}"#),
    ("timeout", "0"),
    ("deadline", "0"),
    ("heartbeat", "0"),
    ("answer", r#""variables""#),
    ("other", "1"),
];

/// What the activity saw, as variables.
const ECHO: ActivityDefinition = ActivityDefinition {
    name: "echo",
    parameters: &["amount"],
    options: ActivityOptions::DEFAULT,
    run: |cx, mut arguments| {
        Box::pin(async move {
            let amount: u64 = arguments.take("amount")?;
            let key = cx.idempotency_key().to_owned();
            Ok([("seen".into(), amount.into()), ("key".into(), key.into())].into_iter().collect())
        })
    },
};

#[tokio::test]
async fn headers_of_a_model_change_nothing_about_how_work_is_done() {
    let headers = HEADERS.map(|(key, value)| {
        let value = value.replace('"', "&quot;");
        format!(r#"<tv:header key="{key}" language="feel">{value}</tv:header>"#)
    });
    let headers = headers.concat();
    let task = |id: &str, work: &str| {
        format!(
            r#"<serviceTask id="{id}" tv:jobType="{work}"><extensionElements>{headers}
            </extensionElements></serviceTask>"#
        )
    };
    let process = format!(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>{}
        <sequenceFlow id="f2" sourceRef="t" targetRef="u"/>{}</process>"#,
        task("t", "echo"),
        task("u", "outside")
    );
    let functions = Functions::new().activity(ECHO);
    let mut world = World::with(Options { functions, ..Options::default() });
    world.deploy(&process);
    let id = world.engine().start("p").variable("amount", 5).wait().expect("it starts");
    // Activities run on this very thread, so nothing may block it meanwhile.
    let look = within(async {
        loop {
            let look = world.engine().look(id).await.expect("it is there");
            if look.variables.iter().any(|(name, _)| &**name == "seen") {
                return look;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let variable = |name: &str| {
        let found = look.variables.iter().find(|(it, _)| &**it == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(variable("seen"), Some(5.into()), "it sees the variables of the process");
    assert_ne!(variable("key"), Some("forged".into()));
    // Whoever does it outside has the headers as the model says them, also after a restart.
    for _ in 0..2 {
        world.restart();
        let jobs = world
            .engine()
            .activate("outside", "w", 1, Duration::from_secs(1), &[])
            .await
            .expect("it is up");
        let [job] = &jobs[..] else { panic!("{jobs:?}") };
        let names: Vec<&str> = job.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, HEADERS.map(|(name, _)| name));
        assert_eq!(job.idempotency_key, None);
        assert!(job.variables.contains(&("amount".into(), 5.into())));
        world
            .engine()
            .fail(job.job, JobFailure { retries: Some(3), ..JobFailure::new("again") })
            .await
            .expect("it is tried again");
    }
    world.check();
}

#[test]
fn the_codes_of_errors_are_those_of_the_docs() {
    let docs = include_str!("../../../../docs/errors.md");
    let table = docs.split_once("| code | was it done? |").expect("there is a table").1;
    let listed: BTreeSet<&str> =
        table.lines().skip(2).filter_map(|it| it.split('`').nth(1)).collect();
    let all = [Error::CODES, Rejection::CODES, travertine_store::Error::CODES].concat();
    assert_eq!(listed, all.into_iter().collect());
}

#[test]
fn what_is_asked_of_a_closed_engine_was_not_done() {
    let engine = engine(r#"<userTask id="t"/>"#);
    let other = engine.clone();
    engine.shutdown().expect("it shuts down");
    let refused = other.start("p").wait().expect_err("it is closed");
    assert_eq!((refused.code(), refused.outcome()), ("closed", RequestOutcome::NotDone));
    assert_eq!(refused.retry_after(), None);
}
