//! Data as BPMN 2.0 describes it in 10.4: objects, properties, inputs, outputs, associations, and
//! what comes with events.

use travertine_kernel::{Command, Event, Post, WaitFor};
use travertine_testkit::Scenario;

fn started(inside: &str) -> Scenario {
    let mut it = Scenario::process(inside);
    it.start("{}");
    it
}

/// An `ioSpecification` with these inputs and outputs, each its own name, in one set each.
fn io(inputs: &str, outputs: &str) -> String {
    let each = |names: &str, text: &str| -> String {
        names.split_whitespace().map(|it| text.replace('$', it)).collect()
    };
    format!(
        "<ioSpecification>{}{}<inputSet>{}</inputSet><outputSet>{}</outputSet></ioSpecification>",
        each(inputs, r#"<dataInput id="$"/>"#),
        each(outputs, r#"<dataOutput id="$"/>"#),
        each(inputs, "<dataInputRefs>$</dataInputRefs>"),
        each(outputs, "<dataOutputRefs>$</dataOutputRefs>"),
    )
}

fn input(from: &str, to: &str) -> String {
    format!(
        "<dataInputAssociation><sourceRef>{from}</sourceRef><targetRef>{to}</targetRef></dataInputAssociation>"
    )
}

fn output(from: &str, to: &str) -> String {
    input(from, to).replace("Input", "Output")
}

#[test]
fn a_data_object_is_a_variable_of_the_scope_it_lies_in() {
    let value = "<extensionElements><tv:value>2 * 3</tv:value></extensionElements>";
    let mut it = started(&format!(
        r#"<dataObject id="d" name="total">{value}</dataObject>
           <dataObject id="e" name="empty"/>
           <startEvent id="start"/>
           <subProcess id="sub"> <dataObject id="inner" name="total"/> <userTask id="a"/></subProcess>
           <userTask id="b"/> <endEvent id="end"/> <path>start sub b end</path>"#
    ));
    assert_eq!(it.variables(), r#"{"empty":null,"total":6}"#);
    assert_eq!(it.seen_at("a", "total").as_deref(), Some("null"), "the inner one hides the outer");
    it.complete("a", r#"{"total": 7}"#);
    assert_eq!(it.seen_at("b", "total").as_deref(), Some("6"), "and is gone with its scope");
}

#[test]
fn what_an_instance_is_given_at_its_start_comes_before_first_values() {
    let value = "<extensionElements><tv:value>1</tv:value></extensionElements>";
    let mut it = Scenario::process(&format!(
        r#"<property id="p1" name="rate">{value}</property> <dataObject id="order"/>
           <userTask id="a"/>"#
    ));
    it.start(r#"{"rate": 5, "order": "x"}"#);
    assert_eq!(it.variables(), r#"{"order":"x","rate":5}"#);
}

#[test]
fn references_share_the_object_they_stand_for() {
    let mut it = started(&format!(
        r#"<dataObject id="d"/> <dataObjectReference id="new" name="order" dataObjectRef="d"/>
           <dataObjectReference id="paid" name="Order, paid" dataObjectRef="d"/>
           <userTask id="a">{}{}</userTask> <userTask id="b">{}{}</userTask>
           <path>a b</path>"#,
        io("", "made"),
        output("made", "paid"),
        io("seen", ""),
        input("new", "seen")
    ));
    it.complete("a", r#"{"made": 3}"#);
    assert_eq!(it.variables(), r#"{"order":3}"#);
    assert_eq!(it.seen_at("b", "seen").as_deref(), Some("3"));
}

#[test]
fn an_activity_waits_until_the_data_it_needs_is_there() {
    let mut it = started(&format!(
        r#"<dataObject id="order"/> <dataObject id="customer"/>
           <parallelGateway id="fork"/>
           <userTask id="ship">{}{}{}</userTask> <userTask id="write">{}{}</userTask>
           <path>fork ship</path> <path>fork write</path>"#,
        io("what whom", ""),
        input("order", "what"),
        input("customer", "whom"),
        io("", "written"),
        output("written", "order"),
    ));
    let missing = |it: &Scenario| {
        let wait = it.waits_at("ship")[0];
        match &*it.instance.waits[&wait].on {
            WaitFor::Data { missing } => missing.join(" "),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(missing(&it), "order customer");
    it.complete("write", r#"{"written": 7}"#);
    assert_eq!(missing(&it), "customer", "one of two is not enough");
    assert_eq!(it.variables(), r#"{"customer":null,"order":7}"#);
    it.set(r#"{"customer": "Ada"}"#);
    assert_eq!(it.seen_at("ship", "whom").as_deref(), Some(r#""Ada""#));
    it.complete("ship", "{}");
    assert!(it.is_completed());
}

#[test]
fn one_complete_set_is_enough_and_optional_inputs_are_not_needed() {
    let task = |optional: &str| {
        format!(
            r#"<dataObject id="a"/> <dataObject id="b"/>
               <userTask id="t"><ioSpecification> <dataInput id="x"/> <dataInput id="y"/>
                 <inputSet><dataInputRefs>x</dataInputRefs><dataInputRefs>y</dataInputRefs>
                   {optional}</inputSet>
                 <inputSet><dataInputRefs>y</dataInputRefs></inputSet>
                 <outputSet/></ioSpecification> {}{}</userTask>"#,
            input("a", "x"),
            input("b", "y")
        )
    };
    let is_waiting = |it: &Scenario| {
        let wait = it.waits_at("t")[0];
        matches!(*it.instance.waits[&wait].on, WaitFor::Data { .. })
    };
    for (optional, given, waits) in [
        ("", r#"{"a": 1}"#, true),
        ("", r#"{"b": 1}"#, false),
        ("<optionalInputRefs>y</optionalInputRefs>", r#"{"a": 1}"#, false),
        ("<whileExecutingInputRefs>y</whileExecutingInputRefs>", r#"{"a": 1}"#, false),
        ("<optionalInputRefs>x</optionalInputRefs>", "{}", true),
    ] {
        let mut it = Scenario::process(&task(optional));
        it.start(given);
        assert_eq!(is_waiting(&it), waits, "{optional} {given}");
    }
}

#[test]
fn an_activity_may_be_told_to_begin_without_its_data() {
    let mut it = started(&format!(
        r#"<dataObject id="a"/> <userTask id="t">{}{}</userTask>"#,
        io("x", ""),
        input("a", "x")
    ));
    it.complete("t", r#"{"other": 1}"#);
    assert_eq!(it.waiting(), ["t"]);
    assert_eq!(it.seen_at("t", "x").as_deref(), Some("null"));
    it.complete("t", "{}");
    assert!(it.is_completed());
}

#[test]
fn what_an_activity_did_not_produce_is_not_copied() {
    let mut it = Scenario::process(&format!(
        r#"<dataObject id="result"/> <userTask id="t">{}{}</userTask> <userTask id="after"/>
           <path>t after</path>"#,
        io("", "made"),
        output("made", "result")
    ));
    // A variable that happens to have the name of the output is not what the task produced.
    it.start(r#"{"result": 1, "made": 2}"#);
    it.complete("t", r#"{"remark": "none"}"#);
    assert_eq!(it.variables(), r#"{"made":2,"remark":"none","result":1}"#);
}

#[test]
fn an_output_goes_to_the_scope_that_has_the_object() {
    let mut it = started(&format!(
        r#"<dataObject id="far"/>
           <subProcess id="sub"> <dataObject id="near"/>   <scriptTask id="t">{}{}{}<script>a = 1; b = 2; near = 0</script></scriptTask>
             <userTask id="u"/> <path>t u</path> </subProcess>"#,
        io("", "a b"),
        output("a", "far"),
        output("b", "near")
    ));
    assert_eq!(it.variables(), r#"{"far":1}"#);
    assert_eq!(it.seen_at("u", "near").as_deref(), Some("2"));
    assert_eq!(it.seen_at("u", "a"), None);
    it.complete("u", "{}");
    assert!(it.is_completed());
}

#[test]
fn associations_transform_and_assign() {
    let transformed = |text: &str| {
        input("order", "x")
            .replace("</dataInput", &format!("<transformation>{text}</transformation></dataInput"))
    };
    let assigned = output("made", "order").replace(
        "</dataOutput",
        "<assignment><from>made * 2</from><to>order.price.total</to></assignment>\
         <assignment><from>'EUR'</from><to>price.currency</to></assignment></dataOutput",
    );
    let mut it = Scenario::process(&format!(
        r#"<dataObject id="order"/> <userTask id="t">{}{}{assigned}</userTask> <userTask id="u"/>
           <path>t u</path>"#,
        io("x", "made"),
        transformed("order.id + 1"),
    ));
    it.start(r#"{"order": {"id": 6}}"#);
    assert_eq!(it.seen_at("t", "x").as_deref(), Some("7"));
    it.complete("t", r#"{"made": 4}"#);
    assert_eq!(it.variables(), r#"{"order":{"id":6,"price":{"total":8,"currency":"EUR"}}}"#);
}

#[test]
fn properties_live_as_long_as_their_activity() {
    let mut it = started(
        r#"<scriptTask id="t"><property id="p1" name="scratch"/>
             <dataOutputAssociation><sourceRef>p1</sourceRef><targetRef>d</targetRef></dataOutputAssociation>
             <script>scratch = 5</script></scriptTask>
           <dataObject id="d" name="kept"/> <userTask id="u"/> <path>t u</path>"#,
    );
    assert_eq!(it.variables(), r#"{"kept":5}"#);
    it.complete("u", "{}");
    assert!(it.is_completed());
}

const CATCH: &str = r#"<dataOutput id="got"/>
    <dataOutputAssociation><sourceRef>got</sourceRef><targetRef>d</targetRef></dataOutputAssociation>
    <outputSet><dataOutputRefs>got</dataOutputRefs></outputSet>"#;

const THROW: &str = r#"<dataInput id="sent"/>
    <dataInputAssociation><sourceRef>d</sourceRef><targetRef>sent</targetRef></dataInputAssociation>
    <inputSet><dataInputRefs>sent</dataInputRefs></inputSet>"#;

/// The process with this inside, among messages and the like.
fn with_events(inside: &str) -> Scenario {
    Scenario::definitions(&format!(
        r#"<message id="M" name="M"/> <signal id="S" name="S"/> <error id="E" errorCode="E"/>
           <escalation id="U" escalationCode="U"/>
           <process id="p" isExecutable="true"><dataObject id="d"/> {inside}</process>"#
    ))
}

#[test]
fn what_comes_with_a_message_is_the_data_of_the_event_that_catches_it() {
    let definition = r#"<messageEventDefinition messageRef="M"/>"#;
    let mut it = with_events(&format!(
        r#"<intermediateCatchEvent id="c">{CATCH}{definition}</intermediateCatchEvent>
           <userTask id="u"/> <path>c u</path>"#
    ));
    let mut named = it.again();
    it.start("{}");
    it.message("M", r#"{"id": 7, "sum": 8}"#);
    assert_eq!(it.variables(), r#"{"d":{"id":7,"sum":8}}"#);
    named.start("{}");
    named.message("M", r#"{"got": 7, "sum": 8}"#);
    assert_eq!(named.variables(), r#"{"d":7,"sum":8}"#, "it is there by name");

    let mut it = with_events(&format!(
        r#"<startEvent id="start">{CATCH}{definition}</startEvent>
           <userTask id="u"/> <endEvent id="end"/> <path>start u end</path>"#
    ));
    it.start_at("start", r#"{"id": 7}"#);
    assert_eq!(it.seen_at("u", "d").as_deref(), Some(r#"{"id":7}"#));

    let mut it = with_events(&format!(
        r#"<userTask id="t"/> <boundaryEvent id="b" attachedToRef="t">{CATCH}{definition}</boundaryEvent>
           <userTask id="u"/> <path>b u</path>"#
    ));
    it.start("{}");
    it.message("M", r#"{"id": 7}"#);
    assert_eq!(it.waiting(), ["u"]);
    assert_eq!(it.variables(), r#"{"d":{"id":7}}"#);

    let mut it = with_events(&format!(
        r#"<receiveTask id="r" messageRef="M">{}{}</receiveTask> <userTask id="u"/> <path>r u</path>"#,
        io("", "got"),
        output("got", "d")
    ));
    it.start("{}");
    it.complete("r", r#"{"id": 7}"#);
    assert_eq!(it.variables(), r#"{"d":{"id":7}}"#);
}

#[test]
fn what_an_event_throws_is_its_data() {
    let sent = |it: &Scenario| {
        let posted = it.events.iter().find_map(|it| match it {
            Event::Posted { what, .. } => Some(what),
            _ => None,
        });
        match posted.map(|it| &**it) {
            Some(Post::Message { payload, .. } | Post::Signal { payload, .. }) => {
                let all: Vec<_> = payload.iter().map(|(name, it)| format!("{name}={it}")).collect();
                all.join(" ")
            }
            other => panic!("{other:?} was sent"),
        }
    };
    for definition in
        [r#"<messageEventDefinition messageRef="M"/>"#, r#"<signalEventDefinition signalRef="S"/>"#]
    {
        let mut it = with_events(&format!(
            r#"<startEvent id="start"/> <endEvent id="e">{THROW}{definition}</endEvent> <path>start e</path>"#
        ));
        let mut plain = it.again();
        it.start(r#"{"d": {"id": 7}}"#);
        assert_eq!(sent(&it), "id=7", "the fields of an object");
        plain.start(r#"{"d": 7}"#);
        assert_eq!(sent(&plain), "sent=7", "anything else has a name");
    }
    let mut it = with_events(&format!(
        r#"<sendTask id="s" messageRef="M">{}{}</sendTask>"#,
        io("sent", ""),
        input("d", "sent")
    ));
    it.start(r#"{"d": {"id": 7}}"#);
    let wait = it.waits_at("s")[0];
    let WaitFor::Delivery(Post::Message { payload, .. }) = &*it.instance.waits[&wait].on else {
        panic!("it sends")
    };
    assert_eq!(payload.len(), 1);
    it.ask(Command::Complete { wait, variables: Vec::new() }).unwrap();
    assert!(it.is_completed());
}

#[test]
fn errors_and_escalations_carry_data() {
    for (kind, reference) in [("error", "E"), ("escalation", "U")] {
        let definition = format!(r#"<{kind}EventDefinition {kind}Ref="{reference}"/>"#);
        let caught = CATCH.replace("<targetRef>d<", "<targetRef>c<");
        let mut it = with_events(&format!(
            r#"<dataObject id="c"/>
               <subProcess id="sub"><startEvent id="start"/> <endEvent id="e">{THROW}{definition}</endEvent>
                 <path>start e</path></subProcess>
               <boundaryEvent id="b" attachedToRef="sub">{caught}{definition}</boundaryEvent>
               <userTask id="u"/> <path>b u</path>"#
        ));
        it.start(r#"{"d": {"id": 7}}"#);
        assert_eq!(it.waiting(), ["u"], "{kind}");
        assert_eq!(it.variables(), r#"{"c":{"id":7},"d":{"id":7}}"#, "{kind}");
    }
    // Nobody catches it: it stays where it is, and can be tried again.
    let mut it = with_events(&format!(
        r#"<startEvent id="start"/> <endEvent id="e">{THROW}<errorEventDefinition errorRef="E"/></endEvent>
           <path>start e</path>"#
    ));
    it.start(r#"{"d": 1}"#);
    assert!(it.incident("e").is_some());
    it.retry("e");
    assert!(it.incident("e").is_some());
}

#[test]
fn a_loop_runs_for_the_items_of_a_data_object() {
    let mut it = Scenario::process(&format!(
        r#"<dataObject id="orders" isCollection="true"/> <dataObject id="bills" isCollection="true"/>
           <userTask id="t">{}{}{}
             <multiInstanceLoopCharacteristics>
               <loopDataInputRef>all</loopDataInputRef> <loopDataOutputRef>done</loopDataOutputRef>
               <inputDataItem id="order"/> <outputDataItem id="bill"/>
             </multiInstanceLoopCharacteristics></userTask> <userTask id="after"/> <path>t after</path>"#,
        io("all", "done").replace("/>", r#" isCollection="true"/>"#),
        input("orders", "all"),
        output("done", "bills"),
    ));
    it.start("{}");
    assert!(matches!(*it.instance.waits[&it.waits_at("t")[0]].on, WaitFor::Data { .. }));
    it.set(r#"{"orders": [1, 2]}"#);
    assert_eq!(it.waiting(), ["t", "t"]);
    it.complete_run("t", 0, r#"{"bill": "a"}"#);
    it.complete_run("t", 1, r#"{"bill": "b"}"#);
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.variables(), r#"{"bills":["a","b"],"orders":[1,2]}"#);
}

#[test]
fn the_results_of_a_loop_go_to_the_scope_that_has_the_object() {
    let mut it = started(&format!(
        r#"<dataObject id="bills" isCollection="true"/>
           <subProcess id="sub"><userTask id="t">{}{}
             <multiInstanceLoopCharacteristics> <loopCardinality>1</loopCardinality>
               <loopDataOutputRef>done</loopDataOutputRef> <outputDataItem id="bill"/>
             </multiInstanceLoopCharacteristics></userTask></subProcess> <userTask id="after"/>
           <path>sub after</path>"#,
        io("", "done").replace("/>", r#" isCollection="true"/>"#),
        output("done", "bills"),
    ));
    it.complete("t", r#"{"bill": "a"}"#);
    assert_eq!(it.waiting(), ["after"]);
    assert_eq!(it.variables(), r#"{"bills":["a"]}"#);
}

#[test]
fn a_call_hands_over_what_its_inputs_say_and_takes_back_what_its_outputs_say() {
    let mut it = Scenario::process(&format!(
        r#"<dataObject id="order"/> <dataObject id="bill"/> <dataObject id="secret"/>
           <callActivity id="c" calledElement="q">{}{}{}</callActivity> <userTask id="u"/>
           <path>c u</path>"#,
        io("what", "result"),
        input("order", "what"),
        output("result", "bill"),
    ));
    it.start(r#"{"order": 7, "secret": 8}"#);
    let wait = it.waits_at("c")[0];
    let WaitFor::Child { variables, .. } = &*it.instance.waits[&wait].on else {
        panic!("it calls")
    };
    assert_eq!(variables.len(), 1);
    assert_eq!(&*variables[0].0, "what");
    it.complete("c", r#"{"result": 9, "scrap": 1}"#);
    assert_eq!(it.variables(), r#"{"bill":9,"order":7,"secret":8}"#);
}

#[test]
fn models_for_camunda_take_data_for_a_drawing() {
    let report = Scenario::report(&format!(
        r#"<process id="p" isExecutable="true" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"
                    camunda:historyTimeToLive="1">
             <dataObject id="order"/> <userTask id="t">{}{}</userTask></process>"#,
        io("x", ""),
        input("order", "x")
    ));
    assert_eq!(report.diagnostics.len(), 1, "{:?}", report.diagnostics);
    assert_eq!(report.diagnostics[0].code, "TV0817");
    let plan = &report.processes[0].plan;
    assert!(plan.node(plan.find("t").unwrap()).extras.is_none());
}
