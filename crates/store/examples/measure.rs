//! Sizes and times of the stored form, with JSON texts of the values for comparison.
//!
//! `cargo run --profile dist -p travertine-store --example measure`

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{hint::black_box, time::Instant};

use travertine_kernel::{
    Command, Event, Instance, LayerId, NodeId, Plan, WaitId, handle,
    plan::{Container, Count, Each, Element, Flow, Node, OnEmpty, Repeat, Start, Work, WorkKind},
    replay,
    time::Timestamp,
};
use travertine_store::codec::{decode_events, decode_instance, encode_events, encode_instance};
use travertine_value::{Program, Value};

const VALUES: [(&str, &str); 6] = [
    ("a whole number", "1200"),
    ("an amount", "99.95"),
    ("a text", r#""order-4711""#),
    ("an order", ORDER),
    ("hundred numbers", ""),
    ("hundred orders", ""),
];

const ORDER: &str = r#"{"id":"order-4711","customer":{"name":"Ann Lee","city":"Oslo"},"paid":false,
    "items":[{"sku":"A-1","count":2,"price":19.95},{"sku":"B-22","count":1,"price":60.05}]}"#;

fn main() {
    println!("{:24} {:>8} {:>10} {:>10}", "", "bytes", "write ns", "read ns");
    for (what, text) in VALUES {
        let value = match what {
            "hundred numbers" => (1_000..1_100).map(Value::from).collect(),
            "hundred orders" => (0..100).map(|_| json(ORDER)).collect(),
            _ => json(text),
        };
        let text = value.to_json();
        let write = nanos(|| black_box(&value).to_json());
        let read = nanos(|| Value::parse_json(black_box(&text)));
        row(&format!("{what}, JSON"), text.len(), write, read);
        let set = [Event::VariableSet { layer: LayerId(1), name: "".into(), value }];
        // Version, number of events, kind, layer, name.
        measure(&format!("{what}, stored"), &set, 5);
    }
    let (started, completed) = one_task();
    println!();
    measure(&format!("start, {} events", started.len()), &started, 0);
    measure(&format!("complete, {} events", completed.len()), &completed, 0);
    println!();
    measure_instance("an instance at its task", &replay(&started), 500);
    measure_instance("one with 100,000 jobs", &many_jobs(100_000), 1);
}

fn measure_instance(what: &str, instance: &Instance, times: u32) {
    let mut bytes = Vec::new();
    let write = nanos_of(times, || {
        bytes.clear();
        encode_instance(black_box(instance), &mut bytes)
    });
    let read = nanos_of(times, || decode_instance(black_box(&bytes)));
    row(what, bytes.len(), write, read);
}

fn measure(what: &str, events: &[Event], apart: usize) {
    let mut bytes = Vec::new();
    let write = nanos(|| {
        bytes.clear();
        encode_events(black_box(events), &mut bytes)
    });
    let read = nanos(|| decode_events(black_box(&bytes)));
    row(what, bytes.len() - apart, write, read);
}

fn row(what: &str, bytes: usize, write: u128, read: u128) {
    println!("{what:24} {bytes:8} {write:10} {read:10}");
}

fn json(text: &str) -> Value {
    Value::parse_json(text).expect("the examples are JSON")
}

/// The least of several means.
fn nanos<T>(work: impl FnMut() -> T) -> u128 {
    nanos_of(500, work)
}

fn nanos_of<T>(times: u32, mut work: impl FnMut() -> T) -> u128 {
    let mean = |_| {
        let start = Instant::now();
        for _ in 0..times {
            black_box(work());
        }
        start.elapsed().as_nanos() / u128::from(times)
    };
    (0..20).map(mean).min().unwrap_or_default()
}

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn charge() -> Element {
    Element::Work(Work {
        kind: WorkKind::Job,
        job_type: Program::constant("charge-card".into()),
        retries: None,
        fields: Vec::new(),
    })
}

/// What is stored when a process with one task is started, and when the task is completed.
fn one_task() -> (Vec<Event>, Vec<Event>) {
    let process = Some(NodeId(0));
    let nodes = vec![
        Node::new("process", None, Element::Process(Container::default())),
        Node::new("start", process, Element::Start(Start::default())),
        Node::new("charge", process, charge()),
    ];
    let plan = Plan::new(nodes, vec![Flow::new("flow", NodeId(1), NodeId(2))]);
    let mut instance = Instance::default();
    let mut run =
        |command| handle(&plan, &mut instance, NOW, command).expect("the command fits").events;
    let variables = vec![("order".into(), json(ORDER))];
    let started = run(Command::Start { at: Vec::new(), variables, caller: None });
    let wait = started
        .iter()
        .find_map(|it| if let Event::WaitOpened { wait, .. } = it { Some(*wait) } else { None });
    let wait: WaitId = wait.expect("the task waits");
    let variables = vec![("charge".into(), "ch_1234".into())];
    (started, run(Command::Complete { wait, variables }))
}

/// One multi-instance task, all of whose jobs are open.
fn many_jobs(count: i64) -> Instance {
    let process = Some(NodeId(0));
    let mut task = Node::new("charge", process, charge());
    task.repeat = Some(Box::new(Repeat::Each(Each {
        sequential: false,
        count: Count::Cardinality(Program::constant(count.into())),
        item: None,
        index: None,
        output: None,
        completion: None,
        on_empty: OnEmpty::Complete,
        batch: None,
        behavior: Vec::new(),
    })));
    let nodes = vec![
        Node::new("process", None, Element::Process(Container::default())),
        Node::new("start", process, Element::Start(Start::default())),
        task,
    ];
    let plan = Plan::new(nodes, vec![Flow::new("flow", NodeId(1), NodeId(2))]);
    let mut instance = Instance::default();
    let mut command = Command::Start { at: Vec::new(), variables: Vec::new(), caller: None };
    while handle(&plan, &mut instance, NOW, command).expect("the command fits").unfinished {
        command = Command::Continue;
    }
    instance
}
