//! Workers elsewhere that wait for jobs: in turn, by polls and by streams.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use travertine_kernel::FailureKind;
use travertine_runtime::{
    Activated, Engine, Error, InstanceId,
    engine::{JobAsk, Options, Outcome},
};
use travertine_store::view::{Row, Table};

use crate::world::{World, file, vars, within};

const PROCESS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="work"/>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

fn engine(shards: u16) -> Engine {
    let engine = Engine::in_memory(Options { shards, ..Options::default() }).expect("it opens");
    engine.deploy(&[file("p.bpmn", PROCESS)]).expect("it is deployed");
    engine
}

fn start(engine: &Engine) -> InstanceId {
    engine.start("p").wait().expect("it starts")
}

/// Waits for one job for as long as it takes.
fn one(worker: &str) -> JobAsk {
    JobAsk { most: 1, wait: Duration::MAX, ..JobAsk::new("work", worker) }
}

fn instances(jobs: &[Activated]) -> Vec<InstanceId> {
    jobs.iter().map(|it| it.job.instance).collect()
}

/// Has tasks that were spawned come to where they wait.
async fn let_them_wait() {
    tokio::task::yield_now().await;
}

#[tokio::test]
async fn of_a_thousand_who_wait_each_has_one_of_a_thousand_jobs_in_turn() {
    let engine = engine(3);
    let mut waiting = Vec::new();
    for number in 0..1_000 {
        let (engine, ask) = (engine.clone(), one(&format!("w{number}")));
        waiting.push(tokio::spawn(async move { engine.jobs(ask).await }));
    }
    let_them_wait().await;
    for poll in waiting {
        let instance = engine.start("p").await.expect("it starts");
        let jobs = within(poll).await.expect("it ends").expect("the engine goes on");
        assert_eq!(instances(&jobs), [instance]);
    }
}

#[tokio::test]
async fn jobs_of_all_shards_come_to_one_poll_in_their_order() {
    let engine = engine(3);
    let started: Vec<InstanceId> = (0..9).map(|_| start(&engine)).collect();
    let ask = JobAsk { most: 8, ..one("w") };
    let mut given = instances(&within(engine.jobs(ask.clone())).await.expect("it goes on"));
    given.extend(instances(&within(engine.jobs(ask)).await.expect("it goes on")));
    given.sort_unstable();
    assert_eq!(given, started);
    let at_once = JobAsk { wait: Duration::ZERO, ..one("w") };
    assert_eq!(engine.jobs(at_once).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_poll_ends_with_nothing_when_its_time_is_over_and_the_next_one_has_the_job() {
    let engine = engine(1);
    let late = tokio::spawn({
        let engine = engine.clone();
        async move { engine.jobs(one("late")).await }
    });
    let_them_wait().await;
    let short = JobAsk { wait: Duration::from_millis(5), ..one("short") };
    assert_eq!(engine.jobs(short).await, Ok(Vec::new()));
    late.abort();
    assert!(late.await.expect_err("it was called off").is_cancelled());
    // Nobody is left in line before this one.
    let instance = start(&engine);
    assert_eq!(instances(&engine.jobs(one("next")).await.expect("it goes on")), [instance]);
}

#[tokio::test]
async fn whoever_is_gone_loses_nothing_wherever_it_was() {
    let engine = engine(2);
    let instance = start(&engine);
    for polls in 0..40 {
        {
            // How far it gets differs: before, while, or after the job is leased.
            let mut poll = pin!(engine.jobs(one("gone")));
            for _ in 0..polls {
                let polled = poll.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if let std::task::Poll::Ready(jobs) = polled {
                    let jobs = jobs.expect("it goes on");
                    assert_eq!(instances(&jobs), [instance]);
                    engine.hand_back("gone", &jobs).await.expect("they are taken back");
                    break;
                }
                std::thread::yield_now();
            }
        }
        let next = within(engine.jobs(one("next"))).await.expect("it goes on");
        assert_eq!(instances(&next), [instance], "after {polls} polls");
        assert_eq!(next[0].retries, 3, "it has not failed");
        engine.hand_back("next", &next).await.expect("they are taken back");
    }
}

#[tokio::test]
async fn a_job_goes_back_only_from_whoever_has_it() {
    let engine = engine(1);
    start(&engine);
    let jobs = engine.jobs(one("a")).await.expect("it goes on");
    engine.hand_back("b", &jobs).await.expect("nothing is wrong with that");
    let at_once = JobAsk { wait: Duration::ZERO, ..one("b") };
    assert_eq!(engine.jobs(at_once.clone()).await, Ok(Vec::new()), "a has it");
    engine.hand_back("a", &jobs).await.expect("it is taken back");
    assert_eq!(engine.jobs(at_once).await.expect("it goes on").len(), 1);
}

#[tokio::test]
async fn a_stream_has_jobs_as_they_come_and_gives_back_what_nobody_took() {
    let engine = engine(2);
    let first = start(&engine);
    let mut stream = engine.job_stream(JobAsk::new("work", "s"), 3);
    let next = within(stream.next()).await.expect("it goes on").expect("it is open");
    assert_eq!(next.job.instance, first);
    let more: Vec<InstanceId> = (0..5).map(|_| start(&engine)).collect();
    let next = within(stream.next()).await.expect("it goes on").expect("it is open");
    assert_eq!(next.job.instance, more[0]);
    // Two more are in the stream, and two are left for others.
    let at_once = JobAsk { wait: Duration::ZERO, ..JobAsk::new("work", "poll") };
    let others = engine.jobs(at_once.clone()).await.expect("it goes on");
    assert_eq!(others.len(), 2);
    drop(stream);
    let mut back = Vec::new();
    while back.len() < 2 {
        back.extend(
            within(engine.jobs(JobAsk { wait: Duration::MAX, ..at_once.clone() }))
                .await
                .expect("it goes on"),
        );
    }
    let mut all = [instances(&others), instances(&back), vec![more[0]]].concat();
    all.sort_unstable();
    assert_eq!(all, more);
}

#[tokio::test]
async fn a_stream_that_nobody_asks_stands_in_nobodys_way() {
    let engine = engine(1);
    let mut stream = engine.job_stream(JobAsk::new("work", "s"), 3);
    {
        let mut next = pin!(stream.next());
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let instance = start(&engine);
    assert_eq!(instances(&within(engine.jobs(one("poll"))).await.expect("it goes on")), [instance]);
}

#[tokio::test]
async fn polls_streams_and_workers_of_this_process_stand_in_one_line() {
    let engine = engine(1);
    let (done, mut finished) = tokio::sync::mpsc::unbounded_channel();
    let worker = engine.worker("work", move |job| {
        done.send(job.job.instance).expect("someone waits for it");
        async { Outcome::Done(Vec::new()) }
    });
    let first = tokio::spawn({
        let engine = engine.clone();
        async move { engine.jobs(one("first")).await }
    });
    let_them_wait().await;
    let worker = worker.at_once(1).start();
    let_them_wait().await;
    let last = tokio::spawn({
        let engine = engine.clone();
        async move { engine.jobs(one("last")).await }
    });
    let_them_wait().await;
    let started = [engine.start("p").await, engine.start("p").await, engine.start("p").await];
    let started = started.map(|it| it.expect("it starts"));
    let first = within(first).await.expect("it ends").expect("it goes on");
    let by_worker = within(finished.recv()).await.expect("it works");
    let last = within(last).await.expect("it ends").expect("it goes on");
    assert_eq!([first[0].job.instance, by_worker, last[0].job.instance], started);
    worker.stop().await;
}

#[tokio::test]
async fn who_waits_hears_that_the_engine_is_shut_down() {
    let engine = engine(2);
    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.jobs(one("w")).await }
    });
    let streaming = tokio::spawn({
        let engine = engine.clone();
        async move { engine.job_stream(JobAsk::new("work", "s"), 8).next().await }
    });
    let_them_wait().await;
    engine.shutdown().expect("it shuts down");
    let ended = within(waiting).await.expect("it ends");
    assert!(matches!(ended, Err(Error::Closed { .. })), "{ended:?}");
    assert_eq!(within(streaming).await.expect("it ends"), Ok(None));
}

#[tokio::test]
async fn an_answer_has_no_more_bytes_than_it_may_and_the_rest_waits_for_the_next() {
    let engine = engine(1);
    let text = "x".repeat(1_000);
    for _ in 0..5 {
        let started = engine.start("p").variable("text", text.as_str());
        started.await.expect("it starts");
    }
    let ask = JobAsk { bytes_max: Some(4_000), ..JobAsk::new("work", "w") };
    let mut counts = Vec::new();
    for _ in 0..3 {
        let jobs = engine.jobs(ask.clone()).await.expect("it goes on");
        assert!(jobs.iter().map(|it| it.bytes).sum::<usize>() <= 4_000);
        counts.push(jobs.len());
    }
    assert_eq!(counts, [2, 2, 1]);
}

#[tokio::test]
async fn what_fits_into_no_answer_is_an_incident_and_others_go_on() {
    let mut world = World::new(1);
    world.deploy(PROCESS);
    let huge = world.engine().start("p").variable("text", "x".repeat(9_000).as_str()).wait();
    let huge = huge.expect("it starts");
    let small = world.engine().start("p").variable("text", "y").wait().expect("it starts");
    let ask = JobAsk { bytes_max: Some(4_000), ..JobAsk::new("work", "w") };
    let jobs = world.engine().jobs(ask.clone()).await.expect("it goes on");
    assert_eq!(instances(&jobs), [small]);
    world.restart();
    let state = world.engine().look(huge).wait().expect("it is there").state;
    let kinds: Vec<_> = state.incidents.values().map(|it| it.failure.kind.clone()).collect();
    assert!(matches!(kinds[..], [FailureKind::Oversized { max: 4_000, .. }]), "{kinds:?}");
    let [Row::Incident(row)] = &world.rows(Table::Incidents, Vec::new())[..] else {
        panic!("there is one incident")
    };
    assert_eq!(row.instance, huge.0);
    // Once it is smaller it can be retried, and has lost no try.
    let shorter = vars(&[("text", "z".into())]);
    world.engine().set_variables(huge, None, shorter).wait().expect("it is told");
    assert_eq!(world.engine().jobs(ask.clone()).await, Ok(Vec::new()));
    world.engine().retry(huge, None).wait().expect("it is told");
    let jobs = world.engine().jobs(ask).await.expect("it goes on");
    assert_eq!((instances(&jobs), jobs[0].retries), (vec![huge], 3));
    world.check();
}

#[tokio::test]
async fn a_worker_that_asks_for_few_variables_has_a_job_that_is_large_with_all() {
    let engine = engine(1);
    let started = engine.start("p").variable("text", "x".repeat(9_000).as_str()).variable("n", 1);
    let instance = started.await.expect("it starts");
    let variables = vec!["n".into()];
    let ask = JobAsk { bytes_max: Some(4_000), variables, ..JobAsk::new("work", "w") };
    let jobs = engine.jobs(ask).await.expect("it goes on");
    assert_eq!(instances(&jobs), [instance]);
    assert_eq!(jobs[0].variables, vars(&[("n", 1.into())]));
}
