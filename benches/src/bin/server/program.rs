//! What the program `travertine serve` does and needs: while very many wait for jobs, under more load than it can take,
//! and when it begins.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use http::Method;
use tokio::{runtime::Runtime, sync::mpsc, task::JoinSet, time::sleep};
use tonic::{
    Code,
    transport::{Channel, Endpoint},
};
use travertine_benches::disk::{Outcome, median, rate, say, scaled};

use super::{
    AT_ONCE, CHANNELS, Fault, MODEL, answered, connected, create_all, create_message,
    gateway::{
        ActivateJobsRequest, CompleteJobRequest, StreamActivatedJobsRequest,
        gateway_client::GatewayClient,
    },
    plain, request,
};

/// How many wait for jobs, and how many of them by polls that end and by streams.
const POLLS: usize = 10_000;
const STREAMS: usize = 1_000;

/// How many of them a connection carries: fewer than a server allows.
const PER_CONNECTION: usize = 180;

/// How many requests the server takes at once where nobody sets it.
const REQUESTS: usize = 4_096;

/// How many times as many are under way as it takes.
const TIMES: usize = 3;

/// How long there is more than it can take.
const LONG: Duration = Duration::from_mins(1);

/// The program that was built beside this one.
struct Serve {
    child: Child,
    rest: SocketAddr,
    manage: SocketAddr,
    /// How long it took to be ready.
    took: Duration,
}

impl Serve {
    fn on(data: &Path) -> Outcome<Self> {
        let program = env::current_exe()?.with_file_name("travertine");
        if !program.exists() {
            let name = program.display();
            return Err(format!("{name} is not there: build travertine-cli, too").into());
        }
        let model = data.with_extension("bpmn");
        fs::write(&model, MODEL)?;
        let any = "127.0.0.1:0";
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--listen", any, "--grpc-listen", "off", "--manage", any])
            .arg("--data")
            .arg(data)
            .arg("--deploy")
            .arg(model)
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("it has a standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let (mut rest, mut manage) = (None, None);
        while rest.is_none() || manage.is_none() {
            let line = lines.next().ok_or("it ends at once")??;
            let address = line.split_once("://").and_then(|(_, it)| it.split('/').next());
            let address = address.and_then(|it| it.parse().ok());
            if line.contains("REST") {
                rest = address;
            } else if line.contains("health") {
                manage = address;
            }
        }
        thread::spawn(move || lines.for_each(drop));
        let (Some(rest), Some(manage)) = (rest, manage) else { return Err("it says where".into()) };
        let mut serve = Self { child, rest, manage, took: Duration::ZERO };
        runtime()?
            .block_on(async {
                let mut sender = connected(manage).await?;
                answered(&mut sender, request(manage, Method::GET, "/health/ready", "".into())?)
                    .await
            })
            .map_err(plain)?;
        serve.took = began.elapsed();
        Ok(serve)
    }

    /// The memory that it has, in bytes.
    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let pages = fs::read_to_string(path).unwrap_or_default();
        let pages: u64 = pages.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        pages * 4096
    }

    async fn client(&self) -> Result<GatewayClient<Channel>, Fault> {
        let at = Endpoint::from_shared(format!("http://{}", self.rest))?.tcp_nodelay(true);
        Ok(GatewayClient::new(at.connect().await?))
    }

    /// Waits until so many have a place of that kind.
    async fn has(&self, kind: &str, count: usize) -> Result<(), Fault> {
        let line = format!("travertine_{kind}_now {count}\n");
        let mut sender = connected(self.manage).await?;
        loop {
            let asked = request(self.manage, Method::GET, "/metrics", "".into())?;
            let metrics = answered(&mut sender, asked).await?;
            if String::from_utf8_lossy(&metrics).contains(&line) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn runtime() -> Outcome<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

#[expect(clippy::cast_precision_loss, reason = "a size that people read")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn millis(it: Duration) -> f64 {
    it.as_secs_f64() * 1e3
}

// ---- Begin

pub(super) fn begin(dir: &Path) -> Outcome {
    let (mut took, mut held) = (Vec::new(), Vec::new());
    for nth in 0..5 {
        let serve = Serve::on(&dir.join(format!("begin-{nth}")))?;
        thread::sleep(Duration::from_secs(1));
        took.push(millis(serve.took));
        held.push(mib(serve.resident()));
    }
    let (took, held) = (median(took), median(held));
    say(&format!("serve, empty store             ready in {took:.0} ms, {held:.0} MiB while idle"));
    Ok(())
}

// ---- Waiting

/// One after the other, creates instances and waits for their jobs. How long each took until then.
async fn one_by_one(
    serve: &Serve,
    jobs: &mut mpsc::UnboundedReceiver<i64>,
    count: usize,
) -> Result<f64, Fault> {
    let mut client = serve.client().await?;
    let mut all = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        client.create_process_instance(create_message()).await?;
        let job = jobs.recv().await.ok_or("nobody waits any more")?;
        all.push(millis(began.elapsed()));
        let it = CompleteJobRequest { job_key: job, variables: "{}".to_owned() };
        client.complete_job(it).await?;
    }
    Ok(median(all))
}

async fn streams(
    mut client: GatewayClient<Channel>,
    got: mpsc::UnboundedSender<i64>,
) -> Result<(), Fault> {
    let asked = StreamActivatedJobsRequest {
        r#type: "work".to_owned(),
        worker: "bench".to_owned(),
        timeout: 600_000,
        ..StreamActivatedJobsRequest::default()
    };
    let mut jobs = client.stream_activated_jobs(asked).await?.into_inner();
    while let Some(job) = jobs.message().await? {
        got.send(job.key)?;
    }
    Ok(())
}

async fn polls(
    mut client: GatewayClient<Channel>,
    got: mpsc::UnboundedSender<i64>,
) -> Result<(), Fault> {
    loop {
        let asked = ActivateJobsRequest {
            r#type: "work".to_owned(),
            worker: "bench".to_owned(),
            timeout: 600_000,
            max_jobs_to_activate: 1,
            request_timeout: 600_000,
            ..ActivateJobsRequest::default()
        };
        let mut answers = client.activate_jobs(asked).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            for job in answer.jobs {
                got.send(job.key)?;
            }
        }
    }
}

pub(super) fn waiting(dir: &Path) -> Outcome {
    let runtime = runtime()?;
    let jobs = scaled(300);
    let alone = {
        let serve = Serve::on(&dir.join("alone"))?;
        let (send, mut receive) = mpsc::unbounded_channel();
        let alone = runtime.block_on(async {
            tokio::spawn(streams(serve.client().await?, send));
            one_by_one(&serve, &mut receive, jobs).await
        });
        alone.map_err(plain)?
    };
    let serve = Serve::on(&dir.join("waiting"))?;
    let before = serve.resident();
    let (send, mut receive) = mpsc::unbounded_channel();
    let (poll_count, stream_count) = (scaled(POLLS), scaled(STREAMS));
    let (beside, held) = runtime
        .block_on(async {
            let mut client = serve.client().await?;
            for nth in 0..poll_count + stream_count {
                if nth % PER_CONNECTION == 0 {
                    client = serve.client().await?;
                }
                let (client, send) = (client.clone(), send.clone());
                if nth < poll_count {
                    tokio::spawn(polls(client, send));
                } else {
                    tokio::spawn(streams(client, send));
                }
            }
            serve.has("polls", poll_count).await?;
            serve.has("streams", stream_count).await?;
            let held = serve.resident().saturating_sub(before);
            Ok::<_, Fault>((one_by_one(&serve, &mut receive, jobs).await?, held))
        })
        .map_err(plain)?;
    say(&format!(
        "{poll_count} polls and {stream_count} streams wait {:.0} MiB; a job comes in {beside:.2} ms, to a stream alone \
         in {alone:.2} ms, ratio {:.2}",
        mib(held),
        beside / alone
    ));
    runtime.shutdown_background();
    Ok(())
}

// ---- Overload

/// What came of requests.
#[derive(Default)]
struct Came {
    done: AtomicUsize,
    refused: AtomicUsize,
    ends: AtomicBool,
    /// How long refusals took.
    took: Mutex<Vec<Duration>>,
}

pub(super) fn overload(dir: &Path) -> Outcome {
    let runtime = runtime()?;
    let serve = Serve::on(&dir.join("overload"))?;
    let count = scaled(60_000);
    let best = runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..CHANNELS {
            clients.push(serve.client().await?);
        }
        let began = Instant::now();
        create_all(&clients, count).await?;
        Ok::<_, Fault>(rate(count / AT_ONCE * AT_ONCE, began.elapsed()))
    });
    let best = best.map_err(plain)?;
    let under_way = TIMES * REQUESTS;
    let came = Arc::new(Came::default());
    let long = if scaled(1_000) < 1_000 { LONG / 20 } else { LONG };
    let mut held = Vec::new();
    let took = runtime
        .block_on(async {
            let mut tasks = JoinSet::new();
            let mut client = serve.client().await?;
            for nth in 0..under_way {
                if nth % PER_CONNECTION == 0 {
                    client = serve.client().await?;
                }
                tasks.spawn(creates(client.clone(), Arc::clone(&came)));
            }
            let began = Instant::now();
            for _ in 0..6 {
                sleep(long / 6).await;
                held.push(serve.resident());
            }
            came.ends.store(true, Ordering::Relaxed);
            let took = began.elapsed();
            while let Some(done) = tasks.join_next().await {
                done??;
            }
            Ok::<_, Fault>(took)
        })
        .map_err(plain)?;
    let (done, refused) = (came.done.load(Ordering::Relaxed), came.refused.load(Ordering::Relaxed));
    let mut late = came.took.lock().unwrap_or_else(PoisonError::into_inner).clone();
    late.sort();
    let late = late.get(late.len() * 99 / 100).copied().unwrap_or_default();
    let reached = rate(done, took);
    let held: Vec<String> = held.iter().map(|it| format!("{:.0}", mib(*it))).collect();
    say(&format!(
        "{under_way} creates under way {reached:.0}/s, {AT_ONCE} {best:.0}/s, ratio {:.2}; {refused} refused, p99 {:.0} ms; \
         MiB {}",
        reached / best,
        millis(late),
        held.join(", ")
    ));
    runtime.shutdown_background();
    Ok(())
}

/// Creates instances until all is over, and tries again a little later what is refused.
async fn creates(mut client: GatewayClient<Channel>, came: Arc<Came>) -> Result<(), Fault> {
    while !came.ends.load(Ordering::Relaxed) {
        let began = Instant::now();
        match client.create_process_instance(create_message()).await {
            Ok(_) => drop(came.done.fetch_add(1, Ordering::Relaxed)),
            Err(status) if status.code() == Code::ResourceExhausted => {
                let took = began.elapsed();
                came.refused.fetch_add(1, Ordering::Relaxed);
                came.took.lock().unwrap_or_else(PoisonError::into_inner).push(took);
                sleep(PAUSE).await;
            }
            Err(status) => return Err(status.into()),
        }
    }
    Ok(())
}

/// How long a client waits that was refused.
const PAUSE: Duration = Duration::from_millis(100);
