//! Promises about who may write a shard, and who writes several at once.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use travertine_store::{
    Advance, Append, Batch, Claim, Claimed, Claiming, Error, Fold, Mail, MailId, Owner, ShardId,
    Store,
};

use super::{Promise, batch, claim, entry};

pub(super) const PROMISES: &[Promise] = &[
    ("a claim tells how far the log is, and how many mails were sent", tells_the_end),
    ("a claim on a condition is refused once the epoch is another", conditional),
    ("whoever claims again ends its own claim and keeps the shard", again),
    ("whoever has lost a shard cannot claim it again", lost),
    ("what was in flight when its shard was claimed is there wholly or never", in_flight),
    ("a released shard has no owner, and its claim is over", released),
    ("owners are told by shard", owners),
    ("a fence tells which claims hold", fences),
    ("in one append each shard has an answer of its own", answers_apart),
    ("an append of many shards is as if each was alone", many_shards),
    ("a refused append neither sends nor takes mails", refused_among_others),
    ("a stale checkpoint among others changes nothing", stale_checkpoint),
];

const ONE: ShardId = ShardId(1);
const STALE: Error = Error::Stale { shard: ONE };

fn one(seq: u64, previous: u64) -> [Batch; 1] {
    [batch(vec![entry(seq, 1, previous)])]
}

fn mail(from: u16, number: u64, to: u16) -> Mail {
    let id = MailId { from: ShardId(from), number };
    Mail { id, to: ShardId(to), body: vec![1] }
}

fn tells_the_end(store: &dyn Store) {
    let first = store.claim(ONE, Claiming::Take { owner: "a" }).unwrap();
    assert_eq!((first.claim.shard, first.last, first.mails), (ONE, 0, 0));
    let sends = Batch { sent: vec![mail(1, 7, 0), mail(1, 5, 2)], ..Batch::default() };
    store.append(&first.claim, &[batch(vec![entry(1, 1, 0), entry(2, 1, 1)]), sends]).unwrap();
    let second = store.claim(ONE, Claiming::Take { owner: "b" }).unwrap();
    assert_eq!((second.last, second.mails), (2, 7));
    // Also where nothing is left of either.
    store.fold(&second.claim, &[Fold { last: 2, entry: None }]).unwrap();
    let zero = claim(store, 0);
    store.append(&zero, &[Batch { taken: vec![mail(1, 7, 0).id], ..Batch::default() }]).unwrap();
    let third = store.claim(ONE, Claiming::Again(second.claim)).unwrap();
    assert_eq!((third.last, third.mails), (2, 7));
    assert_eq!(store.claim(ShardId(0), Claiming::Again(zero)).unwrap().mails, 0);
}

fn conditional(store: &dyn Store) {
    let seen = store.owners().unwrap()[1].epoch;
    let when = |epoch| store.claim(ONE, Claiming::If { owner: "a", epoch });
    assert_eq!(when(seen + 1), Err(STALE));
    let first = when(seen).unwrap().claim;
    assert!(first.epoch > seen);
    // Two who have seen the same: one has it.
    assert_eq!(when(seen), Err(STALE));
    store.append(&first, &one(1, 0)).unwrap();
    let second = when(first.epoch).unwrap();
    assert_eq!(second.last, 1);
    assert_eq!(store.append(&first, &one(2, 1)), Err(STALE));
    store.append(&second.claim, &one(2, 1)).unwrap();
}

fn again(store: &dyn Store) {
    let first = store.take(ONE, "a").unwrap();
    store.append(&first, &one(1, 0)).unwrap();
    let second = store.claim(ONE, Claiming::Again(first)).unwrap();
    assert!(second.claim.epoch > first.epoch);
    assert_eq!(second.last, 1);
    assert_eq!(store.owners().unwrap()[1].name.as_deref(), Some("a"));
    assert_eq!(store.append(&first, &one(2, 1)), Err(STALE));
    store.append(&second.claim, &one(2, 1)).unwrap();
    store.checkpoint(&second.claim, 2, b"", &[]).unwrap();
}

fn lost(store: &dyn Store) {
    let first = store.take(ONE, "a").unwrap();
    let second = store.take(ONE, "b").unwrap();
    assert_eq!(store.claim(ONE, Claiming::Again(first)), Err(STALE));
    let made_up = Claim { epoch: second.epoch + 1, ..second };
    assert_eq!(store.claim(ONE, Claiming::Again(made_up)), Err(STALE));
    assert_eq!(store.release(&first), Err(STALE));
    // Refusals have changed nothing.
    let owner = Owner { epoch: second.epoch, name: Some("b".to_owned()) };
    assert_eq!(store.owners().unwrap()[1], owner);
    store.append(&second, &one(1, 0)).unwrap();
}

fn in_flight(store: &dyn Store) {
    let mut claimed = store.claim(ONE, Claiming::Take { owner: "a" }).unwrap();
    let stop = AtomicBool::new(false);
    let zero = claim(store, 0);
    thread::scope(|scope| {
        // Another shard keeps the store busy meanwhile.
        scope.spawn(|| {
            for seq in 1.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                store.append(&zero, &[batch(vec![entry(seq, 4, seq - 1)])]).unwrap();
            }
        });
        for _ in 0..20 {
            let Claimed { claim, last, .. } = claimed;
            let two = [batch(vec![entry(last + 1, 1, last), entry(last + 2, 1, last + 1)])];
            let writer = scope.spawn(move || store.append(&claim, &two));
            claimed = store.claim(ONE, Claiming::Again(claim)).unwrap();
            let answer = writer.join().unwrap();
            let written = claimed.last - last;
            assert_eq!(store.last(ONE).unwrap(), claimed.last, "nothing comes after a claim");
            match answer {
                Ok(()) => assert_eq!(written, 2),
                Err(error) => assert_eq!((error, written), (STALE, 0)),
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
}

fn released(store: &dyn Store) {
    let first = store.take(ONE, "a").unwrap();
    store.append(&first, &one(1, 0)).unwrap();
    store.release(&first).unwrap();
    let owner = store.owners().unwrap()[1].clone();
    assert_eq!(owner.name, None);
    assert!(owner.epoch > first.epoch);
    assert_eq!(store.append(&first, &one(2, 1)), Err(STALE));
    assert_eq!(store.checkpoint(&first, 1, b"", &[]), Err(STALE));
    assert_eq!(store.release(&first), Err(STALE));
    assert_eq!(store.claim(ONE, Claiming::Again(first)), Err(STALE));
    // Nobody can write what nobody has.
    let made_up = Claim { epoch: owner.epoch, ..first };
    let taken = store.claim(ONE, Claiming::If { owner: "b", epoch: owner.epoch }).unwrap();
    assert_eq!(store.append(&made_up, &one(2, 1)), Err(STALE));
    store.append(&taken.claim, &one(2, 1)).unwrap();
}

fn owners(store: &dyn Store) {
    let nobody = Owner::default();
    assert_eq!(store.owners().unwrap(), vec![nobody.clone(); 4]);
    let two = store.take(ShardId(2), "node a").unwrap();
    let owner = Owner { epoch: two.epoch, name: Some("node a".to_owned()) };
    assert_eq!(store.owners().unwrap(), [nobody.clone(), nobody.clone(), owner, nobody]);
}

fn fences(store: &dyn Store) {
    let (zero, old) = (claim(store, 0), claim(store, 1));
    let new = claim(store, 1);
    let made_up = Claim { epoch: new.epoch + 1, ..new };
    let asked = [old, zero, new, made_up];
    assert_eq!(store.fence(&asked).unwrap(), [false, true, true, false]);
    assert_eq!(store.fence(&[]).unwrap(), Vec::<bool>::new());
    store.release(&zero).unwrap();
    assert_eq!(store.fence(&[zero]).unwrap(), [false]);
}

fn answers_apart(store: &dyn Store) {
    let (zero, old, two) = (claim(store, 0), claim(store, 1), claim(store, 2));
    claim(store, 1);
    let (good, wrong) = ([batch(vec![entry(1, 4, 0)])], [batch(vec![entry(2, 2, 1)])]);
    let all = [
        Append { claim: old, batches: &one(1, 0) },
        Append { claim: zero, batches: &good },
        Append { claim: two, batches: &wrong },
        // Once more: it follows on what is there by now.
        Append { claim: zero, batches: &[batch(vec![entry(2, 4, 1)])] },
    ];
    let misplaced = Error::Misplaced { shard: ShardId(2), seq: 2, last: 0 };
    assert_eq!(store.append_all(&all), [Err(STALE), Ok(()), Err(misplaced), Ok(())]);
    assert_eq!(store.last(ShardId(0)).unwrap(), 2);
    assert_eq!(store.last(ONE).unwrap(), 0);
    assert_eq!(store.last(ShardId(2)).unwrap(), 0);
    assert_eq!(store.append_all(&[]), []);
    // Of one shard all or nothing, also where the last batch is the wrong one.
    let halves = [batch(vec![entry(1, 2, 0)]), batch(vec![entry(3, 2, 1)])];
    let answers = store.append_all(&[Append { claim: two, batches: &halves }]);
    assert!(matches!(answers[..], [Err(Error::Misplaced { .. })]), "{answers:?}");
    assert_eq!(store.last(ShardId(2)).unwrap(), 0);
    assert_eq!(store.entries(ShardId(2), 0, 9).unwrap(), []);
}

fn many_shards(store: &dyn Store) {
    let claims: Vec<Claim> = (0..store.shards()).map(|it| claim(store, it)).collect();
    thread::scope(|scope| {
        for half in claims.chunks(2) {
            scope.spawn(move || {
                for seq in 1..=30 {
                    let batches = [batch(vec![entry(seq, 9, seq - 1)])];
                    let all: Vec<Append<'_>> =
                        half.iter().map(|it| Append { claim: *it, batches: &batches }).collect();
                    assert_eq!(store.append_all(&all), vec![Ok(()); half.len()]);
                }
            });
        }
    });
    for shard in (0..store.shards()).map(ShardId) {
        assert_eq!(store.entries(shard, 0, 99).unwrap().len(), 30);
    }
}

fn refused_among_others(store: &dyn Store) {
    let (zero, old) = (claim(store, 0), claim(store, 1));
    store.append(&zero, &[Batch { sent: vec![mail(0, 1, 1)], ..Batch::default() }]).unwrap();
    claim(store, 1);
    let (sent, taken) = (vec![mail(1, 1, 0)], vec![mail(0, 1, 1).id]);
    let refused = [Batch { sent, taken, ..batch(vec![entry(1, 1, 0)]) }];
    let good = [Batch { sent: vec![mail(0, 2, 1)], ..Batch::default() }];
    let both = [Append { claim: old, batches: &refused }, Append { claim: zero, batches: &good }];
    assert_eq!(store.append_all(&both), [Err(STALE), Ok(())]);
    let inbox = |shard| store.inbox(ShardId(shard), &[], 9).unwrap();
    assert_eq!((inbox(0), inbox(1)), (vec![], vec![mail(0, 1, 1), mail(0, 2, 1)]));
    assert_eq!(store.mailed().unwrap(), [2, 0, 0, 0]);
}

fn stale_checkpoint(store: &dyn Store) {
    let (zero, old) = (claim(store, 0), claim(store, 1));
    store.append(&zero, &[batch(vec![entry(1, 4, 0)])]).unwrap();
    store.append(&old, &one(1, 0)).unwrap();
    claim(store, 1);
    let advance = |claim, upto| Advance { claim, upto, state: b"s", changes: &[] };
    let beyond = Error::NoSuchEntry { shard: ShardId(0), seq: 2 };
    let answers = store.checkpoint_all(&[advance(old, 1), advance(zero, 1), advance(zero, 2)]);
    assert_eq!(answers, [Err(STALE), Ok(()), Err(beyond)]);
    assert_eq!(store.checkpointed(ONE).unwrap(), (0, vec![]));
    assert_eq!(store.checkpointed(ShardId(0)).unwrap(), (1, b"s".to_vec()));
}
