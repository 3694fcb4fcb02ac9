//! Any bytes as the body of any operation of REST, also at any key: there is an answer, and one that refuses says why in
//! the form of problems. Filters, sorts and cursors are bodies of searches.

#![no_main]

use axum::body::Body;
use http::Request;
use libfuzzer_sys::fuzz_target;
use travertine_fuzz::served::ask;
use travertine_server::c8::rest::ROUTES;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first_chunk::<2>() else { return };
    let route = &ROUTES[usize::from(choice[0]) % ROUTES.len()];
    // Half of the keys are of what is there, or could be.
    let key = match choice[1] {
        it @ 0..=127 => i64::from(it),
        it => i64::from(it) << 50 | i64::from(it & 15),
    };
    let path: Vec<String> = route
        .path
        .split('/')
        .map(|it| if it.starts_with('{') { key.to_string() } else { it.to_owned() })
        .collect();
    let request = Request::builder().method(route.method).uri(format!("/v2{}", path.join("/")));
    let request = request.header("content-type", "application/json");
    let Ok(request) = request.body(Body::from(body.to_vec())) else { return };
    let Some(answer) = ask(request) else { return };
    let status = answer.status();
    assert!(status.as_u16() != 500, "{}", String::from_utf8_lossy(answer.body()));
    if !status.is_success() {
        let problem: serde_json::Value =
            serde_json::from_slice(answer.body()).expect("a problem is JSON");
        for field in ["type", "title", "status", "detail", "instance"] {
            assert!(problem.get(field).is_some(), "{problem} has no {field}");
        }
    }
});
