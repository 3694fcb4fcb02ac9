//! Instances: found, looked at, started.

use std::collections::{BTreeMap, BTreeSet};

use travertine_data::{json, look, rows, shell, words};
use travertine_kernel::{Branch, Reason, TokenId};
use travertine_runtime::{BatchWork, InstanceId, OWN, engine::Target};
use travertine_store::{
    search::{Condition, Found, InstanceColumn, Place, Search, Test, VariableColumn},
    view::{Row, Table},
};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    history::Past,
    list::{self, Listed},
    problem::{Problem, once_done},
    query::Query,
};
use crate::desk::{Create, Desk, Refusal, Seen, few_enough, number};

pub(super) static LIST: Listed = Listed {
    table: Table::Instances,
    field: "instances",
    columns: &[
        ("instance", travertine_store::search::Column::Instance(InstanceColumn::Id)),
        ("definition", travertine_store::search::Column::Instance(InstanceColumn::Definition)),
        ("version", travertine_store::search::Column::Instance(InstanceColumn::Version)),
        ("version_tag", travertine_store::search::Column::Instance(InstanceColumn::VersionTag)),
        ("state", travertine_store::search::Column::Instance(InstanceColumn::State)),
        ("id", travertine_store::search::Column::Instance(InstanceColumn::BusinessId)),
        ("tag", travertine_store::search::Column::Instance(InstanceColumn::Tag)),
        ("root", travertine_store::search::Column::Instance(InstanceColumn::Root)),
        ("incidents", travertine_store::search::Column::Instance(InstanceColumn::HasIncidents)),
        ("reason", travertine_store::search::Column::Instance(InstanceColumn::Reason)),
        ("started", travertine_store::search::Column::Instance(InstanceColumn::Started)),
        ("ended", travertine_store::search::Column::Instance(InstanceColumn::Ended)),
    ],
    others: &["q", "caller", "top", "schedules", "columns"],
    newest_first: true,
};

/// The most rows that are looked at for a page, where the store cannot find them by itself.
const CANDIDATES_MAX: usize = 10_000;

/// How many of them at once.
const CANDIDATES: u32 = 500;

/// The most columns of variables.
const COLUMNS_MAX: usize = 20;

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut search = LIST.search(&call)?;
    let caller = call.instance_parameter("caller").await?;
    if let Some(caller) = caller {
        search.conditions.push(Condition::of(InstanceColumn::Parent, Test::eq(caller.0)));
    }
    if call.flag("top")? {
        search.conditions.push(Condition::of(InstanceColumn::Parent, Test::Exists(false)));
    }
    let is_narrow = ["definition", "id", "instance"].iter().any(|it| call.parameter(it).is_some());
    let query =
        call.parameter("q").map(|it| Query::read(it, call.desk.engine().now())).transpose()?;
    let names = query.as_ref().is_some_and(Query::names_definition);
    if !call.flag("schedules")? && !is_narrow && caller.is_none() && !names {
        let own = OWN.iter().map(|it| Name::from(*it).into()).collect();
        search.conditions.push(Condition::of(InstanceColumn::Definition, Test::NotIn(own)));
    }
    let rest = match query {
        Some(query) => {
            let (stored, rest) = query.split();
            search.conditions.extend(stored);
            rest
        }
        None => None,
    };
    let (found, is_whole) = match rest {
        None => (call.desk.search(search).await?, true),
        Some(rest) => filtered(&call, search, &rest).await?,
    };
    let columns: Vec<&str> = call
        .parameter("columns")
        .map(|it| it.split(',').map(str::trim).collect())
        .unwrap_or_default();
    if columns.len() > COLUMNS_MAX {
        return Err(Refusal::invalid(format!(
            "a list has at most {COLUMNS_MAX} columns of variables"
        ))
        .into());
    }
    let values = values(&call, &found, &columns).await?;
    let document = LIST.document(&found, |it| {
        let row = rows::data(&it.row);
        let (Some(fields), false) = (row.as_map(), columns.is_empty()) else { return row };
        let mut fields = fields.clone();
        let own = it.instance().and_then(|it| values.get(&it.id)).cloned().unwrap_or_default();
        fields.insert("variables".into(), own.into_iter().collect());
        fields.into()
    });
    let mut fields = document.as_map().cloned().unwrap_or_default();
    fields.insert("complete".into(), is_whole.into());
    Ok(Answer::Document(fields.into()))
}

/// The filters of the list: its parameters but those of pages.
pub(super) fn filters() -> Vec<&'static str> {
    let pages =
        ["limit", "after", "before", "skip", "sort", "count", "relaxed", "columns", "schedules"];
    LIST.parameters().into_iter().filter(|it| !pages.contains(it)).collect()
}

/// All instances that the list would find now with which a batch could do something.
pub(super) async fn frozen(call: &Call, work: &BatchWork) -> Result<Vec<InstanceId>, Problem> {
    let mut search = LIST.search(call)?;
    if let Some(caller) = call.instance_parameter("caller").await? {
        search.conditions.push(Condition::of(InstanceColumn::Parent, Test::eq(caller.0)));
    }
    if call.flag("top")? {
        search.conditions.push(Condition::of(InstanceColumn::Parent, Test::Exists(false)));
    }
    let line = call.parameter("q");
    let query = line.map(|it| Query::read(it, call.desk.engine().now())).transpose()?;
    let names = query.as_ref().is_some_and(Query::names_definition);
    let is_named = names || call.parameter("definition").is_some();
    let rest = query.and_then(|it| {
        let (stored, rest) = it.split();
        search.conditions.extend(stored);
        rest
    });
    let search = Desk::only_possible(work, search, is_named);
    let Some(rest) = rest else { return Ok(call.desk.frozen(search).await?) };
    let mut search = Desk::first_page(search).limit(CANDIDATES);
    let mut all = Vec::new();
    loop {
        let page = call.desk.search(search.clone()).await?;
        let holds = rest.of(call, &page.rows).await?;
        let meant = page.rows.iter().zip(holds).filter(|(_, holds)| *holds);
        all.extend(meant.filter_map(|(it, _)| number(&it.row)));
        few_enough(&all)?;
        match page.end.filter(|_| page.has_more) {
            Some(end) => search.place = Place::After(end),
            None => return Ok(all),
        }
    }
}

/// A page of rows for which something holds that the store does not know, and whether all were looked at that had to
/// be.
async fn filtered(
    call: &Call,
    mut search: Search,
    rest: &super::query::Rest,
) -> Result<(Found<Seen>, bool), Problem> {
    let wanted = search.limit as usize;
    let is_backward = matches!(search.place, Place::Before(_));
    if is_backward {
        return Err(Refusal::invalid("pages of such a query go forth only: say after").into());
    }
    search.count = false;
    let mut all = Found { rows: Vec::new(), start: None, end: None, has_more: false, total: None };
    let mut seen = 0;
    loop {
        search.limit = CANDIDATES;
        let chunk = call.desk.search(search.clone()).await?;
        let holds = rest.of(call, &chunk.rows).await?;
        seen += chunk.rows.len();
        for (at, row) in chunk.rows.iter().enumerate() {
            if !holds[at] {
                continue;
            }
            all.rows.push(row.clone());
            if all.rows.len() == wanted {
                // The place behind this row, not behind the chunk.
                let upto = u32::try_from(at + 1).unwrap_or(CANDIDATES);
                let again = call.desk.search(Search { limit: upto, ..search.clone() }).await?;
                all.end = again.end;
                all.has_more = true;
                return Ok((all, true));
            }
        }
        all.end = chunk.end.clone().or(all.end);
        let Some(end) = chunk.end.filter(|_| chunk.has_more) else {
            all.has_more = false;
            return Ok((all, true));
        };
        if seen >= CANDIDATES_MAX {
            all.has_more = true;
            return Ok((all, false));
        }
        search.place = Place::After(end);
    }
}

type Columns = BTreeMap<u64, Vec<(Name, Value)>>;

/// Variables of the processes that were found.
async fn values(call: &Call, found: &Found<Seen>, columns: &[&str]) -> Result<Columns, Problem> {
    let mut values = Columns::new();
    if columns.is_empty() {
        return Ok(values);
    }
    let names: BTreeSet<&str> =
        columns.iter().map(|it| it.split('.').next().unwrap_or(it)).collect();
    let mut kept: BTreeMap<(u64, Name), Value> = BTreeMap::new();
    let mut running = Vec::new();
    for row in found.rows.iter().filter_map(Seen::instance) {
        match &row.result {
            Some(result) => {
                let result = rows::kept(result);
                for name in &names {
                    if let Some(value) = result.field(name) {
                        kept.insert((row.id, Name::from(*name)), value.clone());
                    }
                }
            }
            None => running.push(row.id),
        }
    }
    for ids in running.chunks(200) {
        let search = Search::of(Table::Variables)
            .with(Condition::of(
                VariableColumn::Layer,
                Test::any_of(ids.iter().map(|it| (*it, 1_u64))),
            ))
            .with(Condition::of(
                VariableColumn::Name,
                Test::any_of(names.iter().map(|it| Name::from(*it))),
            ))
            .limit(travertine_store::search::LIMIT_MAX);
        for row in call.desk.rows(search).await?.rows {
            if let Row::Variable(it) = row {
                kept.insert((it.instance, Name::clone(&it.name)), rows::kept(&it.value));
            }
        }
    }
    for row in found.rows.iter().filter_map(Seen::instance) {
        let own = values.entry(row.id).or_default();
        for column in columns {
            let mut steps = column.split('.');
            let first = steps.next().unwrap_or_default();
            let value = kept.get(&(row.id, Name::from(first)));
            let value = value.and_then(|it| steps.try_fold(it, |it, step| it.field(step)));
            own.extend(value.map(|it| (Name::from(*column), it.clone())));
        }
    }
    Ok(values)
}

pub(super) async fn start(call: Call) -> Result<Answer, Problem> {
    let definition = call.needed("definition")?;
    let (version, tag) = (call.count("version")?, call.text("tag")?);
    let target = match (version, tag) {
        (None, None) => Target::Latest(definition),
        (Some(version), None) => {
            Target::Version(definition, u32::try_from(version).unwrap_or(u32::MAX))
        }
        (None, Some(tag)) => Target::Tag(definition, tag),
        (Some(_), Some(_)) => {
            return Err(
                Refusal::invalid("a version is named by version or by tag, not by both").into()
            );
        }
    };
    let start = Create {
        variables: call.variables("variables")?,
        at: call.texts("at")?,
        business_id: call.text("id")?,
        tags: call.texts("tags")?,
        ..Create::of(target)
    };
    let (instance, is_known) = call.desk.start(start).await?;
    let look = once_done(call.desk.engine().look(instance).await)?;
    let row = &look.row;
    let document = json::object([
        ("instance", json::key(row.id)),
        ("known", is_known.into()),
        ("business_id", row.business_id.clone().into()),
        ("definition", Name::clone(&row.definition).into()),
        ("version", row.version.into()),
        ("state", words::of_state(row.state).into()),
        ("incident_count", row.incidents.into()),
        ("reason", row.reason.clone().into()),
        ("variables", look.variables.iter().cloned().collect()),
    ]);
    Ok(if is_known { Answer::Document(document) } else { Answer::Made(document) })
}

pub(super) async fn one(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let look = call.desk.engine().look(instance).await?;
    let row = rows::instance(&look.row);
    let mut fields = row.as_map().cloned().unwrap_or_default();
    fields.insert("kind".into(), travertine_data::deployed::kind(&look.definition).into());
    fields.insert("definition_key".into(), json::key(look.row.definition_key.0));
    fields.insert("tokens".into(), (look.state.tokens.len() as u64).into());
    fields.insert("variables".into(), shown(&look.variables));
    fields.insert("elements".into(), summed(look.tree.as_ref(), &look.reasons));
    let callers = callers(&call, look.row.parent).await?;
    fields.insert("callers".into(), callers);
    Ok(Answer::Document(fields.into()))
}

/// How many bytes of a value are told unasked.
const VALUE_BYTES_MAX: usize = 16_384;

/// Variables, those that are large left out: they are asked for by themselves.
pub(super) fn shown(variables: &[(Name, Value)]) -> Value {
    let is_small = |value: &Value| value.to_json().len() <= VALUE_BYTES_MAX;
    variables.iter().filter(|(_, value)| is_small(value)).cloned().collect()
}

/// Those that have called an instance, the outermost first.
async fn callers(call: &Call, parent: Option<(u64, u64)>) -> Result<Value, Problem> {
    const DEPTH_MAX: usize = 200;
    let (mut all, mut next) = (Vec::new(), parent);
    while let Some((id, _)) = next {
        let search = Search::of(Table::Instances)
            .with(Condition::of(InstanceColumn::Id, Test::eq(id)))
            .limit(1);
        let found = call.desk.rows(search).await?.rows.pop();
        // A caller that may not be seen ends the way.
        let Some(row) = found.as_ref().and_then(list::instance) else { break };
        all.push(rows::instance(row));
        next = row.parent;
        if all.len() == DEPTH_MAX {
            break;
        }
    }
    all.reverse();
    Ok(all.into())
}

/// How many tokens are at each element, and how many incidents.
fn summed(tree: Option<&Branch>, reasons: &[Reason]) -> Value {
    let mut counts: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    let mut left: Vec<&Branch> = tree.into_iter().collect();
    while let Some(branch) = left.pop() {
        counts.entry(Name::clone(&branch.node)).or_default().0 += 1;
        left.extend(&branch.inside);
    }
    for it in reasons.iter().filter(|it| look::kind(&it.why) == "incident") {
        counts.entry(Name::clone(&it.element)).or_default().1 += 1;
    }
    let all = counts.into_iter().map(|(element, (tokens, incidents))| {
        json::object([
            ("element", element.into()),
            ("tokens", tokens.into()),
            ("incidents", incidents.into()),
        ])
    });
    all.collect()
}

/// The most bytes of a page of a tree.
const PAGE_BYTES: usize = 96 << 10;

/// A page of the tokens inside a token, each with how many are inside of it.
pub(super) async fn tree(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 200, 1_000)? as usize;
    let (under, after) = (call.whole("under")?, call.whole("after")?.unwrap_or(0));
    let past = Past::of(&call).await?;
    let tree = past.tree();
    let summed = summed(tree.as_ref(), &past.reasons());
    let root = match (under, &tree) {
        (None, tree) => tree.as_ref(),
        (Some(token), tree) => {
            let found = tree.as_ref().and_then(|it| find(it, TokenId(token)));
            let missing = || Refusal::not_found(format!("the instance has no token {token} there"));
            Some(found.ok_or_else(missing)?)
        }
    };
    let (mut tokens, mut bytes, mut next) = (Vec::new(), summed.to_json().len(), None);
    let inside = root.map(|it| &it.inside[..]).unwrap_or_default();
    let mut sorted: Vec<&Branch> = inside.iter().collect();
    sorted.sort_by_key(|it| it.token);
    for branch in sorted.into_iter().filter(|it| it.token.0 > after) {
        let node = node(branch);
        bytes += node.to_json().len() + 1;
        if tokens.len() == limit || bytes > PAGE_BYTES {
            next = tokens.last().map(|(token, _)| json::key(*token));
            break;
        }
        tokens.push((branch.token.0, node));
    }
    let tokens: Value = tokens.into_iter().map(|(_, it)| it).collect();
    Ok(Answer::Document(json::object([
        ("instance", json::key(past.instance.0)),
        ("at", past.at()),
        ("under", root.map_or(Value::Null, node)),
        ("tokens", tokens),
        ("elements", if under.is_none() && after == 0 { summed } else { Value::Null }),
        ("next", next.into()),
    ])))
}

fn find(branch: &Branch, token: TokenId) -> Option<&Branch> {
    let mut left = vec![branch];
    while let Some(it) = left.pop() {
        if it.token == token {
            return Some(it);
        }
        left.extend(&it.inside);
    }
    None
}

fn node(it: &Branch) -> Value {
    json::object([
        ("token", json::key(it.token.0)),
        ("element", Name::clone(&it.node).into()),
        ("state", it.state.to_string().into()),
        ("scope", it.hosts.into()),
        ("progress", it.progress.clone().into()),
        ("inside", (it.inside.len() as u64).into()),
    ])
}

/// Why tokens rest, with what would help: as a command, and as an operation of this API.
pub(super) async fn why(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 100, 1_000)? as usize;
    let after = usize::try_from(call.whole("after")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let (token, element) = (call.whole("token")?, call.parameter("element").map(str::to_owned));
    let past = Past::of(&call).await?;
    let reasons = past.reasons();
    let is_meant = |it: &&Reason| {
        token.is_none_or(|token| it.token.0 == token)
            && element.as_ref().is_none_or(|element| *it.element == **element)
    };
    let all: Vec<&Reason> = reasons.iter().filter(is_meant).collect();
    let page: Vec<Value> =
        all.iter()
            .skip(after)
            .take(limit)
            .map(|it| {
                if past.is_past() {
                    look::past(past.instance, it)
                } else {
                    reason(past.instance, it)
                }
            })
            .collect();
    let next = (after.saturating_add(limit) < all.len()).then(|| (after + limit).to_string());
    Ok(Answer::Document(json::object([
        ("instance", json::key(past.instance.0)),
        ("at", past.at()),
        ("waits", page.into()),
        ("count", (all.len() as u64).into()),
        ("next", next.into()),
    ])))
}

/// Why a token rests, as the command line tells it, and besides the operations that help.
fn reason(instance: InstanceId, it: &Reason) -> Value {
    let help = look::way_out(instance, it).map(|it| match it {
        look::WayOut::Command(words) => {
            let words: Vec<String> = words.iter().map(|it| shell::quoted(it)).collect();
            format!("travertine {}", words.join(" "))
        }
        look::WayOut::Text(text) => text.to_owned(),
    });
    let document = look::reason(instance, it, help);
    let mut fields = document.as_map().cloned().unwrap_or_default();
    fields.insert("ways".into(), look::ways(instance, it));
    fields.into()
}
