//! Those who wait for answers are woken when all answers are there, not one by one: whoever is woken at
//! the first of many takes the processor from the one who has the others, and sleeps again.

use std::{
    cell::RefCell,
    sync::Arc,
    task::{Wake, Waker},
};

thread_local! {
    /// Who is to be woken by this thread in a moment, while it gives answers.
    static PUT_OFF: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Gives answers, and then wakes those who wait for them.
pub(crate) fn together(answer: impl FnOnce()) {
    /// Also where an answer panics.
    struct Waking;
    impl Drop for Waking {
        fn drop(&mut self) {
            for waker in PUT_OFF.take().into_iter().flatten() {
                waker.wake();
            }
        }
    }
    PUT_OFF.set(Some(Vec::new()));
    let _waking = Waking;
    answer();
}

/// Wakes the same, but not before all answers are there that are given together.
pub(crate) fn after_all(waker: Waker) -> Waker {
    Waker::from(Arc::new(AfterAll(waker)))
}

struct AfterAll(Waker);

impl Wake for AfterAll {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let put_off =
            PUT_OFF.with_borrow_mut(|all| all.as_mut().map(|it| it.push(self.0.clone())).is_some());
        if !put_off {
            self.0.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicUsize, Ordering},
    };

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
}
