//! REST v2, for clients that speak it already.
//!
//! `ROUTES` is the table of all operations; each file has those of one resource, `read` and `write` are the
//! forms on the wire, `problem` is what a refusal looks like.

mod batch;
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

use crate::{
    access::Permission,
    desk::{Desk, Outcome, Refusal},
    native,
};
use call::{Answer, Call};
pub(crate) use problem::status;

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
    /// Who may do it: whoever has one of these permissions; everybody who has logged in, where there is none.
    pub needs: &'static [Permission],
    handle: fn(Call) -> Handled,
}

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident [$($need:ident)*] => $handle:path;)*) => {
        /// All operations.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            operation: stringify!($operation),
            needs: &[$(Permission::$need),*],
            handle: |call| Box::pin($handle(call)),
        }),*];
    };
}

routes! {
    GET "/topology" getTopology [] => cluster::topology;
    GET "/status" getStatus [] => cluster::status;
    GET "/license" getLicense [] => cluster::license;
    GET "/authentication/me" getAuthentication [] => cluster::me;
    GET "/openapi.yaml" getOpenApi [] => cluster::description;
    PUT "/clock" pinClock [Admin] => cluster::pin_clock;
    POST "/clock/reset" resetClock [Admin] => cluster::reset_clock;

    POST "/deployments" createDeployment [Deploy] => deploy::create;
    GET "/resources/{resourceKey}" getResource [Read] => definition::resource_by_key;
    GET "/resources/{resourceKey}/content" getResourceContent [Read] => definition::resource_content;
    POST "/resources/{resourceKey}/deletion" deleteResource [Deploy] => definition::delete;
    POST "/process-definitions/search" searchProcessDefinitions [Read] => definition::search_processes;
    GET "/process-definitions/{processDefinitionKey}" getProcessDefinition [Read] => definition::process_by_key;
    GET "/process-definitions/{processDefinitionKey}/xml" getProcessDefinitionXML [Read] => definition::process_xml;
    GET "/process-definitions/{processDefinitionKey}/form" getStartProcessForm [Read Start] => definition::start_form;
    POST "/process-definitions/{processDefinitionKey}/statistics/element-instances"
        getProcessDefinitionStatistics [Read] => statistics::of_definition;
    POST "/decision-definitions/search" searchDecisionDefinitions [Read] => definition::search_decisions;
    GET "/decision-definitions/{decisionDefinitionKey}" getDecisionDefinition [Read] => definition::decision_by_key;
    GET "/decision-definitions/{decisionDefinitionKey}/xml" getDecisionDefinitionXML [Read] => definition::decision_xml;
    POST "/decision-definitions/evaluation" evaluateDecision [Decide] => decision::evaluate;
    POST "/decision-requirements/search" searchDecisionRequirements [Read] => definition::search_graphs;
    GET "/decision-requirements/{decisionRequirementsKey}" getDecisionRequirements [Read] => definition::graph_by_key;
    GET "/decision-requirements/{decisionRequirementsKey}/xml" getDecisionRequirementsXML [Read] => definition::graph_xml;
    GET "/forms/{formKey}" getFormByKey [Read] => definition::form_by_key;
    POST "/expression/evaluation" evaluateExpression [Decide] => expression::evaluate;

    POST "/process-instances" createProcessInstance [Start] => instance::create;
    POST "/process-instances/search" searchProcessInstances [Read] => instance::search_instances;
    GET "/process-instances/{processInstanceKey}" getProcessInstance [Read] => instance::by_key;
    POST "/process-instances/{processInstanceKey}/cancellation" cancelProcessInstance [Operate] => instance::cancel;
    POST "/process-instances/{processInstanceKey}/modification" modifyProcessInstance [Operate] => operate::modify;
    POST "/process-instances/{processInstanceKey}/migration" migrateProcessInstance [Operate] => operate::migrate;
    POST "/process-instances/{processInstanceKey}/suspension" suspendProcessInstance [Operate] => operate::suspend;
    POST "/process-instances/{processInstanceKey}/resumption" resumeProcessInstance [Operate] => operate::resume;
    POST "/process-instances/{processInstanceKey}/deletion" deleteProcessInstance [Admin] => operate::delete;
    POST "/process-instances/{processInstanceKey}/incidents/search"
        searchProcessInstanceIncidents [Read] => incident::search_of_instance;
    POST "/process-instances/{processInstanceKey}/incident-resolution"
        resolveProcessInstanceIncidents [Operate] => incident::resolve_all;
    GET "/process-instances/{processInstanceKey}/statistics/element-instances"
        getProcessInstanceStatistics [Read] => statistics::of_instance;
    GET "/process-instances/{processInstanceKey}/sequence-flows"
        getProcessInstanceSequenceFlows [Read] => statistics::flows;
    GET "/process-instances/{processInstanceKey}/call-hierarchy"
        getProcessInstanceCallHierarchy [Read] => instance::call_hierarchy;
    POST "/process-instances/cancellation" cancelProcessInstancesBatchOperation [Operate] => batch::cancel_instances;
    POST "/process-instances/incident-resolution" resolveIncidentsBatchOperation [Operate] => batch::resolve_incidents;
    POST "/process-instances/migration" migrateProcessInstancesBatchOperation [Operate] => batch::migrate_instances;
    POST "/process-instances/modification" modifyProcessInstancesBatchOperation [Operate] => batch::modify_instances;
    POST "/process-instances/suspension" suspendProcessInstancesBatchOperation [Operate] => batch::suspend_instances;
    POST "/process-instances/resumption" resumeProcessInstancesBatchOperation [Operate] => batch::resume_instances;
    POST "/process-instances/deletion" deleteProcessInstancesBatchOperation [Admin] => batch::delete_instances;
    GET "/batch-operations/{batchOperationKey}" getBatchOperation [Read] => batch::batch_by_key;
    POST "/batch-operations/search" searchBatchOperations [Read] => batch::search_batches;
    POST "/batch-operations/{batchOperationKey}/cancellation" cancelBatchOperation [Operate Admin] => batch::cancel_batch;
    POST "/batch-operations/{batchOperationKey}/suspension" suspendBatchOperation [Operate Admin] => batch::suspend_batch;
    POST "/batch-operations/{batchOperationKey}/resumption" resumeBatchOperation [Operate Admin] => batch::resume_batch;
    POST "/batch-operation-items/search" searchBatchOperationItems [Read] => batch::search_items;

    POST "/element-instances/search" searchElementInstances [Read] => element::search_elements;
    GET "/element-instances/{elementInstanceKey}" getElementInstance [Read] => element::element_by_key;
    PUT "/element-instances/{elementInstanceKey}/variables"
        createElementInstanceVariables [Operate] => element::set_variables;
    POST "/element-instances/{elementInstanceKey}/incidents/search"
        searchElementInstanceIncidents [Read] => incident::search_of_element;
    POST "/variables/search" searchVariables [Read] => element::search_variables;
    GET "/variables/{variableKey}" getVariable [Read] => element::variable_by_key;
    POST "/incidents/search" searchIncidents [Read] => incident::search;
    GET "/incidents/{incidentKey}" getIncident [Read] => incident::by_key;
    POST "/incidents/{incidentKey}/resolution" resolveIncident [Operate] => incident::resolve;

    POST "/jobs/activation" activateJobs [Work] => job::activate;
    POST "/jobs/search" searchJobs [Read] => job::search_jobs;
    POST "/jobs/{jobKey}/completion" completeJob [Work] => job::complete;
    POST "/jobs/{jobKey}/failure" failJob [Work] => job::fail;
    POST "/jobs/{jobKey}/error" throwJobError [Work] => job::throw_error;
    PATCH "/jobs/{jobKey}" updateJob [Work Operate] => job::update;

    POST "/user-tasks/search" searchUserTasks [Read Task] => task::search_tasks;
    GET "/user-tasks/{userTaskKey}" getUserTask [Read Task] => task::by_key;
    PATCH "/user-tasks/{userTaskKey}" updateUserTask [Operate] => task::update;
    PATCH "/user-tasks/{userTaskKey}/update" updateUserTaskLegacy [Operate] => task::update;
    POST "/user-tasks/{userTaskKey}/assignment" assignUserTask [Operate Task] => task::assign;
    DELETE "/user-tasks/{userTaskKey}/assignee" unassignUserTask [Operate Task] => task::unassign;
    POST "/user-tasks/{userTaskKey}/completion" completeUserTask [Operate Task] => task::complete;
    POST "/user-tasks/{userTaskKey}/variables/search" searchUserTaskVariables [Read Task] => element::task_variables;
    POST "/user-tasks/{userTaskKey}/effective-variables/search"
        searchUserTaskEffectiveVariables [Read Task] => element::effective_variables;
    GET "/user-tasks/{userTaskKey}/form" getUserTaskForm [Read Task] => task::form;

    POST "/messages/publication" publishMessage [Message] => message::publish;
    POST "/messages/correlation" correlateMessage [Message] => message::correlate;
    POST "/message-subscriptions/search" searchMessageSubscriptions [Read] => subscription::search;
    POST "/signals/broadcast" broadcastSignal [Message] => message::broadcast;
}

/// The routes of REST v2, below `/v2`.
pub fn routes(desk: Desk) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let (handle, needs) = (route.handle, route.needs);
        let filter = Method::from_bytes(route.method.as_bytes())
            .ok()
            .and_then(|it| MethodFilter::try_from(it).ok())
            .expect("the table has methods of HTTP");
        let answer = move |State(desk): State<Desk>, request: Request| async move {
            let path = request.uri().path().to_owned();
            let answer = match Call::new(&desk, needs, request).await {
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
    if native::is_native(path) {
        return native::no_such_path(request.method(), path);
    }
    let detail = format!("there is no operation {} {path}", request.method());
    problem::response(&Refusal::new(Outcome::NotFound, detail), path)
}
