//! Rows of the views as rows of tables that people can read, in any database.

use rusqlite::types::FromSqlError;
use travertine_kernel::{ElementKind, Part};
use travertine_value::{Name, time::Timestamp};

use super::{Cell, Cells, Places};
use crate::{
    ShardId,
    view::{
        ElementRow, IncidentRow, InstanceRow, InstanceState, JobRow, JobState, Key, MessageRow,
        Row, SubscriptionKind, SubscriptionRow, Table, TaskRow, TaskState, TimerRow, VariableRow,
    },
};

/// The instances that have not ended, for indexes and for the queries that are to use them: SQLite must
/// find the same words in both.
pub(crate) const OPEN: &str = "ended IS NULL";
/// Values that can be looked for by index.
pub(crate) const SHORT: &str = "length(value) <= 200";
/// How long they are in characters.
pub(crate) const SHORT_MAX: usize = 200;

/// The tables of the views. What has ended costs one row in `instances`, with entries only in the indexes
/// that have a reason.
pub(crate) fn schema() -> String {
    format!(
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
         CREATE TABLE checkpoints(shard INTEGER PRIMARY KEY, upto INTEGER NOT NULL, state BLOB NOT NULL, sum INTEGER NOT NULL);
         CREATE TABLE snapshots(instance INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL);
         CREATE TABLE instances(id INTEGER PRIMARY KEY, business_id TEXT,
             definition_key INTEGER NOT NULL, definition TEXT NOT NULL, definition_name TEXT,
             version INTEGER NOT NULL, version_tag TEXT, state TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER, parent INTEGER,
             parent_wait INTEGER, root INTEGER NOT NULL, incidents INTEGER NOT NULL,
             last INTEGER NOT NULL, reason TEXT, result TEXT, tags TEXT);
         CREATE INDEX instances_open ON instances(id) WHERE {OPEN};
         CREATE INDEX instances_open_by_definition ON instances(definition, id) WHERE {OPEN};
         CREATE INDEX instances_open_by_definition_and_start ON instances(definition, started)
             WHERE {OPEN};
         CREATE INDEX instances_by_start ON instances(started);
         CREATE INDEX instances_by_business_id ON instances(business_id, id)
             WHERE business_id IS NOT NULL;
         CREATE INDEX instances_by_parent ON instances(parent, parent_wait) WHERE parent IS NOT NULL;
         CREATE INDEX instances_by_root ON instances(root) WHERE root <> id;
         CREATE INDEX instances_by_end ON instances(ended) WHERE ended IS NOT NULL;
         CREATE INDEX instances_with_incidents ON instances(id) WHERE incidents > 0;
         CREATE TABLE elements(instance INTEGER NOT NULL, token INTEGER NOT NULL, visit INTEGER NOT NULL,
             element TEXT NOT NULL, label TEXT, kind TEXT NOT NULL, state TEXT NOT NULL, scope INTEGER,
             scope_visit INTEGER NOT NULL, incident INTEGER, since INTEGER NOT NULL,
             PRIMARY KEY(instance, token)) WITHOUT ROWID;
         CREATE INDEX elements_by_element ON elements(element, instance);
         CREATE TABLE variables(instance INTEGER NOT NULL, layer INTEGER NOT NULL, name TEXT NOT NULL,
             value TEXT NOT NULL, number INTEGER NOT NULL, visit INTEGER NOT NULL,
             PRIMARY KEY(instance, layer, name)) WITHOUT ROWID;
         CREATE INDEX variables_by_value ON variables(name, value) WHERE {SHORT};
         CREATE TABLE jobs({JOBS}) WITHOUT ROWID;
         CREATE INDEX jobs_by_type ON jobs(job_type, instance, wait);
         CREATE TABLE tasks({TASKS}) WITHOUT ROWID;
         CREATE INDEX tasks_by_assignee ON tasks(assignee, instance, wait);
         CREATE INDEX tasks_by_creation ON tasks(created, instance, wait);
         CREATE INDEX tasks_by_due ON tasks(due) WHERE due IS NOT NULL;
         CREATE TABLE timers(instance INTEGER NOT NULL, wait INTEGER NOT NULL, definition TEXT NOT NULL,
             element TEXT NOT NULL, due INTEGER NOT NULL, body BLOB NOT NULL, visit INTEGER NOT NULL,
             PRIMARY KEY(instance, wait)) WITHOUT ROWID;
         CREATE INDEX timers_by_due ON timers(due);
         CREATE TABLE subscriptions(instance INTEGER NOT NULL, wait INTEGER NOT NULL,
             keeper INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, element TEXT NOT NULL,
             correlation TEXT NOT NULL, body BLOB NOT NULL, created INTEGER NOT NULL,
             PRIMARY KEY(instance, wait)) WITHOUT ROWID;
         CREATE INDEX subscriptions_by_name ON subscriptions(name, instance, wait);
         CREATE TABLE incidents({INCIDENTS}) WITHOUT ROWID;
         CREATE TABLE messages(id INTEGER PRIMARY KEY, name TEXT NOT NULL, message_id TEXT,
             correlation TEXT NOT NULL, body BLOB NOT NULL, published INTEGER NOT NULL,
             expires INTEGER, dead INTEGER, reason TEXT);
         CREATE INDEX messages_by_name ON messages(name, id);
         CREATE INDEX messages_dead ON messages(id) WHERE dead IS NOT NULL;
         CREATE TABLE past_jobs({JOBS}) WITHOUT ROWID;
         CREATE INDEX past_jobs_by_end ON past_jobs(ended);
         CREATE INDEX past_jobs_by_type ON past_jobs(job_type, instance, wait);
         CREATE TABLE past_tasks({TASKS}) WITHOUT ROWID;
         CREATE INDEX past_tasks_by_end ON past_tasks(ended);
         CREATE INDEX past_tasks_by_assignee ON past_tasks(assignee, instance, wait);
         CREATE INDEX past_tasks_by_creation ON past_tasks(created, instance, wait);
         CREATE TABLE past_incidents({INCIDENTS}) WITHOUT ROWID;
         CREATE INDEX past_incidents_by_end ON past_incidents(ended);"
    )
}

/// Columns of jobs, tasks and incidents: those that are there, and those that are over.
const JOBS: &str = "instance INTEGER NOT NULL, wait INTEGER NOT NULL, token INTEGER NOT NULL,
    element TEXT NOT NULL, job_type TEXT NOT NULL, state TEXT NOT NULL,
    retries INTEGER NOT NULL, priority INTEGER NOT NULL, until INTEGER, worker TEXT,
    headers TEXT NOT NULL, created INTEGER NOT NULL, visit INTEGER NOT NULL, listener TEXT,
    error TEXT, error_code TEXT, ended INTEGER, by TEXT, PRIMARY KEY(instance, wait)";
const TASKS: &str = "instance INTEGER NOT NULL, wait INTEGER NOT NULL, token INTEGER NOT NULL,
    element TEXT NOT NULL, label TEXT, assignee TEXT, candidate_users TEXT NOT NULL,
    candidate_groups TEXT NOT NULL, due INTEGER, follow_up INTEGER, priority INTEGER NOT NULL,
    form TEXT, fields TEXT NOT NULL, created INTEGER NOT NULL, visit INTEGER NOT NULL,
    state TEXT NOT NULL, ended INTEGER, by TEXT, PRIMARY KEY(instance, wait)";
const INCIDENTS: &str = "instance INTEGER NOT NULL, number INTEGER NOT NULL,
    token INTEGER NOT NULL, element TEXT NOT NULL, kind TEXT NOT NULL, code TEXT,
    message TEXT NOT NULL, since INTEGER NOT NULL, visit INTEGER NOT NULL, part TEXT,
    wait INTEGER, listener TEXT, ended INTEGER, by TEXT, PRIMARY KEY(instance, number)";

/// The columns of a table, in the order in which they are written and read here.
pub(crate) fn columns(table: Table) -> &'static [&'static str] {
    match table {
        Table::Instances => &[
            "id",
            "business_id",
            "definition_key",
            "definition",
            "version",
            "state",
            "started",
            "ended",
            "parent",
            "parent_wait",
            "root",
            "incidents",
            "last",
            "reason",
            "result",
            "definition_name",
            "version_tag",
            "tags",
        ],
        Table::Elements => &[
            "instance",
            "token",
            "element",
            "label",
            "state",
            "scope",
            "since",
            "visit",
            "kind",
            "scope_visit",
            "incident",
        ],
        Table::Variables => &["instance", "layer", "name", "value", "number", "visit"],
        Table::Jobs | Table::PastJobs => &[
            "instance",
            "wait",
            "token",
            "element",
            "job_type",
            "state",
            "retries",
            "priority",
            "until",
            "worker",
            "headers",
            "created",
            "visit",
            "listener",
            "error",
            "error_code",
            "ended",
            "by",
        ],
        Table::Tasks | Table::PastTasks => &[
            "instance",
            "wait",
            "token",
            "element",
            "label",
            "assignee",
            "candidate_users",
            "candidate_groups",
            "due",
            "follow_up",
            "priority",
            "form",
            "fields",
            "created",
            "visit",
            "state",
            "ended",
            "by",
        ],
        Table::Timers => &["instance", "wait", "definition", "element", "due", "body", "visit"],
        Table::Subscriptions => &[
            "instance",
            "wait",
            "keeper",
            "kind",
            "name",
            "element",
            "correlation",
            "body",
            "created",
        ],
        Table::Incidents | Table::PastIncidents => &[
            "instance", "number", "token", "element", "kind", "code", "message", "since", "visit",
            "part", "wait", "listener", "ended", "by",
        ],
        Table::Messages => &[
            "id",
            "name",
            "message_id",
            "correlation",
            "body",
            "published",
            "expires",
            "dead",
            "reason",
        ],
    }
}

/// The columns that make up the key, in its order.
pub(crate) fn key_columns(table: Table) -> &'static [&'static str] {
    let count = match table {
        Table::Instances | Table::Messages => 1,
        Table::Variables => 3,
        Table::Elements
        | Table::Jobs
        | Table::Tasks
        | Table::Timers
        | Table::Subscriptions
        | Table::Incidents
        | Table::PastJobs
        | Table::PastTasks
        | Table::PastIncidents => 2,
    };
    &columns(table)[..count]
}

/// The values of a key, for as many columns as it has in the table.
pub(crate) fn key_values(table: Table, key: &Key) -> Vec<Cell> {
    // What is greater than any number was never written.
    let number = |it: u64| Cell::Integer(i64::try_from(it).unwrap_or(i64::MAX));
    let name = Cell::Text(key.name.to_string());
    let mut values = vec![number(key.instance), number(key.number), name];
    values.truncate(key_columns(table).len());
    values
}

/// Which rows belong to a shard: an expression over `?1`, the shard, and `?2`, how many there are.
pub(crate) fn of_shard(table: Table) -> &'static str {
    match table {
        Table::Instances | Table::Messages => "id % ?2 = ?1",
        Table::Subscriptions => "keeper = ?1 AND ?2 > 0",
        Table::Timers => "iif(instance = 0, wait, instance) % ?2 = ?1",
        Table::Elements
        | Table::Variables
        | Table::Jobs
        | Table::Tasks
        | Table::Incidents
        | Table::PastJobs
        | Table::PastTasks
        | Table::PastIncidents => "instance % ?2 = ?1",
    }
}

/// Binds values to the places after `after`, and answers with the last of these.
macro_rules! bind {
    ($statement:expr, $after:expr, [$($value:expr),* $(,)?]) => {{
        let mut place = $after;
        $(
            place += 1;
            $statement.put(place, &$value)?;
        )*
        Ok(place)
    }};
}

/// Binds the columns of a row to the places after `after`, and answers with the last of these.
pub(crate) fn bind(
    statement: &mut impl Places,
    after: usize,
    row: &Row,
) -> rusqlite::Result<usize> {
    match row {
        Row::Instance(it) => bind!(
            statement,
            after,
            [
                it.id,
                it.business_id,
                it.definition_key,
                it.definition,
                it.version,
                it.state.name(),
                it.started.as_millis(),
                it.ended.map(Timestamp::as_millis),
                it.parent.map(|(id, _)| id),
                it.parent.map(|(_, wait)| wait),
                it.root,
                it.incidents,
                it.last,
                it.reason,
                it.result,
                it.definition_name,
                it.version_tag,
                it.tags,
            ]
        ),
        Row::Element(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.token,
                it.element,
                it.label,
                it.state,
                it.scope,
                it.since.as_millis(),
                it.visit,
                it.kind.name(),
                it.scope_visit,
                it.incident,
            ]
        ),
        Row::Variable(it) => {
            bind!(statement, after, [it.instance, it.layer, it.name, it.value, it.number, it.visit])
        }
        Row::Job(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.wait,
                it.token,
                it.element,
                it.job_type,
                it.state.name(),
                it.retries,
                it.priority,
                it.until.map(Timestamp::as_millis),
                it.worker,
                it.headers,
                it.created.as_millis(),
                it.visit,
                it.listener,
                it.error,
                it.error_code,
                it.ended.map(Timestamp::as_millis),
                it.by,
            ]
        ),
        Row::Task(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.wait,
                it.token,
                it.element,
                it.label,
                it.assignee,
                it.candidate_users,
                it.candidate_groups,
                it.due.map(Timestamp::as_millis),
                it.follow_up.map(Timestamp::as_millis),
                it.priority,
                it.form,
                it.fields,
                it.created.as_millis(),
                it.visit,
                it.state.name(),
                it.ended.map(Timestamp::as_millis),
                it.by,
            ]
        ),
        Row::Timer(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.wait,
                it.definition,
                it.element,
                it.due.as_millis(),
                it.body,
                it.visit
            ]
        ),
        Row::Subscription(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.wait,
                it.keeper.0,
                it.kind.name(),
                it.name,
                it.element,
                it.correlation,
                it.body,
                it.created.as_millis(),
            ]
        ),
        Row::Incident(it) => bind!(
            statement,
            after,
            [
                it.instance,
                it.number,
                it.token,
                it.element,
                it.kind,
                it.code,
                it.message,
                it.since.as_millis(),
                it.visit,
                it.part.map(Part::name),
                it.wait,
                it.listener,
                it.ended.map(Timestamp::as_millis),
                it.by,
            ]
        ),
        Row::Message(it) => bind!(
            statement,
            after,
            [
                it.id,
                it.name,
                it.message_id,
                it.correlation,
                it.body,
                it.published.as_millis(),
                it.expires.map(Timestamp::as_millis),
                it.dead.map(Timestamp::as_millis),
                it.reason,
            ]
        ),
    }
}

/// Reads a row of all columns.
pub(crate) fn read(table: Table, row: &impl Cells) -> rusqlite::Result<Row> {
    Ok(match table {
        Table::Instances => Row::Instance(instance(row)?),
        Table::Elements => Row::Element(ElementRow {
            instance: row.get(0)?,
            token: row.get(1)?,
            element: row.get(2)?,
            label: row.get(3)?,
            state: row.get(4)?,
            scope: row.get(5)?,
            since: row.time(6)?,
            visit: row.get(7)?,
            kind: word(row, 8, &ElementKind::ALL, ElementKind::name)?,
            scope_visit: row.get(9)?,
            incident: row.get(10)?,
        }),
        Table::Variables => Row::Variable(VariableRow {
            instance: row.get(0)?,
            layer: row.get(1)?,
            name: row.get(2)?,
            value: row.get(3)?,
            number: row.get(4)?,
            visit: row.get(5)?,
        }),
        Table::Jobs | Table::PastJobs => Row::Job(JobRow {
            instance: row.get(0)?,
            wait: row.get(1)?,
            token: row.get(2)?,
            element: row.get(3)?,
            job_type: row.get(4)?,
            state: word(row, 5, &JobState::ALL, JobState::name)?,
            retries: row.get(6)?,
            priority: row.get(7)?,
            until: row.maybe_time(8)?,
            worker: row.get(9)?,
            headers: row.get(10)?,
            created: row.time(11)?,
            visit: row.get(12)?,
            listener: row.get(13)?,
            error: row.get(14)?,
            error_code: row.get(15)?,
            ended: row.maybe_time(16)?,
            by: row.get(17)?,
        }),
        Table::Tasks | Table::PastTasks => Row::Task(TaskRow {
            instance: row.get(0)?,
            wait: row.get(1)?,
            token: row.get(2)?,
            element: row.get(3)?,
            label: row.get(4)?,
            assignee: row.get(5)?,
            candidate_users: row.get(6)?,
            candidate_groups: row.get(7)?,
            due: row.maybe_time(8)?,
            follow_up: row.maybe_time(9)?,
            priority: row.get(10)?,
            form: row.get(11)?,
            fields: row.get(12)?,
            created: row.time(13)?,
            visit: row.get(14)?,
            state: word(row, 15, &TaskState::ALL, TaskState::name)?,
            ended: row.maybe_time(16)?,
            by: row.get(17)?,
        }),
        Table::Timers => Row::Timer(TimerRow {
            instance: row.get(0)?,
            wait: row.get(1)?,
            definition: row.get(2)?,
            element: row.get(3)?,
            due: row.time(4)?,
            body: row.get(5)?,
            visit: row.get(6)?,
        }),
        Table::Subscriptions => Row::Subscription(SubscriptionRow {
            instance: row.get(0)?,
            wait: row.get(1)?,
            keeper: ShardId(row.get(2)?),
            kind: word(row, 3, &SubscriptionKind::ALL, SubscriptionKind::name)?,
            name: row.get(4)?,
            element: row.get(5)?,
            correlation: row.get(6)?,
            body: row.get(7)?,
            created: row.time(8)?,
        }),
        Table::Incidents | Table::PastIncidents => Row::Incident(IncidentRow {
            instance: row.get(0)?,
            number: row.get(1)?,
            token: row.get(2)?,
            element: row.get(3)?,
            kind: row.get(4)?,
            code: row.get(5)?,
            message: row.get(6)?,
            since: row.time(7)?,
            visit: row.get(8)?,
            part: row
                .get::<Option<Name>>(9)?
                .map(|_| word(row, 9, &Part::ALL, Part::name))
                .transpose()?,
            wait: row.get(10)?,
            listener: row.get(11)?,
            ended: row.maybe_time(12)?,
            by: row.get(13)?,
        }),
        Table::Messages => Row::Message(MessageRow {
            id: row.get(0)?,
            name: row.get(1)?,
            message_id: row.get(2)?,
            correlation: row.get(3)?,
            body: row.get(4)?,
            published: row.time(5)?,
            expires: row.maybe_time(6)?,
            dead: row.maybe_time(7)?,
            reason: row.get(8)?,
        }),
    })
}

/// Reads the key of a row of all columns.
pub(crate) fn key(table: Table, row: &impl Cells) -> rusqlite::Result<Key> {
    let parts = key_columns(table).len();
    let number = if parts > 1 { row.get(1)? } else { 0 };
    let name = if parts > 2 { row.get(2)? } else { "".into() };
    Ok(Key { instance: row.get(0)?, number, name })
}

/// Reads a row of `instances`.
fn instance(row: &impl Cells) -> rusqlite::Result<InstanceRow> {
    let parent: Option<u64> = row.get(8)?;
    let wait: Option<u64> = row.get(9)?;
    Ok(InstanceRow {
        id: row.get(0)?,
        business_id: row.get(1)?,
        definition_key: row.get(2)?,
        definition: row.get(3)?,
        version: row.get(4)?,
        state: word(row, 5, &InstanceState::ALL, InstanceState::name)?,
        started: row.time(6)?,
        ended: row.maybe_time(7)?,
        parent: parent.zip(wait),
        root: row.get(10)?,
        incidents: row.get(11)?,
        last: row.get(12)?,
        reason: row.get(13)?,
        result: row.get(14)?,
        definition_name: row.get(15)?,
        version_tag: row.get(16)?,
        tags: row.get(17)?,
    })
}

/// The value that is written with the word in a column.
fn word<T: Copy>(
    row: &impl Cells,
    column: usize,
    all: &[T],
    name: fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let cell = row.get_ref(column)?;
    let wrong = |error: FromSqlError| {
        let error = Box::new(error);
        rusqlite::Error::FromSqlConversionFailure(column, cell.data_type(), error)
    };
    let text = cell.as_str().map_err(wrong)?;
    all.iter().copied().find(|it| name(*it) == text).ok_or_else(|| wrong(FromSqlError::InvalidType))
}
