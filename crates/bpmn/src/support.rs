//! `docs/bpmn-support.md`, written from the tables that the reader uses.

use std::fmt::Write;

use crate::{
    extension::{CAMUNDA7, CAMUNDA8, Executed, FLEANS, IGNORED, NATIVE, NO_EFFECT},
    report::Verdict,
    schema::{self, INTERRUPTING, Kind, Position},
    validate::rules,
};

const HEAD: &str = "\
# What becomes of BPMN

This page is written from the tables that the reader of models uses; a test fails when it is stale
(`UPDATE_EXPECT=1 cargo test -p travertine-bpmn` writes it anew). `travertine check` answers the same
for a model of yours, element by element.

- **executed**: it does what the standard says.
- **no effect**: it does not change what happens. Where it would elsewhere, there is a warning.
- **rejected**: a model with it cannot be deployed, and the report says where and why.

Whatever stands in none of these tables is not BPMN, and rejected. Abstract types, which no model
contains, are left out.
";

/// The text of `docs/bpmn-support.md`.
pub fn support_page() -> String {
    let mut page = HEAD.to_owned();
    page += "\n## Elements\n\n";
    page +=
        "Attributes in *italics* change nothing; `id` and `name` are for people and references,\n";
    page += "`gatewayDirection` and `processType` are checked and have no other effect.\n";
    page += "Data and correlation, message flows too, have no effect in models made for Camunda.\n";
    for (title, kinds) in schema::groups() {
        elements(&mut page, title, kinds);
    }
    positions(&mut page);
    standard(&mut page);
    page += "\n## Extensions\n\n";
    page += "`docs/extensions.md` explains our own, with examples. ";
    page += "Those of other engines are read in models made for them.\n";
    executed(&mut page, "Travertine", NATIVE);
    executed(&mut page, "Camunda 7", CAMUNDA7);
    executed(&mut page, "Camunda 8", CAMUNDA8);
    executed(&mut page, "Fleans", FLEANS);
    page += "\nA file is taken for one of Fleans by its namespaces, by C# in scripts, `_context.` in expressions, \
             `type` on\na service task, a `cancelEndEvent`, or these attributes of multi-instance activities. \
             Scripts assign\nvariables and throw; a failure is a BPMN error with the code `500`. Plain tasks \
             wait to be completed,\na sub-process hands over all its variables, and branches between a fork and \
             its join have variables\nof their own.\n";
    page += "\n### BPMNOS: only in scenarios\n\nWhatever is in its namespace is rejected by name (TV0730) where a model is \
             deployed or run\nas a process: such models are run as scenarios, which docs/bpmnos.md explains.\n";
    without_effect(&mut page);
    page
}

/// The extensions that the page calls executed, as answers call them.
pub fn executed_extensions() -> impl Iterator<Item = &'static str> {
    [NATIVE, CAMUNDA7, CAMUNDA8].into_iter().flatten().map(|(kind, _, _)| *kind)
}

fn line(page: &mut String, cells: &[&str]) {
    writeln!(page, "| {} |", cells.join(" | ")).expect("a text takes everything");
}

fn head(page: &mut String, title: &str, cells: &[&str]) {
    writeln!(page, "\n{title}\n").expect("a text takes everything");
    line(page, cells);
    writeln!(page, "|{}", "---|".repeat(cells.len())).expect("a text takes everything");
}

fn elements(page: &mut String, title: &str, kinds: &[Kind]) {
    let title = format!("### {title}");
    head(page, &title, &["element", "verdict", "attributes", "remarks"]);
    for kind in kinds.iter().filter(|it| !is_abstract(it.name)) {
        let attributes: Vec<_> = schema::attributes(kind.name)
            .iter()
            .filter(|it| !["id", "name"].contains(&it.name))
            .map(|it| match (kind.verdict, it.verdict) {
                (Verdict::Executed, Verdict::NoEffect) => format!("*{}*", it.name),
                _ => it.name.to_owned(),
            })
            .collect();
        let name = format!("`{}`", kind.name);
        line(page, &[&name, &kind.verdict.to_string(), &attributes.join(", "), kind.note]);
    }
}

/// Types that the standard's schemas call abstract, or that no element is called by.
fn is_abstract(name: &str) -> bool {
    [
        "baseElement",
        "rootElement",
        "callableElement",
        "flowElement",
        "flowNode",
        "gateway",
        "activity",
        "loopCharacteristics",
        "anyEvent",
        "catchEvent",
        "throwEvent",
        "eventDefinition",
        "artifact",
        "conversationNode",
        "choreographyActivity",
    ]
    .contains(&name)
}

fn positions(page: &mut String) {
    *page += "\n## Events\n\n";
    *page += "Which event definition may stand where, and what happens then. Without a definition, start \
              events\nstart, throw events pass and end events end; catch and boundary events are \
              rejected. Several\ndefinitions are executed as any of them, or all of them with \
              `parallelMultiple`, except that a link\nstands alone. Start events of embedded sub-processes \
              have none.\n";
    let definitions: Vec<_> = schema::kinds()
        .filter(|it| it.base == "eventDefinition")
        .map(|it| it.name.trim_end_matches("EventDefinition"))
        .collect();
    for position in Position::ALL {
        let title = format!("### {}", position.title());
        head(page, &title, &["definition", "verdict", "what happens"]);
        for &definition in &definitions {
            let rule = schema::events()
                .iter()
                .find(|it| it.definition == definition && it.position == position);
            let guards = matches!(position, Position::EventSubProcess | Position::Boundary);
            let note = match rule {
                Some(rule) if guards && INTERRUPTING.contains(&definition) => {
                    format!("{}; always interrupts", rule.note)
                }
                Some(rule) => rule.note.to_owned(),
                None => String::new(),
            };
            let verdict = if rule.is_some() { Verdict::Executed } else { Verdict::Rejected };
            line(page, &[definition, &verdict.to_string(), &note]);
        }
    }
}

/// The rules that no schema states.
fn standard(page: &mut String) {
    *page += "\n## Rules of the standard\n\n";
    *page += "The standard has rules on structure that its schema cannot state; studies of it number them. Each is\n\
              answered: by an error where nobody could say what executing a model means, by a warning or a\n\
              note otherwise. Where a rule has several codes, or breaking it can mean several things, the\n\
              mildest answer is given. With `--strict`, `travertine check` and `travertine deploy` refuse\n\
              whatever breaks one of these rules, also in processes that are not executable.\n";
    let mut area = "";
    for rule in rules() {
        if rule.area != area {
            area = rule.area;
            head(
                page,
                &format!("### Rules: {area}"),
                &["rule", "what it asks for", "code", "severity"],
            );
        }
        let numbers: Vec<_> = rule.numbers.iter().map(ToString::to_string).collect();
        let severity = rule.severity.to_string();
        line(page, &[&numbers.join(", "), rule.words, &rule.codes.join(", "), &severity]);
    }
}

fn executed(page: &mut String, title: &str, extensions: &[Executed]) {
    let title = format!("### {title}: executed");
    head(page, &title, &["extension", "on", "meaning"]);
    for (kind, on, meaning) in extensions {
        line(page, &[&format!("`{kind}`"), on, meaning]);
    }
}

fn without_effect(page: &mut String) {
    let title = "### Camunda 7 and 8: no effect, with a reason and without a warning";
    head(page, title, &["extension", "reason"]);
    for (name, reason) in NO_EFFECT {
        line(page, &[&format!("`{name}`"), reason]);
    }
    let title = "### Camunda 7 and 8: no effect, with a warning (TV0702)";
    head(page, title, &["extension", "way out"]);
    for (name, way_out) in IGNORED {
        line(page, &[&format!("`{name}`"), way_out]);
    }
    *page += "\nEvery other extension of these and other engines gets that warning too, and what tools write for themselves \
              a note; one of\nours that is misspelt is rejected. What Activiti and Flowable write in their own namespaces is read \
              as that of\nCamunda 7, which comes from the same source.\n";
}
