//! Answers that come one after the other.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use prost::Message as _;
use tokio_stream::Stream;
use tonic::Status;

use super::gateway::{ActivateJobsResponse, ActivatedJob};

/// What a call that streams answers with.
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Jobs in as few messages as there may be, each smaller than `max`.
pub(super) fn batches(jobs: Vec<ActivatedJob>, max: usize) -> Vec<ActivateJobsResponse> {
    /// The tag of a job, and its length.
    const HEAD: usize = 1 + 5;
    let mut batches: Vec<ActivateJobsResponse> = Vec::new();
    let mut size = max;
    for job in jobs {
        let length = job.encoded_len() + HEAD;
        match batches.last_mut() {
            Some(batch) if size + length <= max => batch.jobs.push(job),
            _ => {
                batches.push(ActivateJobsResponse { jobs: vec![job] });
                size = 0;
            }
        }
        size += length;
    }
    batches
}

type Step<S, T> = Pin<Box<dyn Future<Output = Option<(T, S)>> + Send>>;

/// A stream of what a function gives again and again, until it gives nothing. Dropped, it drops what is under way.
pub(super) struct Unfold<S, T, F> {
    next: F,
    under_way: Option<Step<S, T>>,
}

impl<S, T, F: FnMut(S) -> Step<S, T>> Unfold<S, T, F> {
    pub(super) fn new(state: S, mut next: F) -> Self {
        let first = next(state);
        Self { next, under_way: Some(first) }
    }
}

impl<S, T, F: FnMut(S) -> Step<S, T> + Unpin> Stream for Unfold<S, T, F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(step) = &mut self.under_way else { return Poll::Ready(None) };
        let polled = step.as_mut().poll(cx);
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                self.under_way = None;
                Poll::Ready(None)
            }
            Poll::Ready(Some((item, state))) => {
                let next = (self.next)(state);
                self.under_way = Some(next);
                Poll::Ready(Some(item))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_below_the_limit_and_lose_no_job() {
        let job = |length: usize| ActivatedJob {
            variables: "x".repeat(length),
            ..ActivatedJob::default()
        };
        for max in [100, 1_000, 10_000] {
            let jobs: Vec<ActivatedJob> = (0..90).map(job).collect();
            let batches = batches(jobs.clone(), max);
            assert!(batches.iter().all(|it| it.encoded_len() <= max));
            let all: Vec<ActivatedJob> = batches.into_iter().flat_map(|it| it.jobs).collect();
            assert_eq!(all, jobs);
        }
        // One that is too large goes by itself.
        assert_eq!(batches(vec![job(5), job(500), job(5)], 100).len(), 3);
    }
}
