//! Messages and signals.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use travertine_runtime::Named;
use travertine_value::Name;

use super::{
    Answer, Call,
    read::{read, tenant, variables},
};
use crate::desk::{Publish, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageBody<'a> {
    name: Name,
    correlation_key: Option<Name>,
    time_to_live: Option<i64>,
    message_id: Option<Name>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    tenant_id: Option<Name>,
}

impl MessageBody<'_> {
    fn publish(self) -> Result<Publish, Refusal> {
        tenant(self.tenant_id.as_deref())?;
        let ttl = self.time_to_live.unwrap_or(0);
        let wrong =
            |_| Refusal::invalid(format!("a time to live of {ttl} ms is no time: say 0 or more"));
        Ok(Publish {
            name: self.name,
            correlation_key: self.correlation_key.unwrap_or_else(|| "".into()),
            ttl: Duration::from_millis(u64::try_from(ttl).map_err(wrong)?),
            id: self.message_id.filter(|it| !it.is_empty()),
            variables: variables(self.variables)?,
        })
    }
}

pub(super) async fn publish(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let message = call.desk.publish(read::<MessageBody<'_>>(&body)?.publish()?).await?;
    Ok(Answer::object(|it| {
        it.tenant();
        it.key("messageKey", Named::Message(message));
    }))
}

pub(super) async fn correlate(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    // Nothing is kept of one that nobody takes now.
    let body = MessageBody { time_to_live: None, message_id: None, ..read(&body)? };
    let (message, instance) = call.desk.correlate(body.publish()?).await?;
    Ok(Answer::object(|it| {
        it.tenant();
        it.key("messageKey", Named::Message(message));
        it.key("processInstanceKey", Named::Instance(instance));
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignalBody<'a> {
    signal_name: Name,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    tenant_id: Option<Name>,
}

pub(super) async fn broadcast(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: SignalBody<'_> = read(&body)?;
    tenant(body.tenant_id.as_deref())?;
    let signal = call.desk.signal(&body.signal_name, variables(body.variables)?).await?;
    Ok(Answer::object(|it| {
        it.tenant();
        it.key("signalKey", Named::Message(signal));
    }))
}
