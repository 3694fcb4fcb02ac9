//! `travertine run --data`: runs that survive being killed.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
};

use super::{Called, command, file, process, store::Store, travertine};

/// Collects what each answer brings, so that an answer that is lost or comes twice shows.
const COLLECTS: &str = r#"<userTask id="it">
    <multiInstanceLoopCharacteristics isSequential="true" tv:outputCollection="seen" tv:outputElement="${n}">
      <loopCardinality>40</loopCardinality>
    </multiInstanceLoopCharacteristics>
  </userTask>"#;

/// One for each time that it asks.
fn answers() -> Vec<String> {
    (0..40).map(|n| format!(r#"{{"complete": "it", "vars": {{"n": {n}}}}}"#)).collect()
}

fn variables(called: &Called) -> String {
    called.json().field("variables").unwrap().to_json()
}

#[test]
fn a_killed_run_goes_on_and_gives_each_answer_once() {
    let store = Store::empty();
    let model = file("kept-collects.bpmn", &process(COLLECTS));
    let first = |count: usize| format!("[{}]", answers()[..count].join(","));
    let name = "kept-collects.answers.json";
    let path = file(name, &first(0));
    let data = store.data();
    let args = ["run", &model, "--data", &data, "--answers", &path];
    // The line after which it is killed, each time a few answers further. There are no more answers than it
    // may give before somebody is quick enough to kill it.
    for (most, lines) in [(7, 1), (14, 3), (21, 2), (28, 5), (35, 4)] {
        file(name, &first(most));
        let mut child = command(&[&args[..], &["--tree"]].concat()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let seen = out.filter(|it| it.starts_with("> complete")).take(lines).count();
        assert_eq!(seen, lines);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    file(name, &first(40));
    let ended = travertine(&[&args[..], &["--json"]].concat());
    assert_eq!(ended.status, 0, "{}{}", ended.out, ended.err);
    let expected: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let seen = ended.json().field("variables").unwrap().field("seen").unwrap().to_json();
    assert_eq!(seen, format!("[{}]", expected.join(",")));
    assert_eq!(ended.json().field("instance"), Some(&"1".into()));
    let verified = travertine(&["verify", "--data", &data]);
    assert_eq!(verified.status, 0, "{}{}", verified.out, verified.err);
}

#[test]
fn a_run_on_a_store_gives_what_one_in_memory_does() {
    for (name, var) in [
        ("order", "x=1"),
        ("batch", "numbers=[1,2,3,4,5]"),
        ("reviews", r#"items=["a","b","c"]"#),
        ("hello", "name=Ann"),
    ] {
        let (model, answers) =
            (format!("examples/{name}.bpmn"), format!("examples/{name}.answers.json"));
        let args = ["run", &model, "--answers", &answers, "--var", var, "--json"];
        let store = Store::empty();
        let kept = travertine(&[&args[..], &["--data", &store.data()]].concat());
        assert_eq!(kept.status, 0, "{}{}", kept.out, kept.err);
        assert_eq!(variables(&kept), variables(&travertine(&args)));
    }
}

#[test]
fn what_waits_stays_and_is_gone_on_with() {
    let store = Store::empty();
    let data = store.data();
    let args = ["run", "examples/hello.bpmn", "--data", &data, "--var", "name=Ann"];
    let first = travertine(&args);
    assert_eq!(first.status, 3);
    assert!(first.out.starts_with("waiting hello 1\n"), "{}", first.out);
    assert!(first.err.contains("the same command goes on with it"), "{}", first.err);
    let second = travertine(&args);
    assert_eq!(second.status, 3);
    assert!(second.err.contains("goes on with hello 1"), "{}", second.err);
    let another = travertine(&[&args[..], &["--new"]].concat());
    assert!(another.out.contains("waiting hello 2\n"), "{}", another.out);
    let answers = ["--answers", "examples/hello.answers.json"];
    let ended = travertine(&[&args[..], &answers].concat());
    assert!(ended.out.contains("completed hello 2\n"), "{}", ended.out);
    let last = travertine(&[&args[..], &answers].concat());
    assert!(last.out.contains("completed hello 1\n"), "{}", last.out);
    let fresh = travertine(&args);
    assert!(fresh.out.contains("waiting hello 3\n"), "{}", fresh.out);
}

#[test]
fn an_answer_that_was_being_given_shows_in_the_log() {
    let model = file("kept-noted.bpmn", &process(COLLECTS));
    let answers = answers();
    // Three were given when it was killed. Whether the one it was about to give came is in the log.
    for (came, rest) in [(true, "2,3,4"), (false, "2,2,3,4")] {
        let store = Store::empty();
        let data = store.data();
        let file = file("kept-noted.answers.json", &format!("[{}]", answers[..3].join(",")));
        let args = ["run", &model, "--data", &data, "--answers", &file];
        assert_eq!(travertine(&args).status, 3);
        let told = travertine(&["history", "1", "--data", &data, "--json"]).json();
        let last = told.field("steps").unwrap().as_list().unwrap().last().unwrap().clone();
        let last = last.field("entry").unwrap().as_str().unwrap().to_owned();
        let before = if came { "1:1".to_owned() } else { format!("1:{last}") };
        let note = format!(
            r#"{{"answers": "{file}", "instance": "1", "position": 2, "before": "{before}"}}"#
        );
        fs::write(Path::new(&data).join("run.json"), note).unwrap();
        fs::write(&file, format!("[{}]", answers[..5].join(","))).unwrap();
        assert_eq!(travertine(&args).status, 3);
        let told = travertine(&["history", "1", "--events", "--data", &data]).out;
        let given: Vec<&str> =
            told.lines().filter_map(|it| it.trim().split(": n = ").nth(1)).collect();
        assert_eq!(given.join(","), format!("0,1,{rest}"));
    }
}
