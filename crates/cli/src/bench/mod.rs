//! `travertine bench`: what an engine can do on this machine, for how long.

mod load;
mod plot;
mod soak;

use crate::{
    args::bench::{Bench, Load, Soak, What},
    place,
    screen::Screen,
    status::Status,
};

/// Measures what was asked for.
pub(crate) fn bench(args: &Bench, out: &Screen) -> anyhow::Result<Status> {
    let (What::Soak(Soak { data, .. }) | What::Load(Load { data, .. })) = &args.what;
    if place::is_url(data) {
        anyhow::bail!("a bench makes a store in a directory, and knows no URL");
    }
    match &args.what {
        What::Soak(soak) => soak::soak(soak, out),
        What::Load(load) => load::load(load, out),
    }
}

/// What one second was like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Second {
    /// Instances that were started in it.
    started: u64,
    /// Instances that ended in it.
    ended: u64,
    /// How long starting one took, from asking to its being durable, in microseconds: half of them.
    p50: u64,
    /// All but one of a hundred.
    p99: u64,
    /// Bytes of memory.
    memory: u64,
    /// Bytes on disk.
    disk: u64,
}

impl Second {
    fn line(&self) -> String {
        let Self { started, ended, p50, p99, memory, disk } = self;
        format!("{started},{ended},{p50},{p99},{memory},{disk}")
    }

    fn read(line: &str) -> Option<Self> {
        let numbers: Result<Vec<u64>, _> = line.split(',').map(str::parse).collect();
        let [started, ended, p50, p99, memory, disk] = numbers.ok()?.try_into().ok()?;
        Some(Self { started, ended, p50, p99, memory, disk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_read_as_it_was_written() {
        let second = Second { started: 1, ended: 2, p50: 3, p99: 4, memory: 5, disk: 6 };
        assert_eq!(Second::read(&second.line()), Some(second));
        assert_eq!(Second::read("1,2"), None);
    }
}
