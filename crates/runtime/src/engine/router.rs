//! The way of a request to the shard that answers it.
//!
//! Each request says where it goes, [`Request::route`], and who asks, [`Kind::origin`](crate::request::Kind::origin).
//! All shards are of this process today, so that a way ends in one of its queues.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::oneshot;
use travertine_store::ShardId;

use super::{
    metrics::add,
    pending::Pending,
    queue::Refused,
    threads::{Common, Input},
};
use crate::{
    Error, InstanceId,
    request::{Ask, By, Caller, Origin, Relay, Reply, ReplyTo, Request, Route},
    shard,
};

/// Brings requests to shards.
#[derive(Clone, Copy)]
pub(super) struct Router<'a> {
    common: &'a Arc<Common>,
    /// Who asks, where that is known.
    by: Option<&'a Arc<By>>,
}

impl<'a> Router<'a> {
    pub(super) fn new(common: &'a Arc<Common>) -> Self {
        Self { common, by: None }
    }

    /// For somebody who asks.
    pub(super) fn by(self, by: Option<&'a Arc<By>>) -> Self {
        Self { by, ..self }
    }

    /// Asks the shard that a request is for.
    pub(super) fn ask<A: Ask>(self, ask: A) -> Pending<A::Reply> {
        self.ask_for(ask, A::reply)
    }

    /// Asks the shard that a request is for, and takes from its reply what is wanted of it.
    pub(super) fn ask_for<A: Ask, T>(self, ask: A, wanted: fn(Reply) -> T) -> Pending<T> {
        let request = ask.into_request();
        let shard = self.shard_for(&request);
        self.ask_shard(shard, request, wanted)
    }

    /// Asks each shard.
    pub(super) fn ask_each<A: Ask + Clone>(self, ask: &A) -> Vec<Pending<A::Reply>> {
        self.shards().map(|shard| self.ask_at(shard, ask.clone())).collect()
    }

    /// Asks this shard.
    pub(super) fn ask_at<A: Ask>(self, shard: ShardId, ask: A) -> Pending<A::Reply> {
        self.ask_shard(shard, ask.into_request(), A::reply)
    }

    fn ask_shard<T>(self, shard: ShardId, request: Request, wanted: fn(Reply) -> T) -> Pending<T> {
        let (to, receiver) = ReplyTo::caller_by(self.by.cloned());
        match self.send(shard, request, to) {
            Ok(()) => Pending::new(receiver, self.common, wanted),
            Err(error) => Pending::refused(error),
        }
    }

    /// Asks the shard that a request is for; `relay` goes on with the reply.
    pub(super) fn relay(self, ask: impl Ask, relay: Box<dyn Relay>) -> Result<(), Error> {
        let request = ask.into_request();
        self.send(self.shard_for(&request), request, ReplyTo::Relay(relay))
    }

    /// Asks this shard; `relay` goes on with the reply.
    pub(super) fn relay_at(
        self,
        shard: ShardId,
        ask: impl Ask,
        relay: Box<dyn Relay>,
    ) -> Result<(), Error> {
        self.send(shard, ask.into_request(), ReplyTo::Relay(relay))
    }

    /// Asks the shard that a request is for, on behalf of someone who waits already.
    pub(super) fn answer(self, ask: impl Ask, sender: oneshot::Sender<Result<Reply, Error>>) {
        let request = ask.into_request();
        // Where it cannot be asked, whoever waits is told that the engine has ended.
        let _: Result<(), Error> =
            self.send(self.shard_for(&request), request, ReplyTo::Caller(Caller::begun(sender)));
    }

    /// Tells the shard that a request is for. Nobody hears it where the engine has ended.
    pub(super) fn tell(self, ask: impl Ask) {
        let request = ask.into_request();
        // Whoever tells something does not wait for an answer.
        let _: Result<(), Error> = self.send(self.shard_for(&request), request, ReplyTo::Nobody);
    }

    /// Tells each shard.
    pub(super) fn tell_each<A: Ask + Clone>(self, ask: &A) {
        for shard in self.shards() {
            let _: Result<(), Error> =
                self.send(shard, ask.clone().into_request(), ReplyTo::Nobody);
        }
    }

    pub(super) fn shards(self) -> impl Iterator<Item = ShardId> + use<'a> {
        (0..self.common.store.shards()).map(ShardId)
    }

    pub(super) fn shard_of(self, instance: InstanceId) -> ShardId {
        ShardId::of(instance.0, self.common.store.shards())
    }

    fn shard_for(self, request: &Request) -> ShardId {
        let shards = self.common.store.shards();
        match request.route() {
            Route::Instance(instance) => self.shard_of(instance),
            Route::Keeper(name) => shard::keeper(name, shards),
            Route::Number(number) => ShardId::of(number, shards),
            // What is for each shard is as well for this one, where only one is asked.
            Route::Any | Route::Each => {
                let next = self.common.next.fetch_add(1, Ordering::Relaxed);
                let mut all =
                    (0..shards).map(|it| ShardId::of(next.wrapping_add(it.into()), shards));
                let first = ShardId::of(next, shards);
                all.find(|it| !self.common.claims.is_lost(*it)).unwrap_or(first)
            }
        }
    }

    fn send(self, shard: ShardId, request: Request, to: ReplyTo) -> Result<(), Error> {
        let Common { counters, fault, .. } = &**self.common;
        let queue = self.common.queue(shard);
        let kind = request.kind();
        let input = Input::Ask(request, to);
        let accepted = match kind.origin() {
            Origin::Outside => queue.request(input, false),
            Origin::Inside => queue.request(input, true),
            Origin::Engine => {
                if let Some(error) = fault.get() {
                    return Err(error.clone());
                }
                queue.tell(input)
            }
        };
        match accepted {
            Ok(()) => {
                counters.requests.add(kind);
                Ok(())
            }
            Err(Refused::Full(waiting)) => {
                add(&counters.refused, 1);
                let reason = format!(
                    "{waiting} requests wait at shard {shard} already; slow down and try again"
                );
                Err(Error::Busy { reason })
            }
            Err(Refused::Closed(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
