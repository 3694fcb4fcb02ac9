//! Tells one webhook: reads the log on, sends what it wants to hear, and writes down how far that was.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use ring::hmac;
use travertine_runtime::{
    Engine, Error,
    engine::{Feed, Positions},
};
use travertine_value::Value;

use super::{HookError, Teller, Webhook, events};

/// How many events a message has at most, and how many bytes, unless one alone has more.
const EVENTS_MAX: usize = 100;
const BYTES_MAX: usize = 1 << 20;

/// The first pause after which it is tried again, and the longest.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// How often something is tried before its webhook is given up: for about an hour.
const ATTEMPTS_MAX: u32 = 20;

const SIGNATURE: HeaderName = HeaderName::from_static("travertine-signature");

/// Why a webhook is not told any more for now.
enum Over {
    /// It was given up.
    Dead,
    /// The engine has ended.
    Engine(Error),
    Kept(HookError),
}

impl From<Error> for Over {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<HookError> for Over {
    fn from(error: HookError) -> Self {
        Self::Kept(error)
    }
}

/// Tells a webhook until it is given up, or the server ends.
pub(super) async fn tell(teller: &Teller, engine: &Engine, hook: Webhook) {
    let mut hook = hook;
    let why = match go_on(teller, engine, &mut hook).await {
        Ok(never) => match never {},
        Err(why) => why,
    };
    match why {
        Over::Dead => {
            tracing::error!(webhook = %hook.name, "nobody answers; the webhook is given up");
        }
        Over::Engine(error) => {
            tracing::warn!(webhook = %hook.name, %error, "the log cannot be read");
        }
        Over::Kept(error) => {
            tracing::error!(webhook = %hook.name, %error, "a webhook stands still");
        }
    }
}

async fn go_on(
    teller: &Teller,
    engine: &Engine,
    hook: &mut Webhook,
) -> Result<std::convert::Infallible, Over> {
    let (mut feed, reset) = begin(engine, hook).await?;
    if hook.positions.is_none() || reset.is_some() {
        if let Some(reset) = reset {
            deliver(teller, hook, &[reset]).await?;
        }
        teller.hooks.told(hook, &feed.positions().to_string(), 0)?;
    }
    loop {
        let news = feed.next().await?;
        let mut all: Vec<Value> = feed.take_gaps().iter().map(events::of_gap).collect();
        all.extend(news.iter().flat_map(|it| events::of_news(hook, it)));
        let mut rest = &all[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(EVENTS_MAX));
            deliver(teller, hook, now).await?;
            rest = later;
        }
        teller.hooks.told(hook, &feed.positions().to_string(), all.len() as u64)?;
    }
}

/// What happens from where it was told last, and what it must know first.
async fn begin(engine: &Engine, hook: &Webhook) -> Result<(Feed, Option<Value>), Over> {
    let after = hook.positions.as_ref().map(|it| it.parse::<Positions>());
    let is_new = after.is_none();
    if let Some(Ok(after)) = after
        && let Some(feed) = engine.feed(Some(after)).await?
    {
        return Ok((feed, None));
    }
    let feed = engine.feed(None).await?.expect("what happens from now on can always be had");
    let reset = (!is_new).then(|| events::of_reset(&feed.positions().to_string()));
    Ok((feed, reset))
}

/// Sends events until somebody has taken them, in messages that are not too long.
async fn deliver(teller: &Teller, hook: &mut Webhook, events: &[Value]) -> Result<(), Over> {
    let texts: Vec<String> = events.iter().map(Value::to_json).collect();
    let mut rest = &texts[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|it| {
            bytes += it.len();
            bytes <= BYTES_MAX
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        send(teller, hook, format!("[{}]", now.join(",")).into()).await?;
        rest = later;
    }
    Ok(())
}

async fn send(teller: &Teller, hook: &mut Webhook, body: Bytes) -> Result<(), Over> {
    // What was tried before a restart counts.
    let mut attempts = hook.attempts;
    loop {
        let headers = headers(hook, &body);
        let sent = teller.outbound.send(Method::POST, &hook.url, headers, body.clone()).await;
        let reason = match sent {
            Ok((status, _)) if status.is_success() => {
                hook.attempts = 0;
                return Ok(());
            }
            Ok((status, _)) if status.is_redirection() => {
                format!("it answered {}; redirects are not followed", status.as_u16())
            }
            Ok((status, _)) => format!("it answered {}", status.as_u16()),
            Err(error) => error.to_string(),
        };
        attempts += 1;
        hook.attempts = attempts;
        let is_dead = attempts >= ATTEMPTS_MAX;
        teller.hooks.failed(hook, attempts, &reason, is_dead)?;
        if is_dead {
            return Err(Over::Dead);
        }
        tokio::time::sleep(pause(attempts)).await;
    }
}

/// How long nothing is tried after so many attempts.
fn pause(attempts: u32) -> Duration {
    PAUSE.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(PAUSE_MAX)
}

fn headers(hook: &Webhook, body: &[u8]) -> HeaderMap {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/cloudevents-batch+json; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::USER_AGENT, HeaderValue::from_static("travertine"));
    let signature = HeaderValue::from_str(&sign(&hook.secret, since.as_secs(), body));
    headers.insert(SIGNATURE, signature.expect("it has letters and digits only"));
    headers
}

/// What shows who has sent a message, and when.
fn sign(secret: &str, seconds: u64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(seconds.to_string().as_bytes());
    context.update(b".");
    context.update(body);
    let mut text = format!("t={seconds},v1=");
    for byte in context.sign().as_ref() {
        let _: std::fmt::Result = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_signed_with_their_time() {
        // By hand: printf '7.[]' | openssl dgst -sha256 -hmac secret
        let signed = sign("secret", 7, b"[]");
        let expected = "ce445b82051755d9b509c75789a37f43764fe9dd76f72e5e517c7efcf3c10078";
        assert_eq!(signed, format!("t=7,v1={expected}"));
        assert_ne!(signed, sign("secret", 8, b"[]"));
        assert_ne!(signed, sign("other", 7, b"[]"));
        assert_ne!(signed, sign("secret", 7, b"[1]"));
    }

    #[test]
    fn pauses_grow_and_end_after_about_an_hour() {
        let all: Duration = (1..ATTEMPTS_MAX).map(pause).sum();
        assert!(pause(1) < pause(2) && pause(ATTEMPTS_MAX) == PAUSE_MAX);
        assert!(all > Duration::from_mins(30) && all < Duration::from_hours(2), "{all:?}");
    }
}
