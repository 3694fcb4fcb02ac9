//! Those who wait for answers are woken when all answers are there, not one by one: whoever is woken at
//! the first of many takes the processor from the one who has the others, and sleeps again. Tasks are
//! woken by their own executor, which is told of all of them at once: to reach it takes long.

use std::{
    cell::RefCell,
    sync::Arc,
    task::{Wake, Waker},
};

use tokio::{runtime::Handle, task};

thread_local! {
    /// Who is to be woken in a moment, while this thread gives answers.
    static PUT_OFF: RefCell<Option<Vec<Arc<AfterAll>>>> = const { RefCell::new(None) };
}

/// Gives answers, and then wakes those who wait for them.
pub(crate) fn together(answer: impl FnOnce()) {
    /// Also where an answer panics.
    struct Waking;
    impl Drop for Waking {
        fn drop(&mut self) {
            wake_all(PUT_OFF.take().unwrap_or_default());
        }
    }
    PUT_OFF.set(Some(Vec::new()));
    let _waking = Waking;
    answer();
}

fn wake_all(mut all: Vec<Arc<AfterAll>>) {
    while let Some(last) = all.pop() {
        let Some(executor) = &last.executor else {
            last.waker.wake_by_ref();
            continue;
        };
        let is_there = |it: &mut Arc<AfterAll>| {
            it.executor.as_ref().is_some_and(|it| it.id() == executor.id())
        };
        let others: Vec<_> = all.extract_if(.., is_there).collect();
        if others.is_empty() {
            last.waker.wake_by_ref();
            continue;
        }
        let wake = {
            let last = Arc::clone(&last);
            async move { others.iter().chain([&last]).for_each(|it| it.waker.wake_by_ref()) }
        };
        drop(executor.spawn(wake));
    }
}

/// Wakes the same, but not before all answers are there that are given together.
pub(crate) fn after_all(waker: Waker) -> Waker {
    // What is no task runs on a thread of its own, and need not wait for its executor to have one.
    let executor = task::try_id().and_then(|_| Handle::try_current().ok());
    Waker::from(Arc::new(AfterAll { waker, executor }))
}

struct AfterAll {
    waker: Waker,
    /// Where a task runs.
    executor: Option<Handle>,
}

impl Wake for AfterAll {
    fn wake(self: Arc<Self>) {
        let awake = PUT_OFF.with_borrow_mut(|all| match all {
            Some(all) => {
                all.push(self);
                None
            }
            None => Some(self),
        });
        if let Some(it) = awake {
            it.waker.wake_by_ref();
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        Arc::clone(self).wake();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        task::Poll,
        thread,
        time::Duration,
    };

    use tokio::runtime;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_is_woken_after_all_answers_also_where_one_panics() {
        let count = Arc::<Count>::default();
        let woken = || count.0.load(Ordering::SeqCst);
        let waker = after_all(Waker::from(Arc::clone(&count)));
        waker.wake_by_ref();
        assert_eq!(woken(), 1);
        together(|| {
            waker.wake_by_ref();
            waker.wake_by_ref();
            assert_eq!(woken(), 1);
        });
        assert_eq!(woken(), 3);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            together(|| {
                waker.wake_by_ref();
                panic!("on purpose");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(woken(), 4);
        waker.wake();
        assert_eq!(woken(), 5);
    }

    /// What wakes those who wait, once they do.
    #[derive(Clone, Default)]
    struct Waiting(Arc<Mutex<Vec<Waker>>>);

    impl Waiting {
        /// Ends when it was woken.
        async fn one(self) {
            let mut waits = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut waits, true) {
                    return Poll::Ready(());
                }
                self.0.lock().expect("nobody panics").push(after_all(cx.waker().clone()));
                Poll::Pending
            })
            .await;
        }

        /// Wakes so many together, once all of them wait.
        fn wake(&self, count: usize) {
            let all = loop {
                let mut waiting = self.0.lock().expect("nobody panics");
                if waiting.len() == count {
                    break std::mem::take(&mut *waiting);
                }
                drop(waiting);
                thread::yield_now();
            };
            together(|| all.into_iter().for_each(Waker::wake));
        }
    }

    #[test]
    fn tasks_of_several_executors_are_woken_together() {
        let executors = [(); 2].map(|()| {
            runtime::Builder::new_multi_thread().worker_threads(1).build().expect("it starts")
        });
        let waiting = Waiting::default();
        let (woken, heard) = mpsc::channel();
        for executor in executors.iter().cycle().take(5) {
            let (one, woken) = (waiting.clone().one(), woken.clone());
            drop(executor.spawn(async move {
                one.await;
                woken.send(()).expect("someone waits for it");
            }));
        }
        waiting.wake(5);
        let heard = [(); 5].map(|()| heard.recv_timeout(Duration::from_mins(1)));
        assert_eq!(heard, [Ok(()); 5]);
    }

    #[test]
    fn who_waits_on_a_thread_of_its_own_is_woken_while_the_executor_is_held_up() {
        let executor = runtime::Builder::new_multi_thread().worker_threads(1).build();
        let executor = executor.expect("it starts");
        let (go_on, held_up) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let holding_up = executor.spawn(async move {
            begun.send(()).expect("someone waits for it");
            held_up.recv()
        });
        begins.recv().expect("it begins");
        let waiting = Waiting::default();
        thread::scope(|scope| {
            let (woken, heard) = mpsc::channel();
            for _ in 0..2 {
                let (executor, one, woken) = (&executor, waiting.clone().one(), woken.clone());
                scope.spawn(move || {
                    executor.block_on(one);
                    woken.send(()).expect("someone waits for it");
                });
            }
            waiting.wake(2);
            let heard = [(); 2].map(|()| heard.recv_timeout(Duration::from_mins(1)));
            // Whoever was not woken is now, so that the test comes to its end.
            go_on.send(()).expect("it is held up until now");
            assert_eq!(heard, [Ok(()); 2]);
        });
        executor.block_on(holding_up).expect("it ends").expect("it was let go on");
    }
}
