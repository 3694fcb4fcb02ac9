//! Extensions of other engines that we know and deliberately do not execute.

use crate::xml::Ns;

/// Known to say nothing about what happens, with the reason.
const NO_EFFECT: &[(&str, &str)] = &[
    ("asyncBefore", "every step is durable, so there is nothing to ask for"),
    ("asyncAfter", "every step is durable, so there is nothing to ask for"),
    ("async", "every step is durable, so there is nothing to ask for"),
    ("exclusive", "one instance never runs on two threads"),
    ("jobPriority", "jobs are handed out in the order they came"),
    ("taskPriority", "jobs are handed out in the order they came"),
    ("historyTimeToLive", "retention is a setting of the engine"),
    ("isStartableInTasklist", "for user interfaces"),
    ("candidateStarterGroups", "who may start is a setting of the engine"),
    ("candidateStarterUsers", "who may start is a setting of the engine"),
    ("versionTag", "for people"),
    ("modelerTemplate", "for the modeler"),
    ("modelerTemplateVersion", "for the modeler"),
    ("modelerTemplateIcon", "for the modeler"),
    ("diagramRelationId", "for the modeler"),
    ("errorMessage", "for people"),
    ("formData", "forms belong to the user interface"),
    ("formProperty", "forms belong to the user interface"),
    ("userTaskForm", "forms belong to the user interface"),
    ("properties", "for tools"),
    ("modelerProperties", "for the modeler"),
    ("userTask", "every user task is one that the engine keeps"),
    ("initiator", "who starts an instance is kept by the engine"),
];

/// Why an extension has no effect; `None` where it is not one of those we know.
pub(crate) fn note(ns: &Ns, name: &str) -> Option<&'static str> {
    if !matches!(ns, Ns::Camunda | Ns::Zeebe) {
        return None;
    }
    NO_EFFECT.iter().find(|(known, _)| *known == name).map(|(_, note)| *note)
}

/// The way out for an extension that has no effect.
pub(crate) fn help(ns: &Ns, name: &str) -> &'static str {
    match (ns, name) {
        (Ns::Camunda | Ns::Zeebe, "executionListener" | "taskListener" | "executionListeners") => {
            "listeners are not called; put a task into the flow instead"
        }
        (Ns::Travertine, _) => "docs/extensions.md says which extension stands where",
        _ => "remove it if you do not need it",
    }
}
