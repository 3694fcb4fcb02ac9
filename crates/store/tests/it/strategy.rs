//! Random events of every kind.

use std::sync::Arc;

use proptest::{collection::vec, option, prelude::*, sample::select};
use travertine_kernel::{
    Assignments, Catches, Destination, Digest, Each, Ending, Event, Failing, Failure, FanOut,
    FlowId, Gate, Incident, Job, JournalEntry, LayerId, NodeId, Post, PostId, Reads, Role,
    ScopeKind, Slot, State, Status, TokenId, WaitFor, WaitId,
    plan::WorkKind,
    time::{Cron, Period, Repeat, Rhythm, Timestamp, Weekdays},
};
use travertine_value::{Map, Name, Number, Value};

use crate::sample::{self, CUES, FAILURES, GATES, MOMENTS, STATES};

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![token_event(), content_event(), scope_event(), wait_event()]
}

/// Mostly small, as they are in life.
fn id() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..300, 1 => any::<u64>()]
}

fn token() -> impl Strategy<Value = TokenId> {
    id().prop_map(TokenId)
}

fn wait() -> impl Strategy<Value = WaitId> {
    id().prop_map(WaitId)
}

fn layer() -> impl Strategy<Value = LayerId> {
    id().prop_map(LayerId)
}

fn node() -> impl Strategy<Value = NodeId> {
    any::<u32>().prop_map(NodeId)
}

fn flow() -> impl Strategy<Value = FlowId> {
    any::<u32>().prop_map(FlowId)
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_millis)
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof!["[a-z]{0,8}", ".{0,4}"].prop_map(Name::from)
}

fn number() -> impl Strategy<Value = Number> {
    let decimal =
        (any::<i64>(), any::<u32>(), -6000_i32..6000).prop_map(|(high, low, exponent)| {
            format!("{high}.{low}e{exponent}").parse().expect("29 digits are exact")
        });
    prop_oneof![any::<i64>().prop_map(Number::from), decimal]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..40).prop_map(Value::from),
            vec((name(), inner), 0..5).prop_map(|it| it.into_iter().collect::<Map>().into()),
        ]
    })
}

pub(crate) fn assignments() -> impl Strategy<Value = Assignments> {
    vec((name(), value()), 0..3)
}

fn status() -> impl Strategy<Value = Status> {
    option::of(assignments().prop_map(|it| Arc::new(it.into_iter().collect())))
}

fn catches() -> impl Strategy<Value = Catches> {
    (any::<bool>(), vec(name(), 0..3), any::<bool>(), vec(name(), 0..3)).prop_map(
        |(all, codes, ended_by_all, ended_by)| Catches { all, codes, ended_by_all, ended_by },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    let plain = FAILURES.into_iter().map(|kind| Failure::new(kind, ""));
    let all: Vec<Failure> = plain.chain(sample::specific()).collect();
    (select(all), option::of(name()), ".{0,20}").prop_map(|(failure, code, message)| Failure {
        code,
        message,
        ..failure
    })
}

fn state() -> impl Strategy<Value = State> {
    select(&STATES[..])
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![
        Just(Role::Flow),
        any::<u32>().prop_map(Role::Run),
        any::<u32>().prop_map(Role::Branch),
        token().prop_map(Role::Guard),
        Just(Role::Start),
        Just(Role::Compensation),
    ]
}

fn reads() -> impl Strategy<Value = Reads> {
    prop_oneof![layer().prop_map(Reads::Shared), option::of(layer()).prop_map(Reads::Own)]
}

fn destination() -> impl Strategy<Value = Destination> {
    (node(), option::of(flow()), vec((node(), assignments()), 0..3))
        .prop_map(|(at, via, variables)| Destination { at, via, variables })
}

fn token_event() -> BoxedStrategy<Event> {
    let created =
        (token(), node(), option::of(token()), option::of(flow()), role(), reads(), status())
            .prop_map(|(token, node, scope, via, role, layer, status)| Event::TokenCreated {
                token,
                node,
                scope,
                via,
                role,
                layer,
                status,
            });
    prop_oneof![
        created,
        (token(), option::of(flow()), node()).prop_map(|(token, via, to)| Event::TokenMoved {
            token,
            via,
            to
        }),
        (token(), state()).prop_map(|(token, state)| Event::TokenState { token, state }),
        (token(), any::<bool>())
            .prop_map(|(token, inclusive)| Event::TokenParked { token, inclusive }),
        (token(), select(&CUES[..])).prop_map(|(token, cue)| Event::TokenCued { token, cue }),
        token().prop_map(|token| Event::TokenUncued { token }),
        token().prop_map(|token| Event::TokenPromoted { token }),
        token().prop_map(|token| Event::TokenRetired { token }),
        (token(), token()).prop_map(|(token, scope)| Event::TokenRecalled { token, scope }),
        (token(), state()).prop_map(|(token, state)| Event::TokenGone { token, state }),
        (token(), status()).prop_map(|(token, status)| Event::StatusSet { token, status }),
        token().prop_map(|token| Event::BranchArrived { token }),
        (token(), failure(), select(&CUES[..]), time()).prop_map(
            |(token, failure, redo, since)| {
                let incident = Box::new(Incident { failure, redo, since });
                Event::IncidentRaised { token, incident }
            }
        ),
        token().prop_map(|token| Event::IncidentResolved { token }),
        (token(), vec(destination(), 0..3)).prop_map(|(token, to)| Event::TokenBound { token, to }),
    ]
    .boxed()
}

fn content_event() -> BoxedStrategy<Event> {
    let ending = prop_oneof![
        Just(Ending::Completed),
        failure().prop_map(Ending::Failed),
        Just(Ending::Cancelled),
    ];
    prop_oneof![
        (time(), vec(node(), 0..3), option::of(catches()))
            .prop_map(|(at, start, caller)| Event::Started { at, start, caller }),
        ending.prop_map(|ending| Event::Finished { ending }),
        (token(), layer()).prop_map(|(token, layer)| Event::LayerOpened { token, layer }),
        token().prop_map(|token| Event::LayerClosed { token }),
        (layer(), name(), value()).prop_map(|(layer, name, value)| Event::VariableSet {
            layer,
            name,
            value
        }),
        (vec((node(), node()), 0..4), vec((flow(), flow()), 0..4), vec(token(), 0..3))
            .prop_map(|(nodes, flows, counting)| Event::Migrated { nodes, flows, counting }),
        (layer(), name()).prop_map(|(layer, name)| Event::VariableRemoved { layer, name }),
        (token(), time()).prop_map(|(token, at)| Event::FunctionBegan { token, at }),
        entry().prop_map(|entry| Event::Journaled { entry: Arc::new(entry) }),
        token().prop_map(|token| Event::FunctionThought { token }),
        (name(), value()).prop_map(|(id, said)| Event::UpdateAnswered { id, said }),
        (token(), name(), any::<u32>()).prop_map(|(token, decision, version)| {
            Event::DecisionMade { token, decision, version }
        }),
        name().prop_map(|it| Event::UpdateRefused { message: it.to_string() }),
    ]
    .boxed()
}

fn scope_kind() -> impl Strategy<Value = ScopeKind> {
    let each =
        (
            any::<(u32, u32, u32, u32, u32)>(),
            option::of(vec(value(), 0..3).prop_map(Arc::new)),
            any::<Option<u32>>(),
            vec(value(), 0..3),
        )
            .prop_map(
                |((total, window, begun, completed, terminated), items, batch_size, outputs)| {
                    Each { total, window, items, batch_size, begun, completed, terminated, outputs }
                },
            );
    let fan_out = (any::<u32>(), vec(layer(), 0..4), option::of(node()), vec(token(), 0..4))
        .prop_map(|(count, branches, fan_in, arrived)| FanOut { count, branches, fan_in, arrived });
    prop_oneof![
        Just(ScopeKind::Process),
        Just(ScopeKind::SubProcess),
        Just(ScopeKind::EventSubProcess),
        Just(ScopeKind::Transaction),
        Just(ScopeKind::AdHoc),
        each.prop_map(ScopeKind::Each),
        any::<u32>().prop_map(|runs| ScopeKind::Loop { runs }),
        fan_out.prop_map(ScopeKind::FanOut),
        Just(ScopeKind::Gosub),
        Just(ScopeKind::Compensation),
    ]
}

fn scope_event() -> BoxedStrategy<Event> {
    let failing = prop_oneof![
        (failure(), assignments()).prop_map(|(failure, it)| Failing::Error(failure, it)),
        Just(Failing::Cancelled),
    ];
    prop_oneof![
        (token(), node(), scope_kind().prop_map(Box::new), any::<bool>()).prop_map(
            |(scope, node, kind, census)| Event::ScopeOpened { scope, node, kind, census }
        ),
        (token(), failing.prop_map(Box::new))
            .prop_map(|(scope, cause)| Event::ScopeFailing { scope, cause }),
        token().prop_map(|scope| Event::ScopeClosed { scope }),
        token().prop_map(|scope| Event::StatusForgotten { scope }),
        (token(), token()).prop_map(|(from, to)| Event::CompensationsMoved { from, to }),
        (token(), vec(token(), 0..9))
            .prop_map(|(scope, tokens)| Event::CompensationQueued { scope, tokens }),
        (token(), node(), vec(flow(), 0..9)).prop_map(|(scope, node, flows)| Event::RoundChanged {
            scope,
            node,
            flows
        }),
        (token(), any::<u32>(), option::of(value()))
            .prop_map(|(scope, index, output)| Event::RunEnded { scope, index, output }),
        (token(), any::<u32>()).prop_map(|(scope, index)| Event::RunTerminated { scope, index }),
        (token(), token()).prop_map(|(scope, token)| Event::PerformerTaken { scope, token }),
        (token(), token()).prop_map(|(scope, token)| Event::PerformerAwaited { scope, token }),
        (token(), token()).prop_map(|(scope, token)| Event::PerformerLeft { scope, token }),
    ]
    .boxed()
}

fn post() -> impl Strategy<Value = Post> {
    prop_oneof![
        (name(), assignments(), assignments()).prop_map(|(name, correlation, payload)| {
            Post::Message { name, correlation, payload }
        }),
        (name(), assignments()).prop_map(|(name, payload)| Post::Signal { name, payload }),
        (option::of(name()), assignments())
            .prop_map(|(code, variables)| Post::Escalation { code, variables }),
    ]
}

fn rhythm() -> impl Strategy<Value = Rhythm> {
    let crons = ["*/5 * * * *", "0 0 9 ? * 2-6", "0 0 0 LW 1,7 ? 2030-2040/2", "@daily"];
    let cron = |text: &str| Cron::parse(text, Weekdays::From1).expect("these are well formed");
    prop_oneof![
        any::<(i32, i32, i64)>().prop_map(|(months, days, millis)| Rhythm::Every(Period {
            months,
            days,
            millis
        })),
        select(crons.map(cron).to_vec()).prop_map(Rhythm::Cron),
    ]
}

pub(crate) fn repeat() -> impl Strategy<Value = Repeat> {
    (rhythm(), time(), any::<u32>(), any::<Option<u32>>(), option::of(time()), option::of(name()))
        .prop_map(|(rhythm, first, fired, left, until, zone)| Repeat {
            rhythm,
            first,
            fired,
            left,
            until,
            zone,
        })
}

fn wait_for() -> impl Strategy<Value = WaitFor> {
    let kinds = select(vec![WorkKind::Job, WorkKind::User]);
    let job = (kinds, name(), any::<u32>(), assignments(), option::of(name())).prop_map(
        |(kind, job_type, retries, fields, failure)| Job {
            kind,
            job_type,
            retries,
            fields,
            options: None,
            failure,
        },
    );
    prop_oneof![
        job.prop_map(WaitFor::Work),
        (time(), option::of(repeat())).prop_map(|(due, repeat)| WaitFor::Timer { due, repeat }),
        (name(), assignments())
            .prop_map(|(name, correlation)| WaitFor::Message { name, correlation }),
        name().prop_map(|name| WaitFor::Signal { name }),
        Just(WaitFor::Condition),
        post().prop_map(WaitFor::Delivery),
        (name(), option::of(name()), assignments(), catches()).prop_map(
            |(definition, binding, variables, catches)| WaitFor::Child {
                definition,
                binding,
                variables,
                catches,
            }
        ),
        select(&GATES[..]).prop_map(WaitFor::Gate),
        Just(WaitFor::Choice),
        vec(name(), 0..3).prop_map(|missing| WaitFor::Data { missing }),
    ]
}

fn wait_event() -> BoxedStrategy<Event> {
    let slot = prop_oneof![
        any::<u16>().prop_map(Slot::Own),
        select(&GATES[..]).prop_map(Slot::Gate),
        Just(Slot::Gate(Gate::Data)),
        (select(&MOMENTS[..]), any::<u16>()).prop_map(|(it, at)| Slot::Listener(it, at)),
    ];
    prop_oneof![
        (wait(), token(), slot, wait_for().prop_map(Arc::new))
            .prop_map(|(wait, token, slot, on)| Event::WaitOpened { wait, token, slot, on }),
        (wait(), any::<u32>()).prop_map(|(wait, retries)| Event::RetriesSet { wait, retries }),
        (wait(), any::<u32>(), name()).prop_map(|(wait, retries, message)| Event::WorkFailed {
            wait,
            retries,
            message
        }),
        wait().prop_map(|wait| Event::WaitClosed { wait }),
        (id().prop_map(PostId), post().prop_map(Arc::new))
            .prop_map(|(post, what)| Event::Posted { post, what }),
        id().prop_map(|post| Event::PostDelivered { post: PostId(post) }),
    ]
    .boxed()
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<u64>().prop_map(Digest)
}

fn entry() -> impl Strategy<Value = JournalEntry> {
    prop_oneof![
        time().prop_map(|at| JournalEntry::Began { at }),
        (name(), option::of(digest())).prop_map(|(key, input)| JournalEntry::Asked { key, input }),
        (name(), option::of(digest())).prop_map(|(key, input)| JournalEntry::Sent { key, input }),
        (name(), value()).prop_map(|(key, value)| JournalEntry::Recorded { key, value }),
        (any::<u32>(), time(), assignments()).prop_map(|(operation, at, result)| {
            JournalEntry::Done { operation, at, outcome: Ok(result) }
        }),
        (any::<u32>(), time(), failure()).prop_map(|(operation, at, failure)| {
            JournalEntry::Done { operation, at, outcome: Err(failure) }
        }),
        any::<u32>().prop_map(|operation| JournalEntry::Dropped { operation }),
        time().prop_map(|at| JournalEntry::Cancelled { at }),
        (time(), name(), value(), option::of(name()))
            .prop_map(|(at, name, input, id)| JournalEntry::Updated { at, name, input, id }),
    ]
}
