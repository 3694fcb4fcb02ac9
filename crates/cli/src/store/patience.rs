//! Waiting for others who have a store for a moment: a command like this one, a server that is about to begin.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::Told;

/// How long one process may have the store until it is said to be in use.
const ONE_MAX: Duration = Duration::from_secs(2);
/// How long several may have it in turn.
const ALL_MAX: Duration = Duration::from_secs(10);
/// How often to see whether it is free.
const LOOK: Duration = Duration::from_millis(20);

/// Does what opens a store, once more as long as others have it for a moment each.
pub(crate) fn patiently<T>(mut act: impl FnMut() -> Result<T>) -> Result<T> {
    let mut waiting: Option<Waiting> = None;
    loop {
        let done = act();
        let Some(holder) = done.as_ref().err().and_then(Told::holder) else { return done };
        let now = Instant::now();
        let waiting = waiting.get_or_insert_with(|| Waiting::new(holder, now));
        if !waiting.goes_on(holder, now) {
            return done;
        }
        thread::sleep(LOOK);
    }
}

/// Who has the store, and since when we know.
struct Waiting {
    began: Instant,
    holder: String,
    since: Instant,
}

impl Waiting {
    fn new(holder: &str, now: Instant) -> Self {
        Self { began: now, holder: holder.to_owned(), since: now }
    }

    fn goes_on(&mut self, holder: &str, now: Instant) -> bool {
        if self.holder != holder {
            (self.holder, self.since) = (holder.to_owned(), now);
        }
        now - self.since < ONE_MAX && now - self.began < ALL_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use travertine_runtime::Error;
    use travertine_store as store;

    use super::*;

    fn in_use(holder: &str) -> anyhow::Error {
        let holder = Some(holder.to_owned());
        let error = Error::Store(store::Error::InUse { store: "data".to_owned(), holder });
        Told::of(&error, Path::new("data"), None, false)
    }

    #[test]
    fn who_finds_the_store_in_use_for_a_moment_gets_it() {
        let mut holders = vec!["process 2", "process 1"];
        let done = patiently(|| holders.pop().map_or(Ok("done"), |it| Err(in_use(it))));
        assert_eq!((done.unwrap(), holders.len()), ("done", 0));
    }

    #[test]
    fn what_else_is_wrong_is_told_at_once() {
        let mut asked = 0;
        let done: Result<()> = patiently(|| {
            asked += 1;
            Err(anyhow::anyhow!("there is no store"))
        });
        assert!(done.is_err() && asked == 1);
    }

    #[test]
    fn one_holder_is_waited_for_less_than_several_in_turn() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut waiting = Waiting::new("process 1", began);
        assert!(waiting.goes_on("process 1", at(1)) && !waiting.goes_on("process 1", at(2)));
        let mut waiting = Waiting::new("process 0", began);
        for second in 1..10 {
            assert!(waiting.goes_on(&format!("process {second}"), at(second)));
        }
        assert!(!waiting.goes_on("process 10", at(10)));
    }
}
