//! Mappings: what an activity sees of the world around it, and what that sees of the activity.

use std::sync::Arc;

use travertine_value::{Name, Program, Value};

use crate::{
    plan::{Call, Element, Node, ScopeOutput, Write},
    run::Run,
    vocabulary::{Assignments, Failure, Part, TokenId},
};

impl Run<'_> {
    /// Input mappings: all are evaluated before any is written.
    pub(crate) fn map_inputs(
        &mut self,
        token: TokenId,
        inputs: &[(Name, Program)],
    ) -> Result<(), Failure> {
        if inputs.is_empty() {
            return Ok(());
        }
        let values = self.eval_present(token, inputs).map_err(self.at(token, Part::Input))?;
        let own = self.own_layer(token);
        for (name, value) in values {
            self.set(own, name, Some(value));
        }
        Ok(())
    }

    /// Output mappings: what the world around sees of what happened inside.
    pub(crate) fn hand_over(&mut self, token: TokenId, node: &Node) -> Result<(), Failure> {
        let outer = self.base_layer(token);
        let outputs = node.extras.as_ref().map_or(&[][..], |it| &it.outputs);
        let values = self.eval_present(token, outputs).map_err(self.at(token, Part::Output))?;
        let everything =
            node.element.container().is_some() && self.plan.policy.scope_output == ScopeOutput::All;
        let inside: Assignments = if everything {
            let variables = &self.instance.layers[&self.instance.token(token).layer].variables;
            let all =
                variables.iter().filter(|(it, _)| node.data().is_none_or(|own| !own.owns(it)));
            all.map(|(name, value)| (Arc::clone(name), value.clone())).collect()
        } else {
            Vec::new()
        };
        let data = self
            .eval_all(token, node.data().map_or(&[][..], |it| &it.outputs))
            .map_err(self.at(token, Part::Output))?;
        self.write_all(outer, inside);
        self.write_all(outer, values);
        self.give_data(outer, data);
        Ok(())
    }

    /// What the work brought goes to where the activity's results belong.
    pub(crate) fn take_results(&mut self, token: TokenId, values: Assignments) {
        let extras = self.node_of(token).extras.as_ref();
        if let Some(response) = extras.and_then(|it| it.results.response.as_ref())
            && !values.iter().any(|(name, _)| name == response)
        {
            // Nothing stands between these and the world around; mappings may copy them besides.
            let base = self.base_layer(token);
            self.write_all(base, values.clone());
        }
        for (name, value) in values {
            self.take_result(token, name, Some(value));
        }
    }

    /// Sets variables that are the element's own, and go with it.
    pub(crate) fn set_own(&mut self, token: TokenId, values: Assignments) {
        if values.is_empty() {
            return;
        }
        let own = self.own_layer(token);
        for (name, value) in values {
            self.set(own, name, Some(value));
        }
    }

    /// What a called process brought is there for the output mappings; the rest goes on only where
    /// the call says so.
    pub(crate) fn take_child_results(&mut self, token: TokenId, values: Assignments) {
        let own = self.own_layer(token);
        for (name, value) in &values {
            self.set(own, Arc::clone(name), Some(value.clone()));
        }
        if let Element::Call(Call { all_out: true, .. }) = self.node_of(token).element {
            let base = self.base_layer(token);
            self.write_all(base, values);
        }
    }

    pub(crate) fn take_result(&mut self, token: TokenId, name: Name, value: Option<Value>) {
        if self.is_status(&name) {
            self.keep_status(token, name, value.unwrap_or_default());
            return;
        }
        let node = self.node_of(token);
        if node.data().is_some_and(|it| it.owns(&name)) {
            let own = self.own_layer(token);
            self.set(own, name, value);
            return;
        }
        let mapped = node.extras.as_ref().is_some_and(|it| !it.outputs.is_empty())
            && self.plan.policy.write != Write::Propagate { mapped: true };
        if mapped {
            // What is mapped is mapped from here; the rest goes with the layer.
            let own = self.own_layer(token);
            self.set(own, name, value);
        } else if let Write::Propagate { .. } = self.plan.policy.write {
            // What the element has of its own, by a mapping or otherwise, stays its own.
            self.write(self.instance.token(token).layer, name, value);
        } else {
            let base = self.base_layer(token);
            self.write(base, name, value);
        }
    }
}
