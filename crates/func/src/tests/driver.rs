//! Does for a journal what the kernel does, and holds every beginning of it against the code.

use std::fmt::Write as _;

use travertine_kernel::{self as kernel, Assignments, Decision, Journal, JournalEntry, TokenId};
use travertine_value::{Value, time::Timestamp};

use crate::{
    Advance, Answer, Arguments, Blocked, Failure, Identity, Session, SessionSettings,
    WorkflowDefinition,
};

pub(super) struct Driver {
    definition: WorkflowDefinition,
    settings: SessionSettings,
    arguments: Assignments,
    pub(super) journal: Journal,
    pub(super) session: Session,
    pub(super) now: i64,
    /// What was decided after so many entries.
    decided: Vec<(usize, Vec<Decision>)>,
    pub(super) answers: Vec<Answer>,
}

impl Driver {
    pub(super) fn new(definition: WorkflowDefinition) -> Self {
        Self::with(definition, SessionSettings::default(), Vec::new())
    }

    pub(super) fn with(
        definition: WorkflowDefinition,
        settings: SessionSettings,
        arguments: Assignments,
    ) -> Self {
        let began = JournalEntry::Began { at: Timestamp::from_millis(0) };
        let (token, entries) = (TokenId(1), vec![began]);
        let journal = Journal::of(token, 0, entries, true);
        let session = session(&definition, settings, &arguments);
        let (decided, answers) = (Vec::new(), Vec::new());
        let mut driver =
            Self { definition, settings, arguments, journal, session, now: 0, decided, answers };
        driver.think();
        driver
    }

    /// Lets the code think about what it was told, and writes down what it decides.
    fn think(&mut self) {
        let advance = self.session.advance(&self.journal).expect("the code can go on");
        self.take(advance);
    }

    fn take(&mut self, advance: Advance) {
        self.answers.extend(advance.answers);
        self.decided.push((self.journal.entries.len(), advance.decisions.clone()));
        for decision in advance.decisions {
            let entry = match decision {
                Decision::Ask { key, input, .. } => JournalEntry::Asked { key, input },
                Decision::Record { key, value } => JournalEntry::Recorded { key, value },
                Decision::Post { key, input, .. } => JournalEntry::Sent { key, input },
                Decision::Drop { operation } => JournalEntry::Dropped { operation },
                Decision::Complete { .. }
                | Decision::Fail(_)
                | Decision::Cancel
                | Decision::ContinueAs { .. } => continue,
            };
            self.journal.entries.push(entry.into());
        }
        self.journal.due = false;
    }

    pub(super) fn tell(&mut self, entry: JournalEntry) {
        self.journal.entries.push(entry.into());
        self.journal.due = true;
        self.think();
    }

    fn keys(&self) -> Vec<&str> {
        let entries = self.journal.entries.iter();
        entries.filter_map(|it| it.key().map(|key| &**key)).collect()
    }

    /// The number of an operation.
    pub(super) fn number(&self, key: &str) -> u32 {
        let keys = self.keys();
        let at = keys.iter().position(|it| *it == key);
        at.unwrap_or_else(|| panic!("no `{key}` in {keys:?}")).try_into().unwrap()
    }

    pub(super) fn end(&mut self, key: &str, outcome: Result<Assignments, Failure>) {
        let operation = self.number(key);
        let open = self.session.waits();
        assert!(open.iter().any(|it| &**it == key), "`{key}` is not among {open:?}");
        let at = Timestamp::from_millis(self.now);
        self.tell(JournalEntry::Done { operation, at, outcome: outcome.map_err(Into::into) });
    }

    /// An activity or a child function is done.
    pub(super) fn done(&mut self, key: &str, result: impl Into<Value>) {
        self.end(key, Ok(vec![("result".into(), result.into())]));
    }

    /// A timer is due.
    pub(super) fn fire(&mut self, key: &str) {
        self.end(key, Ok(Vec::new()));
    }

    pub(super) fn fail(&mut self, key: &str, code: &str) {
        self.end(key, Err(Failure::terminal(code, "it did")));
    }

    pub(super) fn cancel(&mut self) {
        self.tell(JournalEntry::Cancelled { at: Timestamp::from_millis(self.now) });
    }

    pub(super) fn update(&mut self, name: &str, input: impl Into<Value>) {
        let (at, input) = (Timestamp::from_millis(self.now), input.into());
        self.tell(JournalEntry::Updated { at, name: name.into(), input, id: None });
    }

    /// The last decision, where it is an end.
    pub(super) fn last(&self) -> Option<&Decision> {
        self.decided.last()?.1.last()
    }

    pub(super) fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.decided.iter().flat_map(|(_, decisions)| decisions)
    }

    #[track_caller]
    pub(super) fn completed(&self) -> Value {
        match self.last() {
            Some(Decision::Complete { variables }) => variables[0].1.clone(),
            other => panic!("not completed but {other:?}\n{}", self.trace()),
        }
    }

    #[track_caller]
    pub(super) fn failed(&self) -> &kernel::Failure {
        match self.last() {
            Some(Decision::Fail(failure)) => failure,
            other => panic!("not failed but {other:?}\n{}", self.trace()),
        }
    }

    /// The session is thrown away and made again from the journal, as after a crash. A journal that
    /// nothing was added to decides nothing.
    pub(super) fn evict(&mut self) {
        self.session = session(&self.definition, self.settings, &self.arguments);
        let advance = self.session.advance(&self.journal).expect("the code can go on");
        assert_eq!(advance.decisions, [], "after an eviction");
    }

    /// Throws the session away and goes on with other code.
    pub(super) fn swap(&mut self, definition: WorkflowDefinition) {
        self.definition = definition;
        self.decided.clear();
        self.evict();
    }

    /// Every beginning of the journal, cut after something that was told, decides again what it
    /// decided then.
    #[track_caller]
    pub(super) fn check(&self) {
        for (at, decisions) in &self.decided {
            let mut journal = self.journal.clone();
            journal.entries.truncate(*at);
            journal.due = true;
            let mut session = session(&self.definition, self.settings, &self.arguments);
            let advance = session.advance(&journal).expect("it went on the first time");
            assert_eq!(&advance.decisions, decisions, "cut after {at} entries\n{}", self.trace());
        }
    }

    /// What other code makes of this journal.
    pub(super) fn replay(&self, definition: &WorkflowDefinition) -> Result<Advance, Blocked> {
        session(definition, self.settings, &self.arguments).advance(&self.journal)
    }

    /// The journal in words.
    pub(super) fn trace(&self) -> String {
        let keys = self.keys();
        let mut text = String::new();
        for entry in &self.journal.entries {
            let _ = match &**entry {
                JournalEntry::Began { .. } => writeln!(text, "> began"),
                JournalEntry::Asked { key, .. } => writeln!(text, "ask {key}"),
                JournalEntry::Sent { key, .. } => writeln!(text, "{key}"),
                JournalEntry::Recorded { key, value } => writeln!(text, "record {key} = {value}"),
                JournalEntry::Dropped { operation } => {
                    writeln!(text, "drop {}", keys[*operation as usize])
                }
                JournalEntry::Done { operation, outcome, .. } => {
                    let key = keys[*operation as usize];
                    match outcome {
                        Ok(_) => writeln!(text, "> {key} done"),
                        Err(it) => writeln!(text, "> {key} failed: {}", it.message),
                    }
                }
                JournalEntry::Cancelled { .. } => writeln!(text, "> cancelled"),
                JournalEntry::Updated { name, input, .. } => writeln!(text, "> {name}({input})"),
            };
        }
        let _ = match self.last() {
            Some(Decision::Complete { variables }) => {
                writeln!(text, "completed: {}", variables[0].1)
            }
            Some(Decision::Fail(failure)) => {
                let code = failure.code.as_deref().unwrap_or_default();
                writeln!(text, "failed: {code}: {}", failure.message)
            }
            Some(Decision::Cancel) => writeln!(text, "ended: cancelled"),
            Some(Decision::ContinueAs { definition, .. }) => {
                writeln!(text, "continues as {definition}")
            }
            _ => writeln!(text, "waits for {}", self.session.waits().join(", ")),
        };
        text
    }
}

fn session(
    definition: &WorkflowDefinition,
    settings: SessionSettings,
    arguments: &Assignments,
) -> Session {
    let identity = Identity { id: "i".into(), seed: 1, run: 0 };
    let arguments = Arguments::new(definition.name, arguments.clone());
    Session::new(definition, identity, arguments, settings)
}
