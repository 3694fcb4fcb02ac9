//! Messages that are too much for whoever was to receive them. Those who send them are refused, so they can
//! only come from a store that was written under other limits.

use std::sync::Arc;

use travertine_kernel::Rejection;
use travertine_runtime::{Engine, Error, Message, Receipt, Timestamp, engine::Options};
use travertine_store::{
    Batch, Mail, MailId, MemoryStore, ShardId, Store,
    codec::record::encode_letter,
    record::Letter,
    view::{Query, Row, Table},
};

use crate::world::{file, rest, vars};

const WAITS: &str = r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process>"#;
const STARTS: &str = r#"<message id="m" name="paid"/><process id="q" isExecutable="true">
    <startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent>
    <sequenceFlow id="f1" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#;

fn large() -> Message {
    let variables = vars(&[("x", "x".repeat(17 << 20).as_str().into())]);
    Message { variables, ..Message::new("paid") }
}

/// Puts so many messages that are too large on their way to the shard that finds their receivers.
fn send(store: &dyn Store, keeper: ShardId, count: u64) {
    let claim = store.take(ShardId(0), "a test").expect("nobody else has it");
    let mut body = Vec::new();
    let (message, published) = (large(), Timestamp::default());
    let letter = Letter::Publish { message, again: false, published, expires: None };
    encode_letter(&letter, &mut body).expect("it can be stored");
    let mail = |number| {
        let id = MailId { from: ShardId(0), number };
        Mail { id, to: keeper, body: body.clone() }
    };
    let sent = (1..=count).map(mail).collect();
    store.append(&claim, &[Batch { sent, ..Batch::default() }]).expect("there is room");
}

/// The shard that finds receivers for what is waited for.
fn keeper(engine: &Engine) -> ShardId {
    let filters = Vec::new();
    let query =
        Query { table: Table::Subscriptions, filters, descending: false, after: None, limit: 1 };
    match &engine.query_now(&query).expect("it can be asked").rows[..] {
        [Row::Subscription(it)] => it.keeper,
        rows => panic!("{rows:?}"),
    }
}

fn reasons(engine: &Engine) -> Vec<String> {
    reasons_of(engine, "paid")
}

fn reasons_of(engine: &Engine, name: &str) -> Vec<String> {
    let dead = engine.dead_letters(Some(name), None, 10).expect("they can be asked for");
    dead.iter().map(|it| it.reason.to_string()).collect()
}

#[test]
fn a_signal_that_is_too_much_is_refused() {
    let engine = Engine::in_memory(Options::default()).expect("it opens");
    let refused = engine.signal("paid", large().variables).wait();
    assert!(matches!(refused, Err(Error::Rejected(Rejection::TooMuch { .. }))), "{refused:?}");
}

#[test]
fn a_message_that_is_too_much_for_who_waits_becomes_a_dead_letter() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(2));
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    engine.deploy(&[file("p.bpmn", WAITS)]).expect("is fine");
    // One on the shard that keeps the name, one on the other.
    let waits = [(); 2].map(|()| engine.start("p").wait().expect("starts"));
    rest(&engine);
    let keeper = keeper(&engine);
    engine.shutdown().expect("nothing has failed");
    send(&*store, keeper, 2);
    for _ in 0..2 {
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        rest(&engine);
        let reasons = reasons(&engine);
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        for id in waits {
            let named =
                |it: &String| it.contains(&format!("instance {id} waited")) && it.contains('x');
            assert!(reasons.iter().any(named), "{reasons:?}");
        }
        assert_eq!(engine.verify().expect("it can be asked").differences, []);
        engine.shutdown().expect("nothing has failed");
    }
    let engine = Engine::on(&store, Options::default()).expect("it opens");
    for _ in waits {
        let paid = engine.publish(Message::new("paid")).wait();
        assert!(matches!(paid, Ok(Receipt::Received(_))), "they wait still: {paid:?}");
    }
}

#[test]
fn a_message_that_is_too_much_for_what_it_starts_becomes_a_dead_letter() {
    for deployed_before in [true, false] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        let deploy = |engine: &Engine| {
            engine.deploy(&[file("q.bpmn", STARTS)]).expect("is fine");
        };
        if deployed_before {
            deploy(&engine);
        }
        engine.shutdown().expect("nothing has failed");
        send(&*store, ShardId(0), 1);
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        rest(&engine);
        if !deployed_before {
            assert_eq!(reasons(&engine), [""; 0], "it is held");
            deploy(&engine);
            rest(&engine);
        }
        let reasons = reasons(&engine);
        assert!(matches!(&reasons[..], [it] if it.contains("the value of x")), "{reasons:?}");
        assert_eq!(engine.verify().expect("it can be asked").differences, []);
        let started = engine.publish(Message::new("paid")).wait();
        assert!(matches!(started, Ok(Receipt::Started(_))), "{started:?}");
    }
}

const NEEDS_ALL: &str = r#"<message id="m" name="paid"/><message id="n" name="packed"/>
    <process id="q" isExecutable="true"><startEvent id="s" parallelMultiple="true">
    <messageEventDefinition messageRef="m"/><messageEventDefinition messageRef="n"/></startEvent>
    <sequenceFlow id="f1" sourceRef="s" targetRef="e"/><endEvent id="e"/></process>"#;

#[test]
fn what_came_first_to_a_start_event_that_needs_all_is_kept_where_it_cannot_start() {
    for shards in [1, 2] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(shards));
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        engine.deploy(&[file("q.bpmn", NEEDS_ALL)]).expect("is fine");
        let packed = |n: i64| {
            let variables = vars(&[("n", n.into())]);
            Message { variables, ..Message::new("packed") }
        };
        let noted = engine.publish(packed(1)).wait();
        assert_eq!(noted, Ok(Receipt::Noted));
        rest(&engine);
        engine.shutdown().expect("nothing has failed");
        send(&*store, ShardId(0), 1);
        for _ in 0..2 {
            let engine = Engine::on(&store, Options::default()).expect("it opens");
            rest(&engine);
            let reasons = reasons_of(&engine, "$start");
            let [reason] = &reasons[..] else { panic!("{reasons:?}") };
            assert!(reason.contains("q cannot be started at s: the value of x"), "{reason}");
            engine.shutdown().expect("nothing has failed");
        }
        let engine = Engine::on(&store, Options::default()).expect("it opens");
        let dead = engine.dead_letters(None, None, 10).expect("they can be asked for").remove(0);
        assert!(dead.message.variables.contains(&("n".into(), 1.into())), "what came first");
        let refused = engine.replay(dead.number).wait();
        assert!(matches!(refused, Err(Error::Rejected(Rejection::TooMuch { .. }))), "{refused:?}");
        // Others are not held up by it.
        for message in [packed(2), Message::new("paid")] {
            engine.publish(message).wait().expect("it is heard");
            rest(&engine);
        }
        let query = Query {
            table: Table::Instances,
            filters: Vec::new(),
            descending: false,
            after: None,
            limit: 10,
        };
        assert_eq!(engine.query_now(&query).expect("it can be asked").rows.len(), 1);
        assert_eq!(engine.verify().expect("it can be asked").differences, []);
    }
}
