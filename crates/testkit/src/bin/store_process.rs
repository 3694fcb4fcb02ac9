//! A process with a store open, for tests that kill it or take something from it.
//!
//! `write DIR BODY BATCHES` puts a load into the store and tells what is acknowledged; `hold DIR` keeps
//! the store open until its input ends; `fill DIR` writes until the disk is full, makes room and goes on. A store may be
//! the URL of one on PostgreSQL.

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
};

use travertine_store::{Error, PostgresStore, SqliteStore, Store, postgres, sqlite::Options};
use travertine_testkit::store_suite::load::{self, Acknowledged};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["write", dir, body, batches] => match (body.parse(), batches.parse()) {
            (Ok(body), Ok(batches)) => write(dir, body, batches),
            _ => return usage(),
        },
        ["hold", dir] => hold(dir),
        ["fill", dir] => fill(dir),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:?}"));
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    say("usage: write DIR BODY BATCHES | hold DIR | fill DIR");
    ExitCode::from(2)
}

fn say(line: &str) {
    // The one who listens may have gone.
    drop(writeln!(io::stdout(), "{line}"));
}

fn tell(what: &str, number: u64) {
    say(&format!("{what} {number}"));
}

fn open(place: &str) -> Result<Box<dyn Store>, Error> {
    if postgres::is_url(place) {
        let options = postgres::Options { shards: 4, ..postgres::Options::default() };
        return Ok(Box::new(PostgresStore::open(place, &options)?));
    }
    Ok(Box::new(SqliteStore::open(place, &Options::default())?))
}

fn write(dir: &str, body: usize, batches: u64) -> Result<(), Error> {
    let store = open(dir)?;
    let done = load::run(&*store, body, batches, &mut tell);
    if done.is_err() {
        // Whoever has failed once must not succeed afterwards.
        let again = load::run(&*store, body, 1, &mut tell);
        say(&format!("then {again:?}"));
    }
    done
}

fn hold(dir: &str) -> Result<(), Error> {
    let _store = open(dir)?;
    say("open");
    let ended = io::stdin().read_to_end(&mut Vec::new());
    drop(ended);
    Ok(())
}

fn fill(dir: &str) -> Result<(), Error> {
    let system = |error: io::Error| Error::Failed { reason: error.to_string() };
    let ballast = Path::new(dir).join("ballast");
    fs::write(&ballast, vec![1; 400_000]).map_err(system)?;
    let mut acknowledged = Acknowledged::default();
    let mut hear = |what: &str, number: u64| acknowledged.hear(&format!("{what} {number}"));
    let store = open(dir)?;
    match load::run(&*store, 5_000, 100_000, &mut hear) {
        Err(Error::Full { reason }) => say(&format!("full: {reason}")),
        other => return other,
    }
    // Reading goes on, and so does writing once there is room.
    load::verify(&*store, &acknowledged);
    fs::remove_file(&ballast).map_err(system)?;
    let mut hear = |what: &str, number: u64| acknowledged.hear(&format!("{what} {number}"));
    load::run(&*store, 100, 12, &mut hear)?;
    let last = store.last(travertine_store::ShardId(0))?;
    drop(store);
    load::verify(&*open(dir)?, &acknowledged);
    tell("went on to", last);
    Ok(())
}
