//! `travertine access`: who may log in, and what they may do.

use super::{Called, command, finish};

fn access(data: &str, args: &[&str], input: &str) -> Called {
    let all = [&["access"], args, &["--data", data]].concat();
    finish(command(&all).spawn().unwrap(), input)
}

#[test]
fn accounts_are_added_listed_changed_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    // The store need not be there yet.
    let data = dir.path().join("orders").display().to_string();
    let done = |args: &[&str], input: &str| {
        let called = access(&data, args, input);
        assert_eq!(called.status, 0, "{args:?}: {}{}", called.out, called.err);
        called.out
    };
    done(&["user", "add", "ann", "--grant", "admin"], "correct horse\n");
    done(&["user", "add", "bob", "--group", "clerks"], "battery staple\n");
    done(&["role", "give", "group:clerks", "user:order-*", "start:order-eu"], "");
    let key = done(&["key", "add", "mailer", "--grant", "worker:mail-*", "--json"], "");
    assert!(key.contains("\"tvk_mailer_"), "{key}");
    let users = done(&["user", "list"], "");
    assert!(
        users.contains("ann") && users.contains("admin") && users.contains("clerks"),
        "{users}"
    );
    let bindings = access(&data, &["bindings", "--json"], "").json();
    let bindings = bindings.field("bindings").unwrap().as_list().unwrap();
    let said: Vec<String> = bindings
        .iter()
        .map(|it| {
            let text = |name: &str| it.field(name).unwrap().as_str().unwrap().to_owned();
            format!("{} {}", text("who"), text("grant"))
        })
        .collect();
    let expected = [
        "user ann admin",
        "group clerks start:order-eu",
        "group clerks user:order-*",
        "key mailer worker:mail-*",
    ];
    assert_eq!(said, expected);
    done(&["role", "take", "group:clerks", "start:order-eu"], "");
    done(&["user", "password", "bob"], "another secret\n");
    done(&["user", "disable", "bob"], "");
    assert!(done(&["user", "list"], "").contains("disabled"));
    done(&["key", "remove", "mailer"], "");
    done(&["group", "remove", "clerks", "bob"], "");
    done(&["user", "remove", "bob"], "");
    let audit = done(&["audit"], "");
    assert!(audit.contains("user removed") && audit.contains("(at the terminal)"), "{audit}");
    assert!(!audit.contains("secret") && !audit.contains("tvk_"), "{audit}");
    assert!(done(&["role", "list"], "").contains("operator"));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().display().to_string();
    let why = |args: &[&str], input: &str| {
        let called = access(&data, args, input);
        assert_eq!(called.status, 2, "{args:?}: {}{}", called.out, called.err);
        called.err
    };
    assert!(
        why(&["user", "add", "ann", "--grant", "boss"], "correct horse\n").contains("operator")
    );
    assert!(why(&["user", "add", "ann"], "short\n").contains("at least 8 characters"));
    assert!(why(&["role", "give", "ann", "viewer"], "").contains("there is no user ann"));
    assert!(why(&["role", "give", "team:ops", "viewer"], "").contains("group:NAME"));
    assert!(why(&["group", "add", "ops"], "").contains("name the users"));
    assert!(why(&["key", "remove", "ci"], "").contains("there is no key ci"));
}
