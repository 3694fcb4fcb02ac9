use std::thread;

use travertine_kernel::WaitId;
use travertine_store::{SqliteStore, sqlite::Options};

use super::*;

const FIRST: ShardId = ShardId(0);
const SECOND: ShardId = ShardId(1);

fn address(instance: u64) -> Address {
    Address { instance: InstanceId(instance), wait: WaitId(1) }
}

fn timer(instance: u64) -> Case {
    Case::Timer(address(instance))
}

fn activity(instance: u64) -> Case {
    Case::Activity(address(instance))
}

/// A store of two shards whose owners have died while these were under way.
fn died_of(notes: [&[Case]; 2]) -> (tempfile::TempDir, Arc<dyn Store>) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &Options { shards: 2, ..Options::default() });
    let store: Arc<dyn Store> = Arc::new(store.unwrap());
    die_of(&store, notes);
    (dir, store)
}

fn die_of(store: &Arc<dyn Store>, notes: [&[Case]; 2]) {
    for (shard, cases) in [FIRST, SECOND].into_iter().zip(notes) {
        let (activities, cases) = cases.iter().partition(|it| matches!(it, Case::Activity(_)));
        let before = store.noted(shard).and_then(|it| Note::decode(&it)).unwrap_or_default();
        let note = Note { cases, activities, ..before };
        let mut bytes = Vec::new();
        note.encode(&mut bytes);
        store.note(shard, &bytes);
    }
}

/// Both shards of the next process, as they begin.
fn opened(store: &Arc<dyn Store>) -> [Quarantine; 2] {
    let gate = Arc::default();
    let both = [FIRST, SECOND].map(|shard| Quarantine::new(store, shard, &gate));
    both.map(|mut it| {
        it.open();
        it
    })
}

/// What is under suspicion: the case, how often it died alone, and how often with others.
fn suspects(of: &[Quarantine; 2]) -> Vec<(Case, u8, u8)> {
    of.iter().flat_map(|it| &it.note.suspects).map(|it| (it.case, it.deaths, it.shared)).collect()
}

#[test]
fn what_is_begun_is_noted_with_what_comes_next_unless_it_was_noted_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &Options { shards: 2, ..Options::default() });
    let store: Arc<dyn Store> = Arc::new(store.unwrap());
    let [mut shard, _other] = opened(&store);
    let noted = || store.noted(FIRST).and_then(|it| Note::decode(&it)).unwrap_or_default().cases;
    shard.begin(timer(1), [timer(2), timer(3)].into_iter());
    assert_eq!(noted(), [timer(1), timer(2), timer(3)]);
    shard.begin(timer(2), [timer(3), timer(4)].into_iter());
    assert_eq!(noted(), [timer(1), timer(2), timer(3)]);
    shard.begin(timer(5), std::iter::empty());
    assert_eq!(noted(), [timer(5)]);
}

#[test]
fn a_death_counts_where_one_thing_was_under_way_in_all_shards() {
    let (_dir, store) = died_of([&[timer(1)], &[activity(2)]]);
    assert_eq!(suspects(&opened(&store)), [(timer(1), 0, 1), (activity(2), 0, 1)]);
    die_of(&store, [&[timer(1)], &[]]);
    assert_eq!(suspects(&opened(&store)), [(timer(1), 1, 1), (activity(2), 0, 1)]);
    die_of(&store, [&[], &[activity(2)]]);
    let [first, second] = opened(&store);
    assert!(first.verdicts.is_empty() && second.verdicts.is_empty());
    die_of(&store, [&[], &[activity(2)]]);
    let [first, second] = opened(&store);
    assert!(first.verdicts.is_empty());
    let verdicts: Vec<_> = second.verdicts.iter().map(|it| (it.case, it.deaths)).collect();
    assert_eq!(verdicts, [(activity(2), 2)]);
}

#[test]
fn what_someone_asks_for_is_not_to_blame_and_was_not_alone() {
    let (_dir, store) = died_of([&[Case::Asked], &[timer(2)]]);
    assert_eq!(suspects(&opened(&store)), [(timer(2), 0, 1)]);
    die_of(&store, [&[Case::Asked], &[]]);
    assert_eq!(suspects(&opened(&store)), [(timer(2), 0, 1)]);
}

#[test]
fn what_cannot_be_read_may_have_been_under_way() {
    let (_dir, store) = died_of([&[timer(1)], &[]]);
    store.note(SECOND, b"what another version says");
    assert_eq!(suspects(&opened(&store)), [(timer(1), 0, 1)]);
}

#[test]
fn all_shards_are_careful_where_the_process_of_one_has_died() {
    let (_dir, store) = died_of([&[], &[]]);
    store.note(SECOND, &[]);
    assert!(opened(&store).iter().all(Quarantine::is_careful));
    store.note(FIRST, &[]);
    store.note(SECOND, &[]);
    assert!(!opened(&store).iter().any(Quarantine::is_careful));
}

#[test]
fn an_activity_under_suspicion_waits_for_the_others_and_they_for_it() {
    let (_dir, store) = died_of([&[activity(1)], &[activity(2)]]);
    let [mut first, mut second] = opened(&store);
    // Those that are not under suspicion begin side by side.
    assert!(first.admits_activity(address(3)) && second.admits_activity(address(4)));
    assert!(!first.admits_activity(address(1)), "others are under way");
    assert!(!second.admits_activity(address(6)), "it comes first now");
    first.activity_ends(address(3));
    assert!(!first.admits_activity(address(1)), "one is under way in another shard");
    second.activity_ends(address(4));
    assert!(first.admits_activity(address(1)));
    first.activity_begins(address(1));
    assert!(!second.admits_activity(address(2)), "another one under suspicion is under way");
    assert!(!second.admits_activity(address(6)), "it has some time for itself");
    first.activity_ends(address(1));
    assert!(second.admits_activity(address(2)));
    assert!(!first.admits_activity(address(7)));
    drop(second);
    assert!(first.admits_activity(address(7)), "that shard is lost");
}

#[test]
fn activities_wait_for_turns_under_suspicion() {
    let (_dir, store) = died_of([&[timer(1)], &[timer(2)]]);
    let [mut first, mut second] = opened(&store);
    assert!(!second.admits_activity(address(3)));
    for it in [&mut first, &mut second] {
        let mine = it.note.suspects[0].case;
        it.begin(mine, std::iter::empty());
        it.end();
        it.rests();
    }
    assert!(second.admits_activity(address(3)), "all that was under suspicion has passed");
}

#[test]
fn the_outcome_of_an_activity_is_told_before_another_one_under_suspicion_begins() {
    let (_dir, store) = died_of([&[activity(1)], &[Case::Attempt(address(2))]]);
    let [first, mut second] = opened(&store);
    second.rests();
    assert!(!first.admits_activity(address(1)), "what was asked for may come again");
    second.pass.expect_no_turns();
    assert!(second.admits_activity(address(2)));
    second.activity_begins(address(2));
    second.begin_outcome(address(2));
    assert!(!first.admits_activity(address(1)));
    assert_eq!(second.note.activities, []);
    second.end();
    assert!(first.admits_activity(address(1)));
}

#[test]
fn a_turn_under_suspicion_waits_for_the_others() {
    let (_dir, store) = died_of([&[timer(1)], &[timer(2)]]);
    let [mut first, mut second] = opened(&store);
    first.begin(timer(3), std::iter::empty());
    thread::scope(|scope| {
        let second = scope.spawn(move || {
            second.begin(timer(2), std::iter::empty());
            second
        });
        while first.pass.suspect_turn() != Some(SECOND) {
            thread::yield_now();
        }
        assert_eq!(first.pass.turns(), [FIRST], "it has said that it comes, and waits");
        first.end();
        let second = second.join().unwrap();
        assert_eq!(second.pass.turns(), [SECOND]);
        assert!(!first.admits_activity(address(5)), "so do activities");
    });
}

#[test]
fn the_time_that_a_suspect_has_for_itself_grows_with_the_deaths_it_has_shared() {
    let times: Vec<_> = [0, 1, 2, 6, 7, u8::MAX].map(time_alone).into();
    assert_eq!(times[1], times[0] * 2);
    assert_eq!(times[2], times[0] * 4);
    assert_eq!(times[3], times[0] * 64);
    assert_eq!(times[3..], [times[3]; 3]);
}
