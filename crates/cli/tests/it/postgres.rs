//! Commands on a store in a PostgreSQL database. Without PostgreSQL those that need it say so and pass.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::Command,
};

use tempfile::TempDir;
use travertine_testkit::postgres::{own_server, server};

use super::{Called, command, finish, serve::Serves, travertine};

const ORDER: &str = "examples/order.bpmn";

const HELLO: &str = "examples/hello.bpmn";

/// A machine with commands on a store: what belongs to the store there is in a directory of its own.
struct Machine {
    url: String,
    state: TempDir,
}

impl Machine {
    fn new(url: &str) -> Self {
        Self { url: url.to_owned(), state: tempfile::tempdir().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.args(["--store", &self.url]).env("XDG_STATE_HOME", self.state.path());
        command.env_remove("PGPASSWORD").env("PGPASSFILE", "/dev/null");
        command
    }

    fn call(&self, args: &[&str]) -> Called {
        finish(self.command(args).spawn().unwrap(), "")
    }

    /// What a command prints that succeeds.
    fn text(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert_eq!(called.status, 0, "{args:?}: {}{}", called.out, called.err);
        called.out
    }

    /// Why a command does not do what it is asked.
    fn refused(&self, args: &[&str]) -> String {
        let called = self.call(args);
        assert_eq!(called.status, 2, "{args:?}: {}{}", called.out, called.err);
        called.err
    }

    fn serves(&self, more: &[&str]) -> Serves {
        let any = "127.0.0.1:0";
        let args = ["serve", "--listen", any, "--grpc-listen", any, "--manage", any];
        Serves::begin(self.command(&[&args, more].concat()))
    }
}

#[test]
fn a_store_in_a_database_is_worked_on_like_one_in_a_directory() {
    let Some(server) = server() else { return };
    let at = Machine::new(&server.url());
    let missing = at.refused(&["instances"]);
    assert!(missing.contains("there is no store in postgres://"), "{missing}");
    let checked = at.call(&["schema", "check"]);
    assert!(checked.status == 1 && checked.out.contains("schema migrate"), "{}", checked.out);

    at.text(&["deploy", HELLO, "--shards", "4"]);
    at.text(&["schema", "check"]);
    at.text(&["start", "hello", "--id", "HI-7", "--var", "name=Ann"]);
    let shown = at.text(&["show", "HI-7"]);
    assert!(shown.contains("\"HI-7\", running"), "{shown}");
    assert!(at.text(&["instances", "--json"]).contains("HI-7"));
    assert!(at.text(&["stats"]).contains("4 shards"));
    assert!(at.text(&["verify"]).contains("everything agrees"));
    at.text(&["complete", "HI-7", "--var", "liked=true"]);
    let shown = at.text(&["show", "HI-7"]);
    assert!(shown.contains("\"HI-7\", completed"), "{shown}");
    at.text(&["start", "hello", "--id", "HI-8"]);

    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy").display().to_string();
    at.text(&["backup", &copy]);
    let in_copy = travertine(&["show", "HI-7", "--data", &copy]);
    assert!(in_copy.out.contains("\"HI-7\", completed"), "{}{}", in_copy.out, in_copy.err);
    at.text(&["cancel", "HI-8"]);
    at.text(&["compact"]);
    let shown = at.text(&["show", "HI-8"]);
    assert!(shown.contains("\"HI-8\", cancelled"), "{shown}");
}

#[test]
fn a_new_store_in_a_database_has_the_shards_that_are_said_or_many() {
    let Some(server) = server() else { return };
    for (more, expected) in [(&[][..], "64 shards"), (&["--shards", "1"], "1 shard")] {
        let at = Machine::new(&server.url());
        at.text(&[&["deploy", HELLO], more].concat());
        let stats = at.text(&["stats"]);
        assert!(stats.contains(&format!(", {expected}\n")), "{stats}");
    }
    let at = Machine::new(&server.url());
    let migrated = at.text(&["schema", "migrate", "--shards", "2"]);
    assert!(migrated.contains("as this version wants them"), "{migrated}");
    at.text(&["deploy", HELLO]);
    assert!(at.text(&["stats"]).contains(", 2 shards\n"));
}

#[test]
fn another_command_goes_through_the_process_that_has_a_database_or_is_told_who_has_it() {
    let Some(server) = server() else { return };
    let at = Machine::new(&server.url());
    at.text(&["deploy", ORDER, "--shards", "4"]);
    let mut works = at.command(&["work", "--quiet"]).spawn().unwrap();
    let greeting = BufReader::new(works.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    let through = at.call(&["start", "order"]);
    // It does not know of the process there.
    let elsewhere = Machine::new(&at.url);
    let refused = elsewhere.call(&["instances"]);
    works.kill().unwrap();
    works.wait().unwrap();
    assert!(greeting.contains("Ctrl-C ends it"), "{greeting}");
    assert_eq!(through.status, 0, "{}", through.err);
    let by = format!("in use by process {} on ", works.id());
    assert!(refused.status == 2 && refused.err.contains(&by), "{}", refused.err);
    // It was killed, and the next one has the store at once.
    assert!(elsewhere.text(&["instances"]).contains("order"));
}

#[test]
fn a_database_is_served_and_what_was_answered_survives_a_kill() {
    let Some(server) = server() else { return };
    let at = Machine::new(&server.url());
    at.text(&["deploy", HELLO, "--shards", "2"]);
    let serves = at.serves(&[]);
    let start = r#"{"processDefinitionId": "hello", "variables": {"name": "Ann"}}"#;
    let answer = serves.ask("POST /v2/process-instances", start);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    at.text(&["start", "hello", "--id", "HI-7"]);
    // Accounts and the socket are at a place of their own that nobody else can read.
    let mode = {
        use std::os::unix::fs::PermissionsExt as _;
        let mut all = std::fs::read_dir(at.state.path().join("travertine")).unwrap();
        all.next().unwrap().unwrap().metadata().unwrap().permissions().mode()
    };
    let refused = Machine::new(&at.url).refused(&["serve", "--listen", "127.0.0.1:0"]);
    drop(serves);
    assert_eq!(mode & 0o777, 0o700);
    assert!(refused.contains("in use by process "), "{refused}");
    assert!(!Path::new("postgres:").exists());

    let serves = at.serves(&[]);
    let answer = serves.ask("POST /v2/process-instances/search", "{}");
    assert!(answer.contains(r#""totalItems":2"#), "{answer}");
    at.text(&["complete", "HI-7", "--var", "liked=true"]);
    serves.end();
    let shown = at.text(&["show", "HI-7"]);
    assert!(shown.contains("completed"), "{shown}");
}

#[test]
fn who_is_not_let_into_a_database_is_told_why_and_what_to_do() {
    let nobody = Machine::new("postgres://ann@127.0.0.1:1/app").refused(&["instances"]);
    for text in ["postgres://ann@127.0.0.1:1/app: ", "cannot be reached", "PostgreSQL runs there"] {
        assert!(nobody.contains(text), "{nobody}");
    }
    for (url, why) in [
        ("postgres://ann@db.invalid:x/app", "no URL of a PostgreSQL database"),
        ("postgres://ann@db.invalid/app?schema=A-b", "a schema is called by"),
        ("postgres:///app", "it names no host"),
    ] {
        let refused = Machine::new(url).refused(&["instances"]);
        assert!(refused.contains(url) && refused.contains(why), "{refused}");
    }

    let Some(server) = own_server() else { return };
    server.sql("CREATE ROLE ann LOGIN PASSWORD 'right'");
    server.sql("CREATE ROLE bob LOGIN");
    let rules = "VALUES ('local all ann scram-sha-256'), ('local all all trust')";
    let file = server.sql("SHOW hba_file").remove(0);
    server.sql(&format!("COPY ({rules}) TO '{file}'"));
    server.kill("INT");
    server.run();
    let as_user = |user: &str| server.base().replace("travertine@", &format!("{user}@"));
    let ann = Machine::new(&as_user("ann"));
    let none = ann.refused(&["instances"]);
    assert!(none.contains("password missing") && none.contains("PGPASSWORD"), "{none}");
    let with = |password: &str| {
        let mut command = ann.command(&["instances"]);
        finish(command.env("PGPASSWORD", password).spawn().unwrap(), "")
    };
    let wrong = with("wrong");
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("password authentication failed for user \"ann\""), "{}", wrong.err);
    let right = with("right");
    assert!(right.err.contains("there is no store in"), "{}", right.err);
    // A role that may not make tables, and a database that is not there.
    let bob = Machine::new(&as_user("bob")).refused(&["deploy", HELLO]);
    assert!(bob.contains("may not make them") && bob.contains("schema migrate"), "{bob}");
    let elsewhere = server.base().replace("/postgres", "/nowhere");
    let nowhere = Machine::new(&elsewhere).refused(&["instances"]);
    assert!(nowhere.contains("database \"nowhere\" does not exist"), "{nowhere}");
}

#[test]
fn a_password_in_a_url_is_refused_and_never_shown() {
    for args in [
        ["instances", "--store", "postgres://ann:hidden@db.invalid/app"],
        ["serve", "--store", "postgres://ann:hidden@db.invalid/app"],
    ] {
        let told = travertine(&args);
        assert_eq!(told.status, 2);
        assert!(told.err.contains("PGPASSWORD") && !told.err.contains("hidden"), "{}", told.err);
    }
    let mut command = command(&["serve"]);
    command.env("TRAVERTINE_DATA", "postgres://ann:hidden@db.invalid/app");
    let told = finish(command.spawn().unwrap(), "");
    assert!(told.err.contains("PGPASSWORD") && !told.err.contains("hidden"), "{}", told.err);
}

#[test]
fn the_tables_can_be_printed_for_an_administrator() {
    let printed = travertine(&["schema", "print", "--shards", "16"]);
    assert_eq!(printed.status, 0, "{}", printed.err);
    for text in
        ["CREATE SCHEMA IF NOT EXISTS travertine", "PARTITION BY HASH", "16 shards", "GRANT SELECT"]
    {
        assert!(printed.out.contains(text), "{text}");
    }
    let directory = travertine(&["schema", "check", "--store", "data"]);
    assert!(directory.status == 2 && directory.err.contains("postgres://"), "{}", directory.err);
}
