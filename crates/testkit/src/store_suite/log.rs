//! Promises about the log and the mails.

use std::thread;

use travertine_store::{
    Batch, Claim, Entry, Error, Fold, InstanceId, Mail, MailId, ShardId, Store,
};
use travertine_value::time::Timestamp;

use super::{Promise, batch, claim, entry, rows::time};

pub(super) const PROMISES: &[Promise] = &[
    ("a new store is empty", new_is_empty),
    ("what was appended is read back as it was", reads_back),
    ("entries are read in pages", pages),
    ("shards have logs of their own", own_logs),
    ("batches of one shard follow on each other", batches_of_one_shard),
    ("entries that do not follow are refused", misplaced),
    ("each claim has a greater epoch and ends the one before", claims),
    ("a stale owner can write nothing", stale),
    ("a claim of one shard leaves the others alone", claims_apart),
    ("an append of nothing is fine", nothing),
    ("the chain of an instance is followed back", chains),
    ("a chain with a hole is told", chain_with_hole),
    ("a fold takes the place of all entries of an instance", folds),
    ("folded entries can be deleted, and the end of the log stays", deletes),
    ("folds are all made or none", folds_all_or_nothing),
    ("mails wait by sender and in order until they are taken", mails),
    ("mails of a refused batch are not sent", refused_mails),
    ("an inbox is read in pages, after the mails that are known of each sender", inbox_pages),
    ("the greatest mail of each sender is told, also when it is taken", mailed),
    ("many can append at the same time", together),
    ("one who is refused does not disturb those beside", together_with_stale),
    ("bodies of any size and content are kept", bodies),
];

fn entries(store: &dyn Store, shard: u16) -> Vec<Entry> {
    store.entries(ShardId(shard), 0, usize::MAX).unwrap()
}

/// Appends entries 1 to 6 of shard 1 about instances 1 and 5 by turns.
fn two_instances(store: &dyn Store) -> (Claim, Vec<Entry>) {
    let claim = claim(store, 1);
    let all = vec![
        entry(1, 1, 0),
        entry(2, 5, 0),
        entry(3, 1, 1),
        entry(4, 5, 2),
        entry(5, 1, 3),
        entry(6, 5, 4),
    ];
    store.append(&claim, &[batch(all.clone())]).unwrap();
    (claim, all)
}

fn new_is_empty(store: &dyn Store) {
    for shard in (0..store.shards()).map(ShardId) {
        assert_eq!(store.last(shard).unwrap(), 0);
        assert_eq!(store.entries(shard, 0, 10).unwrap(), []);
        assert_eq!(store.inbox(shard, &[], usize::MAX).unwrap(), []);
        assert_eq!(store.checkpointed(shard).unwrap(), (0, Vec::new()));
    }
    assert_eq!(store.deployments(0).unwrap(), []);
}

fn reads_back(store: &dyn Store) {
    let claim = claim(store, 2);
    let one =
        Entry { seq: 1, instance: InstanceId(6), previous: 0, at: time(-5), body: vec![0, 255, 7] };
    let two = Entry {
        seq: 2,
        instance: InstanceId(0),
        previous: 0,
        at: Timestamp::MAX,
        body: Vec::new(),
    };
    store.append(&claim, &[batch(vec![one.clone(), two.clone()])]).unwrap();
    assert_eq!(entries(store, 2), [one, two]);
    assert_eq!(store.last(ShardId(2)).unwrap(), 2);
}

fn pages(store: &dyn Store) {
    let (_, all) = two_instances(store);
    assert_eq!(store.entries(ShardId(1), 0, 2).unwrap(), all[..2]);
    assert_eq!(store.entries(ShardId(1), 2, 3).unwrap(), all[2..5]);
    assert_eq!(store.entries(ShardId(1), 5, 3).unwrap(), all[5..]);
    assert_eq!(store.entries(ShardId(1), 6, 3).unwrap(), []);
    assert_eq!(store.entries(ShardId(1), u64::MAX, 3).unwrap(), []);
    assert_eq!(store.entries(ShardId(1), 0, 0).unwrap(), []);
}

fn own_logs(store: &dyn Store) {
    let (zero, three) = (claim(store, 0), claim(store, 3));
    store.append(&zero, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    store.append(&three, &[batch(vec![entry(1, 3, 0)])]).unwrap();
    store.append(&three, &[batch(vec![entry(2, 3, 1)])]).unwrap();
    assert_eq!(entries(store, 0), [entry(1, 4, 0)]);
    assert_eq!(entries(store, 1), []);
    assert_eq!(entries(store, 3), [entry(1, 3, 0), entry(2, 3, 1)]);
}

fn batches_of_one_shard(store: &dyn Store) {
    let claim = claim(store, 0);
    let two = [batch(vec![entry(1, 4, 0)]), batch(vec![entry(2, 4, 1)])];
    store.append(&claim, &two).unwrap();
    assert_eq!(entries(store, 0), [entry(1, 4, 0), entry(2, 4, 1)]);
}

fn misplaced(store: &dyn Store) {
    let (claim, all) = two_instances(store);
    for wrong in [vec![entry(6, 1, 5)], vec![entry(8, 1, 5)], vec![entry(7, 1, 5), entry(9, 1, 7)]]
    {
        let refused = store.append(&claim, &[batch(wrong)]);
        assert!(matches!(refused, Err(Error::Misplaced { .. })), "{refused:?}");
    }
    assert_eq!(entries(store, 1), all);
    store.append(&claim, &[batch(vec![entry(7, 1, 5)])]).unwrap();
}

fn claims(store: &dyn Store) {
    let first = claim(store, 1);
    let second = claim(store, 1);
    assert!(second.epoch > first.epoch);
    assert!(first.epoch > 0);
    store.append(&second, &[batch(vec![entry(1, 1, 0)])]).unwrap();
}

fn stale(store: &dyn Store) {
    let old = claim(store, 1);
    store.append(&old, &[batch(vec![entry(1, 1, 0)])]).unwrap();
    let new = claim(store, 1);
    let refusal = Error::Stale { shard: ShardId(1) };
    assert_eq!(store.append(&old, &[batch(vec![entry(2, 1, 1)])]), Err(refusal.clone()));
    // Even what would change nothing.
    assert_eq!(store.append(&old, &[batch(vec![])]), Err(refusal.clone()));
    assert_eq!(store.checkpoint(&old, 1, &[], &[]), Err(refusal.clone()));
    let fold = [Fold { last: 1, entry: None }];
    assert_eq!(store.fold(&old, &fold), Err(refusal.clone()));
    // Nor can one who makes epochs up.
    let made_up = Claim { epoch: new.epoch + 1, ..new };
    assert_eq!(store.append(&made_up, &[batch(vec![])]), Err(refusal));
    assert_eq!(entries(store, 1), [entry(1, 1, 0)]);
    assert_eq!(store.checkpointed(ShardId(1)).unwrap(), (0, vec![]));
}

fn claims_apart(store: &dyn Store) {
    let zero = claim(store, 0);
    claim(store, 1);
    store.append(&zero, &[batch(vec![entry(1, 4, 0)])]).unwrap();
}

fn nothing(store: &dyn Store) {
    let claim = claim(store, 0);
    store.append(&claim, &[]).unwrap();
    store.append(&claim, &[batch(vec![])]).unwrap();
    assert_eq!(store.last(ShardId(0)).unwrap(), 0);
}

fn chains(store: &dyn Store) {
    let (_, all) = two_instances(store);
    let of = |which: &[usize]| which.iter().map(|it| all[*it].clone()).collect::<Vec<_>>();
    assert_eq!(store.chain(ShardId(1), 5, 0).unwrap(), of(&[0, 2, 4]));
    assert_eq!(store.chain(ShardId(1), 6, 0).unwrap(), of(&[1, 3, 5]));
    assert_eq!(store.chain(ShardId(1), 4, 0).unwrap(), of(&[1, 3]));
    assert_eq!(store.chain(ShardId(1), 6, 2).unwrap(), of(&[3, 5]));
    assert_eq!(store.chain(ShardId(1), 6, 3).unwrap(), of(&[3, 5]));
    assert_eq!(store.chain(ShardId(1), 6, 6).unwrap(), []);
    assert_eq!(store.chain(ShardId(1), 0, 0).unwrap(), []);
}

fn chain_with_hole(store: &dyn Store) {
    let (claim, _) = two_instances(store);
    let missing = |seq| Err(Error::NoSuchEntry { shard: ShardId(1), seq });
    assert_eq!(store.chain(ShardId(1), 7, 0), missing(7));
    store.fold(&claim, &[Fold { last: 5, entry: None }]).unwrap();
    assert_eq!(store.chain(ShardId(1), 5, 0), missing(5));
    // One that leads to another instance cannot have been written.
    store.append(&claim, &[batch(vec![entry(7, 9, 6)])]).unwrap();
    let found = store.chain(ShardId(1), 7, 0);
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
    // Nothing takes the place of that, but what is left of it can be deleted, and nothing else.
    let short = [Fold { last: 7, entry: Some(entry(7, 9, 0)) }];
    assert!(matches!(store.fold(&claim, &short), Err(Error::Corrupt { .. })));
    store.fold(&claim, &[Fold { last: 7, entry: None }]).unwrap();
    assert_eq!(entries(store, 1).iter().map(|it| it.seq).collect::<Vec<_>>(), [2, 4, 6]);
}

fn folds(store: &dyn Store) {
    let (claim, all) = two_instances(store);
    let short = Entry { previous: 0, body: b"short".to_vec(), ..all[4].clone() };
    let fold = [Fold { last: 5, entry: Some(short.clone()) }];
    store.fold(&claim, &fold).unwrap();
    let rest = [all[1].clone(), all[3].clone(), short.clone(), all[5].clone()];
    assert_eq!(entries(store, 1), rest);
    assert_eq!(store.chain(ShardId(1), 5, 0).unwrap(), [short]);
    assert_eq!(store.chain(ShardId(1), 6, 0).unwrap().len(), 3);
    // Once more after a crash does no harm.
    store.fold(&claim, &fold).unwrap();
    assert_eq!(entries(store, 1), rest);
    store.append(&claim, &[batch(vec![entry(7, 5, 6)])]).unwrap();
}

fn deletes(store: &dyn Store) {
    let (claim, all) = two_instances(store);
    store.fold(&claim, &[Fold { last: 6, entry: None }]).unwrap();
    assert_eq!(entries(store, 1), [all[0].clone(), all[2].clone(), all[4].clone()]);
    assert_eq!(store.last(ShardId(1)).unwrap(), 6);
    store.fold(&claim, &[Fold { last: 5, entry: None }]).unwrap();
    assert_eq!(entries(store, 1), []);
    assert_eq!(store.last(ShardId(1)).unwrap(), 6);
    let again = store.fold(&claim, &[Fold { last: 5, entry: None }]);
    assert_eq!(again, Err(Error::NoSuchEntry { shard: ShardId(1), seq: 5 }));
    // Places are never used twice.
    let refused = store.append(&claim, &[batch(vec![entry(6, 1, 0)])]);
    assert!(matches!(refused, Err(Error::Misplaced { .. })), "{refused:?}");
    store.append(&claim, &[batch(vec![entry(7, 9, 0)])]).unwrap();
    assert_eq!(entries(store, 1), [entry(7, 9, 0)]);
}

fn folds_all_or_nothing(store: &dyn Store) {
    let (claim, all) = two_instances(store);
    let wrong = [Fold { last: 6, entry: None }, Fold { last: 9, entry: None }];
    assert!(store.fold(&claim, &wrong).is_err());
    // A fold stands where the last entry stood, and follows nothing.
    for entry in [entry(4, 5, 0), entry(6, 5, 4), entry(6, 1, 0)] {
        let refused = store.fold(&claim, &[Fold { last: 6, entry: Some(entry) }]);
        assert!(matches!(refused, Err(Error::Misplaced { .. })), "{refused:?}");
    }
    assert_eq!(entries(store, 1), all);
    let both = [Fold { last: 5, entry: None }, Fold { last: 6, entry: None }];
    store.fold(&claim, &both).unwrap();
    assert_eq!(entries(store, 1), []);
}

fn mail(from: u16, number: u64, to: u16) -> Mail {
    let id = MailId { from: ShardId(from), number };
    Mail { id, to: ShardId(to), body: format!("{number} from {from}").into_bytes() }
}

fn mails(store: &dyn Store) {
    let (zero, one, three) = (claim(store, 0), claim(store, 1), claim(store, 3));
    let send = |claim: Claim, sent: &[Mail]| {
        let batch = Batch { sent: sent.to_vec(), ..Batch::default() };
        store.append(&claim, &[batch]).unwrap();
    };
    send(three, &[mail(3, 1, 1), mail(3, 2, 0), mail(3, 10, 1)]);
    send(zero, &[mail(0, 2, 1), mail(0, 1, 1)]);
    // A shard may write to itself.
    send(one, &[mail(1, 1, 1)]);
    let waiting = [mail(0, 1, 1), mail(0, 2, 1), mail(1, 1, 1), mail(3, 1, 1), mail(3, 10, 1)];
    assert_eq!(store.inbox(ShardId(1), &[], usize::MAX).unwrap(), waiting);
    assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).unwrap(), [mail(3, 2, 0)]);
    let taken = vec![mail(0, 1, 1).id, mail(3, 1, 1).id, mail(3, 99, 1).id];
    store.append(&one, &[Batch { taken, ..batch(vec![entry(1, 1, 0)]) }]).unwrap();
    let waiting = [mail(0, 2, 1), mail(1, 1, 1), mail(3, 10, 1)];
    assert_eq!(store.inbox(ShardId(1), &[], usize::MAX).unwrap(), waiting);
    // Only the receiver's own mails are taken.
    let taken = vec![mail(3, 10, 1).id, mail(3, 2, 0).id];
    store.append(&zero, &[Batch { taken, ..batch(vec![]) }]).unwrap();
    assert_eq!(store.inbox(ShardId(1), &[], usize::MAX).unwrap(), waiting);
    assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).unwrap(), []);
    // What is sent to oneself can be taken in the same batch.
    let (sent, taken) = (vec![mail(0, 9, 0)], vec![mail(0, 9, 0).id]);
    store.append(&zero, &[Batch { sent, taken, ..batch(vec![]) }]).unwrap();
    assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).unwrap(), []);
}

fn refused_mails(store: &dyn Store) {
    let (zero, one) = (claim(store, 0), claim(store, 1));
    store.append(&one, &[Batch { sent: vec![mail(1, 1, 0)], ..batch(vec![]) }]).unwrap();
    let wrong = Batch {
        sent: vec![mail(0, 1, 1)],
        taken: vec![mail(1, 1, 0).id],
        ..batch(vec![entry(2, 4, 1)])
    };
    assert!(store.append(&zero, &[wrong]).is_err());
    assert_eq!(store.inbox(ShardId(1), &[], usize::MAX).unwrap(), []);
    assert_eq!(store.inbox(ShardId(0), &[], usize::MAX).unwrap(), [mail(1, 1, 0)]);
}

fn inbox_pages(store: &dyn Store) {
    let (zero, two, three) = (claim(store, 0), claim(store, 2), claim(store, 3));
    for (claim, from) in [(three, 3), (zero, 0), (two, 2)] {
        let sent = (1..=3).map(|number| mail(from, number, 1)).collect();
        store.append(&claim, &[Batch { sent, ..Batch::default() }]).unwrap();
    }
    let all: Vec<Mail> =
        [0, 2, 3].into_iter().flat_map(|from| (1..=3).map(move |it| mail(from, it, 1))).collect();
    let inbox = |after: &[MailId], limit| store.inbox(ShardId(1), after, limit).unwrap();
    assert_eq!(inbox(&[], usize::MAX), all);
    assert_eq!(inbox(&[], 4), all[..4]);
    assert_eq!(inbox(&[], 0), []);
    // What is read of one sender says nothing of another.
    let id = |from, number| MailId { from: ShardId(from), number };
    assert_eq!(inbox(&[id(2, 2)], usize::MAX), [&all[..3], &all[5..]].concat());
    assert_eq!(inbox(&[id(0, 3), id(2, 1), id(1, 9)], usize::MAX), all[4..]);
    assert_eq!(inbox(&[id(0, 3), id(2, 1)], 3), all[4..7]);
    assert_eq!(inbox(&[id(0, u64::MAX), id(2, 3), id(3, 3)], 3), []);
    // Pages follow each other.
    let (mut after, mut read) = (Vec::new(), Vec::new());
    loop {
        let page = inbox(&after, 2);
        if page.is_empty() {
            break;
        }
        after.extend(page.iter().map(|it| it.id));
        read.extend(page);
    }
    assert_eq!(read, all);
}

fn mailed(store: &dyn Store) {
    assert_eq!(store.mailed().unwrap(), [0; 4]);
    let (one, two) = (claim(store, 1), claim(store, 2));
    let sent = vec![mail(1, 5, 2), mail(1, 4, 0), mail(1, 2, 1)];
    store.append(&one, &[Batch { sent, ..Batch::default() }]).unwrap();
    assert_eq!(store.mailed().unwrap(), [0, 5, 0, 0]);
    store.append(&two, &[Batch { taken: vec![mail(1, 5, 2).id], ..Batch::default() }]).unwrap();
    assert_eq!(store.mailed().unwrap(), [0, 5, 0, 0]);
    // One that is sent and taken at once counts, too.
    let (sent, taken) = (vec![mail(2, 9, 2)], vec![mail(2, 9, 2).id]);
    store.append(&two, &[Batch { sent, taken, ..Batch::default() }]).unwrap();
    assert_eq!(store.mailed().unwrap(), [0, 5, 9, 0]);
}

fn together(store: &dyn Store) {
    let claims: Vec<Claim> = (0..store.shards()).map(|it| claim(store, it)).collect();
    thread::scope(|scope| {
        for claim in claims {
            scope.spawn(move || {
                for seq in 1..=50 {
                    store.append(&claim, &[batch(vec![entry(seq, 9, seq - 1)])]).unwrap();
                    assert_eq!(store.last(claim.shard).unwrap(), seq);
                }
            });
        }
    });
    let all: Vec<Entry> = (1..=50).map(|seq| entry(seq, 9, seq - 1)).collect();
    for shard in 0..store.shards() {
        assert_eq!(entries(store, shard), all);
    }
}

fn together_with_stale(store: &dyn Store) {
    let good = claim(store, 0);
    let old = claim(store, 1);
    claim(store, 1);
    thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 1..=50 {
                store.append(&good, &[batch(vec![entry(seq, 4, seq - 1)])]).unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for seq in 1..=50 {
                    let refused = store.append(&old, &[batch(vec![entry(seq, 1, seq - 1)])]);
                    assert_eq!(refused, Err(Error::Stale { shard: ShardId(1) }));
                }
            });
        }
    });
    assert_eq!(entries(store, 0).len(), 50);
    assert_eq!(entries(store, 1), []);
}

fn bodies(store: &dyn Store) {
    let claim = claim(store, 0);
    let sizes = [0, 1, 100, 4_000, 4_096, 5_000, 100_000, 3_000_000];
    let all: Vec<Entry> = (1..)
        .zip(sizes)
        .map(|(seq, size)| {
            let body = (0..=255).cycle().take(size).collect();
            Entry { body, ..entry(seq, 4, seq - 1) }
        })
        .collect();
    store.append(&claim, &[batch(all.clone())]).unwrap();
    assert!(entries(store, 0) == all, "a body is not what it was");
}
