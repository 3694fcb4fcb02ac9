//! What a model costs grows with its size, and nothing in it makes the stack grow.

use std::fmt::Write;

use travertine_dmn::{Error, Severity, read};
use travertine_lang::feel::{Context, Settings};
use travertine_value::{Limit, Limits, Value};

use super::{decide, decision, definitions, model, said};

/// Runs something with so little stack that recursion on the shape of a large model would end it.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap();
    thread.join().unwrap();
}

fn input(name: &str, of: &str) -> String {
    format!(
        "<inputData id=\"{name}\" name=\"{name}\"><variable name=\"{name}\" typeRef=\"{of}\"/></inputData>\n"
    )
}

/// Types, each a context of two of the next, so that written out the first one has `2^levels` parts.
fn doubling(prefix: &str, levels: usize, last: &str) -> String {
    let mut text = String::new();
    for level in 0..levels {
        let next = match level + 1 {
            it if it == levels => last.to_owned(),
            it => format!("{prefix}{it}"),
        };
        write!(text, "<itemDefinition name=\"{prefix}{level}\">").unwrap();
        for side in ["a", "b"] {
            write!(
                text,
                "<itemComponent name=\"{side}\"><typeRef>{next}</typeRef></itemComponent>"
            )
            .unwrap();
        }
        text.push_str("</itemDefinition>\n");
    }
    text
}

#[test]
fn a_type_that_is_used_often_is_there_once() {
    on_a_small_stack(|| {
        let expression = "[x instance of T0, (function(f: T0) 1)(x), y instance of U0, x = y]";
        let inside = [
            doubling("T", 60, "number"),
            doubling("U", 60, "string"),
            input("x", "T0"),
            input("y", "U0"),
            decision("d", &["Input x", "Input y"], expression),
        ];
        let definitions = definitions(&inside.concat());
        let inputs = definitions.inputs("d").unwrap();
        assert!(inputs[0].of.to_string().len() < 10_000, "{}", inputs[0].of);
        assert_ne!(inputs[0].of, inputs[1].of);
        assert_eq!(inputs[0].of, inputs[0].of.clone());
        let result = decide(&definitions, "d", r#"{"x": {"a": {"a": 1, "b": 2}}}"#);
        let problems: Vec<_> = result.problems.iter().map(ToString::to_string).collect();
        assert!(
            problems
                .iter()
                .any(|it| it
                    .contains("'x' is not of type T0: entry 'a': entry 'a': expected a context")),
            "{problems:?}"
        );
    });
}

#[test]
fn types_that_are_made_alike_are_equal_at_once() {
    let inside = [doubling("T", 60, "number"), doubling("U", 60, "number")].concat();
    let inside = inside + &input("x", "T0") + &input("y", "U0");
    let inside = inside + &decision("d", &["Input x", "Input y"], "x = y");
    let inputs = definitions(&inside).inputs("d").unwrap();
    assert_eq!(inputs[0].of, inputs[1].of);
}

#[test]
fn types_are_nested_as_deeply_as_values_can_be() {
    on_a_small_stack(|| {
        for levels in [257, 2_570, 25_700] {
            for is_up in [true, false] {
                let mut inside = String::new();
                for level in 0..levels {
                    let next = if is_up { level + 1 } else { usize::wrapping_sub(level, 1) };
                    let next = if next < levels { format!("T{next}") } else { "number".to_owned() };
                    writeln!(
                        inside,
                        "<itemDefinition name=\"T{level}\"><itemComponent name=\"a\">\
                         <typeRef>{next}</typeRef></itemComponent></itemDefinition>"
                    )
                    .unwrap();
                }
                let said = said(&model(&inside));
                let expected = "error TV2013: the type 'T";
                assert!(said.contains(expected), "{said:.300}");
                assert!(said.contains("' is nested deeper than 256"), "{said:.300}");
            }
        }
        let flat = doubling("T", 256, "number") + &input("x", "T0");
        let inside = flat + &decision("d", &["Input x"], "x");
        definitions(&inside);
    });
}

#[test]
fn a_type_may_be_another_name_many_times_over() {
    on_a_small_stack(|| {
        let mut inside = String::new();
        for level in 0..50_000 {
            let next = if level == 49_999 { "node".to_owned() } else { format!("T{}", level + 1) };
            writeln!(
                inside,
                "<itemDefinition name=\"T{level}\"><typeRef>{next}</typeRef></itemDefinition>"
            )
            .unwrap();
        }
        inside.push_str(
            "<itemDefinition name=\"node\"><itemComponent name=\"next\"><typeRef>T0</typeRef>\
             </itemComponent></itemDefinition>",
        );
        let inside = inside + &input("x", "T0") + &decision("d", &["Input x"], "x.next.next.next");
        let definitions = definitions(&inside);
        let nested = "{\"next\":".repeat(100) + "null" + &"}".repeat(100);
        let result = decide(&definitions, "d", &format!("{{\"x\": {nested}}}"));
        assert_eq!(result.problems, []);
        assert!(!result.value.is_null());
    });
}

#[test]
fn a_list_of_itself_is_no_type() {
    let inside = "<itemDefinition name=\"L\" isCollection=\"true\"><typeRef>M</typeRef></itemDefinition>\n\
                  <itemDefinition name=\"M\"><typeRef>L</typeRef></itemDefinition>\n";
    assert_eq!(
        said(&model(inside)),
        "m.dmn:2:1: error TV2012: the type 'L' is defined by itself (say what it consists of)"
    );
}

/// Decisions, each of which requires the one before.
fn chain(length: usize) -> String {
    let mut inside = decision("d0", &[], "1");
    for number in 1..length {
        let before = format!("d{}", number - 1);
        inside += &decision(&format!("d{number}"), &[&before], &format!("{before} + 1"));
    }
    inside
}

#[test]
fn a_chain_of_decisions_may_be_long() {
    on_a_small_stack(|| {
        let definitions = definitions(&chain(50_000));
        assert_eq!(definitions.main_decisions().len(), 1);
        assert_eq!(definitions.inputs("d49999"), Some(Vec::new()));
        let result = decide(&definitions, "d49999", "{}");
        assert_eq!(result.value.to_string(), "50000");
        assert_eq!(result.decisions.len(), 50_000);
        assert_eq!(result.decisions[0].name.as_ref(), "d0");
    });
}

#[test]
fn a_chain_of_decisions_costs_as_much_a_link_however_long_it_is() {
    let steps = |length: usize| {
        let definitions = definitions(&chain(length));
        let last = format!("d{}", length - 1);
        let enough = |steps_max: u64| {
            let limits = Limits { steps_max, ..Limits::default() };
            let settings = Settings { limits, ..Settings::default() };
            definitions.evaluate(&last, &Context::default(), &settings).is_ok()
        };
        let (mut low, mut high) = (0, 1 << 30);
        while low < high {
            let middle = u64::midpoint(low, high);
            if enough(middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let (few, many) = (steps(100), steps(1_000));
    assert!(many < few * 11, "{few} steps for 100, {many} for 1,000");
}

#[test]
fn functions_that_call_each_other_too_deeply_run_into_the_limit() {
    let knowledge = |name: &str, calls: &str, body: &str| {
        format!(
            "<businessKnowledgeModel id=\"{name}\" name=\"{name}\"><variable name=\"{name}\"/>\
             <encapsulatedLogic><formalParameter name=\"n\"/>{body}</encapsulatedLogic>\
             <knowledgeRequirement><requiredKnowledge href=\"#{calls}\"/></knowledgeRequirement>\
             </businessKnowledgeModel>\n"
        )
    };
    let literal =
        |text: &str| format!("<literalExpression><text>{text}</text></literalExpression>");
    let mut inside = String::new();
    for number in 0..5_000 {
        let next = format!("f{}", number + 1);
        inside += &knowledge(&format!("f{number}"), &next, &literal(&format!("{next}(n)")));
    }
    inside += "<businessKnowledgeModel id=\"f5000\" name=\"f5000\"><encapsulatedLogic>\
               <formalParameter name=\"n\"/><literalExpression><text>n</text></literalExpression>\
               </encapsulatedLogic></businessKnowledgeModel>\n";
    inside += &decision("d", &["Knowledge f0"], "f0(1)");
    let definitions = definitions(&inside);
    let result = definitions.evaluate("d", &Context::default(), &Settings::default());
    assert_eq!(result.err(), Some(Error::Limit(Limit::Depth)));
}

#[test]
fn boxed_expressions_within_each_other_count_as_depth() {
    // A function that calls itself from within sixty contexts.
    let open = "<context><contextEntry>".repeat(60);
    let close = "</contextEntry></context>".repeat(60);
    let inside = format!(
        "<businessKnowledgeModel id=\"f\" name=\"f\"><encapsulatedLogic>\
         <formalParameter name=\"n\"/>{open}<literalExpression><text>f(n + 1)</text>\
         </literalExpression>{close}</encapsulatedLogic></businessKnowledgeModel>\n{}",
        decision("d", &["Knowledge f"], "f(1)")
    );
    let definitions = definitions(&inside);
    let result = definitions.evaluate("d", &Context::default(), &Settings::default());
    assert_eq!(result.err(), Some(Error::Limit(Limit::Depth)));
}

#[test]
fn a_context_may_have_many_entries() {
    on_a_small_stack(|| {
        let mut entries = String::from(
            "<contextEntry><variable name=\"e 0\"/><literalExpression><text>1</text></literalExpression></contextEntry>",
        );
        for number in 1..30_000 {
            write!(
                entries,
                "<contextEntry><variable name=\"e {number}\"/><literalExpression>\
                 <text>e {} + 1</text></literalExpression></contextEntry>",
                number - 1
            )
            .unwrap();
        }
        let inside =
            format!("<decision id=\"d\" name=\"d\"><context>{entries}</context></decision>");
        let inside = inside + &decision("last", &["d"], "d.e 29999");
        let definitions = definitions(&inside);
        assert_eq!(decide(&definitions, "last", "{}").value.to_string(), "30000");
    });
}

#[test]
fn holding_values_against_types_costs_steps() {
    let inside = "<itemDefinition name=\"numbers\" isCollection=\"true\"><typeRef>number</typeRef></itemDefinition>\n\
         <businessKnowledgeModel id=\"f\" name=\"f\"><encapsulatedLogic>\
         <formalParameter name=\"n\" typeRef=\"numbers\"/><literalExpression><text>1</text>\
         </literalExpression></encapsulatedLogic></businessKnowledgeModel>\n"
        .to_owned()
        + &input("x", "Any")
        + &decision("d", &["Input x", "Knowledge f"], "sum(for i in 1..1000 return f(x))");
    let definitions = definitions(&inside);
    let list: Value = (0..100_i64).map(Value::from).collect();
    let Value::Map(inputs) = Value::from_iter([("x".into(), list)]) else { panic!("a map") };
    let inputs = definitions.inputs_from_json("d", &inputs);
    let limits = Limits { steps_max: 50_000, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let result = definitions.evaluate("d", &inputs, &settings);
    assert_eq!(result.err(), Some(Error::Limit(Limit::Steps)));
}

#[test]
fn imports_that_lead_everywhere_are_gone_through_once() {
    let count = 14;
    let mut files = Vec::new();
    for file in 0..count {
        let imports: Vec<_> = (0..count)
            .filter(|it| *it != file)
            .map(|it| format!("<import importType=\"https://www.omg.org/spec/DMN/20230324/MODEL/\" namespace=\"n{it}\" name=\"i\"/>"))
            .collect();
        let requirement = "<informationRequirement><requiredDecision href=\"nowhere#x\"/></informationRequirement>";
        let of = "i.".repeat(40) + "nothing";
        let text = format!(
            "<definitions xmlns=\"https://www.omg.org/spec/DMN/20230324/MODEL/\" name=\"m\" namespace=\"n{file}\">\
             {}<decision name=\"d\"><variable name=\"d\" typeRef=\"{of}\"/>{requirement}</decision></definitions>",
            imports.concat()
        );
        files.push((format!("{file}.dmn"), text));
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let errors = read(&files).diagnostics;
    let errors = errors.iter().filter(|it| it.severity == Severity::Error);
    assert_eq!(errors.count(), 2 * count);
}
