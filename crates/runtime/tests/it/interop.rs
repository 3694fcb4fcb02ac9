//! Processes that call functions, functions that call processes, and events between them.

use serde::{Deserialize, Serialize};
use travertine_func::{
    Activity, ActivityDefinition, ActivityOptions, Event, Failure, Functions, Workflow,
    WorkflowDefinition, encode,
};
use travertine_kernel::{Ending, Modification};
use travertine_runtime::{Error, InstanceId, engine::Options};
use travertine_store::view::{Filter, InstanceRow, InstanceState, Row, Table, TaskRow};

use crate::world::{World, file, vars};

#[derive(Serialize, Deserialize, Debug)]
struct Paid {
    cents: u64,
}

impl Event for Paid {
    const NAME: &'static str = "paid";
}

#[derive(Serialize, Deserialize, Debug)]
struct Bill {
    total: u64,
    text: String,
}

/// Typed parameters, a typed result, an error, a wait.
const BILL: WorkflowDefinition = WorkflowDefinition {
    name: "bill",
    version: 1,
    parameters: &["item", "count"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let item: String = arguments.take("item")?;
            let count: u64 = arguments.take("count")?;
            if count == 0 {
                return Err(Failure::terminal("empty", "nothing to bill").into());
            }
            if item == "slow" {
                let paid = cx.event::<Paid>().await?;
                return Ok(encode("bill", &Bill { total: paid.cents, text: item })?);
            }
            Ok(encode("bill", &Bill { total: 7 * count, text: format!("{count} {item}") })?)
        })
    },
};

const SHOP: &str = r#"<error id="empty" errorCode="empty"/><process id="shop" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
    <callActivity id="c" calledElement="bill"><extensionElements>
      <tv:input target="item">thing</tv:input><tv:input target="count">many + 1</tv:input>
      <tv:output target="sum">result.total</tv:output>
    </extensionElements></callActivity><sequenceFlow id="f2" sourceRef="c" targetRef="e"/>
    <boundaryEvent id="b" attachedToRef="c"><errorEventDefinition errorRef="empty"
      tv:messageVariable="why"/></boundaryEvent>
    <sequenceFlow id="f3" sourceRef="b" targetRef="e"/><endEvent id="e"/></process>"#;

/// A process that calls `bill` without mappings.
const STALL: &str = r#"<process id="stall" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
    <callActivity id="c" calledElement="bill"/><sequenceFlow id="f2" sourceRef="c" targetRef="e"/>
    <endEvent id="e"/></process>"#;

fn charge(cents: u64) -> Activity<Receipt> {
    Activity::new("charge", ActivityOptions::DEFAULT).argument("cents", &cents)
}

#[derive(Serialize, Deserialize, Debug)]
struct Receipt {
    number: String,
    /// What the activity was told of its instance, and of itself.
    told: (String, String),
}

const CHARGE: ActivityDefinition = ActivityDefinition {
    name: "charge",
    parameters: &["cents"],
    options: ActivityOptions::DEFAULT,
    run: |cx, mut arguments| {
        Box::pin(async move {
            let cents: u64 = arguments.take("cents")?;
            if cents == 13 {
                return Err(Failure::terminal("broke", "no money"));
            }
            let told = (cx.instance().to_owned(), cx.idempotency_key().to_owned());
            encode("charge", &Receipt { number: format!("r-{cents}"), told })
        })
    },
};

const TILL: &str = r#"<error id="broke" errorCode="broke"/><process id="till" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <serviceTask id="t" tv:jobType="charge"/><sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
    <boundaryEvent id="b" attachedToRef="t"><errorEventDefinition errorRef="broke"
      tv:messageVariable="why"/></boundaryEvent>
    <sequenceFlow id="f3" sourceRef="b" targetRef="e"/><endEvent id="e"/></process>"#;

const BUYER: WorkflowDefinition = WorkflowDefinition {
    name: "buyer",
    version: 1,
    parameters: &["cents"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let receipt = cx.call(charge(arguments.take("cents")?)).await?;
            Ok(encode("buyer", &receipt.number)?)
        })
    },
};

#[derive(Serialize, Deserialize, Debug)]
struct Invoice {
    number: u64,
}

fn clerk(kind: &str) -> Workflow<String> {
    Workflow::new("clerk", 1).argument("kind", kind)
}

/// Has invoices written by a process.
const CLERK: WorkflowDefinition = WorkflowDefinition {
    name: "clerk",
    version: 1,
    parameters: &["kind"],
    run: |cx, mut arguments| {
        Box::pin(async move {
            let kind: String = arguments.take("kind")?;
            if kind == "detached" {
                let id =
                    cx.process::<()>("invoice").variable("cents", &7).detached().id("inv").await?;
                return Ok(id.into());
            }
            let cents = if kind == "bad" { 13 } else { 7 };
            let invoice = cx.process::<Invoice>("invoice").variable("cents", &cents);
            let asked = invoice.variable("result", "of the process").await;
            let text = match asked {
                Ok(invoice) => format!("invoice {}", invoice.number),
                Err(failure) if failure.is_cancelled() => return Err(failure.into()),
                Err(failure) => failure.to_string(),
            };
            Ok(encode("clerk", &text)?)
        })
    },
};

const INVOICE: &str = r#"<error id="bad" errorCode="bad-luck"/><escalation id="big" escalationCode="big"/>
    <process id="invoice" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="up"/>
    <intermediateThrowEvent id="up"><escalationEventDefinition escalationRef="big"/>
    </intermediateThrowEvent><sequenceFlow id="f2" sourceRef="up" targetRef="t"/>
    <userTask id="t"/><sequenceFlow id="f3" sourceRef="t" targetRef="g"/>
    <exclusiveGateway id="g" default="f4"/><sequenceFlow id="f4" sourceRef="g" targetRef="e"/>
    <sequenceFlow id="f5" sourceRef="g" targetRef="x"><conditionExpression>cents == 13</conditionExpression>
    </sequenceFlow><endEvent id="e"/>
    <endEvent id="x"><errorEventDefinition errorRef="bad"/></endEvent></process>"#;

const PAYER: &str = r#"<message id="m" name="paid"/><process id="payer" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <intermediateThrowEvent id="t"><extensionElements><tv:payload name="cents">7 * 6</tv:payload>
    </extensionElements><messageEventDefinition messageRef="m"/></intermediateThrowEvent>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>"#;

const PAYEE: &str = r#"<message id="m" name="paid"/><process id="payee" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
    <receiveTask id="r" messageRef="m"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/>
    <endEvent id="e"/></process>"#;

const SENDER: WorkflowDefinition = WorkflowDefinition {
    name: "sender",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.send(Paid { cents: 5 }).await?;
            Ok(travertine_value::Value::Null)
        })
    },
};

fn options(shards: u16) -> Options {
    let functions = Functions::new()
        .workflow(BILL)
        .workflow(BUYER)
        .workflow(CLERK)
        .workflow(SENDER)
        .activity(CHARGE);
    Options { shards, functions, ..Options::default() }
}

/// A test, with one shard and with several, and with a restart whenever it says so.
fn each(models: &[&str], test: impl Fn(&mut World, &dyn Fn(&mut World))) {
    for shards in [1, 3] {
        for restarts in [false, true] {
            let mut world = World::with(options(shards));
            let files: Vec<_> =
                models.iter().enumerate().map(|(i, it)| file(&format!("{i}.bpmn"), it)).collect();
            world.engine().deploy(&files).expect("the models are fine");
            test(&mut world, &|world| {
                world.rest();
                if restarts {
                    world.restart();
                    world.rest();
                }
            });
            world.check();
        }
    }
}

fn shop(world: &World, thing: &str, many: i64) -> InstanceId {
    let start = world.engine().start("shop").variable("thing", thing).variable("many", many);
    let id = start.wait().expect("the engine does so");
    world.rest();
    id
}

fn value(variables: &[(travertine_value::Name, travertine_value::Value)], name: &str) -> String {
    let found = variables.iter().find(|(it, _)| &**it == name);
    found.unwrap_or_else(|| panic!("no {name} in {variables:?}")).1.to_string()
}

fn instances(world: &World, definition: &str) -> Vec<InstanceRow> {
    let rows = world.rows(Table::Instances, vec![Filter::Definition(definition.into())]);
    rows.into_iter().map(|it| if let Row::Instance(it) = it { it } else { panic!() }).collect()
}

fn states(world: &World, definition: &str) -> Vec<InstanceState> {
    instances(world, definition).into_iter().map(|it| it.state).collect()
}

fn tasks(world: &World) -> Vec<TaskRow> {
    let rows = world.rows(Table::Tasks, Vec::new()).into_iter();
    rows.map(|it| if let Row::Task(it) = it { it } else { panic!() }).collect()
}

fn finish_task(world: &World) {
    let [task] = &tasks(world)[..] else { panic!("there is one task") };
    let task = travertine_runtime::Address {
        instance: InstanceId(task.instance),
        wait: travertine_kernel::WaitId(task.wait),
    };
    world
        .engine()
        .complete(task, vars(&[("number", 99.into())]))
        .wait()
        .expect("the engine does so");
    world.rest();
}

fn incidents(world: &World) -> Vec<String> {
    let rows = world.rows(Table::Incidents, Vec::new()).into_iter();
    rows.map(|it| if let Row::Incident(it) = it { it.message.to_string() } else { panic!() })
        .collect()
}

#[test]
fn a_process_calls_a_function_by_the_names_of_its_parameters() {
    each(&[SHOP], |world, again| {
        let id = shop(world, "pen", 2);
        again(world);
        let ended = world.ended(id);
        assert_eq!(ended.ending, Ending::Completed);
        assert_eq!(value(&ended.variables, "sum"), "21");
        let names: Vec<&str> = ended.variables.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["many", "sum", "thing"], "nothing else comes back");
    });
}

#[test]
fn a_process_without_mappings_gets_the_result_and_nothing_else() {
    each(&[STALL], |world, again| {
        let start = world.engine().start("stall").variable("item", "cup").variable("count", 2);
        let id = start.wait().expect("the engine does so");
        again(world);
        let ended = world.ended(id);
        assert_eq!(value(&ended.variables, "result"), r#"{"total":14,"text":"2 cup"}"#);
        assert_eq!(ended.variables.len(), 3, "{ended:?}");
    });
}

#[test]
fn the_failure_of_a_function_is_an_error_of_its_code() {
    each(&[SHOP], |world, again| {
        let id = shop(world, "pen", -1);
        again(world);
        let ended = world.ended(id);
        assert_eq!(ended.ending, Ending::Completed);
        assert_eq!(value(&ended.variables, "why"), r#""nothing to bill""#);
        assert_eq!(states(world, "bill"), [InstanceState::Failed]);
    });
}

#[test]
fn what_a_function_cannot_read_is_an_incident_of_the_call() {
    each(&[STALL], |world, again| {
        let id = world
            .engine()
            .start("stall")
            .variable("item", "cup")
            .wait()
            .expect("the engine does so");
        again(world);
        assert_eq!(incidents(world), ["`bill` is called without its argument `count`"]);
        world.engine().cancel(id).wait().expect("the engine does so");
        assert_eq!(world.ended(id).ending, Ending::Cancelled);
    });
}

#[test]
fn who_cancels_a_process_cancels_the_function_that_it_called() {
    each(&[SHOP], |world, again| {
        let id = shop(world, "slow", 0);
        again(world);
        assert_eq!(states(world, "bill"), [InstanceState::Running]);
        world.engine().cancel(id).wait().expect("the engine does so");
        again(world);
        assert_eq!(states(world, "bill"), [InstanceState::Cancelled]);
    });
}

#[test]
fn a_called_function_that_is_cancelled_is_an_incident_and_can_be_called_again() {
    each(&[SHOP, PAYER], |world, again| {
        let id = shop(world, "slow", 0);
        again(world);
        let called = InstanceId(instances(world, "bill")[0].id);
        world.engine().cancel(called).wait().expect("the engine does so");
        again(world);
        assert_eq!(incidents(world), [format!("the called instance {called} was cancelled")]);
        world.engine().retry(id, None).wait().expect("the engine does so");
        again(world);
        assert_eq!(states(world, "bill"), [InstanceState::Cancelled, InstanceState::Running]);
        world.engine().start("payer").wait().expect("the engine does so");
        again(world);
        assert_eq!(value(&world.ended(id).variables, "sum"), "42");
    });
}

/// Waits until an activity is done.
fn ended(world: &World, id: InstanceId) -> travertine_runtime::Ended {
    world.engine().result(id).wait().expect("the engine does so")
}

#[test]
fn an_activity_of_the_program_does_the_jobs_of_processes_and_functions() {
    each(&[TILL], |world, _| {
        let id =
            world.engine().start("till").variable("cents", 5).wait().expect("the engine does so");
        assert_eq!(value(&ended(world, id).variables, "number"), r#""r-5""#);
        let id =
            world.engine().start("till").variable("cents", 13).wait().expect("the engine does so");
        assert_eq!(value(&ended(world, id).variables, "why"), r#""no money""#);
        let run = world.engine().start(Workflow::<String>::new("buyer", 1).argument("cents", &5));
        assert_eq!(
            run.wait().expect("the engine does so").wait().expect("the engine does so"),
            "r-5"
        );
    });
}

#[test]
fn an_activity_that_brings_nothing_sets_no_variable_of_a_process() {
    let nothing = ActivityDefinition {
        name: "nothing",
        parameters: &[],
        options: ActivityOptions::DEFAULT,
        run: |_, _| Box::pin(async move { encode("nothing", &()) }),
    };
    let functions = Functions::new().activity(nothing);
    let world = World::with(Options { shards: 1, functions, ..Options::default() });
    world.deploy(
        r#"<process id="p" isExecutable="true"><startEvent id="s"/>
        <sequenceFlow id="f" sourceRef="s" targetRef="t"/><serviceTask id="t" tv:jobType="nothing"/></process>"#,
    );
    let id = world.engine().start("p").wait().expect("it starts");
    assert_eq!(ended(&world, id).variables, []);
}

#[test]
fn an_activity_is_told_what_its_instance_is_called_and_a_key_that_is_its_jobs() {
    each(&[TILL], |world, _| {
        let till = || world.engine().start("till").variable("cents", 5);
        let told = |id| value(&ended(world, id).variables, "told");
        let id = till().wait().expect("the engine does so");
        assert_eq!(told(id), format!(r#"["number:{id}","{id}-4"]"#));
        let id = till().id("order-7").wait().expect("the engine does so");
        assert_eq!(told(id), format!(r#"["order-7","{id}-4"]"#));
    });
}

#[test]
fn a_function_calls_a_process_and_waits_for_its_people() {
    each(&[INVOICE], |world, again| {
        let run = world.engine().start(clerk("good")).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        assert_eq!(tasks(world).len(), 1, "the process goes on after its escalation");
        let look = world.engine().look(id).wait().expect("the engine does so");
        assert_eq!(look.state.layers.len(), 1, "and that has left nothing in the function");
        assert_eq!(incidents(world), [] as [String; 0]);
        finish_task(world);
        again(world);
        let ended = world.ended(id);
        assert_eq!(value(&ended.variables, "result"), r#""invoice 99""#, "{ended:?}");
        assert_eq!(ended.variables.len(), 1);
    });
}

#[test]
fn the_error_of_a_called_process_is_a_failure_of_its_code() {
    each(&[INVOICE], |world, again| {
        let run = world.engine().start(clerk("bad")).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        finish_task(world);
        again(world);
        let result = value(&world.ended(id).variables, "result");
        assert!(result.starts_with(r#""child failed: bad-luck: "#), "{result}");
    });
}

#[test]
fn cancelling_goes_both_ways_between_a_function_and_its_process() {
    each(&[INVOICE], |world, again| {
        let run = world.engine().start(clerk("good")).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        world.engine().cancel(id).wait().expect("the engine does so");
        again(world);
        assert_eq!(world.ended(id).ending, Ending::Cancelled);
        assert_eq!(states(world, "invoice"), [InstanceState::Cancelled]);
        assert_eq!(tasks(world), []);
    });
    each(&[INVOICE], |world, again| {
        let run = world.engine().start(clerk("good")).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        let called = InstanceId(instances(world, "invoice")[0].id);
        world.engine().cancel(called).wait().expect("the engine does so");
        again(world);
        let result = value(&world.ended(id).variables, "result");
        assert!(result.starts_with(r#""child failed: cancelled: "#), "{result}");
    });
}

#[test]
fn a_process_that_a_function_starts_goes_its_own_way_under_its_id() {
    each(&[INVOICE], |world, again| {
        let run = world.engine().start(clerk("detached")).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        assert_eq!(value(&world.ended(id).variables, "result"), r#""inv""#);
        assert_eq!(instances(world, "invoice")[0].business_id.as_deref(), Some("inv"));
        assert_eq!(states(world, "invoice"), [InstanceState::Running]);
        finish_task(world);
        assert_eq!(states(world, "invoice"), [InstanceState::Completed]);
    });
}

// covers: ENGINE-11, ENGINE-28
#[test]
fn messages_of_processes_are_events_of_functions_and_the_other_way_round() {
    each(&[PAYER, PAYEE], |world, again| {
        let bill = Workflow::<Bill>::new("bill", 1).argument("item", "slow").argument("count", &1);
        let run = world.engine().start(bill).wait().expect("the engine does so");
        let id = run.instance();
        drop(run);
        again(world);
        world.engine().start("payer").wait().expect("the engine does so");
        again(world);
        assert_eq!(value(&world.ended(id).variables, "result"), r#"{"total":42,"text":"slow"}"#);
        let id = world.engine().start("payee").wait().expect("the engine does so");
        again(world);
        world.engine().start(Workflow::<()>::new("sender", 1)).wait().expect("the engine does so");
        again(world);
        assert_eq!(value(&world.ended(id).variables, "cents"), "5");
    });
}

#[test]
fn what_changes_processes_is_refused_for_functions() {
    let world = World::with(options(1));
    let bill = Workflow::<Bill>::new("bill", 1).argument("item", "slow").argument("count", &1);
    let id = world.engine().start(bill).wait().expect("the engine does so").instance();
    let set = world.engine().set_variables(id, None, vars(&[("count", 2.into())])).wait();
    let modified = world.engine().modify(id, Vec::<Modification>::new()).wait();
    for refused in [set, modified] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Rejected(_)), "{error:?}");
        assert!(error.to_string().contains("the instance is a function"), "{error}");
    }
}
