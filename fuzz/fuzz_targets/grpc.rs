//! Any bytes as the message of any call: there is an answer, with a status.

#![no_main]

use axum::body::Body;
use http::Request;
use libfuzzer_sys::fuzz_target;
use travertine_fuzz::served::ask;

const CALLS: [&str; 21] = [
    "ActivateJobs",
    "BroadcastSignal",
    "CancelProcessInstance",
    "CompleteJob",
    "CreateProcessInstance",
    "CreateProcessInstanceWithResult",
    "DeleteResource",
    "DeployProcess",
    "DeployResource",
    "EvaluateDecision",
    "FailJob",
    "MigrateProcessInstance",
    "ModifyProcessInstance",
    "PublishMessage",
    "ResolveIncident",
    "SetVariables",
    "StreamActivatedJobs",
    "ThrowError",
    "Topology",
    "UpdateJobRetries",
    "UpdateJobTimeout",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, message)) = bytes.split_first() else { return };
    let call = CALLS[usize::from(*choice) % CALLS.len()];
    let length = u32::try_from(message.len()).expect("inputs are small");
    let body = [&[0], &length.to_be_bytes()[..], message].concat();
    let request = Request::post(format!("/gateway_protocol.Gateway/{call}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::from(body))
        .expect("it is a request");
    let Some(answer) = ask(request) else { return };
    assert!(answer.status().is_success(), "{call}: {}", answer.status());
});
