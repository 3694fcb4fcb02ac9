//! Counts and times, in the format of Prometheus.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use travertine_runtime::Engine;

use crate::net::Seats;

/// What is counted while the server runs. What the engine counts is asked for when somebody looks.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Timed, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    protocol: &'static str,
    route: Arc<str>,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Timed {
    protocol: &'static str,
    route: Arc<str>,
}

fn histogram() -> Histogram {
    Histogram::new([
        0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ])
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("travertine");
        let requests = Family::default();
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        registry.register("requests", "Requests, by protocol, route and code", requests.clone());
        registry.register(
            "request_seconds",
            "How long requests took, until the whole answer was there",
            seconds.clone(),
        );
        Self { registry, requests, seconds }
    }

    /// Takes note of a request.
    pub(crate) fn answered(
        &self,
        protocol: &'static str,
        route: &Arc<str>,
        code: &'static str,
        took: Duration,
    ) {
        let route = Arc::clone(route);
        let timed = Timed { protocol, route: Arc::clone(&route) };
        self.requests.get_or_create(&Answered { protocol, route, code }).inc();
        self.seconds.get_or_create(&timed).observe(took.as_secs_f64());
    }

    /// Everything, as text.
    pub(crate) fn text(&self, engine: &Engine, seats: &Seats) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            text.clear();
        }
        let end = "# EOF\n";
        text.truncate(text.strip_suffix(end).map_or(text.len(), str::len));
        let mut add = |name: &str, kind: &str, help: &str, value: u64| {
            let suffix = if kind == "counter" { "_total" } else { "" };
            let _ = writeln!(
                text,
                "# HELP travertine_{name} {help}.\n# TYPE travertine_{name} {kind}\ntravertine_{name}{suffix} {value}"
            );
        };
        for (what, taken) in seats.taken() {
            let help = format!("{what} now, of as many as the limits allow");
            add(&format!("{what}_now"), "gauge", &help, taken as u64);
        }
        let it = engine.metrics();
        add("engine_requests", "counter", "Requests that the engine has accepted", it.requests);
        add(
            "engine_refused",
            "counter",
            "Requests that the engine has refused, being busy",
            it.refused,
        );
        add("engine_events", "counter", "Events", it.events);
        add("engine_batches", "counter", "Appends to the log", it.batches);
        add("engine_entries", "counter", "Entries of the log", it.entries);
        add("engine_bytes", "counter", "Bytes of the log", it.bytes);
        add("engine_checkpoints", "counter", "Times that rows were stored", it.checkpoints);
        add("engine_rows", "counter", "Rows that were stored", it.rows);
        add(
            "engine_stalls",
            "counter",
            "Times that the engine waited for the store, or for room in it",
            it.stalls,
        );
        add("engine_shards_lost", "counter", "Times that a shard was lost", it.shards_lost);
        add(
            "engine_shards_claimed_again",
            "counter",
            "Times that a lost shard was claimed again and went on",
            it.shards_claimed_again,
        );
        add("engine_shards_away", "gauge", "Shards that are lost now", it.shards_away);
        add(
            "engine_view_lag",
            "gauge",
            "Entries of the log that rows do not show yet",
            it.view_lag,
        );
        add("engine_waiting", "gauge", "Requests that wait at shards", it.waiting);
        add("engine_in_memory", "gauge", "Instances in memory", it.in_memory);
        add("engine_jobs", "gauge", "Jobs that nobody has", it.jobs);
        text.push_str(end);
        text
    }
}
