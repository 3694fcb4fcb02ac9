//! The way through: read, check, compile.

use std::sync::Arc;

use travertine_xml::{self as xml, Ns};

use crate::{
    compile::compile,
    definitions::Definitions,
    files::Files,
    report::{Report, Sink},
    source,
};

/// Reads files that belong together. The decisions of the first one can be asked for; the others are
/// there to be imported. All problems of all files are reported.
pub fn read(files: &[(&str, &[u8])]) -> Report {
    let sink = Sink::default();
    let mut documents = Vec::new();
    for (name, bytes) in files {
        match xml::read(Ns::Dmn, name, bytes) {
            Ok(document) => documents.push(document),
            Err(fault) => sink.fault(name, fault),
        }
    }
    for document in &documents {
        source::languages(document, &sink);
    }
    let known = Files::new(&documents, &sink);
    let model = compile(&known, &sink);
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    let is_usable = !sink.has_errors();
    Report {
        diagnostics: sink.into_diagnostics(&names),
        definitions: is_usable.then(|| Definitions::new(Arc::new(model))),
    }
}
