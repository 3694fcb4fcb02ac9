//! REST v2, for clients that speak it already.
//!
//! `ROUTES` is the table of all operations; each file has those of one resource, `read` and `write` are the
//! forms on the wire, `problem` is what a refusal looks like.

mod call;
mod cluster;
mod decision;
mod definition;
mod deploy;
mod element;
mod expression;
mod incident;
mod instance;
mod job;
mod list;
mod message;
mod operate;
mod problem;
mod read;
mod search;
mod statistics;
mod subscription;
mod task;
mod write;

use std::{future::Future, pin::Pin};

use axum::{
    Router,
    extract::{Request, State},
    routing::{MethodFilter, on},
};
use http::Method;

use crate::desk::{Desk, Outcome, Refusal};
use call::{Answer, Call};

type Handled = Pin<Box<dyn Future<Output = Result<Answer, Refusal>> + Send>>;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method of HTTP.
    pub method: &'static str,
    /// The path below `/v2`.
    pub path: &'static str,
    /// What clients call it.
    pub operation: &'static str,
    handle: fn(Call) -> Handled,
}

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident => $handle:path;)*) => {
        /// All operations.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            operation: stringify!($operation),
            handle: |call| Box::pin($handle(call)),
        }),*];
    };
}

routes! {
    GET "/topology" getTopology => cluster::topology;
    GET "/status" getStatus => cluster::status;
    GET "/license" getLicense => cluster::license;
    GET "/authentication/me" getAuthentication => cluster::me;
    GET "/openapi.yaml" getOpenApi => cluster::description;

    POST "/deployments" createDeployment => deploy::create;
    GET "/resources/{resourceKey}" getResource => definition::resource_by_key;
    GET "/resources/{resourceKey}/content" getResourceContent => definition::resource_content;
    POST "/resources/{resourceKey}/deletion" deleteResource => definition::delete;
    POST "/process-definitions/search" searchProcessDefinitions => definition::search_processes;
    GET "/process-definitions/{processDefinitionKey}" getProcessDefinition => definition::process_by_key;
    GET "/process-definitions/{processDefinitionKey}/xml" getProcessDefinitionXML => definition::process_xml;
    GET "/process-definitions/{processDefinitionKey}/form" getStartProcessForm => definition::start_form;
    POST "/process-definitions/{processDefinitionKey}/statistics/element-instances"
        getProcessDefinitionStatistics => statistics::of_definition;
    POST "/decision-definitions/search" searchDecisionDefinitions => definition::search_decisions;
    GET "/decision-definitions/{decisionDefinitionKey}" getDecisionDefinition => definition::decision_by_key;
    GET "/decision-definitions/{decisionDefinitionKey}/xml" getDecisionDefinitionXML => definition::decision_xml;
    POST "/decision-definitions/evaluation" evaluateDecision => decision::evaluate;
    POST "/decision-requirements/search" searchDecisionRequirements => definition::search_graphs;
    GET "/decision-requirements/{decisionRequirementsKey}" getDecisionRequirements => definition::graph_by_key;
    GET "/decision-requirements/{decisionRequirementsKey}/xml" getDecisionRequirementsXML => definition::graph_xml;
    GET "/forms/{formKey}" getFormByKey => definition::form_by_key;
    POST "/expression/evaluation" evaluateExpression => expression::evaluate;

    POST "/process-instances" createProcessInstance => instance::create;
    POST "/process-instances/search" searchProcessInstances => instance::search_instances;
    GET "/process-instances/{processInstanceKey}" getProcessInstance => instance::by_key;
    POST "/process-instances/{processInstanceKey}/cancellation" cancelProcessInstance => instance::cancel;
    POST "/process-instances/{processInstanceKey}/modification" modifyProcessInstance => operate::modify;
    POST "/process-instances/{processInstanceKey}/migration" migrateProcessInstance => operate::migrate;
    POST "/process-instances/{processInstanceKey}/suspension" suspendProcessInstance => operate::suspend;
    POST "/process-instances/{processInstanceKey}/resumption" resumeProcessInstance => operate::resume;
    POST "/process-instances/{processInstanceKey}/deletion" deleteProcessInstance => operate::delete;
    POST "/process-instances/{processInstanceKey}/incidents/search"
        searchProcessInstanceIncidents => incident::search_of_instance;
    POST "/process-instances/{processInstanceKey}/incident-resolution"
        resolveProcessInstanceIncidents => incident::resolve_all;
    GET "/process-instances/{processInstanceKey}/statistics/element-instances"
        getProcessInstanceStatistics => statistics::of_instance;
    GET "/process-instances/{processInstanceKey}/sequence-flows"
        getProcessInstanceSequenceFlows => statistics::flows;
    GET "/process-instances/{processInstanceKey}/call-hierarchy"
        getProcessInstanceCallHierarchy => instance::call_hierarchy;
    POST "/element-instances/search" searchElementInstances => element::search_elements;
    GET "/element-instances/{elementInstanceKey}" getElementInstance => element::element_by_key;
    PUT "/element-instances/{elementInstanceKey}/variables"
        createElementInstanceVariables => element::set_variables;
    POST "/variables/search" searchVariables => element::search_variables;
    GET "/variables/{variableKey}" getVariable => element::variable_by_key;
    POST "/incidents/search" searchIncidents => incident::search;
    GET "/incidents/{incidentKey}" getIncident => incident::by_key;
    POST "/incidents/{incidentKey}/resolution" resolveIncident => incident::resolve;

    POST "/jobs/activation" activateJobs => job::activate;
    POST "/jobs/search" searchJobs => job::search_jobs;
    POST "/jobs/{jobKey}/completion" completeJob => job::complete;
    POST "/jobs/{jobKey}/failure" failJob => job::fail;
    POST "/jobs/{jobKey}/error" throwJobError => job::throw_error;
    PATCH "/jobs/{jobKey}" updateJob => job::update;

    POST "/user-tasks/search" searchUserTasks => task::search_tasks;
    GET "/user-tasks/{userTaskKey}" getUserTask => task::by_key;
    PATCH "/user-tasks/{userTaskKey}" updateUserTask => task::update;
    PATCH "/user-tasks/{userTaskKey}/update" updateUserTaskLegacy => task::update;
    POST "/user-tasks/{userTaskKey}/assignment" assignUserTask => task::assign;
    DELETE "/user-tasks/{userTaskKey}/assignee" unassignUserTask => task::unassign;
    POST "/user-tasks/{userTaskKey}/completion" completeUserTask => task::complete;
    POST "/user-tasks/{userTaskKey}/variables/search" searchUserTaskVariables => element::task_variables;
    POST "/user-tasks/{userTaskKey}/effective-variables/search"
        searchUserTaskEffectiveVariables => element::task_variables;
    GET "/user-tasks/{userTaskKey}/form" getUserTaskForm => task::form;

    POST "/messages/publication" publishMessage => message::publish;
    POST "/messages/correlation" correlateMessage => message::correlate;
    POST "/message-subscriptions/search" searchMessageSubscriptions => subscription::search;
    POST "/signals/broadcast" broadcastSignal => message::broadcast;
}

/// The routes of REST v2, below `/v2`.
pub fn routes(desk: Desk) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let handle = route.handle;
        let filter = Method::from_bytes(route.method.as_bytes())
            .ok()
            .and_then(|it| MethodFilter::try_from(it).ok())
            .expect("the table has methods of HTTP");
        let answer = move |State(desk): State<Desk>, request: Request| async move {
            let path = request.uri().path().to_owned();
            let answer = match Call::new(desk, request).await {
                Ok(call) => handle(call).await,
                Err(refusal) => Err(refusal),
            };
            match answer {
                Ok(answer) => answer.into_response(),
                Err(refusal) => problem::response(&refusal, &path),
            }
        };
        router = router.route(&format!("/v2{}", route.path), on(filter, answer));
    }
    let router = router.fallback(no_such_path).method_not_allowed_fallback(no_such_path);
    router.with_state(desk)
}

async fn no_such_path(request: Request) -> axum::response::Response {
    let path = request.uri().path();
    let detail = format!("there is no operation {} {path}", request.method());
    problem::response(&Refusal::new(Outcome::NotFound, detail), path)
}
