//! Status attributes: what a token carries with it, and how several become one again.

use std::{collections::BTreeMap, sync::Arc};

use travertine_value::{Name, Value, time::Timestamp};

use crate::{
    element::Step,
    plan::{Changes, Node},
    run::Run,
    state::{Merged, Status},
    vocabulary::{Event, Failure, FailureKind, Part, Slot, TokenId, WaitFor},
};

/// The attribute that tells a token's own time. Where tokens merge, the latest counts.
pub const TIMESTAMP: &str = "timestamp";

/// Takes the status of one more token into the merged status of several.
///
/// The latest timestamp counts. Any other attribute keeps its value where all that define it agree,
/// and is undefined otherwise. The order of the tokens makes no difference.
pub(crate) fn fold(merged: &mut Merged, status: &Status) {
    let Some(status) = status else { return };
    for (name, value) in &**status {
        if *value == Value::Null {
            continue;
        }
        match merged.values.get_mut(name) {
            None => {
                merged.values.insert(Arc::clone(name), Some(value.clone()));
            }
            Some(None) => {}
            Some(Some(known)) if known == value => {}
            Some(slot) => {
                let later = |known: &Value| match (known, value) {
                    (Value::Number(known), Value::Number(new)) if &**name == TIMESTAMP => {
                        Some(Value::Number(*known.max(new)))
                    }
                    _ => None,
                };
                *slot = slot.as_ref().and_then(later);
            }
        }
    }
}

/// The merged status of several tokens.
pub(crate) fn merge<'a>(statuses: impl IntoIterator<Item = &'a Status>) -> Merged {
    let mut merged = Merged::default();
    for status in statuses {
        fold(&mut merged, status);
    }
    merged
}

/// `merged` as a status again, with every attribute that `like` has.
pub(crate) fn settle(merged: &Merged, like: &Status) -> Status {
    let like = like.as_ref()?;
    let mut status: BTreeMap<Name, Value> = BTreeMap::new();
    for name in like.keys() {
        let value = merged.values.get(name).cloned().flatten().unwrap_or_default();
        status.insert(Arc::clone(name), value);
    }
    Some(Arc::new(status))
}

impl Run<'_> {
    /// Applies the operators of the node to the token's status.
    pub(crate) fn operate(
        &mut self,
        token: TokenId,
        node: &Node,
        instant: bool,
    ) -> Result<(), Failure> {
        let Some(extras) = &node.extras else { return Ok(()) };
        for (attribute, program) in &extras.operators {
            let placed = |failure: Failure| failure.at(Part::Status, &node.name);
            let value = self.eval(token, program).map_err(placed)?;
            self.set_status(token, attribute, value, instant).map_err(placed)?;
        }
        Ok(())
    }

    pub(crate) fn is_status(&self, name: &str) -> bool {
        self.plan.status.iter().any(|(it, _)| &**it == name)
    }

    /// Sets a status attribute as an operator does.
    pub(crate) fn set_status(
        &mut self,
        token: TokenId,
        name: &Name,
        value: Value,
        instant: bool,
    ) -> Result<(), Failure> {
        let wrong = |message: String| Err(Failure::new(FailureKind::Operator, message));
        if !self.is_status(name) {
            return wrong(format!("the operator changes {name}, which is no status attribute"));
        }
        let now = self.instance.token(token).status.as_ref().and_then(|it| it.get(name));
        if instant && &**name == TIMESTAMP && now != Some(&value) {
            let node = &self.node_of(token).name;
            return wrong(format!(
                "{node}: an operator that changes the timestamp is not allowed here"
            ));
        }
        self.keep_status(token, Arc::clone(name), value);
        Ok(())
    }

    pub(crate) fn keep_status(&mut self, token: TokenId, name: Name, value: Value) {
        let mut status = self.instance.token(token).status.clone().unwrap_or_default();
        if status.get(&name) == Some(&value) {
            return;
        }
        if !self.instance.conditions.is_empty() {
            self.changed.push((Arc::clone(&name), Changes { update: true, ..Changes::NONE }));
        }
        Arc::make_mut(&mut status).insert(name, value);
        self.emit(Event::StatusSet { token, status: Some(status) });
    }

    /// A task whose operators move the timestamp is at work until then.
    pub(crate) fn take_time(&mut self, token: TokenId) -> Step {
        let due = self
            .instance
            .token(token)
            .status
            .as_ref()
            .and_then(|it| it.get(TIMESTAMP)?.as_number()?.to_i64())
            .filter(|due| *due > self.now.as_millis());
        match due {
            None => Step::Leave,
            Some(due) => {
                let due = Timestamp::from_millis(due);
                self.open(token, Slot::Own(0), WaitFor::Timer { due, repeat: None });
                Step::Wait
            }
        }
    }

    /// The real time of completion, where tokens carry a time.
    pub(crate) fn stamp(&mut self, token: TokenId) {
        if self.is_status(TIMESTAMP) {
            let now = Value::from(self.now.as_millis());
            self.keep_status(token, TIMESTAMP.into(), now);
        }
    }
}
