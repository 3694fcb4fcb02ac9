//! What becomes of the instances of a batch.

use super::*;

fn progress(total: u64) -> Progress {
    let batch = Batch { total, ..Batch::new(BatchWork::Cancel) };
    let instances = (1..=total).map(|it| it * 3).collect();
    Progress { batch, instances, others: Vec::new(), times: Vec::new(), is_forgotten: false }
}

fn other(instance: u64, outcome: BatchOutcome) -> BatchItem {
    BatchItem { code: Some("c".into()), ..BatchItem::of(instance, outcome) }
}

#[test]
fn instances_are_packed_and_unpacked() {
    let all = [3, 4, 900, u64::MAX].map(InstanceId);
    assert_eq!(unpack(&pack(&all)).unwrap(), all.map(|it| it.0));
    assert_eq!(unpack("").unwrap(), Vec::<u64>::new());
    assert!(unpack("1 x").is_err() && unpack(&format!("1 {}", u64::MAX)).is_err());
}

#[test]
fn items_say_what_became_of_each_instance() {
    let mut it = progress(5);
    let others = vec![other(6, BatchOutcome::Refused), other(9, BatchOutcome::Gone)];
    // What is none of these instances counts nothing.
    let others = others.into_iter().chain([other(7, BatchOutcome::Gone)]).collect();
    let time = Timestamp::from_millis;
    it.note(3, Report { others }, time(70));
    let batch = &it.batch;
    assert_eq!((batch.seen, batch.done, batch.refused, batch.gone), (3, 1, 1, 1));
    let all = it.page(&Items { after: 0, limit: 10, only: None });
    let words: Vec<_> = all.items.iter().map(|it| it.outcome.name()).collect();
    assert_eq!(words, ["done", "refused", "gone", "waiting", "waiting"]);
    let times: Vec<_> = all.items.iter().map(|it| it.at).collect();
    assert_eq!(times, [Some(time(70)), Some(time(70)), Some(time(70)), None, None]);
    assert_eq!(all.next, None);
    let gone = it.page(&Items { after: 0, limit: 1, only: Some(BatchOutcome::Gone) });
    assert_eq!(gone.items.iter().map(|it| it.instance).collect::<Vec<_>>(), [9]);
    let after = gone.next.expect("there may be more");
    let rest = it.page(&Items { after, limit: 1, only: Some(BatchOutcome::Gone) });
    assert_eq!(rest, BatchPage::default());
    it.batch.ended = Some(time(1));
    let skipped = it.page(&Items { after: 4, limit: 9, only: Some(BatchOutcome::Skipped) });
    assert_eq!(skipped.items.len(), 1);
}

#[test]
fn jobs_are_small_beside_the_batch_and_its_pace() {
    assert_eq!(progress(10).next().len(), 10);
    assert_eq!(progress(1_000).next().len(), JOB_MIN);
    assert_eq!(progress(200_000).next().len(), 200);
    let mut slow = progress(1_000);
    slow.batch.per_second = Some(5);
    assert_eq!(slow.next().len(), 5);
}
