//! Files of every format there ever was. Today's program reads them all, and writes the newest one
//! byte for byte.
//!
//! `TRAVERTINE_GOLDEN=write cargo test -p travertine-store` writes the files of the newest format. Only
//! a format that nobody has stored anything in may be rewritten.

use std::{collections::BTreeSet, fs, path::PathBuf};

use travertine_store::codec::{Flaw, decode_events};

use crate::{encoded, sample};

#[test]
fn the_newest_format_is_what_it_was() {
    for (name, events) in sample::all() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden/v1")
            .join(name)
            .with_extension("bin");
        let bytes = encoded(&events);
        if std::env::var("TRAVERTINE_GOLDEN").is_ok_and(|it| it == "write") {
            fs::write(&path, &bytes).unwrap();
        }
        let golden = fs::read(&path).unwrap();
        assert_eq!(decode_events(&golden), Ok(events), "{name} is read differently");
        assert_eq!(bytes, golden, "{name} is written differently");
    }
}

#[test]
fn every_file_is_still_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for version in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let read = decode_events(&fs::read(&path).unwrap());
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
