//! Multi-instance activities, line by line of the requirements.
//!
//! A comment names the lines a test holds the engine to. The documents' host is the main token of the
//! activity, an iteration a token of role `Run` in the scope the main token hosts.

use travertine_kernel::{
    Command, Each, Effect, Ending, Event, Failing, FailureKind, Instance, LayerId, ROOT,
    ROOT_LAYER, Reach, Role, ScopeKind, State, TokenId, View, WaitFor, apply, effects,
    plan::{self, Count, OutputItem},
};
use travertine_testkit::{Scenario, assignments};
use travertine_value::{Value, Variables as _};

// Models.

fn several(attributes: &str, content: &str) -> String {
    format!(
        "<multiInstanceLoopCharacteristics {attributes}>{content}</multiInstanceLoopCharacteristics>"
    )
}

fn times(count: &str) -> String {
    several("", &format!("<loopCardinality>{count}</loopCardinality>"))
}

const OVER_ITEMS: &str = r#"tv:collection="items" tv:elementVariable="item""#;
const INTO_RESULTS: &str = r#"tv:outputCollection="results" tv:outputElement="result""#;

fn over_items() -> String {
    several(OVER_ITEMS, "")
}

/// Several instances over the items, as a model for Camunda 8 has them.
fn zeebe() -> String {
    let inside = r#"<extensionElements><zeebe:loopCharacteristics
        xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" inputCollection="=items"
        inputElement="item" outputCollection="results" outputElement="=result"/></extensionElements>"#;
    several("", inside)
}

fn user(id: &str, several: &str) -> String {
    format!(r#"<userTask id="{id}">{several}</userTask>"#)
}

fn script(id: &str, text: &str, several: &str) -> String {
    format!(
        r#"<scriptTask id="{id}" scriptFormat="javascript">{several}<script>{text}</script></scriptTask>"#
    )
}

/// A sub-process with one user task in it.
fn sub(id: &str, task: &str, several: &str) -> String {
    format!(
        r#"<subProcess id="{id}">{several}<startEvent id="{id}_start"/><userTask id="{task}"/>
           <endEvent id="{id}_end"/><path>{id}_start {task} {id}_end</path></subProcess>"#
    )
}

/// A boundary event of that kind, with a task behind it.
fn at_boundary(activity: &str, definition: &str, then: &str) -> String {
    format!(
        r#"<boundaryEvent id="{then}_event" attachedToRef="{activity}">{definition}</boundaryEvent>
           <userTask id="{then}"/><endEvent id="{then}_end"/>
           <path>{then}_event {then} {then}_end</path>"#
    )
}

fn on_error(activity: &str, then: &str) -> String {
    let definition = r#"<errorEventDefinition errorRef="E" tv:codeVariable="code"
        tv:messageVariable="why"/>"#;
    at_boundary(activity, definition, then)
}

fn definitions(attributes: &str, body: &str, way: &str) -> String {
    format!(
        r#"<error id="E" errorCode="E"/><message id="m" name="m"/>
           <process id="p" isExecutable="true" {attributes}>
             <startEvent id="start"/>{body}<userTask id="next"/><endEvent id="end"/>
             <path>start {way} next end</path>
           </process>
           <process id="q" isExecutable="true">
             <startEvent id="q_start"/><userTask id="q_work"/><endEvent id="q_end"/>
             <path>q_start q_work q_end</path>
           </process>"#
    )
}

/// Start, `x`, next, end.
fn process(x: &str) -> Scenario {
    Scenario::definitions(&definitions("", x, "x"))
}

/// What the reader says of it.
fn errors(x: &str) -> Vec<String> {
    let report = Scenario::report(&definitions("", x, "x"));
    let errors = report.diagnostics.into_iter();
    errors
        .filter(|it| it.severity == travertine_bpmn::Severity::Error)
        .map(|it| it.message)
        .collect()
}

// What to look at.

/// The main token of `x` and the state of its runs.
fn main_of<'a>(it: &'a Scenario, node: &str) -> (TokenId, &'a Each) {
    let node = it.plan.find(node).expect("there is such a node");
    let mut all = it.instance.scopes.iter().filter_map(|(id, scope)| match &scope.kind {
        ScopeKind::Each(each) if scope.node == node => Some((*id, each)),
        _ => None,
    });
    let first = all.next().expect("it has runs");
    assert!(all.next().is_none(), "one scope for all runs");
    first
}

/// The tokens that are runs of `node`, by index.
fn runs(it: &Scenario, node: &str) -> Vec<(u32, TokenId)> {
    let tokens = it.tokens_at(node).into_iter();
    let runs = tokens.filter_map(|id| match it.instance.tokens[&id].role {
        Role::Run(index) => Some((index, id)),
        _ => None,
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort();
    runs
}

/// What each run of `node` sees under a name.
fn seen_by_runs(it: &Scenario, node: &str, name: &str) -> Vec<String> {
    let seen = |token| View::new(&it.plan, &it.instance, token).get(name);
    let all = runs(it, node).into_iter();
    all.map(|(_, token)| seen(token).map_or_else(String::new, |it| it.to_json())).collect()
}

/// The layers around a token, innermost first.
fn layers_of(it: &Scenario, token: TokenId) -> Vec<LayerId> {
    let first = Some(it.instance.tokens[&token].layer);
    std::iter::successors(first, |layer| it.instance.layers[layer].parent).collect()
}

/// Shows each event with the instance as it was before.
fn replayed(it: &Scenario, mut look: impl FnMut(&Instance, &Event)) {
    let mut instance = Instance::default();
    for event in &it.events {
        look(&instance, event);
        apply(&mut instance, event);
    }
}

fn count(it: &Scenario, what: impl Fn(&Event) -> bool) -> usize {
    it.events.iter().filter(|it| what(it)).count()
}

fn position(it: &Scenario, what: impl Fn(&Event) -> bool) -> usize {
    it.events.iter().position(what).expect("it has happened")
}

fn last_position(it: &Scenario, what: impl Fn(&Event) -> bool) -> usize {
    it.events.iter().rposition(what).expect("it has happened")
}

fn is_run(event: &Event) -> bool {
    matches!(event, Event::TokenCreated { role: Role::Run(_), .. })
}

fn variable(it: &Scenario, name: &str) -> Option<String> {
    it.instance.variables().expect("it was started").get(name).map(Value::to_json)
}

/// No variables but the process's own are left.
fn assert_no_layers_left(it: &Scenario) {
    let left: Vec<LayerId> = it.instance.layers.keys().copied().collect();
    assert_eq!(left, [ROOT_LAYER]);
}

// Model.

fn each_in_plan(it: &Scenario) -> &plan::Each {
    match it.plan.node(it.plan.find("x").expect("a node")).repeat.as_deref() {
        Some(plan::Repeat::Each(each)) => each,
        other => panic!("not several runs: {other:?}"),
    }
}

fn output(each: &plan::Each) -> Option<(&str, &str)> {
    each.output.as_ref().map(|(list, item)| match item {
        OutputItem::Variable(item) => (&**list, &**item),
        OutputItem::Expression(program) => (&**list, program.source()),
    })
}

// covers: MULTI-1, MULTI-40, MULTI-41
#[test]
fn a_model_says_how_often_over_what_and_what_is_collected() {
    let it = process(&user("x", &times("3")));
    let each = each_in_plan(&it);
    assert!(!each.sequential, "parallel unless said otherwise");
    assert!(matches!(&each.count, Count::Cardinality(it) if it.source() == "3"));
    assert_eq!((each.item.as_deref(), output(each)), (None, None));

    let attributes = format!(r#"isSequential="true" {OVER_ITEMS} {INTO_RESULTS}"#);
    let it = process(&user("x", &several(&attributes, "")));
    let each = each_in_plan(&it);
    assert!(each.sequential);
    assert!(matches!(&each.count, Count::Collection(it) if it.source() == "items"));
    assert_eq!((each.item.as_deref(), output(each)), (Some("item"), Some(("results", "result"))));

    let it = process(&user("x", ""));
    assert!(it.plan.node(it.plan.find("x").expect("a node")).repeat.is_none());
}

// covers: MULTI-42, MULTI-43
#[test]
fn each_way_to_name_collection_and_item_runs_alike() {
    let standard = "<loopDataInputRef>items</loopDataInputRef>\
        <loopDataOutputRef>results</loopDataOutputRef>\
        <inputDataItem id='item'/><outputDataItem id='result'/>";
    let plain = r#"inputCollection="items" inputDataItem="item"
        outputCollection="results" outputDataItem="result""#;
    let native = several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "");
    for several in [native, several(plain, ""), several("", standard)] {
        let mut it = process(&user("x", &several));
        it.start(r#"{"items": ["A", "B"]}"#);
        assert_eq!(seen_by_runs(&it, "x", "item"), [r#""A""#, r#""B""#], "{several}");
        it.complete("x", r#"{"result": 1}"#);
        it.complete("x", r#"{"result": 2}"#);
        assert_eq!(it.variables(), r#"{"items":["A","B"],"results":[1,2]}"#, "{several}");
    }

    let camunda = r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn"
        camunda:collection="items" camunda:elementVariable="item""#;
    let mut it = process(&user("x", &several(camunda, "")));
    it.start(r#"{"items": ["A", "B"]}"#);
    assert_eq!(seen_by_runs(&it, "x", "item"), [r#""A""#, r#""B""#]);
}

// A result that is a variable is a variable of the run in Camunda 8 too, though its writes go up.
// covers: MULTI-43, MULTI-29
#[test]
fn camunda_8_collects_results_and_leaves_nothing_else_behind() {
    let mut it = process(&user("x", &zeebe()));
    it.start(r#"{"items": ["A", "B"]}"#);
    assert_eq!(seen_by_runs(&it, "x", "item"), [r#""A""#, r#""B""#]);
    it.complete("x", r#"{"result": 1}"#);
    it.complete("x", r#"{"result": 2}"#);
    assert_eq!(it.variables(), r#"{"items":["A","B"],"results":[1,2]}"#);
}

// covers: MULTI-3, MULTI-13, MULTI-16, MULTI-18, MULTI-23
#[test]
fn each_run_is_a_token_of_its_own_beside_the_main_token() {
    let mut it = process(&user("x", &times("3")));
    it.start("{}");
    let (main, each) = main_of(&it, "x");
    assert_eq!((each.total, each.begun, each.completed), (3, 3, 0));
    let host = &it.instance.tokens[&main];
    assert_eq!((host.role, host.scope), (Role::Flow, Some(ROOT)), "the main token has no index");
    assert_eq!(host.state, State::Waiting);
    assert!(it.instance.scopes[&ROOT].live.contains(&main), "and is waited for");

    let runs = runs(&it, "x");
    assert_eq!(runs.iter().map(|it| it.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(it.tokens_at("x").len(), 4, "nothing else is there");
    for (_, token) in &runs {
        let run = &it.instance.tokens[token];
        assert_eq!((run.node, run.scope), (host.node, Some(main)));
        let layers = layers_of(&it, *token);
        assert_eq!(it.instance.layers[&layers[0]].owner, *token, "its own variables");
        assert_eq!(layers[1..], layers_of(&it, main), "over those of the main token");
    }
    let live: Vec<TokenId> = it.instance.scopes[&main].live.iter().copied().collect();
    assert_eq!(live, runs.iter().map(|it| it.1).collect::<Vec<_>>());
    it.complete("x", "{}");
    assert_eq!(it.instance.tokens[&main].state, State::Waiting, "until the last is done");
}

// covers: MULTI-4
#[test]
fn the_number_of_a_run_never_changes() {
    let mut it = process(&sub("x", "inner", &times("3")));
    it.start("{}");
    let first = runs(&it, "x");
    for run in [1, 2, 0] {
        it.complete_run("inner", run, "{}");
        for (index, token) in runs(&it, "x") {
            assert!(first.contains(&(index, token)), "after run {run}");
        }
    }
    let mut numbers = Vec::new();
    replayed(&it, |_, event| {
        if let Event::RunEnded { index, .. } = event {
            numbers.push(*index);
        }
    });
    assert_eq!(numbers, [1, 2, 0]);
}

// Opening.

// covers: MULTI-5, MULTI-19, MULTI-20
#[test]
fn the_main_token_opens_runs_and_does_not_do_the_work_and_runs_open_none() {
    let mut it = process(&user("x", &times("3")));
    it.start("{}");
    let (main, _) = main_of(&it, "x");
    assert!(it.instance.tokens[&main].waits.is_empty(), "it asks nobody to work");
    let waiting: Vec<TokenId> = it.instance.waits.values().map(|it| it.token).collect();
    assert_eq!(waiting, runs(&it, "x").iter().map(|it| it.1).collect::<Vec<_>>());
    let opened = |it: &Event| matches!(it, Event::ScopeOpened { scope, .. } if *scope != ROOT);
    assert_eq!(count(&it, opened), 1, "{}", it.trace());
    assert!(runs(&it, "x").iter().all(|(_, it)| it != &main));
}

// covers: MULTI-6, MULTI-41
#[test]
fn the_cardinality_says_how_many_runs_there_are() {
    for (cardinality, runs_expected) in [("1", 1), ("3", 3), ("n + 2", 4), ("${n}", 2)] {
        let mut it = process(&user("x", &times(cardinality)));
        it.start(r#"{"n": 2}"#);
        assert_eq!(runs(&it, "x").len(), runs_expected, "{cardinality}");
    }
}

// covers: MULTI-7
#[test]
fn the_collection_is_found_from_the_scope_of_the_activity_upwards() {
    let nested = |items: &str| {
        format!(
            r#"<subProcess id="outer"><startEvent id="s1"/>{}{}<endEvent id="e1"/>
               <path>s1 set mid e1</path></subProcess>"#,
            script("set", items, ""),
            sub("mid", "unused", "")
                .replace(r#"<userTask id="unused"/>"#, &user("unused", &over_items()))
        )
    };
    for (set, seen) in
        [("_context.other = 1", vec!["1", "2", "3"]), ("_context.items = [7, 8]", vec!["7", "8"])]
    {
        let mut it = Scenario::definitions(&definitions("", &nested(set), "outer"));
        it.start(r#"{"items": [1, 2, 3]}"#);
        assert_eq!(seen_by_runs(&it, "unused", "item"), seen, "{set}");
    }
}

// covers: MULTI-13
#[test]
fn a_run_reads_what_the_scope_of_its_activity_holds() {
    let outer = sub("outer", "x", "").replace(r#"<userTask id="x"/>"#, &user("x", &times("2")));
    let outer = outer.replace("outer_start x", "outer_start set x").replace(
        r#"<endEvent id="outer_end"/>"#,
        &(script("set", "_context.near = 1; _context.far = 1", "")
            + r#"<endEvent id="outer_end"/>"#),
    );
    let mut it = Scenario::definitions(&definitions("", &outer, "outer"));
    it.start(r#"{"far": 0, "root": 0}"#);
    let (main, _) = main_of(&it, "x");
    for (_, run) in runs(&it, "x") {
        assert_eq!(layers_of(&it, run)[1..], layers_of(&it, main));
        assert_eq!(layers_of(&it, run).len(), 3);
    }
    for (name, seen) in [("near", ["1", "1"]), ("far", ["1", "1"]), ("root", ["0", "0"])] {
        assert_eq!(seen_by_runs(&it, "x", name), seen);
    }
}

// covers: MULTI-8, MULTI-10
#[test]
fn a_model_must_say_either_how_often_or_over_what() {
    let neither = errors(&user("x", &several("", "")));
    assert_eq!(neither.len(), 1, "{neither:?}");
    assert!(neither[0].contains("'x'"), "{neither:?}");

    let both = errors(&user("x", &several(OVER_ITEMS, "<loopCardinality>2</loopCardinality>")));
    assert_eq!(both.len(), 1, "{both:?}");

    // Models for Camunda 7 keep its rule.
    let camunda =
        r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:collection="items""#;
    let both = several(camunda, "<loopCardinality>2</loopCardinality>");
    let mut it = process(&user("x", &both));
    it.start(r#"{"items": [1, 2, 3, 4]}"#);
    assert_eq!(main_of(&it, "x").1.total, 2);
}

// covers: MULTI-9
#[test]
fn nothing_to_do_is_an_incident_that_names_what_was_empty() {
    let at_nothing = [
        (over_items(), r#"{"items": []}"#, "items"),
        (times("0"), "{}", "0"),
        (times("n"), r#"{"n": 0}"#, "n"),
        (times("n"), r#"{"n": -1}"#, "n"),
    ];
    for (several, variables, name) in at_nothing {
        let mut it = process(&user("x", &several));
        it.start(variables);
        let failure = it.incident("x").unwrap_or_else(|| panic!("{several} with {variables}"));
        assert_eq!(failure.kind, FailureKind::Repeat);
        assert!(failure.message.contains(name), "{}", failure.message);
        assert_eq!(it.visits("next") + it.waiting().len(), 0, "it goes nowhere");
    }

    // An operator can repair it.
    let mut it = process(&user("x", &over_items()));
    it.start(r#"{"items": []}"#);
    it.set(r#"{"items": [1]}"#);
    it.retry("x");
    assert_eq!(it.waiting(), ["x"]);
}

// covers: MULTI-9
#[test]
fn nothing_to_do_completes_at_once_where_the_model_or_its_dialect_says_so() {
    let native = format!(r#"tv:onEmpty="complete" {OVER_ITEMS} {INTO_RESULTS}"#);
    for several in [several(&native, ""), zeebe()] {
        let mut it = process(&user("x", &several));
        it.start(r#"{"items": []}"#);
        assert_eq!(it.waiting(), ["next"], "{several}");
        assert_eq!(it.variables(), r#"{"items":[],"results":[]}"#, "{several}");
        assert_eq!(it.visits("x"), 0);
    }

    let camunda =
        r#"xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:collection="items""#;
    let mut it = process(&user("x", &several(camunda, "")));
    it.start(r#"{"items": []}"#);
    assert_eq!(it.waiting(), ["next"]);

    let zero = several(r#"tv:onEmpty="complete""#, "<loopCardinality>n</loopCardinality>");
    let mut it = process(&user("x", &zero));
    it.start(r#"{"n": 0}"#);
    assert_eq!(it.waiting(), ["next"]);
}

// covers: MULTI-11
#[test]
fn only_a_list_is_a_collection() {
    for items in [r#""abc""#, "5", r#"{"a": 1}"#, "true", "null"] {
        for attributes in [OVER_ITEMS.to_owned(), format!(r#"tv:onEmpty="complete" {OVER_ITEMS}"#)]
        {
            let mut it = process(&user("x", &several(&attributes, "")));
            it.start(&format!(r#"{{"items": {items}}}"#));
            let failure = it.incident("x").unwrap_or_else(|| panic!("{items} is no collection"));
            assert_eq!(failure.kind, FailureKind::Repeat, "{items}");
            let kind = Value::parse_json(items).expect("it is JSON").kind();
            assert!(failure.message.contains("items"), "{}", failure.message);
            assert!(failure.message.contains(kind), "{kind}: {}", failure.message);
        }
    }
    let mut it = process(&user("x", &over_items()));
    it.start("{}");
    let failure = it.incident("x").expect("what is nowhere is no collection");
    assert!(failure.message.contains("items"), "{}", failure.message);
}

/// Every kind of activity as `x`, with three runs; whether it waits for something outside.
fn kinds() -> Vec<(&'static str, String, bool)> {
    let m = times("3");
    let simple =
        |name: &str, attributes: &str| format!(r#"<{name} id="x" {attributes}>{m}</{name}>"#);
    let ad_hoc = format!(r#"<adHocSubProcess id="x">{m}<userTask id="inner"/></adHocSubProcess>"#);
    vec![
        ("plain task", simple("task", ""), false),
        ("manual task", simple("manualTask", ""), false),
        ("script task", script("x", "_context.done = true", &m), false),
        ("user task", simple("userTask", ""), true),
        ("service task", simple("serviceTask", r#"tv:jobType="job""#), true),
        ("business rule task", simple("businessRuleTask", r#"tv:jobType="rule""#), true),
        ("send task", simple("sendTask", r#"messageRef="m""#), true),
        ("receive task", simple("receiveTask", r#"messageRef="m""#), true),
        ("decision task", simple("task", r#"tv:decision="true""#), true),
        ("call activity", simple("callActivity", r#"calledElement="q""#), true),
        ("gosub", simple("callActivity", r#"calledElement="q" tv:gosub="true""#), true),
        ("sub-process", sub("x", "inner", &m), true),
        ("transaction", sub("x", "inner", &m).replace("subProcess", "transaction"), true),
        ("ad-hoc sub-process", ad_hoc, true),
    ]
}

// covers: MULTI-2, MULTI-12, MULTI-22, MULTI-30, MULTI-40
#[test]
fn every_kind_of_activity_can_run_several_times_each_completed_on_its_own() {
    for (kind, xml, waits) in kinds() {
        let mut it = process(&xml);
        it.start("{}");
        if waits {
            for left in [3, 2, 1] {
                assert_eq!(it.instance.waits.len(), left, "{kind}: {}", it.tree());
                assert_eq!(main_of(&it, "x").1.completed as usize, 3 - left, "{kind}");
                assert_eq!(it.visits("next"), 0, "{kind}");
                let wait = it.instance.waits.keys().copied().last();
                let wait = wait.expect("something waits");
                it.ask(Command::Complete { wait, variables: Vec::new() }).expect("it can be met");
            }
        }
        assert_eq!(it.waiting(), ["next"], "{kind}: {}", it.trace());
        assert_eq!(it.visits("x"), 3, "{kind}");
        assert_eq!(it.tokens_at("next").len(), 1, "{kind}");
        assert!(it.instance.incidents.is_empty(), "{kind}");
        assert_eq!(count(&it, is_run), 3, "{kind}");
        it.complete("next", "{}");
        assert!(it.is_completed(), "{kind}");
        assert_no_layers_left(&it);
    }
}

// covers: MULTI-14, MULTI-15
#[test]
fn a_run_sees_its_number_and_its_item_and_nobody_else_does() {
    let beside = r#"<userTask id="beside"/><path>start beside next</path>"#;
    let mut it = process(&(user("x", &over_items()) + beside));
    it.start(r#"{"items": ["A", "B", "C"]}"#);
    assert_eq!(seen_by_runs(&it, "x", "loopCounter"), ["0", "1", "2"]);
    assert_eq!(seen_by_runs(&it, "x", "item"), [r#""A""#, r#""B""#, r#""C""#]);
    for name in ["item", "loopCounter"] {
        assert_eq!(it.seen_at("beside", name), None);
        assert_eq!(variable(&it, name), None);
    }
    it.complete("x", "{}");
    assert_eq!(seen_by_runs(&it, "x", "loopCounter"), ["1", "2"], "it stays");
    it.complete("x", "{}");
    it.complete("x", "{}");
    assert_eq!(it.seen_at("next", "loopCounter"), None);
    assert_eq!(it.seen_at("next", "item"), None);
}

// covers: MULTI-14, MULTI-19, MULTI-37
#[test]
fn runs_within_runs_have_numbers_of_their_own() {
    let inner = sub("x", "inner", &times("2"));
    let inner = inner.replace(r#"<userTask id="inner"/>"#, &user("inner", &times("3")));
    let mut it = process(&inner);
    it.start("{}");
    assert_eq!(it.waiting().len(), 6);
    assert_eq!(seen_by_runs(&it, "inner", "loopCounter"), ["0", "0", "1", "1", "2", "2"]);
    assert_eq!(seen_by_runs(&it, "x", "loopCounter"), ["0", "1"]);
    for left in (0..6).rev() {
        assert_eq!(it.visits("next") + it.tokens_at("next").len(), 0);
        it.complete("inner", "{}");
        assert_eq!(it.tokens_at("inner").iter().filter(|_| left > 0).count() > 0, left > 0);
    }
    assert_eq!(it.waiting(), ["next"]);
    assert_eq!((it.visits("x"), it.visits("inner")), (2, 6));
}

// covers: MULTI-17
#[test]
fn all_parallel_runs_are_there_before_any_is_done() {
    let bodies = [script("x", "_context.y = 1", &times("200")), user("x", &times("200"))];
    for body in bodies {
        for turn_steps_max in [1, 10_000] {
            let mut it = process(&body).with_plan(|it| it.turn_steps_max = turn_steps_max);
            it.start("{}");
            while it.waiting().contains(&"x") {
                it.complete("x", "{}");
            }
            assert_eq!(count(&it, is_run), 200);
            let last = last_position(&it, is_run);
            let first = position(&it, |it| matches!(it, Event::RunEnded { .. }));
            assert!(last < first, "{turn_steps_max} steps at a time: {}", it.trace());
        }
    }
}

// Execution loop and completion.

// covers: MULTI-21, MULTI-22, MULTI-30
#[test]
fn only_the_main_token_goes_on_and_only_once() {
    let two_ways = r#"<userTask id="also"/><path>x also end</path>"#;
    for body in [user("x", &times("3")), script("x", "_context.y = 1", &times("3"))] {
        let mut it = process(&(body + two_ways));
        it.start("{}");
        while it.waiting().contains(&"x") {
            assert_eq!(it.tokens_at("next").len() + it.tokens_at("also").len(), 0);
            it.complete("x", "{}");
        }
        assert_eq!(it.waiting(), ["also", "next"]);
        let flows = it.plan.node(it.plan.find("x").expect("a node")).outgoing.clone();
        for flow in flows {
            let taken = count(&it, |event| match event {
                Event::TokenMoved { via, .. } | Event::TokenCreated { via, .. } => {
                    *via == Some(flow)
                }
                _ => false,
            });
            assert_eq!(taken, 1, "{}", it.plan.flow(flow).name);
        }
    }
}

// covers: MULTI-24, MULTI-25, MULTI-T3
#[test]
fn results_are_collected_by_number_and_not_by_time() {
    let collecting = several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "");
    let mut it = process(&user("x", &collecting));
    it.start(r#"{"items": ["A", "B", "C"]}"#);
    it.complete_run("x", 2, r#"{"result": "third"}"#);
    it.complete_run("x", 0, r#"{"result": "first"}"#);
    assert_eq!(variable(&it, "results"), None, "not before all are done");
    it.complete_run("x", 1, r#"{"result": "second"}"#);
    assert_eq!(variable(&it, "results").as_deref(), Some(r#"["first","second","third"]"#));
}

// covers: MULTI-25
#[test]
fn results_go_to_the_scope_of_the_activity() {
    let collecting = several(&format!(r#"tv:collection="[1, 2]" {INTO_RESULTS}"#), "");
    let outer = sub("outer", "x", "").replace(r#"<userTask id="x"/>"#, &user("x", &collecting));
    let outer = outer.replace("x outer_end", "x after outer_end").replace(
        r#"<endEvent id="outer_end"/>"#,
        r#"<userTask id="after"/><endEvent id="outer_end"/>"#,
    );
    let mut it = Scenario::definitions(&definitions("", &outer, "outer"));
    it.start("{}");
    it.complete("x", r#"{"result": 1}"#);
    it.complete("x", r#"{"result": 2}"#);
    assert_eq!(it.seen_at("after", "results").as_deref(), Some("[1,2]"));
    assert_eq!(variable(&it, "results"), None, "not to the process's");
}

// covers: MULTI-26
#[test]
fn a_run_without_a_result_adds_null_whatever_is_called_so_above() {
    let collecting = several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "");
    let mut it = process(&user("x", &collecting));
    it.start(r#"{"items": [1, 2, 3], "result": "above"}"#);
    it.complete_run("x", 0, r#"{"result": "mine"}"#);
    it.complete_run("x", 1, "{}");
    it.complete_run("x", 2, r#"{"result": false}"#);
    assert_eq!(variable(&it, "results").as_deref(), Some(r#"["mine",null,false]"#));
}

// covers: MULTI-27
#[test]
fn half_of_an_output_collects_nothing() {
    for half in [r#"tv:outputCollection="results""#, r#"tv:outputElement="result""#] {
        let mut it = process(&user("x", &several(&format!("{OVER_ITEMS} {half}"), "")));
        it.start(r#"{"items": [1]}"#);
        it.complete("x", r#"{"result": 1, "results": 1}"#);
        assert_eq!(it.waiting(), ["next"]);
        assert_eq!(it.variables(), r#"{"items":[1]}"#);
    }
}

// covers: MULTI-28, MULTI-29, MULTI-T4
#[test]
fn nothing_of_a_run_stays_but_the_list_of_results() {
    let collecting = several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "");
    let mut it = process(&user("x", &collecting));
    it.start(r#"{"items": ["A", "B"], "shared": 0}"#);
    let own = runs(&it, "x").len();
    assert_eq!(it.instance.layers.len(), 1 + own);
    it.complete_run("x", 0, r#"{"result": 1, "shared": 1, "mine": 1}"#);
    assert_eq!(seen_by_runs(&it, "x", "mine"), [""], "the other run does not see it");
    assert_eq!(seen_by_runs(&it, "x", "shared"), ["0"]);
    it.complete_run("x", 1, r#"{"result": 2, "loopCounter": 9, "item": 9}"#);
    assert_eq!(it.variables(), r#"{"items":["A","B"],"results":[1,2],"shared":0}"#);
    assert_no_layers_left(&it);
    assert_eq!(it.instance.scopes.len(), 1);
    assert_eq!(it.instance.tokens.len(), 2, "the process and the next task: {}", it.tree());
}

// Failure.

// covers: MULTI-31
#[test]
fn boundary_events_stand_beside_the_main_token_alone() {
    let minute = "<timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>";
    let mut it = process(&(user("x", &times("3")) + &at_boundary("x", minute, "late")));
    it.start("{}");
    assert_eq!(it.armed(), ["late_event", "x", "x", "x"]);
    let (main, _) = main_of(&it, "x");
    assert_eq!(it.instance.tokens[&main].guards, it.tokens_at("late_event"));
    assert!(runs(&it, "x").iter().all(|(_, it_)| it.instance.tokens[it_].guards.is_empty()));
    it.complete("x", "{}");
    assert_eq!(it.armed(), ["late_event", "x", "x"], "one run's end does not end the watch");
    it.advance(60_000);
    assert_eq!(it.armed(), ["late"]);
    assert_no_layers_left(&it);
}

// covers: MULTI-32, MULTI-33, MULTI-34, MULTI-36, MULTI-T6
#[test]
fn a_run_that_fails_ends_the_others_and_then_the_activity_and_then_its_error_event_fires() {
    let collecting = several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "");
    let mut it = process(&(user("x", &collecting) + &on_error("x", "caught")));
    it.start(r#"{"items": [1, 2, 3]}"#);
    it.complete_run("x", 0, r#"{"result": 1}"#);
    let (main, _) = main_of(&it, "x");
    let left = runs(&it, "x");
    it.raise("x", "E"); // The oldest that waits, which is run 1.

    assert_eq!(it.waiting(), ["caught"]);
    assert_eq!(it.visits("next"), 0);
    let gone =
        |token: TokenId, state: State| position(&it, |it| *it == Event::TokenGone { token, state });
    let failed = gone(left[0].1, State::Failed);
    let cancelled = gone(left[1].1, State::Withdrawn);
    let host = gone(main, State::Failed);
    let caught = it.plan.find("caught").expect("a node");
    let fired = position(&it, |it| matches!(it, Event::TokenMoved { to, .. } if *to == caught));
    assert!(failed < host && cancelled < host && host < fired, "{}", it.trace());
    let cause = it.events.iter().find_map(|it| match it {
        Event::ScopeFailing { scope, cause } if *scope == main => Some(&**cause),
        _ => None,
    });
    if let Some(cause) = cause {
        assert!(matches!(cause, Failing::Error(it, _) if it.code.as_deref() == Some("E")));
    }
    assert_eq!(it.seen_at("caught", "code").as_deref(), Some(r#""E""#));
    assert_eq!(it.seen_at("caught", "why").as_deref(), Some(r#""E was raised""#));
    assert_eq!(variable(&it, "results"), None, "nothing is collected");
    assert_no_layers_left(&it);
    assert_eq!(it.instance.scopes.len(), 1);
}

// covers: MULTI-32, MULTI-34
#[test]
fn a_script_that_throws_in_one_run_fails_the_activity() {
    let throwing = "if (loopCounter == 1) throw new BpmnError('E', 'no'); _context.y = 1";
    let mut it = process(&(script("x", throwing, &times("3")) + &on_error("x", "caught")));
    it.start("{}");
    assert_eq!(it.waiting(), ["caught"], "{}", it.trace());
    assert_no_layers_left(&it);
}

// covers: MULTI-35
#[test]
fn an_error_of_a_run_that_the_activity_does_not_catch_climbs() {
    // To the sub-process around it.
    let outer = sub("outer", "x", "").replace(r#"<userTask id="x"/>"#, &user("x", &times("3")));
    let body = outer.clone() + &on_error("outer", "caught");
    let mut it = Scenario::definitions(&definitions("", &body, "outer"));
    it.start("{}");
    it.raise("x", "E");
    assert_eq!(it.waiting(), ["caught"]);
    assert_no_layers_left(&it);
    assert_eq!(it.instance.scopes.len(), 1);

    // To nobody: the activity is never passed.
    let mut it = Scenario::definitions(&definitions("", &outer, "outer"));
    it.start("{}");
    it.raise("x", "E");
    assert_eq!(it.incident("x").and_then(|it| it.code.as_deref()), Some("E"));
    it.complete_run("x", 1, "{}");
    it.complete_run("x", 2, "{}");
    assert!(it.incident("x").is_some());
    assert_eq!(it.visits("outer") + it.tokens_at("next").len(), 0);
    assert!(it.instance.is_running());

    // To the end of the instance, where the process says so.
    let fail = r#"tv:unhandledError="fail""#;
    let mut it = Scenario::definitions(&definitions(fail, &outer, "outer"));
    it.start("{}");
    it.raise("x", "E");
    assert!(matches!(it.instance.ending(), Some(Ending::Failed(_))));
    assert_no_layers_left(&it);
}

// Sub-process and call activity.

// covers: MULTI-37, MULTI-T5
#[test]
fn each_run_of_a_sub_process_has_a_scope_and_variables_of_its_own() {
    let body = sub("x", "inner", &over_items())
        .replace("x_start inner x_end", "x_start inner again x_end")
        .replace(r#"<userTask id="inner"/>"#, r#"<userTask id="inner"/><userTask id="again"/>"#);
    let mut it = process(&body);
    it.start(r#"{"items": ["A", "B", "C"]}"#);
    let (main, _) = main_of(&it, "x");
    let runs = runs(&it, "x");
    for (index, token) in &runs {
        let scope = &it.instance.scopes[token];
        assert_eq!((&scope.kind, scope.parent), (&ScopeKind::SubProcess, Some(main)));
        assert_eq!(scope.live.len(), 1, "run {index}");
    }
    it.complete_run("inner", 1, r#"{"mine": 1}"#);
    let seen = |node: &str, name: &str| -> Vec<Option<String>> {
        let tokens = it.tokens_at(node).into_iter();
        let views = tokens.map(|token| View::new(&it.plan, &it.instance, token));
        views.map(|it| it.get(name).map(|it| it.to_json())).collect()
    };
    assert_eq!(seen("again", "mine"), [Some("1".to_owned())]);
    assert_eq!(seen("again", "item"), [Some(r#""B""#.to_owned())], "its own item");
    assert_eq!(seen("inner", "mine"), [None, None]);

    it.complete_run("again", 1, "{}");
    assert_eq!(main_of(&it, "x").1.completed, 1, "the end of its scope is the end of the run");
    assert_eq!(it.tokens_at("inner").len(), 2);
    assert_eq!(variable(&it, "mine"), None);
}

/// The waits for called instances, with what each is given as `item`.
fn called(it: &Scenario) -> Vec<String> {
    let calls = it.instance.waits.values().filter_map(|it| match &*it.on {
        WaitFor::Child { definition, variables, .. } => {
            assert_eq!(&**definition, "q");
            let item = variables.iter().find(|(name, _)| &**name == "item");
            Some(item.map_or_else(String::new, |(_, item)| item.to_json()))
        }
        _ => None,
    });
    calls.collect()
}

// covers: MULTI-38
#[test]
fn each_run_of_a_call_activity_calls_an_instance_of_its_own() {
    let call = format!(
        r#"<callActivity id="x" calledElement="q" tv:allOut="true">{}</callActivity>"#,
        several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), "")
    );
    let mut it = process(&call);
    it.start(r#"{"items": ["A", "B", "C"]}"#);
    assert_eq!(called(&it), [r#""A""#, r#""B""#, r#""C""#]);
    it.complete_run("x", 1, r#"{"result": "b"}"#);
    assert_eq!(called(&it), [r#""A""#, r#""C""#]);
    it.complete_run("x", 2, r#"{"result": "c"}"#);
    it.complete_run("x", 0, r#"{"result": "a"}"#);
    assert_eq!(variable(&it, "results").as_deref(), Some(r#"["a","b","c"]"#));
    assert_eq!(it.waiting(), ["next"]);
}

// covers: MULTI-39
#[test]
fn cancelling_runs_cancels_what_they_host_and_what_they_called() {
    let call = format!(r#"<callActivity id="x" calledElement="q">{}</callActivity>"#, times("3"));
    let gosub = call.replace("calledElement", r#"tv:gosub="true" calledElement"#);
    let bodies = [(call, "x"), (gosub, "q_work"), (sub("x", "inner", &times("3")), "inner")];
    for (body, task) in bodies {
        let mut it = process(&(body.clone() + &on_error("x", "caught")));
        it.start("{}");
        let open: Vec<_> = it.instance.waits.keys().copied().collect();
        assert_eq!(open.len(), 3);
        let before = it.events.len();
        it.raise(task, "E");
        assert_eq!(it.waiting(), ["caught"], "{body}");
        assert_eq!(it.instance.scopes.len(), 1, "{body}");
        let asked: Vec<Effect> = effects(&it.events[before..]).collect();
        for wait in &open[1..] {
            assert!(asked.contains(&Effect::Disarm(*wait)), "{body}: {asked:?}");
        }
        assert_no_layers_left(&it);
    }
}

// One at a time, and early.

// covers: MULTI-44
#[test]
fn sequential_runs_come_one_at_a_time_in_order() {
    let attributes = format!(r#"isSequential="true" {OVER_ITEMS} {INTO_RESULTS}"#);
    let mut it = process(&user("x", &several(&attributes, "")));
    it.start(r#"{"items": ["A", "B", "C"]}"#);
    for (index, item) in [r#""A""#, r#""B""#, r#""C""#].into_iter().enumerate() {
        assert_eq!(it.waiting(), ["x"]);
        assert_eq!(runs(&it, "x").len(), 1, "never two at a time");
        assert_eq!(seen_by_runs(&it, "x", "item"), [item]);
        assert_eq!(seen_by_runs(&it, "x", "loopCounter"), [index.to_string()]);
        it.complete("x", &format!(r#"{{"result": {index}}}"#));
    }
    assert_eq!(it.waiting(), ["next"]);
    assert_eq!(variable(&it, "results").as_deref(), Some("[0,1,2]"));

    let attributes = format!(r#"isSequential="true" {INTO_RESULTS}"#);
    let five = several(&attributes, "<loopCardinality>5</loopCardinality>");
    let mut it = process(&script("x", "_context.result = loopCounter * 2", &five));
    it.start("{}");
    let mut most = 0;
    replayed(&it, |instance, _| {
        let open = instance.tokens.values().filter(|it| matches!(it.role, Role::Run(_)));
        most = most.max(open.count());
    });
    assert_eq!(most, 1);
    assert_eq!(variable(&it, "results").as_deref(), Some("[0,2,4,6,8]"));
}

// covers: MULTI-44, MULTI-32, MULTI-36
#[test]
fn a_sequential_run_that_fails_is_the_last() {
    let sequential = several(r#"isSequential="true""#, "<loopCardinality>3</loopCardinality>");
    let mut it = process(&(user("x", &sequential) + &on_error("x", "caught")));
    it.start("{}");
    it.complete("x", "{}");
    it.raise("x", "E");
    assert_eq!(it.waiting(), ["caught"]);
    assert_eq!(count(&it, is_run), 2, "the third never begins");
    assert_no_layers_left(&it);
}

// covers: MULTI-45
#[test]
fn the_completion_condition_is_asked_after_each_run_and_sees_the_counts() {
    let condition = "nrOfInstances == 5 &amp;&amp; nrOfActiveInstances == 3 \
        &amp;&amp; nrOfCompletedInstances == 2";
    let content = format!(
        "<loopCardinality>5</loopCardinality><completionCondition>{condition}</completionCondition>"
    );
    let mut it = process(&user("x", &several("", &content)));
    it.start("{}");
    it.complete_run("x", 3, "{}");
    assert_eq!(it.waiting(), ["x", "x", "x", "x"]);
    let before = it.events.len();
    it.complete_run("x", 1, "{}");
    assert_eq!(it.waiting(), ["next"], "the rest is cancelled and the activity complete");
    let withdrawn = it.events[before..]
        .iter()
        .filter(|it| matches!(it, Event::TokenGone { state: State::Withdrawn, .. }));
    assert_eq!(withdrawn.count(), 3);
    assert_eq!(it.visits("x"), 2);
    assert_no_layers_left(&it);
}

// covers: MULTI-45, MULTI-44
#[test]
fn the_completion_condition_ends_sequential_runs_early() {
    let content = "<loopCardinality>5</loopCardinality>\
        <completionCondition>nrOfCompletedInstances >= 2</completionCondition>";
    let attributes = format!(r#"isSequential="true" {INTO_RESULTS}"#);
    let mut it = process(&user("x", &several(&attributes, content)));
    it.start("{}");
    it.complete("x", r#"{"result": 1}"#);
    assert_eq!(it.waiting(), ["x"]);
    it.complete("x", r#"{"result": 2}"#);
    assert_eq!(it.waiting(), ["next"]);
    assert_eq!(count(&it, is_run), 2, "the others never began");
}

// covers: MULTI-45, MULTI-39
#[test]
fn ending_early_cancels_what_the_other_runs_host() {
    let content = "<loopCardinality>3</loopCardinality>\
        <completionCondition>nrOfCompletedInstances == 1</completionCondition>";
    let mut it = process(&sub("x", "inner", &several("", content)));
    it.start("{}");
    it.complete_run("inner", 1, "{}");
    assert_eq!(it.waiting(), ["next"]);
    assert_eq!(it.instance.scopes.len(), 1);
    assert_no_layers_left(&it);
}

// Scenarios named by the source document.

// covers: MULTI-T1, MULTI-T13b
#[test]
fn a_script_repeated_three_times() {
    let collecting = several(INTO_RESULTS, "<loopCardinality>3</loopCardinality>");
    let body =
        script("repeatTask", "_context.result = 'iter-' + _context.loopCounter", &collecting);
    let inside = format!(
        r#"<startEvent id="start"/>{body}<endEvent id="end"/><path>start repeatTask end</path>"#
    );
    let mut it = Scenario::process(&inside);
    it.start("{}");
    assert!(it.is_completed());
    assert_eq!(["start", "repeatTask", "end"].map(|node| it.visits(node)), [1, 3, 1]);
    assert_eq!(it.variables(), r#"{"results":["iter-0","iter-1","iter-2"]}"#);
    assert_eq!(count(&it, |it| matches!(it, Event::IncidentRaised { .. })), 0);
    assert_eq!(count(&it, |it| matches!(it, Event::TokenGone { state: State::Failed, .. })), 0);
}

// covers: MULTI-T2, MULTI-T3, MULTI-T13a
#[test]
fn a_review_of_each_item() {
    let review = script(
        "reviewTasks",
        "_context.result = 'reviewed-' + _context.item",
        &several(&format!("{OVER_ITEMS} {INTO_RESULTS}"), ""),
    );
    let inside = format!(
        r#"<startEvent id="start"/>{}{review}<endEvent id="end"/>
           <path>start setItems reviewTasks end</path>"#,
        script("setItems", "_context.items = ['A', 'B', 'C']", "")
    );
    let mut it = Scenario::process(&inside);
    it.start("{}");
    assert!(it.is_completed());
    let visits = ["start", "setItems", "reviewTasks", "end"].map(|node| it.visits(node));
    assert_eq!(visits, [1, 1, 3, 1]);
    assert_eq!(
        it.variables(),
        r#"{"items":["A","B","C"],"results":["reviewed-A","reviewed-B","reviewed-C"]}"#
    );
    assert_eq!(count(&it, |it| matches!(it, Event::IncidentRaised { .. })), 0);
    assert_eq!(count(&it, |it| matches!(it, Event::TokenGone { state: State::Failed, .. })), 0);
}

// covers: MULTI-13, MULTI-29
#[test]
fn what_changes_above_the_runs_is_seen_by_all_of_them() {
    let mut it = process(&user("x", &times("2")));
    it.start(r#"{"above": 0}"#);
    it.ask(Command::Set {
        token: Some(runs(&it, "x")[0].1),
        variables: assignments(r#"{"mine": 1}"#),
        reach: Reach::Layer,
    })
    .expect("the run is there");
    it.set(r#"{"above": 1}"#);
    assert_eq!(seen_by_runs(&it, "x", "above"), ["1", "1"]);
    assert_eq!(seen_by_runs(&it, "x", "mine"), ["1", ""]);
    assert_eq!(it.variables(), r#"{"above":1}"#);
}
