//! Whole conversations: what is typed, and what is said.

use std::{
    io,
    sync::{Arc, Mutex},
};

use expect_test::{Expect, expect};
use travertine_bpmn::{Options, read};

use super::{super::watch::Shown, *};
use crate::{clock, paint::Paint, run::outcome, run::watch::Watch};

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is said when a model is run and these lines are typed.
fn conversation(model: &str, vars: &str, lines: &[&'static str], said: &Expect) -> Status {
    let report = read(&[("model.bpmn", model.as_bytes())], &Options::default());
    assert!(!report.is_rejected(), "{:?}", report.diagnostics);
    let paper = Paper::default();
    let out = Screen::new(Box::new(paper.clone()), Paint::plain());
    let watch = Watch::new(Shown { trace: false, tree: false }, false, out.clone());
    let mut world = World::new(clock::date("2026-01-05T09:00:00Z").unwrap(), watch);
    world.deploy(&report.processes, &[]).unwrap();
    world.start(&report.processes[0].id, None, pairs::line(vars).unwrap()).unwrap();
    let mut prompt = Prompt::Script(Vec::from(lines).into_iter(), out.clone());
    let left = talk(&mut world, &mut prompt, &out).unwrap();
    let text = String::from_utf8(std::mem::take(&mut *paper.0.lock().unwrap())).unwrap();
    said.assert_eq(&text);
    left.unwrap_or_else(|| outcome::status(&world))
}

const HELLO: &str = include_str!("../../../../../examples/hello.bpmn");
const ORDER: &str = include_str!("../../../../../examples/order.bpmn");

#[test]
fn enter_and_variables_complete_what_waits() {
    let status = conversation(
        HELLO,
        "name=Ann",
        &["vars", "liked", "liked=true"],
        &expect![[r#"
            user task read "Read the greeting"
              waits for a person
              variables: greeting="Hello, Ann!" name="Ann"
              Enter or name=value completes it · help
            read> vars
              greeting = "Hello, Ann!"
              name = "Ann"
            read> liked
              `liked` is no command; `help` lists them all
            read> liked=true
        "#]],
    );
    assert_eq!(status, Status::Done);
}

#[test]
fn time_passes_when_told_and_errors_find_their_handlers() {
    let lines = [
        "shelf=B7",
        "list",
        "2",
        "",
        "tree",
        "fail no connection",
        "error card-refused the limit is exceeded",
        "",
    ];
    let status = conversation(
        ORDER,
        "",
        &lines,
        &expect![[r#"
            job reserve "Reserve stock"
              waits for a worker of type reserve, 3 retries left
              Enter or name=value completes it · help
            reserve> shelf=B7

            job charge "Charge the card"
              waits for a worker of type charge, 3 retries left
              variables: shelf="B7"
              Enter or name=value completes it · help · list (1 more)
            charge> list
            *  1  job        charge "Charge the card"  waits for a worker of type charge, 3 retries left
               2  timer      slow "After an hour"      waits until 2026-01-05T10:00:00Z, in 1h, beside pay
            charge> 2

            timer slow "After an hour"
              waits until 2026-01-05T10:00:00Z, in 1h, beside pay
              variables: shelf="B7"
              Enter lets time pass until then · help · list (1 more)
            slow>
              it is 2026-01-05T10:00:00Z

            job charge "Charge the card"
              waits for a worker of type charge, 3 retries left
              variables: reminded=true shelf="B7"
              Enter or name=value completes it · help
            charge> tree
            process order [1 busy]
              sub-process pay [2 busy]
                charge [9 busy]
              undo-reserve (compensation) [4 created]
            charge> fail no connection

            job charge "Charge the card"
              waits for a worker of type charge, 2 retries left
              variables: reminded=true shelf="B7"
              Enter or name=value completes it · help
            charge> error card-refused the limit is exceeded

            job release "Release stock"
              waits for a worker of type release, 3 retries left
              variables: reminded=true shelf="B7"
              Enter or name=value completes it · help
            release>
        "#]],
    );
    assert_eq!(status, Status::Done);
}

#[test]
fn an_incident_is_explained_set_right_and_tried_again() {
    let model = HELLO.replace("default=\"to-sorry\"", "").replace("${liked}", "${n == 1}").replace(
        "sourceRef=\"liked\" targetRef=\"sorry\" />",
        "sourceRef=\"liked\" targetRef=\"sorry\">
           <conditionExpression>${n == 2}</conditionExpression></sequenceFlow>",
    );
    let lines = ["n=3", "", "skip", "error x", "n=2", "retry"];
    let status = conversation(
        &model,
        "name=Ann",
        &lines,
        &expect![[r#"
            user task read "Read the greeting"
              waits for a person
              variables: greeting="Hello, Ann!" name="Ann"
              Enter or name=value completes it · help
            read> n=3

            incident liked "Liked?"
              no flow that leaves liked can be taken
              way out: set the variables its conditions need and retry, or give it a default flow
              variables: greeting="Hello, Ann!" n=3 name="Ann"
              name=value sets variables · retry · help
            liked>
              type `retry` to try it again
            liked> skip
              nothing else waits
            liked> error x
              only user tasks and jobs can do that
            liked> n=2

            incident liked "Liked?"
              no flow that leaves liked can be taken
              way out: set the variables its conditions need and retry, or give it a default flow
              variables: greeting="Hello, Ann!" n=2 name="Ann"
              name=value sets variables · retry · help
            liked> retry
        "#]],
    );
    assert_eq!(status, Status::Done);
}

#[test]
fn someone_who_leaves_is_told_nothing_more() {
    let status = conversation(
        HELLO,
        "name=Ann",
        &["quit"],
        &expect![[r#"
            user task read "Read the greeting"
              waits for a person
              variables: greeting="Hello, Ann!" name="Ann"
              Enter or name=value completes it · help
            read> quit
        "#]],
    );
    assert_eq!(status, Status::Waiting);
    let status = conversation(
        HELLO,
        "name=Ann",
        &["cancel"],
        &expect![[r#"
            user task read "Read the greeting"
              waits for a person
              variables: greeting="Hello, Ann!" name="Ann"
              Enter or name=value completes it · help
            read> cancel
        "#]],
    );
    assert_eq!(status, Status::Failed);
}

#[test]
fn on_a_store_timers_ring_when_told_and_what_happens_meanwhile_is_seen() {
    use travertine_kernel::WaitId;
    use travertine_runtime::engine::{self, Engine, ManualClock};

    use super::super::kept::Kept;

    let now = clock::date("2026-01-05T09:00:00Z").unwrap();
    let options = engine::Options {
        shards: 1,
        clock: Arc::new(ManualClock::new(now)),
        ..engine::Options::default()
    };
    let engine = Engine::in_memory(options).unwrap();
    let file = engine::File { name: "order.bpmn".to_owned(), body: ORDER.as_bytes().to_vec() };
    engine.deploy(&[file]).unwrap();
    let main = engine.start("order").wait().unwrap();
    let mut world = World::kept(Kept::new(engine.clone(), main, vec!["order".into()]).unwrap());
    // Someone else does the first job.
    let job = Address { instance: main, wait: WaitId(3) };
    engine.complete(job, pairs::line("shelf=B7").unwrap()).wait().unwrap();
    let paper = Paper::default();
    let out = Screen::new(Box::new(paper.clone()), Paint::plain());
    let lines = ["2", "", "error card-refused", ""];
    let mut prompt = Prompt::Script(Vec::from(lines).into_iter(), out.clone());
    assert_eq!(talk(&mut world, &mut prompt, &out).unwrap(), None);
    assert_eq!(outcome::status(&world), Status::Done);
    let text = String::from_utf8(std::mem::take(&mut *paper.0.lock().unwrap())).unwrap();
    expect![[r#"
        job charge "Charge the card"
          waits for a worker of type charge, 3 retries left
          variables: shelf="B7"
          Enter or name=value completes it · help · list (1 more)
        charge> 2

        timer slow "After an hour"
          waits until 2026-01-05T10:00:00Z, in 1h, beside pay
          variables: shelf="B7"
          Enter fires it now · help · list (1 more)
        slow>

        job charge "Charge the card"
          waits for a worker of type charge, 3 retries left
          variables: reminded=true shelf="B7"
          Enter or name=value completes it · help
        charge> error card-refused

        job release "Release stock"
          waits for a worker of type release, 3 retries left
          variables: reminded=true shelf="B7"
          Enter or name=value completes it · help
        release>
    "#]]
    .assert_eq(&text);
}
