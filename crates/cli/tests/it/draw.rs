//! `travertine draw`.

use std::fs;

use super::{file, process, travertine};

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_model_is_drawn_to_standard_output() {
    let called = travertine(&["draw", "examples/hello.bpmn"]);
    assert_eq!((called.status, &*called.err), (0, ""));
    assert!(called.out.starts_with("<svg "), "{}", called.out);
    for text in ["Someone came", "Greet", "Liked?", "Say sorry", "yes", "no"] {
        assert!(called.out.contains(text), "{text}");
    }
    assert!(!called.out.contains("class=\"legend\""));
    let again = travertine(&["draw", "examples/hello.bpmn"]);
    assert!(called.out == again.out);
}

#[test]
fn what_a_run_has_done_is_shown() {
    let svg = path("draw-hello.svg");
    let args = ["draw", "examples/hello.bpmn", "--var=name=Ann", "-o", &svg];
    assert_eq!(travertine(&args).status, 0);
    let waiting = fs::read_to_string(&svg).unwrap();
    assert!(waiting.contains("tokens here now"), "{waiting}");
    let answers = ["--answers", "examples/hello.answers.json"];
    assert_eq!(travertine(&[&args[..], &answers[..]].concat()).status, 0);
    let ended = fs::read_to_string(&svg).unwrap();
    assert!(ended.contains("flow taken") && !ended.contains("tokens here now"), "{ended}");
}

#[cfg(feature = "png")]
#[test]
fn a_picture_can_be_pixels() {
    let png = path("draw-order.png");
    let called = travertine(&["draw", "examples/order.bpmn", "--layout", "-o", &png]);
    assert_eq!((called.status, &*called.out, &*called.err), (0, "", ""));
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let gif = travertine(&["draw", "examples/hello.bpmn", "-o", "hello.gif"]);
    assert_eq!(gif.status, 2);
    assert_eq!(gif.err, "error: hello.gif ends neither in .svg nor in .png\n");

    let process_unknown = travertine(&["draw", "examples/hello.bpmn", "--process", "bye"]);
    assert_eq!(process_unknown.status, 2);
    assert_eq!(process_unknown.err, "error: no such process: bye; there is hello\n");

    let broken = file("draw-broken.bpmn", "<definitions>\n  <process");
    let broken = travertine(&["draw", &broken]);
    assert_eq!(broken.status, 1);
    assert!(broken.err.contains("not well-formed"), "{}", broken.err);
}

#[test]
fn a_model_that_cannot_run_can_be_drawn() {
    let bad = process("<task id=\"it\"><multiInstanceLoopCharacteristics/></task>");
    let bad = file("draw-bad.bpmn", &bad);
    assert_eq!(travertine(&["draw", &bad]).status, 0);
    let run = travertine(&["draw", &bad, "--run"]);
    assert_eq!((run.status, &*run.out), (1, ""));
    assert!(run.err.contains("the model cannot run"), "{}", run.err);
}
