//! A panic at every step of what happens to instances.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use travertine_func::{
    Consume, Delivery, Event, EventConfig, Functions, Workflow, WorkflowDefinition, encode,
};
use travertine_kernel::{Ending, Phase, Plan, WaitId};
use travertine_store::{MemoryStore, ShardId, Store as _, record::Letter};
use travertine_value::{Name, Value};

use super::{
    super::{Ended, Watcher, alarm::Alarm},
    steps,
};
use crate::{
    Address, Begin, Board, Definitions, Error, InstanceId, Lease, Message, Opening, Settings,
    Shard, Timestamp, request::ReplyTo,
};

/// An order is paid for, packed by another process, told to a third, and ended by a timer.
const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:tv="urn:travertine:bpmn:1" targetNamespace="t">
    <message id="paid" name="paid"/><message id="told" name="told"/>
    <process id="order" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="check"/>
    <serviceTask id="check" tv:jobType="check"/>
    <sequenceFlow id="f2" sourceRef="check" targetRef="pay"/>
    <receiveTask id="pay" messageRef="paid"/>
    <boundaryEvent id="late" attachedToRef="pay"><timerEventDefinition>
    <timeDuration>PT24H</timeDuration></timerEventDefinition></boundaryEvent>
    <sequenceFlow id="f3" sourceRef="late" targetRef="lost"/><endEvent id="lost"/>
    <sequenceFlow id="f4" sourceRef="pay" targetRef="pack"/>
    <callActivity id="pack" calledElement="packing"/>
    <sequenceFlow id="f5" sourceRef="pack" targetRef="tell"/>
    <intermediateThrowEvent id="tell"><messageEventDefinition messageRef="told"/>
    </intermediateThrowEvent>
    <sequenceFlow id="f6" sourceRef="tell" targetRef="rest"/>
    <intermediateCatchEvent id="rest"><timerEventDefinition>
    <timeDuration>PT30S</timeDuration></timerEventDefinition></intermediateCatchEvent>
    <sequenceFlow id="f7" sourceRef="rest" targetRef="e"/><endEvent id="e"/></process>
    <process id="packing" isExecutable="true"><startEvent id="ps"/>
    <sequenceFlow id="p1" sourceRef="ps" targetRef="wrap"/>
    <serviceTask id="wrap" tv:jobType="wrap"/>
    <sequenceFlow id="p2" sourceRef="wrap" targetRef="pe"/><endEvent id="pe"/></process>
    <process id="audit" isExecutable="true">
    <startEvent id="as"><messageEventDefinition messageRef="told"/></startEvent>
    <sequenceFlow id="a1" sourceRef="as" targetRef="ae"/><endEvent id="ae"/></process>
    </definitions>"#;

#[derive(Serialize, Deserialize)]
struct Paid {
    cents: u64,
}

impl Event for Paid {
    const NAME: &'static str = "function.paid";
    const CONFIG: EventConfig =
        EventConfig { consume: Consume::One, delivery: Delivery::All, expire_after: None };
}

/// A function that does the same as an order.
const TRIP: WorkflowDefinition = WorkflowDefinition {
    name: "trip",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.job::<Value>("check").await?;
            let paid = cx.event::<Paid>().await?;
            // One that could not begin is begun again.
            while cx.child(Workflow::<Value>::new("leg", 1)).await.is_err() {}
            cx.sleep(Duration::from_secs(30)).await?;
            Ok(encode("trip", &paid.cents)?)
        })
    },
};

const LEG: WorkflowDefinition = WorkflowDefinition {
    name: "leg",
    version: 1,
    parameters: &[],
    run: |cx, _| {
        Box::pin(async move {
            cx.job::<Value>("wrap").await?;
            Ok(encode("leg", &1)?)
        })
    },
};

const SHARDS: u16 = 2;

struct World {
    store: Arc<MemoryStore>,
    definitions: Arc<Definitions>,
    board: Arc<Board>,
    shards: Vec<Shard>,
    now: Timestamp,
}

/// What is known of an instance: its definition, its business key, and how far it is.
type Known = (Name, Option<Name>, Phase);

impl World {
    fn new() -> Self {
        let files = [("m.bpmn", MODEL.as_bytes())];
        let report = travertine_bpmn::read(&files, &travertine_bpmn::Options::default());
        let processes = report.processes.iter();
        let mut all: Vec<(Name, Arc<Plan>)> =
            processes.map(|it| (it.id.as_str().into(), Arc::clone(&it.plan))).collect();
        assert_eq!(all.len(), 3, "{report:?}");
        all.extend(["trip", "leg"].map(|it| (it.into(), Arc::new(Plan::function(it)))));
        let now = Timestamp::from_millis(0);
        let mut definitions = Definitions::default();
        definitions.add(&all, now).unwrap();
        let mut world = Self {
            store: Arc::new(MemoryStore::new(SHARDS)),
            definitions: Arc::new(definitions),
            board: Arc::default(),
            shards: Vec::new(),
            now,
        };
        world.open();
        world
    }

    fn open(&mut self) {
        self.board = Arc::default();
        self.shards.clear();
        for id in (0..SHARDS).map(ShardId) {
            let opening = Opening {
                functions: Arc::new(Functions::new().workflow(TRIP).workflow(LEG)),
                store: Arc::clone(&self.store) as _,
                definitions: Arc::clone(&self.definitions),
                board: Arc::clone(&self.board),
                settings: Settings::default(),
                now: self.now,
            };
            let claim = self.store.take(id, "test").unwrap();
            let (shard, _) = Shard::recover(claim, opening, &mut |_, _| {}).unwrap();
            self.shards.push(shard);
        }
    }

    /// Has everything happen that follows by itself.
    fn pump(&mut self) {
        for _ in 0..1_000 {
            let mut rests = true;
            for at in 0..self.shards.len() {
                let shard = &mut self.shards[at];
                rests &= !shard.work();
                let Some(sealed) = shard.seal() else { continue };
                rests = false;
                let claim = shard.claim();
                self.store.append(&claim, std::slice::from_ref(&sealed.batch)).unwrap();
                for mail in sealed.release(&self.board) {
                    self.shards[usize::from(mail.to.0)].receive(&mail);
                }
            }
            if rests {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn shard(&mut self, id: InstanceId) -> &mut Shard {
        &mut self.shards[usize::from(ShardId::of(id.0, SHARDS).0)]
    }

    fn start(&mut self, shard: usize, definition: &str, name: &str) {
        let begin = Begin {
            definition: self.definitions.find(definition).unwrap().key,
            business_id: Some(name.into()),
            ..Begin::default()
        };
        let mut started = None;
        hear(&mut self.shards[shard], |it| started = Some(it.start(begin.clone())));
        // Of one that could not begin nothing is left, so it can begin again.
        if let Some(Err(error)) = started {
            assert!(matches!(error, Error::Failed { .. }), "{error}");
            hear(&mut self.shards[shard], |it| assert!(!it.start(begin).unwrap().1));
        }
        self.pump();
    }

    fn publish(&mut self, name: &str, to: &str) {
        let keeper = usize::from(super::super::keeper(name, SHARDS).0);
        let message = Message {
            correlation: vec![("$to".into(), to.into())],
            variables: vec![("cents".into(), 7.into())],
            delivery: Delivery::All,
            ..Message::new(name)
        };
        hear(&mut self.shards[keeper], |it| {
            it.publish(message).unwrap();
        });
        self.pump();
    }

    /// Workers do what there is to do, and time goes on.
    fn go_on(&mut self) {
        for job_type in ["check", "wrap"] {
            for offer in self.board.take(&job_type.into(), 100, self.now) {
                let until = self.now.after(Duration::from_secs(10));
                let lease = Lease::Until { worker: "w".into(), until };
                let job = offer.job;
                hear(self.shard(job.instance), |it| {
                    if it.lease(job, &lease, &[]).is_some() {
                        // Where it cannot hear of it, the lease ends.
                        drop(it.complete(job, Vec::new()));
                    }
                });
                self.pump();
            }
        }
        self.now = self.now.after(Duration::from_secs(15));
        for shard in &mut self.shards {
            shard.tick(self.now);
        }
        self.pump();
    }

    /// All that happens where nothing fails.
    fn play(&mut self) {
        self.start(0, "order", "one");
        self.start(0, "trip", "three");
        // Nobody waits for these yet.
        self.publish("paid", "one");
        self.publish(Paid::NAME, "three");
        self.start(1, "order", "two");
        self.start(1, "trip", "four");
        self.go_on();
        self.publish("paid", "two");
        self.publish(Paid::NAME, "four");
        for _ in 0..6 {
            self.go_on();
        }
    }

    fn ids(&self) -> Vec<InstanceId> {
        let of = |shard: &Shard| {
            let id = shard.id();
            (1..=shard.instances.count).map(move |it| InstanceId(id.instance(it, SHARDS)))
        };
        self.shards.iter().flat_map(of).collect()
    }

    fn halted(&mut self) -> Vec<InstanceId> {
        let mut ids = self.ids();
        ids.retain(|id| self.shard(*id).look(*id).unwrap().halted.is_some());
        ids
    }

    fn known(&mut self) -> Vec<Known> {
        let mut known = Vec::new();
        for id in self.ids() {
            let live = self.shard(id).look(id).unwrap();
            let (definition, name) = (&live.definition.id, &live.created.business_id);
            known.push((Name::clone(definition), name.clone(), live.phase().clone()));
        }
        known.sort_by_key(|it| format!("{it:?}"));
        known
    }

    fn check(&mut self) {
        for shard in &mut self.shards {
            if let Some(rows) = shard.checkpoint() {
                rows.store(&*self.store, &shard.claim()).unwrap();
                shard.stored(rows.upto);
            }
        }
        for shard in &mut self.shards {
            let found = shard.verify(&mut |_, _| {}).unwrap();
            assert_eq!(found.differences, []);
        }
    }

    /// All that must be the same after a restart, except for what is halted.
    fn inventory(&mut self) -> Vec<String> {
        let halted = self.halted();
        let mut lines = Vec::new();
        let ids: Vec<_> = self.ids().into_iter().filter(|it| !halted.contains(it)).collect();
        for shard in &mut self.shards {
            let here = |it: &&InstanceId| ShardId::of(it.0, SHARDS) == shard.id();
            let ids: Vec<_> = ids.iter().filter(here).copied().collect();
            lines.extend(shard.inventory(&ids).unwrap());
        }
        let of_halted = |line: &String| {
            let id = |it: &InstanceId| {
                line.contains(&format!("instance: {it:?},")) || *line == format!("unfinished: {it}")
            };
            (line.starts_with("due") || line.starts_with("unfinished")) && halted.iter().any(id)
        };
        lines.retain(|it| !of_halted(it));
        lines
    }

    /// People see to all that needs them.
    fn repair(&mut self) {
        for id in self.halted() {
            hear(self.shard(id), |it| it.release_halted(id).unwrap());
        }
        self.pump();
        for id in self.ids() {
            hear(self.shard(id), |it| {
                if !it.look(id).unwrap().troubles().is_empty() {
                    it.retry_all(id).unwrap();
                }
            });
        }
        for shard in &mut self.shards {
            let dead: Vec<u64> = shard.dead_letters().map(|it| it.number).collect();
            hear(shard, |it| {
                for number in dead {
                    it.replay_message(number).unwrap();
                }
            });
        }
        self.pump();
    }
}

#[test]
fn what_was_halted_is_tried_again_only_once_its_rows_are_stored() {
    let mut world = World::new();
    world.start(0, "order", "one");
    let id = world.ids()[0];
    let halted = world.shard(id).with(id, |shard, live| {
        shard.halt(live, "it is a test".to_owned());
        Ok(())
    });
    halted.unwrap();
    world.pump();
    let is_busy = |it: &mut World| {
        let released = it.shard(id).release_halted(id);
        matches!(released, Err(Error::Busy { .. }))
    };
    assert!(is_busy(&mut world), "its rows do not say so yet");
    let rows = world.shard(id).checkpoint().expect("there is something to store");
    assert!(is_busy(&mut world), "they are being stored");
    let claim = world.shard(id).claim();
    rows.store(&*world.store, &claim).unwrap();
    world.shard(id).stored(rows.upto);
    world.repair();
    assert_eq!(world.halted(), []);
    world.check();
}

fn hear(shard: &mut Shard, act: impl FnOnce(&mut Shard)) {
    act(shard);
    shard.handle_letters();
}

fn has_ended(known: &Known) -> bool {
    matches!(known.2, Phase::Ended(_))
}

#[test]
fn a_panic_at_any_step_halts_one_instance_and_nobody_else_notices() {
    steps::be_quiet();
    let mut undisturbed = World::new();
    undisturbed.play();
    let expected = undisturbed.known();
    assert!(expected.len() == 10 && expected.iter().all(has_ended), "{expected:?}");
    let mut seen = std::collections::BTreeSet::new();
    for steps in 0.. {
        let mut world = World::new();
        steps::panic_after(steps);
        world.play();
        let (panicked, reached) = steps::reached();
        if !panicked {
            assert!(seen.len() >= 14, "there are more kinds of steps than {seen:?}");
            return;
        }
        let step = reached.last().copied().unwrap_or_default();
        seen.insert(step);
        let case = format!("panicked at {step}, step {steps}");
        let halted = world.halted();
        assert!(halted.len() <= 1, "{case}: {halted:?}");
        let known = world.known();
        let open: Vec<_> = known.iter().filter(|it| it.1.is_some() && !has_ended(it)).collect();
        assert!(open.len() <= 1, "{case}: others stand still: {open:?}");
        world.check();
        if steps % 2 == 0 {
            let before = world.inventory();
            world.open();
            world.pump();
            assert_eq!(world.inventory(), before, "{case}: another after a restart");
            assert_eq!(world.halted(), halted, "{case}");
            world.check();
        }
        world.repair();
        for _ in 0..6 {
            world.go_on();
        }
        assert_eq!(world.known(), expected, "{case}: another end");
        world.check();
    }
}

/// An order that waits to be paid, on the shard that finds who is paid.
fn waits_to_be_paid(world: &mut World) -> (usize, InstanceId) {
    let keeper = usize::from(super::super::keeper("paid", SHARDS).0);
    world.start(keeper, "order", "one");
    world.go_on();
    let id = InstanceId(ShardId(u16::try_from(keeper).unwrap()).instance(1, SHARDS));
    (keeper, id)
}

#[test]
fn what_a_failed_turn_has_changed_around_its_instance_is_taken_back() {
    steps::be_quiet();
    let mut world = World::new();
    let (keeper, id) = waits_to_be_paid(&mut world);
    world.publish("paid", "nobody");
    let expires = Message { ttl: Some(Duration::from_mins(1)), ..Message::new("paid") };
    let to = vec![("$to".into(), "somebody".into())];
    hear(&mut world.shards[keeper], |it| {
        it.publish(Message { correlation: to, ..expires }).unwrap();
    });
    world.pump();
    world.check();
    let now = world.now;
    let shard = &mut world.shards[keeper];
    let (to, mut receiver) = ReplyTo::caller();
    shard.watchers.add(id, Watcher { to, waits_through: true });
    let held: Vec<u64> = shard.held().map(|it| it.number).collect();
    let subscribed: Vec<Address> =
        shard.waiting().map(travertine_store::record::Subscription::address).collect();
    assert_eq!((held.len(), subscribed.len()), (2, 1));
    let around = |shard: &Shard| {
        let alarms: Vec<String> = shard.alarms.iter().map(|it| format!("{it:?}")).collect();
        let (held, waiting) = (shard.held().count(), shard.waiting().count());
        (alarms, held, waiting, shard.views.rows.clone(), shard.watchers.len())
    };
    let before = around(shard);
    let failed = shard.with(id, |shard, live| -> Result<(), Error> {
        shard.messages.unsubscribe(subscribed[0], &mut shard.views);
        for number in held {
            shard.messages.let_go(number, &mut shard.alarms, &mut shard.views);
        }
        shard
            .alarms
            .set(now.after(Duration::from_millis(5)), Alarm::Wait(live.address(WaitId(99))));
        shard.alarms.forget(live.id);
        for watcher in shard.watchers.take(live.id) {
            let ended = Ended { ending: Ending::Completed, variables: Vec::new() };
            shard.reply_to_watcher(watcher, Ok(ended));
        }
        panic!("a test has this fail")
    });
    assert!(matches!(failed, Err(Error::Halted { .. })), "{failed:?}");
    assert_eq!(around(&world.shards[keeper]), before);
    world.pump();
    assert!(receiver.try_recv().is_err(), "nobody is told of an end that was not");
    world.check();
}

#[test]
fn an_attempt_that_a_failed_turn_has_prepared_is_made_by_nobody() {
    steps::be_quiet();
    let mut world = World::new();
    world.start(0, "packing", "one");
    let id = InstanceId(ShardId(0).instance(1, SHARDS));
    let shard = &mut world.shards[0];
    let failed = shard.with(id, |shard, live| -> Result<(), Error> {
        let wait = *live.work.keys().next().expect("it waits for a worker");
        shard.prepare_attempt(live, wait);
        assert!(shard.attempts.has(live.address(wait)));
        panic!("a test has this fail")
    });
    assert!(matches!(failed, Err(Error::Halted { .. })), "{failed:?}");
    world.pump();
    world.check();
    world.repair();
    world.go_on();
    let known = world.known();
    assert!(known.iter().all(has_ended), "a worker has it: {known:?}");
}

#[test]
fn a_letter_that_cannot_be_kept_in_memory_is_kept_in_the_log() {
    steps::be_quiet();
    let mut world = World::new();
    let (keeper, id) = waits_to_be_paid(&mut world);
    let shard = &mut world.shards[keeper];
    let failed = shard.with(id, |_, _| -> Result<(), Error> { panic!("a test has this fail") });
    assert!(matches!(failed, Err(Error::Halted { .. })), "{failed:?}");
    steps::panic_after(0);
    shard.rung(Address { instance: id, wait: WaitId(99) });
    assert_eq!(steps::reached(), (true, vec!["learn"]));
    world.pump();
    world.open();
    world.pump();
    let deferred = &world.shard(id).look(id).unwrap().deferred;
    assert!(matches!(deferred[..], [Letter::Ring { .. }]), "{deferred:?}");
    world.check();
    world.repair();
    world.publish("paid", "one");
    for _ in 0..6 {
        world.go_on();
    }
    let known = world.known();
    assert!(known.iter().all(has_ended), "{known:?}");
    world.check();
}
