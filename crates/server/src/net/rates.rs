//! How many requests somebody may send: a bucket of tokens for each, which fills again as time passes.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use travertine_value::Name;

use super::Refusal;
use crate::Rate;

/// The buckets of all who have sent something. Whoever needs no login shares one.
#[derive(Debug)]
pub(crate) struct Rates(Mutex<State>);

#[derive(Debug)]
struct State {
    rate: Option<Rate>,
    /// When the bucket of somebody is full again.
    full: HashMap<Option<Name>, Instant>,
}

impl Rates {
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self(Mutex::new(State { rate, full: HashMap::new() }))
    }

    /// From now on another rate holds, and all buckets are full.
    pub(crate) fn set(&self, rate: Option<Rate>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            State { rate, full: HashMap::new() };
    }

    /// Takes a token out of somebody's bucket.
    pub(super) fn take(&self, who: Option<&Name>, now: Instant) -> Result<(), Refusal> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rate) = state.rate else { return Ok(()) };
        let one = rate.per / rate.requests.get();
        let whole = one * rate.burst.get();
        let known = state.full.get(&who.cloned()).copied();
        let full = known.unwrap_or(now).max(now) + one;
        let beyond = full.duration_since(now).saturating_sub(whole);
        if beyond > Duration::ZERO {
            return Err(Refusal::Rate(beyond));
        }
        state.full.insert(who.cloned(), full);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn rate(per_second: u32, burst: u32) -> Rate {
        let of = |it| NonZeroU32::new(it).expect("it is not 0");
        Rate { requests: of(per_second), per: Duration::from_secs(1), burst: of(burst) }
    }

    #[test]
    fn a_bucket_empties_and_fills_again_and_others_have_theirs() {
        let (rates, now) = (Rates::new(Some(rate(10, 3))), Instant::now());
        let (ann, bob) = (Name::from("ann"), Name::from("bob"));
        let after = |millis| now + Duration::from_millis(millis);
        for _ in 0..3 {
            assert_eq!(rates.take(Some(&ann), now), Ok(()));
        }
        let wait = Refusal::Rate(Duration::from_millis(100));
        assert_eq!(rates.take(Some(&ann), now), Err(wait));
        // Who is refused does not wait longer for it.
        assert_eq!(rates.take(Some(&ann), now), Err(wait));
        assert_eq!(rates.take(Some(&bob), now), Ok(()));
        assert_eq!(rates.take(None, now), Ok(()));
        assert_eq!(rates.take(Some(&ann), after(99)), Err(Refusal::Rate(Duration::from_millis(1))));
        assert_eq!(rates.take(Some(&ann), after(100)), Ok(()));
        assert!(rates.take(Some(&ann), after(100)).is_err());
        // Never more than what it holds, however long ago the last one was.
        let taken = (0..9).filter(|_| rates.take(Some(&ann), after(60_000)).is_ok());
        assert_eq!(taken.count(), 3);
    }

    #[test]
    fn over_time_it_is_the_rate_and_without_one_there_is_no_limit() {
        let (rates, now) = (Rates::new(Some(rate(50, 5))), Instant::now());
        let at = |nth: u64| now + Duration::from_millis(nth);
        let taken = (0..10_000).filter(|nth| rates.take(None, at(*nth)).is_ok());
        assert!((500..=505).contains(&taken.count()));
        rates.set(None);
        assert!((0..10_000).all(|_| rates.take(None, now).is_ok()));
        rates.set(Some(rate(1, 1)));
        assert!(rates.take(None, now).is_ok() && rates.take(None, now).is_err());
    }
}
