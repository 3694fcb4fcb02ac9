//! A decision that was made, in messages of the protocol.

use travertine_runtime::{
    Named,
    engine::{Decided, Evaluated, EvaluatedRule, EvaluatedValue, MadeBy},
};
use travertine_value::Name;

use super::{
    convert::{TENANT, int, key},
    gateway::{
        EvaluateDecisionResponse, EvaluatedDecision, EvaluatedDecisionInput,
        EvaluatedDecisionOutput, MatchedDecisionRule,
    },
};

pub(super) fn evaluated(it: &Decided, evaluation: Named) -> EvaluateDecisionResponse {
    let Decided { decision, requirements, output, evaluated, failed, .. } = it;
    EvaluateDecisionResponse {
        decision_key: key(Named::Decision(decision.key)),
        decision_id: decision.id.to_string(),
        decision_name: name(decision.name.as_ref(), &decision.id),
        decision_version: int(decision.version),
        decision_requirements_id: requirements
            .as_ref()
            .map_or_else(String::new, |it| it.id.to_string()),
        decision_requirements_key: requirements.as_ref().map_or(0, |it| key(it.named())),
        decision_output: output.to_json(),
        evaluated_decisions: evaluated.iter().map(one).collect(),
        failed_decision_id: failed.as_ref().map_or_else(String::new, |it| it.decision.to_string()),
        failure_message: failed.as_ref().map_or_else(String::new, |it| it.message.clone()),
        tenant_id: TENANT.to_owned(),
        decision_instance_key: key(evaluation),
    }
}

fn one(it: &Evaluated) -> EvaluatedDecision {
    let Evaluated { decision, made_by, output, inputs, rules, .. } = it;
    EvaluatedDecision {
        decision_key: key(Named::Decision(decision.key)),
        decision_id: decision.id.to_string(),
        decision_name: name(decision.name.as_ref(), &decision.id),
        decision_version: int(decision.version),
        decision_type: kind(*made_by).to_owned(),
        decision_output: output.to_json(),
        matched_rules: rules.iter().map(rule).collect(),
        evaluated_inputs: inputs.iter().map(input).collect(),
        tenant_id: TENANT.to_owned(),
    }
}

fn kind(made_by: MadeBy) -> &'static str {
    match made_by {
        MadeBy::Table => "DECISION_TABLE",
        MadeBy::Literal => "LITERAL_EXPRESSION",
        MadeBy::Context => "CONTEXT",
        MadeBy::Invocation => "INVOCATION",
        _ => "UNKNOWN",
    }
}

fn rule(it: &EvaluatedRule) -> MatchedDecisionRule {
    let EvaluatedRule { id, index, outputs } = it;
    MatchedDecisionRule {
        rule_id: id.as_deref().unwrap_or_default().to_owned(),
        rule_index: int(*index),
        evaluated_outputs: outputs.iter().map(output).collect(),
    }
}

fn input(it: &EvaluatedValue) -> EvaluatedDecisionInput {
    EvaluatedDecisionInput {
        input_id: it.id.as_deref().unwrap_or_default().to_owned(),
        input_name: it.name.to_string(),
        input_value: it.value.to_json(),
    }
}

fn output(it: &EvaluatedValue) -> EvaluatedDecisionOutput {
    EvaluatedDecisionOutput {
        output_id: it.id.as_deref().unwrap_or_default().to_owned(),
        output_name: it.name.to_string(),
        output_value: it.value.to_json(),
    }
}

fn name(name: Option<&Name>, id: &Name) -> String {
    name.unwrap_or(id).to_string()
}
