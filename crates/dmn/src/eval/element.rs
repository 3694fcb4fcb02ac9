//! Elements and what they require.

use std::sync::Arc;

use travertine_lang::feel::{Context, FeelValue, Function, Parameter, Session, Type};
use travertine_value::{Limit, Name};

use super::{Frame, Key, Run, Valued, World};
use crate::{
    model::{Decision, ElementId, FunctionOf, Kind, Requirement, Service, Variable},
    result::LogicKind,
    scope::Scope,
    types::TypeId,
};

impl Run<'_, '_> {
    /// The value of an element, reached through these imports. What it requires comes first, then
    /// what that requires, without recursion: a chain of requirements may be long.
    pub(crate) fn element(
        &mut self,
        frame: &mut Frame,
        path: &[Name],
        element: ElementId,
    ) -> Valued {
        let mut open: Vec<Key> = vec![(path.to_vec(), element)];
        let mut last = FeelValue::Null;
        while let Some(key) = open.last() {
            if let Some(known) = frame.known.get(key) {
                last = known.clone();
                open.pop();
                continue;
            }
            let unknown = self.unknown(frame, key)?;
            if !unknown.is_empty() {
                open.extend(unknown.into_iter().rev());
                continue;
            }
            let key = open.pop().expect("it was just looked at");
            last = self.ready(frame, &key.0, key.1)?;
            frame.known.insert(key, last.clone());
        }
        Ok(last)
    }

    /// What must be known before an element can be evaluated.
    fn unknown(&mut self, frame: &Frame, (path, element): &Key) -> Result<Vec<Key>, Limit> {
        let requires = match &self.world.model.elements[*element].kind {
            Kind::Decision(decision) if decision.logic.is_some() => &decision.requires[..],
            Kind::Decision(_) | Kind::Input(_) | Kind::Knowledge(_) | Kind::Service(_) => &[],
        };
        self.session.charge((1 + requires.len()).saturating_mul(1 + path.len()))?;
        let keys = requires.iter().map(|it| it.key(path));
        Ok(keys.filter(|it| !frame.known.contains_key(it)).collect())
    }

    /// The value of an element whose requirements are known.
    fn ready(&mut self, frame: &mut Frame, path: &[Name], element: ElementId) -> Valued {
        let model = Arc::clone(self.model());
        Ok(match &model.elements[element].kind {
            Kind::Input(of) => self.input(frame, path, &model.elements[element].name, *of)?,
            Kind::Decision(decision) => self.decision(frame, path, element, decision)?,
            Kind::Knowledge(_) => self.knowledge(path, element).into(),
            Kind::Service(_) => self.service(path, element).into(),
        })
    }

    fn input(&mut self, frame: &Frame, path: &[Name], name: &Name, of: TypeId) -> Valued {
        let given = frame.is_outermost.then(|| given(&self.world.inputs, path, name)).flatten();
        let Some(value) = given else {
            let name = qualified(path, name);
            self.missing(&name);
            return Ok(FeelValue::Null);
        };
        self.coerce(of, value, None, || format!("the input '{name}'"))
    }

    fn decision(
        &mut self,
        frame: &mut Frame,
        path: &[Name],
        element: ElementId,
        decision: &Decision,
    ) -> Valued {
        let name = Name::clone(&self.model().elements[element].name);
        let Some(logic) = &decision.logic else {
            return self.input(frame, path, &name, decision.of);
        };
        let mut names = self.required(frame, path, &decision.requires)?;
        if frame.is_outermost {
            let inputs = &self.world.inputs;
            let free = decision.undeclared.iter().map(|it| &it.name);
            let free = free.filter_map(|it| Some((Name::clone(it), given(inputs, path, it)?)));
            names.extend(free);
        }
        let known = &self.world.model.elements[element];
        let record = &self.world.record;
        record.begin(qualified(path, &name));
        let value = self.boxed(logic, &Scope::default().with(names))?;
        let what = || "the result".to_owned();
        let value = self.coerce(decision.of, value, Some(&logic.spot), what)?;
        record.end(known.id.as_deref(), logic.logic.kind(), &value);
        Ok(value)
    }

    /// The names that requirements bring. What comes through imports stands in contexts.
    fn required(
        &mut self,
        frame: &mut Frame,
        path: &[Name],
        requires: &[Requirement],
    ) -> Result<Vec<(Name, FeelValue)>, Limit> {
        let mut names = Vec::new();
        let mut imported = Context::default();
        for requirement in requires {
            let (there, element) = requirement.key(path);
            let value = self.element(frame, &there, element)?;
            let name = Name::clone(&self.model().elements[element].name);
            if requirement.path.is_empty() {
                names.push((name, value));
            } else {
                imported = insert(imported, &requirement.path, name, value);
            }
        }
        names.extend(imported.into_entries());
        Ok(names)
    }

    /// The function that a business knowledge model is.
    fn knowledge(&self, path: &[Name], element: ElementId) -> Function {
        let path = path.to_vec();
        self.function(element, move |arguments, run| {
            let model = Arc::clone(run.model());
            let Kind::Knowledge(knowledge) = &model.elements[element].kind else {
                unreachable!("an element stays what it is")
            };
            let mut frame = Frame { known: std::collections::BTreeMap::new(), is_outermost: false };
            let mut names = run.required(&mut frame, &path, &knowledge.requires)?;
            names.push((
                Name::clone(&knowledge.function.name),
                run.knowledge(&path, element).into(),
            ));
            let scope = Scope::default().with(names);
            run.call(&knowledge.function, &scope, arguments)
        })
    }

    /// The function that a decision service is.
    fn service(&self, path: &[Name], element: ElementId) -> Function {
        let path = path.to_vec();
        self.function(element, move |arguments, run| {
            let model = Arc::clone(run.model());
            let Kind::Service(service) = &model.elements[element].kind else {
                unreachable!("an element stays what it is")
            };
            run.serve(&path, service, arguments)
        })
    }

    /// The result of a decision service with these values for its inputs.
    fn serve(&mut self, path: &[Name], service: &Service, arguments: &[FeelValue]) -> Valued {
        let model = Arc::clone(self.model());
        let mut known = std::collections::BTreeMap::new();
        for (requirement, value) in service.inputs.iter().zip(arguments) {
            let name = &model.elements[requirement.element].name;
            let of = model.type_of(requirement.element);
            let value =
                self.fitting(of, value.clone(), None, || format!("the argument '{name}'"))?;
            // A service that is called with what it does not take is not called.
            let Some(value) = value else { return Ok(FeelValue::Null) };
            known.insert(requirement.key(path), value);
        }
        let mut frame = Frame { known, is_outermost: false };
        let mut results = Vec::new();
        for requirement in &service.outputs {
            let (there, element) = requirement.key(path);
            let value = self.element(&mut frame, &there, element)?;
            results.push((Name::clone(&model.elements[element].name), value));
        }
        let value = if results.len() == 1 {
            results.remove(0).1
        } else {
            FeelValue::Context(results.into_iter().collect())
        };
        self.coerce(service.result, value, None, || "the result of the decision service".to_owned())
    }

    /// A function that evaluates something of the model. Its arguments are not checked before.
    fn function(
        &self,
        element: ElementId,
        call: impl Fn(&[FeelValue], &mut Run<'_, '_>) -> Valued + Send + Sync + 'static,
    ) -> Function {
        let name = Name::clone(&self.model().elements[element].name);
        native(self.world, name, &self.model().parameters(element), call)
    }

    /// The function that a boxed function definition is.
    pub(super) fn closure(&self, function: &Arc<FunctionOf>, scope: &Scope) -> Function {
        let (of, scope) = (Arc::clone(function), scope.clone());
        native(
            self.world,
            Name::clone(&function.name),
            &function.parameters,
            move |arguments, run| run.call(&of, &scope, arguments),
        )
    }

    /// The value of a function's body. With an argument of a wrong type it is null.
    fn call(&mut self, function: &FunctionOf, scope: &Scope, arguments: &[FeelValue]) -> Valued {
        let mut names = Vec::with_capacity(arguments.len());
        for (Variable { name, of }, value) in function.parameters.iter().zip(arguments) {
            let what = || format!("the argument '{name}' of '{}'", function.name);
            let Some(value) = self.fitting(*of, value.clone(), None, what)? else {
                return Ok(FeelValue::Null);
            };
            names.push((Name::clone(name), value));
        }
        let value = self.boxed(&function.body, &scope.with(names))?;
        let what = || format!("the result of '{}'", function.name);
        self.coerce(function.result, value, Some(&function.body.spot), what)
    }

    fn missing(&self, name: &Name) {
        let message = format!("the input '{name}' is missing");
        self.world.record.problem(None, message, self.session);
    }

    /// Calls an element that is a function, with the inputs as arguments.
    pub(crate) fn call_with_inputs(&mut self, element: ElementId) -> Valued {
        let model = Arc::clone(self.model());
        let mut arguments = Vec::new();
        for Variable { name, .. } in model.parameters(element) {
            let value = self.world.inputs.get(&name);
            if value.is_none() {
                self.missing(&name);
            }
            arguments.push(value.unwrap_or_default());
        }
        match &model.elements[element].kind {
            Kind::Service(service) => self.serve(&[], service, &arguments),
            Kind::Input(_) | Kind::Decision(_) | Kind::Knowledge(_) => {
                let record = &self.world.record;
                record.begin(Name::clone(&model.elements[element].name));
                let value = self.knowledge(&[], element).call(arguments, self.session)?;
                let id = model.elements[element].id.as_deref();
                record.end(id, LogicKind::Invocation, &value);
                Ok(value)
            }
        }
    }
}

/// Arguments are checked by whoever is called, who knows more than the types of FEEL.
fn native(
    world: &Arc<World>,
    name: Name,
    parameters: &[Variable],
    call: impl Fn(&[FeelValue], &mut Run<'_, '_>) -> Valued + Send + Sync + 'static,
) -> Function {
    let parameter = |it: &Variable| Parameter { name: Name::clone(&it.name), of: Type::Any };
    let parameters = parameters.iter().map(parameter).collect();
    let world = Arc::clone(world);
    let call = move |arguments: &[FeelValue], session: &mut Session<'_>| {
        call(arguments, &mut Run { world: &world, session })
    };
    Function::native(name, parameters, Type::Any, Box::new(call))
}

/// The name with those of the imports on the way.
fn qualified(path: &[Name], name: &Name) -> Name {
    let all: Vec<_> = path.iter().chain([name]).map(|it| &**it).collect();
    all.join(".").into()
}

/// The value of an input. One of an imported model is given in contexts named like the imports, or
/// by its name with theirs before it; nearer imports may be left out.
fn given(inputs: &Context, path: &[Name], name: &Name) -> Option<FeelValue> {
    (0..=path.len()).find_map(|skipped| {
        let path = &path[skipped..];
        let nested = path
            .iter()
            .try_fold(inputs.clone(), |inputs, step| inputs.get(step)?.as_context().cloned());
        let nested = nested.and_then(|it| it.get(name));
        nested.or_else(|| inputs.get(&qualified(path, name)))
    })
}

fn insert(context: Context, path: &[Name], name: Name, value: FeelValue) -> Context {
    let Some((first, rest)) = path.split_first() else { return context.with(name, value) };
    let inner = context.get(first).and_then(|it| it.as_context().cloned()).unwrap_or_default();
    let inner = insert(inner, rest, name, value);
    context.with(Name::clone(first), inner.into())
}
