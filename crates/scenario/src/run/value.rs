//! What formulas see, and where what they give is written.

use std::{collections::BTreeMap, sync::Arc};

use travertine_lang::bpmnos::{Assignment, Fault, Formula, Surroundings};
use travertine_value::{Name, Number, Rounding, Value};

use super::{
    Failed, Simulation,
    state::{ScopeId, Status, Token, TokenId},
};
use crate::{
    model::{
        Attribute, AttributeId, AttributeKind, INSTANCE, Kind, Names, NodeId, OBJECTIVE, TIMESTAMP,
        Type,
    },
    random::Random,
};

/// A value as an attribute keeps it.
pub(crate) fn typed(attribute: &Attribute, value: Value) -> Result<Value, String> {
    let wrong = |value: &Value, what: &str| {
        Err(format!("{} is {what}, and {value} is not", attribute.name))
    };
    match (attribute.of, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Type::Truth, Value::Number(it)) => Ok(Value::Bool(it != Number::ZERO)),
        (Type::Text, it @ Value::String(_))
        | (Type::Collection, it @ Value::List(_))
        | (Type::Truth, it @ Value::Bool(_))
        | (Type::Decimal, it @ Value::Number(_)) => Ok(it),
        (Type::Whole, Value::Number(it)) => {
            it.round(0, Rounding::Down).map(Value::from).map_err(|it| it.to_string())
        }
        (Type::Text, it) => wrong(&it, "a text"),
        (Type::Collection, it) => wrong(&it, "a collection"),
        (Type::Truth, it) => wrong(&it, "true or false"),
        (Type::Decimal, it) => wrong(&it, "a number"),
        (Type::Whole, it) => wrong(&it, "a whole number"),
    }
}

/// What a formula sees from where a token is.
struct View<'a> {
    run: &'a Simulation,
    token: &'a Token,
    names: &'a Names,
    random: Option<Random>,
}

impl Surroundings for View<'_> {
    fn read(&mut self, name: &str) -> Value {
        match self.names.get(name) {
            Some(id) => self.run.get(self.token, *id),
            None => Value::Null,
        }
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
        if let Some(random) = &mut self.random
            && !self.run.model.tables.contains_key(name)
            && let Some(drawn) = random.draw(name, arguments)
        {
            return drawn;
        }
        self.run.tables.look_up(name, arguments)
    }
}

/// What the formula of a global sees.
pub(super) struct Globals<'a> {
    pub(super) run: &'a Simulation,
}

impl Surroundings for Globals<'_> {
    fn read(&mut self, name: &str) -> Value {
        let id = self.run.model.globals.get(name);
        id.and_then(|it| self.run.globals.get(it)).cloned().unwrap_or_default()
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
        self.run.tables.look_up(name, arguments)
    }
}

impl Simulation {
    /// The value of an attribute as a token sees it.
    pub(super) fn get(&self, token: &Token, id: AttributeId) -> Value {
        match id {
            INSTANCE => Value::String(Arc::clone(&token.label)),
            OBJECTIVE => self.objective.into(),
            _ => match self.model.attributes[id].kind {
                AttributeKind::Status => token.status.get(&id).cloned().unwrap_or_default(),
                AttributeKind::Global => self.globals.get(&id).cloned().unwrap_or_default(),
                AttributeKind::Data => {
                    let scope = self.owner(token, id).and_then(|it| self.scopes.get(&it));
                    scope.and_then(|it| it.data.get(&id)).cloned().unwrap_or_default()
                }
            },
        }
    }

    /// The scope in which a data attribute of a token lives.
    fn owner(&self, token: &Token, id: AttributeId) -> Option<ScopeId> {
        let owner = self.model.attributes[id].owner?;
        let around = |it: &ScopeId| self.scopes.get(it)?.parent;
        let mut scopes = std::iter::successors(token.inner.or(token.scope), around);
        scopes.find(|it| self.scopes.get(it).is_some_and(|it| it.node == owner))
    }

    /// The names at the node of a token.
    fn names(&self, token: TokenId) -> &Names {
        &self.model.nodes[self.token(token).node].names
    }

    fn view<'a>(&'a self, token: TokenId, names: &'a Names) -> View<'a> {
        View { run: self, token: self.token(token), names, random: None }
    }

    pub(super) fn value_of(&self, token: TokenId, formula: &Formula) -> Result<Value, Failed> {
        let value = formula.value(&mut self.view(token, self.names(token)));
        value.map_err(|it| self.failed(token, &format!("`{}`: {it}", formula.source())))
    }

    pub(super) fn holds(&self, token: TokenId, formula: &Formula) -> Result<bool, Failed> {
        let holds = formula.holds(&mut self.view(token, self.names(token)));
        holds.map_err(|it| self.failed(token, &format!("`{}`: {it}", formula.source())))
    }

    pub(super) fn options(
        &self,
        token: TokenId,
        choice: &travertine_lang::bpmnos::Choice,
    ) -> Result<travertine_lang::bpmnos::Options, Failed> {
        let options = choice.options(&mut self.view(token, self.names(token)));
        options.map_err(|it| self.failed(token, &format!("`{}`: {it}", choice.source())))
    }

    /// The attribute that a name means at the node of a token.
    pub(super) fn named(&self, token: TokenId, name: &str) -> Option<AttributeId> {
        self.names(token).get(name).copied()
    }

    pub(super) fn read(&self, token: TokenId, name: &str) -> Value {
        self.named(token, name).map(|it| self.get(self.token(token), it)).unwrap_or_default()
    }

    /// Carries out an assignment.
    pub(super) fn assign(&mut self, token: TokenId, it: &Assignment) -> Result<(), Failed> {
        self.assign_by(token, it, None)
    }

    fn assign_by(
        &mut self,
        token: TokenId,
        it: &Assignment,
        random: Option<Random>,
    ) -> Result<(), Failed> {
        let names = Arc::clone(self.names(token));
        let mut view = View { random, ..self.view(token, &names) };
        let value = it.value(&mut view);
        let text = it.formula.as_ref().map_or("undefined", Formula::source);
        let value = value.map_err(|it| self.failed(token, &format!("`{text}`: {it}")))?;
        match self.named(token, &it.target) {
            Some(id) => self.write(token, id, value),
            None => Err(self.failed(token, &format!("there is no attribute {}", it.target))),
        }
    }

    /// What the scenario has for the node of a token, in one of its columns.
    pub(super) fn given(
        &mut self,
        token: TokenId,
        all: &[Assignment],
        column: &str,
    ) -> Result<(), Failed> {
        for (position, it) in all.iter().enumerate() {
            let at = self.token(token);
            // Each copy and each round has numbers of its own.
            let number = format!("{position}.{}", at.number);
            let what = [&*at.label, &*self.model.nodes[at.node].id, column, &number];
            let random = Random::new(self.settings.seed, &what);
            self.assign_by(token, it, Some(random))?;
        }
        Ok(())
    }

    /// Writes an attribute where it lives, and counts what its change is worth.
    pub(super) fn write(
        &mut self,
        token: TokenId,
        id: AttributeId,
        value: Value,
    ) -> Result<(), Failed> {
        let model = Arc::clone(&self.model);
        let attribute = &model.attributes[id];
        let value = typed(attribute, value).map_err(|it| self.failed(token, &it))?;
        match attribute.kind {
            _ if id == INSTANCE || id == OBJECTIVE => {
                Err(self.failed(token, &format!("{} cannot be changed", attribute.name)))
            }
            AttributeKind::Status => {
                let may = matches!(self.node_of(token).kind, Kind::Task);
                if id == TIMESTAMP && !may {
                    return Err(self.failed(token, "only a plain task changes the timestamp"));
                }
                self.put(token, id, value);
                Ok(())
            }
            AttributeKind::Data => match self.owner(self.token(token), id) {
                None => Err(self.failed(token, &format!("{} is out of reach", attribute.name))),
                Some(scope) => {
                    let old = self.keep(scope, id, value.clone());
                    self.changed(token, id, &old, &value)
                }
            },
            AttributeKind::Global => {
                let old = self.globals.get(&id).cloned().unwrap_or_default();
                self.globals.insert(id, value.clone());
                self.changed(token, id, &old, &value)
            }
        }
    }

    /// Puts a value into the status of a token.
    pub(super) fn put(&mut self, token: TokenId, id: AttributeId, value: Value) {
        let status = Arc::make_mut(&mut self.token_mut(token).status);
        if value.is_null() {
            status.remove(&id);
        } else {
            status.insert(id, value);
        }
    }

    fn keep(&mut self, scope: ScopeId, id: AttributeId, value: Value) -> Value {
        let data = &mut self.scopes.get_mut(&scope).expect("a scope that was found").data;
        data.insert(id, value).unwrap_or_default()
    }

    /// A data attribute or a global has another value.
    fn changed(
        &mut self,
        token: TokenId,
        id: AttributeId,
        old: &Value,
        new: &Value,
    ) -> Result<(), Failed> {
        if old == new {
            return Ok(());
        }
        self.touched.insert(id);
        let change = number(new).checked_sub(number(old));
        let change = change.map_err(|it| self.failed(token, &it.to_string()))?;
        self.count(token, id, change)
    }

    /// Adds what a number of an attribute is worth to the objective.
    fn count(&mut self, token: TokenId, id: AttributeId, by: Number) -> Result<(), Failed> {
        let weight = self.model.attributes[id].weight;
        if weight == Number::ZERO {
            return Ok(());
        }
        let sum = by.checked_mul(weight).and_then(|it| self.objective.checked_add(it));
        self.objective = sum.map_err(|it| self.failed(token, &it.to_string()))?;
        self.touched.insert(OBJECTIVE);
        Ok(())
    }

    /// Counts the status attributes of a node that is left, and takes them from the token.
    pub(super) fn drop_own(&mut self, token: TokenId) -> Result<(), Failed> {
        self.count_own(token)?;
        for id in self.node_of(token).status.clone() {
            self.put(token, id, Value::Null);
        }
        Ok(())
    }

    /// Counts the status attributes of a node that is left.
    pub(super) fn count_own(&mut self, token: TokenId) -> Result<(), Failed> {
        let at = self.token(token);
        let (node, status) = (at.node, Arc::clone(&at.status));
        self.count_status(token, node, &status)
    }

    /// Counts what a status has of the attributes of a node.
    pub(super) fn count_status(
        &mut self,
        token: TokenId,
        node: NodeId,
        status: &Status,
    ) -> Result<(), Failed> {
        let model = Arc::clone(&self.model);
        for id in &model.nodes[node].status {
            self.count(token, *id, status.get(id).map_or(Number::ZERO, number))?;
        }
        Ok(())
    }

    /// What the objective would be if all that a token carries were counted now.
    pub(super) fn prospect(&self, token: TokenId) -> Result<Number, Failed> {
        let counted = self.token(token).status.iter().try_fold(self.objective, |sum, (id, it)| {
            let weight = self.model.attributes[*id].weight;
            number(it).checked_mul(weight).and_then(|it| sum.checked_add(it))
        });
        counted.map_err(|it| self.failed(token, &it.to_string()))
    }

    /// Attributes of a node that come with the scenario, where the token has none yet.
    pub(super) fn add_own(&mut self, token: TokenId) {
        let at = self.token(token);
        let given = &self.scenario.instances[at.instance].values;
        let own = &self.model.nodes[at.node].status;
        let added: Vec<(AttributeId, Value)> = own
            .iter()
            .filter(|it| !at.status.contains_key(it))
            .filter_map(|it| Some((*it, given.get(it)?.clone())))
            .collect();
        for (id, value) in added {
            self.put(token, id, value);
        }
    }

    /// Works out the attributes of a node that have a formula, in order.
    pub(super) fn work_out(&mut self, token: TokenId) -> Result<(), Failed> {
        self.work_out_those(token, |_| true)
    }

    /// Works out status attributes alone, where the scope of data is not open.
    pub(super) fn work_out_status(&mut self, token: TokenId) -> Result<(), Failed> {
        self.work_out_those(token, |it| it.kind == AttributeKind::Status)
    }

    fn work_out_those(
        &mut self,
        token: TokenId,
        which: impl Fn(&Attribute) -> bool,
    ) -> Result<(), Failed> {
        let model = Arc::clone(&self.model);
        let all = model.nodes[self.token(token).node].formulas.iter();
        for it in all.map(|it| &model.attributes[*it]).filter(|it| which(it)) {
            if let Some(formula) = &it.formula {
                self.assign(token, formula)?;
            }
        }
        Ok(())
    }

    /// The data of a scope that has just been opened, as far as it comes with the scenario.
    pub(super) fn declare(&mut self, token: TokenId, scope: ScopeId) {
        for (id, value) in self.given_data(token) {
            self.keep(scope, id, value);
            self.touched.insert(id);
        }
    }

    /// Counts the data that came with the scenario when a scope is entered; that of an event sub-process is there
    /// before.
    pub(super) fn count_given(&mut self, token: TokenId) -> Result<(), Failed> {
        for (id, value) in self.given_data(token) {
            self.count(token, id, number(&value))?;
        }
        Ok(())
    }

    fn given_data(&self, token: TokenId) -> Vec<(AttributeId, Value)> {
        let at = self.token(token);
        let given = &self.scenario.instances[at.instance].values;
        let own = self.model.nodes[at.node].data.iter();
        own.filter_map(|it| Some((*it, given.get(it)?.clone()))).collect()
    }

    /// A status without attributes that mean nothing at a node's parent.
    pub(super) fn trimmed(&self, status: &Status, node: NodeId) -> Status {
        let known = |it: &AttributeId| {
            let owner = self.model.attributes[*it].owner;
            *it == TIMESTAMP
                || owner.is_none_or(|owner| self.model.around(node).any(|it| it == owner))
        };
        status.iter().filter(|(id, _)| known(id)).map(|(id, it)| (*id, it.clone())).collect()
    }

    /// The attributes of a status under their names.
    pub(super) fn spelt(&self, status: &Status) -> BTreeMap<Name, Value> {
        let name = |id: &AttributeId| Name::clone(&self.model.attributes[*id].name);
        status.iter().map(|(id, value)| (name(id), value.clone())).collect()
    }
}

/// A value as a number that is weighed; nothing where it is none.
pub(super) fn number(value: &Value) -> Number {
    match value {
        Value::Number(number) => *number,
        Value::Bool(true) => 1.into(),
        _ => Number::ZERO,
    }
}
