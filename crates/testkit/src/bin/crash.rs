//! Kills an engine under load, again and again, and checks what is left:
//! `crash [answers] [--kills N] [--seed N] [--each N] [--dir DIR]`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what it is for")]

use std::{env, fs, io, path::Path, process::ExitCode};

use travertine_runtime::request::Kind;
use travertine_store::CRASH_POINTS;
use travertine_testkit::crash::{
    Act, Drive, Kill, Random,
    answers::{self, End, Fate, Place, place},
    load,
};

const USAGE: &str = "usage: crash [answers] [OPTION]…

With `answers`, each kind of request is held to what it answers; otherwise instances to what they were asked for.

  --kills N   how many processes are killed; 300 where nothing is said
  --seed N    what the load and the moments depend on; 1 where nothing is said
  --each N    how many kills a store sees before all of it must come to an end; 25 where nothing is said
  --dir DIR   where the stores are, of which those with something wrong are left there";

struct Arguments {
    kills: u64,
    seed: u64,
    each: u64,
    dir: String,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["load", dir, seed, first, now, body, ref again @ ..] = words[..] {
        return under_load(dir, seed, first, now, body, again);
    }
    if let ["asks", dir, ref numbers @ ..] = words[..] {
        return under_asks(dir, numbers);
    }
    let (options, run): (_, fn(&Arguments) -> io::Result<bool>) = match &words[..] {
        ["answers", options @ ..] => (options, run_answers),
        options => (options, run),
    };
    let Some(arguments) = parse(options) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn under_load(
    dir: &str,
    seed: &str,
    first: &str,
    now: &str,
    body: &str,
    again: &[&str],
) -> ExitCode {
    let (Ok(seed), Ok(first), Ok(now), Ok(body)) =
        (seed.parse(), first.parse(), now.parse(), body.parse())
    else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let again = again.iter().filter_map(|it| Act::read(&it.split(' ').collect::<Vec<_>>()));
    let again: Vec<Act> = again.collect();
    match load(Path::new(dir), seed, first, now, 100_000, body, &again) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("wrong: {error}");
            ExitCode::FAILURE
        }
    }
}

fn under_asks(dir: &str, numbers: &[&str]) -> ExitCode {
    let numbers: Vec<u64> = numbers.iter().filter_map(|it| it.parse().ok()).collect();
    let [seed, first, close_after, body] = numbers[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match answers::load(Path::new(dir), seed, first, close_after, body) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("wrong: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[&str]) -> Option<Arguments> {
    let dir = env::temp_dir().join(format!("travertine-crash-{}", std::process::id()));
    let mut it = Arguments { kills: 300, seed: 1, each: 25, dir: dir.display().to_string() };
    for pair in words.chunks(2) {
        match *pair {
            ["--kills", n] => it.kills = n.parse().ok()?,
            ["--seed", n] => it.seed = n.parse().ok()?,
            ["--each", n] => it.each = n.parse().ok().filter(|it| *it > 0)?,
            ["--dir", dir] => dir.clone_into(&mut it.dir),
            _ => return None,
        }
    }
    Some(it)
}

fn run(arguments: &Arguments) -> io::Result<bool> {
    let process = env::current_exe()?;
    let mut random = Random(arguments.seed);
    let mut points = CRASH_POINTS.iter().cycle();
    let (mut kills, mut acknowledged, mut fine) = (0, 0, true);
    let mut store = 0;
    while kills < arguments.kills {
        store += 1;
        let dir = Path::new(&arguments.dir).join(store.to_string());
        if dir.exists() {
            return Err(io::Error::other(format!("{} is there already", dir.display())));
        }
        fs::create_dir_all(&dir)?;
        let mut drive = Drive::new(&process, &dir, random.below(u64::MAX));
        // The journal is moved only when it has grown.
        drive.body = if store % 4 == 0 { 100_000 } else { 10 };
        let mut wrong = Vec::new();
        for _ in 0..arguments.each.min(arguments.kills - kills) {
            let kill = match (random.below(3), points.next()) {
                (0, Some(point)) => Kill::At(point, 1 + random.below(3), 1_500),
                _ => Drive::any(&mut random),
            };
            drive.kill(&kill)?;
            if random.below(3) > 0 {
                wrong = drive.check();
            }
            if !wrong.is_empty() {
                println!("store {store}: after {kill:?}");
                break;
            }
        }
        if wrong.is_empty() {
            wrong = drive.settle();
        }
        kills += drive.kills;
        acknowledged += drive.ledger.acknowledged;
        println!(
            "store {store}: {kills} kills, {acknowledged} acknowledged, {} wrong",
            wrong.len()
        );
        wrong.iter().take(20).for_each(|it| println!("  {it}"));
        if wrong.is_empty() {
            fs::remove_dir_all(&dir)?;
        } else {
            fine = false;
        }
    }
    Ok(fine)
}

/// Ends processes in all ways, and says how often each kind of request was answered how.
fn run_answers(arguments: &Arguments) -> io::Result<bool> {
    let process = env::current_exe()?;
    let mut random = Random(arguments.seed);
    let mut points = CRASH_POINTS.iter().cycle();
    let (mut ends, mut fine, mut store) = (0, true, 0);
    let mut counts = vec![[0; 3]; Kind::ALL.len()];
    while ends < arguments.kills {
        store += 1;
        let dir = Path::new(&arguments.dir).join(store.to_string());
        fs::create_dir_all(&dir)?;
        let mut drive = answers::Drive::new(&process, &dir, random.below(u64::MAX));
        // The journal is moved only when it has grown.
        drive.body = if store % 4 == 0 { 100_000 } else { 10 };
        let mut wrong = Vec::new();
        for _ in 0..arguments.each.min(arguments.kills - ends) {
            let end = match (random.below(4), points.next()) {
                (0, Some(point)) => End::Kill(Kill::At(point, 1 + random.below(20), 1_500)),
                (1, _) => End::Close(1 + random.below(300)),
                _ => End::Kill(Drive::any(&mut random)),
            };
            drive.end(&end)?;
            ends += 1;
            wrong = drive.check();
            if !wrong.is_empty() {
                println!("store {store}: after {end:?}");
                break;
            }
        }
        println!(
            "store {store}: {ends} ends, {} asked, {} wrong",
            drive.ledger.asked.len(),
            wrong.len()
        );
        wrong.iter().take(20).for_each(|it| println!("  {it}"));
        for (kind, count) in Kind::ALL.into_iter().zip(&mut counts) {
            for (fate, count) in [Fate::Done, Fate::NotDone, Fate::Unknown].into_iter().zip(count) {
                *count += drive.ledger.count(kind, fate);
            }
        }
        if wrong.is_empty() {
            fs::remove_dir_all(&dir)?;
        } else {
            fine = false;
        }
    }
    for (kind, [done, not_done, unknown]) in Kind::ALL.into_iter().zip(counts) {
        if let Place::Asked(_) = place(kind) {
            println!("{}: {done} done, {not_done} not done, {unknown} unknown", kind.name());
        }
    }
    Ok(fine)
}
