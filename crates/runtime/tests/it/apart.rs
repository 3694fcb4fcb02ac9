//! What functions start for itself, and cannot be started.

use std::sync::Arc;

use travertine_func::{Functions, Workflow, WorkflowDefinition};
use travertine_runtime::{DeadLetter, Engine, Error, InstanceId, Receipt, engine::Options};
use travertine_store::{
    Batch, Mail, MailId, MemoryStore, ShardId, Store, codec::record::encode_letter, record::Letter,
};

use crate::world::{World, file, rest, vars};

const WALK: &str = r#"<process id="walk" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#;

/// Has another function go for a swim, as `lake`.
const GUIDE: WorkflowDefinition = WorkflowDefinition {
    name: "guide",
    version: 1,
    parameters: &["far"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let far: u32 = arguments.take("far")?;
            Ok(cx.start(swim(far)).id("lake").await?.into())
        })
    },
};

const SWIM: WorkflowDefinition = WorkflowDefinition {
    name: "swim",
    version: 1,
    parameters: &["far"],
    run: |_, _| Box::pin(async move { Ok("swum".into()) }),
};

fn swim(far: u32) -> Workflow<String> {
    Workflow::new("swim", 1).argument("far", &far)
}

fn guide(far: u32) -> Workflow<String> {
    Workflow::new("guide", 1).argument("far", &far)
}

fn dead(engine: &Engine) -> Vec<DeadLetter> {
    engine.dead_letters(None, None, 10).expect("it can be asked")
}

#[test]
fn a_start_that_is_refused_is_kept_until_it_can_be_done() {
    let functions = Functions::new().workflow(GUIDE).workflow(SWIM);
    let mut world = World::with(Options { shards: 2, functions, ..Options::default() });
    let start = |world: &World, call: Workflow<String>, id: &str| -> InstanceId {
        let run = world.engine().start(call).id(id).wait().expect("it starts");
        world.rest();
        run.instance()
    };
    let other = start(&world, swim(1), "lake");
    start(&world, guide(1), "same");
    assert_eq!(dead(world.engine()), [], "the same is there already");
    start(&world, guide(2), "g");
    // Nobody else knows of it, so it does not go away.
    world.advance(u64::from(u32::MAX));
    for _ in 0..2 {
        let letters = dead(world.engine());
        let [letter] = &letters[..] else { panic!("{letters:?}") };
        let reason = &*letter.reason;
        assert!(reason.starts_with("swim cannot be started as lake: "), "{reason}");
        let refused = world.engine().replay(letter.number).wait();
        assert!(matches!(refused, Err(Error::AlreadyExists { .. })), "{refused:?}");
        world.check();
        world.restart();
    }
    world.engine().delete(other).expect("it has ended");
    let number = dead(world.engine())[0].number;
    let Ok(Receipt::Started(id)) = world.engine().replay(number).wait() else { panic!() };
    assert_eq!(dead(world.engine()), []);
    assert_eq!(world.ended(id).variables, vars(&[("result", "swum".into())]));
    assert_eq!(
        world.engine().start(swim(2)).id("lake").wait().expect("it is there").instance(),
        id
    );
    world.check();
}

#[test]
fn what_was_gone_when_it_was_to_start_is_started_when_it_is_deployed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
    let claim = store.take(ShardId(0), "who sends it").expect("nobody else has it");
    let (definition, id, variables) = ("walk".into(), "w".into(), vars(&[("x", 7.into())]));
    let mut body = Vec::new();
    encode_letter(&Letter::Start { definition, id, variables }, &mut body).expect("it is short");
    let mail = Mail { id: MailId { from: ShardId(0), number: 1 }, to: ShardId(0), body };
    store.append(&claim, &[Batch { sent: vec![mail], ..Batch::default() }]).expect("there is room");

    let open = || Engine::on(&store, Options::default()).expect("it opens");
    let engine = open();
    rest(&engine);
    let reasons: Vec<_> = dead(&engine).into_iter().map(|it| it.reason.to_string()).collect();
    assert_eq!(reasons, ["walk cannot be started as w: no such definition: walk"]);
    engine.shutdown().expect("nothing has failed");
    let engine = open();
    engine.deploy(&[file("walk.bpmn", WALK)]).expect("it is fine");
    rest(&engine);
    assert_eq!(dead(&engine), []);
    let found = engine.start("walk").id("w").wait().expect("it is there");
    let ended = engine.result(found).wait().expect("it has ended");
    assert_eq!(ended.variables, vars(&[("x", 7.into())]));
    assert_eq!(engine.verify().expect("it can be asked").differences, []);
}
