//! What each kind of node does when a token is in it.
//!
//! A node answers with a [`Step`]; the life cycle acts on it. To add a kind: give it a variant in
//! [`Element`], answer for it here, and the compiler finds the rest.

use std::sync::Arc;

use travertine_value::{EvalError, Name, Value};

use crate::{
    plan::{BusinessRule, Call, Catch, Element, Node, Start, Throw, Work, WorkKind},
    rules::{EXTERNAL_FORM, FORM, FORM_BINDING, FORM_KEY, Rule},
    run::{Run, script_failure},
    state::{Cue, Role, ScopeKind},
    vocabulary::{
        Assignments, Event, Failure, FailureKind, Job, Part, Post, Slot, TokenId, WaitFor, WaitId,
    },
};

/// What becomes of the token.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It stays at work, until something it waits for happens.
    Wait,
    /// Its work is done.
    Leave,
    /// All has been seen to.
    Settled,
}

/// How often work may fail before someone must look at it, where the model does not say.
const RETRIES: u32 = 3;

impl<'a> Run<'a> {
    pub(crate) fn enter_element(
        &mut self,
        token: TokenId,
        node: &'a Node,
    ) -> Result<Step, Failure> {
        match &node.element {
            Element::Process(_) => unreachable!("the process's token is never cued to arrive"),
            Element::SubProcess(_) => self.open_container(token, ScopeKind::SubProcess),
            Element::Transaction(_) => self.open_container(token, ScopeKind::Transaction),
            Element::EventSubProcess(_) => self.open_container(token, ScopeKind::EventSubProcess),
            Element::AdHoc(_) => self.open_container(token, ScopeKind::AdHoc),
            Element::Gosub { process } => self.open_gosub(token, *process),
            Element::Start(start) if self.is_awaited(token, start) => {
                self.open_triggers(token, &start.triggers)?;
                Ok(Step::Wait)
            }
            Element::Start(_) | Element::Pass | Element::Exclusive => Ok(Step::Leave),
            Element::Task => Ok(self.take_time(token)),
            Element::Script { program, result } => {
                let outcome =
                    self.run_script(token, program).map_err(self.at(token, Part::Script))?;
                for (name, value) in outcome.writes {
                    self.take_result(token, name, value);
                }
                if let Some(result) = result {
                    self.take_result(token, Arc::clone(result), Some(outcome.value));
                }
                Ok(Step::Leave)
            }
            Element::BusinessRule(rule) => {
                self.make_decision(token, rule).map_err(self.at(token, Part::Decision))
            }
            Element::Work(work) => {
                let job = self.job(token, work)?;
                self.open(token, Slot::Own(0), WaitFor::Work(job));
                Ok(Step::Wait)
            }
            Element::Send(send) => {
                let post = self.message(token, send)?;
                self.open(token, Slot::Own(0), WaitFor::Delivery(post));
                Ok(Step::Wait)
            }
            Element::Receive(catch) | Element::Catch(catch) => self.await_event(token, catch),
            Element::Decision => {
                self.open(token, Slot::Own(0), WaitFor::Choice);
                Ok(Step::Wait)
            }
            Element::Function => {
                self.begin_function(token);
                Ok(Step::Wait)
            }
            Element::Boundary(_) => unreachable!("boundary events are triggered, not entered"),
            Element::Throw(throws) => {
                // Whoever is on the way to a signal shall hear it.
                if throws.iter().any(|it| matches!(it, Throw::Signal { .. })) {
                    self.emit(Event::TokenCued { token, cue: Cue::Throw });
                    return Ok(Step::Settled);
                }
                self.throw_all(token, throws)
            }
            Element::Parallel => Ok(self.join_parallel(token, node)),
            Element::Inclusive => Ok(self.join_inclusive(token, node)),
            Element::Complex { activation } => self.join_complex(token, node, activation),
            Element::EventBased => self.race(token, node),
            Element::FanOut => self.fan_out(token, node),
            Element::FanIn(_) => self.branch_arrives(token),
            Element::Call(call) => self.call(token, call),
        }
    }

    /// Whether a start event has not happened yet: another one of several started the instance.
    fn is_awaited(&self, token: TokenId, start: &Start) -> bool {
        !start.with.is_empty() && !self.instance.start.contains(&self.instance.token(token).node)
    }

    pub(crate) fn run_script(
        &self,
        token: TokenId,
        program: &travertine_value::Program,
    ) -> Result<travertine_value::Outcome, Failure> {
        let outcome = program
            .run(&self.view(token), &self.plan.limits)
            .map_err(|error: EvalError| script_failure(program, &error))?;
        let written = outcome.writes.iter().filter_map(|(name, it)| Some((&**name, it.as_ref()?)));
        for (name, value) in written.chain([("the result", &outcome.value)]) {
            self.check_value(value).map_err(|why| {
                Failure::new(FailureKind::Script, format!("{name} would be {why}"))
            })?;
        }
        Ok(outcome)
    }

    /// Makes the decision of a business rule task by the version that it means now.
    fn make_decision(&mut self, token: TokenId, rule: &BusinessRule) -> Result<Step, Failure> {
        let decision = self.eval_name(token, &rule.decision)?;
        let failed = |message: String| Failure::new(FailureKind::Script, message);
        let Rule { decision, version, program } =
            self.rules.find(&decision, rule.binding.as_deref())?;
        let outcome = program.run(&self.view(token), &self.plan.limits);
        let value = outcome.map(|it| it.value).map_err(|error| {
            failed(format!("decision '{decision}', version {version}: {error}"))
        })?;
        let value = if rule.listed { Value::List(Arc::new(vec![value])) } else { value };
        self.check_value(&value).map_err(|why| {
            failed(format!("the result of decision '{decision}', version {version}, is {why}"))
        })?;
        self.emit(Event::DecisionMade { token, decision, version });
        if let Some(result) = &rule.result {
            self.take_result(token, Arc::clone(result), Some(value));
        }
        Ok(Step::Leave)
    }

    pub(crate) fn job(&self, token: TokenId, work: &Work) -> Result<Job, Failure> {
        self.work_of(token, work).map_err(self.at(token, Part::Work))
    }

    fn work_of(&self, token: TokenId, work: &Work) -> Result<Job, Failure> {
        let retries = match &work.retries {
            None => RETRIES,
            Some(program) => {
                let value = self.eval(token, program)?;
                whole(&value).ok_or_else(|| {
                    let message = format!(
                        "the number of retries `{}` is {}, not a whole number",
                        program.quoted(),
                        value
                    );
                    Failure::new(FailureKind::Script, message)
                })?
            }
        };
        let mut fields = self.eval_all(token, &work.fields)?;
        if work.kind == WorkKind::User {
            self.link_form(&mut fields);
        }
        Ok(Job {
            kind: work.kind,
            job_type: self.eval_name(token, &work.job_type)?,
            retries,
            fields,
            options: None,
            failure: None,
        })
    }

    /// Finds out which version of its form a user task shows from now on.
    fn link_form(&self, fields: &mut Assignments) {
        let text = |fields: &Assignments, name: &str| {
            let found = fields.iter().find(|(it, _)| &**it == name);
            found.and_then(|(_, it)| it.as_str().map(Name::from))
        };
        let Some(form) = text(fields, FORM) else { return };
        let binding = text(fields, FORM_BINDING);
        fields.retain(|(name, _)| &**name != FORM_BINDING);
        if fields.iter().any(|(name, _)| &**name == EXTERNAL_FORM) {
            return;
        }
        let key = self.rules.form(&form, binding.as_deref());
        if let Some(key) = key.and_then(|it| i64::try_from(it).ok()) {
            fields.push((FORM_KEY.into(), key.into()));
        }
    }

    fn await_event(&mut self, token: TokenId, catch: &'a Catch) -> Result<Step, Failure> {
        // A receive task that names several messages waits for one of them in each run.
        let triggers = if let Role::Run(index) = self.instance.token(token).role
            && !catch.all
            && catch.triggers.len() > 1
        {
            std::slice::from_ref(&catch.triggers[index as usize])
        } else {
            &catch.triggers
        };
        self.open_triggers(token, triggers)?;
        Ok(Step::Wait)
    }

    /// Makes the events of a throw event happen that wait for all others to rest.
    pub(crate) fn throw_late(&mut self, token: TokenId) -> Result<(), Failure> {
        let Element::Throw(throws) = &self.node_of(token).element else {
            unreachable!("only throw events throw")
        };
        let step = self.throw_all(token, throws)?;
        self.take_step(token, step)
    }

    /// Gives a signal to everyone in the instance who waits for it now.
    fn signal(&mut self, name: &Name, payload: &Assignments) {
        let Some(waits) = self.instance.signals.get(name) else { return };
        let waits: Vec<WaitId> = waits.iter().copied().collect();
        for id in waits {
            // An earlier one may have taken a later one away.
            let Some(wait) = self.instance.waits.get(&id).cloned() else { continue };
            if !self.instance.incidents.contains_key(&wait.token) {
                self.complete(id, &wait, payload.clone());
            }
        }
    }

    pub(crate) fn throw_all(
        &mut self,
        token: TokenId,
        throws: &'a [Throw],
    ) -> Result<Step, Failure> {
        let mut step = Step::Leave;
        for throw in throws {
            match throw {
                Throw::Message(send) => {
                    let post = self.message(token, send)?;
                    self.post(post);
                }
                Throw::Signal { name, payload } => {
                    let name = self.eval_name(token, name).map_err(self.at(token, Part::Name))?;
                    let payload = self.payload(token, payload)?;
                    self.signal(&name, &payload);
                    self.post(Post::Signal { name, payload });
                }
                Throw::Escalation { code, payload } => {
                    let payload = self.payload(token, payload)?;
                    if self.escalate(token, code.clone(), payload) {
                        step = Step::Wait;
                    }
                }
                Throw::Error { code, message, payload } => {
                    let payload = self.payload(token, payload)?;
                    let message = match message {
                        Some(program) => self.eval_name(token, program)?.to_string(),
                        None => match code {
                            Some(code) => format!("error {code} was raised"),
                            None => "an error was raised".to_owned(),
                        },
                    };
                    let failure =
                        Failure { code: code.clone(), ..Failure::new(FailureKind::Error, message) };
                    if payload.is_empty() {
                        return Err(failure);
                    }
                    self.fail_with(token, failure, payload, Cue::Enter);
                    return Ok(Step::Settled);
                }
                Throw::Compensation { activity, wait } => {
                    if self.throw_compensation(token, *activity, *wait) {
                        step = Step::Settled;
                    }
                }
                Throw::Cancel => {
                    self.cancel_transaction(token);
                    return Ok(Step::Settled);
                }
                Throw::Terminate => {
                    self.terminate(token);
                    return Ok(Step::Settled);
                }
            }
            // An interrupting handler may have taken the thrower away.
            if !self.instance.tokens.contains_key(&token) {
                return Ok(Step::Settled);
            }
        }
        Ok(step)
    }

    fn call(&mut self, token: TokenId, call: &Call) -> Result<Step, Failure> {
        let definition =
            self.eval_name(token, &call.definition).map_err(self.at(token, Part::Call))?;
        let variables = if call.all_in {
            self.view(token).all()
        } else {
            let inputs = self.node_of(token).extras.as_ref().map_or(&[][..], |it| &it.inputs);
            let layer = &self.instance.layers[&self.instance.token(token).layer].variables;
            inputs
                .iter()
                .filter_map(|(name, _)| Some((Arc::clone(name), layer.get(name)?.clone())))
                .collect()
        };
        let catches = self.catches(token);
        let binding = match &call.computed {
            Some(it) => Some(self.eval_name(token, it).map_err(self.at(token, Part::Call))?),
            None => call.binding.clone(),
        };
        self.open(token, Slot::Own(0), WaitFor::Child { definition, binding, variables, catches });
        Ok(Step::Wait)
    }
}

/// A value as a count.
pub(crate) fn whole(value: &Value) -> Option<u32> {
    let number = match value {
        Value::Number(number) => number.to_i64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => return None,
    };
    u32::try_from(number).ok()
}
