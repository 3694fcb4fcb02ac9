//! What operators can do to a running instance: begin anywhere, take tokens away, put tokens
//! elsewhere.

use travertine_kernel::{
    Command, Destination, Ending, FlowId, Instance, Modification, NodeId, Reach, Rejection, State,
    TokenId, WaitId, Which, handle, outstanding,
};
use travertine_testkit::{Scenario, assignments};

const NESTED: &str = r#"<userTask id="first"/>
    <subProcess id="sub">
      <extensionElements><tv:input target="local">base + 1</tv:input></extensionElements>
      <userTask id="a"/>
      <subProcess id="deep"> <userTask id="b"/> <userTask id="c"/>
        <path>b c</path> </subProcess>
      <subProcess id="on-news" triggeredByEvent="true">
        <startEvent id="news" isInterrupting="false"><messageEventDefinition messageRef="M"/>
        </startEvent> <userTask id="read"/> <path>news read</path> </subProcess>
      <path>a deep</path>
    </subProcess>
    <boundaryEvent id="late" attachedToRef="sub"><timerEventDefinition><timeDuration>PT1H</timeDuration>
      </timerEventDefinition></boundaryEvent> <userTask id="hurry"/>
    <userTask id="last"/>
    <path>first sub last</path> <path>late hurry</path>"#;

fn nested() -> Scenario {
    Scenario::definitions(&format!(
        r#"<message id="M" name="M"/> <process id="p" isExecutable="true">{NESTED}</process>"#
    ))
}

fn at(it: &Scenario, node: &str) -> Which {
    Which::At(it.plan.find(node).expect("there is such a node"))
}

fn add(it: &Scenario, node: &str) -> Modification {
    Modification::Add { to: it.before(node), scope: None }
}

fn refused(it: &Scenario, steps: Vec<Modification>) -> String {
    let mut instance = it.instance.clone();
    let refused = handle(&it.plan, &mut instance, it.now, Command::Modify { steps });
    assert_eq!(instance, it.instance, "a refused command changes nothing");
    refused.expect_err("it cannot be done").to_string()
}

#[test]
fn an_instance_begins_at_any_element_with_all_that_is_around_it() {
    let mut it = nested();
    it.start_at("c", r#"{"base": 1}"#);
    assert_eq!(it.waiting(), ["c"]);
    assert_eq!(it.armed(), ["c", "late", "news"]);
    assert_eq!(it.seen_at("c", "local").as_deref(), Some("2"));
    assert_eq!(it.visits("b"), 0);
    it.complete("c", "{}");
    assert_eq!(it.waiting(), ["last"]);
    it.complete("last", "{}");
    assert!(it.is_completed());
}

#[test]
fn an_instance_begins_at_several_elements_which_share_what_is_around_them() {
    let mut it = nested();
    let at = ["a", "c", "b"].map(|node| it.plan.find(node).unwrap()).to_vec();
    it.ask(Command::Start { at, variables: assignments(r#"{"base": 1}"#), caller: None }).unwrap();
    assert_eq!(it.waiting(), ["a", "b", "c"]);
    assert_eq!(it.tokens_at("sub").len(), 1);
    assert_eq!(it.tokens_at("deep").len(), 1);
}

#[test]
fn what_fails_on_the_way_in_is_tried_again_toward_the_same_element() {
    let mut it = nested();
    it.start_at("c", "{}");
    assert!(it.incident("sub").is_some());
    it.set(r#"{"base": 5}"#);
    it.retry("sub");
    assert_eq!(it.waiting(), ["c"]);
    assert_eq!(it.seen_at("c", "local").as_deref(), Some("6"));
}

#[test]
fn an_element_inside_of_what_runs_several_times_is_no_place_to_begin() {
    let mut it = Scenario::process(
        r#"<subProcess id="each"> <userTask id="x"/>
           <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
           </multiInstanceLoopCharacteristics></subProcess>"#,
    );
    let at = vec![it.plan.find("x").unwrap()];
    let refused = it.ask(Command::Start { at, variables: Vec::new(), caller: None }).unwrap_err();
    assert!(refused.to_string().contains("each runs several times"), "{refused}");
}

#[test]
fn a_token_is_moved_and_its_scope_goes_on() {
    let mut it = nested();
    it.start(r#"{"base": 1}"#);
    it.complete("first", "{}");
    let scope = it.tokens_at("sub");
    it.modify(vec![Modification::Move { which: at(&it, "a"), to: it.before("c") }]);
    assert_eq!(it.waiting(), ["c"]);
    assert_eq!(it.tokens_at("sub"), scope);
    // And out again: what it leaves behind empty is withdrawn with its boundary events.
    it.modify(vec![Modification::Move { which: at(&it, "c"), to: it.before("first") }]);
    assert_eq!(it.waiting(), ["first"]);
    assert_eq!(it.armed(), ["first"]);
    it.complete("first", "{}");
    assert_eq!(it.waiting(), ["a"]);
}

#[test]
fn a_scope_that_loses_its_last_token_and_gets_another_does_not_end() {
    let mut it = nested();
    it.start_at("c", r#"{"base": 1}"#);
    let scopes = (it.tokens_at("sub"), it.tokens_at("deep"));
    it.modify(vec![Modification::Withdraw(at(&it, "c")), add(&it, "b")]);
    assert_eq!((it.tokens_at("sub"), it.tokens_at("deep")), scopes);
    assert_eq!(it.waiting(), ["b"]);
}

#[test]
fn withdrawing_the_last_token_withdraws_what_is_around_it_and_cancels() {
    let mut it = nested();
    it.start_at("c", r#"{"base": 1}"#);
    it.modify(vec![Modification::Withdraw(at(&it, "c"))]);
    assert_eq!(it.instance.ending(), Some(&Ending::Cancelled));
    assert!(outstanding(&it.instance).is_empty());
}

#[test]
fn withdrawing_one_of_several_tokens_leaves_the_others() {
    let mut it = nested();
    let both = ["c", "last"].map(|node| it.plan.find(node).unwrap()).to_vec();
    let variables = assignments(r#"{"base": 1}"#);
    it.ask(Command::Start { at: both, variables, caller: None }).unwrap();
    it.modify(vec![Modification::Withdraw(at(&it, "c"))]);
    assert_eq!(it.armed(), ["last"]);
    it.complete("last", "{}");
    assert!(it.is_completed());
}

#[test]
fn variables_are_given_to_scopes_that_are_opened_and_to_those_that_are_open() {
    let mut it = nested();
    it.start(r#"{"base": 1}"#);
    let mut to = it.before("b");
    let find = |name: &str| it.plan.find(name).unwrap();
    to.variables = vec![
        (find("sub"), assignments(r#"{"local": 7}"#)),
        (find("deep"), assignments(r#"{"own": 8}"#)),
        (find("p"), assignments(r#"{"base": 9}"#)),
    ];
    it.modify(vec![Modification::Add { to, scope: None }]);
    assert_eq!(it.waiting(), ["b", "first"]);
    assert_eq!(it.seen_at("b", "local").as_deref(), Some("7"));
    assert_eq!(it.seen_at("b", "own").as_deref(), Some("8"));
    assert_eq!(it.seen_at("deep", "own").as_deref(), Some("8"));
    assert_eq!(it.seen_at("sub", "own"), None);
    assert_eq!(it.seen_at("first", "base").as_deref(), Some("9"));
}

#[test]
fn of_several_open_scopes_one_must_be_named() {
    let mut it = nested();
    it.start_at("a", r#"{"base": 1}"#);
    it.modify(vec![add(&it, "sub")]);
    let subs = it.tokens_at("sub");
    assert_eq!(subs.len(), 2);
    let message = refused(&it, vec![add(&it, "b")]);
    assert_eq!(
        message,
        format!("b lies in several open scopes: name one of {}, {}", subs[0].0, subs[1].0)
    );
    it.modify(vec![Modification::Add { to: it.before("b"), scope: Some(subs[1]) }]);
    assert_eq!(it.waiting(), ["a", "a", "b"]);
    let deep = it.tokens_at("deep");
    assert_eq!(it.instance.tokens[&deep[0]].scope, Some(subs[1]));
}

#[test]
fn nothing_is_added_to_a_scope_that_only_waits_to_be_left() {
    let listener =
        r#"<extensionElements><tv:listener on="end" jobType="note"/></extensionElements>"#;
    for (gate, inside) in [(r#"tv:gate="exit""#, ""), ("", listener)] {
        let mut it = Scenario::process(&format!(
            r#"<subProcess id="sub" {gate}>{inside} <userTask id="a"/></subProcess>
               <userTask id="last"/> <path>sub last</path>"#
        ));
        it.start("{}");
        it.complete("a", "{}");
        let sub = it.tokens_at("sub")[0];
        let why = format!("no token can be put before a: scope {} is complete", sub.0);
        assert_eq!(refused(&it, vec![add(&it, "a")]), why);
        it.complete("sub", "{}");
        assert_eq!(it.waiting(), ["last"]);
    }
}

#[test]
fn all_steps_are_done_or_none() {
    let mut it = nested();
    it.start(r#"{"base": 1}"#);
    let steps = vec![
        Modification::Withdraw(at(&it, "first")),
        add(&it, "b"),
        Modification::Withdraw(at(&it, "first")),
    ];
    assert_eq!(refused(&it, steps), "no token is at first");
    assert_eq!(it.waiting(), ["first"]);
    for (node, why) in [
        (
            "late",
            "no token can be put before late: it stands beside sub; name the element behind it",
        ),
        ("p", "no token can be put before p: it is a process; name an element in it"),
    ] {
        assert_eq!(refused(&it, vec![add(&it, node)]), why);
    }
    let token = TokenId(1);
    let root = vec![Modification::Withdraw(Which::Token(token))];
    assert!(refused(&it, root).contains("cancel the instance"));
}

#[test]
fn a_token_put_before_a_join_comes_by_the_flow_that_is_missing() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/>
           <userTask id="b"/> <parallelGateway id="join"/> <userTask id="after"/>
           <path>fork a join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("b", "{}");
    assert_eq!(it.state("join"), Some(State::Waiting));
    // The parked one is taken away and another put in its place, and one for the other flow.
    it.modify(vec![
        Modification::Withdraw(at(&it, "join")),
        Modification::Withdraw(at(&it, "a")),
        add(&it, "join"),
        add(&it, "join"),
    ]);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_token_moved_before_a_join_comes_by_the_flow_that_is_missing() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/>
           <userTask id="b"/> <parallelGateway id="join"/> <userTask id="after"/>
           <path>fork a join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    it.modify(vec![Modification::Move { which: at(&it, "b"), to: it.before("join") }]);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn an_inclusive_join_goes_on_when_nobody_can_come_any_more() {
    let mut it = Scenario::process(
        r#"<inclusiveGateway id="fork"/> <userTask id="a"/>
           <userTask id="b"/> <inclusiveGateway id="join"/> <userTask id="after"/>
           <path>fork a join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["a"]);
    it.modify(vec![Modification::Withdraw(at(&it, "a"))]);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_token_with_an_incident_is_moved_past_it() {
    let mut it = Scenario::process(
        r#"<scriptTask id="broken" scriptFormat="javascript">
           <script>missing.field</script></scriptTask> <userTask id="after"/>
           <path>broken after</path>"#,
    );
    it.start("{}");
    assert!(it.incident("broken").is_some());
    it.modify(vec![Modification::Move { which: at(&it, "broken"), to: it.before("after") }]);
    assert!(it.instance.incidents.is_empty());
    assert_eq!(it.waiting(), ["after"]);
}

fn several(sequential: bool) -> Scenario {
    let mut it = Scenario::process(&format!(
        r#"<userTask id="each">
           <multiInstanceLoopCharacteristics isSequential="{sequential}">
             <loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></userTask>
           <userTask id="after"/> <path>each after</path>"#,
    ));
    it.start("{}");
    it
}

fn run(it: &Scenario, position: usize) -> Which {
    Which::Token(it.instance.waits[&it.waits_at("each")[position]].token)
}

#[test]
fn a_run_that_is_taken_away_counts_as_ended() {
    let mut it = several(false);
    it.modify(vec![Modification::Withdraw(run(&it, 1))]);
    assert_eq!(it.waiting(), ["each", "each"]);
    it.complete("each", "{}");
    it.modify(vec![Modification::Withdraw(run(&it, 0))]);
    assert_eq!(it.waiting(), ["after"]);

    let mut it = several(true);
    it.modify(vec![Modification::Withdraw(run(&it, 0))]);
    assert_eq!(it.waiting(), ["each"]);
    it.complete("each", "{}");
    it.complete("each", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn runs_are_neither_moved_nor_added() {
    let mut it = several(false);
    let to = it.before("after");
    let message = refused(&it, vec![Modification::Move { which: run(&it, 0), to }]);
    assert!(message.contains("it is one of several runs"), "{message}");
    // All at the element is the whole activity.
    it.modify(vec![Modification::Move { which: at(&it, "each"), to: it.before("after") }]);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn a_moved_branch_keeps_its_variables() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork" tv:fork="isolate"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
           <parallelGateway id="join" tv:merge="append" tv:path="all"/> <userTask id="after"/>
           <path>fork a c join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("a", r#"{"x": 1}"#);
    it.modify(vec![Modification::Move { which: at(&it, "c"), to: it.before("a") }]);
    assert_eq!(it.seen_at("a", "x").as_deref(), Some("1"));
    it.complete("a", r#"{"y": 2}"#);
    it.complete("c", "{}");
    it.complete("b", r#"{"z": 3}"#);
    assert_eq!(it.variables(), r#"{"all":[{"x":1,"y":2},{"z":3}]}"#);
}

#[test]
fn withdrawing_what_undoes_goes_on_with_what_is_next() {
    let mut it = Scenario::process(
        r#"<userTask id="book"/> <userTask id="pay"/>
           <boundaryEvent id="on-book" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
           <boundaryEvent id="on-pay" attachedToRef="pay"><compensateEventDefinition/></boundaryEvent>
           <userTask id="unbook" isForCompensation="true"/>
           <userTask id="refund" isForCompensation="true"/>
           <association id="a1" sourceRef="on-book" targetRef="unbook" associationDirection="One"/>
           <association id="a2" sourceRef="on-pay" targetRef="refund" associationDirection="One"/>
           <intermediateThrowEvent id="undo"><compensateEventDefinition/></intermediateThrowEvent>
           <userTask id="after"/> <path>book pay undo after</path>"#,
    );
    it.start("{}");
    it.complete("book", "{}");
    it.complete("pay", "{}");
    assert_eq!(it.waiting(), ["refund"]);
    assert!(refused(&it, vec![add(&it, "unbook")]).contains("only by compensation"));
    let stays = it.tokens_at("on-book")[0];
    let message = refused(&it, vec![Modification::Withdraw(Which::Token(stays))]);
    assert!(message.contains("it stays to undo"), "{message}");
    it.modify(vec![Modification::Withdraw(at(&it, "refund"))]);
    assert_eq!(it.waiting(), ["unbook"]);
    it.modify(vec![Modification::Withdraw(at(&it, "unbook"))]);
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn the_tries_of_a_job_are_set_without_a_failure() {
    let mut it = Scenario::process(r#"<serviceTask id="job"/>"#);
    it.start("{}");
    let wait = it.waits_at("job")[0];
    it.fail("job", 0);
    it.ask(Command::SetRetries { wait, retries: 5 }).unwrap();
    it.retry("job");
    let on = &it.instance.waits[&wait].on;
    assert!(matches!(&**on, travertine_kernel::WaitFor::Work(job) if job.retries == 5));
    let none = it.ask(Command::SetRetries { wait, retries: 0 });
    assert_eq!(none, Err(Rejection::NoRetries(wait)));
}

#[test]
fn everything_is_refused_after_the_end_but_the_delivery_of_what_was_sent() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true"><startEvent id="start"/>
           <endEvent id="end"><messageEventDefinition messageRef="M"/></endEvent>
           <path>start end</path></process>"#,
    );
    it.start("{}");
    assert!(it.is_completed());
    let wait = WaitId(1);
    for command in [
        Command::Complete { wait, variables: Vec::new() },
        Command::SetRetries { wait, retries: 1 },
        Command::Set { token: None, variables: Vec::new(), reach: Reach::Layer },
        Command::Retry { token: TokenId(1) },
        Command::Modify { steps: vec![add(&it, "end")] },
        Command::Continue,
        Command::Cancel,
    ] {
        assert_eq!(it.ask(command), Err(Rejection::Ended));
    }
    let (post, _) = it.instance.posts.first().expect("a message was sent");
    let post = *post;
    it.ask(Command::Delivered { post }).unwrap();
    assert!(outstanding(&it.instance).is_empty());
}

#[test]
fn of_several_runs_the_scope_of_one_must_be_named() {
    let mut it = Scenario::process(
        r#"<subProcess id="each"> <userTask id="x"/> <userTask id="y"/> <path>x y</path>
           <multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>
           </multiInstanceLoopCharacteristics></subProcess>"#,
    );
    it.start("{}");
    let scopes = it.tokens_at("each");
    let put = |scope| vec![Modification::Add { to: it.before("y"), scope: Some(scope) }];
    let message = refused(&it, put(scopes[0]));
    assert!(message.contains("name one inside it"), "{message}");
    it.modify(put(scopes[1]));
    assert_eq!(it.waiting(), ["x", "x", "y"]);
}

#[test]
fn the_flow_and_the_variables_that_a_token_comes_with_must_belong_to_its_place() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
           <subProcess id="sub"> <userTask id="c"/> </subProcess>
           <parallelGateway id="join"/> <userTask id="after"/>
           <path>fork a join after</path> <path>fork b join</path> <path>fork sub</path>"#,
    );
    it.start("{}");
    let flow = |name: &str| {
        let all = it.plan.flows.iter().map(|it| &*it.name);
        FlowId(u32::try_from(all.take_while(|it| *it != name).count()).unwrap())
    };
    let via = |flow| {
        let to = Destination { via: Some(flow), ..it.before("join") };
        vec![Modification::Add { to, scope: None }]
    };
    assert_eq!(
        refused(&it, via(flow("fork-a"))),
        "no token can be put before join: flow fork-a does not lead to it"
    );
    assert!(refused(&it, via(flow("none"))).contains("no such flow"));
    let variables = vec![(it.plan.find("sub").unwrap(), assignments(r#"{"x": 1}"#))];
    let to = Destination { variables, ..it.before("after") };
    assert_eq!(
        refused(&it, vec![Modification::Add { to, scope: None }]),
        "no token can be put before after: sub is not around it"
    );
    let steps = via(flow("b-join"));
    it.modify(steps);
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["a", "c"], "both have come by the same flow");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["after", "c"]);
}

#[test]
fn an_element_that_the_process_has_not_is_no_place() {
    let mut it = nested();
    it.start(r#"{"base": 1}"#);
    let none = NodeId(u32::try_from(it.plan.nodes.len()).unwrap());
    let to = || Destination::before(none);
    let no_such = Rejection::NoSuchElement(none);
    for step in [
        Modification::Add { to: to(), scope: None },
        Modification::Move { which: at(&it, "first"), to: to() },
    ] {
        assert_eq!(it.ask(Command::Modify { steps: vec![step] }), Err(no_such.clone()));
    }
    let start = Command::Start { at: vec![none], variables: Vec::new(), caller: None };
    assert_eq!(nested().ask(start), Err(no_such));
}

#[test]
fn nothing_is_added_to_a_scope_that_is_being_undone() {
    let mut it = Scenario::process(
        r#"<subProcess id="trip"> <userTask id="book"/>
             <boundaryEvent id="on-book" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
             <userTask id="unbook" isForCompensation="true"/>
             <association id="a1" sourceRef="on-book" targetRef="unbook" associationDirection="One"/>
           </subProcess>
           <intermediateThrowEvent id="undo"><compensateEventDefinition/></intermediateThrowEvent>
           <userTask id="after"/> <path>trip undo after</path>"#,
    );
    it.start("{}");
    it.complete("book", "{}");
    assert_eq!(it.waiting(), ["unbook"]);
    let trip = it.tokens_at("trip")[0];
    let why = format!("no token can be put before book: scope {} is being undone", trip.0);
    assert_eq!(refused(&it, vec![add(&it, "book")]), why);
    it.complete("unbook", "{}");
    assert_eq!(it.waiting(), ["after"]);
}

#[test]
fn of_those_that_have_come_to_a_join_by_one_flow_any_can_be_withdrawn() {
    for which in 0..2 {
        let mut it = Scenario::process(
            r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
               <exclusiveGateway id="merge"/> <parallelGateway id="join"/> <userTask id="after"/>
               <path>fork a merge join after</path> <path>fork b merge</path> <path>fork c join</path>"#,
        );
        it.start("{}");
        it.complete("a", "{}");
        it.complete("b", "{}");
        let parked = it.tokens_at("join");
        assert_eq!(parked.len(), 2);
        it.modify(vec![Modification::Withdraw(Which::Token(parked[which]))]);
        assert_eq!(it.tokens_at("join"), [parked[1 - which]]);
        it.complete("c", "{}");
        it.complete("after", "{}");
        assert!(it.is_completed());
    }
}

#[test]
fn a_command_that_does_not_fit_says_why() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">
           <receiveTask id="hear" messageRef="M"/></process>"#,
    );
    it.start("{}");
    let again = Command::Start { at: Vec::new(), variables: Vec::new(), caller: None };
    assert_eq!(it.ask(again), Err(Rejection::AlreadyStarted));
    let token = it.tokens_at("hear")[0];
    assert_eq!(it.ask(Command::Retry { token }), Err(Rejection::NoIncident(token)));
    let wait = it.waits_at("hear")[0];
    let wrong = it.ask(Command::SetRetries { wait, retries: 1 });
    assert!(matches!(wrong, Err(Rejection::WrongWait { .. })), "{wrong:?}");
}

#[test]
fn only_work_and_calls_can_fail() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">
           <receiveTask id="hear" messageRef="M"/></process>"#,
    );
    it.start("{}");
    let wait = it.waits_at("hear")[0];
    for command in [
        Command::Raise { wait, code: None, message: String::new(), variables: Vec::new() },
        Command::Escalate { wait, code: None, variables: Vec::new() },
        Command::Fail { wait, retries: 1, message: String::new(), variables: Vec::new() },
    ] {
        let wrong = it.ask(command);
        assert!(matches!(wrong, Err(Rejection::WrongWait { .. })), "{wrong:?}");
    }
}

#[test]
fn a_process_that_begins_with_events_only_does_not_begin_without_one() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true">
           <startEvent id="s"><messageEventDefinition messageRef="M"/></startEvent>
           <userTask id="a"/> <path>s a</path></process>"#,
    );
    let start = Command::Start { at: Vec::new(), variables: Vec::new(), caller: None };
    assert_eq!(it.ask(start), Err(Rejection::NoSuchStart));
    it.start_at("s", "{}");
    assert_eq!(it.waiting(), ["a"]);
}

#[test]
fn an_instance_begins_everywhere_or_not_at_all() {
    let mut it = Scenario::process(
        r#"<userTask id="a"/> <boundaryEvent id="late" attachedToRef="a"><timerEventDefinition>
           <timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
           <userTask id="hurry"/> <path>late hurry</path>"#,
    );
    let at = ["a", "late"].map(|node| it.plan.find(node).unwrap()).to_vec();
    let refused = it.ask(Command::Start { at, variables: Vec::new(), caller: None });
    assert!(matches!(refused, Err(Rejection::CannotAdd { .. })), "{refused:?}");
    it.start("{}");
    assert_eq!(it.waiting(), ["a"]);
}

#[test]
fn elements_in_different_scopes_are_reached_each_by_its_own() {
    let mut it = Scenario::process(
        r#"<subProcess id="one"> <userTask id="a"/> <userTask id="b"/> <path>a b</path> </subProcess>
           <subProcess id="two"> <userTask id="c"/> <userTask id="d"/> <path>c d</path> </subProcess>
           <path>one two</path>"#,
    );
    let at = ["b", "d"].map(|node| it.plan.find(node).unwrap()).to_vec();
    it.ask(Command::Start { at, variables: Vec::new(), caller: None }).unwrap();
    assert_eq!(it.waiting(), ["b", "d"]);
    assert_eq!((it.tokens_at("one").len(), it.tokens_at("two").len()), (1, 1));
}

#[test]
fn a_scope_that_is_opened_has_all_the_variables_it_is_given() {
    let mut it = Scenario::process(r#"<subProcess id="sub"> <userTask id="a"/> </subProcess>"#);
    it.start("{}");
    it.modify(vec![Modification::Withdraw(at(&it, "sub")), {
        let variables = vec![(it.plan.find("sub").unwrap(), assignments(r#"{"x": 1, "y": 2}"#))];
        Modification::Add { to: Destination { variables, ..it.before("a") }, scope: None }
    }]);
    let seen = ["x", "y"].map(|name| it.seen_at("a", name));
    assert_eq!(seen, [Some("1".to_owned()), Some("2".to_owned())]);
}

#[test]
fn a_token_is_moved_by_a_flow_that_leads_there_or_not_at_all() {
    let mut it = Scenario::process(
        r#"<userTask id="a"/> <userTask id="b"/> <userTask id="c"/> <path>a b c</path>"#,
    );
    it.start("{}");
    let to = Destination { via: Some(FlowId(0)), ..it.before("c") };
    let message = refused(&it, vec![Modification::Move { which: at(&it, "a"), to }]);
    assert!(message.contains("flow a-b does not lead to it"), "{message}");
    let none = Which::At(NodeId(u32::try_from(it.plan.nodes.len()).unwrap()));
    let gone = it.ask(Command::Modify { steps: vec![Modification::Withdraw(none)] });
    assert!(matches!(gone, Err(Rejection::NoSuchElement(_))), "{gone:?}");
}

#[test]
fn what_is_withdrawn_on_its_way_in_leaves_nothing_behind() {
    let mut it = Scenario::process(
        r#"<userTask id="first"/> <subProcess id="sub">
             <extensionElements><tv:input target="local">base + 1</tv:input></extensionElements>
             <userTask id="a"/> </subProcess> <path>first sub</path>"#,
    );
    let both = ["first", "a"].map(|node| it.plan.find(node).unwrap()).to_vec();
    it.ask(Command::Start { at: both, variables: Vec::new(), caller: None }).unwrap();
    assert!(it.incident("sub").is_some());
    it.modify(vec![Modification::Withdraw(at(&it, "sub"))]);
    assert!(it.instance.bound.is_empty());
    assert_eq!(it.waiting(), ["first"]);
}

#[test]
fn work_that_is_completed_after_all_has_no_incident_any_more() {
    let mut it = Scenario::process(r#"<serviceTask id="a"/> <userTask id="b"/> <path>a b</path>"#);
    it.start("{}");
    it.fail("a", 0);
    assert!(it.incident("a").is_some());
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"]);
    assert!(it.instance.incidents.is_empty());
}

#[test]
fn a_token_that_is_moved_brings_variables_for_what_is_around_it() {
    let mut it = Scenario::process(
        r#"<subProcess id="sub"> <userTask id="a"/> <userTask id="b"/> <path>a b</path> </subProcess>"#,
    );
    it.start("{}");
    let variables = vec![
        (it.plan.find("sub").unwrap(), assignments(r#"{"x": 1}"#)),
        (it.plan.find("p").unwrap(), assignments(r#"{"y": 2}"#)),
    ];
    let to = Destination { variables, ..it.before("b") };
    it.modify(vec![Modification::Move { which: at(&it, "a"), to }]);
    assert_eq!(it.seen_at("b", "x").as_deref(), Some("1"));
    assert_eq!(it.variables(), r#"{"y":2}"#);
}

#[test]
fn what_is_left_of_an_instance_is_taken_out_once_all_it_sent_has_arrived() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true"><startEvent id="start"/>
           <userTask id="a"/> <endEvent id="end"><messageEventDefinition messageRef="M"/></endEvent>
           <path>start a end</path></process>"#,
    );
    it.start("{}");
    assert!(it.instance.clone().take_remains().is_none(), "it is running");
    it.complete("a", "{}");
    assert!(it.is_completed());
    assert!(it.instance.clone().take_remains().is_none(), "its message is under way");
    let post = *it.instance.posts.first().expect("a message was sent").0;
    it.ask(Command::Delivered { post }).unwrap();
    assert!(it.instance.clone().take_remains().is_some());
}

#[test]
fn nothing_is_done_to_what_has_not_begun() {
    let mut it = Scenario::process(r#"<userTask id="a"/>"#);
    for command in [
        Command::Cancel,
        Command::Continue,
        Command::Set { token: None, variables: Vec::new(), reach: Reach::Layer },
        Command::Modify { steps: vec![add(&it, "a")] },
    ] {
        assert_eq!(it.ask(command), Err(Rejection::NotRunning));
    }
    assert_eq!(it.instance, Instance::default());
}

#[test]
fn a_scope_that_only_stays_to_be_undone_is_no_place() {
    let mut it = Scenario::process(
        r#"<subProcess id="trip"> <userTask id="book"/>
             <boundaryEvent id="on-book" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
             <userTask id="unbook" isForCompensation="true"/>
             <association id="a1" sourceRef="on-book" targetRef="unbook" associationDirection="One"/>
           </subProcess> <userTask id="after"/> <path>trip after</path>"#,
    );
    it.start("{}");
    it.complete("book", "{}");
    let stays = it.tokens_at("trip");
    assert_eq!(refused(&it, vec![Modification::Withdraw(at(&it, "trip"))]), "no token is at trip");
    it.modify(vec![add(&it, "book")]);
    assert_eq!(it.waiting(), ["after", "book"]);
    assert_eq!(it.tokens_at("trip").len(), 2, "another one is opened");
    assert!(it.tokens_at("trip").contains(&stays[0]));
}

#[test]
fn a_task_that_needs_several_tokens_must_have_flows_that_they_come_by() {
    let mut it = Scenario::process(
        r#"<userTask id="a"/> <userTask id="alone" startQuantity="2"/> <userTask id="b"/>
           <userTask id="led" startQuantity="2"/> <path>a b led</path>"#,
    );
    it.start_at("a", "{}");
    let message = refused(&it, vec![add(&it, "alone")]);
    assert!(message.contains("it needs several tokens, and no flow leads to it"), "{message}");
    it.modify(vec![add(&it, "led"), add(&it, "led")]);
    assert_eq!(it.waiting(), ["a", "led"]);
}

#[test]
fn withdrawing_what_undoes_a_transaction_lets_it_be_cancelled() {
    let mut it = Scenario::process(
        r#"<transaction id="t"> <startEvent id="s"/> <userTask id="book"/> <userTask id="pay"/>
             <endEvent id="cancel"><cancelEventDefinition/></endEvent> <path>s book pay cancel</path>
             <boundaryEvent id="on-book" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
             <userTask id="unbook" isForCompensation="true"/>
             <association id="a1" sourceRef="on-book" targetRef="unbook" associationDirection="One"/>
           </transaction>
           <boundaryEvent id="cancelled" attachedToRef="t"><cancelEventDefinition/></boundaryEvent>
           <userTask id="sorry"/> <path>cancelled sorry</path>"#,
    );
    it.start("{}");
    it.complete("book", "{}");
    it.complete("pay", "{}");
    assert_eq!(it.waiting(), ["unbook"]);
    it.modify(vec![Modification::Withdraw(at(&it, "unbook"))]);
    assert_eq!(it.waiting(), ["sorry"]);
}
