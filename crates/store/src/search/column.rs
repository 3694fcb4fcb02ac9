//! The columns that rows can be searched and sorted by.

use travertine_kernel::{ElementKind, Part};
use travertine_value::Name;

use super::Value;
use crate::view::{
    ElementRow, IncidentRow, InstanceRow, InstanceState, JobRow, JobState, MessageRow, Row,
    SubscriptionKind, SubscriptionRow, Table, TaskRow, TaskState, TimerRow, VariableRow,
};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A text.
    Text,
    /// A text of any length. Its beginning decides when rows are sorted by it.
    LongText,
    /// A time.
    Time,
    /// Yes or no.
    Bool,
    /// An instance, and a number in it.
    Key,
    /// A list of texts.
    List,
}

/// What is known of a column besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// What it is called in messages, and in every store that has names for columns.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether every row has it.
    pub(crate) always: bool,
    /// How the row of a table says it, with `{t}` for the table; two expressions for a key.
    pub(crate) sql: [&'static str; 2],
}

/// Columns of one table each: their names, what they hold, and how a row says it.
macro_rules! columns {
    ($(
        $(#[$doc:meta])*
        $columns:ident of $variant:ident($row:ident) {
            $(
                $(#[$column_doc:meta])*
                $column:ident: $kind:ident $always:ident $name:literal
                    [$first:literal $(, $second:literal)?] => |$it:ident| $cell:expr;
            )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $columns {
                $($(#[$column_doc])* $column,)*
            }

            impl $columns {
                /// All of them.
                #[doc(hidden)] // For tests, and for whoever makes searches at random.
                pub const ALL: &'static [Self] = &[$(Self::$column),*];

                fn spec(self) -> Spec {
                    match self {
                        $(Self::$column => Spec {
                            name: $name,
                            kind: Kind::$kind,
                            always: columns!(@always $always),
                            sql: [$first, columns!(@second $($second)?)],
                        },)*
                    }
                }

                fn cell(self, row: &$row) -> Option<Value> {
                    match self {
                        $(Self::$column => { let $it = row; ($cell).into_cell() })*
                    }
                }
            }

            impl From<$columns> for Column {
                fn from(it: $columns) -> Self {
                    Self::$variant(it)
                }
            }
        )*
    };
    (@always always) => { true };
    (@always maybe) => { false };
    (@second) => { "" };
    (@second $second:literal) => { $second };
}

/// A column of any table.
///
/// ```
/// # use travertine_store::search::{Column, InstanceColumn};
/// let column = Column::from(InstanceColumn::BusinessId);
/// assert_eq!(column.to_string(), "business id");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Of an instance; in all tables but that of messages it is that of the instance that a row is about.
    Instance(InstanceColumn),
    /// Of [`Table::Elements`].
    Element(ElementColumn),
    /// Of [`Table::Variables`].
    Variable(VariableColumn),
    /// Of [`Table::Jobs`].
    Job(JobColumn),
    /// Of [`Table::Tasks`].
    Task(TaskColumn),
    /// Of [`Table::Timers`].
    Timer(TimerColumn),
    /// Of [`Table::Subscriptions`].
    Subscription(SubscriptionColumn),
    /// Of [`Table::Incidents`].
    Incident(IncidentColumn),
    /// Of [`Table::Messages`].
    Message(MessageColumn),
}

columns! {
    /// Columns of [`Table::Instances`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, InstanceColumn, Search, Test};
    /// # use travertine_store::view::Table;
    /// let newest = Search::of(Table::Instances)
    ///     .with(Condition::of(InstanceColumn::Definition, Test::eq("order")))
    ///     .descending(InstanceColumn::Started);
    /// assert_eq!(newest.sort.len(), 1);
    /// ```
    InstanceColumn of Instance(InstanceRow) {
        /// Its number.
        Id: Number always "number" ["{t}.id"] => |it| it.id;
        /// What people call it.
        BusinessId: Text maybe "business id" ["{t}.business_id"] => |it| it.business_id.clone();
        /// The key of what it runs.
        DefinitionKey: Number always "definition key" ["{t}.definition_key"] => |it| it.definition_key;
        /// The id of what it runs.
        Definition: Text always "definition" ["{t}.definition"] => |it| Name::clone(&it.definition);
        /// What the model calls that.
        DefinitionName: Text maybe "definition name" ["{t}.definition_name"] => |it| it.definition_name.clone();
        /// The version of that.
        Version: Number always "version" ["{t}.version"] => |it| u64::from(it.version);
        /// What people call this version.
        VersionTag: Text maybe "version tag" ["{t}.version_tag"] => |it| it.version_tag.clone();
        /// How far it is; an [`InstanceState`].
        State: Text always "state" ["{t}.state"] => |it| it.state;
        /// When it began.
        Started: Time always "start" ["{t}.started"] => |it| Value::Time(it.started);
        /// When it ended.
        Ended: Time maybe "end" ["{t}.ended"] => |it| it.ended.map(Value::Time);
        /// The instance that called it.
        Parent: Number maybe "parent" ["{t}.parent"] => |it| it.parent.map(|(id, _)| id);
        /// The instance that called it, and the wait there.
        ParentWait: Key maybe "parent wait" ["{t}.parent", "{t}.parent_wait"] => |it| it.parent;
        /// The outermost caller; itself where nobody called it.
        Root: Number always "root" ["{t}.root"] => |it| it.root;
        /// Whether it has incidents.
        HasIncidents: Bool always "incidents" ["{t}.incidents > 0"] => |it| it.incidents > 0;
        /// Why it failed or is halted.
        Reason: LongText maybe "reason" ["{t}.reason"] => |it| it.reason.clone();
        /// Its tags.
        Tag: List always "tag" ["coalesce({t}.tags, '[]')"] => |it| Value::list(it.tags.as_deref().unwrap_or("[]"));
    }

    /// Columns of [`Table::Elements`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, ElementColumn, Test};
    /// let at_pack = Condition::of(ElementColumn::Element, Test::eq("pack"));
    /// assert_ne!(at_pack, Condition::of(ElementColumn::Label, Test::eq("pack")));
    /// ```
    ElementColumn of Element(ElementRow) {
        /// The instance and the token.
        Key: Key always "token of an instance" ["{t}.instance", "{t}.token"] => |it| (it.instance, it.token);
        /// The instance and the number of the stay at the element.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// What the model calls it.
        Label: Text maybe "label" ["{t}.label"] => |it| it.label.clone();
        /// The token's state.
        State: Text always "state" ["{t}.state"] => |it| Name::clone(&it.state);
        /// The token that hosts its scope.
        Scope: Number maybe "scope" ["{t}.scope"] => |it| it.scope;
        /// The instance and the number of the stay around it.
        ScopeVisit: Key always "scope of an instance" ["{t}.instance", "{t}.scope_visit"] => |it| (it.instance, it.scope_visit);
        /// What kind of element; an [`ElementKind`].
        Kind: Text always "element kind" ["{t}.kind"] => |it| it.kind;
        /// The instance and the number of its incident.
        Incident: Key maybe "incident" ["{t}.instance", "{t}.incident"] => |it| it.incident.map(|number| (it.instance, number));
        /// Whether it has an incident.
        HasIncident: Bool always "having an incident" ["{t}.incident IS NOT NULL"] => |it| it.incident.is_some();
        /// Since when it is there.
        Since: Time always "since" ["{t}.since"] => |it| Value::Time(it.since);
    }

    /// Columns of [`Table::Variables`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, Test, VariableColumn};
    /// let totals = Condition::of(VariableColumn::Name, Test::like("*Total")?);
    /// # Ok::<(), travertine_store::Error>(())
    /// ```
    VariableColumn of Variable(VariableRow) {
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The layer; 1 is the process itself.
        Layer: Key always "layer of an instance" ["{t}.instance", "{t}.layer"] => |it| (it.instance, it.layer);
        /// The instance and its number there.
        Number: Key always "variable" ["{t}.instance", "{t}.number"] => |it| (it.instance, it.number);
        /// The instance and the number of the stay that it belongs to.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// Its name.
        Name: Text always "name" ["{t}.name"] => |it| Name::clone(&it.name);
        /// Its value, as JSON.
        Value: LongText always "value" ["{t}.value"] => |it| Name::clone(&it.value);
    }

    /// Columns of [`Table::Jobs`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, JobColumn, Test};
    /// # use travertine_store::view::JobState;
    /// let failed = Condition::of(JobColumn::State, Test::eq(JobState::Failed));
    /// assert_ne!(failed, Condition::of(JobColumn::State, Test::neq(JobState::Failed)));
    /// ```
    JobColumn of Job(JobRow) {
        /// The instance and the wait.
        Key: Key always "job" ["{t}.instance", "{t}.wait"] => |it| (it.instance, it.wait);
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The instance and the token.
        Token: Key always "token of an instance" ["{t}.instance", "{t}.token"] => |it| (it.instance, it.token);
        /// The instance and the number of the stay that it belongs to.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// Which workers can do it.
        JobType: Text always "job type" ["{t}.job_type"] => |it| Name::clone(&it.job_type);
        /// How it stands; a [`JobState`].
        State: Text always "job state" ["{t}.state"] => |it| it.state;
        /// How often it may still fail.
        Retries: Number always "retries" ["{t}.retries"] => |it| u64::from(it.retries);
        /// Greater comes first.
        Priority: Number always "priority" ["{t}.priority"] => |it| Value::Number(it.priority);
        /// The end of the lease, or of the pause before the next try.
        Until: Time maybe "end of the lease" ["{t}.until"] => |it| it.until.map(Value::Time);
        /// Who has it.
        Worker: Text maybe "worker" ["{t}.worker"] => |it| it.worker.clone();
        /// What it is called on, where it is the job of a listener.
        Listener: Text maybe "listener" ["{t}.listener"] => |it| it.listener.clone();
        /// What went wrong when it was last tried.
        Error: LongText maybe "error" ["{t}.error"] => |it| it.error.clone();
        /// The code of the error that it has raised.
        ErrorCode: Text maybe "error code" ["{t}.error_code"] => |it| it.error_code.clone();
        /// Whether it has failed and will be tried again.
        WillRetry: Bool always "failure with retries left" ["{t}.error IS NOT NULL AND {t}.retries > 0"]
            => |it| it.error.is_some() && it.retries > 0;
        /// Since when it waits.
        Created: Time always "creation" ["{t}.created"] => |it| Value::Time(it.created);
        /// When it was over.
        Ended: Time maybe "end" ["{t}.ended"] => |it| it.ended.map(Value::Time);
        /// Who has ended it.
        By: Text maybe "who has ended it" ["{t}.by"] => |it| it.by.clone();
    }

    /// Columns of [`Table::Tasks`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, TaskColumn, Test};
    /// let for_ann = Condition::Any(vec![
    ///     Condition::of(TaskColumn::Assignee, Test::eq("ann")),
    ///     Condition::of(TaskColumn::CandidateUsers, Test::eq("ann")),
    /// ]);
    /// ```
    TaskColumn of Task(TaskRow) {
        /// The instance and the wait.
        Key: Key always "task" ["{t}.instance", "{t}.wait"] => |it| (it.instance, it.wait);
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The instance and the token.
        Token: Key always "token of an instance" ["{t}.instance", "{t}.token"] => |it| (it.instance, it.token);
        /// The instance and the number of the stay that it belongs to.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// What the model calls it.
        Label: Text maybe "label" ["{t}.label"] => |it| it.label.clone();
        /// Who does it.
        Assignee: Text maybe "assignee" ["{t}.assignee"] => |it| it.assignee.clone();
        /// Who may do it.
        CandidateUsers: List always "candidate user" ["{t}.candidate_users"] => |it| Value::list(&it.candidate_users);
        /// Which groups may do it.
        CandidateGroups: List always "candidate group" ["{t}.candidate_groups"] => |it| Value::list(&it.candidate_groups);
        /// By when it should be done.
        Due: Time maybe "due date" ["{t}.due"] => |it| it.due.map(Value::Time);
        /// When someone wants to look at it again.
        FollowUp: Time maybe "follow-up date" ["{t}.follow_up"] => |it| it.follow_up.map(Value::Time);
        /// Greater comes first.
        Priority: Number always "priority" ["{t}.priority"] => |it| Value::Number(it.priority);
        /// The form, by reference.
        Form: Text maybe "form" ["{t}.form"] => |it| it.form.clone();
        /// Since when it waits.
        Created: Time always "creation" ["{t}.created"] => |it| Value::Time(it.created);
        /// How it stands; a [`TaskState`].
        State: Text always "task state" ["{t}.state"] => |it| it.state;
        /// When it was over.
        Ended: Time maybe "end" ["{t}.ended"] => |it| it.ended.map(Value::Time);
        /// Who has ended it.
        By: Text maybe "who has ended it" ["{t}.by"] => |it| it.by.clone();
    }

    /// Columns of [`Table::Timers`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, Test, TimerColumn, Value};
    /// # use travertine_value::time::Timestamp;
    /// fn late(now: Timestamp) -> Condition {
    ///     Condition::of(TimerColumn::Due, Test::Lt(Value::Time(now)))
    /// }
    /// ```
    TimerColumn of Timer(TimerRow) {
        /// The instance and the wait.
        Key: Key always "timer" ["{t}.instance", "{t}.wait"] => |it| (it.instance, it.wait);
        /// The instance; 0 for one that starts instances.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The instance and the number of the stay that it belongs to.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// The definition, also of one that starts instances.
        Definition: Text always "definition" ["{t}.definition"] => |it| Name::clone(&it.definition);
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// When.
        Due: Time always "due date" ["{t}.due"] => |it| Value::Time(it.due);
    }

    /// Columns of [`Table::Subscriptions`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, SubscriptionColumn, Test};
    /// # use travertine_store::view::SubscriptionKind;
    /// let signals = Condition::of(SubscriptionColumn::Kind, Test::eq(SubscriptionKind::Signal));
    /// ```
    SubscriptionColumn of Subscription(SubscriptionRow) {
        /// The instance and the wait.
        Key: Key always "subscription" ["{t}.instance", "{t}.wait"] => |it| (it.instance, it.wait);
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// What it is for; a [`SubscriptionKind`].
        Kind: Text always "kind" ["{t}.kind"] => |it| it.kind;
        /// The name.
        Name: Text always "name" ["{t}.name"] => |it| Name::clone(&it.name);
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// What must match, as a JSON object.
        Correlation: LongText always "correlation" ["{t}.correlation"] => |it| Name::clone(&it.correlation);
        /// What must match under the name `correlationKey`: a text, or another value as JSON.
        CorrelationKey: Text maybe "correlation key" [
            // Where another condition says what the correlation is, SQLite puts that in its place, and it may be no JSON.
            "iif(json_valid({t}.correlation), iif(json_type({t}.correlation, '$.correlationKey') = 'text', {t}.correlation ->> '$.correlationKey', {t}.correlation -> '$.correlationKey'), NULL)"
        ] => |it| correlation_key(&it.correlation);
        /// Since when.
        Created: Time always "creation" ["{t}.created"] => |it| Value::Time(it.created);
    }

    /// Columns of [`Table::Incidents`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, IncidentColumn, Search, Test};
    /// # use travertine_store::view::Table;
    /// // Instances that stand still because of lamps.
    /// let lamps = Condition::of(IncidentColumn::Message, Test::like("*lamp*")?);
    /// let search = Search::of(Table::Instances).with(Condition::has(Table::Incidents, lamps));
    /// # Ok::<(), travertine_store::Error>(())
    /// ```
    IncidentColumn of Incident(IncidentRow) {
        /// The instance.
        Instance: Number always "instance" ["{t}.instance"] => |it| it.instance;
        /// The instance and the token.
        Token: Key always "token of an instance" ["{t}.instance", "{t}.token"] => |it| (it.instance, it.token);
        /// The instance and its number there.
        Number: Key always "incident" ["{t}.instance", "{t}.number"] => |it| (it.instance, it.number);
        /// The instance and the number of the stay that it belongs to.
        Visit: Key always "element instance" ["{t}.instance", "{t}.visit"] => |it| (it.instance, it.visit);
        /// The instance and the wait for the work that failed.
        Wait: Key maybe "job" ["{t}.instance", "{t}.wait"] => |it| it.wait.map(|wait| (it.instance, wait));
        /// The element's id in the model.
        Element: Text always "element" ["{t}.element"] => |it| Name::clone(&it.element);
        /// What kind of fault.
        Kind: Text always "kind" ["{t}.kind"] => |it| Name::clone(&it.kind);
        /// The part of the model that failed; a [`Part`].
        Part: Text maybe "part" ["{t}.part"] => |it| it.part;
        /// What the work is called on, where it is the job of a listener.
        Listener: Text maybe "listener" ["{t}.listener"] => |it| it.listener.clone();
        /// The error's code.
        Code: Text maybe "code" ["{t}.code"] => |it| it.code.clone();
        /// What it says to people.
        Message: LongText always "message" ["{t}.message"] => |it| Name::clone(&it.message);
        /// Since when.
        Since: Time always "since" ["{t}.since"] => |it| Value::Time(it.since);
        /// When it was resolved.
        Ended: Time maybe "end" ["{t}.ended"] => |it| it.ended.map(Value::Time);
        /// Who has ended it.
        By: Text maybe "who has ended it" ["{t}.by"] => |it| it.by.clone();
    }

    /// Columns of [`Table::Messages`].
    ///
    /// ```
    /// # use travertine_store::search::{Condition, MessageColumn, Test};
    /// let dead_letters = Condition::of(MessageColumn::Dead, Test::Exists(true));
    /// ```
    MessageColumn of Message(MessageRow) {
        /// Its number.
        Id: Number always "number" ["{t}.id"] => |it| it.id;
        /// Its name.
        Name: Text always "name" ["{t}.name"] => |it| Name::clone(&it.name);
        /// What its sender calls it.
        MessageId: Text maybe "message id" ["{t}.message_id"] => |it| it.message_id.clone();
        /// What must match, as a JSON object.
        Correlation: LongText always "correlation" ["{t}.correlation"] => |it| Name::clone(&it.correlation);
        /// When it came.
        Published: Time always "publication" ["{t}.published"] => |it| Value::Time(it.published);
        /// When it is dropped.
        Expires: Time maybe "expiry" ["{t}.expires"] => |it| it.expires.map(Value::Time);
        /// Since when it is a dead letter.
        Dead: Time maybe "dead letters" ["{t}.dead"] => |it| it.dead.map(Value::Time);
        /// Whether it is held; one that is not is only recognised when it is sent again.
        IsHeld: Bool always "being held" ["length({t}.body) > 0"] => |it| !it.body.is_empty();
    }
}

impl Column {
    pub(crate) fn spec(self) -> Spec {
        match self {
            Self::Instance(it) => it.spec(),
            Self::Element(it) => it.spec(),
            Self::Variable(it) => it.spec(),
            Self::Job(it) => it.spec(),
            Self::Task(it) => it.spec(),
            Self::Timer(it) => it.spec(),
            Self::Subscription(it) => it.spec(),
            Self::Incident(it) => it.spec(),
            Self::Message(it) => it.spec(),
        }
    }

    /// What it holds.
    #[doc(hidden)] // Whoever has the column knows; tests make values for any.
    pub fn kind(self) -> Kind {
        self.spec().kind
    }

    /// The table that it is of.
    pub(crate) fn table(self) -> Table {
        match self {
            Self::Instance(_) => Table::Instances,
            Self::Element(_) => Table::Elements,
            Self::Variable(_) => Table::Variables,
            Self::Job(_) => Table::Jobs,
            Self::Task(_) => Table::Tasks,
            Self::Timer(_) => Table::Timers,
            Self::Subscription(_) => Table::Subscriptions,
            Self::Incident(_) => Table::Incidents,
            Self::Message(_) => Table::Messages,
        }
    }

    /// All columns of a table.
    #[doc(hidden)] // For tests, and for whoever makes searches at random.
    pub fn all(table: Table) -> Vec<Self> {
        fn of<C: Copy + Into<Column>>(all: &[C]) -> Vec<Column> {
            all.iter().copied().map(Into::into).collect()
        }
        match table {
            Table::Instances => of(InstanceColumn::ALL),
            Table::Elements => of(ElementColumn::ALL),
            Table::Variables => of(VariableColumn::ALL),
            Table::Jobs | Table::PastJobs => of(JobColumn::ALL),
            Table::Tasks | Table::PastTasks => of(TaskColumn::ALL),
            Table::Timers => of(TimerColumn::ALL),
            Table::Subscriptions => of(SubscriptionColumn::ALL),
            Table::Incidents | Table::PastIncidents => of(IncidentColumn::ALL),
            Table::Messages => of(MessageColumn::ALL),
        }
    }

    /// The instance's number in rows of a table; that of messages has none.
    pub(crate) fn instance_of(table: Table) -> Option<Self> {
        Some(match table {
            Table::Instances => InstanceColumn::Id.into(),
            Table::Elements => ElementColumn::Instance.into(),
            Table::Variables => VariableColumn::Instance.into(),
            Table::Jobs | Table::PastJobs => JobColumn::Instance.into(),
            Table::Tasks | Table::PastTasks => TaskColumn::Instance.into(),
            Table::Timers => TimerColumn::Instance.into(),
            Table::Subscriptions => SubscriptionColumn::Instance.into(),
            Table::Incidents | Table::PastIncidents => IncidentColumn::Instance.into(),
            Table::Messages => return None,
        })
    }

    /// What a row has in it. `about` is the row of its instance.
    pub(crate) fn cell(self, row: &Row, about: Option<&InstanceRow>) -> Option<Value> {
        match (self, row) {
            (Self::Instance(it), Row::Instance(row)) => it.cell(row),
            (Self::Instance(it), _) => it.cell(about?),
            (Self::Element(it), Row::Element(row)) => it.cell(row),
            (Self::Variable(it), Row::Variable(row)) => it.cell(row),
            (Self::Job(it), Row::Job(row)) => it.cell(row),
            (Self::Task(it), Row::Task(row)) => it.cell(row),
            (Self::Timer(it), Row::Timer(row)) => it.cell(row),
            (Self::Subscription(it), Row::Subscription(row)) => it.cell(row),
            (Self::Incident(it), Row::Incident(row)) => it.cell(row),
            (Self::Message(it), Row::Message(row)) => it.cell(row),
            _ => None,
        }
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.spec().name)
    }
}

/// What a field of a row is as a cell.
trait IntoCell {
    fn into_cell(self) -> Option<Value>;
}

impl<V: Into<Value>> IntoCell for V {
    fn into_cell(self) -> Option<Value> {
        Some(self.into())
    }
}

impl<V: Into<Value>> IntoCell for Option<V> {
    fn into_cell(self) -> Option<Value> {
        self.map(Into::into)
    }
}

/// What must match under that name.
fn correlation_key(correlation: &str) -> Option<Value> {
    let Ok(travertine_value::Value::Map(map)) = travertine_value::Value::parse_json(correlation)
    else {
        return None;
    };
    let value = map.get("correlationKey")?;
    Some(if let travertine_value::Value::String(text) = value {
        Value::Text(Name::clone(text))
    } else {
        Value::Text(value.to_json().into())
    })
}

impl From<ElementKind> for Value {
    fn from(it: ElementKind) -> Self {
        Self::Text(it.name().into())
    }
}

impl From<Part> for Value {
    fn from(it: Part) -> Self {
        Self::Text(it.name().into())
    }
}

impl From<InstanceState> for Value {
    fn from(it: InstanceState) -> Self {
        Self::Text(it.name().into())
    }
}

impl From<TaskState> for Value {
    fn from(it: TaskState) -> Self {
        Self::Text(it.name().into())
    }
}

impl From<JobState> for Value {
    fn from(it: JobState) -> Self {
        Self::Text(it.name().into())
    }
}

impl From<SubscriptionKind> for Value {
    fn from(it: SubscriptionKind) -> Self {
        Self::Text(it.name().into())
    }
}
