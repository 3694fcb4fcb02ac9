//! The way in: who asks, what that needs, and how far what they may reaches.
//!
//! A façade has a desk that nobody was admitted to. It says of each of its operations which permissions that needs,
//! and admits whoever asks: the desk that comes back acts for them. What they do not reach is not found where they
//! may not see it either, and refused by name where they may.

use std::{future::pending, slice, sync::Arc, time::Duration};

use tokio::time::sleep;
use travertine_runtime::{Address, InstanceId, is_own};
use travertine_store::{
    search::{
        Condition, InstanceColumn, JobColumn, MessageColumn, Search, TaskColumn, Test, TimerColumn,
    },
    view::{InstanceRow, Row, Table, TaskRow},
};
use travertine_value::{Name, Value};

use super::{Desk, Outcome, Refusal, Seen, key};
use crate::access::{Grants, Permission, Principal, Reach};

/// How often it is looked whether somebody who waits may still have what they wait for.
const LOOK: Duration = Duration::from_secs(1);

/// What an operation needs: one of these permissions. Where there is none, everybody may who has logged in.
pub(crate) type Needs = &'static [Permission];

/// For whom a desk acts.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    principal: Principal,
    needs: Needs,
}

impl Caller {
    fn reach(&self, permission: Permission) -> &Reach {
        let grants: &Grants = &self.principal.grants;
        grants.reach(permission)
    }

    /// Whether one of the permissions that are needed reaches it. Tasks are looked at one by one.
    fn reaches(&self, name: &str) -> bool {
        self.needs.iter().any(|it| *it != Permission::Task && self.reach(*it).has(name))
    }

    /// They see it, and may not do that.
    fn forbidden(&self, what: &str) -> Refusal {
        forbidden(&self.principal, self.needs, what)
    }

    /// Whether a task is assigned or offered to them, or to one of their groups.
    fn is_theirs(&self, task: &TaskRow) -> bool {
        let Some(name) = &self.principal.name else { return false };
        let has = |list: &str, name: &Name| {
            let list = Value::parse_json(list).ok();
            let items = list.as_ref().and_then(Value::as_list);
            items.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)))
        };
        task.assignee.as_ref() == Some(name)
            || has(&task.candidate_users, name)
            || self.principal.groups.iter().any(|it| has(&task.candidate_groups, it))
    }

    /// What must hold for a task that is assigned or offered to them.
    fn theirs(&self) -> Condition {
        let Some(name) = &self.principal.name else { return Condition::Any(Vec::new()) };
        let is = |column, test| Condition::of(column, test);
        let mut any = vec![
            is(TaskColumn::Assignee, Test::eq(Name::clone(name))),
            is(TaskColumn::CandidateUsers, Test::eq(Name::clone(name))),
        ];
        if !self.principal.groups.is_empty() {
            let groups = Test::any_of(self.principal.groups.iter().map(Name::clone));
            any.push(is(TaskColumn::CandidateGroups, groups));
        }
        Condition::Any(any)
    }
}

/// Refuses somebody something, and has it written down.
fn forbidden(principal: &Principal, needs: Needs, what: &str) -> Refusal {
    let who = principal.name.as_deref().unwrap_or("nobody");
    let names: Vec<&str> = needs.iter().map(|it| it.name()).collect();
    let needed = names.join(" or ");
    if let Some(audit) = &principal.audit {
        audit.note(principal.name.clone(), "refused", &format!("{needed} for {what}"));
    }
    Refusal::new(
        Outcome::Forbidden,
        format!(
            "{who} needs the permission {needed} for {what}: ask whoever administers this server for it"
        ),
    )
}

/// Who changes instances where nobody needs to log in.
pub(crate) const ANONYMOUS: &str = "anonymous";

impl Desk {
    /// Lets somebody in who has one of these permissions for anything. The desk acts for them from then on.
    pub(crate) fn admit(&self, principal: &Principal, needs: Needs) -> Result<Self, Refusal> {
        let caller = Caller { principal: principal.clone(), needs };
        if !needs.is_empty() && needs.iter().all(|it| caller.reach(*it).is_nothing()) {
            return Err(caller.forbidden("this"));
        }
        let engine = match &principal.name {
            Some(name) => self.engine.by(name),
            // Where nobody needs to log in, the history tells at least what an operator has done.
            None if matches!(needs, [Permission::Operate]) => self.engine.by(ANONYMOUS),
            None => self.engine.clone(),
        };
        Ok(Self { engine, caller: Some(Arc::new(caller)), ..self.clone() })
    }

    /// The desk for something that needs another permission instead.
    pub(crate) fn needing(&self, permission: Permission) -> Result<Self, Refusal> {
        static ALL: [Permission; Permission::ALL.len()] = Permission::ALL;
        let Some(caller) = &self.caller else { return Ok(self.clone()) };
        self.admit(&caller.principal, slice::from_ref(&ALL[permission as usize]))
    }

    /// The desk for what whoever asks may see besides; `None` where that is nothing.
    pub(crate) fn reading(&self) -> Option<Self> {
        let sees = self.caller.as_ref().is_none_or(|it| !it.reach(Permission::Read).is_nothing());
        if sees { self.needing(Permission::Read).ok() } else { None }
    }

    /// Who asks; `None` where that is not known.
    pub(crate) fn who(&self) -> Option<&Name> {
        self.caller.as_ref()?.principal.name.as_ref()
    }

    /// Ends when whoever asks may not do any more what they were admitted for, or perhaps not: something was changed about
    /// who may do what, or what they have logged in with has expired.
    pub(super) async fn is_outdated(&self) {
        let (Some(gate), Some(caller)) = (&self.gate, &self.caller) else { return pending().await };
        while gate.is_current(&caller.principal) {
            sleep(LOOK).await;
        }
    }

    /// Whoever asks, where what they may does not reach everything.
    fn limited(&self) -> Option<&Caller> {
        let caller = self.caller.as_deref()?;
        let everything =
            |it: &Permission| *it != Permission::Task && *caller.reach(*it) == Reach::Everything;
        (!caller.needs.iter().any(everything)).then_some(caller)
    }

    /// Whether what they may does not reach everything.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited().is_some()
    }

    /// Whether what is deployed, or asked for, under this id may be had.
    pub(crate) fn sees(&self, id: &str) -> bool {
        self.limited().is_none_or(|it| it.reaches(id))
    }

    /// Refuses what whoever asks may not do with what has this id: as `missing`, where they may not even see it.
    pub(crate) fn may(&self, id: &str, missing: impl FnOnce() -> Refusal) -> Result<(), Refusal> {
        let Some(caller) = self.limited().filter(|it| !it.reaches(id)) else { return Ok(()) };
        if caller.reach(Permission::Read).has(id) {
            return Err(caller.forbidden(id));
        }
        Err(missing())
    }

    /// Refuses what somebody else has begun to whoever may not do this with everything.
    pub(crate) fn may_begun(
        &self,
        by: Option<&str>,
        what: &str,
        missing: impl FnOnce() -> Refusal,
    ) -> Result<(), Refusal> {
        let Some(caller) = self.limited() else { return Ok(()) };
        if by.is_some() && by == caller.principal.name.as_deref() {
            return Ok(());
        }
        if *caller.reach(Permission::Read) == Reach::Everything {
            return Err(caller.forbidden(what));
        }
        Err(missing())
    }

    /// Refuses what is about all that there is to whoever may do that with some of it only.
    pub(crate) fn may_all(&self) -> Result<(), Refusal> {
        self.limited().map_or(Ok(()), |it| Err(it.forbidden("everything")))
    }

    /// Refuses a name that says nothing about what is there: of a message, a type of jobs.
    pub(crate) fn may_name(&self, name: &str) -> Result<(), Refusal> {
        match self.limited().filter(|it| !it.reaches(name)) {
            Some(caller) => Err(caller.forbidden(name)),
            None => Ok(()),
        }
    }

    /// Refuses a message that is there: as `missing`, where they may not even see it.
    pub(super) fn may_sent(
        &self,
        name: &str,
        missing: impl FnOnce() -> Refusal,
    ) -> Result<(), Refusal> {
        let Some(caller) = self.limited() else { return Ok(()) };
        let sends = caller.needs.contains(&Permission::Message);
        if sends && caller.reach(Permission::Message).has(name) {
            return Ok(());
        }
        // A message is about no definition, so it is seen by who may see everything.
        if *caller.reach(Permission::Read) == Reach::Everything {
            return Err(caller.forbidden(name));
        }
        Err(missing())
    }

    /// Refuses a row that whoever asks may do nothing with.
    pub(crate) fn may_row(
        &self,
        seen: &Seen,
        missing: impl FnOnce() -> Refusal,
    ) -> Result<(), Refusal> {
        if self.limited().is_none() {
            return Ok(());
        }
        match seen.definition() {
            Some(definition) => self.may(definition, missing),
            None => Err(missing()),
        }
    }

    /// Refuses an instance that whoever asks may do nothing with.
    pub(crate) async fn may_instance(
        &self,
        instance: InstanceId,
        missing: impl FnOnce() -> Refusal,
    ) -> Result<(), Refusal> {
        if self.limited().is_none() {
            return Ok(());
        }
        match self.about(instance).await? {
            Some(row) => self.may(&row.definition, missing),
            None => Err(missing()),
        }
    }

    /// Refuses to tell something to what is the engine's own, which has operations of its own for that.
    pub(crate) async fn may_tell(&self, instance: InstanceId) -> Result<(), Refusal> {
        let Some(row) = self.about(instance).await? else { return Ok(()) };
        if is_own(&row.definition) {
            let detail = format!(
                "instance {instance} is of {}, which only the engine tells something",
                row.definition
            );
            return Err(Refusal::new(Outcome::Forbidden, detail));
        }
        Ok(())
    }

    /// The instance of this number, whoever may see it.
    pub(super) async fn about(&self, instance: InstanceId) -> Result<Option<InstanceRow>, Refusal> {
        let search = Search::of(Table::Instances)
            .with(Condition::of(InstanceColumn::Id, Test::eq(instance.0)))
            .limit(1);
        let found = self.engine.search(search).await?.rows.pop();
        Ok(found.and_then(|it| if let Row::Instance(row) = it { Some(row) } else { None }))
    }

    /// Refuses a job that whoever asks may do nothing with. Who works is granted types of jobs, others definitions.
    pub(crate) async fn may_job(&self, at: Address, number: i64) -> Result<(), Refusal> {
        let Some(caller) = self.limited() else { return Ok(()) };
        let missing = || key::no_such("job", number, None);
        let place = (at.instance.0, at.wait.0);
        let found = self.ever(Table::Jobs, JobColumn::Key.into(), place.into()).await?;
        let found = found.ok_or_else(missing)?;
        let Row::Job(job) = &found.row else { return Err(missing()) };
        let definition = found.definition().unwrap_or_default();
        let reaches = |it: &Permission| {
            let name = if *it == Permission::Work { &*job.job_type } else { definition };
            caller.reach(*it).has(name)
        };
        if caller.needs.iter().any(reaches) {
            return Ok(());
        }
        if !caller.reach(Permission::Read).has(definition) {
            return Err(missing());
        }
        let works = caller.needs.contains(&Permission::Work);
        Err(caller.forbidden(if works { &job.job_type } else { definition }))
    }

    /// Refuses a task that whoever asks may do nothing with. Answers whether it is only theirs as it is assigned or
    /// offered to them.
    pub(crate) fn may_task(
        &self,
        seen: &Seen,
        missing: impl FnOnce() -> Refusal,
    ) -> Result<bool, Refusal> {
        let Some(caller) = self.limited() else { return Ok(false) };
        let (Row::Task(row), Some(definition)) = (&seen.row, seen.definition()) else {
            return Err(missing());
        };
        if caller.reaches(definition) {
            return Ok(false);
        }
        let is_theirs = caller.reach(Permission::Task).has(definition) && caller.is_theirs(row);
        if is_theirs && caller.needs.contains(&Permission::Task) {
            return Ok(true);
        }
        if is_theirs || caller.reach(Permission::Read).has(definition) {
            return Err(caller.forbidden(definition));
        }
        Err(missing())
    }

    /// Somebody else has the task, or is to have it.
    pub(crate) fn others_task(&self, seen: &Seen) -> Refusal {
        static OPERATE: Needs = &[Permission::Operate];
        let what = format!("tasks of others in {}", seen.definition().unwrap_or_default());
        let principal = self.caller.as_ref().map(|it| it.principal.clone());
        forbidden(&principal.unwrap_or_else(Principal::anybody), OPERATE, &what)
    }

    /// A search that finds only what whoever asks may see, so that totals do not tell of the rest, either.
    pub(crate) fn narrowed(&self, mut search: Search) -> Search {
        search.conditions.extend(self.limited().and_then(|it| it.visible(search.table)));
        search
    }
}

impl Caller {
    /// What must hold for rows of a table that they may see; `None` where they may see all.
    fn visible(&self, table: Table) -> Option<Condition> {
        let mut any = Vec::new();
        for permission in self.needs {
            let reach = self.reach(*permission);
            let condition = match (table, permission) {
                (Table::Messages, Permission::Message) => reach.condition(MessageColumn::Name),
                // A message is about no definition.
                (Table::Messages, _) if *reach != Reach::Everything => continue,
                (Table::Messages, _) => None,
                (Table::Timers, _) => reach.condition(TimerColumn::Definition),
                (Table::Jobs, Permission::Work) => reach.condition(JobColumn::JobType),
                (Table::Tasks, Permission::Task) => {
                    let of = reach.condition(InstanceColumn::Definition);
                    Some(Condition::All(of.into_iter().chain([self.theirs()]).collect()))
                }
                (_, Permission::Task) => continue,
                _ => reach.condition(InstanceColumn::Definition),
            };
            any.push(condition?);
        }
        Some(Condition::Any(any))
    }
}

impl Seen {
    /// The id of the definition that it is about.
    pub(crate) fn definition(&self) -> Option<&str> {
        match (&self.row, &self.about) {
            (Row::Instance(row), _) => Some(&row.definition),
            (Row::Timer(row), _) => Some(&row.definition),
            (_, about) => about.as_deref().map(|it| &*it.definition),
        }
    }
}
