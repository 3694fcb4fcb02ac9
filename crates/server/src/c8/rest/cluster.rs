//! What the server is.

use bytes::Bytes;
use serde::Deserialize;
use travertine_runtime::Timestamp;

use super::{Answer, Call, read::read};
use crate::{access::Principal, desk::Refusal};

/// The level of the protocol that clients can count on.
const LEVEL: &str = "8.8.0";

pub(super) async fn topology(call: Call) -> Result<Answer, Refusal> {
    let topology = call.desk.topology();
    let health = if topology.is_healthy { "healthy" } else { "unhealthy" };
    let host = call.parts.headers.get(http::header::HOST).and_then(|it| it.to_str().ok());
    let authority = host.and_then(|it| it.parse::<http::uri::Authority>().ok());
    let (host, port) = authority
        .as_ref()
        .map_or(("localhost", 8080), |it| (it.host(), it.port_u16().unwrap_or(80)));
    Ok(Answer::object(|it| {
        it.list("brokers", [()], |it, ()| {
            it.int("nodeId", 0);
            it.text("brokerId", "0");
            it.text("host", host);
            it.int("port", port);
            it.list("partitions", 1..=topology.shards, |it, shard| {
                it.int("partitionId", shard);
                it.text("role", "leader");
                it.text("health", health);
                it.text("state", "active");
            });
            it.text("version", LEVEL);
        });
        it.null("clusterId");
        it.int("clusterSize", 1);
        it.int("partitionsCount", topology.shards);
        it.int("replicationFactor", 1);
        it.text("gatewayVersion", LEVEL);
        it.text("lastCompletedChangeId", "-1");
    }))
}

pub(super) async fn status(call: Call) -> Result<Answer, Refusal> {
    call.desk.status()?;
    Ok(Answer::Done)
}

pub(super) async fn license(_call: Call) -> Result<Answer, Refusal> {
    Ok(Answer::object(|it| {
        it.flag("validLicense", true);
        it.text("licenseType", "unknown");
        it.flag("isCommercial", false);
        it.null("expiresAt");
    }))
}

/// Who asks. Where no login is needed, that is nobody in particular.
pub(super) async fn me(call: Call) -> Result<Answer, Refusal> {
    let who = call.parts.extensions.get::<Principal>().and_then(|it| it.name.as_deref());
    Ok(Answer::object(|it| {
        it.text("username", who.unwrap_or("anonymous"));
        it.text_or_null("displayName", who);
        it.null("email");
        it.texts("authorizedComponents", ["*"]);
        it.list("tenants", [()], |it, ()| {
            it.tenant();
            it.text("name", "Default");
            it.null("description");
        });
        it.json("groups", "[]");
        it.json("roles", "[]");
        it.null("salesPlanType");
        it.object("c8Links", |_| {});
        it.flag("canLogout", false);
    }))
}

/// The description of all of this.
pub(super) async fn description(_call: Call) -> Result<Answer, Refusal> {
    let text = include_str!("../../../openapi/c8.yaml");
    Ok(Answer::Text("application/yaml", Bytes::from_static(text.as_bytes())))
}

#[derive(Deserialize)]
struct ClockBody {
    timestamp: i64,
}

/// The end of the year 9999: later times have no date, and the clock never goes back from there.
const CLOCK_MS_MAX: i64 = 253_402_300_799_999;

/// Stops the clock at a time.
pub(super) async fn pin_clock(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let ClockBody { timestamp } = read(&body)?;
    if timestamp > CLOCK_MS_MAX {
        let detail = format!("the clock goes to the end of the year 9999, and not to {timestamp}");
        return Err(Refusal::invalid(detail));
    }
    call.desk.set_clock(Some(Timestamp::from_millis(timestamp)))?;
    Ok(Answer::Done)
}

/// Lets the clock go on from the time that it shows.
pub(super) async fn reset_clock(call: Call) -> Result<Answer, Refusal> {
    call.desk.set_clock(None)?;
    Ok(Answer::Done)
}
