//! A sandbox for one case: deploys its models and takes it step by step.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard},
};

use travertine_bpmn::{Dialect, Options, Severity};
use travertine_kernel::{Assignments, Role, Token, WaitFor, plan::Element};
use travertine_runtime::{InstanceId, Live, Sandbox};
use travertine_value::{Map, Name};

use super::{
    Failure, Restarts,
    format::{Case, Expectation, Step, Suite},
    journal::Journal,
    language::{self, Written},
    model,
};

/// A case that causes more events than this in one step never rests.
const EVENTS_MAX: u64 = 1_000_000;

/// So many diagnostics say enough.
const DIAGNOSTICS_MAX: usize = 4;

pub(super) struct World<'a> {
    pub(super) suite: &'a Suite,
    pub(super) case: &'a Case,
    pub(super) sandbox: Sandbox,
    journal: Arc<Mutex<Journal>>,
    pub(super) written: Written,
    /// The instances that steps have given names to.
    pub(super) names: BTreeMap<String, InstanceId>,
    /// What the last action was refused with. It may be what is expected next.
    pub(super) refusal: Option<String>,
}

/// Something expected, and what is there instead.
pub(super) struct Difference {
    pub(super) expected: String,
    pub(super) found: String,
}

impl<'a> World<'a> {
    pub(super) fn new(suite: &'a Suite, case: &'a Case, restarts: &Restarts) -> Self {
        let journal = Arc::new(Mutex::new(Journal::default()));
        let mut sandbox = restarts.sandbox(&case.id);
        sandbox.limit_events(EVENTS_MAX);
        let noted = Arc::clone(&journal);
        sandbox.observe(move |turned| {
            noted.lock().expect("nobody fails while looking on").note(turned);
        });
        Self {
            suite,
            case,
            sandbox,
            journal,
            written: Written::default(),
            names: BTreeMap::new(),
            refusal: None,
        }
    }

    pub(super) fn run(mut self, restarts: &Restarts) -> Result<(), Failure> {
        if let Err(reasons) = self.deploy() {
            let wanted = self.case.steps.iter().any(|step| {
                let Step::Expect { expectation, .. } = step else { return false };
                matches!(expectation, Expectation::Rejected | Expectation::Error)
            });
            let expected = "the models are deployed".to_owned();
            let difference = Difference { expected, found: format!("refused: {reasons}") };
            return if wanted { Ok(()) } else { Err(self.failure(0, difference)) };
        }
        for (position, step) in self.case.steps.iter().enumerate() {
            if let Err(error) = restarts.restart(&mut self.sandbox) {
                let difference =
                    Difference { expected: "a restart".to_owned(), found: error.to_string() };
                return Err(self.failure(position, difference));
            }
            self.step(step).map_err(|difference| self.failure(position + 1, difference))?;
        }
        match self.refusal.take() {
            None => Ok(()),
            Some(found) => {
                let expected = "the last action is accepted".to_owned();
                Err(self.failure(self.case.steps.len(), Difference { expected, found }))
            }
        }
    }

    fn failure(&self, step: usize, difference: Difference) -> Failure {
        let Difference { expected, found } = difference;
        Failure { step, expected, found, trace: self.journal().trace.clone() }
    }

    fn deploy(&mut self) -> Result<(), String> {
        let files = model::files(self.suite, self.case).map_err(|error| error.to_string())?;
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let mut options = Options::new(language::languages(self.suite, self.case, &self.written));
        options.wait_tasks.clone_from(&self.case.wait_tasks);
        // What must be refused is what breaks the standard, and nothing else has to keep to it.
        let refuses =
            |it: &Step| matches!(it, Step::Expect { expectation: Expectation::Rejected, .. });
        options.strict = self.case.steps.iter().any(refuses);
        options.dialect = self.is_camunda().then_some(Dialect::Camunda7);
        let report = travertine_bpmn::read(&files, &options);
        if report.is_rejected() {
            let errors = report.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            let texts: Vec<String> =
                errors.take(DIAGNOSTICS_MAX).map(ToString::to_string).collect();
            return Err(texts.join(" | "));
        }
        // Camunda takes no notice of processes that are not meant to be run.
        let runs = |executable: bool| executable || !self.is_camunda();
        let processes = report.processes.iter().filter(|it| runs(it.executable));
        let all: Vec<_> =
            processes.map(|it| (Name::from(it.id.as_str()), Arc::clone(&it.plan))).collect();
        self.sandbox.deploy(&all).map(drop).map_err(|error| error.to_string())
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().expect("nobody fails while looking on")
    }

    pub(super) fn is_camunda(&self) -> bool {
        self.suite.name == "camunda7"
    }

    fn step(&mut self, step: &Step) -> Result<(), Difference> {
        match step {
            Step::Act { action, instance, refused } => {
                self.no_refusal()?;
                let before = self.active(None);
                let outcome = self.act(action, instance.as_deref());
                if !refused {
                    self.refusal = outcome.err().map(|error| format!("{error}{}", self.stuck()));
                    return Ok(());
                }
                let after = self.active(None);
                if outcome.is_ok() && before != after {
                    let expected = format!("it has no effect on {before:?}");
                    return Err(Difference { expected, found: format!("{after:?}") });
                }
                Ok(())
            }
            Step::Expect { expectation, instance } => {
                let may_be_refused = matches!(
                    expectation,
                    Expectation::Incident(_) | Expectation::Outcome(_) | Expectation::Error
                );
                if may_be_refused && self.refusal.take().is_some() {
                    return Ok(());
                }
                self.no_refusal()?;
                self.expect(expectation, instance.as_deref()).map_err(|mut difference| {
                    difference.found.push_str(&self.stuck());
                    difference
                })
            }
        }
    }

    fn no_refusal(&mut self) -> Result<(), Difference> {
        match self.refusal.take() {
            None => Ok(()),
            Some(found) => {
                Err(Difference { expected: "the action before is accepted".to_owned(), found })
            }
        }
    }

    /// Everything that cannot go on, for messages.
    fn stuck(&self) -> String {
        let mut text = String::new();
        for record in self.sandbox.instances() {
            for trouble in record.troubles() {
                let element = &record.plan().node(record.state.tokens[&trouble.token].node).name;
                write!(text, "; incident at {element}: {}", trouble.message)
                    .expect("a string takes every text");
            }
        }
        text
    }

    /// The instances that a step means: the named one with all it has called, or all of them.
    pub(super) fn meant(&self, name: Option<&str>) -> impl Fn(InstanceId) -> bool + use<> {
        let wanted = name.map(|it| self.names.get(it).copied());
        let callers: BTreeMap<InstanceId, InstanceId> = self
            .sandbox
            .instances()
            .filter_map(|it| Some((it.id, it.caller()?.instance)))
            .collect();
        move |id| match wanted {
            None => true,
            Some(None) => false,
            Some(Some(wanted)) => {
                let mut next = Some(id);
                while let Some(id) = next
                    && id != wanted
                {
                    next = callers.get(&id).copied();
                }
                next.is_some()
            }
        }
    }

    /// The root instance that a step means: the named one, or the one started last.
    pub(super) fn root(&self, name: Option<&str>) -> Option<&Live> {
        match name {
            Some(name) => self.sandbox.instance(*self.names.get(name)?),
            None => self.sandbox.instances().filter(|it| !it.is_called()).last(),
        }
    }

    /// The elements that wait, sorted.
    pub(super) fn active(&self, instance: Option<&str>) -> Vec<String> {
        let meant = self.meant(instance);
        let mut active = Vec::new();
        for record in self.sandbox.instances().filter(|it| meant(it.id) && it.state.is_running()) {
            for token in record.state.tokens.values() {
                if is_active(record, token) {
                    active.push(record.plan().node(token.node).name.to_string());
                }
            }
        }
        active.sort();
        active
    }
}

/// Whether a token waits for something outside, and not beside another or for other tokens.
fn is_active(record: &Live, token: &Token) -> bool {
    if matches!(token.role, Role::Guard(_) | Role::Start) {
        return false;
    }
    if matches!(record.plan().node(token.node).element, Element::EventBased) {
        return !token.guards.is_empty();
    }
    token.waits.keys().any(|wait| match &*record.state.waits[wait].on {
        WaitFor::Work(_)
        | WaitFor::Timer { .. }
        | WaitFor::Message { .. }
        | WaitFor::Signal { .. }
        | WaitFor::Condition
        | WaitFor::Gate(_)
        | WaitFor::Choice
        | WaitFor::Data { .. } => true,
        WaitFor::Delivery(_) | WaitFor::Child { .. } => false,
    })
}

pub(super) fn assignments(map: &Map) -> Assignments {
    map.iter().map(|(name, value)| (Name::clone(name), value.clone())).collect()
}
