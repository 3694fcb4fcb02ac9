//! Stores in front of other stores.

use std::{fmt, path::Path};

use crate::{
    Address, Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Entry, Error,
    Fold, InstanceId, Loaded, Mail, MailId, Owner, Resource, Seq, ShardId, Store,
    search::{Column, Found, Search, Tally},
    view::{InstanceRow, Row, Table},
};

/// States each method once: a layer hands it on, and a layer is a store.
macro_rules! layers {
    ($(fn $name:ident(&self $(, $given:ident: $type:ty)* $(,)?) $(-> $answer:ty)?;)*) => {
        /// A store in front of another one. It says only what it does otherwise; all the rest it hands on.
        pub trait Layer: fmt::Debug + Send + Sync {
            /// The store behind it.
            fn behind(&self) -> &dyn Store;

            $(
                #[doc = concat!("[`Store::", stringify!($name), "`].")]
                fn $name(&self $(, $given: $type)*) $(-> $answer)? {
                    self.behind().$name($($given),*)
                }
            )*
        }

        impl<L: Layer> Store for L {
            $(
                fn $name(&self $(, $given: $type)*) $(-> $answer)? {
                    Layer::$name(self $(, $given)*)
                }
            )*
        }
    };
}

// `take`, `append`, `checkpoint` and `query` are not among them: they are said in terms of others, so that a layer that
// does something about these sees all there is. Reads in lots are: a layer that does something about single reads says
// what becomes of these.
layers! {
    fn shards(&self) -> u16;
    fn is_near(&self) -> bool;
    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error>;
    fn release(&self, claim: &Claim) -> Result<(), Error>;
    fn owners(&self) -> Result<Vec<Owner>, Error>;
    fn fence(&self, claims: &[Claim]) -> Result<Vec<bool>, Error>;
    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>>;
    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error>;
    fn last(&self, shard: ShardId) -> Result<Seq, Error>;
    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error>;
    fn check_log(&self, shard: ShardId) -> Result<(), Error>;
    fn check(&self) -> Result<Vec<String>, Error>;
    fn check_views(&self) -> Result<(), Error>;
    fn rebuilt(&self) -> Option<String>;
    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error>;
    fn noted(&self, shard: ShardId) -> Option<Vec<u8>>;
    fn note(&self, shard: ShardId, what: &[u8]);
    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error>;
    fn mailed(&self) -> Result<Vec<u64>, Error>;
    fn deploy(&self, deployment: &Deployment) -> Result<(), Error>;
    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error>;
    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error>;
    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error>;
    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error>;
    fn revision(&self) -> Result<u64, Error>;
    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>>;
    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error>;
    fn forget_views(&self, claim: &Claim) -> Result<(), Error>;
    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error>;
    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error>;
    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error>;
    fn called(&self, call: Address) -> Result<Option<InstanceId>, Error>;
    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error>;
    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded>;
    fn named_many(&self, shard: ShardId, names: &[&str]) -> Result<Vec<Vec<InstanceId>>, Error>;
    fn called_many(&self, calls: &[Address]) -> Result<Vec<Option<InstanceId>>, Error>;
    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error>;
    fn search(&self, search: &Search) -> Result<Found, Error>;
    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>, Error>;
    fn size(&self) -> Result<(u64, u64), Error>;
    fn compact(&self) -> Result<(), Error>;
    fn backup(&self, to: &Path) -> Result<(), Error>;
}
