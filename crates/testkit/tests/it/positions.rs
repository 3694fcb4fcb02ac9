//! Each kind of event in each of its positions, and constructs in places where they are rare.
//! `docs/bpmn-coverage.md` names these tests.

use travertine_kernel::WaitFor;
use travertine_testkit::Scenario;

const DECLARED: &str = r#"<message id="M" name="M"/> <message id="N" name="N"/> <signal id="S" name="S"/>
    <error id="E" errorCode="E"/> <escalation id="U" escalationCode="U"/>"#;

/// Kinds of event that something can happen by, and whether all of them interrupt.
const KINDS: [(&str, &str); 6] = [
    ("message", r#"<messageEventDefinition messageRef="M"/>"#),
    ("signal", r#"<signalEventDefinition signalRef="S"/>"#),
    ("timer", "<timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition>"),
    (
        "conditional",
        "<conditionalEventDefinition><condition>x > 1</condition></conditionalEventDefinition>",
    ),
    ("escalation", r#"<escalationEventDefinition escalationRef="U"/>"#),
    ("error", r#"<errorEventDefinition errorRef="E"/>"#),
];

fn definitions(inside: &str) -> Scenario {
    let mut it = Scenario::definitions(&format!(
        r#"{DECLARED}<process id="p" isExecutable="true">{inside}</process>"#
    ));
    it.start(r#"{"x": 0}"#);
    it
}

/// Lets the event happen.
fn happen(it: &mut Scenario, kind: &str) {
    match kind {
        "message" => it.message("M", "{}"),
        "signal" => it.signal("S", "{}"),
        "timer" => it.advance(1000),
        "conditional" => it.set(r#"{"x": 2}"#),
        "escalation" => it.escalate("work", "U"),
        "error" => it.raise("work", "E"),
        other => panic!("{other} is no kind of event"),
    }
}

#[test]
fn event_sub_processes_begin_by_every_kind_of_event_and_interrupt_or_not() {
    for (kind, definition) in KINDS {
        for interrupting in [true, false] {
            if kind == "error" && !interrupting {
                continue;
            }
            let event = format!(
                r#"<subProcess id="handler" triggeredByEvent="true">
                     <startEvent id="begun" isInterrupting="{interrupting}">{definition}</startEvent>
                     <userTask id="handle"/> <endEvent id="handled"/>
                     <path>begun handle handled</path></subProcess>"#
            );
            let inside = format!(
                r#"<startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/>
                   <path>start work end</path> {event}"#
            );
            // In the process, and in a sub-process in it, which goes on when all inside is done.
            let nested =
                inside.replace("id=\"start\"", "id=\"in\"").replace("start work", "in work");
            let nested = nested.replace("\"end\"", "\"out\"").replace("work end", "work out");
            let nested = format!(
                r#"<startEvent id="start"/> <subProcess id="sub">{nested}</subProcess>
                   <endEvent id="end"/> <path>start sub end</path>"#
            );
            for model in [&inside, &nested] {
                let mut it = definitions(model);
                assert_eq!(it.waiting(), ["work"], "{kind}");
                happen(&mut it, kind);
                let both = if interrupting { vec!["handle"] } else { vec!["handle", "work"] };
                assert_eq!(it.waiting(), both, "{kind} interrupting: {interrupting}");
                it.complete("handle", "{}");
                assert_eq!(it.is_completed(), interrupting, "{kind}");
                if !interrupting {
                    it.complete("work", "{}");
                    assert!(it.is_completed(), "{kind}");
                }
            }
        }
    }
}

#[test]
fn boundary_events_of_every_kind_interrupt_or_not() {
    let work =
        [r#"<userTask id="work"/>"#, r#"<subProcess id="host"><userTask id="work"/></subProcess>"#];
    for (kind, definition) in KINDS {
        for interrupting in [true, false] {
            if kind == "error" && !interrupting {
                continue;
            }
            for activity in work {
                let host = if activity.contains("host") { "host" } else { "work" };
                let mut it = definitions(&format!(
                    r#"<startEvent id="start"/> {activity} <userTask id="next"/> <endEvent id="end"/>
                       <boundaryEvent id="beside" attachedToRef="{host}"
                        cancelActivity="{interrupting}">{definition}</boundaryEvent>
                       <userTask id="handle"/> <endEvent id="handled"/>
                       <path>start {host} next end</path> <path>beside handle handled</path>"#
                ));
                happen(&mut it, kind);
                if interrupting {
                    assert_eq!(it.waiting(), ["handle"], "{kind} at {host}");
                    assert!(it.armed().iter().all(|it| *it == "handle"), "{kind}");
                } else {
                    assert_eq!(it.waiting(), ["handle", "work"], "{kind} at {host}");
                    it.complete("work", "{}");
                    assert_eq!(it.waiting(), ["handle", "next"], "{kind} at {host}");
                    it.complete("next", "{}");
                }
                it.complete("handle", "{}");
                assert!(it.is_completed(), "{kind}");
            }
        }
    }
}

#[test]
fn catch_events_of_every_kind_let_the_token_wait() {
    let date = "<timerEventDefinition><timeDate>1970-01-01T00:00:01Z</timeDate>\
                </timerEventDefinition>";
    let caught = KINDS.into_iter().take(4).chain([("timer", date)]);
    for (kind, definition) in caught {
        let mut it = definitions(&format!(
            r#"<startEvent id="start"/> <intermediateCatchEvent id="catch">{definition}
               </intermediateCatchEvent> <userTask id="after"/> <endEvent id="end"/>
               <path>start catch after end</path>"#
        ));
        assert_eq!(it.waiting(), ["catch"], "{kind}");
        happen(&mut it, kind);
        assert_eq!(it.waiting(), ["after"], "{kind}");
    }
}

#[test]
fn several_definitions_at_a_boundary_and_at_an_event_sub_process_need_one_or_all() {
    let several =
        r#"<messageEventDefinition messageRef="M"/><signalEventDefinition signalRef="S"/>"#;
    for all in [false, true] {
        let boundary = format!(
            r#"<boundaryEvent id="beside" attachedToRef="work" parallelMultiple="{all}">{several}
               </boundaryEvent> <userTask id="handle"/> <path>beside handle end</path>"#
        );
        let event = format!(
            r#"<subProcess id="handler" triggeredByEvent="true">
                 <startEvent id="begun" parallelMultiple="{all}">{several}</startEvent>
                 <userTask id="handle"/> <endEvent id="handled"/>
                 <path>begun handle handled</path></subProcess>"#
        );
        for handler in [boundary, event] {
            let mut it = definitions(&format!(
                r#"<startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/>
                   <path>start work end</path> {handler}"#
            ));
            it.signal("S", "{}");
            assert_eq!(it.waiting(), if all { ["work"] } else { ["handle"] });
            if all {
                it.message("M", "{}");
                assert_eq!(it.waiting(), ["handle"]);
            }
        }
    }
}

#[test]
fn an_event_sub_process_in_an_ad_hoc_sub_process_interrupts_it() {
    let mut it = definitions(
        r#"<startEvent id="start"/>
           <adHocSubProcess id="visit"> <userTask id="a"/> <userTask id="b"/>
             <subProcess id="handler" triggeredByEvent="true">
               <startEvent id="begun"><signalEventDefinition signalRef="S"/></startEvent>
               <userTask id="handle"/> <endEvent id="handled"/> <path>begun handle handled</path>
             </subProcess>
           </adHocSubProcess> <userTask id="next"/> <endEvent id="end"/>
           <path>start visit next end</path>"#,
    );
    assert_eq!(it.waiting(), ["a", "b"]);
    it.signal("S", "{}");
    assert_eq!(it.waiting(), ["handle"]);
    it.complete("handle", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

#[test]
fn what_undoes_may_be_a_task_a_sub_process_or_a_call_and_sees_how_things_were() {
    let sub =
        r#"<subProcess id="undo" isForCompensation="true"><userTask id="inside"/></subProcess>"#;
    for (handler, at) in [
        (r#"<userTask id="undo" isForCompensation="true"/>"#, "undo"),
        (sub, "inside"),
        (r#"<callActivity id="undo" isForCompensation="true" calledElement="q"/>"#, "undo"),
    ] {
        let mut it = definitions(&format!(
            r#"<startEvent id="start"/>
               <subProcess id="scope"> <startEvent id="in"/> <userTask id="work"/>
                 <boundaryEvent id="of-work" attachedToRef="work"><compensateEventDefinition/>
                 </boundaryEvent> {handler}
                 <association id="undoing" sourceRef="of-work" targetRef="undo"
                  associationDirection="One"/>
                 <endEvent id="out"/> <path>in work out</path></subProcess>
               <userTask id="between"/>
               <intermediateThrowEvent id="back"><compensateEventDefinition/>
               </intermediateThrowEvent> <endEvent id="end"/> <path>start scope between back end</path>"#
        ));
        it.complete("work", r#"{"room": 7}"#);
        assert_eq!(it.waiting(), ["between"]);
        it.complete("between", "{}");
        assert_eq!(it.waiting(), [at]);
        assert_eq!(
            it.seen_at(at, "room").as_deref(),
            Some("7"),
            "the scope is gone, its data is not"
        );
        it.complete(at, "{}");
        assert!(it.is_completed(), "{at}");
    }
}

#[test]
fn the_standards_way_to_name_people_is_read() {
    let role = |kind: &str, text: &str| {
        format!(
            "<{kind}><resourceAssignmentExpression><formalExpression>{text}</formalExpression>\
             </resourceAssignmentExpression></{kind}>"
        )
    };
    let it = definitions(&format!(
        r#"<userTask id="work">{}{}</userTask>"#,
        role("humanPerformer", "ann"),
        role("potentialOwner", "sales")
    ));
    let wait = it.waits_at("work")[0];
    let WaitFor::Work(job) = &*it.instance.waits[&wait].on else { panic!("it is work") };
    let texts: Vec<String> =
        job.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(texts, [r#"assignee="ann""#, r#"candidateGroups="sales""#]);
}

#[test]
fn what_only_documents_a_process_changes_nothing() {
    let plain = r#"<startEvent id="start"/> <userTask id="work"/> <endEvent id="end"/>
        <path>start work end</path>"#;
    let documented = format!(
        r#"<documentation>why</documentation>
           <laneSet id="lanes"><lane id="sales"><flowNodeRef>work</flowNodeRef></lane></laneSet>
           {plain} <textAnnotation id="note"><text>look</text></textAnnotation>
           <association id="noted" sourceRef="note" targetRef="work"/>
           <group id="around"/>"#
    );
    let mut runs = [definitions(plain), definitions(&documented)];
    for it in &mut runs {
        it.complete("work", r#"{"y": 1}"#);
        assert!(it.is_completed());
    }
    assert_eq!(runs[0].trace(), runs[1].trace());
}

#[test]
fn a_data_store_is_nobodys_variable() {
    let store = r#"<dataStoreReference id="store" name="store"/> <userTask id="work">
        <ioSpecification><dataOutput id="made"/><inputSet/><outputSet>
          <dataOutputRefs>made</dataOutputRefs></outputSet></ioSpecification>
        <dataOutputAssociation id="kept"><sourceRef>made</sourceRef><targetRef>store</targetRef>
        </dataOutputAssociation></userTask>"#;
    let process = format!(r#"<process id="p" isExecutable="true">{store}</process>"#);
    let report = Scenario::report(&process);
    assert!(!report.is_rejected());
    assert!(report.diagnostics.iter().any(|it| it.message.contains("store")), "it is said");
    let mut it = definitions(store);
    it.complete("work", r#"{"made": 3}"#);
    assert_eq!(it.variables(), r#"{"x":0}"#);
}

#[test]
fn types_are_checked_against_each_other_and_have_no_other_effect() {
    let typed = |is_list: bool| {
        format!(
            r#"<itemDefinition id="orders" structureRef="xsd:string" isCollection="{is_list}"/>
               <process id="p" isExecutable="true"> <dataObject id="all" itemSubjectRef="orders"/>
                 <userTask id="work"/></process>"#
        )
    };
    assert!(Scenario::report(&typed(true)).is_rejected(), "one is a list and one is not");
    let mut it = Scenario::definitions(&typed(false));
    it.start(r#"{"all": 7}"#);
    assert_eq!(it.variables(), r#"{"all":7}"#, "the number is no text, and nobody minds");
}
