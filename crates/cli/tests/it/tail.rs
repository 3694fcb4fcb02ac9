//! `travertine tail`.

use travertine_value::Value;

use super::{
    killed::Serves,
    store::{Store, text},
};

fn lines(store: &Store, args: &[&str]) -> Vec<Value> {
    let said = store.text(&[&["tail", "--json"][..], args].concat());
    said.lines().map(|it| Value::parse_json(it).unwrap()).collect()
}

#[test]
fn what_happens_is_followed_from_a_position_on_also_through_a_server() {
    let store = Store::with(&["examples/hello.bpmn", "examples/order.bpmn"]);
    store.text(&["start", "order"]);
    let first = lines(&store, &["--from-start"]);
    assert!(first.iter().any(|it| text(it, "kind") == "token_created"), "{first:?}");
    assert!(first.iter().all(|it| text(it, "definition") == "order"));
    assert_eq!(lines(&store, &["--from-start", "--count", "2"]), first[..2]);
    let position = text(first.last().unwrap(), "position");
    assert!(lines(&store, &["--after", &position]).is_empty());
    store.text(&["start", "hello", "--var", "name=Ann"]);
    let second = lines(&store, &["--after", &position]);
    assert!(!second.is_empty() && second.iter().all(|it| text(it, "instance") == "2"));
    assert_eq!(lines(&store, &["--after", &position, "--definition", "order"]).len(), 0);
    assert_eq!(lines(&store, &["--from-start", "--instance", "2"]), second);
    let called = store.call(&["tail", "--after", "999"]);
    assert!(called.status == 2 && called.err.contains("does not go to the position 999"));

    // Through whoever has the store, what happens comes as it does.
    let count = second.len().to_string();
    let serves = Serves::on(&store.data());
    assert_eq!(lines(&store, &["--after", &position, "--count", &count]), second);
    let next = text(second.last().unwrap(), "position");
    store.text(&["start", "order"]);
    let third = lines(&store, &["--after", &next, "--count", "1"]);
    assert_eq!(text(&third[0], "instance"), "3");
    drop(serves);
}
