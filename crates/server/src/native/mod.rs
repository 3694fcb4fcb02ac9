//! The native API, `/api/1`: everything that Travertine can be asked, in its own words.
//!
//! `ROUTES` is the table of all operations, with what each needs and takes; each file has those of one thing. What is
//! answered are the documents that the command line prints, made by the same code (`travertine-data`).

mod access;
mod batches;
mod call;
mod decisions;
mod definitions;
mod files;
mod functions;
mod history;
mod idempotency;
mod incidents;
mod instances;
mod jobs;
mod list;
mod live;
#[cfg(test)]
mod matrix;
mod messages;
mod modify;
mod operate;
mod picture;
mod play;
mod problem;
mod query;
mod schedules;
mod store;
mod tasks;
mod timers;
mod variables;
mod webhooks;

use std::{future::Future, pin::Pin, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    routing::{MethodFilter, on},
};
use http::Method;

use crate::{
    access::Permission,
    desk::{Desk, Outcome, Refusal},
};
use call::{Answer, Call};
pub(crate) use idempotency::{Remembered, narrow};
pub use list::Listed;
pub(crate) use play::Sessions;
use problem::Problem;

type Handled = Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>;

/// Where the API is.
const BASE: &str = "/api/1";

/// What an operation takes besides its path. Anything else is refused.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Parameters behind the path.
    Parameters(&'static [&'static str]),
    /// The parameters of a list.
    List(&'static Listed),
    /// Fields of a JSON object.
    Fields(&'static [&'static str]),
    /// Files, and these fields beside them.
    Files(&'static [&'static str]),
}

impl Takes {
    /// The names of its parameters.
    pub fn parameters(&self) -> Vec<&'static str> {
        match self {
            Self::Parameters(all) => all.to_vec(),
            Self::List(list) => list.parameters(),
            Self::Fields(_) | Self::Files(_) => Vec::new(),
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method of HTTP.
    pub method: &'static str,
    /// The path below `/api/1`.
    pub path: &'static str,
    /// What it is called.
    pub operation: &'static str,
    /// Who may do it: whoever has one of these permissions; everybody who has logged in, where there is none.
    pub needs: &'static [Permission],
    /// What it takes.
    pub takes: Takes,
    handle: fn(Call) -> Handled,
}

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident [$($need:ident)*] $kind:ident($($takes:tt)*) => $handle:path;)*) => {
        /// All operations.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            operation: stringify!($operation),
            needs: &[$(Permission::$need),*],
            takes: routes!(@$kind $($takes)*),
            handle: |call| Box::pin($handle(call)),
        }),*];
    };
    (@parameters $($name:literal)*) => { Takes::Parameters(&[$($name),*]) };
    (@fields $($name:literal)*) => { Takes::Fields(&[$($name),*]) };
    (@files $($name:literal)*) => { Takes::Files(&[$($name),*]) };
    (@list $list:path) => { Takes::List(&$list) };
}

routes! {
    GET "/openapi.yaml" getOpenApi [] parameters() => store::description;

    GET "/instances" listInstances [Read] list(instances::LIST) => instances::list;
    POST "/instances" startInstance [Start]
        fields("definition" "version" "tag" "id" "variables" "at" "tags") => instances::start;
    GET "/instances/{instance}" getInstance [Read] parameters() => instances::one;
    GET "/instances/{instance}/tree" getTree [Read] parameters("under" "after" "limit" "at") => instances::tree;
    GET "/instances/{instance}/variables" getVariables [Read] parameters("token" "after" "limit" "at") => variables::layers;
    GET "/instances/{instance}/why" getWhy [Read] parameters("token" "element" "after" "limit" "at") => instances::why;
    GET "/instances/{instance}/history" getHistory [Read] parameters("after" "limit") => history::history;
    GET "/instances/{instance}/events" listEvents [Read] parameters("after" "limit" "kind" "element" "name") => history::events;
    GET "/instances/{instance}/frames" listFrames [Read] parameters("after" "limit") => history::frames;
    GET "/instances/{instance}/at/{moment}" getMoment [Read] parameters() => history::moment;
    GET "/instances/{instance}/picture" getPicture [Read] parameters("at" "layout" "page") => picture::of_instance;
    POST "/instances/{instance}/cancel" cancelInstance [Operate] fields() => operate::cancel;
    POST "/instances/{instance}/suspend" suspendInstance [Operate] fields() => operate::suspend;
    POST "/instances/{instance}/resume" resumeInstance [Operate] fields() => operate::resume;
    POST "/instances/{instance}/resolve" resolveInstance [Operate] fields("token" "variables") => operate::resolve;
    POST "/instances/{instance}/variables" setVariables [Operate] fields("variables" "token" "local") => operate::set;
    POST "/instances/{instance}/modify" modifyInstance [Operate] fields("move" "add" "withdraw" "dry_run") => modify::modify;
    POST "/instances/{instance}/migrate" migrateInstance [Operate]
        fields("definition" "version" "mapping" "dry_run") => modify::migrate;
    DELETE "/instances/{instance}" deleteInstance [Admin] parameters() => operate::delete;

    GET "/definitions" listDefinitions [Read] parameters("id" "kind" "latest") => definitions::list;
    GET "/definitions/{definition}" getDefinition [Read] parameters("version" "kind") => definitions::one;
    GET "/definitions/{definition}/xml" getModel [Read] parameters("version" "kind") => definitions::xml;
    GET "/definitions/{definition}/picture" getModelPicture [Read] parameters("version" "layout" "page") => definitions::picture;
    GET "/definitions/{definition}/diagram" getDiagram [Read] parameters("version" "layout") => definitions::diagram;
    GET "/definitions/{definition}/statistics" getStatistics [Read] parameters("version") => definitions::statistics;
    GET "/definitions/{definition}/check" checkDeployed [Read] parameters("version" "strict") => definitions::check_deployed;
    POST "/definitions/{definition}/retire" retireDefinition [Deploy] fields("version" "kind" "delete_history") => definitions::retire;
    DELETE "/definitions/{definition}" undeployDefinition [Deploy] parameters("version" "kind") => definitions::undeploy;
    POST "/deployments" deploy [Deploy] files("files" "strict") => definitions::deploy;
    POST "/check" checkFiles [Deploy] files("files" "strict") => definitions::check;
    POST "/draw" drawFile [Read] files("files" "layout" "page" "process") => definitions::draw;

    GET "/incidents" listIncidents [Read] list(incidents::LIST) => incidents::list;
    GET "/incidents/causes" listCauses [Read] parameters("definition" "limit") => incidents::causes;

    GET "/jobs" listJobs [Read] list(jobs::LIST) => jobs::list;
    GET "/jobs/types" listJobTypes [Read] parameters() => jobs::types;
    POST "/jobs/activate" activateJobs [Work] fields("type" "worker" "limit" "lease_ms" "wait_ms" "variables") => jobs::activate;
    GET "/jobs/{job}" getJob [Read] parameters() => jobs::one;
    POST "/jobs/{job}/complete" completeJob [Work] fields("variables") => jobs::complete;
    POST "/jobs/{job}/fail" failJob [Work] fields("message" "retries" "backoff_ms" "variables") => jobs::fail;
    POST "/jobs/{job}/error" raiseError [Work] fields("code" "message" "variables") => jobs::error;
    POST "/jobs/{job}/retries" setRetries [Operate] fields("retries") => jobs::retries;

    GET "/tasks" listTasks [Read Task] list(tasks::LIST) => tasks::list;
    GET "/tasks/{task}" getTask [Read Task] parameters() => tasks::one;
    GET "/tasks/{task}/form" getTaskForm [Read Task] parameters() => tasks::form;
    POST "/tasks/{task}/claim" claimTask [Operate Task] fields("assignee") => tasks::claim;
    POST "/tasks/{task}/unclaim" unclaimTask [Operate Task] fields() => tasks::unclaim;
    POST "/tasks/{task}/complete" completeTask [Operate Task] fields("variables") => tasks::complete;
    PATCH "/tasks/{task}" changeTask [Operate]
        fields("assignee" "candidate_users" "candidate_groups" "due" "follow_up" "priority") => tasks::change;

    GET "/timers" listTimers [Read] list(timers::LIST) => timers::list;
    POST "/timers/{timer}/move" moveTimer [Operate] fields("to") => timers::shift;
    POST "/timers/{timer}/fire" fireTimer [Operate] fields() => timers::fire;
    POST "/waits/{wait}/complete" completeWait [Operate] fields("variables") => jobs::complete_wait;

    GET "/messages" listMessages [Read Message] list(messages::LIST) => messages::list;
    POST "/messages" publishMessage [Message]
        fields("name" "key" "correlate" "variables" "id" "ttl_ms" "instance" "business_key" "for_all") => messages::publish;
    POST "/messages/correlate" correlateMessage [Message]
        fields("name" "key" "correlate" "variables" "instance" "business_key") => messages::correlate;
    GET "/subscriptions" listSubscriptions [Read] list(messages::SUBSCRIPTIONS) => messages::subscriptions;
    POST "/signals" broadcastSignal [Message] fields("name" "variables") => messages::signal;
    POST "/conditions" evaluateConditions [Message] fields("variables") => messages::conditions;
    GET "/dead-letters" listDeadLetters [Read Message] list(messages::DEAD_LETTERS) => messages::dead_letters;
    GET "/dead-letters/{letter}" getDeadLetter [Read Message] parameters() => messages::dead_letter;
    POST "/dead-letters/{letter}/replay" replayDeadLetter [Message] fields() => messages::replay;
    DELETE "/dead-letters/{letter}" discardDeadLetter [Message] parameters() => messages::discard;

    POST "/eval" evaluate [Decide] fields("expression" "language" "variables" "now" "instance" "token") => decisions::eval;
    POST "/decisions/{decision}/decide" decide [Decide] fields("version" "variables") => decisions::decide;
    POST "/decide" decideByFiles [Decide] files("files" "decision" "variables" "now") => decisions::decide_files;

    GET "/functions" listFunctions [Read] parameters() => functions::list;
    POST "/functions/{function}/runs" startFunction [Start] fields("id" "version" "arguments") => functions::start;
    GET "/functions/runs/{run}" getRun [Read] parameters() => functions::status;
    GET "/functions/runs/{run}/result" getRunResult [Read] parameters("wait_ms") => functions::result;
    POST "/functions/runs/{run}/cancel" cancelRun [Operate] fields() => functions::cancel;
    POST "/functions/runs/{run}/query/{name}" queryRun [Read] fields("input") => functions::query;
    POST "/functions/runs/{run}/update/{name}" updateRun [Operate] fields("input" "id") => functions::update;
    POST "/functions/events" sendEvent [Message] fields("name" "key" "data" "to" "id") => functions::event;

    GET "/schedules" listSchedules [Read] parameters() => schedules::list;
    GET "/schedules/{schedule}" getSchedule [Read] parameters() => schedules::one;
    PUT "/schedules/{schedule}" putSchedule [Start]
        fields("definition" "variables" "cron" "zone" "every_ms" "jitter_ms" "overlap" "paused") => schedules::put;
    POST "/schedules/{schedule}/pause" pauseSchedule [Operate] fields() => schedules::pause;
    POST "/schedules/{schedule}/resume" resumeSchedule [Operate] fields() => schedules::resume;
    POST "/schedules/{schedule}/trigger" triggerSchedule [Operate] fields() => schedules::trigger;
    DELETE "/schedules/{schedule}" removeSchedule [Operate] parameters() => schedules::remove;

    GET "/webhooks" listWebhooks [Admin] parameters() => webhooks::list;
    GET "/webhooks/{webhook}" getWebhook [Admin] parameters() => webhooks::one;
    PUT "/webhooks/{webhook}" putWebhook [Admin] fields("url" "definitions" "kinds" "secret") => webhooks::put;
    POST "/webhooks/{webhook}/pause" pauseWebhook [Admin] fields() => webhooks::pause;
    POST "/webhooks/{webhook}/resume" resumeWebhook [Admin] fields() => webhooks::resume;
    DELETE "/webhooks/{webhook}" removeWebhook [Admin] parameters() => webhooks::remove;

    GET "/batches" listBatches [Read] parameters() => batches::list;
    POST "/batches" beginBatch [Operate Admin]
        fields("operation" "q" "filter" "instances" "variables" "element" "kind" "code" "definition" "version" "mapping" "move" "add" "withdraw"
            "per_second" "paused" "dry_run") => batches::begin;
    GET "/batches/{batch}" getBatch [Read] parameters() => batches::one;
    GET "/batches/{batch}/items" listBatchItems [Read] parameters("after" "limit" "outcome") => batches::items;
    POST "/batches/{batch}/pause" pauseBatch [Operate Admin] fields() => batches::pause;
    POST "/batches/{batch}/resume" resumeBatch [Operate Admin] fields() => batches::resume;
    POST "/batches/{batch}/cancel" cancelBatch [Operate Admin] fields() => batches::cancel;
    DELETE "/batches/{batch}" forgetBatch [Operate Admin] parameters() => batches::forget;

    GET "/play" listSessions [Deploy] parameters() => play::list;
    POST "/play" beginSession [Deploy]
        files("files" "definition" "version" "process" "start" "variables" "now") => play::begin;
    GET "/play/{session}" getSession [Deploy] parameters() => play::one;
    POST "/play/{session}/steps" doStep [Deploy]
        fields("complete" "throw_error" "escalate" "fail" "retry" "message" "signal" "advance" "set_vars" "cancel" "vars"
            "where" "code" "error_message" "retries" "correlation" "key" "element" "note") => play::step;
    POST "/play/{session}/rewind" rewindSession [Deploy] fields("steps") => play::rewind;
    GET "/play/{session}/picture" getSessionPicture [Deploy] parameters("instance" "layout" "page") => play::drawn;
    GET "/play/{session}/answers" getAnswers [Deploy] parameters() => play::answers;
    DELETE "/play/{session}" endSession [Deploy] parameters() => play::end;

    GET "/live" live [Read] parameters("instance" "definition" "after") => live::live;

    GET "/me" getMe [] parameters() => access::me;
    GET "/access" getAccess [Admin] parameters() => access::all;
    GET "/access/audit" listAudit [Admin] parameters("before" "limit") => access::audit;
    PUT "/access/users/{user}" putUser [Admin] fields("password" "groups" "grants" "disabled") => access::put_user;
    DELETE "/access/users/{user}" removeUser [Admin] parameters() => access::remove_user;
    PUT "/access/groups/{group}" putGroup [Admin] fields("grants") => access::put_group;
    PUT "/access/keys/{key}" addKey [Admin] fields("grants" "expires") => access::add_key;
    DELETE "/access/keys/{key}" removeKey [Admin] parameters() => access::remove_key;

    GET "/store" getStore [Read] parameters() => store::stats;
    POST "/store/verify" verifyStore [Admin] fields() => store::verify;
    POST "/store/compact" compactStore [Admin] fields("history" "ended" "keep") => store::compact;
    GET "/store/preflight" preflight [Admin] parameters() => store::preflight;
}

/// The routes of the native API.
pub(crate) fn routes(desk: Desk, remembered: &Arc<Remembered>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = Method::from_bytes(route.method.as_bytes())
            .ok()
            .and_then(|it| MethodFilter::try_from(it).ok())
            .expect("the table has methods of HTTP");
        let remembered = Arc::clone(remembered);
        let answer = move |State(desk): State<Desk>, request: Request| {
            let remembered = Arc::clone(&remembered);
            async move {
                let path = request.uri().path().to_owned();
                match answer(desk, route, request, &remembered).await {
                    Ok(response) => response,
                    Err(problem) => problem.response(&path),
                }
            }
        };
        router = router.route(&format!("{BASE}{}", route.path), on(filter, answer));
    }
    router.with_state(desk)
}

/// Answers a request. One that was sent before with the same key gets the answer that was given then.
async fn answer(
    desk: Desk,
    route: &Route,
    request: Request,
    remembered: &Arc<Remembered>,
) -> Result<axum::response::Response, Problem> {
    let call = Call::read(desk, route, request).await?;
    let key = if route.method == "POST" { idempotency::key(&call).await? } else { None };
    let Some(key) = key else { return Ok((route.handle)(call).await?.into_response()) };
    idempotency::once(remembered, key, (route.handle)(call)).await
}

/// Whether a path is ours.
pub(crate) fn is_native(path: &str) -> bool {
    path.strip_prefix(BASE).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// The answer where there is no such operation.
pub(crate) fn no_such_path(method: &Method, path: &str) -> axum::response::Response {
    let below = path.strip_prefix(BASE).unwrap_or(path);
    let near = ROUTES.iter().filter(|it| it.method == method.as_str());
    let near = near.map(|it| (strsim::jaro_winkler(it.path, below), it));
    let near = near.filter(|(score, _)| *score > 0.85).max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near.map(|(_, it)| format!("; is {} {BASE}{} meant?", it.method, it.path));
    let detail = format!("there is no operation {method} {path}{}", hint.unwrap_or_default());
    Problem::from(Refusal::new(Outcome::NotFound, detail)).response(path)
}
