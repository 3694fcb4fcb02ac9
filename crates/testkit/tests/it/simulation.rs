//! The whole runtime with a faulty store, for a hundred seeds.
//!
//! `cargo run --release -p travertine-testkit --bin simulate -- --seeds 10000` looks harder.

use travertine_testkit::simulation::{Figures, simulate};

const SEEDS: u64 = 100;

#[test]
fn nothing_acknowledged_is_lost_or_done_twice() {
    let mut figures = Figures::default();
    for seed in 0..SEEDS {
        match simulate(seed, 400) {
            Ok(it) => figures.add(&it),
            Err(broken) => panic!("{}\n{broken}", broken.trace.join("\n")),
        }
    }
    println!("{figures}");
    // A simulation in which nothing goes wrong proves nothing.
    let Figures { acknowledged, crashes, takeovers, faults, mails, checkpoints, .. } = figures;
    let least = [acknowledged, crashes, takeovers, faults, mails, checkpoints].into_iter().min();
    assert!(least >= Some(SEEDS), "{figures}");
    assert!(figures.claimed_again > 0 && figures.lost > 0, "{figures}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let figures = |seed| simulate(seed, 300).expect("no promise is broken");
    assert_eq!(figures(42), figures(42));
    assert_ne!(figures(42), figures(43));
}
