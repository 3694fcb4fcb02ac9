//! `travertine decide`.

use expect_test::expect;

use super::{file, travertine, travertine_with};

const MODEL: &str = "examples/shipping.dmn";
const INPUT: &str = "examples/shipping.json";

#[test]
fn the_result_comes_with_the_rules_that_matched() {
    let called = travertine(&["decide", MODEL, "--input", INPUT]);
    assert_eq!((called.status, &*called.err), (0, ""));
    expect![[r#"
        zone
          rule  order.country  →  zone
          1     "AT"           →  "home"

        price
          rule  zone    weight in kg  →  price
          2     "home"  7.5           →  9.3

        surcharge
          rule  express  month  →  surcharge
          1     true     12     →  7.5
          2     true     12     →  1.2

        shipping = {total: 18, with tax: 21.42}
    "#]]
    .assert_eq(&called.out);
}

#[test]
fn a_decision_is_asked_for_by_id_or_name_and_inputs_by_argument() {
    let order = r#"order={"weight": 3, "country": "FR", "placed on": "2026-05-01"}"#;
    let called = travertine(&["decide", MODEL, "--decision", "price", "--var", order]);
    assert_eq!(called.status, 0, "{}", called.err);
    assert!(called.out.ends_with("\nprice = 12.9\n"), "{}", called.out);
    let called = travertine_with(
        &["decide", MODEL, "-d", "zone", "--input", "-"],
        r#"{"order": {"weight": 3, "country": "US", "placed on": "2026-05-01"}}"#,
    );
    assert!(called.out.ends_with("\nzone = \"far\"\n"), "{}{}", called.out, called.err);
}

#[test]
fn what_became_null_is_told_with_its_place() {
    let order = r#"order={"weight": 30, "country": "US", "placed on": "2026-05-01"}"#;
    let args = ["decide", MODEL, "--decision", "price", "--var", order, "--var", "foo=1"];
    let called = travertine(&args);
    assert_eq!(called.status, 0);
    expect![[r#"
        zone
          rule  order.country  →  zone
          3     "US"           →  "far"

        price
          rule  zone   weight in kg
          none  "far"  30

        price = null
    "#]]
    .assert_eq(&called.out);
    expect![[r"
        warning: the decision needs no input 'foo'
        warning: examples/shipping.dmn:33:5: decision 'price': no rule matches
    "]]
    .assert_eq(&called.err);
    let strict = travertine(&[&args[..], &["--strict"]].concat());
    assert_eq!((strict.status, &*strict.out), (5, ""));
}

#[test]
fn a_wrong_input_is_named() {
    let order = r#"order={"weight": 3, "country": "XX", "placed on": "2026-05-01"}"#;
    let called = travertine(&["decide", MODEL, "--decision", "zone", "--var", order]);
    expect![[r#"
        warning: the input 'order' is not of type tOrder: entry 'country': "XX" is not one of the values allowed: "DE", "AT", "FR", "IT", "US"
        warning: examples/shipping.dmn:21:60: decision 'zone': null has no country
    "#]].assert_eq(&called.err);
}

#[test]
fn missing_inputs_and_unknown_decisions_are_named() {
    let called = travertine(&["decide", MODEL]);
    assert_eq!((called.status, &*called.out), (2, ""));
    expect![[r"
        error: inputs are missing: 'order' (tOrder), 'express' (boolean); give them with --input FILE or --var 'order=…'
    "]].assert_eq(&called.err);
    let called = travertine(&["decide", MODEL, "--decision", "nope"]);
    assert_eq!((called.status, &*called.out), (2, ""));
    expect![[r"
        error: there is no decision 'nope'; there are 'zone', 'price', 'surcharge', 'shipping'
    "]]
    .assert_eq(&called.err);
}

#[test]
fn a_rejected_model_is_shown_with_all_that_is_wrong() {
    let model = r##"<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="m" namespace="n">
  <decision id="d" name="d">
    <informationRequirement><requiredInput href="#nope"/></informationRequirement>
    <literalExpression><text>1 + </text></literalExpression>
  </decision>
</definitions>"##;
    let path = file("decide-bad.dmn", model);
    let called = travertine(&["decide", &path]);
    assert_eq!((called.status, &*called.out), (1, ""));
    expect![[r##"
        error TV2009: requiredInput refers to '#nope', which does not exist
         --> bad.dmn:3:29  (element d)
        3 | <informationRequirement><requiredInput href="#nope"/></informationRequirement>
          |                         ^
          = help: refer to an element by '#' and its id

        error TV2101: this is not FEEL: expected an expression, found the end
         --> bad.dmn:4:34  (element d)
        4 | <literalExpression><text>1 + </text></literalExpression>
          |                              ^

        rejected: the model cannot be used
    "##]]
    .assert_eq(&called.err.replace(&path, "bad.dmn"));
    let called = travertine(&["decide", &path, "--json"]);
    assert_eq!(called.status, 1);
    assert_eq!(called.json().field("diagnostics").unwrap().as_list().unwrap().len(), 2);
}

#[test]
fn everything_is_there_as_data() {
    let called = travertine(&["decide", MODEL, "--decision", "zone", "--input", INPUT, "--json"]);
    assert_eq!(called.status, 0);
    expect![[r#"
        {
          "outcome": "decided",
          "exit_status": 0,
          "decision": "zone",
          "id": "zone",
          "value": "home",
          "decisions": [
            {
              "name": "zone",
              "id": "zone",
              "value": "home",
              "tables": [
                {
                  "inputs": {
                    "order.country": "AT"
                  },
                  "rules": [
                    {
                      "rule": 1,
                      "outputs": {
                        "zone": "home"
                      }
                    }
                  ]
                }
              ]
            }
          ],
          "problems": []
        }
    "#]]
    .assert_eq(&called.out);
}
