//! `execution`, as models made for Camunda 7 know it in scripts and expressions.

use travertine_value::Fact;

/// The fact that `execution` has under that name in models made for Camunda 7.
pub(crate) fn fact(name: &str) -> Option<Fact> {
    Some(match name {
        "id" | "processInstanceId" => Fact::Instance,
        "processBusinessKey" | "businessKey" => Fact::BusinessKey,
        "processDefinitionId" | "processDefinitionKey" => Fact::Process,
        "currentActivityId" => Fact::Element,
        "currentActivityName" => Fact::ElementName,
        _ => return None,
    })
}

/// What `execution` offers in scripts and expressions, besides what it knows of the instance.
const EXECUTION_METHODS: [&str; 4] =
    ["getVariable", "hasVariable", "setVariable", "removeVariable"];

/// Whether `execution` has something of that name.
pub fn execution_has(name: &str) -> bool {
    let getter = name.strip_prefix("get").map(|it| {
        let mut letters = it.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    });
    EXECUTION_METHODS.contains(&name)
        || fact(name).is_some()
        || getter.is_some_and(|it: String| fact(&it).is_some())
}
