//! Processes, decisions, forms and files that are deployed.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use travertine_runtime::{
    Definition, Definitions, Deployed, DeployedKind, Key, Named, engine::File,
};
use travertine_store::{DefinitionKey, search::Value};

use super::{
    Answer, Call,
    list::{Holds, ListField, key_of},
    read::read_if_any,
    search::Asked,
    write::{Fields, TENANT},
};
use crate::desk::{Desk, Refusal};

const XML: &str = "text/xml; charset=utf-8";

/// Something deployed, with what is beside it.
struct Item {
    it: Arc<Deployed>,
    /// The graph that a decision is in.
    graph: Option<Arc<Deployed>>,
    is_latest: bool,
    has_start_form: bool,
}

impl Item {
    fn new(it: &Arc<Deployed>, definitions: &Definitions) -> Self {
        let latest = definitions.latest_deployed(it.kind, &it.id);
        let graph = it.requirements.and_then(|key| definitions.deployed_as(key));
        Self {
            it: Arc::clone(it),
            graph: graph.cloned(),
            is_latest: latest.is_some_and(|latest| latest.key == it.key),
            has_start_form: definitions.get(it.key).is_some_and(|it| it.plan.start_form.is_some()),
        }
    }

    fn state(&self) -> &'static str {
        if self.it.retired { "DELETED" } else { "ACTIVE" }
    }

    fn name(&self) -> &str {
        self.it.name.as_ref().unwrap_or(&self.it.id)
    }

    fn graph_name(&self) -> Option<&str> {
        self.graph.as_ref().map(|it| &**it.name.as_ref().unwrap_or(&it.id))
    }
}

fn all(desk: &Desk, kind: DeployedKind) -> Vec<Item> {
    let definitions = desk.definitions();
    desk.listed(kind).iter().map(|it| Item::new(it, &definitions)).collect()
}

const fn field(
    name: &'static str,
    holds: Holds,
    filters: bool,
    sorts: bool,
    value: fn(&Item) -> Option<Value>,
) -> ListField<Item> {
    ListField { name, holds, filters, sorts, value }
}

fn text(it: Option<&str>) -> Option<Value> {
    it.map(Value::from)
}

fn int(it: u32) -> Value {
    Value::Number(it.into())
}

const PROCESSES: &[ListField<Item>] = &[
    field("name", Holds::Text, true, true, |it| text(it.it.name.as_deref())),
    field("isLatestVersion", Holds::Flag, true, false, |it| Some(it.is_latest.into())),
    field("resourceName", Holds::Text, true, true, |it| text(Some(&it.it.file))),
    field("version", Holds::Int, true, true, |it| Some(int(it.it.version))),
    field("versionTag", Holds::Text, true, true, |it| text(it.it.tag.as_deref())),
    field("processDefinitionId", Holds::Text, true, true, |it| text(Some(&it.it.id))),
    field("tenantId", Holds::Text, true, true, |_| text(Some(TENANT))),
    field("processDefinitionKey", Holds::Key, true, true, |it| key_of(it.it.named())),
    field("hasStartForm", Holds::Flag, true, false, |it| Some(it.has_start_form.into())),
    field("state", Holds::Word(&["ACTIVE", "DELETED", "DRAINING"]), true, false, |it| {
        text(Some(it.state()))
    }),
];

const DECISIONS: &[ListField<Item>] = &[
    field("decisionDefinitionId", Holds::Text, true, true, |it| text(Some(&it.it.id))),
    field("name", Holds::Text, true, true, |it| text(Some(it.name()))),
    field("isLatestVersion", Holds::Flag, true, false, |it| Some(it.is_latest.into())),
    field("version", Holds::Int, true, true, |it| Some(int(it.it.version))),
    field("decisionRequirementsId", Holds::Text, true, true, |it| {
        text(it.graph.as_ref().map(|it| &*it.id))
    }),
    field("tenantId", Holds::Text, true, true, |_| text(Some(TENANT))),
    field("decisionDefinitionKey", Holds::Key, true, true, |it| key_of(it.it.named())),
    field("decisionRequirementsKey", Holds::Key, true, true, |it| {
        it.graph.as_ref().and_then(|it| key_of(it.named()))
    }),
    field("decisionRequirementsName", Holds::Text, true, true, |it| text(it.graph_name())),
    field("decisionRequirementsVersion", Holds::Int, true, true, |it| {
        it.graph.as_ref().map(|it| int(it.version))
    }),
];

const GRAPHS: &[ListField<Item>] = &[
    field("decisionRequirementsId", Holds::Text, true, true, |it| text(Some(&it.it.id))),
    field("decisionRequirementsName", Holds::Text, true, true, |it| text(Some(it.name()))),
    field("version", Holds::Int, true, true, |it| Some(int(it.it.version))),
    field("tenantId", Holds::Text, true, true, |_| text(Some(TENANT))),
    field("decisionRequirementsKey", Holds::Key, true, true, |it| key_of(it.it.named())),
    field("resourceName", Holds::Text, true, false, |it| text(Some(&it.it.file))),
];

async fn search(
    mut call: Call,
    kind: DeployedKind,
    fields: &'static [ListField<Item>],
    write: fn(&mut Fields<'_>, &Item),
) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let items = all(&call.desk, kind);
    let listed = Asked::read(&body)?.picker(fields)?.pick(items, |it| it.it.named()).await?;
    Ok(listed.answer(write))
}

fn get(call: &Call, kind: DeployedKind) -> Result<Item, Refusal> {
    let found = call.desk.deployed(call.key()?, kind)?;
    Ok(Item::new(&found, &call.desk.definitions()))
}

async fn file(call: Call, kind: DeployedKind) -> Result<File, Refusal> {
    let found = call.desk.deployed(call.key()?, kind)?;
    let desk = call.desk;
    desk.file(&found).await
}

pub(super) async fn search_processes(call: Call) -> Result<Answer, Refusal> {
    search(call, DeployedKind::Process, PROCESSES, process).await
}

pub(super) async fn process_by_key(call: Call) -> Result<Answer, Refusal> {
    let item = get(&call, DeployedKind::Process)?;
    Ok(Answer::object(|it| process(it, &item)))
}

pub(super) async fn process_xml(call: Call) -> Result<Answer, Refusal> {
    let file = file(call, DeployedKind::Process).await?;
    Ok(Answer::Text(XML, Bytes::from(file.body)))
}

fn process(it: &mut Fields<'_>, item: &Item) {
    let one = &item.it;
    it.text_or_null("name", one.name.as_deref());
    it.text("resourceName", &one.file);
    it.int("version", one.version);
    it.text_or_null("versionTag", one.tag.as_deref());
    it.text("processDefinitionId", &one.id);
    it.tenant();
    it.key("processDefinitionKey", one.named());
    it.flag("hasStartForm", item.has_start_form);
    it.text("state", item.state());
}

pub(super) async fn search_decisions(call: Call) -> Result<Answer, Refusal> {
    search(call, DeployedKind::Decision, DECISIONS, decision).await
}

pub(super) async fn decision_by_key(call: Call) -> Result<Answer, Refusal> {
    let item = get(&call, DeployedKind::Decision)?;
    Ok(Answer::object(|it| decision(it, &item)))
}

pub(super) async fn decision_xml(call: Call) -> Result<Answer, Refusal> {
    let file = file(call, DeployedKind::Decision).await?;
    Ok(Answer::Text(XML, Bytes::from(file.body)))
}

fn decision(it: &mut Fields<'_>, item: &Item) {
    let (one, graph) = (&item.it, item.graph.as_ref());
    it.text("decisionDefinitionId", &one.id);
    it.key("decisionDefinitionKey", one.named());
    it.text("decisionRequirementsId", graph.map_or("", |it| &it.id));
    it.key(
        "decisionRequirementsKey",
        graph.map_or(Named::DecisionRequirements(DefinitionKey::NONE), |it| it.named()),
    );
    it.text("decisionRequirementsName", item.graph_name().unwrap_or_default());
    it.int("decisionRequirementsVersion", graph.map_or(0, |it| it.version));
    it.text("name", item.name());
    it.tenant();
    it.int("version", one.version);
}

pub(super) async fn search_graphs(call: Call) -> Result<Answer, Refusal> {
    search(call, DeployedKind::Requirements, GRAPHS, graph).await
}

pub(super) async fn graph_by_key(call: Call) -> Result<Answer, Refusal> {
    let item = get(&call, DeployedKind::Requirements)?;
    Ok(Answer::object(|it| graph(it, &item)))
}

pub(super) async fn graph_xml(call: Call) -> Result<Answer, Refusal> {
    let file = file(call, DeployedKind::Requirements).await?;
    Ok(Answer::Text(XML, Bytes::from(file.body)))
}

fn graph(it: &mut Fields<'_>, item: &Item) {
    let one = &item.it;
    it.text("decisionRequirementsId", &one.id);
    it.key("decisionRequirementsKey", one.named());
    it.text("decisionRequirementsName", item.name());
    it.text("resourceName", &one.file);
    it.tenant();
    it.int("version", one.version);
}

/// The form of the start event, where it has one that is deployed.
pub(super) async fn start_form(call: Call) -> Result<Answer, Refusal> {
    let definition = call.desk.definition(call.key()?)?;
    match start_form_of(&definition, &call.desk.definitions()) {
        Some(found) => form(&call.desk, &found).await,
        None => Ok(Answer::Done),
    }
}

fn start_form_of(definition: &Definition, definitions: &Definitions) -> Option<Arc<Deployed>> {
    let form = definition.plan.start_form.as_ref()?;
    definitions.latest_deployed(DeployedKind::Form, &form.id).cloned()
}

pub(super) async fn form_by_key(call: Call) -> Result<Answer, Refusal> {
    let found = call.desk.deployed(call.key()?, DeployedKind::Form)?;
    form(&call.desk, &found).await
}

/// A form, with the text that it was deployed as.
pub(super) async fn form(desk: &Desk, form: &Deployed) -> Result<Answer, Refusal> {
    let file = desk.file(form).await?;
    let schema = String::from_utf8_lossy(&file.body);
    Ok(Answer::object(|it| {
        it.tenant();
        it.text("formId", &form.id);
        it.text("schema", &schema);
        it.int("version", form.version);
        it.key("formKey", form.named());
    }))
}

pub(super) async fn resource_by_key(call: Call) -> Result<Answer, Refusal> {
    let found = call.desk.deployed(call.key()?, DeployedKind::Resource)?;
    Ok(Answer::object(|it| {
        it.text("resourceName", &found.file);
        it.int("version", found.version);
        it.text_or_null("versionTag", found.tag.as_deref());
        it.text("resourceId", &found.id);
        it.tenant();
        it.key("resourceKey", found.named());
    }))
}

pub(super) async fn resource_content(call: Call) -> Result<Answer, Refusal> {
    let file = file(call, DeployedKind::Resource).await?;
    Ok(Answer::Text("text/plain; charset=utf-8", Bytes::from(file.body)))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteBody {
    delete_history: Option<bool>,
}

pub(super) async fn delete(mut call: Call) -> Result<Answer, Refusal> {
    let body = call.body().await?;
    let body: DeleteBody = read_if_any(&body)?;
    let key = call.key()?;
    call.desk.retire(key, body.delete_history.unwrap_or(false)).await?;
    Ok(Answer::object(|it| {
        if let Some(named) = Key::read(key) {
            it.key("resourceKey", named);
        }
        it.null("batchOperation");
    }))
}
