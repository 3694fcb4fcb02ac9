//! Variables by layer: who owns each, which one is seen, and which ones it hides.

use std::collections::BTreeMap;

use travertine_data::json;
use travertine_kernel::{Instance, LayerId, TokenId};
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    history::Past,
    problem::Problem,
};
use crate::desk::Refusal;

/// The layers that a token sees, the innermost first; all layers in pages, where none is named.
pub(super) async fn layers(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 100, 1_000)? as usize;
    let (token, after) = (call.whole("token")?, call.whole("after")?);
    let past = Past::of(&call).await?;
    let state = &past.state;
    let all: Vec<LayerId> = if let Some(token) = token {
        let missing = || Refusal::not_found(format!("the instance has no token {token} there"));
        let token = state.tokens.get(&TokenId(token)).ok_or_else(missing)?;
        chain(state, token.layer)
    } else {
        let behind = |it: &LayerId| after.is_none_or(|after| it.0 > after);
        state.layers.iter().map(|(id, _)| *id).filter(behind).collect()
    };
    let next = (token.is_none() && all.len() > limit).then(|| all[limit - 1]);
    let shown = if token.is_some() { &all[..] } else { &all[..all.len().min(limit)] };
    // What the layers before it, inside of it, have already.
    let mut inner: BTreeMap<Name, LayerId> = BTreeMap::new();
    let mut documents = Vec::new();
    for id in shown {
        let Some(layer) = state.layers.get(id) else { continue };
        let outer = layer.parent.map(|it| chain(state, it)).unwrap_or_default();
        let variables: Vec<Value> = layer
            .variables
            .iter()
            .map(|(name, value)| {
                let has = |it: &&LayerId| {
                    state.layers.get(*it).is_some_and(|it| it.variables.get(name).is_some())
                };
                let hides = outer.iter().find(has).map(|it| json::key(it.0));
                let hidden = token.and_then(|_| inner.get(name)).map(|it| json::key(it.0));
                json::object([
                    ("name", Name::clone(name).into()),
                    ("value", value.clone()),
                    ("hides", hides.into()),
                    ("hidden_by", hidden.into()),
                ])
            })
            .collect();
        for (name, _) in &layer.variables {
            inner.entry(Name::clone(name)).or_insert(*id);
        }
        let owner = state.tokens.get(&layer.owner);
        let element = owner.map(|it| Name::clone(&past.definition.plan.node(it.node).name));
        documents.push(json::object([
            ("layer", json::key(id.0)),
            ("parent", layer.parent.map(|it| json::key(it.0)).into()),
            ("token", json::key(layer.owner.0)),
            ("element", element.into()),
            ("variables", variables.into()),
        ]));
    }
    Ok(Answer::Document(json::object([
        ("instance", json::key(past.instance.0)),
        ("at", past.at()),
        ("layers", documents.into()),
        ("next", next.map(|it| json::key(it.0)).into()),
    ])))
}

/// A layer and those around it.
fn chain(state: &Instance, first: LayerId) -> Vec<LayerId> {
    let around = |it: &LayerId| state.layers.get(it).and_then(|it| it.parent);
    std::iter::successors(Some(first), around).collect()
}
