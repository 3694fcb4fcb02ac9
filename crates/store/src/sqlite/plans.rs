//! Which searches SQLite answers by an index.

use rusqlite::{Connection, params_from_iter};

use travertine_value::{Name, time::Timestamp};

use crate::{
    Error, ShardId, SqliteStore, Store as _,
    search::{
        Column, Condition, Cursor, ElementColumn, IncidentColumn, InstanceColumn, JobColumn, Kind,
        MessageColumn, Place, Search, TaskColumn, Test, TimerColumn, Value, VariableColumn,
    },
    sql::{
        rows,
        search::{Sql, count, of},
    },
    sqlite::{Options, dialect::InSqlite},
    view::{Change, Filter, InstanceState, Query, Row, Table, VariableRow},
};

fn explain(sql: Sql) -> String {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&rows::schema()).unwrap();
    let text = format!("EXPLAIN QUERY PLAN {}", sql.text);
    let mut statement = connection.prepare(&text).unwrap();
    let steps = statement.query_map(params_from_iter(sql.values), |row| row.get(3)).unwrap();
    steps.collect::<Result<Vec<String>, _>>().unwrap().join("; ")
}

#[test]
fn questions_about_few_rows_are_answered_by_index() {
    use Table::{Elements, Instances, Jobs, Messages, Subscriptions, Tasks, Timers};
    let (a, at) = (|| Name::from("a"), Timestamp::from_millis);
    let running = || Filter::State(vec![InstanceState::Running]);
    for (table, filters, index) in [
        (Instances, vec![running()], "instances_open"),
        (Instances, vec![running(), Filter::Definition(a())], "instances_open_by_definition"),
        (Instances, vec![Filter::BusinessId(a())], "instances_by_business_id"),
        (Instances, vec![Filter::Parent(4)], "instances_by_parent"),
        (Instances, vec![Filter::Root(4)], "instances_by_root"),
        (Instances, vec![Filter::Ended(Some(at(1)), Some(at(2)))], "instances_by_end"),
        (Instances, vec![Filter::HasIncidents(true)], "instances_with_incidents"),
        (Instances, vec![Filter::Variable(a(), a())], "variables_by_value"),
        (Instances, vec![running(), Filter::Variable(a(), a())], "variables_by_value"),
        (Jobs, vec![Filter::Variable(a(), a())], "variables_by_value"),
        (Jobs, vec![Filter::BusinessId(a())], "instances_by_business_id"),
        (Jobs, vec![Filter::JobType(a())], "jobs_by_type"),
        (Elements, vec![Filter::Element(a())], "elements_by_element"),
        (Tasks, vec![Filter::Assignee(a())], "tasks_by_assignee"),
        (Tasks, vec![Filter::Unassigned], "tasks_by_assignee"),
        (Tasks, vec![Filter::Due(None, Some(at(1)))], "tasks_by_due"),
        (Timers, vec![Filter::Due(Some(at(0)), Some(at(1)))], "timers_by_due"),
        (Subscriptions, vec![Filter::Named(a())], "subscriptions_by_name"),
        (Messages, vec![Filter::Named(a())], "messages_by_name"),
        (Messages, vec![Filter::Dead(true)], "messages_dead"),
    ] {
        let query = Query { table, filters, descending: true, after: None, limit: 10 };
        let steps = explain(of(&InSqlite, &Search::from(&query)));
        assert!(steps.contains(index), "{query:?}: {steps}");
    }
}

/// Searches, and by what they are answered; whether rows are found in their order.
fn documented() -> Vec<(Search, &'static str, bool)> {
    let instances = || Search::of(Table::Instances);
    let is = |column: InstanceColumn, test| Condition::of(column, test);
    let running = || is(InstanceColumn::State, Test::eq(InstanceState::Running));
    let order = || is(InstanceColumn::Definition, Test::eq("order"));
    let by_start = InstanceColumn::Started;
    vec![
        (instances().descending(by_start), "instances_by_start", true),
        (
            instances().with(running()).with(order()).descending(by_start),
            "instances_open_by_definition_and_start",
            true,
        ),
        (
            instances().with(running()).with(order()).descending(InstanceColumn::Id),
            "instances_open_by_definition",
            true,
        ),
        (
            instances()
                .with(is(InstanceColumn::Ended, Test::Exists(true)))
                .descending(InstanceColumn::Ended),
            "instances_by_end",
            true,
        ),
        (
            instances().with(is(InstanceColumn::BusinessId, Test::eq("a"))).descending(by_start),
            "instances_by_business_id",
            false,
        ),
        (
            instances().with(is(InstanceColumn::Id, Test::any_of([1_u64, 2]))),
            "INTEGER PRIMARY KEY",
            true,
        ),
        (
            instances().with(is(InstanceColumn::Parent, Test::eq(4_u64))),
            "instances_by_parent",
            false,
        ),
        (
            instances().with(Condition::variable("total", Test::any_of(["1", "2"]))),
            "variables_by_value",
            false,
        ),
        (
            instances().with(Condition::has(
                Table::Elements,
                Condition::of(ElementColumn::Element, Test::eq("pack")),
            )),
            "elements_by_element",
            false,
        ),
        (
            instances().with(Condition::has(
                Table::Incidents,
                Condition::of(IncidentColumn::Message, Test::like("*lamp*").unwrap()),
            )),
            "INTEGER PRIMARY KEY",
            false,
        ),
        (
            Search::of(Table::Tasks)
                .with(Condition::of(TaskColumn::Key, Test::any_of([(4, 1), (4, 2)]))),
            "PRIMARY KEY (instance=? AND wait=?)",
            false,
        ),
        (
            Search::of(Table::Tasks)
                .with(Condition::of(TaskColumn::Assignee, Test::eq("ann")))
                .ascending(TaskColumn::Key),
            "tasks_by_assignee",
            true,
        ),
        (
            Search::of(Table::Tasks)
                .with(Condition::Any(vec![
                    Condition::of(TaskColumn::Assignee, Test::eq("ann")),
                    Condition::of(TaskColumn::Assignee, Test::eq("bob")),
                ]))
                .ascending(TaskColumn::Key),
            "tasks_by_assignee",
            false,
        ),
        (Search::of(Table::Tasks).descending(TaskColumn::Created), "tasks_by_creation", true),
        (
            Search::of(Table::Jobs)
                .with(Condition::of(JobColumn::JobType, Test::eq("mail")))
                .ascending(JobColumn::Key),
            "jobs_by_type",
            true,
        ),
        (
            Search::of(Table::Variables)
                .with(Condition::of(VariableColumn::Instance, Test::eq(4_u64)))
                .ascending(VariableColumn::Name),
            "PRIMARY KEY (instance=?)",
            false,
        ),
        (Search::of(Table::Timers).ascending(TimerColumn::Due), "timers_by_due", true),
        (
            Search::of(Table::Messages)
                .with(Condition::of(MessageColumn::Name, Test::like("paid*").unwrap())),
            "messages_by_name",
            false,
        ),
    ]
}

#[test]
fn each_documented_search_uses_an_index_and_goes_on_from_a_cursor_by_it() {
    for (search, index, in_order) in documented() {
        let ranks = search.sort.iter().map(|it| match it.column.kind() {
            Kind::Number => Value::Number(3),
            Kind::Time => Value::Time(Timestamp::from_millis(3)),
            Kind::Key => Value::Key(3, 3),
            Kind::Bool => Value::Bool(true),
            Kind::Text | Kind::LongText | Kind::List => Value::from("a"),
        });
        let key = crate::view::Key { instance: 3, number: 3, name: "a".into() };
        let cursor = Cursor::new(&search, ranks.map(Some).collect(), key);
        let places =
            [Place::First, Place::Skip(10), Place::After(cursor.clone()), Place::Before(cursor)];
        for place in places {
            let search = Search { place, ..search.clone() };
            search.check().unwrap();
            let steps = explain(of(&InSqlite, &search));
            assert!(steps.contains(index), "{search:?}: {steps}");
            assert!(!in_order || !steps.contains("TEMP B-TREE"), "{search:?}: {steps}");
            let counted = explain(count(&InSqlite, &search));
            assert!(!counted.contains("TEMP B-TREE"), "{search:?}: {counted}");
        }
    }
}

#[test]
fn a_search_that_looks_at_too_much_is_refused_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    let claim = store.take(ShardId(0), "test").unwrap();
    let row = |instance: u64| {
        let (name, value) = (Name::from("total"), Name::from("1"));
        let it = VariableRow { instance, layer: 1, name, value, number: 1, visit: 0 };
        Change::Put(Row::Variable(it))
    };
    store.checkpoint(&claim, 0, b"", &(1..3_000).map(row).collect::<Vec<_>>()).unwrap();
    let broad = Search::of(Table::Variables)
        .with(Condition::of(VariableColumn::Value, Test::like("*2").unwrap()))
        .descending(VariableColumn::Name);
    assert_eq!(store.search(&broad).unwrap().rows, []);
    let refused = store.views.search(&broad, Some(5_000));
    assert!(matches!(&refused, Err(Error::TooBroad { .. })));
    let refused = store.views.tally(&broad, &[VariableColumn::Name.into()], Some(5_000));
    assert!(matches!(refused, Err(Error::TooBroad { .. })));
    // What an index finds is not much, and whoever reads next has all the time again.
    let narrow = broad.with(Condition::of(VariableColumn::Instance, Test::eq(7_u64)));
    assert_eq!(store.views.search(&narrow, Some(5_000)).unwrap().rows, []);
    let all = Search::of(Table::Variables).limit(10_000);
    assert_eq!(store.search(&all).unwrap().rows.len(), 2_999);
}

#[test]
fn the_text_of_a_statement_has_nothing_of_what_is_searched_for() {
    let hostile = "'; DROP TABLE jobs; --";
    for column in Table::ALL.into_iter().flat_map(Column::all) {
        let text = matches!(column.kind(), Kind::Text | Kind::LongText | Kind::List);
        for test in [
            Test::eq(hostile),
            Test::neq(hostile),
            Test::any_of([hostile]),
            Test::NotIn(vec![hostile.into()]),
            Test::like(hostile).unwrap(),
        ] {
            let search = Search::of(column.table()).with(Condition::of(column, test));
            assert_eq!(search.check().is_ok(), text, "{search:?}");
            assert!(!of(&InSqlite, &search).text.contains("DROP"), "{search:?}");
        }
    }
}
