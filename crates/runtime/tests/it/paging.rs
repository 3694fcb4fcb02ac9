//! Lists are read in pages while what they list changes.

use std::{collections::BTreeSet, time::Duration};

use travertine_runtime::{Consume, InstanceId, Message};
use travertine_store::view::{Key, Query, Row, Table};

use crate::world::World;

const PROCESS: &str = r#"<message id="m" name="paid"/><process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="g"/><parallelGateway id="g"/>
    <sequenceFlow id="f1" sourceRef="g" targetRef="u"/><userTask id="u"/>
    <sequenceFlow id="f2" sourceRef="g" targetRef="j"/><serviceTask id="j" tv:jobType="work"/>
    <sequenceFlow id="f3" sourceRef="g" targetRef="r"/><receiveTask id="r" messageRef="m"/>
    <sequenceFlow id="f4" sourceRef="g" targetRef="t"/><intermediateCatchEvent id="t">
    <timerEventDefinition><timeDuration>P1D</timeDuration></timerEventDefinition>
    </intermediateCatchEvent>
    <sequenceFlow id="f5" sourceRef="g" targetRef="b"/>
    <scriptTask id="b" scriptFormat="javascript"><script>throw 1</script></scriptTask>
    <sequenceFlow id="f6" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#;

/// Something of every table, and instances that may go.
fn world() -> (World, Vec<InstanceId>) {
    let world = World::new(2);
    world.deploy(PROCESS);
    let engine = world.engine();
    let start = |_| engine.start("p").variable("x", 1).wait().expect("starts");
    let all: Vec<InstanceId> = (0..8).map(start).collect();
    for number in 0..9 {
        let id = Some(format!("m{number}").as_str().into());
        engine.publish(Message { id, ..Message::new("early") }).wait().expect("is held");
    }
    let late = Message { ttl: Some(Duration::ZERO), consume: Consume::All, ..Message::new("late") };
    for number in 0..9 {
        // Of these only the ids are kept.
        let id = Some(format!("l{number}").as_str().into());
        engine.publish(Message { id, ..late.clone() }).wait().expect("is sent");
    }
    world.rest();
    (world, vec![all[0], all[3], all[7]])
}

fn key(row: &Row) -> (u64, u64, String) {
    let Key { instance, number, name } = row.key();
    (instance, number, name.to_string())
}

#[test]
fn what_stays_is_listed_once_while_other_rows_come_and_go() {
    for table in Table::ALL.into_iter().filter(|it| !Table::PAST.contains(it)) {
        for descending in [false, true] {
            let (world, mut leaving) = world();
            let engine = world.engine();
            let rows = world.rows(table, Vec::new());
            let goes = |it: &Row| {
                table != Table::Messages && leaving.iter().any(|id| id.0 == it.key().instance)
            };
            let stays: BTreeSet<_> = rows.iter().filter(|it| !goes(it)).map(key).collect();
            assert!(stays.len() >= 5, "{table:?} has {}", stays.len());
            let mut query = Query { table, filters: Vec::new(), descending, after: None, limit: 2 };
            let mut seen = Vec::new();
            loop {
                let page = engine.query_now(&query).expect("the question makes sense");
                assert!(page.next.is_none() || page.rows.len() == 2, "{table:?}: a page is full");
                seen.extend(page.rows.iter().map(key));
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
                if let Some(id) = leaving.pop() {
                    engine.cancel(id).wait().expect("it runs");
                    engine.delete(id).expect("it has ended");
                    engine.start("p").variable("x", 1).wait().expect("starts");
                    engine.publish(Message::new("early")).wait().expect("is held");
                }
            }
            let distinct: BTreeSet<_> = seen.iter().cloned().collect();
            assert_eq!(distinct.len(), seen.len(), "{table:?}: nothing is listed twice");
            let missing: Vec<_> = stays.difference(&distinct).collect();
            assert!(missing.is_empty(), "{table:?} misses {missing:?}");
        }
    }
}
