//! Deployments.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::{Error as PgError, Row};
use travertine_value::time::Timestamp;

use super::{
    fault::{self, Of},
    link::{Lines, Link, Pool, wait},
    log::{count, number},
    text::{escape, unescape},
};
use crate::{DefinitionKey, Deployed, Deployment, Error, Resource, crash_point, sum};

/// Who deploys holds this in its transaction, one at a time.
const BEGIN: &str = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('travertine deployments'), \
     (SELECT oid FROM pg_namespace WHERE nspname = current_schema())::int)";

const DEPLOYED: &str = "deployment, key, id, version, tag, resource, standing";

fn deployed(row: &Row) -> (u64, Deployed) {
    let standing: i16 = row.get(6);
    let deployed = Deployed {
        key: DefinitionKey(count(row, 1)),
        id: unescape(row.get(2)).into(),
        version: u32::try_from(row.get::<_, i64>(3)).unwrap_or(0),
        tag: row.get::<_, Option<String>>(4).map(|it| unescape(it).into()),
        resource: u32::try_from(row.get::<_, i64>(5)).unwrap_or(0),
        removed: standing == 1,
        retired: standing == 2,
    };
    (count(row, 0), deployed)
}

/// A file, from the column `at` on, and whether it is what was stored.
fn file(row: &Row, at: usize) -> (Resource, bool) {
    let mut file = Resource { name: unescape(row.get(at)), body: row.get(at + 1) };
    let is_whole = row.get::<_, i64>(at + 2) == i64::from(sum::resource(&file));
    if !is_whole {
        // What it defines cannot be read then, and everything else can.
        file.body = b"the checksum is wrong".to_vec();
    }
    (file, is_whole)
}

/// Deployments of which something is not what was stored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Damage {
    /// One that is itself another one.
    deployment: Option<u64>,
    /// One with a file that is.
    file: Option<u64>,
}

impl Damage {
    /// Refuses deployments that are damaged themselves: of a file, only what it defines cannot be read.
    fn refuse(self, lines: &Lines) -> Result<(), Error> {
        self.deployment.map_or(Ok(()), |it| Err(wrong(lines, &format!("deployment {it}"))))
    }

    /// Refuses to write anything anew: it would look whole.
    pub(super) fn refuse_any(self, lines: &Lines) -> Result<(), Error> {
        self.refuse(lines)?;
        self.file.map_or(Ok(()), |it| Err(wrong(lines, &format!("a file of deployment {it}"))))
    }
}

fn wrong(lines: &Lines, what: &str) -> Error {
    let reason = format!("the checksum of {what} is wrong");
    Error::Corrupt { place: lines.target.to_string(), reason }
}

async fn insert(link: &mut Link, it: &Deployment) -> Result<(), PgError> {
    let of = number(it.number);
    let sql = "INSERT INTO deployments (number, at, sum) VALUES ($1, $2, $3)";
    link.run(sql, &[&of, &it.at.as_millis(), &i64::from(sum::deployment(it))]).await?;
    let sql =
        "INSERT INTO resources (deployment, position, name, sum, body) VALUES ($1, $2, $3, $4, $5)";
    for (position, it) in (0_i64..).zip(&it.resources) {
        let sum = i64::from(sum::resource(it));
        link.run(sql, &[&of, &position, &escape(&it.name).as_ref(), &sum, &it.body]).await?;
    }
    let sql =
        "INSERT INTO definitions (key, deployment, position, id, version, tag, resource, standing)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    for (position, it) in (0_i64..).zip(&it.definitions) {
        let tag = it.tag.as_deref().map(escape);
        let standing = i16::from(sum::standing(it));
        link.run(
            sql,
            &[
                &number(it.key.0),
                &of,
                &position,
                &escape(&it.id).as_ref(),
                &i64::from(it.version),
                &tag.as_deref(),
                &i64::from(it.resource),
                &standing,
            ],
        )
        .await?;
    }
    Ok(())
}

async fn raise_revision(link: &mut Link) -> Result<(), PgError> {
    let sql = "UPDATE meta SET value = (value::bigint + 1)::text WHERE name = 'revision'";
    link.run(sql, &[]).await.map(drop)
}

/// The deployments after a number, up to another, and what is wrong with them.
pub(super) async fn read(
    link: &mut Link,
    after: u64,
    upto: u64,
) -> Result<(Vec<Deployment>, Damage), PgError> {
    let range = [number(after), number(upto)];
    let sql = "SELECT number, at, sum FROM deployments WHERE number > $1 AND number <= $2";
    let mut sums = BTreeMap::new();
    let mut found: BTreeMap<u64, Deployment> = BTreeMap::new();
    let mut damage = Damage::default();
    for row in link.rows(sql, &[&range[0], &range[1]]).await? {
        let number = count(&row, 0);
        sums.insert(number, row.get::<_, i64>(2));
        let at = Timestamp::from_millis(row.get(1));
        found.insert(number, Deployment { number, at, ..Deployment::default() });
    }
    let within = "WHERE deployment > $1 AND deployment <= $2 ORDER BY deployment, position";
    let sql = format!("SELECT {DEPLOYED} FROM definitions {within}");
    for row in link.rows(&sql, &[&range[0], &range[1]]).await? {
        let (number, deployed) = deployed(&row);
        if let Some(it) = found.get_mut(&number) {
            it.definitions.push(deployed);
        }
    }
    let sql = format!("SELECT deployment, name, body, sum FROM resources {within}");
    for row in link.rows(&sql, &[&range[0], &range[1]]).await? {
        if let Some(it) = found.get_mut(&count(&row, 0)) {
            let (file, is_whole) = file(&row, 1);
            it.resources.push(file);
            if !is_whole {
                damage.file.get_or_insert(it.number);
            }
        }
    }
    let wrong = |it: &&Deployment| sums.get(&it.number) != Some(&i64::from(sum::deployment(it)));
    damage.deployment = found.values().find(wrong).map(|it| it.number);
    Ok((found.into_values().collect(), damage))
}

/// What has used a number, a key or a version already that a deployment wants, apart from its files.
async fn rivals(link: &mut Link, wanted: &Deployment) -> Result<Vec<Deployment>, PgError> {
    let sql = "SELECT number FROM deployments WHERE number = $1";
    let rows = link.rows(sql, &[&number(wanted.number)]).await?;
    let own = |row: &Row| Deployment { number: count(row, 0), ..Deployment::default() };
    let mut found: Vec<Deployment> = rows.iter().map(own).collect();
    let keys: Vec<i64> = wanted.definitions.iter().map(|it| number(it.key.0)).collect();
    let ids: Vec<String> =
        wanted.definitions.iter().map(|it| escape(&it.id).into_owned()).collect();
    let versions: Vec<i64> = wanted.definitions.iter().map(|it| it.version.into()).collect();
    let sql = format!(
        "SELECT {DEPLOYED} FROM definitions WHERE key = ANY($1)
            OR (id, version) IN (SELECT * FROM unnest($2::text[], $3::bigint[]))"
    );
    for row in link.rows(&sql, &[&keys, &ids, &versions]).await? {
        let (number, deployed) = deployed(&row);
        found.push(Deployment { number, definitions: vec![deployed], ..Deployment::default() });
    }
    Ok(found)
}

/// Does something in a transaction of its own, all of it or nothing.
fn transact(
    lines: &Lines,
    control: &Pool,
    points: (&str, &str),
    act: impl AsyncFnOnce(&mut Link) -> Result<Result<(), Error>, PgError>,
) -> Result<(), Error> {
    let mut lent = control.lend(lines)?;
    let link = lent.link();
    let done = wait(async {
        link.script(BEGIN).await?;
        let done = act(link).await?;
        crash_point(points.0);
        link.script(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        crash_point(points.1);
        Ok::<_, PgError>(done)
    });
    done.unwrap_or_else(|error| {
        lent.lose();
        Err(match error.as_db_error() {
            Some(it) if it.code().code() == "23505" => {
                Error::Conflict { what: it.detail().unwrap_or_else(|| it.message()).to_owned() }
            }
            _ => fault::told_of_write(&error, Of::Log),
        })
    })
}

pub(super) fn deploy(lines: &Lines, control: &Pool, wanted: &Deployment) -> Result<(), Error> {
    transact(lines, control, ("deploy.inserted", "deploy.committed"), async |link| {
        let others = rivals(link, wanted).await?;
        if let Err(error) = wanted.check(others.iter()) {
            return Ok(Err(error));
        }
        insert(link, wanted).await?;
        raise_revision(link).await?;
        Ok(Ok(()))
    })
}

/// Changes the deployments that have brought these keys, where `change` says that there is something to change.
pub(super) fn change(
    lines: &Lines,
    control: &Pool,
    keys: &[DefinitionKey],
    change: impl Fn(&mut Deployment) -> bool,
) -> Result<(), Error> {
    let keys: Vec<i64> = keys.iter().map(|it| number(it.0)).collect();
    transact(lines, control, ("undeploy.changed", "undeploy.committed"), async |link| {
        let sql = "SELECT deployment FROM definitions WHERE key = ANY($1)";
        let rows = link.rows(sql, &[&keys]).await?;
        let numbers: BTreeSet<u64> = rows.iter().map(|it| count(it, 0)).collect();
        let mut any = false;
        for of in numbers {
            let (found, damage) = read(link, of - 1, of).await?;
            for mut it in found {
                if !change(&mut it) {
                    continue;
                }
                if let Err(error) = damage.refuse_any(lines) {
                    return Ok(Err(error));
                }
                for sql in [
                    "DELETE FROM deployments WHERE number = $1",
                    "DELETE FROM resources WHERE deployment = $1",
                    "DELETE FROM definitions WHERE deployment = $1",
                ] {
                    link.run(sql, &[&number(it.number)]).await?;
                }
                insert(link, &it).await?;
                any = true;
            }
        }
        if any {
            raise_revision(link).await?;
        }
        Ok(Ok(()))
    })
}

pub(super) fn deployments(
    lines: &Lines,
    readers: &Pool,
    after: u64,
) -> Result<Vec<Deployment>, Error> {
    let (found, damage) = readers.read(lines, Of::Log, async |link| {
        link.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let found = read(link, after, u64::MAX).await;
        link.script("COMMIT").await?;
        found
    })?;
    damage.refuse(lines)?;
    Ok(found)
}

pub(super) fn resource(
    lines: &Lines,
    readers: &Pool,
    key: DefinitionKey,
) -> Result<Option<Resource>, Error> {
    let sql = "SELECT r.name, r.body, r.sum FROM resources r JOIN definitions d USING (deployment)
        WHERE d.key = $1 AND d.standing <> 1 AND r.position = d.resource";
    let row = readers.read(lines, Of::Log, async |link| link.row(sql, &[&number(key.0)]).await)?;
    Ok(row.map(|it| file(&it, 0).0))
}

pub(super) fn revision(lines: &Lines, readers: &Pool) -> Result<u64, Error> {
    let sql = "SELECT value::bigint FROM meta WHERE name = 'revision'";
    let row = readers.read(lines, Of::Log, async |link| link.row(sql, &[]).await)?;
    Ok(row.map_or(0, |it| count(&it, 0)))
}

/// Whether all deployments are there that others, or what they have brought, tell of.
pub(super) fn check(lines: &Lines, readers: &Pool) -> Result<(), Error> {
    let sql = "SELECT number FROM (
            SELECT deployment AS number FROM definitions
            UNION SELECT deployment FROM resources
            UNION SELECT number - 1 FROM deployments WHERE number > 1) told
        WHERE number NOT IN (SELECT number FROM deployments) ORDER BY number LIMIT 1";
    match readers.read(lines, Of::Log, async |link| link.row(sql, &[]).await)? {
        None => Ok(()),
        Some(row) => {
            let number = count(&row, 0);
            let reason = format!("deployment {number} was stored and is not there");
            Err(Error::Lost { place: lines.target.to_string(), reason })
        }
    }
}
