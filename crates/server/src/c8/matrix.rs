//! Who may do what over the protocols of Camunda 8. What must come of it stands here, and not in the tables that it is
//! about.

use prost::Message;
use tonic::transport::{Channel, Endpoint};
use travertine_store::{
    search::{Condition, ElementColumn, Search, Test},
    view::Table,
};

use super::{
    grpc::{entrance::Rpc, gateway::*},
    rest::ROUTES,
};
use crate::{
    Role,
    matrix::{
        self,
        About::{self, All, Everything, Name, Nothing, Object},
        DEPLOYERS, EVERYBODY, Keys, OPERATORS, READERS, Row, TASK_READERS, TASKS, WORKERS, World,
        number, process,
    },
};

const STARTERS: &str = OPERATORS;

/// The instances of a batch.
const MEANT: &str = "{'filter': {'processDefinitionId': 'SIDE-order'}}";

/// Each operation of REST: what it is about, who may do it, and what is sent.
fn operations() -> Vec<Row> {
    let row = Row::new;
    let none = "";
    let all = "{}";
    vec![
        row("getTopology", Nothing, EVERYBODY, none),
        row("getStatus", Nothing, EVERYBODY, none),
        row("getLicense", Nothing, EVERYBODY, none),
        row("getAuthentication", Nothing, EVERYBODY, none),
        row("getOpenApi", Nothing, EVERYBODY, none),
        row("pinClock", Everything, "admin", "{'timestamp': 9000000000000}"),
        row("resetClock", Everything, "admin", none),
        row("createDeployment", Name, DEPLOYERS, none),
        row("getResource", Object, READERS, none),
        row("getResourceContent", Object, READERS, none),
        row("deleteResource", Object, DEPLOYERS, none),
        row("searchProcessDefinitions", All, READERS, all),
        row("getProcessDefinition", Object, READERS, none),
        row("getProcessDefinitionXML", Object, READERS, none),
        row("getStartProcessForm", Object, READERS, none),
        row("getProcessDefinitionStatistics", Object, READERS, all),
        row("searchDecisionDefinitions", All, READERS, all),
        row("getDecisionDefinition", Object, READERS, none),
        row("getDecisionDefinitionXML", Object, READERS, none),
        row("evaluateDecision", Object, OPERATORS, "{'decisionDefinitionId': 'SIDE-price'}"),
        row("searchDecisionRequirements", All, READERS, all),
        row("getDecisionRequirements", Object, READERS, none),
        row("getDecisionRequirementsXML", Object, READERS, none),
        row("getFormByKey", Object, READERS, none),
        row(
            "evaluateExpression",
            Object,
            OPERATORS,
            "{'expression': '=1', 'scopeKey': 'INSTANCE'}",
        )
        .and_reads(),
        row("createProcessInstance", Object, STARTERS, "{'processDefinitionId': 'SIDE-order'}"),
        row("searchProcessInstances", All, READERS, all),
        row("getProcessInstance", Object, READERS, none),
        row("cancelProcessInstance", Object, OPERATORS, none),
        row(
            "modifyProcessInstance",
            Object,
            OPERATORS,
            "{'activateInstructions': [{'elementId': 'work'}]}",
        ),
        row(
            "migrateProcessInstance",
            Object,
            OPERATORS,
            "{'targetProcessDefinitionKey': 'DEFINITION', 'mappingInstructions': []}",
        ),
        row("suspendProcessInstance", Object, OPERATORS, none),
        row("resumeProcessInstance", Object, OPERATORS, none),
        row("deleteProcessInstance", Object, "admin", none),
        row("searchProcessInstanceIncidents", Object, READERS, all),
        row("resolveProcessInstanceIncidents", Object, OPERATORS, none),
        row("getProcessInstanceStatistics", Object, READERS, none),
        row("getProcessInstanceSequenceFlows", Object, READERS, none),
        row("getProcessInstanceCallHierarchy", Object, READERS, none),
        row("cancelProcessInstancesBatchOperation", Nothing, OPERATORS, MEANT),
        row("resolveIncidentsBatchOperation", Nothing, OPERATORS, MEANT),
        row(
            "migrateProcessInstancesBatchOperation",
            Nothing,
            OPERATORS,
            "{'filter': {'processDefinitionId': 'SIDE-order'}, 'migrationPlan':
                    {'targetProcessDefinitionKey': 'DEFINITION', 'mappingInstructions': []}}",
        ),
        row(
            "modifyProcessInstancesBatchOperation",
            Nothing,
            OPERATORS,
            "{'filter': {'processDefinitionId': 'SIDE-order'}, 'moveInstructions':
                    [{'sourceElementId': 'work', 'targetElementId': 'review'}]}",
        ),
        row("suspendProcessInstancesBatchOperation", Nothing, OPERATORS, MEANT),
        row("resumeProcessInstancesBatchOperation", Nothing, OPERATORS, MEANT),
        row("deleteProcessInstancesBatchOperation", Nothing, "admin", MEANT),
        row("getBatchOperation", Object, READERS, none),
        row("searchBatchOperations", All, READERS, all),
        row("cancelBatchOperation", Object, OPERATORS, none),
        row("suspendBatchOperation", Object, OPERATORS, none),
        row("resumeBatchOperation", Object, OPERATORS, none),
        row("searchBatchOperationItems", All, READERS, all),
        row("searchElementInstances", All, READERS, all),
        row("getElementInstance", Object, READERS, none),
        row("createElementInstanceVariables", Object, OPERATORS, "{'variables': {'a': 1}}"),
        row("searchElementInstanceIncidents", Object, READERS, all),
        row("searchVariables", All, READERS, all),
        row("getVariable", Object, READERS, none),
        row("searchIncidents", All, READERS, all),
        row("getIncident", Object, READERS, none),
        row("resolveIncident", Object, OPERATORS, none),
        row(
            "activateJobs",
            Name,
            WORKERS,
            "{'type': 'SIDE-work', 'worker': 'w', 'timeout': 1000, 'maxJobsToActivate': 1, 'requestTimeout': -1}",
        ),
        row("searchJobs", All, READERS, all),
        row("completeJob", Object, WORKERS, all),
        row("failJob", Object, WORKERS, "{'retries': 2}"),
        row("throwJobError", Object, WORKERS, "{'errorCode': 'x'}"),
        row(
            "updateJob",
            Object,
            "admin operator developer worker",
            "{'changeset': {'retries': 2}}",
        ),
        row("searchUserTasks", All, TASK_READERS, all),
        row("getUserTask", Object, TASK_READERS, none),
        row("updateUserTask", Object, OPERATORS, "{'changeset': {'priority': 3}}"),
        row("updateUserTaskLegacy", Object, OPERATORS, "{'changeset': {'priority': 3}}"),
        row("assignUserTask", Object, TASKS, "{'assignee': 'ROLE'}"),
        row("unassignUserTask", Object, TASKS, none),
        row("completeUserTask", Object, TASKS, all),
        row("searchUserTaskVariables", Object, TASK_READERS, all),
        row("searchUserTaskEffectiveVariables", Object, TASK_READERS, all),
        row("getUserTaskForm", Object, TASK_READERS, none),
        row("publishMessage", Name, OPERATORS, "{'name': 'SIDE-paid', 'timeToLive': 0}"),
        row("correlateMessage", Name, OPERATORS, "{'name': 'SIDE-paid', 'correlationKey': '1'}")
            .finds_nobody(),
        row("searchMessageSubscriptions", All, READERS, all),
        row("broadcastSignal", Name, OPERATORS, "{'signalName': 'SIDE-go'}"),
    ]
}

/// Each call of gRPC.
fn calls() -> Vec<(&'static str, About, &'static str)> {
    vec![
        ("ActivateJobs", Name, WORKERS),
        ("BroadcastSignal", Name, OPERATORS),
        ("CancelProcessInstance", Object, OPERATORS),
        ("CompleteJob", Object, WORKERS),
        ("CreateProcessInstance", Object, STARTERS),
        ("CreateProcessInstanceWithResult", Object, STARTERS),
        ("DeleteResource", Object, DEPLOYERS),
        ("DeployProcess", Name, DEPLOYERS),
        ("DeployResource", Name, DEPLOYERS),
        ("EvaluateDecision", Object, OPERATORS),
        ("FailJob", Object, WORKERS),
        ("MigrateProcessInstance", Object, OPERATORS),
        ("ModifyProcessInstance", Object, OPERATORS),
        ("PublishMessage", Name, OPERATORS),
        ("ResolveIncident", Object, OPERATORS),
        ("SetVariables", Object, OPERATORS),
        ("StreamActivatedJobs", Name, WORKERS),
        ("ThrowError", Object, WORKERS),
        ("Topology", Nothing, EVERYBODY),
        ("UpdateJobRetries", Object, "admin operator developer worker"),
        ("UpdateJobTimeout", Object, "admin operator developer worker"),
    ]
}

/// Asks for an operation of the table.
async fn operation(world: &World, row: &Row, who: &str, side: &str, keys: &Keys) -> (u16, String) {
    let route = ROUTES.iter().find(|it| it.operation == row.operation);
    let route = route.expect("it is in the table");
    let mut path = format!("/v2{}", route.path);
    for (name, named) in keys {
        path = path.replace(&format!("{{{name}}}"), &number(*named).to_string());
    }
    if row.operation == "createDeployment" {
        let (kind, body) = matrix::file("resources", "a.bpmn", &process(side));
        return world.ask(who, route.method, &path, kind, &body).await;
    }
    let body = row.body(who, side, keys);
    world.ask(who, route.method, &path, "application/json", &body).await
}

#[tokio::test]
async fn every_operation_of_rest_is_done_for_who_may_and_for_nobody_else() {
    let world = World::new().await;
    let operations = operations();
    let mut named: Vec<&str> = operations.iter().map(|it| it.operation).collect();
    let mut there: Vec<&str> = ROUTES.iter().map(|it| it.operation).collect();
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there, "each route has a line here");
    let fresh = async |row: &Row, side: &'static str, role: &str| {
        let mut keys = world.fresh(side).await;
        if row.operation.contains("atchOperation") && row.about != Nothing {
            world.add_batch(&mut keys, side, role).await;
        }
        keys
    };
    let ask = async |row: &Row, who: &str, side: &str, keys: &Keys| {
        let (status, text) = operation(&world, row, who, side, keys).await;
        assert!(row.about != All || status != 200 || text.contains("\"totalItems\""), "{text}");
        (status, text)
    };
    matrix::check(&operations, fresh, ask).await;
    world.end();
}

#[tokio::test]
async fn totals_do_not_tell_of_what_is_foreign() {
    let world = World::new().await;
    for _ in 0..3 {
        world.fresh("own").await;
        world.fresh("foreign").await;
    }
    let total = async |who: &str, path: &str| {
        let (_, text) =
            world.ask(who, "POST", &format!("/v2{path}"), "application/json", "{}").await;
        let (_, rest) = text.split_once("\"totalItems\":").unwrap_or_else(|| panic!("{text}"));
        rest.split([',', '}']).next().and_then(|it| it.parse::<u32>().ok()).expect("it is a number")
    };
    let mut all = operations();
    all.retain(|it| it.about == All);
    // A batch is an instance itself, so batches come after everything else is counted.
    all.sort_by_key(|it| it.operation.contains("BatchOperation"));
    let mut has_batches = false;
    for operation in &all {
        if operation.operation.contains("BatchOperation")
            && !std::mem::replace(&mut has_batches, true)
        {
            for side in ["own", "foreign"] {
                let mut keys = world.fresh(side).await;
                world.add_batch(&mut keys, side, "viewer").await;
            }
        }
        let route =
            ROUTES.iter().find(|it| it.operation == operation.operation).expect("it is there");
        let (own, all) =
            (total("viewer", route.path).await, total("viewer-reads", route.path).await);
        assert!(own > 0 && own * 2 == all, "{}: {own} of {all}", operation.operation);
    }
    world.end();
}

#[tokio::test]
async fn a_user_does_what_is_offered_to_them_and_nothing_of_others() {
    let world = World::new().await;
    let keys = world.fresh("own").await;
    let path = format!("/v2/user-tasks/{}", number(keys["userTaskKey"]));
    let json = "application/json";
    let ask = async |who: &str, method: &str, path: &str, body: &str| {
        world.ask(who, method, path, json, body).await.0
    };
    // Nobody gives a task to somebody else, but an operator.
    let assign = format!("{path}/assignment");
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "bob"}"#).await, 403);
    assert_eq!(ask("operator", "POST", &assign, r#"{"assignee": "bob"}"#).await, 204);
    // It is offered to their group still, so they see it, and cannot take it away.
    assert_eq!(ask("user", "GET", &path, "").await, 200);
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "user"}"#).await, 403);
    assert_eq!(ask("user", "DELETE", &format!("{path}/assignee"), "").await, 403);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 403);
    assert_eq!(ask("operator", "DELETE", &format!("{path}/assignee"), "").await, 204);
    assert_eq!(ask("user", "POST", &assign, r#"{"assignee": "user"}"#).await, 204);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 204);
    // What is offered to another group is not there.
    let found = world.engine.search(
        Search::of(Table::Elements).with(Condition::of(ElementColumn::Element, Test::eq("review"))),
    );
    assert!(found.await.expect("it is answered").rows.is_empty());
    let keys = world.fresh("own").await;
    let path = format!("/v2/user-tasks/{}", number(keys["userTaskKey"]));
    let body = r#"{"changeset": {"candidateGroups": ["others"]}}"#;
    assert_eq!(ask("operator", "PATCH", &path, body).await, 204);
    assert_eq!(ask("user", "GET", &path, "").await, 404);
    assert_eq!(ask("user", "POST", &format!("{path}/completion"), "{}").await, 404);
    world.end();
}

#[tokio::test]
async fn patterns_of_work_name_types_of_jobs_and_not_definitions() {
    let world = World::new().await;
    let keys = world.fresh("own").await;
    let path = format!("/v2/jobs/{}/completion", number(keys["jobKey"]));
    let (status, text) = world.ask("mixed-up", "POST", &path, "application/json", "{}").await;
    assert_eq!(status, 404, "{text}");
    let (status, text) = world.ask("worker", "POST", &path, "application/json", "{}").await;
    assert_eq!(status, 204, "{text}");
    world.end();
}

async fn channel(world: &World) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", world.at())).expect("it is one");
    endpoint.connect().await.expect("it listens")
}

/// How a call ends that is asked with this key.
#[expect(clippy::needless_update, reason = "some messages have no field more")]
async fn call(channel: &Channel, key: &str, rpc: Rpc, side: &str, keys: &Keys) -> tonic::Code {
    async fn unary(
        channel: &Channel,
        key: &str,
        rpc: Rpc,
        message: impl Message + Default + 'static,
    ) -> tonic::Code {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.expect("it is there");
        let mut request = tonic::Request::new(message);
        let bearer = format!("Bearer {key}").parse().expect("it is plain");
        request.metadata_mut().insert("authorization", bearer);
        let path = format!("/gateway_protocol.Gateway/{}", rpc.name());
        let path = path.parse().expect("it is a path");
        let codec = tonic_prost::ProstCodec::<_, ()>::default();
        match client.server_streaming(request, path, codec).await {
            Ok(answer) if rpc == Rpc::StreamActivatedJobs => {
                drop(answer);
                tonic::Code::Ok
            }
            Ok(mut answer) => {
                answer.get_mut().message().await.map_or_else(|it| it.code(), |_| tonic::Code::Ok)
            }
            Err(status) => status.code(),
        }
    }
    let of = |name: &str| number(keys[name]);
    let name = |it: &str| format!("{side}-{it}");
    let json = || "{}".to_owned();
    macro_rules! ask {
        ($message:ident { $($field:ident: $value:expr),* $(,)? }) => {
            unary(channel, key, rpc, $message { $($field: $value,)* ..Default::default() }).await
        };
    }
    let create = || CreateProcessInstanceRequest {
        bpmn_process_id: name("order"),
        version: -1,
        ..Default::default()
    };
    match rpc {
        Rpc::ActivateJobs => ask!(ActivateJobsRequest {
            r#type: name("work"),
            worker: "w".to_owned(),
            timeout: 1_000,
            max_jobs_to_activate: 1,
            request_timeout: -1,
        }),
        Rpc::BroadcastSignal => {
            ask!(BroadcastSignalRequest { signal_name: name("go"), variables: json() })
        }
        Rpc::CancelProcessInstance => {
            ask!(CancelProcessInstanceRequest { process_instance_key: of("processInstanceKey") })
        }
        Rpc::CompleteJob => ask!(CompleteJobRequest { job_key: of("jobKey"), variables: json() }),
        Rpc::CreateProcessInstance => unary(channel, key, rpc, create()).await,
        Rpc::CreateProcessInstanceWithResult => ask!(CreateProcessInstanceWithResultRequest {
            request: Some(create()),
            request_timeout: 1,
        }),
        Rpc::DeleteResource => ask!(DeleteResourceRequest { resource_key: of("resourceKey") }),
        Rpc::DeployProcess => ask!(DeployProcessRequest {
            processes: vec![ProcessRequestObject {
                name: "a.bpmn".to_owned(),
                definition: process(side).into()
            }],
        }),
        Rpc::DeployResource => ask!(DeployResourceRequest {
            resources: vec![Resource { name: "a.bpmn".to_owned(), content: process(side).into() }],
        }),
        Rpc::EvaluateDecision => {
            ask!(EvaluateDecisionRequest { decision_id: name("price"), variables: json() })
        }
        Rpc::FailJob => {
            ask!(FailJobRequest { job_key: of("jobKey"), retries: 2, variables: json() })
        }
        Rpc::MigrateProcessInstance => ask!(MigrateProcessInstanceRequest {
            process_instance_key: of("processInstanceKey"),
            migration_plan: Some(migrate_process_instance_request::MigrationPlan {
                target_process_definition_key: of("processDefinitionKey"),
                mapping_instructions: Vec::new(),
            }),
        }),
        Rpc::ModifyProcessInstance => ask!(ModifyProcessInstanceRequest {
            process_instance_key: of("processInstanceKey"),
            activate_instructions: vec![modify_process_instance_request::ActivateInstruction {
                element_id: "work".to_owned(),
                ..Default::default()
            }],
        }),
        Rpc::PublishMessage => {
            ask!(PublishMessageRequest { name: name("paid"), variables: json() })
        }
        Rpc::ResolveIncident => ask!(ResolveIncidentRequest { incident_key: of("incidentKey") }),
        Rpc::SetVariables => ask!(SetVariablesRequest {
            element_instance_key: of("elementInstanceKey"),
            variables: json(),
        }),
        Rpc::StreamActivatedJobs => ask!(StreamActivatedJobsRequest {
            r#type: name("work"),
            worker: "w".to_owned(),
            timeout: 1_000,
        }),
        Rpc::ThrowError => ask!(ThrowErrorRequest {
            job_key: of("jobKey"),
            error_code: "x".to_owned(),
            variables: json()
        }),
        Rpc::Topology => ask!(TopologyRequest {}),
        Rpc::UpdateJobRetries => {
            ask!(UpdateJobRetriesRequest { job_key: of("jobKey"), retries: 2 })
        }
        Rpc::UpdateJobTimeout => {
            ask!(UpdateJobTimeoutRequest { job_key: of("jobKey"), timeout: 1_000 })
        }
    }
}

#[tokio::test]
async fn every_call_of_grpc_is_done_for_who_may_and_for_nobody_else() {
    use tonic::Code::{NotFound, PermissionDenied, Unauthenticated};
    let world = World::new().await;
    let channel = channel(&world).await;
    let calls = calls();
    assert_eq!(calls.len(), Rpc::ALL.len(), "each call has a line here");
    for rpc in Rpc::ALL {
        let (_, about, allowed) =
            calls.iter().find(|it| it.0 == rpc.name()).expect("each call has a line here");
        for role in Role::ALL.map(Role::name) {
            let may = allowed.split(' ').any(|it| it == role);
            let own = world.fresh("own").await;
            let key = &world.keys[role];
            let code = call(&channel, key, *rpc, "own", &own).await;
            let passes = ![Unauthenticated, PermissionDenied, NotFound].contains(&code);
            assert_eq!(passes, may, "{rpc:?} {role} own: {code:?}");
            let foreign = world.fresh("foreign").await;
            let code = call(&channel, key, *rpc, "foreign", &foreign).await;
            let wanted = match about {
                Nothing | All => continue,
                Everything | About::Private => unreachable!("there are none"),
                Object if may => NotFound,
                Object | Name => PermissionDenied,
            };
            assert_eq!(code, wanted, "{rpc:?} {role} foreign");
            let reads = &world.keys[&format!("{role}-reads")];
            let code = call(&channel, reads, *rpc, "foreign", &foreign).await;
            assert_eq!(code, PermissionDenied, "{rpc:?} {role}-reads foreign");
        }
    }
    world.end();
}
