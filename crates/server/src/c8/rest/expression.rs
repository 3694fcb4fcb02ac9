//! Expressions that someone wants to try.

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{WireKey, read, tenant, variables},
};
use crate::desk::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvaluateBody<'a> {
    expression: String,
    tenant_id: Option<Name>,
    scope_key: Option<WireKey>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

pub(super) async fn evaluate(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: EvaluateBody<'_> = read(&body)?;
    tenant(body.tenant_id.as_deref())?;
    let scope = body.scope_key.map(|WireKey(key)| key);
    let evaluated = call.desk.evaluate(&body.expression, scope, variables(body.variables)?).await?;
    Ok(Answer::object(|it| {
        it.text("expression", &body.expression);
        it.value("result", &evaluated.value);
        it.list("warnings", &evaluated.warnings, |it, warning| it.text("message", warning));
        it.json("referencedSecrets", "[]");
    }))
}
