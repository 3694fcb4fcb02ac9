//! Entries and mails of every kind are written byte for byte as they were.

use std::collections::BTreeSet;
use travertine_kernel::{PostId, WaitId};
use travertine_store::InstanceId;

use travertine_kernel::{Catches, Ending, Failure, FailureKind, Over};
use travertine_store::{
    DefinitionKey,
    codec::{
        DecodeError, EncodeError, Flaw,
        record::{
            decode_held, decode_letter, decode_records, decode_shard, decode_snapshot,
            decode_subscription, encode_held, encode_letter, encode_records, encode_records_by,
            encode_shard, encode_snapshot, encode_subscription,
        },
    },
    record::{
        Call, Created, Edit, Folded, Held, Labels, Letter, Noted, Record, ShardState, Shared,
        Snapshot, StartKey, StartTimer, Subscription, SubscriptionKind, TaskChange,
    },
};
use travertine_value::{
    Name,
    time::{Period, Repeat, Rhythm, Timestamp},
};

use crate::{
    golden::golden,
    sample::{self, at, time},
};

const START: StartKey = StartKey { definition: DefinitionKey(300), node: 2, position: 1 };

fn created() -> Created {
    let business_id = Some("order-1".into());
    Created {
        definition: DefinitionKey(300),
        business_id,
        caller: Some(at(7, 1 << 40)),
        root: InstanceId(7),
        depth: 1,
    }
}

fn failed() -> Ending {
    let code = Some("late".into());
    Ending::Failed(Failure { code, ..Failure::new(FailureKind::Work, "too late") })
}

fn held() -> Held {
    let message = sample::messages().remove(0);
    Held { number: 12, message, published: time(1_000), expires: Some(time(1_500)), dead: None }
}

fn start_timers() -> [StartTimer; 2] {
    let repeat = Repeat {
        rhythm: Rhythm::Every(Period { months: 1, days: -2, millis: 3_000 }),
        first: Timestamp::from_millis(-5),
        fired: 3,
        left: Some(4),
        until: Some(Timestamp::from_millis(1 << 42)),
        zone: Some("Europe/Paris".into()),
    };
    [
        StartTimer { start: START, due: Some(time(1_700_000_000_000)), repeat: Some(repeat) },
        StartTimer { start: START, due: None, repeat: None },
    ]
}

fn task_changes() -> [TaskChange; 2] {
    [
        TaskChange::default(),
        TaskChange {
            assignee: Edit::Set("ada".into()),
            candidate_users: Some(vec!["bob".into(), "eve".into()]),
            candidate_groups: Some(Vec::new()),
            due: Edit::Remove,
            follow_up: Edit::Set(time(-1)),
            priority: Some(50),
        },
    ]
}

/// Entries of every kind.
fn records() -> Vec<Record> {
    let wait = WaitId(9);
    let mut records: Vec<_> =
        sample::first().into_iter().map(|(_, events)| Record::Happened(events)).collect();
    records.extend(letters().into_iter().map(Record::Deferred));
    records.extend(task_changes().map(|change| Record::TaskChanged { wait, change }));
    records.extend(start_timers().map(Record::StartTimer));
    let folded = Folded {
        created: created(),
        started: time(1_000),
        ending: failed(),
        variables: sample::values(),
    };
    records.extend([
        Record::Created(created()),
        Record::Created(Created {
            business_id: None,
            caller: None,
            root: InstanceId(0),
            ..created()
        }),
        Record::Suspended,
        Record::Resumed,
        Record::Halted("the engine failed".to_owned()),
        Record::Released,
        Record::Recalled,
        Record::Leased { wait, worker: "ada".into(), until: time(1_700_000_000_000) },
        Record::Paused { wait, until: time(-1) },
        Record::TimerMoved { wait, due: time(64) },
        Record::Migrated { definition: DefinitionKey(128) },
        Record::Folded(Box::new(folded)),
        Record::Held(held()),
        Record::Gone { message: 127 },
        Record::Known { number: 8, name: "news".into(), id: "id-1".into(), until: time(63) },
        Record::Subscribed(sample::subscription()),
        Record::Unsubscribed { instance: InstanceId(4), wait },
        Record::Noted { start: START, variables: sample::values() },
        Record::Unnoted { start: START },
        Record::Heard { name: "news".into(), after: 5, had: vec![7, 900] },
        Record::BeganAs { definition: "order".into() },
    ]);
    records
}

/// Mails of every kind.
fn letters() -> Vec<Letter> {
    let (to, from, instance, wait) = (at(4, 9), at(4, 10), InstanceId(4), WaitId(9));
    let (name, variables) = ("news", sample::values());
    let message = sample::messages().remove(2);
    let catches = Catches {
        all: false,
        codes: vec!["late".into(), "lost".into()],
        ended_by_all: true,
        ended_by: vec!["over".into()],
    };
    let call = Call {
        from,
        definition: DefinitionKey(300),
        variables: variables.clone(),
        catches,
        root: InstanceId(4),
        depth: 2,
    };
    let delivered = Letter::Delivered { instance, post: PostId(11) };
    let escalated = |code| Letter::Escalated {
        to,
        code,
        variables: variables.clone(),
        confirm: Box::new(delivered.clone()),
    };
    let signals = Subscription { kind: SubscriptionKind::Signal, ..sample::subscription() };
    let ended =
        |ending| Letter::Ended { to, child: InstanceId(12), ending, variables: variables.clone() };
    vec![
        Letter::Call(call),
        ended(Ending::Completed),
        ended(Ending::Cancelled),
        ended(failed()),
        Letter::NotCalled { to, reason: "it is not there".to_owned() },
        Letter::Uncall { from },
        escalated(Some("late".into())),
        escalated(None),
        delivered.clone(),
        Letter::Subscribe(signals),
        Letter::Unsubscribe { instance, wait },
        Letter::Publish {
            message: message.clone(),
            again: true,
            published: time(1),
            expires: None,
        },
        Letter::Deliver {
            to,
            message: message.clone(),
            published: time(1),
            expires: Some(time(2)),
            shared: Some(Shared { number: 7, upto: 5 }),
        },
        Letter::Broadcast {
            name: name.into(),
            variables: variables.clone(),
            from: Some(InstanceId(4)),
        },
        Letter::Signal { to, variables: variables.clone() },
        Letter::Ring { to },
        Letter::Cancel { instance },
        Letter::Start { definition: name.into(), id: "id".into(), variables: variables.clone() },
        Letter::Trigger { start: START, variables },
        Letter::Bury { message, published: time(1), expires: None, reason: "too much".into() },
    ]
}

/// What kinds of failures have added.
fn call_failed() -> Vec<Record> {
    call_failed_letters().into_iter().map(Record::Deferred).collect()
}

fn call_failed_letters() -> Vec<Letter> {
    let letter = |failure| Letter::CallFailed { to: at(3, 1 << 40), failure };
    sample::specific().into_iter().map(letter).collect()
}

/// What messages to one instance have added.
fn addressed() -> Vec<Record> {
    let (name, receiver, id) = ("news".into(), r#"{"key":"7"}"#.into(), "id-1".into());
    let recognised = Record::Recognised { number: 8, name, receiver, id, until: time(63) };
    let mails = addressed_letters().into_iter().map(Record::Deferred);
    [recognised].into_iter().chain(mails).collect()
}

/// What numbers for all messages and signals have added.
fn numbered() -> Vec<Record> {
    vec![Record::Numbered { messages: 1 << 40 }]
}

fn addressed_letters() -> Vec<Letter> {
    let of = at(4, 9);
    vec![
        Letter::AskVariables { of, names: vec!["orderId".into(), "town".into()] },
        Letter::Variables { of, values: sample::values() },
    ]
}

/// What starters say of instances.
fn labelled() -> Vec<Record> {
    let labels = |tags: &[&str], trace: Option<&str>| {
        let tags = tags.iter().map(|it| Name::from(*it)).collect();
        Record::Labelled(Box::new(Labels { tags, trace: trace.map(Name::from) }))
    };
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    vec![labels(&["urgent", "team:north"], Some(trace)), labels(&[], None)]
}

fn ends_after() -> Vec<Record> {
    vec![Record::EndsAfter { elements: vec!["pack".into(), "send".into()] }]
}

fn by() -> Vec<Record> {
    vec![Record::Resumed, Record::By { who: "ann@example.com".into() }]
}

fn by_batch() -> Vec<Record> {
    vec![Record::Suspended, Record::ByBatch { who: "ann".into(), batch: InstanceId(300) }]
}

fn snapshot() -> Snapshot {
    Snapshot {
        created: created(),
        definition: DefinitionKey(301),
        records: vec![Record::Suspended, Record::Migrated { definition: DefinitionKey(128) }],
        since: vec![(WaitId(9), time(1_000)), (WaitId(200), time(-1))],
        state: (0..=255).collect(),
    }
}

fn shard() -> ShardState {
    ShardState {
        instances: 1_000,
        messages: 2,
        noted: vec![Noted { start: START, variables: sample::values() }],
        timers: start_timers().into(),
        unfinished: vec![InstanceId(3), InstanceId(400)],
    }
}

fn check<T: PartialEq + std::fmt::Debug>(
    name: &str,
    it: T,
    encode: impl Fn(&T, &mut Vec<u8>) -> Result<(), EncodeError>,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) {
    let mut bytes = Vec::new();
    encode(&it, &mut bytes).expect("no value is nested too deeply");
    let file = golden(&format!("records/{name}.bin"), &bytes);
    assert_eq!(decode(&file), Ok(it), "{name} is read differently");
    assert_eq!(bytes, file, "{name} is written differently");
}

/// Mails are among the records.
#[test]
fn whatever_is_stored_is_what_it_was() {
    check("records", records(), |it, bytes| encode_records(it, bytes), decode_records);
    check("addressed", addressed(), |it, bytes| encode_records(it, bytes), decode_records);
    check("numbered", numbered(), |it, bytes| encode_records(it, bytes), decode_records);
    check("call-failed", call_failed(), |it, bytes| encode_records(it, bytes), decode_records);
    check("labelled", labelled(), |it, bytes| encode_records(it, bytes), decode_records);
    check("ends-after", ends_after(), |it, bytes| encode_records(it, bytes), decode_records);
    check("by", by(), |it, bytes| encode_records(it, bytes), decode_records);
    let mut alone = Vec::new();
    encode_records_by(&by()[..1], &by()[1], &mut alone).unwrap();
    assert_eq!(decode_records(&alone).unwrap(), by());
    check("by-batch", by_batch(), |it, bytes| encode_records(it, bytes), decode_records);
    check("held", held(), encode_held, decode_held);
    check("shard", shard(), encode_shard, decode_shard);
    check("snapshot", snapshot(), encode_snapshot, decode_snapshot);
    check("subscription", sample::subscription(), encode_subscription, decode_subscription);
}

#[test]
fn the_samples_have_entries_and_mails_of_every_kind() {
    const VERSION: u8 = 1;
    // A kind that exists lacks its fields, or has too many; one that does not is unknown.
    let kinds = |flaw: &dyn Fn(u8) -> Option<Flaw>| {
        (0..0x80).take_while(|kind| flaw(*kind) != Some(Flaw::UnknownKind)).collect()
    };
    let all: BTreeSet<u8> =
        kinds(&|kind| decode_records(&[VERSION, 1, kind, 0x80]).err().map(|it| it.flaw));
    let kind_of = |record: &Record| {
        let mut bytes = Vec::new();
        encode_records(std::slice::from_ref(record), &mut bytes).unwrap();
        bytes[2]
    };
    let ended = Record::Ended(Box::new(Folded {
        created: created(),
        started: time(1_000),
        ending: Ending::Cancelled,
        variables: Vec::new(),
    }));
    let added = addressed()
        .into_iter()
        .chain(labelled())
        .chain(ends_after())
        .chain(by())
        .chain(by_batch())
        .chain(numbered());
    let some = records().into_iter().chain(added).chain([ended]);
    assert_eq!(some.map(|it| kind_of(&it)).collect::<BTreeSet<_>>(), all);
    let all: BTreeSet<u8> =
        kinds(&|kind| decode_letter(&[VERSION, kind, 0x80]).err().map(|it| it.flaw));
    let kind_of = |letter: &Letter| {
        let mut bytes = Vec::new();
        encode_letter(letter, &mut bytes).unwrap();
        assert_eq!(decode_letter(&bytes).as_ref(), Ok(letter));
        bytes[1]
    };
    let letter = Box::new(Letter::Ring { to: at(4, 9) });
    let chained = vec![Letter::Chained { generation: 300, letter }];
    let some =
        [letters(), addressed_letters(), call_failed_letters(), chained].concat().into_iter();
    assert_eq!(some.map(|it| kind_of(&it)).collect::<BTreeSet<_>>(), all);
}

#[test]
fn what_a_journal_has_too_much_of_is_read_back() {
    for over in [Over::JournalEntries(7), Over::JournalBytes(300)] {
        let failure = Failure::new(FailureKind::Budget(Some(over)), "too much");
        let letter = Letter::CallFailed { to: at(4, 9), failure };
        let mut bytes = Vec::new();
        encode_letter(&letter, &mut bytes).unwrap();
        assert_eq!(decode_letter(&bytes), Ok(letter));
    }
}
