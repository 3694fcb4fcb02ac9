//! `travertine eval`.

use expect_test::expect;

use super::{file, travertine, travertine_with};

#[test]
fn a_value_is_printed_as_it_could_be_typed() {
    for (args, out) in [
        (&["1 + 1"][..], "2\n"),
        (&["\"a\" + \"b\""], "\"ab\"\n"),
        (&["{a: [1, null], d: @\"2024-02-29\"}"], "{a: [1, null], d: @\"2024-02-29\"}\n"),
        (&["-2 + 1"], "-1\n"),
        (&["--json", "[date(\"2024-02-29\")]"], "[\"2024-02-29\"]\n"),
        (&["--lang", "js", "[1, 2].length"], "2\n"),
        (&["--lang", "juel", "${a + 1}", "--var", "a=1"], "2\n"),
        (&["today()", "--now", "2026-01-05T09:00:00Z"], "@\"2026-01-05\"\n"),
    ] {
        let called = travertine(&[&["eval"], args].concat());
        assert_eq!((called.status, &*called.out, &*called.err), (0, out, ""), "{args:?}");
    }
}

#[test]
fn variables_come_from_arguments_and_files() {
    let path = file("eval.json", r#"{"order total": 12, "customer": {"first name": "Ann"}}"#);
    let expression = "if order total > limit then customer.first name else \"nobody\"";
    let called = travertine(&["eval", expression, "--context", &path, "--var", "limit=10"]);
    assert_eq!((called.status, &*called.out), (0, "\"Ann\"\n"), "{}", called.err);
    let called = travertine_with(&["eval", "a", "--context", "-"], r#"{"a": 1}"#);
    assert_eq!((called.status, &*called.out), (0, "1\n"));
    let called = travertine_with(&["eval", "--var", "a=1"], "a + 1\n");
    assert_eq!((called.status, &*called.out), (0, "2\n"));
}

#[test]
fn what_became_null_is_told_with_its_place() {
    let called = travertine(&["eval", "a.b + 1"]);
    assert_eq!((called.status, &*called.out), (0, "null\n"));
    expect![[r"
        warning: there is no variable a (line 1, column 1)
        warning: null has no b (line 1, column 3)
        warning: null and a number cannot be added (line 1, column 5)
    "]]
    .assert_eq(&called.err);
    let called = travertine(&["eval", "--strict", "a"]);
    assert_eq!((called.status, &*called.out), (5, ""));
    assert_eq!(called.err, "error: there is no variable a (line 1, column 1)\n");
}

#[test]
fn what_is_no_expression_is_shown_where_it_ends_to_be() {
    let called = travertine(&["eval", "1 + "]);
    assert_eq!((called.status, &*called.out), (1, ""));
    expect![[r"
        error TV2101: this is not FEEL: expected an expression, found the end
         --> expression:1:5
        1 | 1 +
          |     ^
    "]]
    .assert_eq(&called.err);
    assert_eq!(travertine(&["eval", "--lang", "js", "1 +"]).status, 1);
}

#[test]
fn what_fails_says_why() {
    let called = travertine(&["eval", "--lang", "js", "nope.x"]);
    assert_eq!((called.status, &*called.out), (5, ""));
    assert!(called.err.starts_with("error: "), "{}", called.err);
    let called = travertine(&["eval", "count(for i in 1..1000000000 return i)"]);
    assert_eq!(called.status, 5);
    assert!(called.err.contains("limit was exceeded"), "{}", called.err);
}

#[test]
fn nonsense_is_refused() {
    for args in [
        &["eval", "1", "--context", "no-such.json"][..],
        &["eval", "1", "--lang", "cobol"],
        &["eval", "--context", "-"],
    ] {
        assert_eq!(travertine(args).status, 2, "{args:?}");
    }
}

#[test]
fn the_time_is_there_in_every_language_that_asks_for_it() {
    let at = |text: &str| {
        let now = "2026-01-02T03:04:05Z";
        let called = travertine(&["eval", "--lang", "juel", "--now", now, text]);
        assert_eq!(called.status, 0, "{}", called.err);
        called.out
    };
    assert_eq!(at("${now()}"), "\"2026-01-02T03:04:05Z\"\n");
    assert_eq!(at("${dateTime().plusDays(1).toDate()}"), "\"2026-01-03T03:04:05Z\"\n");
    assert_eq!(travertine(&["eval", "--lang", "juel", "${now()}"]).status, 0);
}

#[test]
fn what_belongs_to_an_application_is_not_called_a_mistake_of_the_text() {
    let called = travertine(&["eval", "--lang", "juel", "${bean.m()}"]);
    assert!(called.err.contains("this cannot be evaluated here: "), "{}", called.err);
    let called = travertine(&["eval", "--lang", "juel", "${1 +}"]);
    assert!(called.err.contains("this is not JUEL: "), "{}", called.err);
}
