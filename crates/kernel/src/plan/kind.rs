//! What a node is called in the model, for those who look at it. Nothing is decided by that.

use super::Element;

/// What kind of element of a model a node was read from.
///
/// ```
/// # use travertine_kernel::ElementKind;
/// assert_eq!(ElementKind::ServiceTask.name(), "service_task");
/// assert_eq!(ElementKind::named("service_task"), Some(ElementKind::ServiceTask));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementKind {
    /// A process.
    Process,
    /// A sub-process.
    SubProcess,
    /// A sub-process that waits for an event.
    EventSubProcess,
    /// A transaction.
    Transaction,
    /// An ad-hoc sub-process.
    AdHocSubProcess,
    /// A multi-instance activity or a loop, around its runs.
    MultiInstanceBody,
    /// A call of another definition.
    CallActivity,
    /// A task without content.
    Task,
    /// A task that is done without the engine.
    ManualTask,
    /// A script.
    ScriptTask,
    /// Work for a person.
    UserTask,
    /// Work for a worker.
    ServiceTask,
    /// A decision, or a worker that makes it.
    BusinessRuleTask,
    /// A message that is sent.
    SendTask,
    /// A message that is waited for.
    ReceiveTask,
    /// A start event.
    StartEvent,
    /// An event that is waited for.
    IntermediateCatchEvent,
    /// An event that is made to happen.
    IntermediateThrowEvent,
    /// An event beside an activity.
    BoundaryEvent,
    /// An end event.
    EndEvent,
    /// A gateway that takes one flow.
    ExclusiveGateway,
    /// A gateway that takes all flows.
    ParallelGateway,
    /// A gateway that takes the flows whose conditions hold.
    InclusiveGateway,
    /// A gateway with a rule of its own.
    ComplexGateway,
    /// A gateway that waits for the first of several events.
    EventBasedGateway,
    /// The code of a function.
    Function,
    /// None of these.
    Unspecified,
}

impl ElementKind {
    /// All of them.
    ///
    /// ```
    /// # use travertine_kernel::ElementKind;
    /// assert!(ElementKind::ALL.contains(&ElementKind::UserTask));
    /// ```
    pub const ALL: [Self; 27] = [
        Self::Process,
        Self::SubProcess,
        Self::EventSubProcess,
        Self::Transaction,
        Self::AdHocSubProcess,
        Self::MultiInstanceBody,
        Self::CallActivity,
        Self::Task,
        Self::ManualTask,
        Self::ScriptTask,
        Self::UserTask,
        Self::ServiceTask,
        Self::BusinessRuleTask,
        Self::SendTask,
        Self::ReceiveTask,
        Self::StartEvent,
        Self::IntermediateCatchEvent,
        Self::IntermediateThrowEvent,
        Self::BoundaryEvent,
        Self::EndEvent,
        Self::ExclusiveGateway,
        Self::ParallelGateway,
        Self::InclusiveGateway,
        Self::ComplexGateway,
        Self::EventBasedGateway,
        Self::Function,
        Self::Unspecified,
    ];

    /// What it is called wherever it is data. That never changes.
    ///
    /// ```
    /// # use travertine_kernel::ElementKind;
    /// assert_eq!(ElementKind::BoundaryEvent.name(), "boundary_event");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::SubProcess => "sub_process",
            Self::EventSubProcess => "event_sub_process",
            Self::Transaction => "transaction",
            Self::AdHocSubProcess => "ad_hoc_sub_process",
            Self::MultiInstanceBody => "multi_instance_body",
            Self::CallActivity => "call_activity",
            Self::Task => "task",
            Self::ManualTask => "manual_task",
            Self::ScriptTask => "script_task",
            Self::UserTask => "user_task",
            Self::ServiceTask => "service_task",
            Self::BusinessRuleTask => "business_rule_task",
            Self::SendTask => "send_task",
            Self::ReceiveTask => "receive_task",
            Self::StartEvent => "start_event",
            Self::IntermediateCatchEvent => "intermediate_catch_event",
            Self::IntermediateThrowEvent => "intermediate_throw_event",
            Self::BoundaryEvent => "boundary_event",
            Self::EndEvent => "end_event",
            Self::ExclusiveGateway => "exclusive_gateway",
            Self::ParallelGateway => "parallel_gateway",
            Self::InclusiveGateway => "inclusive_gateway",
            Self::ComplexGateway => "complex_gateway",
            Self::EventBasedGateway => "event_based_gateway",
            Self::Function => "function",
            Self::Unspecified => "unspecified",
        }
    }

    /// The kind that is called so.
    ///
    /// ```
    /// # use travertine_kernel::ElementKind;
    /// assert_eq!(ElementKind::named("no_such_kind"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What does such a thing is mostly read from an element of this kind.
    pub(super) fn of(element: &Element) -> Self {
        match element {
            Element::Process(_) => Self::Process,
            Element::SubProcess(_) => Self::SubProcess,
            Element::Transaction(_) => Self::Transaction,
            Element::EventSubProcess(_) => Self::EventSubProcess,
            Element::AdHoc(_) => Self::AdHocSubProcess,
            Element::Start(_) => Self::StartEvent,
            Element::Task | Element::Decision => Self::Task,
            Element::Script { .. } => Self::ScriptTask,
            Element::BusinessRule(_) => Self::BusinessRuleTask,
            Element::Work(it) => match it.kind {
                super::WorkKind::Job => Self::ServiceTask,
                super::WorkKind::User => Self::UserTask,
            },
            Element::Send(_) => Self::SendTask,
            Element::Receive(_) => Self::ReceiveTask,
            Element::Function => Self::Function,
            Element::Catch(_) => Self::IntermediateCatchEvent,
            Element::Boundary(_) => Self::BoundaryEvent,
            Element::Throw(_) => Self::IntermediateThrowEvent,
            Element::Exclusive => Self::ExclusiveGateway,
            Element::Parallel | Element::FanOut | Element::FanIn(_) => Self::ParallelGateway,
            Element::Inclusive => Self::InclusiveGateway,
            Element::Complex { .. } => Self::ComplexGateway,
            Element::EventBased => Self::EventBasedGateway,
            Element::Call(_) | Element::Gosub { .. } => Self::CallActivity,
            Element::Pass => Self::Unspecified,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_kind_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ElementKind::ALL.into_iter().map(ElementKind::name).collect();
        assert_eq!(names.len(), ElementKind::ALL.len());
        for kind in ElementKind::ALL {
            assert_eq!(ElementKind::named(kind.name()), Some(kind));
        }
    }
}
