//! What `travertine bench` leaves.

use std::fs;

use super::travertine;

#[test]
fn a_soak_kills_a_process_and_goes_on_on_the_same_store() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().display().to_string();
    let called = travertine(&[
        "bench",
        "soak",
        "--data",
        &data,
        "--rate",
        "50",
        "--for",
        "2s",
        "--kill-every",
        "1s",
    ]);
    assert!(called.out.contains("killed"), "{}{}", called.out, called.err);
    let table = fs::read_to_string(dir.path().join("soak.csv")).unwrap();
    assert!(table.starts_with("ms,round,started,ended,"), "{table}");
    let picture = fs::read_to_string(dir.path().join("soak.svg")).unwrap();
    assert_eq!(picture.matches("<polyline").count(), 6);
    let store = dir.path().join("store").display().to_string();
    let verified = travertine(&["verify", "--data", &store]);
    assert_eq!(verified.status, 0, "{}{}", verified.out, verified.err);
}
