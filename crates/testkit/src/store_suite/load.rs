//! A load whose every step can be recognised afterwards, for stores that are killed while it runs.

use travertine_store::InstanceId;
use travertine_store::{
    Batch, DefinitionKey, Deployed, Deployment, Entry, Error, Fold, Mail, MailId, Resource, Seq,
    ShardId, Store,
    view::{Change, Query, Row, Table},
};
use travertine_value::Name;

use super::rows::{self, time};

/// The entries of a batch.
pub const BATCH: u64 = 3;
/// The entries of an instance.
const INSTANCE: u64 = 2 * BATCH;
const SHARD: ShardId = ShardId(0);

/// What a store has acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// The last entry.
    pub append: Seq,
    /// The entry of the last checkpoint.
    pub checkpoint: Seq,
    /// The last instance that was folded, counted from 1.
    pub fold: u64,
    /// The last deployment.
    pub deploy: u64,
}

impl Acknowledged {
    /// Takes over a line that [`run`] has told.
    pub fn hear(&mut self, line: &str) {
        let Some((what, number)) = line.split_once(' ') else { return };
        let Ok(number) = number.parse() else { return };
        match what {
            "append" => self.append = number,
            "checkpoint" => self.checkpoint = number,
            "fold" => self.fold = number,
            "deploy" => self.deploy = number,
            _ => {}
        }
    }
}

/// Writes so many batches after those that are there, with bodies of so many bytes, and tells each thing
/// as soon as it is acknowledged.
pub fn run(
    store: &dyn Store,
    body: usize,
    batches: u64,
    tell: &mut dyn FnMut(&str, u64),
) -> Result<(), Error> {
    let first = store.last(SHARD)? / BATCH + 1;
    let mut claim = store.take(SHARD, "load")?;
    for number in first..first + batches {
        if number % 10 == 0 {
            claim = store.take(SHARD, "load")?;
        }
        store.append(&claim, &[batch(number, body)])?;
        tell("append", number * BATCH);
        if number % 4 == 0 {
            store.checkpoint(&claim, number * BATCH, &number.to_le_bytes(), &changes(number))?;
            tell("checkpoint", number * BATCH);
        }
        if number % 6 == 0 {
            let instance = number / 2 - 1;
            match store.fold(&claim, &[fold(instance)]) {
                // It may have been folded just before it was killed.
                Ok(()) | Err(Error::NoSuchEntry { .. }) => tell("fold", instance),
                Err(error) => return Err(error),
            }
        }
        if number % 5 == 0 {
            let last = store.deployments(0)?.last().map_or(0, |it| it.number);
            store.deploy(&deployment(last + 1))?;
            tell("deploy", last + 1);
            if last % 2 == 1 {
                store.undeploy(&[DefinitionKey(last)])?;
            }
        }
    }
    Ok(())
}

/// Checks that all that was acknowledged is there, and nothing by halves.
pub fn verify(store: &dyn Store, acknowledged: &Acknowledged) {
    let last = store.last(SHARD).unwrap();
    assert!(last >= acknowledged.append, "{last} {acknowledged:?}");
    assert_eq!(last % BATCH, 0, "a batch is there by halves");
    let number = last / BATCH;
    let mails: Vec<Mail> = (number > 0).then(|| mail(number)).into_iter().collect();
    assert_eq!(store.inbox(SHARD, &[], usize::MAX).unwrap(), mails);

    let found = store.entries(SHARD, 0, usize::MAX).unwrap();
    let size = |seq: Seq| found.iter().find(|it| it.seq == seq).map_or(0, |it| it.body.len());
    let mut left = &found[..];
    for instance in 1..=last.div_ceil(INSTANCE) {
        let seqs = (instance - 1) * INSTANCE + 1..=(instance * INSTANCE).min(last);
        let whole: Vec<Entry> = seqs.map(|seq| entry(seq, size(seq))).collect();
        let folded: Vec<Entry> = fold(instance).entry.into_iter().collect();
        // A fold that was not acknowledged is made or not.
        let may_be_folded = instance % 3 == 2;
        let must_be_folded = may_be_folded && instance == acknowledged.fold;
        if left.starts_with(&whole) && !must_be_folded {
            left = &left[whole.len()..];
        } else {
            assert!(may_be_folded && left.starts_with(&folded), "instance {instance} of {last}");
            left = &left[folded.len()..];
        }
    }
    assert!(left.is_empty(), "there are entries that were never written");

    let (upto, state) = store.checkpointed(SHARD).unwrap();
    assert!(upto >= acknowledged.checkpoint && upto <= last, "{upto} {last} {acknowledged:?}");
    if upto > 0 {
        let number = upto / BATCH;
        assert_eq!(state, number.to_le_bytes());
        let all = Query {
            table: Table::Jobs,
            filters: vec![],
            descending: false,
            after: None,
            limit: 100,
        };
        assert_eq!(store.query(&all).unwrap().rows, [Row::Job(rows::job(4, number))]);
        assert_eq!(store.instance(InstanceId(4)).unwrap().map(|it| it.last), Some(upto));
    }

    let deployments = store.deployments(0).unwrap();
    assert!(deployments.len() as u64 >= acknowledged.deploy);
    for (number, found) in (1..).zip(deployments) {
        let removed = found.definitions.iter().all(|it| it.removed);
        let mut expected = deployment(number);
        if removed {
            expected.resources.clear();
            expected.definitions[0].removed = true;
        }
        assert_eq!(found, expected);
    }
}

fn entry(seq: Seq, body: usize) -> Entry {
    let instance = SHARD.instance((seq - 1) / INSTANCE + 1, 4);
    let previous = if (seq - 1).is_multiple_of(INSTANCE) { 0 } else { seq - 1 };
    let body = seq.to_le_bytes().into_iter().cycle().take(body).collect();
    Entry { seq, instance: InstanceId(instance), previous, at: time(5), body }
}

fn mail(number: u64) -> Mail {
    Mail { id: MailId { from: SHARD, number }, to: SHARD, body: number.to_le_bytes().to_vec() }
}

/// The batch with this number, which takes the mail of the one before.
fn batch(number: u64, body: usize) -> Batch {
    let seqs = (number - 1) * BATCH + 1..=number * BATCH;
    Batch {
        entries: seqs.map(|seq| entry(seq, body)).collect(),
        sent: vec![mail(number)],
        taken: (number > 1).then(|| mail(number - 1).id).into_iter().collect(),
    }
}

fn changes(number: u64) -> [Change; 3] {
    let mut instance = rows::instance(4);
    instance.last = number * BATCH;
    [
        Change::Clear(4),
        Change::Put(Row::Job(rows::job(4, number))),
        Change::Put(Row::Instance(instance)),
    ]
}

/// Every other instance that is folded goes altogether.
fn fold(instance: u64) -> Fold {
    let last = instance * INSTANCE;
    let short = Entry { previous: 0, ..entry(last, 10) };
    Fold { last, entry: (instance % 2 == 1).then_some(short) }
}

fn deployment(number: u64) -> Deployment {
    Deployment {
        number,
        at: time(7),
        resources: vec![Resource { name: String::from("a.bpmn"), body: vec![60; 5_000] }],
        definitions: vec![Deployed {
            key: DefinitionKey(number),
            id: Name::from("order"),
            version: u32::try_from(number).expect("there are not so many"),
            tag: None,
            resource: 0,
            removed: false,
            retired: false,
        }],
    }
}
