//! Engines on PostgreSQL.

use std::sync::Arc;

use travertine_store::{PostgresStore, Store, postgres};

use super::{Engine, options::Options};
use crate::Error;

impl Engine {
    /// Opens the store in a PostgreSQL database, or makes it there, and goes on with what it has. A new one gets 64
    /// shards. One process has it open at a time; [`Error::Store`] with who has it says that somebody else has.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # fn example() -> Result<(), Error> {
    /// let engine = Engine::connect("postgres://app@db.example/app?schema=orders")?;
    /// # Ok(()) }
    /// ```
    pub fn connect(url: &str) -> Result<Self, Error> {
        let shards = postgres::Options::default().shards;
        Self::connect_with(url, Options { shards, ..Options::default() })
    }

    /// Opens the store in a PostgreSQL database with these options. A new one gets as many shards as they say.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Options;
    /// # fn example() -> Result<(), Error> {
    /// let known = Options { create: false, ..Options::default() };
    /// let engine = Engine::connect_with("postgres://app@db.example/app", known)?;
    /// # Ok(()) }
    /// ```
    pub fn connect_with(url: &str, options: Options) -> Result<Self, Error> {
        let given = postgres::Options {
            shards: options.shards,
            create: options.create,
            ..postgres::Options::default()
        };
        let store = PostgresStore::open(url, &given)?;
        Self::on(&(Arc::new(store) as Arc<dyn Store>), options)
    }
}
