//! `travertine serve`.

use std::{
    env, fs,
    fs::File as OsFile,
    future::Future,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result, bail};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};
use travertine_runtime::{
    Engine, Error,
    engine::{Clock, File},
};
use travertine_server::{Addresses, ApiKey, Config, Password, Reload, Server};

use crate::{
    args::serve::Serve,
    control::{Control, Lookers},
    files::Models,
    place,
    screen::Screen,
    status::Status,
    store::{self, Told},
};

/// The process that `--sample` deploys.
const SAMPLE: &str = include_str!("serve/hello.bpmn");

/// The file that is read where it is there, and no other is named.
const CONFIG: &str = "travertine.toml";

/// The file of accounts, in the directory of a store.
pub(crate) const ACCOUNTS: &str = "server.db";

pub(crate) fn serve(args: &Serve, out: &Screen, err: &Screen) -> Result<Status> {
    if args.hash_password {
        return hash_password(out);
    }
    if let Some(id) = &args.new_key {
        return new_key(id, out);
    }
    let config = configured(args)?;
    if args.print_config {
        out.raw(config.to_toml());
        return Ok(Status::Done);
    }
    if args.check_config {
        out.line("the configuration is right");
        return Ok(Status::Done);
    }
    travertine_server::log(config.log, config.log_json);
    run(args, config, err)
}

/// What flags, environment and file say together.
fn configured(args: &Serve) -> Result<Config> {
    // People write no 0: it says that nobody has said it.
    let mut config = Config::default();
    config.shards = 0;
    let file = args.config.as_deref().or_else(|| {
        let there = Path::new(CONFIG);
        there.exists().then_some(there)
    });
    if let Some(file) = file {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
        config.read_toml(&text, &name)?;
    }
    config.read_env(|name| env::var(name).ok())?;
    let data = args.data.as_ref().map(|it| it.display().to_string());
    let flags = [
        ("store.data", "--data", &data),
        ("listen.rest", "--listen", &args.listen),
        ("listen.grpc", "--grpc-listen", &args.grpc_listen),
        ("listen.manage", "--manage", &args.manage),
    ];
    for (key, flag, value) in flags {
        if let Some(value) = value {
            config.set(key, value, flag)?;
        }
    }
    for pair in &args.set {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("--set {pair}: write KEY=VALUE, such as limits.body=32MiB");
        };
        config.set(key, value, "--set")?;
    }
    config.options.hosts.extend(args.hosts.iter().cloned());
    config.options.insecure |= args.insecure;
    place::check(&config.data)?;
    if config.shards == 0 {
        config.shards = place::shards(&config.data, None);
    }
    Ok(config.complete()?)
}

fn run(args: &Serve, config: Config, err: &Screen) -> Result<Status> {
    let Config { data, shards, history, mut options, .. } = config;
    let files = place::local_made(&data)
        .with_context(|| format!("cannot make the directory of {}", data.display()))?;
    options.accounts = Some(files.join(ACCOUNTS));
    options.directory = Some(files);
    let mut files = Models::read(&args.deploy)?.files();
    if args.sample {
        files.push(File { name: "hello.bpmn".to_owned(), body: SAMPLE.into() });
    }
    let is_tls = options.tls.is_some();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let lookers = Lookers::default();
    options.test_clock = args.test_clock.then(Arc::default);
    let clock = options.test_clock.clone().map(|it| it as Arc<dyn Clock>);
    let open = || store::serve(&data, shards, history, lookers.observer(), clock.clone());
    let engine = store::patiently(open)?;
    let served = deploy(&engine, &files, &data, err).and_then(|status| {
        if status == Status::Done {
            runtime.block_on(async {
                let listening = Server::new(engine.clone(), options).bind().await?;
                let at = listening.addresses();
                let address = address(&at, is_tls);
                let _control = Control::begin_told(&data, &engine, &lookers, address, err);
                greet(&at, &data, is_tls, err);
                if listening.is_open()
                    && at.rest.iter().chain(&at.grpc).any(|it| !it.ip().is_loopback())
                {
                    let warning = err.paint.red("warning:");
                    err.line(format!(
                        "{warning} everybody who can reach this machine can do everything"
                    ));
                }
                if args.test_clock {
                    let warning = err.paint.red("warning:");
                    err.line(format!(
                        "{warning} clients can set the clock, which is for tests only"
                    ));
                }
                if args.sample {
                    try_sample(&at, is_tls, err);
                }
                let asked = asked_to_end(args.clone(), listening.reload(), err.clone())?;
                listening.serve(asked).await.map_err(anyhow::Error::from)
            })?;
        }
        Ok(status)
    });
    // What still waits for something must not keep the store open.
    runtime.shutdown_background();
    let closed = engine.clone().shutdown();
    let status = served?;
    closed.map_err(|error| Told::of(&error, &data, Some(&engine), false))?;
    Ok(status)
}

fn deploy(engine: &Engine, files: &[File], data: &Path, err: &Screen) -> Result<Status> {
    if files.is_empty() {
        return Ok(Status::Done);
    }
    match engine.deploy(files) {
        Ok(_) => Ok(Status::Done),
        Err(Error::Refused { diagnostics }) => {
            for it in &diagnostics {
                err.line(it);
            }
            Ok(Status::Rejected)
        }
        Err(error) => Err(Told::of(&error, data, Some(engine), false)),
    }
}

/// Where a client on this machine reaches the REST protocol.
fn address(at: &Addresses, is_tls: bool) -> Option<String> {
    let scheme = if is_tls { "https" } else { "http" };
    let mut first = *at.rest.first()?;
    if first.ip().is_unspecified() {
        let loopback =
            if first.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        first.set_ip(loopback);
    }
    Some(format!("{scheme}://{first}"))
}

/// Says where to find what.
fn greet(at: &Addresses, data: &Path, is_tls: bool, err: &Screen) {
    let scheme = if is_tls { "https" } else { "http" };
    let list = |scheme: &str, all: &[SocketAddr]| {
        let all: Vec<String> = all.iter().map(|it| format!("{scheme}://{it}")).collect();
        all.join(", ")
    };
    err.line(format!("serving {}; Ctrl-C ends it", data.display()));
    err.line(format!("  page    {}/ui/", list(scheme, &at.rest)));
    err.line(format!("  REST    {}/v2", list(scheme, &at.rest)));
    let grpc = if at.grpc.is_empty() { &at.rest } else { &at.grpc };
    err.line(format!("  gRPC    {}", list(if is_tls { "grpcs" } else { "grpc" }, grpc)));
    if !at.manage.is_empty() {
        err.line(format!("  health  {}/health/ready, and /metrics", list("http", &at.manage)));
    }
    if let Some(first) = at.rest.first() {
        err.line(err.paint.dim(format!("  try     curl {scheme}://{first}/v2/topology")));
    }
}

/// Says what can be done with the sample.
fn try_sample(at: &Addresses, is_tls: bool, err: &Screen) {
    let Some(first) = at.rest.first() else { return };
    let scheme = if is_tls { "https" } else { "http" };
    err.line(err.paint.dim(format!(
        "  start   curl {scheme}://{first}/v2/process-instances --json \
         '{{\"processDefinitionId\": \"hello\", \"variables\": {{\"name\": \"Ann\"}}}}'"
    )));
}

/// Answers when Ctrl-C or SIGTERM comes. The next one ends the process at once, which loses nothing. SIGHUP has the
/// configuration read again.
fn asked_to_end(
    args: Serve,
    reload: Reload,
    err: Screen,
) -> Result<impl Future<Output = ()> + Send> {
    let (first, asked) = oneshot::channel();
    let heard = "signals cannot be heard";
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context(heard)?;
    let hears = |kind| {
        let _here = runtime.enter();
        signal(kind).context(heard)
    };
    let mut hang_up = hears(SignalKind::hangup())?;
    let mut interrupt = hears(SignalKind::interrupt())?;
    let mut terminate = hears(SignalKind::terminate())?;
    let had_terminal = has_terminal();
    let hear = async move {
        let mut first = Some(first);
        loop {
            let hung_up = tokio::select! {
                _ = hang_up.recv() => true,
                _ = interrupt.recv() => false,
                _ = terminate.recv() => false,
            };
            // The same signal says that the terminal is closed.
            if hung_up && has_terminal() == had_terminal {
                match read_again(&args, &reload) {
                    Ok(()) => err.line("the configuration was read again"),
                    Err(error) => err.line(format!("the configuration stays as it was: {error:#}")),
                }
                continue;
            }
            match first.take() {
                // Whoever hears it may be gone.
                Some(first) => drop(first.send(())),
                None => end_now(),
            }
        }
    };
    // A thread of its own hears them also while the others end.
    let hearing = thread::Builder::new().name("signals".to_owned());
    hearing.spawn(move || runtime.block_on(hear)).context(heard)?;
    Ok(async {
        let _: Result<(), oneshot::error::RecvError> = asked.await;
    })
}

/// Whether there is a terminal that keys are pressed at.
fn has_terminal() -> bool {
    OsFile::open("/dev/tty").is_ok()
}

/// Certificates, logins and rates are those that the configuration says now.
fn read_again(args: &Serve, reload: &Reload) -> Result<()> {
    Ok(reload.apply(&configured(args)?.options)?)
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait")]
fn end_now() {
    std::process::exit(Status::Interrupted.code().into());
}

fn hash_password(out: &Screen) -> Result<Status> {
    let mut password = String::new();
    io::stdin().read_line(&mut password).context("cannot read the password")?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        bail!("the password is empty");
    }
    out.line(Password::hash(password));
    Ok(Status::Done)
}

fn new_key(id: &str, out: &Screen) -> Result<Status> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
    if id.is_empty() || id.len() > 64 || !id.chars().all(is_plain) {
        bail!("the id of a key has letters, digits and hyphens only");
    }
    let (key, text) = ApiKey::draw(id);
    out.line(format!("the key, which is shown only now: {text}"));
    out.line("the lines for the configuration:");
    out.line("[access.keys]");
    out.line(format!("{id} = \"{key}\""));
    Ok(Status::Done)
}
