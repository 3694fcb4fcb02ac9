//! The example goes on after it was killed.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

const ORDERS: usize = 40;

fn run(dir: &Path, kill_after: usize) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_embedded-order"))
        .arg(dir)
        .arg(ORDERS.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example starts");
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("it was asked for")).lines() {
        said.push(line.expect("it says words"));
        if said.len() == kill_after {
            child.kill().expect("it can be killed");
        }
    }
    let status = child.wait().expect("it ends");
    assert!(status.success() || said.len() >= kill_after, "{said:?}");
    said
}

#[test]
fn orders_go_on_after_a_kill_and_are_taken_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut instances: Vec<String> = Vec::new();
    for kill_after in [7, 45, 70] {
        instances.extend(run(dir.path(), kill_after));
    }
    let said = run(dir.path(), usize::MAX);
    for number in 1..=ORDERS {
        let is = format!("order-{number} is instance ");
        let answers: Vec<&String> = said.iter().filter(|it| it.starts_with(&is)).collect();
        assert_eq!(answers.len(), 1);
        let before = instances.iter().filter(|it| it.starts_with(&is));
        assert!(before.into_iter().all(|it| it == answers[0]), "order {number} was taken twice");
        let end = if number % 7 == 0 { "cancelled" } else { "shipped" };
        assert!(said.contains(&format!("order-{number} is {end}")), "{said:?}");
    }
}
