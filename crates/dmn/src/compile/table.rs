//! Decision tables.

use travertine_lang::feel::Names;
use travertine_value::Name;
use travertine_xml::Node;

use super::{Compiler, reads::Reads};
use crate::{
    logic::{Hit, Input, Output, Rule, Table},
    name, source,
    text::{Tests, Text},
    types::{Shape, TypeId},
};

impl<'a> Compiler<'a> {
    /// Compiles a table whose result becomes one of type `whole`.
    pub(super) fn table(
        &mut self,
        node: Node<'a>,
        names: &Names,
        whole: TypeId,
        reads: &mut Reads,
    ) -> Table {
        let hit = self.hit(node);
        let inputs: Vec<_> =
            node.all("input").filter_map(|it| self.input(it, names, reads)).collect();
        let single = node.all("output").nth(1).is_none();
        let whole = if single { whole } else { TypeId::ANY };
        let outputs: Vec<_> =
            node.all("output").map(|it| self.output(it, names, whole, reads)).collect();
        if outputs.is_empty() {
            let message = format!("{} has no output", node.title());
            self.sink.error("TV2201", node, message, "add an output");
        }
        self.check_outputs(node, hit, &outputs);
        let shape = (node.all("input").count(), outputs.len());
        let rules = node.all("rule").map(|it| self.rule(it, shape, names, reads)).collect();
        Table { hit, inputs, outputs, rules }
    }

    fn hit(&self, node: Node<'a>) -> Hit {
        let policy = node.attr("hitPolicy").unwrap_or("UNIQUE").trim();
        let aggregation = node.attr("aggregation").map(str::trim);
        match (policy, aggregation) {
            ("UNIQUE", _) => Hit::Unique,
            ("ANY", _) => Hit::Any,
            ("PRIORITY", _) => Hit::Priority,
            ("FIRST", _) => Hit::First,
            ("RULE ORDER", _) => Hit::RuleOrder,
            ("OUTPUT ORDER", _) => Hit::OutputOrder,
            ("COLLECT", None) => Hit::Collect,
            ("COLLECT", Some("SUM")) => Hit::Sum,
            ("COLLECT", Some("MIN")) => Hit::Min,
            ("COLLECT", Some("MAX")) => Hit::Max,
            ("COLLECT", Some("COUNT")) => Hit::Count,
            ("COLLECT", Some(other)) => {
                let message = format!("there is no aggregation '{other}'");
                self.sink.error("TV2202", node, message, "use SUM, MIN, MAX or COUNT");
                Hit::Collect
            }
            (other, _) => {
                self.sink.error(
                    "TV2203",
                    node,
                    format!("there is no hit policy '{other}'"),
                    "use UNIQUE, ANY, PRIORITY, FIRST, RULE ORDER, OUTPUT ORDER or COLLECT",
                );
                Hit::Unique
            }
        }
    }

    fn check_outputs(&self, node: Node<'a>, hit: Hit, outputs: &[Output]) {
        let is_ordered = matches!(hit, Hit::Priority | Hit::OutputOrder);
        if is_ordered && outputs.iter().all(|it| it.allowed.is_empty()) {
            let message = format!("{} does not say which output comes first", node.title());
            self.sink.error("TV2204", node, message, "list the outputValues, most important first");
        }
        if outputs.len() > 1 {
            for output in node.all("output").filter(|it| it.attr("name").is_none()) {
                let message = "an output among several needs a name".to_owned();
                self.sink.error(
                    "TV2205",
                    output,
                    message,
                    "it is the name of its entry in the result",
                );
            }
        }
    }

    fn input(&mut self, node: Node<'a>, names: &Names, reads: &mut Reads) -> Option<Input> {
        let expression = node.child("inputExpression");
        let text = expression.and_then(|it| it.child("text"));
        let text = text.filter(|it| !it.text().trim().is_empty());
        let Some(text) = text else {
            let message = format!("{} has no expression", node.title());
            self.sink.error(
                "TV2206",
                node,
                message,
                "say what is tested, such as the name of an input",
            );
            return None;
        };
        let allowed = node.child("inputValues").and_then(|it| it.child("text"));
        let allowed = allowed.filter(|it| !is_anything(*it));
        let allowed = allowed.and_then(|it| self.tests(it, names, reads));
        let of = expression.map_or(TypeId::ANY, |it| self.type_ref(it));
        let label = node.attr("label").map_or_else(|| name::tidy(text.text()), name::tidy);
        let expression = self.text(text, names, reads)?;
        Some(Input { id: id_of(node), label: label.into(), expression, of, allowed })
    }

    fn output(
        &mut self,
        node: Node<'a>,
        names: &Names,
        whole: TypeId,
        reads: &mut Reads,
    ) -> Output {
        let of = self.type_ref(node);
        let values = node.child("outputValues").and_then(|it| it.child("text"));
        let allowed = match values.filter(|it| !is_anything(*it)) {
            Some(values) => source::tests_apart(values, names, self.sink),
            None => self.allowed_by(if of == TypeId::ANY { whole } else { of }),
        };
        let default = node.child("defaultOutputEntry").and_then(|it| it.child("text"));
        let default = default.filter(|it| !it.text().trim().is_empty());
        let title = node.attr("name").or_else(|| node.attr("label")).unwrap_or("result");
        Output {
            id: id_of(node),
            name: name::tidy(title).into(),
            of,
            allowed,
            default: default.and_then(|it| self.text(it, names, reads)),
        }
    }

    /// The allowed values of a type, one by one.
    fn allowed_by(&self, of: TypeId) -> Vec<Tests> {
        let mut of = of;
        loop {
            let known = self.types.get(of);
            match (&known.allowed, &known.shape) {
                (Some(tests), _) => {
                    return source::tests_of(tests.source(), &tests.spot, &Names::new());
                }
                (None, Shape::Same(other) | Shape::List(other)) => of = *other,
                (None, Shape::Plain(_) | Shape::Context(_) | Shape::Function { .. }) => {
                    return Vec::new();
                }
            }
        }
    }

    fn rule(
        &self,
        node: Node<'a>,
        (inputs, outputs): (usize, usize),
        names: &Names,
        reads: &mut Reads,
    ) -> Rule {
        let count = |kind: &str| node.all(kind).count();
        for (kind, has, needs) in [
            ("inputEntry", count("inputEntry"), inputs),
            ("outputEntry", count("outputEntry"), outputs),
        ] {
            if has != needs {
                let message = format!("the rule has {has} {kind} where the table needs {needs}");
                self.sink.error("TV2207", node, message, "give each column of the table one entry");
            }
        }
        let entries = |kind: &'static str| node.all(kind).map(|it| it.child("text"));
        let tests = entries("inputEntry").map(|it| {
            let text = it.filter(|it| !is_anything(*it))?;
            self.tests(text, names, reads)
        });
        let tests = tests.collect();
        let outputs = entries("outputEntry").map(|it| {
            let text = it.filter(|it| !is_anything(*it))?;
            self.text(text, names, reads)
        });
        let outputs: Vec<Option<Text>> = outputs.collect();
        Rule { id: id_of(node), tests, outputs }
    }

    fn tests(&self, node: Node<'a>, names: &Names, reads: &mut Reads) -> Option<Tests> {
        let tests = source::tests(node, names, self.sink)?;
        reads.add(tests.compiled.reads(), tests.compiled.needs());
        Some(tests)
    }
}

fn id_of(node: Node<'_>) -> Option<Name> {
    node.id().filter(|it| !it.is_empty()).map(Name::from)
}

/// An empty cell, or one with a dash.
fn is_anything(node: Node<'_>) -> bool {
    matches!(node.text().trim(), "" | "-")
}
