//! Short ways to write models with status attributes, and to see how tokens lived.
//!
//! In the models `<ext>` stands for extensions, written short: `load := load + 1` is an operator,
//! `entry: load < 3` a restriction at one point, `load < 3` a restriction at all of them; anything
//! that begins with `<` stands for itself. Those of the process stand first, in `<own>`.

use std::fmt::Write as _;

use travertine_kernel::{
    Event, Instance,
    State::{self, Departed},
    TokenId, apply,
    plan::CompensateOnError,
};
use travertine_testkit::Scenario;

/// What models refer to.
const REFERENCES: &str = r#"<error id="E" errorCode="E"/> <escalation id="U" escalationCode="U"/>
    <message id="M" name="M"/> <message id="N" name="N"/> <signal id="S" name="S"/>"#;

/// Catches every error of `sub`.
pub(crate) const CAUGHT: &str = r#"<boundaryEvent id="caught" attachedToRef="sub"><errorEventDefinition/>
    </boundaryEvent> <userTask id="repair"/> <path>caught repair</path>"#;

/// Definitions whose process has these status attributes and this inside.
pub(crate) fn definitions(attributes: &str, inside: &str) -> String {
    let mut status = String::new();
    for it in attributes.split_whitespace() {
        let (name, value) = it.split_once('=').unwrap_or((it, ""));
        write!(status, r#"<tv:attribute name="{name}">{value}</tv:attribute>"#).expect("text");
    }
    let (own, inside) = match inside.trim_start().strip_prefix("<own>") {
        Some(rest) => rest.split_once("</own>").expect("it is closed"),
        None => ("", inside),
    };
    let own = extensions(own);
    let mut text = format!(
        r#"{REFERENCES} <process id="p" isExecutable="true"><extensionElements>
           <tv:status>{status}</tv:status>{own}</extensionElements>"#
    );
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once("<ext>") {
        let (short, behind) = after.split_once("</ext>").expect("extensions are closed");
        text += before;
        write!(text, "<extensionElements>{}</extensionElements>", extensions(short)).expect("text");
        rest = behind;
    }
    text + rest + "</process>"
}

fn extensions(text: &str) -> String {
    let mut xml = String::new();
    for (number, it) in text.split(';').map(str::trim).enumerate() {
        if it.is_empty() || it.starts_with('<') {
            xml += it;
            continue;
        }
        let it = it.replace('<', "&lt;");
        if let Some((attribute, value)) = it.split_once(":=") {
            let attribute = attribute.trim();
            write!(xml, r#"<tv:operator attribute="{attribute}">{value}</tv:operator>"#)
        } else {
            let (scope, condition) = it.split_once(": ").unwrap_or(("full", &it));
            let id = format!("r{number}");
            write!(xml, r#"<tv:restriction id="{id}" scope="{scope}">{condition}</tv:restriction>"#)
        }
        .expect("text");
    }
    xml
}

/// A running instance of such a process.
pub(crate) fn run(attributes: &str, inside: &str) -> Scenario {
    let mut it = Scenario::definitions(&definitions(attributes, inside));
    it.start("{}");
    it
}

/// A running instance of such a process, in which a scope that fails undoes what it had completed.
pub(crate) fn run_undoing(attributes: &str, inside: &str) -> Scenario {
    let mut it = Scenario::definitions(&definitions(attributes, inside))
        .with_plan(|plan| plan.policy.compensate_on_error = CompensateOnError::Always);
    it.start("{}");
    it
}

/// An event sub-process with one task in it.
pub(crate) fn event_sub_process(id: &str, interrupting: bool, trigger: &str) -> String {
    format!(
        r#"<subProcess id="{id}" triggeredByEvent="true">
             <startEvent id="{id}-start" isInterrupting="{interrupting}">{trigger}</startEvent>
             <userTask id="{id}-work"/> <endEvent id="{id}-end"/>
             <path>{id}-start {id}-work {id}-end</path>
           </subProcess>"#
    )
}

pub(crate) fn on_message(message: &str) -> String {
    format!(r#"<messageEventDefinition messageRef="{message}"/>"#)
}

/// What undoes an activity: a task named `undo-…`.
pub(crate) fn undo(activity: &str) -> String {
    format!(
        r#"<boundaryEvent id="of-{activity}" attachedToRef="{activity}"><compensateEventDefinition/>
           </boundaryEvent> <userTask id="undo-{activity}" isForCompensation="true"/>
           <association id="undoing-{activity}" sourceRef="of-{activity}"
            targetRef="undo-{activity}" associationDirection="One"/>"#
    )
}

/// The states of each visit to a node, in the order the visits began.
pub(crate) fn lives(it: &Scenario, node: &str) -> Vec<Vec<State>> {
    visits(it).into_iter().filter(|(at, _)| at == node).map(|(_, states)| states).collect()
}

/// The states of the only visit to a node.
pub(crate) fn life(it: &Scenario, node: &str) -> Vec<State> {
    let mut lives = lives(it, node);
    assert_eq!(lives.len(), 1, "visits to {node}: {lives:?}");
    lives.remove(0)
}

/// Every visit of every token to every node, with the states in which it rested there.
pub(crate) fn visits(it: &Scenario) -> Vec<(String, Vec<State>)> {
    let mut replayed = Instance::default();
    let mut visits: Vec<(TokenId, String, Vec<State>, bool)> = Vec::new();
    for event in &it.events {
        let ended = match event {
            Event::TokenMoved { token, .. } => Some((*token, Departed)),
            Event::TokenGone { token, state } => Some((*token, *state)),
            _ => None,
        };
        if let Some((token, state)) = ended {
            let open = visits.iter_mut().find(|(id, _, _, open)| *open && *id == token);
            let (_, _, states, open) = open.expect("what ends has begun");
            states.push(state);
            *open = false;
        }
        apply(&mut replayed, event);
        for (id, token) in &replayed.tokens {
            match visits.iter_mut().find(|(it, _, _, open)| *open && it == id) {
                Some((_, _, states, _)) if states.last() == Some(&token.state) => {}
                Some((_, _, states, _)) => states.push(token.state),
                None => {
                    let node = it.plan.node(token.node).name.to_string();
                    visits.push((*id, node, vec![token.state], true));
                }
            }
        }
    }
    visits.into_iter().map(|(_, node, states, _)| (node, states)).collect()
}

/// The only token at a node.
pub(crate) fn token(it: &Scenario, node: &str) -> TokenId {
    let tokens = it.tokens_at(node);
    assert_eq!(tokens.len(), 1, "tokens at {node}");
    tokens[0]
}

/// A status attribute of the only token at a node; `None` where it is undefined.
pub(crate) fn status(it: &Scenario, node: &str, name: &str) -> Option<String> {
    it.status_at(node, name).filter(|it| it != "null")
}
