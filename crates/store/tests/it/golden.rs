//! Files of every format there ever was. Today's program reads them all, and writes the newest one
//! byte for byte.
//!
//! `TRAVERTINE_GOLDEN=write cargo test -p travertine-store` writes the files of the newest format. Only
//! a format that nobody has stored anything in may be rewritten.

use std::{collections::BTreeSet, fs, iter, path::PathBuf};

use travertine_kernel::{Ending, Event, Instance, Parts, WaitFor, check, replay};
use travertine_store::InstanceId;
use travertine_store::{
    DefinitionKey,
    codec::{
        Flaw, decode_events, decode_instance, decode_repeat, decode_values, encode_repeat,
        encode_values,
        record::{decode_letter, decode_records, encode_letter, encode_records},
    },
    record::{Consume, Created, Dead, Folded, Held, Letter, Record, Shared},
};

use crate::{
    encoded, instance,
    sample::{self, at, time},
    shapes,
};

fn newest() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// The golden file at `path`, written now where that is asked for.
pub(crate) fn golden(path: &str, bytes: &[u8]) -> Vec<u8> {
    let path = newest().join(path);
    if std::env::var("TRAVERTINE_GOLDEN").is_ok_and(|it| it == "write") {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders can be made");
        fs::write(&path, bytes).expect("golden files can be written");
    }
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_newest_format_is_what_it_was() {
    for (name, events) in sample::all() {
        let bytes = encoded(&events);
        let golden = golden(&format!("{name}.bin"), &bytes);
        assert_eq!(decode_events(&golden), Ok(events), "{name} is read differently");
        assert_eq!(bytes, golden, "{name} is written differently");
    }
}

/// A log and the instance it led to. What a model leads to may change, what a log leads to may not.
#[test]
fn an_instance_is_what_its_log_led_to() {
    for (name, events) in shapes::all() {
        let log = format!("instances/{name}.log");
        // What a model leads to may change, so a log that is there stays.
        let log = fs::read(newest().join(&log)).unwrap_or_else(|_| golden(&log, &encoded(&events)));
        let instance = replay(&decode_events(&log).unwrap());
        let bytes = instance::encoded(&instance);
        let golden = golden(&format!("numbered/{name}.bin"), &bytes);
        assert_eq!(decode_instance(&golden), Ok(instance), "{name} is read differently");
        assert_eq!(bytes, golden, "{name} is written differently");
    }
}

/// Instances from before visits, variables and incidents had numbers. They get some, each its own.
#[test]
fn an_instance_without_numbers_is_what_its_log_led_to_and_has_some_now() {
    for (name, _) in shapes::all() {
        let read = |file: &str| fs::read(newest().join(file)).unwrap();
        let old = decode_instance(&read(&format!("instances/{name}.bin"))).unwrap();
        check(&old);
        let log = replay(&decode_events(&read(&format!("instances/{name}.log"))).unwrap());
        assert_eq!(unnumbered(&old), unnumbered(&log), "{name} is read differently");
    }
}

/// All of an instance but its numbers.
fn unnumbered(instance: &Instance) -> Parts {
    let mut parts = instance.parts();
    parts.numbers = 0;
    parts.tokens.iter_mut().for_each(|(_, it)| it.visit = 0);
    parts.incidents.iter_mut().for_each(|(_, it)| it.number = 0);
    parts.layers.iter_mut().for_each(|(_, it)| it.variables.renumber(&mut iter::repeat(0)));
    parts
}

#[test]
fn values_and_cycles_are_what_they_were() {
    let mut bytes = Vec::new();
    encode_values(&sample::values(), &mut bytes).unwrap();
    let file = golden("parts/values.bin", &bytes);
    assert_eq!(decode_values(&file), Ok(sample::values()));
    assert_eq!(bytes, file, "values are written differently");

    let repeats = sample::all().into_iter().flat_map(|(_, it)| it).filter_map(|it| match it {
        Event::WaitOpened { on, .. } => match &*on {
            WaitFor::Timer { repeat, .. } => repeat.clone(),
            _ => None,
        },
        _ => None,
    });
    for (number, repeat) in repeats.enumerate() {
        let mut bytes = Vec::new();
        encode_repeat(&repeat, &mut bytes).unwrap();
        let file = golden(&format!("parts/repeat-{number}.bin"), &bytes);
        assert_eq!(decode_repeat(&file), Ok(repeat));
        assert_eq!(bytes, file, "cycle {number} is written differently");
    }
}

/// What is kept of a function that has ended as another than it began.
#[test]
fn what_is_kept_of_an_end_is_what_it_was() {
    let records = vec![
        Record::Folded(Box::new(Folded {
            created: Created {
                definition: DefinitionKey(3),
                business_id: Some("order-1".into()),
                caller: Some(at(7, 8)),
                root: InstanceId(7),
                depth: 1,
            },
            started: time(1_000),
            ending: Ending::Completed,
            variables: sample::values(),
        })),
        Record::BeganAs { definition: "order".into() },
    ];
    let mut bytes = Vec::new();
    encode_records(&records, &mut bytes).unwrap();
    let file = golden("parts/folded.bin", &bytes);
    assert_eq!(decode_records(&file), Ok(records));
    assert_eq!(bytes, file, "records are written differently");
}

/// An instance that someone has ended while it was halted.
#[test]
fn what_is_said_of_an_end_from_outside_is_what_it_was() {
    let records = vec![Record::Ended(Box::new(Folded {
        created: Created {
            definition: DefinitionKey(3),
            business_id: Some("order-1".into()),
            caller: Some(at(7, 8)),
            root: InstanceId(7),
            depth: 1,
        },
        started: time(1_000),
        ending: Ending::Cancelled,
        variables: sample::values(),
    }))];
    let mut bytes = Vec::new();
    encode_records(&records, &mut bytes).unwrap();
    let file = golden("parts/ended.bin", &bytes);
    assert_eq!(decode_records(&file), Ok(records));
    assert_eq!(bytes, file, "records are written differently");
}

/// Entries and mails about messages.
#[test]
fn what_is_said_of_messages_is_what_it_was() {
    let mut letters = Vec::new();
    let mut records = Vec::new();
    for (message, number) in sample::messages().into_iter().zip(7..) {
        let published = time(1_000);
        let expires = message.ttl.map(|it| published.after(it));
        letters.push(Letter::Publish {
            message: message.clone(),
            again: number % 2 == 0,
            published,
            expires,
        });
        letters.push(Letter::Deliver {
            to: at(4, number),
            message: message.clone(),
            published,
            expires,
            shared: (message.consume == Consume::All).then_some(Shared { number, upto: 5 }),
        });
        let dead = expires.map(|at| Dead { at, reason: "late".into() });
        records.push(Record::Held(Held { number, message, published, expires, dead }));
    }
    letters.push(Letter::Subscribe(sample::subscription()));
    letters.push(Letter::Bury {
        message: sample::messages().remove(0),
        published: time(1_000),
        expires: None,
        reason: "too much".into(),
    });
    letters.push(Letter::AskVariables { of: at(4, 9), names: vec!["orderId".into()] });
    letters.push(Letter::Variables { of: at(4, 9), values: sample::values() });
    letters.push(Letter::Chained {
        generation: 300,
        letter: Box::new(Letter::Signal { to: at(4, 9), variables: sample::values() }),
    });
    records.push(Record::Subscribed(sample::subscription()));
    records.push(Record::Heard { name: "news".into(), after: 5, had: vec![7, 9] });
    let mut bytes = Vec::new();
    encode_records(&records, &mut bytes).unwrap();
    let file = golden("parts/messages.bin", &bytes);
    assert_eq!(decode_records(&file), Ok(records));
    assert_eq!(bytes, file, "records are written differently");
    for (number, letter) in letters.into_iter().enumerate() {
        let mut bytes = Vec::new();
        encode_letter(&letter, &mut bytes).unwrap();
        let file = golden(&format!("parts/letter-{number}.bin"), &bytes);
        assert_eq!(decode_letter(&file), Ok(letter));
        assert_eq!(bytes, file, "letter {number} is written differently");
    }
}

#[test]
fn every_file_is_still_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    for version in files(folder) {
        for path in files(version.clone()).filter(|it| it.is_file()) {
            let read = decode_events(&fs::read(&path).unwrap());
            assert!(read.is_ok(), "{}: {read:?}", path.display());
        }
        for path in files(version.join("instances")) {
            let bytes = fs::read(&path).unwrap();
            let read = if path.extension().is_some_and(|it| it == "log") {
                decode_events(&bytes).map(|_| ())
            } else {
                decode_instance(&bytes).map(|_| ())
            };
            assert!(read.is_ok(), "{}: {read:?}", path.display());
        }
    }
}

#[test]
fn the_samples_have_events_of_every_kind() {
    const VERSION: u8 = 1;
    // A kind that exists lacks its fields, one that does not is unknown.
    let exists = |kind: &u8| match decode_events(&[VERSION, 1, *kind, 0x80]) {
        Ok(_) => unreachable!("no event ends in the middle of a number"),
        Err(error) => error.flaw != Flaw::UnknownKind,
    };
    let kinds: BTreeSet<_> = (0..0x80).take_while(exists).collect();
    let seen = |event| encoded(std::slice::from_ref(event))[2];
    let samples = sample::all();
    let found: BTreeSet<_> = samples.iter().flat_map(|(_, it)| it).map(seen).collect();
    assert_eq!(found, kinds);
}
