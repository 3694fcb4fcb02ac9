//! What is done with the model of a page, in words.
//!
//! ```text
//! > start {"amount": 3}              the first process; `start ID` another
//! > start at ordered                 as if that start event had happened; `start ID at ordered`
//! > complete approve {"ok": true}    the oldest wait at an element is met; `complete approve 2` the second
//! > raise charge refused             the work raises an error
//! > escalate pack late               the work raises an escalation
//! > fail charge 0                    the work fails, with so many tries left
//! > message paid order=7 {"sum": 3}  with what it must agree on, and what it brings
//! > signal stop
//! > advance PT1H
//! > set {"x": 1}                     variables of the instance started last
//! > conditions {"x": 1}              offered to conditional start events
//! > retry charge
//! > cancel
//! > tree                             the scopes and tokens there are
//! > check                            what the reader has to say of the model
//! ```

use std::sync::{Arc, Mutex};

use travertine_bpmn::{KnownDecisions, Options, Report, Severity, read};
use travertine_kernel::{Assignments, Ending, Role, TokenId, WaitFor, tree};
use travertine_runtime::{Address, Error, Live, Message, Models, Receipt, Sandbox, Start};
use travertine_value::{Map, Name, Value};

use super::story::Story;
use crate::{assignments, clock};

/// A world with the processes of a model.
pub(super) struct Stage {
    sandbox: Sandbox,
    story: Arc<Mutex<Story>>,
    report: Report,
}

impl Stage {
    pub(super) fn new(model: &str, decisions: Option<&Models>) -> Result<Self, String> {
        let decisions = decisions.map_or(&[][..], |it| &it.decisions);
        let names = decisions.iter().flat_map(|it| it.names()).collect();
        let decided = KnownDecisions { names, deployed: false };
        let options = Options { decisions: decided, ..Options::default() };
        let report = read(&[("model.bpmn", model.as_bytes())], &options);
        let mut sandbox = Sandbox::new(clock::DAWN);
        let story = Arc::new(Mutex::new(Story::default()));
        let told = Arc::clone(&story);
        sandbox.observe(move |turned| {
            told.lock().expect("nobody fails while looking on").tell(&turned);
        });
        let all = report.processes.iter();
        let all: Vec<_> = all.map(|it| (Name::from(&*it.id), Arc::clone(&it.plan))).collect();
        sandbox.deploy_decisions(decisions).map_err(text)?;
        sandbox.deploy(&all).map_err(text)?;
        Ok(Self { sandbox, story, report })
    }

    /// Takes step after step, and tells what came of them.
    pub(super) fn play<'s>(
        mut self,
        steps: impl Iterator<Item = &'s str>,
    ) -> Result<String, String> {
        let errors = self.report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        for step in steps {
            if step != "check" && !errors.is_empty() {
                return Err(errors.join("; "));
            }
            self.say(&format!("> {step}"));
            if let Err(refusal) = self.step(step)? {
                self.say(&format!("  refused: {refusal}"));
            }
        }
        let ends: Vec<String> = self.sandbox.instances().map(end).collect();
        for line in ends {
            self.say(&line);
        }
        let story = self.story.lock().expect("nobody fails while looking on");
        Ok(story.text.trim_end().to_owned())
    }

    fn say(&self, line: &str) {
        self.story.lock().expect("nobody fails while looking on").say(line);
    }

    /// Takes a step. What nobody understands is an error of the page; what the engine refuses is
    /// part of the story.
    fn step(&mut self, step: &str) -> Result<Result<(), String>, String> {
        let (words, variables) = match step.find(" {") {
            Some(at) => (&step[..at], assignments(&step[at..])),
            None => (step, Assignments::new()),
        };
        let words: Vec<&str> = words.split(' ').collect();
        let done = match *words {
            ["start"] => self.start(None, None, variables),
            ["start", "at", at] => self.start(None, Some(at), variables),
            ["start", process] => self.start(Some(process), None, variables),
            ["start", process, "at", at] => self.start(Some(process), Some(at), variables),
            ["complete", element] => {
                let to = self.wait(element, 0)?;
                self.sandbox.complete(to, variables)
            }
            ["complete", element, position] => {
                let position: usize = position.parse().map_err(|_| format!("which? {step}"))?;
                let to = self.wait(element, position - 1)?;
                self.sandbox.complete(to, variables)
            }
            ["raise", element, code] => {
                let to = self.wait(element, 0)?;
                self.sandbox.raise(to, code, &format!("{code} was raised"), variables)
            }
            ["escalate", element, code] => {
                let to = self.wait(element, 0)?;
                self.sandbox.escalate(to, code, variables)
            }
            ["fail", element, retries] => {
                let to = self.wait(element, 0)?;
                let retries = retries.parse().map_err(|_| format!("how many? {step}"))?;
                self.sandbox.fail(to, retries, "it broke")
            }
            ["message", name, ref properties @ ..] => {
                let mut message = Message::new(name);
                for property in properties {
                    let (name, value) = property.split_once('=').ok_or("a property needs `=`")?;
                    let value = Value::parse_json(value).map_err(|it| it.to_string())?;
                    message.correlation.push((name.into(), value));
                }
                message.variables = variables;
                self.sandbox.publish(message).map(|receipt| match receipt {
                    Receipt::Noted => self.say("  noted"),
                    Receipt::Held => self.say("  held"),
                    Receipt::Dropped => self.say("  dropped"),
                    Receipt::Known => self.say("  known"),
                    Receipt::Received(_) | Receipt::Shared(_) | Receipt::Started(_) => {}
                })
            }
            ["signal", name] => self.sandbox.signal(name, &variables).map(drop),
            ["advance", duration] => {
                let to = clock::after(self.sandbox.now(), duration)?;
                self.sandbox.advance(to)
            }
            ["set"] => {
                let id = self.sandbox.instances().last().ok_or("there is no instance")?.id;
                self.sandbox.set_variables(id, None, variables)
            }
            ["conditions"] => self.sandbox.evaluate_conditions(&variables).map(drop),
            ["retry", element] => {
                let mut all = self.sandbox.instances();
                let found = all.find_map(|live| {
                    let troubles = live.troubles();
                    let it = troubles.iter().find(|it| is_at(live, it.token, element));
                    it.map(|it| (live.id, it.token))
                });
                drop(all);
                let (id, token) = found.ok_or_else(|| format!("no incident at {element}"))?;
                self.sandbox.retry(id, token)
            }
            ["cancel"] => {
                let id = self.sandbox.instances().last().ok_or("there is no instance")?.id;
                self.sandbox.cancel(id)
            }
            ["tree"] => {
                let running = self.sandbox.instances().filter(|it| it.state.is_running());
                let trees = running.filter_map(|it| tree(it.plan(), &it.state));
                let trees: Vec<String> = trees.map(|it| it.to_string()).collect();
                for line in trees.concat().lines() {
                    self.say(&format!("  {line}"));
                }
                Ok(())
            }
            ["check"] => {
                for it in &self.report.diagnostics {
                    self.say(&format!("  {} {}: {}", it.severity, it.code, it.message));
                }
                Ok(())
            }
            _ => return Err(format!("no such step: {step}")),
        };
        Ok(done.map_err(text))
    }

    fn start(
        &mut self,
        process: Option<&str>,
        at: Option<&str>,
        variables: Assignments,
    ) -> Result<(), Error> {
        let first = self.report.processes.first().map(|it| it.id.clone()).unwrap_or_default();
        let definition = process.unwrap_or(&first);
        self.sandbox.start(Start { definition, at, business_id: None, variables }).map(drop)
    }

    /// What waits at an element: work before anything else, what flows before what stands beside.
    fn wait(&self, element: &str, position: usize) -> Result<Address, String> {
        let mut found = Vec::new();
        for live in self.sandbox.instances() {
            for (wait, it) in &live.state.waits {
                let rank = match (&*it.on, live.state.tokens[&it.token].role) {
                    (WaitFor::Work(_), _) => 0,
                    (_, Role::Guard(_) | Role::Start) => 2,
                    _ => 1,
                };
                if is_at(live, it.token, element) {
                    found.push((rank, Address { instance: live.id, wait: *wait }));
                }
            }
        }
        found.sort();
        let found = found.get(position).map(|(_, it)| *it);
        let all: Vec<String> = self.sandbox.instances().map(end).collect();
        found.ok_or_else(|| format!("nothing waits at {element}: {}", all.join(", ")))
    }
}

fn is_at(live: &Live, token: TokenId, element: &str) -> bool {
    &*live.plan().node(live.state.tokens[&token].node).name == element
}

/// How an instance is at the end of a page.
fn end(live: &Live) -> String {
    let how = match live.state.ending() {
        Some(Ending::Completed) => "completed".to_owned(),
        Some(Ending::Failed(_)) => "failed".to_owned(),
        Some(Ending::Cancelled) => "cancelled".to_owned(),
        None => rest(live),
    };
    let variables = live.variables().map(|(name, value)| (Arc::clone(name), value.clone()));
    let variables = Value::from(variables.collect::<Map>()).to_json();
    format!("= {} {} {how} {variables}", live.definition.id, live.id)
}

fn rest(live: &Live) -> String {
    let tokens = live.state.tokens.values().filter(|it| !it.waits.is_empty());
    let tokens = tokens.filter(|it| !matches!(it.role, Role::Guard(_) | Role::Start));
    let mut nodes: Vec<&str> = tokens.map(|it| &*live.plan().node(it.node).name).collect();
    nodes.sort_unstable();
    if nodes.is_empty() { "rests".to_owned() } else { format!("waits at {}", nodes.join(", ")) }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn text(error: Error) -> String {
    error.to_string()
}
