//! Any bytes as the parts of a deployment: they are deployed or refused.

#![no_main]

use axum::body::Body;
use http::Request;
use libfuzzer_sys::fuzz_target;
use travertine_fuzz::served::ask;

fuzz_target!(|bytes: &[u8]| {
    let request = Request::post("/v2/deployments")
        .header("content-type", "multipart/form-data; boundary=cut")
        .body(Body::from(bytes.to_vec()))
        .expect("it is a request");
    let Some(answer) = ask(request) else { return };
    assert!(answer.status().as_u16() != 500, "{}", String::from_utf8_lossy(answer.body()));
    let read: Result<serde_json::Value, _> = serde_json::from_slice(answer.body());
    assert!(read.is_ok(), "the answer is JSON");
});
