//! Who waits for messages.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use travertine_bpmn::CORRELATION_KEY;
use travertine_runtime::{InstanceId, Named};
use travertine_store::{
    search::{Column, Condition, InstanceColumn, SubscriptionColumn, Test, Value as Cell},
    view::{Row, SubscriptionKind, Table},
};
use travertine_value::{Map, Name, Value};

use super::{
    Answer, Call,
    search::{
        self, Asked, Of, Resource, TENANT_FILTER, answer, one_of_words, refused, tests, text,
    },
    write::Fields,
};
use crate::desk::{Refusal, STARTS, Seen, subscription};

const STATES: &[(&str, &[&str])] =
    &[("CORRELATED", &[]), ("CREATED", &["CREATED"]), ("DELETED", &[]), ("MIGRATED", &[])];

const KEY: Column = Column::Subscription(SubscriptionColumn::Key);
const INSTANCE: Column = Column::Subscription(SubscriptionColumn::Instance);
const NAME: Column = Column::Subscription(SubscriptionColumn::Name);
const ELEMENT: Column = Column::Subscription(SubscriptionColumn::Element);
const CREATED: Column = Column::Subscription(SubscriptionColumn::Created);
const CORRELATION: Column = Column::Subscription(SubscriptionColumn::Correlation);
const DEFINITION: Column = Column::Instance(InstanceColumn::Definition);

const SUBSCRIPTIONS: Resource = Resource {
    table: Table::Subscriptions,
    filters: &[
        ("businessId", Of::Text(Column::Instance(InstanceColumn::BusinessId))),
        ("messageSubscriptionKey", Of::Key(KEY, waiting)),
        (
            "processDefinitionKey",
            Of::Key(Column::Instance(InstanceColumn::DefinitionKey), search::definition),
        ),
        ("processDefinitionId", Of::Text(DEFINITION)),
        ("processInstanceKey", Of::Key(INSTANCE, search::instance)),
        ("elementId", Of::Text(ELEMENT)),
        ("elementInstanceKey", Of::Fixed(None)),
        ("messageSubscriptionState", Of::FixedWord("CREATED", STATES)),
        ("lastUpdatedDate", Of::Date(CREATED)),
        ("messageName", Of::Text(NAME)),
        ("correlationKey", Of::Made(with_key)),
        TENANT_FILTER,
        ("messageSubscriptionType", Of::Made(of_type)),
        ("processDefinitionName", Of::Text(Column::Instance(InstanceColumn::DefinitionName))),
        ("processDefinitionVersion", Of::Int(Column::Instance(InstanceColumn::Version))),
        ("toolName", Of::Fixed(None)),
        ("inboundConnectorType", Of::Fixed(None)),
    ],
    sorts: &[
        ("businessId", Some(Column::Instance(InstanceColumn::BusinessId))),
        ("correlationKey", Some(CORRELATION)),
        ("elementId", Some(ELEMENT)),
        ("elementInstanceKey", Some(KEY)),
        ("inboundConnectorType", None),
        ("lastUpdatedDate", Some(CREATED)),
        ("messageName", Some(NAME)),
        ("messageSubscriptionKey", Some(KEY)),
        ("messageSubscriptionState", None),
        ("messageSubscriptionType", None),
        ("processDefinitionId", Some(DEFINITION)),
        ("processDefinitionName", Some(Column::Instance(InstanceColumn::DefinitionName))),
        ("processDefinitionVersion", Some(Column::Instance(InstanceColumn::Version))),
        ("processInstanceKey", Some(INSTANCE)),
        ("tenantId", None),
        ("toolName", None),
    ],
};

/// Who waits with such a key. It is kept as JSON, a number as a number.
fn with_key(name: &str, mut wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let kept = |it: &Json| {
        let said = text(name, it)?;
        let object = |value: Value| {
            let map: Map = [(Name::from(CORRELATION_KEY), value)].into_iter().collect();
            Value::from(map).to_json().as_str().into()
        };
        let number = Value::parse_json(&said).ok().filter(|it| it.as_number().is_some());
        let as_text = object(Value::from(Name::clone(&said)));
        Ok(std::iter::once(as_text).chain(number.map(object)).collect())
    };
    let like = wanted.as_object_mut().and_then(|it| it.remove("$like"));
    let mut tests = tests(name, wanted, &kept)?;
    for test in &mut tests {
        // Who waits without a key agrees on nothing.
        if let Test::Exists(wanted) = test {
            *test = if *wanted { Test::neq("{}") } else { Test::eq("{}") };
        }
    }
    if let Some(like) = like {
        let like = format!("{{\"{CORRELATION_KEY}\":\"{}\"}}", text(name, &like)?);
        tests.push(Test::like(like).map_err(refused)?);
    }
    Ok(tests.into_iter().map(|it| Condition::Is(CORRELATION, it)).collect())
}

/// Start events have rows of instances that are none.
fn of_type(name: &str, wanted: Json) -> Result<Vec<Condition>, Refusal> {
    let first = Cell::Number(STARTS.cast_signed());
    let types = [
        ("PROCESS_EVENT", Condition::Is(INSTANCE, Test::Lt(first.clone()))),
        ("START_EVENT", Condition::Is(INSTANCE, Test::Gte(first))),
    ];
    one_of_words(name, wanted, types)
}

/// The key of whoever waits.
fn waiting(named: Named) -> Option<Cell> {
    match named {
        Named::StartEvent(definition, nth) => Some((STARTS + definition.0, nth).into()),
        other => search::wait(other),
    }
}

pub(super) async fn search(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let mut search = Asked::read(&body)?.search(&SUBSCRIPTIONS)?;
    let messages = Test::eq(SubscriptionKind::Message);
    search.conditions.push(Condition::of(SubscriptionColumn::Kind, messages));
    let found = call.desk.subscriptions(search).await?;
    let waits = found.rows.iter().map(|it| it.row.key());
    let waits = waits.filter(|it| it.instance < STARTS).map(|it| (it.instance, it.number));
    let visits = call.desk.visits(waits).await;
    Ok(answer(&found, |it, seen| write(it, seen, &visits)))
}

fn write(it: &mut Fields<'_>, seen: &Seen, visits: &BTreeMap<(u64, u64), u64>) {
    let Row::Subscription(row) = &seen.row else { return };
    let about = seen.about.as_deref();
    let is_start = row.instance >= STARTS;
    let instance = (!is_start).then_some(Named::Instance(InstanceId(row.instance)));
    let root = about.filter(|_| !is_start).map(|it| Named::Instance(InstanceId(it.root)));
    it.text_or_null("businessId", about.and_then(|it| it.business_id.as_deref()));
    it.key("messageSubscriptionKey", subscription(row.instance, row.wait));
    it.text("processDefinitionId", about.map_or("", |it| &it.definition));
    it.key_or_null("processDefinitionKey", about.map(|it| Named::Definition(it.definition_key)));
    it.key_or_null("processInstanceKey", instance);
    it.key_or_null("rootProcessInstanceKey", root);
    it.text("elementId", &row.element);
    let visit = visits.get(&(row.instance, row.wait));
    it.key_or_null("elementInstanceKey", visit.map(|it| search::stay(row.instance, *it)));
    it.text("messageSubscriptionState", "CREATED");
    it.date("lastUpdatedDate", row.created);
    it.text("messageName", &row.name);
    it.text_or_null("correlationKey", correlation_key(&row.correlation).as_deref());
    it.text("messageSubscriptionType", if is_start { "START_EVENT" } else { "PROCESS_EVENT" });
    it.object("toolProperties", |_| {});
    it.text_or_null("processDefinitionName", about.and_then(|it| it.definition_name.as_deref()));
    match about {
        Some(about) => it.int("processDefinitionVersion", about.version),
        None => it.null("processDefinitionVersion"),
    }
    it.null("toolName");
    it.null("inboundConnectorType");
    it.tenant();
}

/// The key among what must match, as text.
fn correlation_key(json: &str) -> Option<String> {
    let value = Value::parse_json(json).ok()?;
    match value.field(CORRELATION_KEY)? {
        Value::Null => None,
        Value::String(text) => Some(text.to_string()),
        other => Some(other.to_json()),
    }
}
