//! What functions answer while they run: queries, which only look, and updates, which change what the
//! code has in hand.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde::{Serialize, de::DeserializeOwned};
use travertine_value::{Value, typed};

use crate::error::Failure;

type Query = Rc<dyn Fn(&Value) -> Result<Value, Failure>>;
type Validate = Rc<dyn Fn(&Value) -> Result<(), Failure>>;
type Apply = Rc<dyn Fn(&Value) -> Result<Value, Failure>>;

/// The handlers that a function has registered.
#[derive(Default)]
pub(crate) struct Handlers {
    queries: BTreeMap<String, Query>,
    updates: BTreeMap<String, (Validate, Apply)>,
}

impl Handlers {
    pub(crate) fn add_query<I, O>(&mut self, name: &str, answer: impl Fn(I) -> O + 'static)
    where
        I: DeserializeOwned,
        O: Serialize,
    {
        let of = format!("query `{name}`");
        let query: Query = Rc::new(move |input| {
            let answer = answer(decode(&of, input)?);
            encode(&of, &answer)
        });
        self.queries.insert(name.to_owned(), query);
    }

    pub(crate) fn add_update<I, O>(
        &mut self,
        name: &str,
        validate: impl Fn(&I) -> Result<(), Failure> + 'static,
        apply: impl FnMut(I) -> Result<O, Failure> + 'static,
    ) where
        I: DeserializeOwned,
        O: Serialize,
    {
        let of = format!("update `{name}`");
        let same = of.clone();
        let validate: Validate = Rc::new(move |input| validate(&decode(&of, input)?));
        let apply = RefCell::new(apply);
        let apply: Apply = Rc::new(move |input| {
            let answer = apply.borrow_mut()(decode(&same, input)?)?;
            encode(&same, &answer)
        });
        self.updates.insert(name.to_owned(), (validate, apply));
    }

    pub(crate) fn query(&self, name: &str) -> Result<Query, Failure> {
        let query = self.queries.get(name).map(Rc::clone);
        query.ok_or_else(|| unknown("query", name, self.queries.keys()))
    }

    pub(crate) fn validate(&self, name: &str) -> Result<Validate, Failure> {
        let update = self.updates.get(name).map(|(validate, _)| Rc::clone(validate));
        update.ok_or_else(|| unknown("update", name, self.updates.keys()))
    }

    pub(crate) fn apply(&self, name: &str) -> Result<Apply, Failure> {
        let update = self.updates.get(name).map(|(_, apply)| Rc::clone(apply));
        update.ok_or_else(|| unknown("update", name, self.updates.keys()))
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Failure {
    let known: Vec<_> = known.map(|it| format!("`{it}`")).collect();
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    Failure::terminal(format!("no-such-{what}"), format!("no {what} `{name}`; there is {known}"))
}

fn decode<T: DeserializeOwned>(of: &str, input: &Value) -> Result<T, Failure> {
    typed::from_value(input)
        .map_err(|error| Failure::terminal(Failure::DECODE, format!("the input of {of}: {error}")))
}

fn encode<T: Serialize>(of: &str, answer: &T) -> Result<Value, Failure> {
    typed::to_value(answer).map_err(|error| {
        Failure::terminal(Failure::ENCODE, format!("the answer of {of} cannot be kept: {error}"))
    })
}
