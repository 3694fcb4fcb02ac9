//! Kills and starts a process under load, and writes down how it goes.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{Second, plot};
use crate::{args::bench::Soak, screen::Screen, status::Status};

/// A second, and how far into the run it ended.
#[derive(Debug)]
struct Sample {
    at: Duration,
    round: usize,
    second: Second,
}

pub(super) fn soak(args: &Soak, out: &Screen) -> anyhow::Result<Status> {
    let store = args.data.join("store");
    fs::create_dir_all(&store).with_context(|| format!("cannot make {}", store.display()))?;
    let began = Instant::now();
    let mut samples = Vec::new();
    let mut opened = Vec::new();
    out.line("round  opens in   started/s   ended/s   p50       p99       memory    disk");
    while began.elapsed() < args.time {
        let round = opened.len();
        let left = args.time.saturating_sub(began.elapsed()).min(args.kill_every);
        opened.push(run(args, &store, began, round, left, &mut samples)?);
        out.line(row(round, opened[round], &samples));
        out.finish()?;
    }
    let csv = args.data.join("soak.csv");
    let svg = args.data.join("soak.svg");
    fs::write(&csv, table(&samples)).with_context(|| format!("cannot write {}", csv.display()))?;
    fs::write(&svg, picture(&samples))
        .with_context(|| format!("cannot write {}", svg.display()))?;
    let kills = opened.len();
    out.line(format!("killed {kills} times; see {} and {}", csv.display(), svg.display()));
    Ok(Status::Done)
}

/// Starts the process, lets it run for so long once it has opened, and kills it. Answers how long it took to
/// open.
fn run(
    args: &Soak,
    store: &Path,
    began: Instant,
    round: usize,
    span: Duration,
    samples: &mut Vec<Sample>,
) -> anyhow::Result<Duration> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut child = Command::new(program)
        .args(["bench", "load", "--rate", &args.rate.to_string()])
        .args(["--keep", &format!("{}ms", args.keep.as_millis())])
        .arg("--data")
        .arg(store)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process")?;
    let lines = listen(&mut child);
    let start = Instant::now();
    // The first line says that it is open. Where it ends before that, there is no second one.
    let opened = lines.recv().map(|_| start.elapsed()).unwrap_or_default();
    let end = loop {
        match lines.recv_timeout((opened + span).saturating_sub(start.elapsed())) {
            Ok(line) => {
                let second = Second::read(&line).with_context(|| format!("it said: {line}"))?;
                samples.push(Sample { at: began.elapsed(), round, second });
            }
            Err(RecvTimeoutError::Timeout) => break Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                break Err(anyhow::anyhow!("the process has ended by itself"));
            }
        }
    };
    child.kill().context("cannot kill the process")?;
    child.wait().context("cannot wait for the process")?;
    end.map(|()| opened)
}

fn listen(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let out = child.stdout.take().expect("it was asked for");
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The means of a round, and its worst latency.
fn row(round: usize, opened: Duration, samples: &[Sample]) -> String {
    let seconds: Vec<&Second> =
        samples.iter().filter(|it| it.round == round).map(|it| &it.second).collect();
    let count = (seconds.len() as u64).max(1);
    let mean = |of: fn(&Second) -> u64| seconds.iter().map(|it| of(it)).sum::<u64>() / count;
    let worst = seconds.iter().map(|it| it.p99).max().unwrap_or(0);
    format!(
        "{round:>5}  {:>5} ms   {:>9}   {:>7}   {:>4}.{} ms  {:>5}.{} ms  {:>4} MiB  {:>4} MiB",
        opened.as_millis(),
        mean(|it| it.started),
        mean(|it| it.ended),
        mean(|it| it.p50) / 1_000,
        mean(|it| it.p50) % 1_000 / 100,
        worst / 1_000,
        worst % 1_000 / 100,
        mean(|it| it.memory) >> 20,
        mean(|it| it.disk) >> 20,
    )
}

fn table(samples: &[Sample]) -> String {
    let mut text = "ms,round,started,ended,p50_us,p99_us,memory_bytes,disk_bytes\n".to_owned();
    for Sample { at, round, second } in samples {
        let written = writeln!(text, "{},{round},{}", at.as_millis(), second.line());
        written.expect("a string takes everything");
    }
    text
}

fn picture(samples: &[Sample]) -> String {
    let line = |name: &'static str, unit: &'static str, of: fn(&Second) -> f64| plot::Line {
        name,
        unit,
        points: samples.iter().map(|it| (it.at.as_secs_f64(), of(&it.second))).collect(),
    };
    let kills: Vec<f64> = samples
        .windows(2)
        .filter(|pair| pair[0].round != pair[1].round)
        .map(|pair| pair[0].at.as_secs_f64())
        .collect();
    plot::draw(
        &[
            line("started", "/s", |it| number(it.started)),
            line("ended", "/s", |it| number(it.ended)),
            line("p50", "ms", |it| number(it.p50) / 1_000.0),
            line("p99", "ms", |it| number(it.p99) / 1_000.0),
            line("memory", "MiB", |it| number(it.memory >> 10) / 1_024.0),
            line("disk", "MiB", |it| number(it.disk >> 10) / 1_024.0),
        ],
        &kills,
    )
}

fn number(it: u64) -> f64 {
    f64::from(u32::try_from(it).unwrap_or(u32::MAX))
}
