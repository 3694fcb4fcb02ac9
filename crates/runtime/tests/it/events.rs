//! Messages for all, messages that come too early, and what becomes of those that nobody takes.

use std::time::Duration;

use travertine_kernel::Ending;
use travertine_runtime::{
    Consume, DeadLetter, Delivery, Error, InstanceId, Message, Receipt, Settings, engine::Options,
};
use travertine_store::view::{Filter, Table};
use travertine_value::Value;

use crate::world::{World, vars};

/// Waits for `news`, three times one after the other, and adds up what it hears.
const READER: &str = r#"<message id="m" name="news"/><process id="reader" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f0" sourceRef="s" targetRef="r1"/>
    <receiveTask id="r1" messageRef="m"/><sequenceFlow id="f1" sourceRef="r1" targetRef="a1"/>
    <scriptTask id="a1" scriptFormat="javascript" tv:resultVariable="all"><script>all + text</script>
    </scriptTask><sequenceFlow id="f2" sourceRef="a1" targetRef="r2"/>
    <receiveTask id="r2" messageRef="m"/><sequenceFlow id="f3" sourceRef="r2" targetRef="a2"/>
    <scriptTask id="a2" scriptFormat="javascript" tv:resultVariable="all"><script>all + text</script>
    </scriptTask><sequenceFlow id="f4" sourceRef="a2" targetRef="r3"/>
    <receiveTask id="r3" messageRef="m"/><sequenceFlow id="f5" sourceRef="r3" targetRef="a3"/>
    <scriptTask id="a3" scriptFormat="javascript" tv:resultVariable="all"><script>all + text</script>
    </scriptTask><sequenceFlow id="f6" sourceRef="a3" targetRef="e"/><endEvent id="e"/></process>"#;

/// Waits for `news` of a topic, then for `news` of another.
const PICKY: &str = r#"<message id="m" name="news"/><process id="picky" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f0" sourceRef="s" targetRef="r1"/>
    <receiveTask id="r1" messageRef="m"><extensionElements>
    <tv:correlation name="topic">first</tv:correlation></extensionElements></receiveTask>
    <sequenceFlow id="f1" sourceRef="r1" targetRef="a1"/>
    <scriptTask id="a1" scriptFormat="javascript" tv:resultVariable="all"><script>all + text</script>
    </scriptTask><sequenceFlow id="f2" sourceRef="a1" targetRef="r2"/>
    <receiveTask id="r2" messageRef="m"><extensionElements>
    <tv:correlation name="topic">second</tv:correlation></extensionElements></receiveTask>
    <sequenceFlow id="f3" sourceRef="r2" targetRef="a2"/>
    <scriptTask id="a2" scriptFormat="javascript" tv:resultVariable="all"><script>all + text</script>
    </scriptTask><sequenceFlow id="f4" sourceRef="a2" targetRef="e"/><endEvent id="e"/></process>"#;

fn news(text: &str) -> Message {
    Message { variables: vars(&[("text", text.into())]), ..Message::new("news") }
}

fn for_all(text: &str) -> Message {
    Message { consume: Consume::All, ..news(text) }
}

/// What shards have sent each other has come.
fn rest(world: &World) {
    assert_eq!(world.engine().settle(Duration::from_mins(1)), Ok(true));
}

fn send(world: &World, message: Message) -> Receipt {
    let receipt = world.engine().publish(message).wait().expect("it is sent");
    rest(world);
    receipt
}

fn start(world: &World, id: &str) -> InstanceId {
    let id = world.engine().start(id).variable("all", "").wait().expect("it starts");
    rest(world);
    id
}

/// What an instance has heard.
fn heard(world: &World, id: InstanceId) -> String {
    rest(world);
    let look = world.engine().look(id).wait().expect("it is there");
    let all = look.variables.iter().find(|(name, _)| &**name == "all");
    all.and_then(|(_, it)| it.as_str()).expect("it begins with an empty text").to_owned()
}

fn each(mut test: impl FnMut(&mut World, bool)) {
    for shards in [1, 4] {
        for restarts in [false, true] {
            let mut world = World::new(shards);
            world.deploy(READER);
            test(&mut world, restarts);
            world.check();
        }
    }
}

// covers: ENGINE-30, ENGINE-31, ENGINE-34, ENGINE-35, ENGINE-36
#[test]
fn a_message_for_all_comes_to_each_instance_once_and_stays_for_those_who_come_later() {
    each(|world, restarts| {
        let again = |world: &mut World| {
            if restarts {
                world.restart();
            }
        };
        let early: Vec<InstanceId> = (0..3).map(|_| start(world, "reader")).collect();
        again(world);
        assert_eq!(send(world, for_all("a")), Receipt::Shared(3));
        again(world);
        // They wait again, and have had it.
        for id in &early {
            assert_eq!(heard(world, *id), "a");
        }
        assert_eq!(send(world, for_all("b")), Receipt::Shared(3));
        again(world);
        // One per wait, in order.
        let late = start(world, "reader");
        again(world);
        assert_eq!(heard(world, late), "ab");
        assert_eq!(world.rows(Table::Messages, Vec::new()).len(), 2);
        assert_eq!(send(world, for_all("c")), Receipt::Shared(4));
        for id in early.into_iter().chain([late]) {
            let ended = world.engine().result(id).wait().expect("it ends");
            assert_eq!(ended.ending, Ending::Completed);
            again(world);
            assert_eq!(heard(world, id), "abc");
        }
        assert_eq!(send(world, for_all("d")), Receipt::Shared(0));
    });
}

// covers: ENGINE-31
#[test]
fn a_message_for_one_is_gone_when_it_was_received() {
    each(|world, _| {
        assert_eq!(send(world, news("a")), Receipt::Held);
        let first = start(world, "reader");
        let second = start(world, "reader");
        assert_eq!((heard(world, first), heard(world, second)), ("a".into(), String::new()));
        let receipt = send(world, news("b"));
        assert!(matches!(receipt, Receipt::Received(_)));
        assert_eq!(world.rows(Table::Messages, Vec::new()), []);
    });
}

// covers: ENGINE-36
#[test]
fn messages_for_one_and_for_all_come_in_the_order_in_which_they_were_sent() {
    each(|world, restarts| {
        for message in [news("a"), for_all("b"), news("c")] {
            send(world, message);
        }
        if restarts {
            world.restart();
        }
        let id = start(world, "reader");
        assert_eq!(heard(world, id), "abc");
    });
}

// covers: ENGINE-31
#[test]
fn what_an_instance_has_not_waited_for_yet_is_not_skipped_by_what_it_has_had() {
    each(|world, restarts| {
        world.deploy(PICKY);
        let of = |topic: &str, text: &str| Message {
            correlation: vars(&[("topic", topic.into())]),
            ..for_all(text)
        };
        send(world, of("sports", "s"));
        send(world, of("weather", "w"));
        let start = |first: &str, second: &str| {
            let start = world.engine().start("picky").variable("all", "");
            let start = start.variable("first", first).variable("second", second);
            start.wait().expect("it starts")
        };
        let both = start("weather", "sports");
        let twice = start("weather", "weather");
        rest(world);
        if restarts {
            world.restart();
        }
        assert_eq!((heard(world, both), heard(world, twice)), ("ws".into(), "w".into()));
        send(world, of("weather", "x"));
        assert_eq!(heard(world, twice), "wx");
    });
}

// covers: ENGINE-32, ENGINE-37, ENGINE-51
#[test]
fn the_mode_of_delivery_says_which_waits_a_held_message_is_for() {
    for consume in [Consume::One, Consume::All] {
        each(|world, restarts| {
            let busy = start(world, "reader");
            world.advance(1);
            let of = |delivery, text: &str| Message { delivery, consume, ..news(text) };
            // It comes to whoever waits, whatever the mode.
            for (delivery, text) in
                [(Delivery::AfterWait, "a"), (Delivery::AfterCreate, "b"), (Delivery::All, "c")]
            {
                send(world, of(delivery, text));
            }
            assert_eq!(heard(world, busy), "abc");
            world.advance(1);
            let old = start(world, "reader");
            world.engine().suspend(old).wait().expect("it is suspended");
            world.advance(1);
            // It waits now, so it has this one; what it waits for next it has not begun to wait for.
            send(world, of(Delivery::All, "d"));
            for delivery in [Delivery::AfterWait, Delivery::AfterCreate] {
                send(world, of(delivery, if delivery == Delivery::AfterWait { "e" } else { "f" }));
            }
            if restarts {
                world.restart();
            }
            world.advance(1);
            world.engine().resume(old).wait().expect("it goes on");
            let young = start(world, "reader");
            // Those for all that were sent before are kept for those who come later.
            match consume {
                Consume::One => {
                    assert_eq!(
                        (heard(world, old), heard(world, young)),
                        ("df".into(), String::new())
                    );
                }
                Consume::All => {
                    assert_eq!(heard(world, old), "cdf");
                    assert_eq!(heard(world, young), "cd");
                }
            }
        });
    }
}

// covers: ENGINE-31, ENGINE-33
#[test]
fn a_message_for_all_is_not_kept_longer_than_it_may_be() {
    each(|world, restarts| {
        let now = Message { ttl: Some(Duration::ZERO), ..for_all("a") };
        let soon = Message { ttl: Some(Duration::from_secs(1)), ..for_all("b") };
        let early = start(world, "reader");
        assert_eq!(send(world, now), Receipt::Shared(1));
        assert_eq!(send(world, soon), Receipt::Shared(1));
        assert_eq!(heard(world, early), "ab");
        let late = start(world, "reader");
        assert_eq!(heard(world, late), "b");
        if restarts {
            world.restart();
        }
        world.advance(1_000);
        let too_late = start(world, "reader");
        assert_eq!(heard(world, too_late), "");
        assert_eq!(world.rows(Table::Messages, Vec::new()), []);
        assert_eq!(heard(world, early), "ab");
    });
}

// covers: ENGINE-31
#[test]
fn what_a_message_for_all_has_started_does_not_hear_it_again() {
    each(|world, restarts| {
        world.deploy(
            r#"<message id="m" name="news"/><process id="begun" isExecutable="true">
            <startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent>
            <sequenceFlow id="f0" sourceRef="s" targetRef="r1"/>
            <receiveTask id="r1" messageRef="m"/><sequenceFlow id="f1" sourceRef="r1" targetRef="r2"/>
            <receiveTask id="r2" messageRef="m"/><sequenceFlow id="f2" sourceRef="r2" targetRef="e"/>
            <endEvent id="e"/></process>"#,
        );
        let early = start(world, "reader");
        assert_eq!(send(world, for_all("a")), Receipt::Shared(2));
        if restarts {
            world.restart();
        }
        assert_eq!(heard(world, early), "a");
        // The reader, the one that was begun, and a new one.
        assert_eq!(send(world, for_all("b")), Receipt::Shared(3));
        let texts = |world: &World| {
            let rows = world.rows(Table::Variables, Vec::new());
            rows.iter().filter(|it| it.key().name == "text".into()).count()
        };
        assert_eq!(texts(world), 3);
    });
}

// covers: ENGINE-29, ENGINE-31
#[test]
fn a_message_to_one_instance_has_one_receiver() {
    each(|world, restarts| {
        let to = |text: &str| Message {
            correlation: vars(&[("$to", Value::from("reader-1"))]),
            ..for_all(text)
        };
        assert_eq!(send(world, to("a")), Receipt::Held);
        if restarts {
            world.restart();
        }
        let other = start(world, "reader");
        let id = world.engine().start("reader").id("reader-1").variable("all", "").wait();
        let id = id.expect("it starts");
        assert_eq!(heard(world, id), "a");
        assert_eq!(heard(world, other), "");
        assert_eq!(world.rows(Table::Messages, Vec::new()), []);
    });
}

// covers: ENGINE-82
#[test]
fn when_too_many_are_held_senders_are_told_and_nothing_is_lost() {
    let settings = Settings { pending_max: 2, ..Settings::default() };
    let mut world = World::with(Options { settings, ..Options::default() });
    world.deploy(READER);
    world.deploy(
        r#"<message id="m" name="news"/><process id="writer" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="w"/>
        <sendTask id="w" messageRef="m"/><sequenceFlow id="f2" sourceRef="w" targetRef="e"/>
        <endEvent id="e"/></process>"#,
    );
    send(&world, news("a"));
    send(&world, for_all("b"));
    world.restart();
    let named = |message: Message| Message { id: Some("1".into()), ..message };
    for message in [news("x"), for_all("y")] {
        let refused = world.engine().publish(named(message)).wait();
        let Err(Error::Busy { reason }) = refused else { panic!("{refused:?}") };
        assert!(reason.starts_with("2 messages news are held already"), "{reason}");
    }
    // Others are not concerned, nor is who is not to be held.
    assert_eq!(send(&world, Message::new("other")), Receipt::Held);
    assert_eq!(send(&world, Message { ttl: Some(Duration::ZERO), ..news("x") }), Receipt::Dropped);
    let writer = world.engine().start("writer").wait().expect("it starts");
    world.engine().result(writer).wait().expect("what instances send is held");
    assert_eq!(world.rows(Table::Messages, Vec::new()).len(), 4);
    let id = start(&world, "reader");
    // The writer has sent no text.
    assert_eq!(heard(&world, id), "abb");
    // Two were received and one is still kept, so there is room again, also for what was refused.
    assert_eq!(send(&world, named(for_all("c"))), Receipt::Shared(0));
    world.check();
}

// covers: ENGINE-33, ENGINE-50, ENGINE-83
#[test]
fn what_nobody_has_taken_becomes_a_dead_letter_that_can_be_sent_again() {
    each(|world, restarts| {
        let again = |world: &mut World| {
            if restarts {
                world.restart();
            }
        };
        let brief = |text: &str| Message {
            ttl: Some(Duration::from_secs(1)),
            id: Some(text.into()),
            ..news(text)
        };
        for text in ["a", "b", "c"] {
            send(world, brief(text));
        }
        // Those for all were there for whoever wanted them.
        send(world, Message { ttl: Some(Duration::from_secs(1)), ..for_all("d") });
        let to = Message { correlation: vars(&[("$to", "x".into())]), ..for_all("e") };
        send(world, Message { ttl: Some(Duration::from_secs(1)), ..to });
        again(world);
        world.advance(1_000);
        again(world);
        let dead = |world: &World| {
            let all = world.engine().dead_letters(Some("news"), None, 100).expect("they are read");
            let text = |it: &DeadLetter| it.message.variables[0].1.as_str().map(str::to_owned);
            all.iter().map(|it| (it.number, text(it).expect("it is a text"))).collect::<Vec<_>>()
        };
        let letters = dead(world);
        let texts: Vec<&str> = letters.iter().map(|(_, text)| &**text).collect();
        assert_eq!(texts, ["a", "b", "c", "e"]);
        let first = &world.engine().dead_letters(None, None, 1).expect("they are read")[0];
        assert_eq!((first.published.as_millis(), first.died.as_millis()), (1_000_000, 1_001_000));
        assert_eq!(&*first.reason, "nobody has taken it before it expired");
        let after = world.engine().dead_letters(None, Some(letters[2].0), 9).expect("are read");
        assert_eq!(after.len(), 1);
        // Nobody receives them.
        let id = start(world, "reader");
        assert_eq!(heard(world, id), "");
        // Until someone sends them again, which is not taken for the same message once more.
        let replay = |world: &World, nth: usize| world.engine().replay(letters[nth].0).wait();
        assert!(matches!(replay(world, 1), Ok(Receipt::Received(_))));
        assert_eq!(heard(world, id), "b");
        assert_eq!(replay(world, 1), Err(Error::NoSuchDeadLetter(letters[1].0)));
        world.engine().discard(letters[0].0).wait().expect("it is dropped");
        assert_eq!(replay(world, 0), Err(Error::NoSuchDeadLetter(letters[0].0)));
        again(world);
        assert_eq!(dead(world), letters[2..]);
        // One that nobody takes dies again, after as long as before.
        world.engine().cancel(id).wait().expect("it ends");
        rest(world);
        assert_eq!(replay(world, 2), Ok(Receipt::Held));
        assert_eq!(dead(world).len(), 1);
        again(world);
        world.advance(999);
        assert_eq!(dead(world).len(), 1);
        world.advance(1);
        assert_eq!(dead(world).len(), 2);
        again(world);
        // After seven days they are gone.
        world.advance(7 * 24 * 3_600_000);
        assert_eq!(dead(world), []);
        again(world);
        assert_eq!(dead(world), []);
        assert_eq!(world.rows(Table::Messages, vec![Filter::Dead(true)]), []);
    });
}

// covers: ENGINE-33
#[test]
fn without_a_time_for_them_there_are_no_dead_letters() {
    let settings = Settings { dead_for: Duration::ZERO, ..Settings::default() };
    let world = World::with(Options { settings, ..Options::default() });
    send(&world, Message { ttl: Some(Duration::from_secs(1)), ..news("a") });
    world.advance(1_000);
    assert_eq!(world.engine().dead_letters(None, None, 100), Ok(Vec::new()));
    assert_eq!(world.rows(Table::Messages, Vec::new()), []);
}

// covers: ENGINE-33
#[test]
fn a_message_that_expired_while_its_receiver_could_not_hear_it_is_not_lost() {
    each(|world, restarts| {
        let id = start(world, "reader");
        world.engine().suspend(id).wait().expect("it is suspended");
        let receipt = send(world, Message { ttl: Some(Duration::from_secs(1)), ..news("a") });
        assert!(matches!(receipt, Receipt::Received(_)));
        world.advance(2_000);
        if restarts {
            world.restart();
        }
        world.engine().cancel(id).wait().expect("it ends");
        rest(world);
        let dead = world.engine().dead_letters(None, None, 100).expect("they are read");
        assert_eq!(dead.len(), 1);
        assert_eq!(dead[0].message.variables, news("a").variables);
    });
}

// covers: ENGINE-82
#[test]
fn a_dead_letter_is_not_lost_when_there_is_no_room_to_send_it_again() {
    let settings = Settings { pending_max: 1, ..Settings::default() };
    let world = World::with(Options { settings, ..Options::default() });
    send(&world, Message { ttl: Some(Duration::from_secs(1)), ..news("a") });
    world.advance(1_000);
    send(&world, news("b"));
    let dead = world.engine().dead_letters(None, None, 100).expect("they are read");
    let refused = world.engine().replay(dead[0].number).wait();
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    assert_eq!(world.engine().dead_letters(None, None, 100), Ok(dead));
}
