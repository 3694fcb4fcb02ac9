//! What is said about models that are wrong.

use expect_test::{Expect, expect};

use super::{decision, model, said};

fn check(inside: &str, expected: &Expect) {
    expected.assert_eq(&said(&model(inside)));
}

#[test]
fn what_is_no_model_is_refused() {
    expect!["m.dmn:1:1: error TV0101: this is not well-formed XML: syntax error: tag not closed: `>` not found before end of input (open the file in a modeler and save it again)"].assert_eq(&said("<definitions"));
    expect!["m.dmn:1:1: error TV2001: this is no DMN model: its outermost element is definitions (a DMN model is a definitions element in one of the namespaces of DMN 1.1 to 1.5)"].assert_eq(&said("<definitions xmlns='urn:x'/>"));
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    check(
        &format!(
            "<itemDefinition name=\"t\"><typeRef>nope</typeRef></itemDefinition>\n\
             <itemDefinition name=\"loop\"><typeRef>loop</typeRef></itemDefinition>\n\
             <inputData id=\"i\" name=\"i\"><variable name=\"i\" typeRef=\"missing\"/></inputData>\n\
             <frobnicate/>\n{}{}",
            decision("d", &["Input gone"], "1 +\n  * 2"),
            decision("d", &[], "1"),
        ),
        &expect![[r"
            m.dmn:2:26: error TV2011: there is no type 'nope' (define it as an itemDefinition, or use one of FEEL such as string or number)
            m.dmn:3:1: error TV2012: the type 'loop' is defined by itself (say what it consists of)
            m.dmn:4:28: error TV2011: there is no type 'missing' (define it as an itemDefinition, or use one of FEEL such as string or number)
            m.dmn:7:25: error TV2009: requiredInput refers to '#gone', which does not exist (refer to an element by '#' and its id)
            m.dmn:9:3: error TV2101: this is not FEEL: expected an expression, found '*'
            m.dmn:10:1: error TV2005: there are two elements of the name 'd' (give one of them another name)
            m.dmn:5:1: warning TV2003: frobnicate is not known and has no effect"]],
    );
}

#[test]
fn circles_of_requirements_are_refused_once() {
    check(
        &[decision("a", &["b"], "b"), decision("b", &["c"], "c"), decision("c", &["a"], "a")]
            .concat(),
        &expect![
            "m.dmn:2:1: error TV2020: decision 'a' requires itself: 'a' → 'b' → 'c' → 'a' (remove one of the requirements)"
        ],
    );
}

#[test]
fn names_that_nothing_declares_are_pointed_out() {
    check(
        &[
            "<inputData id=\"i\" name=\"i\"/>\n",
            &decision("a", &["Input i"], "season + i"),
            &decision("b", &[], "a + 1"),
        ]
        .concat(),
        &expect![[r"
            m.dmn:3:1: warning TV2007: nothing declares 'season'; decision 'a' takes it from the inputs (add an inputData of that name and require it)
            m.dmn:6:1: warning TV2006: decision 'b' reads 'a' without requiring it, so that it is null (add an informationRequirement or a knowledgeRequirement)"]],
    );
}

#[test]
fn functions_that_do_not_exist_are_pointed_out() {
    check(
        &decision("a", &[], "1 + frob(2)"),
        &expect!["m.dmn:3:30: warning TV2102: this is always null: there is no function frob"],
    );
}

#[test]
fn tables_must_be_complete() {
    let table = |attributes: &str, inside: &str| {
        format!(
            "<decision id=\"d\" name=\"d\"><decisionTable {attributes}>\n\
             <input><inputExpression><text>1</text></inputExpression></input>\n{inside}\n\
             </decisionTable></decision>"
        )
    };
    check(
        &table("hitPolicy=\"SOME\"", "<output/>"),
        &expect![
            "m.dmn:2:27: error TV2203: there is no hit policy 'SOME' (use UNIQUE, ANY, PRIORITY, FIRST, RULE ORDER, OUTPUT ORDER or COLLECT)"
        ],
    );
    check(
        &table("hitPolicy=\"COLLECT\" aggregation=\"AVG\"", "<output/>"),
        &expect![
            "m.dmn:2:27: error TV2202: there is no aggregation 'AVG' (use SUM, MIN, MAX or COUNT)"
        ],
    );
    check(
        &table("hitPolicy=\"PRIORITY\"", "<output/>"),
        &expect![
            "m.dmn:2:27: error TV2204: decisionTable does not say which output comes first (list the outputValues, most important first)"
        ],
    );
    check(
        &table("", ""),
        &expect!["m.dmn:2:27: error TV2201: decisionTable has no output (add an output)"],
    );
    check(
        &table(
            "",
            "<output name=\"a\"/><output/><rule><inputEntry><text>-</text></inputEntry></rule>",
        ),
        &expect![[r"
            m.dmn:4:19: error TV2205: an output among several needs a name (it is the name of its entry in the result)
            m.dmn:4:28: error TV2207: the rule has 0 outputEntry where the table needs 2 (give each column of the table one entry)"]],
    );
}

#[test]
fn other_expression_languages_are_refused() {
    let text = "<decision id=\"d\" name=\"d\"><literalExpression expressionLanguage=\"groovy\">\
                <text>x</text></literalExpression></decision>";
    check(
        text,
        &expect![
            "m.dmn:2:27: error TV2103: the language of expressions is 'groovy'; only FEEL is evaluated (write the expressions in FEEL, as `amount > 100` for `${amount > 100}`, and remove expressionLanguage)"
        ],
    );
}

#[test]
fn an_import_must_be_there() {
    check(
        "<import namespace=\"urn:other\" name=\"o\"/>",
        &expect![
            "m.dmn:2:1: error TV2002: nothing is known of the imported namespace 'urn:other' (give the file with that namespace too)"
        ],
    );
}

#[test]
fn a_table_as_modelers_write_it_declares_no_inputs_and_nobody_minds() {
    let table = "<decision id=\"d\" name=\"d\"><decisionTable id=\"t\"><input id=\"j\">\
        <inputExpression id=\"k\"><text>season</text></inputExpression></input><output id=\"o\"/>\
        <rule id=\"r\"><inputEntry id=\"e\"><text>\"Winter\"</text></inputEntry>\
        <outputEntry id=\"f\"><text>1</text></outputEntry></rule></decisionTable></decision>";
    check(table, &expect![""]);
}

#[test]
fn another_language_than_feel_is_said_once() {
    let text = |id: &str| {
        format!(
            "<inputEntry id=\"{id}\" expressionLanguage=\"juel\"><text>${{x > 1}}</text></inputEntry>"
        )
    };
    let table = format!(
        "<decision id=\"d\" name=\"d\"><decisionTable id=\"t\"><input id=\"j\"><inputExpression id=\"k\" \
         expressionLanguage=\"feel\"><text>x</text></inputExpression></input><output id=\"o\"/>\
         <rule id=\"r\">{}<outputEntry id=\"f\"><text>1</text></outputEntry></rule>\
         <rule id=\"s\">{}<outputEntry id=\"g\" expressionLanguage=\"groovy\"><text>a?.b</text></outputEntry></rule>\
         </decisionTable></decision>",
        text("e"),
        text("h")
    );
    let said = said(&model(&table));
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(
        lines[0].contains("TV2103: the language of expressions is 'juel', in 2 places"),
        "{said}"
    );
    assert!(lines[1].contains("TV2103: the language of expressions is 'groovy'"), "{said}");
}
