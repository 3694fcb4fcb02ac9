//! How tokens flow: `FLOW-1` to `FLOW-44` of the requirements.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use travertine_kernel::{
    Assignments, Command, Ending, Event, FailureKind, Gate, Post, ROOT, Rejection, Role, State,
    TokenId, View, WaitFor, address,
    plan::{CompensateOnError, Element, UnhandledError},
    time::Timestamp,
};
use travertine_runtime::{Message, Receipt, Sandbox, Start, correlates};
use travertine_testkit::{Scenario, assignments};
use travertine_value::{Value, Variables as _};

use super::common::{
    CAUGHT, definitions, event_sub_process, life, lives, on_message, run, run_undoing, status,
    token, undo,
};

use State::{
    Arrived, Busy, Completed, Created, Departed, Done, Failed, Failing, Ready, Waiting, Withdrawn,
};

const THREE: &str = "<multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>\
    </multiInstanceLoopCharacteristics>";

/// The nodes where tokens stay for compensation, oldest first.
fn undoable(it: &Scenario) -> Vec<&str> {
    let all = it.instance.tokens.iter().filter(|(_, token)| token.role == Role::Compensation);
    all.map(|(id, _)| it.node(*id)).collect()
}

fn failure(it: &Scenario, node: &str) -> Option<FailureKind> {
    it.incident(node).map(|it| it.kind.clone())
}

fn is_rejected(inside: &str) -> bool {
    Scenario::report(&definitions("", inside)).is_rejected()
}

/// All tokens at a node that are runs, in the order of the runs.
fn runs(it: &Scenario, node: &str) -> Vec<TokenId> {
    let all = it.tokens_at(node);
    all.into_iter().filter(|id| matches!(it.instance.tokens[id].role, Role::Run(_))).collect()
}

/// The states of the runs at a node.
fn run_states(it: &Scenario, node: &str) -> Vec<State> {
    runs(it, node).iter().map(|id| it.instance.tokens[id].state).collect()
}

/// The token at a node that stands for all runs together.
fn main_token(it: &Scenario, node: &str) -> TokenId {
    let runs = runs(it, node);
    *it.tokens_at(node).iter().find(|id| !runs.contains(id)).expect("there is a main token")
}

fn main_state(it: &Scenario, node: &str) -> State {
    it.instance.tokens[&main_token(it, node)].state
}

/// Meets every wait at a node once, with these variables.
fn complete_all(it: &mut Scenario, node: &str, variables: &str) {
    for wait in it.waits_at(node) {
        let variables = assignments(variables);
        it.ask(Command::Complete { wait, variables }).expect("it waits for that");
    }
}

/// A boundary event of `activity` with a task behind it named `…-way`.
fn boundary(id: &str, activity: &str, interrupting: bool, definition: &str) -> String {
    format!(
        r#"<boundaryEvent id="{id}" attachedToRef="{activity}" cancelActivity="{interrupting}">
             {definition}</boundaryEvent> <userTask id="{id}-way"/> <path>{id} {id}-way</path>"#
    )
}

/// Undoes everything in its scope, or one activity.
fn back(activity: &str) -> String {
    let which =
        if activity.is_empty() { String::new() } else { format!(r#"activityRef="{activity}""#) };
    format!(
        r#"<intermediateThrowEvent id="back"><compensateEventDefinition {which}/>
           </intermediateThrowEvent>"#
    )
}

fn tell() -> &'static str {
    r#"<intermediateThrowEvent id="tell"><escalationEventDefinition escalationRef="U"/>
       </intermediateThrowEvent>"#
}

const ERROR: &str = "<errorEventDefinition/>";
const ESCALATION: &str = "<escalationEventDefinition/>";
const COMPENSATION: &str = "<compensateEventDefinition/>";
const NOTHING: [&str; 0] = [];

// ---- Multi-instance activities

/// `work` three times, with gates and what else is said.
fn thrice(gates: &str, sequential: bool, more: &str, beside: &str) -> Scenario {
    let gates = if gates.is_empty() { String::new() } else { format!(r#"tv:gate="{gates}""#) };
    run(
        "load=0 place",
        &format!(
            r#"<task id="begin"/>
               <userTask id="work" {gates}>{more}
                 <multiInstanceLoopCharacteristics isSequential="{sequential}">
                   <loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics>
               </userTask> <userTask id="next"/> <path>begin work next</path> {beside}"#
        ),
    )
}

// covers: FLOW-1, FLOW-2, FLOW-3, FLOW-6
#[test]
fn the_main_token_waits_while_its_runs_do_the_work() {
    let mut it = thrice("ready entry exit", false, "", "");
    assert_eq!((it.tokens_at("work").len(), main_state(&it, "work")), (1, Arrived));
    it.complete("work", "{}");
    assert_eq!(main_state(&it, "work"), Waiting);
    assert_eq!(run_states(&it, "work"), [Ready; 3], "one ready event is enough for all");
    assert_eq!(it.waits_at("work").len(), 3);
    complete_all(&mut it, "work", "{}");
    assert_eq!(run_states(&it, "work"), [Busy; 3]);
    complete_all(&mut it, "work", "{}");
    assert_eq!(run_states(&it, "work"), [Completed; 3]);
    for left in (0..3).rev() {
        assert_eq!(main_state(&it, "work"), Waiting);
        assert_eq!(it.tokens_at("next"), []);
        it.complete("work", "{}");
        assert_eq!(runs(&it, "work").len(), left);
    }
    assert_eq!(it.waiting(), ["next"]);
    let lives = lives(&it, "work");
    assert_eq!(lives[0], [Arrived, Waiting, Departed]);
    for copy in &lives[1..] {
        assert_eq!(
            *copy,
            [Created, Ready, Busy, Completed, Done],
            "it neither arrives nor departs"
        );
    }
    assert_eq!(lives.len(), 4);
}

// covers: FLOW-1
#[test]
fn a_main_token_without_outgoing_flow_is_done() {
    let work = format!(r#"<task id="begin"/> <userTask id="work">{THREE}</userTask>"#);
    let mut it = run("", &format!("{work}<path>begin work</path>"));
    complete_all(&mut it, "work", "{}");
    assert_eq!(lives(&it, "work")[0], [Arrived, Waiting, Done]);
    assert!(it.is_completed());
}

// covers: FLOW-1, FLOW-2, FLOW-9
#[test]
fn a_failing_run_of_a_task_fails_the_main_token_and_withdraws_the_others() {
    let mut it =
        thrice("", false, "<ext>load := 1</ext>", &boundary("caught", "work", true, ERROR));
    it.complete_run("work", 0, "{}");
    let failing = it.instance.waits[&it.waits_at("work")[0]].token;
    assert_eq!(it.instance.tokens[&failing].role, Role::Run(1));
    let wait = it.waits_at("work")[0];
    let variables = assignments(r#"{"load": 8}"#);
    let message = String::new();
    it.ask(Command::Raise { wait, code: Some("E".into()), message, variables }).expect("it can");
    assert_eq!(it.waiting(), ["caught-way"]);
    let lives = lives(&it, "work");
    assert!(
        lives[0].starts_with(&[Arrived, Waiting]) && lives[0].ends_with(&[Failed]),
        "{lives:?}"
    );
    assert_eq!(lives[1], [Created, Busy, Done]);
    assert_eq!(lives[2], [Created, Busy, Failed], "directly");
    assert_eq!(lives[3], [Created, Busy, Withdrawn]);
    assert_eq!(status(&it, "caught-way", "load").as_deref(), Some("8"), "the status of the run");
    assert_eq!(it.visits("next"), 0);
}

// covers: FLOW-2
#[test]
fn a_failing_run_of_a_sub_process_is_failing_before_it_has_failed() {
    let mut it = run_undoing(
        "load=0",
        &format!(
            r#"<subProcess id="sub"><userTask id="first"/> {}
                 <userTask id="work"><ext>load := 5</ext></userTask> <path>first work</path>
                 {THREE}</subProcess> {CAUGHT}"#,
            undo("first")
        ),
    );
    it.complete_run("first", 1, "{}");
    it.raise("work", "E");
    assert_eq!(run_states(&it, "sub"), [Busy, Failing, Busy]);
    assert_eq!(main_state(&it, "sub"), Waiting);
    it.complete("undo-first", "{}");
    let lives = lives(&it, "sub");
    assert_eq!(lives[0].last(), Some(&Failed));
    assert_eq!(lives[1], [Created, Busy, Withdrawn]);
    assert_eq!(lives[2], [Created, Busy, Failing, Failed]);
    assert_eq!(it.waiting(), ["repair"]);
    assert_eq!(status(&it, "repair", "load").as_deref(), Some("5"));
}

// covers: FLOW-4
#[test]
fn there_are_as_many_runs_as_the_model_says() {
    let runs_of = |attributes: &str, inside: &str| {
        let mut it = Scenario::definitions(&definitions(
            "",
            &format!(
                r#"<userTask id="work"><multiInstanceLoopCharacteristics {attributes}>{inside}
                   </multiInstanceLoopCharacteristics></userTask>"#
            ),
        ));
        it.start(r#"{"n": 4, "list": ["a", "b"], "none": []}"#);
        it
    };
    let by_number = runs_of("", "<loopCardinality>n</loopCardinality>");
    assert_eq!(runs(&by_number, "work").len(), 4);
    let by_list = runs_of(r#"tv:collection="list" tv:elementVariable="item""#, "");
    let items: Vec<_> =
        runs(&by_list, "work").iter().map(|id| seen(&by_list, *id, "item")).collect();
    assert_eq!(items, [r#""a""#, r#""b""#]);
    for (attributes, inside) in
        [("", "<loopCardinality>n - 4</loopCardinality>"), (r#"tv:collection="none""#, "")]
    {
        let it = runs_of(attributes, inside);
        assert_eq!(failure(&it, "work"), Some(FailureKind::Repeat));
        let it = runs_of(&format!(r#"{attributes} tv:onEmpty="complete""#), inside);
        assert!(it.is_completed());
    }
}

fn seen(it: &Scenario, token: TokenId, name: &str) -> String {
    let view = View::new(&it.plan, &it.instance, token);
    view.get(name).map_or_else(|| "nothing".to_owned(), |it| it.to_json())
}

/// A send or receive task with two messages.
fn letters(kind: &str, count: &str) -> String {
    definitions(
        "",
        &format!(
            r#"<{kind} id="work"><ext><tv:message ref="M"/><tv:message ref="N"/></ext>
               <multiInstanceLoopCharacteristics>{count}</multiInstanceLoopCharacteristics></{kind}>"#
        ),
    )
}

// covers: FLOW-4, FLOW-12
#[test]
fn a_task_with_several_messages_has_a_run_for_each() {
    let mut it = Scenario::definitions(&letters("sendTask", ""));
    it.start("{}");
    let sent: Vec<String> = it
        .instance
        .waits
        .values()
        .map(|wait| match &*wait.on {
            WaitFor::Delivery(Post::Message { name, .. }) => name.to_string(),
            other => panic!("it waits for {other:?}"),
        })
        .collect();
    assert_eq!(sent, ["M", "N"]);
    let mut it = Scenario::definitions(&letters("receiveTask", ""));
    it.start("{}");
    it.message("N", "{}");
    assert_eq!(runs(&it, "work").len(), 1);
    assert_eq!(it.instance.tokens[&runs(&it, "work")[0]].role, Role::Run(0), "each its own");
    it.message("M", "{}");
    assert!(it.is_completed());
}

// covers: FLOW-4
#[test]
fn counts_that_contradict_each_other_are_an_error() {
    for kind in ["sendTask", "receiveTask"] {
        let with = |count| {
            let count = format!("<loopCardinality>{count}</loopCardinality>");
            Scenario::report(&letters(kind, &count)).is_rejected()
        };
        assert!(with("3") && with("n"), "{kind}");
        assert!(!with("2"), "{kind}");
    }
}

// covers: FLOW-5
#[test]
fn the_loop_counter_counts_from_0_and_a_named_index_from_1() {
    for sequential in [false, true] {
        let mut it = run(
            "",
            &format!(
                r#"<userTask id="work"><multiInstanceLoopCharacteristics isSequential="{sequential}"
                     tv:loopIndex="number"><loopCardinality>3</loopCardinality>
                   </multiInstanceLoopCharacteristics></userTask>"#
            ),
        );
        for run in 0..3 {
            let id = runs(&it, "work")[0];
            let counts = (seen(&it, id, "loopCounter"), seen(&it, id, "number"));
            assert_eq!(counts, (run.to_string(), (run + 1).to_string()));
            it.complete("work", "{}");
        }
        assert!(it.is_completed());
    }
}

// covers: FLOW-6
#[test]
fn a_sequential_run_is_ready_when_the_one_before_it_has_exited() {
    let mut it = thrice("entry exit", true, "", "");
    for run in 0..3 {
        let open = |it: &Scenario| {
            let ready = runs(it, "work");
            let not_created = ready.iter().filter(|id| it.instance.tokens[id].state != Created);
            not_created.map(|id| it.instance.tokens[id].role).collect::<Vec<_>>()
        };
        for _ in ["entry", "work", "exit"] {
            assert_eq!(open(&it), [Role::Run(run)], "no other is ready");
            it.complete("work", "{}");
        }
    }
    assert_eq!(it.waiting(), ["next"]);
}

// covers: FLOW-7
#[test]
fn boundary_events_are_armed_once_from_the_first_entry_to_the_last_exit() {
    for sequential in [false, true] {
        let watch = boundary("watch", "work", true, &on_message("M"));
        let mut it = thrice("entry exit", sequential, "", &watch);
        assert_eq!(it.tokens_at("watch"), [], "no run is entered");
        it.complete("work", "{}");
        let guard = token(&it, "watch");
        assert_eq!(it.instance.tokens[&guard].role, Role::Guard(main_token(&it, "work")));
        for _ in 0..7 {
            it.complete("work", "{}");
            assert_eq!(it.tokens_at("watch"), [guard], "still the same one");
        }
        it.complete("work", "{}");
        assert_eq!(it.waiting(), ["next"]);
        assert_eq!(it.armed(), ["next"]);
        assert_eq!(lives(&it, "watch"), [[Created, Busy, Withdrawn]]);
    }
}

// covers: FLOW-8
#[test]
fn the_status_of_all_runs_is_merged() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut it = run(
            "load=0 place way timestamp=0",
            &format!(
                r#"<userTask id="work" tv:gate="exit">{THREE}</userTask> <userTask id="next"/>
                   <path>work next</path>"#
            ),
        );
        complete_all(&mut it, "work", "{}");
        for run in order {
            let place = if run == 1 { r#""home""# } else { "null" };
            let load = run % 2;
            it.complete_run(
                "work",
                run,
                &format!(r#"{{"load": {load}, "place": {place}, "way": 7, "timestamp": {run}}}"#),
            );
        }
        assert_eq!(status(&it, "next", "load"), None);
        assert_eq!(status(&it, "next", "place").as_deref(), Some(r#""home""#));
        assert_eq!(status(&it, "next", "way").as_deref(), Some("7"));
        assert_eq!(status(&it, "next", "timestamp").as_deref(), Some("2"));
    }
}

// covers: FLOW-10
#[test]
fn an_interrupting_boundary_event_withdraws_all_runs() {
    let mut it = thrice("exit", false, "", &boundary("stop", "work", true, &on_message("M")));
    it.complete_run("work", 0, "{}");
    it.message("M", "{}");
    assert_eq!(it.waiting(), ["stop-way"]);
    let lives = lives(&it, "work");
    assert_eq!(lives.len(), 4);
    assert!(lives.iter().all(|it| it.last() == Some(&Withdrawn)), "{lives:?}");
}

fn each_tells(interrupting: bool) -> Scenario {
    run(
        "load=0",
        &format!(
            r#"<subProcess id="sub"><userTask id="work"/> {} <userTask id="more"/>
                 <path>work tell more</path> {THREE}</subProcess>
               <userTask id="next"/> <path>sub next</path> {}"#,
            tell(),
            boundary("heard", "sub", interrupting, ESCALATION)
        ),
    )
}

// covers: FLOW-11
#[test]
fn every_run_that_escalates_is_heard() {
    let mut it = each_tells(false);
    for run in [2, 0] {
        it.complete_run("work", run, "{}");
    }
    assert_eq!(it.waiting(), ["heard-way", "heard-way", "more", "more", "work"]);
    assert_eq!(run_states(&it, "sub"), [Busy; 3]);
    it.complete_run("work", 1, "{}");
    assert_eq!(it.tokens_at("heard-way").len(), 3);
    let mut it = each_tells(true);
    it.complete_run("work", 2, "{}");
    assert_eq!(it.waiting(), ["heard-way"], "an interrupting one ends them all");
}

// covers: FLOW-12
#[test]
fn each_run_has_an_address_of_its_own() {
    let it = each_tells(false);
    let sub = runs(&it, "sub");
    let shown = |id: TokenId| address(&it.plan, &it.instance, "order-7", id);
    assert_eq!(
        sub.iter().map(|id| shown(*id)).collect::<Vec<_>>(),
        ["order-7^sub#0", "order-7^sub#1", "order-7^sub#2"]
    );
    let inside = it.tokens_at("work");
    assert_eq!(shown(inside[1]), "order-7^sub#1^work");
}

/// A world with one definition, `p`.
fn world(inside: &str) -> Sandbox {
    let report = Scenario::report(&definitions("", inside));
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let mut sandbox = Sandbox::new(Timestamp::default());
    let plan = Arc::clone(&report.processes[0].plan);
    sandbox.deploy(&[("p".into(), plan)]).expect("it can be deployed");
    sandbox
}

/// Where the instances wait, and for which run.
fn waiting(sandbox: &Sandbox) -> Vec<String> {
    let mut all = Vec::new();
    for record in sandbox.instances() {
        for wait in record.state.waits.values() {
            let id = record.id.to_string();
            all.push(address(record.plan(), &record.state, &id, wait.token));
        }
    }
    all
}

fn letter(name: &str, correlation: &str) -> Message {
    Message { correlation: assignments(correlation), ..Message::new(name) }
}

// covers: FLOW-12
#[test]
fn a_message_finds_its_run() {
    let mut sandbox = world(
        r#"<receiveTask id="hear" messageRef="M">
             <ext><tv:correlation name="who">person</tv:correlation></ext>
             <multiInstanceLoopCharacteristics tv:collection="people" tv:elementVariable="person"/>
           </receiveTask>"#,
    );
    let people = assignments(r#"{"people": ["ann", "bob", "cid"]}"#);
    sandbox.start(Start::of("p").with(people)).expect("it starts");
    let receipt = sandbox.publish(letter("M", r#"{"who": "bob"}"#)).expect("it is sent");
    assert!(matches!(receipt, Receipt::Received(_)));
    assert_eq!(waiting(&sandbox), ["1^hear#0", "1^hear#2"]);
    let receipt = sandbox.publish(letter("M", r#"{"who": "bob"}"#)).expect("it is sent");
    assert_eq!(receipt, Receipt::Held, "nobody else has this name");
}

// ---- Compensation activities

/// `a` and `b` side by side in `sub`, then everything is undone.
fn undone(handler_of_b: &str, beside: &str) -> Scenario {
    let undo_b = undo("b").replace(
        r#"<userTask id="undo-b" isForCompensation="true"/>"#,
        &format!(r#"<userTask id="undo-b" isForCompensation="true" {handler_of_b}</userTask>"#),
    );
    run(
        "load=0",
        &format!(
            r#"<subProcess id="sub"><startEvent id="in"/>
                 <userTask id="a"/> <userTask id="b"><ext>load := 5</ext></userTask> {} {undo_b}
                 <parallelGateway id="join"/> {} <userTask id="more"/> <endEvent id="out"/>
                 <path>in a join</path> <path>in b join back more out</path>
               </subProcess> <userTask id="next"/> <path>sub next</path> {beside}"#,
            undo("a"),
            back("")
        ),
    )
}

// covers: FLOW-13
#[test]
fn a_compensation_activity_is_entered_and_left_without_asking() {
    let mut it = undone(r#"tv:gate="ready entry exit">"#, "");
    it.complete("a", "{}");
    it.complete("b", "{}");
    assert_eq!(it.state("undo-b"), Some(Busy));
    let work = &it.instance.waits[&it.waits_at("undo-b")[0]].on;
    assert!(matches!(**work, WaitFor::Work(_)), "{work:?}");
    it.complete("undo-b", "{}");
    assert_eq!(it.waiting(), ["undo-a"]);
    assert_eq!(it.tokens_at("undo-b"), []);
    assert_eq!(it.tokens_at("of-b"), []);
    let life = lives(&it, "undo-b").pop().expect("it was there");
    assert_eq!(life.last(), Some(&Done));
    assert!(!life.contains(&Ready) && !life.contains(&Completed), "{life:?}");
}

// covers: FLOW-13, FLOW-18
#[test]
fn a_compensation_activity_that_fails_drops_the_rest_and_fails_its_scope() {
    let cases = [
        ("><ext>entry: load < 3</ext>", "at entry"),
        ("><ext>exit: load < 3</ext>", "after completion"),
        (">", "while busy"),
    ];
    for (handler, when) in cases {
        let mut it = undone(handler, CAUGHT);
        it.complete("a", "{}");
        it.complete("b", "{}");
        match when {
            "after completion" => it.complete("undo-b", "{}"),
            "while busy" => it.raise("undo-b", "E"),
            _ => {}
        }
        assert_eq!(it.waiting(), ["repair"], "{when}");
        let life = lives(&it, "undo-b").pop().expect("it was there");
        assert_eq!(life.last(), Some(&Failed), "{when}: {life:?}");
        assert!(!life.contains(&Failing), "{when}: {life:?}");
        assert_eq!(lives(&it, "undo-a"), NO_LIVES, "{when}");
        assert_eq!(undoable(&it), NOTHING, "{when}");
        it.complete("repair", "{}");
        assert!(it.is_completed(), "{when}");
    }
}

const NO_LIVES: [Vec<State>; 0] = [];

// covers: FLOW-18
#[test]
fn a_compensation_activity_whose_failure_nobody_catches_is_an_incident() {
    let mut it = undone(">", "");
    it.complete("a", "{}");
    it.complete("b", "{}");
    it.raise("undo-b", "E");
    assert_eq!(it.instance.incidents.len(), 1);
    assert!(!it.waiting().contains(&"undo-a"));
    assert!(!it.waiting().contains(&"more"));
}

// covers: FLOW-14, FLOW-15
#[test]
fn what_was_completed_last_is_undone_first_while_the_thrower_waits() {
    for order in [["a", "b"], ["b", "a"]] {
        let mut it = undone(">", "");
        for node in order {
            it.complete(node, "{}");
        }
        for node in order.iter().rev() {
            assert_eq!(it.waiting(), [format!("undo-{node}")], "one at a time");
            assert_eq!(it.state("back"), Some(Busy));
            assert_eq!(it.tokens_at("more"), []);
            it.complete(&format!("undo-{node}"), "{}");
        }
        assert_eq!(it.waiting(), ["more"]);
        assert_eq!(lives(&it, "back"), [[Arrived, Busy, Departed]]);
        assert_eq!(undoable(&it), NOTHING, "each is undone once");
    }
}

// covers: FLOW-14
#[test]
fn what_was_done_twice_is_undone_twice() {
    let mut it = run(
        "load=0",
        &format!(
            r#"<userTask id="a"/> {} <userTask id="b"/> {} <userTask id="more"/> {}
               <userTask id="last"/> <exclusiveGateway id="again" default="again-back"/>
               <path>more a b again back last</path>
               <sequenceFlow id="repeat" sourceRef="again" targetRef="a">
                 <conditionExpression>load == 1</conditionExpression></sequenceFlow>"#,
            undo("a"),
            undo("b"),
            back("")
        ),
    );
    it.complete("more", "{}");
    for (node, load) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        it.complete(node, &format!(r#"{{"load": {load}}}"#));
    }
    for (node, load) in [("undo-b", "2"), ("undo-a", "2"), ("undo-b", "1"), ("undo-a", "1")] {
        assert_eq!(it.waiting(), [node]);
        assert_eq!(status(&it, node, "load").as_deref(), Some(load), "as it was left then");
        it.complete(node, "{}");
    }
    assert_eq!(it.waiting(), ["last"]);
}

// covers: FLOW-16
#[test]
fn one_activity_can_be_undone_alone() {
    let undoing = |which: &str| {
        let mut it = run(
            "",
            &format!(
                r#"<userTask id="a"/> <userTask id="b"/> <userTask id="c"/> {} {} {} {}
                   <userTask id="more"/> <path>a b back more c</path>"#,
                undo("a"),
                undo("b"),
                undo("c"),
                back(which)
            ),
        );
        it.complete("a", "{}");
        it.complete("b", "{}");
        it
    };
    let mut it = undoing("a");
    assert_eq!(it.waiting(), ["undo-a"]);
    it.complete("undo-a", "{}");
    assert_eq!(it.waiting(), ["more"]);
    assert_eq!(undoable(&it), ["of-b"], "the other one can still be undone");
    let it = undoing("c");
    assert_eq!(it.waiting(), ["more"], "there is nothing to undo, and the flow goes on");
}

// covers: FLOW-17
#[test]
fn a_sub_process_undoes_itself_by_its_own_event_sub_process() {
    let mut it = run(
        "",
        &format!(
            r#"<userTask id="a"/> {}
               <subProcess id="sub"><userTask id="b"/> {} <userTask id="c"/> {} <path>b c</path>
                 <subProcess id="handler" triggeredByEvent="true">
                   <startEvent id="asked">{COMPENSATION}</startEvent> <userTask id="before"/>
                   <intermediateThrowEvent id="deeper"><compensateEventDefinition/>
                   </intermediateThrowEvent> <userTask id="after"/> <endEvent id="over"/>
                   <path>asked before deeper after over</path>
                 </subProcess>
               </subProcess> {} <userTask id="more"/> <path>a sub back more</path>"#,
            undo("a"),
            undo("b"),
            undo("c"),
            back("")
        ),
    );
    for node in ["a", "b", "c"] {
        it.complete(node, "{}");
    }
    for node in ["before", "undo-c", "undo-b", "after", "undo-a", "more"] {
        assert_eq!(it.waiting(), [node]);
        it.complete(node, "{}");
    }
    assert!(it.is_completed());
}

// covers: FLOW-19
#[test]
fn what_undoes_repeats_like_what_it_undoes_and_cannot_be_undone() {
    let with = |own: &str, other: &str| {
        let repeated = |kind: &str| match kind {
            "" => String::new(),
            kind => format!(
                r#"<multiInstanceLoopCharacteristics isSequential="{}">
                   <loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics>"#,
                kind == "sequential"
            ),
        };
        let undo = undo("a").replace(
            r#"isForCompensation="true"/>"#,
            &format!(r#"isForCompensation="true">{}</userTask>"#, repeated(other)),
        );
        format!(r#"<userTask id="a">{}</userTask> {undo}"#, repeated(own))
    };
    for own in ["", "parallel", "sequential"] {
        for other in ["", "parallel", "sequential"] {
            assert_eq!(is_rejected(&with(own, other)), own != other, "{own} {other}");
        }
    }
    assert!(!is_rejected(&format!(r#"<task id="a"/> {}"#, undo("a"))));
    assert!(is_rejected(&format!(r#"<task id="a"/> {} {}"#, undo("a"), undo("undo-a"))));
}

// covers: FLOW-19
#[test]
fn every_run_is_undone() {
    let undo = undo("a").replace(
        r#"isForCompensation="true"/>"#,
        &format!(r#"isForCompensation="true">{THREE}</userTask>"#),
    );
    let mut it = run(
        "",
        &format!(
            r#"<userTask id="a">{THREE}</userTask> {undo} {} <userTask id="more"/>
               <path>a back more</path>"#,
            back("")
        ),
    );
    for _ in 0..3 {
        it.complete("a", "{}");
    }
    assert!(it.tokens_at("more").is_empty());
    let mut count = 0;
    while it.waiting().first() == Some(&"undo-a") {
        it.complete("undo-a", "{}");
        count += 1;
    }
    assert_eq!(count, 3);
    assert_eq!(it.waiting(), ["more"]);
}

// covers: FLOW-20
#[test]
fn a_failing_scope_undoes_first_where_the_policy_says_so() {
    use CompensateOnError::{Always, Never, Transaction};
    let failing = |kind: &str, policy: CompensateOnError| {
        let mut it = Scenario::definitions(&definitions(
            "",
            &format!(
                r#"<{kind} id="sub"><userTask id="a"/> {} <userTask id="work"/>
                   <path>a work</path></{kind}> {CAUGHT}"#,
                undo("a")
            ),
        ))
        .with_plan(|plan| plan.policy.compensate_on_error = policy);
        it.start("{}");
        it.complete("a", "{}");
        it.raise("work", "E");
        it
    };
    for (kind, policy) in
        [("subProcess", Always), ("transaction", Always), ("transaction", Transaction)]
    {
        let mut it = failing(kind, policy);
        assert_eq!(it.waiting(), ["undo-a"], "{kind} {policy:?}");
        assert_eq!(it.state("sub"), Some(Failing));
        it.complete("undo-a", "{}");
        assert_eq!(it.waiting(), ["repair"]);
    }
    for (kind, policy) in
        [("subProcess", Never), ("transaction", Never), ("subProcess", Transaction)]
    {
        assert_eq!(failing(kind, policy).waiting(), ["repair"], "{kind} {policy:?}");
    }
}

// covers: FLOW-21
#[test]
fn what_repairs_does_not_inherit_restrictions() {
    let handled = |trigger: &str| {
        let handler = event_sub_process("handler", true, trigger);
        let handler = handler.replace(
            r#"<userTask id="handler-work"/>"#,
            r#"<userTask id="handler-work"><ext>load := 9</ext></userTask>"#,
        );
        let mut it = run(
            "load=0",
            &format!(
                r#"<own>load < 3</own>
                   <subProcess id="sub"><userTask id="work"/> {handler}</subProcess>
                   {} <userTask id="more"/> <path>sub back more</path>"#,
                back("")
            ),
        );
        if trigger == ERROR {
            it.raise("work", "E");
        } else if trigger == COMPENSATION {
            it.complete("work", "{}");
        } else {
            it.message("M", "{}");
        }
        it
    };
    for trigger in [ERROR, COMPENSATION] {
        let mut it = handled(trigger);
        assert_eq!(status(&it, "handler-work", "load").as_deref(), Some("9"));
        it.complete("handler-work", "{}");
        assert_eq!(it.visits("handler-work"), 1, "{trigger}");
    }
    let mut it = handled(&on_message("M"));
    it.complete("handler-work", "{}");
    assert_eq!(failure(&it, "handler-work"), Some(FailureKind::Restriction), "others do");
}

// covers: FLOW-21
#[test]
fn a_compensation_activity_does_not_inherit_restrictions() {
    let undo = undo("a").replace(
        r#"isForCompensation="true"/>"#,
        r#"isForCompensation="true"><ext>load := 9</ext></userTask>"#,
    );
    let mut it = run(
        "load=0",
        &format!(
            r#"<own>load < 3</own> <userTask id="a"/> {undo} {} <userTask id="more"/>
               <path>a back more</path>"#,
            back("")
        ),
    );
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["undo-a"]);
    it.complete("undo-a", "{}");
    assert_eq!(it.waiting(), ["more"]);
}

// ---- Tasks

fn task(kind: &str, attributes: &str, ext: &str, beside: &str) -> Scenario {
    run(
        "load=0 timestamp=0",
        &format!(
            r#"<task id="begin"/> <{kind} id="work" {attributes}><ext>{ext}</ext></{kind}>
               <userTask id="next"/> <path>begin work next</path> {beside}"#
        ),
    )
}

// covers: FLOW-22, FLOW-23
#[test]
fn a_task_takes_the_same_way_as_a_sub_process() {
    let mut it = task("userTask", r#"tv:gate="ready entry exit""#, "load := load + 1", "");
    let mut states = Vec::new();
    let mut loads = Vec::new();
    for _ in ["ready", "entry", "work", "exit"] {
        states.push(it.state("work").expect("it is there"));
        loads.push(status(&it, "work", "load").expect("it has a load"));
        it.complete("work", "{}");
    }
    assert_eq!(states, [Arrived, Ready, Busy, Completed]);
    assert_eq!(loads, ["0", "0", "1", "1"], "operators are applied when it becomes busy");
    assert_eq!(life(&it, "work"), [Arrived, Ready, Busy, Completed, Departed]);
    assert_eq!(status(&it, "next", "load").as_deref(), Some("1"));
}

// covers: FLOW-22
#[test]
fn a_task_that_fails_has_failed_at_once() {
    let caught = boundary("caught", "work", true, ERROR);
    let mut it = task("userTask", "", "", &caught);
    it.raise("work", "E");
    assert_eq!(life(&it, "work"), [Arrived, Busy, Failed]);
    assert_eq!(it.waiting(), ["caught-way"]);
    let mut it = task("userTask", r#"tv:gate="exit""#, "exit: load < 3", &caught);
    it.complete("work", r#"{"load": 5}"#);
    it.complete("work", "{}");
    assert_eq!(life(&it, "work"), [Arrived, Busy, Completed, Failed]);
    assert_eq!(it.waiting(), ["caught-way"]);
    let it = task("userTask", "", "entry: load > 0", "");
    assert_eq!(failure(&it, "work"), Some(FailureKind::Restriction));
}

// covers: FLOW-23
#[test]
fn a_task_says_when_it_expects_to_be_complete_and_then_when_it_is() {
    let mut it = task("userTask", "", "timestamp := timestamp + 100; load := 4", "");
    assert_eq!(status(&it, "work", "timestamp").as_deref(), Some("100"), "expected");
    assert_eq!(it.state("work"), Some(Busy), "which is not yet");
    it.advance(130);
    it.complete("work", r#"{"load": 3}"#);
    assert_eq!(status(&it, "next", "timestamp").as_deref(), Some("130"), "real");
    assert_eq!(status(&it, "next", "load").as_deref(), Some("3"));
}

// covers: FLOW-24
#[test]
fn a_send_task_applies_its_operators_sends_and_waits() {
    let payload = r#"load := 4; <tv:payload name="amount">load</tv:payload>"#;
    let mut it = task("sendTask", r#"messageRef="M""#, payload, "");
    assert_eq!(it.state("work"), Some(Busy));
    let sent = &it.instance.waits[&it.waits_at("work")[0]].on;
    let WaitFor::Delivery(Post::Message { name, payload, .. }) = &**sent else {
        panic!("it waits for {sent:?}")
    };
    assert_eq!(&**name, "M");
    assert_eq!(*payload, assignments(r#"{"amount": 4}"#));
    it.complete("work", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

// covers: FLOW-24
#[test]
fn receive_and_decision_tasks_apply_what_came_before_their_operators() {
    for (kind, attributes) in
        [("receiveTask", r#"messageRef="M""#), ("task", r#"tv:decision="true""#)]
    {
        let mut it = task(kind, attributes, "load := load + 1", "");
        assert_eq!(it.state("work"), Some(Busy), "{kind}");
        assert_eq!(status(&it, "work", "load").as_deref(), Some("0"), "{kind}");
        it.complete("work", r#"{"load": 7}"#);
        assert_eq!(status(&it, "next", "load").as_deref(), Some("8"), "{kind}");
    }
}

// covers: FLOW-24
#[test]
fn operators_of_send_receive_and_decision_tasks_are_instantaneous() {
    let later = "timestamp := timestamp + 1";
    let it = task("sendTask", r#"messageRef="M""#, later, "");
    assert_eq!(failure(&it, "work"), Some(FailureKind::Operator));
    for (kind, attributes) in
        [("receiveTask", r#"messageRef="M""#), ("task", r#"tv:decision="true""#)]
    {
        let mut it = task(kind, attributes, later, "");
        it.complete("work", "{}");
        assert_eq!(failure(&it, "work"), Some(FailureKind::Operator), "{kind}");
        let mut it = task(kind, attributes, "timestamp := timestamp", "");
        it.complete("work", "{}");
        assert_eq!(it.waiting(), ["next"], "{kind}");
    }
}

// ---- Processes

/// A process with this restriction, in which nobody catches an error and it fails.
fn failing_process(restriction: &str) -> Scenario {
    let mut it = Scenario::definitions(&definitions(
        "load=0",
        &format!(
            r#"<own>{restriction}</own> <userTask id="a"/> {} <userTask id="work"/>
               <path>a work</path>"#,
            undo("a")
        ),
    ))
    .with_plan(|plan| {
        plan.policy.compensate_on_error = CompensateOnError::Always;
        plan.policy.unhandled_error = UnhandledError::Fail;
    });
    it.start("{}");
    it
}

fn failed_as(it: &Scenario) -> Option<FailureKind> {
    match it.instance.ending() {
        Some(Ending::Failed(failure)) => Some(failure.kind.clone()),
        _ => None,
    }
}

// covers: FLOW-25
#[test]
fn a_process_is_busy_and_then_done() {
    let mut it = failing_process("load < 3");
    assert_eq!(it.instance.tokens[&ROOT].state, Busy);
    it.complete("a", "{}");
    it.complete("work", "{}");
    assert!(it.is_completed());
    assert_eq!(life(&it, "p"), [Created, Busy, Done]);
    assert!(it.instance.tokens.is_empty());
}

// covers: FLOW-25
#[test]
fn a_process_that_cannot_be_entered_has_failed() {
    let it = failing_process("entry: load > 0");
    assert_eq!(failed_as(&it), Some(FailureKind::Restriction));
    assert_eq!(life(&it, "p"), [Created, Failed]);
    assert!(it.instance.tokens.is_empty());
}

// covers: FLOW-25
#[test]
fn a_process_with_a_failure_inside_is_failing_and_then_failed() {
    let mut it = failing_process("");
    it.complete("a", "{}");
    it.raise("work", "E");
    assert_eq!(it.instance.tokens[&ROOT].state, Failing);
    assert_eq!(it.waiting(), ["undo-a"]);
    it.complete("undo-a", "{}");
    assert_eq!(life(&it, "p"), [Created, Busy, Failing, Failed]);
    assert_eq!(failed_as(&it), Some(FailureKind::Error));
    assert!(it.instance.tokens.is_empty());
}

// covers: FLOW-25
#[test]
fn a_process_that_cannot_be_left_is_failing_and_then_failed() {
    let mut it = failing_process("exit: load < 3");
    it.complete("a", "{}");
    it.complete("work", r#"{"load": 5}"#);
    assert_eq!(it.instance.tokens.get(&ROOT).map(|it| it.state), Some(Failing));
    assert_eq!(it.waiting(), ["undo-a"]);
    it.complete("undo-a", "{}");
    assert_eq!(life(&it, "p").last(), Some(&Failed));
    assert_eq!(failed_as(&it), Some(FailureKind::Restriction));
    assert!(it.instance.tokens.is_empty());
}

// ---- Events and gateways

// covers: FLOW-26
#[test]
fn an_interrupting_boundary_event_takes_what_came_and_goes_on() {
    let watch = boundary("watch", "work", true, &on_message("M"));
    let mut it = task("userTask", "", "", &watch);
    assert_eq!(it.state("watch"), Some(Busy));
    it.message("M", r#"{"load": 8}"#);
    assert_eq!(it.waiting(), ["watch-way"]);
    assert_eq!(it.armed(), ["watch-way"]);
    assert_eq!(life(&it, "watch"), [Created, Busy, Departed]);
    assert_eq!(life(&it, "work"), [Arrived, Busy, Withdrawn]);
    assert_eq!(status(&it, "watch-way", "load").as_deref(), Some("8"));
}

// covers: FLOW-26
#[test]
fn a_boundary_event_that_does_not_interrupt_is_armed_again() {
    let watch = boundary("watch", "work", false, &on_message("M"));
    let mut it = task("userTask", "", "load := 2", &watch);
    for count in 1..4 {
        it.message("M", r#"{"load": 8}"#);
        assert_eq!(it.tokens_at("watch-way").len(), count);
        assert_eq!(it.state("watch"), Some(Busy));
        assert_eq!(status(&it, "watch", "load").as_deref(), Some("2"), "the activity's status");
        assert_eq!(status(&it, "work", "load").as_deref(), Some("2"));
        assert_eq!(it.state("work"), Some(Busy));
    }
    let way = it.tokens_at("watch-way")[0];
    let load = it.instance.tokens[&way].status.as_ref().map(|it| it["load"].to_json());
    assert_eq!(load.as_deref(), Some("8"));
}

// covers: FLOW-26
#[test]
fn other_boundary_events_are_withdrawn_with_the_activity() {
    let (watch, other) = (
        boundary("watch", "work", true, &on_message("M")),
        boundary("other", "work", false, &on_message("N")),
    );
    let mut it = task("userTask", "", "", &format!("{watch}{other}"));
    it.message("M", "{}");
    assert_eq!(life(&it, "other"), [Created, Busy, Withdrawn]);
    assert_eq!(it.armed(), ["watch-way"]);
}

// covers: FLOW-27
#[test]
fn boundary_events_are_withdrawn_when_the_activity_is_left() {
    let watch = boundary("watch", "work", true, &on_message("M")) + &undo("work");
    let mut it = task("userTask", r#"tv:gate="exit""#, "", &watch);
    it.complete("work", "{}");
    assert_eq!(it.armed(), ["watch", "work"], "not yet");
    it.complete("work", "{}");
    assert_eq!(it.armed(), ["next"]);
    assert_eq!(life(&it, "watch"), [Created, Busy, Withdrawn]);
    assert_eq!(undoable(&it), ["of-work"], "what undoes it stays");
}

/// A sub-process with event sub-processes that do, with these extensions, and do not interrupt.
fn with_events(stop: &str) -> Scenario {
    let (extra, stopping) = (
        event_sub_process("extra", false, &on_message("N")),
        event_sub_process("stop", true, &on_message("M")),
    );
    let stopping = stopping.replacen('>', &format!("><ext>{stop}</ext>"), 1);
    run(
        "load=0",
        &format!(
            r#"<subProcess id="sub"><userTask id="work"/> <userTask id="beside" tv:gate="ready"/>
                 {extra} {stopping}
               </subProcess> {CAUGHT} <userTask id="next"/> <path>sub next</path>"#
        ),
    )
}

// covers: FLOW-28
#[test]
fn an_interrupting_event_sub_process_ends_all_else_in_its_scope() {
    let mut it = with_events("load := load + 1; entry: load == 1");
    assert_eq!((it.state("stop-start"), it.state("extra-start")), (Some(Busy), Some(Busy)));
    it.message("N", "{}");
    assert_eq!(it.waiting(), ["beside", "extra-work", "work"]);
    it.message("M", "{}");
    assert_eq!(it.armed(), ["stop-work"], "nothing else is left or can be triggered");
    assert_eq!(status(&it, "stop-work", "load").as_deref(), Some("1"), "operators are applied");
    for node in ["work", "beside", "extra-work"] {
        assert_eq!(lives(&it, node)[0].last(), Some(&Withdrawn), "{node}");
    }
    assert_eq!(it.state("sub"), Some(Busy));
}

// covers: FLOW-28
#[test]
fn an_event_sub_process_applies_what_came_and_then_its_operators() {
    let mut it = with_events("load := load + 1");
    it.message("M", r#"{"load": 3}"#);
    assert_eq!(status(&it, "stop-work", "load").as_deref(), Some("4"));
}

// covers: FLOW-28
#[test]
fn an_event_sub_process_that_may_not_be_entered_fails_in_its_scope() {
    let mut it = with_events("load := 5; entry: load < 3");
    it.message("M", "{}");
    assert_eq!(it.waiting(), ["repair"]);
    assert_eq!(it.armed(), ["repair"], "all else was withdrawn before");
    assert_eq!(lives(&it, "stop-work"), NO_LIVES);
}

// covers: FLOW-28
#[test]
fn an_infeasible_event_sub_process_fails_its_scope_also_where_it_does_not_interrupt() {
    let extra = event_sub_process("extra", false, &on_message("N"));
    let extra = extra.replacen('>', "><ext>entry: load > 0</ext>", 1);
    let mut it = run(
        "load=0",
        &format!(r#"<subProcess id="sub"><userTask id="work"/> {extra}</subProcess> {CAUGHT}"#),
    );
    it.message("N", "{}");
    assert_eq!(it.armed(), ["repair"]);
    assert_eq!(life(&it, "work").last(), Some(&Withdrawn));
}

// covers: FLOW-28
#[test]
fn an_event_sub_process_that_does_not_interrupt_can_run_several_times_at_once() {
    let mut it = with_events("");
    it.message("N", "{}");
    it.message("N", "{}");
    assert_eq!(it.waiting(), ["beside", "extra-work", "extra-work", "work"]);
    assert_eq!(it.state("extra-start"), Some(Busy), "it is armed again");
    let shown: Vec<String> = it
        .tokens_at("extra-work")
        .iter()
        .map(|id| address(&it.plan, &it.instance, "order-7", *id))
        .collect();
    assert_ne!(shown[0], shown[1], "each has a name of its own");
    assert!(shown.iter().all(|it| it.starts_with("order-7^sub^extra#")), "{shown:?}");
}

// covers: FLOW-29
#[test]
fn nothing_is_triggered_any_more_when_all_tokens_of_the_scope_are_done() {
    let mut it = with_events("");
    it.message("N", "{}");
    it.complete("work", "{}");
    it.complete("beside", "{}");
    assert_eq!(it.armed(), ["beside", "extra-start", "extra-work", "stop-start"]);
    it.complete("beside", "{}");
    assert_eq!(it.armed(), ["extra-work"]);
    assert_eq!(it.state("sub"), Some(Busy));
    it.complete("extra-work", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

/// An escalation two levels deep, with these event sub-processes inside and boundary events beside.
fn escalating(inner: &str, inner_beside: &str, outer_beside: &str) -> Scenario {
    let mut it = run(
        "load=0",
        &format!(
            r#"<subProcess id="sub">
                 <subProcess id="inner"><userTask id="work"><ext>load := 7</ext></userTask> {}
                   <userTask id="more"/> <path>work tell more</path> {inner}
                 </subProcess> {inner_beside}
               </subProcess> {outer_beside}"#,
            tell()
        ),
    );
    it.complete("work", "{}");
    it
}

// covers: FLOW-30
#[test]
fn the_nearest_handler_hears_an_escalation() {
    let inside = event_sub_process("heard", false, ESCALATION);
    let near = boundary("near", "inner", false, ESCALATION);
    let far = boundary("far", "sub", false, ESCALATION);
    let it = escalating(&inside, &near, &far);
    assert_eq!(it.waiting(), ["heard-work", "more"]);
    assert_eq!(status(&it, "inner", "load").as_deref(), Some("0"), "it was heard below");
    let it = escalating("", &near, &far);
    assert_eq!(it.waiting(), ["more", "near-way"]);
    assert_eq!(status(&it, "near-way", "load").as_deref(), Some("7"));
    assert_eq!(status(&it, "sub", "load").as_deref(), Some("0"));
    let it = escalating("", "", &far);
    assert_eq!(it.waiting(), ["far-way", "more"]);
    assert_eq!(it.state("inner"), Some(Busy));
    assert_eq!(status(&it, "inner", "load").as_deref(), Some("7"), "it takes the status");
}

// covers: FLOW-30
#[test]
fn an_interrupting_handler_of_an_escalation_ends_who_escalated() {
    let it = escalating(&event_sub_process("heard", true, ESCALATION), "", "");
    assert_eq!(it.waiting(), ["heard-work"]);
    assert_eq!(status(&it, "heard-work", "load").as_deref(), Some("7"));
    let it = escalating("", &boundary("near", "inner", true, ESCALATION), "");
    assert_eq!(it.waiting(), ["near-way"]);
    assert_eq!(life(&it, "inner").last(), Some(&Withdrawn));
}

// covers: FLOW-30
#[test]
fn an_escalation_that_nobody_hears_is_harmless() {
    let mut it = escalating("", "", "");
    assert_eq!(it.waiting(), ["more"]);
    assert!(it.instance.incidents.is_empty());
    for node in ["inner", "sub"] {
        assert_eq!(it.state(node), Some(Busy));
        assert_eq!(status(&it, node, "load").as_deref(), Some("7"));
    }
    it.complete("more", "{}");
    assert!(it.is_completed());
}

// covers: FLOW-31
#[test]
fn an_error_looks_for_its_handler_from_the_inside_out() {
    let handlers = [
        (boundary("at-node", "work", true, ERROR), "at-node-way"),
        (event_sub_process("in-inner", true, ERROR), "in-inner-work"),
        (boundary("at-inner", "inner", true, ERROR), "at-inner-way"),
        (event_sub_process("in-sub", true, ERROR), "in-sub-work"),
        (boundary("at-sub", "sub", true, ERROR), "at-sub-way"),
        (event_sub_process("in-process", true, ERROR), "in-process-work"),
    ];
    for first in 0..=handlers.len() {
        let at = |index: usize| if index < first { "" } else { &*handlers[index].0 };
        let mut it = run(
            "",
            &format!(
                r#"<subProcess id="sub"><subProcess id="inner"><userTask id="work"/> {} {}
                   </subProcess> {} {}</subProcess> {} {}"#,
                at(0),
                at(1),
                at(2),
                at(3),
                at(4),
                at(5)
            ),
        );
        it.raise("work", "E");
        match handlers.get(first) {
            Some((_, task)) => assert_eq!(it.waiting(), [*task]),
            None => assert_eq!(failure(&it, "work"), Some(FailureKind::Error)),
        }
    }
}

/// Three branches that leave with this status, in this order, and then join.
fn joined(branches: [&str; 3], order: [usize; 3]) -> Scenario {
    let names = ["a", "b", "c"];
    let mut tasks = String::new();
    for name in names {
        write!(tasks, r#"<userTask id="{name}" tv:gate="exit"/> <path>split {name} join</path>"#)
            .expect("text");
    }
    let mut it = run(
        "load=6 place timestamp=1",
        &format!(
            r#"<task id="begin"/> <parallelGateway id="split"/> {tasks}
               <parallelGateway id="join"/> <userTask id="next"/>
               <path>begin split</path> <path>join next</path>"#
        ),
    );
    for branch in order {
        it.complete(names[branch], "{}");
        it.complete(names[branch], branches[branch]);
    }
    it
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// covers: FLOW-32
#[test]
fn a_split_copies_the_token_and_a_join_waits_for_all() {
    let mut it = run(
        "load=0",
        r#"<userTask id="begin"/> <parallelGateway id="split"/> <userTask id="a"/> <userTask id="b"/>
           <parallelGateway id="join"/> <userTask id="next"/>
           <path>begin split a join next</path> <path>split b join</path>"#,
    );
    it.complete("begin", r#"{"load": 6}"#);
    for node in ["a", "b"] {
        assert_eq!(status(&it, node, "load").as_deref(), Some("6"));
    }
    it.complete("b", "{}");
    assert_eq!(it.state("join"), Some(Waiting));
    assert_eq!(it.tokens_at("next"), []);
    it.complete("a", "{}");
    assert_eq!(it.tokens_at("next").len(), 1);
    assert_eq!(it.tokens_at("join"), []);
    let lives = lives(&it, "join");
    assert_eq!(lives.len(), 2);
    assert!(lives.iter().all(|it| it[..1] == [Arrived]), "{lives:?}");
    assert!(lives.iter().any(|it| *it == [Arrived, Waiting, Departed]), "{lives:?}");
    it.complete("next", "{}");
    assert!(it.is_completed());
}

// covers: FLOW-33
#[test]
fn merged_status_does_not_depend_on_the_order() {
    for order in ORDERS {
        let known =
            [r#"{"timestamp": 5, "place": "x"}"#, r#"{"timestamp": 9}"#, r#"{"timestamp": 2}"#];
        let it = joined(known, order);
        assert_eq!(status(&it, "next", "timestamp").as_deref(), Some("9"), "the latest");
        assert_eq!(status(&it, "next", "load").as_deref(), Some("6"), "all agree");
        assert_eq!(status(&it, "next", "place").as_deref(), Some(r#""x""#), "one knows");
        let it = joined([r#"{"load": 1}"#, r#"{"load": 2}"#, r#"{"load": 1}"#], order);
        assert_eq!(status(&it, "next", "load"), None, "{order:?}: two do not agree");
        let it = joined([r#"{"place": "x"}"#, r#"{"load": null}"#, r#"{"place": "x"}"#], order);
        assert_eq!(status(&it, "next", "place").as_deref(), Some(r#""x""#), "who knows agrees");
        assert_eq!(status(&it, "next", "load").as_deref(), Some("6"));
    }
}

/// To `a` above 5, else to `b` above 2, else by the flow to `c` that is said.
fn choosing(default: &str, to_c: &str, beside: &str) -> Scenario {
    let when = |to: &str, condition: &str| {
        format!(
            r#"<sequenceFlow id="to-{to}" sourceRef="which" targetRef="{to}">
               <conditionExpression>{condition}</conditionExpression></sequenceFlow>"#
        )
    };
    let (to_a, to_b) = (when("a", "load > 5"), when("b", "load > 2"));
    let to_c = if to_c.is_empty() { "<path>which c</path>" } else { &when("c", to_c) };
    run(
        "load=0",
        &format!(
            r#"<subProcess id="sub"><userTask id="ask"/> <exclusiveGateway id="which" {default}/>
                 <userTask id="a"/> <userTask id="b"/> <userTask id="c"/>
                 <path>ask which</path> {to_c} {to_a} {to_b}</subProcess> {beside}"#
        ),
    )
}

// covers: FLOW-34
#[test]
fn an_exclusive_gateway_takes_the_first_flow_that_holds_or_the_default() {
    for (load, way) in [(9, "a"), (4, "b"), (1, "c")] {
        let mut it = choosing(r#"default="which-c""#, "", "");
        it.complete("ask", &format!(r#"{{"load": {load}}}"#));
        assert_eq!(it.waiting(), [way]);
    }
}

// covers: FLOW-34
#[test]
fn an_exclusive_gateway_without_a_way_fails() {
    let mut it = choosing("", "false", "");
    it.complete("ask", "{}");
    assert_eq!(failure(&it, "which"), Some(FailureKind::NoFlow));
    let mut it = choosing("", "false", CAUGHT);
    it.complete("ask", "{}");
    assert_eq!(it.waiting(), ["repair"], "which can be caught like any failure");
    assert_eq!(life(&it, "which"), [Arrived, Failed]);
}

// covers: FLOW-34
#[test]
fn other_nodes_split_to_all_flows_and_merge_nothing() {
    let mut it = run(
        "",
        r#"<userTask id="begin"/> <userTask id="a"/> <userTask id="b"/> <userTask id="next"/>
           <path>begin a next</path> <path>begin b next</path>"#,
    );
    it.complete("begin", "{}");
    assert_eq!(it.waiting(), ["a", "b"]);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b", "next"]);
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["next", "next"]);
}

// covers: FLOW-35
#[test]
fn the_first_event_behind_an_event_based_gateway_wins() {
    let catch = |id: &str, message: &str| {
        format!(
            r#"<intermediateCatchEvent id="{id}">{}</intermediateCatchEvent>"#,
            on_message(message)
        )
    };
    let mut it = run(
        "load=0",
        &format!(
            r#"<task id="begin"/> <eventBasedGateway id="which"/> {} {}
               <userTask id="a"/> <userTask id="b"/>
               <path>begin which on-m a</path> <path>which on-n b</path>"#,
            catch("on-m", "M"),
            catch("on-n", "N")
        ),
    );
    assert_eq!(it.armed(), ["on-m", "on-n"], "a copy for each");
    it.message("N", r#"{"load": 4}"#);
    assert_eq!(it.armed(), ["b"]);
    assert_eq!(life(&it, "on-m").last(), Some(&Withdrawn));
    assert_eq!(it.tokens_at("which"), []);
    assert_eq!(status(&it, "b", "load").as_deref(), Some("4"));
    it.complete("b", "{}");
    assert!(it.is_completed());
}

// covers: FLOW-36
#[test]
fn a_signal_gives_its_content_to_all_who_wait() {
    let catch = r#"<signalEventDefinition signalRef="S"/></intermediateCatchEvent>"#;
    let mut it = run(
        r#"load=0 place="x""#,
        &format!(
            r#"<intermediateCatchEvent id="a">{catch} <userTask id="after-a"/> <path>a after-a</path>
               <intermediateCatchEvent id="b">{catch} <userTask id="after-b"/> <path>b after-b</path>
               <userTask id="late"/> <intermediateCatchEvent id="c">{catch} <path>late c</path>
               <userTask id="ask"/> <intermediateThrowEvent id="send">
               <ext><tv:payload name="load">load</tv:payload>; <tv:payload name="place">place</tv:payload></ext>
               <signalEventDefinition signalRef="S"/></intermediateThrowEvent> <path>ask send</path>"#
        ),
    );
    it.complete("ask", r#"{"load": 5, "place": null}"#);
    let sent = it.events.iter().find_map(|event| match event {
        Event::Posted { what, .. } => Some(Arc::clone(what)),
        _ => None,
    });
    let Some(Post::Signal { name, payload }) = sent.as_deref() else { panic!("{sent:?} was sent") };
    assert_eq!((&**name, payload), ("S", &assignments(r#"{"load": 5, "place": null}"#)));
    let content: Assignments = payload.clone();
    let text = Value::from(content.into_iter().collect::<travertine_value::Map>()).to_json();
    it.signal("S", &text);
    for node in ["after-a", "after-b"] {
        assert_eq!(status(&it, node, "load").as_deref(), Some("5"));
        assert_eq!(status(&it, node, "place"), None, "what the sender does not know is undefined");
    }
    it.complete("late", "{}");
    assert_eq!(it.state("c"), Some(Busy), "who waits later has missed it");
}

// covers: FLOW-36
#[test]
fn messages_match_where_both_sides_say_something() {
    let cases = [
        ("{}", "{}", true),
        (r#"{"a": 1}"#, "{}", true),
        (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, true),
        (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "c": 3}"#, true),
        (r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "b": 3}"#, false),
        (r#"{"a": 1}"#, r#"{"a": null}"#, true),
        (r#"{"a": 1}"#, r#"{"a": "1"}"#, true),
        (r#"{"a": 1}"#, r#"{"a": "1.5"}"#, false),
    ];
    for (one, other, matches) in cases {
        let (one, other) = (assignments(one), assignments(other));
        assert_eq!(correlates(&one, &other), matches, "{one:?} {other:?}");
        assert_eq!(correlates(&other, &one), matches, "{other:?} {one:?}");
    }
}

// covers: FLOW-36
#[test]
fn a_message_is_held_until_someone_waits_or_it_expires() {
    let mut sandbox = world(
        r#"<userTask id="before"/> <receiveTask id="hear" messageRef="M">
             <ext><tv:correlation name="who">who</tv:correlation>
                  <tv:correlation name="kind">"letter"</tv:correlation></ext></receiveTask>
           <path>before hear</path>"#,
    );
    let id =
        sandbox.start(Start::of("p").with(assignments(r#"{"who": "ann"}"#))).expect("it starts");
    let brief =
        Message { ttl: Some(Duration::from_millis(10)), ..letter("M", r#"{"who": "ann"}"#) };
    assert_eq!(sandbox.publish(brief).expect("it is sent"), Receipt::Held);
    sandbox.advance_by(Duration::from_millis(11)).expect("time passes");
    for other in [r#"{"who": "bob"}"#, r#"{"who": "ann", "kind": "parcel"}"#] {
        assert_eq!(sandbox.publish(letter("M", other)).expect("it is sent"), Receipt::Held);
    }
    let wait =
        *sandbox.instance(id).expect("it is there").state.waits.keys().next().expect("it waits");
    let to = travertine_runtime::Address { instance: id, wait };
    sandbox.complete(to, Vec::new()).expect("it can be completed");
    assert_eq!(waiting(&sandbox), ["1^hear"], "what is held is not for it, or too old");
    let right = letter("M", r#"{"who": "ann", "other": 1}"#);
    assert!(matches!(sandbox.publish(right).expect("it is sent"), Receipt::Received(_)));
    assert_eq!(waiting(&sandbox), NOTHING);
    let mut early = world(
        r#"<userTask id="before"/> <receiveTask id="hear" messageRef="M"/> <path>before hear</path>"#,
    );
    let id = early.start(Start::of("p")).expect("it starts");
    assert_eq!(early.publish(Message::new("M")).expect("it is sent"), Receipt::Held);
    let wait =
        *early.instance(id).expect("it is there").state.waits.keys().next().expect("it waits");
    let to = travertine_runtime::Address { instance: id, wait };
    early.complete(to, Vec::new()).expect("it can be completed");
    assert_eq!(waiting(&early), NOTHING, "it was held for it");
}

// covers: FLOW-36
#[test]
fn a_message_that_can_start_an_instance_is_not_held() {
    let mut sandbox = world(
        r#"<startEvent id="begin"><messageEventDefinition messageRef="M"/></startEvent>
           <userTask id="work"/> <endEvent id="end"/> <path>begin work end</path>"#,
    );
    let receipt = sandbox.publish(Message::new("M")).expect("it is sent");
    assert!(matches!(receipt, Receipt::Started(_)));
    assert_eq!(sandbox.held().count(), 0);
    assert_eq!(waiting(&sandbox), ["1^work"]);
}

// covers: FLOW-37
#[test]
fn throw_and_end_events_do_not_rest() {
    let mut it = run(
        "",
        &format!(
            r#"<startEvent id="start"/> {} <userTask id="work"/>
               <subProcess id="sub"><startEvent id="in"/>
                 <endEvent id="broken"><errorEventDefinition errorRef="E"/></endEvent>
                 <path>in broken</path></subProcess>
               <endEvent id="end"/> <path>start tell work sub end</path>
               <boundaryEvent id="caught" attachedToRef="sub">{ERROR}</boundaryEvent>
               <path>caught end</path>"#,
            tell()
        ),
    );
    it.complete("work", "{}");
    assert_eq!(life(&it, "tell"), [Arrived, Departed]);
    assert_eq!(life(&it, "broken"), [Arrived, Failed]);
    assert_eq!(life(&it, "end"), [Arrived, Done]);
    assert!(it.is_completed());
}

// ---- Ad-hoc sub-processes and their performers

/// `driver` performs two ad-hoc sub-processes.
fn tour() -> Scenario {
    run(
        "load=0",
        r#"<subProcess id="driver"><performer name="Sequential"/>
             <adHocSubProcess id="morning" ordering="Sequential">
               <userTask id="a" tv:gate="exit"><ext>load := load + 1</ext></userTask>
               <userTask id="b" tv:gate="entry"><ext>load := load + 10</ext></userTask>
             </adHocSubProcess>
             <adHocSubProcess id="evening" ordering="Sequential">
               <userTask id="c"><ext>load := load + 100</ext></userTask>
             </adHocSubProcess>
           </subProcess> <userTask id="next"/> <path>driver next</path>"#,
    )
}

/// Those that are between entry and exit.
fn performed(it: &Scenario) -> Vec<&str> {
    let inside = it.instance.tokens.iter().filter(|(id, token)| {
        matches!(token.state, Busy | Completed) && ["a", "b", "c"].contains(&it.node(**id))
    });
    inside.map(|(id, _)| it.node(*id)).collect()
}

// covers: FLOW-38, FLOW-40
#[test]
fn a_performer_does_one_thing_at_a_time() {
    let mut it = tour();
    assert_eq!(performed(&it), ["a"]);
    it.complete("a", "{}");
    assert_eq!(performed(&it), ["a"], "it is not left yet");
    it.complete("a", "{}");
    assert_eq!(performed(&it), ["c"], "who waited is entered");
    assert_eq!(status(&it, "c", "load").as_deref(), Some("101"), "with the performer's status");
    assert_eq!(status(&it, "driver", "load").as_deref(), Some("1"));
    it.complete("c", "{}");
    assert_eq!(performed(&it), NOTHING);
    assert_eq!(status(&it, "driver", "load").as_deref(), Some("101"), "and back");
    it.complete("b", "{}");
    assert_eq!(performed(&it), ["b"]);
    assert_eq!(status(&it, "b", "load").as_deref(), Some("111"));
    it.complete("b", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

// covers: FLOW-40
#[test]
fn an_entry_is_refused_while_the_performer_is_busy() {
    let mut it = tour();
    let wait = it.waits_at("b")[0];
    assert!(matches!(*it.instance.waits[&wait].on, WaitFor::Gate(Gate::Entry)));
    let enter = Command::Complete { wait, variables: Vec::new() };
    let with = token(&it, "a");
    assert_eq!(it.ask(enter.clone()), Err(Rejection::PerformerBusy { wait, with }));
    assert_eq!(performed(&it), ["a"]);
    for node in ["a", "a", "c"] {
        it.complete(node, "{}");
    }
    assert_eq!(it.ask(enter), Ok(()), "it is idle now");
    assert_eq!(performed(&it), ["b"]);
}

// covers: FLOW-38, FLOW-40
#[test]
fn a_performer_is_idle_again_however_its_work_ends() {
    let stop = boundary("stop", "a", true, &on_message("M")).replace("userTask", "task");
    let caught = boundary("caught", "a", true, ERROR).replace("userTask", "task");
    for how in ["done", "interrupted", "failed"] {
        let mut it = run(
            "load=0",
            &format!(
                r#"<adHocSubProcess id="sub" ordering="Sequential">
                     <userTask id="a"><ext>load := load + 1</ext></userTask> {stop} {caught}
                     <userTask id="b"/></adHocSubProcess>"#
            ),
        );
        assert_eq!(performed(&it), ["a"]);
        match how {
            "done" => it.complete("a", "{}"),
            "interrupted" => it.message("M", "{}"),
            _ => it.raise("a", "E"),
        }
        assert_eq!(performed(&it), ["b"], "{how}");
        it.complete("b", "{}");
        assert!(it.is_completed(), "{how}");
    }
}

// covers: FLOW-39
#[test]
fn the_performer_is_the_nearest_one_within_the_same_ad_hoc_sub_process() {
    let it = run(
        "",
        r#"<subProcess id="far"><performer name="Sequential"/>
             <subProcess id="near"><performer name="Sequential"/>
               <subProcess id="between">
                 <adHocSubProcess id="outer" ordering="Sequential">
                   <subProcess id="inside"><adHocSubProcess id="alone" ordering="Sequential">
                     <userTask id="a"/></adHocSubProcess></subProcess>
                   <subProcess id="own"><performer name="Sequential"/>
                     <adHocSubProcess id="led" ordering="Sequential"><userTask id="b"/>
                     </adHocSubProcess></subProcess>
                 </adHocSubProcess>
               </subProcess>
             </subProcess>
           </subProcess>"#,
    );
    let performer = |node: &str| {
        let node = it.plan.node(it.plan.find(node).expect("there is such a node"));
        let Element::AdHoc(ad_hoc) = &node.element else { panic!("it is no ad-hoc sub-process") };
        ad_hoc.performer.map(|it_is| it.plan.node(it_is).name.to_string())
    };
    assert_eq!(performer("outer").as_deref(), Some("near"));
    assert_eq!(performer("alone"), None, "another ad-hoc sub-process is between");
    assert_eq!(performer("led").as_deref(), Some("own"));
    assert_eq!(it.waiting(), ["a"], "the other one waits for the performer of both");
}

// covers: FLOW-39
#[test]
fn without_a_performer_each_ad_hoc_sub_process_performs_its_own() {
    let it = run(
        "",
        r#"<adHocSubProcess id="one" ordering="Sequential"><userTask id="a"/> <userTask id="b"/>
           </adHocSubProcess>
           <adHocSubProcess id="two" ordering="Sequential"><userTask id="c"/></adHocSubProcess>
           <adHocSubProcess id="three"><userTask id="d"/> <userTask id="e"/></adHocSubProcess>"#,
    );
    assert_eq!(it.waiting(), ["a", "c", "d", "e"]);
}

// covers: FLOW-41
#[test]
fn a_performer_keeps_its_own_status_when_its_scope_is_done() {
    let mut it = tour();
    for node in ["a", "a", "c", "b", "b"] {
        it.complete(node, "{}");
    }
    assert_eq!(
        status(&it, "next", "load").as_deref(),
        Some("111"),
        "not merged from 1, 11 and 111"
    );
    let mut it = run(
        "load=0",
        r#"<adHocSubProcess id="own" ordering="Sequential">
             <userTask id="a"><ext>load := load + 1</ext></userTask>
             <userTask id="b"><ext>load := load + 1</ext></userTask>
           </adHocSubProcess> <userTask id="next"/> <path>own next</path>"#,
    );
    it.complete("a", "{}");
    assert_eq!(status(&it, "own", "load").as_deref(), Some("1"));
    it.complete("b", "{}");
    assert_eq!(status(&it, "next", "load").as_deref(), Some("2"));
}

// covers: FLOW-42
#[test]
fn an_ad_hoc_sub_process_is_complete_with_its_last_token() {
    let mut it = run(
        "",
        r#"<adHocSubProcess id="sub" tv:gate="exit"><userTask id="a"/> <userTask id="b"/>
             <userTask id="c"/> <path>b c</path></adHocSubProcess>"#,
    );
    for (node, left) in [("b", ["a", "c"].as_slice()), ("a", &["c"]), ("c", &["sub"])] {
        assert_eq!(it.state("sub"), Some(Busy));
        it.complete(node, "{}");
        assert_eq!(it.waiting(), left);
        assert_eq!(it.tokens_at(node), [], "what is done is removed");
    }
    assert_eq!(it.state("sub"), Some(Completed));
}

// ---- Restrictions

// covers: FLOW-43
#[test]
fn a_restriction_holds_at_its_points_and_no_others() {
    // The load before the entry, at completion and at exit, and where each scope finds fault.
    let cases = [
        ("entry", [9, 0, 0], Some("entry")),
        ("entry", [0, 9, 9], None),
        ("completion", [9, 0, 0], None),
        ("completion", [0, 9, 0], Some("completion")),
        ("exit", [9, 9, 0], None),
        ("exit", [0, 0, 9], Some("exit")),
        ("completion", [0, 0, 9], Some("exit")),
        ("full", [9, 0, 0], Some("entry")),
        ("full", [0, 9, 0], Some("completion")),
        ("full", [0, 0, 9], Some("exit")),
        ("full", [2, 2, 2], None),
    ];
    for (scope, loads, fault) in cases {
        let mut it = run(
            &format!("load={}", loads[0]),
            &format!(
                r#"<task id="begin"/>
                   <userTask id="work" tv:gate="exit"><ext>{scope}: load < 3</ext></userTask>
                   <userTask id="next"/> <path>begin work next</path>"#
            ),
        );
        let mut found = failure(&it, "work").map(|_| "entry");
        for (point, load) in ["completion", "exit"].into_iter().zip(&loads[1..]) {
            if found.is_none() {
                it.complete("work", &format!(r#"{{"load": {load}}}"#));
                found = failure(&it, "work").map(|_| point);
            }
        }
        assert_eq!(found, fault, "{scope} {loads:?}");
        assert_eq!(it.waiting() == ["next"], fault.is_none(), "{scope} {loads:?}");
    }
}

// covers: FLOW-43
#[test]
fn only_a_full_restriction_is_inherited() {
    for (scope, node) in [
        ("full", Some("work")),
        ("entry", None),
        ("completion", Some("sub")),
        ("exit", Some("sub")),
    ] {
        let mut it = run(
            "load=0",
            &format!(
                r#"<subProcess id="sub"><ext>{scope}: load < 3</ext>
                     <subProcess id="inner"><userTask id="work"><ext>load := 9</ext></userTask>
                     </subProcess></subProcess>"#
            ),
        );
        if it.instance.incidents.is_empty() {
            it.complete("work", "{}");
        }
        let found = ["work", "inner", "sub"].into_iter().find(|at| failure(&it, at).is_some());
        assert_eq!(found, node, "{scope}");
    }
}

// covers: FLOW-43
#[test]
fn without_a_word_a_restriction_is_full() {
    let it = Scenario::definitions(&definitions(
        "load=0",
        r#"<task id="work"><extensionElements>
        <tv:restriction id="r">load &lt; 3</tv:restriction></extensionElements></task>"#,
    ));
    let node = it.plan.node(it.plan.find("work").expect("it is there"));
    let scope = node.extras.as_ref().expect("it has extras").restrictions[0].scope;
    assert_eq!(scope, travertine_kernel::plan::RestrictionScope::Full);
}

// ---- Withdrawal

// covers: FLOW-44
#[test]
fn a_token_can_be_withdrawn_from_every_state_before_its_end() {
    let mut it = run_undoing(
        "",
        &format!(
            r#"<task id="begin"/> <userTask id="done"/> <userTask id="arrived" tv:gate="ready"/>
               <userTask id="ready" tv:gate="entry"/> <userTask id="busy"/>
               <userTask id="completed" tv:gate="exit"/> <userTask id="created" tv:gate="ready"/>
               <userTask id="several">{THREE}</userTask>
               <subProcess id="sub"><userTask id="first"/> {} <userTask id="work"/>
                 <path>first work</path></subProcess> {CAUGHT}
               <path>begin arrived</path>"#,
            undo("first")
        ),
    );
    it.complete("done", "{}");
    it.complete("completed", "{}");
    it.complete("first", "{}");
    it.raise("work", "E");
    let states = [
        ("created", Created),
        ("arrived", Arrived),
        ("ready", Ready),
        ("busy", Busy),
        ("completed", Completed),
        ("sub", Failing),
    ];
    for (node, state) in states {
        assert_eq!(it.state(node), Some(state), "{node}");
    }
    assert_eq!(main_state(&it, "several"), Waiting);
    it.cancel();
    assert_eq!(it.instance.ending(), Some(&Ending::Cancelled));
    for (node, state) in states {
        let life = life(&it, node);
        assert_eq!(life[life.len() - 2..], [state, Withdrawn], "{node}");
    }
    assert_eq!(lives(&it, "several")[0], [Created, Waiting, Withdrawn]);
    assert_eq!(life(&it, "done"), [Created, Busy, Done], "what is done stays done");
    assert!(it.instance.tokens.is_empty() && it.instance.waits.is_empty());
}
