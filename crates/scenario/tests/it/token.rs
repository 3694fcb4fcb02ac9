//! Status, data and globals; restrictions, operators; gateways.

use std::collections::BTreeMap;

use expect_test::expect;
use travertine_scenario::Mode;

use super::build::*;

#[test]
fn a_task_goes_through_its_states() {
    let text = with(&[], &(start() + &task("A", "") + &end("E") + &chain(&["S", "A", "E"])));
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED BUSY COMPLETED EXITING DEPARTED
        0 I E ARRIVED ENTERED DONE
        0 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &["I; P;"]));
}

#[test]
fn a_scope_without_anything_is_done() {
    expect!["0 I P ENTERED BUSY COMPLETED DONE"].assert_eq(&told(&with(&[], ""), &["I; P;"]));
}

#[test]
fn operators_are_applied_in_order_and_types_are_kept() {
    let inner = start()
        + &does(
            "A",
            &["x := 2", "y := x * 1.5", "whole := 7 / 2", "yes := x > 1", "x += 1", "c := [x, 2]"],
        )
        + &chain(&["S", "A"]);
    let text =
        with(&["x|integer", "y|decimal", "whole|integer", "yes|boolean", "c|collection"], &inner);
    expect![[r#"I completed {"c":[3,2],"whole":3,"x":3,"y":3,"yes":true}"#]]
        .assert_eq(&result(&text, &["I; P;"]));
}

#[test]
fn a_tasks_own_attributes_are_gone_behind_it() {
    let own = status(
        &(attributes(&["own|integer", "twice := own * 2|integer"]) + &operators(&["x := twice"])),
    );
    let inner = start() + &task("A", &own) + &does("B", &["x += 1"]) + &chain(&["S", "A", "B"]);
    expect![[r#"I completed {"x":9}"#]]
        .assert_eq(&result(&with(&["x|integer"], &inner), &["I; P;", "I; A; own := 4"]));
}

#[test]
fn a_task_with_a_time_ahead_is_at_work_until_then() {
    let inner = start() + &does("A", &["timestamp += 2.5"]) + &chain(&["S", "A"]);
    expect![[r"
        2 I P ENTERED BUSY
        2 I S ENTERED DEPARTED
        2 I A ARRIVED READY ENTERED BUSY
        5 I A COMPLETED EXITING DONE
        5 I P COMPLETED DONE"]]
    .assert_eq(&told(&with(&[], &inner), &["I; P; timestamp := 1.2"]));
}

#[test]
fn restrictions_hold_on_entry_completion_and_exit() {
    for at in ["entry", "completion", "exit", "full"] {
        let own = status(&(restrictions(&[&format!("{at}|x != 1")]) + &operators(&["x := 1"])));
        let inner = start() + &task("A", &own) + &chain(&["S", "A"]);
        let told = told(&with(&["x|integer"], &inner), &["I; P; x := 0"]);
        let given = "ARRIVED READY ENTERED BUSY COMPLETED ";
        let expected = match at {
            "entry" => format!("{given}EXITING DONE"),
            "exit" => format!("{given}EXITING FAILED"),
            _ => format!("{given}FAILED"),
        };
        assert_eq!(states(&told, "A"), expected, "{at}");
        let process = if at == "entry" {
            "ENTERED BUSY COMPLETED DONE"
        } else {
            "ENTERED BUSY FAILING FAILED"
        };
        assert_eq!(states(&told, "P"), process, "{at}");
    }
    let entry = status(&restrictions(&["entry|x > 1"]));
    let inner = start() + &task("A", &entry) + &chain(&["S", "A"]);
    let told = told(&with(&["x|integer"], &inner), &["I; P; x := 0"]);
    assert_eq!(states(&told, "A"), "ARRIVED READY ENTERED FAILED");
    let undefined = told_of_undefined();
    assert_eq!(states(&undefined, "A"), "ARRIVED READY ENTERED FAILED");
}

fn told_of_undefined() -> String {
    let entry = status(&restrictions(&["entry|x > 1"]));
    let inner = start() + &task("A", &entry) + &chain(&["S", "A"]);
    told(&with(&["x|integer"], &inner), &["I; P;"])
}

#[test]
fn full_restrictions_count_for_everything_inside_and_others_do_not() {
    let sub = |restriction: &str| {
        let inside =
            node("startEvent", "SS", "", "") + &does("A", &["x := 9"]) + &chain(&["SS", "A"]);
        let sub = node("subProcess", "Sub", &status(&restrictions(&[restriction])), &inside);
        let inner = start() + &sub + &chain(&["S", "Sub"]);
        told(&with(&["x|integer"], &inner), &["I; P; x := 0"])
    };
    let full = sub("x < 5");
    assert_eq!(states(&full, "A"), "ARRIVED READY ENTERED BUSY COMPLETED FAILED");
    assert_eq!(states(&full, "Sub"), "ARRIVED READY ENTERED BUSY FAILING FAILED");
    let completion = sub("completion|x < 5");
    assert_eq!(states(&completion, "A"), "ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE");
    assert_eq!(states(&completion, "Sub"), "ARRIVED READY ENTERED BUSY COMPLETED FAILED");
}

#[test]
fn a_process_is_checked_on_entry_and_completion() {
    let checked = |restriction: &str| {
        let own = attributes(&["x|integer"]) + &restrictions(&[restriction]);
        let inner = start() + &does("A", &["x := 5"]) + &chain(&["S", "A"]);
        told(&file(&process("P", &status(&own), &inner)), &["I; P; x := 1"])
    };
    assert_eq!(states(&checked("entry|x > 1"), "P"), "ENTERED FAILED");
    assert_eq!(states(&checked("completion|x < 5"), "P"), "ENTERED BUSY COMPLETED FAILING FAILED");
}

#[test]
fn the_first_flow_that_opens_is_taken() {
    let text = with(
        &["x|integer"],
        &(start()
            + &node("exclusiveGateway default='G-C'", "G", "", "")
            + &does("A", &["x := 10"])
            + &does("B", &["x := 20"])
            + &does("C", &["x := 30"])
            + &flow("S", "G")
            + &flow_if("G", "A", &["x > 0", "x < 3"])
            + &flow_if("G", "B", &["x > 0"])
            + &flow("G", "C")),
    );
    assert_eq!(result(&text, &["I; P; x := 1"]), r#"I completed {"x":10}"#);
    assert_eq!(result(&text, &["I; P; x := 4"]), r#"I completed {"x":20}"#);
    assert_eq!(result(&text, &["I; P; x := 0"]), r#"I completed {"x":30}"#);
    assert_eq!(result(&text, &["I; P;"]), r#"I completed {"x":30}"#);
    let none = with(
        &["x|integer"],
        &(start()
            + &node("exclusiveGateway", "G", "", "")
            + &task("A", "")
            + &flow("S", "G")
            + &flow_if("G", "A", &["x > 0"])),
    );
    let told = told(&none, &["I; P; x := 0"]);
    assert_eq!(states(&told, "G"), "ARRIVED ENTERED FAILED");
    assert_eq!(states(&told, "P"), "ENTERED BUSY FAILING FAILED");
}

#[test]
fn joins_keep_what_all_agree_on_and_the_latest_time() {
    let text = with(
        &["same|integer", "other|integer", "one|integer"],
        &(start()
            + &node("parallelGateway", "F", "", "")
            + &does("A", &["same := 1", "other := 1", "one := 1", "timestamp += 3"])
            + &does("B", &["same := 1", "other := 2"])
            + &node("parallelGateway", "J", "", "")
            + &end("E")
            + &chain(&["S", "F", "A", "J", "E"])
            + &chain(&["F", "B", "J"])),
    );
    let told = told(&text, &["I; P;"]);
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I F ARRIVED ENTERED DEPARTED DEPARTED
        0 I A ARRIVED
        0 I B ARRIVED
        0 I A READY
        0 I B READY
        0 I A ENTERED BUSY
        0 I B ENTERED BUSY COMPLETED EXITING DEPARTED
        0 I J ARRIVED WAITING
        3 I A COMPLETED EXITING DEPARTED
        3 I J ARRIVED WAITING ENTERED DEPARTED
        3 I E ARRIVED ENTERED DONE
        3 I P COMPLETED DONE"]]
    .assert_eq(&told);
    assert_eq!(result(&text, &["I; P;"]), r#"I completed {"one":1,"same":1}"#);
}

#[test]
fn data_is_shared_by_all_tokens_of_its_scope() {
    let data = node("dataObject", "O", &attributes(&["d|integer", "e := d + 1|integer"]), "");
    let sub = node(
        "subProcess",
        "Sub",
        "",
        &(node("dataObject", "O2", &attributes(&["d2|integer"]), "")
            + &does("B", &["d2 += d", "d := d2"])),
    );
    let inner = data + &start() + &does("A", &["d += 10"]) + &sub + &chain(&["S", "A", "Sub"]);
    let rows = ["I; P; d := 1", "I; O2; d2 := 100"];
    expect![[r#"I completed {"d":111,"e":2}"#]].assert_eq(&result(&with(&[], &inner), &rows));
}

#[test]
fn globals_are_one_for_all_instances() {
    let store = node("dataStore", "Store", &attributes(&["g|integer"]), "");
    let inner = start() + &does("A", &["g += 1", "x := g"]) + &chain(&["S", "A"]);
    let own = status(&attributes(&["x|integer"]));
    let text = file(&(store + &process("P", &own, &inner)));
    let mut run =
        begun(&text, &[" ; ; g := 5", "I; P;", "J; P; timestamp := 1"], settings(Mode::First));
    run.run().unwrap();
    assert_eq!(summary(&run), "I completed {\"x\":6}\nJ completed {\"x\":7}");
}

#[test]
fn everything_weighted_counts_into_the_objective() {
    let store =
        node("dataStore", "Store", &attributes(&["g|integer minimize 1", "objective|decimal"]), "");
    let own = attributes(&["x|integer maximize 2"]);
    let data = node("dataObject", "O", &attributes(&["d|integer maximize 10"]), "");
    let task = task(
        "A",
        &status(
            &(attributes(&["t|integer minimize 3"])
                + &operators(&["t := 2", "d := 1", "d := 4", "g := 7", "x := 5"])),
        ),
    );
    let inner = data + &start() + &task + &chain(&["S", "A"]);
    let text = file(&(store + &process("P", &status(&own), &inner)));
    let mut run = begun(&text, &["I; P;"], settings(Mode::First));
    run.run().unwrap();
    // 2·5 of the process, -3·2 of the task, 10·4 of the data, -7 of the global.
    assert_eq!(run.objective(), (10 - 6 + 40 - 7).into());
    assert_eq!(run.globals()["objective"], 37.into());
}

#[test]
fn tables_are_functions_of_all_columns_but_the_last() {
    let table = "<bpmnos:tables><bpmnos:table name='price' source='p.csv' header='item; size; price'/></bpmnos:tables>";
    let store = node("dataStore", "Store", table, "");
    let inner = start() + &does("A", &["x := price(\"lamp\", size) * 2"]) + &chain(&["S", "A"]);
    let own = status(&attributes(&["x|decimal", "size|integer"]));
    let text = file(&(store + &process("P", &own, &inner)));
    let files = BTreeMap::from([("p.csv", "item;size;price\nlamp;1;10.5\nlamp;2;20\n")]);
    let run = |rows: &[&str]| {
        let mut run = begun_with(&text, rows, settings(Mode::First), &files);
        run.run().map_or_else(|it| it.to_string(), |()| summary(&run))
    };
    assert_eq!(run(&["I; P; size := 1"]), r#"I completed {"size":1,"x":21}"#);
    assert_eq!(
        run(&["I; P; size := 3"]),
        "I, A: `x := price(\"lamp\", size) * 2`: price has nothing for \"lamp\", 3"
    );
}

#[test]
fn a_formula_that_cannot_be_worked_out_fails_the_run() {
    let inner = start() + &does("A", &["x := 1 / 0"]) + &chain(&["S", "A"]);
    expect!["failed: I, A: `x := 1 / 0`: division by zero"]
        .assert_eq(&result(&with(&["x|integer"], &inner), &["I; P;"]));
}

#[test]
fn scenarios_disclose_and_assign() {
    let inner = start()
        + &task("A", &status(&attributes(&["a|integer"])))
        + &does("B", &["x := 3"])
        + &chain(&["S", "A", "B"]);
    let text = with(&["x|integer"], &inner);
    let rows = [
        "INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE; READY; COMPLETION",
        "I; P; x := 1; 2",
        "I; A; a := x + 1; 4.5; x := a * 10; x += 1",
    ];
    expect![[r"
        2 I P ENTERED BUSY
        2 I S ENTERED DEPARTED
        2 I A ARRIVED
        5 I A READY ENTERED BUSY COMPLETED EXITING DEPARTED
        5 I B ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        5 I P COMPLETED DONE"]]
    .assert_eq(&told(&text, &rows));
    assert_eq!(result(&text, &rows[..2]), r#"I completed {"x":3}"#);
    let seeded = |seed| {
        let rows = [
            "INSTANCE_ID; NODE_ID; INITIALIZATION; COMPLETION",
            "I; P;",
            "I; B; ; x := uniform_int(1, 1000000)",
        ];
        let settings = travertine_scenario::Settings { seed, ..settings(Mode::First) };
        let mut run = begun(&text, &rows, settings);
        run.run().unwrap();
        summary(&run)
    };
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
}

/// How long a task takes is what is most often left to chance.
#[test]
fn the_scenario_says_how_long_a_task_takes() {
    let inner = start()
        + &does("A", &["timestamp += 1"])
        + &node(
            "boundaryEvent attachedToRef='A'",
            "T",
            &parameters("timer", &[("trigger", "9")]),
            "<bpmn:timerEventDefinition/>",
        )
        + &task("B", "")
        + &chain(&["S", "A", "B"]);
    let text = with(&["x|integer"], &inner);
    let rows = |completion: &str| {
        [
            "INSTANCE_ID; NODE_ID; INITIALIZATION; COMPLETION".to_owned(),
            "I; P; x := 1".to_owned(),
            format!("I; A; ; {completion}"),
        ]
    };
    let told = |completion: &str| {
        let rows = rows(completion);
        told(&text, &rows.each_ref().map(String::as_str))
    };
    expect![[r"
        0 I P ENTERED BUSY
        0 I S ENTERED DEPARTED
        0 I A ARRIVED READY ENTERED
        0 I T ENTERED BUSY
        0 I A BUSY
        5 I A COMPLETED EXITING
        5 I T WITHDRAWN
        5 I A DEPARTED
        5 I B ARRIVED READY ENTERED BUSY COMPLETED EXITING DONE
        5 I P COMPLETED DONE"]]
    .assert_eq(&told("timestamp += 3.5, x := 7"));
    // It may be sooner than expected, and too late.
    assert!(told("timestamp -= 1").contains("0 I A BUSY COMPLETED"), "{}", told("timestamp -= 1"));
    assert!(told("timestamp += 10, x := 7").contains("9 I A WITHDRAWN"));
    let rows = rows("timestamp += 10, x := 7");
    assert_eq!(result(&text, &rows.each_ref().map(String::as_str)), r#"I completed {"x":1}"#);
}

#[test]
fn a_circle_without_time_is_no_run() {
    let inner = start()
        + &node("exclusiveGateway", "G", "", "")
        + &task("A", "")
        + &chain(&["S", "G", "A", "G"]);
    let mut run = begun(
        &with(&[], &inner),
        &["I; P;"],
        travertine_scenario::Settings { steps_max: 1_000, ..settings(Mode::First) },
    );
    let failed = run.run().unwrap_err();
    assert!(failed.message.contains("circle"), "{failed}");
}

#[test]
fn data_and_status_are_worked_out_from_each_other() {
    let worked_out = |status_: &[&str], data: &[&str]| {
        let data = node("dataObject", "O", &attributes(data), "");
        let own = status(&attributes(status_));
        let sub = node(
            "subProcess",
            "Sub",
            &own,
            &(data
                + &node("startEvent", "SS", "", "")
                + &does("A", &["x := r"])
                + &flow("SS", "A")),
        );
        let inner = start() + &sub + &chain(&["S", "Sub"]);
        result(&with(&["x|integer"], &inner), &["I; P; x := 2"])
    };
    let x = |it: i64| format!(r#"I completed {{"x":{it}}}"#);
    assert_eq!(worked_out(&["s := x + 1|integer"], &["r := s * 10|integer"]), x(30));
    assert_eq!(worked_out(&["r := d + 1|integer"], &["d := x * 10|integer"]), x(21));
    assert_eq!(
        worked_out(
            &["s := d + 1|integer", "t := s + 1|integer"],
            &["d := x * 10|integer", "r := t * 2|integer"]
        ),
        x(44)
    );
    // Each kind is worked out in the order of its declaration.
    assert_eq!(worked_out(&["r := t + 1|integer", "t := 1|integer"], &[]), "I completed {}");
}

#[test]
fn globals_are_worked_out_in_the_order_of_declaration() {
    let store =
        node("dataStore", "Store", &attributes(&["z := 2|integer", "a := z + 1|integer"]), "");
    let text = file(&(store + &process("P", "", &start())));
    let mut run = begun(&text, &["I; P;"], settings(Mode::First));
    run.run().unwrap();
    assert_eq!(run.globals().get("a"), Some(&3.into()));
}

#[test]
fn a_quoted_cell_is_a_text_and_finds_what_a_number_finds() {
    let tables = "<bpmnos:tables><bpmnos:table name='next' source='n.csv' header='from; to'/>\
                  <bpmnos:table name='cost' source='c.csv' header='at; cost'/></bpmnos:tables>";
    let store = node("dataStore", "Store", tables, "");
    let inner = start()
        + &does(
            "A",
            &["t := next(instance)", "t := next(t)", "x := cost(t) + cost(1)", "yes := t == \"3\""],
        )
        + &chain(&["S", "A"]);
    let own = status(&attributes(&["t|string", "x|decimal", "yes|boolean"]));
    let text = file(&(store + &process("P", &own, &inner)));
    let files = BTreeMap::from([
        ("n.csv", "from;to\n1;\"2\"\n\"2\";\"3\"\n"),
        ("c.csv", "at;cost\n3;10\n\"1\";4.5\n"),
    ]);
    let mut run = begun_with(&text, &["1; P;"], settings(Mode::First), &files);
    run.run().unwrap();
    assert_eq!(summary(&run), r#"1 completed {"t":"3","x":14.5,"yes":true}"#);
}

#[test]
fn a_row_reads_what_it_sets_and_who_it_is_about() {
    let inner = start()
        + &task(
            "A",
            &status(&(attributes(&["a|integer", "who|string"]) + &operators(&["w := who"]))),
        )
        + &chain(&["S", "A"]);
    let rows = [
        "INSTANCE_ID; NODE_ID; INITIALIZATION; DISCLOSURE",
        "I; P;",
        "I; A; a := 4; a + 1",
        "I; A; who := instance",
    ];
    let text = with(&["w|string"], &inner);
    assert!(told(&text, &rows).contains("5 I A READY"), "{}", told(&text, &rows));
    assert_eq!(result(&text, &rows), r#"I completed {"w":"I"}"#);
}
