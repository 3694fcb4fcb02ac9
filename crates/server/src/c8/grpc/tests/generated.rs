//! What is generated from our `.proto` is committed, so that building needs no compiler for it.

use std::{env, fs, path::Path};

use super::super::entrance::Rpc;

/// `TRAVERTINE_PROTO=write` writes it anew.
#[test]
fn the_committed_code_is_what_the_protocol_generates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let descriptors = protox::compile(["gateway.proto"], [root.join("proto")])
        .expect("the protocol can be compiled");
    let out = tempfile::tempdir().expect("there is room for a directory");
    tonic_prost_build::configure()
        .out_dir(out.path())
        .compile_fds(descriptors)
        .expect("code can be generated");
    let generated = fs::read_to_string(out.path().join("gateway_protocol.rs"))
        .expect("the code of the package is there");
    let committed = root.join("src/c8/grpc/gateway.rs");
    if env::var_os("TRAVERTINE_PROTO").is_some_and(|it| it == "write") {
        fs::write(&committed, &generated).expect("the file can be written");
    }
    let committed = fs::read_to_string(committed).unwrap_or_default();
    assert!(committed == generated, "gateway.rs is old: TRAVERTINE_PROTO=write writes it anew");
}

#[test]
fn the_table_of_calls_has_all_calls_of_the_protocol_and_no_other() {
    let proto = include_str!("../../../../proto/gateway.proto");
    let words = proto.lines().filter_map(|it| it.trim().strip_prefix("rpc "));
    let mut theirs: Vec<&str> = words.filter_map(|it| it.split_whitespace().next()).collect();
    theirs.sort_unstable();
    let mut ours: Vec<&str> = Rpc::ALL.iter().map(|it| it.name()).collect();
    ours.sort_unstable();
    assert_eq!(ours, theirs);
}
