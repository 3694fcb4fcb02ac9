//! What has happened to an instance: its history, its events one by one, and how it was at any of them.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use travertine_data::{
    account, history as documents,
    history::{Happened, Page, Part, parts},
    journal::Journal,
    json, look,
};
use travertine_draw::Marks;
use travertine_kernel::{Assignments, Branch, Event, Instance, Reason, Role, apply, tree, why};
use travertine_runtime::{
    Definition, Definitions, InstanceId, Timestamp,
    engine::{History, Step},
};
use travertine_store::record::Record;
use travertine_value::{Map, Name, Value};

use super::{
    call::{Answer, Call},
    problem::Problem,
};
use crate::desk::{Refusal, off_the_executor};

/// A moment in the life of an instance: after an entry of its log, or after so many events of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) entry: u64,
    /// How many events of the entry have happened; all, where that is not said.
    pub(super) event: Option<u64>,
}

impl FromStr for Moment {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let wrong = || {
            Refusal::invalid(format!(
                "{text:?} is no moment: write the number of an entry, such as 12, or that and how many of its events \
                 have happened, such as 12.7"
            ))
        };
        let (entry, event) =
            text.split_once('.').map_or((text, None), |(it, event)| (it, Some(event)));
        let entry = entry.parse().map_err(|_| wrong())?;
        let event = event.map(str::parse).transpose().map_err(|_| wrong())?;
        Ok(Self { entry, event })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.event {
            Some(event) => write!(f, "{}.{event}", self.entry),
            None => self.entry.fmt(f),
        }
    }
}

/// An instance as it is, or as it was at a moment.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) instance: InstanceId,
    pub(super) definition: Arc<Definition>,
    pub(super) state: Instance,
    /// When it was so; `None` where it is so now.
    at: Option<(Moment, Timestamp)>,
    reasons: Option<Vec<Reason>>,
    variables: Assignments,
    pub(super) marks: Option<Marks>,
}

impl Past {
    /// The instance of the path, at the moment of the parameter `at`.
    pub(super) async fn of(call: &Call) -> Result<Self, Problem> {
        let instance = call.instance().await?;
        if let Some(text) = call.parameter("at") {
            return Self::at_moment(call, instance, text.parse()?, false).await;
        }
        let look = call.desk.engine().look(instance).await?;
        Ok(Self {
            instance,
            definition: look.definition,
            state: look.state,
            at: None,
            reasons: Some(look.reasons),
            variables: look.variables,
            marks: None,
        })
    }

    /// An instance at a moment, with what it had done by then where a picture wants it.
    pub(super) async fn at_moment(
        call: &Call,
        instance: InstanceId,
        moment: Moment,
        with_marks: bool,
    ) -> Result<Self, Problem> {
        let (history, definitions) = read(call, instance).await?;
        let past = off_the_executor(move || Self::find(&history, &definitions, moment, with_marks));
        Ok(past.await?)
    }

    fn find(
        history: &History,
        definitions: &Definitions,
        moment: Moment,
        with_marks: bool,
    ) -> Result<Self, Refusal> {
        let first = history.steps.first();
        let step = history.steps.iter().rfind(|it| it.seq <= moment.entry);
        let (Some(step), Some(first)) = (step, first) else {
            let first = first.map(|it| it.seq).unwrap_or_default();
            let detail =
                format!("instance {} begins with entry {first}, after {moment}", history.instance);
            return Err(Refusal::not_found(detail));
        };
        if is_shortened(first) {
            return Err(gone(history.instance));
        }
        // Of an entry before which nothing is meant, all has happened.
        let upto = moment.event.filter(|_| step.seq == moment.entry);
        let total = parts(step).count() as u64;
        if let Some(event) = upto.filter(|it| *it > total) {
            let detail = format!("entry {} has {total} events, not {event}", step.seq);
            return Err(Refusal::not_found(detail));
        }
        let before = history.steps.iter().rfind(|it| it.seq < step.seq);
        let mut state = match (upto, before) {
            (None, _) => history.state_at(step.seq),
            (Some(_), Some(before)) => history.state_at(before.seq),
            (Some(_), None) => Instance::default(),
        };
        let mut definition = step.definition;
        if let Some(upto) = upto {
            let mut has_migrated = false;
            for part in parts(step).take(usize::try_from(upto).unwrap_or(usize::MAX)) {
                match part {
                    Part::Event(event) => {
                        has_migrated |= matches!(event, Event::Migrated { .. });
                        apply(&mut state, event);
                    }
                    Part::Record(Record::Ended(_)) => state = history.state_at(step.seq),
                    Part::Record(_) => {}
                }
            }
            let migrates = |it: Part<'_>| matches!(it, Part::Event(Event::Migrated { .. }));
            if let (true, false, Some(before)) = (parts(step).any(migrates), has_migrated, before) {
                definition = before.definition;
            }
        }
        let definition = definitions.get(definition).unwrap_or(&history.definition);
        let marks =
            with_marks.then(|| marks(history, definitions, step.seq, upto, definition, &state));
        let variables = state
            .variables()
            .into_iter()
            .flatten()
            .map(|(name, value)| (Name::clone(name), value.clone()))
            .collect();
        let event = upto.or_else(|| moment.event.map(|_| total));
        Ok(Self {
            instance: history.instance,
            definition: Arc::clone(definition),
            state,
            at: Some((Moment { entry: step.seq, event }, step.at)),
            reasons: None,
            variables,
            marks,
        })
    }

    pub(super) fn is_past(&self) -> bool {
        self.at.is_some()
    }

    /// The moment, where it is not now.
    pub(super) fn at(&self) -> Value {
        self.at.map(|(moment, _)| moment.to_string()).into()
    }

    pub(super) fn tree(&self) -> Option<Branch> {
        tree(&self.definition.plan, &self.state)
    }

    pub(super) fn reasons(&self) -> Vec<Reason> {
        self.reasons.clone().unwrap_or_else(|| why(&self.definition.plan, &self.state))
    }

    /// It at its moment, as the command line tells it.
    fn document(&self) -> Value {
        let (branch, reasons) = (self.tree(), self.reasons());
        let (moment, time) =
            self.at.unwrap_or_else(|| (Moment { entry: 0, event: None }, Timestamp::default()));
        let document = json::object([
            ("instance", json::key(self.instance.0)),
            ("entry", json::key(moment.entry)),
            ("time", time.to_string().into()),
            ("definition", Name::clone(&self.definition.id).into()),
            ("version", self.definition.version.into()),
            ("variables", self.variables.iter().cloned().collect()),
            ("tree", look::tree(branch.as_ref())),
            ("waits", reasons.iter().map(|it| look::past(self.instance, it)).collect()),
        ]);
        let Some(event) = moment.event else { return document };
        let mut fields = document.as_map().cloned().unwrap_or_default();
        fields.insert("event".into(), event.into());
        fields.into()
    }
}

/// The history of an instance, and what is deployed.
pub(super) async fn read(
    call: &Call,
    instance: InstanceId,
) -> Result<(History, Arc<Definitions>), Problem> {
    let engine = call.desk.engine().clone();
    let read = move || Ok((engine.history(instance)?, engine.definitions()));
    Ok(off_the_executor(read).await?)
}

fn is_shortened(first: &Step) -> bool {
    first.records.iter().any(|it| matches!(it, Record::Folded(_)))
}

fn gone(instance: InstanceId) -> Refusal {
    Refusal::not_found(format!(
        "what happened to instance {instance} is not kept any more; only how it began and ended is"
    ))
}

/// What an instance had done by a moment.
fn marks(
    history: &History,
    definitions: &Definitions,
    entry: u64,
    upto: Option<u64>,
    definition: &Definition,
    state: &Instance,
) -> Marks {
    let journal = Journal::default();
    let find = |key| definitions.get(key).unwrap_or(&history.definition);
    let mut by = history.steps.first().map(|it| it.definition);
    for step in history.steps.iter().take_while(|it| it.seq <= entry) {
        let most = match upto {
            Some(upto) if step.seq == entry => usize::try_from(upto).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        for part in parts(step).take(most) {
            let Part::Event(event) = part else { continue };
            if let Event::Migrated { nodes, .. } = event {
                let next = step.records.iter().find_map(|it| match it {
                    Record::Migrated { definition } => Some(*definition),
                    _ => None,
                });
                let old = by.map_or(&history.definition, find);
                let new = next.map_or(&history.definition, find);
                journal.migrate(history.instance, (&old.plan, &new.plan), nodes);
                by = next;
            } else {
                let plan = &by.map_or(&history.definition, find).plan;
                journal.note(history.instance, plan, std::slice::from_ref(event));
            }
        }
    }
    journal.marks([(&*definition.plan, state)].into_iter())
}

pub(super) async fn history(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 100, 1_000)? as usize;
    let after = call.whole("after")?.unwrap_or(0);
    let (history, definitions) = read(&call, call.instance().await?).await?;
    let document = off_the_executor(move || {
        let account = account::account(&history, &definitions);
        let story = documents::story(&history, &definitions);
        let page = Page::of(&history, after, Some(limit));
        Ok(documents::history(&history, &story, &account, &page))
    });
    Ok(Answer::Document(document.await?))
}

/// Events one by one, an entry after the other; each says where it stands.
fn page(
    history: &History,
    definitions: &Definitions,
    wanted: impl Fn(&Happened, &Definition) -> bool,
    after: Moment,
    limit: usize,
) -> (Vec<Value>, Option<Moment>) {
    let story = documents::story(history, definitions);
    let (mut page, mut last) = (Vec::new(), None);
    for (step, definition, told) in &story {
        for (at, it) in told.iter().enumerate() {
            let here = Moment { entry: step.seq, event: Some(at as u64 + 1) };
            if !is_behind(here, after) || !wanted(it, definition) {
                continue;
            }
            if page.len() == limit {
                return (page, last);
            }
            page.push(placed(it, definition, here, step.at).into());
            last = Some(here);
        }
    }
    (page, None)
}

/// An event with its place and time.
fn placed(it: &Happened, definition: &Definition, here: Moment, at: Timestamp) -> Map {
    let document = documents::event(it, definition);
    let mut fields = document.as_map().cloned().unwrap_or_default();
    fields.insert("at".into(), here.to_string().into());
    fields.insert("time".into(), at.to_string().into());
    fields
}

/// Whether a moment is behind another, after which nothing of that entry is meant where it names no event.
fn is_behind(here: Moment, after: Moment) -> bool {
    match after.event {
        None => here.entry > after.entry,
        Some(_) => here > after,
    }
}

fn after(call: &Call) -> Result<Moment, Problem> {
    match call.parameter("after") {
        Some(text) => Ok(text.parse()?),
        None => Ok(Moment { entry: 0, event: None }),
    }
}

pub(super) async fn events(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 200, 1_000)? as usize;
    let (kind, element) = (call.parameter("kind"), call.parameter("element"));
    let (kind, element) = (kind.map(str::to_owned), element.map(str::to_owned));
    let name = call.parameter("name").map(str::to_owned);
    let wanted = move |it: &Happened, definition: &Definition| {
        let is_at =
            |id: &String| it.element.is_some_and(|node| *definition.plan.node(node).name == **id);
        let is_named = |name: &String| {
            it.fields.iter().any(|(field, value)| *field == "name" && value.as_str() == Some(name))
        };
        kind.as_ref().is_none_or(|kind| kind == it.kind)
            && element.as_ref().is_none_or(is_at)
            && name.as_ref().is_none_or(is_named)
    };
    let after = after(&call)?;
    let (history, definitions) = read(&call, call.instance().await?).await?;
    let instance = history.instance;
    let (page, next) =
        off_the_executor(move || Ok(page(&history, &definitions, wanted, after, limit))).await?;
    Ok(Answer::Document(json::object([
        ("instance", json::key(instance.0)),
        ("events", page.into()),
        ("next", next.map(|it| it.to_string()).into()),
    ])))
}

pub(super) async fn moment(call: Call) -> Result<Answer, Problem> {
    let moment = call.path("moment").parse()?;
    let past = Past::at_moment(&call, call.instance().await?, moment, false).await?;
    Ok(Answer::Document(past.document()))
}

/// How many frames an answer has at most.
const FRAMES_MAX: u32 = 500;

/// What changes from event to event, in lots: for each the event, and how many tokens are then at the elements where
/// that has changed. The first frame of an answer has all elements.
pub(super) async fn frames(call: Call) -> Result<Answer, Problem> {
    let limit = call.number("limit", 200, FRAMES_MAX)? as usize;
    let after = after(&call)?;
    let (history, definitions) = read(&call, call.instance().await?).await?;
    let document = off_the_executor(move || {
        if history.steps.first().is_some_and(is_shortened) {
            return Err(gone(history.instance));
        }
        Ok(film(&history, &definitions, after, limit))
    });
    Ok(Answer::Document(document.await?))
}

fn film(history: &History, definitions: &Definitions, after: Moment, limit: usize) -> Value {
    let story = documents::story(history, definitions);
    let mut state = Instance::default();
    let mut shown: Option<BTreeMap<Name, u64>> = None;
    let (mut frames, mut next, mut total) = (Vec::new(), None, 0_u64);
    let mut last = None;
    for (step, definition, told) in &story {
        total += told.len() as u64;
        for (at, (it, part)) in told.iter().zip(parts(step)).enumerate() {
            match part {
                Part::Event(event) => apply(&mut state, event),
                Part::Record(Record::Ended(_)) => state = history.state_at(step.seq),
                Part::Record(_) => {}
            }
            let here = Moment { entry: step.seq, event: Some(at as u64 + 1) };
            if !is_behind(here, after) {
                continue;
            }
            if frames.len() == limit {
                next = next.or(last);
                continue;
            }
            let now = tokens(definition, &state);
            let changed = difference(shown.as_ref(), &now);
            shown = Some(now);
            let mut fields = placed(it, definition, here, step.at);
            fields.insert("tokens".into(), changed);
            frames.push(Value::from(fields));
            last = Some(here);
        }
    }
    json::object([
        ("instance", json::key(history.instance.0)),
        ("frames", frames.into()),
        ("count", total.into()),
        ("next", next.map(|it| it.to_string()).into()),
    ])
}

/// How many tokens flow at each element: those that host others are where they are.
fn tokens(definition: &Definition, state: &Instance) -> BTreeMap<Name, u64> {
    let mut counts: BTreeMap<Name, u64> = BTreeMap::new();
    for (id, token) in &state.tokens {
        if !state.scopes.contains_key(id) && flows(token.role) {
            *counts.entry(Name::clone(&definition.plan.node(token.node).name)).or_default() += 1;
        }
    }
    counts
}

fn flows(role: Role) -> bool {
    match role {
        Role::Flow | Role::Run(_) | Role::Branch(_) => true,
        Role::Guard(_) | Role::Start | Role::Compensation => false,
    }
}

fn difference(before: Option<&BTreeMap<Name, u64>>, now: &BTreeMap<Name, u64>) -> Value {
    let none = BTreeMap::new();
    let before = before.unwrap_or(&none);
    let gone = before.keys().filter(|it| !now.contains_key(*it)).map(|it| (it, &0));
    let changed = now.iter().filter(|(element, count)| before.get(*element) != Some(count));
    changed
        .chain(gone)
        .map(|(element, count)| (Name::clone(element), Value::from(*count)))
        .collect()
}
