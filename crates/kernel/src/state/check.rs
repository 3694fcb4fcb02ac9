//! What holds of every instance after every event.

use super::{Cue, Instance, Phase, ROOT, Role, ScopeKind, State};

/// The cost of looking at all of a large instance after each event would be its square. One token of a
/// function may have a hundred thousand waits.
fn is_large(instance: &Instance) -> bool {
    instance.tokens.len() + instance.waits.len() + instance.posts.len() > 1_000
}

/// Panics if the instance breaks a rule that every event must keep. It looks at everything, so it is
/// for tests.
pub fn check(instance: &Instance) {
    if is_large(instance) {
        return;
    }
    for (id, wait) in &instance.waits {
        let token = instance.tokens.get(&wait.token).expect("a wait never outlives its token");
        assert!(token.waits.contains_key(id), "a token knows its waits");
    }
    for (id, token) in &instance.tokens {
        for wait in token.waits.keys() {
            assert!(instance.waits.contains_key(wait), "a token's waits are open");
        }
        assert!(instance.layers.contains_key(&token.layer), "a token's layer is there");
        let Some(scope) = token.scope else {
            assert_eq!(*id, ROOT, "only the process's token is in no scope");
            continue;
        };
        let scope = instance.scopes.get(&scope).expect("a token never outlives its scope");
        match token.role {
            // SCOPE-53: what is active in a scope is tracked there.
            Role::Flow | Role::Run(_) | Role::Branch(_) => {
                assert!(scope.live.contains(id), "a scope tracks its tokens");
            }
            Role::Guard(of) => {
                let host = instance.tokens.get(&of).expect("a guard never outlives its host");
                assert!(host.guards.contains(id), "a token knows its guards");
            }
            Role::Start => assert_eq!(scope.starts.get(&token.node), Some(id)),
            Role::Compensation => assert!(
                scope.compensations.contains(id) ^ scope.live.contains(id),
                "what stays for compensation is on record or at work"
            ),
        }
        if let Some((turn, cue)) = token.cue {
            let agenda = if cue == Cue::Throw { &instance.late } else { &instance.agenda };
            assert_eq!(agenda.get(&turn), Some(id), "a cue is on the agenda");
        }
    }
    for (turn, token) in instance.agenda.iter().chain(&instance.late) {
        let cue = instance.tokens.get(token).and_then(|it| it.cue);
        assert_eq!(cue.map(|(turn, _)| turn), Some(*turn), "the agenda lists cues");
    }
    for (id, scope) in &instance.scopes {
        let host = instance.tokens.get(id).expect("a scope never outlives its host");
        assert_eq!(scope.parent, host.scope, "a scope lies where its host stands");
        for token in &scope.live {
            let it = instance.tokens.get(token).expect("a scope tracks tokens that exist");
            assert_eq!(it.scope, Some(*id), "a tracked token is in the scope");
        }
        if let Some(census) = &scope.census {
            let counted: u32 = census.values().sum();
            assert_eq!(counted as usize, scope.live.len(), "the census counts every token");
        }
        for join in scope.joins.values() {
            for token in join.values().flatten() {
                assert!(scope.live.contains(token), "joins hold live tokens");
            }
        }
    }
    for (id, layer) in &instance.layers {
        if let Some(parent) = layer.parent {
            assert!(instance.layers.contains_key(&parent), "layer {id:?} has lost its parent");
        }
    }
    let mut numbers: Vec<u64> = instance.numbered().collect();
    numbers.sort_unstable();
    assert!(numbers.is_sorted_by(|one, next| one < next), "a number is given out once");
    assert!(numbers.first() != Some(&0) && numbers.last() <= Some(&instance.numbers));
    for token in instance.incidents.keys() {
        assert!(instance.tokens.contains_key(token), "an incident never outlives its token");
    }
    for token in instance.bound.keys() {
        assert!(instance.tokens.contains_key(token), "only tokens are on their way");
        assert!(!instance.scopes.contains_key(token), "who has opened its inside is there");
    }
    if matches!(instance.phase, Phase::Ended(_)) {
        assert!(instance.tokens.is_empty(), "an ended instance has no tokens");
        assert!(instance.waits.is_empty(), "an ended instance waits for nothing");
        assert!(instance.scopes.is_empty(), "an ended instance has no scopes");
    }
}

/// Panics if the instance, at rest, has work that nobody will do.
///
/// SCOPE-54: a scope whose set is empty completes in the same pass. It does so by a cue, so it holds
/// whenever the agenda is empty.
pub fn check_at_rest(instance: &Instance) {
    // What stands because there is too much of something goes on when there is less.
    let stands = instance.over > 0;
    assert!(stands || !instance.is_unfinished(), "there is nothing left to do");
    if instance.is_unfinished() {
        return;
    }
    for (id, scope) in &instance.scopes {
        let host = &instance.tokens[id];
        let dormant = host.role == Role::Compensation && !instance_is_live(instance, *id);
        let stuck = instance.incidents.contains_key(id);
        let waits = !host.waits.is_empty();
        // Someone may activate something in it.
        let open = scope.kind == ScopeKind::AdHoc && host.state == State::Busy;
        assert!(
            dormant || stuck || waits || open || !scope.is_settled(),
            "scope {id:?} has no live token and was not completed"
        );
    }
}

fn instance_is_live(instance: &Instance, id: crate::vocabulary::TokenId) -> bool {
    let token = &instance.tokens[&id];
    token.scope.is_none_or(|scope| instance.scopes[&scope].live.contains(&id))
}

#[cfg(test)]
mod tests {
    use travertine_value::time::Timestamp;

    use super::*;
    use crate::{Decision, WaitFor, handle, plan::Plan, vocabulary::Command};

    /// A function that waits for so many things, with one wait that its token does not know of.
    fn broken(waits: u32) -> Instance {
        let (plan, now) = (Plan::function("f"), Timestamp::from_millis(0));
        let mut it = Instance::default();
        let start = Command::Start { at: Vec::new(), variables: Vec::new(), caller: None };
        handle(&plan, &mut it, now, start).expect("it begins");
        let ask = |number: u32| Decision::Ask {
            key: number.to_string().into(),
            input: None,
            on: WaitFor::Signal { name: "go".into() },
        };
        let decisions = (0..waits).map(ask).collect();
        let decide = Command::Decide { decisions, answers: Vec::new() };
        handle(&plan, &mut it, now, decide).expect("it goes on");
        let (wait, token) = it.waits.iter().map(|(id, it)| (*id, it.token)).next().expect("one");
        it.state.tokens.get_mut(&token).expect("it is there").waits.remove(&wait);
        it
    }

    #[test]
    fn what_is_broken_is_found_in_a_small_instance_and_a_large_one_is_not_looked_at() {
        let small = std::panic::catch_unwind(|| check(&broken(3)));
        assert!(small.is_err(), "a token knows its waits");
        check(&broken(2_000));
    }
}
