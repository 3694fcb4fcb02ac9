//! The data of nodes: what they declare, what they need before they begin, and where it goes.

use std::sync::Arc;

use travertine_value::{Name, Value, Variables as _};

use crate::{
    handle::check_variables,
    plan::{Node, Payload},
    run::Run,
    state::Wait,
    vocabulary::{
        Assignments, Event, Failure, FailureKind, Gate, LayerId, Part, Slot, TokenId, WaitFor,
        WaitId,
    },
};

impl Run<'_> {
    /// Whether the data that the token needs is there; otherwise it waits for that.
    pub(crate) fn has_data(&mut self, token: TokenId) -> bool {
        let Some(missing) = self.missing_data(token) else { return true };
        self.open(token, Slot::Gate(Gate::Data), WaitFor::Data { missing });
        false
    }

    /// What is missing of the first set of inputs; `None` where all of any set is there, and where
    /// nothing is needed.
    pub(crate) fn missing_data(&self, token: TokenId) -> Option<Vec<Name>> {
        let (first, others) = self.node_of(token).data()?.needs.split_first()?;
        let view = self.view(token);
        let is_missing = |name: &&Name| view.get(name).is_none_or(|it| it.is_null());
        if others.iter().any(|set| !set.iter().any(|it| is_missing(&it))) {
            return None;
        }
        let missing: Vec<Name> = first.iter().filter(is_missing).cloned().collect();
        (!missing.is_empty()).then_some(missing)
    }

    /// Lets a token begin once the data it needs is there, and says what is still missing.
    pub(crate) fn weigh_data(&mut self, id: WaitId, wait: &Wait) {
        let token = wait.token;
        let missing = self.missing_data(token).map(|missing| WaitFor::Data { missing });
        if missing.as_ref() == Some(&*wait.on) {
            return;
        }
        self.emit(Event::WaitClosed { wait: id });
        if let Some(on) = missing {
            self.open(token, wait.slot, on);
        } else if let Err(failure) = self.pass_gate(token, Gate::Data) {
            self.fail(token, failure, Self::cue_of(Gate::Data));
        }
    }

    /// Makes the variables that a node declares, in the token's own layer. What is there already,
    /// because it was mapped or came with an event, is kept.
    pub(crate) fn declare(&mut self, token: TokenId, node: &Node) -> Result<(), Failure> {
        let Some(data) = node.data().filter(|it| !it.own.is_empty()) else { return Ok(()) };
        let layer = self.own_layer(token);
        for (name, first) in &data.own {
            if self.instance.layers[&layer].variables.contains_key(name) {
                continue;
            }
            let value = first
                .as_ref()
                .map_or(Ok(Value::Null), |it| self.eval(token, it))
                .map_err(|it| it.at(Part::Data, &node.name))?;
            self.set(layer, Arc::clone(name), Some(value));
        }
        Ok(())
    }

    /// What comes with an event is the value of the variable that takes it, all of it together,
    /// unless it brings something of that very name.
    pub(crate) fn content(
        &self,
        node: &Node,
        position: usize,
        variables: Assignments,
    ) -> Assignments {
        let name = node.data().and_then(|it| it.contents.get(position)).and_then(Option::as_ref);
        let Some(name) = name.filter(|name| !variables.iter().any(|(it, _)| it == *name)) else {
            return variables;
        };
        let (mut kept, rest): (Assignments, Assignments) =
            variables.into_iter().partition(|(it, _)| self.is_status(it));
        if !rest.is_empty() {
            kept.push((Arc::clone(name), rest.into_iter().collect()));
        }
        kept
    }

    /// Writes what is available to the nearest layers that have the names.
    pub(crate) fn give_data(&mut self, from: LayerId, data: Assignments) {
        for (name, value) in data.into_iter().filter(|(_, it)| !it.is_null()) {
            let layer = self.holder(from, &name);
            self.set(layer, name, Some(value));
        }
    }

    /// What goes with something that a token sends or raises.
    pub(crate) fn payload(
        &self,
        token: TokenId,
        payload: &Payload,
    ) -> Result<Assignments, Failure> {
        self.payload_of(token, payload).map_err(self.at(token, Part::Payload))
    }

    fn payload_of(&self, token: TokenId, payload: &Payload) -> Result<Assignments, Failure> {
        let mut values = self.eval_all(token, &payload.named)?;
        if let Some((name, program)) = &payload.content {
            match self.eval(token, program)? {
                Value::Null => {}
                Value::Map(map) => {
                    values
                        .extend(map.iter().map(|(name, value)| (Arc::clone(name), value.clone())));
                }
                other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::List(_)) => {
                    values.push((Arc::clone(name), other));
                }
            }
        }
        // Whoever gets it must be able to take it.
        check_variables(&values, &self.plan.limits)
            .map_err(|error| Failure::new(FailureKind::Script, error.to_string()))?;
        Ok(values)
    }
}
