use proptest::prelude::*;

use super::*;

fn searches() -> Vec<Search> {
    let tables = Table::ALL.into_iter();
    tables
        .flat_map(|table| {
            let columns = Column::all(table).into_iter().filter(|it| it.kind() != Kind::List);
            columns.map(move |it| Search::of(table).descending(it))
        })
        .collect()
}

#[test]
fn a_cursor_is_read_as_it_was_written_and_belongs_to_its_order_alone() {
    let value = |kind| match kind {
        Kind::Number => Value::Number(-3),
        Kind::Time => Value::Time(Timestamp::MAX),
        Kind::Bool => Value::Bool(true),
        Kind::Key => Value::Key(u64::MAX, 0),
        Kind::Text | Kind::LongText | Kind::List => Value::from("\0ß\u{10ffff}"),
    };
    let key = crate::view::Key { instance: 7, number: u64::MAX, name: "n\0".into() };
    let all = searches();
    for search in &all {
        for value in [None, Some(value(search.sort[0].column.kind()))] {
            let cursor = Cursor::new(search, vec![value], key.clone());
            let text = cursor.to_string();
            assert!(text.len() >= 2, "{text}");
            assert_eq!(text.parse::<Cursor>().unwrap(), cursor);
            for other in &all {
                let fits = cursor.fits(other).is_ok();
                // What is there and what is over have the same columns, and are searched in one order.
                let alike = other.table.present() == search.table.present();
                assert_eq!(fits, alike && other.sort == search.sort, "{search:?} {other:?}");
            }
        }
    }
}

#[test]
fn a_pattern_has_wildcards_and_takes_every_character_literally_behind_a_backslash() {
    for (pattern, text, matches) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("**a**", "ba", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("?", "ß", true),
        ("?", "", false),
        ("a?c", "a\u{10ffff}c", true),
        (r"\*", "*", true),
        (r"\*", "a", false),
        (r"\?\\", r"?\", true),
        (r"a\", r"a\", true),
        ("[a]", "[a]", true),
        ("[a]", "a", false),
        ("A", "a", false),
        ("%", "abc", false),
        ("_", "a", false),
        ("*", "a\0", false),
    ] {
        assert_eq!(Pattern::parse(pattern).unwrap().matches(text), matches, "{pattern} {text:?}");
    }
    assert!(Pattern::parse(&"a".repeat(501)).is_err());
    assert!(Pattern::parse(&"\\".repeat(1_002)).is_err());
}

#[test]
fn what_makes_no_sense_or_asks_for_too_much_is_refused_by_name() {
    let instances = || Search::of(Table::Instances);
    let is = |column: Column, test| Condition::Is(column, test);
    let deep = (0..20).fold(Condition::All(vec![]), |it, _| Condition::Any(vec![it]));
    let id = || Column::from(InstanceColumn::Id);
    for (search, reason) in [
        (instances().limit(0), "room for at least one row"),
        (instances().limit(10_001), "at most 10000 rows"),
        (instances().at(Place::Skip(10_001)), "at most 10000 rows can be skipped"),
        (
            (0..6).fold(instances(), |it, _| it.ascending(InstanceColumn::Id)),
            "sorted by at most 5 columns",
        ),
        (instances().ascending(TaskColumn::Due), "instances cannot be sorted by due date"),
        (Search::of(Table::Tasks).ascending(TaskColumn::CandidateUsers), "cannot be sorted by"),
        (Search::of(Table::Messages).ascending(InstanceColumn::Id), "cannot be sorted by number"),
        (
            instances().with(is(JobColumn::Worker.into(), Test::Exists(true))),
            "instances cannot be asked for by worker",
        ),
        (instances().with(is(id(), Test::eq("a"))), "number is never a text"),
        (
            instances().with(is(InstanceColumn::Started.into(), Test::eq(3_u64))),
            "start is never a number",
        ),
        (instances().with(is(id(), Test::like("a").unwrap())), "number is no text"),
        (
            Search::of(Table::Jobs).with(is(JobColumn::Key.into(), Test::Gt(Value::Key(1, 1)))),
            "job cannot be compared",
        ),
        (
            instances().with(Condition::has(Table::Messages, Condition::All(vec![]))),
            "instances cannot be asked for by messages",
        ),
        (
            instances().with(Condition::has(
                Table::Jobs,
                Condition::has(Table::Tasks, Condition::All(vec![])),
            )),
            "jobs cannot be asked for by tasks",
        ),
        (
            instances().with(Condition::has(Table::Jobs, is(id(), Test::eq(1_u64)))),
            "jobs cannot be asked for by number",
        ),
        (instances().with(deep), "levels deep"),
        (
            instances().with(Condition::Any(vec![Condition::All(vec![]); 200])),
            "at most 200 conditions",
        ),
        (instances().with(is(id(), Test::any_of(0..5_001_u64))), "at most 5000 values"),
    ] {
        let error = search.check().unwrap_err().to_string();
        assert!(error.contains(reason), "{error} is not {reason}");
    }
}

proptest! {
    #[test]
    fn whatever_is_taken_for_a_cursor_is_read_or_refused(text in "\\PC{0,60}|[A-Za-z0-9_-]{2,60}") {
        if let Ok(cursor) = text.parse::<Cursor>() {
            prop_assert_eq!(&cursor.to_string().parse::<Cursor>().unwrap(), &cursor);
            for search in searches() {
                let _: Result<(), Error> = cursor.fits(&search);
            }
        }
    }

    /// Against the plain definition.
    #[test]
    fn a_pattern_matches_what_its_parts_say(pattern in "[ab*?]{0,8}", text in "[ab]{0,8}") {
        fn matches(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern.split_first(), text.split_first()) {
                (Some((b'*', rest)), _) => {
                    (0..=text.len()).any(|at| matches(rest, &text[at..]))
                }
                (Some((b'?', rest)), Some((_, after))) => matches(rest, after),
                (Some((one, rest)), Some((other, after))) => one == other && matches(rest, after),
                (None, None) => true,
                _ => false,
            }
        }
        let expected = matches(pattern.as_bytes(), text.as_bytes());
        prop_assert_eq!(Pattern::parse(&pattern).unwrap().matches(&text), expected);
    }
}
