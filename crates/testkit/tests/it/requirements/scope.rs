//! Nested scopes and the embedded sub-process, line by line of the requirements.
//!
//! A comment names the lines a test holds the engine to. The documents' scope record is our
//! `Scope`: its id is the host's token, its children are `live`, its variables are the layer that the
//! tokens in it read.

use std::collections::{BTreeMap, BTreeSet};

use travertine_bpmn::{Options, read};
use travertine_kernel::{
    Command, Effect, Ending, Event, FailureKind, Instance, LayerId, NodeId, ROOT, ROOT_LAYER,
    Reach, Rejection, Role, Scope, ScopeKind, State, TokenId, View, WaitFor, apply, effects,
    handle,
    plan::{Element, Plan},
};
use travertine_testkit::{Scenario, assignments, document};

// Models.

/// The inside of a container: a start, what is given, an end, and the ways from one to the other.
fn inside(id: &str, body: &str, ways: &[&str]) -> String {
    let paths: Vec<String> =
        ways.iter().map(|way| format!("<path>{id}_start {way} {id}_end</path>")).collect();
    let paths = paths.concat();
    format!(r#"<startEvent id="{id}_start"/>{body}<endEvent id="{id}_end"/>{paths}"#)
}

fn sub(id: &str, body: &str, ways: &[&str]) -> String {
    format!(r#"<subProcess id="{id}">{}</subProcess>"#, inside(id, body, ways))
}

fn users(ids: &[&str]) -> String {
    ids.iter().flat_map(|id| [r#"<userTask id=""#, id, r#""/>"#]).collect()
}

fn script(id: &str, text: &str) -> String {
    format!(
        r#"<scriptTask id="{id}" scriptFormat="javascript"><script>{text}</script></scriptTask>"#
    )
}

/// An error event at the boundary of an activity, with a task behind it. `code` `*` is any error.
fn on_error(activity: &str, code: &str, then: &str) -> String {
    let code = if code == "*" { String::new() } else { format!(r#"errorRef="{code}""#) };
    format!(
        r#"<boundaryEvent id="{then}_caught" attachedToRef="{activity}">
             <errorEventDefinition {code} tv:codeVariable="code"/>
           </boundaryEvent>
           {}<endEvent id="{then}_end"/><path>{then}_caught {then} {then}_end</path>"#,
        users(&[then])
    )
}

/// An interrupting timer of a minute at the boundary of an activity, with a task behind it.
fn on_timeout(activity: &str, then: &str) -> String {
    format!(
        r#"<boundaryEvent id="{then}_due" attachedToRef="{activity}">
             <timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>
           </boundaryEvent>
           {}<endEvent id="{then}_end"/><path>{then}_due {then} {then}_end</path>"#,
        users(&[then])
    )
}

fn process(body: &str, ways: &[&str]) -> Scenario {
    process_with("", body, ways)
}

fn process_with(attributes: &str, body: &str, ways: &[&str]) -> Scenario {
    Scenario::definitions(&format!(
        r#"<error id="E" errorCode="E"/><error id="F" errorCode="F"/>
           <process id="p" isExecutable="true" {attributes}>{}</process>"#,
        inside("p", body, ways)
    ))
}

/// Three scopes deep: a task at each level, all at work at once, and one behind the outermost.
fn three_levels(beside_outer: &str) -> Scenario {
    let deep = sub("deep", &users(&["c"]), &["c"]);
    let mid = sub("mid", &(deep + &users(&["b"])), &["b", "deep"]);
    let outer = sub("outer", &(mid + &users(&["a"])), &["a", "mid"]);
    process(&(outer + beside_outer + &users(&["next"])), &["outer next"])
}

// What to look at.

fn scopes<'a>(it: &'a Scenario, node: &str) -> Vec<(TokenId, &'a Scope)> {
    let node = it.plan.find(node).expect("there is such a node");
    it.instance
        .scopes
        .iter()
        .filter(|(_, it)| it.node == node)
        .map(|(id, it)| (*id, &**it))
        .collect()
}

fn scope<'a>(it: &'a Scenario, node: &str) -> (TokenId, &'a Scope) {
    let all = scopes(it, node);
    assert_eq!(all.len(), 1, "scopes of {node}");
    all[0]
}

fn token(it: &Scenario, node: &str) -> TokenId {
    let all = it.tokens_at(node);
    assert_eq!(all.len(), 1, "tokens at {node}");
    all[0]
}

fn layer_at(it: &Scenario, node: &str) -> LayerId {
    it.instance.tokens[&token(it, node)].layer
}

/// Shows each event with the instance as it was before.
fn replayed(it: &Scenario, mut look: impl FnMut(&Instance, &Event)) {
    let mut instance = Instance::default();
    for event in &it.events {
        look(&instance, event);
        apply(&mut instance, event);
    }
    assert_eq!(instance, it.instance);
}

/// The nodes of the tokens that were taken away since then, in order.
fn withdrawn(it: &Scenario, since: usize) -> Vec<String> {
    let mut nodes = Vec::new();
    let mut count = 0;
    replayed(it, |instance, event| {
        count += 1;
        if let Event::TokenGone { token, state: State::Withdrawn } = event
            && count > since
            && matches!(instance.tokens[token].role, Role::Flow | Role::Run(_))
        {
            nodes.push(it.plan.node(instance.tokens[token].node).name.to_string());
        }
    });
    nodes
}

/// The scopes that were opened for a node.
fn opened(it: &Scenario, node: &str) -> Vec<TokenId> {
    let node = it.plan.find(node);
    let all = it.events.iter().filter_map(|event| match event {
        Event::ScopeOpened { scope, node: it, .. } if Some(*it) == node => Some(*scope),
        _ => None,
    });
    all.collect()
}

/// The nodes of the scopes that were closed, in order.
fn closed(it: &Scenario) -> Vec<String> {
    let mut nodes = Vec::new();
    replayed(it, |instance, event| {
        if let Event::ScopeClosed { scope } = event {
            nodes.push(it.plan.node(instance.scopes[scope].node).name.to_string());
        }
    });
    nodes
}

fn position(it: &Scenario, what: impl Fn(&Event) -> bool) -> usize {
    it.events.iter().position(what).expect("it has happened")
}

fn is_finished(it: &Scenario) -> bool {
    it.events.iter().any(|it| matches!(it, Event::Finished { .. }))
}

// Model.

// covers: SCOPE-1
#[test]
fn a_sub_process_is_no_instance_of_its_own() {
    let mut it = process(&sub("outer", &users(&["a"]), &["a"]), &["outer"]);
    it.start("{}");
    assert_eq!(it.waiting(), ["a"], "the task inside belongs to this instance");
    it.complete("a", "{}");
    assert!(it.is_completed());
    let child =
        |it: Effect| matches!(&it, Effect::Arm(_, on) if matches!(**on, WaitFor::Child { .. }));
    assert!(!effects(&it.events).any(child), "no other instance is asked for");
    let starts = it.events.iter().filter(|it| matches!(it, Event::Started { .. })).count();
    assert_eq!(starts, 1);
}

// covers: SCOPE-2, SCOPE-4, SCOPE-5, SCOPE-12
#[test]
fn a_scope_knows_its_node_its_host_its_parent_its_children_and_its_variables() {
    let mut it = three_levels("");
    it.start("{}");

    let (root, of_root) = scope(&it, "p");
    assert_eq!((root, of_root.parent, of_root.depth), (ROOT, None, 0));
    let (outer, of_outer) = scope(&it, "outer");
    let (mid, of_mid) = scope(&it, "mid");
    let (_, of_deep) = scope(&it, "deep");
    assert_eq!(
        (of_outer.parent, of_mid.parent, of_deep.parent),
        (Some(root), Some(outer), Some(mid))
    );
    assert_eq!((of_outer.depth, of_mid.depth, of_deep.depth), (1, 2, 3));
    assert_eq!(outer, token(&it, "outer"), "the host is the token at the sub-process");
    assert_eq!(of_outer.kind, ScopeKind::SubProcess);

    let live = |nodes: &[&str]| nodes.iter().map(|node| token(&it, node)).collect::<BTreeSet<_>>();
    assert_eq!(of_root.live, live(&["outer"]));
    assert_eq!(of_outer.live, live(&["a", "mid"]));
    assert_eq!(of_mid.live, live(&["b", "deep"]));
    assert_eq!(of_deep.live, live(&["c"]));

    let layers = [layer_at(&it, "a"), layer_at(&it, "b"), layer_at(&it, "c")];
    let parents = layers.map(|layer| it.instance.layers[&layer].parent);
    assert_eq!(parents, [Some(ROOT_LAYER), Some(layers[0]), Some(layers[1])]);
    assert_eq!(it.instance.layers[&ROOT_LAYER].parent, None);
    assert_eq!(it.instance.layers[&layers[1]].owner, mid, "a layer is bound to its scope");
}

// covers: SCOPE-3
#[test]
fn each_visit_of_a_sub_process_in_a_loop_has_a_scope_and_variables_of_its_own() {
    let again = r#"<exclusiveGateway id="back"/>
        <exclusiveGateway id="done" default="done-p_end"/>
        <sequenceFlow id="again" sourceRef="done" targetRef="back">
          <conditionExpression>again</conditionExpression>
        </sequenceFlow>"#;
    let outer = sub("outer", &users(&["a"]), &["a"]);
    let mut it = process(&(outer + &users(&["ask"]) + again), &["back outer ask done"]);
    it.start("{}");
    let first = layer_at(&it, "a");
    it.complete("a", r#"{"mine": 1}"#);
    it.complete("ask", r#"{"again": true}"#);
    assert_ne!(layer_at(&it, "a"), first, "variables of its own");
    assert_eq!(it.seen_at("a", "mine"), None, "the second visit does not see the first one's");
    it.complete("a", "{}");
    it.complete("ask", r#"{"again": false}"#);
    assert!(it.is_completed());

    let opened = opened(&it, "outer");
    assert_eq!(opened.len(), 2);
    assert_ne!(opened[0], opened[1], "a scope's id is never given to another one");
}

// covers: SCOPE-3, SCOPE-18
#[test]
fn two_tokens_in_one_sub_process_at_a_time_have_two_scopes() {
    let merge = r#"<exclusiveGateway id="merge"/>"#;
    let outer = sub("outer", &users(&["a"]), &["a"]);
    let body = outer + &users(&["x", "y"]) + merge + "<path>merge outer p_end</path>";
    let mut it = Scenario::process(&format!(
        r#"<startEvent id="p_start"/>{body}<endEvent id="p_end"/>
           <path>p_start x merge</path><path>p_start y merge</path>"#
    ));
    it.start("{}");
    it.complete("x", "{}");
    it.complete("y", "{}");
    let both = scopes(&it, "outer");
    assert_eq!(both.len(), 2);
    assert!(both[0].1.live.is_disjoint(&both[1].1.live), "each tracks its own token");
    assert!(both.iter().all(|(_, it)| it.live.len() == 1));

    it.complete("a", r#"{"mine": 1}"#);
    assert_eq!(scopes(&it, "outer").len(), 1, "the end of one is not the end of the other");
    assert_eq!(it.seen_at("a", "mine"), None);
    it.complete("a", "{}");
    assert!(it.is_completed());
}

// covers: SCOPE-6
#[test]
fn a_scope_is_opened_when_a_sub_process_executes_and_by_nothing_else() {
    let choice = r#"<exclusiveGateway id="which" default="which-other"/>
        <sequenceFlow id="in" sourceRef="which" targetRef="outer">
          <conditionExpression>go</conditionExpression>
        </sequenceFlow>
        <path>outer p_end</path>"#;
    let model = || {
        let body = users(&["a", "other"]) + &script("s", "_context.x = 1");
        let outer = sub("outer", &users(&["b"]), &["b"]);
        process(&(body + &outer + choice), &["a s which other"])
    };
    let opened_scopes = |it: &Scenario| {
        it.events.iter().filter(|it| matches!(it, Event::ScopeOpened { .. })).count()
    };

    let mut it = model();
    it.start(r#"{"go": false}"#);
    it.complete("a", "{}");
    it.complete("other", "{}");
    assert!(it.is_completed());
    assert_eq!(opened_scopes(&it), 1, "only that of the process: {}", it.trace());

    let mut it = model();
    it.start(r#"{"go": true}"#);
    assert_eq!(it.instance.scopes.len(), 1, "not before the sub-process executes");
    it.complete("a", "{}");
    assert_eq!(opened_scopes(&it), 2);
    assert_eq!(scope(&it, "outer").1.live.len(), 1);
}

// covers: SCOPE-7, SCOPE-10, SCOPE-26, SCOPE-33, SCOPE-34, SCOPE-54
#[test]
fn a_scope_is_closed_by_its_last_child_and_not_by_one_before() {
    let outer = sub("outer", &users(&["a", "b", "c"]), &["a", "b", "c"]);
    let mut it = process(&(outer + &users(&["next"])), &["outer next"]);
    it.start("{}");
    for (done, left) in [("b", vec!["a", "c"]), ("a", vec!["c"])] {
        it.complete(done, "{}");
        assert_eq!(it.waiting(), left, "after {done}");
        assert_eq!(scope(&it, "outer").1.live.len(), left.len());
        assert!(closed(&it).is_empty(), "after {done}");
        assert_eq!(it.visits("outer"), 0);
    }
    it.complete("c", "{}");
    assert_eq!(closed(&it), ["outer"]);
    assert_eq!(it.waiting(), ["next"], "the flow in the parent is taken, in the same pass");
    assert_eq!(it.visits("outer"), 1);
    assert_eq!(it.instance.tokens[&token(&it, "next")].scope, Some(ROOT));
    assert_eq!(it.visits("outer_end"), 3);
    assert!(!is_finished(&it));
}

/// How many events it takes to complete one of so many tasks in a scope.
fn cost_of_one_among(live: u32) -> usize {
    let several = format!(
        r#"<userTask id="a"><multiInstanceLoopCharacteristics>
             <loopCardinality>{live}</loopCardinality>
           </multiInstanceLoopCharacteristics></userTask>"#
    );
    let model = process(&sub("outer", &several, &["a"]), &["outer"]);
    let plan: &Plan = &model.plan;
    let mut instance = Instance::default();
    let ask = |instance: &mut Instance, command: Command| {
        let (mut count, mut command) = (0, command);
        loop {
            let turn = handle(plan, instance, model.now, command).expect("it can be done");
            count += turn.events.len();
            if !turn.unfinished {
                return count;
            }
            command = Command::Continue;
        }
    };
    ask(&mut instance, Command::Start { at: Vec::new(), variables: Vec::new(), caller: None });
    let waits: Vec<_> = instance.waits.keys().copied().collect();
    assert_eq!(waits.len(), live as usize);
    let costs = waits
        .iter()
        .take(300)
        .map(|wait| ask(&mut instance, Command::Complete { wait: *wait, variables: Vec::new() }));
    costs.max().expect("some were completed")
}

// Instructions are counted in `benches`, scenario `multi-instance-jobs`, at the same two sizes.
// covers: SCOPE-8
#[test]
fn what_one_child_costs_does_not_grow_with_the_number_of_children() {
    assert_eq!(cost_of_one_among(1_000), cost_of_one_among(100_000));
}

// covers: SCOPE-9, SCOPE-25
#[test]
fn a_token_that_goes_round_in_a_scope_is_tracked_once() {
    let again = r#"<exclusiveGateway id="back"/>
        <exclusiveGateway id="done" default="done-outer_end"/>
        <sequenceFlow id="again" sourceRef="done" targetRef="back">
          <conditionExpression>again</conditionExpression>
        </sequenceFlow>"#;
    let outer = sub("outer", &(users(&["a"]) + again), &["back a done"]);
    let mut it = process(&outer, &["outer"]);
    it.start("{}");
    for _ in 0..3 {
        assert_eq!(scope(&it, "outer").1.live.len(), 1);
        it.complete("a", r#"{"again": true}"#);
    }
    it.complete("a", r#"{"again": false}"#);
    assert!(it.is_completed(), "nothing is left that was counted twice: {}", it.tree());
}

// covers: SCOPE-11, SCOPE-42, SCOPE-43, SCOPE-44, SCOPE-45, SCOPE-46
#[test]
fn cancelling_a_scope_takes_everything_in_it_away_from_the_inside_out() {
    let on_timer = on_timeout("outer", "late");
    let on_error = on_error("outer", "E", "late");
    for (boundary, by_timer) in [(on_timer, true), (on_error, false)] {
        let mut it = three_levels(&boundary);
        it.start("{}");
        let inside: BTreeMap<TokenId, NodeId> = ["a", "b", "c", "mid", "deep"]
            .map(|node| (token(&it, node), it.plan.find(node).expect("a node")))
            .into();
        let before = it.events.len();
        if by_timer {
            it.advance(60_000);
        } else {
            it.raise("a", "E");
        }

        assert_eq!(closed(&it), ["deep", "mid", "outer"], "by timer: {by_timer}");
        let mut gone = BTreeMap::new();
        for event in &it.events[before..] {
            if let Event::TokenGone { token, state } = event {
                assert_eq!(gone.insert(*token, *state), None, "each goes once");
            }
        }
        for (token, node) in &inside {
            let name = &*it.plan.node(*node).name;
            let failed = !by_timer && name == "a";
            let state = if failed { State::Failed } else { State::Withdrawn };
            assert_eq!(gone.get(token), Some(&state), "{name}, by timer: {by_timer}");
        }
        assert_eq!(it.instance.scopes.len(), 1, "the scope and those in it are gone");
        assert_eq!(it.armed(), ["late"], "nothing in it waits any more");
        assert_eq!(it.instance.layers.len(), 1, "no variables are left behind");
    }
}

// Variables.

// covers: SCOPE-13, SCOPE-14, SCOPE-15, SCOPE-56
#[test]
fn a_read_finds_the_nearest_value_on_the_way_to_the_root() {
    let mut it = three_levels("");
    it.start(r#"{"x": 0, "y": 0, "z": 0}"#);
    let set = |it: &mut Scenario, node: &str, variables: &str| {
        let token = Some(token(it, node));
        it.ask(Command::Set { token, variables: assignments(variables), reach: Reach::Layer })
            .expect("it is there");
    };
    set(&mut it, "a", r#"{"x": 1, "y": 1}"#);
    set(&mut it, "c", r#"{"x": 3}"#);
    let seen = |node: &str| ["x", "y", "z"].map(|name| it.seen_at(node, name).unwrap_or_default());
    assert_eq!(seen("a"), ["1", "1", "0"]);
    assert_eq!(seen("b"), ["1", "1", "0"], "two levels up");
    assert_eq!(seen("c"), ["3", "1", "0"], "its own, two levels up, three levels up");
    for node in ["a", "b", "c"] {
        assert_eq!(it.seen_at(node, "nowhere"), None);
    }
}

// covers: SCOPE-15
#[test]
fn a_name_that_is_nowhere_is_absent_and_no_error() {
    let read = script("s", "_context.found = _context.nowhere === undefined");
    let mut it = process(&sub("outer", &(read + &users(&["a"])), &["s a"]), &["outer"]);
    it.start("{}");
    assert_eq!(it.incident("s"), None);
    assert_eq!(it.seen_at("a", "found").as_deref(), Some("true"));
}

// covers: SCOPE-16, SCOPE-17, SCOPE-56
#[test]
fn a_write_stays_in_the_scope_of_the_writer() {
    let inner = users(&["write", "after"]);
    let mid = sub("mid", &inner, &["write after"]);
    let outer = sub("outer", &(mid + &users(&["a"])), &["a", "mid"]);
    let mut it = process(&(outer + &users(&["top"])), &["outer", "top"]);
    it.start(r#"{"x": 0}"#);
    it.complete("write", r#"{"x": 1, "new": 1}"#);
    assert_eq!(it.seen_at("after", "x").as_deref(), Some("1"));
    assert_eq!(it.seen_at("a", "x").as_deref(), Some("0"), "the scope around it");
    assert_eq!(it.seen_at("a", "new"), None);
    assert_eq!(it.seen_at("top", "x").as_deref(), Some("0"), "the root");
    assert_eq!(it.variables(), r#"{"x":0}"#);
    it.complete("after", "{}");
    assert_eq!(it.seen_at("a", "x").as_deref(), Some("0"), "nor does it leave when the scope does");
    it.complete("a", "{}");
    it.complete("top", "{}");
    assert_eq!(it.variables(), r#"{"x":0}"#);
}

// covers: SCOPE-18
#[test]
fn sibling_scopes_do_not_see_each_others_writes() {
    let left = sub("left", &users(&["a", "a2"]), &["a a2"]);
    let right = sub("right", &users(&["b", "b2"]), &["b b2"]);
    let mut it = process(&(left + &right), &["left", "right"]);
    it.start(r#"{"x": 0}"#);
    it.complete("a", r#"{"x": 1, "ofA": 1}"#);
    it.complete("b", r#"{"ofB": 1}"#);
    assert_eq!(it.seen_at("b2", "x").as_deref(), Some("0"));
    assert_eq!(it.seen_at("b2", "ofA"), None);
    assert_eq!(it.seen_at("a2", "ofB"), None);
    assert_eq!(it.seen_at("a2", "x").as_deref(), Some("1"));
}

// covers: SCOPE-19
#[test]
fn a_new_scope_has_no_variables_and_sees_what_changes_above_it() {
    let mut it = process(&sub("outer", &users(&["a"]), &["a"]), &["outer"]);
    it.start(r#"{"x": 0}"#);
    let layer = layer_at(&it, "a");
    assert_ne!(layer, ROOT_LAYER);
    assert!(it.instance.layers[&layer].variables.is_empty(), "nothing was copied");
    it.set(r#"{"x": 1, "y": 2}"#);
    assert_eq!(it.seen_at("a", "x").as_deref(), Some("1"));
    assert_eq!(it.seen_at("a", "y").as_deref(), Some("2"));
}

// covers: SCOPE-20
#[test]
fn a_script_is_handed_all_variables_as_one_object() {
    let all = "_context.all = JSON.stringify(Object.keys(_context).filter(k => k != 'all').sort()\
               .map(k => k + _context[k]))";
    let mid = sub("mid", &(users(&["b"]) + &script("s", all) + &users(&["c"])), &["b s c"]);
    let outer = sub("outer", &(users(&["a"]) + &mid), &["a mid"]);
    let mut it = process(&outer, &["outer"]);
    it.start(r#"{"root": 0, "x": 0, "y": 0}"#);
    it.complete("a", r#"{"outer": 1, "x": 1, "y": 1}"#);
    it.complete("b", r#"{"mid": 2, "y": 2}"#);
    assert_eq!(
        it.seen_at("c", "all").as_deref(),
        Some(r#""[\"mid2\",\"outer1\",\"root0\",\"x1\",\"y2\"]""#)
    );
    let view = View::new(&it.plan, &it.instance, token(&it, "c")).all();
    let names: Vec<&str> = view.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["all", "mid", "outer", "root", "x", "y"], "each name once");
}

// covers: SCOPE-21
#[test]
fn a_script_writes_to_its_own_scope_only_however_it_writes() {
    let write = "_context.x = 1; y = 1; _context.order.total = 1; _context.list.push(1)";
    let mid = sub("mid", &(script("s", write) + &users(&["b"])), &["s b"]);
    let outer = sub("outer", &(mid + &users(&["a"])), &["a", "mid"]);
    let mut it = process(&outer, &["outer"]);
    let before = r#"{"list":[0],"order":{"total":0},"x":0,"y":0}"#;
    it.start(before);
    let seen = |node: &str| {
        ["x", "y", "order", "list"].map(|name| it.seen_at(node, name).unwrap_or_default())
    };
    assert_eq!(seen("b"), ["1", "1", r#"{"total":1}"#, "[0,1]"]);
    assert_eq!(seen("a"), ["0", "0", r#"{"total":0}"#, "[0]"]);
    assert_eq!(it.variables(), before);
}

// Entry ownership.

// covers: SCOPE-22, SCOPE-23, SCOPE-24
#[test]
fn a_token_belongs_to_the_scope_it_was_made_in_and_so_does_whatever_follows_it() {
    let fork = r#"<parallelGateway id="fork"/>"#;
    let outer = sub("outer", &(users(&["a", "b", "c"]) + fork), &["a fork b", "fork c"]);
    // The second way leads through the fork as well: take it out of the start's.
    let outer = outer.replace("outer_start fork c", "fork c");
    let mut it = process(&(users(&["first", "beside"]) + &outer), &["first outer", "beside"]);
    it.start("{}");
    let scope_at = |it: &Scenario, node: &str| it.instance.tokens[&token(it, node)].scope;
    assert_eq!(scope_at(&it, "first"), Some(ROOT));
    assert_eq!(it.instance.tokens[&ROOT].scope, None, "the process itself is in no scope");
    it.complete("first", "{}");
    let outer = scope(&it, "outer").0;
    assert_eq!(scope_at(&it, "outer"), Some(ROOT), "the host stands outside");
    assert_eq!(scope_at(&it, "beside"), Some(ROOT));
    assert_eq!(scope_at(&it, "a"), Some(outer));
    it.complete("a", "{}");
    assert_eq!(scope_at(&it, "b"), Some(outer), "by one flow");
    assert_eq!(scope_at(&it, "c"), Some(outer), "by another");
    assert_eq!(scope_at(&it, "beside"), Some(ROOT));
}

// covers: SCOPE-25, SCOPE-26
#[test]
fn handing_over_from_one_task_to_the_next_never_closes_the_scope() {
    let body = users(&["a", "b"]) + &script("s", "_context.x = 1");
    let mut it = process(&sub("outer", &body, &["a s b"]), &["outer"]);
    it.start("{}");
    let before = it.events.len();
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["b"]);
    let outer = scope(&it, "outer").0;
    let mut count = 0;
    replayed(&it, |instance, event| {
        count += 1;
        if count > before {
            assert!(!instance.scopes[&outer].is_empty(), "before {event:?}");
        }
    });
    it.complete("b", "{}");
    assert_eq!(opened(&it, "outer").len(), 1);
    assert!(it.is_completed());
}

// Definition resolution.

// covers: SCOPE-27, SCOPE-28, SCOPE-30, SCOPE-31
#[test]
fn the_definition_of_a_scope_is_found_through_the_scopes_around_it() {
    let mut it = three_levels(&on_timeout("outer", "late"));
    it.start("{}");
    let root = it.instance.scopes[&ROOT].node;
    assert!(matches!(it.plan.node(root).element, Element::Process(_)));
    assert_eq!(it.plan.node(root).parent, None);
    for (id, scope) in &it.instance.scopes {
        let node = it.plan.node(scope.node);
        if let Some(parent) = scope.parent {
            assert!(matches!(node.element, Element::SubProcess(_)), "{}", node.name);
            assert_eq!(node.parent, Some(it.instance.scopes[&parent].node), "{}", node.name);
        }
        for token in &scope.live {
            let at = it.plan.node(it.instance.tokens[token].node);
            assert_eq!(at.parent, Some(scope.node), "{} in scope {}", at.name, id.0);
        }
    }
    // Its boundary event stands in the definition around it, whose flows it then follows.
    let guard = it.instance.tokens.values().find(|it| matches!(it.role, Role::Guard(_)));
    assert_eq!(guard.expect("the timer is armed").scope, Some(ROOT));
}

// covers: SCOPE-29, SCOPE-30
#[test]
fn one_id_in_two_scopes_means_what_it_means_in_each() {
    let caller = r#"<callActivity id="call" calledElement="q" tv:gosub="true"/><userTask id="work"/>
        <userTask id="afterwards"/>"#;
    let caller = format!(
        r#"<process id="p" isExecutable="true">{}</process>"#,
        inside("p", caller, &["call", "work afterwards"])
    );
    let callee = format!(
        r#"<process id="q" isExecutable="true">{}</process>"#,
        inside("p", r#"<userTask id="work"/><userTask id="elsewhere"/>"#, &["work elsewhere"])
    );
    let files = [document(&caller), document(&callee)];
    let files = [("caller.bpmn", files[0].as_bytes()), ("callee.bpmn", files[1].as_bytes())];
    let report = read(&files, &Options::default());
    assert!(!report.is_rejected(), "{:#?}", report.diagnostics);
    let plan = &report.processes.iter().find(|it| it.id == "p").expect("it is there").plan;
    let mut it = Scenario::process(&inside("x", "", &[""])).with_plan(|it| *it = (**plan).clone());

    it.start("{}");
    assert_eq!(it.waiting(), ["work", "work"]);
    let of_caller = |it: &Scenario, token: TokenId| it.instance.tokens[&token].scope == Some(ROOT);
    let both = it.waits_at("work");
    let (outside, inside): (Vec<_>, Vec<_>) =
        both.into_iter().partition(|wait| of_caller(&it, it.instance.waits[wait].token));
    it.ask(Command::Complete { wait: inside[0], variables: Vec::new() }).expect("it waits");
    assert_eq!(it.waiting(), ["elsewhere", "work"]);
    it.ask(Command::Complete { wait: outside[0], variables: Vec::new() }).expect("it waits");
    assert_eq!(it.waiting(), ["afterwards", "elsewhere"]);
}

// End events.

// covers: SCOPE-31, SCOPE-32, SCOPE-33
#[test]
fn an_end_event_ends_the_instance_in_the_process_and_only_itself_in_a_sub_process() {
    let mut it = process(&users(&["a"]), &["a"]);
    it.start("{}");
    it.complete("a", "{}");
    assert!(it.is_completed());

    let outer = sub("outer", &users(&["a"]), &["a"]);
    let mut it = process(&(outer + &users(&["next"])), &["outer next"]);
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.visits("outer_end"), 1);
    assert!(!is_finished(&it));
    assert_eq!(it.waiting(), ["next"]);
    it.complete("next", "{}");
    assert!(it.is_completed());
}

// covers: SCOPE-35, SCOPE-32
#[test]
fn a_plain_end_event_ends_its_own_token_and_a_terminate_end_event_all() {
    let mut it = process(&users(&["a", "b"]), &["a", "b"]);
    it.start("{}");
    it.complete("a", "{}");
    assert!(!is_finished(&it));
    assert_eq!(it.waiting(), ["b"], "the other goes on");
    it.complete("b", "{}");
    assert!(it.is_completed());

    let stop = r#"<endEvent id="stop"><terminateEventDefinition/></endEvent>"#;
    let outer = sub("outer", &users(&["c"]), &["c"]);
    let body = users(&["a"]) + &outer + stop + "<path>p_start a stop</path>";
    let mut it = process(&body, &["outer"]);
    it.start("{}");
    it.complete("a", "{}");
    assert!(it.is_completed());
    assert_eq!(it.visits("c"), 0);
    assert!(withdrawn(&it, 0).contains(&"c".to_owned()));
}

// covers: SCOPE-33, SCOPE-35
#[test]
fn a_terminate_end_event_in_a_sub_process_ends_only_what_is_in_there() {
    let stop = r#"<endEvent id="stop"><terminateEventDefinition/></endEvent>"#;
    let body = users(&["a", "b"]) + stop + "<path>outer_start a stop</path>";
    let outer = sub("outer", &body, &["b"]);
    let mut it = process(&(outer + &users(&["beside", "next"])), &["outer next", "beside"]);
    it.start("{}");
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["beside", "next"]);
    assert_eq!(withdrawn(&it, 0), ["b"]);
}

// Errors.

/// A task in a sub-process in a sub-process, with error events where asked.
fn guarded(attributes: &str, at_task: &str, at_mid: &str, at_outer: &str) -> Scenario {
    let mid = sub("mid", &(users(&["a", "b"]) + at_task), &["a", "b"]);
    let outer = sub("outer", &(mid + at_mid + &users(&["after_mid"])), &["mid after_mid"]);
    process_with(attributes, &(outer + at_outer + &users(&["next"])), &["outer next"])
}

// covers: SCOPE-36
#[test]
fn an_error_is_caught_in_its_own_scope_first() {
    let (near, far) = (on_error("a", "E", "near"), on_error("mid", "E", "far"));
    let mut it = guarded("", &near, &far, &on_error("outer", "*", "farther"));
    it.start("{}");
    it.raise("a", "E");
    assert_eq!(it.waiting(), ["b", "near"], "the neighbour goes on");
    assert_eq!(it.instance.tokens[&token(&it, "near")].scope, Some(scope(&it, "mid").0));
    assert!(closed(&it).is_empty());
}

// covers: SCOPE-37, SCOPE-38, SCOPE-39
#[test]
fn an_error_that_is_not_caught_inside_is_caught_at_the_sub_process() {
    let near = on_error("a", "F", "near");
    let mut it =
        guarded("", &near, &on_error("mid", "E", "far"), &on_error("outer", "*", "farther"));
    it.start("{}");
    let task = token(&it, "a");
    it.raise("a", "E");

    assert_eq!(it.waiting(), ["far"], "neither the neighbour nor what follows");
    assert_eq!(it.visits("mid"), 0, "its normal flow is not taken");
    assert_eq!(it.visits("after_mid"), 0);
    assert_eq!(it.instance.tokens[&token(&it, "far")].scope, Some(scope(&it, "outer").0));
    assert_eq!(withdrawn(&it, 0), ["b"], "the others are cancelled");
    let failed = Event::TokenGone { token: task, state: State::Failed };
    assert!(it.events.contains(&failed), "and the one that failed has failed");
    assert_eq!(closed(&it), ["mid"]);

    let closed = position(&it, |it| matches!(it, Event::ScopeClosed { .. }));
    let last = it.events.iter().rposition(|it| {
        matches!(it, Event::TokenGone { state: State::Withdrawn | State::Failed, .. })
    });
    let caught = it.plan.find("far").expect("a node");
    let fired = position(&it, |it| match it {
        Event::TokenMoved { to, .. } => *to == caught,
        Event::TokenCreated { node, .. } => *node == caught,
        _ => false,
    });
    assert!(closed < fired && last < Some(fired), "first the scope is cancelled: {}", it.trace());
    it.complete("far", "{}");
    assert_eq!(it.waiting(), ["next"], "the outer sub-process ends as if nothing had happened");
}

// covers: SCOPE-41, SCOPE-37
#[test]
fn the_search_for_a_handler_goes_all_the_way_up() {
    let farthest = on_error("s1", "E", "farthest");
    let mut body = users(&["a"]);
    let mut way = "a".to_owned();
    for level in (1..=5).rev() {
        let id = format!("s{level}");
        let deaf = if level == 3 { on_error("s4", "F", "deaf") } else { String::new() };
        body = sub(&id, &(body + &deaf), &[&way]);
        way = id;
    }
    let mut it = process(&(body + &farthest), &[&way]);
    it.start("{}");
    assert_eq!(it.instance.scopes.len(), 6);
    it.raise("a", "E");
    assert_eq!(it.waiting(), ["farthest"]);
    assert_eq!(closed(&it), ["s5", "s4", "s3", "s2", "s1"]);
    assert_eq!(it.instance.scopes.len(), 1);
}

// covers: SCOPE-40, SCOPE-55
#[test]
fn an_error_that_nobody_catches_is_an_incident_that_can_be_retried_or_cancelled() {
    let model = || guarded("", &on_error("a", "F", "near"), "", &on_error("outer", "F", "far"));
    let mut it = model();
    it.start("{}");
    it.raise("a", "E");
    let failure = it.incident("a").expect("it is an incident at the task");
    assert_eq!((&failure.kind, failure.code.as_deref()), (&FailureKind::Error, Some("E")));
    assert!(it.instance.is_running());
    it.complete("b", "{}");
    assert!(closed(&it).is_empty(), "the scope does not complete around a failure");
    assert!(it.incident("a").is_some());
    it.retry("a");
    assert_eq!(it.incident("a"), None);
    assert_eq!(it.waiting(), ["a"]);
    it.complete("a", "{}");
    assert_eq!(it.waiting(), ["after_mid"]);

    let mut it = model();
    it.start("{}");
    it.raise("a", "E");
    it.cancel();
    assert_eq!(it.instance.ending(), Some(&Ending::Cancelled));
    assert!(it.instance.incidents.is_empty() && it.instance.tokens.is_empty());
}

// covers: SCOPE-40, SCOPE-55
#[test]
fn a_script_that_breaks_keeps_its_scope_open_until_it_is_repaired() {
    let body = script("s", "_context.y = _context.x.y") + &users(&["b"]);
    let outer = sub("outer", &body, &["s", "b"]);
    let mut it = process(&(outer + &users(&["next"])), &["outer next"]);
    it.start("{}");
    it.complete("b", "{}");
    assert_eq!(it.incident("s").map(|it| it.kind.clone()), Some(FailureKind::Script));
    assert_eq!(scope(&it, "outer").1.live, [token(&it, "s")].into());
    assert_eq!(it.visits("next") + it.visits("outer"), 0);
    it.set(r#"{"x": {"y": 1}}"#);
    it.retry("s");
    assert_eq!(it.waiting(), ["next"]);
}

// covers: SCOPE-40
#[test]
fn an_error_that_nobody_catches_fails_the_instance_where_the_process_says_so() {
    let mut it = guarded(r#"tv:unhandledError="fail""#, "", "", "");
    it.start("{}");
    it.raise("a", "E");
    let Some(Ending::Failed(failure)) = it.instance.ending() else {
        panic!("it failed: {}", it.trace());
    };
    assert_eq!(failure.code.as_deref(), Some("E"));
    assert!(it.instance.scopes.is_empty() && it.instance.waits.is_empty());
}

// Cancellation.

// covers: SCOPE-46, SCOPE-47
#[test]
fn a_timer_at_a_sub_process_cancels_it_and_only_its_own_path_is_taken() {
    let mut it = three_levels(&on_timeout("outer", "late"));
    it.start("{}");
    it.advance(59_999);
    assert_eq!(it.waiting(), ["a", "b", "c"], "not before its time");
    it.advance(1);
    assert_eq!(it.waiting(), ["late"]);
    assert_eq!(it.visits("outer") + it.visits("next"), 0);
    let mut gone = withdrawn(&it, 0);
    gone.sort();
    assert_eq!(gone, ["a", "b", "c", "deep", "mid", "outer"]);
    it.complete("late", "{}");
    assert!(it.is_completed());
    assert_eq!(it.visits("next"), 0);
}

// covers: SCOPE-57
#[test]
fn cancelling_what_is_empty_or_unknown_changes_nothing() {
    let outer = sub("outer", &users(&["a"]), &["a"]) + &on_timeout("outer", "late");
    let mut it = process(&(outer + &users(&["next"])), &["outer next"]);
    it.start("{}");
    let timer = it.waits_at("late_due")[0];
    it.complete("a", "{}");
    let before = it.events.len();
    let late = it.ask(Command::Complete { wait: timer, variables: Vec::new() });
    assert_eq!(late, Err(Rejection::NoSuchWait(timer)), "the scope is not there any more");
    assert_eq!(it.events.len(), before);
    assert_eq!(it.waiting(), ["next"]);
    it.cancel();
    assert_eq!(it.ask(Command::Cancel), Err(Rejection::Ended));

    // The only token of the scope is the one that fails: there is nothing else to take away.
    let end = r#"<endEvent id="boom"><errorEventDefinition errorRef="E"/></endEvent>
        <path>outer_start boom</path>"#;
    let outer = format!(
        r#"<subProcess id="outer"><startEvent id="outer_start"/>{end}</subProcess>{}"#,
        on_error("outer", "E", "far")
    );
    let mut it = process(&outer, &["outer"]);
    it.start("{}");
    assert_eq!(it.waiting(), ["far"]);
    assert_eq!(withdrawn(&it, 0), Vec::<String>::new());
    assert_eq!(closed(&it), ["outer"]);
}

// BPMN parsing.

/// The names of the nodes directly in a container, sorted.
fn children(plan: &Plan, container: &str) -> Vec<String> {
    let container = plan.find(container).expect("there is such a node");
    let children = plan.nodes.iter().filter(|it| it.parent == Some(container));
    let mut names: Vec<String> = children.map(|it| it.name.to_string()).collect();
    names.sort();
    names
}

// covers: SCOPE-48, SCOPE-49, SCOPE-50, SCOPE-51, SCOPE-52
#[test]
fn a_model_is_read_scope_by_scope() {
    let deep = sub("deep", &users(&["c"]), &["c"]);
    let mid = sub("mid", &(deep + &on_error("deep", "E", "h3")), &["deep"]);
    let inner = mid + &users(&["a"]) + &on_timeout("a", "h2");
    let outer = sub("outer", &inner, &["a mid"]) + &on_error("outer", "E", "h1");
    let it = process(&(users(&["first"]) + &outer), &["first outer"]);
    let plan = &it.plan;

    assert_eq!(
        children(plan, "p"),
        ["first", "h1", "h1_caught", "h1_end", "outer", "p_end", "p_start"]
    );
    assert_eq!(
        children(plan, "outer"),
        ["a", "h2", "h2_due", "h2_end", "mid", "outer_end", "outer_start"]
    );
    assert_eq!(
        children(plan, "mid"),
        ["deep", "h3", "h3_caught", "h3_end", "mid_end", "mid_start"]
    );
    assert_eq!(children(plan, "deep"), ["c", "deep_end", "deep_start"]);
    assert_eq!(plan.root().starts, [plan.find("p_start").expect("a node")]);

    for (boundary, at) in [("h1_caught", "outer"), ("h2_due", "a"), ("h3_caught", "deep")] {
        let at = plan.node(plan.find(at).expect("a node"));
        assert_eq!(at.boundary, [plan.find(boundary).expect("a node")]);
    }
    let flows = |container: &str| {
        let container = plan.find(container);
        let inside = plan.flows.iter().filter(|it| plan.node(it.from).parent == container);
        let mut names: Vec<String> = inside.map(|it| it.name.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(
        flows("p"),
        ["first-outer", "h1-h1_end", "h1_caught-h1", "outer-p_end", "p_start-first"]
    );
    assert_eq!(
        flows("outer"),
        ["a-mid", "h2-h2_end", "h2_due-h2", "mid-outer_end", "outer_start-a"]
    );
    assert_eq!(flows("mid"), ["deep-mid_end", "h3-h3_end", "h3_caught-h3", "mid_start-deep"]);
    assert_eq!(flows("deep"), ["c-deep_end", "deep_start-c"]);
    for flow in &plan.flows {
        let (from, to) = (plan.node(flow.from), plan.node(flow.to));
        assert_eq!(from.parent, to.parent, "{} stays in its scope", flow.name);
    }
}

// covers: SCOPE-49
#[test]
fn sub_processes_nest_to_any_depth() {
    let mut body = users(&["a"]);
    let mut way = "a".to_owned();
    for level in (1..=40).rev() {
        let id = format!("s{level}");
        body = sub(&id, &body, &[&way]);
        way = id;
    }
    let mut it = process(&body, &[&way]);
    it.start(r#"{"x": 1}"#);
    assert_eq!(it.instance.scopes.len(), 41);
    assert_eq!(it.seen_at("a", "x").as_deref(), Some("1"));
    it.complete("a", "{}");
    assert!(it.is_completed());
    assert_eq!(closed(&it)[..2], ["s40", "s39"]);
}

// covers: SCOPE-52
#[test]
fn a_flow_cannot_lead_out_of_a_sub_process() {
    let outer = sub("outer", &users(&["a"]), &["a"]);
    let body = outer + &users(&["next"]) + "<path>a next</path>";
    let report = Scenario::report(&format!(
        r#"<process id="p" isExecutable="true">{}</process>"#,
        inside("p", &body, &["outer next"])
    ));
    assert!(report.is_rejected());
}

// Invariants.

/// Panics where a scope and its tokens do not agree.
fn check_invariants(instance: &Instance, at_rest: bool) {
    for (id, token) in &instance.tokens {
        let Some(scope) = token.scope else { continue };
        let scope = &instance.scopes[&scope];
        if matches!(token.role, Role::Flow | Role::Run(_) | Role::Branch(_)) {
            assert!(scope.live.contains(id), "token {} is tracked", id.0);
        }
    }
    for (id, scope) in &instance.scopes {
        assert!(scope.live.iter().all(|it| instance.tokens[it].scope == Some(*id)));
        assert!(!at_rest || !scope.is_empty(), "scope {} is empty and open", id.0);
    }
    for token in instance.incidents.keys() {
        let scope = instance.tokens[token].scope.expect("incidents are in the process");
        assert!(instance.scopes[&scope].live.contains(token), "it keeps its scope");
    }
}

// covers: SCOPE-53, SCOPE-54, SCOPE-55
#[test]
fn scopes_and_tokens_agree_after_every_event_in_any_order() {
    let several = r#"<userTask id="m"><multiInstanceLoopCharacteristics>
        <loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></userTask>"#;
    let model = || {
        let deep = sub("deep", &(users(&["c"]) + several), &["c", "m"]);
        let mid = sub("mid", &(deep + &users(&["b"])), &["b", "deep"]);
        let guards = on_error("mid", "E", "caught") + &on_timeout("mid", "late");
        let outer = sub("outer", &(mid + &guards + &users(&["a"])), &["a", "mid"]);
        process(&(outer + &users(&["d", "next"])), &["outer next", "d"])
    };
    for seed in 0..40_usize {
        let mut it = model();
        it.start("{}");
        check_invariants(&it.instance, true);
        let mut turn = seed;
        while it.instance.is_running() {
            turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let choice = turn >> 33;
            let waiting: Vec<String> = it.waiting().into_iter().map(str::to_owned).collect();
            let Some(node) = waiting.get(choice % waiting.len().max(1)) else {
                let stuck = it.instance.incidents.keys().next().copied();
                let token = stuck.expect("what does not wait has an incident");
                it.ask(Command::Retry { token }).expect("it has an incident");
                continue;
            };
            match choice % 11 {
                0 => it.raise(node, "E"),
                1 => it.advance(60_000),
                _ => it.complete(node, "{}"),
            }
            check_invariants(&it.instance, true);
        }
        let mut instance = Instance::default();
        for event in &it.events {
            apply(&mut instance, event);
            check_invariants(&instance, false);
        }
        assert!(it.is_completed(), "seed {seed}: {}", it.trace());
    }
}
