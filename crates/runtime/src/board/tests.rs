//! How jobs are given out.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Wake},
};

use travertine_kernel::WaitId;

use super::*;
use crate::InstanceId;

fn at(instance: u64, wait: u64) -> Address {
    Address { instance: InstanceId(instance), wait: WaitId(wait) }
}

fn offer(priority: i64, since: i64, instance: u64) -> Offer {
    let (job, since) = (at(instance, 1), Timestamp::from_millis(since));
    Offer { job_type: "pay".into(), priority, since, job, limit: None }
}

#[test]
fn the_most_pressing_job_comes_first_and_the_oldest_of_those() {
    let board = Board::default();
    for it in [offer(0, 5, 1), offer(0, 3, 2), offer(9, 7, 3), offer(0, 3, 4)] {
        board.offer(&it);
    }
    board.withdraw(&offer(0, 3, 4));
    let taken = board.take(&"pay".into(), 2, Timestamp::from_millis(0));
    assert_eq!(taken.iter().map(|it| it.job.instance.0).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(board.counts(), [("pay".into(), 1)]);
    assert_eq!(board.take(&"other".into(), 2, Timestamp::from_millis(0)), []);
}
fn limited(priority: i64, instance: u64, job_type: &str, limit: &str) -> Offer {
    let job = at(instance, 1);
    let since = Timestamp::default();
    Offer { job_type: job_type.into(), priority, since, job, limit: Some(limit.into()) }
}

fn taken(board: &Board, job_type: &str, most: usize, now: i64) -> Vec<u64> {
    let taken = board.take(&job_type.into(), most, Timestamp::from_millis(now));
    taken.iter().map(|it| it.job.instance.0).collect()
}

fn board(limit: Limit) -> Board {
    Board::new([("bank".into(), limit)].into())
}

#[test]
fn a_key_without_room_holds_back_its_own_jobs_and_no_others() {
    let board = board(Limit::at_once(1));
    board.offer(&limited(9, 1, "pay", "bank/a"));
    board.offer(&limited(8, 2, "pay", "bank/a"));
    board.offer(&limited(7, 3, "pay", "bank/b"));
    board.offer(&limited(8, 4, "refund", "bank/a"));
    board.offer(&limited(1, 5, "pay", "elsewhere/a"));
    board.offer(&offer(6, 0, 6));
    board.offer(&offer(10, 0, 7));
    assert_eq!(taken(&board, "pay", 9, 0), [7, 1, 3, 6, 5]);
    assert_eq!(taken(&board, "refund", 9, 0), []);
    assert_eq!(board.counts(), [("pay".into(), 1), ("refund".into(), 1)]);
    // The place goes to whoever comes first, of whatever type.
    board.leave(at(1, 1));
    board.leave(at(1, 1));
    board.offer(&limited(9, 8, "pay", "bank/a"));
    assert_eq!(taken(&board, "pay", 9, 0), [8]);
    assert_eq!(taken(&board, "refund", 9, 0), []);
    board.leave(at(8, 1));
    board.withdraw(&limited(8, 2, "pay", "bank/a"));
    assert_eq!(taken(&board, "pay", 9, 0), []);
    assert_eq!(taken(&board, "refund", 9, 0), [4]);
}

#[test]
fn no_more_begin_in_any_time_span_than_the_rate_allows() {
    let board = board(Limit::rate(2, std::time::Duration::from_millis(10)));
    for instance in 1..=6 {
        board.offer(&limited(0, instance, "pay", "bank"));
    }
    assert_eq!(board.due(), None);
    assert_eq!(taken(&board, "pay", 1, 0), [1]);
    assert_eq!(taken(&board, "pay", 9, 7), [2]);
    (1..=2).for_each(|it| board.leave(at(it, 1)));
    let pass = |now| {
        board.pass(Timestamp::from_millis(now));
        (taken(&board, "pay", 9, now), board.due().map(Timestamp::as_millis))
    };
    assert_eq!(pass(9), (vec![], Some(10)));
    assert_eq!(pass(10), (vec![3], Some(17)));
    assert_eq!(pass(16), (vec![], Some(17)));
    assert_eq!(pass(17), (vec![4], Some(20)));
    assert_eq!(pass(100), (vec![5, 6], Some(110)));
    (3..=6).for_each(|it| board.leave(at(it, 1)));
    assert_eq!(pass(110), (vec![], None));
    assert!(board.lock().keys.is_empty(), "what nobody needs is forgotten");
}

#[test]
fn a_job_whose_limit_was_not_known_begins_only_where_there_is_room() {
    let board = board(Limit::at_once(1));
    let now = Timestamp::from_millis(0);
    let (one, other) = (limited(0, 1, "pay", "bank"), limited(0, 2, "pay", "bank"));
    board.hold(one.job, &"bank".into());
    board.offer(&Offer { limit: None, ..other.clone() });
    assert_eq!(taken(&board, "pay", 9, 0), [2]);
    assert!(!board.enter(other.job, &"bank".into(), now));
    board.offer(&other);
    assert_eq!(taken(&board, "pay", 9, 0), []);
    board.clear(|it| it == one.job);
    assert_eq!(taken(&board, "pay", 9, 0), [2]);
    assert!(board.enter(other.job, &"bank".into(), now), "it has begun already");
}

#[test]
fn a_job_in_hand_is_counted_until_it_is_let_go() {
    let board = Arc::new(Board::default());
    board.offer(&offer(0, 5, 1));
    board.offer(&offer(0, 6, 2));
    assert_eq!(board.ready_and_at_work(), (vec![("pay".into(), 2)], 0));
    let crew = board.crew("pay".into(), 1);
    let mut turn = board.turn(&"pay".into());
    let in_hand = board.take_in_hand(&crew, &mut turn, Timestamp::from_millis(0));
    assert_eq!(in_hand[0].0, offer(0, 5, 1));
    assert_eq!(board.ready_and_at_work(), (vec![("pay".into(), 1)], 1));
    drop(in_hand);
    assert_eq!(board.take(&"pay".into(), 1, Timestamp::from_millis(0)), [offer(0, 6, 2)]);
    assert_eq!(board.ready_and_at_work(), (vec![], 0));
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Whether it is someone's turn.
fn has_come(turn: &mut Turn, waker: &Waker) -> bool {
    pin!(turn.come()).poll(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn a_job_calls_the_first_of_ten_thousand_in_line_and_no_other() {
    let (board, count) = (Arc::new(Board::default()), Arc::<Count>::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut turns: Vec<Turn> = (0..10_000).map(|_| board.turn(&"pay".into())).collect();
    for turn in &mut turns {
        assert!(!has_come(turn, &waker));
    }
    for number in 1..=3 {
        board.offer(&offer(0, 1, number));
        assert_eq!(count.0.load(Ordering::SeqCst), usize::try_from(number).expect("it fits"));
    }
    let now = Timestamp::from_millis(0);
    assert_eq!(board.take(&"pay".into(), 9, now), [], "others were called for them");
    let come: Vec<bool> = turns[..5].iter_mut().map(|it| has_come(it, &waker)).collect();
    assert_eq!(come, [true, true, true, false, false]);
    assert_eq!(board.take_in_turn(&turns[0], 9, now).len(), 1, "the rest is for others");
    drop(turns);
    assert_eq!(board.take(&"pay".into(), 9, now).len(), 2);
    assert!(board.turn(&"none".into()).place.is_none());
}

#[test]
fn whoever_goes_has_the_next_one_called() {
    let board = Arc::new(Board::default());
    let [mut one, mut two, mut three] = [(); 3].map(|()| board.turn(&"pay".into()));
    for turn in [&mut one, &mut two, &mut three] {
        assert!(!has_come(turn, Waker::noop()));
    }
    board.offer(&offer(0, 1, 1));
    assert!(has_come(&mut one, Waker::noop()));
    assert!(!has_come(&mut two, Waker::noop()));
    drop(one);
    assert!(has_come(&mut two, Waker::noop()));
    assert!(!has_come(&mut three, Waker::noop()));
    drop(three);
    assert_eq!(board.take_in_turn(&two, 9, Timestamp::from_millis(0)).len(), 1);
    drop(two);
    board.close();
    assert!(has_come(&mut board.turn(&"pay".into()), Waker::noop()));
}

#[test]
fn a_job_that_is_withdrawn_costs_nobody_the_place() {
    let board = Arc::new(Board::default());
    let now = Timestamp::from_millis(0);
    let [mut one, mut two] = [(); 2].map(|()| board.turn(&"pay".into()));
    for turn in [&mut one, &mut two] {
        assert!(!has_come(turn, Waker::noop()));
    }
    let (first, second) = (offer(0, 1, 1), offer(0, 2, 2));
    board.offer(&first);
    board.offer(&second);
    board.withdraw(&first);
    // Both were called, and one job is left.
    assert_eq!(board.take_in_turn(&two, 9, now), [], "it is for the other");
    assert!(!has_come(&mut two, Waker::noop()));
    assert_eq!(board.take_in_turn(&one, 9, now), [second]);
    assert!(!has_come(&mut one, Waker::noop()));
    board.offer(&first);
    assert!(has_come(&mut one, Waker::noop()), "it kept its place");
    assert!(!has_come(&mut two, Waker::noop()));
}

#[test]
fn nothing_is_kept_of_a_type_that_nobody_waits_for_any_more() {
    let board = Arc::new(Board::default());
    for number in 0..100 {
        let mut turn = board.turn(&format!("type-{number}").into());
        assert!(!has_come(&mut turn, Waker::noop()));
    }
    assert!(board.lock().queues.is_empty());
}

#[test]
fn a_hand_is_free_only_where_no_job_comes_first() {
    let board = Board::default();
    let pay = Name::from("pay");
    assert!(board.hand(&pay).is_none(), "nobody holds one out");
    let crew = board.crew(Name::clone(&pay), 2);
    let handed = board.hold_out_hands(&crew);
    let hands = [board.hand(&pay), board.hand(&pay), board.hand(&pay)];
    let free = hands.each_ref().map(Option::is_some);
    assert_eq!(free, [true, true, false], "two can be at work at once");
    assert_eq!(board.ready_and_at_work(), (vec![], 2));
    drop(hands);
    assert_eq!(board.ready_and_at_work(), (vec![], 0));
    board.offer(&offer(0, 5, 1));
    assert!(board.hand(&pay).is_none(), "another one comes first");
    board.withdraw(&offer(0, 5, 1));
    assert!(board.hand(&pay).is_some());
    board.withdraw_hands(&pay);
    assert!(board.hand(&pay).is_none());
    drop(handed);
}
