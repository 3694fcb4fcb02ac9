//! Named points at which a test can end the process, as a crash would.

/// All points, in the order in which work passes them.
pub const CRASH_POINTS: &[&str] = &[
    "claim.changed",
    "claim.committed",
    "append.begin",
    "append.inserted",
    "append.committed",
    "deploy.inserted",
    "deploy.committed",
    "undeploy.changed",
    "undeploy.committed",
    "checkpoint.changed",
    "checkpoint.committed",
    "fold.changed",
    "fold.committed",
    "wal.behind",
    "wal.finish",
    "wal.finished",
];

/// Kills the process here, where the environment asks for it: `TRAVERTINE_CRASH=name:n` means the nth
/// time that it comes to the point of this name. It does nothing unless the feature `crash-points` is on.
#[cfg(feature = "crash-points")]
pub fn crash_point(name: &str) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    };

    static PLAN: LazyLock<Option<(String, u64)>> = LazyLock::new(|| {
        let plan = std::env::var("TRAVERTINE_CRASH").ok()?;
        let (name, nth) = plan.split_once(':')?;
        Some((name.to_owned(), nth.parse().ok()?))
    });
    static PASSED: AtomicU64 = AtomicU64::new(0);

    debug_assert!(CRASH_POINTS.contains(&name), "{name} is not in the list");
    let Some((wanted, nth)) = PLAN.as_ref() else { return };
    if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *nth {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL)
            .expect("a process may kill itself");
        loop {
            std::thread::park();
        }
    }
}

/// Does nothing: the feature `crash-points` is off.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub fn crash_point(_name: &str) {}
