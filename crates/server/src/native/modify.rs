//! Tokens are taken away, put elsewhere and added; an instance goes on by another version. Both can be tried first.

use std::sync::Arc;

use travertine_data::{json, look, migration};
use travertine_kernel::{
    Command, Destination, Event, Mapping, Modification, NodeId, TokenId, Which, handle, tree,
};
use travertine_runtime::{Definition, engine::Target, trace};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call, known, missing, wrong_field},
    operate::told,
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor};

pub(super) async fn modify(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let look = call.desk.engine().look(instance).await?;
    let definition = &look.definition;
    let mut steps = Vec::new();
    for it in list(&call, "move")? {
        fields("move", it, &["from", "to", "variables"])?;
        let (from, to) = (needed(it, "from")?, needed(it, "to")?);
        steps.push(Modification::Move {
            which: which(definition, from)?,
            to: destination(definition, to, it)?,
        });
    }
    for it in list(&call, "add")? {
        fields("add", it, &["element", "scope", "variables"])?;
        let to = destination(definition, needed(it, "element")?, it)?;
        let scope = it.field("scope").map(token).transpose()?;
        steps.push(Modification::Add { to, scope });
    }
    for it in list(&call, "withdraw")? {
        steps.push(Modification::Withdraw(which(definition, it)?));
    }
    if steps.is_empty() {
        return Err(Refusal::invalid("there is nothing to do: say move, add or withdraw").into());
    }
    if !call.yes("dry_run")? {
        call.desk.engine().modify(instance, steps).await?;
        return told(&call, instance).await;
    }
    let (now, definition) = (call.desk.engine().now(), Arc::clone(definition));
    let mut state = look.state;
    // Scripts may run on the way.
    let tried = off_the_executor(move || {
        let tried = handle(&definition.plan, &mut state, now, Command::Modify { steps });
        Ok(match tried {
            Ok(turn) => {
                let text = |it: &Event| Value::from(trace::of_event(&definition.plan, it));
                let tree = look::tree(tree(&definition.plan, &state).as_ref());
                (Vec::new(), turn.events.iter().map(text).collect::<Vec<_>>(), tree)
            }
            Err(rejection) => (vec![Value::from(rejection.to_string())], Vec::new(), Value::Null),
        })
    });
    let (problems, events, tree) = tried.await?;
    Ok(Answer::Document(json::object([
        ("instance", json::key(instance.0)),
        ("possible", problems.is_empty().into()),
        ("problems", problems.into()),
        ("events", events.into()),
        ("tree", tree),
    ])))
}

pub(super) async fn migrate(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let look = call.desk.engine().look(instance).await?;
    let id = call.text("definition")?.unwrap_or_else(|| Name::clone(&look.row.definition));
    let version = call.count("version")?.ok_or_else(|| missing("version"))?;
    let version = u32::try_from(version).unwrap_or(u32::MAX);
    let successor = call.desk.successor(&id, version)?;
    let target = Target::Version(Name::clone(&successor.id), version);
    let mut mapping = Mapping::new();
    for (from, to) in call.variables("mapping")? {
        let text = to.as_str().ok_or_else(|| wrong_field("mapping", "an object of ids", &to))?;
        mapping.insert(from, text.into());
    }
    let engine = call.desk.engine();
    let tried = engine.try_migration(instance, target.clone(), mapping.clone()).await?;
    let possible = tried.problems.is_empty();
    if possible && !call.yes("dry_run")? {
        engine.migrate(instance, target, mapping).await?;
        return told(&call, instance).await;
    }
    let document = migration::migration(instance, &look.row, (&id, version), &tried);
    if possible || call.yes("dry_run")? {
        return Ok(Answer::Document(document));
    }
    let detail = format!("instance {instance} cannot be migrated to {id} version {version}");
    let problem = Problem::from(Refusal::new(Outcome::InvalidState, detail));
    Err(problem.with("migration", document))
}

pub(super) fn list<'a>(call: &'a Call, name: &str) -> Result<&'a [Value], Problem> {
    match call.field(name) {
        None => Ok(&[]),
        Some(it) => it.as_list().ok_or_else(|| wrong_field(name, "a list", it)),
    }
}

pub(super) fn fields(of: &str, it: &Value, all: &[&str]) -> Result<(), Problem> {
    let map = it.as_map().ok_or_else(|| wrong_field(of, "a list of objects", it))?;
    map.keys().try_for_each(|name| known("field", name, all))
}

fn needed<'a>(it: &'a Value, name: &str) -> Result<&'a Value, Problem> {
    it.field(name).ok_or_else(|| missing(name))
}

fn token(it: &Value) -> Result<TokenId, Problem> {
    let number = match it {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64().and_then(|it| u64::try_from(it).ok()),
    };
    number.map(TokenId).ok_or_else(|| wrong_field("token", "the number of a token", it))
}

/// A token by its number, or all at an element.
fn which(definition: &Definition, it: &Value) -> Result<Which, Problem> {
    let is_number = it.as_str().is_none_or(|it| it.parse::<u64>().is_ok());
    if is_number { token(it).map(Which::Token) } else { node(definition, it).map(Which::At) }
}

fn destination(definition: &Definition, to: &Value, of: &Value) -> Result<Destination, Problem> {
    let mut to = Destination::before(node(definition, to)?);
    if let Some(variables) = of.field("variables") {
        let map =
            variables.as_map().ok_or_else(|| wrong_field("variables", "an object", variables))?;
        let all = map.iter().map(|(name, it)| (Name::clone(name), it.clone())).collect();
        to.variables.push((NodeId(0), all));
    }
    Ok(to)
}

fn node(definition: &Definition, it: &Value) -> Result<NodeId, Problem> {
    let name = it.as_str().ok_or_else(|| wrong_field("element", "the id of an element", it))?;
    definition.element(name).ok_or_else(|| {
        let (id, version) = (&definition.id, definition.version);
        Refusal::invalid(format!("version {version} of {id} has no element {name}")).into()
    })
}
