//! A PostgreSQL server for tests, which they start themselves.
//!
//! `TRAVERTINE_POSTGRES` is the URL of one that is there already, `off`, or `required`: then a test that finds none
//! fails. Otherwise a server is started from the newest installed package, on a socket in a temporary directory, and it
//! goes with the tests. Where none is installed they say so once and pass.

use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use travertine_store::postgres::check_schema;

/// How long a server may take to start before that is a failure.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server, and what is needed to start it again.
#[derive(Debug)]
pub struct Server {
    /// The URL up to the parameters.
    base: String,
    own: Option<Own>,
}

/// A server that was started here.
#[derive(Debug)]
struct Own {
    bin: PathBuf,
    dir: PathBuf,
    /// Whom it runs as, where this process is root: PostgreSQL refuses to.
    user: Option<(u32, u32)>,
    settings: Vec<&'static str>,
    process: Mutex<Option<Child>>,
    /// Takes the directory away, and the server, once this process is gone.
    reaper: Mutex<Child>,
}

/// The server that the tests of a process share, each with a schema of its own. It does not sync.
pub fn server() -> Option<&'static Server> {
    static SHARED: LazyLock<Option<Server>> = LazyLock::new(|| match wanted().as_deref() {
        Some("off") => None,
        Some("required") | None => Server::start(false),
        Some(url) => Some(Server { base: url.to_owned(), own: None }),
    });
    SHARED.as_ref().or_else(|| {
        missing();
        None
    })
}

/// A server of its own, for who stops and kills it. It syncs, as others do.
pub fn own_server() -> Option<Server> {
    if wanted().as_deref() == Some("off") {
        missing();
        return None;
    }
    Server::start(true).or_else(|| {
        missing();
        None
    })
}

fn wanted() -> Option<String> {
    env::var("TRAVERTINE_POSTGRES").ok().filter(|it| !it.is_empty())
}

/// Says once, so that nobody can miss it, that there is no server.
fn missing() {
    static SAID: LazyLock<()> = LazyLock::new(|| {
        let why = if wanted().as_deref() == Some("off") {
            "TRAVERTINE_POSTGRES is off"
        } else {
            "PostgreSQL is not installed (apt-get install postgresql)"
        };
        let line = format!("{why}: tests that need it are skipped\n");
        // Past what catches the words of tests.
        drop(std::io::stderr().write_all(line.as_bytes()));
    });
    assert_ne!(wanted().as_deref(), Some("required"), "there is no PostgreSQL to start");
    LazyLock::force(&SAID);
}

/// Where the newest package has its programs.
fn programs() -> Option<PathBuf> {
    let has = |it: &Path| it.join("postgres").exists() && it.join("initdb").exists();
    let packages = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = packages
        .filter_map(|it| {
            let version = it.file_name().to_str()?.parse().ok()?;
            let bin = it.path().join("bin");
            has(&bin).then_some((version, bin))
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|it| it.1);
    newest.or_else(|| env::split_paths(&env::var_os("PATH")?).find(|it| has(it)))
}

/// The number that a program prints.
fn number(program: &str, args: &[&str]) -> Option<u32> {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

impl Server {
    /// Starts one, where PostgreSQL is installed.
    fn start(durable: bool) -> Option<Self> {
        let bin = programs()?;
        let is_root = number("id", &["-u"]) == Some(0);
        let user = is_root.then(|| {
            let of =
                |name: &str| Some((number("id", &["-u", name])?, number("id", &["-g", name])?));
            of("postgres").or_else(|| of("nobody")).expect("there is somebody who is not root")
        });
        // The path of a socket has at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("tv-pg-").tempdir_in("/tmp").ok()?.keep();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).ok()?;
        if let Some((uid, gid)) = user {
            chown(&dir, Some(uid), Some(gid)).expect("root may give things away");
        }
        let settings: Vec<&'static str> = if durable {
            vec!["fsync=on"]
        } else {
            vec!["fsync=off", "synchronous_commit=on", "full_page_writes=off"]
        };
        let script = "trap '' INT TERM HUP; read -r _; kill -QUIT $(head -1 \"$1/data/postmaster.pid\" 2>/dev/null) \
             2>/dev/null; i=0; while [ -e \"$1/data/postmaster.pid\" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; \
             rm -rf \"$1\"";
        let reaper = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let base = format!(
            "postgres://travertine@{}/postgres",
            dir.display().to_string().replace('/', "%2F")
        );
        let own =
            Own { bin, dir, user, settings, process: Mutex::default(), reaper: Mutex::new(reaper) };
        let made = own
            .command("initdb")
            .arg("-D")
            .arg(own.dir.join("data"))
            .args(["-U", "travertine", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
            .output()
            .expect("initdb can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = Self { base, own: Some(own) };
        server.run();
        Some(server)
    }

    /// The URL of a schema that nobody else has.
    pub fn url(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let sign = if self.base.contains('?') { '&' } else { '?' };
        format!("{}{sign}schema=t_{}_{nth}", self.base, std::process::id())
    }

    /// The URL without a schema.
    pub fn base(&self) -> &str {
        &self.base
    }

    fn own(&self) -> &Own {
        self.own.as_ref().expect("only a server that was started here is stopped")
    }

    /// Runs it again after it was stopped.
    pub fn run(&self) {
        let own = self.own();
        let mut process = own.process.lock().unwrap_or_else(PoisonError::into_inner);
        let mut command = own.command("postgres");
        command.arg("-D").arg(own.dir.join("data")).arg("-k").arg(&own.dir);
        command.args([
            "-c",
            "listen_addresses=",
            "-c",
            "max_connections=200",
            "-c",
            "log_min_messages=panic",
        ]);
        for it in &own.settings {
            command.args(["-c", it]);
        }
        let began = Instant::now();
        loop {
            let mut child = command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("postgres can be run");
            while child.try_wait().expect("it is a child").is_none() {
                if check_schema(&format!("{}?schema=none", self.base)).is_ok() {
                    *process = Some(child);
                    return;
                }
                assert!(began.elapsed() < PATIENCE, "PostgreSQL does not start");
                thread::sleep(Duration::from_millis(20));
            }
            // Processes of the one that was killed may not be gone yet.
            assert!(began.elapsed() < PATIENCE, "PostgreSQL does not start");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills it: at once, or as an administrator who does not wait.
    pub fn kill(&self, signal: &str) {
        let mut process = self.own().process.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = process.take() else { return };
        let pid = child.id().to_string();
        let done = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(done.is_ok_and(|it| it.success()), "it can be killed");
        child.wait().expect("it is a child");
    }

    /// Does something as an administrator, and answers with the first column.
    pub fn sql(&self, text: &str) -> Vec<String> {
        self.session().sql(text)
    }

    /// A session of an administrator, who may hold on to something.
    pub fn session(&self) -> Session {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("there are threads");
        let made = runtime.block_on(tokio_postgres::connect(&self.base, tokio_postgres::NoTls));
        let (client, connection) = made.unwrap_or_else(|error| panic!("{error}"));
        runtime.spawn(connection);
        Session { runtime, client }
    }
}

/// A session of an administrator.
#[derive(Debug)]
pub struct Session {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Session {
    /// Does something, and answers with the first column.
    pub fn sql(&self, text: &str) -> Vec<String> {
        let done = self.runtime.block_on(self.client.simple_query(text));
        let rows = done.unwrap_or_else(|error| panic!("{text}: {error}"));
        rows.into_iter()
            .filter_map(|it| match it {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect()
    }

    /// Asks until there is an answer, and answers with that. Panics where none comes for long.
    pub fn until(&self, text: &str) -> Vec<String> {
        let began = Instant::now();
        loop {
            let found = self.sql(text);
            if !found.is_empty() {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "nothing comes of {text}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Own {
    /// One of its programs, as somebody who is not root.
    fn command(&self, program: &str) -> Command {
        let program = self.bin.join(program);
        let mut command = if let Some((uid, gid)) = self.user {
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={uid}"), &format!("--regid={gid}"), "--clear-groups"]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.dir).env("LC_ALL", "C");
        command
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let reaper = self.reaper.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(reaper.stdin.take());
        drop(reaper.wait());
        if let Some(child) = self.process.get_mut().unwrap_or_else(PoisonError::into_inner) {
            drop(child.wait());
        }
    }
}
