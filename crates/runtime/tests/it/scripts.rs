//! Scripts of processes, as an engine runs them.

use std::time::Duration;

use travertine_kernel::WaitId;
use travertine_runtime::{Address, Settings, engine::Options};
use travertine_store::view::{Row, Table};

use crate::world::{World, vars};

const LOOP: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <scriptTask id="t" scriptFormat="javascript" tv:resultVariable="sum"><script><![CDATA[
    let sum = 0; for (let i = 0; i < 10; i++) { sum += i; } sum]]></script></scriptTask>
    <sequenceFlow id="f2" sourceRef="t" targetRef="u"/><userTask id="u"/>
    <sequenceFlow id="f3" sourceRef="u" targetRef="e"/><endEvent id="e"/></process>"#;

#[test]
fn an_engine_says_how_long_a_script_may_take() {
    for (time, is_enough) in [(Duration::ZERO, false), (Duration::MAX, true)] {
        let options = Options {
            shards: 1,
            script_time_max: time,
            settings: Settings::default(),
            ..Options::default()
        };
        let mut world = World::with(options);
        world.deploy(LOOP);
        for restarted in [false, true] {
            if restarted {
                world.restart();
            }
            world.engine().start("p").wait().expect("it starts");
            world.rest();
            let (tasks, incidents) =
                (world.rows(Table::Tasks, vec![]), world.rows(Table::Incidents, vec![]));
            let count = 1 + usize::from(restarted);
            let expected = if is_enough { (count, 0) } else { (0, count) };
            assert_eq!((tasks.len(), incidents.len()), expected, "{incidents:?}");
            if let Some(Row::Incident(it)) = incidents.first() {
                assert!(it.message.contains("the time limit was exceeded"), "{}", it.message);
            }
        }
    }
}

#[test]
fn of_what_a_script_throws_as_much_is_kept_as_people_read() {
    let world = World::with(Options { shards: 1, ..Options::default() });
    let thrown = LOOP.replace("let sum", "throw new Error('é'.repeat(500000)); let sum");
    world.deploy(&thrown);
    world.engine().start("p").wait().expect("it starts");
    world.rest();
    let incidents = world.rows(Table::Incidents, vec![]);
    let Some(Row::Incident(it)) = incidents.first() else { panic!("{incidents:?}") };
    assert!(it.message.len() < 3_000 && it.message.contains("ééé"), "{} bytes", it.message.len());
    world.check();
}

#[test]
fn a_script_is_told_which_instance_it_is_of_in_each_turn() {
    let world = World::new(1);
    let ask = |id: &str| {
        format!(
            r#"<scriptTask id="{id}" scriptFormat="javascript" camunda:resultVariable="{id}">
            <script>execution.getProcessBusinessKey() + " " + execution.getProcessInstanceId()</script></scriptTask>"#
        )
    };
    world.deploy(&format!(
        r#"<process id="p" isExecutable="true" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="a"/>{}
        <sequenceFlow id="f2" sourceRef="a" targetRef="t"/><userTask id="t"/>
        <sequenceFlow id="f3" sourceRef="t" targetRef="b"/>{}</process>"#,
        ask("a"),
        ask("b")
    ));
    let id = world.engine().start("p").id("order-1").wait().expect("it starts");
    let rows = world.rows(Table::Tasks, vec![]);
    let [Row::Task(task)] = &rows[..] else { panic!("{rows:?}") };
    let task = Address { instance: id, wait: WaitId(task.wait) };
    world.engine().complete(task, Vec::new()).wait().expect("it waits");
    let told = format!("order-1 {id}");
    let both = vars(&[("a", told.as_str().into()), ("b", told.as_str().into())]);
    assert_eq!(world.ended(id).variables, both);
}
