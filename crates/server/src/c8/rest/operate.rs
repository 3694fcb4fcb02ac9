//! What operators do with instances.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{WireKey, read, variables},
};
use crate::desk::{Arrival, Refusal, Spot, Step};

pub(super) async fn suspend(call: Call) -> Result<Answer, Refusal> {
    call.desk.suspend(call.key()?).await?;
    Ok(Answer::Done)
}

pub(super) async fn resume(call: Call) -> Result<Answer, Refusal> {
    call.desk.resume(call.key()?).await?;
    Ok(Answer::Done)
}

pub(super) async fn delete(call: Call) -> Result<Answer, Refusal> {
    call.desk.delete(call.key()?).await?;
    Ok(Answer::Done)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MigrateBody {
    target_process_definition_key: WireKey,
    mapping_instructions: Vec<MappingInstruction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MappingInstruction {
    source_element_id: Name,
    target_element_id: Name,
}

pub(super) async fn migrate(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: MigrateBody = read(&body)?;
    let mapping = body.mapping_instructions.into_iter();
    let mapping = mapping.map(|it| (it.source_element_id, it.target_element_id)).collect();
    let WireKey(to) = body.target_process_definition_key;
    call.desk.migrate(call.key()?, to, mapping).await?;
    Ok(Answer::Done)
}

#[derive(Deserialize)]
struct ModifyBody<'a> {
    #[serde(borrow, rename = "activateInstructions")]
    activate: Option<Vec<ActivateInstruction<'a>>>,
    #[serde(borrow, rename = "moveInstructions")]
    moves: Option<Vec<MoveInstruction<'a>>>,
    #[serde(rename = "terminateInstructions")]
    terminate: Option<Vec<TerminateInstruction>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ActivateInstruction<'a> {
    element_id: Name,
    #[serde(borrow)]
    variable_instructions: Option<Vec<VariableInstruction<'a>>>,
    ancestor_element_instance_key: Option<WireKey>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VariableInstruction<'a> {
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    scope_id: Option<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminateInstruction {
    element_instance_key: Option<WireKey>,
    element_id: Option<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MoveInstruction<'a> {
    source_element_instruction: SourceElement,
    target_element_id: Name,
    #[serde(borrow)]
    variable_instructions: Option<Vec<VariableInstruction<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceElement {
    source_element_id: Option<Name>,
    source_element_instance_key: Option<WireKey>,
}

pub(super) async fn modify(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: ModifyBody<'_> = read(&body)?;
    let mut steps = Vec::new();
    for it in body.terminate.unwrap_or_default() {
        steps.push(Step::Terminate(spot(it.element_id, it.element_instance_key)?));
    }
    for it in body.moves.unwrap_or_default() {
        let SourceElement { source_element_id: id, source_element_instance_key: key } =
            it.source_element_instruction;
        let to = arrival(it.target_element_id, it.variable_instructions, None)?;
        steps.push(Step::Move(spot(id, key)?, to));
    }
    for it in body.activate.unwrap_or_default() {
        let within = it.ancestor_element_instance_key;
        steps.push(Step::Activate(arrival(it.element_id, it.variable_instructions, within)?));
    }
    call.desk.modify(call.key()?, steps).await?;
    Ok(Answer::Done)
}

fn spot(id: Option<Name>, key: Option<WireKey>) -> Result<Spot, Refusal> {
    match (id, key) {
        (Some(id), None) => Ok(Spot::Element(id)),
        (None, Some(WireKey(key))) => Ok(Spot::Key(key)),
        _ => Err(Refusal::invalid(
            "what is meant is told by an element's id, or by the key of an element instance",
        )),
    }
}

fn arrival(
    element: Name,
    instructions: Option<Vec<VariableInstruction<'_>>>,
    within: Option<WireKey>,
) -> Result<Arrival, Refusal> {
    let set = instructions.unwrap_or_default().into_iter();
    let set = set.map(|it| Ok((it.scope_id.filter(|it| !it.is_empty()), variables(it.variables)?)));
    // Some clients say -1 where they mean none.
    let within = within.map(|WireKey(key)| key).filter(|it| *it > 0);
    Ok(Arrival { element, within, variables: set.collect::<Result<_, Refusal>>()? })
}
