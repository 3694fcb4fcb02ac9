//! A row of every table, to be changed where a test asks for something special.

use travertine_kernel::ElementKind;
use travertine_store::{
    DefinitionKey, ShardId,
    view::{
        ElementRow, IncidentRow, InstanceRow, InstanceState, JobRow, JobState, MessageRow,
        SubscriptionKind, SubscriptionRow, TaskRow, TaskState, TimerRow, VariableRow,
    },
};
use travertine_value::{Name, time::Timestamp};

/// So many milliseconds after the beginning of 1970.
pub fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A running instance.
pub fn instance(id: u64) -> InstanceRow {
    InstanceRow {
        id,
        business_id: None,
        definition_key: DefinitionKey(1),
        definition: Name::from("order"),
        definition_name: Some(Name::from("An order")),
        version: 1,
        version_tag: None,
        state: InstanceState::Running,
        started: time(100),
        ended: None,
        parent: None,
        root: id,
        incidents: 0,
        reason: None,
        result: None,
        tags: None,
        last: 1,
    }
}

/// A token that waits.
pub fn element(instance: u64, token: u64) -> ElementRow {
    ElementRow {
        instance,
        token,
        visit: token + 1,
        element: Name::from("charge"),
        label: Some(Name::from("Charge the card")),
        kind: ElementKind::ServiceTask,
        state: Name::from("waiting"),
        scope: None,
        scope_visit: 0,
        incident: None,
        since: time(100),
    }
}

/// A variable of the process.
pub fn variable(instance: u64, name: &str, value: &str) -> VariableRow {
    let (name, value) = (Name::from(name), Name::from(value));
    VariableRow { instance, layer: 1, name, value, number: 5, visit: 0 }
}

/// A job that a worker may have.
pub fn job(instance: u64, wait: u64) -> JobRow {
    JobRow {
        instance,
        wait,
        token: 2,
        visit: 3,
        element: Name::from("charge"),
        job_type: Name::from("payment"),
        state: JobState::Available,
        retries: 3,
        priority: 0,
        until: None,
        worker: None,
        headers: Name::from("{}"),
        listener: None,
        error: None,
        error_code: None,
        created: time(100),
        ended: None,
        by: None,
    }
}

/// A task that nobody has.
pub fn task(instance: u64, wait: u64) -> TaskRow {
    TaskRow {
        instance,
        wait,
        token: 2,
        visit: 3,
        element: Name::from("approve"),
        label: None,
        assignee: None,
        candidate_users: Name::from("[]"),
        candidate_groups: Name::from("[]"),
        due: None,
        follow_up: None,
        priority: 50,
        form: None,
        fields: Name::from("{}"),
        created: time(100),
        state: TaskState::Open,
        ended: None,
        by: None,
    }
}

/// A timer of an instance.
pub fn timer(instance: u64, wait: u64, due: i64) -> TimerRow {
    TimerRow {
        instance,
        wait,
        definition: Name::from("order"),
        element: Name::from("late"),
        visit: 3,
        due: time(due),
        body: Vec::new(),
    }
}

/// A subscription to messages.
pub fn subscription(instance: u64, wait: u64, keeper: u16) -> SubscriptionRow {
    SubscriptionRow {
        instance,
        wait,
        keeper: ShardId(keeper),
        kind: SubscriptionKind::Message,
        name: Name::from("paid"),
        element: Name::from("receive"),
        correlation: Name::from(r#"{"order":1}"#),
        body: vec![1, 2],
        created: time(100),
    }
}

/// An incident.
pub fn incident(instance: u64, token: u64) -> IncidentRow {
    IncidentRow {
        instance,
        token,
        number: token,
        visit: token + 1,
        element: Name::from("charge"),
        kind: Name::from("work"),
        part: None,
        wait: Some(4),
        listener: None,
        code: None,
        message: Name::from("no answer"),
        since: time(100),
        ended: None,
        by: None,
    }
}

/// A job that is done.
pub fn past_job(instance: u64, wait: u64) -> JobRow {
    JobRow {
        state: JobState::Completed,
        ended: Some(time(200)),
        by: Some(Name::from("ann")),
        ..job(instance, wait)
    }
}

/// A task that is done.
pub fn past_task(instance: u64, wait: u64) -> TaskRow {
    TaskRow {
        state: TaskState::Completed,
        ended: Some(time(300)),
        by: Some(Name::from("bob")),
        ..task(instance, wait)
    }
}

/// An incident that was resolved.
pub fn past_incident(instance: u64, number: u64) -> IncidentRow {
    IncidentRow { number, ended: Some(time(400)), by: None, ..incident(instance, 2) }
}

/// A message that waits.
pub fn message(id: u64, name: &str) -> MessageRow {
    MessageRow {
        id,
        name: Name::from(name),
        message_id: None,
        correlation: Name::from("{}"),
        body: vec![3],
        published: time(100),
        expires: None,
        dead: None,
        reason: None,
    }
}
