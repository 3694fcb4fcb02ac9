//! Process instances.

use std::time::Duration;

use serde::{Deserialize, de};
use serde_json::value::RawValue;
use travertine_kernel::Assignments;
use travertine_runtime::{Named, engine::Target};
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{WireKey, names, read, tenant, variables},
};
use crate::desk::{Create, Created, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateBody<'a> {
    process_definition_id: Option<Name>,
    process_definition_key: Option<WireKey>,
    process_definition_version: Option<i64>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    tenant_id: Option<Name>,
    start_instructions: Option<Vec<StartInstruction>>,
    runtime_instructions: Option<Vec<de::IgnoredAny>>,
    await_completion: Option<bool>,
    fetch_variables: Option<Vec<Name>>,
    request_timeout: Option<i64>,
    tags: Option<Vec<Name>>,
    business_id: Option<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartInstruction {
    element_id: Name,
}

pub(super) async fn create(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: CreateBody<'_> = read(&body)?;
    tenant(body.tenant_id.as_deref())?;
    if body.runtime_instructions.is_some_and(|it| !it.is_empty()) {
        return Err(Refusal::invalid(
            "runtime instructions are not carried out: leave them out, or cancel the instance later",
        ));
    }
    let target = match (body.process_definition_id, body.process_definition_key) {
        (Some(id), None) => match body.process_definition_version.filter(|it| *it != -1) {
            None => Target::Latest(id),
            Some(version) => {
                let wrong =
                    |_| Refusal::invalid(format!("{version} is no version: they begin at 1"));
                Target::Version(id, u32::try_from(version).map_err(wrong)?)
            }
        },
        (None, Some(WireKey(key))) => {
            let definition = call.desk.definition(key)?;
            Target::Version(Name::clone(&definition.id), definition.version)
        }
        _ => {
            return Err(Refusal::invalid(
                "name what to start by one of processDefinitionId and processDefinitionKey",
            ));
        }
    };
    let create = Create {
        target,
        variables: variables(body.variables)?,
        at: body
            .start_instructions
            .unwrap_or_default()
            .into_iter()
            .map(|it| it.element_id)
            .collect(),
        business_id: body.business_id,
        tags: names(body.tags),
    };
    if body.await_completion != Some(true) {
        let created = call.desk.create(create).await?;
        return Ok(created_answer(&created, &Vec::new()));
    }
    let within = body.request_timeout.and_then(|it| u64::try_from(it).ok());
    let within = within.map(Duration::from_millis);
    let names = names(body.fetch_variables);
    let (created, variables) = call.desk.create_with_result(create, within, &names).await?;
    Ok(created_answer(&created, &variables))
}

fn created_answer(created: &Created, variables: &Assignments) -> Answer {
    let Created { instance, definition, business_id, tags } = created;
    Answer::object(|it| {
        it.text("processDefinitionId", &definition.id);
        it.int("processDefinitionVersion", definition.version);
        it.tenant();
        it.variables("variables", variables);
        it.key("processDefinitionKey", Named::Definition(definition.key));
        it.key("processInstanceKey", Named::Instance(*instance));
        it.texts("tags", tags);
        it.text_or_null("businessId", business_id.as_deref());
    })
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Refusal> {
    call.desk.cancel(call.key()?).await?;
    Ok(Answer::Done)
}
