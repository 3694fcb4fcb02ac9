//! Decisions that someone wants made.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_runtime::{
    DefinitionKey, Deployed, Key, Named,
    engine::{Decided, Evaluated, EvaluatedRule, EvaluatedValue, MadeBy},
};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{WireKey, read, tenant, variables},
    write::Fields,
};
use crate::desk::{Refusal, Which};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvaluateBody<'a> {
    decision_definition_id: Option<Name>,
    decision_definition_key: Option<WireKey>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    tenant_id: Option<Name>,
}

pub(super) async fn evaluate(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: EvaluateBody<'_> = read(&body)?;
    tenant(body.tenant_id.as_deref())?;
    let which = match (body.decision_definition_id, body.decision_definition_key) {
        (Some(id), None) => Which::Id(id),
        (None, Some(WireKey(key))) => Which::Key(key),
        _ => {
            return Err(Refusal::invalid(
                "name the decision by one of decisionDefinitionId and decisionDefinitionKey",
            ));
        }
    };
    let decided = call.desk.decide(which, variables(body.variables)?).await?;
    let evaluation = call.desk.evaluation();
    Ok(Answer::object(|it| outcome(it, &decided, evaluation)))
}

fn outcome(it: &mut Fields<'_>, decided: &Decided, evaluation: Named) {
    let (decision, graph) = (&decided.decision, decided.requirements.as_deref());
    it.text("decisionDefinitionId", &decision.id);
    it.key("decisionDefinitionKey", Named::Decision(decision.key));
    it.text("decisionDefinitionName", decision.name.as_ref().unwrap_or(&decision.id));
    it.int("decisionDefinitionVersion", decision.version);
    it.key("decisionEvaluationKey", evaluation);
    it.key("decisionInstanceKey", evaluation);
    it.text("decisionRequirementsId", graph.map_or("", |it| &it.id));
    let graph = graph.map_or(Named::DecisionRequirements(DefinitionKey::NONE), Deployed::named);
    it.key("decisionRequirementsKey", graph);
    let mut index = 0;
    it.list("evaluatedDecisions", &decided.evaluated, |it, one| {
        index += 1;
        evaluated(it, one, evaluation, index);
    });
    let failed = decided.failed.as_ref();
    it.text_or_null("failedDecisionDefinitionId", failed.map(|it| &*it.decision));
    it.text_or_null("failureMessage", failed.map(|it| it.message.as_str()));
    it.text("output", &decided.output.to_json());
    it.tenant();
}

fn evaluated(it: &mut Fields<'_>, one: &Evaluated, evaluation: Named, index: usize) {
    it.text("decisionDefinitionId", &one.decision.id);
    it.text("decisionDefinitionName", one.decision.name.as_ref().unwrap_or(&one.decision.id));
    it.int("decisionDefinitionVersion", one.decision.version);
    it.text(
        "decisionDefinitionType",
        match one.made_by {
            MadeBy::Table => "DECISION_TABLE",
            MadeBy::Literal => "LITERAL_EXPRESSION",
            _ => "UNKNOWN",
        },
    );
    it.text("output", &one.output.to_json());
    it.tenant();
    it.list("matchedRules", &one.rules, rule);
    it.list("evaluatedInputs", &one.inputs, |it, input| {
        value(it, input, ["inputId", "inputName", "inputValue"]);
    });
    it.key("decisionDefinitionKey", Named::Decision(one.decision.key));
    let number = Key::of(evaluation).map_or(0, Key::number);
    it.text("decisionEvaluationInstanceKey", &format!("{number}-{index}"));
}

fn rule(it: &mut Fields<'_>, rule: &EvaluatedRule) {
    let index = i64::try_from(rule.index).unwrap_or(i64::MAX);
    it.text("ruleId", rule.id.as_deref().unwrap_or_default());
    it.int("ruleIndex", index);
    it.list("evaluatedOutputs", &rule.outputs, |it, output| {
        value(it, output, ["outputId", "outputName", "outputValue"]);
        it.text_or_null("ruleId", rule.id.as_deref());
        it.int("ruleIndex", index);
    });
}

fn value(it: &mut Fields<'_>, of: &EvaluatedValue, [id, name, value]: [&str; 3]) {
    it.text(id, of.id.as_deref().unwrap_or_default());
    it.text(name, &of.name);
    it.text(value, &of.value.to_json());
}
