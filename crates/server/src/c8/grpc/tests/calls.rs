//! Each call's good case, and what it refuses.

use std::time::Duration;

use tokio::{sync::oneshot, task::JoinHandle, time::timeout};
use tonic::{
    Code, Status,
    codec::CompressionEncoding,
    transport::{Channel, Endpoint},
};
use travertine_runtime::{Engine, engine};

use super::super::gateway::{gateway_client::GatewayClient, *};
use crate::{Access, ApiKey, Error, Options, Server};

/// How long anything may take before a test gives up.
const BOUND: Duration = Duration::from_mins(1);

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
  <message id="m" name="paid"><extensionElements><zeebe:subscription correlationKey="=order"/></extensionElements></message>
  <signal id="go" name="go"/>
  <process id="work" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work" retries="2"/>
      <zeebe:taskHeaders><zeebe:header key="region" value="eu"/></zeebe:taskHeaders></extensionElements></serviceTask>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/>
    <boundaryEvent id="b" attachedToRef="t"><errorEventDefinition errorRef="declined"/></boundaryEvent>
    <sequenceFlow id="f3" sourceRef="b" targetRef="e2"/><endEvent id="e2"/></process>
  <process id="message" isExecutable="true"><startEvent id="s2"/>
    <sequenceFlow id="g1" sourceRef="s2" targetRef="c"/>
    <intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
    <sequenceFlow id="g2" sourceRef="c" targetRef="e3"/><endEvent id="e3"/></process>
  <process id="signal" isExecutable="true"><startEvent id="s3"/>
    <sequenceFlow id="h1" sourceRef="s3" targetRef="c2"/>
    <intermediateCatchEvent id="c2"><signalEventDefinition signalRef="go"/></intermediateCatchEvent>
    <sequenceFlow id="h2" sourceRef="c2" targetRef="e4"/><endEvent id="e4"/></process>
  <error id="declined" errorCode="DECLINED"/></definitions>"#;

const DECISION: &str = r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="drg" name="Discounts" namespace="t">
  <decision id="discount" name="Discount"><decisionTable id="table">
    <input id="i1" label="Amount"><inputExpression id="ie1" typeRef="number"><text>amount</text></inputExpression></input>
    <output id="o1" name="discount" typeRef="number"/>
    <rule id="r1"><inputEntry id="x1"><text>&lt; 100</text></inputEntry><outputEntry id="y1"><text>0</text></outputEntry></rule>
    <rule id="r2"><inputEntry id="x2"><text>&gt;= 100</text></inputEntry><outputEntry id="y2"><text>10</text></outputEntry></rule>
  </decisionTable></decision></definitions>"#;

struct Served {
    client: GatewayClient<Channel>,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), Error>>,
}

async fn serve() -> Served {
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let options = Options {
        listen: "127.0.0.1:0".to_owned(),
        grpc_listen: None,
        manage: None,
        ..Options::default()
    };
    let listening = Server::new(engine, options).bind().await.expect("addresses are free");
    let port = listening.addresses().rest[0].port();
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(listening.serve(async {
        let _ = stopped.await;
    }));
    let channel =
        Endpoint::from_shared(format!("http://localhost:{port}")).expect("it is an address");
    let channel = channel.connect().await.expect("it listens");
    Served { client: GatewayClient::new(channel), stop, done }
}

/// A server with the models of this file.
async fn deployed() -> Served {
    let mut it = serve().await;
    it.deploy("models.bpmn", MODEL).await.expect("the models can run");
    it
}

impl Served {
    async fn deploy(&mut self, name: &str, text: &str) -> Result<DeployResourceResponse, Status> {
        let resources = vec![Resource { name: name.to_owned(), content: text.into() }];
        let request = DeployResourceRequest { resources, tenant_id: String::new() };
        self.client.deploy_resource(request).await.map(tonic::Response::into_inner)
    }

    async fn create(&mut self, id: &str, variables: &str) -> CreateProcessInstanceResponse {
        let request = CreateProcessInstanceRequest {
            bpmn_process_id: id.to_owned(),
            version: -1,
            variables: variables.to_owned(),
            ..Default::default()
        };
        self.client.create_process_instance(request).await.expect("it starts").into_inner()
    }

    async fn activate(&mut self) -> Vec<ActivatedJob> {
        let stream = self.client.activate_jobs(ask()).await.expect("it may be asked");
        all(stream.into_inner()).await.expect("it ends in order")
    }

    async fn job(&mut self) -> ActivatedJob {
        let mut jobs = self.activate().await;
        assert_eq!(jobs.len(), 1);
        jobs.remove(0)
    }

    async fn end(self) {
        drop(self.client);
        self.stop.send(()).expect("it runs");
        timeout(BOUND, self.done)
            .await
            .expect("it ends")
            .expect("nothing panics")
            .expect("in order");
    }

    /// Whether an instance has ended: nobody can cancel it then.
    async fn assert_ended(&mut self, process_instance_key: i64) {
        let request =
            CancelProcessInstanceRequest { process_instance_key, operation_reference: None };
        let refused = self.client.cancel_process_instance(request).await.expect_err("it has ended");
        assert_eq!(refused.code(), Code::NotFound);
    }
}

fn ask() -> ActivateJobsRequest {
    ActivateJobsRequest {
        r#type: "work".to_owned(),
        worker: "w".to_owned(),
        timeout: 60_000,
        max_jobs_to_activate: 10,
        request_timeout: 60_000,
        ..Default::default()
    }
}

async fn all(
    mut stream: tonic::Streaming<ActivateJobsResponse>,
) -> Result<Vec<ActivatedJob>, Status> {
    let mut jobs = Vec::new();
    while let Some(batch) = timeout(BOUND, stream.message()).await.expect("it answers")? {
        jobs.extend(batch.jobs);
    }
    Ok(jobs)
}

#[tokio::test]
async fn a_job_is_given_out_and_completed() {
    let mut it = deployed().await;
    let created = it.create("work", r#"{"amount": 1.1}"#).await;
    assert_eq!((created.version, &*created.bpmn_process_id), (1, "work"));
    let job = it.job().await;
    assert_eq!(job.process_instance_key, created.process_instance_key);
    assert_eq!(job.process_definition_key, created.process_definition_key);
    assert_eq!((&*job.r#type, &*job.element_id, &*job.worker), ("work", "t", "w"));
    assert_eq!(
        (&*job.custom_headers, &*job.variables),
        (r#"{"region":"eu"}"#, r#"{"amount":1.1}"#)
    );
    assert_eq!((job.retries, &*job.tenant_id), (2, "<default>"));
    assert!(job.element_instance_key > 0 && job.deadline > 0);
    let request =
        CompleteJobRequest { job_key: job.key, variables: r#"{"done": true}"#.to_owned() };
    it.client.complete_job(request.clone()).await.expect("it is there");
    let again = it.client.complete_job(request).await.expect_err("it is done already");
    assert_eq!(again.code(), Code::NotFound);
    it.assert_ended(created.process_instance_key).await;
    it.end().await;
}

#[tokio::test]
async fn compressed_calls_are_read_within_the_same_limit() {
    let mut it = deployed().await;
    it.client = it.client.clone().send_compressed(CompressionEncoding::Gzip);
    let created = it.create("work", r#"{"a": 1}"#).await;
    assert_eq!(it.job().await.process_instance_key, created.process_instance_key);
    // A few bytes that would become many.
    let request = CreateProcessInstanceRequest {
        bpmn_process_id: "work".to_owned(),
        variables: format!("{{\"a\": \"{}\"}}", "x".repeat(64 << 20)),
        ..Default::default()
    };
    let refused = it.client.create_process_instance(request).await.expect_err("it is too large");
    assert_ne!(refused.code(), Code::Ok);
    it.create("work", "").await;
    it.end().await;
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_as_such() {
    let mut it = deployed().await;
    for wrong in [
        ActivateJobsRequest { r#type: " ".to_owned(), ..ask() },
        ActivateJobsRequest { timeout: 0, ..ask() },
        ActivateJobsRequest { max_jobs_to_activate: 0, ..ask() },
        ActivateJobsRequest { tenant_ids: vec!["other".to_owned()], ..ask() },
    ] {
        let refused = match it.client.activate_jobs(wrong).await {
            Ok(stream) => all(stream.into_inner()).await.expect_err("it is wrong"),
            Err(refused) => refused,
        };
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
    let create =
        CreateProcessInstanceRequest { bpmn_process_id: "work".to_owned(), ..Default::default() };
    let cases = [
        (
            CreateProcessInstanceRequest {
                bpmn_process_id: "nothing".to_owned(),
                ..create.clone()
            },
            Code::NotFound,
        ),
        (CreateProcessInstanceRequest { version: 7, ..create.clone() }, Code::NotFound),
        (
            CreateProcessInstanceRequest { process_definition_key: 7, ..create.clone() },
            Code::NotFound,
        ),
        (
            CreateProcessInstanceRequest { bpmn_process_id: String::new(), ..create.clone() },
            Code::InvalidArgument,
        ),
        (
            CreateProcessInstanceRequest { variables: "[1]".to_owned(), ..create.clone() },
            Code::InvalidArgument,
        ),
        (
            CreateProcessInstanceRequest { variables: "{".to_owned(), ..create.clone() },
            Code::InvalidArgument,
        ),
        (
            CreateProcessInstanceRequest { tenant_id: "other".to_owned(), ..create.clone() },
            Code::InvalidArgument,
        ),
    ];
    for (request, code) in cases {
        let refused = it.client.create_process_instance(request).await.expect_err("it is wrong");
        assert_eq!(refused.code(), code, "{refused}");
    }
    for key in [0, -1, 1, 4_611_686_018_427_387_905, i64::MAX] {
        let request = CompleteJobRequest { job_key: key, variables: String::new() };
        let refused = it.client.complete_job(request).await.expect_err("no job has this key");
        assert_eq!(refused.code(), Code::NotFound, "{key}: {refused}");
    }
    let refused = it.deploy("broken.bpmn", "<nope").await.expect_err("it is no model");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    it.end().await;
}

#[tokio::test]
async fn a_poll_that_must_not_wait_ends_empty() {
    let mut it = deployed().await;
    let request = ActivateJobsRequest { request_timeout: -1, ..ask() };
    let stream = it.client.activate_jobs(request).await.expect("it may be asked");
    assert!(all(stream.into_inner()).await.expect("it ends in order").is_empty());
    it.end().await;
}

#[tokio::test]
async fn jobs_come_over_a_stream_until_the_server_ends() {
    let mut it = deployed().await;
    let request = StreamActivatedJobsRequest {
        r#type: "work".to_owned(),
        worker: "w".to_owned(),
        timeout: 60_000,
        ..Default::default()
    };
    let mut stream =
        it.client.stream_activated_jobs(request).await.expect("it may be asked").into_inner();
    for _ in 0..3 {
        let created = it.create("work", "").await;
        let job = timeout(BOUND, stream.message()).await.expect("it comes").expect("in order");
        let job = job.expect("the stream goes on");
        assert_eq!(job.process_instance_key, created.process_instance_key);
        let request = CompleteJobRequest { job_key: job.key, variables: String::new() };
        it.client.complete_job(request).await.expect("it is there");
    }
    it.end().await;
    let last = timeout(BOUND, stream.message()).await.expect("it ends").expect("in order");
    assert_eq!(last, None);
}

#[tokio::test]
async fn a_failed_job_is_tried_again_and_then_an_incident() {
    let mut it = deployed().await;
    let created = it.create("work", "").await;
    let job = it.job().await;
    let fail = |retries| FailJobRequest {
        job_key: job.key,
        retries,
        error_message: "boom".to_owned(),
        variables: r#"{"tried": 1}"#.to_owned(),
        ..Default::default()
    };
    it.client.fail_job(fail(1)).await.expect("it is there");
    let again = it.job().await;
    assert_eq!((again.key, again.retries, &*again.variables), (job.key, 1, r#"{"tried":1}"#));
    it.client.fail_job(fail(-3)).await.expect("it is there");
    let nothing = ActivateJobsRequest { request_timeout: -1, ..ask() };
    let stream = it.client.activate_jobs(nothing).await.expect("it may be asked");
    assert!(all(stream.into_inner()).await.expect("it ends in order").is_empty());
    let retries =
        UpdateJobRetriesRequest { job_key: job.key, retries: 0, operation_reference: None };
    let refused = it.client.update_job_retries(retries).await.expect_err("0 is none");
    assert_eq!(refused.code(), Code::InvalidArgument);
    it.client
        .update_job_retries(UpdateJobRetriesRequest { retries: 1, ..retries })
        .await
        .expect("it is there");
    let request = CancelProcessInstanceRequest {
        process_instance_key: created.process_instance_key,
        operation_reference: None,
    };
    it.client.cancel_process_instance(request).await.expect("it runs");
    it.end().await;
}

#[tokio::test]
async fn an_error_takes_the_way_that_the_model_has_for_it() {
    let mut it = deployed().await;
    let created = it.create("work", "").await;
    let job = it.job().await;
    let timeout =
        UpdateJobTimeoutRequest { job_key: job.key, timeout: 90_000, operation_reference: None };
    it.client.update_job_timeout(timeout).await.expect("it is with a worker");
    let request = ThrowErrorRequest {
        job_key: job.key,
        error_code: "DECLINED".to_owned(),
        ..Default::default()
    };
    it.client.throw_error(request).await.expect("it is there");
    it.assert_ended(created.process_instance_key).await;
    it.end().await;
}

#[tokio::test]
async fn a_result_is_waited_for() {
    let mut it = deployed().await;
    let ask_for = |id: &str, within| CreateProcessInstanceWithResultRequest {
        request: Some(CreateProcessInstanceRequest {
            bpmn_process_id: id.to_owned(),
            variables: r#"{"a": 1, "b": 2}"#.to_owned(),
            ..Default::default()
        }),
        request_timeout: within,
        fetch_variables: vec!["b".to_owned()],
    };
    let late = it.client.create_process_instance_with_result(ask_for("work", 30)).await;
    assert_eq!(late.expect_err("nobody works").code(), Code::DeadlineExceeded);
    // It goes on: its job is there.
    let first = it.job().await;
    let complete = |job_key| CompleteJobRequest { job_key, variables: String::new() };
    it.client.complete_job(complete(first.key)).await.expect("it is there");
    let mut other = it.client.clone();
    let waits = other.create_process_instance_with_result(ask_for("work", 60_000));
    let works = async {
        let job = it.job().await;
        it.client.complete_job(complete(job.key)).await.expect("it is there");
    };
    let (result, ()) = tokio::join!(waits, works);
    let result = result.expect("it completes").into_inner();
    assert_eq!(result.variables, r#"{"b":2}"#);
    drop(other);
    it.end().await;
}

#[tokio::test]
async fn a_start_says_its_business_id_tags_trace_and_after_what_it_ends() {
    let mut it = deployed().await;
    let start = |element: &str| {
        let terminate =
            TerminateProcessInstanceInstruction { after_element_id: element.to_owned() };
        let instruction =
            process_instance_creation_runtime_instruction::Instruction::Terminate(terminate);
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut request = tonic::Request::new(CreateProcessInstanceRequest {
            bpmn_process_id: "work".to_owned(),
            business_id: Some("order-1".to_owned()),
            tags: vec!["urgent".to_owned()],
            runtime_instructions: vec![ProcessInstanceCreationRuntimeInstruction {
                instruction: Some(instruction),
            }],
            ..Default::default()
        });
        request.metadata_mut().insert("traceparent", trace.parse().expect("it is a text"));
        request
    };
    let none = it.client.create_process_instance(start("nothing")).await;
    assert_eq!(none.expect_err("there is no such element").code(), Code::InvalidArgument);
    let created = it.client.create_process_instance(start("t")).await.expect("it starts");
    let again = it.client.create_process_instance(start("t")).await;
    assert_eq!(again.expect_err("it runs").code(), Code::AlreadyExists);
    let job = it.job().await;
    assert!(job.custom_headers.contains("4bf92f3577b34da6a3ce929d0e0e4736"), "{job:?}");
    let complete = CompleteJobRequest { job_key: job.key, variables: String::new() };
    it.client.complete_job(complete).await.expect("it is there");
    it.assert_ended(created.into_inner().process_instance_key).await;
    it.end().await;
}

#[tokio::test]
async fn messages_and_signals_reach_who_waits() {
    let mut it = deployed().await;
    let publish = PublishMessageRequest {
        name: "paid".to_owned(),
        correlation_key: "o-1".to_owned(),
        time_to_live: 60_000,
        message_id: "id-1".to_owned(),
        variables: r#"{"paid": true}"#.to_owned(),
        ..Default::default()
    };
    let published = it.client.publish_message(publish.clone()).await.expect("it may be sent");
    assert!(published.into_inner().key > 0);
    let again = it.client.publish_message(publish).await.expect_err("it is known");
    assert_eq!(again.code(), Code::AlreadyExists);
    let waits = |id: &str| CreateProcessInstanceWithResultRequest {
        request: Some(CreateProcessInstanceRequest {
            bpmn_process_id: id.to_owned(),
            variables: r#"{"order": "o-1"}"#.to_owned(),
            ..Default::default()
        }),
        request_timeout: 60_000,
        fetch_variables: vec!["paid".to_owned()],
    };
    let result = it.client.create_process_instance_with_result(waits("message")).await;
    assert_eq!(result.expect("it was kept for it").into_inner().variables, r#"{"paid":true}"#);
    let mut other = it.client.clone();
    let signals = async {
        loop {
            let signal_name = "go".to_owned();
            let request = BroadcastSignalRequest { signal_name, ..Default::default() };
            let sent = it.client.broadcast_signal(request).await.expect("it may be sent");
            assert!(sent.into_inner().key > 0);
        }
    };
    tokio::select! {
        result = other.create_process_instance_with_result(waits("signal")) => {
            result.expect("it hears the signal");
        }
        never = signals => never,
    }
    drop(other);
    it.end().await;
}

#[tokio::test]
async fn variables_are_set_from_outside() {
    let mut it = deployed().await;
    let created = it.create("work", r#"{"v": 1}"#).await;
    let request = SetVariablesRequest {
        element_instance_key: created.process_instance_key,
        variables: r#"{"v": 2, "w": [1]}"#.to_owned(),
        local: true,
        operation_reference: None,
    };
    let set = it.client.set_variables(request).await.expect("it runs").into_inner();
    assert!(set.key > 0);
    let job = it.job().await;
    assert_eq!(job.variables, r#"{"v":2,"w":[1]}"#);
    let local = SetVariablesRequest {
        element_instance_key: job.element_instance_key,
        variables: r#"{"own": 1}"#.to_owned(),
        local: true,
        operation_reference: None,
    };
    it.client.set_variables(local).await.expect("it is there");
    let missing = SetVariablesRequest { element_instance_key: 99_999, ..Default::default() };
    let refused = it.client.set_variables(missing).await.expect_err("there is no such element");
    assert_eq!(refused.code(), Code::NotFound);
    it.end().await;
}

#[tokio::test]
async fn operators_modify_and_migrate() {
    use modify_process_instance_request::{ActivateInstruction, TerminateInstruction};
    let mut it = deployed().await;
    let created = it.create("work", "").await;
    let job = it.job().await;
    let request = ModifyProcessInstanceRequest {
        process_instance_key: created.process_instance_key,
        activate_instructions: vec![ActivateInstruction {
            element_id: "e".to_owned(),
            ancestor_element_instance_key: -1,
            variable_instructions: Vec::new(),
        }],
        terminate_instructions: vec![TerminateInstruction {
            element_instance_key: job.element_instance_key,
        }],
        operation_reference: None,
    };
    it.client.modify_process_instance(request.clone()).await.expect("it runs");
    it.assert_ended(created.process_instance_key).await;
    let second = it.create("work", "").await;
    let gone = ModifyProcessInstanceRequest {
        process_instance_key: second.process_instance_key,
        ..request
    };
    let refused = it.client.modify_process_instance(gone).await.expect_err("that was another's");
    assert!([Code::InvalidArgument, Code::NotFound].contains(&refused.code()), "{refused}");
    let newer = MODEL.replace("region", "zone");
    let deployed = it.deploy("models.bpmn", &newer).await.expect("it can run");
    let to = deployed.deployments.into_iter().find_map(|it| match it.metadata {
        Some(deployment::Metadata::Process(it)) if it.bpmn_process_id == "work" => Some(it),
        _ => None,
    });
    let to = to.expect("it is deployed");
    assert_eq!((to.version, &*to.resource_name), (2, "models.bpmn"));
    let plan = migrate_process_instance_request::MigrationPlan {
        target_process_definition_key: to.process_definition_key,
        mapping_instructions: vec![migrate_process_instance_request::MappingInstruction {
            source_element_id: "t".to_owned(),
            target_element_id: "t".to_owned(),
        }],
    };
    let request = MigrateProcessInstanceRequest {
        process_instance_key: second.process_instance_key,
        migration_plan: Some(plan),
        operation_reference: None,
    };
    it.client.migrate_process_instance(request).await.expect("it can go on by that");
    assert_eq!(it.job().await.process_definition_version, 2);
    it.end().await;
}

#[tokio::test]
async fn decisions_are_deployed_and_evaluated() {
    let mut it = serve().await;
    let deployed = it.deploy("/home/ann/discount.dmn", DECISION).await.expect("it can be decided");
    let kinds =
        deployed.deployments.iter().filter_map(|it| it.metadata.as_ref()).map(|it| match it {
            deployment::Metadata::Decision(it) => ("decision", it.decision_key),
            deployment::Metadata::DecisionRequirements(it) => {
                assert_eq!(it.resource_name, "/home/ann/discount.dmn");
                ("graph", it.decision_requirements_key)
            }
            _ => ("other", 0),
        });
    let kinds: Vec<(&str, i64)> = kinds.collect();
    assert!(kinds.iter().all(|(_, key)| *key > 0) && kinds.len() == 2, "{kinds:?}");
    let ask = EvaluateDecisionRequest {
        decision_id: "discount".to_owned(),
        variables: r#"{"amount": 250}"#.to_owned(),
        ..Default::default()
    };
    let decided = it.client.evaluate_decision(ask.clone()).await.expect("it is there").into_inner();
    assert_eq!((&*decided.decision_output, &*decided.decision_name), ("10", "Discount"));
    assert_eq!(decided.evaluated_decisions[0].matched_rules[0].rule_id, "r2");
    let unknown = EvaluateDecisionRequest { decision_id: "nothing".to_owned(), ..ask };
    let refused = it.client.evaluate_decision(unknown).await.expect_err("there is none");
    assert_eq!(refused.code(), Code::NotFound);
    it.end().await;
}

#[tokio::test]
async fn what_is_deleted_is_started_no_more() {
    let mut it = deployed().await;
    let created = it.create("work", "").await;
    let request = DeleteResourceRequest {
        resource_key: created.process_definition_key,
        operation_reference: None,
    };
    it.client.delete_resource(request).await.expect("it is there");
    let create =
        CreateProcessInstanceRequest { bpmn_process_id: "work".to_owned(), ..Default::default() };
    let refused = it.client.create_process_instance(create).await.expect_err("it is gone");
    assert_eq!(refused.code(), Code::NotFound);
    let missing = DeleteResourceRequest { resource_key: 7, operation_reference: None };
    let refused = it.client.delete_resource(missing).await.expect_err("there is none");
    assert_eq!(refused.code(), Code::NotFound);
    it.end().await;
}

#[tokio::test]
async fn the_topology_is_that_of_one_node_that_leads_everything() {
    let mut it = serve().await;
    let told = it.client.topology(TopologyRequest {}).await.expect("it answers").into_inner();
    assert_eq!((told.cluster_size, told.replication_factor), (1, 1));
    let partitions = &told.brokers[0].partitions;
    assert_eq!(usize::try_from(told.partitions_count), Ok(partitions.len()));
    assert!(partitions.iter().all(|it| it.role == 0 && it.health == 0));
    assert_eq!(told.gateway_version, "8.8.0");
    it.end().await;
}

#[tokio::test]
async fn a_stream_of_jobs_ends_where_its_login_does_not_hold_any_more() {
    let (key, text) = ApiKey::draw("a");
    let begun = Options {
        listen: "127.0.0.1:0".to_owned(),
        grpc_listen: None,
        manage: None,
        access: Access::default().key("a", key, None),
        ..Options::default()
    };
    let engine = Engine::in_memory(engine::Options::default()).expect("an engine opens");
    let listening = Server::new(engine, begun.clone()).bind().await.expect("addresses are free");
    let (reload, at) = (listening.reload(), listening.addresses().rest[0]);
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(listening.serve(async {
        let _ = stopped.await;
    }));
    let endpoint = Endpoint::from_shared(format!("http://{at}")).expect("it is an address");
    let mut client = GatewayClient::new(endpoint.connect().await.expect("it speaks HTTP/2"));
    let mut request = tonic::Request::new(StreamActivatedJobsRequest {
        r#type: "paint".to_owned(),
        worker: "w".to_owned(),
        timeout: 1_000,
        ..StreamActivatedJobsRequest::default()
    });
    let bearer = format!("Bearer {text}").parse().expect("it is plain");
    request.metadata_mut().insert("authorization", bearer);
    let mut jobs = client.stream_activated_jobs(request).await.expect("it is let in").into_inner();
    let (other, _) = ApiKey::draw("b");
    let access = Access::default().key("b", other, None);
    reload.apply(&Options { access, ..begun }).expect("it is right");
    let end = timeout(BOUND, jobs.message()).await.expect("it ends");
    assert!(matches!(end, Ok(None)), "{end:?}");
    drop(client);
    stop.send(()).expect("it runs");
    done.await.expect("nothing panics").expect("in order");
}
