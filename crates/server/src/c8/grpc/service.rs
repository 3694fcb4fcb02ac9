//! All calls of the protocol. Each is entered by whoever may do it, reads its message, asks the desk, and writes the
//! answer.

use tonic::{Request, Response, Status};
use travertine_runtime::{
    JobChange, Named,
    engine::{File, Target},
};
use travertine_value::Name;

use super::{
    convert::{
        TENANT, activated, int, key, key_if_any, metadata, millis, names, object, tenant, tenants,
        variables,
    },
    decide::evaluated,
    entrance::{Entrance, Rpc},
    gateway::{
        ActivateJobsRequest, ActivateJobsResponse, ActivatedJob, BroadcastSignalRequest,
        BroadcastSignalResponse, BrokerInfo, CancelProcessInstanceRequest,
        CancelProcessInstanceResponse, CompleteJobRequest, CompleteJobResponse,
        CreateProcessInstanceRequest, CreateProcessInstanceResponse,
        CreateProcessInstanceWithResultRequest, CreateProcessInstanceWithResultResponse,
        DeleteResourceRequest, DeleteResourceResponse, DeployProcessRequest, DeployProcessResponse,
        DeployResourceRequest, DeployResourceResponse, Deployment, EvaluateDecisionRequest,
        EvaluateDecisionResponse, FailJobRequest, FailJobResponse, MigrateProcessInstanceRequest,
        MigrateProcessInstanceResponse, ModifyProcessInstanceRequest,
        ModifyProcessInstanceResponse, Partition, ProcessInstanceCreationRuntimeInstruction,
        PublishMessageRequest, PublishMessageResponse, ResolveIncidentRequest,
        ResolveIncidentResponse, SetVariablesRequest, SetVariablesResponse,
        StreamActivatedJobsRequest, ThrowErrorRequest, ThrowErrorResponse, TopologyRequest,
        TopologyResponse, UpdateJobRetriesRequest, UpdateJobRetriesResponse,
        UpdateJobTimeoutRequest, UpdateJobTimeoutResponse, deployment::Metadata,
        gateway_server::Gateway, partition,
        process_instance_creation_runtime_instruction::Instruction,
    },
    stream::{Answers, Unfold, batches},
};
use crate::{
    c8::{span, trace_of},
    desk::{Arrival, Ask, Create, Created, Desk, Failure, Publish, Spot, Step, Which},
};

/// The level of the protocol. Clients read it.
const VERSION: &str = "8.8.0";

/// How many jobs a stream takes at once.
const CREDIT: usize = 32;

/// What answers calls.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) entrance: Entrance,
    /// How large a message may be.
    pub(super) message_max: usize,
    /// The port that clients are told of.
    pub(super) port: u16,
}

type Answer<T> = Result<Response<T>, Status>;

#[expect(clippy::unnecessary_wraps, reason = "it is how each call ends that is not refused")]
fn answer<T>(it: T) -> Answer<T> {
    Ok(Response::new(it))
}

#[tonic::async_trait]
impl Gateway for Service {
    type ActivateJobsStream = Answers<ActivateJobsResponse>;
    type StreamActivatedJobsStream = Answers<ActivatedJob>;

    async fn activate_jobs(
        &self,
        request: Request<ActivateJobsRequest>,
    ) -> Answer<Self::ActivateJobsStream> {
        let (desk, it) = self.entrance.enter(request, Rpc::ActivateJobs)?;
        tenants(&it.tenant_ids)?;
        let ask = Ask {
            job_type: it.r#type.into(),
            worker: Name::from(it.worker.as_str()),
            lease: span(it.timeout),
            most: usize::try_from(it.max_jobs_to_activate).unwrap_or(0),
            names: names(it.fetch_variable),
            wait: (it.request_timeout != 0).then(|| span(it.request_timeout)),
        };
        let jobs = desk.activate(ask).await?;
        let jobs = jobs.iter().map(|job| activated(job, &it.worker)).collect();
        let batches = batches(jobs, self.message_max).into_iter().map(Ok);
        answer(Box::pin(tokio_stream::iter(batches.collect::<Vec<_>>())))
    }

    async fn stream_activated_jobs(
        &self,
        request: Request<StreamActivatedJobsRequest>,
    ) -> Answer<Self::StreamActivatedJobsStream> {
        let (desk, it) = self.entrance.enter(request, Rpc::StreamActivatedJobs)?;
        tenants(&it.tenant_ids)?;
        let ask = Ask {
            job_type: it.r#type.into(),
            worker: Name::from(it.worker.as_str()),
            lease: span(it.timeout),
            most: CREDIT,
            names: names(it.fetch_variable),
            wait: None,
        };
        let jobs = desk.stream(ask)?;
        let worker = Name::from(it.worker);
        answer(Box::pin(Unfold::new(jobs, move |mut jobs| {
            let worker = Name::clone(&worker);
            Box::pin(async move {
                let job = jobs.next().await.transpose()?;
                Some((job.map(|it| activated(&it, &worker)).map_err(Status::from), jobs))
            })
        })))
    }

    async fn cancel_process_instance(
        &self,
        request: Request<CancelProcessInstanceRequest>,
    ) -> Answer<CancelProcessInstanceResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::CancelProcessInstance)?;
        desk.cancel(it.process_instance_key).await?;
        answer(CancelProcessInstanceResponse {})
    }

    async fn complete_job(
        &self,
        request: Request<CompleteJobRequest>,
    ) -> Answer<CompleteJobResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::CompleteJob)?;
        desk.complete_job(it.job_key, variables(&it.variables)?).await?;
        answer(CompleteJobResponse {})
    }

    async fn create_process_instance(
        &self,
        request: Request<CreateProcessInstanceRequest>,
    ) -> Answer<CreateProcessInstanceResponse> {
        let trace = trace_of(request.metadata().as_ref());
        let (desk, it) = self.entrance.enter(request, Rpc::CreateProcessInstance)?;
        let created = desk.create(create(&desk, it, trace)?).await?;
        let Created { instance, definition, .. } = created;
        answer(CreateProcessInstanceResponse {
            process_definition_key: key(Named::Definition(definition.key)),
            bpmn_process_id: definition.id.to_string(),
            version: int(definition.version),
            process_instance_key: key(Named::Instance(instance)),
            tenant_id: TENANT.to_owned(),
        })
    }

    async fn create_process_instance_with_result(
        &self,
        request: Request<CreateProcessInstanceWithResultRequest>,
    ) -> Answer<CreateProcessInstanceWithResultResponse> {
        let trace = trace_of(request.metadata().as_ref());
        let (desk, it) = self.entrance.enter(request, Rpc::CreateProcessInstanceWithResult)?;
        let create = create(&desk, it.request.unwrap_or_default(), trace)?;
        let (within, names) = (millis(it.request_timeout), names(it.fetch_variables));
        let (created, variables) = desk.create_with_result(create, within, &names).await?;
        let Created { instance, definition, .. } = created;
        answer(CreateProcessInstanceWithResultResponse {
            process_definition_key: key(Named::Definition(definition.key)),
            bpmn_process_id: definition.id.to_string(),
            version: int(definition.version),
            process_instance_key: key(Named::Instance(instance)),
            variables: object(&variables),
            tenant_id: TENANT.to_owned(),
        })
    }

    async fn deploy_process(
        &self,
        request: Request<DeployProcessRequest>,
    ) -> Answer<DeployProcessResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::DeployProcess)?;
        let files = it.processes.into_iter();
        let files = files.map(|it| File { name: it.name, body: it.definition }).collect();
        let (key, deployed) = deploy(&desk, files).await?;
        let processes = deployed.into_iter().filter_map(|it| match it {
            Metadata::Process(it) => Some(it),
            _ => None,
        });
        answer(DeployProcessResponse { key, processes: processes.collect() })
    }

    async fn deploy_resource(
        &self,
        request: Request<DeployResourceRequest>,
    ) -> Answer<DeployResourceResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::DeployResource)?;
        tenant(&it.tenant_id)?;
        let files = it.resources.into_iter();
        let files = files.map(|it| File { name: it.name, body: it.content }).collect();
        let (key, deployed) = deploy(&desk, files).await?;
        let deployments =
            deployed.into_iter().map(|it| Deployment { metadata: Some(it) }).collect();
        answer(DeployResourceResponse { key, deployments, tenant_id: TENANT.to_owned() })
    }

    async fn fail_job(&self, request: Request<FailJobRequest>) -> Answer<FailJobResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::FailJob)?;
        let failure = Failure {
            // Fewer than none are none.
            retries: Some(u32::try_from(it.retries.max(0)).unwrap_or(0)),
            backoff: span(it.retry_back_off),
            message: it.error_message,
            variables: variables(&it.variables)?,
        };
        desk.fail_job(it.job_key, failure).await?;
        answer(FailJobResponse {})
    }

    async fn throw_error(&self, request: Request<ThrowErrorRequest>) -> Answer<ThrowErrorResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::ThrowError)?;
        let variables = variables(&it.variables)?;
        desk.throw_error(it.job_key, &it.error_code, &it.error_message, variables).await?;
        answer(ThrowErrorResponse {})
    }

    async fn publish_message(
        &self,
        request: Request<PublishMessageRequest>,
    ) -> Answer<PublishMessageResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::PublishMessage)?;
        tenant(&it.tenant_id)?;
        let publish = Publish {
            name: it.name.into(),
            correlation_key: it.correlation_key.into(),
            ttl: millis(it.time_to_live).unwrap_or_default(),
            id: (!it.message_id.is_empty()).then(|| it.message_id.into()),
            variables: variables(&it.variables)?,
        };
        let number = desk.publish(publish).await?;
        answer(PublishMessageResponse {
            key: key(Named::Message(number)),
            tenant_id: TENANT.to_owned(),
        })
    }

    async fn broadcast_signal(
        &self,
        request: Request<BroadcastSignalRequest>,
    ) -> Answer<BroadcastSignalResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::BroadcastSignal)?;
        tenant(&it.tenant_id)?;
        let number = desk.signal(&it.signal_name, variables(&it.variables)?).await?;
        answer(BroadcastSignalResponse {
            key: key(Named::Message(number)),
            tenant_id: TENANT.to_owned(),
        })
    }

    async fn topology(&self, request: Request<TopologyRequest>) -> Answer<TopologyResponse> {
        let (desk, _) = self.entrance.enter(request, Rpc::Topology)?;
        let topology = desk.topology();
        let health = if topology.is_healthy {
            partition::PartitionBrokerHealth::Healthy
        } else {
            partition::PartitionBrokerHealth::Unhealthy
        };
        let partitions = (1..=i32::from(topology.shards)).map(|partition_id| Partition {
            partition_id,
            role: partition::PartitionBrokerRole::Leader.into(),
            health: health.into(),
        });
        let broker = BrokerInfo {
            node_id: 0,
            host: "localhost".to_owned(),
            port: self.port.into(),
            partitions: partitions.collect(),
            version: VERSION.to_owned(),
        };
        answer(TopologyResponse {
            brokers: vec![broker],
            cluster_size: 1,
            partitions_count: topology.shards.into(),
            replication_factor: 1,
            gateway_version: VERSION.to_owned(),
        })
    }

    async fn evaluate_decision(
        &self,
        request: Request<EvaluateDecisionRequest>,
    ) -> Answer<EvaluateDecisionResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::EvaluateDecision)?;
        tenant(&it.tenant_id)?;
        let which = match key_if_any(it.decision_key) {
            Some(key) => Which::Key(key),
            None if it.decision_id.trim().is_empty() => {
                return Err(Status::invalid_argument(
                    "which decision is missing: say decisionId or decisionKey",
                ));
            }
            None => Which::Id(it.decision_id.into()),
        };
        let decided = desk.decide(which, variables(&it.variables)?).await?;
        answer(evaluated(&decided, desk.evaluation()))
    }

    async fn resolve_incident(
        &self,
        request: Request<ResolveIncidentRequest>,
    ) -> Answer<ResolveIncidentResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::ResolveIncident)?;
        desk.resolve(it.incident_key).await?;
        answer(ResolveIncidentResponse {})
    }

    async fn set_variables(
        &self,
        request: Request<SetVariablesRequest>,
    ) -> Answer<SetVariablesResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::SetVariables)?;
        let at = it.element_instance_key;
        desk.set_variables(at, variables(&it.variables)?, it.local).await?;
        // The protocol wants a key of what was done, which clients only look at.
        answer(SetVariablesResponse { key: at })
    }

    async fn update_job_retries(
        &self,
        request: Request<UpdateJobRetriesRequest>,
    ) -> Answer<UpdateJobRetriesResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::UpdateJobRetries)?;
        let retries = Some(u32::try_from(it.retries).unwrap_or(0));
        let change = JobChange { retries, ..JobChange::default() };
        desk.update_job(it.job_key, change).await?;
        answer(UpdateJobRetriesResponse {})
    }

    async fn update_job_timeout(
        &self,
        request: Request<UpdateJobTimeoutRequest>,
    ) -> Answer<UpdateJobTimeoutResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::UpdateJobTimeout)?;
        let change = JobChange { lease: Some(span(it.timeout)), ..JobChange::default() };
        desk.update_job(it.job_key, change).await?;
        answer(UpdateJobTimeoutResponse {})
    }

    async fn modify_process_instance(
        &self,
        request: Request<ModifyProcessInstanceRequest>,
    ) -> Answer<ModifyProcessInstanceResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::ModifyProcessInstance)?;
        let mut steps = Vec::new();
        for it in it.activate_instructions {
            let variables = it.variable_instructions.iter().map(|it| {
                let scope = (!it.scope_id.is_empty()).then(|| Name::from(it.scope_id.as_str()));
                Ok((scope, variables(&it.variables)?))
            });
            steps.push(Step::Activate(Arrival {
                element: it.element_id.into(),
                within: key_if_any(it.ancestor_element_instance_key),
                variables: variables.collect::<Result<_, Status>>()?,
            }));
        }
        let terminated = it.terminate_instructions.into_iter();
        steps.extend(terminated.map(|it| Step::Terminate(Spot::Key(it.element_instance_key))));
        desk.modify(it.process_instance_key, steps).await?;
        answer(ModifyProcessInstanceResponse {})
    }

    async fn migrate_process_instance(
        &self,
        request: Request<MigrateProcessInstanceRequest>,
    ) -> Answer<MigrateProcessInstanceResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::MigrateProcessInstance)?;
        let Some(plan) = it.migration_plan else {
            return Err(Status::invalid_argument("the plan of the migration is missing"));
        };
        let mapping = plan.mapping_instructions.into_iter();
        let mapping = mapping.map(|it| (it.source_element_id.into(), it.target_element_id.into()));
        let to = plan.target_process_definition_key;
        desk.migrate(it.process_instance_key, to, mapping.collect()).await?;
        answer(MigrateProcessInstanceResponse {})
    }

    async fn delete_resource(
        &self,
        request: Request<DeleteResourceRequest>,
    ) -> Answer<DeleteResourceResponse> {
        let (desk, it) = self.entrance.enter(request, Rpc::DeleteResource)?;
        desk.retire(it.resource_key, false).await?;
        answer(DeleteResourceResponse {})
    }
}

/// The element after which an instance ends.
fn last_element(it: ProcessInstanceCreationRuntimeInstruction) -> Result<Name, Status> {
    match it.instruction {
        Some(Instruction::Terminate(it)) => Ok(it.after_element_id.into()),
        None => Err(Status::invalid_argument(
            "a runtime instruction says nothing: the only one is to terminate after an element",
        )),
    }
}

/// Deploys files: the key of the deployment, and what is in them.
async fn deploy(desk: &Desk, files: Vec<File>) -> Result<(i64, Vec<Metadata>), Status> {
    let deployment = desk.deploy(files).await?;
    let definitions = desk.definitions();
    let deployed = deployment.deployed.iter().filter_map(|it| {
        let graph = it.requirements.and_then(|key| definitions.deployed_as(key));
        metadata(it, graph.map(|it| &**it))
    });
    Ok((key(Named::Deployment(deployment.number)), deployed.collect()))
}

fn create(
    desk: &Desk,
    it: CreateProcessInstanceRequest,
    trace: Option<Name>,
) -> Result<Create, Status> {
    tenant(&it.tenant_id)?;
    let target = match (key_if_any(it.process_definition_key), it.version) {
        (Some(key), _) => {
            let it = desk.definition(key)?;
            Target::Version(Name::clone(&it.id), it.version)
        }
        (None, _) if it.bpmn_process_id.trim().is_empty() => {
            return Err(Status::invalid_argument(
                "which process is missing: say bpmnProcessId or processDefinitionKey",
            ));
        }
        // −1 is the latest, and so is what older clients leave out.
        (None, ..=0) => Target::Latest(it.bpmn_process_id.into()),
        (None, version) => Target::Version(it.bpmn_process_id.into(), version.unsigned_abs()),
    };
    Ok(Create {
        target,
        variables: variables(&it.variables)?,
        at: it.start_instructions.into_iter().map(|it| it.element_id.into()).collect(),
        trace,
        ends_after: it
            .runtime_instructions
            .into_iter()
            .map(last_element)
            .collect::<Result<_, _>>()?,
        business_id: it.business_id.map(Name::from),
        tags: names(it.tags),
    })
}
