//! A model that was read: what can be asked of it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use travertine_lang::feel::{Context, FeelValue, Session, Settings, Type};
use travertine_value::{Map, Name};

use crate::{
    eval::{Frame, Record, Run, World},
    model::{ElementId, Kind, Model, Variable},
    result::{DecisionResult, Error},
    types::{TypeId, from_json},
};

/// Elements that one decision requires, directly or not. An element counts for each way through imports
/// that leads to it, of which there can be very many.
const REQUIRED_MAX: usize = 1_000_000;

/// The decisions of a model. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Definitions {
    model: Arc<Model>,
}

/// Something that can be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocable {
    /// What it is.
    pub kind: InvocableKind,
    /// Its id in the model.
    pub id: Option<String>,
    /// Its name.
    pub name: Name,
}

/// The kinds of things that can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InvocableKind {
    /// A decision, from the inputs that it and its required decisions need.
    Decision,
    /// A decision service, from its input data and the values of its input decisions.
    Service,
    /// A business knowledge model, from its parameters.
    Knowledge,
}

/// A value that something needs from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name, with those of the imports on the way to it.
    pub name: Name,
    /// The name of its type in the model.
    pub type_name: Name,
    /// What FEEL knows of that type.
    pub of: Type,
}

impl Definitions {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        Self { model }
    }

    /// What can be evaluated: first decisions, then services, then business knowledge models.
    pub fn invocables(&self) -> Vec<Invocable> {
        let own = self.model.elements[..self.model.own].iter();
        let mut all: Vec<_> = own
            .filter_map(|it| {
                let kind = match it.kind {
                    Kind::Input(_) => return None,
                    Kind::Decision(_) => InvocableKind::Decision,
                    Kind::Service(_) => InvocableKind::Service,
                    Kind::Knowledge(_) => InvocableKind::Knowledge,
                };
                Some(Invocable { kind, id: it.id.clone(), name: Name::clone(&it.name) })
            })
            .collect();
        all.sort_by_key(|it| it.kind);
        all
    }

    /// The decisions that no other decision requires: what the model is there for.
    pub fn main_decisions(&self) -> Vec<Invocable> {
        let mut required = BTreeSet::new();
        for element in &self.model.elements {
            if let Kind::Decision(decision) = &element.kind {
                required.extend(decision.requires.iter().map(|it| it.element));
            }
        }
        let is_main = |it: &Invocable| {
            let element = self.model.by_name.get(&it.name);
            it.kind == InvocableKind::Decision && element.is_some_and(|it| !required.contains(it))
        };
        self.invocables().into_iter().filter(is_main).collect()
    }

    /// What something needs from outside, in order of appearance. `None` where there is no such thing.
    pub fn inputs(&self, invocable: &str) -> Option<Vec<Input>> {
        let element = self.find(invocable)?;
        let mut found = Vec::new();
        match &self.model.elements[element].kind {
            Kind::Service(_) | Kind::Knowledge(_) => {
                let parameters = self.model.parameters(element);
                found.extend(parameters.into_iter().map(|Variable { name, of }| (name, of)));
            }
            Kind::Decision(_) | Kind::Input(_) => {
                found = self.outer_inputs(element);
            }
        }
        let input = |(name, of): (Name, TypeId)| Input {
            name,
            type_name: Name::clone(&self.model.types.get(of).name),
            of: self.model.types.feel(of),
        };
        Some(found.into_iter().map(input).collect())
    }

    /// The inputs of a decision and of all that it requires, in order of appearance. A chain of
    /// requirements may be long, so this is no recursion.
    fn outer_inputs(&self, element: ElementId) -> Vec<(Name, TypeId)> {
        let mut found = Vec::new();
        let mut names = HashSet::new();
        let mut seen = HashSet::new();
        let mut open = vec![(Vec::new(), element)];
        while let Some((path, element)) = open.pop() {
            if seen.len() > REQUIRED_MAX || !seen.insert((path.clone(), element)) {
                continue;
            }
            let mut add = |name: &Name, of: TypeId| {
                let name: Vec<_> = path.iter().chain([name]).map(|it| &**it).collect();
                let name = Name::from(name.join("."));
                if names.insert(Name::clone(&name)) {
                    found.push((name, of));
                }
            };
            let known = &self.model.elements[element];
            match &known.kind {
                Kind::Input(of) => add(&known.name, *of),
                Kind::Decision(decision) if decision.logic.is_none() => {
                    add(&known.name, decision.of);
                }
                Kind::Decision(decision) => {
                    for free in decision.undeclared.iter().filter(|it| it.is_needed) {
                        add(&free.name, TypeId::ANY);
                    }
                    open.extend(decision.requires.iter().rev().map(|it| it.key(&path)));
                }
                Kind::Knowledge(_) | Kind::Service(_) => {}
            }
        }
        found
    }

    /// The inputs that JSON means. JSON knows no dates, times and durations: where the type of an
    /// input asks for one, its text becomes one.
    pub fn inputs_from_json(&self, invocable: &str, given: &Map) -> Context {
        let inputs = self.find(invocable).map(|it| self.typed_inputs(it)).unwrap_or_default();
        let value = |(name, value): (&Name, &travertine_value::Value)| {
            let of = inputs.get(name).copied().unwrap_or(TypeId::ANY);
            (Name::clone(name), from_json(&self.model.types, of, value))
        };
        given.iter().map(value).collect()
    }

    /// Inputs by their full and by their plain names.
    fn typed_inputs(&self, element: ElementId) -> HashMap<Name, TypeId> {
        let inputs = self.outer_inputs(element);
        let parameters = self.model.parameters(element);
        let parameters = parameters.into_iter().map(|Variable { name, of }| (name, of));
        let plain = self.model.elements.iter().filter_map(|it| match it.kind {
            Kind::Input(of) => Some((Name::clone(&it.name), of)),
            Kind::Decision(_) | Kind::Knowledge(_) | Kind::Service(_) => None,
        });
        // What is nearer comes last and counts.
        plain.rev().chain(parameters.rev()).chain(inputs).collect()
    }

    /// Evaluates a decision, a decision service or a business knowledge model by its id or name. The
    /// inputs are known by their names.
    pub fn evaluate(
        &self,
        invocable: &str,
        inputs: &Context,
        settings: &Settings,
    ) -> Result<DecisionResult, Error> {
        let no_such = || Error::NoSuchDecision(invocable.to_owned());
        let element = self.find(invocable).ok_or_else(no_such)?;
        let world = Arc::new(World {
            model: Arc::clone(&self.model),
            inputs: inputs.clone(),
            record: Record::default(),
        });
        let mut session = Session::new(settings);
        let mut run = Run { world: &world, session: &mut session };
        let value: FeelValue = match &self.model.elements[element].kind {
            Kind::Input(_) => return Err(no_such()),
            Kind::Decision(_) => run.element(&mut Frame::outermost(), &[], element)?,
            Kind::Knowledge(_) | Kind::Service(_) => run.call_with_inputs(element)?,
        };
        let (decisions, problems) = world.record.finish(&mut session);
        Ok(DecisionResult { value, decisions, problems })
    }

    /// An id goes before a name.
    fn find(&self, invocable: &str) -> Option<ElementId> {
        let by_id = self.model.by_id.get(invocable);
        by_id.or_else(|| self.model.by_name.get(invocable)).copied()
    }
}
