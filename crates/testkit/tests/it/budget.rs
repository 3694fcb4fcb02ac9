//! How much an instance may have: beyond that it has one incident, and goes on when there is less.

use travertine_kernel::{
    Budgets, Command, FailureKind, Instance, Modification, Over, Rejection, TokenId, Which, handle,
    handle_in,
};
use travertine_testkit::Scenario;
use travertine_value::time::Timestamp;

fn process(attributes: &str, body: &str) -> Scenario {
    Scenario::definitions(&format!(
        r#"<error id="E" errorCode="E"/><signal id="again" name="again"/>
           <process id="p" isExecutable="true" {attributes}>
             <startEvent id="start"/>{body}<endEvent id="end"/>
           </process>"#
    ))
}

fn incident(it: &Scenario) -> (TokenId, String) {
    let all: Vec<_> = it.instance.incidents.iter().collect();
    let [(token, incident)] = all[..] else { panic!("{} incidents", all.len()) };
    assert!(matches!(incident.failure.kind, FailureKind::Budget(Some(_))));
    (*token, incident.failure.message.clone())
}

fn retry(it: &mut Scenario) {
    let (token, _) = incident(it);
    it.ask(Command::Retry { token }).expect("it has an incident");
}

#[test]
fn an_activity_that_would_open_too_many_runs_opens_none() {
    let each = r#"<userTask id="t"><multiInstanceLoopCharacteristics>
        <loopCardinality>n</loopCardinality></multiInstanceLoopCharacteristics></userTask>
        <path>start t end</path>"#;
    let mut it = process("", each);
    it.start(r#"{"n": 1000000000}"#);
    let (_, message) = incident(&it);
    assert!(message.contains("1000000000 tokens more"), "{message}");
    assert!(message.contains("tv:tokenLimit"), "{message}");
    assert!(it.instance.tokens.len() < 10);
    it.set(r#"{"n": 3}"#);
    retry(&mut it);
    assert_eq!(it.waits_at("t").len(), 3);
}

#[test]
fn a_sequential_activity_that_would_gather_too_much_does_not_begin() {
    let each = r#"<task id="t"><multiInstanceLoopCharacteristics isSequential="true"
        tv:outputCollection="all" tv:outputElement="1"><loopCardinality>1000000000</loopCardinality>
        </multiInstanceLoopCharacteristics></task><path>start t end</path>"#;
    let mut it = process("", each);
    it.start("{}");
    incident(&it);
}

#[test]
fn a_token_that_would_become_too_many_stays_one() {
    let body = r#"<task id="t" completionQuantity="1000000000"/><userTask id="u"/>
        <boundaryEvent id="b" attachedToRef="t"><errorEventDefinition/></boundaryEvent>
        <path>start t u end</path><path>b end</path>"#;
    let mut it = process("", body);
    it.start("{}");
    incident(&it);
    assert_eq!(it.visits("u"), 0);
    assert_eq!(it.tokens_at("t").len(), 1, "no error of the model: {}", it.trace());
}

#[test]
fn tokens_that_multiply_stop_at_one_incident() {
    let body = r#"<exclusiveGateway id="in"/><parallelGateway id="fork"/><task id="a"/><task id="b"/>
        <path>start in fork a in</path><path>fork b in</path>
        <userTask id="u"/><path>fork u end</path>"#;
    let mut it = process(r#"tv:tokenLimit="1000""#, body);
    it.start("{}");
    incident(&it);
    let count = it.instance.tokens.len();
    assert!((900..=1000).contains(&count), "{count} tokens");
    let first = it.waits_at("u")[0];
    it.ask(Command::Complete { wait: first, variables: Vec::new() }).expect("others go on");
    let (token, _) = incident(&it);
    it.modify(vec![Modification::Withdraw(Which::Token(token))]);
    it.cancel();
    assert!(!it.instance.is_running());
}

#[test]
fn an_event_sub_process_that_throws_what_triggers_it_stops_at_one_incident() {
    let body = r#"<userTask id="t"/><path>start t end</path>
        <subProcess id="on" triggeredByEvent="true"><startEvent id="s" isInterrupting="false">
        <signalEventDefinition signalRef="again"/></startEvent>
        <intermediateThrowEvent id="throw"><signalEventDefinition signalRef="again"/>
        </intermediateThrowEvent><userTask id="u"/><endEvent id="e"/><path>s throw u e</path>
        </subProcess>"#;
    let mut it = process(r#"tv:tokenLimit="500""#, body);
    it.start("{}");
    it.signal("again", "{}");
    incident(&it);
    let count = it.instance.tokens.len();
    assert!((400..=520).contains(&count), "{count} tokens");
}

#[test]
fn variables_that_grow_stop_at_one_incident_and_go_on_when_there_is_less() {
    let body = r#"<exclusiveGateway id="in"/><scriptTask id="grow" scriptFormat="javascript">
        <script>_context.rest = (typeof rest === 'string' ? rest : '') + 'x'.repeat(10000)</script>
        </scriptTask><exclusiveGateway id="done" default="more"/>
        <sequenceFlow id="more" sourceRef="done" targetRef="in"/>
        <sequenceFlow id="out" sourceRef="done" targetRef="end">
        <conditionExpression>stop</conditionExpression></sequenceFlow>
        <path>start in grow done</path>"#;
    let mut it = process(r#"tv:dataLimit="300000""#, body);
    it.start(r#"{"stop": false}"#);
    let (_, message) = incident(&it);
    assert!(message.contains("300000 bytes"), "{message}");
    it.ask(Command::Continue).expect("it may be told so");
    incident(&it);
    retry(&mut it);
    incident(&it);
    it.set(r#"{"rest": null, "stop": true}"#);
    retry(&mut it);
    assert!(it.is_completed(), "{:?}", it.why());
}

#[test]
fn a_turn_is_cut_where_it_has_written_much() {
    let body = r#"<exclusiveGateway id="in"/><scriptTask id="t" scriptFormat="javascript">
        <script>_context.doc = 'x'.repeat(1000000) + n; _context.n = n + 1</script></scriptTask>
        <exclusiveGateway id="done" default="out"/>
        <sequenceFlow id="more" sourceRef="done" targetRef="in">
        <conditionExpression>n &lt; 40</conditionExpression></sequenceFlow>
        <sequenceFlow id="out" sourceRef="done" targetRef="end"/><path>start in t done</path>"#;
    let it = process("", body);
    let (mut instance, now) = (Instance::default(), Timestamp::from_millis(0));
    let variables = vec![("n".into(), 0.into())];
    let mut command = Command::Start { at: Vec::new(), variables, caller: None };
    let mut turns = 0;
    while handle(&it.plan, &mut instance, now, command).expect("it can be done").unfinished {
        turns += 1;
        command = Command::Continue;
    }
    assert_eq!(instance.variables().and_then(|it| it.get("n")), Some(&40.into()));
    assert!((5..=15).contains(&turns), "{turns} turns for 40 MB");
}

#[test]
fn what_comes_with_a_command_is_bounded_in_number_in_length_and_in_all() {
    let many = |count: usize| (0..count).map(|it| (format!("v{it}").into(), it.into())).collect();
    let big = |bytes: usize| -> Vec<_> {
        (0..10).map(|it| (format!("v{it}").into(), "x".repeat(bytes / 10).into())).collect()
    };
    let start = |variables: Vec<_>| Command::Start { at: Vec::new(), variables, caller: None };
    let body = r#"<userTask id="t"/><path>start t end</path>"#;
    for (variables, why) in [
        (many(20_001), Over::Names(20_000)),
        (vec![("x".repeat(5_000).into(), 1.into())], Over::NameBytes(4_096)),
        (big(140_000_000), Over::Bytes(128 << 20)),
    ] {
        let mut it = process("", body);
        assert_eq!(it.ask(start(variables)), Err(Rejection::OverBudget(why)));
    }
    let mut it = process("", body);
    it.ask(start(many(10_000))).expect("that is not too many");
    let wait = it.waits_at("t")[0];
    let refused = it.ask(Command::Complete { wait, variables: many(20_001) });
    assert_eq!(refused, Err(Rejection::OverBudget(Over::Names(20_000))));
    let mut it = process(r#"tv:dataLimit="1000""#, body);
    assert_eq!(it.ask(start(big(2_000))), Err(Rejection::OverBudget(Over::Bytes(1_000))));
}

#[test]
fn results_of_runs_count_as_data_before_the_last_run_is_done() {
    let body = r#"<scriptTask id="each" scriptFormat="javascript"><multiInstanceLoopCharacteristics
          isSequential="true" tv:outputCollection="all" tv:outputElement="one">
          <loopCardinality>100</loopCardinality></multiInstanceLoopCharacteristics>
        <script>_context.one = 'x'.repeat(10000)</script></scriptTask>
        <userTask id="after"/><path>start each after end</path>"#;
    let mut it = process(r#"tv:dataLimit="300000""#, body);
    it.start("{}");
    incident(&it);
    let runs = it.visits("each");
    assert!((20..50).contains(&runs), "{runs} results of 10 kB are within 300 kB");
}

#[test]
fn data_that_grows_by_a_little_in_each_turn_is_noticed() {
    let body = r#"<userTask id="each"><multiInstanceLoopCharacteristics
          isSequential="true" tv:outputCollection="all" tv:outputElement="one">
          <loopCardinality>5000</loopCardinality></multiInstanceLoopCharacteristics></userTask>
        <path>start each end</path>"#;
    // The larger a limit is, the later it is noticed that it was passed.
    for (limit, result, runs_max) in [(10_000, 1_000, 20), (1_000_000, 1_000, 2_100)] {
        let mut it = process(&format!(r#"tv:dataLimit="{limit}""#), body);
        it.start("{}");
        while it.instance.incidents.is_empty() {
            let runs = it.visits("each");
            assert!(runs <= runs_max, "{runs} results of 1 kB are not within {limit} bytes");
            let wait = it.waits_at("each")[0];
            let variables = vec![("one".into(), "x".repeat(result).into())];
            it.ask(Command::Complete { wait, variables }).expect("it is not too much at once");
        }
        incident(&it);
    }
}

#[test]
fn a_turn_is_cut_where_much_has_happened() {
    let body = r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
        <path>start fork a end</path> <path>fork b end</path> <path>fork c end</path>"#;
    let it = process("", body);
    let budgets = Budgets { turn_events: 8, ..Budgets::default() };
    let (mut instance, now) = (Instance::default(), Timestamp::default());
    let mut command = Command::Start { at: Vec::new(), variables: Vec::new(), caller: None };
    let mut turns = 1;
    loop {
        let turn = handle_in(&it.plan, &mut instance, now, command, Vec::new(), &budgets);
        if !turn.expect("it can be done").unfinished {
            break;
        }
        turns += 1;
        command = Command::Continue;
    }
    assert!((2..=4).contains(&turns), "{turns} turns");
    assert_eq!(instance.waits.len(), 3);
}
