//! Events of every kind, by topic. The golden files hold them, so what is here stays; more can be
//! added under another name.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use travertine_store::{Address, InstanceId};

use travertine_kernel::{
    Assignments, Backoff, Catches, Cue, Destination, Digest, Each, Ending, Event, Failing, Failure,
    FailureKind, FanOut, FlowId, Gate, Incident, Job, JobOptions, JournalEntry, LayerId, NodeId,
    Over, Part, Place, Post, PostId, Reads, Role, ScopeKind, Slot, State, TokenId, WaitFor, WaitId,
    plan::{Moment, WorkKind},
    time::{Cron, Period, Repeat, Rhythm, Timestamp, Weekdays},
};
use travertine_store::record::{Consume, Delivery, Message, Subscription, SubscriptionKind};
use travertine_value::{Map, Value};

pub(crate) const STATES: [State; 13] = [
    State::Created,
    State::Arrived,
    State::Ready,
    State::Entered,
    State::Busy,
    State::Completed,
    State::Exiting,
    State::Departed,
    State::Waiting,
    State::Done,
    State::Failing,
    State::Failed,
    State::Withdrawn,
];

pub(crate) const CUES: [Cue; 8] = [
    Cue::Arrive,
    Cue::Enter,
    Cue::Spawn,
    Cue::Childless,
    Cue::Complete,
    Cue::Exit,
    Cue::Throw,
    Cue::Offer,
];

pub(crate) const FAILURES: [FailureKind; 11] = [
    FailureKind::Error,
    FailureKind::Script,
    FailureKind::NoFlow,
    FailureKind::Restriction,
    FailureKind::Operator,
    FailureKind::Repeat,
    FailureKind::Timer,
    FailureKind::FanIn,
    FailureKind::Work,
    FailureKind::Steps,
    FailureKind::Depth,
];

pub(crate) const MOMENTS: [Moment; 4] =
    [Moment::BeforeAll, Moment::Start, Moment::Completion, Moment::End];

pub(crate) const GATES: [Gate; 3] = [Gate::Ready, Gate::Entry, Gate::Exit];

/// All samples, each under the name of its golden file.
pub(crate) fn all() -> Vec<(&'static str, Vec<Event>)> {
    let made = Event::DecisionMade { token: TokenId(4), decision: "approver".into(), version: 3 };
    let later = vec![
        ("terminated", terminated()),
        ("inputs", inputs()),
        ("decision", vec![made]),
        ("kinds", kinds()),
        ("options", options()),
        ("oversized", oversized()),
    ];
    [first(), later].concat()
}

/// Those that the golden file of records was written with. Whatever comes later stands beside them.
pub(crate) fn first() -> Vec<(&'static str, Vec<Event>)> {
    vec![
        ("none", Vec::new()),
        ("ends", ends()),
        ("tokens", tokens()),
        ("variables", variables()),
        ("scopes", scopes()),
        ("compensation", compensation()),
        ("performers", performers()),
        ("work", work()),
        ("waits", waits()),
        ("posts", posts()),
        ("incidents", incidents()),
        ("cron", cron()),
        ("interventions", interventions()),
        ("data", data()),
        ("migration", migration()),
        ("listeners", listeners()),
        ("function", function()),
        ("updates", updates()),
        ("refused-update", vec![Event::UpdateRefused { message: "it panicked".to_owned() }]),
        ("failures", failures()),
    ]
}

fn json(text: &str) -> Value {
    Value::parse_json(text).expect("the samples are JSON")
}

fn assignments(pairs: &[(&str, &str)]) -> Assignments {
    pairs.iter().map(|(name, text)| (Arc::from(*name), json(text))).collect()
}

/// Values by name, in no order of their names, one of them twice.
pub(crate) fn values() -> Assignments {
    assignments(&[
        ("total", "99.95"),
        ("due", r#""2026-03-01T08:00:00+01:00""#),
        ("tiny", "-1e-6176"),
        ("order", r#"{"id":"A-1","items":[1,2.50,null,true]}"#),
        ("", "[]"),
        ("total", "100"),
    ])
}

fn catches() -> Catches {
    Catches {
        all: false,
        codes: vec!["E1".into(), "E2".into()],
        ended_by_all: true,
        ended_by: vec!["S1".into()],
    }
}

fn failure(kind: FailureKind) -> Failure {
    let message = format!("{kind:?} went wrong");
    Failure::new(kind, message)
}

fn ends() -> Vec<Event> {
    let failed = Failure {
        code: Some("out-of-stock".into()),
        ..Failure::new(FailureKind::Error, "nothing left")
    };
    vec![
        Event::Started {
            at: Timestamp::from_millis(1_767_225_600_000),
            start: vec![],
            caller: None,
        },
        Event::Started {
            at: Timestamp::from_millis(-1),
            start: vec![NodeId(3)],
            caller: Some(catches()),
        },
        Event::Finished { ending: Ending::Completed },
        Event::Finished { ending: Ending::Failed(failed) },
        Event::Finished { ending: Ending::Cancelled },
    ]
}

/// Updates of a function that its senders can send again.
fn updates() -> Vec<Event> {
    let at = Timestamp::from_millis(1_700_000_000_000);
    let (name, input, id) = ("add".into(), json("{}"), Some("add-1".into()));
    let entry = Arc::new(JournalEntry::Updated { at, name, input, id });
    let answered = Event::UpdateAnswered { id: "add-1".into(), said: json(r#"{"ok": 7}"#) };
    vec![Event::Journaled { entry }, answered]
}

/// Runs that were taken away, and what cannot begin.
fn terminated() -> Vec<Event> {
    let scope = TokenId(2);
    let each = Each {
        total: 3,
        window: 3,
        items: None,
        batch_size: None,
        begun: 3,
        completed: 0,
        terminated: 2,
        outputs: Vec::new(),
    };
    let kind = Box::new(ScopeKind::Each(each));
    let incident = Incident {
        failure: failure(FailureKind::AdHoc),
        redo: Cue::Enter,
        since: Timestamp::from_millis(0),
    };
    vec![
        Event::ScopeOpened { scope, node: NodeId(3), kind, census: false },
        Event::RunTerminated { scope, index: 300 },
        Event::IncidentRaised { token: scope, incident: Box::new(incident) },
    ]
}

/// Operations of a function with what they were asked with.
fn inputs() -> Vec<Event> {
    let input = Some(Digest(0xfedc_ba98_7654_3210));
    let entries = [
        JournalEntry::Asked { key: "activity charge".into(), input },
        JournalEntry::Sent { key: "send order.paid".into(), input },
        JournalEntry::Sent { key: "send order.paid#2".into(), input: None },
    ];
    entries.into_iter().map(|it| Event::Journaled { entry: Arc::new(it) }).collect()
}

/// Work that has failed and is tried again.
fn failures() -> Vec<Event> {
    let job = Job {
        kind: WorkKind::Job,
        job_type: "charge".into(),
        retries: 4,
        fields: assignments(&[("attempts", "5")]),
        options: None,
        failure: Some("busy: the bank is busy".into()),
    };
    let message = "größer: it was too much".into();
    let failed = Event::WorkFailed { wait: WaitId(300), retries: 3, message };
    vec![opened(WaitFor::Work(job)), failed]
}

/// What happens to functions, and the kinds that only they have.
fn function() -> Vec<Event> {
    let at = Timestamp::from_millis(1_700_000_000_000);
    let entries = [
        JournalEntry::Began { at },
        JournalEntry::Asked { key: "activity charge".into(), input: None },
        JournalEntry::Recorded { key: "record rnd".into(), value: json("[1, {}]") },
        JournalEntry::Done { operation: 0, at, outcome: Ok(assignments(&[("result", "7")])) },
        JournalEntry::Done { operation: 300, at, outcome: Err(failure(FailureKind::Code)) },
        JournalEntry::Dropped { operation: 1 },
        JournalEntry::Cancelled { at },
        JournalEntry::Updated { at, name: "add".into(), input: json("\"x\""), id: None },
    ];
    let began = Event::FunctionBegan { token: TokenId(2), at };
    let entries = entries.into_iter().map(|it| Event::Journaled { entry: Arc::new(it) });
    let mut events: Vec<Event> = std::iter::once(began).chain(entries).collect();
    events.extend([
        Event::FunctionThought { token: TokenId(2) },
        Event::TokenCued { token: TokenId(2), cue: Cue::Think },
        Event::WaitOpened {
            wait: WaitId(3),
            token: TokenId(2),
            slot: Slot::Operation(300),
            on: Arc::new(WaitFor::Signal { name: "go".into() }),
        },
        Event::Posted {
            post: PostId(4),
            what: Arc::new(Post::Start {
                definition: "order".into(),
                id: "order-1".into(),
                variables: assignments(&[("cents", "13")]),
            }),
        },
    ]);
    events
}

fn migration() -> Vec<Event> {
    let nodes = vec![(NodeId(0), NodeId(0)), (NodeId(7), NodeId(300))];
    let flows = vec![(FlowId(2), FlowId(1))];
    let counting = vec![TokenId(1), TokenId(200)];
    vec![
        Event::Migrated { nodes, flows, counting },
        Event::Migrated { nodes: Vec::new(), flows: Vec::new(), counting: Vec::new() },
    ]
}

fn interventions() -> Vec<Event> {
    let start = vec![NodeId(3), NodeId(200)];
    let places = vec![
        Destination::before(NodeId(4)),
        Destination {
            at: NodeId(300),
            via: Some(FlowId(5)),
            variables: vec![(NodeId(2), assignments(&[("x", "[1]")])), (NodeId(0), Vec::new())],
        },
    ];
    vec![
        Event::Started { at: Timestamp::from_millis(0), start, caller: None },
        Event::TokenBound { token: TokenId(9), to: places },
    ]
}

fn tokens() -> Vec<Event> {
    let token = TokenId(7);
    let status = BTreeMap::from([
        (Arc::from("timestamp"), json("12.5")),
        (Arc::from("owner"), json(r#""ann""#)),
    ]);
    let roles = [
        Role::Flow,
        Role::Run(3),
        Role::Branch(0),
        Role::Guard(TokenId(300)),
        Role::Start,
        Role::Compensation,
    ];
    let mut events = vec![Event::TokenCreated {
        token: TokenId(1),
        node: NodeId(0),
        scope: None,
        via: None,
        role: Role::Flow,
        layer: Reads::Own(None),
        status: Some(Arc::new(status)),
    }];
    events.extend(roles.map(|role| Event::TokenCreated {
        token: TokenId(u64::MAX),
        node: NodeId(u32::MAX),
        scope: Some(TokenId(1)),
        via: Some(FlowId(2)),
        role,
        layer: Reads::Shared(LayerId(1)),
        status: None,
    }));
    events.extend(STATES.map(|state| Event::TokenState { token, state }));
    events.extend(STATES.map(|state| Event::TokenGone { token, state }));
    events.extend(CUES.map(|cue| Event::TokenCued { token, cue }));
    events.extend([
        Event::TokenCreated {
            token,
            node: NodeId(4),
            scope: Some(TokenId(1)),
            via: None,
            role: Role::Run(u32::MAX),
            layer: Reads::Own(Some(LayerId(2))),
            status: Some(Arc::default()),
        },
        Event::TokenMoved { token, via: Some(FlowId(5)), to: NodeId(6) },
        Event::TokenMoved { token, via: None, to: NodeId(6) },
        Event::TokenParked { token, inclusive: true },
        Event::TokenParked { token, inclusive: false },
        Event::TokenUncued { token },
        Event::TokenPromoted { token },
        Event::TokenRetired { token },
        Event::TokenRecalled { token, scope: TokenId(8) },
        Event::BranchArrived { token },
        Event::StatusSet { token, status: None },
        Event::StatusSet { token, status: Some(Arc::default()) },
    ]);
    events
}

fn variables() -> Vec<Event> {
    let values = [
        "null",
        "true",
        "false",
        "0",
        "15",
        "-16",
        "9223372036854775807",
        "9223372036854775808",
        "0.1",
        "-99.95",
        "9999999999999999999999999999999999",
        "1e6144",
        "1e-6176",
        r#""""#,
        r#""Grüße an 東京""#,
        "[]",
        "{}",
        r#"[1,[2,[3,[]]],{"b":{"c":null},"a":false}]"#,
        "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31]",
    ];
    let (token, layer) = (TokenId(7), LayerId(7));
    let mut events = vec![Event::LayerOpened { token, layer }];
    events.extend(values.map(|text| Event::VariableSet {
        layer,
        name: "größe".into(),
        value: json(text),
    }));
    events.extend([
        Event::VariableSet { layer, name: "".into(), value: Value::Null },
        Event::VariableRemoved { layer, name: "größe".into() },
        Event::LayerClosed { token },
    ]);
    events
}

fn scopes() -> Vec<Event> {
    let each = Each {
        total: 5,
        window: 2,
        items: Some(Arc::new(vec![json("1"), json(r#""two""#), json("[3]")])),
        batch_size: Some(2),
        begun: 1,
        completed: 0,
        terminated: 0,
        outputs: vec![Value::Null, json("0.5")],
    };
    let counted = Each {
        total: 1_000,
        window: 1_000,
        items: None,
        batch_size: None,
        begun: 0,
        completed: 0,
        terminated: 0,
        outputs: Vec::new(),
    };
    let fan_out = FanOut {
        count: 2,
        branches: vec![LayerId(3), LayerId(4)],
        fan_in: Some(NodeId(9)),
        arrived: vec![TokenId(11)],
    };
    let kinds = [
        ScopeKind::Process,
        ScopeKind::SubProcess,
        ScopeKind::EventSubProcess,
        ScopeKind::Transaction,
        ScopeKind::AdHoc,
        ScopeKind::Each(each),
        ScopeKind::Each(counted),
        ScopeKind::Loop { runs: 4 },
        ScopeKind::FanOut(fan_out),
        ScopeKind::FanOut(FanOut::default()),
        ScopeKind::Gosub,
        ScopeKind::Compensation,
    ];
    let scope = TokenId(2);
    let error = Failing::Error(failure(FailureKind::Error), assignments(&[("reason", r#""x""#)]));
    let mut events = Vec::from(kinds.map(|kind| Event::ScopeOpened {
        scope,
        node: NodeId(3),
        kind: Box::new(kind),
        census: false,
    }));
    events.extend([
        Event::ScopeOpened {
            scope,
            node: NodeId(3),
            kind: Box::new(ScopeKind::Process),
            census: true,
        },
        Event::RunEnded { scope, index: 0, output: None },
        Event::RunEnded { scope, index: 1, output: Some(json(r#"{"ok":true}"#)) },
        Event::RoundChanged { scope, node: NodeId(5), flows: vec![FlowId(1), FlowId(128)] },
        Event::RoundChanged { scope, node: NodeId(5), flows: Vec::new() },
        Event::ScopeFailing { scope, cause: Box::new(error) },
        Event::ScopeFailing { scope, cause: Box::new(Failing::Cancelled) },
        Event::StatusForgotten { scope },
        Event::ScopeClosed { scope },
    ]);
    events
}

fn compensation() -> Vec<Event> {
    vec![
        Event::CompensationsMoved { from: TokenId(5), to: TokenId(1) },
        Event::CompensationQueued { scope: TokenId(1), tokens: Vec::new() },
        Event::CompensationQueued { scope: TokenId(1), tokens: vec![TokenId(6), TokenId(1 << 62)] },
    ]
}

fn performers() -> Vec<Event> {
    let (scope, token) = (TokenId(2), TokenId(3));
    vec![
        Event::PerformerTaken { scope, token },
        Event::PerformerAwaited { scope, token },
        Event::PerformerLeft { scope, token },
    ]
}

fn opened(on: WaitFor) -> Event {
    Event::WaitOpened { wait: WaitId(4), token: TokenId(3), slot: Slot::Own(0), on: Arc::new(on) }
}

fn work() -> Vec<Event> {
    let user = assignments(&[("assignee", r#""ann""#), ("candidateGroups", r#"["sales"]"#)]);
    vec![
        opened(WaitFor::Work(Job {
            kind: WorkKind::Job,
            job_type: "charge-card".into(),
            retries: 3,
            fields: Vec::new(),
            options: None,
            failure: None,
        })),
        opened(WaitFor::Work(Job {
            kind: WorkKind::User,
            job_type: "".into(),
            retries: 0,
            fields: user,
            options: None,
            failure: None,
        })),
        Event::RetriesSet { wait: WaitId(4), retries: 2 },
        Event::WaitClosed { wait: WaitId(4) },
    ]
}

fn waits() -> Vec<Event> {
    let zoned = Repeat {
        rhythm: Rhythm::Every(Period { months: 1, days: -2, millis: 3_000 }),
        first: Timestamp::from_millis(1_767_225_600_000),
        fired: 2,
        left: Some(7),
        until: Some(Timestamp::from_millis(i64::MAX)),
        zone: Some("Europe/Berlin".into()),
    };
    let forever = Repeat { left: None, until: None, zone: None, ..zoned.clone() };
    let due = Timestamp::from_millis(1_767_225_600_000);
    let mut events = vec![
        opened(WaitFor::Timer { due, repeat: None }),
        opened(WaitFor::Timer { due, repeat: Some(zoned) }),
        opened(WaitFor::Timer { due: Timestamp::from_millis(i64::MIN), repeat: Some(forever) }),
        opened(WaitFor::Message {
            name: "paid".into(),
            correlation: assignments(&[("order", r#""A-1""#), ("amount", "99.95")]),
        }),
        opened(WaitFor::Signal { name: "storm".into() }),
        opened(WaitFor::Condition),
        opened(WaitFor::Delivery(Post::Signal { name: "storm".into(), payload: Vec::new() })),
        opened(WaitFor::Child {
            definition: "ship".into(),
            binding: None,
            variables: Vec::new(),
            catches: Catches::default(),
        }),
        opened(WaitFor::Child {
            definition: "ship".into(),
            binding: Some("v2".into()),
            variables: assignments(&[("weight", "1.25")]),
            catches: catches(),
        }),
        opened(WaitFor::Choice),
        Event::WaitOpened {
            wait: WaitId(u64::MAX),
            token: TokenId(1),
            slot: Slot::Own(u16::MAX),
            on: Arc::new(WaitFor::Condition),
        },
    ];
    events.extend(GATES.map(|gate| Event::WaitOpened {
        wait: WaitId(5),
        token: TokenId(3),
        slot: Slot::Gate(gate),
        on: Arc::new(WaitFor::Gate(gate)),
    }));
    events
}

fn listeners() -> Vec<Event> {
    let job = Job {
        kind: WorkKind::Job,
        job_type: "audit".into(),
        retries: 3,
        fields: assignments(&[("listener", r#""start""#)]),
        options: None,
        failure: None,
    };
    let opened = |(position, moment)| Event::WaitOpened {
        wait: WaitId(4),
        token: TokenId(3),
        slot: Slot::Listener(moment, position),
        on: Arc::new(WaitFor::Work(job.clone())),
    };
    let cued = |moment| Event::TokenCued { token: TokenId(3), cue: Cue::Listen(moment, u16::MAX) };
    let waits = (0..).zip(MOMENTS).map(opened);
    waits.chain(MOMENTS.into_iter().map(cued)).collect()
}

fn cron() -> Vec<Event> {
    let due = Timestamp::from_millis(1_767_225_600_000);
    let cron = Cron::parse("0 0 9 ? * 2-6", Weekdays::From1).expect("the samples are well formed");
    let zoned = Repeat {
        rhythm: Rhythm::Cron(cron),
        first: due,
        fired: 2,
        left: Some(7),
        until: Some(Timestamp::from_millis(i64::MAX)),
        zone: Some("Europe/Berlin".into()),
    };
    let forever = Repeat { left: None, until: None, zone: None, ..zoned.clone() };
    vec![
        opened(WaitFor::Timer { due, repeat: Some(zoned) }),
        opened(WaitFor::Timer { due, repeat: Some(forever) }),
    ]
}

fn data() -> Vec<Event> {
    let missing = vec!["order".into(), "größe".into()];
    let opened = |on| Event::WaitOpened {
        wait: WaitId(5),
        token: TokenId(3),
        slot: Slot::Gate(Gate::Data),
        on: Arc::new(on),
    };
    vec![opened(WaitFor::Data { missing }), opened(WaitFor::Gate(Gate::Data))]
}

fn posts() -> Vec<Event> {
    let payload = assignments(&[("order", r#""A-1""#), ("items", r#"[{"sku":"x","count":2}]"#)]);
    let whats = [
        Post::Message {
            name: "order".into(),
            correlation: assignments(&[("id", "1")]),
            payload: payload.clone(),
        },
        Post::Signal { name: "storm".into(), payload },
        Post::Escalation { code: Some("late".into()), variables: assignments(&[("days", "3")]) },
        Post::Escalation { code: None, variables: Vec::new() },
    ];
    let mut events =
        Vec::from(whats.map(|what| Event::Posted { post: PostId(9), what: Arc::new(what) }));
    events.push(Event::PostDelivered { post: PostId(9) });
    events
}

fn incidents() -> Vec<Event> {
    let token = TokenId(3);
    let raised = |failure, redo| {
        let since = Timestamp::from_millis(1_767_225_600_123);
        Event::IncidentRaised { token, incident: Box::new(Incident { failure, redo, since }) }
    };
    let mut events = Vec::from(FAILURES.map(|kind| raised(failure(kind), Cue::Enter)));
    events.extend(CUES.map(|cue| raised(failure(FailureKind::Work), cue)));
    events.push(Event::IncidentResolved { token });
    events
}

/// Work as functions ask for it, and work of a model whose headers look like that.
fn options() -> Vec<Event> {
    let input: Map = assignments(&[("cents", "5"), ("to", "[1, null]")]).into_iter().collect();
    let least = JobOptions {
        input: Arc::new(input),
        idempotency_key: "i/0/activity pay".into(),
        attempts: 3,
        backoff: None,
        timeout: None,
        deadline: None,
        heartbeat: None,
        priority: None,
        limit: None,
        brings_variables: false,
    };
    let millis = Duration::from_millis;
    let most = JobOptions {
        input: Arc::new(Map::default()),
        attempts: 300,
        backoff: Some(Backoff { initial: millis(100), factor: 1.5, max: millis(3_600_000) }),
        timeout: Some(millis(1)),
        deadline: Some(Timestamp::from_millis(1_767_225_600_000)),
        heartbeat: Some(millis(2_000)),
        priority: Some(-9),
        limit: Some("card/7".into()),
        brings_variables: true,
        ..least.clone()
    };
    let job = |options: Option<JobOptions>, fields, failure: Option<&str>| {
        opened(WaitFor::Work(Job {
            kind: WorkKind::Job,
            job_type: "pay".into(),
            retries: 2,
            fields,
            options: options.map(Box::new),
            failure: failure.map(Into::into),
        }))
    };
    let headers = assignments(&[
        ("input", r#"{"a": 1}"#),
        ("idempotencyKey", r#""k""#),
        ("attempts", "7"),
        ("timeout", "1"),
    ]);
    vec![
        job(Some(least), Vec::new(), None),
        job(Some(most.clone()), Vec::new(), Some("busy")),
        job(Some(most), assignments(&[("h", "1")]), None),
        job(None, headers.clone(), None),
        job(None, headers, Some("busy")),
    ]
}

/// Failures that know more than their kind.
pub(crate) fn specific() -> Vec<Failure> {
    let over = [
        Over::Names(1),
        Over::NameBytes(2),
        Over::Bytes(300),
        Over::Tokens(4),
        Over::Descendants(5),
    ];
    let missing = |version: Option<&str>| {
        let version = version.map(Into::into);
        [
            FailureKind::MissingDefinition { definition: "q".into(), version: version.clone() },
            FailureKind::MissingDecision { decision: "d".into(), version },
        ]
    };
    let kinds = over.map(|it| FailureKind::Budget(Some(it))).into_iter().chain([
        FailureKind::Call,
        FailureKind::Panic,
        FailureKind::Nondeterminism,
        FailureKind::MissingCode { function: "order".into(), version: 300 },
    ]);
    let kinds = kinds.chain(missing(None)).chain(missing(Some("7")));
    let placed = Part::ALL.into_iter().zip(
        [FailureKind::Code, FailureKind::AdHoc, FailureKind::Budget(None)]
            .into_iter()
            .chain(FAILURES)
            .cycle(),
    );
    let placed = placed.map(|(part, kind)| {
        let place = Place { part, element: "größer".into() };
        Failure { place: Some(Box::new(place)), code: Some("c".into()), ..failure(kind) }
    });
    kinds.map(failure).chain(placed).collect()
}

fn kinds() -> Vec<Event> {
    let incident =
        |failure| Incident { failure, redo: Cue::Enter, since: Timestamp::from_millis(1) };
    let raised = specific()
        .into_iter()
        .map(|it| Event::IncidentRaised { token: TokenId(3), incident: Box::new(incident(it)) });
    let ended = specific().into_iter().map(|it| Event::Finished { ending: Ending::Failed(it) });
    raised.chain(ended).collect()
}

fn oversized() -> Vec<Event> {
    let failure = Failure::of(FailureKind::Oversized { bytes: 5_000_000, max: 300 });
    let incident = Incident { failure, redo: Cue::Offer, since: Timestamp::from_millis(1) };
    vec![Event::IncidentRaised { token: TokenId(3), incident: Box::new(incident) }]
}

/// Messages of every kind.
pub(crate) fn messages() -> Vec<Message> {
    let modes = [
        (Consume::One, Delivery::All),
        (Consume::One, Delivery::AfterCreate),
        (Consume::All, Delivery::AfterWait),
        (Consume::All, Delivery::All),
    ];
    let message = |(consume, delivery)| Message {
        correlation: vec![("$to".into(), "order-1".into())],
        variables: vec![("text".into(), "hello".into())],
        id: Some("id-1".into()),
        ttl: (delivery == Delivery::All).then_some(Duration::from_millis(500)),
        consume,
        delivery,
        ..Message::new("news")
    };
    modes.into_iter().map(message).collect()
}

/// So many milliseconds after the beginning of 1970.
pub(crate) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A wait of an instance.
pub(crate) fn at(instance: u64, wait: u64) -> Address {
    Address { instance: InstanceId(instance), wait: WaitId(wait) }
}

/// A wait for messages.
pub(crate) fn subscription() -> Subscription {
    Subscription {
        instance: InstanceId(4),
        wait: WaitId(9),
        kind: SubscriptionKind::Message,
        name: "news".into(),
        correlation: vec![("key".into(), 7.into())],
        element: "receive".into(),
        since: time(900),
        place: 3,
        created: time(800),
        after: 5,
        had: vec![7, 9],
    }
}
