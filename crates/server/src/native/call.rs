//! A request, what it brings, and what answers it.

use std::collections::BTreeMap;

use axum::{
    body::Body,
    extract::{FromRequestParts as _, Query, RawPathParams, Request},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use http_body_util::BodyExt as _;
use travertine_kernel::Assignments;
use travertine_runtime::{Address, InstanceId, Key, Named, engine::NUMBER, schedule::SCHEDULE};
use travertine_store::{
    search::{Condition, InstanceColumn, Search, Test, TimerColumn},
    view::{InstanceRow, Row, Table},
};
use travertine_value::{Map, Name, Value};

use super::{Route, Takes, problem::Problem};
use crate::{
    access::{Permission, Principal},
    desk::{Desk, Refusal},
};

/// A request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) desk: Desk,
    pub(super) parts: Parts,
    pub(super) principal: Principal,
    body: Bytes,
    /// What stands in the path where the table has names.
    named: BTreeMap<String, String>,
    query: Vec<(String, String)>,
    fields: Map,
}

impl Call {
    /// Reads a request, and refuses what its operation does not know.
    pub(super) async fn read(desk: Desk, route: &Route, request: Request) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let principal = parts.extensions.get::<Principal>().cloned();
        let principal = principal.unwrap_or_else(Principal::stranger);
        let desk = desk.admit(&principal, route.needs)?;
        let named = RawPathParams::from_request_parts(&mut parts, &()).await;
        let named = named.map_err(|_| Refusal::invalid("the path is not UTF-8"))?;
        let named = named.iter().map(|(name, it)| (name.to_owned(), it.to_owned())).collect();
        let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(query) = query.map_err(|error| {
            Refusal::invalid(format!("the parameters cannot be read: {}", error.body_text()))
        })?;
        let parameters = route.takes.parameters();
        for (at, (name, _)) in query.iter().enumerate() {
            known("parameter", name, &parameters)?;
            if query[..at].iter().any(|(it, _)| it == name) {
                return Err(Refusal::invalid(format!("the parameter {name} is there twice")).into());
            }
        }
        let body = body
            .collect()
            .await
            .map_err(|_| Refusal::invalid("the body did not come to its end"))?;
        let body = body.to_bytes();
        let fields = match route.takes {
            Takes::Fields(fields) => {
                let given = object(&body)?;
                for name in given.keys() {
                    known("field", name, fields)?;
                }
                given
            }
            Takes::Parameters(_) | Takes::List(_) | Takes::Files(_) => Map::default(),
        };
        Ok(Self { desk, parts, principal, body, named, query, fields })
    }

    /// What stands in the path.
    pub(super) fn path(&self, name: &str) -> &str {
        self.named.get(name).map_or("", String::as_str)
    }

    /// A parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(it, _)| it == name).map(|(_, it)| it.as_str())
    }

    /// A parameter that is a number within bounds, or what it is where nothing is said.
    pub(super) fn number(&self, name: &str, otherwise: u32, most: u32) -> Result<u32, Problem> {
        let Some(text) = self.parameter(name) else { return Ok(otherwise) };
        match text.parse() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err(wrong(name, &format!("a number from 1 to {most}"), text)),
        }
    }

    /// A parameter that is a whole number.
    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.parameter(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| wrong(name, "a whole number", text))
    }

    /// A parameter that is yes or no.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.parameter(name) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }

    /// The instance that the path means.
    pub(super) async fn instance(&self) -> Result<InstanceId, Problem> {
        self.instance_called(self.path("instance")).await
    }

    /// The instance that someone means: by what people call it, or by its number.
    pub(super) async fn instance_called(&self, text: &str) -> Result<InstanceId, Problem> {
        instance_called(&self.desk, text).await
    }

    /// The instance that someone means, to only read something of it.
    pub(super) async fn instance_to_read(&self, text: &str) -> Result<InstanceId, Problem> {
        instance_called(&self.desk.needing(Permission::Read)?, text).await
    }

    /// Refuses an instance that whoever asks may not do this with.
    pub(super) async fn may_instance(&self, id: InstanceId, called: &str) -> Result<(), Problem> {
        may_instance(&self.desk, id, called).await
    }

    /// The instance that a parameter means.
    pub(super) async fn instance_parameter(
        &self,
        name: &str,
    ) -> Result<Option<InstanceId>, Problem> {
        match self.parameter(name) {
            Some(text) => self.instance_called(text).await.map(Some),
            None => Ok(None),
        }
    }

    /// The job that the path means, as `12-7` or by its key, where whoever asks may have it.
    pub(super) async fn job(&self) -> Result<Address, Problem> {
        let job = address(self.path("job"), "job")?;
        let key = Key::of(Named::Wait(job)).map_or(0, Key::number);
        self.desk.may_job(job, key).await?;
        Ok(job)
    }

    /// The user task that the path means, and its key, where whoever asks may do anything of this with it.
    pub(super) async fn task(&self) -> Result<(Address, i64), Problem> {
        let task = address(self.path("task"), "user task")?;
        let missing =
            || Refusal::not_found(format!("there is no user task {task}, or none any more"));
        self.desk.task_at(task, missing).await?;
        let key = Key::of(Named::Wait(task)).ok_or_else(missing)?;
        Ok((task, key.number()))
    }

    /// The timer that the path means: of an instance, or of a definition that it starts.
    pub(super) async fn timer(&self) -> Result<Address, Problem> {
        let timer = address(self.path("timer"), "timer")?;
        let place = (timer.instance.0, timer.wait.0);
        let missing = || Refusal::not_found(format!("there is no timer {timer}, or it has rung"));
        self.desk.only(Table::Timers, TimerColumn::Key.into(), place.into(), missing).await?;
        Ok(timer)
    }

    /// What waits for a decision from outside.
    pub(super) async fn wait(&self) -> Result<Address, Problem> {
        let wait = address(self.path("wait"), "wait")?;
        self.may_instance(wait.instance, &wait.instance.to_string()).await?;
        Ok(wait)
    }

    /// Whether a field is there, be it null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// A field.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|it| !matches!(it, Value::Null))
    }

    /// A field that is a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<Name>, Problem> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(Name::clone(text))),
            Some(other) => Err(wrong_field(name, "a text", other)),
        }
    }

    /// A field that is a text and must be there.
    pub(super) fn needed(&self, name: &str) -> Result<Name, Problem> {
        self.text(name)?.filter(|it| !it.trim().is_empty()).ok_or_else(|| missing(name))
    }

    /// A field that is a whole number, not less than 0, as a number or a text.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(value) = self.field(name) else { return Ok(None) };
        let number = match value {
            Value::String(text) => text.parse().ok(),
            other => other.as_i64().and_then(|it| u64::try_from(it).ok()),
        };
        number.map(Some).ok_or_else(|| wrong_field(name, "a whole number", value))
    }

    /// A field that is yes or no.
    pub(super) fn yes(&self, name: &str) -> Result<bool, Problem> {
        match self.field(name) {
            None => Ok(false),
            Some(Value::Bool(it)) => Ok(*it),
            Some(other) => Err(wrong_field(name, "true or false", other)),
        }
    }

    /// A field that is a list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<Name>, Problem> {
        let Some(value) = self.field(name) else { return Ok(Vec::new()) };
        let wrong = || wrong_field(name, "a list of texts", value);
        let all = value.as_list().ok_or_else(wrong)?;
        all.iter().map(|it| it.as_str().map(Name::from).ok_or_else(wrong)).collect()
    }

    /// This call with the parameters of a list, which stand in a field that is an object.
    pub(super) fn with_parameters(mut self, name: &str, all: &[&str]) -> Result<Self, Problem> {
        self.query.clear();
        let given = self.variables(name)?;
        for (name, value) in given {
            known("filter", &name, all)?;
            let text = match &value {
                Value::Null => continue,
                Value::String(text) => text.as_ref().to_owned(),
                Value::Bool(_) | Value::Number(_) => value.to_json(),
                other => {
                    return Err(wrong_field(&name, "a text, a number, or true or false", other));
                }
            };
            self.query.push((name.as_ref().to_owned(), text));
        }
        Ok(self)
    }

    /// With one more parameter, which must not be there already.
    pub(super) fn set_parameter(&mut self, name: &str, text: &str) -> Result<(), Problem> {
        if self.parameter(name).is_some() {
            return Err(Refusal::invalid(format!("{name} is there twice")).into());
        }
        self.query.push((name.to_owned(), text.to_owned()));
        Ok(())
    }

    /// A field that is an object of variables.
    pub(super) fn variables(&self, name: &str) -> Result<Assignments, Problem> {
        match self.field(name) {
            None => Ok(Vec::new()),
            Some(Value::Map(map)) => {
                Ok(map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect())
            }
            Some(other) => Err(wrong_field(name, "an object", other)),
        }
    }

    /// All fields.
    pub(super) fn given(&self) -> Value {
        self.fields.clone().into()
    }

    /// The body as it came.
    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The request again, for whoever reads its body as parts.
    pub(super) fn into_request(self) -> Request {
        Request::from_parts(self.parts, Body::from(self.body))
    }
}

async fn instance_called(desk: &Desk, text: &str) -> Result<InstanceId, Problem> {
    let id = instance_found(desk, text).await?;
    may_instance(desk, id, text).await?;
    Ok(id)
}

async fn may_instance(desk: &Desk, id: InstanceId, called: &str) -> Result<(), Problem> {
    let missing = || Refusal::not_found(format!("no instance has the number or the id {called}"));
    Ok(desk.may_instance(id, missing).await?)
}

/// The instance that a text names, where there is only one that the desk sees.
async fn instance_found(desk: &Desk, text: &str) -> Result<InstanceId, Problem> {
    if let Some(number) = text.strip_prefix(NUMBER).and_then(|it| it.parse().ok()) {
        return Ok(number);
    }
    let search = Search::of(Table::Instances)
        .with(Condition::of(InstanceColumn::BusinessId, Test::eq(text)))
        .descending(InstanceColumn::Id)
        .limit(10);
    let found: Vec<InstanceRow> = desk
        .rows(search)
        .await?
        .rows
        .into_iter()
        .filter_map(|it| if let Row::Instance(row) = it { Some(row) } else { None })
        .collect();
    let number = text.parse::<InstanceId>().ok();
    match (&found[..], number) {
        ([only], _) => Ok(InstanceId(only.id)),
        // A schedule that was removed leaves its name to the next one.
        ([newest, ..], _) if found.iter().all(|it| &*it.definition == SCHEDULE) => {
            Ok(InstanceId(newest.id))
        }
        ([], Some(number)) => Ok(number),
        ([], None) => {
            Err(Refusal::not_found(format!("no instance has the number or the id {text}")).into())
        }
        (several, _) => {
            let all: Vec<String> = several.iter().map(|it| format!("{NUMBER}{}", it.id)).collect();
            let all = all.join(", ");
            Err(Refusal::invalid(format!(
                "several instances have the id {text}; say which one: {all}"
            ))
            .into())
        }
    }
}

/// The wait that a text means.
pub(super) fn address(text: &str, what: &str) -> Result<Address, Problem> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    match text.parse().ok().and_then(Key::read) {
        Some(Named::Wait(address)) => Ok(address),
        Some(other) => {
            let detail =
                format!("no {what} has the key {text}; that is the key of {}", other.what());
            Err(Refusal::not_found(detail).into())
        }
        None => {
            Err(Refusal::invalid(format!("{text:?} names no {what}; write 12-7, or its key"))
                .into())
        }
    }
}

/// The fields of a body; none where there is no body.
fn object(body: &Bytes) -> Result<Map, Problem> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::default());
    }
    let text = std::str::from_utf8(body).map_err(|_| Refusal::invalid("the body is not UTF-8"))?;
    let value = Value::parse_json(text);
    match value.map_err(|error| Refusal::invalid(format!("the body cannot be read: {error}")))? {
        Value::Map(map) => Ok((*map).clone()),
        other => {
            Err(Refusal::invalid(format!("the body is a JSON object, not {}", other.kind())).into())
        }
    }
}

/// Refuses a name that is not known, and says which one may be meant.
pub(super) fn known(what: &str, name: &str, all: &[&str]) -> Result<(), Problem> {
    if all.contains(&name) {
        return Ok(());
    }
    let near = all.iter().map(|it| (strsim::jaro_winkler(it, name), *it));
    let near = near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match (near, all) {
        (Some((_, it)), _) => format!("is {it} meant?"),
        (None, []) => format!("this operation has no {what}s"),
        (None, all) => format!("there are {}", all.join(", ")),
    };
    Err(Refusal::invalid(format!("there is no {what} {name}; {hint}")).into())
}

fn wrong(name: &str, wanted: &str, text: &str) -> Problem {
    Refusal::invalid(format!("the parameter {name} is {wanted}, not {text:?}")).into()
}

pub(super) fn wrong_field(name: &str, wanted: &str, value: &Value) -> Problem {
    Refusal::invalid(format!("the field {name} is {wanted}, not {}", value.kind())).into()
}

pub(super) fn missing(name: &str) -> Problem {
    Refusal::invalid(format!("the field {name} is missing")).into()
}

/// What answers a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// A document.
    Document(Value),
    /// Something new was made.
    Made(Value),
    /// Another text, with its type.
    Text(&'static str, Bytes),
    /// Whatever it is, it goes on for a while.
    Stream(Response),
}

impl Answer {
    /// Its status, its type and its text; of what goes on for a while there is none.
    pub(super) fn into_parts(self) -> ((StatusCode, &'static str), Bytes) {
        let json = "application/json";
        match self {
            Self::Document(value) => ((StatusCode::OK, json), value.to_json().into()),
            Self::Made(value) => ((StatusCode::CREATED, json), value.to_json().into()),
            Self::Text(kind, text) => ((StatusCode::OK, kind), text),
            Self::Stream(_) => ((StatusCode::OK, json), Bytes::new()),
        }
    }

    pub(super) fn into_response(self) -> Response {
        if let Self::Stream(response) = self {
            return response;
        }
        let ((status, kind), body) = self.into_parts();
        Self::whole(status, kind, body)
    }

    /// The answer with this text.
    pub(super) fn whole(status: StatusCode, kind: &'static str, body: Bytes) -> Response {
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if kind == SVG {
            // A picture is looked at, and runs nothing.
            let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// The type of pictures.
pub(super) const SVG: &str = "image/svg+xml";
