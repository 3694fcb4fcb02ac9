//! A server without connections, for targets that send it requests.

use std::{cell::RefCell, time::Duration};

use axum::{Router, body::Body};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;
use travertine_runtime::{
    Engine,
    engine::{File, Options},
};
use travertine_server::c8;

/// How many requests one engine answers: what they start and deploy stays in memory.
const REQUESTS: usize = 2_000;

/// How long a request may wait for jobs or results before its client goes away.
const PATIENCE: Duration = Duration::from_millis(20);

const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="urn:fuzz">
  <message id="m" name="paid"><extensionElements><zeebe:subscription correlationKey="=order"/></extensionElements></message>
  <process id="p" isExecutable="true"><startEvent id="start"/>
    <sequenceFlow id="a" sourceRef="start" targetRef="fork"/><parallelGateway id="fork"/>
    <sequenceFlow id="b" sourceRef="fork" targetRef="work"/><sequenceFlow id="c" sourceRef="fork" targetRef="ask"/>
    <sequenceFlow id="d" sourceRef="fork" targetRef="wait"/>
    <serviceTask id="work"><extensionElements><zeebe:taskDefinition type="t"/></extensionElements></serviceTask>
    <userTask id="ask"><extensionElements><zeebe:userTask/></extensionElements></userTask>
    <receiveTask id="wait" messageRef="m"/>
  </process></definitions>"#;

struct Served {
    runtime: Runtime,
    engine: Engine,
    routes: Router,
    requests: usize,
}

impl Served {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("there is room for a runtime");
        let engine = Engine::in_memory(Options::default()).expect("an engine opens");
        engine
            .deploy(&[File { name: "p.bpmn".into(), body: MODEL.into() }])
            .expect("the model is right");
        let routes = runtime.block_on(c8::for_anybody(engine.clone()));
        let mut served = Self { runtime, engine, routes, requests: 0 };
        for order in ["1", "2"] {
            let body = format!(r#"{{"processDefinitionId":"p","variables":{{"order":"{order}"}}}}"#);
            let request = Request::post("/v2/process-instances").body(Body::from(body));
            served.ask(request.expect("it is a request"));
        }
        served
    }

    fn ask(&mut self, request: Request<Body>) -> Option<Response<Vec<u8>>> {
        self.requests += 1;
        let routes = self.routes.clone();
        self.runtime.block_on(async {
            let answered = tokio::time::timeout(PATIENCE, async {
                let Ok(response) = routes.oneshot(request).await;
                let (parts, body) = response.into_parts();
                let body = body.collect().await.expect("the answer comes whole");
                Response::from_parts(parts, body.to_bytes().to_vec())
            });
            answered.await.ok()
        })
    }
}

thread_local! {
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

/// Sends a request. Nothing comes back where the answer takes long, as the one to a poll does.
pub fn ask(request: Request<Body>) -> Option<Response<Vec<u8>>> {
    SERVED.with_borrow_mut(|it| {
        if let Some(old) = it.take_if(|it| it.requests > REQUESTS) {
            drop(old.runtime);
            let _ = old.engine.shutdown();
        }
        it.get_or_insert_with(Served::new).ask(request)
    })
}
