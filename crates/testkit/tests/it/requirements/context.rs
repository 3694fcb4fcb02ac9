//! Hierarchical execution contexts, line by line of the requirements.
//!
//! A comment names the lines a test holds the engine to. The documents' contexts are our scopes:
//! the process with its root workflow is the scope of the root token, a gosub, a fan-out and a batch
//! are scopes below it. Their threads are our tokens, and a thread's data is the layer it reads.

use std::collections::BTreeSet;

use expect_test::expect;
use travertine_kernel::{
    Command, Each, Ending, Event, FailureKind, FanOut, Instance, LayerId, Phase, ROOT, ROOT_LAYER,
    Role, Scope, ScopeKind, State, TokenId, View, apply, plan::Element,
};
use travertine_testkit::Scenario;
use travertine_value::{Value, Variables as _};

// Models.

const LAST: &str = r#"tv:merge="last""#;

/// The two gateways of a fan-out; the second is called `_in`.
fn fan(id: &str, merge: &str) -> String {
    format!(
        r#"<parallelGateway id="{id}" tv:fork="isolate"/><parallelGateway id="{id}_in" {merge}/>"#
    )
}

fn users(ids: &[&str]) -> String {
    ids.iter().flat_map(|id| [r#"<userTask id=""#, id, r#""/>"#]).collect()
}

fn gosub(id: &str, process: &str, content: &str) -> String {
    format!(
        r#"<callActivity id="{id}" calledElement="{process}" tv:gosub="true">{content}</callActivity>"#
    )
}

fn batch(size: u32, parallel: u32) -> String {
    format!(
        r#"<multiInstanceLoopCharacteristics tv:collection="items" tv:elementVariable="slice"
             tv:batchSize="{size}" tv:parallelBatches="{parallel}"/>"#
    )
}

/// A process that begins at `start` and ends at `end`, and beside it `q`, with one task, and `r`,
/// which calls `q`.
fn process(body: &str) -> Scenario {
    process_with("", body)
}

fn process_with(attributes: &str, body: &str) -> Scenario {
    Scenario::definitions(&format!(
        r#"<error id="E" errorCode="E"/>
           <process id="p" isExecutable="true" {attributes}>
             <startEvent id="start"/>{body}<endEvent id="end"/>
           </process>
           <process id="q" isExecutable="true">
             <startEvent id="q_start"/><userTask id="q_work"/><endEvent id="q_end"/>
             <path>q_start q_work q_end</path>
           </process>
           <process id="r" isExecutable="true">
             <startEvent id="r_start"/>{}<endEvent id="r_end"/><path>r_start r_call r_end</path>
           </process>"#,
        gosub("r_call", "q", "")
    ))
}

/// Fan-out A, whose branches are `a` and `b`.
fn two_branches(merge: &str) -> Scenario {
    let paths = "<path>start A a A_in next end</path><path>A b A_in</path>";
    process(&(fan("A", merge) + &users(&["a", "b", "next"]) + paths))
}

/// The tree of the document: a fan-out with a fan-out and a gosub in it, and a batch of gosubs.
fn example() -> Scenario {
    let paths = "<path>start A B b1 B_in A_in next end</path><path>B b2 B_in</path>
        <path>A call A_in</path><path>start batch1 end</path>";
    let calls = gosub("call", "q", "") + &gosub("batch1", "q", &batch(2, 1));
    let fans = fan("A", LAST) + &fan("B", LAST);
    let mut it = process(&(fans + &users(&["b1", "b2", "next"]) + &calls + paths));
    it.start(r#"{"items": [1, 2, 3]}"#);
    it
}

// What to look at.

/// The scope hosted by the only token at a node.
fn hosted<'a>(it: &'a Scenario, node: &str) -> (TokenId, &'a Scope) {
    let mut all = it.tokens_at(node).into_iter().filter_map(|id| {
        let scope = it.instance.scopes.get(&id)?;
        Some((id, &**scope))
    });
    let first = all.next().unwrap_or_else(|| panic!("nothing at {node} hosts: {}", it.tree()));
    assert!(all.next().is_none(), "one scope at {node}");
    first
}

fn token(it: &Scenario, node: &str) -> TokenId {
    let all = it.tokens_at(node);
    assert_eq!(all.len(), 1, "tokens at {node}");
    all[0]
}

fn scope_of(it: &Scenario, node: &str) -> Option<TokenId> {
    it.instance.tokens[&token(it, node)].scope
}

fn fan_at<'a>(it: &'a Scenario, node: &str) -> &'a FanOut {
    match &hosted(it, node).1.kind {
        ScopeKind::FanOut(fan) => fan,
        other => panic!("{node} is no fan-out: {other:?}"),
    }
}

fn batch_of(scope: &Scope) -> Option<&Each> {
    match &scope.kind {
        ScopeKind::Each(each) => Some(each),
        _ => None,
    }
}

/// The kinds of the scopes that are open, sorted.
fn kinds(it: &Scenario) -> Vec<&'static str> {
    let name = |it: &Scope| match &it.kind {
        ScopeKind::Process => "process",
        ScopeKind::Gosub => "gosub",
        ScopeKind::FanOut(_) => "fan-out",
        ScopeKind::Each(_) => "batch",
        _ => "other",
    };
    let mut kinds: Vec<_> = it.instance.scopes.values().map(|it| name(it)).collect();
    kinds.sort_unstable();
    kinds
}

/// Shows each event with the instance before and after it.
fn replayed(it: &Scenario, mut look: impl FnMut(&Instance, &Event, &Instance)) {
    let mut before = Instance::default();
    for event in &it.events {
        let mut after = before.clone();
        apply(&mut after, event);
        look(&before, event, &after);
        before = after;
    }
}

fn finish(it: &mut Scenario) {
    while let Some(node) = it.waiting().first().map(|it| (*it).to_owned()) {
        it.complete(&node, "{}");
    }
    assert!(it.is_completed(), "{}", it.tree());
}

fn variable(it: &Scenario, name: &str) -> Option<String> {
    it.instance.variables().expect("it was started").get(name).map(Value::to_json)
}

// Context kinds.

// covers: CONTEXT-1, CONTEXT-19
#[test]
fn a_run_begins_with_its_process_then_its_scope_then_a_token_in_it() {
    let mut it = process(&(users(&["a"]) + "<path>start a end</path>"));
    it.start("{}");
    let first: Vec<&Event> = it
        .events
        .iter()
        .filter(|it| {
            matches!(
                it,
                Event::Started { .. } | Event::TokenCreated { .. } | Event::ScopeOpened { .. }
            )
        })
        .collect();
    let [
        Event::Started { .. },
        Event::TokenCreated { token: root, scope: None, .. },
        opened,
        thread,
    ] = first[..]
    else {
        panic!("{}", it.trace());
    };
    assert_eq!(*root, ROOT);
    assert!(
        matches!(opened, Event::ScopeOpened { scope: ROOT, kind, .. } if **kind == ScopeKind::Process)
    );
    assert!(matches!(thread, Event::TokenCreated { scope: Some(ROOT), .. }));

    assert_eq!(it.instance.scopes[&ROOT].parent, None);
    let others = it.instance.tokens.iter().filter(|(_, it)| it.scope.is_none());
    assert_eq!(others.count(), 1, "one root");
}

// covers: CONTEXT-2, CONTEXT-3, CONTEXT-16, CONTEXT-17, CONTEXT-30
#[test]
fn the_run_counts_its_tokens_exactly_and_names_each_once() {
    let mut it = example();
    finish(&mut it);
    let (mut created, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let mut newest = TokenId(0);
    replayed(&it, |_, event, after| {
        match event {
            Event::TokenCreated { token, .. } => {
                assert!(created.insert(*token), "token {} is named twice", token.0);
                assert!(*token > newest, "names are given out in one order for the whole run");
                newest = *token;
            }
            Event::TokenGone { token, .. } => {
                assert!(gone.insert(*token), "token {} goes twice", token.0);
            }
            _ => {}
        }
        assert_eq!(after.tokens.len(), created.len() - gone.len(), "after {event:?}");
        let finished = matches!(after.phase, Phase::Ended(_));
        assert!(!finished || after.tokens.is_empty(), "none is left at the end");
    });
    assert_eq!(created, gone);
    let last = it.events.iter().rposition(|it| matches!(it, Event::TokenGone { .. }));
    let finished = it.events.iter().position(|it| matches!(it, Event::Finished { .. }));
    assert!(last < finished, "it is finished when the last token is gone");
    assert!(created.len() > 15, "the example has many tokens");
}

// covers: CONTEXT-4, CONTEXT-5, CONTEXT-11, CONTEXT-24
#[test]
fn each_gosub_has_a_scope_under_its_caller_until_it_is_done() {
    let calls = gosub("first", "r", "") + &gosub("second", "q", "") + &users(&["next"]);
    let mut it = process(&(calls + "<path>start first second next end</path>"));
    it.start("{}");
    let (outer, of_outer) = hosted(&it, "first");
    let (inner, of_inner) = hosted(&it, "r_call");
    assert_eq!((&of_outer.kind, of_outer.parent), (&ScopeKind::Gosub, Some(ROOT)));
    assert_eq!((&of_inner.kind, of_inner.parent), (&ScopeKind::Gosub, Some(outer)));
    assert_eq!(scope_of(&it, "q_work"), Some(inner), "it runs in the scope of its call");
    assert_eq!(kinds(&it), ["gosub", "gosub", "process"]);

    it.complete("q_work", "{}");
    assert!(!it.instance.scopes.contains_key(&inner) && !it.instance.scopes.contains_key(&outer));
    let (second, of_second) = hosted(&it, "second");
    assert_eq!(of_second.parent, Some(ROOT));
    assert!(second != inner && second != outer, "one more for each call");
    it.complete("q_work", "{}");
    assert_eq!(scope_of(&it, "next"), Some(ROOT), "control is back with the caller");
    assert_eq!(kinds(&it), ["process"]);
    assert_eq!(it.visits("q_work"), 2);
}

// covers: CONTEXT-24
#[test]
fn a_gosub_reads_its_callers_variables_and_gives_back_what_is_mapped() {
    let mapping = r#"<extensionElements><tv:input target="amount">price * 2</tv:input>
        <tv:output target="answer">found + amount</tv:output></extensionElements>"#;
    let body = gosub("call", "q", mapping) + &users(&["next"]);
    let mut it = process(&(body + "<path>start call next end</path>"));
    it.start(r#"{"price": 5}"#);
    assert_eq!(it.seen_at("q_work", "price").as_deref(), Some("5"));
    assert_eq!(it.seen_at("q_work", "amount").as_deref(), Some("10"));
    it.complete("q_work", r#"{"found": 1, "price": 0}"#);
    assert_eq!(it.variables(), r#"{"answer":11,"price":5}"#);
    assert_eq!(it.instance.layers.len(), 1);
}

// covers: CONTEXT-6, CONTEXT-20, CONTEXT-21, CONTEXT-28, CONTEXT-32
#[test]
fn a_fan_out_has_a_scope_from_its_gateway_to_its_fan_in() {
    let mut it = two_branches(LAST);
    it.start(r#"{"x": 0}"#);
    let (host, scope) = hosted(&it, "A");
    assert_eq!(scope.parent, Some(ROOT));
    let FanOut { count, branches, fan_in, arrived } = fan_at(&it, "A");
    assert_eq!((*count, *fan_in, arrived.len()), (2, None, 0));
    let (a, b) = (token(&it, "a"), token(&it, "b"));
    let of = |token: TokenId| &it.instance.tokens[&token];
    assert_eq!((of(a).scope, of(b).scope), (Some(host), Some(host)), "branches run in it");
    assert_eq!((of(a).role, of(b).role), (Role::Branch(0), Role::Branch(1)));
    assert_eq!(branches[..], [of(a).layer, of(b).layer], "each has data of its own");
    assert_eq!(branches.iter().collect::<BTreeSet<_>>().len(), 2);

    it.complete("a", r#"{"x": 1}"#);
    let fan = fan_at(&it, "A");
    assert_eq!((fan.count, fan.fan_in, fan.arrived.len()), (2, it.plan.find("A_in"), 1));
    assert_eq!(variable(&it, "x").as_deref(), Some("0"), "nothing is merged yet");
    assert_eq!(it.seen_at("b", "x").as_deref(), Some("0"));

    it.complete("b", "{}");
    assert_eq!(kinds(&it), ["process"]);
    assert_eq!(scope_of(&it, "next"), Some(ROOT), "who goes on is in the scope around it");
    assert_eq!(it.instance.tokens[&token(&it, "next")].layer, ROOT_LAYER);
    assert_eq!(variable(&it, "x").as_deref(), Some("1"));
    assert_eq!(it.instance.layers.len(), 1, "the branches' data is gone");
    assert_eq!(it.instance.tokens.len(), 2, "and so are their tokens");
}

// covers: CONTEXT-7, CONTEXT-8, CONTEXT-22, CONTEXT-23, CONTEXT-33
#[test]
fn a_batch_has_a_scope_with_its_items_and_its_schedule_until_all_are_done() {
    let several = batch(2, 2);
    let body = format!(r#"<userTask id="each">{several}</userTask>{}"#, users(&["next"]));
    let mut it = process(&(body + "<path>start each next end</path>"));
    it.start(r#"{"items": ["A", "B", "C", "D", "E"]}"#);
    let (host, scope) = hosted(&it, "each");
    assert_eq!((Some(scope.node), scope.parent), (it.plan.find("each"), Some(ROOT)));
    let each = batch_of(scope).expect("it is a batch");
    let items: Vec<String> =
        each.items.iter().flat_map(|it| it.iter()).map(Value::to_json).collect();
    assert_eq!(items, [r#""A""#, r#""B""#, r#""C""#, r#""D""#, r#""E""#]);
    assert_eq!((each.batch_size, each.window, each.total), (Some(2), 2, 3));
    assert_eq!((each.begun, each.completed), (2, 0));
    assert_eq!(scope.live.len(), 2);
    assert!(scope.live.iter().all(|id| it.instance.tokens[id].scope == Some(host)));
    assert!(it.tree().contains("batch each [2 waiting] 0 of 3 done, 2 open"), "{}", it.tree());

    it.complete_run("each", 1, "{}");
    let each = batch_of(hosted(&it, "each").1).expect("it goes on");
    assert_eq!((each.begun, each.completed), (3, 1), "the next slice begins when one is done");
    it.complete_run("each", 0, "{}");
    assert_eq!(kinds(&it), ["batch", "process"]);
    it.complete_run("each", 2, "{}");
    assert_eq!(kinds(&it), ["process"]);
    assert_eq!(it.waiting(), ["next"]);
    assert_eq!((scope_of(&it, "next"), it.instance.layers.len()), (Some(ROOT), 1));
}

// covers: CONTEXT-9, CONTEXT-15, CONTEXT-34
#[test]
fn a_token_has_a_name_a_place_its_data_and_the_scope_it_runs_in() {
    let it = example();
    let (root, a, b) = (Some(ROOT), Some(hosted(&it, "A").0), Some(hosted(&it, "B").0));
    for (node, scope) in [("A", root), ("B", a), ("call", a), ("b1", b), ("b2", b)] {
        assert_eq!(scope_of(&it, node), scope, "{node}");
    }
    let calls: BTreeSet<_> =
        it.tokens_at("q_work").iter().map(|id| it.instance.tokens[id].scope).collect();
    let batch = it.tokens_at("batch1");
    let run = batch.iter().find(|id| it.instance.tokens[id].role == Role::Run(0));
    assert_eq!(calls, [Some(hosted(&it, "call").0), run.copied()].into());

    let layer = |node: &str| it.instance.tokens[&token(&it, node)].layer;
    assert_ne!(layer("b1"), layer("b2"), "each has data of its own");
    let up = |layer: LayerId| it.instance.layers[&layer].parent;
    assert_eq!(up(layer("b1")), up(layer("b2")), "over those of the scope around them");
    for (id, token) in &it.instance.tokens {
        assert_eq!(it.node(*id), &*it.plan.node(token.node).name);
        assert!(it.instance.layers.contains_key(&token.layer));
    }
}

// Hierarchy.

// covers: CONTEXT-10, CONTEXT-18, CONTEXT-29
#[test]
fn every_scope_leads_to_the_process() {
    let mut it = example();
    assert_eq!(kinds(&it), ["batch", "fan-out", "fan-out", "gosub", "gosub", "process"]);
    finish(&mut it);
    replayed(&it, |_, _, after| {
        for (id, scope) in &after.scopes {
            let mut way = vec![*id];
            while let Some(parent) = after.scopes[way.last().expect("one")].parent {
                assert!(!way.contains(&parent), "no scope is inside itself");
                way.push(parent);
            }
            assert_eq!(way.last(), Some(&ROOT));
            assert_eq!(scope.depth as usize, way.len() - 1);
        }
    });
    assert!(it.instance.scopes.is_empty());
}

// covers: CONTEXT-12
#[test]
fn fan_outs_nest_and_end_from_the_inside_out() {
    let mut it = example();
    let (a, b) = (hosted(&it, "A").0, hosted(&it, "B").0);
    assert_eq!(it.instance.scopes[&b].parent, Some(a));
    it.complete("b1", r#"{"x": 1}"#);
    assert_eq!((fan_at(&it, "B").arrived.len(), fan_at(&it, "A").arrived.len()), (1, 0));
    it.complete("b2", r#"{"y": 2}"#);
    assert!(!it.instance.scopes.contains_key(&b));
    assert_eq!(fan_at(&it, "A").arrived.len(), 1, "the inner one arrives as one branch");
    assert_eq!(scope_of(&it, "A_in"), Some(a));
    assert_eq!(variable(&it, "x"), None, "what it merged is still of the outer branch");
    it.complete("q_work", "{}");
    assert!(!it.instance.scopes.contains_key(&a));
    assert_eq!((variable(&it, "x"), variable(&it, "y")), (Some("1".into()), Some("2".into())));
}

// covers: CONTEXT-13, CONTEXT-5
#[test]
fn a_gosub_lies_in_the_fan_out_or_batch_that_calls_it() {
    let it = example();
    let (_, in_fan) = hosted(&it, "call");
    assert_eq!((&in_fan.kind, in_fan.parent), (&ScopeKind::Gosub, Some(hosted(&it, "A").0)));
    let batch = it.instance.scopes.iter().find(|(_, it)| batch_of(it).is_some());
    let batch = *batch.expect("there is a batch").0;
    assert_eq!(it.instance.scopes[&batch].parent, Some(ROOT));
    let in_batch = it.instance.scopes.values().filter(|it| it.parent == Some(batch));
    assert_eq!(in_batch.map(|it| &it.kind).collect::<Vec<_>>(), [&ScopeKind::Gosub]);
}

// covers: CONTEXT-7, CONTEXT-6
#[test]
fn a_batch_in_a_fan_out_and_a_fan_out_in_a_batch_lie_in_it() {
    let inside = format!(
        r#"<subProcess id="each">{}<startEvent id="s"/>{}{}<endEvent id="e"/>
           <path>s B b1 B_in e</path><path>B b2 B_in</path></subProcess>"#,
        batch(1, 2),
        fan("B", LAST),
        users(&["b1", "b2"])
    );
    let paths = "<path>start A each A_in end</path><path>A other A_in</path>";
    let mut it = process(&(fan("A", LAST) + &inside + &users(&["other"]) + paths));
    it.start(r#"{"items": [1, 2]}"#);
    let (a, _) = hosted(&it, "A");
    let batch = it.instance.scopes.iter().find(|(_, it)| batch_of(it).is_some());
    let (batch, of_batch) = batch.expect("there is a batch");
    assert_eq!(of_batch.parent, Some(a));
    let mut fans = 0;
    for scope in it.instance.scopes.values().filter(|it| it.depth > 2) {
        let parent = scope.parent.expect("it is inside");
        match &scope.kind {
            ScopeKind::SubProcess => assert_eq!(parent, *batch),
            ScopeKind::FanOut(_) => {
                assert_eq!(it.instance.scopes[&parent].kind, ScopeKind::SubProcess);
                fans += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fans, 2);
    finish(&mut it);
}

// covers: CONTEXT-14
#[test]
fn the_tree_of_the_document() {
    let mut it = example();
    expect![[r"
        process p [1 busy]
          fan-out A [2 waiting] 0 of 2 arrived
            fan-out B (branch 0) [4 waiting] 0 of 2 arrived
              b1 (branch 0) [6 busy]
              b2 (branch 1) [7 busy]
            gosub call (branch 1) [5 busy]
              q_work [9 busy]
          batch batch1 [3 waiting] 0 of 2 done, 1 open
            gosub batch1#0 [10 busy]
              q_work [14 busy]
    "]]
    .assert_eq(&it.tree());
    it.complete("b2", "{}");
    it.complete("b1", "{}");
    it.complete("q_work", "{}");
    expect![[r"
        process p [1 busy]
          batch batch1 [3 waiting] 0 of 2 done, 1 open
            gosub batch1#0 [10 busy]
              q_work [14 busy]
          next [19 busy]
    "]]
    .assert_eq(&it.tree());
}

// Mapping.

// covers: CONTEXT-25
#[test]
fn steps_are_counted_for_the_whole_run_and_limited_for_it() {
    let round = r#"<exclusiveGateway id="back"/><task id="t"/>
        <exclusiveGateway id="done" default="done-back"/>
        <sequenceFlow id="out" sourceRef="done" targetRef="end">
          <conditionExpression>stop == true</conditionExpression></sequenceFlow>
        <path>start back t done back</path>"#;
    let mut it = process_with(r#"tv:stepLimit="50""#, round);
    it.start(r#"{"stop": false}"#);
    assert_eq!(it.instance.incidents.len(), 1, "it does not run for ever");
    let incident = it.instance.incidents.values().next().expect("one");
    assert_eq!(incident.failure.kind, FailureKind::Steps);
    let run = it.visits("back") + it.visits("t") + it.visits("done") + it.visits("start");
    assert!((49..=51).contains(&run), "{run} nodes were run");
    it.set(r#"{"stop": true}"#);
    let token = *it.instance.incidents.keys().next().expect("one");
    it.ask(Command::Retry { token }).expect("it has an incident");
    assert!(it.is_completed(), "someone may let it go on: {}", it.trace());

    // What runs in scopes below counts too.
    let steps = |limit: u32| {
        let body = gosub("c1", "q", "") + &gosub("c2", "r", "") + "<path>start c1 c2 end</path>";
        let mut it = process_with(&format!(r#"tv:stepLimit="{limit}""#), &body);
        it.start("{}");
        while it.instance.incidents.is_empty() && !it.waiting().is_empty() {
            it.complete("q_work", "{}");
        }
        (it.instance.steps, it.instance.incidents.len())
    };
    let (all, incidents) = steps(1_000);
    assert_eq!(incidents, 0);
    assert!(all >= 12, "{all} steps: four here, three and five there");
    assert_eq!(steps(8).1, 1, "the limit is the run's and not each scope's");
}

// covers: CONTEXT-25
#[test]
fn a_run_knows_when_it_began_and_how_it_ended() {
    let mut it = two_branches(LAST);
    it.advance(5_000);
    let now = it.now;
    it.start("{}");
    it.advance(1_000);
    assert_eq!((it.instance.started, it.instance.ending()), (Some(now), None));
    finish(&mut it);
    assert_eq!(it.instance.ending(), Some(&Ending::Completed));
    assert_eq!(it.instance.started, Some(now));
}

// covers: CONTEXT-26, CONTEXT-31
#[test]
fn every_move_follows_a_flow_of_the_graph_that_the_token_runs_in() {
    let mut it = example();
    finish(&mut it);
    let mut moves = 0;
    replayed(&it, |before, event, after| {
        let (token, via, to) = match event {
            Event::TokenMoved { token, via: Some(via), to } => (token, via, to),
            Event::TokenCreated { token, via: Some(via), node, .. } => (token, via, node),
            _ => return,
        };
        moves += 1;
        assert_eq!(it.plan.flow(*via).to, *to, "a connector leads to one node");
        if let Some(it_) = before.tokens.get(token) {
            assert_eq!(it.plan.flow(*via).from, it_.node);
            assert!(it.plan.node(it_.node).outgoing.contains(via), "and comes from another");
        }
        // The graph is that of the nearest process around the token.
        let mut scope = after.tokens[token].scope.expect("it is in a scope");
        while !matches!(after.scopes[&scope].kind, ScopeKind::Process | ScopeKind::Gosub) {
            scope = after.scopes[&scope].parent.expect("the process is a process");
        }
        let graph = after.scopes[&scope].node;
        assert!(matches!(it.plan.node(graph).element, Element::Process(_)));
        assert_eq!(it.plan.node(*to).parent, Some(graph), "{}", it.plan.node(*to).name);
    });
    assert!(moves > 10);
}

// covers: CONTEXT-27
#[test]
fn branches_are_merged_by_a_rule_in_their_order_and_not_by_time() {
    let rules = [
        (r#"tv:merge="last""#, r#"{"a":1,"b":2,"same":7,"x":2}"#),
        // Where they do not agree, nothing is known any more, not even what was known before.
        (r#"tv:merge="agree""#, r#"{"a":1,"b":2,"same":7,"x":null}"#),
        (
            r#"tv:merge="append" tv:path="all""#,
            r#"{"all":[{"a":1,"same":7,"x":1},{"b":2,"same":7,"x":2}],"x":0}"#,
        ),
    ];
    for (merge, merged) in rules {
        for a_first in [true, false] {
            let mut it = two_branches(merge);
            it.start(r#"{"x": 0}"#);
            let mut both = [("a", r#"{"x":1,"same":7,"a":1}"#), ("b", r#"{"x":2,"same":7,"b":2}"#)];
            if !a_first {
                both.reverse();
            }
            for (node, variables) in both {
                it.complete(node, variables);
            }
            assert_eq!(it.variables(), merged, "{merge}, a first: {a_first}");
        }
    }
}

// covers: CONTEXT-27
#[test]
fn a_conflict_between_branches_is_an_incident_where_the_rule_says_so() {
    let merge = r#"tv:merge="conflict""#;
    let mut it = two_branches(merge);
    it.start("{}");
    it.complete("b", r#"{"x": 1, "same": 7}"#);
    it.complete("a", r#"{"x": 2, "same": 7}"#);
    let incident = it.instance.incidents.values().next().expect("they do not agree");
    assert!(incident.failure.message.contains('x'), "{}", incident.failure.message);
    assert_eq!(it.tokens_at("next").len(), 0);

    let mut it = two_branches(merge);
    it.start("{}");
    it.complete("b", r#"{"y": 1, "same": 7}"#);
    it.complete("a", r#"{"x": 2, "same": 7}"#);
    assert_eq!(it.variables(), r#"{"same":7,"x":2,"y":1}"#);
    assert_eq!(it.waiting(), ["next"]);
}

// Implied behaviour.

// covers: CONTEXT-35
#[test]
fn a_fan_in_fires_once_with_the_last_branch_and_those_before_it_go_no_further() {
    let paths = "<path>start A a A_in next end</path><path>A b A_in</path><path>A c A_in</path>";
    let mut it = process(&(fan("A", LAST) + &users(&["a", "b", "c", "next"]) + paths));
    it.start("{}");
    let threads = ["a", "b", "c"].map(|node| token(&it, node));
    for (arrived, node) in [(1, "c"), (2, "a")] {
        it.complete(node, "{}");
        assert_eq!(fan_at(&it, "A").arrived.len(), arrived);
        assert_eq!(it.tokens_at("next").len(), 0);
        for token in it.tokens_at("A_in") {
            let early = &it.instance.tokens[&token];
            assert_eq!((early.state, early.waits.len()), (State::Waiting, 0));
        }
    }
    it.complete("b", "{}");
    assert_eq!(it.tokens_at("next").len(), 1);
    for thread in threads {
        assert!(!it.instance.tokens.contains_key(&thread), "a branch's token ends there");
        let moved_on = |it_: &&Event| {
            matches!(it_, Event::TokenMoved { token, to, .. }
                if *token == thread && Some(*to) == it.plan.find("next"))
        };
        assert_eq!(it.events.iter().filter(moved_on).count(), 0);
    }
    finish(&mut it);
    assert_eq!(it.visits("next"), 1);
}

// covers: CONTEXT-35, CONTEXT-32
#[test]
fn a_fan_out_counts_the_flows_that_are_taken() {
    let gates = r#"<inclusiveGateway id="A" tv:fork="isolate"/>
        <inclusiveGateway id="A_in" tv:merge="last"/>"#;
    let flow = |to: &str| {
        format!(
            r#"<sequenceFlow id="to_{to}" sourceRef="A" targetRef="{to}">
               <conditionExpression>on.includes('{to}')</conditionExpression></sequenceFlow>
               <path>{to} A_in</path>"#
        )
    };
    let body = gates.to_owned()
        + &users(&["a", "b", "c", "next"])
        + &["a", "b", "c"].map(flow).concat()
        + "<path>start A</path><path>A_in next end</path>";
    let mut it = process(&body);
    it.start(r#"{"on": ["a", "c"]}"#);
    assert_eq!(it.waiting(), ["a", "c"]);
    assert_eq!(fan_at(&it, "A").count, 2);
    it.complete("c", "{}");
    assert_eq!(it.tokens_at("next").len(), 0);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["next"]);
}

// covers: CONTEXT-36
#[test]
fn a_branch_that_comes_to_another_fan_in_than_the_first_is_an_error() {
    let paths = "<path>start A a A_in next end</path><path>A b other after end</path>";
    let other = r#"<parallelGateway id="other" tv:merge="last"/>"#;
    let model = fan("A", LAST) + &users(&["a", "b", "next", "after"]) + other + paths;
    for (first, then, fan_in, wrong) in [("a", "b", "A_in", "other"), ("b", "a", "other", "A_in")] {
        let mut it = process(&model);
        it.start("{}");
        assert_eq!(fan_at(&it, "A").fan_in, None);
        it.complete(first, "{}");
        assert_eq!(fan_at(&it, "A").fan_in, it.plan.find(fan_in), "the first decides");
        it.complete(then, "{}");
        let failure = it.incident(wrong).unwrap_or_else(|| panic!("{}", it.trace()));
        assert_eq!(failure.kind, FailureKind::FanIn);
        assert_eq!(fan_at(&it, "A").fan_in, it.plan.find(fan_in), "and stays the one");
        assert_eq!(it.waiting(), Vec::<&str>::new(), "nothing goes on");
        assert!(it.instance.is_running());
    }
}

// covers: CONTEXT-37
#[test]
fn a_batch_is_cut_into_slices_of_which_only_so_many_run_at_a_time() {
    for (items, size, parallel) in
        [(10, 3, 2), (9, 3, 5), (1, 5, 1), (4, 1, 2), (5, 5, 1), (7, 2, 1), (11, 4, 3)]
    {
        let case = format!("{items} items, {size} each, {parallel} at a time");
        let several = batch(size, parallel);
        let body =
            format!(r#"<userTask id="each">{several}</userTask><path>start each end</path>"#);
        let mut it = process(&body);
        let all: Vec<String> = (0..items).map(|it| it.to_string()).collect();
        it.start(&format!(r#"{{"items": [{}]}}"#, all.join(",")));

        let slices: u32 = u32::div_ceil(items, size);
        let mut seen = vec![Vec::new(); slices as usize];
        while it.instance.is_running() {
            let (host, scope) = hosted(&it, "each");
            let each = batch_of(scope).expect("it is a batch");
            assert_eq!(each.total, slices, "{case}");
            let in_flight = each.begun - each.completed;
            assert_eq!(in_flight, parallel.min(slices - each.completed), "{case}");
            assert_eq!(scope.live.len(), in_flight as usize, "{case}");
            for token in it.tokens_at("each").into_iter().filter(|id| *id != host) {
                let Role::Run(index) = it.instance.tokens[&token].role else { panic!("{case}") };
                let slice = View::new(&it.plan, &it.instance, token).get("slice").expect("a slice");
                let slice = slice.as_list().expect("a slice is a list").to_vec();
                seen[index as usize] = slice.iter().map(Value::to_json).collect();
            }
            // The youngest first, so that slices end out of order.
            let wait = it.waits_at("each").into_iter().next_back().expect("one waits");
            let complete = Command::Complete { wait, variables: Vec::new() };
            it.ask(complete).expect("it can be met");
        }
        let expected: Vec<Vec<String>> = all.chunks(size as usize).map(<[_]>::to_vec).collect();
        assert_eq!(seen, expected, "{case}");
        let ended = it.events.iter().filter(|it| matches!(it, Event::RunEnded { .. }));
        assert_eq!(ended.count(), slices as usize, "{case}");
        replayed(&it, |_, event, after| {
            for each in after.scopes.values().filter_map(|it| batch_of(it)) {
                assert!(each.begun - each.completed <= parallel, "{case}, after {event:?}");
            }
        });
        assert!(it.is_completed());
    }
}

// covers: CONTEXT-38
#[test]
fn two_runs_side_by_side_do_what_each_does_alone() {
    let step = |it: &mut Scenario, from_behind: bool| {
        let waits: Vec<_> = it.instance.waits.keys().copied().collect();
        let wait = if from_behind { waits.last() } else { waits.first() };
        let Some(wait) = wait.copied() else { return false };
        let complete = Command::Complete { wait, variables: Vec::new() };
        it.ask(complete).expect("it can be met");
        true
    };
    let alone = [false, true].map(|from_behind| {
        let mut it = example();
        while step(&mut it, from_behind) {}
        it
    });
    let (mut one, mut other) = (example(), example());
    other.plan = std::sync::Arc::clone(&one.plan);
    while step(&mut one, false) | step(&mut other, true) {}
    assert_eq!(one.events, alone[0].events);
    assert_eq!(other.events, alone[1].events);
}

// covers: CONTEXT-38, CONTEXT-12
#[test]
fn the_same_fan_out_in_two_scopes_at_a_time_is_two_fan_outs() {
    let each = format!(
        r#"<subProcess id="each">{}<startEvent id="s"/>{}{}<endEvent id="e"/>
           <path>s A a A_in done e</path><path>A b A_in</path></subProcess>"#,
        batch(1, 3),
        fan("A", r#"tv:merge="append" tv:path="all""#),
        users(&["a", "b", "done"])
    );
    let mut it = process(&(each + "<path>start each end</path>"));
    it.start(r#"{"items": [1, 2, 3]}"#);
    it.complete_run("a", 0, r#"{"x": "a0"}"#);
    it.complete_run("b", 1, r#"{"x": "b1"}"#);
    it.complete_run("a", 2, r#"{"x": "a2"}"#);
    assert_eq!(it.tokens_at("done").len(), 0, "two arrivals in different fan-outs are none");
    it.complete_run("a", 1, r#"{"x": "a1"}"#);
    assert_eq!(it.tokens_at("done").len(), 1);
    assert_eq!(
        it.seen_at("done", "all").as_deref(),
        Some(r#"[{"x":"a1"},{"x":"b1"}]"#),
        "and nothing of the others is in it"
    );
    it.complete_run("b", 0, "{}");
    it.complete_run("b", 2, "{}");
    finish(&mut it);
    assert_eq!(it.visits("done"), 3);
}

// covers: CONTEXT-38
#[test]
fn an_error_in_a_branch_ends_its_fan_out_and_no_other() {
    let branch = |id: &str| {
        let (f, a, b, s) = (format!("F{id}"), format!("a{id}"), format!("b{id}"), format!("S{id}"));
        format!(
            r#"<subProcess id="{s}"><startEvent id="{s}_start"/>{}{}<endEvent id="{s}_end"/>
               <path>{s}_start {f} {a} {f}_in {s}_end</path><path>{f} {b} {f}_in</path></subProcess>
               <boundaryEvent id="{s}_error" attachedToRef="{s}">
                 <errorEventDefinition errorRef="E"/></boundaryEvent>
               <userTask id="{s}_caught"/><path>start {s} end</path>
               <path>{s}_error {s}_caught end</path>"#,
            fan(&f, LAST),
            users(&[&a, &b])
        )
    };
    let mut it = process(&(branch("1") + &branch("2")));
    it.start("{}");
    it.complete("b1", "{}");
    it.raise("a1", "E");
    assert_eq!(it.waiting(), ["S1_caught", "a2", "b2"]);
    assert_eq!(kinds(&it), ["fan-out", "other", "process"]);
    it.complete("S1_caught", "{}");
    finish(&mut it);
}

// covers: CONTEXT-19
#[test]
fn a_process_that_could_not_be_entered_is_entered_where_it_was_started_once_it_is_repaired() {
    let inside = r#"<message id="M" name="M"/> <process id="p" isExecutable="true">
        <extensionElements><tv:status><tv:attribute name="load">first + 1</tv:attribute></tv:status>
          <tv:restriction id="r" scope="entry">load &lt; limit</tv:restriction></extensionElements>
        <startEvent id="plain"/> <startEvent id="told"><messageEventDefinition messageRef="M"/>
        </startEvent> <userTask id="a"/> <userTask id="b"/> <endEvent id="end"/>
        <path>plain a end</path> <path>told b end</path></process>"#;
    let mut it = Scenario::definitions(inside);
    it.start_at("told", "{}");
    assert!(it.incident("p").is_some(), "nobody knows what comes first");
    it.set(r#"{"first": 1}"#);
    it.retry("p");
    assert!(it.incident("p").is_some(), "nor the limit");
    it.set(r#"{"limit": 2}"#);
    it.retry("p");
    assert!(it.incident("p").is_some_and(|it| it.message.contains('r')), "2 is not below 2");
    it.set(r#"{"limit": 3}"#);
    it.retry("p");
    assert_eq!(it.waiting(), ["b"]);
    assert_eq!(it.status_at("b", "load").as_deref(), Some("2"));
}
