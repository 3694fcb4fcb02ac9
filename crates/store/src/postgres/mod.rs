//! Stores on PostgreSQL.
//!
//! The log is a table, a row of `shards` is the fence of each shard, and the views are tables beside it. An append is
//! one statement: it writes where the claim holds and the entries follow on the end, and says where it did not.

mod backup;
mod deploy;
mod dialect;
mod fault;
mod keeper;
mod link;
mod log;
mod schema;
mod target;
mod text;
mod views;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_postgres::Error as PgError;

use self::{
    fault::Of,
    keeper::Keeper,
    link::{Lines, Link, Pool, wait},
    log::Log,
    target::Target,
    views::Views,
};
use crate::{
    Address, Advance, Append, Claim, Claimed, Claiming, DefinitionKey, Deployment, Entry, Error,
    Fold, InstanceId, Loaded, Mail, MailId, Owner, Resource, Seq, ShardId, Store,
    search::{Column, Found, Search, Tally},
    view::{InstanceRow, Row, Table},
};

/// The most shards that a store can have.
pub const SHARDS_MAX: u16 = 4_096;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many shards a new store gets. One that is there keeps its own.
    pub shards: u16,
    /// Whether to make a store where there is none, and new tables for views of another version.
    pub create: bool,
    /// How long reading waits for a database that is away, before it is told so.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { shards: 64, create: true, patience: Duration::from_secs(30) }
    }
}

/// Whether a text is the URL of a database.
///
/// ```
/// # use travertine_store::postgres::is_url;
/// assert!(is_url("postgres://db/app") && !is_url("data"));
/// ```
pub fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// A URL without its password, for people.
///
/// ```
/// # use travertine_store::postgres::without_password;
/// assert_eq!(without_password("postgres://ann:secret@db/app"), "postgres://ann@db/app");
/// ```
pub fn without_password(url: &str) -> String {
    let (base, given) = apart(url);
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    let (who, place) = rest.rsplit_once('@').map_or((None, rest), |(who, it)| (Some(who), it));
    let user = who.map(|it| it.split([':', '/', '?']).next().unwrap_or_default());
    let user = user.map_or_else(String::new, |it| format!("{it}@"));
    let rest = if given.is_empty() { place.to_owned() } else { format!("{place}?{given}") };
    let rest: String =
        rest.split_inclusive(['?', '&']).filter(|it| !it.starts_with("password=")).collect();
    format!("{scheme}://{user}{}", rest.trim_end_matches(['?', '&']))
}

/// What stands before the parameters of a URL, and these. Whatever comes before an `@` is who asks, as the driver reads
/// it: a password may have a `?` in it.
fn apart(url: &str) -> (&str, &str) {
    let from = url.find('@').unwrap_or(0);
    url[from..].split_once('?').map_or((url, ""), |(it, given)| (&url[..from + it.len()], given))
}

/// What there is of the tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// None.
    Missing,
    /// All of them, as this version wants them.
    Ready,
    /// Those of the views are of another version; they can be made again from the log.
    OtherViews,
}

/// A store on PostgreSQL.
#[derive(Debug)]
pub struct PostgresStore {
    // Before the connections, which it needs to give its lock back.
    _keeper: Option<Keeper>,
    control: Pool,
    log: Log,
    views: Views,
    shards: u16,
    rebuilt: Mutex<Option<String>>,
    lines: Arc<Lines>,
}

/// What `meta` says.
struct Meta {
    shards: u16,
    id: String,
    views: String,
}

/// A transaction that makes or changes tables, for one at a time.
const BEGIN_TABLES: &str = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('travertine tables'))";

/// What `meta` says, where there is a store.
async fn meta(link: &mut Link) -> Result<Option<Result<Meta, String>>, PgError> {
    if link.row("SELECT 1 WHERE to_regclass('meta') IS NOT NULL", &[]).await?.is_none() {
        return Ok(None);
    }
    let rows = link.rows("SELECT name, value FROM meta", &[]).await?;
    let value = |name: &str| {
        let found = rows.iter().find(|it| it.get::<_, &str>(0) == name);
        found.map(|it| it.get::<_, String>(1))
    };
    let format = value("format").and_then(|it| it.parse::<u32>().ok());
    let shards = value("shards").and_then(|it| it.parse::<u16>().ok());
    Ok(Some(match (format, shards, value("id")) {
        (Some(schema::FORMAT), Some(shards), Some(id)) if shards > 0 => {
            Ok(Meta { shards, id, views: value("views").unwrap_or_default() })
        }
        (Some(format), ..) if format > schema::FORMAT => {
            Err(format!("its format is {format}, and this version knows {}", schema::FORMAT))
        }
        _ => Err(String::from("its table `meta` is not that of a store")),
    }))
}

async fn run_all(link: &Link, all: &[String]) -> Result<(), PgError> {
    link.script(&all.join(";\n")).await
}

/// Makes what is missing of the tables. Says why the views were made again, where they were.
async fn make(
    link: &mut Link,
    schema: &str,
    shards: u16,
) -> Result<(Result<Meta, String>, Option<String>), PgError> {
    link.script(BEGIN_TABLES).await?;
    let mut rebuilt = None;
    // Whoever may not make schemas may still make tables in one that is there.
    let sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if link.row(sql, &[&schema]).await?.is_none() {
        link.script(&format!("CREATE SCHEMA {schema}")).await?;
    }
    match meta(link).await? {
        None => {
            run_all(link, &schema::log()).await?;
            run_all(link, &schema::views()).await?;
            run_all(link, &schema::contents(shards)).await?;
        }
        Some(Ok(meta)) if meta.views != schema::views_format() => {
            // Whoever had shards counts on views that are gone, and writes nothing any more: also not by a claim whose
            // answer has not come yet.
            let sql = "UPDATE shards SET epoch = epoch + 1, owner = NULL, nonce = 0";
            link.run(sql, &[]).await?;
            make_views(link).await?;
            rebuilt = Some(String::from("they were those of another version"));
        }
        Some(_) => {}
    }
    let found = meta(link).await?;
    link.script("COMMIT").await?;
    Ok((found.unwrap_or_else(|| Err(String::from("there is no store"))), rebuilt))
}

/// Why tables could not be made.
fn may_not_make(error: &PgError) -> Error {
    let told = fault::told(error, Of::Log);
    let Error::ReadOnly { reason } = told else { return told };
    Error::ReadOnly {
        reason: format!(
            "the tables are missing or of another version, and this role may not make them: {reason}; \
             `travertine schema migrate` does, with a role that may, or `migrate_schema` in a program"
        ),
    }
}

/// Puts empty views in the place of what is there.
async fn make_views(link: &mut Link) -> Result<(), PgError> {
    link.script(&schema::drop_views()).await?;
    run_all(link, &schema::views()).await?;
    let sql = "UPDATE meta SET value = $1 WHERE name = 'views'";
    link.run(sql, &[&schema::views_format()]).await.map(drop)
}

impl PostgresStore {
    /// Opens a store, or makes it. It is in use by this process then until it is dropped.
    pub fn open(url: &str, options: &Options) -> Result<Self, Error> {
        if options.create && !(1..=SHARDS_MAX).contains(&options.shards) {
            let reason = format!("a store has 1 to {SHARDS_MAX} shards, not {}", options.shards);
            return Err(Error::BadQuery { reason });
        }
        let lines = Arc::new(Lines::new(Target::read(url)?, options.patience)?);
        let control = Pool::new("control", 2);
        let failed = |error: &PgError| fault::told(error, Of::Log);
        let foreign = |reason| Error::Foreign { store: lines.target.to_string(), reason };
        let there = control.with(&lines, async |link| meta(link).await, failed)?;
        if there.is_none() && !options.create {
            return Err(Error::Missing { store: lines.target.to_string() });
        }
        let is_ready = matches!(&there, Some(Ok(it)) if it.views == schema::views_format());
        let mut rebuilt = None;
        let meta = if is_ready {
            there.expect("it is there")
        } else if let Some(Err(reason)) = there {
            Err(reason)
        } else {
            // Nobody may be at the views that are made again.
            let held = match &there {
                Some(Ok(it)) => Some(Keeper::take(&lines, key(&it.id))?),
                _ => None,
            };
            let schema = lines.target.schema.clone();
            let made = control.with(
                &lines,
                async |link| make(link, &schema, options.shards).await,
                may_not_make,
            );
            if made.is_err() {
                // A transaction may be open.
                drop(control.lend(&lines).map(|mut it| it.lose()));
            }
            drop(held);
            let (meta, why) = made?;
            rebuilt = why;
            meta
        };
        let meta = meta.map_err(foreign)?;
        let key = key(&meta.id);
        let keeper = Keeper::take(&lines, key)?;
        let seed = control.with(
            &lines,
            async |link| {
                let row =
                    link.row("SELECT hashtextextended(gen_random_uuid()::text, 0)", &[]).await?;
                Ok(row.map_or(1, |it| it.get::<_, i64>(0)).cast_unsigned())
            },
            failed,
        )?;
        Ok(Self {
            _keeper: Some(keeper),
            control,
            log: Log::new(meta.shards, seed),
            views: Views::new(meta.shards),
            shards: meta.shards,
            rebuilt: Mutex::new(rebuilt),
            lines,
        })
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        self.lines.target.to_string()
    }

    /// What of the settings of the server is unsafe or slow, in words.
    pub fn advice(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT current_setting('fsync'), current_setting('synchronous_commit'),
            current_setting('full_page_writes'), current_setting('max_connections')::bigint,
            current_setting('server_version_num')::bigint";
        let row = self.control.read(&self.lines, Of::Log, async |link| link.row(sql, &[]).await)?;
        let Some(row) = row else { return Ok(Vec::new()) };
        let [fsync, commit, pages] = [0, 1, 2].map(|it| row.get::<_, String>(it));
        let [connections, version] = [3, 4].map(|it| row.get::<_, i64>(it));
        let mut all = Vec::new();
        if fsync == "off" {
            all.push(String::from(
                "fsync is off: what is acknowledged can be lost with the machine",
            ));
        }
        if pages == "off" {
            all.push(String::from(
                "full_page_writes is off: a crash of the machine can damage tables",
            ));
        }
        if matches!(commit.as_str(), "off" | "local") {
            all.push(format!("synchronous_commit is {commit}: what is acknowledged can be lost"));
        }
        if connections < 40 {
            all.push(format!(
                "max_connections is {connections}: a process takes up to 30 connections"
            ));
        }
        if version < 140_000 {
            all.push(String::from(
                "this PostgreSQL is older than 14, which is the oldest that is tried",
            ));
        }
        Ok(all)
    }
}

/// What the lock of a store is called.
fn key(id: &str) -> i64 {
    let half = id.get(..16).unwrap_or_default();
    u64::from_str_radix(half, 16).unwrap_or(0).cast_signed()
}

/// The tables of a store as a script, for administrators.
pub fn schema_script(url: Option<&str>, shards: u16) -> Result<String, Error> {
    let schema = match url {
        Some(url) => Target::read(url)?.schema,
        None => String::from("travertine"),
    };
    Ok(schema::script(&schema, shards))
}

/// What there is of the tables of a store.
pub fn check_schema(url: &str) -> Result<Standing, Error> {
    let lines = Lines::new(Target::read(url)?, Options::default().patience)?;
    let mut link = lines.connect("schema")?;
    let found = wait(meta(&mut link)).map_err(|error| fault::told(&error, Of::Log))?;
    match found {
        None => Ok(Standing::Missing),
        Some(Ok(it)) if it.views == schema::views_format() => Ok(Standing::Ready),
        Some(Ok(_)) => Ok(Standing::OtherViews),
        Some(Err(reason)) => Err(Error::Foreign { store: lines.target.to_string(), reason }),
    }
}

/// Copies the log of a store that others may have open into a new directory, as it is at one moment. The copy opens like
/// any other embedded store.
pub fn backup(url: &str, to: &Path) -> Result<(), Error> {
    let lines = Lines::new(Target::read(url)?, Options::default().patience)?;
    let mut link = lines.connect("backup")?;
    let found = wait(meta(&mut link)).map_err(|error| fault::told(&error, Of::Log))?;
    let store = lines.target.to_string();
    let meta = found.ok_or_else(|| Error::Missing { store: store.clone() })?;
    let meta = meta.map_err(|reason| Error::Foreign { store, reason })?;
    backup::backup(&lines, meta.shards, to)
}

/// Makes what is missing of the tables of a store. Nobody may have it open.
pub fn migrate_schema(url: &str, shards: u16) -> Result<(), Error> {
    drop(PostgresStore::open(url, &Options { shards, ..Options::default() })?);
    Ok(())
}

impl Store for PostgresStore {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn is_near(&self) -> bool {
        false
    }

    fn claim(&self, shard: ShardId, how: Claiming<'_>) -> Result<Claimed, Error> {
        self.log.claim(&self.lines, &self.control, shard, how)
    }

    fn release(&self, claim: &Claim) -> Result<(), Error> {
        Log::release(&self.lines, &self.control, claim)
    }

    fn owners(&self) -> Result<Vec<Owner>, Error> {
        Log::owners(&self.lines, &self.views.readers)
    }

    fn fence(&self, claims: &[Claim]) -> Result<Vec<bool>, Error> {
        Log::fence(&self.lines, &self.views.readers, claims)
    }

    fn append_all(&self, appends: &[Append<'_>]) -> Vec<Result<(), Error>> {
        self.log.append(&self.lines, appends)
    }

    fn entries(&self, shard: ShardId, after: Seq, limit: usize) -> Result<Vec<Entry>, Error> {
        Log::entries(&self.lines, &self.views.readers, shard, after, limit)
    }

    fn last(&self, shard: ShardId) -> Result<Seq, Error> {
        Log::last(&self.lines, &self.views.readers, shard)
    }

    fn chain(&self, shard: ShardId, last: Seq, after: Seq) -> Result<Vec<Entry>, Error> {
        let wanted = [(last, after)];
        let found = Log::chains_of(&self.lines, &self.views.readers, shard, &wanted)?;
        found.into_iter().next().expect("there is an answer for each")
    }

    fn check_log(&self, shard: ShardId) -> Result<(), Error> {
        Log::check(&self.lines, &self.views.readers, shard)
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let shards = (0..self.shards).map(|it| self.check_log(ShardId(it)));
        let deployments = [deploy::check(&self.lines, &self.views.readers)];
        for checked in shards.chain(deployments) {
            match checked {
                Err(error @ (Error::Lost { .. } | Error::Corrupt { .. })) => {
                    found.push(error.to_string());
                }
                checked => checked?,
            }
        }
        Ok(found)
    }

    fn check_views(&self) -> Result<(), Error> {
        self.views.check(&self.lines)
    }

    fn rebuilt(&self) -> Option<String> {
        self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fold(&self, claim: &Claim, folds: &[Fold]) -> Result<(), Error> {
        Log::fold(&self.lines, self.views.writer(claim.shard), claim, folds)
    }

    fn inbox(&self, shard: ShardId, after: &[MailId], limit: usize) -> Result<Vec<Mail>, Error> {
        Log::inbox(&self.lines, &self.views.readers, shard, after, limit)
    }

    fn mailed(&self) -> Result<Vec<u64>, Error> {
        Log::mailed(&self.lines, &self.views.readers)
    }

    fn deploy(&self, deployment: &Deployment) -> Result<(), Error> {
        deploy::deploy(&self.lines, &self.control, deployment)
    }

    fn deployments(&self, after: u64) -> Result<Vec<Deployment>, Error> {
        deploy::deployments(&self.lines, &self.views.readers, after)
    }

    fn resource(&self, key: DefinitionKey) -> Result<Option<Resource>, Error> {
        deploy::resource(&self.lines, &self.views.readers, key)
    }

    fn undeploy(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        deploy::change(&self.lines, &self.control, keys, |it| it.remove(keys))
    }

    fn retire(&self, keys: &[DefinitionKey]) -> Result<(), Error> {
        deploy::change(&self.lines, &self.control, keys, |it| it.retire(keys))
    }

    fn revision(&self) -> Result<u64, Error> {
        deploy::revision(&self.lines, &self.views.readers)
    }

    fn checkpoint_all(&self, advances: &[Advance<'_>]) -> Vec<Result<(), Error>> {
        advances.iter().map(|it| self.views.checkpoint(&self.lines, it)).collect()
    }

    fn checkpointed(&self, shard: ShardId) -> Result<(Seq, Vec<u8>), Error> {
        self.views.checkpointed(&self.lines, shard)
    }

    fn forget_views(&self, claim: &Claim) -> Result<(), Error> {
        self.views.forget(&self.lines, claim)
    }

    fn reset_views(&self, claims: &[Claim]) -> Result<(), Error> {
        let claims = Claim::of_all(claims, self.shards)?;
        let mut lent = self.control.lend(&self.lines)?;
        let link = lent.link();
        let done = wait(async {
            link.script(BEGIN_TABLES).await?;
            let lost = Log::hold(link, &claims).await?;
            if lost.is_none() {
                make_views(link).await?;
            }
            link.script("COMMIT").await?;
            Ok(lost)
        });
        match done {
            Ok(None) => {}
            Ok(Some(shard)) => return Err(Error::Stale { shard }),
            Err(error) => {
                // A transaction may be open.
                lent.lose();
                return Err(fault::told(&error, Of::Log));
            }
        }
        let why = String::from("they could not be read");
        *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        Ok(())
    }

    fn instance(&self, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
        self.views.instance(&self.lines, id)
    }

    fn named(&self, shard: ShardId, business_id: &str) -> Result<Vec<InstanceId>, Error> {
        Ok(self.named_many(shard, &[business_id])?.into_iter().flatten().collect())
    }

    fn called(&self, call: Address) -> Result<Option<InstanceId>, Error> {
        Ok(self.called_many(&[call])?.into_iter().flatten().next())
    }

    fn snapshot(&self, instance: InstanceId) -> Result<Option<(Seq, Vec<u8>)>, Error> {
        self.views.snapshot(&self.lines, instance)
    }

    fn load(&self, shard: ShardId, instances: &[InstanceId]) -> Vec<Loaded> {
        let failed = |error: &Error| Loaded {
            row: Err(error.clone()),
            snapshot: Err(error.clone()),
            chain: Err(error.clone()),
        };
        let found = match self.views.instances(&self.lines, instances) {
            Ok(found) => found,
            Err(error) => return instances.iter().map(|_| failed(&error)).collect(),
        };
        let wanted: Vec<(Seq, Seq)> = found
            .iter()
            .map(|(row, snapshot)| {
                let last = row.as_ref().ok().and_then(Option::as_ref).map_or(0, |it| it.last);
                let after = snapshot.as_ref().map_or(0, |it| it.0);
                (last, after.min(last.saturating_sub(1)))
            })
            .collect();
        let chains = Log::chains_of(&self.lines, &self.views.readers, shard, &wanted);
        match chains {
            Ok(chains) => found
                .into_iter()
                .zip(chains)
                .map(|((row, snapshot), chain)| Loaded { row, snapshot: Ok(snapshot), chain })
                .collect(),
            Err(error) => found
                .into_iter()
                .map(|(row, snapshot)| Loaded {
                    row,
                    snapshot: Ok(snapshot),
                    chain: Err(error.clone()),
                })
                .collect(),
        }
    }

    fn named_many(&self, shard: ShardId, names: &[&str]) -> Result<Vec<Vec<InstanceId>>, Error> {
        self.views.named_many(&self.lines, shard, names)
    }

    fn called_many(&self, calls: &[Address]) -> Result<Vec<Option<InstanceId>>, Error> {
        self.views.called_many(&self.lines, calls)
    }

    fn scan(
        &self,
        shard: ShardId,
        table: Table,
        each: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.views.scan(&self.lines, shard, table, each)
    }

    fn search(&self, search: &Search) -> Result<Found, Error> {
        search.check()?;
        self.views.search(&self.lines, search)
    }

    fn tally(&self, search: &Search, by: &[Column]) -> Result<Vec<Tally>, Error> {
        search.check_tally(by)?;
        search.tallied(self.views.tally(&self.lines, search, by)?)
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        let sql = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
                coalesce(sum(pg_relation_size(c.oid) * s.n_dead_tup / greatest(s.n_live_tup + s.n_dead_tup, 1)), 0)::bigint
            FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'";
        let row =
            self.views.readers.read(&self.lines, Of::Log, async |link| link.row(sql, &[]).await)?;
        Ok(row.map_or((0, 0), |it| (log::count(&it, 0), log::count(&it, 1))))
    }

    fn compact(&self) -> Result<(), Error> {
        let schema = &self.lines.target.schema;
        let sql =
            "SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY c.relname),
                coalesce(bool_and(pg_has_role(c.relowner, 'USAGE')), false)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition";
        let told = |error: &PgError| fault::told(error, Of::Log);
        let row =
            self.control.with(&self.lines, async |link| link.row(sql, &[schema]).await, told)?;
        let Some((Some(tables), own)) =
            row.map(|it| (it.get::<_, Option<String>>(0), it.get::<_, bool>(1)))
        else {
            return Ok(());
        };
        let vacuum = format!("VACUUM (ANALYZE) {tables}");
        if !own {
            let reason = format!(
                "this role does not own the tables, so that it cannot give their room back; an administrator can: {vacuum}"
            );
            return Err(Error::ReadOnly { reason });
        }
        self.control.with(&self.lines, async |link| link.script(&vacuum).await, told)
    }

    fn backup(&self, to: &Path) -> Result<(), Error> {
        backup::backup(&self.lines, self.shards, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://ann:hidden@db/app?schema=x", "postgres://ann@db/app?schema=x"),
            ("postgres://ann:hi?dden@db/app", "postgres://ann@db/app"),
            ("postgres://ann:hi?dd&en@db/app?schema=x", "postgres://ann@db/app?schema=x"),
            ("postgres://ann:hi/d?den@db:1/app", "postgres://ann@db:1/app"),
            ("postgres://ann:hi@dden@db/app", "postgres://ann@db/app"),
            ("postgres://db/app?password=hidden&user=ann", "postgres://db/app?user=ann"),
            ("postgres://db/app?user=ann&password=hidden", "postgres://db/app?user=ann"),
            ("postgres://db/app?user=ann@x&password=hidden", "postgres://db@x"),
            ("postgres://db:5432/app?password=hidden", "postgres://db:5432/app"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }
}
