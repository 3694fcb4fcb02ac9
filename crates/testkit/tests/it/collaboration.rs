//! Several processes that send each other messages, as BPMN 2.0 says in 8.4.2 and 9.

use std::{fmt::Display, sync::Arc};

use travertine_kernel::{Event, Post, WaitFor};
use travertine_runtime::{InstanceId, Message, Receipt, Sandbox, Start};
use travertine_testkit::{Scenario, assignments};
use travertine_value::{Name, time::Timestamp};

/// A world with the processes of definitions with this inside.
fn world(inside: &str) -> Sandbox {
    let report = Scenario::report(inside);
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let all: Vec<_> =
        report.processes.iter().map(|it| (Name::from(&*it.id), Arc::clone(&it.plan))).collect();
    let mut sandbox = Sandbox::new(Timestamp::default());
    sandbox.deploy(&all).expect("it can be deployed");
    sandbox
}

fn start(world: &mut Sandbox, process: &str, variables: &str) -> InstanceId {
    world.start(Start::of(process).with(assignments(variables))).expect("it starts")
}

fn send(world: &mut Sandbox, name: &str, variables: &str) -> Receipt {
    world
        .publish(Message { variables: assignments(variables), ..Message::new(name) })
        .expect("it is taken")
}

/// Where an instance waits.
fn waiting(world: &Sandbox, id: InstanceId) -> Vec<String> {
    let record = world.instance(id).expect("it is there");
    let tokens = record.state.tokens.values().filter(|it| !it.waits.is_empty());
    let mut all: Vec<_> = tokens.map(|it| record.plan().node(it.node).name.to_string()).collect();
    all.sort();
    all
}

fn variable(world: &Sandbox, id: InstanceId, name: &str) -> Option<String> {
    let record = world.instance(id).expect("it is there");
    record.variables().find(|(it, _)| &***it == name).map(|(_, it)| it.to_string())
}

/// Two messages that say what order they are about, each in its own way.
const ORDERS: &str = r#"<message id="M" name="placed"/> <message id="N" name="paid"/>
    <message id="O" name="other"/>
    <correlationProperty id="P" name="order">
      <correlationPropertyRetrievalExpression messageRef="M"><messagePath>id</messagePath>
      </correlationPropertyRetrievalExpression>
      <correlationPropertyRetrievalExpression messageRef="N"><messagePath>bill.order</messagePath>
      </correlationPropertyRetrievalExpression>
    </correlationProperty>"#;

const KEY: &str = r#"<collaboration id="C"><correlationKey id="K" name="conversation">
    <correlationPropertyRef>P</correlationPropertyRef></correlationKey></collaboration>"#;

fn catch(id: &str, message: &str) -> String {
    format!(
        r#"<intermediateCatchEvent id="{id}"><messageEventDefinition messageRef="{message}"/>
           </intermediateCatchEvent>"#
    )
}

#[test]
fn the_first_message_of_a_conversation_says_what_the_others_are_about() {
    let mut world = world(&format!(
        r#"{ORDERS}{KEY} <process id="p" isExecutable="true">
             <startEvent id="start"><messageEventDefinition messageRef="M"/></startEvent>
             {} <userTask id="u"/> <endEvent id="end"/> <path>start c u end</path></process>"#,
        catch("c", "N")
    ));
    let ids =
        [1, 2].map(|order| match send(&mut world, "placed", &format!(r#"{{"id": {order}}}"#)) {
            Receipt::Started(id) => id,
            other => panic!("{other:?}"),
        });
    assert_eq!(variable(&world, ids[1], "conversation").as_deref(), Some(r#"{"order":2}"#));
    // The second has waited for less long, but the message is for it.
    assert!(matches!(send(&mut world, "paid", r#"{"bill": {"order": 2}}"#), Receipt::Received(_)));
    assert_eq!(waiting(&world, ids[1]), ["u"]);
    assert_eq!(waiting(&world, ids[0]), ["c"]);
    assert_eq!(send(&mut world, "paid", r#"{"bill": {"order": 3}}"#), Receipt::Held);
}

#[test]
fn who_waits_already_waits_for_the_conversation_once_it_has_begun() {
    let mut world = world(&format!(
        r#"{ORDERS}{KEY} <process id="p" isExecutable="true">
             <parallelGateway id="fork"/> {} {} <userTask id="u"/> <userTask id="v"/>
             <path>fork c u</path> <path>fork d v</path></process>"#,
        catch("c", "M"),
        catch("d", "N")
    ));
    let id = start(&mut world, "p", "{}");
    assert!(matches!(send(&mut world, "placed", r#"{"id": 1}"#), Receipt::Received(_)));
    assert_eq!(send(&mut world, "paid", r#"{"bill": {"order": 2}}"#), Receipt::Held);
    assert_eq!(waiting(&world, id), ["d", "u"]);
    assert!(matches!(send(&mut world, "paid", r#"{"bill": {"order": 1}}"#), Receipt::Received(_)));
    assert_eq!(waiting(&world, id), ["u", "v"]);
}

#[test]
fn what_is_sent_carries_the_properties_and_sets_the_key() {
    let throw = |id: &str, message: &str, payload: &str| {
        format!(
            r#"<intermediateThrowEvent id="{id}"><extensionElements>{payload}</extensionElements>
               <messageEventDefinition messageRef="{message}"/></intermediateThrowEvent>"#
        )
    };
    let mut world = world(&format!(
        r#"{ORDERS}{KEY}
           <process id="shop" isExecutable="true"> {} {} <userTask id="u"/> <path>t c u</path></process>
           <process id="bank" isExecutable="true">
             <startEvent id="start"><messageEventDefinition messageRef="M"/></startEvent>
             <userTask id="pay"/> {} <endEvent id="end"/> <path>start pay t2 end</path></process>"#,
        throw("t", "M", r#"<tv:payload name="id">number</tv:payload>"#),
        catch("c", "N"),
        // It says nothing of the order, but the conversation is known.
        throw("t2", "N", r#"<tv:payload name="sum">5</tv:payload>"#),
    ));
    let shops = [7, 8].map(|it| start(&mut world, "shop", &format!(r#"{{"number": {it}}}"#)));
    let banks: Vec<_> =
        world.instances().filter(|it| &*it.definition.id == "bank").map(|it| it.id).collect();
    assert_eq!(variable(&world, banks[1], "conversation").as_deref(), Some(r#"{"order":8}"#));
    let work = world.instance(banks[1]).unwrap().state.waits.iter().next().map(|(id, _)| *id);
    let to = travertine_runtime::Address { instance: banks[1], wait: work.unwrap() };
    world.complete(to, Vec::new()).unwrap();
    assert_eq!(waiting(&world, shops[0]), ["c"]);
    assert_eq!(waiting(&world, shops[1]), ["u"]);
}

#[test]
fn a_message_without_its_property_is_not_sent() {
    let mut it = Scenario::definitions(&format!(
        r#"{ORDERS}{KEY} <process id="p" isExecutable="true"><startEvent id="start"/>
             <endEvent id="e"><messageEventDefinition messageRef="M"/></endEvent>
             <path>start e</path></process>"#
    ));
    it.start("{}");
    let message = &it.incident("e").unwrap().message;
    assert!(message.contains("`id`"), "{message}");
}

#[test]
fn a_process_subscribes_by_what_it_knows() {
    let mut world = world(&format!(
        r#"{ORDERS}{KEY} <process id="p" isExecutable="true"> {} <userTask id="u"/>
             <receiveTask id="r" messageRef="O"/> <path>c u r</path>
             <correlationSubscription correlationKeyRef="K">
               <correlationPropertyBinding correlationPropertyRef="P"><dataPath>mine.number</dataPath>
               </correlationPropertyBinding></correlationSubscription></process>"#,
        catch("c", "N")
    ));
    let ids =
        [1, 2].map(|it| start(&mut world, "p", &format!(r#"{{"mine": {{"number": {it}}}}}"#)));
    send(&mut world, "paid", r#"{"bill": {"order": 2}}"#);
    assert_eq!(waiting(&world, ids[0]), ["c"]);
    assert_eq!(waiting(&world, ids[1]), ["u"]);
}

/// A shop that sends its order along these flows, and two banks that would take it.
fn banks(flows: &str) -> Sandbox {
    let bank = |id: &str| {
        format!(
            r#"<process id="{id}" isExecutable="true">
                 <startEvent id="{id}-start"><messageEventDefinition messageRef="M"/></startEvent>
                 <userTask id="{id}-pay"/> <endEvent id="{id}-end"/>
                 <path>{id}-start {id}-pay {id}-end</path></process>"#
        )
    };
    world(&format!(
        r#"<message id="M" name="order"/>
           <collaboration id="C"> <participant id="S" processRef="shop"/>
             <participant id="A" processRef="a"/> <participant id="B" processRef="b"/>
             <participant id="X"/> {flows} </collaboration>
           <process id="shop" isExecutable="true"> <startEvent id="start"/>
             <endEvent id="order"><messageEventDefinition messageRef="M"/></endEvent>
             <path>start order</path></process> {} {}"#,
        bank("a"),
        bank("b")
    ))
}

#[test]
fn a_message_goes_where_its_flow_leads() {
    let flow =
        |to: &str| format!(r#"<messageFlow id="F-{to}" sourceRef="order" targetRef="{to}"/>"#);
    let started = |flows: &str| {
        let mut world = banks(flows);
        start(&mut world, "shop", "{}");
        let all = world.instances().map(|it| it.definition.id.to_string());
        all.filter(|it| it != "shop").collect::<Vec<_>>().join(" ")
    };
    assert_eq!(started(""), "a", "any of them without a flow, the first here");
    assert_eq!(started(&flow("b-start")), "b", "to an element");
    assert_eq!(started(&flow("B")), "b", "to a participant");
    assert_eq!(started(&flow("X")), "a", "who is not here restricts nothing");
    assert_eq!(started(&flow("b-pay")), "b", "into a participant");
}

#[test]
fn a_message_along_a_flow_waits_for_its_receiver_and_no_other_gets_it() {
    let mut world = world(&format!(
        r#"<message id="M" name="order"/>
           <collaboration id="C"> <participant id="S" processRef="shop"/>
             <participant id="P" processRef="p"/>
             <messageFlow id="F" sourceRef="order" targetRef="second"/> </collaboration>
           <process id="shop" isExecutable="true"> <sendTask id="order" messageRef="M"/></process>
           <process id="p" isExecutable="true"> {} <userTask id="u"/> {} <userTask id="v"/>
             <path>first u second v</path></process>
           <process id="stranger" isExecutable="true"> {} </process>"#,
        catch("first", "M"),
        catch("second", "M"),
        r#"<receiveTask id="third" messageRef="M"/>"#,
    ));
    let stranger = start(&mut world, "stranger", "{}");
    let p = start(&mut world, "p", "{}");
    start(&mut world, "shop", "{}");
    assert_eq!(waiting(&world, p), ["first"]);
    assert_eq!(waiting(&world, stranger), ["third"]);
    // Who comes from outside may go anywhere.
    send(&mut world, "order", "{}");
    assert_eq!(waiting(&world, stranger), Vec::<String>::new());
    send(&mut world, "order", "{}");
    assert_eq!(waiting(&world, p), ["u"]);
    let wait =
        *world.instance(p).expect("it is there").state.waits.iter().next().expect("u waits").0;
    world.complete(travertine_runtime::Address { instance: p, wait }, Vec::new()).unwrap();
    assert_eq!(waiting(&world, p), ["v"], "what was held is for it");
}

/// A process that takes part in conversations about an order of a client.
fn of_two_properties(inside: &str) -> Scenario {
    let property = |id: &str, name: &str, path: &str| {
        format!(
            r#"<correlationProperty id="{id}" name="{name}">
               <correlationPropertyRetrievalExpression messageRef="M"><messagePath>{path}</messagePath>
               </correlationPropertyRetrievalExpression>
               <correlationPropertyRetrievalExpression messageRef="N"><messagePath>{path}</messagePath>
               </correlationPropertyRetrievalExpression></correlationProperty>"#
        )
    };
    let mut it = Scenario::definitions(&format!(
        r#"<message id="M" name="placed"/> <message id="N" name="paid"/> {} {}
           <collaboration id="C"><correlationKey id="K" name="conversation">
             <correlationPropertyRef>P</correlationPropertyRef>
             <correlationPropertyRef>Q</correlationPropertyRef></correlationKey></collaboration>
           <process id="p" isExecutable="true">{inside}</process>"#,
        property("P", "order", "id"),
        property("Q", "client", "client")
    ));
    it.start("{}");
    it
}

fn correlation(all: &[(Name, impl Display)]) -> String {
    let all: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    all.join(" ")
}

#[test]
fn a_conversation_agrees_on_each_property_of_its_key() {
    let mut it = of_two_properties(&format!(
        r#"<parallelGateway id="fork"/> {} {} {} <path>fork a</path> <path>fork b</path> <path>fork c</path>"#,
        catch("a", "M"),
        catch("b", "N"),
        catch("c", "N")
    ));
    it.message("placed", r#"{"id": 1, "client": 2}"#);
    assert_eq!(it.variables(), r#"{"client":2,"conversation":{"order":1,"client":2},"id":1}"#);
    let waits = it.instance.waits.values().filter_map(|it| match &*it.on {
        WaitFor::Message { correlation: it, .. } => Some(correlation(it)),
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), ["order=1 client=2"; 2]);
}

#[test]
fn what_a_message_says_itself_goes_before_what_the_conversation_is_about() {
    let mut it = of_two_properties(&format!(
        r#"{} <intermediateThrowEvent id="t"><extensionElements>
             <tv:correlation name="client">9</tv:correlation>
             <tv:payload name="id">null</tv:payload></extensionElements>
             <messageEventDefinition messageRef="N"/></intermediateThrowEvent> <path>a t</path>"#,
        catch("a", "M"),
    ));
    it.message("placed", r#"{"id": 1, "client": 2}"#);
    let sent = it.events.iter().find_map(|it| {
        let post = match it {
            Event::Posted { what, .. } => &**what,
            Event::WaitOpened { on, .. } => match &**on {
                WaitFor::Delivery(post) => post,
                _ => return None,
            },
            _ => return None,
        };
        match post {
            Post::Message { correlation: it, .. } => Some(correlation(it)),
            _ => None,
        }
    });
    assert_eq!(sent.as_deref(), Some("client=9 order=1"), "null is nothing said");
}
