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
            m.dmn:5:1: warning TV2003: frobnicate is not known and has no effect
            m.dmn:7:25: error TV2009: requiredInput refers to '#gone', which does not exist (refer to an element by '#' and its id)
            m.dmn:9:3: error TV2101: this is not FEEL: expected an expression, found '*'
            m.dmn:10:1: error TV2005: there are two elements of the name 'd' (give one of them another name)"]],
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
        &[decision("a", &[], "season"), decision("b", &[], "a + 1")].concat(),
        &expect![[r"
        m.dmn:2:1: warning TV2007: nothing declares 'season'; decision 'a' takes it from the inputs (add an inputData of that name and require it)
        m.dmn:4:1: warning TV2006: decision 'b' reads 'a' without requiring it, so that it is null (add an informationRequirement or a knowledgeRequirement)"]],
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
            "m.dmn:2:27: error TV2103: the expression language 'groovy' is not supported (write it in FEEL)"
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
